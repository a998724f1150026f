/*
 * The keeper with real processes: that each way to end is told as it was, and that nothing is
 * started twice or left behind. test_keeper_log.c and test_keeper_death.c have the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/keeper/keeper.h"
#include "runtime/keeper_client/keeper_end.h"
#include "runtime/process/proc.h"
#include "tests/support/helper_process.h"
#include "tests/support/keeper_fixture.h"
#include "tests/support/test.h"

static void exit_status_is_told(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    static const uint32_t statuses[] = {0, 1, 3, 127, 255};
    for (size_t i = 0; i < TR_COUNT_OF(statuses); i++) {
        char key[16];
        char status[16];
        snprintf(key, sizeof key, "e/n@%zu", i);
        snprintf(status, sizeof status, "%u", statuses[i]);
        struct job job = {.key = key, .act = {"exit", status}};
        struct received end = fixture_run(fixture, &job);
        fixture_expect_end(&end, TR_PROCESS_EXITED, statuses[i]);
        assert_int_equal(end.ended.stopped_by, TR_PROCESS_STOPPED_BY_NOBODY);
        assert_true(end.ended.ended_ms >= end.ended.started_ms);
        struct received start = fixture_await(fixture, &tr_process_started_schema, key);
        assert_int_equal(start.pid, end.ended.pid);
    }
}

/* It is what /proc has, also where a hundredth of a second passes while a process starts. */
static void start_time_is_told(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    for (unsigned i = 0; i < 100; i++) {
        char key[16];
        snprintf(key, sizeof key, "time/%u", i);
        struct job job = {.key = key, .argv = {"/bin/sleep", "1000"}};
        fixture_start(fixture, &job);
        struct received start = fixture_await(fixture, &tr_process_started_schema, key);
        struct tri_proc_stat stat;
        assert_int_equal(tri_proc_stat(start.pid, &stat), 0);
        assert_true(start.start_time == stat.start_time);
        assert_int_equal(kill((pid_t)start.pid, SIGKILL), 0);
        (void)fixture_await(fixture, &tr_process_ended_schema, key);
    }
}

static void signal_is_told(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job segv = {.key = "segv", .act = {"signal", "11"}};
    struct received end = fixture_run(fixture, &segv);
    fixture_expect_end(&end, TR_PROCESS_SIGNALLED, SIGSEGV);
    struct job killed = {.key = "kill", .act = {"signal", "9"}};
    end = fixture_run(fixture, &killed);
    fixture_expect_end(&end, TR_PROCESS_SIGNALLED, SIGKILL);
}

static void usage_is_told(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {.key = "work", .act = {"work", "100"}};
    struct received end = fixture_run(fixture, &job);
    fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
    assert_true(end.ended.cpu_user_us + end.ended.cpu_system_us >= 100000);
    assert_true(end.ended.elapsed_us >= 100000);
    assert_true(end.ended.memory_bytes_max >= (32u << 20));
}

