/*
 * What the files of a download share: fetch.c is the thread that asks for it, fetch_transfer.c the
 * http thread that does it, fetch_folder.c what of it folders need, fetch_errors.c what is said of
 * answers. Nobody else includes this.
 *
 * A download belongs to one thread at a time: to the asking one until it is submitted and from when
 * it has ended; in between to the http thread. Only its owners are always the asking thread's.
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

/* The size of what no list has named. */
#define TRI_FETCH_SIZE_NONE UINT64_MAX

/* The folder that is put together, among the parts. */
#define TRI_FETCH_TREE "tree"

struct tri_fetches {
    struct tri_fetches_options options;
    struct tri_http *http; /* NULL until the first */
    struct tri_fetch *all; /* that are not freed */
    size_t count;
    _Atomic(struct tri_fetch *) ended; /* the latest first */
    struct tri_fetch *taken;           /* of these, the earliest first */
    int wake;                          /* an eventfd */
};

/* A request of a download: for a page of a list, or for an object that becomes a part. */
struct tri_fetch_request {
    struct tri_fetch *fetch;
    bool is_used; /* it is under way */
    bool is_page;
    bool is_begun;            /* some of the part has come, and its file is open */
    struct tri_buffer url;    /* with a closing zero */
    char entry[NAME_MAX + 1]; /* the part's file; "": the answer gives it its name */
    uint64_t offset;          /* that was there before */
    uint64_t size;            /* that is there */
    uint64_t wanted;          /* by the list, or TRI_FETCH_SIZE_NONE */
    uint64_t renewed_ms;
    int fd;
};

/* The objects of a folder. */
struct tri_fetch_objects {
    struct tri_buffer prefix;
    struct tri_buffer names; /* of each object its key and its tag, with closing zeros */
    struct tri_buffer rows;  /* struct tri_fetch_object */
    uint64_t bytes;          /* of all of them */
    size_t next;             /* that is asked for */
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
    struct tri_fetch_place place;
    char name[TRI_FETCH_NAME_BYTES];
    char parts_name[32 + TRI_FETCH_NAME_BYTES]; /* in the blob store; the name and the boot */
    int parts;
    struct tri_fetch_known known; /* of the last download */

    /* The http thread's, while it is under way. */
    struct tri_fetch_known found;
    bool is_known; /* nothing has changed since the last one */
    char entry[NAME_MAX + 1];
    struct tri_fetch_objects objects;
    struct tri_fetch_request requests[TR_FETCH_OBJECTS_AT_ONCE];
    size_t under_way;
    int error; /* the first */
    char words[TR_BLOB_WORDS_BYTES_MAX];
};

/* ---- fetch_transfer.c: requests, on the http thread but for the first one. ------------------- */

/* What the http thread delivers; `self` is the fetches. */
void tri_fetch_deliver(void *self, const struct tri_http_event *event);

/* Asks for the file. Errors of tri_http_submit, with words. */
TR_MUST_USE int tri_fetch_ask_file(struct tri_fetch *fetch);

/* Asks for an object, of which `offset` bytes are there, or for a page of a list. The request has
 * its URL and its entry. */
TR_MUST_USE int tri_fetch_submit(struct tri_fetch_request *request, const struct tr_text *headers,
                                 size_t count);

/* A request that is free; the next one is asked for with it. */
struct tri_fetch_request *tri_fetch_free_request(struct tri_fetch *fetch);

/* Notes the first error and its words, and returns it. */
TR_MUST_USE int tri_fetch_fail(struct tri_fetch *fetch, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Gives it back to the asking thread: fetch.c. */
void tri_fetch_give_back(struct tri_fetch *fetch);

/* ---- fetch_folder.c ------------------------------------------------------------------------- */

/* Asks for the first page of the list. Errors with words. */
TR_MUST_USE int tri_fetch_ask_folder(struct tri_fetch *fetch);

/* Takes a page that has come whole; then asks for the next one, or for the objects. */
TR_MUST_USE int tri_fetch_take_page(struct tri_fetch *fetch, struct tr_bytes xml);

/* Asks for as many objects as may be on their way. */
TR_MUST_USE int tri_fetch_ask_objects(struct tri_fetch *fetch);

/* Puts the parts together to TRI_FETCH_TREE. The asking thread. Errors with words. */
TR_MUST_USE int tri_fetch_build(struct tri_fetch *fetch, const struct tr_turn *turn);

void tri_fetch_objects_fini(struct tri_fetch_objects *objects);

/* ---- fetch_errors.c -------------------------------------------------------------------------- */

/* The error, with words, of an answer that is none of 200 to 299. */
TR_MUST_USE int tri_fetch_fail_status(const struct tri_fetch_request *request,
                                      const struct tri_http_event *event);

/* The same of a request without a whole answer. */
TR_MUST_USE int tri_fetch_fail_fault(const struct tri_fetch_request *request,
                                     const struct tri_http_event *event);

#endif
