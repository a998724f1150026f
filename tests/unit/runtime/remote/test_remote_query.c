/*
 * Queries of a reader that cross a network: the same on the other side, and refused where they are
 * none.
 */
#include "runtime/remote/remote_query.h"

#include <string.h>

#include "schemas/engine/history.h"
#include "tests/support/test.h"

static const struct tr_schema *const records[] = {&tr_execution_schema, &tr_attempt_schema};
static uint8_t room[TRI_REMOTE_QUERY_BYTES];
static struct tri_remote_query came;

static int cross(const struct tr_reader_query *query)
{
    struct tr_read_rows read;
    int error = tri_remote_query_pack(query, false, room, &read);
    return error != 0 ? error
                      : tri_remote_query_unpack(&read, records, TR_COUNT_OF(records), &came);
}

static void test_a_query_is_the_same_there(void **state)
{
    (void)state;
    const struct tr_reader_filter own[] = {
        tr_filter_number("phase", TR_FILTER_EQUAL, 2),
        tr_filter_text("name", TR_FILTER_GLOB, tr_text_of("a*"))};
    const struct tr_reader_filter others[] = {tr_filter_number("attempt", TR_FILTER_LESS, 3)};
    const struct tr_reader_related related = {
        .record = &tr_attempt_schema, .filters = others, .filter_count = 1, .is_absent = true};
    const struct tr_reader_query query = {
        .record = &tr_execution_schema,
        .filters = own,
        .filter_count = 2,
        .related = &related,
        .related_count = 1,
        .order = {{.field = "ended_ms", .is_descending = true, .since = "started_ms", .now_ms = 7}},
        .skip = 3,
        .limit = 9};
    assert_int_equal(cross(&query), 0);
    assert_ptr_equal(came.query.record, &tr_execution_schema);
    assert_int_equal(came.query.filter_count, 2);
    assert_string_equal(came.query.filters[1].field, "name");
    assert_int_equal(came.query.filters[1].op, TR_FILTER_GLOB);
    assert_memory_equal(came.query.filters[1].text.data, "a*", 2);
    assert_int_equal(came.query.related_count, 1);
    assert_ptr_equal(came.query.related[0].record, &tr_attempt_schema);
    assert_true(came.query.related[0].is_absent);
    assert_int_equal(came.query.related[0].filters[0].number, 3);
    assert_string_equal(came.query.order[0].since, "started_ms");
    assert_null(came.query.order[1].field);
    assert_int_equal(came.query.skip, 3);
    assert_int_equal(came.query.limit, 9);
}

static void test_what_is_no_query_is_refused(void **state)
{
    (void)state;
    const struct tr_reader_filter odd = tr_filter_number("nothing", TR_FILTER_EQUAL, 2);
    struct tr_reader_query query = {
        .record = &tr_execution_schema, .filters = &odd, .filter_count = 1};
    assert_int_equal(cross(&query), TR_INVALID);
    query = (struct tr_reader_query){.record = &tr_phase_schema};
    assert_int_equal(cross(&query), TR_UNKNOWN_TYPE);
    query = (struct tr_reader_query){.record = &tr_execution_schema, .order = {{.field = "odd"}}};
    assert_int_equal(cross(&query), TR_INVALID);
    struct tr_reader_filter many[TRI_REMOTE_FILTERS_MAX + 1];
    for (size_t i = 0; i < TR_COUNT_OF(many); i++) {
        many[i] = tr_filter_number("phase", TR_FILTER_EQUAL, i);
    }
    query = (struct tr_reader_query){
        .record = &tr_execution_schema, .filters = many, .filter_count = TR_COUNT_OF(many)};
    assert_int_equal(cross(&query), TR_INVALID);
}

static void test_an_object_is_the_same_there(void **state)
{
    (void)state;
    static const uint8_t data[] = {1, 2, 3};
    struct tri_op op = {.kind = TRI_OP_PUT_ACTOR,
                        .type = 5,
                        .key = {7, 8},
                        .incarnation = 9,
                        .number = UINT64_MAX,
                        .data = {.data = data, .size = sizeof data}};
    struct tri_op back;
    struct tr_writer writer = tr_writer_of(room, sizeof room);
    tri_remote_op_write(&op, &writer);
    struct tr_cursor cursor =
        tr_cursor_of((struct tr_bytes){.data = room, .size = tr_writer_size(&writer)});
    tri_remote_op_read(&cursor, &back);
    assert_int_equal(cursor.error, 0);
    assert_int_equal(back.kind, op.kind);
    assert_int_equal(back.number, op.number);
    assert_memory_equal(back.data.data, data, sizeof data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_query_is_the_same_there),
        cmocka_unit_test(test_what_is_no_query_is_refused),
        cmocka_unit_test(test_an_object_is_the_same_there),
    };
    return cmocka_run_group_tests_name("remote_query", tests, NULL, NULL);
}
