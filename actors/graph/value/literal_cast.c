/*
 * Values from one type into another, and values with their paths replaced: one walk over a packed
 * value that writes it anew, linear in its bytes.
 *
 * Four cases, by whether each side has a type (NULL is the type of a struct's field, which is known
 * at run time only):
 *
 *     from  to
 *     NULL  NULL   copied
 *     NULL  T      read by the rules of JSON: a text may be a datetime, an int serves as a float
 *     T     NULL   written as JSON shows it: a datetime becomes its text, an error a mapping
 *     T     U      by tr_type_castable, and by the value where the types leave it open
 *
 * The types leave it open where a string goes into an enum and where a list of none, which is how
 * flytekit types an empty list, goes into a list of anything: there the value decides, and
 * TR_INVALID is the answer if it does not fit.
 *
 * With `map` set the type stays as it is, and the caller replaces paths, for instance by hashes of
 * their contents when a cache key is made.
 *
 * A note (note.h) stays with its value as far as it may stand before the new type; a value without
 * a type has none. In content (TR_PATHS_CONTENT) a hash of the note takes the value's place.
 *
 * The value is checked against its type before the walk begins, so the walk relies on its form. A
 * value of another type may be nested more deeply than what it was made from, as a union adds a
 * level, so what a cast has written is checked as well. An error leaves the buffer as it was.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/value/literal.h"
#include "actors/graph/value/note.h"

struct caster {
    struct tr_cursor cursor;
    struct tr_buffer *buffer;
    tr_path_map *map;
    void *self;
    enum tr_path_scope scope;
    uint32_t depth;
    int error; /* TR_INVALID, or what `map` returned */
};

static void cast(struct caster *caster, const struct tr_type *from, const struct tr_type *to);

static bool is_failed(const struct caster *caster)
{
    return caster->error != 0 || caster->cursor.error != 0 || caster->buffer->error != 0;
}

static void fail(struct caster *caster, int error)
{
    if (caster->error == 0) {
        caster->error = error;
    }
}

/* Copies the next value as it is, without looking inside. */
static void copy(struct caster *caster)
{
    struct tr_bytes bytes = tr_read_any(&caster->cursor);
    if (caster->cursor.error == 0) {
        tr_buffer_add(caster->buffer, bytes.data, bytes.size);
    }
}

/*
 * Reads a run-time value as JSON would be read, by way of the tree that its JSON would give. One
 * reader for both keeps the rules and their exceptions in one place. The report is thrown away: the
 * caller knows the reference that failed and says so in its own words. `folder` is empty, since a
 * relative path in a struct has no document to count from.
 */
static void from_free(struct caster *caster, const struct tr_type *to)
{
    struct tr_bytes bytes = tr_read_any(&caster->cursor);
    struct tr_report report;
    struct tr_arena arena;
    struct tr_buffer part;
    tr_report_init(&report);
    tr_arena_init(&arena);
    tr_buffer_init(&part, 0);
    struct tr_literal_reader reader = {
        .report = &report, .arena = &arena, .folder = tr_text_of("")};
    const struct tr_tree *tree =
        caster->cursor.error != 0 ? NULL : tri_tree_of_value(&arena, bytes);
    if (tree != NULL && tr_literal_read(&reader, to, tree, &part)) {
        tr_buffer_add(caster->buffer, part.data, part.size);
    } else {
        fail(caster, arena.error != 0 ? arena.error : part.error != 0 ? part.error : TR_INVALID);
    }
    tr_buffer_fini(&part);
    tr_arena_fini(&arena);
    tr_report_fini(&report);
}

/* Each element or value; their count and the keys of a map stay. */
static void cast_elements(struct caster *caster, const struct tr_type *from,
                          const struct tr_type *to, bool is_map)
{
    uint32_t count = is_map ? tr_read_map(&caster->cursor) : tr_read_array(&caster->cursor);
    if (is_map) {
        tr_buffer_map(caster->buffer, count);
    } else {
        tr_buffer_array(caster->buffer, count);
    }
    for (uint32_t i = 0; i < count && !is_failed(caster); i++) {
        if (is_map) {
            tr_buffer_text_value(caster->buffer, tr_read_text(&caster->cursor));
        }
        cast(caster, from, to);
    }
}

