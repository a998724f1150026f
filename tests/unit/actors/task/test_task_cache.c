/*
 * A task and the cache: hits, misses, what the key holds, refresh and off, failures of the cache,
 * and tasks that wait for who makes the same.
 */
#include <stdio.h>

#include "actors/values/cache.h"
#include "schemas/engine/state_service.h"
#include "schemas/runtime/files.h"
#include "tests/unit/actors/task_stand.h"

static const char flow[] =
    "troupe: 1\n"
    "tasks:\n"
    "  copy: {type: echo, inputs: {a: int, f: file, skip: string}, outputs: {a: int},\n"
    "         cache: {version: v1, ignore: [skip]}}\n"
    "  other: {type: echo, inputs: {a: int, f: file, skip: string}, outputs: {a: int},\n"
    "          cache: v2}\n"
    "  flaky: {type: echo, inputs: {a: int, f: file, skip: string}, outputs: {a: int},\n"
    "          cache: v1, retries: 2, config: {fail: 1}}\n"
    "  nothing: {type: echo, inputs: {a: int, f: file, skip: string}, cache: v1}\n"
    "  alone: {type: fake, inputs: {a: int, f: file, skip: string}, outputs: {a: int},\n"
    "          cache: {version: v1, serialize: true}}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {a: int, f: file, skip: string}\n"
    "    nodes:\n"
    "      copy: {task: copy, with: {a: $a, f: $f, skip: $skip}}\n"
    "      other: {task: other, with: {a: $a, f: $f, skip: $skip}}\n"
    "      flaky: {task: flaky, with: {a: $a, f: $f, skip: $skip}}\n"
    "      nothing: {task: nothing, with: {a: $a, f: $f, skip: $skip}}\n"
    "      alone: {task: alone, with: {a: $a, f: $f, skip: $skip}}\n";

/* The service's documents, and what it does wrong. */
struct document {
    char path[TR_CACHE_PATH_BYTES];
    uint8_t bytes[1024];
    size_t size;
};
static struct document documents[16];
static size_t document_count;
static bool cannot_get;
static bool cannot_put;
static bool cannot_digest;
static const char *content; /* of every file */
static char asked_for[TR_CACHE_PATH_BYTES];

static void refuse(const struct outside_message *message)
{
    stand_answer(message, &tr_blob_failed_schema,
                 &(struct tr_blob_failed){.error = TR_STORE_FULL,
                                          .message = tr_text_of("the disk is full")});
}

static struct document *find_document(struct tr_text path)
{
    for (size_t i = 0; i < document_count; i++) {
        if (tr_text_equal(path, tr_text_of(documents[i].path))) {
            return &documents[i];
        }
    }
    return NULL;
}

static void get(const struct outside_message *message)
{
    struct tr_document_get wish;
    assert_int_equal(tr_document_get_unpack(message->body, message->version, &wish), 0);
    const struct document *found = find_document(wish.path);
    (void)snprintf(asked_for, sizeof asked_for, "%.*s", TRI_TEXT(wish.path));
    struct tr_document document = {.is_found = found != NULL};
    if (found != NULL) {
        document.bytes = (struct tr_bytes){.data = found->bytes, .size = found->size};
    }
    stand_answer(message, &tr_document_schema, &document);
}

static void put(const struct outside_message *message)
{
    struct tr_document_put wish;
    assert_int_equal(tr_document_put_unpack(message->body, message->version, &wish), 0);
    struct document *place = find_document(wish.path);
    place = place != NULL ? place : &documents[document_count++];
    assert_true(wish.bytes.size <= sizeof place->bytes && wish.path.size < sizeof place->path);
    memcpy(place->path, wish.path.data, wish.path.size);
    memcpy(place->bytes, wish.bytes.data, wish.bytes.size);
    place->size = wish.bytes.size;
    stand_answer(message, &tr_document_schema, &(struct tr_document){.is_found = true});
}

