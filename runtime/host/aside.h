/*
 * Groups whose loading ends starts: counted over restarts, in the file `aside` of a store. What is
 * being loaded stands in the mapped file of poison_message.h, which a crash leaves as it is.
 */
#ifndef TR_RUNTIME_HOST_ASIDE_H
#define TR_RUNTIME_HOST_ASIDE_H

#include "schemas/codec/base.h"

/*
 * Counts the group whose loading has ended the last start; 0: it got through. Others that are only
 * suspected are forgotten, since ends count in a row. TR_SYSTEM.
 */
TR_MUST_USE int tri_aside_count(const char *folder, uint64_t group);

#endif
