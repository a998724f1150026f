/*
 * What actors cost here: the same workloads as the yardsticks beside it, and the price of the
 * journal's levels. Prints one JSON line per figure; tests/bench/run merges them with the peers'.
 *
 *     bench_actors [--size N] [--milliseconds M]
 *
 * A figure is the median of passes over M milliseconds, after one pass that warms up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/memory.h"
#include "runtime/tap/tap.h"
#include "runtime/troupe.h"

#define PASSES_MAX 64
#define WINDOW 10000

/* Messages: `go` begins a pass in a parent, `work` is for a child, `done` its answer. */
#define TR_BENCH_GO_FIELDS(FIELD, ARRAY) \
    FIELD(u64, size, 1, 0)               \
    FIELD(u8, workload, 1, 0)            \
    FIELD(ref, peer, 1, 0)
#define TR_BENCH_WORK_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
#define TR_BENCH_DONE_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)

/* States. */
#define TR_BENCH_PARENT_FIELDS(FIELD, ARRAY) \
    FIELD(u64, size, 1, 0)                   \
    FIELD(u64, spawned, 1, 0)                \
    FIELD(u64, told, 1, 0)                   \
    FIELD(u64, done, 1, 0)                   \
    FIELD(u64, sum, 1, 0)                    \
    FIELD(u64, first_serial, 1, 0)           \
    FIELD(u32, first_hint, 1, 0)             \
    FIELD(u8, workload, 1, 0)                \
    FIELD(ref, peer, 1, 0)
#define TR_BENCH_CHILD_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)                \
    FIELD(u8, ends, 1, 0)

#define TR_BENCH_SCHEMAS(S)                                                \
    S(bench_go, 61001, TR_MESSAGE, 1, TR_DURABLE, TR_BENCH_GO_FIELDS)      \
    S(bench_work, 61002, TR_MESSAGE, 1, TR_DURABLE, TR_BENCH_WORK_FIELDS)  \
    S(bench_done, 61003, TR_MESSAGE, 1, TR_PRIORITY, TR_BENCH_DONE_FIELDS) \
    S(bench_parent, 61004, TR_STATE, 1, 0, TR_BENCH_PARENT_FIELDS)         \
    S(bench_child, 61005, TR_STATE, 1, 0, TR_BENCH_CHILD_FIELDS)

TR_BENCH_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_BENCH_SCHEMAS(TR_SCHEMA_DEFINE)

enum workload { LIVE, FAN, TELL, ASK, HOLD };

/* ------------------------------------------------------------- the child */

static int child_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_bench_child *child = state;
    struct tr_bench_work work;
    int error = tr_message_read(message, bench_work, &work);
    if (error != 0) {
        return error;
    }
    child->number = work.number;
    struct tr_bench_done done = {.number = work.number};
    error = tr_reply(context, message, &tr_bench_done_schema, &done);
    if (error == 0 && child->ends != 0) {
        error = tr_stop(context);
    }
    return error;
}

static const struct tr_behaviour child_behaviour = {
    .name = "bench_child", .id = 1002, .state = &tr_bench_child_schema, .handle = child_handle};

/* ------------------------------------------------------------ the parent */

/* The effects of one message are bounded, so a parent spawns and tells in portions. */
#define PORTION 1000

static int again(struct tr_context *context)
{
    return tr_tell(context, tr_self(context), &tr_bench_done_schema,
                   &(struct tr_bench_done){.number = UINT64_MAX});
}

