/*
 * Any bytes as a packed graph: refused, or a graph whose every index holds, as a walk over all of
 * it shows, and which packs and unpacks again.
 */
#include <stdlib.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiled/retry_codes.h"
#include "actors/graph/compiled/schedule_time.h"
#include "tests/fuzz/fuzz.h"

static volatile uint64_t sum;

/* Touches a binding and all its parts. */
static void walk_binding(const struct tr_workflow *workflow, uint32_t index)
{
    const struct tr_binding *binding = &workflow->bindings[index];
    sum += binding->kind + binding->key.size;
    if (binding->kind == TR_BINDING_REFERENCE) {
        sum += workflow->nodes[binding->node].outputs.items[binding->output].name.size;
    }
    for (uint32_t i = 0; i < binding->count; i++) {
        bool has_parts = tr_binding_has_parts(binding);
        if (has_parts) {
            walk_binding(workflow, binding->first + i);
        } else if (binding->kind != TR_BINDING_LITERAL) {
            sum += workflow->steps[binding->first + i].index;
        }
    }
}

static void walk_branch(const struct tr_workflow *workflow, const struct tr_node *node)
{
    struct tr_bytes inputs[64] = {0};
    for (uint32_t i = 0; i < node->arm_count; i++) {
        const struct tr_arm *arm = &workflow->arms[node->arm_first + i];
        bool result = false;
        if (arm->condition != TR_GRAPH_NONE && node->input_count <= 64) {
            (void)!tr_condition_evaluate(workflow, node, arm->condition, inputs, &result);
        }
        sum += arm->kind == TR_ARM_NODE ? workflow->nodes[arm->node].kind : 0;
    }
}

static void walk_retries(const struct tr_settings *settings)
{
    const struct tr_failure_names names = {.code = tr_text_of("ProcessFailed"),
                                           .exception = tr_text_of("json.JSONDecodeError")};
    struct tr_text pattern;
    sum += tr_retry_allows(settings, &names, &pattern) ? 1 : pattern.size;
}

static void walk_node(const struct tr_workflow *workflow, const struct tr_node *node)
{
    for (uint32_t i = 0; i < node->upstream_count; i++) {
        sum += workflow->nodes[workflow->upstream[node->upstream_first + i]].kind;
    }
    for (uint32_t i = 0; i < node->downstream_count; i++) {
        sum += workflow->nodes[workflow->downstream[node->downstream_first + i]].kind;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        struct tr_buffer text;
        tr_buffer_init(&text, 0);
        walk_binding(workflow, node->input_first + i);
        tr_binding_print(workflow, &workflow->bindings[node->input_first + i], &text);
        sum += text.size;
        tr_buffer_fini(&text);
    }
    if (node->kind == TR_NODE_BRANCH) {
        walk_branch(workflow, node);
    }
    if (node->target_kind == TR_TARGET_TASK) {
        sum += node->settings->retries;
        walk_retries(node->settings);
    }
}

/*
 * When a plan fires: in UTC, as its own zone may be any file of the database, which GLib reads anew
 * each time.
 */
static void walk_plan(const struct tr_graph *graph, const struct tr_plan *plan,
                      const struct tr_zone *zone)
{
    const struct tr_variables *inputs = &graph->workflows[plan->workflow].interface.inputs;
    const struct tr_schedule *schedule = &plan->schedule;
    char name[TR_SCHEDULE_NAME_BYTES];
    int64_t time = 1780000000;
    if (!schedule->is_set) {
        return;
    }
    for (int i = 0; i < 3 && tr_schedule_next(schedule, zone, time, &time) == 0; i++) {
        tr_schedule_name(plan->name, time, name);
        sum += (uint64_t)time + (uint8_t)name[0];
    }
    sum += tr_schedule_due(schedule, zone, 1780000000, 1780007200).fires ? 1 : 0;
    if (schedule->kickoff_input != TR_GRAPH_NONE &&
        inputs->items[schedule->kickoff_input].type->kind != TR_TYPE_DATETIME) {
        abort();
    }
}

static void walk_plans(const struct tr_graph *graph)
{
    struct tr_zone *zone = NULL;
    if (tr_zone_open(tr_text_of("UTC"), &zone) != 0) {
        abort();
    }
    for (uint32_t i = 0; i < graph->plan_count; i++) {
        walk_plan(graph, &graph->plans[i], zone);
    }
    tr_zone_close(zone);
}

static void walk(const struct tr_graph *graph)
{
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        const struct tr_workflow *workflow = &graph->workflows[i];
        for (uint32_t k = 0; k < workflow->node_count; k++) {
            walk_node(workflow, &workflow->nodes[k]);
        }
    }
    walk_plans(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_bytes bytes = {.data = data, .size = size};
    struct tr_graph *graph = NULL;
    struct tr_graph *again = NULL;
    if (tr_graph_unpack(bytes, &graph) != 0) {
        return 0;
    }
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    walk(graph);
    if (tr_graph_pack(graph, &buffer) != 0 ||
        tr_graph_unpack(tr_buffer_bytes(&buffer), &again) != 0) {
        abort();
    }
    tr_graph_free(again);
    tr_buffer_fini(&buffer);
    tr_graph_free(graph);
    return 0;
}
