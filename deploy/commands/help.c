/*
 * What the program says of itself. `troupe help`: what --help prints, manual pages, and the names
 * of all commands; `troupe version`.
 */
#include <stdio.h>

#include "deploy/cli/commands.h"
#include "deploy/commands/dispatch.h"
#include "deploy/commands/manual.h"

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

static enum tr_exit_status help(const struct tr_invocation *invocation)
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
    .completes = TR_COMPLETES_COMMANDS,
    .text = "With `-o name` it prints the names of all commands.",
    .examples = "  troupe help run\n"
                "  troupe help --man run | man -l -",
    .options = options,
    .outputs = "text|name",
    .words_max = 1,
    .run = help,
};

/* ------------------------------------------------------------------------- version */

static enum tr_exit_status version(const struct tr_invocation *invocation)
{
    switch (invocation->output) {
    case TR_OUTPUT_JSON:
        printf("{\"version\":\"%s\"}\n", TR_PROGRAM_VERSION);
        break;
    case TR_OUTPUT_YAML:
        printf("version: \"%s\"\n", TR_PROGRAM_VERSION);
        break;
    default:
        printf("troupe %s\n", TR_PROGRAM_VERSION);
    }
    return TR_EXIT_DONE;
}

const struct tr_command tr_command_version = {
    .name = "version",
    .summary = "print the version of the program",
    .words = "",
    .outputs = "text|json|yaml",
    .run = version,
};
