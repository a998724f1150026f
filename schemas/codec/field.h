/*
 * What a field is, and how a list of fields becomes a schema.
 *
 * A message, a state or a record is declared once, as a list:
 *
 *     #define TR_TICK_FIELDS(FIELD, ARRAY)  \
 *         FIELD(u64, count, 1, 0)           \
 *         FIELD(text, token, 1, TR_REDACTED) \
 *         ARRAY(text, title, 64, 2, 0)
 *     #define TR_CLOCK_SCHEMAS(S) S(tick, 40, TR_MESSAGE, 2, TR_DURABLE, TR_TICK_FIELDS)
 *     TR_CLOCK_SCHEMAS(TR_SCHEMA_DECLARE_ROW)       in a header
 *     TR_CLOCK_SCHEMAS(TR_SCHEMA_DEFINE)            in one .c file
 *
 * and that makes `struct tr_tick`, `tr_tick_pack`, `tr_tick_unpack` and `tr_tick_schema`, from
 * which the printer, the JSON form, redaction, the store's tables and the fuzz targets follow.
 *
 * FIELD(kind, name, since, marks): `since` is the version that brought the field. Fields are only
 * ever added, at the end. A reader of version N reads every older version: what came later is
 * zero. ARRAY(kind, name, capacity, since, marks) is text or bytes held inside the struct itself,
 * for states, which hold no pointers.
 *
 * On the wire a body is a msgpack array of its fields in order. A definition that compiles, with
 * all kinds and several versions, is tests/support/sample.h.
 */
#ifndef TR_SCHEMAS_CODEC_FIELD_H
#define TR_SCHEMAS_CODEC_FIELD_H

#include "schemas/codec/codec.h"

/*
 * The kinds: name, C type, and the most bytes one takes beside its own content. Kinds with content
 * (text, bytes, any) are views into the message that was unpacked.
 */
#define TR_FIELD_KINDS(K)                               \
    K(bool, bool, TR_SCALAR_BYTES_MAX)                  \
    K(u8, uint8_t, TR_SCALAR_BYTES_MAX)                 \
    K(u16, uint16_t, TR_SCALAR_BYTES_MAX)               \
    K(u32, uint32_t, TR_SCALAR_BYTES_MAX)               \
    K(u64, uint64_t, TR_SCALAR_BYTES_MAX)               \
    K(i64, int64_t, TR_SCALAR_BYTES_MAX)                \
    K(f64, double, TR_SCALAR_BYTES_MAX)                 \
    K(key, struct tr_key, TR_KEY_BYTES_MAX)             \
    K(ref, struct tr_ref, TR_REF_BYTES_MAX)             \
    K(text, struct tr_text, TR_BLOB_HEADER_BYTES_MAX)   \
    K(bytes, struct tr_bytes, TR_BLOB_HEADER_BYTES_MAX) \
    K(any, struct tr_bytes, TR_BLOB_HEADER_BYTES_MAX)

enum tr_field_kind {
#define TRI_KIND_ENUM(kind, type, size) TR_FIELD_##kind,
    TR_FIELD_KINDS(TRI_KIND_ENUM)
#undef TRI_KIND_ENUM
};

/* Marks of fields. */
enum tr_field_mark {
    TR_REDACTED = 1 << 0,     /* printed as its size only: secrets and people's data */
    TR_ROW_KEY = 1 << 1,      /* of a record: these fields, the first ones, are its row's key */
    TRI_ARRAY_MARK = 1 << 15, /* held inside the struct; ARRAY sets it itself */
};

/* The most fields that the key of a row has. */
#define TR_ROW_KEYS_MAX 8

/* What a schema is for: role, and its name. Ids are counted per role and never used twice. */
#define TR_SCHEMA_ROLES(R) \
    R(MESSAGE, "message")  \
    R(STATE, "state")      \
    R(RECORD, "record")

