/*
 * Parts of the program that end the process: counted across restarts, in the file `attribution` of
 * a store.
 *
 * A handler names the part whose function it calls (tr_attribute_crash). The program decides
 * whether that part is called again; it reads the list with tr_crash_attributions_read
 * (runtime/troupe.h).
 */
#ifndef TR_RUNTIME_HOST_ATTRIBUTION_H
#define TR_RUNTIME_HOST_ATTRIBUTION_H

#include "runtime/actor/current_message.h"

/* Counts the part that this handler had called when it ended the process. TR_SYSTEM. */
TR_MUST_USE int tri_attribution_count(const char *folder, const struct tri_current_message *slot);

#endif
