/*
 * A packed value as JSON, for the requests of plugins.
 */
#include "actors/graph/document/buffer.h"
#include "actors/refresh.h"
#include "schemas/codec/print.h"

/* What a buffer holds as bytes of the arena; the buffer is freed. */
static int keep(struct tr_arena *arena, struct tr_buffer *buffer, struct tr_bytes *bytes)
{
    int error = buffer->error;
    struct tr_bytes copy = {0};
    if (error == 0) {
        copy = tr_arena_bytes(arena, tr_buffer_bytes(buffer));
        error = arena->error;
    }
    tr_buffer_fini(buffer);
    *bytes = error == 0 ? copy : *bytes;
    return error;
}

static int add_text(void *self, struct tr_text text)
{
    struct tr_buffer *buffer = self;
    tr_buffer_add_text(buffer, text);
    return buffer->error;
}

int tri_json_of_value(struct tr_arena *arena, struct tr_bytes value, struct tr_bytes *json)
{
    char room[1024];
    struct tr_buffer buffer;
    struct tr_cursor cursor = tr_cursor_of(value);
    (void)tr_read_any(&cursor);
    if (cursor.error != 0 || tr_cursor_left(&cursor) != 0) {
        return TR_INVALID;
    }
    tr_buffer_init(&buffer, TR_MESSAGE_BYTES_MAX);
    struct tr_sink sink = tr_sink_flushing(room, sizeof room, add_text, &buffer);
    tr_print_any(&sink, TR_PRINT_JSON, value);
    tr_sink_flush(&sink);
    return keep(arena, &buffer, json);
}
