/*
 * Power failures, failed writes and syncs, and full disks at every single step that SQLite makes on
 * the disk in a run of commits: creation, commits, copying the log, closing and opening again.
 *
 * Whatever happens, the store then equals the state after one of the commits, and no commit that
 * was acknowledged is missing. The states to compare with come from the model. Last, a disk whose
 * syncs do nothing must be found out by the same sweep, or the sweep would prove nothing.
 *
 * All of it is done without a log of commits in front of the store, and with one.
 *
 * The short form takes every seventh step; TROUPE_TEST_LONG takes all, with more seeds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sqlite/sqlite_internal.h"
#include "tests/unit/runtime/stand.h"

#define RUN 21
#define COMMITS 14
#define REOPEN_BEHIND 9 /* the store is closed and opened again behind this commit */

static struct tri_op ops[STAND_RUN_OPS_MAX];
static uint8_t bytes[STAND_RUN_BYTES];

/* The contents after each commit of the run. */
static char *states[COMMITS + 1];

/* The log of commits in front of the stores; NULL: none. */
static const struct tri_commit_log_limits *log_limits;
static const struct tri_commit_log_limits small_log = {.bytes_max = 1 << 20,
                                                       .commits_without_thread = 3};

static struct tri_commit commit_of(uint64_t number)
{
    return (struct tri_commit){ops, stand_run_ops(RUN, number, ops, bytes), number};
}

static int make_states(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_MODEL);
    struct tri_store *store = stand_open(stand);
    states[0] = stand_dump(store);
    for (uint64_t i = 1; i <= COMMITS; i++) {
        struct tri_commit commit = commit_of(i);
        assert_int_equal(tri_store_commit(store, &commit), 0);
        states[i] = stand_dump(store);
        assert_string_not_equal(states[i], states[i - 1]);
    }
    tri_store_close(store);
    stand_free(stand);
    return 0;
}

static int make_states_with_log(void **state)
{
    log_limits = &small_log;
    return make_states(state);
}

static int free_states(void **state)
{
    (void)state;
    for (size_t i = 0; i <= COMMITS; i++) {
        free(states[i]);
    }
    return 0;
}

static bool is_long(void)
{
    return getenv("TROUPE_TEST_LONG") != NULL;
}

/* A run of commits on a simulated disk, and how far it came. */
struct course {
    struct stand *stand;
    enum tr_durability durability;
    uint64_t tried;
    uint64_t acknowledged;
    int error;
    bool makes_room; /* when the disk is full, room is made and the commit tried again */
};

static int open_course(struct course *course, struct tri_store **store)
{
    struct tri_store_options options = stand_options(course->stand);
    options.durability = course->durability;
    return stand_try(course->stand, &options, NULL, store);
}

static int commit_course(struct course *course, struct tri_store *store, uint64_t number)
{
    struct tri_commit commit = commit_of(number);
    course->tried = number;
    int error = tri_store_commit(store, &commit);
    if (error == TR_STORE_FULL && course->makes_room) {
        assert_int_equal(tri_store_commit(store, &commit), TR_STORE_FULL);
        tri_disk_faults(course->stand->disk)->room_is_limited = false;
        error = tri_store_commit(store, &commit);
    }
    if (error == 0) {
        course->acknowledged = number;
    }
    return error;
}

/* Every third time the log is copied, as if it had grown large. */
static int tend_course(struct tri_store *store, uint64_t number)
{
    struct tri_sqlite *self = tri_sqlite_of(tri_commit_log_below(store));
    if (number % 3 == 0) {
        self->log_bytes = self->log_copied_bytes + TR_STORE_LOG_CHECKPOINT_BYTES;
    }
    return tri_store_maintain(store);
}

/* Goes on until the end or the first error. */
static void run_course(struct course *course)
{
    struct tri_store *store = NULL;
    course->error = open_course(course, &store);
    for (uint64_t i = 1; course->error == 0 && i <= COMMITS; i++) {
        course->error = commit_course(course, store, i);
        if (course->error == 0) {
            course->error = tend_course(store, i);
        }
        if (course->error == 0 && i == REOPEN_BEHIND) {
            tri_store_close(store);
            store = NULL;
            course->error = open_course(course, &store);
        }
    }
    tri_store_close(store);
}

