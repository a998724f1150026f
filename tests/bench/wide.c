/*
 * What large and deep executions cost, and ending them. Prints a JSON line per figure, and says in
 * README.md what each is.
 *
 *     bench_wide [--size N] [--milliseconds M] [--only FIGURE]
 *
 * All of it goes through the door of a `troupe serve`, from a submitted graph to its end.
 */
#include <poll.h>

#include "actors/graph/compiled/graph.h"
#include "actors/graph/compiled/pack.h"
#include "deploy/history/executions.h"
#include "schemas/engine/history.h"
#include "tests/bench/support/service.h"

enum wide_kind { CHAIN, FAN };

#define LEVELS 64
#define ROUNDS_MAX 64

/* How often the history is looked at until all elements live, and for how long. */
#define LOOK_MS 20
#define LIVE_NS_MAX 60e9

#define ANSWER_MS 60000

static const char head[] = "troupe: 1\n"
                           "tasks:\n"
                           "  same: {inputs: {a: int}, outputs: {a: int}, type: echo}\n"
                           "  rest: {inputs: {time: duration, a: int}, type: core-sleep}\n"
                           "workflows:\n";

/* A service, and what it is to run. */
struct stage {
    char folder[BENCH_FOLDER_BYTES];
    struct bench_service service;
    struct tr_buffer text;  /* of the definition */
    struct tr_buffer graph; /* packed */
};

static void stage_begin(struct stage *stage)
{
    bench_folder_make(stage->folder);
    (void)bench_service_start(&stage->service, stage->folder);
    tr_buffer_init(&stage->text, 0);
    tr_buffer_init(&stage->graph, TR_ENDPOINT_BYTES_MAX);
    tr_buffer_add_string(&stage->text, head);
}

static void stage_compile(struct stage *stage)
{
    tr_buffer_add_text(&stage->text, (struct tr_text){.data = "", .size = 1});
    bench_must(stage->text.error, "definition");
    struct tr_graph *graph = bench_compile((const char *)stage->text.data);
    bench_must(tr_graph_pack(graph, &stage->graph), "pack");
    tr_graph_free(graph);
}

static void stage_end(struct stage *stage)
{
    bench_service_kill(&stage->service);
    tr_buffer_fini(&stage->text);
    tr_buffer_fini(&stage->graph);
    bench_folder_remove(stage->folder);
}

/* From an execution's submission to its end; in seconds. */
static double run_once(struct stage *stage)
{
    double begin = bench_now_ns();
    uint64_t execution =
        bench_service_submit(&stage->service, tr_buffer_bytes(&stage->graph), "", bench_no_inputs);
    bench_service_await(&stage->service, bench_service_follow(&stage->service, execution));
    return (bench_now_ns() - begin) / 1e9;
}

/* ------------------------------------------------------------------------- many nodes */

static void define_nodes(struct tr_buffer *text, bool is_chain, uint64_t count)
{
    tr_buffer_add_string(text, "  main:\n    nodes:\n      n0: {task: same, with: {a: 1}}\n");
    for (uint64_t i = 1; i < count; i++) {
        unsigned long long upstream = is_chain ? i - 1 : 0;
        tr_buffer_print(text, "      n%llu: {task: same, with: {a: $n%llu.a}}\n",
                        (unsigned long long)i, upstream);
    }
}

static void measure_nodes(const struct bench_run *run)
{
    struct stage stage;
    double values[ROUNDS_MAX];
    size_t count = 0;
    char figure[64];
    stage_begin(&stage);
    define_nodes(&stage.text, run->kind == CHAIN, run->n);
    stage_compile(&stage);
    uint64_t before = bench_service_bytes(&stage.service, "VmHWM");
    double begin = bench_now_ns();
    do {
        values[count++] = run_once(&stage);
    } while (count < ROUNDS_MAX && bench_now_ns() - begin < (double)run->milliseconds * 1e6);
    double grown = (double)(bench_service_bytes(&stage.service, "VmHWM") - before);
    stage_end(&stage);
    bench_print(run, run->figure, bench_median(values, count) * 1e6 / (double)run->n, "us");
    snprintf(figure, sizeof figure, "%s_bytes", run->kind == CHAIN ? "chain_node" : "fan_node");
    bench_print(run, figure, grown / (double)run->n, "bytes");
}

/* ---------------------------------------------------------------------------- nesting */

