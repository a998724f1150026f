/*
 * Values as literals. A field of protobuf says its size first, so a literal is measured and then
 * written. Lists, and unions that hold them, are taken apart here, so that only one element is a
 * message at a time; everything else is built as a message by the library.
 *
 * Both passes are one code: `put` is NULL while it is measured, and then nothing is gathered. They
 * must agree to the byte, since a size that is wrong by one makes the rest of the document
 * unreadable. Each level of nested lists measures its elements again, so the time is the size times
 * the depth of lists, at most TR_TYPE_DEPTH_MAX.
 *
 * What is written is deterministic: the order of fields is the library's, that of maps the packed
 * one.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/flyte/flyte_inside.h"
#include "actors/graph/value/literal.h"
#include "actors/graph/value/note.h"
#include "schemas/codec/error.h"

/* What is gathered before it is given on, so that `put` is not called for each small element. */
#define GATHER_BYTES 65536U

/* The numbers of the fields in question, as schemas/flyteidl/literals.proto has them. */
enum field {
    MAP_ENTRY = 1,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    LITERAL_SCALAR = 1,
    LITERAL_COLLECTION = 2,
    COLLECTION_LITERAL = 1,
    SCALAR_UNION = 9,
    UNION_VALUE = 1,
    UNION_TYPE = 2,
};

/* ------------------------------------------------------------------ messages */

/* A value on its way into a message. */
struct maker {
    struct tr_arena *arena;
    struct tr_cursor cursor;
    struct tr_note note; /* what came beside the value in hand */
    int error;
};

static Flyteidl__Core__Literal *make_literal(struct maker *maker, const struct tr_type *type);

static char *make_string(struct maker *maker, struct tr_text text)
{
    return tri_flyte_string(maker->arena, text, &maker->error);
}

static ProtobufCBinaryData view(struct tr_bytes bytes)
{
    /* The library only reads what it packs. */
    return (ProtobufCBinaryData){.data = (uint8_t *)(uintptr_t)bytes.data, .len = bytes.size};
}

static void put_text(struct maker *maker, Flyteidl__Core__Primitive *primitive)
{
    struct tr_text text = tr_read_text(&maker->cursor);
    struct tr_bytes bytes = {.data = (const uint8_t *)text.data, .size = text.size};
    primitive->value_case = FLYTEIDL__CORE__PRIMITIVE__VALUE_STRING_VALUE;
    primitive->string_value = view(bytes);
}

static void put_datetime(struct maker *maker, Flyteidl__Core__Primitive *primitive)
{
    struct tr_moment moment = tr_read_moment(&maker->cursor);
    primitive->value_case = FLYTEIDL__CORE__PRIMITIVE__VALUE_DATETIME;
    primitive->datetime = tri_flyte_new(maker->arena, &google__protobuf__timestamp__descriptor);
    if (primitive->datetime != NULL) {
        primitive->datetime->seconds = moment.seconds;
        primitive->datetime->nanos = (int32_t)moment.nanoseconds;
    }
}

/*
 * Division in C rounds toward zero, so both parts get the sign of the whole, as
 * google.protobuf.Duration wants it.
 */
static void put_duration(struct maker *maker, Flyteidl__Core__Primitive *primitive)
{
    int64_t nanoseconds = tr_read_i64(&maker->cursor);
    primitive->value_case = FLYTEIDL__CORE__PRIMITIVE__VALUE_DURATION;
    primitive->duration = tri_flyte_new(maker->arena, &google__protobuf__duration__descriptor);
    if (primitive->duration != NULL) {
        primitive->duration->seconds = nanoseconds / 1000000000;
        primitive->duration->nanos = (int32_t)(nanoseconds % 1000000000);
    }
}