/* What is wrong with the store that the course left, or NULL. */
static const char *judge_store(struct course *course, struct tri_store *store)
{
    if (store->last_number < course->acknowledged) {
        return "an acknowledged commit is missing";
    }
    if (store->last_number > course->tried) {
        return "a commit is there that nobody made";
    }
    int error = 0;
    char *dump = stand_try_dump(store, &error);
    if (dump == NULL) {
        return "it cannot be loaded";
    }
    bool equal = strcmp(dump, states[store->last_number]) == 0;
    free(dump);
    if (!equal) {
        return "it equals no prefix of the commits";
    }
    /* And it goes on from there. */
    for (uint64_t i = store->last_number + 1; i <= COMMITS; i++) {
        struct tri_commit commit = commit_of(i);
        if (tri_store_commit(store, &commit) != 0) {
            return "it cannot be written any more";
        }
        course->tried = i;
        course->acknowledged = i;
    }
    dump = stand_try_dump(store, &error);
    equal = dump != NULL && strcmp(dump, states[COMMITS]) == 0;
    free(dump);
    return equal ? NULL : "it went on wrongly";
}

static const char *judge_course(struct course *course)
{
    struct tri_store *store = NULL;
    if (open_course(course, &store) != 0) {
        return "it cannot be opened";
    }
    const char *fault = judge_store(course, store);
    tri_store_close(store);
    return fault;
}

static struct course course_new(uint64_t seed, enum tr_durability durability)
{
    struct course course = {.stand = stand_new(STAND_DISK), .durability = durability};
    tri_disk_free(course.stand->disk);
    course.stand->disk = tri_disk_new(seed);
    course.stand->log = log_limits;
    return course;
}

static uint64_t count_steps(enum tr_durability durability, struct tri_disk_counts *counts)
{
    struct course course = course_new(1, durability);
    run_course(&course);
    assert_int_equal(course.error, 0);
    assert_int_equal(course.acknowledged, COMMITS);
    *counts = *tri_disk_counts(course.stand->disk);
    assert_null(judge_course(&course));
    stand_free(course.stand);
    return counts->steps;
}

/* The power fails with a step; then, while the store is opened again, once more. */
static const char *fail_power(uint64_t step, uint64_t seed, bool sync_lies)
{
    struct course course = course_new(seed, TR_DURABILITY_FULL);
    struct tri_disk *disk = course.stand->disk;
    tri_disk_faults(disk)->off_at_step = step;
    tri_disk_faults(disk)->sync_lies = sync_lies;
    run_course(&course);
    tri_disk_crash(disk);
    struct tri_store *store = NULL;
    tri_disk_faults(disk)->off_at_step = tri_disk_counts(disk)->steps + 1 + seed % 5;
    int error = open_course(&course, &store);
    tri_store_close(error == 0 ? store : NULL);
    tri_disk_crash(disk);
    const char *fault = judge_course(&course);
    stand_free(course.stand);
    return fault;
}

static size_t sweep_power(bool sync_lies, bool insist)
{
    struct tri_disk_counts counts;
    uint64_t steps = count_steps(TR_DURABILITY_FULL, &counts);
    uint64_t seeds = is_long() ? 40 : 2;
    size_t findings = 0;
    assert_true(steps > 150);
    for (uint64_t step = 1; step <= steps + 1; step += is_long() ? 1 : 7) {
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            const char *fault = fail_power(step, step * 1000 + seed, sync_lies);
            findings += fault != NULL;
            if (fault != NULL && insist) {
                fail_msg("power failed at step %llu of %llu, seed %llu: %s",
                         (unsigned long long)step, (unsigned long long)steps,
                         (unsigned long long)seed, fault);
            }
        }
    }
    return findings;
}

static void test_power_failures_lose_nothing_acknowledged(void **state)
{
    (void)state;
    (void)sweep_power(false, true);
}

static void test_the_sweep_finds_syncs_that_lie(void **state)
{
    (void)state;
    assert_true(sweep_power(true, false) > 0);
}

