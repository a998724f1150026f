/*
 * Which executions are meant: the words of options that several commands have.
 */
#ifndef TR_DEPLOY_CLI_FILTERS_H
#define TR_DEPLOY_CLI_FILTERS_H

#include "deploy/cli/options.h"

/*
 * Reads what `--phase` says, words with commas between them, into bits. TR_INVALID: `problem`
 * (TR_OPTIONS_PROBLEM_BYTES) names the word and those that there are.
 */
TR_MUST_USE int tr_filters_read_phases(const char *words, uint32_t *phases, char *problem);

/* Reads `--since`: a span before `now_ms`, a date or a time. False if it is none. */
TR_MUST_USE bool tr_filters_read_since(const char *word, uint64_t now_ms, uint64_t *since_ms);

#endif
