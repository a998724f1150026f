/*
 * From a definition's text to a graph: the one way in for files, commands and tests.
 *
 *     struct tr_definition_source source = {
 *         .path = tr_text_of("flow.yaml"), .folder = tr_text_of("/home/me"), .text = text};
 *     int error = tr_graph_compile(&source, &report, &graph);
 *     ...
 *     tr_graph_free(graph);
 *
 * Time and memory are linear in the text. All errors are found at once; with any, there is no
 * graph.
 */
#ifndef TR_ACTORS_GRAPH_COMPILER_COMPILE_H
#define TR_ACTORS_GRAPH_COMPILER_COMPILE_H

#include "actors/graph/compiled/graph.h"
#include "actors/graph/language/definition_source.h"

/*
 * Compiles a definition. 0 and a graph, which is the caller's; TR_INVALID when the report holds
 * errors; TR_MEMORY or TR_LIMIT without a graph.
 */
TR_MUST_USE int tr_graph_compile(const struct tr_definition_source *source,
                                 struct tr_report *report, struct tr_graph **graph);

/*
 * The same from a file and those it includes, named by `path`. What cannot be read is in the
 * report, too.
 */
TR_MUST_USE int tr_graph_check_file(const char *path, struct tr_report *report,
                                    struct tr_graph **graph);

/*
 * Adds a workflow that runs one task of the graph and nothing else, under the task's name and with
 * its inputs and outputs, as Flyte does for the execution of a single task; `workflow` is where it
 * stands. The graph gets another hash. A task that the definition runs as `dynamic` may decide a
 * graph there, too. TR_MEMORY, TR_LIMIT.
 */
TR_MUST_USE int tr_graph_add_single_task(struct tr_graph *graph, uint32_t task, uint32_t *workflow);

/* What a dynamic task has decided. */
struct tr_decision {
    struct tr_graph *parent; /* the graph of the task's node, which becomes the new one */
    uint32_t task;
    uint32_t depth;      /* how many workflows the node lies in */
    struct tr_text path; /* the document's name as messages show it */
    struct tr_text text; /* JSON, where tr_graph_decide reads it */
};

/*
 * Compiles the document of a dynamic task: a graph of its own, which has the tasks, workflows and
 * launch plans of the parent's and those of the document, and as its main workflow the document's
 * nodes, with the task's inputs and outputs. The parent is taken, also on failure. The same parent
 * and document give the same graph. Results as tr_graph_compile.
 */
TR_MUST_USE int tr_graph_decide(const struct tr_decision *decision, struct tr_report *report,
                                struct tr_graph **graph);

#endif
