/*
 * A plugin that works as an array of Flyte's has its Web API plugins work: its state is made up
 * anew at each poll (`config: {seeds: 1}`), so that it does not know its job and makes another
 * one. The memory of the process then shows it the first job, and all others run for nobody.
 *
 * Without `seeds` its state is kept, and it makes one job. The suite of arrays has to tell the two
 * apart (tests/integration/test_arrays_any.py); the server is that of examples/plugins.
 */
#include <string.h>

#include "plugins/sdk/plugin.h"
#include "runtime/troupe.h"
#include "schemas/runtime/http.h"

#define POLL_TIMER 1
#define POLL_MS 200
#define NAME_BYTES_MAX 63

/* `is_made` is the state that may be made up; `name` of the first job is the process's memory. */
#define TR_SEEDED_STATE_FIELDS(FIELD, ARRAY) \
    FIELD(bool, is_made, 1, 0)               \
    ARRAY(text, name, NAME_BYTES_MAX, 1, 0)
#define TR_SEEDED_SCHEMAS(S) S(seeded_state, 10003, TR_STATE, 1, 0, TR_SEEDED_STATE_FIELDS)
TR_SEEDED_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_SEEDED_SCHEMAS(TR_SCHEMA_DEFINE)

static const struct tr_config_key keys[] = {{"url", TR_CODEC_TEXT}, {"seeds", TR_CODEC_UNSIGNED}};

static int check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    return tr_config_check(task->config, keys, TR_COUNT_OF(keys), problem, problem_size);
}

static int post(struct tr_task_context *task, const char *path, struct tr_text body,
                struct tr_transition *transition)
{
    struct tr_text url =
        tr_config_text(tr_task_template(task)->config, "url", tr_text_of("http://127.0.0.1"));
    const struct tr_http_request request = {
        .method = tr_text_of("POST"),
        .url = tr_task_format(task, "%.*s%s", (int)url.size, url.data, path),
        .body = {.data = (const uint8_t *)body.data, .size = body.size},
    };
    int error = tr_task_call(task, TR_SERVICE_HTTP, &tr_http_request_schema, &request, 0, NULL);
    return error != 0 ? error : tr_task_is(transition, TR_TASK_PHASE_RUNNING, tr_text_of(path));
}

/* A job with a name of its own each time, as a back end gives one that takes no key. */
static int make(struct tr_task_context *task, struct tr_seeded_state *own,
                struct tr_transition *transition)
{
    const struct tr_task_identity *identity = tr_task_identity(task);
    struct tr_text name =
        tr_task_format(task, "%llx-job-%llu-%u", (unsigned long long)tr_task_random(task),
                       (unsigned long long)identity->element, identity->attempt);
    int error = own->name.size > 0 ? 0 : tr_array_set(&own->name, name);
    own->is_made = true;
    return error != 0 ? error
                      : post(task, "/jobs",
                             tr_task_format(task,
                                            "[{\"id\": \"%.*s\", \"job\": {\"work\": \"sum\", "
                                            "\"queue\": \"\", \"inputs\": \"{}\"}}]",
                                            (int)name.size, name.data),
                             transition);
}

static int look(struct tr_task_context *task, const struct tr_seeded_state *own,
                struct tr_transition *transition)
{
    struct tr_text name = tr_array_get(&own->name);
    return post(task, "/jobs/status", tr_task_format(task, "[\"%.*s\"]", (int)name.size, name.data),
                transition);
}

static int succeed(struct tr_task_context *task, struct tr_transition *transition)
{
    struct tr_cursor inputs = tr_cursor_of(tr_task_inputs(task));
    struct tr_text problem;
    (void)tr_read_array(&inputs);
    long long a = (long long)tr_read_i64(&inputs);
    int error = tr_task_outputs_json(task, tr_task_format(task, "{\"sum\": %lld}", a),
                                     tr_text_of(""), &problem);
    return error == 0 || error == TR_INVALID ? tr_task_succeed(transition) : error;
}

/* An answer that speaks of a job that is done ends the attempt; else it is polled later. */
static int judge(struct tr_task_context *task, const struct tr_task_event *event,
                 struct tr_transition *transition)
{
    struct tr_http_response response;
    int error = tr_task_event_read(event, http_response, &response);
    if (error != 0) {
        return error;
    }
    bool is_done = response.body.size > 0 &&
                   memmem(response.body.data, response.body.size, "\"done\"", 6) != NULL;
    return is_done ? succeed(task, transition) : tr_task_timer(task, POLL_TIMER, POLL_MS);
}

/* One poll: of a job that it knows, else it makes one first. */
static int visit(struct tr_task_context *task, struct tr_seeded_state *own,
                 struct tr_transition *transition)
{
    bool is_seeded = tr_config_u64(tr_task_template(task)->config, "seeds", 0) > 0;
    bool is_known = own->is_made && !is_seeded;
    int error = is_known ? 0 : make(task, own, transition);
    return error != 0 ? error : look(task, own, transition);
}

static int handle(struct tr_task_context *task, void *state, const struct tr_task_event *event,
                  struct tr_transition *transition)
{
    switch (event->kind) {
    case TR_TASK_ANSWER:
        return judge(task, event, transition);
    case TR_TASK_START:
        return make(task, state, transition);
    default:
        return visit(task, state, transition);
    }
}

static const char *const task_types[] = {"seeded", NULL};

const struct tr_plugin tr_plugin_table = {
    .abi = TR_PLUGIN_ABI,
    .id = "seeded",
    .task_types = task_types,
    .state = &tr_seeded_state_schema,
    .check = check,
    .handle = handle,
    .abort = tr_task_nothing_to_end,
};
