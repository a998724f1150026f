/*
 * A graph of Flyte's as a document of the language: nodes become nodes, what they refer to becomes
 * references. Whether it is a good graph the compiler says, as of every document; here only what
 * cannot be written down at all is refused.
 *
 * Steps: futures.pb is unpacked into an arena, trees are built over it (tasks, workflows, nodes,
 * outputs), and the whole tree is written as text into the caller's buffer. The text is what the
 * dynamic task could have written itself, so it is compiled like one.
 *
 * Each task of Flyte's may decide a graph itself, so nodes of tasks are `dynamic` ones. In a
 * package they keep their names. In futures.pb their last parts get the depth of the graph and a
 * position at their end: the names of the graphs around are known inside, and must not clash. Equal
 * graphs give equal texts, because positions and not addresses or hashes make the names unique.
 */
#include "actors/graph/flyte/flyte_applied.h"

#include "actors/graph/document/limits.h"
#include "actors/graph/value/literal.h"
#include "schemas/codec/error.h"

#define START_NODE TRI_FLYTE_START_NODE
#define POLICY(name) FLYTEIDL__CORE__WORKFLOW_METADATA__ON_FAILURE_POLICY__##name
#define FINISH_RUNNABLE POLICY(FAIL_AFTER_EXECUTABLE_NODES_COMPLETE)

typedef Flyteidl__Core__Node flyte_node;

static struct tr_tree *node_of(struct tri_flyte_graph *graph, const flyte_node *node, bool is_arm);

/* ------------------------------------------------------------------ mappings */

static struct tr_tree *make(struct tri_flyte_graph *graph, enum tr_tree_kind kind)
{
    return tri_tree_new(graph->arena, kind, (struct tri_place){0});
}

/*
 * A value of NULL marks the mapping as failed, and building goes on: so all errors of a graph are
 * reported at once. The key is a view and has to live as long as the arena.
 */
void tri_flyte_put(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields, const char *key,
                   struct tr_tree *value)
{
    struct tr_pair *pair = tri_vector_add(graph->arena, &fields->pairs, sizeof *pair);
    struct tr_tree *name = tri_flyte_text(graph->arena, tr_text_of(key));
    if (pair == NULL || name == NULL || value == NULL) {
        fields->has_failed = true;
        return;
    }
    *pair = (struct tr_pair){.key = name, .value = value};
}

void tri_flyte_put_text(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                        const char *key, const char *value)
{
    tri_flyte_put(graph, fields, key, tri_flyte_text(graph->arena, tr_text_of(value)));
}

void tri_flyte_put_count(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                         const char *key, uint64_t value)
{
    struct tr_tree *tree = make(graph, TR_TREE_INT);
    if (tree != NULL) {
        tree->integer = (int64_t)value;
    }
    tri_flyte_put(graph, fields, key, tree);
}

void tri_flyte_put_bool(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                        const char *key, bool value)
{
    struct tr_tree *tree = make(graph, TR_TREE_BOOL);
    if (tree != NULL) {
        tree->boolean = value;
    }
    tri_flyte_put(graph, fields, key, tree);
}

/*
 * Leaves the key out for no duration and for one of zero: both mean no bound in Flyte. The message
 * is wrapped into a scalar on the stack, so that the one function that prints durations is used.
 */
void tri_flyte_put_duration(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                            const char *key, const Google__Protobuf__Duration *value)
{
    Flyteidl__Core__Primitive primitive = FLYTEIDL__CORE__PRIMITIVE__INIT;
    Flyteidl__Core__Scalar scalar = FLYTEIDL__CORE__SCALAR__INIT;
    Google__Protobuf__Duration duration = GOOGLE__PROTOBUF__DURATION__INIT;
    if (value == NULL || (value->seconds == 0 && value->nanos == 0)) {
        return;
    }
    duration.seconds = value->seconds;
    duration.nanos = value->nanos;
    primitive.value_case = FLYTEIDL__CORE__PRIMITIVE__VALUE_DURATION;
    primitive.duration = &duration;
    scalar.value_case = FLYTEIDL__CORE__SCALAR__VALUE_PRIMITIVE;
    scalar.primitive = &primitive;
    tri_flyte_put(graph, fields, key,
                  tri_flyte_scalar(graph->arena, graph->report, NULL, &scalar, NULL));
}

void tri_flyte_put_or_told(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                           const char *key, struct tr_tree *value)
{
    tri_flyte_put(graph, fields, key, value != NULL ? value : make(graph, TR_TREE_NULL));
}

