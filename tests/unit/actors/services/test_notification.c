/*
 * Notifications: each that a definition asks for is delivered once, whatever fails and wherever the
 * engine dies; one that cannot be delivered is given up in words, and its execution is as it was.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/link/frame.h"
#include "schemas/engine/notify.h"
#include "schemas/runtime/http.h"
#include "schemas/runtime/process.h"
#include "tests/support/flow.h"

#define CALLS_MAX 64
#define TEXT_BYTES 16384

/* What was asked of the outside. */
struct asked {
    bool is_process;
    char key[128]; /* Idempotency-Key, or that of the process */
    char words[TEXT_BYTES];
    char headers[TEXT_BYTES];
    char input[TEXT_BYTES]; /* the body, or stdin */
    char secrets[TEXT_BYTES];
};

/* How the outside answers: by the next of these statuses; 0: it says nothing, for ever. */
static struct {
    struct flow *flow;
    struct asked asked[CALLS_MAX];
    size_t asked_count;
    const uint32_t *answers;
    size_t answer_count;
    size_t answered;
    uint32_t retry_after_s;
    size_t forgotten;
    size_t removed;
} outside;

/* ------------------------------------------------------------------------ the outside */

static void print_strings(struct tr_bytes array, char *text)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(array, &cursor);
    size_t size = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes word = tr_process_string_next(&cursor);
        size += (size_t)snprintf(text + size, TEXT_BYTES - size, "%s%.*s", i > 0 ? "|" : "",
                                 (int)word.size, (const char *)word.data);
        assert_true(size < TEXT_BYTES);
    }
    assert_int_equal(cursor.error, 0);
}

static void print_any(struct tr_bytes value, char *text)
{
    struct tr_sink sink = tr_sink_of(text, TEXT_BYTES - 1);
    text[0] = '\0';
    if (value.size > 0) {
        tr_print_any(&sink, TR_PRINT_JSON, value);
        assert_false(sink.truncated);
        text[sink.size] = '\0';
    }
}

static void copy_bytes(struct tr_bytes bytes, char *text)
{
    assert_true(bytes.size < TEXT_BYTES);
    memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
}

static void note_request(const struct tr_http_request *request, struct asked *asked)
{
    assert_true(tr_text_equal(request->method, tr_text_of("POST")));
    (void)snprintf(asked->words, TEXT_BYTES, "%.*s", TRI_TEXT(request->url));
    print_any(request->headers, asked->headers);
    print_any(request->secrets, asked->secrets);
    copy_bytes(request->body, asked->input);
    const char *key = strstr(asked->headers, "Idempotency-Key: ");
    assert_non_null(key);
    assert_int_equal(sscanf(key, "Idempotency-Key: %127[a-z0-9-]", asked->key), 1);
}

static void note_process(const struct tr_process_run *run, struct asked *asked)
{
    struct tr_cursor cursor;
    asked->is_process = true;
    (void)snprintf(asked->key, sizeof asked->key, "%.*s", TRI_TEXT(run->key));
    print_strings(run->argv, asked->words);
    print_strings(run->environment, asked->headers);
    print_any(run->secrets, asked->secrets);
    assert_int_equal(tr_process_array_begin(run->files, &cursor), 1);
    struct tr_process_file file = tr_process_file_next(&cursor);
    assert_true(tr_text_equal(file.name, run->stdin_path));
    copy_bytes(file.bytes, asked->input);
}

static void answer_process(const struct tri_heading *heading, const struct tr_process_run *run,
                           uint32_t status)
{
    uint8_t documents[256];
    struct tr_writer writer = tr_writer_of(documents, sizeof documents);
    tr_write_array(&writer, 1);
    tr_write_bytes(&writer, (struct tr_bytes){.data = (const uint8_t *)"no\nway\n", .size = 7});
    struct tr_process_over over = {
        .key = run->key,
        .outcome = TR_PROCESS_EXITED,
        .status = status == 200 ? 0 : status,
        .documents = {.data = documents, .size = tr_writer_size(&writer)}};
    stage_send(&outside.flow->stage, 0, heading, &tr_process_over_schema, &over);
}

