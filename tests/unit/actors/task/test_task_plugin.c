/*
 * A task and a plugin whose work is outside: what is asked for once and only once, what a crash
 * leaves of unknown outcome, states that are lost, and plugins that do wrong.
 */
#include <stdio.h>

#include "runtime/memory.h"
#include "schemas/engine/history.h"
#include "tests/unit/actors/task_jobs.h"

/* ------------------------------------------------------------ once and once */

static void test_an_attempt_goes_through_its_intents(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_start(JOB_START("job"));
    assert_int_equal(stand_state()->intent, TR_INTENT_INTENT);
    assert_int_equal(stand_state()->task_phase, TR_TASK_PHASE_QUEUED);
    stand_run(task_jobs_serve);
    assert_int_equal(stand_state()->intent, TR_INTENT_SUBMITTED);
    assert_int_equal(stand_state()->task_phase, TR_TASK_PHASE_RUNNING);
    assert_int_equal(stand.finalized, 0);
    task_jobs_end(JOB_SUCCEEDED);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(stand_outputs(), "[8]");
    assert_int_equal(stand.finalized, 1);
    stand_end();
}

static void test_a_call_under_way_at_a_crash_is_in_doubt(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_start(JOB_START("job"));
    task_jobs.is_silent = true;
    stand_run(task_jobs_serve); /* it has left, and nobody answers */
    stand_crash();
    assert_int_equal(task_jobs.last_error, TR_NO_CONNECTION);
    assert_int_equal(stand_state()->intent, TR_INTENT_UNKNOWN);
    task_jobs.is_silent = false;
    stand_run(task_jobs_serve);
    assert_int_equal(stand_state()->intent, TR_INTENT_SUBMITTED);
    task_jobs_end(JOB_SUCCEEDED);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(task_jobs.count, 1);
    stand_end();
}

static void test_wherever_the_engine_dies_each_attempt_has_one_job(void **state)
{
    (void)state;
    bool goes_on = true;
    for (uint32_t turns = 1; goes_on; turns++) {
        task_jobs_begin();
        task_jobs.fails_first = true;
        goes_on = stand_run_with_crash(JOB_START("job"), task_jobs_serve_and_end, turns, 10);
        assert_ended(TR_NODE_PHASE_SUCCEEDED);
        assert_int_equal(stand.ended.attempts, 2);
        assert_int_equal(task_jobs.count, 2);
        stand_end();
        assert_true(turns < 1000);
    }
}

/* ------------------------------------------------------------- lost states */

/* Changes what is stored of the plugin's state: its sum stays, or is made that of the change. */
enum damage {
    OF_ITS_BYTES,
    OF_ITS_SUM,
    OF_ITS_VERSION,
    OF_ITS_VERSION_ALONE,
    OF_ITS_OWNER,       /* one that is not there */
    OF_ITS_OWNER_HERE,  /* one that would run it */
    OF_ITS_OWNER_ALONE, /* its sum is not that of the name */
    OF_THE_WRAPPER
};

static uint64_t sum_of(const struct tr_task_plugin *wrapper)
{
    struct tr_bytes name = {.data = (const uint8_t *)wrapper->plugin.data,
                            .size = wrapper->plugin.size};
    struct tr_bytes version = {.data = &wrapper->version, .size = 1};
    uint64_t sum = tr_fnv_64(tr_fnv_64(TR_FNV_64_BEGIN, name), version);
    return tr_fnv_64(sum, wrapper->state);
}

