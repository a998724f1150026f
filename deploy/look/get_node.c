/*
 * `troupe get EXEC/NODE[17]@2`: a node, or one element of an array, or one attempt of either, with
 * everything it went through.
 */
#include <stdio.h>
#include <string.h>

#include "actors/graph/document/limits.h"
#include "deploy/common/failure.h"
#include "deploy/common/show.h"
#include "deploy/common/table.h"
#include "deploy/follow/task_progress.h"
#include "deploy/look/get_report.h"

/* ------------------------------------------------------------------------- as text */

/* How far it has come by its own words. */
static void print_progress(const struct tr_get *get, const struct tr_attempt *row)
{
    struct tr_task_progress progress;
    struct tr_buffer words;
    if (!tr_task_progress_read(row, &progress)) {
        return;
    }
    tr_buffer_init(&words, 0);
    tr_task_progress_print(&progress, get->now_ms, &words);
    tri_get_line(get, "progress", tr_buffer_text(&words));
    tr_buffer_fini(&words);
}

static void print_attempt(const struct tr_get *get, const struct tr_attempt *row)
{
    struct tr_buffer used;
    fprintf(get->stream, "\nattempt %u  %s\n", row->attempt, tr_task_phase_word(row->phase));
    if (row->plugin.size > 0) {
        tri_get_line_print(get, "plugin", "%.*s, as %.*s", (int)row->plugin.size, row->plugin.data,
                           (int)row->generated_name.size, row->generated_name.data);
    }
    tri_get_times(get, row->created_ms, row->started_ms, row->ended_ms);
    print_progress(get, row);
    tri_get_failure(get, row->code, row->message);
    if (row->signal != 0) {
        tri_get_line_print(get, "ended by", "signal %u (%s)", row->signal, strsignal(row->signal));
    } else if (row->exit_status != 0) {
        tri_get_line_print(get, "exit", "%u", row->exit_status);
    }
    tri_get_output(get, row);
    tr_buffer_init(&used, 0);
    tr_attempt_usage_print(row, &used);
    if (used.size > 0) {
        tri_get_line(get, "used", tr_buffer_text(&used));
    }
    tr_buffer_fini(&used);
    if (row->is_unknown) {
        tri_get_line(get, "outcome",
                     tr_text_of(row->phase == TR_TASK_PHASE_SUCCESS
                                    ? "unknown: it may have been done more than once"
                                    : "unknown: nobody can say whether it was done"));
    }
    if (row->folder.size > 0) {
        tri_get_line(get, "folder", row->folder);
    }
    if (row->logs.size > 2) {
        tri_get_line(get, "logs", row->logs);
    }
}

static void add_change(const struct tr_report_change *change, struct tr_table *table)
{
    const struct tr_phase *row = &change->row;
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_instant_print(row->at_ms, &words);
    tr_table_text(table, tr_buffer_text(&words));
    if (row->subject == TR_SUBJECT_TASK || change->is_of_element) {
        tr_table_print(table, "attempt %u", row->attempt);
    } else {
        tr_table_text(table, tr_text_of("node"));
    }
    tr_table_text(table, tr_text_of(tr_phase_word((enum tr_subject)row->subject, row->phase)));
    tr_buffer_cut(&words, 0);
    /* Of a failure the cause often says the same as its message. */
    bool has_cause = row->cause.size > 0 && !tr_text_equal(row->cause, row->message);
    tr_line_print(has_cause ? row->cause : tr_text_of(""), 0, &words);
    tr_buffer_add_string(&words, has_cause && row->code.size + row->message.size > 0 ? "; " : "");
    tr_failure_line(row->code, row->message, 100, &words);
    tr_table_text(table, tr_buffer_text(&words));
    tr_buffer_fini(&words);
}

