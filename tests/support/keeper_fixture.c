/*
 * The fixture: a client's loop that keeps what comes until a test asks for it.
 */
#include "tests/support/keeper_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/keeper_client/keeper_folder.h"
#include "tests/support/folder.h"
#include "tests/support/helper_process.h"
#include "tests/support/test.h"

/* ---- Folders. ------------------------------------------------------------------------------- */

struct keeper_fixture *fixture_new(const char *parent)
{
    struct keeper_fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    const char *temporary = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    snprintf(fixture->folder, sizeof fixture->folder, "%.3900s/troupe-keeper-XXXXXX",
             parent != NULL ? parent : temporary);
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(fixture->work, sizeof fixture->work, "%s/work", fixture->folder);
    assert_int_equal(mkdir(fixture->work, 0700), 0);
    return fixture;
}

bool fixture_await_gone(struct keeper_fixture *fixture, int wait_ms)
{
    int folder;
    int lock;
    assert_int_equal(tri_keeper_folder_open(fixture->folder, &folder), 0);
    int error = tri_keeper_folder_lock(folder, &lock);
    for (int waited = 0; error == TR_EXISTS && waited < wait_ms; waited += 5) {
        helper_wait_ms(5);
        error = tri_keeper_folder_lock(folder, &lock);
    }
    if (error == 0) {
        close(lock);
    }
    close(folder);
    return error == 0;
}

void fixture_stop_keeper(struct keeper_fixture *fixture)
{
    if (fixture->hello.pid != 0) {
        kill((pid_t)fixture->hello.pid, SIGTERM);
        fixture->hello.pid = 0;
    }
    assert_true(fixture_await_gone(fixture, WAIT_MS_MAX));
}

void fixture_kill_keeper(struct keeper_fixture *fixture)
{
    assert_int_not_equal(fixture->hello.pid, 0);
    assert_int_equal(kill((pid_t)fixture->hello.pid, SIGKILL), 0);
    fixture->hello.pid = 0;
    assert_true(fixture_await_gone(fixture, WAIT_MS_MAX));
}

void fixture_free(struct keeper_fixture *fixture)
{
    fixture_stop_keeper(fixture);
    tri_keeper_client_free(fixture->client);
    (void)folder_remove(fixture->folder);
    free(fixture);
}

int fixture_set_up(void **state)
{
    *state = fixture_new(NULL);
    return 0;
}

int fixture_take_down(void **state)
{
    fixture_free(*state);
    return 0;
}

/* ---- The client's loop. --------------------------------------------------------------------- */

struct tri_keeper_client *fixture_client(struct keeper_fixture *fixture, bool is_passive,
                                         const char *const *words)
{
    const char *command[12] = {"test", "keeper"};
    for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
        command[2 + i] = words[i];
    }
    struct tri_keeper_client_options options = {.store_folder = fixture->folder,
                                                .command = command,
                                                .is_passive = is_passive,
                                                .running_max = fixture->running_max};
    struct tri_keeper_client *client;
    assert_int_equal(tri_keeper_client_new(&options, &client), 0);
    return client;
}

static void copy_text(char *to, size_t size, struct tr_text text)
{
    snprintf(to, size, "%.*s", (int)text.size, text.data);
}

/* Copies what a frame says. */
static void keep_frame(struct keeper_fixture *fixture, const struct tri_packet *frame)
{
    assert_true(fixture->received_count < RECEIVED_MAX);
    struct received *kept = &fixture->received[fixture->received_count++];
    *kept = (struct received){.type = frame->type};
    struct tr_text key = {0};
    struct tr_text reason = {.data = ""};
    if (frame->type == tr_process_started_schema.id) {
        struct tr_process_started value;
        assert_int_equal(tr_process_started_unpack(frame->body, frame->version, &value), 0);
        key = value.key;
        kept->pid = value.pid;
        kept->start_time = value.start_time;
    } else if (frame->type == tr_process_refused_schema.id) {
        struct tr_process_refused value;
        assert_int_equal(tr_process_refused_unpack(frame->body, frame->version, &value), 0);
        key = value.key;
        reason = value.reason;
        kept->error = value.error;
    } else if (frame->type == tr_process_ended_schema.id) {
        assert_int_equal(tr_process_ended_unpack(frame->body, frame->version, &kept->ended), 0);
        key = kept->ended.key;
        reason = kept->ended.reason;
    } else {
        struct tr_process_state value;
        assert_int_equal(frame->type, tr_process_state_schema.id);
        assert_int_equal(tr_process_state_unpack(frame->body, frame->version, &value), 0);
        key = value.key;
        kept->phase = value.phase;
        kept->pid = value.pid;
    }
    copy_text(kept->key, sizeof kept->key, key);
    copy_text(kept->reason, sizeof kept->reason, reason);
}

