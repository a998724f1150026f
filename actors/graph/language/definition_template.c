/*
 * Templates where they are written: a template that names nothing would fail every attempt when it
 * is filled in (actors/values/template_fill.c), and is reported here instead, before anything runs.
 *
 * Beside errors there are warnings about what is valid and hardly meant: a value that a shell takes
 * as a part of its script, quotes inside of quotes, and `$name`, which refers to a value in a node
 * but is plain text in a task.
 */
#include "actors/graph/value/template.h"

#include "actors/graph/language/keys.h"
#include "actors/graph/language/script.h"

/* The texts of a task in hand. */
struct check {
    struct tri_definition *definition;
    const struct tr_variables *inputs;
    const struct tr_tree *script; /* the word that a shell takes as a script; NULL: none so far */
    const struct tr_tree *text;   /* in hand; NULL: it has no place */
};

static struct tri_place place_of(const struct check *check)
{
    return check->text == NULL ? (struct tri_place){0} : check->text->place;
}

static struct tr_text input_at(const void *self, uint32_t position)
{
    const struct check *check = self;
    return check->inputs->items[position].name;
}

/* What a template may name, as it is written there: first the inputs, then the names. */
static struct tr_text candidate_at(const void *self, uint32_t position)
{
    const struct check *check = self;
    uint32_t count = check->inputs->count;
    return position < count
               ? tr_arena_print(check->definition->scratch, "inputs.%.*s",
                                TRI_TEXT(input_at(check, position)))
               : tr_text_of(tr_template_name_text((enum tr_template_name)(position - count)));
}

/* "did you mean" the nearest of what there is, or what to say otherwise. */
static struct tr_text did_you_mean(struct check *check, const char *prefix, struct tr_text nearest,
                                   const char *otherwise)
{
    return nearest.size == 0
               ? tr_text_of(otherwise)
               : tr_arena_print(check->definition->scratch, "did you mean {{.%s%.*s}}?", prefix,
                                TRI_SHOWN(nearest));
}

/* What values of a type are once they are filled in. */
enum rendering {
    NO_TEXT, /* they have no form as a word of a command */
    WORD,    /* a word of known characters: a number, a time */
    ANY_TEXT /* whatever somebody wrote, so that a shell may find code in it */
};

/*
 * A list is written as its elements are; of a union the variant that may hold most counts. An error
 * is given only where no variant has a form as text: with one that has, a run may succeed.
 */
static enum rendering rendering_of(const struct tr_type *type)
{
    enum rendering most = NO_TEXT;
    switch ((enum tr_type_kind)type->kind) {
    case TR_TYPE_NONE:
    case TR_TYPE_BYTES:
    case TR_TYPE_MAP:
    case TR_TYPE_STRUCT:
    case TR_TYPE_ERROR:
        return NO_TEXT;
    case TR_TYPE_STRING:
    case TR_TYPE_FILE:
    case TR_TYPE_DIRECTORY:
    case TR_TYPE_DATASET:
        return ANY_TEXT;
    case TR_TYPE_LIST:
    case TR_TYPE_UNION:
        for (uint32_t i = 0; i < type->count; i++) {
            enum rendering part = rendering_of(type->parts[i]);
            most = part > most ? part : most;
        }
        return most;
    default:
        return WORD;
    }
}

/*
 * A NULL type is a declaration that was wrong; it has been reported, and nothing follows from it.
 */
static void check_input(struct check *check, struct tr_text name)
{
    struct tri_definition *definition = check->definition;
    uint32_t input = tr_variables_find(check->inputs, name);
    const struct tr_type *type = input == TR_GRAPH_NONE ? NULL : check->inputs->items[input].type;
    if (input == TR_GRAPH_NONE) {
        struct tr_text nearest =
            tri_keys_nearest(definition, name, input_at, check, check->inputs->count);
        struct tr_text remedy =
            did_you_mean(check, "inputs.", nearest, "declare it under inputs, or name another");
        tri_report_add(definition->report, place_of(check), "VariableNameNotFound",
                       "the template {{.inputs.%.*s}} names no input of the task\n%.*s",
                       TRI_SHOWN(name), TRI_TEXT(remedy));
    } else if (type != NULL && rendering_of(type) == NO_TEXT) {
        struct tr_text type_text = tr_type_text(definition->scratch, type);
        tri_report_add(definition->report, place_of(check), "MismatchingTypes",
                       "the template {{.inputs.%.*s}} is of type %.*s, which has no form as text\n"
                       "read it from $TROUPE_INPUTS, or declare an input for the part of it that "
                       "is needed",
                       TRI_SHOWN(name), TRI_SHOWN(type_text));
    }
}

