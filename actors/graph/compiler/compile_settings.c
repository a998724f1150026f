/*
 * A task's settings with a node's overrides, and the launch plans' values.
 *
 * A merge makes a new struct for the node and leaves the task's as it is, since other nodes share
 * it. What a node gives replaces the task's setting whole, but env, secrets and config, which are
 * merged key by key. Templates and ignored inputs are checked against the task's interface.
 *
 * Plans are compiled before workflows: they need inputs only, and nodes that launch or map a plan
 * need the plan's inputs.
 */
#include <stdlib.h>

#include "actors/graph/compiler/builder.h"
#include "actors/graph/language/keys.h"

/* Things of one size, each with a name. */
struct named {
    const void *items;
    uint32_t count;
    size_t size;
    const struct tr_text *(*name_of)(const void *item);
};

static const void *named_at(const struct named *named, uint32_t position)
{
    return (const uint8_t *)named->items + position * named->size;
}

/* Of a variable of the environment, a secret: they begin with it. */
static const struct tr_text *own_name(const void *item)
{
    return item;
}

static const struct tr_text *pair_name(const void *item)
{
    const struct tr_pair *pair = item;
    return &pair->key->text;
}

/* The names, sorted for tr_text_search: a walk for each name would take quadratic time. */
static const struct tr_text *sort_names(struct tr_arena *scratch, const struct named *named)
{
    struct tr_text *names = tr_arena_array(scratch, named->count, sizeof *names);
    for (uint32_t i = 0; names != NULL && i < named->count; i++) {
        names[i] = *named->name_of(named_at(named, i));
    }
    if (names != NULL && named->count > 1) {
        qsort(names, named->count, sizeof *names, tr_text_order_at);
    }
    return names;
}

/*
 * Merges name by name: what the node gives comes in the place of the task's, and behind those that
 * stay. NULL without memory.
 */
static void *merge(struct tri_compiler *compiler, struct tr_arena *arena, const struct named *base,
                   const struct named *over, uint32_t *count)
{
    const struct tr_text *names = sort_names(compiler->scratch, over);
    uint8_t *items = tr_arena_array(arena, (size_t)base->count + over->count, over->size);
    uint32_t kept = 0;
    if (names == NULL || items == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < base->count; i++) {
        const void *item = named_at(base, i);
        if (tr_text_search(*base->name_of(item), names, over->count, sizeof *names) == NULL) {
            memcpy(items + kept * base->size, item, base->size);
            kept++;
        }
    }
    if (over->count > 0) {
        memcpy(items + kept * over->size, over->items, over->count * over->size);
    }
    *count = kept + over->count;
    return items;
}

static void merge_environment(struct tri_compiler *compiler, struct tr_settings *merged,
                              const struct tr_settings *over)
{
    const struct named base = {merged->environment, merged->environment_count,
                               sizeof *merged->environment, own_name};
    const struct named given = {over->environment, over->environment_count,
                                sizeof *over->environment, own_name};
    uint32_t count = 0;
    merged->environment = merge(compiler, &compiler->graph->arena, &base, &given, &count);
    merged->environment_count = count;
}

static void merge_secrets(struct tri_compiler *compiler, struct tr_settings *merged,
                          const struct tr_settings *over)
{
    const struct named base = {merged->secrets, merged->secret_count, sizeof *merged->secrets,
                               own_name};
    const struct named given = {over->secrets, over->secret_count, sizeof *over->secrets, own_name};
    uint32_t count = 0;
    merged->secrets = merge(compiler, &compiler->graph->arena, &base, &given, &count);
    merged->secret_count = count;
}

/*
 * The pairs of both mappings, the node's in the place of the task's; keys at the top only, so a
 * mapping inside is replaced whole. `base` is NULL where the task has no config.
 */
static const struct tr_tree *merge_trees(struct tri_compiler *compiler, const struct tr_tree *base,
                                         const struct tr_tree *over)
{
    struct tr_tree *merged = tri_tree_new(compiler->scratch, TR_TREE_MAP, over->place);
    const struct named pairs = {base == NULL ? NULL : base->pairs, base == NULL ? 0 : base->count,
                                sizeof *over->pairs, pair_name};
    const struct named given = {over->pairs, over->count, sizeof *over->pairs, pair_name};
    uint32_t count = 0;
    const struct tr_pair *items = merge(compiler, compiler->scratch, &pairs, &given, &count);
    if (merged == NULL || items == NULL) {
        return NULL;
    }
    merged->pairs = items;
    merged->count = count;
    merged->weight = over->weight + (base == NULL ? 0 : base->weight);
    return merged;
}

