/*
 * A world: several hosts, each with several workers, a journal, a program and an environment, in
 * one thread and from one seed.
 *
 * Nothing happens here but what world.c steps: time is a number that jumps to the next thing due,
 * links are queues (net.h), stores are models or files in memory, and everything that is left to
 * chance is drawn from the seed. So a seed is a run, and a run can be had again.
 *
 * What is played in it is a table (play.h). There is one world at a time; handlers reach it by
 * sim_world().
 */
#ifndef TR_TESTS_SIM_WORLD_H
#define TR_TESTS_SIM_WORLD_H

#include "runtime/host/host.h"
#include "tests/sim/database.h"
#include "tests/sim/disk.h"
#include "tests/sim/environment.h"
#include "tests/sim/model_store.h"
#include "tests/sim/net.h"
#include "tests/sim/network.h"
#include "tests/sim/observations.h"
#include "tests/sim/play.h"
#include "tests/sim/shadow.h"

/* What clocks on the wall show when a world begins and nobody has set them. */
#define SIM_WALL_BEGIN_MS 1700000000000ULL

#define SIM_FAILURE_BYTES 1024

struct sim_bug;
struct sqlite3_stmt;

/* Who takes turns in a host. */
enum sim_party_kind {
    SIM_WORKER,
    SIM_JOURNAL,
    SIM_PROGRAM,     /* who started the host: asks for spawns, moves and resumes */
    SIM_ENVIRONMENT, /* the services that calls reach */
    SIM_INTERHOST,   /* what speaks to other hosts */
};

#define SIM_PARTIES_MAX (SIM_WORKERS_MAX + 4)

struct sim_party {
    uint8_t kind;
    uint8_t index; /* of a worker */
    bool is_asleep;
    uint64_t wake_ns;
    uint64_t paused_until_ns;
};

/* The head of what a host's environment is. */
struct sim_env {
    struct tr_env base;
    struct sim_host *host;
};

/* What was asked of an actor, so that it is not asked again at once. */
struct sim_wish {
    struct tr_key key;
    uint64_t at_ns;
};

#define SIM_WISHES_MAX 64

/* Actors of whose end the program wants to hear, in a start of a host. */
#define SIM_WATCHED_MAX 16

/* Actors of a host that may be there at the end. */
#define SIM_STAYING_MAX (12 + TR_LAUNCHER_SHARDS)

/* What the program of a host knows of it. */
struct sim_program {
    uint64_t request; /* the spawn that is under way, 0: none */
    uint32_t granted; /* troupes of which it was told that they live */
    uint64_t look_ns; /* when it looks for actors that need it next */
    uint64_t look_pause_ns;
    uint32_t moves; /* asked for and not answered */
    struct sim_wish wishes[SIM_WISHES_MAX];
    struct tr_key watched[SIM_WATCHED_MAX]; /* by the number of their monitor, from 1 on */
    uint32_t watched_count;
};

struct sim_host {
    struct sim_world *world;
    uint32_t index;
    uint16_t number;    /* of the host that has its store; 0: it knows no others */
    uint64_t told_view; /* of the last change of owners that it was told of in this start */
    struct sim_env env;
    struct tr_host *host; /* NULL while it is down */
    struct tri_store *store;
    struct tri_model *model;
    struct tri_disk *disk;
    struct tri_database *database;
    struct sim_net net;
    struct sim_shadow *shadow;
    struct tri_sender environment;
    struct tri_channel *files; /* what comes for TR_SERVICE_FILES; the sender above answers */
    struct tri_interhost_service interhost;
    struct sim_wire wire;
    struct sim_outbox *outside_box; /* replies that are not sent yet */
    struct sim_program program;
    struct sim_party parties[SIM_PARTIES_MAX];
    uint32_t party_count;
    uint64_t spawned_ns; /* where its monotonic clock began */
    int64_t wall_offset_ms;
    uint64_t up_at_ns;      /* when it starts again */
    uint64_t room_until_ns; /* when a full disk has room again; 0: it has */
    int64_t memory_bytes;   /* in use by this host */
    uint64_t waits_from_ns; /* when its store began to refuse a commit; 0: it does not */
    uint64_t waited_ns;     /* the longest that it ever did */
    uint64_t events_seen[TR_WORKERS_MAX];
    uint32_t starts;
    struct tr_ref named; /* its own group and incarnation in the last start */
    bool has_lost;       /* commits that were acknowledged: the play is not told yet */
    void *own;           /* the play's, while it is up */
    uint64_t staying[SIM_STAYING_MAX]; /* groups that are there at the end, too */
    uint32_t staying_count;
};

