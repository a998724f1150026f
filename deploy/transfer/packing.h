/*
 * Packing executions for another store: all that the history has of them, and every graph, blob
 * and folder of code that is named there.
 */
#ifndef TR_DEPLOY_TRANSFER_PACKING_H
#define TR_DEPLOY_TRANSFER_PACKING_H

#include "deploy/history/executions.h"
#include "deploy/retention/references.h"
#include "deploy/transfer/archive.h"

/* The executions that go together: one, and all that it has launched. In order of numbers. */
struct tr_packing_set {
    uint64_t *numbers;
    size_t count;
    size_t unfinished; /* how many of them have not ended */
};

void tr_packing_set_fini(struct tr_packing_set *executions);

/* Whether a number is among them. */
bool tr_packing_set_has(const struct tr_packing_set *executions, uint64_t number);

/* Finds them. TR_MEMORY, and what the reader says. */
TR_MUST_USE int tr_packing_set_find(struct tr_reader *reader, const struct tr_execution *row,
                                    struct tr_packing_set *executions);

/* An archive that is being packed. */
struct tr_packing {
    const char *folder; /* of the store */
    const struct tr_packing_set *executions;
    struct tr_archive_writer writer;
    struct tr_references *references; /* of what was written so far */
    char *explain;                    /* TRI_STORE_EXPLAIN_BYTES: words of an error */
};

/* Begins PATH.part with its head. TR_SYSTEM (errno), TR_MEMORY, TR_LIMIT; `explain` has words. */
TR_MUST_USE int tr_packing_begin(struct tr_packing *packing, const char *path,
                                 const struct tr_archive_head *head);

/* Adds an operation, and notes what it names; `is_page` as for tr_references_read. */
void tr_packing_add(struct tr_packing *packing, const struct tr_archive_op *op, bool is_page);

/* Adds all rows of the executions. Errors as above, and what the reader says. */
TR_MUST_USE int tr_packing_rows(struct tr_packing *packing, struct tr_reader *reader);

/* Adds the files that are named, and the end; then the part is on the disk. Errors as above. */
TR_MUST_USE int tr_packing_finish(struct tr_packing *packing);

/* Gives up what tr_packing_begin has begun; after tr_packing_finish only memory. */
void tr_packing_fini(struct tr_packing *packing, const char *path, bool is_kept);

#endif
