/*
 * `troupe explain`: what the actors of an execution wait for, from what a store has of them; who is
 * stuck; and why something failed.
 */
#include "deploy/look/explain.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "actors/array/array.h"
#include "actors/engine.h"
#include "actors/workflow/workflow.h"
#include "deploy/history/waiting.h"
#include "schemas/codec/error.h"
#include "schemas/engine/state_task.h"
#include "tests/support/graph_find.h"
#include "tests/unit/deploy/help.h"
#include "tests/unit/deploy/past.h"

#define TEXT(words) tr_text_of(words)
#define EXECUTION 16

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  t: {inputs: {a: int}, outputs: {a: int}, run: [x], retries: 2}\n"
    "workflows:\n"
    "  inner:\n"
    "    inputs: {l: '[int]'}\n"
    "    nodes: {squares: {map: t, with: {a: $l}, parallelism: 6}}\n"
    "  main:\n"
    "    inputs: {l: '[int]'}\n"
    "    nodes:\n"
    "      w: {workflow: inner, with: {l: $l}}\n"
    "      late: {task: t, with: {a: 1}}\n"
    "      last: {task: t, with: {a: 1}, after: [w, late]}\n"
    "      behind: {task: t, with: {a: 1}, after: [last]}\n";

static struct tr_graph *graph;
static const char *folder;

static uint32_t workflow_of(const char *name)
{
    return tr_graph_find_workflow(graph, TEXT(name));
}

static uint32_t node_of(const char *workflow, const char *id)
{
    return graph_find_node(&graph->workflows[workflow_of(workflow)], TEXT(id));
}

static void write_execution(uint8_t phase, const char *code, const char *failed, uint64_t element)
{
    PAST(execution, .execution = EXECUTION, .project = TEXT("demo"), .domain = TEXT("development"),
         .name = TEXT("main-aaaaa"), .workflow = TEXT("main"), .phase = phase,
         .created_ms = PAST_MS, .started_ms = PAST_MS,
         .ended_ms = tr_phase_is_end(TR_SUBJECT_EXECUTION, phase) ? PAST_MS + 2000 : 0,
         .graph = past_keep_graph(graph), .code = TEXT(code),
         .message = TEXT(code[0] != '\0' ? "of all" : ""), .failed = TEXT(failed),
         .failed_element = element);
}

static int set_up(void **state)
{
    (void)state;
    folder = help_folder_enter();
    past_open(folder);
    graph = help_graph(definition);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_graph_free(graph);
    past_close();
    help_folder_leave();
    return 0;
}

/* ------------------------------------------------------------------------- actors */

static void put_workflow(uint64_t serial, uint64_t parent, const char *name, const char *workflow,
                         uint32_t node)
{
    struct tr_workflow_state state = {.graph = tr_graph_number(graph->hash),
                                      .workflow = workflow_of(workflow),
                                      .node = node,
                                      .element = TR_ELEMENT_NONE,
                                      .running = 2};
    past_actor(&(struct past_actor){.key = {EXECUTION, serial},
                                    .parent = {parent == 0 ? 0 : EXECUTION, parent},
                                    .behaviour = tr_workflow_behaviour.id,
                                    .name = name,
                                    .schema = &tr_workflow_state_schema,
                                    .state = &state});
}

static void put_note(uint64_t serial, const struct tr_task_note *note)
{
    uint8_t bytes[4096];
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    assert_int_equal(tr_task_note_pack(note, &writer), 0);
    past_page((struct tr_key){EXECUTION, serial}, 2,
              (struct tr_bytes){bytes, (size_t)(writer.at - bytes)});
}

static void put_task(uint64_t serial, uint64_t parent, const char *name, uint64_t element,
                     const struct tr_task_state *state, uint64_t timer_ms)
{
    past_actor(&(struct past_actor){.key = {EXECUTION, serial},
                                    .parent = {EXECUTION, parent},
                                    .behaviour = tr_task_behaviour.id,
                                    .name = name,
                                    .element = element,
                                    .schema = &tr_task_state_schema,
                                    .state = state,
                                    .timer_ms = timer_ms});
}

