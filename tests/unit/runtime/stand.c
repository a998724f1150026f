/*
 * What the tests of stores stand on; see the header. A run is a sequence of commits drawn from a
 * seed: the same for every kind of store, so that their contents can be compared at any number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "runtime/commits/commit_log.h"
#include "runtime/memory.h"
#include "runtime/store_care.h"
#include "runtime/store_open.h"
#include "tests/sim/model_read.h"
#include "tests/support/folder.h"
#include "tests/unit/runtime/stand.h"

STAND_SCHEMAS(TR_SCHEMA_DEFINE)

static const char *const kind_names[STAND_COUNT] = {[STAND_FOLDER] = "folder",
                                                    [STAND_DISK] = "disk",
                                                    [STAND_MODEL] = "model",
                                                    [STAND_DATABASE] = "database",
                                                    [STAND_POSTGRES] = "postgres",
                                                    [STAND_FOLDER_LOG] = "folder, log",
                                                    [STAND_POSTGRES_LOG] = "postgres, log"};

static const struct tr_schema *const newest_records[] = {&tr_grown_schema, &tr_wide_schema,
                                                         &tr_door_schema};

const struct tr_schema *stand_grown_old(void)
{
    static struct tr_schema schema;
    schema = tr_grown_old_schema;
    schema.name = tr_grown_schema.name;
    return &schema;
}

/* So that what is acknowledged is now in the log, now in the tables. */
static const struct tri_commit_log_limits short_window = {
    .window_ms = 2, .window_bytes = 64 << 10, .bytes_max = 8 << 20};

struct stand *stand_new(enum stand_kind kind)
{
    struct stand *stand = calloc(1, sizeof *stand);
    assert_non_null(stand);
    stand->kind = kind == STAND_FOLDER_LOG     ? STAND_FOLDER
                  : kind == STAND_POSTGRES_LOG ? STAND_POSTGRES
                                               : kind;
    stand->log = stand->kind != kind ? &short_window : NULL;
    kind = stand->kind;
    stand->durability = TR_DURABILITY_FULL;
    (void)snprintf(stand->folder, sizeof stand->folder, "/tmp/troupe_store_XXXXXX");
    if (kind == STAND_FOLDER) {
        assert_non_null(mkdtemp(stand->folder));
    } else if (kind == STAND_DISK) {
        stand->disk = tri_disk_new(1);
        (void)snprintf(stand->folder, sizeof stand->folder, "store");
    } else if (kind == STAND_POSTGRES) {
        postgres_server_schema(stand->folder, sizeof stand->folder);
        postgres_server_locator("postgres", stand->folder, stand->locator);
    } else if (kind == STAND_DATABASE) {
        struct tri_database_plan plan = {.standby = TRI_STANDBY_NONE};
        stand->database = tri_database_new(&plan, 1, &stand->now_ns);
    } else {
        stand->model = tri_model_new();
    }
    return stand;
}

void stand_free(struct stand *stand)
{
    if (stand->kind == STAND_FOLDER) {
        (void)folder_remove(stand->folder);
    } else if (stand->kind == STAND_POSTGRES) {
        char sql[128];
        (void)snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS %s CASCADE", stand->folder);
        postgres_server_run(sql, NULL, 0);
    }
    tri_disk_free(stand->disk);
    tri_model_free(stand->model);
    tri_database_free(stand->database);
    free(stand);
}

struct tri_store_options stand_options(const struct stand *stand)
{
    return (struct tri_store_options){
        .folder = stand->kind == STAND_POSTGRES ? NULL : stand->folder,
        .locator = stand->kind == STAND_POSTGRES ? stand->locator : NULL,
        .partitions = 1,
        .durability = stand->durability,
        .records = newest_records,
        .record_count = TR_COUNT_OF(newest_records),
        .vfs = stand->disk != NULL ? tri_disk_name(stand->disk) : NULL,
        .log = stand->log,
    };
}

int stand_try(struct stand *stand, const struct tri_store_options *options, char *explain,
              struct tri_store **store)
{
    if (stand->kind == STAND_DATABASE) {
        return tri_database_open(stand->database, options, explain, store);
    }
    if (stand->kind == STAND_MODEL) {
        return tri_model_open(stand->model, options, explain, store);
    }
    if (stand->kind == STAND_POSTGRES && !options->read_only) {
        bool was_made = false;
        int error = tri_store_init(options, explain, &was_made);
        if (error != 0) {
            return error;
        }
    }
    return tri_store_open(options, explain, store);
}

