/*
 * Names of entities, whatever their versions: lists of them, and what people say of one. Rows are
 * of versions, so a list goes from one name to the next through the index, past all versions of it.
 */
#include <string.h>

#include "deploy/common/clock.h"
#include "deploy/common/schemas.h"
#include "deploy/entities/entity_calls.h"
#include "deploy/entities/entity_id.h"
#include "deploy/entities/list.h"
#include "schemas/codec/error.h"

typedef Flyteidl__Admin__NamedEntityIdentifier name_id;

/* A list of names that is asked for. */
struct naming {
    struct tri_job *job;
    struct tr_reader *reader;
    enum tr_entity_kind kind;
    struct tr_text project;
    struct tr_text domain;
    struct tr_list_filters filters;
    struct tr_list_token token;
    bool is_descending;
    uint32_t limit;
    struct tri_vector names; /* struct tr_entity_name, in the job's arena */
    char *next_token;
};

/* ------------------------------------------------------------------ what people say */

struct finding {
    struct tr_arena *arena;
    struct tr_entity_name *row;
    bool is_found;
};

static int take_name(void *self, const void *row)
{
    struct finding *finding = self;
    *finding->row = *(const struct tr_entity_name *)row;
    finding->is_found = true;
    return tr_schemas_row_keep(finding->arena, &tr_entity_name_schema, finding->row);
}

