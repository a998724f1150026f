/*
 * Functions that other threads hand over: each runs once, on the engine's thread, in the order of
 * the calls; and none when the engine leaves.
 */
#include "deploy/engine/calls.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "deploy/engine/assemble.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

#define THREADS 4
#define CALLS 200

struct calling {
    struct tr_live *live;
    pthread_t thread;
    int ran;   /* on the engine's thread */
    int wrong; /* on another */
    int errors[CALLS];
};

static pthread_t engine;

static void run(struct tr_live *live, void *self)
{
    struct calling *calling = self;
    assert_ptr_equal(live, calling->live);
    calling->ran += pthread_equal(pthread_self(), engine) != 0 ? 1 : 0;
    calling->wrong += pthread_equal(pthread_self(), engine) != 0 ? 0 : 1;
}

static void *call(void *argument)
{
    struct calling *calling = argument;
    for (int i = 0; i < CALLS; i++) {
        calling->errors[i] = tr_live_call(calling->live, run, calling);
    }
    return NULL;
}

static void start(struct tr_live *live, struct calling callings[THREADS])
{
    memset(callings, 0, THREADS * sizeof *callings);
    engine = pthread_self();
    for (int i = 0; i < THREADS; i++) {
        callings[i].live = live;
        assert_int_equal(pthread_create(&callings[i].thread, NULL, call, &callings[i]), 0);
    }
}

static int total(const struct calling callings[THREADS])
{
    int sum = 0;
    for (int i = 0; i < THREADS; i++) {
        sum += callings[i].ran;
    }
    return sum;
}

static void each_runs_once_on_the_engines_thread(void **state)
{
    struct tr_live live = {.calls = NULL};
    struct calling callings[THREADS];
    (void)state;
    assert_int_equal(tr_live_calls_new(&live.calls), 0);
    struct pollfd event = {.fd = tr_live_calls_descriptor(live.calls), .events = POLLIN};
    assert_int_equal(poll(&event, 1, 0), 0);
    start(&live, callings);
    while (total(callings) < THREADS * CALLS) {
        assert_int_equal(poll(&event, 1, 10000), 1);
        tr_live_calls_run(live.calls, &live);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(callings[i].thread, NULL), 0);
        assert_int_equal(callings[i].wrong, 0);
        for (int j = 0; j < CALLS; j++) {
            assert_int_equal(callings[i].errors[j], 0);
        }
    }
    tr_live_calls_close(live.calls);
    tr_live_calls_free(live.calls);
}

/* Those that wait are told, and so are those that come later: nobody waits for ever. */
static void none_runs_when_the_engine_leaves(void **state)
{
    struct tr_live live = {.calls = NULL};
    struct calling callings[THREADS];
    (void)state;
    assert_int_equal(tr_live_calls_new(&live.calls), 0);
    struct pollfd event = {.fd = tr_live_calls_descriptor(live.calls), .events = POLLIN};
    start(&live, callings);
    assert_int_equal(poll(&event, 1, 10000), 1);
    tr_live_calls_close(live.calls);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(callings[i].thread, NULL), 0);
        for (int j = 0; j < CALLS; j++) {
            assert_int_equal(callings[i].errors[j], TR_CLOSED);
        }
    }
    assert_int_equal(total(callings), 0);
    tr_live_calls_free(live.calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_runs_once_on_the_engines_thread),
        cmocka_unit_test(none_runs_when_the_engine_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
