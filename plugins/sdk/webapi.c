/*
 * The life of an attempt of the Web API shape, on its task's side: prepared, handed to the refresh
 * actor of its endpoint, followed by its news, read when it has ended.
 *
 * What a stage makes of an event is the table `stages`. Everything may come twice: news that are
 * known or another attempt's are passed over, and what is told twice is known there.
 */
#include "plugins/sdk/webapi.h"

#include "schemas/engine/refresh.h"
#include "schemas/runtime/archive.h"

/* The timer of one that is not kept among those that wait for room; plugins use small numbers. */
#define ROOM_TIMER 0xffff0001U

/* The head of every state of this shape (law 6 of runtime/ARCHITECTURE.md). */
struct attempt {
    TR_WEBAPI_ATTEMPT_FIELDS(TRI_STRUCT_FIELD, TRI_STRUCT_ARRAY)
};

/* Where the head ends: behind it a plugin's own fields may begin at once. */
#define HEAD_BYTES (offsetof(struct attempt, has_log) + sizeof(bool))

/* One visit of an event. */
struct visit {
    struct tr_task_context *task;
    const struct tr_webapi *shape;
    const struct tr_task_event *event;
    struct tr_transition *transition;
    void *state; /* the plugin's; `own` is its head */
    struct attempt own;
};

static struct visit visit_begin(struct tr_task_context *task, void *state,
                                const struct tr_task_event *event, struct tr_transition *transition)
{
    struct visit visit = {.task = task,
                          .shape = tr_task_plugin(task)->webapi,
                          .event = event,
                          .transition = transition,
                          .state = state};
    memcpy(&visit.own, state, HEAD_BYTES);
    return visit;
}

static int visit_end(struct visit *visit, int error)
{
    memcpy(visit->state, &visit->own, HEAD_BYTES);
    return error;
}

/* -------------------------------------------------------------------------- the endpoint */

static struct tr_text endpoint_wanted(struct tr_task_context *task)
{
    return tr_config_text(tr_task_template(task)->config, "endpoint", (struct tr_text){0});
}

const struct tr_webapi_endpoint *tr_webapi_endpoint(struct tr_task_context *task)
{
    return tr_task_endpoint(task, endpoint_wanted(task));
}

/* That of the attempt, once it has one: settings may change while it runs. */
static const struct tr_webapi_endpoint *endpoint_of(const struct visit *visit)
{
    struct tr_text name = tr_array_get(&visit->own.endpoint);
    return name.size > 0 ? tr_task_endpoint(visit->task, name) : tr_webapi_endpoint(visit->task);
}

static int no_endpoint(struct visit *visit)
{
    const char *plugin = tr_task_plugin(visit->task)->id;
    struct tr_text name = tr_array_get(&visit->own.endpoint);
    name = name.size > 0 ? name : endpoint_wanted(visit->task);
    struct tr_text words =
        name.size == 0
            ? tr_task_format(visit->task,
                             "the plugin '%s' has no endpoint: write plugins.%s.endpoint: URL into "
                             "the settings file (STORE/settings.yaml) and start the engine again",
                             plugin, plugin)
            : tr_task_format(visit->task,
                             "the plugin '%s' has no endpoint '%.*s': write "
                             "plugins.%s.endpoints.%.*s.url into the settings file "
                             "(STORE/settings.yaml) and start the engine again",
                             plugin, (int)name.size, name.data, plugin, (int)name.size, name.data);
    visit->own.stage = TR_WEBAPI_STAGE_TERMINAL;
    return tr_task_refuse(visit->transition, tr_text_of("NoEndpoint"), words);
}

/* ------------------------------------------------------------------- it is to be made */

static uint8_t policy_of(struct tr_task_context *task)
{
    struct tr_text word =
        tr_config_text(tr_task_template(task)->config, "in_doubt", (struct tr_text){0});
    return tr_text_equal(word, tr_text_of("repeat")) ? TR_WEBAPI_POLICY_REPEAT
                                                     : TR_WEBAPI_POLICY_FAIL;
}