/* main: w/squares with seven elements of ten, `late` in its back-off, what comes behind. */
static void write_actors(void)
{
    static struct tri_row rows[16];
    write_execution(TR_EXECUTION_RUNNING, "", "", TR_ELEMENT_NONE);
    put_workflow(64, 0, "main-aaaaa", "main", TR_GRAPH_NONE);
    put_workflow(65, 64, "w", "inner", node_of("main", "w"));
    rows[0].phase = TR_NODE_PHASE_SUCCEEDED;
    rows[node_of("main", "w")].child = 65;
    rows[node_of("main", "late")].child = 32;
    past_page((struct tr_key){EXECUTION, 64}, 0,
              (struct tr_bytes){(const uint8_t *)rows,
                                graph->workflows[workflow_of("main")].node_count * sizeof rows[0]});
    rows[node_of("inner", "squares")].child = 66;
    past_page(
        (struct tr_key){EXECUTION, 65}, 0,
        (struct tr_bytes){(const uint8_t *)rows,
                          graph->workflows[workflow_of("inner")].node_count * sizeof rows[0]});
    struct tr_array_state array = {.graph = tr_graph_number(graph->hash),
                                   .workflow = workflow_of("inner"),
                                   .node = node_of("inner", "squares"),
                                   .step = TRI_ARRAY_RUNNING,
                                   .count = 10,
                                   .next = 7,
                                   .live = 6,
                                   .succeeded = 1};
    past_actor(&(struct past_actor){.key = {EXECUTION, 66},
                                    .parent = {EXECUTION, 65},
                                    .behaviour = tr_array_behaviour.id,
                                    .name = "squares",
                                    .schema = &tr_array_state_schema,
                                    .state = &array});
    for (uint64_t i = 1; i < 7; i++) {
        struct tr_task_state running = {.step = TR_STEP_RUN,
                                        .task_phase = TR_TASK_PHASE_RUNNING,
                                        .intent = TR_INTENT_SUBMITTED,
                                        .attempt_created_ms = PAST_MS + 4000};
        put_task(100 + i, 66, NULL, i, &running, PAST_MS + 99000);
        put_note(100 + i, &(struct tr_task_note){.reason = TEXT("process 7")});
    }
    struct tr_task_state late = {
        .step = TR_STEP_BACKOFF, .attempt = 1, .until_ms = PAST_MS + 15000};
    put_task(32, 64, "late", 0, &late, PAST_MS + 15000);
    put_note(32, &(struct tr_task_note){.code = TEXT("Odd"), .message = TEXT("no luck")});
}

/* ------------------------------------------------------------------------ explaining */

static int outcome;

static const char *explain(const char *word, enum tr_output output, bool is_live, bool is_verbose)
{
    char problem[TR_TARGET_PROBLEM_BYTES];
    struct tr_reader *reader = past_read();
    struct tr_target target;
    struct tr_executions_row copy;
    assert_int_equal(tr_target_read(word, false, problem, &target), 0);
    assert_int_equal(tr_executions_find(reader, target.execution, problem, &copy), 0);
    struct tr_explain_request request = {.reader = reader,
                                         .folder = folder,
                                         .execution = &copy.row,
                                         .target = &target,
                                         .is_live = is_live,
                                         .now_ms = PAST_MS + 5000,
                                         .now.steady_ms = PAST_MS + 5000,
                                         .output = output,
                                         .is_verbose = is_verbose,
                                         .stream = past_stream()};
    outcome = tr_explain_write(&request);
    tr_executions_row_fini(&copy);
    tr_reader_close(reader);
    return past_text();
}

static void expect(const char *word, const char *expected)
{
    const char *text = explain(word, TR_OUTPUT_TEXT, true, false);
    assert_int_equal(outcome, 0);
    assert_string_equal(text, expected);
}

static void test_what_each_waits_for(void **state)
{
    (void)state;
    write_actors();
    expect("main",
           "main-aaaaa  running for 5.00s\n"
           "  2 nodes run\n"
           "  last: it waits for w, late\n"
           "  1 more node waits behind these\n"
           "  late: attempt 1 waits until 2026-11-22T00:00:15Z, in 10s; the one before failed with "
           "Odd: no luck\n"
           "  w: 2 nodes run\n"
           "  w/squares: 1 of 10 elements have ended, 6 under way; 3 more wait for their turn: "
           "parallelism lets 6 run at once\n"
           "  w/squares[1]: attempt 0 is running (process 7); 1.00s so far\n"
           "  w/squares[2]: attempt 0 is running (process 7); 1.00s so far\n"
           "  w/squares[3]: attempt 0 is running (process 7); 1.00s so far\n"
           "  and 3 more are like these; -v shows all\n");
    const char *all = explain("main", TR_OUTPUT_TEXT, false, true);
    assert_non_null(strstr(all, "no engine runs on"));
    assert_non_null(strstr(all,
                           "w/squares[6]: attempt 0 was running (process 7) when the engine "
                           "ended; the next engine finds out what became of it; 1.00s so far\n"));
    assert_null(strstr(all, "more are like"));
}