struct tr_tree *tri_flyte_fields_tree(struct tri_flyte_graph *graph,
                                      const struct tri_flyte_fields *fields)
{
    return fields->has_failed ? NULL : tri_flyte_map(graph->arena, graph->report, &fields->pairs);
}

struct tr_tree *tri_flyte_list(struct tri_flyte_graph *graph, struct tr_tree **items, size_t count)
{
    struct tr_tree *list = make(graph, TR_TREE_LIST);
    if (list == NULL || items == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (items[i] == NULL) {
            return NULL;
        }
    }
    struct tri_vector vector = {.items = items, .count = (uint32_t)count};
    tri_tree_close_list(list, &vector);
    return list;
}

struct tr_tree *tri_flyte_missing(struct tri_flyte_graph *graph, const char *code,
                                  const char *words)
{
    tri_report_add(graph->report, (struct tri_place){0}, code, "%s", words);
    return NULL;
}

/* Begins to tell of a part of what is told of now: ENTITY.NODE, ENTITY.NODE.inputs.NAME. */
struct tr_text tri_flyte_begin(struct tri_flyte_graph *graph, const char *part, const char *name)
{
    struct tr_text whole = graph->report->subject;
    struct tr_text inner =
        whole.size == 0 ? tr_text_of(name)
                        : tr_arena_print(graph->arena, "%.*s.%s%s", TRI_TEXT(whole), part, name);
    return tri_report_subject(graph->report, inner);
}

struct tr_tree *tri_flyte_wrong(struct tri_flyte_graph *graph, const char *name, const char *words)
{
    struct tr_text before = tri_report_subject(graph->report, tr_text_of(name));
    (void)tri_flyte_refuse(graph->report, words);
    (void)tri_report_subject(graph->report, before);
    return NULL;
}

/* ------------------------------------------------------------------ names */

bool tri_flyte_is_same(const Flyteidl__Core__Identifier *a, const Flyteidl__Core__Identifier *b)
{
    return a != NULL && b != NULL && strcmp(a->name, b->name) == 0 &&
           strcmp(a->version, b->version) == 0 && strcmp(a->project, b->project) == 0 &&
           strcmp(a->domain, b->domain) == 0;
}

/*
 * The position of what an id names among what futures.pb brings along, tasks first, then workflows;
 * SIZE_MAX if it is not there. It looks at each task or workflow.
 */
static size_t position_of(const struct tri_flyte_graph *graph, const Flyteidl__Core__Identifier *id)
{
    bool is_task = id->resource_type == FLYTEIDL__CORE__RESOURCE_TYPE__TASK;
    bool is_workflow = id->resource_type == FLYTEIDL__CORE__RESOURCE_TYPE__WORKFLOW;
    for (size_t i = 0; is_task && i < graph->task_count; i++) {
        if (tri_flyte_is_same(graph->tasks[i]->id, id)) {
            return i;
        }
    }
    for (size_t i = 0; is_workflow && i < graph->workflow_count; i++) {
        if (tri_flyte_is_same(graph->workflows[i]->id, id)) {
            return graph->task_count + i;
        }
    }
    return SIZE_MAX;
}

/*
 * In a package the name of the id: one package is one project, one domain and one version; what
 * came with others has a longer one. Of what
 * futures.pb brings along it is LAST-DEPTH-POSITION, where LAST is what stands behind the last
 * point, cut to 40 bytes. What it does not bring along the definition has to have, under its name
 * or LAST alone (compiler/compile_workflow.c).
 */
struct tr_text tri_flyte_name_of(struct tri_flyte_graph *graph,
                                 const Flyteidl__Core__Identifier *id)
{
    const struct tr_entity *applied = tri_flyte_applied(graph, id);
    if (applied != NULL) {
        return tri_flyte_applied_name(graph, applied);
    }
    size_t position = graph->package != NULL ? SIZE_MAX : position_of(graph, id);
    const char *point = strrchr(id->name, '.');
    const char *last = point == NULL ? id->name : point + 1;
    return position == SIZE_MAX
               ? tr_text_of(id->name)
               : tr_arena_print(graph->arena, "%.40s-%u-%zu", last, graph->depth, position);
}

/* Puts the name of what a node runs under a key. */
static void put_target(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                       const char *key, enum tr_entity_kind kind,
                       const Flyteidl__Core__Identifier *id)
{
    struct tr_tree *name = NULL;
    if (id == NULL) {
        (void)tri_flyte_missing(graph, "ValueRequired",
                                "a node does not say what it runs\n"
                                "let it name a task, a workflow or a launch plan");
    } else if (tri_flyte_check_reference(graph, kind, id)) {
        name = tri_flyte_text(graph->arena, tri_flyte_name_of(graph, id));
    }
    tri_flyte_put(graph, fields, key, name);
}

