/*
 * Walking through the workflows that can be reached from one, each once.
 */
#include "deploy/inputs/runnable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/language/keys.h"
#include "actors/graph/value/template.h"
#include "plugins/sdk/plugin.h"
#include "runtime/memory.h"

struct walk {
    const struct tr_graph *graph;
    const struct tr_engine *engine; /* its tables of plugins only */
    struct tr_report *report;
    const char *file;
    bool *is_seen;     /* workflows, then tasks */
    uint32_t *waiting; /* workflows to look at */
    uint32_t waiting_count;
};

static struct tri_place place_of(const struct walk *walk, const struct tr_origin *origin)
{
    bool is_known = origin->file.size > 0;
    struct tr_text file = is_known ? origin->file : tr_text_of(walk->file);
    struct tri_place place = {.source = tri_report_source(walk->report, file)};
    if (is_known) {
        place.line = origin->line;
        place.column = origin->column;
    }
    return place;
}

static void reach_workflow(struct walk *walk, uint32_t workflow)
{
    if (!walk->is_seen[workflow]) {
        walk->is_seen[workflow] = true;
        walk->waiting[walk->waiting_count++] = workflow;
    }
}

static struct tr_task_template template_of(const struct tr_task *task,
                                           const struct tr_settings *settings)
{
    return (struct tr_task_template){
        .name = task->name,
        .type = task->type,
        .folder = task->folder,
        .argv = task->argv,
        .argc = task->argc,
        .is_stdin_inputs = task->is_stdin_inputs,
        .is_stdout_outputs = task->is_stdout_outputs,
        .is_interruptible = settings->is_interruptible,
        .timeout_ns = settings->timeout_ns,
        .grace_ns = settings->grace_ns,
        .resources = settings->resources,
        .environment = settings->environment,
        .environment_count = settings->environment_count,
        .secrets = settings->secrets,
        .secret_count = settings->secret_count,
        .config = settings->config,
        .software = settings->software,
        .output_count = task->interface.outputs.count,
        .input_count = task->interface.inputs.count,
    };
}

/* --------------------------------------------------------------------------- task types */

/* The names of all task types that there are plugins for. */
static void add_types(const struct tr_engine *engine, struct tr_arena *arena,
                      struct tri_vector *types)
{
    for (size_t i = 0; i < engine->task_type_count; i++) {
        struct tr_text *added = tri_vector_add(arena, types, sizeof *added);
        if (added != NULL) {
            *added = engine->task_types[i].name;
        }
    }
    for (size_t i = 0; i < engine->plugin_count; i++) {
        for (const char *const *type = engine->plugins[i]->task_types; *type != NULL; type++) {
            struct tr_text *added = tri_vector_add(arena, types, sizeof *added);
            if (added != NULL) {
                *added = tr_text_of(*type);
            }
        }
    }
}

static struct tr_text type_at(const void *self, uint32_t position)
{
    const struct tr_text *types = self;
    return types[position];
}

/* "use one of a, b, c" */
static const char *all_types(struct tr_arena *arena, const struct tri_vector *types)
{
    struct tr_text text = tr_text_of("use one of");
    for (uint32_t i = 0; i < types->count; i++) {
        text = tr_arena_print(arena, "%.*s%s %.*s", TRI_TEXT(text), i > 0 ? "," : "",
                              TRI_SHOWN(type_at(types->items, i)));
    }
    return text.size == 0 ? "" : text.data;
}

static void tell_unknown_type(const struct walk *walk, const struct tr_task *task)
{
    struct tr_arena arena;
    struct tri_vector types = {0};
    tr_arena_init(&arena);
    struct tri_definition scratch = {.scratch = &arena, .nearest_left = UINT32_MAX};
    add_types(walk->engine, &arena, &types);
    struct tr_text nearest =
        tri_keys_nearest(&scratch, task->type, type_at, types.items, types.count);
    struct tr_text remedy = tri_keys_did_you_mean(&scratch, nearest, all_types(&arena, &types));
    tri_report_add(walk->report, place_of(walk, &task->origin), NULL,
                   "no plugin here runs tasks of type '%.*s'\n%.*s", TRI_SHOWN(task->type),
                   TRI_TEXT(remedy));
    tr_arena_fini(&arena);
}

/* --------------------------------------------------------------------------------- tasks */