static void merge_config(struct tri_compiler *compiler, struct tr_settings *merged,
                         const struct tr_tree *base, const struct tr_tree *over)
{
    struct tr_literal_reader reader = {.report = compiler->report, .arena = compiler->scratch};
    struct tr_buffer buffer;
    const struct tr_tree *tree = over == NULL ? NULL : merge_trees(compiler, base, over);
    tr_buffer_init(&buffer, 0);
    if (tree != NULL && tr_literal_read(&reader, NULL, tree, &buffer)) {
        merged->config = tr_arena_bytes(&compiler->graph->arena, tr_buffer_bytes(&buffer));
    }
    tr_buffer_fini(&buffer);
}

const struct tr_settings *tri_compile_merge_settings(struct tri_compiler *compiler,
                                                     const struct tri_task *task,
                                                     const struct tri_settings *overrides)
{
    struct tr_settings *merged = tr_arena_alloc(&compiler->graph->arena, sizeof *merged);
    struct tri_settings over = *overrides;
    if (merged == NULL) {
        return NULL;
    }
    *merged = task->settings.settings;
    tri_compile_resolve_settings(compiler, &over, &task->task.interface);
    if (over.tree != NULL) {
        tri_definition_check_templates(&compiler->definition, over.tree,
                                       &task->task.interface.inputs);
    }
    const struct tr_settings *given = &over.settings;
    merged->retries = (over.given & TRI_RETRIES) != 0 ? given->retries : merged->retries;
    if ((over.given & TRI_RETRY_ON) != 0) {
        merged->retry_on = given->retry_on;
        merged->retry_on_count = given->retry_on_count;
    }
    if ((over.given & TRI_NEVER_RETRY_ON) != 0) {
        merged->never_retry_on = given->never_retry_on;
        merged->never_retry_on_count = given->never_retry_on_count;
    }
    merged->backoff = (over.given & TRI_BACKOFF) != 0 ? given->backoff : merged->backoff;
    merged->timeout_ns = (over.given & TRI_TIMEOUT) != 0 ? given->timeout_ns : merged->timeout_ns;
    merged->grace_ns = (over.given & TRI_GRACE) != 0 ? given->grace_ns : merged->grace_ns;
    merged->cache = (over.given & TRI_CACHE) != 0 ? given->cache : merged->cache;
    merged->resources = (over.given & TRI_RESOURCES) != 0 ? given->resources : merged->resources;
    merged->pool = (over.given & TRI_POOL) != 0 ? given->pool : merged->pool;
    if ((over.given & TRI_INTERRUPTIBLE) != 0) {
        merged->is_interruptible = given->is_interruptible;
    }
    if ((over.given & TRI_SOFTWARE) != 0) {
        merged->software = given->software;
    }
    if ((over.given & TRI_ENVIRONMENT) != 0) {
        merge_environment(compiler, merged, given);
    }
    if ((over.given & TRI_SECRETS) != 0) {
        merge_secrets(compiler, merged, given);
    }
    if ((over.given & TRI_CONFIG) != 0) {
        merge_config(compiler, merged, task->settings.config, over.config);
        merged->config_origin = given->config_origin;
    }
    return merged;
}

/*
 * One value of a plan for an input of its workflow. `is_given` has a mark for each input, over
 * `inputs` and `fixed` together, so that one input is not given twice. What is wrong is told and
 * left out.
 */
static void compile_value(struct tri_compiler *compiler, const struct tr_workflow *workflow,
                          const struct tr_pair *pair, bool is_fixed, uint8_t *is_given,
                          struct tri_vector *values)
{
    uint32_t input = tr_variables_find(&workflow->interface.inputs, pair->key->text);
    if (input == TR_GRAPH_NONE) {
        tri_report_add(compiler->report, pair->key->place, "VariableNameNotFound",
                       "the workflow '%.*s' has no input '%.*s'\nname one of its inputs",
                       TRI_SHOWN(workflow->name), TRI_SHOWN(pair->key->text));
        return;
    }
    if (is_given[input] != 0) {
        tri_report_add(compiler->report, pair->key->place, "ParameterBoundMoreThanOnce",
                       "the input '%.*s' stands under inputs and under fixed\nkeep one of them",
                       TRI_SHOWN(pair->key->text));
        return;
    }
    is_given[input] = 1;
    tri_compile_warn_constant(compiler->report, pair->value, &workflow->interface.inputs);
    struct tr_literal_reader reader = {
        .report = compiler->report, .arena = compiler->scratch, .folder = workflow->folder};
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    const struct tr_type *type = workflow->interface.inputs.items[input].type;
    if (type != NULL && tr_literal_read(&reader, type, pair->value, &buffer)) {
        struct tr_plan_value *value =
            tri_vector_add(&compiler->graph->arena, values, sizeof *value);
        if (value != NULL) {
            value->input = input;
            value->is_fixed = is_fixed;
            value->value = tr_arena_bytes(&compiler->graph->arena, tr_buffer_bytes(&buffer));
        }
    }
    tr_buffer_fini(&buffer);
}

