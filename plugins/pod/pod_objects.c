/*
 * What a job has left in an object store: its documents are asked for over http, signed with the
 * secret that the settings name. They lie at URL/JOBSET/ATTEMPT/, where the pod's lines of shell
 * have put them (pod_shell.c), an empty one in the place of one that was not written.
 *
 * s3://BUCKET/PREFIX is ENDPOINT/BUCKET/PREFIX, which all stores of S3's kind understand.
 */
#include "plugins/pod/pod.h"
#include "runtime/troupe.h"
#include "schemas/runtime/http.h"

#define SCHEME "s3://"
#define SCHEME_BYTES (sizeof SCHEME - 1)
#define REGION "us-east-1"
#define CODE_BYTES_MAX 60
#define SECRETS_BYTES 1024

/* -------------------------------------------------------------------------------- settings */

static bool begins(struct tr_text text, const char *with)
{
    size_t size = strlen(with);
    return text.size >= size && memcmp(text.data, with, size) == 0;
}

static struct tr_text without_slashes(struct tr_text text)
{
    while (text.size > 0 && text.data[text.size - 1] == '/') {
        text.size--;
    }
    return text;
}

const char *tri_pod_slash(struct tr_text text)
{
    return text.size < 2 ? NULL : memchr(text.data + 1, '/', text.size - 1);
}

static struct tr_text own_text(const struct tr_webapi_endpoint *endpoint, const char *key,
                               struct tr_text otherwise)
{
    return tr_config_text(tr_json_get(endpoint->config, "object_store"), key, otherwise);
}

static struct tr_text url_of(struct tr_task_context *task,
                             const struct tr_webapi_endpoint *endpoint, struct tr_text region)
{
    struct tr_text outputs =
        without_slashes(tr_json_text(tr_json_get(endpoint->config, "outputs")));
    if (!begins(outputs, SCHEME)) {
        return outputs;
    }
    struct tr_text host = without_slashes(own_text(endpoint, "endpoint", (struct tr_text){0}));
    if (host.size == 0) {
        host = tr_task_format(task, "https://s3.%.*s.amazonaws.com", (int)region.size, region.data);
    }
    return tr_task_format(task, "%.*s/%.*s", (int)host.size, host.data,
                          (int)(outputs.size - SCHEME_BYTES), outputs.data + SCHEME_BYTES);
}

struct tri_pod_objects tri_pod_objects(struct tr_task_context *task,
                                       const struct tr_webapi_endpoint *endpoint)
{
    struct tr_text secret = own_text(endpoint, "secret", (struct tr_text){0});
    struct tr_text region = own_text(endpoint, "region", tr_text_of(REGION));
    struct tr_text place = without_slashes(tr_json_text(tr_json_get(endpoint->config, "outputs")));
    struct tri_pod_objects objects = {.url = url_of(task, endpoint, region),
                                      .place = place,
                                      .is_s3 = begins(place, SCHEME),
                                      .region = region};
    const char *slash = tri_pod_slash(secret);
    if (slash != NULL) {
        size_t before = (size_t)(slash - secret.data);
        objects.group = (struct tr_text){.data = secret.data, .size = before};
        objects.key = (struct tr_text){.data = slash + 1, .size = secret.size - before - 1};
    }
    return objects;
}

struct tr_text tri_pod_object(struct tr_task_context *task, const struct tri_pod *own,
                              const struct tr_webapi_endpoint *endpoint, const char *name)
{
    struct tr_text url = tri_pod_objects(task, endpoint).url;
    struct tr_text place = tri_pod_place(task, own, url);
    return url.size == 0 || place.size == 0
               ? (struct tr_text){0}
               : tr_task_format(task, "%.*s/%s", (int)place.size, place.data, name);
}

/* ---------------------------------------------------------------------------------- asking */

/* The same for all of them: an error document has no more than others. */
#define BYTES_MAX TR_POD_OUTPUTS_BYTES_MAX
_Static_assert(TR_POD_ERROR_BYTES_MAX == TR_POD_OUTPUTS_BYTES_MAX, "one bound for all documents");

