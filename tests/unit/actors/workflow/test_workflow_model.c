/*
 * Graphs drawn from a seed, held against the model: values, optional nodes, arms in arms, inner
 * workflows, policies and cleaning up in all mixtures; run through, aborted, and through crashes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/value/slot.h"
#include "tests/support/draw.h"
#include "tests/support/flow_model.h"
#include "tests/support/flow_random.h"
#include "tests/support/flow_value.h"

#define NODES_MAX 12
#define INNER_MAX 3

static const char tasks[] =
    "troupe: 1\n"
    "tasks:\n"
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, run: [x]}\n"
    "  total: {inputs: {b: [int]}, outputs: {c: int}, run: [x]}\n"
    "  maybe: {inputs: {a: int | none}, outputs: {c: int}, run: [x]}\n"
    "  pick: {inputs: {a: int}, outputs: {c: int, l: [int], v: struct}, run: [x]}\n"
    "  note: {inputs: {err: error | none}, run: [x]}\n"
    "workflows:\n";

/* What is known of a node that was written: whether its output may be none, and what it is of. */
struct written {
    bool may_be_none;
    bool is_pick;
};

struct writer {
    struct draw *draw;
    struct tr_buffer *text;
    struct written nodes[NODES_MAX];
    uint32_t count;
    uint32_t inner_count; /* inner workflows that may be used */
};

static bool one_in(struct writer *writer, size_t n)
{
    return draw_below(writer->draw, n) == 0;
}

/* A reference to an int: of an earlier node, or of the input. */
static void write_int(struct writer *writer)
{
    for (int tries = 0; tries < 3 && writer->count > 0; tries++) {
        uint32_t node = (uint32_t)draw_below(writer->draw, writer->count);
        if (writer->nodes[node].may_be_none) {
            continue;
        }
        if (writer->nodes[node].is_pick && one_in(writer, 2)) {
            /* The struct has the field; the list may be too short. */
            tr_buffer_print(writer->text, one_in(writer, 4) ? "\"$n%u.l[0]\"" : "$n%u.v.n", node);
        } else {
            tr_buffer_print(writer->text, "$n%u.c", node);
        }
        return;
    }
    if (one_in(writer, 2)) {
        tr_buffer_print(writer->text, "%zu", draw_below(writer->draw, 9));
    } else {
        tr_buffer_add_string(writer->text, "$x");
    }
}

static void write_maybe(struct writer *writer)
{
    if (writer->count == 0 || one_in(writer, 4)) {
        write_int(writer);
        return;
    }
    tr_buffer_print(writer->text, "$n%u.c", (uint32_t)draw_below(writer->draw, writer->count));
}

static void write_condition(struct writer *writer)
{
    static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">="};
    tr_buffer_add_string(writer->text, "when: ");
    write_int(writer);
    tr_buffer_print(writer->text, " %s %zu", operators[draw_below(writer->draw, 6)],
                    draw_below(writer->draw, 30));
}

/* A condition may not begin with a quote: lists are left out of it. */
static void write_simple_condition(struct writer *writer)
{
    size_t before = writer->text->size;
    do {
        tr_buffer_cut(writer->text, before);
        write_condition(writer);
    } while (memchr(writer->text->data + before, '"', writer->text->size - before) != NULL);
}

static bool write_body(struct writer *writer, uint32_t depth, bool *is_pick);

/* A switch; says whether it may give none. */
static bool write_switch(struct writer *writer, uint32_t depth)
{
    bool may_be_none = false;
    bool is_pick;
    tr_buffer_add_string(writer->text, "switch: [");
    size_t count = 1 + draw_below(writer->draw, 3);
    for (size_t i = 0; i < count; i++) {
        tr_buffer_add_string(writer->text, "{");
        write_simple_condition(writer);
        tr_buffer_add_string(writer->text, ", ");
        /* All arms give an int, or none of them matters: those that may skip are outermost. */
        (void)write_body(writer, depth + 1, &is_pick);
        tr_buffer_add_string(writer->text, "}, ");
    }
    if (depth == 0 && one_in(writer, 3)) {
        tr_buffer_add_string(writer->text, "{else: skip}");
        may_be_none = true;
    } else if (one_in(writer, 4)) {
        tr_buffer_add_string(writer->text, "{fail: \"no such case\"}");
    } else {
        tr_buffer_add_string(writer->text, "{else: {");
        (void)write_body(writer, depth + 1, &is_pick);
        tr_buffer_add_string(writer->text, "}}");
    }
    tr_buffer_add_string(writer->text, "]");
    return may_be_none;
}

