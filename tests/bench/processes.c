/*
 * Attempts per second: /bin/true through process_run, as the process plugin has it run, beside a
 * bare posix_spawn loop that makes the same folders and files. Both in one run, turn by turn, with
 * as many processes at once.
 *
 *     bench_processes [TURNS [PROCESSES_A_TURN [AT_ONCE]]]
 *
 * One JSON line per figure (tests/bench/README.md): medians over the turns. `attempts` leaves
 * folders as they are, as the loop does; `attempts_removed` has each removed when its process has
 * ended.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/keeper/keeper.h"
#include "runtime/troupe.h"
#include "schemas/runtime/process.h"

#define TR_BATCH_WISH_FIELDS(FIELD, ARRAY) \
    FIELD(u32, first, 1, 0)                \
    FIELD(u32, count, 1, 0)                \
    FIELD(bool, is_removed, 1, 0)
#define TR_BATCH_FIELDS(FIELD, ARRAY) \
    FIELD(u32, next, 1, 0)            \
    FIELD(u32, end, 1, 0)             \
    FIELD(u32, under_way, 1, 0)       \
    FIELD(bool, is_removed, 1, 0)

#define TR_BENCH_PROCESSES_SCHEMAS(S)                                     \
    S(batch_wish, 63101, TR_MESSAGE, 1, TR_DURABLE, TR_BATCH_WISH_FIELDS) \
    S(batch, 63102, TR_STATE, 1, 0, TR_BATCH_FIELDS)

TR_BENCH_PROCESSES_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_BENCH_PROCESSES_SCHEMAS(TR_SCHEMA_DEFINE)

/* What is asked for at once, as a multiple of what runs: the rest waits for its turn. */
enum { AHEAD = 8, TURNS_MAX = 1000 };

static const char inputs[] = "{\"a\": 17}";
static char store[72];
static char bare_folder[80];
static int at_once = 2;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static double rate(int count, uint64_t begin_us)
{
    return count * 1e6 / (double)(tri_monotonic_us() - begin_us);
}

/* ---- The bare loop. ------------------------------------------------------------------------- */

/* Folders and files as an attempt has them: inputs, a working folder, a temporary one, outputs. */
static void make_bare(const char *folder)
{
    char path[160];
    if (mkdir(folder, 0700) != 0) {
        fail("mkdir");
    }
    snprintf(path, sizeof path, "%s/work", folder);
    (void)mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/tmp", folder);
    (void)mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/inputs.json", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, inputs, sizeof inputs - 1) < 0) {
        fail("inputs");
    }
    close(fd);
}

static void spawn_bare(int number)
{
    static char program[] = "/bin/true";
    char *argv[] = {program, NULL};
    char folder[128];
    char out[160];
    char err[160];
    char work[160];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t pid;
    snprintf(folder, sizeof folder, "%s/%d", bare_folder, number);
    snprintf(out, sizeof out, "%s/stdout", folder);
    snprintf(err, sizeof err, "%s/stderr", folder);
    snprintf(work, sizeof work, "%s/work", folder);
    make_bare(folder);
    int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, out, flags, 0644);
    posix_spawn_file_actions_addopen(&files, 2, err, flags, 0644);
    posix_spawn_file_actions_addchdir_np(&files, work);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    if (posix_spawn(&pid, program, &files, &attributes, argv, environ) != 0) {
        fail("posix_spawn");
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
}

static double run_bare(int first, int count)
{
    uint64_t begin_us = tri_monotonic_us();
    for (int i = 0; i < count + at_once; i++) {
        int status;
        if (i >= at_once && (waitpid(-1, &status, 0) < 0 || status != 0)) {
            fail("waitpid");
        }
        if (i < count) {
            spawn_bare(first + i);
        }
    }
    return rate(count, begin_us);
}

/* ---- Through the service. ------------------------------------------------------------------- */

static struct tr_bytes written(const struct tr_writer *writer)
{
    return (struct tr_bytes){.data = writer->begin, .size = tr_writer_size(writer)};
}

