/*
 * A workflow of a package as Flyte's compiler leaves it, a CompiledWorkflowClosure: with its start
 * and end nodes, the arms of its branches among the nodes, its edges, and all that it needs.
 *
 * The messages of the package are changed in place: arms get the names of their branches in front,
 * references to inputs name the start node. Edges are collected as pairs and sorted, so that equal
 * workflows give equal bytes.
 *
 * Arms stand in `upstream` only, by what they are bound to. Nodes at the top come behind what they
 * are bound to and what they name; behind the start node, if that is nothing; and the end node
 * comes behind those that nobody comes behind.
 */
#include <flyteidl/compiler.pb-c.h>
#include <stdlib.h>

#include "actors/graph/flyte/flyte_entity.h"
#include "schemas/codec/error.h"

#define END_NODE TRI_FLYTE_END_NODE

typedef Flyteidl__Core__Node flyte_node;
typedef Flyteidl__Core__WorkflowTemplate workflow_template;
typedef Flyteidl__Core__Identifier identifier;
typedef Flyteidl__Core__BindingData binding_data;

/* One edge of a workflow. */
struct edge {
    const char *from;
    const char *to;
};

/* A closure that is being put together. */
struct closing {
    struct tr_arena *arena;
    const struct tri_flyte_entity *entities;
    uint32_t entity_count;
    struct tri_vector workflows; /* the workflow_template * that are needed, each once */
    struct tri_vector tasks;     /* TaskTemplate * */
    struct tri_vector plans;     /* LaunchPlan * */
    /* The workflow in hand. */
    struct tri_vector nodes; /* flyte_node * */
    struct tri_vector upstream;
    struct tri_vector downstream; /* struct edge */
};

/* ------------------------------------------------------------------ what is needed */

static const struct tri_flyte_entity *find(const struct closing *closing, enum tr_entity_kind kind,
                                           const identifier *id)
{
    for (uint32_t i = 0; id != NULL && i < closing->entity_count; i++) {
        const struct tri_flyte_entity *entity = &closing->entities[i];
        if (entity->kind == kind && tri_flyte_is_same(entity->id, id)) {
            return entity;
        }
    }
    return NULL;
}

/* Adds a message to those that are needed; false where it is there, or nobody has it. */
static bool need(struct closing *closing, struct tri_vector *needed, enum tr_entity_kind kind,
                 const identifier *id)
{
    const struct tri_flyte_entity *entity = find(closing, kind, id);
    void **items = needed->items;
    for (uint32_t i = 0; entity != NULL && i < needed->count; i++) {
        if (items[i] == entity->message) {
            return false;
        }
    }
    void **added = entity == NULL ? NULL : tri_vector_add(closing->arena, needed, sizeof(void *));
    if (added != NULL) {
        *added = entity->message;
    }
    return added != NULL;
}

static void need_workflow(struct closing *closing, const identifier *id);

static void need_node(struct closing *closing, const flyte_node *node);

static void need_branch(struct closing *closing, const Flyteidl__Core__IfElseBlock *block)
{
    if (block == NULL) {
        return;
    }
    need_node(closing, block->case_ == NULL ? NULL : block->case_->then_node);
    for (size_t i = 0; i < block->n_other; i++) {
        need_node(closing, block->other[i]->then_node);
    }
    if (block->default_case == FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ELSE_NODE) {
        need_node(closing, block->else_node);
    }
}

/* The recursion is that of messages, and of workflows that are each needed once. */
static void need_node(struct closing *closing, const flyte_node *node)
{
    if (node == NULL) {
        return;
    }
    if (node->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE) {
        (void)need(closing, &closing->tasks, TR_ENTITY_TASK, node->task_node->reference_id);
    } else if (node->target_case == FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE) {
        need_branch(closing, node->branch_node->if_else);
    } else if (node->target_case == FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE) {
        need_node(closing, node->array_node->node);
    } else if (node->target_case == FLYTEIDL__CORE__NODE__TARGET_WORKFLOW_NODE) {
        const Flyteidl__Core__WorkflowNode *target = node->workflow_node;
        if (target->reference_case == FLYTEIDL__CORE__WORKFLOW_NODE__REFERENCE_LAUNCHPLAN_REF) {
            (void)need(closing, &closing->plans, TR_ENTITY_PLAN, target->launchplan_ref);
        } else {
            need_workflow(closing, target->sub_workflow_ref);
        }
    }
}

