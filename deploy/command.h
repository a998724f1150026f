/*
 * What every subcommand of `troupe` shares: its row in the table, exit statuses, ways of output.
 */
#ifndef TR_DEPLOY_COMMAND_H
#define TR_DEPLOY_COMMAND_H

#include "schemas/base.h"

/* The version of the program; on a wire and on a disk each schema has its own. */
#define TR_PROGRAM_VERSION "0.1.0"

/* What a process of `troupe` ends with. */
enum tr_exit_status {
    TR_EXIT_DONE = 0,    /* done, and succeeded */
    TR_EXIT_FAILED = 1,  /* the workflow failed or timed out */
    TR_EXIT_USAGE = 2,   /* bad usage, or a definition or inputs with errors */
    TR_EXIT_ABORTED = 3, /* the workflow was aborted */
    TR_EXIT_ENGINE = 4,  /* the engine or its surroundings failed */
};

/* How results are printed. */
enum tr_output {
    TR_OUTPUT_TEXT,
    TR_OUTPUT_JSON,
};

struct tr_command {
    const char *name;
    const char *summary; /* one line; NULL: not for people */
    const char *usage;   /* what stands behind the name, and the options, a line each */
    int (*run)(int argc, char **argv);
};

/* All of them, ended by a row without a name. */
extern const struct tr_command tr_commands[];

/* Reads the value of -o; false, with a message on stderr, for what is none. */
bool tr_output_read(const char *command, const char *word, enum tr_output *output);

/* Prints the usage of a command: to stdout when it was asked for, to stderr after a mistake. */
int tr_command_help(const char *name, bool is_mistake);

int tr_command_check(int argc, char **argv);
int tr_command_version(int argc, char **argv);
int tr_command_keeper(int argc, char **argv);

#endif
