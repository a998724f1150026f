/*
 * Projects and domains. A project is there when it was registered, or something in it was: nobody
 * has to begin with it. The domains are Flyte's usual three; others are taken where they are used.
 */
#include <flyteidl/admin_project.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/common/clock.h"
#include "deploy/entities/entity_calls.h"
#include "deploy/entities/entity_id.h"
#include "deploy/entities/list.h"
#include "schemas/codec/error.h"

typedef Flyteidl__Admin__Project project;

static const char *const domain_names[] = {"development", "staging", "production"};

/* All projects there are. */
struct collecting {
    struct tri_job *job;
    struct tri_vector projects; /* project * */
};

/* ------------------------------------------------------------------ domains */

static Flyteidl__Admin__Domain **domains_new(struct tri_job *job)
{
    Flyteidl__Admin__Domain **domains =
        tr_arena_array(&job->arena, TR_COUNT_OF(domain_names), sizeof(void *));
    for (size_t i = 0; domains != NULL && i < TR_COUNT_OF(domain_names); i++) {
        domains[i] = tri_job_new(job, &flyteidl__admin__domain__descriptor);
        if (domains[i] != NULL) {
            domains[i]->id = tri_job_string(job, tr_text_of(domain_names[i]));
            domains[i]->name = domains[i]->id;
        }
    }
    return job->arena.error != 0 ? NULL : domains;
}

void tri_get_domains(struct tri_job *job, const void *message)
{
    (void)message;
    Flyteidl__Admin__GetDomainsResponse *response =
        tri_job_new(job, &flyteidl__admin__get_domains_response__descriptor);
    Flyteidl__Admin__Domain **domains = domains_new(job);
    if (response != NULL && domains != NULL) {
        response->n_domains = TR_COUNT_OF(domain_names);
        response->domains = domains;
        tri_job_answer(job, &response->base);
    }
}

/* ------------------------------------------------------------------ collecting */

static bool has(const struct collecting *collecting, const char *id)
{
    project *const *items = collecting->projects.items;
    for (uint32_t i = 0; i < collecting->projects.count; i++) {
        if (strcmp(items[i]->id, id) == 0) {
            return true;
        }
    }
    return false;
}

static int add(struct collecting *collecting, project *added)
{
    struct tr_arena *arena = &collecting->job->arena;
    if (added == NULL || collecting->projects.count == TR_PROJECTS_MAX) {
        return arena->error != 0 ? arena->error : added == NULL ? TR_STORE_DAMAGED : TR_LIMIT;
    }
    if (has(collecting, added->id)) {
        return 0;
    }
    project **place = tri_vector_add(arena, &collecting->projects, sizeof(project *));
    if (place == NULL) {
        return arena->error;
    }
    added->n_domains = TR_COUNT_OF(domain_names);
    added->domains = domains_new(collecting->job);
    *place = added;
    return arena->error;
}

static int take_registered(void *self, const void *value)
{
    struct collecting *collecting = self;
    const struct tr_entity_project *row = value;
    return add(collecting, tr_flyte_message_unpack(&collecting->job->arena,
                                                   &flyteidl__admin__project__descriptor,
                                                   row->message, TR_API_MESSAGE_BYTES_MAX));
}

static project *project_new(struct tri_job *job, struct tr_text id)
{
    project *made = tri_job_new(job, &flyteidl__admin__project__descriptor);
    if (made != NULL) {
        made->id = tri_job_string(job, id);
        made->name = made->id;
    }
    return job->arena.error != 0 ? NULL : made;
}

struct last {
    struct collecting *collecting;
    struct tr_text id;
    bool is_found;
};

static int take_used(void *self, const void *value)
{
    struct last *last = self;
    const struct tr_entity *row = value;
    last->id = tr_arena_text(&last->collecting->job->arena, row->project);
    last->is_found = true;
    return add(last->collecting, project_new(last->collecting->job, row->project));
}

/* From project to project, past all that is in one. */
static int collect_used(struct collecting *collecting, struct tr_reader *reader)
{
    struct last last = {.collecting = collecting, .is_found = true};
    int error = 0;
    while (error == 0 && last.is_found) {
        struct tr_reader_filter filter = tr_filter_text("project", TR_FILTER_GREATER, last.id);
        struct tr_reader_query query = {.record = &tr_entity_schema,
                                        .filters = &filter,
                                        .filter_count = 1,
                                        .order = {{.field = "project"}},
                                        .limit = 1};
        last.is_found = false;
        error = tr_reader_rows(reader, &query, take_used, &last);
    }
    return error;
}

static int by_id(const void *left, const void *right)
{
    return strcmp((*(project *const *)left)->id, (*(project *const *)right)->id);
}

