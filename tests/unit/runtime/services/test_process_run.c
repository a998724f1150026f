/*
 * Attempts with a real keeper, through the process service: folder, environment, secrets, files and
 * documents; what hostile names and hostile tasks get; what is left after crashes.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/keeper_client/keeper_folder.h"
#include "tests/support/test.h"
#include "tests/unit/runtime/services/attempt_actor.h"

/* The size of the files that the disk does not give; 0: it gives all. */
static _Atomic off_t unread_size;

/* In the place of the C library's. */
ssize_t read(int fd, void *bytes, size_t size)
{
    struct stat status;
    off_t unread = unread_size;
    if (unread != 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size == unread) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_read, fd, bytes, size);
}

static int setup(void **state)
{
    static struct attempt_world world;
    attempt_world_init(&world);
    attempt_plan.key = "w/task@0";
    attempt_plan.folder = "made/w/task@0";
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    attempt_world_fini(*state);
    return 0;
}

static struct tr_process_result result_of(const char *name, uint64_t size_max)
{
    return (struct tr_process_result){.name = tr_text_of(name), .size_max = size_max};
}

static struct tr_process_file file_of(const char *name, const char *text)
{
    struct tr_text view = tr_text_of(text);
    return (struct tr_process_file){
        .name = tr_text_of(name), .bytes = {(const uint8_t *)view.data, view.size}, .mode = 0400};
}

static void expect_exit(uint32_t status)
{
    if (attempt_seen.refused != 0) {
        fail_msg("refused: %s", attempt_seen.reason);
    }
    assert_int_equal(attempt_seen.over, 1);
    assert_int_equal(attempt_seen.end.outcome, TR_PROCESS_EXITED);
    assert_int_equal(attempt_seen.end.status, status);
}

static void expect_refusal(struct attempt_world *world, int error)
{
    attempt_run(world);
    assert_int_equal(attempt_seen.over, 0);
    assert_int_equal(attempt_seen.refused, error);
    assert_true(attempt_seen.reason[0] != '\0');
    attempt_seen.refused = 0;
}

/* ---- What an attempt finds and leaves. ------------------------------------------------------ */

