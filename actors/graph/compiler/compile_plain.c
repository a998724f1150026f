/*
 * Text that looks like a reference or a template and is neither where it stands: it goes out as it
 * is written, which is a warning where it names what there is.
 *
 * A dollar sign is common in text (prices, scripts), so it is no warning by itself. Only a name
 * that would be a reference at this place counts: an input of the workflow, a node with a point or
 * bracket behind it, or `$err` in a handler. One warning per text is enough, since one look at it
 * shows the rest.
 */
#include "actors/graph/compiler/builder.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/value/template.h"

/* Whether a name behind a dollar sign would be a reference here. */
typedef bool is_known_function(const void *self, struct tr_text name, bool has_field);

/*
 * The name that `$name` or `${name}` may begin with, as far as names go; empty where none begins.
 * The braces are those of shells, which people try here, too.
 */
static struct tr_text name_at(struct tr_text text, size_t at)
{
    size_t begin = at + 1 + (at + 1 < text.size && text.data[at + 1] == '{' ? 1 : 0);
    struct tr_text name = {.data = text.data + begin, .size = 0};
    while (begin + name.size < text.size && name.size < TR_GRAPH_NAME_BYTES_MAX) {
        struct tr_text longer = {.data = name.data, .size = name.size + 1};
        if (!tri_is_name(longer)) {
            break;
        }
        name = longer;
    }
    return name;
}

/*
 * The first name behind a dollar sign that is known, or an empty text. A hyphen is a letter of
 * names and a sign between words: `$size-large` is tried as a whole and then, from the right, up to
 * each hyphen. Where `{$` begins a reference, or `{$$` escapes one, that is meant.
 */
static struct tr_text find_known(struct tr_text text, bool has_references,
                                 is_known_function *is_known, const void *self)
{
    const char *end = text.data + text.size;
    for (size_t at = 0; at < text.size; at++) {
        bool is_meant = has_references && at > 0 && text.data[at - 1] == '{';
        if (text.data[at] != '$') {
            continue;
        }
        if (is_meant) {
            at += at + 1 < text.size && text.data[at + 1] == '$' ? 1 : 0;
            continue;
        }
        struct tr_text name = name_at(text, at);
        const char *behind = name.data + name.size;
        bool has_field = behind < end && (*behind == '.' || *behind == '[');
        while (name.size > 0 && !is_known(self, name, has_field)) {
            const char *hyphen = memrchr(name.data, '-', name.size);
            name.size = hyphen == NULL ? 0 : (size_t)(hyphen - name.data);
            has_field = false;
        }
        if (name.size > 0) {
            return name;
        }
    }
    return tr_text_of("");
}

/* ------------------------------------------------------------- the values of nodes */

struct plain {
    struct tri_builder *builder;
    uint32_t node;
};

/* Handlers know inputs and `$err`, and no nodes. A node alone, without an output, is no value. */
static bool is_in_scope(const void *self, struct tr_text name, bool has_field)
{
    const struct plain *plain = self;
    const struct tri_scope *scope = tri_compile_scope_find(plain->builder, TRI_REFERENCE_ANY, name);
    bool is_handler = plain->builder->workflow->nodes[plain->node].role != TR_ROLE_GRAPH;
    if (scope == NULL) {
        return is_handler && tr_text_equal(name, tr_text_of("err"));
    }
    return scope->kind == TRI_SCOPE_INPUT ||
           (scope->kind == TRI_SCOPE_NODE && has_field && !is_handler);
}

/* What stands behind a name in a remedy: of a node one of its outputs. */
static const char *rest_of(const struct plain *plain, struct tr_text name)
{
    const struct tri_scope *scope = tri_compile_scope_find(plain->builder, TRI_REFERENCE_ANY, name);
    return scope == NULL ? ".message" : scope->kind == TRI_SCOPE_NODE ? ".output" : "";
}

