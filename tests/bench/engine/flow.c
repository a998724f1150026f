/*
 * Whole executions: launched by the launcher, run by the real actors, watched until they are gone.
 *
 * A driver, an actor too, keeps `width` of them under way, so that no thread of the program's own
 * stands between the end of one and the beginning of the next.
 */
#include "actors/graph/compiled/graph.h"
#include "actors/graph/value/slot.h"
#include "plugins/builtin/registry.h"
#include "plugins/sdk/plugin.h"
#include "runtime/store_open.h"
#include "schemas/engine/history.h"
#include "schemas/runtime/files.h"
#include "tests/bench/engine/figures.h"

#define CHAINS 64
#define SMALL_AT_ONCE 256
#define DEFINITION_BYTES 262144
#define ROUNDS_MAX 64

/* ------------------------------------------------------------------------ the driver */

#define TR_BENCH_GO_FIELDS(FIELD, ARRAY) \
    FIELD(u64, first, 1, 0)              \
    FIELD(u64, count, 1, 0)              \
    FIELD(u64, width, 1, 0)              \
    FIELD(ref, launcher, 1, 0)           \
    FIELD(bytes, graph, 1, 0)
#define TR_BENCH_DRIVER_FIELDS(FIELD, ARRAY) \
    FIELD(u64, next, 1, 0)                   \
    FIELD(u64, end, 1, 0)                    \
    FIELD(u64, left, 1, 0)                   \
    FIELD(ref, launcher, 1, 0)               \
    FIELD(u64, graph_0, 1, 0)                \
    FIELD(u64, graph_1, 1, 0)                \
    FIELD(u64, graph_2, 1, 0)                \
    FIELD(u64, graph_3, 1, 0)

#define TR_BENCH_FLOW_SCHEMAS(S)                                      \
    S(bench_go, 61111, TR_MESSAGE, 1, TR_DURABLE, TR_BENCH_GO_FIELDS) \
    S(bench_driver, 61111, TR_STATE, 1, 0, TR_BENCH_DRIVER_FIELDS)

TR_BENCH_FLOW_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_BENCH_FLOW_SCHEMAS(TR_SCHEMA_DEFINE)

static int launch_next(struct tr_context *context, struct tr_bench_driver *driver)
{
    static const uint8_t no_inputs[] = {0x90};
    char name[32];
    const uint64_t graph[] = {driver->graph_0, driver->graph_1, driver->graph_2, driver->graph_3};
    snprintf(name, sizeof name, "x%llu", (unsigned long long)driver->next++);
    struct tr_launch launch = {
        .name = tr_text_of(name),
        .graph = {.data = (const uint8_t *)graph, .size = sizeof graph},
        .plan = UINT32_MAX,
        .inputs = {.data = no_inputs, .size = sizeof no_inputs},
        .cause = tr_text_of("bench"),
    };
    return tr_ask(context, driver->launcher, &tr_launch_schema, &launch, 0, NULL);
}

static int go(struct tr_context *context, struct tr_bench_driver *driver,
              const struct tr_message *message)
{
    struct tr_bench_go wish;
    int error = tr_message_read(message, bench_go, &wish);
    if (error != 0 || wish.graph.size != 4 * sizeof(uint64_t)) {
        return error != 0 ? error : TR_INVALID;
    }
    uint64_t graph[4];
    memcpy(graph, wish.graph.data, sizeof graph);
    *driver = (struct tr_bench_driver){.next = wish.first,
                                       .end = wish.first + wish.count,
                                       .left = wish.count,
                                       .launcher = wish.launcher,
                                       .graph_0 = graph[0],
                                       .graph_1 = graph[1],
                                       .graph_2 = graph[2],
                                       .graph_3 = graph[3]};
    for (uint64_t i = 0; i < wish.width && error == 0 && driver->next < driver->end; i++) {
        error = launch_next(context, driver);
    }
    return error;
}

