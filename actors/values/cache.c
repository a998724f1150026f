/*
 * Keys and documents of the cache. Both are msgpack arrays that begin with a number of their form:
 * a change of what a key is made from makes all older documents unfindable, which is right.
 */
#include "actors/values/cache.h"

#include <string.h>

#include "actors/graph/compiled/pack.h"

/*
 * Raised when the key is made from anything else: old results are then computed again, never
 * confused.
 */
#define KEY_FORM 1
#define DOCUMENT_FORM 1

static void write_variables(const struct tr_variables *variables, struct tr_buffer *buffer)
{
    struct tr_buffer type;
    tr_buffer_init(&type, 0);
    tr_buffer_array(buffer, 2 * variables->count);
    for (uint32_t i = 0; i < variables->count; i++) {
        tr_buffer_cut(&type, 0);
        tr_type_print(variables->items[i].type, &type);
        tr_buffer_text_value(buffer, variables->items[i].name);
        tr_buffer_text_value(buffer, tr_buffer_text(&type));
    }
    if (buffer->error == 0) {
        buffer->error = type.error;
    }
    tr_buffer_fini(&type);
}

/*
 * Everything is written with its size or its count in front, so no two different lists of parts
 * give the same bytes.
 */
int tr_cache_key(const struct tr_graph *graph, const struct tr_task *task,
                 const struct tr_settings *settings, struct tr_bytes inputs,
                 uint8_t key[TR_CACHE_KEY_BYTES])
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_buffer_array(&buffer, 8);
    tr_buffer_u64(&buffer, KEY_FORM);
    tr_buffer_text_value(&buffer, graph->project);
    tr_buffer_text_value(&buffer, graph->domain);
    tr_buffer_text_value(&buffer, task->name);
    tr_buffer_text_value(&buffer, settings->cache.version);
    write_variables(&task->interface.inputs, &buffer);
    write_variables(&task->interface.outputs, &buffer);
    tr_buffer_add(&buffer, inputs.data, inputs.size);
    int error = buffer.error;
    if (error == 0) {
        tr_digest(tr_buffer_bytes(&buffer), key);
    }
    tr_buffer_fini(&buffer);
    return error;
}

void tr_cache_path(struct tr_bytes key, char path[TR_CACHE_PATH_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    /*
     * Behind "cache/ab/". The first two digits are also the folder, which parts the documents into
     * 256.
     */
    char *at = path + 9;
    TR_ASSERT(key.size == TR_CACHE_KEY_BYTES);
    for (size_t i = 0; i < key.size; i++) {
        *at++ = digits[key.data[i] >> 4];
        *at++ = digits[key.data[i] & 15];
    }
    *at = '\0';
    memcpy(path, "cache/", 6);
    memcpy(path + 6, path + 9, 2);
    path[8] = '/';
}

int tr_cache_document_write(const struct tr_cache_document *document, struct tr_buffer *buffer)
{
    tr_buffer_array(buffer, 6);
    tr_buffer_u64(buffer, DOCUMENT_FORM);
    tr_buffer_bytes_value(buffer, document->key);
    tr_buffer_text_value(buffer, document->execution);
    tr_buffer_text_value(buffer, document->path);
    tr_buffer_u64(buffer, document->made_ms);
    tr_buffer_bytes_value(buffer, document->outputs);
    return buffer->error;
}

int tr_cache_document_read(struct tr_bytes bytes, struct tr_cache_document *document)
{
    struct tr_cursor cursor = tr_cursor_of(bytes);
    uint32_t count = tr_read_array(&cursor);
    uint64_t form = tr_read_u64(&cursor);
    /* Looked at first: a newer form may have other fields behind its number. */
    if (cursor.error == 0 && form > DOCUMENT_FORM) {
        return TR_VERSION;
    }
    struct tr_cache_document found = {0};
    /* One statement each: C does not say in which order an initializer list is evaluated. */
    found.key = tr_read_bytes(&cursor);
    found.execution = tr_read_text(&cursor);
    found.path = tr_read_text(&cursor);
    found.made_ms = tr_read_u64(&cursor);
    found.outputs = tr_read_bytes(&cursor);
    if (cursor.error != 0 || count != 6 || form == 0 || tr_cursor_left(&cursor) > 0) {
        return TR_MALFORMED;
    }
    *document = found;
    return 0;
}
