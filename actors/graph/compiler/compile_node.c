/*
 * Nodes: their inputs bound, one for each input of what they call, and their outputs typed.
 *
 * Inputs stand in the order of the target's interface and next to each other, also those that
 * `with` leaves out (their default) and those that are wrong (an empty binding); so the position of
 * an input is the same at compile time and at run time. Outputs depend on the target and the node's
 * own keys alone, and are known even where an input is wrong.
 *
 * `touched_broken` says that a reference led to something that was reported already, so that what
 * follows from it is not reported as well. Who asks for it clears it before: bind_call for the
 * inputs of a call, and tri_compile_bind_free for each value.
 */
#include "actors/graph/compiler/builder.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/language/keys.h"

/*
 * Tries whether a value fits a type, and leaves no trace: the report is muted, and bindings and
 * steps go back to their count. Only `slot` keeps what was tried, which the caller binds once more.
 * Texts in the arena stay until it ends.
 */
static bool would_bind(struct tri_builder *builder, uint32_t node, const struct tr_tree *tree,
                       const struct tr_type *type, uint32_t slot)
{
    uint32_t binding_count = builder->bindings.count;
    uint32_t step_count = builder->steps.count;
    tri_report_mute(builder->compiler->report);
    bool is_fine = tri_compile_bind(builder, node, tree, type, tr_text_of(""), slot);
    tri_report_unmute(builder->compiler->report);
    /* tri_vector_add promises cleared items, and after the cut it gives these out again. */
    uint32_t tried = builder->bindings.count - binding_count;
    memset(tri_compile_binding_at(builder, binding_count), 0, tried * sizeof(struct tr_binding));
    builder->bindings.count = binding_count;
    builder->steps.count = step_count;
    return is_fine;
}

static bool is_over(const struct tri_node *source, struct tr_text name)
{
    for (uint32_t i = 0; i < source->over_count; i++) {
        if (tr_text_equal(source->over[i].text, name)) {
            return true;
        }
    }
    return false;
}

/*
 * Whether an input of a map gets one element or the whole. What fits both ways (an empty list, a
 * value of unknown type) is ambiguous unless `over` says it; what fits neither way is bound as a
 * whole, for the error that names the declared type. A broken reference fits everything and is no
 * ambiguity. False: it was reported.
 */
static bool decide_mapped(struct tri_builder *builder, uint32_t node,
                          const struct tr_variable *input, const struct tr_tree *tree,
                          uint32_t slot, bool *is_mapped)
{
    const struct tri_node *source = builder->built[node].source;
    const struct tr_type *list = tr_type_list(builder->definition->types, input->type);
    if (source->has_over) {
        *is_mapped = is_over(source, input->name);
        return true;
    }
    bool was_broken = builder->touched_broken;
    builder->touched_broken = false;
    bool fits_whole = would_bind(builder, node, tree, input->type, slot);
    bool fits_mapped = list != NULL && would_bind(builder, node, tree, list, slot);
    bool is_broken = builder->touched_broken;
    builder->touched_broken = was_broken || is_broken;
    *is_mapped = fits_mapped && !fits_whole;
    if (fits_whole && fits_mapped && !is_broken) {
        tri_report_add(builder->compiler->report, tree->place, "MismatchingBindings",
                       "the input '%.*s' could get this whole or one element at a time\n"
                       "name the inputs that get elements: over: [...]",
                       TRI_SHOWN(input->name));
        return false;
    }
    return true;
}

/*
 * An input that `with` does not give: its default, in a handler the workflow's error for an input
 * `err` (as Flyte fills it in), or an error report.
 */
static void bind_default(struct tri_builder *builder, uint32_t node,
                         const struct tr_variable *input, uint32_t slot)
{
    struct tr_binding *binding = tri_compile_binding_at(builder, slot);
    bool is_handler = builder->workflow->nodes[node].role != TR_ROLE_GRAPH;
    const struct tr_type *error = tr_type_simple(builder->definition->types, TR_TYPE_ERROR);
    binding->key = input->name;
    binding->type = input->type;
    if (is_handler && tr_text_equal(input->name, tr_text_of("err")) && error != NULL &&
        tr_type_castable(error, input->type) == TR_CASTABLE_YES) {
        binding->kind = TR_BINDING_ERROR;
        binding->source = error;
        binding->first = builder->steps.count;
        return;
    }
    binding->kind = TR_BINDING_LITERAL;
    binding->source = input->type;
    binding->literal = input->default_value;
    if (!input->has_default && input->type != NULL) {
        struct tr_text type = tr_type_text(builder->compiler->scratch, input->type);
        tri_report_add(builder->compiler->report, builder->built[node].source->place,
                       "ParameterNotBound",
                       "the input '%.*s' gets no value\ngive it under with: {%.*s: a %.*s}",
                       TRI_SHOWN(input->name), TRI_SHOWN(input->name), TRI_SHOWN(type));
    }
}

