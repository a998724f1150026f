/*
 * An engine that goes on in the background: what --detach leaves behind where no other engine is.
 */
#ifndef TR_DEPLOY_ENGINE_BACKGROUND_H
#define TR_DEPLOY_ENGINE_BACKGROUND_H

#include "schemas/codec/base.h"

/*
 * Starts `troupe resume --until-idle` on a store, for these executions, in a session of its own;
 * what it says goes to engine.log there. Returns when it is a process. TR_SYSTEM, TR_MEMORY.
 */
TR_MUST_USE int tr_background_resume(const char *store, const char *const *names, size_t count);

#endif
