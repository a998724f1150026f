/*
 * Writing definitions: tasks first, then workflows, each of which may call what stands before it.
 *
 * The last workflow is `main`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "tests/support/flow_random_inside.h"

#define NESTING_MOST 3
/* About so many tasks in a whole execution for each step of `size`. */
#define WEIGHT_EACH 12
#define DYNAMIC_TASKS 2

/* ------------------------------------------------------------------------------------ nodes */

static void write_duration(struct generator *g, const char *key, uint32_t least_ms,
                           uint32_t spread_ms)
{
    tr_buffer_print(g->text, ", %s: %ums", key, least_ms + below(g, spread_ms));
}

/* Codes that name the failures of a job, or that do not. */
static void write_codes(struct generator *g, const char *key)
{
    static const char *const lists[] = {"JobFailed", "Busy, JobFailed", "\"Job*\"",
                                        "\"*led\"",  "\"*\"",           "Busy",
                                        "\"Job\"",   "\"*Fail\"",       "jobfailed, \"Jobs*\""};
    tr_buffer_print(g->text, ", %s: [%s]", key, lists[below(g, TR_COUNT_OF(lists))]);
}

static void write_settings(struct generator *g)
{
    if (g->options->has_codes && once_in(g, 3)) {
        write_codes(g, "retry_on");
    }
    if (g->options->has_codes && once_in(g, 4)) {
        write_codes(g, "never_retry_on");
    }
    if (once_in(g, 2)) {
        tr_buffer_print(g->text, ", retries: %u", below(g, 4));
    }
    if (once_in(g, 3)) {
        tr_buffer_print(g->text, ", backoff: {first: %ums, factor: 2, max: 200ms}",
                        1 + below(g, 40));
    }
    if (g->options->has_timing && once_in(g, 3)) {
        write_duration(g, "timeout", 20, 400);
    }
    if (once_in(g, 8)) {
        tr_buffer_add_string(g->text, ", interruptible: true");
    }
}

/* What goes beside a node's body, whatever it is. */
static void write_extras(struct generator *g, bool is_task, bool is_cached,
                         struct interface *outputs)
{
    if (is_task && !is_cached && once_in(g, 4)) {
        write_settings(g);
    }
    if (g->options->has_timing && once_in(g, 8)) {
        write_duration(g, "deadline", 30, 800);
    }
    if (once_in(g, 5)) {
        tr_buffer_add_string(g->text, ", optional: true");
        for (uint32_t i = 0; i < outputs->count; i++) {
            flow_type_optional(outputs->items[i].type);
        }
    }
}

/* Something that may still be called here, with inputs where it is for a map; or NULL. */
static struct callee *choose_callee(struct generator *g, uint32_t times)
{
    uint32_t most = WEIGHT_EACH * g->options->size;
    for (uint32_t i = 0; i < 8; i++) {
        struct callee *callee = &g->callees[below(g, g->callee_count)];
        bool has_room = g->weight + callee->weight * times <= most || callee->weight == 1;
        bool may_map = callee->inputs.count > 0 && !callee->is_dynamic;
        if (has_room && (times == 1 || may_map)) {
            g->weight += callee->weight * times;
            return callee;
        }
    }
    return NULL;
}

/* Values for inputs; of a launch plan some are given, and some need not be. */
static void write_with(struct generator *g, const struct callee *callee, uint32_t mapped,
                       uint32_t left_out)
{
    const char *separator = "";
    tr_buffer_add_string(g->text, ", with: {");
    for (uint32_t i = 0; i < callee->inputs.count; i++) {
        const struct variable *input = &callee->inputs.items[i];
        char list[TYPE_BYTES];
        if ((left_out >> i & 1) != 0) {
            continue;
        }
        memcpy(list, input->type, sizeof list);
        if ((mapped >> i & 1) != 0) {
            flow_type_list(list);
        }
        tr_buffer_print(g->text, "%s%s: ", separator, input->name);
        flow_write_value(g, list);
        separator = ", ";
    }
    tr_buffer_add_string(g->text, "}");
}

