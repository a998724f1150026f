/*
 * The functions of expressions. Each takes values and gives one; nothing is what is not there, and
 * most give nothing for it. What cannot be is refused in words that name the argument.
 */
#include "plugins/cards/cards.h"

#include <sodium.h>
#include <stdio.h>

#define ALL TRI_CARD_ARGUMENTS_MAX

static const char *const paired[] = {"containers", NULL};

static struct tr_bytes nothing(void)
{
    return (struct tr_bytes){0};
}

/* ------------------------------------------------------------------------------ what there is */

static struct tr_bytes call_default(struct tri_card_call *call)
{
    for (uint32_t i = 0; i < call->count; i++) {
        if (tri_card_is_there(call->values[i])) {
            return call->values[i];
        }
    }
    return nothing();
}

static struct tr_bytes call_need(struct tri_card_call *call)
{
    if (!tri_card_is_there(call->values[0])) {
        tri_card_refuse(call->making,
                        "%.*s is missing, which the card '%.*s' needs: say it in the "
                        "task",
                        (int)call->words[0].size, call->words[0].data, (int)call->making->card.size,
                        call->making->card.data);
    }
    return call->values[0];
}

/* Whether it counts as true: something that is neither false nor 0. */
static bool is_true(struct tr_bytes value)
{
    enum tr_codec_type type = tr_json_type(value);
    bool is_number = type == TR_CODEC_UNSIGNED || type == TR_CODEC_SIGNED;
    return tri_card_is_there(value) && (type != TR_CODEC_BOOL || tr_json_bool(value)) &&
           (!is_number || tr_json_i64(value, 0) != 0);
}

static struct tr_bytes call_if(struct tri_card_call *call)
{
    return is_true(call->values[0]) ? call->values[1] : call->values[2];
}

static struct tr_bytes call_equal(struct tri_card_call *call)
{
    const struct tr_bytes *values = call->values;
    bool is = values[0].size == values[1].size && values[0].size > 0 &&
              memcmp(values[0].data, values[1].data, values[0].size) == 0;
    struct tr_build build = tri_card_build(call->making);
    tr_build_bool(&build, is);
    return tri_card_built(call->making, &build);
}

/* -------------------------------------------------------------------------- numbers and texts */

/* A whole number, in whatever form JSON and Flyte's messages have it. */
static bool read_number(struct tr_bytes value, int64_t *number)
{
    if (tr_json_type(value) == TR_CODEC_F64) {
        struct tr_cursor cursor = tr_cursor_of(value);
        double real = tr_read_f64(&cursor);
        bool is_whole = real >= -9e15 && real <= 9e15 && (double)(int64_t)real == real;
        *number = is_whole ? (int64_t)real : 0;
        return is_whole;
    }
    int64_t low = tr_json_i64(value, INT64_MIN);
    *number = low;
    return low != INT64_MIN;
}

static struct tr_bytes number_value(struct tri_card_call *call, int64_t number)
{
    struct tr_build build = tri_card_build(call->making);
    tr_build_i64(&build, number);
    return tri_card_built(call->making, &build);
}

/* The first that is there: a message has a number in one version where it has a map in another. */
static struct tr_bytes call_number(struct tri_card_call *call)
{
    for (uint32_t i = 0; i < call->count; i++) {
        enum tr_codec_type type = tr_json_type(call->values[i]);
        int64_t number;
        if (!tri_card_is_there(call->values[i]) || type == TR_CODEC_MAP) {
            continue;
        }
        if (read_number(call->values[i], &number)) {
            return number_value(call, number);
        }
        tri_card_refuse(call->making, "%.*s has to be a whole number", (int)call->words[i].size,
                        call->words[i].data);
        break;
    }
    return nothing();
}

/* The smallest, or the greatest, of those that are numbers. */
static struct tr_bytes extreme(struct tri_card_call *call, bool is_least)
{
    int64_t best = 0;
    bool has_any = false;
    for (uint32_t i = 0; i < call->count; i++) {
        int64_t number;
        bool is_one = tri_card_is_there(call->values[i]) && read_number(call->values[i], &number);
        if (is_one && (!has_any || (is_least ? number < best : number > best))) {
            best = number;
            has_any = true;
        }
    }
    return has_any ? number_value(call, best) : nothing();
}

static struct tr_bytes call_min(struct tri_card_call *call)
{
    return extreme(call, true);
}

