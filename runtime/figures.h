/*
 * Metrics of a host's journal and services; part of the public header, troupe.h. All count from the
 * host's start: none are stored.
 */
#ifndef TR_RUNTIME_FIGURES_H
#define TR_RUNTIME_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#define TR_HISTOGRAM_BUCKETS_MAX 16

/*
 * A histogram: counts[i] values were at most bounds[i], and above the previous bound. The last
 * bound is UINT64_MAX.
 */
struct tr_histogram {
    const uint64_t *bounds;
    size_t size;
    uint64_t counts[TR_HISTOGRAM_BUCKETS_MAX];
    uint64_t sum; /* of all values */
};

/* The journal. Without durability everything is 0, and the histograms have no bounds. */
struct tr_journal_figures {
    struct tr_histogram commit_ns;         /* duration of each commit */
    struct tr_histogram commit_operations; /* operations of each commit */
    uint64_t batches;                      /* committed batches of workers */
    uint64_t bytes;                        /* their bytes */
    uint64_t shortages;  /* commits that were retried for want of disk space or memory */
    uint64_t current_ns; /* duration of the current commit so far; 0: none */
    uint64_t last_ns;    /* time since the last commit; before the first, since the start */
    int waits_for;       /* tr_host_waits_for */
    /* Of a store with a log of commits: what is acknowledged and not in its tables yet. */
    uint64_t log_commits;
    uint64_t log_bytes;
    uint64_t log_bytes_max; /* above this commits wait for the tables; 0: no log */
};

/* The services. */
struct tr_service_figures {
    uint64_t processes_max;     /* processes at once; 0: no such service */
    uint64_t processes_running; /* running processes of tasks */
    uint64_t processes_waiting; /* waiting to start */
    uint64_t http_open;         /* open requests, including streams */
    uint64_t files_waiting;     /* queued calls to the files service */
};

#endif
