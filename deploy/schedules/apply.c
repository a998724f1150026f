/*
 * `troupe apply [FILE]`: registers the launch plans of a definition that have a schedule, and keeps
 * what a package of Flyte's holds, for others to refer to; without FILE it shows the plans that are
 * registered, as `troupe schedules` does.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiled/schedule_time.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/definition.h"
#include "deploy/cli/diagnostics.h"
#include "deploy/cli/engine_options.h"
#include "deploy/cli/store.h"
#include "deploy/connect/connect.h"
#include "deploy/flyte/package.h"
#include "deploy/inputs/offload.h"
#include "deploy/inputs/runnable.h"
#include "deploy/schedules/schedules_print.h"
#include "deploy/server/apply_plans.h"
#include "schemas/engine/entity.h"
#include "schemas/engine/schedule.h"
#include "schemas/runtime/request.h"

struct apply {
    const struct tr_invocation *invocation;
    struct tr_graph *graph; /* until it is handed over */
    struct tr_store_place store;
    struct tr_settings_file settings;
    struct tr_arena arena;
    struct tri_vector applied;          /* struct tr_applied_plan */
    struct tr_buffer entities;          /* of a package */
    uint32_t kinds[TR_ENTITY_PLAN + 1]; /* how many of each there are now */
    uint32_t changed;                   /* entities that were not there, or are not any more */
    char explain[TR_APPLY_EXPLAIN_BYTES];
};

/* ------------------------------------------------------------------ what is registered */

/* All that a schedule will start has to be able to run. */
static int check_plans(const struct apply *apply, struct tr_report *report)
{
    const struct tr_graph *graph = apply->graph;
    struct tr_engine engine = {.plugin_count = 0};
    int error = 0;
    tr_settings_tables(&apply->settings, &engine);
    for (uint32_t i = 0; error == 0 && i < graph->plan_count; i++) {
        if (graph->plans[i].schedule.is_set) {
            error = tr_graph_check_runnable(graph, graph->plans[i].workflow, &engine,
                                            apply->invocation->arguments.words[0], report);
        }
    }
    return error;
}

/* For a store, or NULL: only looks at it. */
static enum tr_exit_status compile(struct apply *apply, const char *store)
{
    struct tr_report report;
    tr_report_init(&report);
    tr_buffer_cut(&apply->entities, 0);
    int error = tr_definition_apply(apply->invocation, apply->invocation->arguments.words[0], store,
                                    &report, &apply->graph, &apply->entities);
    if (error == 0 && tr_report_total(&report) == 0) {
        error = check_plans(apply, &report);
    }
    enum tr_exit_status status = tr_diagnostics_print_report(apply->invocation, &report, error);
    tr_report_fini(&report);
    return status;
}

/* The code of a package goes into the store, which is made only for one that is right. */
static enum tr_exit_status compile_for_store(struct apply *apply)
{
    bool is_package = tr_package_is(apply->invocation->arguments.words[0]);
    enum tr_exit_status status = TR_EXIT_DONE;
    char folder[PATH_MAX];
    tr_store_look(apply->invocation, folder);
    if (!is_package || access(folder, F_OK) != 0) {
        status = compile(apply, NULL);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_store_find(apply->invocation, true, &apply->store);
    }
    if (status == TR_EXIT_DONE && is_package) {
        tr_graph_free(apply->graph);
        apply->graph = NULL;
        status = compile(apply, apply->store.folder);
    }
    return status;
}

/* Large values go to the store's blobs, as those of `run` do. */
static enum tr_exit_status offload(struct apply *apply)
{
    char explain[TR_OFFLOAD_EXPLAIN_BYTES];
    struct tr_buffer none;
    tr_buffer_init(&none, 0);
    tr_buffer_array(&none, 0);
    int error = tr_offload(apply->store.folder, apply->graph, &none, explain);
    tr_buffer_fini(&none);
    if (error == TR_LIMIT) {
        return tr_command_refused(apply->invocation->command, "%s", explain);
    }
    return error == 0 ? TR_EXIT_DONE : tr_command_failed(apply->invocation->command, "%s", explain);
}

/* ---------------------------------------------------------------------- registering */

