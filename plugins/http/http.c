/*
 * The life of an attempt that is one request: asked, repeated where that is safe, classified.
 *
 * A request of which nobody knows what became of it is made again only where that cannot be done
 * twice: by its method, by a key that the server knows it by, or since the task says so. All of
 * that happens within one attempt, whose name is the key.
 */
#include "plugins/http/http.h"

#include "runtime/troupe.h"
#include "schemas/engine/state_plugin.h"

#define AGAIN_TIMER 1
#define AGAIN_MS 500
#define TRIES_MAX 5

/* ------------------------------------------------------------------------------ asking */

/* It runs, and that is news each time. */
static int say(struct tr_http_attempt *attempt, struct tr_text why,
               struct tr_transition *transition)
{
    transition->version = ++attempt->news;
    return tr_task_is(transition, TR_TASK_PHASE_RUNNING, why);
}

static int ask(struct tr_task_context *task, struct tr_http_attempt *attempt,
               struct tr_transition *transition)
{
    struct tr_http_request request;
    int error = tri_http_request(task, &request);
    if (error == 0) {
        error = tr_task_call(task, TR_SERVICE_HTTP, &tr_http_request_schema, &request, 0,
                             &attempt->call);
    }
    if (error == TR_INVALID || error == TR_LIMIT) {
        return tr_task_refuse(transition, tr_text_of("BadTaskSpecification"),
                              tr_text_of("the request is too large, or its headers are no texts"));
    }
    attempt->tries++;
    return error != 0
               ? error
               : say(attempt,
                     tr_task_format(task, "asks %.*s", (int)request.url.size, request.url.data),
                     transition);
}

/* ---------------------------------------------------------------------------- the answer */

/* Nobody can say whether it was done, and it may not be done twice. */
static int give_up(struct tr_task_context *task, struct tr_text why,
                   struct tr_transition *transition)
{
    *transition = (struct tr_transition){
        .phase = TR_TASK_PHASE_PERMANENT_FAILURE,
        .failure = TR_FAILURE_SYSTEM,
        .is_unknown = true,
        .code = tr_text_of("OutcomeUnknown"),
        .message = tr_task_format(task, "outcome unknown: %.*s", (int)why.size, why.data),
    };
    return 0;
}

/* Once more after a while, which doubles. */
static int again(struct tr_task_context *task, struct tr_http_attempt *attempt, struct tr_text why,
                 struct tr_transition *transition)
{
    if (attempt->tries < TRIES_MAX) {
        uint64_t wait_ms = (uint64_t)AGAIN_MS << attempt->tries;
        int error = tr_task_timer(task, AGAIN_TIMER, wait_ms);
        if (error != 0) {
            return error;
        }
        return say(attempt, why, transition);
    }
    if (attempt->is_unknown && !tri_http_is_idempotent(task)) {
        return give_up(task, why, transition);
    }
    return tr_task_fail(transition, TR_FAILURE_SYSTEM, tr_text_of("HttpUnavailable"), why);
}

static int outcome_unknown(struct tr_task_context *task, struct tr_http_attempt *attempt,
                           struct tr_text why, struct tr_transition *transition)
{
    attempt->is_unknown = true;
    if (!tri_http_may_repeat(task)) {
        return give_up(task, why, transition);
    }
    int error = again(task, attempt, why, transition);
    transition->is_unknown = transition->is_unknown || !tri_http_is_repeatable(task);
    return error;
}

/* There was no answer: what that says of the request. */
static int classify_fault(struct tr_task_context *task, struct tr_http_attempt *attempt,
                          const struct tr_http_response *response, struct tr_transition *transition)
{
    static const char *const not_sent[] = {"resolve", "connect", "tls"};
    static const char *const hopeless[] = {"invalid", "secret"};
    struct tr_text url = tri_http_text(task, "url", "");
    struct tr_text words = tr_task_format(task, "%.*s: %.*s", (int)url.size, url.data,
                                          (int)response->message.size, response->message.data);
    if (tri_http_is_one_of(response->fault, hopeless, TR_COUNT_OF(hopeless))) {
        return tr_task_refuse(transition, tr_text_of("BadTaskSpecification"), words);
    }
    if (tr_text_equal(response->fault, tr_text_of("too large"))) {
        return tr_task_refuse(transition, tr_text_of("ResponseTooLarge"), words);
    }
    if (tri_http_is_one_of(response->fault, not_sent, TR_COUNT_OF(not_sent)) &&
        !attempt->is_unknown) {
        return tr_task_fail(transition, TR_FAILURE_SYSTEM, tr_text_of("HttpUnavailable"), words);
    }
    return outcome_unknown(task, attempt, words, transition);
}

