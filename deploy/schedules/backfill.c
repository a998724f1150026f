/*
 * `troupe backfill PLAN --from T --to T`: starts the executions of times that were missed, under
 * the names that its schedule gives them.
 */
#include "deploy/schedules/backfill.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiled/schedule_time.h"
#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/moment.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/diagnostics.h"
#include "deploy/cli/engine_options.h"
#include "deploy/cli/store.h"
#include "deploy/common/show.h"
#include "deploy/console/console.h"
#include "deploy/follow/prepare.h"
#include "deploy/graphs/graphs.h"
#include "deploy/history/executions.h"
#include "deploy/inputs/offload.h"
#include "deploy/inputs/runnable.h"
#include "runtime/memory.h"
#include "schemas/engine/schedule.h"

/* Executions at once where nobody says. */
#define AT_ONCE 1

struct command {
    const struct tr_invocation *invocation;
    struct tr_store_place store;
    struct tr_settings_file settings;
    struct tr_graph *graph;
    struct tr_buffer packed;
    struct tr_buffer labels;
    struct tr_backfill backfill;
    int64_t from;
    int64_t to;
};

/* ------------------------------------------------------------------------- which plan */

static enum tr_exit_status compile(struct command *command, const char *file)
{
    struct tr_report report;
    tr_report_init(&report);
    int error = tr_graph_check_file(file, &report, &command->graph);
    enum tr_exit_status status = tr_diagnostics_print_report(command->invocation, &report, error);
    tr_report_fini(&report);
    return status;
}

static int find_registered(struct command *command, struct tr_graphs_of_plans *registered,
                           char *explain)
{
    const struct tr_arguments *arguments = &command->invocation->arguments;
    struct tr_reader_filter filters[3] = {
        tr_filter_text("plan", TR_FILTER_EQUAL, tr_text_of(arguments->words[0]))};
    size_t count = 1;
    static const char *const fields[] = {"project", "domain"};
    for (size_t i = 0; i < TR_COUNT_OF(fields); i++) {
        const char *word = tr_arguments_value(arguments, fields[i]);
        if (word != NULL) {
            filters[count++] = tr_filter_text(fields[i], TR_FILTER_EQUAL, tr_text_of(word));
        }
    }
    struct tr_reader_query query = {
        .record = &tr_schedule_row_schema, .filters = filters, .filter_count = count};
    struct tr_reader *reader;
    int error = tr_history_open(command->store.folder, explain, &reader);
    if (error != 0) {
        return error;
    }
    error = tr_reader_rows(reader, &query, tr_graphs_take_plan, registered);
    if (error != 0) {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_reader_explain(reader));
    }
    tr_reader_close(reader);
    return error;
}

static enum tr_exit_status read_registered(struct command *command)
{
    struct tr_graphs_of_plans registered = {.count = 0};
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    const char *plan = command->invocation->arguments.words[0];
    int error = find_registered(command, &registered, explain);
    if (error == 0 && registered.count != 1) {
        return tr_command_refused(
            command->invocation->command,
            registered.count == 0
                ? "no plan '%.80s' is registered in this store; apply its file, or give it "
                  "with --file"
                : "several plans '%.80s' are registered; say which with --project and --domain",
            plan);
    }
    if (error == 0) {
        struct tr_bytes hash = {.data = registered.hash, .size = TR_GRAPH_HASH_BYTES};
        error = tr_graphs_get(command->store.folder, hash, &command->graph);
    }
    return error == 0 ? TR_EXIT_DONE
                      : tr_command_failed(command->invocation->command, "%s",
                                          explain[0] != '\0' ? explain : tr_error_text(error));
}

static enum tr_exit_status check_runnable(struct command *command, const char *file)
{
    struct tr_report report;
    struct tr_engine engine = {.plugin_count = 0};
    tr_settings_tables(&command->settings, &engine);
    tr_report_init(&report);
    int error = tr_graph_check_runnable(command->graph, command->backfill.plan->workflow, &engine,
                                        file, &report);
    enum tr_exit_status status = tr_diagnostics_print_report(command->invocation, &report, error);
    tr_report_fini(&report);
    return status;
}

