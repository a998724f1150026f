/*
 * Paths in values: of this machine or not, an attempt's own, kept, and what a wrong one is called.
 */
#include "actors/values/path.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

#define ATTEMPT "it/it-n0-abc-0"

static const struct tr_type of_file = {.kind = TR_TYPE_FILE};
static const struct tr_type of_directory = {.kind = TR_TYPE_DIRECTORY};
static const struct tr_type of_dataset = {.kind = TR_TYPE_DATASET};
static const struct tr_type of_struct = {.kind = TR_TYPE_STRUCT};

static struct tri_path path_of(const char *uri, const struct tr_type *type)
{
    return (struct tri_path){.uri = tr_text_of(uri), .type = type};
}

static void test_paths_of_this_machine(void **state)
{
    (void)state;
    static const struct {
        const char *uri;
        const char *local; /* NULL: it is none of this machine */
    } rows[] = {{"/a/b", "/a/b"}, {"file:///a/b", "/a/b"}, {"s3://bucket/a", NULL},
                {"a/b", NULL},    {"file://", NULL},       {"", NULL}};
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_text uri = tr_text_of(rows[i].uri);
        struct tr_text wanted = tr_text_of(rows[i].local == NULL ? rows[i].uri : rows[i].local);
        assert_int_equal(tri_path_is_local(uri), rows[i].local != NULL);
        assert_true(tr_text_equal(tri_path_local(uri), wanted));
    }
}

static void test_what_is_an_attempts_own(void **state)
{
    (void)state;
    static const struct {
        const char *uri;
        const struct tr_type *type;
        bool is_own;
    } rows[] = {
        {"/store/attempts/it-n0-abc-0/work/x", &of_file, true},
        {"file:///store/attempts/it-n0-abc-0/outputs", &of_file, true},
        {"/store/attempts/it-n0-abc-0", &of_directory, false},
        {"/store/attempts/it-n0-abc-01/x", &of_file, false},
        {"/store/attempts/xit-n0-abc-0/x", &of_file, false},
        {"s3://bucket/it-n0-abc-0/x", &of_file, false},
        {"/store/attempts/it-n0-abc-0/work/x", &of_struct, true},
        {"/store/attempts/it-n0-abc-0/outputs", &of_struct, false},
        {"/store/attempts/it-n0-abc-0/work/", &of_struct, false},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tri_path path = path_of(rows[i].uri, rows[i].type);
        assert_int_equal(tri_path_is_own(&path, tr_text_of(ATTEMPT)), rows[i].is_own);
    }
}

/* Declared files wherever they lie; a dataset and a text in a struct where they are its own. */
static void test_what_is_kept(void **state)
{
    (void)state;
    static const struct tr_type *const types[] = {&of_file, &of_directory, &of_dataset, &of_struct};
    for (size_t i = 0; i < TR_COUNT_OF(types); i++) {
        struct tri_path own = path_of("/a/it-n0-abc-0/work/x", types[i]);
        struct tri_path other = path_of("/somewhere/x", types[i]);
        struct tri_path away = path_of("s3://bucket/it-n0-abc-0/work/x", types[i]);
        assert_true(tri_path_is_kept(&own, tr_text_of(ATTEMPT)));
        assert_int_equal(tri_path_is_kept(&other, tr_text_of(ATTEMPT)), i < 2);
        assert_false(tri_path_is_kept(&away, tr_text_of(ATTEMPT)));
    }
}

/* A blob is kept as what it is wherever it stands; and so is one that an older store has named. */
static void test_what_a_blob_is(void **state)
{
    (void)state;
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    static const struct {
        const char *uri;
        bool is_blob;
        bool is_kept; /* as a text in a struct */
    } rows[] = {
        {"blob:" DIGEST "-x", true, false},
        {"/store/blobs/" DIGEST "-x", true, true},
        {"file:///store/blobs/" DIGEST, true, true},
        {"s3://bucket/blobs/" DIGEST, false, false},
        {"/store/blobs/x", false, false},
        {"blob:x", false, false},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tri_path text = path_of(rows[i].uri, &of_struct);
        struct tri_path file = path_of(rows[i].uri, &of_file);
        assert_int_equal(tri_path_is_blob(tr_text_of(rows[i].uri)), rows[i].is_blob);
        assert_int_equal(tri_path_is_kept(&text, tr_text_of(ATTEMPT)), rows[i].is_kept);
        assert_false(tri_path_is_declared(&text));
        assert_true(tri_path_is_declared(&file));
    }
#undef DIGEST
}

static void test_only_a_text_in_a_struct_may_stay(void **state)
{
    (void)state;
    struct tri_path text = path_of("/a", &of_struct);
    struct tri_path file = path_of("/a", &of_file);
    assert_true(tri_path_may_stay(&text, TR_NOT_FOUND));
    assert_false(tri_path_may_stay(&text, TR_OUTSIDE));
    assert_false(tri_path_may_stay(&file, TR_NOT_FOUND));
}

static void test_kinds_and_failures(void **state)
{
    (void)state;
    assert_int_equal(tri_path_kind(&of_file), TR_PATH_FILE);
    assert_int_equal(tri_path_kind(&of_directory), TR_PATH_DIRECTORY);
    assert_int_equal(tri_path_kind(&of_dataset), TR_PATH_ANY);
    assert_string_equal(tri_path_failure(TR_OUTSIDE), "OutputNotAllowed");
    assert_string_equal(tri_path_failure(TR_MISMATCH), "MismatchingTypes");
    assert_string_equal(tri_path_failure(TR_NOT_FOUND), "OutputsNotFound");
    assert_null(tri_path_failure(TR_SYSTEM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_of_this_machine),
        cmocka_unit_test(test_what_is_an_attempts_own),
        cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_what_a_blob_is),
        cmocka_unit_test(test_only_a_text_in_a_struct_may_stay),
        cmocka_unit_test(test_kinds_and_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