/* One node's body; says whether its output may be none. */
static bool write_body(struct writer *writer, uint32_t depth, bool *is_pick)
{
    struct tr_buffer *text = writer->text;
    *is_pick = false;
    switch (draw_below(writer->draw, depth < 2 ? 7 : 4)) {
    case 0:
        tr_buffer_add_string(text, "task: add, with: {a: ");
        write_int(writer);
        tr_buffer_add_string(text, ", b: ");
        write_int(writer);
        tr_buffer_add_string(text, "}");
        return false;
    case 1:
        tr_buffer_add_string(text, "task: total, with: {b: [");
        for (size_t i = draw_below(writer->draw, 4) + 1; i > 0; i--) {
            write_int(writer);
            tr_buffer_add_string(text, i > 1 ? ", " : "");
        }
        tr_buffer_add_string(text, "]}");
        return false;
    case 2:
        tr_buffer_add_string(text, "task: maybe, with: {a: ");
        write_maybe(writer);
        tr_buffer_add_string(text, "}");
        return false;
    case 3:
        if (writer->inner_count > 0) {
            tr_buffer_print(text, "workflow: w%u, with: {x: ",
                            (uint32_t)draw_below(writer->draw, writer->inner_count));
            write_int(writer);
            tr_buffer_add_string(text, "}");
            return false;
        }
        tr_buffer_add_string(text, "task: add, with: {a: $x}");
        return false;
    case 4:
        *is_pick = depth == 0;
        tr_buffer_add_string(text, "task: pick, with: {a: ");
        write_int(writer);
        tr_buffer_add_string(text, "}");
        return false;
    default:
        return write_switch(writer, depth);
    }
}

static void write_node(struct writer *writer)
{
    struct tr_buffer *text = writer->text;
    struct written node = {0};
    tr_buffer_print(text, "      n%u: {", writer->count);
    if (one_in(writer, 6) && writer->count > 0) {
        tr_buffer_print(text, "after: [n%u], ", (uint32_t)draw_below(writer->draw, writer->count));
    }
    if (one_in(writer, 5)) {
        tr_buffer_add_string(text, "optional: true, ");
        node.may_be_none = true;
    }
    node.may_be_none = write_body(writer, 0, &node.is_pick) || node.may_be_none;
    tr_buffer_add_string(text, "}\n");
    writer->nodes[writer->count++] = node;
}

static void write_workflow(struct draw *draw, struct tr_buffer *text, const char *name,
                           uint32_t inner_count)
{
    struct writer writer = {.draw = draw, .text = text, .inner_count = inner_count};
    tr_buffer_print(text, "  %s:\n    inputs: {x: int}\n", name);
    if (one_in(&writer, 2)) {
        tr_buffer_add_string(text, "    policy: finish_runnable\n");
    }
    if (one_in(&writer, 3)) {
        tr_buffer_print(text, "    max_parallelism: %zu\n", 1 + draw_below(draw, 3));
    }
    tr_buffer_add_string(text, "    nodes:\n");
    for (size_t i = 1 + draw_below(draw, NODES_MAX); i > 0; i--) {
        write_node(&writer);
    }
    uint32_t last = (uint32_t)draw_below(draw, writer.count);
    if (writer.nodes[last].may_be_none) {
        tr_buffer_add_string(text, "    outputs: {c: $x}\n");
    } else {
        tr_buffer_print(text, "    outputs: {c: $n%u.c}\n", last);
    }
    static const char *const handlers[] = {"on_failure", "finally"};
    for (size_t i = 0; i < TR_COUNT_OF(handlers); i++) {
        if (one_in(&writer, 3)) {
            tr_buffer_print(text, "    %s: {task: note}\n", handlers[i]);
        }
    }
}

static void write_definition(struct draw *draw, struct tr_buffer *text)
{
    uint32_t inner_count = (uint32_t)draw_below(draw, INNER_MAX + 1);
    tr_buffer_add_string(text, tasks);
    for (uint32_t i = 0; i < inner_count; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%u", i);
        write_workflow(draw, text, name, i);
    }
    write_workflow(draw, text, "main", inner_count);
    tr_buffer_add(text, "", 1);
}

