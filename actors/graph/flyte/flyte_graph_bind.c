/*
 * Bindings and conditions as the language writes them: references begin with a dollar sign, so a
 * string that does is written with two.
 *
 * Everything is written as text of the language and read again by the compiler: a reference as
 * $["node"]["output"]["key"][0], a condition as its infix form with brackets around both sides.
 * Whether something has a name is the compiler's matter.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/flyte/flyte_graph.h"
#include "actors/graph/value/literal.h"

#define START_NODE TRI_FLYTE_START_NODE
#define VALUE_OUTPUT "value" /* of a signal */

/* ------------------------------------------------------------------ references */

/*
 * Text between quotes, in references and conditions. The backslash escapes a quote and itself,
 * which is what reference.c and expression.c take back.
 */
static void put_quoted(struct tr_buffer *buffer, struct tr_text text)
{
    tr_buffer_add_string(buffer, "\"");
    for (size_t i = 0; i < text.size; i++) {
        bool is_special = text.data[i] == '"' || text.data[i] == '\\';
        tr_buffer_add_string(buffer, is_special ? "\\" : "");
        tr_buffer_add(buffer, &text.data[i], 1);
    }
    tr_buffer_add_string(buffer, "\"");
}

/* Inputs of a workflow are outputs of its start node in Flyte; in the language they are `$name`. */
static bool is_start(const char *id)
{
    return id[0] == '\0' || strcmp(id, START_NODE) == 0;
}

/* An output as ours is called: that of a signal has one name, an alias stands for another. */
static const char *output_name(const struct tri_flyte_graph *graph, const char *id, const char *var)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const Flyteidl__Core__Node *node = graph->nodes[i];
        if (strcmp(node->id, id) != 0) {
            continue;
        }
        bool is_signal =
            node->target_case == FLYTEIDL__CORE__NODE__TARGET_GATE_NODE &&
            node->gate_node->condition_case == FLYTEIDL__CORE__GATE_NODE__CONDITION_SIGNAL;
        if (is_signal) {
            return VALUE_OUTPUT;
        }
        for (size_t k = 0; k < node->n_output_aliases; k++) {
            if (strcmp(node->output_aliases[k]->alias, var) == 0) {
                return node->output_aliases[k]->var;
            }
        }
    }
    return var;
}

static void put_brackets(struct tr_buffer *buffer, const char *name)
{
    tr_buffer_add_string(buffer, "[");
    put_quoted(buffer, tr_text_of(name));
    tr_buffer_add_string(buffer, "]");
}

/*
 * All names are written in brackets, as they may hold characters that the language's cannot, and
 * inputs of Flyte's may be called as its nodes are: $start-node["input"], $["node"]["output"].
 */
static void put_reference(struct tri_flyte_graph *graph,
                          const Flyteidl__Core__OutputReference *promise, struct tr_buffer *buffer)
{
    if (is_start(promise->node_id)) {
        tr_buffer_add_string(buffer, "$" TRI_FLYTE_START_NODE);
        put_brackets(buffer, promise->var);
    } else {
        tr_buffer_add_string(buffer, "$");
        put_brackets(buffer, promise->node_id);
        put_brackets(buffer, output_name(graph, promise->node_id, promise->var));
    }
    for (size_t i = 0; i < promise->n_attr_path; i++) {
        const Flyteidl__Core__PromiseAttribute *step = promise->attr_path[i];
        if (step->value_case == FLYTEIDL__CORE__PROMISE_ATTRIBUTE__VALUE_STRING_VALUE) {
            put_brackets(buffer, step->string_value);
        } else {
            tr_buffer_print(buffer, "[%d]", step->int_value);
        }
    }
}

/* What was written, as a text of the document. */
static struct tr_tree *take_text(struct tri_flyte_graph *graph, struct tr_buffer *buffer)
{
    struct tr_text text = tr_arena_text(graph->arena, tr_buffer_text(buffer));
    if (buffer->error != 0) {
        graph->arena->error = buffer->error;
    }
    tr_buffer_fini(buffer);
    return graph->arena->error != 0 ? NULL : tri_flyte_text(graph->arena, text);
}

/* ------------------------------------------------------------------ bindings */

