/*
 * jansson parses, and its values become a tree, or are packed at once. The walks are recursive, no
 * deeper than TR_TREE_DEPTH_MAX and TR_NESTING_MAX, which are checked before each step down.
 * jansson's own recursion has a bound of its own, which is larger.
 *
 * Both ways exist because a tree costs much more than the value in it: inputs and outputs need one,
 * because they are read by declared types; answers of back ends are read by fields and
 * go straight into msgpack.
 *
 * jansson keeps objects in the order of their members, so trees and packed maps keep it, too. It
 * gives no places of values: all parts of a tree have the place of the document as a whole (line
 * 0), and messages about them name a path instead. Keys never hold a zero byte (jansson refuses
 * them), so strlen gives their size; texts may hold one.
 */
#include "actors/graph/document/json.h"

#include <jansson.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "actors/graph/document/buffer.h"
#include "actors/graph/document/limits.h"
#include "schemas/codec/utf8.h"

/*
 * Memory for jansson. When a text cannot grow, jansson goes on letter by letter, and in the end
 * gives the part that it has for the whole. So `allocate` notes the first failure and fails all
 * later requests of the same parse, which is then short, and `load` throws away what was parsed.
 * The flag is one per thread, because jansson's functions of memory get no context, and several
 * threads parse at once.
 */
static _Thread_local bool is_out_of_memory;
static json_malloc_t standard_allocate;

static void *allocate(size_t size)
{
    void *block = is_out_of_memory ? NULL : standard_allocate(size);
    is_out_of_memory = is_out_of_memory || (block == NULL && size > 0);
    return block;
}

static void watch_memory(void)
{
    json_free_t standard_free;
    json_get_alloc_funcs(&standard_allocate, &standard_free);
    json_set_alloc_funcs(allocate, standard_free);
}

/*
 * Parses as jansson does; NULL with TR_MEMORY or, where it is no JSON, TR_INVALID in `error`, which
 * means nothing otherwise. JSON_DECODE_ANY: a document may be a scalar. The flag is cleared at both
 * ends, so that a failure of an earlier parse on this thread is not taken for one of this.
 */
static json_t *load(struct tr_text text, size_t flags, json_error_t *problem, int *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_memory);
    is_out_of_memory = false;
    json_t *value =
        json_loadb(text.data, text.size,
                   JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL | flags, problem);
    *error = is_out_of_memory ? TR_MEMORY : TR_INVALID;
    if (is_out_of_memory) {
        json_decref(value);
        value = NULL;
    }
    is_out_of_memory = false;
    return value;
}

struct reader {
    struct tr_arena *arena;
    struct tr_report *report;
    struct tri_place place;
    uint64_t values;
};

static struct tr_tree *convert(struct reader *reader, json_t *value, uint32_t depth);

static struct tr_tree *refuse(struct reader *reader, const char *what, unsigned limit)
{
    tri_report_add(reader->report, reader->place, NULL, "%s %u\nkeep larger data in files", what,
                   limit);
    return NULL;
}

/* `has_dollar` is set as yaml.c sets it, since readers of trees treat both forms alike. */
static struct tr_tree *convert_text(struct reader *reader, const char *data, size_t size)
{
    struct tr_tree *tree = tri_tree_new(reader->arena, TR_TREE_STRING, reader->place);
    if (tree != NULL) {
        tree->text = tr_arena_text(reader->arena, (struct tr_text){.data = data, .size = size});
        tree->has_dollar = tri_text_has_dollar(tree->text);
    }
    return tree;
}

static struct tr_tree *convert_list(struct reader *reader, json_t *value, uint32_t depth)
{
    struct tr_tree *list = tri_tree_new(reader->arena, TR_TREE_LIST, reader->place);
    size_t count = json_array_size(value);
    struct tr_tree **items = tr_arena_array(reader->arena, count, sizeof *items);
    if (list == NULL || items == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = convert(reader, json_array_get(value, i), depth + 1);
        if (items[i] == NULL) {
            return NULL;
        }
    }
    struct tri_vector vector = {.items = items, .count = (uint32_t)count};
    tri_tree_close_list(list, &vector);
    return list;
}

