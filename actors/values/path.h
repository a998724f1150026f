/*
 * Paths in values: which there are, whose they are, and which of them are kept. Pure.
 */
#ifndef TR_ACTORS_VALUES_PATH_H
#define TR_ACTORS_VALUES_PATH_H

#include "actors/graph/compiled/graph.h"
#include "schemas/runtime/files.h"

/* A path in a value, and what it is said to be. */
struct tri_path {
    struct tr_text uri;
    const struct tr_type *type;
};

/* Whether any value of the variables may hold a path. */
bool tri_path_may_be_in(const struct tr_variables *variables, enum tr_path_scope scope);

/*
 * Whether a path lies in a folder of an attempt, "EXECUTION/NAME": in its own, which its generated
 * name tells from all others, or in that of its execution's checkpoints. What does goes with the
 * folder. Of a text in a struct: in its working folder, or that of the checkpoints.
 */
bool tri_path_is_own(const struct tri_path *path, struct tr_text attempt);

/* Whether a value is declared as a path: a file or a directory. */
bool tri_path_is_declared(const struct tri_path *path);

/* Whether a URI is one of a blob, now or in older stores (schemas/runtime/blob_uri.h). */
bool tri_path_is_blob(struct tr_text uri);

/*
 * Whether a path among the outputs of an attempt is kept. Files and directories of this machine
 * are, wherever they lie; a dataset and a text in a struct where they are its own, or blobs.
 */
bool tri_path_is_kept(const struct tri_path *path, struct tr_text attempt);

/*
 * Whether a path that cannot be kept stays as it is, by the blob store's error: a text in a struct
 * need not be one.
 */
bool tri_path_may_stay(const struct tri_path *path, int error);

/* What has to lie at a path of this type. */
enum tr_path_kind tri_path_kind(const struct tr_type *type);

/*
 * The code of a task's failure where a path among its outputs is not what it should be, by the blob
 * store's error; NULL: that is none of the task's making.
 */
const char *tri_path_failure(int error);

/* Whether a URI is a path of this machine; and that path, without a scheme. */
bool tri_path_is_local(struct tr_text uri);
struct tr_text tri_path_local(struct tr_text uri);

#endif
