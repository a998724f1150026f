/*
 * What actors ask of the program itself, and what it answers: work that takes disks and time, and
 * is no handler's. It is sent to the files service (TR_SERVICE_FILES), whose thread answers it by
 * the table of deploy/inquiries/inquiries.c. What cannot be done is answered by blob_failed, as of
 * files.
 *
 * Everything here may be asked for again after a crash: it gives the same, and nothing twice.
 */
#ifndef TR_SCHEMAS_RUNTIME_INQUIRY_H
#define TR_SCHEMAS_RUNTIME_INQUIRY_H

#include "schemas/codec/field.h"

/*
 * Compiles the document that a dynamic task has written: `graph` is the SHA-256 of the graph of
 * its node, `task` the task there, `depth` how many workflows the node lies in. The document is
 * `text`, or of Flyte's `futures` as the task has kept it, or where both are empty the file at
 * `uri`. `path` is the node's, `recovery` what node_start says. What the graph names of the folders
 * of `attempt`, "EXECUTION/NAME", is kept; the rest is a fence where it ran elsewhere. Answered by
 * graph_made.
 */
#define TR_GRAPH_MAKE_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, graph, 1, 0)              \
    FIELD(u32, task, 1, 0)                 \
    FIELD(u32, depth, 1, 0)                \
    FIELD(text, text, 1, TR_REDACTED)      \
    FIELD(text, uri, 1, 0)                 \
    FIELD(text, path, 1, 0)                \
    FIELD(text, recovery, 1, 0)            \
    FIELD(text, attempt, 1, 0)             \
    FIELD(text, folder, 1, 0)              \
    FIELD(u32, trusted_bytes, 1, 0)        \
    FIELD(bytes, futures, 2, TR_REDACTED)

/*
 * The graph lies in the store under its SHA-256 and in the graph registry, held until the asker
 * says graph_drop; `workflow` is the one to run. `is_same`: the execution that this one recovers
 * has decided the same graph here, so what its nodes gave can be taken over. `life` is that of the
 * engine which holds it: an answer may wait in a mailbox longer than its engine lives. Or, with a
 * code and words, there is none.
 */
#define TR_GRAPH_MADE_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, graph, 1, 0)              \
    FIELD(u32, workflow, 1, 0)             \
    FIELD(text, code, 1, 0)                \
    FIELD(text, message, 1, 0)             \
    FIELD(bool, is_same, 1, 0)             \
    FIELD(u64, engine_start, 1, 0)

/*
 * Puts a graph that the store has into the graph registry of this host. Answered by graph_made, of
 * which only `graph` and `engine_start` are set, and which holds as one for graph_make.
 */
#define TR_GRAPH_READ_FIELDS(FIELD, ARRAY) FIELD(bytes, graph, 1, 0)

/* Told: lets go of what one graph_made held, or what a restart held in its place. */
#define TR_GRAPH_DROP_FIELDS(FIELD, ARRAY) FIELD(u64, graph, 1, 0)

/*
 * Binds inputs as `plan` says (actors/values/bind_plan.h), which look into values that lie
 * elsewhere. Answered by values_given (schemas/runtime/files.h).
 */
#define TR_VALUES_BIND_FIELDS(FIELD, ARRAY) FIELD(bytes, plan, 1, TR_REDACTED)

#define TR_INQUIRY_SCHEMAS(S)                                            \
    S(graph_make, 366, TR_MESSAGE, 2, TR_DURABLE, TR_GRAPH_MAKE_FIELDS)  \
    S(graph_made, 367, TR_MESSAGE, 1, TR_PRIORITY, TR_GRAPH_MADE_FIELDS) \
    S(graph_drop, 368, TR_MESSAGE, 1, TR_DURABLE, TR_GRAPH_DROP_FIELDS)  \
    S(graph_read, 369, TR_MESSAGE, 1, TR_DURABLE, TR_GRAPH_READ_FIELDS)  \
    S(values_bind, 364, TR_MESSAGE, 1, TR_DURABLE, TR_VALUES_BIND_FIELDS)

TR_INQUIRY_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
