/*
 * The services of a host, with a real http server and a real keeper: an actor calls, the call
 * leaves after its commit, the answer comes back; and a service that is not there says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/keeper/keeper.h"
#include "runtime/troupe.h"
#include "schemas/runtime/http.h"
#include "schemas/runtime/process.h"
#include "tests/support/http_server.h"
#include "tests/support/test.h"

/* What the errand's actor is told to do, and what it writes down of the answers. */
#define TR_ERRAND_FIELDS(FIELD, ARRAY) \
    FIELD(u8, kind, 1, 0)              \
    FIELD(text, words, 1, 0)
#define TR_RUNNER_FIELDS(FIELD, ARRAY) \
    FIELD(u64, ask, 1, 0)              \
    FIELD(u32, parts, 1, 0)

#define TR_SERVICE_TEST_SCHEMAS(S)                                \
    S(errand, 62101, TR_MESSAGE, 1, TR_DURABLE, TR_ERRAND_FIELDS) \
    S(runner, 62102, TR_STATE, 1, 0, TR_RUNNER_FIELDS)

TR_SERVICE_TEST_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_SERVICE_TEST_SCHEMAS(TR_SCHEMA_DEFINE)

enum errand { GET, LINES, PROCESS };

/* How an errand's actor ended; the test reads it after the host's threads have told of the end. */
static struct {
    uint32_t status;
    uint32_t parts;
    int failed;
    bool has_started;
    uint8_t outcome;
    uint32_t exit_status;
} seen;

/* Of the host that runs. */
static char store_folder[64];

static int fetch(struct tr_context *context, struct tr_runner *runner, struct tr_text url,
                 uint8_t delivery)
{
    struct tr_http_request request = {
        .method = tr_text_of("GET"), .url = url, .delivery = delivery, .timeout_ms = 10000};
    return tr_call(context, TR_SERVICE_HTTP, &tr_http_request_schema, &request, 0, &runner->ask);
}

static int start_process(struct tr_context *context, struct tr_runner *runner,
                         struct tr_text script)
{
    char line[256];
    snprintf(line, sizeof line, "%.*s", (int)script.size, script.data);
    const char *const argv[] = {"/bin/sh", "-c", line, NULL};
    uint8_t words[512];
    struct tr_writer writer = tr_writer_of(words, sizeof words);
    int error = tr_process_strings_pack(argv, &writer);
    char folder[128];
    snprintf(folder, sizeof folder, "%s/made/errand@0", store_folder);
    struct tr_process_run run = {
        .key = tr_text_of("test/errand@0"),
        .argv = {words, tr_writer_size(&writer)},
        .folder = tr_text_of(folder),
    };
    return error != 0 ? error
                      : tr_call(context, TR_SERVICE_PROCESSES, &tr_process_run_schema, &run, 0,
                                &runner->ask);
}

static int on_errand(struct tr_context *context, struct tr_runner *runner,
                     const struct tr_message *message)
{
    struct tr_errand errand;
    int error = tr_message_read(message, errand, &errand);
    if (error != 0) {
        return error;
    }
    if (errand.kind == GET || errand.kind == LINES) {
        return fetch(context, runner, errand.words,
                     errand.kind == LINES ? TR_HTTP_LINES : TR_HTTP_WHOLE);
    }
    return start_process(context, runner, errand.words);
}

static int on_response(struct tr_context *context, const struct tr_runner *runner,
                       const struct tr_message *message)
{
    struct tr_http_response response;
    int error = tr_message_read(message, http_response, &response);
    seen.status = response.status;
    seen.parts = runner->parts;
    return error != 0 ? error : tr_stop(context);
}

static int on_over(struct tr_context *context, const struct tr_message *message)
{
    struct tr_process_over over;
    int error = tr_message_read(message, process_over, &over);
    if (error != 0) {
        return error;
    }
    seen.outcome = over.outcome;
    seen.exit_status = over.status;
    struct tr_ref service = {{0, TR_SERVICE_PROCESSES}, 0};
    struct tr_process_forget forget = {.key = over.key};
    error = tr_tell(context, service, &tr_process_forget_schema, &forget);
    return error != 0 ? error : tr_stop(context);
}

static int on_failed(struct tr_context *context, const struct tr_message *message)
{
    struct tr_ask_failed failed;
    int error = tr_message_read(message, ask_failed, &failed);
    seen.failed = -(int)failed.reason;
    return error != 0 ? error : tr_stop(context);
}