static int group_of(const struct visit *visit, const struct tr_webapi_endpoint *endpoint,
                    struct tr_text *group)
{
    int error = visit->shape->job_set == NULL
                    ? 0
                    : visit->shape->job_set(visit->task, visit->state, endpoint, group);
    return error == 0 && group->size > TR_WEBAPI_JOB_SET_BYTES_MAX ? TR_LIMIT : error;
}

/* Hands it to the refresh actor, which keeps the intent from the same commit on. */
static int make(struct visit *visit, const struct tr_webapi_endpoint *endpoint,
                const struct tr_webapi_job *job)
{
    const struct tr_task_identity *identity = tr_task_identity(visit->task);
    bool is_unknown = visit->own.stage == TR_WEBAPI_STAGE_UNKNOWN;
    struct tr_refresh_make request = {.identity = identity->generated_name,
                                      .handle = tr_array_get(&visit->own.handle),
                                      .job = job->body,
                                      .execution = identity->execution_number,
                                      .policy = policy_of(visit->task),
                                      .is_unknown = is_unknown};
    if (job->body.size > TR_WEBAPI_JOB_BYTES_MAX) {
        visit->own.stage = TR_WEBAPI_STAGE_TERMINAL;
        return tr_task_refuse(visit->transition, tr_text_of("BadTaskSpecification"),
                              tr_task_format(visit->task,
                                             "its job takes %zu bytes, and at most %u are sent "
                                             "(TR_WEBAPI_JOB_BYTES_MAX)",
                                             job->body.size, TR_WEBAPI_JOB_BYTES_MAX));
    }
    int error = group_of(visit, endpoint, &request.job_set);
    if (error == 0) {
        error = tr_task_refresh(visit->task, endpoint->name, &tr_refresh_make_schema, &request);
    }
    if (error != 0) {
        return error == TR_NOT_FOUND ? no_endpoint(visit) : error;
    }
    visit->own.stage = is_unknown ? TR_WEBAPI_STAGE_UNKNOWN : TR_WEBAPI_STAGE_INTENT;
    visit->own.call = 0;
    return tr_task_is(visit->transition, TR_TASK_PHASE_QUEUED,
                      tr_task_format(visit->task, "%s at the endpoint '%.*s' of '%s'",
                                     is_unknown ? "its job is looked for" : "its job is to be made",
                                     (int)endpoint->name.size, endpoint->name.data,
                                     tr_task_plugin(visit->task)->id));
}

/* Has the plugin say what to make; a call of its own may come before that. */
static int prepare(struct visit *visit)
{
    const struct tr_webapi_endpoint *endpoint = endpoint_of(visit);
    struct tr_webapi_job job = {.is_ready = false};
    if (endpoint == NULL) {
        return no_endpoint(visit);
    }
    if (visit->own.stage == TR_WEBAPI_STAGE_NEW) {
        visit->own.stage = TR_WEBAPI_STAGE_PREPARING;
    }
    int error = tr_array_set(&visit->own.endpoint, endpoint->name);
    if (error != 0) {
        return error;
    }
    memcpy(visit->state, &visit->own, HEAD_BYTES);
    error = visit->shape->prepare(visit->task, visit->state, endpoint, visit->event, &job,
                                  visit->transition);
    memcpy(&visit->own, visit->state, HEAD_BYTES);
    if (error != 0 || tr_phase_is_end(TR_SUBJECT_TASK, visit->transition->phase)) {
        if (error == 0) {
            visit->own.stage = TR_WEBAPI_STAGE_TERMINAL;
        }
        return error;
    }
    return job.is_ready ? make(visit, endpoint, &job) : 0;
}

/* Nothing was made of it, and it asks once more: there is room, or it was long enough ago. */
static int again(struct visit *visit)
{
    const struct tr_task_event start = {.kind = TR_TASK_START};
    visit->own.stage = TR_WEBAPI_STAGE_PREPARING;
    visit->event = &start;
    return prepare(visit);
}

