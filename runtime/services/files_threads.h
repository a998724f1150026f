/*
 * The threads of the files service. One of them has the turn, and with it all that is the
 * service's; the others have begun with something that takes long and wait for their next turn, or
 * have nothing to do. The turn goes from one to another between the pieces of long work, when there
 * is work of other groups: so no lock is needed, and nobody waits longer than a piece for each.
 */
#ifndef TR_RUNTIME_SERVICES_FILES_THREADS_H
#define TR_RUNTIME_SERVICES_FILES_THREADS_H

#include "runtime/blob/turn.h"
#include "runtime/services/files_queue.h"

struct tri_files_hands;

/* What the threads do; all of it is called by the one that has the turn. */
struct tri_files_hands_options {
    struct tr_env *env;
    void *self;
    const atomic_bool *is_stopping;
    int (*open)(void *self); /* once, before anything else, by the first thread */
    void (*hear)(void *self, struct tri_files_line *line); /* puts what has come into the line */
    void (*work)(void *self, const struct tri_files_work *work);
    void (*wait)(void *self); /* until something comes */
};

/* Starts the first one. TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_files_hands_start(const struct tri_files_hands_options *options,
                                      struct tri_files_hands **hands);

/* For long work. */
const struct tr_turn *tri_files_hands_turn(const struct tri_files_hands *hands);

/* How much waits for its turn; from any thread. */
size_t tri_files_hands_waiting(const struct tri_files_hands *hands);

/* Ends them when is_stopping says so: what was begun is given up. NULL is fine. */
void tri_files_hands_stop(struct tri_files_hands *hands);

#endif
