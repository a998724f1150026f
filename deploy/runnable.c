/*
 * Walking through the workflows that can be reached from one, each once.
 */
#include "deploy/runnable.h"

#include <stdio.h>

#include "runtime/memory.h"

struct walk {
    const struct tr_graph *graph;
    const struct tr_engine *engine; /* its tables of plugins only */
    struct tr_report *report;
    struct tri_place place;
    bool *is_seen;     /* workflows, then tasks */
    uint32_t *waiting; /* workflows to look at */
    uint32_t waiting_count;
};

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
        .words = task->words,
        .word_count = task->word_count,
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
        .output_count = task->interface.outputs.count,
        .input_count = task->interface.inputs.count,
    };
}

/* The names of all task types that there are plugins for. */
static void print_types(const struct walk *walk, struct tr_buffer *buffer)
{
    for (size_t i = 0; i < walk->engine->task_type_count; i++) {
        tr_buffer_print(buffer, "%s%.*s", buffer->size > 0 ? ", " : "",
                        TRI_SHOWN(walk->engine->task_types[i].name));
    }
    for (size_t i = 0; i < walk->engine->plugin_count; i++) {
        const char *const *type = walk->engine->plugins[i]->task_types;
        for (; *type != NULL; type++) {
            tr_buffer_print(buffer, "%s%s", buffer->size > 0 ? ", " : "", *type);
        }
    }
}

static void check_task(struct walk *walk, const struct tr_task *task,
                       const struct tr_settings *settings)
{
    char problem[512] = "";
    const struct tr_plugin *plugin = tr_engine_plugin(walk->engine, task->type);
    if (plugin == NULL) {
        struct tr_buffer types;
        tr_buffer_init(&types, 0);
        print_types(walk, &types);
        tri_report_add(walk->report, walk->place, NULL,
                       "no plugin runs tasks of type '%.*s'\nuse one of %.*s",
                       TRI_SHOWN(task->type), (int)types.size, (const char *)types.data);
        tr_buffer_fini(&types);
        return;
    }
    struct tr_task_template template = template_of(task, settings);
    if (plugin->check != NULL) {
        if (plugin->check(&template, problem, sizeof problem) != 0) {
            tri_report_add(walk->report, walk->place, NULL, "%s", problem);
        }
    } else if (settings->config.size > 1) {
        tri_report_add(walk->report, walk->place, NULL,
                       "tasks of type '%.*s' have no configuration\nremove `config`",
                       TRI_SHOWN(task->type));
    }
}

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
        bool *is_seen = &walk->is_seen[graph->workflow_count + node->target];
        if (node->settings != NULL && node->settings != &task->settings) {
            check_task(walk, task, node->settings);
        } else if (!*is_seen) {
            *is_seen = true;
            check_task(walk, task, &task->settings);
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

int tr_graph_check_runnable(const struct tr_graph *graph, uint32_t workflow,
                            const struct tr_engine *engine, const char *file,
                            struct tr_report *report)
{
    struct walk walk = {
        .graph = graph,
        .engine = engine,
        .report = report,
        .place = {.source = tri_report_source(report, tr_text_of(file))},
        .is_seen = tr_alloc_zero(graph->workflow_count + graph->task_count, sizeof(bool)),
        .waiting = tr_alloc_zero(graph->workflow_count, sizeof(uint32_t)),
    };
    int error = walk.is_seen == NULL || walk.waiting == NULL ? TR_MEMORY : 0;
    if (error == 0) {
        reach_workflow(&walk, workflow);
    }
    while (error == 0 && walk.waiting_count > 0) {
        check_workflow(&walk, &graph->workflows[walk.waiting[--walk.waiting_count]]);
    }
    tr_free(walk.is_seen);
    tr_free(walk.waiting);
    tr_report_finish(report);
    return error != 0 ? error : tr_report_total(report) > 0 ? TR_INVALID : 0;
}
