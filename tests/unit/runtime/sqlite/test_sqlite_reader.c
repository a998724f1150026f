/*
 * What is a reader's of SQLite alone: columns that hold values of another type, which any column of
 * its may, and files of other programs. What holds for every reader is in journal/test_reader.c.
 */
#include <stdio.h>
#include <string.h>

#include "tests/unit/runtime/stand.h"

static void put_wide(struct tri_store *store, uint64_t number, const struct tr_wide *wide)
{
    uint8_t buffer[512];
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_wide_pack(wide, &writer), 0);
    struct tri_op op = {.kind = TRI_OP_PUT_RECORD,
                        .type = tr_wide_schema.id,
                        .incarnation = 1,
                        .data = {buffer, tr_writer_size(&writer)}};
    assert_int_equal(stand_commit(store, number, &op, 1), 0);
}

static int any_row(void *self, const void *row)
{
    (void)self;
    (void)row;
    return 0;
}

static void test_values_of_another_type_are_damage(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        const char *words;
    } harms[] = {
        {"UPDATE record_wide SET small = 'x'", "field small"},
        {"UPDATE record_wide SET real = 'x'", "field real"},
        {"UPDATE record_wide SET words = x'00'", "field words"},
        {"UPDATE record_wide SET blob = 'text'", "field blob"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(harms); i++) {
        struct stand *stand = stand_new(STAND_FOLDER);
        struct tri_store *store = stand_open(stand);
        put_wide(store, 1, &(struct tr_wide){.tiny = 1});
        tri_store_close(store);
        stand_spoil(stand, harms[i].sql);
        struct tr_reader *reader = stand_read(stand);
        struct tr_reader_query query = {.record = &tr_wide_schema};
        assert_int_equal(tr_reader_rows(reader, &query, any_row, NULL), TR_STORE_DAMAGED);
        if (strstr(tr_reader_explain(reader), harms[i].words) == NULL) {
            fail_msg("%s: %s", harms[i].sql, tr_reader_explain(reader));
        }
        tr_reader_close(reader);
        stand_free(stand);
    }
}

static void test_a_file_of_others_is_refused(void **state)
{
    (void)state;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_reader *reader = NULL;
    struct stand *stand = stand_new(STAND_FOLDER);
    stand_spoil(stand, "CREATE TABLE theirs(x)");
    assert_int_equal(stand_try_read(stand, NULL, 0, explain, &reader), TR_STORE_FOREIGN);
    assert_non_null(strstr(explain, "another program's"));
    stand_free(stand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_another_type_are_damage),
        cmocka_unit_test(test_a_file_of_others_is_refused),
    };
    return cmocka_run_group_tests_name("sqlite_reader", tests, NULL, NULL);
}