/* An input that `with` gives. For a map its type is a list of the input's, if elements go there. */
static void bind_given(struct tri_builder *builder, uint32_t node, const struct tr_variable *input,
                       const struct tr_tree *tree, uint32_t slot)
{
    bool is_mapped = false;
    if (input->type == NULL) {
        builder->touched_broken = true;
        return;
    }
    if (builder->workflow->nodes[node].kind == TR_NODE_MAP &&
        !decide_mapped(builder, node, input, tree, slot, &is_mapped)) {
        return;
    }
    const struct tr_type *type =
        is_mapped ? tr_type_list(builder->definition->types, input->type) : input->type;
    if (type != NULL) {
        (void)tri_compile_bind(builder, node, tree, type, input->name, slot);
    }
    tri_compile_binding_at(builder, slot)->is_mapped = is_mapped;
}

/*
 * Whether a launch plan that a node runs fixes an input: for the message, since fixed inputs are no
 * inputs of the plan.
 */
static bool is_fixed(const struct tri_builder *builder, uint32_t node, struct tr_text name)
{
    const struct tr_graph *graph = builder->compiler->graph;
    const struct tr_node *compiled = &builder->workflow->nodes[node];
    if (compiled->target_kind != TR_TARGET_PLAN) {
        return false;
    }
    const struct tr_plan *plan = &graph->plans[compiled->target];
    const struct tr_workflow *workflow = &graph->workflows[plan->workflow];
    uint32_t input = tr_variables_find(&workflow->interface.inputs, name);
    for (uint32_t i = 0; i < plan->value_count; i++) {
        if (plan->values[i].input == input && plan->values[i].is_fixed) {
            return true;
        }
    }
    return false;
}

/*
 * What `with` gives for each input, by the input's position; NULL where it gives nothing. Unknown
 * names are told. NULL as a whole without memory.
 */
static const struct tr_tree **match_inputs(struct tri_builder *builder, uint32_t node,
                                           const struct tr_variables *inputs)
{
    const struct tri_node *source = builder->built[node].source;
    const struct tr_tree **given =
        tr_arena_array(builder->compiler->scratch, inputs->count, sizeof(struct tr_tree *));
    for (uint32_t i = 0; given != NULL && source->with != NULL && i < source->with->count; i++) {
        const struct tr_pair *pair = &source->with->pairs[i];
        uint32_t position = tr_variables_find(inputs, pair->key->text);
        if (position != TR_GRAPH_NONE) {
            given[position] = pair->value;
            continue;
        }
        if (is_fixed(builder, node, pair->key->text)) {
            tri_report_add(builder->compiler->report, pair->key->place, "VariableNameNotFound",
                           "the launch plan '%.*s' fixes the input '%.*s'\n"
                           "remove it here, or name it under inputs of the plan, not under fixed",
                           TRI_SHOWN(source->target.text), TRI_SHOWN(pair->key->text));
            continue;
        }
        tri_report_add(builder->compiler->report, pair->key->place, "VariableNameNotFound",
                       "'%.*s' has no input '%.*s'\n%s", TRI_SHOWN(source->target.text),
                       TRI_SHOWN(pair->key->text),
                       inputs->count == 0 ? "it has none: remove it" : "name one of its inputs");
    }
    return given;
}

/* `over` names inputs that are given. */
static void check_over(struct tri_builder *builder, const struct tri_node *source,
                       const struct tr_variables *inputs, const struct tr_tree *const *given)
{
    for (uint32_t i = 0; i < source->over_count; i++) {
        uint32_t position = tr_variables_find(inputs, source->over[i].text);
        if (position == TR_GRAPH_NONE || given[position] == NULL) {
            tri_report_add(builder->compiler->report, source->over[i].place, "VariableNameNotFound",
                           "over names '%.*s', which gets no value under with\n"
                           "name inputs that with gives",
                           TRI_SHOWN(source->over[i].text));
        }
    }
}

/*
 * A map in which no input gets elements has no length. Not told beside another error of its inputs,
 * which may be the reason.
 */
