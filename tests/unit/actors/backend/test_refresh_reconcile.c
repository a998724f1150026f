/*
 * Calls of unknown end: by the idempotency level of the plugin no job is doubled or lost, or the
 * policy decides and says so.
 */
#include <stdio.h>
#include <string.h>

#include "tests/unit/actors/refresh_stand.h"

static const enum back_fault unsure[] = {BACK_LOST, BACK_LOST_AFTER, BACK_BUSY, BACK_BUSY_AFTER,
                                         BACK_NONSENSE};

/* AT9: exact and reconcilable back ends make each job once, whatever became of the call. */
static void test_idempotent_back_ends_make_each_job_once(void **state)
{
    (void)state;
    for (uint8_t idempotency = TR_WEBAPI_IDEMPOTENCY_RECONCILABLE;
         idempotency <= TR_WEBAPI_IDEMPOTENCY_EXACT; idempotency++) {
        for (size_t f = 0; f < TR_COUNT_OF(unsure); f++) {
            refresh_stand_begin_with(idempotency, unsure[f]);
            back.visible_ms = 2000;
            for (uint32_t i = 0; i < 250; i++) {
                (void)refresh_stand_make("g");
            }
            refresh_stand_pass(15000);
            assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 250);
            assert_int_equal(back.job_count, 250);
            assert_int_equal(refresh_stand_holder(0)->unknown_outcomes, 1);
            assert_int_equal(refresh_stand_state()->duplicates, 0);
            refresh_stand_end();
        }
    }
}

static void test_what_was_certainly_not_made_is_known(void **state)
{
    (void)state;
    static const enum back_fault certain[] = {BACK_CONNECT, BACK_THROTTLE, BACK_DENY};
    for (uint8_t idempotency = TR_WEBAPI_IDEMPOTENCY_NONE;
         idempotency <= TR_WEBAPI_IDEMPOTENCY_EXACT; idempotency++) {
        for (size_t f = 0; f < TR_COUNT_OF(certain); f++) {
            refresh_stand_begin_with(idempotency, certain[f]);
            (void)refresh_stand_make("g");
            refresh_stand_pass(3000);
            assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
            assert_int_equal(refresh_stand_holder(0)->unknown_outcomes, 0);
            assert_int_equal(back.job_count, 1);
            refresh_stand_end();
        }
    }
}

/* By tag: found, or left to the policy. None: the policy, at once. */
static void test_others_leave_it_to_the_policy(void **state)
{
    (void)state;
    static const struct {
        uint8_t idempotency;
        uint8_t policy;
        enum back_fault fault;
        uint8_t stage;
        uint32_t made;
    } cases[] = {
        {TR_WEBAPI_IDEMPOTENCY_TAG, TR_WEBAPI_POLICY_FAIL, BACK_LOST_AFTER,
         TR_WEBAPI_STAGE_SUBMITTED, 1},
        {TR_WEBAPI_IDEMPOTENCY_TAG, TR_WEBAPI_POLICY_FAIL, BACK_LOST, TR_WEBAPI_STAGE_TERMINAL, 0},
        {TR_WEBAPI_IDEMPOTENCY_TAG, TR_WEBAPI_POLICY_REPEAT, BACK_LOST, TR_WEBAPI_STAGE_SUBMITTED,
         1},
        {TR_WEBAPI_IDEMPOTENCY_NONE, TR_WEBAPI_POLICY_FAIL, BACK_LOST_AFTER,
         TR_WEBAPI_STAGE_TERMINAL, 1},
        {TR_WEBAPI_IDEMPOTENCY_NONE, TR_WEBAPI_POLICY_REPEAT, BACK_LOST_AFTER,
         TR_WEBAPI_STAGE_SUBMITTED, 2},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        refresh_stand_begin_with(cases[i].idempotency, cases[i].fault);
        (void)refresh_stand_make_as(&(struct tr_holder_do){
            .act = HOLDER_MAKE, .group = tr_text_of("g"), .policy = cases[i].policy});
        refresh_stand_pass(12000);
        const struct tr_holder *holder = refresh_stand_holder(0);
        assert_int_equal(holder->stage, cases[i].stage);
        assert_int_equal(back.job_count, cases[i].made);
        bool has_failed = cases[i].stage == TR_WEBAPI_STAGE_TERMINAL;
        assert_int_equal(holder->is_unknown,
                         has_failed || cases[i].policy == TR_WEBAPI_POLICY_REPEAT);
        if (has_failed) {
            assert_true(tr_text_equal(tr_array_get(&holder->code), tr_text_of("OutcomeUnknown")));
            assert_int_equal(holder->phase, TR_TASK_PHASE_PERMANENT_FAILURE);
        }
        refresh_stand_end();
    }
}