static struct tri_store *open_or_fail(struct stand *stand, bool read_only)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store *store = NULL;
    struct tri_store_options options = stand_options(stand);
    options.read_only = read_only;
    int error = stand_try(stand, &options, explain, &store);
    if (error != 0) {
        fail_msg("%s: %s", tr_error_name(error), explain);
    }
    return store;
}

struct tri_store *stand_open(struct stand *stand)
{
    return open_or_fail(stand, false);
}

struct tri_store *stand_open_reader(struct stand *stand)
{
    return open_or_fail(stand, true);
}

/* Runs each of the tests on the first `kind_count` of some kinds. */
static int run_suite(const char *name, const struct stand_test *tests, size_t count,
                     enum stand_kind *kinds, size_t kind_count)
{
    static char names[STAND_COUNT * STAND_TESTS_MAX][96];
    static struct CMUnitTest suite[STAND_COUNT * STAND_TESTS_MAX];
    assert_true(count <= STAND_TESTS_MAX);
    size_t suite_count = 0;
    for (size_t i = 0; i < kind_count * count; i++) {
        const struct stand_test *test = &tests[i % count];
        enum stand_kind *kind = &kinds[i / count];
        if (test->is_of_tables && *kind >= STAND_FOLDER_LOG) {
            continue;
        }
        (void)snprintf(names[suite_count], sizeof names[suite_count], "%s: %s", kind_names[*kind],
                       test->name);
        suite[suite_count] = (struct CMUnitTest){
            .name = names[suite_count], .test_func = test->function, .initial_state = kind};
        suite_count++;
    }
    /* What cmocka_run_group_tests does with an array whose size it can see. */
    return _cmocka_run_group_tests(name, suite, suite_count, NULL, NULL);
}

int stand_run_suite(const char *name, const struct stand_test *tests, size_t count)
{
    static enum stand_kind kinds[] = {STAND_FOLDER,      STAND_DISK,     STAND_MODEL,
                                      STAND_DATABASE,    STAND_POSTGRES, STAND_FOLDER_LOG,
                                      STAND_POSTGRES_LOG};
    return run_suite(name, tests, count, kinds, TR_COUNT_OF(kinds));
}

int stand_run_databases(const char *name, const struct stand_test *tests, size_t count)
{
    static enum stand_kind kinds[] = {STAND_FOLDER, STAND_POSTGRES};
    return run_suite(name, tests, count, kinds, TR_COUNT_OF(kinds));
}

int stand_try_read(const struct stand *stand, const struct tr_schema *const *records, size_t count,
                   char *explain, struct tr_reader **reader)
{
    struct tri_store_options from = stand_options(stand);
    struct tr_reader_options options = {.folder = from.folder,
                                        .locator = from.locator,
                                        .records = records,
                                        .record_count = count,
                                        .vfs = from.vfs};
    return tr_reader_open(&options, explain, reader);
}

struct tr_reader *stand_read(const struct stand *stand)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_reader *reader = NULL;
    int error =
        stand_try_read(stand, newest_records, TR_COUNT_OF(newest_records), explain, &reader);
    if (error != 0) {
        fail_msg("%s: %s", tr_error_name(error), explain);
    }
    return reader;
}

static void ask_file(const struct stand *stand, const char *sql, char *text, size_t size)
{
    char path[128];
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    size_t at = 0;
    stand_path(stand, "troupe.db", path, sizeof path);
    assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    }
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *column = (const char *)sqlite3_column_text(statement, i);
            int length = snprintf(text + at, size - at, "%s%s", i == 0 ? "" : "|",
                                  column != NULL ? column : "-");
            assert_true(length >= 0 && (size_t)length < size - at);
            at += (size_t)length;
        }
        assert_true(at + 1 < size);
        text[at++] = '\n';
        text[at] = '\0';
    }
    if (code != SQLITE_DONE) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    }
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

void stand_ask(const struct stand *stand, const char *sql, char *text, size_t size)
{
    text[0] = '\0';
    if (stand->kind != STAND_POSTGRES) {
        ask_file(stand, sql, text, size);
        return;
    }
    char whole[4096];
    int length = snprintf(whole, sizeof whole, "SET search_path TO %s; %s", stand->folder, sql);
    assert_true(length > 0 && (size_t)length < sizeof whole);
    postgres_server_ask(whole, text, size);
}

