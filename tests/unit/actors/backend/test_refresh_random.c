/*
 * Each job is made once wherever the engine dies, whatever fails, and when memory ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "tests/support/draw.h"
#include "tests/unit/actors/refresh_stand.h"

/* AT4 in small: the engine dies after so many turns, in each idempotency level that is sure. */
static void test_a_crash_anywhere_makes_each_job_once(void **state)
{
    (void)state;
    for (uint8_t idempotency = TR_WEBAPI_IDEMPOTENCY_RECONCILABLE;
         idempotency <= TR_WEBAPI_IDEMPOTENCY_EXACT; idempotency++) {
        for (uint32_t turns = 0; turns < 90; turns++) {
            refresh_stand_begin(idempotency, true);
            back.visible_ms = 100;
            for (uint32_t i = 0; i < 3; i++) {
                (void)refresh_stand_make("g");
            }
            for (uint32_t i = 0; i < turns; i++) {
                if (!stage_step(&back.stage)) {
                    stage_advance(&back.stage, 1);
                }
                refresh_stand_serve();
            }
            refresh_stand_crash();
            refresh_stand_pass(8000);
            for (uint32_t i = 0; i < 3; i++) { /* a task asks again, as after any crash */
                refresh_stand_tell(
                    i, &(struct tr_holder_do){.act = HOLDER_MAKE, .group = tr_text_of("g")});
            }
            refresh_stand_pass(100);
            assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 3);
            assert_int_equal(back.job_count, 3);
            back_phase_all(TR_TASK_PHASE_SUCCESS);
            refresh_stand_pass(25000);
            assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 3);
            refresh_stand_end();
        }
    }
}

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

/* Whatever fails and whenever the engine dies: once each, and nothing is left when all is over. */
static void play(uint64_t seed)
{
    drawn = (struct draw){.state = seed};
    uint8_t idempotency = draw_below(&drawn, 2) == 0 ? TR_WEBAPI_IDEMPOTENCY_EXACT
                                                     : TR_WEBAPI_IDEMPOTENCY_RECONCILABLE;
    refresh_stand_begin(idempotency, true);
    back.fault = drawn_fault;
    back.visible_ms = (uint32_t)draw_below(&drawn, 3000);
    back.event_ms = (uint32_t)draw_below(&drawn, 3000);
    back.latency_ms = (uint32_t)draw_below(&drawn, 200);
    back.webapi.create.items_max = 1 + (uint32_t)draw_below(&drawn, 5);
    back.webapi.ends_job_sets = draw_below(&drawn, 2) == 0;
    back.webapi.stream.write = draw_below(&drawn, 2) == 0 ? back.standard_stream.write : NULL;
    back.webapi.find.items_max = draw_below(&drawn, 2) == 0 ? 1 : 100;
    back.place.endpoint.timeout_ms = 3000;
    static const char *const groups[] = {"a", "b", "c"};
    bool is_cancelled[40] = {0};
    uint32_t count = 0;
    for (int i = 0; i < 60; i++) {
        size_t what = draw_below(&drawn, 10);
        if (what < 5 && count < TR_COUNT_OF(is_cancelled)) {
            (void)refresh_stand_make(groups[count++ % 3]);
        } else if (what < 7 && count > 0) {
            uint32_t number = (uint32_t)draw_below(&drawn, count);
            refresh_stand_cancel(number, groups[number % 3]);
            is_cancelled[number] = true;
        } else if (what == 7) {
            refresh_stand_pass(draw_below(&drawn, 3000));
            refresh_stand_crash();
        } else {
            back.hangs = draw_below(&drawn, 4) == 0;
            refresh_stand_pass(draw_below(&drawn, 600));
        }
    }
    back.hangs = false;
    back.fault = NULL;
    refresh_stand_pass(150000);
    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "job-%u", i);
        const struct tr_holder *holder = refresh_stand_holder(i);
        assert_int_equal(holder->stage,
                         is_cancelled[i] ? TR_WEBAPI_STAGE_TERMINAL : TR_WEBAPI_STAGE_SUBMITTED);
        assert_true(is_cancelled[i] ? back_made(name) <= 1 : back_made(name) == 1);
    }
    assert_int_equal(refresh_stand_state()->duplicates, 0);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(150000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(refresh_stand_holder(i)->ends, 1);
        refresh_stand_drop(i);
    }
    refresh_stand_pass(20000 + TR_REFRESH_REST_MS);
    assert_int_equal(back.repeated, 0);
    assert_int_equal(refresh_stand_state()->jobs, 0);
    assert_int_equal(refresh_stand_state()->streams, 0);
    refresh_stand_end();
}

static void test_whatever_fails_each_job_is_made_once(void **state)
{
    (void)state;
    const char *wanted = getenv("TROUPE_TEST_SEED");
    uint64_t from = wanted == NULL ? 1 : strtoull(wanted, NULL, 10);
    uint64_t to = wanted == NULL ? getenv("TROUPE_TEST_LONG") != NULL ? 400 : 12 : from;
    for (uint64_t seed = from; seed <= to; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        play(seed);
    }
}

/* One allocation of the actor's handlers fails, the one after so many others. */
static uint64_t allocations_left;
static bool has_failed;

static bool allow(void *self, size_t size)
{
    (void)self;
    (void)size;
    bool fails = !has_failed && allocations_left-- == 0;
    has_failed |= fails;
    return !fails;
}

static int handle_without_memory(struct tr_context *context, void *state,
                                 const struct tr_message *message)
{
    tr_memory_hook_set(allow, NULL);
    int error = tr_refresh_behaviour.handle(context, state, message);
    tr_memory_hook_set(NULL, NULL);
    return error;
}

static void run_without_memory(uint64_t count, bool is_durable)
{
    allocations_left = count;
    has_failed = false;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, is_durable);
    back.webapi.stream = back.standard_stream;
    back.webapi.create.items_max = 2;
    for (int i = 0; i < 5; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(250);
    refresh_stand_cancel(4, "g");
    refresh_stand_pass(50);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(250);
    assert_int_equal(back.job_count, 5);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(refresh_stand_holder(i)->ends, 1);
        refresh_stand_drop(i);
    }
    refresh_stand_pass(50);
    assert_int_equal(refresh_stand_state()->jobs, 0);
    assert_int_equal(refresh_stand_state()->unknown_outcomes, 0);
    refresh_stand_end();
}

/* The handler in hand is run again, and what was asked for is asked for once. */
static void test_memory_that_ends_for_a_moment_changes_nothing(void **state)
{
    (void)state;
    struct tr_behaviour wrapper = tr_refresh_behaviour;
    wrapper.handle = handle_without_memory;
    refresh_stand_behaviour = &wrapper;
    uint64_t count = 0;
    do {
        run_without_memory(count, count % 2 == 0);
        count++;
        assert_true(count < 10000);
    } while (has_failed);
    assert_true(count > 50);
    print_message("%llu allocations\n", (unsigned long long)count);
    refresh_stand_behaviour = &tr_refresh_behaviour;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crash_anywhere_makes_each_job_once),
        cmocka_unit_test(test_whatever_fails_each_job_is_made_once),
        cmocka_unit_test(test_memory_that_ends_for_a_moment_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