/* Session, group, descriptors, signals, umask, folder, environment and limits are as promised. */
static void surroundings_are_as_promised(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {.key = "tell",
                      .act = {"tell"},
                      .environment = {"PATH=/bin", "TROUPE_KEEPER_KEY=somebody's", "NAME=v=w"},
                      .stdout_path = "out",
                      .umask = 0027,
                      .limit = {.name = tr_text_of("open_files"), .soft = 99, .hard = 100}};
    struct received end = fixture_run(fixture, &job);
    fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
    const char *told = fixture_read(fixture, "out");
    char expected[5000];
    const char *environment = strstr(told, "env TROUPE_KEEPER_KEY=");
    assert_non_null(environment);
    snprintf(expected, sizeof expected,
             "fd 0\nfd 1\nfd 2\nblocked 0 ignored 0\nleader 1 1\numask 27\nfolder %s\n"
             "open_files 99\n%.*senv PATH=/bin\nenv NAME=v=w\n",
             fixture->work, (int)(strchr(environment, '\n') + 1 - environment), environment);
    assert_string_equal(told, expected);
    assert_non_null(strstr(environment, "/tell\n"));
    struct stat status;
    assert_int_equal(stat(fixture_file(fixture, "out"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
}

static void files_are_given(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    FILE *input = fopen(fixture_file(fixture, "in"), "w");
    fputs("hello\n", input);
    fclose(input);
    struct job job = {.key = "two",
                      .act = {"copy"},
                      .stdin_path = "in",
                      .stdout_path = "out",
                      .stderr_path = "err"};
    struct received end = fixture_run(fixture, &job);
    fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
    assert_string_equal(fixture_read(fixture, "out"), "hello\n");
    assert_string_equal(fixture_read(fixture, "err"), "copied\n");
    job.key = "one";
    job.stderr_path = "out";
    end = fixture_run(fixture, &job);
    assert_string_equal(fixture_read(fixture, "out"), "hello\ncopied\n");
}

static void huge_output_goes_to_the_file(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {.key = "huge", .act = {"write", "64"}, .stdout_path = "out"};
    struct received end = fixture_run(fixture, &job);
    fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
    struct stat status;
    assert_int_equal(stat(fixture_file(fixture, "out"), &status), 0);
    assert_int_equal(status.st_size, 64 << 20);
}

/* A program without a slash is found in the PATH of its own environment. */
static void program_is_searched(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    char path[5000];
    snprintf(path, sizeof path, "PATH=/nowhere:%s:/bin:/usr/bin", fixture->work);
    struct job job = {.key = "true", .argv = {"true"}, .environment = {path}};
    struct received end = fixture_run(fixture, &job);
    fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
    struct job nowhere = {.key = "no", .argv = {"true"}, .environment = {"PATH=/nowhere"}};
    end = fixture_run(fixture, &nowhere);
    fixture_expect_end(&end, TR_PROCESS_NOT_STARTED, ENOENT);
}

/* Each failure to start is an end that says what failed, and is known like any other end. */
static void failures_to_start_are_ends(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    FILE *plain = fopen(fixture_file(fixture, "plain"), "w");
    fputs("no program\n", plain);
    fclose(plain);
    assert_int_equal(mkfifo(fixture_file(fixture, "pipe"), 0600), 0);
    FILE *program = fopen(fixture_file(fixture, "garbage"), "w");
    fputs("\1\2\3 no program\n", program);
    fclose(program);
    assert_int_equal(chmod(fixture_file(fixture, "garbage"), 0700), 0);
    const struct {
        struct job job;
        uint32_t number;
        const char *words;
    } rows[] = {
        {{.key = "1", .argv = {"/no/such/program"}},
         ENOENT,
         "cannot run /no/such/program: No such"},
        {{.key = "2", .argv = {"./plain"}}, EACCES, "cannot run ./plain: Permission denied"},
        {{.key = "3", .argv = {"./garbage"}}, ENOEXEC, "cannot run ./garbage: Exec format error"},
        {{.key = "4", .act = {"exit", "0"}, .folder = "/no/folder"},
         ENOENT,
         "cannot work in the folder /no/folder: No such"},
        {{.key = "5", .act = {"exit", "0"}, .stdin_path = "none"}, ENOENT, "cannot open none"},
        {{.key = "6", .act = {"exit", "0"}, .stdout_path = "a/b"}, ENOENT, "cannot open a/b"},
        {{.key = "7", .act = {"exit", "0"}, .stdout_path = "pipe"}, ENXIO, "cannot open pipe"},
        {{.key = "8",
          .act = {"exit", "0"},
          .limit = {.name = tr_text_of("open_files"), .soft = 5, .hard = 4}},
         EINVAL,
         "cannot set the limit open_files"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct received end = fixture_run(fixture, &rows[i].job);
        fixture_expect_end(&end, TR_PROCESS_NOT_STARTED, rows[i].number);
        assert_non_null(strstr(end.reason, rows[i].words));
    }
    fixture_query(fixture, "4");
    assert_int_equal(fixture_await(fixture, &tr_process_state_schema, "4").phase, TR_PROCESS_ENDED);
    struct received again = fixture_await(fixture, &tr_process_ended_schema, "4");
    assert_non_null(strstr(again.reason, "/no/folder"));
    assert_int_equal(fixture_count(fixture, &tr_process_started_schema), 0);
}

/* What makes no sense is refused, and nothing is known of the key. */
static void nonsense_is_refused(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    static char long_key[TR_KEEPER_KEY_BYTES_MAX + 2];
    memset(long_key, 'k', sizeof long_key - 1);
    const struct {
        struct job job;
        int error;
        const char *words;
    } rows[] = {
        {{.key = "1", .argv = {""}}, TR_INVALID, "names no program"},
        {{.key = "2", .act = {"exit", "0"}, .folder = "work"}, TR_INVALID, "absolute"},
        {{.key = "3", .act = {"exit", "0"}, .environment = {"=x"}}, TR_INVALID, "NAME=value"},
        {{.key = "4",
          .act = {"exit", "0"},
          .limit = {.name = tr_text_of("patience"), .soft = 1, .hard = 1}},
         TR_INVALID,
         "'patience'"},
        {{.key = "", .act = {"exit", "0"}}, TR_INVALID, ""},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        fixture_start(fixture, &rows[i].job);
        struct received refusal =
            fixture_await(fixture, &tr_process_refused_schema, rows[i].job.key);
        assert_int_equal(refusal.error, rows[i].error);
        assert_non_null(strstr(refusal.reason, rows[i].words));
        fixture_query(fixture, rows[i].job.key);
        assert_int_equal(fixture_await(fixture, &tr_process_state_schema, rows[i].job.key).phase,
                         TR_PROCESS_NEW);
    }
    struct job job = {.key = long_key, .act = {"exit", "0"}};
    fixture_start(fixture, &job);
    fixture_listen(fixture, 100);
    assert_int_equal(fixture_count(fixture, &tr_process_refused_schema), 1);
}

/* A key is started once; whoever asks again hears what became of it, until it is forgotten. */
static void a_key_is_started_once(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {.key = "once", .act = {"heed", "pids"}, .grace_ms = 5000};
    fixture_start(fixture, &job);
    fixture_start(fixture, &job);
    uint32_t pid = fixture_await(fixture, &tr_process_started_schema, "once").pid;
    fixture_start(fixture, &job);
    assert_int_equal(fixture_await(fixture, &tr_process_started_schema, "once").pid, pid);
    uint32_t said;
    fixture_await_pids(fixture, "pids", 1, &said);
    assert_int_equal(said, pid);
    fixture_forget(fixture, "once"); /* it runs: nothing happens but an answer */
    assert_int_equal(fixture_await(fixture, &tr_process_state_schema, "once").phase,
                     TR_PROCESS_STARTING);
    assert_int_equal(fixture_await(fixture, &tr_process_state_schema, "once").phase,
                     TR_PROCESS_RUNNING);
    fixture_stop(fixture, "once", TR_PROCESS_GRACE_AS_STARTED);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "once");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 7);
    assert_int_equal(end.ended.stopped_by, TR_PROCESS_STOPPED_BY_REQUEST);
    fixture_start(fixture, &job);
    end = fixture_await(fixture, &tr_process_ended_schema, "once");
    assert_int_equal(end.ended.pid, pid);
    fixture_forget(fixture, "once");
    fixture_forget(fixture, "once");
    fixture_query(fixture, "once");
    assert_int_equal(fixture_await(fixture, &tr_process_state_schema, "once").phase,
                     TR_PROCESS_NEW);
    assert_true(strlen(fixture_read(fixture, "pids")) < 12); /* one line */
}

static void timeout_kills_after_grace(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job heeds = {.key = "heeds", .act = {"heed", "p1"}, .grace_ms = 5000, .timeout_ms = 500};
    struct job resists = {
        .key = "resists", .act = {"resist", "p2"}, .grace_ms = 200, .timeout_ms = 500};
    struct job at_once = {.key = "at once", .act = {"heed", "p3"}, .timeout_ms = 300};
    fixture_start(fixture, &heeds);
    fixture_start(fixture, &resists);
    fixture_start(fixture, &at_once);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "heeds");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 7);
    assert_int_equal(end.ended.stopped_by, TR_PROCESS_STOPPED_BY_TIMEOUT);
    end = fixture_await(fixture, &tr_process_ended_schema, "resists");
    fixture_expect_end(&end, TR_PROCESS_SIGNALLED, SIGKILL);
    assert_int_equal(end.ended.stopped_by, TR_PROCESS_STOPPED_BY_TIMEOUT);
    assert_true(end.ended.elapsed_us >= 690000);
    end = fixture_await(fixture, &tr_process_ended_schema, "at once");
    fixture_expect_end(&end, TR_PROCESS_SIGNALLED, SIGKILL);
}