/* At the level `process` the process is killed between any two steps, and the kernel goes on. */
static void test_kills_lose_nothing_at_level_process(void **state)
{
    (void)state;
    struct tri_disk_counts counts;
    uint64_t steps = count_steps(TR_DURABILITY_PROCESS, &counts);
    assert_int_equal(counts.syncs, 0);
    for (uint64_t step = 1; step <= steps + 1; step += is_long() ? 1 : 7) {
        struct course course = course_new(step, TR_DURABILITY_PROCESS);
        tri_disk_faults(course.stand->disk)->off_at_step = step;
        run_course(&course);
        tri_disk_kill(course.stand->disk);
        const char *fault = judge_course(&course);
        if (fault != NULL) {
            fail_msg("killed at step %llu: %s", (unsigned long long)step, fault);
        }
        stand_free(course.stand);
    }
}

/* What an engine of level `process` left unsynced is safe once one of level `full` acknowledges. */
static void test_a_change_of_level_leaves_nothing_unsynced(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (is_long() ? 200 : 20); seed++) {
        struct course course = course_new(seed, TR_DURABILITY_PROCESS);
        struct tri_disk *disk = course.stand->disk;
        struct tri_store *store = NULL;
        if (seed % 2 == 0) {
            tri_disk_faults(disk)->off_at_step = 100 + seed;
        }
        run_course(&course);
        tri_disk_kill(disk);
        course.durability = TR_DURABILITY_FULL;
        assert_int_equal(open_course(&course, &store), 0);
        course.acknowledged = store->last_number;
        course.tried = store->last_number;
        tri_disk_faults(disk)->off_at_step = tri_disk_counts(disk)->steps + 1;
        tri_store_close(store);
        tri_disk_crash(disk);
        const char *fault = judge_course(&course);
        if (fault != NULL) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, fault);
        }
        stand_free(course.stand);
    }
}

/* A write or sync fails, the process ends because of it, and then the power fails too. */
static void fail_once(uint64_t write, uint64_t sync, uint64_t seed)
{
    struct course course = course_new(seed, TR_DURABILITY_FULL);
    struct tri_disk *disk = course.stand->disk;
    tri_disk_faults(disk)->fail_write_at = write;
    tri_disk_faults(disk)->fail_sync_at = sync;
    run_course(&course);
    if (course.error != 0 && course.error != TR_STORE_FAILED) {
        fail_msg("write %llu or sync %llu failed: %s", (unsigned long long)write,
                 (unsigned long long)sync, tr_error_name(course.error));
    }
    tri_disk_crash(disk);
    const char *fault = judge_course(&course);
    if (fault != NULL) {
        fail_msg("write %llu or sync %llu failed: %s", (unsigned long long)write,
                 (unsigned long long)sync, fault);
    }
    stand_free(course.stand);
}

static void test_failed_writes_and_syncs_end_it_cleanly(void **state)
{
    (void)state;
    struct tri_disk_counts counts;
    (void)count_steps(TR_DURABILITY_FULL, &counts);
    for (uint64_t write = 1; write <= counts.writes; write += is_long() ? 1 : 7) {
        fail_once(write, 0, write);
    }
    for (uint64_t sync = 1; sync <= counts.syncs; sync++) {
        fail_once(0, sync, sync);
        if (is_long()) {
            fail_once(0, sync, sync + 1000);
        }
    }
}

/* An engine makes two more commits of the course; then the power fails. */
static void go_on_and_fail_power(struct course *course)
{
    struct tri_disk *disk = course->stand->disk;
    struct tri_store *store = NULL;
    assert_int_equal(open_course(course, &store), 0);
    assert_true(store->last_number <= course->tried);
    for (size_t i = 0; i < 2 && store->last_number < COMMITS; i++) {
        assert_int_equal(commit_course(course, store, store->last_number + 1), 0);
    }
    course->acknowledged = store->last_number;
    course->tried = store->last_number;
    tri_disk_faults(disk)->off_at_step = tri_disk_counts(disk)->steps + 1;
    tri_store_close(store);
    tri_disk_crash(disk);
}

