/*
 * Large values before a launch: what is larger than messages carry is written to the store's blobs,
 * and the slot in its place says where it lies (actors/graph/value/slot.h); and the way back. For a
 * command's own thread, or the files service's; the engine of the store may be this process or
 * another one.
 */
#ifndef TR_DEPLOY_INPUTS_OFFLOAD_H
#define TR_DEPLOY_INPUTS_OFFLOAD_H

#include "actors/graph/compiled/graph.h"
#include "actors/graph/value/slot.h"
#include "runtime/blob/turn.h"

/* Why it could not be done, in words. */
#define TR_OFFLOAD_EXPLAIN_BYTES 512

/* What the inputs of one launch may have together, where the largest already lie elsewhere. */
#define TR_LAUNCH_INPUTS_BYTES_MAX (512U << 10)

/*
 * Takes large literals of nodes and launch plans out of the graph, whose hash changes with that,
 * and large inputs out of their list. Without large ones nothing is opened or written. TR_LIMIT
 * (more than TR_LAUNCH_INPUTS_BYTES_MAX in small values), TR_STORE_FULL, TR_SYSTEM, TR_MEMORY.
 */
TR_MUST_USE int tr_offload(const char *store_folder, struct tr_graph *graph,
                           struct tr_buffer *inputs, char *explain);

/* The same for a list of slots alone. */
TR_MUST_USE int tr_offload_slots(const char *store_folder, struct tr_buffer *slots, char *explain);

/*
 * Appends a slot for a literal, which lies in the blobs where it is large. With `is_wrapped` the
 * literal is one of a union, of which a blob gets the value alone. TR_MALFORMED (that is no such
 * literal), and as above.
 */
TR_MUST_USE int tr_offload_literal(const char *store_folder, struct tr_bytes literal,
                                   bool is_wrapped, struct tr_buffer *slots, char *explain);

/*
 * Maps the bytes of a large value until tr_file_unmap; yields through `turn` (NULL: it does not)
 * where they have to come from elsewhere. TR_NOT_FOUND, TR_SYSTEM, TR_MALFORMED (not
 * of its size), TR_MEMORY, and errors of tri_store_blobs_bring; all but TR_MEMORY with words.
 */
TR_MUST_USE int tr_offloaded_map(const char *store_folder, const struct tr_offloaded *where,
                                 const struct tr_turn *turn, struct tr_bytes *literal,
                                 char *explain);

/*
 * Puts a whole document into the blobs and appends the text that says where it lies, packed. Errors
 * as above.
 */
TR_MUST_USE int tr_offload_document(const char *store_folder, struct tr_bytes document,
                                    struct tr_buffer *uri, char *explain);

#endif
