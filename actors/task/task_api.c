/*
 * What a plugin may ask for while one of its functions runs (struct tr_task_api). Each takes the
 * head of the handling that the plugin was given and leads to what lies behind it.
 *
 * Functions return the plugin's own mistakes as errors. Errors of the engine are noted besides
 * (task->failure): the handler then fails whatever the plugin returns, and runs again from the same
 * state. Memory that is handed out lives as long as the handling.
 */
#include <string.h>

#include "actors/graph/document/json.h"
#include "actors/task/task.h"
#include "actors/values/exchange.h"

/* The plugin's timers carry their attempt, so that one of an attempt before is known as such. */
static uint64_t timer_id(const struct tri_task *task, uint64_t number)
{
    return ((uint64_t)task->state->attempt + 1) << 32 | number;
}

/* `plugin_side` is the first member of the handling, so both have one address. */
static struct tri_task *behind(struct tr_task_context *plugin_side)
{
    return (struct tri_task *)plugin_side;
}

/* An effect that could not be taken fails the handler, whatever the plugin makes of it. */
static int noted(struct tri_task *task, int error)
{
    if (error == TR_MEMORY || error == TR_LIMIT) {
        task->failure = task->failure != 0 ? task->failure : error;
    }
    return error;
}

static uint64_t api_now_ms(struct tr_task_context *side)
{
    return tr_steady_ms(behind(side)->context);
}

static uint64_t api_random(struct tr_task_context *side)
{
    return tr_random(behind(side)->context);
}

static const struct tr_task_template *api_template(struct tr_task_context *side)
{
    return tri_task_template(behind(side));
}

static const struct tr_task_identity *api_identity(struct tr_task_context *side)
{
    return tri_task_identity(behind(side));
}

static struct tr_text api_store_folder(struct tr_task_context *side)
{
    const char *folder = behind(side)->engine->store_folder;
    return folder == NULL ? TRI_LITERAL_TEXT("") : tr_text_of(folder);
}

static struct tr_text api_attempt_folder(struct tr_task_context *side)
{
    struct tri_task *task = behind(side);
    struct tr_text folder = tri_task_attempt_folder(task);
    (void)noted(task, task->arena.error);
    return folder;
}

static struct tr_text api_checkpoint_folder(struct tr_task_context *side)
{
    struct tri_task *task = behind(side);
    struct tr_text folder = tri_task_checkpoint_folder(task);
    (void)noted(task, task->arena.error);
    return folder;
}

static void *api_scratch(struct tr_task_context *side, size_t size)
{
    struct tri_task *task = behind(side);
    void *block = tr_arena_alloc(&task->arena, size);
    (void)noted(task, task->arena.error);
    return block;
}

static int api_read_json(struct tr_task_context *side, struct tr_bytes json, struct tr_bytes *value)
{
    struct tri_task *task = behind(side);
    int error = tr_json_pack(&task->arena, json, value);
    return error == TR_MEMORY ? noted(task, error) : error;
}

static struct tr_bytes api_inputs(struct tr_task_context *side)
{
    struct tri_task *task = behind(side);
    struct tr_bytes inputs = {0};
    int error = tri_task_inputs(task, &inputs);
    task->failure = task->failure != 0 ? task->failure : error;
    return inputs;
}

static int api_inputs_document(struct tr_task_context *side, enum tr_document_form form,
                               struct tr_bytes *document)
{
    return tri_task_inputs_to_document(behind(side), form, document);
}

static int api_inputs_json(struct tr_task_context *side, struct tr_text *json)
{
    struct tr_bytes document;
    int error = api_inputs_document(side, TR_DOCUMENT_JSON, &document);
    if (error == 0) {
        *json = tri_task_text_of_bytes(document);
    }
    return error;
}

/*
 * Slots that are given again replace those before; they are checked at once, so the plugin hears of
 * it.
 */
static int api_outputs(struct tr_task_context *side, struct tr_bytes slots)
{
    struct tri_task *task = behind(side);
    struct tr_text problem;
    task->is_decision = tri_task_is_dynamic(task) && tri_task_decision_is(slots);
    int error = task->is_decision ? 0 : tri_task_outputs_check(task, slots, &problem);
    if (error == 0) {
        task->outputs = tr_arena_bytes(&task->arena, slots);
        task->has_outputs = true;
        error = noted(task, task->arena.error);
    }
    return error;
}

static int api_outputs_document(struct tr_task_context *side, enum tr_document_form form,
                                struct tr_bytes document, struct tr_text folder,
                                struct tr_text *problem)
{
    struct tri_task *task = behind(side);
    int error =
        tri_task_outputs_from_document(task, form, document, folder, &task->outputs, problem);
    task->has_outputs = error == 0;
    return error == TR_INVALID || error == TR_LIMIT ? error : noted(task, error);
}

