/*
 * Places in an object store: which there are, what keys their objects have, how lists of them are
 * gone through, and what says whose they are.
 */
#include "runtime/objects/objects.h"

#include <stdio.h>
#include <string.h>

#include "runtime/objects/objects_inside.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"
#include "tests/unit/runtime/objects/object_server.h"

#define PAGE(next, objects) "<ListBucketResult>" next objects "</ListBucketResult>"
#define OBJECT(key, size)                                                               \
    "<Contents><Key>" key "</Key><LastModified>2026-08-20T09:30:00.000Z</LastModified>" \
    "<Size>" size "</Size></Contents>"
#define MORE(token) "<NextContinuationToken>" token "</NextContinuationToken>"
#define NO_UPLOADS "<ListMultipartUploadsResult></ListMultipartUploadsResult>"

static struct object_server server;

static void start(const struct object_answer *answers, size_t count)
{
    object_server_start(&server, "s3://bucket/teams/data", answers, count);
}

static void require_request(size_t number, const char *expected)
{
    assert_string_equal(object_server_request(&server, number)->line, expected);
}

static void some_uris_are_places(void **state)
{
    static const struct {
        const char *uri;
        bool is_place;
    } cases[] = {
        {"s3://bucket", true},      {"s3://bucket/", true},     {"s3://a.b-9/x/y/", true},
        {"s3://ab", false},         {"s3://Bucket/x", false},   {"s3://bucket//x", false},
        {"s3://bucket/x//", false}, {"s3://bucket/a b", false}, {"s3://", false},
        {"gs://bucket/x", false},   {"/srv/blobs", false},      {"", false},
    };
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tri_blob_remote *remote = NULL;
        const struct tri_objects_options options = {.uri = tr_text_of(cases[i].uri),
                                                    .digits = OBJECT_STORE_DIGITS};
        assert_int_equal(tri_objects_is_uri(options.uri), cases[i].is_place);
        assert_int_equal(tri_objects_new(&options, &remote), cases[i].is_place ? 0 : TR_INVALID);
        if (remote != NULL) {
            remote->ops->free(remote);
        }
    }
}

static void keys_are_behind_the_prefix(void **state)
{
    static const char *const cases[][2] = {{"s3://bucket", "name"},
                                           {"s3://bucket/", "name"},
                                           {"s3://bucket/a/b", "a/b/name"},
                                           {"s3://bucket/a/b/", "a/b/name"}};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        char key[TRI_OBJECTS_KEY_BYTES];
        struct tri_blob_remote *remote;
        const struct tri_objects_options options = {.uri = tr_text_of(cases[i][0]),
                                                    .digits = OBJECT_STORE_DIGITS};
        assert_int_equal(tri_objects_new(&options, &remote), 0);
        (void)tri_objects_key((struct tri_objects *)remote, "name", key);
        assert_string_equal(key, cases[i][1]);
        remote->ops->free(remote);
    }
}

/* The names of objects, one after the other. */
struct names {
    char text[200];
    uint64_t bytes;
    unsigned most; /* after so many it is enough */
};

static int add_name(void *self, const struct tri_blob_object *object)
{
    struct names *names = self;
    size_t size = strlen(names->text);
    snprintf(names->text + size, sizeof names->text - size, "%s ", object->name);
    assert_int_equal(object->changed_ms, 1787218200000);
    names->bytes += object->size;
    return --names->most == 0 ? TR_EXISTS : 0;
}

static int list(struct names *names)
{
    return server.remote->ops->each(server.remote, &server.call, add_name, names);
}

static void a_list_goes_on_until_its_last_page(void **state)
{
    static const struct object_answer answers[] = {
        {.status = "200 OK",
         .body = PAGE(MORE("a/b="), OBJECT("teams/data/one", "5") OBJECT("teams/data/x/y", "1"))},
        {.status = "200 OK", .body = PAGE("", OBJECT("teams/data/&lt;two&gt;", "7"))}};
    struct names names = {.most = 100};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(list(&names), 0);
    assert_string_equal(names.text, "one <two> "); /* what is below is another's */
    assert_int_equal(names.bytes, 12);
    require_request(0, "GET /bucket/?list-type=2&prefix=teams%2Fdata%2F");
    require_request(1,
                    "GET /bucket/?continuation-token=a%2Fb%3D&list-type=2&prefix=teams%2Fdata%2F");
    object_server_stop(&server);
}