/* A stream names what was made, so nobody is asked; what it has not shown is asked for, once. */
static void test_a_stream_is_heard_before_anybody_is_asked(void **state)
{
    (void)state;
    for (int was_made = 0; was_made < 2; was_made++) {
        refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE,
                                 was_made != 0 ? BACK_LOST_AFTER : BACK_LOST);
        refresh_stand_give_stream();
        back.webapi.find.items_max = 1;
        back.event_ms = 1000;
        for (uint32_t i = 0; i < 40; i++) {
            (void)refresh_stand_make("g");
        }
        refresh_stand_pass(back.webapi.lag_ms - 1000);
        refresh_stand_crash();
        assert_int_equal(back.calls[TR_WEBAPI_VERB_FIND], 0);
        refresh_stand_pass(10000);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 40);
        assert_int_equal(back.job_count, 40);
        /* The restart has begun the lag anew, so those may be asked for once more. */
        assert_in_range(back.calls[TR_WEBAPI_VERB_FIND], was_made != 0 ? 0 : 40,
                        was_made != 0 ? 0 : 80);
        assert_in_range(back.calls[TR_WEBAPI_VERB_CREATE], 1, was_made != 0 ? 1 : 3);
        assert_int_equal(refresh_stand_holder(0)->unknown_outcomes, 1);
        refresh_stand_end();
    }
}

static enum back_fault creates_in_trouble(uint8_t verb, uint32_t nth)
{
    return verb == TR_WEBAPI_VERB_CREATE && nth < 5 ? back.first_create : BACK_FINE;
}

/*
 * AT10: a thousand unknown outcomes of one group are one question, for what its stream has shown so
 * far; where the answer is of no use each is asked for.
 */
static void test_unknown_outcomes_of_a_group_are_asked_for_together(void **state)
{
    (void)state;
    static const struct {
        enum back_fault fault;
        bool is_useless;
        bool crashes;
    } cases[] = {{BACK_LOST, false, false},
                 {BACK_LOST, false, true},
                 {BACK_LOST_AFTER, false, false},
                 {BACK_LOST, true, false},
                 {BACK_LOST_AFTER, true, false}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, cases[i].fault);
        back.webapi.stream = back.standard_stream;
        back.webapi.find.items_max = 1;
        back.fault = creates_in_trouble;
        back.is_backlog_useless = cases[i].is_useless;
        back.event_ms = 3900; /* of a lag of 4000 */
        back.hangs = true;    /* and the stream is dead */
        for (uint32_t k = 0; k < 1000; k++) {
            (void)refresh_stand_make("g");
        }
        refresh_stand_pass(1000);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_UNKNOWN), 1000);
        if (cases[i].crashes) {
            refresh_stand_crash();
        }
        refresh_stand_pass(20000);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 1000);
        assert_int_equal(back.job_count, 1000);
        assert_int_equal(refresh_stand_state()->duplicates, 0);
        assert_in_range(back.backlogs, 1, 3);
        assert_in_range(back.calls[TR_WEBAPI_VERB_FIND] - back.backlogs,
                        cases[i].is_useless ? 1000 : 0, cases[i].is_useless ? 1001 : 0);
        refresh_stand_end();
    }
}

/*
 * AT10: what was of unknown outcome once, and has ended, is looked for until its group is over; but
 * not all the time: not at all where a stream shows what turns up, else once meanwhile and once in
 * the end.
 */
