/*
 * Starting one process as a process_start says. What can be prepared is prepared in a plan, so that
 * between the two processes' ways parting and the exec only system calls are left.
 *
 * The child is made like posix_spawn's: it borrows our memory and we stand still until it has
 * become the program or failed, so it costs the same from a large parent, and it can say what
 * failed by just writing it down. (posix_spawn itself can neither set limits nor a umask.) One
 * thread.
 */
#ifndef TR_RUNTIME_PROCESS_SPAWN_H
#define TR_RUNTIME_PROCESS_SPAWN_H

#include "schemas/runtime/process.h"

/* The name of the variable that marks every process of a keeper; its value is store/key. */
#define TRI_PROCESS_MARK "TROUPE_KEEPER_KEY"

/* All that the child needs, in memory of its own. */
struct tri_process_plan;

/* What children run on until they exec. */
struct tri_process_spawner {
    uint8_t *stack;
    int null_fd;
};

/* Why a process did not start. */
struct tri_process_spawn_failure {
    int number; /* an errno */
    char reason[512];
};

/*
 * Checks and copies a request. `mark` is the value of TRI_PROCESS_MARK. Errors, with their words in
 * `reason` (TR_REASON_BYTES_MAX): TR_INVALID, TR_LIMIT, TR_MALFORMED, TR_MEMORY.
 */
TR_MUST_USE int tri_process_plan_new(const struct tr_process_start *start, struct tr_text mark,
                                     char *reason, struct tri_process_plan **plan);

/* NULL is fine. */
void tri_process_plan_free(struct tri_process_plan *plan);

/* TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_process_spawner_init(struct tri_process_spawner *spawner);

void tri_process_spawner_fini(struct tri_process_spawner *spawner);

/*
 * Starts the plan's process; it leads a session and a process group of its own. The caller has to
 * wait for it. TR_FAILED: it did not come to run the program, nothing is left of it, and `failure`
 * says why.
 */
TR_MUST_USE int tri_process_spawn(struct tri_process_spawner *spawner,
                                  const struct tri_process_plan *plan,
                                  struct tri_process_spawn_failure *failure, uint32_t *pid);

#endif
