/*
 * From a tap to the lines that somebody else reads.
 */
#include "deploy/server/serve_tap.h"

#include "deploy/common/schemas.h"
#include "deploy/server/tap_words.h"
#include "schemas/codec/print.h"
#include "schemas/runtime/process.h"

#define WORDS_MAX 32

/* Lines of one tap in one step, and the longest of them. */
#define LINES_MAX 256
#define LINE_BYTES 16384

/* How often a client that sees nothing is told that the tap is open. */
#define QUIET_MS 1000

int tr_serve_tap_open(struct tr_serve_taps *taps, struct tr_live *live, const struct tri_peer *peer,
                      const struct tr_open_tap *open, char *explain)
{
    struct tr_text words[WORDS_MAX];
    struct tr_cursor cursor;
    struct tr_tap_filter filter;
    uint32_t count = tr_process_array_begin(open->filter, &cursor);
    if (count > WORDS_MAX || taps->count == TR_SERVE_TAPS_MAX) {
        return TR_LIMIT;
    }
    for (uint32_t i = 0; i < count; i++) {
        words[i] = tr_read_text(&cursor);
    }
    if (cursor.error != 0) {
        return cursor.error;
    }
    struct tr_tap *tap;
    int error = tr_tap_filter_parse(words, count, tr_program_schemas(), explain, &filter);
    if (error == 0) {
        error = tr_tap_open(live->host, &filter, &tap);
    }
    if (error == 0) {
        taps->items[taps->count].peer = *peer;
        taps->items[taps->count].tap = tap;
        taps->items[taps->count].is_json = open->is_json;
        taps->items[taps->count].is_plain = open->is_plain;
        taps->items[taps->count++].said_ms = 0; /* it hears at once that it is open */
    }
    return error;
}

static int send_line(struct tr_live *live, const struct tri_peer *peer, struct tr_text line)
{
    struct tr_tap_row row = {.line = line};
    return tri_endpoint_answer(live->endpoint, peer, &tr_tap_row_schema, &row);
}

static int send_event(struct tr_live *live, const struct tri_peer *peer, bool is_json,
                      bool is_plain, const struct tr_tap_event *event)
{
    char buffer[LINE_BYTES];
    struct tr_sink sink = tr_sink_of(buffer, sizeof buffer);
    if (is_plain) {
        return tr_tap_words_print(event, &sink) ? send_line(live, peer, tr_sink_text(&sink)) : 0;
    }
    tr_tap_event_print(&sink, is_json ? TR_PRINT_JSON : TR_PRINT_LINE, tr_program_schemas(), event);
    if (is_json && sink.truncated) {
        return send_line(live, peer, tr_text_of("{\"truncated\":true}"));
    }
    return send_line(live, peer, tr_sink_text(&sink));
}

/* Whether the tap stays. */
static bool step_one(struct tr_serve_taps *taps, size_t index, struct tr_live *live)
{
    struct tr_tap_event event;
    const struct tri_peer *peer = &taps->items[index].peer;
    int error = 0;
    int sent = 0;
    uint32_t lines = 0;
    while (sent == 0 && lines < LINES_MAX &&
           (error = tr_tap_next(taps->items[index].tap, 0, &event)) == 0) {
        sent =
            send_event(live, peer, taps->items[index].is_json, taps->items[index].is_plain, &event);
        lines++;
    }
    uint64_t now_ms = tr_live_now_ms(live);
    if (lines > 0) {
        taps->items[index].said_ms = now_ms;
    } else if (now_ms - taps->items[index].said_ms > QUIET_MS) {
        sent = send_line(live, peer, tr_text_of(""));
        taps->items[index].said_ms = now_ms;
    }
    if (sent == TR_NO_CONNECTION || sent == TR_BUSY) {
        return false;
    }
    if (error != 0 && error != TR_TIMEOUT) {
        struct tr_answered answered = {.error = error == TR_CLOSED ? 0 : error,
                                       .message = tr_text_of(tr_error_text(error))};
        return tri_endpoint_answer(live->endpoint, peer, &tr_answered_schema, &answered) == TR_BUSY;
    }
    return true;
}

void tr_serve_taps_step(struct tr_serve_taps *taps, struct tr_live *live)
{
    size_t kept = 0;
    for (size_t i = 0; i < taps->count; i++) {
        if (step_one(taps, i, live)) {
            taps->items[kept++] = taps->items[i];
        } else {
            tr_tap_close(taps->items[i].tap);
        }
    }
    taps->count = kept;
}

void tr_serve_taps_fini(struct tr_serve_taps *taps)
{
    for (size_t i = 0; i < taps->count; i++) {
        tr_tap_close(taps->items[i].tap);
    }
    taps->count = 0;
}
