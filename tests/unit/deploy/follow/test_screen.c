/*
 * The live view: what a picture shows when there is room and when there is none, and that lines are
 * printed once for each change.
 */
#include "deploy/common/show.h"
#include "deploy/follow/screen.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

#define BEGIN_MS 1700000000000

static struct tr_nodes nodes;
static char drawn[65536];

static const struct tr_screen_head head = {
    .name = {.data = "it", .size = 2},
    .phase = TR_EXECUTION_RUNNING,
    .created_ms = BEGIN_MS,
    .now_ms = BEGIN_MS + 2500,
};

static int set_up(void **state)
{
    (void)state;
    tr_nodes_init(&nodes, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_nodes_fini(&nodes);
    return 0;
}

static void put_gate(const char *path, const char *kind, const char *id, uint64_t begin_ms)
{
    struct tr_node_status row = {
        .execution = 1,
        .path = tr_text_of(path),
        .kind = tr_text_of(kind),
        .target = tr_text_of(id),
        .phase = TR_NODE_PHASE_RUNNING,
        .created_ms = BEGIN_MS + begin_ms,
        .started_ms = BEGIN_MS + begin_ms,
    };
    assert_int_equal(tr_nodes_take_status(&nodes, &row), 0);
}

static void put_attempts(const char *path, uint32_t attempts)
{
    struct tr_node_status row = {.execution = 1,
                                 .path = tr_text_of(path),
                                 .kind = tr_text_of("task"),
                                 .phase = TR_NODE_PHASE_RUNNING,
                                 .created_ms = BEGIN_MS,
                                 .started_ms = BEGIN_MS,
                                 .attempts = attempts};
    assert_int_equal(tr_nodes_take_status(&nodes, &row), 0);
}

static void put(const char *path, uint8_t phase, uint64_t begin_ms, uint64_t end_ms,
                const char *message)
{
    struct tr_node_status row = {
        .execution = 1,
        .path = tr_text_of(path),
        .kind = tr_text_of("task"),
        .phase = phase,
        .created_ms = BEGIN_MS + begin_ms,
        .started_ms = BEGIN_MS + begin_ms,
        .ended_ms = end_ms == 0 ? 0 : BEGIN_MS + end_ms,
        .attempts = 1,
        .code = tr_text_of(message[0] != '\0' ? "Code" : ""),
        .message = tr_text_of(message),
    };
    assert_int_equal(tr_nodes_take_status(&nodes, &row), 0);
}

static void progress(const char *path, uint64_t total, uint64_t succeeded, uint64_t failed)
{
    struct tr_progress row = {.execution = 1,
                              .path = tr_text_of(path),
                              .total = total,
                              .succeeded = succeeded,
                              .failed = failed};
    assert_int_equal(tr_nodes_take_progress(&nodes, &row), 0);
}

static uint32_t draw(uint32_t rows, uint32_t columns, bool has_color)
{
    struct tr_screen screen = {.rows = rows, .columns = columns, .has_color = has_color};
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    uint32_t lines = tr_screen_draw(&screen, &head, &nodes, &buffer);
    snprintf(drawn, sizeof drawn, "%.*s", (int)buffer.size, (const char *)buffer.data);
    tr_buffer_fini(&buffer);
    return lines;
}

static void lines(void)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_screen_lines(&head, &nodes, &buffer);
    snprintf(drawn, sizeof drawn, "%.*s", (int)buffer.size, (const char *)buffer.data);
    tr_buffer_fini(&buffer);
}

static void test_a_picture_in_the_order_of_time(void **state)
{
    (void)state;
    put("b", TR_NODE_PHASE_SUCCEEDED, 0, 120, "");
    put("a", TR_NODE_PHASE_RUNNING, 500, 0, "");
    progress("a", 10, 4, 1);
    put("c", TR_NODE_PHASE_FAILED, 600, 1600, "no\nluck");
    assert_int_equal(draw(24, 100, false), 4);
    assert_string_equal(drawn, "it  running  2.50s\n"
                               "  b         succeeded 0.12s\n"
                               "  a         running   2.00s  [##########..........] 5/10 1 failed\n"
                               "  c         failed    1.00s  no luck [Code]\n");
}

/* Says of each node what `self` is, and how often it was asked. */
static uint32_t asked;

