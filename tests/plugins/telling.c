/*
 * A plugin whose output is what it was told of its task: whether it may be interrupted, its timeout
 * and, of a task of Flyte's, some of what only plugins act on
 * (tests/integration/test_flyte_plugins.py).
 */
#include "plugins/sdk/json.h"

/* The text that is inside of three maps in each other, or "none". */
static struct tr_text text_in(struct tr_bytes value, const char *outer, const char *inner,
                              const char *name)
{
    value = outer == NULL ? value : tr_json_get(value, outer);
    value = inner == NULL ? value : tr_json_get(value, inner);
    value = tr_json_get(value, name);
    return value.size == 0 ? tr_text_of("none") : tr_json_text(value);
}

static int handle(struct tr_task_context *task, void *state, const struct tr_task_event *event,
                  struct tr_transition *transition)
{
    const struct tr_task_template *told = tr_task_template(task);
    struct tr_text role = text_in(told->extra, "securityContext", "runAs", "iamRole");
    struct tr_text device = text_in(told->extra, "extendedResources", "gpuAccelerator", "device");
    struct tr_text image = text_in(told->node_extra, "taskNode", "overrides", "containerImage");
    struct tr_text problem;
    (void)state;
    (void)event;
    int error = tr_task_outputs_json(
        task,
        tr_task_format(task,
                       "{\"o0\": \"interruptible=%d seconds=%lld role=%.*s device=%.*s "
                       "image=%.*s\"}",
                       told->is_interruptible, (long long)(told->timeout_ns / 1000000000),
                       (int)role.size, role.data, (int)device.size, device.data, (int)image.size,
                       image.data),
        tr_text_of(""), &problem);
    return error == 0 || error == TR_INVALID ? tr_task_succeed(transition) : error;
}

static const char *const task_types[] = {"telling", NULL};

const struct tr_plugin tr_plugin_table = {
    .abi = TR_PLUGIN_ABI,
    .id = "telling",
    .task_types = task_types,
    .handle = handle,
    .abort = tr_task_nothing_to_end,
};
