/*
 * The rules, node by node: a node is looked at when somebody asks for it, after all that it waits
 * for, and remembers what it came to.
 */
#include "tests/support/flow_model.h"

#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/value/slot.h"
#include "tests/support/flow_value.h"

#define BIT(name) (1U << TR_NODE_PHASE_##name)
#define EARLY (BIT(NOT_YET_STARTED) | BIT(ABORTED))

/* What a node came to. */
enum came { CAME_UNKNOWN, CAME_VALUES, CAME_NONE, CAME_NOTHING };

struct seen {
    enum came came;
    uint8_t phase;
    uint32_t arm; /* + 1 */
    struct tr_bytes *values;
};

/* One workflow being looked at. */
struct walk {
    struct flow_model *model;
    const struct tr_workflow *workflow;
    uint32_t index;
    struct tr_text path; /* with the slash behind it */
    struct seen *seen;
    struct tr_bytes error; /* of type error; of empty texts while there is none */
    bool has_error;
    size_t first; /* of its nodes in the model */
};

static void look_at(struct walk *walk, uint32_t node);
static uint8_t run_workflow(struct flow_model *model, uint32_t index, struct tr_text path,
                            struct tr_bytes inputs, struct tr_bytes *outputs);

/* ------------------------------------------------------------------- values */

static struct tr_bytes keep(struct walk *walk, struct tr_buffer *buffer)
{
    assert_int_equal(buffer->error, 0);
    struct tr_bytes kept = tr_arena_bytes(&walk->model->arena, tr_buffer_bytes(buffer));
    tr_buffer_fini(buffer);
    return kept;
}

static int compare_texts(struct tr_text a, struct tr_text b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size == 0 ? 0 : memcmp(a.data, b.data, size);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static struct tr_bytes none_of(struct walk *walk, const struct tr_type *type)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    if (type != NULL && type->kind == TR_TYPE_UNION) {
        for (uint32_t i = 0; i < type->count; i++) {
            if (type->parts[i]->kind == TR_TYPE_NONE) {
                tr_buffer_array(&buffer, 2);
                tr_buffer_u64(&buffer, i);
            }
        }
    }
    tr_buffer_nil(&buffer);
    return keep(walk, &buffer);
}

static bool cast(struct walk *walk, const struct tr_type *from, const struct tr_type *to,
                 struct tr_bytes value, struct tr_bytes *out)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    bool is_fine = tr_literal_cast(from, to, value, &buffer) == 0;
    *out = keep(walk, &buffer);
    return is_fine;
}

static bool value_of(struct walk *walk, const struct tr_binding *binding, struct tr_bytes *out);

/* The parts of a list, or of a map, whose keys are sorted. */
static bool assemble(struct walk *walk, const struct tr_binding *binding, struct tr_bytes *out)
{
    struct tr_buffer buffer;
    bool is_map = binding->kind == TR_BINDING_MAP;
    bool is_fine = true;
    struct tr_text last = {0};
    tr_buffer_init(&buffer, 0);
    if (is_map) {
        tr_buffer_map(&buffer, binding->count);
    } else {
        tr_buffer_array(&buffer, binding->count);
    }
    for (uint32_t i = 0; is_fine && i < binding->count; i++) {
        const struct tr_binding *parts = &walk->workflow->bindings[binding->first];
        const struct tr_binding *part = &parts[i];
        for (uint32_t k = 0; is_map && k < binding->count; k++) {
            /* The smallest key that is larger than the last one. */
            bool is_next = i == 0 || compare_texts(parts[k].key, last) > 0;
            bool was_next = part != &parts[i] || i == 0 || compare_texts(part->key, last) > 0;
            if (is_next && (!was_next || compare_texts(parts[k].key, part->key) < 0)) {
                part = &parts[k];
            }
        }
        struct tr_bytes value = {0};
        last = part->key;
        if (is_map) {
            tr_buffer_text_value(&buffer, part->key);
        }
        is_fine = value_of(walk, part, &value);
        tr_buffer_add(&buffer, value.data, value.size);
    }
    *out = keep(walk, &buffer);
    return is_fine;
}

/* A text of parts, one behind the other. */
static bool join(struct walk *walk, const struct tr_binding *binding, struct tr_bytes *out)
{
    struct tr_buffer text;
    struct tr_buffer whole;
    bool is_fine = true;
    tr_buffer_init(&text, 0);
    for (uint32_t i = 0; is_fine && i < binding->count; i++) {
        struct tr_bytes part;
        is_fine = value_of(walk, &walk->workflow->bindings[binding->first + i], &part) &&
                  flow_value_text(part, &text);
    }
    tr_buffer_init(&whole, 0);
    tr_buffer_text_value(&whole, tr_buffer_text(&text));
    tr_buffer_fini(&text);
    *out = keep(walk, &whole);
    return is_fine;
}

