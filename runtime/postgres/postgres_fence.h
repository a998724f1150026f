/*
 * The fence: whose turn it is to write, and what became of a commit whose connection was lost.
 *
 * A writer knows what was acknowledged to it, and which commit is in doubt; the host's row says
 * what the database holds. All that is decided from the two is decided here, without a server: the
 * simulator's modelled server (tests/sim/database.h) decides by the same functions.
 */
#ifndef TR_RUNTIME_POSTGRES_POSTGRES_FENCE_H
#define TR_RUNTIME_POSTGRES_POSTGRES_FENCE_H

#include "runtime/journal/store.h"

/* The host's row: whose turn it is to write, and how far. */
struct tri_fence_row {
    uint64_t incarnation;
    uint64_t last_number;
    uint64_t commits; /* counts them, since two may have the same number */
};

/* What a writer knows, beside the incarnation and the last number of its store. */
struct tri_fence {
    uint64_t commits; /* that were acknowledged */
    bool is_in_doubt; /* the connection was lost in the commit of doubt_number */
    bool is_settled;  /* that commit was found to be in, and is to be repeated */
    uint64_t doubt_number;
};

/* What the host's row means to a writer. */
enum tri_fence_finding {
    TRI_FENCE_AS_LEFT,  /* as this writer has left it: a commit in doubt is not in */
    TRI_FENCE_IS_IN,    /* the commit in doubt is in, and nothing else */
    TRI_FENCE_SHUT_OUT, /* somebody else has written, or has opened the store */
    TRI_FENCE_LOST,     /* commits that were acknowledged are not there */
};

enum tri_fence_finding tri_fence_find(const struct tri_fence *fence, const struct tri_store *store,
                                      const struct tri_fence_row *row);

/* The row of the log: who may append, and the last entry. Also what a writer knows of it. */
struct tri_log_row {
    uint64_t incarnation;
    uint64_t last_sequence;
};

/* The same of the log's row, where the entry behind `ours` may be in doubt. */
enum tri_fence_finding tri_fence_find_entry(const struct tri_log_row *ours, bool is_in_doubt,
                                            const struct tri_log_row *row);

/* The error of a finding: 0, TR_FENCED or TR_STORE_FAILED. */
int tri_fence_error(enum tri_fence_finding finding);

/*
 * What `row` means in words, with what to do (printed into `words`, TRI_STORE_EXPLAIN_BYTES);
 * `place` names the database.
 */
void tri_fence_explain(const struct tri_fence *fence, const struct tri_store *store,
                       const struct tri_fence_row *row, const char *place, char *words);

/* The store was opened: this was its row, whose incarnation is raised to this one. */
void tri_fence_take(struct tri_fence *fence, struct tri_store *store,
                    const struct tri_fence_row *row, uint64_t incarnation);

/*
 * A lost connection is made again, and nobody else can write: ends a doubt by the row. Errors:
 * those of tri_fence_error, and nothing is changed.
 */
TR_MUST_USE int tri_fence_settle(struct tri_fence *fence, struct tri_store *store,
                                 const struct tri_fence_row *row);

/*
 * Before a commit of this number, with no doubt left: `is_in` gets whether it was found to be in,
 * so that it is done without writing. TR_INVALID: another one was in doubt and must come first.
 */
TR_MUST_USE int tri_fence_admit(struct tri_fence *fence, const struct tri_store *store,
                                uint64_t number, bool *is_in);

/* A commit of this number is acknowledged. */
void tri_fence_acknowledge(struct tri_fence *fence, struct tri_store *store, uint64_t number);

/* The connection was lost in a commit of this number. */
void tri_fence_doubt(struct tri_fence *fence, uint64_t number);

#endif
