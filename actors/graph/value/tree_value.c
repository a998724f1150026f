/*
 * Run-time values as trees, so that one reader makes typed values of them and of documents alike.
 * Recursion follows the value, no deeper than TR_LITERAL_DEPTH_MAX.
 *
 * The tree borrows its texts from the packed value, which has to outlive it; nodes lie in the
 * arena. They have no place, so messages about them show a path instead of a line. Strings become
 * STRING and never PLAIN: a text "5" in a struct is text, and goes into no int.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/value/literal.h"

static struct tr_tree *convert(struct tr_arena *arena, struct tr_cursor *cursor, uint32_t depth);

static struct tr_tree *make(struct tr_arena *arena, enum tr_tree_kind kind)
{
    return tri_tree_new(arena, kind, (struct tri_place){0});
}

static struct tr_tree *convert_text(struct tr_arena *arena, struct tr_cursor *cursor)
{
    struct tr_tree *tree = make(arena, TR_TREE_STRING);
    struct tr_text text = tr_read_text(cursor);
    if (tree != NULL) {
        tree->text = text;
    }
    return tree;
}

static struct tr_tree *convert_list(struct tr_arena *arena, struct tr_cursor *cursor,
                                    uint32_t depth)
{
    struct tr_tree *list = make(arena, TR_TREE_LIST);
    uint32_t count = tr_read_array(cursor);
    /*
     * The count is no larger than the bytes left, so a forged header cannot ask for more memory
     * than a fixed multiple of the input.
     */
    struct tr_tree **items = tr_arena_array(arena, count, sizeof *items);
    if (list == NULL || items == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        items[i] = convert(arena, cursor, depth + 1);
        if (items[i] == NULL) {
            return NULL;
        }
    }
    struct tri_vector vector = {.items = items, .count = count};
    tri_tree_close_list(list, &vector);
    return list;
}

/*
 * The keys of packed maps are sorted and different (tr_literal_check), so the pairs are stored as
 * they come, without tri_tree_close_map, which looks for repeated keys and merges `<<`. Here `<<`
 * is a key like any other.
 */
static struct tr_tree *convert_map(struct tr_arena *arena, struct tr_cursor *cursor, uint32_t depth)
{
    struct tr_tree *map = make(arena, TR_TREE_MAP);
    uint32_t count = tr_read_map(cursor);
    struct tr_pair *pairs = tr_arena_array(arena, count, sizeof *pairs);
    if (map == NULL || pairs == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        pairs[i].key = convert_text(arena, cursor);
        pairs[i].value = convert(arena, cursor, depth + 1);
        if (pairs[i].key == NULL || pairs[i].value == NULL) {
            return NULL;
        }
        map->weight += pairs[i].value->weight + 1;
    }
    map->pairs = pairs;
    map->count = count;
    return map;
}

static struct tr_tree *convert_scalar(struct tr_arena *arena, struct tr_cursor *cursor)
{
    struct tr_tree *tree = make(arena, TR_TREE_NULL);
    if (tree == NULL || tr_read_nil(cursor)) {
        return tree;
    }
    switch (tri_value_kind(cursor)) {
    case TRI_VALUE_BOOL:
        tree->kind = TR_TREE_BOOL;
        tree->boolean = tr_read_bool(cursor);
        return tree;
    case TRI_VALUE_INT:
        tree->kind = TR_TREE_INT;
        tree->integer = tr_read_i64(cursor);
        return tree;
    case TRI_VALUE_FLOAT:
        tree->kind = TR_TREE_FLOAT;
        tree->number = tr_read_f64(cursor);
        return tree;
    case TRI_VALUE_NIL:
    case TRI_VALUE_TEXT:
    case TRI_VALUE_LIST:
    case TRI_VALUE_MAP:
    case TRI_VALUE_OTHER:
        break;
    }
    return NULL;
}

static struct tr_tree *convert(struct tr_arena *arena, struct tr_cursor *cursor, uint32_t depth)
{
    if (depth > TR_LITERAL_DEPTH_MAX) {
        return NULL;
    }
    enum tri_value_kind kind = tri_value_kind(cursor);
    struct tr_tree *tree = kind == TRI_VALUE_TEXT   ? convert_text(arena, cursor)
                           : kind == TRI_VALUE_LIST ? convert_list(arena, cursor, depth)
                           : kind == TRI_VALUE_MAP  ? convert_map(arena, cursor, depth)
                                                    : convert_scalar(arena, cursor);
    return cursor->error == 0 ? tree : NULL;
}

const struct tr_tree *tri_tree_of_value(struct tr_arena *arena, struct tr_bytes value)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    return convert(arena, &cursor, 0);
}