/* The value that a reference or `$err` begins at. */
static bool source_of(struct walk *walk, const struct tr_binding *binding,
                      const struct tr_type **type, struct tr_bytes *value)
{
    static const struct tr_type error_type = {.kind = TR_TYPE_ERROR};
    if (binding->kind == TR_BINDING_ERROR) {
        *type = binding->count == 0 ? binding->source : &error_type;
        *value = walk->error;
        return true;
    }
    const struct tr_variables *outputs = &walk->workflow->nodes[binding->node].outputs;
    assert_int_equal(binding->kind, TR_BINDING_REFERENCE);
    *type = outputs->items[binding->output].type;
    *value = walk->seen[binding->node].values[binding->output];
    return true;
}

/* The value of a binding; false when it cannot be had. */
static bool value_of(struct walk *walk, const struct tr_binding *binding, struct tr_bytes *out)
{
    const struct tr_type *type = binding->source;
    struct tr_bytes value = binding->literal;
    if (binding->kind == TR_BINDING_LITERAL) {
        *out = value;
        return true;
    }
    if (binding->kind == TR_BINDING_TEXT) {
        return join(walk, binding, &value) && cast(walk, type, binding->type, value, out);
    }
    if (binding->kind == TR_BINDING_LIST || binding->kind == TR_BINDING_MAP) {
        return assemble(walk, binding, &value) && cast(walk, type, binding->type, value, out);
    }
    bool is_none = binding->kind == TR_BINDING_ERROR && !walk->has_error;
    if (is_none && (binding->type == NULL || tr_type_is_optional(binding->type))) {
        *out = none_of(walk, binding->type);
        return true;
    }
    (void)source_of(walk, binding, &type, &value);
    for (uint32_t i = 0; i < binding->count; i++) {
        const struct tr_step *step = &walk->workflow->steps[binding->first + i];
        if (tr_literal_follow(type, value, step, 1, &type, &value) != 0) {
            return false;
        }
    }
    return cast(walk, type, binding->type, value, out);
}

/* All inputs of a node as one list. */
static bool inputs_of(struct walk *walk, const struct tr_node *node, struct tr_bytes *out)
{
    struct tr_buffer buffer;
    bool is_fine = true;
    tr_buffer_init(&buffer, 0);
    tr_buffer_array(&buffer, node->input_count);
    for (uint32_t i = 0; is_fine && i < node->input_count; i++) {
        struct tr_bytes value = {0};
        is_fine = value_of(walk, &walk->workflow->bindings[node->input_first + i], &value);
        tr_buffer_add(&buffer, value.data, value.size);
    }
    *out = keep(walk, &buffer);
    return is_fine;
}

/* ------------------------------------------------------------------- endings */

static struct tr_text path_of(struct walk *walk, uint32_t node)
{
    return tr_arena_print(&walk->model->arena, "%.*s%.*s", TRI_TEXT(walk->path),
                          TRI_TEXT(walk->workflow->nodes[node].id));
}

/* Writes down how a node ended. */
static void note(struct walk *walk, uint32_t node, uint8_t phase, bool has_begun)
{
    struct flow_model *model = walk->model;
    walk->seen[node].phase = phase;
    if (node == 0 || node == walk->workflow->end) {
        return;
    }
    if (model->count == model->capacity) {
        model->capacity = model->capacity == 0 ? 64 : 2 * model->capacity;
        model->nodes = realloc(model->nodes, model->capacity * sizeof *model->nodes);
        assert_non_null(model->nodes);
    }
    model->nodes[model->count++] = (struct flow_model_node){
        .path = path_of(walk, node), .phases = 1U << phase, .phase = phase, .has_begun = has_begun};
}

static struct tr_bytes *room_for(struct walk *walk, const struct tr_node *node)
{
    struct tr_bytes *values =
        tr_arena_array(&walk->model->arena, node->outputs.count + (size_t)1, sizeof *values);
    assert_non_null(values);
    return values;
}

static void give_none(struct walk *walk, uint32_t node)
{
    const struct tr_node *compiled = &walk->workflow->nodes[node];
    struct seen *seen = &walk->seen[node];
    seen->came = CAME_NONE;
    seen->values = room_for(walk, compiled);
    for (uint32_t i = 0; i < compiled->outputs.count; i++) {
        seen->values[i] = none_of(walk, compiled->outputs.items[i].type);
    }
}

