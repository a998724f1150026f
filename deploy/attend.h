/*
 * Staying with an execution until it has ended, in the engine of this process or as a guest of
 * another's; both show it, pass Ctrl-C on, and give the exit status that the command ends with.
 */
#ifndef TR_DEPLOY_ATTEND_H
#define TR_DEPLOY_ATTEND_H

#include "deploy/assemble.h"
#include "deploy/command.h"

/*
 * Turns the engine of this process until an execution has ended, and until nobody else follows
 * anything in it. Ctrl-C aborts the execution, a second one kills its tasks and leaves; SIGTERM and
 * SIGHUP leave at once, and what is unfinished goes on with the next engine. Prints the result.
 */
enum tr_exit_status tr_attend(const struct tr_invocation *invocation, struct tr_live *live,
                              uint64_t execution);

/* Turns the engine until nothing in it is unfinished; signals as above, but Ctrl-C leaves. */
enum tr_exit_status tr_attend_all(const struct tr_invocation *invocation, struct tr_live *live);

/*
 * Follows an execution in another process's engine. Ctrl-C aborts it there; SIGTERM and SIGHUP end
 * this command alone. Prints the result.
 */
enum tr_exit_status tr_visit(const struct tr_invocation *invocation, struct tri_client *client,
                             const char *folder, uint64_t execution);

#endif
