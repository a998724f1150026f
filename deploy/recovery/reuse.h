/*
 * What earlier executions gave, for one that takes it over: the answers to the questions of
 * schemas/engine/recovery.h, from a plan (deploy/recovery/recovery.h) and the history of the store.
 *
 * For the files service's thread. Nothing is kept between questions: each opens the history, reads
 * what it names, and closes it.
 */
#ifndef TR_DEPLOY_RECOVERY_REUSE_H
#define TR_DEPLOY_RECOVERY_REUSE_H

#include "deploy/recovery/recovery.h"
#include "runtime/journal/reader.h"
#include "runtime/troupe.h"

/* Answer as tr_inquiry_take has to. */
TR_MUST_USE int tr_reuse_nodes(const struct tr_inquiry *inquiry, char *explain);
TR_MUST_USE int tr_reuse_elements(const struct tr_inquiry *inquiry, char *explain);

/*
 * What a recovery says, as far as the history knows of it (schemas/engine/recovery.h): texts are
 * the arena's. Errors as tr_recovery_read and the reader, with words.
 */
TR_MUST_USE int tr_reuse_plan(struct tr_reader *reader, struct tr_text recovery,
                              struct tr_arena *arena, struct tr_recovery *plan, char *explain);

/*
 * The execution in which a node, or an element of it (else TR_ELEMENT_NONE), ran that `execution`
 * has kept, over as many recoveries as there were: its number, or that of `execution` itself, also
 * where the history knows no more. TR_MEMORY, and what the reader says.
 */
TR_MUST_USE int tr_reuse_origin(struct tr_reader *reader, uint64_t execution, struct tr_text path,
                                uint64_t element, uint64_t *origin);

/*
 * Whether the execution that one with this recovery takes over has decided a graph of this hash at
 * a path. Errors with words.
 */
TR_MUST_USE int tr_reuse_graph(const struct tr_inquiry *inquiry, struct tr_text recovery,
                               struct tr_text path, const uint8_t *hash, bool *is_same,
                               char *explain);

#endif
