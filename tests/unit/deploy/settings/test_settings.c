/*
 * The settings file: each key with what it means, and with what is wrong with it, word for word.
 */
#include "deploy/settings/bounds.h"
#include "deploy/settings/settings.h"

#include <stdio.h>
#include <string.h>

#include "plugins/sdk/plugin.h"
#include "tests/support/test.h"

static struct tr_settings_file settings;
static char problems[1024];

/* A plugin of the Web API shape with one key of its own, `queue`. */
static int check_endpoint(struct tr_bytes config, char *problem, size_t problem_size)
{
    static const struct tr_config_key keys[] = {{"queue", TR_CODEC_TEXT}};
    return tr_config_check(config, keys, TR_COUNT_OF(keys), problem, problem_size);
}

static const char *const no_types[] = {NULL};
static const struct tr_webapi rocket_shape = {.check_endpoint = check_endpoint};
static const struct tr_webapi sail_shape = {.check_endpoint = NULL};
static const struct tr_plugin rocket = {
    .abi = TR_PLUGIN_ABI, .id = "rocket", .task_types = no_types, .webapi = &rocket_shape};
static const struct tr_plugin sail = {
    .abi = TR_PLUGIN_ABI, .id = "sail", .task_types = no_types, .webapi = &sail_shape};

static void add_plugin(const struct tr_plugin *plugin)
{
    const struct tr_plugin **added =
        tri_vector_add(&settings.arena, &settings.plugins, sizeof *added);
    assert_non_null(added);
    *added = plugin;
}

