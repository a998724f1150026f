/*
 * Messages in memory: slabs by size, and the only place where an envelope is filled in.
 */
#include "runtime/actor/parts.h"

/* Sizes with a slab; the smallest fits an envelope and a few numbers in three cache lines. */
static const uint32_t slab_bytes[TRI_MESSAGE_SLABS] = {192, 256, 384, 512, 1024, 2048, 4096, 16384};

void tri_message_slabs_init(struct tri_worker *worker)
{
    for (unsigned i = 0; i < TRI_MESSAGE_SLABS; i++) {
        tri_slab_init(&worker->message_slabs[i], &worker->directory, slab_bytes[i]);
    }
}

void tri_message_slabs_release(struct tri_worker *worker)
{
    bool has_rested = false;
    for (unsigned i = 0; i < TRI_MESSAGE_SLABS; i++) {
        has_rested |= tri_slab_release(&worker->message_slabs[i]);
    }
    if (has_rested) {
        tr_memory_trim();
    }
}

/*
 * Messages of the runtime itself (DOWN, a failed question) fit into this slab. The reserve holds
 * objects of it, so this slab is never released.
 */
#define RESERVE_SLAB 1U

/*
 * Takes from the reserve. When it is empty a guarantee would be broken: the process ends, and a
 * restart continues from the store.
 */
static uint32_t reserve_take(struct tri_worker *worker)
{
    TR_ASSERT(worker->reserve_count > 0);
    return worker->reserve[--worker->reserve_count];
}

void tri_message_reserve_fill(struct tri_worker *worker)
{
    while (worker->reserve_count < TR_COUNT_OF(worker->reserve)) {
        uint32_t slot = tri_slab_take(&worker->message_slabs[RESERVE_SLAB]);
        if (slot == 0) {
            return;
        }
        worker->reserve[worker->reserve_count++] = slot;
    }
}

/* A message too large for any slab. */
static struct tri_message *message_large(size_t size)
{
    struct tri_message *message = tr_alloc(sizeof *message + size);
    if (message != NULL) {
        message->slot = 0;
        message->slab = TRI_MESSAGE_SLABS;
    }
    return message;
}

/* A message from the smallest slab that holds it. */
static struct tri_message *message_small(struct tri_worker *worker, size_t size)
{
    unsigned slab = 0;
    while (slab_bytes[slab] < size + sizeof(struct tri_message)) {
        slab++;
    }
    uint32_t slot = tri_slab_take(&worker->message_slabs[slab]);
    if (TR_UNLIKELY(slot == 0) && slab <= RESERVE_SLAB && worker->uses_reserve) {
        slab = RESERVE_SLAB;
        slot = reserve_take(worker);
    }
    if (slot == 0) {
        return NULL;
    }
    struct tri_message *message = tri_slot_object(&worker->directory, slot);
    message->slot = slot;
    message->slab = (uint16_t)slab;
    return message;
}

/* A message with space for `size` bytes; its size is set, its bytes are not. NULL: no memory. */
static struct tri_message *message_new(struct tri_worker *worker, size_t size)
{
    bool is_large = size + sizeof(struct tri_message) > slab_bytes[TRI_MESSAGE_SLABS - 1];
    struct tri_message *message = is_large ? message_large(size) : message_small(worker, size);
    if (message != NULL) {
        message->next = NULL;
        message->size = (uint32_t)size;
        message->from_hint = 0;
        message->is_stored = 0;
    }
    return message;
}

void tri_message_free(struct tri_worker *worker, struct tri_message *message)
{
    if (message->slot == 0) {
        tr_free(message);
    } else {
        tri_slab_give(&worker->message_slabs[message->slab], message->slot);
    }
}

struct tri_message *tri_message_copy(struct tri_worker *worker, struct tr_bytes bytes)
{
    struct tri_message *message = message_new(worker, bytes.size);
    if (message != NULL) {
        memcpy(message->bytes, bytes.data, bytes.size);
    }
    return message;
}

/*
 * The flags of an envelope that follow from its schema. A question and its answer are never hints,
 * because an actor waits for them.
 */
static uint8_t flags_of(const struct tr_schema *schema, uint8_t kind)
{
    uint8_t flags = 0;
    bool is_awaited = kind == TR_KIND_ASK || kind == TR_KIND_REPLY || kind == TR_KIND_CALL;
    if ((schema->marks & TR_HINT) != 0 && !is_awaited) {
        flags |= TR_FLAG_HINT;
    }
    if ((schema->marks & TR_PRIORITY) != 0) {
        flags |= TR_FLAG_PRIORITY;
    }
    return flags;
}

