/*
 * What a process can get, before a library needs it: known from files where no bound is near, and
 * tried otherwise. The files of other machines lie in a folder here.
 */
#include "runtime/link/preflight.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

/* A machine with 400 threads, no bounds, and a process in the group /a/b. */
struct machine {
    char root[64];
};

static void put(const struct machine *machine, const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", machine->root, path);
    for (char *slash = strchr(whole + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void drop(const struct machine *machine, const char *path)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", machine->root, path);
    assert_int_equal(remove(whole), 0);
}

/* Its groups are of both versions, or of the second one alone. */
static void machine_init(struct machine *machine, bool has_both)
{
    snprintf(machine->root, sizeof machine->root, "/tmp/troupe-preflight-XXXXXX");
    assert_non_null(mkdtemp(machine->root));
    put(machine, "/proc/loadavg", "0.20 0.18 0.12 1/400 11206\n");
    put(machine, "/proc/self/uid_map", "         0          0 4294967295\n");
    put(machine, "/proc/sys/kernel/threads-max", "192730\n");
    put(machine, "/proc/sys/kernel/pid_max", "4194304\n");
    put(machine, "/sys/fs/cgroup/cgroup.procs", "1\n");
    if (has_both) {
        put(machine, "/proc/self/cgroup", "9:name=systemd:/\n8:pids:/a/b\n0::/other\n");
        put(machine, "/sys/fs/cgroup/pids/cgroup.procs", "1\n");
        put(machine, "/sys/fs/cgroup/pids/a/b/pids.max", "max\n");
    } else {
        put(machine, "/proc/self/cgroup", "0::/a/b\n");
        put(machine, "/sys/fs/cgroup/a/b/pids.max", "max\n");
    }
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void machine_fini(const struct machine *machine)
{
    assert_int_equal(nftw(machine->root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void test_far_bounds_are_known(void **state)
{
    (void)state;
    for (int has_both = 0; has_both < 2; has_both++) {
        struct machine machine;
        machine_init(&machine, has_both != 0);
        assert_true(tri_preflight_has_threads(machine.root, 16));
        put(&machine, has_both ? "/sys/fs/cgroup/pids/a/pids.max" : "/sys/fs/cgroup/a/pids.max",
            "4915\n");
        assert_true(tri_preflight_has_threads(machine.root, 16));
        machine_fini(&machine);
    }
}

/* Each of them alone has threads tried. */
static void test_a_near_bound_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *text;
    } bounds[] = {
        {"/sys/fs/cgroup/a/b/pids.max", "1400\n"},
        {"/sys/fs/cgroup/a/pids.max", "1400\n"},
        {"/proc/sys/kernel/threads-max", "1400\n"},
        {"/proc/sys/kernel/pid_max", "1400\n"},
        {"/proc/loadavg", "0.20 0.18 0.12 1/192000 11206\n"},
        {"/proc/self/uid_map", "         0     100000      65536\n"}, /* bounds out of sight */
        {"/sys/fs/cgroup/pids.max", "max\n"}, /* it is no root: those above are out of sight */
        {"/proc/self/cgroup", "8:pids:/a/b\n0::/\n"}, /* which is mounted elsewhere */
    };
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        struct machine machine;
        machine_init(&machine, false);
        put(&machine, bounds[i].path, bounds[i].text);
        assert_false(tri_preflight_has_threads(machine.root, 16));
        machine_fini(&machine);
    }
}

static void test_what_cannot_be_read_is_not_known(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/proc/loadavg",
        "/proc/self/uid_map",
        "/proc/self/cgroup",
        "/proc/sys/kernel/threads-max",
        "/proc/sys/kernel/pid_max",
        "/sys/fs/cgroup/cgroup.procs",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct machine machine;
        machine_init(&machine, false);
        drop(&machine, paths[i]);
        assert_false(tri_preflight_has_threads(machine.root, 16));
        machine_fini(&machine);
    }
}

static void test_the_bound_of_a_user_counts(void **state)
{
    (void)state;
    struct machine machine;
    struct rlimit before;
    machine_init(&machine, false);
    assert_int_equal(getrlimit(RLIMIT_NPROC, &before), 0);
    struct rlimit near = {.rlim_cur = 1400, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NPROC, &near), 0);
    assert_false(tri_preflight_has_threads(machine.root, 16));
    assert_int_equal(setrlimit(RLIMIT_NPROC, &before), 0);
    machine_fini(&machine);
}

static void test_descriptors_are_tried(void **state)
{
    (void)state;
    char words[TRI_PREFLIGHT_WORDS_BYTES];
    struct tri_preflight_needs needs = {.threads = 2, .descriptors = 64, .bytes = 1 << 20};
    struct rlimit before;
    assert_int_equal(tri_preflight_check(needs, words), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit few = {.rlim_cur = 40, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(tri_preflight_check(needs, words), TR_LIMIT);
    assert_string_equal(words, "64 open files (`ulimit -n`)");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(tri_preflight_check(needs, words), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_far_bounds_are_known),
        cmocka_unit_test(test_a_near_bound_is_none),
        cmocka_unit_test(test_what_cannot_be_read_is_not_known),
        cmocka_unit_test(test_the_bound_of_a_user_counts),
        cmocka_unit_test(test_descriptors_are_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
