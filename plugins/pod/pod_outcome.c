/*
 * What becomes of a job that has ended: its error document is looked for, and the outputs of one
 * that has succeeded. Where they lie, on a share or in an object store, is the source's affair.
 *
 * An error document is a failure however the job has ended, and says more than its cluster can; so
 * it is looked for first. Reading changes nothing: where nobody knows whether a call arrived, and
 * while a source is busy, it is done again.
 */
#include "plugins/pod/pod.h"
#include "runtime/troupe.h"
#include "schemas/runtime/process.h"

#define AGAIN_TIMER 1

/* ---------------------------------------------------------------------------------- asking */

/* Where what jobs leave is found; NULL: nowhere. */
static const struct tri_pod_source *source_of(struct tr_task_context *task,
                                              const struct tr_webapi_endpoint *endpoint)
{
    return tri_pod_objects(task, endpoint).url.size > 0 ? &tri_pod_objects_source
           : tri_pod_share(endpoint).size > 0           ? &tri_pod_share_source
                                                        : NULL;
}

static enum tri_pod_document document_of(const struct tri_pod *own)
{
    bool reads_futures = own->reads_futures != NULL && *own->reads_futures;
    return reads_futures         ? TRI_POD_FUTURES_DOCUMENT
           : *own->reads_outputs ? TRI_POD_OUTPUTS_DOCUMENT
                                 : TRI_POD_ERROR_DOCUMENT;
}

const char *tri_pod_document_name(struct tr_task_context *task, enum tri_pod_document document)
{
    static const char *const ours[] = {[TRI_POD_ERROR_DOCUMENT] = "error.json",
                                       [TRI_POD_FUTURES_DOCUMENT] = "",
                                       [TRI_POD_OUTPUTS_DOCUMENT] = "outputs.json"};
    static const char *const flytes[] = {[TRI_POD_ERROR_DOCUMENT] = TR_FLYTE_ERROR,
                                         [TRI_POD_FUTURES_DOCUMENT] = TR_FLYTE_FUTURES,
                                         [TRI_POD_OUTPUTS_DOCUMENT] = TR_FLYTE_OUTPUTS};
    return tri_pod_has_flyte(task) ? flytes[document] : ours[document];
}

enum tr_document_form tri_pod_document_form(struct tr_task_context *task,
                                            enum tri_pod_document document)
{
    return !tri_pod_has_flyte(task)               ? TR_DOCUMENT_JSON
           : document == TRI_POD_FUTURES_DOCUMENT ? TR_DOCUMENT_FLYTE_FUTURES
                                                  : TR_DOCUMENT_FLYTE;
}

static int ask(struct tr_task_context *task, const struct tri_pod *own,
               const struct tr_webapi_endpoint *endpoint, struct tr_transition *transition)
{
    int error = source_of(task, endpoint)->ask(task, own, endpoint, document_of(own), own->call);
    if (error != 0) {
        return error;
    }
    return tr_task_is(transition, TR_TASK_PHASE_RUNNING,
                      tr_text_of(document_of(own) == TRI_POD_ERROR_DOCUMENT
                                     ? "its job has ended; what it left is read"
                                     : "its job has ended; its outputs are read"));
}

static int ask_first(struct tr_task_context *task, const struct tri_pod *own,
                     const struct tr_webapi_endpoint *endpoint, enum tri_pod_document document,
                     struct tr_transition *transition)
{
    *own->reads_outputs = document == TRI_POD_OUTPUTS_DOCUMENT;
    if (own->reads_futures != NULL) {
        *own->reads_futures = document == TRI_POD_FUTURES_DOCUMENT;
    }
    *own->reads = 0;
    return ask(task, own, endpoint, transition);
}

/* ------------------------------------------------------------------------- what there was */

static int storage_failed(struct tr_task_context *task, struct tr_text words,
                          struct tr_transition *transition)
{
    return tr_task_fail(transition, TR_FAILURE_SYSTEM, tr_text_of("StorageError"),
                        tr_task_format(task, "what the job left cannot be read: %.*s",
                                       (int)words.size, words.data));
}

/* Another attempt would run the job again, and its documents could be read no better. */
static int denied(struct tr_task_context *task, struct tr_text words,
                  struct tr_transition *transition)
{
    int error = storage_failed(task, words, transition);
    transition->phase = TR_TASK_PHASE_PERMANENT_FAILURE;
    transition->code = tr_text_of("StorageDenied");
    return error;
}