void stand_spoil(const struct stand *stand, const char *sql)
{
    if (stand->kind == STAND_POSTGRES) {
        char whole[1024];
        int size = snprintf(whole, sizeof whole, "SET search_path TO %s; %s", stand->folder, sql);
        assert_true(size > 0 && (size_t)size < sizeof whole);
        postgres_server_run(whole, NULL, 0);
        return;
    }
    char path[128];
    sqlite3 *database = NULL;
    stand_path(stand, "troupe.db", path, sizeof path);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

void stand_path(const struct stand *stand, const char *name, char *path, size_t size)
{
    int length = snprintf(path, size, "%s/%s", stand->folder, name);
    assert_true(length > 0 && (size_t)length < size);
}

void stand_lose_lock(struct stand *stand, struct tri_store *store)
{
    if (stand->kind == STAND_FOLDER) {
        char path[128];
        stand_path(stand, "lock", path, sizeof path);
        assert_int_equal(unlink(path), 0);
    } else if (stand->kind == STAND_MODEL) {
        tri_model_faults(stand->model)->ignore_lock = true;
    } else if (stand->kind == STAND_DATABASE) {
        tri_database_lose_lock(stand->database);
    } else if (stand->kind == STAND_POSTGRES) {
        postgres_server_run_as(store, "SELECT pg_advisory_unlock_all()");
    }
}

bool stand_kill(struct stand *stand)
{
    switch (stand->kind) {
    case STAND_DISK:
        tri_disk_kill(stand->disk);
        return true;
    case STAND_MODEL:
        tri_model_kill(stand->model, 1);
        return true;
    case STAND_DATABASE:
        tri_database_leave(stand->database, false);
        return true;
    default:
        return false;
    }
}

/* What a model holds, or NULL. */
static const struct tri_model_version *contents_of(const struct stand *stand)
{
    if (stand->kind == STAND_DATABASE) {
        return tri_database_contents(stand->database);
    }
    return stand->kind == STAND_MODEL ? tri_model_contents(stand->model) : NULL;
}

/* Until the tables have what a log has: for what reads them itself. */
static void settle(const struct stand *stand)
{
    if (stand->log != NULL && stand->disk == NULL) {
        tr_reader_close(stand_read(stand));
    }
}

size_t stand_count_records(struct stand *stand, const struct tr_schema *schema)
{
    const struct tri_model_version *contents = contents_of(stand);
    if (contents != NULL) {
        return tri_model_version_record_count(contents, schema->id);
    }
    settle(stand);
    char path[128];
    char sql[160];
    if (stand->kind == STAND_POSTGRES) {
        char count[32];
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s.record_%s", stand->folder,
                       schema->name);
        postgres_server_run(sql, count, sizeof count);
        return strtoul(count, NULL, 10);
    }
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    struct tri_store_options options = stand_options(stand);
    stand_path(stand, "troupe.db", path, sizeof path);
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM record_%s", schema->name);
    assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, options.vfs),
                     SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    size_t count = (size_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return count;
}

/* A line of the model's doors; they sort as the table does, since all texts here are short. */
static size_t print_door(const struct tri_op *op, char *line, size_t size)
{
    struct tr_door door = {0};
    assert_int_equal(tr_door_unpack(op->data, 1, &door), 0);
    int length = snprintf(line, size, "%llu %llu %.*s %.*s\n", (unsigned long long)door.house,
                          (unsigned long long)door.floor.key.group, (int)door.door.size,
                          door.door.data, (int)door.who.size, door.who.data);
    assert_true(length > 0 && (size_t)length < size);
    return (size_t)length;
}

static int compare_ops(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

static void model_doors(const struct tri_model_version *contents, char *text, size_t size)
{
    size_t count = tri_model_version_record_count(contents, tr_door_schema.id);
    struct tri_op *ops = calloc(count + 1, sizeof *ops);
    assert_non_null(ops);
    for (size_t i = 0; i < count; i++) {
        ops[i] = *tri_model_version_record(contents, tr_door_schema.id, i);
        ops[i].turn = 0;
    }
    qsort(ops, count, sizeof *ops, compare_ops);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        at += print_door(&ops[i], text + at, size - at);
    }
    free(ops);
}

