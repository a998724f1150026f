/*
 * Stores of the first format, in which messages were keyed by their sender: they are read as they
 * are, and the first opening for writing makes them stores of this format, or leaves them alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "runtime/journal/checksum.h"
#include "runtime/journal/reader_ops.h"
#include "runtime/sqlite/sqlite.h"
#include "runtime/sqlite/sqlite_internal.h"
#include "schemas/runtime/envelope.h"
#include "tests/unit/runtime/stand.h"

#define MESSAGES 600

/* The tables as the first format has them, in its order. */
static const char tables[] =
    "PRAGMA page_size=4096;"
    "BEGIN EXCLUSIVE;"
    "CREATE TABLE host(id INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL,"
    " last_number INTEGER NOT NULL, checksum INTEGER NOT NULL);"
    "CREATE TABLE counters(key_group INTEGER NOT NULL, worker INTEGER NOT NULL,"
    " next INTEGER NOT NULL, checksum INTEGER NOT NULL,"
    " PRIMARY KEY(key_group, worker)) WITHOUT ROWID;"
    "CREATE TABLE actors(key_group INTEGER NOT NULL, key_serial INTEGER NOT NULL,"
    " incarnation INTEGER NOT NULL, behaviour INTEGER NOT NULL, image BLOB NOT NULL,"
    " checksum INTEGER NOT NULL, PRIMARY KEY(key_group, key_serial)) WITHOUT ROWID;"
    "CREATE TABLE pages(key_group INTEGER NOT NULL, key_serial INTEGER NOT NULL,"
    " page INTEGER NOT NULL, data BLOB NOT NULL, checksum INTEGER NOT NULL,"
    " PRIMARY KEY(key_group, key_serial, page)) WITHOUT ROWID;"
    "CREATE TABLE messages(key_group INTEGER NOT NULL, key_serial INTEGER NOT NULL,"
    " incarnation INTEGER NOT NULL, sequence INTEGER NOT NULL,"
    " envelope BLOB NOT NULL, checksum INTEGER NOT NULL,"
    " PRIMARY KEY(key_group, key_serial, incarnation, sequence)) WITHOUT ROWID;"
    "CREATE TABLE meta(cell INTEGER PRIMARY KEY, data BLOB NOT NULL,"
    " checksum INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE record_schemas(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " version INTEGER NOT NULL);";

static void run(sqlite3 *database, const char *sql)
{
    char *words = NULL;
    if (sqlite3_exec(database, sql, NULL, NULL, &words) != SQLITE_OK) {
        fail_msg("%s: %s", sql, words);
    }
}

static sqlite3 *open_plainly(const struct stand *stand)
{
    char path[128];
    sqlite3 *database = NULL;
    const char *vfs = stand->disk != NULL ? tri_disk_name(stand->disk) : NULL;
    stand_path(stand, "troupe.db", path, sizeof path);
    assert_int_equal(sqlite3_open_v2(stand->disk != NULL ? "store/troupe.db" : path, &database,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs),
                     SQLITE_OK);
    return database;
}

/* Many senders, each of whose messages go to three groups. */
static struct tr_envelope envelope_of(uint64_t i)
{
    return (struct tr_envelope){.envelope_version = TR_ENVELOPE_VERSION,
                                .kind = TR_KIND_TELL,
                                .to_group = 7 + i % 3,
                                .to_serial = 16,
                                .from_group = 9 + i % 5,
                                .from_serial = 32,
                                .from_incarnation = 3,
                                .sequence = 5 + i};
}

static void insert_message(sqlite3 *database, uint64_t i)
{
    struct tr_envelope envelope = envelope_of(i);
    uint8_t bytes[TR_ENVELOPE_BYTES];
    char sql[256];
    tr_envelope_pack(&envelope, bytes);
    struct tri_op op = {.kind = TRI_OP_PUT_MESSAGE,
                        .key = {envelope.from_group, envelope.from_serial},
                        .incarnation = envelope.from_incarnation,
                        .number = envelope.sequence,
                        .data = {bytes, sizeof bytes}};
    uint32_t checksum = tri_checksum(TRI_OP_PUT_MESSAGE, &op);
    if (i == 0) {
        assert_int_equal(checksum, 3317672416U); /* as the first format has it */
    }
    snprintf(sql, sizeof sql, "INSERT INTO messages VALUES(%llu, 32, 3, %llu, ?1, %u)",
             (unsigned long long)op.key.group, (unsigned long long)op.number, checksum);
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_bind_blob(statement, 1, bytes, sizeof bytes, SQLITE_TRANSIENT),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
}