/*
 * What may be given to the plan: the workflow's inputs without the fixed ones, in their order, with
 * the plan's values as defaults. `kept` leads from an input's position in the workflow to that in
 * the plan, as values name inputs by the former.
 */
static void collect_inputs(struct tri_compiler *compiler, const struct tr_workflow *workflow,
                           struct tr_plan *plan)
{
    struct tr_arena *arena = &compiler->graph->arena;
    const struct tr_variables *inputs = &workflow->interface.inputs;
    struct tr_variable *items = tr_arena_array(arena, inputs->count, sizeof *items);
    uint32_t *kept = tr_arena_array(compiler->scratch, inputs->count, sizeof *kept);
    uint32_t count = 0;
    if (items == NULL || kept == NULL) {
        return;
    }
    for (uint32_t i = 0; i < inputs->count; i++) {
        kept[i] = i;
    }
    for (uint32_t i = 0; i < plan->value_count; i++) {
        if (plan->values[i].is_fixed) {
            kept[plan->values[i].input] = TR_GRAPH_NONE;
        }
    }
    for (uint32_t i = 0; i < inputs->count; i++) {
        if (kept[i] != TR_GRAPH_NONE) {
            kept[i] = count;
            items[count++] = inputs->items[i];
        }
    }
    for (uint32_t i = 0; i < plan->value_count; i++) {
        uint32_t position = kept[plan->values[i].input];
        if (position != TR_GRAPH_NONE) {
            items[position].has_default = true;
            items[position].default_value = plan->values[i].value;
        }
    }
    plan->inputs = (struct tr_variables){
        .items = items, .count = count, .by_name = tri_variables_sort(arena, items, count)};
}

static void compile_kickoff(struct tri_compiler *compiler, const struct tri_plan *source,
                            struct tr_plan *plan)
{
    if (source->kickoff.text.size == 0) {
        return;
    }
    const struct tr_workflow *workflow = &compiler->graph->workflows[plan->workflow];
    uint32_t own = tr_variables_find(&plan->inputs, source->kickoff.text);
    if (own == TR_GRAPH_NONE || plan->inputs.items[own].type == NULL ||
        plan->inputs.items[own].type->kind != TR_TYPE_DATETIME) {
        tri_report_add(compiler->report, source->kickoff.place, "InvalidValue",
                       "kickoff_input '%.*s' is no datetime input that is free\n"
                       "name an input of type datetime that is not fixed",
                       TRI_SHOWN(source->kickoff.text));
        return;
    }
    /*
     * By its position in the workflow, like all values of a plan; `own` counted in the plan's
     * inputs.
     */
    plan->schedule.kickoff_input =
        tr_variables_find(&workflow->interface.inputs, source->kickoff.text);
}

/*
 * A schedule starts executions without a person who gives inputs, so each input that is not fixed
 * needs a default; but for the one that gets the time.
 */
static void check_schedule(struct tri_compiler *compiler, const struct tri_plan *source,
                           const struct tr_plan *plan)
{
    for (uint32_t i = 0; plan->schedule.is_set && i < plan->inputs.count; i++) {
        const struct tr_variable *input = &plan->inputs.items[i];
        if (!input->has_default && !tr_text_equal(input->name, source->kickoff.text)) {
            tri_report_add(compiler->report, source->name.place, "ParameterNotBound",
                           "the schedule gives no value for the input '%.*s'\n"
                           "give it under inputs or fixed, or a default in the workflow",
                           TRI_SHOWN(input->name));
        }
    }
}

static void compile_plan(struct tri_compiler *compiler, const struct tri_plan *source,
                         struct tr_plan *plan)
{
    struct tri_definition *definition = &compiler->definition;
    plan->name = tr_arena_text(&compiler->graph->arena, source->name.text);
    plan->description = source->description;
    plan->schedule = source->schedule;
    plan->labels = source->labels;
    plan->notifications = source->notifications;
    plan->notification_count = source->notification_count;
    plan->run = source->run;
    plan->extra = source->extra;
    plan->workflow = TR_GRAPH_NONE;
    if (source->workflow.text.size == 0) {
        return;
    }
    const struct tri_entity *entity = tri_definition_find(definition, source->workflow.text);
    if (entity == NULL || entity->kind != TRI_ENTITY_WORKFLOW) {
        tri_report_add(compiler->report, source->workflow.place, "WorkflowReferenceNotFound",
                       "there is no workflow '%.*s'\nname a workflow of this definition",
                       TRI_SHOWN(source->workflow.text));
        return;
    }
    const struct tri_workflow *workflows = definition->workflows.items;
    if (workflows[entity->index].is_told) {
        return;
    }
    plan->workflow = entity->index;
    const struct tr_workflow *workflow = &compiler->graph->workflows[plan->workflow];
    uint8_t *is_given = tr_arena_alloc(compiler->scratch, workflow->interface.inputs.count);
    struct tri_vector values = {0};
    for (int is_fixed = 0; is_given != NULL && is_fixed < 2; is_fixed++) {
        const struct tr_tree *tree = is_fixed == 1 ? source->fixed : source->inputs;
        for (uint32_t i = 0; tree != NULL && i < tree->count; i++) {
            compile_value(compiler, workflow, &tree->pairs[i], is_fixed == 1, is_given, &values);
        }
    }
    plan->values = values.items;
    plan->value_count = values.count;
    collect_inputs(compiler, workflow, plan);
    compile_kickoff(compiler, source, plan);
    check_schedule(compiler, source, plan);
}

