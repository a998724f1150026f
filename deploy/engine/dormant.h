/*
 * Executions that an earlier engine left unfinished, and which of them are dormant in this one: an
 * engine that came with `run` goes on with its own work only, and the rest waits for `resume` or
 * `serve`.
 *
 * An execution that is being aborted is never dormant: an abort is finished by the next engine. One
 * that was launched by another becomes active with it, since that one waits for it.
 */
#ifndef TR_DEPLOY_ENGINE_DORMANT_H
#define TR_DEPLOY_ENGINE_DORMANT_H

#include "actors/graph/document/arena.h"
#include "schemas/engine/history.h"

#define TR_DORMANT_NONE UINT32_MAX

struct tr_dormant_execution {
    uint64_t execution;
    struct tr_text address; /* PROJECT/DOMAIN/NAME */
    struct tr_text parent;  /* that of the node that launched it; empty: nobody did */
    uint32_t launched_by;   /* its position; TR_DORMANT_NONE: it is not among these */
    bool is_dormant;
    bool is_aside; /* this engine has not loaded it, and cannot activate it */
};

struct tr_dormant {
    struct tr_dormant_execution *items; /* by address, once they are in order */
    uint32_t count;
    uint32_t dormant_count; /* how many of them are dormant */

    /* private */
    struct tri_vector vector;
    struct tr_arena arena;
};

void tr_dormant_init(struct tr_dormant *dormant);
void tr_dormant_fini(struct tr_dormant *dormant);

/* Adds an execution that has not ended; with `is_dormant` it is, if it may be. TR_MEMORY. */
TR_MUST_USE int tr_dormant_add(struct tr_dormant *dormant, const struct tr_execution *row,
                               bool is_dormant);

/* Adds one that was set aside: it is dormant in any phase, as long as this engine lives. */
TR_MUST_USE int tr_dormant_add_aside(struct tr_dormant *dormant, const struct tr_execution *row);

/*
 * Puts them in order and finds the launcher of each; after the last one was added. An execution
 * that was launched by an active one is active, too.
 */
void tr_dormant_order(struct tr_dormant *dormant);

/*
 * Activates an execution, with all that it has launched; 0: all. `activated` is told each one that
 * was dormant.
 */
void tr_dormant_activate(struct tr_dormant *dormant, uint64_t execution,
                         void (*activated)(void *self, uint64_t execution), void *self);

#endif
