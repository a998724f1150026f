/*
 * Branches: the values their conditions ask for, the conditions' types, their arms, and the outputs
 * that all arms have with one type.
 *
 * A branch's inputs are the values that its conditions look at, and the message of `fail` where it
 * holds references; conditions name them by position. They have to stand next to each other among
 * the bindings, so the conditions of all arms are made before any text of them gets its parts, and
 * before any arm's node is built, which binds inputs of its own. A condition's parts stand in one
 * array, children before their parent, the root last.
 *
 * A comparison needs one simple type on both sides. A literal takes the type of the value beside
 * it, and what may be none compares with none. A value whose type is known at run time only passes
 * all checks here; compiled/condition.c judges it.
 */
#include "actors/graph/compiler/builder.h"

/*
 * Inputs of one branch that are looked at before a reference gets another one. The bound keeps a
 * switch of many arms linear; a value that is there twice costs only its room.
 */
#define SAME_INPUTS_MAX 16U

static struct tr_condition *condition_at(struct tri_builder *builder, uint32_t position)
{
    return (struct tr_condition *)builder->conditions.items + position;
}

/* Where a part of a condition stands, for messages. */
static struct tri_place place_of(const struct tri_arm *arm, const struct tri_part *part)
{
    struct tri_place place = arm->when_place;
    place.column += (uint32_t)part->offset;
    return place;
}

/* A part as a message shows it: the reference, or the literal in quotes. */
static struct tr_text part_text(struct tri_builder *builder, const struct tri_part *part)
{
    return part->kind == TR_CONDITION_INPUT && part->interpolation == NULL
               ? part->reference.text
               : tr_arena_print(builder->compiler->scratch, "'%.*s'", TRI_SHOWN(part->text));
}

/* Another input of the branch; its position among them, or TR_GRAPH_NONE without memory. */
static uint32_t add_input(struct tri_builder *builder, uint32_t branch, struct tr_text key,
                          const struct tr_binding *binding)
{
    struct tr_node *node = &builder->workflow->nodes[branch];
    uint32_t slot = tri_compile_reserve_bindings(builder, 1);
    if (slot == TR_GRAPH_NONE) {
        return TR_GRAPH_NONE;
    }
    struct tr_binding *added = tri_compile_binding_at(builder, slot);
    *added = *binding;
    added->key = tr_arena_text(&builder->compiler->graph->arena, key);
    added->type = binding->source;
    return node->input_count++;
}

/* The input of the branch for a text with references, which gets its parts by bind_texts. */
static uint32_t add_text(struct tri_builder *builder, uint32_t branch, struct tr_text key)
{
    const struct tr_binding binding = {
        .kind = TR_BINDING_TEXT,
        .source = tr_type_simple(builder->definition->types, TR_TYPE_STRING)};
    return add_input(builder, branch, key, &binding);
}

/*
 * The input of the branch for a reference: one that is there, or another one. Its key is the text
 * behind the dollar sign, so equal references share an input. Where the reference is wrong, the
 * input is there all the same, without a type, so that positions of others stay right; false.
 */
static bool bind_input(struct tri_builder *builder, uint32_t branch, const struct tri_arm *arm,
                       const struct tri_part *part, struct tr_condition *condition)
{
    struct tr_node *node = &builder->workflow->nodes[branch];
    struct tr_text key = {.data = part->reference.text.data + 1,
                          .size = part->reference.text.size - 1};
    for (uint32_t i = 0; i < node->input_count && i < SAME_INPUTS_MAX; i++) {
        const struct tr_binding *same = tri_compile_binding_at(builder, node->input_first + i);
        if (tr_text_equal(same->key, key)) {
            condition->input = i;
            condition->type = same->source;
            return true;
        }
    }
    struct tr_binding binding = {0};
    bool is_fine =
        tri_compile_resolve(builder, branch, place_of(arm, part), &part->reference, &binding);
    condition->input = add_input(builder, branch, key, &binding);
    condition->type = binding.source;
    return is_fine && condition->input != TR_GRAPH_NONE;
}

