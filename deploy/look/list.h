/*
 * `troupe list`: which executions there are, the newest first.
 */
#ifndef TR_DEPLOY_LOOK_LIST_H
#define TR_DEPLOY_LOOK_LIST_H

#include <stdio.h>

#include "deploy/cli/browse.h"
#include "deploy/cli/command.h"
#include "deploy/connect/activity.h"
#include "deploy/connect/host_names.h"
#include "deploy/selection/execution_filter.h"

/* How many are shown where nobody says. */
#define TR_LIST_LIMIT 50

/* By what they are sorted: the word, the field, since which one, whether the largest is first. */
#define TR_LIST_SORTS(S)                                    \
    S(CREATED, "created", "created_ms", NULL, true)         \
    S(STARTED, "started", "started_ms", NULL, true)         \
    S(ENDED, "ended", "ended_ms", NULL, true)               \
    S(DURATION, "duration", "ended_ms", "started_ms", true) \
    S(NAME, "name", "name", NULL, false)                    \
    S(WORKFLOW, "workflow", "workflow", NULL, false)        \
    S(PHASE, "phase", "phase", NULL, false)

enum tr_list_sort {
#define TRI_LIST_SORT(name, word, field, since, is_descending) TR_LIST_BY_##name,
    TR_LIST_SORTS(TRI_LIST_SORT)
#undef TRI_LIST_SORT
};

/* Which ones, in which order and form. */
struct tr_list_request {
    struct tr_execution_filter filter;
    enum tr_list_sort sort;
    bool is_reversed;
    uint64_t offset;                    /* so many of the first are left out */
    uint64_t limit;                     /* 0: all */
    bool is_waiting;                    /* not they but their gates that wait (gates.h) */
    const char *folder;                 /* of the store; of gates alone, as the next */
    const char *store;                  /* the --store of the command; NULL: none */
    const struct tr_activity *activity; /* NULL: none is */
    struct tr_host_names *hosts;        /* NULL: they are not named */
    const char *host;                   /* only those that live there; NULL: all */
    uint64_t now_ms;
    enum tr_output output;
};

/* What came of it. */
struct tr_listed {
    bool has_more;   /* the limit left some out */
    uint64_t folded; /* of an empty list: those that it left out since others have launched them */
};

/*
 * Reads the options of a command, asks the engine what is dormant, and writes the list on stdout,
 * or the gates of what is in it that wait. What goes wrong is said.
 */
enum tr_exit_status tr_list_show(const struct tr_browse *browse, bool is_waiting);

/* Writes the list. What the reader says, TR_MEMORY. */
TR_MUST_USE int tr_list_write(struct tr_reader *reader, const struct tr_list_request *request,
                              FILE *stream, struct tr_listed *listed);

#endif
