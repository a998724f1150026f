/*
 * Tasks with their variables, and pools.
 *
 * Types and defaults are read at once, as they need nothing but themselves; the interface is then
 * fixed before any node is looked at. What a graph keeps is copied into its arena here, since the
 * tree ends with the compilation.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/language/keys.h"

/* One variable while its keys are read. */
struct declaration {
    struct tr_variable variable;
    const struct tr_tree *type;
    const struct tr_tree *value;
};

static void read_declared_type(struct tri_definition *definition, const struct tr_tree *value,
                               void *target)
{
    struct declaration *declaration = target;
    (void)definition;
    declaration->type = value;
}

static void read_default(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct declaration *declaration = target;
    (void)definition;
    declaration->value = value;
}

static void read_variable_description(struct tri_definition *definition,
                                      const struct tr_tree *value, void *target)
{
    struct declaration *declaration = target;
    (void)tri_keys_read_text(definition, value, &declaration->variable.description);
}

/*
 * A mapping is a declaration unless its only key is `string`, which makes it the type of a map. So
 * `{string: int}` is a type, and an unknown key beside `string` is reported as one of a
 * declaration.
 */
static bool is_declaration(const struct tr_tree *tree)
{
    return tree->kind == TR_TREE_MAP &&
           !(tree->count == 1 && tr_text_equal(tree->pairs[0].key->text, tr_text_of("string")));
}

static void split_declaration(struct tri_definition *definition, const struct tr_tree *tree,
                              bool is_input, struct declaration *declaration)
{
    static const struct tri_key keys[] = {{"type", read_declared_type, 0},
                                          {"default", read_default, 0},
                                          {"description", read_variable_description, 0}};
    if (!is_declaration(tree)) {
        declaration->type = tree;
        return;
    }
    tri_keys_read_keys(definition, tree, "a declaration", keys, TR_COUNT_OF(keys), declaration);
    if (declaration->type == NULL) {
        tri_report_add(definition->report, tree->place, "ValueRequired",
                       "the declaration has no type\nadd type: T, or write the type alone");
    }
    if (declaration->value != NULL && !is_input) {
        tri_report_add(definition->report, declaration->value->place, "InvalidValue",
                       "an output has no default\nremove it");
    }
}

/*
 * The value that an input has when none is given: its default, or none where its type allows it. A
 * relative path in a default counts from the folder of the file. `has_default` stays false where
 * the value does not fit, which is reported.
 */
static void read_default_value(struct tri_definition *definition, const struct tr_tree *value,
                               struct tr_variable *variable)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    if (value != NULL) {
        struct tr_literal_reader reader = {.report = definition->report,
                                           .arena = definition->scratch,
                                           .folder = definition->folder};
        variable->has_default = tr_literal_read(&reader, variable->type, value, &buffer);
    } else if (tr_type_is_optional(variable->type)) {
        const struct tr_tree none = {.kind = TR_TREE_NULL, .weight = 1, .text = tr_text_of("")};
        struct tr_literal_reader reader = {.report = definition->report,
                                           .arena = definition->scratch};
        variable->has_default = tr_literal_read(&reader, variable->type, &none, &buffer);
    }
    variable->default_value = tr_arena_bytes(definition->arena, tr_buffer_bytes(&buffer));
    tr_buffer_fini(&buffer);
}

/* Variable and place are added together, so that positions in the two arrays agree. */
void tri_definition_add_variable(struct tri_definition *definition, struct tri_name name,
                                 const struct tr_variable *given, bool is_input,
                                 const struct tr_tree *value, struct tri_variables *variables)
{
    struct tr_variable added = *given;
    added.name = tr_arena_text(definition->arena, name.text);
    if (added.type != NULL && is_input) {
        read_default_value(definition, value, &added);
    }
    struct tr_variable *variable =
        tri_vector_add(definition->arena, &variables->items, sizeof *variable);
    struct tri_place *place =
        tri_vector_add(definition->scratch, &variables->places, sizeof *place);
    if (variable != NULL && place != NULL) {
        *variable = added;
        *place = name.place;
    }
}

