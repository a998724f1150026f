/*
 * Bindings and conditions. A graph that came from Flyte has none but those that Flyte has words
 * for.
 */
#include "deploy/api_nodes/view_binding.h"

#include "actors/graph/flyte/flyte.h"
#include "actors/graph/flyte/flyte_message.h"
#include "actors/graph/value/literal.h"
#include "actors/graph/value/slot.h"
#include "deploy/api_runs/node_ids.h"
#include "deploy/api_runs/view.h"
#include "schemas/codec/error.h"

typedef Flyteidl__Core__BindingData binding_data;
typedef Flyteidl__Core__BooleanExpression expression;

/* ------------------------------------------------------------- literals */

static int put(void *self, struct tr_text text)
{
    struct tr_buffer *buffer = self;
    tr_buffer_add_text(buffer, text);
    return buffer->error;
}

/* A packed value as a literal; NULL: it lies elsewhere, or memory ended. */
static const Flyteidl__Core__Literal *literal_of(struct tr_desk_job *job,
                                                 const struct tr_type *type, struct tr_bytes value)
{
    struct tr_buffer entry;
    struct tr_offloaded where = {.variant = 0};
    const Flyteidl__Core__LiteralMap *map = NULL;
    if (type == NULL || tr_slot_is_offloaded(value, &where)) {
        return NULL;
    }
    tr_buffer_init(&entry, TR_RUNS_VALUES_BYTES_MAX);
    int error = tr_flyte_write(tr_text_of("value"), type, 0, value, put, &entry);
    if (error == 0) {
        map = tr_flyte_message_unpack(&job->arena, &flyteidl__core__literal_map__descriptor,
                                      tr_arena_bytes(&job->arena, tr_buffer_bytes(&entry)),
                                      16ULL * TR_RUNS_VALUES_BYTES_MAX);
    }
    tr_buffer_fini(&entry);
    return map == NULL || map->n_literals == 0 ? NULL : map->literals[0]->value;
}

static binding_data *data_new(struct tr_desk_job *job)
{
    return tr_flyte_message_new(&job->arena, &flyteidl__core__binding_data__descriptor);
}

static binding_data *data_of_literal(struct tr_desk_job *job,
                                     const Flyteidl__Core__Literal *literal);

static void set_collection(struct tr_desk_job *job, binding_data *data, size_t count)
{
    Flyteidl__Core__BindingDataCollection *made =
        tr_flyte_message_new(&job->arena, &flyteidl__core__binding_data_collection__descriptor);
    binding_data **items = tr_arena_array(&job->arena, count + 1, sizeof(void *));
    if (made != NULL && items != NULL) {
        made->bindings = items;
        data->collection = made;
        data->value_case = FLYTEIDL__CORE__BINDING_DATA__VALUE_COLLECTION;
    }
}

static void set_map(struct tr_desk_job *job, binding_data *data, size_t count)
{
    Flyteidl__Core__BindingDataMap *made =
        tr_flyte_message_new(&job->arena, &flyteidl__core__binding_data_map__descriptor);
    Flyteidl__Core__BindingDataMap__BindingsEntry **items =
        tr_arena_array(&job->arena, count + 1, sizeof(void *));
    if (made != NULL && items != NULL) {
        made->bindings = items;
        data->map = made;
        data->value_case = FLYTEIDL__CORE__BINDING_DATA__VALUE_MAP;
    }
}

static void add_entry(struct tr_desk_job *job, binding_data *data, char *key, binding_data *value)
{
    Flyteidl__Core__BindingDataMap__BindingsEntry *entry = tr_flyte_message_new(
        &job->arena, &flyteidl__core__binding_data_map__bindings_entry__descriptor);
    if (entry != NULL) {
        entry->key = key;
        entry->value = value;
        data->map->bindings[data->map->n_bindings++] = entry;
    }
}

/* The depth is that of the value's type, which the compiler bounds. */
static binding_data *data_of_literal(struct tr_desk_job *job,
                                     const Flyteidl__Core__Literal *literal)
{
    binding_data *data = data_new(job);
    if (data == NULL || literal == NULL) {
        return data;
    }
    if (literal->value_case == FLYTEIDL__CORE__LITERAL__VALUE_SCALAR) {
        data->scalar = literal->scalar;
        data->value_case = FLYTEIDL__CORE__BINDING_DATA__VALUE_SCALAR;
    } else if (literal->value_case == FLYTEIDL__CORE__LITERAL__VALUE_COLLECTION) {
        set_collection(job, data, literal->collection->n_literals);
        for (size_t i = 0; job->arena.error == 0 && i < literal->collection->n_literals; i++) {
            data->collection->bindings[data->collection->n_bindings++] =
                data_of_literal(job, literal->collection->literals[i]);
        }
    } else if (literal->value_case == FLYTEIDL__CORE__LITERAL__VALUE_MAP) {
        set_map(job, data, literal->map->n_literals);
        for (size_t i = 0; job->arena.error == 0 && i < literal->map->n_literals; i++) {
            add_entry(job, data, literal->map->literals[i]->key,
                      data_of_literal(job, literal->map->literals[i]->value));
        }
    }
    return job->arena.error == 0 ? data : NULL;
}

