/*
 * Values from documents, by the type of their place. One function for each kind of type, found in
 * a table. Recursion follows the document, no deeper than TR_LITERAL_DEPTH_MAX; trying the
 * variants of unions is bounded by a number of steps that grows with the document.
 */
#include "actors/graph/value/literal.h"

#include <math.h>
#include <stdlib.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/literal_parts.h"

/* The way from the value that was asked for to the one in hand, for messages without places. */
struct tri_step {
    const struct tri_step *up;
    struct tr_text field;
    uint32_t index;
    bool is_index;
};

typedef bool read_function(struct tr_literal_reader *reader, const struct tr_type *type,
                           const struct tr_tree *tree, struct tr_buffer *buffer);

static bool read_value(struct tr_literal_reader *reader, const struct tr_type *type,
                       const struct tr_tree *tree, struct tr_buffer *buffer);

/* What to write for a value of each kind. */
static const char *const remedies[] = {
    [TR_TYPE_NONE] = "write null, or leave it out",
    [TR_TYPE_INT] = "write a whole number of at most 64 bits",
    [TR_TYPE_FLOAT] = "write a number",
    [TR_TYPE_STRING] = "write text, in quotes",
    [TR_TYPE_BOOL] = "write true or false",
    [TR_TYPE_DATETIME] = "write it as 2026-08-20T09:30:00Z or 2026-08-20",
    [TR_TYPE_DURATION] = "write numbers with the units d h m s ms us, as 1h30m",
    [TR_TYPE_BYTES] = "write base64",
    [TR_TYPE_ERROR] = "write {node: ..., code: ..., message: ..., element: ...}",
    [TR_TYPE_STRUCT] = "write a mapping",
    [TR_TYPE_FILE] = "write a path or a URI",
    [TR_TYPE_DIRECTORY] = "write a path or a URI",
    [TR_TYPE_DATASET] = "write {uri: ..., format: ...}",
    [TR_TYPE_ENUM] = "write one of its values",
    [TR_TYPE_LIST] = "write a list",
    [TR_TYPE_MAP] = "write a mapping",
    [TR_TYPE_UNION] = "write a value of one of its types, or {type: ..., value: ...}",
};

static void print_path(const struct tri_step *step, struct tr_buffer *buffer)
{
    if (step == NULL) {
        return;
    }
    print_path(step->up, buffer);
    if (step->is_index) {
        tr_buffer_print(buffer, "[%u]", step->index);
    } else {
        tr_buffer_print(buffer, "%s%.*s", step->up == NULL ? "" : ".", TRI_SHOWN(step->field));
    }
}

/* "items[3]: " where the document knows no lines. */
static struct tr_text path_text(struct tr_literal_reader *reader, const struct tr_tree *tree)
{
    if (tree->place.line > 0 || reader->path == NULL) {
        return tr_text_of("");
    }
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    print_path(reader->path, &buffer);
    tr_buffer_add_string(&buffer, ": ");
    struct tr_text text = tr_arena_text(reader->arena, tr_buffer_text(&buffer));
    tr_buffer_fini(&buffer);
    return text;
}

static struct tr_text number_text(struct tr_literal_reader *reader, double number)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tri_number_write(number, &buffer);
    struct tr_text text = tr_arena_text(reader->arena, tr_buffer_text(&buffer));
    tr_buffer_fini(&buffer);
    return text;
}

/* The value as a message shows it: its text, or what it is. */
static struct tr_text value_text(struct tr_literal_reader *reader, const struct tr_tree *tree)
{
    if (tr_tree_is_text(tree)) {
        return tr_tree_is_empty(tree)
                   ? tr_text_of("nothing")
                   : tr_arena_print(reader->arena, "'%.*s'", TRI_SHOWN(tree->text));
    }
    if (tree->kind == TR_TREE_INT) {
        return tr_arena_print(reader->arena, "%lld", (long long)tree->integer);
    }
    if (tree->kind == TR_TREE_FLOAT) {
        return number_text(reader, tree->number);
    }
    if (tree->kind == TR_TREE_BOOL) {
        return tr_text_of(tree->boolean ? "true" : "false");
    }
    return tr_text_of(tr_tree_noun(tree));
}

