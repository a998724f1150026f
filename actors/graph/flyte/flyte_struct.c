/*
 * Free-form values as trees: google.protobuf.Struct, whose numbers are all doubles, so that a whole
 * one is an integer as it is in JSON; and msgpack as tasks write it, which is not ours: its maps
 * are not sorted and may say a key twice.
 *
 * A Struct loses integers: 3 arrives as 3.0. Reading whole numbers as ints restores what the task
 * meant in nearly all cases, and a float takes an int where it is declared. Beyond 2^53 a double no
 * longer tells neighbours apart, so it stays a float there.
 */
#include "actors/graph/flyte/flyte_inside.h"

#include <math.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/value/literal.h"

/* Up to here every whole double is an integer and the other way round. */
#define EXACT_MAX 9007199254740992.0

static struct tr_tree *make(struct tr_arena *arena, enum tr_tree_kind kind)
{
    return tri_tree_new(arena, kind, (struct tri_place){0});
}

struct tr_tree *tri_flyte_refuse(struct tr_report *report, const char *words)
{
    tri_report_add(report, (struct tri_place){0}, "MismatchingTypes", "%s", words);
    return NULL;
}

/*
 * The text is a view and has to live as long as the arena, as those of unpacked messages do. In
 * Flyte's values nothing refers to anything, so that has_dollar stays false.
 */
struct tr_tree *tri_flyte_text(struct tr_arena *arena, struct tr_text text)
{
    struct tr_tree *tree = make(arena, TR_TREE_STRING);
    if (tree != NULL) {
        tree->text = text;
    }
    return tree;
}

/* Closing reports keys that are there twice and drops them, so a smaller count tells of it. */
struct tr_tree *tri_flyte_map(struct tr_arena *arena, struct tr_report *report,
                              const struct tri_vector *pairs)
{
    struct tr_tree *map = make(arena, TR_TREE_MAP);
    bool is_made = map != NULL && tri_tree_close_map(arena, report, map, pairs);
    if (is_made && map->count < pairs->count) {
        return NULL; /* the report says which */
    }
    return is_made ? map : NULL;
}

/*
 * -0.0 stays a float, as an int has no such value; NaN fails the first comparison and stays one,
 * too.
 */
static struct tr_tree *number(struct tr_arena *arena, double value)
{
    struct tr_tree *tree = make(arena, TR_TREE_FLOAT);
    if (tree == NULL) {
        return NULL;
    }
    bool is_whole = fabs(value) <= EXACT_MAX && !(floor(value) < value) &&
                    (value < 0 || value > 0 || !signbit(value));
    if (is_whole) {
        tree->kind = TR_TREE_INT;
        tree->integer = (int64_t)value;
    } else {
        tree->number = value;
    }
    return tree;
}

/* ------------------------------------------------------------------ protobuf's */

static struct tr_tree *from_value(struct tr_arena *arena, struct tr_report *report,
                                  const Google__Protobuf__Value *value);

static struct tr_tree *from_list(struct tr_arena *arena, struct tr_report *report,
                                 const Google__Protobuf__ListValue *value)
{
    struct tr_tree *list = make(arena, TR_TREE_LIST);
    struct tr_tree **items = tr_arena_array(arena, value->n_values, sizeof *items);
    if (list == NULL || items == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < value->n_values; i++) {
        items[i] = from_value(arena, report, value->values[i]);
        if (items[i] == NULL) {
            return NULL;
        }
    }
    struct tri_vector vector = {.items = items, .count = (uint32_t)value->n_values};
    tri_tree_close_list(list, &vector);
    return list;
}

struct tr_tree *tri_flyte_struct(struct tr_arena *arena, struct tr_report *report,
                                 const Google__Protobuf__Struct *value)
{
    static const Google__Protobuf__Value nothing = GOOGLE__PROTOBUF__VALUE__INIT;
    struct tri_vector pairs = {0};
    for (size_t i = 0; i < value->n_fields; i++) {
        const Google__Protobuf__Struct__FieldsEntry *entry = value->fields[i];
        struct tr_pair *pair = tri_vector_add(arena, &pairs, sizeof *pair);
        if (pair == NULL) {
            return NULL;
        }
        pair->key = tri_flyte_text(arena, tr_text_of(entry->key));
        pair->value = from_value(arena, report, entry->value != NULL ? entry->value : &nothing);
        if (pair->key == NULL || pair->value == NULL) {
            return NULL;
        }
    }
    return tri_flyte_map(arena, report, &pairs);
}

