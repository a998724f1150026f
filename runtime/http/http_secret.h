/*
 * Inside http.h: threads that resolve secrets of requests, since a command may take seconds to
 * print one and must not delay other requests.
 *
 * Each secret belongs to one thread, which is started with the first request for it: a command that
 * hangs delays the requests for its secret and few others, and runs once for all of them. Only the
 * files of the http thread include this.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_SECRET_H
#define TR_RUNTIME_HTTP_HTTP_SECRET_H

#include "runtime/http/http_request.h"

struct tri_http_secrets;

/*
 * Called on one of these threads with a task of kind FOUND, which the receiver owns: `found` holds
 * a zero-terminated line "Name: value" for each secret (only the value of one that signs); or, if
 * `has_failed`, the reason in words.
 */
typedef void tri_http_found(void *self, struct tri_http_task *task);

/* Starts no thread yet. The sources outlive it, as in secret.h. TR_MEMORY. */
TR_MUST_USE int tri_http_secrets_new(const struct tr_secret_source *sources, size_t count,
                                     tri_http_found *found, void *self,
                                     struct tri_http_secrets **secrets);

/* Ends the threads, after the running commands; queued requests are dropped. NULL is fine. */
void tri_http_secrets_free(struct tri_http_secrets *secrets);

/*
 * Resolves the secrets of a request; for one thread. The answer has its id and `serial`. Command
 * output from before `fresh_ms` (monotonic clock) is not used. TR_MEMORY, TR_SYSTEM.
 */
TR_MUST_USE int tri_http_secrets_ask(struct tri_http_secrets *secrets,
                                     const struct tri_http_request *request, uint64_t serial,
                                     uint64_t fresh_ms);

#endif