struct tr_text tri_flyte_escape(struct tr_arena *arena, struct tr_text text, bool has_lead)
{
    char *copy = tr_arena_array(arena, text.size, 2);
    size_t size = 0;
    for (size_t i = 0; copy != NULL && i < text.size; i++) {
        bool is_lead = has_lead && i == 0;
        bool is_one = text.data[i] == '$' && (is_lead || (i > 0 && text.data[i - 1] == '{'));
        copy[size++] = text.data[i];
        if (is_one) {
            copy[size++] = '$';
        }
    }
    return (struct tr_text){.data = copy == NULL ? "" : copy, .size = size};
}

/*
 * Escapes the strings in a tree. Without that a value such as "$5" or "{$x}" would be read as a
 * reference. False without memory.
 */
static bool escape(struct tri_flyte_graph *graph, struct tr_tree *tree)
{
    bool is_fine = true;
    if (tree->kind == TR_TREE_STRING && tree->has_dollar) {
        tree->text = tri_flyte_escape(graph->arena, tree->text, true);
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_LIST && i < tree->count; i++) {
        is_fine = escape(graph, tree->items[i]) && is_fine;
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_MAP && i < tree->count; i++) {
        /* The tree was made here, so it may be changed here. */
        is_fine = escape(graph, (struct tr_tree *)(uintptr_t)tree->pairs[i].value) && is_fine;
    }
    return is_fine && graph->arena->error == 0;
}

static struct tr_tree *bind_scalar(struct tri_flyte_graph *graph,
                                   const Flyteidl__Core__Scalar *scalar)
{
    struct tr_tree *tree =
        tri_flyte_scalar(graph->arena, graph->report, NULL, scalar, graph->files);
    return tree != NULL && escape(graph, tree) ? tree : NULL;
}

/* A value in a file of its own. */
static struct tr_tree *bind_elsewhere(struct tri_flyte_graph *graph,
                                      Flyteidl__Core__LiteralOffloadedMetadata *where)
{
    Flyteidl__Core__Literal literal;
    flyteidl__core__literal__init(&literal);
    literal.value_case = FLYTEIDL__CORE__LITERAL__VALUE_OFFLOADED_METADATA;
    literal.offloaded_metadata = where;
    struct tr_tree *tree =
        tri_flyte_literal(graph->arena, graph->report, NULL, &literal, graph->files);
    return tree != NULL && escape(graph, tree) ? tree : NULL;
}

static struct tr_tree *bind_list(struct tri_flyte_graph *graph,
                                 const Flyteidl__Core__BindingDataCollection *list)
{
    struct tr_tree **items =
        tr_arena_array(graph->arena, list->n_bindings, sizeof(struct tr_tree *));
    for (size_t i = 0; items != NULL && i < list->n_bindings; i++) {
        items[i] = tri_flyte_binding(graph, list->bindings[i]);
    }
    return tri_flyte_list(graph, items, list->n_bindings);
}

static struct tr_tree *bind_map(struct tri_flyte_graph *graph,
                                const Flyteidl__Core__BindingDataMap *map)
{
    struct tri_flyte_fields fields = {0};
    for (size_t i = 0; i < map->n_bindings; i++) {
        const Flyteidl__Core__BindingDataMap__BindingsEntry *entry = map->bindings[i];
        tri_flyte_put(graph, &fields, entry->key, tri_flyte_binding(graph, entry->value));
    }
    return tri_flyte_fields_tree(graph, &fields);
}

static struct tr_tree *bind_promise(struct tri_flyte_graph *graph,
                                    const Flyteidl__Core__OutputReference *promise)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    put_reference(graph, promise, &buffer);
    return take_text(graph, &buffer);
}

struct tr_tree *tri_flyte_binding(struct tri_flyte_graph *graph,
                                  const Flyteidl__Core__BindingData *binding)
{
    if (binding == NULL) {
        return tri_flyte_missing(graph, "ValueRequired",
                                 "a binding is empty\nbind a value, or leave the input out");
    }
    switch (binding->value_case) {
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_SCALAR:
        return bind_scalar(graph, binding->scalar);
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_COLLECTION:
        return bind_list(graph, binding->collection);
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_MAP:
        return bind_map(graph, binding->map);
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE:
        return bind_promise(graph, binding->promise);
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_OFFLOADED_METADATA:
        return bind_elsewhere(graph, binding->offloaded_metadata);
    default:
        return tri_flyte_missing(graph, "MismatchingBindings",
                                 "a binding is no value, list, map or reference\n"
                                 "bind a value, or leave the input out");
    }
}

/*
 * In the template the error of a failure node is bound to none, in whose place the engine has it.
 */