static struct tr_tree *convert_map(struct reader *reader, json_t *value, uint32_t depth)
{
    struct tr_tree *map = tri_tree_new(reader->arena, TR_TREE_MAP, reader->place);
    struct tr_pair *pairs = tr_arena_array(reader->arena, json_object_size(value), sizeof *pairs);
    if (map == NULL || pairs == NULL) {
        return NULL;
    }
    struct tri_vector vector = {.items = pairs};
    for (void *at = json_object_iter(value); at != NULL; at = json_object_iter_next(value, at)) {
        const char *key = json_object_iter_key(at);
        struct tr_pair *pair = &pairs[vector.count++];
        pair->key = convert_text(reader, key, strlen(key));
        pair->value = convert(reader, json_object_iter_value(at), depth + 1);
        if (pair->key == NULL || pair->value == NULL) {
            return NULL;
        }
    }
    /*
     * Repeated keys cannot come this far (JSON_REJECT_DUPLICATES), and `<<` is no merge key here,
     * because keys of JSON are texts and never plain. So this only sets the pairs and adds up
     * weights.
     */
    return tri_tree_close_map(reader->arena, reader->report, map, &vector) ? map : NULL;
}

static struct tr_tree *convert_scalar(struct reader *reader, const json_t *value)
{
    if (json_is_string(value)) {
        return convert_text(reader, json_string_value(value), json_string_length(value));
    }
    struct tr_tree *tree = tri_tree_new(reader->arena, TR_TREE_NULL, reader->place);
    if (tree == NULL || json_is_null(value)) {
        return tree;
    }
    if (json_is_integer(value)) {
        tree->kind = TR_TREE_INT;
        tree->integer = json_integer_value(value);
    } else if (json_is_real(value)) {
        tree->kind = TR_TREE_FLOAT;
        tree->number = json_real_value(value);
    } else {
        tree->kind = TR_TREE_BOOL;
        tree->boolean = json_is_true(value);
    }
    return tree;
}

/* Depth and count are looked at before any memory is taken for the value. */
static struct tr_tree *convert(struct reader *reader, json_t *value, uint32_t depth)
{
    if (++reader->values > TR_TREE_NODES_MAX) {
        return refuse(reader, "the document has more values than", TR_TREE_NODES_MAX);
    }
    if (depth > TR_TREE_DEPTH_MAX) {
        return refuse(reader, "the document nests deeper than", TR_TREE_DEPTH_MAX);
    }
    if (json_is_array(value)) {
        return convert_list(reader, value, depth);
    }
    if (json_is_object(value)) {
        return convert_map(reader, value, depth);
    }
    return convert_scalar(reader, value);
}

/* A sign, a letter, a digit or a point: what numbers and words outside of quotes are made of. */
static bool is_of_token(char letter)
{
    return letter != '\0' && strchr("+-.0123456789"
                                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                                    letter) != NULL;
}

/* Where the token around or before a position begins, and how long it is. */
static struct tr_text token_at(struct tr_text json, size_t at)
{
    size_t begin = at < json.size ? at : json.size;
    while (begin > 0 && is_of_token(json.data[begin - 1])) {
        begin--;
    }
    size_t end = begin;
    while (end < json.size && is_of_token(json.data[end])) {
        end++;
    }
    return (struct tr_text){.data = json.data + begin, .size = end - begin};
}

/* Whether a token is how a language writes a number that JSON has not: NaN, -Infinity, inf. */
static bool is_no_finite_number(struct tr_text token)
{
    static const char *const names[] = {"nan", "inf", "infinity"};
    bool is_signed = token.size > 0 && strchr("+-", token.data[0]) != NULL;
    struct tr_text name = {.data = token.data + is_signed, .size = token.size - is_signed};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        if (name.size == strlen(names[i]) && strncasecmp(name.data, names[i], name.size) == 0) {
            return true;
        }
    }
    return false;
}

/* Says where the parser has stopped, and why. */
static void tell_syntax(struct reader *reader, struct tr_text json, const json_error_t *error)
{
    struct tr_text token = token_at(json, error->position > 0 ? (size_t)error->position : 0);
    if (is_no_finite_number(token)) {
        tri_report_add(reader->report,
                       tri_place_in(reader->place.source, json, (size_t)(token.data - json.data)),
                       "SyntaxError",
                       "%.*s is no JSON\n"
                       "write \"nan\", \"inf\" or \"-inf\" as text, as troupe.outputs() does",
                       TRI_SHOWN(token));
        return;
    }
    struct tri_place place = {.source = reader->place.source,
                              .line = error->line > 0 ? (uint32_t)error->line : 0,
                              .column = error->column > 0 ? (uint32_t)error->column : 1};
    tri_report_add(reader->report, place, "SyntaxError",
                   "this is no JSON: %s\nwrite one JSON value", error->text);
}

/*
 * Parses and converts; `flags` are jansson's. `used` is set only where the text could be parsed: a
 * byte order mark and all of the text up to where the value ends (jansson's `position`), or all of
 * it where jansson gives none.
 */
