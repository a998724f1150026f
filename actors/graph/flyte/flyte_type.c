/*
 * Types in both directions. Ours are Flyte's but for what only SDKs look at, which goes along: the
 * tag by which they know variants of unions, the schema of a struct as JSON, and all else (columns,
 * annotations, types of a dataclass's fields) as the LiteralType that says nothing but that, packed
 * and in base64. A union itself has none of these, only its variants.
 *
 * Types that are written lie in an arena as the library's messages and are packed from there. A
 * type that cannot be read (a generic one without a kind, an enum with too many values) gives NULL,
 * and the caller says so with the name of what has it.
 */
#include "actors/graph/flyte/flyte_inside.h"

#include "actors/graph/document/json.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/value/literal.h"
#include "schemas/codec/error.h"

typedef Flyteidl__Core__LiteralType literal_type;

/* ------------------------------------------------------------------ ours as Flyte's */

/*
 * Not the library's own init functions by name: with the descriptor one function serves all
 * messages. The strings of a new message are the library's shared empty one and are never freed.
 */
void *tri_flyte_new(struct tr_arena *arena, const ProtobufCMessageDescriptor *descriptor)
{
    void *message = tr_arena_alloc(arena, descriptor->sizeof_message);
    if (message != NULL) {
        descriptor->message_init(message);
    }
    return message;
}

/* Flyte has one Blob for both: a single file, or a multipart one, which is a directory. */
static void set_blob(struct tr_arena *arena, const struct tr_type *type, literal_type *made)
{
    int error = 0;
    made->type_case = FLYTEIDL__CORE__LITERAL_TYPE__TYPE_BLOB;
    made->blob = tri_flyte_new(arena, &flyteidl__core__blob_type__descriptor);
    if (made->blob != NULL) {
        made->blob->format = tri_flyte_string(arena, type->format, &error);
        made->blob->dimensionality =
            type->kind == TR_TYPE_FILE ? FLYTEIDL__CORE__BLOB_TYPE__BLOB_DIMENSIONALITY__SINGLE
                                       : FLYTEIDL__CORE__BLOB_TYPE__BLOB_DIMENSIONALITY__MULTIPART;
    }
}

/* What there is already says the columns, or that it is a Schema, which has no format. */
static void set_dataset(struct tr_arena *arena, const struct tr_type *type, literal_type *made)
{
    int error = 0;
    if (made->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SCHEMA) {
        return;
    }
    if (made->type_case != FLYTEIDL__CORE__LITERAL_TYPE__TYPE_STRUCTURED_DATASET_TYPE) {
        made->type_case = FLYTEIDL__CORE__LITERAL_TYPE__TYPE_STRUCTURED_DATASET_TYPE;
        made->structured_dataset_type =
            tri_flyte_new(arena, &flyteidl__core__structured_dataset_type__descriptor);
    }
    if (made->structured_dataset_type != NULL) {
        made->structured_dataset_type->format = tri_flyte_string(arena, type->format, &error);
    }
}

static void set_enum(struct tr_arena *arena, const struct tr_type *type, literal_type *made)
{
    int error = 0;
    made->type_case = FLYTEIDL__CORE__LITERAL_TYPE__TYPE_ENUM_TYPE;
    made->enum_type = tri_flyte_new(arena, &flyteidl__core__enum_type__descriptor);
    char **values = tr_arena_array(arena, type->count, sizeof *values);
    for (uint32_t i = 0; values != NULL && i < type->count; i++) {
        values[i] = tri_flyte_string(arena, type->values[i], &error);
    }
    if (made->enum_type != NULL && values != NULL) {
        made->enum_type->n_values = type->count;
        made->enum_type->values = values;
    }
}

