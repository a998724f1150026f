/*
 * What the files of `recover` and `rerun` share: one call of either, step by step.
 */
#ifndef TR_DEPLOY_COMMANDS_RECOVER_H
#define TR_DEPLOY_COMMANDS_RECOVER_H

#include "deploy/cli/browse.h"
#include "deploy/follow/begin.h"
#include "deploy/recovery/recovery_plan.h"

/* One call of a command. */
struct tri_recover {
    const struct tr_invocation *invocation;
    bool is_rerun;
    struct tr_browse browse;
    struct tr_found found;
    struct tr_arena arena;
    struct tr_graph *before; /* that ran */
    uint32_t workflow_before;
    struct tr_prepared prepared;
    bool owns_before; /* it is not the prepared graph */
    struct tr_buffer inputs_before;
    struct tri_vector targets; /* struct tr_recovery_target */
    struct tr_recovery_made made;
    struct tr_text uri;
};

/* What --from and --set name, into `targets`; something has to be. What is wrong is said. */
enum tr_exit_status tri_recover_targets(struct tri_recover *recover);

/* Says what is wrong with a call; what went wrong in the engine or around it. */
static inline enum tr_exit_status tri_recover_mistake(const struct tri_recover *recover,
                                                      const char *words)
{
    return tr_command_mistake(recover->invocation->command, "%s", words);
}

static inline enum tr_exit_status tri_recover_failed(const struct tri_recover *recover, int error)
{
    return tr_command_failed(recover->invocation->command, "%s", tr_error_text(error));
}

/* The name of the earlier execution. */
static inline struct tr_text tri_recover_name_of(const struct tri_recover *recover)
{
    return recover->found.execution.row.name;
}

#endif
