/*
 * Plans of bindings, and carrying them out.
 *
 * A plan is [is_condition, [binding, ...]], and a binding one of
 *
 *     [LITERAL, key, slot]            what could be bound by the maker; no bytes: nothing
 *     [REFERENCE, key, type, [id, kind, output, type, slot], [step, ...]]
 *     [LIST, MAP or TEXT, key, type, type it is put together as, [binding, ...]]
 *
 * What is here of a text's parts is text already, since a literal has no type in a plan.
 *
 * It is carried out by the very binder of bind.c, over a small workflow that is made of it: each
 * reference gets a node of its own.
 *
 * The maker runs in a handler and decides by trial: it binds each input without opening anything,
 * and only what fails because it lies elsewhere is written as a reference. So a plan holds no more
 * of a value than is needed, and most inputs travel as they are. The reader runs on a thread of the
 * files service and trusts nothing: a plan that does not add up is TR_MALFORMED, and its depth is
 * bounded by TR_TREE_DEPTH_MAX.
 */
#include "actors/values/bind_plan.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/document/limits.h"
#include "schemas/runtime/files.h"

/* ------------------------------------------------------------------- making one */

/* A type in words, and no words for what is known at run time only. */
static void write_type(const struct tr_type *type, struct tr_buffer *plan)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    if (type != NULL) {
        tr_type_write(type, &words);
    }
    tr_buffer_text_value(plan, tr_buffer_text(&words));
    if (plan->error == 0) {
        plan->error = words.error;
    }
    tr_buffer_fini(&words);
}

static void write_literal(struct tr_text key, struct tr_bytes slot, struct tr_buffer *plan)
{
    tr_buffer_array(plan, 3);
    tr_buffer_u64(plan, TR_BINDING_LITERAL);
    tr_buffer_text_value(plan, key);
    tr_buffer_bytes_value(plan, slot);
}

/* Where a reference begins: an output of a node. */
static void write_place(const struct tr_node *node, const struct tr_variable *output,
                        struct tr_bytes slot, struct tr_buffer *plan)
{
    tr_buffer_array(plan, 5);
    tr_buffer_text_value(plan, node->id);
    tr_buffer_u64(plan, node->kind);
    tr_buffer_text_value(plan, output->name);
    write_type(output->type, plan);
    tr_buffer_bytes_value(plan, slot);
}

static int write_reference(struct tr_binder *binder, const struct tr_binding *binding,
                           struct tr_buffer *plan)
{
    const struct tr_node *node = &binder->workflow->nodes[binding->node];
    struct tr_bytes slot;
    int error = binder->output(binder->self, binding->node, binding->output, &slot);
    if (error != 0) {
        return error;
    }
    tr_buffer_array(plan, 5);
    tr_buffer_u64(plan, TR_BINDING_REFERENCE);
    tr_buffer_text_value(plan, binding->key);
    write_type(binding->type, plan);
    write_place(node, &node->outputs.items[binding->output], slot, plan);
    tr_buffer_array(plan, binding->count);
    for (uint32_t i = 0; i < binding->count; i++) {
        const struct tr_step *step = &binder->workflow->steps[binding->first + i];
        if (step->is_index) {
            tr_buffer_u64(plan, step->index);
        } else {
            tr_buffer_text_value(plan, step->field);
        }
    }
    return plan->error;
}

static int write_binding(struct tr_binder *binder, const struct tr_binding *binding,
                         bool is_condition, struct tr_buffer *plan);

/* A part of a text: as it stands there or, where it lies elsewhere, what is left to be followed. */
static int write_text_part(struct tr_binder *binder, const struct tr_binding *part,
                           struct tr_buffer *plan)
{
    struct tr_buffer text;
    struct tr_buffer slot;
    tr_buffer_init(&text, TR_INLINE_BYTES_MAX);
    tr_buffer_init(&slot, 0);
    binder->lies_elsewhere = false;
    int error = tr_bind_text_part(binder, part, &text);
    if (error == 0) {
        tr_buffer_text_value(&slot, tr_buffer_text(&text));
        write_literal(part->key, tr_buffer_bytes(&slot), plan);
        error = slot.error != 0 ? slot.error : plan->error;
    } else if (error == TR_INVALID && binder->lies_elsewhere) {
        error = write_reference(binder, part, plan);
    }
    tr_buffer_fini(&slot);
    tr_buffer_fini(&text);
    return error;
}