static int driver_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_bench_driver *driver = state;
    struct tr_launched launched;
    if (tr_message_is(message, &tr_bench_go_schema)) {
        return go(context, driver, message);
    }
    if (tr_message_is(message, &tr_launched_schema)) {
        int error = tr_message_read(message, launched, &launched);
        error = error != 0 ? error : (int)launched.error;
        bench_must(error, "launch");
        return tr_monitor(context, launched.execution, NULL);
    }
    if (!tr_message_is(message, &tr_down_schema)) {
        return 0;
    }
    driver->left--;
    if (driver->left == 0) {
        return tr_stop(context);
    }
    return driver->next < driver->end ? launch_next(context, driver) : 0;
}

static const struct tr_behaviour driver_behaviour = {
    .name = "bench_driver", .id = 91, .state = &tr_bench_driver_schema, .handle = driver_handle};

static const struct tr_behaviour *const behaviours[] = {
    &driver_behaviour,   &tr_launcher_behaviour, &tr_workflow_behaviour,
    &tr_array_behaviour, &tr_task_behaviour,
};

/* ------------------------------------------------- a task with an effect outside */

/* Asks the files service for a document that is not there: a call with next to no work. */
static int outside_handle(struct tr_task_context *task, void *state,
                          const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_document_get wish = {.path = tr_text_of("cache/bench")};
    uint64_t call;
    (void)state;
    if (event->kind == TR_TASK_START) {
        int error = tr_task_call(task, TR_SERVICE_FILES, &tr_document_get_schema, &wish, 0, &call);
        return error != 0
                   ? error
                   : tr_task_is(transition, TR_TASK_PHASE_RUNNING, tr_text_of("asked outside"));
    }
    int error = tr_task_outputs(task, tr_task_inputs(task));
    return error != 0 ? error : tr_task_succeed(transition);
}

static const char *const outside_types[] = {"bench-outside", NULL};

static const struct tr_plugin outside_plugin = {
    .abi = TR_PLUGIN_ABI,
    .id = "bench_outside",
    .task_types = outside_types,
    .handle = outside_handle,
    .abort = tr_task_nothing_to_end,
};

static const struct tr_plugin *const plugins[] = {&outside_plugin, &tr_echo_plugin};

/* ------------------------------------------------------------------ the definitions */

static const char head[] = "troupe: 1\n"
                           "tasks:\n"
                           "  step: {inputs: {a: int}, outputs: {a: int}, type: %s}\n"
                           "workflows:\n"
                           "  main:\n"
                           "    nodes:\n"
                           "      n0: {task: step, with: {a: 1}}\n";

/* Upstreams of n1 to n6 in the workflow of seven nodes. */
static const uint64_t seven_upstreams[] = {0, 0, 1, 1, 2, 3};

static void define(const struct bench_run *run, char *text)
{
    uint64_t nodes = run->kind == BENCH_SMALL ? 1 : run->kind == BENCH_SEVEN ? 7 : run->n;
    int size = snprintf(text, DEFINITION_BYTES, head,
                        run->kind == BENCH_OUTSIDE || run->kind == BENCH_CHAINS ? "bench-outside"
                                                                                : "echo");
    for (uint64_t i = 1; i < nodes; i++) {
        uint64_t upstream = run->kind == BENCH_SEVEN ? seven_upstreams[i - 1] : i - 1;
        size += snprintf(text + size, (size_t)(DEFINITION_BYTES - size),
                         "      n%llu: {task: step, with: {a: $n%llu.a}}\n", (unsigned long long)i,
                         (unsigned long long)upstream);
        bench_must(size < DEFINITION_BYTES ? 0 : TR_LIMIT, "definition");
    }
}

/* ----------------------------------------------------------------------- measuring */

