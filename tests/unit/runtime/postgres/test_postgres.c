/*
 * How a store in PostgreSQL is opened, and in which words it is not: locators, servers, users,
 * rights, schemas that are another program's, newer or damaged.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/journal/store_folder.h"
#include "runtime/postgres/postgres.h"
#include "runtime/store_care.h"
#include "runtime/store_open.h"
#include "tests/support/folder.h"
#include "tests/unit/runtime/stand.h"

/* What was said of an error, with both of these words in it, and never a password. */
static void check_words(int got, int error, const char *explain, const char *words,
                        const char *more)
{
    if (got != error || strstr(explain, words) == NULL || strstr(explain, more) == NULL ||
        strstr(explain, "geheim") != NULL) {
        fail_msg("%s instead of %s: %s", tr_error_name(got), tr_error_name(error), explain);
    }
}

/* Opening this locator ends in this error, and in words with both of these. */
static void expect(const char *locator, bool read_only, int error, const char *words,
                   const char *more)
{
    struct tri_store_options options = {
        .locator = locator, .durability = TR_DURABILITY_FULL, .read_only = read_only};
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store *store = NULL;
    check_words(tri_store_open(&options, explain, &store), error, explain, words, more);
}

/* Making a store there ends so. */
static void expect_init(const char *locator, int error, const char *words, const char *more)
{
    struct tri_store_options options = {.locator = locator, .durability = TR_DURABILITY_FULL};
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    bool was_made = false;
    check_words(tri_store_init(&options, explain, &was_made), error, explain, words, more);
    assert_false(was_made);
}

/* Whether one was made that was not there. */
static bool init(const char *locator)
{
    struct tri_store_options options = {.locator = locator, .durability = TR_DURABILITY_FULL};
    bool was_made = false;
    assert_int_equal(tri_store_init(&options, NULL, &was_made), 0);
    return was_made;
}

static void run_in(const char *schema, const char *format)
{
    char sql[1024];
    size_t at = 0;
    for (; *format != '\0' && at + 80 < sizeof sql; format++) {
        if (*format == '@') {
            at += (size_t)snprintf(sql + at, sizeof sql - at, "%s", schema);
        } else {
            sql[at++] = *format;
        }
    }
    sql[at] = '\0';
    postgres_server_run(sql, NULL, 0);
}

/* A store without records, in a new schema. */
static void make_store(char *schema, size_t size, char *locator)
{
    postgres_server_schema(schema, size);
    postgres_server_locator("postgres", schema, locator);
    assert_true(init(locator));
    assert_false(init(locator));
}

static void test_more_partitions_than_there_may_be(void **state)
{
    (void)state;
    char schema[48];
    char locator[POSTGRES_LOCATOR_BYTES];
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    bool was_made = false;
    struct tri_store_options options = {
        .locator = locator, .durability = TR_DURABILITY_FULL, .partitions = TR_PARTITIONS_MAX + 1};
    postgres_server_schema(schema, sizeof schema);
    postgres_server_locator("postgres", schema, locator);
    check_words(tri_store_init(&options, explain, &was_made), TR_INVALID, explain,
                "a store has 1 to 1024 partitions", "and not 1025");
    assert_true(init(locator)); /* nothing was made */
}

/* What is wrong in the file of a folder is said with the file's name. */
static void test_a_file_with_another_database_is_named(void **state)
{
    (void)state;
    char folder[] = "/tmp/troupe-postgres-XXXXXX";
    char path[sizeof folder + 16];
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store *store = NULL;
    struct tri_store_options options = {.folder = mkdtemp(folder),
                                        .durability = TR_DURABILITY_FULL};
    assert_int_equal(tri_store_folder_bind(folder, "mysql://user:geheim@host/name", NULL), 0);
    assert_int_equal(tri_store_open(&options, explain, &store), TR_STORE_DAMAGED);
    (void)snprintf(path, sizeof path, "%s/database", folder);
    assert_memory_equal(explain, path, strlen(path));
    assert_string_equal(explain + strlen(path),
                        ": the locator of a database begins with postgresql://");
    assert_int_equal(folder_remove(folder), 0);
}

