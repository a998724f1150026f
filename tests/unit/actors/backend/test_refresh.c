/*
 * The refresh actor: jobs are made in as few calls as can be, asked about, ended, and their tasks
 * hear of each change once.
 */
#include <stdio.h>
#include <string.h>

#include "actors/explain/explain.h"
#include "runtime/actor/parts.h"
#include "tests/unit/actors/refresh_stand.h"

static void assert_text(struct tr_text text, const char *wanted)
{
    char copy[512];
    (void)snprintf(copy, sizeof copy, "%.*s", (int)text.size, text.data);
    assert_string_equal(copy, wanted);
}

#define assert_holder(holder, field, wanted) \
    assert_text(tr_array_get(&refresh_stand_holder(holder)->field), wanted)

/* What is left when all tasks are done with their jobs: nothing. */
static void assert_empty(void)
{
    const struct tr_refresh_state *state = refresh_stand_state();
    assert_int_equal(state->jobs, 0);
    assert_int_equal(state->calls, 0);
    assert_int_equal(state->streams, 0);
    assert_int_equal(state->watch_count, 0);
    assert_int_equal(state->stream_pending, 0);
    assert_int_equal(state->index_bytes, 0);
}

static void drop_all(void)
{
    for (uint32_t i = 0; i < back.holder_count; i++) {
        refresh_stand_drop(i);
    }
    refresh_stand_pass(20);
}

static void test_a_job_lives_and_its_task_hears_of_it(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, true);
    uint32_t job = refresh_stand_make("g");
    refresh_stand_pass(5);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 0); /* more may come */
    refresh_stand_pass(20);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 1);
    assert_int_equal(refresh_stand_holder(job)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    assert_holder(job, handle, "h0000000000000000000000000");
    refresh_stand_pass(6000);
    assert_int_equal(refresh_stand_holder(job)->phase, TR_TASK_PHASE_QUEUED);
    assert_int_equal(refresh_stand_holder(job)->news, 2);
    back_phase(0, TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(6000);
    assert_int_equal(refresh_stand_holder(job)->phase, TR_TASK_PHASE_RUNNING);
    refresh_stand_crash();
    back_phase(0, TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(12000);
    assert_int_equal(refresh_stand_holder(job)->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_int_equal(refresh_stand_holder(job)->phase, TR_TASK_PHASE_SUCCESS);
    assert_int_equal(refresh_stand_holder(job)->ends, 1);
    assert_int_equal(refresh_stand_holder(job)->repeats, 0);
    assert_int_equal(refresh_stand_holder(job)->news, 4);
    drop_all();
    assert_empty();
    refresh_stand_end();
}

static void test_asking_twice_gives_what_is_known(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, true);
    uint32_t job = refresh_stand_make("g");
    refresh_stand_pass(20);
    struct tr_holder_do again = {.act = HOLDER_MAKE, .group = tr_text_of("g")};
    refresh_stand_tell(job, &again);
    refresh_stand_pass(20);
    assert_int_equal(refresh_stand_holder(job)->repeats, 1);
    assert_int_equal(refresh_stand_holder(job)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    back_phase(0, TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(6000);
    refresh_stand_tell(job, &again); /* an end is told again, too */
    refresh_stand_pass(20);
    assert_int_equal(refresh_stand_holder(job)->repeats, 2);
    assert_int_equal(refresh_stand_holder(job)->phase, TR_TASK_PHASE_SUCCESS);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 1);
    drop_all();
    assert_empty();
    refresh_stand_end();
}

/* AT1: however slow the back end is, and however jobs come. */
static void test_five_thousand_jobs_are_25_calls(void **state)
{
    (void)state;
    static const uint32_t latencies[] = {1, 50, 400};
    for (size_t l = 0; l < TR_COUNT_OF(latencies); l++) {
        refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
        back.latency_ms = latencies[l];
        for (uint32_t i = 0; i < 5000; i++) {
            (void)refresh_stand_make("g");
            if (i % 37 == 36) {
                refresh_stand_pass(1);
            }
        }
        refresh_stand_pass(25 * 400);
        assert_int_equal(back.job_count, 5000);
        assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 25);
        assert_int_equal(back.most[TR_WEBAPI_VERB_CREATE], 200);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 5000);
        refresh_stand_end();
    }
}

/* Spawns that stall for a moment, as they do on a busy machine, are no ends of the array. */
static void test_gaps_between_spawns_cost_no_call(void **state)
{
    (void)state;
    static const uint32_t latencies[] = {1, 50, 400};
    static const uint32_t gaps[][2] = {{20, 40}, {60, 100}, {250, 180}, {999, 140}, {3010, 190}};
    for (size_t l = 0; l < TR_COUNT_OF(latencies); l++) {
        refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
        back.latency_ms = latencies[l];
        for (uint32_t i = 0; i < 5000; i++) {
            (void)refresh_stand_make("g");
            refresh_stand_pass(i % 2 == 0 ? 1 : 0);
            for (size_t k = 0; k < TR_COUNT_OF(gaps); k++) {
                refresh_stand_pass(i == gaps[k][0] ? gaps[k][1] : 0);
            }
        }
        refresh_stand_pass(25 * 400);
        assert_int_equal(back.job_count, 5000);
        assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 25);
        refresh_stand_end();
    }
}

