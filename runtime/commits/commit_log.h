/*
 * A log of commits in front of a store: a commit is one append and one sync, and the store's tables
 * are written later, many commits at once.
 *
 * The tables of a database are trees: each commit writes pages of many of them, often the same
 * pages as the commit before. Behind a log only what is left of a window of commits is written: of
 * each actor, page and row the last, and nothing of what began and ended within it.
 *
 *     commit -> entry appended and synced -> acknowledged
 *                                              |
 *                        the window, in memory -> applied: one commit of the store
 *
 * What is acknowledged is in the log or in the store. Each commit of the store also says up to
 * which entry it goes (the cell TRI_META_LOG), so an entry is applied once, however often a start
 * is interrupted. Whoever opens a store for writing applies what its log has left, before anything
 * else.
 */
#ifndef TR_RUNTIME_COMMITS_COMMIT_LOG_H
#define TR_RUNTIME_COMMITS_COMMIT_LOG_H

#include "runtime/commits/commit_entry.h"

/* Where entries are kept: a file or a table. One thread at a time uses a log. */
struct tri_commit_log;

struct tri_commit_log_ops {
    /*
     * Writes an entry, whose sequence follows the one before; 0 once it is as durable as the store
     * promises. Errors are those of tri_store_commit; after TR_BUSY the same entry comes again.
     */
    int (*append)(struct tri_commit_log *log, struct tr_bytes entry,
                  const struct tri_commit_entry_head *head);
    /*
     * Visits the checked entries behind `sequence`, in order and without a gap. Bytes are valid
     * during the call; a nonzero result of `each` stops and is returned. TR_STORE_FAILED, _DAMAGED,
     * TR_BUSY, TR_MEMORY.
     */
    int (*read)(struct tri_commit_log *log, uint64_t sequence,
                int (*each)(void *self, struct tr_bytes entry), void *self);
    /* Entries up to `sequence` are in the store and will never be read again. */
    void (*release)(struct tri_commit_log *log, uint64_t sequence);
    /*
     * Tells those who wait for the store why it cannot be written now; 0: it can again. They then
     * show what it has. What they cannot be told they wait for a while longer.
     */
    void (*tell)(struct tri_commit_log *log, int error);
    /* A descriptor that is readable when somebody wants to read the store; -1: none. */
    int (*descriptor)(struct tri_commit_log *log);
    /* Makes it unreadable again. */
    void (*drain)(struct tri_commit_log *log);
    /* The last error in words. */
    const char *(*explain)(struct tri_commit_log *log);
    /* With `is_applied` nothing in it is needed any more. */
    void (*close)(struct tri_commit_log *log, bool is_applied);
};

/* The first member of every log's struct. */
struct tri_commit_log {
    const struct tri_commit_log_ops *ops;
    const char *path; /* of the store, for words */
    bool is_synced;   /* an entry is on the disk when `append` returns */
};

/* How much a log may be ahead of its store. */
struct tri_commit_log_limits {
    uint32_t window_ms;    /* an acknowledged commit is in the store after this time */
    uint64_t window_bytes; /* or when entries of so many bytes wait */
    uint64_t bytes_max;    /* above this commits wait for the store */
    /*
     * Without a thread of its own the log is applied by the callers: by a commit when so many wait,
     * and by tri_store_maintain. For the simulator, and for tests.
     */
    uint32_t commits_without_thread;
};

/* Those of an engine (runtime/limits.h). */
extern const struct tri_commit_log_limits tri_commit_log_limits;

/* The cell TRI_META_LOG of a store. */
struct tri_commit_log_mark {
    uint64_t log;      /* the number of the log; 0: there was none yet */
    uint64_t sequence; /* of the last entry that is in the store */
};

/* Reads it; zeros if the store has none. Errors of tri_store_read_meta. */
TR_MUST_USE int tri_commit_log_mark(struct tri_store *store, struct tri_commit_log_mark *mark);

/*
 * Gives a store the mark of a log of this number, unless it has one, which `mark` gets: the mark is
 * there before the first entry, and an entry without one is foreign. Where a database may lose its
 * last commits, this comes before the log is claimed, so that an entry is never there without it.
 * Errors of a commit.
 */
TR_MUST_USE int tri_commit_log_begin(struct tri_store *store, uint64_t number,
                                     struct tri_commit_log_mark *mark);

/*
 * Applies to the store what its log has more than it. Errors are those of the log and of commits,
 * and TR_STORE_DAMAGED for an entry that the store refuses; `explain` (TRI_STORE_EXPLAIN_BYTES, or
 * NULL) gets the words.
 */
TR_MUST_USE int tri_commit_log_recover(struct tri_store *store, struct tri_commit_log *log,
                                       char *explain);

/*
 * Puts a recovered log in front of a store. The result owns both and has the contract of a store:
 * commits go to the log, everything else first waits until all of them are applied. `number` is the
 * log's if it never had one. After an error both still belong to the caller: TR_MEMORY, TR_SYSTEM,
 * and those of a commit.
 */
TR_MUST_USE int tri_commit_log_store(struct tri_store *store, struct tri_commit_log *log,
                                     const struct tri_commit_log_limits *limits, uint64_t number,
                                     char *explain, struct tri_store **logged);

/* What of a log is not in the tables yet. */
struct tri_commit_log_lag {
    uint64_t commits;
    uint64_t bytes;     /* of their entries */
    uint64_t bytes_max; /* above this commits wait for the tables; 0: the store has no log */
    uint64_t sequence;  /* of the last commit that is in the log */
    uint64_t applied;   /* of the last one that is in the tables, too */
};

/* Any thread may ask, while the store is open. */
struct tri_commit_log_lag tri_commit_log_lag(struct tri_store *store);

/*
 * Waits until the tables have what the log had before the call, as long as they can be written: for
 * a reader of the engine's own process, who then need not ask for it. Any thread, while the store
 * is open.
 */
void tri_commit_log_catch_up(struct tri_store *store);

/* The store behind a log, for what is about one kind of store; any other store is its own. */
struct tri_store *tri_commit_log_below(struct tri_store *store);

#endif
