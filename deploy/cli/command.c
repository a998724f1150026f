/*
 * From the words behind the name of a command to one call of it: the same for all of them.
 */
#include "deploy/cli/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "deploy/common/stream.h"
#include "deploy/console/console.h"
#include "schemas/codec/error.h"
#include "schemas/codec/spelling.h"

static const struct tr_option common_options[] = {
    {'h', "help", NULL, "show this help", NULL, 0, false},
    {'q', "quiet", NULL, "no messages but errors", NULL, 0, false},
    {'v', "verbose", NULL, "more messages", NULL, 0, false},
    {0},
};

static const struct tr_option store_options[] = {
    {0, "store", "STORE",
     "a folder or postgresql://... (else $TROUPE_STORE, the nearest .troupe, a new one)", NULL,
     TR_COMPLETES_FOLDERS, false},
    {0},
};

static const struct tr_option output_options[] = {
    {'o', "output", "FORM", "how the result is printed", NULL, 0, false},
    {0},
};

void tr_command_tables(const struct tr_command *command,
                       const struct tr_option *tables[TR_COMMAND_TABLES_MAX])
{
    size_t count = 0;
    if (command->options != NULL) {
        tables[count++] = command->options;
    }
    if (command->outputs != NULL) {
        tables[count++] = output_options;
    }
    if (command->has_store) {
        tables[count++] = store_options;
    }
    tables[count++] = common_options;
    tables[count] = NULL;
}

/* ------------------------------------------------------------- what people read */

TR_PRINTF(2, 0)
static void say(const struct tr_command *command, const char *format, va_list values)
{
    char words[4096];
    vsnprintf(words, sizeof words, format, values);
    fprintf(tr_console_err(), "troupe %s: %s\n", command->name, words);
}

enum tr_exit_status tr_command_mistake(const struct tr_command *command, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(command, format, values);
    va_end(values);
    fprintf(tr_console_err(), "usage: troupe %s %s (`troupe %s --help` says more)\n", command->name,
            command->words, command->name);
    return TR_EXIT_USAGE;
}

enum tr_exit_status tr_command_refused(const struct tr_command *command, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(command, format, values);
    va_end(values);
    return TR_EXIT_USAGE;
}

enum tr_exit_status tr_command_failed(const struct tr_command *command, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(command, format, values);
    va_end(values);
    return TR_EXIT_ENGINE;
}

void tr_command_note(const struct tr_invocation *invocation, const char *format, ...)
{
    if (invocation->is_quiet) {
        return;
    }
    va_list values;
    va_start(values, format);
    say(invocation->command, format, values);
    va_end(values);
}

/* --------------------------------------------------------------------- one call */

static int read_output(struct tr_invocation *invocation, char *problem)
{
    const char *word = tr_arguments_value(&invocation->arguments, "output");
    const char *outputs = invocation->command->outputs;
    if (outputs == NULL) {
        return 0;
    }
    char standard[16];
    snprintf(standard, sizeof standard, "%.*s", (int)strcspn(outputs, "|"), outputs);
    if (word != NULL && tr_spelling_find(outputs, word) < 0) {
        snprintf(problem, TR_OPTIONS_PROBLEM_BYTES,
                 "--output: '%.60s' is no output form of this command; write one of %s", word,
                 outputs);
        return TR_INVALID;
    }
    int place = tr_spelling_find(TR_OUTPUT_WORDS, word != NULL ? word : standard);
    TR_ASSERT(place >= 0);
    invocation->output = (enum tr_output)place;
    if (invocation->output == TR_OUTPUT_JSON || invocation->output == TR_OUTPUT_YAML) {
        tr_stream_form(tr_console_out(), TR_STREAM_JSON);
        tr_stream_form(tr_console_err(), TR_STREAM_JSON); /* some documents go there */
    }
    return 0;
}

static int check_words(const struct tr_invocation *invocation, char *problem)
{
    const struct tr_command *command = invocation->command;
    size_t count = invocation->arguments.word_count;
    if (count < command->words_min) {
        snprintf(problem, TR_OPTIONS_PROBLEM_BYTES, "an argument is missing");
        return TR_INVALID;
    }
    if (count > command->words_max) {
        snprintf(problem, TR_OPTIONS_PROBLEM_BYTES, "'%.60s' is one argument too many",
                 invocation->arguments.words[command->words_max]);
        return TR_INVALID;
    }
    return 0;
}

static enum tr_exit_status call(struct tr_invocation *invocation)
{
    char problem[TR_OPTIONS_PROBLEM_BYTES];
    const struct tr_arguments *arguments = &invocation->arguments;
    if (tr_arguments_has(arguments, "help")) {
        tr_command_help_print(invocation->command);
        return TR_EXIT_DONE;
    }
    invocation->is_quiet = tr_arguments_has(arguments, "quiet");
    invocation->is_verbose = tr_arguments_has(arguments, "verbose");
    int error = read_output(invocation, problem);
    if (error == 0) {
        error = check_words(invocation, problem);
    }
    if (error != 0) {
        return tr_command_mistake(invocation->command, "%s", problem);
    }
    return invocation->command->run(invocation);
}

enum tr_exit_status tr_command_call(const struct tr_command *command, int argc, char **argv)
{
    char problem[TR_OPTIONS_PROBLEM_BYTES];
    const struct tr_option *tables[TR_COMMAND_TABLES_MAX];
    struct tr_invocation invocation = {.command = command};
    tr_command_tables(command, tables);
    int error = tr_arguments_read(tables, argc, argv, &invocation.arguments, problem);
    if (error == TR_INVALID) {
        return tr_command_mistake(command, "%s", problem);
    }
    if (error != 0) {
        return tr_command_failed(command, "%s", tr_error_text(error));
    }
    enum tr_exit_status status = call(&invocation);
    tr_arguments_fini(&invocation.arguments);
    return status;
}
