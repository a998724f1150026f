/*
 * Which unfinished executions are asleep: the history does not know, since it is no matter of
 * theirs but of the engine's. A live one is asked; without one nothing goes on.
 */
#ifndef TR_DEPLOY_ASLEEP_H
#define TR_DEPLOY_ASLEEP_H

#include "actors/graph/document/buffer.h"
#include "runtime/troupe.h"
#include "schemas/engine/history.h"

struct tr_asleep {
    bool is_live;         /* an engine has the store */
    uint64_t *executions; /* that are asleep in it, in order */
    size_t count;
    uint64_t aside[TR_ASIDE_MAX]; /* that are put aside (troupe.h) */
    size_t aside_count;
};

/* Asks the engine of a store, if there is one; what it cannot tell is awake. */
void tr_asleep_read(const char *folder, bool is_live, struct tr_asleep *asleep);
void tr_asleep_fini(struct tr_asleep *asleep);

/* Whether an execution has not ended and nothing of it goes on now; NULL knows of none. */
bool tr_asleep_has(const struct tr_asleep *asleep, const struct tr_execution *row);

/* Whether an execution that has not ended was put aside. */
bool tr_asleep_is_aside(const struct tr_asleep *asleep, const struct tr_execution *row);

/* What stands behind the word for its phase: "", ", asleep" or ", put aside". */
const char *tr_asleep_word(const struct tr_asleep *asleep, const struct tr_execution *row);

/* Appends the word for a phase as people see it: "running", "running, asleep". */
void tr_asleep_phase_print(const struct tr_asleep *asleep, const struct tr_execution *row,
                           struct tr_buffer *buffer);

#endif
