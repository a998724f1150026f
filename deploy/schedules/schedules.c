/*
 * `troupe schedules`: shows the launch plans that have a schedule, pauses them, lets them go on,
 * and starts an execution of one.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/diagnostics.h"
#include "deploy/cli/engine_options.h"
#include "deploy/cli/selection.h"
#include "deploy/common/clock.h"
#include "deploy/common/document.h"
#include "deploy/common/identity.h"
#include "deploy/connect/connect.h"
#include "deploy/console/console.h"
#include "deploy/follow/prepare.h"
#include "deploy/graphs/graphs.h"
#include "deploy/inputs/offload.h"
#include "deploy/schedules/plan_selection.h"
#include "deploy/schedules/schedules_print.h"
#include "deploy/server/change_schedules.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/engine/schedule.h"

#define CAUSE_BYTES 1024

/* -------------------------------------------------------------- pausing, going on */

/* One call of `pause` or `resume`. */
struct pausing {
    const struct tr_invocation *invocation;
    bool is_paused; /* wanted */
    struct tr_plan_selection selection;
    struct tr_settings_file settings;
    struct tr_connection connection;
    struct tr_document document;
    bool has_document;
    char words[TR_APPLY_EXPLAIN_BYTES];
};

static int ask_there(struct pausing *pausing, const struct tr_pause_schedule *pause)
{
    struct tri_request answer;
    struct tr_answered answered = {.error = 0};
    int error = tr_client_call(pausing->connection.client, &tr_pause_schedule_schema, pause,
                               &tr_answered_schema, 0, NULL, NULL, &answer);
    if (error == 0) {
        error = tr_answered_unpack(answer.body, answer.version, &answered);
    }
    snprintf(pausing->words, sizeof pausing->words, "%.*s", (int)answered.message.size,
             answered.message.data);
    return error != 0 ? error : (int)answered.error;
}

static int ask(struct pausing *pausing, const struct tr_selected_plan *plan)
{
    char identity[TR_IDENTITY_BYTES];
    const char *message = tr_arguments_value(&pausing->invocation->arguments, "message");
    tr_identity_read(identity);
    struct tr_pause_schedule pause = {.address = plan->address,
                                      .is_paused = pausing->is_paused,
                                      .by = tr_text_of(identity),
                                      .message = tr_text_of(message == NULL ? "" : message)};
    pausing->words[0] = '\0';
    struct tr_live *live = pausing->connection.live;
    return live != NULL ? tr_live_pause_schedule(live, &pause, pausing->words)
                        : ask_there(pausing, &pause);
}

static void tell(struct pausing *pausing, const struct tr_selected_plan *plan)
{
    int size = (int)plan->plan.size;
    const char *name = plan->plan.data;
    if (pausing->has_document) {
        tr_document_begin_map(&pausing->document, NULL);
        tr_document_text(&pausing->document, "plan", plan->plan);
        tr_document_text(&pausing->document, "project", plan->project);
        tr_document_text(&pausing->document, "domain", plan->domain);
        tr_document_bool(&pausing->document, "is_paused", pausing->is_paused);
        tr_document_bool(&pausing->document, "was_paused", plan->is_paused);
        tr_document_end(&pausing->document);
    } else if (pausing->invocation->output == TR_OUTPUT_NAME) {
        fprintf(tr_console_out(), "%.*s\n", size, name);
    } else if (pausing->is_paused) {
        tr_command_note(pausing->invocation,
                        "%.*s is paused; `troupe schedules resume %.*s` goes on", size, name, size,
                        name);
    } else {
        tr_command_note(pausing->invocation, "%.*s %s", size, name,
                        plan->is_paused ? "goes on" : "was not paused");
    }
}

