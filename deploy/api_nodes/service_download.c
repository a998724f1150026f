/*
 * flyteidl.service.DataProxyService: what clients get. Values are answered, files by URLs of this
 * port that are signed for a time.
 */
#include <flyteidl/service_dataproxy.pb-c.h>
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api/download.h"
#include "deploy/api/services.h"
#include "deploy/api_nodes/look_data.h"
#include "deploy/common/clock.h"
#include "schemas/codec/error.h"

/* ------------------------------------------------------------- signing */

/* Until when, in seconds since 1970; 0: the job has failed. */
static uint64_t read_expiry(struct tr_desk_job *job, const Google__Protobuf__Duration *duration)
{
    bool is_right =
        duration == NULL || (duration->seconds >= 0 && duration->nanos >= 0 &&
                             duration->seconds + (duration->nanos > 0) <= TR_DOWNLOAD_EXPIRY_S_MAX);
    if (!is_right) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                     "expires_in cannot exceed %d s (TR_DOWNLOAD_EXPIRY_S_MAX), nor be negative",
                     TR_DOWNLOAD_EXPIRY_S_MAX);
        return 0;
    }
    bool is_given = duration != NULL && (duration->seconds > 0 || duration->nanos > 0);
    uint64_t seconds = is_given ? (uint64_t)duration->seconds + (duration->nanos > 0 ? 1 : 0)
                                : TR_DOWNLOAD_EXPIRY_S_MAX;
    return tr_clock_wall_ms() / 1000 + seconds;
}

struct signed_file {
    char *url;
    Google__Protobuf__Timestamp *expires_at;
};

/* Says why nobody gets a file; 0: false, and nothing is said. */
static bool tell(struct tr_desk_job *job, const char *path, int error)
{
    if (error == TR_NOT_FOUND || error == TR_DENIED) {
        tr_desk_fail(job, TR_API_NOT_FOUND, "there is no file '%.500s', or not any more", path);
    } else if (error == TR_NO_FILE) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                     "'%.500s' is a folder; ask for the files in it one by one", path);
    } else if (error != 0) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                     "'%.500s' is no file of this store that was uploaded or left by a task", path);
    }
    return error != 0;
}

/* False: the job has failed. */
static bool sign(struct tr_desk_job *job, const char *path,
                 const Google__Protobuf__Duration *expires_in, struct signed_file *file)
{
    char name[PATH_MAX];
    struct tr_buffer url;
    uint64_t expires_s = read_expiry(job, expires_in);
    if (expires_s == 0) {
        return false;
    }
    if (job->downloads == NULL) {
        tr_desk_fail(job, TR_API_UNIMPLEMENTED, "downloads are not served here");
        return false;
    }
    if (tell(job, path, job->downloads->find(job->downloads->self, path, name))) {
        return false;
    }
    const struct tr_api_download_url wanted = {.authority = job->authority,
                                               .is_secure = job->is_secure,
                                               .file = tr_text_of(name),
                                               .expires_s = expires_s};
    tr_buffer_init(&url, 0);
    job->downloads->sign(job->downloads->self, &wanted, &url);
    file->url = tr_view_text(job, tr_buffer_text(&url));
    file->expires_at = tr_view_time(job, expires_s * 1000);
    int error = url.error != 0 ? url.error : job->arena.error;
    tr_buffer_fini(&url);
    return !tr_desk_failed(job, error);
}

/* A list of one; NULL without memory. */
static Flyteidl__Service__PreSignedURLs *list_of(struct tr_desk_job *job,
                                                 const struct signed_file *file)
{
    Flyteidl__Service__PreSignedURLs *list =
        tr_flyte_message_new(&job->arena, &flyteidl__service__pre_signed_urls__descriptor);
    char **urls = tr_arena_array(&job->arena, 1, sizeof(char *));
    if (list == NULL || urls == NULL) {
        return NULL;
    }
    urls[0] = file->url;
    list->n_signed_url = 1;
    list->signed_url = urls;
    list->expires_at = file->expires_at;
    return list;
}

/* ------------------------------------------------------------- files */

