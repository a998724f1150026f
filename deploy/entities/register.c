/*
 * Registration. An entity is read, compared and compiled just as one of a package is
 * (actors/graph/import/), with what is registered before it as what it may refer to; so what comes
 * this way and what `troupe apply` keeps are the same rows.
 *
 * An id never changes its meaning: the same again says so, and anything else is refused with what
 * differs. Both are found out before anything is compiled, since flytekit asks four times.
 */
#include "deploy/entities/entity_id.h"

#include <flyteidl/admin_launch_plan.pb-c.h>
#include <flyteidl/admin_task.pb-c.h>
#include <flyteidl/admin_workflow.pb-c.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/flyte/flyte_difference.h"
#include "actors/graph/flyte/flyte_message.h"
#include "deploy/common/clock.h"
#include "deploy/common/schemas.h"
#include "deploy/entities/entity_calls.h"
#include "deploy/entities/register.h"
#include "schemas/codec/error.h"

/* How a kind is called in Flyte's messages. */
static const char *const nouns[] = {
    [TR_ENTITY_TASK] = "task", [TR_ENTITY_WORKFLOW] = "workflow", [TR_ENTITY_PLAN] = "launch plan"};

/* What ends the reading of a package early, beside errors. */
enum { IS_SAME = 1, IS_OTHER = 2 };

struct registering {
    struct tri_job *job;
    struct tr_entity id; /* of what is registered */
    struct tr_bytes description;
    struct tri_keep keep;
    struct tr_report report;
};

/* ------------------------------------------------------------------ what is there */

static const ProtobufCMessageDescriptor *descriptor_of(uint8_t kind)
{
    return kind == TR_ENTITY_TASK       ? &flyteidl__core__task_template__descriptor
           : kind == TR_ENTITY_WORKFLOW ? &flyteidl__core__workflow_template__descriptor
                                        : &flyteidl__admin__launch_plan__descriptor;
}

static void tell_difference(struct tri_job *job, const struct tr_entity *before,
                            const struct tr_entity *after)
{
    struct tr_buffer lines;
    const ProtobufCMessageDescriptor *descriptor = descriptor_of(after->kind);
    const ProtobufCMessage *old = tri_job_unpack(job, descriptor, before->message);
    const ProtobufCMessage *now =
        old == NULL ? NULL : tri_job_unpack(job, descriptor, after->message);
    if (now == NULL) {
        return;
    }
    tr_buffer_init(&lines, 0);
    (void)tr_flyte_difference(old, now, &lines);
    const char *noun = nouns[after->kind];
    tri_job_fail(job, TR_API_INVALID_ARGUMENT,
                 "%.*s %s with different structure already exists. (Please register a new version "
                 "of the %s):%.*s",
                 TRI_SHOWN(after->name), noun, noun, TRI_TEXT(tr_buffer_text(&lines)));
    tr_buffer_fini(&lines);
}

/* Of workflows clients may read what was the matter. */
static void add_reason(struct tri_job *job, const struct tr_entity *entity, bool is_identical)
{
    Flyteidl__Admin__CreateWorkflowFailureReason *reason = tr_flyte_message_new(
        &job->arena, &flyteidl__admin__create_workflow_failure_reason__descriptor);
    Flyteidl__Admin__WorkflowErrorExistsIdenticalStructure *same = tr_flyte_message_new(
        &job->arena, &flyteidl__admin__workflow_error_exists_identical_structure__descriptor);
    Flyteidl__Admin__WorkflowErrorExistsDifferentStructure *other = tr_flyte_message_new(
        &job->arena, &flyteidl__admin__workflow_error_exists_different_structure__descriptor);
    if (entity->kind != TR_ENTITY_WORKFLOW || reason == NULL || same == NULL || other == NULL) {
        return;
    }
    Flyteidl__Core__Identifier *id = tri_id_new(job, entity);
    if (is_identical) {
        same->id = id;
        reason->reason_case =
            FLYTEIDL__ADMIN__CREATE_WORKFLOW_FAILURE_REASON__REASON_EXISTS_IDENTICAL_STRUCTURE;
        reason->exists_identical_structure = same;
    } else {
        other->id = id;
        reason->reason_case =
            FLYTEIDL__ADMIN__CREATE_WORKFLOW_FAILURE_REASON__REASON_EXISTS_DIFFERENT_STRUCTURE;
        reason->exists_different_structure = other;
    }
    job->detail = job->arena.error == 0 ? &reason->base : NULL;
}

static bool is_equal(const struct tr_entity *a, const struct tr_entity *b)
{
    return a->message.size == b->message.size &&
           memcmp(a->message.data, b->message.data, a->message.size) == 0;
}

