/*
 * Tasks. What has a container runs as a process on this machine: its command and arguments, in its
 * environment; the image is not looked at. Any other task keeps its type, for a plugin, and
 * `custom` is its configuration.
 *
 * A map task of flytekit's takes whole lists and picks its element by an index. Here elements get
 * their own inputs, so such a task becomes the one that it maps: its lists are taken off, and its
 * arguments name the inner task as flytekit itself would.
 */
#include <fnmatch.h>
#include <string.h>

#include "actors/graph/import/import_inside.h"
#include "actors/graph/value/template.h"

/* Words of flytekit's command lines. */
#define EXECUTE "pyflyte-execute"
#define MAP_EXECUTE "pyflyte-map-execute"
#define FAST_EXECUTE "pyflyte-fast-execute"
#define PYTHON_PATH "PYTHONPATH"
#define WARM "TROUPE_WARM"

/* ------------------------------------------------------------------ map tasks */

/*
 * Where the words that name a map task's inner one begin: "vars" NAMES "resolver" RESOLVER. 0 if
 * there are none; it is no position for them, as the command's options stand before.
 */
static size_t find_inner(const Flyteidl__Core__Container *container)
{
    for (size_t i = 0; i + 3 < container->n_args; i++) {
        if (strcmp(container->args[i], "vars") == 0 &&
            strcmp(container->args[i + 2], "resolver") == 0) {
            return i;
        }
    }
    return 0;
}