static void an_attempt_has_all_it_needs(void **state)
{
    struct attempt_world *world = *state;
    attempt_plan.script = "ls -A; cat ../in/inputs.json > ../outputs.json; test -d ../tmp && "
                          "test -d \"$SHARED\" && test \"$(cat)\" = typed";
    attempt_plan.work = "work";
    attempt_plan.stdin_path = "in/typed";
    attempt_plan.stdout_path = "stdout";
    attempt_plan.stderr_path = "stderr";
    attempt_plan.files[0] = file_of("in/inputs.json", "{\"a\":1}");
    attempt_plan.files[1] = file_of("in/typed", "typed");
    attempt_plan.file_count = 2;
    char shared[256];
    char word[300];
    snprintf(shared, sizeof shared, "%s/checkpoints/w/task", world->folder);
    snprintf(word, sizeof word, "SHARED=%s", shared);
    attempt_plan.words[0] = word;
    attempt_plan.folders[0] = "tmp";
    attempt_plan.folders[1] = shared;
    attempt_plan.results[0] = result_of("outputs.json", 4096);
    attempt_plan.results[1] = result_of("error.json", 4096);
    attempt_plan.result_count = 2;
    attempt_world_open(world);
    attempt_run(world);
    expect_exit(0);
    assert_int_equal(attempt_seen.started, 1);
    assert_string_equal(attempt_seen.contents[0], "{\"a\":1}");
    assert_true(attempt_seen.documents[1].is_absent);
    struct stat status;
    assert_int_equal(stat(attempt_path(world, "made/w/task@0"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(stat(attempt_path(world, "made/w/task@0/in/inputs.json"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0400);
    /* The working folder was empty, so nothing was listed; and empty outputs do not stay. */
    assert_false(attempt_has_file(world, "made/w/task@0/stdout"));
    assert_false(attempt_has_file(world, "made/w/task@0/stderr"));
}

static void outputs_that_were_written_stay(void **state)
{
    struct attempt_world *world = *state;
    attempt_plan.script = "echo said; exit 3";
    attempt_plan.stdout_path = "stdout";
    attempt_plan.stderr_path = "stderr";
    attempt_world_open(world);
    attempt_run(world);
    expect_exit(3);
    assert_string_equal(attempt_read_file(world, "made/w/task@0/stdout"), "said\n");
    assert_false(attempt_has_file(world, "made/w/task@0/stderr"));
}

static void a_program_that_is_not_there_is_an_end(void **state)
{
    struct attempt_world *world = *state;
    attempt_plan.argv[0] = "/no/such/program";
    attempt_world_open(world);
    attempt_run(world);
    assert_int_equal(attempt_seen.started, 0);
    assert_int_equal(attempt_seen.over, 1);
    assert_int_equal(attempt_seen.end.outcome, TR_PROCESS_NOT_STARTED);
    assert_non_null(strstr(attempt_seen.reason, "/no/such/program"));
}

static void a_bare_name_is_passed_on(void **state)
{
    struct attempt_world *world = *state;
    assert_int_equal(setenv("TROUPE_TEST_SET", "from the engine", 1), 0);
    assert_int_equal(unsetenv("TROUPE_TEST_UNSET"), 0);
    attempt_plan.words[0] = "TROUPE_TEST_SET";
    attempt_plan.words[1] = "TROUPE_TEST_UNSET";
    attempt_plan.words[2] = "OWN=x=y";
    attempt_plan.script = "test \"$TROUPE_TEST_SET\" = 'from the engine' && "
                          "test \"${TROUPE_TEST_UNSET-none}\" = none && test \"$OWN\" = x=y";
    attempt_world_open(world);
    attempt_run(world);
    expect_exit(0);
}

static void documents_too_large_have_their_size(void **state)
{
    struct attempt_world *world = *state;
    attempt_plan.script = "printf 12345 > five; head -c 900000 /dev/zero > a; cp a b";
    attempt_plan.results[0] = result_of("five", 4);
    attempt_plan.results[1] = result_of("five", 5);
    attempt_plan.results[2] = result_of("a", 1 << 20);
    attempt_plan.results[3] = result_of("b", 1 << 20); /* no room in the message beside a */
    attempt_plan.result_count = 4;
    attempt_world_open(world);
    attempt_run(world);
    expect_exit(0);
    assert_true(attempt_seen.documents[0].is_too_large);
    assert_int_equal(attempt_seen.documents[0].size, 5);
    assert_string_equal(attempt_seen.contents[1], "12345");
    assert_int_equal(attempt_seen.documents[2].bytes.size, 900000);
    assert_true(attempt_seen.documents[3].is_too_large);
    assert_int_equal(attempt_seen.documents[3].size, 900000);
}

/* A name with a star is all files that suit it; links and folders are none of them. */
static void several_files_may_be_one_document(void **state)
{
    struct attempt_world *world = *state;
    attempt_plan.script = "printf 1 > e-1.pb; printf 2 > e.pb; printf 3 > e-2.txt; "
                          "ln -s e.pb e-l.pb; mkdir e-d.pb; head -c 3000 /dev/zero > z1; cp z1 z2";
    attempt_plan.results[0] = result_of("e*.pb", 4000);
    attempt_plan.results[1] = result_of("f*.pb", 4000);
    attempt_plan.results[2] = result_of("gone/e*.pb", 4000);
    attempt_plan.results[3] = result_of("z*", 6000);
    attempt_plan.results[4] = result_of("z*", 5999);
    attempt_plan.result_count = 5;
    attempt_world_open(world);
    attempt_run(world);
    expect_exit(0);
    assert_int_equal(strlen(attempt_seen.contents[0]), 2);
    assert_non_null(strchr(attempt_seen.contents[0], '1'));
    assert_non_null(strchr(attempt_seen.contents[0], '2'));
    assert_true(attempt_seen.documents[1].is_absent);
    assert_true(attempt_seen.documents[2].is_absent);
    assert_int_equal(attempt_seen.documents[3].bytes.size, 6000);
    assert_true(attempt_seen.documents[4].is_too_large);
    assert_int_equal(attempt_seen.documents[4].size, 6000);
}

/* ---- Secrets. ------------------------------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct tr_process_secret secret_of(const char *name, const char *group, const char *key,
                                          bool is_file)
{
    return (struct tr_process_secret){tr_text_of(name), tr_text_of(group), tr_text_of(key),
                                      tr_text_of(""), is_file};
}

static void secrets_are_delivered_and_taken_back(void **state)
{
    struct attempt_world *world = *state;
    assert_int_equal(setenv("TROUPE_SECRET_CRM_API_TOKEN", "s3cr3t", 1), 0);
    assert_int_equal(setenv("XDG_CONFIG_HOME", attempt_path(world, "configuration"), 1), 0);
    assert_int_equal(mkdir(attempt_path(world, "configuration"), 0700), 0);
    assert_int_equal(mkdir(attempt_path(world, "configuration/troupe"), 0700), 0);
    assert_int_equal(mkdir(attempt_path(world, "configuration/troupe/secrets"), 0700), 0);
    assert_int_equal(mkdir(attempt_path(world, "configuration/troupe/secrets/crm"), 0700), 0);
    write_text(attempt_path(world, "configuration/troupe/secrets/crm/key.pem"), "line\n");
    attempt_plan.secrets[0] = secret_of("TOKEN", "crm", "api-token", false);
    attempt_plan.secrets[1] = secret_of("KEY", "crm", "key.pem", true);
    attempt_plan.secrets[2] = secret_of("LINE", "crm", "key.pem", false);
    attempt_plan.secret_count = 3;
    attempt_plan.script = "test \"$TOKEN\" = s3cr3t && test \"$(cat \"$KEY\")\" = line && "
                          "test \"$LINE\" = line && stat -c '%a %n' \"$KEY\"";
    attempt_plan.stdout_path = "stdout";
    attempt_world_open(world);
    attempt_run(world);
    expect_exit(0);
    char expected[256];
    snprintf(expected, sizeof expected, "600 %s/made/w/task@0/secrets/KEY\n", world->folder);
    assert_string_equal(attempt_read_file(world, "made/w/task@0/stdout"), expected);
    assert_false(attempt_has_file(world, "made/w/task@0/secrets"));
    assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
}

static void a_secret_that_is_not_there_refuses(void **state)
{
    struct attempt_world *world = *state;
    assert_int_equal(setenv("HOME", world->folder, 1), 0);
    attempt_plan.secrets[0] = secret_of("TOKEN", "crm", "absent", false);
    attempt_plan.secret_count = 1;
    attempt_plan.script = "exit 0";
    attempt_world_open(world);
    expect_refusal(world, TR_NOT_FOUND);
    assert_non_null(strstr(attempt_seen.reason, "crm/absent"));
    assert_false(attempt_has_file(world, "made/w/task@0"));
}

/* ---- Hostile names and tasks. --------------------------------------------------------------- */

static void names_outside_are_refused(void **state)
{
    struct attempt_world *world = *state;
    static const char *const names[] = {"../x", "/tmp/troupe-outside", "a//b", "a/./b", "a/", ""};
    attempt_plan.script = "exit 0";
    attempt_world_open(world);
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        attempt_plan.files[0] = file_of(names[i], "x");
        attempt_plan.file_count = 1;
        expect_refusal(world, TR_INVALID);
        attempt_plan.file_count = 0;
        attempt_plan.results[0] = result_of(names[i], 1);
        attempt_plan.result_count = 1;
        expect_refusal(world, TR_INVALID);
        attempt_plan.result_count = 0;
        attempt_plan.folders[0] = names[i];
        expect_refusal(world, TR_INVALID);
        attempt_plan.folders[0] = NULL;
    }
    attempt_plan.work = "../elsewhere";
    expect_refusal(world, TR_INVALID);
    attempt_plan.work = NULL;
    attempt_plan.stdout_path = "../out";
    expect_refusal(world, TR_INVALID);
    attempt_plan.stdout_path = NULL;
    attempt_plan.folder = "/tmp/troupe-outside";
    expect_refusal(world, TR_INVALID);
    attempt_plan.folder = "made/../../outside";
    expect_refusal(world, TR_INVALID);
    assert_false(attempt_has_file(world, "made"));
}

static void a_file_named_twice_is_refused(void **state)
{
    struct attempt_world *world = *state;
    attempt_plan.script = "exit 0";
    attempt_plan.files[0] = file_of("x", "1");
    attempt_plan.files[1] = file_of("x", "2");
    attempt_plan.file_count = 2;
    attempt_world_open(world);
    expect_refusal(world, TR_INVALID);
    assert_false(attempt_has_file(world, "made/w/task@0"));
}

static void only_regular_files_are_documents(void **state)
{
    struct attempt_world *world = *state;
    attempt_plan.script = "ln -s /etc/passwd link; mkfifo pipe; mkdir folder; ln -s /etc far; "
                          "ln -s /dev/zero device";
    attempt_plan.results[0] = result_of("link", 4000);
    attempt_plan.results[1] = result_of("pipe", 4000);
    attempt_plan.results[2] = result_of("folder", 4000);
    attempt_plan.results[3] = result_of("far/passwd", 4000);
    attempt_plan.results[4] = result_of("device", 4000);
    attempt_plan.result_count = 5;
    attempt_world_open(world);
    attempt_run(world);
    expect_exit(0);
    for (size_t i = 0; i < attempt_plan.result_count; i++) {
        assert_true(attempt_seen.documents[i].is_absent);
    }
}

/* A document that is missing is the user's failure; one that the disk does not give is not. */
static void what_the_disk_does_not_give_is_lost(void **state)
{
    struct attempt_world *world = *state;
    attempt_plan.script = "head -c 1237 /dev/zero > outputs.json; : > empty";
    attempt_plan.stdout_path = "stdout";
    attempt_plan.results[0] = result_of("empty", 4000);
    attempt_plan.results[1] = result_of("outputs.json", 4000);
    attempt_plan.result_count = 2;
    attempt_world_open(world);
    unread_size = 1237;
    attempt_run(world);
    unread_size = 0;
    assert_int_equal(attempt_seen.refused, 0);
    assert_int_equal(attempt_seen.over, 1);
    assert_int_equal(attempt_seen.end.outcome, TR_PROCESS_LOST);
    assert_string_equal(attempt_seen.reason, "outputs.json cannot be read: Input/output error");
    /* It is not read again, so what was to be removed then is removed. */
    assert_false(attempt_has_file(world, "made/w/task@0/stdout"));
}

/* A task may close what it leaves. */
static void what_a_task_has_closed_is_absent(void **state)
{
    struct attempt_world *world = *state;
    attempt_plan.script = "echo 1 > outputs.json; chmod 0 outputs.json";
    attempt_plan.results[0] = result_of("outputs.json", 4000);
    attempt_plan.result_count = 1;
    attempt_world_open(world);
    attempt_run(world);
    expect_exit(0);
    assert_true(geteuid() == 0 || attempt_seen.documents[0].is_absent);
}

static void a_folder_is_removed_without_its_links(void **state)
{
    struct attempt_world *world = *state;
    assert_int_equal(mkdir(attempt_path(world, "kept"), 0700), 0);
    write_text(attempt_path(world, "kept/file"), "kept");
    attempt_plan.script = "mkdir -p a/b/c; ln -s ../../../kept a/link; touch a/b/file; chmod 0 a/b";
    attempt_world_open(world);
    attempt_run(world);
    expect_exit(0);
    attempt_remove(world, attempt_path(world, "made/w/task@0"));
    assert_int_equal(attempt_seen.removed.error, 0);
    assert_false(attempt_has_file(world, "made/w/task@0"));
    assert_string_equal(attempt_read_file(world, "kept/file"), "kept");
    attempt_remove(world, attempt_path(world, "made/w/task@0"));
    assert_int_equal(attempt_seen.removed.error, 0);
}

static void what_is_not_of_the_store_is_not_removed(void **state)
{
    struct attempt_world *world = *state;
    char outside[256];
    char around[512];
    snprintf(outside, sizeof outside, "%s-outside", world->folder);
    assert_int_equal(mkdir(outside, 0700), 0);
    assert_int_equal(symlink(outside, attempt_path(world, "door")), 0);
    snprintf(around, sizeof around, "%s/sub", outside);
    assert_int_equal(mkdir(around, 0700), 0);
    attempt_world_open(world);
    attempt_remove(world, outside);
    assert_int_equal(attempt_seen.removed.error, TR_INVALID);
    attempt_remove(world, world->folder);
    assert_int_equal(attempt_seen.removed.error, TR_INVALID);
    snprintf(around, sizeof around, "%s/../%s", world->folder, strrchr(outside, '/') + 1);
    attempt_remove(world, around);
    assert_int_equal(attempt_seen.removed.error, TR_INVALID);
    attempt_remove(world, attempt_path(world, "door/sub"));
    snprintf(around, sizeof around, "%s/sub", outside);
    assert_int_equal(access(around, F_OK), 0);
    assert_int_equal(rmdir(around), 0);
    assert_int_equal(rmdir(outside), 0);
}

/* ---- Crashes. ------------------------------------------------------------------------------- */

static void a_folder_that_was_left_is_emptied(void **state)
{
    struct attempt_world *world = *state;
    assert_int_equal(mkdir(attempt_path(world, "made"), 0700), 0);
    assert_int_equal(mkdir(attempt_path(world, "made/w"), 0700), 0);
    assert_int_equal(mkdir(attempt_path(world, "made/w/task@0"), 0700), 0);
    write_text(attempt_path(world, "made/w/task@0/outputs.json"), "stale");
    attempt_plan.script = "ls -A";
    attempt_plan.stdout_path = "stdout";
    attempt_plan.results[0] = result_of("outputs.json", 100);
    attempt_plan.result_count = 1;
    attempt_world_open(world);
    attempt_run(world);
    expect_exit(0);
    assert_true(attempt_seen.documents[0].is_absent);
    assert_string_equal(attempt_read_file(world, "made/w/task@0/stdout"), "stdout\n");
}

static void set_slow_plan(void)
{
    attempt_plan.script = "echo ran >> ../../../ran; while [ ! -e ../../../go ]; do read x < "
                          "../../../gate; done; printf done > outputs.json";
    attempt_plan.results[0] = result_of("outputs.json", 100);
    attempt_plan.result_count = 1;
}

/* Opens the gate that the slow plan waits at: whoever reads from it goes on. */
static void let_go(struct attempt_world *world)
{
    write_text(attempt_path(world, "go"), "go");
    write_text(attempt_path(world, "gate"), "\n");
}

/* Runs the plan in a process of its own, which dies without a word when it runs. */
static void run_in_engine_that_dies(struct attempt_world *world)
{
    pid_t pid = fork();
    if (pid == 0) {
        attempt_world_open(world);
        attempt_begin(world);
        poll(NULL, 0, 60000);
        _exit(1);
    }
    assert_true(pid > 0);
    attempt_await_file(world, "ran");
    assert_int_equal(kill(pid, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

/* The actor that the dead engine left: the only one there is. */
static void await_heir(struct attempt_world *world)
{
    for (int waited = 0; attempt_seen.over == 0 && waited < 20000; waited += 5) {
        poll(NULL, 0, 5);
    }
    attempt_world_close(world); /* its threads have ended: what they wrote can be read */
}

static void a_new_engine_takes_up_what_runs(void **state)
{
    struct attempt_world *world = *state;
    set_slow_plan();
    assert_int_equal(mkfifo(attempt_path(world, "gate"), 0600), 0);
    run_in_engine_that_dies(world);
    attempt_world_open(world);
    for (int waited = 0; attempt_seen.started == 0 && waited < 20000; waited += 5) {
        poll(NULL, 0, 5);
    }
    let_go(world);
    await_heir(world);
    expect_exit(0);
    assert_int_equal(attempt_seen.started, 1);
    assert_string_equal(attempt_seen.contents[0], "done");
    assert_string_equal(attempt_read_file(world, "ran"), "ran\n");
}

static void a_new_engine_hears_what_ended_meanwhile(void **state)
{
    struct attempt_world *world = *state;
    set_slow_plan();
    assert_int_equal(mkfifo(attempt_path(world, "gate"), 0600), 0);
    run_in_engine_that_dies(world);
    let_go(world);
    attempt_await_file(world, "made/w/task@0/outputs.json");
    attempt_world_open(world);
    await_heir(world);
    expect_exit(0);
    assert_string_equal(attempt_seen.contents[0], "done");
    assert_string_equal(attempt_read_file(world, "ran"), "ran\n");
}

static pid_t keeper_pid(const struct attempt_world *world)
{
    int folder;
    int connection;
    struct ucred keeper = {0};
    socklen_t size = sizeof keeper;
    assert_int_equal(tri_keeper_folder_open(world->folder, &folder), 0);
    assert_int_equal(tri_keeper_folder_connect(folder, &connection), 0);
    assert_int_equal(getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &keeper, &size), 0);
    close(connection);
    close(folder);
    return keeper.pid;
}

static void a_lost_keeper_ends_its_runs_as_unknown(void **state)
{
    struct attempt_world *world = *state;
    set_slow_plan();
    assert_int_equal(mkfifo(attempt_path(world, "gate"), 0600), 0);
    attempt_world_open(world);
    attempt_begin(world);
    attempt_await_file(world, "ran");
    assert_int_equal(kill(keeper_pid(world), SIGKILL), 0);
    attempt_await(world);
    assert_int_equal(attempt_seen.asked, 2);
    assert_int_equal(attempt_seen.over, 1);
    assert_int_equal(attempt_seen.end.outcome, TR_PROCESS_UNKNOWN);
    assert_true(attempt_seen.documents[0].is_absent);
    assert_string_equal(attempt_read_file(world, "ran"), "ran\n");
}

static void an_end_is_told_until_it_is_forgotten(void **state)
{
    struct attempt_world *world = *state;
    attempt_plan.script = "echo ran >> ../../../ran; printf done > outputs.json";
    attempt_plan.results[0] = result_of("outputs.json", 100);
    attempt_plan.result_count = 1;
    attempt_plan.is_kept = true;
    attempt_world_open(world);
    attempt_run(world);
    attempt_seen.over = 0;
    attempt_seen.contents[0][0] = '\0';
    attempt_plan.is_kept = false;
    attempt_run(world);
    expect_exit(0);
    assert_string_equal(attempt_seen.contents[0], "done");
    assert_string_equal(attempt_read_file(world, "ran"), "ran\n");
    attempt_seen.over = 0;
    attempt_run(world); /* forgotten: a new one, in an emptied folder */
    expect_exit(0);
    assert_string_equal(attempt_read_file(world, "ran"), "ran\nran\n");
}

/* Runs something else for longer than unclaimed ends are kept. */
static void let_time_pass(struct attempt_world *world)
{
    struct attempt_plan before = attempt_plan;
    static int times;
    static char key[32];
    static char folder[64];
    snprintf(key, sizeof key, "w/other@%d", times);
    snprintf(folder, sizeof folder, "made/w/other@%d", times++);
    attempt_plan = (struct attempt_plan){.key = key, .folder = folder, .script = "sleep 1.5"};
    attempt_run(world);
    attempt_plan = before;
}

static void run_kept(struct attempt_world *world)
{
    attempt_plan.script = "echo ran >> ../../../ran";
    attempt_plan.is_kept = true;
    attempt_world_open(world);
    attempt_run(world);
}

static void an_end_nobody_asks_for_is_forgotten(void **state)
{
    struct attempt_world *world = *state;
    run_kept(world);
    attempt_world_close(world);
    world->unclaimed_ms = 100;
    attempt_world_open(world);
    let_time_pass(world);
    attempt_seen.over = 0;
    attempt_run(world);
    expect_exit(0);
    assert_string_equal(attempt_read_file(world, "ran"), "ran\nran\n");
}

static void an_end_somebody_asks_for_is_kept(void **state)
{
    struct attempt_world *world = *state;
    run_kept(world);
    attempt_world_close(world);
    world->unclaimed_ms = 100;
    attempt_world_open(world);
    attempt_run(world);
    let_time_pass(world);
    attempt_seen.over = 0;
    attempt_run(world);
    expect_exit(0);
    assert_string_equal(attempt_read_file(world, "ran"), "ran\n");

    /* Another keeper tells it again, and its commit may still be on its way. */
    assert_int_equal(kill(keeper_pid(world), SIGKILL), 0);
    let_time_pass(world);
    let_time_pass(world);
    attempt_run(world);
    assert_string_equal(attempt_read_file(world, "ran"), "ran\n");
}

int main(int argc, char **argv)
{
    int status;
    if (attempt_is_keeper(argc, argv, &status)) {
        return status;
    }
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(an_attempt_has_all_it_needs),
        TEST(outputs_that_were_written_stay),
        TEST(a_program_that_is_not_there_is_an_end),
        TEST(a_bare_name_is_passed_on),
        TEST(documents_too_large_have_their_size),
        TEST(several_files_may_be_one_document),
        TEST(secrets_are_delivered_and_taken_back),
        TEST(a_secret_that_is_not_there_refuses),
        TEST(names_outside_are_refused),
        TEST(a_file_named_twice_is_refused),
        TEST(only_regular_files_are_documents),
        TEST(what_the_disk_does_not_give_is_lost),
        TEST(what_a_task_has_closed_is_absent),
        TEST(a_folder_is_removed_without_its_links),
        TEST(what_is_not_of_the_store_is_not_removed),
        TEST(a_folder_that_was_left_is_emptied),
        TEST(a_new_engine_takes_up_what_runs),
        TEST(a_new_engine_hears_what_ended_meanwhile),
        TEST(a_lost_keeper_ends_its_runs_as_unknown),
        TEST(an_end_is_told_until_it_is_forgotten),
        TEST(an_end_nobody_asks_for_is_forgotten),
        TEST(an_end_somebody_asks_for_is_kept),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
