/*
 * Compiling what was registered: the entity is a package of one file, and all that it refers to is
 * looked up among what was applied.
 *
 * Entities never change under their ids, but they may be forgotten and applied anew. So each of
 * those that a graph was made of is looked at again before the graph is used again.
 */
#include "deploy/api_runs/startable.h"

#include <flyteidl/admin_launch_plan.pb-c.h>
#include <flyteidl/admin_task.pb-c.h>
#include <flyteidl/admin_workflow.pb-c.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/compile.h"
#include "actors/graph/flyte/flyte_message.h"
#include "actors/graph/import/import.h"
#include "deploy/graphs/graphs.h"
#include "deploy/history/entities.h"
#include "deploy/inputs/offload.h"
#include "deploy/inputs/runnable.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* What is told of a definition that cannot be run. */
#define PROBLEMS_BYTES_MAX 1500

/* Entities of which one graph is made that are looked at again. */
#define SEEN_MAX 256

/* Memory that one entity may take when it is taken apart. */
#define MEMORY_MAX (16ULL * TR_ENTITY_BYTES_MAX)

typedef Flyteidl__Core__Identifier identifier;
typedef Flyteidl__Admin__ExecutionSpec execution_spec;

struct seen {
    struct tr_entity id; /* the five fields of it, and when it was applied */
};

struct compiled {
    struct tr_arena arena; /* NULL texts until it is made */
    struct tr_graph *graph;
    struct tr_buffer row;
    uint32_t workflow;
    uint32_t plan;
    uint8_t kind;
    const identifier *id;
    const identifier *workflow_id;
    struct tri_vector seen;
    uint64_t asked;
};

struct tr_startables {
    struct compiled *places[TR_DESK_GRAPHS_MAX];
    struct compiled *once; /* with what a spec says: for one job */
    uint64_t asked;
};

/* Of one compilation. */
struct compiling {
    struct tr_desk_job *job;
    struct compiled *made;
    struct tr_report report;
};

int tr_startables_new(struct tr_startables **startables)
{
    struct tr_startables *made = tr_alloc_zero(1, sizeof *made);
    if (made == NULL) {
        return TR_MEMORY;
    }
    *startables = made;
    return 0;
}

static void compiled_free(struct compiled *compiled)
{
    if (compiled != NULL) {
        tr_graph_free(compiled->graph);
        tr_buffer_fini(&compiled->row);
        tr_arena_fini(&compiled->arena);
        tr_free(compiled);
    }
}

void tr_startables_free(struct tr_startables *startables)
{
    for (size_t i = 0; startables != NULL && i < TR_COUNT_OF(startables->places); i++) {
        compiled_free(startables->places[i]);
    }
    if (startables != NULL) {
        compiled_free(startables->once);
    }
    tr_free(startables);
}

/* ------------------------------------------------------------- entities */

static uint8_t kind_of(const identifier *id)
{
    return id->resource_type == FLYTEIDL__CORE__RESOURCE_TYPE__TASK       ? TR_ENTITY_TASK
           : id->resource_type == FLYTEIDL__CORE__RESOURCE_TYPE__WORKFLOW ? TR_ENTITY_WORKFLOW
                                                                          : TR_ENTITY_PLAN;
}

static struct tr_entity entity_of(uint8_t kind, const identifier *id)
{
    return (struct tr_entity){.project = tr_text_of(id->project),
                              .domain = tr_text_of(id->domain),
                              .kind = kind,
                              .name = tr_text_of(id->name),
                              .version = tr_text_of(id->version)};
}

/* Notes an entity that the graph is made of. */
static int note(struct compiling *compiling, const struct tr_entity *entity)
{
    struct compiled *made = compiling->made;
    struct seen *seen = tri_vector_add(&made->arena, &made->seen, sizeof *seen);
    if (seen == NULL) {
        return TR_MEMORY;
    }
    *seen = (struct seen){.id = {.project = tr_arena_text(&made->arena, entity->project),
                                 .domain = tr_arena_text(&made->arena, entity->domain),
                                 .kind = entity->kind,
                                 .name = tr_arena_text(&made->arena, entity->name),
                                 .version = tr_arena_text(&made->arena, entity->version),
                                 .applied_ms = entity->applied_ms}};
    return made->arena.error;
}