static int runner_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_runner *runner = state;
    if (tr_message_is(message, &tr_errand_schema)) {
        return on_errand(context, runner, message);
    }
    if (tr_message_is(message, &tr_http_part_schema)) {
        runner->parts++;
        return 0;
    }
    if (tr_message_is(message, &tr_http_response_schema)) {
        return on_response(context, runner, message);
    }
    if (tr_message_is(message, &tr_process_started_schema)) {
        seen.has_started = true;
        return 0;
    }
    if (tr_message_is(message, &tr_process_over_schema)) {
        return on_over(context, message);
    }
    if (tr_message_is(message, &tr_ask_failed_schema)) {
        return on_failed(context, message);
    }
    return tr_unexpected(context, message);
}

static const struct tr_behaviour runner_behaviour = {
    .name = "runner", .id = 2101, .state = &tr_runner_schema, .handle = runner_handle};

/* ------------------------------------------------------------------ the world */

struct world {
    char folder[64];
    struct tr_host *host;
    struct http_server server; /* pid 0: none */
};

static void open_host(struct world *world, bool has_services)
{
    static const struct tr_behaviour *const behaviours[] = {&runner_behaviour};
    static const char *const keeper[] = {"test_service", "keeper", NULL};
    struct tr_host_options options = {
        .worker_count = 2,
        .durability = TR_DURABILITY_FULL,
        .folder = world->folder,
        .behaviours = behaviours,
        .behaviour_count = 1,
        .has_http = has_services,
        .keeper_command = has_services ? keeper : NULL,
    };
    char words[TRI_STORE_EXPLAIN_BYTES];
    int error = tr_host_new(&options, words, &world->host);
    if (error != 0) {
        fail_msg("%s", words);
    }
    assert_int_equal(tr_host_start(world->host), 0);
}

static int setup(void **state)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    memset(&seen, 0, sizeof seen);
    snprintf(world.folder, sizeof world.folder, "/tmp/troupe-service-XXXXXX");
    assert_non_null(mkdtemp(world.folder));
    snprintf(store_folder, sizeof store_folder, "%s", world.folder);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    char command[128];
    tr_host_free(world->host);
    if (world->server.pid != 0) {
        http_server_stop(&world->server);
    }
    snprintf(command, sizeof command, "rm -rf %s", world->folder);
    return system(command);
}

/* Sends an actor on an errand and waits for its end. */
static void run(struct world *world, enum errand kind, const char *words)
{
    struct tr_ref runner;
    int reason = TR_INVALID;
    struct tr_errand errand = {.kind = (uint8_t)kind, .words = tr_text_of(words)};
    struct tr_spawn_options options = {.is_watched = true};
    assert_int_equal(tr_host_spawn(world->host, &runner_behaviour, &options, &runner), 0);
    assert_int_equal(tr_host_tell(world->host, runner, &tr_errand_schema, &errand), 0);
    assert_int_equal(tr_host_wait(world->host, runner, 30000, &reason), 0);
    assert_int_equal(reason, 0);
}

/* ------------------------------------------------------------------ the tests */

static void test_http_is_answered(void **state)
{
    struct world *world = *state;
    char url[128];
    http_server_start(&world->server, NULL, NULL);
    open_host(world, true);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/status/404", world->server.port);
    run(world, GET, url);
    assert_int_equal(seen.status, 404);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/lines/3/1", world->server.port);
    run(world, LINES, url);
    assert_int_equal(seen.status, 200);
    /* That it leaves, three lines, and a last one without an end of line. */
    assert_int_equal(seen.parts, 5);
}

static void test_http_fault_is_a_response(void **state)
{
    struct world *world = *state;
    open_host(world, true);
    run(world, GET, "http://127.0.0.1:1/");
    assert_int_equal(seen.status, 0);
    assert_int_equal(seen.failed, 0);
}

static void test_process_runs_and_ends(void **state)
{
    struct world *world = *state;
    open_host(world, true);
    run(world, PROCESS, "exit 7");
    assert_true(seen.has_started);
    assert_int_equal(seen.outcome, TR_PROCESS_EXITED);
    assert_int_equal(seen.exit_status, 7);
}

static void test_absent_service_answers_at_once(void **state)
{
    struct world *world = *state;
    open_host(world, false);
    run(world, GET, "http://127.0.0.1:1/");
    assert_int_equal(seen.failed, TR_NO_CONNECTION);
    seen.failed = 0;
    run(world, PROCESS, "exit 0");
    assert_int_equal(seen.failed, TR_NO_CONNECTION);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "keeper") == 0) {
        struct tri_keeper_options options = {.idle_ms = 200, .is_detached = true};
        return tri_keeper_main(argv[argc - 1], &options) == 0 ? 0 : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_http_is_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(test_http_fault_is_a_response, setup, teardown),
        cmocka_unit_test_setup_teardown(test_process_runs_and_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_absent_service_answers_at_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
