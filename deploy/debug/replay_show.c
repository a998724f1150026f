/*
 * Printing what an actor in a sandbox does. What is redacted in a schema stays so here.
 */
#include "deploy/debug/replay_show.h"

#include <inttypes.h>

#include "schemas/codec/value.h"

static bool is_json(const struct tr_replay_show *show)
{
    return show->form == TR_PRINT_JSON;
}

static void put_ref(struct tr_sink *sink, struct tr_ref ref)
{
    tr_sink_format(sink, "%" PRIu64 "/%" PRIu64 "@%" PRIu32, tr_group_shown(ref.key.group),
                   ref.key.serial, ref.incarnation);
}

void tr_replay_show_head(struct tr_replay_show *show, const struct tr_recording *head,
                         const struct tr_behaviour *behaviour, struct tr_bytes state)
{
    struct tr_sink *sink = show->sink;
    tr_sink_put_string(sink, is_json(show) ? "{\"recording\":" : "recording of ");
    if (is_json(show)) {
        tr_sink_put_string(sink, "{\"address\":");
        tr_print_json_text(sink, head->address);
        tr_sink_put_string(sink, ",\"actor\":\"");
    } else {
        tr_sink_put(sink, head->address);
        tr_sink_put_char(sink, ' ');
    }
    put_ref(sink, head->actor);
    tr_sink_format(sink, is_json(show) ? "\",\"behaviour\":\"%s\"" : ", a %s", behaviour->name);
    tr_sink_format(sink, is_json(show) ? ",\"at_ms\":%" PRIu64 : ", made at %" PRIu64, head->at_ms);
    tr_sink_put_string(sink, is_json(show) ? ",\"program\":" : " ms by troupe ");
    if (is_json(show)) {
        tr_print_json_text(sink, head->program);
        tr_sink_put_string(sink, ",\"state\":");
        tr_print_body(sink, show->form, behaviour->state, behaviour->state->version, state);
        tr_sink_put_string(sink, "}}");
    } else {
        tr_sink_put(sink, head->program);
    }
    tr_sink_put_char(sink, '\n');
}

void tr_replay_show_message(struct tr_replay_show *show, const struct tr_recorded_message *recorded)
{
    struct tr_sink *sink = show->sink;
    show->number++;
    show->effects = 0;
    if (is_json(show)) {
        tr_sink_format(sink,
                       "{\"number\":%" PRIu64 ",\"now_ms\":%" PRIu64 ",\"message\":", show->number,
                       recorded->now_ms);
    } else {
        tr_sink_format(sink, "#%" PRIu64 " at %" PRIu64 " ms: ", show->number, recorded->now_ms);
    }
    tr_print_message(sink, show->form, show->registry, recorded->message);
    tr_sink_put_string(sink, is_json(show) ? ",\"effects\":[" : "\n");
}

/* ----------------------------------------------------------------------- effects */

/* The next field of a body with its bytes; false behind the last one. */
static bool next_field(struct tr_cursor *cursor, const struct tr_field *field,
                       struct tr_value *value, struct tr_bytes *raw)
{
    raw->data = cursor->at;
    *value = tr_value_read(cursor, field);
    raw->size = (size_t)(cursor->at - raw->data);
    return cursor->error == 0;
}

/* One field that has changed. */
static void show_change(struct tr_replay_show *show, const struct tr_field *field,
                        const struct tr_value *before, const struct tr_value *after, bool is_first)
{
    struct tr_sink *sink = show->sink;
    if (is_json(show)) {
        tr_sink_format(sink, "%s\"%s\":[", is_first ? "" : ",", field->name);
    } else {
        tr_sink_format(sink, " %s=", field->name);
    }
    tr_print_field(sink, show->form, field, before);
    tr_sink_put_string(sink, is_json(show) ? "," : "->");
    tr_print_field(sink, show->form, field, after);
    tr_sink_put_string(sink, is_json(show) ? "]" : "");
}

static void show_state(struct tr_replay_show *show, const struct tri_sandbox_effect *seen)
{
    const struct tr_schema *schema = seen->schema;
    struct tr_cursor before = tri_body_begin(schema, seen->before, schema->version);
    struct tr_cursor after = tri_body_begin(schema, seen->bytes, schema->version);
    bool is_first = true;
    tr_sink_put_string(show->sink, is_json(show) ? ",\"fields\":{" : "");
    for (uint16_t i = 0; i < schema->field_count; i++) {
        const struct tr_field *field = &schema->fields()[i];
        struct tr_value old;
        struct tr_value new;
        struct tr_bytes old_raw;
        struct tr_bytes new_raw;
        if (!next_field(&before, field, &old, &old_raw) ||
            !next_field(&after, field, &new, &new_raw)) {
            break;
        }
        if (old_raw.size != new_raw.size || memcmp(old_raw.data, new_raw.data, old_raw.size) != 0) {
            show_change(show, field, &old, &new, is_first);
            is_first = false;
        }
    }
    tr_sink_put_string(show->sink, is_json(show) ? "}" : "");
}

/* Pages have a form that only their actor knows: how much of them is new. */
static void show_page(struct tr_replay_show *show, const struct tri_sandbox_effect *seen)
{
    size_t changed = 0;
    for (size_t i = 0; i < seen->bytes.size; i++) {
        bool is_same = i < seen->before.size && seen->before.data[i] == seen->bytes.data[i];
        changed += is_same ? 0 : 1;
    }
    tr_sink_format(show->sink,
                   is_json(show) ? ",\"page\":%" PRIu64 ",\"size_before\":%zu,\"size\":%zu,"
                                   "\"changed\":%zu"
                                 : " %" PRIu64 ": %zu -> %zu bytes, %zu changed",
                   seen->number, seen->before.size, seen->bytes.size, changed);
}