static void put_primitive(struct maker *maker, const struct tr_type *type,
                          Flyteidl__Core__Scalar *scalar)
{
    Flyteidl__Core__Primitive *primitive =
        tri_flyte_new(maker->arena, &flyteidl__core__primitive__descriptor);
    scalar->value_case = FLYTEIDL__CORE__SCALAR__VALUE_PRIMITIVE;
    scalar->primitive = primitive;
    if (primitive == NULL) {
        return;
    }
    switch ((enum tr_type_kind)type->kind) {
    case TR_TYPE_INT:
        primitive->value_case = FLYTEIDL__CORE__PRIMITIVE__VALUE_INTEGER;
        primitive->integer = tr_read_i64(&maker->cursor);
        break;
    case TR_TYPE_FLOAT:
        primitive->value_case = FLYTEIDL__CORE__PRIMITIVE__VALUE_FLOAT_VALUE;
        primitive->float_value = tr_read_f64(&maker->cursor);
        break;
    case TR_TYPE_BOOL:
        primitive->value_case = FLYTEIDL__CORE__PRIMITIVE__VALUE_BOOLEAN;
        primitive->boolean = tr_read_bool(&maker->cursor);
        break;
    case TR_TYPE_DATETIME:
        put_datetime(maker, primitive);
        break;
    case TR_TYPE_DURATION:
        put_duration(maker, primitive);
        break;
    default:
        put_text(maker, primitive);
        break;
    }
}

static void put_binary(struct maker *maker, struct tr_bytes bytes, struct tr_text tag,
                       Flyteidl__Core__Scalar *scalar)
{
    scalar->value_case = FLYTEIDL__CORE__SCALAR__VALUE_BINARY;
    scalar->binary = tri_flyte_new(maker->arena, &flyteidl__core__binary__descriptor);
    if (scalar->binary != NULL) {
        scalar->binary->value = view(bytes);
        scalar->binary->tag = make_string(maker, tag);
    }
}

/*
 * A struct in the form that it came in. Ours is msgpack already, so that its bytes go out as they
 * are, integers included.
 */
static void put_struct(struct maker *maker, Flyteidl__Core__Scalar *scalar)
{
    if (!maker->note.is_generic) {
        put_binary(maker, tr_read_any(&maker->cursor), tr_text_of("msgpack"), scalar);
        return;
    }
    scalar->value_case = FLYTEIDL__CORE__SCALAR__VALUE_GENERIC;
    scalar->generic = tri_flyte_struct_new(maker->arena, &maker->cursor, &maker->error);
}

/* Code and element have no place in Flyte's Error and are lost. */
static void put_error(struct maker *maker, Flyteidl__Core__Scalar *scalar)
{
    struct tr_failure failure = tr_read_failure(&maker->cursor);
    scalar->value_case = FLYTEIDL__CORE__SCALAR__VALUE_ERROR;
    scalar->error = tri_flyte_new(maker->arena, &flyteidl__core__error__descriptor);
    if (scalar->error != NULL) {
        scalar->error->failed_node_id = make_string(maker, failure.node);
        scalar->error->message = make_string(maker, failure.message);
    }
}

/* The format is the value's own, if it has one, else that of the declared type. */
static void put_blob(struct maker *maker, const struct tr_type *type,
                     Flyteidl__Core__Scalar *scalar)
{
    struct tr_blob value = tr_read_blob(&maker->cursor);
    Flyteidl__Core__Blob *blob = tri_flyte_new(maker->arena, &flyteidl__core__blob__descriptor);
    Flyteidl__Core__BlobMetadata *metadata =
        tri_flyte_new(maker->arena, &flyteidl__core__blob_metadata__descriptor);
    const struct tr_type of = {.kind = type->kind,
                               .format = value.format.size > 0 ? value.format : type->format};
    const Flyteidl__Core__LiteralType *made = tri_flyte_type_new(maker->arena, &of);
    scalar->value_case = FLYTEIDL__CORE__SCALAR__VALUE_BLOB;
    scalar->blob = blob;
    if (blob != NULL && metadata != NULL && made != NULL) {
        blob->uri = make_string(maker, value.uri);
        blob->metadata = metadata;
        metadata->type = made->blob;
    }
}

/* The older form of a dataset, where a Schema is declared. */
static void put_table(struct maker *maker, struct tr_blob value, Flyteidl__Core__SchemaType *type,
                      Flyteidl__Core__Scalar *scalar)
{
    scalar->value_case = FLYTEIDL__CORE__SCALAR__VALUE_SCHEMA;
    scalar->schema = tri_flyte_new(maker->arena, &flyteidl__core__schema__descriptor);
    if (scalar->schema != NULL) {
        scalar->schema->uri = make_string(maker, value.uri);
        scalar->schema->type = type;
    }
}

