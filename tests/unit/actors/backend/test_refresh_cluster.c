/*
 * A modelled cluster: names that are free again when their job is gone, lists and watches that
 * break off, hang, are late and forget, answers that are lost, doubled or late, people who delete
 * jobs, and an engine that dies. Whatever happens, each job is made once, and none is left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/draw.h"
#include "tests/unit/actors/refresh_stand.h"

#define JOBS 40
#define STEPS 70
#define QUIET_MS 150000 /* longer than any silence and any wait */

static struct draw drawn;

static enum back_fault drawn_fault(uint8_t verb, uint32_t nth)
{
    (void)verb;
    (void)nth;
    static const enum back_fault all[] = {BACK_LOST,       BACK_LOST_AFTER, BACK_BUSY,
                                          BACK_BUSY_AFTER, BACK_NONSENSE,   BACK_CONNECT,
                                          BACK_THROTTLE,   BACK_SILENT};
    return draw_below(&drawn, 4) != 0 ? BACK_FINE : all[draw_below(&drawn, TR_COUNT_OF(all))];
}

/* A page that is refused, while another list ends: nobody is missing in half a list. */
#define SEED_OF_HALF_A_LIST 90

/* What the holders of jobs have been through. */
struct play {
    uint32_t count;
    bool is_cancelled[JOBS];
    bool is_deleted[JOBS]; /* by somebody else */
    bool has_crashed;
};

static void begin(void)
{
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, true);
    bool has_begins = draw_below(&drawn, 2) == 0;
    has_begins ? refresh_stand_give_begin() : refresh_stand_give_watch();
    back.refuses_begins = draw_below(&drawn, 3) == 0 ? 422 : 0;
    back.fault = drawn_fault;
    back.frees_names = true;
    back.doubles_events = draw_below(&drawn, 3) == 0;
    back.event_ms = (uint32_t)draw_below(&drawn, 1000);
    back.latency_ms = (uint32_t)draw_below(&drawn, 200);
    back.page_items = 1 + (uint32_t)draw_below(&drawn, 10);
    back.webapi.create.items_max = 1;
    back.place.endpoint.timeout_ms = 3000;
}

static struct back_job *job_of(uint32_t holder)
{
    char name[32];
    (void)snprintf(name, sizeof name, "job-%u", holder);
    for (uint32_t i = 0; i < back.job_count; i++) {
        if (strcmp(back.jobs[i].identity, name) == 0) {
            return &back.jobs[i];
        }
    }
    return NULL;
}

/*
 * Somebody deletes one. Of what the engine has not heard of yet it may never hear, where a watch
 * breaks off as well: then it is asked for again, as a request is whose answer is lost.
 */
static void delete_one(struct play *play)
{
    uint32_t number = (uint32_t)draw_below(&drawn, play->count);
    struct back_job *job = job_of(number);
    bool is_known = refresh_stand_holder(number)->stage == TR_WEBAPI_STAGE_SUBMITTED;
    if (job == NULL || job->is_removed || tr_phase_is_end(TR_SUBJECT_TASK, job->phase) ||
        !is_known) {
        return;
    }
    play->is_deleted[number] = true;
    job->is_removed = true;
    back_phase((uint32_t)(job - back.jobs), TR_TASK_PHASE_RETRYABLE_FAILURE);
}

/* The history so far is forgotten, and what happened in it nobody is told of. */
static void forget(struct play *play)
{
    back_end_streams(draw_below(&drawn, 2) == 0);
    for (uint32_t i = 0; i < 3; i++) {
        delete_one(play);
    }
    back.forgotten = back.event_count;
}

static void break_something(void)
{
    switch (draw_below(&drawn, 6)) {
    case 0:
        back_end_streams(draw_below(&drawn, 2) == 0);
        break;
    case 1:
        back.says_anew = true;
        break;
    case 2:
        back.mumbles = 1;
        break;
    case 3:
        back.forgets_pages = 1;
        break;
    case 4:
        back.cuts_begins = 1;
        break;
    default:
        back.hangs = draw_below(&drawn, 2) == 0;
    }
    refresh_stand_pass(draw_below(&drawn, 600));
}

