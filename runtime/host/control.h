/*
 * The program's own place, for the files that give it more to say: asking all workers something,
 * and waiting without losing what else comes in. Called by the thread that made the host.
 */
#ifndef TR_RUNTIME_HOST_CONTROL_H
#define TR_RUNTIME_HOST_CONTROL_H

#include "runtime/host/host.h"
#include "schemas/runtime/tap.h"

/* Replies to one control request, one from each worker. */
struct tri_gathering {
    uint64_t request; /* in the message that asks */
    uint32_t answers;
    int reason; /* the first that is not 0 */
    /* What comes with an answer; its views live until this returns. NULL: nothing is wanted. */
    void (*visit)(void *self, const struct tr_observed *observed);
    void *self;
};

/* A number for a control request. */
static inline uint64_t tri_control_request(struct tr_host *host)
{
    return ++host->requests;
}

/*
 * Tells every worker the same and waits for all answers. TR_CLOSED (no worker runs), TR_TIMEOUT
 * (one does not answer within TR_OBSERVE_MS: its handler is stuck), the first answer's reason, and
 * why the host cannot go on.
 */
TR_MUST_USE int tri_control_gather(struct tr_host *host, struct tri_gathering *gathering,
                                   const struct tr_schema *schema, const void *body);

/* Lies down until something comes, or the time is over, and takes it in. */
void tri_control_release_memory(struct tr_host *host, uint64_t timeout_ns);

/* Forgets what nobody asked for. */
void tri_control_fini(struct tr_host *host);

#endif
