/*
 * Queues requests by host: so many per host and so many in all are active at once, and the hosts
 * are served round robin. Pure. One thread.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_QUEUE_H
#define TR_RUNTIME_HTTP_HTTP_QUEUE_H

#include "schemas/codec/base.h"

struct tri_http_host;

/* A queue entry, to be the first member of a queued struct. */
struct tri_http_entry {
    uint64_t id;

    /* The queue's. */
    uint64_t due_ms; /* 0: never */
    bool is_active;
    struct tri_http_host *host;
    struct tri_http_entry *previous;
    struct tri_http_entry *next;
    struct tri_http_entry *next_in_bucket;
};

#define TRI_HTTP_QUEUE_BUCKETS 1024

struct tri_http_queue {
    size_t active_max;
    size_t active_per_host_max;
    size_t active;
    size_t waiting;
    uint64_t due_ms;            /* a lower bound of all due times; 0: none */
    struct tri_http_host *turn; /* the ring of hosts, at the next one to serve */
    struct tri_http_entry *buckets[TRI_HTTP_QUEUE_BUCKETS]; /* by id */
};

void tri_http_queue_init(struct tri_http_queue *queue, size_t active_max,
                         size_t active_per_host_max);

/* Appends an entry to its host's queue. TR_MEMORY. */
TR_MUST_USE int tri_http_queue_add(struct tri_http_queue *queue, struct tri_http_entry *entry,
                                   struct tr_text host);

/* The next entry that may begin, which becomes active, or NULL. */
struct tri_http_entry *tri_http_queue_next(struct tri_http_queue *queue);

/* Removes an entry, active or waiting. */
void tri_http_queue_remove(struct tri_http_queue *queue, struct tri_http_entry *entry);

/* The entry with this id, active or waiting, or NULL. */
struct tri_http_entry *tri_http_queue_find(const struct tri_http_queue *queue, uint64_t id);

/* Any remaining entry, or NULL. */
struct tri_http_entry *tri_http_queue_any(const struct tri_http_queue *queue);

/* Sets the due time of an entry; 0: never. */
void tri_http_queue_set_due(struct tri_http_queue *queue, struct tri_http_entry *entry,
                            uint64_t due_ms);

/* A due entry, active or waiting, or NULL: then queue->due_ms is a lower bound of all due times. */
struct tri_http_entry *tri_http_queue_expired(struct tri_http_queue *queue, uint64_t now_ms);

#endif