static void step(struct play *play)
{
    static const char *const groups[] = {"a.1", "a.2", "b.1"};
    size_t what = draw_below(&drawn, 14);
    uint32_t number = play->count > 0 ? (uint32_t)draw_below(&drawn, play->count) : 0;
    if (what < 6 && play->count < JOBS) {
        (void)refresh_stand_make(groups[play->count++ % 3]);
    } else if (play->count == 0) {
        refresh_stand_pass(1);
    } else if (what < 8) {
        refresh_stand_cancel(number, groups[number % 3]);
        play->is_cancelled[number] = true;
    } else if (what == 8) {
        delete_one(play);
    } else if (what == 9) {
        forget(play);
    } else if (what == 10) {
        refresh_stand_pass(draw_below(&drawn, 3000));
        refresh_stand_crash();
        play->has_crashed = true;
    } else {
        break_something();
    }
}

/*
 * What was asked for in an earlier life, and is in no list, may have run and been removed: it ends
 * as that, and is not made a second time.
 */
static bool is_unsure(const struct play *play, const struct tr_holder *holder)
{
    return play->has_crashed && holder->stage == TR_WEBAPI_STAGE_TERMINAL &&
           tr_text_equal(tr_array_get(&holder->code), tr_text_of("ResourceDeletedExternally"));
}

static void require_once(const struct play *play)
{
    for (uint32_t i = 0; i < play->count; i++) {
        char name[32];
        const struct tr_holder *holder = refresh_stand_holder(i);
        bool is_over = play->is_cancelled[i] || play->is_deleted[i] || is_unsure(play, holder);
        if (is_over != (holder->stage == TR_WEBAPI_STAGE_TERMINAL)) {
            print_error("job-%u: cancelled %d, deleted %d, stage %u, code %s\n", i,
                        play->is_cancelled[i], play->is_deleted[i], holder->stage,
                        holder->code.data);
        }
        (void)snprintf(name, sizeof name, "job-%u", i);
        assert_int_equal(holder->stage,
                         is_over ? TR_WEBAPI_STAGE_TERMINAL : TR_WEBAPI_STAGE_SUBMITTED);
        assert_true(is_over ? back_made(name) <= 1 : back_made(name) == 1);
    }
    assert_int_equal(refresh_stand_state()->duplicates, 0);
}

static void require_none_left(const struct play *play)
{
    for (uint32_t i = 0; i < play->count; i++) {
        assert_int_equal(refresh_stand_holder(i)->stage, TR_WEBAPI_STAGE_TERMINAL);
        assert_int_equal(refresh_stand_holder(i)->ends, 1);
        refresh_stand_drop(i);
    }
    refresh_stand_pass(20000 + TR_REFRESH_REST_MS);
    for (uint32_t i = 0; i < back.job_count; i++) {
        assert_true(back.jobs[i].is_removed);
    }
    assert_int_equal(refresh_stand_state()->jobs, 0);
    assert_int_equal(refresh_stand_state()->streams, 0);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_FIND], 0);
}

static void run(uint64_t seed)
{
    struct play play = {0};
    drawn = (struct draw){.state = seed};
    begin();
    for (int i = 0; i < STEPS; i++) {
        step(&play);
    }
    back.hangs = false;
    back.fault = NULL;
    refresh_stand_pass(QUIET_MS);
    require_once(&play);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(QUIET_MS);
    require_none_left(&play);
    refresh_stand_end();
}

static void test_each_is_made_once_and_none_is_left(void **state)
{
    (void)state;
    const char *wanted = getenv("TROUPE_TEST_SEED");
    uint64_t from = wanted == NULL ? 1 : strtoull(wanted, NULL, 10);
    uint64_t to = wanted == NULL ? getenv("TROUPE_TEST_LONG") != NULL ? 400 : 12 : from;
    for (uint64_t seed = from; seed <= to; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        run(seed);
    }
    run(SEED_OF_HALF_A_LIST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_made_once_and_none_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