static void say(void *self, const struct tr_node_seen *node, struct tr_buffer *buffer)
{
    asked++;
    if (strcmp(node->path, "b") != 0) {
        tr_buffer_add_string(buffer, self);
    }
}

/* Only what runs and has room is asked, and its words steer no terminal. */
static void test_what_runs_says_how_far_it_has_come(void **state)
{
    (void)state;
    struct tr_screen screen = {.rows = 24, .columns = 50};
    static char words[] = "42 %, fit\x1b[2Jting, 3s ago, and much more";
    struct tr_screen_head speaking = head;
    struct tr_buffer buffer;
    speaking.says = say;
    speaking.self = words;
    put("a", TR_NODE_PHASE_RUNNING, 0, 0, "");
    put("b", TR_NODE_PHASE_RUNNING, 500, 0, "");
    put("c", TR_NODE_PHASE_SUCCEEDED, 600, 1600, "");
    put("d", TR_NODE_PHASE_QUEUED, 700, 0, "");
    tr_buffer_init(&buffer, 0);
    asked = 0;
    tr_screen_draw(&screen, &speaking, &nodes, &buffer);
    snprintf(drawn, sizeof drawn, "%.*s", (int)buffer.size, (const char *)buffer.data);
    assert_string_equal(drawn, "it  running  2.50s\n"
                               "  a         running   2.50s  42 %, fit\\x1b[2Jting,\n"
                               "  b         running   2.00s\n"
                               "  c         succeeded 1.00s\n"
                               "  d         queued    \n");
    assert_int_equal(asked, 2);
    tr_buffer_cut(&buffer, 0);
    screen.rows = 3;
    tr_screen_draw(&screen, &speaking, &nodes, &buffer);
    assert_int_equal(asked, 3);
    tr_buffer_fini(&buffer);
}

static void test_lines_are_no_wider_than_the_screen(void **state)
{
    (void)state;
    put("a", TR_NODE_PHASE_FAILED, 0, 100, "a message that is much too long for such a screen");
    assert_int_equal(draw(24, 29, false), 2);
    assert_non_null(strstr(drawn, "\n  a         failed    0.10s  \n"));
    /* Colours take no columns, and end with their line. */
    assert_int_equal(draw(24, 29, true), 2);
    assert_non_null(strstr(drawn, "\x1b[31mfailed   \x1b[0m 0.10s  \x1b[0m\n"));
    put("\xc3\xa4\xc3\xa4\xc3\xa4", TR_NODE_PHASE_RUNNING, 0, 0, "");
    assert_int_equal(draw(24, 4, false), 3);
    assert_non_null(strstr(drawn, "  \xc3\xa4\xc3\xa4\n"));
}

static void test_what_matters_has_room(void **state)
{
    (void)state;
    char path[16];
    for (unsigned i = 0; i < 50; i++) {
        snprintf(path, sizeof path, "n%02u", i);
        put(path, i == 7 ? TR_NODE_PHASE_FAILED : TR_NODE_PHASE_SUCCEEDED, i, i + 1, "");
    }
    put("n03", TR_NODE_PHASE_RUNNING, 3, 0, "");
    assert_int_equal(draw(6, 80, false), 6);
    assert_non_null(strstr(drawn, "  n03       running"));
    assert_non_null(strstr(drawn, "  n07       failed"));
    assert_non_null(strstr(drawn, "  n49       succeeded"));
    assert_null(strstr(drawn, "n00"));
    assert_non_null(strstr(drawn, "\n  and 46 more: 46 succeeded\n"));
}

static void test_lines_come_once(void **state)
{
    (void)state;
    put("a", TR_NODE_PHASE_QUEUED, 0, 0, "");
    lines();
    assert_string_equal(drawn, "");
    put("b", TR_NODE_PHASE_RUNNING, 300, 0, "");
    put("a", TR_NODE_PHASE_RUNNING, 200, 0, "");
    lines();
    assert_string_equal(drawn, "0.20s   a: running\n0.30s   b: running\n");
    lines();
    assert_string_equal(drawn, "");
    put("a", TR_NODE_PHASE_SUCCEEDED, 200, 1200, "");
    put("b", TR_NODE_PHASE_FAILED, 300, 700, "why");
    lines();
    assert_string_equal(drawn,
                        "0.70s   b: failed in 0.40s: why [Code]\n1.20s   a: succeeded in 1.00s\n");
    lines();
    assert_string_equal(drawn, "");
}