/* A datetime, a duration or bytes as the text that JSON would show of it. */
static void scalar_to_free(struct caster *caster, const struct tr_type *from)
{
    struct tr_bytes bytes = tr_read_any(&caster->cursor);
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    int error =
        caster->cursor.error != 0 ? caster->cursor.error : tr_literal_json(from, bytes, &text);
    if (error != 0 || text.size < 2) {
        fail(caster, error != 0 ? error : TR_MALFORMED);
    } else {
        /* These are texts without anything that JSON escapes. */
        struct tr_text inner = {.data = (const char *)text.data + 1, .size = text.size - 2};
        tr_buffer_text_value(caster->buffer, inner);
    }
    tr_buffer_fini(&text);
}

/*
 * An error as a struct: its fields by name. The order of the writes is the order of the keys,
 * because packed maps are sorted, and tr_literal_check refuses others.
 */
static void failure_to_free(struct caster *caster)
{
    struct tr_failure failure = tr_read_failure(&caster->cursor);
    tr_buffer_map(caster->buffer, 4);
    tr_buffer_text_value(caster->buffer, tr_text_of("code"));
    tr_buffer_text_value(caster->buffer, failure.code);
    tr_buffer_text_value(caster->buffer, tr_text_of("element"));
    if (failure.element < 0) {
        tr_buffer_nil(caster->buffer);
    } else {
        tr_buffer_i64(caster->buffer, failure.element);
    }
    tr_buffer_text_value(caster->buffer, tr_text_of("message"));
    tr_buffer_text_value(caster->buffer, failure.message);
    tr_buffer_text_value(caster->buffer, tr_text_of("node"));
    tr_buffer_text_value(caster->buffer, failure.node);
}

/*
 * A mapping even where no format is known, so that `$x.uri` works for every dataset in a struct.
 * "format" sorts before "uri".
 */
static void dataset_to_free(struct caster *caster)
{
    struct tr_blob blob = tr_read_blob(&caster->cursor);
    tr_buffer_map(caster->buffer, 2);
    tr_buffer_text_value(caster->buffer, tr_text_of("format"));
    tr_buffer_text_value(caster->buffer, blob.format);
    tr_buffer_text_value(caster->buffer, tr_text_of("uri"));
    tr_buffer_text_value(caster->buffer, blob.uri);
}

/* A typed value inside a struct is what JSON shows of it. */
static void to_free(struct caster *caster, const struct tr_type *from)
{
    uint32_t position;
    switch ((enum tr_type_kind)from->kind) {
    case TR_TYPE_NONE:
    case TR_TYPE_INT:
    case TR_TYPE_FLOAT:
    case TR_TYPE_STRING:
    case TR_TYPE_BOOL:
    case TR_TYPE_ENUM:
    case TR_TYPE_STRUCT:
        copy(caster);
        break;
    case TR_TYPE_DATETIME:
    case TR_TYPE_DURATION:
    case TR_TYPE_BYTES:
        scalar_to_free(caster, from);
        break;
    case TR_TYPE_FILE:
    case TR_TYPE_DIRECTORY:
        tr_buffer_text_value(caster->buffer, tr_read_blob(&caster->cursor).uri);
        break;
    case TR_TYPE_DATASET:
        dataset_to_free(caster);
        break;
    case TR_TYPE_ERROR:
        failure_to_free(caster);
        break;
    case TR_TYPE_LIST:
    case TR_TYPE_MAP:
        cast_elements(caster, from->parts[0], NULL, from->kind == TR_TYPE_MAP);
        break;
    case TR_TYPE_UNION: {
        const struct tr_type *variant = tr_read_variant(&caster->cursor, from, &position);
        if (variant != NULL) {
            cast(caster, variant, NULL);
        }
        break;
    }
    }
}

/*
 * A value that is no union becomes the variant that takes its type. TR_INVALID where no variant or
 * more than one does: with two candidates, which one is meant is a matter of guessing, and Flyte's
 * compiler refuses that as well.
 */
static void into_union(struct caster *caster, const struct tr_type *from, const struct tr_type *to)
{
    int64_t variant = tr_type_variant_for(from, to);
    if (variant < 0) {
        fail(caster, TR_INVALID);
        return;
    }
    tr_buffer_array(caster->buffer, 2);
    tr_buffer_u64(caster->buffer, (uint64_t)variant);
    cast(caster, from, to->parts[variant]);
}

