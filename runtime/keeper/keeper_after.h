/*
 * The command that is run when a process has ended, whatever has ended it: it ends what the process
 * had begun where no signal of ours reaches, such as a container. It runs in the keeper's own
 * environment, and reads and writes nothing. The end is reported behind it.
 *
 * It has to do no harm when it is run twice, or when there is nothing to end. One thread.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_AFTER_H
#define TR_RUNTIME_KEEPER_KEEPER_AFTER_H

#include "runtime/keeper/keeper_table.h"
#include "runtime/process/spawn.h"

/*
 * A plan for such a command, an array of strings as process_start's argv is one; `mark` as for
 * tri_process_plan_new, with the errors of that.
 */
TR_MUST_USE int tri_after_plan_new(struct tr_bytes argv, struct tr_text mark, char *reason,
                                   struct tri_process_plan **plan);

/*
 * Runs those of the keys that a dead keeper has left running, all at once, and waits for their
 * ends, at most TR_KEEPER_AFTER_MS. Returns how many could not be run, or were not done by then.
 */
size_t tri_after_run_left(struct tri_process_spawner *spawner, const struct tri_key_table *table,
                          uint64_t store);

#endif