static int print_changes(const struct tr_get_report *report)
{
    static const char *const heads[] = {"TIME", "OF", "PHASE", "WHY"};
    const struct tr_report_change *changes = report->changes.items;
    struct tr_table table;
    if (report->changes.count == 0) {
        return 0;
    }
    tr_table_init(&table, TR_COUNT_OF(heads));
    for (size_t i = 0; i < TR_COUNT_OF(heads); i++) {
        tr_table_text(&table, tr_text_of(heads[i]));
    }
    for (uint32_t i = 0; i < report->changes.count; i++) {
        if (tri_report_shows(report, &changes[i])) {
            add_change(&changes[i], &table);
        }
    }
    fputc('\n', report->get->stream);
    int error = tr_table_write(&table, 0, report->get->stream);
    tr_table_fini(&table);
    return error;
}

/* How it stands, behind its name; of a gate that waits how it is answered, too. */
static void print_state(const struct tr_get_report *report)
{
    const struct tr_get *get = report->get;
    const struct tr_node_status *row = &report->row;
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    if (tri_get_is_waiting(row)) {
        tri_get_wait_print(get, row, tr_took_ms(row->created_ms, row->started_ms, 0, get->now_ms),
                           &words);
    } else {
        tr_buffer_add_string(&words, tr_node_phase_word(row->phase));
    }
    fprintf(get->stream, "  %.*s\n", (int)words.size, (const char *)words.data);
    tr_buffer_fini(&words);
}

static void print_head(const struct tr_get_report *report)
{
    const struct tr_get *get = report->get;
    const struct tr_target *target = report->target;
    const struct tr_node_status *row = &report->row;
    fprintf(get->stream, "%.*s/%.*s", (int)get->execution->name.size, get->execution->name.data,
            (int)target->path.size, target->path.data);
    if (tri_report_is_of_element(report)) {
        fprintf(get->stream, "[%llu]", (unsigned long long)target->element);
    }
    print_state(report);
    tri_get_line_print(get, "kind", "%.*s%s%.*s", (int)row->kind.size, row->kind.data,
                       row->target.size > 0 ? " " : "", (int)row->target.size, row->target.data);
    if (report->kept_from.size > 0) {
        tri_get_line(get, "kept from", report->kept_from);
    }
    tri_get_times(get, row->created_ms, row->started_ms, row->ended_ms);
    if (row->attempts > 1) {
        tri_get_line_print(get, "attempts", "%u", row->attempts);
    }
    if (row->cache_status != TR_CACHE_STATUS_DISABLED) {
        tri_get_line(get, "cache", tr_text_of(tr_cache_status_word(row->cache_status)));
    }
    tri_get_failure(get, row->code, row->message);
}

/* What an input is bound to; NULL where that is a literal, which is its value. */
static const struct tr_binding *bound_to(const struct tr_get_report *report, uint32_t input)
{
    const struct tr_stop *stop = &report->stop;
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    const struct tr_binding *binding = &stop->workflow->bindings[node->input_first + input];
    return binding->kind == TR_BINDING_LITERAL ? NULL : binding;
}

/* A switch has none that people know: they are what its conditions ask for. */
static uint32_t input_count(const struct tr_get_report *report)
{
    const struct tr_stop *stop = &report->stop;
    const struct tr_node *node = stop->workflow == NULL ? NULL : &stop->workflow->nodes[stop->node];
    return node == NULL || node->kind == TR_NODE_BRANCH ? 0 : node->input_count;
}

/* What the inputs are bound to, as the definition has it. */
static int print_bindings(const struct tr_get_report *report)
{
    const struct tr_get *get = report->get;
    const char *word = "bound to";
    struct tr_buffer line;
    tr_buffer_init(&line, 0);
    for (uint32_t i = 0; get->is_verbose && line.error == 0 && i < input_count(report); i++) {
        const struct tr_binding *binding = bound_to(report, i);
        if (binding != NULL) {
            tr_buffer_cut(&line, 0);
            tr_buffer_print(&line, "%.*s: ", (int)binding->key.size, binding->key.data);
            tr_binding_print(report->stop.workflow, binding, &line);
            tri_get_line(get, word, tr_buffer_text(&line));
            word = "";
        }
    }
    int error = line.error;
    tr_buffer_fini(&line);
    return error;
}

