/*
 * From the words that were typed to a command: its name may stand behind its options.
 */
#include "deploy/commands/dispatch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/cli/store.h"
#include "runtime/link/entry_locator.h"
#include "schemas/codec/spelling.h"

const struct tr_command *tr_command_find(const char *name)
{
    for (const struct tr_command *const *command = tr_commands; *command != NULL; command++) {
        if (strcmp((*command)->name, name) == 0) {
            return *command;
        }
    }
    return NULL;
}

void tr_help_print(void)
{
    printf("usage: troupe COMMAND [ARGUMENT]...\n\n");
    for (const struct tr_command *const *command = tr_commands; *command != NULL; command++) {
        if ((*command)->summary != NULL) {
            printf("  %-12s %s\n", (*command)->name, (*command)->summary);
        }
    }
    printf("\n`troupe COMMAND --help` says more, with examples.\n"
           "Exit status: 0 succeeded, 1 the workflow failed, 2 wrong usage or definition,\n"
           "3 aborted, 4 the engine or its environment failed.\n");
}

static enum tr_exit_status no_command(void)
{
    fprintf(stderr, "troupe: name a command (`troupe --help` lists all)\n");
    return TR_EXIT_USAGE;
}

/* Names the command that is most like what was typed. */
static enum tr_exit_status unknown(const char *name)
{
    const char *nearest = NULL;
    unsigned least = UINT32_MAX;
    struct tr_text typed = tr_text_of(name);
    for (const struct tr_command *const *command = tr_commands; *command != NULL; command++) {
        unsigned distance = tr_spelling_distance(typed, tr_text_of((*command)->name));
        if ((*command)->summary != NULL && tr_spelling_is_near(typed, distance) &&
            distance < least) {
            nearest = (*command)->name;
            least = distance;
        }
    }
    fprintf(stderr, "troupe: unknown command: %s", name);
    if (nearest != NULL) {
        fprintf(stderr, "; did you mean %s?", nearest);
    }
    fprintf(stderr, "\n`troupe --help` lists all.\n");
    return TR_EXIT_USAGE;
}

/* ------------------------------------------------------- options before the command */

/* Whether all of these words are options of the command, with their values. */
static bool are_options(const struct tr_command *command, int argc, char **argv)
{
    char problem[TR_OPTIONS_PROBLEM_BYTES];
    const struct tr_option *tables[TR_COMMAND_TABLES_MAX];
    struct tr_arguments arguments;
    tr_command_tables(command, tables);
    if (tr_arguments_read(tables, argc, argv, &arguments, problem) != 0) {
        return false;
    }
    bool is_all = arguments.word_count == 0;
    tr_arguments_fini(&arguments);
    return is_all;
}

/* Whether this is how the option is written when its value is the next word. */
static bool takes_next(const struct tr_option *option, const char *word)
{
    bool is_letter = option->letter != 0 && word[1] == option->letter && word[2] == '\0';
    bool is_name = word[1] == '-' && strcmp(word + 2, option->name) == 0;
    return option->value != NULL && (is_letter || is_name);
}

/* Whether that is so of an option of any command. */
static bool any_takes_next(const char *word)
{
    for (const struct tr_command *const *command = tr_commands; *command != NULL; command++) {
        const struct tr_option *tables[TR_COMMAND_TABLES_MAX];
        tr_command_tables(*command, tables);
        for (const struct tr_option **table = tables; *table != NULL; table++) {
            for (const struct tr_option *option = *table; option->name != NULL; option++) {
                if (takes_next(option, word)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/*
 * Where the command stands: the first word that names one and has only options of its own before
 * it, so that a value which is spelled like a command is none. Else the first word that is neither
 * an option nor the value of one, for what is wrong to be told of it; argc if there is none.
 */
static int find_command(int argc, char **argv)
{
    for (int at = 1; at < argc; at++) {
        const struct tr_command *command = tr_command_find(argv[at]);
        if (command != NULL && are_options(command, at - 1, argv + 1)) {
            return at;
        }
    }
    int at = 1;
    while (at < argc && argv[at][0] == '-') {
        at += any_takes_next(argv[at]) ? 2 : 1;
    }
    return at < argc ? at : argc;
}

/* Moves the command before the options that stand before it; they stay in their order. */
static void put_command_first(int argc, char **argv)
{
    static const char *const commands[] = {"-h", "--help", "--version"};
    for (size_t i = 0; i < TR_COUNT_OF(commands); i++) {
        if (strcmp(argv[1], commands[i]) == 0) {
            return;
        }
    }
    int at = find_command(argc, argv);
    if (at > 1 && at < argc) {
        char *name = argv[at];
        memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof *argv);
        argv[1] = name;
    }
}

/* ------------------------------------------------------------- hosts over the network */

static bool is_entry(const char *value)
{
    return value != NULL && tri_entry_is_locator(value);
}

/*
 * Takes `--host tcp://...` out of the words, wherever it stands: the command is one of a client of
 * these hosts then. Another value of --host is the command's own.
 */
static int take_entry(int argc, char **argv)
{
    static const char option[] = "--host";
    int kept = 1;
    bool is_over = false;
    for (int at = 1; at < argc; at++) {
        const char *word = argv[at];
        const char *value = NULL;
        is_over = is_over || strcmp(word, "--") == 0;
        if (!is_over && strcmp(word, option) == 0 && at + 1 < argc && is_entry(argv[at + 1])) {
            value = argv[++at];
        } else if (!is_over && strncmp(word, option, sizeof option - 1) == 0 &&
                   word[sizeof option - 1] == '=' && is_entry(word + sizeof option)) {
            value = word + sizeof option;
        }
        if (value != NULL) {
            (void)setenv(TR_STORE_HOST_VARIABLE, value, 1);
        } else {
            argv[kept++] = argv[at];
        }
    }
    argv[kept] = NULL;
    return kept;
}

/* What was printed has to arrive. A reader that has left is no error; a full disk is. */
static enum tr_exit_status finish(enum tr_exit_status status)
{
    if (fflush(stdout) != 0 && errno != EPIPE) {
        fprintf(stderr, "troupe: the result could not be written: %s\n", strerror(errno));
        return TR_EXIT_ENGINE;
    }
    return status;
}

enum tr_exit_status tr_program_run(int argc, char **argv)
{
    /* A reader that has gone is seen by the next write, not by a signal that ends an engine. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        return no_command();
    }
    argc = take_entry(argc, argv);
    if (argc < 2) {
        return no_command();
    }
    put_command_first(argc, argv);
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        tr_help_print();
        return finish(TR_EXIT_DONE);
    }
    const struct tr_command *command =
        tr_command_find(strcmp(name, "--version") == 0 ? "version" : name);
    if (command == NULL) {
        return name[0] == '-' ? no_command() : unknown(name);
    }
    return finish(tr_command_call(command, argc - 2, argv + 2));
}