static void need_workflow(struct closing *closing, const identifier *id)
{
    const struct tri_flyte_entity *entity = find(closing, TR_ENTITY_WORKFLOW, id);
    if (entity == NULL || !need(closing, &closing->workflows, TR_ENTITY_WORKFLOW, id)) {
        return;
    }
    const workflow_template *workflow = (const workflow_template *)entity->message;
    for (size_t i = 0; i < workflow->n_nodes; i++) {
        need_node(closing, workflow->nodes[i]);
    }
    need_node(closing, workflow->failure_node);
}

/* ------------------------------------------------------------------ nodes and edges */

static void add_edge(struct closing *closing, struct tri_vector *edges, const char *from,
                     const char *to)
{
    static const char start[] = TRI_FLYTE_START_NODE;
    struct edge *edge = tri_vector_add(closing->arena, edges, sizeof *edge);
    if (edge != NULL) {
        *edge = (struct edge){.from = from[0] == '\0' ? start : from, .to = to};
    }
}

static void add_edges(struct closing *closing, const char *from, const char *to, bool is_upstream)
{
    add_edge(closing, &closing->upstream, from, to);
    if (!is_upstream) {
        add_edge(closing, &closing->downstream, from, to);
    }
}

/* References to inputs of the workflow name the start node from now on. */
static void bind(struct closing *closing, binding_data *data, const char *to, bool is_upstream)
{
    static char start[] = TRI_FLYTE_START_NODE;
    if (data == NULL) {
        return;
    }
    if (data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE) {
        char **id = &data->promise->node_id;
        *id = (*id)[0] == '\0' ? start : *id;
        add_edges(closing, *id, to, is_upstream);
    } else if (data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_COLLECTION) {
        for (size_t i = 0; i < data->collection->n_bindings; i++) {
            bind(closing, data->collection->bindings[i], to, is_upstream);
        }
    } else if (data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_MAP) {
        for (size_t i = 0; i < data->map->n_bindings; i++) {
            bind(closing, data->map->bindings[i]->value, to, is_upstream);
        }
    }
}

static void bind_all(struct closing *closing, Flyteidl__Core__Binding *const *bindings,
                     size_t count, const char *to, bool is_upstream)
{
    for (size_t i = 0; i < count; i++) {
        bind(closing, bindings[i]->binding, to, is_upstream);
    }
}

static void add_node(struct closing *closing, flyte_node *node)
{
    flyte_node **added = tri_vector_add(closing->arena, &closing->nodes, sizeof(flyte_node *));
    if (added != NULL) {
        *added = node;
    }
}

/* The nodes of a branch's arms, in their order, in the arena. */
static flyte_node **arms_of(struct closing *closing, const flyte_node *branch, size_t *count)
{
    const Flyteidl__Core__IfElseBlock *block = branch->branch_node->if_else;
    size_t most = block == NULL ? 0 : 2 + block->n_other;
    flyte_node **arms = tr_arena_array(closing->arena, most, sizeof(flyte_node *));
    *count = 0;
    for (size_t i = 0; arms != NULL && i < most; i++) {
        const Flyteidl__Core__IfBlock *one = i == 0                ? block->case_
                                             : i <= block->n_other ? block->other[i - 1]
                                                                   : NULL;
        bool is_else = i + 1 == most &&
                       block->default_case == FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ELSE_NODE;
        flyte_node *node = one != NULL ? one->then_node : is_else ? block->else_node : NULL;
        if (node != NULL) {
            arms[(*count)++] = node;
        }
    }
    return arms;
}

static bool is_branch(const flyte_node *node)
{
    return node->target_case == FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE;
}