static int find(void *self, struct tr_arena *arena, struct tr_entity *entity)
{
    struct compiling *compiling = self;
    int error = tr_entities_find(compiling->job->reader, arena, entity);
    return error != 0 ? error : note(compiling, entity);
}

/* Whether all that a graph was made of is as it was. */
static int check_seen(struct tr_desk_job *job, const struct compiled *compiled, bool *is_same)
{
    const struct seen *seen = compiled->seen.items;
    struct tr_arena arena;
    int error = 0;
    tr_arena_init(&arena);
    *is_same = compiled->seen.count <= SEEN_MAX;
    for (uint32_t i = 0; error == 0 && *is_same && i < compiled->seen.count; i++) {
        struct tr_entity entity = seen[i].id;
        error = tr_entities_find(job->reader, &arena, &entity);
        *is_same = error == 0 && entity.applied_ms == seen[i].id.applied_ms;
        error = error == TR_NOT_FOUND ? 0 : error;
    }
    tr_arena_fini(&arena);
    return error;
}

/* ------------------------------------------------------------- what a spec says */

/* Variables, with those of the spec in the place of others of their names. */
static void set_variables(struct tr_graph *graph, const Flyteidl__Admin__Envs *envs,
                          const struct tr_environment **variables, uint32_t *variable_count)
{
    size_t most = *variable_count + envs->n_values;
    struct tr_environment *items = tr_arena_array(&graph->arena, most, sizeof *items);
    uint32_t count = 0;
    for (uint32_t i = 0; items != NULL && i < *variable_count; i++) {
        bool is_given = false;
        for (size_t k = 0; k < envs->n_values; k++) {
            is_given =
                is_given || tr_text_equal((*variables)[i].name, tr_text_of(envs->values[k]->key));
        }
        if (!is_given) {
            items[count++] = (*variables)[i];
        }
    }
    for (size_t k = 0; items != NULL && k < envs->n_values; k++) {
        items[count++] = (struct tr_environment){
            .name = tr_arena_text(&graph->arena, tr_text_of(envs->values[k]->key)),
            .value = tr_arena_text(&graph->arena, tr_text_of(envs->values[k]->value))};
    }
    *variables = items;
    *variable_count = items == NULL ? 0 : count;
}

static void set_settings(struct tr_graph *graph, const execution_spec *spec,
                         struct tr_settings *settings)
{
    if (spec->envs != NULL) {
        set_variables(graph, spec->envs, &settings->environment, &settings->environment_count);
    }
    if (spec->interruptible != NULL) {
        settings->is_interruptible = spec->interruptible->value != 0;
    }
}

/* A launch plan's settings win over those of tasks, and the spec's over them. */
static void set_run(struct tr_graph *graph, const execution_spec *spec, struct tr_run_settings *run)
{
    if (spec->envs != NULL) {
        set_variables(graph, spec->envs, &run->environment, &run->environment_count);
    }
    if (spec->interruptible != NULL) {
        run->interruptible = spec->interruptible->value != 0 ? TR_CHOICE_YES : TR_CHOICE_NO;
    }
    if (spec->max_parallelism > 0) {
        run->max_parallelism = (uint32_t)spec->max_parallelism;
    }
}

/* A node without overrides has its task's own settings, which are set once. */
static void set_nodes(struct tr_graph *graph, const execution_spec *spec,
                      struct tr_workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        struct tr_node *node = &workflow->nodes[i];
        bool is_own = node->settings != NULL && node->target_kind == TR_TARGET_TASK &&
                      node->settings != &graph->tasks[node->target].settings;
        struct tr_settings *copy = is_own ? tr_arena_alloc(&graph->arena, sizeof *copy) : NULL;
        if (copy != NULL) {
            *copy = *node->settings;
            set_settings(graph, spec, copy);
            node->settings = copy;
        }
    }
}

