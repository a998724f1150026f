/*
 * What a plugin's table has to have, in both shapes: one thing is taken out of a good one at a
 * time. What is wrong with files is integration/plugins'.
 */
#include "plugins/builtin/load.h"

#include "plugins/sdk/webapi.h"
#include "tests/support/test.h"

#define TR_SAIL_SCHEMAS(S)                                           \
    S(sail_attempt, 12000, TR_STATE, 1, 0, TR_WEBAPI_ATTEMPT_FIELDS) \
    S(sail_other, 12001, TR_STATE, 1, 0, TR_SAIL_OTHER_FIELDS)       \
    S(sail_foreign, 300, TR_STATE, 1, 0, TR_WEBAPI_ATTEMPT_FIELDS)
#define TR_SAIL_OTHER_FIELDS(FIELD, ARRAY) FIELD(u64, count, 1, 0)
TR_SAIL_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_SAIL_SCHEMAS(TR_SCHEMA_DEFINE)

static int prepare(struct tr_task_context *task, void *state,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_webapi_job *job, struct tr_transition *transition)
{
    (void)task;
    (void)state;
    (void)endpoint;
    (void)event;
    (void)job;
    (void)transition;
    return 0;
}

static int write_verb(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    (void)batch;
    (void)request;
    return 0;
}

static int read_verb(struct tr_webapi_batch *batch, const struct tr_webapi_response *response)
{
    (void)batch;
    (void)response;
    return 0;
}

static int write_stream(struct tr_webapi_batch *batch, struct tr_text cursor,
                        struct tr_webapi_request *request)
{
    (void)batch;
    (void)cursor;
    (void)request;
    return 0;
}

static int find_scope(struct tr_webapi_batch *batch, struct tr_text *scope)
{
    *scope = batch->job_set;
    return 0;
}

static int write_list(struct tr_webapi_batch *batch, struct tr_text page,
                      struct tr_webapi_request *request)
{
    return write_stream(batch, page, request);
}

static int read_bytes(struct tr_webapi_batch *batch, struct tr_bytes bytes)
{
    (void)batch;
    (void)bytes;
    return 0;
}

static const char *const no_types[] = {NULL};
static struct tr_webapi shape;
static struct tr_plugin plugin;

static int set_up(void **state)
{
    (void)state;
    const struct tr_webapi_verb verb = {10, write_verb, read_verb};
    shape = (struct tr_webapi){.idempotency = TR_WEBAPI_IDEMPOTENCY_EXACT,
                               .prepare = prepare,
                               .create = verb,
                               .status = verb,
                               .cancel = verb};
    plugin = (struct tr_plugin){.abi = TR_PLUGIN_ABI,
                                .id = "sail",
                                .task_types = no_types,
                                .state = &tr_sail_attempt_schema,
                                .webapi = &shape,
                                TR_WEBAPI_PLUGIN_FUNCTIONS};
    return 0;
}

static void require_problem(const char *expected)
{
    char problem[256] = "";
    int error = tr_plugin_check(&plugin, tr_text_of("sail"), NULL, 0, problem, sizeof problem);
    assert_string_equal(problem, expected);
    assert_int_equal(error, expected[0] == '\0' ? 0 : TR_INVALID);
}

static void test_a_whole_one_is_good(void **state)
{
    (void)state;
    require_problem("");
}

static void test_each_verb_is_needed(void **state)
{
    (void)state;
    shape.create.items_max = 0;
    require_problem("the table has no `webapi->create`\na plugin of the Web API shape needs it");
    set_up(NULL);
    shape.status.read = NULL;
    require_problem("the table has no `webapi->status`\na plugin of the Web API shape needs it");
    set_up(NULL);
    shape.cancel.write = NULL;
    require_problem("the table has no `webapi->cancel`\na plugin of the Web API shape needs it");
    set_up(NULL);
    shape.prepare = NULL;
    require_problem("the table has no `webapi->prepare`\na plugin of the Web API shape needs it");
    set_up(NULL);
    shape.stream.write = write_stream;
    require_problem("the table has no `webapi->stream.line`\na plugin of the Web API shape needs "
                    "it");
}

/* A watch is all of its functions; what an older plugin has behind its table is not looked at. */
static void test_a_watch_is_whole(void **state)
{
    (void)state;
    struct tr_webapi_watch watch = {
        .scope = find_scope, .write_list = write_list, .item = read_bytes, .rest = read_bytes};
    shape.watch = &watch;
    shape.stream = (struct tr_webapi_stream){.write = write_stream, .line = read_bytes};
    require_problem("");
    shape.idempotency = TR_WEBAPI_IDEMPOTENCY_RECONCILABLE; /* it need not be asked */
    require_problem("");
    shape.stream.write = NULL;
    require_problem("the table has no `webapi->stream.write`\na plugin of the Web API shape needs "
                    "it");
    shape.stream.write = write_stream;
    watch.rest = NULL;
    require_problem("the table has no `webapi->watch->rest`\na plugin of the Web API shape needs "
                    "it");
    shape.idempotency = TR_WEBAPI_IDEMPOTENCY_EXACT;
    plugin.abi = 1;
    require_problem("");
}

/* Where unknown outcomes are reconciled by asking there has to be something to ask. */
static void test_a_level_that_asks_needs_find(void **state)
{
    (void)state;
    shape.idempotency = TR_WEBAPI_IDEMPOTENCY_TAG;
    require_problem("the table has no `webapi->find`\na plugin of the Web API shape needs it");
    shape.find = shape.status;
    require_problem("");
    shape.idempotency = 9;
    require_problem("its idempotency level is 9\nwrite one of enum tr_webapi_idempotency");
}

static void test_the_frameworks_functions_are_needed(void **state)
{
    (void)state;
    plugin.abort = NULL;
    require_problem("its functions are not those of the Web API shape\nwrite "
                    "TR_WEBAPI_PLUGIN_FUNCTIONS into the table (plugins/sdk/webapi.h)");
}

static void test_the_state_begins_with_the_frameworks_fields(void **state)
{
    (void)state;
    plugin.state = NULL;
    require_problem("the table has no `state`\na plugin of the Web API shape needs it");
    plugin.state = &tr_sail_other_schema;
    require_problem("field 1 of its state is not `stage`\nbegin the state's fields with "
                    "TR_WEBAPI_ATTEMPT_FIELDS");
    plugin.state = &tr_sail_foreign_schema;
    require_problem("its state is a state with the id 300\nmake it a state with an id from 10000 "
                    "to 60000, which no other plugin of yours has");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_whole_one_is_good, set_up),
        cmocka_unit_test_setup(test_each_verb_is_needed, set_up),
        cmocka_unit_test_setup(test_a_watch_is_whole, set_up),
        cmocka_unit_test_setup(test_a_level_that_asks_needs_find, set_up),
        cmocka_unit_test_setup(test_the_frameworks_functions_are_needed, set_up),
        cmocka_unit_test_setup(test_the_state_begins_with_the_frameworks_fields, set_up),
    };
    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