static void say_lease(struct keeper_fixture *fixture, uint64_t lease_ms)
{
    const struct tr_keeper_lease lease = {.lease_ms = lease_ms};
    assert_int_equal(tri_keeper_client_send(fixture->client, &tr_keeper_lease_schema, &lease), 0);
    tri_keeper_client_flush(fixture->client);
}

/* Without another word for 0.8 of it processes end at once, and none begins. */
static void a_lease_that_is_over_ends_processes(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {.key = "it", .act = {"resist", "pids"}, .grace_ms = 60000};
    struct job later = {.key = "later", .act = {"exit", "0"}};
    uint32_t pid;
    fixture_start(fixture, &job);
    fixture_await_pids(fixture, "pids", 1, &pid);
    say_lease(fixture, 600000);
    struct received end = fixture_run(fixture, &later); /* as ever within it */
    fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
    assert_true(fixture_is_running(pid, 0));
    say_lease(fixture, 500);
    end = fixture_await(fixture, &tr_process_ended_schema, "it");
    fixture_expect_end(&end, TR_PROCESS_SIGNALLED, SIGKILL);
    assert_int_equal(end.ended.stopped_by, TR_PROCESS_STOPPED_BY_KEEPER);
    struct job refused = {.key = "refused", .act = {"exit", "0"}};
    fixture_start(fixture, &refused);
    struct received refusal = fixture_await(fixture, &tr_process_refused_schema, "refused");
    assert_string_equal(refusal.reason, "its engine has not heard from the database");
    say_lease(fixture, 600000); /* it goes on */
    end = fixture_run(fixture, &refused);
    fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
}

