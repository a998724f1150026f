/*
 * Executions that were handed to an engine and that nobody follows (`--detach`, `submit`). An
 * engine that leaves since its own work is done starts one in the background that goes on with
 * them.
 */
#ifndef TR_DEPLOY_ENGINE_DETACHED_H
#define TR_DEPLOY_ENGINE_DETACHED_H

#include "actors/graph/document/arena.h"
#include "runtime/journal/reader.h"

/* So many are handed over; more sleep, as what is unfinished does. */
#define TR_DETACHED_MAX 4096

struct tr_detached {
    uint64_t *executions;
    size_t count;
};

/* TR_MEMORY, TR_LIMIT. */
TR_MUST_USE int tr_detached_add(struct tr_detached *detached, uint64_t execution);
void tr_detached_fini(struct tr_detached *detached);

/*
 * The names, PROJECT/DOMAIN/NAME, of those that have not ended; texts belong to the arena. What
 * cannot be read is left out.
 */
struct tri_vector tr_detached_left(const struct tr_detached *detached, struct tr_reader *reader,
                                   struct tr_arena *arena);

#endif
