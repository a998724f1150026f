/*
 * Which unfinished executions are dormant: the history does not know, since it is no matter of
 * theirs but of the engine's. A live one is asked; without one nothing goes on.
 */
#ifndef TR_DEPLOY_CONNECT_ACTIVITY_H
#define TR_DEPLOY_CONNECT_ACTIVITY_H

#include "actors/graph/document/buffer.h"
#include "runtime/journal/crashes.h"
#include "runtime/troupe.h"
#include "schemas/engine/history.h"

struct tr_activity {
    bool is_live;         /* an engine has the store */
    uint64_t *executions; /* that are dormant in it, in order */
    size_t count;
    uint64_t aside[TR_ASIDE_MAX]; /* that are set aside */
    size_t aside_count;
};

/*
 * Asks the engine of a store, if there is one, and reads which are set aside (`reader` NULL: none);
 * what cannot be told is awake.
 */
void tr_activity_read(const char *folder, bool is_live, struct tr_reader *reader,
                      struct tr_activity *activity);
void tr_activity_fini(struct tr_activity *activity);

/* Whether an execution has not ended and nothing of it goes on now; NULL knows of none. */
bool tr_activity_is_dormant(const struct tr_activity *activity, const struct tr_execution *row);

/* Whether an execution that has not ended was set aside. */
bool tr_activity_is_aside(const struct tr_activity *activity, const struct tr_execution *row);

/* What stands behind the word for its phase: "", ", dormant" or ", set aside". */
const char *tr_activity_word(const struct tr_activity *activity, const struct tr_execution *row);

/* Appends the word for a phase as people see it: "running", "running, dormant". */
void tr_activity_phase_print(const struct tr_activity *activity, const struct tr_execution *row,
                             struct tr_buffer *buffer);

#endif