/* The engine's end changes nothing: nobody says the lease again. */
static void a_lease_goes_on_without_an_engine(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {.key = "it", .act = {"resist", "pids"}, .grace_ms = 60000};
    uint32_t pid;
    fixture_start(fixture, &job);
    fixture_await_pids(fixture, "pids", 1, &pid);
    say_lease(fixture, 2000);
    fixture_disconnect(fixture);
    assert_true(fixture_is_running(pid, 0));
    assert_false(fixture_is_running(pid, 20000));
    fixture_connect(fixture);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "it");
    assert_int_equal(end.ended.stopped_by, TR_PROCESS_STOPPED_BY_KEEPER);
}

/* An engine that has no other host beside it lifts what was said before. */
static void a_lease_is_lifted(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {.key = "it", .act = {"resist", "pids"}, .grace_ms = 0};
    uint32_t pid;
    fixture_start(fixture, &job);
    fixture_await_pids(fixture, "pids", 1, &pid);
    say_lease(fixture, 1000);
    say_lease(fixture, 0);
    assert_true(fixture_is_running(pid, 2500));
    fixture_stop(fixture, "it", 0);
    (void)fixture_await(fixture, &tr_process_ended_schema, "it");
}

/* A host that leaves its work to another ends what it runs, and knows when that has ended. */
static void all_of_it_is_ended(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {.key = "it", .act = {"resist", "pids"}, .grace_ms = 60000};
    uint32_t pid;
    uint32_t running = 0;
    static const char *const command[] = {"test", "keeper", NULL};
    fixture_start(fixture, &job);
    fixture_await_pids(fixture, "pids", 1, &pid);
    fixture_disconnect(fixture);
    assert_int_equal(tri_keeper_end_all(fixture->folder, command, false, 10000, &running), 0);
    assert_int_equal(running, 1);
    assert_int_equal(tri_keeper_end_all(fixture->folder, command, true, 10000, &running), 0);
    assert_int_equal(running, 0);
    assert_false(fixture_is_running(pid, 0));
}

