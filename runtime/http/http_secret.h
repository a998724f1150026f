/*
 * Inside http.h: threads that find the values of secrets for requests, since a command may take
 * seconds to print one and nobody else is to wait for that.
 *
 * A secret is always asked for by the same thread, which is started with the first request for it:
 * a command that hangs holds up those who need it and few others, and is asked once.
 * Only the files of the http thread include this.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_SECRET_H
#define TR_RUNTIME_HTTP_HTTP_SECRET_H

#include "runtime/http/http_request.h"

struct tri_http_secrets;

/*
 * Called on one of these threads with a task of kind FOUND, which is the receiver's from then on:
 * `found` holds a line "Name: value" for each secret (of one that signs its value alone), each with
 * a closing zero; or, where `has_failed`, the words of why it does not.
 */
typedef void tri_http_found(void *self, struct tri_http_task *task);

/* No thread is started yet. The sources outlive it, as in secret.h. TR_MEMORY. */
TR_MUST_USE int tri_http_secrets_new(const struct tr_secret_source *sources, size_t count,
                                     tri_http_found *found, void *self,
                                     struct tri_http_secrets **secrets);

/* Ends the threads, when the commands that run have ended; what waits is dropped. NULL is fine. */
void tri_http_secrets_free(struct tri_http_secrets *secrets);

/*
 * Asks for the secrets of a request, one thread; the answer has its id and `serial`. What a command
 * said before `fresh_ms`, on the monotonic clock, counts no more. TR_MEMORY, TR_SYSTEM.
 */
TR_MUST_USE int tri_http_secrets_ask(struct tri_http_secrets *secrets,
                                     const struct tri_http_request *request, uint64_t serial,
                                     uint64_t fresh_ms);

#endif
