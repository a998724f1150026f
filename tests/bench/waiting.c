/*
 * What executions cost that wait for people. Prints a JSON line per figure, and says in README.md
 * what each is.
 *
 *     bench_waiting [--size N] [--milliseconds M] [--only FIGURE]
 *
 * N executions wait at a gate in one `troupe serve`, which is measured from outside: its memory,
 * its time while nothing happens, its start after a kill -9, and how soon an execution goes on once
 * its gate is answered. The other figures start a service beside what has ended.
 */
#include <poll.h>

#include "actors/graph/compiled/graph.h"
#include "actors/graph/compiled/pack.h"
#include "tests/bench/support/service.h"

#define ANSWERS 500
#define IDLE_MS_MIN 1000
#define HISTORY_STARTS 5

/* A start looks at what was written within the last five seconds; that is no history. */
#define REST_MS 6000

static const char gate[] = "troupe: 1\n"
                           "tasks: {next: {inputs: {a: int}, outputs: {a: int}, type: echo}}\n"
                           "workflows:\n"
                           "  main:\n"
                           "    nodes:\n"
                           "      gate: {signal: go, type: int}\n"
                           "      next: {task: next, with: {a: $gate.value}}\n";

/* One execution launches all the others, each of which ends at once. */
static const char many[] = "troupe: 1\n"
                           "tasks: {echo: {inputs: {a: int}, outputs: {a: int}, type: echo}}\n"
                           "workflows:\n"
                           "  main:\n"
                           "    inputs: {a: [int]}\n"
                           "    nodes: {all: {map: one_plan, with: {a: $a}}}\n"
                           "  one:\n"
                           "    inputs: {a: int}\n"
                           "    nodes: {echo: {task: echo, with: {a: $a}}}\n"
                           "launch_plans: {one_plan: {workflow: one}}\n";

static void pack(const char *definition, struct tr_buffer *graph)
{
    struct tr_graph *compiled = bench_compile(definition);
    tr_buffer_init(graph, TR_ENDPOINT_BYTES_MAX);
    bench_must(tr_graph_pack(compiled, graph), "pack");
    tr_graph_free(compiled);
}

/* ---------------------------------------------------------------------------- waiting */

/* Begins all of them, through one connection; gives their numbers. */
static uint64_t *submit_all(const struct bench_run *run, struct bench_service *service)
{
    struct tr_buffer graph;
    char name[32];
    uint64_t *executions = calloc(run->n, sizeof *executions);
    bench_must(executions != NULL ? 0 : TR_MEMORY, "numbers");
    pack(gate, &graph);
    double begin = bench_now_ns();
    for (uint64_t i = 0; i < run->n; i++) {
        snprintf(name, sizeof name, "w%llu", (unsigned long long)i);
        executions[i] =
            bench_service_submit(service, tr_buffer_bytes(&graph), name, bench_no_inputs);
    }
    bench_print(run, "waiting_submit_us", (bench_now_ns() - begin) / 1e3 / (double)run->n, "us");
    tr_buffer_fini(&graph);
    return executions;
}

static void print_memory(const struct bench_run *run, const struct bench_service *service,
                         const char *figure, uint64_t before)
{
    double grown = (double)bench_service_bytes(service, "VmRSS") - (double)before;
    bench_print(run, figure, grown / (double)run->n, "bytes");
}

/* How much of one processor it uses while all wait. */
static void measure_idle(const struct bench_run *run, const struct bench_service *service)
{
    uint64_t rest_ms = run->milliseconds < IDLE_MS_MIN ? IDLE_MS_MIN : run->milliseconds;
    (void)poll(NULL, 0, (int)rest_ms); /* what the last request left behind is done */
    double cpu = bench_service_cpu_ns(service);
    double begin = bench_now_ns();
    (void)poll(NULL, 0, (int)rest_ms);
    double share = (bench_service_cpu_ns(service) - cpu) / (bench_now_ns() - begin);
    bench_print(run, "waiting_cpu_percent", 100 * share, "%");
}

