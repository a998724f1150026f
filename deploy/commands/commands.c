/*
 * The list of all commands. A new one is a row in a file of its own and two lines here.
 */
#include "deploy/cli/commands.h"

#include "deploy/commands/dispatch.h"

/* clang-format off */
const struct tr_command *const tr_commands[] = {
    &tr_command_init,
    &tr_command_run,
    &tr_command_submit,
    &tr_command_serve,
    &tr_command_check,
    &tr_command_inspect,
    &tr_command_apply,
    &tr_command_schedules,
    &tr_command_backfill,
    &tr_command_list,
    &tr_command_get,
    &tr_command_elements,
    &tr_command_watch,
    &tr_command_explain,
    &tr_command_logs,
    &tr_command_gates,
    &tr_command_console,
    &tr_command_signal,
    &tr_command_approve,
    &tr_command_reject,
    &tr_command_pause,
    &tr_command_resume,
    &tr_command_abort,
    &tr_command_recover,
    &tr_command_rerun,
    &tr_command_export,
    &tr_command_import,
    &tr_command_backup,
    &tr_command_restore,
    &tr_command_prune,
    &tr_command_store,
    &tr_command_audit,
    &tr_command_hosts,
    &tr_command_ping,
    &tr_command_config,
    &tr_command_plugins,
    &tr_command_resources,
    &tr_command_entities,
    &tr_command_actors,
    &tr_command_tap,
    &tr_command_metrics,
    &tr_command_completion,
    &tr_command_help,
    &tr_command_version,
    &tr_command_copilot,
    &tr_command_keeper,
    &tr_command_names,
    NULL,
};
/* clang-format on */
