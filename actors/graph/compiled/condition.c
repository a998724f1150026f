/*
 * Conditions at run time: values are taken out of their packed form as one comparable thing each,
 * and the parts are walked from the root. A part's children stand before it, and there are no more
 * than TR_CONDITION_PARTS_MAX of them, which bounds the recursion.
 *
 * The compiler has checked all operands whose types are known (compiler/compile_branch.c). Parts of
 * a struct have no type, so they are judged here by the form of their value: what cannot be
 * compared is TR_INVALID, and not simply unequal, because a branch that is taken by mistake is
 * worse than one that fails.
 *
 * None is apart from that: it is equal to none, differs from everything else, and is neither
 * smaller nor greater. So a value that may be none can be tested, whatever else it is.
 */
#include "actors/graph/compiled/graph.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/value/note.h"

/* A value that can be compared. */
enum comparable_kind {
    COMPARABLE_NONE,
    COMPARABLE_BOOL,
    COMPARABLE_INT,
    COMPARABLE_FLOAT,
    COMPARABLE_TEXT,
    COMPARABLE_BYTES,
    COMPARABLE_MOMENT,
    COMPARABLE_DURATION, /* `integer` nanoseconds */
    COMPARABLE_OTHER,    /* equal to nothing but told apart from none */
};

struct comparable {
    enum comparable_kind kind;
    bool is_free; /* its type is known at run time only */
    int64_t integer;
    double number;
    struct tr_text text;
    struct tr_moment moment;
};

struct evaluation {
    const struct tr_workflow *workflow;
    const struct tr_node *branch;
    const struct tr_bytes *inputs;
    int error;
};

static struct comparable take_free(struct tr_cursor *cursor)
{
    struct comparable value = {.is_free = true, .kind = COMPARABLE_OTHER};
    switch (tri_value_kind(cursor)) {
    case TRI_VALUE_NIL:
        (void)tr_read_nil(cursor);
        value.kind = COMPARABLE_NONE;
        break;
    case TRI_VALUE_BOOL:
        value.kind = COMPARABLE_BOOL;
        value.integer = tr_read_bool(cursor) ? 1 : 0;
        break;
    case TRI_VALUE_INT:
        value.kind = COMPARABLE_INT;
        value.integer = tr_read_i64(cursor);
        break;
    case TRI_VALUE_FLOAT:
        value.kind = COMPARABLE_FLOAT;
        value.number = tr_read_f64(cursor);
        break;
    case TRI_VALUE_TEXT:
        value.kind = COMPARABLE_TEXT;
        value.text = tr_read_text(cursor);
        break;
    case TRI_VALUE_LIST:
    case TRI_VALUE_MAP:
    case TRI_VALUE_OTHER:
        break;
    }
    return value;
}

/*
 * A value by its type. A duration is packed as an integer, but is none: a number beside it has no
 * unit. Of a union only whether it is none is needed, since it compares with nothing else.
 */
static struct comparable take_typed(struct tr_cursor *cursor, const struct tr_type *type)
{
    struct comparable value = {.kind = COMPARABLE_OTHER};
    uint32_t position;
    tr_pass_note(cursor);
    switch ((enum tr_type_kind)type->kind) {
    case TR_TYPE_NONE:
    case TR_TYPE_INT:
    case TR_TYPE_FLOAT:
    case TR_TYPE_STRING:
    case TR_TYPE_BOOL:
    case TR_TYPE_ENUM:
        value = take_free(cursor);
        value.is_free = false;
        break;
    case TR_TYPE_DURATION:
        value.kind = COMPARABLE_DURATION;
        value.integer = tr_read_i64(cursor);
        break;
    case TR_TYPE_DATETIME:
        value.kind = COMPARABLE_MOMENT;
        value.moment = tr_read_moment(cursor);
        break;
    case TR_TYPE_BYTES: {
        struct tr_bytes bytes = tr_read_bytes(cursor);
        value.kind = COMPARABLE_BYTES;
        value.text = (struct tr_text){.data = (const char *)bytes.data, .size = bytes.size};
        break;
    }
    case TR_TYPE_UNION: {
        const struct tr_type *variant = tr_read_variant(cursor, type, &position);
        bool is_none = variant != NULL && variant->kind == TR_TYPE_NONE;
        value.kind = is_none ? COMPARABLE_NONE : COMPARABLE_OTHER;
        break;
    }
    case TR_TYPE_ERROR:
    case TR_TYPE_STRUCT:
    case TR_TYPE_FILE:
    case TR_TYPE_DIRECTORY:
    case TR_TYPE_DATASET:
    case TR_TYPE_LIST:
    case TR_TYPE_MAP:
        break;
    }
    return value;
}

