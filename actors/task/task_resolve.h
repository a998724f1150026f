/*
 * Paths in values, one after the other: asking a service about each, and putting what it says in
 * their places. The cache's digests, fetched inputs and kept outputs are all made so.
 *
 * Paths are numbered as they stand in the slots. `state->cursor` of them are done; what was said of
 * each is in the span of URIs, nil where nothing was asked, so that a crash costs one question.
 */
#ifndef TR_ACTORS_TASK_RESOLVE_H
#define TR_ACTORS_TASK_RESOLVE_H

#include "actors/task/task.h"
#include "schemas/runtime/files.h"

/* A path in a value, and what it is said to be. */
struct tri_path {
    struct tr_text uri;
    const struct tr_type *type;
};

/* What to do with the paths of some slots. */
struct tri_resolver {
    const struct tr_variables *variables;
    struct tr_bytes slots;
    enum tr_path_scope scope;
    /* Positions of variables that are left out, ascending. */
    const uint32_t *left_out;
    uint32_t left_out_count;
    bool (*wants)(struct tri_task *task, const struct tri_path *path);
    int (*ask)(struct tri_task *task, const struct tri_path *path); /* by tri_task_call */
    bool is_content; /* what was said is content for a key, not another URI */
};

/* Whether any value of the variables may hold a path. */
bool tri_may_hold_paths(const struct tr_variables *variables, enum tr_path_scope scope);

/*
 * Whether a path lies in a folder of an attempt, "EXECUTION/NAME": in its own, which its generated
 * name tells from all others, or in that of its execution's checkpoints. What does goes with the
 * folder. Of a text in a struct: in its working folder, or that of the checkpoints.
 */
bool tri_path_is_own(const struct tri_path *path, struct tr_text attempt);

/*
 * Whether a path among the outputs of an attempt is kept. Files and directories of this machine
 * are, wherever they lie; a dataset and a text in a struct where they are its own.
 */
bool tri_path_is_kept(const struct tri_path *path, struct tr_text attempt);

/*
 * Whether a path that cannot be kept stays as it is, by the blob store's error: a text in a struct
 * need not be one.
 */
bool tri_path_may_stay(const struct tri_path *path, int error);

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

/* What has to lie at a path of this type. */
enum tr_path_kind tri_path_kind(const struct tr_type *type);

/*
 * The code of a task's failure where a path among its outputs is not what it should be, by the blob
 * store's error; NULL: that is none of the task's making.
 */
const char *tri_path_failure(int error);

/* Whether a URI is a path of this machine; and that path, without a scheme. */
bool tri_is_local(struct tr_text uri);
struct tr_text tri_path_local(struct tr_text uri);

#endif