/* The name without `.` or `$` in front. `{{inputs.x}}` lacks it and is meant as `{{.inputs.x}}`. */
static struct tr_text bare(struct tr_text name)
{
    bool has_mark = name.size > 0 && (name.data[0] == '.' || name.data[0] == '$');
    return has_mark ? (struct tr_text){.data = name.data + 1, .size = name.size - 1} : name;
}

static void check_name(struct check *check, const struct tr_template *template)
{
    if (template->which == TR_TEMPLATE_TASK_DOCUMENT) {
        tri_report_add(check->definition->report, place_of(check), "InvalidValue",
                       "the template %.*s asks for task.pb, which is not written\n%s",
                       TRI_SHOWN(template->whole), TR_TEMPLATE_TASK_DOCUMENT_REMEDY);
    }
}

/*
 * What to write for a template that names nothing: a function that does not exist, Go's order of
 * function and argument (`quote .x`), else the nearest name.
 */
static struct tr_text remedy_of(struct check *check, const struct tr_template *template)
{
    static const char function[] = TR_TEMPLATE_QUOTE " ";
    struct tr_text name = template->name;
    size_t size = sizeof function - 1;
    if (template->function.size > 0 && bare(name).size < name.size) {
        return tr_text_of("a value may be handed to " TR_TEMPLATE_QUOTE " alone, as in "
                          "{{.inputs.NAME | " TR_TEMPLATE_QUOTE "}}");
    }
    if (name.size > size && memcmp(name.data, function, size) == 0) {
        return tr_arena_print(check->definition->scratch, "write {{%.*s | " TR_TEMPLATE_QUOTE "}}",
                              TRI_SHOWN(((struct tr_text){name.data + size, name.size - size})));
    }
    struct tr_text nearest = tri_keys_nearest(check->definition, bare(name), candidate_at, check,
                                              check->inputs->count + TR_TEMPLATE_COUNT);
    return did_you_mean(check, "", nearest,
                        "write {{.inputs.NAME}}, or for text that holds braces {{`...`}}");
}

static void tell_unknown(struct check *check, const struct tr_template *template)
{
    struct tr_text remedy = remedy_of(check, template);
    tri_report_add(check->definition->report, place_of(check), "InvalidValue",
                   "the template %.*s names nothing that there is\n%.*s",
                   TRI_SHOWN(template->whole), TRI_TEXT(remedy));
}

static void tell_open(struct check *check, const struct tr_template *template)
{
    tri_report_add(check->definition->report, place_of(check), "SyntaxError",
                   "the template '%.*s' has no end\n"
                   "close it with }}, or write {{`{{`}} for the braces",
                   TRI_SHOWN(template->whole));
}

static void check_one(struct check *check, const struct tr_template *template)
{
    switch (template->kind) {
    case TR_TEMPLATE_IS_INPUT:
        check_input(check, template->name);
        break;
    case TR_TEMPLATE_IS_NAME:
        check_name(check, template);
        break;
    case TR_TEMPLATE_IS_TEXT:
        break;
    case TR_TEMPLATE_IS_UNKNOWN:
        tell_unknown(check, template);
        break;
    case TR_TEMPLATE_IS_OPEN:
        tell_open(check, template);
        break;
    }
}

void tri_definition_check_template(struct tri_definition *definition, struct tr_text text,
                                   const struct tr_variables *inputs)
{
    struct check check = {.definition = definition, .inputs = inputs};
    struct tr_text before;
    struct tr_template template;
    while (tr_template_next(&text, &before, &template)) {
        check_one(&check, &template);
    }
}

/* ------------------------------------------------------------------- scripts and texts */

/*
 * A value in a script is code, unless it is quoted, and not in quotes that end where its own do.
 * Only types whose values may hold any text are looked at: a number is the same in a script as
 * outside.
 */
static void check_script(const struct check *check, const struct tri_script *script,
                         const struct tr_template *template)
{
    struct tr_report *report = check->definition->report;
    uint32_t input = template->kind == TR_TEMPLATE_IS_INPUT
                         ? tr_variables_find(check->inputs, template->name)
                         : TR_GRAPH_NONE;
    const struct tr_type *type = input == TR_GRAPH_NONE ? NULL : check->inputs->items[input].type;
    if (type == NULL || rendering_of(type) != ANY_TEXT) {
        return;
    }
    if (!template->is_quoted) {
        tri_report_warn(report, check->text->place,
                        "the shell takes the value of %.*s for a part of its script\n"
                        "write {{.inputs.%.*s | " TR_TEMPLATE_QUOTE "}}, outside of quotes",
                        TRI_SHOWN(template->whole), TRI_SHOWN(template->name));
    } else if (tri_script_is_in_quotes(script)) {
        tri_report_warn(report, check->text->place,
                        "%.*s brings its own quotes, and stands inside of others\n"
                        "remove those around it",
                        TRI_SHOWN(template->whole));
    }
}

