/*
 * A task when memory ends for a moment, at any allocation: the handler in hand fails, is tried
 * again, and what comes out is the same.
 */
#include "runtime/memory.h"
#include "schemas/runtime/files.h"
#include "tests/unit/actors/task_jobs.h"

static const char flow[] =
    "troupe: 1\n"
    "tasks:\n"
    "  doll: {type: fake, inputs: {in: file}, outputs: {out: file, n: int},\n"
    "         retries: 1, cache: {version: v1, serialize: true}}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {in: file}\n"
    "    nodes:\n"
    "      doll: {task: doll, with: {in: $in}}\n";

static const struct stand_start start = {.node = "doll", .inputs = "{\"in\": \"http://h/x\"}"};

/* Fails once, gives a file and a number, and says where it works. */
static int give(struct tr_task_context *task, struct tr_fake_actor_state *state,
                const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_text problem;
    struct tr_text json;
    if (event->kind == TR_TASK_START) {
        int error = tr_task_folder(task, tr_text_of("/made"));
        error = error != 0 ? error : tr_task_log(task, tr_text_of("out"), tr_text_of("/made/out"));
        error = error != 0 ? error : task_jobs_ask(task, state, JOB_SUBMIT);
        return error != 0 ? error
                          : tr_task_is(transition, TR_TASK_PHASE_QUEUED, tr_text_of("asked for"));
    }
    if (tr_task_identity(task)->attempt == 0) {
        return tr_task_fail(transition, TR_FAILURE_USER, tr_text_of("Early"), tr_text_of("once"));
    }
    int error = tr_task_inputs_json(task, &json);
    error = error != 0 ? error
                       : tr_task_outputs_json(task, tr_text_of("{\"out\": \"o\", \"n\": 3}"),
                                              tr_text_of("/made"), &problem);
    return error != 0 ? error : tr_task_succeed(transition);
}

static void serve(const struct outside_message *message)
{
    if (message->type == tr_outside_ask_schema.id) {
        stand_answer(message, &tr_outside_told_schema, &(struct tr_outside_told){0});
    } else if (message->type == tr_document_get_schema.id) {
        stand_answer(message, &tr_document_schema, &(struct tr_document){.is_found = false});
    } else if (message->type == tr_document_put_schema.id) {
        stand_answer(message, &tr_document_schema, &(struct tr_document){.is_found = true});
    } else {
        stand_answer(message, &tr_blob_stored_schema,
                     &(struct tr_blob_stored){.uri = tr_text_of("/store/blobs/x")});
    }
}

/* Memory ends in the task's own handlers only: what the runtime does then, its tests say. */
static uint64_t allocations_left;
static bool has_failed;

static bool allow(void *self, size_t size)
{
    (void)self;
    (void)size;
    if (allocations_left > 0) {
        allocations_left--;
        return true;
    }
    bool is_first = !has_failed;
    has_failed = true;
    return !is_first;
}

static int handle_without_memory(struct tr_context *context, void *state,
                                 const struct tr_message *message)
{
    tr_memory_hook_set(allow, NULL);
    int error = tr_task_behaviour.handle(context, state, message);
    tr_memory_hook_set(NULL, NULL);
    return error;
}

/* Runs it with the allocation after `count` others failing; whether one has failed. */
static bool run(uint64_t count)
{
    allocations_left = count;
    has_failed = false;
    stand_begin(flow, false);
    stand_begin_resources(1);
    stand_begin_catalog();
    stand.handle = give;
    stand_prepare(&start);
    for (int i = 0; i < 60 && stand_ends() == 0; i++) {
        stand_run(serve);
        stage_advance(&stand.stage, 1);
    }
    assert_int_equal(stand_ends(), 1);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(stand.ended.attempts, 2);
    assert_int_equal(stand.ended.cache_status, TR_CACHE_STATUS_POPULATED);
    assert_string_equal(stand_outputs(), "[\"/store/blobs/x\", 3]");
    assert_int_equal(stage_actor_count(&stand.stage), stand.bystanders);
    stand_end();
    return has_failed;
}

static void test_memory_that_ends_for_a_moment_changes_nothing(void **state)
{
    (void)state;
    uint64_t count = 0;
    struct tr_behaviour wrapper = tr_task_behaviour;
    wrapper.handle = handle_without_memory;
    stand_task_behaviour = &wrapper;
    while (run(count)) {
        count++;
        assert_true(count < 10000);
    }
    assert_true(count > 50);
    stand_task_behaviour = &tr_task_behaviour;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_that_ends_for_a_moment_changes_nothing),
    };
    return cmocka_run_group_tests_name("task memory", tests, NULL, NULL);
}
