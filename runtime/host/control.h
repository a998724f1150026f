/*
 * The program's own place, for files that extend it: asking all workers, and waiting without losing
 * other messages. Called by the thread that made the host.
 */
#ifndef TR_RUNTIME_HOST_CONTROL_H
#define TR_RUNTIME_HOST_CONTROL_H

#include "runtime/host/host.h"
#include "schemas/runtime/tap.h"

/* The replies to one control request, one from each worker. */
struct tri_gathering {
    uint64_t request; /* number of the request */
    uint32_t answers;
    int reason; /* the first nonzero one */
    /* Called with each answer; its views are valid until this returns. NULL: not called. */
    void (*visit)(void *self, const struct tr_observed *observed);
    void *self;
    bool is_patient; /* waits for as long as the host lives: workers use what the caller has */
};

/* A number for a control request. */
static inline uint64_t tri_control_request(struct tr_host *host)
{
    return ++host->requests;
}

/* Sends an actor a control message. Errors of packing and TR_MEMORY. */
TR_MUST_USE int tri_control_tell(struct tr_host *host, struct tr_ref to,
                                 const struct tr_schema *schema, const void *body);

/*
 * Sends every worker a request and waits for all answers. TR_CLOSED (no worker runs), TR_TIMEOUT
 * (one does not answer within TR_OBSERVE_MS: its handler is stuck), the first answer's reason, and
 * the host's fatal error.
 */
TR_MUST_USE int tri_control_gather(struct tr_host *host, struct tri_gathering *gathering,
                                   const struct tr_schema *schema, const void *body);

/* Waits until a message arrives, or the time is over, and handles it. */
void tri_control_poll(struct tr_host *host, uint64_t timeout_ns);

/* Frees unclaimed ends, and questions that are open. */
void tri_control_fini(struct tr_host *host);

#endif