static void set_union(struct tr_arena *arena, const struct tr_type *type, literal_type *made)
{
    made->type_case = FLYTEIDL__CORE__LITERAL_TYPE__TYPE_UNION_TYPE;
    made->union_type = tri_flyte_new(arena, &flyteidl__core__union_type__descriptor);
    literal_type **variants = tr_arena_array(arena, type->count, sizeof *variants);
    for (uint32_t i = 0; variants != NULL && i < type->count; i++) {
        variants[i] = tri_flyte_type_new(arena, type->parts[i]);
    }
    if (made->union_type != NULL && variants != NULL) {
        made->union_type->n_variants = type->count;
        made->union_type->variants = variants;
    }
}

/* What the SDK calls the type, by which it knows the variants of its unions. */
static void set_tag(struct tr_arena *arena, const struct tr_type *type, literal_type *made)
{
    int error = 0;
    if (type->tag.size == 0) {
        return;
    }
    if (made->structure == NULL) {
        made->structure = tri_flyte_new(arena, &flyteidl__core__type_structure__descriptor);
    }
    if (made->structure != NULL) {
        made->structure->tag = tri_flyte_string(arena, type->tag, &error);
    }
}

/* The schema of a struct, which was made of such a message. */
static void set_schema(struct tr_arena *arena, const struct tr_type *type, literal_type *made)
{
    int error = 0;
    struct tr_bytes packed = {.size = 0};
    struct tr_bytes json = {.data = (const uint8_t *)type->schema.data, .size = type->schema.size};
    if (json.size > 0 && tr_json_pack(arena, json, &packed) == 0) {
        struct tr_cursor cursor = tr_cursor_of(packed);
        made->metadata = tri_value_kind(&cursor) == TRI_VALUE_MAP
                             ? tri_flyte_struct_new(arena, &cursor, &error)
                             : NULL;
    }
}

/* A type that says what `extra` does, and nothing else yet. */
static literal_type *begin_type(struct tr_arena *arena, struct tr_text extra)
{
    struct tr_bytes packed;
    literal_type *made = NULL;
    if (extra.size > 0 && tri_base64_read(extra, arena, &packed)) {
        made = tri_wire_unpack(arena, &flyteidl__core__literal_type__descriptor, packed);
    }
    return made != NULL ? made : tri_flyte_new(arena, &flyteidl__core__literal_type__descriptor);
}

literal_type *tri_flyte_type_new(struct tr_arena *arena, const struct tr_type *type)
{
    literal_type *made = begin_type(arena, type->extra);
    if (made == NULL) {
        return NULL;
    }
    switch ((enum tr_type_kind)type->kind) {
    case TR_TYPE_FILE:
    case TR_TYPE_DIRECTORY:
        set_blob(arena, type, made);
        break;
    case TR_TYPE_DATASET:
        set_dataset(arena, type, made);
        break;
    case TR_TYPE_ENUM:
        set_enum(arena, type, made);
        break;
    case TR_TYPE_LIST:
        made->type_case = FLYTEIDL__CORE__LITERAL_TYPE__TYPE_COLLECTION_TYPE;
        made->collection_type = tri_flyte_type_new(arena, type->parts[0]);
        break;
    case TR_TYPE_MAP:
        made->type_case = FLYTEIDL__CORE__LITERAL_TYPE__TYPE_MAP_VALUE_TYPE;
        made->map_value_type = tri_flyte_type_new(arena, type->parts[0]);
        break;
    case TR_TYPE_UNION:
        set_union(arena, type, made);
        break;
    default: /* the first ten have Flyte's own numbers */
        made->type_case = FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SIMPLE;
        made->simple = (Flyteidl__Core__SimpleType)type->kind;
        break;
    }
    set_tag(arena, type, made);
    set_schema(arena, type, made);
    return arena->error == 0 ? made : NULL;
}

/* ------------------------------------------------------------------ Flyte's as ours */

static const struct tr_type *read_blob(struct tr_types *types, const Flyteidl__Core__BlobType *blob)
{
    bool is_file = blob->dimensionality == FLYTEIDL__CORE__BLOB_TYPE__BLOB_DIMENSIONALITY__SINGLE;
    return tr_type_format(types, is_file ? TR_TYPE_FILE : TR_TYPE_DIRECTORY,
                          tr_arena_text(types->arena, tr_text_of(blob->format)));
}