static struct tr_bytes call_max(struct tri_card_call *call)
{
    return extreme(call, false);
}

/* A number that has to be at least one: a count of replicas. */
static struct tr_bytes call_positive(struct tri_card_call *call)
{
    struct tr_bytes value = call_number(call);
    if (call->making->error == 0 && tr_json_i64(value, 0) < 1) {
        tri_card_refuse(call->making, "%.*s has to be at least 1", (int)call->words[0].size,
                        call->words[0].data);
    }
    return value;
}

static struct tr_bytes call_text(struct tri_card_call *call)
{
    struct tr_bytes value = call->values[0];
    enum tr_codec_type type = tr_json_type(value);
    int64_t number;
    if (!tri_card_is_there(value) || type == TR_CODEC_TEXT) {
        return value;
    }
    struct tr_text words = {0};
    if (type == TR_CODEC_BOOL) {
        words = tr_text_of(tr_json_bool(value) ? "true" : "false");
    } else if (read_number(value, &number)) {
        words = tr_task_format(call->making->task, "%lld", (long long)number);
    } else if (type == TR_CODEC_F64) {
        struct tr_cursor cursor = tr_cursor_of(value);
        words = tr_task_format(call->making->task, "%.17g", tr_read_f64(&cursor));
    }
    if (words.size == 0) {
        tri_card_refuse(call->making, "%.*s has to be a text or a number", (int)call->words[0].size,
                        call->words[0].data);
    }
    return tri_card_text_value(call->making, words);
}

static size_t letters_of(struct tr_text text, char *room, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < text.size && used < size; i++) {
        char letter = (char)(text.data[i] | 32);
        bool is_one = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
        room[used] = letter;
        used += is_one ? 1 : 0;
    }
    return used;
}

/* Whether an enumerator's name, RESTART_POLICY_ON_FAILURE, ends as the word does, OnFailure. */
static bool ends_as(struct tr_text name, struct tr_text word)
{
    char all[100];
    char end[100];
    size_t size = letters_of(name, all, sizeof all);
    size_t wanted = letters_of(word, end, sizeof end);
    return wanted > 0 && wanted <= size && memcmp(all + size - wanted, end, wanted) == 0;
}

/* The word of an enumerator, by its number or name: enum(x, 'Zero', 'One', ...). */
static struct tr_bytes call_enum(struct tri_card_call *call)
{
    struct tr_bytes value = call->values[0];
    struct tr_text name = tr_json_text(value);
    int64_t number = -1;
    bool is_number = name.size == 0 && read_number(value, &number);
    if (!tri_card_is_there(value)) {
        return nothing();
    }
    for (uint32_t i = 1; i < call->count; i++) {
        bool is_it =
            is_number ? number == (int64_t)i - 1 : ends_as(name, tr_json_text(call->values[i]));
        if (is_it) {
            return call->values[i];
        }
    }
    tri_card_refuse(call->making, "%.*s has a value that the card '%.*s' does not know: %.*s",
                    (int)call->words[0].size, call->words[0].data, (int)call->making->card.size,
                    call->making->card.data, (int)name.size, name.data == NULL ? "" : name.data);
    return nothing();
}