static void test_a_part_of_it(void **state)
{
    (void)state;
    write_actors();
    expect("main/w/squares[6]", "main-aaaaa  running for 5.00s\n"
                                "  w/squares[6]: attempt 0 is running (process 7); 1.00s so far\n");
    expect("main/last", "main-aaaaa  running for 5.00s\n"
                        "  last: it waits for w, late\n");
    const char *text = explain("main/w", TR_OUTPUT_TEXT, true, false);
    assert_non_null(strstr(text, "  w: 2 nodes run\n"));
    assert_non_null(strstr(text, "w/squares[1]: "));
    assert_null(strstr(text, "late"));
}

static void test_nobody_is_silently_stuck(void **state)
{
    (void)state;
    write_execution(TR_EXECUTION_RUNNING, "", "", TR_ELEMENT_NONE);
    put_workflow(64, 0, "main-aaaaa", "main", TR_GRAPH_NONE);
    struct tr_task_state running = {.step = TR_STEP_RUN, .task_phase = TR_TASK_PHASE_RUNNING};
    put_task(32, 64, "late", 0, &running, 0);
    const char *text = explain("main/late", TR_OUTPUT_TEXT, true, false);
    assert_non_null(strstr(text, "STUCK: nothing will ever wake it (actor 16/32)"));
    json_t *document = json_loads(explain("main/late", TR_OUTPUT_JSON, true, false), 0, NULL);
    assert_non_null(document);
    const json_t *line = json_array_get(json_object_get(document, "waiting"), 0);
    assert_true(json_is_true(json_object_get(line, "is_stuck")));
    json_decref(document);
    past_actor(&(struct past_actor){.key = {EXECUTION, 32},
                                    .parent = {EXECUTION, 64},
                                    .behaviour = tr_task_behaviour.id,
                                    .name = "late",
                                    .schema = &tr_task_state_schema,
                                    .state = &running,
                                    .timer_ms = PAST_MS,
                                    .is_quarantined = true});
    text = explain("main/late", TR_OUTPUT_TEXT, true, false);
    assert_non_null(strstr(text, "it is quarantined, since one message has failed it twice"));
}

/* Its back end's actor, which has a message of the task that it has not read. */
static const char *explain_behind(bool is_quarantined, int failed_with)
{
    static const struct tr_key refresh = {1, 17};
    struct tr_refresh_state state = {.jobs = 0};
    struct tr_task_state running = {.step = TR_STEP_RUN, .task_phase = TR_TASK_PHASE_QUEUED};
    write_execution(TR_EXECUTION_RUNNING, "", "", TR_ELEMENT_NONE);
    put_workflow(64, 0, "main-aaaaa", "main", TR_GRAPH_NONE);
    put_task(32, 64, "late", 0, &running, 0);
    assert_int_equal(tr_array_set(&state.plugin, tr_text_of("armada")), 0);
    assert_int_equal(tr_array_set(&state.endpoint, tr_text_of("default")), 0);
    past_actor(&(struct past_actor){.key = refresh,
                                    .behaviour = tr_refresh_behaviour.id,
                                    .name = "default",
                                    .schema = &tr_refresh_state_schema,
                                    .state = &state,
                                    .is_quarantined = is_quarantined,
                                    .failed_with = failed_with});
    past_message((struct tr_key){EXECUTION, 32}, refresh);
    return explain("main/late", TR_OUTPUT_TEXT, true, false);
}

