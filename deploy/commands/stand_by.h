/*
 * Standing by, or joining: what `troupe serve` does on a store whose work other hosts have.
 */
#ifndef TR_DEPLOY_COMMANDS_STAND_BY_H
#define TR_DEPLOY_COMMANDS_STAND_BY_H

#include "deploy/cli/command.h"
#include "deploy/engine/assemble.h"

/* Before a store is made: whether hosts may work beside each other on the one that is named. */
enum tr_exit_status tr_stand_by_check(const struct tr_invocation *invocation,
                                      const struct tr_live_options *options);

/*
 * Joins the hosts of the store and waits until this one has its work, or with `host_address` some
 * of it: `*is_leaving` is false then, and an engine may begin. A store in its folder, or of which
 * this host has work already, is not waited for. A signal ends it: then `*is_leaving` is true. What
 * is wrong is said on stderr.
 */
enum tr_exit_status tr_stand_by(const struct tr_invocation *invocation,
                                const struct tr_live_options *options, bool *is_leaving);

#endif