static void a_list_ends_when_it_is_enough(void **state)
{
    static const struct object_answer answers[] = {
        {.status = "200 OK",
         .body = PAGE(MORE("next"), OBJECT("teams/data/one", "5") OBJECT("teams/data/two", "1"))}};
    struct names names = {.most = 1};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(list(&names), TR_EXISTS);
    assert_string_equal(names.text, "one ");
    object_server_stop(&server);
}

static void an_answer_that_is_no_list_is_told(void **state)
{
    static const struct object_answer answers[] = {
        {.status = "200 OK", .body = "<html>welcome</html>"}};
    struct names names = {.most = 100};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(list(&names), TR_MALFORMED);
    assert_non_null(strstr(server.call.words, "the server's answer is no list of objects; set the "
                                              "endpoint of an object store of S3's kind under "
                                              "object_stores of the settings"));
    assert_non_null(strstr(server.call.words, "GET http://127.0.0.1:"));
    object_server_stop(&server);
}

static void a_mark_says_whose_the_blobs_are(void **state)
{
    static const struct object_answer answers[] = {{.status = "200 OK"}};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(tri_objects_mark(server.remote, &server.call, tr_text_of("/srv/store")), 0);
    require_request(0, "PUT /bucket/teams/data/.store-" OBJECT_STORE_DIGITS);
    assert_string_equal(object_server_request(&server, 0)->body, "/srv/store");
    object_server_stop(&server);
}

static void nothing_is_cleaned_beside_another_store(void **state)
{
    static const struct object_answer answers[] = {
        {.status = "200 OK",
         .body = PAGE("", OBJECT("teams/data/.store-" OBJECT_STORE_DIGITS, "1")
                              OBJECT("teams/data/.store-ffffffffffffffff", "1"))}};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(server.remote->ops->clean(server.remote, &server.call, 1), TR_BUSY);
    require_request(0, "GET /bucket/?list-type=2&prefix=teams%2Fdata%2F.store-");
    assert_string_equal(server.call.words,
                        "s3://bucket/teams/data holds blobs of another store, too, and nothing is "
                        "removed there; give each store a prefix of its own, or remove "
                        ".store-ffffffffffffffff there if that store is gone");
    object_server_stop(&server);
}

static void a_store_alone_cleans(void **state)
{
    static const struct object_answer answers[] = {
        {.status = "200 OK",
         .body = PAGE("", OBJECT("teams/data/.store-" OBJECT_STORE_DIGITS, "1"))},
        {.status = "200 OK", .body = NO_UPLOADS}};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(server.remote->ops->clean(server.remote, &server.call, 1), 0);
    require_request(1, "GET /bucket/?prefix=teams%2Fdata%2F&uploads=");
    object_server_stop(&server);
}

static void what_is_missing_need_not_be_removed(void **state)
{
    static const struct object_answer answers[] = {{.status = "404 Not Found"},
                                                   {.status = "204 No Content"}};
    (void)state;
    start(answers, TR_COUNT_OF(answers));
    assert_int_equal(server.remote->ops->remove(server.remote, &server.call, "a b"), 0);
    assert_int_equal(server.remote->ops->remove(server.remote, &server.call, "c"), 0);
    require_request(0, "DELETE /bucket/teams/data/a%20b");
    object_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_uris_are_places),
        cmocka_unit_test(keys_are_behind_the_prefix),
        cmocka_unit_test(a_list_goes_on_until_its_last_page),
        cmocka_unit_test(a_list_ends_when_it_is_enough),
        cmocka_unit_test(an_answer_that_is_no_list_is_told),
        cmocka_unit_test(a_mark_says_whose_the_blobs_are),
        cmocka_unit_test(nothing_is_cleaned_beside_another_store),
        cmocka_unit_test(a_store_alone_cleans),
        cmocka_unit_test(what_is_missing_need_not_be_removed),
    };
    return cmocka_run_group_tests_name("runtime/objects/objects", tests, NULL, NULL);
}