static void answer_request(const struct tri_heading *heading, uint32_t status)
{
    struct tr_http_response response = {.status = status,
                                        .fault = tr_text_of("none"),
                                        .retry_after_s = outside.retry_after_s,
                                        .body = {.data = (const uint8_t *)"try\nlater", .size = 9}};
    if (status == 1) { /* the server cannot be reached */
        response = (struct tr_http_response){.fault = tr_text_of("connect"),
                                             .message = tr_text_of("connection refused")};
    }
    stage_send(&outside.flow->stage, 0, heading, &tr_http_response_schema, &response);
}

/* Takes what a notification asks, or says to the keeper of processes. */
static void take(const uint8_t *call)
{
    struct tr_envelope envelope;
    struct tr_http_request request;
    struct tr_process_run run;
    tr_envelope_unpack(call, &envelope);
    outside.forgotten += envelope.type == tr_process_forget_schema.id ? 1 : 0;
    outside.removed += envelope.type == tr_folder_remove_schema.id ? 1 : 0;
    bool is_request = envelope.type == tr_http_request_schema.id;
    if (!is_request && envelope.type != tr_process_run_schema.id) {
        return;
    }
    assert_true(outside.asked_count < CALLS_MAX);
    struct asked *asked = &outside.asked[outside.asked_count++];
    struct tr_bytes body = tr_envelope_body(call);
    if (is_request) {
        assert_int_equal(tr_http_request_unpack(body, envelope.version, &request), 0);
        note_request(&request, asked);
    } else {
        assert_int_equal(tr_process_run_unpack(body, envelope.version, &run), 0);
        note_process(&run, asked);
    }
    uint32_t status =
        outside.answered < outside.answer_count ? outside.answers[outside.answered++] : 200;
    struct tr_ref from = {{envelope.from_group, envelope.from_serial}, envelope.from_incarnation};
    struct tri_heading heading = {
        .kind = TR_KIND_REPLY,
        .from = {{0, is_request ? TR_SERVICE_HTTP_ANSWERS : TR_SERVICE_PROCESSES}, 0},
        .to = from,
        .sequence = 1,
        .cause = from,
        .cause_sequence = envelope.sequence};
    if (status != 0 && is_request) {
        answer_request(&heading, status);
    } else if (status != 0) {
        answer_process(&heading, &run, status);
    }
}

static bool serve_place(uint32_t place)
{
    struct tri_frame frame;
    struct tri_channel *link = NULL;
    struct stage *stage = &outside.flow->stage;
    bool has_served = false;
    assert_int_equal(stage->env.ops->link_open(&stage->env, place, &link), 0);
    while (link->ops->receive(link, &frame) == 0) {
        size_t offset = 0;
        struct tr_bytes message;
        bool is_stored;
        while (tri_frame_next(&frame, &offset, &message, &is_stored)) {
            uint8_t *copy = malloc(message.size);
            assert_non_null(copy);
            memcpy(copy, message.data, message.size);
            take(copy);
            free(copy);
            has_served = true;
        }
        link->ops->release(link, &frame);
    }
    tri_channel_close(link);
    return has_served;
}

static void settle(void)
{
    bool has_served = true;
    while (has_served) {
        stage_run(&outside.flow->stage);
        has_served = serve_place(TRI_PLACE_HTTP);
        has_served = serve_place(TRI_PLACE_PROCESSES) || has_served;
    }
}

/* Lets time pass, second by second. */
static void pass(uint32_t seconds)
{
    for (uint32_t i = 0; i < seconds; i++) {
        outside.flow->stage.now_ns += 1000000000ULL;
        outside.flow->stage.wall_ms += 1000;
        settle();
    }
}

/* --------------------------------------------------------------------------- the stage */

static void open_services(void)
{
    outside.flow->stage.host.shared.services |= 1U << TR_SERVICE_HTTP | 1U << TR_SERVICE_PROCESSES;
}

