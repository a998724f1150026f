/*
 * From rows to messages. Of a launch plan Flyte says what it expects: the inputs of its workflow,
 * with the plan's defaults, without what it has fixed; what has no default is required.
 */
#include "deploy/entities/entity_messages.h"

#include <string.h>

#include "actors/graph/flyte/flyte.h"
#include "deploy/entities/entity_id.h"
#include "schemas/codec/error.h"

#define MS_PER_SECOND 1000
#define NS_PER_MS 1000000

Google__Protobuf__Timestamp *tri_time_new(struct tri_job *job, uint64_t time_ms)
{
    Google__Protobuf__Timestamp *time = tri_job_new(job, &google__protobuf__timestamp__descriptor);
    if (time != NULL) {
        time->seconds = (int64_t)(time_ms / MS_PER_SECOND);
        time->nanos = (int32_t)(time_ms % MS_PER_SECOND * NS_PER_MS);
    }
    return time;
}

Flyteidl__Admin__DescriptionEntity *tri_description_new(struct tri_job *job,
                                                        const struct tr_entity *row)
{
    const ProtobufCMessageDescriptor *descriptor = &flyteidl__admin__description_entity__descriptor;
    Flyteidl__Admin__DescriptionEntity *description =
        row->description.size == 0 ? tri_job_new(job, descriptor)
                                   : tri_job_unpack(job, descriptor, row->description);
    if (description != NULL) {
        description->id = tri_id_new(job, row);
    }
    return description == NULL || description->id == NULL ? NULL : description;
}

static char *short_description(struct tri_job *job, const struct tr_entity *row)
{
    const Flyteidl__Admin__DescriptionEntity *description = tri_description_new(job, row);
    return description == NULL ? NULL : description->short_description;
}

/* ------------------------------------------------------------------ tasks */

Flyteidl__Admin__Task *tri_task_new(struct tri_job *job, const struct tr_entity *row)
{
    Flyteidl__Admin__Task *task = tri_job_new(job, &flyteidl__admin__task__descriptor);
    Flyteidl__Admin__TaskClosure *closure =
        tri_job_new(job, &flyteidl__admin__task_closure__descriptor);
    Flyteidl__Core__CompiledTask *compiled =
        tri_job_new(job, &flyteidl__core__compiled_task__descriptor);
    Flyteidl__Core__TaskTemplate *template =
        tri_job_unpack(job, &flyteidl__core__task_template__descriptor, row->message);
    if (task == NULL || closure == NULL || compiled == NULL || template == NULL) {
        return NULL;
    }
    compiled->template_ = template;
    closure->compiled_task = compiled;
    closure->created_at = tri_time_new(job, row->applied_ms);
    task->id = tri_id_new(job, row);
    task->closure = closure;
    task->short_description = short_description(job, row);
    return task->id == NULL || task->short_description == NULL ? NULL : task;
}

/* ------------------------------------------------------------------ workflows */

static Flyteidl__Admin__Workflow *workflow_of(struct tri_job *job, const struct tr_entity *row,
                                              Flyteidl__Core__CompiledWorkflowClosure *compiled)
{
    Flyteidl__Admin__Workflow *workflow = tri_job_new(job, &flyteidl__admin__workflow__descriptor);
    Flyteidl__Admin__WorkflowClosure *closure =
        tri_job_new(job, &flyteidl__admin__workflow_closure__descriptor);
    if (workflow == NULL || closure == NULL) {
        return NULL;
    }
    closure->compiled_workflow = compiled;
    closure->created_at = tri_time_new(job, row->applied_ms);
    workflow->id = tri_id_new(job, row);
    workflow->closure = closure;
    workflow->short_description = short_description(job, row);
    return workflow->id == NULL || workflow->short_description == NULL ? NULL : workflow;
}

static Flyteidl__Core__WorkflowTemplate *template_of(struct tri_job *job,
                                                     const struct tr_entity *row)
{
    return tri_job_unpack(job, &flyteidl__core__workflow_template__descriptor, row->message);
}

