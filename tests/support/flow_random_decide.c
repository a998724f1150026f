/*
 * Documents of dynamic tasks: a few nodes that run what the definition has, and a task of their
 * own.
 *
 * A dynamic task decides for dynamic tasks that stand before it only, so that there is an end. It
 * takes no workflow with gates or dynamic nodes in it: those would need room that nobody has given.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/flow_random_inside.h"
#include "tests/support/flow_value.h"

#define NODES_MOST 4
#define CHOICES_MOST 8

/* What a reference may name here, and of which type it is. */
struct spot {
    char text[PLACE_BYTES];
    const struct tr_type *type;
};

struct decider {
    struct draw draw;
    const struct tr_graph *graph;
    const struct tr_task *task;
    struct tr_buffer *json;
    struct spot spots[PLACES_MOST];
    uint32_t spot_count;
    struct tr_type lists[PLACES_MOST]; /* types of what maps give */
    const struct tr_type *parts[PLACES_MOST];
    uint32_t list_count;
};

static bool decides_once_in(struct decider *decider, uint32_t times)
{
    return draw_below(&decider->draw, times) == 0;
}

bool flow_random_is_dynamic(const struct tr_task *task)
{
    return task->name.data[0] == FLOW_RANDOM_DYNAMIC[0];
}

/* ------------------------------------------------------------------------------------- types */

/* Types of one graph are the same where they are in the same place; lists are made here, too. */
static bool is_same(const struct tr_type *a, const struct tr_type *b)
{
    return a == b || (a->kind == TR_TYPE_LIST && b->kind == TR_TYPE_LIST &&
                      is_same(a->parts[0], b->parts[0]));
}

static const struct tr_type *list_of(struct decider *decider, const struct tr_type *type)
{
    uint32_t at = decider->list_count++;
    TR_ASSERT(at < PLACES_MOST);
    decider->parts[at] = type;
    decider->lists[at] =
        (struct tr_type){.kind = TR_TYPE_LIST, .parts = &decider->parts[at], .count = 1};
    return &decider->lists[at];
}

static void add_spot(struct decider *decider, const char *owner, struct tr_text name,
                     const struct tr_type *type)
{
    TR_ASSERT(decider->spot_count < PLACES_MOST);
    struct spot *spot = &decider->spots[decider->spot_count++];
    (void)snprintf(spot->text, sizeof spot->text, "$%s%s%.*s", owner, owner[0] != '\0' ? "." : "",
                   (int)name.size, name.data);
    spot->type = type;
}

/* ------------------------------------------------------------------------------------ values */

static void write_literal(struct decider *decider, const struct tr_type *type)
{
    struct tr_buffer value;
    tr_buffer_init(&value, 0);
    flow_value_write(type, draw_u64(&decider->draw), &value);
    int error = tr_literal_json(type, tr_buffer_bytes(&value), decider->json);
    TR_ASSERT(error == 0);
    tr_buffer_fini(&value);
}

static void write_value(struct decider *decider, const struct tr_type *type)
{
    uint32_t first = (uint32_t)draw_below(&decider->draw, decider->spot_count + 1);
    for (uint32_t i = first; i < decider->spot_count && !decides_once_in(decider, 4); i++) {
        if (is_same(decider->spots[i].type, type)) {
            tr_buffer_print(decider->json, "\"%s\"", decider->spots[i].text);
            return;
        }
    }
    write_literal(decider, type);
}

static void write_with(struct decider *decider, const struct tr_variables *inputs, bool is_map)
{
    tr_buffer_add_string(decider->json, ", \"with\": {");
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct tr_variable *input = &inputs->items[i];
        bool is_mapped = is_map && i == 0;
        tr_buffer_print(decider->json, "%s\"%.*s\": ", i > 0 ? ", " : "", (int)input->name.size,
                        input->name.data);
        write_value(decider, is_mapped ? list_of(decider, input->type) : input->type);
    }
    tr_buffer_add_string(decider->json, "}");
}

/* ------------------------------------------------------------------------------------- nodes */

/* Whether a workflow waits for people or decides graphs, however deep. */
static bool is_special(const struct tr_graph *graph, const struct tr_workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        const struct tr_node *node = &workflow->nodes[i];
        bool is_plan = node->target_kind == TR_TARGET_PLAN;
        bool has_inside = is_plan || node->target_kind == TR_TARGET_WORKFLOW;
        uint32_t inside = is_plan ? graph->plans[node->target].workflow : node->target;
        if (node->kind == TR_NODE_APPROVE || node->kind == TR_NODE_SIGNAL ||
            node->kind == TR_NODE_DYNAMIC ||
            (has_inside && is_special(graph, &graph->workflows[inside]))) {
            return true;
        }
    }
    return false;
}

/* A task that may run here: any plain one, or a dynamic one that stands before this. */
static const struct tr_task *choose_task(struct decider *decider)
{
    const struct tr_graph *graph = decider->graph;
    for (uint32_t i = 0; i < CHOICES_MOST; i++) {
        const struct tr_task *task = &graph->tasks[draw_below(&decider->draw, graph->task_count)];
        bool is_plain = task->name.data[0] == 't';
        bool is_before = flow_random_is_dynamic(task) && task < decider->task;
        if (is_plain || is_before) {
            return task;
        }
    }
    return NULL;
}