/* The plan, and its graph as it is kept: large values lie elsewhere. */
static enum tr_exit_status choose(struct command *command)
{
    const char *word = command->invocation->arguments.words[0];
    const char *file = tr_arguments_value(&command->invocation->arguments, "file");
    enum tr_exit_status status = file != NULL ? compile(command, file) : read_registered(command);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    uint32_t plan = tr_graph_find_plan(command->graph, tr_text_of(word));
    if (plan == TR_GRAPH_NONE || !command->graph->plans[plan].schedule.is_set) {
        return tr_command_refused(command->invocation->command,
                                  "%.200s has no launch plan '%.80s' with a schedule",
                                  file != NULL ? file : "the definition", word);
    }
    command->backfill.plan = &command->graph->plans[plan];
    status = check_runnable(command, file != NULL ? file : word);
    if (status == TR_EXIT_DONE) {
        char explain[TR_OFFLOAD_EXPLAIN_BYTES] = "";
        struct tr_buffer none;
        tr_buffer_init(&none, 0);
        tr_buffer_array(&none, 0);
        int error = tr_offload(command->store.folder, command->graph, &none, explain);
        if (error == 0) {
            error = tr_graph_pack(command->graph, &command->packed);
        }
        tr_buffer_fini(&none);
        status = error == 0
                     ? status
                     : tr_command_failed(command->invocation->command, "%s",
                                         explain[0] != '\0' ? explain : tr_error_text(error));
    }
    return status;
}

/* ------------------------------------------------------------------------ which times */

static enum tr_exit_status read_time(const struct command *command, const char *option,
                                     int64_t *time)
{
    struct tr_moment moment;
    const char *word = tr_arguments_value(&command->invocation->arguments, option);
    if (word == NULL) {
        return tr_command_mistake(command->invocation->command,
                                  "--%s is missing; write a time such as 2026-08-20 or "
                                  "2026-08-20T03:00:00Z",
                                  option);
    }
    if (!tr_moment_parse(tr_text_of(word), &moment)) {
        return tr_command_mistake(command->invocation->command,
                                  "--%s: '%.60s' is no time; write one such as 2026-08-20 or "
                                  "2026-08-20T03:00:00Z",
                                  option, word);
    }
    *time = moment.seconds;
    return TR_EXIT_DONE;
}

static enum tr_exit_status read_options(struct command *command)
{
    uint64_t at_once = AT_ONCE;
    const char *word = tr_arguments_value(&command->invocation->arguments, "parallelism");
    enum tr_exit_status status = read_time(command, "from", &command->from);
    if (status == TR_EXIT_DONE) {
        status = read_time(command, "to", &command->to);
    }
    if (status == TR_EXIT_DONE && command->to < command->from) {
        status = tr_command_mistake(command->invocation->command, "--to is before --from");
    }
    bool is_fine = word == NULL ||
                   (tr_count_read(word, &at_once) && at_once >= 1 && at_once <= TR_BACKFILL_MAX);
    if (status == TR_EXIT_DONE && !is_fine) {
        status = tr_command_mistake(command->invocation->command,
                                    "--parallelism: '%.60s' is no number from 1 to %d", word,
                                    TR_BACKFILL_MAX);
    }
    command->backfill.at_once = (uint32_t)at_once;
    command->backfill.is_detached = tr_arguments_has(&command->invocation->arguments, "detach");
    if (status == TR_EXIT_DONE && command->backfill.is_detached && word != NULL) {
        status = tr_command_mistake(command->invocation->command,
                                    "--parallelism and --detach: nobody stays to count them");
    }
    return status;
}

