/*
 * Every injected bug is found by the seed that the table names, or by one of the first, since each
 * change of the runtime sends seeds another way; and it finds nothing where nothing is injected.
 *
 * Each runs in a process of its own: a run that has failed keeps its memory, and one that meets a
 * broken invariant of the runtime is not to be gone on with.
 */
#include "tests/support/test.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/inject.h"
#include "tests/sim/world.h"

/* Seeds that may be tried where the known one has gone another way. */
#define SEEDS_AT_MOST 5000

enum ending {
    ENDED_SOUND = 10,
    ENDED_FOUND = 11,
};

/* How a run ends, told by the status of a process. */
static int run_apart(const struct sim_play *play, uint64_t seed, const struct sim_bug *bug)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        (void)dup2(nowhere, STDERR_FILENO);
        struct sim_result result = sim_run(play, seed, bug, false);
        _exit(result.has_failed ? ENDED_FOUND : ENDED_SOUND);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The seed that finds a fault: the known one, or else the first of some; 0: none does. */
static uint64_t find(const struct sim_play *play, const struct sim_bug *bug)
{
    if (run_apart(play, bug->first_seed, bug) == ENDED_FOUND) {
        return bug->first_seed;
    }
    for (uint64_t seed = 1; seed <= SEEDS_AT_MOST; seed++) {
        if (run_apart(play, seed, bug) == ENDED_FOUND) {
            return seed;
        }
    }
    return 0;
}

static void finds_each_injected_bug(void **state)
{
    (void)state;
    for (size_t i = 0; i < sim_play_count; i++) {
        for (size_t k = 0; k < *sim_plays[i]->bug_count; k++) {
            uint64_t seed = find(sim_plays[i], &sim_plays[i]->bugs[k]);
            print_message("%s: %s in seed %llu\n", sim_plays[i]->name, sim_plays[i]->bugs[k].name,
                          (unsigned long long)seed);
            assert_true(seed != 0);
        }
    }
}

static void finds_nothing_where_nothing_is_injected(void **state)
{
    (void)state;
    for (size_t i = 0; i < sim_play_count; i++) {
        for (size_t k = 0; k < *sim_plays[i]->bug_count; k++) {
            uint64_t seed = sim_plays[i]->bugs[k].first_seed;
            assert_int_equal(run_apart(sim_plays[i], seed, NULL), ENDED_SOUND);
        }
    }
}

static void injects_many_bugs(void **state)
{
    (void)state;
    assert_true(*sim_workload.bug_count >= 12);
    assert_true(*sim_engine.bug_count >= 12);
    assert_true(*sim_web_play.bug_count >= 3);
    assert_true(*sim_idempotency_play.bug_count >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(injects_many_bugs),
        cmocka_unit_test(finds_each_injected_bug),
        cmocka_unit_test(finds_nothing_where_nothing_is_injected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
