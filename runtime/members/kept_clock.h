/*
 * The steady clock as it is stored (runtime/env/env.h): a cell for all hosts of a store, from which
 * readers have it too, and one for each of several that work at once.
 */
#ifndef TR_RUNTIME_MEMBERS_KEPT_CLOCK_H
#define TR_RUNTIME_MEMBERS_KEPT_CLOCK_H

#include "runtime/env/env.h"
#include "runtime/journal/store.h"

/* The cell of a host alone; 0: it has none, since it has no number. */
uint64_t tri_kept_clock_cell(uint16_t number, uint8_t slot);

/*
 * The clock with which a life begins: no host of the store has read a much later time. How far it
 * is ahead is counted from what this host itself has stored (`cell`): that the clock of another
 * one is ahead does not mean that this one's was put back. Zeros if there is none, or no store.
 * Errors of tri_store_read_meta, TR_STORE_DAMAGED.
 */
TR_MUST_USE int tri_kept_clock_load(struct tri_store *store, uint64_t cell,
                                    struct tri_kept_clock *kept);

/* The latest time that any host of the store has stored; 0: there is none. Errors as above. */
TR_MUST_USE int tri_kept_clock_latest(struct tri_store *store, uint64_t *steady_ms);

#endif
