/*
 * Manual pages: headings and paragraphs around the texts of the commands' rows.
 *
 * Texts are escaped on their way: a backslash begins a troff escape, a minus would become a hyphen
 * that nobody can paste, and a dot or a quote that begins a line would make it a request.
 */
#include "deploy/commands/manual.h"

#include <stdio.h>
#include <string.h>

#include "deploy/commands/dispatch.h"

/* One character of a text; `is_first`: of its line. */
static void print_letter(char letter, bool is_first)
{
    if (is_first && (letter == '.' || letter == '\'')) {
        fputs("\\&", stdout);
    }
    if (letter == '\\') {
        fputs("\\e", stdout);
    } else if (letter == '-') {
        fputs("\\-", stdout);
    } else {
        putchar(letter);
    }
}

static void print_text(const char *text)
{
    bool is_first = true;
    for (; *text != '\0'; text++) {
        print_letter(*text, is_first);
        is_first = *text == '\n';
    }
}

/* Lines as they stand, such as examples. */
static void print_lines(const char *text)
{
    printf(".nf\n");
    print_text(text);
    printf("\n.fi\n");
}

/* A heading, and behind it a text that is filled. */
static void print_section(const char *heading, const char *text)
{
    printf(".SH %s\n", heading);
    if (text != NULL) {
        print_text(text);
        printf("\n");
    }
}

static void print_head(const char *name, const char *summary)
{
    printf(".TH ");
    for (const char *letter = name; *letter != '\0'; letter++) {
        putchar(*letter >= 'a' && *letter <= 'z' ? *letter - 'a' + 'A' : *letter);
    }
    printf(" 1 \"\" \"troupe %s\" \"User Commands\"\n.SH NAME\n", TR_PROGRAM_VERSION);
    print_text(name);
    printf(" \\- ");
    print_text(summary);
    printf("\n");
}

static void print_statuses(void)
{
    static const char *const rows[][2] = {
        {"0", "done, and what was run has succeeded"},
        {"1", "the workflow failed or timed out"},
        {"2", "wrong usage, or a definition or inputs with errors"},
        {"3", "the workflow was aborted"},
        {"4", "the engine or its environment failed"},
    };
    print_section("EXIT STATUS", NULL);
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        printf(".TP\n%s\n%s\n", rows[i][0], rows[i][1]);
    }
}

/* ------------------------------------------------------------------ one command */

static void print_option(const struct tr_option *option, const char *words)
{
    printf(".TP\n");
    if (option->letter != 0) {
        printf("\\fB\\-%c\\fR, ", option->letter);
    }
    printf("\\fB\\-\\-");
    print_text(option->name);
    printf("\\fR");
    if (option->value != NULL) {
        printf(" \\fI");
        print_text(option->value);
        printf("\\fR");
    }
    printf("\n");
    print_text(option->text);
    if (words != NULL) {
        printf(": ");
        print_text(words);
    }
    printf("\n");
}

static void print_options(const struct tr_command *command)
{
    const struct tr_option *tables[TR_COMMAND_TABLES_MAX];
    tr_command_tables(command, tables);
    print_section("OPTIONS", NULL);
    for (const struct tr_option **table = tables; *table != NULL; table++) {
        for (const struct tr_option *option = *table; option->name != NULL; option++) {
            bool is_output = strcmp(option->name, "output") == 0;
            print_option(option, is_output ? command->outputs : option->words);
        }
    }
}

void tr_command_manual_print(const struct tr_command *command)
{
    char name[64];
    snprintf(name, sizeof name, "troupe-%s", command->name);
    print_head(name, command->summary != NULL ? command->summary : "used by the engine itself");
    print_section("SYNOPSIS", NULL);
    printf("\\fBtroupe %s\\fR ", command->name);
    print_text(command->words);
    printf("\n");
    if (command->text != NULL) {
        print_section("DESCRIPTION", NULL);
        print_lines(command->text);
    }
    print_options(command);
    if (command->examples != NULL) {
        print_section("EXAMPLES", NULL);
        print_lines(command->examples);
    }
    print_statuses();
    print_section("SEE ALSO", NULL);
    printf(".BR troupe (1)\n");
}

/* ------------------------------------------------------------- the whole program */

void tr_manual_print(void)
{
    print_head("troupe", "runs workflows");
    print_section("SYNOPSIS", NULL);
    printf("\\fBtroupe\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR]...\n");
    print_section("COMMANDS", NULL);
    for (const struct tr_command *const *command = tr_commands; *command != NULL; command++) {
        if ((*command)->summary != NULL) {
            printf(".TP\n.BR troupe\\-%s (1)\n", (*command)->name);
            print_text((*command)->summary);
            printf("\n");
        }
    }
    print_statuses();
    print_section("ENVIRONMENT", NULL);
    printf(".TP\n.B TROUPE_STORE\nthe store, where no \\-\\-store names one\n"
           ".TP\n.B NO_COLOR\nwhere it is set, nothing is coloured\n");
    print_section("FILES", NULL);
    printf(".TP\n.I .troupe\nthe store: the nearest one upwards from where the command runs\n");
}
