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
    struct tr_tap *tap = NULL;
    struct tr_tap_merge *merge = NULL;
    int error = tr_tap_filter_parse(words, count, tr_program_schemas(), explain, &filter);
    if (error == 0) {
        error = tr_tap_open(live->host, &filter, &tap);
    }
    if (error == 0 && live->is_member && !open->is_here) {
        error = tr_tap_merge_open(live, open, &filter, &merge);
    }
    if (error != 0) {
        tr_tap_close(tap);
    }
    if (error == 0) {
        taps->items[taps->count].merge = merge;
        taps->items[taps->count].peer = *peer;
        taps->items[taps->count].tap = tap;
        taps->items[taps->count].is_json = open->is_json;
        taps->items[taps->count].is_plain = open->is_plain;
        taps->items[taps->count++].said_ms = 0; /* it hears at once that it is open */
    }
    return error;
}

/* Whom the lines of a tap are sent to. */
struct sending {
    struct tr_live *live;
    const struct tri_peer *peer;
    struct tr_tap_merge *merge;
    uint64_t now_ms;
    bool is_json;
    bool is_plain;
};

static int send_line(const struct sending *sending, struct tr_text line, uint64_t clock,
                     bool is_lost)
{
    if (sending->merge != NULL) {
        return tr_tap_merge_add(sending->merge, line, clock, is_lost, sending->now_ms);
    }
    struct tr_tap_row row = {.line = line, .clock = clock, .is_lost = is_lost};
    return tri_endpoint_answer(sending->live->endpoint, sending->peer, &tr_tap_row_schema, &row);
}

static int send_event(const struct sending *sending, const struct tr_tap_event *event)
{
    char buffer[LINE_BYTES];
    struct tr_sink sink = tr_sink_of(buffer, sizeof buffer);
    bool is_lost = event->point == TR_TAP_LOST;
    if (sending->is_plain) {
        return tr_tap_words_print(event, &sink)
                   ? send_line(sending, tr_sink_text(&sink), event->clock, is_lost)
                   : 0;
    }
    tr_tap_event_print(&sink, sending->is_json ? TR_PRINT_JSON : TR_PRINT_LINE,
                       tr_program_schemas(), event);
    bool is_cut = sending->is_json && sink.truncated;
    return send_line(sending, is_cut ? tr_text_of("{\"truncated\":true}") : tr_sink_text(&sink),
                     event->clock, is_lost);
}

/* What others have sent, and what has waited for it. */
static int send_merged(struct sending *sending, uint32_t *lines)
{
    struct tr_tap_merge *merge = sending->merge;
    struct tr_text line;
    int error = tr_tap_merge_read(merge, sending->now_ms);
    sending->merge = NULL;
    while (error == 0 && *lines < LINES_MAX &&
           tr_tap_merge_next(merge, sending->now_ms, &line) == 0) {
        error = send_line(sending, line, 0, false);
        ++*lines;
    }
    sending->merge = merge;
    return error;
}

/* Own events; `*error`: what ends the tap. */
static int send_own(const struct sending *sending, struct tr_tap *tap, uint32_t *lines, int *error)
{
    struct tr_tap_event event;
    int sent = 0;
    while (sent == 0 && *lines < LINES_MAX && (*error = tr_tap_next(tap, 0, &event)) == 0) {
        sent = send_event(sending, &event);
        ++*lines;
    }
    return sent;
}

static bool end_tap(struct tr_live *live, const struct tri_peer *peer, int error)
{
    struct tr_answered answered = {.error = error == TR_CLOSED ? 0 : error,
                                   .message = tr_text_of(tr_error_text(error))};
    return tri_endpoint_answer(live->endpoint, peer, &tr_answered_schema, &answered) == TR_BUSY;
}

/* Whether the tap stays. */
static bool step_one(struct tr_serve_taps *taps, size_t index, struct tr_live *live)
{
    struct sending sending = {.live = live,
                              .peer = &taps->items[index].peer,
                              .merge = taps->items[index].merge,
                              .now_ms = tr_live_now_ms(live),
                              .is_json = taps->items[index].is_json,
                              .is_plain = taps->items[index].is_plain};
    int error = TR_TIMEOUT;
    uint32_t lines = 0;
    int sent = 0;
    if (taps->items[index].tap != NULL) {
        sent = send_own(&sending, taps->items[index].tap, &lines, &error);
    }
    if (error == TR_CLOSED && sending.merge != NULL) {
        tr_tap_close(taps->items[index].tap);
        taps->items[index].tap = NULL;
        error = TR_TIMEOUT;
    }
    if (sending.merge != NULL) {
        lines = 0;
        sent = sent != 0 ? sent : send_merged(&sending, &lines);
        bool is_over = taps->items[index].tap == NULL && tr_tap_merge_is_over(sending.merge);
        error = is_over || tr_tap_merge_is_full(sending.merge) ? TR_CLOSED : error;
    }
    if (lines > 0) {
        taps->items[index].said_ms = sending.now_ms;
    } else if (sending.now_ms - taps->items[index].said_ms > QUIET_MS) {
        sending.merge = NULL;
        sent = send_line(&sending, tr_text_of(""), 0, false);
        taps->items[index].said_ms = sending.now_ms;
    }
    if (sent == TR_NO_CONNECTION || sent == TR_BUSY) {
        return false;
    }
    return error == 0 || error == TR_TIMEOUT || end_tap(live, sending.peer, error);
}

static void close_one(struct tr_serve_taps *taps, size_t index)
{
    tr_tap_close(taps->items[index].tap);
    tr_tap_merge_free(taps->items[index].merge);
}

void tr_serve_taps_step(struct tr_serve_taps *taps, struct tr_live *live)
{
    size_t kept = 0;
    for (size_t i = 0; i < taps->count; i++) {
        if (step_one(taps, i, live)) {
            taps->items[kept++] = taps->items[i];
        } else {
            close_one(taps, i);
        }
    }
    taps->count = kept;
}

void tr_serve_taps_fini(struct tr_serve_taps *taps)
{
    for (size_t i = 0; i < taps->count; i++) {
        close_one(taps, i);
    }
    taps->count = 0;
}