static void test_old_unknown_outcomes_are_asked_for_seldom(void **state)
{
    (void)state;
    for (int has_stream = 0; has_stream < 2; has_stream++) {
        refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST_AFTER);
        back.webapi.stream = has_stream != 0 ? back.standard_stream : back.webapi.stream;
        back.webapi.find.items_max = 1;
        back.fault = creates_in_trouble;
        for (uint32_t k = 0; k < 1000; k++) {
            (void)refresh_stand_make("g");
        }
        refresh_stand_pass(20000);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 1000);
        for (uint32_t k = 1; k < 1000; k++) { /* one goes on */
            back_phase(k, TR_TASK_PHASE_SUCCESS);
        }
        refresh_stand_pass(70000);
        for (uint32_t k = 1; k < 1000; k++) {
            refresh_stand_drop(k);
        }
        uint32_t before = back.calls[TR_WEBAPI_VERB_FIND];
        assert_in_range(before, 0, has_stream != 0 ? 3 : 2000);
        refresh_stand_pass(600000);
        assert_in_range(back.calls[TR_WEBAPI_VERB_FIND] - before, 0, has_stream != 0 ? 0 : 1000);
        assert_int_equal(refresh_stand_state()->jobs, 1000);
        back_phase(0, TR_TASK_PHASE_SUCCESS);
        refresh_stand_pass(70000);
        refresh_stand_drop(0);
        refresh_stand_pass(60000);
        assert_in_range(back.calls[TR_WEBAPI_VERB_FIND] - before, 1, has_stream != 0 ? 3 : 2000);
        assert_int_equal(refresh_stand_state()->jobs, 0);
        refresh_stand_end();
    }
}

/*
 * A line that nobody could read may have been about any job: those of unknown outcome are asked
 * for.
 */
static void test_what_a_malformed_stream_tells_decides_nothing(void **state)
{
    (void)state;
    refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST_AFTER);
    back.webapi.stream = back.standard_stream;
    back.webapi.find.items_max = 1;
    back.event_ms = 1000;
    for (uint32_t i = 0; i < 10; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(500);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_UNKNOWN), 10);
    back.mumbles = 10;
    refresh_stand_pass(1500);
    assert_int_equal(back.mumbles, 0);
    (void)refresh_stand_make("g"); /* whose line has the place behind them all */
    refresh_stand_pass(20000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 11);
    assert_int_equal(back.job_count, 11);
    refresh_stand_end();
}

/* What its task lost from sight may have been shown before: the stream's past decides nothing. */
static void test_one_that_was_not_known_here_is_asked_for_by_itself(void **state)
{
    (void)state;
    refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_FINE);
    back.webapi.stream = back.standard_stream;
    back.webapi.find.items_max = 1;
    for (int i = 0; i < 3; i++) {
        (void)refresh_stand_make_as(&(struct tr_holder_do){
            .act = HOLDER_MAKE, .group = tr_text_of("g"), .is_doubtful = true});
    }
    refresh_stand_pass(10000);
    assert_int_equal(back.backlogs, 0);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_FIND], 3);
    assert_int_equal(back.job_count, 3);
    refresh_stand_end();
}

/* Where streams alone could show it, and the settings want none, the policy decides. */
static void test_who_cannot_look_asks_the_policy(void **state)
{
    (void)state;
    refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST_AFTER);
    refresh_stand_give_stream();
    back.webapi.find.items_max = 0;
    back.place.endpoint.streams_max = TR_WEBAPI_NO_STREAMS;
    (void)refresh_stand_make("g");
    refresh_stand_pass(1000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_true(refresh_stand_holder(0)->is_unknown);
    refresh_stand_end();
}

static enum back_fault second_create_is_lost(uint8_t verb, uint32_t nth)
{
    return verb == TR_WEBAPI_VERB_CREATE && nth == 1 ? BACK_LOST : BACK_FINE;
}

/*
 * Where a stream loses its place during an unknown outcome something may be missing: each is asked
 * for.
 */