/* Arms are called as their branch and themselves; those of branches in them stand before them. */
static void add_arms(struct closing *closing, const flyte_node *branch)
{
    size_t count;
    flyte_node **arms = arms_of(closing, branch, &count);
    for (size_t i = 0; arms != NULL && i < count; i++) {
        struct tr_text id = tr_arena_print(closing->arena, "%s-%s", branch->id, arms[i]->id);
        arms[i]->id = (char *)(uintptr_t)id.data;
        if (closing->arena->error == 0 && is_branch(arms[i])) {
            add_arms(closing, arms[i]);
        }
    }
    for (size_t i = 0; arms != NULL && i < count && closing->arena->error == 0; i++) {
        add_node(closing, arms[i]);
        bind_all(closing, arms[i]->inputs, arms[i]->n_inputs, arms[i]->id, true);
    }
}

static bool has_edge(const struct tri_vector *edges, const char *id, bool is_to)
{
    const struct edge *items = edges->items;
    for (uint32_t i = 0; i < edges->count; i++) {
        if (strcmp(is_to ? items[i].to : items[i].from, id) == 0) {
            return true;
        }
    }
    return false;
}

/* Flyte's start and end node, which a template that was compiled before has already. */
static bool is_sentinel(const flyte_node *node)
{
    return strcmp(node->id, TRI_FLYTE_START_NODE) == 0 || strcmp(node->id, END_NODE) == 0;
}

static void add_top(struct closing *closing, flyte_node *node)
{
    if (is_sentinel(node)) {
        return;
    }
    add_node(closing, node);
    for (size_t i = 0; i < node->n_upstream_node_ids; i++) {
        add_edges(closing, node->upstream_node_ids[i], node->id, false);
    }
    bind_all(closing, node->inputs, node->n_inputs, node->id, false);
    if (is_branch(node)) {
        add_arms(closing, node);
    }
}

/* Whatever nobody comes before or behind. */
static void add_ends(struct closing *closing, const workflow_template *workflow)
{
    for (size_t i = 0; i < workflow->n_nodes; i++) {
        const char *id = workflow->nodes[i]->id;
        bool is_top = !is_sentinel(workflow->nodes[i]);
        if (is_top && !has_edge(&closing->upstream, id, true)) {
            add_edges(closing, TRI_FLYTE_START_NODE, id, false);
        }
        if (is_top && !has_edge(&closing->downstream, id, false)) {
            add_edges(closing, id, END_NODE, false);
        }
    }
}

/* ------------------------------------------------------------------ connections */

static int by_from(const void *left, const void *right)
{
    const struct edge *a = left;
    const struct edge *b = right;
    int order = strcmp(a->from, b->from);
    return order != 0 ? order : strcmp(a->to, b->to);
}

/* The edges that go in or out, with the near end as `from`, in order, each once. */
static uint32_t sort_edges(struct tri_vector *edges, bool is_upstream)
{
    struct edge *items = edges->items;
    uint32_t kept = 0;
    for (uint32_t i = 0; is_upstream && i < edges->count; i++) {
        items[i] = (struct edge){.from = items[i].to, .to = items[i].from};
    }
    if (edges->count > 1) {
        qsort(items, edges->count, sizeof *items, by_from);
    }
    for (uint32_t i = 0; i < edges->count; i++) {
        if (kept == 0 || by_from(&items[kept - 1], &items[i]) != 0) {
            items[kept++] = items[i];
        }
    }
    return kept;
}

/* How many edges from `at` on have the same near end. */
static uint32_t count_same(const struct edge *edges, uint32_t at, uint32_t count)
{
    uint32_t end = at;
    while (end < count && strcmp(edges[end].from, edges[at].from) == 0) {
        end++;
    }
    return end - at;
}

