/*
 * Tables and documents of schedules.
 */
#include "deploy/schedules/schedules_print.h"

#include <stdio.h>

#include "actors/graph/document/moment.h"
#include "deploy/cli/browse.h"
#include "deploy/common/show.h"
#include "deploy/common/table.h"
#include "deploy/console/console.h"
#include "schemas/codec/error.h"
#include "schemas/engine/schedule.h"

static void add_time(struct tr_table *table, uint64_t time_ms)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_time_print(time_ms, &text);
    tr_table_text(table, tr_buffer_text(&text));
    tr_buffer_fini(&text);
}

static void add_heads(struct tr_table *table, const char *const *heads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tr_table_text(table, tr_text_of(heads[i]));
    }
}

static bool is_document(enum tr_output output)
{
    return output == TR_OUTPUT_JSON || output == TR_OUTPUT_YAML;
}

/* ------------------------------------------------------------------------ applied */

static int write_applied(const struct tr_applied_plan *applied, uint32_t count)
{
    static const char *const heads[] = {"PLAN", "CHANGE", "NEXT"};
    struct tr_table table;
    tr_table_init(&table, TR_COUNT_OF(heads));
    add_heads(&table, heads, TR_COUNT_OF(heads));
    for (uint32_t i = 0; i < count; i++) {
        tr_table_text(&table, applied[i].plan);
        tr_table_text(&table, tr_text_of(tr_schedule_change_word(applied[i].change)));
        add_time(&table, applied[i].next_ms);
    }
    int error = tr_table_write(&table, 0, tr_console_out());
    tr_table_fini(&table);
    return error;
}

static void document_applied(const struct tr_invocation *invocation, const struct tr_graph *graph,
                             const struct tr_applied_plan *applied, uint32_t count)
{
    struct tr_document document;
    tr_document_init(&document, tr_console_out(), invocation->output);
    tr_document_begin_list(&document, NULL);
    for (uint32_t i = 0; i < count; i++) {
        tr_document_begin_map(&document, NULL);
        tr_document_text(&document, "plan", applied[i].plan);
        tr_document_text(&document, "project", graph->project);
        tr_document_text(&document, "domain", graph->domain);
        tr_document_text(&document, "change",
                         tr_text_of(tr_schedule_change_word(applied[i].change)));
        tr_document_time(&document, "next_at", applied[i].next_ms);
        tr_document_end(&document);
    }
    tr_document_end(&document);
    tr_document_fini(&document);
}

enum tr_exit_status tr_applied_print(const struct tr_invocation *invocation,
                                     const struct tr_graph *graph,
                                     const struct tr_applied_plan *applied, uint32_t count)
{
    if (is_document(invocation->output)) {
        document_applied(invocation, graph, applied, count);
        return TR_EXIT_DONE;
    }
    if (invocation->output == TR_OUTPUT_NAME) {
        for (uint32_t i = 0; i < count; i++) {
            fprintf(tr_console_out(), "%.*s\n", (int)applied[i].plan.size, applied[i].plan.data);
        }
        return TR_EXIT_DONE;
    }
    int error = count == 0 ? 0 : write_applied(applied, count);
    return error == 0 ? TR_EXIT_DONE
                      : tr_command_failed(invocation->command, "%s", tr_error_text(error));
}

/* --------------------------------------------------------------------- registered */

struct printing {
    enum tr_output output;
    bool is_live;
    struct tr_table table;
    struct tr_document document;
};

static struct tr_text waiting_words(const struct printing *printing,
                                    const struct tr_schedule_row *row)
{
    return tr_text_of(tr_schedule_row_words(row, printing->is_live));
}

/* What is in the way, who has paused it and why, or what it waits for. */
static void print_waiting(struct printing *printing, const struct tr_schedule_row *row)
{
    struct tr_text words = row->problem.size > 0 ? row->problem : waiting_words(printing, row);
    if (!row->is_paused) {
        tr_table_text(&printing->table, words);
        return;
    }
    tr_table_print(&printing->table, "paused by %.*s%s%.*s", (int)row->paused_by.size,
                   row->paused_by.data, row->pause_message.size > 0 ? ": " : "",
                   (int)row->pause_message.size, row->pause_message.data);
}