static bool is_the_one(const struct registering *registering, const struct tr_entity *entity)
{
    return entity->kind == registering->id.kind &&
           tr_text_equal(entity->name, registering->id.name) &&
           tr_text_equal(entity->version, registering->id.version) &&
           tr_text_equal(entity->project, registering->id.project) &&
           tr_text_equal(entity->domain, registering->id.domain);
}

/* One that is not there is kept; the message and all else go into the job's arena. */
static int add(struct registering *registering, const struct tr_entity *entity)
{
    struct tri_job *job = registering->job;
    struct tr_entity *added =
        tri_vector_add(&job->arena, &registering->keep.entities, sizeof *added);
    if (added == NULL) {
        return job->arena.error;
    }
    *added = *entity;
    added->applied_ms = tr_clock_wall_ms();
    added->updated_ms = added->applied_ms;
    added->is_active = false;
    added->description =
        is_the_one(registering, entity) ? registering->description : (struct tr_bytes){.size = 0};
    return tr_schemas_row_keep(&job->arena, &tr_entity_schema, added);
}

/* Hears of the entity that is registered, and of workflows that it has brought along. */
static int hear(void *self, const struct tr_entity *entity)
{
    struct registering *registering = self;
    struct tri_job *job = registering->job;
    struct tr_entity found = *entity;
    if (entity->message.size > TR_ENTITY_BYTES_MAX) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT,
                     "the %s '%.*s' has %zu bytes, more than TR_ENTITY_BYTES_MAX (%u); part it",
                     nouns[entity->kind], TRI_SHOWN(entity->name), entity->message.size,
                     TR_ENTITY_BYTES_MAX);
        return IS_OTHER;
    }
    int error = tri_view_find(job->registrar, &job->arena, &found);
    if (error == TR_NOT_FOUND) {
        return add(registering, entity);
    }
    if (error != 0) {
        tri_job_fail_error(job, error, job->registrar->view.words);
        return IS_OTHER;
    }
    if (!is_equal(entity, &found)) {
        tell_difference(job, &found, entity);
        add_reason(job, entity, false);
        return IS_OTHER;
    }
    return is_the_one(registering, entity) ? IS_SAME : 0;
}

static int find(void *self, struct tr_arena *arena, struct tr_entity *entity)
{
    struct registering *registering = self;
    return tri_view_find(registering->job->registrar, arena, entity);
}

/* ------------------------------------------------------------------ compiling */

/* All that is wrong with it, in Flyte's form. */
void tri_tell_report(struct tri_job *job, struct tr_report *report)
{
    struct tr_buffer words;
    tr_report_finish(report);
    tr_buffer_init(&words, 0);
    tr_report_print_head(report, &words);
    for (uint32_t i = 0; i < report->count; i++) {
        tr_buffer_add_string(&words, i == 0 ? "" : "\n");
        tr_report_print_error(report, i, &words);
    }
    tri_job_fail(job, TR_API_INVALID_ARGUMENT, "%.*s",
                 TRI_TEXT(words.error == 0 ? tr_buffer_text(&words) : tr_text_of("it is wrong")));
    tr_buffer_fini(&words);
}

static struct tr_bytes pack(struct tri_job *job, const ProtobufCMessage *message)
{
    struct tr_buffer bytes;
    tr_buffer_init(&bytes, 0);
    tr_flyte_message_pack(message, &bytes);
    struct tr_bytes copy = tr_arena_bytes(&job->arena, tr_buffer_bytes(&bytes));
    job->arena.error = job->arena.error != 0 ? job->arena.error : bytes.error;
    tr_buffer_fini(&bytes);
    return copy;
}

static void end(struct registering *registering, int error, const ProtobufCMessage *response)
{
    struct tri_job *job = registering->job;
    if (error == IS_SAME) {
        tri_job_fail(job, TR_API_ALREADY_EXISTS, "%s with identical structure already exists",
                     nouns[registering->id.kind]);
        add_reason(job, &registering->id, true);
    } else if (error == TR_INVALID && tr_report_total(&registering->report) > 0) {
        tri_tell_report(job, &registering->report);
    } else if (error < 0) {
        tri_job_fail_error(job, error, job->registrar->view.words);
    } else if (error == 0 && tri_keep_commit(job, &registering->keep, NULL, NULL)) {
        tri_job_answer(job, response);
    }
}

static int add_rows(struct registering *registering)
{
    const struct tr_entity *entities = registering->keep.entities.items;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < registering->keep.entities.count; i++) {
        error = tri_keep_add(&registering->keep, &tr_entity_schema, &entities[i]);
    }
    return error;
}

