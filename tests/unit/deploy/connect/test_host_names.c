/*
 * What hosts are called in words for people: as the database says, and by their numbers where it
 * does not.
 */
#include "deploy/connect/host_names.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "actors/graph/document/report.h"
#include "deploy/history/executions.h"
#include "runtime/store_care.h"
#include "runtime/store_open.h"
#include "tests/support/postgres_server.h"
#include "tests/unit/deploy/help.h"

static char locator[POSTGRES_LOCATOR_BYTES];
static const char *folder;

/* A folder whose store is in a database, and has hosts. */
static void begin(void)
{
    char schema[64];
    struct tri_store_options options = {
        .locator = locator, .partitions = 1, .durability = TR_DURABILITY_PROCESS};
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    bool was_made = false;
    folder = help_folder_enter();
    postgres_server_schema(schema, sizeof schema);
    postgres_server_locator("postgres", schema, locator);
    int error = tri_store_init(&options, explain, &was_made);
    if (error != 0) {
        fail_msg("%s", explain);
    }
    help_write("database", locator);
    assert_int_equal(chmod("database", S_IRUSR | S_IWUSR), 0);
}

static uint16_t join(const char *name)
{
    struct tri_registry *registry = NULL;
    const struct tri_store_member member = {
        .place = {.data = (const uint8_t *)name, .size = strlen(name)},
        .name = name,
        .machine = "machine",
        .folder = "/folder",
        .blobs = "/blobs",
        .lease_ms = 3000,
        .process_lease_ms = 20000,
    };
    assert_int_equal(tri_store_registry_open(NULL, locator, false, NULL, &registry), 0);
    assert_int_equal(tri_registry_join(registry, &member), 0);
    uint16_t number = (uint16_t)registry->self;
    tri_registry_close(registry);
    return number;
}

static void expect(const struct tr_explain_hosts *hosts, uint16_t number, const char *wanted)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_explain_host(hosts, number, &words);
    assert_int_equal(words.size, strlen(wanted));
    assert_memory_equal(words.data, wanted, words.size);
    tr_buffer_fini(&words);
}

static void test_hosts_are_called_as_the_database_says(void **state)
{
    (void)state;
    struct tr_host_names names;
    struct tr_reader *reader = NULL;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    begin();
    uint16_t first = join("a");
    uint16_t second = join("b");
    if (tr_history_open(folder, explain, &reader) != 0) {
        fail_msg("%s", explain);
    }
    tr_host_names_init(&names, reader);
    const struct tr_explain_hosts hosts = tr_host_names_explain(&names);
    assert_false(names.is_read);
    expect(&hosts, second, "host b");
    expect(&hosts, first, "host a");
    expect(&hosts, 77, "host 77");
    assert_true(tr_host_names_has(&names, "b"));
    assert_false(tr_host_names_has(&names, "c"));
    tr_host_names_fini(&names);
    tr_reader_close(reader);
    help_folder_leave();
}

static void test_where_nobody_says_they_have_numbers(void **state)
{
    (void)state;
    struct tr_host_names names;
    (void)help_folder_enter();
    tr_host_names_init(&names, NULL);
    const struct tr_explain_hosts hosts = tr_host_names_explain(&names);
    expect(&hosts, 2, "host 2");
    expect(NULL, 3, "host 3");
    tr_host_names_fini(&names);
    help_folder_leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts_are_called_as_the_database_says),
        cmocka_unit_test(test_where_nobody_says_they_have_numbers),
    };
    return cmocka_run_group_tests_name("host_names", tests, NULL, NULL);
}
