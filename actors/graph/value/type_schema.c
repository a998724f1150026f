/*
 * Schemas are compared as Flyte's compiler does: fields by their names and types, whatever else is
 * written beside them (titles, defaults, which are required). marshmallow's begin with a reference
 * to a definition of their own, mashumaro's and pydantic's have their fields at the top.
 *
 * References may lead in circles, so that the depth of the comparison is bounded; what lies deeper
 * counts as the same.
 */
#include "actors/graph/value/type_schema.h"

#include "actors/graph/document/json.h"

#define DEPTH_MAX 32U

/* Two schemas, whose references lead into their own definitions. */
struct comparison {
    const struct tr_tree *from_root;
    const struct tr_tree *to_root;
};

static const struct tr_tree *find(const struct tr_tree *tree, const char *key)
{
    return tree->kind == TR_TREE_MAP ? tr_tree_find(tree, key) : NULL;
}

/* What stands behind the last slash of a reference, "#/definitions/NAME". */
static struct tr_text last_part(struct tr_text text)
{
    size_t begin = text.size;
    while (begin > 0 && text.data[begin - 1] != '/') {
        begin--;
    }
    return (struct tr_text){.data = text.data + begin, .size = text.size - begin};
}

static const struct tr_tree *find_text(const struct tr_tree *map, struct tr_text key)
{
    for (uint32_t i = 0; map != NULL && map->kind == TR_TREE_MAP && i < map->count; i++) {
        if (tr_text_equal(map->pairs[i].key->text, key)) {
            return map->pairs[i].value;
        }
    }
    return NULL;
}

/* The definition that a schema refers to, or itself. */
static const struct tr_tree *resolve(const struct tr_tree *root, const struct tr_tree *tree)
{
    const struct tr_tree *reference = find(tree, "$ref");
    if (reference == NULL || !tr_tree_is_text(reference)) {
        return tree;
    }
    struct tr_text name = last_part(reference->text);
    const struct tr_tree *found = find_text(find(root, "definitions"), name);
    found = found != NULL ? found : find_text(find(root, "$defs"), name);
    return found != NULL ? found : tree;
}

static bool is_same_scalar(const struct tr_tree *a, const struct tr_tree *b)
{
    return a->kind == b->kind &&
           (tr_tree_is_text(a) ? tr_text_equal(a->text, b->text)
                               : a->kind != TR_TREE_INT || a->integer == b->integer);
}

static bool holds(const struct comparison *comparison, const struct tr_tree *from,
                  const struct tr_tree *to, uint32_t depth);

/* Each of the second list in the first, at the same place. */
static bool holds_each(const struct comparison *comparison, const struct tr_tree *from,
                       const struct tr_tree *to, uint32_t depth)
{
    bool is_fine = from->count == to->count;
    for (uint32_t i = 0; is_fine && i < to->count; i++) {
        is_fine = holds(comparison, from->items[i], to->items[i], depth + 1);
    }
    return is_fine;
}

static bool holds_fields(const struct comparison *comparison, const struct tr_tree *from,
                         const struct tr_tree *to, uint32_t depth)
{
    for (uint32_t i = 0; i < to->count; i++) {
        const struct tr_tree *field = find_text(from, to->pairs[i].key->text);
        if (field == NULL || !holds(comparison, field, to->pairs[i].value, depth + 1)) {
            return false;
        }
    }
    return true;
}

/* What a schema says by one of its words, if either says anything by it. */
static bool holds_word(const struct comparison *comparison, const struct tr_tree *from,
                       const struct tr_tree *to, const char *word, uint32_t depth)
{
    const struct tr_tree *given = find(from, word);
    const struct tr_tree *wanted = find(to, word);
    return (given == NULL) == (wanted == NULL) &&
           (given == NULL || holds(comparison, given, wanted, depth + 1));
}

static bool holds(const struct comparison *comparison, const struct tr_tree *from,
                  const struct tr_tree *to, uint32_t depth)
{
    /* Words that make a type what it is. */
    static const char *const words[] = {"type", "format", "items", "anyOf", "enum", "pb_type"};
    if (depth > DEPTH_MAX) {
        return true;
    }
    from = resolve(comparison->from_root, from);
    to = resolve(comparison->to_root, to);
    if (from->kind != TR_TREE_MAP || to->kind != TR_TREE_MAP) {
        return from->kind == TR_TREE_LIST && to->kind == TR_TREE_LIST
                   ? holds_each(comparison, from, to, depth)
                   : is_same_scalar(from, to);
    }
    const struct tr_tree *given = find(from, "properties");
    const struct tr_tree *wanted = find(to, "properties");
    bool have_fields = given != NULL && wanted != NULL && given->kind == TR_TREE_MAP &&
                       wanted->kind == TR_TREE_MAP;
    bool is_fine = have_fields ? holds_fields(comparison, given, wanted, depth)
                               : (given == NULL) == (wanted == NULL);
    for (size_t i = 0; is_fine && i < TR_COUNT_OF(words); i++) {
        is_fine = holds_word(comparison, from, to, words[i], depth);
    }
    return is_fine;
}

static const struct tr_tree *read(struct tr_arena *arena, struct tr_text schema)
{
    struct tr_report report;
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(arena, &report, 0, schema);
    tr_report_fini(&report);
    return tree;
}

bool tr_schema_castable(struct tr_text from, struct tr_text to)
{
    struct tr_arena arena;
    if (from.size == 0 || to.size == 0 || tr_text_equal(from, to)) {
        return true;
    }
    tr_arena_init(&arena);
    const struct comparison comparison = {.from_root = read(&arena, from),
                                          .to_root = read(&arena, to)};
    bool is_fine = comparison.from_root != NULL && comparison.to_root != NULL &&
                   holds(&comparison, comparison.from_root, comparison.to_root, 0);
    tr_arena_fini(&arena);
    return is_fine;
}

struct tr_text tr_schema_title(struct tr_arena *arena, struct tr_text schema)
{
    const struct tr_tree *tree = schema.size == 0 ? NULL : read(arena, schema);
    const struct tr_tree *title = tree == NULL ? NULL : find(tree, "title");
    const struct tr_tree *reference = tree == NULL ? NULL : find(tree, "$ref");
    if (title != NULL && tr_tree_is_text(title)) {
        return title->text;
    }
    return reference != NULL && tr_tree_is_text(reference) ? last_part(reference->text)
                                                           : tr_text_of("");
}
