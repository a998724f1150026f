/*
 * Whose turn it is: requests wait in a queue for each host, so many of a host and so many in all are
 * on their way at once, and the hosts take turns. Pure. One thread.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_QUEUE_H
#define TR_RUNTIME_HTTP_HTTP_QUEUE_H

#include "schemas/codec/base.h"

struct tri_http_host;

/* A entry in the queue, to be the first member of what waits. */
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
    uint64_t due_ms;            /* no entry is due before; 0: none is */
    struct tri_http_host *turn; /* the ring of hosts, at whose turn it is */
    struct tri_http_entry *buckets[TRI_HTTP_QUEUE_BUCKETS]; /* by id */
};

void tri_http_queue_init(struct tri_http_queue *queue, size_t active_max,
                         size_t active_per_host_max);

/* Puts a entry behind those of its host. TR_MEMORY. */
TR_MUST_USE int tri_http_queue_add(struct tri_http_queue *queue, struct tri_http_entry *entry,
                                   struct tr_text host);

/* The next one that may begin, which is active from now on, or NULL. */
struct tri_http_entry *tri_http_queue_next(struct tri_http_queue *queue);

/* Takes a entry out, active or waiting. */
void tri_http_queue_remove(struct tri_http_queue *queue, struct tri_http_entry *entry);

/* The entry with this id, active or waiting, or NULL. */
struct tri_http_entry *tri_http_queue_find(const struct tri_http_queue *queue, uint64_t id);

/* Any entry that is left, or NULL. */
struct tri_http_entry *tri_http_queue_any(const struct tri_http_queue *queue);

/* Says when something is to be done about a entry, instead of what was said before; 0: never. */
void tri_http_queue_set_due(struct tri_http_queue *queue, struct tri_http_entry *entry,
                            uint64_t due_ms);

/* A entry that is due, active or waiting, or NULL: then queue->due_ms is when one may be. */
struct tri_http_entry *tri_http_queue_expired(struct tri_http_queue *queue, uint64_t now_ms);

#endif
