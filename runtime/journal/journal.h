/*
 * The journal: takes the workers' batches, puts them into one order, and commits them in
 * batches.
 *
 * A commit batch is what has come while the last one was written, as long as it has no gap: batch n
 * is never committed before all lower ones, so a crash forgets a suffix of the order (law 4 of
 * runtime/ARCHITECTURE.md). In one later operations replace earlier ones, and a message sent
 * and handled in it is never written. When it is on the disk, the calls that rode along are
 * let go, and the workers hear how far it is.
 *
 * Owned by one thread (or the simulator), which calls tri_journal_step.
 */
#ifndef TR_RUNTIME_JOURNAL_JOURNAL_H
#define TR_RUNTIME_JOURNAL_JOURNAL_H

#include <stdatomic.h>

#include "runtime/env/env.h"
#include "runtime/journal/commit_batch.h"
#include "runtime/link/sender.h"
#include "runtime/trace/histogram.h"

/* A frame of this size is no batch: it only wakes the journal. */
#define TRI_JOURNAL_NUDGE_BYTES 1

/* How the journal is doing; read by anybody. */
enum tri_journal_state {
    TRI_JOURNAL_WELL,
    TRI_JOURNAL_WAITS,  /* no room: the commit in hand is tried again until there is */
    TRI_JOURNAL_FAILED, /* the host must end; what the store holds goes on */
};

/* A batch that has come and is not committed. */
struct tri_pending {
    struct tri_pending *next;
    uint64_t number;
    uint32_t worker;
    size_t size;
    uint8_t bytes[];
};

/* What of a commit batch is one worker's. */
struct tri_share {
    uint32_t batches;
    uint64_t bytes;
};

struct tri_journal {
    struct tr_env *env;
    struct tri_sender sender; /* with it, what the commit in hand lets go */
    struct tri_store *store;
    uint64_t committed_number;
    struct tri_pending *pending; /* by number */
    struct tri_commit_batch commit;
    uint64_t retry_ns; /* when a full disk is tried again */
    enum tri_journal_state state;
    int error;                               /* why it is not well */
    _Atomic int waits_for;                   /* the error while it waits, else 0; read by anybody */
    char words[TRI_STORE_EXPLAIN_BYTES];     /* the same for a person, once it has failed */
    struct tri_share shares[TR_WORKERS_MAX]; /* in the commit in hand */
    uint64_t commit_count;
    struct tri_histogram commit_ns;         /* what people look at: figures.h has the words */
    struct tri_histogram commit_operations; /* of the store, in each commit */
    tri_figure batches;
    tri_figure bytes;
    tri_figure shortages;
    tri_figure begun_ns;        /* of the commit in hand; 0: none is */
    uint64_t ops_since_rest;    /* committed since memory was given back last */
    uint64_t committed_ns;      /* when the last of them were */
    struct tri_life life;       /* whose steady clock the store keeps; none if it began at 0 */
    uint64_t clock_ns;          /* when that was written last, or 0 */
    struct tri_kept_clock kept; /* what was */
};

/* `store` stays the caller's; numbers begin behind its last one. */
void tri_journal_init(struct tri_journal *journal, struct tr_env *env, struct tri_store *store);
void tri_journal_fini(struct tri_journal *journal);

/*
 * From now on commits write the steady clock of this life, so that the next one goes on from there:
 * the first of them, one in each TR_CLOCK_KEPT_MS, and that of tri_journal_end.
 */
void tri_journal_keep_clock(struct tri_journal *journal, const struct tri_life *life);

/* Nothing will come any more: writes how late it is. A failure loses no more than that. */
void tri_journal_end(struct tri_journal *journal);

/* Reads what came and commits one batch; whether there was anything to do. */
bool tri_journal_step(struct tri_journal *journal);

/*
 * Nothing has come for a moment: what work has left behind of the store's pages and of free memory
 * is given back to the system, at once after much, later after little (TR_REST_OPS).
 */
void tri_journal_rest(struct tri_journal *journal);

/* How it stands, for any thread; `waits_for` is left alone. */
void tri_journal_figures(const struct tri_journal *journal, uint64_t now_ns,
                         struct tr_journal_figures *figures);

/* Whether batches wait for a commit. */
static inline bool tri_journal_is_busy(const struct tri_journal *journal)
{
    return journal->pending != NULL;
}

#endif
