/*
 * One request: what an answer means, what is asked for again, and what people are told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/objects/objects_inside.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"
#include "tests/unit/runtime/objects/object_server.h"

#define CODE(code) "<Error><Code>" code "</Code></Error>"

static struct object_server server;

static void start(const struct object_answer *answers, size_t count)
{
    object_server_start(&server, "s3://bucket/data", answers, count);
}

static int get(int descriptor)
{
    return server.remote->ops->get(server.remote, &server.call, "name", descriptor);
}

static int new_file(void)
{
    char path[] = "/tmp/troupe-objects-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(unlink(path), 0);
    return file;
}

static void require_content(int file, const char *expected)
{
    char content[100] = "";
    assert_int_equal(pread(file, content, sizeof content - 1, 0), (ssize_t)strlen(expected));
    assert_string_equal(content, expected);
    close(file);
}

static void a_refusal_names_what_to_do(void **state)
{
    static const struct {
        struct object_answer answer;
        int error;
        const char *words;
    } cases[] = {
        {{.status = "404 Not Found", .body = CODE("NoSuchKey")},
         TR_NOT_FOUND,
         "the server answers with status 404 NoSuchKey, without a secret, as its entry under "
         "object_stores has none; the object was removed there: put it back, or run again what "
         "made it"},
        {{.status = "404 Not Found", .body = CODE("NoSuchBucket")},
         TR_NOT_FOUND,
         "404 NoSuchBucket, without a secret, as its entry under object_stores has none; make the "
         "bucket, or name another one in `blobs` of the settings"},
        {{.status = "403 Forbidden", .body = CODE("AccessDenied")},
         TR_DENIED,
         "403 AccessDenied, without a secret, as its entry under object_stores has none; grant "
         "permission to get, put, list and delete objects there, or set another endpoint, region "
         "or secret under object_stores of the settings"},
        {{.status = "401 Unauthorized", .body = "no document"},
         TR_DENIED,
         "the server answers with status 401, without a secret"},
    };
    char place[128];
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        int file = new_file();
        start(&cases[i].answer, 1);
        assert_int_equal(get(file), cases[i].error);
        snprintf(place, sizeof place, "GET %s/bucket/data/name: ", server.endpoint);
        assert_memory_equal(server.call.words, place, strlen(place));
        assert_non_null(strstr(server.call.words, cases[i].words));
        object_server_stop(&server);
        require_content(file, "");
    }
}

static void what_fails_for_the_moment_is_asked_for_again(void **state)
{
    static const struct object_answer answers[] = {
        {.status = "503 Slow Down", .body = CODE("SlowDown")},
        {.status = "500 Internal Server Error"},
        {.status = "200 OK", .body = "content"}};
    int file = new_file();
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(get(file), 0);
    assert_string_equal(object_server_request(&server, 2)->line, "GET /bucket/data/name");
    object_server_stop(&server);
    require_content(file, "content");
}

static void what_was_cut_off_goes_on(void **state)
{
    static const struct object_answer answers[] = {
        {.status = "200 OK", .body = "begin ", .missing = 3},
        {.status = "206 Partial Content", .body = "end"}};
    int file = new_file();
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(get(file), 0);
    assert_string_equal(object_server_request(&server, 0)->range, "");
    assert_string_equal(object_server_request(&server, 1)->range, "Range: bytes=6-");
    object_server_stop(&server);
    require_content(file, "begin end");
}

static void a_server_that_knows_no_ranges_sends_all_again(void **state)
{
    static const struct object_answer answers[] = {
        {.status = "200 OK", .body = "a long begin ", .missing = 3},
        {.status = "200 OK", .body = "all"}};
    int file = new_file();
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(get(file), 0);
    object_server_stop(&server);
    require_content(file, "all");
}

static void one_that_is_to_stop_asks_nothing_again(void **state)
{
    static const struct object_answer answers[] = {{.status = "503 Slow Down"}};
    int file = new_file();
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    server.may_lack_requests = true; /* whether it is asked at all depends on who is first */
    atomic_store(&server.is_stopping, true);
    assert_int_equal(get(file), TR_CLOSED);
    object_server_stop(&server);
    close(file);
}

static void where_nothing_can_be_written_is_told(void **state)
{
    static const struct object_answer answers[] = {{.status = "200 OK", .body = "content"}};
    int file = new_file();
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    FILE *reader = fopen(path, "rb");
    assert_non_null(reader);
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(get(fileno(reader)), TR_SYSTEM);
    assert_non_null(strstr(server.call.words, "GET http://127.0.0.1:"));
    object_server_stop(&server);
    assert_int_equal(fclose(reader), 0);
    require_content(file, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_names_what_to_do),
        cmocka_unit_test(what_fails_for_the_moment_is_asked_for_again),
        cmocka_unit_test(what_was_cut_off_goes_on),
        cmocka_unit_test(a_server_that_knows_no_ranges_sends_all_again),
        cmocka_unit_test(one_that_is_to_stop_asks_nothing_again),
        cmocka_unit_test(where_nothing_can_be_written_is_told),
    };
    return cmocka_run_group_tests_name("runtime/objects/objects_request", tests, NULL, NULL);
}