static int run_one(struct tr_context *context, uint32_t number)
{
    static const char *const argv[] = {"/bin/true", NULL};
    static const char *const words[] = {"PATH", "HOME", "LANG", NULL};
    static const char *const folders[] = {"tmp", NULL};
    const struct tr_process_file file = {
        tr_text_of("inputs.json"), {(const uint8_t *)inputs, sizeof inputs - 1}, 0600};
    const struct tr_process_result results[] = {
        {.name = tr_text_of("outputs.json"), .size_max = 1 << 18},
        {.name = tr_text_of("error.json"), .size_max = 1 << 16}};
    uint8_t buffers[5][128];
    struct tr_writer writers[5];
    for (size_t i = 0; i < TR_COUNT_OF(writers); i++) {
        writers[i] = tr_writer_of(buffers[i], sizeof buffers[i]);
    }
    int error = tr_process_strings_pack(argv, &writers[0]);
    error = error != 0 ? error : tr_process_strings_pack(words, &writers[1]);
    error = error != 0 ? error : tr_process_strings_pack(folders, &writers[2]);
    error = error != 0 ? error : tr_process_files_pack(&file, 1, &writers[3]);
    error = error != 0 ? error : tr_process_results_pack(results, 2, &writers[4]);
    char key[32];
    char folder[128];
    snprintf(key, sizeof key, "bench/%u@0", number);
    snprintf(folder, sizeof folder, "%s/attempts/bench/%u@0", store, number);
    struct tr_process_run run = {
        .key = tr_text_of(key),
        .argv = written(&writers[0]),
        .environment = written(&writers[1]),
        .folder = tr_text_of(folder),
        .work = tr_text_of("work"),
        .stdout_path = tr_text_of("stdout"),
        .stderr_path = tr_text_of("stderr"),
        .folders = written(&writers[2]),
        .files = written(&writers[3]),
        .results = written(&writers[4]),
    };
    return error != 0
               ? error
               : tr_call(context, TR_SERVICE_PROCESSES, &tr_process_run_schema, &run, 0, NULL);
}

static int fill_up(struct tr_context *context, struct tr_batch *batch)
{
    int error = 0;
    while (error == 0 && batch->next < batch->end &&
           batch->under_way < (uint32_t)(at_once * AHEAD)) {
        error = run_one(context, batch->next++);
        batch->under_way++;
    }
    return error;
}

static int take_over(struct tr_context *context, struct tr_batch *batch,
                     const struct tr_message *message)
{
    const struct tr_ref service = {{0, TR_SERVICE_PROCESSES}, 0};
    struct tr_process_over over;
    int error = tr_message_read(message, process_over, &over);
    if (error != 0 || over.outcome != TR_PROCESS_EXITED || over.status != 0) {
        fail("a process failed");
    }
    if (batch->is_removed) {
        char folder[128];
        snprintf(folder, sizeof folder, "%s/attempts/%.*s", store, (int)over.key.size,
                 over.key.data);
        struct tr_folder_remove remove = {.path = tr_text_of(folder)};
        error = tr_tell(context, service, &tr_folder_remove_schema, &remove);
    }
    struct tr_process_forget forget = {.key = over.key};
    if (error == 0) {
        error = tr_tell(context, service, &tr_process_forget_schema, &forget);
    }
    batch->under_way--;
    if (error == 0) {
        error = fill_up(context, batch);
    }
    return error == 0 && batch->under_way == 0 ? tr_stop(context) : error;
}

static int batch_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_batch *batch = state;
    struct tr_batch_wish wish;
    if (tr_message_is(message, &tr_process_over_schema)) {
        return take_over(context, batch, message);
    }
    if (tr_message_is(message, &tr_process_started_schema)) {
        return 0;
    }
    if (!tr_message_is(message, &tr_batch_wish_schema) ||
        tr_message_read(message, batch_wish, &wish) != 0) {
        fail("refused");
    }
    batch->next = wish.first;
    batch->end = wish.first + wish.count;
    batch->is_removed = wish.is_removed;
    return fill_up(context, batch);
}

