/*
 * What entities of Flyte's say about how their nodes run, as the compiled graph has it: caches and
 * interruptions by the node, its task and its workflow, schedules and labels of launch plans, and
 * what is only kept, which is told once.
 */
#include <flyteidl/admin_launch_plan.pb-c.h>
#include <flyteidl/admin_task.pb-c.h>
#include <flyteidl/admin_workflow.pb-c.h>
#include <stdio.h>

#include "actors/graph/document/labels.h"
#include "actors/graph/import/import.h"
#include "tests/unit/actors/graph/help.h"

static struct help help;

/* A package of a task, a workflow that runs it in one node, and a launch plan of that. */
static struct {
    Flyteidl__Core__Identifier task_id;
    Flyteidl__Core__Identifier workflow_id;
    Flyteidl__Core__Identifier plan_id;
    Flyteidl__Core__TaskMetadata task_metadata;
    Flyteidl__Core__TaskTemplate task;
    Flyteidl__Core__TaskNode task_node;
    Flyteidl__Core__NodeMetadata node_metadata;
    Flyteidl__Core__Node node;
    Flyteidl__Core__Node *nodes[1];
    Flyteidl__Core__WorkflowMetadata workflow_metadata;
    Flyteidl__Core__WorkflowMetadataDefaults defaults;
    Flyteidl__Core__WorkflowTemplate workflow;
    Flyteidl__Admin__LaunchPlanSpec plan_spec;
    Flyteidl__Admin__LaunchPlanMetadata plan_metadata;
    Flyteidl__Admin__Schedule schedule;
    Flyteidl__Admin__LaunchPlan plan;
    struct tr_graph *graph;
    bool is_plugins; /* the task has no container */
} given;

static char *text(const char *string)
{
    return (char *)(uintptr_t)string;
}

static void name(Flyteidl__Core__Identifier *id, Flyteidl__Core__ResourceType type,
                 const char *string)
{
    flyteidl__core__identifier__init(id);
    id->resource_type = type;
    id->name = text(string);
}

static void make_workflow(void)
{
    flyteidl__core__task_node__init(&given.task_node);
    flyteidl__core__node_metadata__init(&given.node_metadata);
    flyteidl__core__node__init(&given.node);
    flyteidl__core__workflow_metadata__init(&given.workflow_metadata);
    flyteidl__core__workflow_metadata_defaults__init(&given.defaults);
    flyteidl__core__workflow_template__init(&given.workflow);
    given.task_node.reference_case = FLYTEIDL__CORE__TASK_NODE__REFERENCE_REFERENCE_ID;
    given.task_node.reference_id = &given.task_id;
    given.node.id = text("n0");
    given.node.metadata = &given.node_metadata;
    given.node.target_case = FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
    given.node.task_node = &given.task_node;
    given.nodes[0] = &given.node;
    given.workflow.id = &given.workflow_id;
    given.workflow.metadata = &given.workflow_metadata;
    given.workflow.metadata_defaults = &given.defaults;
    given.workflow.n_nodes = 1;
    given.workflow.nodes = given.nodes;
}

static int set_up(void **state)
{
    (void)state;
    help_init(&help);
    name(&given.task_id, FLYTEIDL__CORE__RESOURCE_TYPE__TASK, "f.task");
    name(&given.workflow_id, FLYTEIDL__CORE__RESOURCE_TYPE__WORKFLOW, "f.flow");
    name(&given.plan_id, FLYTEIDL__CORE__RESOURCE_TYPE__LAUNCH_PLAN, "f.plan");
    flyteidl__core__task_metadata__init(&given.task_metadata);
    flyteidl__core__task_template__init(&given.task);
    given.task.id = &given.task_id;
    given.task.type = text("process");
    given.task.metadata = &given.task_metadata;
    make_workflow();
    flyteidl__admin__launch_plan_spec__init(&given.plan_spec);
    flyteidl__admin__launch_plan_metadata__init(&given.plan_metadata);
    flyteidl__admin__schedule__init(&given.schedule);
    flyteidl__admin__launch_plan__init(&given.plan);
    given.plan_spec.workflow_id = &given.workflow_id;
    given.plan_spec.entity_metadata = &given.plan_metadata;
    given.plan.id = &given.plan_id;
    given.plan.spec = &given.plan_spec;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_graph_free(given.graph);
    given.graph = NULL;
    given.is_plugins = false;
    help_fini(&help);
    return 0;
}

