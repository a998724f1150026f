/*
 * The program: finds the subcommand and runs it.
 *
 * Results go to stdout, messages to stderr, and the exit status says how it ended (command.h).
 * A subcommand is a row of the table below and a file of its own.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/command.h"

#define TITLE_BYTES 64

const struct tr_command tr_commands[] = {
    {"check", "find every error of a workflow definition",
     "FILE...\n"
     "\n"
     "  -o, --output text|json   how errors are printed (text: FILE:LINE:COLUMN: ...)\n"
     "  -q, --quiet              print nothing about files without errors\n",
     tr_command_check},
    {"version", "print the version of the program",
     "\n"
     "\n"
     "  -o, --output text|json   how it is printed\n",
     tr_command_version},
    {"keeper", NULL, "FOLDER\n\n  the keeper of a store's processes; started by the engine\n",
     tr_command_keeper},
    {0},
};

static const struct tr_command *find(const char *name)
{
    for (const struct tr_command *command = tr_commands; command->name != NULL; command++) {
        if (strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

int tr_command_help(const char *name, bool is_mistake)
{
    FILE *stream = is_mistake ? stderr : stdout;
    const struct tr_command *command = find(name);
    fprintf(stream, "usage: troupe %s %s", command->name, command->usage);
    return is_mistake ? TR_EXIT_USAGE : TR_EXIT_DONE;
}

bool tr_output_read(const char *command, const char *word, enum tr_output *output)
{
    if (strcmp(word, "text") == 0) {
        *output = TR_OUTPUT_TEXT;
    } else if (strcmp(word, "json") == 0) {
        *output = TR_OUTPUT_JSON;
    } else {
        fprintf(stderr, "troupe %s: -o %s: unknown form; write text or json\n", command, word);
        return false;
    }
    return true;
}

static int help(bool is_mistake)
{
    FILE *stream = is_mistake ? stderr : stdout;
    fprintf(stream, "usage: troupe COMMAND [ARGUMENT]...\n\n");
    for (const struct tr_command *command = tr_commands; command->name != NULL; command++) {
        if (command->summary != NULL) {
            fprintf(stream, "  %-10s %s\n", command->name, command->summary);
        }
    }
    fprintf(stream, "\n`troupe COMMAND --help` says more.\n");
    return is_mistake ? TR_EXIT_USAGE : TR_EXIT_DONE;
}

/* How many letters two words share from their beginning. */
static size_t common_beginning(const char *a, const char *b)
{
    size_t count = 0;
    while (a[count] != '\0' && a[count] == b[count]) {
        count++;
    }
    return count;
}

/* Names the command that begins most like what was typed. */
static int unknown(const char *name)
{
    const char *nearest = NULL;
    size_t most = 0;
    for (const struct tr_command *command = tr_commands; command->name != NULL; command++) {
        size_t count = command->summary == NULL ? 0 : common_beginning(command->name, name);
        if (count > most) {
            most = count;
            nearest = command->name;
        }
    }
    fprintf(stderr, "troupe: unknown command: %s", name);
    if (nearest != NULL) {
        fprintf(stderr, "; did you mean %s?", nearest);
    }
    fprintf(stderr, "\n`troupe --help` lists all.\n");
    return TR_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return help(true);
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        return help(false);
    }
    if (strcmp(name, "--version") == 0) {
        name = "version";
    }
    const struct tr_command *command = find(name);
    if (command == NULL) {
        return unknown(name);
    }
    /* What getopt complains of begins with the command's whole name. */
    char title[TITLE_BYTES];
    snprintf(title, sizeof title, "troupe %s", command->name);
    argv[1] = title;
    return command->run(argc - 1, argv + 1);
}
