/*
 * Beginning executions in a live engine, and finding them there.
 */
#ifndef TR_DEPLOY_ENGINE_LAUNCH_H
#define TR_DEPLOY_ENGINE_LAUNCH_H

#include "deploy/engine/assemble.h"

/* The longest name of an execution, as of everything that people name; with its closing zero. */
#define TR_EXECUTION_NAME_BYTES 64

/* What is to be run. */
struct tr_order {
    struct tr_graph *graph; /* with its hash; taken over, also on failure */
    uint32_t workflow;
    uint32_t plan;          /* or TR_GRAPH_NONE */
    struct tr_text name;    /* empty: one is found, WORKFLOW-xxxxx */
    bool if_new;            /* one of that name that exists is what is wanted */
    struct tr_bytes inputs; /* slots */
    uint8_t cache_mode;     /* enum tr_cache_mode */
    struct tr_text cause;
    struct tr_text recovery; /* as of `launch` (schemas/engine/flow.h) */
    struct tr_text labels;   /* the same */
    struct tr_bytes request; /* the same */
};

/* What became of it. */
struct tr_launch_outcome {
    char name[TR_EXECUTION_NAME_BYTES];
    uint64_t execution; /* its number */
    bool is_new;
    bool is_busy;      /* the engine has no memory for one more */
    char message[512]; /* of an error, in words */
};

/* Whether a text may be the name of an execution: [A-Za-z_][A-Za-z0-9_-]{0,62}. */
bool tr_execution_name_is_good(struct tr_text name);

/*
 * A name for an execution of a workflow: its own in small letters with dashes, and five characters
 * made of `random`: "fan-out-x7k2p".
 */
void tr_execution_name_make(struct tr_text workflow, uint64_t random,
                            char name[TR_EXECUTION_NAME_BYTES]);

/*
 * Whether an order that came from elsewhere makes sense: its numbers name things of its graph, its
 * inputs are what the workflow takes, and its labels are some. TR_INVALID, and what reading them
 * says.
 */
TR_MUST_USE int tr_order_check(const struct tr_order *order);

/*
 * Keeps the graph in the store and begins an execution; returns when that is committed. Errors:
 * TR_EXISTS (the name, of an execution that lives or has ended), TR_INVALID (no name), what the
 * store, the launcher and the host say; the outcome's message has words.
 */
TR_MUST_USE int tr_live_launch(struct tr_live *live, const struct tr_order *order,
                               struct tr_launch_outcome *outcome);

/*
 * Tells an execution to abort, and returns when that is committed, or it has ended. TR_TIMEOUT and
 * TR_QUARANTINED (tr_query_root): neither was so in a reasonable time, and it may be aborted yet.
 */
TR_MUST_USE int tr_live_abort_kept(struct tr_live *live, uint64_t execution, struct tr_text cause,
                                   bool is_hard);

#endif