static bool is_map_task(const flyte_task *task)
{
    const Flyteidl__Core__Container *container =
        task->target_case == FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER ? task->container
                                                                             : NULL;
    for (size_t i = 0; container != NULL && i < container->n_args; i++) {
        if (strcmp(container->args[i], MAP_EXECUTE) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * Whether a name is among those that are handed on whole: names between commas. Names are compared
 * whole, not searched for, as the one from the interface may be empty: nothing has checked it yet.
 */
static bool is_whole(const char *names, const char *name)
{
    struct tr_text wanted = tr_text_of(name);
    for (const char *at = names; *at != '\0';) {
        struct tr_text part = {.data = at, .size = strcspn(at, ",")};
        if (tr_text_equal(part, wanted)) {
            return true;
        }
        at += part.size;
        at += *at == ',' ? 1 : 0;
    }
    return false;
}

bool tri_import_is_whole(const struct tri_import *import, const flyte_task *task, const char *input)
{
    const struct tri_import_mapped *maps = import->maps.items;
    for (uint32_t i = 0; i < import->maps.count; i++) {
        if (maps[i].task == task) {
            return is_whole(maps[i].whole, input);
        }
    }
    return false;
}

/*
 * Variables of a map task, their lists taken off but for those in `whole`, which every element gets
 * as they are. The types are changed in the message, which lives in our arena.
 */
static void take_lists_off(flyte_variables *variables, const char *whole)
{
    for (size_t i = 0; variables != NULL && i < variables->n_variables; i++) {
        Flyteidl__Core__VariableMap__VariablesEntry *entry = variables->variables[i];
        flyte_type *type = entry->value == NULL ? NULL : entry->value->type;
        bool is_list =
            type != NULL && type->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_COLLECTION_TYPE;
        if (is_list && !is_whole(whole, entry->key)) {
            entry->value->type = type->collection_type;
        }
    }
}

/*
 * Makes the inner task of a map task; false when its words are not flytekit's. The arguments end as
 *
 *     --resolver MAPPER -- vars NAMES resolver INNER loader-arguments...
 *
 * INNER takes the place of MAPPER, the four words from `vars` on are taken out, and the program is
 * the one that executes a single task.
 */
static bool become_inner(struct tri_import *import, const flyte_task *task)
{
    Flyteidl__Core__Container *container = task->container;
    size_t inner = find_inner(container);
    size_t resolver = inner < 3 ? 0 : inner - 2; /* behind "--resolver", before "--" */
    if (resolver == 0 || task->interface == NULL) {
        return false;
    }
    struct tri_import_mapped *mapped = tri_vector_add(import->arena, &import->maps, sizeof *mapped);
    if (mapped != NULL) {
        *mapped = (struct tri_import_mapped){.task = task, .whole = container->args[inner + 1]};
    }
    take_lists_off(task->interface->inputs, container->args[inner + 1]);
    take_lists_off(task->interface->outputs, "");
    container->args[resolver] = container->args[inner + 3];
    for (size_t i = inner; i + 4 < container->n_args; i++) {
        container->args[i] = container->args[i + 4];
    }
    container->n_args -= 4;
    for (size_t i = 0; i < container->n_args; i++) {
        static char execute[] = EXECUTE;
        if (strcmp(container->args[i], MAP_EXECUTE) == 0) {
            container->args[i] = execute;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ fast packages */

/* What a task was applied with; NULL: it is the package's own, or of futures.pb. */
static const struct tr_entity *applied_of(const struct tri_import *import, const flyte_task *task)
{
    const struct tri_flyte_entity *entity = tri_import_find(import, TR_ENTITY_TASK, task->id);
    return entity == NULL ? NULL : entity->applied;
}

bool tri_import_serializes(const flyte_task *task)
{
    const Flyteidl__Core__Container *container =
        task->target_case == FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER ? task->container
                                                                             : NULL;
    for (size_t i = 0; container != NULL && i < container->n_env; i++) {
        if (strcmp(container->env[i]->key, "_F_SS_C") == 0) {
            return true;
        }
    }
    return false;
}

/*
 * A task of a fast package says pyflyte-fast-execute OPTIONS -- COMMAND: fetch an archive of its
 * code, unpack it, run the command with it. Here the code was unpacked once, before anything began:
 * the command is what runs, and finds its modules where PYTHONPATH says. False where nobody knows
 * the code.
 */
static bool take_code(const struct tri_import *import, const flyte_task *task)
{
    Flyteidl__Core__Container *container = task->container;
    bool is_fast = container->n_args > 0 && strcmp(container->args[0], FAST_EXECUTE) == 0;
    size_t end = 0;
    while (is_fast && end < container->n_args && strcmp(container->args[end], "--") != 0) {
        end++;
    }
    if (!is_fast || end == container->n_args) {
        return true;
    }
    container->args += end + 1;
    container->n_args -= end + 1;
    return import->package == NULL || import->package->has_code || applied_of(import, task) != NULL;
}

/* ------------------------------------------------------------------ templates */

/*
 * Flyte hands on what its templates do not know, and the language refuses it. So the opening braces
 * of such a template are written as text, {{`{{`}}, and the rest of it follows as it is.
 */
static struct tr_text keep_unknown(struct tr_arena *arena, struct tr_text text)
{
    struct tr_buffer kept;
    struct tr_text before;
    struct tr_template template;
    bool is_one = true;
    tr_buffer_init(&kept, 0);
    while (is_one) {
        is_one = tr_template_next(&text, &before, &template);
        tr_buffer_add_text(&kept, before);
        bool is_unknown = is_one && (template.kind == TR_TEMPLATE_IS_UNKNOWN ||
                                     template.kind == TR_TEMPLATE_IS_OPEN);
        if (is_unknown) {
            tr_buffer_add_string(&kept, "{{`{{`}}");
            tr_buffer_add(&kept, template.whole.data + 2, template.whole.size - 2);
        } else if (is_one) {
            tr_buffer_add_text(&kept, template.whole);
        }
    }
    struct tr_text copy = tr_arena_text(arena, tr_buffer_text(&kept));
    arena->error = arena->error != 0 ? arena->error : kept.error;
    tr_buffer_fini(&kept);
    return copy;
}

/* A text that is filled in when the task runs, in the definition's arena. */
static struct tr_text filled_text(struct tri_import *import, struct tr_text text)
{
    return tr_template_is_in(text.data, text.size) ? keep_unknown(import->definition->arena, text)
                                                   : tri_import_keep(import, text);
}

/* The same of all texts in a value. Recursion goes as deep as documents do. */
static void keep_templates(struct tri_import *import, struct tr_tree *tree)
{
    if (tree->kind == TR_TREE_STRING) {
        tree->text = filled_text(import, tree->text);
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_LIST && i < tree->count; i++) {
        keep_templates(import, tree->items[i]);
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_MAP && i < tree->count; i++) {
        /* The tree was made here, so it may be changed here. */
        keep_templates(import, (struct tr_tree *)(uintptr_t)tree->pairs[i].value);
    }
}

static void check_templates(struct tri_import *import, const struct tr_tree *tree,
                            const struct tr_variables *inputs)
{
    if (tree->kind == TR_TREE_STRING) {
        tri_definition_check_template(import->definition, tree->text, inputs);
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_LIST && i < tree->count; i++) {
        check_templates(import, tree->items[i], inputs);
    }
    for (uint32_t i = 0; tree->kind == TR_TREE_MAP && i < tree->count; i++) {
        check_templates(import, tree->pairs[i].value, inputs);
    }
}

/* ------------------------------------------------------------------ commands */

static bool take_words(struct tri_import *import, const flyte_task *message, struct tr_task *task)
{
    const Flyteidl__Core__Container *container = message->container;
    size_t own = container->n_command + container->n_args;
    struct tr_text *words =
        tr_arena_array(import->definition->arena, TRI_IMPORT_COPILOT_WORDS + own, sizeof *words);
    uint32_t count = 0;
    if (words == NULL) {
        return false;
    }
    if (container->data_config != NULL && container->data_config->enabled) {
        count = tri_import_copilot(import, message, words);
    }
    if (count + own == 0 || count + own > TR_RUN_WORDS_MAX) {
        tri_report_add(import->report, TRI_IMPORT_NOWHERE, "ValueRequired",
                       "its command has %zu words\n"
                       "give the container a program and its arguments, at most %u words",
                       count + own, TR_RUN_WORDS_MAX);
        return false;
    }
    for (size_t i = 0; i < own; i++) {
        const char *word = i < container->n_command ? container->command[i]
                                                    : container->args[i - container->n_command];
        words[count++] = tr_text_of(word);
    }
    for (uint32_t i = 0; i < count; i++) {
        words[i] = filled_text(import, words[i]);
        tri_definition_check_template(import->definition, words[i], &task->interface.inputs);
    }
    task->argv = words;
    task->argc = count;
    return words[0].size > 0 ||
           tri_import_tell(import, "ValueRequired",
                           "its command has no program\nlet the container's first word be one");
}

/* ------------------------------------------------------------------ environments */

static bool has_variable(const Flyteidl__Core__Container *container, const char *name)
{
    for (size_t i = 0; i < container->n_env; i++) {
        if (strcmp(container->env[i]->key, name) == 0) {
            return true;
        }
    }
    return false;
}

bool tri_import_check_variable_name(struct tri_import *import, const char *name)
{
    if (name[0] != '\0' && strchr(name, '=') == NULL) {
        return true;
    }
    tri_report_add(import->report, TRI_IMPORT_NOWHERE, "InvalidValue",
                   "'%s' is no name of an environment variable\ngive it one without '='", name);
    return false;
}

static void add_variable(struct tri_import *import, struct tri_vector *variables, const char *name,
                         struct tr_text value)
{
    struct tr_environment *added =
        tri_vector_add(import->definition->arena, variables, sizeof *added);
    if (added != NULL) {
        *added = (struct tr_environment){.name = tri_import_keep(import, tr_text_of(name)),
                                         .value = filled_text(import, value)};
    }
}

/*
 * A variable that is not the container's own. Without a value it is passed on from the engine, or
 * from the task that decides the graph; with one it may be a place on this machine.
 */
static void pass_variable(struct tri_import *import, const Flyteidl__Core__Container *container,
                          struct tri_vector *variables, const char *name, struct tr_text value,
                          bool is_place)
{
    if (!has_variable(container, name)) {
        add_variable(import, variables, name, value);
        struct tr_environment *items = variables->items;
        if ((is_place || value.size == 0) && import->definition->arena->error == 0) {
            items[variables->count - 1].is_passed_on = true;
        }
    }
}

/* What flytekit asks its environment about the task. */
static void add_identity(struct tri_import *import, const flyte_task *task,
                         struct tri_vector *variables)
{
    const flyte_identifier *id = task->id;
    const struct {
        const char *name;
        const char *value;
    } rows[] = {
        {"FLYTE_INTERNAL_IMAGE", task->container->image},
        {"FLYTE_INTERNAL_TASK_PROJECT", id->project},
        {"FLYTE_INTERNAL_TASK_DOMAIN", id->domain},
        {"FLYTE_INTERNAL_TASK_NAME", id->name},
        {"FLYTE_INTERNAL_TASK_VERSION", id->version},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        if (rows[i].value[0] != '\0') {
            pass_variable(import, task->container, variables, rows[i].name,
                          tr_text_of(rows[i].value), false);
        }
    }
}

struct tr_text tri_import_image_path(const struct tr_flyte_package *package, const char *image)
{
    for (size_t i = 0; i < package->path_count; i++) {
        if (fnmatch(package->paths[i].images, image, 0) == 0) {
            return package->paths[i].path;
        }
    }
    return package->path;
}

struct tr_text tri_import_path(const struct tr_flyte_package *package, const flyte_task *task)
{
    bool has_container = task->target_case == FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER;
    return has_container ? tri_import_image_path(package, task->container->image) : package->path;
}

/* Where the program and its modules are found, as the image that would have them is not used. */
static void add_places(struct tri_import *import, const flyte_task *task,
                       struct tri_vector *variables)
{
    const struct tr_flyte_package *package = import->package;
    const struct tr_entity *applied = applied_of(import, task);
    struct tr_text none = tr_text_of("");
    const struct {
        const char *name;
        struct tr_text value;
    } rows[] = {
        {"PATH", applied != NULL   ? applied->path
                 : package == NULL ? none
                                   : tri_import_path(package, task)},
        {PYTHON_PATH, applied != NULL   ? applied->python_path
                      : package == NULL ? none
                                        : package->python_path},
        {WARM, applied != NULL   ? applied->warm
               : package == NULL ? none
                                 : package->warm},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        pass_variable(import, task->container, variables, rows[i].name, rows[i].value, true);
    }
}

static bool take_environment(struct tri_import *import, const flyte_task *task,
                             const struct tr_variables *inputs, struct tr_settings *settings)
{
    const Flyteidl__Core__Container *container = task->container;
    struct tri_vector variables = {0};
    bool is_fine = true;
    for (size_t i = 0; i < container->n_env; i++) {
        is_fine = tri_import_check_variable_name(import, container->env[i]->key) && is_fine;
        add_variable(import, &variables, container->env[i]->key,
                     tr_text_of(container->env[i]->value));
    }
    add_identity(import, task, &variables);
    add_places(import, task, &variables);
    settings->environment = variables.items;
    settings->environment_count = variables.count;
    for (uint32_t i = 0; i < variables.count; i++) {
        tri_definition_check_template(import->definition, settings->environment[i].value, inputs);
    }
    return tri_import_check_unique(import, variables.items, variables.count,
                                   sizeof(struct tr_environment), "variable") &&
           is_fine;
}

/* ------------------------------------------------------------------ secrets */

/* The variable in which flytekit looks for a secret: _FSEC_ and its parts in large letters. */
static struct tr_text secret_variable(struct tri_import *import,
                                      const Flyteidl__Core__Secret *secret)
{
    bool has_version = secret->group_version[0] != '\0';
    struct tr_text name =
        tr_arena_print(import->definition->arena, "_FSEC_%s%s%s_%s", secret->group,
                       has_version ? "_" : "", secret->group_version, secret->key);
    char *letters = (char *)(uintptr_t)name.data; /* printed for this call */
    for (size_t i = 0; i < name.size; i++) {
        bool is_small = letters[i] >= 'a' && letters[i] <= 'z';
        letters[i] = (char)(letters[i] - (is_small ? 'a' - 'A' : 0));
    }
    return name;
}

static bool add_secret(struct tri_import *import, const Flyteidl__Core__Secret *secret,
                       struct tr_text name, struct tri_vector *secrets)
{
    struct tr_secret *added = tri_vector_add(import->definition->arena, secrets, sizeof *added);
    if (added != NULL) {
        *added = (struct tr_secret){.name = name,
                                    .group = tri_import_keep(import, tr_text_of(secret->group)),
                                    .key = tri_import_keep(import, tr_text_of(secret->key)),
                                    .version =
                                        tri_import_keep(import, tr_text_of(secret->group_version))};
    }
    return name.data != NULL && tri_import_check_variable_name(import, name.data);
}

/*
 * A secret goes into a variable, also where it is asked for as a file: flytekit looks there first.
 * One whose variable is named is there under both names.
 */
static bool take_secrets(struct tri_import *import, const flyte_task *task,
                         struct tr_settings *settings)
{
    const Flyteidl__Core__SecurityContext *context = task->security_context;
    struct tri_vector secrets = {0};
    bool is_fine = true;
    for (size_t i = 0; context != NULL && i < context->n_secrets; i++) {
        const Flyteidl__Core__Secret *secret = context->secrets[i];
        if (secret->group[0] == '\0' || secret->key[0] == '\0') {
            (void)tri_flyte_refuse(import->report, "a secret has no group or no key\n"
                                                   "name both: Secret(group=..., key=...)");
            is_fine = false;
            continue;
        }
        is_fine = add_secret(import, secret, secret_variable(import, secret), &secrets) && is_fine;
        if (secret->env_var[0] != '\0') {
            struct tr_text own = tri_import_keep(import, tr_text_of(secret->env_var));
            is_fine = add_secret(import, secret, own, &secrets) && is_fine;
        }
    }
    settings->secrets = secrets.items;
    settings->secret_count = secrets.count;
    return tri_import_check_unique(import, secrets.items, secrets.count, sizeof(struct tr_secret),
                                   "secret's variable") &&
           is_fine;
}

/* ------------------------------------------------------------------ tasks */

static bool take_container(struct tri_import *import, const flyte_task *message,
                           struct tri_task *task)
{
    struct tr_settings *settings = &task->settings.settings;
    const struct tri_import_settings given = {.settings = &task->settings};
    task->task.type = tr_text_of("process");
    bool is_fine = take_words(import, message, &task->task);
    is_fine = take_environment(import, message, &task->task.interface.inputs, settings) && is_fine;
    is_fine = tri_import_resources(import, message->container->resources, &given) && is_fine;
    task->task.extra = tri_import_task_extra(import, message, false);
    return take_secrets(import, message, settings) && is_fine;
}

/* A plugin's task. */
static bool take_custom(struct tri_import *import, const flyte_task *message, struct tri_task *task)
{
    task->task.type = tri_import_keep(import, tr_text_of(message->type));
    if (message->type[0] == '\0' || strcmp(message->type, "process") == 0) {
        return tri_import_tell(import, "ValueRequired",
                               "the task does not say what it runs\n"
                               "give it a container, or the type of a plugin");
    }
    task->task.extra = tri_import_task_extra(import, message, true);
    if (message->custom == NULL || message->custom->n_fields == 0) {
        return true;
    }
    struct tr_tree *config = tri_flyte_struct(import->arena, import->report, message->custom);
    if (config == NULL) {
        return false;
    }
    keep_templates(import, config);
    check_templates(import, config, &task->task.interface.inputs);
    task->settings.config = config;
    task->settings.settings.config_origin =
        tri_definition_origin(import->definition, TRI_IMPORT_NOWHERE);
    tri_definition_pack_config(import->definition, &task->settings);
    return true;
}

static bool take_metadata(struct tri_import *import, const flyte_task *message,
                          struct tri_task *task)
{
    const Flyteidl__Core__TaskMetadata *metadata = message->metadata;
    const struct tri_import_settings given = {.settings = &task->settings};
    if (metadata == NULL) {
        return true;
    }
    bool is_fine = tri_import_retries(import, metadata->retries, &given);
    is_fine = tri_import_timeout(import, metadata->timeout, &given) && is_fine;
    if (metadata->discoverable) {
        is_fine = tri_import_cache(import, message, metadata->discovery_version,
                                   metadata->cache_serializable, &given) &&
                  is_fine;
    }
    if (metadata->interruptible_value_case ==
        FLYTEIDL__CORE__TASK_METADATA__INTERRUPTIBLE_VALUE_INTERRUPTIBLE) {
        tri_import_interruptible(metadata->interruptible != 0, &given);
    }
    return is_fine;
}

/* Changes the message into what runs here. */
static bool prepare(struct tri_import *import, flyte_task *message)
{
    import->pod = NULL;
    if (!tri_import_unfold_pod(import, message)) {
        (void)tri_flyte_refuse(import->report,
                               "its pod has no container of the primary one's name\n"
                               "call one as primary_container_name= says");
        return false;
    }
    bool has_container = message->target_case == FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER;
    if (has_container && !take_code(import, message)) {
        return tri_import_tell(import, NULL,
                               "the task runs code of a fast package, which is not in this one\n"
                               "give the folder with its modules: --code FOLDER");
    }
    if (message->metadata != NULL && message->metadata->discoverable) {
        (void)tri_import_signature(import, message);
    }
    if (is_map_task(message) && !become_inner(import, message)) {
        (void)tri_flyte_refuse(
            import->report, "the map task does not say which task it maps\n"
                            "let its arguments end as flytekit's do: -- vars NAMES resolver ...");
        return false;
    }
    return true;
}

static bool fill_task(struct tri_import *import, flyte_task *message, struct tri_task *task)
{
    if (!prepare(import, message)) {
        return false;
    }
    const Flyteidl__Core__TypedInterface *interface = message->interface;
    struct tr_interface *made = &task->task.interface;
    bool has_container = message->target_case == FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER;
    bool is_fine = true;
    if (interface != NULL) {
        is_fine = tri_import_inputs(import, interface->inputs, NULL, &made->inputs, NULL);
        is_fine = tri_import_outputs(import, interface->outputs, &made->outputs) && is_fine;
    }
    is_fine = (has_container ? take_container(import, message, task)
                             : take_custom(import, message, task)) &&
              is_fine;
    return take_metadata(import, message, task) && is_fine;
}

void tri_import_task(struct tri_import *import, const struct tri_flyte_entity *entity)
{
    struct tri_definition *definition = import->definition;
    struct tr_text name = tri_import_name_of(import, TR_ENTITY_TASK, entity->id);
    struct tr_text before = tri_report_subject(import->report, tr_text_of(entity->id->name));
    struct tri_task *task = tri_keys_check_any_name(definition, name)
                                ? tri_vector_add(import->arena, &definition->tasks, sizeof *task)
                                : NULL;
    if (task != NULL) {
        task->name = (struct tri_name){.text = name};
        tri_definition_begin_task(definition, task);
        task->task.description = tri_import_description(import, entity);
        /* The message lives in our arena, and is used for nothing else. */
        task->is_told =
            tri_import_is_told(import, fill_task(import, (flyte_task *)entity->message, task));
    }
    (void)tri_report_subject(import->report, before);
}
