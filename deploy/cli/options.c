/*
 * Reading a command line by tables: each word is an option, an option's value, or a plain word.
 */
#include "deploy/cli/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/codec/spelling.h"

/* The words not read yet, and what is known so far. */
struct reading {
    const struct tr_option *const *tables;
    int argc;
    char *const *argv;
    int at;
    struct tr_arguments *arguments;
    char *problem;
};

static TR_PRINTF(2, 3) int mistake(struct reading *reading, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(reading->problem, TR_OPTIONS_PROBLEM_BYTES, format, values);
    va_end(values);
    return TR_INVALID;
}

/* Calls `pick` with each option of all tables until it answers true; that option, or NULL. */
static const struct tr_option *find(const struct tr_option *const *tables,
                                    bool (*pick)(const struct tr_option *option, const void *what),
                                    const void *what)
{
    for (; *tables != NULL; tables++) {
        for (const struct tr_option *option = *tables; option->name != NULL; option++) {
            if (pick(option, what)) {
                return option;
            }
        }
    }
    return NULL;
}

static bool has_name(const struct tr_option *option, const void *what)
{
    const struct tr_text *name = what;
    return tr_text_equal(tr_text_of(option->name), *name);
}

static bool has_letter(const struct tr_option *option, const void *what)
{
    return option->letter != 0 && option->letter == *(const char *)what;
}

/* The nearest so far to what was typed. */
struct nearest {
    const char *typed;
    const char *name;
    unsigned distance;
};

static void compare(struct nearest *nearest, const char *name)
{
    struct tr_text typed = tr_text_of(nearest->typed);
    unsigned distance = tr_spelling_distance(typed, tr_text_of(name));
    if (tr_spelling_is_near(typed, distance) &&
        (nearest->name == NULL || distance < nearest->distance)) {
        nearest->name = name;
        nearest->distance = distance;
    }
}

/* The longest value that is repeated in a message. */
#define VALUE_SHOWN_MAX 60

/* A value as a shell takes it, where it can be shown in short; else what to put there. */
static const char *shown_value(const char *value, char room[VALUE_SHOWN_MAX + 3])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:@%+,=-";
    if (value == NULL || strlen(value) > VALUE_SHOWN_MAX || strchr(value, '\'') != NULL) {
        return "VALUE";
    }
    bool is_plain = value[0] != '\0' && value[strspn(value, plain)] == '\0';
    snprintf(room, VALUE_SHOWN_MAX + 3, is_plain ? "%s" : "'%s'", value);
    return room;
}

/*
 * How an input of this name would be given, where the command takes inputs: other programs make an
 * option of each. `value` is what stands behind the name, or NULL: then it is the next word, unless
 * that is an option. `before` stands before it.
 */
static void print_input(const struct reading *reading, struct tr_text name, const char *value,
                        const char *before, char words[TR_OPTIONS_PROBLEM_BYTES / 2])
{
    static const struct tr_text input = {.data = "input", .size = 5};
    char room[VALUE_SHOWN_MAX + 3];
    words[0] = '\0';
    if (find(reading->tables, has_name, &input) == NULL) {
        return;
    }
    if (value == NULL && reading->at < reading->argc && reading->argv[reading->at][0] != '-') {
        value = reading->argv[reading->at];
    }
    snprintf(words, TR_OPTIONS_PROBLEM_BYTES / 2, "%s -i %.*s=%s", before, (int)name.size,
             name.data, shown_value(value, room));
}

static int unknown_name(struct reading *reading, struct tr_text name, const char *value)
{
    char typed[TR_WORD_BYTES_MAX + 1];
    char input[TR_OPTIONS_PROBLEM_BYTES / 2];
    snprintf(typed, sizeof typed, "%.*s", (int)name.size, name.data);
    struct nearest nearest = {.typed = typed};
    for (const struct tr_option *const *table = reading->tables; *table != NULL; table++) {
        for (const struct tr_option *option = *table; option->name != NULL; option++) {
            compare(&nearest, option->name);
        }
    }
    name = tr_text_of(typed);
    print_input(reading, name, value,
                nearest.name == NULL ? "; an input is given as" : " As an input it is", input);
    if (nearest.name == NULL) {
        return mistake(reading, "there is no option --%.60s%s", typed, input);
    }
    return mistake(reading, "there is no option --%.60s; did you mean --%s?%s", typed, nearest.name,
                   input);
}

/* A letter that is no option; a word that begins with one may have been meant as a name. */
static int unknown_letter(struct reading *reading, const char *word, const char *letter)
{
    char input[TR_OPTIONS_PROBLEM_BYTES / 2] = "";
    struct tr_text name = {.data = word, .size = strcspn(word, "=")};
    const char *value = word[name.size] == '=' ? word + name.size + 1 : NULL;
    if (letter == word && name.size > 1 && name.size <= TR_WORD_BYTES_MAX) {
        print_input(reading, name, value, "; an input is given as", input);
    }
    return mistake(reading, "there is no option -%c%s", *letter, input);
}