static const struct tr_behaviour batch_behaviour = {
    .name = "batch", .id = 3101, .state = &tr_batch_schema, .handle = batch_handle};

static double run_kept(struct tr_host *host, int first, int count, bool is_removed)
{
    uint64_t begin_us = tri_monotonic_us();
    struct tr_spawn_options options = {.is_watched = true};
    struct tr_batch_wish wish = {
        .first = (uint32_t)first, .count = (uint32_t)count, .is_removed = is_removed};
    struct tr_ref batch;
    int reason;
    if (tr_host_spawn(host, &batch_behaviour, &options, &batch) != 0 ||
        tr_host_tell(host, batch, &tr_batch_wish_schema, &wish) != 0 ||
        tr_host_wait(host, batch, 0, &reason) != 0 || reason != 0) {
        fail("host");
    }
    return rate(count, begin_us);
}

/* ---- The whole. ----------------------------------------------------------------------------- */

static struct tr_host *open_host(enum tr_durability durability)
{
    static const struct tr_behaviour *const behaviours[] = {&batch_behaviour};
    static const char *const keeper[] = {"bench", "keeper", NULL};
    struct tr_host_options options = {.worker_count = 1,
                                      .durability = durability,
                                      .folder = store,
                                      .behaviours = behaviours,
                                      .behaviour_count = 1,
                                      .keeper_command = keeper,
                                      .jobs = (uint32_t)at_once};
    struct tr_host *host;
    char words[TRI_STORE_EXPLAIN_BYTES];
    if (tr_host_new(&options, words, &host) != 0 || tr_host_start(host) != 0) {
        fail(words);
    }
    return host;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static void measure(int turns, int turn_size)
{
    static const char *const figures[] = {"attempts", "attempts_removed"};
    static double bare[TURNS_MAX];
    static double rates[2][TURNS_MAX];
    static double ratios[2][TURNS_MAX];
    struct tr_host *host = open_host(TR_DURABILITY_FULL);
    run_kept(host, 1 << 30, turn_size, true); /* starts the keeper */
    for (int turn = 0; turn < turns; turn++) {
        int first = turn * turn_size;
        bare[turn] = run_bare(first, turn_size);
        for (int kind = 0; kind < 2; kind++) {
            rates[kind][turn] =
                run_kept(host, first + (kind == 0 ? 0 : 1 << 29), turn_size, kind == 1);
            ratios[kind][turn] = rates[kind][turn] / bare[turn];
        }
    }
    tr_host_free(host);
    double bare_median = median(bare, turns);
    for (int kind = 0; kind < 2; kind++) {
        printf("{\"bench\":\"processes\",\"figure\":\"%s\",\"n\":%d,\"at_once\":%d,"
               "\"value\":%.0f,\"unit\":\"1/s\",\"durability\":\"full\","
               "\"yardstick\":{\"posix_spawn\":%.0f},\"ratio\":%.3f}\n",
               figures[kind], turns * turn_size, at_once, median(rates[kind], turns), bare_median,
               median(ratios[kind], turns));
    }
}

int main(int count, char **arguments)
{
    if (count == 3 && strcmp(arguments[1], "keeper") == 0) {
        struct tri_keeper_options options = {.is_detached = true, .idle_ms = 100};
        return tri_keeper_main(arguments[2], &options) == 0 ? 0 : 1;
    }
    int turns = count > 1 ? atoi(arguments[1]) : 20;
    int turn_size = count > 2 ? atoi(arguments[2]) : 200;
    at_once = count > 3 ? atoi(arguments[3]) : 2;
    char command[128];
    const char *temporary = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    snprintf(store, sizeof store, "%.40s/troupe-bench-XXXXXX", temporary);
    if (mkdtemp(store) == NULL) {
        fail("mkdtemp");
    }
    snprintf(bare_folder, sizeof bare_folder, "%s/bare", store);
    (void)mkdir(bare_folder, 0700);
    measure(turns < TURNS_MAX ? turns : TURNS_MAX, turn_size);
    snprintf(command, sizeof command, "rm -rf '%s'", store);
    return system(command) == 0 ? 0 : 1;
}
