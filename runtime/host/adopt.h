/*
 * Groups come into workers that run: the program asks each worker, step by step and share by share,
 * to load what is its own. Those of another store (adopt.c), or those of partitions that a lost
 * host had in the same store (take.c).
 */
#ifndef TR_RUNTIME_HOST_ADOPT_H
#define TR_RUNTIME_HOST_ADOPT_H

#include "runtime/host/host.h"

/* What is known of an actor beside its image. */
struct tri_adopted {
    const struct tri_op *op;
    struct tr_image image;  /* views of the operation */
    char *parent_address;   /* its parent is on another worker; NULL: it is not */
    bool has_spread_family; /* it has children on other workers */
};

/* What a worker does with each entry of a step. The first error of any is the step's. */
struct tri_adopt_step {
    int (*act)(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at);
    bool may_fail; /* else an error ends the host: the store has everything */
};

struct tr_adopting {
    struct tr_host *host;
    const struct tr_adoption *adoption;
    const struct tri_adopt_step *steps;
    struct tri_adopted *actors; /* by key */
    size_t actor_count;
    const struct tri_op **messages; /* by clock */
    size_t message_count;
    size_t loaded_end; /* operations before the first message */
    uint64_t bytes;
};

/*
 * Reads what the operations are, which are in the order of tri_op_compare. TR_INVALID (they are
 * not), TR_MALFORMED, TR_UNKNOWN_TYPE (no such behaviour), TR_MEMORY, those of unpacking. Ended by
 * tri_adopting_fini in any case.
 */
TR_MUST_USE int tri_adopting_init(struct tr_adopting *adopting, struct tr_host *host,
                                  const struct tr_adoption *adoption);
void tri_adopting_fini(struct tr_adopting *adopting);

/* Notes which actors have their parents or children on other workers. */
void tri_adopting_note_families(struct tr_adopting *adopting);

/* The actor of a key among them, or NULL. */
struct tri_adopted *tri_adopting_find(const struct tr_adopting *adopting, struct tr_key key);

/* TR_BUSY: the memory for it is not there. */
TR_MUST_USE int tri_adopting_check_memory(const struct tr_adopting *adopting);

/* All workers do a step for `count` entries, share by share. */
TR_MUST_USE int tri_adopting_ask(struct tr_adopting *adopting, uint8_t step, size_t count);

/* Whether a worker has the actors of a key's origin. */
bool tri_adopt_is_mine(const struct tri_worker *worker, struct tr_key key);

/* Steps that both have: whether an actor's group is here (TR_EXISTS); a counter, actor or page. */
int tri_adopt_look(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at);
int tri_adopt_load(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at);

/* An actor that was loaded gets its timers back, and what the end of its host has ended. */
void tri_adopt_open(struct tri_worker *worker, struct tri_actor *actor);

/* A worker does one share of a step. */
void tri_adopt_on_ask(struct tri_worker *worker, const struct tr_message *message);

#endif
