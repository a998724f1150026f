/*
 * What `get` writes of executions and nodes alike: lines of a head, values, arrays.
 */
#include <stdarg.h>
#include <string.h>

#include "deploy/common/failure.h"
#include "deploy/common/show.h"
#include "deploy/history/gates.h"
#include "deploy/look/get.h"
#include "schemas/codec/error.h"

/* The columns of a value that are shown without -v. */
#define VALUE_COLUMNS 160

/* The columns of a message in a group of failures. */
#define MESSAGE_COLUMNS 100

/* Where what stands behind a word begins; the lines of a message keep to it. */
#define TEXT_COLUMN 13

void tri_get_line(const struct tr_get *get, const char *word, struct tr_text text)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_line_print(text, 0, &buffer);
    fprintf(get->stream, "  %-9s  %.*s\n", word, (int)buffer.size, (const char *)buffer.data);
    tr_buffer_fini(&buffer);
}

void tri_get_line_print(const struct tr_get *get, const char *word, const char *format, ...)
{
    char words[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(words, sizeof words, format, values);
    va_end(values);
    tri_get_line(get, word, tr_text_of(words));
}

void tri_get_times(const struct tr_get *get, uint64_t created_ms, uint64_t started_ms,
                   uint64_t ended_ms)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    if (created_ms != 0) {
        tr_time_print(created_ms, &buffer);
        tr_buffer_add_string(&buffer, ", ");
        tr_age_print(get->now_ms < created_ms ? 0 : get->now_ms - created_ms, &buffer);
        tr_buffer_add_string(&buffer, " ago");
        tri_get_line(get, "created", tr_buffer_text(&buffer));
    }
    if (started_ms != 0 || ended_ms != 0) {
        tr_buffer_cut(&buffer, 0);
        tr_span_print(tr_took_ms(created_ms, started_ms, ended_ms, get->now_ms), &buffer);
        tr_buffer_add_string(&buffer, ended_ms == 0 ? " so far" : "");
        tri_get_line(get, "took", tr_buffer_text(&buffer));
    }
    tr_buffer_fini(&buffer);
}

void tri_get_failure(const struct tr_get *get, struct tr_text code, struct tr_text message)
{
    struct tr_buffer lines;
    if (code.size == 0 && message.size == 0) {
        return;
    }
    tr_buffer_init(&lines, 0);
    tr_failure_lines(code, message, TEXT_COLUMN, &lines);
    fprintf(get->stream, "  %-9s  %.*s\n", "error", (int)lines.size, (const char *)lines.data);
    tr_buffer_fini(&lines);
}

void tri_get_output(const struct tr_get *get, const struct tr_attempt *row)
{
    struct tr_buffer lines;
    if (row->error_output.size == 0) {
        return;
    }
    tr_buffer_init(&lines, 0);
    tr_lines_print(row->error_output, TEXT_COLUMN, &lines);
    fprintf(get->stream, "  %-9s  %.*s\n", "stderr", (int)lines.size, (const char *)lines.data);
    tr_buffer_fini(&lines);
}

bool tri_get_is_waiting(const struct tr_node_status *row)
{
    return tr_gate_waits(row->kind, row->phase);
}

void tri_get_wait_print(const struct tr_get *get, const struct tr_node_status *row,
                        uint64_t waited_ms, struct tr_buffer *buffer)
{
    struct tr_gate_shown gate = {.store = get->store,
                                 .execution = get->execution->name,
                                 .path = row->path,
                                 .kind = row->kind,
                                 .id = row->target};
    tr_gate_wait_print(&gate, waited_ms, buffer);
}

/* ------------------------------------------------------------------------- values */

static void print_value(const struct tr_get *get, const struct tr_value *value,
                        struct tr_buffer *line)
{
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    int error = tr_value_json(value, &json);
    tr_buffer_cut(line, 0);
    tr_buffer_print(line, "%.*s: ", (int)value->name.size, value->name.data);
    if (error == 0) {
        tr_line_print(tr_buffer_text(&json), get->is_verbose ? 0 : VALUE_COLUMNS, line);
    } else {
        tr_buffer_print(line, "(cannot be read: %s)", tr_error_text(error));
    }
    tr_buffer_fini(&json);
}

int tri_get_values(const struct tr_get *get, const char *word, const struct tr_values *values)
{
    struct tr_buffer line;
    tr_buffer_init(&line, 0);
    for (uint32_t i = 0; i < values->count && line.error == 0; i++) {
        print_value(get, &values->items[i], &line);
        tri_get_line(get, i == 0 ? word : "", tr_buffer_text(&line));
    }
    int error = line.error;
    tr_buffer_fini(&line);
    return error;
}

/* ------------------------------------------------------------------------- arrays */