/* A string goes into an enum if it is one of its values. */
static void into_enum(struct caster *caster, const struct tr_type *to)
{
    struct tr_text text = tr_read_text(&caster->cursor);
    if (tr_type_enum_find(to, text) < 0) {
        fail(caster, TR_INVALID);
    }
    tr_buffer_text_value(caster->buffer, text);
}

static void map_blob(struct caster *caster, const struct tr_type *type)
{
    struct tr_blob blob = tr_read_blob(&caster->cursor);
    if (is_failed(caster)) {
        return;
    }
    int error = caster->map(caster->self, type, blob, caster->buffer);
    if (error != 0) {
        fail(caster, error);
    }
}

static bool is_path(const struct tr_type *type, enum tr_path_scope scope)
{
    return type->kind == TR_TYPE_FILE || type->kind == TR_TYPE_DIRECTORY ||
           (type->kind == TR_TYPE_DATASET && scope == TR_PATHS_ALL);
}

bool tr_type_may_hold_paths(const struct tr_type *type, enum tr_path_scope scope)
{
    if (type == NULL || type->kind == TR_TYPE_STRUCT) {
        return scope == TR_PATHS_ALL;
    }
    bool may_hold = is_path(type, scope);
    for (uint32_t i = 0; !may_hold && type->parts != NULL && i < type->count; i++) {
        may_hold = tr_type_may_hold_paths(type->parts[i], scope);
    }
    return may_hold;
}

/*
 * Whether the caller gets texts of values without declared types, too. flytekit's dataclasses keep
 * paths of files as plain texts in a struct, so TR_PATHS_ALL has to offer each text; a scope of
 * TR_PATHS_DECLARED leaves structs alone.
 */
static bool maps_free(const struct caster *caster)
{
    return caster->map != NULL && caster->scope == TR_PATHS_ALL;
}

/*
 * A struct, or a part of one, with its texts as the caller wants them. Keys of mappings are never
 * paths and stay. The type that the caller sees is a struct's, not NULL, so that it can tell a text
 * in a struct from a declared file.
 */
static void map_free(struct caster *caster)
{
    static const struct tr_type part = {.kind = TR_TYPE_STRUCT, .part_total = 1};
    switch (tri_value_kind(&caster->cursor)) {
    case TRI_VALUE_TEXT:
        map_blob(caster, &part);
        break;
    case TRI_VALUE_LIST:
    case TRI_VALUE_MAP:
        cast_elements(caster, NULL, NULL, tri_value_kind(&caster->cursor) == TRI_VALUE_MAP);
        break;
    default:
        copy(caster);
    }
}

/*
 * Both types are known. The order of the branches matters:
 *
 * A union is opened first, because its variant has to be cast and not the pair [position, value].
 * If the target is the same union, which happens under `map` only, position and variant stay. Equal
 * types are copied next, but not under `map`, which has to look inside. Only then the target is
 * looked at: a union takes the value as one of its variants, paths go to the caller, lists and maps
 * go element by element. What is left is castable as it stands or does not fit.
 */
static void cast_typed(struct caster *caster, const struct tr_type *from, const struct tr_type *to)
{
    uint32_t position;
    if (from->kind == TR_TYPE_UNION && (from != to || caster->map != NULL)) {
        const struct tr_type *variant = tr_read_variant(&caster->cursor, from, &position);
        if (variant == NULL) {
            return;
        }
        if (from == to) {
            tr_buffer_array(caster->buffer, 2);
            tr_buffer_u64(caster->buffer, position);
            cast(caster, variant, variant);
        } else {
            cast(caster, variant, to);
        }
    } else if (from == to && caster->map == NULL) {
        copy(caster);
    } else if (to->kind == TR_TYPE_UNION) {
        into_union(caster, from, to);
    } else if (caster->map != NULL && is_path(from, caster->scope)) {
        map_blob(caster, from);
    } else if (maps_free(caster) && from->kind == TR_TYPE_STRUCT) {
        map_free(caster);
    } else if (from->parts != NULL && from->kind == to->kind) {
        cast_elements(caster, from->parts[0], to->parts[0], from->kind == TR_TYPE_MAP);
    } else if (to->kind == TR_TYPE_ENUM) {
        into_enum(caster, to);
    } else if (tr_type_castable(from, to) == TR_CASTABLE_YES) {
        copy(caster);
    } else {
        fail(caster, TR_INVALID);
    }
}

