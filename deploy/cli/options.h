/*
 * Options of the command line, from tables: one parser, one way of help, one source of completions.
 *
 *     static const struct tr_option options[] = {
 *         {'o', "output", "FORM", "how it is printed", .words = "text|json"}, {0}};
 *
 * Options may stand anywhere, `--` ends them, `--name=value`, `-nvalue` and `-n value` are the
 * same, letters without a value may stand together. What is wrong is said in words that name the
 * nearest option. Nothing here prints or ends the process.
 */
#ifndef TR_DEPLOY_CLI_OPTIONS_H
#define TR_DEPLOY_CLI_OPTIONS_H

#include "schemas/codec/base.h"

/* What the shell offers where a value or a word belongs. */
enum tr_completes {
    TR_COMPLETES_NOTHING,
    TR_COMPLETES_FILES,
    TR_COMPLETES_FOLDERS,
    TR_COMPLETES_EXECUTIONS,
    TR_COMPLETES_DEFINITIONS,  /* a file, and behind it what can be run of it */
    TR_COMPLETES_TEMPLATES,    /* of projects */
    TR_COMPLETES_PHASES,       /* several, with commas between */
    TR_COMPLETES_ENDED_PHASES, /* the same, of those that are ends */
    TR_COMPLETES_PLANS,        /* that have a schedule; behind one of the choices, if any */
    TR_COMPLETES_COMMANDS,
};

/* One option. */
struct tr_option {
    char letter;        /* 0: none */
    const char *name;   /* NULL ends a table */
    const char *value;  /* what its value is called; NULL: it has none */
    const char *text;   /* what it does, in one line */
    const char *words;  /* the values it takes, "use|refresh|off"; NULL: any */
    uint8_t completes;  /* enum tr_completes */
    bool is_repeatable; /* else the second one is a mistake */
};

/* An option that was given; `value` is NULL where it has none. */
struct tr_given {
    const struct tr_option *option;
    const char *value;
};

/* What was typed: options in their order, and all other words. */
struct tr_arguments {
    struct tr_given *given;
    size_t given_count;
    const char **words;
    size_t word_count;
};

/* Bytes that are enough for what is wrong with a command line. */
#define TR_OPTIONS_PROBLEM_BYTES 512

/*
 * Reads the words behind a command's name by its tables, a list ended by NULL. Texts stay those of
 * argv. TR_INVALID with words in `problem` (TR_OPTIONS_PROBLEM_BYTES), or TR_MEMORY; then there is
 * nothing to end.
 */
TR_MUST_USE int tr_arguments_read(const struct tr_option *const *tables, int argc,
                                  char *const *argv, struct tr_arguments *arguments, char *problem);
void tr_arguments_fini(struct tr_arguments *arguments);

/* Whether an option was given, and the value of the last one of a name, or NULL. */
bool tr_arguments_has(const struct tr_arguments *arguments, const char *name);
const char *tr_arguments_value(const struct tr_arguments *arguments, const char *name);

#endif
