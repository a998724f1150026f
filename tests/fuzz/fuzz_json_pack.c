/*
 * Any bytes as JSON, packed at once and by way of a tree: both refuse them, or both give the same
 * value. Trees nest deeper.
 */
#include "actors/graph/document/buffer.h"
#include "actors/graph/document/json.h"
#include "schemas/codec/print.h"
#include "tests/fuzz/fuzz.h"

static void write_tree(struct tr_buffer *buffer, const struct tr_tree *tree, uint32_t *depth)
{
    uint32_t below = 0;
    switch (tree->kind) {
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
    case TR_TREE_NULL:
        tr_buffer_nil(buffer);
        return;
    default:
        break;
    }
    bool is_map = tree->kind == TR_TREE_MAP;
    (is_map ? tr_buffer_map : tr_buffer_array)(buffer, tree->count);
    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t at = 0;
        if (is_map) {
            tr_buffer_text_value(buffer, tree->pairs[i].key->text);
        }
        write_tree(buffer, is_map ? tree->pairs[i].value : tree->items[i], &at);
        below = at > below ? at : below;
    }
    *depth = below + 1;
}

static size_t print(struct tr_bytes value, char *text, size_t size)
{
    struct tr_sink sink = tr_sink_of(text, size);
    tr_print_any(&sink, TR_PRINT_JSON, value);
    TR_ASSERT(!sink.truncated);
    return tr_sink_text(&sink).size;
}

/* Both as JSON: their heads may differ. */
static void check_same(struct tr_arena *arena, struct tr_bytes packed, struct tr_bytes expected)
{
    size_t size = 64 + 32 * expected.size;
    char *one = tr_arena_alloc(arena, size);
    char *other = tr_arena_alloc(arena, size);
    TR_ASSERT(one != NULL && other != NULL);
    size_t length = print(packed, one, size);
    TR_ASSERT(length == print(expected, other, size) && memcmp(one, other, length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_bytes json = {.data = data, .size = size};
    struct tr_bytes packed = {0};
    struct tr_arena arena;
    struct tr_report report;
    struct tr_buffer buffer;
    uint32_t depth = 0;
    tr_arena_init(&arena);
    tr_report_init(&report);
    tr_buffer_init(&buffer, 0);
    const struct tr_tree *tree =
        tr_json_read(&arena, &report, 0, (struct tr_text){(const char *)data, size});
    int error = tr_json_pack(&arena, json, &packed);
    if (tree != NULL) {
        write_tree(&buffer, tree, &depth);
    }
    if (error == 0) {
        struct tr_cursor cursor = tr_cursor_of(packed);
        TR_ASSERT(tr_read_any(&cursor).size == packed.size);
        TR_ASSERT(tree != NULL);
        check_same(&arena, packed, tr_buffer_bytes(&buffer));
    }
    TR_ASSERT(error == 0 || (error == TR_INVALID && (tree == NULL || depth > TR_NESTING_MAX)));
    tr_buffer_fini(&buffer);
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    return 0;
}