static void end_failed(struct walk *walk, uint32_t node, uint8_t phase)
{
    note(walk, node, phase, true);
    walk->seen[node].came = CAME_NOTHING;
    if (walk->workflow->nodes[node].is_optional) {
        give_none(walk, node);
    }
}

/* Takes apart a list of slots, each of which may still have to become one that can be none. */
static void give(struct walk *walk, uint32_t node, struct tr_bytes slots)
{
    const struct tr_node *compiled = &walk->workflow->nodes[node];
    const struct tr_graph *graph = walk->model->graph;
    struct seen *seen = &walk->seen[node];
    seen->came = CAME_VALUES;
    seen->values = room_for(walk, compiled);
    for (uint32_t i = 0; i < compiled->outputs.count; i++) {
        const struct tr_type *type = compiled->outputs.items[i].type;
        const struct tr_type *from =
            compiled->kind == TR_NODE_TASK
                ? graph->tasks[compiled->target].interface.outputs.items[i].type
            : compiled->kind == TR_NODE_WORKFLOW
                ? graph->workflows[compiled->target].interface.outputs.items[i].type
            : type->kind == TR_TYPE_UNION ? type->parts[0]
                                          : type;
        struct tr_bytes slot;
        assert_int_equal(tr_slots_get(slots, i, &slot), 0);
        assert_true(cast(walk, from, type, slot, &seen->values[i]));
    }
    note(walk, node, TR_NODE_PHASE_SUCCEEDED, true);
}

/* ------------------------------------------------------------------ beginnings */

static void run_fake(struct walk *walk, uint32_t node, struct tr_bytes inputs)
{
    const struct tr_node *compiled = &walk->workflow->nodes[node];
    struct tr_node_start start = {.workflow = walk->index,
                                  .node = node,
                                  .element = TR_ELEMENT_NONE,
                                  .path = path_of(walk, node),
                                  .inputs = inputs};
    struct flow_task task = {
        .graph = walk->model->graph, .node = compiled, .start = &start, .number = flow_sum(inputs)};
    struct flow_answer answer = {0};
    if (walk->model->script != NULL) {
        walk->model->script(walk->model->self, &task, &answer);
    }
    if (answer.phase != 0 && answer.phase != TR_NODE_PHASE_SUCCEEDED) {
        end_failed(walk, node, answer.phase);
        return;
    }
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    if (answer.outputs.size == 0) {
        flow_make_outputs(&task, &buffer);
    }
    tr_buffer_add(&buffer, answer.outputs.data, answer.outputs.size);
    give(walk, node, keep(walk, &buffer));
}

static void run_inner(struct walk *walk, uint32_t node, struct tr_bytes inputs)
{
    uint32_t target = walk->workflow->nodes[node].target;
    struct tr_text path =
        tr_arena_print(&walk->model->arena, "%.*s/", TRI_TEXT(path_of(walk, node)));
    struct tr_bytes outputs = {0};
    uint8_t phase = run_workflow(walk->model, target, path, inputs, &outputs);
    if (phase == TR_NODE_PHASE_SUCCEEDED) {
        give(walk, node, outputs);
    } else {
        end_failed(walk, node, phase);
    }
}

static void run_end(struct walk *walk, uint32_t node, struct tr_bytes inputs)
{
    const struct tr_node *end = &walk->workflow->nodes[node];
    struct seen *seen = &walk->seen[node];
    seen->came = CAME_VALUES;
    seen->values =
        tr_arena_array(&walk->model->arena, end->input_count + (size_t)1, sizeof *seen->values);
    seen->values[0] = inputs;
    note(walk, node, TR_NODE_PHASE_SUCCEEDED, true);
}

/* Skips a node, and the arms of a branch with it. */
static void end_skipped(struct walk *walk, uint32_t node)
{
    const struct tr_node *compiled = &walk->workflow->nodes[node];
    if (walk->seen[node].came != CAME_UNKNOWN) {
        return;
    }
    walk->seen[node].came = CAME_NOTHING;
    note(walk, node, TR_NODE_PHASE_SKIPPED, false);
    for (uint32_t i = 0; i < compiled->arm_count; i++) {
        const struct tr_arm *arm = &walk->workflow->arms[compiled->arm_first + i];
        if (arm->kind == TR_ARM_NODE) {
            end_skipped(walk, arm->node);
        }
    }
}

