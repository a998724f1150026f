/*
 * The value of one field, whatever its kind: how bodies are read by a schema that is known only as
 * a table, such as printers and the tables of a store.
 *
 *     struct tr_cursor cursor = tri_body_begin(schema, body, version);
 *     for (uint16_t i = 0; i < tri_fields_of_version(schema, version); i++) {
 *         struct tr_value value = tr_value_read(&cursor, &schema->fields()[i]);
 *         ...
 *     }
 *     return tri_body_end(&cursor);
 *
 * Nothing here allocates; views point into the body. Any thread may call it on data of its own.
 */
#ifndef TR_SCHEMAS_CODEC_VALUE_H
#define TR_SCHEMAS_CODEC_VALUE_H

#include "schemas/codec/field.h"

/* The member that counts follows from the kind, as each says. */
struct tr_value {
    enum tr_field_kind kind;
    union {
        bool truth;            /* bool */
        uint64_t number;       /* u8, u16, u32, u64 */
        int64_t signed_number; /* i64 */
        double real;           /* f64 */
        struct tr_key key;     /* key */
        struct tr_ref ref;     /* ref */
        struct tr_text text;   /* text */
        struct tr_bytes bytes; /* bytes, and any: one whole msgpack value */
    } as;
};

/* Reads a field as its schema's unpack does; faults stay in the cursor. */
struct tr_value tr_value_read(struct tr_cursor *cursor, const struct tr_field *field);

/*
 * The bytes that a value holds: its content for text, bytes and any, the size of its C type for
 * all others, so that it says nothing about the value.
 */
size_t tr_value_size(const struct tr_value *value);

/*
 * Checks a body from end to end exactly as the schema's unpack does, with the same errors. Unless
 * it is fine, `*field` becomes the number of the first field that is not, which is the number of
 * fields where none of them is to blame.
 */
TR_MUST_USE int tr_body_check(const struct tr_schema *schema, uint8_t version, struct tr_bytes body,
                              uint16_t *field);

#endif