void stand_doors(struct stand *stand, char *text, size_t size)
{
    text[0] = '\0';
    if (contents_of(stand) != NULL) {
        model_doors(contents_of(stand), text, size);
        return;
    }
    settle(stand);
    if (stand->kind == STAND_POSTGRES) {
        char sql[256];
        (void)snprintf(sql, sizeof sql,
                       "SELECT concat_ws(' ', house, floor_group, door, who) FROM %s.record_door"
                       " ORDER BY house, floor_group, length(door), door",
                       stand->folder);
        postgres_server_run(sql, text, size);
        return;
    }
    char path[128];
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    struct tri_store_options options = stand_options(stand);
    stand_path(stand, "troupe.db", path, sizeof path);
    assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, options.vfs),
                     SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(database,
                           "SELECT printf('%d %d %s %s', house, floor_group, door, who)"
                           " FROM record_door ORDER BY house, floor_group,"
                           " length(door), door",
                           -1, &statement, NULL),
        SQLITE_OK);
    size_t at = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        int length =
            snprintf(text + at, size - at, "%s\n", (const char *)sqlite3_column_text(statement, 0));
        assert_true(length > 0 && (size_t)length < size - at);
        at += (size_t)length;
    }
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

/* --- Operations. --- */

static struct tr_bytes bytes_of(const char *text)
{
    return (struct tr_bytes){.data = (const uint8_t *)text, .size = strlen(text)};
}

struct tri_op op_counter(uint64_t group, uint64_t worker, uint64_t next)
{
    return (struct tri_op){.kind = TRI_OP_PUT_COUNTER, .key = {group, worker}, .number = next};
}

struct tri_op op_delete_counter(uint64_t group, uint64_t worker)
{
    return (struct tri_op){.kind = TRI_OP_DELETE_COUNTER, .key = {group, worker}};
}

struct tri_op op_actor(uint64_t group, uint64_t serial, uint32_t incarnation, const char *image)
{
    return (struct tri_op){.kind = TRI_OP_PUT_ACTOR,
                           .type = 77,
                           .incarnation = incarnation,
                           .key = {group, serial},
                           .data = bytes_of(image)};
}

struct tri_op op_delete_actor(uint64_t group, uint64_t serial)
{
    return (struct tri_op){.kind = TRI_OP_DELETE_ACTOR, .key = {group, serial}};
}

struct tri_op op_page(uint64_t group, uint64_t serial, uint64_t page, const char *data)
{
    return (struct tri_op){
        .kind = TRI_OP_PUT_PAGE, .key = {group, serial}, .number = page, .data = bytes_of(data)};
}

struct tri_op op_delete_page(uint64_t group, uint64_t serial, uint64_t page)
{
    return (struct tri_op){.kind = TRI_OP_DELETE_PAGE, .key = {group, serial}, .number = page};
}

struct tri_op op_message(uint64_t group, uint64_t serial, uint32_t incarnation, uint64_t sequence,
                         const char *data)
{
    return (struct tri_op){.kind = TRI_OP_PUT_MESSAGE,
                           .incarnation = incarnation,
                           .key = {group, serial},
                           .to_group = group,
                           .number = sequence,
                           .data = bytes_of(data)};
}

struct tri_op op_delete_message(uint64_t group, uint64_t serial, uint32_t incarnation,
                                uint64_t sequence)
{
    return (struct tri_op){.kind = TRI_OP_DELETE_MESSAGE,
                           .incarnation = incarnation,
                           .key = {group, serial},
                           .to_group = group,
                           .number = sequence};
}

struct tri_op op_to(uint64_t to_group, struct tri_op message)
{
    message.to_group = to_group;
    return message;
}

struct tri_op op_meta(uint64_t cell, const char *data)
{
    return (struct tri_op){.kind = TRI_OP_PUT_META, .number = cell, .data = bytes_of(data)};
}

static struct tri_op graph_op(enum tri_op_kind kind, char letter, uint64_t number, const char *text)
{
    static uint8_t buffers[64][TRI_GRAPH_HASH_BYTES + 64];
    static size_t next;
    uint8_t *buffer = buffers[next++ % TR_COUNT_OF(buffers)];
    size_t size = strlen(text);
    assert_true(size <= 64);
    memset(buffer, letter, TRI_GRAPH_HASH_BYTES);
    memcpy(buffer + TRI_GRAPH_HASH_BYTES, text, size);
    struct tri_op op = {
        .kind = kind,
        .number = number,
        .data = {.data = buffer, .size = TRI_GRAPH_HASH_BYTES + size},
    };
    tri_op_sort_by_hash(&op);
    return op;
}

struct tri_op op_graph(char letter, uint64_t put_ms, const char *graph)
{
    return graph_op(TRI_OP_PUT_GRAPH, letter, put_ms, graph);
}