enum tr_schema_role {
#define TRI_ROLE_ENUM(name, text) TR_##name,
    TR_SCHEMA_ROLES(TRI_ROLE_ENUM)
#undef TRI_ROLE_ENUM
};
#define TR_SCHEMA_ROLE_COUNT (TR_RECORD + 1)

/* The role's name, or "unknown". */
const char *tr_schema_role_name(unsigned role);

/* Marks of schemas. */
enum tr_schema_mark {
    TR_DURABLE = 0,      /* written to the journal while it is not handled */
    TR_HINT = 1 << 0,    /* may be lost when a host or a link dies */
    TR_PRIORITY = 1 << 1 /* completions, cancels, DOWN: never refused, never muted */
};

/* One field, as the printers and the store see it. */
struct tr_field {
    const char *name;
    enum tr_field_kind kind;
    uint16_t since;
    uint16_t marks;
    uint32_t offset;
    uint32_t capacity; /* of an array; 0 for all else */
};

/* One declared message, state or record. */
struct tr_schema {
    const char *name;
    uint16_t id;
    uint8_t role;
    uint8_t version;
    uint16_t marks;
    uint16_t field_count;
    uint32_t struct_size;
    const struct tr_field *(*fields)(void);
    /* An upper bound of the packed bytes of this value. */
    size_t (*size_max)(const void *value);
    /*
     * Packs a value at the schema's version. A buffer too small is TR_LIMIT; text that is no UTF-8,
     * or an `any` that is no value, is TR_INVALID: what packs, unpacks.
     */
    int (*pack)(const void *value, struct tr_writer *writer);
    /*
     * Unpacks a body of `version`; views point into it. The value is untouched on failure:
     * TR_VERSION (newer than the schema), TR_TRUNCATED, TR_MALFORMED, TR_LIMIT (an array's
     * capacity, or nesting).
     */
    int (*unpack)(struct tr_bytes body, uint8_t version, void *value);
};

/* Text or bytes inside a struct; set and read by the functions below. */
#define TRI_ARRAY_STRUCT(capacity) \
    struct {                       \
        uint16_t size;             \
        char data[capacity];       \
    }

/* Copies `text` into an array field; too long is TR_LIMIT and changes nothing. */
#define tr_array_set(field, text) \
    tri_array_set(&(field)->size, (field)->data, sizeof((field)->data), (text))

/* A view of an array field; it lives as long as the struct. */
#define tr_array_get(field) ((struct tr_text){.data = (field)->data, .size = (field)->size})

TR_MUST_USE int tri_array_set(uint16_t *size, char *data, size_t capacity, struct tr_text text);

/* How many fields are the key of a record's row; 0: rows are only ever added. */
uint16_t tr_row_key_count(const struct tr_schema *schema);

/*
 * The bytes of the first `count` fields of a packed row, behind the header of its array. Rows of
 * one schema have equal keys just when these bytes are equal, and mostly the order of the keys is
 * theirs (text is ordered by size first). Errors: those of reading.
 */
TR_MUST_USE int tr_row_key_bytes(struct tr_bytes row, uint16_t count, struct tr_bytes *key);

/* For tr_schema's functions: what a body's array must hold for this version. */
uint16_t tri_fields_of_version(const struct tr_schema *schema, uint8_t version);

/* Begins to read a body: checks the version and the number of fields. */
struct tr_cursor tri_body_begin(const struct tr_schema *schema, struct tr_bytes body,
                                uint8_t version);

/* Ends it: nothing may be left over. */
TR_MUST_USE int tri_body_end(const struct tr_cursor *cursor);

/* Array fields on the wire; a size above the capacity is TR_INVALID. */
void tri_write_array_text(struct tr_writer *writer, const char *data, size_t capacity,
                          uint16_t size);
void tri_write_array_bytes(struct tr_writer *writer, const char *data, size_t capacity,
                           uint16_t size);
void tri_read_array_text(struct tr_cursor *cursor, char *data, size_t capacity, uint16_t *size);
void tri_read_array_bytes(struct tr_cursor *cursor, char *data, size_t capacity, uint16_t *size);

