/*
 * Conditions of branches, part by part: operands first, then what compares or joins them, the root
 * last (language/expression.h).
 */
#include <string.h>

#include "actors/graph/import/import_inside.h"

/* A condition on its way. */
struct reading {
    struct tri_import *import;
    const flyte_node *branch;
    struct tri_vector parts; /* struct tri_part */
    uint32_t depth;
};

static bool tell(const struct reading *reading, const char *code, const char *words)
{
    return tri_import_tell(reading->import, code, words);
}

/* Another part; its position. NULL: told, or memory ended. */
static struct tri_part *add_part(struct reading *reading, enum tr_condition_kind kind,
                                 uint32_t *position)
{
    if (reading->parts.count == TR_CONDITION_PARTS_MAX) {
        (void)tell(reading, "InvalidValue", "the condition has too many parts\nlet a task decide");
        return NULL;
    }
    struct tri_part *part = tri_vector_add(reading->import->arena, &reading->parts, sizeof *part);
    if (part != NULL) {
        part->kind = (uint8_t)kind;
        *position = reading->parts.count - 1;
    }
    return part;
}

/* ------------------------------------------------------------------ operands */

/* The type of a literal: its own, which the compiler may narrow by what stands beside it. */
static bool type_of(const struct tr_tree *tree, const Flyteidl__Core__Scalar *scalar,
                    enum tr_type_kind *kind)
{
    bool is_primitive = scalar->value_case == FLYTEIDL__CORE__SCALAR__VALUE_PRIMITIVE;
    unsigned form = is_primitive ? (unsigned)scalar->primitive->value_case : 0;
    switch ((enum tr_tree_kind)tree->kind) {
    case TR_TREE_NULL:
        *kind = TR_TYPE_NONE;
        return true;
    case TR_TREE_BOOL:
        *kind = TR_TYPE_BOOL;
        return true;
    case TR_TREE_INT:
        *kind = TR_TYPE_INT;
        return true;
    case TR_TREE_FLOAT:
        *kind = TR_TYPE_FLOAT;
        return true;
    case TR_TREE_STRING:
        *kind = form == FLYTEIDL__CORE__PRIMITIVE__VALUE_DATETIME   ? TR_TYPE_DATETIME
                : form == FLYTEIDL__CORE__PRIMITIVE__VALUE_DURATION ? TR_TYPE_DURATION
                                                                    : TR_TYPE_STRING;
        return true;
    default:
        return false;
    }
}

/* A literal as messages show it. */
static struct tr_text text_of(struct reading *reading, const struct tr_tree *tree)
{
    struct tr_arena *arena = reading->import->arena;
    switch ((enum tr_tree_kind)tree->kind) {
    case TR_TREE_BOOL:
        return tr_text_of(tree->boolean ? "true" : "false");
    case TR_TREE_INT:
        return tr_arena_print(arena, "%lld", (long long)tree->integer);
    case TR_TREE_FLOAT:
        return tr_arena_print(arena, "%.17g", tree->number);
    case TR_TREE_STRING:
        return tree->text;
    default:
        return tr_text_of("none");
    }
}

static bool add_literal(struct reading *reading, const Flyteidl__Core__Scalar *scalar,
                        uint32_t *position)
{
    struct tri_import *import = reading->import;
    const struct tr_tree *tree =
        tri_flyte_scalar(import->arena, import->report, NULL, scalar, import->files);
    enum tr_type_kind kind;
    if (tree == NULL) {
        return false;
    }
    if (!type_of(tree, scalar, &kind)) {
        return tell(reading, "InvalidValue",
                    "a condition compares with a list or a struct\n"
                    "compare with a number, a text, a bool, a datetime or a duration");
    }
    struct tri_part *part = add_part(reading, TR_CONDITION_LITERAL, position);
    if (part == NULL) {
        return false;
    }
    part->type = tr_type_simple(import->definition->types, kind);
    part->tree = *tree;
    part->text = text_of(reading, tree);
    return part->type != NULL;
}

static bool add_reference(struct reading *reading, const Flyteidl__Core__OutputReference *promise,
                          uint32_t *position)
{
    struct tri_reference reference;
    if (!tri_import_reference(reading->import, promise, &reference)) {
        return false;
    }
    struct tri_part *part = add_part(reading, TR_CONDITION_INPUT, position);
    if (part != NULL) {
        part->reference = reference;
    }
    return part != NULL;
}

/*
 * The condition's variables are inputs of the branch, which has none in a definition: they are
 * replaced by what they are bound to.
 */
