/*
 * The executions that a command names, where there may be many: each word is EXEC, or a glob over
 * those that have not ended; or without a word, those that have not ended and have certain labels.
 * Changing more than one is asked about on a terminal, and wants --yes elsewhere.
 */
#ifndef TR_DEPLOY_CLI_SELECTION_H
#define TR_DEPLOY_CLI_SELECTION_H

#include "deploy/cli/filters.h"
#include "deploy/history/executions.h"

/* For the table of a command's options: that it may be more than one. */
#define TR_SELECTION_YES_OPTION                                                    \
    {                                                                              \
        'y', "yes", NULL, "do not ask, though it is more than one", NULL, 0, false \
    }

/* The same, and what finds executions without a word. */
#define TR_SELECTION_OPTIONS TR_FILTER_LABEL_OPTION, TR_SELECTION_YES_OPTION

/* How many are named in a question. */
#define TR_SELECTION_NAMED 5

/*
 * Asks whether so many things may be changed, on a terminal; elsewhere that is refused. `what` they
 * are ("executions"); `names` has the first TR_SELECTION_NAMED of them, or all.
 */
enum tr_exit_status tr_selection_ask(const struct tr_invocation *invocation, const char *verb,
                                     const char *what, const struct tr_text *names, size_t count);

struct tr_selection {
    struct tr_executions_row *items; /* each once */
    size_t count;
    size_t capacity;
};

/*
 * Finds them in the store in `folder`; `verb` is what is done to them ("pause"). What is wrong, and
 * a no, is said: then the status is not TR_EXIT_DONE, and there is nothing to end.
 */
enum tr_exit_status tr_selection_find(const struct tr_invocation *invocation, const char *folder,
                                      const char *verb, struct tr_selection *selection);
void tr_selection_fini(struct tr_selection *selection);

#endif
