/*
 * What only PostgreSQL has to take care of in a commit and a load: zero bytes in text, keys that
 * become equal by them, numbers of all bits, commits of several statements, and many rows.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/runtime/stand.h"

static void query(const struct stand *stand, const char *columns, const char *rest, char *text,
                  size_t size)
{
    char sql[512];
    (void)snprintf(sql, sizeof sql, "SELECT %s FROM %s.%s", columns, stand->folder, rest);
    postgres_server_run(sql, text, size);
}

static void expect(const struct stand *stand, const char *columns, const char *rest,
                   const char *expected)
{
    char text[1024];
    query(stand, columns, rest, text, sizeof text);
    assert_string_equal(text, expected);
}

static struct tr_text text_of(const char *data, size_t size)
{
    return (struct tr_text){.data = data, .size = size};
}

static struct tri_op door_with(const char *door, size_t size, uint32_t visits, uint8_t *bytes,
                               size_t capacity)
{
    struct tr_door row = {.house = 1,
                          .floor = {{2, 3}, 4},
                          .door = text_of(door, size),
                          .who = text_of("a\0b", 3),
                          .visits = visits};
    struct tr_writer writer = tr_writer_of(bytes, capacity);
    assert_int_equal(tr_door_pack(&row, &writer), 0);
    struct tri_op op = {.kind = TRI_OP_PUT_RECORD,
                        .type = tr_door_schema.id,
                        .incarnation = 1,
                        .data = {.data = bytes, .size = tr_writer_size(&writer)}};
    assert_int_equal(tri_op_find_row_key(&op, &tr_door_schema), 0);
    return op;
}

static void test_zero_bytes_in_text(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_POSTGRES);
    struct tri_store *store = stand_open(stand);
    uint8_t bytes[3][128];
    assert_int_equal(COMMIT(store, 1, door_with("x", 1, 1, bytes[0], 128)), 0);
    expect(stand, "who", "record_door",
           "a\xef\xbf\xbd"
           "b\n");
    /* Two keys of one run that are stored as the same: the one that comes later stays. */
    assert_int_equal(COMMIT(store, 2, door_with("\0", 1, 1, bytes[0], 128),
                            door_with("y", 1, 2, bytes[1], 128),
                            door_with("\xef\xbf\xbd", 3, 3, bytes[2], 128)),
                     0);
    expect(stand, "door || visits", "record_door ORDER BY door",
           "x1\ny2\n\xef\xbf\xbd"
           "3\n");
    struct tri_op deletion = door_with("\0", 1, 0, bytes[0], 128);
    deletion.kind = TRI_OP_DELETE_RECORDS;
    deletion.number = 3;
    assert_int_equal(COMMIT(store, 3, deletion), 0);
    expect(stand, "door || visits", "record_door ORDER BY door", "x1\ny2\n");
    tri_store_close(store);
    stand_free(stand);
}

static void test_every_kind_of_field(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_POSTGRES);
    struct tri_store *store = stand_open(stand);
    static const uint8_t nil[] = {0xc0};
    static const uint8_t blob[] = {0, 1, 0xff};
    struct tr_wide row = {.truth = true,
                          .tiny = UINT8_MAX,
                          .small = UINT16_MAX,
                          .middling = UINT32_MAX,
                          .large = UINT64_MAX,
                          .below = INT64_MIN,
                          .real = NAN,
                          .who = {1, 2},
                          .whom = {{3, 4}, UINT32_MAX},
                          .words = tr_text_of("words"),
                          .blob = {blob, sizeof blob},
                          .tree = {nil, sizeof nil}};
    assert_int_equal(tr_array_set(&row.label, tr_text_of("label")), 0);
    uint8_t bytes[2][512];
    struct tr_writer writer = tr_writer_of(bytes[0], sizeof bytes[0]);
    assert_int_equal(tr_wide_pack(&row, &writer), 0);
    struct tri_op op = {.kind = TRI_OP_PUT_RECORD,
                        .type = tr_wide_schema.id,
                        .incarnation = 1,
                        .data = {bytes[0], tr_writer_size(&writer)}};
    row.real = -0.5;
    struct tr_writer other = tr_writer_of(bytes[1], sizeof bytes[1]);
    assert_int_equal(tr_wide_pack(&row, &other), 0);
    struct tri_op second = op;
    second.number = 1;
    second.data = (struct tr_bytes){bytes[1], tr_writer_size(&other)};
    assert_int_equal(COMMIT(store, 1, op, second), 0);
    expect(
        stand,
        "concat_ws(' ', truth, tiny, small, middling, large, below, coalesce(real::text, 'none'),"
        " who_group, who_serial, whom_group, whom_serial, whom_incarnation, words, blob, tree,"
        " secret, label, digest)",
        "record_wide ORDER BY record_id",
        "1 255 65535 4294967295 -1 -9223372036854775808 none 1 2 3 4 4294967295 words \\x0001ff"
        " \\xc0  label \\x\n"
        "1 255 65535 4294967295 -1 -9223372036854775808 -0.5 1 2 3 4 4294967295 words \\x0001ff"
        " \\xc0  label \\x\n");
    tri_store_close(store);
    stand_free(stand);
}