/* The same in another store, which counts its news anew. */
static int move_waiting(struct visit *visit)
{
    visit->own.version = 0;
    return again(visit);
}

/*
 * Its state was lost (law 6 of runtime/ARCHITECTURE.md): what became of its identity is asked, and
 * nothing is begun anew.
 */
static int reconcile(struct visit *visit)
{
    const struct tr_task_event start = {.kind = TR_TASK_START};
    visit->own.stage = TR_WEBAPI_STAGE_UNKNOWN;
    visit->event = &start;
    return prepare(visit);
}

/*
 * It came from another store, whose actor has let go of its job: the one here is asked to watch the
 * same, and counts its news anew.
 */
static int move(struct visit *visit)
{
    visit->own.version = 0;
    return reconcile(visit);
}

/* ----------------------------------------------------------------------- how it has ended */

/* A text of the attempt's for a transition, which outlives the visit. */
static struct tr_text copy(const struct visit *visit, struct tr_text text)
{
    return tr_task_format(visit->task, "%.*s", (int)text.size, text.data);
}

/* The end as it was reported. */
static void reported(const struct visit *visit, struct tr_transition *transition)
{
    *transition = (struct tr_transition){.phase = visit->own.phase,
                                         .version = visit->transition->version,
                                         .failure = visit->own.failure,
                                         .signal = visit->own.signal,
                                         .exit_status = visit->own.exit_status,
                                         .code = copy(visit, tr_array_get(&visit->own.code)),
                                         .message = copy(visit, tr_array_get(&visit->own.message))};
}

/* Has the plugin read what was left. The texts of what was reported stay where they are. */
static int outcome(struct visit *visit)
{
    const struct tr_webapi_endpoint *endpoint = endpoint_of(visit);
    struct tr_transition transition;
    if (endpoint == NULL) {
        return no_endpoint(visit);
    }
    memcpy(visit->state, &visit->own, HEAD_BYTES);
    reported(visit, &transition);
    int error =
        visit->shape->outcome(visit->task, visit->state, endpoint, visit->event, &transition);
    memcpy(&visit->own, visit->state, HEAD_BYTES);
    if (error == 0) {
        *visit->transition = transition;
        bool is_end = tr_phase_is_end(TR_SUBJECT_TASK, transition.phase);
        visit->own.stage = is_end ? TR_WEBAPI_STAGE_TERMINAL : TR_WEBAPI_STAGE_OUTCOME;
    }
    return error;
}

/* Of a text no more than an array of the state holds, and no half of a letter. */
static struct tr_text cut(struct tr_text text, size_t size_max)
{
    text.size = text.size < size_max ? text.size : size_max;
    while (text.size > 0 && !tr_utf8_valid(text)) {
        text.size--;
    }
    return text;
}

static int keep_end(struct visit *visit, const struct tr_refresh_news *news)
{
    struct attempt *own = &visit->own;
    bool is_cancelled = news->phase == TR_TASK_PHASE_ABORTED;
    own->phase = is_cancelled ? TR_TASK_PHASE_PERMANENT_FAILURE : news->phase;
    own->failure = news->failure;
    own->signal = news->signal;
    own->exit_status = news->exit_status;
    struct tr_text code = is_cancelled ? tr_text_of("Cancelled") : news->code;
    struct tr_text message =
        is_cancelled && news->message.size == 0
            ? tr_text_of("its job was cancelled, which nobody has asked Troupe for")
            : news->message;
    int error = tr_array_set(&own->code, cut(code, TR_WEBAPI_CODE_BYTES_MAX));
    return error != 0 ? error
                      : tr_array_set(&own->message, cut(message, TR_WEBAPI_MESSAGE_BYTES_MAX));
}

