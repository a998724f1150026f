/*
 * Inside http.h: a request that the http thread owns, and how it gets there.
 *
 * Threads push tasks onto one list, without a lock; the http thread takes the whole list at once.
 * Only the files of the http thread include this.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_REQUEST_H
#define TR_RUNTIME_HTTP_HTTP_REQUEST_H

#include <stdatomic.h>

#include "runtime/env/buffer.h"
#include "runtime/http/http_sign.h"

/* The kinds of tasks. */
enum tri_http_task_kind {
    TRI_HTTP_TASK_REQUEST,
    TRI_HTTP_TASK_CANCEL,
    TRI_HTTP_TASK_ROOM,
    TRI_HTTP_TASK_FOUND, /* its resolved secrets */
};

/* A request, or a task about the request of request.id. */
struct tri_http_task {
    struct tri_http_task *next;
    enum tri_http_task_kind kind;
    uint64_t room_bytes;
    uint64_t serial; /* identifies the transfer: ids may be reused */
    uint64_t fresh_ms;
    bool has_failed;
    struct tri_buffer found;
    uint64_t submitted_us;
    struct tri_http_request request; /* its texts are zero-terminated views of `bytes` */
    struct tr_text *headers;
    struct tr_http_secret *secrets;
    char digest[TRI_HTTP_DIGEST_BYTES]; /* of the body, if a secret signs it */
    char bytes[];
};

/* The list of tasks; any thread pushes, one thread takes. All zero is empty. */
struct tri_http_inbox {
    _Atomic(struct tri_http_task *) newest;
};

/* Checks and copies a request. TR_INVALID, TR_LIMIT, TR_MEMORY. */
TR_MUST_USE int tri_http_task_new(const struct tri_http_request *request,
                                  struct tri_http_task **task);

/* The same without a check. */
TR_MUST_USE int tri_http_task_copy(const struct tri_http_request *request,
                                   struct tri_http_task **task);

/* Whether anything of it is found when it leaves: secrets, or the token of its identity. */
bool tri_http_has_secrets(const struct tri_http_request *request);

/* Frees a task and overwrites its secrets. NULL is fine. */
void tri_http_task_free(struct tri_http_task *task);

/* Frees a whole list. */
void tri_http_tasks_free(struct tri_http_task *task);

/* Pushes a task; any thread. True: the list was empty, so the taker must be woken. */
bool tri_http_inbox_push(struct tri_http_inbox *inbox, struct tri_http_task *task);

/* Takes all tasks, linked from the oldest to the newest. */
struct tri_http_task *tri_http_inbox_take(struct tri_http_inbox *inbox);

#endif
