/*
 * Groups whose loading ends starts: counted across restarts, in the file `aside` of a store. The
 * group being loaded is in the mapped file of poison_message.h, which survives a crash.
 */
#ifndef TR_RUNTIME_HOST_ASIDE_H
#define TR_RUNTIME_HOST_ASIDE_H

#include "schemas/codec/base.h"

/*
 * Counts the group whose loading ended the last start; 0: none. Counts of other groups that are not
 * set aside are dropped, since only consecutive ends count. TR_SYSTEM.
 */
TR_MUST_USE int tri_aside_count(const char *folder, uint64_t group);

#endif
