/*
 * One workflow: its nodes laid out, its names looked up, and the steps of its compilation in order.
 *
 * The layout: start (node 0), then the nodes as written, each followed by the nodes of its arms and
 * theirs, then the end, then the handlers with their arms. Much rests on it: a branch and its arms
 * are one range of positions, what belongs to the graph lies before the end, and an arm lies behind
 * its branch.
 *
 * A workflow that calls or launches another one needs its outputs, so that one is compiled first:
 * a walk in depth, with a stack of its own, because a chain of launches may be as long as the
 * definition. `states` has each compiled once, however many call it, and shows a circle: a workflow
 * that is needed while it waits for those it needs itself.
 */
#include <stdlib.h>

#include "actors/graph/compiler/builder.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/language/keys.h"

/* How many nodes a body has in its arms, at any depth (TR_SWITCH_NESTING_MAX bounds it). */
static uint32_t count_arms(const struct tri_node *source)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < source->arm_count; i++) {
        if (source->arms[i].kind == TR_ARM_NODE) {
            count += 1 + count_arms(&source->arms[i].node);
        }
    }
    return count;
}

static uint32_t count_nodes(const struct tri_workflow *source)
{
    uint32_t count = 2 + source->node_count;
    for (uint32_t i = 0; i < source->node_count; i++) {
        count += count_arms(&source->nodes[i]);
    }
    count += source->on_failure == NULL ? 0 : 1 + count_arms(source->on_failure);
    count += source->finally == NULL ? 0 : 1 + count_arms(source->finally);
    return count;
}

static enum tr_node_kind kind_of(enum tri_body body)
{
    switch (body) {
    case TRI_BODY_TASK:
        return TR_NODE_TASK;
    case TRI_BODY_MAP:
        return TR_NODE_MAP;
    case TRI_BODY_WORKFLOW:
        return TR_NODE_WORKFLOW;
    case TRI_BODY_LAUNCH:
        return TR_NODE_LAUNCH;
    case TRI_BODY_DYNAMIC:
        return TR_NODE_DYNAMIC;
    case TRI_BODY_SWITCH:
        return TR_NODE_BRANCH;
    case TRI_BODY_APPROVE:
        return TR_NODE_APPROVE;
    case TRI_BODY_SIGNAL:
        return TR_NODE_SIGNAL;
    case TRI_BODY_SLEEP:
        return TR_NODE_SLEEP;
    }
    return TR_NODE_TASK;
}

/* The next node of the layout. */
static struct tr_node *begin_node(struct tri_builder *builder, enum tr_node_kind kind,
                                  struct tr_text id)
{
    struct tr_workflow *workflow = builder->workflow;
    uint32_t index = workflow->node_count++;
    struct tr_node *node = &workflow->nodes[index];
    node->kind = (uint8_t)kind;
    node->id = tr_arena_text(&builder->compiler->graph->arena, id);
    node->name = node->id;
    node->target = node->parent = node->errors_output = TR_GRAPH_NONE;
    builder->built[index].top = index;
    return node;
}

static struct tr_bytes pack_extra(struct tri_builder *builder, const struct tr_tree *extra)
{
    struct tri_compiler *compiler = builder->compiler;
    struct tr_literal_reader reader = {.report = compiler->report, .arena = compiler->scratch};
    struct tr_bytes packed = {.size = 0};
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    if (extra != NULL && tr_literal_read(&reader, NULL, extra, &buffer)) {
        packed = tr_arena_bytes(&compiler->graph->arena, tr_buffer_bytes(&buffer));
    }
    tr_buffer_fini(&buffer);
    return packed;
}