static int api_outputs_json(struct tr_task_context *side, struct tr_text json,
                            struct tr_text folder, struct tr_text *problem)
{
    return api_outputs_document(side, TR_DOCUMENT_JSON, tri_task_bytes_of_text(json), folder,
                                problem);
}

static int api_call(struct tr_task_context *side, uint16_t service, const struct tr_schema *schema,
                    const void *body, uint64_t timeout_ms, uint64_t *call)
{
    struct tri_task *task = behind(side);
    uint64_t number = 0;
    int error = tr_call(task->context, service, schema, body, timeout_ms, &number);
    if (error != 0) {
        return error == TR_MEMORY ? noted(task, error) : error;
    }
    struct tr_task_state *state = task->state;
    /* The first call of the attempt: earlier numbers are of attempts before. */
    state->plugin_call = state->plugin_call == 0 ? number : state->plugin_call;
    if (state->intent == TR_INTENT_NEW) {
        state->intent = TR_INTENT_INTENT;
    }
    if (service == TR_SERVICE_FILES) {
        tri_task_timeout_hold(task, number);
    }
    if (call != NULL) {
        *call = number;
    }
    return 0;
}

static int api_tell(struct tr_task_context *side, uint16_t service, const struct tr_schema *schema,
                    const void *body)
{
    struct tri_task *task = behind(side);
    int error = tr_tell(task->context, (struct tr_ref){{TR_GROUP_HERE, service}, 0}, schema, body);
    return error == TR_MEMORY ? noted(task, error) : error;
}

static int api_timer(struct tr_task_context *side, uint64_t number, uint64_t delay_ms)
{
    struct tri_task *task = behind(side);
    if (number > UINT32_MAX) {
        return TR_INVALID;
    }
    return noted(task, tr_timer_start(task->context, timer_id(task, number), delay_ms));
}

static int api_timer_stop(struct tr_task_context *side, uint64_t number)
{
    struct tri_task *task = behind(side);
    if (number > UINT32_MAX) {
        return TR_INVALID;
    }
    return noted(task, tr_timer_stop(task->context, timer_id(task, number)));
}

/* A line for each log: the name, a tab, the URI. */
static int api_log(struct tr_task_context *side, struct tr_text name, struct tr_text uri)
{
    struct tri_task *task = behind(side);
    int error = tri_task_note(task, true);
    if (error != 0) {
        return error;
    }
    struct tr_text before = task->note.logs;
    if (before.size + name.size + uri.size + 2 > TR_TASK_LOGS_BYTES_MAX) {
        return TR_LIMIT;
    }
    name = tri_task_clean_text(task, name, TR_TASK_LOGS_BYTES_MAX);
    uri = tri_task_clean_text(task, uri, TR_TASK_LOGS_BYTES_MAX);
    task->note.logs =
        tr_arena_print(&task->arena, "%.*s%.*s\t%.*s\n", (int)before.size, before.data,
                       (int)name.size, name.data, (int)uri.size, uri.data);
    return noted(task, task->arena.error);
}

static int api_shared_folder(struct tr_task_context *side, struct tr_text path,
                             size_t trusted_bytes)
{
    struct tri_task *task = behind(side);
    if (trusted_bytes > path.size) {
        return TR_INVALID;
    }
    int error = tri_task_note(task, true);
    if (error != 0 || path.size > TR_TASK_FOLDER_BYTES_MAX) {
        return error != 0 ? error : TR_LIMIT;
    }
    while (path.size > 1 && path.data[path.size - 1] == '/') {
        path.size--; /* which says something in a note */
    }
    task->note.folder =
        tr_arena_text(&task->arena, tri_task_clean_text(task, path, TR_TASK_FOLDER_BYTES_MAX));
    task->state->trusted_bytes = (uint16_t)trusted_bytes;
    return noted(task, task->arena.error);
}

/* All of it is trusted. */
static int api_folder(struct tr_task_context *side, struct tr_text path)
{
    return api_shared_folder(side, path, 0);
}

static struct tr_task_variable variable_of(const struct tr_variables *variables, uint32_t index)
{
    if (index >= variables->count) {
        return (struct tr_task_variable){.name = TRI_LITERAL_TEXT("")};
    }
    const struct tr_variable *found = &variables->items[index];
    return (struct tr_task_variable){.name = found->name, .type = found->type};
}

static struct tr_task_variable api_input(struct tr_task_context *side, uint32_t index)
{
    return variable_of(&behind(side)->task->interface.inputs, index);
}

static struct tr_task_variable api_output(struct tr_task_context *side, uint32_t index)
{
    return variable_of(&behind(side)->task->interface.outputs, index);
}