static void warn_of_reference(struct plain *plain, const struct tr_tree *tree)
{
    /* At the beginning a dollar sign is a reference, or written twice for itself. */
    size_t begin = tree->text.size > 1 && tree->text.data[0] == '$' ? 2 : 0;
    struct tr_text rest = {.data = tree->text.data + begin, .size = tree->text.size - begin};
    struct tr_text name = find_known(rest, true, is_in_scope, plain);
    if (name.size > 0) {
        tri_report_warn(plain->builder->compiler->report, tree->place,
                        "'$%.*s' inside a longer text is plain text\nwrite {$%.*s%s}",
                        TRI_SHOWN(name), TRI_SHOWN(name), rest_of(plain, name));
    }
}

/* "{{$name}}" is a brace, a value and a brace; templates look like that. */
static void warn_of_braces(struct plain *plain, const struct tr_tree *tree)
{
    const char *end = tree->text.data + tree->text.size;
    const char *at = tree->has_dollar ? memmem(tree->text.data, tree->text.size, "{{$", 3) : NULL;
    const char *close = at == NULL ? NULL : memmem(at, (size_t)(end - at), "}}", 2);
    if (close == NULL || at[3] == '$') {
        return;
    }
    struct tr_text whole = {.data = at, .size = (size_t)(close + 2 - at)};
    struct tr_text inside = {.data = at + 1, .size = whole.size - 2};
    tri_report_warn(plain->builder->compiler->report, tree->place,
                    "'%.*s' keeps a pair of braces around the value\nwrite %.*s", TRI_SHOWN(whole),
                    TRI_SHOWN(inside));
}

static void warn_of_template(struct plain *plain, const struct tr_tree *tree)
{
    struct tr_text text = tree->text;
    struct tr_text before;
    struct tr_template template;
    while (tr_template_next(&text, &before, &template)) {
        if (template.kind == TR_TEMPLATE_IS_INPUT || template.kind == TR_TEMPLATE_IS_NAME) {
            tri_report_warn(plain->builder->compiler->report, tree->place,
                            "the template %.*s is plain text in the values of a node\n"
                            "refer to a value as $name, in a longer text as {$name}; templates "
                            "stand in run, env and config of tasks",
                            TRI_SHOWN(template.whole));
            return;
        }
    }
}

/* Recursion goes as deep as trees do. */
static void warn_in(struct plain *plain, const struct tr_tree *tree)
{
    if (tr_tree_is_text(tree)) {
        warn_of_reference(plain, tree);
        warn_of_braces(plain, tree);
        warn_of_template(plain, tree);
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_LIST && i < tree->count; i++) {
        warn_in(plain, tree->items[i]);
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_MAP && i < tree->count; i++) {
        warn_in(plain, tree->pairs[i].value);
    }
}

/* Muted while a value is only tried against a type: it is bound once more, and warned of then. */
void tri_compile_warn_plain(struct tri_builder *builder, uint32_t node, const struct tr_tree *tree)
{
    struct plain plain = {.builder = builder, .node = node};
    if (builder->compiler->report->muted == 0) {
        warn_in(&plain, tree);
    }
}

void tri_compile_warn_message(struct tri_builder *builder, uint32_t node, const struct tri_arm *arm)
{
    struct plain plain = {.builder = builder, .node = node};
    struct tr_text name = find_known(arm->message->text, true, is_in_scope, &plain);
    if (name.size > 0) {
        tri_report_warn(builder->compiler->report, arm->message->place,
                        "'$%.*s' in a message is plain text\nwrite {$%.*s%s}", TRI_SHOWN(name),
                        TRI_SHOWN(name), rest_of(&plain, name));
    }
}

/* ------------------------------------------------------- the values of launch plans */

static bool is_variable(const void *self, struct tr_text name, bool has_field)
{
    (void)has_field;
    return tr_variables_find(self, name) != TR_GRAPH_NONE;
}

void tri_compile_warn_constant(struct tr_report *report, const struct tr_tree *tree,
                               const struct tr_variables *inputs)
{
    bool is_meant = tr_tree_is_text(tree) && tree->has_dollar;
    struct tr_text name =
        is_meant ? find_known(tree->text, false, is_variable, inputs) : tr_text_of("");
    if (name.size > 0) {
        tri_report_warn(report, tree->place,
                        "'$%.*s' is plain text here, where nothing is referred to\n"
                        "write the value itself",
                        TRI_SHOWN(name));
    }
}