/* The value of a part that is one. */
static struct comparable take(struct evaluation *evaluation, const struct tr_condition *part)
{
    const struct tr_type *type = part->type;
    struct tr_bytes bytes = part->literal;
    if (part->kind == TR_CONDITION_INPUT) {
        const struct tr_binding *binding =
            &evaluation->workflow->bindings[evaluation->branch->input_first + part->input];
        type = binding->source;
        bytes = evaluation->inputs[part->input];
    }
    /*
     * No bytes: the reference led to a field or an element that is not there. Kind 0 is none, for
     * which `compare` sets no other error, so this one is the one that is told.
     */
    if (bytes.size == 0) {
        evaluation->error = evaluation->error != 0 ? evaluation->error : TR_NOT_FOUND;
        return (struct comparable){0};
    }
    struct tr_cursor cursor = tr_cursor_of(bytes);
    struct comparable value = type == NULL ? take_free(&cursor) : take_typed(&cursor, type);
    if (cursor.error != 0 && evaluation->error == 0) {
        evaluation->error = TR_MALFORMED;
    }
    return value;
}

/*
 * A free text beside a datetime or a duration is read as one, since JSON has no other form of it.
 * If it is none, the kinds differ, and `compare` refuses them.
 */
static void meet(struct comparable *value, const struct comparable *other)
{
    if (!value->is_free || value->kind != COMPARABLE_TEXT) {
        return;
    }
    bool is_read =
        (other->kind == COMPARABLE_MOMENT && tr_moment_parse(value->text, &value->moment)) ||
        (other->kind == COMPARABLE_DURATION && tr_duration_parse(value->text, &value->integer));
    value->kind = is_read ? other->kind : COMPARABLE_TEXT;
}

/*
 * An integer beside a number, without rounding: 80 bits and more hold both, while a double would
 * make 2^53 + 1 equal to 2^53. With a NaN all three comparisons are false, so the two have no
 * order.
 */
static int compare_numbers(const struct comparable *a, const struct comparable *b, bool *is_ordered)
{
    long double x = a->kind == COMPARABLE_INT ? (long double)a->integer : (long double)a->number;
    long double y = b->kind == COMPARABLE_INT ? (long double)b->integer : (long double)b->number;
    *is_ordered = x < y || x > y || x == y;
    return (x > y) - (x < y);
}

static bool is_number(const struct comparable *value)
{
    return value->kind == COMPARABLE_INT || value->kind == COMPARABLE_FLOAT;
}

/*
 * <0, 0 or >0; `is_ordered` is false where neither is smaller and they differ: NaN, or none beside
 * something else. Then only != holds. Other kinds that differ are an error of the evaluation.
 */