/* A stop may shorten the grace of an earlier one; one for what does not run is answered. */
static void stop_may_come_again(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {.key = "it", .act = {"resist", "pids"}, .grace_ms = 60000};
    fixture_start(fixture, &job);
    uint32_t pid;
    fixture_await_pids(fixture, "pids", 1, &pid);
    fixture_stop(fixture, "it", TR_PROCESS_GRACE_AS_STARTED);
    fixture_listen(fixture, 50);
    assert_int_equal(fixture_count(fixture, &tr_process_ended_schema), 0);
    fixture_stop(fixture, "it", 0);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "it");
    fixture_expect_end(&end, TR_PROCESS_SIGNALLED, SIGKILL);
    fixture_stop(fixture, "nobody", 0);
    assert_int_equal(fixture_await(fixture, &tr_process_state_schema, "nobody").phase,
                     TR_PROCESS_NEW);
    /* Asked for and stopped in one breath. */
    struct job brief = {.key = "brief", .act = {"heed", "brief"}};
    fixture_start(fixture, &brief);
    fixture_stop(fixture, "brief", 0);
    end = fixture_await(fixture, &tr_process_ended_schema, "brief");
    fixture_expect_end(&end, TR_PROCESS_NOT_STARTED, ECANCELED);
    assert_int_equal(end.ended.stopped_by, TR_PROCESS_STOPPED_BY_REQUEST);
}

static void expect_phase(struct keeper_fixture *fixture, const char *key, uint8_t phase)
{
    fixture_query(fixture, key);
    assert_int_equal(fixture_await(fixture, &tr_process_state_schema, key).phase, phase);
}

/* No more run at once than the engine says; the others wait in their order, and can be stopped. */
static void turns_are_taken(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture->running_max = 2;
    fixture_connect(fixture);
    static const char *const keys[] = {"0", "1", "2", "3", "4"};
    for (size_t i = 0; i < TR_COUNT_OF(keys); i++) {
        struct job job = {.key = keys[i], .act = {"heed", "pids"}, .grace_ms = 5000};
        fixture_start(fixture, &job);
    }
    uint32_t pids[3];
    fixture_await_pids(fixture, "pids", 2, pids);
    expect_phase(fixture, "1", TR_PROCESS_RUNNING);
    expect_phase(fixture, "2", TR_PROCESS_STARTING);
    fixture_stop(fixture, "3", 0); /* it waits: it ends at once, and never runs */
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "3");
    fixture_expect_end(&end, TR_PROCESS_NOT_STARTED, ECANCELED);
    assert_non_null(strstr(end.reason, "before it started"));
    expect_phase(fixture, "4", TR_PROCESS_STARTING);
    fixture_stop(fixture, "0", TR_PROCESS_GRACE_AS_STARTED);
    end = fixture_await(fixture, &tr_process_ended_schema, "0");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 7);
    fixture_await_pids(fixture, "pids", 3, pids);
    expect_phase(fixture, "2", TR_PROCESS_RUNNING);
    expect_phase(fixture, "4", TR_PROCESS_STARTING);
    assert_int_equal(fixture_count(fixture, &tr_process_started_schema), 3);
}

/* Who waits when an engine dies is told to the next one that asks about it, when its turn comes. */
static void an_heir_hears_of_starts(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture->running_max = 1;
    fixture_connect(fixture);
    struct job first = {.key = "first", .act = {"heed", "pids"}, .grace_ms = 5000};
    struct job second = {.key = "second", .act = {"exit", "0"}};
    fixture_start(fixture, &first);
    fixture_await(fixture, &tr_process_started_schema, "first");
    fixture_start(fixture, &second);
    expect_phase(fixture, "second", TR_PROCESS_STARTING);
    fixture_disconnect(fixture);
    fixture_connect(fixture);
    expect_phase(fixture, "second", TR_PROCESS_STARTING);
    fixture_stop(fixture, "first", 0);
    fixture_await(fixture, &tr_process_started_schema, "second");
    fixture_await(fixture, &tr_process_ended_schema, "second");
}