/* The first arm whose condition holds, or NULL where one cannot be asked. */
static const struct tr_arm *choose(struct walk *walk, const struct tr_node *branch)
{
    struct tr_bytes *inputs =
        tr_arena_array(&walk->model->arena, branch->input_count + (size_t)1, sizeof *inputs);
    for (uint32_t i = 0; i < branch->input_count; i++) {
        if (!value_of(walk, &walk->workflow->bindings[branch->input_first + i], &inputs[i])) {
            inputs[i] = (struct tr_bytes){0};
        }
    }
    for (uint32_t i = 0; i < branch->arm_count; i++) {
        const struct tr_arm *arm = &walk->workflow->arms[branch->arm_first + i];
        bool holds = arm->condition == TR_GRAPH_NONE;
        if (!holds &&
            tr_condition_evaluate(walk->workflow, branch, arm->condition, inputs, &holds) != 0) {
            return NULL;
        }
        if (holds) {
            return arm;
        }
    }
    return NULL;
}

/* The branch ends as the node of the arm that was taken. */
static void end_as(struct walk *walk, uint32_t node, const struct tr_arm *arm)
{
    const struct tr_node *branch = &walk->workflow->nodes[node];
    const struct tr_variables *given = &walk->workflow->nodes[arm->node].outputs;
    struct seen *below = &walk->seen[arm->node];
    struct seen *seen = &walk->seen[node];
    look_at(walk, arm->node);
    if (below->came == CAME_NOTHING) {
        if (below->phase == TR_NODE_PHASE_SKIPPED) {
            seen->came = CAME_NOTHING;
            note(walk, node, TR_NODE_PHASE_SKIPPED, true);
        } else {
            end_failed(walk, node, TR_NODE_PHASE_FAILED);
        }
        return;
    }
    seen->came = CAME_VALUES;
    seen->values = room_for(walk, branch);
    for (uint32_t i = 0; i < branch->outputs.count; i++) {
        assert_true(cast(walk, given->items[arm->outputs[i]].type, branch->outputs.items[i].type,
                         below->values[arm->outputs[i]], &seen->values[i]));
    }
    note(walk, node, TR_NODE_PHASE_SUCCEEDED, true);
}

static void run_branch(struct walk *walk, uint32_t node)
{
    const struct tr_node *branch = &walk->workflow->nodes[node];
    const struct tr_arm *taken = choose(walk, branch);
    for (uint32_t i = 0; i < branch->arm_count; i++) {
        const struct tr_arm *arm = &walk->workflow->arms[branch->arm_first + i];
        if (arm->kind == TR_ARM_NODE && arm != taken) {
            end_skipped(walk, arm->node);
        }
    }
    if (taken == NULL || taken->kind == TR_ARM_FAIL) {
        end_failed(walk, node, TR_NODE_PHASE_FAILED);
    } else if (taken->kind == TR_ARM_SKIP) {
        give_none(walk, node);
        note(walk, node, TR_NODE_PHASE_SUCCEEDED, true);
    } else {
        end_as(walk, node, taken);
    }
}

static void look_at(struct walk *walk, uint32_t node)
{
    const struct tr_node *compiled = &walk->workflow->nodes[node];
    bool skips = false;
    if (walk->seen[node].came != CAME_UNKNOWN) {
        return;
    }
    for (uint32_t i = 0; i < compiled->upstream_count; i++) {
        uint32_t upstream = walk->workflow->upstream[compiled->upstream_first + i];
        if (upstream != compiled->parent) {
            look_at(walk, upstream);
            skips = skips || walk->seen[upstream].came == CAME_NOTHING;
        }
    }
    struct tr_bytes inputs = {0};
    if (skips) {
        end_skipped(walk, node);
    } else if (compiled->kind == TR_NODE_BRANCH) {
        run_branch(walk, node);
    } else if (!inputs_of(walk, compiled, &inputs)) {
        end_failed(walk, node, TR_NODE_PHASE_FAILED);
    } else if (compiled->kind == TR_NODE_END) {
        run_end(walk, node, inputs);
    } else if (compiled->kind == TR_NODE_WORKFLOW) {
        run_inner(walk, node, inputs);
    } else {
        run_fake(walk, node, inputs);
    }
}

/* ------------------------------------------------------------------ workflows */

/* A failure that was not made good for: of a node at the top that is not optional. */
static bool has_failed(const struct walk *walk)
{
    for (uint32_t i = 1; i <= walk->workflow->end; i++) {
        const struct tr_node *node = &walk->workflow->nodes[i];
        bool is_failure =
            walk->seen[i].came == CAME_NOTHING && walk->seen[i].phase != TR_NODE_PHASE_SKIPPED;
        if (node->parent == TR_GRAPH_NONE && is_failure) {
            return true;
        }
    }
    return false;
}