static const struct tr_tree *parse(struct reader *reader, struct tr_text text, size_t flags,
                                   size_t *used)
{
    json_error_t error;
    struct tr_text json = tr_utf8_skip_mark(text);
    int failed;
    json_t *value = load(json, flags, &error, &failed);
    if (value == NULL && failed == TR_MEMORY) {
        reader->arena->error = TR_MEMORY;
        return NULL;
    }
    if (value == NULL) {
        tell_syntax(reader, json, &error);
        return NULL;
    }
    struct tr_tree *tree = convert(reader, value, 0);
    json_decref(value);
    *used = text.size - json.size + (error.position > 0 ? (size_t)error.position : json.size);
    return tree;
}

const struct tr_tree *tr_json_read(struct tr_arena *arena, struct tr_report *report,
                                   uint32_t source, struct tr_text text)
{
    struct reader reader = {.arena = arena, .report = report, .place = {.source = source}};
    size_t used;
    if (text.size > TR_FILE_BYTES_MAX) {
        return refuse(&reader, "the document has more bytes than", TR_FILE_BYTES_MAX);
    }
    return parse(&reader, text, 0, &used);
}

const struct tr_tree *tr_json_read_next(struct tr_arena *arena, struct tr_report *report,
                                        uint32_t source, struct tr_text text, size_t *used)
{
    struct reader reader = {.arena = arena, .report = report, .place = {.source = source}};
    return parse(&reader, text, JSON_DISABLE_EOF_CHECK, used);
}

/* --------------------------------------------------------- values without a tree */

static void pack(struct tr_buffer *buffer, json_t *value, uint32_t depth);

static void pack_text(struct tr_buffer *buffer, const char *data, size_t size)
{
    tr_buffer_text_value(buffer, (struct tr_text){.data = data, .size = size});
}

static void pack_list(struct tr_buffer *buffer, const json_t *list, uint32_t depth)
{
    size_t count = json_array_size(list);
    tr_buffer_array(buffer, (uint32_t)count);
    for (size_t i = 0; i < count && buffer->error == 0; i++) {
        pack(buffer, json_array_get(list, i), depth);
    }
}

static void pack_map(struct tr_buffer *buffer, json_t *map, uint32_t depth)
{
    tr_buffer_map(buffer, (uint32_t)json_object_size(map));
    for (void *at = json_object_iter(map); at != NULL && buffer->error == 0;
         at = json_object_iter_next(map, at)) {
        const char *name = json_object_iter_key(at);
        pack_text(buffer, name, strlen(name));
        pack(buffer, json_object_iter_value(at), depth);
    }
}

/* `depth` counts the lists and maps around the value. After an error nothing more is added. */
static void pack(struct tr_buffer *buffer, json_t *value, uint32_t depth)
{
    bool is_open = json_is_array(value) || json_is_object(value);
    if (is_open && depth == TR_NESTING_MAX) {
        buffer->error = buffer->error != 0 ? buffer->error : TR_INVALID;
    } else if (is_open) {
        json_is_array(value) ? pack_list(buffer, value, depth + 1)
                             : pack_map(buffer, value, depth + 1);
    } else if (json_is_string(value)) {
        pack_text(buffer, json_string_value(value), json_string_length(value));
    } else if (json_is_integer(value)) {
        tr_buffer_i64(buffer, json_integer_value(value));
    } else if (json_is_real(value)) {
        tr_buffer_f64(buffer, json_real_value(value));
    } else if (json_is_null(value)) {
        tr_buffer_nil(buffer);
    } else {
        tr_buffer_bool(buffer, json_is_true(value));
    }
}

int tr_json_pack(struct tr_arena *arena, struct tr_bytes json, struct tr_bytes *value)
{
    struct tr_buffer buffer;
    struct tr_text text =
        tr_utf8_skip_mark((struct tr_text){.data = (const char *)json.data, .size = json.size});
    int failed;
    json_t *read = load(text, 0, NULL, &failed);
    if (read == NULL) {
        return failed;
    }
    tr_buffer_init(&buffer, TR_FILE_BYTES_MAX);
    pack(&buffer, read, 0);
    json_decref(read);
    struct tr_bytes packed = {0};
    if (buffer.error == 0) {
        packed = tr_arena_bytes(arena, tr_buffer_bytes(&buffer));
    }
    int error = buffer.error != 0 ? buffer.error : arena->error;
    tr_buffer_fini(&buffer);
    if (error == 0) {
        *value = packed;
    }
    return error;
}
