/*
 * Tasks that a graph of Flyte's brings along. What has a container runs as a process on this
 * machine: its command and arguments, in its environment; the image is not looked at. Any other
 * task keeps its type, for a plugin, and `custom` is its configuration.
 *
 * A map task of flytekit's takes whole lists and picks its element by an index. Here elements get
 * their own inputs, so such a task becomes the one that it maps: its lists are taken off, and its
 * arguments name the inner task as flytekit itself would.
 */
#include <fnmatch.h>
#include <stdlib.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/flyte/flyte_applied.h"
#include "actors/graph/value/template.h"
#include "schemas/codec/error.h"

/* Words of flytekit's command lines. */
#define EXECUTE "pyflyte-execute"
#define MAP_EXECUTE "pyflyte-map-execute"
#define FAST_EXECUTE "pyflyte-fast-execute"
#define PYTHON_PATH "PYTHONPATH"
#define WARM "TROUPE_WARM"

typedef Flyteidl__Core__TaskTemplate task_template;

/* ------------------------------------------------------------------ types and interfaces */

struct tr_tree *tri_flyte_value(struct tri_flyte_graph *graph,
                                const Flyteidl__Core__LiteralType *type,
                                const Flyteidl__Core__Literal *value)
{
    const struct tr_type *found = type == NULL ? NULL : tri_flyte_type_read(&graph->types, type);
    return tri_flyte_literal(graph->arena, graph->report, found, value, graph->files);
}

/* A type goes by way of its text. */
struct tr_tree *tri_flyte_type(struct tri_flyte_graph *graph,
                               const Flyteidl__Core__LiteralType *type)
{
    const struct tr_type *found = type == NULL ? NULL : tri_flyte_type_read(&graph->types, type);
    if (found == NULL) {
        return graph->arena->error != 0
                   ? NULL
                   : tri_flyte_refuse(graph->report, "a type is none of the language's");
    }
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_type_write(found, &buffer);
    struct tr_text text = tr_arena_text(graph->arena, tr_buffer_text(&buffer));
    graph->arena->error = graph->arena->error != 0 ? graph->arena->error : buffer.error;
    tr_buffer_fini(&buffer);
    return graph->arena->error != 0 ? NULL : tri_flyte_text(graph->arena, text);
}

static int by_name(const void *a, const void *b)
{
    const Flyteidl__Core__VariableMap__VariablesEntry *const *one = a;
    const Flyteidl__Core__VariableMap__VariablesEntry *const *other = b;
    return strcmp((*one)->key, (*other)->key);
}

/* The default of a name; NULL: there is none. */
static const Flyteidl__Core__Literal *default_of(const Flyteidl__Core__ParameterMap *defaults,
                                                 const char *name)
{
    for (size_t i = 0; defaults != NULL && i < defaults->n_parameters; i++) {
        const Flyteidl__Core__Parameter *parameter = defaults->parameters[i]->value;
        if (parameter != NULL && strcmp(defaults->parameters[i]->key, name) == 0) {
            return parameter->behavior_case == FLYTEIDL__CORE__PARAMETER__BEHAVIOR_DEFAULT
                       ? parameter->default_
                       : NULL;
        }
    }
    return NULL;
}

/* A type, or with a default a declaration. */
static struct tr_tree *variable_of(struct tri_flyte_graph *graph,
                                   const Flyteidl__Core__VariableMap__VariablesEntry *entry,
                                   const Flyteidl__Core__ParameterMap *defaults)
{
    const Flyteidl__Core__LiteralType *type = entry->value == NULL ? NULL : entry->value->type;
    const Flyteidl__Core__Literal *value = default_of(defaults, entry->key);
    struct tr_tree *type_tree = tri_flyte_type(graph, type);
    struct tri_flyte_fields fields = {0};
    if (value == NULL || type_tree == NULL) {
        return type_tree;
    }
    tri_flyte_put(graph, &fields, "type", type_tree);
    tri_flyte_put(graph, &fields, "default", tri_flyte_value(graph, type, value));
    return tri_flyte_fields_tree(graph, &fields);
}

/*
 * Variables by their names. A map of protobuf's has no order, and the same graph has to be the same
 * document, so entries are sorted, in place, as the message is used for nothing else.
 */
