/*
 * The settings file: each key with what it means, and with what is wrong with it, word for word.
 */
#include "deploy/settings.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

static struct tr_settings_file settings;
static char problems[1024];

/* Reads a text; its problems, one a line, are in `problems`. */
static void read_text(const char *text)
{
    struct tr_report report;
    struct tr_buffer buffer;
    tr_settings_fini(&settings);
    tr_arena_init(&settings.arena);
    settings.durability = TR_DURABILITY_NONE;
    tr_report_init(&report);
    tr_buffer_init(&buffer, 0);
    tr_settings_read(&settings, &report, tri_report_source(&report, tr_text_of("s.yaml")),
                     tr_text_of(text));
    tr_report_finish(&report);
    for (uint32_t i = 0; i < report.count; i++) {
        tr_problem_print(&report.problems[i], &buffer);
        tr_buffer_add_string(&buffer, "\n");
    }
    snprintf(problems, sizeof problems, "%.*s", (int)buffer.size, (const char *)buffer.data);
    tr_buffer_fini(&buffer);
    tr_report_fini(&report);
}

static int tear_down(void **state)
{
    (void)state;
    tr_settings_fini(&settings);
    return 0;
}

static void require_good(const char *text)
{
    read_text(text);
    assert_string_equal(problems, "");
    assert_int_equal(settings.arena.error, 0);
}

static void require_problem(const char *text, const char *problem)
{
    read_text(text);
    assert_string_equal(problems, problem);
}

static void test_nothing_is_said(void **state)
{
    (void)state;
    require_good("");
    require_good("# later\n");
    assert_int_equal(settings.jobs, 0);
    assert_int_equal(settings.durability, TR_DURABILITY_NONE);
    assert_int_equal(settings.retention.executions_ms, 0);
    require_problem("[a]", "s.yaml:1:1: the settings is a mapping, and this is a list; write {key: "
                           "value} [InvalidValue]\n");
}

static void test_unknown_keys_are_named(void **state)
{
    (void)state;
    require_problem("job: 3\n",
                    "s.yaml:1:1: 'job' is no key of the settings; the nearest one is 'jobs' "
                    "[InvalidValue]\n");
}

static void test_jobs(void **state)
{
    (void)state;
    require_good("jobs: 8\n");
    assert_int_equal(settings.jobs, 8);
    require_problem("jobs: 0\n",
                    "s.yaml:1:7: '0' is no value for 'jobs'; write a whole number from 1 to 10000 "
                    "[InvalidValue]\n");
}

static void test_durability(void **state)
{
    (void)state;
    require_good("durability: process\n");
    assert_int_equal(settings.durability, TR_DURABILITY_PROCESS);
    require_good("durability: full\n");
    assert_int_equal(settings.durability, TR_DURABILITY_FULL);
    require_problem("durability: none\n",
                    "s.yaml:1:13: 'none' is no value for 'durability'; write one of: full process "
                    "[InvalidValue]\n");
}

static void test_retention(void **state)
{
    (void)state;
    require_good("retention: {executions: 30d, failed_attempts: 7d, cache: 1h30m}\n");
    assert_int_equal(settings.retention.executions_ms, 30 * 86400000ULL);
    assert_int_equal(settings.retention.failed_attempts_ms, 7 * 86400000ULL);
    assert_int_equal(settings.retention.cache_ms, 5400000);
    require_problem("retention: {executions: 30}\n",
                    "s.yaml:1:25: '30' is no value for 'executions'; write a positive "
                    "duration with the units d h m s ms us, as 1h30m [InvalidValue]\n");
    require_problem("retention: {execution: 30d}\n",
                    "s.yaml:1:13: 'execution' is no key of retention; the nearest one is "
                    "'executions' [InvalidValue]\n");
}

static void test_task_types(void **state)
{
    (void)state;
    require_good("task_types: {armada: echo, python-task: process}\n");
    const struct tr_task_type *types = settings.task_types.items;
    assert_int_equal(settings.task_types.count, 2);
    assert_true(tr_text_equal(types[0].name, tr_text_of("armada")));
    assert_string_equal(types[0].plugin->id, "echo");
    assert_string_equal(types[1].plugin->id, "process");
    require_problem("task_types: {armada: ecko}\n",
                    "s.yaml:1:22: there is no plugin 'ecko'; did you mean 'echo'?\n");
    require_problem(
        "task_types: {armada: kubernetes}\n",
        "s.yaml:1:22: there is no plugin 'kubernetes'; use one of process, echo, sleep\n");
}