/* ------------------------------------------------------------------ nodes by their kinds */

/*
 * Whether a task may decide a graph: any may in Flyte. One of flytekit's that lies in a package
 * does it only where it was given what it needs to serialize one.
 */
static bool may_decide(const struct tri_flyte_graph *graph, const Flyteidl__Core__Identifier *id)
{
    const Flyteidl__Core__TaskTemplate *task = NULL;
    for (size_t i = 0; graph->package != NULL && id != NULL && i < graph->task_count; i++) {
        task = tri_flyte_is_same(graph->tasks[i]->id, id) ? graph->tasks[i] : task;
    }
    bool is_flytekits = task != NULL && strcmp(task->type, "python-task") == 0;
    return !is_flytekits || tri_flyte_serializes(task);
}

/* Overrides of a node go beside its key, as in the language. */
static void put_task(struct tri_flyte_graph *graph, const flyte_node *node, const char *key,
                     struct tri_flyte_fields *fields)
{
    const Flyteidl__Core__TaskNode *task = node->task_node;
    put_target(graph, fields, key, TR_ENTITY_TASK, task->reference_id);
    if (task->overrides != NULL) {
        tri_flyte_put_resources(graph, fields, task->overrides->resources);
    }
}

static void put_workflow(struct tri_flyte_graph *graph, const flyte_node *node, bool is_map,
                         struct tri_flyte_fields *fields)
{
    const Flyteidl__Core__WorkflowNode *workflow = node->workflow_node;
    bool is_plan =
        workflow->reference_case == FLYTEIDL__CORE__WORKFLOW_NODE__REFERENCE_LAUNCHPLAN_REF;
    put_target(graph, fields,
               is_map    ? "map"
               : is_plan ? "launch"
                         : "workflow",
               is_plan ? TR_ENTITY_PLAN : TR_ENTITY_WORKFLOW,
               is_plan ? workflow->launchplan_ref : workflow->sub_workflow_ref);
}

/* What a map takes apart: everything that is not handed on whole. */
static void put_over(struct tri_flyte_graph *graph, const flyte_node *node,
                     struct tri_flyte_fields *fields)
{
    const Flyteidl__Core__ArrayNode *array = node->array_node;
    bool has_task =
        array->node != NULL && array->node->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
    const Flyteidl__Core__Identifier *element =
        has_task ? array->node->task_node->reference_id : NULL;
    struct tr_tree **names = tr_arena_array(graph->arena, node->n_inputs, sizeof(void *));
    size_t count = 0;
    for (size_t i = 0; names != NULL && i < node->n_inputs; i++) {
        bool is_bound = element != NULL && tri_flyte_is_whole(graph, element, node->inputs[i]->var);
        for (size_t k = 0; k < array->n_bound_inputs; k++) {
            is_bound = is_bound || strcmp(array->bound_inputs[k], node->inputs[i]->var) == 0;
        }
        if (!is_bound) {
            names[count++] = tri_flyte_text(graph->arena, tr_text_of(node->inputs[i]->var));
        }
    }
    tri_flyte_put(graph, fields, "over", tri_flyte_list(graph, names, count));
}

static void put_criterion(struct tri_flyte_graph *graph, const Flyteidl__Core__ArrayNode *array,
                          struct tri_flyte_fields *fields)
{
    struct tr_tree *ratio = make(graph, TR_TREE_FLOAT);
    if (array->success_criteria_case ==
        FLYTEIDL__CORE__ARRAY_NODE__SUCCESS_CRITERIA_MIN_SUCCESSES) {
        tri_flyte_put_count(graph, fields, "min_successes", array->min_successes);
    }
    if (ratio != NULL && array->success_criteria_case ==
                             FLYTEIDL__CORE__ARRAY_NODE__SUCCESS_CRITERIA_MIN_SUCCESS_RATIO) {
        ratio->number = (double)array->min_success_ratio;
        tri_flyte_put(graph, fields, "min_success_ratio", ratio);
    }
}

/*
 * An ArrayNode holds the node that runs for each element. Its inputs are bound at the outer node,
 * so of the inner one only its target and its metadata count.
 */
