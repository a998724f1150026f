/*
 * Whose turn it is: requests wait in a line for each host, so many of a host and so many in all are
 * on their way at once, and the hosts take turns. Pure. One thread.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_LINE_H
#define TR_RUNTIME_HTTP_HTTP_LINE_H

#include "schemas/codec/base.h"

struct tri_http_host;

/* A place in the line, to be the first member of what waits. */
struct tri_http_place {
    uint64_t id;

    /* The line's. */
    uint64_t due_ms; /* 0: never */
    bool is_active;
    struct tri_http_host *host;
    struct tri_http_place *previous;
    struct tri_http_place *next;
    struct tri_http_place *next_in_bucket;
};

#define TRI_HTTP_LINE_BUCKETS 1024

struct tri_http_line {
    size_t active_max;
    size_t active_per_host_max;
    size_t active;
    size_t waiting;
    uint64_t due_ms;            /* no place is due before; 0: none is */
    struct tri_http_host *turn; /* the ring of hosts, at whose turn it is */
    struct tri_http_place *buckets[TRI_HTTP_LINE_BUCKETS]; /* by id */
};

void tri_http_line_init(struct tri_http_line *line, size_t active_max, size_t active_per_host_max);

/* Puts a place behind those of its host. TR_MEMORY. */
TR_MUST_USE int tri_http_line_add(struct tri_http_line *line, struct tri_http_place *place,
                                  struct tr_text host);

/* The next one that may begin, which is active from now on, or NULL. */
struct tri_http_place *tri_http_line_next(struct tri_http_line *line);

/* Takes a place out, active or waiting. */
void tri_http_line_remove(struct tri_http_line *line, struct tri_http_place *place);

/* The place with this id, active or waiting, or NULL. */
struct tri_http_place *tri_http_line_find(const struct tri_http_line *line, uint64_t id);

/* Any place that is left, or NULL. */
struct tri_http_place *tri_http_line_any(const struct tri_http_line *line);

/* Says when something is to be done about a place, instead of what was said before; 0: never. */
void tri_http_line_set_due(struct tri_http_line *line, struct tri_http_place *place,
                           uint64_t due_ms);

/* A place that is due, active or waiting, or NULL: then line->due_ms is when one may be. */
struct tri_http_place *tri_http_line_expired(struct tri_http_line *line, uint64_t now_ms);

#endif