Flyteidl__Admin__Workflow *tri_workflow_new(struct tri_job *job, const struct tr_entity *row)
{
    Flyteidl__Core__CompiledWorkflowClosure *compiled =
        tri_job_new(job, &flyteidl__core__compiled_workflow_closure__descriptor);
    Flyteidl__Core__CompiledWorkflow *primary =
        tri_job_new(job, &flyteidl__core__compiled_workflow__descriptor);
    Flyteidl__Core__WorkflowTemplate *shown =
        tri_job_new(job, &flyteidl__core__workflow_template__descriptor);
    const Flyteidl__Core__WorkflowTemplate *template = template_of(job, row);
    if (compiled == NULL || primary == NULL || shown == NULL || template == NULL) {
        return NULL;
    }
    shown->id = template->id;
    shown->interface = template->interface;
    primary->template_ = shown;
    compiled->primary = primary;
    return workflow_of(job, row, compiled);
}

static int find(void *self, struct tr_arena *arena, struct tr_entity *entity)
{
    struct tri_job *job = self;
    return tri_view_find(job->registrar, arena, entity);
}

/* A template as the specification of a workflow: its one field. */
static struct tr_bytes specify(struct tri_job *job, struct tr_bytes template)
{
    enum { TEMPLATE_TAG = 1 << 3 | 2, MORE = 0x80, HEAD_MAX = 11 };
    uint8_t *bytes = tr_arena_alloc(&job->arena, template.size + HEAD_MAX);
    size_t size = 0;
    if (bytes == NULL) {
        return (struct tr_bytes){.size = 0};
    }
    bytes[size++] = TEMPLATE_TAG;
    size_t rest = template.size;
    for (; rest >= MORE; rest >>= 7) {
        bytes[size++] = (uint8_t)(rest | MORE);
    }
    bytes[size++] = (uint8_t)rest;
    if (template.size > 0) {
        memcpy(bytes + size, template.data, template.size);
    }
    return (struct tr_bytes){.data = bytes, .size = size + template.size};
}

Flyteidl__Admin__Workflow *tri_workflow_compiled(struct tri_job *job, const struct tr_entity *row)
{
    const struct tr_flyte_file file = {.name = tr_text_of("workflow_2.pb"),
                                       .bytes = specify(job, row->message)};
    const struct tr_flyte_package package = {.files = &file,
                                             .file_count = 1,
                                             .project = row->project,
                                             .domain = row->domain,
                                             .version = row->version,
                                             .find = find,
                                             .self = job};
    Flyteidl__Core__CompiledWorkflowClosure *closure = NULL;
    struct tr_report report;
    struct tr_buffer bytes;
    tr_report_init(&report);
    tr_buffer_init(&bytes, 0);
    int error = job->arena.error != 0 ? job->arena.error
                                      : tr_flyte_closure(&package, row->name, &report, &bytes);
    if (error == 0) {
        closure = tri_job_unpack(job, &flyteidl__core__compiled_workflow_closure__descriptor,
                                 tr_buffer_bytes(&bytes));
    } else if (error == TR_INVALID || error == TR_NOT_FOUND) {
        tri_job_fail(job, TR_API_DATA_LOSS, "what is kept of the workflow '%.*s' is damaged",
                     TRI_SHOWN(row->name));
    } else {
        tri_job_fail_error(job, error, job->registrar->view.words);
    }
    tr_buffer_fini(&bytes);
    tr_report_fini(&report);
    return closure == NULL ? NULL : workflow_of(job, row, closure);
}

/* ------------------------------------------------------------------ launch plans */

static bool is_fixed(const Flyteidl__Admin__LaunchPlanSpec *spec, const char *name)
{
    const Flyteidl__Core__LiteralMap *fixed = spec->fixed_inputs;
    for (size_t i = 0; fixed != NULL && i < fixed->n_literals; i++) {
        if (strcmp(fixed->literals[i]->key, name) == 0) {
            return true;
        }
    }
    return false;
}

/* What a plan says of an input, if it has a value for it; NULL: it has none. */
static Flyteidl__Core__Parameter *default_of(const Flyteidl__Admin__LaunchPlanSpec *spec,
                                             const char *name)
{
    const Flyteidl__Core__ParameterMap *defaults = spec->default_inputs;
    for (size_t i = 0; defaults != NULL && i < defaults->n_parameters; i++) {
        if (strcmp(defaults->parameters[i]->key, name) == 0) {
            return defaults->parameters[i]->value;
        }
    }
    return NULL;
}

