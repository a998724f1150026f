/*
 * Random definitions compile, whatever the seed; they hold every form that they are there for; and
 * the values made for them are values of their types.
 */
#include "tests/support/test.h"

#include <stdlib.h>

#include "runtime/memory.h"
#include "tests/support/flow_random.h"
#include "tests/support/flow_value.h"

#define SEEDS 2000
#define SEEDS_LONG 50000

/* What was seen of a form. */
static struct {
    uint64_t kinds[TR_NODE_SLEEP + 1];
    uint64_t bindings[TR_BINDING_TEXT + 1];
    uint64_t arms[TR_ARM_FAIL + 1];
    uint64_t maps_of_workflows;
    uint64_t nested;
    uint64_t optional;
    uint64_t on_failure;
    uint64_t finally;
    uint64_t finish_runnable;
    uint64_t max_parallelism;
    uint64_t retries;
    uint64_t cached;
    uint64_t timeouts;
    uint64_t steps;
    uint64_t retry_codes;
    uint64_t never_codes;
    uint64_t labels;
    uint64_t plan_labels;
} seen;

static struct flow_random_options options_of(uint64_t seed)
{
    return (struct flow_random_options){
        .seed = seed,
        .size = 1 + (uint32_t)(seed % 16),
        .task_type = "remote",
        .has_timing = seed % 3 == 0,
        .has_caches = seed % 5 == 0,
        .has_launches = seed % 7 == 0,
        .has_texts = seed % 2 == 0,
        .has_codes = seed % 2 == 0,
        .has_labels = seed % 2 == 0,
    };
}

static struct tr_graph *make(uint64_t seed)
{
    struct flow_random_options options = options_of(seed);
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    flow_random_write(&options, &text);
    struct tr_graph *graph = flow_random_compile(tr_buffer_text(&text));
    tr_buffer_fini(&text);
    return graph;
}

static void look_at_nodes(const struct tr_workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        const struct tr_node *node = &workflow->nodes[i];
        seen.kinds[node->kind]++;
        seen.optional += node->is_optional ? 1 : 0;
        seen.maps_of_workflows +=
            node->kind == TR_NODE_MAP && node->target_kind == TR_TARGET_WORKFLOW ? 1 : 0;
        for (uint32_t k = 0; k < node->arm_count; k++) {
            seen.arms[workflow->arms[node->arm_first + k].kind]++;
        }
    }
    for (uint32_t i = 0; i < workflow->binding_count; i++) {
        seen.bindings[workflow->bindings[i].kind]++;
    }
}

static void look_at(const struct tr_graph *graph)
{
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        const struct tr_workflow *workflow = &graph->workflows[i];
        look_at_nodes(workflow);
        seen.nested += workflow->nesting > 2 ? 1 : 0;
        seen.on_failure += workflow->on_failure != TR_GRAPH_NONE ? 1 : 0;
        seen.finally += workflow->finally != TR_GRAPH_NONE ? 1 : 0;
        seen.finish_runnable += workflow->policy == TR_POLICY_FINISH_RUNNABLE ? 1 : 0;
        seen.max_parallelism += workflow->max_parallelism > 0 ? 1 : 0;
        seen.steps += workflow->step_count;
        seen.labels += workflow->labels.size > 0 ? 1 : 0;
    }
    for (uint32_t i = 0; i < graph->plan_count; i++) {
        seen.plan_labels += graph->plans[i].labels.size > 0 ? 1 : 0;
    }
    for (uint32_t i = 0; i < graph->task_count; i++) {
        const struct tr_settings *settings = &graph->tasks[i].settings;
        seen.retries += settings->retries > 0 ? 1 : 0;
        seen.retry_codes += settings->retry_on_count;
        seen.never_codes += settings->never_retry_on_count;
        seen.cached += settings->cache.version.size > 0 ? 1 : 0;
        seen.timeouts += settings->timeout_ns > 0 ? 1 : 0;
    }
}

/* Slots are values of the variables' types, and equal numbers give equal ones. */
static void check_slots(const struct tr_variables *variables, const struct tr_buffer *slots)
{
    struct tr_cursor cursor = tr_cursor_of(tr_buffer_bytes(slots));
    assert_int_equal(slots->error, 0);
    assert_int_equal(tr_read_array(&cursor), variables->count);
    for (uint32_t i = 0; i < variables->count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        assert_int_equal(tr_literal_check(variables->items[i].type, slot), 0);
    }
    assert_int_equal(cursor.error, 0);
}

