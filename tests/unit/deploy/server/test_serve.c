/*
 * A live engine and those who ask it things that no command asks: each request that is strange has
 * an answer, and the engine goes on.
 */
#include "deploy/server/serve.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/document/report.h"
#include "schemas/codec/error.h"
#include "schemas/engine/entity.h"
#include "schemas/runtime/request.h"
#include "tests/support/draw.h"
#include "tests/support/sample_body.h"
#include "tests/unit/deploy/help.h"

#define VARIANTS 12
#define ANSWER_MS (20000 * TEST_SLOWNESS)

static struct tr_live *live;
static struct tr_serve *serve;
static struct tri_client *client;

static int open_engine(void **state)
{
    (void)state;
    char explain[TRI_STORE_EXPLAIN_BYTES];
    const char *folder = help_folder_enter();
    struct tr_live_options options = {
        .folder = folder, .durability = TR_DURABILITY_PROCESS, .jobs = 1, .command = "test"};
    if (tr_live_open(&options, explain, &live) != 0) {
        fail_msg("%s", explain);
    }
    assert_int_equal(tr_serve_new(live, &serve), 0);
    assert_int_equal(tri_client_open(folder, &client), 0);
    return 0;
}

static int close_engine(void **state)
{
    (void)state;
    tri_client_close(client);
    tr_serve_free(serve);
    tr_live_close(live);
    help_folder_leave();
    return 0;
}

/* The first answer to a request, whatever else comes before it. */
static void hear(uint32_t number, struct tri_request *answer)
{
    uint64_t end_ms = tr_live_now_ms(live) + ANSWER_MS;
    int error;
    do {
        assert_true(tr_live_now_ms(live) < end_ms);
        assert_int_equal(tr_live_rest(live, 1), 0);
        tr_serve_step(serve);
        error = tri_client_next(client, -1, 1, answer);
        assert_true(error == 0 || error == TR_TIMEOUT);
    } while (error != 0 || answer->number != number);
}

/* A body as it stands, in place of a value's packing. */
static int pack_body(const void *value, struct tr_writer *writer)
{
    const struct tr_bytes *body = value;
    memcpy(writer->at, body->data, body->size);
    writer->at += body->size;
    return 0;
}

static size_t body_size(const void *value)
{
    return ((const struct tr_bytes *)value)->size;
}

static void ask(uint16_t type, uint8_t version, struct tr_bytes body, struct tri_request *answer)
{
    struct tr_schema any = {
        .id = type, .version = version, .size_max = body_size, .pack = pack_body};
    uint32_t number;
    assert_int_equal(tri_client_ask(client, &any, &body, &number), 0);
    hear(number, answer);
}

static void require_refusal(const struct tri_request *answer)
{
    struct tr_answered answered;
    assert_int_equal(answer->type, tr_answered_schema.id);
    assert_int_equal(tr_answered_unpack(answer->body, answer->version, &answered), 0);
    assert_true(answered.error != 0);
    assert_true(answered.message.size > 0);
}

static void say_hello(bool asks_more)
{
    struct tr_hello hello = {.program = tr_text_of("test"), .asks_more = asks_more};
    struct tri_request answer;
    uint32_t number;
    assert_int_equal(tri_client_ask(client, &tr_hello_schema, &hello, &number), 0);
    hear(number, &answer);
    assert_int_equal(answer.type, tr_welcome_schema.id);
}

static void require_alive(void)
{
    say_hello(false);
}

/* An engine that has nothing else to do may not leave between a hello and what is asked next. */
static void test_who_is_about_to_ask_is_awaited(void **state)
{
    (void)state;
    struct tri_request answer;
    say_hello(false);
    assert_false(tr_serve_is_needed(serve));
    say_hello(true);
    assert_true(tr_serve_is_needed(serve));
    ask(tr_list_dormant_schema.id, 1, (struct tr_bytes){(const uint8_t *)"\x90", 1}, &answer);
    assert_false(tr_serve_is_needed(serve));
}

