/*
 * Between the files that read documents of outputs: what is known of the reading, and how a value
 * that was read, in whichever form, is packed. Only exchange*.c includes this.
 */
#ifndef TR_ACTORS_VALUES_EXCHANGE_INSIDE_H
#define TR_ACTORS_VALUES_EXCHANGE_INSIDE_H

#include "actors/graph/flyte/flyte.h"
#include "actors/values/exchange.h"

/* A variable of a plan, its type in the memory of the plan's types. */
struct tri_planned {
    struct tr_text name;
    const struct tr_type *type;
};

/* A value of the document: where it was packed. */
struct tri_found {
    struct tri_planned planned;
    bool is_there;
    size_t begin;
    size_t size;
};

struct tri_reading {
    struct tr_text document;
    struct tr_text left; /* of a document of JSON */
    struct tr_text folder;
    struct tr_arena arena; /* for plan and types */
    struct tr_types types;
    struct tr_buffer values;
    struct tri_found *found;
    uint32_t count;
    enum tr_document_form form;
    uint32_t depth; /* of the graph that it may decide; 0: it may not */
    bool is_decision;
    const struct tr_exchange_keeper *keeper;
    struct tr_exchange_problem *problem;
    const char *file_code; /* of the failure, where a file was not opened */
};

/* Reads a document: what is there is packed and found. TR_INVALID: the problem says why. */
TR_MUST_USE int tri_exchange_read_json(struct tri_reading *reading);
TR_MUST_USE int tri_exchange_read_flyte(struct tri_reading *reading, struct tr_bytes document);

/* Says why the document is no outputs: TR_INVALID. */
int tri_exchange_refuse(struct tri_reading *reading, const char *code, const char *format, ...)
    TR_PRINTF(3, 4);

/*
 * The same of what a report has to say of a value; `element` is its position in the list, or -1.
 */
TR_MUST_USE int tri_exchange_refuse_value(struct tri_reading *reading,
                                          const struct tri_planned *planned, int64_t element,
                                          struct tr_report *report);

/* Where the reading of the document has come to. */
struct tri_place tri_exchange_place(const struct tri_reading *reading);

/* What the keeper has said, behind the name of the output: `error`, which is its error. */
TR_MUST_USE int tri_exchange_kept(struct tri_reading *reading, const struct tri_planned *planned,
                                  int error);

/* The place of an output's value; NULL: nobody asks for it. */
struct tri_found *tri_exchange_find(struct tri_reading *reading, struct tr_text name);

/*
 * Packs a value, which was read into `arena`, as one of a type; NULL: it could not be read, and the
 * report says why. `element` is its position in the list, or -1.
 */
TR_MUST_USE int tri_exchange_pack(struct tri_reading *reading, const struct tri_planned *planned,
                                  const struct tr_type *type, int64_t element,
                                  struct tr_arena *arena, struct tr_report *report,
                                  const struct tr_tree *tree);

/* Puts the header of a list in front of its elements, which are packed already. */
TR_MUST_USE int tri_exchange_put_header(struct tr_buffer *values, size_t begin, uint32_t count);

#endif