static void take_in(struct keeper_fixture *fixture)
{
    struct tri_keeper_event event;
    while (tri_keeper_client_next(fixture->client, &event) == 0) {
        if (event.kind == TRI_KEEPER_PACKET) {
            keep_frame(fixture, &event.packet);
        } else if (event.kind == TRI_KEEPER_UP) {
            fixture->hello = event.hello;
        } else {
            fixture->down_error = event.error;
            snprintf(fixture->down_words, sizeof fixture->down_words, "%s", event.words);
        }
    }
}

static void wait_and_take_in(struct keeper_fixture *fixture, int wait_ms)
{
    struct pollfd polled = {.fd = tri_keeper_client_fd(fixture->client), .events = POLLIN};
    tri_keeper_client_flush(fixture->client);
    poll(&polled, 1, wait_ms);
    take_in(fixture);
}

void fixture_listen(struct keeper_fixture *fixture, int wait_ms)
{
    uint64_t end_ms = tri_monotonic_ms() + (uint64_t)wait_ms;
    while (tri_monotonic_ms() < end_ms) {
        wait_and_take_in(fixture, (int)(end_ms - tri_monotonic_ms()));
    }
}

int fixture_try(struct keeper_fixture *fixture, const char *const *words)
{
    if (fixture->client == NULL) {
        fixture->client = fixture_client(fixture, false, words);
    }
    fixture->down_error = 0;
    tri_keeper_client_connect(fixture->client);
    uint64_t end_ms = tri_monotonic_ms() + WAIT_MS_MAX;
    while (!tri_keeper_client_is_up(fixture->client) && fixture->down_error == 0) {
        assert_true(tri_monotonic_ms() < end_ms);
        wait_and_take_in(fixture, 100);
    }
    take_in(fixture);
    return fixture->down_error;
}

void fixture_connect_with(struct keeper_fixture *fixture, const char *const *words)
{
    int error = fixture_try(fixture, words);
    if (error != 0) {
        print_error("cannot connect: %s: %s\n", tr_error_name(error), fixture->down_words);
    }
    assert_int_equal(error, 0);
}

void fixture_connect(struct keeper_fixture *fixture)
{
    fixture_connect_with(fixture, NULL);
}

void fixture_disconnect(struct keeper_fixture *fixture)
{
    tri_keeper_client_free(fixture->client);
    fixture->client = NULL;
    fixture->received_count = 0;
}

void fixture_await_down(struct keeper_fixture *fixture)
{
    uint64_t end_ms = tri_monotonic_ms() + WAIT_MS_MAX;
    while (tri_keeper_client_is_up(fixture->client)) {
        assert_true(tri_monotonic_ms() < end_ms);
        wait_and_take_in(fixture, 100);
    }
    take_in(fixture);
}

/* ---- Asking. -------------------------------------------------------------------------------- */

static void send_message(struct keeper_fixture *fixture, const struct tr_schema *schema,
                         const void *value)
{
    int error = tri_keeper_client_send(fixture->client, schema, value);
    while (error == TR_BUSY) {
        wait_and_take_in(fixture, 100);
        error = tri_keeper_client_send(fixture->client, schema, value);
    }
    assert_int_equal(error, 0);
}

static struct tr_bytes written(const struct tr_writer *writer)
{
    return (struct tr_bytes){.data = writer->begin, .size = tr_writer_size(writer)};
}

void fixture_start(struct keeper_fixture *fixture, const struct job *job)
{
    static uint8_t words[65536];
    static uint8_t variables[65536];
    uint8_t limits[256];
    const char *acting[10] = {"/proc/self/exe", "helper"};
    static char self[4096];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(size > 0);
    self[size] = '\0';
    acting[0] = self;
    memcpy(&acting[2], job->act, sizeof job->act);
    struct tr_writer argv = tr_writer_of(words, sizeof words);
    struct tr_writer environment = tr_writer_of(variables, sizeof variables);
    struct tr_writer limit = tr_writer_of(limits, sizeof limits);
    static uint8_t behind[4096];
    struct tr_writer after = tr_writer_of(behind, sizeof behind);
    assert_int_equal(tr_process_strings_pack(job->after, &after), 0);
    assert_int_equal(tr_process_strings_pack(job->argv[0] != NULL ? job->argv : acting, &argv), 0);
    assert_int_equal(tr_process_strings_pack(job->environment, &environment), 0);
    assert_int_equal(tr_process_limits_pack(&job->limit, job->limit.name.size > 0, &limit), 0);
    struct tr_process_start start = {
        .key = tr_text_of(job->key),
        .argv = written(&argv),
        .environment = written(&environment),
        .folder = tr_text_of(job->folder != NULL ? job->folder : fixture->work),
        .stdin_path = tr_text_of(job->stdin_path),
        .stdout_path = tr_text_of(job->stdout_path),
        .stderr_path = tr_text_of(job->stderr_path),
        .grace_ms = job->grace_ms,
        .timeout_ms = job->timeout_ms,
        .limits = written(&limit),
        .umask = job->umask,
        .after = job->after[0] != NULL ? written(&after) : (struct tr_bytes){0},
    };
    send_message(fixture, &tr_process_start_schema, &start);
}

