/*
 * Literals as the trees that JSON of their values would give. A datetime is text there, bytes are
 * base64, a union names its variant: so one reader (value/literal_read.c) judges both forms, and
 * says what is wrong in the same words.
 *
 * The declared type guides only where the literal leaves something open: whether a Binary is bytes
 * or a struct, and which variant a union names. Where the literal does not fit its type, the tree
 * is made all the same, and the reader of trees refuses it. A tree has no places; messages show a
 * path.
 *
 * Recursion follows the message, whose nesting was bounded when it was unpacked, and files that
 * name files, no more than FILES_DEPTH_MAX of them. NULL means that the report says why, or that
 * memory ended.
 */
#include <stdlib.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/flyte/flyte_inside.h"
#include "actors/graph/value/literal.h"
#include "actors/graph/value/note.h"
#include "schemas/codec/error.h"

#define TAG_MSGPACK "msgpack"
#define NANOSECONDS 1000000000LL

/* A literal in a file may name another one, and so on, this often. */
#define FILES_DEPTH_MAX 4U

/* Where a value is going. */
struct reader {
    struct tr_arena *arena;
    struct tr_report *report;
    struct tr_flyte_files *files; /* NULL: nobody opens any */
    uint32_t depth;               /* in so many of them */
};

static struct tr_tree *from_literal(const struct reader *reader, const struct tr_type *type,
                                    const Flyteidl__Core__Literal *literal);

static struct tr_tree *from_scalar(const struct reader *reader, const struct tr_type *type,
                                   const Flyteidl__Core__Scalar *scalar);

static struct tr_tree *make(const struct reader *reader, enum tr_tree_kind kind)
{
    return tri_tree_new(reader->arena, kind, (struct tri_place){0});
}

static struct tr_tree *refuse(const struct reader *reader, const char *words)
{
    return tri_flyte_refuse(reader->report, words);
}

/*
 * What was printed, as text in the arena; ends the buffer. Its error becomes the arena's, where the
 * outermost caller looks.
 */
static struct tr_tree *printed(const struct reader *reader, struct tr_buffer *buffer)
{
    struct tr_text text = tr_arena_text(reader->arena, tr_buffer_text(buffer));
    if (buffer->error != 0) {
        reader->arena->error = buffer->error;
    }
    tr_buffer_fini(buffer);
    return reader->arena->error != 0 ? NULL : tri_flyte_text(reader->arena, text);
}

/* A map of these names; a value that is NULL could not be made. */
static struct tr_tree *fields(const struct reader *reader, const char *const *names,
                              struct tr_tree *const *values, uint32_t count)
{
    struct tri_vector pairs = {0};
    for (uint32_t i = 0; i < count; i++) {
        struct tr_pair *pair = tri_vector_add(reader->arena, &pairs, sizeof *pair);
        struct tr_tree *key = tri_flyte_text(reader->arena, tr_text_of(names[i]));
        if (pair == NULL || key == NULL || values[i] == NULL) {
            return NULL;
        }
        *pair = (struct tr_pair){.key = key, .value = values[i]};
    }
    return tri_flyte_map(reader->arena, reader->report, &pairs);
}

/* ------------------------------------------------------------------ notes */

/* Joins a note to that of a value. NULL where the value could not be made, or memory ended. */
static struct tr_tree *noted(const struct reader *reader, struct tr_tree *tree,
                             struct tr_note added)
{
    struct tr_note *note = tr_arena_alloc(reader->arena, sizeof *note);
    if (tree == NULL || note == NULL) {
        return NULL;
    }
    *note = added;
    if (tree->note != NULL) {
        note->is_generic = tree->note->is_generic;
        note->tag = tree->note->tag;
    }
    tree->note = note;
    return tree;
}

static int by_key(const void *left, const void *right)
{
    const Flyteidl__Core__Literal__MetadataEntry *const *a = left;
    const Flyteidl__Core__Literal__MetadataEntry *const *b = right;
    return strcmp((*a)->key, (*b)->key);
}