/* Lays out a body and, behind it, the nodes of its arms. */
static void add_node(struct tri_builder *builder, const struct tri_node *source, struct tr_text id,
                     uint32_t parent, enum tr_node_role role)
{
    struct tr_workflow *workflow = builder->workflow;
    uint32_t index = workflow->node_count;
    struct tr_node *node = begin_node(builder, kind_of(source->body), id);
    struct tri_built *built = &builder->built[index];
    node->name = source->name.size == 0 ? node->id : source->name;
    node->role = (uint8_t)role;
    node->is_optional = source->is_optional;
    node->deadline_ns = source->deadline_ns;
    node->parallelism = source->parallelism;
    node->min_successes = source->min_successes;
    node->min_success_ratio = source->min_success_ratio;
    node->runs_all = source->runs_all;
    node->extra = pack_extra(builder, source->extra);
    node->sleep_ns = source->sleep_ns;
    node->parent = parent;
    built->source = source;
    built->top = parent == TR_GRAPH_NONE ? index : builder->built[parent].top;
    built->arm_count = count_arms(source);
    for (uint32_t i = 0; i < source->arm_count; i++) {
        if (source->arms[i].kind == TR_ARM_NODE) {
            add_node(builder, &source->arms[i].node,
                     tr_arena_print(builder->compiler->scratch, "%.*s-n%u", TRI_TEXT(node->id), i),
                     index, role);
        }
    }
}

static bool lay_out(struct tri_builder *builder)
{
    const struct tri_workflow *source = builder->source;
    struct tr_workflow *workflow = builder->workflow;
    uint32_t count = count_nodes(source);
    if (count > TR_WORKFLOW_NODES_MAX) {
        tri_report_add(builder->compiler->report, source->name.place, "InvalidValue",
                       "the workflow has %u nodes, and %u are possible\n"
                       "use a map, or workflows inside it",
                       count, TR_WORKFLOW_NODES_MAX);
        return false;
    }
    workflow->nodes =
        tr_arena_array(&builder->compiler->graph->arena, count, sizeof *workflow->nodes);
    builder->built = tr_arena_array(builder->compiler->scratch, count, sizeof *builder->built);
    if (workflow->nodes == NULL || builder->built == NULL) {
        return false;
    }
    begin_node(builder, TR_NODE_START, tr_text_of("start-node"));
    for (uint32_t i = 0; i < source->node_count; i++) {
        add_node(builder, &source->nodes[i], source->nodes[i].id.text, TR_GRAPH_NONE,
                 TR_ROLE_GRAPH);
    }
    workflow->end = workflow->node_count;
    begin_node(builder, TR_NODE_END, tr_text_of("end-node"));
    if (source->on_failure != NULL) {
        workflow->on_failure = workflow->node_count;
        add_node(builder, source->on_failure, source->on_failure->id.text, TR_GRAPH_NONE,
                 TR_ROLE_ON_FAILURE);
    }
    if (source->finally != NULL) {
        workflow->finally = workflow->node_count;
        add_node(builder, source->finally, source->finally->id.text, TR_GRAPH_NONE,
                 TR_ROLE_FINALLY);
    }
    workflow->nodes[0].outputs = workflow->interface.inputs;
    return builder->compiler->graph->arena.error == 0;
}