struct tri_op op_delete_graph(char letter, uint64_t before_ms)
{
    return graph_op(TRI_OP_DELETE_GRAPH, letter, before_ms, "");
}

struct tri_op op_crash(enum tri_crash type, uint64_t group, uint64_t number, const char *counts)
{
    return (struct tri_op){.kind = TRI_OP_PUT_CRASH,
                           .type = (uint16_t)type,
                           .incarnation = 3,
                           .key = {group, 1},
                           .number = number,
                           .data = bytes_of(counts)};
}

struct tri_op op_delete_crash(enum tri_crash type, uint64_t group, uint64_t number)
{
    return (struct tri_op){
        .kind = TRI_OP_DELETE_CRASH, .type = (uint16_t)type, .key = {group, 1}, .number = number};
}

struct tri_op op_grown(uint8_t version, uint64_t number, const char *what, uint8_t *buffer,
                       size_t size)
{
    struct tr_writer writer = tr_writer_of(buffer, size);
    if (version == 1) {
        struct tr_grown_old old = {.number = number, .what = tr_text_of(what)};
        assert_int_equal(tr_grown_old_pack(&old, &writer), 0);
    } else {
        struct tr_grown new = {.number = number, .what = tr_text_of(what), .why = tr_text_of("so")};
        assert_int_equal(tr_grown_pack(&new, &writer), 0);
    }
    return (struct tri_op){.kind = TRI_OP_PUT_RECORD,
                           .type = tr_grown_schema.id,
                           .incarnation = version,
                           .number = number,
                           .data = {.data = buffer, .size = tr_writer_size(&writer)}};
}

static struct tri_op door_op(enum tri_op_kind kind, struct tr_door row, uint64_t number)
{
    static uint8_t buffers[64][128];
    static size_t next;
    uint8_t *buffer = buffers[next++ % TR_COUNT_OF(buffers)];
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffers[0]);
    assert_int_equal(tr_door_pack(&row, &writer), 0);
    struct tri_op op = {.kind = kind,
                        .type = tr_door_schema.id,
                        .incarnation = 1,
                        .number = number,
                        .data = {.data = buffer, .size = tr_writer_size(&writer)}};
    assert_int_equal(tri_op_find_row_key(&op, &tr_door_schema), 0);
    return op;
}

struct tri_op op_door(uint64_t house, uint64_t floor, const char *door, const char *who)
{
    struct tr_door row = {.house = house,
                          .floor = {{floor, 1}, 2},
                          .door = tr_text_of(door),
                          .who = tr_text_of(who),
                          .visits = 7};
    return door_op(TRI_OP_PUT_RECORD, row, 0);
}

struct tri_op op_delete_doors(uint64_t house, uint64_t floor, const char *door, uint64_t count)
{
    struct tr_door row = {.house = house, .floor = {{floor, 1}, 2}, .door = tr_text_of(door)};
    return door_op(TRI_OP_DELETE_RECORDS, row, count);
}

/* What the journal's group does for rows: they happen in the order in which they were given. */
static void take_turns(struct tri_op *ops, size_t count)
{
    uint32_t turn = 0;
    for (size_t i = 0; i < count; i++) {
        ops[i].turn = turn;
        if (ops[i].key_size > 0 && ops[i].kind == TRI_OP_PUT_RECORD) {
            ops[i].number = i;
        } else if (ops[i].kind == TRI_OP_DELETE_RECORDS) {
            turn++;
        }
    }
}

int stand_commit(struct tri_store *store, uint64_t number, struct tri_op *ops, size_t count)
{
    take_turns(ops, count);
    qsort(ops, count, sizeof *ops, compare_ops);
    struct tri_commit commit = {.ops = ops, .count = count, .last_number = number};
    return tri_store_commit(store, &commit);
}

/* --- Contents as text. --- */

struct dump {
    char *text;
    size_t size;
    size_t capacity;
};

static void add_text(struct dump *dump, const char *text, size_t size)
{
    if (dump->size + size + 1 > dump->capacity) {
        dump->capacity = (dump->capacity + size + 1) * 2;
        dump->text = realloc(dump->text, dump->capacity);
        assert_non_null(dump->text);
    }
    memcpy(dump->text + dump->size, text, size);
    dump->size += size;
    dump->text[dump->size] = '\0';
}