/* Elements whose inputs are written to files first come one by one. */
static void test_a_trickle_of_spawns_fills_its_batches(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
    for (uint32_t i = 0; i < 1000; i++) {
        (void)refresh_stand_make("g");
        refresh_stand_pass(9);
    }
    refresh_stand_pass(300);
    assert_int_equal(back.job_count, 1000);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 5);
    refresh_stand_end();
}

/* What comes alone leaves soon, and a few soon behind the last of them. */
static void test_few_jobs_leave_soon(void **state)
{
    (void)state;
    static const struct {
        uint32_t jobs;
        uint64_t soon_ms;
    } cases[] = {{1, 11}, {2, 13}, {10, 29}, {50, 109}, {199, 201}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
        for (uint32_t k = 0; k < cases[i].jobs; k++) {
            (void)refresh_stand_make("g");
        }
        refresh_stand_pass(cases[i].soon_ms);
        assert_int_equal(back.job_count, cases[i].jobs);
        assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 1);
        refresh_stand_end();
    }
}

static void test_polls_are_few_and_full(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
    for (uint32_t i = 0; i < 1200; i++) {
        (void)refresh_stand_make("g");
        refresh_stand_pass(i % 20 == 0 ? 1 : 0);
    }
    refresh_stand_pass(4000);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STATUS], 0); /* no burst at the start */
    refresh_stand_pass(7000); /* at most so many in an interval, of which there were two */
    assert_in_range(back.calls[TR_WEBAPI_VERB_STATUS], 3, 6);
    assert_in_range(back.items[TR_WEBAPI_VERB_STATUS], 1200, 2400);
    uint32_t calls = back.calls[TR_WEBAPI_VERB_STATUS];
    refresh_stand_pass(120000); /* nothing changes: once a minute is enough */
    assert_in_range(back.calls[TR_WEBAPI_VERB_STATUS] - calls, 3 * 2, 3 * 6);
    back_phase_all(TR_TASK_PHASE_RUNNING);
    while (refresh_stand_holder(0)->phase != TR_TASK_PHASE_RUNNING) {
        refresh_stand_pass(100);
    }
    calls = back.calls[TR_WEBAPI_VERB_STATUS];
    refresh_stand_pass(12000); /* and often again on a change */
    assert_in_range(back.calls[TR_WEBAPI_VERB_STATUS] - calls, 1, 6);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 6);
    refresh_stand_end();
}

/* AT8: one bad item spoils its batch, and only it fails. */
static void test_only_the_bad_one_of_a_batch_fails(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
    back.bad = "job-117 ";
    for (uint32_t i = 0; i < 1000; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(3000);
    assert_int_equal(back.job_count, 999);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 999);
    assert_int_equal(refresh_stand_holder(117)->phase, TR_TASK_PHASE_PERMANENT_FAILURE);
    assert_holder(117, code, "BackendRefused");
    assert_holder(117, message, "the back end refuses this job (400)");
    assert_true(back.calls[TR_WEBAPI_VERB_CREATE] <= 5 + 16);
    refresh_stand_end();
}