static void check_mapped(struct tri_builder *builder, uint32_t node, bool is_broken)
{
    const struct tr_node *compiled = &builder->workflow->nodes[node];
    for (uint32_t i = 0; i < compiled->input_count; i++) {
        if (tri_compile_binding_at(builder, compiled->input_first + i)->is_mapped) {
            return;
        }
    }
    if (!is_broken) {
        tri_report_add(builder->compiler->report, builder->built[node].source->place,
                       "MismatchingBindings",
                       "none of the inputs gets one element at a time\n"
                       "give an input of type T a value of type [T]");
    }
}

/* Inputs of what calls a task, a workflow or a launch plan. */
static void bind_call(struct tri_builder *builder, uint32_t node)
{
    struct tr_node *compiled = &builder->workflow->nodes[node];
    const struct tri_built *built = &builder->built[node];
    const struct tr_variables *inputs = &built->interface->inputs;
    const struct tr_tree **given = match_inputs(builder, node, inputs);
    uint32_t total = tr_report_total(builder->compiler->report);
    builder->touched_broken = false;
    compiled->input_count = inputs->count;
    compiled->input_first = tri_compile_reserve_bindings(builder, inputs->count);
    if (given == NULL || compiled->input_first == TR_GRAPH_NONE) {
        return;
    }
    for (uint32_t i = 0; i < inputs->count; i++) {
        uint32_t slot = compiled->input_first + i;
        if (given[i] == NULL) {
            bind_default(builder, node, &inputs->items[i], slot);
        } else {
            bind_given(builder, node, &inputs->items[i], given[i], slot);
        }
    }
    if (compiled->kind == TR_NODE_MAP) {
        check_over(builder, built->source, inputs, given);
        check_mapped(builder, node,
                     builder->touched_broken || tr_report_total(builder->compiler->report) > total);
    }
}

/*
 * What chooses among retries where there are none. A node that says `retries: 0` means it.
 */
static void warn_of_choice(struct tri_builder *builder, const struct tr_settings *settings,
                           const struct tri_node *source)
{
    bool has_choice = settings->retry_on_count > 0 || settings->never_retry_on_count > 0;
    if (has_choice && settings->retries == 0 && (source->settings.given & TRI_RETRIES) == 0) {
        tri_report_warn(builder->compiler->report, source->place,
                        "%s chooses among retries, and there are none\nadd retries: N",
                        settings->retry_on_count > 0 ? "retry_on" : "never_retry_on");
    }
}

/*
 * The settings that hold for this node: by pointer those of the task itself where nothing is
 * overridden, which saves memory, and by which graph_pack.c knows it.
 */
static void set_settings(struct tri_builder *builder, uint32_t node)
{
    struct tr_node *compiled = &builder->workflow->nodes[node];
    const struct tri_node *source = builder->built[node].source;
    const struct tri_task *tasks = builder->definition->tasks.items;
    if (compiled->target_kind == TR_TARGET_TASK) {
        compiled->settings =
            source->settings.given == 0
                ? &builder->compiler->graph->tasks[compiled->target].settings
                : tri_compile_merge_settings(builder->compiler, &tasks[compiled->target],
                                             &source->settings);
        if (compiled->settings != NULL) {
            warn_of_choice(builder, compiled->settings, source);
        }
    } else if (source->settings.given != 0) {
        tri_report_add(builder->compiler->report, source->first_override.place, "InvalidValue",
                       "'%.*s' does not go with a map of a workflow or a launch plan\n"
                       "write it where the tasks are",
                       TRI_SHOWN(source->first_override.text));
    }
}

/* An output of a map: a list, of what may be none where failures are allowed. */
static const struct tr_type *mapped_type(struct tri_builder *builder, const struct tri_node *source,
                                         const struct tr_type *type)
{
    struct tr_types *types = builder->definition->types;
    const struct tr_type *element = source->allows_failures ? tr_type_optional(types, type) : type;
    return tr_type_list(types, element);
}

/* Adds the output that lists the errors of a map. */
static void add_errors_output(struct tri_builder *builder, uint32_t node,
                              struct tr_variable *variable)
{
    struct tr_types *types = builder->definition->types;
    const struct tri_node *source = builder->built[node].source;
    const struct tr_interface *interface = builder->built[node].interface;
    if (tr_variables_find(&interface->outputs, source->errors.text) != TR_GRAPH_NONE) {
        tri_report_add(builder->compiler->report, source->errors.place, "DuplicateAlias",
                       "the output '%.*s' is there already\nchoose another name for errors",
                       TRI_SHOWN(source->errors.text));
    }
    variable->name = tr_arena_text(&builder->compiler->graph->arena, source->errors.text);
    variable->description = tr_text_of("");
    variable->type =
        tr_type_list(types, tr_type_optional(types, tr_type_simple(types, TR_TYPE_ERROR)));
}

