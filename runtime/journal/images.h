/*
 * Reads the actors of a store from a reader's snapshot: for commands that show what an actor waits
 * for, beside a live engine or without one.
 *
 *     error = tr_images_of_group(reader, group, show, self);
 *     error = tr_image_page(reader, key, 2, bytes, sizeof bytes, &size);
 *
 * Nothing is run or changed. Thread and snapshot are the reader's (reader.h).
 */
#ifndef TR_RUNTIME_JOURNAL_IMAGES_H
#define TR_RUNTIME_JOURNAL_IMAGES_H

#include "runtime/journal/reader.h"

/* An actor. Views are valid during the call that shows it. */
struct tr_actor_image {
    struct tr_ref actor;
    struct tr_ref parent; /* serial 0: spawned by the host */
    uint16_t behaviour;   /* the behaviour's id */
    bool is_element;
    uint64_t element;    /* of an element */
    struct tr_text name; /* else; empty: its serial is its name */
    bool is_quarantined; /* failed twice with one message, waits for an operator */
    bool is_backing_off; /* failed, waits for its restart */
    int failed_with;     /* the error of its last failure; 0: none, or the process crashed */
    uint32_t asks;       /* open questions to actors */
    uint32_t calls;      /* open calls to the outside */
    uint32_t monitors;   /* actors that it monitors */
    uint32_t timers;
    uint64_t due_ms; /* due time of its first timer; 0: none */
    uint8_t state_version;
    struct tr_bytes state; /* the body of its behaviour's state */
};

/* Reads the image of a stored actor; views point into it. Errors: those of unpacking. */
TR_MUST_USE int tri_image_of(const struct tri_op *op, struct tr_actor_image *image);

/*
 * Calls `show` for each actor of a group, or of a behaviour, in order of keys. A nonzero result of
 * `show` stops and is returned. Other errors: TR_STORE_DAMAGED (no image), and those of
 * tr_reader_rows; tr_reader_explain has words.
 */
TR_MUST_USE int tr_images_of_group(struct tr_reader *reader, uint64_t group,
                                   int (*show)(void *self, const struct tr_actor_image *image),
                                   void *self);
TR_MUST_USE int tr_images_of_behaviour(struct tr_reader *reader, uint16_t behaviour,
                                       int (*show)(void *self, const struct tr_actor_image *image),
                                       void *self);

/* Copies a page of an actor. TR_NOT_FOUND, TR_LIMIT (capacity), and as above. */
TR_MUST_USE int tr_image_page(struct tr_reader *reader, struct tr_key actor, uint32_t page,
                              void *buffer, size_t capacity, size_t *size);

/* Calls `show` with sender and receiver of each sent and unhandled message. Errors as above. */
TR_MUST_USE int tr_images_messages(struct tr_reader *reader,
                                   int (*show)(void *self, struct tr_ref from, struct tr_ref to),
                                   void *self);

#endif
