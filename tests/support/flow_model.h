/*
 * What a workflow has to come to: the rules of nodes, arms, policies and cleaning up, written as a
 * slow walk over the graph that knows no actors, no messages and no order of events.
 *
 * A failure may end what else runs at once, and then nobody can say how far the others got: so each
 * node has the phases that it may be found in at the end. A workflow without such a failure has one
 * for each.
 */
#ifndef TR_TESTS_SUPPORT_FLOW_MODEL_H
#define TR_TESTS_SUPPORT_FLOW_MODEL_H

#include "tests/support/flow.h"

struct flow_model_node {
    struct tr_text path;
    uint32_t phases; /* that it may end in, as bits; bit NOT_YET_STARTED: it may not have begun */
    uint8_t phase;   /* the one it ends in where nothing is ended early */
    bool has_begun;  /* before that; else it is skipped at once */
};

struct flow_model {
    struct flow_model_node *nodes; /* of all workflows; start and end are none of them */
    size_t count;
    uint8_t phase;          /* of the execution */
    struct tr_bytes values; /* its outputs, packed, where it succeeds */

    /* private */
    const struct tr_graph *graph;
    flow_script *script;
    void *self;
    size_t capacity;
    struct tr_arena arena;
};

/* Runs a workflow on packed inputs; the script says how tasks and maps end, as for fake actors. */
void flow_model_init(struct flow_model *model, const struct tr_graph *graph, uint32_t workflow,
                     struct tr_bytes inputs, flow_script *script, void *self);
void flow_model_fini(struct flow_model *model);

/* Lets every node be found ended early: for executions that were aborted. */
void flow_model_relax(struct flow_model *model);

/* Insists that the recorded execution of this name is one that the model allows. */
void flow_model_expect(const struct flow_model *model, struct flow *flow, const char *name);

#endif