static int add_time(struct tr_backfill *backfill, int64_t time)
{
    if ((backfill->count & (backfill->count - 1)) == 0) {
        size_t capacity = backfill->count == 0 ? 1 : 2 * (size_t)backfill->count;
        struct tr_backfill_time *grown =
            tr_realloc(backfill->times, capacity * sizeof *backfill->times);
        if (grown == NULL) {
            return TR_MEMORY;
        }
        backfill->times = grown;
    }
    backfill->times[backfill->count++] = (struct tr_backfill_time){.time = time};
    return 0;
}

static enum tr_exit_status collect_times(struct command *command)
{
    struct tr_backfill *backfill = &command->backfill;
    const struct tr_schedule *schedule = &backfill->plan->schedule;
    struct tr_zone *zone;
    int64_t time = command->from - 1;
    int error = tr_zone_open(schedule->timezone, &zone);
    if (error != 0) {
        return tr_command_failed(command->invocation->command, "there is no time zone %.*s here",
                                 (int)schedule->timezone.size, schedule->timezone.data);
    }
    while (error == 0 && backfill->count <= TR_BACKFILL_MAX &&
           tr_schedule_next(schedule, zone, time, &time) == 0 && time <= command->to) {
        error = add_time(backfill, time);
    }
    tr_zone_close(zone);
    if (error != 0) {
        return tr_command_failed(command->invocation->command, "%s", tr_error_text(error));
    }
    if (backfill->is_detached && backfill->count > TR_BACKFILL_DETACHED_MAX) {
        return tr_command_refused(command->invocation->command,
                                  "there are more than %d times to start at once "
                                  "(TR_BACKFILL_DETACHED_MAX); choose a shorter span",
                                  TR_BACKFILL_DETACHED_MAX);
    }
    if (backfill->count > TR_BACKFILL_MAX) {
        return tr_command_refused(command->invocation->command,
                                  "there are more than %d times (TR_BACKFILL_MAX); choose a "
                                  "shorter span",
                                  TR_BACKFILL_MAX);
    }
    backfill->at_once = backfill->is_detached ? backfill->count : backfill->at_once;
    return TR_EXIT_DONE;
}

/* ------------------------------------------------------------------------ the command */

static const char *word_of(const struct tr_backfill_time *time)
{
    return time->state == TR_BACKFILL_ENDED     ? tr_execution_phase_word(time->phase)
           : time->state == TR_BACKFILL_RUNS    ? "running"
           : time->state == TR_BACKFILL_EXISTED ? "existed"
                                                : "not started";
}

static void print(const struct command *command)
{
    const struct tr_backfill *backfill = &command->backfill;
    enum tr_output output = command->invocation->output;
    bool is_document = output == TR_OUTPUT_JSON || output == TR_OUTPUT_YAML;
    struct tr_document document;
    if (is_document) {
        tr_document_init(&document, tr_console_out(), output);
        tr_document_begin_list(&document, NULL);
    }
    for (uint32_t i = 0; i < backfill->count; i++) {
        char name[TR_SCHEDULE_NAME_BYTES];
        tr_schedule_name(backfill->plan->name, backfill->times[i].time, name);
        if (is_document) {
            tr_document_begin_map(&document, NULL);
            tr_document_text(&document, "execution", tr_text_of(name));
            tr_document_time(&document, "time", (uint64_t)backfill->times[i].time * 1000);
            tr_document_text(&document, "outcome", tr_text_of(word_of(&backfill->times[i])));
            tr_document_end(&document);
        } else if (output == TR_OUTPUT_NAME) {
            fprintf(tr_console_out(), "%s\n", name);
        } else {
            fprintf(tr_console_out(), "%s  %s\n", name, word_of(&backfill->times[i]));
        }
    }
    if (is_document) {
        tr_document_end(&document);
        tr_document_fini(&document);
    }
}