static const char head[] =
    "troupe: 1\n"
    "project: demo\n"
    "tasks:\n"
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, run: [x]}\n";

static void begin(const char *rest)
{
    char *text = malloc(sizeof head + strlen(rest));
    assert_non_null(text);
    (void)snprintf(text, sizeof head + strlen(rest), "%s%s", head, rest);
    memset(&outside, 0, sizeof outside);
    outside.flow = flow_new(text);
    outside.flow->engine->store_folder = "/store";
    free(text);
    open_services();
    struct tr_spawn_options options = {.name = tr_text_of("sys/notifier")};
    outside.flow->engine->notifier =
        stage_spawn(&outside.flow->stage, &tr_notifier_behaviour, &options);
}

#define ANSWER(...)                                       \
    do {                                                  \
        static const uint32_t answers_[] = {__VA_ARGS__}; \
        outside.answers = answers_;                       \
        outside.answer_count = TR_COUNT_OF(answers_);     \
        outside.answered = 0;                             \
    } while (false)

static void finish(void)
{
    flow_free(outside.flow);
}

static void crash(void)
{
    flow_crash(outside.flow);
    open_services();
}

static void launch(void)
{
    flow_launch(outside.flow, "main", "[]", "e");
    settle();
}

static const struct flow_rule fails[] = {
    {"one", {.phase = TR_NODE_PHASE_FAILED, .code = "Odd", .message = "it is odd"}}, {0}};

/* The row of a notification in the order of their keys; false: there are not so many. */
static bool row_at(size_t index, struct tr_notification_row *row)
{
    if (index >= tri_model_record_count(outside.flow->model, tr_notification_row_schema.id)) {
        return false;
    }
    const struct tri_op *op =
        tri_model_record(outside.flow->model, tr_notification_row_schema.id, index);
    assert_int_equal(tr_notification_row_unpack(op->data, tr_notification_row_schema.version, row),
                     0);
    return true;
}

static size_t row_count(void)
{
    return tri_model_record_count(outside.flow->model, tr_notification_row_schema.id);
}

static void expect_row(uint8_t status, uint32_t attempts, const char *message)
{
    struct tr_notification_row row;
    assert_int_equal(row_count(), 1);
    assert_true(row_at(0, &row));
    assert_string_equal(tr_notification_status_word(row.status),
                        tr_notification_status_word(status));
    assert_int_equal(row.attempts, attempts);
    char text[TEXT_BYTES];
    (void)snprintf(text, sizeof text, "%.*s", TRI_TEXT(row.message));
    assert_string_equal(text, message);
}

static void expect_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("%s is not in %s", part, text);
    }
}

/* --------------------------------------------------------------------------- what is told */

#define ONE_NODE "workflows:\n  main:\n    nodes: {one: {task: add, with: {a: 1}}}\n"
#define HOOK "http: {url: \"http://host/hook\"}"

static void test_a_success_is_told_once(void **state)
{
    (void)state;
    begin(ONE_NODE "    labels: {team: data}\n    notify: [{on: succeeded, " HOOK "}]\n");
    launch();
    pass(3600);
    assert_int_equal(outside.asked_count, 1);
    const struct asked *asked = &outside.asked[0];
    assert_string_equal(asked->words, "http://host/hook");
    expect_has(asked->headers, "\"Content-Type: application/json\"");
    expect_has(asked->input, "\"phase\":\"succeeded\",\"name\":\"e\",\"project\":\"demo\","
                             "\"domain\":\"development\",\"workflow\":\"main\",\"plan\":null,"
                             "\"cause\":\"by the test\",\"started_at\":\"2023-11-14T22:13:20");
    expect_has(asked->input, "\"labels\":{\"team\":\"data\"},\"error\":null,\"gate\":null}");
    expect_has(asked->input, asked->key);
    expect_row(TR_NOTIFICATION_DELIVERED, 1, "");
    finish();
}

