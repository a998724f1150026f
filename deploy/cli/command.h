/*
 * What every subcommand of `troupe` shares: its row, exit statuses, ways of output.
 *
 * A command is one row, `tr_command_NAME`, in a file of its own: what it is for, which words and
 * options it takes, what it does. Help, errors and shell completions are made from the rows.
 */
#ifndef TR_DEPLOY_COMMAND_H
#define TR_DEPLOY_COMMAND_H

#include "deploy/cli/options.h"

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

/* How results are printed, in the order of the words that -o takes. */
#define TR_OUTPUT_WORDS "text|json|yaml|name|table"
enum tr_output {
    TR_OUTPUT_TEXT,
    TR_OUTPUT_JSON,
    TR_OUTPUT_YAML,
    TR_OUTPUT_NAME,
    TR_OUTPUT_TABLE,
};

struct tr_command;

/* One call of a command. */
struct tr_invocation {
    const struct tr_command *command;
    struct tr_arguments arguments;
    enum tr_output output;
    bool is_quiet;
    bool is_verbose;
};

struct tr_command {
    const char *name;
    const char *summary;             /* one line; NULL: not for people */
    const char *words;               /* what stands behind the name: "FILE [WORKFLOW]" */
    const char *text;                /* more help, or NULL */
    const char *examples;            /* lines, or NULL */
    const struct tr_option *options; /* beside those that all have; NULL: none */
    const char *outputs;             /* the words of -o, the first being the default; NULL: no -o */
    bool has_store;                  /* takes --store */
    uint8_t completes;               /* its words: enum tr_completes */
    uint32_t words_min;
    uint32_t words_max;
    enum tr_exit_status (*run)(const struct tr_invocation *invocation);
};

/* All of them, in the order of the help, ended by NULL. */
extern const struct tr_command *const tr_commands[];

/* The command of this name, or NULL. */
const struct tr_command *tr_command_find(const char *name);

/* The tables of options of a command, ended by NULL. */
#define TR_COMMAND_TABLES_MAX 5
void tr_command_tables(const struct tr_command *command,
                       const struct tr_option *tables[TR_COMMAND_TABLES_MAX]);

/* The program: finds the command that argv names and runs it; what its process ends with. */
enum tr_exit_status tr_program_run(int argc, char **argv);

/* `troupe --help` and `troupe COMMAND --help`, on stdout. */
void tr_help_print(void);
void tr_command_help_print(const struct tr_command *command);

/*
 * Says on stderr what is wrong with how a command was called, and where help is; gives
 * TR_EXIT_USAGE.
 */
TR_PRINTF(2, 3)
enum tr_exit_status tr_command_mistake(const struct tr_command *command, const char *format, ...);

/*
 * Says on stderr what is in the way of a command that was called rightly, such as a name that
 * nobody has or a file that is not there; gives TR_EXIT_USAGE.
 */
TR_PRINTF(2, 3)
enum tr_exit_status tr_command_refused(const struct tr_command *command, const char *format, ...);

/* Says on stderr what went wrong in the engine or around it; gives TR_EXIT_ENGINE. */
TR_PRINTF(2, 3)
enum tr_exit_status tr_command_failed(const struct tr_command *command, const char *format, ...);

/* A message for people on stderr, unless -q. */
TR_PRINTF(2, 3)
void tr_command_note(const struct tr_invocation *invocation, const char *format, ...);

#endif
