/*
 * A message as the journal writes it. Its name, which nobody else gives, is of this opening of the
 * store.
 */
#include "deploy/offline/send.h"

#include "runtime/troupe.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/envelope.h"

/* Its incarnation is no host's, so nothing need be drawn. */
struct tr_ref tr_offline_host(const struct tri_store *store)
{
    return (struct tr_ref){{TR_GROUP_HOST_BIT, 0}, (uint32_t)store->incarnation};
}

int tr_send_offline(struct tr_arena *arena, struct tr_ref host,
                    const struct tr_offline_message *sending, const struct tr_schema *schema,
                    const void *body, struct tri_op *op)
{
    size_t size_max = TR_ENVELOPE_BYTES + schema->size_max(body);
    uint8_t *bytes = tr_arena_alloc(arena, size_max);
    if (bytes == NULL) {
        return arena->error;
    }
    struct tr_writer writer = tr_writer_of(bytes + TR_ENVELOPE_BYTES, size_max - TR_ENVELOPE_BYTES);
    int error = schema->pack(body, &writer);
    const struct tr_ref program = {{host.key.group, TR_SERVICE_CONTROL}, host.incarnation};
    struct tr_ref from = tr_key_is_none(sending->from.key) ? program : sending->from;
    struct tr_envelope envelope = {
        .envelope_version = TR_ENVELOPE_VERSION,
        .kind = sending->kind != 0 ? sending->kind : TR_KIND_TELL,
        .flags = TR_FLAG_PRIORITY,
        .version = schema->version,
        .type = schema->id,
        .body_size = (uint32_t)tr_writer_size(&writer),
        .to_group = sending->to.key.group,
        .to_serial = sending->to.key.serial,
        .to_incarnation = sending->to.incarnation,
        .from_group = from.key.group,
        .from_serial = from.key.serial,
        .from_incarnation = from.incarnation,
        .sequence = sending->number,
        .clock = sending->clock,
    };
    tr_envelope_pack(&envelope, bytes);
    if (error == 0) {
        *op = (struct tri_op){
            .kind = TRI_OP_PUT_MESSAGE,
            .key = from.key,
            .incarnation = envelope.from_incarnation,
            .to_group = envelope.to_group,
            .number = envelope.sequence,
            .data = {.data = bytes, .size = TR_ENVELOPE_BYTES + tr_writer_size(&writer)},
        };
    }
    return error;
}
