/*
 * What the tests of stores stand on: the places a store may live in (SQLite in a folder, SQLite on
 * a simulated disk, the model, a modelled database server, a schema of a real PostgreSQL server),
 * operations in few words, and a store's contents as text.
 */
#ifndef TR_TESTS_UNIT_RUNTIME_STAND_H
#define TR_TESTS_UNIT_RUNTIME_STAND_H

#include "tests/support/test.h"

#include "runtime/journal/reader.h"
#include "runtime/journal/store.h"
#include "tests/sim/database.h"
#include "tests/sim/disk.h"
#include "tests/sim/model_store.h"
#include "tests/support/postgres_server.h"

enum stand_kind {
    STAND_FOLDER,
    STAND_DISK,
    STAND_MODEL,
    STAND_DATABASE,
    STAND_POSTGRES,
    STAND_FOLDER_LOG, /* with a commit log in front; stands of these kinds have the kind without */
    STAND_POSTGRES_LOG,
    STAND_COUNT
};

struct stand {
    enum stand_kind kind;
    char folder[64]; /* or the schema */
    char locator[POSTGRES_LOCATOR_BYTES];
    struct tri_disk *disk;
    struct tri_model *model;
    struct tri_database *database;
    uint64_t now_ns;                         /* of the database */
    enum tr_durability durability;           /* of openings; full */
    const struct tri_commit_log_limits *log; /* in front of the store; NULL: none */
};

/* A place without a store. Closing it removes all that is in it. */
struct stand *stand_new(enum stand_kind kind);
void stand_free(struct stand *stand);

/* Durability full, for writing, with the records below at their newest versions. */
struct tri_store_options stand_options(const struct stand *stand);

/* Opens a store there and says what comes of it; stand_open insists. */
int stand_try(struct stand *stand, const struct tri_store_options *options, char *explain,
              struct tri_store **store);
struct tri_store *stand_open(struct stand *stand);
struct tri_store *stand_open_reader(struct stand *stand);

/* From now on a second engine gets past the lock of this one, as when somebody removed it. */
void stand_lose_lock(struct stand *stand, struct tri_store *store);

/* The process of a store that is a model ends, as by kill -9; whether it is one. */
bool stand_kill(struct stand *stand);

/* How many records of a type are in the store. */
size_t stand_count_records(struct stand *stand, const struct tr_schema *schema);

/* A test that runs on every kind; its state points to the kind. */
struct stand_test {
    const char *name;
    CMUnitTestFunction function;
    bool is_of_tables;
};

#define STAND_TEST(function)       \
    {                              \
#function, function, false \
    }

/*
 * One of a store without a log. What tables refuse, a log finds out after it has acknowledged it;
 * it has room of its own; and it is only for actors and messages that come once.
 */
#define STAND_TEST_OF_TABLES(function) \
    {                                  \
#function, function, true      \
    }
#define STAND_TESTS_MAX 32

/* Runs each of the tests on each kind and returns how many failed. */
int stand_run_suite(const char *name, const struct stand_test *tests, size_t count);

/* The same on each database, whose records are read: a folder of SQLite's, and PostgreSQL. */
int stand_run_databases(const char *name, const struct stand_test *tests, size_t count);

/* Opens a reader of some records; stand_read insists, and reads the newest. */
int stand_try_read(const struct stand *stand, const struct tr_schema *const *records, size_t count,
                   char *explain, struct tr_reader **reader);
struct tr_reader *stand_read(const struct stand *stand);

/* Asks a database: all rows as lines, with bars between columns, and NULL as `-`. */
void stand_ask(const struct stand *stand, const char *sql, char *text, size_t size);

/* Runs SQL on the store's tables, in a database. */
void stand_spoil(const struct stand *stand, const char *sql);

/* The path of one of the store's files. */
void stand_path(const struct stand *stand, const char *name, char *path, size_t size);

/* --- Records: `grown` in two versions under one name, and `wide` with every kind of field. --- */

#define TR_GROWN_OLD_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)              \
    FIELD(text, what, 1, 0)

#define TR_GROWN_FIELDS(FIELD, ARRAY) \
    TR_GROWN_OLD_FIELDS(FIELD, ARRAY) \
    FIELD(text, why, 2, 0)            \
    FIELD(ref, group, 2, 0)           \
    FIELD(f64, share, 2, 0)

#define TR_WIDE_FIELDS(FIELD, ARRAY)    \
    FIELD(bool, truth, 1, 0)            \
    FIELD(u8, tiny, 1, 0)               \
    FIELD(u16, small, 1, 0)             \
    FIELD(u32, middling, 1, 0)          \
    FIELD(u64, large, 1, 0)             \
    FIELD(i64, below, 1, 0)             \
    FIELD(f64, real, 1, 0)              \
    FIELD(key, who, 1, 0)               \
    FIELD(ref, whom, 1, 0)              \
    FIELD(text, words, 1, 0)            \
    FIELD(bytes, blob, 1, 0)            \
    FIELD(any, tree, 1, 0)              \
    FIELD(text, secret, 1, TR_REDACTED) \
    ARRAY(text, label, 24, 1, 0)        \
    ARRAY(bytes, digest, 32, 1, 0)

