/*
 * Any bytes as a definition, behind a frame of tasks so that references have something to meet: a
 * graph or errors; and a graph comes back from its packed form.
 */
#include <stdlib.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/compile.h"
#include "tests/fuzz/fuzz.h"

static const char frame[] = "troupe: 1\n"
                            "tasks:\n"
                            "  one: {inputs: {a: int}, outputs: {b: int}, run: [one]}\n"
                            "  sum: {inputs: {l: [int]}, outputs: {s: int}, run: [sum]}\n";

static void check_graph(const struct tr_graph *graph)
{
    struct tr_buffer buffer;
    struct tr_graph *copy = NULL;
    tr_buffer_init(&buffer, 0);
    if (tr_graph_pack(graph, &buffer) != 0 ||
        tr_graph_unpack(tr_buffer_bytes(&buffer), &copy) != 0) {
        abort();
    }
    tr_graph_free(copy);
    tr_buffer_fini(&buffer);
}

static void compile(struct tr_text text)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_definition_source request = {
        .path = tr_text_of("f"), .folder = tr_text_of("/f"), .text = text};
    tr_report_init(&report);
    int error = tr_graph_compile(&request, &report, &graph);
    if ((error == TR_INVALID) != (tr_report_total(&report) > 0)) {
        abort();
    }
    if (graph != NULL) {
        check_graph(graph);
        tr_graph_free(graph);
    }
    tr_report_fini(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_buffer whole;
    tr_buffer_init(&whole, 0);
    tr_buffer_add_string(&whole, frame);
    tr_buffer_add(&whole, data, size);
    compile(tr_buffer_text(&whole));
    tr_buffer_fini(&whole);
    compile((struct tr_text){.data = (const char *)data, .size = size});
    return 0;
}
