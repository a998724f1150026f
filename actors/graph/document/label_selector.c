/*
 * Reading label selectors, word by word, and holding them against labels.
 *
 * `KEY`, `KEY=VALUE`, `KEY in (…)` and their negations are one condition: the key is there, with
 * one of the values if it has some. A negated one is fulfilled where that is not so, which is why
 * `KEY!=VALUE` holds without the key.
 */
#include "actors/graph/document/label_selector.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/document/labels.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/document/report.h"
#include "schemas/codec/error.h"

/* What ends a word, the blanks first. */
static const char signs[] = {' ', '\t', ',', '=', '!', '(', ')'};
#define BLANK_COUNT 2

struct reading {
    struct tr_arena *arena;
    struct tr_text rest;
    char *problem;
};

static TR_PRINTF(2, 3) int mistake(struct reading *reading, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(reading->problem, TR_LABEL_PROBLEM_BYTES, format, values);
    va_end(values);
    return TR_INVALID;
}

/* ------------------------------------------------------------------------- words */

static void skip(struct reading *reading, size_t size)
{
    reading->rest.data += size;
    reading->rest.size -= size;
}

static void skip_blanks(struct reading *reading)
{
    while (reading->rest.size > 0 && memchr(signs, reading->rest.data[0], BLANK_COUNT) != NULL) {
        skip(reading, 1);
    }
}

/* Takes a sign that may stand next, behind blanks. */
static bool take(struct reading *reading, const char *sign)
{
    size_t size = strlen(sign);
    skip_blanks(reading);
    bool is_there = reading->rest.size >= size && memcmp(reading->rest.data, sign, size) == 0;
    if (is_there) {
        skip(reading, size);
    }
    return is_there;
}

/* The word that stands next, behind blanks; empty where a sign does. */
static struct tr_text next_word(struct reading *reading)
{
    skip_blanks(reading);
    struct tr_text word = {.data = reading->rest.data};
    while (word.size < reading->rest.size &&
           memchr(signs, word.data[word.size], sizeof signs) == NULL) {
        word.size++;
    }
    return word;
}

static bool take_word(struct reading *reading, const char *expected)
{
    struct tr_text word = next_word(reading);
    bool is_there = tr_text_equal(word, tr_text_of(expected));
    if (is_there) {
        skip(reading, word.size);
    }
    return is_there;
}

/* -------------------------------------------------------------------- conditions */

static int read_key(struct reading *reading, struct tr_label_term *term)
{
    struct tr_text word = next_word(reading);
    if (word.size == 0) {
        return mistake(reading, "a condition has no key; write KEY=VALUE, KEY!=VALUE, KEY or !KEY");
    }
    if (!tr_label_key_is_good(word)) {
        return mistake(reading, "'%.*s' is no key of a label; " TR_LABEL_KEY_REMEDY,
                       TRI_SHOWN(word));
    }
    skip(reading, word.size);
    term->key = tr_arena_text(reading->arena, word);
    return reading->arena->error;
}

/* Takes a value and puts it behind those there are. */
static int read_value(struct reading *reading, struct tr_label_term *term)
{
    struct tr_text word = next_word(reading);
    if (!tr_label_value_is_good(word)) {
        return mistake(reading, "'%.*s' is no value of a label; " TR_LABEL_VALUE_REMEDY,
                       TRI_SHOWN(word));
    }
    skip(reading, word.size);
    term->values = term->has_values ? tr_arena_print(reading->arena, "%.*s,%.*s",
                                                     TRI_TEXT(term->values), TRI_TEXT(word))
                                    : tr_arena_text(reading->arena, word);
    term->has_values = true;
    return reading->arena->error;
}

static int read_list(struct reading *reading, struct tr_label_term *term)
{
    if (!take(reading, "(")) {
        return mistake(reading, "behind 'in' and 'notin' stands a list; write %.*s in (a, b)",
                       TRI_SHOWN(term->key));
    }
    int error = read_value(reading, term);
    while (error == 0 && take(reading, ",")) {
        error = read_value(reading, term);
    }
    return error != 0           ? error
           : take(reading, ")") ? 0
                                : mistake(reading, "a list of values ends with ')'");
}

static int read_condition(struct reading *reading, struct tr_label_term *term)
{
    term->is_negated = take(reading, "!");
    int error = read_key(reading, term);
    if (error != 0 || term->is_negated) {
        return error;
    }
    term->is_negated = take(reading, "!=");
    if (term->is_negated || take(reading, "==") || take(reading, "=")) {
        return read_value(reading, term);
    }
    term->is_negated = take_word(reading, "notin");
    return term->is_negated || take_word(reading, "in") ? read_list(reading, term) : 0;
}

/* A condition, and the comma behind it where there are more. */
static int read_next(struct reading *reading, struct tri_vector *terms, bool *has_more)
{
    struct tr_label_term term = {.has_values = false};
    int error = read_condition(reading, &term);
    if (error != 0) {
        return error;
    }
    *has_more = take(reading, ",");
    if (!*has_more && reading->rest.size > 0) {
        return mistake(reading, "'%.*s' goes on with '%.*s'; write a comma between conditions",
                       TRI_SHOWN(term.key), TRI_SHOWN(reading->rest));
    }
    struct tr_label_term *added = tri_vector_add(reading->arena, terms, sizeof *added);
    if (added == NULL) {
        return reading->arena->error;
    }
    *added = term;
    return 0;
}

int tr_label_selector_read(struct tr_arena *arena, struct tr_text text,
                           struct tr_label_selector *selector, char *problem)
{
    struct reading reading = {.arena = arena, .rest = text, .problem = problem};
    struct tri_vector terms = selector->terms;
    bool has_more = true;
    int error = 0;
    while (error == 0 && has_more) {
        error = terms.count == TR_LABEL_TERMS_MAX
                    ? mistake(&reading, "there are more than %u conditions (TR_LABEL_TERMS_MAX)",
                              TR_LABEL_TERMS_MAX)
                    : read_next(&reading, &terms, &has_more);
    }
    if (error == 0) {
        selector->terms = terms;
    }
    return error;
}

/* ------------------------------------------------------------------------ matching */

static bool is_among(struct tr_text value, struct tr_text values)
{
    while (true) {
        const char *comma = values.size == 0 ? NULL : memchr(values.data, ',', values.size);
        size_t size = comma == NULL ? values.size : (size_t)(comma - values.data);
        if (tr_text_equal(value, (struct tr_text){.data = values.data, .size = size})) {
            return true;
        }
        if (comma == NULL) {
            return false;
        }
        values.data += size + 1;
        values.size -= size + 1;
    }
}

bool tr_label_selector_holds(const struct tr_label_selector *selector, struct tr_text labels)
{
    const struct tr_label_term *terms = selector->terms.items;
    for (uint32_t i = 0; i < selector->terms.count; i++) {
        struct tr_text value;
        bool is_there = tr_labels_get(labels, terms[i].key, &value) &&
                        (!terms[i].has_values || is_among(value, terms[i].values));
        if (is_there == terms[i].is_negated) {
            return false;
        }
    }
    return true;
}
