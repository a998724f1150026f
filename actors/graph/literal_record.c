/*
 * Values that are paths, and values with fields of their own: files, directories, datasets, errors.
 *
 * A relative path counts from the folder of the document it stands in, by joining.
 */
#include "actors/graph/literal_parts.h"

/* Whether it begins like scheme:// */
static bool is_uri(struct tr_text text)
{
    size_t at = 0;
    while (at < text.size && text.data[at] != ':' && text.data[at] != '/') {
        at++;
    }
    return at > 0 && at + 2 < text.size && memcmp(text.data + at, "://", 3) == 0;
}

/* A relative path gets the folder in front; the text lives in the reader's arena then. */
static struct tr_text join_path(struct tr_literal_reader *reader, struct tr_text text)
{
    if (reader->folder.size == 0 || text.data[0] == '/' || is_uri(text)) {
        return text;
    }
    if (text.size > 2 && text.data[0] == '.' && text.data[1] == '/') {
        text = (struct tr_text){.data = text.data + 2, .size = text.size - 2};
    }
    bool has_slash = reader->folder.data[reader->folder.size - 1] == '/';
    return tr_arena_print(reader->arena, "%.*s%s%.*s", TRI_TEXT(reader->folder),
                          has_slash ? "" : "/", TRI_TEXT(text));
}

bool tri_read_path(struct tr_literal_reader *reader, const struct tr_type *type,
                   const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_blob blob = {.format = tr_text_of("")};
    if (!tri_take_text(reader, tree, &blob.uri) || blob.uri.size == 0 ||
        memchr(blob.uri.data, '\0', blob.uri.size) != NULL) {
        return tri_mismatch(reader, type, tree);
    }
    blob.uri = join_path(reader, blob.uri);
    tr_write_blob(buffer, blob);
    return true;
}

/* Finds the only keys that a mapping may have; an unknown one is told. */
static bool take_fields(struct tr_literal_reader *reader, const struct tr_type *type,
                        const struct tr_tree *tree, const char *const *names,
                        const struct tr_tree **values, size_t count)
{
    if (tree->kind != TR_TREE_MAP) {
        return tri_mismatch(reader, type, tree);
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        size_t k = 0;
        while (k < count && !tr_text_equal(tree->pairs[i].key->text, tr_text_of(names[k]))) {
            k++;
        }
        if (k == count) {
            return tri_mismatch(reader, type, tree);
        }
        values[k] = tree->pairs[i].value;
    }
    return true;
}

bool tri_read_dataset(struct tr_literal_reader *reader, const struct tr_type *type,
                      const struct tr_tree *tree, struct tr_buffer *buffer)
{
    static const char *const names[] = {"uri", "format"};
    const struct tr_tree *values[2] = {tree, NULL};
    if (tree->kind == TR_TREE_MAP) {
        values[0] = NULL;
        if (!take_fields(reader, type, tree, names, values, 2)) {
            return false;
        }
    }
    struct tr_blob blob = {.format = type->format};
    bool is_fine = values[0] != NULL && tri_take_text(reader, values[0], &blob.uri) &&
                   blob.uri.size > 0 && (values[1] == NULL || tr_tree_is_text(values[1]));
    if (!is_fine) {
        return tri_mismatch(reader, type, tree);
    }
    blob.format = values[1] == NULL ? blob.format : values[1]->text;
    blob.uri = join_path(reader, blob.uri);
    tr_write_blob(buffer, blob);
    return true;
}

bool tri_read_error(struct tr_literal_reader *reader, const struct tr_type *type,
                    const struct tr_tree *tree, struct tr_buffer *buffer)
{
    static const char *const names[] = {"node", "code", "message", "element"};
    const struct tr_tree *values[4] = {0};
    if (!take_fields(reader, type, tree, names, values, 4)) {
        return false;
    }
    struct tr_text texts[3];
    for (size_t i = 0; i < 3; i++) {
        texts[i] = tr_text_of("");
        if (values[i] != NULL && !tr_tree_is_empty(values[i])) {
            if (!tr_tree_is_text(values[i])) {
                return tri_mismatch(reader, type, tree);
            }
            texts[i] = values[i]->text;
        }
    }
    struct tr_failure failure = {
        .node = texts[0], .code = texts[1], .message = texts[2], .element = -1};
    if (values[3] != NULL) {
        struct tr_tree element = tr_tree_resolve(values[3]);
        bool is_index = element.kind == TR_TREE_INT && element.integer >= 0;
        if (!is_index && element.kind != TR_TREE_NULL) {
            return tri_mismatch(reader, type, tree);
        }
        failure.element = is_index ? element.integer : -1;
    }
    tr_write_failure(buffer, &failure);
    return true;
}
