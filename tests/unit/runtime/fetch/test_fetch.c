/*
 * Downloads by themselves, from a real server: who joins whom, how many there may be, what a server
 * that falls silent costs, and what is left when they are given up.
 *
 * What objects, folders, conditions and kills mean is integration/fetch's.
 */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/fetch/fetch.h"
#include "runtime/fetch/fetch_cache.h"
#include "runtime/fetch/fetch_limits.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/folder.h"
#include "tests/support/http_server.h"
#include "tests/support/test.h"

struct world {
    char folder[64];
    struct tri_blobs *blobs;
    struct tri_fetches *fetches;
    struct http_server server;
};

static char words[TR_BLOB_WORDS_BYTES_MAX];

static int setup(void **state)
{
    static struct world world;
    snprintf(world.folder, sizeof world.folder, "/tmp/troupe-fetch-XXXXXX");
    assert_non_null(mkdtemp(world.folder));
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_int_equal(tri_blobs_open(world.folder, NULL, &world.blobs), 0);
    const struct tri_fetches_options options = {.blobs = world.blobs, .idle_ms = 200};
    assert_int_equal(tri_fetches_new(&options, &world.fetches), 0);
    http_server_start(&world.server, NULL, NULL);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    tri_fetches_free(world->fetches);
    tri_blobs_close(world->blobs);
    http_server_stop(&world->server);
    (void)folder_remove(world->folder);
    return 0;
}

static struct tri_fetch_owner *new_owner(void)
{
    struct tri_fetch_owner *owner = tr_alloc_zero(1, sizeof *owner);
    assert_non_null(owner);
    return owner;
}

static int begin(struct world *world, const char *path, enum tr_path_kind kind)
{
    char uri[128];
    struct tri_fetch_owner *owner = new_owner();
    snprintf(uri, sizeof uri, "http://127.0.0.1:%d%s", world->server.port, path);
    int error = tri_fetch_begin(world->fetches, tr_text_of(uri), kind, owner, words);
    if (error != 0) {
        tr_free(owner);
    }
    return error;
}

/* The next that has ended. */
static struct tri_fetch *next(struct world *world)
{
    struct pollfd one = {.fd = tri_fetches_fd(world->fetches), .events = POLLIN};
    struct tri_fetch *fetch;
    while ((fetch = tri_fetches_next(world->fetches)) == NULL) {
        assert_int_equal(poll(&one, 1, 60000), 1);
    }
    return fetch;
}

/* Finishes the next one, whose error this is, and counts who asked for it. */
static unsigned finish(struct world *world, int expected, struct tri_blob *blob)
{
    struct tri_fetch *fetch = next(world);
    struct tri_fetch_owner *owner;
    unsigned owners = 0;
    assert_int_equal(tri_fetch_finish(fetch, NULL, blob, words), expected);
    while ((owner = tri_fetch_take_owner(fetch)) != NULL) {
        tr_free(owner);
        owners++;
    }
    tri_fetch_free(fetch);
    return owners;
}

static unsigned count_parts(const struct world *world)
{
    char path[128];
    unsigned count = 0;
    const struct dirent *entry;
    snprintf(path, sizeof path, "%s/blobs/.pieces", world->folder);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    closedir(folder);
    return count;
}

static void test_who_asks_for_the_same_joins(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    char uri[128];
    snprintf(uri, sizeof uri, "http://127.0.0.1:%d/chunks/3000000", world->server.port);
    struct tri_fetch_owner *owner = new_owner();
    assert_false(tri_fetch_join(world->fetches, tr_text_of(uri), TR_PATH_FILE, owner));
    assert_int_equal(begin(world, "/chunks/3000000", TR_PATH_FILE), 0);
    assert_true(tri_fetch_join(world->fetches, tr_text_of(uri), TR_PATH_FILE, owner));
    assert_int_equal(begin(world, "/chunks/3000000", TR_PATH_FILE), 0);
    assert_int_equal(finish(world, 0, &blob), 3);
    assert_int_equal(blob.size, 3000000);
    assert_string_equal(strrchr(blob.uri, '-'), "-3000000");
    assert_int_equal(count_parts(world), 0);
}

