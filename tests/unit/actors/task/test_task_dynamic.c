/*
 * A dynamic task as its parent and the program see it: what it asks, what it takes for an answer,
 * and that the graph it was given is let go of, whatever happens and whenever the engine dies.
 */
#include <stdio.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/compile.h"
#include "schemas/engine/history.h"
#include "schemas/engine/phase.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/inquiry.h"
#include "tests/unit/actors/task_stand.h"

static const char flow[] =
    "troupe: 1\n"
    "tasks:\n"
    "  plan: {type: fake, inputs: {size: int}, outputs: {sum: int}, retries: 2}\n"
    "  kept: {type: fake, inputs: {size: int}, outputs: {sum: int}, cache: v1}\n"
    "  double: {type: echo, inputs: {sum: int}, outputs: {sum: int}}\n"
    "  nap: {type: core-sleep, inputs: {duration: duration}}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {size: int}\n"
    "    nodes:\n"
    "      plan: {dynamic: plan, with: {size: $size}}\n"
    "      kept: {dynamic: kept, with: {size: $size}}\n"
    "      late: {dynamic: plan, with: {size: $size}, deadline: 5s}\n";

static const struct stand_start start = {.node = "plan", .inputs = "{\"size\": 4}"};

/* What the plugin gives, and how the program answers. */
static const char *document;
static enum { MAKES, FAILS, IS_AWAY, IS_SILENT } program;
static uint32_t makes; /* graph_make that were answered with a graph */
static uint32_t drops;
static uint32_t failures; /* that come before the program makes graphs */
static uint32_t
    ghosts; /* answers of an earlier engine, whose registry is gone: those that come first */
static const struct outside_message *asked;

static int give_document(struct tr_task_context *task, struct tr_fake_actor_state *state,
                         const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_text problem;
    (void)event;
    state->events++;
    int error = tr_task_outputs_json(task, tr_text_of(document), tr_text_of("/made"), &problem);
    return error != 0 && error != TR_INVALID ? error : tr_task_succeed(transition);
}

/* Compiles the document behind the graph of the node; NULL: it is wrong. */
static struct tr_graph *decide(struct tr_text text)
{
    struct tr_graph *graph = NULL;
    struct tr_buffer packed;
    struct tr_report report;
    tr_buffer_init(&packed, 0);
    tr_report_init(&report);
    assert_int_equal(tr_graph_pack(stand.compiled, &packed), 0);
    assert_int_equal(tr_graph_unpack(tr_buffer_bytes(&packed), &graph), 0);
    const struct tr_decision decision = {
        .parent = graph, .task = 0, .depth = 1, .path = tr_text_of("outputs"), .text = text};
    int error = tr_graph_decide(&decision, &report, &graph);
    tr_report_fini(&report);
    tr_buffer_fini(&packed);
    return error == 0 ? graph : NULL;
}

/* The program's part: compiles, and holds the graph; or says what is wrong. */
static void make_graph(const struct outside_message *message)
{
    struct tr_graph_make make;
    struct tr_graph_made made = {.workflow = 0};
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    uint64_t number;
    assert_int_equal(tr_graph_make_unpack(message->body, message->version, &make), 0);
    assert_memory_equal(make.graph.data, stand.compiled->hash, TR_GRAPH_HASH_BYTES);
    assert_int_equal(make.depth, 1);
    assert_true(make.task < 2);
    struct tr_graph *graph = decide(make.text);
    bool is_ghost = ghosts > 0;
    ghosts -= is_ghost ? 1 : 0;
    made.engine_start = stand.engine->life - (is_ghost ? 1 : 0);
    if (graph != NULL) {
        memcpy(hash, graph->hash, sizeof hash);
        made.workflow = graph->main_workflow;
        made.graph = (struct tr_bytes){.data = hash, .size = sizeof hash};
    }
    if (graph != NULL && is_ghost) {
        tr_graph_free(graph);
    } else if (graph != NULL) {
        assert_int_equal(tr_graph_registry_put(&stand.engine->registry, graph, &number), 0);
        makes++;
    } else {
        made.code = tr_text_of("DynamicWorkflowBuildFailed");
        made.message = tr_text_of("outputs:1:1: it is wrong");
    }
    stand_answer(message, &tr_graph_made_schema, &made);
}

static void answer_make(const struct outside_message *message)
{
    asked = message;
    if (program == FAILS && failures-- == 0) {
        program = MAKES;
    }
    switch (program) {
    case MAKES:
        make_graph(message);
        break;
    case FAILS:
        stand_answer(message, &tr_blob_failed_schema,
                     &(struct tr_blob_failed){.error = TR_STORE_FULL,
                                              .message = tr_text_of("the disk is full")});
        break;
    case IS_AWAY:
        stand_answer(message, &tr_ask_failed_schema,
                     &(struct tr_ask_failed){.reason = -TR_NO_CONNECTION});
        break;
    case IS_SILENT:
        break;
    }
}