static void put_dataset(struct maker *maker, const struct tr_type *type,
                        Flyteidl__Core__Scalar *scalar)
{
    struct tr_blob value = tr_read_blob(&maker->cursor);
    Flyteidl__Core__StructuredDataset *dataset =
        tri_flyte_new(maker->arena, &flyteidl__core__structured_dataset__descriptor);
    Flyteidl__Core__StructuredDatasetMetadata *metadata =
        tri_flyte_new(maker->arena, &flyteidl__core__structured_dataset_metadata__descriptor);
    struct tr_type of = *type;
    of.tag = tr_text_of("");
    of.format = value.format.size > 0 ? value.format : type->format;
    const Flyteidl__Core__LiteralType *made = tri_flyte_type_new(maker->arena, &of);
    if (made != NULL && made->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SCHEMA) {
        put_table(maker, value, made->schema, scalar);
        return;
    }
    scalar->value_case = FLYTEIDL__CORE__SCALAR__VALUE_STRUCTURED_DATASET;
    scalar->structured_dataset = dataset;
    if (dataset != NULL && metadata != NULL && made != NULL) {
        dataset->uri = make_string(maker, value.uri);
        dataset->metadata = metadata;
        metadata->structured_dataset_type = made->structured_dataset_type;
    }
}

/* For unions inside of maps; those at the top and in lists go through write_variant. */
static void put_union(struct maker *maker, const struct tr_type *type,
                      Flyteidl__Core__Scalar *scalar)
{
    uint32_t position;
    const struct tr_type *variant = tr_read_variant(&maker->cursor, type, &position);
    scalar->value_case = FLYTEIDL__CORE__SCALAR__VALUE_UNION;
    scalar->union_ = tri_flyte_new(maker->arena, &flyteidl__core__union__descriptor);
    if (scalar->union_ != NULL && variant != NULL) {
        scalar->union_->value = make_literal(maker, variant);
        scalar->union_->type = tri_flyte_type_new(maker->arena, variant);
    }
}

static void put_none(struct maker *maker, Flyteidl__Core__Scalar *scalar)
{
    (void)tr_read_nil(&maker->cursor);
    scalar->value_case = FLYTEIDL__CORE__SCALAR__VALUE_NONE_TYPE;
    scalar->none_type = tri_flyte_new(maker->arena, &flyteidl__core__void__descriptor);
}

static void put_scalar(struct maker *maker, const struct tr_type *type,
                       Flyteidl__Core__Scalar *scalar)
{
    switch ((enum tr_type_kind)type->kind) {
    case TR_TYPE_NONE:
        put_none(maker, scalar);
        break;
    case TR_TYPE_BYTES:
        put_binary(maker, tr_read_bytes(&maker->cursor), maker->note.tag, scalar);
        break;
    case TR_TYPE_STRUCT:
        put_struct(maker, scalar);
        break;
    case TR_TYPE_ERROR:
        put_error(maker, scalar);
        break;
    case TR_TYPE_FILE:
    case TR_TYPE_DIRECTORY:
        put_blob(maker, type, scalar);
        break;
    case TR_TYPE_DATASET:
        put_dataset(maker, type, scalar);
        break;
    case TR_TYPE_UNION:
        put_union(maker, type, scalar);
        break;
    default:
        put_primitive(maker, type, scalar);
        break;
    }
}

/*
 * An element without memory is NULL in the array. The arena's error then keeps the message from
 * being packed, as the library would look into the NULL.
 */
static void put_collection(struct maker *maker, const struct tr_type *type,
                           Flyteidl__Core__Literal *literal)
{
    uint32_t count = tr_read_array(&maker->cursor);
    Flyteidl__Core__LiteralCollection *list =
        tri_flyte_new(maker->arena, &flyteidl__core__literal_collection__descriptor);
    Flyteidl__Core__Literal **items = tr_arena_array(maker->arena, count, sizeof(void *));
    literal->value_case = FLYTEIDL__CORE__LITERAL__VALUE_COLLECTION;
    literal->collection = list;
    if (list == NULL || items == NULL) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        items[i] = make_literal(maker, type->parts[0]);
    }
    list->n_literals = count;
    list->literals = items;
}

