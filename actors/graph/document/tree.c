/*
 * What all documents have in common: repeated keys, merged keys, and the core schema of YAML 1.2,
 * which says what a scalar is where nothing else does.
 *
 * Lists and mappings are closed from the inside out: when one is closed, all in it is complete. Two
 * things rest on that. A parent can add up the weights of its children, which is how aliases are
 * counted without walking through them; and the pairs of a mapping that a merge key names are
 * final, with its own merges done, so merging looks one level deep only.
 *
 * Closing a mapping of n pairs takes O(n log n), by sorting for repeated keys and sorting back.
 */
#include "actors/graph/document/tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "actors/graph/document/limits.h"

/* A number's text is copied to end it with a zero; longer texts are taken for no number. */
#define NUMBER_BYTES_MAX 400

const struct tr_tree *tr_tree_find(const struct tr_tree *map, const char *key)
{
    struct tr_text wanted = tr_text_of(key);
    for (uint32_t i = 0; map->kind == TR_TREE_MAP && i < map->count; i++) {
        if (tr_text_equal(map->pairs[i].key->text, wanted)) {
            return map->pairs[i].value;
        }
    }
    return NULL;
}

const char *tr_tree_noun(const struct tr_tree *tree)
{
    static const char *const nouns[] = {
        [TR_TREE_PLAIN] = "text",
        [TR_TREE_STRING] = "text",
        [TR_TREE_INT] = "an integer",
        [TR_TREE_FLOAT] = "a number",
        [TR_TREE_BOOL] = "a bool",
        [TR_TREE_NULL] = "nothing",
        [TR_TREE_LIST] = "a list",
        [TR_TREE_MAP] = "a mapping",
        [TR_TREE_REFERENCE] = "a reference",
    };
    struct tr_tree resolved = tr_tree_resolve(tree);
    return nouns[resolved.kind];
}

/*
 * Where the digits of a number begin, and its sign and base: 10, 8 (0o) or 16 (0x). As in YAML 1.2,
 * a sign goes with base 10 only. False where no digit can follow; whether they are digits of the
 * base is not looked at.
 */
static bool integer_digits(struct tr_text text, bool *is_negative, unsigned *base, size_t *begin)
{
    size_t at = 0;
    *is_negative = text.size > 0 && text.data[0] == '-';
    if (text.size > 0 && (text.data[0] == '-' || text.data[0] == '+')) {
        at = 1;
    }
    *base = 10;
    if (at == 0 && text.size > 2 && text.data[0] == '0') {
        *base = text.data[1] == 'x' ? 16 : text.data[1] == 'o' ? 8 : 10;
        at = *base == 10 ? 0 : 2;
    }
    *begin = at;
    return at < text.size;
}

static unsigned digit_of(char character)
{
    if (character >= '0' && character <= '9') {
        return (unsigned)(character - '0');
    }
    char lower = (char)(character | 0x20);
    return lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a') + 10 : 99;
}

/* Tells `too large for 64 bits` from `no integer`, which deserve different messages. */
bool tri_text_is_integer(struct tr_text text)
{
    bool is_negative;
    unsigned base;
    size_t at;
    if (!integer_digits(text, &is_negative, &base, &at)) {
        return false;
    }
    for (; at < text.size; at++) {
        if (digit_of(text.data[at]) >= base) {
            return false;
        }
    }
    return true;
}

bool tri_text_integer(struct tr_text text, int64_t *value)
{
    bool is_negative;
    unsigned base;
    size_t at;
    if (!tri_text_is_integer(text) || !integer_digits(text, &is_negative, &base, &at)) {
        return false;
    }
    /* Counting downward reaches the smallest integer, which has no positive twin. */
    int64_t number = 0;
    for (; at < text.size; at++) {
        if (__builtin_mul_overflow(number, (int64_t)base, &number) ||
            __builtin_sub_overflow(number, (int64_t)digit_of(text.data[at]), &number)) {
            return false;
        }
    }
    if (!is_negative && __builtin_sub_overflow((int64_t)0, number, &number)) {
        return false;
    }
    *value = number;
    return true;
}

bool tri_text_has_dollar(struct tr_text text)
{
    const char *end = text.data + text.size;
    if (text.size > 0 && text.data[0] == '$') {
        return true;
    }
    const char *at = text.size == 0 ? NULL : memchr(text.data, '{', text.size);
    while (at != NULL && at + 1 < end && at[1] != '$') {
        at = memchr(at + 1, '{', (size_t)(end - at - 1));
    }
    return at != NULL && at + 1 < end;
}

