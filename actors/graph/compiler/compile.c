/*
 * The compiler's frame: a definition is read, its tasks, pools and plans take their places in the
 * graph, and each workflow is compiled once, after those it needs. (decide.c goes the same way from
 * a graph that is there already.)
 *
 * Passes, and what each leaves for the next:
 *
 *     definition (language/)   trees checked key by key; names in one set; no references yet
 *     pools, tasks             their places in the graph, so that they can be named by index
 *     workflow interfaces      names and inputs of all workflows, before any is compiled
 *     launch plans             fixed and default inputs, checked against those interfaces
 *     each workflow            nodes, bindings, branches, order (compile_workflow.c)
 *     sizes                    what nested workflows come to; only where nothing was reported
 *
 * An error is reported and the pass goes on, with a place left open, so that one run tells all
 * errors. Only a lack of memory ends it early.
 */
#include "actors/graph/compiler/fill.h"

#include <stdlib.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/builder.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/language/keys.h"
#include "runtime/memory.h"

/*
 * Pools are sorted by name, for find_pool and so that their order in files does not change the
 * graph's name. Of those with one name the first stays.
 */
static void compile_pools(struct tri_compiler *compiler)
{
    struct tri_vector *pools = &compiler->definition.pools;
    struct tri_pool *items = pools->items;
    struct tr_graph *graph = compiler->graph;
    graph->pools = tr_arena_array(&graph->arena, pools->count, sizeof *graph->pools);
    if (graph->pools == NULL) {
        return;
    }
    if (pools->count > 1) {
        qsort(items, pools->count, sizeof *items, tr_text_order_at);
    }
    for (uint32_t i = 0; i < pools->count; i++) {
        if (i > 0 && tr_text_equal(items[i - 1].name.text, items[i].name.text)) {
            tri_report_add(compiler->report, items[i].name.place, "DuplicateId",
                           "the pool '%.*s' is defined again\nkeep one of them",
                           TRI_SHOWN(items[i].name.text));
            continue;
        }
        graph->pools[graph->pool_count++] = items[i].pool;
    }
}

/* Tasks in the order of the definition: a task's index is its place there. */
void tri_compile_place_tasks(struct tri_compiler *compiler)
{
    struct tr_graph *graph = compiler->graph;
    struct tri_task *tasks = compiler->definition.tasks.items;
    uint32_t count = compiler->definition.tasks.count;
    graph->tasks = tr_arena_array(&graph->arena, count, sizeof *graph->tasks);
    graph->task_count = 0;
    for (uint32_t i = 0; graph->tasks != NULL && i < count; i++) {
        struct tr_text before = tri_report_subject(compiler->report, tasks[i].name.text);
        if (!tasks[i].is_told) {
            tri_compile_resolve_settings(compiler, &tasks[i].settings, &tasks[i].task.interface);
        }
        graph->tasks[i] = tasks[i].task;
        graph->tasks[i].settings = tasks[i].settings.settings;
        graph->task_count++;
        (void)tri_report_subject(compiler->report, before);
    }
}

/* Workflows get what is known before any is compiled: name and inputs. */
void tri_compile_place_workflows(struct tri_compiler *compiler)
{
    struct tr_graph *graph = compiler->graph;
    const struct tri_workflow *workflows = compiler->definition.workflows.items;
    const struct tr_workflow *compiled = graph->workflows;
    uint32_t count = compiler->definition.workflows.count;
    graph->workflows = tr_arena_array(&graph->arena, count, sizeof *graph->workflows);
    compiler->states = tr_arena_array(compiler->scratch, count, 1);
    if (graph->workflows == NULL || compiler->states == NULL) {
        return;
    }
    graph->workflow_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct tr_workflow *workflow = &graph->workflows[i];
        if (workflows[i].is_compiled) {
            *workflow = compiled[i];
            compiler->states[i] = TRI_STATE_DONE;
            continue;
        }
        workflow->name = tr_arena_text(&graph->arena, workflows[i].name.text);
        workflow->description = workflows[i].description;
        workflow->folder = workflows[i].folder;
        workflow->interface.inputs = workflows[i].inputs;
        workflow->policy = (uint8_t)workflows[i].policy;
        workflow->max_parallelism = workflows[i].max_parallelism;
        workflow->timeout_ns = workflows[i].timeout_ns;
        workflow->labels = workflows[i].labels;
        workflow->notifications = workflows[i].notifications;
        workflow->notification_count = workflows[i].notification_count;
        workflow->extra = workflows[i].extra;
        workflow->on_failure = workflow->finally = TR_GRAPH_NONE;
    }
}

