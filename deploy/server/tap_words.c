/*
 * Each line is about the actor that an event is of, called by its address: an execution, a node or
 * an element. A node begins when it has handled its start; what it says to those above it while it
 * sends is how it goes on. A body that was not copied whole is read as far as it goes: phases stand
 * before large values.
 */
#include "deploy/server/tap_words.h"

#include "actors/graph/document/moment.h"
#include "schemas/engine/flow.h"
#include "schemas/engine/phase.h"

/* Projects and domains that nobody has named are not shown. */
static const char usual[] = "/default/development/";

/* Slashes before the name of an execution, and so in the address of its root. */
#define ROOT_SLASHES 3

static bool is_root(const struct tr_tap_event *event)
{
    size_t slashes = 0;
    for (size_t i = 0; i < event->address.size; i++) {
        slashes += event->address.data[i] == '/' ? 1 : 0;
    }
    return slashes == ROOT_SLASHES;
}

static struct tr_bytes body_of(const struct tr_tap_event *event)
{
    return (struct tr_bytes){.data = event->message.data + TR_ENVELOPE_BYTES,
                             .size = event->message.size - TR_ENVELOPE_BYTES};
}

/* What follows a colon: the message of a failure, a cause. */
static void add_why(struct tr_sink *sink, struct tr_text why)
{
    if (why.size > 0) {
        tr_sink_put_string(sink, ": ");
        tr_sink_put(sink, why);
    }
}

/* ---------------------------------------------------------------------- each message */

static bool print_start(const struct tr_tap_event *event, uint8_t version, struct tr_sink *sink)
{
    (void)version;
    tr_sink_put_string(sink, "begins");
    return event->point == TR_TAP_HANDLED;
}

static bool print_news(const struct tr_tap_event *event, uint8_t version, struct tr_sink *sink)
{
    struct tr_node_news news;
    if (event->point != TR_TAP_SEND || is_root(event) ||
        tr_node_news_unpack(body_of(event), version, &news) != 0) {
        return false;
    }
    tr_sink_put_string(sink, tr_node_phase_word(news.phase));
    if (news.attempt > 0) {
        tr_sink_format(sink, ", attempt %u", news.attempt);
    }
    add_why(sink, news.message);
    return true;
}

/* The root's own end is told by execution_ended, which it always says. */
static bool print_end(const struct tr_tap_event *event, uint8_t version, struct tr_sink *sink)
{
    struct tr_node_ended ended;
    struct tr_cursor cursor = tr_cursor_of(body_of(event));
    if (event->point != TR_TAP_SEND || is_root(event)) {
        return false;
    }
    if (tr_node_ended_unpack(body_of(event), version, &ended) != 0) {
        (void)tr_read_array(&cursor);
        ended = (struct tr_node_ended){.node = tr_read_u32(&cursor),
                                       .element = tr_read_u64(&cursor),
                                       .phase = tr_read_u8(&cursor)};
    }
    tr_sink_put_string(sink, tr_node_phase_word(ended.phase));
    add_why(sink, ended.message);
    return cursor.error == 0;
}

static bool print_execution_end(const struct tr_tap_event *event, uint8_t version,
                                struct tr_sink *sink)
{
    struct tr_execution_ended ended;
    if (event->point != TR_TAP_SEND ||
        tr_execution_ended_unpack(body_of(event), version, &ended) != 0) {
        return false;
    }
    tr_sink_put_string(sink, tr_execution_phase_word(ended.phase));
    return true;
}

/* Of the execution alone: what is below it hears of it, too. */
static bool print_abort(const struct tr_tap_event *event, uint8_t version, struct tr_sink *sink)
{
    struct tr_node_abort abort;
    if (event->point != TR_TAP_HANDLED || !is_root(event) ||
        tr_node_abort_unpack(body_of(event), version, &abort) != 0) {
        return false;
    }
    tr_sink_put_string(sink, "is aborted");
    add_why(sink, abort.cause);
    return true;
}

