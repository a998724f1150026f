/*
 * Trees as text again: a tree that was built in memory, as from a graph of Flyte's
 * (flyte/flyte_graph.c), goes through the same reader and compiler as a file. The values of
 * mappings begin lines of their own, so that errors of the compiler have places.
 *
 * The output is YAML in flow style. A plain scalar is written bare, since its meaning depends on
 * the type of its place, and quotes would make it text for good; builders make only plain scalars
 * that are valid in flow style. Keys are always quoted: a quoted key is the same key, and `<<` in
 * quotes is no merge.
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
        tr_buffer_add_text(buffer, tree->text);
        break;
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
    }
}
