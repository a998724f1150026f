/*
 * A modelled database server, and the store that a host has on it: what runtime/postgres/ does at
 * a real one, with the same decisions (runtime/postgres/postgres_fence.h).
 *
 * The server has sessions, each with a client or without, since a session ends when the server
 * notices that the client is gone. It holds one host's schema: a row, the contents, a lock. A
 * commit is one message; what becomes of it when the connection is lost is drawn: it never arrives,
 * waits in a session and is executed later, is at work and holds the row, or is executed and nobody
 * hears of it. A standby may take over, with all that was acknowledged or without its end.
 *
 * Time is a number that the caller has; nothing happens but in calls. One thread uses it. Memory is
 * the system's.
 */
#ifndef TR_TESTS_SIM_DATABASE_H
#define TR_TESTS_SIM_DATABASE_H

#include "runtime/postgres/postgres_fence.h"
#include "tests/sim/model_contents.h"

struct tri_database;

/* Who can take over. */
enum tri_standby {
    TRI_STANDBY_NONE,
    TRI_STANDBY_SYNCHRONOUS,  /* has all that was acknowledged */
    TRI_STANDBY_ASYNCHRONOUS, /* may lack the last commits */
};

/* What may go wrong. Chances are in a million: of commits, and then of whatever asks for them. */
struct tri_database_plan {
    enum tri_standby standby;
    bool loses_locks;     /* as behind a pooler: the fence alone protects the contents then */
    uint32_t cut;         /* the connection is lost within a commit */
    uint32_t busy;        /* a commit is rolled back, and is to be tried again */
    uint32_t die;         /* the host's process ends within a commit */
    uint32_t end_session; /* an administrator ends a session */
    uint32_t restart;     /* the server ends at once, and starts again */
    uint32_t outage;      /* nobody reaches the server */
    uint32_t fail_over;
    uint64_t outage_ns_max;
    uint64_t late_ns_max; /* how long a session may take to read what it was sent, or to end */
};

/* Mistakes that can be made in it, to see that they are found. */
enum tri_database_bug {
    TRI_DATABASE_SOUND,
    TRI_DATABASE_COUNTS_NOTHING, /* the fence does not look at the number of commits */
    TRI_DATABASE_FENCES_EARLY,   /* the fence is checked when a commit comes, not when it is done */
    TRI_DATABASE_KEEPS_NUMBER,   /* a start does not raise the incarnation */
    TRI_DATABASE_LETS_OLD_ONES,  /* the fence does not look at the incarnation */
    TRI_DATABASE_TAKES_FOR_FAILED, /* an unknown outcome is taken for failed */
    TRI_DATABASE_TAKES_FOR_DONE,   /* an unknown outcome is taken for done */
    TRI_DATABASE_HIDES_LOSS,       /* lost commits are not noticed */
};

/* What has happened, for whoever judges the host by it. */
struct tri_database_news {
    bool has_died;     /* the host's process was to end within a commit */
    bool is_overtaken; /* a commit that was found not to be in has come in later */
    bool has_lost;     /* acknowledged commits are lost: until tri_database_forgive */
    bool must_say_so;  /* the host that is up has to report this loss, and end */
    bool may_say_so;   /* its tables have gone back, and its log has what they lack */
    const char *wrong; /* what must never be, or NULL */
    uint64_t cuts;     /* counts, of all that went wrong */
    uint64_t late;     /* commits that were executed after their connection was lost */
    uint64_t refused;  /* commits that the fence has refused */
    uint64_t settled;  /* commits in doubt that were found to be in */
    uint64_t outages;
    uint64_t restarts;
    uint64_t fail_overs;
    uint64_t losses;
};

/* `now_ns` is the time, whoever moves it. */
struct tri_database *tri_database_new(const struct tri_database_plan *plan, uint64_t seed,
                                      const uint64_t *now_ns);

/* Frees it; all its stores have been closed. */
void tri_database_free(struct tri_database *database);

/* Opens a store on it: the contract of tri_postgres_open. Folder and locator do not matter. */
TR_MUST_USE int tri_database_open(struct tri_database *database,
                                  const struct tri_store_options *options, char *explain,
                                  struct tri_store **store);

/*
 * The host's process has ended: its stores only ever fail from now on, and may still be closed.
 * Its sessions go on until the server notices; if the end is silent, as when the power fails, that
 * is late.
 */
void tri_database_leave(struct tri_database *database, bool is_silent);

/* What is due: sessions execute what they were sent, and end. */
void tri_database_turn(struct tri_database *database);

/* Faults: see struct tri_database_plan. */
void tri_database_end_session(struct tri_database *database);
void tri_database_restart(struct tri_database *database);
void tri_database_outage(struct tri_database *database);
void tri_database_fail_over(struct tri_database *database);

/* So many commits find the server's disk full. */
void tri_database_fill(struct tri_database *database, unsigned commits);

/* The session that has the lock loses it. */
void tri_database_lose_lock(struct tri_database *database);

/* From now on nothing goes wrong by chance; what is away comes back in its time. */
void tri_database_calm(struct tri_database *database);

/* Whether the server can be reached now. */
bool tri_database_is_there(const struct tri_database *database);

void tri_database_inject(struct tri_database *database, enum tri_database_bug bug);

const struct tri_database_news *tri_database_news(const struct tri_database *database);

/* The host has started from what is left: nobody has to say any more what was lost. */
void tri_database_forgive(struct tri_database *database);

/* All that it holds now. */
const struct tri_model_version *tri_database_contents(const struct tri_database *database);

#endif
