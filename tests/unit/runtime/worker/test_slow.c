/*
 * Slow handlers: each is counted and recorded, none is told to people; in a crowd, suspicion first.
 */
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/worker/slow.h"
#include "tests/support/scripted.h"

#define MS 1000000ULL
#define SOMEBODY ((struct tr_key){7, 12})

static struct tri_shared shared;
static struct tri_worker worker;

static int begin(void **state)
{
    (void)state;
    shared = (struct tri_shared){.behaviours = {&scripted_behaviour}, .behaviour_count = 1};
    worker = (struct tri_worker){.shared = &shared};
    return tri_recorder_init(&worker.recorder);
}

static int end(void **state)
{
    (void)state;
    tri_recorder_fini(&worker.recorder);
    return 0;
}

static void test_ordinary_slices_cost_nothing(void **state)
{
    (void)state;
    tri_slow_slice(&worker, TR_SLOW_HANDLER_MS * MS, 1, SOMEBODY, 0);
    tri_slow_slice(&worker, 1000, 128, SOMEBODY, 0);
    assert_int_equal(worker.metrics.handlers_slow, 0);
    assert_int_equal(worker.timed_slices, 0);
}

static void test_slow_run_alone_is_found_at_once(void **state)
{
    (void)state;
    tri_slow_slice(&worker, TR_SLOW_HANDLER_MS * MS + 1, 1, SOMEBODY, 0);
    assert_int_equal(worker.metrics.handlers_slow, 1);
    assert_int_equal(worker.timed_slices, 0);
}

static void test_slow_slice_makes_the_next_ones_timed(void **state)
{
    (void)state;
    tri_slow_slice(&worker, TR_SLOW_HANDLER_MS * MS + 1, 20, SOMEBODY, 0);
    assert_int_equal(worker.metrics.handlers_slow, 0); /* twenty ordinary runs may take as long */
    assert_int_equal(worker.timed_slices, TR_TIMED_SLICES);
    for (uint32_t i = 0; i < TR_TIMED_SLICES; i++) {
        tri_slow_slice(&worker, 100 * MS, 20, SOMEBODY, 0); /* in which tri_slow_run has counted */
    }
    assert_int_equal(worker.metrics.handlers_slow, 0);
    assert_int_equal(worker.timed_slices, 0);
    tri_slow_slice(&worker, 100 * MS, 20, SOMEBODY, 0); /* no twenty ordinary runs take as long */
    assert_int_equal(worker.metrics.handlers_slow, 1);
}

static void test_slow_run_is_in_the_recorder(void **state)
{
    (void)state;
    tri_slow_slice(&worker, 42 * MS, 1, SOMEBODY, 0);
    assert_int_equal(worker.recorder.next, 1);
    const struct tri_event *event = &worker.recorder.events[0];
    assert_int_equal(event->point, TRI_RECORDER_SLOW);
    assert_int_equal(event->sequence, 42);
    assert_int_equal(event->type, scripted_behaviour.id);
    assert_int_equal(event->to_group, 7);
    assert_int_equal(event->to_serial, 12);
}

/* What goes to stderr while `act` runs. */
static void read_stderr(void (*act)(void), char *words, size_t size)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int before = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    act();
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    words[fread(words, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void spin_three_times(void)
{
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    for (uint64_t i = 1; i <= 3; i++) {
        scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_SPIN, .count = 20});
        scripted_await(host, "handlers_slow", i);
    }
    tr_host_free(host);
}

static void test_host_counts_all_and_tells_nobody(void **state)
{
    (void)state;
    char words[4096];
    read_stderr(spin_three_times, words, sizeof words);
    assert_string_equal(words, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ordinary_slices_cost_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_slow_run_alone_is_found_at_once, begin, end),
        cmocka_unit_test_setup_teardown(test_slow_slice_makes_the_next_ones_timed, begin, end),
        cmocka_unit_test_setup_teardown(test_slow_run_is_in_the_recorder, begin, end),
        cmocka_unit_test(test_host_counts_all_and_tells_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
