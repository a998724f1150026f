/*
 * Which host has had each partition since when (tenure.h), of a host that works beside others: a
 * cell of the store for each partition, which its host writes before anything runs there.
 *
 * Any thread may ask; one loads and begins.
 */
#ifndef TR_RUNTIME_MEMBERS_PARTITION_TENURES_H
#define TR_RUNTIME_MEMBERS_PARTITION_TENURES_H

#include "runtime/journal/store.h"

struct tri_partition_tenures;

/* NULL: no memory. */
struct tri_partition_tenures *tri_partition_tenures_new(void);
void tri_partition_tenures_free(struct tri_partition_tenures *self);

/*
 * Reads who has had a partition. One of which nobody has written that has had the hosts of the
 * whole store, of which one at a time worked then. Errors of reading, TR_MEMORY,
 * TR_STORE_DAMAGED.
 */
TR_MUST_USE int tri_partition_tenures_load(struct tri_partition_tenures *self,
                                           struct tri_store *store, uint64_t partition);

/* Whether a loaded one is this host's, by what was written last. */
bool tri_partition_tenures_are_of(struct tri_partition_tenures *self, uint64_t partition,
                                  uint64_t host);

/* A host has a loaded one from now on, and `op` (its bytes are kept here) writes that down. */
void tri_partition_tenures_begin(struct tri_partition_tenures *self, uint64_t partition,
                                 uint64_t host, uint64_t since_ms, struct tri_op *op);

/* Who had the partition of a group at that time; 0: nobody knows, or it was not loaded. */
uint64_t tri_partition_tenures_find(struct tri_partition_tenures *self, uint64_t group,
                                    uint64_t time_ms);

#endif