/* The value that a part of a condition asks for. */
static bool bind_part(struct tri_builder *builder, uint32_t branch, const struct tri_arm *arm,
                      const struct tri_part *part, struct tr_condition *condition)
{
    if (part->interpolation == NULL) {
        return bind_input(builder, branch, arm, part, condition);
    }
    condition->input = add_text(builder, branch, part_text(builder, part));
    return condition->input != TR_GRAPH_NONE;
}

/* The parts of a text that is an input of the branch. */
static void bind_text(struct tri_builder *builder, uint32_t branch, uint32_t input,
                      struct tri_place place, const struct tri_interpolation *interpolation)
{
    uint32_t slot = builder->workflow->nodes[branch].input_first + input;
    struct tr_binding binding = *tri_compile_binding_at(builder, slot);
    (void)tri_compile_bind_text(builder, branch, place, interpolation, &binding);
    *tri_compile_binding_at(builder, slot) = binding;
}

/* The message of `fail`: a text, or an input of the branch where it holds references. */
static void begin_message(struct tri_builder *builder, uint32_t branch,
                          const struct tri_arm *source, struct tr_arm *arm)
{
    struct tri_interpolation interpolation;
    if (source->message == NULL) {
        return;
    }
    if (builder->definition->has_any_names) {
        arm->message = tr_arena_text(&builder->compiler->graph->arena, source->message->text);
        return;
    }
    if (!tri_compile_read_text(builder, source->message, false, &interpolation)) {
        return;
    }
    tri_compile_warn_message(builder, branch, source);
    if (tri_interpolation_is_literal(&interpolation, &arm->message)) {
        arm->message = tr_arena_text(&builder->compiler->graph->arena, arm->message);
    } else {
        arm->message_input = add_text(builder, branch, tr_text_of("fail"));
    }
}

/* The parts of an arm's texts: in its condition, and its message. */
static void bind_texts(struct tri_builder *builder, uint32_t branch, const struct tri_arm *source,
                       const struct tr_arm *arm)
{
    struct tri_interpolation message;
    uint32_t count = arm->condition == TR_GRAPH_NONE ? 0 : source->condition.count;
    for (uint32_t i = 0; i < count; i++) {
        const struct tri_part *part = &source->condition.parts[i];
        uint32_t input = condition_at(builder, arm->condition_first + i)->input;
        if (part->interpolation != NULL && input != TR_GRAPH_NONE) {
            bind_text(builder, branch, input, place_of(source, part), part->interpolation);
        }
    }
    if (arm->message_input != TR_GRAPH_NONE &&
        tri_compile_read_text(builder, source->message, false, &message)) {
        bind_text(builder, branch, arm->message_input, source->message->place, &message);
    }
}

static bool is_condition(enum tr_condition_kind kind)
{
    return kind != TR_CONDITION_INPUT && kind != TR_CONDITION_LITERAL;
}

/* An operand of and, or, not, and the root: a condition, or a bool. */
static bool check_condition(struct tri_builder *builder, const struct tri_arm *arm,
                            const struct tri_part *part, const struct tr_condition *condition)
{
    bool is_bool = condition->type == NULL || condition->type->kind == TR_TYPE_BOOL;
    if (is_condition((enum tr_condition_kind)part->kind) || is_bool) {
        return true;
    }
    struct tr_text type = tr_type_text(builder->compiler->scratch, condition->type);
    struct tr_text text = part_text(builder, part);
    tri_report_add(builder->compiler->report, place_of(arm, part), "MismatchingTypes",
                   "%.*s is %.*s, and a condition is a bool\ncompare it with a value",
                   TRI_SHOWN(text), TRI_SHOWN(type));
    return false;
}

/* Whether a literal by its form may be read by the type beside it. */
static bool may_narrow(const struct tri_part *part, const struct tr_type *other)
{
    if (part->kind != TR_CONDITION_LITERAL || other == NULL) {
        return false;
    }
    if (part->type->kind == TR_TYPE_INT) {
        return other->kind == TR_TYPE_FLOAT;
    }
    return part->type->kind == TR_TYPE_STRING &&
           (other->kind == TR_TYPE_ENUM || other->kind == TR_TYPE_DATETIME ||
            other->kind == TR_TYPE_DURATION || other->kind == TR_TYPE_BYTES);
}