static void test_a_cancelled_job_is_ended(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, true);
    uint32_t early = refresh_stand_make("g");
    refresh_stand_cancel(early, "g"); /* it never left */
    assert_int_equal(refresh_stand_holder(early)->phase, TR_TASK_PHASE_ABORTED);
    refresh_stand_pass(50);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 0);
    uint32_t job = refresh_stand_make("g");
    refresh_stand_pass(50);
    refresh_stand_cancel(job, "g");
    refresh_stand_cancel(job, "g");
    refresh_stand_pass(50);
    assert_int_equal(refresh_stand_holder(job)->stage, TR_WEBAPI_STAGE_CANCELLING);
    refresh_stand_pass(6000);
    assert_int_equal(refresh_stand_holder(job)->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CANCEL], 1);
    assert_int_equal(back_live(), 0);
    drop_all();
    assert_empty();
    refresh_stand_end();
}

/* A task that is gone without a word leaves no job behind. */
static void test_a_job_without_its_task_is_ended(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
    uint32_t job = refresh_stand_make("g");
    refresh_stand_pass(50);
    refresh_stand_stop(job);
    refresh_stand_pass(50);
    assert_int_equal(back_live(), 0);
    refresh_stand_crash();
    refresh_stand_pass(7000);
    assert_empty();
    refresh_stand_end();
}

/* A task that cannot be reached may live: its job goes on, and the task's end is heard of later. */
static void test_a_job_whose_task_cannot_be_reached_goes_on(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
    uint32_t job = refresh_stand_make("g");
    refresh_stand_pass(50);
    for (int i = 0; i < 2; i++) {
        stage_lose_monitors(&back.stage, back.refresh);
        refresh_stand_pass(50);
        assert_int_equal(back_live(), 1);
    }
    refresh_stand_stop(job);
    refresh_stand_pass(50);
    assert_int_equal(back_live(), 0);
    refresh_stand_end();
}

/* Among several hosts it begins with nothing but its name. */
static void test_a_name_says_which_back_end_it_is_for(void **state)
{
    (void)state;
    static const char *const names[] = {"sys/refresh/model/default", "sys/refresh/model",
                                        "sys/other/model/default"};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
        back.refresh = stage_spawn(&back.stage, refresh_stand_behaviour,
                                   &(struct tr_spawn_options){.name = tr_text_of(names[i])});
        uint32_t job = refresh_stand_make("g");
        refresh_stand_pass(50);
        assert_int_equal(back_live(), i == 0 ? 1 : 0);
        refresh_stand_crash();
        refresh_stand_cancel(job, "g");
        refresh_stand_pass(7000);
        assert_int_equal(back_live(), 0);
        refresh_stand_end();
    }
}

/* AT11: a whole group is ended by one call, where the plugin can. */
static void test_a_whole_group_is_ended_in_one_call(void **state)
{
    (void)state;
    for (int ends_groups = 0; ends_groups < 2; ends_groups++) {
        refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
        back.webapi.ends_job_sets = ends_groups != 0;
        for (uint32_t i = 0; i < 1000; i++) {
            (void)refresh_stand_make("g");
        }
        (void)refresh_stand_make("other");
        refresh_stand_pass(2000);
        for (uint32_t i = 0; i < 1000; i++) {
            refresh_stand_cancel(i, "g");
        }
        refresh_stand_pass(7000);
        assert_int_equal(back.calls[TR_WEBAPI_VERB_CANCEL], ends_groups != 0 ? 1 : 5);
        assert_int_equal(back.whole_cancels, ends_groups);
        assert_int_equal(back_live(), 1);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 1000);
        assert_int_equal(back.empty_calls, 0);
        refresh_stand_end();
    }
}

static void test_failures_are_explained_before_they_are_told(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, true);
    back.webapi.failures.items_max = 100;
    uint32_t job = refresh_stand_make("g");
    refresh_stand_pass(50);
    back_phase(0, TR_TASK_PHASE_RETRYABLE_FAILURE);
    refresh_stand_pass(6000);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_FAILURES], 1);
    assert_int_equal(refresh_stand_holder(job)->ends, 1);
    assert_holder(job, code, "OOMKilled");
    drop_all();
    assert_empty();
    refresh_stand_end();
}

static void test_what_is_too_large_is_refused(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, false);
    struct tr_holder_do large = {.act = HOLDER_MAKE, .bytes = TR_WEBAPI_JOB_BYTES_MAX};
    uint32_t job = refresh_stand_make_as(&large);
    refresh_stand_pass(1);
    assert_int_equal(refresh_stand_holder(job)->phase, TR_TASK_PHASE_PERMANENT_FAILURE);
    assert_holder(job, code, "JobTooLarge");
    assert_holder(job, message, "a job has 65541 bytes, and may have 65536");
    large.bytes -= 8; /* several pages of it */
    job = refresh_stand_make_as(&large);
    refresh_stand_pass(50);
    assert_int_equal(refresh_stand_holder(job)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_end();
}