static void test_a_stream_that_lost_its_place_proves_nothing(void **state)
{
    (void)state;
    for (int is_trimmed = 0; is_trimmed < 2; is_trimmed++) {
        refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_FINE);
        back.webapi.stream = back.standard_stream;
        back.webapi.find.items_max = 1;
        back.fault = second_create_is_lost;
        (void)refresh_stand_make("g");
        refresh_stand_pass(2000);
        for (int i = 0; i < 3; i++) {
            (void)refresh_stand_make("g");
        }
        refresh_stand_pass(1000);
        back.refuses_places = is_trimmed != 0 ? 404 : 0;
        refresh_stand_crash();
        refresh_stand_pass(15000);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 4);
        assert_int_equal(back.job_count, 4);
        assert_int_equal(back.backlogs, 1 - is_trimmed);
        /* The restart has begun the lag anew, so each may be asked for once more. */
        assert_in_range(back.calls[TR_WEBAPI_VERB_FIND], is_trimmed != 0 ? 3 : 1,
                        is_trimmed != 0 ? 6 : 1);
        refresh_stand_end();
    }
}

/* A machine that stood still: the timer rings first, and the stream has told it all meanwhile. */
static void test_an_actor_that_is_late_listens_first(void **state)
{
    (void)state;
    refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST_AFTER);
    back.webapi.stream = back.standard_stream;
    back.webapi.find.items_max = 0;
    back.webapi.create.items_max = 1; /* what is to be made is at once */
    back.event_ms = 1000;
    (void)refresh_stand_make("g");
    refresh_stand_pass(500);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_UNKNOWN);
    back.stage.now_ns += 8000ULL * 1000000;
    back.stage.wall_ms += 8000;
    stage_run(&back.stage); /* and only then the back end is heard */
    refresh_stand_pass(15000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    assert_int_equal(back.job_count, 1);
    refresh_stand_end();
}

/*
 * While the store cannot commit no stream leaves. However long it takes, its silence proves
 * nothing: the time of listening begins when the stream leaves.
 */
static void test_a_stream_that_has_not_left_proves_nothing(void **state)
{
    (void)state;
    refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST_AFTER);
    back.webapi.stream = back.standard_stream;
    back.webapi.find.items_max = 0;
    back.event_ms = 1000;
    back.holds_streams = true;
    (void)refresh_stand_make("g");
    refresh_stand_pass(500);
    refresh_stand_pass(5 * back.webapi.lag_ms);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_UNKNOWN);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 1);
    back.holds_streams = false;
    refresh_stand_pass(15000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    assert_int_equal(back.job_count, 1);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 1);
    refresh_stand_end();
}

/*
 * While jobs wait to be made, looking for those of unknown outcome takes its share of the rate
 * only.
 */
static void test_reconciliation_leaves_the_rate_to_others(void **state)
{
    (void)state;
    refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST_AFTER);
    back.webapi.find.items_max = 1;
    back.place.endpoint.calls_per_second = 20;
    for (uint32_t i = 0; i < 150; i++) {
        (void)refresh_stand_make("unknown");
    }
    refresh_stand_pass(300);
    for (uint32_t i = 0; i < 150; i++) {
        char group[16];
        (void)snprintf(group, sizeof group, "g%u", i);
        (void)refresh_stand_make(group);
    }
    refresh_stand_pass(250); /* they are ready */
    uint32_t creates = back.calls[TR_WEBAPI_VERB_CREATE];
    uint32_t finds = back.calls[TR_WEBAPI_VERB_FIND];
    refresh_stand_pass(4000);
    creates = back.calls[TR_WEBAPI_VERB_CREATE] - creates;
    finds = back.calls[TR_WEBAPI_VERB_FIND] - finds;
    assert_in_range(creates, 55, 80);
    assert_in_range(finds, 1, creates / (TR_REFRESH_FIND_SHARE - 1) + 1);
    refresh_stand_pass(60000); /* then it has all of it, and comes to an end */
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 300);
    assert_int_equal(back.job_count, 300);
    refresh_stand_end();
}

/*
 * AT11: an abort while it is of unknown outcome; what turns up is ended, before and after it was
 * told.
 */