static void show_message(struct tr_replay_show *show, const struct tri_sandbox_effect *seen)
{
    tr_sink_put_string(show->sink, is_json(show) ? ",\"message\":" : " ");
    tr_print_message(show->sink, show->form, show->registry, seen->bytes);
}

static void show_spawn(struct tr_replay_show *show, const struct tri_sandbox_effect *seen)
{
    struct tr_sink *sink = show->sink;
    tr_sink_put_string(sink, is_json(show) ? ",\"actor\":\"" : " ");
    put_ref(sink, seen->actor);
    tr_sink_format(sink, is_json(show) ? "\",\"behaviour\":\"%s\",\"name\":" : " %s ",
                   seen->behaviour);
    tr_print_json_text(sink, seen->name);
    tr_sink_put_string(sink, is_json(show) ? ",\"state\":" : " ");
    tr_print_body(sink, show->form, seen->schema, seen->schema->version, seen->bytes);
}

static void show_timer(struct tr_replay_show *show, const struct tri_sandbox_effect *seen)
{
    tr_sink_format(show->sink,
                   is_json(show) ? ",\"id\":%" PRIu64 ",\"due_ms\":%" PRIu64
                                 : " %" PRIu64 " at %" PRIu64 " ms",
                   seen->number, seen->due_ms);
}

static void show_timer_stop(struct tr_replay_show *show, const struct tri_sandbox_effect *seen)
{
    tr_sink_format(show->sink, is_json(show) ? ",\"id\":%" PRIu64 : " %" PRIu64, seen->number);
}

static void show_record(struct tr_replay_show *show, const struct tri_sandbox_effect *seen)
{
    const struct tr_schema *schema =
        tr_registry_find(show->registry, TR_RECORD, (uint16_t)seen->number);
    struct tr_sink *sink = show->sink;
    if (schema == NULL) {
        tr_sink_format(sink, is_json(show) ? ",\"type\":%" PRIu64 : " of type %" PRIu64,
                       seen->number);
        return;
    }
    if (is_json(show)) {
        tr_sink_format(sink, ",\"name\":\"%s\",\"row\":", schema->name);
    } else {
        tr_sink_put_char(sink, ' ');
    }
    tr_print_body(sink, show->form, schema, seen->version, seen->bytes);
    if (seen->kind == TRI_SANDBOX_RECORD_DELETE) {
        tr_sink_format(sink, is_json(show) ? ",\"fields\":%" PRIu32 : ", by %" PRIu32 " fields",
                       seen->count);
    }
}

static void show_nothing(struct tr_replay_show *show, const struct tri_sandbox_effect *seen)
{
    (void)show;
    (void)seen;
}

static const struct {
    const char *name;
    void (*show)(struct tr_replay_show *show, const struct tri_sandbox_effect *seen);
} effects[] = {
    [TRI_SANDBOX_STATE] = {"state", show_state},
    [TRI_SANDBOX_PAGE] = {"page", show_page},
    [TRI_SANDBOX_MESSAGE] = {"send", show_message},
    [TRI_SANDBOX_SPAWN] = {"spawn", show_spawn},
    [TRI_SANDBOX_TIMER] = {"timer", show_timer},
    [TRI_SANDBOX_TIMER_STOP] = {"timer_stop", show_timer_stop},
    [TRI_SANDBOX_RECORD] = {"record", show_record},
    [TRI_SANDBOX_RECORD_DELETE] = {"record_delete", show_record},
    [TRI_SANDBOX_STOP] = {"stop", show_nothing},
};

void tr_replay_show_effect(void *self, const struct tri_sandbox_effect *seen)
{
    struct tr_replay_show *show = self;
    const char *name = effects[seen->kind].name;
    if (is_json(show)) {
        tr_sink_format(show->sink, "%s{\"effect\":\"%s\"", show->effects > 0 ? "," : "", name);
    } else {
        tr_sink_format(show->sink, "  %s", name);
    }
    effects[seen->kind].show(show, seen);
    tr_sink_put_string(show->sink, is_json(show) ? "}" : "\n");
    show->effects++;
}

/* How it went, where that needs to be said. */
static void show_outcome(struct tr_replay_show *show, const struct tr_recorded_message *recorded,
                         const struct tri_sandbox_handled *handled)
{
    int reason = -(int)recorded->reason;
    if (handled->reason != 0) {
        tr_sink_format(show->sink, "  failed: %s\n", tr_error_text(handled->reason));
    }
    if (handled->reason != reason) {
        tr_sink_format(show->sink, "  otherwise than recorded: %s\n",
                       reason == 0 ? "it was handled then" : tr_error_text(reason));
    }
    if (handled->is_unexpected) {
        tr_sink_put_string(show->sink, "  the behaviour does not know this message\n");
    }
    if (handled->has_other_history) {
        tr_sink_format(show->sink, "  before it %" PRIu64 " messages were sent, not %" PRIu64 "\n",
                       handled->sequence, recorded->sequence);
    }
}

void tr_replay_show_end(struct tr_replay_show *show, const struct tr_recorded_message *recorded,
                        const struct tri_sandbox_handled *handled)
{
    if (!is_json(show)) {
        show_outcome(show, recorded, handled);
        return;
    }
    tr_sink_format(show->sink, "],\"reason\":\"%s\",\"recorded\":\"%s\"",
                   tr_error_name(handled->reason), tr_error_name(-(int)recorded->reason));
    tr_sink_format(
        show->sink, ",\"unexpected\":%s,\"as_recorded\":%s}\n",
        handled->is_unexpected ? "true" : "false",
        handled->has_other_history || handled->reason != -(int)recorded->reason ? "false" : "true");
}
