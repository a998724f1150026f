/*
 * The checksum that stands beside each row of the state, the same in every back end.
 */
#ifndef TR_RUNTIME_JOURNAL_CHECKSUM_H
#define TR_RUNTIME_JOURNAL_CHECKSUM_H

#include "runtime/journal/store.h"

/*
 * The checksum of the stored parts of an operation, by its kind; of the host's row for kind 0 (key
 * = incarnation and last number). It always detects damage within eight consecutive bytes, and
 * misses other damage once in four thousand million times.
 */
uint32_t tri_checksum(unsigned kind, const struct tri_op *op);

/* The same of bytes. */
uint32_t tri_checksum_bytes(struct tr_bytes bytes);

#endif
