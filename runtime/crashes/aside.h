/*
 * Groups whose loading ends starts: counted across restarts, in rows of the store. The group being
 * loaded is in the mapped file of poison_message.h, which survives a crash.
 */
#ifndef TR_RUNTIME_CRASHES_ASIDE_H
#define TR_RUNTIME_CRASHES_ASIDE_H

#include "runtime/journal/crashes.h"

/*
 * Counts the group whose loading ended the last start; 0: none. Counts of other groups that are not
 * set aside are forgotten, since only consecutive ends count.
 */
void tri_aside_count(struct tri_crashes *crashes, uint64_t group, uint32_t incarnation);

/* Whether a row is the count of a group, whose number `self` points to. */
bool tri_aside_is_group(const void *self, const struct tri_crash_row *row);

/* Forgets the counts of groups, which are to be loaded again. */
void tri_aside_lift(struct tri_crashes *crashes, const uint64_t *groups, size_t count);

#endif
