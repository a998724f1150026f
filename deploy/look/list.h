/*
 * `troupe list`: which executions there are, the newest first.
 */
#ifndef TR_DEPLOY_LIST_H
#define TR_DEPLOY_LIST_H

#include <stdio.h>

#include "deploy/asleep.h"
#include "deploy/cli/command.h"
#include "deploy/history/executions.h"

/* How many are shown where nobody says. */
#define TR_LIST_LIMIT 50

/* Which ones. Texts that are NULL take all. */
struct tr_list_request {
    const char *project;
    const char *domain;
    const char *workflow;           /* a name, or a glob */
    uint32_t phases;                /* bits of enum tr_execution_phase; 0: all */
    uint64_t since_ms;              /* created then or later */
    uint64_t limit;                 /* 0: all */
    const struct tr_asleep *asleep; /* NULL: none is */
    uint64_t now_ms;
    enum tr_output output;
};

/*
 * Reads what `--phase` says, words with commas between them, into bits. TR_INVALID: `problem`
 * (TR_OPTIONS_PROBLEM_BYTES) names the word and those that there are.
 */
TR_MUST_USE int tr_list_phases(const char *words, uint32_t *phases, char *problem);

/* Reads `--since`: a span before `now_ms`, a date or a time. False if it is none. */
TR_MUST_USE bool tr_list_since(const char *word, uint64_t now_ms, uint64_t *since_ms);

/* Writes the list; `more` says whether the limit left some out. What the reader says, TR_MEMORY. */
TR_MUST_USE int tr_list_write(struct tr_reader *reader, const struct tr_list_request *request,
                              FILE *stream, bool *more);

#endif
