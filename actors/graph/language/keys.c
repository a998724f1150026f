/*
 * The readers that all parts of a definition share. What they report is what a user reads most
 * often, so each message names what stands there, what belongs there, and the nearest word.
 *
 * Each reader takes a tree, reports what is wrong with it and returns false, and leaves the result
 * as it was. Reading goes on behind an error with the next key, so that one check tells all of
 * them.
 *
 * definition->key is the key whose value is being read. Messages about scalars name it, so it has
 * to be set before a reader is called and restored behind it, as readers of nested mappings set
 * their own. Suggestions cost an edit distance for each name there is; tri_keys_nearest takes them
 * from a budget, so that a file with many wrong names and many right ones does not cost their
 * product.
 */
#include "actors/graph/language/keys.h"

#include "actors/graph/document/limits.h"
#include "schemas/codec/spelling.h"

bool tri_keys_expect_map(struct tri_definition *definition, const struct tr_tree *tree,
                         const char *what)
{
    if (tree->kind == TR_TREE_MAP) {
        return true;
    }
    tri_report_add(definition->report, tree->place, "InvalidValue",
                   "%s is a mapping, and this is %s\nwrite {key: value}", what, tr_tree_noun(tree));
    return false;
}

bool tri_keys_expect_list(struct tri_definition *definition, const struct tr_tree *tree,
                          const char *what)
{
    if (tree->kind == TR_TREE_LIST) {
        return true;
    }
    tri_report_add(definition->report, tree->place, "InvalidValue",
                   "%s is a list, and this is %s\nwrite [a, b]", what, tr_tree_noun(tree));
    return false;
}

/*
 * When the budget is spent, fewer names are compared or none. The error is reported all the same,
 * with a remedy that names nothing.
 */
struct tr_text tri_keys_nearest(struct tri_definition *definition, struct tr_text name,
                                struct tr_text (*name_at)(const void *self, uint32_t position),
                                const void *self, uint32_t count)
{
    uint32_t compared = count < definition->nearest_left ? count : definition->nearest_left;
    definition->nearest_left -= compared;
    return tr_spelling_nearest(name, name_at, self, compared);
}

struct tr_text tri_keys_did_you_mean(struct tri_definition *definition, struct tr_text nearest,
                                     const char *otherwise)
{
    return nearest.size == 0
               ? tr_text_of(otherwise)
               : tr_arena_print(definition->scratch, "did you mean '%.*s'?", TRI_SHOWN(nearest));
}

/* Whether a key is the plural of a word: `retries` of `retry`, which begins `retry_on`, too. */
static bool is_plural(struct tr_text key, struct tr_text word)
{
    static const char ending[] = "ies";
    size_t stem = word.size - 1;
    return word.size > 1 && word.data[stem] == 'y' && key.size == stem + strlen(ending) &&
           memcmp(key.data, word.data, stem) == 0 && memcmp(key.data + stem, ending, 3) == 0;
}

/* Whether a key belongs to the place; with 0 all do. */
static bool is_of(const struct tri_key *key, uint32_t bodies)
{
    return bodies == 0 || key->bodies == 0 || (key->bodies & bodies) != 0;
}

/* Whether a name begins as a key does for three letters, and for more than half of it. */
static bool begins_like(struct tr_text name, struct tr_text key)
{
    size_t size = 0;
    while (size < name.size && size < key.size && name.data[size] == key.data[size]) {
        size++;
    }
    return size > 2 && 2 * size > name.size;
}

/*
 * The nearest key, or NULL if none is near. A beginning of a key with three letters or more, as
 * `desc` of `description`, counts as one typing error, because its distance would favour short
 * keys.
 */
static const char *nearest_key(struct tr_text name, const struct tri_key *keys, size_t count,
                               uint32_t bodies)
{
    const char *nearest = NULL;
    unsigned least = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        struct tr_text key = tr_text_of(keys[i].name);
        bool is_beginning =
            name.size > 2 && name.size < key.size && memcmp(name.data, key.data, name.size) == 0;
        unsigned distance = is_plural(key, name) ? 0
                            : is_beginning       ? 1
                                                 : tr_spelling_distance(name, key);
        bool is_near = tr_spelling_is_near(name, distance) || begins_like(name, key);
        if (is_of(&keys[i], bodies) && is_near && distance < least) {
            least = distance;
            nearest = keys[i].name;
        }
    }
    return nearest;
}

/* All keys of the place, with commas between. */
static struct tr_text all_keys(struct tri_definition *definition, const struct tri_key *keys,
                               size_t count, uint32_t bodies)
{
    struct tr_text list = tr_text_of("");
    for (size_t i = 0; i < count; i++) {
        if (is_of(&keys[i], bodies)) {
            list = tr_arena_print(definition->scratch, "%.*s%s%s", TRI_TEXT(list),
                                  list.size == 0 ? "" : ", ", keys[i].name);
        }
    }
    return list;
}

void tri_keys_unknown_key(struct tri_definition *definition, const struct tr_tree *key,
                          const char *what, const struct tri_key *keys, size_t count,
                          uint32_t bodies)
{
    const char *nearest = nearest_key(key->text, keys, count, bodies);
    struct tr_text remedy =
        nearest != NULL ? tr_arena_print(definition->scratch, "the nearest one is '%s'", nearest)
                        : tr_arena_print(definition->scratch, "its keys are %.*s",
                                         TRI_TEXT(all_keys(definition, keys, count, bodies)));
    tri_report_add(definition->report, key->place, "InvalidValue", "'%.*s' is no key of %s\n%.*s",
                   TRI_SHOWN(key->text), what, TRI_TEXT(remedy));
}

/*
 * Keys are looked up by a walk over the table: the largest has some thirty rows. Repeated keys
 * cannot occur, as the reader of YAML has refused them.
 */