static void put_map(struct maker *maker, const struct tr_type *type,
                    Flyteidl__Core__Literal *literal)
{
    uint32_t count = tr_read_map(&maker->cursor);
    Flyteidl__Core__LiteralMap *map =
        tri_flyte_new(maker->arena, &flyteidl__core__literal_map__descriptor);
    Flyteidl__Core__LiteralMap__LiteralsEntry **items =
        tr_arena_array(maker->arena, count, sizeof(void *));
    literal->value_case = FLYTEIDL__CORE__LITERAL__VALUE_MAP;
    literal->map = map;
    for (uint32_t i = 0; map != NULL && items != NULL && i < count; i++) {
        items[i] =
            tri_flyte_new(maker->arena, &flyteidl__core__literal_map__literals_entry__descriptor);
        if (items[i] == NULL) {
            return;
        }
        items[i]->key = make_string(maker, tr_read_text(&maker->cursor));
        items[i]->value = make_literal(maker, type->parts[0]);
    }
    if (map != NULL && items != NULL) {
        map->n_literals = count;
        map->literals = items;
    }
}

/* What came beside the value, and goes on with it. */
static void put_note(struct maker *maker, Flyteidl__Core__Literal *literal)
{
    struct tr_cursor words = tr_cursor_of(maker->note.metadata);
    uint32_t count = maker->note.metadata.size == 0 ? 0 : tr_read_map(&words);
    Flyteidl__Core__Literal__MetadataEntry **entries =
        tr_arena_array(maker->arena, count, sizeof(void *));
    if (maker->note.hash.size > 0) {
        literal->hash = make_string(maker, maker->note.hash);
    }
    for (uint32_t i = 0; entries != NULL && i < count; i++) {
        entries[i] =
            tri_flyte_new(maker->arena, &flyteidl__core__literal__metadata_entry__descriptor);
        if (entries[i] == NULL) {
            return;
        }
        entries[i]->key = make_string(maker, tr_read_text(&words));
        entries[i]->value = make_string(maker, tr_read_text(&words));
    }
    if (entries != NULL) {
        literal->n_metadata = count;
        literal->metadata = entries;
    }
}

/* The value at the cursor, which was checked to be one of the type. */
static Flyteidl__Core__Literal *make_literal(struct maker *maker, const struct tr_type *type)
{
    Flyteidl__Core__Literal *literal =
        tri_flyte_new(maker->arena, &flyteidl__core__literal__descriptor);
    if (literal == NULL) {
        return NULL;
    }
    if (tr_read_note(&maker->cursor, &maker->note)) {
        put_note(maker, literal);
    }
    if (type->kind == TR_TYPE_LIST) {
        put_collection(maker, type, literal);
    } else if (type->kind == TR_TYPE_MAP) {
        put_map(maker, type, literal);
    } else {
        literal->value_case = FLYTEIDL__CORE__LITERAL__VALUE_SCALAR;
        literal->scalar = tri_flyte_new(maker->arena, &flyteidl__core__scalar__descriptor);
        if (literal->scalar != NULL) {
            put_scalar(maker, type, literal->scalar);
        }
    }
    return literal;
}

/* ------------------------------------------------------------------ in pieces */

/* An entry on its way out. While it is measured `put` is NULL and nothing is written. */
struct writing {
    struct tr_buffer gathered;
    tr_literal_put *put;
    void *self;
};

/*
 * Hands on what was gathered if it is more than `least`. The buffer's error sticks, so one look
 * here covers all writes before it.
 */
static int give(struct writing *writing, size_t least)
{
    struct tr_buffer *gathered = &writing->gathered;
    int error = gathered->error;
    if (error == 0 && gathered->size > least) {
        error = writing->put(writing->self, tr_buffer_text(gathered));
        tr_buffer_cut(gathered, 0);
    }
    return error;
}

