/*
 * What one actor of the live engine is.
 */
#ifndef TR_DEPLOY_DEBUG_ACTOR_STATE_H
#define TR_DEPLOY_DEBUG_ACTOR_STATE_H

#include "deploy/cli/command.h"

/* `troupe actors --state ADDRESS`: its state by its schema, and what it waits for. */
enum tr_exit_status tr_actor_state(const struct tr_invocation *invocation);

#endif