/* The file's name without folders and endings: all of it up to the first point. */
static struct tr_text stem_of(struct tr_text path)
{
    struct tr_text folder = tri_definition_path_folder(path);
    size_t begin = folder.size == 0 ? 0 : folder.size;
    while (begin < path.size && path.data[begin] == '/') {
        begin++;
    }
    size_t end = begin;
    while (end < path.size && path.data[end] != '.') {
        end++;
    }
    return (struct tr_text){.data = path.data + begin, .size = end - begin};
}

/* The workflow that runs if none is named: the only one, `main`, or the one called as the file. */
static void choose_main(struct tr_graph *graph, struct tr_text path)
{
    graph->main_workflow = graph->workflow_count == 1 ? 0 : TR_GRAPH_NONE;
    if (graph->main_workflow == TR_GRAPH_NONE) {
        graph->main_workflow = tr_graph_find_workflow(graph, tr_text_of("main"));
    }
    if (graph->main_workflow == TR_GRAPH_NONE) {
        graph->main_workflow = tr_graph_find_workflow(graph, stem_of(path));
    }
}

/* The passes in their order; see the top of the file. */
static void compile_all(struct tri_compiler *compiler, const struct tri_compile_filler *filler,
                        struct tr_text path, struct tr_types *types)
{
    struct tr_graph *graph = compiler->graph;
    filler->fill(filler->self, &compiler->definition);
    tri_definition_collect(&compiler->definition);
    graph->project = compiler->definition.project;
    graph->domain = compiler->definition.domain;
    compile_pools(compiler);
    tri_compile_place_tasks(compiler);
    tri_compile_place_workflows(compiler);
    tri_compile_plans(compiler);
    tri_compile_workflows(compiler, 0);
    choose_main(graph, path);
    /* Last, since every pass may add types and the table moves when it grows. */
    graph->types = types->items;
    graph->type_count = types->count;
}

/* ------------------------------------------------------------------- sizes */

/*
 * How many nodes a workflow comes to, with all that runs inside it: a few lines that call each
 * other twice are more than any machine holds. Of a branch the largest arm counts, of a map one
 * element; how wide that is, and what dynamic tasks decide, is known when it runs
 * (actors/services/growth.h).
 */

/* One more than there may be stands for all that is too much, so that no sum can wrap. */
#define TOO_MANY (TR_EXPANDED_NODES_MAX + 1)

static uint64_t capped(uint64_t count)
{
    return count < TOO_MANY ? count : TOO_MANY;
}

static bool is_inside(const struct tr_node *node)
{
    return (node->kind == TR_NODE_WORKFLOW || node->kind == TR_NODE_MAP) &&
           node->target_kind == TR_TARGET_WORKFLOW;
}

/* Arms stand behind their branch, so that going backwards each is known before it is asked for. */
static uint64_t count_nodes(const struct tr_workflow *workflow, const uint64_t *inner,
                            uint64_t *arms)
{
    uint64_t total = 0;
    for (uint32_t i = workflow->node_count; i > 0; i--) {
        const struct tr_node *node = &workflow->nodes[i - 1];
        uint64_t own = capped(1 + arms[i - 1] + (is_inside(node) ? inner[node->target] : 0));
        if (node->parent == TR_GRAPH_NONE) {
            total = capped(total + own);
        } else if (own > arms[node->parent]) {
            arms[node->parent] = own;
        }
    }
    return total;
}

/*
 * Workflows inside come first; they nest no deeper than TR_WORKFLOW_NESTING_MAX, and in no circle,
 * since this runs only where no error was found. Each is measured once: a size of 0 means not yet,
 * as a start and an end make two at least. Only the innermost of workflows that are too large are
 * told.
 */