static int spawn_some(struct tr_context *context, struct tr_bench_parent *parent, uint64_t limit,
                      bool tells)
{
    struct tr_bench_child first = {.ends = parent->workload == FAN};
    struct tr_spawn_options options = {.state = &first, .is_element = true};
    for (uint32_t i = 0; i < PORTION && parent->spawned < limit; i++) {
        struct tr_ref child;
        options.element = parent->spawned;
        int error = tr_spawn(context, &child_behaviour, &options, &child);
        if (error != 0) {
            return error;
        }
        if (parent->spawned++ == 0) {
            parent->first_serial = child.key.serial;
        }
        struct tr_bench_work work = {.number = parent->spawned};
        error = tells ? tr_tell_hinted(context, child, tr_spawned_hint(context),
                                       &tr_bench_work_schema, &work)
                      : 0;
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* All exist before the first hears anything. Serials of one worker are spawned in steps of 16. */
static int tell_some(struct tr_context *context, struct tr_bench_parent *parent)
{
    for (uint32_t i = 0; i < PORTION && parent->told < parent->size; i++) {
        struct tr_ref child = {
            {tr_self(context).key.group, parent->first_serial + 16 * parent->told}, 1};
        struct tr_bench_work work = {.number = ++parent->told};
        int error = tr_tell(context, child, &tr_bench_work_schema, &work);
        if (error != 0) {
            return error;
        }
    }
    return parent->told < parent->size ? again(context) : 0;
}

/* -------------------------------------------------- the workloads' steps */

static int live_step(struct tr_context *context, struct tr_bench_parent *parent)
{
    if (parent->spawned < parent->size) {
        int error = spawn_some(context, parent, parent->size, false);
        return error != 0 ? error : again(context);
    }
    bool tells = parent->workload == LIVE && parent->told < parent->size;
    return tells ? tell_some(context, parent) : 0;
}

static int fan_step(struct tr_context *context, struct tr_bench_parent *parent)
{
    uint64_t limit = parent->done + WINDOW < parent->size ? parent->done + WINDOW : parent->size;
    return parent->spawned + PORTION / 2 <= limit || limit == parent->size
               ? spawn_some(context, parent, limit, true)
               : 0;
}

static int on_go(struct tr_context *context, struct tr_bench_parent *parent,
                 const struct tr_message *message)
{
    struct tr_bench_go go;
    int error = tr_message_read(message, bench_go, &go);
    if (error != 0) {
        return error;
    }
    *parent = (struct tr_bench_parent){.size = go.size, .workload = go.workload, .peer = go.peer};
    switch ((enum workload)go.workload) {
    case LIVE:
    case HOLD:
        return live_step(context, parent);
    case FAN:
        error = fan_step(context, parent);
        for (uint32_t i = 0; error == 0 && i < WINDOW / PORTION; i++) {
            error = fan_step(context, parent);
        }
        return error;
    case TELL:
        return again(context);
    case ASK:
        return tr_tell(context, go.peer, &tr_bench_work_schema, &(struct tr_bench_work){0});
    }
    return 0;
}

/* A stream to the peer, in portions; the peer's last answer ends the pass. */
static int stream_step(struct tr_context *context, struct tr_bench_parent *parent)
{
    for (uint32_t i = 0; i < PORTION && parent->told < parent->size; i++) {
        struct tr_bench_work work = {.number = parent->size - ++parent->told};
        int error = tr_tell(context, parent->peer, &tr_bench_work_schema, &work);
        if (error != 0) {
            return error;
        }
    }
    return parent->told < parent->size ? again(context) : 0;
}

static int on_done(struct tr_context *context, struct tr_bench_parent *parent,
                   const struct tr_message *message)
{
    struct tr_bench_done done;
    int error = tr_message_read(message, bench_done, &done);
    if (error != 0) {
        return error;
    }
    bool is_own = done.number == UINT64_MAX;
    if (is_own) {
        return parent->workload != TELL ? live_step(context, parent) : stream_step(context, parent);
    }
    parent->done++;
    parent->sum += done.number;
    if (parent->workload == TELL || parent->done == parent->size) {
        return tr_stop(context);
    }
    if (parent->workload == FAN) {
        return parent->spawned < parent->size ? fan_step(context, parent) : 0;
    }
    if (parent->workload == ASK) {
        return tr_tell(context, parent->peer, &tr_bench_work_schema,
                       &(struct tr_bench_work){.number = parent->done});
    }
    return 0;
}

static int parent_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_bench_parent *parent = state;
    return tr_message_is(message, &tr_bench_go_schema) ? on_go(context, parent, message)
                                                       : on_done(context, parent, message);
}

static const struct tr_behaviour parent_behaviour = {
    .name = "bench_parent", .id = 1001, .state = &tr_bench_parent_schema, .handle = parent_handle};

/* ---------------------------------------------- the peer of tell and ask */

static int peer_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_bench_child *peer = state;
    struct tr_bench_work work;
    int error = tr_message_read(message, bench_work, &work);
    if (error != 0) {
        return error;
    }
    peer->number++;
    bool answers = peer->ends != 0 || work.number == 0;
    return answers ? tr_reply(context, message, &tr_bench_done_schema,
                              &(struct tr_bench_done){.number = work.number})
                   : 0;
}

static const struct tr_behaviour peer_behaviour = {
    .name = "bench_peer", .id = 1003, .state = &tr_bench_child_schema, .handle = peer_handle};

static const struct tr_behaviour *const behaviours[] = {&parent_behaviour, &child_behaviour,
                                                        &peer_behaviour};

/* ---------------------------------------------------------- measurements */

