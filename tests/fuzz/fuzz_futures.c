/*
 * Any bytes as the futures.pb of a dynamic task: a graph or errors, and the same graph when they
 * are read once more. In the files of literals lie the bytes themselves.
 */
#include <string.h>

#include "actors/graph/import/import.h"
#include "schemas/codec/error.h"
#include "tests/fuzz/fuzz.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  plan: {inputs: {size: int}, outputs: {o0: int | none, o1: string | none}, run: [plan]}\n"
    "  square: {inputs: {a: int}, outputs: {o0: int}, run: [one]}\n"
    "workflows:\n"
    "  w: {inputs: {a: int}, nodes: {n: {task: square, with: {a: $a}}}, outputs: {o0: $n.o0}}\n"
    "launch_plans: {p: {workflow: w}}\n";

static int open_file(void *self, struct tr_report *report, struct tr_text uri,
                     struct tr_bytes *file)
{
    if (uri.size % 2 == 1) {
        tri_report_add(report, (struct tri_place){0}, NULL, "there is no such file");
        return TR_INVALID;
    }
    *file = *(const struct tr_bytes *)self;
    return 0;
}

static void close_file(void *self, struct tr_bytes file)
{
    (void)self;
    (void)file;
}

static struct tr_graph *parent(void)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_definition_source request = {
        .path = tr_text_of("f"), .folder = tr_text_of("/f"), .text = tr_text_of(definition)};
    tr_report_init(&report);
    TR_ASSERT(tr_graph_compile(&request, &report, &graph) == 0);
    tr_report_fini(&report);
    return graph;
}

static struct tr_graph *decide(struct tr_bytes futures)
{
    struct tr_flyte_files files = {
        .open = open_file, .close = close_file, .self = &futures, .left_bytes = 1U << 16};
    struct tr_report report;
    struct tr_graph *graph = NULL;
    const struct tr_decision decision = {
        .parent = parent(), .task = 0, .depth = 1, .path = tr_text_of("futures.pb")};
    tr_report_init(&report);
    const struct tr_import_futures given = {.bytes = futures, .files = &files};
    int error = tr_import_decide(&decision, &given, &report, &graph);
    TR_ASSERT(error == 0 || error == TR_INVALID || error == TR_LIMIT);
    TR_ASSERT((error == TR_INVALID) == (error != TR_LIMIT && tr_report_total(&report) > 0));
    tr_report_fini(&report);
    return graph;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_bytes futures = {.data = data, .size = size};
    struct tr_graph *graph = decide(futures);
    if (graph != NULL) {
        struct tr_graph *again = decide(futures);
        TR_ASSERT(again != NULL && memcmp(again->hash, graph->hash, TR_GRAPH_HASH_BYTES) == 0);
        tr_graph_free(again);
    }
    tr_graph_free(graph);
    return 0;
}