void tri_keys_read_keys(struct tri_definition *definition, const struct tr_tree *tree,
                        const char *what, const struct tri_key *keys, size_t count, void *target)
{
    if (!tri_keys_expect_map(definition, tree, what)) {
        return;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct tr_pair *pair = &tree->pairs[i];
        size_t k = 0;
        while (k < count && !tr_text_equal(pair->key->text, tr_text_of(keys[k].name))) {
            k++;
        }
        if (k == count) {
            tri_keys_unknown_key(definition, pair->key, what, keys, count, 0);
        } else if (keys[k].read != NULL) {
            struct tr_text before = definition->key;
            definition->key = pair->key->text;
            keys[k].read(definition, pair->value, target);
            definition->key = before;
        }
    }
}

void tri_keys_read_named(struct tri_definition *definition, const struct tr_tree *tree,
                         const char *what, struct tri_vector *items, size_t size,
                         tri_keys_key_reader *read)
{
    if (!tri_keys_expect_map(definition, tree, what)) {
        return;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        struct tri_name name;
        struct tr_text before = tri_report_subject(definition->report, tree->pairs[i].key->text);
        definition->key = tr_text_of("");
        if (tri_keys_read_name(definition, tree->pairs[i].key, &name)) {
            /*
             * The vector may move when it grows, so `item` is valid until the next one is added.
             * Readers of things that hold things add to other vectors only.
             */
            struct tri_name *item = tri_vector_add(definition->scratch, items, size);
            if (item != NULL) {
                *item = name;
                read(definition, tree->pairs[i].value, item);
            }
        }
        (void)tri_report_subject(definition->report, before);
    }
}

/*
 * Says that a scalar is no value for the key in hand; false. The key is left out where the scalar
 * is the key itself, as a task's name that is none.
 */
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

/* A name of Flyte's. It becomes a part of paths and lines, in which it has to be one word. */
static bool is_any_name(struct tr_text text)
{
    bool is_fine = text.size > 0 && text.size <= TR_FLYTE_NAME_BYTES_MAX;
    for (size_t i = 0; is_fine && i < text.size; i++) {
        is_fine = (unsigned char)text.data[i] > ' ' && text.data[i] != '/' && text.data[i] != 0x7f;
    }
    return is_fine;
}

bool tri_keys_check_any_name(struct tri_definition *definition, struct tr_text text)
{
    if (is_any_name(text)) {
        return true;
    }
    tri_report_add(definition->report, (struct tri_place){0}, "InvalidValue",
                   "'%.*s' does not belong here\n"
                   "write a name of 1 to 255 bytes, without blanks and slashes",
                   TRI_SHOWN(text));
    return false;
}

bool tri_keys_read_name(struct tri_definition *definition, const struct tr_tree *tree,
                        struct tri_name *name)
{
    bool is_any = definition->has_any_names; /* it was looked at when it came */
    if (!is_any && (!tr_tree_is_text(tree) || !tri_is_name(tree->text))) {
        return refuse(definition, tree,
                      "write a name: letters, digits, _ and -, a letter or _ first, at most 63");
    }
    *name = (struct tri_name){.text = tree->text, .place = tree->place};
    return true;
}

bool tri_keys_read_names(struct tri_definition *definition, const struct tr_tree *tree,
                         const struct tri_name **names, uint32_t *count)
{
    struct tr_text key = tr_arena_print(definition->scratch, "%.*s", TRI_TEXT(definition->key));
    if (!tri_keys_expect_list(definition, tree, key.size == 0 ? "this" : key.data)) {
        return false;
    }
    struct tri_name *items = tr_arena_array(definition->scratch, tree->count, sizeof *items);
    uint32_t kept = 0;
    for (uint32_t i = 0; items != NULL && i < tree->count; i++) {
        kept += tri_keys_read_name(definition, tree->items[i], &items[kept]) ? 1 : 0;
    }
    if (items != NULL) {
        *names = items;
        *count = kept;
    }
    return items != NULL && kept == tree->count;
}

/*
 * Text goes to execve, to environments and to file names, which end at a zero byte. YAML can write
 * one as "\0", so it is refused here.
 */
bool tri_keys_read_text(struct tri_definition *definition, const struct tr_tree *tree,
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

bool tri_keys_read_count(struct tri_definition *definition, const struct tr_tree *tree,
                         uint32_t least, uint32_t most, uint32_t *count)
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

bool tri_keys_read_positive(struct tri_definition *definition, const struct tr_tree *tree,
                            double *number)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    double value = resolved.kind == TR_TREE_INT     ? (double)resolved.integer
                   : resolved.kind == TR_TREE_FLOAT ? resolved.number
                                                    : -1;
    /*
     * Written so that NaN, which compares false with everything, is refused as well. The upper
     * bound keeps products with nanoseconds or milliseconds finite.
     */
    if (!(value > 0) || value > 1e15) {
        return refuse(definition, tree, "write a positive number");
    }
    *number = value;
    return true;
}

bool tri_keys_read_bool(struct tri_definition *definition, const struct tr_tree *tree, bool *value)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    if (resolved.kind != TR_TREE_BOOL) {
        return refuse(definition, tree, "write true or false");
    }
    *value = resolved.boolean;
    return true;
}

bool tri_keys_read_duration(struct tri_definition *definition, const struct tr_tree *tree,
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

bool tri_keys_read_word(struct tri_definition *definition, const struct tr_tree *tree,
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

bool tri_keys_read_secret(struct tri_definition *definition, const struct tr_tree *tree,
                          struct tr_secret *secret)
{
    struct tr_text text;
    if (!tri_keys_read_text(definition, tree, &text)) {
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