static bool is_error(const struct tri_flyte_graph *graph, const Flyteidl__Core__Binding *binding)
{
    const Flyteidl__Core__BindingData *data = binding->binding;
    const Flyteidl__Core__Scalar *scalar =
        data != NULL && data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_SCALAR
            ? data->scalar
            : NULL;
    if (scalar != NULL && scalar->value_case == FLYTEIDL__CORE__SCALAR__VALUE_UNION &&
        scalar->union_->value != NULL &&
        scalar->union_->value->value_case == FLYTEIDL__CORE__LITERAL__VALUE_SCALAR) {
        scalar = scalar->union_->value->scalar;
    }
    return graph->is_handler && strcmp(binding->var, "err") == 0 && scalar != NULL &&
           scalar->value_case == FLYTEIDL__CORE__SCALAR__VALUE_NONE_TYPE;
}

/* A reference is judged here as far as the language cannot: by fields and columns. */
static void check_field(struct tri_flyte_graph *graph, const Flyteidl__Core__Node *node,
                        const Flyteidl__Core__Binding *binding)
{
    const Flyteidl__Core__BindingData *data = binding->binding;
    bool is_map = node->target_case == FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE;
    if (data != NULL && data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE) {
        tri_flyte_check_field(graph, data->promise, binding->var,
                              is_map ? NULL : tri_flyte_input_type(graph, node, binding->var));
    }
}

struct tr_tree *tri_flyte_bindings(struct tri_flyte_graph *graph, const Flyteidl__Core__Node *node)
{
    struct tri_flyte_fields fields = {0};
    for (size_t i = 0; i < node->n_inputs; i++) {
        const Flyteidl__Core__Binding *binding = node->inputs[i];
        struct tr_text before = tri_flyte_begin(graph, "inputs.", binding->var);
        check_field(graph, node, binding);
        tri_flyte_put(graph, &fields, binding->var,
                      is_error(graph, binding) ? tri_flyte_text(graph->arena, tr_text_of("$err"))
                                               : tri_flyte_binding(graph, binding->binding));
        (void)tri_report_subject(graph->report, before);
    }
    return tri_flyte_fields_tree(graph, &fields);
}

/* ------------------------------------------------------------------ conditions */

/*
 * A literal as conditions have it. Datetimes and durations are texts in the tree and bare words in
 * a condition, so the message tells whether quotes belong around the text.
 */
static bool put_literal(struct tri_flyte_graph *graph, const Flyteidl__Core__Scalar *scalar,
                        struct tr_buffer *buffer)
{
    const struct tr_tree *tree =
        tri_flyte_scalar(graph->arena, graph->report, NULL, scalar, graph->files);
    if (tree == NULL) {
        return false;
    }
    bool is_quoted = scalar->value_case != FLYTEIDL__CORE__SCALAR__VALUE_PRIMITIVE ||
                     scalar->primitive->value_case == FLYTEIDL__CORE__PRIMITIVE__VALUE_STRING_VALUE;
    switch ((enum tr_tree_kind)tree->kind) {
    case TR_TREE_NULL:
        tr_buffer_add_string(buffer, "none");
        return true;
    case TR_TREE_BOOL:
        tr_buffer_add_string(buffer, tree->boolean ? "true" : "false");
        return true;
    case TR_TREE_INT:
        tr_buffer_print(buffer, "%lld", (long long)tree->integer);
        return true;
    case TR_TREE_FLOAT:
        tri_number_write(tree->number, buffer);
        return true;
    case TR_TREE_STRING:
        if (is_quoted) {
            put_quoted(buffer, tri_flyte_escape(graph->arena, tree->text, false));
        } else {
            tr_buffer_add_text(buffer, tree->text); /* a datetime or a duration */
        }
        return true;
    default:
        (void)tri_flyte_missing(graph, "InvalidValue",
                                "a condition compares with a list or a struct\n"
                                "compare with a number, a text, a bool, a datetime or a duration");
        return false;
    }
}

/* What a variable of the branch is bound to. */
static bool put_variable(struct tri_flyte_graph *graph, const Flyteidl__Core__Node *node,
                         const char *var, struct tr_buffer *buffer)
{
    const Flyteidl__Core__BindingData *bound = NULL;
    for (size_t i = 0; i < node->n_inputs && bound == NULL; i++) {
        bound = strcmp(node->inputs[i]->var, var) == 0 ? node->inputs[i]->binding : NULL;
    }
    if (bound != NULL && bound->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE) {
        put_reference(graph, bound->promise, buffer);
        return true;
    }
    if (bound != NULL && bound->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_SCALAR) {
        return put_literal(graph, bound->scalar, buffer);
    }
    struct tr_text before = tri_flyte_begin(graph, "inputs.", var);
    (void)tri_flyte_missing(graph, "VariableNameNotFound",
                            "a condition names this, which the branch has not bound\n"
                            "bind it among the inputs of the branch");
    (void)tri_report_subject(graph->report, before);
    return false;
}