/* The end of a plugin that reads nothing, or of which nobody knows: as it was reported. */
static int end_as_reported(struct visit *visit, const struct tr_refresh_news *news)
{
    struct tr_text problem;
    reported(visit, visit->transition);
    visit->transition->is_unknown = news->is_unknown;
    visit->transition->message =
        news->message.size > 0 ? news->message : visit->transition->message;
    visit->own.stage = TR_WEBAPI_STAGE_TERMINAL;
    if (visit->transition->phase != TR_TASK_PHASE_SUCCESS || news->outputs.size == 0) {
        return 0;
    }
    /* What is wrong with them the engine has noted, and makes a failure of this success. */
    int error = tr_task_outputs_json(visit->task, news->outputs, (struct tr_text){0}, &problem);
    return error == TR_INVALID ? 0 : error;
}

static int on_end(struct visit *visit, const struct tr_refresh_news *news)
{
    int error = keep_end(visit, news);
    if (error != 0) {
        return error;
    }
    return visit->shape->outcome == NULL || news->is_unknown ? end_as_reported(visit, news)
                                                             : outcome(visit);
}

/* ---------------------------------------------------------------------------------- news */

/* Where its logs are, for people: once. Too long to be shown is no fault of the task. */
static int show_log(struct visit *visit, const struct tr_refresh_news *news)
{
    if (news->log_uri.size == 0 || visit->own.has_log) {
        return 0;
    }
    visit->own.has_log = true;
    int error = tr_task_log(visit->task, tr_text_of("logs"), news->log_uri);
    return error == TR_LIMIT ? 0 : error;
}

/*
 * Which job it is, behind what the back end says of it; else where it runs. No history keeps that
 * of an element, where it could be looked up later; while its job lives, its refresh actor does.
 */
static struct tr_text reason_of(const struct visit *visit, const struct tr_refresh_news *news)
{
    bool is_element = tr_task_identity(visit->task)->element != TR_ELEMENT_NONE;
    struct tr_text handle = tr_array_get(&visit->own.handle);
    if (is_element && news->reason.size == 0 && news->place.size > 0) {
        return tr_task_format(visit->task, "at %.*s", (int)news->place.size, news->place.data);
    }
    if (is_element || handle.size == 0) {
        return news->reason;
    }
    if (news->reason.size > 0) {
        return tr_task_format(visit->task, "%.*s, job %.*s", (int)news->reason.size,
                              news->reason.data, (int)handle.size, handle.data);
    }
    return tr_task_format(visit->task, "job %.*s%s%.*s", (int)handle.size, handle.data,
                          news->place.size > 0 ? " at " : "", (int)news->place.size,
                          news->place.data);
}

/* There is no room for it: a job that is known there is told when there is, others ask again. */
static int wait_for_room(struct visit *visit, const struct tr_refresh_news *news)
{
    visit->own.stage = TR_WEBAPI_STAGE_WAITING;
    int error = tr_task_is(visit->transition, TR_TASK_PHASE_WAITING_FOR_RESOURCES, news->reason);
    return error != 0 || news->version > 0
               ? error
               : tr_task_timer(visit->task, ROOM_TIMER, TR_REFRESH_CROWDED_MS);
}

/* A job may be put back to where it was before; its task then says so without going back. */
static int on_change(struct visit *visit, const struct tr_refresh_news *news)
{
    struct tr_transition *transition = visit->transition;
    bool may_follow = tr_phase_may_follow(TR_SUBJECT_TASK, transition->phase, news->phase);
    transition->phase = may_follow ? news->phase : transition->phase;
    transition->version++;
    transition->is_unknown = news->is_unknown;
    transition->reason = reason_of(visit, news);
    visit->own.stage =
        news->stage == TR_WEBAPI_STAGE_INTENT || news->stage == TR_WEBAPI_STAGE_UNKNOWN
            ? news->stage
            : TR_WEBAPI_STAGE_SUBMITTED;
    return 0;
}

/* Whether the event is news of this attempt. */
static bool read_news(const struct visit *visit, struct tr_refresh_news *news)
{
    return tr_task_event_is(visit->event, refresh_news) &&
           tr_task_event_read(visit->event, refresh_news, news) == 0 &&
           tr_text_equal(news->identity, tr_task_generated_name(visit->task));
}

