/*
 * Expressions: what stands in ${...} of a card's texts.
 *
 *     expression = FUNCTION "(" [expression {"," expression}] ")" members
 *                | NAME members | NUMBER | "true" | "false" | TEXT
 *     members    = {"." NAME | "." TEXT}             TEXT stands in single quotes
 *
 * They are read and filled in at once, each time; a check does the same without values, so that it
 * refuses what would be refused later. A path goes through maps only: what is not there is nothing,
 * and a text, member or list that would hold nothing is left out.
 */
#include "plugins/cards/cards.h"

#include <stdlib.h>

#define EXPRESSION_DEPTH_MAX 16
#define WORD_BYTES_MAX 80

struct reader {
    struct tri_card_making *making;
    const char *at;
    const char *end;
    uint32_t depth;
};

static struct tr_bytes read_expression(struct reader *reader);

/* ------------------------------------------------------------------------------------- letters */

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n')) {
        reader->at++;
    }
}

static bool is_next(struct reader *reader, char letter)
{
    skip_blanks(reader);
    return reader->at < reader->end && *reader->at == letter;
}

static bool take(struct reader *reader, char letter)
{
    bool is = is_next(reader, letter);
    reader->at += is ? 1 : 0;
    return is;
}

static bool is_letter(char letter)
{
    return letter == '_' || ((letter | 32) >= 'a' && (letter | 32) <= 'z');
}

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

/* A name: letters, digits, "_" and "-", of which the first is none of the last two kinds. */
static struct tr_text take_name(struct reader *reader)
{
    const char *begin = reader->at;
    while (reader->at < reader->end &&
           (is_letter(*reader->at) ||
            (reader->at > begin && (is_digit(*reader->at) || *reader->at == '-')))) {
        reader->at++;
    }
    return (struct tr_text){.data = begin, .size = (size_t)(reader->at - begin)};
}

/* A text in single quotes, which has no such quote in it. */
static struct tr_text take_quoted(struct reader *reader)
{
    const char *begin = ++reader->at;
    const char *quote = memchr(begin, '\'', (size_t)(reader->end - begin));
    if (quote == NULL) {
        tri_card_refuse(reader->making, "the text behind ' does not end: add a '");
        reader->at = reader->end;
        return (struct tr_text){0};
    }
    reader->at = quote + 1;
    return (struct tr_text){.data = begin, .size = (size_t)(quote - begin)};
}

/* -------------------------------------------------------------------------------------- values */

static struct tr_bytes number_value(struct reader *reader)
{
    const char *begin = reader->at;
    int64_t number = 0;
    while (reader->at < reader->end && is_digit(*reader->at)) {
        number = number < INT32_MAX ? number * 10 + (*reader->at - '0') : number;
        reader->at++;
    }
    if (number > INT32_MAX) {
        tri_card_refuse(reader->making, "%.*s is too large a number", (int)(reader->at - begin),
                        begin);
    }
    struct tr_build build = tri_card_build(reader->making);
    tr_build_i64(&build, number);
    return tri_card_built(reader->making, &build);
}

static struct tr_bytes bool_value(struct reader *reader, bool is_true)
{
    struct tr_build build = tri_card_build(reader->making);
    tr_build_bool(&build, is_true);
    return tri_card_built(reader->making, &build);
}

/* What is behind a value, in single quotes where its name has a ".". */
static struct tr_bytes read_members(struct reader *reader, struct tr_bytes value)
{
    while (reader->at < reader->end && *reader->at == '.' && reader->making->error == 0) {
        reader->at++;
        bool is_quoted = reader->at < reader->end && *reader->at == '\'';
        bool is_index = reader->at < reader->end && is_digit(*reader->at);
        struct tr_text name = is_quoted ? take_quoted(reader) : take_name(reader);
        if (is_index) {
            tri_card_refuse(reader->making,
                            "a path goes through mappings, and not into a list: use first(...)");
        } else if (name.size == 0) {
            tri_card_refuse(reader->making, "a name has to follow each '.' of a path");
        }
        value = tri_card_member(value, name);
    }
    if (reader->at < reader->end && *reader->at == '[') {
        tri_card_refuse(reader->making,
                        "a path goes through mappings, and not into a list: use first(...)");
    }
    return value;
}

