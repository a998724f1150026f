/*
 * Values and messages out of a resource's tree.
 */
#include <stdlib.h>

#include "actors/graph/flyte/flyte_message.h"
#include "actors/graph/flyteworkflow/flyteworkflow_inside.h"

/* ------------------------------------------------------------------ what is wrong */

/* Says what is wrong with what is told of now: false. */
bool tri_flyteworkflow_refuse(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                              const char *code, const char *words)
{
    tri_report_add(resource->report, tree->place, code, "%s", words);
    return false;
}

/* Begins to tell of a part; returns what was told of before, for tri_report_subject. */
struct tr_text tri_flyteworkflow_enter(struct tri_flyteworkflow *resource, struct tr_text name)
{
    struct tr_text whole = resource->report->subject;
    struct tr_text inner = whole.size == 0 ? name
                                           : tr_arena_print(resource->arena, "%.*s.%.*s",
                                                            TRI_TEXT(whole), TRI_TEXT(name));
    return tri_report_subject(resource->report, inner);
}

/* Whether a key is there and has a value. */
bool tri_flyteworkflow_has_value(const struct tr_tree *tree)
{
    return tree != NULL && tr_tree_resolve(tree).kind != TR_TREE_NULL;
}

/* A part that has to be a mapping, if it is there. NULL: it is not. */
const struct tr_tree *tri_flyteworkflow_find_map(struct tri_flyteworkflow *resource,
                                                 const struct tr_tree *tree, const char *key)
{
    const struct tr_tree *found = tr_tree_find(tree, key);
    if (!tri_flyteworkflow_has_value(found) || found->kind == TR_TREE_MAP) {
        return tri_flyteworkflow_has_value(found) ? found : NULL;
    }
    struct tr_text before = tri_flyteworkflow_enter(resource, tr_text_of(key));
    (void)tri_flyteworkflow_refuse(resource, found, "InvalidValue",
                                   "this is no mapping\nwrite it as Flyte does");
    (void)tri_report_subject(resource->report, before);
    return NULL;
}

/* ------------------------------------------------------------------ tables */

static int by_key(const void *left, const void *right)
{
    const struct tr_pair *const *a = left;
    const struct tr_pair *const *b = right;
    return tr_text_order((*a)->key->text, (*b)->key->text);
}

struct tri_flyteworkflow_table tri_flyteworkflow_table_of(struct tri_flyteworkflow *resource,
                                                          const struct tr_tree *map)
{
    struct tri_flyteworkflow_table table = {.count = map == NULL ? 0 : map->count};
    table.pairs = tr_arena_array(resource->arena, table.count, sizeof(void *));
    if (table.pairs == NULL) {
        return (struct tri_flyteworkflow_table){.count = 0};
    }
    for (uint32_t i = 0; i < table.count; i++) {
        table.pairs[i] = &map->pairs[i];
    }
    if (table.count > 1) {
        qsort((void *)table.pairs, table.count, sizeof(void *), by_key);
    }
    return table;
}

/* Where a key stands; UINT32_MAX: it does not. */
uint32_t tri_flyteworkflow_find(const struct tri_flyteworkflow_table *table, struct tr_text name)
{
    const struct tr_tree key = {.kind = TR_TREE_STRING, .text = name};
    const struct tr_pair wanted = {.key = &key};
    const struct tr_pair *at = &wanted;
    const struct tr_pair **found = table->count == 0
                                       ? NULL
                                       : bsearch((const void *)&at, (const void *)table->pairs,
                                                 table->count, sizeof(void *), by_key);
    return found == NULL ? UINT32_MAX : (uint32_t)(found - table->pairs);
}

/* ------------------------------------------------------------------ values */