static void test_an_abort_in_doubt_leaves_nothing(void **state)
{
    (void)state;
    static const uint32_t visible[] = {500, 3000, 5500};
    for (size_t i = 0; i < TR_COUNT_OF(visible); i++) {
        for (int crashes = 0; crashes < 2; crashes++) {
            refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST_AFTER);
            back.visible_ms = visible[i];
            (void)refresh_stand_make("g");
            refresh_stand_pass(100);
            assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_UNKNOWN);
            refresh_stand_cancel(0, "g");
            if (crashes != 0) {
                refresh_stand_crash();
            }
            refresh_stand_pass(6000);
            refresh_stand_pass(6000);
            assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
            refresh_stand_drop(0);
            refresh_stand_pass(40000);
            assert_int_equal(back_live(), 0);
            assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 1);
            assert_int_equal(refresh_stand_state()->jobs, 0);
            refresh_stand_end();
        }
    }
}

static void test_a_job_of_unknown_outcome_is_looked_for_first(void **state)
{
    (void)state;
    for (int is_there = 0; is_there < 2; is_there++) {
        refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_FINE);
        struct tr_holder_do act = {
            .act = HOLDER_MAKE, .group = tr_text_of("g"), .is_doubtful = is_there == 0};
        (void)refresh_stand_make_as(&act);
        if (is_there != 0) { /* what a state that was lost had begun */
            refresh_stand_pass(100);
            refresh_stand_drop(0);
            refresh_stand_pass(0);
        }
        refresh_stand_pass(3000);
        assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], (uint32_t)is_there);
        refresh_stand_pass(3000);
        assert_int_equal(back.job_count, 1);
        refresh_stand_end();
    }
}

/* Wherever its job stands, a task that goes on in another store leaves it alone, and ends here. */
static void test_a_job_that_has_left_is_let_be(void **state)
{
    (void)state;
    static const struct {
        enum back_fault fault;
        uint32_t latency_ms;
        uint64_t wait_ms;
    } cases[] = {
        {BACK_FINE, 0, 500}, {BACK_FINE, 2000, 500}, {BACK_LOST_AFTER, 0, 500}, {BACK_FINE, 0, 0}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, cases[i].fault);
        back.latency_ms = cases[i].latency_ms;
        (void)refresh_stand_make("g");
        refresh_stand_pass(cases[i].wait_ms);
        refresh_stand_crash(); /* no engine lives while it leaves */
        refresh_stand_leave(0);
        refresh_stand_stop(0);
        refresh_stand_pass(60000);
        assert_int_equal(back_live(), cases[i].wait_ms > 0 ? 1 : 0);
        assert_int_equal(back.calls[TR_WEBAPI_VERB_CANCEL], 0);
        assert_int_equal(refresh_stand_state()->jobs, 0);
        refresh_stand_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idempotent_back_ends_make_each_job_once),
        cmocka_unit_test(test_what_was_certainly_not_made_is_known),
        cmocka_unit_test(test_others_leave_it_to_the_policy),
        cmocka_unit_test(test_a_stream_is_heard_before_anybody_is_asked),
        cmocka_unit_test(test_unknown_outcomes_of_a_group_are_asked_for_together),
        cmocka_unit_test(test_old_unknown_outcomes_are_asked_for_seldom),
        cmocka_unit_test(test_what_a_malformed_stream_tells_decides_nothing),
        cmocka_unit_test(test_one_that_was_not_known_here_is_asked_for_by_itself),
        cmocka_unit_test(test_who_cannot_look_asks_the_policy),
        cmocka_unit_test(test_a_stream_that_lost_its_place_proves_nothing),
        cmocka_unit_test(test_an_actor_that_is_late_listens_first),
        cmocka_unit_test(test_a_stream_that_has_not_left_proves_nothing),
        cmocka_unit_test(test_reconciliation_leaves_the_rate_to_others),
        cmocka_unit_test(test_an_abort_in_doubt_leaves_nothing),
        cmocka_unit_test(test_a_job_of_unknown_outcome_is_looked_for_first),
        cmocka_unit_test(test_a_job_that_has_left_is_let_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