static void test_arrays_tell_now_and_then(void **state)
{
    (void)state;
    put("a", TR_NODE_PHASE_RUNNING, 0, 0, "");
    progress("a", 1000, 0, 0);
    lines();
    assert_string_equal(drawn, "0.00s   a: running\n");
    progress("a", 1000, 50, 0);
    lines();
    assert_string_equal(drawn, "");
    progress("a", 1000, 98, 2);
    lines();
    assert_string_equal(drawn, "2.50s   a: [##..................] 100/1000 2 failed\n");
    lines();
    assert_string_equal(drawn, "");
}

/* A gate that waits is no running node: what it waits for stands there, to be pasted. */
static void test_gates_wait(void **state)
{
    (void)state;
    put_gate("ok", "approve", "it's fine", 500);
    put_gate("m[1]/n", "signal", "limit", 1500);
    put("z", TR_NODE_PHASE_SUCCEEDED, 1600, 1700, "");
    draw(24, 100, false);
    assert_string_equal(drawn,
                        "it  running  2.50s\n"
                        "  ok        waits for approval since 2s: troupe approve it 'it'\\''s "
                        "fine'\n"
                        "  m[1]/n    waits for a value since 1s: troupe signal it limit VALUE "
                        "--node 'm[1]/n'\n"
                        "  z         succeeded 0.10s\n");
    draw(3, 100, false);
    assert_non_null(strstr(drawn, "\n  and 2 more: 1 waiting 1 succeeded\n"));
    lines();
    assert_string_equal(drawn, "0.50s   ok: waits for approval: troupe approve it 'it'\\''s fine'\n"
                               "1.50s   m[1]/n: waits for a value: troupe signal it limit VALUE "
                               "--node 'm[1]/n'\n"
                               "1.70s   z: succeeded in 0.10s\n");
}

/* As everywhere else the second attempt is number 1. */
static void test_attempts_count_from_0(void **state)
{
    (void)state;
    put_attempts("a", 1);
    draw(24, 100, false);
    assert_non_null(strstr(drawn, "  a         running   2.50s\n"));
    put_attempts("a", 2);
    draw(24, 100, false);
    assert_non_null(strstr(drawn, "  a         running   2.50s  attempt 1\n"));
    lines();
    assert_string_equal(drawn, "2.50s   a: running, attempt 1\n");
    lines();
    assert_string_equal(drawn, "");
    put_attempts("a", 3); /* it ended and began again between two looks */
    lines();
    assert_string_equal(drawn, "2.50s   a: running, attempt 2\n");
}

static void test_nodes_are_sorted_however_they_come(void **state)
{
    (void)state;
    static const char *const paths[] = {"m", "a", "z", "a/b", "m", "a", "b", "z", "a/b", "b"};
    for (unsigned i = 0; i < TR_COUNT_OF(paths); i++) {
        put(paths[i], TR_NODE_PHASE_RUNNING, i, 0, "");
    }
    assert_int_equal(nodes.count, 5);
    for (unsigned i = 1; i < nodes.count; i++) {
        assert_true(strcmp(nodes.items[i - 1].path, nodes.items[i].path) < 0);
    }
    assert_int_equal(nodes.items[0].started_ms, BEGIN_MS + 5);
}

static void test_spans(void **state)
{
    (void)state;
    static const struct {
        uint64_t milliseconds;
        const char *text;
    } spans[] = {
        {0, "0.00s"}, {1234, "1.23s"}, {12345, "12.3s"}, {125000, "2m05s"}, {3720000, "1h02m"}};
    for (unsigned i = 0; i < TR_COUNT_OF(spans); i++) {
        struct tr_buffer buffer;
        tr_buffer_init(&buffer, 0);
        tr_span_print(spans[i].milliseconds, &buffer);
        assert_int_equal(buffer.size, strlen(spans[i].text));
        assert_memory_equal(buffer.data, spans[i].text, buffer.size);
        tr_buffer_fini(&buffer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_picture_in_the_order_of_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_runs_says_how_far_it_has_come, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines_are_no_wider_than_the_screen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_matters_has_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines_come_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arrays_tell_now_and_then, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gates_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_attempts_count_from_0, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nodes_are_sorted_however_they_come, set_up, tear_down),
        cmocka_unit_test(test_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