static bool is_ordered_kind(const struct tr_type *type)
{
    return type->kind == TR_TYPE_INT || type->kind == TR_TYPE_FLOAT ||
           type->kind == TR_TYPE_STRING || type->kind == TR_TYPE_DATETIME ||
           type->kind == TR_TYPE_DURATION;
}

/* Whether two types may be compared at all: the same simple ones, or a union and none. */
static bool is_comparable(const struct tr_type *a, const struct tr_type *b)
{
    if (a == NULL || b == NULL) {
        return true;
    }
    if (a->kind == TR_TYPE_NONE || b->kind == TR_TYPE_NONE) {
        return tr_type_is_optional(a) && tr_type_is_optional(b);
    }
    bool is_simple = is_ordered_kind(a) || a->kind == TR_TYPE_BOOL || a->kind == TR_TYPE_BYTES ||
                     a->kind == TR_TYPE_ENUM;
    /*
     * Castable sorts out enums with different values; kinds alone would let string and enum meet.
     */
    return a->kind == b->kind && is_simple && tr_type_castable(a, b) == TR_CASTABLE_YES;
}

static const char *comparison_remedy(const struct tr_type *a, const struct tr_type *b)
{
    bool is_union = a->kind == TR_TYPE_UNION || b->kind == TR_TYPE_UNION;
    if (is_union) {
        return "a union compares with none only";
    }
    bool is_number = (a->kind == TR_TYPE_INT && b->kind == TR_TYPE_FLOAT) ||
                     (a->kind == TR_TYPE_FLOAT && b->kind == TR_TYPE_INT);
    return is_number ? "int and float do not mix: let a task convert one of them"
                     : "compare values of one simple type";
}

/*
 * Gives a literal the type beside it, and reports operands that cannot be compared or have no
 * order. The literal is packed afterwards, by the type it has then.
 */
static void check_comparison(struct tri_builder *builder, const struct tri_arm *arm,
                             const struct tri_part *part, const struct tri_part *parts,
                             uint32_t first)
{
    struct tr_condition *left = condition_at(builder, first + part->left);
    struct tr_condition *right = condition_at(builder, first + part->right);
    if (may_narrow(&parts[part->left], right->type)) {
        left->type = right->type;
    } else if (may_narrow(&parts[part->right], left->type)) {
        right->type = left->type;
    }
    if (!is_comparable(left->type, right->type)) {
        struct tr_text left_type = tr_type_text(builder->compiler->scratch, left->type);
        struct tr_text right_type = tr_type_text(builder->compiler->scratch, right->type);
        tri_report_add(builder->compiler->report, place_of(arm, part), "MismatchingTypes",
                       "%.*s and %.*s cannot be compared\n%s", TRI_SHOWN(left_type),
                       TRI_SHOWN(right_type), comparison_remedy(left->type, right->type));
        return;
    }
    bool is_equality = part->kind == TR_CONDITION_EQUAL || part->kind == TR_CONDITION_NOT_EQUAL;
    const struct tr_type *type = left->type != NULL ? left->type : right->type;
    if (!is_equality && type != NULL && !is_ordered_kind(type)) {
        struct tr_text text = tr_type_text(builder->compiler->scratch, type);
        tri_report_add(builder->compiler->report, place_of(arm, part), "MismatchingTypes",
                       "values of type %.*s have no order\nuse == or !=", TRI_SHOWN(text));
    }
}

/* Packs a literal by the type it was given. */
static void pack_literal(struct tri_builder *builder, const struct tri_arm *arm,
                         const struct tri_part *part, struct tr_condition *condition)
{
    struct tr_literal_reader reader = {.report = builder->compiler->report,
                                       .arena = builder->compiler->scratch};
    struct tr_tree tree = part->tree;
    struct tr_buffer buffer;
    tree.place = place_of(arm, part);
    tr_buffer_init(&buffer, 0);
    if (tr_literal_read(&reader, condition->type, &tree, &buffer)) {
        condition->literal =
            tr_arena_bytes(&builder->compiler->graph->arena, tr_buffer_bytes(&buffer));
    }
    tr_buffer_fini(&buffer);
}

