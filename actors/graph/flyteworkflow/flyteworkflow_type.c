/*
 * The types of a workflow's inputs, which a resource does not say.
 *
 * An input has the type of the variable that it is bound to: of a task, of a workflow below, of an
 * output. Since that workflow's inputs are found the same way, all nodes are gone through until
 * nothing more is found, at most as often as workflows may nest. What a workflow below is given
 * says the types that nothing in it does. Names are looked up in sorted tables, so that a round
 * is n log n in the bindings.
 */
#include <flyteidl/workflow.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/flyteworkflow/flyteworkflow_inside.h"

typedef Flyteidl__Core__LiteralType flyte_type;
typedef Flyteidl__Core__BindingData binding_data;
typedef Flyteidl__Core__VariableMap variable_map;

struct input {
    const char *name;
    flyte_type *type; /* NULL: not known yet */
};

struct node {
    const char *id;
    const flyte_node *message;
};

/* A workflow, and a task or workflow that a node of it runs, by the id that both have. */
struct workflow {
    flyte_workflow *message;
    struct tri_vector inputs; /* struct input, sorted by their names once all are there */
    struct tri_vector nodes;  /* struct node, arms too, sorted by their ids */
};

struct target {
    const flyte_identifier *id; /* its place in memory is its identity */
    const Flyteidl__Core__TypedInterface *interface;
    struct workflow *workflow; /* NULL: a task */
    bool is_map;               /* a map task of flytekit's, whose variables are lists already */
};

struct typing {
    struct tr_arena *arena;
    struct workflow *workflows; /* the primary one first */
    size_t workflow_count;
    struct target *targets; /* sorted by their ids' places */
    size_t target_count;
    bool has_more; /* something was found in this round */
};

/* ------------------------------------------------------------------ looking up */

static int by_place(const void *left, const void *right)
{
    const struct target *a = left;
    const struct target *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static const struct target *target_of(const struct typing *typing, const flyte_node *node)
{
    struct target wanted = {.id = NULL};
    if (node->target_case == FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE) {
        node = node->array_node->node;
    }
    if (node->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE) {
        wanted.id = node->task_node->reference_id;
    } else if (node->target_case == FLYTEIDL__CORE__NODE__TARGET_WORKFLOW_NODE &&
               node->workflow_node->reference_case ==
                   FLYTEIDL__CORE__WORKFLOW_NODE__REFERENCE_SUB_WORKFLOW_REF) {
        wanted.id = node->workflow_node->sub_workflow_ref;
    }
    return wanted.id == NULL || typing->target_count == 0
               ? NULL
               : bsearch(&wanted, typing->targets, typing->target_count, sizeof wanted, by_place);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct input *)left)->name, ((const struct input *)right)->name);
}

static struct input *input_of(const struct workflow *workflow, const char *name)
{
    const struct input wanted = {.name = name};
    return workflow->inputs.count == 0 ? NULL
                                       : bsearch(&wanted, workflow->inputs.items,
                                                 workflow->inputs.count, sizeof wanted, by_name);
}

static int by_id(const void *left, const void *right)
{
    return strcmp(((const struct node *)left)->id, ((const struct node *)right)->id);
}

static const flyte_node *node_of(const struct workflow *workflow, const char *id)
{
    const struct node wanted = {.id = id};
    const struct node *found =
        workflow->nodes.count == 0
            ? NULL
            : bsearch(&wanted, workflow->nodes.items, workflow->nodes.count, sizeof wanted, by_id);
    return found == NULL ? NULL : found->message;
}

static flyte_type *variable_type(const variable_map *variables, const char *name)
{
    for (size_t i = 0; variables != NULL && i < variables->n_variables; i++) {
        if (strcmp(variables->variables[i]->key, name) == 0) {
            return variables->variables[i]->value == NULL ? NULL
                                                          : variables->variables[i]->value->type;
        }
    }
    return NULL;
}

/* An input of the workflow that a promise is, whole; NULL: it is none. */
static const char *name_of_input(const binding_data *data)
{
    if (data->value_case != FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE ||
        data->promise->n_attr_path > 0) {
        return NULL;
    }
    const char *node = data->promise->node_id;
    bool is_input = node[0] == '\0' || strcmp(node, TRI_FLYTE_START_NODE) == 0;
    return is_input ? data->promise->var : NULL;
}

/* ------------------------------------------------------------------ types of values */

