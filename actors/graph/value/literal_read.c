/*
 * Values from documents, by the type of their place: a tree (YAML or JSON) goes in, packed bytes
 * come out. There is one function for each kind of type, found in a table.
 *
 * A scalar is read by its type, not by its look: `no` is a text where a string is declared and an
 * error where a bool is. Only where no type is declared, or a union leaves several, the core schema
 * of YAML 1.2 decides. JSON comes with its scalars resolved, so both forms share all readers.
 *
 * Errors go to the report with place, rule and remedy, and reading goes on with the next element,
 * so that one run tells all of them. While a variant of a union is tried the report is muted: then
 * the first mismatch ends the try, since nothing would be reported anyway.
 *
 * Recursion follows the document, no deeper than TR_LITERAL_DEPTH_MAX. Unions in lists in unions
 * would be tried in exponentially many ways, so each call of read_value costs one step of a budget
 * that grows with the size of the document.
 */
#include "actors/graph/value/literal.h"

#include <math.h>
#include <stdlib.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/value/note.h"
#include "schemas/runtime/blob_uri.h"

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

/*
 * "items[3]: " for values that come without lines, as JSON of a task does; else "". Where there is
 * a place, the line says more than a path.
 */
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

/*
 * Says that the value is none of its type; false. Muted, it returns before it builds the texts,
 * which would cost more than the try of a variant itself.
 */
