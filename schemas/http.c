/*
 * The functions of the http service's messages, made from their one definition in http.h.
 */
#include "schemas/http.h"

#include <string.h>

TR_HTTP_SCHEMAS(TR_SCHEMA_DEFINE)

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
