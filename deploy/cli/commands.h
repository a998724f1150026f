/*
 * The rows of all commands; each stands in the file of its name.
 */
#ifndef TR_DEPLOY_CLI_COMMANDS_H
#define TR_DEPLOY_CLI_COMMANDS_H

#include "deploy/cli/command.h"

extern const struct tr_command tr_command_abort;
extern const struct tr_command tr_command_actors;
extern const struct tr_command tr_command_apply;
extern const struct tr_command tr_command_approve;
extern const struct tr_command tr_command_audit;
extern const struct tr_command tr_command_backfill;
extern const struct tr_command tr_command_backup;
extern const struct tr_command tr_command_check;
extern const struct tr_command tr_command_compare;
extern const struct tr_command tr_command_completion;
extern const struct tr_command tr_command_drain;
extern const struct tr_command tr_command_elements;
extern const struct tr_command tr_command_entities;
extern const struct tr_command tr_command_explain;
extern const struct tr_command tr_command_export;
extern const struct tr_command tr_command_files;
extern const struct tr_command tr_command_gates;
extern const struct tr_command tr_command_get;
extern const struct tr_command tr_command_help;
extern const struct tr_command tr_command_hosts;
extern const struct tr_command tr_command_import;
extern const struct tr_command tr_command_init;
extern const struct tr_command tr_command_inspect;
extern const struct tr_command tr_command_config;
extern const struct tr_command tr_command_console;
extern const struct tr_command tr_command_copilot;
extern const struct tr_command tr_command_keeper;
extern const struct tr_command tr_command_list;
extern const struct tr_command tr_command_logs;
extern const struct tr_command tr_command_metrics;
extern const struct tr_command tr_command_move;
extern const struct tr_command tr_command_names;
extern const struct tr_command tr_command_pause;
extern const struct tr_command tr_command_reject;
extern const struct tr_command tr_command_plugins;
extern const struct tr_command tr_command_ping;
extern const struct tr_command tr_command_prune;
extern const struct tr_command tr_command_recover;
extern const struct tr_command tr_command_rerun;
extern const struct tr_command tr_command_restore;
extern const struct tr_command tr_command_resources;
extern const struct tr_command tr_command_resume;
extern const struct tr_command tr_command_run;
extern const struct tr_command tr_command_schedules;
extern const struct tr_command tr_command_serve;
extern const struct tr_command tr_command_signal;
extern const struct tr_command tr_command_store;
extern const struct tr_command tr_command_submit;
extern const struct tr_command tr_command_tap;
extern const struct tr_command tr_command_version;
extern const struct tr_command tr_command_watch;

#endif
