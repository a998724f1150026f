/*
 * Where a store keeps its blobs: in its folder blobs/, or in another one that several hosts reach,
 * to which blobs is a link then. So whoever opens the store finds them, also without its settings.
 */
#ifndef TR_RUNTIME_BLOB_BLOB_PLACE_H
#define TR_RUNTIME_BLOB_BLOB_PLACE_H

#include "schemas/codec/base.h"

#define TRI_BLOB_PLACE_WORDS_BYTES 512

/*
 * Makes a store keep its blobs in `folder`, an absolute path, from now on. It does nothing if that
 * is so already; a store that has blobs elsewhere is not moved. For the engine that holds the store
 * alone, before it opens its blobs. TR_INVALID (no such folder), TR_EXISTS (there are blobs
 * elsewhere), TR_SYSTEM; all with words.
 */
TR_MUST_USE int tri_blob_place(const char *store_folder, const char *folder,
                               char words[TRI_BLOB_PLACE_WORDS_BYTES]);

#endif
