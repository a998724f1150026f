/*
 * Recordings of the engine's actors: making one, and replaying one.
 */
#ifndef TR_DEPLOY_DEBUG_REPLAY_H
#define TR_DEPLOY_DEBUG_REPLAY_H

#include "deploy/cli/command.h"

/*
 * `troupe tap --replay FILE [ACTOR]`: gives a recorded actor its messages in a sandbox and prints
 * what it does. `address` NULL: the actor that was recorded. What is wrong is said on stderr.
 */
enum tr_exit_status tr_replay(const struct tr_invocation *invocation, const char *path,
                              const char *address);

/* `troupe tap --record FILE ACTOR [limit=N] [seconds=N]`: asks the live engine to record. */
enum tr_exit_status tr_record_file(const struct tr_invocation *invocation, const char *path);

#endif
