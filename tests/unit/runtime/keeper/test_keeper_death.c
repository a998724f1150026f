/*
 * What becomes of it all when the engine or the keeper is killed, the log is torn or damaged, or
 * keepers come and go.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/keeper/keeper_log.h"
#include "runtime/keeper_client/keeper_folder.h"
#include "runtime/process/proc.h"
#include "tests/support/helper_process.h"
#include "tests/support/keeper_fixture.h"
#include "tests/support/test.h"

/* ---- The engine dies. ----------------------------------------------------------------------- */

static void ends_wait_for_the_engine(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    uint32_t keeper = fixture->hello.pid;
    struct job early = {.key = "early", .act = {"wait", "50"}};
    struct job late = {.key = "late", .act = {"wait", "300"}};
    struct job gone = {.key = "gone", .act = {"exit", "0"}};
    fixture_run(fixture, &gone);
    fixture_forget(fixture, "gone");
    fixture_start(fixture, &early);
    fixture_start(fixture, &late);
    fixture_await(fixture, &tr_process_started_schema, "late");
    fixture_disconnect(fixture);
    helper_wait_ms(150);
    fixture_connect(fixture);
    assert_int_equal(fixture->hello.pid, keeper);
    assert_int_equal(fixture->hello.running, 1);
    assert_int_equal(fixture->hello.unforgotten, 1);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "early");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
    end = fixture_await(fixture, &tr_process_ended_schema, "late");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
    assert_int_equal(fixture_count(fixture, &tr_process_ended_schema), 0);
}

/* ---- The keeper dies. ----------------------------------------------------------------------- */

static void a_dead_keeper_is_followed(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job done = {.key = "done", .act = {"exit", "5"}};
    struct job runs = {.key = "runs", .act = {"resist", "p1"}};
    struct job leads = {.key = "leads", .act = {"leave", "p2", "20000"}};
    struct job a_daemon = {.key = "daemon", .act = {"daemon", "p3", "20000"}};
    fixture_run(fixture, &done);
    fixture_start(fixture, &runs);
    fixture_start(fixture, &leads);
    fixture_start(fixture, &a_daemon);
    uint32_t pids[4];
    fixture_await_pids(fixture, "p1", 1, pids);
    fixture_await_pids(fixture, "p2", 1, pids + 1);
    fixture_await_pids(fixture, "p3", 1, pids + 2);
    pids[3] = fixture_await(fixture, &tr_process_started_schema, "leads").pid;
    fixture_kill_keeper(fixture);
    fixture_await_down(fixture);
    assert_int_equal(fixture->down_error, TR_NO_CONNECTION);
    for (size_t i = 0; i < TR_COUNT_OF(pids); i++) {
        assert_true(fixture_is_running(pids[i], 0));
    }
    fixture_connect(fixture);
    static const char *const unknown[] = {"runs", "leads", "daemon"};
    for (size_t i = 0; i < TR_COUNT_OF(unknown); i++) {
        struct received end = fixture_await(fixture, &tr_process_ended_schema, unknown[i]);
        fixture_expect_end(&end, TR_PROCESS_UNKNOWN, 0);
        assert_non_null(strstr(end.reason, "killed"));
    }
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "done");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 5);
    for (size_t i = 0; i < TR_COUNT_OF(pids); i++) {
        assert_false(fixture_is_running(pids[i], 2000));
    }
    fixture_start(fixture, &runs); /* an unknown end is an end: it is not started again */
    end = fixture_await(fixture, &tr_process_ended_schema, "runs");
    fixture_expect_end(&end, TR_PROCESS_UNKNOWN, 0);
}

/* What it had begun elsewhere is ended by the command that the log has. */
static void the_next_keeper_runs_what_is_behind(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture->running_max = 1;
    fixture_connect(fixture);
    struct job runs = {.key = "runs",
                       .act = {"resist", "pids"},
                       .after = {"/bin/sh", "-c", "echo run >>$0", fixture_file(fixture, "a")}};
    struct job waits = {.key = "waits",
                        .act = {"resist", "pids"},
                        .after = {"/bin/sh", "-c", "echo run >>$0", fixture_file(fixture, "b")}};
    uint32_t pid;
    fixture_start(fixture, &runs);
    fixture_start(fixture, &waits);
    fixture_await_pids(fixture, "pids", 1, &pid);
    fixture_kill_keeper(fixture);
    fixture_await_down(fixture);
    fixture_connect(fixture);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "runs");
    fixture_expect_end(&end, TR_PROCESS_UNKNOWN, 0);
    assert_string_equal(fixture_read(fixture, "a"), "run\n");
    end = fixture_await(fixture, &tr_process_ended_schema, "waits");
    fixture_expect_end(&end, TR_PROCESS_NOT_STARTED, ECANCELED);
    assert_string_equal(fixture_read(fixture, "b"), ""); /* it never ran */
}