/* What the next engine does not ask for takes no place of what it starts, and does not begin. */
static void sleepers_take_no_place(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture->running_max = 1;
    fixture_connect(fixture);
    struct job asleep = {.key = "asleep", .act = {"heed", "pids"}, .grace_ms = 5000};
    struct job behind = {.key = "behind", .act = {"exit", "0"}};
    struct job fresh = {.key = "fresh", .act = {"exit", "0"}};
    fixture_start(fixture, &asleep);
    fixture_await(fixture, &tr_process_started_schema, "asleep");
    fixture_start(fixture, &behind);
    expect_phase(fixture, "behind", TR_PROCESS_STARTING);
    fixture_disconnect(fixture);
    fixture_connect(fixture);
    fixture_start(fixture, &fresh); /* it may wait for TR_KEEPER_CLAIM_MS, and no longer */
    fixture_await(fixture, &tr_process_ended_schema, "fresh");
    assert_int_equal(fixture_count(fixture, &tr_process_started_schema), 1);
    /* Asked for again, both take places: the one that runs has its own. */
    expect_phase(fixture, "asleep", TR_PROCESS_RUNNING);
    expect_phase(fixture, "behind", TR_PROCESS_STARTING);
    fixture_listen(fixture, 50);
    expect_phase(fixture, "behind", TR_PROCESS_STARTING);
    fixture_stop(fixture, "asleep", TR_PROCESS_GRACE_AS_STARTED);
    fixture_await(fixture, &tr_process_ended_schema, "behind");
}

/* Whatever a process leaves behind is killed when it ends: its group, its daemons, a chain. */
static void nothing_is_left_behind(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job other = {.key = "other", .act = {"wait", "20000"}};
    struct job in_group = {.key = "group", .act = {"leave", "p1", "500"}};
    struct job a_daemon = {.key = "daemon", .act = {"daemon", "p2", "500"}};
    struct job chain = {.key = "chain", .act = {"chain", "p3", "4"}};
    fixture_start(fixture, &other); /* it runs all the time and keeps what is its own */
    fixture_start(fixture, &in_group);
    fixture_start(fixture, &a_daemon);
    fixture_start(fixture, &chain);
    uint32_t pids[6];
    fixture_await_pids(fixture, "p1", 1, pids);
    fixture_await_pids(fixture, "p2", 1, pids + 1);
    fixture_await_pids(fixture, "p3", 4, pids + 2);
    fixture_await(fixture, &tr_process_ended_schema, "group");
    fixture_await(fixture, &tr_process_ended_schema, "daemon");
    fixture_await(fixture, &tr_process_ended_schema, "chain");
    for (size_t i = 0; i < TR_COUNT_OF(pids); i++) {
        assert_false(fixture_is_running(pids[i], 1000));
    }
    fixture_query(fixture, "other");
    assert_int_equal(fixture_await(fixture, &tr_process_state_schema, "other").phase,
                     TR_PROCESS_RUNNING);
}

/* A daemon lives as long as its process does; one without an environment, as long as it may be
 * anybody's. */
static void daemons_live_as_long_as_their_process(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job owner = {.key = "owner", .act = {"daemon", "p1", "20000"}};
    struct job nameless = {.key = "nameless", .act = {"daemon", "p2", "20000", "none"}};
    struct job brief = {.key = "brief", .act = {"exit", "0"}};
    uint32_t pids[2];
    fixture_start(fixture, &owner);
    fixture_start(fixture, &nameless);
    fixture_await_pids(fixture, "p1", 1, pids);
    fixture_await_pids(fixture, "p2", 1, pids + 1);
    fixture_run(fixture, &brief);
    assert_true(fixture_is_running(pids[0], 200));
    assert_true(fixture_is_running(pids[1], 0));
    fixture_stop(fixture, "owner", 0);
    fixture_await(fixture, &tr_process_ended_schema, "owner");
    assert_false(fixture_is_running(pids[0], 2000));
    assert_true(fixture_is_running(pids[1], 0));
    fixture_stop(fixture, "nameless", 0);
    fixture_await(fixture, &tr_process_ended_schema, "nameless");
    assert_false(fixture_is_running(pids[1], 2000));
}