struct tr_tree *tri_flyte_variables(struct tri_flyte_graph *graph, const char *part,
                                    const Flyteidl__Core__VariableMap *variables,
                                    const Flyteidl__Core__ParameterMap *defaults)
{
    struct tri_flyte_fields fields = {0};
    if (variables != NULL && variables->n_variables > 1) {
        qsort((void *)variables->variables, variables->n_variables, sizeof(void *), by_name);
    }
    for (size_t i = 0; variables != NULL && i < variables->n_variables; i++) {
        const Flyteidl__Core__VariableMap__VariablesEntry *entry = variables->variables[i];
        struct tr_text before = tri_flyte_begin(graph, part, entry->key);
        tri_flyte_put(graph, &fields, entry->key, variable_of(graph, entry, defaults));
        (void)tri_report_subject(graph->report, before);
    }
    return tri_flyte_fields_tree(graph, &fields);
}

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

static bool is_map_task(const task_template *task)
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

bool tri_flyte_is_whole(const struct tri_flyte_graph *graph, const Flyteidl__Core__Identifier *task,
                        const char *input)
{
    const struct tri_flyte_mapped *maps = graph->maps.items;
    for (uint32_t i = 0; i < graph->maps.count; i++) {
        if (tri_flyte_is_same(maps[i].task->id, task)) {
            return is_whole(maps[i].whole, input);
        }
    }
    return false;
}

/*
 * Variables of a map task, their lists taken off but for those in `whole`, which every element gets
 * as they are. The types are changed in the message, which lives in our arena.
 */
