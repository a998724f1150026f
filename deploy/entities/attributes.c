/*
 * Attributes: what people say of all executions of a project, of a domain or of a workflow. They
 * are kept and given back; a row without a message was deleted.
 */
#include <flyteidl/admin_project_attributes.pb-c.h>
#include <flyteidl/admin_project_domain_attributes.pb-c.h>
#include <flyteidl/admin_workflow_attributes.pb-c.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/common/clock.h"
#include "deploy/entities/entity_calls.h"
#include "deploy/entities/entity_id.h"
#include "schemas/codec/error.h"

typedef Flyteidl__Admin__MatchingAttributes matching;

/* Of what they are; an empty part does not narrow it. */
struct place {
    int type; /* a MatchableResource */
    const char *project;
    const char *domain;
    const char *workflow;
};

/* ------------------------------------------------------------------ the request */

static const char *word_of(int type)
{
    return tr_flyte_message_word(&flyteidl__admin__matchable_resource__descriptor, type);
}

/* `parts` of the place have to be there: 1 is a project alone, 3 a workflow. */
static bool check_place(struct tri_job *job, const struct place *place, int parts)
{
    if (word_of(place->type) == NULL) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT, "resource_type %d is none", place->type);
        return false;
    }
    return tri_id_check_part(job, place->project, "project") &&
           (parts < 2 || tri_id_check_part(job, place->domain, "domain")) &&
           (parts < 3 || tri_id_check_part(job, place->workflow, "workflow"));
}

/* The fields of the message are in the order of the types. */
static bool read_type(struct tri_job *job, const matching *given, struct place *place)
{
    if (given == NULL ||
        given->target_case == FLYTEIDL__ADMIN__MATCHING_ATTRIBUTES__TARGET__NOT_SET) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT, "missing matching_attributes");
        return false;
    }
    place->type = (int)given->target_case - 1;
    return true;
}

/* ------------------------------------------------------------------ rows */

struct finding {
    struct tri_job *job;
    matching *found; /* NULL: there are none */
};

static int take_found(void *self, const void *value)
{
    struct finding *finding = self;
    const struct tr_entity_attributes *row = value;
    if (row->message.size > 0) {
        finding->found = tri_job_unpack(
            finding->job, &flyteidl__admin__matching_attributes__descriptor, row->message);
    }
    return 0;
}

/* False: the job has failed, with NOT_FOUND where there are none. */
static bool find(struct tri_job *job, const struct place *place, matching **found)
{
    struct finding finding = {.job = job};
    struct tr_reader *reader = NULL;
    const struct tr_reader_filter filters[] = {
        tr_filter_number("type", TR_FILTER_EQUAL, (uint64_t)place->type),
        tr_filter_text("project", TR_FILTER_EQUAL, tr_text_of(place->project)),
        tr_filter_text("domain", TR_FILTER_EQUAL, tr_text_of(place->domain)),
        tr_filter_text("workflow", TR_FILTER_EQUAL, tr_text_of(place->workflow)),
    };
    const struct tr_reader_query query = {.record = &tr_entity_attributes_schema,
                                          .filters = filters,
                                          .filter_count = TR_COUNT_OF(filters)};
    int error = tri_view_reader(job->registrar, &reader);
    const char *words = job->registrar->view.words;
    if (error == 0) {
        error = tr_reader_rows(reader, &query, take_found, &finding);
        words = tr_reader_explain(reader);
    }
    if (error != 0) {
        tri_job_fail_error(job, error, words);
    } else if (finding.found == NULL && job->code != TR_API_DATA_LOSS) {
        tri_job_fail(job, TR_API_NOT_FOUND, "%.200s%s%.200s%s%.200s has no attributes %s",
                     place->project, place->domain[0] != '\0' ? "/" : "", place->domain,
                     place->workflow[0] != '\0' ? "/" : "", place->workflow, word_of(place->type));
    }
    *found = finding.found;
    return *found != NULL;
}