static void test_who_holds_a_back_end_up_is_named(void **state)
{
    (void)state;
    const char *text = explain_behind(false, 0);
    assert_non_null(strstr(text, "; its request to the back end is on the way\n"));
    assert_null(strstr(text, "STUCK"));
    text = explain_behind(true, TR_MALFORMED);
    assert_non_null(strstr(text,
                           "; the actor /sys/refresh/armada/default is quarantined, since one "
                           "message has failed it twice ("));
    assert_non_null(strstr(text, tr_error_text(TR_MALFORMED)));
    assert_non_null(
        strstr(text, "`troupe actors --resume /sys/refresh/armada/default` lets it go on"));
    assert_null(strstr(text, "STUCK"));
    json_t *document = json_loads(explain("main/late", TR_OUTPUT_JSON, true, false), 0, NULL);
    const json_t *line = json_array_get(json_object_get(document, "waiting"), 0);
    assert_true(json_is_true(json_object_get(line, "is_stuck")));
    json_decref(document);
    text = explain_behind(true, 0);
    assert_non_null(strstr(text, "failed it twice (the process has ended)"));
}

static void write_failure(void)
{
    write_execution(TR_EXECUTION_FAILED, "OOMKilled", "w/squares", 17);
    PAST(node_status, .execution = EXECUTION, .path = TEXT("w"), .phase = TR_NODE_PHASE_FAILED,
         .code = TEXT("OOMKilled"), .message = TEXT("of w"));
    PAST(node_status, .execution = EXECUTION, .path = TEXT("w/squares"),
         .phase = TR_NODE_PHASE_FAILED, .code = TEXT("OOMKilled"), .message = TEXT("of squares"));
    PAST(element_block, .execution = EXECUTION, .actor = {EXECUTION, 66}, .path = TEXT("w/squares"),
         .element_min = 17, .element_max = 17, .base_ms = PAST_MS,
         .entries = TEXT("[[17,0,0,1,2,6,\"OOMKilled\",\"of [17]\"]]"));
    PAST(attempt, .execution = EXECUTION, .path = TEXT("w/squares"), .element = 17, .attempt = 0,
         .phase = TR_TASK_PHASE_RETRYABLE_FAILURE, .folder = TEXT("/a/0"), .code = TEXT("Odd"),
         .message = TEXT("line\nline"));
    PAST(attempt, .execution = EXECUTION, .path = TEXT("w/squares"), .element = 17, .attempt = 1,
         .phase = TR_TASK_PHASE_PERMANENT_FAILURE, .folder = TEXT("/a/1"),
         .code = TEXT("OOMKilled"), .message = TEXT("of @1"));
}

static void test_the_chain_of_causes(void **state)
{
    (void)state;
    write_failure();
    expect("main", "main-aaaaa  failed after 2.00s\n"
                   "  it failed: of all [OOMKilled]\n"
                   "  because w failed: of w [OOMKilled]\n"
                   "  because w/squares failed: of squares [OOMKilled]\n"
                   "  because w/squares[17] failed: of [17] [OOMKilled]\n"
                   "  because w/squares[17]@0 failed, may be retried: line [Odd]\n"
                   "    line\n"
                   "    its files are in /a/0\n"
                   "  because w/squares[17]@1 failed: of @1 [OOMKilled]\n"
                   "    its files are in /a/1\n");
    expect("main/w/squares[17]", "main-aaaaa  failed after 2.00s\n"
                                 "  w/squares[17] failed: of [17] [OOMKilled]\n"
                                 "  because w/squares[17]@0 failed, may be retried: line [Odd]\n"
                                 "    line\n"
                                 "    its files are in /a/0\n"
                                 "  because w/squares[17]@1 failed: of @1 [OOMKilled]\n"
                                 "    its files are in /a/1\n");
    json_t *document = json_loads(explain("main", TR_OUTPUT_JSON, false, false), 0, NULL);
    assert_int_equal(json_array_size(json_object_get(document, "causes")), 6);
    const json_t *last = json_array_get(json_object_get(document, "causes"), 5);
    assert_string_equal(json_string_value(json_object_get(last, "folder")), "/a/1");
    assert_int_equal(json_integer_value(json_object_get(last, "attempt")), 1);
    json_decref(document);
}

