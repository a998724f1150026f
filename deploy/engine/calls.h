/*
 * Functions that other threads have the engine's own thread run, which alone may ask actors and
 * change the graph registry.
 *
 *     int error = tr_live_call(live, keep, &keeping);    // another thread, which waits
 *
 * They run in the order of the calls, between two turns of the engine's loop (tr_live_rest).
 */
#ifndef TR_DEPLOY_ENGINE_CALLS_H
#define TR_DEPLOY_ENGINE_CALLS_H

#include "schemas/codec/base.h"

struct tr_live;
struct tr_live_calls;

/* Calls of nobody yet. TR_SYSTEM, TR_MEMORY. */
TR_MUST_USE int tr_live_calls_new(struct tr_live_calls **calls);

/* After tr_live_calls_close, and when no thread can call any more; NULL is fine. */
void tr_live_calls_free(struct tr_live_calls *calls);

/* Readable when something is to be run. */
int tr_live_calls_descriptor(const struct tr_live_calls *calls);

/* Runs all that there is; on the engine's thread. */
void tr_live_calls_run(struct tr_live_calls *calls, struct tr_live *live);

/*
 * Has the engine's thread run a function, and returns when it has; from any other thread. What the
 * function finds out it leaves in its argument. TR_CLOSED: it is not run, since the engine leaves.
 */
TR_MUST_USE int tr_live_call(struct tr_live *live, void (*run)(struct tr_live *live, void *self),
                             void *self);

/* Ends all calls that wait, and later ones at once, as TR_CLOSED; on the engine's thread. */
void tr_live_calls_close(struct tr_live_calls *calls);

#endif