static bool add_variable(struct reading *reading, const char *var, uint32_t *position)
{
    const flyte_node *branch = reading->branch;
    const Flyteidl__Core__BindingData *bound = NULL;
    for (size_t i = 0; i < branch->n_inputs && bound == NULL; i++) {
        bound = strcmp(branch->inputs[i]->var, var) == 0 ? branch->inputs[i]->binding : NULL;
    }
    if (bound != NULL && bound->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE) {
        return add_reference(reading, bound->promise, position);
    }
    if (bound != NULL && bound->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_SCALAR) {
        return add_literal(reading, bound->scalar, position);
    }
    struct tr_text before = tri_import_begin(reading->import, "inputs.", var);
    (void)tell(reading, "VariableNameNotFound",
               "a condition names this, which the branch has not bound\n"
               "bind it among the inputs of the branch");
    (void)tri_report_subject(reading->import->report, before);
    return false;
}

static bool add_operand(struct reading *reading, const Flyteidl__Core__Operand *operand,
                        uint32_t *position)
{
    Flyteidl__Core__Scalar scalar = FLYTEIDL__CORE__SCALAR__INIT;
    if (operand == NULL) {
        return tell(reading, "ValueRequired",
                    "a comparison has no operand\ngive the comparison two sides");
    }
    switch (operand->val_case) {
    case FLYTEIDL__CORE__OPERAND__VAL_PRIMITIVE:
        scalar.value_case = FLYTEIDL__CORE__SCALAR__VALUE_PRIMITIVE;
        scalar.primitive = operand->primitive;
        return add_literal(reading, &scalar, position);
    case FLYTEIDL__CORE__OPERAND__VAL_SCALAR:
        return add_literal(reading, operand->scalar, position);
    case FLYTEIDL__CORE__OPERAND__VAL_VAR:
        return add_variable(reading, operand->var, position);
    default:
        return tell(reading, "ValueRequired",
                    "an operand of a comparison is empty\ngive the comparison two sides");
    }
}

/* ------------------------------------------------------------------ conditions */

static bool join(struct reading *reading, enum tr_condition_kind kind, uint32_t left,
                 uint32_t right, uint32_t *root)
{
    struct tri_part *part = add_part(reading, kind, root);
    if (part != NULL) {
        part->left = left;
        part->right = right;
    }
    return part != NULL;
}

static bool add_comparison(struct reading *reading,
                           const Flyteidl__Core__ComparisonExpression *comparison, uint32_t *root)
{
    /* In the order of flyteidl's ComparisonExpression.Operator. */
    static const enum tr_condition_kind kinds[] = {TR_CONDITION_EQUAL,   TR_CONDITION_NOT_EQUAL,
                                                   TR_CONDITION_GREATER, TR_CONDITION_GREATER_EQUAL,
                                                   TR_CONDITION_LESS,    TR_CONDITION_LESS_EQUAL};
    uint32_t left = 0;
    uint32_t right = 0;
    if ((size_t)comparison->operator_ >= TR_COUNT_OF(kinds)) {
        return tell(
            reading, "UnrecognizedValue",
            "a comparison is of a kind that is not known\ncompare by ==, !=, <, <=, > or >=");
    }
    bool is_fine = add_operand(reading, comparison->left_value, &left);
    is_fine = add_operand(reading, comparison->right_value, &right) && is_fine;
    return is_fine && join(reading, kinds[comparison->operator_], left, right, root);
}

static bool add_condition(struct reading *reading,
                          const Flyteidl__Core__BooleanExpression *expression, uint32_t *root)
{
    uint32_t left = 0;
    uint32_t right = 0;
    if (expression != NULL &&
        expression->expr_case == FLYTEIDL__CORE__BOOLEAN_EXPRESSION__EXPR_COMPARISON) {
        return add_comparison(reading, expression->comparison, root);
    }
    if (expression == NULL ||
        expression->expr_case != FLYTEIDL__CORE__BOOLEAN_EXPRESSION__EXPR_CONJUNCTION) {
        return tell(reading, "BranchNodeHasNoCondition",
                    "an arm of a branch has no condition\ngive each arm but the last one");
    }
    if (reading->depth == TR_CONDITION_DEPTH_MAX) {
        return tell(reading, "InvalidValue", "the condition nests too deeply\nlet a task decide");
    }
    const Flyteidl__Core__ConjunctionExpression *both = expression->conjunction;
    bool is_and = both->operator_ == FLYTEIDL__CORE__CONJUNCTION_EXPRESSION__LOGICAL_OPERATOR__AND;
    reading->depth++;
    bool is_fine = add_condition(reading, both->left_expression, &left);
    is_fine = add_condition(reading, both->right_expression, &right) && is_fine;
    reading->depth--;
    return is_fine && join(reading, is_and ? TR_CONDITION_AND : TR_CONDITION_OR, left, right, root);
}

bool tri_import_condition(struct tri_import *import, const flyte_node *branch,
                          const Flyteidl__Core__BooleanExpression *expression,
                          struct tri_condition *condition)
{
    struct reading reading = {.import = import, .branch = branch};
    uint32_t root;
    bool is_fine = add_condition(&reading, expression, &root);
    if (is_fine) {
        *condition =
            (struct tri_condition){.parts = reading.parts.items, .count = reading.parts.count};
    }
    return is_fine;
}
