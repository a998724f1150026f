/*
 * What an execution asks of an earlier one whose results it takes over, and what it is told. Asked
 * of the files service (TR_SERVICE_FILES), answered by the program from the history of the store
 * (deploy/recovery/recovery.h); blob_failed where that cannot be done.
 *
 *     recover_nodes       recovered_nodes      by a workflow, before nodes of its graph begin
 *     recover_elements    recovered_elements   by an array, before elements are spawned
 *
 * `recovery` is what node_start says: where a plan lies; or, for what an element of a map has
 * launched, "RECOVERY!PATH[ELEMENT]": it takes over what that element of the execution with this
 * other recovery had launched in the earlier one, if that is so. An answer may be about the first
 * ones only, where more do not fit into a message: the others are asked about again. Asking changes
 * nothing.
 */
#ifndef TR_SCHEMAS_ENGINE_RECOVERY_H
#define TR_SCHEMAS_ENGINE_RECOVERY_H

#include "schemas/codec/field.h"

/* Nodes that one question names at most, and elements that it is about. */
#define TR_RECOVER_NODES_MAX 64U
#define TR_RECOVER_ELEMENTS_MAX 256U

/* Whether a node runs again in a recovery. */
enum tr_recovery_way {
    TR_RECOVERY_ANEW, /* it runs, and so does everything inside it */
    TR_RECOVERY_OPEN, /* it runs; what is inside it may be kept */
    TR_RECOVERY_KEPT, /* it does not run: it gives what it gave then */
};

/*
 * `path` is the workflow's own below the execution ("", "w", "sq[3]"). `nodes` is a list of
 * [node, id, is again]: the last one says that something before it has run anew, so that it will
 * run, too.
 */
#define TR_RECOVER_NODES_FIELDS(FIELD, ARRAY) \
    FIELD(text, recovery, 1, 0)               \
    FIELD(text, path, 1, 0)                   \
    FIELD(any, nodes, 1, 0)

/*
 * `from` is the name of the earlier execution. `nodes` is a list in the order of the question:
 * [node, way, slots]. Of one that is kept `slots` is what it gave, and a fourth part, if it is
 * there, what it got; of others a list of [name of an input, slot] that it gets in place of what is
 * bound, or nil. Of a launch node the slot without a name is the plan by which the execution that
 * it launches now recovers the execution that it launched then.
 */
#define TR_RECOVERED_NODES_FIELDS(FIELD, ARRAY) \
    FIELD(text, from, 1, 0)                     \
    FIELD(any, nodes, 1, TR_REDACTED)

/*
 * Elements from `first` on, `count` of them, of the array at `path`; each gives `outputs` values.
 * `wrapped` is a list with a bool for each: the items of the list that the map gave are unions, of
 * which the element's value is one variant.
 */
#define TR_RECOVER_ELEMENTS_FIELDS(FIELD, ARRAY) \
    FIELD(text, recovery, 1, 0)                  \
    FIELD(text, path, 1, 0)                      \
    FIELD(u64, first, 1, 0)                      \
    FIELD(u32, count, 1, 0)                      \
    FIELD(u32, outputs, 1, 0)                    \
    FIELD(any, wrapped, 1, 0)

/*
 * What is known of the first `count` of them: `elements` is a list of [element, slots] of those
 * that are kept, in their order. `is_listed`: slots are taken from the lists that the map gave, of
 * their types; else they are those that the elements gave.
 */
#define TR_RECOVERED_ELEMENTS_FIELDS(FIELD, ARRAY) \
    FIELD(text, from, 1, 0)                        \
    FIELD(u64, first, 1, 0)                        \
    FIELD(u32, count, 1, 0)                        \
    FIELD(bool, is_listed, 1, 0)                   \
    FIELD(any, elements, 1, TR_REDACTED)

#define TR_RECOVERY_SCHEMAS(S)                                                      \
    S(recover_nodes, 370, TR_MESSAGE, 1, TR_DURABLE, TR_RECOVER_NODES_FIELDS)       \
    S(recovered_nodes, 371, TR_MESSAGE, 1, TR_PRIORITY, TR_RECOVERED_NODES_FIELDS)  \
    S(recover_elements, 372, TR_MESSAGE, 1, TR_DURABLE, TR_RECOVER_ELEMENTS_FIELDS) \
    S(recovered_elements, 373, TR_MESSAGE, 1, TR_PRIORITY, TR_RECOVERED_ELEMENTS_FIELDS)

TR_RECOVERY_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