/* An engine that is to stay until all have ended, or one that stays anyway. */
static enum tr_exit_status reach(const struct command *command, struct tr_connection *connection)
{
    struct tr_live_options options;
    if (command->backfill.is_detached) {
        return tr_connect_live(command->invocation, command->store.folder, &connection->client);
    }
    enum tr_exit_status status = tr_engine_options_read(command->invocation, command->store.folder,
                                                        &command->settings, &options);
    if (status == TR_EXIT_DONE) {
        options.lets_sleep = true;
        status = tr_connect_or_open(command->invocation, &options, connection);
    }
    return status;
}

static enum tr_exit_status reach_and_run(struct command *command)
{
    struct tr_connection connection = {.live = NULL};
    enum tr_exit_status status = reach(command, &connection);
    if (status == TR_EXIT_DONE) {
        command->backfill.invocation = command->invocation;
        command->backfill.folder = command->store.folder;
        command->backfill.graph = command->graph;
        command->backfill.labels = tr_buffer_text(&command->labels);
        command->backfill.packed = tr_buffer_bytes(&command->packed);
        status = tr_backfill_run(&command->backfill, &connection);
        tr_connection_close(&connection);
        print(command);
    }
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct command command = {.invocation = invocation};
    tr_buffer_init(&command.packed, TR_ENDPOINT_BYTES_MAX);
    tr_buffer_init(&command.labels, 0);
    enum tr_exit_status status = read_options(&command);
    if (status == TR_EXIT_DONE) {
        status = tr_prepare_labels(invocation, tr_text_of(""), &command.labels);
    }
    if (status == TR_EXIT_DONE) {
        bool has_file = tr_arguments_has(&invocation->arguments, "file");
        status = tr_store_find(invocation, has_file, &command.store);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_diagnostics_load_settings(invocation, command.store.folder, &command.settings);
    }
    if (status == TR_EXIT_DONE) {
        status = choose(&command);
    }
    if (status == TR_EXIT_DONE) {
        status = collect_times(&command);
    }
    if (status == TR_EXIT_DONE && command.backfill.count == 0) {
        tr_command_note(invocation, "the schedule has no time in this span");
    } else if (status == TR_EXIT_DONE) {
        status = reach_and_run(&command);
    }
    tr_free(command.backfill.times);
    tr_buffer_fini(&command.labels);
    tr_buffer_fini(&command.packed);
    tr_graph_free(command.graph);
    tr_settings_fini(&command.settings);
    return status;
}

static const struct tr_option options_table[] = {
    {0, "from", "TIME", "the first time, a date or RFC 3339", NULL, 0, false},
    {0, "to", "TIME", "the last time", NULL, 0, false},
    {0, "parallelism", "N", "executions at once (else 1)", NULL, 0, false},
    {0, "detach", NULL, "start all of them now in the live engine, and leave", NULL, 0, false},
    TR_PREPARE_LABEL_OPTION,
    {0, "file", "FILE", "the definition (else what was applied)", NULL, TR_COMPLETES_FILES, false},
    {0, "project", "NAME", "of the plan, where several have its name", NULL, 0, false},
    {0, "domain", "NAME", "the same", NULL, 0, false},
    TR_ENGINE_OPTIONS,
    {0},
};

const struct tr_command tr_command_backfill = {
    .name = "backfill",
    .summary = "start what a schedule has missed",
    .words = "PLAN",
    .text =
        "Starts an execution for each time of PLAN's schedule from TIME to TIME, both of them\n"
        "included, under the names that the schedule gives them, and stays until they have\n"
        "ended. Those that exist are left. Ctrl-C starts no more and waits for those that run.\n"
        "With --detach a live engine has them all at once, and pools bound them.",
    .examples = "  troupe backfill nightly --from 2026-08-01 --to 2026-08-19 --parallelism 4\n"
                "  troupe backfill nightly --file nightly.yaml --from 2026-08-01 --to 2026-08-02",
    .options = options_table,
    .outputs = "text|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_PLANS,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
