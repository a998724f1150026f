/*
 * The way in for definitions that are no text: who has one in another form fills it in himself, and
 * the compiler does with it what it does with those that it reads.
 */
#ifndef TR_ACTORS_GRAPH_COMPILER_FILL_H
#define TR_ACTORS_GRAPH_COMPILER_FILL_H

#include "actors/graph/compiler/compile.h"
#include "actors/graph/language/definition.h"

/*
 * Fills an empty definition: its project and domain, tasks, workflows, launch plans and pools, each
 * in the file that tri_definition_begin began. What is wrong goes into the report.
 */
struct tri_compile_filler {
    void (*fill)(void *self, struct tri_definition *definition);
    void *self;
};

/* Compiles what is filled in, which is called by the file `path`. Results as tr_graph_compile. */
TR_MUST_USE int tri_compile_filled(const struct tri_compile_filler *filler, struct tr_text path,
                                   struct tr_report *report, struct tr_graph **graph);

/*
 * The same of what a dynamic task decides: tasks and workflows of its own go into the definition,
 * which has those of the parent, and the nodes and outputs into `workflow`. False: it cannot be
 * read at all, which was told.
 */
struct tri_decide_filler {
    bool (*fill)(void *self, struct tri_definition *definition, struct tri_workflow *workflow);
    void *self;
};

/* Compiles what is decided so; the decision's text is the filler's. Results as tr_graph_decide. */
TR_MUST_USE int tri_decide_filled(const struct tr_decision *decision,
                                  const struct tri_decide_filler *filler, struct tr_report *report,
                                  struct tr_graph **graph);

#endif