/* A tree whose plain scalars have the kinds that JSON would give them. NULL without memory. */
static struct tr_tree *resolve(struct tr_arena *arena, const struct tr_tree *tree)
{
    struct tr_tree *made = tr_arena_alloc(arena, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    *made = tree->kind == TR_TREE_PLAIN ? tr_tree_resolve(tree) : *tree;
    if (tree->kind == TR_TREE_LIST) {
        made->items = tr_arena_array(arena, tree->count, sizeof(void *));
        for (uint32_t i = 0; made->items != NULL && i < tree->count; i++) {
            made->items[i] = resolve(arena, tree->items[i]);
        }
    } else if (tree->kind == TR_TREE_MAP) {
        struct tr_pair *pairs = tr_arena_array(arena, tree->count, sizeof *pairs);
        for (uint32_t i = 0; pairs != NULL && i < tree->count; i++) {
            pairs[i] = (struct tr_pair){.key = tree->pairs[i].key,
                                        .value = resolve(arena, tree->pairs[i].value)};
        }
        made->pairs = pairs;
    }
    return arena->error != 0 ? NULL : made;
}

/* A message of Flyte's from its JSON. NULL: it is told, or memory ended. */
void *tri_flyteworkflow_message(struct tri_flyteworkflow *resource,
                                const ProtobufCMessageDescriptor *descriptor,
                                const struct tr_tree *tree)
{
    char problem[TR_FLYTE_PROBLEM_BYTES];
    const struct tr_tree *resolved = resolve(resource->arena, tree);
    ProtobufCMessage *message = tri_flyte_new(resource->arena, descriptor);
    if (message == NULL || resolved == NULL ||
        tri_flyte_read_tree(resource->arena, message, resolved, problem) == 0) {
        return resolved == NULL ? NULL : message;
    }
    if (resource->arena->error == 0) {
        tri_report_add(resource->report, tree->place, "InvalidValue",
                       "this is no %s of Flyte's: %s", descriptor->short_name, problem);
    }
    return NULL;
}

bool tri_flyteworkflow_text(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                            char **text)
{
    int error = 0;
    char *read =
        tr_tree_is_text(tree) ? tri_flyte_string(resource->arena, tree->text, &error) : NULL;
    if (read == NULL) {
        return tri_flyteworkflow_refuse(resource, tree, "InvalidValue",
                                        "this is no text\nwrite it as Flyte does");
    }
    *text = read;
    return true;
}

/* A number that is not less than 0; a ratio is at most 1. */
bool tri_flyteworkflow_number(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                              double max, double *number)
{
    struct tr_tree value = tr_tree_resolve(tree);
    double found = value.kind == TR_TREE_INT     ? (double)value.integer
                   : value.kind == TR_TREE_FLOAT ? value.number
                                                 : -1;
    if (!(found >= 0 && found <= max)) {
        return tri_flyteworkflow_refuse(resource, tree, "InvalidValue",
                                        "this is no number that fits\nwrite it as Flyte does");
    }
    *number = found;
    return true;
}

bool tri_flyteworkflow_bool(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                            protobuf_c_boolean *value)
{
    struct tr_tree found = tr_tree_resolve(tree);
    if (found.kind != TR_TREE_BOOL) {
        return tri_flyteworkflow_refuse(resource, tree, "InvalidValue",
                                        "this is no bool\nwrite true or false");
    }
    *value = found.boolean;
    return true;
}

/* A list of messages; NULL and `count` 0 when there is none of them. */
void **tri_flyteworkflow_messages(struct tri_flyteworkflow *resource,
                                  const ProtobufCMessageDescriptor *descriptor,
                                  const struct tr_tree *tree, size_t *count)
{
    if (tree->kind != TR_TREE_LIST) {
        (void)tri_flyteworkflow_refuse(resource, tree, "InvalidValue",
                                       "this is no list\nwrite it as Flyte does");
        return NULL;
    }
    void **items = tr_arena_array(resource->arena, tree->count, sizeof(void *));
    for (uint32_t i = 0; items != NULL && i < tree->count; i++) {
        items[*count] = tri_flyteworkflow_message(resource, descriptor, tree->items[i]);
        *count += items[*count] != NULL ? 1 : 0;
    }
    return items;
}