/* With a key: of these, one row for each house, floor and door. */
#define TR_DOOR_FIELDS(FIELD, ARRAY) \
    FIELD(u64, house, 1, TR_ROW_KEY) \
    FIELD(ref, floor, 1, TR_ROW_KEY) \
    FIELD(text, door, 1, TR_ROW_KEY) \
    FIELD(text, who, 1, 0)           \
    FIELD(u32, visits, 1, 0)

#define STAND_SCHEMAS(S)                                    \
    S(grown_old, 901, TR_RECORD, 1, 0, TR_GROWN_OLD_FIELDS) \
    S(grown, 901, TR_RECORD, 2, 0, TR_GROWN_FIELDS)         \
    S(wide, 902, TR_RECORD, 1, 0, TR_WIDE_FIELDS)           \
    S(door, 905, TR_RECORD, 1, 0, TR_DOOR_FIELDS)

STAND_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/* `grown_old` under the name of `grown`, as an older program knows it. */
const struct tr_schema *stand_grown_old(void);

/* --- Operations in few words. Text is the data; its bytes are the caller's. --- */

struct tri_op op_counter(uint64_t group, uint64_t worker, uint64_t next);
struct tri_op op_delete_counter(uint64_t group, uint64_t worker);
struct tri_op op_actor(uint64_t group, uint64_t serial, uint32_t incarnation, const char *image);
struct tri_op op_delete_actor(uint64_t group, uint64_t serial);
struct tri_op op_page(uint64_t group, uint64_t serial, uint64_t page, const char *data);
struct tri_op op_delete_page(uint64_t group, uint64_t serial, uint64_t page);
/* To the sender's own group; op_to gives another. */
struct tri_op op_message(uint64_t group, uint64_t serial, uint32_t incarnation, uint64_t sequence,
                         const char *data);
struct tri_op op_delete_message(uint64_t group, uint64_t serial, uint32_t incarnation,
                                uint64_t sequence);
struct tri_op op_to(uint64_t to_group, struct tri_op message);
struct tri_op op_meta(uint64_t cell, const char *data);

/*
 * A graph whose hash is 32 times this letter, put at a time, and its deletion up to a time; in
 * buffers that last for some calls.
 */
struct tri_op op_graph(char letter, uint64_t put_ms, const char *graph);
struct tri_op op_delete_graph(char letter, uint64_t before_ms);
struct tri_op op_crash(enum tri_crash type, uint64_t group, uint64_t number, const char *counts);
struct tri_op op_delete_crash(enum tri_crash type, uint64_t group, uint64_t number);

/* A record `grown` at a version; it is packed into `buffer`. */
struct tri_op op_grown(uint8_t version, uint64_t number, const char *what, uint8_t *buffer,
                       size_t size);

/* A row `door`, whose floor is {{floor, 1}, 2}, packed into a buffer that lasts for some calls. */
struct tri_op op_door(uint64_t house, uint64_t floor, const char *door, const char *who);

/* The deletion of all doors with the same first `count` fields. */
struct tri_op op_delete_doors(uint64_t house, uint64_t floor, const char *door, uint64_t count);

/* All doors of a store in the order of their keys, a line for each; `text` has room for `size`. */
void stand_doors(struct stand *stand, char *text, size_t size);

/* Sorts the operations, rows and deletions of rows in the order given, and commits them. */
int stand_commit(struct tri_store *store, uint64_t number, struct tri_op *ops, size_t count);

#define COMMIT(store, number, ...)                                  \
    stand_commit((store), (number), (struct tri_op[]){__VA_ARGS__}, \
                 TR_COUNT_OF(((struct tri_op[]){__VA_ARGS__})))

/* Everything that the store tells when it loads, a line for each; the caller frees it. */
char *stand_dump(struct tri_store *store);

/* The same, or NULL and the error where it cannot be loaded. */
char *stand_try_dump(struct tri_store *store, int *error);

/* Insists that so many ranges of groups, told one after the other, are all that the store tells. */
void stand_expect_ranges(struct tri_store *store, const struct tri_group_range *ranges,
                         size_t count);

/* Insists that the store tells exactly this. */
void stand_expect(struct tri_store *store, const char *text);

/* Insists that these are its graphs, a line for each: a letter of the hash, time, bytes, text. */
void stand_expect_graphs(struct tri_store *store, const char *text);

/* Insists that these are its counts of crashes, a line for each. */
void stand_expect_crashes(struct tri_store *store, const char *text);

/* Both as text, which the caller frees. */
char *stand_dump_rest(struct tri_store *store);

/* A commit of a long run: any of all operations, the same for the same run and number. */
#define STAND_RUN_OPS_MAX 49
size_t stand_run_ops(uint64_t run, uint64_t number, struct tri_op *ops, uint8_t *bytes);

/* Bytes that stand_run_ops needs. */
#define STAND_RUN_BYTES (STAND_RUN_OPS_MAX * 1024)

#endif