static void check_values(const struct tr_graph *graph, uint64_t seed)
{
    struct tr_buffer inputs;
    struct tr_buffer outputs;
    tr_buffer_init(&inputs, 0);
    tr_buffer_init(&outputs, 0);
    const struct tr_workflow *main_workflow = &graph->workflows[graph->main_workflow];
    flow_value_inputs(main_workflow, seed, &inputs);
    check_slots(&main_workflow->interface.inputs, &inputs);
    for (uint32_t i = 0; i < graph->task_count; i++) {
        tr_buffer_cut(&outputs, 0);
        flow_value_outputs(&graph->tasks[i], (struct tr_bytes){0}, &outputs);
        check_slots(&graph->tasks[i].interface.outputs, &outputs);
    }
    tr_buffer_fini(&inputs);
    tr_buffer_fini(&outputs);
}

static void compiles_whatever_the_seed(void **state)
{
    (void)state;
    uint64_t count = getenv("TROUPE_TEST_LONG") != NULL ? SEEDS_LONG : SEEDS;
    for (uint64_t seed = 1; seed <= count; seed++) {
        struct tr_graph *graph = make(seed);
        assert_int_not_equal(graph->main_workflow, TR_GRAPH_NONE);
        look_at(graph);
        check_values(graph, seed);
        tr_graph_free(graph);
    }
    assert_int_equal(tr_memory_used(), 0);
}

static void holds_every_form(void **state)
{
    (void)state;
    static const uint8_t kinds[] = {TR_NODE_TASK, TR_NODE_WORKFLOW, TR_NODE_MAP, TR_NODE_BRANCH};
    for (size_t i = 0; i < TR_COUNT_OF(kinds); i++) {
        assert_true(seen.kinds[kinds[i]] > SEEDS);
    }
    assert_true(seen.bindings[TR_BINDING_LITERAL] > 0 && seen.bindings[TR_BINDING_REFERENCE] > 0);
    assert_true(seen.bindings[TR_BINDING_LIST] > 0 && seen.bindings[TR_BINDING_MAP] > 0);
    assert_true(seen.bindings[TR_BINDING_ERROR] > 0 && seen.bindings[TR_BINDING_TEXT] > 0);
    assert_true(seen.arms[TR_ARM_NODE] > 0 && seen.arms[TR_ARM_SKIP] > 0);
    assert_true(seen.arms[TR_ARM_FAIL] > 0);
    const uint64_t rest[] = {
        seen.maps_of_workflows, seen.nested,  seen.optional,
        seen.on_failure,        seen.finally, seen.finish_runnable,
        seen.max_parallelism,   seen.retries, seen.cached,
        seen.timeouts,          seen.steps,   seen.retry_codes,
        seen.never_codes,       seen.labels,  seen.plan_labels,
    };
    for (size_t i = 0; i < TR_COUNT_OF(rest); i++) {
        assert_true(rest[i] > 0);
    }
}

static void gives_the_same_for_the_same_seed(void **state)
{
    (void)state;
    struct tr_graph *first = make(77);
    struct tr_graph *again = make(77);
    struct tr_graph *other = make(78);
    assert_memory_equal(first->hash, again->hash, TR_GRAPH_HASH_BYTES);
    assert_memory_not_equal(first->hash, other->hash, TR_GRAPH_HASH_BYTES);
    tr_graph_free(first);
    tr_graph_free(again);
    tr_graph_free(other);
}

static void grows_with_its_size(void **state)
{
    (void)state;
    uint64_t nodes[2] = {0};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        for (uint32_t i = 0; i < 2; i++) {
            struct flow_random_options options = options_of(seed);
            struct tr_buffer text;
            options.size = i == 0 ? 2 : 16;
            tr_buffer_init(&text, 0);
            flow_random_write(&options, &text);
            nodes[i] += text.size;
            tr_buffer_fini(&text);
        }
    }
    assert_true(nodes[1] > 3 * nodes[0]);
}

/* Other inputs give other outputs, and an error does not count. */
static void tells_inputs_apart(void **state)
{
    (void)state;
    struct tr_type integer = {.kind = TR_TYPE_INT};
    struct tr_type error = {.kind = TR_TYPE_ERROR};
    const struct tr_type *parts[] = {&error};
    struct tr_type errors = {.kind = TR_TYPE_LIST, .count = 1, .parts = parts};
    static const uint8_t one[] = {1};
    static const uint8_t two[] = {2};
    struct tr_bytes first = {.data = one, .size = 1};
    struct tr_bytes second = {.data = two, .size = 1};
    assert_true(flow_value_digest(&integer, first) != flow_value_digest(&integer, second));
    assert_true(flow_value_digest(&errors, first) == flow_value_digest(&errors, second));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiles_whatever_the_seed),
        cmocka_unit_test(holds_every_form),
        cmocka_unit_test(gives_the_same_for_the_same_seed),
        cmocka_unit_test(grows_with_its_size),
        cmocka_unit_test(tells_inputs_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