/* Checks the operands of each part that has some. */
static void check_parts(struct tri_builder *builder, const struct tri_arm *arm, uint32_t first)
{
    const struct tri_part *parts = arm->condition.parts;
    for (uint32_t i = 0; i < arm->condition.count; i++) {
        const struct tri_part *part = &parts[i];
        bool is_logic = part->kind == TR_CONDITION_AND || part->kind == TR_CONDITION_OR;
        if (is_logic || part->kind == TR_CONDITION_NOT) {
            (void)check_condition(builder, arm, &parts[part->left],
                                  condition_at(builder, first + part->left));
        }
        if (is_logic) {
            (void)check_condition(builder, arm, &parts[part->right],
                                  condition_at(builder, first + part->right));
        } else if (is_condition((enum tr_condition_kind)part->kind) &&
                   part->kind != TR_CONDITION_NOT) {
            check_comparison(builder, arm, part, parts, first);
        }
    }
    uint32_t root = arm->condition.count - 1;
    (void)check_condition(builder, arm, &parts[root], condition_at(builder, first + root));
}

/*
 * Makes the parts of an arm's condition, checks them and packs the literals. All parts are added
 * before any is checked, since pointers to them end when the vector grows. Where a reference was
 * wrong its type is unknown, and checks would only tell what follows from that.
 */
static void build_condition(struct tri_builder *builder, uint32_t branch, const struct tri_arm *arm,
                            struct tr_arm *compiled)
{
    struct tr_arena *arena = &builder->compiler->graph->arena;
    const struct tri_part *parts = arm->condition.parts;
    uint32_t first = builder->conditions.count;
    bool is_fine = true;
    for (uint32_t i = 0; i < arm->condition.count; i++) {
        struct tr_condition *condition =
            tri_vector_add(arena, &builder->conditions, sizeof *condition);
        if (condition == NULL) {
            return;
        }
        condition->kind = parts[i].kind;
        condition->left = first + parts[i].left;
        condition->right = first + parts[i].right;
        condition->type = parts[i].type;
        if (parts[i].kind == TR_CONDITION_INPUT) {
            is_fine = bind_part(builder, branch, arm, &parts[i], condition) && is_fine;
        }
    }
    compiled->condition_first = first;
    compiled->condition = first + arm->condition.count - 1;
    if (!is_fine) {
        return;
    }
    check_parts(builder, arm, first);
    for (uint32_t i = 0; i < arm->condition.count; i++) {
        if (parts[i].kind == TR_CONDITION_LITERAL) {
            pack_literal(builder, arm, &parts[i], condition_at(builder, first + i));
        }
    }
}

static struct tr_arm *arm_at(struct tri_builder *builder, uint32_t position)
{
    return (struct tr_arm *)builder->arms.items + position;
}

/* Reserves the arms, which stand next to each other, and makes their conditions. */
static bool begin_arms(struct tri_builder *builder, uint32_t index)
{
    struct tr_node *node = &builder->workflow->nodes[index];
    const struct tri_node *source = builder->built[index].source;
    node->arm_first = builder->arms.count;
    node->arm_count = source->arm_count;
    node->input_first = builder->bindings.count;
    for (uint32_t i = 0; i < source->arm_count; i++) {
        struct tr_arm *arm =
            tri_vector_add(&builder->compiler->graph->arena, &builder->arms, sizeof *arm);
        if (arm == NULL) {
            return false;
        }
        arm->kind = (uint8_t)source->arms[i].kind;
        arm->node = arm->condition = arm->message_input = TR_GRAPH_NONE;
        arm->message = tr_text_of("");
        begin_message(builder, index, &source->arms[i], arm);
        if (source->arms[i].condition.count > 0) {
            build_condition(builder, index, &source->arms[i], arm);
        }
    }
    for (uint32_t i = 0; i < source->arm_count; i++) {
        bind_texts(builder, index, &source->arms[i], arm_at(builder, node->arm_first + i));
    }
    return true;
}