/* Whether a workflow is launched here instead of being called. */
static bool is_for_launch(struct generator *g, struct callee *callee)
{
    return g->options->has_launches && callee->is_workflow && !callee->has_gates &&
           once_in(g, g->options->launches_all ? 1 : 3);
}

/* Launches a workflow's plan, or the workflow itself. */
static void write_launch(struct generator *g, struct callee *callee)
{
    uint32_t left_out = 0;
    if (once_in(g, 4)) {
        tr_buffer_print(g->text, "launch: %s", callee->name);
    } else {
        callee->is_launched = true;
        left_out = callee->fixed | (callee->defaults & below(g, 1U << VARIABLES_MOST));
        tr_buffer_print(g->text, "launch: p_%s", callee->name);
    }
    write_with(g, callee, 0, left_out);
}

static void write_call(struct generator *g, struct interface *outputs)
{
    struct callee *callee = choose_callee(g, 1);
    callee = callee != NULL ? callee : &g->callees[0];
    *outputs = callee->outputs;
    if (is_for_launch(g, callee)) {
        write_launch(g, callee);
        return;
    }
    g->has_gates = g->has_gates || callee->has_gates;
    const char *key = callee->is_workflow ? "workflow" : callee->is_dynamic ? "dynamic" : "task";
    tr_buffer_print(g->text, "%s: %s", key, callee->name);
    write_with(g, callee, 0, 0);
}

/* Which inputs of a map get elements: mostly one, named where it might be taken otherwise. */
static uint32_t write_over(struct generator *g, const struct callee *callee, uint32_t left_out)
{
    uint32_t mapped = 0;
    const char *separator = "";
    while (mapped == 0 || once_in(g, 4)) {
        mapped |= 1U << below(g, callee->inputs.count) & ~left_out;
    }
    tr_buffer_add_string(g->text, ", over: [");
    for (uint32_t i = 0; i < callee->inputs.count; i++) {
        if ((mapped >> i & 1) != 0) {
            tr_buffer_print(g->text, "%s%s", separator, callee->inputs.items[i].name);
            separator = ", ";
        }
    }
    tr_buffer_add_string(g->text, "]");
    return mapped;
}

static void write_map(struct generator *g, struct interface *outputs)
{
    struct callee *callee = choose_callee(g, 3);
    bool may_fail = once_in(g, 2);
    if (callee == NULL) {
        write_call(g, outputs);
        return;
    }
    bool has_plan = is_for_launch(g, callee) && callee->fixed + 1 != 1U << callee->inputs.count;
    uint32_t left_out = has_plan ? callee->fixed : 0;
    callee->is_launched = callee->is_launched || has_plan;
    g->has_gates = g->has_gates || callee->has_gates;
    tr_buffer_print(g->text, "map: %s%s", has_plan ? "p_" : "", callee->name);
    write_with(g, callee, write_over(g, callee, left_out), left_out);
    if (once_in(g, 2)) {
        tr_buffer_print(g->text, ", parallelism: %u", 1 + below(g, 3));
    }
    if (may_fail && once_in(g, 2)) {
        tr_buffer_print(g->text, ", min_successes: %u", 1 + below(g, 3));
    } else if (may_fail) {
        tr_buffer_print(g->text, ", min_success_ratio: 0.%u", below(g, 10));
    }
    if (g->text->size % 4 == 0) { /* no draw: seeds make the flows that they have made before */
        tr_buffer_add_string(g->text, ", run_all: true");
    }
    *outputs = callee->outputs;
    for (uint32_t i = 0; i < outputs->count; i++) {
        if (may_fail) {
            flow_type_optional(outputs->items[i].type);
        }
        flow_type_list(outputs->items[i].type);
    }
    if (once_in(g, 4) && outputs->count < VARIABLES_MOST) {
        struct variable *errors = &outputs->items[outputs->count++];
        *errors = (struct variable){.name = "why", .type = "[error | none]"};
        tr_buffer_add_string(g->text, ", errors: why");
    }
}

