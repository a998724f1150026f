/*
 * Opens the blobs of a store wherever they are: in its folder, in another one that blobs/ is a link
 * to, or in an object store, which a document of the folder names (TR_STORE_BLOBS_REMOTE). So
 * whoever opens the store finds them, also without its settings.
 */
#ifndef TR_RUNTIME_STORE_BLOBS_H
#define TR_RUNTIME_STORE_BLOBS_H

#include "runtime/blob/blob.h"
#include "runtime/exchange.h"

#define TRI_STORE_BLOBS_WORDS_BYTES 512

/* Whether the folder is a cache of an object store. */
bool tri_store_blobs_are_remote(const char *store_folder);

/* As tri_blobs_open. */
TR_MUST_USE int tri_store_blobs_open(const char *store_folder, const atomic_bool *is_stopping,
                                     struct tri_blobs **blobs);

/* As tri_blobs_open_beside. */
TR_MUST_USE int tri_store_blobs_open_beside(const char *store_folder, struct tri_blobs **blobs);

/*
 * Makes sure that a blob of the store is in its folder, by its name or a path that begins with one;
 * without an object store it does nothing. One that is there is not renewed by that. It yields
 * through `turn` (NULL: it does not). Errors of tri_blob_fetch, with errno after TR_SYSTEM; `words`
 * (TR_BLOB_WORDS_BYTES_MAX, or NULL) gets the words.
 */
TR_MUST_USE int tri_store_blobs_bring(const char *store_folder, struct tr_text name,
                                      const struct tr_turn *turn, char *words);

/* Makes sure that all blobs of the store are in its folder. Errors as above. */
TR_MUST_USE int tri_store_blobs_bring_all(const char *store_folder, char *words);

/*
 * Shows each blob of the store by its name, with the time when it was last stored or asked for,
 * since 1970; what `each` returns other than 0 ends it. Nothing is written into the folder. Errors
 * of tri_blobs_each; `words` (TR_BLOB_WORDS_BYTES_MAX) gets the words, or "".
 */
TR_MUST_USE int tri_store_blobs_each(const char *store_folder,
                                     int (*each)(void *self, const char *name, uint64_t changed_ms),
                                     void *self, char *words);

/* Bytes of where blobs are, for others to compare. */
#define TRI_STORE_BLOBS_WHERE_BYTES 200

/*
 * Where others find the blobs of the store, too: what the settings say (`wanted`, NULL: nothing),
 * else the folder or the bucket in which they are; "": in the store's folder, where only this
 * machine has them. Cut at TRI_STORE_BLOBS_WHERE_BYTES.
 */
void tri_store_blobs_where(const char *store_folder, const char *wanted, char *where);

/* How the settings say where blobs are. */
struct tri_store_blobs_place {
    const char *where; /* an absolute path, or s3://BUCKET[/PREFIX]; NULL: where they are */
    const struct tr_object_store *object_stores; /* of these the one that suits */
    size_t object_store_count;
    const struct tr_secret_source *secrets;
    size_t secret_count;
};

/* Whether a text names an object store that blobs can be in. */
bool tri_store_blobs_is_uri(struct tr_text where);

/*
 * Makes a store keep its blobs there from now on; an object store is asked whether it takes some,
 * and gets those that the folder has. A store that has blobs in another place is not moved. For the
 * engine that holds the store alone, before it opens its blobs. TR_INVALID (no such folder),
 * TR_EXISTS (there are blobs elsewhere), TR_SYSTEM, and errors of runtime/blob/blob_remote.h; all
 * with words (TRI_STORE_BLOBS_WORDS_BYTES).
 */
TR_MUST_USE int tri_store_blobs_place(const char *store_folder,
                                      const struct tri_store_blobs_place *place, char *words);

#endif