static Flyteidl__Core__ConnectionSet__IdList *ids_of(struct closing *closing,
                                                     const struct edge *edges, uint32_t count)
{
    Flyteidl__Core__ConnectionSet__IdList *list =
        tri_flyte_new(closing->arena, &flyteidl__core__connection_set__id_list__descriptor);
    char **ids = tr_arena_array(closing->arena, count, sizeof(char *));
    for (uint32_t i = 0; ids != NULL && i < count; i++) {
        ids[i] = (char *)(uintptr_t)edges[i].to;
    }
    if (list != NULL && ids != NULL) {
        list->n_ids = count;
        list->ids = ids;
    }
    return list;
}

/*
 * Entries of one of the two maps. Their messages have the same fields, so that those of `upstream`
 * serve for both: what is packed of an entry is told by the map's own descriptor.
 */
static Flyteidl__Core__ConnectionSet__UpstreamEntry **entries_of(struct closing *closing,
                                                                 struct tri_vector *edges,
                                                                 bool is_upstream, size_t *count)
{
    const ProtobufCMessageDescriptor *descriptor =
        is_upstream ? &flyteidl__core__connection_set__upstream_entry__descriptor
                    : &flyteidl__core__connection_set__downstream_entry__descriptor;
    uint32_t total = sort_edges(edges, is_upstream);
    const struct edge *items = edges->items;
    Flyteidl__Core__ConnectionSet__UpstreamEntry **entries =
        tr_arena_array(closing->arena, total, sizeof(void *));
    *count = 0;
    for (uint32_t at = 0; entries != NULL && at < total;) {
        uint32_t same = count_same(items, at, total);
        Flyteidl__Core__ConnectionSet__UpstreamEntry *entry =
            tri_flyte_new(closing->arena, descriptor);
        if (entry == NULL) {
            return NULL;
        }
        entry->key = (char *)(uintptr_t)items[at].from;
        entry->value = ids_of(closing, items + at, same);
        entries[(*count)++] = entry;
        at += same;
    }
    return entries;
}

static Flyteidl__Core__ConnectionSet *connections_of(struct closing *closing)
{
    Flyteidl__Core__ConnectionSet *set =
        tri_flyte_new(closing->arena, &flyteidl__core__connection_set__descriptor);
    size_t upstream;
    size_t downstream;
    Flyteidl__Core__ConnectionSet__UpstreamEntry **in =
        entries_of(closing, &closing->upstream, true, &upstream);
    Flyteidl__Core__ConnectionSet__UpstreamEntry **out =
        entries_of(closing, &closing->downstream, false, &downstream);
    if (set == NULL || in == NULL || out == NULL) {
        return NULL;
    }
    set->n_upstream = upstream;
    set->upstream = in;
    set->n_downstream = downstream;
    set->downstream = (Flyteidl__Core__ConnectionSet__DownstreamEntry **)(void *)out;
    return set;
}

/* ------------------------------------------------------------------ workflows */

static flyte_node *sentinel(struct closing *closing, const char *id)
{
    flyte_node *node = tri_flyte_new(closing->arena, &flyteidl__core__node__descriptor);
    if (node != NULL) {
        node->id = (char *)(uintptr_t)id;
    }
    return node;
}

/* A template with what the compiler adds. NULL without memory. */
static Flyteidl__Core__CompiledWorkflow *compile(struct closing *closing,
                                                 workflow_template *workflow)
{
    flyte_node *start = sentinel(closing, TRI_FLYTE_START_NODE);
    flyte_node *end = sentinel(closing, END_NODE);
    Flyteidl__Core__CompiledWorkflow *compiled =
        tri_flyte_new(closing->arena, &flyteidl__core__compiled_workflow__descriptor);
    closing->nodes = closing->upstream = closing->downstream = (struct tri_vector){0};
    if (start == NULL || end == NULL || compiled == NULL) {
        return NULL;
    }
    add_node(closing, start);
    add_node(closing, end);
    end->n_inputs = workflow->n_outputs;
    end->inputs = workflow->outputs;
    bind_all(closing, workflow->outputs, workflow->n_outputs, END_NODE, false);
    for (size_t i = 0; i < workflow->n_nodes; i++) {
        add_top(closing, workflow->nodes[i]);
    }
    if (workflow->failure_node != NULL) {
        flyte_node *handler = workflow->failure_node;
        bind_all(closing, handler->inputs, handler->n_inputs, handler->id, true);
    }
    add_ends(closing, workflow);
    workflow->n_nodes = closing->nodes.count;
    workflow->nodes = closing->nodes.items;
    compiled->template_ = workflow;
    compiled->connections = connections_of(closing);
    return closing->arena->error != 0 ? NULL : compiled;
}

