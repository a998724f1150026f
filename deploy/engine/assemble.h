/*
 * A live engine in this process: the host with all behaviours and plugins, the actors that serve
 * all executions, the endpoint for other commands, and the signals of the process.
 *
 * What an earlier engine left unfinished goes on as soon as it is open, or sleeps until it is
 * woken. One thread, that of the command; it waits in tr_live_rest and looks at everything when
 * that returns.
 */
#ifndef TR_DEPLOY_ENGINE_ASSEMBLE_H
#define TR_DEPLOY_ENGINE_ASSEMBLE_H

#include <limits.h>
#include <stdatomic.h>

#include "actors/engine.h"
#include "deploy/engine/background.h"
#include "deploy/engine/calls.h"
#include "deploy/engine/dormant.h"
#include "deploy/engine/early_reader.h"
#include "deploy/engine/launchers.h"
#include "deploy/retention/leftovers.h"
#include "deploy/settings/settings.h"
#include "runtime/journal/reader.h"
#include "runtime/link/endpoint.h"
#include "runtime/troupe.h"

/* The behaviours of all actors of the engine. */
#define TR_LIVE_BEHAVIOURS 14
extern const struct tr_behaviour *const tr_live_behaviours[TR_LIVE_BEHAVIOURS];

/* Retries of failures that are not the task's fault (Flyte's default). */
#define TR_LIVE_SYSTEM_RETRIES 3

struct tr_live_options {
    const char *folder; /* of the store, absolute */
    enum tr_durability durability;
    uint32_t jobs;        /* processes at once; 0: one per core */
    bool is_strict;       /* of tr_engine */
    bool is_cold;         /* none of them is forked from a warm worker */
    bool expects_tasks;   /* of the type `process`, which are about to begin */
    const char *command;  /* what others are told this engine came with */
    bool lets_sleep;      /* what is unfinished sleeps, but for executions that are being aborted */
    bool fires_schedules; /* else they rest */
    const uint64_t *lifted; /* executions that are loaded, although they were set aside */
    size_t lifted_count;
    const char *host_name;    /* of a store with several hosts; NULL: that of the machine */
    const char *host_address; /* IP:PORT, where it works beside others; NULL: it works alone */
    uint32_t lease_ms;        /* the same (struct tr_host_options); 0: as usual */
    uint32_t process_lease_ms;
    struct tr_variable_maker variables;      /* of the same, too */
    const struct tr_settings_file *settings; /* NULL: none; they outlive the engine */
};

/* Words of the keeper's command, with the NULL behind them. */
#define TR_KEEPER_COMMAND_WORDS 6

struct tr_graph_pins;
struct tr_entry; /* deploy/entry/entry.h */

struct tr_live {
    struct tr_host *host;
    struct tr_engine *engine;
    bool is_member;              /* it works beside other hosts of the store */
    struct tr_graph_pins *taken; /* needed by partitions that come (follow_hosts.c); or NULL */
    uint64_t follow_ms;          /* when it looks at the others again */
    uint64_t gone;               /* a digest of the hosts that live, and of those that are gone */
    int cannot_take;             /* why their work cannot be taken now; 0: it can, or was */
    char cannot_take_words[TRI_STORE_EXPLAIN_BYTES];
    char listen[TR_HOST_ADDRESS_BYTES]; /* where the others reach it */
    struct tri_endpoint *endpoint;
    struct tr_entry *entry; /* where clients come over the network; NULL: nowhere */
    enum tr_durability durability;
    const char *command;
    const struct tr_settings_file *settings; /* NULL: none */
    char folder[PATH_MAX];
    struct tr_reader *reader; /* tr_live_read; NULL: none yet */
    struct tr_early_reader early_reader;
    struct tr_live_calls *calls; /* of other threads */
    atomic_uint_fast64_t kept;   /* how often entities of Flyte's were kept or forgotten */
    int signals;                 /* deploy/common/signals.h */
    int events;                  /* readable when there is a signal or a request */
    struct tr_dormant dormant;   /* executions that an earlier engine had left */
    bool lets_sleep;
    struct tr_detached detached;
    bool hands_over;        /* at its end, what is detached */
    bool is_detaching;      /* somebody waits until another engine has that */
    struct tr_arena tables; /* of the engine: what is known of plugins */
    struct tr_live_launcher *launchers;
    size_t launcher_count;
    struct tr_live_ended ended[TR_LIVE_ENDED]; /* by launcher (launchers.h) */
    struct tr_ref schedules;
    struct tr_sweeper *sweeper;
    const char *keeper_command[TR_KEEPER_COMMAND_WORDS];
    char open_files[24];              /* a word of it */
    char python_folder[PATH_MAX];     /* where tasks find the helper for Python; empty: nowhere */
    atomic_uint_fast64_t traces_sent; /* executions whose traces were sent; and that are lost */
    atomic_uint_fast64_t traces_lost;
    int clock; /* readable when the clock was set, or stood still in a suspended machine; -1 */
};

/* The engine, as actors know it, and whose it is. */
struct tr_live_engine {
    struct tr_engine engine;
    struct tr_live *live;
};

/*
 * Opens a store and lets what is in it go on. Errors: TR_STORE_LOCKED (another engine has it) and
 * the others of a store, TR_SYSTEM, TR_MEMORY; `explain` (TRI_STORE_EXPLAIN_BYTES) has them in
 * words.
 */
TR_MUST_USE int tr_live_open(const struct tr_live_options *options, char *explain,
                             struct tr_live **live);

/*
 * Commits what there is and leaves. With `hands_over` an engine in the background goes on with
 * detached executions that have not ended. NULL is fine.
 */
void tr_live_close(struct tr_live *live);

/* Wakes a dormant execution, with all that it has launched; 0: all. TR_CLOSED. */
TR_MUST_USE int tr_live_wake(struct tr_live *live, uint64_t execution);

/*
 * How many processes of tasks of the type `process` it lets run at once; 0: a plugin runs these
 * elsewhere.
 */
uint32_t tr_live_jobs(const struct tr_live *live);

/* The actor that knows all schedules, which is spawned when there is none. */
#define TR_SCHEDULES_NAME "sys/schedules"
TR_MUST_USE int tr_live_schedules(struct tr_live *live, struct tr_ref *schedules);

/* Has tr_live_rest return when a descriptor of the caller's is readable, too. TR_SYSTEM. */
TR_MUST_USE int tr_live_watch(struct tr_live *live, int descriptor);

/* Waits for a signal, a request, an end or the time; why the host cannot go on. */
TR_MUST_USE int tr_live_rest(struct tr_live *live, uint32_t timeout_ms);

/*
 * The history as it is now, through a reader that stays open, since opening one reads all tables'
 * definitions. tr_live_read_end lets go of the moment. Errors: those of tr_reader_open.
 */
TR_MUST_USE int tr_live_read(struct tr_live *live, char *explain, struct tr_reader **reader);
void tr_live_read_end(struct tr_live *live);

/* Milliseconds that only ever grow. */
uint64_t tr_live_now_ms(const struct tr_live *live);

#endif
