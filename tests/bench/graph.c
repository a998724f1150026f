/*
 * What compiling, packing and unpacking a workflow of N nodes costs per node, as a chain and as a
 * fan. Each figure is one JSON object on a line of its own.
 *
 * With files as arguments it compiles these instead and prints their errors: the way to try the
 * compiler alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/compile.h"

#define DEFAULT_SIZE 100000U
#define PASSES_MAX 1000U

enum figure { COMPILE, PACK, UNPACK, FIGURE_COUNT };

struct options {
    unsigned size;
    double seconds;
};

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void print_problems(const struct tr_report *report)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    for (uint32_t i = 0; i < report->count; i++) {
        tr_problem_print(&report->problems[i], &text);
        tr_buffer_add_string(&text, "\n");
    }
    (void)fwrite(text.data, 1, text.size, stderr);
    if (report->more > 0) {
        (void)fprintf(stderr, "and %u more errors\n", report->more);
    }
    tr_buffer_fini(&text);
}

static int check_file(const char *path)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    tr_report_init(&report);
    int error = tr_graph_check_file(path, &report, &graph);
    print_problems(&report);
    tr_graph_free(graph);
    tr_report_fini(&report);
    return error == 0 ? 0 : 2;
}

static void write_workflow(struct tr_buffer *text, unsigned size, bool is_chain)
{
    tr_buffer_add_string(text, "troupe: 1\n"
                               "tasks: {t: {inputs: {a: int}, outputs: {b: int}, run: [t]}}\n"
                               "workflows:\n  w:\n    inputs: {a: int}\n    nodes:\n"
                               "      n0: {task: t, with: {a: $a}}\n");
    for (unsigned i = 1; i < size; i++) {
        if (is_chain) {
            tr_buffer_print(text, "      n%u: {task: t, with: {a: $n%u.b}}\n", i, i - 1);
        } else {
            tr_buffer_print(text, "      n%u: {task: t, with: {a: $a}}\n", i);
        }
    }
}

/* Compiles, packs and unpacks once; the seconds of each. */
static int run_pass(struct tr_text text, double seconds[FIGURE_COUNT])
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_graph *copy = NULL;
    struct tr_buffer packed;
    struct tr_definition_source request = {
        .path = tr_text_of("made.yaml"), .folder = tr_text_of("/"), .text = text};
    tr_report_init(&report);
    tr_buffer_init(&packed, 0);
    double begin = now();
    int error = tr_graph_compile(&request, &report, &graph);
    double compiled = now();
    error = error != 0 ? error : tr_graph_pack(graph, &packed);
    double written = now();
    error = error != 0 ? error : tr_graph_unpack(tr_buffer_bytes(&packed), &copy);
    seconds[UNPACK] = now() - written;
    seconds[PACK] = written - compiled;
    seconds[COMPILE] = compiled - begin;
    print_problems(&report);
    tr_graph_free(copy);
    tr_graph_free(graph);
    tr_buffer_fini(&packed);
    tr_report_fini(&report);
    return error;
}

static long peak_bytes(void)
{
    long kibibytes = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            kibibytes = strtol(line + 6, NULL, 10);
        }
    }
    if (status != NULL) {
        (void)fclose(status);
    }
    return kibibytes * 1024;
}

static int compare(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;
    return (*a > *b) - (*a < *b);
}

static void print_figures(const char *form, unsigned size, double *passes[FIGURE_COUNT],
                          unsigned count)
{
    static const char *const names[] = {"compile", "pack", "unpack"};
    for (int figure = 0; figure < FIGURE_COUNT; figure++) {
        qsort(passes[figure], count, sizeof(double), compare);
        (void)printf("{\"figure\":\"%s_%s_node_ns\",\"n\":%u,\"value\":%.1f,\"unit\":\"ns\","
                     "\"workers\":1,\"durability\":\"none\",\"rss_bytes\":%ld}\n",
                     names[figure], form, size, passes[figure][count / 2] * 1e9 / size,
                     peak_bytes());
    }
}

static int measure(const struct options *options, bool is_chain)
{
    static double values[FIGURE_COUNT][PASSES_MAX];
    double *passes[] = {values[COMPILE], values[PACK], values[UNPACK]};
    double pass[FIGURE_COUNT];
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    write_workflow(&text, options->size, is_chain);
    int error = run_pass(tr_buffer_text(&text), pass);
    unsigned count = 0;
    double end = now() + options->seconds;
    while (error == 0 && count < PASSES_MAX && (count == 0 || now() < end)) {
        error = run_pass(tr_buffer_text(&text), pass);
        for (int figure = 0; figure < FIGURE_COUNT; figure++) {
            values[figure][count] = pass[figure];
        }
        count++;
    }
    if (error == 0) {
        print_figures(is_chain ? "chain" : "fan", options->size, passes, count);
    }
    tr_buffer_fini(&text);
    return error == 0 ? 0 : 4;
}

int main(int count, char **arguments)
{
    struct options options = {.size = DEFAULT_SIZE, .seconds = 0.5};
    int status = 0;
    bool has_files = false;
    for (int i = 1; i < count; i++) {
        bool has_value = i + 1 < count;
        if (strcmp(arguments[i], "--size") == 0 && has_value) {
            options.size = (unsigned)strtoul(arguments[++i], NULL, 10);
        } else if (strcmp(arguments[i], "--milliseconds") == 0 && has_value) {
            options.seconds = strtod(arguments[++i], NULL) / 1000;
        } else if (arguments[i][0] == '-') {
            (void)fprintf(stderr, "usage: bench_graph [--size N] [--milliseconds M] | FILE...\n");
            return 2;
        } else {
            has_files = true;
            int own = check_file(arguments[i]);
            status = own > status ? own : status;
        }
    }
    if (has_files || options.size == 0) {
        return status;
    }
    status = measure(&options, true);
    return status != 0 ? status : measure(&options, false);
}