/*
 * A value with a note, which is taken off and put before what becomes of the value. A hash that
 * stands for the value is all that counts of it in content: the value is not looked at.
 */
static void cast_noted(struct caster *caster, const struct tr_type *from, const struct tr_type *to)
{
    struct tr_note note;
    size_t begin = caster->buffer->size;
    (void)tr_read_note(&caster->cursor, &note);
    if (caster->scope == TR_PATHS_CONTENT && note.hash.size > 0) {
        const struct tr_note hash = {.tag = tr_text_of(""), .hash = note.hash};
        (void)tr_read_any(&caster->cursor);
        tr_buffer_nil(caster->buffer);
        tr_write_note(caster->buffer, begin, &hash);
        return;
    }
    cast(caster, from, to);
    if (to != NULL && !is_failed(caster)) {
        note = tr_note_for(to, &note);
        tr_write_note(caster->buffer, begin, &note);
    }
}

/*
 * Whether a note comes that is taken off here. That of a value which becomes a variant of a union
 * goes into the union with it.
 */
static bool is_noted(const struct caster *caster, const struct tr_type *from,
                     const struct tr_type *to)
{
    bool becomes_variant =
        to != NULL && to->kind == TR_TYPE_UNION && from != NULL && from->kind != TR_TYPE_UNION;
    return from != NULL && !becomes_variant && tr_peek(&caster->cursor) == TR_CODEC_EXTENSION;
}

static void cast(struct caster *caster, const struct tr_type *from, const struct tr_type *to)
{
    if (is_failed(caster) || caster->depth > TR_LITERAL_DEPTH_MAX) {
        fail(caster, TR_INVALID);
        return;
    }
    caster->depth++;
    if (from == NULL && to == NULL && maps_free(caster)) {
        map_free(caster);
    } else if (from == NULL && to == NULL) {
        copy(caster);
    } else if (is_noted(caster, from, to)) {
        cast_noted(caster, from, to);
    } else if (from == NULL) {
        from_free(caster, to);
    } else if (to == NULL) {
        to_free(caster, from);
    } else {
        cast_typed(caster, from, to);
    }
    caster->depth--;
}

/*
 * TR_INVALID for a value that nests too deeply in its new type. The walk does not look inside the
 * parts that it copies, and readers of values refuse whatever tr_literal_check does.
 */
static int check_written(const struct caster *caster, const struct tr_type *to, size_t begin)
{
    struct tr_bytes written = {.data = caster->buffer->data + begin,
                               .size = caster->buffer->size - begin};
    return tr_literal_check(to, written) != 0 ? TR_INVALID : 0;
}

/*
 * One walk over one value. What was written before an error is cut off again, so that the caller
 * may append something else. A failure of the buffer comes first: it is the cause of others behind
 * it.
 */
static int run(struct caster *caster, const struct tr_type *from, const struct tr_type *to,
               struct tr_bytes value)
{
    size_t size = caster->buffer->size;
    int error = tr_literal_check(from, value);
    if (error != 0) {
        return error;
    }
    caster->cursor = tr_cursor_of(value);
    cast(caster, from, to);
    error = caster->buffer->error != 0  ? caster->buffer->error
            : caster->cursor.error != 0 ? TR_MALFORMED
                                        : caster->error;
    if (error == 0 && from != to) {
        error = check_written(caster, to, size);
    }
    if (error != 0) {
        tr_buffer_cut(caster->buffer, size);
    }
    return error;
}

int tr_literal_cast(const struct tr_type *from, const struct tr_type *to, struct tr_bytes value,
                    struct tr_buffer *buffer)
{
    struct caster caster = {.buffer = buffer};
    return run(&caster, from, to, value);
}

int tr_literal_map_paths(const struct tr_type *type, struct tr_bytes value,
                         enum tr_path_scope scope, tr_path_map *map, void *self,
                         struct tr_buffer *buffer)
{
    struct caster caster = {.buffer = buffer, .map = map, .self = self, .scope = scope};
    return run(&caster, type, type, value);
}