static Flyteidl__Core__Parameter *parameter_of(
    struct tri_job *job, const Flyteidl__Admin__LaunchPlanSpec *spec,
    const Flyteidl__Core__VariableMap__VariablesEntry *input)
{
    Flyteidl__Core__Parameter *given = default_of(spec, input->key);
    if (given != NULL && given->behavior_case != FLYTEIDL__CORE__PARAMETER__BEHAVIOR__NOT_SET) {
        return given;
    }
    Flyteidl__Core__Parameter *parameter = tri_job_new(job, &flyteidl__core__parameter__descriptor);
    if (parameter != NULL) {
        parameter->var = input->value;
        parameter->behavior_case = FLYTEIDL__CORE__PARAMETER__BEHAVIOR_REQUIRED;
        parameter->required = true;
    }
    return parameter;
}

static Flyteidl__Core__ParameterMap *expected_inputs(struct tri_job *job,
                                                     const Flyteidl__Admin__LaunchPlanSpec *spec,
                                                     const Flyteidl__Core__VariableMap *inputs)
{
    size_t most = inputs == NULL ? 0 : inputs->n_variables;
    Flyteidl__Core__ParameterMap *map =
        tri_job_new(job, &flyteidl__core__parameter_map__descriptor);
    Flyteidl__Core__ParameterMap__ParametersEntry **entries =
        tr_arena_array(&job->arena, most, sizeof(void *));
    for (size_t i = 0; map != NULL && entries != NULL && i < most; i++) {
        if (is_fixed(spec, inputs->variables[i]->key)) {
            continue;
        }
        Flyteidl__Core__ParameterMap__ParametersEntry *entry =
            tri_job_new(job, &flyteidl__core__parameter_map__parameters_entry__descriptor);
        if (entry != NULL) {
            entry->key = inputs->variables[i]->key;
            entry->value = parameter_of(job, spec, inputs->variables[i]);
            entries[map->n_parameters++] = entry;
        }
    }
    if (map != NULL) {
        map->parameters = entries;
    }
    return map;
}

/* The interface of the workflow that a plan starts; NULL: it is not known, or that failed. */
static const Flyteidl__Core__TypedInterface *interface_of(
    struct tri_job *job, const Flyteidl__Admin__LaunchPlanSpec *spec)
{
    struct tr_entity row = {.kind = TR_ENTITY_WORKFLOW};
    const Flyteidl__Core__Identifier *id = spec->workflow_id;
    if (id == NULL) {
        return NULL;
    }
    row.project = tr_text_of(id->project);
    row.domain = tr_text_of(id->domain);
    row.name = tr_text_of(id->name);
    row.version = tr_text_of(id->version);
    int error = tri_view_find(job->registrar, &job->arena, &row);
    if (error != 0 && error != TR_NOT_FOUND) {
        tri_job_fail_error(job, error, job->registrar->view.words);
    }
    const Flyteidl__Core__WorkflowTemplate *template = error == 0 ? template_of(job, &row) : NULL;
    return template == NULL ? NULL : template->interface;
}

Flyteidl__Admin__LaunchPlan *tri_plan_new(struct tri_job *job, const struct tr_entity *row)
{
    Flyteidl__Admin__LaunchPlan *plan =
        tri_job_unpack(job, &flyteidl__admin__launch_plan__descriptor, row->message);
    Flyteidl__Admin__LaunchPlanClosure *closure =
        tri_job_new(job, &flyteidl__admin__launch_plan_closure__descriptor);
    if (plan == NULL || closure == NULL) {
        return NULL;
    }
    if (plan->spec == NULL) {
        plan->spec = tri_job_new(job, &flyteidl__admin__launch_plan_spec__descriptor);
    }
    const Flyteidl__Core__TypedInterface *interface =
        plan->spec == NULL ? NULL : interface_of(job, plan->spec);
    closure->state = row->is_active ? FLYTEIDL__ADMIN__LAUNCH_PLAN_STATE__ACTIVE
                                    : FLYTEIDL__ADMIN__LAUNCH_PLAN_STATE__INACTIVE;
    closure->expected_inputs =
        plan->spec == NULL
            ? NULL
            : expected_inputs(job, plan->spec, interface == NULL ? NULL : interface->inputs);
    closure->expected_outputs = interface != NULL && interface->outputs != NULL
                                    ? interface->outputs
                                    : tri_job_new(job, &flyteidl__core__variable_map__descriptor);
    closure->created_at = tri_time_new(job, row->applied_ms);
    closure->updated_at =
        tri_time_new(job, row->updated_ms == 0 ? row->applied_ms : row->updated_ms);
    plan->closure = closure;
    return job->arena.error != 0 ? NULL : plan;
}
