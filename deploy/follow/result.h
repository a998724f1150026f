/*
 * What `run` and all that end with an execution's status print: its outputs on stdout, why it
 * failed on stderr, or all of it as one document.
 */
#ifndef TR_DEPLOY_FOLLOW_RESULT_H
#define TR_DEPLOY_FOLLOW_RESULT_H

#include "deploy/cli/command.h"
#include "deploy/history/executions.h"

/*
 * Prints the result of an execution that has ended, and gives the exit status it stands for. One
 * that has not ended is told so: TR_EXIT_ENGINE. `reader` is of the newest moment; NULL: one is
 * opened for the folder.
 */
enum tr_exit_status tr_result_print(const struct tr_invocation *invocation, const char *folder,
                                    struct tr_reader *reader, uint64_t execution);

/* Prints the name of an execution that goes on without this command, as text or as a document. */
void tr_result_print_name(const struct tr_invocation *invocation, struct tr_text name);

/* The same for one that a person has detached from, with words on stderr. `reader` as above. */
enum tr_exit_status tr_result_detached(const struct tr_invocation *invocation, const char *folder,
                                       struct tr_reader *reader, uint64_t execution);

#endif