static void serve(const struct outside_message *message)
{
    struct tr_graph_drop drop;
    if (message->type == tr_graph_make_schema.id) {
        answer_make(message);
    } else if (message->type == tr_graph_drop_schema.id) {
        assert_int_equal(tr_graph_drop_unpack(message->body, message->version, &drop), 0);
        tr_graph_registry_drop(&stand.engine->registry, drop.graph);
        drops++;
    } else if (message->type == tr_document_get_schema.id) {
        stand_answer(message, &tr_document_schema, &(struct tr_document){.is_found = false});
    } else if (message->type == tr_document_put_schema.id) {
        stand_answer(message, &tr_document_schema, &(struct tr_document){.is_found = true});
    } else {
        fail_msg("an unexpected message, %u", message->type);
    }
}

static const char doubles[] = "{\"nodes\": {\"a\": {\"task\": \"double\", \"with\": {\"sum\": "
                              "\"$size\"}}}, \"outputs\": {\"sum\": \"$a.sum\"}}";
static const char naps[] = "{\"nodes\": {\"n\": {\"task\": \"nap\", \"with\": {\"duration\": "
                           "\"3s\"}}}, \"outputs\": {\"sum\": 9}}";

static void begin(const char *text)
{
    stand_begin(flow, true);
    stand.handle = give_document;
    document = text;
    program = MAKES;
    makes = drops = 0;
    asked = NULL;
}

/* Whatever was made was let go of. */
static void end(void)
{
    assert_int_equal(drops, makes);
    stand_end();
}

static void test_the_graph_runs_in_its_place(void **state)
{
    (void)state;
    begin(doubles);
    stand_start(&start);
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(stand_outputs(), "[4]");
    assert_int_equal(stand.ended.attempts, 1);
    assert_int_not_equal(stand.ended.phases & 1U << TR_NODE_PHASE_DYNAMIC_RUNNING, 0);
    assert_int_equal(stand.finalized, 1);
    assert_int_equal(stand.finalized_phase, TR_TASK_PHASE_SUCCESS);
    end();
}

static void test_plain_outputs_are_fine(void **state)
{
    (void)state;
    begin("{\"sum\": 7, \"more\": {\"nodes\": 1}}");
    stand_start(&start);
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(stand_outputs(), "[7]");
    assert_int_equal(stand_outside_times(&tr_graph_make_schema), 0);
    end();
}

/* A document that is wrong fails the node for good, whatever retries there are. */
static void test_a_bad_document_is_permanent(void **state)
{
    (void)state;
    begin("{\"nodes\": {\"a\": {\"task\": \"duble\"}}, \"outputs\": {\"sum\": 1}}");
    stand_start(&start);
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_FAILED);
    assert_int_equal(stand.ended.failure, TR_FAILURE_USER);
    assert_true(tr_text_equal(stand.ended.code, tr_text_of("DynamicWorkflowBuildFailed")));
    assert_true(tr_text_equal(stand.ended.message, tr_text_of("outputs:1:1: it is wrong")));
    assert_true(tr_text_equal(stand.ended.failed, tr_text_of("plan")));
    assert_int_equal(stand.ended.attempts, 1);
    assert_int_equal(stand.finalized_phase, TR_TASK_PHASE_PERMANENT_FAILURE);
    end();
}

static void test_what_the_machine_cannot_do_is_tried_again(void **state)
{
    (void)state;
    begin(doubles);
    program = FAILS;
    failures = 1;
    stand_start(&start);
    stand_run(serve);
    stage_advance(&stand.stage, SYSTEM_RETRY_MS);
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(stand.ended.attempts, 1); /* the work itself was done */
    end();
}

static void test_a_program_that_is_away_is_asked_again(void **state)
{
    (void)state;
    begin(doubles);
    program = IS_AWAY;
    stand_start(&start);
    for (int i = 0; i < 3; i++) {
        stand_serve(serve);
        stage_run(&stand.stage);
    }
    program = MAKES;
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(stand.ended.attempts, 1);
    end();
}

/*
 * An answer lay in the mailbox when the engine went down: its graph is in no graph registry any
 * more.
 */
static void test_an_answer_may_outlive_its_engine(void **state)
{
    (void)state;
    begin(doubles);
    ghosts = 1;
    stand.engine->life = 2;
    stand_start(&start);
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(stand.ended.attempts, 1);
    assert_int_equal(stand_outside_times(&tr_graph_make_schema), 2);
    end();
}

