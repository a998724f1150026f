/*
 * How many files and sockets an engine may have open. A shell's soft limit of 1,024 is soon used up
 * by clients, and libraries end the process where they find none left.
 */
#ifndef TR_DEPLOY_ENGINE_DESCRIPTORS_H
#define TR_DEPLOY_ENGINE_DESCRIPTORS_H

#include "schemas/codec/base.h"

/* What an engine needs with a few clients, plugins and processes; with fewer none starts. */
#define TR_DESCRIPTORS_MIN 128

/*
 * What clients leave for everything else: calls to the outside, files, taps. Of a small limit a
 * quarter.
 */
#define TR_DESCRIPTORS_RESERVED 256

/* What it takes where the hard limit is higher. */
#define TR_DESCRIPTORS_WANTED 65536

/*
 * Raises this process's soft limit as far as it may, and tells what it was, for processes that get
 * it back (runtime/env/child_limit.h); clients that would use up what is reserved are closed from
 * then on. TR_LIMIT, with words in `explain` (TRI_STORE_EXPLAIN_BYTES), where even the hard limit
 * is too low; TR_SYSTEM. Before threads are started.
 */
TR_MUST_USE int tr_descriptors_raise(char *explain, uint64_t *before);

#endif