/* The text that base64 stands for. */
static struct tr_bytes call_decode(struct tri_card_call *call)
{
    struct tr_text text = tr_json_text(call->values[0]);
    uint8_t *room = text.size == 0 ? NULL : tr_task_scratch(call->making->task, text.size);
    size_t size = 0;
    const char *end = NULL;
    if (room == NULL) {
        return nothing();
    }
    if (sodium_base642bin(room, text.size, text.data, text.size, NULL, &size, &end,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        end != text.data + text.size) {
        tri_card_refuse(call->making, "%.*s has to be base64", (int)call->words[0].size,
                        call->words[0].data);
        return nothing();
    }
    return tri_card_text_value(call->making,
                               (struct tr_text){.data = (const char *)room, .size = size});
}

static struct tr_bytes call_resources(struct tri_card_call *call)
{
    return tri_card_resources(call->making, call->values[0]);
}

/* ------------------------------------------------------------------------------ lists and maps */

static struct tr_bytes call_merge(struct tri_card_call *call)
{
    struct tr_bytes merged = {0};
    for (uint32_t i = 0; i < call->count && call->making->error == 0; i++) {
        struct tr_build build = tri_card_build(call->making);
        if (tr_json_type(call->values[i]) != TR_CODEC_MAP) {
            continue;
        }
        if (merged.size == 0) {
            merged = call->values[i];
            continue;
        }
        tr_build_laid_over(&build, merged, call->values[i], paired);
        merged = tri_card_built(call->making, &build);
    }
    return merged;
}

/* What is there of its arguments, one behind the other; lists among them are taken apart. */
static struct tr_bytes call_list(struct tri_card_call *call)
{
    struct tr_build build = tri_card_build(call->making);
    tr_build_list(&build);
    for (uint32_t i = 0; i < call->count; i++) {
        struct tr_json_walk walk = tr_json_walk(call->values[i]);
        if (tr_json_type(call->values[i]) != TR_CODEC_ARRAY) {
            if (tri_card_is_there(call->values[i])) {
                tr_build_value(&build, call->values[i]);
            }
            continue;
        }
        while (tri_card_step(call->making) && tr_json_next(&walk)) {
            tr_build_value(&build, walk.value);
        }
    }
    tr_build_end(&build);
    return tri_card_built(call->making, &build);
}

static struct tr_bytes call_first(struct tri_card_call *call)
{
    struct tr_json_walk walk = tr_json_walk(call->values[0]);
    return tr_json_type(call->values[0]) == TR_CODEC_ARRAY && tr_json_next(&walk) ? walk.value
                                                                                  : nothing();
}

/* Texts with a text between them; `quotes`: each as a word of a shell. */
static struct tr_bytes join(struct tri_card_call *call, struct tr_text between, bool quotes)
{
    struct tr_task_context *task = call->making->task;
    struct tr_json_walk walk = tr_json_walk(call->values[0]);
    size_t size = 0;
    if (!tri_card_is_there(call->values[0])) {
        return nothing();
    }
    while (tr_json_next(&walk)) {
        size += 4 * tr_json_text(walk.value).size + between.size + 2;
    }
    char *room = tr_task_scratch(task, size + 1);
    char *at = room;
    walk = tr_json_walk(call->values[0]);
    while (room != NULL && tri_card_step(call->making) && tr_json_next(&walk)) {
        struct tr_text text = tr_json_text(walk.value);
        if (at != room && between.size > 0) {
            at = mempcpy(at, between.data, between.size);
        }
        if (quotes) {
            *at++ = '\'';
        }
        for (size_t i = 0; i < text.size; i++) {
            bool is_quote = quotes && text.data[i] == '\'';
            at = is_quote ? mempcpy(at, "'\\''", 4) : mempcpy(at, text.data + i, 1);
        }
        if (quotes) {
            *at++ = '\'';
        }
    }
    return room == NULL
               ? nothing()
               : tri_card_text_value(call->making,
                                     (struct tr_text){.data = room, .size = (size_t)(at - room)});
}

static struct tr_bytes call_join(struct tri_card_call *call)
{
    return join(call, tr_json_text(call->values[1]), false);
}

static struct tr_bytes call_shell(struct tri_card_call *call)
{
    return join(call, tr_text_of(" "), true);
}

/* --------------------------------------------------------------------------------- the table */

static const struct tri_card_function functions[] = {
    {"decode", 1, 1, call_decode},       {"default", 1, ALL, call_default},
    {"enum", 2, ALL, call_enum},         {"equal", 2, 2, call_equal},
    {"first", 1, 1, call_first},         {"if", 2, 3, call_if},
    {"join", 2, 2, call_join},           {"list", 0, ALL, call_list},
    {"max", 1, ALL, call_max},           {"merge", 2, ALL, call_merge},
    {"min", 1, ALL, call_min},           {"need", 1, 1, call_need},
    {"number", 1, ALL, call_number},     {"positive", 1, ALL, call_positive},
    {"resources", 1, 1, call_resources}, {"shell", 1, 1, call_shell},
    {"text", 1, 1, call_text},
};

const struct tri_card_function *tri_card_function(struct tr_text name)
{
    for (size_t i = 0; i < TR_COUNT_OF(functions); i++) {
        if (tr_text_equal(name, tr_text_of(functions[i].name))) {
            return &functions[i];
        }
    }
    return NULL;
}

void tri_card_functions(char *room, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < TR_COUNT_OF(functions) && used < size; i++) {
        used += (size_t)snprintf(room + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 functions[i].name);
    }
}
