/*
 * How a live engine stands, for whoever watches it.
 */
#ifndef TR_DEPLOY_SERVER_SERVE_PING_H
#define TR_DEPLOY_SERVER_SERVE_PING_H

#include "deploy/engine/assemble.h"
#include "schemas/runtime/request.h"

/*
 * Looks at journal, workers and history; texts are those of the engine. What the reader of the
 * history says.
 */
TR_MUST_USE int tr_serve_ping(struct tr_live *live, struct tr_engine_pinged *pinged);

#endif