static const struct tr_type *read_enum(struct tr_types *types, const Flyteidl__Core__EnumType *type)
{
    struct tr_text *values = tr_arena_array(types->arena, type->n_values, sizeof *values);
    if (values == NULL || type->n_values > TR_TYPE_VALUES_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < type->n_values; i++) {
        values[i] = tr_arena_text(types->arena, tr_text_of(type->values[i]));
    }
    return tr_type_enum(types, values, (uint32_t)type->n_values);
}

/* Variants that are equal become one (tr_type_union). */
static const struct tr_type *read_union(struct tr_types *types,
                                        const Flyteidl__Core__UnionType *type)
{
    const struct tr_type *variants[TR_TYPE_VARIANTS_MAX];
    if (type->n_variants == 0 || type->n_variants > TR_TYPE_VARIANTS_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < type->n_variants; i++) {
        variants[i] = tri_flyte_type_read(types, type->variants[i]);
        if (variants[i] == NULL) {
            return NULL;
        }
    }
    return tr_type_union(types, variants, (uint32_t)type->n_variants);
}

static const struct tr_type *read_simple(struct tr_types *types, int64_t number)
{
    bool is_known = number >= 0 && number <= TR_TYPE_STRUCT;
    return is_known ? tr_type_simple(types, (enum tr_type_kind)number) : NULL;
}

/*
 * The recursion is bounded when the message is unpacked, the type by TR_TYPE_DEPTH_MAX. A Schema is
 * the older form of a StructuredDataset and has no format.
 */
static const struct tr_type *read_plain(struct tr_types *types, const literal_type *type)
{
    const struct tr_type *element;
    switch (type->type_case) {
    case FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SIMPLE:
        return read_simple(types, type->simple);
    case FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SCHEMA:
        return tr_type_format(types, TR_TYPE_DATASET, tr_text_of(""));
    case FLYTEIDL__CORE__LITERAL_TYPE__TYPE_COLLECTION_TYPE:
        element = tri_flyte_type_read(types, type->collection_type);
        return element == NULL ? NULL : tr_type_list(types, element);
    case FLYTEIDL__CORE__LITERAL_TYPE__TYPE_MAP_VALUE_TYPE:
        element = tri_flyte_type_read(types, type->map_value_type);
        return element == NULL ? NULL : tr_type_map(types, element);
    case FLYTEIDL__CORE__LITERAL_TYPE__TYPE_BLOB:
        return read_blob(types, type->blob);
    case FLYTEIDL__CORE__LITERAL_TYPE__TYPE_ENUM_TYPE:
        return read_enum(types, type->enum_type);
    case FLYTEIDL__CORE__LITERAL_TYPE__TYPE_STRUCTURED_DATASET_TYPE:
        return tr_type_format(
            types, TR_TYPE_DATASET,
            tr_arena_text(types->arena, tr_text_of(type->structured_dataset_type->format)));
    case FLYTEIDL__CORE__LITERAL_TYPE__TYPE_UNION_TYPE:
        return read_union(types, type->union_type);
    default:
        return NULL;
    }
}

/* A message's values as JSON, keys in order; "" where it cannot be said so. */
static struct tr_text json_of(struct tr_arena *arena, const Google__Protobuf__Struct *value)
{
    struct tr_report report;
    struct tr_buffer packed;
    struct tr_buffer json;
    struct tr_text text = tr_text_of("");
    tr_report_init(&report);
    tr_buffer_init(&packed, 0);
    tr_buffer_init(&json, 0);
    struct tr_literal_reader reader = {.report = &report, .arena = arena};
    const struct tr_tree *tree = tri_flyte_struct(arena, &report, value);
    if (tree != NULL && tr_literal_read(&reader, NULL, tree, &packed) &&
        tr_literal_json(NULL, tr_buffer_bytes(&packed), &json) == 0) {
        text = tr_arena_text(arena, tr_buffer_text(&json));
    }
    tr_buffer_fini(&json);
    tr_buffer_fini(&packed);
    tr_report_fini(&report);
    return text;
}