static struct tr_tree *from_value(struct tr_arena *arena, struct tr_report *report,
                                  const Google__Protobuf__Value *value)
{
    struct tr_tree *tree;
    switch (value->kind_case) {
    case GOOGLE__PROTOBUF__VALUE__KIND_NUMBER_VALUE:
        return number(arena, value->number_value);
    case GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE:
        return tri_flyte_text(arena, tr_text_of(value->string_value));
    case GOOGLE__PROTOBUF__VALUE__KIND_BOOL_VALUE:
        tree = make(arena, TR_TREE_BOOL);
        if (tree != NULL) {
            tree->boolean = value->bool_value != 0;
        }
        return tree;
    case GOOGLE__PROTOBUF__VALUE__KIND_STRUCT_VALUE:
        return tri_flyte_struct(arena, report, value->struct_value);
    case GOOGLE__PROTOBUF__VALUE__KIND_LIST_VALUE:
        return from_list(arena, report, value->list_value);
    default:
        return make(arena, TR_TREE_NULL);
    }
}

/* ------------------------------------------------------------------ msgpack */

static struct tr_tree *unpack(struct tr_arena *arena, struct tr_report *report,
                              struct tr_cursor *cursor, uint32_t depth);

static struct tr_tree *unpack_list(struct tr_arena *arena, struct tr_report *report,
                                   struct tr_cursor *cursor, uint32_t depth)
{
    struct tr_tree *list = make(arena, TR_TREE_LIST);
    uint32_t count = tr_read_array(cursor);
    struct tr_tree **items = tr_arena_array(arena, count, sizeof *items);
    if (list == NULL || items == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        items[i] = unpack(arena, report, cursor, depth + 1);
        if (items[i] == NULL) {
            return NULL;
        }
    }
    struct tri_vector vector = {.items = items, .count = count};
    tri_tree_close_list(list, &vector);
    return list;
}

static struct tr_tree *unpack_map(struct tr_arena *arena, struct tr_report *report,
                                  struct tr_cursor *cursor, uint32_t depth)
{
    uint32_t count = tr_read_map(cursor);
    struct tr_pair *pairs = tr_arena_array(arena, count, sizeof *pairs);
    for (uint32_t i = 0; pairs != NULL && i < count; i++) {
        /* msgpack allows any value as a key, and Python's dicts have int keys. JSON does not. */
        if (cursor->error == 0 && tr_peek(cursor) != TR_CODEC_TEXT) {
            return tri_flyte_refuse(report, "a key in a struct is no text\nuse text for all keys");
        }
        pairs[i].key = tri_flyte_text(arena, tr_read_text(cursor));
        pairs[i].value = unpack(arena, report, cursor, depth + 1);
        if (pairs[i].key == NULL || pairs[i].value == NULL) {
            return NULL;
        }
    }
    struct tri_vector vector = {.items = pairs, .count = count};
    return pairs == NULL ? NULL : tri_flyte_map(arena, report, &vector);
}

static struct tr_tree *unpack_scalar(struct tr_arena *arena, struct tr_report *report,
                                     struct tr_cursor *cursor)
{
    struct tr_tree *tree = make(arena, TR_TREE_NULL);
    enum tri_value_kind kind = tri_value_kind(cursor);
    if (tree == NULL || kind == TRI_VALUE_NIL) {
        (void)tr_read_nil(cursor);
        return tree;
    }
    if (kind == TRI_VALUE_BOOL) {
        tree->kind = TR_TREE_BOOL;
        tree->boolean = tr_read_bool(cursor);
    } else if (kind == TRI_VALUE_INT) {
        tree->kind = TR_TREE_INT;
        tree->integer = tr_read_i64(cursor);
    } else if (kind == TRI_VALUE_FLOAT) {
        tree->kind = TR_TREE_FLOAT;
        tree->number = tr_read_f64(cursor);
    } else {
        return tri_flyte_refuse(report, "a struct holds bytes or something that JSON has not\n"
                                        "write it as text");
    }
    return tree;
}

static struct tr_tree *unpack(struct tr_arena *arena, struct tr_report *report,
                              struct tr_cursor *cursor, uint32_t depth)
{
    if (depth > TR_LITERAL_DEPTH_MAX) {
        return tri_flyte_refuse(report, "the value nests too deeply\nkeep it in a file");
    }
    switch (tri_value_kind(cursor)) {
    case TRI_VALUE_TEXT:
        return tri_flyte_text(arena, tr_read_text(cursor));
    case TRI_VALUE_LIST:
        return unpack_list(arena, report, cursor, depth);
    case TRI_VALUE_MAP:
        return unpack_map(arena, report, cursor, depth);
    default:
        return unpack_scalar(arena, report, cursor);
    }
}