static int pack_secret(struct tr_task_context *task, const struct tri_pod_objects *objects,
                       struct tr_bytes *packed)
{
    const struct tr_http_secret secret = {
        .kind = TR_HTTP_SECRET_SIGN, .group = objects->group, .key = objects->key};
    uint8_t *bytes = tr_task_scratch(task, SECRETS_BYTES);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, SECRETS_BYTES);
    int error = tr_http_secrets_pack(&secret, objects->key.size > 0 ? 1 : 0, &writer);
    *packed = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    return error;
}

/* A call for a document; `body` is what is put there. */
static int call_for(struct tr_task_context *task, const struct tri_pod *own,
                    const struct tr_webapi_endpoint *endpoint, const char *method, const char *name,
                    struct tr_bytes body, uint64_t *call)
{
    struct tri_pod_objects objects = tri_pod_objects(task, endpoint);
    struct tr_http_request request = {
        .method = tr_text_of(method),
        .url = tri_pod_object(task, own, endpoint, name),
        .body = body,
        .timeout_ms = endpoint->timeout_ms > 0 ? endpoint->timeout_ms : TR_WEBAPI_TIMEOUT_MS,
        .response_bytes_max = BYTES_MAX,
        .aws_region = objects.region,
        .aws_service = tr_text_of("s3"),
    };
    int error = pack_secret(task, &objects, &request.secrets);
    return error != 0
               ? error
               : tr_task_call(task, TR_SERVICE_HTTP, &tr_http_request_schema, &request, 0, call);
}

static int ask(struct tr_task_context *task, const struct tri_pod *own,
               const struct tr_webapi_endpoint *endpoint, enum tri_pod_document document,
               uint64_t *call)
{
    return call_for(task, own, endpoint, "GET", tri_pod_document_name(task, document),
                    (struct tr_bytes){0}, call);
}

int tri_pod_put(struct tr_task_context *task, const struct tri_pod *own,
                const struct tr_webapi_endpoint *endpoint, const char *name, struct tr_bytes body)
{
    return call_for(task, own, endpoint, "PUT", name, body, own->call);
}

/* ------------------------------------------------------------------------------- answering */

/* What the store calls the error, in its <Code>; empty: it does not say. */
static struct tr_text code_of(struct tr_bytes body)
{
    static const char begin[] = "<Code>";
    static const char end[] = "</Code>";
    const char *text = (const char *)body.data;
    const char *from = body.size == 0 ? NULL : memmem(text, body.size, begin, sizeof begin - 1);
    if (from == NULL) {
        return (struct tr_text){0};
    }
    from += sizeof begin - 1;
    const char *to = memmem(from, body.size - (size_t)(from - text), end, sizeof end - 1);
    struct tr_text code = {.data = from, .size = to == NULL ? 0 : (size_t)(to - from)};
    return code.size <= CODE_BYTES_MAX && tr_utf8_valid(code) ? code : (struct tr_text){0};
}

/* The signer of a request, for people. */
static struct tr_text signer(struct tr_task_context *task, const struct tri_pod *own,
                             const struct tri_pod_objects *objects)
{
    return objects->key.size == 0
               ? tr_task_format(task, "not signed: %s.object_store.secret is not there",
                                own->settings)
               : tr_task_format(task, "signed with the secret %.*s/%.*s", (int)objects->group.size,
                                objects->group.data, (int)objects->key.size, objects->key.data);
}

/* A bucket that is not there is no document that was not written. */
static enum tri_pod_found found_by_status(uint32_t status, struct tr_text code, bool is_empty)
{
    bool is_busy = status >= 500 || status == 429 || status == 408;
    bool is_elsewhere = tr_text_equal(code, tr_text_of("NoSuchBucket"));
    return status == 200                    ? (is_empty ? TRI_POD_MISSING : TRI_POD_FOUND)
           : status == 404 && !is_elsewhere ? TRI_POD_MISSING
           : is_busy                        ? TRI_POD_BUSY
           : status == 401 || status == 403 ? TRI_POD_DENIED
                                            : TRI_POD_UNREADABLE;
}