static void put_map(struct tri_flyte_graph *graph, const flyte_node *node,
                    struct tri_flyte_fields *fields)
{
    const Flyteidl__Core__ArrayNode *array = node->array_node;
    const flyte_node *element = array->node;
    if (element != NULL && element->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE) {
        put_task(graph, element, "map", fields);
    } else if (element != NULL &&
               element->target_case == FLYTEIDL__CORE__NODE__TARGET_WORKFLOW_NODE) {
        put_workflow(graph, element, true, fields);
    } else {
        tri_flyte_put(graph, fields, "map",
                      tri_flyte_missing(graph, "ValueRequired",
                                        "a map runs neither a task nor a workflow\n"
                                        "let the map run a task, a workflow or a launch plan"));
    }
    if (array->parallelism > 0) {
        tri_flyte_put_count(graph, fields, "parallelism", array->parallelism);
    }
    if (array->run_all_sub_nodes) {
        tri_flyte_put_bool(graph, fields, "run_all", true);
    }
    put_over(graph, node, fields);
    put_criterion(graph, array, fields);
}

static void put_gate(struct tri_flyte_graph *graph, const flyte_node *node,
                     struct tri_flyte_fields *fields)
{
    const Flyteidl__Core__GateNode *gate = node->gate_node;
    switch (gate->condition_case) {
    case FLYTEIDL__CORE__GATE_NODE__CONDITION_APPROVE:
        tri_flyte_put_text(graph, fields, "approve", gate->approve->signal_id);
        break;
    case FLYTEIDL__CORE__GATE_NODE__CONDITION_SIGNAL:
        tri_flyte_put_text(graph, fields, "signal", gate->signal->signal_id);
        tri_flyte_put(graph, fields, "type", tri_flyte_type(graph, gate->signal->type));
        break;
    case FLYTEIDL__CORE__GATE_NODE__CONDITION_SLEEP:
        tri_flyte_put_duration(graph, fields, "sleep", gate->sleep->duration);
        break;
    default:
        tri_flyte_put(graph, fields, "approve",
                      tri_flyte_missing(graph, "NoConditionFound",
                                        "a gate does not say what it waits for\n"
                                        "let it approve, wait for a signal, or sleep"));
        break;
    }
}

/* ------------------------------------------------------------------ branches */

/*
 * An arm: `when` and the keys of its node in one mapping. The condition's variables are inputs of
 * the branch, which has no `with` in the language: they are replaced by what they are bound to.
 */
static struct tr_tree *arm_of(struct tri_flyte_graph *graph, const flyte_node *branch,
                              const Flyteidl__Core__IfBlock *block)
{
    if (block == NULL || block->then_node == NULL) {
        return tri_flyte_missing(graph, "BranchNodeIdNotFound",
                                 "an arm of a branch has no node\ngive each arm a node");
    }
    struct tr_tree *arm = node_of(graph, block->then_node, true);
    struct tr_tree *when = tri_flyte_condition(graph, branch, block->condition);
    struct tri_flyte_fields fields = {0};
    tri_flyte_put(graph, &fields, "when", when);
    for (uint32_t i = 0; arm != NULL && i < arm->count; i++) {
        struct tr_pair *pair = tri_vector_add(graph->arena, &fields.pairs, sizeof *pair);
        if (pair != NULL) {
            *pair = arm->pairs[i];
        }
    }
    return arm == NULL ? NULL : tri_flyte_fields_tree(graph, &fields);
}

static struct tr_tree *last_arm_of(struct tri_flyte_graph *graph,
                                   const Flyteidl__Core__IfElseBlock *block)
{
    struct tri_flyte_fields fields = {0};
    if (block->default_case == FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ELSE_NODE) {
        tri_flyte_put(graph, &fields, "else", node_of(graph, block->else_node, true));
    } else if (block->default_case == FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ERROR) {
        struct tr_text message = tr_text_of(block->error->message);
        tri_flyte_put(graph, &fields, "fail",
                      tri_flyte_text(graph->arena, tri_flyte_escape(graph->arena, message, false)));
    } else {
        return NULL; /* the compiler misses it */
    }
    return tri_flyte_fields_tree(graph, &fields);
}

static void put_branch(struct tri_flyte_graph *graph, const flyte_node *node,
                       struct tri_flyte_fields *fields)
{
    const Flyteidl__Core__IfElseBlock *block = node->branch_node->if_else;
    if (block == NULL) {
        tri_flyte_put(graph, fields, "switch",
                      tri_flyte_missing(graph, "BranchNodeIdNotFound",
                                        "a branch has no arms\ngive the branch an arm"));
        return;
    }
    /*
     * A branch without a default is written without one, and the reader of switches reports that it
     * is missing.
     */
    bool has_last = block->default_case != FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT__NOT_SET;
    size_t count = 1 + block->n_other + (has_last ? 1 : 0);
    struct tr_tree **arms = tr_arena_array(graph->arena, count, sizeof(struct tr_tree *));
    for (size_t i = 0; arms != NULL && i < count; i++) {
        arms[i] = i == 0                ? arm_of(graph, node, block->case_)
                  : i <= block->n_other ? arm_of(graph, node, block->other[i - 1])
                                        : last_arm_of(graph, block);
    }
    tri_flyte_put(graph, fields, "switch", tri_flyte_list(graph, arms, count));
}