static Flyteidl__Core__CompiledTask *compile_task(struct closing *closing,
                                                  Flyteidl__Core__TaskTemplate *task)
{
    Flyteidl__Core__CompiledTask *compiled =
        tri_flyte_new(closing->arena, &flyteidl__core__compiled_task__descriptor);
    if (compiled != NULL) {
        compiled->template_ = task;
    }
    return compiled;
}

static bool is_fixed(const Flyteidl__Core__LiteralMap *fixed, const char *name)
{
    for (size_t i = 0; fixed != NULL && i < fixed->n_literals; i++) {
        if (strcmp(fixed->literals[i]->key, name) == 0) {
            return true;
        }
    }
    return false;
}

/* What may be given to a plan: its parameters without those that are fixed. */
static Flyteidl__Core__VariableMap *inputs_of(struct closing *closing,
                                              const Flyteidl__Admin__LaunchPlanSpec *spec)
{
    const Flyteidl__Core__ParameterMap *parameters = spec->default_inputs;
    size_t most = parameters == NULL ? 0 : parameters->n_parameters;
    Flyteidl__Core__VariableMap *inputs =
        tri_flyte_new(closing->arena, &flyteidl__core__variable_map__descriptor);
    Flyteidl__Core__VariableMap__VariablesEntry **entries =
        tr_arena_array(closing->arena, most, sizeof(void *));
    for (size_t i = 0; inputs != NULL && entries != NULL && i < most; i++) {
        const Flyteidl__Core__ParameterMap__ParametersEntry *parameter = parameters->parameters[i];
        Flyteidl__Core__VariableMap__VariablesEntry *entry = tri_flyte_new(
            closing->arena, &flyteidl__core__variable_map__variables_entry__descriptor);
        if (entry == NULL || parameter->value == NULL ||
            is_fixed(spec->fixed_inputs, parameter->key)) {
            continue;
        }
        entry->key = parameter->key;
        entry->value = parameter->value->var;
        entries[inputs->n_variables++] = entry;
    }
    if (inputs != NULL) {
        inputs->variables = entries;
    }
    return inputs;
}

static Flyteidl__Core__CompiledLaunchPlan *compile_plan(struct closing *closing,
                                                        const Flyteidl__Admin__LaunchPlan *plan)
{
    const Flyteidl__Admin__LaunchPlanSpec *spec = plan->spec;
    Flyteidl__Core__CompiledLaunchPlan *compiled =
        tri_flyte_new(closing->arena, &flyteidl__core__compiled_launch_plan__descriptor);
    Flyteidl__Core__LaunchPlanTemplate *template =
        tri_flyte_new(closing->arena, &flyteidl__core__launch_plan_template__descriptor);
    Flyteidl__Core__TypedInterface *interface =
        tri_flyte_new(closing->arena, &flyteidl__core__typed_interface__descriptor);
    const struct tri_flyte_entity *started =
        spec == NULL ? NULL : find(closing, TR_ENTITY_WORKFLOW, spec->workflow_id);
    if (compiled == NULL || template == NULL || interface == NULL) {
        return NULL;
    }
    if (spec != NULL) {
        interface->inputs = inputs_of(closing, spec);
        template->fixed_inputs = spec->fixed_inputs;
    }
    if (started != NULL) {
        const workflow_template *workflow = (const workflow_template *)started->message;
        interface->outputs = workflow->interface == NULL ? NULL : workflow->interface->outputs;
    }
    template->id = plan->id;
    template->interface = interface;
    compiled->template_ = template;
    return compiled;
}

/* ------------------------------------------------------------------ the closure */

