/*
 * The finalizer of a pod, where the settings or the task want one. A pod without any is gone when
 * somebody deletes it, and how it ended with it, unless the watch was there to show it; one with a
 * finalizer stays until this engine has heard how it ended, which a task without documents has
 * nothing else to tell by.
 *
 * Invariant: from the commit that has the pod made until the API server has taken the finalizer
 * away, the attempt's state says that there is one, whatever the settings say meanwhile. No attempt
 * ends before that, so a pod is never left that only people could remove.
 */
#include "plugins/kubernetes/kubernetes.h"

#include "runtime/troupe.h"

#define ANSWER_BYTES_MAX (64U << 10)
#define WORDS_MAX 300
#define AGAIN_TIMER 3
#define AGAIN_MS 1000
#define AGAIN_DOUBLED_MAX 5 /* times: 32 s at most */

bool tri_kubernetes_wants_finalizer(struct tr_task_context *task,
                                    const struct tr_webapi_endpoint *endpoint)
{
    return tr_json_bool(tri_pod_setting(task, endpoint, "finalizer"));
}

bool tri_kubernetes_is_finalized(const struct tr_kubernetes_attempt *own)
{
    return own->finalizer == TRI_KUBERNETES_FINALIZED || own->finalizer == TRI_KUBERNETES_RELEASING;
}

/* ---------------------------------------------------------------------------------- asking */

/* Others' finalizers stay: a patch of this kind takes one out of the list by its value. */
static int write_patch(struct tr_task_context *task, struct tr_http_request *request)
{
    static const char patch[] = "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":"
                                "[\"" TRI_KUBERNETES_FINALIZER "\"]}}";
    struct tr_build headers = tr_build_of_task(task);
    tr_build_list(&headers);
    tr_build_text(&headers, tr_text_of("Accept: application/json;as=PartialObjectMetadata;v=v1;"
                                       "g=meta.k8s.io"));
    tr_build_text(&headers, tr_text_of("Content-Type: application/strategic-merge-patch+json"));
    tr_build_end(&headers);
    request->method = tr_text_of("PATCH");
    request->body = (struct tr_bytes){.data = (const uint8_t *)patch, .size = sizeof patch - 1};
    request->response_bytes_max = ANSWER_BYTES_MAX;
    return tr_build_take(&headers, &request->headers);
}

static int ask(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
               const struct tri_kubernetes_group *group, struct tr_kubernetes_attempt *own)
{
    char name[TR_KUBERNETES_NAME_BYTES_MAX + 1];
    struct tr_http_request request = {0};
    tri_kubernetes_name(group->store, tr_task_generated_name(task), name);
    request.url = tr_task_format(task, "%.*s/api/v1/namespaces/%.*s/pods/%s?fieldManager=troupe",
                                 (int)endpoint->url.size, endpoint->url.data,
                                 (int)group->namespace.size, group->namespace.data, name);
    own->finalizer = TRI_KUBERNETES_RELEASING;
    int error = request.url.size == 0 ? TR_MEMORY : write_patch(task, &request);
    if (error == 0) {
        error = tri_kubernetes_call_as(task, endpoint, &request);
    }
    return error != 0 ? error
                      : tr_task_call(task, TR_SERVICE_HTTP, &tr_http_request_schema, &request, 0,
                                     &own->call);
}

/* ------------------------------------------------------------------------------- answering */

/* Gone is gone, with its pod or without. */
static bool is_done(const struct tr_http_response *answer)
{
    bool is_whole = answer->fault.size == 0 || tr_text_equal(answer->fault, tr_text_of("none"));
    return is_whole && ((answer->status >= 200 && answer->status < 300) || answer->status == 404);
}

static int read(struct tr_task_context *task, struct tr_kubernetes_attempt *own,
                const struct tr_task_event *event, bool is_last, struct tr_text *words)
{
    struct tr_http_response answer = {0};
    struct tr_text said = tr_text_of(tr_error_text(event->error));
    int error =
        event->kind == TR_TASK_FAILED ? 0 : tr_task_event_read(event, http_response, &answer);
    if (error != 0) {
        return error;
    }
    if (event->kind == TR_TASK_ANSWER) {
        said = tri_kubernetes_status_words(task, &answer);
    }
    if (is_last || is_done(&answer)) {
        own->finalizer = TRI_KUBERNETES_RELEASED;
        own->reads = 0;
        return 0;
    }
    said.size = said.size < WORDS_MAX ? said.size : tr_utf8_cut(said, WORDS_MAX);
    *words = tr_task_format(task,
                            "the finalizer of its pod could not be taken away, which is tried "
                            "again: %.*s",
                            (int)said.size, said.data);
    uint64_t wait_ms = (uint64_t)AGAIN_MS << own->reads;
    own->reads += own->reads < AGAIN_DOUBLED_MAX ? 1 : 0;
    return tr_task_timer(task, AGAIN_TIMER, wait_ms);
}

int tri_kubernetes_release(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
                           const struct tri_kubernetes_group *group,
                           struct tr_kubernetes_attempt *own, const struct tr_task_event *event,
                           bool is_last, struct tr_text *words)
{
    bool is_lost = event->error == TR_NO_CONNECTION || event->error == TR_CLOSED;
    bool is_its_call = event->call == own->call && ((event->kind == TR_TASK_FAILED && !is_lost) ||
                                                    event->kind == TR_TASK_ANSWER);
    bool is_due = event->kind == TR_TASK_TIMER && event->call == AGAIN_TIMER;
    bool is_first = own->finalizer == TRI_KUBERNETES_FINALIZED || event->kind == TR_TASK_START;
    *words = tr_text_of("it has ended; its pod is let go");
    if (own->finalizer == TRI_KUBERNETES_FINALIZED) {
        own->reads = 0;
    }
    if (is_first || is_due || (event->kind == TR_TASK_FAILED && is_lost)) {
        return ask(task, endpoint, group, own);
    }
    return is_its_call ? read(task, own, event, is_last, words) : 0;
}