static enum tr_exit_status change_all(struct pausing *pausing)
{
    enum tr_output output = pausing->invocation->output;
    int error = 0;
    pausing->has_document = output == TR_OUTPUT_JSON || output == TR_OUTPUT_YAML;
    if (pausing->has_document) {
        tr_document_init(&pausing->document, tr_console_out(), output);
        tr_document_begin_list(&pausing->document, NULL);
    }
    for (uint32_t i = 0; error == 0 && i < pausing->selection.count; i++) {
        error = ask(pausing, &pausing->selection.items[i]);
        if (error == 0) {
            tell(pausing, &pausing->selection.items[i]);
        }
    }
    if (pausing->has_document) {
        tr_document_end(&pausing->document);
        tr_document_fini(&pausing->document);
    }
    if (error == 0) {
        return TR_EXIT_DONE;
    }
    const char *words = pausing->words[0] != '\0' ? pausing->words : tr_error_text(error);
    return error == TR_LIMIT ? tr_command_refused(pausing->invocation->command, "%s", words)
                             : tr_command_failed(pausing->invocation->command, "%s", words);
}

/* A store without an engine gets one for the moment that this takes. */
static enum tr_exit_status reach(struct pausing *pausing)
{
    struct tr_live_options options = {.folder = pausing->selection.store.folder,
                                      .durability = TR_DURABILITY_FULL,
                                      .command = "schedules",
                                      .settings = &pausing->settings,
                                      .lets_sleep = true};
    enum tr_exit_status status = tr_diagnostics_load_settings(
        pausing->invocation, pausing->selection.store.folder, &pausing->settings);
    return status == TR_EXIT_DONE
               ? tr_connect_or_open(pausing->invocation, &options, &pausing->connection)
               : status;
}

static enum tr_exit_status change(const struct tr_invocation *invocation, bool is_paused)
{
    struct pausing pausing = {.invocation = invocation, .is_paused = is_paused};
    enum tr_exit_status status = tr_plan_selection_find(invocation, is_paused ? "pause" : "resume",
                                                        false, &pausing.selection);
    if (status == TR_EXIT_DONE) {
        status = reach(&pausing);
    }
    if (status == TR_EXIT_DONE) {
        status = change_all(&pausing);
        tr_connection_close(&pausing.connection);
    }
    tr_settings_fini(&pausing.settings);
    tr_plan_selection_fini(&pausing.selection);
    return status;
}

static enum tr_exit_status pause_plans(const struct tr_invocation *invocation)
{
    return change(invocation, true);
}

static enum tr_exit_status resume_plans(const struct tr_invocation *invocation)
{
    return change(invocation, false);
}

/* ------------------------------------------------------------------------ starting */

static bool gives_inputs(const struct tr_invocation *invocation)
{
    return tr_arguments_has(&invocation->arguments, "input") ||
           tr_arguments_has(&invocation->arguments, "inputs");
}

static void print_begun(const struct tr_invocation *invocation, struct tr_text name)
{
    struct tr_document document;
    if (invocation->output != TR_OUTPUT_JSON && invocation->output != TR_OUTPUT_YAML) {
        fprintf(tr_console_out(), "%.*s\n", (int)name.size, name.data);
        return;
    }
    tr_document_init(&document, tr_console_out(), invocation->output);
    tr_document_begin_map(&document, NULL);
    tr_document_text(&document, "execution", name);
    tr_document_end(&document);
    tr_document_fini(&document);
}

/* Slots of the inputs that were given, over those of the plan; of its kickoff_input the time. */
static enum tr_exit_status make_inputs(struct tr_prepared *prepared)
{
    const struct tr_plan *plan = &prepared->graph->plans[prepared->plan];
    uint32_t count = prepared->graph->workflows[plan->workflow].interface.inputs.count;
    struct tr_bytes *earlier = tr_alloc_zero(count + 1, sizeof *earlier);
    struct tr_buffer now;
    tr_buffer_init(&now, 0);
    tr_write_moment(&now, (struct tr_moment){.seconds = (int64_t)(tr_clock_wall_ms() / 1000)});
    if (earlier == NULL || now.error != 0) {
        tr_free(earlier);
        tr_buffer_fini(&now);
        return tr_command_failed(prepared->invocation->command, "%s", tr_error_text(TR_MEMORY));
    }
    if (plan->schedule.kickoff_input < count) {
        earlier[plan->schedule.kickoff_input] = tr_buffer_bytes(&now);
    }
    enum tr_exit_status status = tr_prepare_inputs(prepared, earlier);
    tr_free(earlier);
    tr_buffer_fini(&now);
    return status;
}

