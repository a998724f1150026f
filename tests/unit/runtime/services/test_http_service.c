/*
 * Streams for actors: a flood reaches one whole and waits for one that is slow, an actor ends a
 * request of its own and nobody else's, and what nobody wants any more does not stay open.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/memory.h"
#include "runtime/troupe.h"
#include "schemas/runtime/http.h"
#include "tests/support/http_server.h"
#include "tests/support/test.h"

/* What a listener does with what comes. */
enum manner {
    TAKE = 1, /* answers each part */
    CANCEL,   /* ends the request at the first part */
    DIE,      /* at the first part */
    IGNORE,   /* answers nothing */
    MEDDLE,   /* ends the request of this number, and itself */
    LINGER,   /* lets the request leave when it is too late for it */
};

#define TR_LISTEN_FIELDS(FIELD, ARRAY) \
    FIELD(u8, manner, 1, 0)            \
    FIELD(text, url, 1, 0)             \
    FIELD(u8, delivery, 1, 0)          \
    FIELD(u64, window_bytes, 1, 0)     \
    FIELD(u64, call_timeout_ms, 1, 0)  \
    FIELD(u64, ask, 1, 0)              \
    FIELD(any, secrets, 1, 0)

#define TR_LISTENER_FIELDS(FIELD, ARRAY) \
    FIELD(u8, manner, 1, 0)              \
    FIELD(u64, ask, 1, 0)

#define TR_HTTP_TEST_SCHEMAS(S)                                   \
    S(listen, 62111, TR_MESSAGE, 1, TR_DURABLE, TR_LISTEN_FIELDS) \
    S(listener, 62112, TR_STATE, 1, 0, TR_LISTENER_FIELDS)

TR_HTTP_TEST_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_HTTP_TEST_SCHEMAS(TR_SCHEMA_DEFINE)

/* What the last listener heard; the test reads it after the host's threads have told of its end. */
static struct {
    uint64_t ask;
    uint64_t lines;
    uint64_t bytes;
    uint32_t parts;
    uint32_t status;
    int failed;
    char fault[32];
    char words[256];
    char body[256];
} seen;

static const struct tr_ref service = {{0, TR_SERVICE_HTTP}, 0};

/* What a handler has done leaves behind it, so this keeps it back. */
static void linger(void)
{
    struct timespec begin;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 20000000L);
}

static int on_listen(struct tr_context *context, struct tr_listener *listener,
                     const struct tr_message *message)
{
    struct tr_listen listen;
    int error = tr_message_read(message, listen, &listen);
    if (error != 0) {
        return error;
    }
    listener->manner = listen.manner;
    if (listen.manner == MEDDLE) {
        struct tr_http_cancel cancel = {.ask = listen.ask};
        error = tr_tell(context, service, &tr_http_cancel_schema, &cancel);
        return error != 0 ? error : tr_stop(context);
    }
    struct tr_http_request request = {.method = tr_text_of("GET"),
                                      .url = listen.url,
                                      .delivery = listen.delivery,
                                      .window_bytes = listen.window_bytes,
                                      .secrets = listen.secrets};
    error = tr_call(context, TR_SERVICE_HTTP, &tr_http_request_schema, &request,
                    listen.call_timeout_ms, &listener->ask);
    __atomic_store_n(&seen.ask, listener->ask, __ATOMIC_RELAXED);
    if (listen.manner == LINGER) {
        linger();
    }
    return error;
}

static int on_part(struct tr_context *context, const struct tr_listener *listener,
                   const struct tr_message *message)
{
    struct tr_http_part part;
    struct tr_bytes line;
    int error = tr_message_read(message, http_part, &part);
    if (error != 0) {
        return error;
    }
    struct tr_bytes rest = part.bytes;
    __atomic_fetch_add(&seen.parts, 1, __ATOMIC_RELAXED);
    seen.bytes += part.bytes.size;
    while (tr_http_line_next(&rest, &line)) {
        seen.lines++;
    }
    struct tr_http_more more = {.ask = part.ask, .bytes = part.bytes.size};
    struct tr_http_cancel cancel = {.ask = part.ask};
    switch ((enum manner)listener->manner) {
    case TAKE:
        return tr_tell(context, service, &tr_http_more_schema, &more);
    case CANCEL:
        return tr_tell(context, service, &tr_http_cancel_schema, &cancel);
    case DIE:
        return tr_stop(context);
    default:
        return 0;
    }
}

static int on_response(struct tr_context *context, const struct tr_message *message)
{
    struct tr_http_response response;
    int error = tr_message_read(message, http_response, &response);
    if (error != 0) {
        return error;
    }
    seen.status = response.status;
    snprintf(seen.fault, sizeof seen.fault, "%.*s", (int)response.fault.size, response.fault.data);
    snprintf(seen.words, sizeof seen.words, "%.*s", (int)response.message.size,
             response.message.data);
    snprintf(seen.body, sizeof seen.body, "%.*s", (int)response.body.size,
             (const char *)response.body.data);
    return tr_stop(context);
}