/* ------------------------------------------------------------- bindings */

static void set_promise(struct tr_desk_job *job, const struct tr_workflow *workflow,
                        const struct tr_binding *binding, binding_data *data)
{
    static char start[] = TR_NODE_ID_START;
    const struct tr_node *node = &workflow->nodes[binding->node];
    Flyteidl__Core__OutputReference *promise =
        tr_flyte_message_new(&job->arena, &flyteidl__core__output_reference__descriptor);
    Flyteidl__Core__PromiseAttribute **path =
        tr_arena_array(&job->arena, binding->count + 1, sizeof(void *));
    if (promise == NULL || path == NULL) {
        return;
    }
    const struct tr_variables *outputs =
        node->kind == TR_NODE_START ? &workflow->interface.inputs : &node->outputs;
    promise->node_id = node->kind == TR_NODE_START ? start : tr_view_text(job, node->id);
    promise->var = tr_view_text(job, outputs->items[binding->output].name);
    for (uint32_t i = 0; i < binding->count; i++) {
        const struct tr_step *step = &workflow->steps[binding->first + i];
        Flyteidl__Core__PromiseAttribute *attribute =
            tr_flyte_message_new(&job->arena, &flyteidl__core__promise_attribute__descriptor);
        if (attribute == NULL) {
            return;
        }
        attribute->value_case = step->is_index
                                    ? FLYTEIDL__CORE__PROMISE_ATTRIBUTE__VALUE_INT_VALUE
                                    : FLYTEIDL__CORE__PROMISE_ATTRIBUTE__VALUE_STRING_VALUE;
        if (step->is_index) {
            attribute->int_value = (int32_t)step->index;
        } else {
            attribute->string_value = tr_view_text(job, step->field);
        }
        path[promise->n_attr_path++] = attribute;
    }
    promise->attr_path = path;
    data->promise = promise;
    data->value_case = FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE;
}

/* Parts lie behind their whole, so that the depth is bounded. */
static binding_data *data_of(struct tr_desk_job *job, const struct tr_workflow *workflow,
                             const struct tr_binding *binding)
{
    if (binding->kind == TR_BINDING_LITERAL) {
        return data_of_literal(job, literal_of(job, binding->type, binding->literal));
    }
    binding_data *data = data_new(job);
    if (data == NULL) {
        return NULL;
    }
    if (binding->kind == TR_BINDING_REFERENCE) {
        set_promise(job, workflow, binding, data);
    } else if (binding->kind == TR_BINDING_LIST) {
        set_collection(job, data, binding->count);
        for (uint32_t i = 0; job->arena.error == 0 && i < binding->count; i++) {
            data->collection->bindings[data->collection->n_bindings++] =
                data_of(job, workflow, &workflow->bindings[binding->first + i]);
        }
    } else if (binding->kind == TR_BINDING_MAP) {
        set_map(job, data, binding->count);
        for (uint32_t i = 0; job->arena.error == 0 && i < binding->count; i++) {
            const struct tr_binding *part = &workflow->bindings[binding->first + i];
            add_entry(job, data, tr_view_text(job, part->key), data_of(job, workflow, part));
        }
    }
    return job->arena.error == 0 ? data : NULL;
}

Flyteidl__Core__Binding **tr_view_bindings(struct tr_desk_job *job,
                                           const struct tr_workflow *workflow,
                                           const struct tr_node *node, size_t *count)
{
    Flyteidl__Core__Binding **made =
        tr_arena_array(&job->arena, node->input_count + 1, sizeof(void *));
    *count = 0;
    for (uint32_t i = 0; made != NULL && i < node->input_count; i++) {
        const struct tr_binding *binding = &workflow->bindings[node->input_first + i];
        Flyteidl__Core__Binding *one =
            tr_flyte_message_new(&job->arena, &flyteidl__core__binding__descriptor);
        if (one == NULL) {
            return NULL;
        }
        one->var = tr_view_text(job, binding->key);
        one->binding = data_of(job, workflow, binding);
        made[(*count)++] = one;
    }
    return job->arena.error == 0 ? made : NULL;
}

/* ------------------------------------------------------------- conditions */