struct tr_tree *tri_flyte_msgpack(struct tr_arena *arena, struct tr_report *report,
                                  struct tr_bytes bytes)
{
    struct tr_cursor cursor = tr_cursor_of(bytes);
    struct tr_tree *tree = unpack(arena, report, &cursor, 0);
    /*
     * A cursor gives zeros after a fault, so a tree may be there that means nothing. It counts only
     * if the bytes were read to their end without one. An error that is in the report already is
     * not told twice.
     */
    bool is_whole = cursor.error == 0 && tr_cursor_left(&cursor) == 0;
    if (arena->error != 0 || (is_whole && tree != NULL) || tr_report_total(report) > 0) {
        return is_whole ? tree : NULL;
    }
    return tri_flyte_refuse(report, "the bytes are no msgpack, as their tag says they are");
}

/* ------------------------------------------------------------------ back to protobuf's */

static Google__Protobuf__Value *value_new(struct tr_arena *arena, struct tr_cursor *cursor,
                                          int *error);

static Google__Protobuf__ListValue *list_new(struct tr_arena *arena, struct tr_cursor *cursor,
                                             int *error)
{
    uint32_t count = tr_read_array(cursor);
    Google__Protobuf__ListValue *list =
        tri_flyte_new(arena, &google__protobuf__list_value__descriptor);
    Google__Protobuf__Value **values = tr_arena_array(arena, count, sizeof(void *));
    if (list == NULL || values == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        values[i] = value_new(arena, cursor, error);
    }
    list->n_values = count;
    list->values = values;
    return list;
}

/* A value that could not be made is NULL in there: the arena's error keeps it from being packed. */
Google__Protobuf__Struct *tri_flyte_struct_new(struct tr_arena *arena, struct tr_cursor *cursor,
                                               int *error)
{
    uint32_t count = tr_read_map(cursor);
    Google__Protobuf__Struct *made = tri_flyte_new(arena, &google__protobuf__struct__descriptor);
    Google__Protobuf__Struct__FieldsEntry **fields = tr_arena_array(arena, count, sizeof(void *));
    if (made == NULL || fields == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        fields[i] = tri_flyte_new(arena, &google__protobuf__struct__fields_entry__descriptor);
        if (fields[i] == NULL) {
            return NULL;
        }
        fields[i]->key = tri_flyte_string(arena, tr_read_text(cursor), error);
        fields[i]->value = value_new(arena, cursor, error);
    }
    made->n_fields = count;
    made->fields = fields;
    return made;
}

/* All numbers of protobuf's are doubles, as those that came were. */
static void scalar_new(struct tr_arena *arena, struct tr_cursor *cursor, int *error,
                       Google__Protobuf__Value *value)
{
    switch (tri_value_kind(cursor)) {
    case TRI_VALUE_BOOL:
        value->kind_case = GOOGLE__PROTOBUF__VALUE__KIND_BOOL_VALUE;
        value->bool_value = tr_read_bool(cursor);
        break;
    case TRI_VALUE_INT:
        value->kind_case = GOOGLE__PROTOBUF__VALUE__KIND_NUMBER_VALUE;
        value->number_value = (double)tr_read_i64(cursor);
        break;
    case TRI_VALUE_FLOAT:
        value->kind_case = GOOGLE__PROTOBUF__VALUE__KIND_NUMBER_VALUE;
        value->number_value = tr_read_f64(cursor);
        break;
    case TRI_VALUE_TEXT:
        value->kind_case = GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE;
        value->string_value = tri_flyte_string(arena, tr_read_text(cursor), error);
        break;
    default:
        (void)tr_read_any(cursor);
        value->kind_case = GOOGLE__PROTOBUF__VALUE__KIND_NULL_VALUE;
        break;
    }
}

static Google__Protobuf__Value *value_new(struct tr_arena *arena, struct tr_cursor *cursor,
                                          int *error)
{
    Google__Protobuf__Value *value = tri_flyte_new(arena, &google__protobuf__value__descriptor);
    if (value == NULL) {
        return NULL;
    }
    if (tri_value_kind(cursor) == TRI_VALUE_MAP) {
        value->kind_case = GOOGLE__PROTOBUF__VALUE__KIND_STRUCT_VALUE;
        value->struct_value = tri_flyte_struct_new(arena, cursor, error);
    } else if (tri_value_kind(cursor) == TRI_VALUE_LIST) {
        value->kind_case = GOOGLE__PROTOBUF__VALUE__KIND_LIST_VALUE;
        value->list_value = list_new(arena, cursor, error);
    } else {
        scalar_new(arena, cursor, error, value);
    }
    return value;
}