/* Keeps them, or their end, and answers. */
static void keep(struct tri_job *job, const struct place *place, const matching *given,
                 const ProtobufCMessage *response)
{
    struct tri_keep rows;
    struct tr_buffer bytes;
    tr_buffer_init(&bytes, 0);
    tri_keep_init(&rows);
    if (given != NULL) {
        tr_flyte_message_pack(&given->base, &bytes);
    }
    struct tr_entity_attributes row = {.type = (uint8_t)place->type,
                                       .project = tr_text_of(place->project),
                                       .domain = tr_text_of(place->domain),
                                       .workflow = tr_text_of(place->workflow),
                                       .message = tr_buffer_bytes(&bytes),
                                       .updated_ms = tr_clock_wall_ms()};
    int error = bytes.error != 0 ? bytes.error
                : bytes.size > TR_ENTITY_BYTES_MAX
                    ? TR_LIMIT
                    : tri_keep_add(&rows, &tr_entity_attributes_schema, &row);
    if (error != 0) {
        tri_job_fail_error(job, error, "");
    } else if (tri_keep_commit(job, &rows, NULL, NULL)) {
        tri_view_rest(job->registrar); /* attributes lie on no shelf */
        tri_job_answer(job, response);
    }
    tri_keep_fini(&rows);
    tr_buffer_fini(&bytes);
}

/* ------------------------------------------------------------------ the calls */

static void update(struct tri_job *job, struct place place, int parts, const matching *given,
                   const ProtobufCMessage *response)
{
    if (response != NULL && read_type(job, given, &place) && check_place(job, &place, parts)) {
        keep(job, &place, given, response);
    }
}

static void forget(struct tri_job *job, struct place place, int parts,
                   const ProtobufCMessage *response)
{
    matching *found;
    if (response != NULL && check_place(job, &place, parts) && find(job, &place, &found)) {
        keep(job, &place, NULL, response);
    }
}

void tri_update_project_attributes(struct tri_job *job, const void *message)
{
    Flyteidl__Admin__ProjectAttributes none;
    const Flyteidl__Admin__ProjectAttributesUpdateRequest *request = message;
    flyteidl__admin__project_attributes__init(&none);
    const Flyteidl__Admin__ProjectAttributes *given =
        request->attributes == NULL ? &none : request->attributes;
    update(job, (struct place){.project = given->project, .domain = "", .workflow = ""}, 1,
           given->matching_attributes,
           tri_job_new(job, &flyteidl__admin__project_attributes_update_response__descriptor));
}

void tri_get_project_attributes(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__ProjectAttributesGetRequest *request = message;
    const struct place place = {(int)request->resource_type, request->project, "", ""};
    Flyteidl__Admin__ProjectAttributesGetResponse *response =
        tri_job_new(job, &flyteidl__admin__project_attributes_get_response__descriptor);
    Flyteidl__Admin__ProjectAttributes *attributes =
        tri_job_new(job, &flyteidl__admin__project_attributes__descriptor);
    if (response == NULL || attributes == NULL || !check_place(job, &place, 1) ||
        !find(job, &place, &attributes->matching_attributes)) {
        return;
    }
    attributes->project = request->project;
    response->attributes = attributes;
    tri_job_answer(job, &response->base);
}

void tri_delete_project_attributes(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__ProjectAttributesDeleteRequest *request = message;
    forget(job, (struct place){(int)request->resource_type, request->project, "", ""}, 1,
           tri_job_new(job, &flyteidl__admin__project_attributes_delete_response__descriptor));
}

void tri_update_project_domain_attributes(struct tri_job *job, const void *message)
{
    Flyteidl__Admin__ProjectDomainAttributes none;
    const Flyteidl__Admin__ProjectDomainAttributesUpdateRequest *request = message;
    flyteidl__admin__project_domain_attributes__init(&none);
    const Flyteidl__Admin__ProjectDomainAttributes *given =
        request->attributes == NULL ? &none : request->attributes;
    update(
        job, (struct place){.project = given->project, .domain = given->domain, .workflow = ""}, 2,
        given->matching_attributes,
        tri_job_new(job, &flyteidl__admin__project_domain_attributes_update_response__descriptor));
}

void tri_get_project_domain_attributes(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__ProjectDomainAttributesGetRequest *request = message;
    const struct place place = {(int)request->resource_type, request->project, request->domain, ""};
    Flyteidl__Admin__ProjectDomainAttributesGetResponse *response =
        tri_job_new(job, &flyteidl__admin__project_domain_attributes_get_response__descriptor);
    Flyteidl__Admin__ProjectDomainAttributes *attributes =
        tri_job_new(job, &flyteidl__admin__project_domain_attributes__descriptor);
    if (response == NULL || attributes == NULL || !check_place(job, &place, 2) ||
        !find(job, &place, &attributes->matching_attributes)) {
        return;
    }
    attributes->project = request->project;
    attributes->domain = request->domain;
    response->attributes = attributes;
    tri_job_answer(job, &response->base);
}