/* The body of a node, without brackets; what it gives. */
static void write_body(struct generator *g, uint32_t depth, struct interface *outputs);

/* Keeps the outputs that the other one has, too, with the same type. */
static void keep_common(struct interface *outputs, const struct interface *other)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < outputs->count; i++) {
        for (uint32_t k = 0; k < other->count; k++) {
            if (strcmp(outputs->items[i].name, other->items[k].name) == 0 &&
                strcmp(outputs->items[i].type, other->items[k].type) == 0) {
                outputs->items[count++] = outputs->items[i];
                break;
            }
        }
    }
    outputs->count = count;
}

static void write_switch(struct generator *g, uint32_t depth, struct interface *outputs)
{
    uint32_t arms = 1 + below(g, 3);
    struct interface other;
    tr_buffer_add_string(g->text, "switch: [");
    for (uint32_t i = 0; i < arms; i++) {
        tr_buffer_add_string(g->text, "{when: \"");
        flow_write_condition(g);
        tr_buffer_add_string(g->text, "\", ");
        write_body(g, depth + 1, &other);
        tr_buffer_add_string(g->text, "}, ");
        if (i == 0) {
            *outputs = other;
        }
        keep_common(outputs, &other);
    }
    switch (below(g, 3)) {
    case 0:
        tr_buffer_add_string(g->text, "{else: {");
        write_body(g, depth + 1, &other);
        keep_common(outputs, &other);
        tr_buffer_add_string(g->text, "}}]");
        return;
    case 1:
        tr_buffer_add_string(g->text, "{else: skip}]");
        for (uint32_t i = 0; i < outputs->count; i++) {
            flow_type_optional(outputs->items[i].type);
        }
        return;
    default:
        tr_buffer_add_string(g->text, "{fail: no arm for this}]");
        return;
    }
}

static void write_body(struct generator *g, uint32_t depth, struct interface *outputs)
{
    uint32_t choice = below(g, 100);
    if (choice < 20 && depth < NESTING_MOST) {
        write_switch(g, depth, outputs);
    } else if (choice < 42) {
        write_map(g, outputs);
    } else if (choice < 56 && g->options->has_gates) {
        flow_write_gate(g, outputs);
    } else {
        write_call(g, outputs);
    }
}

static void write_node(struct generator *g, uint32_t number)
{
    struct interface outputs = {0};
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "n%u", number);
    tr_buffer_print(g->text, "      %s: {", name);
    size_t begin = g->text->size;
    write_body(g, 0, &outputs);
    bool is_task = memcmp(g->text->data + begin, "task", 4) == 0;
    if (number > 0 && once_in(g, 6)) {
        tr_buffer_print(g->text, ", after: [n%u]", below(g, number));
    }
    write_extras(g, is_task, g->options->has_caches, &outputs);
    tr_buffer_add_string(g->text, "}\n");
    for (uint32_t i = 0; i < outputs.count; i++) {
        flow_place_add(g, name, outputs.items[i].name, outputs.items[i].type);
    }
}

/* ------------------------------------------------------------------------ tasks and workflows */

static void set_type(struct variable *variable, const char *type)
{
    memcpy(variable->type, type, strlen(type) + 1);
}

static void draw_interface(struct generator *g, struct interface *interface, const char *letter,
                           uint32_t most)
{
    interface->count = below(g, most + 1);
    for (uint32_t i = 0; i < interface->count; i++) {
        struct variable *variable = &interface->items[i];
        (void)snprintf(variable->name, sizeof variable->name, "%s%u", letter, i);
        set_type(variable, flow_type_drawn(g));
    }
}

static void write_interface(struct generator *g, const char *key, const struct interface *interface,
                            bool has_defaults)
{
    tr_buffer_print(g->text, "%s: {", key);
    for (uint32_t i = 0; i < interface->count; i++) {
        const struct variable *variable = &interface->items[i];
        tr_buffer_print(g->text, "%s%s: {type: \"%s\"", i > 0 ? ", " : "", variable->name,
                        variable->type);
        if (has_defaults) {
            tr_buffer_add_string(g->text, ", default: ");
            flow_write_literal(g, variable->type);
        }
        tr_buffer_add_string(g->text, "}");
    }
    tr_buffer_add_string(g->text, "}");
}

