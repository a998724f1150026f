/*
 * Starts one process as a process_start requests. A plan is prepared first, so that between the
 * clone and the exec only system calls are left.
 *
 * The child is made like posix_spawn's: it shares our memory and we are suspended until it execs or
 * fails, so the cost does not depend on the parent's size, and the child reports a failure by
 * writing to memory. (posix_spawn itself can set neither limits nor a umask.) One thread.
 */
#ifndef TR_RUNTIME_PROCESS_SPAWN_H
#define TR_RUNTIME_PROCESS_SPAWN_H

#include "runtime/env/env_limits.h"
#include "schemas/runtime/process.h"

/* The environment variable that marks every process of a keeper; its value is store/key. */
#define TRI_PROCESS_MARK "TROUPE_KEEPER_KEY"

/* A checked copy of a request, in memory of its own. */
struct tri_process_plan;

/* The stack on which children run until they exec, and what stands for files without a name. */
struct tri_process_spawner {
    uint8_t *stack;
    int null_fd; /* /dev/null */
};

/* Why a process did not start. */
struct tri_process_spawn_failure {
    int number; /* an errno */
    char reason[512];
};

/*
 * Checks and copies a request. `mark` is the value of TRI_PROCESS_MARK. Errors, with words in
 * `reason` (TR_REASON_BYTES_MAX): TR_INVALID, TR_LIMIT, TR_MALFORMED, TR_MEMORY.
 */
TR_MUST_USE int tri_process_plan_new(const struct tr_process_start *start, struct tr_text mark,
                                     char *reason, struct tri_process_plan **plan);

/* NULL is fine. */
void tri_process_plan_free(struct tri_process_plan *plan);

/* The file of its program, where the search for it ends. False: there is none. */
bool tri_process_plan_program(const struct tri_process_plan *plan, char path[TR_PATH_BYTES_MAX]);

/* The words of its command, each with a closing zero; a view of the plan. */
struct tr_bytes tri_process_plan_words(const struct tri_process_plan *plan);

/*
 * A file without a name that holds the rest of it but limits, each text with a closing zero: the
 * folder, the three files (/dev/null is empty), the umask in octal digits, the environment. Errors:
 * a negative number.
 */
TR_MUST_USE int tri_process_plan_write(const struct tri_process_plan *plan);

/* TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_process_spawner_init(struct tri_process_spawner *spawner);

void tri_process_spawner_fini(struct tri_process_spawner *spawner);

/* Not a descriptor: the process stays in our control group. */
#define TRI_SPAWN_NO_GROUP (-1)

/*
 * Starts the plan's process, as leader of a new session and process group, in the control group
 * whose cgroup.procs is open as `group`. The caller must reap it. TR_FAILED: the program was not
 * run, no process is left, and `failure` says why.
 */
TR_MUST_USE int tri_process_spawn(struct tri_process_spawner *spawner,
                                  const struct tri_process_plan *plan, int group,
                                  struct tri_process_spawn_failure *failure, uint32_t *pid);

#endif
