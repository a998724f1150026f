/*
 * Http for everybody: one thread with one libcurl multi handle. A request is submitted from any
 * thread and is answered by calls of one function on the http thread; nothing is shared.
 *
 *     struct tri_http_options options = {.deliver = take, .self = me};
 *     tri_http_start(&options, &http);
 *     struct tri_http_request request = {.id = 7, .method = tr_text_of("GET"), .url = ...};
 *     tri_http_submit(http, &request);
 *     ...  take(me, &(struct tri_http_event){.id = 7, .kind = TRI_HTTP_END, .status = 200, ...})
 *
 * Every accepted request gets exactly one END, however it ends. Only http and https are spoken.
 * Proxies that the environment names are ignored unless a request asks for them.
 *
 * A request with secrets (schemas/runtime/http.h) leaves when they are found; until then its time
 * runs, and nobody else waits. When the server answers 401, they are asked for again, without what
 * commands said before, and the request is sent once more if they are others now.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_H
#define TR_RUNTIME_HTTP_HTTP_H

#include "runtime/http/http_limits.h"
#include "runtime/http/http_types.h"

struct tri_http;

/* Starts the thread. TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_http_start(const struct tri_http_options *options, struct tri_http **http);

/*
 * Ends all requests as CLOSED and then the thread. Nobody may submit or cancel any more, and it is
 * not called from `deliver`. NULL is fine.
 */
void tri_http_stop(struct tri_http *http);

/*
 * Hands a request over; any thread. Errors: TR_BUSY (requests_max are under way), TR_INVALID (no
 * id, method or URL, or bytes that cannot be sent), TR_LIMIT (a part of it is too large), TR_CLOSED
 * (it is being stopped), TR_MEMORY. Then there is no END.
 */
TR_MUST_USE int tri_http_submit(struct tri_http *http, const struct tri_http_request *request);

/*
 * Ends a request as CANCELLED, unless it has ended before; any thread. One that is not known is
 * passed over. TR_MEMORY.
 */
TR_MUST_USE int tri_http_cancel(struct tri_http *http, uint64_t id);

/*
 * Says that `bytes` of what was delivered of a stream with window_bytes have been taken, so that
 * there is room for as many; any thread. Nothing more is read from the server while the window is
 * full, which is no idle time of the server's. A receiver that has something in hand and gives no
 * room for patience_ms is taken for gone, and the request ends as TIMEOUT. One that is not known is
 * passed over, and so is more than was delivered. TR_MEMORY.
 */
TR_MUST_USE int tri_http_give_room(struct tri_http *http, uint64_t id, uint64_t bytes);

#endif
