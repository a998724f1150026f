/*
 * A schedule in words and as a document: its row, the plan in its graph, and the execution that it
 * started last.
 */
#include "deploy/look/explain_schedule.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/compiled/graph.h"
#include "deploy/common/document.h"
#include "deploy/common/show.h"
#include "deploy/console/console.h"
#include "deploy/graphs/graphs.h"
#include "schemas/engine/phase.h"
#include "schemas/engine/schedule.h"

#define MS_PER_SECOND 1000

static const char *const overlaps[] = {
    [TR_OVERLAP_SKIP] = "skip", [TR_OVERLAP_ALLOW] = "allow", [TR_OVERLAP_REPLACE] = "replace"};
static const char *const catch_ups[] = {
    [TR_CATCH_UP_LAST] = "last", [TR_CATCH_UP_ALL] = "all", [TR_CATCH_UP_NONE] = "none"};

/* One call. */
struct explaining {
    const struct tr_browse *browse;
    struct tr_document *document; /* NULL: text */
    bool is_live;
    bool is_found;
    struct tr_schedule_row copy; /* its texts are the arena's */
    const struct tr_schedule_row *row;
    struct tr_arena arena;
    struct tr_graph *graph;
    struct tr_schedule plan; /* of the graph; zeros where that cannot be read */
    char last_phase[64];
    struct tri_vector running; /* struct running */
};

/* An execution that the plan has started and that has not ended. */
struct running {
    struct tr_text name;
    struct tr_text phase;
};

/* ------------------------------------------------------------------------ the plan's words */

static void read_plan(struct explaining *explaining)
{
    const struct tr_schedule_row *row = explaining->row;
    explaining->plan = (struct tr_schedule){.is_set = false};
    explaining->graph = NULL;
    if (tr_graphs_read(explaining->browse->reader, row->graph, &explaining->graph) == 0) {
        uint32_t plan = tr_graph_find_plan(explaining->graph, row->plan);
        if (plan != TR_GRAPH_NONE) {
            explaining->plan = explaining->graph->plans[plan].schedule;
        }
    }
}

static const char *overlap_word(const struct explaining *explaining)
{
    return explaining->plan.is_set ? overlaps[explaining->plan.overlap] : "";
}

static const char *catch_up_word(const struct explaining *explaining)
{
    return explaining->plan.is_set ? catch_ups[explaining->plan.catch_up] : "";
}

/* How the execution of the last time stands; nothing where it is not in the history. */
static void read_last(struct explaining *explaining)
{
    const struct tr_schedule_row *row = explaining->row;
    struct tr_executions_row copy;
    explaining->last_phase[0] = '\0';
    if (row->last.size > 0 && tr_executions_named(explaining->browse->reader, row->project,
                                                  row->domain, row->last, &copy) == 0) {
        snprintf(explaining->last_phase, sizeof explaining->last_phase, "%s",
                 tr_phase_shown(&copy.row));
        tr_executions_row_fini(&copy);
    }
}

static int take_running(void *self, const void *value)
{
    struct explaining *explaining = self;
    const struct tr_execution *row = value;
    if (tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)) {
        return 0;
    }
    struct running *running =
        tri_vector_add(&explaining->arena, &explaining->running, sizeof *running);
    if (running != NULL) {
        running->name = tr_arena_text(&explaining->arena, row->name);
        running->phase = tr_arena_text(&explaining->arena, tr_text_of(tr_phase_shown(row)));
    }
    return explaining->arena.error;
}