static void serve(const struct outside_message *message)
{
    if (message->type == tr_document_get_schema.id) {
        (cannot_get ? refuse : get)(message);
    } else if (message->type == tr_document_put_schema.id) {
        (cannot_put ? refuse : put)(message);
    } else if (message->type == tr_blob_digest_schema.id && !cannot_digest) {
        struct tr_bytes digest = {.data = (const uint8_t *)content, .size = strlen(content)};
        stand_answer(message, &tr_blob_stored_schema, &(struct tr_blob_stored){.digest = digest});
    } else if (message->type == tr_blob_digest_schema.id) {
        refuse(message);
    }
}

static void forget(void)
{
    memset(documents, 0, sizeof documents);
    document_count = 0;
    cannot_get = cannot_put = cannot_digest = false;
    content = "abc";
}

/* Runs a node once on a stage of its own and gives the status of the cache. */
struct wish {
    const char *node;
    const char *inputs;
    uint8_t mode;
    const char *flow; /* NULL: the one above */
};

static uint8_t run(const struct wish *wish)
{
    stand_begin(wish->flow != NULL ? wish->flow : flow, true);
    stand_start(&(struct stand_start){
        .node = wish->node, .inputs = wish->inputs, .cache_mode = wish->mode});
    stand_run(serve);
    stage_advance(&stand.stage, 2);
    stand_run(serve);
    assert_int_equal(stand.ended_count, 1);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    uint8_t status = stand.ended.cache_status;
    if (strcmp(wish->node, "nothing") != 0) {
        assert_string_equal(stand_outputs(), "[1]");
        assert_int_equal(stand.ended.attempts == 0, status == TR_CACHE_STATUS_HIT);
    }
    stand_end();
    return status;
}

#define INPUTS "{\"a\": 1, \"f\": \"/x\", \"skip\": \"s\"}"

static void test_what_was_made_is_found(void **state)
{
    (void)state;
    forget();
    struct wish copy = {.node = "copy", .inputs = INPUTS};
    assert_int_equal(run(&copy), TR_CACHE_STATUS_POPULATED);
    assert_int_equal(run(&copy), TR_CACHE_STATUS_HIT);
    assert_int_equal(document_count, 1);
    assert_memory_equal(documents[0].path, "cache/", 6);
    assert_memory_equal(documents[0].path + 6, documents[0].path + 9, 2);
}

static void test_a_key_holds_what_a_result_depends_on(void **state)
{
    (void)state;
    forget();
    assert_int_equal(run(&(struct wish){.node = "copy", .inputs = INPUTS}),
                     TR_CACHE_STATUS_POPULATED);
    /* What is ignored, and where a file lies, make no difference. */
    struct wish same = {.node = "copy", .inputs = "{\"a\": 1, \"f\": \"/y\", \"skip\": \"t\"}"};
    assert_int_equal(run(&same), TR_CACHE_STATUS_HIT);
    content = "abd";
    assert_int_equal(run(&same), TR_CACHE_STATUS_POPULATED);
    struct wish elsewhere = {.node = "copy",
                             .inputs = "{\"a\": 1, \"f\": \"s3://y\", \"skip\": \"t\"}"};
    assert_int_equal(run(&elsewhere), TR_CACHE_STATUS_POPULATED);
    struct wish version = {.node = "other", .inputs = INPUTS};
    assert_int_equal(run(&version), TR_CACHE_STATUS_POPULATED);
    version.inputs = "{\"a\": 1, \"f\": \"/x\", \"skip\": \"t\"}";
    assert_int_equal(run(&version), TR_CACHE_STATUS_POPULATED);
    assert_int_equal(document_count, 5);
}