static int print_text(const struct tr_get_report *report)
{
    const struct tr_get *get = report->get;
    const struct tr_attempt *attempts = report->attempts.items;
    bool is_array = report->progress.total > 0 && !tri_report_is_of_element(report);
    print_head(report);
    if (is_array) {
        struct tr_buffer words;
        tr_buffer_init(&words, 0);
        tri_get_progress_print(&report->progress, &words);
        tri_get_line(get, "elements", tr_buffer_text(&words));
        tr_buffer_fini(&words);
    }
    int error = tri_get_values(get, "inputs", &report->inputs);
    if (error == 0) {
        error = print_bindings(report);
    }
    if (error == 0) {
        error = tri_get_values(get, "outputs", &report->outputs);
    }
    for (uint32_t i = 0; i < report->attempts.count; i++) {
        print_attempt(get, &attempts[i]);
    }
    if (error == 0) {
        error = print_changes(report);
    }
    return error == 0 && is_array ? tri_get_groups(get, &report->progress) : error;
}

/* ------------------------------------------------------------------- as a document */

static void write_attempt(const struct tr_attempt *row, struct tr_document *document)
{
    struct tr_task_progress progress;
    bool has_progress = tr_task_progress_read(row, &progress);
    tr_document_begin_map(document, NULL);
    tr_document_number(document, "attempt", row->attempt);
    tr_document_text(document, "phase", tr_text_of(tr_task_phase_word(row->phase)));
    tr_document_text(document, "plugin", row->plugin);
    tr_document_text(document, "generated_name", row->generated_name);
    tr_document_text(document, "folder", row->folder);
    tr_document_json(document, "logs", row->logs.size > 0 ? row->logs : tr_text_of("[]"));
    tr_document_time(document, "created_at", row->created_ms);
    tr_document_time(document, "started_at", row->started_ms);
    tr_document_time(document, "ended_at", row->ended_ms);
    tr_task_progress_write(has_progress ? &progress : NULL, document);
    tr_failure_write(document, "error",
                     &(struct tr_shown_failure){.code = row->code, .message = row->message});
    tr_attempt_end_write(document, row);
    tr_document_end(document);
}

static void write_change(const struct tr_report_change *change, struct tr_document *document)
{
    const struct tr_phase *row = &change->row;
    bool has_attempt = row->subject == TR_SUBJECT_TASK || change->is_of_element;
    tr_document_begin_map(document, NULL);
    tr_document_time(document, "at", row->at_ms);
    tr_document_text(document, "subject",
                     tr_text_of(row->subject == TR_SUBJECT_TASK ? "attempt"
                                : change->is_of_element         ? "element"
                                                                : "node"));
    if (has_attempt) {
        tr_document_number(document, "attempt", row->attempt);
    } else {
        tr_document_null(document, "attempt");
    }
    tr_document_text(document, "phase",
                     tr_text_of(tr_phase_word((enum tr_subject)row->subject, row->phase)));
    tr_document_text(document, "cause", row->cause);
    tr_failure_write(document, "error",
                     &(struct tr_shown_failure){.code = row->code, .message = row->message});
    tr_document_end(document);
}

static void write_head(const struct tr_get_report *report, struct tr_document *document)
{
    const struct tr_node_status *row = &report->row;
    tr_document_text(document, "execution", report->get->execution->name);
    tr_document_text(document, "node", report->target->path);
    tr_document_element(document, "element", report->target->element);
    tr_document_text(document, "kind", row->kind);
    tr_document_text(document, "target", row->target);
    tr_document_text(document, "name", row->name);
    tr_document_text(document, "phase", tr_text_of(tr_node_phase_word(row->phase)));
    tr_document_bool(document, "is_waiting", tri_get_is_waiting(row));
    tr_document_time(document, "created_at", row->created_ms);
    tr_document_time(document, "started_at", row->started_ms);
    tr_document_time(document, "ended_at", row->ended_ms);
    if (report->kept_from.size > 0) {
        tr_document_text(document, "kept_from", report->kept_from);
    } else {
        tr_document_null(document, "kept_from");
    }
    tr_document_text(document, "cache", tr_text_of(tr_cache_status_word(row->cache_status)));
    tr_failure_write(document, "error",
                     &(struct tr_shown_failure){.code = row->code,
                                                .message = row->message,
                                                .has_flyte_message = true,
                                                .flyte_message = row->flyte_message});
}

