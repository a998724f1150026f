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

#include "tests/support/test.h"
#include "tests/unit/runtime/env/act.h"
#include "tests/unit/runtime/env/keeper_fixture.h"

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

/* Waits a while for either; whether something came. */
static bool has_come(struct keeper_fixture *fixture, const struct tr_schema *schema)
{
    for (int i = 0; i < 300 && fixture_count(fixture, schema) == 0; i++) {
        fixture_listen(fixture, 1);
    }
    return fixture_count(fixture, schema) > 0;
}

/* Starts processes until an end is not told, or a start is refused; gives how many were told. */
static int run_until_full(struct keeper_fixture *fixture)
{
    for (int i = 0; i < 3000; i++) {
        char key[32];
        snprintf(key, sizeof key, "process/%d", i);
        struct job job = {.key = key, .argv = {"/bin/true"}};
        fixture_start(fixture, &job);
        if (!has_come(fixture, &tr_process_ended_schema)) {
            return i;
        }
        fixture_await(fixture, &tr_process_ended_schema, key);
        fixture_await(fixture, &tr_process_started_schema, key);
    }
    return -1;
}

static void a_full_disk_is_waited_out(void **state)
{
    (void)state;
    static const char *const words[] = {"unsynced", "1", NULL};
    if (!mount_disk()) {
        skip();
    }
    struct keeper_fixture *fixture = fixture_new(disk);
    char junk[64];
    snprintf(junk, sizeof junk, "%s/junk", disk);
    fixture_connect_with(fixture, words);
    struct job runs = {.key = "runs", .act = {"heed", "/dev/null"}, .grace_ms = 5000};
    fixture_start(fixture, &runs);
    fixture_await(fixture, &tr_process_started_schema, "runs");
    act_wait_ms(50); /* until it heeds */
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
    fixture_free(fixture);
    assert_int_equal(umount2(disk, MNT_DETACH), 0);
    rmdir(disk);
}

int main(int count, char **arguments)
{
    int status = act_main(count, arguments);
    if (status >= 0) {
        return status;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_full_disk_is_waited_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