/* Where nothing is there yet clients find one all the same. */
static bool collect(struct collecting *collecting)
{
    struct tri_job *job = collecting->job;
    struct tr_reader *reader = NULL;
    const struct tr_reader_query registered = {.record = &tr_entity_project_schema};
    int error = tri_view_reader(job->registrar, &reader);
    const char *words = job->registrar->view.words;
    if (error == 0) {
        error = tr_reader_rows(reader, &registered, take_registered, collecting);
        if (error == 0) {
            error = collect_used(collecting, reader);
        }
        if (error == 0) {
            error = add(collecting, project_new(job, tr_text_of("default")));
        }
        words = error == TR_LIMIT ? "there are more projects than TR_PROJECTS_MAX"
                                  : tr_reader_explain(reader);
    }
    if (error != 0) {
        tri_job_fail_error(job, error, words);
        return false;
    }
    qsort(collecting->projects.items, collecting->projects.count, sizeof(project *), by_id);
    return true;
}

/* ------------------------------------------------------------------ lists */

static const struct {
    const char *name;
    bool is_number;
} fields[] = {
    {"identifier", false}, {"id", false}, {"name", false}, {"description", false}, {"state", true}};

static struct tr_list_value value_of(const project *one, size_t field)
{
    const char *texts[] = {one->id, one->id, one->name, one->description};
    return fields[field].is_number
               ? (struct tr_list_value){.is_number = true, .number = (uint64_t)one->state}
               : (struct tr_list_value){.text = tr_text_of(texts[field])};
}

static size_t find_field(struct tr_text name)
{
    size_t i = 0;
    while (i < TR_COUNT_OF(fields) && !tr_text_equal(name, tr_text_of(fields[i].name))) {
        i++;
    }
    return i;
}

static bool check_filters(struct tri_job *job, const struct tr_list_filters *filters)
{
    char problem[TR_LIST_FILTER_PROBLEM_BYTES];
    for (size_t i = 0; i < filters->count; i++) {
        size_t field = find_field(filters->items[i].field);
        if (field == TR_COUNT_OF(fields)) {
            tri_job_fail(job, TR_API_INVALID_ARGUMENT,
                         "unrecognized filter key '%.*s': there are identifier, name, description "
                         "and state",
                         TRI_SHOWN(filters->items[i].field));
            return false;
        }
        struct tr_list_value kind = {.is_number = fields[field].is_number};
        if (tr_list_match_check(&filters->items[i], &kind, problem) != 0) {
            tri_job_fail(job, TR_API_INVALID_ARGUMENT, "%s", problem);
            return false;
        }
    }
    return true;
}

/* Archived ones are shown if a filter asks for states. */
static bool is_meant(const project *one, const struct tr_list_filters *filters)
{
    bool asks_state = false;
    for (size_t i = 0; i < filters->count; i++) {
        size_t field = find_field(filters->items[i].field);
        struct tr_list_value value = value_of(one, field);
        asks_state = asks_state || fields[field].is_number;
        if (!tr_list_match_holds(&filters->items[i], &value)) {
            return false;
        }
    }
    return asks_state || one->state != FLYTEIDL__ADMIN__PROJECT__PROJECT_STATE__ARCHIVED;
}

static bool read_order(struct tri_job *job, const Flyteidl__Admin__Sort *sort, bool *is_descending)
{
    static const char *const keys[] = {"", "identifier", "name", "created_at"};
    *is_descending = sort != NULL && sort->key[0] != '\0' &&
                     sort->direction == FLYTEIDL__ADMIN__SORT__DIRECTION__DESCENDING;
    for (size_t i = 0; i < TR_COUNT_OF(keys); i++) {
        if (sort == NULL || strcmp(sort->key, keys[i]) == 0) {
            return true;
        }
    }
    tri_job_fail(job, TR_API_INVALID_ARGUMENT,
                 "invalid sort key '%.100s': projects are in the order of identifier", sort->key);
    return false;
}

/* Whether an id comes behind that of a token. */
static bool is_behind(const char *id, const struct tr_list_token *token, bool is_descending)
{
    int order = token->is_behind ? tr_text_order(tr_text_of(id), token->name) : 1;
    return token->is_behind && is_descending ? order < 0 : order > 0;
}

