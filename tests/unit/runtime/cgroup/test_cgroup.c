/*
 * Words and numbers in the files of a group, and removing groups in groups.
 */
#include "runtime/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "tests/unit/runtime/cgroup/tree.h"

static int group;

static int set_up(void **state)
{
    (void)state;
    group = open(tree_new(), O_RDONLY | O_DIRECTORY);
    return group < 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(group);
    tree_remove();
    return 0;
}

static void words_are_whole(void **state)
{
    (void)state;
    tree_write("", "cgroup.controllers", "cpu memory_recursive pids\n");
    assert_true(tri_cgroup_has_word(group, "cgroup.controllers", "cpu"));
    assert_true(tri_cgroup_has_word(group, "cgroup.controllers", "pids"));
    assert_false(tri_cgroup_has_word(group, "cgroup.controllers", "memory"));
    assert_false(tri_cgroup_has_word(group, "missing", "memory"));
}

static void numbers_stand_behind_their_words(void **state)
{
    (void)state;
    tree_write("", "memory.events", "oom_group_kill 5\noom 2\noom_kill 3\n");
    assert_int_equal(tri_cgroup_number(group, "memory.events", "oom_kill"), 3);
    assert_int_equal(tri_cgroup_number(group, "memory.events", "oom"), 2);
    assert_int_equal(tri_cgroup_number(group, "memory.events", "low"), 0);
    tree_write("", "memory.peak", "123456789012\n");
    assert_int_equal(tri_cgroup_number(group, "memory.peak", ""), 123456789012);
    assert_int_equal(tri_cgroup_number(group, "missing", ""), 0);
}

static void what_is_not_there_is_not_made(void **state)
{
    (void)state;
    errno = 0;
    assert_false(tri_cgroup_write(group, "memory.max", "1"));
    assert_int_equal(errno, ENOENT);
    assert_string_equal(tree_read("", "memory.max"), "-");
    assert_false(tri_cgroup_kill(group));
}

static void a_common_folder_is_no_group(void **state)
{
    (void)state;
    assert_int_equal(tri_cgroup_open(tree_path("")), -1);
}

static void groups_in_groups_are_removed(void **state)
{
    (void)state;
    assert_int_equal(mkdir(tree_path("/a"), 0755), 0);
    assert_int_equal(mkdir(tree_path("/a/b"), 0755), 0);
    assert_int_equal(mkdir(tree_path("/a/b/c"), 0755), 0);
    assert_int_equal(mkdir(tree_path("/a/d"), 0755), 0);
    assert_true(tri_cgroup_remove(group, "a"));
    assert_int_equal(access(tree_path("/a"), F_OK), -1);
    assert_true(tri_cgroup_remove(group, "a")); /* it is gone already */
    assert_int_equal(mkdir(tree_path("/a"), 0755), 0);
    tree_write("/a", "busy", "as a group with a process is");
    assert_false(tri_cgroup_remove(group, "a"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(words_are_whole),
        TEST(numbers_stand_behind_their_words),
        TEST(what_is_not_there_is_not_made),
        TEST(a_common_folder_is_no_group),
        TEST(groups_in_groups_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
