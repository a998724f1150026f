/*
 * JSON and packed values, for plugins: objects are maps in the order in which they are written.
 */
#include "actors/graph/buffer.h"
#include "actors/graph/json.h"
#include "actors/refresh.h"
#include "schemas/print.h"

static void write_tree(struct tr_buffer *buffer, const struct tr_tree *tree);

static void write_list(struct tr_buffer *buffer, const struct tr_tree *list)
{
    tr_buffer_array(buffer, list->count);
    for (uint32_t i = 0; i < list->count; i++) {
        write_tree(buffer, list->items[i]);
    }
}

static void write_map(struct tr_buffer *buffer, const struct tr_tree *map)
{
    tr_buffer_map(buffer, map->count);
    for (uint32_t i = 0; i < map->count; i++) {
        write_tree(buffer, map->pairs[i].key);
        write_tree(buffer, map->pairs[i].value);
    }
}

/* The reader of JSON has bounded how deep it goes. */
static void write_tree(struct tr_buffer *buffer, const struct tr_tree *tree)
{
    switch (tree->kind) {
    case TR_TREE_PLAIN:
    case TR_TREE_STRING:
        tr_buffer_text_value(buffer, tree->text);
        return;
    case TR_TREE_INT:
        tr_buffer_i64(buffer, tree->integer);
        return;
    case TR_TREE_FLOAT:
        tr_buffer_f64(buffer, tree->number);
        return;
    case TR_TREE_BOOL:
        tr_buffer_bool(buffer, tree->boolean);
        return;
    case TR_TREE_LIST:
        write_list(buffer, tree);
        return;
    case TR_TREE_MAP:
        write_map(buffer, tree);
        return;
    default:
        tr_buffer_nil(buffer);
    }
}

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

int tri_json_to_value(struct tr_arena *arena, struct tr_bytes json, struct tr_bytes *value)
{
    struct tr_text text = {.data = (const char *)json.data, .size = json.size};
    struct tr_report report;
    struct tr_buffer buffer;
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(arena, &report, 0, text);
    tr_report_fini(&report);
    if (tree == NULL) {
        return arena->error != 0 ? arena->error : TR_INVALID;
    }
    tr_buffer_init(&buffer, TR_MESSAGE_BYTES_MAX * 4);
    write_tree(&buffer, tree);
    return keep(arena, &buffer, value);
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
