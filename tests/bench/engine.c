/*
 * What the engine's actors cost: for now an array of elements that do nothing. Prints one JSON line
 * per figure.
 *
 *     bench_engine [--size N] [--milliseconds M] [--only FIGURE]
 *
 * `array_seconds`: from the node_start of a map over a list of N numbers, which lies in a blob, to
 * its node_ended with all outputs gathered into another blob. Each element is a task that gives
 * back what it got. `array_least_seconds` is the same with an actor in place of the task that does
 * nothing else, so the price of the array alone. Each pass is a map of its own in one host; the
 * value is the median.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "actors/engine.h"
#include "actors/graph/compile.h"
#include "actors/value.h"
#include "plugins/registry.h"
#include "runtime/memory.h"
#include "schemas/history.h"

#define PASSES_MAX 64

static void must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "bench_engine: %s: %s\n", what, tr_error_text(error));
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

/* ------------------------------------------------------------ the hub and the elements */

#define TR_BENCH_MAP_FIELDS(FIELD, ARRAY) \
    FIELD(u64, graph, 1, 0)               \
    FIELD(u32, node, 1, 0)                \
    FIELD(any, inputs, 1, 0)
#define TR_BENCH_HUB_FIELDS(FIELD, ARRAY) FIELD(u64, count, 1, 0)
#define TR_BENCH_ELEMENT_FIELDS(FIELD, ARRAY) FIELD(u8, nothing, 1, 0)

#define TR_BENCH_ENGINE_SCHEMAS(S)                                      \
    S(bench_map, 61101, TR_MESSAGE, 1, TR_DURABLE, TR_BENCH_MAP_FIELDS) \
    S(bench_hub, 61101, TR_STATE, 1, 0, TR_BENCH_HUB_FIELDS)            \
    S(bench_element, 61102, TR_STATE, 1, 0, TR_BENCH_ELEMENT_FIELDS)

TR_BENCH_ENGINE_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_BENCH_ENGINE_SCHEMAS(TR_SCHEMA_DEFINE)

/* The slot of the map's output; read by the program when the hub has ended. */
static uint8_t output_bytes[256];
static size_t output_size;

static int start_map(struct tr_context *context, const struct tr_message *message)
{
    struct tr_bench_map map;
    struct tr_ref array;
    struct tr_spawn_options options = {.name = tr_text_of("map")};
    int error = tr_message_read(message, bench_map, &map);
    error = error != 0 ? error : tr_spawn(context, &tr_array_behaviour, &options, &array);
    struct tr_node_start start = {
        .graph = map.graph,
        .node = map.node,
        .element = TR_ELEMENT_NONE,
        .execution = tr_text_of("default/development/bench-engine"),
        .number = tr_self(context).key.group,
        .path = tr_text_of("map"),
        .inputs = map.inputs,
    };
    return error != 0 ? error : tr_tell(context, array, &tr_node_start_schema, &start);
}

static int hub_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_node_ended ended;
    (void)state;
    if (tr_message_is(message, &tr_bench_map_schema)) {
        return start_map(context, message);
    }
    if (!tr_message_is(message, &tr_node_ended_schema)) {
        return 0;
    }
    int error = tr_message_read(message, node_ended, &ended);
    if (error == 0 && ended.phase != TR_NODE_PHASE_SUCCEEDED) {
        fprintf(stderr, "bench_engine: the map ended otherwise: %.*s: %.*s\n", (int)ended.code.size,
                ended.code.data, (int)ended.message.size, ended.message.data);
        exit(1);
    }
    struct tr_bytes slot = {0};
    error = error != 0 ? error : tr_slots_get(ended.outputs, 0, &slot);
    output_size = slot.size < sizeof output_bytes ? slot.size : 0;
    memcpy(output_bytes, slot.data, output_size);
    return error != 0 ? error : tr_stop(context);
}

static const struct tr_behaviour hub_behaviour = {
    .name = "bench_hub", .id = 90, .state = &tr_bench_hub_schema, .handle = hub_handle};