/* Once more after a while, which doubles. */
static int again(struct tr_task_context *task, const struct tri_pod *own, struct tr_text words,
                 struct tr_transition *transition)
{
    uint64_t wait_ms = (uint64_t)TR_POD_READ_AGAIN_MS << *own->reads;
    if (++*own->reads >= TR_POD_READS_MAX) {
        return storage_failed(task, words, transition);
    }
    wait_ms = wait_ms < TR_POD_READ_AGAIN_MS_MAX ? wait_ms : TR_POD_READ_AGAIN_MS_MAX;
    int error = tr_task_timer(task, AGAIN_TIMER, wait_ms);
    transition->version++;
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_RUNNING,
                                   tr_task_format(task, "its outcome is asked for again: %.*s",
                                                  (int)words.size, words.data));
}

static int give_outputs(struct tr_task_context *task, const struct tri_pod *own,
                        const struct tr_webapi_endpoint *endpoint,
                        const struct tri_pod_answer *answer, struct tr_transition *transition)
{
    struct tr_text problem;
    struct tr_text folder = tri_pod_folder(task, own, endpoint);
    struct tr_text work = tr_task_format(task, "%.*s/work", (int)folder.size, folder.data);
    enum tr_document_form form = tri_pod_document_form(task, document_of(own));
    int error = answer->slots.size > 0
                    ? tr_task_outputs(task, answer->slots)
                    : tr_task_outputs_document(task, form, answer->document, work, &problem);
    if (error == TR_LIMIT) {
        return tr_task_refuse(transition, tr_text_of("OutputSizeExceeded"),
                              tr_text_of("a part of its outputs lies in a file of its own, which "
                                         "is read from a share alone"));
    }
    /* What is wrong with them the engine has noted, and makes a failure of this success. */
    return error == 0 || error == TR_INVALID ? tr_task_succeed(transition) : error;
}

static int outputs_missing(struct tr_task_context *task, const struct tri_pod *own,
                           struct tr_text words, struct tr_transition *transition)
{
    if (own->is_deleted) {
        return 0;
    }
    return tr_task_template(task)->output_count == 0
               ? tr_task_succeed(transition)
               : tr_task_fail(
                     transition, TR_FAILURE_USER, tr_text_of("OutputsNotFound"),
                     tr_task_format(task, "nothing was written to %s: %.*s",
                                    tri_pod_has_flyte(task) ? TR_FLYTE_OUTPUTS : "$TROUPE_OUTPUTS",
                                    (int)words.size, words.data));
}

/* The document that is read is there, or is not. */
static int classify_document(struct tr_task_context *task, const struct tri_pod *own,
                             const struct tr_webapi_endpoint *endpoint,
                             const struct tri_pod_answer *answer, struct tr_transition *transition)
{
    const struct tr_task_template *template = tr_task_template(task);
    enum tri_pod_document document = document_of(own);
    bool is_there = answer->found == TRI_POD_FOUND;
    if (is_there && document != TRI_POD_ERROR_DOCUMENT) {
        return give_outputs(task, own, endpoint, answer, transition);
    }
    if (is_there) {
        return tr_task_failure_document(task, tri_pod_document_form(task, document),
                                        answer->document, transition);
    }
    if (document == TRI_POD_OUTPUTS_DOCUMENT) {
        return outputs_missing(task, own, answer->words, transition);
    }
    bool may_have_outputs = own->is_deleted && template->output_count > 0;
    bool may_decide = template->is_dynamic && tri_pod_has_flyte(task) &&
                      own->reads_futures != NULL && document == TRI_POD_ERROR_DOCUMENT;
    return transition->phase == TR_TASK_PHASE_SUCCESS || may_have_outputs
               ? ask_first(task, own, endpoint,
                           may_decide ? TRI_POD_FUTURES_DOCUMENT : TRI_POD_OUTPUTS_DOCUMENT,
                           transition)
               : 0;
}

