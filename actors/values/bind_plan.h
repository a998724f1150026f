/*
 * Plans of bindings that look into values which lie elsewhere: a part of a large result, a list
 * that is put together from large parts, a condition over them.
 *
 * An actor cannot wait for a disk, so it makes a plan, and the files service carries it out
 * (values_bind, schemas/runtime/inquiry.h). A plan says everything in itself: types in words, what
 * is here as its value, what lies elsewhere as its slot. So carrying it out needs no graph,
 * and what goes wrong has the words that it would have if everything were here.
 */
#ifndef TR_ACTORS_VALUES_BIND_PLAN_H
#define TR_ACTORS_VALUES_BIND_PLAN_H

#include "actors/values/bind.h"

/*
 * What the conditions of one branch may compare together where a part of it lay elsewhere: the
 * message that brings it has to hold it.
 */
#define TR_CONDITION_VALUES_BYTES_MAX (768U << 10)

/*
 * Appends the plan of all inputs of a node, or, of a branch, of what its conditions ask for.
 * TR_INVALID: `binder` says why; others as tr_bind_value.
 */
TR_MUST_USE int tr_bind_plan(struct tr_binder *binder, const struct tr_node *node,
                             struct tr_buffer *plan);

/* Appends the plan of one element of a list that lies elsewhere, as it is there. */
TR_MUST_USE int tr_bind_plan_element(struct tr_text name, const struct tr_type *list,
                                     struct tr_bytes slot, uint32_t index, struct tr_buffer *plan);

/* How a plan is carried out. */
struct tr_bind_reader {
    tr_bind_open *open;
    tr_bind_close *close;
    void *self;
};

/* Why the inputs cannot be had; of conditions, what is said of the last one that is not there. */
struct tr_bind_problem {
    const char *code; /* constant; "" if they can */
    char words[TR_BIND_MESSAGE_BYTES];
};

/*
 * Appends the list of slots, large ones inline: what is there of a branch's inputs each in a list
 * of one, and an empty list for what is not there. TR_INVALID: `problem` says why; TR_MALFORMED (no
 * plan), TR_LIMIT, TR_MEMORY, and what the reader says.
 */
TR_MUST_USE int tr_bind_carry_out(struct tr_bytes plan, const struct tr_bind_reader *reader,
                                  struct tr_buffer *slots, bool *is_condition,
                                  struct tr_bind_problem *problem);

#endif
