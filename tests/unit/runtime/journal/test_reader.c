/*
 * Reading records back from each database: every kind of field, filters, orders, one moment beside
 * a live engine, tables older than the program, and tables that hold what they cannot.
 */
#include "runtime/journal/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/runtime/stand.h"

/* More queries than any back end keeps prepared. */
#define MANY_QUERIES 128

/* Names of doors as they come, each with a blank behind it. */
struct names {
    char text[512];
    size_t size;
    size_t most; /* then the reading ends */
    size_t count;
};

static int note_door(void *self, const void *row)
{
    struct names *names = self;
    const struct tr_door *door = row;
    names->size += (size_t)snprintf(names->text + names->size, sizeof names->text - names->size,
                                    "%.*s ", (int)door->who.size, door->who.data);
    assert_int_equal(door->visits, 7);
    assert_int_equal(door->floor.incarnation, 2);
    return ++names->count == names->most ? TR_CLOSED : 0;
}

static void expect_names(struct tr_reader *reader, struct tr_reader_query query,
                         const char *expected)
{
    struct names names = {.text = ""};
    uint64_t count = 99;
    query.record = &tr_door_schema;
    int error = tr_reader_rows(reader, &query, note_door, &names);
    if (error != 0) {
        fail_msg("%s: %s", tr_error_name(error), tr_reader_explain(reader));
    }
    assert_string_equal(names.text, expected);
    if (query.limit == 0 && query.skip == 0) {
        assert_int_equal(tr_reader_count(reader, &query, &count), 0);
        assert_int_equal(count, names.count);
    }
}

#define WHERE(...)                                       \
    .filters = (struct tr_reader_filter[]){__VA_ARGS__}, \
    .filter_count =                                      \
        sizeof((struct tr_reader_filter[]){__VA_ARGS__}) / sizeof(struct tr_reader_filter)
#define TEXT(field, op, words) tr_filter_text(field, TR_FILTER_##op, tr_text_of(words))
#define NUMBER(field, op, value) tr_filter_number(field, TR_FILTER_##op, value)

static struct tri_store *fill(struct stand *stand)
{
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_door(2, 1, "w/inner", "dan"), op_door(1, 1, "w", "ann"),
                            op_door(1, 1, "w/x/y", "bob"), op_door(1, 2, "w[3]/x", "cid"),
                            op_door(3, 1, "", "eve"), op_door(3, 1, "\xc3\xa4", "fay")),
                     0);
    return store;
}

static void test_filters_and_orders(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = fill(stand);
    struct tr_reader *reader = stand_read(stand);
    expect_names(reader, (struct tr_reader_query){0}, "ann bob cid dan eve fay ");
    expect_names(reader, (struct tr_reader_query){WHERE(NUMBER("house", EQUAL, 1))},
                 "ann bob cid ");
    expect_names(reader, (struct tr_reader_query){WHERE(NUMBER("house", NOT_EQUAL, 1))},
                 "dan eve fay ");
    expect_names(reader, (struct tr_reader_query){WHERE(NUMBER("house", LESS, 2))}, "ann bob cid ");
    expect_names(reader, (struct tr_reader_query){WHERE(NUMBER("house", LESS_EQUAL, 2))},
                 "ann bob cid dan ");
    expect_names(reader, (struct tr_reader_query){WHERE(NUMBER("house", GREATER, 2))}, "eve fay ");
    expect_names(reader,
                 (struct tr_reader_query){
                     WHERE(NUMBER("house", GREATER_EQUAL, 2), TEXT("who", LESS, "fay"))},
                 "dan eve ");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("door", EQUAL, "w"))}, "ann ");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("door", EQUAL, ""))}, "eve ");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("door", PREFIX, "w/"))}, "bob dan ");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("door", PREFIX, ""))},
                 "ann bob cid dan eve fay ");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("door", GLOB, "w/*"))}, "dan ");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("door", GLOB, "w/**"))},
                 "ann bob dan ");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("door", GLOB, "w[*]/x"))}, "cid ");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("door", GLOB, "' OR 1=1 --"))}, "");
    /* Bytes that are no UTF-8, which people may type. */
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("door", EQUAL, "w\xff"))}, "");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("door", PREFIX, "w/\xc3"))}, "");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("door", GLOB, "\xa4*"))}, "");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("who", AMONG, "\xff,ann"))}, "ann ");
    expect_names(reader,
                 (struct tr_reader_query){
                     .order = {{.field = "house", .is_descending = true}, {.field = "who"}}},
                 "eve fay dan ann bob cid ");
    expect_names(reader,
                 (struct tr_reader_query){
                     .order = {{.field = "who", .is_descending = true}}, .skip = 1, .limit = 2},
                 "eve dan ");
    struct names names = {.most = 2};
    struct tr_reader_query query = {.record = &tr_door_schema};
    assert_int_equal(tr_reader_rows(reader, &query, note_door, &names), TR_CLOSED);
    assert_string_equal(names.text, "ann bob ");
    tr_reader_close(reader);
    tr_reader_close(NULL);
    tri_store_close(store);
    stand_free(stand);
}

