/*
 * What a host's journal and services have done and how they stand, in numbers; part of the public
 * header, troupe.h. All count from the host's start: nothing of it is on a disk.
 */
#ifndef TR_RUNTIME_FIGURES_H
#define TR_RUNTIME_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#define TR_HISTOGRAM_BUCKETS_MAX 16

/*
 * How many values there were by size: counts[i] were not above bounds[i], and above the bound
 * before it. The last bound is UINT64_MAX.
 */
struct tr_histogram {
    const uint64_t *bounds;
    size_t size;
    uint64_t counts[TR_HISTOGRAM_BUCKETS_MAX];
    uint64_t sum; /* of all values */
};

/* The journal. Without durability all is 0, and the histograms have no bounds. */
struct tr_journal_figures {
    struct tr_histogram commit_ns;         /* what each commit took */
    struct tr_histogram commit_operations; /* how many operations each commit had */
    uint64_t batches;                      /* of workers, that were committed */
    uint64_t bytes;                        /* of these batches */
    uint64_t shortages;  /* commits that found no room, or no memory, and were tried again */
    uint64_t current_ns; /* how long the commit in hand has taken so far; 0: none is */
    int waits_for;       /* tr_host_waits_for */
};

/* What actors call. */
struct tr_service_figures {
    uint64_t processes_max;     /* how many run at once; 0: there is no such service */
    uint64_t processes_running; /* of tasks, which somebody waits for */
    uint64_t processes_waiting; /* for their turn */
    uint64_t http_open;         /* requests under way, streams too */
    uint64_t files_waiting;     /* calls to the files service that wait for their turn */
};

#endif
