/*
 * An engine among others of a store: partitions of hosts that are lost come to it while it runs,
 * and what their executions need comes first.
 */
#ifndef TR_DEPLOY_ENGINE_FOLLOW_HOSTS_H
#define TR_DEPLOY_ENGINE_FOLLOW_HOSTS_H

#include "deploy/engine/assemble.h"

/* How often an engine among others looks what has changed, where nobody has told it. */
#define TR_FOLLOW_HOSTS_MS 1000
#define TR_FOLLOW_HOSTS_SOON_MS 10 /* while something is on its way */

/*
 * Before groups come: registers the graphs of their executions, from the store. Of struct
 * tr_host_options; `program` is the engine of a struct tr_live_engine.
 */
TR_MUST_USE int tr_follow_hosts_prepare(void *program, const bool *partitions, size_t count);

/*
 * Takes over what the other hosts have done, if it is time for it, and hands graphs on to those who
 * hold them from then on. What ends the host; what passes is in `cannot_take` of the engine.
 */
TR_MUST_USE int tr_follow_hosts(struct tr_live *live);

/* Lets go of what was made ready and has not come. */
void tr_follow_hosts_end(struct tr_live *live);

#endif
