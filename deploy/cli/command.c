/*
 * From the words that were typed to one call of a command: the same for all of them.
 */
#include "deploy/cli/command.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "deploy/common/stream.h"
#include "schemas/codec/error.h"

static const struct tr_option common_options[] = {
    {'h', "help", NULL, "show this help", NULL, 0, false},
    {'q', "quiet", NULL, "no messages but errors", NULL, 0, false},
    {'v', "verbose", NULL, "more messages", NULL, 0, false},
    {0},
};

static const struct tr_option store_options[] = {
    {0, "store", "FOLDER",
     "the store (else $TROUPE_STORE, the nearest .troupe upwards, or a new one here)", NULL,
     TR_COMPLETES_FOLDERS, false},
    {0},
};

static const struct tr_option output_options[] = {
    {'o', "output", "FORM", "how the result is printed", NULL, 0, false},
    {0},
};

const struct tr_command *tr_command_find(const char *name)
{
    for (const struct tr_command *const *command = tr_commands; *command != NULL; command++) {
        if (strcmp((*command)->name, name) == 0) {
            return *command;
        }
    }
    return NULL;
}

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
    fprintf(stderr, "troupe %s: %s\n", command->name, words);
}

enum tr_exit_status tr_command_mistake(const struct tr_command *command, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(command, format, values);
    va_end(values);
    fprintf(stderr, "usage: troupe %s %s (`troupe %s --help` says more)\n", command->name,
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
    for (const struct tr_command *const *command = tr_commands; *command != NULL; command++) {
        unsigned distance = tr_words_distance(name, (*command)->name);
        if ((*command)->summary != NULL && tr_words_are_near(name, distance) && distance < least) {
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
    if (word != NULL && tr_words_find(outputs, word) < 0) {
        snprintf(problem, TR_OPTIONS_PROBLEM_BYTES,
                 "--output: '%.60s' is no form of it; write one of %s", word, outputs);
        return TR_INVALID;
    }
    int place = tr_words_find(TR_OUTPUT_WORDS, word != NULL ? word : standard);
    TR_ASSERT(place >= 0);
    invocation->output = (enum tr_output)place;
    if (invocation->output == TR_OUTPUT_JSON || invocation->output == TR_OUTPUT_YAML) {
        tr_stream_form(stdout, TR_STREAM_JSON);
        tr_stream_form(stderr, TR_STREAM_JSON); /* some documents go there */
    }
    return 0;
}

static int check_words(const struct tr_invocation *invocation, char *problem)
{
    const struct tr_command *command = invocation->command;
    size_t count = invocation->arguments.word_count;
    if (count < command->words_min) {
        snprintf(problem, TR_OPTIONS_PROBLEM_BYTES, "something is missing behind the command");
        return TR_INVALID;
    }
    if (count > command->words_max) {
        snprintf(problem, TR_OPTIONS_PROBLEM_BYTES, "'%.60s' is one word too many",
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

static enum tr_exit_status run(const struct tr_command *command, int argc, char **argv)
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

/* What was printed has to arrive. Nobody who reads it any more is no error; a full disk is. */
static enum tr_exit_status finish(enum tr_exit_status status)
{
    if (fflush(stdout) != 0 && errno != EPIPE) {
        fprintf(stderr, "troupe: the result could not be written: %s\n", strerror(errno));
        return TR_EXIT_ENGINE;
    }
    return status;
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

enum tr_exit_status tr_program_run(int argc, char **argv)
{
    /* A reader that has gone is seen by the next write, not by a signal that ends an engine. */
    (void)signal(SIGPIPE, SIG_IGN);
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
    return finish(run(command, argc - 2, argv + 2));
}
