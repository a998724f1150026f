/*
 * The pages that `man` shows, in the language of troff: made from the same rows as --help, so that
 * they are never behind it.
 */
#ifndef TR_DEPLOY_COMMANDS_MANUAL_H
#define TR_DEPLOY_COMMANDS_MANUAL_H

#include "deploy/cli/command.h"

/* troupe.1 with all commands, and troupe-COMMAND.1, on stdout. */
void tr_manual_print(void);
void tr_command_manual_print(const struct tr_command *command);

#endif
