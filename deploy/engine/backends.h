/*
 * The refresh actors of an engine: one for each plugin and endpoint of its settings, spawned once
 * and found again by the next engines (actors/backend/refresh.h).
 */
#ifndef TR_DEPLOY_ENGINE_BACKENDS_H
#define TR_DEPLOY_ENGINE_BACKENDS_H

#include "actors/engine.h"

/*
 * Finds those that the store has, before the host's start; `are_all`: nobody has to be spawned.
 * What tr_host_find says, but for TR_NOT_FOUND; TR_LIMIT: a name is too long for an address.
 */
TR_MUST_USE int tr_backends_find(struct tr_host *host, struct tr_engine *engine, bool *are_all);

/*
 * Spawns the others, after it. Actors that may ask for one are dormant meanwhile. What
 * tr_host_spawn says.
 */
TR_MUST_USE int tr_backends_spawn(struct tr_host *host, struct tr_engine *engine);

/*
 * Of a host that works beside others: finds those that are there once among all of them, on
 * whichever host, and has the others begin. After the host's start. What tr_host_singleton says.
 */
TR_MUST_USE int tr_backends_begin(struct tr_host *host, struct tr_engine *engine);

#endif