/* Nodes that may be found ended early, or not at all. */
static void relax(struct flow_model *model, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        model->nodes[i].phases |= model->nodes[i].has_begun ? EARLY : BIT(NOT_YET_STARTED);
    }
}

/* on_failure and finally know the error but for its words, which no rule here depends on. */
static void make_error(struct walk *walk, const char *word)
{
    struct tr_buffer buffer;
    struct tr_failure failure = {.node = tr_text_of(word),
                                 .code = tr_text_of(word),
                                 .message = tr_text_of(word),
                                 .element = -1};
    tr_buffer_init(&buffer, 0);
    tr_write_failure(&buffer, &failure);
    walk->error = keep(walk, &buffer);
}

static void look_at_all(struct walk *walk)
{
    for (uint32_t i = 1; i <= walk->workflow->end; i++) {
        if (walk->workflow->nodes[i].parent == TR_GRAPH_NONE) {
            look_at(walk, i);
        }
    }
}

static uint8_t run_workflow(struct flow_model *model, uint32_t index, struct tr_text path,
                            struct tr_bytes inputs, struct tr_bytes *outputs)
{
    const struct tr_workflow *workflow = &model->graph->workflows[index];
    struct walk walk = {
        .model = model, .workflow = workflow, .index = index, .path = path, .first = model->count};
    walk.seen = tr_arena_array(&model->arena, workflow->node_count, sizeof *walk.seen);
    assert_non_null(walk.seen);
    walk.seen[0] = (struct seen){.came = CAME_VALUES,
                                 .phase = TR_NODE_PHASE_SUCCEEDED,
                                 .values = room_for(&walk, &workflow->nodes[0])};
    for (uint32_t i = 0; i < workflow->interface.inputs.count; i++) {
        assert_int_equal(tr_slots_get(inputs, i, &walk.seen[0].values[i]), 0);
    }
    look_at_all(&walk);
    bool is_failed = has_failed(&walk);
    if (is_failed && workflow->policy == TR_POLICY_FAIL_IMMEDIATELY) {
        relax(model, walk.first, model->count);
    }
    make_error(&walk, is_failed ? "something" : "");
    walk.has_error = is_failed;
    if (is_failed && workflow->on_failure != TR_GRAPH_NONE) {
        look_at(&walk, workflow->on_failure);
    }
    if (workflow->finally != TR_GRAPH_NONE) {
        look_at(&walk, workflow->finally);
        is_failed = is_failed || walk.seen[workflow->finally].came == CAME_NOTHING;
    }
    if (!is_failed) {
        *outputs = walk.seen[workflow->end].values[0];
    }
    return is_failed ? TR_NODE_PHASE_FAILED : TR_NODE_PHASE_SUCCEEDED;
}

void flow_model_init(struct flow_model *model, const struct tr_graph *graph, uint32_t workflow,
                     struct tr_bytes inputs, flow_script *script, void *self)
{
    *model = (struct flow_model){.graph = graph, .script = script, .self = self};
    tr_arena_init(&model->arena);
    uint8_t phase = run_workflow(model, workflow, tr_text_of(""), inputs, &model->values);
    model->phase = phase == TR_NODE_PHASE_SUCCEEDED ? TR_EXECUTION_SUCCEEDED : TR_EXECUTION_FAILED;
}

void flow_model_fini(struct flow_model *model)
{
    tr_arena_fini(&model->arena);
    free(model->nodes);
}

void flow_model_relax(struct flow_model *model)
{
    relax(model, 0, model->count);
}

/* Prints which phases the model allows. */
static void print_allowed(const struct flow_model_node *node, uint8_t found)
{
    print_message("%.*s is %s, and may be:", TRI_TEXT(node->path), tr_node_phase_word(found));
    for (uint8_t phase = 0; phase <= TR_NODE_PHASE_MAX; phase++) {
        if ((node->phases >> phase & 1) != 0) {
            print_message(" %s;", tr_node_phase_word(phase));
        }
    }
    print_message("\n");
}

void flow_model_expect(const struct flow_model *model, struct flow *flow, const char *name)
{
    char path[TR_ADDRESS_BYTES_MAX];
    for (size_t i = 0; i < model->count; i++) {
        const struct flow_model_node *node = &model->nodes[i];
        snprintf(path, sizeof path, "%.*s", TRI_TEXT(node->path));
        uint8_t found = flow_node_phase(flow, name, path);
        if ((node->phases >> found & 1) == 0) {
            print_allowed(node, found);
        }
        assert_true((node->phases >> found & 1) != 0);
    }
}
