/*
 * Shared by the files of downloads: fetch.c is the asking thread, fetch_transfer.c the http thread,
 * fetch_folder.c handles folders, fetch_errors.c errors and their words. No other file includes
 * this.
 *
 * A download belongs to one thread at a time: to the asking one before it is submitted and after it
 * has ended; in between to the http thread. Only its owners always belong to the asking thread.
 */
#ifndef TR_RUNTIME_FETCH_FETCH_INSIDE_H
#define TR_RUNTIME_FETCH_FETCH_INSIDE_H

#include <limits.h>
#include <sodium.h>
#include <stdatomic.h>

#include "runtime/fetch/fetch.h"
#include "runtime/fetch/fetch_cache.h"
#include "runtime/fetch/fetch_limits.h"
#include "runtime/fetch/fetch_location.h"
#include "runtime/http/http.h"

/* The size of an object that is in no list. */
#define TRI_FETCH_SIZE_NONE UINT64_MAX

/* The assembled folder, among the parts. */
#define TRI_FETCH_TREE "tree"

struct tri_fetches {
    struct tri_fetches_options options;
    struct tri_http *http; /* NULL until the first download */
    struct tri_fetch *all; /* all that are not freed */
    size_t count;
    _Atomic(struct tri_fetch *) ended; /* ended, newest first */
    struct tri_fetch *taken;           /* of these, taken by the asking thread, oldest first */
    int wake;                          /* an eventfd */
};

/* A request of a download: for a page of a list, or for an object that becomes a part. */
struct tri_fetch_request {
    struct tri_fetch *fetch;
    bool is_used; /* it is in progress */
    bool is_page;
    bool is_begun;            /* the part's file is open */
    struct tri_buffer url;    /* zero-terminated */
    char entry[NAME_MAX + 1]; /* the part's file; "": named after the answer */
    uint64_t offset;          /* bytes of the part before this request */
    uint64_t size;            /* bytes of the part now */
    uint64_t wanted;          /* by the list, or TRI_FETCH_SIZE_NONE */
    uint64_t renewed_ms;
    int fd;
};

/* The objects of a folder. */
struct tri_fetch_objects {
    struct tri_buffer prefix;
    struct tri_buffer names; /* of each object its zero-terminated key and tag */
    struct tri_buffer rows;  /* struct tri_fetch_object */
    uint64_t bytes;          /* of all objects */
    size_t next;             /* the next one to request */
    bool is_listed;
    bool lacks_tags;
};

struct tri_fetch {
    struct tri_fetches *fetches;
    struct tri_fetch *next;
    struct tri_fetch *next_ended;
    struct tri_fetch_owner *owners;

    char *uri;
    enum tr_path_kind kind;
    struct tri_fetch_location location;
    char name[TRI_FETCH_NAME_BYTES];
    char parts_name[32 + TRI_FETCH_NAME_BYTES]; /* in the blob store; the name and the boot */
    int parts;
    struct tri_fetch_cached cached; /* the last download */

    /* For the http thread, while in progress. */
    struct tri_fetch_cached found;
    bool is_unchanged; /* the content has not changed */
    char entry[NAME_MAX + 1];
    struct tri_fetch_objects objects;
    struct tri_fetch_request requests[TR_FETCH_OBJECTS_AT_ONCE];
    size_t under_way;
    int error; /* the first error */
    char words[TR_BLOB_WORDS_BYTES_MAX];
};

/* ---- fetch_transfer.c: requests, on the http thread but for the first one. ------------------- */

/* Handles an event on the http thread; `self` is the fetches. */
void tri_fetch_deliver(void *self, const struct tri_http_event *event);

/* Requests the file. Errors of tri_http_submit, with words. */
TR_MUST_USE int tri_fetch_ask_file(struct tri_fetch *fetch);

/*
 * Requests an object from `offset` on, or a page of a list. The request has its URL and its entry.
 */
TR_MUST_USE int tri_fetch_submit(struct tri_fetch_request *request, const struct tr_text *headers,
                                 size_t count);

/* An unused request, for the next object or page. */
struct tri_fetch_request *tri_fetch_free_request(struct tri_fetch *fetch);

/* Keeps the first error and its words, and returns it. */
TR_MUST_USE int tri_fetch_fail(struct tri_fetch *fetch, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns it to the asking thread: fetch.c. */
void tri_fetch_return(struct tri_fetch *fetch);

/* ---- fetch_folder.c ------------------------------------------------------------------------- */

/* Requests the first page of the list. Errors with words. */
TR_MUST_USE int tri_fetch_ask_folder(struct tri_fetch *fetch);

/* Handles a complete page; then requests the next one, or the objects. */
TR_MUST_USE int tri_fetch_take_page(struct tri_fetch *fetch, struct tr_bytes xml);

/* Requests objects up to the limit. */
TR_MUST_USE int tri_fetch_ask_objects(struct tri_fetch *fetch);

/* Assembles the parts to TRI_FETCH_TREE. On the asking thread. Errors with words. */
TR_MUST_USE int tri_fetch_build(struct tri_fetch *fetch, const struct tr_turn *turn);

void tri_fetch_objects_fini(struct tri_fetch_objects *objects);

/* ---- fetch_errors.c -------------------------------------------------------------------------- */

/* Sets the error and words for a status that is not 200 to 299. */
TR_MUST_USE int tri_fetch_fail_status(const struct tri_fetch_request *request,
                                      const struct tri_http_event *event);

/* The same for a request without a complete answer. */
TR_MUST_USE int tri_fetch_fail_fault(const struct tri_fetch_request *request,
                                     const struct tri_http_event *event);

#endif
