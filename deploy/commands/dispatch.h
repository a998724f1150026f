/*
 * The program as a whole: all its commands, and which of them is called.
 */
#ifndef TR_DEPLOY_COMMANDS_DISPATCH_H
#define TR_DEPLOY_COMMANDS_DISPATCH_H

#include "deploy/cli/command.h"

/* All of them, in the order of the help, ended by NULL. */
extern const struct tr_command *const tr_commands[];

/* The command of this name, or NULL. */
const struct tr_command *tr_command_find(const char *name);

/* The program: finds the command that argv names and runs it; what its process ends with. */
enum tr_exit_status tr_program_run(int argc, char **argv);

/* `troupe --help`, on stdout. */
void tr_help_print(void);

#endif
