/*
 * Bindings at run time: from what a node's inputs are bound to, to their values.
 *
 * Pure: the caller says how the outputs of nodes are had, and gets slots (slot.h). What cannot
 * be bound is the node's failure, in words that name the reference; memory is the engine's.
 *
 *     struct tr_binder binder = {.workflow = workflow, .output = look_up, .self = me};
 *     int error = tr_bind_inputs(&binder, node, &slots);
 *     if (error == TR_INVALID) { fail(node, binder.code, binder.message); }
 */
#ifndef TR_ACTORS_VALUES_BIND_H
#define TR_ACTORS_VALUES_BIND_H

#include "actors/graph/compiled/graph.h"
#include "actors/graph/value/slot.h"

/* The codes of what goes wrong, as people and Flyte know them. */
#define TR_CODE_BINDING "BindingResolutionError"
#define TR_CODE_INLINE "InlineSizeExceeded"

/* How long the words of a failure are at most. */
#define TR_BIND_MESSAGE_BYTES 512

/*
 * The slot of an output of a node (node 0: of an input of the workflow): a view that lives until
 * the next call. TR_NOT_FOUND when the node gave none.
 */
typedef int tr_bind_output(void *self, uint32_t node, uint32_t output, struct tr_bytes *slot);

/* The bytes of a blob, until they are closed; errors are those of opening. */
typedef int tr_bind_open(void *self, const struct tr_offloaded *where, struct tr_bytes *literal);
typedef void tr_bind_close(void *self, struct tr_bytes literal);

/* A list or a mapping whose parts are being bound, for the words of a failure: `l[2]`, `m.k`. */
struct tr_bind_place {
    const struct tr_bind_place *outside; /* NULL: the whole is an input itself */
    const struct tr_binding *whole;
    struct tr_text key; /* of the part in a mapping */
    uint32_t index;     /* of the part in a list */
};

struct tr_binder {
    const struct tr_workflow *workflow;
    tr_bind_output *output;
    tr_bind_open *open; /* NULL: what lies elsewhere is passed on, and cannot be looked into */
    tr_bind_close *close;
    void *self;
    /* The workflow's error, packed by the type error; empty: none, so that `$err` is none too. */
    struct tr_bytes failure;
    /* Whose part is being bound; kept by who goes through the parts. NULL: an input's own value. */
    const struct tr_bind_place *place;

    /* What failed, after TR_INVALID: the code is constant, the message is in `words`. */
    const char *code;
    struct tr_text message;
    char words[TR_BIND_MESSAGE_BYTES];
    /* It failed because something lies elsewhere that has to be looked into (bind_plan.h). */
    bool lies_elsewhere;
};

/*
 * Appends the value of a binding as a slot. TR_INVALID: `code` and `message` say why; other errors
 * are the engine's (TR_MEMORY, TR_LIMIT of the buffer, those of `output`).
 */
TR_MUST_USE int tr_bind_value(struct tr_binder *binder, const struct tr_binding *binding,
                              struct tr_buffer *buffer);

/* The same with the literal itself, wherever it lies: lists hold values and no places. */
TR_MUST_USE int tr_bind_literal(struct tr_binder *binder, const struct tr_binding *binding,
                                struct tr_buffer *buffer);

/*
 * Appends a part of a text as it stands in it, at most TR_INLINE_BYTES_MAX of the whole. Errors as
 * tr_bind_value.
 */
TR_MUST_USE int tr_bind_text_part(struct tr_binder *binder, const struct tr_binding *part,
                                  struct tr_buffer *text);

/* Appends the list of all inputs of a node. Errors as tr_bind_value. */
TR_MUST_USE int tr_bind_inputs(struct tr_binder *binder, const struct tr_node *node,
                               struct tr_buffer *buffer);

/*
 * Appends the values of a branch's inputs one after the other, for its conditions. `sizes` has room
 * for one for each input; 0 stands where a field or an element is not there.
 */
TR_MUST_USE int tr_bind_condition_inputs(struct tr_binder *binder, const struct tr_node *branch,
                                         struct tr_buffer *buffer, size_t *sizes);

/* Appends the slot for none in a place of this type: TR_INVALID if it cannot be none. */
TR_MUST_USE int tr_bind_none(const struct tr_type *type, struct tr_buffer *buffer);

/*
 * Appends a slot of type `from` as one of type `to`. What lies elsewhere can become a variant of a
 * union and come out of it again, since its bytes stay as they are; what would change them is
 * TR_LIMIT. TR_INVALID when it does not fit, TR_MEMORY.
 */
TR_MUST_USE int tr_bind_cast(const struct tr_type *from, const struct tr_type *to,
                             struct tr_bytes slot, struct tr_buffer *buffer);

#endif