/* The words about a literal as a packed map. */
static struct tr_bytes metadata_of(const struct reader *reader,
                                   const Flyteidl__Core__Literal *literal)
{
    struct tr_buffer packed;
    struct tr_buffer pairs;
    Flyteidl__Core__Literal__MetadataEntry **entries = literal->metadata;
    if (literal->n_metadata > 1) {
        qsort((void *)entries, literal->n_metadata, sizeof(void *), by_key);
    }
    tr_buffer_init(&packed, 0);
    tr_buffer_init(&pairs, 0);
    for (size_t i = 0; i < literal->n_metadata; i++) {
        tr_buffer_text_value(&pairs, tr_text_of(entries[i]->key));
        tr_buffer_text_value(&pairs, tr_text_of(entries[i]->value));
    }
    tr_buffer_map(&packed, (uint32_t)literal->n_metadata);
    tr_buffer_add(&packed, pairs.data, pairs.size);
    packed.error = packed.error != 0 ? packed.error : pairs.error;
    struct tr_bytes bytes = tr_arena_bytes(reader->arena, tr_buffer_bytes(&packed));
    reader->arena->error = reader->arena->error != 0 ? reader->arena->error : packed.error;
    tr_buffer_fini(&pairs);
    tr_buffer_fini(&packed);
    return bytes;
}

/* What a literal says beside its value. A list's own note is not kept (note.h). */
static struct tr_tree *with_note(const struct reader *reader,
                                 const Flyteidl__Core__Literal *literal, struct tr_tree *tree)
{
    bool has_note = literal->hash[0] != '\0' || literal->n_metadata > 0;
    if (tree == NULL || !has_note || tree->kind == TR_TREE_LIST) {
        return tree;
    }
    struct tr_note note = {.tag = tr_text_of(""), .hash = tr_text_of(literal->hash)};
    if (literal->n_metadata > 0) {
        note.metadata = metadata_of(reader, literal);
    }
    return noted(reader, tree, note);
}

/* ------------------------------------------------------------------ primitives */

/* By way of RFC 3339 text and back: nanoseconds have nine digits there, so nothing is lost. */
static struct tr_tree *from_datetime(const struct reader *reader,
                                     const Google__Protobuf__Timestamp *value)
{
    struct tr_buffer buffer;
    bool is_one = value->seconds >= TR_MOMENT_SECONDS_MIN &&
                  value->seconds <= TR_MOMENT_SECONDS_MAX && value->nanos >= 0 &&
                  value->nanos < NANOSECONDS;
    if (!is_one) {
        return refuse(reader, "a datetime lies outside of the years 1 to 9999, or its nanoseconds "
                              "are no part of a second");
    }
    tr_buffer_init(&buffer, 0);
    tr_moment_print(
        (struct tr_moment){.seconds = value->seconds, .nanoseconds = (uint32_t)value->nanos},
        &buffer);
    return printed(reader, &buffer);
}

/*
 * Flyte's duration has seconds in 64 bits; ours has nanoseconds in 64 bits. Both parts have the
 * same sign by the rule of google.protobuf.Duration, and a mixed one still adds up to what it
 * means.
 */
static struct tr_tree *from_duration(const struct reader *reader,
                                     const Google__Protobuf__Duration *value)
{
    int64_t nanoseconds;
    struct tr_buffer buffer;
    if (__builtin_mul_overflow(value->seconds, NANOSECONDS, &nanoseconds) ||
        __builtin_add_overflow(nanoseconds, (int64_t)value->nanos, &nanoseconds)) {
        return refuse(reader, "a duration is longer than 292 years\nuse an int of seconds");
    }
    tr_buffer_init(&buffer, 0);
    tr_duration_print(nanoseconds, &buffer);
    return printed(reader, &buffer);
}

/*
 * schemas/flyteidl declares this field as bytes, which are the same on the wire: a C string would
 * end at a zero byte, and a string value may hold one.
 */
static struct tr_tree *from_string(const struct reader *reader, ProtobufCBinaryData value)
{
    struct tr_text text = {.data = (const char *)value.data, .size = value.len};
    return tr_utf8_valid(text) ? tri_flyte_text(reader->arena, text)
                               : refuse(reader, "a string is no UTF-8\nwrite bytes as Binary");
}

static struct tr_tree *from_primitive(const struct reader *reader,
                                      const Flyteidl__Core__Primitive *value)
{
    struct tr_tree *tree = make(reader, TR_TREE_INT);
    if (tree == NULL) {
        return NULL;
    }
    switch (value->value_case) {
    case FLYTEIDL__CORE__PRIMITIVE__VALUE_INTEGER:
        tree->integer = value->integer;
        return tree;
    case FLYTEIDL__CORE__PRIMITIVE__VALUE_FLOAT_VALUE:
        tree->kind = TR_TREE_FLOAT;
        tree->number = value->float_value;
        return tree;
    case FLYTEIDL__CORE__PRIMITIVE__VALUE_BOOLEAN:
        tree->kind = TR_TREE_BOOL;
        tree->boolean = value->boolean != 0;
        return tree;
    case FLYTEIDL__CORE__PRIMITIVE__VALUE_STRING_VALUE:
        return from_string(reader, value->string_value);
    case FLYTEIDL__CORE__PRIMITIVE__VALUE_DATETIME:
        return from_datetime(reader, value->datetime);
    case FLYTEIDL__CORE__PRIMITIVE__VALUE_DURATION:
        return from_duration(reader, value->duration);
    default:
        return refuse(reader, "a primitive holds no value of a kind that is known");
    }
}