static bool says_something(const struct tr_startable_wish *wish)
{
    const execution_spec *spec = wish->spec;
    return (spec->envs != NULL && spec->envs->n_values > 0) || spec->interruptible != NULL ||
           spec->max_parallelism > 0 || strcmp(wish->project, wish->id->project) != 0 ||
           strcmp(wish->domain, wish->id->domain) != 0;
}

static int apply_wish(const struct tr_startable_wish *wish, struct compiled *made)
{
    struct tr_graph *graph = made->graph;
    const execution_spec *spec = wish->spec;
    if (!says_something(wish)) {
        return 0;
    }
    graph->project = tr_arena_text(&graph->arena, tr_text_of(wish->project));
    graph->domain = tr_arena_text(&graph->arena, tr_text_of(wish->domain));
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        set_nodes(graph, spec, &graph->workflows[i]);
    }
    for (uint32_t i = 0; i < graph->task_count; i++) {
        set_settings(graph, spec, &graph->tasks[i].settings);
    }
    if (made->plan != TR_GRAPH_NONE) {
        set_run(graph, spec, &graph->plans[made->plan].run);
    }
    if (spec->max_parallelism > 0) {
        graph->workflows[made->workflow].max_parallelism = (uint32_t)spec->max_parallelism;
    }
    return graph->arena.error;
}

/* ------------------------------------------------------------- compiling */

/* All that is wrong, for the client. */
static void tell_problems(struct compiling *compiling, const identifier *id)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_report_finish(&compiling->report);
    for (uint32_t i = 0; i < compiling->report.count && words.size < PROBLEMS_BYTES_MAX; i++) {
        tr_buffer_add_string(&words, i == 0 ? "" : "; ");
        tr_problem_print(&compiling->report.problems[i], &words);
    }
    tr_desk_fail(compiling->job, TR_API_FAILED_PRECONDITION, "%.200s cannot be run: %.*s", id->name,
                 (int)words.size, words.data == NULL ? "" : (const char *)words.data);
    tr_buffer_fini(&words);
}

/* Tasks and workflows lie in what registers them. */
static const ProtobufCMessage *wrap(struct tr_arena *arena, const struct tr_entity *entity)
{
    bool is_task = entity->kind == TR_ENTITY_TASK;
    Flyteidl__Admin__TaskSpec *task =
        tr_flyte_message_new(arena, &flyteidl__admin__task_spec__descriptor);
    Flyteidl__Admin__WorkflowSpec *workflow =
        tr_flyte_message_new(arena, &flyteidl__admin__workflow_spec__descriptor);
    void *inside = tr_flyte_message_unpack(arena,
                                           is_task ? &flyteidl__core__task_template__descriptor
                                                   : &flyteidl__core__workflow_template__descriptor,
                                           entity->message, MEMORY_MAX);
    if (task == NULL || workflow == NULL || inside == NULL) {
        arena->error = arena->error != 0 ? arena->error : TR_STORE_DAMAGED;
        return NULL;
    }
    task->template_ = is_task ? inside : NULL;
    workflow->template_ = is_task ? NULL : inside;
    return is_task ? &task->base : &workflow->base;
}

static struct tr_bytes file_of(struct tr_arena *arena, const struct tr_entity *entity)
{
    struct tr_buffer bytes;
    if (entity->kind == TR_ENTITY_PLAN) {
        return entity->message;
    }
    tr_buffer_init(&bytes, 0);
    const ProtobufCMessage *message = wrap(arena, entity);
    if (message != NULL) {
        tr_flyte_message_pack(message, &bytes);
    }
    struct tr_bytes kept = tr_arena_bytes(arena, tr_buffer_bytes(&bytes));
    arena->error = arena->error != 0 ? arena->error : bytes.error;
    tr_buffer_fini(&bytes);
    return kept;
}

static int import(struct compiling *compiling, const struct tr_entity *entity)
{
    struct compiled *made = compiling->made;
    struct tr_text name = tr_arena_print(&made->arena, "0_%u.pb", entity->kind);
    const struct tr_flyte_file file = {.name = name, .bytes = file_of(&made->arena, entity)};
    const struct tr_flyte_package package = {.files = &file,
                                             .file_count = 1,
                                             .project = entity->project,
                                             .domain = entity->domain,
                                             .version = entity->version,
                                             .path = entity->path,
                                             .python_path = entity->python_path,
                                             .warm = entity->warm,
                                             .is_kept = true,
                                             .has_code = true,
                                             .code = entity->code,
                                             .find = find,
                                             .self = compiling};
    const struct tr_import_place place = {.path = entity->name, .folder = tr_text_of("/")};
    return made->arena.error != 0
               ? made->arena.error
               : tr_import_package(&package, &place, &compiling->report, &made->graph);
}

