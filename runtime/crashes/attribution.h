/*
 * Parts of the program that end the process: counted across restarts, in rows of the store.
 *
 * A handler names the part whose function it calls (tr_attribute_crash). The program decides
 * whether that part is called again; it reads the list with tr_host_crash_attributions
 * (runtime/troupe.h).
 */
#ifndef TR_RUNTIME_CRASHES_ATTRIBUTION_H
#define TR_RUNTIME_CRASHES_ATTRIBUTION_H

#include "runtime/actor/current_message.h"
#include "runtime/journal/crashes.h"

/* Counts the part that this handler had called when it ended the process. */
void tri_attribution_count(struct tri_crashes *crashes, const struct tri_current_message *slot,
                           uint32_t incarnation);

#endif
