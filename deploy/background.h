/*
 * An engine that goes on in the background: what --detach leaves behind where no other engine is.
 */
#ifndef TR_DEPLOY_BACKGROUND_H
#define TR_DEPLOY_BACKGROUND_H

#include "schemas/base.h"

/*
 * Starts `troupe resume` on a store in a session of its own; what it says goes to engine.log there.
 * Returns when it is a process. TR_SYSTEM.
 */
TR_MUST_USE int tr_background_resume(const char *store);

/* Reads how many processes may run at once; false for what is no such number. */
bool tr_jobs_read(const char *word, uint32_t *jobs);

#endif
