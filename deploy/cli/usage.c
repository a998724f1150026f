/*
 * What --help prints of a command: made from its row.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/cli/command.h"

/* Where the texts of options begin. */
#define TEXT_COLUMN 28

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
