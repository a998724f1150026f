/*
 * Reads the actors of a store, as they stood at a reader's moment: for commands that say what
 * anything waits for, beside a live engine or without one.
 *
 *     error = tr_images_of_group(reader, group, show, self);
 *     error = tr_image_page(reader, key, 2, bytes, sizeof bytes, &size);
 *
 * Nothing runs, and nothing is changed. Thread and moment are those of the reader (reader.h).
 */
#ifndef TR_RUNTIME_JOURNAL_IMAGES_H
#define TR_RUNTIME_JOURNAL_IMAGES_H

#include "runtime/journal/reader.h"

/* An actor. Views live as long as the call that shows it. */
struct tr_actor_image {
    struct tr_ref actor;
    struct tr_ref parent; /* serial 0: the host itself spawned it */
    uint16_t behaviour;   /* the behaviour's id */
    bool is_element;
    uint64_t element;    /* of an element */
    struct tr_text name; /* of any other; empty: its serial is its name */
    bool is_quarantined; /* failed twice with one message, waits for a person */
    bool is_backing_off; /* failed, and is to be restarted */
    int failed_with;     /* the error of its last failure; 0: none, or a crash of the process */
    uint32_t asks;       /* open questions to actors */
    uint32_t calls;      /* open calls to the outside */
    uint32_t monitors;   /* of others, whose ends it will hear of */
    uint32_t timers;
    uint64_t due_ms; /* of the first timer; 0: none */
    uint8_t state_version;
    struct tr_bytes state; /* the body of its behaviour's state */
};

/*
 * Shows each actor of a group, or each of a behaviour, in the order of keys. What `show` returns
 * other than 0 ends it, and is returned. Other errors: TR_STORE_DAMAGED (no image), and those of
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

/* Shows for each message that is sent and not handled who sent it and whom it is for. Errors as
 * above. */
TR_MUST_USE int tr_images_messages(struct tr_reader *reader,
                                   int (*show)(void *self, struct tr_ref from, struct tr_ref to),
                                   void *self);

#endif