/* A list, a map or a text, of which a part lies elsewhere. */
static int write_parts(struct tr_binder *binder, const struct tr_binding *binding,
                       struct tr_buffer *plan)
{
    tr_buffer_array(plan, 5);
    tr_buffer_u64(plan, binding->kind);
    tr_buffer_text_value(plan, binding->key);
    write_type(binding->type, plan);
    write_type(binding->source, plan);
    tr_buffer_array(plan, binding->count);
    struct tr_bind_place place = {.outside = binder->place, .whole = binding};
    bool is_text = binding->kind == TR_BINDING_TEXT;
    int error = plan->error;
    binder->place = is_text ? binder->place : &place;
    for (uint32_t i = 0; error == 0 && i < binding->count; i++) {
        const struct tr_binding *part = &binder->workflow->bindings[binding->first + i];
        place.index = i;
        place.key = part->key;
        error = is_text ? write_text_part(binder, part, plan)
                        : write_binding(binder, part, false, plan);
    }
    binder->place = place.outside;
    return error;
}

/*
 * What can be bound here is its value; only what lies elsewhere is left to be followed.
 *
 * `is_absent`: an input of a condition that is not there has no bytes, and fails only the condition
 * that looks at it. A failure that is not for lying elsewhere is the node's: TR_INVALID.
 */
static int write_binding(struct tr_binder *binder, const struct tr_binding *binding,
                         bool is_condition, struct tr_buffer *plan)
{
    struct tr_buffer value;
    tr_buffer_init(&value, 0);
    binder->lies_elsewhere = false;
    int error = tr_bind_value(binder, binding, &value);
    bool is_absent = is_condition && error == TR_INVALID && !binder->lies_elsewhere &&
                     strcmp(binder->code, TR_CODE_BINDING) == 0;
    if (error == 0 || is_absent) {
        tr_buffer_cut(&value, is_absent ? 0 : value.size);
        write_literal(binding->key, tr_buffer_bytes(&value), plan);
        error = plan->error;
    } else if (error == TR_INVALID && binder->lies_elsewhere) {
        error = binding->kind == TR_BINDING_REFERENCE ? write_reference(binder, binding, plan)
                                                      : write_parts(binder, binding, plan);
    }
    tr_buffer_fini(&value);
    return error;
}

int tr_bind_plan(struct tr_binder *binder, const struct tr_node *node, struct tr_buffer *plan)
{
    bool is_condition = node->kind == TR_NODE_BRANCH;
    tr_buffer_array(plan, 2);
    tr_buffer_bool(plan, is_condition);
    tr_buffer_array(plan, node->input_count);
    int error = plan->error;
    for (uint32_t i = 0; error == 0 && i < node->input_count; i++) {
        const struct tr_binding *binding = &binder->workflow->bindings[node->input_first + i];
        error = write_binding(binder, binding, is_condition, plan);
    }
    return error;
}

int tr_bind_plan_element(struct tr_text name, const struct tr_type *list, struct tr_bytes slot,
                         uint32_t index, struct tr_buffer *plan)
{
    /*
     * A start node, so that words about the element show the bare name of the list, without a node.
     */
    const struct tr_node start = {.kind = TR_NODE_START};
    const struct tr_variable output = {.name = name, .type = list};
    tr_buffer_array(plan, 2);
    tr_buffer_bool(plan, false);
    tr_buffer_array(plan, 1);
    tr_buffer_array(plan, 5);
    tr_buffer_u64(plan, TR_BINDING_REFERENCE);
    tr_buffer_text_value(plan, name);
    write_type(list->parts[0], plan);
    write_place(&start, &output, slot, plan);
    tr_buffer_array(plan, 1);
    tr_buffer_u64(plan, index);
    return plan->error;
}

/* ------------------------------------------------------------------ reading one */

/* A plan as a workflow; `nodes`, `slots`, `bindings` and `steps` are arrays of their structs. */
struct carried {
    struct tr_arena arena; /* of types, and of the outputs of nodes */
    struct tr_types types;
    struct tr_buffer nodes;
    struct tr_buffer slots; /* of each node the one that it gives */
    struct tr_buffer bindings;
    struct tr_buffer steps;
    const struct tr_bind_reader *reader;
};

static int read_type(struct carried *carried, struct tr_cursor *cursor, const struct tr_type **type)
{
    struct tr_text problem;
    struct tr_text words = tr_read_text(cursor);
    *type = NULL;
    if (cursor->error != 0) {
        return TR_MALFORMED;
    }
    if (words.size == 0) {
        return 0;
    }
    *type = tr_type_parse(&carried->types, words, &problem);
    if (carried->arena.error != 0) {
        return carried->arena.error;
    }
    return *type != NULL ? 0 : TR_MALFORMED;
}

/*
 * The node whose output a reference names.
 *
 * It has this one output, so the number of the output is always 0.
 */