static struct tr_flyte_file file_of(const char *file, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = tr_arena_alloc(&help.arena, size + 1);
    assert_non_null(packed);
    protobuf_c_message_pack(message, packed);
    return (struct tr_flyte_file){.name = tr_text_of(file),
                                  .bytes = {.data = packed, .size = size}};
}

/* Packs all of it and compiles that; the errors and warnings. */
static const char *compile(void)
{
    Flyteidl__Core__Container container;
    Flyteidl__Admin__TaskSpec task;
    Flyteidl__Admin__WorkflowSpec workflow;
    char *words[] = {text("true")};
    flyteidl__core__container__init(&container);
    flyteidl__admin__task_spec__init(&task);
    flyteidl__admin__workflow_spec__init(&workflow);
    container.n_args = 1;
    container.args = words;
    if (!given.is_plugins) {
        given.task.target_case = FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER;
        given.task.container = &container;
    }
    task.template_ = &given.task;
    workflow.template_ = &given.workflow;
    const struct tr_flyte_file files[] = {file_of("0_1.pb", &task.base),
                                          file_of("1_2.pb", &workflow.base),
                                          file_of("2_3.pb", &given.plan.base)};
    const struct tr_flyte_package package = {.files = files,
                                             .file_count = TR_COUNT_OF(files),
                                             .project = tr_text_of("p"),
                                             .domain = tr_text_of("d"),
                                             .version = tr_text_of("v"),
                                             .path = tr_text_of(""),
                                             .python_path = tr_text_of("")};
    const struct tr_import_place place = {.path = tr_text_of("p"), .folder = tr_text_of("/")};
    (void)!tr_import_package(&package, &place, &help.report, &given.graph);
    return help_errors(&help);
}

static const struct tr_settings *node_settings(void)
{
    assert_string_equal(compile(), "");
    const struct tr_workflow *workflow = &given.graph->workflows[0];
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        if (tr_text_equal(workflow->nodes[i].id, tr_text_of("n0"))) {
            return workflow->nodes[i].settings;
        }
    }
    fail_msg("there is no node n0");
    return NULL;
}

static void set_cached(const char *version)
{
    given.task_metadata.discoverable = 1;
    given.task_metadata.discovery_version = text(version);
}

/* Two integers, about which an SDK and a person say something, which counts for nothing. */
static void test_a_cached_task_has_flytes_signature(void **state)
{
    (void)state;
    Flyteidl__Core__TypedInterface interface = FLYTEIDL__CORE__TYPED_INTERFACE__INIT;
    Flyteidl__Core__VariableMap map = FLYTEIDL__CORE__VARIABLE_MAP__INIT;
    Flyteidl__Core__VariableMap__VariablesEntry entries[2];
    Flyteidl__Core__VariableMap__VariablesEntry *items[] = {&entries[0], &entries[1]};
    Flyteidl__Core__Variable variable;
    Flyteidl__Core__LiteralType type = FLYTEIDL__CORE__LITERAL_TYPE__INIT;
    Google__Protobuf__Struct said = GOOGLE__PROTOBUF__STRUCT__INIT;
    flyteidl__core__variable__init(&variable);
    type.type_case = FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SIMPLE;
    type.simple = FLYTEIDL__CORE__SIMPLE_TYPE__INTEGER;
    type.metadata = &said;
    variable.type = &type;
    variable.description = text("a number");
    for (size_t i = 0; i < 2; i++) {
        flyteidl__core__variable_map__variables_entry__init(&entries[i]);
        entries[i].key = text(i == 0 ? "1" : "2");
        entries[i].value = &variable;
    }
    map.n_variables = 2;
    map.variables = items;
    interface.outputs = &map;
    given.task.interface = &interface;
    set_cached("1.0.0");
    assert_string_equal(compile(), "");
    const struct tr_cache *cache = &given.graph->tasks[0].settings.cache;
    assert_true(tr_text_equal(cache->signature, tr_text_of("GKw-c0Pw-UxVtPm0k")));
}