/* The failure of a node inside is the node's; its retries are not spent on it. */
static void test_a_failure_inside_names_its_node(void **state)
{
    (void)state;
    begin(
        "{\"nodes\": {\"a\": {\"switch\": [{\"when\": \"$size < 3\", \"task\": \"nap\", \"with\": "
        "{\"duration\": \"1s\"}}, {\"fail\": \"too much\"}]}}, \"outputs\": {\"sum\": 1}}");
    stand_start(&start);
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_FAILED);
    assert_true(tr_text_equal(stand.ended.failed, tr_text_of("plan/a")));
    assert_true(tr_text_equal(stand.ended.message, tr_text_of("too much")));
    assert_int_equal(stand.ended.attempts, 1);
    end();
}

static void test_a_timeout_inside_is_the_nodes(void **state)
{
    (void)state;
    char text[256];
    (void)snprintf(text, sizeof text, "{\"timeout\": \"1s\", %s", naps + 1);
    begin(text);
    stand_start(&start);
    stand_run(serve);
    stage_advance(&stand.stage, 1000);
    stand_run(serve);
    stage_advance(&stand.stage, 3000);
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_TIMED_OUT);
    end();
}

static void test_what_is_cached_is_what_the_graph_gave(void **state)
{
    (void)state;
    static const struct stand_start cached = {.node = "kept", .inputs = "{\"size\": 6}"};
    begin(doubles);
    stand_start(&cached);
    stand_run(serve);
    assert_string_equal(stand_outputs(), "[6]");
    assert_int_equal(stand.ended.cache_status, TR_CACHE_STATUS_POPULATED);
    assert_int_equal(stand_outside_times(&tr_document_put_schema), 1);
    end();
}

/* An abort while the graph is made waits for the answer, which brings something to let go of. */
static void test_an_abort_while_the_graph_is_made(void **state)
{
    (void)state;
    begin(doubles);
    program = IS_SILENT;
    stand_start(&start);
    stand_run(serve);
    assert_int_equal(stand_state()->step, TR_STEP_GRAPH);
    stand_abort(TR_NODE_PHASE_ABORTED, false);
    stand_abort(TR_NODE_PHASE_ABORTED, true);
    assert_int_equal(stand.ended_count, 0);
    assert_int_equal(stand_state()->node_phase, TR_NODE_PHASE_ABORTING);
    make_graph(asked);
    stand_run(serve);
    assert_int_equal(stand.ended_count, 1);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_ABORTED);
    assert_int_equal(stand.finalized_phase, TR_TASK_PHASE_ABORTED);
    end();
}

static void test_an_abort_reaches_the_graph(void **state)
{
    (void)state;
    begin(naps);
    stand_start(&start);
    stand_run(serve);
    assert_int_equal(stand_state()->step, TR_STEP_INNER);
    assert_int_equal(stand_state()->node_phase, TR_NODE_PHASE_DYNAMIC_RUNNING);
    stand_abort(TR_NODE_PHASE_ABORTED, false);
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_ABORTED);
    assert_int_equal(stage_actor_count(&stand.stage), stand.bystanders);
    end();
}

/* What is decided during a pause begins when that ends, or is aborted before. */
static void test_a_paused_one_begins_later(void **state)
{
    (void)state;
    for (int is_aborted = 0; is_aborted < 2; is_aborted++) {
        begin(doubles);
        program = IS_SILENT;
        stand_start(&start);
        stand_run(serve);
        stand_pause(true);
        make_graph(asked);
        stand_run(serve);
        assert_int_equal(stand_state()->step, TR_STEP_INNER);
        assert_true(stand_state()->is_held);
        assert_int_equal(stage_actor_count(&stand.stage), stand.bystanders + 1);
        if (is_aborted != 0) {
            stand_abort(TR_NODE_PHASE_ABORTED, false);
        } else {
            stand_pause(false);
        }
        stand_run(serve);
        assert_int_equal(stand.ended.phase,
                         is_aborted != 0 ? TR_NODE_PHASE_ABORTED : TR_NODE_PHASE_SUCCEEDED);
        end();
    }
}

/* A pause goes down to the graph: what runs goes on, what is behind it waits. */
static void test_a_pause_reaches_the_graph(void **state)
{
    (void)state;
    begin("{\"nodes\": {\"n\": {\"task\": \"nap\", \"with\": {\"duration\": \"1s\"}}, "
          "\"a\": {\"task\": \"double\", \"with\": {\"sum\": 8}, \"after\": [\"n\"]}}, "
          "\"outputs\": {\"sum\": \"$a.sum\"}}");
    stand_start(&start);
    stand_run(serve);
    stand_pause(true);
    stage_advance(&stand.stage, 2000);
    stand_run(serve);
    assert_int_equal(stand.ended_count, 0);
    stand_pause(false);
    stand_run(serve);
    assert_string_equal(stand_outputs(), "[8]");
    end();
}

