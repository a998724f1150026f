/*
 * Launch plans that are active: of each name one version at most, whose schedule the engine has
 * armed. The schedule is changed before the rows are, both on the engine's thread, and before the
 * client is answered; whoever is killed in between asks again, and gets the same.
 */
#include <stdio.h>

#include "actors/graph/compiled/pack.h"
#include "deploy/common/clock.h"
#include "deploy/common/schemas.h"
#include "deploy/entities/entity_calls.h"
#include "deploy/entities/entity_id.h"
#include "deploy/entities/entity_messages.h"
#include "deploy/entities/register.h"
#include "deploy/inputs/offload.h"
#include "deploy/inputs/runnable.h"
#include "deploy/server/apply_plans.h"
#include "schemas/codec/error.h"

/* ------------------------------------------------------------------ the active one */

struct finding {
    struct tr_arena *arena;
    struct tr_entity *row;
    bool is_found;
};

static int take(void *self, const void *row)
{
    struct finding *finding = self;
    *finding->row = *(const struct tr_entity *)row;
    finding->is_found = true;
    return tr_schemas_row_keep(finding->arena, &tr_entity_schema, finding->row);
}

/* Of a name; TR_NOT_FOUND: none is, or there is no such name. */
static int find_active(struct tri_job *job, struct tr_text project, struct tr_text domain,
                       struct tr_text name, struct tr_entity *row, const char **words)
{
    struct finding finding = {.arena = &job->arena, .row = row};
    struct tr_reader *reader = NULL;
    struct tr_reader_filter filters[] = {
        tr_filter_text("project", TR_FILTER_EQUAL, project),
        tr_filter_text("domain", TR_FILTER_EQUAL, domain),
        tr_filter_number("kind", TR_FILTER_EQUAL, TR_ENTITY_PLAN),
        tr_filter_number("is_active", TR_FILTER_EQUAL, 1),
        tr_filter_text("name", TR_FILTER_EQUAL, name),
    };
    struct tr_reader_query query = {.record = &tr_entity_schema,
                                    .filters = filters,
                                    .filter_count = TR_COUNT_OF(filters),
                                    .limit = 1};
    int error = tri_view_reader(job->registrar, &reader);
    *words = job->registrar->view.words;
    if (error == 0) {
        error = tr_reader_rows(reader, &query, take, &finding);
        *words = tr_reader_explain(reader);
    }
    return error == 0 && !finding.is_found ? TR_NOT_FOUND : error;
}

void tri_get_active_launch_plan(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__ActiveLaunchPlanRequest *request = message;
    const Flyteidl__Admin__NamedEntityIdentifier *id = request->id;
    struct tr_entity row;
    const char *words = "";
    if (!tri_id_check_part(job, id == NULL ? NULL : id->project, "project") ||
        !tri_id_check_part(job, id->domain, "domain") ||
        !tri_id_check_part(job, id->name, "name")) {
        return;
    }
    int error = find_active(job, tr_text_of(id->project), tr_text_of(id->domain),
                            tr_text_of(id->name), &row, &words);
    if (error == TR_NOT_FOUND) {
        tri_job_fail(job, TR_API_NOT_FOUND,
                     "No active launch plan could be found: %.200s:%.200s:%.200s", id->project,
                     id->domain, id->name);
    } else if (error != 0) {
        tri_job_fail_error(job, error, words);
    } else {
        const Flyteidl__Admin__LaunchPlan *plan = tri_plan_new(job, &row);
        if (plan != NULL) {
            tri_job_answer(job, &plan->base);
        }
    }
}

/* ------------------------------------------------------------------ compiling */

static int find(void *self, struct tr_arena *arena, struct tr_entity *entity)
{
    struct tri_job *job = self;
    return tri_view_find(job->registrar, arena, entity);
}

bool tri_compile_plan(struct tri_job *job, const struct tr_entity *plan, struct tr_graph **graph)
{
    const struct tr_flyte_file file = {.name = tr_text_of("plan_3.pb"), .bytes = plan->message};
    const struct tr_flyte_package package = {.files = &file,
                                             .file_count = 1,
                                             .project = plan->project,
                                             .domain = plan->domain,
                                             .version = plan->version,
                                             .find = find,
                                             .self = job};
    const struct tr_import_place place = {.path = plan->name,
                                          .folder = tr_text_of(job->registrar->live->folder)};
    struct tr_report report;
    tr_report_init(&report);
    int error = tr_import_package(&package, &place, &report, graph);
    if (error == TR_INVALID) {
        tri_tell_report(job, &report);
    } else if (error != 0) {
        tri_job_fail_error(job, error, job->registrar->view.words);
    }
    tr_report_fini(&report);
    return error == 0;
}

/* The plan in a graph; TR_GRAPH_NONE: it has none, as it only has a workflow's defaults. */
static uint32_t plan_in(const struct tr_graph *graph, const struct tr_entity *plan)
{
    return tr_graph_find_plan(graph, plan->name);
}

