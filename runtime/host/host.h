/*
 * A host: the parts behind troupe.h. The simulator builds the same parts around its own environment
 * and calls their steps itself.
 */
#ifndef TR_RUNTIME_HOST_HOST_H
#define TR_RUNTIME_HOST_HOST_H

#include <pthread.h>

#include "runtime/cluster/service.h"
#include "runtime/hosting.h"
#include "runtime/journal/journal.h"
#include "runtime/link/sender.h"
#include "runtime/members/tenure.h"
#include "runtime/services/process_service.h"
#include "runtime/worker/worker.h"

/* Arguments of a worker's thread. */
struct tri_thread {
    struct tr_host *host;
    struct tri_worker *worker;
    pthread_t thread;
};

struct tr_host {
    struct tr_env *env;
    bool owns_env;
    struct tri_shared shared;
    struct tri_store *store; /* NULL without durability */
    uint64_t store_number;   /* 0 without durability */
    struct tri_journal journal;
    struct tri_worker *workers;
    struct tri_poison_messages *poison;
    uint16_t aside_behaviour;
    uint64_t aside[TR_ASIDE_MAX]; /* groups that this start has not loaded */
    size_t aside_count;
    /* Services, by the options; NULL: not requested, or not started. */
    struct tri_http_service *http;
    struct tri_process_service *processes;
    struct tri_files_service *files;
    struct tri_interhost_thread *interhost; /* to other hosts */
    char *listen;                           /* its listening address; NULL: none */
    char *folder;                           /* of the store; NULL without durability */
    const char *const *keeper_command;
    uint32_t jobs;
    bool is_cold;
    bool expects_processes;
    int interrupt;
    uint32_t http_receiver_timeout_ms;
    const struct tr_secret_source *secrets;
    size_t secret_count;
    const struct tr_identity *identities;
    size_t identity_count;
    const char *search_variable;
    const char *search_folder;
    struct tr_variable_maker variables;
    const struct tr_object_store *object_stores;
    size_t object_store_count;
    const char *blobs;
    uint32_t unclaimed_ms;
    const struct tr_exchange *exchange;
    struct tri_watchdog *watchdog;     /* while the host runs */
    atomic_uint_fast64_t heard_view;   /* that another host has made; by the interhost thread */
    struct tri_follow *follow;         /* of a host that works beside others; NULL: it is none */
    struct tri_membership *membership; /* of a store that has hosts; NULL: it has none */
    int news; /* of the table of hosts: readable when that has changed; 0: there is none */
    struct tri_process_hosts process_hosts;
    struct tri_tenures tenures;                      /* which hosts have had the store */
    struct tri_partition_tenures *partition_tenures; /* of a host beside others, instead */
    /* The program's own place; used by the thread that made the host. */
    struct tri_sender sender;
    uint64_t requests;
    uint64_t writing;        /* the request of operations that are not committed yet; 0: none */
    struct tri_ended *ended; /* DOWNs that arrived during other waits */
    struct tri_gathering *gathering;          /* awaited answers of workers */
    struct tri_asking *asking;                /* awaited answer of an actor */
    struct tri_open_question *questions;      /* that nobody waits for, the oldest first */
    struct tri_open_question **last_question; /* where the next one goes, unless there is none */
    struct tr_tap *taps[TR_TAPS_MAX];         /* open, or not released by every worker */
    void (*end_taps)(struct tr_host *host);   /* frees them; set with the first (tap/tap.c) */
    uint32_t next_worker;
    /* Threads. */
    struct tri_thread threads[TR_WORKERS_MAX];
    pthread_t journal_thread;
    bool has_journal_thread;
    char fatal_words[TRI_STORE_EXPLAIN_BYTES]; /* written before `fatal`, by one thread */
    atomic_flag has_fatal_words;
    char note_words[TRI_STORE_EXPLAIN_BYTES]; /* written before `has_note`, by one thread */
    atomic_bool has_note;
    uint32_t thread_count;
    bool is_started;
    atomic_bool is_stopping;
    atomic_bool is_draining; /* the workers have ended: the journal commits the rest */
    atomic_int fatal;        /* the error that ends the host; 0: none */
    uint32_t stuck_handler_ms;
};

/*
 * Initializes a host with the caller's environment and store, without links and threads. Errors as
 * tr_host_new. The caller owns the store; NULL without durability.
 */
TR_MUST_USE int tri_host_init(struct tr_host *host, const struct tr_host_options *options,
                              struct tr_env *env, struct tri_store *store);
void tri_host_fini(struct tr_host *host);

/*
 * Loads the store's groups of these ranges, which do not overlap, into the workers, which run
 * nothing yet. An actor whose parent is in none of them keeps it. Errors: the store's, and those of
 * invalid images.
 */
TR_MUST_USE int tri_host_load(struct tr_host *host, const struct tri_group_range *ranges,
                              size_t range_count);

/*
 * Loads what is this host's: the groups of its partitions, where it was told who has them, whatever
 * else is in the store; else all.
 */
TR_MUST_USE int tri_host_load_own(struct tr_host *host);

#endif