static void create_location(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Service__CreateDownloadLocationRequest *request = asked;
    struct signed_file file;
    Flyteidl__Service__CreateDownloadLocationResponse *response = tr_flyte_message_new(
        &job->arena, &flyteidl__service__create_download_location_response__descriptor);
    if (request->native_url[0] != '/') {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                     "native_url '%.500s' is no absolute path; files elsewhere are fetched from "
                     "there",
                     request->native_url);
        return;
    }
    if (!sign(job, request->native_url, request->expires_in, &file)) {
        return;
    }
    if (response != NULL) {
        response->signed_url = file.url;
        response->expires_at = file.expires_at;
    }
    tr_desk_answer(job, response == NULL ? NULL : &response->base);
}

/* ------------------------------------------------------------- decks */

/* False: the job has failed. */
static bool sign_deck(struct tr_look *look, const char *word, uint32_t attempt,
                      const Google__Protobuf__Duration *expires_in, struct signed_file *file)
{
    struct tr_desk_job *job = look->job;
    char name[PATH_MAX];
    struct tr_text path;
    if (!tr_look_deck(look, word, attempt, &path)) {
        return false;
    }
    if (job->downloads != NULL &&
        job->downloads->find(job->downloads->self, path.data, name) != 0) {
        tr_desk_fail(job, TR_API_NOT_FOUND, "the node '%.200s' has written no deck", word);
        return false;
    }
    return sign(job, path.data, expires_in, file);
}

static void create_link(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Service__CreateDownloadLinkRequest *request = asked;
    const Flyteidl__Core__NodeExecutionIdentifier *id = request->node_execution_id;
    Flyteidl__Service__CreateDownloadLinkResponse *response = tr_flyte_message_new(
        &job->arena, &flyteidl__service__create_download_link_response__descriptor);
    struct signed_file file;
    struct tr_look look = {.job = job};
    if (request->artifact_type != FLYTEIDL__SERVICE__ARTIFACT_TYPE__ARTIFACT_TYPE_DECK) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                     "artifact_type has to be ARTIFACT_TYPE_DECK: there are no others");
        return;
    }
    if (id == NULL || id->node_id[0] == '\0') {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                     "the request names no node: node_execution_id is empty");
        return;
    }
    if (tr_look_begin(&look, job, id->execution_id) &&
        sign_deck(&look, id->node_id, UINT32_MAX, request->expires_in, &file)) {
        if (response != NULL) {
            response->pre_signed_urls = list_of(job, &file);
            response->n_signed_url = 1;
            response->signed_url =
                response->pre_signed_urls == NULL ? NULL : response->pre_signed_urls->signed_url;
            response->n_signed_url = response->signed_url == NULL ? 0 : 1;
            response->expires_at = file.expires_at;
        }
        tr_desk_answer(job, response == NULL ? NULL : &response->base);
    }
    tr_look_end(&look);
}

/* ------------------------------------------------------------- values */

#define PARTS_MAX 8

/* flyte://v1/PROJECT/DOMAIN/EXECUTION/NODE[/ATTEMPT]/(i|o|d)[/NAME] */
struct flyte_url {
    char *parts[PARTS_MAX];
    size_t count;
    uint32_t attempt; /* UINT32_MAX: none is said */
    char kind;
    const char *name; /* of a value; NULL: all */
};

static bool read_attempt(const char *text, uint32_t *attempt)
{
    size_t size = strspn(text, "0123456789");
    *attempt = 0;
    for (size_t i = 0; i < size && size < 10; i++) {
        *attempt = 10 * *attempt + (uint32_t)(text[i] - '0');
    }
    return size > 0 && size < 10 && text[size] == '\0';
}

static bool is_kind(const char *part)
{
    return part[0] != '\0' && part[1] == '\0' && strchr("iod", part[0]) != NULL;
}

static bool read_parts(struct flyte_url *url)
{
    size_t at = 4;
    url->attempt = UINT32_MAX;
    if (url->count > at + 1 && !is_kind(url->parts[at]) &&
        read_attempt(url->parts[at], &url->attempt)) {
        at++;
    }
    if (url->count <= at || !is_kind(url->parts[at])) {
        return false;
    }
    url->kind = url->parts[at][0];
    url->name = url->count > at + 1 ? url->parts[at + 1] : NULL;
    return url->count <= at + 2 && (url->name == NULL || url->kind != 'd');
}