/* What a schedule will start has to be able to run here. */
static bool check_runnable(struct tri_job *job, const struct tr_graph *graph, uint32_t position)
{
    struct tr_report report;
    tr_report_init(&report);
    int error = tr_graph_check_runnable(graph, graph->plans[position].workflow,
                                        job->registrar->live->engine, "", &report);
    if (error == TR_INVALID) {
        tri_tell_report(job, &report);
        job->code = TR_API_FAILED_PRECONDITION;
    } else if (error != 0) {
        tri_job_fail_error(job, error, "");
    }
    tr_report_fini(&report);
    return error == 0;
}

/* Large values go to the store's blobs, as those of `troupe apply` do. */
static bool offload(struct tri_job *job, struct tr_graph *graph)
{
    char explain[TR_OFFLOAD_EXPLAIN_BYTES] = "";
    struct tr_buffer none;
    tr_buffer_init(&none, 0);
    tr_buffer_array(&none, 0);
    int error = tr_offload(job->registrar->live->folder, graph, &none, explain);
    tr_buffer_fini(&none);
    if (error != 0) {
        tri_job_fail_error(job, error, explain);
    }
    return error == 0;
}

/* ------------------------------------------------------------------ arming */

/* What becomes of the schedule of a name. */
struct arming {
    const struct tr_entity *plan;
    struct tr_graph *graph; /* with the plan and its schedule; NULL: the schedule is dropped */
};

static void hear(void *self, struct tr_text plan, uint8_t change, uint8_t kind)
{
    (void)self;
    (void)plan;
    (void)change;
    (void)kind;
}

static int arm(struct tr_live *live, void *self, char *explain)
{
    struct arming *arming = self;
    struct tr_graph *graph = arming->graph;
    arming->graph = NULL;
    return graph != NULL ? tr_live_apply(live, graph, (struct tr_bytes){.size = 0}, false, hear,
                                         NULL, explain)
                         : tr_live_drop_plan(live, arming->plan->project, arming->plan->domain,
                                             arming->plan->name, explain);
}

/* The graph of a plan with a schedule, or NULL; false: the job has failed. */
static bool prepare(struct tri_job *job, const struct tr_entity *plan, struct tr_graph **graph)
{
    *graph = NULL;
    if (!tri_compile_plan(job, plan, graph)) {
        return false;
    }
    uint32_t position = plan_in(*graph, plan);
    bool is_armed = position != TR_GRAPH_NONE && (*graph)->plans[position].schedule.is_set;
    bool is_fine = !is_armed || (check_runnable(job, *graph, position) && offload(job, *graph));
    if (!is_armed || !is_fine) {
        tr_graph_free(*graph);
        *graph = NULL;
    }
    return is_fine;
}

/* ------------------------------------------------------------------ the request */

static int add_row(struct tri_job *job, struct tri_keep *keep, const struct tr_entity *plan,
                   bool is_active)
{
    struct tr_entity *added = tri_vector_add(&job->arena, &keep->entities, sizeof *added);
    if (added == NULL) {
        return job->arena.error;
    }
    *added = *plan;
    added->is_active = is_active;
    added->updated_ms = tr_clock_wall_ms();
    return tri_keep_add(keep, &tr_entity_schema, added);
}

/* The plan gets its state, and whichever was active before has none any more. */
static void change(struct tri_job *job, const struct tr_entity *plan,
                   const struct tr_entity *before, bool is_active, const ProtobufCMessage *response)
{
    struct arming arming = {.plan = plan};
    struct tri_keep keep;
    if (is_active && !prepare(job, plan, &arming.graph)) {
        return;
    }
    tri_keep_init(&keep);
    bool is_other = before != NULL && !tr_text_equal(before->version, plan->version);
    bool is_changed = is_active || (before != NULL && !is_other);
    int error = is_other && is_active ? add_row(job, &keep, before, false) : 0;
    if (error == 0 && is_changed) {
        error = add_row(job, &keep, plan, is_active);
    }
    if (error != 0) {
        tri_job_fail_error(job, error, "");
    } else if (!is_changed || tri_keep_commit(job, &keep, arm, &arming)) {
        tri_job_answer(job, response);
    }
    tr_graph_free(arming.graph); /* if the engine has not come to it */
    tri_keep_fini(&keep);
}

void tri_update_launch_plan(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__LaunchPlanUpdateRequest *request = message;
    struct tr_entity plan;
    struct tr_entity active;
    const char *words = "";
    const ProtobufCMessage *response =
        tri_job_new(job, &flyteidl__admin__launch_plan_update_response__descriptor);
    bool is_active = request->state == FLYTEIDL__ADMIN__LAUNCH_PLAN_STATE__ACTIVE;
    if (!tri_id_read(job, request->id, TR_ENTITY_PLAN, &plan) || !tri_entity_find(job, &plan)) {
        return;
    }
    if (!is_active && request->state != FLYTEIDL__ADMIN__LAUNCH_PLAN_STATE__INACTIVE) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT, "unrecognized launch plan state %d",
                     (int)request->state);
        return;
    }
    int error = find_active(job, plan.project, plan.domain, plan.name, &active, &words);
    if (error != 0 && error != TR_NOT_FOUND) {
        tri_job_fail_error(job, error, words);
        return;
    }
    change(job, &plan, error == 0 ? &active : NULL, is_active, response);
}