/* When a plan fires next: the engine finds the same. 0: never, or it has no schedule any more. */
static uint64_t next_ms(const struct tr_graph *graph, struct tr_text plan, uint64_t now_ms)
{
    struct tr_zone *zone;
    int64_t next = 0;
    uint32_t position = tr_graph_find_plan(graph, plan);
    if (position == TR_GRAPH_NONE || !graph->plans[position].schedule.is_set) {
        return 0;
    }
    const struct tr_schedule *schedule = &graph->plans[position].schedule;
    if (tr_zone_open(schedule->timezone, &zone) != 0) {
        return 0;
    }
    int error = tr_schedule_next(schedule, zone, (int64_t)(now_ms / 1000), &next);
    tr_zone_close(zone);
    return error == 0 ? (uint64_t)next * 1000 : 0;
}

static void take_applied(void *self, struct tr_text plan, uint8_t change, uint8_t kind)
{
    struct apply *apply = self;
    if (kind != TR_ENTITY_NONE && kind < TR_COUNT_OF(apply->kinds)) {
        apply->kinds[kind] += change == TR_SCHEDULE_DELETED ? 0 : 1;
        apply->changed += change == TR_SCHEDULE_UNCHANGED ? 0 : 1;
        return;
    }
    struct tr_applied_plan *applied =
        tri_vector_add(&apply->arena, &apply->applied, sizeof *applied);
    if (applied != NULL) {
        *applied =
            (struct tr_applied_plan){.plan = tr_arena_text(&apply->arena, plan), .change = change};
    }
}

static int take_row(void *self, const struct tri_request *row)
{
    struct tr_plan_applied applied;
    int error = row->type == tr_plan_applied_schema.id
                    ? tr_plan_applied_unpack(row->body, row->version, &applied)
                    : 0;
    if (error == 0 && row->type == tr_plan_applied_schema.id) {
        take_applied(self, applied.plan, applied.change, applied.kind);
    }
    return error;
}

static int apply_there(struct apply *apply, struct tri_client *client)
{
    struct tri_request answer;
    struct tr_answered answered = {.error = 0};
    struct tr_buffer graph;
    tr_buffer_init(&graph, TR_ENDPOINT_BYTES_MAX);
    int error = tr_graph_pack(apply->graph, &graph);
    struct tr_apply_plans plans = {
        .graph = tr_buffer_bytes(&graph),
        .deletes = tr_arguments_has(&apply->invocation->arguments, "delete"),
        .entities = tr_buffer_bytes(&apply->entities),
    };
    if (error == 0) {
        error = tr_client_call(client, &tr_apply_plans_schema, &plans, &tr_answered_schema, 0,
                               take_row, apply, &answer);
    }
    if (error == 0) {
        error = tr_answered_unpack(answer.body, answer.version, &answered);
    }
    tr_buffer_fini(&graph);
    snprintf(apply->explain, sizeof apply->explain, "%.*s", (int)answered.message.size,
             answered.message.data);
    return error != 0 ? error : (int)answered.error;
}

/* In an engine of this process the graph is taken over; what is shown needs one of its own. */
static int apply_here(struct apply *apply, struct tr_live *live)
{
    struct tr_buffer packed;
    struct tr_graph *copy = NULL;
    tr_buffer_init(&packed, 0);
    int error = tr_graph_pack(apply->graph, &packed);
    if (error == 0) {
        error = tr_graph_unpack(tr_buffer_bytes(&packed), &copy);
    }
    tr_buffer_fini(&packed);
    if (error != 0) {
        return error;
    }
    return tr_live_apply(live, copy, tr_buffer_bytes(&apply->entities),
                         tr_arguments_has(&apply->invocation->arguments, "delete"), take_applied,
                         apply, apply->explain);
}

static enum tr_exit_status reach_and_apply(struct apply *apply)
{
    struct tr_connection connection = {.live = NULL};
    struct tr_live_options options = {.folder = apply->store.folder,
                                      .durability = TR_DURABILITY_FULL,
                                      .command = "apply",
                                      .settings = &apply->settings,
                                      .lets_sleep = true};
    enum tr_exit_status status = tr_connect_or_open(apply->invocation, &options, &connection);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    bool was_here = connection.live != NULL;
    int error =
        was_here ? apply_here(apply, connection.live) : apply_there(apply, connection.client);
    tr_connection_close(&connection);
    if (error == 0) {
        error = apply->arena.error;
    }
    if (error != 0) {
        const char *words = apply->explain[0] != '\0' ? apply->explain : tr_error_text(error);
        return error == TR_EXISTS ? tr_command_refused(apply->invocation->command, "%s", words)
                                  : tr_command_failed(apply->invocation->command, "%s", words);
    }
    if (was_here) {
        tr_command_note(apply->invocation,
                        "no engine runs here now; schedules fire while `troupe serve` does");
    }
    return TR_EXIT_DONE;
}