static struct tr_text words_of_status(struct tr_task_context *task, const struct tri_pod *own,
                                      const struct tr_webapi_endpoint *endpoint,
                                      enum tri_pod_found found, const char *method,
                                      struct tr_text url, uint32_t status, struct tr_text code)
{
    struct tri_pod_objects objects = tri_pod_objects(task, endpoint);
    struct tr_text who = signer(task, own, &objects);
    if (found == TRI_POD_MISSING) {
        return tr_task_format(task, "%.*s is %s", (int)url.size, url.data,
                              status == 200 ? "empty" : "not there");
    }
    return tr_task_format(task, "%u%s%.*s is the answer to %s %.*s, %.*s%s", status,
                          code.size > 0 ? " " : "", (int)code.size, code.data, method,
                          (int)url.size, url.data, (int)who.size, who.data,
                          status == 403 && strcmp(method, "GET") == 0
                              ? "; who may not list a bucket is refused what is not there"
                              : "");
}

static void classify_status(struct tr_task_context *task, const struct tri_pod *own,
                            const struct tr_webapi_endpoint *endpoint, const char *method,
                            struct tr_text url, const struct tr_http_response *response,
                            struct tri_pod_answer *answer)
{
    struct tr_text code = response->status == 200 ? (struct tr_text){0} : code_of(response->body);
    answer->found = found_by_status(response->status, code, response->body.size == 0);
    answer->status = response->status;
    answer->document = response->body;
    answer->words =
        words_of_status(task, own, endpoint, answer->found, method, url, response->status, code);
}

/* There was no answer, or not all of it: whether there will be one. */
static void classify_fault(struct tr_task_context *task, struct tr_text url,
                           const struct tr_http_response *response, struct tri_pod_answer *answer)
{
    static const struct {
        const char *fault;
        enum tri_pod_found found;
    } faults[] = {{"too large", TRI_POD_TOO_LARGE},
                  {"secret", TRI_POD_DENIED},
                  {"invalid", TRI_POD_UNREADABLE}};
    answer->found = TRI_POD_BUSY;
    for (size_t i = 0; i < TR_COUNT_OF(faults); i++) {
        if (tr_text_equal(response->fault, tr_text_of(faults[i].fault))) {
            answer->found = faults[i].found;
        }
    }
    answer->words = answer->found == TRI_POD_TOO_LARGE
                        ? tr_task_format(task, "%.*s has more than the %u bytes that are read",
                                         (int)url.size, url.data, BYTES_MAX)
                        : tr_task_format(task, "%.*s: %.*s", (int)url.size, url.data,
                                         (int)response->message.size, response->message.data);
}

static int read_named(struct tr_task_context *task, const struct tri_pod *own,
                      const struct tr_webapi_endpoint *endpoint, const char *method,
                      const char *name, const struct tr_task_event *event,
                      struct tri_pod_answer *answer)
{
    struct tr_http_response response;
    struct tr_text url = tri_pod_object(task, own, endpoint, name);
    if (event->kind == TR_TASK_FAILED) {
        answer->found = TRI_POD_BUSY;
        answer->words =
            tr_task_format(task, "%.*s: %s", (int)url.size, url.data, tr_error_text(event->error));
        return 0;
    }
    int error = tr_task_event_read(event, http_response, &response);
    if (error != 0) {
        return error;
    }
    bool is_whole = response.fault.size == 0 || tr_text_equal(response.fault, tr_text_of("none"));
    if (response.status != 0 && is_whole) {
        classify_status(task, own, endpoint, method, url, &response, answer);
    } else {
        classify_fault(task, url, &response, answer);
    }
    return 0;
}

static int read(struct tr_task_context *task, const struct tri_pod *own,
                const struct tr_webapi_endpoint *endpoint, enum tri_pod_document document,
                const struct tr_task_event *event, struct tri_pod_answer *answer)
{
    return read_named(task, own, endpoint, "GET", tri_pod_document_name(task, document), event,
                      answer);
}

/* What was put is there, whatever the answer's body; a place that is not there cannot be had. */
int tri_pod_read_put(struct tr_task_context *task, const struct tri_pod *own,
                     const struct tr_webapi_endpoint *endpoint, const char *name,
                     const struct tr_task_event *event, struct tri_pod_answer *answer)
{
    int error = read_named(task, own, endpoint, "PUT", name, event, answer);
    if (error == 0 && answer->found == TRI_POD_MISSING) {
        answer->found = answer->status == 200 ? TRI_POD_FOUND : TRI_POD_UNREADABLE;
    }
    return error;
}

const struct tri_pod_source tri_pod_objects_source = {ask, read};