static int read_place(struct carried *carried, struct tr_cursor *cursor, struct tr_binding *binding)
{
    struct tr_node node = {.outputs = {.count = 1}};
    struct tr_variable *output = tr_arena_alloc(&carried->arena, sizeof *output);
    if (output == NULL) {
        return TR_MEMORY;
    }
    uint32_t count = tr_read_array(cursor);
    node.id = tr_read_text(cursor);
    node.kind = tr_read_u8(cursor);
    *output = (struct tr_variable){.name = tr_read_text(cursor)};
    int error = read_type(carried, cursor, &output->type);
    struct tr_bytes slot = tr_read_bytes(cursor);
    if (error != 0) {
        return error;
    }
    if (cursor->error != 0 || count != 5 || output->type == NULL) {
        return TR_MALFORMED;
    }
    node.outputs.items = output;
    binding->node = (uint32_t)(carried->nodes.size / sizeof node);
    tr_buffer_add(&carried->nodes, &node, sizeof node);
    tr_buffer_add(&carried->slots, &slot, sizeof slot);
    return carried->nodes.error != 0 ? carried->nodes.error : carried->slots.error;
}

static int read_reference(struct carried *carried, struct tr_cursor *cursor,
                          struct tr_binding *binding)
{
    int error = read_type(carried, cursor, &binding->type);
    binding->source = binding->type;
    if (error == 0) {
        error = read_place(carried, cursor, binding);
    }
    if (error != 0) {
        return error;
    }
    binding->first = (uint32_t)(carried->steps.size / sizeof(struct tr_step));
    binding->count = tr_read_array(cursor);
    for (uint32_t i = 0; error == 0 && i < binding->count; i++) {
        struct tr_step step = {.is_index = tr_peek(cursor) != TR_CODEC_TEXT};
        if (step.is_index) {
            step.index = tr_read_u32(cursor);
        } else {
            step.field = tr_read_text(cursor);
        }
        tr_buffer_add(&carried->steps, &step, sizeof step);
        error = cursor->error != 0 ? TR_MALFORMED : carried->steps.error;
    }
    return error;
}

static int read_bindings(struct carried *carried, struct tr_cursor *cursor, uint32_t depth,
                         uint32_t *first, uint32_t *count);

static int read_parts(struct carried *carried, struct tr_cursor *cursor, uint32_t depth,
                      struct tr_binding *binding)
{
    int error = read_type(carried, cursor, &binding->type);
    if (error != 0) {
        return error;
    }
    error = read_type(carried, cursor, &binding->source);
    if (error != 0) {
        return error;
    }
    return read_bindings(carried, cursor, depth + 1, &binding->first, &binding->count);
}

static int read_binding(struct carried *carried, struct tr_cursor *cursor, uint32_t depth,
                        struct tr_binding *binding)
{
    uint32_t count = tr_read_array(cursor);
    binding->kind = tr_read_u8(cursor);
    binding->key = tr_read_text(cursor);
    if (cursor->error != 0) {
        return TR_MALFORMED;
    }
    switch ((enum tr_binding_kind)binding->kind) {
    case TR_BINDING_LITERAL:
        binding->literal = tr_read_bytes(cursor);
        return cursor->error != 0 || count != 3 ? TR_MALFORMED : 0;
    case TR_BINDING_REFERENCE:
        return count == 5 ? read_reference(carried, cursor, binding) : TR_MALFORMED;
    case TR_BINDING_LIST:
    case TR_BINDING_MAP:
    case TR_BINDING_TEXT:
        return count == 5 ? read_parts(carried, cursor, depth, binding) : TR_MALFORMED;
    case TR_BINDING_ERROR:
        break;
    }
    return TR_MALFORMED;
}

/*
 * A list of bindings. They lie side by side in the workflow, as the binder expects, so places for
 * all are taken first; parts of lists and maps are added behind them. Adding may move the array: a
 * binding is read into a local variable and copied to its place when its parts are there.
 */
static int read_bindings(struct carried *carried, struct tr_cursor *cursor, uint32_t depth,
                         uint32_t *first, uint32_t *count)
{
    static const struct tr_binding none = {.kind = TR_BINDING_LITERAL};
    *count = tr_read_array(cursor);
    *first = (uint32_t)(carried->bindings.size / sizeof none);
    if (cursor->error != 0 || depth > TR_TREE_DEPTH_MAX) {
        return TR_MALFORMED;
    }
    for (uint32_t i = 0; i < *count; i++) {
        tr_buffer_add(&carried->bindings, &none, sizeof none);
    }
    int error = carried->bindings.error;
    for (uint32_t i = 0; error == 0 && i < *count; i++) {
        struct tr_binding binding = none;
        error = read_binding(carried, cursor, depth, &binding);
        size_t at = (*first + (size_t)i) * sizeof binding;
        if (error == 0) {
            memcpy(carried->bindings.data + at, &binding, sizeof binding);
        }
    }
    return error;
}