static void set_node_cacheable(bool is_cacheable)
{
    given.node_metadata.cacheable_value_case =
        FLYTEIDL__CORE__NODE_METADATA__CACHEABLE_VALUE_CACHEABLE;
    given.node_metadata.cacheable = is_cacheable;
}

static void set_node_version(const char *version)
{
    given.node_metadata.cache_version_value_case =
        FLYTEIDL__CORE__NODE_METADATA__CACHE_VERSION_VALUE_CACHE_VERSION;
    given.node_metadata.cache_version = text(version);
}

static void test_a_nodes_cache_has_it_too(void **state)
{
    (void)state;
    set_node_cacheable(true);
    set_node_version("2");
    assert_true(tr_text_equal(node_settings()->cache.signature, tr_text_of("GKw-c0Pw-GKw-c0Pw")));
}

static void test_a_node_that_says_nothing_has_its_tasks_settings(void **state)
{
    (void)state;
    set_cached("1");
    set_node_cacheable(true);
    set_node_version("1");
    const struct tr_settings *settings = node_settings();
    assert_ptr_equal(settings, &given.graph->tasks[0].settings);
    assert_true(tr_text_equal(settings->cache.version, tr_text_of("1")));
}

static void test_a_nodes_attempts_are_its_own(void **state)
{
    (void)state;
    Flyteidl__Core__RetryStrategy of_task = FLYTEIDL__CORE__RETRY_STRATEGY__INIT;
    Flyteidl__Core__RetryStrategy of_node = FLYTEIDL__CORE__RETRY_STRATEGY__INIT;
    Google__Protobuf__Duration timeout = GOOGLE__PROTOBUF__DURATION__INIT;
    of_task.retries = 1;
    of_node.retries = 2;
    timeout.seconds = 5;
    given.task_metadata.retries = &of_task;
    given.node_metadata.retries = &of_node;
    given.node_metadata.timeout = &timeout;
    const struct tr_settings *settings = node_settings();
    assert_int_equal(settings->retries, 2);
    assert_int_equal(settings->timeout_ns, 5000000000);
    assert_int_equal(given.graph->tasks[0].settings.retries, 1);
}

/* What a node asks for in its task's place: one amount. */
struct asked {
    Flyteidl__Core__TaskNodeOverrides overrides;
    Flyteidl__Core__Resources resources;
    Flyteidl__Core__Resources__ResourceEntry entry;
    Flyteidl__Core__Resources__ResourceEntry *entries[1];
};

static void ask(struct asked *asked, Flyteidl__Core__Resources__ResourceName name,
                const char *amount)
{
    flyteidl__core__task_node_overrides__init(&asked->overrides);
    flyteidl__core__resources__init(&asked->resources);
    flyteidl__core__resources__resource_entry__init(&asked->entry);
    asked->entry.name = name;
    asked->entry.value = text(amount);
    asked->entries[0] = &asked->entry;
    asked->resources.n_requests = 1;
    asked->resources.requests = asked->entries;
    asked->overrides.resources = &asked->resources;
    given.task_node.overrides = &asked->overrides;
}

static void test_a_node_asks_for_resources(void **state)
{
    (void)state;
    struct asked asked;
    ask(&asked, FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__CPU, "500m");
    assert_int_equal(node_settings()->resources.cpu_millis, 500);
    assert_int_equal(given.graph->tasks[0].settings.resources.cpu_millis, 0);
}

static void test_a_node_switches_the_cache_off(void **state)
{
    (void)state;
    set_cached("1");
    set_node_cacheable(false);
    assert_int_equal(node_settings()->cache.version.size, 0);
    assert_int_equal(given.graph->tasks[0].settings.cache.version.size, 1);
}

static void test_a_node_switches_the_cache_on(void **state)
{
    (void)state;
    set_node_cacheable(true);
    set_node_version("2");
    assert_true(tr_text_equal(node_settings()->cache.version, tr_text_of("2")));
}