static void test_only_its_phases_are_told(void **state)
{
    (void)state;
    begin(ONE_NODE "    notify:\n      - {on: succeeded, http: {url: \"http://host/good\"}}\n"
                   "      - {on: [aborted, failed], http: {url: \"http://host/bad\"}}\n"
                   "      - {on: timed_out, http: {url: \"http://host/late\"}}\n");
    flow_obey(outside.flow, fails);
    launch();
    assert_int_equal(outside.asked_count, 1);
    assert_string_equal(outside.asked[0].words, "http://host/bad");
    expect_has(outside.asked[0].input,
               "\"error\":{\"code\":\"Odd\",\"message\":\"it is odd\",\"node\":\"one\"}");
    assert_int_equal(flow_phase(outside.flow, "e"), TR_EXECUTION_FAILED);
    finish();
}

static void test_templates_are_filled_in(void **state)
{
    (void)state;
    begin(
        ONE_NODE
        "    labels: {team: data, tier: gold}\n"
        "    notify:\n"
        "      - on: failed\n"
        "        http:\n"
        "          url: \"http://host/{{.labels.team}}/{{.labels.none}}\"\n"
        "          headers: {X-What: \"{{.phase}} {{ .ERROR }}\"}\n"
        "          body: {text: \"{{.executionName}}: {{.errorCode}}\", list: [1, \"{{`{{`}}\"]}\n"
        "          authorization: {bearer: hooks/token}\n"
        "          secrets: {X-Key: hooks/key@2}\n");
    flow_obey(outside.flow, fails);
    launch();
    const struct asked *asked = &outside.asked[0];
    assert_int_equal(outside.asked_count, 1);
    assert_string_equal(asked->words, "http://host/data/");
    expect_has(asked->headers, "\"X-What: failed it is odd\"");
    assert_string_equal(asked->input, "{\"list\":[1,\"{{\"],\"text\":\"e: Odd\"}");
    assert_string_equal(asked->secrets,
                        "[[0,\"Authorization\",\"Bearer \",\"hooks\",\"token\",\"\"],"
                        "[0,\"X-Key\",\"\",\"hooks\",\"key\",\"2\"]]");
    finish();
}

static void launch_plan(const char *name)
{
    const struct tr_graph *graph = outside.flow->graph;
    uint32_t plan = tr_graph_find_plan(graph, tr_text_of("p"));
    struct tr_launch request = {
        .name = tr_text_of(name),
        .graph = {.data = graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .workflow = graph->plans[plan].workflow,
        .plan = plan,
        .inputs = {.data = (const uint8_t *)"\x90", .size = 1},
        .cause = tr_text_of("by the test"),
    };
    flow_ask(outside.flow, &request);
    assert_int_equal(outside.flow->launch_error, 0);
    settle();
}

/* Those of the workflow and of the plan have keys of their own, and so has each execution. */
static void test_a_plan_has_its_own(void **state)
{
    (void)state;
    begin(ONE_NODE "    notify: [{on: succeeded, http: {url: \"http://host/workflow\"}}]\n"
                   "launch_plans:\n  p:\n    workflow: main\n"
                   "    notify: [{on: succeeded, http: {url: \"http://host/{{.plan}}\"}}]\n"
                   "  q:\n    workflow: main\n"
                   "    notify: [{on: succeeded, http: {url: \"http://host/{{.plan}}\"}}]\n");
    launch_plan("e");
    assert_int_equal(outside.asked_count, 2);
    assert_string_not_equal(outside.asked[0].key, outside.asked[1].key);
    bool is_first = strcmp(outside.asked[0].words, "http://host/workflow") == 0;
    assert_string_equal(outside.asked[is_first ? 1 : 0].words, "http://host/p");
    launch_plan("e");
    assert_int_equal(outside.asked_count, 4);
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(outside.asked[i].key, outside.asked[k].key);
        }
    }
    finish();
}

