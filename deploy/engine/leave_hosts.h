/*
 * A host that ends gives all that it can to those beside it first, while all of it goes on: so
 * nobody waits for them to take it.
 */
#ifndef TR_DEPLOY_ENGINE_LEAVE_HOSTS_H
#define TR_DEPLOY_ENGINE_LEAVE_HOSTS_H

#include "deploy/engine/assemble.h"

/* How long that may take at most: service managers wait for 90 s as a rule. */
#define TR_LEAVE_HOSTS_MS 30000

/* What came of it. */
struct tr_leave_hosts {
    uint64_t had;   /* partitions */
    uint64_t given; /* of them */
    uint64_t took_ms;
};

/*
 * For the last time of an engine, whose clients are answered no more. Nothing for one that works
 * alone, or has nobody beside it: then `left->had` is 0. Errors are those that end the host.
 */
TR_MUST_USE int tr_leave_hosts(struct tr_live *live, struct tr_leave_hosts *left);

#endif
