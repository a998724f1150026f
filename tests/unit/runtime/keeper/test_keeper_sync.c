/*
 * Bringing folders to the disk: each job comes back once, whatever its task has left there, and one
 * whose bytes have no room on the disk says so. That bytes are there after the loss of power is
 * stress/power_cut's.
 */
#include "runtime/keeper/keeper_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/keeper/keeper_children.h"
#include "runtime/memory.h"
#include "tests/support/test.h"

enum { JOBS_MAX = 64, WAIT_MS_MAX = 20000 };

struct stand {
    char folder[64];
    int store;
    struct tri_keeper_sync sync;
    struct tri_sync_job jobs[JOBS_MAX];
    char names[JOBS_MAX][256];
};

static int set_up(void **state)
{
    struct stand *stand = calloc(1, sizeof *stand);
    snprintf(stand->folder, sizeof stand->folder, "/tmp/troupe-sync-XXXXXX");
    assert_non_null(mkdtemp(stand->folder));
    stand->store = open(stand->folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(tri_keeper_sync_init(&stand->sync, stand->store), 0);
    *state = stand;
    return 0;
}

static int take_down(void **state)
{
    struct stand *stand = *state;
    char command[256];
    tri_keeper_sync_fini(&stand->sync);
    close(stand->store);
    snprintf(command, sizeof command, "chmod -R u+rwx %s && rm -r %s", stand->folder,
             stand->folder);
    assert_int_equal(system(command), 0);
    free(stand);
    return 0;
}

/* An attempt's folder, made by a line of shell. */
static struct tri_sync_job *job_of(struct stand *stand, int number, const char *script)
{
    char command[1024];
    struct tri_sync_job *job = &stand->jobs[number];
    char name[256];
    snprintf(name, sizeof name, "%s/attempts/x/a%d", stand->folder, number);
    snprintf(command, sizeof command, "mkdir -p %s && cd %s && %s", name, name, script);
    memcpy(stand->names[number], name, sizeof name);
    assert_int_equal(system(command), 0);
    *job = (struct tri_sync_job){.folder = stand->names[number], .user = job, .number = -1};
    return job;
}

/* Takes so many jobs, each of which comes once. */
static void take(struct stand *stand, int count)
{
    while (count > 0) {
        struct pollfd polled = {.fd = tri_keeper_sync_descriptor(&stand->sync), .events = POLLIN};
        struct tri_sync_job *job = tri_keeper_sync_take(&stand->sync);
        if (job == NULL) {
            assert_int_equal(poll(&polled, 1, WAIT_MS_MAX), 1);
            continue;
        }
        assert_ptr_equal(job->user, job);
        job->user = NULL;
        count--;
    }
    assert_null(tri_keeper_sync_take(&stand->sync));
}

static void whatever_a_task_left_is_synced(void **state)
{
    static const char *const scripts[] = {
        "true",
        "echo 1 > outputs.json; mkdir -p a/b; echo 2 > a/b/c; ln -s /nonexistent link; mkfifo pipe",
        "rmdir ../a2",                                  /* the folder itself is gone */
        "echo 1 > f; chmod 0 f; mkdir d; chmod 0 d; :", /* closed */
        "for i in $(seq 300); do echo $i > $i; done",   /* more than are synced one by one */
        "p=d; for i in $(seq 40); do p=$p/d; done; mkdir -p $p",
    };
    struct stand *stand = *state;
    for (int i = 0; i < (int)TR_COUNT_OF(scripts); i++) {
        tri_keeper_sync_give(&stand->sync, job_of(stand, i, scripts[i]));
        take(stand, 1);
        assert_int_equal(stand->jobs[i].number, 0);
    }
}

static void many_at_once_are_one_batch(void **state)
{
    struct stand *stand = *state;
    for (int i = 0; i < JOBS_MAX; i++) {
        (void)job_of(stand, i, "echo 1 > outputs.json");
    }
    for (int i = 0; i < JOBS_MAX; i++) {
        tri_keeper_sync_give(&stand->sync, &stand->jobs[i]);
    }
    take(stand, JOBS_MAX);
    for (int i = 0; i < JOBS_MAX; i++) {
        assert_int_equal(stand->jobs[i].number, 0);
    }
}

/* What is under way when the thread ends is done first. */
static void an_end_waits_for_what_is_under_way(void **state)
{
    struct stand *stand = *state;
    tri_keeper_sync_give(&stand->sync, job_of(stand, 0, "echo 1 > outputs.json"));
    tri_keeper_sync_fini(&stand->sync);
    assert_int_equal(stand->jobs[0].number, 0);
    assert_int_equal(tri_keeper_sync_init(&stand->sync, stand->store), 0);
}

/* Bytes that the disk has refused may have been all that a process has done. */
static void what_cannot_be_synced_is_lost(void **state)
{
    (void)state;
    struct tri_child child = {.end = {.outcome = TR_PROCESS_EXITED, .status = 3}};
    child.sync = (struct tri_sync_job){.user = &child, .number = EIO};
    assert_ptr_equal(tri_children_synced(&child.sync), &child);
    assert_int_equal(child.end.outcome, TR_PROCESS_LOST);
    assert_false(child.end.is_synced);
    assert_true(tr_text_equal(child.end.reason,
                              tr_text_of("its files cannot be synced: Input/output error")));
    tr_free(child.reason);
    child = (struct tri_child){.end = {.outcome = TR_PROCESS_EXITED, .status = 3}};
    child.sync = (struct tri_sync_job){.user = &child};
    assert_ptr_equal(tri_children_synced(&child.sync), &child);
    assert_int_equal(child.end.outcome, TR_PROCESS_EXITED);
    assert_true(child.end.is_synced);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whatever_a_task_left_is_synced, set_up, take_down),
        cmocka_unit_test_setup_teardown(many_at_once_are_one_batch, set_up, take_down),
        cmocka_unit_test(what_cannot_be_synced_is_lost),
        cmocka_unit_test_setup_teardown(an_end_waits_for_what_is_under_way, set_up, take_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