static void test_what_a_node_leaves_open_is_its_tasks(void **state)
{
    (void)state;
    set_cached("1");
    given.node_metadata.cache_serializable_value_case =
        FLYTEIDL__CORE__NODE_METADATA__CACHE_SERIALIZABLE_VALUE_CACHE_SERIALIZABLE;
    given.node_metadata.cache_serializable = 1;
    const struct tr_settings *settings = node_settings();
    assert_true(settings->cache.is_serialized);
    assert_true(tr_text_equal(settings->cache.version, tr_text_of("1")));
    assert_false(given.graph->tasks[0].settings.cache.is_serialized);
}

static void set_task_interruptible(bool is_interruptible)
{
    given.task_metadata.interruptible_value_case =
        FLYTEIDL__CORE__TASK_METADATA__INTERRUPTIBLE_VALUE_INTERRUPTIBLE;
    given.task_metadata.interruptible = is_interruptible;
}

static void test_interruptible_by_the_workflow(void **state)
{
    (void)state;
    given.defaults.interruptible = 1;
    assert_true(node_settings()->is_interruptible);
}

static void test_a_task_says_it_before_its_workflow(void **state)
{
    (void)state;
    given.defaults.interruptible = 1;
    set_task_interruptible(false);
    assert_false(node_settings()->is_interruptible);
}

static void test_a_node_says_it_before_its_task(void **state)
{
    (void)state;
    set_task_interruptible(true);
    given.node_metadata.interruptible_value_case =
        FLYTEIDL__CORE__NODE_METADATA__INTERRUPTIBLE_VALUE_INTERRUPTIBLE;
    given.node_metadata.interruptible = 0;
    assert_false(node_settings()->is_interruptible);
}

static void expect_cron(const char *expression, const char *expected)
{
    given.plan_metadata.schedule = &given.schedule;
    given.schedule.schedule_expression_case =
        FLYTEIDL__ADMIN__SCHEDULE__SCHEDULE_EXPRESSION_CRON_EXPRESSION;
    given.schedule.cron_expression = text(expression);
    assert_string_equal(compile(), "");
    assert_true(tr_text_equal(given.graph->plans[0].schedule.cron_text, tr_text_of(expected)));
    tr_graph_free(given.graph);
    given.graph = NULL;
}

static void test_the_older_form_of_schedules(void **state)
{
    (void)state;
    expect_cron("0 3 * * *", "0 3 * * *");
    expect_cron("@daily", "@daily");
    expect_cron("0 10 * * ? *", "0 10 * * *");
    expect_cron("15 10 ? * 2-6 *", "15 10 * * 1-5");
    expect_cron("0/10 * ? * MON *", "0/10 * * * MON");
    given.schedule.cron_expression = text("0 10 * * ? 2026");
    assert_non_null(strstr(compile(), "the schedule names years; let its sixth field be a star"));
}

static void test_a_plan_has_labels(void **state)
{
    (void)state;
    Flyteidl__Admin__Labels labels;
    Flyteidl__Admin__Labels__ValuesEntry entry;
    Flyteidl__Admin__Labels__ValuesEntry *entries[] = {&entry};
    flyteidl__admin__labels__init(&labels);
    flyteidl__admin__labels__values_entry__init(&entry);
    entry.key = text("team");
    entry.value = text("blue");
    labels.n_values = 1;
    labels.values = entries;
    given.plan_spec.labels = &labels;
    assert_string_equal(compile(), "");
    assert_non_null(
        memmem(given.graph->plans[0].labels.data, given.graph->plans[0].labels.size, "blue", 4));
}

