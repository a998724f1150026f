/*
 * Values that name blobs, for somebody who wants to open them; and values of older stores, which
 * have named blobs by their paths, for another store: whatever text in them begins with the path of
 * that store's blobs begins with that of this one's then.
 */
#ifndef TR_DEPLOY_INPUTS_RELOCATE_H
#define TR_DEPLOY_INPUTS_RELOCATE_H

#include <limits.h>

#include "actors/graph/document/buffer.h"
#include "runtime/blob/blob_limits.h"
#include "runtime/blob/turn.h"

/*
 * From one store's folder to another's; neither ends with a slash. Without `from`, from whichever,
 * and from URIs of blobs: then those change whose blob lies in the other, or comes there from the
 * object store that has its blobs. One that does not come stays as it is, unless there are words.
 */
struct tr_relocation {
    struct tr_text from;
    struct tr_text to;
    const struct tr_turn *turn; /* for long work; NULL: it does not yield */
    char *words; /* of a blob that does not come (TR_BLOB_WORDS_BYTES_MAX), or NULL */
};

/*
 * Appends a packed value with its paths changed. TR_MALFORMED (no value), TR_LIMIT (nested too
 * deeply), TR_MEMORY; with words, errors of tri_store_blobs_bring.
 */
TR_MUST_USE int tr_relocate_value(const struct tr_relocation *paths, struct tr_bytes value,
                                  struct tr_buffer *buffer);

/* Whether a value may name blobs at all: else it is as it is. */
bool tr_relocate_has_any(struct tr_bytes value);

/* The same, for slots that may name no blobs at all. */
TR_MUST_USE int tr_relocate_slots(const struct tr_relocation *paths, struct tr_bytes slots,
                                  struct tr_buffer *buffer);

/*
 * Appends slots as they are, but with the paths of blobs that lie in the store of this folder,
 * which programs and people can open. Errors as above.
 */
TR_MUST_USE int tr_relocate_home(const char *folder, struct tr_bytes slots,
                                 struct tr_buffer *buffer);

/*
 * Maps a blob of a store by its URI, or by the path that older stores have in the place of one,
 * until tr_file_unmap. Another path is that of a file. TR_NOT_FOUND, TR_SYSTEM (errno), TR_MEMORY,
 * and errors of tri_store_blobs_bring, whose words (TR_BLOB_WORDS_BYTES_MAX, or NULL) are else "".
 */
TR_MUST_USE int tr_relocate_map(const char *folder, struct tr_text uri, const struct tr_turn *turn,
                                char *words, struct tr_bytes *bytes);

#endif
