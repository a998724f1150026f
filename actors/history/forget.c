/*
 * Shares of rows that are forgotten: written where they were read, deleted in a handler.
 *
 * A share is a flat msgpack list in which a record's id and a row with nothing but its key
 * alternate. It is made by a thread that may read the store, and travels in a message to the actor
 * that deletes: a handler cannot read the store itself. Deleting a row that is gone is no error, so
 * a share may be handled again.
 */
#include "actors/history/forget.h"

#include <string.h>

#include "schemas/codec/error.h"
#include "schemas/engine/history.h"

/* What the fields of a row that are no key take, being empty. */
#define EMPTY_BYTES_MAX 256

static const struct tr_schema *find_record(uint64_t id)
{
    for (size_t i = 0; i < tr_history_schema_count; i++) {
        if (tr_history_schemas[i]->id == id) {
            return tr_history_schemas[i];
        }
    }
    return NULL;
}

/* A row's key with zeros behind it: the fields of the key are the first ones. */
static void take_key(const struct tr_schema *schema, const void *row, union tr_history_row *key)
{
    uint16_t count = tr_row_key_count(schema);
    size_t size =
        count < schema->field_count ? schema->fields()[count].offset : schema->struct_size;
    TR_ASSERT(schema->struct_size <= sizeof *key && count > 0);
    memset(key, 0, sizeof *key);
    memcpy(key, row, size);
}

int tr_forget_add(struct tr_buffer *rows, const struct tr_schema *schema, const void *row)
{
    union tr_history_row key;
    uint8_t packed[TR_ROW_KEY_BYTES_MAX + EMPTY_BYTES_MAX];
    struct tr_writer writer = tr_writer_of(packed, sizeof packed);
    take_key(schema, row, &key);
    int error = schema->pack(&key, &writer);
    if (error == 0) {
        struct tr_bytes bytes = {.data = packed, .size = tr_writer_size(&writer)};
        tr_buffer_u64(rows, schema->id);
        tr_buffer_bytes_value(rows, bytes);
        error = rows->error;
    }
    return error;
}

static int forget_row(struct tr_context *context, struct tr_cursor *cursor)
{
    union tr_history_row key;
    const struct tr_schema *schema = find_record(tr_read_u64(cursor));
    struct tr_bytes bytes = tr_read_bytes(cursor);
    if (cursor->error != 0 || schema == NULL || schema->struct_size > sizeof key) {
        return TR_MALFORMED;
    }
    int error = schema->unpack(bytes, schema->version, &key);
    return error != 0 ? error : tr_record_delete(context, schema, &key, tr_row_key_count(schema));
}

int tr_forget_rows(struct tr_context *context, struct tr_bytes rows)
{
    struct tr_cursor cursor = tr_cursor_of(rows);
    uint32_t count = tr_read_array(&cursor);
    int error = cursor.error != 0 || count % 2 != 0 ? TR_MALFORMED : 0;
    for (uint32_t i = 0; error == 0 && i < count / 2; i++) {
        error = forget_row(context, &cursor);
    }
    return error;
}