/* From an answer to the end of the execution, which has a node behind its gate. */
static double answer_one(struct bench_service *service, uint64_t execution)
{
    static const uint8_t seven[] = {7};
    struct tr_send_answer answer = {.execution = execution,
                                    .id = tr_text_of("go"),
                                    .value = {.data = seven, .size = sizeof seven},
                                    .by = tr_text_of("bench")};
    uint32_t follow = bench_service_follow(service, execution);
    uint32_t number;
    double begin = bench_now_ns();
    bench_must(tri_client_ask(service->door, &tr_send_answer_schema, &answer, &number), "answer");
    bench_service_await(service, follow);
    return (bench_now_ns() - begin) / 1e6;
}

/* Those that are answered lie all over. */
static void measure_answers(const struct bench_run *run, struct bench_service *service,
                            const uint64_t *executions)
{
    static double values[ANSWERS];
    uint64_t count = run->n < ANSWERS ? run->n : ANSWERS;
    for (uint64_t i = 0; i < count; i++) {
        values[i] = answer_one(service, executions[i * (run->n / count)]);
    }
    bench_print(run, "waiting_answer_ms", bench_median(values, count), "ms");
    bench_print(run, "waiting_answer_p99_ms", values[count * 99 / 100], "ms");
}

static void measure_waiting(const struct bench_run *run)
{
    char folder[BENCH_FOLDER_BYTES];
    struct bench_service service;
    bench_folder_make(folder);
    (void)bench_service_start(&service, folder);
    uint64_t empty = bench_service_bytes(&service, "VmRSS");
    uint64_t *executions = submit_all(run, &service);
    print_memory(run, &service, "waiting_bytes", empty);
    measure_idle(run, &service);
    bench_service_kill(&service);
    double begin = bench_now_ns();
    uint64_t found = bench_service_start(&service, folder);
    bench_print(run, "waiting_restart_seconds", (bench_now_ns() - begin) / 1e9, "s");
    bench_must(found == run->n ? 0 : TR_FAILED, "not all executions are there");
    print_memory(run, &service, "waiting_bytes_restarted", empty);
    measure_answers(run, &service, executions);
    bench_service_kill(&service);
    free(executions);
    bench_folder_remove(folder);
}

/* ---------------------------------------------------------------------------- history */

/* Submits the execution that launches all others, and waits for its end. */
static void make_history(const struct bench_run *run, struct bench_service *service)
{
    struct tr_buffer graph;
    struct tr_buffer inputs;
    pack(many, &graph);
    tr_buffer_init(&inputs, 0);
    bench_numbers(&inputs, run->n);
    uint64_t execution =
        bench_service_submit(service, tr_buffer_bytes(&graph), "many", tr_buffer_bytes(&inputs));
    bench_service_await(service, bench_service_follow(service, execution));
    tr_buffer_fini(&inputs);
    tr_buffer_fini(&graph);
}

/* The median of a few starts, each ended by a kill. */
static double time_starts(const char *folder)
{
    double values[HISTORY_STARTS];
    struct bench_service service;
    for (size_t i = 0; i < HISTORY_STARTS; i++) {
        double begin = bench_now_ns();
        uint64_t found = bench_service_start(&service, folder);
        values[i] = (bench_now_ns() - begin) / 1e6;
        bench_must(found == 0 ? 0 : TR_FAILED, "not all executions have ended");
        bench_service_kill(&service);
    }
    return bench_median(values, HISTORY_STARTS);
}

static void measure_history(const struct bench_run *run)
{
    char folder[BENCH_FOLDER_BYTES];
    struct bench_service service;
    bench_folder_make(folder);
    (void)bench_service_start(&service, folder);
    bench_service_kill(&service);
    bench_print(run, "restart_empty_ms", time_starts(folder), "ms");
    (void)bench_service_start(&service, folder);
    make_history(run, &service);
    bench_service_kill(&service);
    (void)poll(NULL, 0, REST_MS);
    bench_print(run, run->figure, time_starts(folder), "ms");
    bench_folder_remove(folder);
}

static const struct bench_figure figures[] = {
    {"waiting_bytes", measure_waiting, 0, 1, TR_DURABILITY_FULL},
    {"restart_ended_ms", measure_history, 0, 1, TR_DURABILITY_FULL},
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, figures, TR_COUNT_OF(figures));
}