/* Streams of chance, one for each part. */
struct sim_chances {
    struct sim_random net;
    struct sim_random order;
    struct sim_random faults;
    struct sim_random memory;
    struct sim_random failure;
    struct sim_random environment;
    struct sim_random checks;
    struct sim_random bug;
    struct sim_random network;
    struct sim_random loads;
    struct sim_random database;
};

/* Totals of a run, for people and for tests that want to see that something happened. */
#define SIM_COUNTS(C)       \
    C(steps)                \
    C(handled)              \
    C(commits)              \
    C(crashes)              \
    C(stops)                \
    C(pauses)               \
    C(moves)                \
    C(ranges)               \
    C(full_disks)           \
    C(failed_disks)         \
    C(failed_handlers)      \
    C(failed_allocations)   \
    C(resumes)              \
    C(outside_calls)        \
    C(snapshots)            \
    C(compares)             \
    C(jumps)                \
    C(frames_between_hosts) \
    C(lost_frames)          \
    C(doubled_frames)       \
    C(overtaken_frames)     \
    C(cuts)                 \
    C(links_noticed)        \
    C(hints_between_hosts)  \
    C(takeovers)            \
    C(database_cuts)        \
    C(database_outages)     \
    C(database_restarts)    \
    C(database_fail_overs)  \
    C(database_losses)      \
    C(refused_starts)       \
    C(late_commits)         \
    C(refused_commits)      \
    C(settled_commits)      \
    C(reported_losses)

struct sim_counts {
#define SIM_COUNT_MEMBER(name) uint64_t name;
    SIM_COUNTS(SIM_COUNT_MEMBER)
#undef SIM_COUNT_MEMBER
};

struct sim_world {
    const struct sim_play *play;
    void *own; /* the play's */
    struct sim_plan plan;
    struct sim_chances chance;
    struct sim_host hosts[SIM_HOSTS_MAX];
    struct sim_network network;
    struct tr_ref remotes[SIM_REMOTES_MAX]; /* those that were granted */
    struct sim_observations observations;
    struct sim_counts counts;
    const struct sim_bug *bug; /* NULL: nothing is injected */
    bool was_injected;         /* the injected bug has struck */
    uint64_t view;             /* of the last change of owners */
    uint64_t now_ns;
    uint64_t signature;
    bool is_calm;     /* faults are over: from now on everything must reach its end */
    bool is_stopping; /* an orderly stop is under way */
    bool is_verbose;
    bool has_failed;
    char failure[SIM_FAILURE_BYTES];
    struct sim_host *host_in_step;
};

/* How a run ended. */
struct sim_result {
    bool has_failed;
    char failure[SIM_FAILURE_BYTES];
    uint64_t signature;
    uint64_t virtual_ns;
    struct sim_counts counts;
    bool was_injected;
};

/* Runs one seed from its beginning to its end. `injected bug` may be NULL. */
struct sim_result sim_run(const struct sim_play *play, uint64_t seed, const struct sim_bug *bug,
                          bool is_verbose);

/* The world of this run. */
struct sim_world *sim_world(void);

/* Something is wrong: the first time counts, and the run ends after the step. */
TR_PRINTF(1, 2) void sim_fail(const char *format, ...);

/* Says something when the run is verbose. */
TR_PRINTF(1, 2) void sim_say(const char *format, ...);

/* Memory of the simulator itself, or the end of the process. */
void *sim_must(void *block);

/* ------------------------------------------------------------------------------------ host.c */

/* Starts a host from its store. When that fails for want of memory it is started again later. */
void sim_host_start(struct sim_host *host);

/* Ends it as a crash does: whatever is in memory is gone. With `power` so is the disk's cache. */
void sim_host_crash(struct sim_host *host, bool power);

/* Ends it in order: what there is gets committed first. */
void sim_host_stop(struct sim_host *host);

/* Frees what outlives crashes: the disk. */
void sim_host_free(struct sim_host *host);

/* Whether no live actor but those that stay, and nothing on its way, is left. */
bool sim_host_is_idle(const struct sim_host *host);

/* -------------------------------------------------------------------------------- owners.c */

/* Who has which partition, as the world knows it: partition N is that of the N-th store. */
#define SIM_PARTITIONS (SIM_HOSTS_MAX + 1)
void sim_owners(const struct sim_world *world, uint16_t owners[SIM_PARTITIONS]);

/* Gives all hosts of a new world their numbers. */
void sim_owners_make(struct sim_world *world);