static int page_of(void *self, uint32_t page, struct tr_bytes *bytes)
{
    *bytes = tri_page_bytes(self, page);
    return 0;
}

#define HANDLE "h0000000000000000000000000" /* of the first job, as the stand's server calls it */

/* The words for a job, as far as a time, which is another each time. */
static void assert_explained(const char *identity, const char *wanted)
{
    struct tr_buffer text;
    struct tr_explain_pages pages = {.page = page_of,
                                     .self = stage_actor(&back.stage, back.refresh)};
    tr_buffer_init(&text, 0);
    assert_int_equal(tr_explain_job(refresh_stand_state(), &pages, tr_text_of(identity),
                                    (struct tr_explain_now){refresh_stand_now_ms(), 0}, &text),
                     0);
    assert_true(text.size >= strlen(wanted));
    assert_text((struct tr_text){.data = (const char *)text.data, .size = strlen(wanted)}, wanted);
    tr_buffer_fini(&text);
}

/* Whether the words for a job have these among them. */
static void assert_explained_with(const char *identity, const char *wanted)
{
    char copy[1024];
    struct tr_buffer text;
    struct tr_explain_pages pages = {.page = page_of,
                                     .self = stage_actor(&back.stage, back.refresh)};
    tr_buffer_init(&text, 0);
    assert_int_equal(tr_explain_job(refresh_stand_state(), &pages, tr_text_of(identity),
                                    (struct tr_explain_now){refresh_stand_now_ms(), 0}, &text),
                     0);
    (void)snprintf(copy, sizeof copy, "%.*s", (int)text.size, (const char *)text.data);
    tr_buffer_fini(&text);
    if (strstr(copy, wanted) == NULL) {
        fail_msg("'%s' is not in: %s", wanted, copy);
    }
}

/* What is on record is written when something has happened, and not again because of that. */
static void test_an_idle_actor_records_nothing(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, true);
    (void)refresh_stand_make("g");
    refresh_stand_pass(100);
    refresh_stand_cancel(0, "g");
    refresh_stand_pass(10000);
    refresh_stand_drop(0);
    refresh_stand_pass(5000);
    uint64_t recorded_ms = refresh_stand_state()->recorded_ms;
    refresh_stand_pass(60000);
    assert_int_equal(refresh_stand_state()->jobs, 0);
    assert_int_equal(refresh_stand_state()->recorded_ms, recorded_ms);
    refresh_stand_end();
}

/* A server may call its job what it likes; a terminal sees one plain word. */
static void test_a_rude_handle_does_not_reach_a_terminal(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
    back.handles_begin = '\x1b';
    (void)refresh_stand_make("g");
    refresh_stand_pass(2000);
    assert_explained("job-0",
                     "its job ?0000000000000000000000000 was submitted, and is asked about");
    refresh_stand_end();
}

static void test_each_job_says_what_it_waits_for(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
    back.latency_ms = 100;
    uint32_t job = refresh_stand_make("g");
    assert_explained("job-0", "its job waits to be submitted with others, one of 1 since 2023-");
    assert_explained_with("job-0", "Z; at endpoint default of 'model'");
    refresh_stand_pass(20);
    assert_explained("job-0", "its job is being submitted since 2023-");
    refresh_stand_pass(200);
    assert_explained("job-0", "its job " HANDLE " was submitted, and is asked about at 2023-");
    refresh_stand_cancel(job, "g");
    assert_explained("job-0",
                     "its job " HANDLE " waits to be ended with others, one of 1 since 2023-");
    refresh_stand_pass(200);
    assert_explained("job-0", "its job " HANDLE " was told to end, and is asked about at 2023-");
    refresh_stand_pass(12000);
    assert_explained("job-0", "its job " HANDLE " has ended");
    refresh_stand_end();
}

static enum back_fault trouble;

static enum back_fault in_trouble(uint8_t verb, uint32_t nth)
{
    (void)nth;
    return verb == TR_WEBAPI_VERB_CREATE ? trouble : BACK_FINE;
}

