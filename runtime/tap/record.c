/*
 * Makes the entries of a recording from a tap on one actor.
 *
 * The worker packs the actor in the same step in which it opens the tap, so nothing is between the
 * image and the first event. When the actor moves, its new worker must have opened before it
 * arrived: only then its arrival is seen; messages handled there without it are a gap.
 *
 * The steps follow the file: the header, the image, any number of messages, the end. Each call
 * returns the bytes of one entry, in a block that is valid until the next call. The end of a
 * recording is an entry as well, so a reader can distinguish a complete recording from one whose
 * writer died.
 *
 * Without secrets, bodies are blanked by their schemas. A body without a known schema and the pages
 * of an actor cannot be blanked, so they are left out.
 */
#include "runtime/tap/record.h"

#include "runtime/host/control.h"
#include "runtime/memory.h"
#include "runtime/trace/recording.h"
#include "schemas/codec/redact.h"
#include "schemas/runtime/recording.h"

#define RECORDED_POINTS \
    (1U << TR_TAP_HANDLED | 1U << TR_TAP_FAILED | 1U << TR_TAP_MOVED | 1U << TR_TAP_DIED)

/* The next step. */
enum step {
    STEP_HEAD,
    STEP_IMAGE,
    STEP_MESSAGES,
    STEP_OVER,
};

struct tr_tap_record {
    struct tr_host *host;
    struct tr_tap *tap;
    const struct tr_registry *registry;
    struct tr_recording head; /* its texts are below */
    char *address;
    char *program;
    uint8_t *context;
    enum step step;
    uint32_t home; /* the actor's worker; TR_WORKERS_MAX: it is moving */
    uint8_t *snapshot;
    size_t snapshot_size;
    uint64_t count;
    uint64_t size;
    const char *words;
    const char *asked_end; /* why it shall end, or NULL */
    uint8_t *block;        /* the last returned block */
    int error;             /* error while answers are gathered */
};

/* ---------------------------------------------------------------------- beginning */

/*
 * An answer to the opening; that of the actor's worker has the snapshot. If the actor moves between
 * two answers, two workers may send one: the first counts, and the first event of the other worker
 * ends the recording in give_event.
 */
static void take_snapshot(void *self, const struct tr_observed *observed)
{
    struct tr_tap_record *record = self;
    if (observed->data.size == 0 || record->snapshot != NULL) {
        return;
    }
    record->snapshot = tr_alloc(observed->data.size);
    if (record->snapshot == NULL) {
        record->error = TR_MEMORY;
        return;
    }
    memcpy(record->snapshot, observed->data.data, observed->data.size);
    record->snapshot_size = observed->data.size;
    record->home = observed->worker;
}

/* Without a snapshot in any answer the actor was just moving. */
static int open_tap(struct tr_tap_record *record, const struct tr_tap_record_options *options)
{
    uint64_t limit = options->limit;
    struct tr_tap_filter filter = {
        .points = RECORDED_POINTS,
        .key = record->head.actor.key,
        .payload_bytes = TR_MESSAGE_BYTES_MAX,
        .limit =
            limit == 0 || limit > TR_RECORDING_MESSAGES_MAX ? TR_RECORDING_MESSAGES_MAX : limit,
        .seconds = options->seconds,
        .is_recording = true,
    };
    int error = tri_tap_open_recording(record->host, &filter, take_snapshot, record, &record->tap);
    if (error == 0) {
        error = record->error;
    }
    return error == 0 && record->snapshot == NULL ? TR_NOT_FOUND : error;
}

static int fill_head(struct tr_tap_record *record, const struct tr_tap_record_options *options)
{
    const struct tri_shared *shared = &record->host->shared;
    size_t size = options->context.size;
    record->address = tr_text_copy(options->address);
    record->context = tr_alloc(size);
    record->program = tr_text_copy(tr_text_of(options->program));
    if (record->address == NULL || record->program == NULL ||
        (record->context == NULL && size > 0)) {
        return TR_MEMORY;
    }
    record->head.program = tr_text_of(record->program);
    record->head.at_ms = tri_wall_ms(record->host->env);
    record->head.address = tr_text_of(record->address);
    record->head.seed = shared->seed;
    record->head.epoch = shared->host.incarnation;
    record->head.host = shared->directory.number;
    record->head.ahead_ms = shared->life.ahead_ms;
    if (size > 0) {
        memcpy(record->context, options->context.data, size);
    }
    record->head.context = (struct tr_bytes){.data = record->context, .size = size};
    record->head.has_secrets = options->has_secrets;
    return tr_host_find(record->host, options->address, &record->head.actor);
}

int tr_tap_record_open(struct tr_host *host, const struct tr_tap_record_options *options,
                       struct tr_tap_record **out)
{
    struct tr_tap_record *record = tr_alloc_zero(1, sizeof *record);
    if (record == NULL) {
        return TR_MEMORY;
    }
    record->host = host;
    record->registry = options->registry;
    record->words = "";
    int error = fill_head(record, options);
    if (error == 0) {
        error = open_tap(record, options);
    }
    if (error != 0) {
        tr_tap_record_close(record);
        return error;
    }
    *out = record;
    return 0;
}