/* The same task with another output. */
static void test_an_interface_is_a_part_of_the_key(void **state)
{
    (void)state;
    forget();
    struct wish wish = {.node = "copy", .inputs = "{\"a\": 1}"};
    wish.flow =
        "troupe: 1\n"
        "tasks: {copy: {type: echo, inputs: {a: int}, outputs: {a: int}, cache: v1}}\n"
        "workflows: {main: {inputs: {a: int}, nodes: {copy: {task: copy, with: {a: $a}}}}}\n";
    assert_int_equal(run(&wish), TR_CACHE_STATUS_POPULATED);
    assert_int_equal(run(&wish), TR_CACHE_STATUS_HIT);
    assert_string_equal(asked_for, documents[0].path);
    wish.flow =
        "troupe: 1\n"
        "tasks: {copy: {type: echo, inputs: {a: int}, outputs: {a: int | none}, cache: v1}}\n"
        "workflows: {main: {inputs: {a: int}, nodes: {copy: {task: copy, with: {a: $a}}}}}\n";
    stand_begin(wish.flow, true);
    stand_start(&(struct stand_start){.node = "copy", .inputs = wish.inputs});
    stand_run(serve);
    assert_string_not_equal(asked_for, documents[0].path);
    stand_end();
}

static void test_refresh_makes_it_anew_and_off_is_off(void **state)
{
    (void)state;
    forget();
    struct wish wish = {.node = "copy", .inputs = INPUTS, .mode = TR_CACHE_OFF};
    assert_int_equal(run(&wish), TR_CACHE_STATUS_DISABLED);
    assert_int_equal(document_count, 0);
    wish.mode = TR_CACHE_USE;
    assert_int_equal(run(&wish), TR_CACHE_STATUS_POPULATED);
    wish.mode = TR_CACHE_REFRESH;
    assert_int_equal(run(&wish), TR_CACHE_STATUS_OVERWRITTEN);
    assert_int_equal(document_count, 1);
    wish.node = "nothing"; /* without outputs there is nothing to keep */
    assert_int_equal(run(&wish), TR_CACHE_STATUS_DISABLED);
}

static void test_a_cache_that_fails_is_no_failure(void **state)
{
    (void)state;
    forget();
    struct wish wish = {.node = "copy", .inputs = INPUTS};
    cannot_put = true;
    assert_int_equal(run(&wish), TR_CACHE_STATUS_PUT_FAILURE);
    cannot_put = false;
    cannot_digest = true;
    assert_int_equal(run(&wish), TR_CACHE_STATUS_LOOKUP_FAILURE);
    assert_int_equal(document_count, 0);
    cannot_digest = false;
    cannot_get = true; /* what is made then is put all the same */
    assert_int_equal(run(&wish), TR_CACHE_STATUS_POPULATED);
    cannot_get = false;
    assert_int_equal(run(&wish), TR_CACHE_STATUS_HIT);
}

/* A document that is damaged, foreign or of another interface is never taken. */
static void test_a_document_is_checked(void **state)
{
    (void)state;
    forget();
    struct wish wish = {.node = "copy", .inputs = INPUTS};
    assert_int_equal(run(&wish), TR_CACHE_STATUS_POPULATED);
    struct document good = documents[0];
    for (size_t i = 0; i < good.size; i += 7) {
        documents[0] = good;
        documents[0].bytes[i] ^= 0x15;
        uint8_t status = run(&wish);
        assert_true(status == TR_CACHE_STATUS_POPULATED || status == TR_CACHE_STATUS_HIT);
    }
    documents[0] = good;
    documents[0].bytes[10] ^= 1; /* of another key */
    assert_int_equal(run(&wish), TR_CACHE_STATUS_POPULATED);
    documents[0] = good;
    documents[0].bytes[good.size - 1] = 0xa0; /* the output is a text now */
    assert_int_equal(run(&wish), TR_CACHE_STATUS_POPULATED);
    documents[0] = good;
    documents[0].size--;
    assert_int_equal(run(&wish), TR_CACHE_STATUS_POPULATED);
    documents[0].bytes[1] = 99; /* of a newer program */
    assert_int_equal(run(&wish), TR_CACHE_STATUS_POPULATED);
    assert_int_equal(run(&wish), TR_CACHE_STATUS_HIT);
}