struct run {
    enum workload workload;
    uint64_t size;
    uint32_t workers;
    bool is_far;    /* the peer lives on the other worker */
    bool is_tapped; /* somebody looks at the headers of one message in a thousand */
    enum tr_durability durability;
    uint64_t milliseconds;
};

static void must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "bench_actors: %s: %s\n", what, tr_error_text(error));
        exit(1);
    }
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* A line of /proc/self/status, in bytes. */
static uint64_t status_bytes(const char *label)
{
    char line[256];
    unsigned long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, label, strlen(label)) == 0) {
            kilobytes = strtoul(line + strlen(label) + 1, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return (uint64_t)kilobytes * 1024;
}

static struct tr_host *host_for(const struct run *run, const char *folder)
{
    struct tr_host_options options = {
        .worker_count = run->workers,
        .durability = run->durability,
        .folder = run->durability == TR_DURABILITY_NONE ? NULL : folder,
        .behaviours = behaviours,
        .behaviour_count = TR_COUNT_OF(behaviours),
    };
    struct tr_host *host;
    char words[TRI_STORE_EXPLAIN_BYTES];
    int error = tr_host_new(&options, words, &host);
    must(error, words);
    must(tr_host_start(host), "start");
    return host;
}

/* One pass, from the first message to the parent's end. */
static double pass(struct tr_host *host, const struct run *run)
{
    struct tr_ref peer = {0};
    struct tr_ref parent;
    int reason;
    bool has_peer = run->workload == TELL || run->workload == ASK;
    if (has_peer) {
        struct tr_bench_child state = {.ends = run->workload == ASK};
        must(tr_host_spawn(host, &peer_behaviour, &(struct tr_spawn_options){.state = &state},
                           &peer),
             "spawn");
    }
    must(tr_host_spawn(host, &parent_behaviour, NULL, &parent), "spawn");
    if (has_peer && run->workers > 1) {
        must(tr_host_move(host, peer, 0), "move");
        must(tr_host_move(host, parent, run->is_far ? 1 : 0), "move");
    }
    struct tr_bench_go go = {.size = run->size, .workload = (uint8_t)run->workload, .peer = peer};
    double begin = now_ns();
    must(tr_host_tell(host, parent, &tr_bench_go_schema, &go), "tell");
    must(tr_host_wait(host, parent, 0, &reason), "wait");
    return (now_ns() - begin) / (double)run->size;
}

static int compare(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;
    return *left < *right ? -1 : *left > *right;
}

static void print(const char *figure, const struct run *run, double value, const char *unit)
{
    static const char *const levels[] = {"none", "process", "full"};
    printf("{\"figure\":\"%s\",\"n\":%llu,\"value\":%.1f,\"unit\":\"%s\",\"workers\":%u,"
           "\"durability\":\"%s\",\"rss_bytes\":%llu}\n",
           figure, (unsigned long long)run->size, value, unit, run->workers,
           levels[run->durability], (unsigned long long)status_bytes("VmHWM"));
    fflush(stdout);
}

/* Headers of all messages that are handled go past the filter; one in a thousand is shown. */
static struct tr_tap *tap_for(struct tr_host *host, const struct run *run)
{
    struct tr_tap_filter filter = {
        .points = 1U << TR_TAP_HANDLED, .sample = 1000, .limit = TR_TAP_EVENTS_MAX};
    struct tr_tap *tap = NULL;
    if (run->is_tapped) {
        must(tr_tap_open(host, &filter, &tap), "tap");
    }
    return tap;
}

/* Sends an actor with a mailbox full of messages to and fro, and gives the time of one way. */
static void measure_move(const struct run *run)
{
    struct tr_host *host = host_for(run, NULL);
    struct tr_ref actor;
    double values[PASSES_MAX];
    must(tr_host_spawn(host, &peer_behaviour, NULL, &actor), "spawn");
    for (size_t i = 0; i < PASSES_MAX; i++) {
        for (uint64_t k = 1; k <= 100; k++) {
            must(tr_host_tell(host, actor, &tr_bench_work_schema, &(struct tr_bench_work){k}),
                 "tell");
        }
        double begin = now_ns();
        must(tr_host_move(host, actor, (uint32_t)i % 2), "move");
        values[i] = now_ns() - begin;
    }
    tr_host_free(host);
    qsort(values, PASSES_MAX, sizeof values[0], compare);
    print("move_actor_ns", run, values[PASSES_MAX / 2], "ns");
}

static void measure(const char *figure, struct run run)
{
    char folder[] = "/tmp/troupe-bench-XXXXXX";
    must(mkdtemp(folder) == NULL ? TR_SYSTEM : 0, "mkdtemp");
    struct tr_host *host = host_for(&run, folder);
    struct tr_tap *tap = tap_for(host, &run);
    double values[PASSES_MAX];
    size_t count = 0;
    (void)pass(host, &run); /* the first one warms up */
    double begin = now_ns();
    do {
        values[count++] = pass(host, &run);
    } while (count < PASSES_MAX && now_ns() - begin < (double)run.milliseconds * 1e6);
    tr_tap_close(tap);
    tr_host_free(host);
    qsort(values, count, sizeof values[0], compare);
    print(figure, &run, values[count / 2], "ns");
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) {
        fprintf(stderr, "bench_actors: %s was left behind\n", folder);
    }
}