void tr_tap_record_close(struct tr_tap_record *record)
{
    if (record == NULL) {
        return;
    }
    tr_tap_close(record->tap);
    tr_free(record->snapshot);
    tr_free(record->address);
    tr_free(record->program);
    tr_free(record->context);
    tr_free(record->block);
    tr_free(record);
}

void tr_tap_record_end(struct tr_tap_record *record, const char *words)
{
    record->asked_end = words;
}

uint64_t tr_tap_record_count(const struct tr_tap_record *record)
{
    return record->count;
}

const char *tr_tap_record_words(const struct tr_tap_record *record)
{
    return record->words;
}

/* ---------------------------------------------------------------------- blanking */

/* The schema of the state in an image, or NULL. */
static const struct tr_schema *state_of(const struct tr_tap_record *record,
                                        const struct tr_image *image)
{
    int index = tri_behaviour_index(&record->host->shared, image->behaviour);
    return index < 0 ? NULL : record->host->shared.behaviours[index]->state;
}

/*
 * Writes a snapshot with its state blanked and without its pages to `blanked`, which is as large.
 */
static int blank_snapshot(const struct tr_tap_record *record, struct tr_bytes whole,
                          struct tr_writer *blanked, bool *is_blanked)
{
    struct tr_actor_snapshot snapshot;
    struct tr_image image;
    int error = tr_actor_snapshot_unpack(whole, tr_actor_snapshot_schema.version, &snapshot);
    if (error == 0) {
        error = tr_image_unpack(snapshot.image, tr_image_schema.version, &image);
    }
    if (error != 0) {
        return error;
    }
    const struct tr_schema *state = state_of(record, &image);
    if (state == NULL) {
        return TR_UNKNOWN_TYPE;
    }
    uint8_t *room = tr_alloc(2 * snapshot.image.size + 16);
    if (room == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(room, image.state.size + 8);
    error = tr_body_redact(state, image.state_version, image.state, &writer, is_blanked);
    image.state = (struct tr_bytes){.data = room, .size = tr_writer_size(&writer)};
    struct tr_writer second = tr_writer_of(room + image.state.size, snapshot.image.size + 8);
    if (error == 0) {
        error = tr_image_pack(&image, &second);
    }
    if (error == 0) {
        struct tr_cursor pages = tr_cursor_of(snapshot.pages);
        uint8_t none[] = {0x90}; /* an empty array */
        *is_blanked = *is_blanked || tr_read_array(&pages) != 0;
        snapshot.image = (struct tr_bytes){.data = second.begin, .size = tr_writer_size(&second)};
        snapshot.pages = (struct tr_bytes){.data = none, .size = sizeof none};
        error = tr_actor_snapshot_pack(&snapshot, blanked);
    }
    tr_free(room);
    return error;
}

/*
 * Writes a message with its body blanked to `room`, which is as large. One without a known schema
 * keeps only its envelope.
 */
static void blank_message(const struct tr_tap_record *record, struct tr_bytes message,
                          uint8_t *room, struct tr_recorded_message *entry)
{
    struct tr_bytes body = tr_envelope_body(message.data);
    const struct tr_schema *schema =
        tr_registry_find(record->registry, TR_MESSAGE, tr_envelope_get(message.data, 16, type));
    struct tr_writer writer = tr_writer_of(room + TR_ENVELOPE_BYTES, body.size);
    memcpy(room, message.data, TR_ENVELOPE_BYTES);
    size_t size = 0;
    entry->is_redacted = body.size > 0;
    if (schema != NULL && tr_body_redact(schema, tr_envelope_get(message.data, 8, version), body,
                                         &writer, &entry->is_redacted) == 0) {
        size = tr_writer_size(&writer);
    }
    tr_envelope_put(room, 32, body_size, (uint32_t)size);
    entry->message = (struct tr_bytes){.data = room, .size = TR_ENVELOPE_BYTES + size};
}

/* ----------------------------------------------------------------------- entries */

/* Returns an entry; frees the block of the previous one. */
static int give(struct tr_tap_record *record, const struct tr_schema *schema, const void *value,
                struct tr_bytes *bytes)
{
    size_t size;
    uint8_t *block;
    int error = tr_recording_entry_make(schema, value, &block, &size);
    if (error != 0) {
        return error;
    }
    tr_free(record->block);
    record->block = block;
    record->size += size;
    *bytes = (struct tr_bytes){.data = block, .size = size};
    return 0;
}

/* Returns the file's magic and the first entry. */
static int give_head(struct tr_tap_record *record, struct tr_bytes *bytes)
{
    struct tr_bytes entry;
    int error = give(record, &tr_recording_schema, &record->head, &entry);
    if (error != 0) {
        return error;
    }
    uint8_t *block = tr_alloc(TR_RECORDING_MAGIC_BYTES + entry.size);
    if (block == NULL) {
        return TR_MEMORY;
    }
    memcpy(block, TR_RECORDING_MAGIC, TR_RECORDING_MAGIC_BYTES);
    memcpy(block + TR_RECORDING_MAGIC_BYTES, entry.data, entry.size);
    tr_free(record->block);
    record->block = block;
    record->size += TR_RECORDING_MAGIC_BYTES;
    *bytes = (struct tr_bytes){.data = block, .size = TR_RECORDING_MAGIC_BYTES + entry.size};
    record->step = STEP_IMAGE;
    return 0;
}

static int give_image(struct tr_tap_record *record, struct tr_bytes *bytes)
{
    struct tr_bytes whole = {.data = record->snapshot, .size = record->snapshot_size};
    struct tr_recorded_image entry = {.snapshot = whole};
    uint8_t *room = NULL;
    int error = 0;
    if (!record->head.has_secrets) {
        room = tr_alloc(whole.size + 8);
        struct tr_writer writer = tr_writer_of(room, whole.size + 8);
        error =
            room == NULL ? TR_MEMORY : blank_snapshot(record, whole, &writer, &entry.is_redacted);
        entry.snapshot = (struct tr_bytes){.data = room, .size = tr_writer_size(&writer)};
    }
    if (error == 0) {
        error = give(record, &tr_recorded_image_schema, &entry, bytes);
    }
    tr_free(room);
    tr_free(record->snapshot);
    record->snapshot = NULL;
    record->step = STEP_MESSAGES;
    return error;
}

static int give_message(struct tr_tap_record *record, const struct tr_tap_event *event,
                        struct tr_bytes *bytes)
{
    struct tr_recorded_message entry = {
        .now_ms = event->now_ms,
        .worker = event->worker,
        .spawns = event->spawns,
        .groups = event->groups,
        .sequence = event->sequence,
        .reason = (uint32_t)-event->reason,
        .message = event->message,
    };
    uint8_t *room = NULL;
    if (!record->head.has_secrets) {
        room = tr_alloc(event->message.size);
        if (room == NULL) {
            return TR_MEMORY;
        }
        blank_message(record, event->message, room, &entry);
    }
    int error = give(record, &tr_recorded_message_schema, &entry, bytes);
    tr_free(room);
    if (error == 0) {
        record->count++;
    }
    return error;
}

static int give_end(struct tr_tap_record *record, int reason, const char *words,
                    struct tr_bytes *bytes)
{
    struct tr_recorded_end entry = {
        .count = record->count, .reason = (uint32_t)-reason, .message = tr_text_of(words)};
    record->step = STEP_OVER;
    record->words = words;
    return give(record, &tr_recorded_end_schema, &entry, bytes);
}

/* Follows the actor from worker to worker. */
static void note_move(struct tr_tap_record *record, const struct tr_tap_event *event)
{
    bool has_left = event->worker != event->to_worker;
    record->home = has_left ? TR_WORKERS_MAX : event->worker;
}

/* Converts an event to an entry; TR_NOT_FOUND: none, take the next event. */
static int give_event(struct tr_tap_record *record, const struct tr_tap_event *event,
                      struct tr_bytes *bytes)
{
    switch (event->point) {
    case TR_TAP_LOST:
        return give_end(record, TR_LIMIT,
                        "messages were lost: they arrived faster than they were read", bytes);
    case TR_TAP_DIED:
        return give_end(record, event->reason, "the actor has ended", bytes);
    case TR_TAP_MOVED:
        note_move(record, event);
        return TR_NOT_FOUND;
    default:
        break;
    }
    /*
     * Either the actor is moving and its arrival was not seen, or the image is of another worker:
     * messages in between may be missing.
     */
    if (event->worker != record->home) {
        return give_end(record, TR_LIMIT, "the actor moved while the recording began", bytes);
    }
    if (record->size + event->message.size > TR_RECORDING_BYTES_MAX) {
        return give_end(record, TR_LIMIT, "the recording is as large as one may be", bytes);
    }
    /* Quarantined, and not handled: the failed attempt was reported before. */
    bool is_aside = event->message.size == 0;
    return is_aside ? TR_NOT_FOUND : give_message(record, event, bytes);
}

int tr_tap_record_next(struct tr_tap_record *record, uint64_t timeout_ms, struct tr_bytes *bytes)
{
    if (record->step == STEP_HEAD) {
        return give_head(record, bytes);
    }
    if (record->step == STEP_IMAGE) {
        return give_image(record, bytes);
    }
    int error = record->step == STEP_OVER ? TR_CLOSED : TR_NOT_FOUND;
    while (error == TR_NOT_FOUND) {
        struct tr_tap_event event;
        error = tr_tap_next(record->tap, timeout_ms, &event);
        if (error == TR_CLOSED) {
            return give_end(record, 0, "as much as was asked for", bytes);
        }
        /* When asked to end, it first returns all events seen before. */
        if (error == TR_TIMEOUT && record->asked_end != NULL) {
            return give_end(record, 0, record->asked_end, bytes);
        }
        if (error == 0) {
            error = give_event(record, &event, bytes);
        }
    }
    return error;
}