/* A workflow inside another one tells nobody. */
static void test_inner_workflows_tell_nobody(void **state)
{
    (void)state;
    begin("workflows:\n"
          "  inner:\n    nodes: {one: {task: add, with: {a: 1}}}\n"
          "    notify: [{on: succeeded, http: {url: \"http://host/inner\"}}]\n"
          "  main:\n    nodes: {in: {workflow: inner}}\n"
          "    notify: [{on: succeeded, http: {url: \"http://host/main\"}}]\n");
    launch();
    assert_int_equal(outside.asked_count, 1);
    assert_string_equal(outside.asked[0].words, "http://host/main");
    finish();
}

static void test_an_abort_is_told(void **state)
{
    (void)state;
    begin("workflows:\n  main:\n    nodes: {go: {approve: go}}\n"
          "    notify: [{on: aborted, " HOOK "}]\n");
    launch();
    flow_abort(outside.flow, outside.flow->execution, "ann says so", false);
    settle();
    assert_int_equal(outside.asked_count, 1);
    expect_has(outside.asked[0].input, "\"phase\":\"aborted\"");
    expect_has(outside.asked[0].input, "ann says so");
    finish();
}

/* ---------------------------------------------------------------------------------- gates */

#define GATES                                                                \
    "workflows:\n"                                                           \
    "  inner: {nodes: {go: {approve: go}}}\n"                                \
    "  main:\n    nodes: {in: {workflow: inner}, early: {approve: early}}\n" \
    "    notify: [{on: waiting, " HOOK "}]\n"

static void test_a_gate_that_waits_is_told(void **state)
{
    (void)state;
    begin(GATES);
    flow_launch(outside.flow, "main", "[]", "e");
    settle();
    assert_int_equal(outside.asked_count, 2);
    size_t inner = strstr(outside.asked[0].input, "\"id\":\"go\"") != NULL ? 0 : 1;
    expect_has(outside.asked[inner].input, "\"ended_at\":null,\"labels\":{},\"error\":null,"
                                           "\"gate\":{\"node\":\"in/go\",\"id\":\"go\"}}");
    assert_int_equal(flow_send_bool(outside.flow, "go", "", true), 1);
    assert_int_equal(flow_send_bool(outside.flow, "early", "", true), 1);
    settle();
    assert_int_equal(outside.asked_count, 2);
    assert_int_equal(flow_phase(outside.flow, "e"), TR_EXECUTION_SUCCEEDED);
    finish();
}

/* One that was answered before it waited waits for nobody. */
static void test_a_gate_that_is_answered_is_not_told(void **state)
{
    (void)state;
    begin("workflows:\n  main:\n"
          "    nodes: {one: {approve: one}, two: {approve: two, after: [one]}}\n"
          "    notify: [{on: waiting, " HOOK "}]\n");
    launch();
    assert_int_equal(outside.asked_count, 1);
    assert_int_equal(flow_send_bool(outside.flow, "two", "", true), 0);
    assert_int_equal(flow_send_bool(outside.flow, "one", "", true), 1);
    settle();
    assert_int_equal(flow_phase(outside.flow, "e"), TR_EXECUTION_SUCCEEDED);
    assert_int_equal(outside.asked_count, 1);
    finish();
}

/* -------------------------------------------------------------------------------- failures */

static void test_a_failure_is_tried_again(void **state)
{
    (void)state;
    begin(ONE_NODE "    notify:\n      - on: succeeded\n        " HOOK "\n"
                   "        backoff: {first: 8s, factor: 2}\n");
    ANSWER(503, 1, 200);
    launch();
    expect_row(TR_NOTIFICATION_RETRYING, 1, "answered with 503: try later");
    pass(3);
    assert_int_equal(outside.asked_count, 1);
    pass(5);
    assert_int_equal(outside.asked_count, 2);
    expect_row(TR_NOTIFICATION_RETRYING, 2, "connection refused");
    pass(3);
    assert_int_equal(outside.asked_count, 2);
    pass(13);
    assert_int_equal(outside.asked_count, 3);
    expect_row(TR_NOTIFICATION_DELIVERED, 3, "");
    assert_string_equal(outside.asked[0].key, outside.asked[1].key);
    assert_string_equal(outside.asked[0].key, outside.asked[2].key);
    pass(3600);
    assert_int_equal(outside.asked_count, 3);
    assert_int_equal(flow_phase(outside.flow, "e"), TR_EXECUTION_SUCCEEDED);
    finish();
}

