/*
 * Responses in pieces of every size: the lines are the same wherever the bytes were parted, and
 * limits hold to the byte.
 */
#include "runtime/http/http_response.h"

#include <stdio.h>
#include <string.h>

#include "runtime/memory.h"
#include "schemas/runtime/http.h"
#include "tests/support/test.h"

/* What was delivered, as text: "L:line or item|", "C:chunk|", "E:status:fault:body|". */
static char delivered[4096];
static size_t parts;
static bool has_lines;

static void add_lines(struct tr_bytes part)
{
    struct tr_bytes line;
    while (tr_http_line_next(&part, &line)) {
        size_t used = strlen(delivered);
        snprintf(delivered + used, sizeof delivered - used, "L:%.*s|", (int)line.size,
                 (const char *)line.data);
    }
}

static void take(void *self, const struct tri_http_event *event)
{
    (void)self;
    size_t used = strlen(delivered);
    char *at = delivered + used;
    size_t room = sizeof delivered - used;
    const char *body = event->body.size > 0 ? (const char *)event->body.data : "";
    if (event->kind == TRI_HTTP_END) {
        snprintf(at, room, "E:%u:%s:%.*s|", event->status, tri_http_fault_name(event->fault),
                 (int)event->body.size, body);
        return;
    }
    parts++;
    if (has_lines) {
        add_lines(event->body);
    } else {
        snprintf(at, room, "C:%.*s|", (int)event->body.size, body);
    }
}

static const struct tri_http_options options = {.deliver = take};

/* Runs a response with the body in pieces of a size; whether all of it was taken. */
static bool run(enum tri_http_delivery delivery, size_t max, const char *status, const char *body,
                size_t piece)
{
    static const char header[] = "X-Test: yes\r\n";
    struct tri_http_task task = {
        .request = {.id = 1, .delivery = delivery, .response_bytes_max = max}};
    struct tri_http_response response = {.options = &options, .task = &task};
    bool is_taken = true;
    delivered[0] = '\0';
    parts = 0;
    has_lines = delivery == TRI_HTTP_LINES || delivery == TRI_HTTP_ITEMS;
    assert_true(tri_http_response_take_header(&response, status, strlen(status)));
    assert_true(tri_http_response_take_header(&response, header, sizeof header - 1));
    assert_true(tri_http_response_take_header(&response, "\r\n", 2));
    for (size_t at = 0; at < strlen(body) && is_taken; at += piece) {
        size_t left = strlen(body) - at;
        is_taken = tri_http_response_take_body(&response, body + at, left < piece ? left : piece);
    }
    tri_http_response_end(&response);
    tri_http_response_fini(&response);
    assert_int_equal(tr_memory_used(), 0);
    return is_taken;
}

static void lines_are_the_same_in_all_pieces(void **state)
{
    (void)state;
    static const char body[] = "one\r\n\ntwo\nthree\r\n\r\nfo\rur";
    for (size_t piece = 1; piece <= sizeof body; piece++) {
        assert_true(run(TRI_HTTP_LINES, 0, "HTTP/1.1 200 OK\r\n", body, piece));
        assert_string_equal(delivered, "L:one|L:|L:two|L:three|L:|L:fo\rur|E:200:none:|");
    }
}

/* Lines that come together are told together, and none is parted. */
static void lines_that_come_together_are_one_part(void **state)
{
    (void)state;
    static const char body[] = "one\ntwo\nthree\nfo";
    static const size_t expected[][2] = {{sizeof body, 2}, {9, 3}, {4, 4}, {1, 4}};
    for (size_t i = 0; i < TR_COUNT_OF(expected); i++) {
        assert_true(run(TRI_HTTP_LINES, 0, "HTTP/1.1 200 OK\r\n", body, expected[i][0]));
        assert_int_equal(parts, expected[i][1]);
        assert_string_equal(delivered, "L:one|L:two|L:three|L:fo|E:200:none:|");
    }
}

/* The items of a list, wherever its bytes are parted; and what is left of it. */
static void items_are_the_same_in_all_pieces(void **state)
{
    (void)state;
    static const char body[] =
        "{ \"kind\":\"a \\\"items\\\":[\", \"x\":{\"items\":[{}]},\n"
        " \"items\" : [ {\"a\": [1, {\"b c\":\"}\\\\\"}]},\r\n {},{\"items\":[{}]}],"
        "\"metadata\":{\"continue\":\"\"}}\n";
    static const char *const expected =
        "L:{\"a\":[1,{\"b c\":\"}\\\\\"}]}|L:{}|L:{\"items\":[{}]}|"
        "E:200:none:{\"kind\":\"a \\\"items\\\":[\",\"x\":{\"items\":[{}]},\"items\":[],"
        "\"metadata\":{\"continue\":\"\"}}|";
    for (size_t piece = 1; piece <= sizeof body; piece++) {
        assert_true(run(TRI_HTTP_ITEMS, 0, "HTTP/1.1 200 OK\r\n", body, piece));
        assert_string_equal(delivered, expected);
    }
}

