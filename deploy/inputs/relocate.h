/*
 * Values that name blobs of another store, for this one: whatever text in them begins with the path
 * of that store's blobs begins with that of this one's then.
 */
#ifndef TR_DEPLOY_INPUTS_RELOCATE_H
#define TR_DEPLOY_INPUTS_RELOCATE_H

#include <limits.h>

#include "actors/graph/document/buffer.h"

/*
 * From one store's folder to another's; neither ends with a slash. Without `from`, from whichever:
 * then paths change whose blob lies in the other.
 */
struct tr_relocation {
    struct tr_text from;
    struct tr_text to;
};

/*
 * Appends a packed value with its paths changed. TR_MALFORMED (no value), TR_LIMIT (nested too
 * deeply), TR_MEMORY.
 */
TR_MUST_USE int tr_relocate_value(const struct tr_relocation *paths, struct tr_bytes value,
                                  struct tr_buffer *buffer);

/*
 * Appends slots as they are, but with the places here of blobs that came with the executions of
 * another store; `folder` is this one's. Errors as above.
 */
TR_MUST_USE int tr_relocate_home(const char *folder, struct tr_bytes slots,
                                 struct tr_buffer *buffer);

/*
 * Where the blob of a path that was one of another store's lies here, by its name. False: the path
 * is of no blob, or there is none of that name.
 */
bool tr_relocate_find(const char *folder, const char *path, char home[PATH_MAX]);

#endif