/* What runs of it: it may be what the next time has to wait for, or is skipped for. */
static int read_running(struct explaining *explaining)
{
    const struct tr_schedule_row *row = explaining->row;
    struct tr_reader_filter filters[] = {
        tr_filter_text("project", TR_FILTER_EQUAL, row->project),
        tr_filter_text("domain", TR_FILTER_EQUAL, row->domain),
        tr_filter_text("plan", TR_FILTER_EQUAL, row->plan),
    };
    struct tr_reader_query query = {
        .record = &tr_execution_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(explaining->browse->reader, &query, take_running, explaining);
}

static bool is_late(const struct explaining *explaining)
{
    const struct tr_schedule_row *row = explaining->row;
    return row->next_ms != 0 && row->next_ms < explaining->browse->now_ms;
}

static struct tr_text waiting_words(const struct explaining *explaining)
{
    return tr_text_of(tr_schedule_row_words(explaining->row, explaining->is_live));
}

/* Why times were not started. */
static void print_reason(const struct explaining *explaining, uint64_t outcome,
                         struct tr_buffer *text)
{
    switch (outcome) {
    case TR_SCHEDULE_OUTCOME_SKIPPED:
        tr_buffer_print(text, "the execution before was running (overlap: %s)",
                        overlap_word(explaining));
        return;
    case TR_SCHEDULE_OUTCOME_PAUSED:
        tr_buffer_add_string(text, "the schedule was paused");
        return;
    case TR_SCHEDULE_OUTCOME_MISSED:
        tr_buffer_print(text, "no engine with schedules ran then (catch_up: %s)",
                        catch_up_word(explaining));
        return;
    default:
        tr_buffer_print(text, "the engine refused it");
    }
}

/* ------------------------------------------------------------------------ what was left out */

/* Times that were not started. */
struct omitted {
    int64_t from;
    int64_t until;
    uint64_t outcome;
};

static bool read_omitted(struct tr_cursor *cursor, struct omitted *omitted)
{
    bool is_fine = tr_read_array(cursor) == 3;
    omitted->from = tr_read_i64(cursor);
    omitted->until = tr_read_i64(cursor);
    omitted->outcome = tr_read_u64(cursor);
    return is_fine && cursor->error == 0;
}

static uint64_t ms_of(int64_t time)
{
    return time <= 0 || time == INT64_MAX ? 0 : (uint64_t)time * MS_PER_SECOND;
}

static void write_omitted(struct explaining *explaining, const struct omitted *omitted)
{
    struct tr_document *document = explaining->document;
    struct tr_buffer reason;
    struct tr_buffer line;
    bool is_one = omitted->until == omitted->from + 1;
    tr_buffer_init(&reason, 0);
    tr_buffer_init(&line, 0);
    print_reason(explaining, omitted->outcome, &reason);
    if (document != NULL) {
        tr_document_begin_map(document, NULL);
        tr_document_time(document, "from", ms_of(omitted->from));
        tr_document_time(document, "until", ms_of(omitted->until));
        tr_document_text(document, "outcome",
                         tr_text_of(tr_schedule_outcome_word((uint8_t)omitted->outcome)));
        tr_document_text(document, "reason", tr_buffer_text(&reason));
        tr_document_end(document);
    } else {
        tr_time_print(ms_of(omitted->from), &line);
        if (!is_one) {
            tr_buffer_add_string(&line, " and after it, before ");
            tr_time_print(ms_of(omitted->until), &line);
        }
        fprintf(tr_console_out(), "  %.*s: %s: %.*s\n", (int)line.size, (const char *)line.data,
                tr_schedule_outcome_word((uint8_t)omitted->outcome), (int)reason.size,
                (const char *)reason.data);
    }
    tr_buffer_fini(&line);
    tr_buffer_fini(&reason);
}

static void write_running(const struct explaining *explaining)
{
    const struct running *running = explaining->running.items;
    if (explaining->document != NULL) {
        tr_document_begin_list(explaining->document, "running");
    }
    for (uint32_t i = 0; i < explaining->running.count; i++) {
        if (explaining->document != NULL) {
            tr_document_text(explaining->document, NULL, running[i].name);
        } else {
            fprintf(tr_console_out(), "of it %.*s is %.*s\n", (int)running[i].name.size,
                    running[i].name.data, (int)running[i].phase.size, running[i].phase.data);
        }
    }
    if (explaining->document != NULL) {
        tr_document_end(explaining->document);
    }
}

static int write_all_omitted(struct explaining *explaining)
{
    struct tr_bytes list = explaining->row->omitted;
    struct tr_cursor cursor = tr_cursor_of(list);
    uint32_t count = list.size == 0 ? 0 : tr_read_array(&cursor);
    if (explaining->document != NULL) {
        tr_document_begin_list(explaining->document, "not_started");
    } else if (count > 0) {
        fprintf(tr_console_out(), "not started, the latest ones:\n");
    }
    for (uint32_t i = 0; i < count; i++) {
        struct omitted omitted;
        if (!read_omitted(&cursor, &omitted)) {
            return TR_STORE_DAMAGED;
        }
        write_omitted(explaining, &omitted);
    }
    if (explaining->document != NULL) {
        tr_document_end(explaining->document);
    }
    return 0;
}

/* ------------------------------------------------------------------------ the whole */

/* Who has paused it, when and why. */
static void write_pause(const struct tr_schedule_row *row)
{
    struct tr_buffer at;
    struct tr_buffer why;
    if (!row->is_paused) {
        return;
    }
    tr_buffer_init(&at, 0);
    tr_buffer_init(&why, 0);
    tr_time_print(row->paused_ms, &at);
    tr_line_print(row->pause_message, 0, &why);
    fprintf(tr_console_out(),
            "paused by %.*s at %.*s%s%.*s; `troupe schedules resume %.*s` goes on\n",
            (int)row->paused_by.size, row->paused_by.data, (int)at.size, (const char *)at.data,
            row->pause_message.size > 0 ? ": " : "", (int)why.size, (const char *)why.data,
            (int)row->plan.size, row->plan.data);
    tr_buffer_fini(&why);
    tr_buffer_fini(&at);
}

static void write_text(const struct explaining *explaining)
{
    const struct tr_schedule_row *row = explaining->row;
    struct tr_text waiting = waiting_words(explaining);
    struct tr_buffer next;
    struct tr_buffer last;
    tr_buffer_init(&next, 0);
    tr_buffer_init(&last, 0);
    tr_time_print(row->next_ms, &next);
    tr_time_print(row->last_ms, &last);
    fprintf(tr_console_out(), "%.*s: %.*s (%.*s), starts %.*s\n", (int)row->plan.size,
            row->plan.data, (int)row->fires.size, row->fires.data, (int)row->timezone.size,
            row->timezone.data, (int)row->workflow.size, row->workflow.data);
    fprintf(tr_console_out(), "next: %.*s%s: %.*s\n", (int)next.size, (const char *)next.data,
            is_late(explaining) ? ", which has passed" : "", (int)waiting.size, waiting.data);
    write_pause(row);
    if (row->problem.size > 0 && !row->is_paused) {
        fprintf(tr_console_out(), "in the way: %.*s\n", (int)row->problem.size, row->problem.data);
    }
    if (row->last_ms != 0) {
        fprintf(tr_console_out(), "last: %.*s: %s", (int)last.size, (const char *)last.data,
                tr_schedule_outcome_word(row->outcome));
        if (explaining->last_phase[0] != '\0') {
            fprintf(tr_console_out(), ": %.*s is %s", (int)row->last.size, row->last.data,
                    explaining->last_phase);
        }
        fprintf(tr_console_out(), "\n");
    }
    fprintf(tr_console_out(),
            "where the one before runs (overlap): %s; where times were missed (catch_up): %s\n",
            overlap_word(explaining), catch_up_word(explaining));
    tr_buffer_fini(&last);
    tr_buffer_fini(&next);
}

static void write_document(struct explaining *explaining)
{
    const struct tr_schedule_row *row = explaining->row;
    struct tr_document *document = explaining->document;
    tr_document_text(document, "plan", row->plan);
    tr_document_text(document, "project", row->project);
    tr_document_text(document, "domain", row->domain);
    tr_document_bool(document, "is_live", explaining->is_live);
    tr_document_text(document, "waiting", waiting_words(explaining));
    tr_document_text(document, "problem", row->problem);
    tr_document_time(document, "next_at", row->next_ms);
    tr_document_bool(document, "is_late", is_late(explaining));
    tr_document_time(document, "last_at", row->last_ms);
    tr_document_text(document, "last", row->last);
    tr_document_text(document, "outcome", tr_text_of(tr_schedule_outcome_word(row->outcome)));
    tr_document_text(document, "last_phase", tr_text_of(explaining->last_phase));
    tr_document_text(document, "overlap", tr_text_of(overlap_word(explaining)));
    tr_document_text(document, "catch_up", tr_text_of(catch_up_word(explaining)));
    tr_document_bool(document, "is_paused", row->is_paused);
    tr_document_time(document, "paused_at", row->paused_ms);
    tr_document_text(document, "paused_by", row->paused_by);
    tr_document_text(document, "pause_message", row->pause_message);
}

/* Keeps the row: while a reader gives one it can be asked nothing else. */
static int take_row(void *self, const void *value)
{
    struct explaining *explaining = self;
    struct tr_arena *arena = &explaining->arena;
    struct tr_schedule_row *copy = &explaining->copy;
    if (explaining->is_found) {
        return 0; /* of the same name elsewhere: /PROJECT/DOMAIN/PLAN names it */
    }
    explaining->is_found = true;
    *copy = *(const struct tr_schedule_row *)value;
    struct tr_text *const texts[] = {
        &copy->project,  &copy->domain, &copy->plan,    &copy->workflow,  &copy->fires,
        &copy->timezone, &copy->last,   &copy->problem, &copy->paused_by, &copy->pause_message};
    for (size_t i = 0; i < TR_COUNT_OF(texts); i++) {
        *texts[i] = tr_arena_text(arena, *texts[i]);
    }
    copy->graph = tr_arena_bytes(arena, copy->graph);
    copy->omitted = tr_arena_bytes(arena, copy->omitted);
    explaining->row = copy;
    return arena->error;
}

static int explain(struct explaining *explaining)
{
    struct tr_document document;
    enum tr_output output = explaining->browse->invocation->output;
    explaining->document = output == TR_OUTPUT_TEXT ? NULL : &document;
    read_plan(explaining);
    read_last(explaining);
    int error = read_running(explaining);
    if (error != 0) {
        tr_graph_free(explaining->graph);
        return error;
    }
    if (explaining->document != NULL) {
        tr_document_init(&document, tr_console_out(), output);
        tr_document_begin_map(&document, NULL);
        write_document(explaining);
    } else {
        write_text(explaining);
    }
    write_running(explaining);
    error = write_all_omitted(explaining);
    if (explaining->document != NULL) {
        tr_document_end(&document);
        tr_document_fini(&document);
    }
    tr_graph_free(explaining->graph);
    return error;
}

/* Whether an execution has just this name, wherever it is. */
static bool is_execution(const struct tr_browse *browse, const char *name)
{
    struct tr_executions_row copy;
    char problem[TR_EXECUTIONS_PROBLEM_BYTES];
    if (tr_executions_find(browse->reader, name, problem, &copy) != 0) {
        return false;
    }
    bool is_there = tr_text_equal(copy.row.name, tr_text_of(name));
    tr_executions_row_fini(&copy);
    return is_there;
}

/* The next part of PROJECT/DOMAIN/PLAN. */
static struct tr_text take_part(struct tr_text *rest)
{
    const char *end = memchr(rest->data, '/', rest->size);
    struct tr_text part = {.data = rest->data,
                           .size = end == NULL ? rest->size : (size_t)(end - rest->data)};
    size_t passed = end == NULL ? part.size : part.size + 1;
    *rest = (struct tr_text){.data = rest->data + passed, .size = rest->size - passed};
    return part;
}

int tr_plans_named(struct tr_reader *reader, const char *word,
                   int (*take)(void *self, const void *row), void *self)
{
    static const char *const fields[] = {"project", "domain", "plan"};
    struct tr_reader_filter filters[TR_COUNT_OF(fields)];
    bool has_place = word[0] == '/';
    struct tr_text rest = tr_text_of(has_place ? word + 1 : word);
    size_t count = 0;
    for (size_t i = has_place ? 0 : 2; i < TR_COUNT_OF(fields); i++) {
        filters[count++] = tr_filter_text(fields[i], TR_FILTER_EQUAL, take_part(&rest));
    }
    struct tr_reader_query query = {
        .record = &tr_schedule_row_schema, .filters = filters, .filter_count = count};
    return tr_reader_rows(reader, &query, take, self);
}

enum tr_exit_status tr_explain_schedule(const struct tr_browse *browse, const char *word,
                                        bool *is_meant)
{
    char problem[TR_TARGET_PROBLEM_BYTES];
    struct tr_target target;
    struct explaining explaining = {.browse = browse, .is_live = tr_browse_is_live(browse)};
    *is_meant = false;
    if (tr_target_read(word, false, problem, &target) != 0 || target.path.size > 0 ||
        is_execution(browse, target.execution)) {
        return TR_EXIT_DONE;
    }
    tr_arena_init(&explaining.arena);
    int error = tr_plans_named(browse->reader, word, take_row, &explaining);
    if (error == 0 && explaining.is_found) {
        error = explain(&explaining);
    }
    tr_arena_fini(&explaining.arena);
    *is_meant = explaining.is_found || error != 0;
    return error == 0 ? TR_EXIT_DONE : tr_browse_failed(browse, error);
}