/* What of the graph is started. */
static int choose(struct compiled *made, struct tr_text name)
{
    struct tr_graph *graph = made->graph;
    made->plan = made->kind == TR_ENTITY_PLAN ? tr_graph_find_plan(graph, name) : TR_GRAPH_NONE;
    if (made->plan != TR_GRAPH_NONE) {
        made->workflow = graph->plans[made->plan].workflow;
        return 0;
    }
    if (made->kind == TR_ENTITY_TASK) {
        uint32_t task = tr_graph_find_task(graph, name);
        return task == TR_GRAPH_NONE ? TR_MALFORMED
                                     : tr_graph_add_single_task(graph, task, &made->workflow);
    }
    made->workflow = tr_graph_find_workflow(graph, name);
    return made->workflow == TR_GRAPH_NONE ? TR_MALFORMED : 0;
}

/* Large values go to the store's blobs, as those of `apply` do. */
static int offload(struct compiling *compiling)
{
    char explain[TR_OFFLOAD_EXPLAIN_BYTES];
    struct tr_buffer none;
    tr_buffer_init(&none, 0);
    tr_buffer_array(&none, 0);
    int error =
        tr_offload(tr_desk_folder(compiling->job->desk), compiling->made->graph, &none, explain);
    tr_buffer_fini(&none);
    return error;
}

/* The workflow of a launch plan, or what is started itself. */
static int name_workflow(struct compiled *made, const struct tr_entity *entity)
{
    const Flyteidl__Admin__LaunchPlan *plan = NULL;
    made->workflow_id = made->id;
    if (made->kind == TR_ENTITY_PLAN) {
        plan = tr_flyte_message_unpack(&made->arena, &flyteidl__admin__launch_plan__descriptor,
                                       entity->message, MEMORY_MAX);
        if (plan == NULL || plan->spec == NULL || plan->spec->workflow_id == NULL) {
            return made->arena.error != 0 ? made->arena.error : TR_STORE_DAMAGED;
        }
        made->workflow_id = plan->spec->workflow_id;
    }
    return 0;
}

static int check_runnable(struct compiling *compiling)
{
    char name[256];
    const struct compiled *made = compiling->made;
    (void)snprintf(name, sizeof name, "%.200s", made->id->name);
    return tr_graph_check_runnable(made->graph, made->workflow,
                                   tr_desk_engine(compiling->job->desk), name, &compiling->report);
}

static int compile(struct compiling *compiling, const struct tr_startable_wish *wish,
                   const struct tr_entity *entity)
{
    struct compiled *made = compiling->made;
    int error = import(compiling, entity);
    if (error == 0) {
        error = choose(made, entity->name);
    }
    if (error == 0) {
        error = name_workflow(made, entity);
    }
    if (error == 0) {
        error = apply_wish(wish, made);
    }
    if (error == 0) {
        error = offload(compiling);
    }
    if (error == 0) {
        error = tr_graph_name(made->graph);
    }
    if (error == 0) {
        error = check_runnable(compiling);
    }
    return error != 0 ? error : tr_graphs_row(made->graph, &made->row);
}

/* An id that lives with what was compiled. */
static const identifier *keep_id(struct tr_arena *arena, const identifier *id)
{
    identifier *kept = tr_flyte_message_new(arena, &flyteidl__core__identifier__descriptor);
    if (kept != NULL) {
        *kept = *id;
        kept->project = (char *)(uintptr_t)tr_arena_text(arena, tr_text_of(id->project)).data;
        kept->domain = (char *)(uintptr_t)tr_arena_text(arena, tr_text_of(id->domain)).data;
        kept->name = (char *)(uintptr_t)tr_arena_text(arena, tr_text_of(id->name)).data;
        kept->version = (char *)(uintptr_t)tr_arena_text(arena, tr_text_of(id->version)).data;
    }
    return kept;
}