static void test_it_is_given_up_in_words(void **state)
{
    (void)state;
    begin(ONE_NODE "    notify: [{on: succeeded, retries: 1, " HOOK "}]\n");
    ANSWER(500, 404, 200);
    launch();
    pass(60);
    assert_int_equal(outside.asked_count, 2);
    expect_row(TR_NOTIFICATION_GIVEN_UP, 2, "answered with 404: try later");
    assert_int_equal(flow_phase(outside.flow, "e"), TR_EXECUTION_SUCCEEDED);
    finish();
}

static void test_a_server_says_when(void **state)
{
    (void)state;
    begin(ONE_NODE "    notify: [{on: succeeded, " HOOK "}]\n");
    ANSWER(429, 200);
    outside.retry_after_s = 100;
    launch();
    pass(99);
    assert_int_equal(outside.asked_count, 1);
    pass(1);
    assert_int_equal(outside.asked_count, 2);
    finish();
}

/* What is larger than a message when it is filled in has a row, and goes nowhere. */
static void test_what_cannot_be_filled_in_is_said(void **state)
{
    (void)state;
    static char message[16000];
    static char text[16000];
    size_t size = 0;
    memset(message, 'x', sizeof message - 1);
    const struct flow_rule rules[] = {
        {"one", {.phase = TR_NODE_PHASE_FAILED, .code = "Odd", .message = message}}, {0}};
    size += (size_t)snprintf(text, sizeof text,
                             "%s    notify: [{on: failed, http: {url: "
                             "\"http://host/x\", body: [",
                             ONE_NODE);
    for (int i = 0; i < 100; i++) {
        size += (size_t)snprintf(text + size, sizeof text - size, "\"{{.error}}\", ");
    }
    (void)snprintf(text + size, sizeof text - size, "1]}}]\n");
    begin(text);
    flow_obey(outside.flow, rules);
    launch();
    assert_int_equal(outside.asked_count, 0);
    expect_row(TR_NOTIFICATION_GIVEN_UP, 0, "filled in it is larger than 256 KiB");
    assert_int_equal(flow_phase(outside.flow, "e"), TR_EXECUTION_FAILED);
    finish();
}

/* --------------------------------------------------------------------------------- crashes */

/* The server has it, and nobody heard of that: it is sent again under the same key, and no more. */
static void test_an_answer_that_is_lost_is_asked_for_again(void **state)
{
    (void)state;
    begin(ONE_NODE "    notify: [{on: succeeded, retries: 0, " HOOK "}]\n");
    ANSWER(0, 0, 200);
    launch();
    assert_int_equal(outside.asked_count, 1);
    expect_row(TR_NOTIFICATION_PENDING, 0, "");
    crash();
    settle();
    assert_int_equal(outside.asked_count, 2);
    crash();
    pass(10);
    assert_int_equal(outside.asked_count, 3);
    assert_string_equal(outside.asked[0].key, outside.asked[1].key);
    assert_string_equal(outside.asked[0].key, outside.asked[2].key);
    expect_row(TR_NOTIFICATION_DELIVERED, 1, "");
    finish();
}

static void test_what_is_delivered_stays_so(void **state)
{
    (void)state;
    begin(ONE_NODE "    notify: [{on: succeeded, " HOOK "}]\n");
    launch();
    for (int i = 0; i < 3; i++) {
        crash();
        pass(3600);
    }
    assert_int_equal(outside.asked_count, 1);
    expect_row(TR_NOTIFICATION_DELIVERED, 1, "");
    finish();
}