static int compare(struct evaluation *evaluation, const struct comparable *a,
                   const struct comparable *b, bool *is_ordered)
{
    *is_ordered = true;
    if (is_number(a) && is_number(b)) {
        return compare_numbers(a, b, is_ordered);
    }
    if (a->kind != b->kind || a->kind == COMPARABLE_OTHER) {
        bool is_none = a->kind == COMPARABLE_NONE || b->kind == COMPARABLE_NONE;
        *is_ordered = false;
        if (!is_none) {
            evaluation->error = TR_INVALID;
        }
        return 1;
    }
    switch (a->kind) {
    case COMPARABLE_BOOL:
        return (int)(a->integer - b->integer);
    case COMPARABLE_TEXT:
    case COMPARABLE_BYTES:
        return tr_text_order(a->text, b->text);
    case COMPARABLE_MOMENT:
        return tr_moment_compare(a->moment, b->moment);
    case COMPARABLE_DURATION:
        return (a->integer > b->integer) - (a->integer < b->integer);
    case COMPARABLE_NONE:
    case COMPARABLE_INT:
    case COMPARABLE_FLOAT:
    case COMPARABLE_OTHER:
        return 0;
    }
    return 0;
}

static bool evaluate_comparison(struct evaluation *evaluation, const struct tr_condition *part)
{
    const struct tr_condition *parts = evaluation->workflow->conditions;
    struct comparable left = take(evaluation, &parts[part->left]);
    struct comparable right = take(evaluation, &parts[part->right]);
    bool is_ordered;
    meet(&left, &right);
    meet(&right, &left);
    int order = compare(evaluation, &left, &right, &is_ordered);
    switch ((enum tr_condition_kind)part->kind) {
    case TR_CONDITION_EQUAL:
        return is_ordered && order == 0;
    case TR_CONDITION_NOT_EQUAL:
        return !is_ordered || order != 0;
    case TR_CONDITION_LESS:
        return is_ordered && order < 0;
    case TR_CONDITION_LESS_EQUAL:
        return is_ordered && order <= 0;
    case TR_CONDITION_GREATER:
        return is_ordered && order > 0;
    case TR_CONDITION_GREATER_EQUAL:
        return is_ordered && order >= 0;
    case TR_CONDITION_AND:
    case TR_CONDITION_OR:
    case TR_CONDITION_NOT:
    case TR_CONDITION_INPUT:
    case TR_CONDITION_LITERAL:
        break;
    }
    return false;
}

/* A bool alone. */
static bool evaluate_value(struct evaluation *evaluation, const struct tr_condition *part)
{
    struct comparable value = take(evaluation, part);
    if (value.kind != COMPARABLE_BOOL && evaluation->error == 0) {
        evaluation->error = TR_INVALID;
    }
    return value.integer != 0;
}

/*
 * One part and what is below it. `and` and `or` leave out the right side where the left one
 * decides, so a condition may first ask whether a field is none and then compare it; the inputs of
 * a branch may thus be missing as long as none of them is asked for.
 */
static bool evaluate(struct evaluation *evaluation, uint32_t position)
{
    const struct tr_condition *part = &evaluation->workflow->conditions[position];
    if (evaluation->error != 0) {
        return false;
    }
    switch ((enum tr_condition_kind)part->kind) {
    case TR_CONDITION_AND:
        return evaluate(evaluation, part->left) && evaluate(evaluation, part->right);
    case TR_CONDITION_OR:
        return evaluate(evaluation, part->left) || evaluate(evaluation, part->right);
    case TR_CONDITION_NOT:
        return !evaluate(evaluation, part->left);
    case TR_CONDITION_EQUAL:
    case TR_CONDITION_NOT_EQUAL:
    case TR_CONDITION_LESS:
    case TR_CONDITION_LESS_EQUAL:
    case TR_CONDITION_GREATER:
    case TR_CONDITION_GREATER_EQUAL:
        return evaluate_comparison(evaluation, part);
    case TR_CONDITION_INPUT:
    case TR_CONDITION_LITERAL:
        return evaluate_value(evaluation, part);
    }
    return false;
}

int tr_condition_evaluate(const struct tr_workflow *workflow, const struct tr_node *branch,
                          uint32_t condition, const struct tr_bytes *inputs, bool *result)
{
    struct evaluation evaluation = {.workflow = workflow, .branch = branch, .inputs = inputs};
    bool is_true = evaluate(&evaluation, condition);
    if (evaluation.error == 0) {
        *result = is_true;
    }
    return evaluation.error;
}
