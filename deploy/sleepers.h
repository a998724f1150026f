/*
 * Executions that an earlier engine left unfinished, and which of them sleep in this one: an engine
 * that came with `run` goes on with its own work only, and the rest waits for `resume` or `serve`.
 *
 * An execution that is being aborted never sleeps: an abort is finished by the next engine. One
 * that was launched by another wakes with it, since that one waits for it.
 */
#ifndef TR_DEPLOY_SLEEPERS_H
#define TR_DEPLOY_SLEEPERS_H

#include "actors/graph/document/arena.h"
#include "schemas/engine/history.h"

#define TR_SLEEPER_NONE UINT32_MAX

struct tr_sleeper {
    uint64_t execution;
    struct tr_text address; /* PROJECT/DOMAIN/NAME */
    struct tr_text parent;  /* that of the node that launched it; empty: nobody did */
    uint32_t launched_by;   /* its position; TR_SLEEPER_NONE: it is not among these */
    bool is_asleep;
    bool is_aside; /* this engine has not loaded it: nobody wakes it */
};

struct tr_sleepers {
    struct tr_sleeper *items; /* by address, once they are in order */
    uint32_t count;
    uint32_t asleep; /* how many of them */

    /* private */
    struct tri_vector vector;
    struct tr_arena arena;
};

void tr_sleepers_init(struct tr_sleepers *sleepers);
void tr_sleepers_fini(struct tr_sleepers *sleepers);

/* Adds an execution that has not ended; with `sleeps` it is asleep, if it may be. TR_MEMORY. */
TR_MUST_USE int tr_sleepers_add(struct tr_sleepers *sleepers, const struct tr_execution *row,
                                bool sleeps);

/* Adds one that was put aside: it sleeps, whatever it is at, as long as this engine lives. */
TR_MUST_USE int tr_sleepers_add_aside(struct tr_sleepers *sleepers, const struct tr_execution *row);

/*
 * Puts them in order and finds who launched whom; after the last one was added. Who was launched by
 * one that does not sleep does not sleep either.
 */
void tr_sleepers_order(struct tr_sleepers *sleepers);

/* Whether an execution sleeps; one that is not here does not. */
bool tr_sleepers_has(const struct tr_sleepers *sleepers, uint64_t execution);

/*
 * An execution wakes, with all that it has launched; 0: all wake. `woken` is told each one that
 * slept.
 */
void tr_sleepers_wake(struct tr_sleepers *sleepers, uint64_t execution,
                      void (*woken)(void *self, uint64_t execution), void *self);

#endif
