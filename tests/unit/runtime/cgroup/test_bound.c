/*
 * The group of an attempt: what is written to it, what it tells, and that one which could not be
 * bounded is not used. A folder stands in the place of the kernel's; its files are made beforehand.
 */
#include "runtime/cgroup/bound.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "tests/unit/runtime/cgroup/tree.h"

#define BYTES (64ULL << 20)

static struct tri_bounds bounds;
static int processes;

static int set_up(void **state)
{
    (void)state;
    bounds = (struct tri_bounds){.group = open(tree_new(), O_RDONLY | O_DIRECTORY)};
    processes = -1;
    return bounds.group < 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (bounds.group >= 0) {
        close(bounds.group);
    }
    if (processes >= 0) {
        close(processes);
    }
    tree_remove();
    return 0;
}

static void make_files(bool has_swap)
{
    assert_int_equal(mkdir(tree_path("/7"), 0755), 0);
    tree_write("/7", "memory.max", "");
    tree_write("/7", "cgroup.procs", "");
    tree_write("/7", "cgroup.kill", "");
    if (has_swap) {
        tree_write("/7", "memory.swap.max", "");
        tree_write("/7", "memory.oom.group", "");
    }
}

static void its_bound_is_of_memory_alone(void **state)
{
    (void)state;
    make_files(true);
    assert_int_equal(tri_bound_make(&bounds, 7, BYTES, &processes), 0);
    assert_string_equal(tree_read("/7", "memory.max"), "67108864");
    assert_string_equal(tree_read("/7", "memory.swap.max"), "0"); /* it cannot swap */
    assert_string_equal(tree_read("/7", "memory.oom.group"), "1");
    assert_int_equal(write(processes, "0", 1), 1);
    assert_string_equal(tree_read("/7", "cgroup.procs"), "0");
}

/* A kernel without swap, or an old one. */
static void what_a_kernel_lacks_is_left_out(void **state)
{
    (void)state;
    make_files(false);
    assert_int_equal(tri_bound_make(&bounds, 7, BYTES, &processes), 0);
    assert_string_equal(tree_read("/7", "memory.max"), "67108864");
}

static void what_cannot_be_bounded_is_not_used(void **state)
{
    (void)state;
    assert_int_equal(tri_bound_make(&bounds, 7, BYTES, &processes), TR_SYSTEM);
    assert_int_equal(errno, ENOENT); /* the folder was made, and has no memory.max */
    assert_int_equal(processes, -1);
    assert_int_equal(access(tree_path("/7"), F_OK), -1);
    close(bounds.group);
    bounds.group = -1;
    assert_int_equal(tri_bound_make(&bounds, 7, BYTES, &processes), TR_SYSTEM);
    assert_int_equal(errno, EBADF);
}

static struct tri_bound_use end_with(const char *events, const char *peak)
{
    tree_write("/7", "memory.events", events);
    tree_write("/7", "memory.peak", peak);
    return tri_bound_end(&bounds, 7);
}

static void its_end_says_what_it_used(void **state)
{
    (void)state;
    make_files(true);
    struct tri_bound_use use =
        end_with("low 0\nhigh 0\nmax 9\noom 1\noom_kill 2\noom_group_kill 1\n", "67104768\n");
    assert_true(use.is_killed);
    assert_int_equal(use.peak_bytes, 67104768);
    assert_string_equal(tree_read("/7", "cgroup.kill"), "1"); /* nothing of it is left */
    use = end_with("max 9\noom 0\noom_kill 0\n", "4096\n");
    assert_false(use.is_killed);
    assert_int_equal(use.peak_bytes, 4096);
}

/* The machine's want of memory is not its bound's. */
static void a_kill_without_its_bound_is_not_its_own(void **state)
{
    (void)state;
    make_files(true);
    assert_false(end_with("max 0\noom 0\noom_kill 1\n", "").is_killed);
}

static void without_its_files_nothing_is_said(void **state)
{
    (void)state;
    make_files(false);
    struct tri_bound_use use = tri_bound_end(&bounds, 7);
    assert_false(use.is_killed);
    assert_int_equal(use.peak_bytes, 0);
    use = tri_bound_end(&bounds, 8);
    assert_int_equal(use.peak_bytes, 0);
}

/* One whose processes are just ending is removed later; files keep a folder here. */
static void what_is_left_is_removed_later(void **state)
{
    (void)state;
    make_files(false);
    (void)tri_bound_end(&bounds, 7);
    assert_int_equal(bounds.left_count, 1);
    tri_bounds_tidy(&bounds);
    assert_int_equal(bounds.left_count, 1);
    tree_drop("/7", "memory.max");
    tree_drop("/7", "cgroup.procs");
    tree_drop("/7", "cgroup.kill");
    assert_int_equal(mkdir(tree_path("/7/made-by-the-task"), 0755), 0);
    tri_bounds_tidy(&bounds);
    assert_int_equal(bounds.left_count, 0);
    assert_int_equal(access(tree_path("/7"), F_OK), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(its_bound_is_of_memory_alone),
        TEST(what_a_kernel_lacks_is_left_out),
        TEST(what_cannot_be_bounded_is_not_used),
        TEST(its_end_says_what_it_used),
        TEST(a_kill_without_its_bound_is_not_its_own),
        TEST(without_its_files_nothing_is_said),
        TEST(what_is_left_is_removed_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