/* ------------------------------------------------------------------- running */

struct fate {
    uint64_t seed;
    uint32_t failures; /* one in so many fails */
    bool has_values;   /* of all types, made here */
    struct tr_buffer outputs;
};

static bool holds_error(const struct tr_type *type)
{
    bool holds = type->kind == TR_TYPE_ERROR;
    for (uint32_t i = 0; type->parts != NULL && i < (type->kind == TR_TYPE_UNION ? type->count : 1);
         i++) {
        holds = holds || holds_error(type->parts[i]);
    }
    return holds;
}

/* What fake actors give where tasks have all types: made of a hash of all that they get. */
static void make_values(struct fate *fate, const struct flow_task *task)
{
    const struct tr_node *node = task->node;
    tr_buffer_cut(&fate->outputs, 0);
    if (node->kind == TR_NODE_TASK) {
        flow_value_outputs(&task->graph->tasks[node->target], task->start->inputs, &fate->outputs);
        return;
    }
    struct draw draw = {task->start->inputs.size};
    tr_buffer_array(&fate->outputs, node->outputs.count);
    for (uint32_t i = 0; i < node->outputs.count; i++) {
        const struct tr_type *type = node->outputs.items[i].type;
        type = type->kind == TR_TYPE_UNION ? type->parts[0] : type;
        if (holds_error(type)) {
            tr_buffer_array(&fate->outputs, 0);
            continue;
        }
        flow_value_write(type, draw_u64(&draw), &fate->outputs);
    }
}

static void decide(void *self, const struct flow_task *task, struct flow_answer *answer)
{
    struct fate *fate = self;
    struct draw draw = {fate->seed};
    for (size_t i = 0; i < task->start->path.size; i++) {
        draw.state ^= (uint64_t)(uint8_t)task->start->path.data[i] << (i % 8 * 8);
        (void)draw_u64(&draw);
    }
    answer->delay_ms = draw_below(&draw, 4);
    if (draw_below(&draw, fate->failures) == 0) {
        answer->phase = draw_below(&draw, 4) == 0 ? TR_NODE_PHASE_TIMED_OUT : TR_NODE_PHASE_FAILED;
        answer->code = "Broken";
    } else if (fate->has_values) {
        make_values(fate, task);
        answer->outputs = tr_buffer_bytes(&fate->outputs);
    }
}

/* The seed in hand, for whoever finds a failure: TROUPE_TEST_SEED repeats it. */
static uint64_t seed_in_hand;

enum way { WAY_THROUGH, WAY_ABORTED, WAY_CRASHED, WAY_COUNT };

static uint32_t main_of(const struct flow *flow)
{
    return tr_graph_find_workflow(flow->graph, tr_text_of("main"));
}

static void launch(struct flow *flow, struct tr_bytes inputs)
{
    struct tr_launch request = {
        .name = tr_text_of("e"),
        .graph = {.data = flow->graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .workflow = main_of(flow),
        .plan = TR_GRAPH_NONE,
        .inputs = inputs,
    };
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, 0);
}

static void go_some_way(struct flow *flow, struct draw *draw, enum way way)
{
    if (way == WAY_ABORTED) {
        stage_advance(&flow->stage, draw_below(draw, 12));
        flow_abort(flow, flow->execution, "drawn", draw_below(draw, 2) == 0);
    } else if (way == WAY_CRASHED) {
        for (size_t i = draw_below(draw, 4); i > 0; i--) {
            stage_advance(&flow->stage, draw_below(draw, 6));
            flow_crash(flow);
        }
    }
}

static void expect(struct flow *flow, struct flow_model *model, enum way way)
{
    struct tr_execution row;
    bool is_known = flow_execution(flow, "e", &row);
    assert_true(is_known || way == WAY_CRASHED);
    if (!is_known) {
        return; /* nobody outside had heard of it */
    }
    bool was_aborted = way == WAY_ABORTED && row.phase == TR_EXECUTION_ABORTED;
    if (was_aborted) {
        flow_model_relax(model);
    } else {
        assert_int_equal(row.phase, model->phase);
    }
    flow_model_expect(model, flow, "e");
    if (row.phase == TR_EXECUTION_SUCCEEDED) {
        struct tr_buffer json;
        tr_buffer_init(&json, 0);
        flow_print(&flow->graph->workflows[main_of(flow)].interface.outputs, model->values, &json);
        tr_buffer_add(&json, "", 1);
        assert_string_equal(flow_outputs(flow, "e"), (const char *)json.data);
        tr_buffer_fini(&json);
    }
}

