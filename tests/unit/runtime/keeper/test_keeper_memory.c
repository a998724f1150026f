/*
 * What the kernel's counts say of a process that was killed: files in the form that memory.events,
 * memory.oom_control and /proc/vmstat have.
 */
#include "runtime/keeper/keeper_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "schemas/runtime/process.h"
#include "tests/support/test.h"

static char folder[] = "/tmp/troupe-memory-XXXXXX";
static char cgroup[64];
static char machine[64];

static void write_count(const char *path, const char *before, int count)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%soom_kill %d\noom_group_kill 0\n", before, count);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(cgroup, sizeof cgroup, "%s/events", folder);
    snprintf(machine, sizeof machine, "%s/vmstat", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(cgroup);
    (void)unlink(machine);
    return rmdir(folder);
}

static void kills_from_before_are_nobodys(void **state)
{
    (void)state;
    struct tri_keeper_memory memory;
    write_count(cgroup, "low 0\nhigh 7\nmax 3\noom 3\n", 3);
    write_count(machine, "nr_free_pages 100\n", 12);
    tri_keeper_memory_init(&memory, cgroup, machine);
    assert_int_equal(tri_keeper_memory_take(&memory), TR_MEMORY_KILL_NONE);
    tri_keeper_memory_fini(&memory);
}

static void each_kill_is_taken_once(void **state)
{
    (void)state;
    struct tri_keeper_memory memory;
    write_count(cgroup, "oom 0\n", 0);
    write_count(machine, "", 12);
    tri_keeper_memory_init(&memory, cgroup, machine);
    write_count(cgroup, "oom 2\n", 2);
    write_count(machine, "", 14);
    assert_int_equal(tri_keeper_memory_take(&memory), TR_MEMORY_KILL_CGROUP);
    assert_int_equal(tri_keeper_memory_take(&memory), TR_MEMORY_KILL_CGROUP);
    assert_int_equal(tri_keeper_memory_take(&memory), TR_MEMORY_KILL_NONE);
    /* Another cgroup's: the machine counts it, and more is not known. */
    write_count(machine, "", 15);
    assert_int_equal(tri_keeper_memory_take(&memory), TR_MEMORY_KILL_MACHINE);
    assert_int_equal(tri_keeper_memory_take(&memory), TR_MEMORY_KILL_NONE);
    tri_keeper_memory_fini(&memory);
}

static void known_kills_are_passed_over(void **state)
{
    (void)state;
    struct tri_keeper_memory memory;
    write_count(cgroup, "oom 0\n", 0);
    write_count(machine, "", 12);
    tri_keeper_memory_init(&memory, cgroup, machine);
    write_count(cgroup, "oom 2\n", 2);
    write_count(machine, "", 14);
    tri_keeper_memory_pass(&memory);
    assert_int_equal(tri_keeper_memory_take(&memory), TR_MEMORY_KILL_NONE);
    tri_keeper_memory_fini(&memory);
}

static void without_counts_nothing_is_said(void **state)
{
    (void)state;
    struct tri_keeper_memory memory;
    tri_keeper_memory_init(&memory, "/no/such/file", "/no/such/file");
    assert_int_equal(tri_keeper_memory_take(&memory), TR_MEMORY_KILL_NONE);
    tri_keeper_memory_fini(&memory);
    /* A file without the word, such as an older kernel's. */
    write_count(cgroup, "oom 1\nx", 1);
    tri_keeper_memory_init(&memory, cgroup, "/no/such/file");
    write_count(cgroup, "oom 2\nx", 2);
    assert_int_equal(tri_keeper_memory_take(&memory), TR_MEMORY_KILL_NONE);
    tri_keeper_memory_fini(&memory);
}

static void the_machines_own_counts_can_be_read(void **state)
{
    (void)state;
    struct tri_keeper_memory memory;
    tri_keeper_memory_init(&memory, NULL, NULL);
    assert_true(memory.machine >= 0);
    tri_keeper_memory_fini(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kills_from_before_are_nobodys),
        cmocka_unit_test(each_kill_is_taken_once),
        cmocka_unit_test(known_kills_are_passed_over),
        cmocka_unit_test(without_counts_nothing_is_said),
        cmocka_unit_test(the_machines_own_counts_can_be_read),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
