/*
 * The actors that serve all executions: resources, catalog, notifier, schedules, and one for each
 * plugin and endpoint of the settings (actors/backend/refresh.h).
 */
#ifndef TR_DEPLOY_ENGINE_SERVICES_H
#define TR_DEPLOY_ENGINE_SERVICES_H

#include "deploy/engine/assemble.h"

/*
 * Finds out who they are, before the host's start. `are_all`: none that executions may ask has to
 * begin; else these are dormant until tr_services_begin has returned. Errors: what tr_host_find
 * says, but for TR_NOT_FOUND; of reading; TR_LIMIT: the name of an endpoint is too long.
 */
TR_MUST_USE int tr_services_find(struct tr_live *live, char *explain, bool *are_all);

/*
 * Has those begin that are not there, after the start, and tells them what they have to know of
 * this engine. Beside other hosts it waits for the one that has them. What tr_host_spawn and
 * tr_host_singleton say, but for TR_BUSY.
 */
TR_MUST_USE int tr_services_begin(struct tr_live *live, bool are_all);

#endif