/* How its executions run; what is none of it is told in words. */
static void test_a_plan_says_how_its_executions_run(void **state)
{
    (void)state;
    Flyteidl__Admin__Envs variables = FLYTEIDL__ADMIN__ENVS__INIT;
    Flyteidl__Core__KeyValuePair pair;
    Flyteidl__Core__KeyValuePair *pairs[] = {&pair};
    Flyteidl__Admin__RawOutputDataConfig raw;
    Flyteidl__Admin__ConcurrencyPolicy policy = FLYTEIDL__ADMIN__CONCURRENCY_POLICY__INIT;
    Google__Protobuf__BoolValue no = GOOGLE__PROTOBUF__BOOL_VALUE__INIT;
    flyteidl__core__key_value_pair__init(&pair);
    flyteidl__admin__raw_output_data_config__init(&raw);
    pair.key = text("MODE");
    pair.value = text("{{.input}}");
    variables.n_values = 1;
    variables.values = pairs;
    raw.output_location_prefix = text("s3://bucket/raw");
    policy.max = 2;
    given.plan_spec.envs = &variables;
    given.plan_spec.raw_output_data_config = &raw;
    given.plan_spec.concurrency_policy = &policy;
    given.plan_spec.interruptible = &no;
    given.plan_spec.overwrite_cache = 1;
    given.plan_spec.max_parallelism = 3;
    assert_string_equal(compile(), "");
    const struct tr_run_settings *run = &given.graph->plans[0].run;
    assert_int_equal(run->environment_count, 1);
    assert_true(tr_text_equal(run->environment[0].name, tr_text_of("MODE")));
    assert_true(tr_text_equal(run->environment[0].value, tr_text_of("{{.input}}")));
    assert_true(tr_text_equal(run->raw_output_prefix, tr_text_of("s3://bucket/raw")));
    assert_int_equal(run->interruptible, TR_CHOICE_NO);
    assert_true(run->refreshes_cache);
    assert_int_equal(run->max_parallelism, 3);
    assert_int_equal(run->executions_max, 2);
    tr_graph_free(given.graph);
    given.graph = NULL;
    given.plan_spec.max_parallelism = -1;
    policy.max = -1;
    pair.key = text("a=b");
    raw.output_location_prefix = text("raw");
    const char *told = compile();
    assert_non_null(strstr(told, "max_parallelism is less than 0; give 0 for no bound, or more"));
    assert_non_null(strstr(told, "the concurrency policy's max is less than 0"));
    assert_non_null(strstr(told, "'a=b' is no name of an environment variable"));
    assert_non_null(strstr(told, "the raw output prefix is no absolute path and no URI; write it "
                                 "as /data/raw or s3://bucket/raw"));
}

static void test_what_is_not_acted_on_is_told_once(void **state)
{
    (void)state;
    Flyteidl__Core__TaskNodeOverrides overrides;
    flyteidl__core__task_node_overrides__init(&overrides);
    Flyteidl__Core__K8sPod pod;
    flyteidl__core__k8s_pod__init(&pod);
    pod.primary_container_name = text("main");
    overrides.pod_template = &pod;
    given.task_node.overrides = &overrides;
    Flyteidl__Admin__AuthRole role;
    flyteidl__admin__auth_role__init(&role);
    role.kubernetes_service_account = text("robot");
    given.plan_spec.auth_role = &role;
    const char *told = compile();
    assert_non_null(
        strstr(told, "f.plan: a launch plan's auth role is kept and not acted on here"));
    assert_non_null(strstr(told, "f.flow: a node's pod template is kept and not acted on here"));
    assert_non_null(given.graph);
}

/* ------------------------------------------------------------------ for plugins */

static void assert_json(struct tr_bytes packed, const char *expected)
{
    tr_buffer_cut(&help.text, 0);
    assert_int_equal(tr_literal_json(NULL, packed, &help.text), 0);
    tr_buffer_add(&help.text, "", 1);
    assert_string_equal((const char *)help.text.data, expected);
}

static void test_a_plugins_task_has_what_else_it_says(void **state)
{
    (void)state;
    Flyteidl__Core__TaskTemplate__ConfigEntry entry;
    flyteidl__core__task_template__config_entry__init(&entry);
    Flyteidl__Core__TaskTemplate__ConfigEntry *entries[] = {&entry};
    Flyteidl__Core__Sql sql;
    flyteidl__core__sql__init(&sql);
    Flyteidl__Core__RetryStrategy retries = FLYTEIDL__CORE__RETRY_STRATEGY__INIT;
    entry.key = text("queue");
    entry.value = text("fast");
    sql.statement = text("select 1");
    retries.retries = 2;
    given.is_plugins = true;
    given.task.type = text("query");
    given.task.n_config = 1;
    given.task.config = entries;
    given.task.task_type_version = 2;
    given.task.target_case = FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_SQL;
    given.task.sql = &sql;
    given.task_metadata.pod_template_name = text("large");
    given.task_metadata.retries = &retries;
    assert_non_null(strstr(compile(), "a task's pod template is kept and not acted on here"));
    assert_non_null(given.graph);
    assert_json(
        given.graph->tasks[0].extra,
        "{\"config\": {\"queue\": \"fast\"}, \"metadata\": {\"podTemplateName\": \"large\"}, "
        "\"sql\": {\"statement\": \"select 1\"}, \"taskTypeVersion\": 2}");
}

