/*
 * Shared by the files of the modelled database server; no other file includes it.
 *
 * database.c is the server: sessions, transactions, the standby. database_store.c is the client in
 * the host: the store, which does what runtime/postgres/postgres_commit.c and
 * runtime/postgres/postgres_claim.c do; database_log.c is the client of the commit log, which does
 * what runtime/postgres/postgres_log.c does.
 */
#ifndef TR_TESTS_SIM_DATABASE_INTERNAL_H
#define TR_TESTS_SIM_DATABASE_INTERNAL_H

#include "runtime/commits/commit_log.h"
#include "tests/sim/database.h"
#include "tests/sim/model_read.h"
#include "tests/sim/random.h"

/* States that a standby may still have. */
#define TRI_DATABASE_HISTORY_MAX 8

/* An entry of the log. States share it, and those before it. */
struct tri_database_entry {
    size_t references;
    struct tri_database_entry *before;
    uint64_t sequence;
    size_t size;
    uint8_t bytes[];
};

/* What a transaction changes as a whole. */
struct tri_database_state {
    struct tri_fence_row row;
    struct tri_model_version version;
    struct tri_log_row log;
    struct tri_database_entry *entries; /* that the tables do not have; the newest */
};

/* A transaction as it was sent: a commit, or an append of an entry. */
struct tri_database_message {
    struct tri_fence_row fence; /* incarnation and commits must be so; the number is the new one */
    struct tri_log_row log;     /* of an append: incarnation and last sequence must be so */
    uint64_t opening;           /* of the store, or the log, that has sent it */
    uint64_t due_ns;            /* when it is executed */
    bool is_at_work;            /* it has passed the fence and holds the row */
    struct tri_commit commit;
    uint8_t *bytes;                   /* of the operations */
    struct tri_database_entry *entry; /* of an append; NULL: a commit */
};

struct tri_database_session {
    struct tri_database_session *next;
    uint64_t number;
    uint64_t incarnation; /* its name: 0 while it opens the store */
    bool has_lock;
    bool is_log;      /* of a log */
    bool is_alone;    /* its client is gone, or cut off */
    uint64_t ends_ns; /* when the server notices that */
    struct tri_database_message *message;
};

struct tri_database {
    struct tri_database_plan plan;
    struct sim_random chance;
    const uint64_t *now_ns;
    struct tri_database_state now;
    struct tri_database_state history[TRI_DATABASE_HISTORY_MAX]; /* the newest first */
    size_t history_count;
    size_t unreplicated; /* of the newest states, those that a synchronous standby lacks */
    struct tri_fence_row acknowledged;
    struct tri_log_row acknowledged_log;
    uint64_t openings; /* that were committed */
    uint64_t log_claims;
    bool has_log; /* the last opening has put one in front */
    struct tri_database_session *sessions;
    uint64_t session_count; /* that there ever were */
    uint64_t away_until_ns;
    unsigned full_commits;
    bool is_calm;
    uint64_t life; /* of the host's process: stores of an earlier one are dead */
    size_t stores;
    enum tri_database_bug bug;
    struct tri_model_records records;
    struct tri_database_news news;
};

/* Whether this goes wrong now. */
bool tri_database_chance(struct tri_database *database, uint32_t per_million);

/* A new session of a client, and that of a number, unless it has ended or is cut off: NULL. */
struct tri_database_session *tri_database_connect(struct tri_database *database);
struct tri_database_session *tri_database_session(struct tri_database *database, uint64_t number);

/* The client is gone from its session, which goes on. */
void tri_database_cut(struct tri_database *database, struct tri_database_session *session);

/* The session ends in order. */
void tri_database_disconnect(struct tri_database *database, struct tri_database_session *session);

/*
 * Waits for the lock: TR_STORE_LOCKED if another session keeps it, and `holder` gets the name of
 * that. Ending those of this name first is what a client does that comes again.
 */
void tri_database_end_named(struct tri_database *database, uint64_t incarnation,
                            const struct tri_database_session *but);
TR_MUST_USE int tri_database_lock(struct tri_database *database,
                                  struct tri_database_session *session, uint64_t *holder);

/*
 * Reads the row for update. Whoever is at work on it is waited for; and the answer comes when a
 * synchronous standby has all, for the reading is a transaction of its own.
 */
struct tri_fence_row tri_database_read_row(struct tri_database *database);

/* Raises the incarnation; `is_answered`: the client hears of it. */
void tri_database_raise(struct tri_database *database, bool is_answered);

/* The same of the log's row. */
struct tri_log_row tri_database_read_log(struct tri_database *database);

/* Puts an incarnation into the log's row, whose last entry is one that was applied, or a later. */
void tri_database_claim_log(struct tri_database *database, uint64_t incarnation, uint64_t applied,
                            bool is_answered);

/* An entry that the caller holds. */
struct tri_database_entry *tri_database_entry_new(struct tr_bytes bytes, uint64_t sequence);
void tri_database_entry_unref(struct tri_database_entry *entry);

/* Appends an entry at once, and leaves one in a session: as of commits. */
bool tri_database_append(struct tri_database *database, const struct tri_log_row *fence,
                         struct tri_database_entry *entry);
void tri_database_send_entry(struct tri_database *database, struct tri_database_session *session,
                             const struct tri_log_row *fence, struct tri_database_entry *entry,
                             bool is_at_work);

/* Ends the earlier sessions of this incarnation's log, which has come again. */
void tri_database_end_logs(struct tri_database *database, uint64_t incarnation,
                           const struct tri_database_session *but);

/* Executes a commit at once; whether the fence has let it. */
bool tri_database_execute(struct tri_database *database, const struct tri_fence_row *fence,
                          const struct tri_commit *commit);

/* The client has been told of all that there is. */
void tri_database_acknowledge(struct tri_database *database);

/*
 * Once a store is claimed: shuts out whoever appended to its log before, applies what that has, and
 * puts a log in front of the store if `limits`. The store stays the caller's after an error.
 */
TR_MUST_USE int tri_database_log_open(struct tri_database *database, struct tri_store *store,
                                      uint64_t life, const struct tri_commit_log_limits *limits,
                                      char *words, struct tri_store **opened);

/* Leaves a commit in a session, to be executed later. */
void tri_database_send(struct tri_database *database, struct tri_database_session *session,
                       const struct tri_fence_row *fence, const struct tri_commit *commit,
                       bool is_at_work);

#endif