/* A test program that is killed leaves neither its server nor its folder. */
static void test_a_killed_program_leaves_no_server(void **state)
{
    (void)state;
    char folder[64] = "";
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        const char *name = postgres_server_folder();
        _exit(write(ends[1], name, strlen(name)) > 0 ? pause() : 1);
    }
    close(ends[1]);
    assert_true(read(ends[0], folder, sizeof folder - 1) > 0);
    close(ends[0]);
    assert_int_equal(access(folder, F_OK), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int i = 0; access(folder, F_OK) == 0 && i < 6000; i++) {
        (void)poll(NULL, 0, 10);
    }
    assert_int_equal(access(folder, F_OK), -1);
}

static void test_locators(void **state)
{
    (void)state;
    assert_true(tri_postgres_is_locator("postgresql://host/database"));
    assert_true(tri_postgres_is_locator("postgres:///"));
    assert_false(tri_postgres_is_locator("/var/lib/troupe"));
    assert_false(tri_postgres_is_locator("postgresql:"));
    assert_false(tri_postgres_is_locator(NULL));
    expect("mysql://user:geheim@host/", false, TR_INVALID, "postgresql://", "begins");
    expect("postgresql://user:geheim@host:1/d?no_such_key=1", false, TR_INVALID, "unknown option",
           "no_such_key");
    expect("postgresql://host/d?password=a&geheim=1", false, TR_INVALID, "makes no sense", "");
    expect("postgresql://host/d?password=a&geheim", false, TR_INVALID, "makes no sense", "");
    /* Half of a password with such characters would be the host, or the port, and be shown. */
    expect("postgresql://user:pass@geheim@host/d", false, TR_INVALID, "makes no sense", "%40");
    expect("postgresql://user:geheim/word@host/d", false, TR_INVALID, "makes no sense", "%2F");
    expect("postgresql://user:geheim/word", false, TR_INVALID, "makes no sense", "%2F");
    expect("postgresql://user:pass?word@geheim@host", false, TR_INVALID, "makes no sense", "%3F");
    expect("postgresql://user:geheim%zz@host/", false, TR_INVALID, "makes no sense", "");
}

static void test_servers_that_do_not_let_us_in(void **state)
{
    (void)state;
    char locator[POSTGRES_LOCATOR_BYTES];
    const char *folder = postgres_server_folder();
    expect("postgresql:///d?host=/nowhere&user=u&password=geheim", false, TR_STORE_FAILED,
           "/nowhere", "check that the server runs");
    (void)snprintf(locator, sizeof locator, "postgresql:///missing?host=%s&user=postgres", folder);
    expect(locator, false, TR_STORE_FAILED, "\"missing\"", "createdb");
    (void)snprintf(locator, sizeof locator, "postgresql:///postgres?host=%s&user=missing", folder);
    expect(locator, false, TR_STORE_FAILED, "\"missing\"", "createuser");
    postgres_server_run("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0", NULL, 0);
    (void)snprintf(locator, sizeof locator, "postgresql:///postgres?host=%s&user=crowded", folder);
    expect(locator, false, TR_BUSY, "too many connections", "limit");
    postgres_server_run("CREATE DATABASE narrow ENCODING LATIN1 TEMPLATE template0", NULL, 0);
    (void)snprintf(locator, sizeof locator, "postgresql:///narrow?host=%s&user=postgres", folder);
    expect(locator, false, TR_STORE_FAILED, "LATIN1", "UTF8");
}

