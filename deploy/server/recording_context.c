/*
 * References of the actors that serve all executions, in an array.
 */
#include "deploy/server/recording_context.h"

struct tr_bytes tr_recording_context_pack(const struct tr_engine *engine,
                                          uint8_t buffer[TR_RECORDING_CONTEXT_BYTES])
{
    struct tr_writer writer = tr_writer_of(buffer, TR_RECORDING_CONTEXT_BYTES);
    tr_write_array(&writer, 2 + (uint32_t)engine->endpoint_count);
    tr_write_ref(&writer, engine->resources);
    tr_write_ref(&writer, engine->catalog);
    for (size_t i = 0; i < engine->endpoint_count; i++) {
        tr_write_ref(&writer, engine->endpoints[i].refresh);
    }
    TR_ASSERT(writer.error == 0); /* the bound is ours */
    return (struct tr_bytes){.data = buffer, .size = tr_writer_size(&writer)};
}

int tr_recording_context_unpack(struct tr_bytes bytes, struct tr_engine *engine)
{
    struct tr_cursor cursor = tr_cursor_of(bytes);
    if (bytes.size == 0 || tr_read_nil(&cursor)) {
        return 0;
    }
    uint32_t count = tr_read_array(&cursor);
    bool is_known = count >= 2;
    struct tr_ref resources = is_known ? tr_read_ref(&cursor) : (struct tr_ref){0};
    struct tr_ref catalog = is_known ? tr_read_ref(&cursor) : (struct tr_ref){0};
    if (cursor.error != 0 || !is_known) {
        return cursor.error != 0 ? cursor.error : TR_MALFORMED;
    }
    engine->resources = resources;
    engine->catalog = catalog;
    for (size_t i = 0; i < engine->endpoint_count && count == 2 + engine->endpoint_count; i++) {
        engine->endpoints[i].refresh = tr_read_ref(&cursor);
    }
    return cursor.error;
}
