/*
 * Starting processes: plans that are refused, plans that are copied whole, and starts that fail
 * without leaving anything. What a process finds around it is tested with the keeper.
 */
#include "runtime/process/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "runtime/process/attempt_limits.h"
#include "tests/support/test.h"

static uint8_t argv_bytes[1 << 16];
static uint8_t environment_bytes[1 << 16];
static char reason[TR_REASON_BYTES_MAX];

static struct tr_bytes pack(uint8_t *bytes, size_t size, const char *const *words)
{
    struct tr_writer writer = tr_writer_of(bytes, size);
    assert_int_equal(tr_process_strings_pack(words, &writer), 0);
    return (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
}

static struct tr_process_start start_of(const char *const *argv, const char *const *environment)
{
    return (struct tr_process_start){
        .key = tr_text_of("key"),
        .argv = pack(argv_bytes, sizeof argv_bytes, argv),
        .environment = pack(environment_bytes, sizeof environment_bytes, environment),
        .folder = tr_text_of("/tmp"),
    };
}

static const char *const nothing[] = {NULL};

/* Runs a shell line; gives its exit status. */
static int run(struct tri_process_spawner *spawner, const char *line,
               const char *const *environment)
{
    const char *const argv[] = {"/bin/sh", "-c", line, NULL};
    struct tr_process_start start = start_of(argv, environment);
    struct tri_process_plan *plan;
    struct tri_process_spawn_failure failure;
    uint32_t pid;
    int status;
    assert_int_equal(tri_process_plan_new(&start, tr_text_of("mark"), reason, &plan), 0);
    memset(argv_bytes, 0, sizeof argv_bytes); /* the plan has copies */
    assert_int_equal(tri_process_spawn(spawner, plan, TRI_SPAWN_NO_GROUP, &failure, &pid), 0);
    tri_process_plan_free(plan);
    assert_int_equal(waitpid((pid_t)pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_process_is_started(void **state)
{
    (void)state;
    struct tri_process_spawner spawner;
    static const char *const environment[] = {"A=b c", "TROUPE_KEEPER_KEY=other", NULL};
    assert_int_equal(tri_process_spawner_init(&spawner), 0);
    assert_int_equal(run(&spawner, "exit 5", nothing), 5);
    assert_int_equal(run(&spawner, "[ \"$A\" = 'b c' ]", environment), 0);
    assert_int_equal(run(&spawner, "[ \"$TROUPE_KEEPER_KEY\" = mark ]", environment), 0);
    assert_int_equal(run(&spawner, "[ \"$(pwd)\" = /tmp ]", nothing), 0);
    assert_int_equal(run(&spawner, "read x || exit 3", nothing), 3); /* stdin is empty */
    tri_process_spawner_fini(&spawner);
    assert_int_equal(tr_memory_used(), 0);
}

/* Neither our own signals nor our handlers are anybody else's. */
static void signals_are_left_alone(void **state)
{
    (void)state;
    struct tri_process_spawner spawner;
    sigset_t set;
    sigset_t after;
    assert_int_equal(tri_process_spawner_init(&spawner), 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    assert_int_equal(run(&spawner, "kill -USR1 $$; exit 0", nothing), -1);
    assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &after), 0);
    assert_true(sigismember(&after, SIGUSR1) == 1 && sigismember(&after, SIGUSR2) == 0);
    assert_int_equal(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
    tri_process_spawner_fini(&spawner);
}

static void a_failed_start_leaves_nothing(void **state)
{
    (void)state;
    struct tri_process_spawner spawner;
    struct tri_process_spawn_failure failure;
    struct tri_process_plan *plan;
    uint32_t pid = 77;
    static const char *const argv[] = {"/no/such/program", NULL};
    assert_int_equal(tri_process_spawner_init(&spawner), 0);
    struct tr_process_start start = start_of(argv, nothing);
    assert_int_equal(tri_process_plan_new(&start, tr_text_of("mark"), reason, &plan), 0);
    assert_int_equal(tri_process_spawn(&spawner, plan, TRI_SPAWN_NO_GROUP, &failure, &pid),
                     TR_FAILED);
    assert_int_equal(failure.number, ENOENT);
    assert_string_equal(failure.reason, "cannot run /no/such/program: No such file or directory");
    assert_int_equal(pid, 77);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    tri_process_plan_free(plan);
    tri_process_spawner_fini(&spawner);
}

/* Runs /bin/true with a descriptor in the place of a group's cgroup.procs. */
static int spawn_in(struct tri_process_spawner *spawner, int group,
                    struct tri_process_spawn_failure *failure)
{
    static const char *const argv[] = {"/bin/true", NULL};
    struct tr_process_start start = start_of(argv, nothing);
    struct tri_process_plan *plan;
    uint32_t pid;
    assert_int_equal(tri_process_plan_new(&start, tr_text_of("mark"), reason, &plan), 0);
    int error = tri_process_spawn(spawner, plan, group, failure, &pid);
    tri_process_plan_free(plan);
    if (error == 0) {
        assert_int_equal(waitpid((pid_t)pid, NULL, 0), pid);
    }
    return error;
}

/* It enters before it runs anything, and does not run outside of it. */
static void a_group_is_entered_or_nothing_runs(void **state)
{
    (void)state;
    struct tri_process_spawner spawner;
    struct tri_process_spawn_failure failure;
    int ends[2];
    char word[2] = "";
    assert_int_equal(tri_process_spawner_init(&spawner), 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(spawn_in(&spawner, ends[1], &failure), 0);
    assert_int_equal(read(ends[0], word, sizeof word), 1);
    assert_int_equal(word[0], '0');
    assert_int_equal(spawn_in(&spawner, ends[0], &failure), TR_FAILED);
    assert_string_equal(failure.reason, "cannot enter its control group: Bad file descriptor");
    close(ends[0]);
    close(ends[1]);
    tri_process_spawner_fini(&spawner);
}

static int plan_error(const struct tr_process_start *start)
{
    struct tri_process_plan *plan;
    int error = tri_process_plan_new(start, tr_text_of("mark"), reason, &plan);
    if (error == 0) {
        tri_process_plan_free(plan);
    } else {
        assert_int_not_equal(reason[0], '\0');
    }
    assert_int_equal(tr_memory_used(), 0);
    return error;
}

static void bad_plans_are_refused(void **state)
{
    (void)state;
    static const char *const argv[] = {"true", NULL};
    static char long_path[TR_PATH_BYTES_MAX + 1];
    memset(long_path, '/', sizeof long_path - 1);
    struct tr_process_start good = start_of(argv, nothing);
    struct tr_process_start bad = good;
    assert_int_equal(plan_error(&good), 0);
    bad.stdout_path = tr_text_of(long_path);
    assert_int_equal(plan_error(&bad), TR_LIMIT);
    bad = good;
    bad.folder = (struct tr_text){.data = "/tmp\0x", .size = 6};
    assert_int_equal(plan_error(&bad), TR_INVALID);
    bad = good;
    bad.argv = (struct tr_bytes){.data = (const uint8_t *)"\x92\xa1x", .size = 3};
    assert_int_equal(plan_error(&bad), TR_TRUNCATED);
    bad = good;
    bad.environment = (struct tr_bytes){.data = (const uint8_t *)"\x91\x05", .size = 2};
    assert_int_equal(plan_error(&bad), TR_MALFORMED);
    bad = good;
    bad.limits = (struct tr_bytes){.data = (const uint8_t *)"\x91\x05", .size = 2};
    assert_int_equal(plan_error(&bad), TR_MALFORMED);
    static uint8_t many[TR_PROCESS_WORDS_MAX + 16];
    struct tr_writer writer = tr_writer_of(many, sizeof many);
    tr_write_array(&writer, TR_PROCESS_WORDS_MAX + 1);
    memset(writer.at, 0xa0, TR_PROCESS_WORDS_MAX + 1);
    bad = good;
    bad.argv = (struct tr_bytes){.data = many, .size = sizeof many - 10};
    assert_int_equal(plan_error(&bad), TR_LIMIT);
}

static void too_many_limits_are_refused(void **state)
{
    (void)state;
    static const char *const argv[] = {"true", NULL};
    static uint8_t bytes[4096];
    struct tr_process_limit limits[TR_PROCESS_RLIMITS_MAX + 1];
    for (size_t i = 0; i < TR_COUNT_OF(limits); i++) {
        limits[i] = (struct tr_process_limit){.name = tr_text_of("core")};
    }
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    assert_int_equal(tr_process_limits_pack(limits, TR_COUNT_OF(limits), &writer), 0);
    struct tr_process_start start = start_of(argv, nothing);
    start.limits = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    assert_int_equal(plan_error(&start), TR_LIMIT);
}

static bool refuse(void *self, size_t size)
{
    (void)self;
    (void)size;
    return false;
}

static void no_memory_is_told(void **state)
{
    (void)state;
    static const char *const argv[] = {"true", NULL};
    struct tr_process_start start = start_of(argv, nothing);
    tr_memory_hook_set(refuse, NULL);
    int error = plan_error(&start);
    tr_memory_hook_set(NULL, NULL);
    assert_int_equal(error, TR_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_started),
        cmocka_unit_test(signals_are_left_alone),
        cmocka_unit_test(a_failed_start_leaves_nothing),
        cmocka_unit_test(bad_plans_are_refused),
        cmocka_unit_test(too_many_limits_are_refused),
        cmocka_unit_test(no_memory_is_told),
        cmocka_unit_test(a_group_is_entered_or_nothing_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
