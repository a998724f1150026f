/*
 * The journal: takes the workers' batches, and those of the program itself, puts them into one
 * order, and commits them in commit batches.
 *
 * A commit batch consists of what lies in the inbox and the batches that arrived during the
 * previous commit, up to the first gap: batch n is never committed before all lower ones, so a
 * crash loses a suffix of the order (law 4 of runtime/ARCHITECTURE.md). Within it later operations
 * replace earlier ones, and a message that is sent and handled in it is never written. After the
 * commit its calls are sent, and the workers are told the committed number.
 *
 * Owned by one thread (or the simulator), which calls tri_journal_step.
 */
#ifndef TR_RUNTIME_JOURNAL_JOURNAL_H
#define TR_RUNTIME_JOURNAL_JOURNAL_H

#include <stdatomic.h>

#include "runtime/env/env.h"
#include "runtime/journal/inbox.h"
#include "runtime/link/sender.h"
#include "runtime/trace/histogram.h"

/* A frame of this size is no batch: it only wakes the journal. */
#define TRI_JOURNAL_WAKE_BYTES 1

/* The state of the journal; readable by any thread. */
enum tri_journal_state {
    TRI_JOURNAL_WELL,
    TRI_JOURNAL_WAITS,  /* a shortage: the current commit is retried */
    TRI_JOURNAL_FAILED, /* the host must end; a restart continues from the store */
};

/* A received batch that is not committed yet. */
struct tri_pending {
    struct tri_pending *next;
    uint64_t number;
    uint32_t worker;
    size_t size;
    uint8_t bytes[];
};

/* One worker's part of a commit batch. */
struct tri_share {
    uint32_t batches;
    uint64_t bytes;
};

struct tri_journal {
    struct tr_env *env;
    struct tri_sender sender; /* holds the calls of the current commit */
    struct tri_store *store;
    uint64_t committed_number;
    struct tri_pending *pending; /* by number */
    struct tri_commit_batch commit;
    struct tri_inbox inbox;   /* operations that come from no worker; any thread puts them */
    uint64_t retry_ns;        /* when a failed commit is retried */
    uint64_t doubtful_number; /* if `is_doubtful`: the retry ends at this one, for it may be in */
    bool is_doubtful;
    enum tri_journal_state state;
    int error;             /* the error of WAITS or FAILED */
    _Atomic int waits_for; /* the error while it waits, else 0; readable by any thread */
    char words[TRI_STORE_EXPLAIN_BYTES];     /* the error in words, once it has failed */
    struct tri_share shares[TR_WORKERS_MAX]; /* of the current commit */
    uint64_t commit_count;
    struct tri_histogram commit_ns;         /* metrics; figures.h describes them */
    struct tri_histogram commit_operations; /* operations per commit */
    tri_figure batches;
    tri_figure bytes;
    tri_figure shortages;
    tri_figure begun_ns;         /* start of the current commit; 0: none */
    uint64_t ops_since_release;  /* operations committed since memory was last released */
    tri_figure committed_ns;     /* time of the last commit */
    const struct tri_life *life; /* whose steady clock is stored; NULL: none is */
    uint64_t clock_cell;         /* of this host alone; 0: it has none */
    uint64_t clock_ns;           /* when the clock was last stored, or 0 */
    bool has_process_calls;      /* the current commit */
    struct tri_kept_clock kept;  /* the stored clock */
};

/* The caller owns `store`; numbers continue after its last one. `host` is in its messages. */
void tri_journal_init(struct tri_journal *journal, struct tr_env *env, struct tri_store *store,
                      struct tr_ref host);
void tri_journal_fini(struct tri_journal *journal);

/*
 * From now on commits store the steady clock of this life, so that the next life continues it: the
 * first commit, one every TR_CLOCK_KEPT_MS, and that of tri_journal_end. It outlives the journal;
 * NULL: they store none. A host among several that use the store has a `cell` of its own beside
 * that of all (0: it is alone), and each commit that lets a process begin has the clock, too.
 */
void tri_journal_keep_clock(struct tri_journal *journal, const struct tri_life *life,
                            uint64_t cell);

/* At the end: stores the clock. A failure only loses the time since it was last stored. */
void tri_journal_end(struct tri_journal *journal);

/* Reads received batches and commits one commit batch. Returns whether there was anything to do. */
bool tri_journal_step(struct tri_journal *journal);

/*
 * Called when the journal is idle: gives unused pages of the store and free memory back to the
 * system, at once after many operations, later after few (TR_RELEASE_OPS).
 */
void tri_journal_release_memory(struct tri_journal *journal);

/* The journal's metrics, for any thread; `waits_for` is not set. */
void tri_journal_figures(const struct tri_journal *journal, uint64_t now_ns,
                         struct tr_journal_figures *figures);

/* Whether batches wait for a commit. */
static inline bool tri_journal_is_busy(const struct tri_journal *journal)
{
    return journal->pending != NULL;
}

#endif