/* Reads a text; its problems, one a line, are in `problems`. */
static void read_text(const char *text)
{
    struct tr_report report;
    struct tr_buffer buffer;
    tr_settings_fini(&settings);
    tr_settings_init(&settings);
    add_plugin(&rocket);
    add_plugin(&sail);
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

static void test_limits(void **state)
{
    (void)state;
    require_good("limits: {memory: 1Gi, execution_nodes: 1000}\n");
    struct tr_bounds bounds = tr_bounds_wanted(&settings);
    assert_int_equal(bounds.host_bytes, 1U << 30);
    assert_int_equal(bounds.group_bytes, (1U << 30) / 100 * TR_BOUNDS_EXECUTION_PERCENT);
    assert_int_equal(bounds.group_actors, 1000);
    bounds = tr_bounds_wanted(NULL);
    assert_true(bounds.host_bytes <= tr_bounds_memory() / 2);
    assert_int_equal(bounds.group_actors, 0); /* the runtime's own */
    require_problem("limits: {memory: 1Mi}\n",
                    "s.yaml:1:18: this is too little for an engine; write at least 16Mi "
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
    require_good("retention: {executions: 30d, failed_attempts: 7d, cache: 1h30m, "
                 "audit: 365d}\n");
    assert_int_equal(settings.retention.executions_ms, 30 * 86400000ULL);
    assert_int_equal(settings.retention.failed_attempts_ms, 7 * 86400000ULL);
    assert_int_equal(settings.retention.cache_ms, 5400000);
    assert_int_equal(settings.retention.audit_ms, 365 * 86400000ULL);
    require_problem("retention: {executions: 30}\n",
                    "s.yaml:1:25: '30' is no value for 'executions'; write a positive "
                    "duration with the units d h m s ms us, as 1h30m [InvalidValue]\n");
    require_problem("retention: {execution: 30d}\n",
                    "s.yaml:1:13: 'execution' is no key of retention; the nearest one is "
                    "'executions' [InvalidValue]\n");
    require_problem("retention: {nights: 30d}\n",
                    "s.yaml:1:13: 'nights' is no key of retention; its keys are executions, "
                    "failed_attempts, cache, audit, by_label [InvalidValue]\n");
}

static void test_retention_by_label(void **state)
{
    (void)state;
    require_good("retention: {by_label: [{label: 'team=data,!x', executions: 90d}, {label: keep, "
                 "executions: forever}]}\n");
    const struct tr_retention_rule *rules = settings.retention.rules.items;
    assert_int_equal(settings.retention.rules.count, 2);
    assert_int_equal(settings.retention.executions_ms, 0);
    assert_int_equal(rules[0].executions_ms, 90 * 86400000ULL);
    assert_int_equal(rules[1].executions_ms, 0);
    assert_true(tr_label_selector_holds(&rules[0].labels, tr_text_of("team=data")));
    assert_false(tr_label_selector_holds(&rules[0].labels, tr_text_of("team=data,x=")));
    assert_true(tr_label_selector_holds(&rules[1].labels, tr_text_of("keep=")));
    require_problem("retention: {by_label: {label: a, executions: 1d}}\n",
                    "s.yaml:1:23: by_label is a list, and this is a mapping; write [a, b] "
                    "[InvalidValue]\n");
    require_problem("retention: {by_label: [{label: a}]}\n",
                    "s.yaml:1:24: a retention by label has no 'executions'; write {label: "
                    "team=data, executions: 90d}, or forever for the time [ValueRequired]\n");
    require_problem("retention: {by_label: [{executions: 1d}]}\n",
                    "s.yaml:1:24: a retention by label has no 'label'; write {label: team=data, "
                    "executions: 90d}, or forever for the time [ValueRequired]\n");
    require_problem("retention: {by_label: [{label: 'a b', executions: 1d}]}\n",
                    "s.yaml:1:32: 'a b' chooses no executions: 'a' goes on with 'b'; write a comma "
                    "between conditions; write a selector such as team=data [InvalidValue]\n");
    require_problem("retention: {by_label: [{label: a, executions: never}]}\n",
                    "s.yaml:1:47: 'never' is no value for 'executions'; write a positive duration "
                    "with the units d h m s ms us, as 1h30m [InvalidValue]\n");
    require_problem("retention: {by_label: [{labels: a, executions: 1d}]}\n",
                    "s.yaml:1:24: a retention by label has no 'label'; write {label: team=data, "
                    "executions: 90d}, or forever for the time [ValueRequired]\n"
                    "s.yaml:1:25: 'labels' is no key of a retention by label; the nearest one is "
                    "'label' [InvalidValue]\n");
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
    require_problem("task_types: {armada: nomads}\n",
                    "s.yaml:1:22: there is no plugin 'nomads'; use one of process, echo, sleep, "
                    "armada, http, kubernetes, rocket, sail\n");
}

static void test_default_plugin(void **state)
{
    (void)state;
    require_good("default_plugin: rocket\n");
    struct tr_engine engine = {.plugin_count = 0};
    tr_settings_tables(&settings, &engine);
    assert_ptr_equal(tr_engine_plugin(&engine, tr_text_of("anything")), &rocket);
    assert_string_equal(tr_engine_plugin(&engine, tr_text_of("echo"))->id, "echo");
    require_problem("default_plugin: roket\n",
                    "s.yaml:1:17: there is no plugin 'roket'; did you mean 'rocket'?\n");
}

static void test_plugins(void **state)
{
    (void)state;
    require_good("plugins: {echo: {}}\n");
    assert_int_equal(settings.endpoints.count, 0);
    require_problem("plugins: {echo: 3}\n",
                    "s.yaml:1:17: the plugin echo is a mapping, and this is an integer; write "
                    "{key: value} [InvalidValue]\n");
    require_problem("plugins: {ecko: {}}\n",
                    "s.yaml:1:11: there is no plugin 'ecko'; did you mean 'echo'?\n");
    require_problem("plugins: {echo: {endpoint: 'http://a'}}\n",
                    "s.yaml:1:18: 'endpoint' is no key of the plugin echo; its keys are path "
                    "[InvalidValue]\n");
    require_problem("plugins: {rocket: {timeout: 1s}}\n",
                    "s.yaml:1:19: the plugin rocket has no endpoint; write endpoint: URL, or "
                    "endpoints: {NAME: {url: URL}} [ValueRequired]\n");
    require_problem("plugins: {sail: {endpoint: 'http://a', calls_per_secund: 3}}\n",
                    "s.yaml:1:40: 'calls_per_secund' is no key of the plugin sail; the nearest one "
                    "is 'calls_per_second' [InvalidValue]\n");
}

static const struct tr_engine_endpoint *endpoint_at(uint32_t position)
{
    assert_true(position < settings.endpoints.count);
    return (const struct tr_engine_endpoint *)settings.endpoints.items + position;
}

static void require_text(struct tr_text text, const char *expected)
{
    assert_true(tr_text_equal(text, tr_text_of(expected)));
}

static void test_no_streams_are_another_thing_than_nothing_said(void **state)
{
    (void)state;
    require_good("plugins: {rocket: {endpoint: 'http://a', streams: 0}}\n");
    assert_int_equal(endpoint_at(0)->endpoint.streams_max, TR_WEBAPI_NO_STREAMS);
    require_good("plugins: {rocket: {endpoint: 'http://a'}}\n");
    assert_int_equal(endpoint_at(0)->endpoint.streams_max, 0);
}

static void test_one_endpoint(void **state)
{
    (void)state;
    require_good("plugins:\n"
                 "  rocket:\n"
                 "    endpoint: https://rocket:8080/v1/\n"
                 "    calls_per_second: 20\n"
                 "    calls_at_once: 4\n"
                 "    jobs_at_once: 3000\n"
                 "    streams: 7\n"
                 "    interval: 500ms\n"
                 "    timeout: 1m30s\n"
                 "    lag: 5s\n"
                 "    lost_after: 3m\n"
                 "    authorization: {bearer: rocket/token@2}\n"
                 "    insecure: true\n"
                 "    queue: fast\n");
    assert_int_equal(settings.endpoints.count, 1);
    assert_ptr_equal(endpoint_at(0)->plugin, &rocket);
    const struct tr_webapi_endpoint *endpoint = &endpoint_at(0)->endpoint;
    require_text(endpoint->name, "default");
    require_text(endpoint->url, "https://rocket:8080/v1");
    assert_int_equal(endpoint->calls_per_second, 20);
    assert_int_equal(endpoint->calls_at_once, 4);
    assert_int_equal(endpoint->jobs_at_once, 3000);
    assert_int_equal(endpoint->streams_max, 7);
    assert_int_equal(endpoint->interval_ms, 500);
    assert_int_equal(endpoint->timeout_ms, 90000);
    assert_int_equal(endpoint->lag_ms, 5000);
    assert_int_equal(endpoint->lost_ms, 180000);
    assert_int_equal(endpoint->authorization, TR_WEBAPI_AUTHORIZATION_BEARER);
    require_text(endpoint->secret.group, "rocket");
    require_text(endpoint->secret.key, "token");
    require_text(endpoint->secret.version, "2");
    assert_true(endpoint->is_insecure);
    require_text(tr_config_text(endpoint->config, "queue", tr_text_of("")), "fast");
}

/* What an endpoint says goes before what its plugin says, own keys too. */
static void test_several_endpoints(void **state)
{
    (void)state;
    require_good(
        "plugins:\n"
        "  rocket:\n"
        "    timeout: 5s\n"
        "    queue: slow\n"
        "    authorization: {basic: rocket/user}\n"
        "    endpoints:\n"
        "      east: {url: 'http://east'}\n"
        "      west: {url: 'http://west', timeout: 9s, queue: fast, authorization: none}\n");
    assert_int_equal(settings.endpoints.count, 2);
    const struct tr_webapi_endpoint *east = &endpoint_at(0)->endpoint;
    const struct tr_webapi_endpoint *west = &endpoint_at(1)->endpoint;
    require_text(east->name, "east");
    assert_int_equal(east->timeout_ms, 5000);
    assert_int_equal(east->authorization, TR_WEBAPI_AUTHORIZATION_BASIC);
    require_text(tr_config_text(east->config, "queue", tr_text_of("")), "slow");
    require_text(west->url, "http://west");
    assert_int_equal(west->timeout_ms, 9000);
    assert_int_equal(west->authorization, TR_WEBAPI_AUTHORIZATION_NONE);
    require_text(tr_config_text(west->config, "queue", tr_text_of("")), "fast");
    struct tr_engine engine = {.plugin_count = 0};
    tr_settings_tables(&settings, &engine);
    assert_ptr_equal(&tr_engine_endpoint(&engine, &rocket, tr_text_of("west"))->endpoint, west);
    assert_ptr_equal(&tr_engine_endpoint(&engine, &rocket, tr_text_of(""))->endpoint, east);
}

static void test_what_is_wrong_with_endpoints(void **state)
{
    (void)state;
    require_problem("plugins: {rocket: {endpoint: 'http://a', endpoints: {b: {url: 'http://b'}}}}",
                    "s.yaml:1:30: the plugin rocket has 'endpoint' and 'endpoints'; write one of "
                    "them [InvalidValue]\n");
    require_problem("plugins: {rocket: {endpoints: {}}}",
                    "s.yaml:1:31: rocket has no endpoints; write endpoints: {NAME: {url: URL}} "
                    "[ValueRequired]\n");
    require_problem("plugins: {rocket: {endpoints: {east: {timeout: 3s}}}}",
                    "s.yaml:1:38: the endpoint east has no url; write url: "
                    "http://HOST[:PORT][/PATH], or https:// [ValueRequired]\n");
    require_problem("plugins: {rocket: {endpoints: {'e/e': {url: 'http://a'}}}}",
                    "s.yaml:1:32: 'e/e' is no value for 'plugins'; write a name: letters, digits, "
                    "_ and -, a letter or _ first, at most 63 [InvalidValue]\n");
    require_problem("plugins: {rocket: {endpoints: {east: 'http://a'}}}",
                    "s.yaml:1:38: the endpoint east is a mapping, and this is text; write {key: "
                    "value} [InvalidValue]\n");
    require_problem("plugins: {rocket: {endpoint: 'ftp://a'}}",
                    "s.yaml:1:30: 'ftp://a' is no URL; write http://HOST[:PORT][/PATH], or "
                    "https:// [InvalidValue]\n");
    require_problem("plugins: {rocket: {endpoint: 'http://a?b'}}",
                    "s.yaml:1:30: 'http://a?b' is no URL of an endpoint; write it without blanks, "
                    "? and # [InvalidValue]\n");
    require_problem("plugins: {rocket: {endpoint: 'http://me:secret@a'}}",
                    "s.yaml:1:30: 'the URL' has a user or a password in it; write authorization: "
                    "{basic: GROUP/KEY} instead [InvalidValue]\n");
}

static void test_there_is_a_bound_of_endpoints(void **state)
{
    char text[8192];
    (void)state;
    int size = snprintf(text, sizeof text, "plugins: {rocket: {endpoints: {\n");
    for (int i = 0; i <= TR_SETTINGS_ENDPOINTS_MAX; i++) {
        size += snprintf(text + size, sizeof text - (size_t)size, "e%d: {url: 'http://a'},\n", i);
    }
    snprintf(text + size, sizeof text - (size_t)size, "}}}\n");
    require_problem(text, "s.yaml:66:6: there are more endpoints than 64 in all; take some out "
                          "[InvalidValue]\n");
    assert_int_equal(settings.endpoints.count, TR_SETTINGS_ENDPOINTS_MAX);
}

/* A key with a value that is none, and what is said of it. */
static void test_each_key_of_an_endpoint_is_checked(void **state)
{
    static const char text[] = "plugins: {rocket: {endpoint: 'http://a', ";
    static const struct {
        const char *given;
        const char *problem;
    } rows[] = {
        {"calls_per_second: 0", ":60: '0' is no value for 'calls_per_second'; write a whole number "
                                "from 1 to 10000 [InvalidValue]\n"},
        {"calls_at_once: 1001", ":57: '1001' is no value for 'calls_at_once'; write a whole number "
                                "from 1 to 1000 [InvalidValue]\n"},
        {"jobs_at_once: 0", ":56: '0' is no value for 'jobs_at_once'; write a whole number "
                            "from 1 to 100000 [InvalidValue]\n"},
        {"streams: no", ":51: 'no' is no value for 'streams'; write a whole number from 0 to 10000 "
                        "[InvalidValue]\n"},
        {"interval: 2m",
         ":52: '2m' is no value for 'interval'; write a duration from 1ms to 60s [InvalidValue]\n"},
        {"timeout: 2h", ":51: '2h' is no value for 'timeout'; write a duration from 1ms to 3600s "
                        "[InvalidValue]\n"},
        {"lag: 999ms", ":47: '999ms' is no value for 'lag'; write a duration from 1s to 3600s "
                       "[InvalidValue]\n"},
        {"lag: 2h", ":47: '2h' is no value for 'lag'; write a duration from 1s to 3600s "
                    "[InvalidValue]\n"},
        {"lost_after: 1m", ":54: '1m' is no value for 'lost_after'; write a duration from 120s to "
                           "86400s [InvalidValue]\n"},
        {"lost_after: 2d", ":54: '2d' is no value for 'lost_after'; write a duration from 120s to "
                           "86400s [InvalidValue]\n"},
        {"authorization: bearer",
         ":57: this is no value for 'authorization'; write none, {basic: GROUP/KEY} or {bearer: "
         "GROUP/KEY} [InvalidValue]\n"},
        {"authorization: {bearer: token}",
         ":66: 'token' names no secret; write group/key or group/key@version [InvalidValue]\n"},
        {"ca_file: /no/such", ":51: the file /no/such cannot be read; write the path of a PEM "
                              "file, from the folder of the settings on [InvalidValue]\n"},
        {"client_certificate: /no/such",
         ":62: the file /no/such cannot be read; write the path of a PEM file, from the folder of "
         "the settings on [InvalidValue]\n"},
        {"client_key: /no/such", ":54: the file /no/such cannot be read; write the path of a PEM "
                                 "file, from the folder of the settings on [InvalidValue]\n"},
        {"insecure: maybe",
         ":52: 'maybe' is no value for 'insecure'; write true or false [InvalidValue]\n"},
        {"queue: 3",
         ":42: config.queue has to be text, not a whole number, 0 or more [InvalidValue]\n"},
        {"timeot: 3s", ":42: config has no key 'timeot'; did you mean 'timeout'? [InvalidValue]\n"},
        {"path: /no/such.so", ":48: the plugin 'rocket': /no/such.so cannot be read: No such file "
                              "or directory; name the shared object of a plugin\n"},
    };
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        char given[256];
        char problem[512];
        snprintf(given, sizeof given, "%s%s}}\n", text, rows[i].given);
        snprintf(problem, sizeof problem, "s.yaml:1%s", rows[i].problem);
        require_problem(given, problem);
    }
}

/* Files are found from the folder of the settings on, and read when calls are made. */
static void test_files_of_an_endpoint(void **state)
{
    (void)state;
    require_good("plugins: {rocket: {endpoint: 'http://a', ca_file: /dev/null, "
                 "client_certificate: /dev/null, client_key: /dev/null}}\n");
    require_text(endpoint_at(0)->endpoint.ca_file, "/dev/null");
    require_text(endpoint_at(0)->endpoint.client_certificate, "/dev/null");
    require_text(endpoint_at(0)->endpoint.client_key, "/dev/null");
}

static void test_quotas(void **state)
{
    (void)state;
    require_good("quotas: {armada: 100}\n");
    const struct tr_settings_quota *quotas = settings.quotas.items;
    assert_int_equal(settings.quotas.count, 1);
    assert_true(tr_text_equal(quotas[0].name, tr_text_of("armada")));
    assert_int_equal(quotas[0].slots, 100);
    require_good("quotas: {jobs: {slots: 100, per_project: 40, per_domain: 10}}\n");
    quotas = settings.quotas.items;
    assert_int_equal(quotas[0].slots, 100);
    assert_int_equal(quotas[0].per_project, 40);
    assert_int_equal(quotas[0].per_domain, 10);
    require_problem("quotas: {jobs: {per_projects: 4}}\n",
                    "s.yaml:1:17: 'per_projects' is no key of a quota; the nearest one is "
                    "'per_project' [InvalidValue]\n");
    require_problem("quotas: {jobs: {slots: 0}}\n",
                    "s.yaml:1:24: '0' is no value for 'slots'; write a whole number from 1 to "
                    "1000000 [InvalidValue]\n");
    require_problem("quotas: {jobs: {per_domain: x}}\n",
                    "s.yaml:1:29: 'x' is no value for 'per_domain'; write a whole number from 1 "
                    "to 1000000 [InvalidValue]\n");
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

static void test_traces(void **state)
{
    (void)state;
    require_good("traces: {endpoint: 'https://a:4318/otlp', service: nightly, ca_file: /dev/null, "
                 "authorization: {basic: otel/login}}\n");
    assert_string_equal(settings.traces.endpoint, "https://a:4318/otlp");
    assert_string_equal(settings.traces.service, "nightly");
    assert_string_equal(settings.traces.ca_file, "/dev/null");
    assert_int_equal(settings.traces.authorization, TR_WEBAPI_AUTHORIZATION_BASIC);
    require_text(settings.traces.secret.key, "login");
    require_good("jobs: 1\n");
    assert_null(settings.traces.endpoint);
    require_problem("traces: {}\n", "s.yaml:1:9: traces have no 'endpoint'; write the URL of a "
                                    "collector, such as http://127.0.0.1:4318 [ValueRequired]\n");
    require_problem("traces: {endpoint: 'http://a', ca_file: /no/such}\n",
                    "s.yaml:1:41: the file /no/such cannot be read; write the path of a PEM "
                    "file, from the folder of the settings on [InvalidValue]\n");
    require_problem("traces: {endpoint: 'http://a', service: [a]}\n",
                    "s.yaml:1:41: a list is no value for 'service'; write text [InvalidValue]\n");
    require_problem("traces: {endpoint: 'http://a', authorization: x}\n",
                    "s.yaml:1:47: this is no value for 'authorization'; write none, {basic: "
                    "GROUP/KEY} or {bearer: GROUP/KEY} [InvalidValue]\n");
    require_problem("traces: {url: 'http://a'}\n",
                    "s.yaml:1:10: 'url' is no key of traces; its keys are endpoint, service, "
                    "ca_file, authorization [InvalidValue]\n");
}

static const struct tr_object_store *store_at(uint32_t index)
{
    assert_true(index < settings.object_stores.count);
    return (const struct tr_object_store *)settings.object_stores.items + index;
}

static void test_mail(void **state)
{
    (void)state;
    require_good("mail: {sendmail: /opt/sendmail, from: Troupe <t@example.org>}\n");
    assert_string_equal(settings.sendmail, "/opt/sendmail");
    assert_string_equal(settings.mail_from, "Troupe <t@example.org>");
    require_good("jobs: 1\n");
    assert_null(settings.sendmail);
    require_problem("mail: sendmail\n", "s.yaml:1:7: mail is a mapping, and this is text; write "
                                        "{key: value} [InvalidValue]\n");
    require_problem("mail: {from: nobody}\n",
                    "s.yaml:1:14: 'nobody' is no address of a mail; write one such as "
                    "troupe@example.org [InvalidValue]\n");
    require_problem("mail: {sendmail: [a]}\n",
                    "s.yaml:1:18: a list is no value for 'sendmail'; write text [InvalidValue]\n");
    require_problem("mail: {to: a@b.c}\n", "s.yaml:1:8: 'to' is no key of mail; its keys are "
                                           "sendmail, from [InvalidValue]\n");
}

static void test_the_store_of_commands(void **state)
{
    (void)state;
    require_good("store: postgresql://h/d\n");
    assert_string_equal(settings.store, "postgresql://h/d");
    require_good("store: /srv/troupe\n");
    assert_string_equal(settings.store, "/srv/troupe");
    require_good("jobs: 1\n");
    assert_null(settings.store);
    require_problem("store: ''\n",
                    "s.yaml:1:8: '' is no value for 'store'; write text [InvalidValue]\n");
    require_problem("store: [a]\n",
                    "s.yaml:1:8: a list is no value for 'store'; write text [InvalidValue]\n");
}

static void test_object_stores(void **state)
{
    (void)state;
    require_good("object_stores:\n"
                 "  s3://: {endpoint: http://store/, region: eu-1, secret: store/key@2}\n"
                 "  gs://bucket: {authorization: {bearer: google/token}}\n"
                 "  https://host/path: {authorization: {basic: web/login}}\n"
                 "  s3://public: {authorization: none}\n");
    require_text(store_at(0)->uri, "s3://");
    require_text(store_at(0)->endpoint, "http://store");
    require_text(store_at(0)->region, "eu-1");
    assert_int_equal(store_at(0)->secret.kind, TR_HTTP_SECRET_SIGN);
    require_text(store_at(0)->secret.group, "store");
    require_text(store_at(0)->secret.key, "key");
    require_text(store_at(0)->secret.version, "2");
    assert_int_equal(store_at(1)->secret.kind, TR_HTTP_SECRET_PLAIN);
    require_text(store_at(1)->secret.header, "Authorization");
    require_text(store_at(1)->secret.prefix, "Bearer ");
    assert_int_equal(store_at(2)->secret.kind, TR_HTTP_SECRET_BASIC);
    require_text(store_at(2)->secret.key, "login");
    require_text(store_at(3)->secret.key, "");
}

static void test_blobs(void **state)
{
    (void)state;
    require_good("blobs: /shared/troupe\n");
    assert_string_equal(settings.blobs, "/shared/troupe");
    require_good("blobs: s3://results/teams/data\n");
    assert_string_equal(settings.blobs, "s3://results/teams/data");
    require_good("blobs_cache: 5Gi\n");
    assert_int_equal(settings.retention.blobs_cache_bytes, 5ULL << 30);
    require_problem("blobs_cache: 5Ki",
                    "s.yaml:1:14: this is too little for a cache; write at least 1Mi "
                    "[InvalidValue]\n");
    require_good("jobs: 1\n");
    assert_null(settings.blobs);
    require_problem("blobs: ftp://x/y",
                    "s.yaml:1:8: 'ftp://x/y' is neither a folder nor a bucket; write the path of a "
                    "folder that all hosts of the store reach, or s3://BUCKET[/PREFIX] "
                    "[InvalidValue]\n");
    require_problem("blobs: s3://No_Bucket/x",
                    "s.yaml:1:8: 's3://No_Bucket/x' is neither a folder nor a bucket; write the "
                    "path of a folder that all hosts of the store reach, or s3://BUCKET[/PREFIX] "
                    "[InvalidValue]\n");
    require_problem("blobs: s3://results//x",
                    "s.yaml:1:8: 's3://results//x' is neither a folder nor a bucket; write the "
                    "path of a folder that all hosts of the store reach, or s3://BUCKET[/PREFIX] "
                    "[InvalidValue]\n");
    require_problem("blobs: [a]",
                    "s.yaml:1:8: a list is no value for 'blobs'; write text [InvalidValue]\n");
}

static void test_what_is_wrong_with_object_stores(void **state)
{
    (void)state;
    require_problem("object_stores: [s3://]",
                    "s.yaml:1:16: object_stores is a mapping, and this is a list; write {key: "
                    "value} [InvalidValue]\n");
    require_problem("object_stores: {ftp://x: {}}",
                    "s.yaml:1:17: 'ftp://x' is nothing that files' URIs begin with; write s3:// or "
                    "gs://, with a bucket behind it or none, or https://HOST[/PATH] "
                    "[InvalidValue]\n");
    require_problem("object_stores: {https://: {}}",
                    "s.yaml:1:17: 'https://' is nothing that files' URIs begin with; write s3:// "
                    "or gs://, with a bucket behind it or none, or https://HOST[/PATH] "
                    "[InvalidValue]\n");
    require_problem("object_stores: {s3://: {endpont: x}}",
                    "s.yaml:1:25: 'endpont' is no key of an object store; the nearest one is "
                    "'endpoint' [InvalidValue]\n");
    require_problem("object_stores: {s3://: {endpoint: host}}",
                    "s.yaml:1:35: 'host' is no URL; write http://HOST[:PORT][/PATH], or https:// "
                    "[InvalidValue]\n");
    require_problem("object_stores: {https://h: {endpoint: http://x}}",
                    "s.yaml:1:39: 'endpoint' goes with s3:// and gs://, and a URL has its own; "
                    "remove it [InvalidValue]\n");
    require_problem("object_stores: {s3://: {region: eu/1}}",
                    "s.yaml:1:33: 'eu/1' is no region; write letters, digits and -, as "
                    "eu-central-1 [InvalidValue]\n");
    require_problem("object_stores: {s3://: {secret: key}}",
                    "s.yaml:1:33: 'key' names no secret; write group/key or group/key@version "
                    "[InvalidValue]\n");
    require_problem("object_stores: {s3://: {authorization: bearer}}",
                    "s.yaml:1:40: this is no value for 'authorization'; write none, {basic: "
                    "GROUP/KEY} or {bearer: GROUP/KEY} [InvalidValue]\n");
    require_problem("object_stores: {s3://: {secret: a/b, authorization: {bearer: a/b}}}",
                    "s.yaml:1:53: an object store has 'secret', which signs, or 'authorization'; "
                    "write one of them [InvalidValue]\n");
    require_problem("object_stores: {s3://: {ca_file: /no/such.pem}}",
                    "s.yaml:1:34: the file /no/such.pem cannot be read; write the path of a PEM "
                    "file, from the folder of the settings on [InvalidValue]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_nothing_is_said, tear_down),
        cmocka_unit_test_teardown(test_unknown_keys_are_named, tear_down),
        cmocka_unit_test_teardown(test_limits, tear_down),
        cmocka_unit_test_teardown(test_jobs, tear_down),
        cmocka_unit_test_teardown(test_durability, tear_down),
        cmocka_unit_test_teardown(test_retention, tear_down),
        cmocka_unit_test_teardown(test_retention_by_label, tear_down),
        cmocka_unit_test_teardown(test_task_types, tear_down),
        cmocka_unit_test_teardown(test_default_plugin, tear_down),
        cmocka_unit_test_teardown(test_plugins, tear_down),
        cmocka_unit_test_teardown(test_no_streams_are_another_thing_than_nothing_said, tear_down),
        cmocka_unit_test_teardown(test_one_endpoint, tear_down),
        cmocka_unit_test_teardown(test_several_endpoints, tear_down),
        cmocka_unit_test_teardown(test_what_is_wrong_with_endpoints, tear_down),
        cmocka_unit_test_teardown(test_there_is_a_bound_of_endpoints, tear_down),
        cmocka_unit_test_teardown(test_each_key_of_an_endpoint_is_checked, tear_down),
        cmocka_unit_test_teardown(test_files_of_an_endpoint, tear_down),
        cmocka_unit_test_teardown(test_quotas, tear_down),
        cmocka_unit_test_teardown(test_secrets, tear_down),
        cmocka_unit_test_teardown(test_mail, tear_down),
        cmocka_unit_test_teardown(test_traces, tear_down),
        cmocka_unit_test_teardown(test_the_store_of_commands, tear_down),
        cmocka_unit_test_teardown(test_object_stores, tear_down),
        cmocka_unit_test_teardown(test_blobs, tear_down),
        cmocka_unit_test_teardown(test_what_is_wrong_with_object_stores, tear_down),
        cmocka_unit_test_teardown(test_a_task_type_has_the_plugin_that_was_decided_on, tear_down),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