/* Content beside the bound of a field's kind. */
#define TRI_CONTENT_bool(value) 0
#define TRI_CONTENT_u8(value) 0
#define TRI_CONTENT_u16(value) 0
#define TRI_CONTENT_u32(value) 0
#define TRI_CONTENT_u64(value) 0
#define TRI_CONTENT_i64(value) 0
#define TRI_CONTENT_f64(value) 0
#define TRI_CONTENT_key(value) 0
#define TRI_CONTENT_ref(value) 0
#define TRI_CONTENT_text(value) (value).size
#define TRI_CONTENT_bytes(value) (value).size
#define TRI_CONTENT_any(value) (value).size

/* The types and bounds of the kinds, by name. */
enum tri_kind_bytes {
#define TRI_KIND_BYTES(kind, type, size) TRI_BYTES_##kind = (size),
    TR_FIELD_KINDS(TRI_KIND_BYTES)
#undef TRI_KIND_BYTES
};
#define TRI_KIND_TYPE(kind, type, size) typedef type tri_type_##kind;
TR_FIELD_KINDS(TRI_KIND_TYPE)
#undef TRI_KIND_TYPE

/* The expansions of one field. */
#define TRI_STRUCT_FIELD(kind, name, since, marks) tri_type_##kind name;
#define TRI_STRUCT_ARRAY(kind, name, capacity, since, marks)     \
    _Static_assert((capacity) >= 1 && (capacity) <= UINT16_MAX,  \
                   "an array's capacity is counted in 16 bits"); \
    TRI_ARRAY_STRUCT(capacity) name;
#define TRI_SIZE_FIELD(kind, name, since, marks) +TRI_BYTES_##kind + TRI_CONTENT_##kind(value->name)
#define TRI_SIZE_ARRAY(kind, name, capacity, since, marks) \
    +TR_BLOB_HEADER_BYTES_MAX + (size_t)value->name.size
#define TRI_PACK_FIELD(kind, name, since, marks) tr_write_##kind(writer, value->name);
#define TRI_PACK_ARRAY(kind, name, capacity, since, marks) \
    tri_write_array_##kind(writer, value->name.data, (capacity), value->name.size);
#define TRI_UNPACK_FIELD(kind, name, since, marks) \
    if (version >= (since)) {                      \
        value.name = tr_read_##kind(&cursor);      \
    }
#define TRI_UNPACK_ARRAY(kind, name, capacity, since, marks)                           \
    if (version >= (since)) {                                                          \
        tri_read_array_##kind(&cursor, value.name.data, (capacity), &value.name.size); \
    }
#define TRI_COUNT_FIELD(kind, name, since, marks) +1
#define TRI_COUNT_ARRAY(kind, name, capacity, since, marks) +1

/* Makes the struct and declares the functions and the schema of one definition. */
#define TR_SCHEMA_DECLARE(name, FIELDS)                                                        \
    struct tr_##name {                                                                         \
        FIELDS(TRI_STRUCT_FIELD, TRI_STRUCT_ARRAY)                                             \
    };                                                                                         \
    extern const struct tr_schema tr_##name##_schema;                                          \
    TR_MUST_USE int tr_##name##_pack(const struct tr_##name *value, struct tr_writer *writer); \
    TR_MUST_USE int tr_##name##_unpack(struct tr_bytes body, uint8_t version,                  \
                                       struct tr_##name *value);