/* The library's way to write. */
struct sink {
    ProtobufCBuffer base;
    struct tr_buffer *buffer;
};

static void append(ProtobufCBuffer *base, size_t size, const uint8_t *data)
{
    tr_buffer_add(((struct sink *)base)->buffer, data, size);
}

/* Packs a message behind what is gathered, or only measures it. */
static void pack(struct writing *writing, const ProtobufCMessage *message, uint64_t *size)
{
    struct sink sink = {.base = {.append = append}, .buffer = &writing->gathered};
    *size = protobuf_c_message_get_packed_size(message);
    if (writing->put != NULL) {
        protobuf_c_message_pack_to_buffer(message, &sink.base);
    }
}

/*
 * A value as one message. The arena begins in a block on the stack, which has to be zero: the
 * elements of large lists are mostly small, and cost no allocation then. The value is checked
 * first, because the makers rely on its form.
 */
static int write_whole(struct writing *writing, const struct tr_type *type, struct tr_bytes value,
                       uint64_t *size)
{
    uint8_t room[2048];
    struct tr_arena arena;
    struct maker maker = {.arena = &arena, .cursor = tr_cursor_of(value)};
    int error = tr_literal_check(type, value);
    if (error != 0) {
        return error;
    }
    memset(room, 0, sizeof room);
    tr_arena_init_with(&arena, room, sizeof room);
    const Flyteidl__Core__Literal *literal = make_literal(&maker, type);
    error = arena.error != 0          ? arena.error
            : maker.error != 0        ? maker.error
            : maker.cursor.error != 0 ? TR_MALFORMED
                                      : 0;
    if (error == 0 && literal != NULL) {
        pack(writing, &literal->base, size);
    }
    tr_arena_fini(&arena);
    return error != 0 ? error : give(writing, GATHER_BYTES);
}

static int write_literal(struct writing *writing, const struct tr_type *type, struct tr_bytes value,
                         uint64_t *size);

/* The buffer of the measuring stays empty, so there is nothing to free. */
static int measure(const struct tr_type *type, struct tr_bytes value, uint64_t *size)
{
    struct writing nothing = {.put = NULL};
    tr_buffer_init(&nothing.gathered, 0);
    return write_literal(&nothing, type, value, size);
}

/* The elements of a list, each behind its header; gives the size of all. */
static int write_elements(struct writing *writing, const struct tr_type *element,
                          struct tr_bytes list, uint64_t *size)
{
    struct tr_cursor cursor = tr_cursor_of(list);
    uint32_t count = tr_read_array(&cursor);
    uint64_t all = 0;
    int error = cursor.error != 0 ? TR_MALFORMED : 0;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        uint64_t one = 0;
        struct tr_bytes part = tr_read_any(&cursor);
        error = cursor.error != 0 ? TR_MALFORMED : measure(element, part, &one);
        if (error == 0 && writing->put != NULL) {
            tri_wire_header(&writing->gathered, COLLECTION_LITERAL, one);
            error = write_literal(writing, element, part, &one);
        }
        all += tri_wire_field_bytes(one);
    }
    if (error == 0 && tr_cursor_left(&cursor) > 0) {
        error = TR_MALFORMED;
    }
    *size = all;
    return error;
}

/*
 * The header of the list holds the size of all elements with their headers, so they are gone over
 * twice: once for the sum, once to be written. None of them is kept in between.
 */
static int write_list(struct writing *writing, const struct tr_type *element, struct tr_bytes list,
                      uint64_t *size)
{
    struct writing nothing = {.put = NULL};
    uint64_t all = 0;
    tr_buffer_init(&nothing.gathered, 0);
    int error = write_elements(&nothing, element, list, &all);
    if (error == 0 && writing->put != NULL) {
        tri_wire_header(&writing->gathered, LITERAL_COLLECTION, all);
        error = write_elements(writing, element, list, &all);
    }
    *size = tri_wire_field_bytes(all);
    return error;
}

/*
 * A value of a union, whose variant is known: Literal { scalar: Scalar { union: Union { value, type
 * }}}. The three headers are written by hand around the value, so that a list inside is not built
 * whole. *size is that of the outermost message's content.
 */
