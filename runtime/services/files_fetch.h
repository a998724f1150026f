/*
 * Downloads for the files service: what a http or https URI names becomes a blob. They run beside
 * each other on a http thread of their own, started with the first; each ends exactly once.
 */
#ifndef TR_RUNTIME_SERVICES_FILES_FETCH_H
#define TR_RUNTIME_SERVICES_FILES_FETCH_H

#include "runtime/blob/blob.h"
#include "runtime/services/service.h"

struct tri_fetches;

/* A download that has ended. */
struct tri_fetch {
    struct tri_caller caller;
    int error; /* 0: the file is there, to be adopted as a blob */
    char words[TR_BLOB_WORDS_BYTES_MAX];
    char name[32]; /* of the file in the blob store */
    char hint[TR_BLOB_HINT_BYTES_MAX + 1];
    uint64_t size;
    int fd;
    struct tri_fetches *fetches;
    struct tri_fetch *next; /* of those that have ended */
};

/* TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_fetches_new(struct tri_blobs *blobs, struct tri_fetches **fetches);

/* Gives up what is under way. NULL is fine. */
void tri_fetches_free(struct tri_fetches *fetches);

/* Whether a URI is one to be downloaded. */
bool tri_fetch_can(struct tr_text uri);

/* Begins a download. Errors as tri_http_submit and tri_blob_begin; then there is no end. */
TR_MUST_USE int tri_fetch_begin(struct tri_fetches *fetches, struct tr_text uri,
                                const struct tri_caller *caller);

/* Readable when a download has ended. */
int tri_fetches_fd(const struct tri_fetches *fetches);

/* The next that has ended, to be freed by the caller; NULL: none now. */
struct tri_fetch *tri_fetches_next(struct tri_fetches *fetches);
void tri_fetch_free(struct tri_fetch *fetch);

#endif
