/*
 * A folder or a program as one stream of bytes, for places that know plain files only.
 *
 *     pack   = "troupe blob 1\n" entry
 *     entry  = kind name "\0" content
 *     kind   = 'f' a file, 'x' a program, 'l' a link, 'd' a folder
 *     content of a folder  = entries, then 'e'
 *     content of all else  = its size in eight bytes, the lowest first; its bytes, or the target
 *
 * The name of the first entry is empty. Calls block on the disk; any thread.
 */
#ifndef TR_RUNTIME_BLOB_BLOB_PACK_H
#define TR_RUNTIME_BLOB_BLOB_PACK_H

#include "schemas/codec/base.h"

/* Takes the bytes of a pack in order; what it returns other than 0 ends the packing. */
struct tri_pack_sink {
    int (*add)(void *self, struct tr_bytes bytes);
    void *self;
};

/*
 * Packs a file or a folder, `name` in a folder. Errors with errno: TR_SYSTEM, TR_NOT_FOUND,
 * TR_MEMORY, and those of the sink.
 */
TR_MUST_USE int tri_blob_pack(int folder, const char *name, const struct tri_pack_sink *sink);

/* Gives the bytes of a file as they are. Errors as above. */
TR_MUST_USE int tri_blob_pack_plain(int descriptor, const struct tri_pack_sink *sink);

/* Whether a file begins as a pack does. */
bool tri_blob_pack_is(int descriptor);

/*
 * Unpacks a file into `name` in a folder, which does not exist. What was made before an error
 * stays. TR_MALFORMED: it is no pack; with errno: TR_STORE_FULL, TR_LIMIT (too deep), TR_MEMORY,
 * TR_SYSTEM.
 */
TR_MUST_USE int tri_blob_unpack(int descriptor, int folder, const char *name);

#endif