/*
 * Outputs of what calls something: its own, as lists for a map, and none beside for an optional.
 * The same array as the target's where nothing differs. `errors` comes last, so the positions of
 * the others stay those of the target.
 */
static void type_call(struct tri_builder *builder, uint32_t node)
{
    struct tr_node *compiled = &builder->workflow->nodes[node];
    const struct tri_node *source = builder->built[node].source;
    const struct tr_variables *outputs = &builder->built[node].interface->outputs;
    struct tr_arena *arena = &builder->compiler->graph->arena;
    bool has_errors = source->errors.text.size > 0;
    if (compiled->kind != TR_NODE_MAP && !compiled->is_optional) {
        compiled->outputs = *outputs;
        return;
    }
    struct tr_variable *items = tr_arena_array(arena, (size_t)outputs->count + 1, sizeof *items);
    if (items == NULL) {
        return;
    }
    for (uint32_t i = 0; i < outputs->count; i++) {
        items[i] = outputs->items[i];
        if (compiled->kind == TR_NODE_MAP) {
            items[i].type = mapped_type(builder, source, items[i].type);
        }
    }
    if (has_errors) {
        compiled->errors_output = outputs->count;
        add_errors_output(builder, node, &items[outputs->count]);
    }
    uint32_t count = outputs->count + (has_errors ? 1 : 0);
    for (uint32_t i = 0; compiled->is_optional && i < count; i++) {
        items[i].type = tr_type_optional(builder->definition->types, items[i].type);
    }
    compiled->outputs = (struct tr_variables){
        .items = items, .count = count, .by_name = tri_variables_sort(arena, items, count)};
}

/*
 * What `with` holds beside a gate: its types are those of the values. An approval gives them as
 * outputs; a signal has one output, the answer, and keeps `with` as inputs to show. The array has
 * room for one more because a signal without `with` needs it.
 */
static void build_gate(struct tri_builder *builder, uint32_t node)
{
    struct tr_node *compiled = &builder->workflow->nodes[node];
    const struct tr_tree *with = builder->built[node].source->with;
    struct tr_arena *arena = &builder->compiler->graph->arena;
    uint32_t count = with == NULL ? 0 : with->count;
    struct tr_variable *items = tr_arena_array(arena, (size_t)count + 1, sizeof *items);
    compiled->input_count = count;
    compiled->input_first = tri_compile_reserve_bindings(builder, count);
    if (items == NULL || compiled->input_first == TR_GRAPH_NONE) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct tri_name name;
        items[i].description = tr_text_of("");
        items[i].name = tr_arena_text(arena, with->pairs[i].key->text);
        bool is_fine =
            tri_keys_read_name(builder->definition, with->pairs[i].key, &name) &&
            tri_compile_bind_free(builder, node, with->pairs[i].value, true, items[i].name,
                                  compiled->input_first + i, &items[i].type);
        builder->built[node].is_broken = builder->built[node].is_broken || !is_fine;
    }
    if (compiled->kind == TR_NODE_SIGNAL) {
        count = 1;
        items[0].name = tr_text_of("value");
        items[0].type = builder->built[node].source->signal_type;
        compiled->signal_type = items[0].type;
        builder->built[node].is_broken = builder->built[node].is_broken || items[0].type == NULL;
    }
    for (uint32_t i = 0; compiled->is_optional && i < count; i++) {
        items[i].type = tr_type_optional(builder->definition->types, items[i].type);
    }
    compiled->outputs = (struct tr_variables){
        .items = items, .count = count, .by_name = tri_variables_sort(arena, items, count)};
}

/* An output that is declared: what the document gives for it, or none where it can be. */
static void bind_result(struct tri_builder *builder, const struct tr_variable *result,
                        const struct tr_tree *given, uint32_t slot)
{
    static const struct tr_tree none = {.kind = TR_TREE_NULL, .weight = 1};
    uint32_t end = builder->workflow->end;
    if (given == NULL && !tr_type_is_optional(result->type)) {
        struct tr_text type = tr_type_text(builder->compiler->scratch, result->type);
        tri_report_add(builder->compiler->report, builder->source->name.place, "ParameterNotBound",
                       "the task declares the output '%.*s', and the document does not give it\n"
                       "give it under outputs: {%.*s: a %.*s}",
                       TRI_SHOWN(result->name), TRI_SHOWN(result->name), TRI_SHOWN(type));
        return;
    }
    (void)tri_compile_bind(builder, end, given == NULL ? &none : given, result->type, result->name,
                           slot);
}

