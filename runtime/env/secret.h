/*
 * Secrets by reference: a group, a key and perhaps a version become a value, here and nowhere else.
 *
 * Sources, in this order:
 *   1. the engine's environment, TROUPE_SECRET_<GROUP>_<KEY>, or with a version
 *      TROUPE_SECRET_<GROUP>_<KEY>_<VERSION>: in capitals, with _ for all but letters and digits;
 *   2. the file GROUP/KEY, with a version GROUP/KEY@VERSION, in $XDG_CONFIG_HOME/troupe/secrets,
 *      or without that variable in ~/.config/troupe/secrets. Links are followed: it is the user's.
 *
 * A reference without a group has neither its part of the name nor its folder.
 */
#ifndef TR_RUNTIME_ENV_SECRET_H
#define TR_RUNTIME_ENV_SECRET_H

#include "runtime/env/buffer.h"
#include "schemas/process.h"

/*
 * Puts the value behind what is in `value`. Errors, with words that name the reference in `reason`
 * (TR_KEEPER_REASON_BYTES_MAX): TR_NOT_FOUND (no source has it), TR_INVALID (the reference),
 * TR_LIMIT (TR_SECRET_BYTES_MAX), TR_SYSTEM (it cannot be read), TR_MEMORY. Any thread.
 */
TR_MUST_USE int tri_secret_find(const struct tr_process_secret *reference, struct tri_buffer *value,
                                char *reason);

/* Overwrites and empties a buffer that held a value. */
void tri_secret_wipe(struct tri_buffer *value);

#endif