/* How each element stands. */
static int write_elements(const struct tr_get_report *report, struct tr_document *document)
{
    struct tr_element_table table;
    const struct tr_get *get = report->get;
    int error = tr_element_table_read(get->reader, report->array_ran_in, report->target->path,
                                      report->progress.total, &table);
    if (error != 0) {
        return error;
    }
    bool is_kept = report->array_ran_in != get->execution->execution;
    tr_document_begin_list(document, "elements");
    for (uint64_t i = 0; i < table.count; i++) {
        const struct tr_element_row *row = &table.rows[i];
        uint8_t phase = is_kept ? tri_report_phase_kept(row->phase) : row->phase;
        tr_document_begin_map(document, NULL);
        tr_document_number(document, "element", (int64_t)i);
        tr_document_text(document, "phase", tr_text_of(tr_node_phase_word(phase)));
        tr_document_number(document, "attempt", row->attempt);
        tr_document_time(document, "at", row->at_ms);
        tr_failure_write(document, "error",
                         &(struct tr_shown_failure){.code = row->code, .message = row->message});
        tr_document_end(document);
    }
    tr_document_end(document);
    tr_element_table_fini(&table);
    return 0;
}

static int write_array(const struct tr_get_report *report, struct tr_document *document)
{
    if (report->progress.total == 0 || tri_report_is_of_element(report)) {
        tr_document_null(document, "array");
        return 0;
    }
    int error = tri_get_array_write(report->get, &report->progress, document);
    return error != 0 ? error : write_elements(report, document);
}

/* What the inputs are bound to that hold references. */
static int write_bindings(const struct tr_get_report *report, struct tr_document *document)
{
    char name[TR_FLYTE_NAME_BYTES_MAX + 1];
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_document_begin_map(document, "bindings");
    for (uint32_t i = 0; text.error == 0 && i < input_count(report); i++) {
        const struct tr_binding *binding = bound_to(report, i);
        if (binding != NULL) {
            tr_buffer_cut(&text, 0);
            tr_binding_print(report->stop.workflow, binding, &text);
            snprintf(name, sizeof name, "%.*s", (int)binding->key.size, binding->key.data);
            tr_document_text(document, name, tr_buffer_text(&text));
        }
    }
    tr_document_end(document);
    int error = text.error;
    tr_buffer_fini(&text);
    return error;
}

static int write_document(const struct tr_get_report *report)
{
    struct tr_document document;
    const struct tr_attempt *attempts = report->attempts.items;
    const struct tr_report_change *changes = report->changes.items;
    tr_document_init(&document, report->get->stream, report->get->output);
    tr_document_begin_map(&document, NULL);
    write_head(report, &document);
    int error = tr_values_write(&report->inputs, "inputs", &document);
    if (error == 0) {
        error = write_bindings(report, &document);
    }
    if (error == 0) {
        error = tr_values_write(&report->outputs, "outputs", &document);
    }
    if (error == 0) {
        error = write_array(report, &document);
    }
    tr_document_begin_list(&document, "attempts");
    for (uint32_t i = 0; i < report->attempts.count; i++) {
        write_attempt(&attempts[i], &document);
    }
    tr_document_end(&document);
    tr_document_begin_list(&document, "phases");
    for (uint32_t i = 0; i < report->changes.count; i++) {
        if (tri_report_shows(report, &changes[i])) {
            write_change(&changes[i], &document);
        }
    }
    tr_document_end(&document);
    tr_document_end(&document);
    tr_document_fini(&document);
    return error;
}

int tr_get_node(const struct tr_get *get, const struct tr_target *target, char *problem)
{
    struct tr_get_report report;
    int error = tr_get_report_read(get, target, problem, &report);
    if (error == 0) {
        error = tri_get_has_document(get) ? write_document(&report) : print_text(&report);
    }
    tr_get_report_fini(&report);
    return error;
}