static bool mismatch(struct tr_literal_reader *reader, const struct tr_type *type,
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

/*
 * The text of a scalar; false where there is none. An empty plain scalar, as behind `key:`, is null
 * and no text; "" in quotes is.
 */
static bool take_text(const struct tr_tree *tree, struct tr_text *text)
{
    if (!tr_tree_is_text(tree) || tr_tree_is_empty(tree)) {
        return false;
    }
    *text = tree->text;
    return true;
}

/*
 * Says that the steps have come to their end; false. It is said once for a value, as nothing behind
 * the place where they ended is read. While a variant is tried the report is muted, so the union
 * outside says it, and says no mismatch, as not all variants were tried.
 */
static bool refuse_tries(struct tr_literal_reader *reader, const struct tr_tree *tree)
{
    if (reader->report->muted == 0 && !reader->has_run_out) {
        reader->has_run_out = true;
        (void)refuse(reader, tree,
                     "the value fits its unions in too many ways\n"
                     "name the types: {type: ..., value: ...}");
    }
    return false;
}

static bool read_none(struct tr_literal_reader *reader, const struct tr_type *type,
                      const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    if (resolved.kind != TR_TREE_NULL) {
        return mismatch(reader, type, tree);
    }
    tr_buffer_nil(buffer);
    return true;
}

/*
 * A whole number only: 3.0 is a float, and "3" in quotes is text. A number that has the form of an
 * integer and does not fit is told apart, as the core schema resolves it to a float, and the
 * general message would say that 9223372036854775808 is no whole number.
 */
static bool read_int(struct tr_literal_reader *reader, const struct tr_type *type,
                     const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    if (tree->kind == TR_TREE_PLAIN && resolved.kind != TR_TREE_INT &&
        tri_text_is_integer(tree->text)) {
        return refuse(reader, tree, "the integer does not fit into 64 bits\nuse a string");
    }
    if (resolved.kind != TR_TREE_INT) {
        return mismatch(reader, type, tree);
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

/*
 * An integer serves as a float, as in JSON, where 3 and 3.0 are one number. YAML's .inf and .nan
 * have been resolved; `inf` and `nan` as texts are what JSON writes for them.
 */
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
        return mismatch(reader, type, tree);
    }
    tr_buffer_f64(buffer, number);
    return true;
}

static bool read_bool(struct tr_literal_reader *reader, const struct tr_type *type,
                      const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_tree resolved = tr_tree_resolve(tree);
    if (resolved.kind != TR_TREE_BOOL) {
        return mismatch(reader, type, tree);
    }
    tr_buffer_bool(buffer, resolved.boolean);
    return true;
}

static bool read_string(struct tr_literal_reader *reader, const struct tr_type *type,
                        const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_text text;
    if (!take_text(tree, &text)) {
        return mismatch(reader, type, tree);
    }
    tr_buffer_text_value(buffer, text);
    return true;
}

static bool read_datetime(struct tr_literal_reader *reader, const struct tr_type *type,
                          const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_text text;
    struct tr_moment moment;
    if (!take_text(tree, &text) || !tr_moment_parse(text, &moment)) {
        return mismatch(reader, type, tree);
    }
    tr_write_moment(buffer, moment);
    return true;
}

static bool read_duration(struct tr_literal_reader *reader, const struct tr_type *type,
                          const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_text text;
    int64_t nanoseconds;
    if (!take_text(tree, &text) || !tr_duration_parse(text, &nanoseconds)) {
        return mismatch(reader, type, tree);
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
    if (!take_text(tree, &text) || !tri_base64_read(text, reader->arena, &bytes)) {
        return mismatch(reader, type, tree);
    }
    tr_buffer_bytes_value(buffer, bytes);
    return true;
}

static bool read_enum(struct tr_literal_reader *reader, const struct tr_type *type,
                      const struct tr_tree *tree, struct tr_buffer *buffer)
{
    struct tr_text text;
    if (!take_text(tree, &text) || tr_type_enum_find(type, text) < 0) {
        return mismatch(reader, type, tree);
    }
    tr_buffer_text_value(buffer, text);
    return true;
}

/*
 * Elements in their order; `type` is NULL inside a struct. The step lives on the stack: it is
 * linked into the path while the elements are read, and taken out before the function returns.
 */
static bool read_list(struct tr_literal_reader *reader, const struct tr_type *type,
                      const struct tr_tree *tree, struct tr_buffer *buffer)
{
    if (tree->kind != TR_TREE_LIST) {
        return mismatch(reader, type, tree);
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

/*
 * The pairs by their keys, as every packed mapping has them. The tree stays as it is, because trees
 * are shared by aliases and shown in the order they were written. Keys are different: the readers
 * of documents have reported repeated ones.
 */
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
        return mismatch(reader, type, tree);
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

/*
 * A value whose type nothing declares, by the core schema. An integer beyond 64 bits would silently
 * become a float and lose digits, and an infinity has no form in JSON, so both are refused where
 * somebody wrote them. Where a program did, an infinity is a number like any other.
 */
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
        if (tree->kind == TR_TREE_PLAIN && !isfinite(resolved.number)) {
            return refuse(reader, tree, "a struct holds no infinite numbers\nwrite it as text");
        }
        tr_buffer_f64(buffer, resolved.number);
        return true;
    case TR_TREE_PLAIN:
    case TR_TREE_STRING: {
        struct tr_text text = resolved.text;
        (void)take_text(&resolved, &text);
        tr_buffer_text_value(buffer, text);
        return true;
    }
    case TR_TREE_LIST:
        return read_list(reader, NULL, tree, buffer);
    case TR_TREE_MAP:
        return read_map(reader, NULL, tree, buffer);
    case TR_TREE_REFERENCE:
        break; /* it was bound before */
    }
    return false;
}

static bool read_struct(struct tr_literal_reader *reader, const struct tr_type *type,
                        const struct tr_tree *tree, struct tr_buffer *buffer)
{
    return tree->kind == TR_TREE_MAP ? read_map(reader, NULL, tree, buffer)
                                     : mismatch(reader, type, tree);
}

/* What came beside the value that the buffer has from `begin` on. */
static void write_note(const struct tr_type *type, const struct tr_tree *tree, size_t begin,
                       struct tr_buffer *buffer)
{
    if (tree->note != NULL) {
        const struct tr_note note = tr_note_for(type, tree->note);
        tr_write_note(buffer, begin, &note);
    }
}

/* Tries one variant with the report muted; the buffer is as before when it does not fit. */
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

/*
 * Whether the value has the form of one that names its variant: {type: T, value: ...} and no other
 * key. A struct may have these keys for reasons of its own; what counts is in the end whether T is
 * one of the variants.
 */
static bool is_explicit(const struct tr_tree *tree)
{
    const struct tr_tree *type = tr_tree_find(tree, "type");
    return tree->kind == TR_TREE_MAP && tree->count == 2 && type != NULL && tr_tree_is_text(type) &&
           tr_tree_find(tree, "value") != NULL;
}

/* The position of the variant with this expression, or -1. */
static int64_t variant_by_name(struct tr_arena *arena, const struct tr_type *type,
                               struct tr_text expression)
{
    struct tr_types scratch;
    struct tr_text problem;
    tr_types_init(&scratch, arena);
    const struct tr_type *named = tr_type_parse(&scratch, expression, &problem);
    return named == NULL ? -1 : tr_type_variant_named(type, named);
}

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
            size_t begin = buffer->size;
            tr_buffer_array(buffer, 2);
            tr_buffer_u64(buffer, (uint64_t)variant);
            bool is_fine =
                read_value(reader, type->parts[variant], tr_tree_find(tree, "value"), buffer);
            write_note(type, tree, begin, buffer);
            return is_fine;
        }
    }
    /* A plain scalar is first what the core schema says, and only then text as it is written. */
    struct tr_tree resolved = tr_tree_resolve(tree);
    if (try_variants(reader, type, &resolved, buffer) ||
        (tree->kind == TR_TREE_PLAIN && try_variants(reader, type, tree, buffer))) {
        return true;
    }
    return reader->steps_left == 0 ? refuse_tries(reader, tree) : mismatch(reader, type, tree);
}