/* Builds the nodes of the arms, which follow the branch in the layout. */
static void build_arms(struct tri_builder *builder, uint32_t index)
{
    const struct tri_node *source = builder->built[index].source;
    uint32_t first = builder->workflow->nodes[index].arm_first;
    uint32_t next = index + 1;
    for (uint32_t i = 0; i < source->arm_count; i++) {
        if (source->arms[i].kind == TR_ARM_NODE) {
            arm_at(builder, first + i)->node = next;
            tri_compile_build_node(builder, next);
            builder->built[index].is_broken =
                builder->built[index].is_broken || builder->built[next].is_broken;
            next += 1 + builder->built[next].arm_count;
        }
    }
}

/* Whether all arms with nodes have this output with this type. Equal types are one pointer. */
static bool is_common(struct tri_builder *builder, const struct tr_node *node,
                      const struct tr_variable *variable)
{
    for (uint32_t i = 0; i < node->arm_count; i++) {
        const struct tr_arm *arm = arm_at(builder, node->arm_first + i);
        if (arm->kind != TR_ARM_NODE) {
            continue;
        }
        const struct tr_variables *outputs = &builder->workflow->nodes[arm->node].outputs;
        uint32_t position = tr_variables_find(outputs, variable->name);
        if (position == TR_GRAPH_NONE || outputs->items[position].type != variable->type) {
            return false;
        }
    }
    return true;
}

/* For each arm, where its node has the branch's outputs. */
static void connect_outputs(struct tri_builder *builder, const struct tr_node *node)
{
    for (uint32_t i = 0; i < node->arm_count; i++) {
        struct tr_arm *arm = arm_at(builder, node->arm_first + i);
        uint32_t *positions = tr_arena_array(&builder->compiler->graph->arena, node->outputs.count,
                                             sizeof *positions);
        if (arm->kind != TR_ARM_NODE || positions == NULL) {
            continue;
        }
        const struct tr_variables *outputs = &builder->workflow->nodes[arm->node].outputs;
        for (uint32_t k = 0; k < node->outputs.count; k++) {
            positions[k] = tr_variables_find(outputs, node->outputs.items[k].name);
        }
        arm->outputs = positions;
        arm->output_count = node->outputs.count;
    }
}

/*
 * The outputs that all arms have with one type, in the order of the first arm with a node; none
 * beside where an arm is skipped or the branch may fail. An arm that fails the node gives no
 * outputs and takes none away. The types of the arms' own outputs stay as they are.
 */
static void type_branch(struct tri_builder *builder, struct tr_node *node)
{
    struct tr_arena *arena = &builder->compiler->graph->arena;
    const struct tr_variables *first = NULL;
    bool may_skip = node->is_optional;
    for (uint32_t i = node->arm_count; i > 0; i--) {
        const struct tr_arm *arm = arm_at(builder, node->arm_first + i - 1);
        may_skip = may_skip || arm->kind == TR_ARM_SKIP;
        first = arm->kind == TR_ARM_NODE ? &builder->workflow->nodes[arm->node].outputs : first;
    }
    struct tr_variable *items =
        tr_arena_array(arena, first == NULL ? 0 : first->count, sizeof *items);
    uint32_t count = 0;
    for (uint32_t i = 0; items != NULL && first != NULL && i < first->count; i++) {
        if (is_common(builder, node, &first->items[i])) {
            items[count] = first->items[i];
            items[count].has_default = false;
            if (may_skip) {
                items[count].type = tr_type_optional(builder->definition->types, items[count].type);
            }
            count++;
        }
    }
    node->outputs = (struct tr_variables){
        .items = items, .count = count, .by_name = tri_variables_sort(arena, items, count)};
    connect_outputs(builder, node);
}

/*
 * Conditions first, since they need only what is before the branch; then the arms; then the
 * outputs, which are those that all arms have in common. A broken arm leaves the branch broken,
 * without outputs.
 */
void tri_compile_build_branch(struct tri_builder *builder, uint32_t index)
{
    if (!begin_arms(builder, index)) {
        return;
    }
    build_arms(builder, index);
    if (!builder->built[index].is_broken) {
        type_branch(builder, &builder->workflow->nodes[index]);
    }
}
