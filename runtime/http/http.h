/*
 * An HTTP client: one thread with one libcurl multi handle. Requests are submitted from any thread;
 * their results are delivered by calls of one function on the http thread. No state is shared.
 *
 *     struct tri_http_options options = {.deliver = take, .self = me};
 *     tri_http_start(&options, &http);
 *     struct tri_http_request request = {.id = 7, .method = tr_text_of("GET"), .url = ...};
 *     tri_http_submit(http, &request);
 *     ...  take(me, &(struct tri_http_event){.id = 7, .kind = TRI_HTTP_END, .status = 200, ...})
 *
 * Every accepted request gets exactly one END, however it ends. Only http and https are supported.
 * Proxies of the environment are ignored unless a request asks for them.
 *
 * A request with secrets (schemas/runtime/http.h) is sent when they are resolved; until then its
 * timeout runs, and other requests are not delayed. If the server answers 401, the secrets are
 * resolved again without cached command output, and the request is sent once more if they differ.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_H
#define TR_RUNTIME_HTTP_HTTP_H

#include "runtime/http/http_limits.h"
#include "runtime/http/http_types.h"

struct tri_http;

/* Starts the thread. TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_http_start(const struct tri_http_options *options, struct tri_http **http);

/* Why it could not be started, by the error: for people. */
const char *tri_http_start_words(int error);

/* The error of a request that ended with a fault: TR_NO_CONNECTION for all that may pass. */
int tri_http_fault_error(enum tri_http_fault fault);

/*
 * Ends all requests as CLOSED and then the thread. No other thread may use it any more; must not be
 * called from `deliver`. NULL is fine.
 */
void tri_http_stop(struct tri_http *http);

/*
 * Submits a request; any thread. Errors: TR_BUSY (requests_max are open), TR_INVALID (no id, method
 * or URL, or bytes that cannot be sent), TR_LIMIT (a part of it is too large), TR_CLOSED (being
 * stopped), TR_MEMORY. After an error there is no END.
 */
TR_MUST_USE int tri_http_submit(struct tri_http *http, const struct tri_http_request *request);

/*
 * Ends a request as CANCELLED, unless it has ended; any thread. An unknown id is ignored.
 * TR_MEMORY.
 */
TR_MUST_USE int tri_http_cancel(struct tri_http *http, uint64_t id);

/*
 * Reports that the receiver has consumed `bytes` of a stream with window_bytes, which makes room in
 * the window; any thread. While the window is full nothing is read from the server, and its idle
 * timeout does not run. If the receiver has unconsumed bytes and reports nothing for
 * receiver_timeout_ms, the request ends as TIMEOUT. An unknown id and an excess of bytes are
 * ignored. TR_MEMORY.
 */
TR_MUST_USE int tri_http_give_room(struct tri_http *http, uint64_t id, uint64_t bytes);

#endif