static void test_lists_and_bits(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = fill(stand);
    struct tr_reader *reader = stand_read(stand);
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("who", AMONG, "eve,ann,an"))},
                 "ann eve ");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("who", AMONG, "bob"))}, "bob ");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("door", AMONG, ",w"))}, "ann eve ");
    expect_names(reader, (struct tr_reader_query){WHERE(TEXT("who", AMONG, "nn,b"))}, "");
    expect_names(reader, (struct tr_reader_query){WHERE(NUMBER("house", BIT, 1U << 1 | 1U << 3))},
                 "ann bob cid eve fay ");
    expect_names(reader, (struct tr_reader_query){WHERE(NUMBER("house", BIT, 1))}, "");
    struct tr_reader_filter passive = NUMBER("house", EQUAL, 2);
    passive.is_passive = true;
    expect_names(reader, (struct tr_reader_query){WHERE(passive)}, "dan ");
    tr_reader_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

/* What has a row of another record, here another door of the same house. */
static void test_related_rows(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = fill(stand);
    struct tr_reader *reader = stand_read(stand);
    const struct tr_reader_filter who_is_cid[] = {TEXT("who", EQUAL, "cid")};
    const struct tr_reader_filter who_is_fay[] = {TEXT("who", EQUAL, "fay"),
                                                  TEXT("door", NOT_EQUAL, "w")};
    struct tr_reader_related related[] = {
        {.record = &tr_door_schema, .filters = who_is_cid, .filter_count = 1},
        {.record = &tr_door_schema, .filters = who_is_fay, .filter_count = 2, .is_absent = true},
    };
    expect_names(reader, (struct tr_reader_query){.related = related, .related_count = 1},
                 "ann bob cid ");
    expect_names(reader, (struct tr_reader_query){.related = related + 1, .related_count = 1},
                 "ann bob cid dan ");
    expect_names(reader,
                 (struct tr_reader_query){WHERE(TEXT("who", GREATER, "ann")), .related = related,
                                          .related_count = 2},
                 "bob cid ");
    /* The same, found by the first of them, and in the order of its fields. */
    expect_names(reader,
                 (struct tr_reader_query){WHERE(TEXT("who", GREATER, "ann")), .related = related,
                                          .related_count = 2, .is_led = true,
                                          .order = {{.field = "house"}}},
                 "bob cid ");
    related[0].filters = NULL;
    related[0].filter_count = 0;
    related[0].is_absent = true;
    expect_names(reader, (struct tr_reader_query){.related = related, .related_count = 1}, "");
    tr_reader_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

static void test_spans(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = fill(stand);
    struct tr_reader *reader = stand_read(stand);
    /* All have seven visits: the higher its number, the shorter the span since a house. */
    expect_names(reader,
                 (struct tr_reader_query){
                     .order = {{.field = "visits", .since = "house"}, {.field = "who"}}},
                 "eve fay dan ann bob cid ");
    expect_names(reader,
                 (struct tr_reader_query){.order = {{.field = "visits", .since = "visits"},
                                                    {.field = "who", .is_descending = true}}},
                 "fay eve dan cid bob ann ");
    tr_reader_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

/* A query within another one, of the same text, and more texts than are kept. */
struct nested {
    struct tr_reader *reader;
    uint64_t count;
};

static int count_of_its_house(void *self, const void *row)
{
    struct nested *nested = self;
    const struct tr_door *door = row;
    uint64_t count = 0;
    struct tr_reader_filter filter = NUMBER("house", EQUAL, door->house);
    struct tr_reader_query query = {
        .record = &tr_door_schema, .filters = &filter, .filter_count = 1};
    assert_int_equal(tr_reader_count(nested->reader, &query, &count), 0);
    nested->count += count;
    return 0;
}

static int query_again(void *self, const void *row)
{
    struct nested *nested = self;
    const struct tr_door *door = row;
    struct tr_reader_filter filter = NUMBER("house", EQUAL, door->house);
    struct tr_reader_query query = {
        .record = &tr_door_schema, .filters = &filter, .filter_count = 1};
    return tr_reader_rows(nested->reader, &query, count_of_its_house, nested);
}

static void test_statements_are_kept(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = fill(stand);
    struct tr_reader *reader = stand_read(stand);
    struct nested nested = {.reader = reader};
    struct tr_reader_filter filter = NUMBER("house", EQUAL, 1);
    struct tr_reader_query query = {
        .record = &tr_door_schema, .filters = &filter, .filter_count = 1};
    assert_int_equal(tr_reader_rows(reader, &query, query_again, &nested), 0);
    assert_int_equal(nested.count, 27);
    static const char *const fields[] = {"house", "who", "door", "visits"};
    for (size_t i = 0; i < MANY_QUERIES; i++) {
        struct tr_reader_query other = {.limit = 2};
        for (size_t k = 0; k < TR_READER_ORDERS_MAX; k++) {
            other.order[k] = (struct tr_reader_order){.field = fields[k],
                                                      .is_descending = (i >> (k + 1) & 1) != 0};
        }
        other.order[0].field = i % 2 == 0 ? "house" : "who";
        other.order[1].field = i % 2 == 0 ? "who" : "house";
        bool is_descending = other.order[0].is_descending;
        bool is_last = other.order[1].is_descending;
        expect_names(reader, other,
                     i % 2 != 0      ? (is_descending ? "fay eve " : "ann bob ")
                     : is_descending ? (is_last ? "fay eve " : "eve fay ")
                                     : (is_last ? "cid bob " : "ann bob "));
        assert_int_equal(i % 5 == 0 ? tr_reader_refresh(reader) : 0, 0);
    }
    tr_reader_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

static int no_row(void *self, const void *row)
{
    (void)self;
    (void)row;
    fail_msg("a row where there is none");
    return 0;
}

static void refuse(struct tr_reader *reader, struct tr_reader_query query, const char *words)
{
    uint64_t count = 99;
    if (query.record == NULL) {
        query.record = &tr_door_schema;
    }
    assert_int_equal(tr_reader_rows(reader, &query, no_row, NULL), TR_INVALID);
    if (strstr(tr_reader_explain(reader), words) == NULL) {
        fail_msg("said `%s` instead of `%s`", tr_reader_explain(reader), words);
    }
    if (query.order[0].field == NULL) {
        assert_int_equal(tr_reader_count(reader, &query, &count), TR_INVALID);
        assert_int_equal(count, 99);
    }
}

static void test_refuses_queries_that_make_no_sense(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = fill(stand);
    struct tr_reader *reader = stand_read(stand);
    static struct tr_reader_filter many[100];
    for (size_t i = 0; i < TR_COUNT_OF(many); i++) {
        many[i] = NUMBER("house", EQUAL, 1);
    }
    refuse(reader, (struct tr_reader_query){WHERE(NUMBER("hous", EQUAL, 1))}, "field hous");
    refuse(reader, (struct tr_reader_query){WHERE(NUMBER("floor", EQUAL, 1))}, "field floor");
    refuse(reader, (struct tr_reader_query){WHERE(NUMBER("who", EQUAL, 1))}, "cannot be compared");
    refuse(reader, (struct tr_reader_query){WHERE(TEXT("house", EQUAL, "1"))},
           "cannot be compared");
    refuse(reader, (struct tr_reader_query){WHERE(NUMBER("house", PREFIX, 1))},
           "cannot be compared");
    refuse(reader, (struct tr_reader_query){WHERE({.field = "house", .op = 77})},
           "no such comparison");
    refuse(reader, (struct tr_reader_query){.filters = many, .filter_count = 100},
           "TR_READER_FILTERS_MAX");
    refuse(reader, (struct tr_reader_query){.order = {{.field = "who\" --"}}}, "no such field");
    refuse(reader, (struct tr_reader_query){WHERE(NUMBER("house", AMONG, 1))},
           "cannot be compared");
    refuse(reader, (struct tr_reader_query){WHERE(TEXT("who", BIT, "1"))}, "cannot be compared");
    static struct tr_reader_related related[100];
    for (size_t i = 0; i < TR_COUNT_OF(related); i++) {
        related[i].record = &tr_door_schema;
    }
    refuse(reader, (struct tr_reader_query){.related = related, .related_count = 100},
           "TR_READER_RELATED_MAX");
    refuse(reader, (struct tr_reader_query){.is_led = true}, "none to lead");
    related[0].filters = &many[0];
    related[0].filter_count = 100;
    refuse(reader, (struct tr_reader_query){.related = related, .related_count = 1},
           "TR_READER_FILTERS_MAX");
    struct tr_schema other = tr_door_schema;
    other.id = 999;
    refuse(reader, (struct tr_reader_query){.record = &other}, "not opened with this record");
    expect_names(reader, (struct tr_reader_query){WHERE(NUMBER("house", EQUAL, 2))}, "dan ");
    tr_reader_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

static int copy_wide(void *self, const void *row)
{
    struct tr_wide *rows = self;
    const struct tr_wide *wide = row;
    struct tr_wide *copy = &rows[wide->tiny == 255 ? 0 : 1];
    *copy = *wide;
    if (wide->tiny == 255) {
        assert_int_equal(wide->words.size, 8);
        assert_memory_equal(wide->words.data, "w\xc3\xb6rter\x01", 8);
        assert_int_equal(wide->blob.size, 3);
        assert_memory_equal(wide->blob.data, "\0\1\2", 3);
        assert_int_equal(wide->tree.size, 1);
        assert_int_equal(wide->tree.data[0], 0xc0);
    }
    return 0;
}

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

static void test_every_kind_of_field_comes_back(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    struct tr_wide wide = {.truth = true,
                           .tiny = 255,
                           .small = 65535,
                           .middling = UINT32_MAX,
                           .large = UINT64_MAX,
                           .below = INT64_MIN,
                           .real = -0.5,
                           .who = {3, UINT64_MAX},
                           .whom = {{5, 6}, UINT32_MAX},
                           .words = tr_text_of("w\xc3\xb6rter\x01"),
                           .blob = {.data = (const uint8_t *)"\0\1\2", .size = 3}};
    assert_int_equal(tr_array_set(&wide.label, tr_text_of("label")), 0);
    assert_int_equal(tr_array_set(&wide.digest, tr_text_of("\xff\xfe")), 0);
    struct tr_wide empty = {.real = nan("")};
    put_wide(store, 1, &wide);
    put_wide(store, 2, &empty);
    struct tr_reader *reader = stand_read(stand);
    struct tr_wide rows[2];
    memset(rows, 0xee, sizeof rows);
    struct tr_reader_query query = {.record = &tr_wide_schema};
    assert_int_equal(tr_reader_rows(reader, &query, copy_wide, rows), 0);
    assert_true(rows[0].truth && rows[0].small == 65535 && rows[0].middling == UINT32_MAX);
    assert_true(rows[0].large == UINT64_MAX && rows[0].below == INT64_MIN);
    assert_true(rows[0].real == -0.5);
    assert_true(rows[0].who.group == 3 && rows[0].who.serial == UINT64_MAX);
    assert_true(rows[0].whom.key.group == 5 && rows[0].whom.key.serial == 6);
    assert_int_equal(rows[0].whom.incarnation, UINT32_MAX);
    assert_true(tr_text_equal(tr_array_get(&rows[0].label), tr_text_of("label")));
    assert_int_equal(rows[0].digest.size, 2);
    assert_int_equal(rows[0].secret.size, 0);
    assert_true(isnan(rows[1].real));
    assert_true(!rows[1].truth && rows[1].large == 0 && rows[1].label.size == 0);
    assert_int_equal(rows[1].words.size, 0);
    tr_reader_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

/* While a reader reads, an engine commits and even begins its log anew; then it goes on. */
static void test_a_reader_stays_at_one_moment(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = fill(stand);
    struct tr_reader *reader = stand_read(stand);
    assert_int_equal(COMMIT(store, 2, op_delete_doors(1, 1, "", 1), op_door(4, 1, "z", "gil")), 0);
    expect_names(reader, (struct tr_reader_query){0}, "ann bob cid dan eve fay ");
    tri_store_close(store);
    store = stand_open(stand);
    assert_int_equal(COMMIT(store, 3, op_door(4, 2, "z", "hal")), 0);
    expect_names(reader, (struct tr_reader_query){WHERE(NUMBER("house", EQUAL, 1))},
                 "ann bob cid ");
    assert_int_equal(tr_reader_refresh(reader), 0);
    expect_names(reader, (struct tr_reader_query){0}, "dan eve fay gil hal ");
    tr_reader_close(reader);
    tri_store_close(store);
    /* Without an engine, too. */
    reader = stand_read(stand);
    expect_names(reader, (struct tr_reader_query){WHERE(NUMBER("house", EQUAL, 4))}, "gil hal ");
    tr_reader_close(reader);
    stand_free(stand);
}

static int note_grown(void *self, const void *row)
{
    const struct tr_grown *grown = row;
    int *count = self;
    assert_int_equal(grown->number, 5);
    assert_true(tr_text_equal(grown->what, tr_text_of("old")));
    assert_int_equal(grown->why.size, 0);
    assert_int_equal(grown->group.key.serial, 0);
    assert_true(grown->share == 0.0);
    ++*count;
    return 0;
}

static void test_older_tables_read_as_zeros(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    const struct tr_schema *old_records[] = {stand_grown_old()};
    struct tri_store_options options = stand_options(stand);
    options.records = old_records;
    options.record_count = 1;
    struct tri_store *store = NULL;
    uint8_t buffer[128];
    assert_int_equal(stand_try(stand, &options, NULL, &store), 0);
    assert_int_equal(COMMIT(store, 1, op_grown(1, 5, "old", buffer, sizeof buffer)), 0);
    struct tr_reader *reader = stand_read(stand);
    int count = 0;
    struct tr_reader_query query = {.record = &tr_grown_schema,
                                    WHERE(TEXT("why", EQUAL, ""), NUMBER("number", EQUAL, 5)),
                                    .order = {{.field = "why"}, {.field = "share"}}};
    assert_int_equal(tr_reader_rows(reader, &query, note_grown, &count), 0);
    assert_int_equal(count, 1);
    expect_names(reader, (struct tr_reader_query){0}, ""); /* there is no table yet */
    tr_reader_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

static int any_row(void *self, const void *row)
{
    (void)self;
    (void)row;
    return 0;
}

static void test_rows_that_cannot_be_are_damage(void **state)
{
    static const struct {
        const char *sql;
        const char *words;
    } harms[] = {
        {"UPDATE record_wide SET tiny = 256", "field tiny"},
        {"UPDATE record_wide SET truth = 2", "field truth"},
        {"UPDATE record_wide SET middling = -1", "field middling"},
        {"UPDATE record_wide SET whom_incarnation = 1099511627776", "field whom"},
        {"UPDATE record_wide SET label = '1234567890123456789012345'", "field label"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(harms); i++) {
        struct stand *stand = stand_new(*(const enum stand_kind *)*state);
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

static int try_open(const struct stand *stand, const struct tr_schema *const *records, size_t count,
                    char *explain)
{
    struct tr_reader *reader = NULL;
    int error = stand_try_read(stand, records, count, explain, &reader);
    tr_reader_close(reader);
    return error;
}

static void test_says_why_it_cannot_open(void **state)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    enum stand_kind kind = *(const enum stand_kind *)*state;
    struct stand *stand = stand_new(kind);
    const struct tr_schema *old[] = {stand_grown_old()};
    assert_int_equal(try_open(stand, old, 1, explain), TR_NOT_FOUND);
    assert_non_null(strstr(explain, kind == STAND_POSTGRES ? "has no store" : "no store yet"));
    assert_int_equal(try_open(stand, old, 1, NULL), TR_NOT_FOUND);
    struct tri_store *store = fill(stand);
    assert_int_equal(try_open(stand, old, 1, explain), TR_STORE_NEWER);
    assert_non_null(strstr(explain, "record grown has version 2"));
    tri_store_close(store);
    stand_spoil(stand, "DROP TABLE messages");
    assert_int_equal(try_open(stand, NULL, 0, explain), TR_STORE_DAMAGED);
    stand_free(stand);
}

/* What is asked without a moment finds none. */
static void test_a_released_reader_goes_on_after_a_refresh(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = fill(stand);
    struct tr_reader *reader = stand_read(stand);
    tr_reader_release(reader);
    tr_reader_release(reader);
    assert_int_equal(COMMIT(store, 2, op_door(4, 1, "z", "gil")), 0);
    assert_int_equal(tr_reader_refresh(reader), 0);
    expect_names(reader, (struct tr_reader_query){WHERE(NUMBER("house", GREATER, 2))},
                 "eve fay gil ");
    tr_reader_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

/* A thread that keeps one has it again at the newest moment; beside it another one is opened. */
static void test_a_thread_keeps_a_reader(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = fill(stand);
    tr_reader_keep(true);
    struct tr_reader *reader = stand_read(stand);
    tr_reader_close(reader);
    assert_int_equal(COMMIT(store, 2, op_door(4, 1, "z", "gil")), 0);
    struct tr_reader *again = stand_read(stand);
    struct tr_reader *other = stand_read(stand);
    assert_ptr_equal(again, reader);
    assert_ptr_not_equal(other, reader);
    expect_names(again, (struct tr_reader_query){WHERE(NUMBER("house", GREATER, 2))},
                 "eve fay gil ");
    tr_reader_close(again);
    tr_reader_close(other);
    tr_reader_keep(false);
    tri_store_close(store);
    stand_free(stand);
}

/* More rows than come at once, and a reading in the middle of them. */
static int count_row(void *self, const void *row)
{
    struct nested *nested = self;
    const struct tr_grown *grown = row;
    uint64_t found = 0;
    assert_int_equal(grown->number, nested->count);
    if (nested->count++ % 500 == 0) {
        struct tr_reader_query query = {.record = &tr_grown_schema,
                                        WHERE(NUMBER("number", LESS, 10))};
        assert_int_equal(tr_reader_count(nested->reader, &query, &found), 0);
        assert_int_equal(found, 10);
    }
    return 0;
}

static void test_many_rows(void **state)
{
    enum { COUNT = 5000 };
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    struct tri_op *ops = calloc(COUNT, sizeof *ops);
    uint8_t *buffers = malloc(COUNT * 128);
    assert_true(ops != NULL && buffers != NULL);
    for (size_t i = 0; i < COUNT; i++) {
        ops[i] = op_grown(2, i, "many", buffers + i * 128, 128);
    }
    assert_int_equal(stand_commit(store, 1, ops, COUNT), 0);
    struct tr_reader *reader = stand_read(stand);
    struct nested nested = {.reader = reader};
    struct tr_reader_query query = {.record = &tr_grown_schema, .order = {{.field = "number"}}};
    assert_int_equal(tr_reader_rows(reader, &query, count_row, &nested), 0);
    assert_int_equal(nested.count, COUNT);
    nested.count = 300;
    query.skip = 300;
    query.limit = 4000;
    assert_int_equal(tr_reader_rows(reader, &query, count_row, &nested), 0);
    assert_int_equal(nested.count, 4300);
    tr_reader_close(reader);
    tri_store_close(store);
    free(ops);
    free(buffers);
    stand_free(stand);
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND_TEST(test_filters_and_orders),
        STAND_TEST(test_lists_and_bits),
        STAND_TEST(test_related_rows),
        STAND_TEST(test_spans),
        STAND_TEST(test_statements_are_kept),
        STAND_TEST(test_refuses_queries_that_make_no_sense),
        STAND_TEST(test_every_kind_of_field_comes_back),
        STAND_TEST(test_a_reader_stays_at_one_moment),
        STAND_TEST(test_a_released_reader_goes_on_after_a_refresh),
        STAND_TEST(test_a_thread_keeps_a_reader),
        STAND_TEST(test_many_rows),
        STAND_TEST(test_older_tables_read_as_zeros),
        STAND_TEST(test_rows_that_cannot_be_are_damage),
        STAND_TEST(test_says_why_it_cannot_open),
    };
    return stand_run_databases("reader", tests, TR_COUNT_OF(tests));
}