static int on_news(struct visit *visit)
{
    struct tr_refresh_news news;
    if (!read_news(visit, &news)) {
        return 0;
    }
    bool is_turned_away = news.stage == TR_WEBAPI_STAGE_WAITING && news.version == 0 &&
                          visit->own.stage == TR_WEBAPI_STAGE_INTENT;
    if (!is_turned_away && news.version <= visit->own.version) {
        return 0;
    }
    visit->own.version = news.version;
    if (news.stage == TR_WEBAPI_STAGE_WAITING) {
        return wait_for_room(visit, &news);
    }
    if (news.stage == TR_WEBAPI_STAGE_PREPARING) {
        return again(visit);
    }
    int error = tr_array_set(&visit->own.handle, news.handle);
    if (error != 0) {
        return error;
    }
    error = show_log(visit, &news);
    if (error != 0) {
        return error;
    }
    return tr_phase_is_end(TR_SUBJECT_TASK, news.phase) ? on_end(visit, &news)
                                                        : on_change(visit, &news);
}

/* -------------------------------------------------------------------------------- handle */

static int pass(struct visit *visit)
{
    (void)visit;
    return 0;
}

/*
 * What each stage makes of its start, of news, of another store around it, and of anything else:
 * answers, losses, timers.
 */
static const struct {
    int (*on_start)(struct visit *visit);
    int (*on_news)(struct visit *visit);
    int (*on_moved)(struct visit *visit);
    int (*on_other)(struct visit *visit);
} stages[] = {
    [TR_WEBAPI_STAGE_NEW] = {prepare, reconcile, reconcile, reconcile},
    [TR_WEBAPI_STAGE_PREPARING] = {prepare, pass, pass, prepare},
    [TR_WEBAPI_STAGE_INTENT] = {pass, on_news, move, pass},
    [TR_WEBAPI_STAGE_UNKNOWN] = {pass, on_news, move, prepare},
    [TR_WEBAPI_STAGE_SUBMITTED] = {pass, on_news, move, pass},
    [TR_WEBAPI_STAGE_OUTCOME] = {pass, pass, pass, outcome},
    [TR_WEBAPI_STAGE_CANCELLING] = {pass, on_news, move, pass},
    [TR_WEBAPI_STAGE_TERMINAL] = {pass, pass, pass, pass},
    [TR_WEBAPI_STAGE_WAITING] = {pass, on_news, move_waiting, again},
};

/* Whether nothing of it may be outside yet. */
static bool is_waiting(uint8_t stage)
{
    return stage < TR_WEBAPI_STAGE_SUBMITTED || stage == TR_WEBAPI_STAGE_WAITING;
}

int tr_webapi_handle(struct tr_task_context *task, void *state, const struct tr_task_event *event,
                     struct tr_transition *transition)
{
    struct visit visit = visit_begin(task, state, event, transition);
    if (visit.own.stage >= TR_COUNT_OF(stages)) {
        return TR_MALFORMED;
    }
    bool is_news = event->kind == TR_TASK_NEWS && tr_task_event_is(event, refresh_news);
    bool is_moved = event->kind == TR_TASK_NEWS && tr_task_event_is(event, services_changed);
    int error = event->kind == TR_TASK_START ? stages[visit.own.stage].on_start(&visit)
                : is_news                    ? stages[visit.own.stage].on_news(&visit)
                : is_moved                   ? stages[visit.own.stage].on_moved(&visit)
                                             : stages[visit.own.stage].on_other(&visit);
    transition->is_waiting = is_waiting(visit.own.stage);
    return visit_end(&visit, error);
}

/* --------------------------------------------------------------------------------- abort */

/* Whether a job of it may be there. A new one has lost its state: it begins in the same handler. */
static bool may_run(uint8_t stage)
{
    return stage != TR_WEBAPI_STAGE_PREPARING && stage != TR_WEBAPI_STAGE_OUTCOME &&
           stage != TR_WEBAPI_STAGE_TERMINAL && stage != TR_WEBAPI_STAGE_WAITING;
}

