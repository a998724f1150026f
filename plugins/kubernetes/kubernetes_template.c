/*
 * The PodTemplate of the cluster that a task's pod is made from: its name, and its template, which
 * is asked for when the pod is about to be made. So a template that was changed counts for all pods
 * that are made from then on.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <stdio.h>

#include "runtime/troupe.h"
#include "schemas/runtime/http.h"

#define SECRETS_BYTES 2048
#define WORDS_MAX 500

struct tr_text tri_kubernetes_template_name(struct tr_task_context *task,
                                            const struct tr_webapi_endpoint *endpoint)
{
    const struct tr_task_template *template = tr_task_template(task);
    struct tr_bytes metadata = tr_json_get(template->extra, "metadata");
    struct tr_text own = tr_json_text(tr_json_get(template->config, "pod_template"));
    struct tr_text flytes = tr_json_text(tr_json_get(metadata, "podTemplateName"));
    return own.size > 0      ? own
           : flytes.size > 0 ? flytes
                             : tr_json_text(tr_json_get(endpoint->config, "pod_template"));
}

/* --------------------------------------------------------------------------------- asking */

static int pack_secret(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
                       struct tr_bytes *packed)
{
    struct tr_http_secret secret;
    if (tr_webapi_secret(endpoint, &secret) == 0) {
        return 0;
    }
    uint8_t *room = tr_task_scratch(task, SECRETS_BYTES);
    if (room == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(room, SECRETS_BYTES);
    int error = tr_http_secrets_pack(&secret, 1, &writer);
    *packed = (struct tr_bytes){.data = room, .size = tr_writer_size(&writer)};
    return error;
}

int tri_kubernetes_call_as(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
                           struct tr_http_request *request)
{
    request->timeout_ms = endpoint->timeout_ms > 0 ? endpoint->timeout_ms : TR_WEBAPI_TIMEOUT_MS;
    request->ca_file = endpoint->ca_file;
    request->client_certificate = endpoint->client_certificate;
    request->client_key = endpoint->client_key;
    request->is_insecure = endpoint->is_insecure;
    request->identity = endpoint->identity;
    return pack_secret(task, endpoint, &request->secrets);
}

int tri_kubernetes_ask_template(struct tr_task_context *task,
                                const struct tr_webapi_endpoint *endpoint, struct tr_text namespace,
                                struct tr_text name, struct tr_kubernetes_attempt *own)
{
    struct tr_http_request request = {
        .method = tr_text_of("GET"),
        .url = tr_task_format(task, "%.*s/api/v1/namespaces/%.*s/podtemplates/%.*s",
                              (int)endpoint->url.size, endpoint->url.data, (int)namespace.size,
                              namespace.data, (int)name.size, name.data),
        .response_bytes_max = TR_KUBERNETES_TEMPLATE_BYTES_MAX,
    };
    int error =
        request.url.size == 0 ? TR_MEMORY : tri_kubernetes_call_as(task, endpoint, &request);
    return error != 0 ? error
                      : tr_task_call(task, TR_SERVICE_HTTP, &tr_http_request_schema, &request, 0,
                                     &own->call);
}

/* ------------------------------------------------------------------------------- answering */

/* What an answer without a template means; one without a row is asked for again. */
static const struct {
    uint32_t status;
    const char *code;
    const char *words;
} refusals[] = {
    {404, "BadTaskSpecification", "there is none of that name in the pod's namespace"},
    {403, "PermissionDenied", "the engine has no right to get podtemplates"},
};

#define AGAIN_TIMER 2
#define AGAIN_MS 1000
#define AGAIN_DOUBLED_MAX 5 /* times: 32 s at most */

/* A server that does not answer, or is in trouble, is asked for as long as it takes. */
static int again(struct tr_task_context *task, struct tr_kubernetes_attempt *own,
                 struct tr_text words, struct tr_transition *transition)
{
    uint64_t wait_ms = (uint64_t)AGAIN_MS << own->reads;
    own->reads += own->reads < AGAIN_DOUBLED_MAX ? 1 : 0;
    int error = tr_task_timer(task, AGAIN_TIMER, wait_ms);
    transition->version++;
    return error != 0 ? error : tr_task_is(transition, TR_TASK_PHASE_INITIALIZING, words);
}

bool tri_kubernetes_is_template_again(const struct tr_task_event *event)
{
    return event->kind == TR_TASK_TIMER && event->call == AGAIN_TIMER;
}

static int refuse(struct tr_task_context *task, struct tr_kubernetes_attempt *own,
                  struct tr_text name, uint32_t status, struct tr_text said,
                  struct tr_transition *transition)
{
    said.size = said.size < WORDS_MAX ? said.size : tr_utf8_cut(said, WORDS_MAX);
    for (size_t i = 0; i < TR_COUNT_OF(refusals); i++) {
        if (refusals[i].status == status) {
            return tr_task_refuse(transition, tr_text_of(refusals[i].code),
                                  tr_task_format(task, "PodTemplate %.*s: %s: %.*s", (int)name.size,
                                                 name.data, refusals[i].words, (int)said.size,
                                                 said.data));
        }
    }
    return again(task, own,
                 tr_task_format(task, "PodTemplate %.*s is asked for again: %.*s", (int)name.size,
                                name.data, (int)said.size, said.data),
                 transition);
}

struct tr_text tri_kubernetes_status_words(struct tr_task_context *task,
                                           const struct tr_http_response *answer)
{
    struct tr_bytes value = {0};
    struct tr_text said = answer->message;
    if (answer->status >= 300 && task->api->read_json(task, answer->body, &value) == 0) {
        said = tr_json_text(tr_json_get(value, "message"));
    }
    return said.size > 0 ? said : tr_task_format(task, "the answer is %u", answer->status);
}

int tri_kubernetes_read_template(struct tr_task_context *task, struct tr_kubernetes_attempt *own,
                                 const struct tr_task_event *event, struct tr_text name,
                                 struct tr_bytes *template, struct tr_transition *transition)
{
    struct tr_http_response answer = {0};
    struct tr_bytes value = {0};
    if (event->kind == TR_TASK_FAILED) {
        struct tr_text words = tr_text_of(tr_error_text(event->error));
        return refuse(task, own, name, 0, words, transition);
    }
    int error = tr_task_event_read(event, http_response, &answer);
    if (error != 0) {
        return error;
    }
    bool is_whole = answer.fault.size == 0 || tr_text_equal(answer.fault, tr_text_of("none"));
    if (answer.status == 0 || answer.status >= 300 || !is_whole) {
        uint32_t status = is_whole ? answer.status : 0;
        return refuse(task, own, name, status, tri_kubernetes_status_words(task, &answer),
                      transition);
    }
    error = task->api->read_json(task, answer.body, &value);
    if (error == TR_MEMORY) {
        return error;
    }
    struct tr_bytes found = tr_json_get(value, "template");
    if (error != 0 || found.size == 0) {
        return refuse(task, own, name, 0, tr_text_of("what the server answers is none"),
                      transition);
    }
    *template = found;
    return 0;
}