static int by_entity(const void *left, const void *right)
{
    const Flyteidl__Core__TaskTemplate *const *a = left;
    const Flyteidl__Core__TaskTemplate *const *b = right;
    return strcmp((*a)->id->name, (*b)->id->name);
}

/* The first of the workflows that are needed is the one that was asked for. */
static const Flyteidl__Core__CompiledWorkflowClosure *close_over(struct closing *closing)
{
    Flyteidl__Core__CompiledWorkflowClosure *closure =
        tri_flyte_new(closing->arena, &flyteidl__core__compiled_workflow_closure__descriptor);
    struct tri_vector workflows = closing->workflows;
    workflow_template **templates = workflows.items;
    Flyteidl__Core__TaskTemplate **tasks = closing->tasks.items;
    Flyteidl__Admin__LaunchPlan **plans = closing->plans.items;
    Flyteidl__Core__CompiledWorkflow **compiled =
        tr_arena_array(closing->arena, workflows.count, sizeof(void *));
    Flyteidl__Core__CompiledTask **compiled_tasks =
        tr_arena_array(closing->arena, closing->tasks.count, sizeof(void *));
    Flyteidl__Core__CompiledLaunchPlan **compiled_plans =
        tr_arena_array(closing->arena, closing->plans.count, sizeof(void *));
    if (closure == NULL || closing->arena->error != 0) {
        return NULL;
    }
    if (closing->tasks.count > 1) {
        qsort((void *)tasks, closing->tasks.count, sizeof(void *), by_entity);
    }
    for (uint32_t i = 0; i < workflows.count; i++) {
        compiled[i] = compile(closing, templates[i]);
    }
    for (uint32_t i = 0; i < closing->tasks.count; i++) {
        compiled_tasks[i] = compile_task(closing, tasks[i]);
    }
    for (uint32_t i = 0; i < closing->plans.count; i++) {
        compiled_plans[i] = compile_plan(closing, plans[i]);
    }
    closure->primary = compiled[0];
    closure->n_sub_workflows = workflows.count - 1;
    closure->sub_workflows = compiled + 1;
    closure->n_tasks = closing->tasks.count;
    closure->tasks = compiled_tasks;
    closure->n_launch_plans = closing->plans.count;
    closure->launch_plans = compiled_plans;
    return closing->arena->error != 0 ? NULL : closure;
}

static const identifier *find_name(const struct closing *closing, struct tr_text name)
{
    for (uint32_t i = 0; i < closing->entity_count; i++) {
        const struct tri_flyte_entity *entity = &closing->entities[i];
        if (entity->kind == TR_ENTITY_WORKFLOW &&
            tr_text_equal(tr_text_of(entity->id->name), name)) {
            return entity->id;
        }
    }
    return NULL;
}

int tr_flyte_closure(const struct tr_flyte_package *package, struct tr_text name,
                     struct tr_report *report, struct tr_buffer *buffer)
{
    struct tr_arena arena;
    struct tri_vector entities = {0};
    const Flyteidl__Core__CompiledWorkflowClosure *closure = NULL;
    tr_arena_init(&arena);
    bool is_fine = tri_flyte_entities(package, &arena, report, &entities);
    struct closing closing = {
        .arena = &arena, .entities = entities.items, .entity_count = entities.count};
    const identifier *id = is_fine ? find_name(&closing, name) : NULL;
    if (id != NULL) {
        need_workflow(&closing, id);
        closure = close_over(&closing);
    }
    int error = arena.error != 0 ? arena.error : !is_fine ? TR_INVALID : TR_NOT_FOUND;
    if (closure != NULL) {
        size_t size = protobuf_c_message_get_packed_size(&closure->base);
        uint8_t *packed = tr_arena_alloc(&arena, size + 1);
        if (packed != NULL) {
            tr_buffer_add(buffer, packed, protobuf_c_message_pack(&closure->base, packed));
        }
        error = arena.error != 0 ? arena.error : buffer->error;
    }
    tr_arena_fini(&arena);
    return error;
}
