/*
 * A host that has begun a process is killed, beside another one that works: its process ends, and
 * only behind that does the other host tell the actor, which begins anew there. Both are real, with
 * keepers and a store in PostgreSQL.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/host/host.h"
#include "runtime/journal/store_folder.h"
#include "runtime/keeper_client/keeper_end.h"
#include "runtime/store_care.h"
#include "runtime/store_open.h"
#include "runtime/store_place.h"
#include "tests/support/scripted.h"
#include "tests/unit/runtime/services/attempt_actor.h"
#include "tests/unit/runtime/stand.h"

#define PARTITIONS 4
#define ROUND_MS 50
#define PROCESS_LEASE_MS 10000

/* Both leases and what starts take; then it is missed. */
#define ROUNDS_MAX (240000 / ROUND_MS)

#define RETRY_TIMER 1
#define RETRY_MS 200

#define TR_BEGIN_JOB_FIELDS(FIELD, ARRAY)
#define TR_JOB_FIELDS(FIELD, ARRAY) \
    FIELD(u64, attempt, 1, 0)       \
    FIELD(u64, asked_ms, 1, 0)      \
    FIELD(u64, ask, 1, 0)

#define JOB_SCHEMAS(S)                                                  \
    S(begin_job, 62211, TR_MESSAGE, 1, TR_DURABLE, TR_BEGIN_JOB_FIELDS) \
    S(job, 62212, TR_STATE, 1, 0, TR_JOB_FIELDS)

JOB_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
JOB_SCHEMAS(TR_SCHEMA_DEFINE)

static const char *const keeper[] = {"test", "keeper", NULL};
static struct stand *stand;
static char folders[2][SCRIPTED_PATH_BYTES];
static char script[3 * SCRIPTED_PATH_BYTES];
static char addresses[2][64];

/* ---- The job. -------------------------------------------------------------------------------- */

static struct tr_bytes pack(const char *const *words, uint8_t *buffer, size_t size)
{
    struct tr_writer writer = tr_writer_of(buffer, size);
    assert_int_equal(tr_process_strings_pack(words, &writer), 0);
    return (struct tr_bytes){.data = buffer, .size = tr_writer_size(&writer)};
}

/* As the process plugin: an attempt keeps when it was asked for first. */
static int run_attempt(struct tr_context *context, struct tr_job *job)
{
    static const char *const none[] = {NULL};
    const char *const words[] = {"/bin/sh", "-c", script, NULL};
    uint8_t buffers[5][2048];
    char key[32];
    char folder[SCRIPTED_PATH_BYTES + 16];
    job->asked_ms = job->asked_ms != 0 ? job->asked_ms : tr_steady_ms(context);
    snprintf(key, sizeof key, "job@%llu", (unsigned long long)job->attempt);
    snprintf(folder, sizeof folder, "%s/%s", (const char *)tr_program(context), key);
    const struct tr_process_run run = {
        .key = tr_text_of(key),
        .argv = pack(words, buffers[0], sizeof buffers[0]),
        .environment = pack(none, buffers[1], sizeof buffers[1]),
        .folder = tr_text_of(folder),
        .secrets = pack(none, buffers[2], sizeof buffers[2]),
        .files = pack(none, buffers[3], sizeof buffers[3]),
        .folders = pack(none, buffers[4], sizeof buffers[4]),
        .results = pack(none, buffers[4], sizeof buffers[4]),
        .asked_ms = job->asked_ms,
    };
    return tr_call(context, TR_SERVICE_PROCESSES, &tr_process_run_schema, &run, 0, &job->ask);
}

static int on_over(struct tr_context *context, struct tr_job *job, const struct tr_message *message)
{
    struct tr_process_over over;
    int error = tr_message_read(message, process_over, &over);
    if (error != 0 || over.outcome != TR_PROCESS_HOST_LOST) {
        return error != 0 ? error : tr_stop(context);
    }
    job->attempt++;
    job->asked_ms = 0;
    return run_attempt(context, job);
}

static int job_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    if (tr_message_is(message, &tr_process_over_schema)) {
        return on_over(context, state, message);
    }
    if (tr_message_is(message, &tr_process_started_schema)) {
        return 0;
    }
    if (tr_message_is(message, &tr_process_refused_schema)) {
        return tr_timer_start(context, RETRY_TIMER, RETRY_MS);
    }
    return run_attempt(context, state); /* it begins, or the host has, or it is time */
}

static const struct tr_behaviour job_behaviour = {
    .name = "job", .id = 2211, .state = &tr_job_schema, .handle = job_handle};

/* ---- Hosts. ---------------------------------------------------------------------------------- */