/* ------------------------------------------------------------------ what all nodes have */

static bool is_tasks(const flyte_node *node)
{
    return node->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE ||
           node->target_case == FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE;
}

/* The task that a node runs; NULL: it runs none, or one that is not brought along. */
static const Flyteidl__Core__TaskTemplate *task_of(const struct tri_flyte_graph *graph,
                                                   const flyte_node *node)
{
    return node->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE
               ? tri_flyte_find_task(graph, node->task_node->reference_id)
               : NULL;
}

/*
 * A node's say over its task's cache: each part that it gives counts, the others are the task's.
 * Nothing is written where that comes to what the task says itself.
 */
static void put_cache(struct tri_flyte_graph *graph, const Flyteidl__Core__NodeMetadata *node,
                      const Flyteidl__Core__TaskTemplate *given, struct tri_flyte_fields *fields)
{
    Flyteidl__Core__TaskMetadata none;
    const Flyteidl__Core__TaskMetadata *task =
        given == NULL || given->metadata == NULL ? &none : given->metadata;
    flyteidl__core__task_metadata__init(&none);
    bool has_cacheable =
        node->cacheable_value_case == FLYTEIDL__CORE__NODE_METADATA__CACHEABLE_VALUE_CACHEABLE;
    bool has_version = node->cache_version_value_case ==
                           FLYTEIDL__CORE__NODE_METADATA__CACHE_VERSION_VALUE_CACHE_VERSION &&
                       node->cache_version[0] != '\0';
    bool has_serializable =
        node->cache_serializable_value_case ==
        FLYTEIDL__CORE__NODE_METADATA__CACHE_SERIALIZABLE_VALUE_CACHE_SERIALIZABLE;
    bool is_cached = has_cacheable ? node->cacheable : task->discoverable;
    bool is_serialized = has_serializable ? node->cache_serializable : task->cache_serializable;
    const char *version = has_version ? node->cache_version : task->discovery_version;
    bool is_same = is_cached == task->discoverable &&
                   (!is_cached || (is_serialized == task->cache_serializable &&
                                   strcmp(version, task->discovery_version) == 0));
    if (is_same || (is_cached && version[0] == '\0')) {
        return;
    }
    if (!is_cached) {
        tri_flyte_put_bool(graph, fields, "cache", false);
        return;
    }
    tri_flyte_put(graph, fields, "cache", tri_flyte_cache(graph, given, version, is_serialized));
}

/* By the node, else by its task, else, of a task, by the workflow. */
static void put_interruptible(struct tri_flyte_graph *graph, const flyte_node *one,
                              struct tri_flyte_fields *fields)
{
    const Flyteidl__Core__NodeMetadata *node = one->metadata;
    const Flyteidl__Core__TaskTemplate *run = task_of(graph, one);
    const Flyteidl__Core__TaskMetadata *task = run == NULL ? NULL : run->metadata;
    bool is_task = one->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
    bool has_own =
        node != NULL && node->interruptible_value_case ==
                            FLYTEIDL__CORE__NODE_METADATA__INTERRUPTIBLE_VALUE_INTERRUPTIBLE;
    bool has_tasks =
        task != NULL && task->interruptible_value_case ==
                            FLYTEIDL__CORE__TASK_METADATA__INTERRUPTIBLE_VALUE_INTERRUPTIBLE;
    if (has_own) {
        tri_flyte_put_bool(graph, fields, "interruptible", node->interruptible);
    } else if (is_task && !has_tasks && graph->is_interruptible) {
        tri_flyte_put_bool(graph, fields, "interruptible", true);
    }
}

/*
 * Name and deadline are the node's own; of a map all else is that of its elements' node. A timeout
 * of a task bounds each attempt; a map and a node that runs no task have no attempts of their own,
 * and there it is a deadline.
 */
static void put_metadata(struct tri_flyte_graph *graph, const flyte_node *node,
                         struct tri_flyte_fields *fields)
{
    const Flyteidl__Core__NodeMetadata *metadata = node->metadata;
    bool is_map = node->target_case == FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE;
    if (metadata != NULL && metadata->name[0] != '\0') {
        tri_flyte_put_text(graph, fields, "name", metadata->name);
    }
    if (metadata != NULL && (is_map || !is_tasks(node))) {
        tri_flyte_put_duration(graph, fields, "deadline", metadata->timeout);
    }
    const flyte_node *one =
        is_map && node->array_node->node != NULL ? node->array_node->node : node;
    metadata = one->metadata;
    if (!is_tasks(node)) {
        return;
    }
    put_interruptible(graph, one, fields);
    if (metadata == NULL) {
        return;
    }
    tri_flyte_put_duration(graph, fields, "timeout", metadata->timeout);
    if (metadata->retries != NULL && metadata->retries->retries > 0) {
        tri_flyte_put_count(graph, fields, "retries", metadata->retries->retries);
    }
    put_cache(graph, metadata, task_of(graph, one), fields);
}

