/*
 * Ending what a store's keeper runs, for a host whose work others do from now on.
 */
#ifndef TR_RUNTIME_KEEPER_CLIENT_KEEPER_END_H
#define TR_RUNTIME_KEEPER_CLIENT_KEEPER_END_H

#include "runtime/keeper_client/keeper_limits.h"
#include "schemas/codec/base.h"

/*
 * Counts the processes that the keeper of a store has, those that wait among them; with `ends` it
 * ends them, at once and for good, for up to `timeout_ms`. Where no keeper is, `command` (as for
 * struct tri_keeper_client_options) starts one if `ends`, which ends what a killed one has left.
 * TR_BUSY: it could not be asked in time, or is one of an earlier program that cannot be told.
 */
TR_MUST_USE int tri_keeper_end_all(const char *store_folder, const char *const *command, bool ends,
                                   uint32_t timeout_ms, uint32_t *running);

#endif