/* Who waited for a turn when the keeper died has certainly not run. */
static void who_waited_was_not_started(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture->running_max = 1;
    fixture_connect(fixture);
    struct job runs = {.key = "runs", .act = {"resist", "pids"}};
    struct job waits = {.key = "waits", .act = {"resist", "pids"}};
    uint32_t pid;
    fixture_start(fixture, &runs);
    fixture_start(fixture, &waits);
    fixture_await_pids(fixture, "pids", 1, &pid);
    fixture_kill_keeper(fixture);
    fixture_await_down(fixture);
    fixture_connect(fixture);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "runs");
    fixture_expect_end(&end, TR_PROCESS_UNKNOWN, 0);
    end = fixture_await(fixture, &tr_process_ended_schema, "waits");
    fixture_expect_end(&end, TR_PROCESS_NOT_STARTED, ECANCELED);
    assert_non_null(strstr(end.reason, "before it started"));
}

/* Writes a log by hand, as a keeper that died would have left it. */
static void write_log(struct keeper_fixture *fixture, const char *place, uint32_t pid,
                      uint64_t start_time)
{
    struct tri_buffer buffer = {0};
    char path[5000];
    struct tr_log_opened opened = {.store = 77, .place = tr_text_of(place), .pid = 1};
    struct tr_log_starting starting = {.key = tr_text_of("it")};
    struct tr_process_started started = {
        .key = tr_text_of("it"), .pid = pid, .start_time = start_time};
    assert_int_equal(tri_buffer_append(&buffer, "trkpr\0\0\1", 8), 0);
    assert_int_equal(tri_keeper_log_put(&buffer, 1, &tr_log_opened_schema, &opened, NULL), 0);
    assert_int_equal(tri_keeper_log_put(&buffer, 2, &tr_log_starting_schema, &starting, NULL), 0);
    assert_int_equal(tri_keeper_log_put(&buffer, 3, &tr_process_started_schema, &started, NULL), 0);
    snprintf(path, sizeof path, "%s/keeper.log", fixture->folder);
    FILE *file = fopen(path, "w");
    assert_int_equal(fwrite(tri_buffer_front(&buffer), 1, tri_buffer_size(&buffer), file),
                     tri_buffer_size(&buffer));
    fclose(file);
    tri_buffer_fini(&buffer);
}

/* A process of ours, in a group of its own, that no keeper started. */
static pid_t start_bystander(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        helper_wait_ms(20000);
        _exit(0);
    }
    helper_wait_ms(20); /* until it has its session */
    return pid;
}

/* Another process has the pid by now, or the log is of another place: nobody is killed. */
static void strangers_are_not_killed(void **state)
{
    struct keeper_fixture *fixture = *state;
    char place[TR_KEEPER_PLACE_BYTES_MAX];
    int folder;
    assert_int_equal(tri_keeper_folder_open(fixture->folder, &folder), 0);
    assert_int_equal(tri_keeper_folder_place(folder, place), 0);
    close(folder);
    pid_t bystander = start_bystander();
    struct tri_proc_stat stat;
    assert_int_equal(tri_proc_stat((uint32_t)bystander, &stat), 0);
    const struct {
        const char *place;
        uint64_t start_time;
        bool is_killed;
        uint8_t outcome;
    } rows[] = {
        {place, stat.start_time - 1, false, TR_PROCESS_UNKNOWN},
        {"boot of another machine", stat.start_time, false, TR_PROCESS_LOST},
        {place, stat.start_time, true, TR_PROCESS_UNKNOWN}, /* as above, and found */
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        write_log(fixture, rows[i].place, (uint32_t)bystander, rows[i].start_time);
        fixture_connect(fixture);
        struct received end = fixture_await(fixture, &tr_process_ended_schema, "it");
        fixture_expect_end(&end, rows[i].outcome, 0);
        assert_int_equal(fixture_is_running((uint32_t)bystander, rows[i].is_killed ? 2000 : 50),
                         !rows[i].is_killed);
        fixture_stop_keeper(fixture);
        fixture_await_down(fixture);
    }
    kill(bystander, SIGKILL);
}

