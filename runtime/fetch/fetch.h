/*
 * Downloads: what a URI of an object store or of the web names becomes a blob, a file or a folder.
 * They run beside each other on a http thread of their own, started with the first; each ends
 * exactly once, for all that asked for it meanwhile.
 *
 *     tri_fetch_begin(fetches, uri, TR_PATH_FILE, owner);
 *     ...  tri_fetches_fd becomes readable
 *     fetch = tri_fetches_next(fetches);
 *     error = tri_fetch_finish(fetch, turn, &blob, words);
 *     while ((owner = tri_fetch_take_owner(fetch)) != NULL) { ... }
 *     tri_fetch_free(fetch);
 *
 * A server is always asked. What it still calls by the ETag (or the time of modification) of the
 * last download is not sent again; and what was cut off goes on where it was, over a crash of the
 * host too, unless the machine was restarted or the content is another by then. A folder is what a
 * list of objects names; an object that is there by name, ETag and size is not sent again.
 *
 * Errors of a download, with words that name the server's answer and a remedy: TR_NOT_FOUND,
 * TR_DENIED (the server refuses who asks), TR_NO_CONNECTION (it may be asked again: busy, away, or
 * cut off), TR_LIMIT (too large), TR_MISMATCH (a folder of a server without lists), TR_INVALID (no
 * URI of an object), TR_MALFORMED (no list), TR_CLOSED, and those of the blob store.
 *
 * All functions are for one thread, that of the blob store.
 */
#ifndef TR_RUNTIME_FETCH_FETCH_H
#define TR_RUNTIME_FETCH_FETCH_H

#include "runtime/blob/blob.h"
#include "runtime/exchange.h"

struct tri_fetches;
struct tri_fetch;

struct tri_fetches_options {
    struct tri_blobs *blobs;
    const struct tr_object_store *stores; /* they and the sources outlive the fetches */
    size_t store_count;
    const struct tr_secret_source *secrets;
    size_t secret_count;
    uint32_t idle_ms; /* without a byte; 0: TR_FETCH_IDLE_MS */
};

/* TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_fetches_new(const struct tri_fetches_options *options,
                                struct tri_fetches **fetches);

/* Gives up what is under way; what has come of it stays for a later start. NULL is fine. */
void tri_fetches_free(struct tri_fetches *fetches);

/* Whether a URI is one to be downloaded. */
bool tri_fetch_can(struct tr_text uri);

/* One that asked for a download; its own struct begins with this, and is from tr_alloc. */
struct tri_fetch_owner {
    struct tri_fetch_owner *next;
};

/*
 * Joins a download of the same that is under way, if there is one, and then takes the owner. False:
 * there is none.
 */
TR_MUST_USE bool tri_fetch_join(struct tri_fetches *fetches, struct tr_text uri,
                                enum tr_path_kind kind, struct tri_fetch_owner *owner);

/*
 * Begins a download, or joins one, and takes the owner. After an error, with words
 * (TR_BLOB_WORDS_BYTES_MAX), the owner is still the caller's: also TR_BUSY (TR_FETCHES_AT_ONCE).
 */
TR_MUST_USE int tri_fetch_begin(struct tri_fetches *fetches, struct tr_text uri,
                                enum tr_path_kind kind, struct tri_fetch_owner *owner, char *words);

/* Whether one more may begin. */
bool tri_fetches_has_room(const struct tri_fetches *fetches);

/* Readable when a download has ended. */
int tri_fetches_fd(const struct tri_fetches *fetches);

/* The next that has ended, which is the caller's to finish and free; NULL: none now. */
struct tri_fetch *tri_fetches_next(struct tri_fetches *fetches);

/* The first one that asked for it. */
const struct tri_fetch_owner *tri_fetch_owner(const struct tri_fetch *fetch);

/* Makes the blob, and lets others go first meanwhile (`turn` may be NULL). */
TR_MUST_USE int tri_fetch_finish(struct tri_fetch *fetch, const struct tr_turn *turn,
                                 struct tri_blob *blob, char *words);

/* Takes the next one that asked for it, with all that asked until now; NULL: no more. */
struct tri_fetch_owner *tri_fetch_take_owner(struct tri_fetch *fetch);

/* With the owners that were not taken. */
void tri_fetch_free(struct tri_fetch *fetch);

#endif
