/*
 * A reader of a store over the network: what a reader asks becomes requests to one of its hosts
 * (schemas/runtime/query.h), which answers each from one moment. So rows of two questions may be of
 * two moments, and a long list, which is read in parts, too.
 */
#ifndef TR_RUNTIME_REMOTE_REMOTE_READER_H
#define TR_RUNTIME_REMOTE_REMOTE_READER_H

#include "runtime/journal/reader.h"

/*
 * Connects to a host of the locator that is the options' folder (runtime/link/entry_locator.h).
 * TR_NO_CONNECTION, TR_INVALID (the locator or the key file), TR_CLOSED (nobody there knows our
 * key), TR_MEMORY, TR_SYSTEM; `explain` (TRI_STORE_EXPLAIN_BYTES, may be NULL) has words.
 */
TR_MUST_USE int tri_remote_reader_open(const struct tr_reader_options *options, char *explain,
                                       struct tr_reader **reader);

#endif