/* An endpoint that is gone from the settings has it ended when it is there again. */
static int cancel(struct visit *visit)
{
    const struct tr_webapi_endpoint *endpoint = endpoint_of(visit);
    struct tr_refresh_cancel request = {.identity = tr_task_generated_name(visit->task),
                                        .handle = tr_array_get(&visit->own.handle),
                                        .reason = tr_text_of("aborted")};
    if (!may_run(visit->own.stage) || endpoint == NULL) {
        return tr_task_aborted(visit->transition);
    }
    int error = group_of(visit, endpoint, &request.job_set);
    if (error == 0) {
        error = tr_task_refresh(visit->task, endpoint->name, &tr_refresh_cancel_schema, &request);
    }
    visit->own.stage = TR_WEBAPI_STAGE_CANCELLING;
    return error == TR_NOT_FOUND ? tr_task_aborted(visit->transition) : error;
}

static int on_abort_news(struct visit *visit)
{
    struct tr_refresh_news news;
    bool is_end = read_news(visit, &news) && (news.stage == TR_WEBAPI_STAGE_TERMINAL ||
                                              tr_phase_is_end(TR_SUBJECT_TASK, news.phase));
    if (!is_end) {
        return 0;
    }
    visit->own.stage = TR_WEBAPI_STAGE_TERMINAL;
    return tr_task_aborted(visit->transition);
}

int tr_webapi_abort(struct tr_task_context *task, void *state, bool is_hard,
                    const struct tr_task_event *event, struct tr_transition *transition)
{
    struct visit visit = visit_begin(task, state, event, transition);
    (void)is_hard; /* what grace there is, is in the job */
    bool is_moved = event->kind == TR_TASK_NEWS && tr_task_event_is(event, services_changed);
    int error = event->kind == TR_TASK_START || is_moved ? cancel(&visit)
                : event->kind == TR_TASK_NEWS            ? on_abort_news(&visit)
                                                         : 0;
    return visit_end(&visit, error);
}

int tr_webapi_finalize(struct tr_task_context *task, void *state, uint8_t phase)
{
    const struct tr_task_event event = {.kind = TR_TASK_START};
    struct tr_transition transition = {.phase = phase};
    struct visit visit = visit_begin(task, state, &event, &transition);
    const struct tr_webapi_endpoint *endpoint = endpoint_of(&visit);
    struct tr_refresh_drop drop = {.identity = tr_task_generated_name(task)};
    int error = endpoint == NULL
                    ? 0
                    : tr_task_refresh(task, endpoint->name, &tr_refresh_drop_schema, &drop);
    return error == TR_NOT_FOUND ? 0 : error;
}

/* --------------------------------------------------------------------------------- check */

int tr_webapi_check(const struct tr_task_template *task, const struct tr_config_key *keys,
                    size_t key_count, char *problem, size_t problem_size)
{
    struct tr_config_key all[TR_WEBAPI_KEYS_MAX + 2] = {{"endpoint", TR_CODEC_TEXT},
                                                        {"in_doubt", TR_CODEC_TEXT}};
    TR_ASSERT(key_count <= TR_WEBAPI_KEYS_MAX);
    if (key_count > 0) {
        memcpy(all + 2, keys, key_count * sizeof *keys);
    }
    int error = tr_config_check(task->config, all, key_count + 2, problem, problem_size);
    struct tr_text policy = tr_config_text(task->config, "in_doubt", tr_text_of("fail"));
    if (error != 0 || tr_text_equal(policy, tr_text_of("fail")) ||
        tr_text_equal(policy, tr_text_of("repeat"))) {
        return error;
    }
    size_t shown = policy.size < 60 ? policy.size : 60;
    return tr_config_refuse(problem, problem_size,
                            "config.in_doubt has to be fail or repeat, not '%.*s'", (int)shown,
                            policy.data);
}