static void test_there_are_so_many_at_once(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    char path[64];
    for (int i = 0; i < TR_FETCHES_AT_ONCE; i++) {
        assert_true(tri_fetches_has_room(world->fetches));
        snprintf(path, sizeof path, "/bytes/%d", i);
        assert_int_equal(begin(world, path, TR_PATH_FILE), 0);
    }
    assert_false(tri_fetches_has_room(world->fetches));
    assert_int_equal(begin(world, "/bytes/1000", TR_PATH_FILE), TR_BUSY);
    assert_string_equal(words, tr_error_text(TR_BUSY));
    assert_int_equal(begin(world, "/bytes/0", TR_PATH_FILE), 0); /* it joins */
    unsigned owners = 0;
    for (int i = 0; i < TR_FETCHES_AT_ONCE; i++) {
        owners += finish(world, 0, &blob);
    }
    assert_int_equal(owners, TR_FETCHES_AT_ONCE + 1);
    assert_null(tri_fetches_next(world->fetches));
    assert_true(tri_fetches_has_room(world->fetches));
}

static void test_a_silent_server_may_be_asked_again(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    assert_int_equal(begin(world, "/hang", TR_PATH_FILE), 0);
    assert_int_equal(finish(world, TR_NO_CONNECTION, &blob), 1);
    assert_non_null(strstr(words, "the answer was cut off: "));
    assert_int_equal(begin(world, "/broken", TR_PATH_FILE), 0);
    assert_int_equal(finish(world, TR_NO_CONNECTION, &blob), 1);
    assert_int_equal(begin(world, "/garbage", TR_PATH_FILE), 0);
    assert_int_equal(finish(world, TR_NO_CONNECTION, &blob), 1);
    assert_non_null(strstr(words, "no answer: "));
}

static void test_each_status_has_its_error(void **state)
{
    struct world *world = *state;
    static const struct {
        int status;
        int error;
        const char *words;
    } cases[] = {
        {404, TR_NOT_FOUND,
         "status 404, without a secret, as object_stores of the settings has no "
         "entry for it; name an existing file"},
        {410, TR_NOT_FOUND, "status 410"},
        {401, TR_DENIED, "set a secret that may read it under object_stores of the settings"},
        {403, TR_DENIED, "set a secret that may read it under object_stores of the settings"},
        {400, TR_DENIED, "check its endpoint, region and secret"},
        {408, TR_NO_CONNECTION, "status 408"},
        {412, TR_NO_CONNECTION, "status 412"},
        {429, TR_NO_CONNECTION, "status 429"},
        {500, TR_NO_CONNECTION, "status 500"},
        {503, TR_NO_CONNECTION, "status 503"},
        {304, TR_DENIED, "status 304"}, /* which nobody has asked for */
        {416, TR_DENIED, "status 416"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tri_blob blob;
        char path[64];
        snprintf(path, sizeof path, "/status/%d", cases[i].status);
        assert_int_equal(begin(world, path, TR_PATH_FILE), 0);
        assert_int_equal(finish(world, cases[i].error, &blob), 1);
        assert_non_null(strstr(words, cases[i].words));
    }
}

static void test_what_cannot_begin_has_words(void **state)
{
    struct world *world = *state;
    assert_int_equal(begin(world, "/bytes/1", TR_PATH_DIRECTORY), TR_MISMATCH);
    assert_non_null(strstr(words, "web servers have no folders"));
    struct tri_fetch_owner *owner = new_owner();
    assert_int_equal(
        tri_fetch_begin(world->fetches, tr_text_of("s3:///x"), TR_PATH_FILE, owner, words),
        TR_INVALID);
    assert_string_equal(words, "it names no bucket; write s3://BUCKET/KEY");
    assert_int_equal(
        tri_fetch_begin(world->fetches, tr_text_of("s3://x/"), TR_PATH_FILE, owner, words),
        TR_INVALID);
    assert_string_equal(words, "it names a bucket but no object");
    tr_free(owner);
    assert_int_equal(count_parts(world), 0);
    assert_true(tri_fetches_has_room(world->fetches));
}

/* Whoever gives them up hears of none, and what waits for its end is freed. */
static void test_they_end_with_their_thread(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 10; i++) {
        char path[64];
        snprintf(path, sizeof path, "/slow/%d", 60000 + i);
        assert_int_equal(begin(world, path, TR_PATH_FILE), 0);
    }
    tri_fetches_free(world->fetches);
    world->fetches = NULL;
}