static void take_lists_off(Flyteidl__Core__VariableMap *variables, const char *whole)
{
    for (size_t i = 0; variables != NULL && i < variables->n_variables; i++) {
        Flyteidl__Core__VariableMap__VariablesEntry *entry = variables->variables[i];
        Flyteidl__Core__LiteralType *type = entry->value == NULL ? NULL : entry->value->type;
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
static bool become_inner(struct tri_flyte_graph *graph, const task_template *task)
{
    Flyteidl__Core__Container *container = task->container;
    size_t inner = find_inner(container);
    size_t resolver = inner < 3 ? 0 : inner - 2; /* behind "--resolver", before "--" */
    if (resolver == 0 || task->interface == NULL) {
        return false;
    }
    struct tri_flyte_mapped *mapped = tri_vector_add(graph->arena, &graph->maps, sizeof *mapped);
    if (mapped != NULL) {
        *mapped = (struct tri_flyte_mapped){.task = task, .whole = container->args[inner + 1]};
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

bool tri_flyte_serializes(const task_template *task)
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
static bool take_code(const struct tri_flyte_graph *graph, const task_template *task)
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
    return graph->package == NULL || graph->package->has_code ||
           tri_flyte_applied(graph, task->id) != NULL;
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

/* The same for all texts below. Recursion goes as deep as documents do. */
static struct tr_tree *keep_templates(struct tr_arena *arena, struct tr_tree *tree)
{
    if (tree != NULL && tr_tree_is_text(tree) &&
        tr_template_is_in(tree->text.data, tree->text.size)) {
        tree->text = keep_unknown(arena, tree->text);
    }
    for (uint32_t i = 0; tree != NULL && tree->kind == TR_TREE_LIST && i < tree->count; i++) {
        (void)keep_templates(arena, tree->items[i]);
    }
    for (uint32_t i = 0; tree != NULL && tree->kind == TR_TREE_MAP && i < tree->count; i++) {
        (void)keep_templates(arena, (struct tr_tree *)(uintptr_t)tree->pairs[i].value);
    }
    return tree;
}

/* ------------------------------------------------------------------ containers */

static struct tr_tree *words_of(struct tri_flyte_graph *graph, const task_template *task)
{
    const Flyteidl__Core__Container *container = task->container;
    size_t count = container->n_command + container->n_args;
    size_t first = 0;
    struct tr_tree **words =
        tr_arena_array(graph->arena, TRI_FLYTE_COPILOT_WORDS + count, sizeof(struct tr_tree *));
    if (words != NULL && container->data_config != NULL && container->data_config->enabled) {
        first = tri_flyte_copilot(graph, task, words);
    }
    for (size_t i = 0; words != NULL && i < count; i++) {
        const char *word = i < container->n_command ? container->command[i]
                                                    : container->args[i - container->n_command];
        words[first + i] = tri_flyte_text(graph->arena, tr_text_of(word));
    }
    return tri_flyte_list(graph, words, first + count);
}

static bool has_variable(const Flyteidl__Core__Container *container, const char *name)
{
    for (size_t i = 0; i < container->n_env; i++) {
        if (strcmp(container->env[i]->key, name) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * A variable that is not the container's own. Without a value it is passed on from the engine, or
 * from the task that decides the graph, which a plain scalar without text says in `env`.
 */
static void put_variable(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                         const Flyteidl__Core__Container *container, const char *name,
                         struct tr_text value)
{
    enum tr_tree_kind kind = value.size == 0 ? TR_TREE_PLAIN : TR_TREE_STRING;
    struct tr_tree *tree = tri_tree_new(graph->arena, kind, (struct tri_place){0});
    if (tree != NULL && value.size > 0) {
        tree->text = value;
    }
    if (!has_variable(container, name)) {
        tri_flyte_put(graph, fields, name, tree);
    }
}

/* What flytekit asks its environment about the task. */
static void put_identity(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                         const task_template *task)
{
    const Flyteidl__Core__Identifier *id = task->id;
    const struct {
        const char *name;
        const char *value;
    } rows[] = {
        {"FLYTE_INTERNAL_IMAGE", task->container->image},
        {"FLYTE_INTERNAL_TASK_PROJECT", id == NULL ? "" : id->project},
        {"FLYTE_INTERNAL_TASK_DOMAIN", id == NULL ? "" : id->domain},
        {"FLYTE_INTERNAL_TASK_NAME", id == NULL ? "" : id->name},
        {"FLYTE_INTERNAL_TASK_VERSION", id == NULL ? "" : id->version},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        if (rows[i].value[0] != '\0') {
            put_variable(graph, fields, task->container, rows[i].name, tr_text_of(rows[i].value));
        }
    }
}

struct tr_text tri_flyte_path(const struct tr_flyte_package *package, const task_template *task)
{
    bool has_container = task->target_case == FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER;
    for (size_t i = 0; has_container && i < package->path_count; i++) {
        if (fnmatch(package->paths[i].images, task->container->image, 0) == 0) {
            return package->paths[i].path;
        }
    }
    return package->path;
}

/*
 * The container's own environment, what flytekit looks for, and where the program and its modules
 * are found, as the image that would have them is not used.
 */
static struct tr_tree *environment_of(struct tri_flyte_graph *graph, const task_template *task)
{
    const Flyteidl__Core__Container *container = task->container;
    const struct tr_flyte_package *package = graph->package;
    const struct tr_entity *applied = tri_flyte_applied(graph, task->id);
    struct tr_text none = tr_text_of("");
    struct tri_flyte_fields fields = {0};
    for (size_t i = 0; i < container->n_env; i++) {
        tri_flyte_put_text(graph, &fields, container->env[i]->key, container->env[i]->value);
    }
    put_identity(graph, &fields, task);
    put_variable(graph, &fields, container, "PATH",
                 applied != NULL   ? applied->path
                 : package == NULL ? none
                                   : tri_flyte_path(package, task));
    put_variable(graph, &fields, container, PYTHON_PATH,
                 applied != NULL   ? applied->python_path
                 : package == NULL ? none
                                   : package->python_path);
    put_variable(graph, &fields, container, WARM,
                 applied != NULL   ? applied->warm
                 : package == NULL ? none
                                   : package->warm);
    return tri_flyte_fields_tree(graph, &fields);
}

void tri_flyte_put_resources(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                             const Flyteidl__Core__Resources *resources)
{
    /*
     * In the order of flyteidl's Resources.ResourceName; 0 is UNKNOWN. Requests are what a task has
     * to have free; limits stand in for them where there are none, as in Kubernetes.
     */
    static const char *const names[] = {NULL,     "cpu",     "gpu",
                                        "memory", "storage", "ephemeral_storage"};
    struct tri_flyte_fields asked = {0};
    bool has_requests = resources != NULL && resources->n_requests > 0;
    size_t count = resources == NULL ? 0
                   : has_requests    ? resources->n_requests
                                     : resources->n_limits;
    for (size_t i = 0; i < count; i++) {
        const Flyteidl__Core__Resources__ResourceEntry *entry =
            has_requests ? resources->requests[i] : resources->limits[i];
        bool is_known = entry->name > 0 && (size_t)entry->name < TR_COUNT_OF(names);
        if (is_known) {
            tri_flyte_put_text(graph, &asked, names[entry->name], entry->value);
        }
    }
    if (asked.pairs.count > 0) {
        tri_flyte_put(graph, fields, "resources", tri_flyte_fields_tree(graph, &asked));
    }
}

static void put_container(struct tri_flyte_graph *graph, const task_template *task,
                          struct tri_flyte_fields *fields)
{
    const Flyteidl__Core__Container *container = task->container;
    tri_flyte_put(graph, fields, "run", keep_templates(graph->arena, words_of(graph, task)));
    tri_flyte_put(graph, fields, "env", keep_templates(graph->arena, environment_of(graph, task)));
    tri_flyte_put_resources(graph, fields, container->resources);
}

/* ------------------------------------------------------------------ secrets */

/* The variable in which flytekit looks for a secret: _FSEC_ and its parts in large letters. */
static struct tr_text secret_variable(struct tri_flyte_graph *graph,
                                      const Flyteidl__Core__Secret *secret)
{
    bool has_version = secret->group_version[0] != '\0';
    struct tr_text name =
        tr_arena_print(graph->arena, "_FSEC_%s%s%s_%s", secret->group, has_version ? "_" : "",
                       secret->group_version, secret->key);
    char *letters = (char *)(uintptr_t)name.data; /* printed for this call */
    for (size_t i = 0; i < name.size; i++) {
        bool is_small = letters[i] >= 'a' && letters[i] <= 'z';
        letters[i] = (char)(letters[i] - (is_small ? 'a' - 'A' : 0));
    }
    return name;
}

/*
 * A secret goes into a variable, also where it is asked for as a file: flytekit looks there first.
 * One whose variable is named is there under both names.
 */
static void put_secrets(struct tri_flyte_graph *graph, const task_template *task,
                        struct tri_flyte_fields *fields)
{
    const Flyteidl__Core__SecurityContext *context = task->security_context;
    struct tri_flyte_fields secrets = {0};
    for (size_t i = 0; context != NULL && i < context->n_secrets; i++) {
        const Flyteidl__Core__Secret *secret = context->secrets[i];
        if (secret->group[0] == '\0' || secret->key[0] == '\0') {
            (void)tri_flyte_refuse(graph->report, "a secret has no group or no key\n"
                                                  "name both: Secret(group=..., key=...)");
            continue;
        }
        bool has_version = secret->group_version[0] != '\0';
        struct tr_text value = tr_arena_print(graph->arena, "%s/%s%s%s", secret->group, secret->key,
                                              has_version ? "@" : "", secret->group_version);
        const char *variable = secret_variable(graph, secret).data;
        tri_flyte_put(graph, &secrets, variable == NULL ? "" : variable,
                      tri_flyte_text(graph->arena, value));
        if (secret->env_var[0] != '\0') {
            tri_flyte_put(graph, &secrets, secret->env_var, tri_flyte_text(graph->arena, value));
        }
    }
    if (secrets.pairs.count > 0 || secrets.has_failed) {
        tri_flyte_put(graph, fields, "secrets", tri_flyte_fields_tree(graph, &secrets));
    }
}

/* ------------------------------------------------------------------ settings */

static struct tr_tree *ignored_of(struct tri_flyte_graph *graph,
                                  const Flyteidl__Core__TaskMetadata *metadata)
{
    size_t count = metadata->n_cache_ignore_input_vars;
    struct tr_tree **names = tr_arena_array(graph->arena, count, sizeof(struct tr_tree *));
    for (size_t i = 0; names != NULL && i < count; i++) {
        names[i] = tri_flyte_text(graph->arena, tr_text_of(metadata->cache_ignore_input_vars[i]));
    }
    return tri_flyte_list(graph, names, count);
}

/*
 * Made before the task is changed into what runs here, and kept: of a task that is not cached by
 * itself it is made for the first node that wants it.
 */
static struct tr_text signature_of(struct tri_flyte_graph *graph, const task_template *task)
{
    const struct tri_flyte_signed *known = graph->signatures.items;
    for (uint32_t i = 0; i < graph->signatures.count; i++) {
        if (known[i].task == task) {
            return known[i].signature;
        }
    }
    struct tri_flyte_signed *added =
        tri_vector_add(graph->arena, &graph->signatures, sizeof *added);
    if (added == NULL) {
        return tr_text_of("");
    }
    *added = (struct tri_flyte_signed){
        .task = task, .signature = tri_flyte_signature(graph->arena, task->interface)};
    return added->signature;
}

struct tr_tree *tri_flyte_cache(struct tri_flyte_graph *graph, const task_template *task,
                                const char *version, bool is_serialized)
{
    struct tri_flyte_fields cache = {0};
    tri_flyte_put_text(graph, &cache, "version", version);
    tri_flyte_put_bool(graph, &cache, "serialize", is_serialized);
    if (task != NULL && task->metadata != NULL && task->metadata->n_cache_ignore_input_vars > 0) {
        tri_flyte_put(graph, &cache, "ignore", ignored_of(graph, task->metadata));
    }
    if (task != NULL) {
        tri_flyte_put(graph, &cache, "signature",
                      tri_flyte_text(graph->arena, signature_of(graph, task)));
    }
    return tri_flyte_fields_tree(graph, &cache);
}

static void put_metadata(struct tri_flyte_graph *graph, const task_template *task,
                         struct tri_flyte_fields *fields)
{
    const Flyteidl__Core__TaskMetadata *metadata = task->metadata;
    if (metadata->retries != NULL && metadata->retries->retries > 0) {
        tri_flyte_put_count(graph, fields, "retries", metadata->retries->retries);
    }
    tri_flyte_put_duration(graph, fields, "timeout", metadata->timeout);
    if (metadata->discoverable) {
        tri_flyte_put(graph, fields, "cache",
                      tri_flyte_cache(graph, task, metadata->discovery_version,
                                      metadata->cache_serializable));
    }
    if (metadata->interruptible_value_case ==
        FLYTEIDL__CORE__TASK_METADATA__INTERRUPTIBLE_VALUE_INTERRUPTIBLE) {
        tri_flyte_put_bool(graph, fields, "interruptible", metadata->interruptible);
    }
}

struct tr_tree *tri_flyte_task(struct tri_flyte_graph *graph, const task_template *task)
{
    struct tri_flyte_fields fields = {0};
    const Flyteidl__Core__TypedInterface *interface = task->interface;
    const char *name = task->id == NULL ? "" : task->id->name;
    /* The message lives in our arena, and is used for nothing else. */
    if (!tri_flyte_unfold_pod(graph, (task_template *)(uintptr_t)task)) {
        return tri_flyte_wrong(graph, name,
                               "its pod has no container of the primary one's name\n"
                               "call one as primary_container_name= says");
    }
    bool has_container = task->target_case == FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER;
    if (has_container && !take_code(graph, task)) {
        struct tr_text before = tri_report_subject(graph->report, tr_text_of(name));
        tri_report_add(graph->report, (struct tri_place){0}, NULL,
                       "the task runs code of a fast package, which is not in this one\n"
                       "give the folder with its modules: --code FOLDER");
        (void)tri_report_subject(graph->report, before);
        return NULL;
    }
    if (task->metadata != NULL && task->metadata->discoverable) {
        (void)signature_of(graph, task);
    }
    if (is_map_task(task) && !become_inner(graph, task)) {
        return tri_flyte_wrong(
            graph, name,
            "the map task does not say which task it maps\n"
            "let its arguments end as flytekit's do: -- vars NAMES resolver ...");
    }
    if (interface != NULL) {
        tri_flyte_put(graph, &fields, "inputs",
                      tri_flyte_variables(graph, "inputs.", interface->inputs, NULL));
        tri_flyte_put(graph, &fields, "outputs",
                      tri_flyte_variables(graph, "outputs.", interface->outputs, NULL));
    }
    if (has_container) {
        put_container(graph, task, &fields);
        struct tr_text before = tri_report_subject(graph->report, tr_text_of(name));
        put_secrets(graph, task, &fields);
        (void)tri_report_subject(graph->report, before);
    } else {
        tri_flyte_put_text(graph, &fields, "type", task->type);
        if (task->custom != NULL && task->custom->n_fields > 0) {
            struct tr_tree *config = tri_flyte_struct(graph->arena, graph->report, task->custom);
            tri_flyte_put(graph, &fields, "config", keep_templates(graph->arena, config));
        }
    }
    if (task->metadata != NULL) {
        put_metadata(graph, task, &fields);
    }
    return tri_flyte_fields_tree(graph, &fields);
}