static int write_variant(struct writing *writing, const struct tr_type *variant,
                         struct tr_bytes value, uint64_t *size)
{
    struct tr_arena arena;
    uint64_t inside = 0;
    uint64_t type_bytes = 0;
    tr_arena_init(&arena);
    const Flyteidl__Core__LiteralType *type = tri_flyte_type_new(&arena, variant);
    int error = type == NULL ? arena.error : measure(variant, value, &inside);
    if (error == 0 && type != NULL) {
        type_bytes = protobuf_c_message_get_packed_size(&type->base);
        uint64_t of_union = tri_wire_field_bytes(inside) + tri_wire_field_bytes(type_bytes);
        *size = tri_wire_field_bytes(tri_wire_field_bytes(of_union));
        if (writing->put != NULL) {
            tri_wire_header(&writing->gathered, LITERAL_SCALAR, tri_wire_field_bytes(of_union));
            tri_wire_header(&writing->gathered, SCALAR_UNION, of_union);
            tri_wire_header(&writing->gathered, UNION_VALUE, inside);
            error = write_literal(writing, variant, value, &inside);
            tri_wire_header(&writing->gathered, UNION_TYPE, type_bytes);
            pack(writing, &type->base, &type_bytes);
        }
    }
    tr_arena_fini(&arena);
    return error;
}

/* Bytes behind the pair are refused here, since only the inside goes through tr_literal_check. */
static int write_union(struct writing *writing, const struct tr_type *type, struct tr_bytes value,
                       uint64_t *size)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    uint32_t position;
    const struct tr_type *variant = tr_read_variant(&cursor, type, &position);
    struct tr_bytes inside = tr_read_any(&cursor);
    if (variant == NULL || cursor.error != 0 || tr_cursor_left(&cursor) > 0) {
        return TR_MALFORMED;
    }
    return write_variant(writing, variant, inside, size);
}

static int write_literal(struct writing *writing, const struct tr_type *type, struct tr_bytes value,
                         uint64_t *size)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    if (type->kind == TR_TYPE_LIST) {
        return write_list(writing, type->parts[0], value, size);
    }
    /* A value with a note is no list that is worth being written in pieces. */
    bool is_noted = tr_peek(&cursor) == TR_CODEC_EXTENSION;
    return type->kind == TR_TYPE_UNION && !is_noted ? write_union(writing, type, value, size)
                                                    : write_whole(writing, type, value, size);
}

/*
 * The literal of an entry. `variant` is not 0 where the value is the content of a blob that holds
 * one variant of a union without its position (slot.h).
 */
static int write_value(struct writing *writing, const struct tr_type *type, uint32_t variant,
                       struct tr_bytes value, uint64_t *size)
{
    if (variant == 0) {
        return write_literal(writing, type, value, size);
    }
    bool is_one = type->kind == TR_TYPE_UNION && variant <= type->count;
    return is_one ? write_variant(writing, type->parts[variant - 1], value, size) : TR_MALFORMED;
}

int tr_flyte_write(struct tr_text name, const struct tr_type *type, uint32_t variant,
                   struct tr_bytes value, tr_literal_put *put, void *self)
{
    struct writing writing = {.put = NULL, .self = self};
    uint64_t size = 0;
    tr_buffer_init(&writing.gathered, TR_GRAPH_BYTES_MAX);
    int error = write_value(&writing, type, variant, value, &size);
    if (error == 0) {
        uint64_t entry = tri_wire_field_bytes(name.size) + tri_wire_field_bytes(size);
        writing.put = put;
        tri_wire_header(&writing.gathered, MAP_ENTRY, entry);
        tri_wire_header(&writing.gathered, ENTRY_KEY, name.size);
        tr_buffer_add_text(&writing.gathered, name);
        tri_wire_header(&writing.gathered, ENTRY_VALUE, size);
        error = write_value(&writing, type, variant, value, &size);
    }
    if (error == 0) {
        error = give(&writing, 0);
    }
    tr_buffer_fini(&writing.gathered);
    return error;
}
