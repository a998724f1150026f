/*
 * What executions and nodes got and gave, as JSON: slots of the history, read by the types that the
 * compiled graph has for them.
 */
#ifndef TR_DEPLOY_HISTORY_VALUES_H
#define TR_DEPLOY_HISTORY_VALUES_H

#include "deploy/common/document.h"
#include "deploy/graphs/route.h"
#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

/* One value: what it is called, and its slot. */
struct tr_value {
    struct tr_text name;
    const struct tr_type *type;
    struct tr_bytes slot;
    const char *folder; /* of its store, which has what lies elsewhere */
};

/* A value's bytes, from wherever they lie. */
struct tr_value_bytes {
    struct tr_bytes literal;
    const struct tr_type *type; /* of `literal`: what lies elsewhere may be one variant's value */
    struct tr_bytes mapped;     /* private, as the next */
    struct tr_buffer located;
};

/* Values in the order of their interface. Slots live as long as their row. */
struct tr_values {
    bool is_known; /* there was a row of them */
    struct tr_value *items;
    uint32_t count;
    struct tr_buffer row;
};

/* Of an execution, which has no stop, or of a node. */
struct tr_values_request {
    struct tr_reader *reader;
    const struct tr_graph *graph;
    uint32_t workflow;          /* of the execution */
    const struct tr_stop *stop; /* NULL: the execution itself */
    uint64_t execution;
    struct tr_text path;
    enum tr_value_side side;
};

/*
 * Reads them; that nobody has written any is no error. TR_MALFORMED (slots that do not suit the
 * graph), TR_MEMORY, and what the reader says.
 */
TR_MUST_USE int tr_values_read(const struct tr_values_request *request, struct tr_values *values);
void tr_values_fini(struct tr_values *values);

/*
 * Makes of the values of a map those of one of its elements: mapped inputs and the outputs, which
 * are lists, become what they have at that place. What has none there is left out. TR_MEMORY,
 * TR_MALFORMED, and why a list that lies elsewhere cannot be read.
 */
TR_MUST_USE int tr_values_of_element(const struct tr_stop *stop, enum tr_value_side side,
                                     uint64_t element, struct tr_values *values);

/*
 * Gets at a value's bytes until they are closed; what lies elsewhere is not read but mapped. Blobs
 * that lie in the store stand there as paths. TR_NOT_FOUND, TR_SYSTEM, TR_MALFORMED (not of its
 * size), TR_MEMORY.
 */
TR_MUST_USE int tr_value_open(const struct tr_value *value, struct tr_value_bytes *bytes);
void tr_value_close(struct tr_value_bytes *bytes);

/*
 * Writes a value as JSON, a list element by element, so that it may be large. On an error
 * (TR_MALFORMED, TR_LIMIT, TR_MEMORY) a part of it is written.
 */
TR_MUST_USE int tr_value_stream(const struct tr_value_bytes *bytes, FILE *stream);

/*
 * Appends a value as JSON; what lies elsewhere is read from there. TR_NOT_FOUND, TR_SYSTEM (it
 * cannot be read), TR_LIMIT, TR_MALFORMED, TR_MEMORY.
 */
TR_MUST_USE int tr_value_json(const struct tr_value *value, struct tr_buffer *json);

/* Writes one under a name; what cannot be read is a {"problem": ...}. TR_MALFORMED. */
TR_MUST_USE int tr_value_write(const struct tr_value *value, const char *name,
                               struct tr_document *document);

/* Writes them as a map; null where nothing is known. What cannot be read is a {"problem": ...}. */
TR_MUST_USE int tr_values_write(const struct tr_values *values, const char *name,
                                struct tr_document *document);

#endif