/*
 * Nodes that it waits for. Flyte lists those of its inputs as well, which does no harm: an order
 * that is given twice is the same order. The start node and repeated names are left out.
 */
static void put_after(struct tri_flyte_graph *graph, const flyte_node *node,
                      struct tri_flyte_fields *fields)
{
    size_t most = node->n_upstream_node_ids;
    struct tr_tree **names = tr_arena_array(graph->arena, most, sizeof(struct tr_tree *));
    size_t count = 0;
    for (size_t i = 0; names != NULL && i < most; i++) {
        const char *id = node->upstream_node_ids[i];
        bool is_known = id[0] == '\0' || strcmp(id, START_NODE) == 0;
        for (size_t k = 0; k < i && !is_known; k++) {
            is_known = strcmp(node->upstream_node_ids[k], id) == 0;
        }
        if (!is_known) {
            names[count++] = tri_flyte_text(graph->arena, tr_text_of(id));
        }
    }
    if (count > 0) {
        tri_flyte_put(graph, fields, "after", tri_flyte_list(graph, names, count));
    }
}

static bool is_empty(const ProtobufCMessage *message)
{
    return message == NULL || protobuf_c_message_get_packed_size(message) == 0;
}

/* What a node says that nobody acts on, beside its place in the graph. */
struct extra {
    flyte_node node;
    Flyteidl__Core__NodeMetadata metadata;
    Flyteidl__Core__TaskNode task;
};

static void take_extra(const flyte_node *node, struct extra *extra)
{
    flyteidl__core__node__init(&extra->node);
    flyteidl__core__node_metadata__init(&extra->metadata);
    flyteidl__core__task_node__init(&extra->task);
    if (node->metadata != NULL && node->metadata->n_config > 0) {
        extra->metadata.n_config = node->metadata->n_config;
        extra->metadata.config = node->metadata->config;
        extra->node.metadata = &extra->metadata;
    }
    bool has_overrides = node->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE &&
                         node->task_node->overrides != NULL &&
                         !is_empty(&node->task_node->overrides->base);
    if (has_overrides) {
        extra->task.overrides = node->task_node->overrides;
        extra->node.target_case = FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
        extra->node.task_node = &extra->task;
    }
}

/* Of a map also how it keeps its elements, that it has no bound, and what its element says. */
static void take_array_extra(const Flyteidl__Core__ArrayNode *array, struct extra *element,
                             Flyteidl__Core__ArrayNode *extra)
{
    flyteidl__core__array_node__init(extra);
    extra->execution_mode = array->execution_mode;
    extra->data_mode = array->data_mode;
    if (array->parallelism == 0) {
        extra->parallelism_option_case = array->parallelism_option_case;
    }
    if (array->node != NULL) {
        take_extra(array->node, element);
        extra->node = is_empty(&element->node.base) ? NULL : &element->node;
    }
}

/* As a node of Flyte's that says no more than this. */
static void put_extra(struct tri_flyte_graph *graph, const flyte_node *node,
                      struct tri_flyte_fields *fields)
{
    struct extra extra;
    struct extra element;
    Flyteidl__Core__ArrayNode array;
    take_extra(node, &extra);
    if (node->target_case == FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE) {
        take_array_extra(node->array_node, &element, &array);
        if (!is_empty(&array.base)) {
            extra.node.target_case = FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE;
            extra.node.array_node = &array;
        }
    }
    if (!is_empty(&extra.node.base)) {
        tri_flyte_put(graph, fields, "extra",
                      tri_flyte_json(graph->arena, &extra.node.base, TRI_FLYTE_JSON_WHOLE));
    }
}

static void put_body(struct tri_flyte_graph *graph, const flyte_node *node,
                     struct tri_flyte_fields *fields)
{
    switch (node->target_case) {
    case FLYTEIDL__CORE__NODE__TARGET_TASK_NODE:
        put_task(graph, node, may_decide(graph, node->task_node->reference_id) ? "dynamic" : "task",
                 fields);
        break;
    case FLYTEIDL__CORE__NODE__TARGET_WORKFLOW_NODE:
        put_workflow(graph, node, false, fields);
        break;
    case FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE:
        put_branch(graph, node, fields);
        break;
    case FLYTEIDL__CORE__NODE__TARGET_GATE_NODE:
        put_gate(graph, node, fields);
        break;
    case FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE:
        put_map(graph, node, fields);
        break;
    default:
        tri_flyte_put(graph, fields, "task",
                      tri_flyte_missing(graph, "ValueRequired",
                                        "the node is of a kind that is not known\n"
                                        "let it be a task, a workflow, a branch, a gate or a map"));
        break;
    }
}