static flyte_type *new_type(struct typing *typing, Flyteidl__Core__LiteralType__TypeCase kind)
{
    flyte_type *type = tri_flyte_new(typing->arena, &flyteidl__core__literal_type__descriptor);
    if (type != NULL) {
        type->type_case = kind;
    }
    return type;
}

static flyte_type *simple_type(struct typing *typing, Flyteidl__Core__SimpleType simple)
{
    flyte_type *type = new_type(typing, FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SIMPLE);
    if (type != NULL) {
        type->simple = simple;
    }
    return type;
}

/* A list of a type, or a map to it; without one, of nothing. */
static flyte_type *type_around(struct typing *typing, flyte_type *inside, bool is_map)
{
    flyte_type *type =
        new_type(typing, is_map ? FLYTEIDL__CORE__LITERAL_TYPE__TYPE_MAP_VALUE_TYPE
                                : FLYTEIDL__CORE__LITERAL_TYPE__TYPE_COLLECTION_TYPE);
    if (type != NULL) {
        type->collection_type =
            inside != NULL ? inside : simple_type(typing, FLYTEIDL__CORE__SIMPLE_TYPE__NONE);
    }
    return type;
}

static flyte_type *primitive_type(struct typing *typing, const Flyteidl__Core__Primitive *value)
{
    static const Flyteidl__Core__SimpleType types[] = {
        [FLYTEIDL__CORE__PRIMITIVE__VALUE_INTEGER] = FLYTEIDL__CORE__SIMPLE_TYPE__INTEGER,
        [FLYTEIDL__CORE__PRIMITIVE__VALUE_FLOAT_VALUE] = FLYTEIDL__CORE__SIMPLE_TYPE__FLOAT,
        [FLYTEIDL__CORE__PRIMITIVE__VALUE_STRING_VALUE] = FLYTEIDL__CORE__SIMPLE_TYPE__STRING,
        [FLYTEIDL__CORE__PRIMITIVE__VALUE_BOOLEAN] = FLYTEIDL__CORE__SIMPLE_TYPE__BOOLEAN,
        [FLYTEIDL__CORE__PRIMITIVE__VALUE_DATETIME] = FLYTEIDL__CORE__SIMPLE_TYPE__DATETIME,
        [FLYTEIDL__CORE__PRIMITIVE__VALUE_DURATION] = FLYTEIDL__CORE__SIMPLE_TYPE__DURATION};
    size_t kind = (size_t)value->value_case;
    return kind < TR_COUNT_OF(types) && kind > 0 ? simple_type(typing, types[kind]) : NULL;
}

static flyte_type *scalar_type(struct typing *typing, const Flyteidl__Core__Scalar *value)
{
    flyte_type *type = NULL;
    switch (value->value_case) {
    case FLYTEIDL__CORE__SCALAR__VALUE_PRIMITIVE:
        return primitive_type(typing, value->primitive);
    case FLYTEIDL__CORE__SCALAR__VALUE_BLOB:
        type = new_type(typing, FLYTEIDL__CORE__LITERAL_TYPE__TYPE_BLOB);
        if (type != NULL) {
            type->blob = value->blob->metadata == NULL ? NULL : value->blob->metadata->type;
        }
        return type == NULL || type->blob == NULL ? NULL : type;
    case FLYTEIDL__CORE__SCALAR__VALUE_SCHEMA:
        type = new_type(typing, FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SCHEMA);
        if (type != NULL) {
            type->schema = value->schema->type;
        }
        return type == NULL || type->schema == NULL ? NULL : type;
    case FLYTEIDL__CORE__SCALAR__VALUE_STRUCTURED_DATASET:
        type = new_type(typing, FLYTEIDL__CORE__LITERAL_TYPE__TYPE_STRUCTURED_DATASET_TYPE);
        if (type != NULL && value->structured_dataset->metadata != NULL) {
            type->structured_dataset_type =
                value->structured_dataset->metadata->structured_dataset_type;
        }
        return type == NULL || type->structured_dataset_type == NULL ? NULL : type;
    case FLYTEIDL__CORE__SCALAR__VALUE_UNION:
        return value->union_->type;
    case FLYTEIDL__CORE__SCALAR__VALUE_NONE_TYPE:
        return simple_type(typing, FLYTEIDL__CORE__SIMPLE_TYPE__NONE);
    case FLYTEIDL__CORE__SCALAR__VALUE_ERROR:
        return simple_type(typing, FLYTEIDL__CORE__SIMPLE_TYPE__ERROR);
    case FLYTEIDL__CORE__SCALAR__VALUE_GENERIC:
        return simple_type(typing, FLYTEIDL__CORE__SIMPLE_TYPE__STRUCT);
    case FLYTEIDL__CORE__SCALAR__VALUE_BINARY: {
        bool is_struct = strcmp(value->binary->tag, "msgpack") == 0;
        return simple_type(typing, is_struct ? FLYTEIDL__CORE__SIMPLE_TYPE__STRUCT
                                             : FLYTEIDL__CORE__SIMPLE_TYPE__BINARY);
    }
    case FLYTEIDL__CORE__SCALAR__VALUE__NOT_SET:
    default:
        return NULL;
    }
}