/* What the document of a dynamic task gives, as the task declares it. */
static void build_results(struct tri_builder *builder)
{
    struct tr_workflow *workflow = builder->workflow;
    struct tr_node *end = &workflow->nodes[workflow->end];
    const struct tr_tree *outputs = builder->source->outputs;
    const struct tr_variables *results = builder->source->results;
    const struct tr_tree **given =
        tr_arena_array(builder->compiler->scratch, results->count, sizeof *given);
    end->input_count = results->count;
    end->input_first = tri_compile_reserve_bindings(builder, results->count);
    workflow->interface.outputs = *results;
    if (given == NULL || end->input_first == TR_GRAPH_NONE) {
        return;
    }
    for (uint32_t i = 0; outputs != NULL && i < outputs->count; i++) {
        const struct tr_pair *pair = &outputs->pairs[i];
        uint32_t position = tr_variables_find(results, pair->key->text);
        if (position != TR_GRAPH_NONE) {
            given[position] = pair->value;
            continue;
        }
        tri_report_add(builder->compiler->report, pair->key->place, "VariableNameNotFound",
                       "the task declares no output '%.*s'\nremove it, or declare it there",
                       TRI_SHOWN(pair->key->text));
    }
    for (uint32_t i = 0; i < results->count; i++) {
        bind_result(builder, &results->items[i], given[i], end->input_first + i);
    }
}

static void build_end(struct tri_builder *builder)
{
    struct tr_workflow *workflow = builder->workflow;
    struct tr_node *end = &workflow->nodes[workflow->end];
    const struct tr_tree *outputs = builder->source->outputs;
    const struct tr_type *const *types = builder->source->output_types;
    struct tr_arena *arena = &builder->compiler->graph->arena;
    uint32_t count = outputs == NULL ? 0 : outputs->count;
    struct tr_variable *items = tr_arena_array(arena, count, sizeof *items);
    end->input_count = count;
    end->input_first = tri_compile_reserve_bindings(builder, count);
    if (count > TR_VARIABLES_MAX) {
        tri_report_add(builder->compiler->report, outputs->place, "InvalidValue",
                       "these are more than %u variables\nput some into a struct or a list",
                       TR_VARIABLES_MAX);
        return;
    }
    for (uint32_t i = 0; items != NULL && end->input_first != TR_GRAPH_NONE && i < count; i++) {
        struct tri_name name;
        items[i].description = tr_text_of("");
        items[i].name = tr_arena_text(arena, outputs->pairs[i].key->text);
        items[i].type = types == NULL ? NULL : types[i];
        if (items[i].type != NULL) {
            (void)tri_compile_bind(builder, workflow->end, outputs->pairs[i].value, items[i].type,
                                   items[i].name, end->input_first + i);
        } else if (tri_keys_read_name(builder->definition, outputs->pairs[i].key, &name)) {
            (void)tri_compile_bind_free(builder, workflow->end, outputs->pairs[i].value, false,
                                        items[i].name, end->input_first + i, &items[i].type);
        }
    }
    workflow->interface.outputs = (struct tr_variables){
        .items = items, .count = count, .by_name = tri_variables_sort(arena, items, count)};
}

void tri_compile_build_node(struct tri_builder *builder, uint32_t index)
{
    struct tr_node *node = &builder->workflow->nodes[index];
    struct tri_built *built = &builder->built[index];
    struct tr_text before = tri_compile_begin_subject(builder, index);
    if (node->kind == TR_NODE_END && builder->source->results != NULL) {
        build_results(builder);
    } else if (node->kind == TR_NODE_END) {
        build_end(builder);
    } else if (node->kind == TR_NODE_BRANCH) {
        tri_compile_build_branch(builder, index);
    } else if (node->kind == TR_NODE_APPROVE || node->kind == TR_NODE_SIGNAL) {
        build_gate(builder, index);
    } else if (built->interface != NULL) {
        set_settings(builder, index);
        type_call(builder, index);
        bind_call(builder, index);
    }
    (void)tri_report_subject(builder->compiler->report, before);
}
