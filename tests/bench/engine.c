/*
 * What the engine costs. Prints a JSON line per figure, and says in README.md what each is.
 *
 *     bench_engine [--size N] [--milliseconds M] [--only FIGURE] [--store postgres]
 *
 * Here are the arrays of N elements that do nothing, and the table of all figures; engine/flow.c
 * has whole executions, engine/program.c what people start.
 *
 * `array_seconds`: from the node_start of a map over a list of N numbers, which lies in a blob, to
 * its node_ended with all outputs gathered into another blob. Each element is a task that gives
 * back what it got. `array_least_seconds` is the same with an actor in place of the task that does
 * nothing else, so the price of the array alone. Each pass is a map of its own in one host; the
 * value is the median.
 */
#include "actors/graph/compiled/graph.h"
#include "actors/graph/value/slot.h"
#include "plugins/builtin/registry.h"
#include "schemas/runtime/blob_uri.h"
#include "tests/bench/engine/figures.h"

#define PASSES_MAX 64

enum array_kind { ARRAY, ARRAY_LEAST };

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

static const char definition[] = "troupe: 1\n"
                                 "tasks:\n"
                                 "  same: {inputs: {a: int}, outputs: {a: int}, type: echo}\n"
                                 "workflows:\n"
                                 "  main:\n"
                                 "    inputs: {a: [int]}\n"
                                 "    nodes:\n"
                                 "      map: {map: same, with: {a: $a}}\n";

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
    bench_must(list.error, "list");
    snprintf(path, sizeof path, "%s/list", folder);
    FILE *file = fopen(path, "wb");
    bench_must(file == NULL || fwrite(list.data, 1, list.size, file) != list.size ? TR_SYSTEM : 0,
               path);
    fclose(file);
    struct tr_offloaded where = {.uri = tr_text_of(path), .size_bytes = list.size};
    tr_buffer_array(slots, 1);
    tr_slot_write_offloaded(slots, &where);
    bench_must(slots->error, "slots");
    tr_buffer_fini(&list);
}

/* What came out is what went in; a list that is small enough did not go through a blob. */
static void check_output(const char *folder)
{
    char command[512];
    struct tr_offloaded where;
    if (tr_slot_is_offloaded((struct tr_bytes){output_bytes, output_size}, &where)) {
        const size_t scheme = strlen(TR_BLOB_SCHEME);
        snprintf(command, sizeof command, "cmp %s/list %s/blobs/%.*s", folder, folder,
                 (int)(where.uri.size - scheme), where.uri.data + scheme);
        bench_must(system(command) == 0 ? 0 : TR_FAILED, "the outputs are not the inputs");
    }
}

static double pass(struct tr_host *host, const struct tr_bench_map *map)
{
    struct tr_ref hub;
    int reason;
    struct tr_spawn_options options = {.is_watched = true};
    bench_must(tr_host_spawn(host, &hub_behaviour, &options, &hub), "spawn");
    double begin = bench_now_ns();
    bench_must(tr_host_tell(host, hub, &tr_bench_map_schema, map), "tell");
    bench_must(tr_host_wait(host, hub, 0, &reason), "wait");
    return (bench_now_ns() - begin) / 1e9;
}

/* What the array left behind, for each element: bytes of the store and changes of phase. */
static void print_left(const struct bench_run *run, const char *folder, size_t passes,
                       double seconds)
{
    double elements = (double)run->n * (double)passes;
    double phases = (double)bench_count_phases(folder);
    if (!bench_is_on_server()) {
        bench_print(run, "array_bytes_per_element", (double)bench_folder_bytes(folder) / elements,
                    "bytes");
    }
    bench_print(run, "array_transitions_per_second", phases / (double)passes / seconds, "1/s");
}

static void measure_array(const struct bench_run *run)
{
    static struct tr_engine engine;
    struct tr_buffer slots;
    struct tr_bench_map map = {0};
    double values[PASSES_MAX];
    size_t count = 0;
    char folder[BENCH_FOLDER_BYTES];
    bool is_least = run->kind == ARRAY_LEAST;
    bench_folder_make(folder);
    tr_buffer_init(&slots, 0);
    engine = (struct tr_engine){.plugins = tr_plugins, .plugin_count = tr_plugin_count};
    const struct tr_graph *graph = bench_graph(&engine, definition, &map.graph);
    const struct tr_workflow *workflow = &graph->workflows[0];
    while (!tr_text_equal(workflow->nodes[map.node].id, tr_text_of("map"))) {
        map.node++;
    }
    write_list(folder, run->n, &slots);
    map.inputs = tr_buffer_bytes(&slots);
    struct tr_host *host =
        bench_host(run, &engine, folder, is_least ? least_behaviours : engine_behaviours,
                   TR_COUNT_OF(engine_behaviours));
    bench_must(tr_host_start(host), "start");
    double begin = bench_now_ns();
    do {
        values[count++] = pass(host, &map);
    } while (count < PASSES_MAX && bench_now_ns() - begin < (double)run->milliseconds * 1e6);
    check_output(folder);
    tr_host_stop(host);
    tr_host_free(host);
    tr_buffer_fini(&slots);
    tr_graph_registry_fini(&engine.registry);
    double seconds = bench_median(values, count);
    bench_print(run, run->figure, seconds, "s");
    if (run->durability == TR_DURABILITY_FULL && !is_least) {
        print_left(run, folder, count, seconds);
    }
    bench_folder_remove(folder);
}

static const struct bench_figure figures[] = {
    {"array_seconds", measure_array, ARRAY, 1, TR_DURABILITY_FULL},
    {"array_seconds", measure_array, ARRAY, 1, TR_DURABILITY_PROCESS},
    {"array_least_seconds", measure_array, ARRAY_LEAST, 1, TR_DURABILITY_FULL},
    {"array_least_seconds", measure_array, ARRAY_LEAST, 1, TR_DURABILITY_PROCESS},
    {"chain_step_ms", bench_flow_measure, BENCH_OUTSIDE, 1000, TR_DURABILITY_FULL},
    {"chain_noop_step_ms", bench_flow_measure, BENCH_CHAIN, 1000, TR_DURABILITY_FULL},
    {"chains_steps_per_second", bench_flow_measure, BENCH_CHAINS, 1000, TR_DURABILITY_FULL},
    {"small_transitions_per_second", bench_flow_measure, BENCH_SMALL, 100, TR_DURABILITY_FULL},
    {"seven_nodes_ms", bench_flow_measure, BENCH_SEVEN, 100, TR_DURABILITY_NONE},
    {"cold_start_ms", bench_program_measure, BENCH_START, 10000, TR_DURABILITY_FULL},
    {"true_array_per_second", bench_program_measure, BENCH_PROCESSES, 100, TR_DURABILITY_FULL},
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, figures, TR_COUNT_OF(figures));
}