/* Writes the envelope before a body of this size. */
static void fill_envelope(struct tri_worker *worker, const struct tri_heading *heading,
                          const struct tr_schema *schema, size_t body_size, uint8_t *at)
{
    struct tr_envelope envelope = {
        .envelope_version = TR_ENVELOPE_VERSION,
        .kind = heading->kind,
        .flags = flags_of(schema, heading->kind),
        .version = schema->version,
        .type = schema->id,
        .body_size = (uint32_t)body_size,
        .to_group = heading->to.key.group,
        .to_serial = heading->to.key.serial,
        .to_incarnation = heading->to.incarnation,
        .from_group = heading->from.key.group,
        .from_serial = heading->from.key.serial,
        .from_incarnation = heading->from.incarnation,
        .from_epoch = worker->shared->host.incarnation,
        .sequence = heading->sequence,
        .cause_group = heading->cause.key.group,
        .cause_serial = heading->cause.key.serial,
        .cause_incarnation = heading->cause.incarnation,
        .cause_sequence = heading->cause_sequence,
        .deadline_ms = heading->deadline_ms,
        .trace = heading->trace,
        .clock = ++worker->clock,
    };
    tr_envelope_pack(&envelope, at);
}

int tri_message_make(struct tri_worker *worker, const struct tri_heading *heading,
                     const struct tr_schema *schema, const void *body, size_t bytes_max,
                     struct tri_message **out)
{
    size_t body_max = schema->size_max(body);
    if (body_max > bytes_max - TR_ENVELOPE_BYTES) {
        return TR_LIMIT;
    }
    struct tri_message *message = message_new(worker, TR_ENVELOPE_BYTES + body_max);
    if (message == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(message->bytes + TR_ENVELOPE_BYTES, body_max);
    int error = schema->pack(body, &writer);
    if (error != 0) {
        tri_message_free(worker, message);
        return error;
    }
    size_t body_size = tr_writer_size(&writer);
    fill_envelope(worker, heading, schema, body_size, message->bytes);
    message->size = (uint32_t)(TR_ENVELOPE_BYTES + body_size);
    *out = message;
    return 0;
}

struct tri_heading tri_worker_heading(struct tri_worker *worker, struct tr_ref to,
                                      const struct tri_message *about)
{
    struct tr_ref from = worker->shared->host;
    from.key.serial = TR_SERVICE_WORKERS + worker->index;
    struct tri_heading heading = {
        .kind = TR_KIND_SIGNAL,
        .from = from,
        .to = to,
        .sequence = ++worker->said,
    };
    if (about != NULL) {
        heading.cause = tri_message_from(about);
        heading.cause_sequence = tr_envelope_get(about->bytes, 64, sequence);
        heading.trace = tr_envelope_get(about->bytes, 64, trace);
    }
    return heading;
}

struct tri_op tri_message_op(const struct tri_message *message, enum tri_op_kind kind)
{
    struct tr_ref from = tri_message_from(message);
    return (struct tri_op){
        .kind = kind,
        .key = from.key,
        .incarnation = from.incarnation,
        .to_group = tri_message_to(message).group,
        .number = tr_envelope_get(message->bytes, 64, sequence),
    };
}

/* Sets is_stored, by which every later holder knows that it must be removed from the store. */
void tri_message_put(struct tri_worker *worker, struct tri_message *message)
{
    if (!tri_message_is_durable(message)) {
        return;
    }
    struct tri_op op = tri_message_op(message, TRI_OP_PUT_MESSAGE);
    op.data = (struct tr_bytes){.data = message->bytes, .size = message->size};
    tri_batch_add(&worker->batch, &op);
    message->is_stored = 1;
}

void tri_message_settle(struct tri_worker *worker, const struct tri_message *message)
{
    if (message->is_stored != 0) {
        struct tri_op op = tri_message_op(message, TRI_OP_DELETE_MESSAGE);
        tri_batch_add(&worker->batch, &op);
    }
}

void tri_recorder_note(struct tri_worker *worker, uint8_t point, const struct tri_message *message,
                       int reason)
{
    const uint8_t *at = message->bytes;
    *tri_recorder_next(&worker->recorder) = (struct tri_event){
        .to_serial = tr_envelope_get(at, 64, to_serial),
        .from_serial = tr_envelope_get(at, 64, from_serial),
        .to_group = (uint32_t)tr_group_shown(tr_envelope_get(at, 64, to_group)),
        .sequence = (uint32_t)tr_envelope_get(at, 64, sequence),
        .at_ms = (uint32_t)worker->now_ms,
        .type = tr_envelope_get(at, 16, type),
        .point = point,
        .reason = (int8_t)reason,
    };
}

void tri_recorder_note_actor(struct tri_worker *worker, uint8_t point,
                             const struct tri_actor *actor, int reason)
{
    *tri_recorder_next(&worker->recorder) = (struct tri_event){
        .to_serial = actor->key.serial,
        .from_serial = actor->parent.serial,
        .to_group = (uint32_t)actor->key.group,
        .at_ms = (uint32_t)worker->now_ms,
        .point = point,
        .reason = (int8_t)reason,
    };
}

struct tr_message tri_message_view(const struct tri_message *message)
{
    const uint8_t *at = message->bytes;
    return (struct tr_message){
        .envelope = at,
        .from = tri_message_from(message),
        .type = tr_envelope_get(at, 16, type),
        .version = tr_envelope_get(at, 8, version),
        .kind = tr_envelope_get(at, 8, kind),
        .from_hint = message->from_hint,
        .body = tr_envelope_body(at),
    };
}