/* ---- The log. ------------------------------------------------------------------------------- */

static void append_to_log(struct keeper_fixture *fixture, const void *bytes, size_t size)
{
    char path[5000];
    snprintf(path, sizeof path, "%s/keeper.log", fixture->folder);
    FILE *file = fopen(path, "a");
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void a_torn_tail_is_cut(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {.key = "it", .act = {"exit", "3"}};
    fixture_run(fixture, &job);
    fixture_kill_keeper(fixture);
    fixture_await_down(fixture);
    append_to_log(fixture, "\1\2\3 torn", 8);
    fixture_connect(fixture);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "it");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 3);
    char path[5000];
    snprintf(path, sizeof path, "../keeper.err");
    assert_non_null(strstr(fixture_read(fixture, path), "keeper.log was cut at byte"));
}

static void a_damaged_log_is_refused(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    for (int i = 0; i < 10; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        struct job job = {.key = key, .act = {"exit", "0"}};
        fixture_run(fixture, &job);
    }
    fixture_stop_keeper(fixture);
    fixture_await_down(fixture);
    char path[5000];
    snprintf(path, sizeof path, "%s/keeper.log", fixture->folder);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "????", 4, 300), 4);
    close(fd);
    assert_int_equal(fixture_try(fixture, NULL), TR_STORE_DAMAGED);
    assert_non_null(strstr(fixture->down_words, "keeper.log: at byte "));
    assert_non_null(strstr(fixture->down_words, "a record "));
    assert_int_equal(truncate(path, 0), 0);
    append_to_log(fixture, "SQLite format 3", 16);
    assert_int_equal(fixture_try(fixture, NULL), TR_STORE_FOREIGN);
}

/* How often the text is in the log. */
static size_t count_in_log(struct keeper_fixture *fixture, const char *text)
{
    static char bytes[1 << 20];
    char path[5000];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/keeper.log", fixture->folder);
    FILE *file = fopen(path, "r");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (char *at = bytes; (at = memmem(at, size - (size_t)(at - bytes), text, strlen(text)));) {
        at++;
        count++;
    }
    return count;
}

/* Forgotten keys leave the log when it is written anew, and nothing else does. */
static void the_log_is_written_anew(void **state)
{
    struct keeper_fixture *fixture = *state;
    static const char *const words[] = {"forgotten", "2000", NULL};
    fixture_connect_with(fixture, words);
    struct job kept = {.key = "kept", .act = {"exit", "9"}};
    fixture_run(fixture, &kept);
    for (int i = 0; i < 60; i++) {
        char key[32];
        snprintf(key, sizeof key, "forgotten/%d", i);
        struct job job = {.key = key, .argv = {"/bin/true"}};
        fixture_run(fixture, &job);
        fixture_forget(fixture, key);
    }
    fixture_listen(fixture, 50);
    assert_true(count_in_log(fixture, "forgotten/") < 60);
    assert_true(count_in_log(fixture, "kept") == 3);
    fixture_kill_keeper(fixture);
    fixture_await_down(fixture);
    fixture->received_count = 0;
    fixture_connect(fixture);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "kept");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 9);
    fixture_query(fixture, "forgotten/5");
    assert_int_equal(fixture_await(fixture, &tr_process_state_schema, "forgotten/5").phase,
                     TR_PROCESS_NEW);
}

/* ---- Keepers. ------------------------------------------------------------------------------- */

static void a_second_keeper_is_refused(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    char command[9000];
    char self[4096];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    self[size] = '\0';
    snprintf(command, sizeof command, "[ \"$('%s' keeper '%s')\" = exists ]", self,
             fixture->folder);
    assert_int_equal(system(command), 0);
    struct job job = {.key = "it", .act = {"exit", "0"}};
    fixture_run(fixture, &job);
}

static void two_folders_have_two_keepers(void **state)
{
    struct keeper_fixture *one = *state;
    struct keeper_fixture *other = fixture_new(NULL);
    fixture_connect(one);
    fixture_connect(other);
    assert_int_not_equal(one->hello.pid, other->hello.pid);
    struct job job = {.key = "same key", .act = {"resist", "pids"}};
    fixture_start(one, &job);
    fixture_start(other, &job);
    uint32_t pids[2];
    fixture_await_pids(one, "pids", 1, pids);
    fixture_await_pids(other, "pids", 1, pids + 1);
    fixture_kill_keeper(one);
    fixture_await_down(one);
    fixture_connect(one); /* kills what is left of its own, and of nobody else's */
    assert_false(fixture_is_running(pids[0], 2000));
    assert_true(fixture_is_running(pids[1], 50));
    fixture_free(other);
}