static bool warn_of_name(const struct check *check, struct tr_text shown, struct tr_text name)
{
    if (tr_variables_find(check->inputs, name) == TR_GRAPH_NONE) {
        return false;
    }
    tri_report_warn(check->definition->report, check->text->place,
                    "'%.*s' is plain text in a task\nwrite {{.inputs.%.*s}}", TRI_SHOWN(shown),
                    TRI_SHOWN(name));
    return true;
}

/*
 * `$x` and `{$x}` are how nodes refer to values; here they are text, or those of another language,
 * whose programs hold blanks.
 */
static void check_dollar(const struct check *check)
{
    struct tr_text text = check->text->text;
    const char *end = text.data + text.size;
    if (text.size > 1 && text.data[0] == '$' &&
        warn_of_name(check, text, (struct tr_text){.data = text.data + 1, .size = text.size - 1})) {
        return;
    }
    bool is_program = text.size > 0 && memchr(text.data, ' ', text.size) != NULL;
    for (const char *at = text.data; !is_program && check->text->has_dollar && at + 2 < end; at++) {
        const char *close = memcmp(at, "{$", 2) == 0 ? memchr(at, '}', (size_t)(end - at)) : NULL;
        if (close != NULL &&
            warn_of_name(check, (struct tr_text){.data = at, .size = (size_t)(close + 1 - at)},
                         (struct tr_text){.data = at + 2, .size = (size_t)(close - at) - 2})) {
            return;
        }
    }
}

/*
 * A text that is filled in. In a script the state of quotes is carried from one template to the
 * next: `before` is read first, so the state is that of the place where the value will stand.
 */
static void check_text(struct check *check, const struct tr_tree *tree)
{
    struct tr_text text = tree->text;
    struct tr_text before;
    struct tr_template template;
    struct tri_script script = {.quote = '\0'};
    bool is_script = tree == check->script;
    check->text = tree;
    if (!is_script) {
        check_dollar(check);
    }
    while (tr_template_next(&text, &before, &template)) {
        check_one(check, &template);
        if (is_script) {
            tri_script_read(&script, before);
            check_script(check, &script, &template);
        }
    }
}

/* A text that is not, as keys are. */
static void refuse_templates(const struct check *check, const struct tr_tree *tree)
{
    struct tr_text text = tree->text;
    struct tr_text before;
    struct tr_template template;
    while (tr_template_next(&text, &before, &template)) {
        if (template.kind != TR_TEMPLATE_IS_OPEN) {
            tri_report_add(check->definition->report, tree->place, "InvalidValue",
                           "the template %.*s is not filled in here\n"
                           "write it in run, in a value of env, or in a text of config",
                           TRI_SHOWN(template.whole));
        }
    }
}

static bool is_list(const struct tr_tree *tree)
{
    return tree != NULL && tree->kind == TR_TREE_LIST;
}

/*
 * Notes the script that a command holds: `run`, or a container's `command` with its `args`, at any
 * depth of `config`. The words are visited after their list, so the script is known by then.
 */
static void find_script(struct check *check, const struct tr_tree *tree)
{
    const struct tr_tree *command =
        tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "command") : tree;
    const struct tr_tree *arguments = tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "args") : NULL;
    const struct tr_tree *script =
        is_list(command) ? tri_script_find(command, is_list(arguments) ? arguments : NULL) : NULL;
    check->script = script != NULL ? script : check->script;
}

/* Recursion goes as deep as trees do. */
static void check_tree(struct check *check, const struct tr_tree *tree, bool is_filled)
{
    if (tr_tree_is_text(tree) && is_filled) {
        check_text(check, tree);
    } else if (tr_tree_is_text(tree)) {
        refuse_templates(check, tree);
    } else {
        find_script(check, tree);
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_LIST && i < tree->count; i++) {
        check_tree(check, tree->items[i], is_filled);
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_MAP && i < tree->count; i++) {
        refuse_templates(check, tree->pairs[i].key);
        check_tree(check, tree->pairs[i].value, is_filled);
    }
}

/*
 * Secrets and cache are walked as well, though nothing is filled in there: a template in them is an
 * error, and would go out as plain text otherwise.
 */
void tri_definition_check_templates(struct tri_definition *definition, const struct tr_tree *tree,
                                    const struct tr_variables *inputs)
{
    static const struct {
        const char *key;
        bool is_filled;
    } parts[] = {
        {"run", true}, {"env", true}, {"config", true}, {"secrets", false}, {"cache", false}};
    struct check check = {.definition = definition, .inputs = inputs};
    for (size_t i = 0; i < TR_COUNT_OF(parts); i++) {
        const struct tr_tree *part = tr_tree_find(tree, parts[i].key);
        if (part != NULL) {
            check_tree(&check, part, parts[i].is_filled);
        }
    }
}