/* Whatever is wrong with a back end: which one, what, and when it is tried again. */
static void test_what_is_wrong_with_a_back_end_is_said(void **state)
{
    (void)state;
    static const struct {
        enum back_fault fault;
        uint64_t pass_ms;
        const char *words;
    } cases[] = {
        {BACK_THROTTLE, 100,
         "; endpoint default of 'model' wants fewer calls (429): the next one at 2023-"},
        {BACK_DENY, 100,
         "; endpoint default of 'model' refuses us; look at its secret and permissions (401): "
         "tried again at 2023-"},
        {BACK_CONNECT, 700, "; endpoint default of 'model' does not answer (connect): tried again"},
        {BACK_BUSY, 700, "its job may have been submitted, and is looked for at 2023-"},
        {BACK_BUSY, 700, ", its outcome unknown since 2023-"},
        {BACK_BUSY, 700, "; at endpoint default of 'model', whose last call failed"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
        back.webapi.find.items_max = 0;
        back.webapi.stream.write = back.standard_stream.write;
        trouble = cases[i].fault;
        back.fault = in_trouble;
        (void)refresh_stand_make("g");
        refresh_stand_pass(cases[i].pass_ms);
        assert_explained_with("job-0", cases[i].words);
        refresh_stand_end();
    }
}

/* A stream that is silent for long is named, since it may be dead. */
static void test_an_idle_stream_is_explained(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
    back.webapi.stream = back.standard_stream;
    (void)refresh_stand_make("g");
    refresh_stand_pass(TR_REFRESH_IDLE_MS + 3000);
    assert_explained_with("job-0", "; its stream has said nothing since 2023-");
    assert_explained_with("job-0", ", though opened anew at 2023-");
    refresh_stand_end();
}

static enum back_fault no_cancel(uint8_t verb, uint32_t nth)
{
    (void)nth;
    return verb == TR_WEBAPI_VERB_CANCEL ? BACK_CONFLICT : BACK_FINE;
}

static enum back_fault busy_cancel(uint8_t verb, uint32_t nth)
{
    return verb == TR_WEBAPI_VERB_CANCEL && nth < 3 ? BACK_BUSY : BACK_FINE;
}

/* A back end that keeps a job although it is told to end it: people see its words. */
static void test_a_cancel_that_is_refused_is_explained(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
    back.fault = no_cancel;
    uint32_t job = refresh_stand_make("g");
    refresh_stand_pass(200);
    refresh_stand_cancel(job, "g");
    refresh_stand_pass(500);
    assert_explained("job-0", "its job " HANDLE " was not ended, and is asked about at 2023-");
    assert_explained_with("job-0",
                          "; the back end does not end it (409), 1 time so far; it is told "
                          "again after 2023-");
    assert_int_equal(refresh_stand_state()->unended, 1);
    assert_text(tr_array_get(&refresh_stand_state()->refusal),
                "the back end does not end it (409)");
    refresh_stand_crash();
    refresh_stand_pass(2 * (TR_REFRESH_CANCEL_AGAIN_MS + 70000));
    assert_explained_with("job-0", "(409), 3 times so far");
    back.fault = NULL;
    refresh_stand_pass(TR_REFRESH_CANCEL_AGAIN_MS + 140000);
    assert_int_equal(refresh_stand_holder(job)->phase, TR_TASK_PHASE_ABORTED);
    assert_int_equal(refresh_stand_state()->unended, 0);
    assert_int_equal(refresh_stand_state()->refusal.size, 0);
    assert_int_equal(back_live(), 0);
    drop_all();
    assert_empty();
    refresh_stand_end();
}

/* AT11: however often, and whatever its jobs do meanwhile: one call for a group each time. */
static void test_a_refused_group_is_told_again_by_one_call(void **state)
{
    (void)state;
    const uint32_t size = 1000;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
    back.webapi.ends_job_sets = true;
    back.keeps = true;
    for (uint32_t i = 0; i < size; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(2000);
    for (uint32_t i = 0; i < size; i++) {
        refresh_stand_cancel(i, "g");
    }
    refresh_stand_pass(2000);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CANCEL], 1);
    assert_explained_with("job-7", " was not ended, and is asked about at 2023-");
    assert_explained_with("job-7", "; it says why, 1 time so far; it is told again after 2023-");
    assert_int_equal(refresh_stand_state()->unended, size);
    for (uint32_t i = 0; i < size; i += 3) { /* so each is asked about at a time of its own */
        back_phase(i, TR_TASK_PHASE_RUNNING);
        refresh_stand_pass(700);
    }
    refresh_stand_pass(TR_REFRESH_CANCEL_AGAIN_MS);
    assert_explained_with("job-7", "; it says why, 2 times so far; it is told again after 2023-");
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CANCEL], 2);
    back.keeps = false;
    refresh_stand_pass(TR_REFRESH_CANCEL_AGAIN_MS + 70000);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CANCEL], 3);
    assert_int_equal(back_live(), 0);
    refresh_stand_pass(70000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), size);
    assert_int_equal(refresh_stand_state()->unended, 0);
    drop_all();
    assert_empty();
    refresh_stand_end();
}