static int add_op(void *self, const char *name, const struct tri_op *op)
{
    char line[160];
    int size = snprintf(line, sizeof line, "%s %llu/%llu %u %llu %u ", name,
                        (unsigned long long)op->key.group, (unsigned long long)op->key.serial,
                        op->incarnation, (unsigned long long)op->number, op->type);
    add_text(self, line, (size_t)size);
    if (op->data.size > 0) {
        add_text(self, (const char *)op->data.data, op->data.size);
    }
    add_text(self, "\n", 1);
    return 0;
}

static int add_counter(void *self, const struct tri_op *op)
{
    assert_int_equal(op->kind, TRI_OP_PUT_COUNTER);
    return add_op(self, "counter", op);
}

static int add_actor(void *self, const struct tri_op *op)
{
    assert_int_equal(op->kind, TRI_OP_PUT_ACTOR);
    return add_op(self, "actor", op);
}

static int add_page(void *self, const struct tri_op *op)
{
    assert_int_equal(op->kind, TRI_OP_PUT_PAGE);
    return add_op(self, "page", op);
}

static int add_message(void *self, const struct tri_op *op)
{
    char name[48];
    assert_int_equal(op->kind, TRI_OP_PUT_MESSAGE);
    snprintf(name, sizeof name, "message to %llu from", (unsigned long long)op->to_group);
    return add_op(self, op->to_group == op->key.group ? "message" : name, op);
}

char *stand_try_dump(struct tri_store *store, int *error)
{
    struct dump dump = {0};
    struct tri_store_visitor visitor = {.self = &dump,
                                        .counter = add_counter,
                                        .actor = add_actor,
                                        .page = add_page,
                                        .message = add_message};
    add_text(&dump, "", 0);
    *error = tri_store_load(store, &visitor);
    if (*error != 0) {
        free(dump.text);
        return NULL;
    }
    return dump.text;
}

char *stand_dump(struct tri_store *store)
{
    int error = 0;
    char *text = stand_try_dump(store, &error);
    if (text == NULL) {
        fail_msg("%s: %s", tr_error_name(error), tri_store_explain(store));
    }
    return text;
}

void stand_expect_ranges(struct tri_store *store, const struct tri_group_range *ranges,
                         size_t count)
{
    /* All counters come first, and all messages last. */
    struct dump parts[] = {{0}, {0}, {0}};
    struct tri_store_visitor visitors[] = {
        {.self = &parts[0], .counter = add_counter},
        {.self = &parts[1], .actor = add_actor, .page = add_page},
        {.self = &parts[2], .message = add_message},
    };
    for (size_t part = 0; part < TR_COUNT_OF(parts); part++) {
        add_text(&parts[part], "", 0);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(tri_store_load_groups(store, ranges[i], &visitors[part]), 0);
        }
    }
    add_text(&parts[0], parts[1].text, parts[1].size);
    add_text(&parts[0], parts[2].text, parts[2].size);
    stand_expect(store, parts[0].text);
    for (size_t part = 0; part < TR_COUNT_OF(parts); part++) {
        free(parts[part].text);
    }
}

void stand_expect(struct tri_store *store, const char *text)
{
    char *dump = stand_dump(store);
    assert_string_equal(dump, text);
    free(dump);
}

static int add_crash(void *self, const struct tri_op *op)
{
    assert_int_equal(op->kind, TRI_OP_PUT_CRASH);
    return add_op(self, "crash", op);
}

/* What a list of graphs has told: the hash of the last one, from which the next list goes on. */
struct graph_dump {
    struct dump text;
    struct tri_store *store;
    uint8_t last[TRI_GRAPH_HASH_BYTES];
    size_t count;
};

static int add_graph(void *self, const struct tri_graph_entry *graph)
{
    struct graph_dump *dump = self;
    char line[160];
    uint8_t *data = NULL;
    size_t size = 0;
    assert_int_equal(tri_store_read_graph(dump->store, graph->hash, &data, &size), 0);
    assert_int_equal(size, graph->bytes);
    int length = snprintf(line, sizeof line, "%c %llu %zu %.*s\n", graph->hash[0],
                          (unsigned long long)graph->put_ms, size, (int)size, (const char *)data);
    add_text(&dump->text, line, (size_t)length);
    memcpy(dump->last, graph->hash, sizeof dump->last);
    dump->count++;
    tr_free(data);
    return 0;
}