bool tri_mismatch(struct tr_literal_reader *reader, const struct tr_type *type,
                  const struct tr_tree *tree)
{
    if (reader->report->muted > 0) {
        return false;
    }
    struct tr_text path = path_text(reader, tree);
    struct tr_text value = value_text(reader, tree);
    struct tr_text name = tr_type_text(reader->arena, type);
    const char *code = type->kind == TR_TYPE_ENUM ? "IllegalEnumValue" : "MismatchingTypes";
    tri_report_add(reader->report, tree->place, code, "%.*s%.*s is no value of type %.*s\n%s",
                   TRI_TEXT(path), TRI_TEXT(value), TRI_SHOWN(name), remedies[type->kind]);
    return false;
}

static bool refuse(struct tr_literal_reader *reader, const struct tr_tree *tree, const char *text)
{
    struct tr_text path = path_text(reader, tree);
    tri_report_add(reader->report, tree->place, "InvalidValue", "%.*s%s", TRI_TEXT(path), text);
    return false;
}

bool tri_take_text(const struct tr_literal_reader *reader, const struct tr_tree *tree,
                   struct tr_text *text)
{
    if (!tr_tree_is_text(tree) || tr_tree_is_empty(tree)) {
        return false;
    }
    *text = tree->text;
    if (reader->has_references && text->size > 1 && text->data[0] == '$' && text->data[1] == '$') {
        *text = (struct tr_text){.data = text->data + 1, .size = text->size - 1};
    }
    return true;
}

static bool read_none(struct tr_literal_reader *reader, const struct tr_type *type,
                      const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    if (resolved.kind != TR_TREE_NULL) {
        return tri_mismatch(reader, type, tree);
    }
    tr_buffer_nil(buffer);
    return true;
}

static bool read_int(struct tr_literal_reader *reader, const struct tr_type *type,
                     const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    if (tree->kind == TR_TREE_PLAIN && resolved.kind != TR_TREE_INT &&
        tri_text_is_integer(tree->text)) {
        return refuse(reader, tree, "the integer does not fit into 64 bits\nuse a string");
    }
    if (resolved.kind != TR_TREE_INT) {
        return tri_mismatch(reader, type, tree);
    }
    tr_buffer_i64(buffer, resolved.integer);
    return true;
}

/* What JSON has no number for is written as text. */
static bool special_number(struct tr_text text, double *number)
{
    if (tr_text_equal(text, tr_text_of("nan"))) {
        *number = (double)NAN;
    } else if (tr_text_equal(text, tr_text_of("inf"))) {
        *number = (double)INFINITY;
    } else if (tr_text_equal(text, tr_text_of("-inf"))) {
        *number = (double)-INFINITY;
    } else {
        return false;
    }
    return true;
}

static bool read_float(struct tr_literal_reader *reader, const struct tr_type *type,
                       const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    double number = 0;
    if (resolved.kind == TR_TREE_INT) {
        number = (double)resolved.integer;
    } else if (resolved.kind == TR_TREE_FLOAT) {
        number = resolved.number;
    } else if (!tr_tree_is_text(&resolved) || !special_number(resolved.text, &number)) {
        return tri_mismatch(reader, type, tree);
    }
    tr_buffer_f64(buffer, number);
    return true;
}

static bool read_bool(struct tr_literal_reader *reader, const struct tr_type *type,
                      const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    if (resolved.kind != TR_TREE_BOOL) {
        return tri_mismatch(reader, type, tree);
    }
    tr_buffer_bool(buffer, resolved.boolean);
    return true;
}