/* False: the job has failed. */
static bool read_url(struct tr_desk_job *job, const char *text, struct flyte_url *url)
{
    static const char prefix[] = "flyte://v1/";
    bool is_right = strncmp(text, prefix, sizeof prefix - 1) == 0;
    char *rest = is_right ? tr_view_text(job, tr_text_of(text + sizeof prefix - 1)) : NULL;
    *url = (struct flyte_url){.count = 0};
    while (is_right && rest != NULL && url->count < PARTS_MAX) {
        char *slash = strchr(rest, '/');
        url->parts[url->count++] = rest;
        if (slash != NULL) {
            *slash = '\0';
        }
        is_right = rest[0] != '\0';
        rest = slash == NULL ? NULL : slash + 1;
    }
    is_right = is_right && rest == NULL && read_parts(url);
    if (!is_right) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                     "'%.300s' is no URL of values; write "
                     "flyte://v1/PROJECT/DOMAIN/EXECUTION/NODE[/ATTEMPT]/(i|o|d)[/NAME]",
                     text);
    }
    return is_right;
}

/* One value of a map; false: the job has failed. */
static bool pick(struct tr_desk_job *job, const Flyteidl__Core__LiteralMap *literals,
                 const char *name, Flyteidl__Service__GetDataResponse *response)
{
    for (size_t i = 0; literals != NULL && i < literals->n_literals; i++) {
        if (strcmp(literals->literals[i]->key, name) == 0) {
            response->literal = literals->literals[i]->value;
            response->data_case = FLYTEIDL__SERVICE__GET_DATA_RESPONSE__DATA_LITERAL;
            return true;
        }
    }
    tr_desk_fail(job, TR_API_NOT_FOUND, "there is no value '%.200s' there", name);
    return false;
}

static bool add_values(struct tr_look *look, const struct flyte_url *url,
                       Flyteidl__Service__GetDataResponse *response)
{
    struct tr_look_data data;
    if (!tr_look_data_read(look, url->parts[3], &data)) {
        return false;
    }
    Flyteidl__Core__LiteralMap *literals = url->kind == 'i' ? data.inputs : data.outputs;
    if (url->name != NULL) {
        return pick(look->job, literals, url->name, response);
    }
    response->literal_map = literals;
    response->data_case = FLYTEIDL__SERVICE__GET_DATA_RESPONSE__DATA_LITERAL_MAP;
    return true;
}

static bool add_deck(struct tr_look *look, const struct flyte_url *url,
                     Flyteidl__Service__GetDataResponse *response)
{
    struct signed_file file;
    if (!sign_deck(look, url->parts[3], url->attempt, NULL, &file)) {
        return false;
    }
    response->pre_signed_urls = list_of(look->job, &file);
    response->data_case = FLYTEIDL__SERVICE__GET_DATA_RESPONSE__DATA_PRE_SIGNED_URLS;
    return true;
}

static void get_data(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Service__GetDataRequest *request = asked;
    struct tr_look look = {.job = job};
    struct flyte_url url;
    Flyteidl__Service__GetDataResponse *response =
        tr_flyte_message_new(&job->arena, &flyteidl__service__get_data_response__descriptor);
    if (response == NULL) {
        tr_desk_answer(job, NULL);
        return;
    }
    if (!read_url(job, request->flyte_url, &url)) {
        return;
    }
    tr_execution_id *id = tr_flyte_message_new(
        &job->arena, &flyteidl__core__workflow_execution_identifier__descriptor);
    if (id == NULL) {
        tr_desk_answer(job, NULL);
        return;
    }
    id->project = url.parts[0];
    id->domain = url.parts[1];
    id->name = url.parts[2];
    if (tr_look_begin(&look, job, id) &&
        (url.kind == 'd' ? add_deck(&look, &url, response) : add_values(&look, &url, response))) {
        tr_desk_answer(job, &response->base);
    }
    tr_look_end(&look);
}

/* ------------------------------------------------------------- the calls */

void tr_api_create_download_location(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, create_location);
}

void tr_api_create_download_link(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, create_link);
}

void tr_api_get_data(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, get_data);
}
