/*
 * The functions of the http service's messages, made from their one definition in http.h.
 */
#include "schemas/runtime/http.h"

#include <string.h>

TR_HTTP_SCHEMAS(TR_SCHEMA_DEFINE)

int tr_http_secrets_pack(const struct tr_http_secret *secrets, size_t count,
                         struct tr_writer *writer)
{
    tr_write_array(writer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        tr_write_array(writer, 6);
        tr_write_u8(writer, secrets[i].kind);
        tr_write_text(writer, secrets[i].header);
        tr_write_text(writer, secrets[i].prefix);
        tr_write_text(writer, secrets[i].group);
        tr_write_text(writer, secrets[i].key);
        tr_write_text(writer, secrets[i].version);
    }
    return writer->error;
}

uint32_t tr_http_secrets_begin(struct tr_bytes packed, struct tr_cursor *cursor)
{
    *cursor = tr_cursor_of(packed);
    if (packed.size == 0 || tr_read_nil(cursor)) {
        return 0;
    }
    return tr_read_array(cursor);
}

struct tr_http_secret tr_http_secret_next(struct tr_cursor *cursor)
{
    struct tr_http_secret secret = {.kind = 0};
    if (tr_read_array(cursor) != 6) {
        tr_cursor_fail(cursor, TR_MALFORMED);
    }
    secret.kind = tr_read_u8(cursor);
    secret.header = tr_read_text(cursor);
    secret.prefix = tr_read_text(cursor);
    secret.group = tr_read_text(cursor);
    secret.key = tr_read_text(cursor);
    secret.version = tr_read_text(cursor);
    return secret;
}

bool tr_http_line_next(struct tr_bytes *rest, struct tr_bytes *line)
{
    if (rest->size == 0) {
        return false;
    }
    const uint8_t *end = memchr(rest->data, '\n', rest->size);
    size_t size = end != NULL ? (size_t)(end - rest->data) : rest->size;
    size_t taken = end != NULL ? size + 1 : size;
    bool has_return = size > 0 && rest->data[size - 1] == '\r';
    *line = (struct tr_bytes){.data = rest->data, .size = has_return ? size - 1 : size};
    *rest = (struct tr_bytes){.data = rest->data + taken, .size = rest->size - taken};
    return true;
}