static int on_failed(struct tr_context *context, const struct tr_message *message)
{
    struct tr_ask_failed failed;
    int error = tr_message_read(message, ask_failed, &failed);
    seen.failed = -(int)failed.reason;
    return error != 0 ? error : tr_stop(context);
}

static int listener_handle(struct tr_context *context, void *state,
                           const struct tr_message *message)
{
    if (tr_message_is(message, &tr_listen_schema)) {
        return on_listen(context, state, message);
    }
    if (tr_message_is(message, &tr_http_part_schema)) {
        return on_part(context, state, message);
    }
    if (tr_message_is(message, &tr_http_response_schema)) {
        return on_response(context, message);
    }
    if (tr_message_is(message, &tr_ask_failed_schema)) {
        return on_failed(context, message);
    }
    return tr_unexpected(context, message);
}

static const struct tr_behaviour listener_behaviour = {
    .name = "listener", .id = 2111, .state = &tr_listener_schema, .handle = listener_handle};

/* ------------------------------------------------------------------ the world */

struct world {
    char folder[64];
    struct tr_host *host;
    struct http_server server;
};

static void open_host(struct world *world, uint32_t receiver_timeout_ms)
{
    static const struct tr_behaviour *const behaviours[] = {&listener_behaviour};
    struct tr_host_options options = {
        .worker_count = 2,
        .durability = TR_DURABILITY_FULL,
        .folder = world->folder,
        .behaviours = behaviours,
        .behaviour_count = 1,
        .has_http = true,
        .http_receiver_timeout_ms = receiver_timeout_ms,
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
    snprintf(world.folder, sizeof world.folder, "/tmp/troupe-http-XXXXXX");
    assert_non_null(mkdtemp(world.folder));
    http_server_start(&world.server, NULL, NULL);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    char command[128];
    tr_host_free(world->host);
    http_server_stop(&world->server);
    assert_int_equal(tr_memory_used(), 0);
    snprintf(command, sizeof command, "rm -rf %s", world->folder);
    return system(command);
}

static struct tr_ref begin(struct world *world, struct tr_listen listen, const char *path)
{
    char url[128];
    struct tr_ref listener;
    struct tr_spawn_options options = {.is_watched = true};
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", world->server.port, path);
    listen.url = tr_text_of(url);
    assert_int_equal(tr_host_spawn(world->host, &listener_behaviour, &options, &listener), 0);
    assert_int_equal(tr_host_tell(world->host, listener, &tr_listen_schema, &listen), 0);
    return listener;
}

static void await(struct world *world, struct tr_ref listener)
{
    int reason = TR_INVALID;
    assert_int_equal(tr_host_wait(world->host, listener, 60000, &reason), 0);
    assert_int_equal(reason, 0);
}

static void run(struct world *world, struct tr_listen listen, const char *path)
{
    await(world, begin(world, listen, path));
}

/* Waits until the server serves no stream any more; false when it still does. */
static bool is_left_alone(struct world *world)
{
    for (int i = 0; i < 100; i++) {
        run(world, (struct tr_listen){.manner = TAKE}, "/streams");
        if (strcmp(seen.body, "0\n") == 0) {
            return true;
        }
        poll(NULL, 0, 50);
    }
    return false;
}

static void await_part(void)
{
    for (int i = 0; i < 1000 && __atomic_load_n(&seen.parts, __ATOMIC_RELAXED) == 0; i++) {
        poll(NULL, 0, 10);
    }
    assert_true(__atomic_load_n(&seen.parts, __ATOMIC_RELAXED) > 0);
}

/* ------------------------------------------------------------------ the tests */

/* All of it comes, and no more than the window is on its way at once. */
static void a_flood_reaches_an_actor(void **state)
{
    struct world *world = *state;
    open_host(world, 0);
    run(world, (struct tr_listen){.manner = TAKE, .delivery = TR_HTTP_LINES}, "/flood/100000/1024");
    assert_string_equal(seen.fault, "none");
    assert_int_equal(seen.lines, 100000);
    assert_int_equal(seen.bytes, 100000 * 1024);
    assert_true(seen.parts < 20000); /* lines that come together are told together */
}

static void a_slow_actor_gets_its_window(void **state)
{
    struct world *world = *state;
    open_host(world, 1000);
    run(world,
        (struct tr_listen){.manner = IGNORE, .delivery = TR_HTTP_LINES, .window_bytes = 65536},
        "/flood/100000/1024");
    assert_string_equal(seen.fault, "timeout");
    assert_non_null(strstr(seen.words, "TR_HTTP_RECEIVER_TIMEOUT_MS"));
    assert_in_range(seen.bytes, 65536, 2 * 65536);
    assert_true(is_left_alone(world));
}

static void a_request_is_cancelled_by_its_actor(void **state)
{
    struct world *world = *state;
    open_host(world, 0);
    run(world, (struct tr_listen){.manner = CANCEL, .delivery = TR_HTTP_LINES}, "/lines/1000/20");
    assert_string_equal(seen.fault, "cancelled");
    assert_true(is_left_alone(world));
}

static void nobody_else_cancels_it(void **state)
{
    struct world *world = *state;
    open_host(world, 0);
    struct tr_ref listener =
        begin(world, (struct tr_listen){.manner = TAKE, .delivery = TR_HTTP_LINES}, "/lines/20/50");
    await_part();
    uint64_t ask = __atomic_load_n(&seen.ask, __ATOMIC_RELAXED);
    run(world, (struct tr_listen){.manner = MEDDLE, .ask = ask}, "/");
    run(world, (struct tr_listen){.manner = MEDDLE, .ask = ask + 1000}, "/");
    await(world, listener);
    assert_string_equal(seen.fault, "none");
    assert_int_equal(seen.lines, 20);
}

static void the_stream_of_a_dead_actor_ends(void **state)
{
    struct world *world = *state;
    open_host(world, 500);
    run(world, (struct tr_listen){.manner = DIE, .delivery = TR_HTTP_LINES}, "/lines/5000/20");
    assert_true(is_left_alone(world));
}

static void a_request_ends_with_its_call(void **state)
{
    struct world *world = *state;
    open_host(world, 0);
    run(world,
        (struct tr_listen){.manner = TAKE, .delivery = TR_HTTP_LINES, .call_timeout_ms = 300},
        "/lines/5000/20");
    assert_true(seen.failed == TR_TIMEOUT || strcmp(seen.fault, "timeout") == 0);
    assert_true(is_left_alone(world));
}

/* Nobody waits for its answer any more, and its actor may have made another in its place. */
static void a_request_whose_time_has_passed_is_not_sent(void **state)
{
    struct world *world = *state;
    open_host(world, 0);
    run(world, (struct tr_listen){.manner = TAKE}, "/lost");
    run(world, (struct tr_listen){.manner = TAKE}, "/losses");
    unsigned long heard = strtoul(seen.body, NULL, 10);
    assert_true(heard > 0); /* the server counts them */
    run(world, (struct tr_listen){.manner = LINGER, .call_timeout_ms = 1}, "/lost");
    assert_int_equal(seen.failed, TR_TIMEOUT);
    run(world, (struct tr_listen){.manner = TAKE}, "/losses");
    assert_int_equal(strtoul(seen.body, NULL, 10), heard);
}

/* The server gets the value; message and store have the reference. */
static void secrets_go_to_the_server_alone(void **state)
{
    struct world *world = *state;
    char command[160];
    uint8_t packed[256];
    struct tr_http_secret secret = {.header = tr_text_of("Authorization"),
                                    .prefix = tr_text_of("Bearer "),
                                    .group = tr_text_of("team"),
                                    .key = tr_text_of("token"),
                                    .version = tr_text_of("")};
    struct tr_writer writer = tr_writer_of(packed, sizeof packed);
    assert_int_equal(tr_http_secrets_pack(&secret, 1, &writer), 0);
    struct tr_bytes secrets = {packed, tr_writer_size(&writer)};
    setenv("TROUPE_SECRET_TEAM_TOKEN", "x7q-hidden", 1);
    open_host(world, 0);
    run(world, (struct tr_listen){.manner = TAKE, .secrets = secrets}, "/bearer/x7q-hidden");
    assert_int_equal(seen.status, 200);
    unsetenv("TROUPE_SECRET_TEAM_TOKEN");
    run(world, (struct tr_listen){.manner = TAKE, .secrets = secrets}, "/bearer/other");
    assert_string_equal(seen.fault, "secret");
    assert_non_null(strstr(seen.words, "team/token"));
    /* The path has it in this test; the header is searched for. */
    snprintf(command, sizeof command, "! grep -rqa 'Bearer x7q' %s", world->folder);
    assert_int_equal(system(command), 0);
    struct tr_bytes torn = {packed, 0};
    packed[0] = 0x91; /* one row, which is none */
    packed[1] = 0x90;
    torn.size = 2;
    run(world, (struct tr_listen){.manner = TAKE, .secrets = torn}, "/status/200");
    assert_int_equal(seen.failed, TR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_flood_reaches_an_actor, setup, teardown),
        cmocka_unit_test_setup_teardown(a_slow_actor_gets_its_window, setup, teardown),
        cmocka_unit_test_setup_teardown(a_request_is_cancelled_by_its_actor, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_else_cancels_it, setup, teardown),
        cmocka_unit_test_setup_teardown(the_stream_of_a_dead_actor_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(a_request_ends_with_its_call, setup, teardown),
        cmocka_unit_test_setup_teardown(a_request_whose_time_has_passed_is_not_sent, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(secrets_go_to_the_server_alone, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