static void measure(struct tri_compiler *compiler, uint64_t *sizes, uint32_t index)
{
    const struct tr_workflow *workflow = &compiler->graph->workflows[index];
    bool was_told = false;
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        const struct tr_node *node = &workflow->nodes[i];
        if (is_inside(node) && sizes[node->target] == 0) {
            measure(compiler, sizes, node->target);
        }
        was_told = was_told || (is_inside(node) && sizes[node->target] == TOO_MANY);
    }
    uint64_t *arms = tr_arena_array(compiler->scratch, workflow->node_count + 1, sizeof *arms);
    if (arms == NULL) {
        return;
    }
    sizes[index] = count_nodes(workflow, sizes, arms);
    if (sizes[index] == TOO_MANY && !was_told) {
        const struct tri_workflow *sources = compiler->definition.workflows.items;
        struct tr_text before = tri_report_subject(compiler->report, workflow->name);
        tri_report_add(compiler->report, sources[index].name.place, "InvalidValue",
                       "the workflow comes to more than %u nodes, with those of workflows inside "
                       "it, wherever they are called\n"
                       "call them fewer times, or launch some of them",
                       TR_EXPANDED_NODES_MAX);
        (void)tri_report_subject(compiler->report, before);
    }
}

/* Tells of workflows that come to more than TR_EXPANDED_NODES_MAX nodes; all are compiled. */
static void check_sizes(struct tri_compiler *compiler)
{
    const struct tr_graph *graph = compiler->graph;
    uint64_t *sizes =
        tr_arena_array(compiler->scratch, graph->workflow_count + 1ULL, sizeof *sizes);
    for (uint32_t i = 0; sizes != NULL && i < graph->workflow_count; i++) {
        if (sizes[i] == 0) {
            measure(compiler, sizes, i);
        }
    }
}

/*
 * Sizes are looked at only without errors: a workflow that was left out would make them wrong. A
 * lack of memory comes before TR_INVALID, because the report of a compilation that was cut off may
 * miss errors or tell some that are none. The hash comes last, over all that the graph holds.
 */
int tri_compile_finish(struct tri_compiler *compiler)
{
    if (tr_report_total(compiler->report) == 0) {
        check_sizes(compiler);
    }
    int error = compiler->graph->arena.error;
    tr_report_finish(compiler->report);
    if (error == 0) {
        error = compiler->scratch->error;
    }
    if (error == 0) {
        error = compiler->report->arena.error;
    }
    if (error == 0 && tr_report_total(compiler->report) > 0) {
        error = TR_INVALID;
    }
    return error != 0 ? error : tr_graph_name(compiler->graph);
}

/*
 * The graph has an arena of its own, which ends with it; `scratch` holds trees, edges and marks,
 * several times as large, and ends here. What the graph keeps must not point into it.
 */
int tri_compile_filled(const struct tri_compile_filler *filler, struct tr_text path,
                       struct tr_report *report, struct tr_graph **graph_out)
{
    struct tr_graph *graph = tr_alloc_zero(1, sizeof *graph);
    struct tr_arena scratch;
    struct tr_types types;
    if (graph == NULL) {
        return TR_MEMORY;
    }
    tr_arena_init(&scratch);
    tr_arena_init(&graph->arena);
    tr_types_init(&types, &graph->arena);
    struct tri_compiler compiler = {
        .graph = graph,
        .scratch = &scratch,
        .report = report,
        .definition = {.arena = &graph->arena,
                       .scratch = &scratch,
                       .types = &types,
                       .report = report,
                       .nearest_left = TRI_NEAREST_COMPARISONS_MAX,
                       .project = tr_text_of(""),
                       .domain = tr_text_of(""),
                       .key = tr_text_of("")},
    };
    compile_all(&compiler, filler, path, &types);
    int error = tri_compile_finish(&compiler);
    tr_arena_fini(&scratch);
    if (error != 0) {
        tr_graph_free(graph);
        return error;
    }
    *graph_out = graph;
    return 0;
}

static void read_source(void *self, struct tri_definition *definition)
{
    tri_definition_read(definition, self);
}

int tr_graph_compile(const struct tr_definition_source *request, struct tr_report *report,
                     struct tr_graph **graph)
{
    const struct tri_compile_filler filler = {.fill = read_source,
                                              .self = (void *)(uintptr_t)request};
    return tri_compile_filled(&filler, request->path, report, graph);
}