/* The same of the plan as it is registered, with large values where they belong. */
static enum tr_exit_status read_inputs(const struct tr_invocation *invocation,
                                       const struct tr_plan_selection *selection,
                                       struct tr_buffer *inputs)
{
    char explain[TR_OFFLOAD_EXPLAIN_BYTES] = "";
    const struct tr_selected_plan *selected = &selection->items[0];
    struct tr_prepared prepared;
    tr_prepared_init(&prepared, invocation);
    enum tr_exit_status status = TR_EXIT_DONE;
    int error = tr_graphs_get(selection->store.folder, selected->graph, &prepared.graph);
    prepared.plan = error != 0 ? TR_GRAPH_NONE : tr_graph_find_plan(prepared.graph, selected->plan);
    if (error == 0 && prepared.plan == TR_GRAPH_NONE) {
        error = TR_STORE_DAMAGED;
    }
    if (error == 0) {
        prepared.workflow = prepared.graph->plans[prepared.plan].workflow;
        status = make_inputs(&prepared);
    }
    if (error == 0 && status == TR_EXIT_DONE) {
        error = tr_offload_slots(selection->store.folder, &prepared.inputs, explain);
    }
    if (error == 0 && status == TR_EXIT_DONE) {
        tr_buffer_add(inputs, prepared.inputs.data, prepared.inputs.size);
        error = inputs->error;
    }
    if (error != 0) {
        status = tr_command_failed(invocation->command, "%.*s: %s", TRI_SHOWN(selected->plan),
                                   explain[0] != '\0' ? explain : tr_error_text(error));
    }
    tr_prepared_fini(&prepared);
    return status;
}

static enum tr_exit_status trigger_one(const struct tr_invocation *invocation,
                                       struct tri_client *client,
                                       const struct tr_selected_plan *plan, struct tr_bytes inputs)
{
    char identity[TR_IDENTITY_BYTES];
    char cause[CAUSE_BYTES];
    struct tri_request answer;
    struct tr_submitted submitted = {.error = 0};
    const char *message = tr_arguments_value(&invocation->arguments, "message");
    tr_identity_read(identity);
    snprintf(cause, sizeof cause, "plan %.*s triggered by %s%s%.512s", (int)plan->plan.size,
             plan->plan.data, identity, message == NULL ? "" : ": ",
             message == NULL ? "" : message);
    struct tr_trigger_schedule trigger = {
        .address = plan->address, .cause = tr_text_of(cause), .inputs = inputs};
    int error = tr_client_call(client, &tr_trigger_schedule_schema, &trigger, &tr_submitted_schema,
                               0, NULL, NULL, &answer);
    if (error == 0) {
        error = tr_submitted_unpack(answer.body, answer.version, &submitted);
    }
    if (error != 0 || submitted.error != 0) {
        return tr_command_failed(invocation->command, "%.*s cannot be triggered: %.*s",
                                 (int)plan->plan.size, plan->plan.data,
                                 TRI_TEXT(submitted.message.size > 0
                                              ? submitted.message
                                              : tr_text_of(tr_error_text(error))));
    }
    print_begun(invocation, submitted.name);
    return TR_EXIT_DONE;
}