/* The wait between two attempts goes on while no engine lives. */
static void test_a_wait_survives_a_crash(void **state)
{
    (void)state;
    begin(ONE_NODE "    notify: [{on: succeeded, backoff: {first: 1m}, " HOOK "}]\n");
    ANSWER(500, 200);
    launch();
    crash();
    pass(29);
    assert_int_equal(outside.asked_count, 1);
    pass(31);
    assert_int_equal(outside.asked_count, 2);
    expect_row(TR_NOTIFICATION_DELIVERED, 2, "");
    finish();
}

/* Wherever the engine dies, each is known to the outside under one key. */
static void test_a_crash_after_each_step(void **state)
{
    (void)state;
    for (uint32_t steps = 0; steps < 60; steps++) {
        begin(ONE_NODE "    notify: [{on: succeeded, " HOOK "}]\n");
        flow_launch(outside.flow, "main", "[]", "e");
        for (uint32_t i = 0; i < steps; i++) {
            (void)stage_step(&outside.flow->stage);
        }
        crash();
        pass(10);
        struct tr_execution row;
        if (flow_execution(outside.flow, "e", &row)) {
            expect_row(TR_NOTIFICATION_DELIVERED, 1, "");
        }
        for (size_t i = 1; i < outside.asked_count; i++) {
            assert_string_equal(outside.asked[i].key, outside.asked[0].key);
        }
        finish();
    }
}

/* Memory that ends at any allocation of the root changes nothing of what is told. */
static void test_memory_that_ends(void **state)
{
    (void)state;
    bool is_over = false;
    for (uint64_t at = 1; !is_over; at++) {
        begin(ONE_NODE "    labels: {team: data}\n    notify:\n      - on: failed\n"
                       "        http: {url: \"http://host/{{.labels.team | quote}}\"}\n");
        flow_obey(outside.flow, fails);
        outside.flow->fail_at = at;
        outside.flow->allocations = 0;
        flow_launch(outside.flow, "main", "[]", "e");
        settle();
        is_over = outside.flow->allocations < at;
        outside.flow->fail_at = 0;
        pass(20);
        assert_int_equal(outside.asked_count, 1);
        assert_string_equal(outside.asked[0].words, "http://host/'data'");
        expect_row(TR_NOTIFICATION_DELIVERED, 1, "");
        finish();
    }
}

/* ---------------------------------------------------------------------- commands and mails */

static void test_a_command(void **state)
{
    (void)state;
    begin(ONE_NODE "    notify:\n      - on: failed\n"
                   "        command: [./page, \"{{.executionName}}\", \"{{.error | quote}}\"]\n"
                   "        secrets: {TOKEN: pager/token}\n");
    flow_obey(outside.flow, fails);
    ANSWER(3, 200);
    launch();
    expect_row(TR_NOTIFICATION_RETRYING, 1, "ended with exit status 3: no way");
    pass(60);
    assert_int_equal(outside.asked_count, 2);
    const struct asked *asked = &outside.asked[0];
    assert_true(asked->is_process);
    assert_string_equal(asked->words, "/flow/page|e|'it is odd'");
    assert_string_equal(asked->secrets, "[[\"TOKEN\",\"pager\",\"token\",\"\",false]]");
    expect_has(asked->headers, "|TROUPE_EXECUTION=e|TROUPE_PHASE=failed|TROUPE_NOTIFICATION=");
    expect_has(asked->input, "\"message\":\"it is odd\"");
    /* Each attempt is a process of its own, and nothing is left of either. */
    assert_string_not_equal(asked->key, outside.asked[1].key);
    assert_int_equal(outside.forgotten, 2);
    assert_int_equal(outside.removed, 2);
    expect_row(TR_NOTIFICATION_DELIVERED, 2, "");
    finish();
}

/* The keeper is asked for the same process, which it starts once. */
static void test_a_crash_starts_no_second_process(void **state)
{
    (void)state;
    begin(ONE_NODE "    notify: [{on: succeeded, command: [page]}]\n");
    ANSWER(0, 200);
    launch();
    crash();
    settle();
    assert_int_equal(outside.asked_count, 2);
    assert_string_equal(outside.asked[0].key, outside.asked[1].key);
    expect_row(TR_NOTIFICATION_DELIVERED, 1, "");
    finish();
}