/* By twos, as they would be in large stores. */
static char *dump_graphs(struct tri_store *store)
{
    struct graph_dump dump = {.store = store};
    size_t before = 0;
    add_text(&dump.text, "", 0);
    do {
        before = dump.count;
        assert_int_equal(
            tri_store_list_graphs(store, before == 0 ? NULL : dump.last, 2, add_graph, &dump), 0);
    } while (dump.count > before);
    return dump.text.text;
}

static char *dump_crashes(struct tri_store *store)
{
    struct dump dump = {0};
    add_text(&dump, "", 0);
    assert_int_equal(tri_store_list_crashes(store, add_crash, &dump), 0);
    return dump.text;
}

char *stand_dump_rest(struct tri_store *store)
{
    char *graphs = dump_graphs(store);
    char *crashes = dump_crashes(store);
    struct dump both = {0};
    add_text(&both, graphs, strlen(graphs));
    add_text(&both, crashes, strlen(crashes));
    free(graphs);
    free(crashes);
    return both.text;
}

void stand_expect_graphs(struct tri_store *store, const char *text)
{
    char *dump = dump_graphs(store);
    assert_string_equal(dump, text);
    free(dump);
}

void stand_expect_crashes(struct tri_store *store, const char *text)
{
    char *dump = dump_crashes(store);
    assert_string_equal(dump, text);
    free(dump);
}

/* --- Runs. --- */

