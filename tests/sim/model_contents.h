/*
 * The contents of a model store: versions made of sorted lists that are shared and never changed.
 *
 * A commit makes a new version out of an old one and its operations. Whoever holds a version keeps
 * it as it is, whatever is committed meanwhile. Memory is the system's.
 */
#ifndef TR_TESTS_SIM_MODEL_CONTENTS_H
#define TR_TESTS_SIM_MODEL_CONTENTS_H

#include "runtime/journal/store.h"

/* The lists of a version. */
enum tri_model_class {
    TRI_MODEL_COUNTERS,
    TRI_MODEL_ACTORS,
    TRI_MODEL_PAGES,
    TRI_MODEL_MESSAGES,
    TRI_MODEL_RECORDS,
    TRI_MODEL_META,
    TRI_MODEL_GRAPHS,
    TRI_MODEL_CRASHES,
    TRI_MODEL_COUNT
};

/* The bytes of a row, shared by all versions that have it. */
struct tri_model_blob {
    size_t references;
    uint8_t bytes[];
};

struct tri_model_row {
    struct tri_op op;
    struct tri_model_blob *blob;
};

struct tri_model_list {
    size_t references;
    struct tri_model_list *before; /* of records: what was committed earlier */
    size_t count;
    struct tri_model_row rows[];
};

struct tri_model_version {
    struct tri_model_list *lists[TRI_MODEL_COUNT];
    uint64_t last_number;
    bool exists;
};

/* Another holder of the same version; every holder clears or replaces it in the end. */
struct tri_model_version tri_model_version_share(const struct tri_model_version *from);
void tri_model_version_clear(struct tri_model_version *version);

/* Puts a version that we hold in the place of another one. */
void tri_model_version_set(struct tri_model_version *place, struct tri_model_version version);

/* The version that the first `count` operations of a commit make; the caller holds it. */
struct tri_model_version tri_model_version_after(const struct tri_model_version *before,
                                                 const struct tri_commit *commit, size_t count);

/* Orders two operations by what a row of the class is known by. */
int tri_model_compare(enum tri_model_class class, const struct tri_op *a, const struct tri_op *b);

/* Memory that is there, or the end of the process. */
void *tri_model_must(void *block);

#endif
