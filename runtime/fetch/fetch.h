/*
 * Downloads: the content of a URI of an object store or of the web becomes a blob, a file or a
 * folder. Downloads run concurrently on an http thread of their own, started with the first; each
 * ends exactly once, for all callers that asked for it meanwhile.
 *
 *     tri_fetch_begin(fetches, uri, TR_PATH_FILE, owner);
 *     ...  tri_fetches_fd becomes readable
 *     fetch = tri_fetches_next(fetches);
 *     error = tri_fetch_finish(fetch, turn, &blob, words);
 *     while ((owner = tri_fetch_take_owner(fetch)) != NULL) { ... }
 *     tri_fetch_free(fetch);
 *
 * The server is always asked. Content with the ETag (or the modification time) of the last download
 * is not sent again; an interrupted download is resumed, also after a crash of the host, unless the
 * machine was restarted or the content has changed. A folder consists of the objects in a list; an
 * object that is present with the same name, ETag and size is not sent again.
 *
 * Errors of a download, with words that name the server's answer and a remedy: TR_NOT_FOUND,
 * TR_DENIED (the server refuses the credentials), TR_NO_CONNECTION (retry later: busy, not
 * reachable, or cut off), TR_LIMIT (too large), TR_MISMATCH (a folder on a server without lists),
 * TR_INVALID (not the URI of an object), TR_MALFORMED (not a list), TR_CLOSED, and those of the
 * blob store.
 *
 * All functions are for one thread, the blob store's.
 */
#ifndef TR_RUNTIME_FETCH_FETCH_H
#define TR_RUNTIME_FETCH_FETCH_H

#include "runtime/blob/blob.h"
#include "runtime/exchange.h"

struct tri_fetches;
struct tri_fetch;

struct tri_fetches_options {
    struct tri_blobs *blobs;
    const struct tr_object_store *stores; /* stores and sources outlive the fetches */
    size_t store_count;
    const struct tr_secret_source *secrets;
    size_t secret_count;
    uint32_t idle_ms; /* timeout without a byte; 0: TR_FETCH_IDLE_MS */
};

/* TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_fetches_new(const struct tri_fetches_options *options,
                                struct tri_fetches **fetches);

/* Cancels all downloads; their parts stay for a later start. NULL is fine. */
void tri_fetches_free(struct tri_fetches *fetches);

/* Whether a URI can be downloaded. */
bool tri_fetch_is_supported(struct tr_text uri);

/* A caller of a download; its own struct begins with this, and is from tr_alloc. */
struct tri_fetch_owner {
    struct tri_fetch_owner *next;
};

/*
 * Joins the same download if it is in progress, and then takes ownership of `owner`. False: there
 * is none.
 */
TR_MUST_USE bool tri_fetch_join(struct tri_fetches *fetches, struct tr_text uri,
                                enum tr_path_kind kind, struct tri_fetch_owner *owner);

/*
 * Begins a download, or joins one, and takes ownership of `owner`. After an error, with words
 * (TR_BLOB_WORDS_BYTES_MAX), the caller keeps it. Also TR_BUSY (TR_FETCHES_AT_ONCE).
 */
TR_MUST_USE int tri_fetch_begin(struct tri_fetches *fetches, struct tr_text uri,
                                enum tr_path_kind kind, struct tri_fetch_owner *owner, char *words);

/* Whether another download may begin. */
bool tri_fetches_has_room(const struct tri_fetches *fetches);

/* Readable when a download has ended. */
int tri_fetches_fd(const struct tri_fetches *fetches);

/* The next ended download, which the caller must finish and free; NULL: none. */
struct tri_fetch *tri_fetches_next(struct tri_fetches *fetches);

/* The first caller of a download. */
const struct tri_fetch_owner *tri_fetch_owner(const struct tri_fetch *fetch);

/* Makes the blob; yields through `turn`, which may be NULL. */
TR_MUST_USE int tri_fetch_finish(struct tri_fetch *fetch, const struct tr_turn *turn,
                                 struct tri_blob *blob, char *words);

/* Removes and returns the next caller, including those that joined until now; NULL: no more. */
struct tri_fetch_owner *tri_fetch_take_owner(struct tri_fetch *fetch);

/* Frees a download and its remaining callers. */
void tri_fetch_free(struct tri_fetch *fetch);

#endif
