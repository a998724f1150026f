/*
 * Sending objects: in one request or in parts, whole or not at all, and what never ended.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/objects/objects_inside.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"
#include "tests/unit/runtime/objects/object_server.h"

#define BEGUN                                                         \
    {                                                                 \
        .status = "200 OK", .body = "<I><UploadId>n/1</UploadId></I>" \
    }
#define PART(tag)                                              \
    {                                                          \
        .status = "200 OK", .headers = "ETag: \"" tag "\"\r\n" \
    }
#define GONE                       \
    {                              \
        .status = "204 No Content" \
    }

/* More than a part: 8 MiB and some. */
#define LARGE_BYTES (TR_OBJECT_PART_BYTES + 5)

static struct object_server server;

static void start(const struct object_answer *answers, size_t count)
{
    object_server_start(&server, "s3://bucket/data", answers, count);
}

/* Sends so many bytes, in several pieces, and gives what its end gives. */
static int send_bytes(size_t size, bool is_whole)
{
    struct tri_blob_upload *upload;
    uint8_t *bytes = calloc(1, size + 1);
    assert_non_null(bytes);
    assert_int_equal(server.remote->ops->begin(server.remote, &server.call, "name", &upload), 0);
    int error = 0;
    for (size_t at = 0; error == 0 && at < size;) {
        size_t piece = size - at < 1000000 ? size - at : 1000000;
        error = server.remote->ops->add(upload, (struct tr_bytes){bytes + at, piece});
        at += piece;
    }
    free(bytes);
    int end = server.remote->ops->end(upload, is_whole && error == 0);
    return error != 0 ? error : end;
}

static void require_request(size_t number, const char *line, size_t size)
{
    assert_string_equal(object_server_request(&server, number)->line, line);
    assert_int_equal(object_server_request(&server, number)->body_size, size);
}

static void a_small_object_is_one_request(void **state)
{
    static const struct object_answer answers[] = {PART("x"), PART("x")};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(send_bytes(1500000, true), 0);
    require_request(0, "PUT /bucket/data/name", 1500000);
    assert_int_equal(send_bytes(0, true), 0);
    require_request(1, "PUT /bucket/data/name", 0);
    object_server_stop(&server);
}

static void one_that_is_given_up_was_never_sent(void **state)
{
    (void)state;
    start(NULL, 0);
    assert_int_equal(send_bytes(1000, false), 0);
    object_server_stop(&server);
}

static void a_large_object_goes_in_parts(void **state)
{
    static const struct object_answer answers[] = {BEGUN, PART("a"), PART("b"), PART("whole")};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(send_bytes(LARGE_BYTES, true), 0);
    require_request(0, "POST /bucket/data/name?uploads=", 0);
    require_request(1, "PUT /bucket/data/name?partNumber=1&uploadId=n%2F1", TR_OBJECT_PART_BYTES);
    require_request(2, "PUT /bucket/data/name?partNumber=2&uploadId=n%2F1", 5);
    assert_string_equal(object_server_request(&server, 3)->line,
                        "POST /bucket/data/name?uploadId=n%2F1");
    assert_string_equal(
        object_server_request(&server, 3)->body,
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag>"
        "</Part><Part><PartNumber>2</PartNumber><ETag>\"b\"</ETag></Part>"
        "</CompleteMultipartUpload>");
    object_server_stop(&server);
}

static void parts_of_what_is_given_up_are_dropped(void **state)
{
    static const struct object_answer answers[] = {BEGUN, PART("a"), GONE};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(send_bytes(LARGE_BYTES, false), 0);
    require_request(2, "DELETE /bucket/data/name?uploadId=n%2F1", 0);
    object_server_stop(&server);
}

static void an_error_in_a_success_is_one(void **state)
{
    static const struct object_answer answers[] = {
        BEGUN,
        PART("a"),
        PART("b"),
        {.status = "200 OK", .body = "<Error><Code>InternalError</Code></Error>"},
        GONE};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(send_bytes(LARGE_BYTES, true), TR_NO_CONNECTION);
    assert_non_null(strstr(server.call.words, "the server's answer is an error of a success"));
    require_request(4, "DELETE /bucket/data/name?uploadId=n%2F1", 0);
    object_server_stop(&server);
}

static void an_end_whose_answer_was_lost_is_looked_for(void **state)
{
    static const struct object_answer answers[] = {
        BEGUN,
        PART("a"),
        PART("b"),
        {.status = "500 Internal Server Error"},
        {.status = "404 Not Found", .body = "<Error><Code>NoSuchUpload</Code></Error>"},
        {.status = "200 OK"}};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(send_bytes(LARGE_BYTES, true), 0);
    require_request(5, "HEAD /bucket/data/name", 0);
    object_server_stop(&server);
}

static void answers_without_sense_are_told(void **state)
{
    static const struct object_answer unnumbered[] = {{.status = "200 OK", .body = "<I></I>"}};
    static const struct object_answer untagged[] = {BEGUN, {.status = "200 OK"}, GONE};
    (void)state;
    start(unnumbered, TR_COUNT_OF(unnumbered));
    assert_int_equal(send_bytes(LARGE_BYTES, true), TR_MALFORMED);
    assert_non_null(strstr(server.call.words, "the server's answer names no upload"));
    object_server_stop(&server);
    start(untagged, TR_COUNT_OF(untagged));
    assert_int_equal(send_bytes(LARGE_BYTES, true), TR_MALFORMED);
    assert_non_null(strstr(server.call.words, "the server's answer has no ETag of a part"));
    object_server_stop(&server);
}

static void what_began_long_ago_is_dropped(void **state)
{
    static const struct object_answer answers[] = {
        {.status = "200 OK",
         .body = "<L><Upload><Key>data/old&amp;</Key><UploadId>1+</UploadId>"
                 "<Initiated>2026-08-20T09:30:00.000Z</Initiated></Upload>"
                 "<Upload><Key>data/young</Key><UploadId>2</UploadId>"
                 "<Initiated>2026-08-20T09:30:02.000Z</Initiated></Upload>"
                 "<Upload><Key>data/odd</Key></Upload></L>"},
        {.status = "404 Not Found"}};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(
        tri_objects_drop_uploads((struct tri_objects *)server.remote, &server.call, 1787218201000),
        0);
    require_request(0, "GET /bucket/?prefix=data%2F&uploads=", 0);
    require_request(1, "DELETE /bucket/data/old%26?uploadId=1%2B", 0);
    object_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_object_is_one_request),
        cmocka_unit_test(one_that_is_given_up_was_never_sent),
        cmocka_unit_test(a_large_object_goes_in_parts),
        cmocka_unit_test(parts_of_what_is_given_up_are_dropped),
        cmocka_unit_test(an_error_in_a_success_is_one),
        cmocka_unit_test(an_end_whose_answer_was_lost_is_looked_for),
        cmocka_unit_test(answers_without_sense_are_told),
        cmocka_unit_test(what_began_long_ago_is_dropped),
    };
    return cmocka_run_group_tests_name("runtime/objects/objects_upload", tests, NULL, NULL);
}