/* Gives back what it got, and nothing else. */
static int element_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_node_start start;
    (void)state;
    int error = tr_message_read(message, node_start, &start);
    if (error != 0) {
        return error;
    }
    struct tr_node_ended ended = {
        .node = start.node,
        .element = start.element,
        .phase = TR_NODE_PHASE_SUCCEEDED,
        .attempts = 1,
        .phases = 1U << TR_NODE_PHASE_RUNNING,
        .outputs = start.inputs,
        .failed_element = TR_ELEMENT_NONE,
    };
    error = tr_tell(context, tr_parent(context), &tr_node_ended_schema, &ended);
    return error != 0 ? error : tr_stop(context);
}

static const struct tr_behaviour element_behaviour = {
    .name = "task", .id = 102, .state = &tr_bench_element_schema, .handle = element_handle};

/* The task that the engine has, or the least one in its place. */
static const struct tr_behaviour *const engine_behaviours[] = {&hub_behaviour, &tr_array_behaviour,
                                                               &tr_task_behaviour};
static const struct tr_behaviour *const least_behaviours[] = {&hub_behaviour, &tr_array_behaviour,
                                                              &element_behaviour};

/* ------------------------------------------------------------------------ the figures */

struct run {
    const char *figure;
    uint64_t size;
    uint32_t workers;
    bool is_least;
    enum tr_durability durability;
    uint64_t milliseconds;
};

static const char definition[] = "troupe: 1\n"
                                 "tasks:\n"
                                 "  same: {inputs: {a: int}, outputs: {a: int}, type: echo}\n"
                                 "workflows:\n"
                                 "  main:\n"
                                 "    inputs: {a: [int]}\n"
                                 "    nodes:\n"
                                 "      map: {map: same, with: {a: $a}}\n";

static uint64_t put_graph(struct tr_engine *engine, uint32_t *node)
{
    struct tr_compile_request request = {.path = tr_text_of("bench.yaml"),
                                         .folder = tr_text_of("/"),
                                         .text = tr_text_of(definition)};
    struct tr_report report;
    struct tr_graph *graph = NULL;
    uint64_t number = 0;
    tr_report_init(&report);
    must(tr_graph_compile(&request, &report, &graph), "compile");
    tr_report_fini(&report);
    *node = tr_workflow_find_node(&graph->workflows[0], tr_text_of("map"));
    must(tr_shelf_put(&engine->shelf, graph, &number), "shelf");
    return number;
}

/* The numbers from 0 on, in a blob, as the one input's slot. */
static void write_list(const char *folder, uint64_t size, struct tr_buffer *slots)
{
    struct tr_buffer list;
    char path[96];
    tr_buffer_init(&list, 0);
    tr_buffer_array(&list, (uint32_t)size);
    for (uint64_t i = 0; i < size; i++) {
        tr_buffer_u64(&list, i);
    }
    must(list.error, "list");
    snprintf(path, sizeof path, "%s/list", folder);
    FILE *file = fopen(path, "wb");
    must(file == NULL || fwrite(list.data, 1, list.size, file) != list.size ? TR_SYSTEM : 0, path);
    fclose(file);
    struct tr_offloaded where = {.uri = tr_text_of(path), .size_bytes = list.size};
    tr_buffer_array(slots, 1);
    tr_slot_write_offloaded(slots, &where);
    must(slots->error, "slots");
    tr_buffer_fini(&list);
}

/* What came out is what went in; a list that is small enough did not go through a blob. */
static void check_output(const char *folder)
{
    char command[512];
    struct tr_offloaded where;
    if (tr_slot_is_offloaded((struct tr_bytes){output_bytes, output_size}, &where)) {
        snprintf(command, sizeof command, "cmp %s/list %.*s", folder, (int)where.uri.size,
                 where.uri.data);
        must(system(command) == 0 ? 0 : TR_FAILED, "the outputs are not the inputs");
    }
}

static double pass(struct tr_host *host, const struct tr_bench_map *map)
{
    struct tr_ref hub;
    int reason;
    struct tr_spawn_options options = {.is_watched = true};
    must(tr_host_spawn(host, &hub_behaviour, &options, &hub), "spawn");
    double begin = now_ns();
    must(tr_host_tell(host, hub, &tr_bench_map_schema, map), "tell");
    must(tr_host_wait(host, hub, 0, &reason), "wait");
    return (now_ns() - begin) / 1e9;
}

