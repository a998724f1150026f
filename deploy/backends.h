/*
 * The refresh actors of an engine: one for each plugin and endpoint of its settings, born once and
 * found again by the next engines (actors/refresh.h).
 */
#ifndef TR_DEPLOY_BACKENDS_H
#define TR_DEPLOY_BACKENDS_H

#include "actors/engine.h"

/*
 * Finds those that the store has, before the host's start; `are_all`: nobody has to be born. What
 * tr_host_find says, but for TR_NOT_FOUND; TR_LIMIT: a name is too long for an address.
 */
TR_MUST_USE int tr_backends_find(struct tr_host *host, struct tr_engine *engine, bool *are_all);

/*
 * Gives birth to the others, after it. Whoever may ask for one sleeps meanwhile. What
 * tr_host_spawn says.
 */
TR_MUST_USE int tr_backends_bear(struct tr_host *host, struct tr_engine *engine);

#endif