/* A sync fails and, where `next` is not 0, this one of the engine behind it; another goes on. */
static void fail_and_go_on(uint64_t sync, uint64_t next, uint64_t seed)
{
    struct course course = course_new(seed, TR_DURABILITY_FULL);
    struct tri_disk *disk = course.stand->disk;
    struct tri_store *store = NULL;
    tri_disk_faults(disk)->fail_sync_at = sync;
    run_course(&course);
    if (next != 0) {
        tri_disk_faults(disk)->fail_sync_at = tri_disk_counts(disk)->syncs + next;
        tri_store_close(open_course(&course, &store) == 0 ? store : NULL);
    }
    tri_disk_faults(disk)->fail_sync_at = 0;
    go_on_and_fail_power(&course);
    const char *fault = judge_course(&course);
    if (fault != NULL) {
        fail_msg("sync %llu failed, then %llu, seed %llu: %s", (unsigned long long)sync,
                 (unsigned long long)next, (unsigned long long)seed, fault);
    }
    stand_free(course.stand);
}

/* What a failed sync has lost is still shown by the kernel, and the next engine reads it. */
static void test_no_engine_builds_on_what_a_failed_sync_lost(void **state)
{
    (void)state;
    struct tri_disk_counts counts;
    (void)count_steps(TR_DURABILITY_FULL, &counts);
    for (uint64_t sync = 1; sync <= counts.syncs; sync++) {
        for (uint64_t next = 0; next <= 4; next++) {
            for (uint64_t seed = 1; seed <= (is_long() ? 20 : 4); seed++) {
                fail_and_go_on(sync, next, sync * 1000 + seed);
            }
        }
    }
}

/* Each commit that fails for lack of room is tried again, and nothing is missing in the end. */
static void test_a_disk_may_be_full_at_any_byte(void **state)
{
    (void)state;
    size_t refusals = 0;
    for (uint64_t room = 0; room < 900000; room += is_long() ? 1009 : 30011) {
        struct course course = course_new(room, TR_DURABILITY_FULL);
        struct tri_disk *disk = course.stand->disk;
        course.makes_room = true;
        tri_disk_faults(disk)->room_is_limited = true;
        tri_disk_faults(disk)->room_bytes = room;
        run_course(&course);
        if (course.error != 0) {
            /* Only opening can end it, and says why. */
            assert_int_equal(course.error, TR_STORE_FULL);
        } else {
            assert_int_equal(course.acknowledged, COMMITS);
        }
        refusals += tri_disk_counts(disk)->refusals > 0;
        tri_disk_faults(disk)->room_is_limited = false;
        assert_null(judge_course(&course));
        tri_disk_crash(disk);
        assert_null(judge_course(&course));
        stand_free(course.stand);
    }
    assert_true(refusals > 5);
}

static void test_equal_seeds_give_equal_disks(void **state)
{
    (void)state;
    uint64_t signatures[3];
    for (size_t i = 0; i < 3; i++) {
        struct course course = course_new(i < 2 ? 5 : 6, TR_DURABILITY_FULL);
        tri_disk_faults(course.stand->disk)->off_at_step = 120;
        run_course(&course);
        tri_disk_crash(course.stand->disk);
        assert_null(judge_course(&course));
        signatures[i] = tri_disk_signature(course.stand->disk);
        stand_free(course.stand);
    }
    assert_true(signatures[0] == signatures[1]);
    assert_true(signatures[0] != signatures[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_failures_lose_nothing_acknowledged),
        cmocka_unit_test(test_the_sweep_finds_syncs_that_lie),
        cmocka_unit_test(test_kills_lose_nothing_at_level_process),
        cmocka_unit_test(test_a_change_of_level_leaves_nothing_unsynced),
        cmocka_unit_test(test_failed_writes_and_syncs_end_it_cleanly),
        cmocka_unit_test(test_no_engine_builds_on_what_a_failed_sync_lost),
        cmocka_unit_test(test_a_disk_may_be_full_at_any_byte),
        cmocka_unit_test(test_equal_seeds_give_equal_disks),
    };
    int failures = cmocka_run_group_tests_name("sqlite_crash", tests, make_states, free_states);
    return failures + cmocka_run_group_tests_name("sqlite_crash with a log of commits", tests,
                                                  make_states_with_log, free_states);
}