static const struct tr_workflow *choose_workflow(struct decider *decider)
{
    const struct tr_graph *graph = decider->graph;
    const struct tr_workflow *workflow =
        &graph->workflows[draw_below(&decider->draw, graph->workflow_count)];
    bool may_run = workflow->name.data[0] == 'w' && !is_special(graph, workflow);
    return may_run ? workflow : NULL;
}

static void add_outputs(struct decider *decider, const char *node,
                        const struct tr_variables *outputs, bool is_map)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct tr_type *type = outputs->items[i].type;
        add_spot(decider, node, outputs->items[i].name, is_map ? list_of(decider, type) : type);
    }
}

static void write_call(struct decider *decider, const char *node, const char *key,
                       struct tr_text name, const struct tr_interface *interface)
{
    bool is_map = strcmp(key, "map") == 0;
    tr_buffer_print(decider->json, "\"%s\": {\"%s\": \"%.*s\"", node, key, (int)name.size,
                    name.data);
    write_with(decider, &interface->inputs, is_map);
    if (is_map) {
        struct tr_text over = interface->inputs.items[0].name;
        tr_buffer_print(decider->json, ", \"over\": [\"%.*s\"]", (int)over.size, over.data);
    }
    tr_buffer_add_string(decider->json, "}");
    add_outputs(decider, node, &interface->outputs, is_map);
}

static void write_node(struct decider *decider, uint32_t number)
{
    char node[NAME_BYTES];
    (void)snprintf(node, sizeof node, "m%u", number);
    const struct tr_workflow *workflow =
        decides_once_in(decider, 4) ? choose_workflow(decider) : NULL;
    const struct tr_task *task = workflow == NULL ? choose_task(decider) : NULL;
    if (workflow != NULL) {
        write_call(decider, node, "workflow", workflow->name, &workflow->interface);
    } else if (task != NULL) {
        bool may_map = !flow_random_is_dynamic(task) && task->interface.inputs.count > 0;
        const char *key = flow_random_is_dynamic(task)             ? "dynamic"
                          : may_map && decides_once_in(decider, 3) ? "map"
                                                                   : "task";
        write_call(decider, node, key, task->name, &task->interface);
    } else {
        tr_buffer_print(decider->json, "\"%s\": {\"sleep\": \"%ums\"}", node,
                        (unsigned)draw_below(&decider->draw, 40) + 1);
    }
}

/* A node of a task that the document brings along. Its name is nobody else's. */
static void write_own(struct decider *decider, uint64_t number)
{
    tr_buffer_print(decider->json, ", \"own\": {\"task\": \"x%.*s%08x\", \"with\": {\"a0\": %u}}",
                    (int)decider->task->name.size, decider->task->name.data, (uint32_t)number,
                    (unsigned)draw_below(&decider->draw, 10));
}

static void write_own_task(struct decider *decider, uint64_t number)
{
    struct tr_text type = decider->task->type;
    tr_buffer_print(
        decider->json,
        "\"tasks\": {\"x%.*s%08x\": {\"type\": \"%.*s\", \"inputs\": {\"a0\": \"int\"}, "
        "\"outputs\": {\"o0\": \"int\"}}}, ",
        (int)decider->task->name.size, decider->task->name.data, (uint32_t)number, (int)type.size,
        type.data);
}

/* ---------------------------------------------------------------------------------- documents */

static void write_outputs(struct decider *decider)
{
    const struct tr_variables *outputs = &decider->task->interface.outputs;
    tr_buffer_add_string(decider->json, "}, \"outputs\": {");
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct tr_variable *output = &outputs->items[i];
        tr_buffer_print(decider->json, "%s\"%.*s\": ", i > 0 ? ", " : "", (int)output->name.size,
                        output->name.data);
        write_value(decider, output->type);
    }
    tr_buffer_add_string(decider->json, "}");
}

static void write_document(struct decider *decider, uint64_t number)
{
    const struct tr_variables *inputs = &decider->task->interface.inputs;
    uint32_t count = (uint32_t)draw_below(&decider->draw, NODES_MOST);
    bool has_own = count > 0 && decides_once_in(decider, 3);
    for (uint32_t i = 0; i < inputs->count; i++) {
        add_spot(decider, "", inputs->items[i].name, inputs->items[i].type);
    }
    tr_buffer_add_string(decider->json, "{");
    if (has_own) {
        write_own_task(decider, number);
    }
    tr_buffer_add_string(decider->json, "\"nodes\": {");
    for (uint32_t i = 0; i < count; i++) {
        tr_buffer_add_string(decider->json, i > 0 ? ", " : "");
        write_node(decider, i);
    }
    if (has_own) {
        write_own(decider, number);
    }
    write_outputs(decider);
    if (decides_once_in(decider, 4)) {
        tr_buffer_add_string(decider->json, ", \"policy\": \"finish_runnable\"");
    }
    if (decides_once_in(decider, 16)) {
        tr_buffer_add_string(decider->json, ", \"nobody\": 1");
    }
    tr_buffer_add_string(decider->json, "}");
}

bool flow_random_decide(const struct tr_graph *graph, const struct tr_task *task, uint64_t number,
                        struct tr_buffer *json)
{
    struct decider decider = {
        .draw = {.state = number}, .graph = graph, .task = task, .json = json};
    if (decides_once_in(&decider, 4)) {
        return false;
    }
    write_document(&decider, number);
    return true;
}