static int classify_status(struct tr_task_context *task, struct tr_http_attempt *attempt,
                           const struct tr_http_response *response,
                           struct tr_transition *transition)
{
    struct tr_text method = tri_http_text(task, "method", "GET");
    struct tr_text url = tri_http_text(task, "url", "");
    size_t shown = response->body.size < TR_HTTP_TASK_SHOWN_BYTES ? response->body.size
                                                                  : TR_HTTP_TASK_SHOWN_BYTES;
    struct tr_text words =
        tr_task_format(task, "%.*s %.*s was answered with %u%s%.*s", (int)method.size, method.data,
                       (int)url.size, url.data, response->status, shown > 0 ? ": " : "", (int)shown,
                       (const char *)response->body.data);
    if (response->status == 429) {
        return again(task, attempt, words, transition);
    }
    if (response->status >= 500) {
        return outcome_unknown(task, attempt, words, transition);
    }
    return tr_task_fail(transition, TR_FAILURE_USER, tr_text_of("HttpStatus"), words);
}

/* There is a status, and not all of the answer. */
static bool is_cut_off(const struct tr_http_response *response)
{
    return response->fault.size > 0 && !tr_text_equal(response->fault, tr_text_of("none"));
}

static int classify(struct tr_task_context *task, struct tr_http_attempt *attempt,
                    const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_http_response response;
    struct tr_text problem = tr_text_of("");
    int error = tr_task_event_read(event, http_response, &response);
    if (error != 0) {
        return error;
    }
    if (response.status == 0) {
        return classify_fault(task, attempt, &response, transition);
    }
    if (!tri_http_expects(task, response.status)) {
        return classify_status(task, attempt, &response, transition);
    }
    if (is_cut_off(&response)) {
        return classify_fault(task, attempt, &response, transition);
    }
    error = tri_http_outputs(task, &response, &problem);
    if (error == TR_INVALID) {
        /* It was done; asking once more would give the same. */
        return tr_task_refuse(transition, tr_text_of("MismatchingTypes"), problem);
    }
    return error != 0 ? error : tr_task_succeed(transition);
}

/* ------------------------------------------------------------------------------ its life */

static int handle(struct tr_task_context *task, void *state, const struct tr_task_event *event,
                  struct tr_transition *transition)
{
    struct tr_http_attempt *attempt = state;
    switch (event->kind) {
    case TR_TASK_ANSWER:
        return classify(task, attempt, event, transition);
    case TR_TASK_FAILED:
        return outcome_unknown(
            task, attempt,
            tr_text_of("nobody knows what became of the request; the engine, or the state "
                       "of the attempt, was lost meanwhile"),
            transition);
    case TR_TASK_NEWS:
        return 0;
    default:
        return ask(task, attempt, transition);
    }
}

/* What is under way is given up; whether it was done, nobody asks any more. */
static int end(struct tr_task_context *task, void *state, bool is_hard,
               const struct tr_task_event *event, struct tr_transition *transition)
{
    const struct tr_http_attempt *attempt = state;
    const struct tr_http_cancel cancel = {.ask = attempt->call};
    (void)is_hard;
    (void)event;
    int error = attempt->call == 0
                    ? 0
                    : tr_task_tell(task, TR_SERVICE_HTTP, &tr_http_cancel_schema, &cancel);
    return error != 0 ? error : tr_task_aborted(transition);
}

static const char *const task_types[] = {"http", NULL};

const struct tr_plugin tr_http_plugin = {
    .abi = TR_PLUGIN_ABI,
    .id = "http",
    .task_types = task_types,
    .state = &tr_http_attempt_schema,
    .check = tri_http_check,
    .handle = handle,
    .abort = end,
};
