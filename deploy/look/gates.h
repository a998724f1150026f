/*
 * The inbox of a store: the gates of its executions that wait for people. `troupe gates` shows it,
 * and `troupe list --waiting` of the executions that it picks.
 */
#ifndef TR_DEPLOY_LOOK_GATES_H
#define TR_DEPLOY_LOOK_GATES_H

#include <stdio.h>

#include "deploy/common/document.h"
#include "deploy/common/output.h"
#include "deploy/common/table.h"
#include "deploy/connect/activity.h"
#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

/* What is shown, and where. */
struct tr_inbox_request {
    struct tr_reader *reader;
    const char *folder;                 /* of the store */
    const char *store;                  /* the --store of the command; NULL: none */
    const struct tr_activity *activity; /* NULL: none is */
    uint64_t offset;                    /* so many of the first gates are left out */
    uint64_t limit;                     /* gates at most; 0: all */
    uint64_t now_ms;
    enum tr_output output;
    FILE *stream;
};

struct tr_inbox {
    struct tr_inbox_request request;
    bool has_more; /* the limit left some out */

    /* private */
    const struct tr_execution *execution; /* whose gates are being added */
    struct tr_table table;
    struct tr_document document;
    uint64_t skipped;
    uint64_t count;
};

void tr_inbox_begin(const struct tr_inbox_request *request, struct tr_inbox *inbox);

/*
 * Adds the gates of an execution that wait, by their paths; none of one that has ended. Its texts
 * live as long as the call. TR_CLOSED behind the limit, TR_MEMORY, and what the reader says.
 */
TR_MUST_USE int tr_inbox_add(struct tr_inbox *inbox, const struct tr_execution *row);

/* Writes what is not written yet, and ends it. TR_MEMORY. */
TR_MUST_USE int tr_inbox_end(struct tr_inbox *inbox);

#endif