static Flyteidl__Core__Operand *operand_of(struct tr_desk_job *job,
                                           const struct tr_workflow *workflow,
                                           const struct tr_node *branch, uint32_t at)
{
    const struct tr_condition *condition = &workflow->conditions[at];
    Flyteidl__Core__Operand *operand =
        tr_flyte_message_new(&job->arena, &flyteidl__core__operand__descriptor);
    if (operand == NULL) {
        return NULL;
    }
    if (condition->kind == TR_CONDITION_INPUT) {
        operand->var =
            tr_view_text(job, workflow->bindings[branch->input_first + condition->input].key);
        operand->val_case = FLYTEIDL__CORE__OPERAND__VAL_VAR;
        return operand;
    }
    const Flyteidl__Core__Literal *literal =
        condition->kind == TR_CONDITION_LITERAL
            ? literal_of(job, condition->type, condition->literal)
            : NULL;
    if (literal != NULL && literal->value_case == FLYTEIDL__CORE__LITERAL__VALUE_SCALAR) {
        bool is_primitive = literal->scalar->value_case == FLYTEIDL__CORE__SCALAR__VALUE_PRIMITIVE;
        operand->val_case = is_primitive ? FLYTEIDL__CORE__OPERAND__VAL_PRIMITIVE
                                         : FLYTEIDL__CORE__OPERAND__VAL_SCALAR;
        if (is_primitive) {
            operand->primitive = literal->scalar->primitive;
        } else {
            operand->scalar = literal->scalar;
        }
    }
    return operand;
}

static void set_conjunction(struct tr_desk_job *job, const struct tr_workflow *workflow,
                            const struct tr_node *branch, uint32_t at, expression *made)
{
    const struct tr_condition *condition = &workflow->conditions[at];
    Flyteidl__Core__ConjunctionExpression *both =
        tr_flyte_message_new(&job->arena, &flyteidl__core__conjunction_expression__descriptor);
    if (both != NULL) {
        both->operator_ = condition->kind == TR_CONDITION_OR
                              ? FLYTEIDL__CORE__CONJUNCTION_EXPRESSION__LOGICAL_OPERATOR__OR
                              : FLYTEIDL__CORE__CONJUNCTION_EXPRESSION__LOGICAL_OPERATOR__AND;
        both->left_expression = tr_view_condition(job, workflow, branch, condition->left);
        both->right_expression = tr_view_condition(job, workflow, branch, condition->right);
        made->conjunction = both;
        made->expr_case = FLYTEIDL__CORE__BOOLEAN_EXPRESSION__EXPR_CONJUNCTION;
    }
}

static void set_comparison(struct tr_desk_job *job, const struct tr_workflow *workflow,
                           const struct tr_node *branch, uint32_t at, expression *made)
{
#define OPERATOR(name) FLYTEIDL__CORE__COMPARISON_EXPRESSION__OPERATOR__##name
    static const Flyteidl__Core__ComparisonExpression__Operator operators[] = {
        [TR_CONDITION_EQUAL] = OPERATOR(EQ),   [TR_CONDITION_NOT_EQUAL] = OPERATOR(NEQ),
        [TR_CONDITION_LESS] = OPERATOR(LT),    [TR_CONDITION_LESS_EQUAL] = OPERATOR(LTE),
        [TR_CONDITION_GREATER] = OPERATOR(GT), [TR_CONDITION_GREATER_EQUAL] = OPERATOR(GTE),
    };
#undef OPERATOR
    const struct tr_condition *condition = &workflow->conditions[at];
    Flyteidl__Core__ComparisonExpression *comparison =
        tr_flyte_message_new(&job->arena, &flyteidl__core__comparison_expression__descriptor);
    if (comparison != NULL) {
        comparison->operator_ = operators[condition->kind];
        comparison->left_value = operand_of(job, workflow, branch, condition->left);
        comparison->right_value = operand_of(job, workflow, branch, condition->right);
        made->comparison = comparison;
        made->expr_case = FLYTEIDL__CORE__BOOLEAN_EXPRESSION__EXPR_COMPARISON;
    }
}

/* Parts lie before their whole, so that the depth is bounded. */
expression *tr_view_condition(struct tr_desk_job *job, const struct tr_workflow *workflow,
                              const struct tr_node *branch, uint32_t condition)
{
    expression *made =
        tr_flyte_message_new(&job->arena, &flyteidl__core__boolean_expression__descriptor);
    uint8_t kind = workflow->conditions[condition].kind;
    if (made == NULL) {
        return NULL;
    }
    if (kind == TR_CONDITION_AND || kind == TR_CONDITION_OR) {
        set_conjunction(job, workflow, branch, condition, made);
    } else if (kind >= TR_CONDITION_EQUAL && kind <= TR_CONDITION_GREATER_EQUAL) {
        set_comparison(job, workflow, branch, condition, made);
    }
    return made;
}