static void document_row(struct printing *printing, const struct tr_schedule_row *row)
{
    struct tr_document *document = &printing->document;
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "plan", row->plan);
    tr_document_text(document, "project", row->project);
    tr_document_text(document, "domain", row->domain);
    tr_document_text(document, "workflow", row->workflow);
    tr_document_text(document, "schedule", row->fires);
    tr_document_text(document, "timezone", row->timezone);
    tr_document_time(document, "next_at", row->next_ms);
    tr_document_time(document, "last_at", row->last_ms);
    tr_document_text(document, "last", row->last);
    tr_document_text(document, "outcome", tr_text_of(tr_schedule_outcome_word(row->outcome)));
    tr_document_number(document, "started", (int64_t)row->started);
    tr_document_number(document, "skipped", (int64_t)row->skipped);
    tr_document_text(document, "waiting", waiting_words(printing, row));
    tr_document_text(document, "problem", row->problem);
    tr_document_number(document, "version", (int64_t)row->version);
    tr_document_time(document, "created_at", row->created_ms);
    tr_document_time(document, "applied_at", row->applied_ms);
    tr_document_bool(document, "is_paused", row->is_paused);
    tr_document_time(document, "paused_at", row->paused_ms);
    tr_document_text(document, "paused_by", row->paused_by);
    tr_document_text(document, "pause_message", row->pause_message);
    tr_document_end(document);
}

static void table_row(struct printing *printing, const struct tr_schedule_row *row)
{
    struct tr_table *table = &printing->table;
    tr_table_text(table, row->plan);
    tr_table_text(table, row->fires);
    tr_table_text(table, row->timezone);
    add_time(table, row->next_ms);
    add_time(table, row->last_ms);
    tr_table_text(table, tr_text_of(row->outcome == TR_SCHEDULE_OUTCOME_NONE
                                        ? "-"
                                        : tr_schedule_outcome_word(row->outcome)));
    tr_table_print(table, "%llu", (unsigned long long)row->started);
    tr_table_print(table, "%llu", (unsigned long long)row->skipped);
    print_waiting(printing, row);
}

static int take_row(void *self, const void *value)
{
    struct printing *printing = self;
    const struct tr_schedule_row *row = value;
    if (is_document(printing->output)) {
        document_row(printing, row);
    } else if (printing->output == TR_OUTPUT_NAME) {
        fprintf(tr_console_out(), "%.*s\n", (int)row->plan.size, row->plan.data);
    } else {
        table_row(printing, row);
    }
    return 0;
}

static int print_all(const struct tr_invocation *invocation, struct tr_reader *reader, bool is_live)
{
    static const char *const heads[] = {"PLAN",    "SCHEDULE", "TIMEZONE", "NEXT",   "LAST",
                                        "OUTCOME", "STARTED",  "SKIPPED",  "WAITING"};
    struct printing printing = {.output = invocation->output, .is_live = is_live};
    struct tr_reader_query query = {.record = &tr_schedule_row_schema};
    bool has_document = is_document(invocation->output);
    if (has_document) {
        tr_document_init(&printing.document, tr_console_out(), invocation->output);
        tr_document_begin_list(&printing.document, NULL);
    }
    tr_table_init(&printing.table, TR_COUNT_OF(heads));
    add_heads(&printing.table, heads, TR_COUNT_OF(heads));
    int error = tr_reader_rows(reader, &query, take_row, &printing);
    if (has_document) {
        tr_document_end(&printing.document);
        tr_document_fini(&printing.document);
    } else if (error == 0 && invocation->output == TR_OUTPUT_TABLE) {
        error = tr_table_write(&printing.table, 0, tr_console_out());
    }
    tr_table_fini(&printing.table);
    return error;
}

enum tr_exit_status tr_schedules_list(const struct tr_invocation *invocation)
{
    struct tr_browse browse;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status == TR_EXIT_DONE) {
        int error = print_all(invocation, browse.reader, tr_browse_is_live(&browse));
        status = error != 0 ? tr_browse_failed(&browse, error) : TR_EXIT_DONE;
        tr_browse_close(&browse);
    }
    return status;
}