static void damage_state(enum damage damage)
{
    struct tri_actor *actor = stand_task();
    struct tr_bytes page = tri_page_bytes(actor, 1);
    struct tr_task_plugin wrapper;
    assert_int_equal(tr_task_plugin_unpack(page, 1, &wrapper), 0);
    uint8_t *copy = tr_alloc(page.size + 64);
    uint8_t bytes[8192];
    struct tr_writer inner = tr_writer_of(bytes, sizeof bytes);
    if (damage == OF_ITS_BYTES) {
        tr_write_array(&inner, 1);
        tr_write_nil(&inner);
        wrapper.state = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&inner)};
    }
    bool is_of_version = damage == OF_ITS_VERSION || damage == OF_ITS_VERSION_ALONE;
    wrapper.version = is_of_version ? 3 : wrapper.version;
    wrapper.plugin = damage == OF_ITS_OWNER ? tr_text_of("nobody") : wrapper.plugin;
    bool is_here = damage == OF_ITS_OWNER_ALONE || damage == OF_ITS_OWNER_HERE;
    wrapper.plugin = is_here ? tr_text_of("sleep") : wrapper.plugin;
    bool is_alone = damage == OF_ITS_VERSION_ALONE || damage == OF_ITS_OWNER_ALONE;
    wrapper.sum = is_alone ? wrapper.sum : sum_of(&wrapper);
    wrapper.sum += damage == OF_ITS_SUM ? 1 : 0;
    struct tr_writer writer = tr_writer_of(copy, page.size + 64);
    assert_int_equal(tr_task_plugin_pack(&wrapper, &writer), 0);
    size_t size = tr_writer_size(&writer) - (damage == OF_THE_WRAPPER ? 1 : 0);
    tri_page_put(stage_worker(&stand.stage, 0), actor, 1, copy, size);
}

static void test_a_lost_state_is_recovered_through_the_identity(void **state)
{
    (void)state;
    static const struct {
        enum damage damage;
        int error;
    } cases[] = {{OF_ITS_BYTES, TR_MALFORMED},   {OF_ITS_SUM, TR_MALFORMED},
                 {OF_ITS_VERSION, TR_VERSION},   {OF_ITS_VERSION_ALONE, TR_MALFORMED},
                 {OF_ITS_OWNER, TR_MALFORMED},   {OF_ITS_OWNER_ALONE, TR_MALFORMED},
                 {OF_THE_WRAPPER, TR_MALFORMED}, {OF_ITS_OWNER_HERE, TR_MALFORMED}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        task_jobs_begin();
        stand_start(JOB_START("job"));
        stand_run(task_jobs_serve);
        damage_state(cases[i].damage);
        struct tr_outside_told told = {.number = JOB_RUNNING,
                                       .key = tr_text_of(task_jobs.jobs[0].key)};
        stand_say(TR_SERVICE_PROCESSES, &tr_outside_told_schema, &told);
        assert_int_equal(task_jobs.lost_count, 1);
        assert_int_equal(task_jobs.last_error, cases[i].error);
        assert_int_equal(stand_state()->intent, TR_INTENT_UNKNOWN);
        stand_run(task_jobs_serve); /* it asks under the name it had, and goes on */
        task_jobs_end(JOB_SUCCEEDED);
        assert_ended(TR_NODE_PHASE_SUCCEEDED);
        assert_int_equal(task_jobs.count, 1);
        assert_int_equal(stand.ended.attempts, 1);
        stand_end();
    }
}

static uint64_t events_seen;

static int note_state(struct tr_task_context *task, struct tr_fake_actor_state *state,
                      const struct tr_task_event *event, struct tr_transition *transition)
{
    events_seen = state->events;
    assert_int_equal(state->words.size, 0);
    return task_jobs_handle(task, state, event, transition);
}

