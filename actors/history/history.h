/*
 * What actors call in their handlers when something of an execution changes its phase: the rows of
 * schemas/engine/history.h, in the commit of the handler.
 *
 * Nothing changes but by the tables of schemas/engine/phase.h: a change that is none of theirs is
 * TR_INVALID, and the handler that returns it has done nothing. The three functions for what has a
 * row of its own (execution, node, attempt) write that row and the change, and fill in its times:
 *
 *     struct tr_node_status row = {.execution = …, .path = …, .phase = TR_NODE_PHASE_RUNNING, …};
 *     int error = tr_history_node(context, &row, TR_NODE_PHASE_QUEUED, cause, &state->changes);
 *
 * `changes` counts the rows that this actor has written, and belongs into its state: with the
 * actor's key it names them. All functions are for handlers; their other errors are tr_record's.
 */
#ifndef TR_ACTORS_HISTORY_HISTORY_H
#define TR_ACTORS_HISTORY_HISTORY_H

#include "runtime/troupe.h"
#include "schemas/engine/history.h"

/*
 * Writes how an execution, a node or an attempt stands now, `row->phase`, and the change from the
 * phase before. Fills in: created_ms where it is 0, started_ms at the first phase of running,
 * ended_ms at an end. The row is the caller's; so it keeps the times, if it wants them.
 */
TR_MUST_USE int tr_history_execution(struct tr_context *context, struct tr_execution *row,
                                     uint8_t from, struct tr_text cause, uint64_t *changes);
TR_MUST_USE int tr_history_node(struct tr_context *context, struct tr_node_status *row,
                                uint8_t from, struct tr_text cause, uint64_t *changes);
TR_MUST_USE int tr_history_attempt(struct tr_context *context, struct tr_attempt *row, uint8_t from,
                                   struct tr_text cause, uint64_t *changes);

/*
 * Writes the first row of an execution that is being launched, before its root has a phase: with
 * it a start finds the graph that the root asks for, however early the engine before was killed.
 */
TR_MUST_USE int tr_history_launched(struct tr_context *context, struct tr_execution *row);

/* Writes a row for each label of an execution; once, with its first phase. */
TR_MUST_USE int tr_history_labels(struct tr_context *context, const struct tr_execution *row);

/*
 * Writes how an execution stands where its phase stays, and a row with the cause: it was paused, or
 * goes on.
 */
TR_MUST_USE int tr_history_pause(struct tr_context *context, const struct tr_execution *row,
                                 struct tr_text cause, uint64_t *changes);

/* Writes what an execution (an empty path) or a node got or gave. */
TR_MUST_USE int tr_history_value(struct tr_context *context, uint64_t execution,
                                 struct tr_text path, enum tr_value_side side,
                                 struct tr_bytes slots);

/*
 * Deletes everything that is recorded of an execution: for retention, when it has ended and none of
 * its actors writes any more.
 */
TR_MUST_USE int tr_history_forget(struct tr_context *context, uint64_t execution);

/* ------------------------------------------------------ elements of arrays */

/*
 * Changes of elements on their way to a row: this head, and behind it the text of the entries, in
 * memory of the caller's, such as a page of its state; zeros are none at all.
 */
struct tr_element_entries {
    uint64_t base_ms;
    uint64_t element_min;
    uint64_t element_max;
    uint32_t count;
    uint32_t size; /* of the text */
};

/* What an attempt of an element went through at one time. */
struct tr_element_change {
    uint64_t element;
    uint32_t attempt;
    uint8_t from;    /* the phase before, of a node */
    uint32_t phases; /* those it has been in since, as bits: 1 << TR_NODE_PHASE_… */
    uint64_t at_ms;
    struct tr_text code;
    struct tr_text message; /* what does not fit into a row of its own is cut */
};

/*
 * Adds a change to the entries in `size` bytes of memory. Its phases are put into the order that
 * the tables allow; `last` (may be NULL) is the one it ends with. Errors: TR_INVALID (there is no
 * such order, or no phase), TR_LIMIT (no room: write what there is, and add it again).
 */
TR_MUST_USE int tr_history_element(void *memory, size_t size,
                                   const struct tr_element_change *change, uint8_t *last);

/* Writes the entries as one row, if there are any, and empties them. */
TR_MUST_USE int tr_history_elements(struct tr_context *context, uint64_t execution,
                                    struct tr_text path, void *memory, uint64_t *changes);

#endif
