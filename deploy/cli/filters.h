/*
 * Which executions are meant: the words of options that several commands have.
 */
#ifndef TR_DEPLOY_CLI_FILTERS_H
#define TR_DEPLOY_CLI_FILTERS_H

#include "actors/graph/document/label_selector.h"
#include "deploy/cli/command.h"

/* The condition on labels, for a command's table. */
#define TR_FILTER_LABEL_OPTION                                                                   \
    {                                                                                            \
        'l', "label", "SELECTOR", "only with these labels: team=data,tier!=gold,!scratch", NULL, \
            0, true                                                                              \
    }

/*
 * Reads what `--phase` says, words with commas between them, into bits. TR_INVALID: `problem`
 * (TR_OPTIONS_PROBLEM_BYTES) names the word and those that there are.
 */
TR_MUST_USE int tr_filters_read_phases(const char *words, uint32_t *phases, char *problem);

/* Reads `--since`: a span before `now_ms`, a date or a time. False if it is none. */
TR_MUST_USE bool tr_filters_read_since(const char *word, uint64_t now_ms, uint64_t *since_ms);

/*
 * Reads an option that is such a time, which is 1 at least; without it `time_ms` stays as it is.
 * What is wrong is said on stderr.
 */
enum tr_exit_status tr_filters_read_time(const struct tr_invocation *invocation, const char *name,
                                         uint64_t now_ms, uint64_t *time_ms);

/*
 * Reads every `--label` into one selector, whose texts are in the arena. What is wrong is said on
 * stderr.
 */
enum tr_exit_status tr_filters_read_labels(const struct tr_invocation *invocation,
                                           struct tr_arena *arena,
                                           struct tr_label_selector *labels);

#endif