/* What a dynamic task decides weighs something, and is not cached: that may end otherwise. */
static void write_task(struct generator *g, bool is_dynamic)
{
    struct callee *task = &g->callees[g->callee_count];
    *task = (struct callee){.weight = is_dynamic ? 4 : 1, .is_dynamic = is_dynamic};
    (void)snprintf(task->name, sizeof task->name, "%s%u", is_dynamic ? FLOW_RANDOM_DYNAMIC : "t",
                   g->callee_count++);
    draw_interface(g, &task->inputs, "a", 3);
    draw_interface(g, &task->outputs, "o", 3);
    tr_buffer_print(g->text, "  %s: {type: %s, ", task->name, g->options->task_type);
    write_interface(g, "inputs", &task->inputs, false);
    tr_buffer_add_string(g->text, ", ");
    write_interface(g, "outputs", &task->outputs, false);
    write_settings(g);
    if (g->options->has_caches && !is_dynamic && once_in(g, 2)) {
        tr_buffer_print(g->text, ", cache: {version: v%u, serialize: %s}", below(g, 2),
                        once_in(g, 2) ? "true" : "false");
    }
    if (g->options->has_timing && once_in(g, 3)) {
        tr_buffer_add_string(g->text, ", pool: crm");
    }
    tr_buffer_add_string(g->text, "}\n");
}

/* What some tasks take a place in; each that begins lets the next one wait. */
static void write_pool(struct generator *g)
{
    if (g->options->has_timing) {
        tr_buffer_print(g->text, "pools: {crm: {at_once: %u, per_second: %u}}\n", 1 + below(g, 8),
                        5 + below(g, 60));
    }
}

static void write_bounds(struct generator *g)
{
    if (once_in(g, 3)) {
        tr_buffer_add_string(g->text, "    policy: finish_runnable\n");
    }
    if (once_in(g, 4)) {
        tr_buffer_print(g->text, "    max_parallelism: %u\n", 1 + below(g, 3));
    }
    if (g->options->has_timing && once_in(g, 6)) {
        tr_buffer_print(g->text, "    timeout: %ums\n", 100 + below(g, 1500));
    }
}

/* on_failure and finally: they know the workflow's inputs and the error. */
static void write_handler(struct generator *g, const char *key)
{
    struct interface outputs;
    if (!once_in(g, 4)) {
        return;
    }
    g->place_count = g->input_count;
    tr_buffer_print(g->text, "    %s: {", key);
    if (once_in(g, 2)) {
        tr_buffer_add_string(g->text, "task: mend, with: {a0: ");
        flow_write_value(g, "int");
        tr_buffer_add_string(g->text, "}");
    } else {
        write_call(g, &outputs);
    }
    tr_buffer_add_string(g->text, "}\n");
}

/* Some of what its nodes give, and sometimes a literal or what a field holds. */
static void write_outputs(struct generator *g, struct callee *workflow)
{
    uint32_t count = below(g, VARIABLES_MOST);
    uint32_t first = once_in(g, 6) ? 0 : g->input_count;
    tr_buffer_add_string(g->text, "    outputs: {");
    for (uint32_t i = 0; i < count; i++) {
        struct variable *output = &workflow->outputs.items[workflow->outputs.count++];
        (void)snprintf(output->name, sizeof output->name, "o%u", i);
        tr_buffer_print(g->text, "%s%s: ", i > 0 ? ", " : "", output->name);
        if (first < g->place_count && !once_in(g, 6)) {
            const struct place *place = &g->places[first + below(g, g->place_count - first)];
            tr_buffer_add_string(g->text, place->text);
            memcpy(output->type, place->type, sizeof output->type);
        } else {
            set_type(output, flow_type_drawn(g));
            tr_buffer_add_string(g->text, "{value: ");
            flow_write_value(g, output->type);
            tr_buffer_print(g->text, ", type: \"%s\"}", output->type);
        }
    }
    tr_buffer_add_string(g->text, "}\n");
}