/* Elements that nobody has begun. */
static uint64_t waiting(const struct tr_progress *progress)
{
    uint64_t begun = progress->queued + progress->running + progress->succeeded + progress->failed +
                     progress->retrying;
    return begun > progress->total ? 0 : progress->total - begun;
}

void tri_get_progress_print(const struct tr_progress *progress, struct tr_buffer *buffer)
{
    const struct {
        uint64_t count;
        const char *words;
    } parts[] = {
        {progress->failed, "failed"},
        {progress->running, "running"},
        {progress->retrying, "waiting to retry"},
        {progress->queued, "queued"},
        {waiting(progress), "not begun"},
    };
    tr_buffer_print(buffer, "%llu of %llu succeeded", (unsigned long long)progress->succeeded,
                    (unsigned long long)progress->total);
    if (progress->cached > 0) {
        tr_buffer_print(buffer, " (%llu from the cache)", (unsigned long long)progress->cached);
    }
    for (size_t i = 0; i < TR_COUNT_OF(parts); i++) {
        if (parts[i].count > 0) {
            tr_buffer_print(buffer, ", %llu %s", (unsigned long long)parts[i].count,
                            parts[i].words);
        }
    }
}

static int read_groups(const struct tr_get *get, const struct tr_progress *progress,
                       struct tr_failed_groups *groups)
{
    if (progress->failed == 0) {
        groups->count = 0;
        tr_arena_init(&groups->arena);
        return 0;
    }
    return tr_failed_groups_read(get->reader, progress->execution, progress->path, groups);
}

void tri_get_group_write(const struct tr_failed_group *group, struct tr_document *document)
{
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "code", group->code);
    tr_document_text(document, "message", group->message);
    tr_document_number(document, "count", (int64_t)group->count);
    tr_document_begin_list(document, "elements");
    for (uint64_t i = 0; i < group->count && i < TR_FAILED_SHOWN_MAX; i++) {
        tr_document_number(document, NULL, (int64_t)group->elements[i]);
    }
    tr_document_end(document);
    tr_document_end(document);
}

int tri_get_array_write(const struct tr_get *get, const struct tr_progress *progress,
                        struct tr_document *document)
{
    struct tr_failed_groups groups;
    int error = read_groups(get, progress, &groups);
    if (error != 0) {
        return error;
    }
    tr_document_begin_map(document, "array");
    tr_document_number(document, "total", (int64_t)progress->total);
    tr_document_number(document, "queued", (int64_t)progress->queued);
    tr_document_number(document, "running", (int64_t)progress->running);
    tr_document_number(document, "succeeded", (int64_t)progress->succeeded);
    tr_document_number(document, "failed", (int64_t)progress->failed);
    tr_document_number(document, "retrying", (int64_t)progress->retrying);
    tr_document_number(document, "cached", (int64_t)progress->cached);
    tr_document_time(document, "counted_at", progress->at_ms);
    tr_document_begin_list(document, "errors");
    for (uint32_t i = 0; i < groups.count; i++) {
        tri_get_group_write(&groups.items[i], document);
    }
    tr_document_end(document);
    tr_document_end(document);
    tr_failed_groups_fini(&groups);
    return 0;
}

void tri_get_group_print(const struct tr_get *get, const struct tr_failed_group *group)
{
    struct tr_buffer line;
    tr_buffer_init(&line, 0);
    tr_failure_line(group->code.size > 0 ? group->code : tr_text_of("other"), group->message,
                    get->is_verbose ? 0 : MESSAGE_COLUMNS, &line);
    fprintf(get->stream, "  %6llu x %.*s  at", (unsigned long long)group->count, (int)line.size,
            (const char *)line.data);
    for (uint64_t i = 0; i < group->count && i < TR_FAILED_SHOWN_MAX; i++) {
        fprintf(get->stream, " [%llu]", (unsigned long long)group->elements[i]);
    }
    fprintf(get->stream, "%s\n", group->count > TR_FAILED_SHOWN_MAX ? " ..." : "");
    tr_buffer_fini(&line);
}

int tri_get_groups(const struct tr_get *get, const struct tr_progress *progress)
{
    struct tr_failed_groups groups;
    int error = read_groups(get, progress, &groups);
    if (error != 0 || groups.count == 0) {
        return error;
    }
    fprintf(get->stream, "\n%.*s: %llu of %llu elements failed\n", (int)progress->path.size,
            progress->path.data, (unsigned long long)progress->failed,
            (unsigned long long)progress->total);
    for (uint32_t i = 0; i < groups.count; i++) {
        tri_get_group_print(get, &groups.items[i]);
    }
    tr_failed_groups_fini(&groups);
    return 0;
}