/* All executions of a store have succeeded. */
static void check_all(const struct bench_run *run, const char *folder, uint64_t wanted)
{
    struct tr_reader *reader;
    uint64_t count = 0;
    struct tr_reader_options options = {
        .folder = folder, .records = tr_history_schemas, .record_count = tr_history_schema_count};
    struct tr_reader_filter succeeded =
        tr_filter_number("phase", TR_FILTER_EQUAL, TR_EXECUTION_SUCCEEDED);
    struct tr_reader_query query = {
        .record = &tr_execution_schema, .filters = &succeeded, .filter_count = 1};
    if (run->durability == TR_DURABILITY_NONE) {
        return;
    }
    bench_must(tr_reader_open(&options, NULL, &reader), "reader");
    bench_must(tr_reader_count(reader, &query, &count), "executions");
    tr_reader_close(reader);
    bench_must(count == wanted ? 0 : TR_FAILED, "not all executions have succeeded");
}

/* The time of `count` executions, `width` at once. */
static double drive(struct tr_host *host, struct tr_bench_go *wish)
{
    struct tr_ref driver;
    struct tr_spawn_options options = {.is_watched = true};
    int reason;
    bench_must(tr_host_spawn(host, &driver_behaviour, &options, &driver), "driver");
    double begin = bench_now_ns();
    bench_must(tr_host_tell(host, driver, &tr_bench_go_schema, wish), "go");
    bench_must(tr_host_wait(host, driver, 0, &reason), "wait");
    bench_must(reason, "driver");
    wish->first += wish->count;
    return (bench_now_ns() - begin) / 1e9;
}

static uint64_t width_of(const struct bench_run *run)
{
    return run->kind == BENCH_CHAINS ? CHAINS : run->kind == BENCH_SMALL ? SMALL_AT_ONCE : 1;
}

/* How many executions one round has. */
static uint64_t count_of(const struct bench_run *run)
{
    bool is_many = run->kind == BENCH_SMALL || run->kind == BENCH_SEVEN;
    return is_many ? run->n : width_of(run);
}

static void print(const struct bench_run *run, const char *folder, double seconds, uint64_t all)
{
    double steps = (double)run->n * (double)count_of(run);
    switch (run->kind) {
    case BENCH_CHAIN:
    case BENCH_OUTSIDE:
        bench_print(run, run->figure, seconds * 1e3 / steps, "ms");
        break;
    case BENCH_CHAINS:
        bench_print(run, run->figure, steps / seconds, "1/s");
        break;
    case BENCH_SMALL: {
        double phases = (double)bench_count_phases(folder) * (double)count_of(run) / (double)all;
        bench_print(run, run->figure, phases / seconds, "1/s");
        break;
    }
    default:
        bench_print(run, run->figure, seconds * 1e3 / (double)run->n, "ms");
    }
}

void bench_flow_measure(const struct bench_run *run)
{
    static struct tr_engine engine;
    static char definition[DEFINITION_BYTES];
    char folder[BENCH_FOLDER_BYTES];
    double values[ROUNDS_MAX];
    size_t rounds = 0;
    uint64_t number;
    struct tr_bench_go wish = {.count = count_of(run), .width = width_of(run)};
    struct tr_spawn_options options = {.name = tr_text_of("default/development")};
    define(run, definition);
    bench_folder_make(folder);
    engine = (struct tr_engine){.plugins = plugins, .plugin_count = TR_COUNT_OF(plugins)};
    const struct tr_graph *graph = bench_graph(&engine, definition, &number);
    wish.graph = (struct tr_bytes){.data = graph->hash, .size = TR_GRAPH_HASH_BYTES};
    struct tr_host *host = bench_host(run, &engine, folder, behaviours, TR_COUNT_OF(behaviours));
    bench_must(tr_host_start(host), "start");
    bench_must(tr_host_spawn(host, &tr_launcher_behaviour, &options, &wish.launcher), "launcher");
    (void)drive(host, &wish); /* warms up */
    double begin = bench_now_ns();
    do {
        values[rounds++] = drive(host, &wish);
    } while (rounds < ROUNDS_MAX && bench_now_ns() - begin < (double)run->milliseconds * 1e6);
    tr_host_stop(host);
    tr_host_free(host);
    tr_graph_registry_fini(&engine.registry);
    check_all(run, folder, wish.first);
    print(run, folder, bench_median(values, rounds), wish.first);
    bench_folder_remove(folder);
}
