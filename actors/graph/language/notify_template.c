/*
 * Templates of notifications, judged where they are written: one that names nothing would go out as
 * it stands, and be read by the people who were to be told.
 *
 * A notification knows nothing of inputs and files, so that the names are others than those of
 * tasks (definition_template.c). Each of them may hold what somebody wrote, the words of an error
 * among it: in the script of a shell all of them have to be quoted.
 */
#include "actors/graph/language/notify_template.h"

#include "actors/graph/document/labels.h"
#include "actors/graph/language/keys.h"
#include "actors/graph/language/script.h"

static struct tr_text name_at(const void *self, uint32_t position)
{
    (void)self;
    return tr_text_of(tr_notify_name_text((enum tr_notify_name)position));
}

/* Without `.` or `$` in front, which may be what is forgotten. */
static struct tr_text bare(struct tr_text name)
{
    bool has_mark = name.size > 0 && (name.data[0] == '.' || name.data[0] == '$');
    return has_mark ? (struct tr_text){.data = name.data + 1, .size = name.size - 1} : name;
}

static void tell_unknown(struct tri_definition *definition, const struct tr_tree *tree,
                         const struct tr_template *template)
{
    struct tr_text nearest = template->kind == TR_TEMPLATE_IS_UNKNOWN
                                 ? tri_keys_nearest(definition, bare(template->name), name_at, NULL,
                                                    TR_NOTIFY_NAME_COUNT)
                                 : tr_text_of("");
    struct tr_text remedy =
        nearest.size > 0
            ? tr_arena_print(definition->scratch, "did you mean {{.%.*s}}?", TRI_SHOWN(nearest))
            : tr_text_of("write {{.executionName}}, {{.phase}}, {{.error}} or another of the "
                         "names of notifications");
    tri_report_add(definition->report, tree->place, "InvalidValue",
                   "the template %.*s names nothing that a notification knows\n%.*s",
                   TRI_SHOWN(template->whole), TRI_TEXT(remedy));
}

static void check_one(struct tri_definition *definition, const struct tr_tree *tree,
                      const struct tr_template *template)
{
    enum tr_notify_name which;
    struct tr_text label;
    if (template->kind == TR_TEMPLATE_IS_TEXT) {
        return;
    }
    if (template->kind == TR_TEMPLATE_IS_OPEN) {
        tri_report_add(definition->report, tree->place, "SyntaxError",
                       "the template '%.*s' has no end\n"
                       "close it with }}, or write {{`{{`}} for the braces",
                       TRI_SHOWN(template->whole));
        return;
    }
    bool is_known = template->kind == TR_TEMPLATE_IS_UNKNOWN &&
                    (template->function.size == 0 || template->is_quoted) &&
                    tr_notify_name_find(template->name, &which, &label);
    if (!is_known) {
        tell_unknown(definition, tree, template);
    } else if (label.size > 0 && !tr_label_key_is_good(label)) {
        tri_report_add(definition->report, tree->place, "InvalidValue",
                       "'%.*s' is no key of a label\n" TR_LABEL_KEY_REMEDY, TRI_SHOWN(label));
    }
}

static void check_text(struct tri_definition *definition, const struct tr_tree *tree,
                       bool is_script)
{
    struct tr_text text = tree->text;
    struct tr_text before;
    struct tr_template template;
    struct tri_script script = {.quote = '\0'};
    while (tr_template_next(&text, &before, &template)) {
        check_one(definition, tree, &template);
        tri_script_read(&script, before);
        bool is_name = template.kind == TR_TEMPLATE_IS_UNKNOWN;
        if (is_script && is_name && !template.is_quoted) {
            tri_report_warn(definition->report, tree->place,
                            "the shell takes the value of %.*s for a part of its script\n"
                            "write {{%.*s | " TR_TEMPLATE_QUOTE "}}, outside of quotes",
                            TRI_SHOWN(template.whole), TRI_SHOWN(template.name));
        } else if (is_script && is_name && tri_script_is_in_quotes(&script)) {
            tri_report_warn(definition->report, tree->place,
                            "%.*s brings its own quotes, and stands inside of others\n"
                            "remove those around it",
                            TRI_SHOWN(template.whole));
        }
    }
}

static void refuse_text(struct tri_definition *definition, const struct tr_tree *tree)
{
    struct tr_text text = tree->text;
    struct tr_text before;
    struct tr_template template;
    while (tr_template_next(&text, &before, &template)) {
        if (template.kind != TR_TEMPLATE_IS_OPEN) {
            tri_report_add(definition->report, tree->place, "InvalidValue",
                           "the template %.*s is not filled in here\n"
                           "write it in url, headers, body, command, subject or text",
                           TRI_SHOWN(template.whole));
        }
    }
}

/* Recursion goes as deep as trees do. */
void tri_notify_check_texts(struct tri_definition *definition, const struct tr_tree *tree)
{
    if (tr_tree_is_text(tree)) {
        check_text(definition, tree, false);
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_LIST && i < tree->count; i++) {
        tri_notify_check_texts(definition, tree->items[i]);
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_MAP && i < tree->count; i++) {
        refuse_text(definition, tree->pairs[i].key);
        tri_notify_check_texts(definition, tree->pairs[i].value);
    }
}

void tri_notify_check_command(struct tri_definition *definition, const struct tr_tree *tree)
{
    const struct tr_tree *script = tree->kind == TR_TREE_LIST ? tri_script_find(tree, NULL) : NULL;
    for (uint32_t i = 0; tree->kind == TR_TREE_LIST && i < tree->count; i++) {
        const struct tr_tree *word = tree->items[i];
        if (tr_tree_is_text(word)) {
            check_text(definition, word, word == script);
        }
    }
}

void tri_notify_refuse_templates(struct tri_definition *definition, const struct tr_tree *tree)
{
    if (tr_tree_is_text(tree)) {
        refuse_text(definition, tree);
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_MAP && i < tree->count; i++) {
        refuse_text(definition, tree->pairs[i].key);
        tri_notify_refuse_templates(definition, tree->pairs[i].value);
    }
}