/* Plain ones are this file's, with many edges; the others have all types and forms. */
static void write_one(uint64_t seed, bool is_plain, struct draw *draw, struct tr_buffer *text)
{
    if (is_plain) {
        write_definition(draw, text);
        return;
    }
    struct flow_random_options options = {
        .seed = seed, .size = 1 + (uint32_t)(seed % 12), .task_type = "remote"};
    flow_random_write(&options, text);
    tr_buffer_add(text, "", 1);
}

/* A buffer that need not grow while a stage watches over all memory. */
static void begin_buffer(struct tr_buffer *buffer)
{
    static const uint8_t room[1 << 17];
    tr_buffer_init(buffer, 0);
    tr_buffer_add(buffer, room, sizeof room);
    tr_buffer_cut(buffer, 0);
}

static void run_seed(uint64_t seed, enum way way, bool is_plain)
{
    static const uint8_t seven[] = {0x91, 0x07};
    struct draw draw = {seed};
    struct tr_buffer text;
    struct tr_buffer inputs;
    struct fate fate = {
        .seed = seed, .failures = seed % 3 == 0 ? 1000 : 9, .has_values = !is_plain};
    struct flow_model model;
    seed_in_hand = seed;
    tr_buffer_init(&text, 0);
    begin_buffer(&inputs);
    begin_buffer(&fate.outputs);
    write_one(seed, is_plain, &draw, &text);
    struct flow *flow = flow_new_wide((const char *)text.data, 1 + (uint32_t)(seed % 2));
    flow->script = decide;
    flow->self = &fate;
    if (is_plain) {
        tr_buffer_add(&inputs, seven, sizeof seven);
    } else {
        flow_value_inputs(&flow->graph->workflows[main_of(flow)], seed, &inputs);
    }
    launch(flow, tr_buffer_bytes(&inputs));
    go_some_way(flow, &draw, way);
    flow_finish(flow);
    flow_model_init(&model, flow->graph, main_of(flow), tr_buffer_bytes(&inputs), flow->script,
                    flow->self);
    expect(flow, &model, way);
    flow_model_fini(&model);
    flow_free(flow);
    tr_buffer_fini(&fate.outputs);
    tr_buffer_fini(&inputs);
    tr_buffer_fini(&text);
}

static void run_seeds(enum way way, bool is_plain)
{
    const char *given = getenv("TROUPE_TEST_SEED");
    uint64_t count = getenv("TROUPE_TEST_LONG") != NULL ? 5000 : 150;
    if (given != NULL) {
        run_seed(strtoull(given, NULL, 10), way, is_plain);
        return;
    }
    for (uint64_t seed = 1; seed <= count; seed++) {
        run_seed(seed, way, is_plain);
    }
}

static int tell_seed(void **state)
{
    (void)state;
    print_message("the last seed was %llu\n", (unsigned long long)seed_in_hand);
    return 0;
}

static void test_graphs_come_to_what_the_rules_say(void **state)
{
    (void)state;
    run_seeds(WAY_THROUGH, true);
    run_seeds(WAY_THROUGH, false);
}

static void test_aborted_graphs_leave_nothing_behind(void **state)
{
    (void)state;
    run_seeds(WAY_ABORTED, true);
    run_seeds(WAY_ABORTED, false);
}

static void test_graphs_come_to_the_same_through_crashes(void **state)
{
    (void)state;
    run_seeds(WAY_CRASHED, true);
    run_seeds(WAY_CRASHED, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_graphs_come_to_what_the_rules_say, tell_seed),
        cmocka_unit_test_teardown(test_aborted_graphs_leave_nothing_behind, tell_seed),
        cmocka_unit_test_teardown(test_graphs_come_to_the_same_through_crashes, tell_seed),
    };
    return cmocka_run_group_tests_name("actors/workflow_model", tests, NULL, NULL);
}
