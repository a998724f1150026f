/*
 * What passes in an engine, as people see it: each message that says something of an execution, a
 * node or an element has one line, all others none.
 */
#include "deploy/server/tap_words.h"

#include "actors/graph/document/report.h"
#include "schemas/engine/flow.h"
#include "schemas/engine/phase.h"
#include "tests/support/test.h"

#define AT_MS 1784505600123ULL /* 2026-07-20T00:00:00.123Z */

static const struct tr_key own = {16, 34};
static char line[4096];

/* The line of an event, or NULL; of a message that is cut, as much of it as was copied. */
static const char *words(uint8_t point, const char *address, const struct tr_schema *schema,
                         const void *body, size_t copied_bytes_max)
{
    uint8_t message[8192];
    struct tr_envelope envelope = {.type = schema->id, .version = schema->version};
    struct tr_writer writer =
        tr_writer_of(message + TR_ENVELOPE_BYTES, sizeof message - TR_ENVELOPE_BYTES);
    assert_int_equal(schema->pack(body, &writer), 0);
    envelope.body_size = (uint32_t)tr_writer_size(&writer);
    tr_envelope_pack(&envelope, message);
    size_t copied = envelope.body_size < copied_bytes_max ? envelope.body_size : copied_bytes_max;
    struct tr_tap_event event = {.point = point,
                                 .actor = {own, 1},
                                 .address = tr_text_of(address),
                                 .message = {.data = message, .size = TR_ENVELOPE_BYTES + copied},
                                 .now_ms = AT_MS};
    struct tr_sink sink = tr_sink_of(line, sizeof line - 1);
    if (!tr_tap_words_print(&event, &sink)) {
        return NULL;
    }
    struct tr_text text = tr_sink_text(&sink);
    line[text.size] = '\0';
    return line;
}

#define ROOT "/default/development/first"
#define LINE(text) "2026-07-20T00:00:00.123Z  " text

static void test_nodes_and_elements(void **state)
{
    (void)state;
    struct tr_node_start start = {.execution = tr_text_of("default/development/first")};
    assert_string_equal(words(TR_TAP_HANDLED, ROOT, &tr_node_start_schema, &start, SIZE_MAX),
                        LINE("first  begins"));
    assert_null(words(TR_TAP_SEND, ROOT, &tr_node_start_schema, &start, SIZE_MAX));
    struct tr_node_news news = {.phase = TR_NODE_PHASE_RUNNING};
    assert_string_equal(words(TR_TAP_SEND, ROOT "/sq[3]", &tr_node_news_schema, &news, SIZE_MAX),
                        LINE("first/sq[3]  running"));
    assert_null(words(TR_TAP_HANDLED, ROOT "/sq", &tr_node_news_schema, &news, SIZE_MAX));
    news = (struct tr_node_news){
        .phase = TR_NODE_PHASE_RETRYABLE_FAILURE, .attempt = 2, .message = tr_text_of("no luck")};
    assert_string_equal(
        words(TR_TAP_SEND, "/demo/staging/first/sq[3]", &tr_node_news_schema, &news, SIZE_MAX),
        LINE("/demo/staging/first/sq[3]  waiting to retry, attempt 2: no luck"));
    struct tr_node_ended ended = {.phase = TR_NODE_PHASE_FAILED, .message = tr_text_of("why")};
    assert_string_equal(words(TR_TAP_SEND, ROOT "/a", &tr_node_ended_schema, &ended, SIZE_MAX),
                        LINE("first/a  failed: why"));
}