/* More rows and bytes than a statement takes, and rows of any size to be read in pieces. */
static void test_large_commits_and_loads(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_POSTGRES);
    struct stand *other = stand_new(STAND_MODEL);
    struct tri_store *store = stand_open(stand);
    struct tri_store *model = stand_open(other);
    enum { COUNT = 26000, LARGE = 16000, LARGE_COUNT = 1400 };
    struct tri_op *ops = calloc(COUNT + 2 * LARGE_COUNT, sizeof *ops);
    char *large = malloc(LARGE + 1);
    assert_true(ops != NULL && large != NULL);
    memset(large, 'x', LARGE);
    large[LARGE] = '\0';
    size_t count = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        ops[count++] = op_message(1, i % 7, 1, i % 5 == 0 ? UINT64_MAX - i : i, "small");
    }
    for (uint64_t i = 0; i < LARGE_COUNT; i++) {
        ops[count++] = op_actor(2, i, 1, i % 9 == 0 ? "a" : "bb");
        ops[count++] = op_page(2, i, i % 3, i % 11 == 0 ? "tiny" : large);
    }
    assert_int_equal(stand_commit(store, 1, ops, count), 0);
    assert_int_equal(stand_commit(model, 1, ops, count), 0);
    char *expected = stand_dump(model);
    stand_expect(store, expected);
    free(expected);
    free(ops);
    free(large);
    tri_store_close(store);
    tri_store_close(model);
    stand_free(stand);
    stand_free(other);
}

static struct tri_op new_actor(uint64_t serial, const char *image)
{
    struct tri_op op = op_actor(1, serial, 1, image);
    op.is_new = true;
    return op;
}

/* Insists that the store has used a statement on actors, or has not. */
static void expect_statement(struct tri_store *store, const char *name, bool is_used)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "DO $$ BEGIN IF %s EXISTS (SELECT FROM pg_prepared_statements WHERE name = '%s')"
                   " THEN RAISE 'not so: %s'; END IF; END $$",
                   is_used ? "NOT" : "", name, name);
    postgres_server_run_as(store, sql);
}

/*
 * Actors that are new are added. Where one is there after all, nothing of the transaction stays,
 * and another one replaces it.
 */
static void test_new_rows_are_added_unless_one_is_there(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_POSTGRES);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, new_actor(1, "a"), new_actor(2, "b")), 0);
    expect_statement(store, "add_actor", true);
    expect_statement(store, "put_actor", false);
    assert_int_equal(COMMIT(store, 2, new_actor(2, "c"), new_actor(3, "d")), 0);
    expect_statement(store, "put_actor", true);
    assert_int_equal(COMMIT(store, 3, new_actor(3, "e")), 0);
    stand_expect(store, "actor 1/1 1 0 77 a\nactor 1/2 1 0 77 c\nactor 1/3 1 0 77 e\n");
    tri_store_close(store);
    stand_free(stand);
}

/* What is wrong in the middle of a commit takes back what went before it. */
static void test_a_bad_record_takes_all_back(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_POSTGRES);
    struct tri_store *store = stand_open(stand);
    uint8_t bytes[2][128];
    struct tri_op cut = op_grown(2, 2, "cut", bytes[1], 128);
    cut.data.size--;
    assert_int_equal(
        COMMIT(store, 1, op_actor(1, 1, 1, "a"), op_grown(2, 1, "whole", bytes[0], 128), cut),
        TR_TRUNCATED);
    assert_non_null(strstr(tri_store_explain(store), "grown"));
    stand_expect(store, "");
    assert_int_equal(stand_count_records(stand, &tr_grown_schema), 0);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    tri_store_release_memory(store);
    assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "b")), 0);
    stand_expect(store, "actor 1/1 1 0 77 a\nactor 1/2 1 0 77 b\n");
    tri_store_close(store);
    stand_free(stand);
}

