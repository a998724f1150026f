/*
 * The tables of records, as people see them who query the store with SQL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "tests/unit/runtime/stand.h"

static void expect_sql(const struct stand *stand, const char *sql, const char *expected)
{
    char path[128];
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    struct tri_store_options options = stand_options(stand);
    stand_path(stand, "troupe.db", path, sizeof path);
    assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, options.vfs),
                     SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const char *text = (const char *)sqlite3_column_text(statement, 0);
    assert_string_equal(text != NULL ? text : "NULL", expected);
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

static void test_records_have_readable_columns(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_DISK);
    struct tri_store *store = stand_open(stand);
    struct tr_wide wide = {
        .truth = true,
        .tiny = 255,
        .small = 65535,
        .middling = UINT32_MAX,
        .large = UINT64_MAX,
        .below = INT64_MIN,
        .real = 0.5,
        .who = {3, 4},
        .whom = {{5, 6}, 7},
        .words = tr_text_of("w\xc3\xb6rter"),
        .blob = {.data = (const uint8_t *)"\0\1\2", .size = 3},
        .secret = tr_text_of("kept"),
    };
    assert_int_equal(tr_array_set(&wide.label, tr_text_of("label")), 0);
    assert_int_equal(tr_array_set(&wide.digest, tr_text_of("\xff\xfe")), 0);
    struct tr_wide empty = {.real = __builtin_nan("")};
    uint8_t buffers[2][512];
    struct tri_op records[2];
    const struct tr_wide *rows[] = {&wide, &empty};
    for (size_t i = 0; i < 2; i++) {
        struct tr_writer writer = tr_writer_of(buffers[i], sizeof buffers[i]);
        assert_int_equal(tr_wide_pack(rows[i], &writer), 0);
        records[i] = (struct tri_op){.kind = TRI_OP_PUT_RECORD,
                                     .type = tr_wide_schema.id,
                                     .incarnation = 1,
                                     .number = i,
                                     .data = {buffers[i], tr_writer_size(&writer)}};
    }
    assert_int_equal(stand_commit(store, 1, records, 2), 0);
    expect_sql(stand, "SELECT group_concat(name) FROM pragma_table_info('record_wide')",
               "record_id,truth,tiny,small,middling,large,below,real,who_group,who_serial,"
               "whom_group,whom_serial,whom_incarnation,words,blob,tree,secret,label,digest");
    expect_sql(stand,
               "SELECT truth || ' ' || tiny || ' ' || small || ' ' || middling || ' ' || large ||"
               " ' ' || below || ' ' || real FROM record_wide WHERE record_id = 1",
               "1 255 65535 4294967295 -1 -9223372036854775808 0.5");
    expect_sql(stand,
               "SELECT who_group || who_serial || whom_group || whom_serial || whom_incarnation ||"
               " words || hex(blob) || hex(tree) || secret || label || hex(digest)"
               " FROM record_wide WHERE record_id = 1",
               "34567w\xc3\xb6rter000102C0keptlabelFFFE");
    expect_sql(stand,
               "SELECT typeof(real) || typeof(words) || length(words) || typeof(blob) ||"
               " length(blob) || typeof(label) || truth FROM record_wide WHERE record_id = 2",
               "nulltext0blob0text0");
    tri_store_close(store);
    stand_free(stand);
}

/* The table of a record with a key is in its order, and finds rows by its front. */
static void test_a_key_is_the_primary_key(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_DISK);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_door(2, 1, "b", "bob"), op_door(1, 9, "a", "ann")), 0);
    expect_sql(stand, "SELECT group_concat(name || pk) FROM pragma_table_info('record_door')",
               "house1,floor_group2,floor_serial3,floor_incarnation4,door5,who0,visits0");
    expect_sql(stand, "SELECT group_concat(who) FROM record_door", "ann,bob");
    expect_sql(stand,
               "SELECT sql LIKE '% WITHOUT ROWID' FROM sqlite_schema"
               " WHERE name = 'record_door'",
               "1");
    tri_store_close(store);
    stand_free(stand);
}

static void test_new_columns_begin_with_zeros(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_DISK);
    const struct tr_schema *old_records[] = {stand_grown_old()};
    struct tri_store_options options = stand_options(stand);
    options.records = old_records;
    options.record_count = 1;
    struct tri_store *store = NULL;
    uint8_t buffers[3][128];
    assert_int_equal(stand_try(stand, &options, NULL, &store), 0);
    assert_int_equal(COMMIT(store, 1, op_grown(1, 1, "first", buffers[0], 128)), 0);
    tri_store_close(store);
    for (int i = 0; i < 2; i++) {
        store = stand_open(stand); /* the second time there is nothing left to add */
        tri_store_close(store);
    }
    store = stand_open(stand);
    assert_int_equal(COMMIT(store, 2, op_grown(1, 2, "second", buffers[0], 128),
                            op_grown(2, 3, "third", buffers[1], 128)),
                     0);
    expect_sql(stand,
               "SELECT group_concat(number || what || why || group_group || group_serial ||"
               " group_incarnation || share, ' ') FROM record_grown",
               "1first0000.0 2second0000.0 3thirdso0000.0");
    tri_store_close(store);
    stand_free(stand);
}

/* A record of one field less than a table can have columns, and of one more. */
#define FIELDS_10(FIELD, x) \
    FIELD(ref, x##0, 1, 0)  \
    FIELD(ref, x##1, 1, 0)  \
    FIELD(ref, x##2, 1, 0)  \
    FIELD(ref, x##3, 1, 0)  \
    FIELD(ref, x##4, 1, 0)  \
    FIELD(ref, x##5, 1, 0)  \
    FIELD(ref, x##6, 1, 0) FIELD(ref, x##7, 1, 0) FIELD(ref, x##8, 1, 0) FIELD(ref, x##9, 1, 0)
#define TR_TOO_WIDE_FIELDS(FIELD, ARRAY) FIELDS_10(FIELD, a) FIELDS_10(FIELD, b) FIELDS_10(FIELD, c)
TR_SCHEMA_DECLARE(too_wide, TR_TOO_WIDE_FIELDS)
TR_SCHEMA_DEFINE(too_wide, 903, TR_RECORD, 1, 0, TR_TOO_WIDE_FIELDS)

static void test_columns_have_a_limit(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_DISK);
    const struct tr_schema *records[] = {&tr_too_wide_schema};
    struct tri_store_options options = stand_options(stand);
    options.records = records;
    options.record_count = 1;
    struct tri_store *store = NULL;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_LIMIT);
    assert_non_null(strstr(explain, "TR_RECORD_COLUMNS_MAX"));
    stand_free(stand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_have_readable_columns),
        cmocka_unit_test(test_a_key_is_the_primary_key),
        cmocka_unit_test(test_new_columns_begin_with_zeros),
        cmocka_unit_test(test_columns_have_a_limit),
    };
    return cmocka_run_group_tests_name("sqlite_record", tests, NULL, NULL);
}
