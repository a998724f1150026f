/*
 * Hearing of the ends of many: an actor that gave something to others (a token, a right) monitors
 * them, so that nothing stays with an actor that is gone. Monitors are counted (TR_EDGES_MAX), and
 * each is in the image that every commit of the actor writes, so the rows beyond a bound wait in a
 * list, and are watched as soon as others are done.
 *
 * Rows that are watched begin with struct tr_watched; the list's numbers are in the actor's state
 * (TRI_WATCH_FIELDS of schemas/engine/state_service.h).
 */
#ifndef TR_ACTORS_STORE_WATCH_H
#define TR_ACTORS_STORE_WATCH_H

#include "actors/store/rows.h"

/* Monitors at once, of actors that commit seldom. */
#define TR_WATCHES_MAX 12000

/* How a row begins whose actor may be watched. */
struct tr_watched {
    struct tr_rows_head head;
    struct tr_ref actor;
    uint64_t monitor;  /* 0: none */
    uint32_t next;     /* in the list of those that wait to be watched */
    uint32_t previous; /* 0: it is the first */
    bool is_listed;
    uint8_t own_bits; /* the user's, as what follows: the row need not grow for them */
    uint16_t own_small;
    uint32_t own;
};

/* The list, in the hands of a handler. */
struct tr_watch {
    struct tr_rows *rows;
    uint32_t count_max;
    uint32_t count;
    uint32_t first;
    uint32_t last;
};

#define tr_watch_open(rows_in_hand, state, most)      \
    ((struct tr_watch){.rows = (rows_in_hand),        \
                       .count_max = (most),           \
                       .count = (state)->watch_count, \
                       .first = (state)->watch_first, \
                       .last = (state)->watch_last})
#define tr_watch_close(watch, state)           \
    do {                                       \
        (state)->watch_count = (watch)->count; \
        (state)->watch_first = (watch)->first; \
        (state)->watch_last = (watch)->last;   \
    } while (false)

/* Begins to watch the actor of a row that is in the handler's hands to be changed. */
TR_MUST_USE int tr_watch_begin(struct tr_watch *watch, uint32_t number, struct tr_watched *row);

/*
 * After a DOWN that only says that its host cannot be reached (TR_NO_CONNECTION): the actor may
 * live, and is watched on.
 */
TR_MUST_USE int tr_watch_again(struct tr_watch *watch, struct tr_watched *row);

/* Ends it; `is_down`: it was heard of, so that no monitor is left. Nothing to end is fine. */
TR_MUST_USE int tr_watch_end(struct tr_watch *watch, uint32_t number, struct tr_watched *row,
                             bool is_down);

#endif