void tri_definition_close_variables(struct tri_definition *definition,
                                    const struct tri_variables *added,
                                    struct tr_variables *variables)
{
    const uint32_t *by_name =
        tri_variables_sort(definition->arena, added->items.items, added->items.count);
    if (by_name != NULL) {
        *variables = (struct tr_variables){
            .items = added->items.items, .by_name = by_name, .count = added->items.count};
    }
}

/* A variable whose type is wrong is added without a type, so that references to it find it. */
static void read_variable(struct tri_definition *definition, const struct tr_pair *pair,
                          bool is_input, struct tri_variables *variables)
{
    struct tri_name name;
    struct declaration declaration = {.variable = {.description = tr_text_of("")}};
    definition->key = tr_text_of("");
    if (!tri_keys_read_name(definition, pair->key, &name)) {
        return;
    }
    split_declaration(definition, pair->value, is_input, &declaration);
    if (declaration.type == NULL) {
        return;
    }
    declaration.variable.type =
        tr_type_read(definition->types, definition->report, declaration.type);
    tri_definition_add_variable(definition, name, &declaration.variable, is_input,
                                declaration.value, variables);
}

void tri_definition_read_variables(struct tri_definition *definition, const struct tr_tree *tree,
                                   bool is_input, struct tr_variables *variables,
                                   const struct tri_place **places)
{
    struct tri_variables read = {0};
    if (!tri_keys_expect_map(definition, tree, is_input ? "inputs" : "outputs")) {
        return;
    }
    if (tree->count > TR_VARIABLES_MAX) {
        tri_report_add(definition->report, tree->place, "InvalidValue",
                       "these are more than %u variables\nput some into a struct or a list",
                       TR_VARIABLES_MAX);
        return;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        read_variable(definition, &tree->pairs[i], is_input, &read);
    }
    tri_definition_close_variables(definition, &read, variables);
    if (places != NULL) {
        *places = read.places.items;
    }
}

static void read_inputs(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tri_task *task = target;
    tri_definition_read_variables(definition, value, true, &task->task.interface.inputs, NULL);
}

static void read_outputs(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_task *task = target;
    tri_definition_read_variables(definition, value, false, &task->task.interface.outputs, NULL);
}

static void read_run(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_task *task = target;
    if (!tri_keys_expect_list(definition, value, "run")) {
        return;
    }
    if (value->count == 0 || value->count > TR_RUN_WORDS_MAX) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "run has %u words\nwrite a program and its arguments, at most %u words",
                       value->count, TR_RUN_WORDS_MAX);
        return;
    }
    struct tr_text *words = tr_arena_array(definition->arena, value->count, sizeof *words);
    for (uint32_t i = 0; words != NULL && i < value->count; i++) {
        words[i] = tr_text_of("");
        /* An argument may be empty if it is quoted; the program may not. */
        bool is_blank = value->items[i]->kind == TR_TREE_STRING && value->items[i]->text.size == 0;
        if (i == 0 || !is_blank) {
            (void)tri_keys_read_text(definition, value->items[i], &words[i]);
        }
    }
    task->task.argv = words;
    task->task.argc = words == NULL ? 0 : value->count;
}

static void read_type(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_task *task = target;
    task->task.origin = tri_definition_origin(definition, value->place);
    (void)tri_keys_read_text(definition, value, &task->task.type);
}

static void read_stdin(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    static const char *const words[] = {"inputs"};
    struct tri_task *task = target;
    uint32_t position;
    task->task.is_stdin_inputs = tri_keys_read_word(definition, value, words, 1, &position);
}

static void read_stdout(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    static const char *const words[] = {"outputs"};
    struct tri_task *task = target;
    uint32_t position;
    task->task.is_stdout_outputs = tri_keys_read_word(definition, value, words, 1, &position);
}

static void read_task_description(struct tri_definition *definition, const struct tr_tree *value,
                                  void *target)
{
    struct tri_task *task = target;
    (void)tri_keys_read_text(definition, value, &task->task.description);
}

/*
 * A task has a type, and a process has a command. `run` alone means a process; a plugin's type may
 * go with or without `run`, which is then the plugin's matter.
 */
