/*
 * Writing a value in pieces. Only lists are taken apart, and only the outermost: that is what large
 * values are made of.
 *
 * A list of a million elements is checked and written element by element: memory is bounded by one
 * element and GATHER_BYTES, not by the list. The price is that a malformed element is found when a
 * part of the list has been written already. Every other value goes through tr_literal_json as a
 * whole, which checks before it writes.
 */
#include "actors/graph/value/literal_stream.h"

#include "actors/graph/document/limits.h"

#define GATHER_BYTES 65536U

struct stream {
    struct tr_buffer json;
    tr_literal_put *put;
    void *self;
};

/*
 * Hands on what was gathered and empties the buffer. An error of the buffer sticks there and comes
 * back from every later call.
 */
static int give(struct stream *stream)
{
    int error = stream->json.error;
    if (error == 0 && stream->json.size > 0) {
        error = stream->put(stream->self, tr_buffer_text(&stream->json));
        tr_buffer_cut(&stream->json, 0);
    }
    return error;
}

static int write_list(struct stream *stream, const struct tr_type *element, struct tr_bytes list)
{
    struct tr_cursor cursor = tr_cursor_of(list);
    uint32_t count = tr_read_array(&cursor);
    int error = cursor.error != 0 ? TR_MALFORMED : 0;
    tr_buffer_add_string(&stream->json, "[");
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        struct tr_bytes part = tr_read_any(&cursor);
        tr_buffer_add_string(&stream->json, i == 0 ? "" : ", ");
        error = cursor.error != 0 ? TR_MALFORMED : tr_literal_json(element, part, &stream->json);
        if (error == 0 && stream->json.size >= GATHER_BYTES) {
            error = give(stream);
        }
    }
    if (error != 0) {
        return error;
    }
    tr_buffer_add_string(&stream->json, "]");
    return tr_cursor_left(&cursor) > 0 ? TR_MALFORMED : 0;
}

int tr_literal_stream(const struct tr_type *type, struct tr_bytes value, tr_literal_put *put,
                      void *self)
{
    struct stream stream = {.put = put, .self = self};
    tr_buffer_init(&stream.json, TR_GRAPH_BYTES_MAX);
    int error = type != NULL && type->kind == TR_TYPE_LIST
                    ? write_list(&stream, type->parts[0], value)
                    : tr_literal_json(type, value, &stream.json);
    /* What `put` has refused once is not offered again, and a list that is cut off not closed. */
    if (error == 0) {
        error = give(&stream);
    }
    tr_buffer_fini(&stream.json);
    return error;
}