static void test_an_abort_has_its_cause(void **state)
{
    (void)state;
    write_execution(TR_EXECUTION_ABORTED, "", "", TR_ELEMENT_NONE);
    PAST(phase, .execution = EXECUTION, .actor = {EXECUTION, 64}, .number = 0,
         .subject = TR_SUBJECT_EXECUTION, .phase = TR_EXECUTION_QUEUED, .cause = TEXT("begun"));
    PAST(phase, .execution = EXECUTION, .actor = {EXECUTION, 64}, .number = 1,
         .subject = TR_SUBJECT_EXECUTION, .phase = TR_EXECUTION_ABORTING,
         .cause = TEXT("interrupted by Ctrl-C"));
    expect("main", "main-aaaaa  aborted after 2.00s\n"
                   "  it aborted: interrupted by Ctrl-C\n");
}

/* Of notifications those that were not delivered are told, and how that stands. */
static void test_who_was_not_told_is_named(void **state)
{
    (void)state;
    write_execution(TR_EXECUTION_SUCCEEDED, "", "", TR_ELEMENT_NONE);
    PAST(notification_row, .execution = EXECUTION, .key = TEXT("a"), .phase = TR_NOTIFY_SUCCEEDED,
         .kind = TR_NOTIFY_BY_HTTP, .target = TEXT("http://a"), .created_ms = PAST_MS,
         .status = TR_NOTIFICATION_DELIVERED, .attempts = 1);
    PAST(notification_row, .execution = EXECUTION, .key = TEXT("b"), .phase = TR_NOTIFY_SUCCEEDED,
         .position = 1, .kind = TR_NOTIFY_BY_COMMAND, .target = TEXT("./page"),
         .created_ms = PAST_MS, .status = TR_NOTIFICATION_GIVEN_UP, .attempts = 3,
         .message = TEXT("no\nway"));
    PAST(notification_row, .execution = EXECUTION, .key = TEXT("c"), .phase = TR_NOTIFY_WAITING,
         .position = 2, .path = TEXT("w/ok"), .kind = TR_NOTIFY_BY_MAIL, .target = TEXT("a@b.c"),
         .created_ms = PAST_MS, .status = TR_NOTIFICATION_PENDING);
    expect("main", "main-aaaaa  succeeded after 2.00s\n"
                   "  notification of succeeded by command to ./page: given up after 3 attempts: "
                   "no way\n"
                   "  notification of waiting at w/ok by mail to a@b.c: pending\n");
    assert_non_null(strstr(explain("main", TR_OUTPUT_TEXT, false, false),
                           "a@b.c: pending; no engine runs, the next one goes on with it\n"));
    json_t *document = json_loads(explain("main", TR_OUTPUT_JSON, false, false), 0, NULL);
    const json_t *list = json_object_get(document, "notifications");
    assert_int_equal(json_array_size(list), 2);
    const json_t *first = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(first, "status")), "given up");
    assert_int_equal(json_integer_value(json_object_get(first, "attempts")), 3);
    json_decref(document);
}

/* States of anybody's making harm nobody who looks at them. */
static void test_states_that_make_no_sense(void **state)
{
    (void)state;
    write_execution(TR_EXECUTION_RUNNING, "", "", TR_ELEMENT_NONE);
    struct tr_array_state array = {.graph = tr_graph_number(graph->hash), .workflow = 77};
    past_actor(&(struct past_actor){.key = {EXECUTION, 66},
                                    .parent = {EXECUTION, 66}, /* its own */
                                    .behaviour = tr_array_behaviour.id,
                                    .name = "squares",
                                    .schema = &tr_array_state_schema,
                                    .state = &array});
    (void)explain("main", TR_OUTPUT_TEXT, true, false);
    assert_int_equal(outcome, TR_MALFORMED);
    past_actor(&(struct past_actor){.key = {EXECUTION, 66},
                                    .behaviour = tr_task_behaviour.id,
                                    .name = "squares",
                                    .schema = &tr_array_next_schema,
                                    .state = &(struct tr_array_next){.step = 200}});
    const char *text = explain("main", TR_OUTPUT_TEXT, true, false);
    assert_int_equal(outcome, 0);
    assert_non_null(strstr(text, "main-aaaaa  running"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_each_waits_for),       TEST(test_a_part_of_it),
        TEST(test_nobody_is_silently_stuck),  TEST(test_who_holds_a_back_end_up_is_named),
        TEST(test_the_chain_of_causes),       TEST(test_an_abort_has_its_cause),
        TEST(test_who_was_not_told_is_named), TEST(test_states_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