static void test_what_is_known_is_about_a_uri_and_its_blob(void **state)
{
    struct world *world = *state;
    struct tri_fetch_cached known = {.tag = "\"a\"", .modified = "Thu"};
    struct tri_fetch_cached read;
    char name[TRI_FETCH_NAME_BYTES];
    char other[TRI_FETCH_NAME_BYTES];
    struct tr_text uri = tr_text_of("s3://b/k");
    struct tr_bytes value = {(const uint8_t *)"some", 4};
    tri_fetch_cache_name(uri, TR_PATH_FILE, name);
    tri_fetch_cache_name(uri, TR_PATH_DIRECTORY, other);
    assert_string_not_equal(name, other);
    tri_fetch_cache_read(world->blobs, name, uri, &read);
    assert_string_equal(read.blob.uri, "");
    assert_int_equal(tri_blob_write(world->blobs, tr_text_of("v"), 0, value, true, &known.blob), 0);
    assert_int_equal(tri_fetch_cache_write(world->blobs, name, uri, &known), 0);
    tri_fetch_cache_read(world->blobs, name, uri, &read);
    assert_string_equal(read.blob.uri, known.blob.uri);
    assert_string_equal(read.tag, "\"a\"");
    assert_string_equal(read.modified, "Thu");
    tri_fetch_cache_read(world->blobs, name, tr_text_of("s3://b/l"), &read);
    assert_string_equal(read.blob.uri, "");
    assert_int_equal(remove(known.blob.path), 0);
    tri_fetch_cache_read(world->blobs, name, uri, &read);
    assert_string_equal(read.blob.uri, "");
    assert_string_equal(read.tag, "");
}

static void test_damaged_documents_are_none(void **state)
{
    struct world *world = *state;
    struct tri_fetch_cached read;
    char name[TRI_FETCH_NAME_BYTES];
    char path[128];
    struct tr_text uri = tr_text_of("s3://b/k");
    static const char *const bytes[] = {"", "\x01", "\x01\x90", "\xff\x94", "nonsense"};
    tri_fetch_cache_name(uri, TR_PATH_FILE, name);
    snprintf(path, sizeof path, TR_STORE_FETCHED "/%.2s/%s", name, name);
    for (size_t i = 0; i < TR_COUNT_OF(bytes); i++) {
        struct tr_bytes document = {(const uint8_t *)bytes[i], strlen(bytes[i])};
        assert_int_equal(tri_document_put(world->blobs, tr_text_of(path), document), 0);
        tri_fetch_cache_read(world->blobs, name, uri, &read);
        assert_string_equal(read.blob.uri, "");
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_who_asks_for_the_same_joins),
        TEST(test_there_are_so_many_at_once),
        TEST(test_a_silent_server_may_be_asked_again),
        TEST(test_each_status_has_its_error),
        TEST(test_what_cannot_begin_has_words),
        TEST(test_they_end_with_their_thread),
        TEST(test_what_is_known_is_about_a_uri_and_its_blob),
        TEST(test_damaged_documents_are_none),
    };
#undef TEST
    return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
