/*
 * Voices: envelopes filled in for those who are no actors. Their messages have names too: the
 * service's serial in group 0, the host's epoch, and a number.
 */
#include "runtime/link/voice.h"

#include "runtime/memory.h"

void tri_voice_init(struct tri_voice *voice, uint64_t serial, uint32_t host_epoch)
{
    *voice = (struct tri_voice){.from = {{0, serial}, host_epoch}};
}

void tri_voice_fini(struct tri_voice *voice)
{
    tri_outbox_fini(&voice->outbox);
}

static void complete(struct tri_voice *voice, struct tr_envelope *envelope,
                     const struct tr_schema *schema, size_t body_size)
{
    envelope->envelope_version = TR_ENVELOPE_VERSION;
    envelope->version = schema->version;
    envelope->type = schema->id;
    envelope->body_size = (uint32_t)body_size;
    envelope->from_serial = voice->from.key.serial;
    envelope->from_incarnation = voice->from.incarnation;
    envelope->from_epoch = voice->from.incarnation;
    envelope->sequence = ++voice->said;
    if (envelope->trace == 0) {
        envelope->trace = envelope->sequence;
    }
}

int tri_voice_say(struct tri_voice *voice, uint32_t place, const struct tr_envelope *wanted,
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
        complete(voice, &envelope, schema, tr_writer_size(&writer));
        tr_envelope_pack(&envelope, bytes);
        size_t size = TR_ENVELOPE_BYTES + tr_writer_size(&writer);
        error = tri_outbox_add(&voice->outbox, place, (struct tr_bytes){bytes, size}, false);
    }
    tr_free(bytes);
    return error;
}

void tri_voice_flush(struct tri_voice *voice)
{
    tri_outbox_flush(&voice->outbox, voice->link);
}
