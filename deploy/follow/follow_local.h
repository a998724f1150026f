/*
 * Staying with an execution until it has ended, in the engine of this process or as a client of
 * another's; both show it, pass Ctrl-C on, and give the exit status that the command ends with.
 */
#ifndef TR_DEPLOY_FOLLOW_FOLLOW_LOCAL_H
#define TR_DEPLOY_FOLLOW_FOLLOW_LOCAL_H

#include "deploy/cli/command.h"
#include "deploy/engine/assemble.h"
#include "deploy/follow/service_log.h"

/*
 * Wakes an execution and turns the engine of this process until it has ended, and until nobody
 * else follows anything in it. Ctrl-C aborts the execution, a second one kills its tasks and
 * leaves; SIGTERM and SIGHUP leave at once, and what is unfinished goes on with the next engine.
 * On a terminal `d` leaves it to an engine in the background (keys.h). Prints the result.
 */
enum tr_exit_status tr_follow_local(const struct tr_invocation *invocation, struct tr_live *live,
                                    uint64_t execution);

/* Turns the engine until nothing that is awake is unfinished; signals as above, Ctrl-C leaves. */
enum tr_exit_status tr_follow_local_active(const struct tr_invocation *invocation,
                                           struct tr_live *live);

/*
 * Turns the engine of a service, which tells what happens, until a signal: then it commits and
 * leaves with TR_EXIT_DONE, as service managers expect. What clients of Flyte's order at the desk
 * (NULL: there is none) is done.
 */
struct tr_desk;
enum tr_exit_status tr_follow_local_service(const struct tr_invocation *invocation,
                                            struct tr_live *live, struct tr_service_log *log,
                                            struct tr_desk *desk);

/*
 * Follows an execution in another process's engine. Ctrl-C aborts it there; SIGTERM, SIGHUP and, on
 * a terminal, `d` end this command alone. Prints the result.
 */
enum tr_exit_status tr_follow_live(const struct tr_invocation *invocation,
                                   struct tri_client *client, const char *folder,
                                   uint64_t execution);

#endif