void fixture_stop(struct keeper_fixture *fixture, const char *key, uint32_t grace_ms)
{
    struct tr_process_stop stop = {.key = tr_text_of(key), .grace_ms = grace_ms};
    send_message(fixture, &tr_process_stop_schema, &stop);
}

void fixture_query(struct keeper_fixture *fixture, const char *key)
{
    struct tr_process_query query = {.key = tr_text_of(key)};
    send_message(fixture, &tr_process_query_schema, &query);
}

void fixture_forget(struct keeper_fixture *fixture, const char *key)
{
    struct tr_process_forget forget = {.key = tr_text_of(key)};
    send_message(fixture, &tr_process_forget_schema, &forget);
}

/* ---- Hearing. ------------------------------------------------------------------------------- */

static bool take_received(struct keeper_fixture *fixture, uint16_t type, const char *key,
                          struct received *taken)
{
    for (size_t i = 0; i < fixture->received_count; i++) {
        struct received *kept = &fixture->received[i];
        if (kept->type == type && strcmp(kept->key, key) == 0) {
            *taken = *kept;
            size_t behind = --fixture->received_count - i;
            memmove(kept, kept + 1, behind * sizeof *kept);
            return true;
        }
    }
    return false;
}

struct received fixture_await(struct keeper_fixture *fixture, const struct tr_schema *schema,
                              const char *key)
{
    struct received taken = {0};
    uint64_t end_ms = tri_monotonic_ms() + WAIT_MS_MAX;
    while (!take_received(fixture, schema->id, key, &taken)) {
        if (tri_monotonic_ms() > end_ms || !tri_keeper_client_is_up(fixture->client)) {
            fail_msg("no %s of %s came", schema->name, key);
        }
        wait_and_take_in(fixture, 100);
    }
    return taken;
}

size_t fixture_count(const struct keeper_fixture *fixture, const struct tr_schema *schema)
{
    size_t count = 0;
    for (size_t i = 0; i < fixture->received_count; i++) {
        count += fixture->received[i].type == schema->id ? 1 : 0;
    }
    return count;
}

struct received fixture_run(struct keeper_fixture *fixture, const struct job *job)
{
    fixture_start(fixture, job);
    return fixture_await(fixture, &tr_process_ended_schema, job->key);
}

void fixture_expect_end(const struct received *end, uint8_t outcome, uint32_t status)
{
    if (end->ended.outcome != outcome || end->ended.status != status) {
        print_error("%s: outcome %u, status %u (%s)\n", end->key, end->ended.outcome,
                    end->ended.status, end->reason);
    }
    assert_int_equal(end->ended.outcome, outcome);
    assert_int_equal(end->ended.status, status);
}

const char *fixture_file(struct keeper_fixture *fixture, const char *name)
{
    static char paths[4][5000];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", fixture->work, name);
    return path;
}

const char *fixture_read(struct keeper_fixture *fixture, const char *name)
{
    static char bytes[65536];
    FILE *file = fopen(fixture_file(fixture, name), "r");
    size_t size = file != NULL ? fread(bytes, 1, sizeof bytes - 1, file) : 0;
    bytes[size] = '\0';
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

void fixture_await_pids(struct keeper_fixture *fixture, const char *name, size_t count,
                        uint32_t *pids)
{
    for (int waited = 0; waited < WAIT_MS_MAX; waited += 5) {
        size_t found = 0;
        const char *at = fixture_read(fixture, name);
        while (found < count && strchr(at, '\n') != NULL) {
            pids[found++] = (uint32_t)strtoul(at, NULL, 10);
            at = strchr(at, '\n') + 1;
        }
        if (found == count) {
            return;
        }
        wait_and_take_in(fixture, 1);
        helper_wait_ms(4);
    }
    fail_msg("%s never got %zu lines", name, count);
}

/* Whether there is such a process that is not a zombie. */
static bool runs(uint32_t pid)
{
    char path[64];
    char line[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t size = read(fd, line, sizeof line - 1);
    close(fd);
    if (size <= 0) {
        return false;
    }
    line[size] = '\0';
    const char *state = strrchr(line, ')');
    return state != NULL && state[2] != 'Z' && state[2] != 'X';
}

bool fixture_is_running(uint32_t pid, int wait_ms)
{
    for (int waited = 0; runs(pid) && waited < wait_ms; waited += 5) {
        helper_wait_ms(5);
    }
    return runs(pid);
}
