/*
 * The arms of a switch: conditions in their order, and one end.
 *
 * An arm is {when: CONDITION, BODY...}, where the body's keys are those of a node. The last one is
 * {else: NODE}, {else: skip} or {fail: MESSAGE}: every switch says what happens when no condition
 * holds (Flyte: BranchNodeHasNoDefault). An arm that cannot be read is left out of the array, and
 * then the order is not judged by what is left.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/language/keys.h"

static void read_condition(struct tri_definition *definition, const struct tr_tree *tree,
                           struct tri_arm *arm)
{
    struct tr_text problem;
    size_t offset;
    arm->when_place = tree->place;
    /* Parts are found by their offsets in the text, which begins behind a quote if there is one. */
    arm->when_place.column += tree->kind == TR_TREE_STRING ? 1 : 0;
    if (!tr_tree_is_text(tree) || tree->text.size == 0) {
        tri_report_add(definition->report, tree->place, "BranchNodeHasNoCondition",
                       "when has no condition\nwrite one, as in when: $a > 3");
        return;
    }
    if (tri_condition_parse(definition->types, definition->scratch, tree->text, &arm->condition,
                            &problem, &offset)) {
        return;
    }
    if (problem.size > 0) {
        struct tr_text rest = {.data = tree->text.data + offset, .size = tree->text.size - offset};
        /*
         * The place of the very word in question. A block scalar or an escape in quotes may shift
         * columns; the message quotes the text as well.
         */
        struct tri_place place = arm->when_place;
        place.column += (uint32_t)offset;
        /*
         * A problem is a rule, a line feed and a remedy. The text goes behind the rule, the remedy
         * to the end.
         */
        const char *feed = memchr(problem.data, '\n', problem.size);
        int size = feed == NULL ? (int)problem.size : (int)(feed - problem.data);
        tri_report_add(definition->report, place, "SyntaxError",
                       "the condition cannot be read at %s%.*s%s: %.*s%s",
                       rest.size == 0 ? "its end" : "'", TRI_SHOWN(rest), rest.size == 0 ? "" : "'",
                       size, problem.data, feed == NULL ? "" : feed);
    }
}

static void read_fail(struct tri_definition *definition, const struct tr_tree *value,
                      struct tri_arm *arm)
{
    struct tr_text text;
    arm->kind = TR_ARM_FAIL;
    definition->key = tr_text_of("fail");
    arm->message = tri_keys_read_text(definition, value, &text) ? value : NULL;
}

/* What stands behind else: a node's body, or skip. */
static bool read_else(struct tri_definition *definition, const struct tr_tree *value,
                      uint32_t depth, struct tri_arm *arm)
{
    struct tri_name no_id = {.text = tr_text_of("")};
    arm->is_else = true;
    if (tr_tree_is_text(value) && tr_text_equal(value->text, tr_text_of("skip"))) {
        arm->kind = TR_ARM_SKIP;
        return true;
    }
    if (value->kind != TR_TREE_MAP) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "else is followed by a node's body or skip\nwrite else: skip");
        return false;
    }
    if (tr_tree_find(value, "when") != NULL) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "else has no condition\nremove when");
    }
    return tri_definition_read_node(definition, value, no_id, depth + 1, &arm->node);
}

/*
 * An arm without a condition: else or fail, and no other key. Its keys are checked by hand, because
 * else holds a whole node as its value, and `fail` is a text.
 */
static bool read_last(struct tri_definition *definition, const struct tr_tree *tree, uint32_t depth,
                      struct tri_arm *arm)
{
    static const struct tri_key keys[] = {{"else", NULL, 0}, {"fail", NULL, 0}};
    const struct tr_tree *otherwise = tr_tree_find(tree, "else");
    const struct tr_tree *fail = tr_tree_find(tree, "fail");
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct tr_tree *key = tree->pairs[i].key;
        bool is_known = tr_text_equal(key->text, tr_text_of("else")) ||
                        tr_text_equal(key->text, tr_text_of("fail"));
        if (!is_known) {
            tri_keys_unknown_key(definition, key, "the last arm", keys, TR_COUNT_OF(keys), 0);
        }
    }
    if (otherwise != NULL && fail != NULL) {
        tri_report_add(definition->report, fail->place, "InvalidValue",
                       "a switch ends with else or with fail\nkeep one of them");
        return false;
    }
    if (otherwise != NULL) {
        return read_else(definition, otherwise, depth, arm);
    }
    arm->is_else = true;
    read_fail(definition, fail, arm);
    return true;
}

/* False: the arm is not added. What `when` and the body say wrong is told either way. */
static bool read_arm(struct tri_definition *definition, const struct tr_tree *tree, uint32_t depth,
                     struct tri_arm *arm)
{
    struct tri_name no_id = {.text = tr_text_of("")};
    arm->place = tree->place;
    if (!tri_keys_expect_map(definition, tree, "an arm")) {
        return false;
    }
    const struct tr_tree *when = tr_tree_find(tree, "when");
    bool is_last = tr_tree_find(tree, "else") != NULL || tr_tree_find(tree, "fail") != NULL;
    if (when == NULL && is_last) {
        return read_last(definition, tree, depth, arm);
    }
    if (when == NULL) {
        tri_report_add(definition->report, tree->place, "BranchNodeHasNoCondition",
                       "the arm has no condition\nbegin it with when: or else:");
        return false;
    }
    read_condition(definition, when, arm);
    return tri_definition_read_node(definition, tree, no_id, depth + 1, &arm->node);
}

/*
 * Else and fail stand at the end and nowhere else. That the end is missing is told only if all arms
 * could be read: the one left out may have been the end.
 */
static void check_order(struct tri_definition *definition, const struct tr_tree *tree,
                        const struct tri_arm *arms, uint32_t count)
{
    for (uint32_t i = 0; i + 1 < count; i++) {
        if (arms[i].is_else) {
            tri_report_add(definition->report, arms[i + 1].place, "UnreachableNodes",
                           "nothing reaches an arm behind else or fail\nmove it before them");
            return;
        }
    }
    if (count == tree->count && (count == 0 || !arms[count - 1].is_else)) {
        tri_report_add(definition->report, tree->place, "BranchNodeHasNoDefault",
                       "the switch does not say what happens when no condition holds\n"
                       "end it with {else: <node>}, {else: skip} or {fail: \"message\"}");
    }
}

/*
 * `depth` counts switches around this one. Arms without ids of their own get them from the
 * compiler: the switch's id with -n and the arm's number.
 */
void tri_definition_read_arms(struct tri_definition *definition, const struct tr_tree *tree,
                              uint32_t depth, struct tri_node *node)
{
    if (!tri_keys_expect_list(definition, tree, "switch")) {
        return;
    }
    if (depth >= TR_SWITCH_NESTING_MAX) {
        tri_report_add(definition->report, tree->place, "InvalidValue",
                       "switches nest deeper than %u\nuse a workflow for the inner ones",
                       TR_SWITCH_NESTING_MAX);
        return;
    }
    struct tri_arm *arms = tr_arena_array(definition->scratch, tree->count, sizeof *arms);
    uint32_t count = 0;
    for (uint32_t i = 0; arms != NULL && i < tree->count; i++) {
        count += read_arm(definition, tree->items[i], depth, &arms[count]) ? 1 : 0;
    }
    if (arms != NULL) {
        check_order(definition, tree, arms, count);
        node->arms = arms;
        node->arm_count = count;
    }
}