static int api_failure_document(struct tr_task_context *side, enum tr_document_form form,
                                struct tr_bytes document, struct tr_transition *transition)
{
    struct tri_task *task = behind(side);
    return noted(task, tri_task_failure_from_document(task, form, document, transition));
}

static int api_failure_json(struct tr_task_context *side, struct tr_text json,
                            struct tr_transition *transition)
{
    return api_failure_document(side, TR_DOCUMENT_JSON, tri_task_bytes_of_text(json), transition);
}

/* Makes a plan in the handling's memory. */
static int keep_plan(struct tri_task *task, struct tr_buffer *plan, int error, struct tr_bytes *out)
{
    struct tr_bytes kept = {0};
    if (error == 0) {
        kept = tr_arena_bytes(&task->arena, tr_buffer_bytes(plan));
        error = task->arena.error;
    }
    tr_buffer_fini(plan);
    if (error == 0) {
        *out = kept;
    }
    return error == TR_MEMORY ? noted(task, error) : error;
}

static int api_inputs_plan(struct tr_task_context *side, enum tr_document_form form,
                           struct tr_bytes *out)
{
    struct tri_task *task = behind(side);
    struct tr_buffer plan;
    struct tr_bytes inputs;
    tr_buffer_init(&plan, TR_MESSAGE_BYTES_MAX);
    int error = tri_task_inputs(task, &inputs);
    if (error == 0) {
        error = tr_exchange_plan_inputs(&task->task->interface.inputs, form, inputs, &plan);
    }
    return keep_plan(task, &plan, error, out);
}

static int api_outputs_plan(struct tr_task_context *side, enum tr_document_form form,
                            struct tr_text folder, struct tr_bytes *out)
{
    struct tri_task *task = behind(side);
    struct tr_buffer plan;
    tr_buffer_init(&plan, TR_MESSAGE_BYTES_MAX);
    const struct tr_exchange_outputs outputs = {
        .variables = &task->task->interface.outputs,
        .form = form,
        .folder = folder,
        .depth = tri_task_is_dynamic(task) ? tri_task_depth(task) : 0};
    int error = tr_exchange_plan_outputs(&outputs, &plan);
    return keep_plan(task, &plan, error, out);
}

static const struct tr_plugin *api_plugin(struct tr_task_context *side)
{
    return behind(side)->plugin;
}

static const struct tr_engine_endpoint *endpoint_of(struct tri_task *task, struct tr_text name)
{
    return tr_engine_endpoint(task->engine, task->plugin, name);
}

static const struct tr_webapi_endpoint *api_endpoint(struct tr_task_context *side,
                                                     struct tr_text name)
{
    const struct tr_engine_endpoint *found = endpoint_of(behind(side), name);
    return found == NULL ? NULL : &found->endpoint;
}

/* What is asked of the refresh actor it may ask outside: the intent is the task's from now on. */
static int api_refresh(struct tr_task_context *side, struct tr_text endpoint,
                       const struct tr_schema *schema, const void *body)
{
    struct tri_task *task = behind(side);
    const struct tr_engine_endpoint *found = endpoint_of(task, endpoint);
    if (found == NULL || tr_key_is_none(found->refresh.key)) {
        return TR_NOT_FOUND;
    }
    int error = tr_tell(task->context, found->refresh, schema, body);
    if (error == 0 && task->state->intent == TR_INTENT_NEW) {
        task->state->intent = TR_INTENT_INTENT;
    }
    return error == TR_MEMORY ? noted(task, error) : error;
}

const struct tr_task_api tri_task_api = {
    .abi = TR_PLUGIN_ABI,
    .now_ms = api_now_ms,
    .random = api_random,
    .template = api_template,
    .identity = api_identity,
    .store_folder = api_store_folder,
    .attempt_folder = api_attempt_folder,
    .checkpoint_folder = api_checkpoint_folder,
    .scratch = api_scratch,
    .inputs = api_inputs,
    .inputs_json = api_inputs_json,
    .read_json = api_read_json,
    .outputs = api_outputs,
    .outputs_json = api_outputs_json,
    .call = api_call,
    .tell = api_tell,
    .timer = api_timer,
    .timer_stop = api_timer_stop,
    .log = api_log,
    .folder = api_folder,
    .shared_folder = api_shared_folder,
    .input = api_input,
    .output = api_output,
    .failure_json = api_failure_json,
    .inputs_plan = api_inputs_plan,
    .outputs_plan = api_outputs_plan,
    .inputs_document = api_inputs_document,
    .outputs_document = api_outputs_document,
    .failure_document = api_failure_document,
    .plugin = api_plugin,
    .endpoint = api_endpoint,
    .refresh = api_refresh,
};