/* Somebody may have been killed between the two. */
static void test_nobody_is_awaited_for_ever(void **state)
{
    (void)state;
    say_hello(true);
    uint64_t end_ms = tr_live_now_ms(live) + ANSWER_MS;
    while (tr_serve_is_needed(serve)) {
        assert_true(tr_live_now_ms(live) < end_ms);
        assert_int_equal(tr_live_rest(live, tr_serve_timeout_ms(serve)), 0);
        tr_serve_step(serve);
    }
}

static const struct tr_schema *const schemas[] = {TR_REQUEST_SCHEMAS(TR_SCHEMA_POINTER_ROW)};

static void test_bytes_that_are_no_body_are_refused(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x93, 0xc1, 0xff, 0x00};
    struct tri_request answer;
    for (size_t i = 0; i < TR_COUNT_OF(schemas); i++) {
        ask(schemas[i]->id, schemas[i]->version, (struct tr_bytes){bytes, sizeof bytes}, &answer);
        require_refusal(&answer);
        ask(schemas[i]->id, 200, (struct tr_bytes){bytes, 1}, &answer);
        require_refusal(&answer);
    }
    ask(61999, 1, (struct tr_bytes){bytes, 1}, &answer);
    require_refusal(&answer);
    require_alive();
}

/* Well-formed ones full of odd values: executions that never were, graphs that are none. */
static void test_odd_values_have_an_answer(void **state)
{
    (void)state;
    static uint8_t buffer[SAMPLE_BODY_BYTES_MAX];
    struct tri_request answer;
    for (size_t i = 0; i < TR_COUNT_OF(schemas); i++) {
        for (uint64_t variant = 0; variant < VARIANTS; variant++) {
            size_t size =
                sample_body(schemas[i], schemas[i]->version, variant, buffer, sizeof buffer);
            ask(schemas[i]->id, schemas[i]->version, (struct tr_bytes){buffer, size}, &answer);
        }
    }
    require_alive();
}

/* The same with some bytes changed. */
static void test_changed_bytes_have_an_answer(void **state)
{
    (void)state;
    static uint8_t buffer[SAMPLE_BODY_BYTES_MAX];
    struct draw draw = {.state = 7};
    struct tri_request answer;
    for (size_t i = 0; i < TR_COUNT_OF(schemas); i++) {
        for (uint64_t variant = 0; variant < VARIANTS; variant++) {
            const struct tr_schema *schema = schemas[i];
            size_t size = sample_body(schema, schema->version, variant, buffer, sizeof buffer);
            for (size_t k = 0; size > 0 && k < 3; k++) {
                buffer[draw_below(&draw, size)] = (uint8_t)draw_u64(&draw);
            }
            ask(schema->id, schema->version, (struct tr_bytes){buffer, size}, &answer);
        }
    }
    require_alive();
}

/* Submits the workflow of a definition that runs one task of a type. */
static void submit(const char *type, bool is_detached, struct tri_request *answer,
                   struct tr_submitted *submitted)
{
    char text[256];
    snprintf(text, sizeof text,
             "troupe: 1\n"
             "tasks: {t: {type: %s}}\n"
             "workflows: {main: {nodes: {a: {task: t}, wait: {sleep: 1h}}}}\n",
             type);
    struct tr_graph *graph = help_graph(text);
    struct tr_buffer packed;
    tr_buffer_init(&packed, 0);
    assert_int_equal(tr_graph_pack(graph, &packed), 0);
    static const uint8_t none[] = {0x90};
    struct tr_submit order = {.graph = tr_buffer_bytes(&packed),
                              .plan = TR_GRAPH_NONE,
                              .inputs = {.data = none, .size = 1},
                              .is_detached = is_detached};
    uint32_t number;
    assert_int_equal(tri_client_ask(client, &tr_submit_schema, &order, &number), 0);
    hear(number, answer);
    assert_int_equal(answer->type, tr_submitted_schema.id);
    assert_int_equal(tr_submitted_unpack(answer->body, answer->version, submitted), 0);
    tr_buffer_fini(&packed);
    tr_graph_free(graph);
}