static void write_workflow(struct generator *g, bool is_main)
{
    struct callee *workflow = &g->callees[g->callee_count];
    uint32_t nodes = 1 + below(g, g->options->size) + below(g, 2);
    *workflow = (struct callee){.is_workflow = true};
    g->has_gates = false;
    (void)snprintf(workflow->name, sizeof workflow->name, is_main ? "main" : "w%u",
                   g->callee_count);
    draw_interface(g, &workflow->inputs, "i", 3);
    g->place_count = g->weight = 0;
    for (uint32_t i = 0; i < workflow->inputs.count; i++) {
        flow_place_add(g, "", workflow->inputs.items[i].name, workflow->inputs.items[i].type);
    }
    g->input_count = g->place_count;
    tr_buffer_print(g->text, "  %s:\n    ", workflow->name);
    write_interface(g, "inputs", &workflow->inputs, is_main);
    tr_buffer_add_string(g->text, "\n    nodes:\n");
    for (uint32_t i = 0; i < nodes; i++) {
        write_node(g, i);
    }
    write_outputs(g, workflow);
    write_bounds(g);
    flow_write_labels(g, "    labels");
    tr_buffer_add_string(g->text, "\n");
    write_handler(g, "on_failure");
    write_handler(g, "finally");
    if (is_main && g->options->behind_main != NULL) {
        tr_buffer_add_string(g->text, g->options->behind_main);
    }
    workflow->weight = g->weight + 1;
    workflow->has_gates = g->has_gates;
    flow_plan_draw(g, workflow);
    g->callee_count++;
}

void flow_random_write(const struct flow_random_options *options, struct tr_buffer *text)
{
    struct generator *g = calloc(1, sizeof *g);
    TR_ASSERT(g != NULL);
    *g = (struct generator){.draw = {.state = options->seed}, .options = options, .text = text};
    uint32_t tasks = 2 + below(g, 5);
    uint32_t workflows = below(g, options->size < 6 ? options->size : 6);
    tr_buffer_add_string(text, "troupe: 1\n");
    write_pool(g);
    tr_buffer_add_string(text, "tasks:\n");
    tr_buffer_print(text, "  mend: {type: %s, inputs: {err: error, a0: int}, outputs: {o0: int}}\n",
                    options->task_type);
    for (uint32_t i = 0; i < tasks; i++) {
        write_task(g, false);
    }
    for (uint32_t i = 0; options->has_dynamic && i < DYNAMIC_TASKS; i++) {
        write_task(g, true);
    }
    tr_buffer_add_string(text, "workflows:\n");
    for (uint32_t i = 0; i <= workflows; i++) {
        write_workflow(g, i == workflows);
    }
    flow_write_plans(g);
    free(g);
}

/* -------------------------------------------------------------------------------- compiling */

static void print_problems(struct tr_report *report, struct tr_text text)
{
    struct tr_buffer line;
    tr_buffer_init(&line, 0);
    tr_report_finish(report);
    for (uint32_t i = 0; i < report->count; i++) {
        tr_problem_print(&report->problems[i], &line);
        tr_buffer_add_string(&line, "\n");
    }
    fprintf(stderr, "%.*s%.*s", (int)text.size, text.data, (int)line.size, (const char *)line.data);
    tr_buffer_fini(&line);
}

struct tr_graph *flow_random_compile(struct tr_text text)
{
    struct tr_graph *graph = NULL;
    struct tr_report report;
    struct tr_definition_source request = {
        .path = tr_text_of("random.yaml"), .folder = tr_text_of("/"), .text = text};
    tr_report_init(&report);
    int error = tr_graph_compile(&request, &report, &graph);
    if (error != 0) {
        print_problems(&report, text);
    }
    TR_ASSERT(error == 0);
    tr_report_fini(&report);
    return graph;
}