/* What our types do not say of a type; false where there is nothing. Parts are shared. */
static bool take_rest(const literal_type *type, literal_type *rest,
                      Flyteidl__Core__TypeStructure *structure,
                      Flyteidl__Core__StructuredDatasetType *dataset)
{
    bool is_struct = type->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SIMPLE &&
                     type->simple == FLYTEIDL__CORE__SIMPLE_TYPE__STRUCT;
    rest->metadata = is_struct ? NULL : type->metadata;
    rest->annotation = type->annotation;
    if (type->structure != NULL && type->structure->n_dataclass_type > 0) {
        structure->n_dataclass_type = type->structure->n_dataclass_type;
        structure->dataclass_type = type->structure->dataclass_type;
        rest->structure = structure;
    }
    if (type->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SCHEMA) {
        rest->type_case = type->type_case;
        rest->schema = type->schema;
    } else if (type->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_STRUCTURED_DATASET_TYPE) {
        const Flyteidl__Core__StructuredDatasetType *whole = type->structured_dataset_type;
        dataset->n_columns = whole->n_columns;
        dataset->columns = whole->columns;
        dataset->external_schema_type = whole->external_schema_type;
        dataset->external_schema_bytes = whole->external_schema_bytes;
        if (protobuf_c_message_get_packed_size(&dataset->base) > 0) {
            rest->type_case = type->type_case;
            rest->structured_dataset_type = dataset;
        }
    }
    return protobuf_c_message_get_packed_size(&rest->base) > 0;
}

static struct tr_text extra_of(struct tr_arena *arena, const literal_type *type)
{
    literal_type rest;
    Flyteidl__Core__TypeStructure structure;
    Flyteidl__Core__StructuredDatasetType dataset;
    struct tr_buffer text;
    flyteidl__core__literal_type__init(&rest);
    flyteidl__core__type_structure__init(&structure);
    flyteidl__core__structured_dataset_type__init(&dataset);
    if (!take_rest(type, &rest, &structure, &dataset)) {
        return tr_text_of("");
    }
    uint8_t *packed = tr_arena_alloc(arena, protobuf_c_message_get_packed_size(&rest.base) + 1);
    if (packed == NULL) {
        return tr_text_of("");
    }
    struct tr_bytes bytes = {.data = packed, .size = protobuf_c_message_pack(&rest.base, packed)};
    tr_buffer_init(&text, 0);
    tri_base64_write(bytes, &text);
    struct tr_text extra = tr_arena_text(arena, tr_buffer_text(&text));
    arena->error = arena->error != 0 ? arena->error : text.error;
    tr_buffer_fini(&text);
    return extra;
}

const struct tr_type *tri_flyte_type_read(struct tr_types *types, const literal_type *type)
{
    struct tr_type words = {.tag = tr_text_of(type->structure == NULL ? "" : type->structure->tag)};
    const struct tr_type *plain = read_plain(types, type);
    if (plain == NULL || plain->kind == TR_TYPE_UNION) {
        return plain;
    }
    /* The message is ours, in an arena. */
    tri_flyte_sort((ProtobufCMessage *)(uintptr_t)&type->base);
    if (plain->kind == TR_TYPE_STRUCT && type->metadata != NULL) {
        words.schema = json_of(types->arena, type->metadata);
    }
    words.extra = extra_of(types->arena, type);
    return words.tag.size + words.schema.size + words.extra.size > 0
               ? tr_type_described(types, plain, &words)
               : plain;
}

char *tri_flyte_string(struct tr_arena *arena, struct tr_text text, int *error)
{
    if (text.size > 0 && memchr(text.data, '\0', text.size) != NULL) {
        *error = TR_INVALID;
        return NULL;
    }
    char *string = tr_arena_alloc(arena, text.size + 1); /* cleared */
    if (string != NULL && text.size > 0) {
        memcpy(string, text.data, text.size);
    }
    return string;
}