static void read_arguments(struct reader *reader, struct tri_card_call *call)
{
    while (reader->making->error == 0 && !is_next(reader, ')')) {
        if (call->count == TRI_CARD_ARGUMENTS_MAX) {
            tri_card_refuse(reader->making, "a function has at most %d arguments",
                            TRI_CARD_ARGUMENTS_MAX);
            return;
        }
        const char *begin = reader->at;
        call->values[call->count] = read_expression(reader);
        call->words[call->count++] =
            (struct tr_text){.data = begin, .size = (size_t)(reader->at - begin)};
        if (!take(reader, ',') && !is_next(reader, ')')) {
            tri_card_refuse(reader->making, "a function's arguments need ',' between them and ')' "
                                            "behind them");
        }
    }
    (void)take(reader, ')');
}

static struct tr_bytes read_call(struct reader *reader, struct tr_text name)
{
    struct tri_card_making *making = reader->making;
    struct tri_card_call call = {.making = making};
    const struct tri_card_function *function = tri_card_function(name);
    char known[WORD_BYTES_MAX * 4];
    if (function == NULL) {
        tri_card_functions(known, sizeof known);
        tri_card_refuse(making, "there is no function %.*s: it is one of %s", (int)name.size,
                        name.data, known);
        return (struct tr_bytes){0};
    }
    read_arguments(reader, &call);
    if (making->error == 0 && (call.count < function->least || call.count > function->most)) {
        tri_card_refuse(making, "%s has %u to %u arguments, and not %u", function->name,
                        function->least, function->most, call.count);
    }
    bool is_called = making->error == 0 && making->task != NULL && tri_card_step(making);
    return is_called ? function->call(&call) : (struct tr_bytes){0};
}

static struct tr_bytes read_named(struct reader *reader)
{
    struct tri_card_making *making = reader->making;
    struct tr_bytes value = {0};
    struct tr_text name = take_name(reader);
    if (take(reader, '(')) {
        return read_members(reader, read_call(reader, name));
    }
    if (tr_text_equal(name, tr_text_of("true")) || tr_text_equal(name, tr_text_of("false"))) {
        return bool_value(reader, name.data[0] == 't');
    }
    if (!tri_card_named(making, name, &value)) {
        tri_card_refuse(making,
                        "nothing is called %.*s: a card has custom, task, pod, name, namespace, "
                        "labels, and each `let`",
                        (int)name.size, name.data);
    }
    return read_members(reader, value);
}

static struct tr_bytes read_expression(struct reader *reader)
{
    struct tri_card_making *making = reader->making;
    struct tr_bytes value = {0};
    skip_blanks(reader);
    if (making->error != 0) {
        return value;
    }
    if (++reader->depth > EXPRESSION_DEPTH_MAX) {
        tri_card_refuse(making, "an expression has at most %d functions in each other",
                        EXPRESSION_DEPTH_MAX);
    } else if (reader->at == reader->end) {
        tri_card_refuse(making, "an expression is missing");
    } else if (*reader->at == '\'') {
        value = tri_card_text_value(making, take_quoted(reader));
    } else if (is_digit(*reader->at)) {
        value = number_value(reader);
    } else if (is_letter(*reader->at)) {
        value = read_named(reader);
    } else {
        tri_card_refuse(making,
                        "an expression begins with a name, a number or a 'text', and not "
                        "with %c",
                        *reader->at > ' ' && *reader->at < 127 ? *reader->at : '?');
    }
    reader->depth--;
    return value;
}

/* --------------------------------------------------------------------------------------- texts */

/* The end of what begins behind "${": its "}", which no quoted text counts for; NULL: none. */
static const char *end_of(const char *at, const char *end)
{
    bool is_quoted = false;
    for (; at < end; at++) {
        is_quoted = is_quoted != (*at == '\'');
        if (*at == '}' && !is_quoted) {
            return at;
        }
    }
    return NULL;
}

