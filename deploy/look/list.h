/*
 * `troupe list`: which executions there are, the newest first.
 */
#ifndef TR_DEPLOY_LOOK_LIST_H
#define TR_DEPLOY_LOOK_LIST_H

#include <stdio.h>

#include "deploy/cli/activity.h"
#include "deploy/cli/command.h"
#include "deploy/history/executions.h"

/* How many are shown where nobody says. */
#define TR_LIST_LIMIT 50

/* Which ones. Texts that are NULL take all. */
struct tr_list_request {
    const char *project;
    const char *domain;
    const char *workflow;               /* a name, or a glob */
    uint32_t phases;                    /* bits of enum tr_execution_phase; 0: all */
    uint64_t since_ms;                  /* created then or later */
    uint64_t limit;                     /* 0: all */
    const struct tr_activity *activity; /* NULL: none is */
    uint64_t now_ms;
    enum tr_output output;
};

/* Writes the list; `more` says whether the limit left some out. What the reader says, TR_MEMORY. */
TR_MUST_USE int tr_list_write(struct tr_reader *reader, const struct tr_list_request *request,
                              FILE *stream, bool *more);

#endif
