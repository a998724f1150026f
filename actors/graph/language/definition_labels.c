/*
 * Labels of workflows and launch plans: a mapping in the file, one text in the graph.
 *
 * Values are read as they are written, so that `tier: 1` and `beta: true` are labels with the texts
 * `1` and `true`, which they are in Kubernetes only with quotes.
 */
#include "actors/graph/document/labels.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/language/keys.h"

/* A scalar is text, but not one with nothing behind its key. */
static bool is_value(const struct tr_tree *tree)
{
    return tr_tree_is_text(tree) && !tr_tree_is_empty(tree) && tr_label_value_is_good(tree->text);
}

static bool read_label(struct tri_definition *definition, const struct tr_pair *pair,
                       struct tr_label *label)
{
    struct tr_text key = pair->key->text;
    if (!tr_label_key_is_good(key)) {
        tri_report_add(definition->report, pair->key->place, "InvalidValue",
                       "'%.*s' is no key of a label\n" TR_LABEL_KEY_REMEDY, TRI_SHOWN(key));
        return false;
    }
    if (!is_value(pair->value)) {
        bool is_shown = tr_tree_is_text(pair->value) && !tr_tree_is_empty(pair->value);
        struct tr_text value =
            is_shown ? tr_arena_print(definition->scratch, "'%.*s'", TRI_SHOWN(pair->value->text))
                     : tr_text_of(tr_tree_noun(pair->value));
        tri_report_add(definition->report, pair->value->place, "InvalidValue",
                       "%.*s is no value of the label '%.*s'\n" TR_LABEL_VALUE_REMEDY,
                       TRI_TEXT(value), TRI_SHOWN(key));
        return false;
    }
    *label = (struct tr_label){.key = key, .value = pair->value->text};
    return true;
}

/* YAML refuses repeated keys, so that nothing but the limits is in the way. */
static bool print_labels(struct tri_definition *definition, const struct tr_tree *tree,
                         struct tr_label *items, uint32_t count, struct tr_text *labels)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    int error = tr_labels_print(items, count, &text);
    if (error == TR_LIMIT) {
        tri_report_add(definition->report, tree->place, "InvalidValue",
                       "there are too many labels\nwrite at most %u, of %u bytes in all",
                       TR_LABELS_MAX, TR_LABELS_BYTES_MAX);
    } else if (error == 0) {
        *labels = tr_arena_text(definition->arena, tr_buffer_text(&text));
    } else if (definition->arena->error == 0) {
        definition->arena->error = error;
    }
    tr_buffer_fini(&text);
    return error == 0;
}

bool tri_keys_read_labels(struct tri_definition *definition, const struct tr_tree *tree,
                          struct tr_text *labels)
{
    uint32_t count = 0;
    if (!tri_keys_expect_map(definition, tree, "labels")) {
        return false;
    }
    struct tr_label *items = tr_arena_array(definition->scratch, tree->count, sizeof *items);
    for (uint32_t i = 0; items != NULL && i < tree->count; i++) {
        count += read_label(definition, &tree->pairs[i], &items[count]) ? 1 : 0;
    }
    return items != NULL && count == tree->count &&
           print_labels(definition, tree, items, count, labels);
}