static void answer_page(struct collecting *collecting,
                        const Flyteidl__Admin__ProjectListRequest *request,
                        const struct tr_list_filters *filters, struct tr_list_token *token,
                        bool is_descending)
{
    struct tri_job *job = collecting->job;
    project **items = collecting->projects.items;
    uint32_t count = collecting->projects.count;
    uint32_t limit = request->limit == 0 ? TR_PROJECTS_MAX : tri_list_limit(request->limit);
    Flyteidl__Admin__Projects *list = tri_job_new(job, &flyteidl__admin__projects__descriptor);
    project **shown = tr_arena_array(&job->arena, count, sizeof(project *));
    for (uint32_t i = 0; list != NULL && shown != NULL && i < count; i++) {
        project *one = items[is_descending ? count - 1 - i : i];
        if (!is_behind(one->id, token, is_descending) || !is_meant(one, filters) ||
            (token->skip > 0 && token->skip-- > 0)) {
            continue;
        }
        if (list->n_projects == limit) {
            struct tr_list_token next = {.name = tr_text_of(shown[limit - 1]->id)};
            list->token = tri_list_token_new(job, &next);
            break;
        }
        shown[list->n_projects++] = one;
    }
    if (job->arena.error == 0) {
        list->projects = shown;
        tri_job_answer(job, &list->base);
    }
}

void tri_list_projects(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__ProjectListRequest *request = message;
    struct collecting collecting = {.job = job};
    struct tr_list_filters filters;
    struct tr_list_token token;
    bool is_descending;
    if (tri_list_read_filters(job, request->filters, &filters) && check_filters(job, &filters) &&
        read_order(job, request->sort_by, &is_descending) &&
        tri_list_read_token(job, request->token, &token) && collect(&collecting)) {
        answer_page(&collecting, request, &filters, &token, is_descending);
    }
}

static project *find(struct collecting *collecting, const char *id)
{
    project *const *items = collecting->projects.items;
    for (uint32_t i = 0; i < collecting->projects.count; i++) {
        if (strcmp(items[i]->id, id) == 0) {
            return items[i];
        }
    }
    return NULL;
}

void tri_get_project(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__ProjectGetRequest *request = message;
    struct collecting collecting = {.job = job};
    if (!tri_id_check_part(job, request->id, "id") || !collect(&collecting)) {
        return;
    }
    const project *found = find(&collecting, request->id);
    if (found == NULL) {
        tri_job_fail(job, TR_API_NOT_FOUND, "project [%.200s] not found", request->id);
    } else {
        tri_job_answer(job, &found->base);
    }
}

/* ------------------------------------------------------------------ registering */

static void keep(struct tri_job *job, const project *given, const ProtobufCMessage *response)
{
    project kept = *given;
    struct tri_keep rows;
    struct tr_buffer bytes;
    kept.n_domains = 0;
    tr_buffer_init(&bytes, 0);
    tri_keep_init(&rows);
    tr_flyte_message_pack(&kept.base, &bytes);
    struct tr_entity_project row = {.id = tr_text_of(kept.id),
                                    .message = tr_buffer_bytes(&bytes),
                                    .created_ms = tr_clock_wall_ms()};
    int error = bytes.error != 0 ? bytes.error
                : bytes.size > TR_ENTITY_BYTES_MAX
                    ? TR_LIMIT
                    : tri_keep_add(&rows, &tr_entity_project_schema, &row);
    if (error != 0) {
        tri_job_fail_error(job, error, "");
    } else if (tri_keep_commit(job, &rows, NULL, NULL)) {
        tri_view_rest(job->registrar); /* projects lie on no shelf */
        tri_job_answer(job, response);
    }
    tri_keep_fini(&rows);
    tr_buffer_fini(&bytes);
}

static bool check_state(struct tri_job *job, const project *given)
{
    bool is_one =
        (unsigned)given->state <= FLYTEIDL__ADMIN__PROJECT__PROJECT_STATE__SYSTEM_ARCHIVED;
    if (!is_one) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT, "state %d is none", (int)given->state);
    }
    return is_one;
}

void tri_register_project(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__ProjectRegisterRequest *request = message;
    struct collecting collecting = {.job = job};
    const project *given = request->project;
    const ProtobufCMessage *response =
        tri_job_new(job, &flyteidl__admin__project_register_response__descriptor);
    if (!tri_id_check_part(job, given == NULL ? NULL : given->id, "project_id") ||
        !tri_id_check_part(job, given->name, "project_name") || !check_state(job, given) ||
        !collect(&collecting)) {
        return;
    }
    if (find(&collecting, given->id) != NULL) {
        tri_job_fail(job, TR_API_ALREADY_EXISTS, "project [%.200s] already exists", given->id);
        return;
    }
    keep(job, given, response);
}

void tri_update_project(struct tri_job *job, const void *message)
{
    const project *given = message;
    struct collecting collecting = {.job = job};
    const ProtobufCMessage *response =
        tri_job_new(job, &flyteidl__admin__project_update_response__descriptor);
    if (!tri_id_check_part(job, given->id, "id") || !check_state(job, given) ||
        !collect(&collecting)) {
        return;
    }
    if (find(&collecting, given->id) == NULL) {
        tri_job_fail(job, TR_API_NOT_FOUND, "project [%.200s] not found", given->id);
        return;
    }
    keep(job, given, response);
}