static void test_a_cancel_that_fails_is_explained(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
    back.fault = busy_cancel;
    uint32_t job = refresh_stand_make("g");
    refresh_stand_pass(200);
    refresh_stand_cancel(job, "g");
    refresh_stand_pass(2000);
    assert_explained("job-0",
                     "its job " HANDLE " is to be ended, and that is tried again at 2023-");
    assert_explained_with("job-0", "; the back end does not end it (503), 2 times so far");
    refresh_stand_pass(20000);
    assert_int_equal(refresh_stand_holder(job)->phase, TR_TASK_PHASE_ABORTED);
    drop_all();
    assert_empty();
    refresh_stand_end();
}

/* 40,960 pages are for ends: a success takes none; others do without where none is left. */
static void end_with_room(uint8_t phase, uint32_t pages)
{
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, false);
    uint32_t job = refresh_stand_make("set");
    refresh_stand_pass(5000);
    assert_int_equal(refresh_stand_holder(job)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    struct tr_refresh_state *state =
        (void *)tri_actor_state(stage_actor(&back.stage, back.refresh));
    uint32_t kept = TRI_REFRESH_BLOB_PAGES - pages;
    state->blobs_kept = kept;
    back_phase_all(phase);
    refresh_stand_pass(120000);
    assert_int_equal(refresh_stand_holder(job)->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_int_equal(refresh_stand_holder(job)->phase, phase);
    assert_int_equal(refresh_stand_holder(job)->ends, 1);
    assert_int_equal(refresh_stand_state()->blobs_kept, kept);
    refresh_stand_end();
}

static void test_ends_without_room_are_told(void **state)
{
    (void)state;
    end_with_room(TR_TASK_PHASE_SUCCESS, 1);
    end_with_room(TR_TASK_PHASE_PERMANENT_FAILURE, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_lives_and_its_task_hears_of_it),
        cmocka_unit_test(test_asking_twice_gives_what_is_known),
        cmocka_unit_test(test_a_rude_handle_does_not_reach_a_terminal),
        cmocka_unit_test(test_five_thousand_jobs_are_25_calls),
        cmocka_unit_test(test_gaps_between_spawns_cost_no_call),
        cmocka_unit_test(test_a_trickle_of_spawns_fills_its_batches),
        cmocka_unit_test(test_few_jobs_leave_soon),
        cmocka_unit_test(test_polls_are_few_and_full),
        cmocka_unit_test(test_only_the_bad_one_of_a_batch_fails),
        cmocka_unit_test(test_a_cancelled_job_is_ended),
        cmocka_unit_test(test_a_job_without_its_task_is_ended),
        cmocka_unit_test(test_a_job_whose_task_cannot_be_reached_goes_on),
        cmocka_unit_test(test_a_name_says_which_back_end_it_is_for),
        cmocka_unit_test(test_a_whole_group_is_ended_in_one_call),
        cmocka_unit_test(test_failures_are_explained_before_they_are_told),
        cmocka_unit_test(test_what_is_too_large_is_refused),
        cmocka_unit_test(test_an_idle_actor_records_nothing),
        cmocka_unit_test(test_a_cancel_that_is_refused_is_explained),
        cmocka_unit_test(test_a_refused_group_is_told_again_by_one_call),
        cmocka_unit_test(test_a_cancel_that_fails_is_explained),
        cmocka_unit_test(test_each_job_says_what_it_waits_for),
        cmocka_unit_test(test_what_is_wrong_with_a_back_end_is_said),
        cmocka_unit_test(test_an_idle_stream_is_explained),
        cmocka_unit_test(test_ends_without_room_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