static void test_wrong_passwords(void **state)
{
    (void)state;
    char locator[POSTGRES_LOCATOR_BYTES];
    char file[256];
    char sql[512];
    const char *folder = postgres_server_folder();
    postgres_server_run("CREATE ROLE locked LOGIN PASSWORD 'right'", NULL, 0);
    postgres_server_run("SHOW hba_file", file, sizeof file);
    file[strcspn(file, "\n")] = '\0';
    (void)snprintf(sql, sizeof sql,
                   "COPY (VALUES ('local all locked scram-sha-256'), ('local all all trust'))"
                   " TO '%s'",
                   file);
    postgres_server_run(sql, NULL, 0);
    postgres_server_run("SELECT pg_reload_conf()", NULL, 0);
    (void)snprintf(locator, sizeof locator,
                   "postgresql://locked:geheim@/postgres?host=%s&connect_timeout=20", folder);
    expect(locator, false, TR_STORE_FAILED, "password authentication failed", "check the user");
    (void)snprintf(locator, sizeof locator, "postgresql://locked@/postgres?host=%s&passfile=/none",
                   folder);
    expect(locator, false, TR_STORE_FAILED, "no password supplied", "pgpass");
}

static void test_missing_rights(void **state)
{
    (void)state;
    char schema[64];
    char locator[POSTGRES_LOCATOR_BYTES];
    postgres_server_run("CREATE ROLE poor LOGIN", NULL, 0);
    postgres_server_schema(schema, sizeof schema);
    postgres_server_locator("poor", schema, locator);
    expect(locator, false, TR_NOT_FOUND, "troupe store init 'postgresql:///postgres?", "no store");
    expect_init(locator, TR_STORE_FAILED, "CREATE SCHEMA", "AUTHORIZATION \"poor\"");
    run_in(schema, "CREATE SCHEMA @");
    expect_init(locator, TR_STORE_FAILED, "permission denied", "GRANT USAGE ON SCHEMA");
    run_in(schema, "GRANT USAGE ON SCHEMA @ TO poor");
    expect_init(locator, TR_STORE_FAILED, "as the owner of the schema", "type troupe store init");
    make_store(schema, sizeof schema, locator);
    postgres_server_locator("poor", schema, locator);
    expect(locator, true, TR_STORE_FAILED, "GRANT USAGE ON SCHEMA", "GRANT SELECT ON ALL TABLES");
    expect(locator, false, TR_STORE_FAILED, "GRANT SELECT, INSERT, UPDATE, DELETE", "TO \"poor\"");
    /* What it says to type is enough. */
    run_in(schema, "GRANT USAGE ON SCHEMA @ TO poor;"
                   "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA @ TO poor");
    struct tri_store_options options = {.locator = locator, .durability = TR_DURABILITY_FULL};
    struct tri_store *store = NULL;
    assert_int_equal(tri_store_open(&options, NULL, &store), 0);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    tri_store_close(store);
}

static void test_tables_of_others(void **state)
{
    (void)state;
    char schema[64];
    char locator[POSTGRES_LOCATOR_BYTES];
    postgres_server_schema(schema, sizeof schema);
    postgres_server_locator("postgres", schema, locator);
    run_in(schema, "CREATE SCHEMA @; CREATE TABLE @.orders(id int)");
    expect(locator, false, TR_STORE_FOREIGN, schema, "search_path");
    run_in(schema, "CREATE TABLE @.troupe(actor text); INSERT INTO @.troupe VALUES('Puck')");
    expect(locator, false, TR_STORE_FOREIGN, schema, "search_path");
    expect(locator, true, TR_STORE_FOREIGN, schema, "search_path");
    run_in(schema, "DROP TABLE @.troupe; CREATE TABLE @.troupe AS"
                   " SELECT 1 AS id, 7 AS application, 1 AS format");
    expect(locator, false, TR_STORE_FOREIGN, schema, "search_path");
    expect_init(locator, TR_STORE_FOREIGN, schema, "search_path");
    /* An empty schema is as good as none. */
    run_in(schema, "DROP TABLE @.troupe, @.orders");
    expect(locator, true, TR_NOT_FOUND, schema, "no store");
    expect(locator, false, TR_NOT_FOUND, schema, "no store");
    assert_true(init(locator));
}