static void check_type(struct tri_definition *definition, const struct tr_tree *tree,
                       struct tri_task *task)
{
    bool is_run = tr_tree_find(tree, "run") != NULL;
    bool is_process = tr_text_equal(task->task.type, tr_text_of("process"));
    if (task->task.type.size == 0 && is_run) {
        task->task.type = tr_text_of("process");
    } else if (!is_run && (is_process || tr_tree_find(tree, "type") == NULL)) {
        tri_report_add(definition->report, task->name.place, "ValueRequired",
                       "the task does not say what it runs\n"
                       "add run: [program, argument], or the type of a plugin");
    }
}

/*
 * The plugin's own part is packed by the core schema, as no type is declared for it; the plugin
 * checks it against its schema. Paths in it stay as they are, since only the plugin knows what is a
 * path.
 */
void tri_definition_pack_config(struct tri_definition *definition, struct tri_settings *settings)
{
    if (settings->config == NULL) {
        return;
    }
    struct tr_literal_reader reader = {.report = definition->report, .arena = definition->scratch};
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    if (tr_literal_read(&reader, NULL, settings->config, &buffer)) {
        settings->settings.config = tr_arena_bytes(definition->arena, tr_buffer_bytes(&buffer));
    }
    tr_buffer_fini(&buffer);
}

void tri_definition_begin_task(const struct tri_definition *definition, struct tri_task *task)
{
    task->source = definition->source;
    task->task.name = tr_arena_text(definition->arena, task->name.text);
    task->task.folder = definition->folder;
    task->task.origin = tri_definition_origin(definition, task->name.place);
    task->task.type = task->task.description = tr_text_of("");
    tri_definition_begin_settings(&task->settings);
}

static void read_task(struct tri_definition *definition, const struct tr_tree *tree, void *target)
{
    static const struct tri_key keys[] = {
        {"inputs", read_inputs, 0},
        {"outputs", read_outputs, 0},
        {"run", read_run, 0},
        {"type", read_type, 0},
        {"stdin", read_stdin, 0},
        {"stdout", read_stdout, 0},
        {"description", read_task_description, 0},
        TRI_SETTING_ROWS(0),
    };
    struct tri_task *task = target;
    struct tri_name first;
    tri_definition_begin_task(definition, task);
    /*
     * The first pass reads what only tasks have and knows the names of the settings; the second
     * reads the settings. Templates come last: they need the inputs, and a mapping has no order.
     */
    tri_keys_read_keys(definition, tree, "a task", keys, TR_COUNT_OF(keys), task);
    tri_keys_read_settings(definition, tree, &task->settings, &first);
    tri_definition_pack_config(definition, &task->settings);
    if (tree->kind == TR_TREE_MAP) {
        check_type(definition, tree, task);
        tri_definition_check_templates(definition, tree, &task->task.interface.inputs);
    }
}

void tri_definition_read_tasks(struct tri_definition *definition, const struct tr_tree *tree)
{
    tri_keys_read_named(definition, tree, "tasks", &definition->tasks, sizeof(struct tri_task),
                        read_task);
}

static void read_at_once(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_pool *pool = target;
    (void)tri_keys_read_count(definition, value, 1, UINT32_MAX - 1, &pool->pool.at_once);
}

static void read_per_second(struct tri_definition *definition, const struct tr_tree *value,
                            void *target)
{
    struct tri_pool *pool = target;
    (void)tri_keys_read_positive(definition, value, &pool->pool.per_second);
}

static void read_pool(struct tri_definition *definition, const struct tr_tree *tree, void *target)
{
    static const struct tri_key keys[] = {{"at_once", read_at_once, 0},
                                          {"per_second", read_per_second, 0}};
    struct tri_pool *pool = target;
    pool->pool.name = tr_arena_text(definition->arena, pool->name.text);
    tri_keys_read_keys(definition, tree, "a pool", keys, TR_COUNT_OF(keys), pool);
    if (tree->kind == TR_TREE_MAP && tree->count == 0) {
        tri_report_add(definition->report, pool->name.place, "ValueRequired",
                       "the pool bounds nothing\nadd at_once: N or per_second: N");
    }
}

void tri_definition_read_pools(struct tri_definition *definition, const struct tr_tree *tree)
{
    tri_keys_read_named(definition, tree, "pools", &definition->pools, sizeof(struct tri_pool),
                        read_pool);
}