static struct tr_bytes evaluate(struct tri_card_making *making, const char *at, const char *end)
{
    struct reader reader = {.making = making, .at = at, .end = end};
    struct tr_bytes value = read_expression(&reader);
    skip_blanks(&reader);
    if (making->error == 0 && reader.at != end) {
        tri_card_refuse(making, "what is behind the expression is too much: %.*s",
                        (int)(end - reader.at), reader.at);
    }
    return making->error == 0 && tri_card_is_there(value) ? value : (struct tr_bytes){0};
}

/* A piece of a text that has others beside it: it has to be one, or a number. */
static struct tr_text piece_of(struct tri_card_making *making, struct tr_bytes value)
{
    struct tri_card_call call = {.making = making, .values = {value}, .count = 1};
    struct tr_bytes text = making->task == NULL || value.size == 0
                               ? (struct tr_bytes){0}
                               : tri_card_function(tr_text_of("text"))->call(&call);
    return tr_json_text(text);
}

/* The next "${", or the end; "$${" is none, and stands for "${". */
static const char *next_of(const char *at, const char *end)
{
    const char *found = at;
    while (found < end && (found = memchr(found, '$', (size_t)(end - found))) != NULL) {
        if (found + 1 < end && found[1] == '{') {
            return found;
        }
        found += found + 2 < end && found[1] == '$' && found[2] == '{' ? 3 : 1;
    }
    return end;
}

struct filling {
    char *room;
    size_t size;
    size_t capacity;
    bool is_missing;
};

static void add(struct tri_card_making *making, struct filling *filling, const char *at,
                size_t size)
{
    if (making->task == NULL || making->error != 0) {
        return;
    }
    if (filling->size + size > filling->capacity) {
        size_t capacity = 2 * (filling->size + size) + 64;
        char *room =
            capacity > TR_WEBAPI_JOB_BYTES_MAX * 4 ? NULL : tr_task_scratch(making->task, capacity);
        if (room == NULL) {
            making->error = TR_LIMIT;
            return;
        }
        if (filling->size > 0) {
            memcpy(room, filling->room, filling->size);
        }
        filling->room = room;
        filling->capacity = capacity;
    }
    if (size > 0) {
        memcpy(filling->room + filling->size, at, size);
        filling->size += size;
    }
}

/* As it stands, where each "$${" is "${". */
static void add_plain(struct tri_card_making *making, struct filling *filling, const char *at,
                      const char *end)
{
    const char *mark = NULL;
    while (at < end && (mark = memmem(at, (size_t)(end - at), "$${", 3)) != NULL) {
        add(making, filling, at, (size_t)(mark - at));
        add(making, filling, "${", 2);
        at = mark + 3;
    }
    add(making, filling, at, (size_t)(end - at));
}

struct tr_bytes tri_card_fill(struct tri_card_making *making, struct tr_text text)
{
    const char *at = text.data;
    const char *end = text.size == 0 ? at : at + text.size;
    struct filling filling = {0};
    bool has_any = false;
    while (making->error == 0 && at < end) {
        const char *begin = next_of(at, end);
        const char *close = begin == end ? end : end_of(begin + 2, end);
        if (close == NULL) {
            tri_card_refuse(making, "${ has no }");
            break;
        }
        if (begin == at && begin != end && close + 1 == end && !has_any) {
            return evaluate(making, begin + 2, close); /* the whole text: of any type */
        }
        add_plain(making, &filling, at, begin);
        has_any = true;
        if (begin < end) {
            struct tr_text piece = piece_of(making, evaluate(making, begin + 2, close));
            filling.is_missing = filling.is_missing || piece.size == 0;
            add(making, &filling, piece.data, piece.size);
        }
        at = begin < end ? close + 1 : end;
    }
    if (making->error != 0 || (filling.is_missing && making->task != NULL)) {
        return (struct tr_bytes){0};
    }
    struct tr_build build = tri_card_build(making);
    tr_build_text(&build, (struct tr_text){.data = filling.room, .size = filling.size});
    return tri_card_built(making, &build);
}
