/*
 * Service senders: envelopes of messages that are not from actors. Their messages have names too:
 * the service's serial in the host's own group, the host's incarnation, and a number.
 */
#include "runtime/link/sender.h"

#include "runtime/memory.h"

void tri_sender_init(struct tri_sender *sender, uint64_t serial, struct tr_ref host)
{
    *sender = (struct tri_sender){.from = {{host.key.group, serial}, host.incarnation}};
}

void tri_sender_fini(struct tri_sender *sender)
{
    tri_outbox_fini(&sender->outbox);
}

static void complete(struct tri_sender *sender, struct tr_envelope *envelope,
                     const struct tr_schema *schema, size_t body_size)
{
    envelope->envelope_version = TR_ENVELOPE_VERSION;
    envelope->version = schema->version;
    envelope->type = schema->id;
    envelope->body_size = (uint32_t)body_size;
    envelope->from_group = sender->from.key.group;
    envelope->from_serial = sender->from.key.serial;
    envelope->from_incarnation = sender->from.incarnation;
    envelope->from_epoch = sender->from.incarnation;
    envelope->sequence = ++sender->said;
    if (envelope->trace == 0) {
        envelope->trace = envelope->sequence;
    }
}

int tri_sender_send(struct tri_sender *sender, uint32_t place, const struct tr_envelope *wanted,
                    const struct tr_schema *schema, const void *body)
{
    size_t body_max = schema->size_max(body);
    if (body_max > TR_MESSAGE_BYTES_MAX - TR_ENVELOPE_BYTES) {
        return TR_LIMIT;
    }
    uint8_t *bytes = tr_alloc(TR_ENVELOPE_BYTES + body_max);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes + TR_ENVELOPE_BYTES, body_max);
    int error = schema->pack(body, &writer);
    if (error == 0) {
        struct tr_envelope envelope = *wanted;
        complete(sender, &envelope, schema, tr_writer_size(&writer));
        tr_envelope_pack(&envelope, bytes);
        size_t size = TR_ENVELOPE_BYTES + tr_writer_size(&writer);
        /*
         * `false`: the journal has no copy. A service's messages are lost with the host, and the
         * actor asks again.
         */
        error = tri_outbox_add(&sender->outbox, place, (struct tr_bytes){bytes, size}, false);
    }
    tr_free(bytes);
    return error;
}

void tri_sender_flush(struct tri_sender *sender)
{
    tri_outbox_flush(&sender->outbox, sender->link);
}