/* ------------------------------------------------------------------ other scalars */

/*
 * A Binary with the tag msgpack is a struct, as flytekit writes it. Where bytes are declared the
 * tag does not count: the bytes are the value.
 */
static struct tr_tree *from_binary(const struct reader *reader, const struct tr_type *type,
                                   const Flyteidl__Core__Binary *binary)
{
    struct tr_bytes bytes = {.data = binary->value.data, .size = binary->value.len};
    bool is_bytes = type != NULL && type->kind == TR_TYPE_BYTES;
    struct tr_buffer buffer;
    if (!is_bytes && tr_text_equal(tr_text_of(binary->tag), tr_text_of(TAG_MSGPACK))) {
        return tri_flyte_msgpack(reader->arena, reader->report, bytes);
    }
    tr_buffer_init(&buffer, 0);
    tri_base64_write(bytes, &buffer);
    struct tr_tree *tree = printed(reader, &buffer);
    const struct tr_note note = {.tag = tr_text_of(binary->tag), .hash = tr_text_of("")};
    return tr_note_is_empty(&note) ? tree : noted(reader, tree, note);
}

static struct tr_tree *from_generic(const struct reader *reader,
                                    const Google__Protobuf__Struct *value)
{
    const struct tr_note note = {.is_generic = true, .tag = tr_text_of(""), .hash = tr_text_of("")};
    return noted(reader, tri_flyte_struct(reader->arena, reader->report, value), note);
}

static struct tr_tree *from_table(const struct reader *reader, const char *uri, const char *format)
{
    static const char *const names[] = {"uri", "format"};
    struct tr_tree *const values[] = {tri_flyte_text(reader->arena, tr_text_of(uri)),
                                      tri_flyte_text(reader->arena, tr_text_of(format))};
    return fields(reader, names, values, TR_COUNT_OF(values));
}

/* A path alone where no format is said. */
static struct tr_tree *from_blob(const struct reader *reader, const Flyteidl__Core__Blob *blob)
{
    const Flyteidl__Core__BlobMetadata *metadata = blob->metadata;
    bool is_known = metadata != NULL && metadata->type != NULL && metadata->type->format[0] != '\0';
    return is_known ? from_table(reader, blob->uri, metadata->type->format)
                    : tri_flyte_text(reader->arena, tr_text_of(blob->uri));
}

static struct tr_tree *from_dataset(const struct reader *reader,
                                    const Flyteidl__Core__StructuredDataset *dataset)
{
    const Flyteidl__Core__StructuredDatasetMetadata *metadata = dataset->metadata;
    bool is_known = metadata != NULL && metadata->structured_dataset_type != NULL;
    return from_table(reader, dataset->uri,
                      is_known ? metadata->structured_dataset_type->format : "");
}

/* Flyte's Error has no code and no element; the reader of trees fills in "" and none. */
static struct tr_tree *from_error(const struct reader *reader, const Flyteidl__Core__Error *error)
{
    static const char *const names[] = {"node", "message"};
    struct tr_tree *const values[] = {
        tri_flyte_text(reader->arena, tr_text_of(error->failed_node_id)),
        tri_flyte_text(reader->arena, tr_text_of(error->message))};
    return fields(reader, names, values, TR_COUNT_OF(values));
}

/* The variant that a union says it is, or NULL; `name` is what the reader of trees calls it. */
static const struct tr_type *find_variant(const struct reader *reader, const struct tr_type *type,
                                          const Flyteidl__Core__LiteralType *of,
                                          struct tr_text *name)
{
    struct tr_types types;
    tr_types_init(&types, reader->arena);
    const struct tr_type *said = of == NULL ? NULL : tri_flyte_type_read(&types, of);
    if (said == NULL || type == NULL || type->kind != TR_TYPE_UNION) {
        return NULL;
    }
    int64_t variant = tr_type_variant_named(type, said);
    if (variant < 0) {
        return NULL;
    }
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_type_write(type->parts[variant], &text);
    *name = tr_arena_text(reader->arena, tr_buffer_text(&text));
    reader->arena->error = reader->arena->error != 0 ? reader->arena->error : text.error;
    tr_buffer_fini(&text);
    return type->parts[variant];
}

