/*
 * The model of a store: what runtime/journal/store.h promises, kept in sorted arrays in memory.
 *
 * The simulator runs most of its seeds on it, because it is quick and does nothing but what the
 * contract says; the store's tests hold it and SQLite against each other. A model is the medium
 * that stays when hosts come and go; stores are opened on it. It never changes by chance, except
 * where a crash may leave either of two things, and then the crash's seed decides.
 *
 * Faults can be injected in it, to see that whoever checks the store's users finds them. A list
 * that is not sorted, or names one thing twice, is an assertion here.
 *
 * One thread uses a model with all its stores. Memory is the system's.
 */
#ifndef TR_TESTS_SIM_MODEL_STORE_H
#define TR_TESTS_SIM_MODEL_STORE_H

#include "runtime/journal/store.h"

struct tri_model;
struct tri_model_version;

/* What a injected bug does with the last commit that was acknowledged. */
enum tri_model_bug {
    TRI_MODEL_SOUND,         /* nothing */
    TRI_MODEL_FORGETS,       /* a crash takes it away */
    TRI_MODEL_TEARS,         /* a crash leaves the first half of its operations */
    TRI_MODEL_KEEPS_NOTHING, /* commits are acknowledged and dropped from now on */
    TRI_MODEL_UNFENCED,      /* commits of an engine that was shut out are taken */
};

/* What goes wrong with the next commits. A crash or kill clears all but the injected bug. */
struct tri_model_faults {
    enum tri_model_bug bug;
    unsigned full_commits; /* so many commits find no room */
    bool fail_next;        /* an I/O error: whether the commit is in is known after the crash */
    bool lose_next;        /* TR_BUSY, and the commit is in: repeating it changes nothing */
    bool ignore_lock;      /* a second engine may open it, as when the lock is lost */
};

TR_MUST_USE struct tri_model *tri_model_new(void);

/* Frees it; all its stores have been closed. */
void tri_model_free(struct tri_model *model);

struct tri_model_faults *tri_model_faults(struct tri_model *model);

/* Opens a store on it: the contract of tri_sqlite_open. Folder and file system do not matter. */
TR_MUST_USE int tri_model_open(struct tri_model *model, const struct tri_store_options *options,
                               char *explain, struct tri_store **store);

/*
 * The process ends: its stores only ever fail from now on (they may still be closed), the lock is
 * free, and everything that was committed is there.
 */
void tri_model_kill(struct tri_model *model, uint64_t seed);

/*
 * The power fails: as a kill, and a store of durability `process` loses some of its last commits.
 */
void tri_model_crash(struct tri_model *model, uint64_t seed);

/* The rows of one type that are left, in the order in which they were committed. */
size_t tri_model_record_count(const struct tri_model *model, uint16_t type);
const struct tri_op *tri_model_record(const struct tri_model *model, uint16_t type, size_t index);

/* All that it holds now. */
const struct tri_model_version *tri_model_contents(const struct tri_model *model);

#endif
