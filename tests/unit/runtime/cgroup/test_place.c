/*
 * Where a keeper makes its control group, and in which words it says that memory is not bounded:
 * each way in which the set-up can fail, over a folder in the place of the kernel's tree.
 */
#include "runtime/cgroup/place.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "tests/unit/runtime/cgroup/tree.h"

#define OWN_PID 400
#define ENGINE_PID 300
#define ALL "cpu memory pids\n"
#define STRANGERS "other processes are in the control group"

static const char *root;
static struct tri_cgroup_place place;

static int set_up(void **state)
{
    (void)state;
    root = tree_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tree_remove();
    return 0;
}

static void find(const char *own)
{
    struct tri_cgroup_view view = {
        .mount = root, .own = own, .own_pid = OWN_PID, .engine_pid = ENGINE_PID, .is_faked = true};
    tri_cgroup_place_find(&view, &place);
}

static void expect_place(const char *name)
{
    assert_string_equal(place.why, "");
    assert_true(place.has_memory);
    assert_string_equal(place.path, tree_path(name));
    assert_string_equal(tree_read(name, "cgroup.subtree_control"), "+memory");
}

/* Nothing can be bounded: the group is made in the own one all the same. */
static void expect_none(const char *own, const char *words)
{
    assert_false(place.has_memory);
    assert_string_equal(place.path, tree_path(own));
    if (strstr(place.why, words) == NULL) {
        print_error("%s\n", place.why);
    }
    assert_non_null(strstr(place.why, words));
}

/* ---- Where it can be. ----------------------------------------------------------------------- */

static void the_root_may_have_processes(void **state)
{
    (void)state;
    tree_group("", ALL, "1\n300\n400\n");
    find("/");
    expect_place("");
    assert_string_equal(place.origin, root);
}

static void a_group_that_divides_already_is_used(void **state)
{
    (void)state;
    tree_group("", ALL, "1\n");
    tree_group("/user", ALL, "");
    tree_group("/user/session.scope", "memory\n", "200\n300\n400\n");
    tree_write("/user", "cgroup.subtree_control", "cpu memory\n");
    find("/user/session.scope");
    assert_true(place.has_memory);
    assert_string_equal(place.path, tree_path("/user"));
    assert_string_equal(place.origin, tree_path("/user/session.scope"));
    assert_string_equal(tree_read("/user", "cgroup.subtree_control"), "cpu memory\n");
}

/* As systemd makes them with DelegateSubgroup=engine. */
static void a_delegated_group_without_processes_divides(void **state)
{
    (void)state;
    tree_group("", ALL, "1\n");
    tree_group("/troupe.service", ALL, "");
    tree_group("/troupe.service/engine", "", "300\n400\n");
    find("/troupe.service/engine");
    expect_place("/troupe.service");
}

/* The bound of its own keeps it from being left. */
static void the_engines_own_group_is_emptied(void **state)
{
    (void)state;
    tree_group("", ALL, "1\n");
    tree_group("/box", ALL, "300\n400\n");
    tree_write("/box", "memory.max", "1000000\n");
    tree_group("/box/" TRI_CGROUP_ENGINE, "", "");
    find("/box");
    /* Processes do not leave a common folder by being written elsewhere, so it cannot divide. */
    assert_string_equal(tree_read("/box/" TRI_CGROUP_ENGINE, "cgroup.procs"), "400");
    assert_string_equal(place.origin, tree_path("/box/" TRI_CGROUP_ENGINE));
    expect_none("/box", STRANGERS);
}

/* ---- Where it cannot. ----------------------------------------------------------------------- */

static void without_groups_that_is_said(void **state)
{
    (void)state;
    struct tri_cgroup_view view = {.mount = NULL};
    tri_cgroup_place_find(&view, &place);
    assert_string_equal(place.path, "");
    assert_string_equal(place.why, "this machine has no control groups of version 2; boot with "
                                   "systemd.unified_cgroup_hierarchy=1");
}

static void without_the_controller_that_is_said(void **state)
{
    (void)state;
    tree_group("", "cpu pids\n", "1\n300\n");
    find("/");
    expect_none("", "no memory controller here, since version 1 has it or the kernel lacks it");
    assert_string_equal(tree_read("", "cgroup.subtree_control"), "");
}

