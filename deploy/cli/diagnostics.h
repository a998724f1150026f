/*
 * What a command says of what people have written: of definitions, of inputs, of the settings.
 */
#ifndef TR_DEPLOY_CLI_DIAGNOSTICS_H
#define TR_DEPLOY_CLI_DIAGNOSTICS_H

#include "actors/graph/document/report.h"
#include "deploy/cli/command.h"
#include "deploy/settings/settings.h"

/*
 * Says on stderr what came of a definition or of inputs, warnings unless the command is quiet; what
 * that means for the command. `error` is what their reader returned.
 */
enum tr_exit_status tr_diagnostics_print_report(const struct tr_invocation *invocation,
                                                struct tr_report *report, int error);

/*
 * Finds and reads the settings of a store (`folder` may be empty: none yet). What is wrong is said
 * on stderr, each error with its place: TR_EXIT_USAGE. Ended with tr_settings_fini in any case.
 */
enum tr_exit_status tr_diagnostics_load_settings(const struct tr_invocation *invocation,
                                                 const char *folder,
                                                 struct tr_settings_file *settings);

/* The same for the key `store` of a user's settings alone. */
enum tr_exit_status tr_diagnostics_load_store(const struct tr_invocation *invocation,
                                              struct tr_settings_file *settings);

#endif