/* A store as an earlier program has left it: incarnation 4, at number 20. */
static struct stand *plant(enum stand_kind kind)
{
    struct stand *stand = stand_new(kind);
    sqlite3 *database = open_plainly(stand);
    char sql[512];
    struct tri_op host = {.key = {4, 20}};
    struct tri_op actor = op_actor(7, 16, 1, "actor");
    struct tri_op page = op_page(7, 16, 2, "page");
    struct tri_op cell = op_meta(70, "cell");
    run(database, tables);
    snprintf(sql, sizeof sql,
             "INSERT INTO host VALUES(1, 4, 20, %u);"
             "INSERT INTO actors VALUES(7, 16, 1, 77, CAST('actor' AS BLOB), %u);"
             "INSERT INTO pages VALUES(7, 16, 2, CAST('page' AS BLOB), %u);"
             "INSERT INTO meta VALUES(70, CAST('cell' AS BLOB), %u);"
             "PRAGMA application_id=%d; PRAGMA user_version=1",
             tri_checksum(0, &host), tri_checksum(actor.kind, &actor),
             tri_checksum(page.kind, &page), tri_checksum(cell.kind, &cell),
             TRI_SQLITE_APPLICATION_ID);
    run(database, sql);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        insert_message(database, i);
    }
    run(database, "COMMIT; PRAGMA journal_mode=WAL");
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    return stand;
}

/* What a loading tells of messages. */
struct heard {
    struct tri_op last;
    size_t count;
};

static int hear(void *self, const struct tri_op *op)
{
    struct heard *heard = self;
    if (heard->count > 0) {
        assert_true(tri_op_compare(&heard->last, op) < 0);
    }
    assert_int_equal(op->to_group, tr_envelope_get(op->data.data, 64, to_group));
    assert_int_equal(op->key.group, tr_envelope_get(op->data.data, 64, from_group));
    assert_int_equal(op->number, tr_envelope_get(op->data.data, 64, sequence));
    heard->last = *op;
    heard->count++;
    return 0;
}

/* All of it is there, in this format's order. */
static void expect_contents(struct tri_store *store, size_t messages)
{
    struct heard heard = {0};
    struct tri_store_visitor visitor = {.self = &heard, .message = hear};
    char bytes[8];
    size_t size = 0;
    assert_int_equal(tri_store_load(store, &visitor), 0);
    assert_int_equal(heard.count, messages);
    assert_int_equal(store->last_number, 20);
    assert_int_equal(tri_store_read_page(store, (struct tr_key){7, 16}, 2, bytes, 8, &size), 0);
    assert_memory_equal(bytes, "page", 4);
    assert_int_equal(tri_store_read_meta(store, 70, bytes, 8, &size), 0);
    assert_memory_equal(bytes, "cell", 4);
}

static char *text_of(const struct stand *stand, const char *sql)
{
    sqlite3 *database = open_plainly(stand);
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    char *text = strdup((const char *)sqlite3_column_text(statement, 0));
    assert_non_null(text);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    return text;
}

static void expect_text(const struct stand *stand, const char *sql, const char *expected)
{
    char *text = text_of(stand, sql);
    assert_string_equal(text, expected);
    free(text);
}

static void test_readers_take_it_as_it_is(void **state)
{
    (void)state;
    struct stand *stand = plant(STAND_FOLDER);
    struct tri_store *reader = stand_open_reader(stand);
    expect_contents(reader, MESSAGES);
    assert_int_equal(reader->incarnation, 4);
    tri_store_close(reader);
    expect_text(stand, "PRAGMA user_version", "1");
    stand_free(stand);
}

static void test_the_first_writer_upgrades_it(void **state)
{
    (void)state;
    struct stand *stand = plant(STAND_FOLDER);
    struct stand *other = stand_new(STAND_FOLDER);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(store->incarnation, 5);
    expect_contents(store, MESSAGES);
    struct tri_op gone = {.kind = TRI_OP_DELETE_MESSAGE,
                          .to_group = 7,
                          .key = {9, 32},
                          .incarnation = 3,
                          .number = 5};
    assert_int_equal(COMMIT(store, 20, gone), 0);
    tri_store_close(store);
    /* Nothing tells it from a store that began with this format. */
    tri_store_close(stand_open(other));
    const char *schema = "SELECT group_concat(name || rootpage || sql, ' ') FROM sqlite_schema"
                         " WHERE name NOT LIKE 'moving' AND rootpage <= 8";
    char *expected = text_of(other, schema);
    expect_text(stand, schema, expected);
    free(expected);
    expect_text(stand, "PRAGMA user_version", "3");
    expect_text(stand, "PRAGMA integrity_check", "ok");
    store = stand_open(stand);
    assert_int_equal(store->incarnation, 6);
    expect_contents(store, MESSAGES - 1);
    tri_store_close(store);
    stand_free(other);
    stand_free(stand);
}

static int count_message(void *self, const struct tri_op *op)
{
    return hear(self, op);
}

/* A service's reader is open while an engine starts. */
static void test_a_reader_outlives_the_upgrade(void **state)
{
    (void)state;
    struct stand *stand = plant(STAND_FOLDER);
    struct tr_reader_options options = {.folder = stand->folder};
    struct tr_reader *reader = NULL;
    char explain[TRI_STORE_EXPLAIN_BYTES];
    assert_int_equal(tri_sqlite_reader_open(&options, explain, &reader), 0);
    struct tri_store *store = NULL;
    for (int turn = 0; turn < 3; turn++) {
        struct heard heard = {0};
        assert_int_equal(reader->ops->visit(reader, TRI_VISIT_MESSAGES, 0, count_message, &heard),
                         0);
        assert_int_equal(heard.count, MESSAGES);
        if (turn == 0) {
            store = stand_open(stand); /* its snapshot is of the old tables still */
        } else {
            assert_int_equal(reader->ops->refresh(reader), 0);
        }
    }
    tri_store_close(store);
    reader->ops->close(reader);
    stand_free(stand);
}

