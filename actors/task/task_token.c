/*
 * Resources: an attempt of a plugin that has a quota, of a task in a pool, or of one that books a
 * part of this machine, waits here for its token. An attempt without bounds begins at once. While
 * the task is paused, attempts are held back here, and none of them keeps a token from others.
 *
 * The manager knows an attempt by its generated name: so a grant of an attempt before is no grant
 * for this one, and asking again after a restart is answered with the token that is held already.
 *
 * The machine is that of the host that the task is on. If that is lost while it waits, the task is
 * taken to another one, and the manager has it ask again.
 */
#include "actors/task/task.h"

/*
 * Amounts are booked only of the machine that the engine runs on, so only for plugins that work
 * there.
 */
static bool books_machine(const struct tri_task *task)
{
    const struct tr_resources *wanted = &task->settings->resources;
    return task->plugin->is_local &&
           (wanted->cpu_millis | wanted->memory_bytes | wanted->gpu_count) != 0;
}

/* The namespace whose quota bounds the plugin's attempts; NULL: none. */
static const char *namespace_of(const struct tri_task *task)
{
    return tr_engine_resource(task->engine, task->plugin);
}

static bool needs_token(const struct tri_task *task)
{
    return task->plugin != NULL && !tr_key_is_none(task->engine->resources.key) &&
           (namespace_of(task) != NULL || task->settings->pool != TR_GRAPH_NONE ||
            books_machine(task));
}

/*
 * "NAMESPACE/PROJECT", or with "/DOMAIN" behind it: how the manager calls what they may have.
 * `names` is how many parts of "PROJECT/DOMAIN/EXEC" are taken.
 */
static struct tr_text scope_of(struct tri_task *task, const char *name, uint32_t names)
{
    struct tr_text path = tri_task_identity(task)->execution;
    size_t size = 0;
    for (; size < path.size && names > 0; size++) {
        names -= path.data[size] == '/' ? 1 : 0;
    }
    return tr_arena_print(&task->arena, "%s/%.*s", name, size > 0 ? (int)size - 1 : 0, path.data);
}

/*
 * What one project and one domain may have, by the settings. The domain is asked for with its
 * project: the manager puts the one behind the other.
 */
static void bound_scopes(struct tri_task *task, struct tr_resource_request *request)
{
    const struct tr_engine_plugin *known = tr_engine_known(task->engine, task->plugin);
    if (known == NULL || known->resource == NULL || (known->per_project | known->per_domain) == 0) {
        return;
    }
    request->project = scope_of(task, known->resource, 1);
    request->project_slots = known->per_project;
    if (known->per_domain > 0) {
        request->domain = scope_of(task, known->resource, 2);
        request->domain_slots = known->per_domain;
    }
}

/* `asked_again`: the number of the loss that it was told of last; 0: of none. */
static int ask(struct tri_task *task, uint32_t asked_again)
{
    const struct tr_settings *settings = task->settings;
    bool is_booked = books_machine(task);
    const char *name = namespace_of(task);
    struct tr_resource_request request = {
        .name = tr_text_of(name != NULL ? name : ""),
        .identity = tri_task_identity(task)->generated_name,
        .execution = task->start.number,
        .slots = name != NULL ? 1 : 0,
        .cpu_millis = is_booked ? settings->resources.cpu_millis : 0,
        .memory_bytes = is_booked ? settings->resources.memory_bytes : 0,
        .gpu_count = is_booked ? settings->resources.gpu_count : 0,
        .is_cut = !task->engine->is_strict && tri_task_is_flytes(task),
        .host = task->engine->host,
        .asked_again = asked_again,
    };
    if (settings->pool != TR_GRAPH_NONE) {
        const struct tr_pool *pool = &task->graph->pools[settings->pool];
        request.pool = pool->name;
        request.pool_slots = pool->at_once;
        request.pool_per_second = pool->per_second;
    }
    bound_scopes(task, &request);
    return task->arena.error != 0 ? task->arena.error
                                  : tr_tell(task->context, task->engine->resources,
                                            &tr_resource_request_schema, &request);
}

/*
 * has_token is set with the request, not with the grant: a request that waits has to be released,
 * too, if the task ends before it is granted.
 */
int tri_task_enter_token(struct tri_task *task)
{
    task->state->is_held = task->state->is_paused;
    if (task->state->is_held) {
        return 0;
    }
    if (!needs_token(task)) {
        return tri_task_go(task, TR_STEP_FETCH);
    }
    const char *name = namespace_of(task);
    int error = tri_task_note(task, true);
    task->note.resource = tr_text_of(name != NULL ? name : "");
    task->state->has_token = true;
    if (error == 0 && task->state->task_phase != TR_TASK_PHASE_WAITING_FOR_RESOURCES) {
        error = tri_task_attempt_phase(task, TR_TASK_PHASE_WAITING_FOR_RESOURCES);
    }
    return error != 0 ? error : ask(task, 0);
}

/* One that runs already is counted when there is room: what it holds was counted elsewhere. */
int tri_task_token_again(struct tri_task *task)
{
    return task->state->has_token && needs_token(task) ? ask(task, 0) : 0;
}

/*
 * The machine that it waited for is gone. Whatever it does meanwhile, what it may hold is asked for
 * where it is now.
 */
int tri_task_on_token_again(struct tri_task *task)
{
    struct tr_resource_ask_again again;
    int error = tr_message_read(task->message, resource_ask_again, &again);
    bool is_its = error == 0 && task->state->has_token && needs_token(task) &&
                  tr_text_equal(again.identity, tri_task_identity(task)->generated_name);
    return is_its ? ask(task, again.number) : error;
}

/* Whether the answer is to what this attempt asked for. */
static bool is_mine(struct tri_task *task, struct tr_text identity)
{
    return task->state->step == TR_STEP_TOKEN &&
           tr_text_equal(identity, tri_task_identity(task)->generated_name);
}

int tri_task_on_granted(struct tri_task *task)
{
    struct tr_resource_granted granted;
    int error = tr_message_read(task->message, resource_granted, &granted);
    if (error != 0 || !is_mine(task, granted.identity) || task->state->is_held) {
        return error;
    }
    /*
     * Granted while it was paused: the token goes back, since a paused attempt would keep it from
     * others. It is asked for anew when the pause ends.
     */
    if (task->state->is_paused) {
        task->state->is_held = true;
        return tri_task_token_release(task);
    }
    return tri_task_go(task, TR_STEP_FETCH);
}

/*
 * A refusal is for good: the request is more than there will ever be, so trying again cannot help.
 */
int tri_task_on_refused(struct tri_task *task)
{
    struct tr_resource_refused refused;
    int error = tr_message_read(task->message, resource_refused, &refused);
    if (error != 0 || !is_mine(task, refused.identity)) {
        return error;
    }
    task->state->has_token = false;
    const struct tri_task_failure failure = {
        .kind = TR_FAILURE_USER,
        .is_permanent = true,
        .code = TRI_LITERAL_TEXT("ResourcesExceedLimits"),
        .message = refused.reason,
    };
    return tri_task_fail(task, &failure);
}