static void join(uint32_t index)
{
    char machine[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    uint8_t place[TRI_STORE_PLACE_BYTES_MAX];
    struct tri_store_member member = {.name = index == 0 ? "a" : "b",
                                      .blobs = "/blobs",
                                      .lease_ms = TRI_MEMBER_LEASE_MS_MIN,
                                      .process_lease_ms = PROCESS_LEASE_MS};
    struct tri_registry *registry = NULL;
    assert_int_equal(tri_store_registry_open(NULL, stand->locator, false, NULL, &registry), 0);
    assert_int_equal(tri_store_describe_member(folders[index], place, machine, &member, NULL), 0);
    assert_int_equal(tri_registry_join(registry, &member), 0);
    tri_registry_close(registry);
}

static struct tr_host *start(uint32_t index)
{
    static const struct tr_behaviour *const behaviours[] = {&job_behaviour};
    const struct tr_host_options options = {
        .worker_count = 2,
        .durability = TR_DURABILITY_FULL,
        .folder = folders[index],
        .host_name = index == 0 ? "a" : "b",
        .blobs = "/blobs",
        .lease_ms = TRI_MEMBER_LEASE_MS_MIN,
        .process_lease_ms = PROCESS_LEASE_MS,
        .behaviours = behaviours,
        .behaviour_count = 1,
        .program = folders[index],
        .keeper_command = keeper,
        .is_member = true,
        .listen = addresses[index],
    };
    char words[TRI_STORE_EXPLAIN_BYTES];
    struct tr_host *host = NULL;
    if (tr_host_new(&options, words, &host) != 0) {
        fail_msg("%s", words);
    }
    assert_int_equal(tr_host_start(host), 0);
    return host;
}

static void follow(struct tr_host *host)
{
    (void)!tr_host_follow(host); /* what ends the host the poll says */
    if (tr_host_poll(host, -1, ROUND_MS) != 0) {
        fail_msg("%s", tr_host_explain(host));
    }
}

/* Host a: begins the job when it is told to, says which it is, and goes on. */
static void be_host_a(int telling, int waiting)
{
    struct tr_ref job;
    char word;
    struct tr_host *host = start(0);
    struct pollfd event = {.fd = waiting, .events = POLLIN};
    while (poll(&event, 1, 0) == 0) {
        follow(host);
    }
    assert_int_equal(read(waiting, &word, 1), 1);
    assert_int_equal(tr_host_spawn(host, &job_behaviour, NULL, &job), 0);
    assert_int_equal(tr_host_tell(host, job, &tr_begin_job_schema, &(struct tr_begin_job){}), 0);
    assert_int_equal(write(telling, &job, sizeof job), sizeof job);
    while (true) {
        follow(host);
    }
}

/* ---- The test. ------------------------------------------------------------------------------- */

static int begin(void **state)
{
    struct tri_store_options options;
    bool was_made = false;
    int base = 29000 + (int)(getpid() % 1500) * 2; /* below what the system gives away */
    (void)state;
    stand = stand_new(STAND_POSTGRES);
    options = (struct tri_store_options){
        .locator = stand->locator, .partitions = PARTITIONS, .durability = TR_DURABILITY_FULL};
    assert_int_equal(tri_store_init(&options, NULL, &was_made), 0);
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(addresses[i], sizeof addresses[i], "tcp://127.0.0.1:%d", base + (int)i);
        scripted_folder(folders[i]);
        assert_int_equal(tri_store_folder_bind(folders[i], stand->locator, NULL), 0);
        join(i);
    }
    stand_spoil(stand, "UPDATE partitions SET host = 1 + number % 2");
    snprintf(script, sizeof script,
             "echo $$ >>%s/runs; [ $(wc -l <%s/runs) -gt 1 ] || exec sleep 99", folders[1],
             folders[1]);
    return 0;
}

static int end(void **state)
{
    uint32_t running = 0;
    (void)state;
    (void)!tri_keeper_end_all(folders[0], keeper, true, 5000, &running);
    scripted_folder_remove(folders[0]);
    scripted_folder_remove(folders[1]);
    stand_free(stand);
    return 0;
}

/* Which processes have run; how many. */
static int read_runs(pid_t pids[2])
{
    char path[SCRIPTED_PATH_BYTES + 8];
    int count = 0;
    snprintf(path, sizeof path, "%s/runs", folders[1]);
    FILE *file = fopen(path, "r");
    while (file != NULL && count < 2 && fscanf(file, "%d", &pids[count]) == 1) {
        count++;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return count;
}

static void await_runs(struct tr_host *host, int wanted, pid_t pids[2])
{
    for (int i = 0; read_runs(pids) < wanted; i++) {
        assert_true(i < ROUNDS_MAX);
        follow(host);
    }
}

static bool is_alive(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

static void an_attempt_of_a_lost_host_ends_before_it_begins_anew(void **state)
{
    int tells[2];
    int asks[2];
    struct tr_ref job;
    pid_t pids[2];
    int reason = 1;
    (void)state;
    assert_int_equal(pipe(tells), 0);
    assert_int_equal(pipe(asks), 0);
    pid_t a = fork();
    assert_true(a >= 0);
    if (a == 0) {
        be_host_a(tells[1], asks[0]);
    }
    struct tr_host *host = start(1);
    assert_int_equal(write(asks[1], "b", 1), 1);
    assert_int_equal(read(tells[0], &job, sizeof job), sizeof job);
    assert_false(tri_owners_is_here(&host->shared.owners, job.key.group));
    await_runs(host, 1, pids);
    assert_int_equal(kill(a, SIGKILL), 0);
    assert_int_equal(waitpid(a, NULL, 0), a);
    assert_true(is_alive(pids[0])); /* its keeper goes on */
    await_runs(host, 2, pids);
    assert_false(is_alive(pids[0]));
    assert_int_equal(tr_host_wait(host, job, 20000, &reason), 0);
    assert_true(reason == 0 || reason == TR_NO_ACTOR); /* or it had ended before it was asked for */
    tr_host_free(host);
}

int main(int argc, char **argv)
{
    int status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_attempt_of_a_lost_host_ends_before_it_begins_anew, begin,
                                        end),
    };
    return attempt_is_keeper(argc, argv, &status) ? status
                                                  : cmocka_run_group_tests(tests, NULL, NULL);
}