/* -------------------------------------------------------- paths and fields */

/*
 * Values that are paths, and values with fields of their own: files, directories, datasets, errors.
 *
 * A relative path counts from the folder of the document it stands in, by joining.
 */

static bool is_uri(struct tr_text text)
{
    size_t at = 0;
    while (at < text.size && text.data[at] != ':' && text.data[at] != '/') {
        at++;
    }
    return at > 0 && at + 2 < text.size && memcmp(text.data + at, "://", 3) == 0;
}

/*
 * A relative path gets the folder in front; the text lives in the reader's arena then. Joining is
 * textual: `..` and links stay, since the file need not exist when the definition is read.
 */
static struct tr_text join_path(struct tr_literal_reader *reader, struct tr_text text)
{
    if (reader->folder.size == 0 || text.data[0] == '/' || is_uri(text) ||
        tr_blob_uri_name(text).size > 0) {
        return text;
    }
    if (text.size > 2 && text.data[0] == '.' && text.data[1] == '/') {
        text = (struct tr_text){.data = text.data + 2, .size = text.size - 2};
    }
    bool has_slash = reader->folder.data[reader->folder.size - 1] == '/';
    return tr_arena_print(reader->arena, "%.*s%s%.*s", TRI_TEXT(reader->folder),
                          has_slash ? "" : "/", TRI_TEXT(text));
}

static bool take_fields(struct tr_literal_reader *reader, const struct tr_type *type,
                        const struct tr_tree *tree, const char *const *names,
                        const struct tr_tree **values, size_t count)
{
    if (tree->kind != TR_TREE_MAP) {
        return mismatch(reader, type, tree);
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        size_t k = 0;
        while (k < count && !tr_text_equal(tree->pairs[i].key->text, tr_text_of(names[k]))) {
            k++;
        }
        if (k == count) {
            return mismatch(reader, type, tree);
        }
        values[k] = tree->pairs[i].value;
    }
    return true;
}

/*
 * A file or a directory: its path alone, {uri, format}, or {path, metadata} as flytekit has one in
 * a struct. A format that the type says anyhow is not repeated. A zero byte would end the path
 * early for every call of the system behind it, so that the file opened would not be the one named.
 */
