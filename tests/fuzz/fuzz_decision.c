/*
 * Any bytes as the document of a dynamic task, behind a definition that it may use: a graph or
 * errors; the same graph when it is read once more, and one that comes back from its packed form.
 */
#include <stdlib.h>
#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/compile.h"
#include "tests/fuzz/fuzz.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  plan: {inputs: {size: int}, outputs: {sum: int, note: string | none}, run: [plan]}\n"
    "  one: {inputs: {a: int}, outputs: {b: int}, run: [one], config: {x: 1}}\n"
    "workflows:\n"
    "  w: {inputs: {a: int}, nodes: {n: {task: one, with: {a: $a}}}, outputs: {b: $n.b}}\n"
    "launch_plans: {p: {workflow: w}}\n";

static struct tr_graph *parent(void)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_definition_source request = {
        .path = tr_text_of("f"), .folder = tr_text_of("/f"), .text = tr_text_of(definition)};
    tr_report_init(&report);
    if (tr_graph_compile(&request, &report, &graph) != 0) {
        abort();
    }
    tr_report_fini(&report);
    return graph;
}

/* The graph of a document; NULL: it has errors. */
static struct tr_graph *decide(struct tr_graph *from, struct tr_text text)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    const struct tr_decision decision = {
        .parent = from, .task = 0, .depth = 1, .path = tr_text_of("outputs"), .text = text};
    tr_report_init(&report);
    int error = tr_graph_decide(&decision, &report, &graph);
    if ((error == TR_INVALID) != (tr_report_total(&report) > 0)) {
        abort();
    }
    tr_report_fini(&report);
    return error == 0 ? graph : NULL;
}

/* What comes back from the packed form. */
static struct tr_graph *again(const struct tr_graph *graph)
{
    struct tr_buffer buffer;
    struct tr_graph *copy = NULL;
    tr_buffer_init(&buffer, 0);
    if (tr_graph_pack(graph, &buffer) != 0 ||
        tr_graph_unpack(tr_buffer_bytes(&buffer), &copy) != 0) {
        abort();
    }
    tr_buffer_fini(&buffer);
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_text text = {.data = (const char *)data, .size = size};
    struct tr_graph *graph = decide(parent(), text);
    if (graph != NULL) {
        struct tr_graph *stored = decide(again(graph), text);
        struct tr_graph *same = decide(parent(), text);
        if (same == NULL || memcmp(same->hash, graph->hash, TR_GRAPH_HASH_BYTES) != 0) {
            abort();
        }
        tr_graph_free(again(graph));
        tr_graph_free(same);
        tr_graph_free(stored); /* NULL where its own names are taken now */
        tr_graph_free(graph);
    }
    return 0;
}