/* What of a package is kept now. */
static void tell_entities(const struct apply *apply)
{
    const struct tr_graph *graph = apply->graph;
    tr_command_note(apply->invocation,
                    "%.*s/%.*s has the package's %u tasks, %u workflows and %u launch plans: %u of "
                    "them changed",
                    TRI_TEXT(graph->project), TRI_TEXT(graph->domain), apply->kinds[TR_ENTITY_TASK],
                    apply->kinds[TR_ENTITY_WORKFLOW], apply->kinds[TR_ENTITY_PLAN], apply->changed);
}

static enum tr_exit_status apply_file(struct apply *apply)
{
    char folder[PATH_MAX];
    tr_store_look(apply->invocation, folder);
    enum tr_exit_status status =
        tr_diagnostics_load_settings(apply->invocation, folder, &apply->settings);
    if (status == TR_EXIT_DONE) {
        status = compile_for_store(apply);
    }
    if (status == TR_EXIT_DONE) {
        status = offload(apply);
    }
    if (status == TR_EXIT_DONE) {
        status = reach_and_apply(apply);
    }
    if (status != TR_EXIT_DONE) {
        return status;
    }
    struct tr_applied_plan *applied = apply->applied.items;
    uint64_t now_ms = tr_clock_wall_ms();
    for (uint32_t i = 0; i < apply->applied.count; i++) {
        applied[i].next_ms = next_ms(apply->graph, applied[i].plan, now_ms);
    }
    if (apply->entities.size > 0) {
        tell_entities(apply);
    } else if (apply->applied.count == 0) {
        tr_command_note(apply->invocation, "%s has no launch plan with a schedule",
                        apply->invocation->arguments.words[0]);
    }
    return tr_applied_print(apply->invocation, apply->graph, applied, apply->applied.count);
}

/* ------------------------------------------------------------------------ the command */

static enum tr_exit_status list(const struct tr_invocation *invocation)
{
    if (tr_arguments_has(&invocation->arguments, "delete")) {
        return tr_command_mistake(invocation->command,
                                  "--delete needs FILE, which says what stays");
    }
    return tr_schedules_list(invocation);
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct apply apply = {.invocation = invocation};
    if (invocation->arguments.word_count == 0) {
        return list(invocation);
    }
    tr_arena_init(&apply.arena);
    tr_buffer_init(&apply.entities, TR_ENDPOINT_BYTES_MAX);
    enum tr_exit_status status = apply_file(&apply);
    tr_settings_fini(&apply.settings);
    tr_arena_fini(&apply.arena);
    tr_buffer_fini(&apply.entities);
    tr_graph_free(apply.graph);
    return status;
}

static const struct tr_option options[] = {
    {0, "delete", NULL, "forget what its project and domain have that FILE does not", NULL, 0,
     false},
    TR_PACKAGE_OPTIONS,
    TR_PACKAGE_RUN_OPTIONS,
    {0, "no-warm", NULL, "start each attempt of a package's tasks on its own", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_apply = {
    .name = "apply",
    .summary = "register launch plans and turn on their schedules",
    .words = "[FILE]",
    .text = "Schedules fire while `troupe serve` runs on the store; each execution is named\n"
            "PLAN-TIME, so that it starts once. Applying again replaces a plan, and what it has\n"
            "fired stays fired; a pause stays, too. Without FILE it shows what is registered.\n"
            "Of a package of Flyte's the tasks, workflows and launch plans are kept under their\n"
            "ids, for references in other packages: the same again changes nothing, and another\n"
            "content needs another --version.",
    .examples = "  troupe apply nightly.yaml\n"
                "  troupe apply nightly.yaml --delete\n"
                "  troupe apply flows.tgz --version v1\n"
                "  troupe apply -o json",
    .options = options,
    .outputs = "table|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_FILES,
    .words_max = 1,
    .run = run,
};
