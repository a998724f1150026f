/*
 * URIs of blobs, as they are and as older stores have them; nothing else is taken for one.
 */
#include "schemas/runtime/blob_uri.h"

#include "tests/support/test.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_uri_names_its_blob(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"blob:" DIGEST, DIGEST},
        {"blob:" DIGEST "-report.csv", DIGEST "-report.csv"},
        {"blob:" DIGEST "-folder/a/b", DIGEST "-folder/a/b"},
        {"blob:" DIGEST "/a", DIGEST "/a"},
        {DIGEST, ""},
        {"blob:", ""},
        {"", ""},
        {"blob:0123", ""},
        {"blob:" DIGEST "0", ""},
        {"blob:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", ""},
        {"/blobs/" DIGEST, ""},
        {"see blob:" DIGEST, ""},
    };
    for (size_t i = 0; i < TR_COUNT_OF(pairs); i++) {
        struct tr_text name = tr_blob_uri_name(tr_text_of(pairs[i][0]));
        assert_true(tr_text_equal(name, tr_text_of(pairs[i][1])));
    }
    assert_int_equal(tr_blob_uri_name((struct tr_text){"blob:" DIGEST "-a\0b", 73}).size, 0);
}

static void an_old_path_names_its_blob(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"/store/blobs/" DIGEST, DIGEST},
        {"/store/blobs/" DIGEST "-x.txt", DIGEST "-x.txt"},
        {"file:///store/blobs/" DIGEST "-x.txt", DIGEST "-x.txt"},
        {"/a/blobs/b/blobs/" DIGEST "/in", DIGEST "/in"},
        {"/blobs/" DIGEST "-x/blobs/y", DIGEST "-x/blobs/y"},
        {"/store/blobs/", ""},
        {"/store/blobs/12", ""},
        {"/store/" DIGEST, ""},
        {"blob:" DIGEST, ""},
        {"", ""},
    };
    for (size_t i = 0; i < TR_COUNT_OF(pairs); i++) {
        struct tr_text name = tr_blob_path_name(tr_text_of(pairs[i][0]));
        assert_true(tr_text_equal(name, tr_text_of(pairs[i][1])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uri_names_its_blob),
        cmocka_unit_test(an_old_path_names_its_blob),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
