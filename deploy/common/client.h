/*
 * Asking a live engine, as its client: one question, and what it answers.
 */
#ifndef TR_DEPLOY_COMMON_CLIENT_H
#define TR_DEPLOY_COMMON_CLIENT_H

#include "runtime/link/endpoint.h"

/*
 * Asks, and waits for the answer; those in between are given to `row` (or NULL), whose error ends
 * the waiting. TR_NO_CONNECTION, TR_TIMEOUT (`timeout_ms`; 0 is that of the console, or none).
 * `answer` lives until the next call with the client.
 */
TR_MUST_USE int tr_client_call(struct tri_client *client, const struct tr_schema *schema,
                               const void *body, const struct tr_schema *last, uint32_t timeout_ms,
                               int (*row)(void *self, const struct tri_request *row), void *self,
                               struct tri_request *answer);

#endif
