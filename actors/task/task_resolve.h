/*
 * Paths in values, one after the other: asking a service about each, and putting what it says in
 * their places. The cache's digests, fetched inputs and kept outputs are all made so.
 *
 * Paths are numbered as they stand in the slots. `state->cursor` of them are done; what was said of
 * each is in the span of URIs, nil where nothing was asked, so that a crash costs one question.
 */
#ifndef TR_ACTORS_TASK_TASK_RESOLVE_H
#define TR_ACTORS_TASK_TASK_RESOLVE_H

#include "actors/task/task.h"
#include "actors/values/path.h"

/* What to do with the paths of some slots. */
struct tri_resolver {
    const struct tr_variables *variables;
    struct tr_bytes slots;
    enum tr_path_scope scope; /* in content what was said is content, too, and no other URI */
    /* Positions of variables that are left out, ascending. */
    const uint32_t *left_out;
    uint32_t left_out_count;
    bool (*wants)(struct tri_task *task, const struct tri_path *path);
    int (*ask)(struct tri_task *task, const struct tri_path *path); /* by tri_task_call */
};

/* Asks about the next path that is wanted; `is_done`: there is none. */
TR_MUST_USE int tri_resolve_next(struct tri_task *task, const struct tri_resolver *resolver,
                                 bool *is_done);

/* Notes what was said of the path that was asked about. */
TR_MUST_USE int tri_resolve_note(struct tri_task *task, struct tr_bytes said);

/* The path that was asked about last, and the name of the input or output that it stands in. */
TR_MUST_USE int tri_resolve_current(struct tri_task *task, const struct tri_resolver *resolver,
                                    struct tr_text *variable, struct tri_path *path);

/* Appends the slots with what was said in the place of each path; one that was not stays. */
TR_MUST_USE int tri_resolve_apply(struct tri_task *task, const struct tri_resolver *resolver,
                                  struct tr_buffer *buffer);

#endif