/* Whether the text is [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_decimal(struct tr_text text)
{
    size_t at = text.size > 0 && (text.data[0] == '-' || text.data[0] == '+') ? 1 : 0;
    size_t whole = 0;
    size_t fraction = 0;
    for (; at < text.size && digit_of(text.data[at]) < 10; at++) {
        whole++;
    }
    if (at < text.size && text.data[at] == '.') {
        for (at++; at < text.size && digit_of(text.data[at]) < 10; at++) {
            fraction++;
        }
    }
    if (whole + fraction == 0 || at == text.size) {
        return whole + fraction > 0;
    }
    if ((text.data[at] | 0x20) != 'e' || ++at == text.size) {
        return false;
    }
    at += text.data[at] == '-' || text.data[at] == '+' ? 1 : 0;
    size_t digits = at;
    while (at < text.size && digit_of(text.data[at]) < 10) {
        at++;
    }
    return at == text.size && at > digits;
}

static bool text_is_one_of(struct tr_text text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tr_text_equal(text, tr_text_of(words[i]))) {
            return true;
        }
    }
    return false;
}

static bool special_number(struct tr_text text, double *value)
{
    static const char *const nan_words[] = {".nan", ".NaN", ".NAN"};
    static const char *const infinity_words[] = {".inf", ".Inf", ".INF"};
    if (text_is_one_of(text, nan_words, TR_COUNT_OF(nan_words))) {
        *value = (double)NAN;
        return true;
    }
    bool is_negative = text.size > 0 && text.data[0] == '-';
    if (is_negative || (text.size > 0 && text.data[0] == '+')) {
        text = (struct tr_text){.data = text.data + 1, .size = text.size - 1};
    }
    if (!text_is_one_of(text, infinity_words, TR_COUNT_OF(infinity_words))) {
        return false;
    }
    *value = is_negative ? (double)-INFINITY : (double)INFINITY;
    return true;
}

bool tri_text_number(struct tr_text text, double *value)
{
    if (special_number(text, value)) {
        return true;
    }
    int64_t integer;
    if (tri_text_integer(text, &integer)) {
        *value = (double)integer;
        return true;
    }
    /* strtod alone would take more than the core schema: blanks, hexadecimal floats, `nan`. */
    if (!is_decimal(text) || text.size >= NUMBER_BYTES_MAX) {
        return false;
    }
    char copy[NUMBER_BYTES_MAX];
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    double number = strtod(copy, NULL);
    /* A finite number that is too large is none, rather than infinity in silence. */
    if (isinf(number)) {
        return false;
    }
    *value = number;
    return true;
}

/*
 * The tries go from words to integers to numbers; the first that fits counts, and text is what is
 * left. An integer that does not fit into 64 bits becomes a number.
 */
struct tr_tree tr_tree_resolve(const struct tr_tree *tree)
{
    static const char *const null_words[] = {"", "~", "null", "Null", "NULL"};
    static const char *const true_words[] = {"true", "True", "TRUE"};
    static const char *const false_words[] = {"false", "False", "FALSE"};
    struct tr_tree resolved = *tree;
    if (tree->kind != TR_TREE_PLAIN) {
        return resolved;
    }
    if (text_is_one_of(tree->text, null_words, TR_COUNT_OF(null_words))) {
        resolved.kind = TR_TREE_NULL;
    } else if (text_is_one_of(tree->text, true_words, TR_COUNT_OF(true_words))) {
        resolved.kind = TR_TREE_BOOL;
        resolved.boolean = true;
    } else if (text_is_one_of(tree->text, false_words, TR_COUNT_OF(false_words))) {
        resolved.kind = TR_TREE_BOOL;
        resolved.boolean = false;
    } else if (tri_text_integer(tree->text, &resolved.integer)) {
        resolved.kind = TR_TREE_INT;
    } else if (tri_text_number(tree->text, &resolved.number)) {
        resolved.kind = TR_TREE_FLOAT;
    } else {
        resolved.kind = TR_TREE_STRING;
        resolved.text = tree->text;
    }
    return resolved;
}

struct tr_tree *tri_tree_new(struct tr_arena *arena, enum tr_tree_kind kind, struct tri_place place)
{
    struct tr_tree *tree = tr_arena_alloc(arena, sizeof *tree);
    if (tree != NULL) {
        tree->kind = (uint8_t)kind;
        tree->place = place;
        tree->weight = 1;
    }
    return tree;
}

/*
 * Counts a child's values and dollar signs for its parent. A weight that does not fit stays at the
 * maximum, which is above every limit, instead of wrapping to a small one. `has_dollar` lets later
 * passes leave out whole parts of a document that hold no reference.
 */
static void take_account(struct tr_tree *parent, const struct tr_tree *child)
{
    if (__builtin_add_overflow(parent->weight, child->weight, &parent->weight)) {
        parent->weight = UINT32_MAX;
    }
    parent->has_dollar = parent->has_dollar || child->has_dollar;
}

void tri_tree_close_list(struct tr_tree *list, const struct tri_vector *items)
{
    list->items = items->items;
    list->count = items->count;
    for (uint32_t i = 0; i < list->count; i++) {
        take_account(list, list->items[i]);
    }
}

