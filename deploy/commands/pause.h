/*
 * Asking the live engine to pause an execution, or to let it go on.
 */
#ifndef TR_DEPLOY_COMMANDS_PAUSE_H
#define TR_DEPLOY_COMMANDS_PAUSE_H

#include "deploy/cli/command.h"

struct tri_client;

/*
 * Asks, as this process's user; `message` may be NULL. TR_NO_ACTOR: the execution has ended;
 * what the engine says, and those of tr_client_call.
 */
TR_MUST_USE int tr_pause_ask(struct tri_client *client, uint64_t execution, bool is_paused,
                             const char *message);

/* The words for the history: "paused by ann@desk: until Monday". */
#define TR_PAUSE_CAUSE_BYTES 1024
void tr_pause_cause(bool is_paused, const char *message, char cause[TR_PAUSE_CAUSE_BYTES]);

#endif