/*
 * Where no variant is found, or no union is declared, the value counts without the type it names,
 * and is tried against what is declared.
 */
static struct tr_tree *from_union(const struct reader *reader, const struct tr_type *type,
                                  const Flyteidl__Core__Union *value)
{
    static const char *const names[] = {"type", "value"};
    struct tr_text name;
    if (value->value == NULL) {
        return refuse(reader, "a union holds no value");
    }
    const struct tr_type *variant = find_variant(reader, type, value->type, &name);
    if (variant == NULL) {
        return from_literal(reader, type, value->value);
    }
    struct tr_tree *const values[] = {tri_flyte_text(reader->arena, name),
                                      from_literal(reader, variant, value->value)};
    return fields(reader, names, values, TR_COUNT_OF(values));
}

static struct tr_tree *from_scalar(const struct reader *reader, const struct tr_type *type,
                                   const Flyteidl__Core__Scalar *scalar)
{
    switch (scalar->value_case) {
    case FLYTEIDL__CORE__SCALAR__VALUE_PRIMITIVE:
        return from_primitive(reader, scalar->primitive);
    case FLYTEIDL__CORE__SCALAR__VALUE_BLOB:
        return from_blob(reader, scalar->blob);
    case FLYTEIDL__CORE__SCALAR__VALUE_BINARY:
        return from_binary(reader, type, scalar->binary);
    case FLYTEIDL__CORE__SCALAR__VALUE_SCHEMA:
        return from_table(reader, scalar->schema->uri, "");
    case FLYTEIDL__CORE__SCALAR__VALUE_NONE_TYPE:
        return make(reader, TR_TREE_NULL);
    case FLYTEIDL__CORE__SCALAR__VALUE_ERROR:
        return from_error(reader, scalar->error);
    case FLYTEIDL__CORE__SCALAR__VALUE_GENERIC:
        return from_generic(reader, scalar->generic);
    case FLYTEIDL__CORE__SCALAR__VALUE_STRUCTURED_DATASET:
        return from_dataset(reader, scalar->structured_dataset);
    case FLYTEIDL__CORE__SCALAR__VALUE_UNION:
        return from_union(reader, type, scalar->union_);
    default:
        return refuse(reader, "a scalar holds no value of a kind that is known");
    }
}

/* ------------------------------------------------------------------ literals */

/*
 * The type of a list's or a map's elements, as a hint for what is inside. Of a union it is that of
 * its first such variant; a wrong guess shows when the tree is read.
 */
static const struct tr_type *element_of(const struct tr_type *type, enum tr_type_kind kind)
{
    if (type != NULL && type->kind == TR_TYPE_UNION) {
        for (uint32_t i = 0; i < type->count; i++) {
            if (type->parts[i]->kind == kind) {
                return type->parts[i]->parts[0];
            }
        }
    }
    return type != NULL && type->kind == kind ? type->parts[0] : NULL;
}

static struct tr_tree *from_collection(const struct reader *reader, const struct tr_type *type,
                                       const Flyteidl__Core__LiteralCollection *collection)
{
    const struct tr_type *element = element_of(type, TR_TYPE_LIST);
    struct tr_tree *list = make(reader, TR_TREE_LIST);
    struct tr_tree **items =
        tr_arena_array(reader->arena, collection->n_literals, sizeof(struct tr_tree *));
    if (list == NULL || items == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < collection->n_literals; i++) {
        items[i] = from_literal(reader, element, collection->literals[i]);
        if (items[i] == NULL) {
            return NULL;
        }
    }
    struct tri_vector vector = {.items = items, .count = (uint32_t)collection->n_literals};
    tri_tree_close_list(list, &vector);
    return list;
}

/* Keys come in the order of the wire, which is any; packing sorts them. */
static struct tr_tree *from_map(const struct reader *reader, const struct tr_type *type,
                                const Flyteidl__Core__LiteralMap *map)
{
    const struct tr_type *element = element_of(type, TR_TYPE_MAP);
    struct tri_vector pairs = {0};
    for (size_t i = 0; i < map->n_literals; i++) {
        struct tr_pair *pair = tri_vector_add(reader->arena, &pairs, sizeof *pair);
        if (pair == NULL) {
            return NULL;
        }
        pair->key = tri_flyte_text(reader->arena, tr_text_of(map->literals[i]->key));
        pair->value = from_literal(reader, element, map->literals[i]->value);
        if (pair->key == NULL || pair->value == NULL) {
            return NULL;
        }
    }
    return tri_flyte_map(reader->arena, reader->report, &pairs);
}