/* Those that a graph has already, which is gone on from, stay as they are. */
void tri_compile_plans(struct tri_compiler *compiler)
{
    struct tr_graph *graph = compiler->graph;
    const struct tri_plan *plans = compiler->definition.plans.items;
    const struct tr_plan *compiled = graph->plans;
    uint32_t count = compiler->definition.plans.count;
    graph->plans = tr_arena_array(&graph->arena, count, sizeof *graph->plans);
    for (uint32_t i = 0; graph->plans != NULL && i < graph->plan_count; i++) {
        graph->plans[i] = compiled[i];
    }
    for (uint32_t i = graph->plan_count; graph->plans != NULL && i < count; i++) {
        struct tr_text before = tri_report_subject(compiler->report, plans[i].name.text);
        compile_plan(compiler, &plans[i], &graph->plans[i]);
        graph->plan_count++;
        (void)tri_report_subject(compiler->report, before);
    }
}

/* ------------------------------------------------------- what settings refer to */

/* The position of a pool; they are sorted by name. */
static uint32_t find_pool(const struct tr_graph *graph, struct tr_text name)
{
    const struct tr_pool *found =
        tr_text_search(name, graph->pools, graph->pool_count, sizeof *graph->pools);
    return found != NULL ? (uint32_t)(found - graph->pools) : TR_GRAPH_NONE;
}

static struct tr_text pool_name_at(const void *self, uint32_t position)
{
    const struct tr_pool *pools = self;
    return pools[position].name;
}

static void resolve_pool(struct tri_compiler *compiler, struct tri_settings *settings)
{
    const struct tr_graph *graph = compiler->graph;
    struct tri_name pool = settings->pool;
    if (pool.text.size == 0) {
        return;
    }
    settings->settings.pool = find_pool(graph, pool.text);
    if (settings->settings.pool == TR_GRAPH_NONE) {
        struct tr_text nearest = tri_keys_nearest(&compiler->definition, pool.text, pool_name_at,
                                                  graph->pools, graph->pool_count);
        struct tr_text remedy =
            tri_keys_did_you_mean(&compiler->definition, nearest, "define it under pools:");
        tri_report_add(compiler->report, pool.place, "InvalidValue",
                       "there is no pool '%.*s'\n%.*s", TRI_SHOWN(pool.text), TRI_TEXT(remedy));
    }
}

static int compare_positions(const void *left, const void *right)
{
    const uint32_t *a = left;
    const uint32_t *b = right;
    return (*a > *b) - (*a < *b);
}

/*
 * The positions of the inputs that a cache key leaves out, ascending: the order in which they are
 * written must not change the key or the graph's name.
 */
static void resolve_ignored(struct tri_compiler *compiler, struct tri_settings *settings,
                            const struct tr_interface *interface)
{
    uint32_t *positions =
        tr_arena_array(&compiler->graph->arena, settings->ignored_count, sizeof *positions);
    uint32_t count = 0;
    for (uint32_t i = 0; positions != NULL && i < settings->ignored_count; i++) {
        struct tri_name name = settings->ignored[i];
        positions[count] = tr_variables_find(&interface->inputs, name.text);
        if (positions[count] == TR_GRAPH_NONE) {
            tri_report_add(compiler->report, name.place, "VariableNameNotFound",
                           "the cache ignores '%.*s', and the task has no such input\n"
                           "name one of its inputs",
                           TRI_SHOWN(name.text));
            continue;
        }
        count++;
    }
    if (count > 1) {
        qsort(positions, count, sizeof *positions, compare_positions);
    }
    settings->settings.cache.ignored = positions;
    settings->settings.cache.ignored_count = count;
}

void tri_compile_resolve_settings(struct tri_compiler *compiler, struct tri_settings *settings,
                                  const struct tr_interface *interface)
{
    resolve_pool(compiler, settings);
    if (settings->ignored_count > 0) {
        resolve_ignored(compiler, settings, interface);
    }
}