static bool put_operand(struct tri_flyte_graph *graph, const Flyteidl__Core__Node *node,
                        const Flyteidl__Core__Operand *operand, struct tr_buffer *buffer)
{
    Flyteidl__Core__Scalar scalar = FLYTEIDL__CORE__SCALAR__INIT;
    if (operand == NULL) {
        (void)tri_flyte_missing(graph, "ValueRequired",
                                "a comparison has no operand\ngive the comparison two sides");
        return false;
    }
    switch (operand->val_case) {
    case FLYTEIDL__CORE__OPERAND__VAL_PRIMITIVE:
        scalar.value_case = FLYTEIDL__CORE__SCALAR__VALUE_PRIMITIVE;
        scalar.primitive = operand->primitive;
        return put_literal(graph, &scalar, buffer);
    case FLYTEIDL__CORE__OPERAND__VAL_SCALAR:
        return put_literal(graph, operand->scalar, buffer);
    case FLYTEIDL__CORE__OPERAND__VAL_VAR:
        return put_variable(graph, node, operand->var, buffer);
    default:
        (void)tri_flyte_missing(
            graph, "ValueRequired",
            "an operand of a comparison is empty\ngive the comparison two sides");
        return false;
    }
}

static bool put_comparison(struct tri_flyte_graph *graph, const Flyteidl__Core__Node *node,
                           const Flyteidl__Core__ComparisonExpression *comparison,
                           struct tr_buffer *buffer)
{
    /* In the order of flyteidl's ComparisonExpression.Operator. */
    static const char *const operators[] = {" == ", " != ", " > ", " >= ", " < ", " <= "};
    if ((size_t)comparison->operator_ >= TR_COUNT_OF(operators)) {
        (void)tri_flyte_missing(
            graph, "UnrecognizedValue",
            "a comparison is of a kind that is not known\ncompare by ==, !=, <, <=, > or >=");
        return false;
    }
    bool is_fine = put_operand(graph, node, comparison->left_value, buffer);
    tr_buffer_add_string(buffer, operators[comparison->operator_]);
    return put_operand(graph, node, comparison->right_value, buffer) && is_fine;
}

/*
 * Brackets around both sides keep Flyte's grouping, whatever binds tighter in the language. The
 * depth of the text is checked by the parser of conditions (TR_CONDITION_DEPTH_MAX).
 */
static bool put_condition(struct tri_flyte_graph *graph, const Flyteidl__Core__Node *node,
                          const Flyteidl__Core__BooleanExpression *condition,
                          struct tr_buffer *buffer)
{
    if (condition != NULL &&
        condition->expr_case == FLYTEIDL__CORE__BOOLEAN_EXPRESSION__EXPR_COMPARISON) {
        return put_comparison(graph, node, condition->comparison, buffer);
    }
    if (condition == NULL ||
        condition->expr_case != FLYTEIDL__CORE__BOOLEAN_EXPRESSION__EXPR_CONJUNCTION) {
        (void)tri_flyte_missing(
            graph, "BranchNodeHasNoCondition",
            "an arm of a branch has no condition\ngive each arm but the last one");
        return false;
    }
    const Flyteidl__Core__ConjunctionExpression *both = condition->conjunction;
    bool is_and = both->operator_ == FLYTEIDL__CORE__CONJUNCTION_EXPRESSION__LOGICAL_OPERATOR__AND;
    tr_buffer_add_string(buffer, "(");
    bool is_fine = put_condition(graph, node, both->left_expression, buffer);
    tr_buffer_add_string(buffer, is_and ? ") and (" : ") or (");
    is_fine = put_condition(graph, node, both->right_expression, buffer) && is_fine;
    tr_buffer_add_string(buffer, ")");
    return is_fine;
}

struct tr_tree *tri_flyte_condition(struct tri_flyte_graph *graph, const Flyteidl__Core__Node *node,
                                    const Flyteidl__Core__BooleanExpression *condition)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    bool is_fine = put_condition(graph, node, condition, &buffer);
    struct tr_tree *text = take_text(graph, &buffer);
    return is_fine ? text : NULL;
}