/* Whether the option may have this value; else the words it takes are named. */
static int check_value(struct reading *reading, const struct tr_option *option, const char *value)
{
    if (option->words == NULL || tr_spelling_find(option->words, value) >= 0) {
        return 0;
    }
    return mistake(reading, "--%s: '%.60s' is no value for it; write one of %s", option->name,
                   value, option->words);
}

/* Keeps an option; `value` is what stands with it, or NULL. */
static int keep(struct reading *reading, const struct tr_option *option, const char *value)
{
    struct tr_arguments *arguments = reading->arguments;
    if (option->value != NULL && value == NULL) {
        if (reading->at == reading->argc) {
            return mistake(reading, "--%s needs a value: %s", option->name, option->value);
        }
        value = reading->argv[reading->at++];
    }
    if (!option->is_repeatable && option->value != NULL &&
        tr_arguments_has(arguments, option->name)) {
        return mistake(reading, "--%s is given twice; give it once", option->name);
    }
    int error = value == NULL ? 0 : check_value(reading, option, value);
    if (error == 0) {
        arguments->given[arguments->given_count++] = (struct tr_given){option, value};
    }
    return error;
}

/* `--name` or `--name=value`. */
static int read_long(struct reading *reading, const char *word)
{
    const char *equals = strchr(word, '=');
    struct tr_text name = tr_text_of(word);
    if (equals != NULL) {
        name.size = (size_t)(equals - word);
    }
    const struct tr_option *option = find(reading->tables, has_name, &name);
    if (option == NULL) {
        return unknown_name(reading, name, equals == NULL ? NULL : equals + 1);
    }
    if (equals != NULL && option->value == NULL) {
        return mistake(reading, "--%s takes no value", option->name);
    }
    return keep(reading, option, equals == NULL ? NULL : equals + 1);
}

/* `-a`, `-ab`, `-nvalue` or `-n value`. */
static int read_letters(struct reading *reading, const char *word)
{
    const char *letters = word;
    int error = 0;
    while (error == 0 && *letters != '\0') {
        const struct tr_option *option = find(reading->tables, has_letter, letters);
        if (option == NULL) {
            return unknown_letter(reading, word, letters);
        }
        letters++;
        const char *value = NULL;
        if (option->value != NULL && *letters != '\0') {
            value = *letters == '=' ? letters + 1 : letters;
            letters = "";
        }
        error = keep(reading, option, value);
    }
    return error;
}

static int read_all(struct reading *reading)
{
    struct tr_arguments *arguments = reading->arguments;
    bool is_over = false; /* `--` has come */
    int error = 0;
    while (error == 0 && reading->at < reading->argc) {
        const char *word = reading->argv[reading->at++];
        if (is_over || word[0] != '-' || word[1] == '\0') {
            arguments->words[arguments->word_count++] = word;
        } else if (strcmp(word, "--") == 0) {
            is_over = true;
        } else if (word[1] == '-') {
            error = read_long(reading, word + 2);
        } else {
            error = read_letters(reading, word + 1);
        }
    }
    return error;
}

/* No more options than there are letters, no more words than there are. */
static size_t room_for(int argc, char *const *argv)
{
    size_t room = 1;
    for (int i = 0; i < argc; i++) {
        room += strlen(argv[i]) + 1;
    }
    return room;
}

int tr_arguments_read(const struct tr_option *const *tables, int argc, char *const *argv,
                      struct tr_arguments *arguments, char *problem)
{
    *arguments = (struct tr_arguments){
        .given = tr_alloc_zero(room_for(argc, argv), sizeof(struct tr_given)),
        .words = tr_alloc_zero((size_t)argc + 1, sizeof(const char *)),
    };
    struct reading reading = {
        .tables = tables, .argc = argc, .argv = argv, .arguments = arguments, .problem = problem};
    problem[0] = '\0';
    int error =
        arguments->given == NULL || arguments->words == NULL ? TR_MEMORY : read_all(&reading);
    if (error != 0) {
        tr_arguments_fini(arguments);
    }
    return error;
}

void tr_arguments_fini(struct tr_arguments *arguments)
{
    tr_free(arguments->given);
    tr_free(arguments->words);
    *arguments = (struct tr_arguments){0};
}

/* The last one of a name that was given, or NULL. */
static const struct tr_given *find_given(const struct tr_arguments *arguments, const char *name)
{
    for (size_t i = arguments->given_count; i > 0; i--) {
        if (strcmp(arguments->given[i - 1].option->name, name) == 0) {
            return &arguments->given[i - 1];
        }
    }
    return NULL;
}

bool tr_arguments_has(const struct tr_arguments *arguments, const char *name)
{
    return find_given(arguments, name) != NULL;
}

const char *tr_arguments_value(const struct tr_arguments *arguments, const char *name)
{
    const struct tr_given *given = find_given(arguments, name);
    return given == NULL ? NULL : given->value;
}