/* Fills in what is said of a name, if something is. */
static int look_up(struct tri_job *job, struct tr_reader *reader, struct tr_entity_name *row)
{
    struct finding finding = {.arena = &job->arena, .row = row};
    struct tr_reader_filter filters[] = {
        tr_filter_text("project", TR_FILTER_EQUAL, row->project),
        tr_filter_text("domain", TR_FILTER_EQUAL, row->domain),
        tr_filter_number("kind", TR_FILTER_EQUAL, row->kind),
        tr_filter_text("name", TR_FILTER_EQUAL, row->name),
    };
    struct tr_reader_query query = {
        .record = &tr_entity_name_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(reader, &query, take_name, &finding);
}

/* ------------------------------------------------------------------ from name to name */

static int take_one(void *self, const void *value)
{
    struct naming *naming = self;
    const struct tr_entity *row = value;
    struct tr_entity_name *added =
        tri_vector_add(&naming->job->arena, &naming->names, sizeof *added);
    if (added == NULL) {
        return naming->job->arena.error;
    }
    *added = (struct tr_entity_name){.project = naming->project,
                                     .domain = naming->domain,
                                     .kind = (uint8_t)naming->kind,
                                     .name = tr_arena_text(&naming->job->arena, row->name)};
    return naming->job->arena.error;
}

/* Adds the name that comes behind another one, or the first (NULL). */
static int next_name(struct naming *naming, const struct tr_text *behind)
{
    struct tr_reader_filter filters[4] = {
        tr_filter_text("project", TR_FILTER_EQUAL, naming->project),
        tr_filter_text("domain", TR_FILTER_EQUAL, naming->domain),
        tr_filter_number("kind", TR_FILTER_EQUAL, naming->kind),
    };
    struct tr_reader_query query = {
        .record = &tr_entity_schema,
        .filters = filters,
        .filter_count = behind == NULL ? 3 : 4,
        .order = {{.field = "name", .is_descending = naming->is_descending}},
        .limit = 1};
    if (behind != NULL) {
        filters[3] = tr_filter_text(
            "name", naming->is_descending ? TR_FILTER_LESS : TR_FILTER_GREATER, *behind);
    }
    return tr_reader_rows(naming->reader, &query, take_one, naming);
}

static bool is_meant(const struct naming *naming, const struct tr_entity_name *row)
{
    for (size_t i = 0; i < naming->filters.count; i++) {
        const struct tr_list_filter *filter = &naming->filters.items[i];
        struct tr_list_value value = {.text = row->name};
        if (tr_text_equal(filter->field, tr_text_of("state"))) {
            value = (struct tr_list_value){.is_number = true, .number = row->state};
        } else if (tr_text_equal(filter->field, tr_text_of("description"))) {
            value.text = row->description;
        }
        if (!tr_list_match_holds(filter, &value)) {
            return false;
        }
    }
    return true;
}

/* Whether there is a name behind the last one of the page. */
static int look_behind(struct naming *naming, const struct tr_text *behind)
{
    uint32_t count = naming->names.count;
    struct tr_list_token token = {.value = *behind, .name = *behind};
    int error = next_name(naming, behind);
    if (error == 0 && naming->names.count > count) {
        naming->names.count = count;
        naming->next_token = tri_list_token_new(naming->job, &token);
    }
    return error;
}

static int walk(struct naming *naming)
{
    struct tr_text behind = naming->token.name;
    bool is_behind = naming->token.is_behind;
    uint64_t skip = naming->token.skip;
    int error = 0;
    while (error == 0) {
        uint32_t count = naming->names.count;
        if (count == naming->limit) {
            return look_behind(naming, &behind);
        }
        error = next_name(naming, is_behind ? &behind : NULL);
        if (error != 0 || naming->names.count == count) {
            return error;
        }
        struct tr_entity_name *added = (struct tr_entity_name *)naming->names.items + count;
        error = look_up(naming->job, naming->reader, added);
        behind = added->name;
        is_behind = true;
        if (!is_meant(naming, added) || skip > 0) {
            skip -= is_meant(naming, added) ? 1 : 0;
            naming->names.count--;
        }
    }
    return error;
}

/* ------------------------------------------------------------------ the request */

static bool check_filters(struct naming *naming)
{
    char problem[TR_LIST_FILTER_PROBLEM_BYTES];
    for (size_t i = 0; i < naming->filters.count; i++) {
        const struct tr_list_filter *filter = &naming->filters.items[i];
        bool is_state = tr_text_equal(filter->field, tr_text_of("state"));
        struct tr_list_value kind = {.is_number = is_state};
        if (!is_state && !tr_text_equal(filter->field, tr_text_of("name")) &&
            !tr_text_equal(filter->field, tr_text_of("description"))) {
            tri_job_fail(naming->job, TR_API_INVALID_ARGUMENT,
                         "unrecognized filter key '%.*s': there are name, description and state",
                         TRI_SHOWN(filter->field));
            return false;
        }
        if (tr_list_match_check(filter, &kind, problem) != 0) {
            tri_job_fail(naming->job, TR_API_INVALID_ARGUMENT, "%s", problem);
            return false;
        }
    }
    return true;
}

static bool read_order(struct naming *naming, const Flyteidl__Admin__Sort *sort)
{
    bool is_named = sort == NULL || sort->key[0] == '\0' || strcmp(sort->key, "name") == 0;
    naming->is_descending = sort != NULL && sort->key[0] != '\0' &&
                            sort->direction == FLYTEIDL__ADMIN__SORT__DIRECTION__DESCENDING;
    if (!is_named) {
        tri_job_fail(naming->job, TR_API_INVALID_ARGUMENT,
                     "invalid sort key '%.100s': names are in the order of name", sort->key);
    }
    return is_named;
}

/* Reads a page of names; false: the job has failed. */
static bool list_names(struct naming *naming, const char *project, const char *domain,
                       const char *token, const char *filters, const Flyteidl__Admin__Sort *sort)
{
    static char none[] = "";
    struct tri_job *job = naming->job;
    naming->next_token = none;
    if (!tri_id_check_part(job, project, "project") || !tri_id_check_part(job, domain, "domain") ||
        !tri_list_read_filters(job, filters, &naming->filters) || !check_filters(naming) ||
        !read_order(naming, sort) || !tri_list_read_token(job, token, &naming->token)) {
        return false;
    }
    naming->project = tr_text_of(project);
    naming->domain = tr_text_of(domain);
    int error = tri_view_reader(job->registrar, &naming->reader);
    const char *words = job->registrar->view.words;
    if (error == 0) {
        error = walk(naming);
        words = tr_reader_explain(naming->reader);
    }
    if (error != 0) {
        tri_job_fail_error(job, error, words);
    }
    return error == 0 && naming->next_token != NULL;
}

static void list_ids(struct tri_job *job, const void *message, enum tr_entity_kind kind)
{
    const Flyteidl__Admin__NamedEntityIdentifierListRequest *request = message;
    struct naming naming = {.job = job, .kind = kind, .limit = tri_list_limit(request->limit)};
    if (!list_names(&naming, request->project, request->domain, request->token, request->filters,
                    request->sort_by)) {
        return;
    }
    Flyteidl__Admin__NamedEntityIdentifierList *list =
        tri_job_new(job, &flyteidl__admin__named_entity_identifier_list__descriptor);
    name_id **ids = tr_arena_array(&job->arena, naming.names.count, sizeof(void *));
    const struct tr_entity_name *names = naming.names.items;
    for (uint32_t i = 0; ids != NULL && i < naming.names.count; i++) {
        ids[i] = tri_name_new(job, names[i].project, names[i].domain, names[i].name);
    }
    if (job->arena.error == 0) {
        list->n_entities = naming.names.count;
        list->entities = ids;
        list->token = naming.next_token;
        tri_job_answer(job, &list->base);
    }
}

void tri_list_task_ids(struct tri_job *job, const void *message)
{
    list_ids(job, message, TR_ENTITY_TASK);
}

void tri_list_workflow_ids(struct tri_job *job, const void *message)
{
    list_ids(job, message, TR_ENTITY_WORKFLOW);
}

void tri_list_launch_plan_ids(struct tri_job *job, const void *message)
{
    list_ids(job, message, TR_ENTITY_PLAN);
}

/* ------------------------------------------------------------------ named entities */

static Flyteidl__Admin__NamedEntity *named_new(struct tri_job *job,
                                               const struct tr_entity_name *row)
{
    Flyteidl__Admin__NamedEntity *named =
        tri_job_new(job, &flyteidl__admin__named_entity__descriptor);
    Flyteidl__Admin__NamedEntityMetadata *metadata =
        tri_job_new(job, &flyteidl__admin__named_entity_metadata__descriptor);
    if (named == NULL || metadata == NULL) {
        return NULL;
    }
    metadata->description = tri_job_string(job, row->description);
    metadata->state = (Flyteidl__Admin__NamedEntityState)row->state;
    named->resource_type = tri_type_of(row->kind);
    named->id = tri_name_new(job, row->project, row->domain, row->name);
    named->metadata = metadata;
    return job->arena.error != 0 ? NULL : named;
}

void tri_list_named_entities(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__NamedEntityListRequest *request = message;
    struct naming naming = {.job = job,
                            .kind = tri_kind_read(job, request->resource_type),
                            .limit = tri_list_limit(request->limit)};
    if (naming.kind == TR_ENTITY_NONE ||
        !list_names(&naming, request->project, request->domain, request->token, request->filters,
                    request->sort_by)) {
        return;
    }
    Flyteidl__Admin__NamedEntityList *list =
        tri_job_new(job, &flyteidl__admin__named_entity_list__descriptor);
    Flyteidl__Admin__NamedEntity **entities =
        tr_arena_array(&job->arena, naming.names.count, sizeof(void *));
    const struct tr_entity_name *names = naming.names.items;
    for (uint32_t i = 0; entities != NULL && i < naming.names.count; i++) {
        entities[i] = named_new(job, &names[i]);
    }
    if (job->arena.error == 0) {
        list->n_entities = naming.names.count;
        list->entities = entities;
        list->token = naming.next_token;
        tri_job_answer(job, &list->base);
    }
}

/* Finds a name that some version has, and what is said of it; false: the job has failed. */
static bool find_name(struct tri_job *job, Flyteidl__Core__ResourceType type, const name_id *id,
                      struct tr_entity_name *row)
{
    struct naming naming = {.job = job, .kind = tri_kind_read(job, type)};
    if (naming.kind == TR_ENTITY_NONE) {
        return false;
    }
    if (!tri_id_check_part(job, id == NULL ? NULL : id->project, "project") ||
        !tri_id_check_part(job, id->domain, "domain") ||
        !tri_id_check_part(job, id->name, "name")) {
        return false;
    }
    *row = (struct tr_entity_name){.project = tr_text_of(id->project),
                                   .domain = tr_text_of(id->domain),
                                   .kind = (uint8_t)naming.kind,
                                   .name = tr_text_of(id->name)};
    struct tr_reader_filter filters[] = {
        tr_filter_text("project", TR_FILTER_EQUAL, row->project),
        tr_filter_text("domain", TR_FILTER_EQUAL, row->domain),
        tr_filter_number("kind", TR_FILTER_EQUAL, row->kind),
        tr_filter_text("name", TR_FILTER_EQUAL, row->name),
    };
    struct tr_reader_query query = {.record = &tr_entity_schema,
                                    .filters = filters,
                                    .filter_count = TR_COUNT_OF(filters),
                                    .limit = 1};
    uint64_t count = 0;
    struct tr_reader *reader = NULL;
    int error = tri_view_reader(job->registrar, &reader);
    const char *words = job->registrar->view.words;
    if (error == 0) {
        error = tr_reader_count(reader, &query, &count);
        if (error == 0) {
            error = look_up(job, reader, row);
        }
        words = tr_reader_explain(reader);
    }
    if (error != 0) {
        tri_job_fail_error(job, error, words);
    } else if (count == 0) {
        tri_job_fail(job, TR_API_NOT_FOUND, "there is no %s named %.*s in %.*s/%.*s",
                     tr_entity_kind_word(row->kind), TRI_SHOWN(row->name), TRI_SHOWN(row->project),
                     TRI_SHOWN(row->domain));
    }
    return error == 0 && count > 0;
}

void tri_get_named_entity(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__NamedEntityGetRequest *request = message;
    struct tr_entity_name row;
    if (find_name(job, request->resource_type, request->id, &row)) {
        const Flyteidl__Admin__NamedEntity *named = named_new(job, &row);
        if (named != NULL) {
            tri_job_answer(job, &named->base);
        }
    }
}

void tri_update_named_entity(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__NamedEntityUpdateRequest *request = message;
    struct tr_entity_name row;
    struct tri_keep keep;
    if (!find_name(job, request->resource_type, request->id, &row)) {
        return;
    }
    if (request->metadata == NULL) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT, "missing metadata");
        return;
    }
    if ((unsigned)request->metadata->state >
        FLYTEIDL__ADMIN__NAMED_ENTITY_STATE__SYSTEM_GENERATED) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT, "state %d is none",
                     (int)request->metadata->state);
        return;
    }
    row.description = tr_text_of(request->metadata->description);
    row.state = (uint8_t)request->metadata->state;
    row.updated_ms = tr_clock_wall_ms();
    tri_keep_init(&keep);
    const ProtobufCMessage *response =
        tri_job_new(job, &flyteidl__admin__named_entity_update_response__descriptor);
    int error = tri_keep_add(&keep, &tr_entity_name_schema, &row);
    if (error != 0) {
        tri_job_fail_error(job, error, "");
    } else if (tri_keep_commit(job, &keep, NULL, NULL)) {
        tri_view_rest(job->registrar); /* names lie on no shelf */
        tri_job_answer(job, response);
    }
    tri_keep_fini(&keep);
}
