/*
 * The readers that all parts of a definition share. What they report is what a user reads most
 * often, so each message names what stands there, what belongs there, and the nearest word.
 */
#include "actors/graph/language/keys.h"

#include "actors/graph/document/limits.h"

#define DISTANCE_BYTES_MAX 64

bool tri_expect_map(struct tri_definition *definition, const struct tr_tree *tree, const char *what)
{
    if (tree->kind == TR_TREE_MAP) {
        return true;
    }
    tri_report_add(definition->report, tree->place, "InvalidValue",
                   "%s is a mapping, and this is %s\nwrite {key: value}", what, tr_tree_noun(tree));
    return false;
}

bool tri_expect_list(struct tri_definition *definition, const struct tr_tree *tree,
                     const char *what)
{
    if (tree->kind == TR_TREE_LIST) {
        return true;
    }
    tri_report_add(definition->report, tree->place, "InvalidValue",
                   "%s is a list, and this is %s\nwrite [a, b]", what, tr_tree_noun(tree));
    return false;
}

uint32_t tri_distance(struct tr_text a, struct tr_text b)
{
    uint32_t row[DISTANCE_BYTES_MAX + 1];
    if (a.size > DISTANCE_BYTES_MAX || b.size > DISTANCE_BYTES_MAX || b.size == 0) {
        return UINT32_MAX;
    }
    for (uint32_t k = 0; k <= b.size; k++) {
        row[k] = k;
    }
    for (uint32_t i = 1; i <= a.size; i++) {
        uint32_t diagonal = row[0];
        row[0] = i;
        for (uint32_t k = 1; k <= b.size; k++) {
            uint32_t changed = diagonal + (a.data[i - 1] == b.data[k - 1] ? 0 : 1);
            uint32_t shorter = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;
            diagonal = row[k];
            row[k] = changed < shorter ? changed : shorter;
        }
    }
    return row[b.size];
}

struct tr_text tri_nearest(struct tri_definition *definition, struct tr_text name,
                           struct tr_text (*name_at)(const void *self, uint32_t position),
                           const void *self, uint32_t count)
{
    struct tr_text nearest = tr_text_of("");
    /* A third to a half of the letters may differ, and never all of them. */
    uint32_t most = name.size < 3 ? (uint32_t)name.size / 2 : name.size < 6 ? 2 : 3;
    uint32_t least = most + 1;
    for (uint32_t i = 0; i < count && definition->nearest_left > 0; i++) {
        definition->nearest_left--;
        uint32_t distance = tri_distance(name, name_at(self, i));
        if (distance < least) {
            least = distance;
            nearest = name_at(self, i);
        }
    }
    return nearest;
}

struct tr_text tri_did_you_mean(struct tri_definition *definition, struct tr_text nearest,
                                const char *otherwise)
{
    return nearest.size == 0
               ? tr_text_of(otherwise)
               : tr_arena_print(definition->scratch, "did you mean '%.*s'?", TRI_SHOWN(nearest));
}

/* The nearest key, however far: there is always one that was meant. */
static const char *nearest_key(struct tr_text name, const struct tri_key *keys, size_t count)
{
    const char *nearest = keys[0].name;
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        struct tr_text key = tr_text_of(keys[i].name);
        bool is_beginning =
            name.size > 2 && name.size < key.size && memcmp(name.data, key.data, name.size) == 0;
        uint32_t distance = is_beginning ? 1 : tri_distance(name, key);
        if (distance < least) {
            least = distance;
            nearest = keys[i].name;
        }
    }
    return nearest;
}

void tri_unknown_key(struct tri_definition *definition, const struct tr_tree *key, const char *what,
                     const struct tri_key *keys, size_t count)
{
    tri_report_add(definition->report, key->place, "InvalidValue",
                   "'%.*s' is no key of %s\nthe nearest one is '%s'", TRI_SHOWN(key->text), what,
                   nearest_key(key->text, keys, count));
}

void tri_read_keys(struct tri_definition *definition, const struct tr_tree *tree, const char *what,
                   const struct tri_key *keys, size_t count, void *target)
{
    if (!tri_expect_map(definition, tree, what)) {
        return;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct tr_pair *pair = &tree->pairs[i];
        size_t k = 0;
        while (k < count && !tr_text_equal(pair->key->text, tr_text_of(keys[k].name))) {
            k++;
        }
        if (k == count) {
            tri_unknown_key(definition, pair->key, what, keys, count);
        } else if (keys[k].read != NULL) {
            struct tr_text before = definition->key;
            definition->key = pair->key->text;
            keys[k].read(definition, pair->value, target);
            definition->key = before;
        }
    }
}

void tri_read_named(struct tri_definition *definition, const struct tr_tree *tree, const char *what,
                    struct tri_vector *items, size_t size, tri_key_reader *read)
{
    if (!tri_expect_map(definition, tree, what)) {
        return;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        struct tri_name name;
        struct tr_text before = tri_report_subject(definition->report, tree->pairs[i].key->text);
        definition->key = tr_text_of("");
        if (tri_read_name(definition, tree->pairs[i].key, &name)) {
            struct tri_name *item = tri_vector_add(definition->scratch, items, size);
            if (item != NULL) {
                *item = name;
                read(definition, tree->pairs[i].value, item);
            }
        }
        (void)tri_report_subject(definition->report, before);
    }
}