/* What is no list of objects is refused, as is one that is cut off, or has too large an item. */
static void other_documents_are_refused(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "",
        "[]",
        "x",
        "{\"items\":[1]}",
        "{\"items\":[[]]}",
        "{\"a\":1",
        "{\"items\":[{",
        "{\"a\":1}{",
        "{\"a\":\"\n\"}",
        "}",
    };
    for (size_t i = 0; i < TR_COUNT_OF(bodies); i++) {
        (void)run(TRI_HTTP_ITEMS, 0, "HTTP/1.1 200 OK\r\n", bodies[i], 3);
        assert_string_equal(delivered, "E:200:protocol:|");
    }
    for (size_t piece = 1; piece <= 30; piece++) {
        assert_true(
            run(TRI_HTTP_ITEMS, 12, "HTTP/1.1 200 OK\r\n", "{\"items\":[{\"a\":12345}]}", piece));
        assert_false(run(TRI_HTTP_ITEMS, 12, "HTTP/1.1 200 OK\r\n",
                         "{\"items\":[{},{\"a\":1234567}]}", piece));
        assert_string_equal(delivered, "L:{}|E:200:too large:|");
    }
    assert_true(run(TRI_HTTP_ITEMS, 0, "HTTP/1.1 410 Gone\r\n", "{\"items\":[{}]}", 1));
    assert_string_equal(delivered, "E:410:none:{\"items\":[{}]}|");
}

static void unconsumed_bytes_are_counted(void **state)
{
    (void)state;
    struct tri_http_task task = {
        .request = {.id = 1, .delivery = TRI_HTTP_LINES, .window_bytes = 4}};
    struct tri_http_response response = {.options = &options, .task = &task};
    assert_true(tri_http_response_take_header(&response, "HTTP/1.1 200 OK\r\n", 17));
    assert_true(tri_http_response_take_body(&response, "ab\nabcdef", 9));
    assert_int_equal(response.unconsumed_bytes, 3); /* an incomplete line does not count */
    assert_false(tri_http_response_is_full(&response));
    assert_true(tri_http_response_take_body(&response, "\n", 1));
    assert_true(tri_http_response_is_full(&response));
    task.request.window_bytes = 0;
    assert_false(tri_http_response_is_full(&response));
    tri_http_response_fini(&response);
}

static void bodies_are_whole(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= 6; piece++) {
        assert_true(run(TRI_HTTP_WHOLE, 6, "HTTP/1.1 200 OK\r\n", "ab\ncde", piece));
        assert_string_equal(delivered, "E:200:none:ab\ncde|");
    }
    assert_true(run(TRI_HTTP_CHUNKS, 1, "HTTP/2 206\r\n", "abcde", 2));
    assert_string_equal(delivered, "C:ab|C:cd|C:e|E:206:none:|");
    assert_true(run(TRI_HTTP_LINES, 0, "HTTP/1.1 404 Not Found\r\n", "a\nb\n", 1));
    assert_string_equal(delivered, "E:404:none:a\nb\n|");
}

static void limits_hold_to_the_byte(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= 6; piece++) {
        assert_true(run(TRI_HTTP_WHOLE, 6, "HTTP/1.1 200 OK\r\n", "abcdef", piece));
        assert_false(run(TRI_HTTP_WHOLE, 5, "HTTP/1.1 200 OK\r\n", "abcdef", piece));
        assert_true(run(TRI_HTTP_LINES, 2, "HTTP/1.1 200 OK\r\n", "ab\ncd\n", piece));
        assert_false(run(TRI_HTTP_LINES, 2, "HTTP/1.1 200 OK\r\n", "ab\ncde\n", piece));
        assert_string_equal(delivered, "L:ab|E:200:too large:|");
    }
}

/* Of several responses the last one counts. */
static void earlier_responses_are_dropped(void **state)
{
    (void)state;
    struct tri_http_task task = {.request = {.id = 1}};
    struct tri_http_response response = {.options = &options, .task = &task};
    static const char *const lines[] = {"HTTP/1.1 100 Continue\r\n", "X: 1\r\n", "\r\n",
                                        "HTTP/1.1 200 OK\r\n", "Y: 2\r\n"};
    for (size_t i = 0; i < TR_COUNT_OF(lines); i++) {
        assert_true(tri_http_response_take_header(&response, lines[i], strlen(lines[i])));
    }
    assert_int_equal(response.status, 200);
    assert_int_equal(tri_buffer_size(&response.headers), strlen("Y: 2\r\n"));
    tri_http_response_fail(&response, TRI_HTTP_TLS, "first");
    tri_http_response_fail(&response, TRI_HTTP_TIMEOUT, "second"); /* the first one counts */
    assert_int_equal(response.fault, TRI_HTTP_TLS);
    assert_string_equal(response.words, "first");
    tri_http_response_fini(&response);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_same_in_all_pieces),
        cmocka_unit_test(lines_that_come_together_are_one_part),
        cmocka_unit_test(items_are_the_same_in_all_pieces),
        cmocka_unit_test(other_documents_are_refused),
        cmocka_unit_test(unconsumed_bytes_are_counted),
        cmocka_unit_test(bodies_are_whole),
        cmocka_unit_test(limits_hold_to_the_byte),
        cmocka_unit_test(earlier_responses_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