/* ---------------------------------------------------------------- carrying it out */

static int find_slot(void *self, uint32_t node, uint32_t output, struct tr_bytes *slot)
{
    const struct carried *carried = self;
    (void)output;
    memcpy(slot, carried->slots.data + node * sizeof *slot, sizeof *slot);
    return 0;
}

static int open_blob(void *self, const struct tr_offloaded *where, struct tr_bytes *literal)
{
    const struct tr_bind_reader *reader = ((const struct carried *)self)->reader;
    return reader->open(reader->self, where, literal);
}

static void close_blob(void *self, struct tr_bytes literal)
{
    const struct tr_bind_reader *reader = ((const struct carried *)self)->reader;
    reader->close(reader->self, literal);
}

static void note_problem(const struct tr_binder *binder, const char *code,
                         struct tr_bind_problem *problem)
{
    problem->code = code;
    snprintf(problem->words, sizeof problem->words, "%.*s", (int)binder->message.size,
             binder->message.data);
}

/*
 * What a condition asks for, if it is there.
 *
 * The word of its absence is kept in the problem with an empty code, and is shown only if a
 * condition looks at it.
 */
static int add_asked(struct tr_binder *binder, const struct tr_binding *binding,
                     struct tr_buffer *slots, struct tr_bind_problem *problem)
{
    size_t before = slots->size;
    bool is_absent = binding->kind == TR_BINDING_LITERAL && binding->literal.size == 0;
    tr_buffer_array(slots, 1);
    int error = is_absent ? 0 : tr_bind_literal(binder, binding, slots);
    if (error == TR_INVALID && strcmp(binder->code, TR_CODE_BINDING) == 0) {
        note_problem(binder, "", problem);
        is_absent = true;
        error = 0;
    }
    if (error == 0 && is_absent) {
        tr_buffer_cut(slots, before);
        tr_buffer_array(slots, 0);
    }
    return error != 0 ? error : slots->error;
}

static int add_all(struct carried *carried, bool is_condition, uint32_t count,
                   struct tr_buffer *slots, struct tr_bind_problem *problem)
{
    struct tr_workflow workflow = {
        .nodes = (struct tr_node *)(void *)carried->nodes.data,
        .bindings = (struct tr_binding *)(void *)carried->bindings.data,
        .steps = (struct tr_step *)(void *)carried->steps.data,
    };
    struct tr_binder binder = {.workflow = &workflow,
                               .output = find_slot,
                               .open = open_blob,
                               .close = close_blob,
                               .self = carried};
    tr_buffer_array(slots, count);
    int error = slots->error;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        error = is_condition ? add_asked(&binder, &workflow.bindings[i], slots, problem)
                             : tr_bind_value(&binder, &workflow.bindings[i], slots);
    }
    if (error == TR_INVALID) {
        note_problem(&binder, binder.code, problem);
    }
    return error;
}

int tr_bind_carry_out(struct tr_bytes plan, const struct tr_bind_reader *reader,
                      struct tr_buffer *slots, bool *is_condition, struct tr_bind_problem *problem)
{
    struct carried carried = {.reader = reader};
    struct tr_cursor cursor = tr_cursor_of(plan);
    uint32_t first = 0;
    uint32_t count = 0;
    tr_arena_init(&carried.arena);
    tr_types_init(&carried.types, &carried.arena);
    tr_buffer_init(&carried.nodes, 0);
    tr_buffer_init(&carried.slots, 0);
    /* The count of a list is the sender's word, so the memory for bindings has a limit. */
    tr_buffer_init(&carried.bindings, TR_VALUES_BYTES_MAX);
    tr_buffer_init(&carried.steps, 0);
    *problem = (struct tr_bind_problem){.code = ""};
    uint32_t parts = tr_read_array(&cursor);
    *is_condition = tr_read_bool(&cursor);
    int error = cursor.error != 0 || parts != 2 ? TR_MALFORMED : 0;
    if (error == 0) {
        error = read_bindings(&carried, &cursor, 0, &first, &count);
    }
    if (error == 0) {
        error = add_all(&carried, *is_condition, count, slots, problem);
    }
    tr_buffer_fini(&carried.steps);
    tr_buffer_fini(&carried.bindings);
    tr_buffer_fini(&carried.slots);
    tr_buffer_fini(&carried.nodes);
    tr_arena_fini(&carried.arena);
    return error;
}