static bool read_string(struct tr_literal_reader *reader, const struct tr_type *type,
                        const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_text text;
    if (!tri_take_text(reader, tree, &text)) {
        return tri_mismatch(reader, type, tree);
    }
    tr_buffer_text_value(buffer, text);
    return true;
}

static bool read_datetime(struct tr_literal_reader *reader, const struct tr_type *type,
                          const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_text text;
    struct tr_moment moment;
    if (!tri_take_text(reader, tree, &text) || !tr_moment_parse(text, &moment)) {
        return tri_mismatch(reader, type, tree);
    }
    tr_write_moment(buffer, moment);
    return true;
}

static bool read_duration(struct tr_literal_reader *reader, const struct tr_type *type,
                          const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_text text;
    int64_t nanoseconds;
    if (!tri_take_text(reader, tree, &text) || !tr_duration_parse(text, &nanoseconds)) {
        return tri_mismatch(reader, type, tree);
    }
    tr_buffer_i64(buffer, nanoseconds);
    return true;
}

static bool read_bytes(struct tr_literal_reader *reader, const struct tr_type *type,
                       const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_text text;
    struct tr_bytes bytes;
    bool is_empty = tree->kind == TR_TREE_STRING && tree->text.size == 0;
    if (is_empty) {
        tr_buffer_bytes_value(buffer, (struct tr_bytes){0});
        return true;
    }
    if (!tri_take_text(reader, tree, &text) || !tri_base64_read(text, reader->arena, &bytes)) {
        return tri_mismatch(reader, type, tree);
    }
    tr_buffer_bytes_value(buffer, bytes);
    return true;
}

static bool read_enum(struct tr_literal_reader *reader, const struct tr_type *type,
                      const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_text text;
    if (!tri_take_text(reader, tree, &text) || tr_type_enum_find(type, text) < 0) {
        return tri_mismatch(reader, type, tree);
    }
    tr_buffer_text_value(buffer, text);
    return true;
}

static bool read_list(struct tr_literal_reader *reader, const struct tr_type *type,
                      const struct tr_tree *tree, struct tr_buffer *buffer)
{
    if (tree->kind != TR_TREE_LIST) {
        return tri_mismatch(reader, type, tree);
    }
    struct tri_step step = {.up = reader->path, .is_index = true};
    tr_buffer_array(buffer, tree->count);
    bool is_fine = true;
    reader->path = &step;
    for (uint32_t i = 0; i < tree->count && (is_fine || reader->report->muted == 0); i++) {
        step.index = i;
        const struct tr_type *element = type == NULL ? NULL : type->parts[0];
        is_fine = read_value(reader, element, tree->items[i], buffer) && is_fine;
    }
    reader->path = step.up;
    return is_fine;
}

static int compare_pairs(const void *left, const void *right)
{
    const struct tr_pair *const *a = left;
    const struct tr_pair *const *b = right;
    return tr_text_order((*a)->key->text, (*b)->key->text);
}

/* The pairs by their keys, as every packed mapping has them. */
static const struct tr_pair **sorted_pairs(struct tr_arena *arena, const struct tr_tree *tree)
{
    const struct tr_pair **pairs = tr_arena_array(arena, tree->count, sizeof(struct tr_pair *));
    for (uint32_t i = 0; pairs != NULL && i < tree->count; i++) {
        pairs[i] = &tree->pairs[i];
    }
    if (pairs != NULL && tree->count > 0) {
        qsort((void *)pairs, tree->count, sizeof(struct tr_pair *), compare_pairs);
    }
    return pairs;
}