static int compare(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;
    return *left < *right ? -1 : *left > *right;
}

static void print(const struct run *run, double value, const char *unit)
{
    static const char *const levels[] = {"none", "process", "full"};
    printf("{\"figure\":\"%s\",\"n\":%llu,\"value\":%.4f,\"unit\":\"%s\",\"workers\":%u,"
           "\"durability\":\"%s\",\"rss_bytes\":%llu}\n",
           run->figure, (unsigned long long)run->size, value, unit, run->workers,
           levels[run->durability], (unsigned long long)status_bytes("VmHWM"));
    fflush(stdout);
}

static struct tr_host *host_for(const struct run *run, struct tr_engine *engine, const char *folder)
{
    char words[TRI_STORE_EXPLAIN_BYTES];
    struct tr_host *host;
    struct tr_host_options options = {
        .worker_count = run->workers,
        .durability = run->durability,
        .folder = folder,
        .has_files = true,
        .behaviours = run->is_least ? least_behaviours : engine_behaviours,
        .behaviour_count = TR_COUNT_OF(engine_behaviours),
        .records = tr_history_schemas,
        .record_count = tr_history_schema_count,
        .program = engine,
    };
    must(tr_host_new(&options, words, &host), words);
    return host;
}

static void measure_array(const struct run *run)
{
    static struct tr_engine engine;
    struct tr_buffer slots;
    struct tr_bench_map map = {0};
    double values[PASSES_MAX];
    size_t count = 0;
    char folder[] = "/tmp/troupe-bench-XXXXXX";
    must(mkdtemp(folder) == NULL ? TR_SYSTEM : 0, "mkdtemp");
    tr_buffer_init(&slots, 0);
    engine.plugins = tr_plugins;
    engine.plugin_count = tr_plugin_count;
    map.graph = put_graph(&engine, &map.node);
    write_list(folder, run->size, &slots);
    map.inputs = tr_buffer_bytes(&slots);
    struct tr_host *host = host_for(run, &engine, folder);
    must(tr_host_start(host), "start");
    double begin = now_ns();
    do {
        values[count++] = pass(host, &map);
    } while (count < PASSES_MAX && now_ns() - begin < (double)run->milliseconds * 1e6);
    check_output(folder);
    tr_host_stop(host);
    tr_host_free(host);
    tr_buffer_fini(&slots);
    tr_shelf_fini(&engine.shelf);
    memset(&engine, 0, sizeof engine);
    qsort(values, count, sizeof values[0], compare);
    print(run, values[count / 2], "s");
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) {
        fprintf(stderr, "bench_engine: %s was left behind\n", folder);
    }
}

/* What is measured. */
static const struct figure {
    const char *name;
    bool is_least;
    enum tr_durability durability;
} figures[] = {
    {"array_seconds", false, TR_DURABILITY_FULL},
    {"array_seconds", false, TR_DURABILITY_PROCESS},
    {"array_least_seconds", true, TR_DURABILITY_FULL},
    {"array_least_seconds", true, TR_DURABILITY_PROCESS},
};

int main(int argc, char **argv)
{
    struct run run = {.size = 1000, .workers = 1, .milliseconds = 200};
    const char *only = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--size") == 0) {
            run.size = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--milliseconds") == 0) {
            run.milliseconds = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--only") == 0) {
            only = argv[i + 1];
        }
    }
    if (argc % 2 == 0 || run.size == 0 || run.size > UINT32_MAX) {
        fprintf(stderr, "usage: bench_engine [--size N] [--milliseconds M] [--only FIGURE]\n");
        return 2;
    }
    for (size_t i = 0; i < TR_COUNT_OF(figures); i++) {
        if (only == NULL || strcmp(only, figures[i].name) == 0) {
            run.figure = figures[i].name;
            run.is_least = figures[i].is_least;
            run.durability = figures[i].durability;
            measure_array(&run);
        }
    }
    return 0;
}