/* One pair on its way into a mapping: where it came in, and whether a merge brought it. */
struct entry {
    struct tr_pair pair;
    uint32_t order;
    bool is_merged;
};

/*
 * Equal keys in the order in which they came: own pairs before merged ones, earlier merges before
 * later ones. So the first of each run is the one that counts.
 */
static int compare_keys(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    int order = tr_text_order(a->pair.key->text, b->pair.key->text);
    if (order != 0) {
        return order;
    }
    return a->order < b->order ? -1 : 1;
}

static int compare_orders(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    return a->order < b->order ? -1 : 1;
}

/* A quoted "<<" is a key like any other, and so is every key of JSON. */
static bool is_merge(const struct tr_pair *pair)
{
    return pair->key->kind == TR_TREE_PLAIN && tr_text_equal(pair->key->text, tr_text_of("<<"));
}

/*
 * The mapping at `index` of those that one merge key names: one mapping, or a list of them. NULL
 * behind the last one, and where it is no mapping, which is told; what the list has behind that is
 * not merged.
 */
static const struct tr_tree *merge_source(struct tr_report *report, const struct tr_pair *pair,
                                          uint32_t index)
{
    const struct tr_tree *value = pair->value;
    if (value->kind == TR_TREE_LIST) {
        value = index < value->count ? value->items[index] : NULL;
    } else if (index > 0) {
        return NULL;
    }
    if (value != NULL && value->kind != TR_TREE_MAP) {
        tri_report_add(report, value->place, NULL,
                       "'<<' merges mappings, and this is %s\nname an anchor of a mapping",
                       tr_tree_noun(value));
        return NULL;
    }
    return value;
}

/*
 * False without memory. The bound is a second line of defence: what a mapping holds, pairs that
 * aliases bring included, was counted against it when it was read.
 */
static bool add_entry(struct tr_arena *arena, struct tri_vector *entries, struct tr_pair pair,
                      bool is_merged)
{
    struct entry *entry = tri_vector_add(arena, entries, sizeof *entry);
    if (entry == NULL || entries->count > TR_TREE_NODES_MAX) {
        return false;
    }
    *entry = (struct entry){.pair = pair, .order = entries->count, .is_merged = is_merged};
    return true;
}

/*
 * Lists a mapping's own pairs, then those that its merge keys bring, wherever those keys stand: an
 * own pair wins over a merged one, and of merged ones the first (yaml.org/type/merge).
 */
static bool gather(struct tr_arena *arena, struct tr_report *report, const struct tri_vector *pairs,
                   struct tri_vector *entries)
{
    const struct tr_pair *own = pairs->items;
    for (uint32_t i = 0; i < pairs->count; i++) {
        if (!is_merge(&own[i]) && !add_entry(arena, entries, own[i], false)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < pairs->count; i++) {
        if (!is_merge(&own[i])) {
            continue;
        }
        const struct tr_tree *source;
        for (uint32_t k = 0; (source = merge_source(report, &own[i], k)) != NULL; k++) {
            for (uint32_t j = 0; j < source->count; j++) {
                if (!add_entry(arena, entries, source->pairs[j], true)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/*
 * Takes out what has an equal before it in the sorted entries; that is an error unless a merge
 * brought it. Gives how many are left. The tree is still good after the error, so that further
 * errors of the document can be found.
 */
static uint32_t drop_repeated(struct tr_report *report, struct entry *entries, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct entry *first = kept == 0 ? NULL : &entries[kept - 1];
        if (first == NULL || !tr_text_equal(first->pair.key->text, entries[i].pair.key->text)) {
            entries[kept++] = entries[i];
        } else if (!entries[i].is_merged) {
            tri_report_add(report, entries[i].pair.key->place, "DuplicateId",
                           "the key '%.*s' stands here again, first in line %u\n"
                           "keep one of them",
                           TRI_SHOWN(entries[i].pair.key->text), first->pair.key->place.line);
        }
    }
    return kept;
}

bool tri_tree_close_map(struct tr_arena *arena, struct tr_report *report, struct tr_tree *map,
                        const struct tri_vector *pairs)
{
    struct tri_vector entries = {0};
    if (!gather(arena, report, pairs, &entries)) {
        return false;
    }
    uint32_t count = 0;
    if (entries.count > 0) {
        qsort(entries.items, entries.count, sizeof(struct entry), compare_keys);
        count = drop_repeated(report, entries.items, entries.count);
        qsort(entries.items, count, sizeof(struct entry), compare_orders);
    }
    struct tr_pair *kept = tr_arena_array(arena, count, sizeof *kept);
    if (kept == NULL) {
        return false;
    }
    const struct entry *all = entries.items;
    for (uint32_t i = 0; i < count; i++) {
        kept[i] = all[i].pair;
        take_account(map, kept[i].key);
        take_account(map, kept[i].value);
    }
    map->pairs = kept;
    map->count = count;
    return true;
}