static void tell_unknown(struct tr_desk_job *job, uint8_t kind, const identifier *id)
{
    tr_desk_fail(job, TR_API_NOT_FOUND,
                 "there is no %s '%.200s' of version '%.200s' in project '%.100s', domain '%.100s'",
                 tr_entity_kind_word(kind), id->name, id->version, id->project, id->domain);
}

/* Compiles an id; NULL: the job has failed. */
static struct compiled *compile_id(struct tr_desk_job *job, const struct tr_startable_wish *wish)
{
    const identifier *id = wish->id;
    struct compiling compiling = {.job = job, .made = tr_alloc_zero(1, sizeof(struct compiled))};
    struct compiled *made = compiling.made;
    struct tr_entity entity = entity_of(kind_of(id), id);
    if (made == NULL) {
        (void)tr_desk_failed(job, TR_MEMORY);
        return NULL;
    }
    tr_arena_init(&made->arena);
    tr_buffer_init(&made->row, 0);
    tr_report_init(&compiling.report);
    made->kind = entity.kind;
    made->id = keep_id(&made->arena, id);
    int error = made->id == NULL ? TR_MEMORY : find(&compiling, &made->arena, &entity);
    if (error == TR_NOT_FOUND) {
        tell_unknown(job, entity.kind, id);
    } else if (error == 0) {
        error = compile(&compiling, wish, &entity);
        if (error == TR_INVALID) {
            tell_problems(&compiling, id);
        }
    }
    if (error != 0 && error != TR_NOT_FOUND && error != TR_INVALID) {
        (void)tr_desk_failed(job, error);
    }
    tr_report_fini(&compiling.report);
    if (error != 0) {
        compiled_free(made);
        return NULL;
    }
    return made;
}

/* ------------------------------------------------------------- what is kept */

static bool is_of(const struct compiled *compiled, const identifier *id)
{
    return compiled != NULL && compiled->kind == kind_of(id) &&
           strcmp(compiled->id->name, id->name) == 0 &&
           strcmp(compiled->id->version, id->version) == 0 &&
           strcmp(compiled->id->project, id->project) == 0 &&
           strcmp(compiled->id->domain, id->domain) == 0;
}

/* The place of an id, or the one that makes room. */
static struct compiled **place_of(struct tr_startables *startables, const identifier *id)
{
    struct compiled **oldest = &startables->places[0];
    for (size_t i = 0; i < TR_COUNT_OF(startables->places); i++) {
        struct compiled **place = &startables->places[i];
        if (is_of(*place, id)) {
            return place;
        }
        bool is_older = *oldest != NULL && (*place == NULL || (*place)->asked < (*oldest)->asked);
        oldest = is_older ? place : oldest;
    }
    return oldest;
}

static const struct compiled *get(struct tr_desk_job *job, const struct tr_startable_wish *wish)
{
    struct tr_startables *startables = job->startables;
    bool is_once = says_something(wish);
    struct compiled **place = is_once ? &startables->once : place_of(startables, wish->id);
    bool is_same = false;
    if (!is_once && is_of(*place, wish->id) &&
        tr_desk_failed(job, check_seen(job, *place, &is_same))) {
        return NULL;
    }
    if (!is_same) {
        struct compiled *made = compile_id(job, wish);
        if (made == NULL) {
            return NULL;
        }
        compiled_free(*place);
        *place = made;
    }
    (*place)->asked = ++startables->asked;
    return *place;
}

bool tr_startable_get(struct tr_desk_job *job, const struct tr_startable_wish *wish,
                      struct tr_startable *startable)
{
    const struct compiled *compiled = get(job, wish);
    if (compiled == NULL) {
        return false;
    }
    *startable = (struct tr_startable){.graph = compiled->graph,
                                       .packed = tr_buffer_bytes(&compiled->row),
                                       .workflow = compiled->workflow,
                                       .plan = compiled->plan,
                                       .workflow_id = compiled->workflow_id};
    return true;
}