/* Another program may know task types that this engine has no plugin for. */
static void test_what_the_engine_cannot_run_is_refused(void **state)
{
    (void)state;
    struct tri_request answer;
    struct tr_submitted submitted;
    submit("martian", true, &answer, &submitted);
    assert_int_equal(submitted.error, TR_INVALID);
    char words[512];
    snprintf(words, sizeof words, "%.*s", TRI_TEXT(submitted.message));
    assert_non_null(strstr(words, "this engine cannot run it: the definition: t: no plugin "
                                  "here runs tasks of type 'martian'"));
    require_alive();
}

static void apply(struct tr_bytes graph, struct tr_bytes entities, struct tri_request *answer)
{
    struct tr_apply_plans plans = {.graph = graph, .entities = entities};
    uint32_t number;
    assert_int_equal(tri_client_ask(client, &tr_apply_plans_schema, &plans, &number), 0);
    hear(number, answer);
}

/* What stands in the place of entities is no list of them, or of what nobody knows. */
static void test_entities_that_are_none_are_refused(void **state)
{
    (void)state;
    static const uint8_t lists[][8] = {{0xc1},       {0x91},       {0x91, 0xc4, 1, 0},
                                       {0x91, 0x01}, {0x81, 1, 2}, {0xdd, 255, 255, 255, 255}};
    uint8_t body[512];
    struct draw draw = {.state = 9};
    struct tri_request answer;
    struct tr_graph *graph = help_graph("troupe: 1\nworkflows: {w: {nodes: {a: {sleep: 1s}}}}\n");
    struct tr_buffer packed;
    tr_buffer_init(&packed, 0);
    assert_int_equal(tr_graph_pack(graph, &packed), 0);
    for (size_t i = 0; i < TR_COUNT_OF(lists); i++) {
        apply(tr_buffer_bytes(&packed), (struct tr_bytes){lists[i], sizeof lists[i]}, &answer);
        require_refusal(&answer);
    }
    for (uint64_t variant = 0; variant < 100; variant++) {
        size_t size = sample_body(&tr_entity_schema, 1, variant % VARIANTS, body + 3, 250);
        body[0] = 0x91; /* a list of one, */
        body[1] = 0xc4; /* which is so many bytes */
        body[2] = (uint8_t)size;
        body[3 + draw_below(&draw, size < 8 ? 1 : 8)] = (uint8_t)draw_u64(&draw);
        apply(tr_buffer_bytes(&packed), (struct tr_bytes){body, size + 3}, &answer);
    }
    tr_buffer_fini(&packed);
    tr_graph_free(graph);
    require_alive();
}

/* An engine that came with a command leaves when nobody follows: who has not said yet that nobody
 * will is about to, and counts once when he does. */
static void test_who_submits_follows(void **state)
{
    (void)state;
    struct tri_request answer;
    struct tr_submitted submitted;
    size_t before = tr_serve_followers(serve);
    submit("echo", true, &answer, &submitted);
    assert_int_equal(submitted.error, 0);
    assert_int_equal(tr_serve_followers(serve), before);
    submit("echo", false, &answer, &submitted);
    assert_int_equal(submitted.error, 0);
    assert_int_equal(tr_serve_followers(serve), before + 1);
    struct tr_follow follow = {.execution = submitted.execution};
    uint32_t number;
    assert_int_equal(tri_client_ask(client, &tr_follow_schema, &follow, &number), 0);
    hear(number, &answer);
    assert_int_equal(answer.type, tr_following_schema.id);
    assert_int_equal(tr_serve_followers(serve), before + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_about_to_ask_is_awaited),
        cmocka_unit_test(test_nobody_is_awaited_for_ever),
        cmocka_unit_test(test_bytes_that_are_no_body_are_refused),
        cmocka_unit_test(test_odd_values_have_an_answer),
        cmocka_unit_test(test_changed_bytes_have_an_answer),
        cmocka_unit_test(test_what_the_engine_cannot_run_is_refused),
        cmocka_unit_test(test_entities_that_are_none_are_refused),
        cmocka_unit_test(test_who_submits_follows),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