static bool print_pause(const struct tr_tap_event *event, uint8_t version, struct tr_sink *sink)
{
    struct tr_node_pause pause;
    if (event->point != TR_TAP_HANDLED || !is_root(event) ||
        tr_node_pause_unpack(body_of(event), version, &pause) != 0) {
        return false;
    }
    tr_sink_put_string(sink, pause.is_paused ? "is paused" : "goes on");
    add_why(sink, pause.cause);
    return true;
}

/* Said by the launch node; its root hands it on. */
static bool print_launch(const struct tr_tap_event *event, uint8_t version, struct tr_sink *sink)
{
    struct tr_launch launch;
    if (event->point != TR_TAP_SEND || tr_launch_unpack(body_of(event), version, &launch) != 0 ||
        !tr_key_equal(launch.launching.key, event->actor.key)) {
        return false;
    }
    tr_sink_put_string(sink, "launches ");
    tr_sink_put(sink, launch.name);
    return true;
}

/* Said by the workflow of a gate, which has no actor; its root hands it on. */
static bool print_gate(const struct tr_tap_event *event, uint8_t version, struct tr_sink *sink)
{
    struct tr_signal_wait wait;
    if (event->point != TR_TAP_SEND || tr_signal_wait_unpack(body_of(event), version, &wait) != 0 ||
        !tr_key_equal(wait.gate.key, event->actor.key)) {
        return false;
    }
    tr_sink_put_string(sink, "the gate ");
    tr_sink_put(sink, wait.path);
    tr_sink_put_string(sink, " waits for ");
    tr_sink_put(sink, wait.id);
    return true;
}

static const struct {
    const struct tr_schema *schema;
    bool (*print)(const struct tr_tap_event *event, uint8_t version, struct tr_sink *sink);
} rows[] = {
    {&tr_node_start_schema, print_start}, {&tr_node_news_schema, print_news},
    {&tr_node_ended_schema, print_end},   {&tr_execution_ended_schema, print_execution_end},
    {&tr_node_abort_schema, print_abort}, {&tr_node_pause_schema, print_pause},
    {&tr_launch_schema, print_launch},    {&tr_signal_wait_schema, print_gate},
};

/* ------------------------------------------------------------------------- the line */

static void print_time(uint64_t time_ms, struct tr_sink *sink)
{
    struct tr_moment moment = {.seconds = (int64_t)(time_ms / 1000),
                               .nanoseconds = (uint32_t)(time_ms % 1000) * 1000000};
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_moment_print(moment, &text);
    tr_sink_put(sink, tr_buffer_text(&text));
    tr_buffer_fini(&text);
}

static void print_address(struct tr_text address, struct tr_sink *sink)
{
    size_t size = sizeof usual - 1;
    bool is_usual = address.size > size && memcmp(address.data, usual, size) == 0;
    size_t left_out = is_usual ? size : 0;
    tr_sink_put(sink,
                (struct tr_text){.data = address.data + left_out, .size = address.size - left_out});
}

static bool print_lost(const struct tr_tap_event *event, struct tr_sink *sink)
{
    tr_sink_format(sink, "%llu messages are missing here",
                   (unsigned long long)(event->lost + event->skipped));
    return true;
}

bool tr_tap_words_print(const struct tr_tap_event *event, struct tr_sink *sink)
{
    if (event->point == TR_TAP_LOST) {
        return print_lost(event, sink);
    }
    if (event->message.size < TR_ENVELOPE_BYTES || event->address.size == 0) {
        return false;
    }
    uint16_t type = tr_envelope_get(event->message.data, 16, type);
    uint8_t version = tr_envelope_get(event->message.data, 8, version);
    print_time(event->now_ms, sink);
    tr_sink_put_string(sink, "  ");
    print_address(event->address, sink);
    tr_sink_put_string(sink, "  ");
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        if (rows[i].schema->id == type) {
            return rows[i].print(event, version, sink);
        }
    }
    return false;
}