/* Behind the phase there may be outputs that a tap does not copy. */
static void test_a_body_that_is_cut(void **state)
{
    (void)state;
    uint8_t outputs[2048];
    memset(outputs, 0xc0, sizeof outputs); /* nil each */
    struct tr_writer writer = tr_writer_of(outputs, 3);
    tr_write_array(&writer, 2045 & 0xffff);
    struct tr_node_ended ended = {.phase = TR_NODE_PHASE_SUCCEEDED,
                                  .outputs = {.data = outputs, .size = sizeof outputs}};
    assert_string_equal(words(TR_TAP_SEND, ROOT "/a", &tr_node_ended_schema, &ended, 100),
                        LINE("first/a  succeeded"));
    assert_null(words(TR_TAP_SEND, ROOT "/a", &tr_node_ended_schema, &ended, 2));
}

static void test_executions(void **state)
{
    (void)state;
    struct tr_execution_ended ended = {.name = tr_text_of("first"),
                                       .phase = TR_EXECUTION_TIMED_OUT};
    assert_string_equal(words(TR_TAP_SEND, ROOT, &tr_execution_ended_schema, &ended, SIZE_MAX),
                        LINE("first  timed out"));
    struct tr_node_ended last = {.phase = TR_NODE_PHASE_TIMED_OUT};
    assert_null(words(TR_TAP_SEND, ROOT, &tr_node_ended_schema, &last, SIZE_MAX));
    struct tr_node_abort abort = {.phase = TR_NODE_PHASE_ABORTED, .cause = tr_text_of("by ann")};
    assert_string_equal(words(TR_TAP_HANDLED, ROOT, &tr_node_abort_schema, &abort, SIZE_MAX),
                        LINE("first  is aborted: by ann"));
    assert_null(words(TR_TAP_HANDLED, ROOT "/a", &tr_node_abort_schema, &abort, SIZE_MAX));
    struct tr_node_pause pause = {.is_paused = true, .cause = tr_text_of("by ann")};
    assert_string_equal(words(TR_TAP_HANDLED, ROOT, &tr_node_pause_schema, &pause, SIZE_MAX),
                        LINE("first  is paused: by ann"));
    pause = (struct tr_node_pause){.is_paused = false};
    assert_string_equal(words(TR_TAP_HANDLED, ROOT, &tr_node_pause_schema, &pause, SIZE_MAX),
                        LINE("first  goes on"));
}

/* What goes through the root is told once, by who says it first. */
static void test_what_is_handed_on(void **state)
{
    (void)state;
    struct tr_launch launch = {.name = tr_text_of("other-x7k2p"), .launching = {own, 1}};
    assert_string_equal(words(TR_TAP_SEND, ROOT "/l", &tr_launch_schema, &launch, SIZE_MAX),
                        LINE("first/l  launches other-x7k2p"));
    struct tr_signal_wait wait = {
        .gate = {own, 1}, .id = tr_text_of("release"), .path = tr_text_of("ok")};
    assert_string_equal(words(TR_TAP_SEND, ROOT, &tr_signal_wait_schema, &wait, SIZE_MAX),
                        LINE("first  the gate ok waits for release"));
    launch.launching.key.serial++;
    wait.gate.key.serial++;
    assert_null(words(TR_TAP_SEND, ROOT, &tr_launch_schema, &launch, SIZE_MAX));
    assert_null(words(TR_TAP_SEND, ROOT, &tr_signal_wait_schema, &wait, SIZE_MAX));
}

static void test_what_is_missing(void **state)
{
    (void)state;
    struct tr_tap_event event = {.point = TR_TAP_LOST, .lost = 3, .skipped = 4};
    struct tr_sink sink = tr_sink_of(line, sizeof line);
    assert_true(tr_tap_words_print(&event, &sink));
    assert_true(tr_text_equal(tr_sink_text(&sink), tr_text_of("7 messages are missing here")));
    struct tr_node_start start = {.workflow = 0};
    assert_null(words(TR_TAP_HANDLED, "", &tr_node_start_schema, &start, SIZE_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_and_elements), cmocka_unit_test(test_a_body_that_is_cut),
        cmocka_unit_test(test_executions),         cmocka_unit_test(test_what_is_handed_on),
        cmocka_unit_test(test_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