static void a_group_that_is_not_there_is_no_place(void **state)
{
    (void)state;
    tree_group("", ALL, "1\n");
    find("/gone");
    assert_string_equal(place.path, "");
    assert_non_null(strstr(place.why, "/gone cannot be opened"));
}

static void a_controller_that_cannot_be_handed_on_is_none(void **state)
{
    (void)state;
    tree_group("", ALL, "1\n");
    tree_group("/box", ALL, "200\n");
    tree_drop("/box", "cgroup.subtree_control");
    tree_drop("", "cgroup.subtree_control");
    find("/box");
    expect_none("/box", STRANGERS);
}

/* What runs in it would escape its bound. */
static void a_bound_is_not_escaped_from(void **state)
{
    (void)state;
    static const char *const names[] = {"memory.max", "memory.high"};
    tree_group("", ALL, "1\n");
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        char box[16];
        (void)snprintf(box, sizeof box, "/box%zu", i);
        tree_group(box, ALL, "200\n300\n400\n");
        tree_write(box, names[i], "4294967296\n");
        find(box);
        expect_none(box, STRANGERS);
    }
    assert_string_equal(tree_read("", "cgroup.subtree_control"), "");
}

/* The manager could not start it again while a group with its processes divides. */
static void a_services_group_is_neither_left_nor_emptied(void **state)
{
    (void)state;
    tree_group("", ALL, "1\n");
    tree_group("/troupe.service", ALL, "300\n400\n");
    find("/troupe.service");
    expect_none("/troupe.service",
                "add Delegate=yes and DelegateSubgroup=engine to the unit (systemd 254 or newer)");
    assert_string_equal(tree_read("/troupe.service/" TRI_CGROUP_ENGINE, "cgroup.procs"), "-");
    assert_string_equal(tree_read("", "cgroup.subtree_control"), "");
}

/* What was delegated ends there: what is above it is the manager's. */
static void a_delegated_group_is_emptied_and_not_left(void **state)
{
    (void)state;
    tree_group("", ALL, "1\n");
    tree_group("/run.scope", ALL, "200\n300\n400\n");
    if (setxattr(tree_path("/run.scope"), "user.delegate", "1", 1, 0) != 0) {
        skip(); /* a file system without such attributes */
    }
    tree_group("/run.scope/" TRI_CGROUP_ENGINE, "", "");
    find("/run.scope");
    assert_false(place.has_memory);
    assert_string_equal(tree_read("", "cgroup.subtree_control"), "");
    assert_string_equal(tree_read("/run.scope/" TRI_CGROUP_ENGINE, "cgroup.procs"), "400");
}

/* What is above it does not hand the controller on to it, and it is not left. */
static void a_group_without_the_controller_is_none(void **state)
{
    (void)state;
    tree_group("", ALL, "1\n");
    tree_group("/box", "pids\n", "200\n300\n400\n");
    tree_write("/box", "memory.max", "1000000\n");
    find("/box");
    expect_none("/box", "/box has no memory controller; start the engine by `systemd-run --user");
}

static void strangers_are_not_moved(void **state)
{
    (void)state;
    tree_group("", ALL, "1\n");
    tree_group("/box", ALL, "200\n300\n400\n");
    tree_write("/box", "memory.max", "1000000\n");
    find("/box");
    expect_none("/box", "start the engine by `systemd-run --user --scope -p Delegate=yes");
    assert_string_equal(tree_read("/box/" TRI_CGROUP_ENGINE, "cgroup.procs"), "-");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_root_may_have_processes),
        TEST(a_group_that_divides_already_is_used),
        TEST(a_delegated_group_without_processes_divides),
        TEST(the_engines_own_group_is_emptied),
        TEST(without_groups_that_is_said),
        TEST(without_the_controller_that_is_said),
        TEST(a_group_that_is_not_there_is_no_place),
        TEST(a_controller_that_cannot_be_handed_on_is_none),
        TEST(a_bound_is_not_escaped_from),
        TEST(a_services_group_is_neither_left_nor_emptied),
        TEST(a_delegated_group_is_emptied_and_not_left),
        TEST(a_group_without_the_controller_is_none),
        TEST(strangers_are_not_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