/* Version 1 had two fields. */
static void test_an_older_state_is_read(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_start(JOB_START("job"));
    stand_run(task_jobs_serve);
    uint8_t old[] = {0x92, 41, 5};
    struct tr_bytes packed = {.data = old, .size = sizeof old};
    struct tr_task_plugin wrapper = {.plugin = tr_text_of("fake"), .version = 1, .state = packed};
    wrapper.sum = sum_of(&wrapper);
    uint8_t *page = tr_alloc(64);
    struct tr_writer writer = tr_writer_of(page, 64);
    assert_int_equal(tr_task_plugin_pack(&wrapper, &writer), 0);
    tri_page_put(stage_worker(&stand.stage, 0), stand_task(), 1, page, tr_writer_size(&writer));
    stand.handle = note_state;
    task_jobs_end(JOB_SUCCEEDED);
    assert_int_equal(events_seen, 41);
    assert_int_equal(task_jobs.lost_count, 0);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

/* ------------------------------------------------------- plugins that do wrong */

static int wrong_result;
static struct tr_transition wrong_transition;

static int do_wrong(struct tr_task_context *task, struct tr_fake_actor_state *state,
                    const struct tr_task_event *event, struct tr_transition *transition)
{
    if (event->kind == TR_TASK_START) {
        return task_jobs_handle(task, state, event, transition);
    }
    if (wrong_result == TR_LIMIT) {
        state->words.size = sizeof state->words.data;
        memset(state->words.data, 'x', sizeof state->words.data);
        return 0;
    }
    *transition = wrong_transition;
    return wrong_result;
}

/* Each wrong is a failure of the system; its job is ended first; the last attempt says why. */
static void test_a_plugin_that_does_wrong_hurts_its_task_only(void **state)
{
    (void)state;
    static const struct {
        int result;
        struct tr_transition transition;
        const char *message;
    } cases[] = {
        {TR_FAILED, {0}, "the plugin 'fake' failed: the handler failed"},
        {0, {.phase = 77}, "the plugin 'fake' gave a phase that is none"},
        {0,
         {.phase = TR_TASK_PHASE_ABORTED},
         "the plugin 'fake' says that it was aborted, which nobody asked for"},
        {TR_LIMIT,
         {0},
         "the plugin 'fake' has a state that cannot be stored (TR_PLUGIN_STATE_BYTES_MAX)"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        task_jobs_begin();
        stand.engine->system_retries = 1;
        stand.handle = do_wrong;
        wrong_result = cases[i].result;
        wrong_transition = cases[i].transition;
        stand_start(JOB_START("job"));
        for (int turn = 0; turn < 4; turn++) {
            stand_run(task_jobs_serve);
            stage_advance(&stand.stage, SYSTEM_RETRY_MS);
        }
        assert_ended(TR_NODE_PHASE_FAILED);
        assert_int_equal(stand.ended.failure, TR_FAILURE_SYSTEM);
        assert_int_equal(stand.ended.attempts, 2);
        assert_int_equal(task_jobs.count, 2);
        assert_text(stand.ended.code, "RetriesExhausted|PluginFailed");
        char wanted[256];
        (void)snprintf(wanted, sizeof wanted, "%s (the last of 2 attempts)", cases[i].message);
        assert_text(stand.ended.message, wanted);
        stand_end();
    }
}

static int go_back(struct tr_task_context *task, struct tr_fake_actor_state *state,
                   const struct tr_task_event *event, struct tr_transition *transition)
{
    (void)task;
    (void)state;
    return tr_task_is(transition,
                      event->kind == TR_TASK_START ? TR_TASK_PHASE_RUNNING : TR_TASK_PHASE_QUEUED,
                      tr_text_of("back \xff"));
}

static void test_a_phase_that_may_not_follow_is_no_news(void **state)
{
    (void)state;
    task_jobs_begin();
    stand.handle = go_back;
    stand.abort = NULL;
    stand_start(JOB_START("job"));
    size_t rows = tri_model_record_count(stand.model, tr_phase_schema.id);
    stand_say(TR_SERVICE_PROCESSES, &tr_outside_told_schema, &(struct tr_outside_told){0});
    assert_int_equal(stand_state()->task_phase, TR_TASK_PHASE_RUNNING);
    assert_int_equal(tri_model_record_count(stand.model, tr_phase_schema.id), rows);
    stand_abort(TR_NODE_PHASE_ABORTED, false);
    assert_ended(TR_NODE_PHASE_ABORTED);
    stand_end();
}

/* What an attempt before has asked for is not heard by the next. */
static int ask_and_fail(struct tr_task_context *task, struct tr_fake_actor_state *state,
                        const struct tr_task_event *event, struct tr_transition *transition)
{
    if (event->kind != TR_TASK_START) {
        fail_msg("the event %u of an attempt before", event->kind);
    }
    int error = task_jobs_ask(task, state, JOB_SUBMIT);
    error =
        error != 0 ? error : tr_task_timer(task, 1, tr_task_identity(task)->attempt == 0 ? 5 : 50);
    if (error != 0 || tr_task_identity(task)->attempt == 1) {
        return error != 0 ? error : tr_task_is(transition, TR_TASK_PHASE_QUEUED, tr_text_of(""));
    }
    return tr_task_fail(transition, TR_FAILURE_USER, tr_text_of("Early"), tr_text_of("too early"));
}

static void test_answers_to_an_attempt_before_are_not_heard(void **state)
{
    (void)state;
    task_jobs_begin();
    stand.handle = ask_and_fail;
    stand_start(JOB_START("job"));
    stage_advance(&stand.stage, 1);
    assert_int_equal(stand_state()->attempt, 1);
    assert_int_equal(stand_look_outside(), 2);
    task_jobs_serve(&stand.outside[0]);
    stage_run(&stand.stage);
    stage_advance(&stand.stage, 4); /* the first attempt's timer; the second's is not due */
    assert_int_equal(stand_state()->step, TR_STEP_RUN);
    stand_end();
}

/* ------------------------------------------------------------ what Flyte says beside */

static struct tr_bytes task_extra;
static struct tr_bytes node_extra;

static int look(struct tr_task_context *task, struct tr_fake_actor_state *state,
                const struct tr_task_event *event, struct tr_transition *transition)
{
    task_extra = tr_task_template(task)->extra;
    node_extra = tr_task_template(task)->node_extra;
    return task_jobs_handle(task, state, event, transition);
}

/* As the graph has it, which lives as long as the engine. */
static void test_a_plugin_is_told_what_flyte_says_beside(void **state)
{
    (void)state;
    static const uint8_t said[] = {0x81, 0xa1, 'a', 0x01};
    struct tr_bytes bytes = {.data = said, .size = sizeof said};
    task_jobs_begin();
    stand.handle = look;
    struct tr_graph *graph = (struct tr_graph *)(uintptr_t)stand.compiled; /* of this test alone */
    for (uint32_t i = 0; i < graph->task_count; i++) {
        graph->tasks[i].extra = bytes;
    }
    struct tr_workflow *workflow = &graph->workflows[graph->main_workflow];
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        workflow->nodes[i].extra = (struct tr_bytes){.data = said + 3, .size = 1};
    }
    stand_start(JOB_START("job"));
    assert_ptr_equal(task_extra.data, said);
    assert_int_equal(task_extra.size, sizeof said);
    assert_ptr_equal(node_extra.data, said + 3);
    assert_int_equal(node_extra.size, 1);
    stand_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_attempt_goes_through_its_intents),
        cmocka_unit_test(test_a_call_under_way_at_a_crash_is_in_doubt),
        cmocka_unit_test(test_wherever_the_engine_dies_each_attempt_has_one_job),
        cmocka_unit_test(test_a_lost_state_is_recovered_through_the_identity),
        cmocka_unit_test(test_an_older_state_is_read),
        cmocka_unit_test(test_a_plugin_that_does_wrong_hurts_its_task_only),
        cmocka_unit_test(test_a_phase_that_may_not_follow_is_no_news),
        cmocka_unit_test(test_answers_to_an_attempt_before_are_not_heard),
        cmocka_unit_test(test_a_plugin_is_told_what_flyte_says_beside),
    };
    return cmocka_run_group_tests_name("task plugin", tests, NULL, NULL);
}
