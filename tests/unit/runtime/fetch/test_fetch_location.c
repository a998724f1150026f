/*
 * Where URIs lead: URLs, keys, and which entry of the settings is for one.
 */
#include "runtime/fetch/fetch_location.h"

#include <string.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

static struct tri_fetch_location location;

static void find(const struct tr_object_store *stores, size_t count, const char *uri)
{
    assert_int_equal(tri_fetch_location_find(stores, count, tr_text_of(uri), &location), 0);
}

static void require_url(const char *expected)
{
    struct tri_buffer url = {0};
    assert_int_equal(tri_fetch_location_url(&location, location.key, &url), 0);
    assert_int_equal(tri_buffer_append(&url, "", 1), 0);
    assert_string_equal((const char *)tri_buffer_front(&url), expected);
    tri_buffer_fini(&url);
}

static void require_list(const char *prefix, const char *next, const char *expected)
{
    struct tri_buffer url = {0};
    assert_int_equal(tri_fetch_location_list(&location, tr_text_of(prefix), tr_text_of(next), &url),
                     0);
    assert_int_equal(tri_buffer_append(&url, "", 1), 0);
    assert_string_equal((const char *)tri_buffer_front(&url), expected);
    tri_buffer_fini(&url);
}

static void test_each_scheme_has_its_own_endpoint(void **state)
{
    (void)state;
    find(NULL, 0, "s3://bucket/a/b");
    require_url("https://s3.us-east-1.amazonaws.com/bucket/a/b");
    find(NULL, 0, "gs://bucket/a/b");
    require_url("https://storage.googleapis.com/bucket/a/b");
    assert_true(tr_text_equal(location.region, tr_text_of("auto")));
    find(NULL, 0, "https://host/a%20b?c=d#e");
    require_url("https://host/a%20b?c=d#e");
    assert_int_equal(location.bucket.size, 0);
}

static void test_keys_stand_as_they_are_and_are_encoded(void **state)
{
    (void)state;
    find(NULL, 0, "gs://b/a b/%20+?#\xc3\xa4/..");
    require_url("https://storage.googleapis.com/b/a%20b/%2520%2B%3F%23%C3%A4/..");
    require_list("a b/", "", "https://storage.googleapis.com/b?list-type=2&prefix=a%20b%2F");
    require_list("", "x=/",
                 "https://storage.googleapis.com/b?continuation-token=x%3D%2F"
                 "&list-type=2&prefix=");
}

static void test_the_longest_beginning_counts(void **state)
{
    (void)state;
    static const struct tr_object_store stores[] = {
        {.uri = {"s3://", 5}, .endpoint = {"http://all", 10}},
        {.uri = {"s3://one", 8}, .region = {"eu-1", 4}},
        {.uri = {"s3://two/sub/", 13}, .endpoint = {"http://sub", 10}},
        {.uri = {"https://host/x", 14}},
    };
    static const struct {
        const char *uri;
        int store; /* -1: none */
    } cases[] = {{"s3://three/a", 0},     {"s3://one/a", 1},     {"s3://one", 1},
                 {"s3://oneself/a", 0},   {"s3://two/sub/a", 2}, {"s3://two/subway", 0},
                 {"gs://one/a", -1},      {"https://host/x", 3}, {"https://host/x/y", 3},
                 {"https://host/xy", -1}, {"https://host/y", -1}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        find(stores, TR_COUNT_OF(stores), cases[i].uri);
        assert_ptr_equal(location.store, cases[i].store < 0 ? NULL : &stores[cases[i].store]);
    }
    find(stores, TR_COUNT_OF(stores), "s3://one/a");
    require_url("https://s3.eu-1.amazonaws.com/one/a");
    find(stores, TR_COUNT_OF(stores), "s3://three/a");
    require_url("http://all/three/a");
}

static void test_what_is_fetched_at_all(void **state)
{
    (void)state;
    static const char *const yes[] = {"s3://b/k", "gs://b/k", "http://h/", "https://h/"};
    static const char *const no[] = {"/a/b", "file:///a", "ftp://h/a", "S3://b/k", "s3:/b", ""};
    for (size_t i = 0; i < TR_COUNT_OF(yes); i++) {
        assert_true(tri_fetch_location_is_supported(tr_text_of(yes[i])));
    }
    for (size_t i = 0; i < TR_COUNT_OF(no); i++) {
        assert_false(tri_fetch_location_is_supported(tr_text_of(no[i])));
    }
    assert_int_equal(tri_fetch_location_find(NULL, 0, tr_text_of("s3:///k"), &location),
                     TR_INVALID);
    assert_int_equal(tri_fetch_location_find(NULL, 0, tr_text_of("s3://"), &location), TR_INVALID);
}

static void require_signer(const char *uri, const struct tr_object_store *store,
                           const char *expected)
{
    char words[TRI_FETCH_SIGNER_BYTES];
    find(store, 1, uri);
    assert_string_equal(tri_fetch_location_signer(&location, words), expected);
}

static void test_who_signs_is_told(void **state)
{
    (void)state;
    struct tr_object_store store = {.uri = {"s3://", 5}};
    require_signer("gs://b/k", &store,
                   "without a secret, as object_stores of the settings has no entry for it");
    require_signer("s3://b/k", &store,
                   "without a secret, as its entry under object_stores has none");
    store.secret = (struct tr_http_secret){
        .kind = TR_HTTP_SECRET_SIGN, .group = {"store", 5}, .key = {"key", 3}};
    require_signer("s3://b/k", &store, "signed with the secret store/key");
    store.secret.kind = TR_HTTP_SECRET_PLAIN;
    require_signer("s3://b/k", &store, "with the secret store/key");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_scheme_has_its_own_endpoint),
        cmocka_unit_test(test_keys_stand_as_they_are_and_are_encoded),
        cmocka_unit_test(test_the_longest_beginning_counts),
        cmocka_unit_test(test_what_is_fetched_at_all),
        cmocka_unit_test(test_who_signs_is_told),
    };
    return cmocka_run_group_tests_name("fetch_location", tests, NULL, NULL);
}