static bool read_map(struct tr_literal_reader *reader, const struct tr_type *type,
                     const struct tr_tree *tree, struct tr_buffer *buffer)
{
    if (tree->kind != TR_TREE_MAP) {
        return tri_mismatch(reader, type, tree);
    }
    const struct tr_pair **pairs = sorted_pairs(reader->arena, tree);
    if (pairs == NULL) {
        return false;
    }
    const struct tr_type *element = type == NULL ? NULL : type->parts[0];
    struct tri_step step = {.up = reader->path};
    tr_buffer_map(buffer, tree->count);
    bool is_fine = true;
    reader->path = &step;
    for (uint32_t i = 0; i < tree->count && (is_fine || reader->report->muted == 0); i++) {
        step.field = pairs[i]->key->text;
        tr_buffer_text_value(buffer, step.field);
        is_fine = read_value(reader, element, pairs[i]->value, buffer) && is_fine;
    }
    reader->path = step.up;
    return is_fine;
}

/* A value whose type nobody declares. */
static bool read_any(struct tr_literal_reader *reader, const struct tr_tree *tree,
                     struct tr_buffer *buffer)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    switch ((enum tr_tree_kind)resolved.kind) {
    case TR_TREE_NULL:
        tr_buffer_nil(buffer);
        return true;
    case TR_TREE_BOOL:
        tr_buffer_bool(buffer, resolved.boolean);
        return true;
    case TR_TREE_INT:
        tr_buffer_i64(buffer, resolved.integer);
        return true;
    case TR_TREE_FLOAT:
        if (tree->kind == TR_TREE_PLAIN && tri_text_is_integer(tree->text)) {
            return refuse(reader, tree, "the integer does not fit into 64 bits\nquote it");
        }
        if (!isfinite(resolved.number)) {
            return refuse(reader, tree, "a struct holds no infinite numbers\nwrite it as text");
        }
        tr_buffer_f64(buffer, resolved.number);
        return true;
    case TR_TREE_PLAIN:
    case TR_TREE_STRING: {
        struct tr_text text = resolved.text;
        (void)tri_take_text(reader, &resolved, &text);
        tr_buffer_text_value(buffer, text);
        return true;
    }
    case TR_TREE_LIST:
        return read_list(reader, NULL, tree, buffer);
    case TR_TREE_MAP:
        return read_map(reader, NULL, tree, buffer);
    }
    return false;
}

static bool read_struct(struct tr_literal_reader *reader, const struct tr_type *type,
                        const struct tr_tree *tree, struct tr_buffer *buffer)
{
    return tree->kind == TR_TREE_MAP ? read_map(reader, NULL, tree, buffer)
                                     : tri_mismatch(reader, type, tree);
}

/* Tries one variant without a word; the buffer is as before when it does not fit. */
static bool try_variant(struct tr_literal_reader *reader, const struct tr_type *type,
                        uint32_t variant, const struct tr_tree *tree, struct tr_buffer *buffer)
{
    size_t size = buffer->size;
    tri_report_mute(reader->report);
    tr_buffer_array(buffer, 2);
    tr_buffer_u64(buffer, variant);
    bool is_fine = read_value(reader, type->parts[variant], tree, buffer);
    tri_report_unmute(reader->report);
    if (!is_fine) {
        tr_buffer_cut(buffer, size);
    }
    return is_fine;
}

/* Whether the value names its variant: {type: T, value: ...}. */
static bool is_explicit(const struct tr_tree *tree)
{
    const struct tr_tree *type = tr_tree_find(tree, "type");
    return tree->kind == TR_TREE_MAP && tree->count == 2 && type != NULL && tr_tree_is_text(type) &&
           tr_tree_find(tree, "value") != NULL;
}

/* The position of the variant with this expression, or -1; they are compared by their texts. */
static int64_t variant_by_name(struct tr_arena *arena, const struct tr_type *type,
                               struct tr_text expression)
{
    struct tr_types scratch;
    struct tr_text problem;
    tr_types_init(&scratch, arena);
    const struct tr_type *named = tr_type_parse(&scratch, expression, &problem);
    if (named == NULL) {
        return -1;
    }
    struct tr_text text = tr_type_text(arena, named);
    for (uint32_t i = 0; i < type->count; i++) {
        if (tr_text_equal(tr_type_text(arena, type->parts[i]), text)) {
            return i;
        }
    }
    return -1;
}