/* The deadline bounds the attempt and what it has decided together. */
static void test_a_deadline_ends_the_graph(void **state)
{
    (void)state;
    static const struct stand_start late = {.node = "late", .inputs = "{\"size\": 1}"};
    begin("{\"nodes\": {\"n\": {\"task\": \"nap\", \"with\": {\"duration\": \"9s\"}}}, "
          "\"outputs\": {\"sum\": 9}}");
    stand_start(&late);
    stand_run(serve);
    stage_advance(&stand.stage, 5000);
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_TIMED_OUT);
    assert_true(tr_text_equal(stand.ended.message, tr_text_of("task active timeout [5s] expired")));
    end();
}

/* The graph registry died with the engine: what the history says is needed is put there again. */
static void hold_what_is_needed(void)
{
    struct tr_node_status row;
    struct tr_graph *graph;
    uint64_t number;
    bool is_needed = false;
    size_t index = 0;
    const struct tri_op *op;
    while ((op = tri_model_record(stand.model, tr_node_status_schema.id, index++)) != NULL) {
        assert_int_equal(tr_node_status_unpack(op->data, tr_node_status_schema.version, &row), 0);
        if (tr_text_equal(row.path, tr_text_of("plan"))) {
            is_needed = row.graph.size > 0 && !tr_phase_is_end(TR_SUBJECT_NODE, row.phase);
        }
    }
    if (is_needed) {
        graph = decide(tr_text_of(document));
        assert_int_equal(tr_graph_registry_put(&stand.engine->registry, graph, &number), 0);
        makes++;
    }
}

/* Lets go of what the engine held when it died. */
static void forget_registry(void)
{
    struct tr_graph *graph = decide(tr_text_of(document));
    uint64_t number = tr_graph_number(graph->hash);
    for (; drops < makes; drops++) {
        tr_graph_registry_drop(&stand.engine->registry, number);
    }
    tr_graph_free(graph);
}

/* Some turns of a task's life; false: it had ended before. */
static bool live(uint32_t turns)
{
    uint32_t idle = 0;
    stand_prepare(&start);
    tri_sender_flush(&stand.stage.host.sender);
    for (uint32_t turn = 0; turn < turns; turn++) {
        if (stand_ends() > 0 || idle == 2) {
            return false;
        }
        idle = stage_step(&stand.stage) ? 0 : idle + 1;
        stand_serve(serve);
    }
    return true;
}

static void test_a_crash_at_any_time(void **state)
{
    (void)state;
    bool goes_on = true;
    for (uint32_t turns = 0; goes_on; turns++) {
        begin(naps);
        stand.reopened = hold_what_is_needed;
        goes_on = live(turns);
        forget_registry();
        stand_crash();
        if (stand_ends() == 0 && stage_actor_count(&stand.stage) <= stand.bystanders) {
            stand_prepare(&start);
        }
        stand_run(serve);
        stage_advance(&stand.stage, 3000);
        stand_run(serve);
        assert_int_equal(stand_ends(), 1);
        if (stand.ended_count > 0) {
            assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
            assert_string_equal(stand_outputs(), "[9]");
        }
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_graph_runs_in_its_place),
        cmocka_unit_test(test_plain_outputs_are_fine),
        cmocka_unit_test(test_a_bad_document_is_permanent),
        cmocka_unit_test(test_what_the_machine_cannot_do_is_tried_again),
        cmocka_unit_test(test_a_program_that_is_away_is_asked_again),
        cmocka_unit_test(test_an_answer_may_outlive_its_engine),
        cmocka_unit_test(test_a_failure_inside_names_its_node),
        cmocka_unit_test(test_a_timeout_inside_is_the_nodes),
        cmocka_unit_test(test_what_is_cached_is_what_the_graph_gave),
        cmocka_unit_test(test_an_abort_while_the_graph_is_made),
        cmocka_unit_test(test_an_abort_reaches_the_graph),
        cmocka_unit_test(test_a_paused_one_begins_later),
        cmocka_unit_test(test_a_pause_reaches_the_graph),
        cmocka_unit_test(test_a_deadline_ends_the_graph),
        cmocka_unit_test(test_a_crash_at_any_time),
    };
    return cmocka_run_group_tests_name("task_dynamic", tests, NULL, NULL);
}
