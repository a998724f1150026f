/*
 * Slow handlers: each is counted, and its behaviour is named once; in a crowd, suspicion first.
 */
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/host/slow.h"
#include "tests/support/town.h"

#define MS 1000000ULL

static struct tri_shared shared;
static struct tri_worker worker;

static int begin(void **state)
{
    (void)state;
    shared = (struct tri_shared){.behaviours = {&town_behaviour}, .behaviour_count = 1};
    worker = (struct tri_worker){.shared = &shared};
    atomic_store(&shared.is_named_slow[0], true); /* quietly */
    return 0;
}

static void test_ordinary_slices_cost_nothing(void **state)
{
    (void)state;
    tri_slow_slice(&worker, TR_SLOW_HANDLER_MS * MS, 1, 0);
    tri_slow_slice(&worker, 1000, 128, 0);
    assert_int_equal(worker.metrics.handlers_slow, 0);
    assert_int_equal(worker.timed_slices, 0);
}

static void test_slow_run_alone_is_found_at_once(void **state)
{
    (void)state;
    tri_slow_slice(&worker, TR_SLOW_HANDLER_MS * MS + 1, 1, 0);
    assert_int_equal(worker.metrics.handlers_slow, 1);
    assert_int_equal(worker.timed_slices, 0);
}

static void test_slow_slice_makes_the_next_ones_timed(void **state)
{
    (void)state;
    tri_slow_slice(&worker, TR_SLOW_HANDLER_MS * MS + 1, 20, 0);
    assert_int_equal(worker.metrics.handlers_slow, 0); /* twenty ordinary runs may take as long */
    assert_int_equal(worker.timed_slices, TR_TIMED_SLICES);
    for (uint32_t i = 0; i < TR_TIMED_SLICES; i++) {
        tri_slow_slice(&worker, 100 * MS, 20, 0); /* in which tri_slow_run has counted */
    }
    assert_int_equal(worker.metrics.handlers_slow, 0);
    assert_int_equal(worker.timed_slices, 0);
    tri_slow_slice(&worker, 100 * MS, 20, 0); /* no twenty ordinary runs take as long */
    assert_int_equal(worker.metrics.handlers_slow, 1);
}

static void test_host_counts_all_and_names_each_behaviour_once(void **state)
{
    (void)state;
    char words[4096];
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int before = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    struct tr_host *host = town_open(1, NULL, 0);
    struct tr_ref ann = town_spawn(host, "ann");
    for (uint64_t i = 1; i <= 3; i++) {
        town_do(host, ann, (struct tr_town_do){.verb = TOWN_SPIN, .count = 20});
        town_await(host, "handlers_slow", i);
    }
    tr_host_free(host);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    words[fread(words, 1, sizeof words - 1, file)] = '\0';
    fclose(file);
    const char *named = strstr(words, "troupe: behaviour townsman: a run took ");
    assert_non_null(named);
    assert_null(strstr(named + 1, "troupe: behaviour townsman: a run took "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ordinary_slices_cost_nothing, begin),
        cmocka_unit_test_setup(test_slow_run_alone_is_found_at_once, begin),
        cmocka_unit_test_setup(test_slow_slice_makes_the_next_ones_timed, begin),
        cmocka_unit_test(test_host_counts_all_and_names_each_behaviour_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
