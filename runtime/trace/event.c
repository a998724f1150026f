/*
 * Prints events, by the printers of schemas/.
 *
 * Each event is one line for people or one JSON object for programs, without a line end. Both are
 * made from the same fields, so a new field must be added to both.
 *
 * A body is printed only if it was copied completely: redacted fields are found by reading the body
 * by its schema, and an incomplete body cannot be read.
 */
#include "runtime/trace/event.h"

#include <inttypes.h>

#include "schemas/codec/error.h"
#include "schemas/codec/print_scalar.h"

static void print_lost(struct tr_sink *sink, enum tr_print_form form,
                       const struct tr_tap_event *event)
{
    if (form == TR_PRINT_JSON) {
        tr_sink_format(sink, "{\"point\":\"lost\",\"worker\":%" PRIu32, event->worker);
        tr_sink_format(sink, ",\"lost\":%" PRIu64 ",\"skipped\":%" PRIu64 "}", event->lost,
                       event->skipped);
    } else {
        tr_sink_format(sink, "w%" PRIu32 " lost %" PRIu64 " skipped %" PRIu64, event->worker,
                       event->lost, event->skipped);
    }
}

/* Whether the copy of the message has its whole body. */
static bool is_whole(const struct tr_tap_event *event)
{
    return event->message.size ==
           TR_ENVELOPE_BYTES + (size_t)tr_envelope_get(event->message.data, 32, body_size);
}

/*
 * Prints a message without its body: the envelope, the type's name, and the size of the whole body.
 */
static void print_heading(struct tr_sink *sink, enum tr_print_form form,
                          const struct tr_registry *registry, const struct tr_tap_event *event)
{
    struct tr_envelope envelope;
    tr_envelope_unpack(event->message.data, &envelope);
    const struct tr_schema *schema = tr_registry_find(registry, TR_MESSAGE, envelope.type);
    bool is_json = form == TR_PRINT_JSON;
    tr_sink_put_string(sink, is_json ? "{\"envelope\":" : "");
    tr_print_envelope(sink, form, &envelope);
    if (is_json) {
        tr_sink_put_string(sink, ",");
        if (schema != NULL) {
            tr_sink_format(sink, "\"name\":\"%s\",", schema->name);
        }
        tr_sink_format(sink, "\"size\":%" PRIu32 "}", envelope.body_size);
    } else {
        tr_sink_format(sink, ": %s<%" PRIu32 " bytes>", schema != NULL ? schema->name : "",
                       envelope.body_size);
    }
}

static void print_message(struct tr_sink *sink, enum tr_print_form form,
                          const struct tr_registry *registry, const struct tr_tap_event *event)
{
    if (is_whole(event)) {
        tr_print_message(sink, form, registry, event->message);
    } else {
        print_heading(sink, form, registry, event);
    }
}

static void print_line(struct tr_sink *sink, const struct tr_registry *registry,
                       const struct tr_tap_event *event)
{
    tr_sink_format(sink, "%" PRIu64 " w%" PRIu32 " %s", event->now_ms, event->worker,
                   tr_tap_point_name(event->point));
    if (event->address.size > 0) {
        tr_sink_put_char(sink, ' ');
        tr_sink_put(sink, event->address);
    }
    if (!tr_key_is_none(event->actor.key)) {
        tr_sink_put_char(sink, ' ');
        tri_print_ref(sink, event->actor);
    }
    if (event->reason != 0) {
        tr_sink_format(sink, " reason=%s", tr_error_name(event->reason));
    }
    if (event->duration_ns != 0) {
        /* Microseconds with three decimals: the duration is in nanoseconds. */
        tr_sink_format(sink, " us=%" PRIu64 ".%03" PRIu64, event->duration_ns / 1000,
                       event->duration_ns % 1000);
    }
    if (event->point == TR_TAP_MOVED) {
        tr_sink_format(sink, " to_worker=%" PRIu32, event->to_worker);
    }
    tr_sink_format(sink, " after=%" PRIu64 "%s", event->number,
                   event->is_committed ? "" : " uncommitted");
    if (event->message.size > 0) {
        tr_sink_put_char(sink, ' ');
        print_message(sink, TR_PRINT_LINE, registry, event);
    }
}

static void print_json(struct tr_sink *sink, const struct tr_registry *registry,
                       const struct tr_tap_event *event)
{
    tr_sink_format(sink, "{\"point\":\"%s\",\"worker\":%" PRIu32 ",\"now_ms\":%" PRIu64,
                   tr_tap_point_name(event->point), event->worker, event->now_ms);
    tr_sink_format(sink, ",\"clock\":%" PRIu64 ",\"trace\":%" PRIu64 ",\"address\":", event->clock,
                   event->trace);
    tr_print_json_text(sink, event->address);
    tr_sink_put_string(sink, ",\"actor\":\"");
    tri_print_ref(sink, event->actor);
    tr_sink_format(sink, "\",\"reason\":\"%s\",\"duration_ns\":%" PRIu64,
                   tr_error_name(event->reason), event->duration_ns);
    if (event->point == TR_TAP_MOVED) {
        tr_sink_format(sink, ",\"to_worker\":%" PRIu32, event->to_worker);
    }
    tr_sink_format(sink, ",\"after\":%" PRIu64 ",\"committed\":%s", event->number,
                   event->is_committed ? "true" : "false");
    if (event->message.size > 0) {
        tr_sink_put_string(sink, ",\"message\":");
        print_message(sink, TR_PRINT_JSON, registry, event);
    }
    tr_sink_put_char(sink, '}');
}

void tr_tap_event_print(struct tr_sink *sink, enum tr_print_form form,
                        const struct tr_registry *registry, const struct tr_tap_event *event)
{
    if (event->point == TR_TAP_LOST) {
        print_lost(sink, form, event);
    } else if (form == TR_PRINT_JSON) {
        print_json(sink, registry, event);
    } else {
        print_line(sink, registry, event);
    }
}
