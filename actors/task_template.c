/*
 * What a plugin is told of its task: the template with the node's overrides, and who it is. Both
 * are made when they are first asked for.
 */
#include "actors/task.h"

/* The last attempt that the system's budget allows is not one that may be interrupted (Flyte). */
static bool is_interruptible(const struct tri_task *task)
{
    uint32_t budget = task->engine->system_retries;
    return task->settings->is_interruptible &&
           (budget == 0 || task->state->system_failures < budget);
}

const struct tr_task_template *tri_task_template(struct tri_task *task)
{
    if (task->has_template) {
        return &task->template;
    }
    const struct tr_task *of = task->task;
    const struct tr_settings *settings = task->settings;
    task->has_template = true;
    task->template = (struct tr_task_template){
        .name = of->name,
        .type = of->type,
        .folder = of->folder,
        .words = of->words,
        .word_count = of->word_count,
        .is_stdin_inputs = of->is_stdin_inputs,
        .is_stdout_outputs = of->is_stdout_outputs,
        .is_interruptible = is_interruptible(task),
        .timeout_ns = settings->timeout_ns,
        .grace_ns = settings->grace_ns,
        .resources = settings->resources,
        .environment = settings->environment,
        .environment_count = settings->environment_count,
        .secrets = settings->secrets,
        .secret_count = settings->secret_count,
        .config = settings->config,
        .output_count = of->interface.outputs.count,
        .input_count = of->interface.inputs.count,
    };
    return &task->template;
}

const struct tr_task_identity *tri_task_identity(struct tri_task *task)
{
    if (task->has_identity) {
        return &task->identity;
    }
    const struct tr_node_start *start = &task->start;
    const struct tr_task_name of = {
        .execution = start->execution,
        .number = start->number,
        .path = start->path,
        .element = start->element,
        .attempt = task->state->attempt,
    };
    tr_task_name(&of, task->name);
    task->has_identity = true;
    task->identity = (struct tr_task_identity){
        .execution = start->execution,
        .path = start->path,
        .element = start->element,
        .attempt = task->state->attempt,
        .generated_name = tr_text_of(task->name),
        .execution_number = start->number,
    };
    return &task->identity;
}
