/*
 * Executions that were handed to an engine and that nobody follows (`--detach`, `submit`), and an
 * engine in the background, which goes on with them when this one leaves, its own work done.
 */
#ifndef TR_DEPLOY_ENGINE_BACKGROUND_H
#define TR_DEPLOY_ENGINE_BACKGROUND_H

#include "actors/graph/document/arena.h"
#include "runtime/journal/reader.h"

/*
 * Starts `troupe resume --until-idle` on a store, for these executions, in a session of its own;
 * what it says goes to engine.log there. Returns when it is a process. TR_SYSTEM, TR_MEMORY.
 */
TR_MUST_USE int tr_background_resume(const char *store, const char *const *names, size_t count);

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