/* Errors by what the server says: a trigger says it in place of a server in trouble. */
static void test_errors_of_the_server(void **state)
{
    (void)state;
    static const struct {
        const char *state;
        int error;
        const char *words;
    } cases[] = {
        {"53100", TR_STORE_FULL, "free space"},
        {"53200", TR_BUSY, "memory"},
        {"40001", TR_BUSY, "retried"},
        {"40P01", TR_BUSY, "retried"},
        {"55P03", TR_BUSY, "lock"},
        {"57014", TR_BUSY, "cancelled"},
        {"08006", TR_BUSY, "was lost"},
        {"25006", TR_BUSY, "was lost"},
        {"57P01", TR_BUSY, "was lost"},
        {"40003", TR_BUSY, "was lost"},
        {"42501", TR_STORE_FAILED, "GRANT"},
        {"XX001", TR_STORE_DAMAGED, "backup"},
        {"22003", TR_STORE_FAILED, "committing"},
        {"TR001", TR_FENCED, "must end"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct stand *stand = stand_new(STAND_POSTGRES);
        struct tri_store *store = stand_open(stand);
        char sql[512];
        (void)snprintf(sql, sizeof sql,
                       "CREATE FUNCTION %s.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                       " RAISE EXCEPTION 'refused' USING ERRCODE = '%s'; END $$;"
                       "CREATE TRIGGER refuse BEFORE INSERT ON %s.actors"
                       " EXECUTE FUNCTION %s.refuse()",
                       stand->folder, cases[i].state, stand->folder, stand->folder);
        postgres_server_run(sql, NULL, 0);
        assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), cases[i].error);
        if (strstr(tri_store_explain(store), cases[i].words) == NULL) {
            fail_msg("%s: %s", cases[i].state, tri_store_explain(store));
        }
        (void)snprintf(sql, sizeof sql, "DROP FUNCTION %s.refuse CASCADE", stand->folder);
        postgres_server_run(sql, NULL, 0);
        int again = COMMIT(store, 1, op_actor(1, 1, 1, "a"));
        assert_int_equal(again, tr_error_is_shortage(cases[i].error) ? 0 : cases[i].error);
        tri_store_close(store);
        stand_free(stand);
    }
}

/* Whether this program and its server see mounts of their own, which end with them; only root. */
static bool has_own_mounts;

static int part_mounts(void **state)
{
    (void)state;
    has_own_mounts =
        unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    return 0;
}

static int commit_pages(struct tri_store *store, uint64_t number)
{
    static char large[16001];
    struct tri_op ops[101] = {op_actor(1, number, 1, "a")};
    memset(large, 'x', sizeof large - 1);
    for (uint64_t i = 0; i < 100; i++) {
        ops[1 + i] = op_page(1, number, i, large);
    }
    return stand_commit(store, number, ops, TR_COUNT_OF(ops));
}

/* A file system of 4 MiB for the pages' table, of which each commit takes 1.6. */
static void test_a_full_file_system_is_waited_out(void **state)
{
    (void)state;
    char folder[] = "/tmp/troupe_room_XXXXXX";
    char sql[160];
    struct stat owner;
    if (!has_own_mounts || mkdtemp(folder) == NULL) {
        skip();
    }
    struct stand *stand = stand_new(STAND_POSTGRES);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(stat(postgres_server_folder(), &owner), 0);
    assert_int_equal(mount("tmpfs", folder, "tmpfs", 0, "size=4m"), 0);
    assert_int_equal(chown(folder, owner.st_uid, owner.st_gid), 0);
    (void)snprintf(sql, sizeof sql, "CREATE TABLESPACE small LOCATION '%s'", folder);
    postgres_server_run(sql, NULL, 0);
    (void)snprintf(sql, sizeof sql, "ALTER TABLE %s.pages SET TABLESPACE small", stand->folder);
    postgres_server_run(sql, NULL, 0);
    uint64_t number = 1;
    int error = commit_pages(store, number);
    while (error == 0 && number < 10) {
        error = commit_pages(store, ++number);
    }
    assert_int_equal(error, TR_STORE_FULL);
    assert_non_null(strstr(tri_store_explain(store), "free space"));
    assert_int_equal(commit_pages(store, number), TR_STORE_FULL);
    assert_int_equal(store->last_number, number - 1);
    assert_int_equal(mount("tmpfs", folder, "tmpfs", MS_REMOUNT, "size=64m"), 0);
    assert_int_equal(commit_pages(store, number), 0);
    assert_int_equal(store->last_number, number);
    tri_store_close(store);
    stand_free(stand);
    postgres_server_run("DROP TABLESPACE small", NULL, 0);
    assert_int_equal(umount(folder), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zero_bytes_in_text),
        cmocka_unit_test(test_every_kind_of_field),
        cmocka_unit_test(test_large_commits_and_loads),
        cmocka_unit_test(test_new_rows_are_added_unless_one_is_there),
        cmocka_unit_test(test_a_bad_record_takes_all_back),
        cmocka_unit_test(test_errors_of_the_server),
        cmocka_unit_test(test_a_full_file_system_is_waited_out),
    };
    return cmocka_run_group_tests(tests, part_mounts, NULL);
}