static void test_a_retry_keeps_its_key(void **state)
{
    (void)state;
    forget();
    struct wish wish = {.node = "flaky", .inputs = INPUTS};
    assert_int_equal(run(&wish), TR_CACHE_STATUS_POPULATED);
    assert_int_equal(run(&wish), TR_CACHE_STATUS_HIT);
}

static void test_it_ends_the_same_wherever_the_engine_dies(void **state)
{
    (void)state;
    static const struct stand_start start = {.node = "flaky", .inputs = INPUTS};
    bool goes_on = true;
    for (uint32_t turns = 1; goes_on; turns++) {
        forget();
        stand_begin(flow, true);
        goes_on = stand_run_with_crash(&start, serve, turns, 10);
        assert_int_equal(stand_ends(), 1);
        assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
        assert_string_equal(stand_outputs(), "[1]");
        assert_int_equal(document_count, 1);
        stand_end();
        assert_true(turns < 1000);
    }
}

static void ignore(const struct outside_message *message)
{
    (void)message;
}

static void serve_digests(const struct outside_message *message)
{
    if (message->type == tr_blob_digest_schema.id) {
        serve(message);
    }
}

static void serve_looks(const struct outside_message *message)
{
    if (message->type != tr_document_put_schema.id) {
        serve(message);
    }
}

static void test_an_abort_does_not_wait_for_the_cache(void **state)
{
    (void)state;
    static const struct {
        stand_service *serve;
        uint8_t step;
    } cases[] = {
        {ignore, TR_STEP_DIGEST}, {serve_digests, TR_STEP_LOOKUP}, {serve_looks, TR_STEP_PUT}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        forget();
        stand_begin(flow, true);
        stand_start(&(struct stand_start){.node = "copy", .inputs = INPUTS});
        stand_run(cases[i].serve);
        assert_int_equal(stand_state()->step, cases[i].step);
        stand_abort(TR_NODE_PHASE_TIMED_OUT, false);
        assert_int_equal(stand.ended.phase, TR_NODE_PHASE_TIMED_OUT);
        assert_int_equal(stage_actor_count(&stand.stage), stand.bystanders);
        stand_end();
    }
}

/* ------------------------------------------------------------- serialized */

static int wait_for_the_test(struct tr_task_context *task, struct tr_fake_actor_state *state,
                             const struct tr_task_event *event, struct tr_transition *transition)
{
    state->events++;
    if (event->kind != TR_TASK_NEWS) {
        return tr_task_is(transition, TR_TASK_PHASE_RUNNING, tr_text_of("waits"));
    }
    struct tr_text problem;
    int error = tr_task_outputs_json(task, tr_text_of("{\"a\": 1}"), (struct tr_text){0}, &problem);
    return error != 0 ? error : tr_task_succeed(transition);
}

static void begin_three(struct tr_ref tasks[3])
{
    forget();
    stand_begin(flow, true);
    stand_begin_catalog();
    stand.handle = wait_for_the_test;
    for (int i = 0; i < 3; i++) {
        stand_start(&(struct stand_start){.node = "alone", .inputs = INPUTS});
        stand_run(serve);
        tasks[i] = stand_child();
    }
}

static uint8_t step_of(struct tr_ref task)
{
    struct tri_actor *actor = stage_actor(&stand.stage, task);
    return actor == NULL ? TR_STEP_END
                         : ((const struct tr_task_state *)tri_actor_state(actor))->step;
}

static void finish(struct tr_ref task)
{
    stand_say_to(task, TR_SERVICE_PROCESSES, &tr_outside_told_schema,
                 &(struct tr_outside_told){.number = 1});
    stand_run(serve);
}

