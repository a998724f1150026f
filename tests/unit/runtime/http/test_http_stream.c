/*
 * Streams of the http thread, from a real server: lines and chunks; and receivers that are slow,
 * gone or patient.
 */
#include "runtime/http/http.h"

#include <string.h>

#include "runtime/memory.h"
#include "tests/support/helper_process.h"
#include "tests/support/http_server.h"
#include "tests/support/test.h"
#include "tests/unit/runtime/http/http_fixture.h"

/* The most that libcurl hands over at once. */
#define CURL_PART_BYTES 16384

static void lines_come_as_they_are_whole(void **state)
{
    struct http_fixture *fixture = *state;
    struct tri_http_request request = http_get(fixture, "/lines/5/40");
    request.delivery = TRI_HTTP_LINES;
    request.idle_timeout_ms = 150; /* in all it takes longer */
    const struct answer *answer = http_run(fixture, &request);
    http_expect_fault(answer, TRI_HTTP_NONE, "");
    /* The last line has no end. */
    assert_string_equal(answer->body, "line 0|line 1|line 2|line 3|line 4|li|");
    assert_int_equal(answer->line_count, 6);
    assert_true(answer->first_us + 100000 < answer->elapsed_us);
}

static void chunks_come_as_they_are(void **state)
{
    struct http_fixture *fixture = *state;
    struct tri_http_request request = http_get(fixture, "/chunks/200000");
    request.delivery = TRI_HTTP_CHUNKS;
    const struct answer *answer = http_run(fixture, &request);
    http_expect_fault(answer, TRI_HTTP_NONE, "");
    assert_int_equal(answer->body_size, 200000);
    assert_true(answer->part_count > 1);
}

static size_t body_size_of(struct http_fixture *fixture, uint64_t id)
{
    pthread_mutex_lock(&fixture->mutex);
    size_t size = http_answer_of(fixture, id)->body_size;
    pthread_mutex_unlock(&fixture->mutex);
    return size;
}

/* Waits until nothing more comes for a while; what has come. */
static size_t settled_size(struct http_fixture *fixture, uint64_t id)
{
    size_t before = 0;
    size_t size = 0;
    do {
        before = size;
        helper_wait_ms(200);
        size = body_size_of(fixture, id);
    } while (size != before || size == 0);
    return size;
}

enum { WINDOW = 65536, FLOOD_LINES = 100000, LINE_BYTES = 1024 };

/* A slow receiver has no more in hand than it wanted, the memory of the thread stays as it is, and
 * the server's patience is not tried while it is the receiver who is slow. */
static void floods_wait_for_slow_receivers(void **state)
{
    struct http_fixture *fixture = *state;
    fixture->is_slow = true;
    struct tri_http_request request = http_get(fixture, "/flood/100000/1024");
    request.delivery = TRI_HTTP_LINES;
    request.window_bytes = WINDOW;
    request.idle_timeout_ms = 300;
    http_submit(fixture, &request);
    size_t size = settled_size(fixture, request.id);
    assert_in_range(size, WINDOW, WINDOW + 2 * CURL_PART_BYTES);
    size_t used = tr_memory_used();
    helper_wait_ms(600); /* longer than idle_timeout_ms */
    assert_int_equal(body_size_of(fixture, request.id), size);
    assert_true(tr_memory_used() <= used && used < 4 * WINDOW);
    /* A little room is none yet; half of it lets as much come. */
    assert_int_equal(tri_http_give_room(fixture->http, request.id, 1000), 0);
    helper_wait_ms(100);
    assert_int_equal(body_size_of(fixture, request.id), size);
    assert_int_equal(tri_http_give_room(fixture->http, request.id, size), 0);
    assert_in_range(settled_size(fixture, request.id), size + WINDOW, size + 2 * WINDOW);
    fixture->is_slow = false;
    assert_int_equal(tri_http_give_room(fixture->http, request.id, SIZE_MAX), 0);
    const struct answer *answer = http_await(fixture, request.id);
    http_expect_fault(answer, TRI_HTTP_NONE, "");
    assert_int_equal(answer->line_count, FLOOD_LINES);
    assert_int_equal(answer->body_size, FLOOD_LINES * LINE_BYTES);
}

/* Who gives no room back is taken for gone, whether the window is full or not. */
static void receivers_that_take_nothing_time_out(void **state)
{
    (void)state;
    static const char *const paths[] = {"/flood/100000/1024", "/lines/3/1000"};
    for (size_t i = 0; i < TR_COUNT_OF(paths); i++) {
        struct http_fixture *fixture =
            http_fixture_new((struct tri_http_options){.receiver_timeout_ms = 300});
        fixture->is_slow = true;
        struct tri_http_request request = http_get(fixture, paths[i]);
        request.delivery = TRI_HTTP_LINES;
        request.window_bytes = WINDOW;
        const struct answer *answer = http_run(fixture, &request);
        http_expect_fault(answer, TRI_HTTP_TIMEOUT, "TR_HTTP_RECEIVER_TIMEOUT_MS");
        http_fixture_free(fixture);
    }
}

/* Who takes what comes is waited for as long as nothing comes. */
static void receivers_without_bytes_may_wait(void **state)
{
    (void)state;
    struct http_fixture *fixture =
        http_fixture_new((struct tri_http_options){.receiver_timeout_ms = 150});
    struct tri_http_request request = http_get(fixture, "/lines/2/500");
    request.delivery = TRI_HTTP_LINES;
    request.window_bytes = WINDOW;
    const struct answer *answer = http_run(fixture, &request);
    http_expect_fault(answer, TRI_HTTP_NONE, "");
    assert_int_equal(answer->line_count, 2);
    http_fixture_free(fixture);
}

/* What went wrong is told whole, whatever was asked for. */
static void errors_are_no_streams(void **state)
{
    struct http_fixture *fixture = *state;
    struct tri_http_request request = http_get(fixture, "/status/503");
    request.delivery = TRI_HTTP_LINES;
    const struct answer *answer = http_run(fixture, &request);
    assert_int_equal(answer->status, 503);
    assert_int_equal(answer->line_count, 0);
    assert_string_equal(answer->body, "status 503\n");
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, http_fixture_set_up, http_fixture_take_down)
    const struct CMUnitTest tests[] = {
        TEST(lines_come_as_they_are_whole),
        TEST(chunks_come_as_they_are),
        TEST(floods_wait_for_slow_receivers),
        cmocka_unit_test(receivers_that_take_nothing_time_out),
        cmocka_unit_test(receivers_without_bytes_may_wait),
        TEST(errors_are_no_streams),
    };
    return cmocka_run_group_tests(tests, http_group_set_up, http_group_take_down);
}