/* Where the work is elsewhere one has to know where: at the latest when its turn has come. */
static void check_endpoint(struct walk *walk, const struct tr_plugin *plugin,
                           const struct tr_task_template *task, struct tri_place place)
{
    struct tr_text name = tr_config_text(task->config, "endpoint", tr_text_of(""));
    bool is_filled = tr_template_is_in(name.data, name.size); /* by the values of an attempt */
    if (plugin->webapi == NULL || is_filled ||
        tr_engine_endpoint(walk->engine, plugin, name) != NULL) {
        return;
    }
    if (name.size == 0) {
        tri_report_warn(walk->report, place,
                        "the plugin '%s' has no endpoint here\n"
                        "write plugins.%s.endpoint: URL into the settings file",
                        plugin->id, plugin->id);
    } else {
        tri_report_warn(walk->report, place,
                        "the plugin '%s' has no endpoint '%.*s' here\n"
                        "write plugins.%s.endpoints.%.*s.url into the settings file, or name "
                        "another",
                        plugin->id, TRI_SHOWN(name), plugin->id, TRI_SHOWN(name));
    }
}

static void check_config(struct walk *walk, const struct tr_plugin *plugin,
                         const struct tr_task_template *task, struct tri_place place)
{
    char problem[512] = "";
    if (plugin->check == NULL && task->config.size > 1) {
        tri_report_add(walk->report, place, NULL,
                       "tasks of type '%.*s' have no configuration\nremove `config`",
                       TRI_SHOWN(task->type));
    } else if (plugin->check != NULL && plugin->check(task, problem, sizeof problem) != 0) {
        tri_report_add(walk->report, place, NULL, "%s", problem);
    } else {
        check_endpoint(walk, plugin, task, place);
    }
}

/* A file that says what is made before the command runs is read by the attempt, on this machine. */
static void check_software(struct walk *walk, const struct tr_plugin *plugin,
                           const struct tr_task_template *task, struct tri_place place)
{
    const struct tr_software *software = &task->software;
    struct tr_text file = software->file;
    char path[PATH_MAX];
    if (software->kind != TR_SOFTWARE_NONE && !plugin->runs_software) {
        tri_report_add(walk->report, place, NULL, TR_SOFTWARE_REFUSED_WORDS,
                       tr_software_key(software->kind), TRI_SHOWN(task->type));
        return;
    }
    if (file.size == 0) {
        return;
    }
    bool is_relative = file.data[0] != '/';
    int size = snprintf(path, sizeof path, "%.*s%s%.*s", is_relative ? (int)task->folder.size : 0,
                        task->folder.data, is_relative ? "/" : "", (int)file.size, file.data);
    if (size > 0 && (size_t)size < sizeof path && access(path, R_OK) != 0) {
        tri_report_warn(walk->report, place,
                        "the file '%.*s' cannot be read: %s\nput it there before the task runs",
                        TRI_SHOWN(file), strerror(errno));
    }
}

static void check_task(struct walk *walk, const struct tr_task *task,
                       const struct tr_settings *settings)
{
    const struct tr_plugin *plugin = tr_engine_plugin_of(walk->engine, task->type, task->extra);
    const struct tr_origin *origin =
        settings->config_origin.file.size > 0 ? &settings->config_origin : &task->origin;
    if (plugin == NULL) {
        tell_unknown_type(walk, task);
        return;
    }
    struct tr_task_template template = template_of(task, settings);
    bool has_input = (tr_template_names_of(&template) & 1U << TR_TEMPLATE_INPUT) != 0;
    template.has_flyte_inputs = has_input &&tr_plugin_has_documents(plugin);
    check_config(walk, plugin, &template, place_of(walk, origin));
    check_software(walk, plugin, &template, place_of(walk, &task->origin));
    if (has_input && !template.has_flyte_inputs) {
        tri_report_add(walk->report, place_of(walk, &task->origin), NULL, "%s",
                       TR_TEMPLATE_NO_DOCUMENT);
    }
}

/* Whether a word is the program that runs what the next word names. */
static bool is_interpreter(struct tr_text word)
{
    static const char *const names[] = {"sh",      "bash", "dash",   "python",
                                        "python3", "perl", "Rscript"};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        size_t size = strlen(names[i]);
        bool is_end =
            word.size >= size && memcmp(word.data + word.size - size, names[i], size) == 0;
        if (is_end && (word.size == size || word.data[word.size - size - 1] == '/')) {
            return true;
        }
    }
    return false;
}

/*
 * A script that is not there fails each attempt. Other words may name what is yet to be made, and
 * work that is elsewhere has its scripts there.
 */
