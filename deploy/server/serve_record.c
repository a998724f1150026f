/*
 * From a recording to the file that somebody else writes.
 */
#include "deploy/server/serve_record.h"

#include <stdio.h>

#include "deploy/common/program.h"
#include "deploy/common/schemas.h"
#include "deploy/server/recording_context.h"

/* Entries of one recording in one step. */
#define ENTRIES_MAX 256

/* A large entry, an image, goes in pieces of this size. */
#define PIECE_BYTES (1U << 20)

/* Steps that an engine which leaves has for each: an actor may go on meanwhile. */
#define LAST_STEPS_MAX 1000

/* How often a client that gets nothing is told that it goes on. */
#define QUIET_MS 1000

int tr_serve_record_open(struct tr_serve_records *records, struct tr_live *live,
                         const struct tri_peer *peer, const struct tr_open_recording *open)
{
    if (records->count == TR_SERVE_RECORDS_MAX) {
        return TR_LIMIT;
    }
    uint8_t context[TR_RECORDING_CONTEXT_BYTES];
    struct tr_tap_record_options options = {
        .context = tr_recording_context_pack(live->engine, context),
        .address = open->address,
        .program = TR_PROGRAM_VERSION,
        .has_secrets = open->has_secrets,
        .limit = open->limit,
        .seconds = open->seconds,
        .registry = tr_program_schemas(),
    };
    struct tr_tap_record *record;
    int error = tr_tap_record_open(live->host, &options, &record);
    if (error == 0) {
        records->items[records->count].peer = *peer;
        records->items[records->count].record = record;
        records->items[records->count++].said_ms = tr_live_now_ms(live);
    }
    return error;
}

/* Sends bytes of the file; none at all say that it goes on. */
static int send_bytes(struct tr_live *live, const struct tri_peer *peer, uint64_t count,
                      struct tr_bytes bytes)
{
    int error = 0;
    do {
        size_t size = bytes.size < PIECE_BYTES ? bytes.size : PIECE_BYTES;
        struct tr_recording_row row = {.count = count, .bytes = {.data = bytes.data, .size = size}};
        error = tri_endpoint_answer(live->endpoint, peer, &tr_recording_row_schema, &row);
        bytes.data = size == 0 ? bytes.data : bytes.data + size;
        bytes.size -= size;
    } while (error == 0 && bytes.size > 0);
    return error;
}

/* The last answer. The client may have gone: then there is nobody to tell. */
static void tell_end(struct tr_live *live, const struct tri_peer *peer, int error,
                     const struct tr_tap_record *record)
{
    char words[256];
    snprintf(words, sizeof words, "%llu messages: %s",
             (unsigned long long)tr_tap_record_count(record),
             error != 0 ? tr_error_text(error) : tr_tap_record_words(record));
    struct tr_answered answered = {.error = error, .message = tr_text_of(words)};
    error = tri_endpoint_answer(live->endpoint, peer, &tr_answered_schema, &answered);
    (void)error;
}

/* Whether the recording goes on. */
static bool step_one(struct tr_serve_records *records, size_t index, struct tr_live *live)
{
    struct tr_tap_record *record = records->items[index].record;
    const struct tri_peer *peer = &records->items[index].peer;
    uint64_t now_ms = tr_live_now_ms(live);
    struct tr_bytes bytes;
    int error = 0;
    int sent = 0;
    for (uint32_t i = 0; i < ENTRIES_MAX && error == 0 && sent == 0; i++) {
        error = tr_tap_record_next(record, 0, &bytes);
        if (error == 0) {
            sent = send_bytes(live, peer, tr_tap_record_count(record), bytes);
            records->items[index].said_ms = now_ms;
        }
    }
    if (now_ms - records->items[index].said_ms > QUIET_MS && sent == 0) {
        sent = send_bytes(live, peer, tr_tap_record_count(record), (struct tr_bytes){0});
        records->items[index].said_ms = now_ms;
    }
    if (sent == 0 && error != 0 && error != TR_TIMEOUT) {
        tell_end(live, peer, error == TR_CLOSED ? 0 : error, record);
        return false;
    }
    return sent == 0;
}

void tr_serve_records_step(struct tr_serve_records *records, struct tr_live *live)
{
    size_t kept = 0;
    for (size_t i = 0; i < records->count; i++) {
        if (step_one(records, i, live)) {
            records->items[kept++] = records->items[i];
        } else {
            tr_tap_record_close(records->items[i].record);
        }
    }
    records->count = kept;
}

void tr_serve_records_fini(struct tr_serve_records *records, struct tr_live *live)
{
    for (size_t i = 0; i < records->count; i++) {
        tr_tap_record_end(records->items[i].record, "the engine has left");
        for (int k = 0; k < LAST_STEPS_MAX && step_one(records, i, live); k++) {
        }
        tr_tap_record_close(records->items[i].record);
    }
    records->count = 0;
}