static enum tr_exit_status trigger(const struct tr_invocation *invocation)
{
    struct tr_plan_selection selection;
    struct tri_client *client = NULL;
    struct tr_buffer inputs;
    if (invocation->arguments.word_count > 2) {
        return tr_command_mistake(invocation->command, "trigger takes one PLAN");
    }
    tr_buffer_init(&inputs, 0);
    enum tr_exit_status status = tr_plan_selection_find(invocation, "trigger", true, &selection);
    if (status == TR_EXIT_DONE && gives_inputs(invocation)) {
        status = read_inputs(invocation, &selection, &inputs);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_connect_live(invocation, selection.store.folder, &client);
    }
    if (status == TR_EXIT_DONE) {
        status = trigger_one(invocation, client, &selection.items[0], tr_buffer_bytes(&inputs));
    }
    tr_buffer_fini(&inputs);
    tri_client_close(client);
    tr_plan_selection_fini(&selection);
    return status;
}

/* --------------------------------------------------------------------- the command */

static const struct {
    const char *word;
    bool takes_message;
    enum tr_exit_status (*act)(const struct tr_invocation *invocation);
} acts[] = {
    {"pause", true, pause_plans}, {"resume", false, resume_plans}, {"trigger", true, trigger}};

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    bool has_message = tr_arguments_value(arguments, "message") != NULL;
    size_t position = 0;
    while (arguments->word_count > 0 && position < TR_COUNT_OF(acts) &&
           strcmp(arguments->words[0], acts[position].word) != 0) {
        position++;
    }
    if (position == TR_COUNT_OF(acts)) {
        return tr_command_mistake(invocation->command,
                                  "'%.60s' is nothing that is done to schedules; write pause, "
                                  "resume or trigger, or nothing to see them",
                                  arguments->words[0]);
    }
    if (has_message && (arguments->word_count == 0 || !acts[position].takes_message)) {
        return tr_command_mistake(invocation->command,
                                  "-m says why a schedule is paused or triggered");
    }
    if (gives_inputs(invocation) && (arguments->word_count == 0 || acts[position].act != trigger)) {
        return tr_command_mistake(invocation->command, "-i and --inputs are for trigger alone");
    }
    if (arguments->word_count == 0) {
        return tr_schedules_list(invocation);
    }
    if (arguments->word_count == 1) {
        return tr_command_mistake(invocation->command, "%s needs a PLAN", arguments->words[0]);
    }
    return acts[position].act(invocation);
}

static const struct tr_option options[] = {
    {'m', "message", "TEXT", "why", NULL, 0, false},
    {'i', "input", "NAME=VALUE", "of trigger: an input, before the plan's; @FILE reads a file",
     NULL, TR_COMPLETES_FILES, true},
    {0, "inputs", "FILE", "the same as YAML, JSON or .pb; - is stdin", NULL, TR_COMPLETES_FILES,
     false},
    TR_SELECTION_YES_OPTION,
    {0},
};

const struct tr_command tr_command_schedules = {
    .name = "schedules",
    .summary = "show schedules, pause them, trigger one",
    .words = "[pause PLAN... | resume PLAN... | trigger PLAN]",
    .text = "Without words it shows the launch plans that have a schedule. While one is paused no\n"
            "time of it starts anything; the times that pass are noted as paused and not caught\n"
            "up when it goes on (`troupe backfill` can). A pause stays over restarts and `apply`.\n"
            "PLAN may be a glob, or PROJECT/DOMAIN/PLAN.\n\n"
            "trigger starts one execution now, with the plan's inputs, and prints its name; -i\n"
            "gives others. The schedule has no part in it: it may be paused, `overlap` does not\n"
            "count, and no time is left out for it.",
    .examples = "  troupe schedules\n"
                "  troupe schedules pause 'nightly-*' --yes -m \"the disk is being changed\"\n"
                "  troupe schedules resume nightly\n"
                "  troupe schedules trigger nightly",
    .choices = "pause|resume|trigger",
    .options = options,
    .outputs = "table|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_PLANS,
    .words_max = UINT32_MAX,
    .run = run,
};