static void check_script(struct walk *walk, const struct tr_task *task)
{
    char path[PATH_MAX];
    struct stat status;
    uint32_t at = task->argc > 1 && is_interpreter(task->argv[0]) ? 1 : 0;
    struct tr_text word = at < task->argc ? task->argv[at] : tr_text_of("");
    bool is_beside = (word.size > 2 && memcmp(word.data, "./", 2) == 0) ||
                     (word.size > 3 && memcmp(word.data, "../", 3) == 0);
    const struct tr_plugin *plugin = tr_engine_plugin_of(walk->engine, task->type, task->extra);
    if (!is_beside || plugin == NULL || !plugin->is_local ||
        tr_template_is_in(word.data, word.size)) {
        return;
    }
    int size = snprintf(path, sizeof path, "%.*s/%.*s", TRI_TEXT(task->folder), TRI_TEXT(word));
    if (size > 0 && (size_t)size < sizeof path && stat(path, &status) != 0) {
        tri_report_warn(walk->report, place_of(walk, &task->origin),
                        "there is no file '%.*s'\nits path counts from the folder of the file "
                        "that defines the task",
                        TRI_SHOWN(word));
    }
}

/* A task as it is defined, once. */
static void check_own(struct walk *walk, uint32_t position)
{
    const struct tr_task *task = &walk->graph->tasks[position];
    bool *is_seen = &walk->is_seen[walk->graph->workflow_count + position];
    if (!*is_seen) {
        *is_seen = true;
        struct tr_text before = tri_report_subject(walk->report, task->name);
        check_task(walk, task, &task->settings);
        check_script(walk, task);
        (void)tri_report_subject(walk->report, before);
    }
}

/* ----------------------------------------------------------------------------- the walk */

/* What a node leads to. */
static void check_node(struct walk *walk, const struct tr_node *node)
{
    const struct tr_graph *graph = walk->graph;
    if (node->target_kind == TR_TARGET_WORKFLOW) {
        reach_workflow(walk, node->target);
    } else if (node->target_kind == TR_TARGET_PLAN) {
        reach_workflow(walk, graph->plans[node->target].workflow);
    } else if (node->target_kind == TR_TARGET_TASK) {
        const struct tr_task *task = &graph->tasks[node->target];
        bool is_known = tr_engine_plugin_of(walk->engine, task->type, task->extra) != NULL;
        if (is_known && node->settings != NULL && node->settings != &task->settings) {
            check_task(walk, task, node->settings);
        } else {
            check_own(walk, node->target); /* a type is told of once */
        }
    }
}

static void check_workflow(struct walk *walk, const struct tr_workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        char subject[160];
        const struct tr_node *node = &workflow->nodes[i];
        snprintf(subject, sizeof subject, "%.*s.%.*s", TRI_SHOWN(workflow->name),
                 TRI_SHOWN(node->id));
        struct tr_text before = tri_report_subject(walk->report, tr_text_of(subject));
        check_node(walk, node);
        (void)tri_report_subject(walk->report, before);
    }
}

/* Where the walk begins: everywhere, or at one workflow. */
static void begin(struct walk *walk, uint32_t workflow)
{
    for (uint32_t i = 0; i < walk->graph->workflow_count; i++) {
        if (workflow == TR_GRAPH_NONE || workflow == i) {
            reach_workflow(walk, i);
        }
    }
    for (uint32_t i = 0; workflow == TR_GRAPH_NONE && i < walk->graph->task_count; i++) {
        check_own(walk, i);
    }
}

int tr_graph_check_runnable(const struct tr_graph *graph, uint32_t workflow,
                            const struct tr_engine *engine, const char *file,
                            struct tr_report *report)
{
    struct walk walk = {
        .graph = graph,
        .engine = engine,
        .report = report,
        .file = file,
        .is_seen = tr_alloc_zero(graph->workflow_count + graph->task_count + 1, sizeof(bool)),
        .waiting = tr_alloc_zero(graph->workflow_count + 1, sizeof(uint32_t)),
    };
    int error = walk.is_seen == NULL || walk.waiting == NULL ? TR_MEMORY : 0;
    if (error == 0) {
        begin(&walk, workflow);
    }
    while (error == 0 && walk.waiting_count > 0) {
        check_workflow(&walk, &graph->workflows[walk.waiting[--walk.waiting_count]]);
    }
    tr_free(walk.is_seen);
    tr_free(walk.waiting);
    tr_report_finish(report);
    return error != 0 ? error : tr_report_total(report) > 0 ? TR_INVALID : 0;
}
