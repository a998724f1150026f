/*
 * Texts and documents of failures.
 */
#include "deploy/common/failure.h"

#include <string.h>

#include "actors/graph/document/labels.h"
#include "deploy/common/show.h"

/* ---------------------------------------------------------------------------- as text */

void tr_failure_line(struct tr_text code, struct tr_text message, uint32_t width,
                     struct tr_buffer *buffer)
{
    tr_line_print(message, width, buffer);
    if (code.size > 0) {
        tr_buffer_add_string(buffer, message.size > 0 ? " [" : "[");
        tr_line_print(code, 0, buffer);
        tr_buffer_add_string(buffer, "]");
    }
}

void tr_failure_lines(struct tr_text code, struct tr_text message, uint32_t indent,
                      struct tr_buffer *buffer)
{
    const char *end = message.size == 0 ? NULL : memchr(message.data, '\n', message.size);
    size_t first = end == NULL ? message.size : (size_t)(end - message.data);
    tr_failure_line(code, (struct tr_text){.data = message.data, .size = first}, 0, buffer);
    if (end != NULL) {
        tr_buffer_print(buffer, "\n%*s", (int)indent, "");
        tr_lines_print((struct tr_text){.data = end + 1, .size = message.size - first - 1}, indent,
                       buffer);
    }
}

void tr_attempt_usage_print(const struct tr_attempt *row, struct tr_buffer *buffer)
{
    const struct tr_usage usage = {.memory_bytes_max = row->memory_bytes_max,
                                   .cpu_us = row->cpu_us,
                                   .elapsed_us = row->elapsed_us,
                                   .memory_bound = row->memory_bound,
                                   .is_bound_kept = row->is_bound_kept};
    tr_usage_print(&usage, buffer);
}

/* Whether the message ends with all that was written: one line. */
static bool is_said(const struct tr_attempt *row)
{
    struct tr_text output = row->error_output;
    struct tr_text message = row->message;
    return output.size <= message.size &&
           memcmp(message.data + message.size - output.size, output.data, output.size) == 0;
}

void tr_attempt_print(const struct tr_attempt *row, uint32_t indent, FILE *stream)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    if (row->error_output.size > 0 && !is_said(row)) {
        tr_buffer_print(&text, "%*s", (int)indent + 2, "");
        tr_lines_print(row->error_output, indent + 2, &text);
        tr_buffer_add_string(&text, "\n");
    }
    if (row->elapsed_us > 0) {
        tr_buffer_print(&text, "%*sit took ", (int)indent, "");
        tr_attempt_usage_print(row, &text);
        tr_buffer_add_string(&text, "\n");
    }
    if (row->folder.size > 0) {
        tr_buffer_print(&text, "%*sits files are in ", (int)indent, "");
        tr_line_print(row->folder, 0, &text);
        tr_buffer_add_string(&text, "\n");
    }
    if (text.size > 0) { /* an empty buffer has no bytes to point to */
        fwrite(text.data, 1, text.size, stream);
    }
    tr_buffer_fini(&text);
}

/* ----------------------------------------------------------------------- as a document */

void tr_attempt_end_write(struct tr_document *document, const struct tr_attempt *row)
{
    tr_document_number(document, "exit_status", row->exit_status);
    tr_document_number(document, "signal", row->signal);
    tr_document_bool(document, "is_unknown", row->is_unknown);
    tr_document_text(document, "stderr", row->error_output);
    tr_document_number(document, "elapsed_ms", (int64_t)(row->elapsed_us / 1000));
    tr_document_number(document, "cpu_ms", (int64_t)(row->cpu_us / 1000));
    tr_document_number(document, "memory_bytes_max", (int64_t)row->memory_bytes_max);
    tr_document_number(document, "memory_bound_bytes", (int64_t)row->memory_bound);
    tr_document_bool(document, "is_bound_enforced", row->is_bound_kept);
}

static void write_attempt(struct tr_document *document, const struct tr_attempt *row)
{
    if (row == NULL) {
        tr_document_null(document, "attempt");
        return;
    }
    tr_document_begin_map(document, "attempt");
    tr_document_text(document, "node", row->path);
    tr_document_element(document, "element", row->element);
    tr_document_number(document, "attempt", row->attempt);
    tr_document_text(document, "folder", row->folder);
    tr_attempt_end_write(document, row);
    tr_document_end(document);
}

void tr_failure_write(struct tr_document *document, const char *name,
                      const struct tr_shown_failure *failure)
{
    if (failure->code.size == 0 && failure->message.size == 0) {
        tr_document_null(document, name);
        return;
    }
    bool is_other = failure->flyte_message.size > 0;
    tr_document_begin_map(document, name);
    tr_document_text(document, "code", failure->code);
    tr_document_text(document, "message", failure->message);
    if (failure->has_flyte_message) {
        tr_document_text(document, "flyte_message",
                         is_other ? failure->flyte_message : failure->message);
    }
    if (failure->has_node) {
        tr_document_text(document, "node", failure->node);
        tr_document_element(document, "element", failure->element);
    }
    if (failure->has_attempt) {
        write_attempt(document, failure->attempt);
    }
    tr_document_end(document);
}

/* Labels as a mapping. */
static void write_labels(struct tr_document *document, struct tr_text labels)
{
    struct tr_label label;
    tr_document_begin_map(document, "labels");
    while (tr_labels_next(&labels, &label)) {
        char key[TR_LABEL_KEY_BYTES_MAX + 1];
        (void)snprintf(key, sizeof key, "%.*s", (int)label.key.size, label.key.data);
        tr_document_text(document, key, label.value);
    }
    tr_document_end(document);
}

void tr_document_execution(struct tr_document *document, const struct tr_execution *row)
{
    tr_document_text(document, "execution", row->name);
    tr_document_text(document, "project", row->project);
    tr_document_text(document, "domain", row->domain);
    tr_document_text(document, "workflow", row->workflow);
    tr_document_text(document, "plan", row->plan);
    tr_document_text(document, "parent", row->parent);
    tr_document_text(document, "phase", tr_text_of(tr_execution_phase_word(row->phase)));
    tr_document_time(document, "created_at", row->created_ms);
    tr_document_time(document, "started_at", row->started_ms);
    tr_document_time(document, "ended_at", row->ended_ms);
    tr_failure_write(document, "error",
                     &(struct tr_shown_failure){.code = row->code,
                                                .message = row->message,
                                                .has_flyte_message = true,
                                                .flyte_message = row->flyte_message,
                                                .has_node = true,
                                                .node = row->failed,
                                                .element = row->failed_element});
    tr_document_bool(document, "is_paused", row->is_paused);
    write_labels(document, row->labels);
}
