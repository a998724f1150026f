/*
 * Shared by the files of the modelled database server; no other file includes it.
 *
 * database.c is the server: sessions, transactions, the standby. database_store.c is the client in
 * the host: the store, which does what runtime/postgres/postgres_commit.c and
 * runtime/postgres/postgres_claim.c do.
 */
#ifndef TR_TESTS_SIM_DATABASE_INTERNAL_H
#define TR_TESTS_SIM_DATABASE_INTERNAL_H

#include "tests/sim/database.h"
#include "tests/sim/model_read.h"
#include "tests/sim/random.h"

/* States that a standby may still have. */
#define TRI_DATABASE_HISTORY_MAX 8

/* What a transaction changes as a whole. */
struct tri_database_state {
    struct tri_fence_row row;
    struct tri_model_version version;
};

/* A commit as it was sent. */
struct tri_database_message {
    struct tri_fence_row fence; /* incarnation and commits must be so; the number is the new one */
    uint64_t opening;           /* of the store that has sent it */
    uint64_t due_ns;            /* when it is executed */
    bool is_at_work;            /* it has passed the fence and holds the row */
    struct tri_commit commit;
    uint8_t *bytes; /* of the operations */
};

struct tri_database_session {
    struct tri_database_session *next;
    uint64_t number;
    uint64_t incarnation; /* its name: 0 while it opens the store */
    bool has_lock;
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
    uint64_t openings; /* that were committed */
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

/* Executes a commit at once; whether the fence has let it. */
bool tri_database_execute(struct tri_database *database, const struct tri_fence_row *fence,
                          const struct tri_commit *commit);

/* The client has been told of all that there is. */
void tri_database_acknowledge(struct tri_database *database);

/* Leaves a commit in a session, to be executed later. */
void tri_database_send(struct tri_database *database, struct tri_database_session *session,
                       const struct tri_fence_row *fence, const struct tri_commit *commit,
                       bool is_at_work);

#endif
