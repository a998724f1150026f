/*
 * A plugin of the core shape: tasks of type `wait-for` wait until a URL answers with a status of
 * 200 to 299, and give how often they have asked.
 *
 *     tasks: {up: {type: wait-for, outputs: {tries: int}, config: {url: http://db:8080/ready}}}
 *
 * It waits by a timer and asks by a call; nothing of it blocks. Asking has no consequences outside,
 * so a call of which nobody knows what became of it is made again.
 */
#include <stdio.h>

#include "plugins/sdk/plugin.h"
#include "runtime/troupe.h"
#include "schemas/runtime/http.h"

#define AGAIN_TIMER 1
#define EVERY_MS 1000
#define TIMEOUT_MS 10000

/* How often it has asked. */
#define TR_WAIT_FIELDS(FIELD, ARRAY) FIELD(u32, tries, 1, 0)
#define TR_WAIT_SCHEMAS(S) S(wait_attempt, 10101, TR_STATE, 1, 0, TR_WAIT_FIELDS)
TR_WAIT_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_WAIT_SCHEMAS(TR_SCHEMA_DEFINE)

static const struct tr_config_key keys[] = {{"url", TR_CODEC_TEXT},
                                            {"every_ms", TR_CODEC_UNSIGNED}};

static int check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    struct tr_cursor url;
    if (!tr_config_find(task->config, "url", &url)) {
        return tr_config_refuse(problem, problem_size,
                                "config.url is missing\nwrite config: {url: URL}");
    }
    return tr_config_check(task->config, keys, TR_COUNT_OF(keys), problem, problem_size);
}

static int ask(struct tr_task_context *task, struct tr_wait_attempt *attempt,
               struct tr_transition *transition)
{
    struct tr_bytes config = tr_task_template(task)->config;
    const struct tr_http_request request = {
        .method = tr_text_of("GET"),
        .url = tr_config_text(config, "url", tr_text_of("")),
        .timeout_ms = TIMEOUT_MS,
    };
    attempt->tries++;
    int error = tr_task_call(task, TR_SERVICE_HTTP, &tr_http_request_schema, &request, 0, NULL);
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_RUNNING,
                                   tr_task_format(task, "asks for the %uth time", attempt->tries));
}

static int succeed(struct tr_task_context *task, const struct tr_wait_attempt *attempt,
                   struct tr_transition *transition)
{
    struct tr_text problem;
    int error = tr_task_outputs_json(task, tr_task_format(task, "{\"tries\": %u}", attempt->tries),
                                     tr_text_of(""), &problem);
    return error == 0 || error == TR_INVALID ? tr_task_succeed(transition) : error;
}

/* Not yet: it asks again after a while, and says what the answer was. */
static int wait(struct tr_task_context *task, struct tr_text why, struct tr_transition *transition)
{
    uint64_t every_ms = tr_config_u64(tr_task_template(task)->config, "every_ms", EVERY_MS);
    int error = tr_task_timer(task, AGAIN_TIMER, every_ms);
    return error != 0 ? error : tr_task_is(transition, TR_TASK_PHASE_RUNNING, why);
}

static int judge(struct tr_task_context *task, const struct tr_wait_attempt *attempt,
                 const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_http_response response;
    int error = tr_task_event_read(event, http_response, &response);
    if (error != 0) {
        return error;
    }
    if (response.status >= 200 && response.status < 300) {
        return succeed(task, attempt, transition);
    }
    struct tr_text why = response.status == 0
                             ? response.message
                             : tr_task_format(task, "it answered %u", response.status);
    return wait(task, why, transition);
}

static int handle(struct tr_task_context *task, void *state, const struct tr_task_event *event,
                  struct tr_transition *transition)
{
    struct tr_wait_attempt *attempt = state;
    return event->kind == TR_TASK_ANSWER ? judge(task, attempt, event, transition)
                                         : ask(task, attempt, transition);
}

static const char *const task_types[] = {"wait-for", NULL};

const struct tr_plugin tr_plugin_table = {
    .abi = TR_PLUGIN_ABI,
    .id = "wait",
    .task_types = task_types,
    .state = &tr_wait_attempt_schema,
    .check = check,
    .handle = handle,
    .abort = tr_task_nothing_to_end,
};