/* However it has ended, and before that is told; the group of the command counts as no process. */
static void a_command_is_run_behind_an_end(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture->running_max = 1;
    fixture_connect(fixture);
    struct job exits = {.key = "exits",
                        .act = {"exit", "3"},
                        .after = {"/bin/sh", "-c", "echo $$ >$0", fixture_file(fixture, "a")}};
    struct job stopped = {.key = "stopped",
                          .act = {"resist", "pids"},
                          .timeout_ms = 50,
                          .grace_ms = 1,
                          .after = {"/bin/sh", "-c", "echo $$ >$0", fixture_file(fixture, "b")}};
    struct job fails = {.key = "fails", .act = {"exit", "0"}, .after = {"/no/such/program"}};
    struct received end = fixture_run(fixture, &exits);
    fixture_expect_end(&end, TR_PROCESS_EXITED, 3);
    assert_int_not_equal(fixture_read(fixture, "a")[0], '\0');
    end = fixture_run(fixture, &stopped);
    fixture_expect_end(&end, TR_PROCESS_SIGNALLED, SIGKILL);
    assert_int_not_equal(fixture_read(fixture, "b")[0], '\0');
    end = fixture_run(fixture, &fails); /* the end is told all the same */
    fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
}

/* One that does not end is killed, and the end is told. */
static void a_command_behind_an_end_has_its_time(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct job job = {
        .key = "hangs",
        .act = {"exit", "0"},
        .after = {"/bin/sh", "-c", "echo $$ >$0; exec sleep 600", fixture_file(fixture, "pids")}};
    uint32_t pid;
    fixture_start(fixture, &job);
    fixture_await_pids(fixture, "pids", 1, &pid);
    assert_int_equal(fixture_count(fixture, &tr_process_ended_schema), 0);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "hangs");
    fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
    assert_false(fixture_is_running(pid, 0));
}

static void no_zombies_are_left(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    for (int i = 0; i < 20; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        struct job job = {.key = key, .act = {"leave", "pids", "0"}};
        fixture_run(fixture, &job);
    }
    fixture_listen(fixture, 200);
    char path[64];
    snprintf(path, sizeof path, "/proc/%u", fixture->hello.pid);
    char command[200];
    snprintf(command, sizeof command,
             "for s in /proc/[0-9]*/stat; do sed 's/.*) //' $s; done 2>/dev/null |"
             " awk '$2 == %u' | grep -q .",
             fixture->hello.pid);
    assert_int_not_equal(system(command), 0);
}

/* ---- Many. ---------------------------------------------------------------------------------- */

static void a_thousand_processes(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    enum { COUNT = 1000, AT_ONCE = 16 };
    char key[16];
    for (int i = 0; i < COUNT + AT_ONCE; i++) {
        if (i >= AT_ONCE) {
            snprintf(key, sizeof key, "%d", i - AT_ONCE);
            struct received end = fixture_await(fixture, &tr_process_ended_schema, key);
            fixture_expect_end(&end, TR_PROCESS_EXITED, 0);
            fixture_await(fixture, &tr_process_started_schema, key);
            fixture_forget(fixture, key);
        }
        if (i < COUNT) {
            snprintf(key, sizeof key, "%d", i);
            struct job job = {.key = key, .argv = {"/bin/true"}};
            fixture_start(fixture, &job);
        }
    }
    fixture_listen(fixture, 50);
    assert_int_equal(fixture->received_count, 0);
}

int main(int count, char **arguments)
{
    int status = helper_main(count, arguments);
    if (status >= 0) {
        return status;
    }
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_take_down)
    const struct CMUnitTest tests[] = {
        TEST(exit_status_is_told),
        TEST(start_time_is_told),
        TEST(signal_is_told),
        TEST(usage_is_told),
        TEST(surroundings_are_as_promised),
        TEST(files_are_given),
        TEST(huge_output_goes_to_the_file),
        TEST(program_is_searched),
        TEST(failures_to_start_are_ends),
        TEST(nonsense_is_refused),
        TEST(a_key_is_started_once),
        TEST(timeout_kills_after_grace),
        TEST(a_lease_that_is_over_ends_processes),
        TEST(a_lease_goes_on_without_an_engine),
        TEST(a_lease_is_lifted),
        TEST(all_of_it_is_ended),
        TEST(stop_may_come_again),
        TEST(turns_are_taken),
        TEST(an_heir_hears_of_starts),
        TEST(sleepers_take_no_place),
        TEST(nothing_is_left_behind),
        TEST(daemons_live_as_long_as_their_process),
        TEST(a_command_is_run_behind_an_end),
        TEST(a_command_behind_an_end_has_its_time),
        TEST(no_zombies_are_left),
        TEST(a_thousand_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