static bool read_path(struct tr_literal_reader *reader, const struct tr_type *type,
                      const struct tr_tree *tree, struct tr_buffer *buffer)
{
    static const char *const names[] = {"uri", "format", "path", "metadata"};
    const struct tr_tree *values[4] = {tree, NULL, NULL, NULL};
    struct tr_blob blob = {.format = tr_text_of("")};
    if (tree->kind == TR_TREE_MAP) {
        values[0] = NULL;
        if (!take_fields(reader, type, tree, names, values, 4)) {
            return false;
        }
    }
    const struct tr_tree *uri = values[0] != NULL ? values[0] : values[2];
    bool is_fine = uri != NULL && take_text(uri, &blob.uri) && blob.uri.size > 0 &&
                   memchr(blob.uri.data, '\0', blob.uri.size) == NULL &&
                   (values[1] == NULL || tr_tree_is_text(values[1]));
    if (!is_fine) {
        return mismatch(reader, type, tree);
    }
    if (values[1] != NULL && !tr_text_equal(values[1]->text, type->format)) {
        blob.format = values[1]->text;
    }
    blob.uri = join_path(reader, blob.uri);
    tr_write_blob(buffer, blob);
    return true;
}

/*
 * A URI alone or {uri, format}. Without a format of its own the value takes that of its declared
 * type, so that the packed value says it even after it is cast to a dataset of any format.
 */
static bool read_dataset(struct tr_literal_reader *reader, const struct tr_type *type,
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
    bool is_fine = values[0] != NULL && take_text(values[0], &blob.uri) && blob.uri.size > 0 &&
                   (values[1] == NULL || tr_tree_is_text(values[1]));
    if (!is_fine) {
        return mismatch(reader, type, tree);
    }
    blob.format = values[1] == NULL ? blob.format : values[1]->text;
    blob.uri = join_path(reader, blob.uri);
    tr_write_blob(buffer, blob);
    return true;
}

static bool read_error(struct tr_literal_reader *reader, const struct tr_type *type,
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
                return mismatch(reader, type, tree);
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
            return mismatch(reader, type, tree);
        }
        failure.element = is_index ? element.integer : -1;
    }
    tr_write_failure(buffer, &failure);
    return true;
}

static read_function *const readers[] = {
    [TR_TYPE_NONE] = read_none,         [TR_TYPE_INT] = read_int,
    [TR_TYPE_FLOAT] = read_float,       [TR_TYPE_STRING] = read_string,
    [TR_TYPE_BOOL] = read_bool,         [TR_TYPE_DATETIME] = read_datetime,
    [TR_TYPE_DURATION] = read_duration, [TR_TYPE_BYTES] = read_bytes,
    [TR_TYPE_ERROR] = read_error,       [TR_TYPE_STRUCT] = read_struct,
    [TR_TYPE_FILE] = read_path,         [TR_TYPE_DIRECTORY] = read_path,
    [TR_TYPE_DATASET] = read_dataset,   [TR_TYPE_ENUM] = read_enum,
    [TR_TYPE_LIST] = read_list,         [TR_TYPE_MAP] = read_map,
    [TR_TYPE_UNION] = read_union,
};

static bool read_value(struct tr_literal_reader *reader, const struct tr_type *type,
                       const struct tr_tree *tree, struct tr_buffer *buffer)
{
    if (reader->steps_left == 0) {
        return refuse_tries(reader, tree);
    }
    reader->steps_left--;
    if (reader->depth == TR_LITERAL_DEPTH_MAX) {
        return refuse(reader, tree, "the value nests too deeply\nkeep it in a file");
    }
    size_t begin = buffer->size;
    reader->depth++;
    bool is_fine = type == NULL ? read_any(reader, tree, buffer)
                                : readers[type->kind](reader, type, tree, buffer);
    reader->depth--;
    /* A union whose variant was found by trying has its note before the variant's value. */
    if (is_fine && type != NULL && type->kind != TR_TYPE_UNION) {
        write_note(type, tree, begin, buffer);
    }
    return is_fine;
}

bool tr_literal_read(struct tr_literal_reader *reader, const struct tr_type *type,
                     const struct tr_tree *tree, struct tr_buffer *buffer)
{
    size_t size = buffer->size;
    reader->steps_left = (uint64_t)tree->weight * TR_LITERAL_TRIES_EACH + TR_LITERAL_TRIES_LEAST;
    reader->has_run_out = false;
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