static void test_a_process_has_nothing_of_it(void **state)
{
    (void)state;
    given.task.task_type_version = 2;
    assert_string_equal(compile(), "");
    assert_int_equal(given.graph->tasks[0].extra.size, 0);
}

/* ------------------------------------------------------------------ what is wrong */

static void expect(const char *words)
{
    const char *told = compile();
    if (strstr(told, words) == NULL || given.graph != NULL) {
        fail_msg("'%s' and not '%s'", told, words);
    }
}

static void test_attempts_that_are_none(void **state)
{
    (void)state;
    Flyteidl__Core__RetryStrategy retries = FLYTEIDL__CORE__RETRY_STRATEGY__INIT;
    Google__Protobuf__Duration timeout = GOOGLE__PROTOBUF__DURATION__INIT;
    retries.retries = 10001;
    given.node_metadata.retries = &retries;
    expect("f.flow.n0: 10001 is no value for 'retries'; write a whole number from 0 to 10000");
    given.node_metadata.retries = NULL;
    given.node_metadata.timeout = &timeout;
    timeout.seconds = -1;
    expect("f.flow.n0: -1 seconds are no value for 'timeout'; give a positive duration of at most");
    timeout.seconds = INT64_MAX;
    expect("seconds are no value for 'timeout'");
    timeout.seconds = 1;
    assert_int_equal(node_settings()->timeout_ns, 1000000000);
}

static void test_a_cache_without_a_version(void **state)
{
    (void)state;
    set_cached("");
    expect("f.task: its results are cached under no version; give one, cache_version=..., and "
           "change it with the code [ValueRequired]");
}

static void test_an_amount_that_is_none(void **state)
{
    (void)state;
    struct asked asked;
    ask(&asked, FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__MEMORY, "much");
    asked.resources.n_requests = 0; /* as a limit, which counts as well */
    asked.resources.n_limits = 1;
    asked.resources.limits = asked.entries;
    expect("f.flow.n0.resources.memory: this is no quantity; write a positive number");
}

static void test_nodes_of_one_id(void **state)
{
    (void)state;
    Flyteidl__Core__Node *nodes[] = {&given.node, &given.node};
    given.workflow.n_nodes = 2;
    given.workflow.nodes = nodes;
    expect("f.flow.n0: Trying to insert two nodes with the same id.; give each an id of its own "
           "[DuplicateId]");
    given.workflow.n_nodes = 0;
    expect("f.flow: Can't find any nodes in workflow.; add nodes to it [NoNodesFound]");
}

static void test_a_plan_of_no_workflow(void **state)
{
    (void)state;
    Flyteidl__Core__Identifier nobody;
    name(&nobody, FLYTEIDL__CORE__RESOURCE_TYPE__WORKFLOW, "");
    given.plan_spec.workflow_id = &nobody;
    expect("f.plan: the launch plan does not say which workflow it starts [ValueRequired]");
}

static void test_schedules_that_are_none(void **state)
{
    (void)state;
    Flyteidl__Admin__FixedRate rate = FLYTEIDL__ADMIN__FIXED_RATE__INIT;
    Flyteidl__Admin__CronSchedule cron;
    flyteidl__admin__cron_schedule__init(&cron);
    given.plan_metadata.schedule = &given.schedule;
    given.schedule.schedule_expression_case = FLYTEIDL__ADMIN__SCHEDULE__SCHEDULE_EXPRESSION_RATE;
    given.schedule.rate = &rate;
    expect("f.plan: the schedule's rate is no time between two executions; let its value be 1");
    given.schedule.schedule_expression_case =
        FLYTEIDL__ADMIN__SCHEDULE__SCHEDULE_EXPRESSION_CRON_SCHEDULE;
    given.schedule.cron_schedule = &cron;
    cron.schedule = text("* * *");
    cron.offset = text("P1Y");
    expect("f.plan: '* * *' is no cron expression: look at its ");
    cron.schedule = text("@daily");
    expect("f.plan: the schedule's offset is no duration of weeks, days, hours, minutes and");
    cron.offset = text("P400D");
    expect("f.plan: the schedule's offset is more than a year; write it as PT1H30M");
}