static void an_idle_keeper_leaves(void **state)
{
    struct keeper_fixture *fixture = *state;
    static const char *const words[] = {"idle", "100", NULL};
    fixture_connect_with(fixture, words);
    struct job job = {.key = "it", .act = {"wait", "300"}};
    fixture_start(fixture, &job);
    fixture_await(fixture, &tr_process_started_schema, "it");
    assert_false(fixture_await_gone(fixture, 150)); /* a client is here */
    fixture_disconnect(fixture);
    fixture->hello.pid = 0;
    assert_true(fixture_await_gone(fixture, 2000));
    fixture_connect_with(fixture, words); /* and the next one comes when it is needed */
    fixture_await(fixture, &tr_process_ended_schema, "it");
}

/* Its engine was killed and never comes back: it waits for the process, and then for a while. */
static void a_keeper_whose_engine_never_comes_leaves_the_ends(void **state)
{
    struct keeper_fixture *fixture = *state;
    static const char *const words[] = {"idle", "100", NULL};
    fixture_connect_with(fixture, words);
    struct job running = {.key = "runs", .act = {"wait", "2000"}};
    struct job short_one = {.key = "short", .act = {"exit", "3"}};
    fixture_start(fixture, &running);
    fixture_start(fixture, &short_one);
    fixture_await(fixture, &tr_process_ended_schema, "short");
    fixture_disconnect(fixture);
    assert_false(fixture_await_gone(fixture, 600)); /* something runs */
    assert_true(fixture_await_gone(fixture, 10000));
    fixture->hello.pid = 0;
    fixture->received_count = 0;
    fixture_connect_with(fixture, words); /* the next engine, with a keeper of its own */
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "short");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 3);
    end = fixture_await(fixture, &tr_process_ended_schema, "runs");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
    fixture_start(fixture, &short_one); /* known, and so not started again */
    end = fixture_await(fixture, &tr_process_ended_schema, "short");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 3);
}

/* Asked to end, a keeper stops what runs, writes it down, and leaves. */
static void a_keeper_that_is_asked_to_end_leaves(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {.key = "it", .act = {"heed", "pids"}, .grace_ms = 5000};
    uint32_t pid;
    fixture_start(fixture, &job);
    fixture_await_pids(fixture, "pids", 1, &pid);
    fixture_stop_keeper(fixture);
    fixture_await_down(fixture);
    fixture->received_count = 0;
    fixture_connect(fixture);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "it");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 7);
    assert_int_equal(end.ended.stopped_by, TR_PROCESS_STOPPED_BY_KEEPER);
}

static void a_keeper_leaves_with_its_folder(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {.key = "it", .act = {"resist", "pids"}};
    uint32_t pid;
    fixture_start(fixture, &job);
    fixture_await_pids(fixture, "pids", 1, &pid);
    char command[5000];
    snprintf(command, sizeof command, "rm -rf '%s'", fixture->folder);
    assert_int_equal(system(command), 0);
    fixture_await_down(fixture);
    assert_false(fixture_is_running(pid, 2000));
    assert_int_equal(mkdir(fixture->folder, 0700), 0);
    fixture->hello.pid = 0;
}

int main(int count, char **arguments)
{
    int status = helper_main(count, arguments);
    if (status >= 0) {
        return status;
    }
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_take_down)
    const struct CMUnitTest tests[] = {
        TEST(ends_wait_for_the_engine),
        TEST(the_next_keeper_runs_what_is_behind),
        TEST(a_dead_keeper_is_followed),
        TEST(who_waited_was_not_started),
        TEST(strangers_are_not_killed),
        TEST(a_torn_tail_is_cut),
        TEST(a_damaged_log_is_refused),
        TEST(the_log_is_written_anew),
        TEST(a_second_keeper_is_refused),
        TEST(two_folders_have_two_keepers),
        TEST(an_idle_keeper_leaves),
        TEST(a_keeper_whose_engine_never_comes_leaves_the_ends),
        TEST(a_keeper_that_is_asked_to_end_leaves),
        TEST(a_keeper_leaves_with_its_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