/*
 * A node, whose errors are told with its id. Arms and handlers have no `after`: the one waits for
 * its switch, the other for all nodes.
 */
static struct tr_tree *node_of(struct tri_flyte_graph *graph, const flyte_node *node, bool is_arm)
{
    struct tri_flyte_fields fields = {0};
    struct tr_text before = tri_flyte_begin(graph, "", node->id);
    bool has_inputs =
        node->n_inputs > 0 && node->target_case != FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE;
    put_body(graph, node, &fields);
    if (has_inputs) {
        tri_flyte_put(graph, &fields, "with", tri_flyte_bindings(graph, node));
    }
    put_metadata(graph, node, &fields);
    put_extra(graph, node, &fields);
    if (!is_arm) {
        put_after(graph, node, &fields);
    }
    (void)tri_report_subject(graph->report, before);
    return tri_flyte_fields_tree(graph, &fields);
}

/*
 * Sets the nodes among which references are looked up. They stay set for the outputs and the
 * handler of the same workflow, so these have to be built behind its nodes.
 */
static struct tr_tree *nodes_of(struct tri_flyte_graph *graph, flyte_node **nodes, size_t count)
{
    struct tri_flyte_fields fields = {0};
    graph->nodes = nodes;
    graph->node_count = count;
    for (size_t i = 0; i < count; i++) {
        bool is_end =
            strcmp(nodes[i]->id, START_NODE) == 0 || strcmp(nodes[i]->id, "end-node") == 0;
        if (!is_end) {
            tri_flyte_put_or_told(graph, &fields, nodes[i]->id, node_of(graph, nodes[i], false));
        }
    }
    return tri_flyte_fields_tree(graph, &fields);
}

/* ------------------------------------------------------------------ workflows */

static const Flyteidl__Core__LiteralType *type_of(const Flyteidl__Core__VariableMap *variables,
                                                  const char *name)
{
    for (size_t i = 0; variables != NULL && i < variables->n_variables; i++) {
        const Flyteidl__Core__VariableMap__VariablesEntry *entry = variables->variables[i];
        if (strcmp(entry->key, name) == 0 && entry->value != NULL) {
            return entry->value->type;
        }
    }
    return NULL;
}

/* An output that is no reference to a whole value says its type: the language knows no fields. */
static struct tr_tree *output_of(struct tri_flyte_graph *graph,
                                 const Flyteidl__Core__VariableMap *types,
                                 const Flyteidl__Core__Binding *output)
{
    struct tr_text before = tri_flyte_begin(graph, "outputs.", output->var);
    struct tr_tree *value = tri_flyte_binding(graph, output->binding);
    (void)tri_report_subject(graph->report, before);
    const Flyteidl__Core__LiteralType *type = type_of(types, output->var);
    bool is_reference =
        output->binding != NULL &&
        output->binding->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE &&
        output->binding->promise->n_attr_path == 0;
    if (is_reference || type == NULL) {
        return value;
    }
    struct tri_flyte_fields fields = {0};
    tri_flyte_put(graph, &fields, "value", value);
    tri_flyte_put(graph, &fields, "type", tri_flyte_type(graph, type));
    return tri_flyte_fields_tree(graph, &fields);
}

static struct tr_tree *outputs_of(struct tri_flyte_graph *graph,
                                  const Flyteidl__Core__VariableMap *types,
                                  Flyteidl__Core__Binding *const *outputs, size_t count)
{
    struct tri_flyte_fields fields = {0};
    for (size_t i = 0; i < count; i++) {
        tri_flyte_put(graph, &fields, outputs[i]->var, output_of(graph, types, outputs[i]));
    }
    return tri_flyte_fields_tree(graph, &fields);
}