static void note_finding(void *self, const struct tri_finding *finding)
{
    (void)finding;
    ++*(size_t *)self;
}

static int go_on(void *self, const char *table, uint64_t rows)
{
    (void)self;
    (void)table;
    (void)rows;
    return 0;
}

static void note_table(void *self, const char *table, uint64_t rows)
{
    (void)self;
    assert_int_equal(rows, strcmp(table, "messages") == 0 ? MESSAGES : rows);
}

static void expect_findings(struct stand *stand, size_t expected)
{
    size_t found = 0;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    const struct tri_store_checking checking = {
        .options = {.folder = stand->folder, .durability = TR_DURABILITY_FULL, .read_only = true},
        .self = &found,
        .found = note_finding,
        .progress = go_on,
        .finished = note_table};
    assert_int_equal(tri_sqlite_check(&checking, explain), 0);
    assert_int_equal(found, expected);
}

/* The image of the actor is none. */
#define PLANTED 1

/* A check reads either format, and upgrades none. */
static void test_it_is_checked_as_it_is(void **state)
{
    (void)state;
    struct stand *stand = plant(STAND_FOLDER);
    expect_findings(stand, PLANTED);
    expect_text(stand, "PRAGMA user_version", "1");
    sqlite3 *database = open_plainly(stand);
    run(database, "UPDATE messages SET checksum = checksum + 1 WHERE sequence = 77");
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    expect_findings(stand, PLANTED + 1);
    database = open_plainly(stand);
    run(database, "UPDATE messages SET checksum = checksum - 1 WHERE sequence = 77");
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    tri_store_close(stand_open(stand));
    expect_findings(stand, PLANTED);
    stand_free(stand);
}

/* Damage is not made good by a new checksum. */
static void test_a_damaged_one_stays_as_it_is(void **state)
{
    (void)state;
    struct stand *stand = plant(STAND_FOLDER);
    sqlite3 *database = open_plainly(stand);
    run(database, "UPDATE messages SET checksum = checksum + 1 WHERE sequence = 77");
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    struct tri_store_options options = stand_options(stand);
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store *store = NULL;
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_STORE_DAMAGED);
    assert_non_null(strstr(explain, "a row fails its checksum"));
    expect_text(stand, "PRAGMA user_version", "1");
    expect_text(stand, "SELECT count(*) FROM messages", "600");
    expect_text(stand, "SELECT incarnation FROM host", "4");
    stand_free(stand);
}

/* The power fails at some of all steps of the first opening: either format is whole. */
static void test_a_crash_leaves_one_or_the_other(void **state)
{
    (void)state;
    uint64_t step = 0;
    bool is_over = false;
    size_t old_count = 0;
    while (!is_over) {
        struct stand *stand = plant(STAND_DISK);
        struct tri_store_options options = stand_options(stand);
        struct tri_store *store = NULL;
        step += getenv("TROUPE_TEST_LONG") != NULL ? 1 : 5;
        uint64_t begun = tri_disk_counts(stand->disk)->steps;
        tri_disk_faults(stand->disk)->off_at_step = begun + step;
        is_over = stand_try(stand, &options, NULL, &store) == 0 &&
                  tri_disk_counts(stand->disk)->steps < begun + step;
        tri_store_close(store);
        tri_disk_crash(stand->disk);
        char *format = text_of(stand, "PRAGMA user_version");
        old_count += strcmp(format, "1") == 0;
        free(format);
        store = stand_open(stand);
        expect_contents(store, MESSAGES);
        tri_store_close(store);
        stand_free(stand);
    }
    assert_true(step > 20);
    assert_true(old_count > 0);
}

/* The second format differs in nothing but that no log stands before its tables. */
static void test_the_second_format_is_raised(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_FOLDER);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    tri_store_close(store);
    stand_spoil(stand, "PRAGMA user_version=2");
    tri_store_close(stand_open_reader(stand));
    expect_text(stand, "PRAGMA user_version", "2");
    store = stand_open(stand);
    stand_expect(store, "actor 1/1 1 0 77 a\n");
    tri_store_close(store);
    expect_text(stand, "PRAGMA user_version", "3");
    stand_free(stand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_second_format_is_raised),
        cmocka_unit_test(test_readers_take_it_as_it_is),
        cmocka_unit_test(test_the_first_writer_upgrades_it),
        cmocka_unit_test(test_a_reader_outlives_the_upgrade),
        cmocka_unit_test(test_it_is_checked_as_it_is),
        cmocka_unit_test(test_a_damaged_one_stays_as_it_is),
        cmocka_unit_test(test_a_crash_leaves_one_or_the_other),
    };
    return cmocka_run_group_tests_name("sqlite_upgrade", tests, NULL, NULL);
}