static struct tr_tree *refuse_file(const struct reader *reader, struct tr_text uri,
                                   const char *words)
{
    tri_report_add(reader->report, (struct tri_place){0}, "InvalidValue",
                   "the literal in '%.*s' %s", TRI_TEXT(uri), words);
    return NULL;
}

/* What a file holds, which is open. */
static struct tr_tree *from_bytes(const struct reader *reader, const struct tr_type *type,
                                  const struct tr_flyte_elsewhere *where, struct tr_bytes file)
{
    struct reader inner = *reader;
    if (!tr_flyte_is_size(where, file, reader->report)) {
        return NULL;
    }
    if (file.size > reader->files->left_bytes) {
        return refuse_file(reader, where->uri,
                           "and those before it are too large together\n"
                           "hand on files or directories, which are not read");
    }
    const Flyteidl__Core__Literal *message =
        tri_wire_unpack(reader->arena, &flyteidl__core__literal__descriptor, file);
    if (message == NULL) {
        return reader->arena->error != 0
                   ? NULL
                   : refuse_file(reader, where->uri, "is no Literal of Flyte's");
    }
    reader->files->left_bytes -= file.size;
    inner.depth++;
    return from_literal(&inner, type, message);
}

/* A literal in a file of its own: a message copies what it holds, so the file may be closed. */
static struct tr_tree *from_file(const struct reader *reader, const struct tr_type *type,
                                 const Flyteidl__Core__LiteralOffloadedMetadata *offloaded)
{
    const struct tr_flyte_elsewhere where = {.uri = tr_text_of(offloaded->uri),
                                             .size_bytes = offloaded->size_bytes};
    struct tr_bytes file;
    if (reader->files == NULL || reader->depth == FILES_DEPTH_MAX) {
        return refuse_file(reader, where.uri,
                           reader->files == NULL
                               ? "is not read here\ngive the value itself"
                               : "is named by a file that another one names, and so on\n"
                                 "keep the value in one file");
    }
    int error = reader->files->open(reader->files->self, reader->report, where.uri, &file);
    if (error != 0) {
        reader->arena->error = error == TR_INVALID ? reader->arena->error : error;
        return NULL;
    }
    struct tr_tree *tree = from_bytes(reader, type, &where, file);
    reader->files->close(reader->files->self, file);
    return tree;
}

static struct tr_tree *value_of(const struct reader *reader, const struct tr_type *type,
                                const Flyteidl__Core__Literal *literal)
{
    switch (literal->value_case) {
    case FLYTEIDL__CORE__LITERAL__VALUE_SCALAR:
        return from_scalar(reader, type, literal->scalar);
    case FLYTEIDL__CORE__LITERAL__VALUE_COLLECTION:
        return from_collection(reader, type, literal->collection);
    case FLYTEIDL__CORE__LITERAL__VALUE_MAP:
        return from_map(reader, type, literal->map);
    case FLYTEIDL__CORE__LITERAL__VALUE_OFFLOADED_METADATA:
        return from_file(reader, type, literal->offloaded_metadata);
    default:
        return refuse(reader, "a literal holds no value of a kind that is known");
    }
}

static struct tr_tree *from_literal(const struct reader *reader, const struct tr_type *type,
                                    const Flyteidl__Core__Literal *literal)
{
    return literal == NULL ? refuse(reader, "a literal is missing")
                           : with_note(reader, literal, value_of(reader, type, literal));
}

struct tr_tree *tri_flyte_literal(struct tr_arena *arena, struct tr_report *report,
                                  const struct tr_type *type,
                                  const Flyteidl__Core__Literal *literal,
                                  struct tr_flyte_files *files)
{
    const struct reader reader = {.arena = arena, .report = report, .files = files};
    return from_literal(&reader, type, literal);
}

struct tr_tree *tri_flyte_scalar(struct tr_arena *arena, struct tr_report *report,
                                 const struct tr_type *type, const Flyteidl__Core__Scalar *scalar,
                                 struct tr_flyte_files *files)
{
    const struct reader reader = {.arena = arena, .report = report, .files = files};
    return from_scalar(&reader, type, scalar);
}

const struct tr_tree *tr_flyte_literal(struct tr_arena *arena, struct tr_report *report,
                                       const struct tr_type *type, struct tr_bytes literal,
                                       struct tr_flyte_files *files)
{
    const Flyteidl__Core__Literal *message =
        tri_wire_unpack(arena, &flyteidl__core__literal__descriptor, literal);
    if (message == NULL) {
        return arena->error != 0 ? NULL
                                 : tri_flyte_refuse(report, "the bytes are no Literal of Flyte's");
    }
    return tri_flyte_literal(arena, report, type, message, files);
}