/* Says that a scalar is no value for the key in hand; false. */
static bool refuse(struct tri_definition *definition, const struct tr_tree *tree,
                   const char *remedy)
{
    struct tr_arena *scratch = definition->scratch;
    bool is_shown = tr_tree_is_text(tree) && !tr_tree_is_empty(tree);
    struct tr_text value = is_shown ? tr_arena_print(scratch, "'%.*s'", TRI_SHOWN(tree->text))
                                    : tr_text_of(tr_tree_noun(tree));
    struct tr_text key = definition->key;
    bool has_key = key.size > 0 && !tr_text_equal(key, tree->text);
    tri_report_add(definition->report, tree->place,
                   tr_tree_is_empty(tree) ? "ValueRequired" : "InvalidValue", "%.*s %s%.*s%s\n%s",
                   TRI_TEXT(value), has_key ? "is no value for '" : "does not belong here",
                   TRI_SHOWN(has_key ? key : tr_text_of("")), has_key ? "'" : "", remedy);
    return false;
}

bool tri_read_name(struct tri_definition *definition, const struct tr_tree *tree,
                   struct tri_name *name)
{
    if (!tr_tree_is_text(tree) || !tri_is_name(tree->text)) {
        return refuse(definition, tree,
                      "write a name: letters, digits, _ and -, a letter or _ first, at most 63");
    }
    *name = (struct tri_name){.text = tree->text, .place = tree->place};
    return true;
}

bool tri_read_names(struct tri_definition *definition, const struct tr_tree *tree,
                    const struct tri_name **names, uint32_t *count)
{
    struct tr_text key = tr_arena_print(definition->scratch, "%.*s", TRI_TEXT(definition->key));
    if (!tri_expect_list(definition, tree, key.size == 0 ? "this" : key.data)) {
        return false;
    }
    struct tri_name *items = tr_arena_array(definition->scratch, tree->count, sizeof *items);
    uint32_t kept = 0;
    for (uint32_t i = 0; items != NULL && i < tree->count; i++) {
        kept += tri_read_name(definition, tree->items[i], &items[kept]) ? 1 : 0;
    }
    if (items != NULL) {
        *names = items;
        *count = kept;
    }
    return items != NULL && kept == tree->count;
}

bool tri_read_text(struct tri_definition *definition, const struct tr_tree *tree,
                   struct tr_text *text)
{
    if (!tr_tree_is_text(tree) || tree->text.size == 0) {
        return refuse(definition, tree, "write text");
    }
    if (memchr(tree->text.data, '\0', tree->text.size) != NULL) {
        return refuse(definition, tree, "write text without zero bytes");
    }
    *text = tr_arena_text(definition->arena, tree->text);
    return true;
}

bool tri_read_count(struct tri_definition *definition, const struct tr_tree *tree, uint32_t least,
                    uint32_t most, uint32_t *count)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    if (resolved.kind != TR_TREE_INT || resolved.integer < (int64_t)least ||
        resolved.integer > (int64_t)most) {
        struct tr_text remedy =
            tr_arena_print(definition->scratch, "write a whole number from %u to %u", least, most);
        return refuse(definition, tree, remedy.size == 0 ? "" : remedy.data);
    }
    *count = (uint32_t)resolved.integer;
    return true;
}

bool tri_read_positive(struct tri_definition *definition, const struct tr_tree *tree,
                       double *number)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    double value = resolved.kind == TR_TREE_INT     ? (double)resolved.integer
                   : resolved.kind == TR_TREE_FLOAT ? resolved.number
                                                    : -1;
    if (!(value > 0) || value > 1e15) {
        return refuse(definition, tree, "write a positive number");
    }
    *number = value;
    return true;
}

bool tri_read_bool(struct tri_definition *definition, const struct tr_tree *tree, bool *value)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    if (resolved.kind != TR_TREE_BOOL) {
        return refuse(definition, tree, "write true or false");
    }
    *value = resolved.boolean;
    return true;
}

bool tri_read_duration(struct tri_definition *definition, const struct tr_tree *tree,
                       int64_t *nanoseconds)
{
    int64_t value;
    if (!tr_tree_is_text(tree) || !tr_duration_parse(tree->text, &value) || value <= 0) {
        return refuse(definition, tree,
                      "write a positive duration with the units d h m s ms us, as 1h30m");
    }
    *nanoseconds = value;
    return true;
}

bool tri_read_word(struct tri_definition *definition, const struct tr_tree *tree,
                   const char *const *words, uint32_t count, uint32_t *position)
{
    for (uint32_t i = 0; tr_tree_is_text(tree) && i < count; i++) {
        if (tr_text_equal(tree->text, tr_text_of(words[i]))) {
            *position = i;
            return true;
        }
    }
    struct tr_text list = tr_text_of("write one of:");
    for (uint32_t i = 0; i < count; i++) {
        list = tr_arena_print(definition->scratch, "%.*s %s", TRI_TEXT(list), words[i]);
    }
    return refuse(definition, tree, list.size == 0 ? "" : list.data);
}

bool tri_read_secret(struct tri_definition *definition, const struct tr_tree *tree,
                     struct tr_secret *secret)
{
    struct tr_text text;
    if (!tri_read_text(definition, tree, &text)) {
        return false;
    }
    const char *slash = memchr(text.data, '/', text.size);
    const char *end = text.data + text.size;
    const char *at = slash == NULL ? NULL : memchr(slash, '@', (size_t)(end - slash));
    const char *key_end = at == NULL ? end : at;
    if (slash == NULL || slash == text.data || key_end == slash + 1 ||
        (at != NULL && at + 1 == end)) {
        tri_report_add(definition->report, tree->place, "InvalidValue",
                       "'%.*s' names no secret\nwrite group/key or group/key@version",
                       TRI_SHOWN(text));
        return false;
    }
    secret->group = (struct tr_text){.data = text.data, .size = (size_t)(slash - text.data)};
    secret->key = (struct tr_text){.data = slash + 1, .size = (size_t)(key_end - slash - 1)};
    secret->version = at == NULL ? tr_text_of("")
                                 : (struct tr_text){.data = at + 1, .size = (size_t)(end - at - 1)};
    return true;
}