static void test_a_mail(void **state)
{
    (void)state;
    begin(ONE_NODE "    notify:\n      - on: failed\n"
                   "        mail:\n          to: [a@b.c, d@e.f]\n"
                   "          subject: \"{{.executionName}} – {{.error}}\"\n"
                   "          text: \"first\\nsecond {{.errorNode}}\"\n"
                   "      - {on: failed, mail: {to: a@b.c}}\n");
    outside.flow->engine->sendmail = "/opt/sendmail";
    outside.flow->engine->mail_from = "Troupe <t@b.c>";
    flow_obey(outside.flow, fails);
    launch();
    assert_int_equal(outside.asked_count, 2);
    size_t plain = strstr(outside.asked[0].words, "d@e.f") != NULL ? 1 : 0;
    const struct asked *mail = &outside.asked[1 - plain];
    assert_string_equal(mail->words, "/opt/sendmail|-i|a@b.c|d@e.f");
    expect_has(mail->input, "From: Troupe <t@b.c>\nTo: a@b.c,\n d@e.f\n"
                            "Subject: =?UTF-8?B?ZSDigJMgaXQgaXMgb2Rk?=\nMessage-ID: <");
    expect_has(mail->input, "Content-Transfer-Encoding: 8bit\n\nfirst\nsecond one\n");
    expect_has(outside.asked[plain].input, "Subject: e: failed\n");
    expect_has(outside.asked[plain].input, "\n\nThe execution e of main in demo/development is "
                                           "failed.\n\nerror: it is odd [Odd]\nnode: one\n");
    finish();
}

/* A mail's head cannot be added to, and no line is longer than mail allows. */
static void test_a_mail_is_well_formed(void **state)
{
    (void)state;
    static char message[3000];
    memset(message, 'x', sizeof message - 1);
    memcpy(message, "odd\r\nBcc: eve@b.c\r\n", 19);
    const struct flow_rule rules[] = {
        {"one", {.phase = TR_NODE_PHASE_FAILED, .code = "Odd", .message = message}}, {0}};
    begin(ONE_NODE "    notify: [{on: failed, mail: {to: a@b.c, subject: \"{{.error}}\", "
                   "text: \"{{.error}}\"}}]\n");
    flow_obey(outside.flow, rules);
    launch();
    assert_int_equal(outside.asked_count, 1);
    char *body = strstr(outside.asked[0].input, "\n\n");
    assert_non_null(body);
    assert_null(strstr(body + 2, "\n\n"));
    *body = '\0';
    assert_null(strstr(outside.asked[0].input, "\nBcc:"));
    for (char *line = strtok(body + 2, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_true(strlen(line) <= 998);
    }
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_success_is_told_once),
        cmocka_unit_test(test_only_its_phases_are_told),
        cmocka_unit_test(test_templates_are_filled_in),
        cmocka_unit_test(test_a_plan_has_its_own),
        cmocka_unit_test(test_inner_workflows_tell_nobody),
        cmocka_unit_test(test_an_abort_is_told),
        cmocka_unit_test(test_a_gate_that_waits_is_told),
        cmocka_unit_test(test_a_gate_that_is_answered_is_not_told),
        cmocka_unit_test(test_a_failure_is_tried_again),
        cmocka_unit_test(test_it_is_given_up_in_words),
        cmocka_unit_test(test_a_server_says_when),
        cmocka_unit_test(test_what_cannot_be_filled_in_is_said),
        cmocka_unit_test(test_an_answer_that_is_lost_is_asked_for_again),
        cmocka_unit_test(test_what_is_delivered_stays_so),
        cmocka_unit_test(test_a_wait_survives_a_crash),
        cmocka_unit_test(test_a_crash_after_each_step),
        cmocka_unit_test(test_memory_that_ends),
        cmocka_unit_test(test_a_command),
        cmocka_unit_test(test_a_crash_starts_no_second_process),
        cmocka_unit_test(test_a_mail),
        cmocka_unit_test(test_a_mail_is_well_formed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
