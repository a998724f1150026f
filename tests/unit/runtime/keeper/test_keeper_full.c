/*
 * A full disk: starts are refused and leave nothing behind, ends are kept until there is room, and
 * then all goes on.
 *
 * The disk is a small tmpfs in a mount namespace of this program's own; where that is not allowed,
 * the test is skipped.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/helper_process.h"
#include "tests/support/keeper_fixture.h"
#include "tests/support/test.h"

static char disk[] = "/tmp/troupe-disk-XXXXXX";

static bool mount_disk(void)
{
    return mkdtemp(disk) != NULL && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", disk, "tmpfs", 0, "size=1m,mode=0700") == 0;
}

static void fill_disk(const char *path)
{
    static const char block[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true(fd >= 0);
    while (write(fd, block, sizeof block) > 0) {
        continue;
    }
    close(fd);
}

/* Bytes of the log's only page that are left: less than an end with its start takes is none. */
static bool is_log_full(const struct keeper_fixture *fixture)
{
    struct stat status;
    char path[5000];
    snprintf(path, sizeof path, "%s/keeper.log", fixture->folder);
    assert_int_equal(stat(path, &status), 0);
    return status.st_size % 4096 > 4096 - 250;
}

/* Waits for an end; false when the log is full and none comes for a while. */
static bool has_ended(struct keeper_fixture *fixture)
{
    int waited = 0;
    while (fixture_count(fixture, &tr_process_ended_schema) == 0) {
        fixture_listen(fixture, 1);
        waited++;
        if (waited > 300 && is_log_full(fixture)) {
            return false;
        }
        assert_true(waited < WAIT_MS_MAX);
    }
    return true;
}

/* Starts processes until an end is not told, or a start is refused; gives how many were told. */
static int run_until_full(struct keeper_fixture *fixture)
{
    for (int i = 0; i < 3000; i++) {
        char key[32];
        snprintf(key, sizeof key, "process/%d", i);
        struct job job = {.key = key, .argv = {"/bin/true"}};
        fixture_start(fixture, &job);
        if (!has_ended(fixture)) {
            return i;
        }
        fixture_await(fixture, &tr_process_ended_schema, key);
        fixture_await(fixture, &tr_process_started_schema, key);
    }
    return -1;
}

static int set_up(void **state)
{
    *state = mount_disk() ? fixture_new(disk) : NULL;
    return 0;
}

/* Also when the test has failed: a keeper whose disk is full would stay. */
static int take_down(void **state)
{
    char junk[64];
    if (*state != NULL) {
        snprintf(junk, sizeof junk, "%s/junk", disk);
        unlink(junk);
        fixture_free(*state);
        umount2(disk, MNT_DETACH);
    }
    rmdir(disk);
    return 0;
}

static void a_full_disk_is_waited_out(void **state)
{
    struct keeper_fixture *fixture = *state;
    static const char *const words[] = {"unsynced", "1", NULL};
    if (fixture == NULL) {
        skip();
    }
    char junk[64];
    snprintf(junk, sizeof junk, "%s/junk", disk);
    fixture_connect_with(fixture, words);
    struct job runs = {.key = "runs", .act = {"heed", "pids"}, .grace_ms = 5000};
    fixture_start(fixture, &runs);
    fixture_await(fixture, &tr_process_started_schema, "runs");
    uint32_t pid;
    fixture_await_pids(fixture, "pids", 1, &pid); /* it heeds from now on */
    fill_disk(junk);
    int ran = run_until_full(fixture);
    assert_true(ran >= 0);
    fixture_stop(fixture, "runs", TR_PROCESS_GRACE_AS_STARTED);
    fixture_listen(fixture, 100);
    struct job late = {.key = "late", .argv = {"/bin/true"}};
    fixture_start(fixture, &late);
    struct received refusal = fixture_await(fixture, &tr_process_refused_schema, "late");
    assert_int_equal(refusal.error, TR_STORE_FULL);
    fixture_query(fixture, "late");
    assert_int_equal(fixture_await(fixture, &tr_process_state_schema, "late").phase,
                     TR_PROCESS_NEW);
    assert_int_equal(fixture_count(fixture, &tr_process_ended_schema), 0);
    assert_int_equal(unlink(junk), 0);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "runs");
    assert_int_equal(end.ended.outcome, TR_PROCESS_EXITED);
    assert_int_equal(end.ended.status, 7);
    end = fixture_run(fixture, &late);
    assert_int_equal(end.ended.outcome, TR_PROCESS_EXITED);
    size_t held = fixture_count(fixture, &tr_process_ended_schema);
    /* The log is whole: another keeper reads all of it. */
    fixture_kill_keeper(fixture);
    fixture_await_down(fixture);
    fixture->received_count = 0;
    fixture_connect(fixture);
    assert_int_equal(fixture->hello.unforgotten, (size_t)ran + held + 2);
}

int main(int count, char **arguments)
{
    int status = helper_main(count, arguments);
    if (status >= 0) {
        return status;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_full_disk_is_waited_out, set_up, take_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