static void test_newer_and_damaged_ones(void **state)
{
    (void)state;
    char schema[64];
    char locator[POSTGRES_LOCATOR_BYTES];
    make_store(schema, sizeof schema, locator);
    run_in(schema, "UPDATE @.troupe SET format = 7");
    expect(locator, false, TR_STORE_NEWER, "format 7", "knows 6");
    expect(locator, true, TR_STORE_NEWER, "format 7", "knows 6");
    expect_init(locator, TR_STORE_NEWER, "format 7", "knows 6");
    run_in(schema, "UPDATE @.troupe SET format = 6; UPDATE @.fences SET last_number = 5");
    expect(locator, false, TR_STORE_DAMAGED, "host's row", "backup");
    run_in(schema, "DROP TABLE @.pages");
    expect(locator, false, TR_STORE_DAMAGED, "tables of the store are missing", "backup");
}

static void test_changed_rows_are_found(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_POSTGRES);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "image"), op_page(1, 1, 0, "page"),
                            op_meta(TRI_META_USER, "cell")),
                     0);
    run_in(stand->folder, "UPDATE @.actors SET image = 'imagf'; UPDATE @.meta SET data = 'celm'");
    int error = 0;
    assert_null(stand_try_dump(store, &error));
    assert_int_equal(error, TR_STORE_DAMAGED);
    char buffer[8];
    size_t size = 0;
    assert_int_equal(tri_store_read_meta(store, TRI_META_USER, buffer, 8, &size), TR_STORE_DAMAGED);
    run_in(stand->folder, "UPDATE @.actors SET image = 'image', key_serial = 2");
    assert_null(stand_try_dump(store, &error));
    assert_int_equal(error, TR_STORE_DAMAGED);
    run_in(stand->folder, "DELETE FROM @.actors");
    assert_null(stand_try_dump(store, &error));
    assert_int_equal(error, TR_STORE_DAMAGED);
    assert_non_null(strstr(tri_store_explain(store), "no actor"));
    tri_store_close(store);
    stand_free(stand);
}

static void test_the_schema_without_a_search_path(void **state)
{
    (void)state;
    char locator[POSTGRES_LOCATOR_BYTES];
    char text[64];
    (void)snprintf(locator, sizeof locator, "postgresql:///postgres?host=%s&user=postgres",
                   postgres_server_folder());
    expect(locator, true, TR_NOT_FOUND, "\"troupe\"", "no store");
    struct tri_store_options options = {.locator = locator, .durability = TR_DURABILITY_PROCESS};
    struct tri_store *store = NULL;
    assert_true(init(locator));
    assert_int_equal(tri_store_open(&options, NULL, &store), 0);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    postgres_server_run("SELECT application_name FROM pg_stat_activity"
                        " WHERE application_name LIKE 'troupe/troupe/%'",
                        text, sizeof text);
    assert_string_equal(text, "troupe/troupe/0/1\n");
    postgres_server_run("SELECT count(*) FROM troupe.actors", text, sizeof text);
    assert_string_equal(text, "1\n");
    tri_store_close(store);
    postgres_server_run("DROP SCHEMA troupe CASCADE", NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_killed_program_leaves_no_server),
        cmocka_unit_test(test_locators),
        cmocka_unit_test(test_servers_that_do_not_let_us_in),
        cmocka_unit_test(test_wrong_passwords),
        cmocka_unit_test(test_missing_rights),
        cmocka_unit_test(test_tables_of_others),
        cmocka_unit_test(test_more_partitions_than_there_may_be),
        cmocka_unit_test(test_a_file_with_another_database_is_named),
        cmocka_unit_test(test_newer_and_damaged_ones),
        cmocka_unit_test(test_changed_rows_are_found),
        cmocka_unit_test(test_the_schema_without_a_search_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