static void define_levels(struct tr_buffer *text)
{
    static const char level[] = "  w%u:\n    inputs: {a: int}\n    nodes:\n"
                                "      n: {%s: %s, with: {a: $a}}\n    outputs: {a: $n.a}\n";
    tr_buffer_add_string(text, "  main:\n    nodes: {n: {workflow: w1, with: {a: 1}}}\n");
    for (unsigned i = 1; i < LEVELS; i++) {
        char target[16];
        bool is_last = i + 1 == LEVELS;
        snprintf(target, sizeof target, "w%u", i + 1);
        tr_buffer_print(text, level, i, is_last ? "task" : "workflow", is_last ? "same" : target);
    }
}

static void measure_nesting(const struct bench_run *run)
{
    struct stage stage;
    stage_begin(&stage);
    define_levels(&stage.text);
    stage_compile(&stage);
    (void)run_once(&stage);
    double seconds = 0;
    for (uint64_t i = 0; i < run->n; i++) {
        seconds += run_once(&stage);
    }
    stage_end(&stage);
    bench_print(run, run->figure, seconds * 1e3 / (double)run->n, "ms");
}

/* ---------------------------------------------------------------------------- aborting */

static int take_live(void *self, const void *row)
{
    const struct tr_progress *progress = row;
    *(uint64_t *)self = progress->queued + progress->running;
    return 0;
}

/* How many elements live, by the history. */
static uint64_t live_elements(const char *folder)
{
    struct tr_reader *reader;
    struct tr_reader_query query = {.record = &tr_progress_schema};
    uint64_t live = 0;
    bench_must(tr_history_open(folder, NULL, &reader), "history");
    bench_must(tr_reader_rows(reader, &query, take_live, &live), "progress");
    tr_reader_close(reader);
    return live;
}

/* How many actors the engine has; it says so behind the rows. */
static uint64_t count_actors(struct bench_service *service)
{
    struct tri_request answer;
    struct tr_answered answered;
    struct tr_list_actors list = {.pattern = tr_text_of("**")};
    bench_must(tr_client_call(service->door, &tr_list_actors_schema, &list, &tr_answered_schema,
                              ANSWER_MS, NULL, NULL, &answer),
               "actors");
    bench_must(tr_answered_unpack(answer.body, answer.version, &answered), "actors");
    bench_must((int)answered.error, "actors");
    return strtoull(answered.message.data, NULL, 10);
}

/* Begins the map, and returns when all of its elements live. */
static uint64_t begin_elements(struct stage *stage, uint64_t count)
{
    struct tr_buffer inputs;
    tr_buffer_init(&inputs, 0);
    bench_numbers(&inputs, count);
    uint64_t execution = bench_service_submit(&stage->service, tr_buffer_bytes(&stage->graph),
                                              "abort", tr_buffer_bytes(&inputs));
    tr_buffer_fini(&inputs);
    double begin = bench_now_ns();
    while (live_elements(stage->folder) < count) {
        bench_must(bench_now_ns() - begin < LIVE_NS_MAX ? 0 : TR_TIMEOUT, "live elements");
        (void)poll(NULL, 0, LOOK_MS);
    }
    return execution;
}

static void measure_abort(const struct bench_run *run)
{
    struct stage stage;
    stage_begin(&stage);
    tr_buffer_add_string(&stage.text,
                         "  main:\n    inputs: {a: [int]}\n    nodes:\n"
                         "      all: {map: rest, over: [a], with: {a: $a, time: 1h}}\n");
    stage_compile(&stage);
    uint64_t execution = begin_elements(&stage, run->n);
    uint64_t live = count_actors(&stage.service);
    uint32_t follow = bench_service_follow(&stage.service, execution);
    struct tr_stop_execution stop = {.execution = execution, .cause = tr_text_of("bench")};
    double begin = bench_now_ns();
    bench_service_ask(&stage.service, &tr_stop_execution_schema, &stop, &tr_answered_schema);
    bench_print(run, "abort_acknowledged_ms", (bench_now_ns() - begin) / 1e6, "ms");
    bench_service_await(&stage.service, follow);
    double seconds = (bench_now_ns() - begin) / 1e9;
    bench_must(live > run->n ? 0 : TR_FAILED, "not all elements were there");
    bench_must(count_actors(&stage.service) <= live - run->n ? 0 : TR_FAILED,
               "something was left behind");
    stage_end(&stage);
    bench_print(run, run->figure, seconds, "s");
}

static const struct bench_figure figures[] = {
    {"chain_node_us", measure_nodes, CHAIN, 1, TR_DURABILITY_FULL},
    {"fan_node_us", measure_nodes, FAN, 1, TR_DURABILITY_FULL},
    {"nested_64_ms", measure_nesting, 0, 1000, TR_DURABILITY_FULL},
    {"abort_seconds", measure_abort, 0, 1, TR_DURABILITY_FULL},
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, figures, TR_COUNT_OF(figures));
}
