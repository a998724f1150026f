/*
 * What every subcommand of `troupe` shares: its row, and what it says on stderr.
 *
 * A command is one row, `tr_command_NAME`, in a file of its own: what it is for, which words and
 * options it takes, what it does. Help, errors and shell completions are made from the rows.
 */
#ifndef TR_DEPLOY_CLI_COMMAND_H
#define TR_DEPLOY_CLI_COMMAND_H

#include "deploy/cli/options.h"
#include "deploy/common/output.h"
#include "deploy/common/program.h"

struct tr_command;

/* Which executions a command is for, so that the shell offers no others: the word of `names`. */
#define TR_EXECUTION_KINDS(K)   \
    K(ANY, "any")               \
    K(UNFINISHED, "unfinished") \
    K(RUNNING, "running")       \
    K(HELD, "held")             \
    K(FAILED, "failed")         \
    K(ENDED, "ended")

enum tr_execution_kind {
#define TRI_EXECUTION_KIND(name, word) TR_EXECUTION_KIND_##name,
    TR_EXECUTION_KINDS(TRI_EXECUTION_KIND)
#undef TRI_EXECUTION_KIND
};

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
    bool over_network;               /* and may be done by hosts that `troupe --host` names */
    uint8_t completes;               /* its words: enum tr_completes */
    uint8_t kind;                    /* if these are executions: enum tr_execution_kind */
    const char *choices;             /* its first word is one of these, "a|b"; NULL: any */
    uint32_t words_min;
    uint32_t words_max;
    enum tr_exit_status (*run)(const struct tr_invocation *invocation);
};

/* The tables of options of a command, ended by NULL. */
#define TR_COMMAND_TABLES_MAX 5
void tr_command_tables(const struct tr_command *command,
                       const struct tr_option *tables[TR_COMMAND_TABLES_MAX]);

/* Reads the words behind the command's name and runs it; what its process ends with. */
enum tr_exit_status tr_command_call(const struct tr_command *command, int argc, char **argv);

/* `troupe COMMAND --help`, on stdout. */
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