/* A parent that has all its children and has told nobody anything: the memory of idle actors. */
static void measure_bytes(struct run run)
{
    struct tr_host *host = host_for(&run, NULL);
    struct tr_ref parent;
    int reason;
    must(tr_host_spawn(host, &parent_behaviour, NULL, &parent), "spawn");
    uint64_t before = status_bytes("VmRSS");
    struct tr_bench_go go = {.size = run.size, .workload = HOLD};
    must(tr_host_tell(host, parent, &tr_bench_go_schema, &go), "tell");
    uint64_t resident = 0;
    uint64_t last;
    do {
        last = resident;
        int error = tr_host_wait(host, parent, 200, &reason);
        must(error == TR_TIMEOUT ? 0 : TR_FAILED, "wait");
        resident = status_bytes("VmRSS");
    } while (resident != last);
    print("live_actor_bytes", &run, (double)(resident - before) / (double)run.size, "bytes");
    tr_host_free(host);
}

/* What is measured: a workload, the places of its actors, and the journal's level. */
static const struct figure {
    const char *name;
    enum workload workload;
    bool is_far;
    enum tr_durability durability;
    uint64_t size_max; /* 0: any */
    bool is_tapped;
} figures[] = {
    {"live_actor_ns", LIVE, false, TR_DURABILITY_NONE, 0, false},
    {"fan_actor_ns", FAN, false, TR_DURABILITY_NONE, 0, false},
    {"tell_same_worker_ns", TELL, false, TR_DURABILITY_NONE, 0, false},
    {"tell_other_worker_ns", TELL, true, TR_DURABILITY_NONE, 0, false},
    {"tell_tapped_ns", TELL, false, TR_DURABILITY_NONE, 0, true},
    {"ask_same_worker_ns", ASK, false, TR_DURABILITY_NONE, 100000, false},
    {"ask_other_worker_ns", ASK, true, TR_DURABILITY_NONE, 100000, false},
    {"fan_actor_process_ns", FAN, false, TR_DURABILITY_PROCESS, 0, false},
    {"fan_actor_full_ns", FAN, false, TR_DURABILITY_FULL, 0, false},
};

static void measure_all(uint64_t size, uint64_t milliseconds, const char *only)
{
    struct run bytes = {.workload = HOLD, .size = size, .workers = 1};
    if (only == NULL || strcmp(only, "live_actor_bytes") == 0) {
        measure_bytes(bytes);
    }
    for (size_t i = 0; i < TR_COUNT_OF(figures); i++) {
        const struct figure *figure = &figures[i];
        bool is_small = figure->size_max == 0 || size < figure->size_max;
        struct run run = {
            .workload = figure->workload,
            .size = is_small ? size : figure->size_max,
            .workers = figure->is_far ? 2 : 1,
            .is_far = figure->is_far,
            .is_tapped = figure->is_tapped,
            .durability = figure->durability,
            .milliseconds = milliseconds,
        };
        if (only == NULL || strcmp(only, figure->name) == 0) {
            measure(figure->name, run);
        }
    }
    struct run move = {.workload = HOLD, .size = 100, .workers = 2, .milliseconds = milliseconds};
    if (only == NULL || strcmp(only, "move_actor_ns") == 0) {
        measure_move(&move);
    }
}

int main(int argc, char **argv)
{
    uint64_t size = 1000000;
    uint64_t milliseconds = 1000;
    const char *only = NULL;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--size") == 0 && value[0] != '\0') {
            size = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i], "--milliseconds") == 0 && value[0] != '\0') {
            milliseconds = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i], "--figure") == 0 && value[0] != '\0') {
            only = value;
        } else {
            fprintf(stderr, "usage: bench_actors [--size N] [--milliseconds M] [--figure NAME]\n");
            return 2;
        }
    }
    measure_all(size, milliseconds, only);
    return 0;
}