/* Of a list the first element says it. Documents do not nest deeper than TR_TREE_DEPTH_MAX. */
static flyte_type *literal_type(struct typing *typing, const Flyteidl__Core__Literal *literal)
{
    if (literal == NULL) {
        return NULL;
    }
    switch (literal->value_case) {
    case FLYTEIDL__CORE__LITERAL__VALUE_SCALAR:
        return scalar_type(typing, literal->scalar);
    case FLYTEIDL__CORE__LITERAL__VALUE_COLLECTION:
        return type_around(typing,
                           literal->collection->n_literals == 0
                               ? NULL
                               : literal_type(typing, literal->collection->literals[0]),
                           false);
    case FLYTEIDL__CORE__LITERAL__VALUE_MAP:
        return type_around(typing,
                           literal->map->n_literals == 0
                               ? NULL
                               : literal_type(typing, literal->map->literals[0]->value),
                           true);
    case FLYTEIDL__CORE__LITERAL__VALUE_OFFLOADED_METADATA:
        return literal->offloaded_metadata->inferred_type;
    case FLYTEIDL__CORE__LITERAL__VALUE__NOT_SET:
    default:
        return NULL;
    }
}

static bool is_bound(const Flyteidl__Core__ArrayNode *array, const char *name)
{
    for (size_t i = 0; i < array->n_bound_inputs; i++) {
        if (strcmp(array->bound_inputs[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* A variable of what a node runs, as the node has it: of an array a list of it. */
static flyte_type *type_at(struct typing *typing, const flyte_node *node,
                           const struct target *target, const char *name, bool is_output)
{
    const Flyteidl__Core__TypedInterface *interface = target->interface;
    flyte_type *type =
        interface == NULL ? NULL
                          : variable_type(is_output ? interface->outputs : interface->inputs, name);
    bool is_list = node->target_case == FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE &&
                   !target->is_map && (is_output || !is_bound(node->array_node, name));
    return type != NULL && is_list ? type_around(typing, type, false) : type;
}

/* What a binding gives; NULL: not known. */
static flyte_type *given_type(struct typing *typing, const struct workflow *workflow,
                              const binding_data *data)
{
    const char *name = name_of_input(data);
    if (name != NULL) {
        const struct input *input = input_of(workflow, name);
        return input == NULL ? NULL : input->type;
    }
    switch (data->value_case) {
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_SCALAR:
        return scalar_type(typing, data->scalar);
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_COLLECTION:
        return data->collection->n_bindings == 0
                   ? NULL
                   : type_around(typing,
                                 given_type(typing, workflow, data->collection->bindings[0]),
                                 false);
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE: {
        const flyte_node *node = node_of(workflow, data->promise->node_id);
        const struct target *target =
            node == NULL || data->promise->n_attr_path > 0 ? NULL : target_of(typing, node);
        return target == NULL ? NULL : type_at(typing, node, target, data->promise->var, true);
    }
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_MAP:
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_OFFLOADED_METADATA:
    case FLYTEIDL__CORE__BINDING_DATA__VALUE__NOT_SET:
    default:
        return NULL;
    }
}

/* ------------------------------------------------------------------ learning */

static void learn_name(struct typing *typing, struct workflow *workflow, const char *name,
                       flyte_type *type)
{
    struct input *input = input_of(workflow, name);
    if (input != NULL && input->type == NULL && type != NULL) {
        input->type = type;
        typing->has_more = true;
    }
}

/* What is bound to a place of a type. */
static void learn(struct typing *typing, struct workflow *workflow, const binding_data *data,
                  flyte_type *type)
{
    const char *name = data == NULL ? NULL : name_of_input(data);
    if (data == NULL || type == NULL) {
        return;
    }
    if (name != NULL) {
        learn_name(typing, workflow, name, type);
    } else if (data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_COLLECTION &&
               type->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_COLLECTION_TYPE) {
        for (size_t i = 0; i < data->collection->n_bindings; i++) {
            learn(typing, workflow, data->collection->bindings[i], type->collection_type);
        }
    } else if (data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_MAP &&
               type->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_MAP_VALUE_TYPE) {
        for (size_t i = 0; i < data->map->n_bindings; i++) {
            learn(typing, workflow, data->map->bindings[i]->value, type->map_value_type);
        }
    }
}

static void learn_node(struct typing *typing, struct workflow *workflow, const flyte_node *node)
{
    const struct target *target = target_of(typing, node);
    for (size_t i = 0; target != NULL && i < node->n_inputs; i++) {
        const Flyteidl__Core__Binding *binding = node->inputs[i];
        if (binding->binding == NULL) {
            continue;
        }
        if (target->workflow == NULL) {
            learn(typing, workflow, binding->binding,
                  type_at(typing, node, target, binding->var, false));
            continue;
        }
        const struct input *input = input_of(target->workflow, binding->var);
        if (input != NULL && input->type != NULL) {
            learn(typing, workflow, binding->binding, input->type);
        } else if (input != NULL) {
            learn_name(typing, target->workflow, binding->var,
                       given_type(typing, workflow, binding->binding));
        }
    }
}

static void learn_outputs(struct typing *typing, struct workflow *workflow)
{
    const flyte_workflow *message = workflow->message;
    for (size_t i = 0; i < message->n_outputs; i++) {
        learn(typing, workflow, message->outputs[i]->binding,
              variable_type(message->interface->outputs, message->outputs[i]->var));
    }
}

static void learn_all(struct typing *typing)
{
    typing->has_more = true;
    for (uint32_t round = 0; typing->has_more && round < TR_WORKFLOW_NESTING_MAX; round++) {
        typing->has_more = false;
        for (size_t i = 0; i < typing->workflow_count; i++) {
            struct workflow *workflow = &typing->workflows[i];
            const struct node *nodes = workflow->nodes.items;
            for (uint32_t j = 0; j < workflow->nodes.count; j++) {
                learn_node(typing, workflow, nodes[j].message);
            }
            learn_outputs(typing, workflow);
        }
    }
}

/* ------------------------------------------------------------------ conditions */

/* A variable of a condition is the input of its branch; the other side says the type. */
static void learn_operand(struct typing *typing, struct workflow *workflow,
                          const flyte_node *branch, const Flyteidl__Core__Operand *variable,
                          const Flyteidl__Core__Operand *value)
{
    bool is_pair = variable != NULL && value != NULL &&
                   variable->val_case == FLYTEIDL__CORE__OPERAND__VAL_VAR &&
                   value->val_case == FLYTEIDL__CORE__OPERAND__VAL_PRIMITIVE;
    for (size_t i = 0; is_pair && i < branch->n_inputs; i++) {
        if (strcmp(branch->inputs[i]->var, variable->var) == 0) {
            learn(typing, workflow, branch->inputs[i]->binding,
                  primitive_type(typing, value->primitive));
        }
    }
}

static void learn_condition(struct typing *typing, struct workflow *workflow,
                            const flyte_node *branch,
                            const Flyteidl__Core__BooleanExpression *expression)
{
    if (expression == NULL) {
        return;
    }
    if (expression->expr_case == FLYTEIDL__CORE__BOOLEAN_EXPRESSION__EXPR_CONJUNCTION) {
        learn_condition(typing, workflow, branch, expression->conjunction->left_expression);
        learn_condition(typing, workflow, branch, expression->conjunction->right_expression);
    } else if (expression->expr_case == FLYTEIDL__CORE__BOOLEAN_EXPRESSION__EXPR_COMPARISON) {
        const Flyteidl__Core__ComparisonExpression *comparison = expression->comparison;
        learn_operand(typing, workflow, branch, comparison->left_value, comparison->right_value);
        learn_operand(typing, workflow, branch, comparison->right_value, comparison->left_value);
    }
}

static void learn_branch(struct typing *typing, struct workflow *workflow, const flyte_node *branch)
{
    const Flyteidl__Core__IfElseBlock *block = branch->branch_node->if_else;
    learn_condition(typing, workflow, branch, block->case_->condition);
    for (size_t i = 0; i < block->n_other; i++) {
        learn_condition(typing, workflow, branch, block->other[i]->condition);
    }
}

static void learn_conditions(struct typing *typing)
{
    for (size_t i = 0; i < typing->workflow_count; i++) {
        struct workflow *workflow = &typing->workflows[i];
        const struct node *nodes = workflow->nodes.items;
        for (uint32_t j = 0; j < workflow->nodes.count; j++) {
            if (nodes[j].message->target_case == FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE) {
                learn_branch(typing, workflow, nodes[j].message);
            }
        }
    }
}

/* ------------------------------------------------------------------ what there is */

static void add_input(struct typing *typing, struct workflow *workflow, const char *name)
{
    struct input *input = tri_vector_add(typing->arena, &workflow->inputs, sizeof *input);
    if (input != NULL) {
        input->name = name;
    }
}

static void add_inputs(struct typing *typing, struct workflow *workflow, const binding_data *data)
{
    const char *name = data == NULL ? NULL : name_of_input(data);
    if (data == NULL) {
        return;
    }
    if (data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_COLLECTION) {
        for (size_t i = 0; i < data->collection->n_bindings; i++) {
            add_inputs(typing, workflow, data->collection->bindings[i]);
        }
    } else if (data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_MAP) {
        for (size_t i = 0; i < data->map->n_bindings; i++) {
            add_inputs(typing, workflow, data->map->bindings[i]->value);
        }
    } else if (name == NULL && data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE) {
        const char *node = data->promise->node_id;
        name =
            node[0] == '\0' || strcmp(node, TRI_FLYTE_START_NODE) == 0 ? data->promise->var : NULL;
    }
    if (name != NULL) {
        add_input(typing, workflow, name);
    }
}

/* A node with the arms of its branch. */
static void add_node(struct typing *typing, struct workflow *workflow, const flyte_node *node)
{
    struct node *added = tri_vector_add(typing->arena, &workflow->nodes, sizeof *added);
    const struct target *target = target_of(typing, node);
    if (added == NULL) {
        return;
    }
    *added = (struct node){.id = node->id, .message = node};
    for (size_t i = 0; i < node->n_inputs; i++) {
        add_inputs(typing, workflow, node->inputs[i]->binding);
        if (target != NULL && target->workflow != NULL) {
            add_input(typing, target->workflow, node->inputs[i]->var);
        }
    }
    if (node->target_case == FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE) {
        const Flyteidl__Core__IfElseBlock *block = node->branch_node->if_else;
        add_node(typing, workflow, block->case_->then_node);
        for (size_t i = 0; i < block->n_other; i++) {
            add_node(typing, workflow, block->other[i]->then_node);
        }
        if (block->default_case == FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ELSE_NODE) {
            add_node(typing, workflow, block->else_node);
        }
    }
}

/* Each name once, in order. */
static void sort_inputs(struct workflow *workflow)
{
    struct input *inputs = workflow->inputs.items;
    uint32_t kept = 0;
    if (workflow->inputs.count > 1) {
        qsort(inputs, workflow->inputs.count, sizeof *inputs, by_name);
    }
    for (uint32_t i = 0; i < workflow->inputs.count; i++) {
        if (kept == 0 || strcmp(inputs[kept - 1].name, inputs[i].name) != 0) {
            inputs[kept++] = inputs[i];
        }
    }
    workflow->inputs.count = kept;
}

static void collect(struct typing *typing, const Flyteidl__Core__LiteralMap *given)
{
    for (size_t i = 0; i < typing->workflow_count; i++) {
        struct workflow *workflow = &typing->workflows[i];
        const flyte_workflow *message = workflow->message;
        for (size_t j = 0; j < message->n_nodes; j++) {
            add_node(typing, workflow, message->nodes[j]);
        }
        if (message->failure_node != NULL) {
            add_node(typing, workflow, message->failure_node);
        }
        for (size_t j = 0; j < message->n_outputs; j++) {
            add_inputs(typing, workflow, message->outputs[j]->binding);
        }
    }
    for (size_t i = 0; given != NULL && i < given->n_literals; i++) {
        add_input(typing, &typing->workflows[0], given->literals[i]->key);
    }
    for (size_t i = 0; i < typing->workflow_count; i++) {
        struct workflow *workflow = &typing->workflows[i];
        sort_inputs(workflow);
        if (workflow->nodes.count > 1) {
            qsort(workflow->nodes.items, workflow->nodes.count, sizeof(struct node), by_id);
        }
    }
}

static bool begin(struct typing *typing, const flyte_closure *closure)
{
    size_t workflows = 1 + closure->n_sub_workflows;
    typing->workflows = tr_arena_array(typing->arena, workflows, sizeof *typing->workflows);
    typing->targets =
        tr_arena_array(typing->arena, workflows + closure->n_tasks, sizeof *typing->targets);
    if (typing->workflows == NULL || typing->targets == NULL) {
        return false;
    }
    typing->workflow_count = workflows;
    for (size_t i = 0; i < workflows; i++) {
        flyte_workflow *message =
            i == 0 ? closure->primary->template_ : closure->sub_workflows[i - 1]->template_;
        typing->workflows[i].message = message;
        typing->targets[typing->target_count++] = (struct target){
            .id = message->id, .interface = message->interface, .workflow = &typing->workflows[i]};
    }
    for (size_t i = 0; i < closure->n_tasks; i++) {
        const Flyteidl__Core__TaskTemplate *task = closure->tasks[i]->template_;
        typing->targets[typing->target_count++] = (struct target){
            .id = task->id, .interface = task->interface, .is_map = task->task_type_version == 1};
    }
    qsort(typing->targets, typing->target_count, sizeof *typing->targets, by_place);
    return true;
}

/* ------------------------------------------------------------------ the whole */

static bool put_input(struct typing *typing, struct tr_report *report, const struct input *input,
                      Flyteidl__Core__VariableMap__VariablesEntry **entry)
{
    Flyteidl__Core__VariableMap__VariablesEntry *made =
        tri_flyte_new(typing->arena, &flyteidl__core__variable_map__variables_entry__descriptor);
    Flyteidl__Core__Variable *variable =
        tri_flyte_new(typing->arena, &flyteidl__core__variable__descriptor);
    if (made == NULL || variable == NULL) {
        return false;
    }
    if (input->type == NULL) {
        tri_report_add(report, (struct tri_place){0}, "ValueRequired",
                       "nothing says the type of the input '%s'\n"
                       "bind it to an input of a task, or give it a value under inputs",
                       input->name);
        return false;
    }
    made->key = tri_flyte_string(typing->arena, tr_text_of(input->name), &typing->arena->error);
    made->value = variable;
    variable->type = input->type;
    *entry = made;
    return true;
}

static bool put_inputs(struct typing *typing, struct tr_report *report,
                       const struct workflow *workflow)
{
    const struct input *inputs = workflow->inputs.items;
    variable_map *variables =
        tri_flyte_new(typing->arena, &flyteidl__core__variable_map__descriptor);
    struct tr_text before = tri_report_subject(report, tr_text_of(workflow->message->id->name));
    bool is_fine = variables != NULL;
    if (is_fine) {
        variables->variables =
            tr_arena_array(typing->arena, workflow->inputs.count, sizeof(void *));
        is_fine = variables->variables != NULL;
    }
    for (uint32_t i = 0; is_fine && i < workflow->inputs.count; i++) {
        is_fine = put_input(typing, report, &inputs[i], &variables->variables[i]);
        variables->n_variables += is_fine ? 1 : 0;
    }
    workflow->message->interface->inputs = variables;
    (void)tri_report_subject(report, before);
    return is_fine;
}

bool tri_flyteworkflow_type(struct tr_arena *arena, struct tr_report *report,
                            const flyte_closure *closure, const Flyteidl__Core__LiteralMap *given)
{
    struct typing typing = {.arena = arena};
    if (!begin(&typing, closure)) {
        return false;
    }
    collect(&typing, given);
    if (arena->error != 0) {
        return false;
    }
    learn_all(&typing);
    learn_conditions(&typing);
    learn_all(&typing);
    for (size_t i = 0; given != NULL && i < given->n_literals; i++) {
        learn_name(&typing, &typing.workflows[0], given->literals[i]->key,
                   literal_type(&typing, given->literals[i]->value));
    }
    learn_all(&typing);
    bool is_fine = arena->error == 0;
    for (size_t i = 0; i < typing.workflow_count; i++) {
        is_fine = put_inputs(&typing, report, &typing.workflows[i]) && is_fine;
    }
    return is_fine;
}