static void test_plugins(void **state)
{
    (void)state;
    require_good("plugins:\n  echo: {url: 'http://a', tries: 3}\n");
    const struct tr_settings_plugin *plugins = settings.plugins.items;
    assert_int_equal(settings.plugins.count, 1);
    assert_string_equal(plugins[0].plugin->id, "echo");
    struct tr_cursor cursor = tr_cursor_of(plugins[0].config);
    assert_int_equal(tr_read_map(&cursor), 2);
    require_problem("plugins: {echo: 3}\n",
                    "s.yaml:1:17: echo is a mapping, and this is an integer; write {key: "
                    "value} [InvalidValue]\n");
    require_problem("plugins: {ecko: {}}\n",
                    "s.yaml:1:11: there is no plugin 'ecko'; did you mean 'echo'?\n");
}

static void test_quotas(void **state)
{
    (void)state;
    require_good("quotas: {armada: 100}\n");
    const struct tr_settings_quota *quotas = settings.quotas.items;
    assert_int_equal(settings.quotas.count, 1);
    assert_true(tr_text_equal(quotas[0].name, tr_text_of("armada")));
    assert_int_equal(quotas[0].slots, 100);
    require_problem("quotas: {armada: many}\n",
                    "s.yaml:1:18: 'many' is no value for 'quotas'; write a whole number from "
                    "1 to 1000000 [InvalidValue]\n");
}

/* The type that is decided on comes before what plugins say of themselves. */
static void test_a_task_type_has_the_plugin_that_was_decided_on(void **state)
{
    (void)state;
    require_good("task_types: {process: echo}\n");
    const struct tr_task_type *types = settings.task_types.items;
    const struct tr_plugin *const plugins[] = {types[0].plugin};
    struct tr_engine engine = {
        .plugins = plugins, .plugin_count = 1, .task_types = types, .task_type_count = 1};
    assert_ptr_equal(tr_engine_plugin(&engine, tr_text_of("process")), types[0].plugin);
    engine.task_type_count = 0;
    assert_null(tr_engine_plugin(&engine, tr_text_of("process")));
}

static void test_secrets(void **state)
{
    (void)state;
    require_good("secrets: [environment, {folder: /a/b}, folder, {command: [get, -q]}]\n");
    const struct tr_secret_source *sources = settings.secrets.items;
    assert_int_equal(settings.secrets.count, 4);
    assert_int_equal(sources[0].kind, TR_SECRET_ENVIRONMENT);
    assert_int_equal(sources[1].kind, TR_SECRET_FOLDER);
    assert_string_equal(sources[1].folder, "/a/b");
    assert_int_equal(sources[2].kind, TR_SECRET_FOLDER);
    assert_null(sources[2].folder);
    assert_int_equal(sources[3].kind, TR_SECRET_COMMAND);
    assert_string_equal(sources[3].command[0], "get");
    assert_string_equal(sources[3].command[1], "-q");
    assert_null(sources[3].command[2]);
    require_problem("secrets: environment\n",
                    "s.yaml:1:10: secrets is a list, and this is text; write [a, b] "
                    "[InvalidValue]\n");
    require_problem("secrets: []\n",
                    "s.yaml:1:10: secrets have at least one source; leave the key out for "
                    "[environment, folder] [InvalidValue]\n");
    require_problem("secrets: [vault]\n",
                    "s.yaml:1:11: 'vault' is no value for 'secrets'; write one of: environment "
                    "folder [InvalidValue]\n");
    require_problem("secrets: [{folders: /a}]\n",
                    "s.yaml:1:12: 'folders' is no key of a source of secrets; the nearest one is "
                    "'folder' [InvalidValue]\n");
    require_problem("secrets: [{folder: /a, command: [x]}]\n",
                    "s.yaml:1:11: a source of secrets has one key; write {folder: FOLDER} or "
                    "{command: [PROGRAM, WORD…]}, each in an element of its own [InvalidValue]\n");
    require_problem("secrets: [{command: []}]\n",
                    "s.yaml:1:21: a command has at least one word; write [PROGRAM, WORD…] "
                    "[InvalidValue]\n");
    require_problem("secrets: [{command: get}]\n",
                    "s.yaml:1:21: a command is a list, and this is text; write [a, b] "
                    "[InvalidValue]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_nothing_is_said, tear_down),
        cmocka_unit_test_teardown(test_unknown_keys_are_named, tear_down),
        cmocka_unit_test_teardown(test_jobs, tear_down),
        cmocka_unit_test_teardown(test_durability, tear_down),
        cmocka_unit_test_teardown(test_retention, tear_down),
        cmocka_unit_test_teardown(test_task_types, tear_down),
        cmocka_unit_test_teardown(test_plugins, tear_down),
        cmocka_unit_test_teardown(test_quotas, tear_down),
        cmocka_unit_test_teardown(test_secrets, tear_down),
        cmocka_unit_test_teardown(test_a_task_type_has_the_plugin_that_was_decided_on, tear_down),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
