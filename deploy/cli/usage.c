/*
 * `troupe help`, and what --help prints: made from the rows of the commands.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/commands/manual.h"

/* Where the texts of options begin. */
#define TEXT_COLUMN 28

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
           "3 aborted, 4 the engine or its surroundings failed.\n");
}

static void print_option(const struct tr_option *option, const char *words)
{
    char name[128];
    char letter[8] = "    ";
    if (option->letter != 0) {
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    }
    const char *value = words != NULL ? words : option->value;
    bool is_long = words != NULL && strlen(words) > 12;
    int size =
        snprintf(name, sizeof name, "  %s--%s%s%s", letter, option->name, value != NULL ? " " : "",
                 value == NULL ? ""
                 : is_long     ? option->value
                               : value);
    printf("%-*s%s%s", TEXT_COLUMN, name, size >= TEXT_COLUMN ? "  " : "", option->text);
    if (is_long) {
        printf(": %s", words);
    }
    printf("\n");
}

void tr_command_help_print(const struct tr_command *command)
{
    const struct tr_option *tables[TR_COMMAND_TABLES_MAX];
    tr_command_tables(command, tables);
    printf("usage: troupe %s %s\n", command->name, command->words);
    if (command->summary != NULL) {
        printf("\n%s\n", command->summary);
    }
    if (command->text != NULL) {
        printf("\n%s\n", command->text);
    }
    printf("\n");
    for (const struct tr_option **table = tables; *table != NULL; table++) {
        for (const struct tr_option *option = *table; option->name != NULL; option++) {
            bool is_output = strcmp(option->name, "output") == 0;
            print_option(option, is_output ? command->outputs : option->words);
        }
    }
    if (command->examples != NULL) {
        printf("\nexamples:\n%s\n", command->examples);
    }
}

/* The names alone, for scripts. */
static void print_names(void)
{
    for (const struct tr_command *const *command = tr_commands; *command != NULL; command++) {
        if ((*command)->summary != NULL) {
            printf("%s\n", (*command)->name);
        }
    }
}

static void print_all(const struct tr_invocation *invocation)
{
    if (tr_arguments_has(&invocation->arguments, "man")) {
        tr_manual_print();
    } else if (invocation->output == TR_OUTPUT_NAME) {
        print_names();
    } else {
        tr_help_print();
    }
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    if (invocation->arguments.word_count == 0) {
        print_all(invocation);
        return TR_EXIT_DONE;
    }
    const char *name = invocation->arguments.words[0];
    const struct tr_command *command = tr_command_find(name);
    if (command == NULL) {
        return tr_command_mistake(&tr_command_help, "there is no command %.60s", name);
    }
    if (tr_arguments_has(&invocation->arguments, "man")) {
        tr_command_manual_print(command);
    } else {
        tr_command_help_print(command);
    }
    return TR_EXIT_DONE;
}

static const struct tr_option options[] = {
    {0, "man", NULL, "print it as a manual page, for `man`", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_help = {
    .name = "help",
    .summary = "say what a command does",
    .words = "[COMMAND]",
    .text = "With `-o name` it prints the names of all commands.",
    .examples = "  troupe help run\n"
                "  troupe help --man run | man -l -",
    .options = options,
    .outputs = "text|name",
    .words_max = 1,
    .run = run,
};