static uint64_t draw(uint64_t *random)
{
    *random += 0x9e3779b97f4a7c15ULL;
    uint64_t value = *random;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

/* As in a store of an engine, an actor that has ended never begins again, and no message does. */
#define LIFE_COMMITS 16

static struct tr_key draw_actor(uint64_t *random, uint64_t number, bool has_ended)
{
    uint64_t life = number / LIFE_COMMITS + 1;
    struct tr_key key = {1 + draw(random) % 3, 1 + draw(random) % 12};
    key.serial += 12 * (has_ended ? life - 1 : life);
    return key;
}

/* Messages are those of this commit, or of one before. */
static void draw_message(uint64_t *random, uint64_t number, struct tri_op *op)
{
    uint64_t age = op->kind == TRI_OP_DELETE_MESSAGE ? draw(random) % 3 : 0;
    op->key = (struct tr_key){1 + draw(random) % 2, 1 + draw(random) % 2};
    op->number = number < age ? 0 : 4 * (number - age) + draw(random) % 4;
    op->incarnation = (uint32_t)(op->number % 3);
    op->to_group = 1 + op->number % 3;
}

static struct tri_op draw_op(uint64_t *random, uint64_t commit, uint8_t *bytes)
{
    static const enum tri_op_kind kinds[] = {
        TRI_OP_PUT_COUNTER,  TRI_OP_DELETE_COUNTER, TRI_OP_PUT_ACTOR,  TRI_OP_PUT_ACTOR,
        TRI_OP_DELETE_ACTOR, TRI_OP_PUT_PAGE,       TRI_OP_PUT_PAGE,   TRI_OP_DELETE_PAGE,
        TRI_OP_PUT_MESSAGE,  TRI_OP_DELETE_MESSAGE, TRI_OP_PUT_RECORD, TRI_OP_PUT_META,
        TRI_OP_PUT_RECORD,   TRI_OP_DELETE_RECORDS, TRI_OP_PUT_GRAPH,  TRI_OP_DELETE_GRAPH,
        TRI_OP_PUT_CRASH,    TRI_OP_DELETE_CRASH};
    struct tri_op op = {.kind = kinds[draw(random) % TR_COUNT_OF(kinds)]};
    uint64_t number = draw(random) % 6;
    if (op.kind == TRI_OP_DELETE_RECORDS || (op.kind == TRI_OP_PUT_RECORD && number > 1)) {
        char door[2] = {(char)('a' + (int)(draw(random) % 5)), '\0'};
        uint64_t house = draw(random) % 4;
        return op.kind == TRI_OP_PUT_RECORD
                   ? op_door(house, number, door, "run")
                   : op_delete_doors(house, number, door, number == 0 ? 1 : 2 + number % 2);
    }
    if (op.kind == TRI_OP_PUT_RECORD) {
        return op_grown(2, draw(random), "run", bytes, 1024);
    }
    if (op.kind == TRI_OP_PUT_GRAPH || op.kind == TRI_OP_DELETE_GRAPH) {
        return graph_op(op.kind, (char)('a' + (int)(draw(random) % 6)), number,
                        op.kind == TRI_OP_PUT_GRAPH ? "of a run" : "");
    }
    if (op.kind == TRI_OP_PUT_CRASH || op.kind == TRI_OP_DELETE_CRASH) {
        enum tri_crash type = number % 2 == 0 ? TRI_CRASH_MESSAGE : TRI_CRASH_GROUP;
        uint64_t group = draw(random) % 4;
        return op.kind == TRI_OP_PUT_CRASH ? op_crash(type, group, number, "run")
                                           : op_delete_crash(type, group, number);
    }
    if (op.kind != TRI_OP_PUT_META) {
        op.key = draw_actor(random, commit, op.kind == TRI_OP_DELETE_ACTOR);
    }
    op.number = op.kind == TRI_OP_PUT_ACTOR ? 0 : number;
    if (op.kind == TRI_OP_PUT_ACTOR) {
        op.incarnation = (uint32_t)draw(random);
    }
    if (op.kind == TRI_OP_PUT_MESSAGE || op.kind == TRI_OP_DELETE_MESSAGE) {
        draw_message(random, commit, &op);
    }
    size_t size = draw(random) % 8 == 0 ? 900 : draw(random) % 40;
    memset(bytes, 'a' + (int)(draw(random) % 26), size);
    op.data = (struct tr_bytes){.data = bytes, .size = size};
    return op;
}

/* Whether two operations are about the same thing, as a commit may name it but once. */
static bool is_same_thing(const struct tri_op *a, const struct tri_op *b)
{
    bool of_actors = a->kind <= TRI_OP_DELETE_PAGE && b->kind <= TRI_OP_DELETE_PAGE &&
                     a->kind >= TRI_OP_PUT_ACTOR && b->kind >= TRI_OP_PUT_ACTOR;
    bool of_messages = a->kind >= TRI_OP_PUT_MESSAGE && a->kind <= TRI_OP_DELETE_MESSAGE &&
                       b->kind >= TRI_OP_PUT_MESSAGE && b->kind <= TRI_OP_DELETE_MESSAGE;
    if (of_actors) {
        return tr_key_equal(a->key, b->key) &&
               (a->kind <= TRI_OP_DELETE_ACTOR || b->kind <= TRI_OP_DELETE_ACTOR ||
                a->number == b->number);
    }
    bool of_counters = (a->kind == TRI_OP_PUT_COUNTER || a->kind == TRI_OP_DELETE_COUNTER) &&
                       (b->kind == TRI_OP_PUT_COUNTER || b->kind == TRI_OP_DELETE_COUNTER);
    if (of_counters) {
        return tr_key_equal(a->key, b->key);
    }
    if (a->kind == b->kind && a->kind >= TRI_OP_PUT_GRAPH && a->kind <= TRI_OP_DELETE_GRAPH) {
        return tr_key_equal(a->key, b->key);
    }
    if (a->kind >= TRI_OP_PUT_CRASH && b->kind >= TRI_OP_PUT_CRASH) {
        return a->type == b->type && tr_key_equal(a->key, b->key) && a->number == b->number;
    }
    if (of_messages || (a->kind == TRI_OP_PUT_META && b->kind == TRI_OP_PUT_META)) {
        return tr_key_equal(a->key, b->key) && a->number == b->number &&
               a->incarnation == b->incarnation;
    }
    return false;
}

static bool is_new_thing(const struct tri_op *ops, size_t count, const struct tri_op *op)
{
    for (size_t i = 0; i < count; i++) {
        if (is_same_thing(&ops[i], op)) {
            return false;
        }
    }
    return true;
}

size_t stand_run_ops(uint64_t run, uint64_t number, struct tri_op *ops, uint8_t *bytes)
{
    uint64_t random = run * 1000003 + number;
    size_t wanted = 1 + draw(&random) % ((STAND_RUN_OPS_MAX - 1) / 2);
    size_t count = 0;
    ops[count++] = op_counter(100, 0, number); /* so that no two commits leave the same */
    for (size_t i = 0; i < wanted; i++) {
        struct tri_op op = draw_op(&random, number, bytes + count * 1024);
        if (!is_new_thing(ops, count, &op)) {
            continue;
        }
        ops[count++] = op;
        /* A page belongs to an actor, so it comes with one. */
        if (op.kind == TRI_OP_PUT_PAGE) {
            ops[count++] = op_actor(op.key.group, op.key.serial, 1, "owner");
        }
    }
    take_turns(ops, count);
    qsort(ops, count, sizeof *ops, compare_ops);
    return count;
}