static int classify(struct tr_task_context *task, const struct tri_pod *own,
                    const struct tr_webapi_endpoint *endpoint, const struct tri_pod_answer *answer,
                    struct tr_transition *transition)
{
    switch (answer->found) {
    case TRI_POD_FOUND:
    case TRI_POD_MISSING:
        return classify_document(task, own, endpoint, answer, transition);
    case TRI_POD_WRONG:
        return tr_task_fail(transition, TR_FAILURE_USER, answer->code, answer->words);
    case TRI_POD_TOO_LARGE:
        return document_of(own) != TRI_POD_ERROR_DOCUMENT
                   ? tr_task_refuse(transition, tr_text_of("OutputSizeExceeded"), answer->words)
                   : tr_task_fail(transition, TR_FAILURE_USER, tr_text_of("ErrorDocumentTooLarge"),
                                  answer->words);
    case TRI_POD_BUSY:
        return again(task, own, answer->words, transition);
    case TRI_POD_DENIED:
        return denied(task, answer->words, transition);
    case TRI_POD_UNREADABLE:
    default:
        return storage_failed(task, answer->words, transition);
    }
}

/* ------------------------------------------------------------------------------ its events */

/* Where the task has a timeout, that is the pod's deadline: then it is the task that took long. */
static void classify_deadline(struct tr_task_context *task, struct tr_transition *transition)
{
    if (tr_task_template(task)->timeout_ns > 0 &&
        tr_text_equal(transition->code, tr_text_of("DeadlineExceeded"))) {
        transition->failure = TR_FAILURE_USER;
        transition->code = tr_text_of("TimeoutExpired");
        transition->message =
            tr_text_of("the task's timeout has passed; the cluster ended its pod");
    }
}

/* Whether what was left may say more: not of what befell a job from outside. */
static bool is_of_the_task(const struct tr_transition *transition)
{
    return transition->phase == TR_TASK_PHASE_SUCCESS ||
           (transition->phase == TR_TASK_PHASE_RETRYABLE_FAILURE &&
            transition->failure == TR_FAILURE_USER);
}

static bool is_its_call(const struct tri_pod *own, const struct tr_task_event *event)
{
    return event->call == *own->call &&
           (event->kind == TR_TASK_ANSWER || event->kind == TR_TASK_FAILED);
}

/* Whether it is asked anew: nobody knows whether the call arrived, or the time to wait is over. */
static bool is_asked_again(const struct tri_pod *own, const struct tr_task_event *event)
{
    bool is_lost = event->error == TR_NO_CONNECTION || event->error == TR_CLOSED;
    return event->kind == TR_TASK_TIMER ? event->call == AGAIN_TIMER && *own->reads > 0
                                        : event->kind == TR_TASK_FAILED && is_lost;
}

int tri_pod_outcome(struct tr_task_context *task, const struct tri_pod *own,
                    const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                    struct tr_transition *transition)
{
    struct tri_pod_answer answer = {.found = TRI_POD_FOUND};
    const struct tri_pod_source *source = source_of(task, endpoint);
    if (event->kind == TR_TASK_NEWS) {
        classify_deadline(task, transition);
    }
    if (source == NULL) {
        return 0;
    }
    if (event->kind == TR_TASK_NEWS) {
        bool is_asked = is_of_the_task(transition) || own->is_deleted;
        return is_asked ? ask_first(task, own, endpoint, TRI_POD_ERROR_DOCUMENT, transition) : 0;
    }
    if (event->kind != TR_TASK_TIMER && !is_its_call(own, event)) {
        return tr_task_is(transition, TR_TASK_PHASE_RUNNING, (struct tr_text){0});
    }
    if (is_asked_again(own, event)) {
        return ask(task, own, endpoint, transition);
    }
    if (event->kind == TR_TASK_TIMER) {
        return tr_task_is(transition, TR_TASK_PHASE_RUNNING, (struct tr_text){0});
    }
    int error = source->read(task, own, endpoint, document_of(own), event, &answer);
    return error != 0 ? error : classify(task, own, endpoint, &answer, transition);
}

/* ---------------------------------------------------------------------------- cleaning up */

/* As of a process of this machine: logs are kept, and after a failure all of it. */
int tri_pod_clean(struct tr_task_context *task, const struct tri_pod *own,
                  const struct tr_webapi_endpoint *endpoint)
{
    struct tr_text folder = tri_pod_folder(task, own, endpoint);
    const struct tr_shared_clean request = {.folder = folder,
                                            .checkpoint = tri_pod_checkpoint(task, folder),
                                            .trusted_bytes =
                                                (uint32_t)tri_pod_share(endpoint).size};
    return request.checkpoint.size == 0
               ? TR_MEMORY
               : tr_task_tell(task, TR_SERVICE_PROCESSES, &tr_shared_clean_schema, &request);
}