/* A token is for the work, not for what comes behind it. */
static void test_a_token_is_given_back_before_the_put(void **state)
{
    (void)state;
    forget();
    stand_begin(flow, true);
    stand_begin_resources(1);
    stand.handle = wait_for_the_test;
    stand_start(&(struct stand_start){.node = "alone", .inputs = INPUTS});
    stand_run(serve);
    const struct tr_resources_state *resources =
        tri_actor_state(stage_actor(&stand.stage, stand.engine->resources));
    assert_int_equal(resources->held, 1);
    stand_say(TR_SERVICE_PROCESSES, &tr_outside_told_schema, &(struct tr_outside_told){0});
    assert_int_equal(stand_state()->step, TR_STEP_PUT);
    assert_int_equal(resources->held, 0);
    stand_run(serve);
    assert_int_equal(stand.ended.cache_status, TR_CACHE_STATUS_POPULATED);
    stand_end();
}

static void test_one_makes_it_and_all_take_it(void **state)
{
    (void)state;
    struct tr_ref tasks[3];
    begin_three(tasks);
    assert_int_equal(step_of(tasks[0]), TR_STEP_RUN);
    assert_int_equal(step_of(tasks[1]), TR_STEP_RESERVE);
    assert_int_equal(step_of(tasks[2]), TR_STEP_RESERVE);
    stand_crash(); /* who waits needs not ask again */
    stand_run(serve);
    assert_int_equal(step_of(tasks[1]), TR_STEP_RESERVE);
    finish(tasks[0]);
    assert_int_equal(stand.ended_count, 3);
    assert_int_equal(stand_ends(), 3);
    assert_int_equal(stand.ended.cache_status, TR_CACHE_STATUS_HIT);
    assert_int_equal(stage_actor_count(&stand.stage), stand.bystanders);
    stand_end();
}

static void test_an_owner_that_makes_nothing_is_followed(void **state)
{
    (void)state;
    struct tr_ref tasks[3];
    begin_three(tasks);
    cannot_put = true;
    finish(tasks[0]);
    assert_int_equal(step_of(tasks[1]), TR_STEP_RUN);
    assert_int_equal(step_of(tasks[2]), TR_STEP_RESERVE);
    cannot_put = false;
    stand_abort_one(tasks[1]);
    assert_int_equal(step_of(tasks[1]), TR_STEP_END);
    assert_int_equal(step_of(tasks[2]), TR_STEP_RUN);
    finish(tasks[2]);
    assert_int_equal(stand.ended_count, 3);
    assert_int_equal(stand.ended.cache_status, TR_CACHE_STATUS_POPULATED);
    stand_end();
}

static void test_a_dead_owner_is_replaced(void **state)
{
    (void)state;
    struct tr_ref tasks[3];
    begin_three(tasks);
    stand_kill(tasks[0]);
    stand_run(serve);
    assert_int_equal(step_of(tasks[0]), TR_STEP_END);
    assert_int_equal(step_of(tasks[1]), TR_STEP_RUN);
    stand_abort_one(tasks[2]); /* who waits may go, too */
    assert_int_equal(step_of(tasks[2]), TR_STEP_END);
    finish(tasks[1]);
    assert_int_equal(stand.ended.cache_status, TR_CACHE_STATUS_POPULATED);
    stand_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_made_is_found),
        cmocka_unit_test(test_a_key_holds_what_a_result_depends_on),
        cmocka_unit_test(test_an_interface_is_a_part_of_the_key),
        cmocka_unit_test(test_refresh_makes_it_anew_and_off_is_off),
        cmocka_unit_test(test_a_cache_that_fails_is_no_failure),
        cmocka_unit_test(test_a_document_is_checked),
        cmocka_unit_test(test_a_retry_keeps_its_key),
        cmocka_unit_test(test_it_ends_the_same_wherever_the_engine_dies),
        cmocka_unit_test(test_an_abort_does_not_wait_for_the_cache),
        cmocka_unit_test(test_a_token_is_given_back_before_the_put),
        cmocka_unit_test(test_one_makes_it_and_all_take_it),
        cmocka_unit_test(test_an_owner_that_makes_nothing_is_followed),
        cmocka_unit_test(test_a_dead_owner_is_replaced),
    };
    return cmocka_run_group_tests_name("task cache", tests, NULL, NULL);
}