/* Describes a field; `tri_self` is the struct's type inside the function that holds the table. */
#define TRI_DESCRIBE_FIELD(kind, name, since, marks) \
    {#name, TR_FIELD_##kind, (since), (marks), (uint32_t)offsetof(tri_self, name), 0},
#define TRI_DESCRIBE_ARRAY(kind, name, capacity, since, marks) \
    {#name,                                                    \
     TR_FIELD_##kind,                                          \
     (since),                                                  \
     (marks) | TRI_ARRAY_MARK,                                 \
     (uint32_t)offsetof(tri_self, name),                       \
     (capacity)},

/* Makes the functions and the schema of one definition; in one .c file. */
#define TR_SCHEMA_DEFINE(schema_name, schema_id, schema_role, schema_version, schema_marks,       \
                         FIELDS)                                                                  \
    _Static_assert((schema_id) >= 1 && (schema_id) <= UINT16_MAX, "ids have 16 bits, 0 is none"); \
    _Static_assert((schema_version) >= 1 && (schema_version) <= UINT8_MAX,                        \
                   "versions have 8 bits");                                                       \
    static const struct tr_field *tri_##schema_name##_fields(void)                                \
    {                                                                                             \
        typedef struct tr_##schema_name tri_self __attribute__((unused));                         \
        static const struct tr_field fields[] = {FIELDS(TRI_DESCRIBE_FIELD, TRI_DESCRIBE_ARRAY)}; \
        return fields;                                                                            \
    }                                                                                             \
    static size_t tri_##schema_name##_size_max(const void *generic)                               \
    {                                                                                             \
        const struct tr_##schema_name *value = generic;                                           \
        (void)value;                                                                              \
        return 3 FIELDS(TRI_SIZE_FIELD, TRI_SIZE_ARRAY);                                          \
    }                                                                                             \
    int tr_##schema_name##_pack(const struct tr_##schema_name *value, struct tr_writer *writer)   \
    {                                                                                             \
        (void)value;                                                                              \
        tr_write_array(writer, 0 FIELDS(TRI_COUNT_FIELD, TRI_COUNT_ARRAY));                       \
        FIELDS(TRI_PACK_FIELD, TRI_PACK_ARRAY)                                                    \
        return writer->error;                                                                     \
    }                                                                                             \
    int tr_##schema_name##_unpack(struct tr_bytes body, uint8_t version,                          \
                                  struct tr_##schema_name *out)                                   \
    {                                                                                             \
        struct tr_##schema_name value = {};                                                       \
        struct tr_cursor cursor = tri_body_begin(&tr_##schema_name##_schema, body, version);      \
        FIELDS(TRI_UNPACK_FIELD, TRI_UNPACK_ARRAY)                                                \
        int error = tri_body_end(&cursor);                                                        \
        if (error == 0) {                                                                         \
            *out = value;                                                                         \
        }                                                                                         \
        return error;                                                                             \
    }                                                                                             \
    static int tri_##schema_name##_pack_any(const void *value, struct tr_writer *writer)          \
    {                                                                                             \
        return tr_##schema_name##_pack(value, writer);                                            \
    }                                                                                             \
    static int tri_##schema_name##_unpack_any(struct tr_bytes body, uint8_t version, void *value) \
    {                                                                                             \
        return tr_##schema_name##_unpack(body, version, value);                                   \
    }                                                                                             \
    const struct tr_schema tr_##schema_name##_schema = {                                          \
        .name = #schema_name,                                                                     \
        .id = (schema_id),                                                                        \
        .role = (schema_role),                                                                    \
        .version = (schema_version),                                                              \
        .marks = (schema_marks),                                                                  \
        .field_count = 0 FIELDS(TRI_COUNT_FIELD, TRI_COUNT_ARRAY),                                \
        .struct_size = sizeof(struct tr_##schema_name),                                           \
        .fields = tri_##schema_name##_fields,                                                     \
        .size_max = tri_##schema_name##_size_max,                                                 \
        .pack = tri_##schema_name##_pack_any,                                                     \
        .unpack = tri_##schema_name##_unpack_any,                                                 \
    };

/* The same two from one row of a list: (name, id, role, version, marks, FIELDS). */
#define TR_SCHEMA_DECLARE_ROW(name, id, role, version, marks, FIELDS) \
    TR_SCHEMA_DECLARE(name, FIELDS)
#define TR_SCHEMA_POINTER_ROW(name, id, role, version, marks, FIELDS) &tr_##name##_schema,

#endif