/* A host is about to start: which number it has, another one sometimes. */
void sim_owners_begin(struct sim_host *host);

/* The numbers of all hosts that there may be. */
uint32_t sim_owners_peers(const struct sim_host *host, struct tr_peer *peers);

/* The host of a number; NULL: it is none now. */
struct sim_host *sim_owners_find(struct sim_world *world, uint16_t number);

/* Tells some hosts of changes that they were not told of. */
void sim_owners_tell(struct sim_world *world);

/* -------------------------------------------------------------------------- database_host.c */

/* The database of a host, for worlds that have one. */
void sim_database_make(struct sim_host *host);
void sim_database_free(struct sim_host *host);

/* Faults of the plan. */
void sim_database_end_session(struct sim_host *host);
void sim_database_restart(struct sim_host *host);
void sim_database_outage(struct sim_host *host);
void sim_database_fail_over(struct sim_host *host);

/* Its sessions do what is due; what must never be ends the run. */
void sim_database_turn(struct sim_host *host);

/* At the end: what is left in its log is applied, as by the next start. */
void sim_database_settle(struct sim_host *host);

/* Whether a host may fail to start, or end, with this error for its database's sake. */
bool sim_database_excuses_start(const struct sim_host *host, int error);
bool sim_database_excuses_end(const struct sim_host *host, int error);

/* A store is opened again: if it has lost commits, the shadow goes back, and has_lost is set. */
void sim_database_tell_loss(struct sim_host *host, struct tri_store *store);

/* ------------------------------------------------------------------------------------ step.c */

/* A batch is read: tells people what is in it. */
void sim_say_frame(const struct sim_host *host, uint32_t place, const struct sim_frame *frame);

/* One turn of a party. */
void sim_step(struct sim_host *host, struct sim_party *party);

/* When a party that sleeps has something to do. */
uint64_t sim_party_due_ns(const struct sim_host *host, const struct sim_party *party);

/* --------------------------------------------------------------------------------- program.c */

/* Lets all groups go on that sleep. */
void sim_program_wake(struct sim_host *host);

/* Asks for the spawn of an actor without a parent. */
void sim_program_wish(struct sim_host *host, const struct tr_behaviour *behaviour,
                      struct tr_text name, const void *state);

/* Says something to an actor. */
void sim_program_say(struct sim_host *host, const struct tri_actor *actor, uint8_t kind,
                     const struct tr_schema *schema, const void *body);

/* Whether to ask something of an actor: not while the last time may still have an effect. */
bool sim_program_may_wish(struct sim_host *host, struct tr_key key);

/* It had its effect. */
void sim_program_forget_wish(struct sim_host *host, struct tr_key key);

/* One turn of the program; whether it did anything. */
bool sim_program_step(struct sim_host *host);

/* Asks for a move of any live actor. */
void sim_program_move(struct sim_host *host);

/* The crash of a host, as its program sees it. */
void sim_program_forget(struct sim_host *host);

/* ---------------------------------------------------------------------------------- check.c */

/* Visits every live actor of a host. */
typedef void sim_visit_actor(struct sim_host *host, struct tri_worker *worker,
                             struct tri_actor *actor);
void sim_each_actor(struct sim_host *host, sim_visit_actor *visit);

/* A live actor by its key, or NULL. */
struct tri_actor *sim_find_actor(const struct sim_host *host, struct tr_key key);

/* How many rows a statement counts in a store on the simulated disk. */
uint64_t sim_count_rows(struct sim_host *host, const char *sql);

/* What a host's store holds, where that is a model or a modelled database; else NULL. */
const struct tri_model_version *sim_contents(const struct sim_host *host);

/* Calls a function with each row of a statement there; `visit` reads it. */
typedef void sim_visit_row(void *self, struct sqlite3_stmt *statement);
void sim_each_row(struct sim_host *host, const char *sql, sim_visit_row *visit, void *self);

/* Every actor has one owner and a whole address, as long as its line lives. */
void sim_check_actors(struct sim_host *host);

/* When all actors have ended: workers remember nothing of them. */
void sim_check_idle(struct sim_host *host);

/* After the end of a host: nothing is left in its store. */
void sim_check_end(struct sim_host *host);

/* Prints who is alive and what each waits for. */
void sim_explain(const struct sim_host *host);

/* -------------------------------------------------------------------------------- memory.c */

/* From now on, with the plan's chance, an allocation fails: the k-th one from here. */
void sim_memory_arm(struct sim_world *world, uint32_t within);
void sim_memory_disarm(struct sim_world *world);

#endif