/* The files of a package that are the request. */
static void enter(struct registering *registering, const struct tr_flyte_file *files, size_t count,
                  const Flyteidl__Core__TaskTemplate *task, const ProtobufCMessage *response)
{
    struct tri_job *job = registering->job;
    struct tr_flyte_package package = {.files = files,
                                       .file_count = count,
                                       .project = registering->id.project,
                                       .domain = registering->id.domain,
                                       .version = registering->id.version,
                                       .find = find,
                                       .keep = hear,
                                       .self = registering};
    const struct tr_import_place place = {.path = registering->id.name,
                                          .folder = tr_text_of(job->registrar->live->folder)};
    struct tr_graph *graph = NULL;
    tr_report_init(&registering->report);
    tri_keep_init(&registering->keep);
    int error = job->arena.error;
    if (error == 0 && task != NULL) {
        error = tri_place_task(job, task, &registering->report, &package);
    }
    if (error == 0) {
        error = tr_import_package(&package, &place, &registering->report, &graph);
        tr_graph_free(graph);
    }
    if (error == 0) {
        error = add_rows(registering);
    }
    end(registering, error, response);
    tri_keep_fini(&registering->keep);
    tr_report_fini(&registering->report);
}

/* ------------------------------------------------------------------ requests */

static struct tr_bytes describe(struct registering *registering,
                                const Flyteidl__Admin__DescriptionEntity *description)
{
    Flyteidl__Admin__DescriptionEntity kept;
    if (description == NULL) {
        return (struct tr_bytes){.size = 0};
    }
    kept = *description;
    kept.id = tri_id_new(registering->job, &registering->id);
    return pack(registering->job, &kept.base);
}

static bool check_there(struct tri_job *job, const void *part, const char *name)
{
    if (part == NULL) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT, "missing %s", name);
    }
    return part != NULL;
}

void tri_create_task(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__TaskCreateRequest *request = message;
    struct registering registering = {.job = job};
    if (!tri_id_read(job, request->id, TR_ENTITY_TASK, &registering.id) ||
        !check_there(job, request->spec, "spec") ||
        !check_there(job, request->spec->template_, "spec.template")) {
        return;
    }
    Flyteidl__Admin__TaskSpec *spec = request->spec;
    registering.description = describe(&registering, spec->description);
    spec->description = NULL;
    spec->template_->id = tri_id_new(job, &registering.id);
    const ProtobufCMessage *response =
        tri_job_new(job, &flyteidl__admin__task_create_response__descriptor);
    const struct tr_flyte_file file = {.name = tr_text_of("task_1.pb"),
                                       .bytes = pack(job, &spec->base)};
    enter(&registering, &file, 1, spec->template_, response);
}

void tri_create_workflow(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__WorkflowCreateRequest *request = message;
    struct registering registering = {.job = job};
    if (!tri_id_read(job, request->id, TR_ENTITY_WORKFLOW, &registering.id) ||
        !check_there(job, request->spec, "spec") ||
        !check_there(job, request->spec->template_, "spec.template")) {
        return;
    }
    const Flyteidl__Admin__WorkflowSpec *spec = request->spec;
    registering.description = describe(&registering, spec->description);
    spec->template_->id = tri_id_new(job, &registering.id);
    size_t count = 1 + spec->n_sub_workflows;
    struct tr_flyte_file *files = tr_arena_array(&job->arena, count, sizeof *files);
    for (size_t i = 0; files != NULL && i < count; i++) {
        Flyteidl__Admin__WorkflowSpec one = FLYTEIDL__ADMIN__WORKFLOW_SPEC__INIT;
        one.template_ = i == 0 ? spec->template_ : spec->sub_workflows[i - 1];
        files[i] = (struct tr_flyte_file){.name = tr_text_of("workflow_2.pb"),
                                          .bytes = pack(job, &one.base)};
    }
    const ProtobufCMessage *response =
        tri_job_new(job, &flyteidl__admin__workflow_create_response__descriptor);
    enter(&registering, files, count, NULL, response);
}

void tri_create_launch_plan(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__LaunchPlanCreateRequest *request = message;
    struct registering registering = {.job = job};
    if (!tri_id_read(job, request->id, TR_ENTITY_PLAN, &registering.id) ||
        !check_there(job, request->spec, "spec")) {
        return;
    }
    Flyteidl__Admin__LaunchPlan plan = FLYTEIDL__ADMIN__LAUNCH_PLAN__INIT;
    plan.id = tri_id_new(job, &registering.id);
    plan.spec = request->spec;
    const ProtobufCMessage *response =
        tri_job_new(job, &flyteidl__admin__launch_plan_create_response__descriptor);
    const struct tr_flyte_file file = {.name = tr_text_of("plan_3.pb"),
                                       .bytes = pack(job, &plan.base)};
    enter(&registering, &file, 1, NULL, response);
}
