/*
 * Until when calls to the outside may leave. A host that has not heard from the database for half
 * of its lease may be fenced soon: what it asks for would be asked by another, too. So it holds
 * its calls back until it beats again. The time is looked at where a call leaves, and not set by a
 * thread that may stand still together with it.
 *
 * Together with the keeper's lease this is all that relies on clocks that run alike; what a back
 * end does once for each identity is safe without it.
 */
#ifndef TR_RUNTIME_MEMBERS_PERMIT_H
#define TR_RUNTIME_MEMBERS_PERMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zero: everything may leave. Any thread. */
struct tri_permit {
    atomic_uint_fast64_t end_ms; /* 0: none */
};

/* A beat that was answered had been sent at `began_ms`. */
void tri_permit_renew(struct tri_permit *permit, uint64_t began_ms, uint32_t lease_ms);

/* Whether a call may leave at `now_ms`. */
bool tri_permit_allows(const struct tri_permit *permit, uint64_t now_ms);

#endif