static int compare_scopes(const void *left, const void *right)
{
    const struct tri_scope *a = left;
    const struct tri_scope *b = right;
    int order = tr_text_order(a->name.text, b->name.text);
    if (order != 0) {
        return order;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    return a->index < b->index ? -1 : 1;
}

/*
 * Keeps the first of each name: inputs before nodes, nodes before arms. The id of an arm is made by
 * us, so where it clashes the message is about the name that a person chose. In a document of
 * Flyte's inputs, nodes and arms have names of their own.
 */
static void drop_clashes(struct tri_builder *builder)
{
    uint32_t kept = 0;
    struct tri_scope *scope = builder->scope;
    for (uint32_t i = 0; i < builder->scope_count; i++) {
        bool is_other =
            kept == 0 || !tr_text_equal(scope[kept - 1].name.text, scope[i].name.text) ||
            (builder->definition->has_any_names && scope[kept - 1].kind != scope[i].kind);
        if (is_other) {
            scope[kept++] = scope[i];
            continue;
        }
        bool is_arm = scope[i].kind == TRI_SCOPE_ARM;
        tri_report_add(builder->compiler->report,
                       is_arm ? scope[kept - 1].name.place : scope[i].name.place, "DuplicateId",
                       "the name '%.*s' is taken by %s\nchoose another",
                       TRI_SHOWN(scope[i].name.text),
                       is_arm ? "an arm of a switch" : "an input of the workflow");
    }
    builder->scope_count = kept;
}

/* Inputs and nodes of a workflow share one set of names. */
static bool collect_scope(struct tri_builder *builder)
{
    const struct tr_workflow *workflow = builder->workflow;
    const struct tr_variables *inputs = &workflow->interface.inputs;
    size_t room = (size_t)inputs->count + workflow->node_count;
    builder->scope = tr_arena_array(builder->compiler->scratch, room, sizeof *builder->scope);
    if (builder->scope == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < inputs->count; i++) {
        builder->scope[builder->scope_count++] = (struct tri_scope){
            .name = {.text = inputs->items[i].name, .place = builder->source->input_places[i]},
            .kind = TRI_SCOPE_INPUT,
            .index = i};
    }
    for (uint32_t i = 1; i < workflow->end; i++) {
        bool is_arm = workflow->nodes[i].parent != TR_GRAPH_NONE;
        builder->scope[builder->scope_count++] = (struct tri_scope){
            .name = {.text = workflow->nodes[i].id, .place = builder->built[i].source->id.place},
            .kind = is_arm ? TRI_SCOPE_ARM : TRI_SCOPE_NODE,
            .index = i};
    }
    if (builder->scope_count > 1) {
        qsort(builder->scope, builder->scope_count, sizeof *builder->scope, compare_scopes);
    }
    drop_clashes(builder);
    return true;
}

static struct tr_text entity_name_at(const void *self, uint32_t position)
{
    const struct tri_definition *definition = self;
    return definition->entities[position].name.text;
}

static const char *noun_of(enum tri_entity_kind kind)
{
    return kind == TRI_ENTITY_TASK       ? "a task"
           : kind == TRI_ENTITY_WORKFLOW ? "a workflow"
                                         : "a launch plan";
}

/* Whether a body may call such an entity. */
static bool may_call(enum tri_body body, enum tri_entity_kind kind)
{
    switch (body) {
    case TRI_BODY_TASK:
    case TRI_BODY_DYNAMIC:
        return kind == TRI_ENTITY_TASK;
    case TRI_BODY_WORKFLOW:
        return kind == TRI_ENTITY_WORKFLOW;
    case TRI_BODY_LAUNCH:
        return kind != TRI_ENTITY_TASK;
    case TRI_BODY_MAP:
        return true;
    case TRI_BODY_SWITCH:
    case TRI_BODY_APPROVE:
    case TRI_BODY_SIGNAL:
    case TRI_BODY_SLEEP:
        break;
    }
    return false;
}

static void report_missing(struct tri_builder *builder, const struct tri_node *source,
                           const struct tri_entity *entity)
{
    bool is_task = source->body == TRI_BODY_TASK || source->body == TRI_BODY_DYNAMIC;
    const char *code = is_task ? "TaskReferenceNotFound" : "WorkflowReferenceNotFound";
    if (entity != NULL) {
        tri_report_add(builder->compiler->report, source->target.place, code,
                       "'%.*s' is %s\nuse the key that goes with it: task, workflow or launch",
                       TRI_SHOWN(source->target.text), noun_of(entity->kind));
        return;
    }
    struct tr_text nearest =
        tri_keys_nearest(builder->definition, source->target.text, entity_name_at,
                         builder->definition, builder->definition->entity_count);
    struct tr_text remedy = tri_keys_did_you_mean(builder->definition, nearest,
                                                  builder->definition->has_any_names
                                                      ? "put it into the package, too"
                                                      : "define it, or include its file");
    tri_report_add(builder->compiler->report, source->target.place, code,
                   "there is no %s '%.*s'\n%.*s",
                   is_task                           ? "task"
                   : source->body == TRI_BODY_MAP    ? "task, workflow or launch plan"
                   : source->body == TRI_BODY_LAUNCH ? "launch plan or workflow"
                                                     : "workflow",
                   TRI_SHOWN(source->target.text), TRI_TEXT(remedy));
}

/*
 * The interface of what a node calls; a plan's is made of its workflow's. NULL without memory, or
 * where the plan's workflow is unknown, which was told.
 */
static const struct tr_interface *interface_of(struct tri_builder *builder,
                                               const struct tr_node *node)
{
    struct tr_graph *graph = builder->compiler->graph;
    if (node->target_kind == TR_TARGET_TASK) {
        return &graph->tasks[node->target].interface;
    }
    if (node->target_kind == TR_TARGET_WORKFLOW) {
        return &graph->workflows[node->target].interface;
    }
    const struct tr_plan *plan = &graph->plans[node->target];
    struct tr_interface *interface = tr_arena_alloc(builder->compiler->scratch, sizeof *interface);
    if (interface == NULL || plan->workflow == TR_GRAPH_NONE) {
        return NULL;
    }
    interface->inputs = plan->inputs;
    interface->outputs = graph->workflows[plan->workflow].interface.outputs;
    return interface;
}

/* The workflow that runs where this is called or launched; TR_GRAPH_NONE: none is known. */
static uint32_t workflow_of(const struct tr_graph *graph, const struct tri_entity *entity)
{
    switch (entity->kind) {
    case TRI_ENTITY_TASK:
        break;
    case TRI_ENTITY_WORKFLOW:
        return entity->index;
    case TRI_ENTITY_PLAN:
        return graph->plans[entity->index].workflow;
    }
    return TR_GRAPH_NONE;
}

/*
 * A workflow inside this one, or started by it, was compiled before. False where the node calls
 * itself in a circle, or a plan of which no workflow is known; both were told. Launches count as a
 * circle, too, since they would start executions without end; but only workflows inside count for
 * `nesting`. Too much is told once, where the bound is passed, and not by each workflow around it.
 */
static bool check_needed(struct tri_builder *builder, const struct tr_node *node,
                         const struct tri_entity *entity)
{
    struct tri_compiler *compiler = builder->compiler;
    const struct tri_built *built = &builder->built[node - builder->workflow->nodes];
    struct tr_graph *graph = compiler->graph;
    uint32_t needed = workflow_of(graph, entity);
    if (needed == TR_GRAPH_NONE) {
        return entity->kind == TRI_ENTITY_TASK;
    }
    if (compiler->states[needed] == TRI_STATE_RUNNING) {
        tri_report_add(compiler->report, built->source->target.place, "CycleDetected",
                       "the workflow '%.*s' holds itself through this node\n"
                       "let a dynamic task decide how deep it goes",
                       TRI_SHOWN(graph->workflows[needed].name));
        return false;
    }
    bool is_inside = node->kind == TR_NODE_WORKFLOW ||
                     (node->kind == TR_NODE_MAP && node->target_kind == TR_TARGET_WORKFLOW);
    uint32_t nesting = is_inside ? graph->workflows[needed].nesting + 1 : 1;
    if (nesting > builder->workflow->nesting) {
        builder->workflow->nesting = nesting;
    }
    if (nesting == TR_WORKFLOW_NESTING_MAX + 1) {
        tri_report_add(compiler->report, built->source->target.place, "InvalidValue",
                       "workflows nest deeper than %u\nlaunch one of them instead",
                       TR_WORKFLOW_NESTING_MAX);
    }
    return true;
}

/*
 * What a name stands for. Flyte's are those of modules and functions, `flows.main.clean`: where a
 * document of Flyte's names what the definition around it has, that may be called `clean` alone.
 */
static const struct tri_entity *find_target(const struct tri_definition *definition,
                                            struct tr_text name)
{
    const struct tri_entity *entity = tri_definition_find(definition, name);
    size_t begin = name.size;
    while (begin > 0 && name.data[begin - 1] != '.') {
        begin--;
    }
    if (entity == NULL && definition->has_any_names && begin > 0) {
        name = (struct tr_text){.data = name.data + begin, .size = name.size - begin};
        entity = tri_definition_find(definition, name);
    }
    return entity;
}

/* Whether what a name stands for could not be read, which was told. */
static bool is_told(const struct tri_definition *definition, const struct tri_entity *entity)
{
    const struct tri_task *tasks = definition->tasks.items;
    const struct tri_workflow *workflows = definition->workflows.items;
    return (entity->kind == TRI_ENTITY_TASK && tasks[entity->index].is_told) ||
           (entity->kind == TRI_ENTITY_WORKFLOW && workflows[entity->index].is_told);
}

/*
 * Looks up what a node calls. A node whose target is wrong is broken: what it
 * gives is unknown, and references to it are not told as errors of their own. `target` of a gate is
 * no target but the id of its signal.
 */
static void resolve_target(struct tri_builder *builder, uint32_t index)
{
    static const uint8_t kinds[] = {[TRI_ENTITY_TASK] = TR_TARGET_TASK,
                                    [TRI_ENTITY_WORKFLOW] = TR_TARGET_WORKFLOW,
                                    [TRI_ENTITY_PLAN] = TR_TARGET_PLAN};
    struct tri_built *built = &builder->built[index];
    struct tr_node *node = &builder->workflow->nodes[index];
    const struct tri_node *source = built->source;
    struct tr_text before = tri_compile_begin_subject(builder, index);
    if (source->is_told) {
        built->is_broken = true;
    } else if (node->kind == TR_NODE_APPROVE || node->kind == TR_NODE_SIGNAL) {
        node->signal_id = tr_arena_text(&builder->compiler->graph->arena, source->target.text);
    } else if (source->target.text.size > 0) {
        const struct tri_entity *entity = find_target(builder->definition, source->target.text);
        if (entity == NULL || !may_call(source->body, entity->kind)) {
            report_missing(builder, source, entity);
        } else if (!is_told(builder->definition, entity)) {
            node->target = entity->index;
            node->target_kind = kinds[entity->kind];
            built->interface =
                check_needed(builder, node, entity) ? interface_of(builder, node) : NULL;
        }
        built->is_broken = built->interface == NULL;
    }
    (void)tri_report_subject(builder->compiler->report, before);
}

/* The vector's items; an empty one has a place, too, so that no code computes with NULL. */
static void *take_vector(struct tri_builder *builder, const struct tri_vector *vector)
{
    return vector->items != NULL ? vector->items
                                 : tr_arena_alloc(&builder->compiler->graph->arena, 0);
}

/* Gives the vectors to the workflow, which keeps them. */
static void take_vectors(struct tri_builder *builder)
{
    struct tr_workflow *workflow = builder->workflow;
    workflow->bindings = take_vector(builder, &builder->bindings);
    workflow->binding_count = builder->bindings.count;
    workflow->steps = take_vector(builder, &builder->steps);
    workflow->step_count = builder->steps.count;
    workflow->arms = take_vector(builder, &builder->arms);
    workflow->arm_count = builder->arms.count;
    workflow->conditions = take_vector(builder, &builder->conditions);
    workflow->condition_count = builder->conditions.count;
}

/*
 * The steps that builder.h describes. Nodes of arms are built by their branch, which has to bind
 * its conditions' values next to each other first; handlers come behind all others, and need only
 * the inputs.
 */
static void build(struct tri_builder *builder)
{
    struct tr_workflow *workflow = builder->workflow;
    workflow->nesting = 1;
    if (!lay_out(builder) || !collect_scope(builder)) {
        return;
    }
    for (uint32_t i = 1; i < workflow->node_count; i++) {
        if (builder->built[i].source != NULL) {
            resolve_target(builder, i);
        }
    }
    tri_compile_build_order(builder);
    for (uint32_t i = 0; i < workflow->order_count; i++) {
        uint32_t index = workflow->order[i];
        if (workflow->nodes[index].parent == TR_GRAPH_NONE) {
            tri_compile_build_node(builder, index);
        }
    }
    if (workflow->on_failure != TR_GRAPH_NONE) {
        tri_compile_build_node(builder, workflow->on_failure);
    }
    if (workflow->finally != TR_GRAPH_NONE) {
        tri_compile_build_node(builder, workflow->finally);
    }
    take_vectors(builder);
}

/* ------------------------------------------------------------------ those it needs first */

/* A workflow on its way: those that it needs, and how many of them were looked at. */
struct visit {
    uint32_t workflow;
    uint32_t looked_at;
    struct tri_vector needed; /* uint32_t */
};

/* Adds the workflow that a body calls or launches, and those of its arms. */
static void add_needed(struct tri_compiler *compiler, const struct tri_node *source,
                       struct tri_vector *needed)
{
    const struct tri_entity *entity =
        source->target.text.size == 0
            ? NULL
            : tri_definition_find(&compiler->definition, source->target.text);
    uint32_t workflow = entity == NULL || !may_call(source->body, entity->kind)
                            ? TR_GRAPH_NONE
                            : workflow_of(compiler->graph, entity);
    if (workflow != TR_GRAPH_NONE) {
        uint32_t *added = tri_vector_add(compiler->scratch, needed, sizeof *added);
        if (added != NULL) {
            *added = workflow;
        }
    }
    for (uint32_t i = 0; i < source->arm_count; i++) {
        if (source->arms[i].kind == TR_ARM_NODE) {
            add_needed(compiler, &source->arms[i].node, needed);
        }
    }
}

/* Puts a workflow on the stack, if nobody has come to it before. */
static void begin_visit(struct tri_compiler *compiler, struct tri_vector *stack, uint32_t index)
{
    const struct tri_workflow *sources = compiler->definition.workflows.items;
    const struct tri_workflow *source = &sources[index];
    struct visit visit = {.workflow = index};
    if (compiler->states[index] != TRI_STATE_NEW || compiler->graph->arena.error != 0) {
        return; /* without memory there may be no plans */
    }
    for (uint32_t i = 0; i < source->node_count; i++) {
        add_needed(compiler, &source->nodes[i], &visit.needed);
    }
    if (source->on_failure != NULL) {
        add_needed(compiler, source->on_failure, &visit.needed);
    }
    if (source->finally != NULL) {
        add_needed(compiler, source->finally, &visit.needed);
    }
    struct visit *top = tri_vector_add(compiler->scratch, stack, sizeof *top);
    if (top != NULL) {
        *top = visit;
        compiler->states[index] = TRI_STATE_RUNNING;
    }
}

static void compile_workflow(struct tri_compiler *compiler, uint32_t index)
{
    const struct tri_workflow *sources = compiler->definition.workflows.items;
    struct tri_builder builder = {.compiler = compiler,
                                  .definition = &compiler->definition,
                                  .source = &sources[index],
                                  .workflow = &compiler->graph->workflows[index]};
    struct tr_text before = tri_report_subject(compiler->report, sources[index].name.text);
    if (!sources[index].is_told) {
        build(&builder);
    }
    compiler->states[index] = TRI_STATE_DONE;
    (void)tri_report_subject(compiler->report, before);
}

/*
 * Each workflow behind those it needs. One that is needed and still on the stack closes a circle,
 * which the workflow that needs it tells (check_needed).
 */
void tri_compile_workflows(struct tri_compiler *compiler, uint32_t first)
{
    struct tri_vector stack = {0};
    for (uint32_t i = first; i < compiler->graph->workflow_count; i++) {
        begin_visit(compiler, &stack, i);
        while (stack.count > 0) {
            struct visit *top = (struct visit *)stack.items + stack.count - 1;
            if (top->looked_at < top->needed.count) {
                const uint32_t *needed = top->needed.items;
                begin_visit(compiler, &stack, needed[top->looked_at++]);
                continue;
            }
            compile_workflow(compiler, top->workflow);
            stack.count--;
        }
    }
}