/* Tries all variants in their order. */
static bool try_variants(struct tr_literal_reader *reader, const struct tr_type *type,
                         const struct tr_tree *tree, struct tr_buffer *buffer)
{
    for (uint32_t i = 0; i < type->count; i++) {
        if (try_variant(reader, type, i, tree, buffer)) {
            return true;
        }
    }
    return false;
}

static bool read_union(struct tr_literal_reader *reader, const struct tr_type *type,
                       const struct tr_tree *tree, struct tr_buffer *buffer)
{
    if (is_explicit(tree)) {
        int64_t variant = variant_by_name(reader->arena, type, tr_tree_find(tree, "type")->text);
        if (variant >= 0) {
            tr_buffer_array(buffer, 2);
            tr_buffer_u64(buffer, (uint64_t)variant);
            return read_value(reader, type->parts[variant], tr_tree_find(tree, "value"), buffer);
        }
    }
    /* A plain scalar is first what the core schema says, and only then text as it is written. */
    struct tr_tree resolved = tr_tree_resolve(tree);
    if (try_variants(reader, type, &resolved, buffer) ||
        (tree->kind == TR_TREE_PLAIN && try_variants(reader, type, tree, buffer))) {
        return true;
    }
    return tri_mismatch(reader, type, tree);
}

static read_function *const readers[] = {
    [TR_TYPE_NONE] = read_none,           [TR_TYPE_INT] = read_int,
    [TR_TYPE_FLOAT] = read_float,         [TR_TYPE_STRING] = read_string,
    [TR_TYPE_BOOL] = read_bool,           [TR_TYPE_DATETIME] = read_datetime,
    [TR_TYPE_DURATION] = read_duration,   [TR_TYPE_BYTES] = read_bytes,
    [TR_TYPE_ERROR] = tri_read_error,     [TR_TYPE_STRUCT] = read_struct,
    [TR_TYPE_FILE] = tri_read_path,       [TR_TYPE_DIRECTORY] = tri_read_path,
    [TR_TYPE_DATASET] = tri_read_dataset, [TR_TYPE_ENUM] = read_enum,
    [TR_TYPE_LIST] = read_list,           [TR_TYPE_MAP] = read_map,
    [TR_TYPE_UNION] = read_union,
};

static bool read_value(struct tr_literal_reader *reader, const struct tr_type *type,
                       const struct tr_tree *tree, struct tr_buffer *buffer)
{
    if (reader->steps_left == 0) {
        return refuse(reader, tree,
                      "the value fits its unions in too many ways\n"
                      "name the types: {type: ..., value: ...}");
    }
    reader->steps_left--;
    if (reader->depth == TR_LITERAL_DEPTH_MAX) {
        return refuse(reader, tree, "the value nests too deeply\nkeep it in a file");
    }
    reader->depth++;
    bool is_fine = type == NULL ? read_any(reader, tree, buffer)
                                : readers[type->kind](reader, type, tree, buffer);
    reader->depth--;
    return is_fine;
}

bool tr_literal_read(struct tr_literal_reader *reader, const struct tr_type *type,
                     const struct tr_tree *tree, struct tr_buffer *buffer)
{
    size_t size = buffer->size;
    reader->steps_left = (uint64_t)tree->weight * TR_LITERAL_TRIES_EACH + TR_LITERAL_TRIES_LEAST;
    reader->depth = 0;
    reader->path = NULL;
    bool is_fine =
        read_value(reader, type, tree, buffer) && buffer->error == 0 && reader->arena->error == 0;
    if (buffer->error == TR_MEMORY && reader->arena->error == 0) {
        reader->arena->error = TR_MEMORY;
    }
    if (buffer->error == TR_LIMIT) {
        (void)refuse(reader, tree, "the value is too large\nkeep it in a file");
    }
    if (!is_fine) {
        tr_buffer_cut(buffer, size);
    }
    return is_fine;
}