struct tr_tree *tri_flyte_workflow(struct tri_flyte_graph *graph,
                                   const Flyteidl__Core__WorkflowTemplate *workflow,
                                   const Flyteidl__Core__ParameterMap *defaults)
{
    struct tri_flyte_fields fields = {0};
    const Flyteidl__Core__TypedInterface *interface = workflow->interface;
    bool finishes = workflow->metadata != NULL && workflow->metadata->on_failure == FINISH_RUNNABLE;
    graph->inputs = interface == NULL ? NULL : interface->inputs;
    graph->is_interruptible =
        workflow->metadata_defaults != NULL && workflow->metadata_defaults->interruptible;
    tri_flyte_put(graph, &fields, "inputs",
                  tri_flyte_variables(graph, "inputs.",
                                      interface == NULL ? NULL : interface->inputs, defaults));
    tri_flyte_put(graph, &fields, "nodes", nodes_of(graph, workflow->nodes, workflow->n_nodes));
    tri_flyte_put(graph, &fields, "outputs",
                  outputs_of(graph, interface == NULL ? NULL : interface->outputs,
                             workflow->outputs, workflow->n_outputs));
    if (workflow->failure_node != NULL) {
        graph->is_handler = true;
        tri_flyte_put_or_told(graph, &fields, "on_failure",
                              node_of(graph, workflow->failure_node, true));
        graph->is_handler = false;
    }
    if (finishes) {
        tri_flyte_put_text(graph, &fields, "policy", "finish_runnable");
    }
    return tri_flyte_fields_tree(graph, &fields);
}

/* tri_flyte_put takes a key with a zero at its end. */
void tri_flyte_put_named(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                         const Flyteidl__Core__Identifier *id, struct tr_tree *value)
{
    struct tr_text name = id == NULL ? tr_text_of("") : tri_flyte_name_of(graph, id);
    const char *key = tr_arena_print(graph->arena, "%.*s", TRI_TEXT(name)).data;
    tri_flyte_put_or_told(graph, fields, key == NULL ? "" : key, value);
}

/*
 * The spec's own nodes come last: tri_flyte_workflow changes graph->nodes, and the outputs belong
 * to these. That the names are Flyte's has to be known before any of them comes.
 */
static struct tr_tree *document_of(struct tri_flyte_graph *graph,
                                   const Flyteidl__Core__DynamicJobSpec *spec)
{
    struct tri_flyte_fields tasks = {0};
    struct tri_flyte_fields workflows = {0};
    struct tri_flyte_fields document = {0};
    for (size_t i = 0; i < spec->n_tasks; i++) {
        tri_flyte_put_named(graph, &tasks, spec->tasks[i]->id,
                            tri_flyte_task(graph, spec->tasks[i]));
    }
    for (size_t i = 0; i < spec->n_subworkflows; i++) {
        tri_flyte_put_named(graph, &workflows, spec->subworkflows[i]->id,
                            tri_flyte_workflow(graph, spec->subworkflows[i], NULL));
    }
    tri_flyte_put_bool(graph, &document, "flyte", true);
    tri_flyte_put(graph, &document, "tasks", tri_flyte_fields_tree(graph, &tasks));
    tri_flyte_put(graph, &document, "workflows", tri_flyte_fields_tree(graph, &workflows));
    graph->inputs = NULL; /* they are those of the task, which the spec does not name */
    graph->is_interruptible = false;
    tri_flyte_put(graph, &document, "nodes", nodes_of(graph, spec->nodes, spec->n_nodes));
    tri_flyte_put(graph, &document, "outputs",
                  outputs_of(graph, NULL, spec->outputs, spec->n_outputs));
    return tri_flyte_fields_tree(graph, &document);
}

int tr_flyte_graph(struct tr_bytes futures, uint32_t depth, struct tr_report *report,
                   struct tr_flyte_files *files, struct tr_buffer *document)
{
    struct tr_arena arena;
    tr_arena_init(&arena);
    struct tri_flyte_graph graph = {
        .arena = &arena, .report = report, .files = files, .depth = depth};
    tr_types_init(&graph.types, &arena);
    const Flyteidl__Core__DynamicJobSpec *spec =
        tri_wire_unpack(&arena, &flyteidl__core__dynamic_job_spec__descriptor, futures);
    const struct tr_tree *tree = NULL;
    if (spec != NULL) {
        graph.tasks = spec->tasks;
        graph.task_count = spec->n_tasks;
        graph.workflows = spec->subworkflows;
        graph.workflow_count = spec->n_subworkflows;
        tree = document_of(&graph, spec);
    } else if (arena.error == 0) {
        (void)tri_flyte_refuse(report, "futures.pb is no DynamicJobSpec of Flyte's");
    }
    /*
     * Nothing is appended unless all went well: a document with a part left out could still
     * compile.
     */
    int error = arena.error;
    if (error == 0 && (tree == NULL || tr_report_total(report) > 0)) {
        error = TR_INVALID;
    }
    if (error == 0) {
        tr_tree_write(tree, document);
        error = document->error;
    }
    tr_arena_fini(&arena);
    return error;
}
