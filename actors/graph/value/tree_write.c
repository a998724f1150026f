/*
 * Trees as JSON, such as that of a message of Flyte's (flyte/flyte_message.h).
 */
#include "actors/graph/document/tree.h"
#include "actors/graph/value/literal.h"

static void write_list(const struct tr_tree *tree, struct tr_buffer *buffer)
{
    tr_buffer_add_string(buffer, "[");
    for (uint32_t i = 0; i < tree->count; i++) {
        tr_buffer_add_string(buffer, i == 0 ? "" : ", ");
        tr_tree_write(tree->items[i], buffer);
    }
    tr_buffer_add_string(buffer, "]");
}

static void write_map(const struct tr_tree *tree, struct tr_buffer *buffer)
{
    tr_buffer_add_string(buffer, "{");
    for (uint32_t i = 0; i < tree->count; i++) {
        tr_buffer_add_string(buffer, i == 0 ? "" : ",\n");
        tri_text_write(tree->pairs[i].key->text, buffer);
        tr_buffer_add_string(buffer, ": ");
        tr_tree_write(tree->pairs[i].value, buffer);
    }
    tr_buffer_add_string(buffer, "}");
}

void tr_tree_write(const struct tr_tree *tree, struct tr_buffer *buffer)
{
    switch ((enum tr_tree_kind)tree->kind) {
    case TR_TREE_PLAIN:
    case TR_TREE_STRING:
        tri_text_write(tree->text, buffer);
        break;
    case TR_TREE_INT:
        tr_buffer_print(buffer, "%lld", (long long)tree->integer);
        break;
    case TR_TREE_FLOAT:
        tri_number_write(tree->number, buffer);
        break;
    case TR_TREE_BOOL:
        tr_buffer_add_string(buffer, tree->boolean ? "true" : "false");
        break;
    case TR_TREE_NULL:
        tr_buffer_add_string(buffer, "null");
        break;
    case TR_TREE_LIST:
        write_list(tree, buffer);
        break;
    case TR_TREE_MAP:
        write_map(tree, buffer);
        break;
    case TR_TREE_REFERENCE:
        TR_ASSERT(false);
    }
}