static void test_labels_that_are_none(void **state)
{
    (void)state;
    Flyteidl__Admin__Labels labels;
    Flyteidl__Admin__Labels__ValuesEntry entry;
    Flyteidl__Admin__Labels__ValuesEntry many[TR_LABELS_MAX + 1];
    Flyteidl__Admin__Labels__ValuesEntry *entries[TR_LABELS_MAX + 1] = {&entry};
    char keys[TR_LABELS_MAX + 1][8];
    flyteidl__admin__labels__init(&labels);
    flyteidl__admin__labels__values_entry__init(&entry);
    entry.key = text("a b");
    entry.value = text("blue");
    labels.n_values = 1;
    labels.values = entries;
    given.plan_spec.labels = &labels;
    expect("f.plan: 'a b' is no key of a label; write letters");
    entry.key = text("team");
    entry.value = text("b/c");
    expect("f.plan: 'b/c' is no value of the label 'team'; write letters");
    for (size_t i = 0; i < TR_COUNT_OF(many); i++) {
        (void)snprintf(keys[i], sizeof keys[i], "k%zu", i);
        many[i] = entry;
        many[i].key = keys[i];
        many[i].value = text("blue");
        entries[i] = &many[i];
    }
    labels.n_values = TR_COUNT_OF(many);
    expect("f.plan: there are too many labels; write at most 64");
}

static void test_secrets_that_are_none(void **state)
{
    (void)state;
    Flyteidl__Core__SecurityContext context;
    flyteidl__core__security_context__init(&context);
    Flyteidl__Core__Secret secret;
    flyteidl__core__secret__init(&secret);
    Flyteidl__Core__Secret *secrets[] = {&secret, &secret};
    context.n_secrets = 1;
    context.secrets = secrets;
    secret.group = text("g");
    given.task.security_context = &context;
    expect("f.task: a secret has no group or no key; name both: Secret(group=..., key=...)");
    secret.key = text("k");
    context.n_secrets = 2;
    expect("f.task: the secret's variable '_FSEC_G_K' is there twice; keep one of them");
    context.n_secrets = 1;
    secret.env_var = text("a=b");
    expect("f.task: 'a=b' is no name of an environment variable; give it one without '='");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_node_that_says_nothing_has_its_tasks_settings),
        TEST(test_a_cached_task_has_flytes_signature),
        TEST(test_a_nodes_cache_has_it_too),
        TEST(test_a_nodes_attempts_are_its_own),
        TEST(test_a_node_asks_for_resources),
        TEST(test_a_node_switches_the_cache_off),
        TEST(test_a_node_switches_the_cache_on),
        TEST(test_what_a_node_leaves_open_is_its_tasks),
        TEST(test_interruptible_by_the_workflow),
        TEST(test_a_task_says_it_before_its_workflow),
        TEST(test_a_node_says_it_before_its_task),
        TEST(test_the_older_form_of_schedules),
        TEST(test_a_plan_has_labels),
        TEST(test_a_plan_says_how_its_executions_run),
        TEST(test_what_is_not_acted_on_is_told_once),
        TEST(test_a_plugins_task_has_what_else_it_says),
        TEST(test_a_process_has_nothing_of_it),
        TEST(test_attempts_that_are_none),
        TEST(test_a_cache_without_a_version),
        TEST(test_an_amount_that_is_none),
        TEST(test_nodes_of_one_id),
        TEST(test_a_plan_of_no_workflow),
        TEST(test_schedules_that_are_none),
        TEST(test_labels_that_are_none),
        TEST(test_secrets_that_are_none),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