void tri_delete_project_domain_attributes(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__ProjectDomainAttributesDeleteRequest *request = message;
    forget(
        job, (struct place){(int)request->resource_type, request->project, request->domain, ""}, 2,
        tri_job_new(job, &flyteidl__admin__project_domain_attributes_delete_response__descriptor));
}

void tri_update_workflow_attributes(struct tri_job *job, const void *message)
{
    Flyteidl__Admin__WorkflowAttributes none;
    const Flyteidl__Admin__WorkflowAttributesUpdateRequest *request = message;
    flyteidl__admin__workflow_attributes__init(&none);
    const Flyteidl__Admin__WorkflowAttributes *given =
        request->attributes == NULL ? &none : request->attributes;
    update(job,
           (struct place){
               .project = given->project, .domain = given->domain, .workflow = given->workflow},
           3, given->matching_attributes,
           tri_job_new(job, &flyteidl__admin__workflow_attributes_update_response__descriptor));
}

void tri_get_workflow_attributes(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__WorkflowAttributesGetRequest *request = message;
    const struct place place = {(int)request->resource_type, request->project, request->domain,
                                request->workflow};
    Flyteidl__Admin__WorkflowAttributesGetResponse *response =
        tri_job_new(job, &flyteidl__admin__workflow_attributes_get_response__descriptor);
    Flyteidl__Admin__WorkflowAttributes *attributes =
        tri_job_new(job, &flyteidl__admin__workflow_attributes__descriptor);
    if (response == NULL || attributes == NULL || !check_place(job, &place, 3) ||
        !find(job, &place, &attributes->matching_attributes)) {
        return;
    }
    attributes->project = request->project;
    attributes->domain = request->domain;
    attributes->workflow = request->workflow;
    response->attributes = attributes;
    tri_job_answer(job, &response->base);
}

void tri_delete_workflow_attributes(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__WorkflowAttributesDeleteRequest *request = message;
    forget(job,
           (struct place){(int)request->resource_type, request->project, request->domain,
                          request->workflow},
           3, tri_job_new(job, &flyteidl__admin__workflow_attributes_delete_response__descriptor));
}

/* ------------------------------------------------------------------ all of a type */

struct listing {
    struct tri_job *job;
    struct tri_vector items; /* Flyteidl__Admin__MatchableAttributesConfiguration * */
};

static int take_listed(void *self, const void *value)
{
    struct listing *listing = self;
    struct tri_job *job = listing->job;
    const struct tr_entity_attributes *row = value;
    if (row->message.size == 0) {
        return 0;
    }
    Flyteidl__Admin__MatchableAttributesConfiguration **place =
        tri_vector_add(&job->arena, &listing->items, sizeof(void *));
    Flyteidl__Admin__MatchableAttributesConfiguration *made =
        tri_job_new(job, &flyteidl__admin__matchable_attributes_configuration__descriptor);
    if (place == NULL || made == NULL) {
        return TR_MEMORY;
    }
    *place = made;
    made->attributes =
        tri_job_unpack(job, &flyteidl__admin__matching_attributes__descriptor, row->message);
    made->project = tri_job_string(job, row->project);
    made->domain = tri_job_string(job, row->domain);
    made->workflow = tri_job_string(job, row->workflow);
    return made->attributes == NULL ? TR_STORE_DAMAGED : job->arena.error;
}

void tri_list_matchable_attributes(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__ListMatchableAttributesRequest *request = message;
    struct listing listing = {.job = job};
    struct tr_reader *reader = NULL;
    const struct tr_reader_filter filter =
        tr_filter_number("type", TR_FILTER_EQUAL, (uint64_t)request->resource_type);
    const struct tr_reader_query query = {
        .record = &tr_entity_attributes_schema, .filters = &filter, .filter_count = 1};
    Flyteidl__Admin__ListMatchableAttributesResponse *response =
        tri_job_new(job, &flyteidl__admin__list_matchable_attributes_response__descriptor);
    int error = response == NULL ? TR_MEMORY : tri_view_reader(job->registrar, &reader);
    const char *words = job->registrar->view.words;
    if (error == 0) {
        error = tr_reader_rows(reader, &query, take_listed, &listing);
        words = tr_reader_explain(reader);
    }
    if (error != 0) {
        tri_job_fail_error(job, error, words);
        return;
    }
    response->n_configurations = listing.items.count;
    response->configurations = listing.items.items;
    tri_job_answer(job, &response->base);
}
