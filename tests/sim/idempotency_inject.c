/*
 * The injected bugs of the play `idempotency`: around the refresh actor's turns, in the plugins, in
 * tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/engine/refresh.h"
#include "tests/sim/engine_turn.h"
#include "tests/sim/idempotency.h"
#include "tests/sim/inject.h"

#define HANDLE_BYTES 64

#define TURN                                                                   \
    struct tr_context *context, void *state, const struct tr_message *message, \
        const struct tr_behaviour *behaviour

static bool strikes(uint32_t once_in)
{
    return sim_inject_strikes(sim_world()->host_in_step, once_in);
}

bool sim_idempotency_strikes(const char *name, uint32_t once_in)
{
    const struct sim_bug *bug = sim_world()->bug;
    return bug != NULL && strcmp(bug->name, name) == 0 && strikes(once_in);
}

static bool is_refresh(const struct tr_behaviour *behaviour)
{
    return behaviour->id == tr_refresh_behaviour.id;
}

/* ------------------------------------------------------------------------ in the refresh actor */

/* After a start a call that was under way counts as one that never left. */
static int forget_unknown_outcome(TURN)
{
    struct tr_ask_failed failed;
    struct tr_message changed = *message;
    uint8_t room[64];
    struct tr_writer writer = tr_writer_of(room, sizeof room);
    if (!is_refresh(behaviour) || !tr_message_is(message, &tr_ask_failed_schema) ||
        tr_message_read(message, ask_failed, &failed) != 0 || !strikes(1)) {
        return sim_engine_handle(context, state, message);
    }
    failed.reason = (uint8_t)-TR_BUSY;
    int error = tr_ask_failed_pack(&failed, &writer);
    TR_ASSERT(error == 0);
    changed.body = (struct tr_bytes){.data = room, .size = tr_writer_size(&writer)};
    return sim_engine_handle(context, state, &changed);
}

/* Takes a turn of the refresh actor with the shapes of all back ends spoiled. */
static int with_shapes(TURN, bool is_meant, void (*spoil)(struct tr_webapi *shape))
{
    struct tr_webapi kept[SIM_BACK_END_COUNT];
    if (!is_refresh(behaviour) || !is_meant || !strikes(1)) {
        return sim_engine_handle(context, state, message);
    }
    memcpy(kept, sim_back_end_shapes, sizeof kept);
    for (uint32_t i = 0; i < SIM_BACK_END_COUNT; i++) {
        spoil(&sim_back_end_shapes[i]);
    }
    int error = sim_engine_handle(context, state, message);
    memcpy(sim_back_end_shapes, kept, sizeof kept);
    return error;
}

static void take_lag(struct tr_webapi *shape)
{
    shape->lag_ms = 0;
}

/* What is not found at once is made again. */
static int make_early(TURN)
{
    return with_shapes(context, state, message, behaviour, true, take_lag);
}

static void make_exact(struct tr_webapi *shape)
{
    shape->idempotency = TR_WEBAPI_IDEMPOTENCY_EXACT;
}

/* Nothing is left where a job of unknown outcome was. */
static int skip_stone(TURN)
{
    bool is_meant =
        tr_message_is(message, &tr_refresh_drop_schema) || tr_message_is(message, &tr_down_schema);
    return with_shapes(context, state, message, behaviour, is_meant, make_exact);
}

static void take_refusals(struct tr_webapi *shape)
{
    static const struct tr_webapi_rule rules[] = {
        {.verb = TR_WEBAPI_VERB_STREAM, .status = 400, .response_class = TR_WEBAPI_RESPONSE_UNSURE},
        {.verb = TR_WEBAPI_VERB_STREAM, .status = 410, .response_class = TR_WEBAPI_RESPONSE_UNSURE},
    };
    shape->stream.gone = 0;
    shape->rules = rules;
    shape->rule_count = TR_COUNT_OF(rules);
}

/* A stream's place that is refused is asked for again. */
static int insist(TURN)
{
    return with_shapes(context, state, message, behaviour, true, take_refusals);
}

static int lose(TURN, const struct tr_schema *schema)
{
    bool is_lost = is_refresh(behaviour) && tr_message_is(message, schema) && strikes(4);
    return is_lost ? 0 : sim_engine_handle(context, state, message);
}

/* Either of the two is enough. */
static int lose_ends(TURN)
{
    bool is_drop = is_refresh(behaviour) && tr_message_is(message, &tr_refresh_drop_schema);
    bool is_down = is_refresh(behaviour) && tr_message_is(message, &tr_down_schema);
    return (is_drop || is_down) && strikes(1) ? 0 : sim_engine_handle(context, state, message);
}

static int lose_cancel(TURN)
{
    return lose(context, state, message, behaviour, &tr_refresh_cancel_schema);
}

static int lose_timer(TURN)
{
    return lose(context, state, message, behaviour, &tr_timer_schema);
}

static int refresh_by_wall(TURN)
{
    return is_refresh(behaviour) && strikes(1) ? sim_engine_handle_by_wall(context, state, message)
                                               : sim_engine_handle(context, state, message);
}

static int lose_news(TURN)
{
    bool is_lost = behaviour->id == tr_task_behaviour.id &&
                   tr_message_is(message, &tr_refresh_news_schema) && strikes(10);
    return is_lost ? 0 : sim_engine_handle(context, state, message);
}

/* A task does not hear that there is room for its job. */
static int lose_room(TURN)
{
    struct tr_refresh_news news;
    bool is_lost = behaviour->id == tr_task_behaviour.id &&
                   tr_message_is(message, &tr_refresh_news_schema) &&
                   tr_message_read(message, refresh_news, &news) == 0 &&
                   news.stage == TR_WEBAPI_STAGE_PREPARING && strikes(1);
    return is_lost ? 0 : sim_engine_handle(context, state, message);
}

/* ------------------------------------------------------------------------------ in the plugins */

/* The end of another attempt, told as this one's. */
static void tell_older(struct tr_task_context *task, struct tr_task_event *event)
{
    static uint8_t kept[1 << 16];
    static uint8_t told[1 << 16];
    static size_t kept_size;
    struct tr_refresh_news news;
    if (event->kind != TR_TASK_NEWS || event->type != tr_refresh_news_schema.id ||
        tr_refresh_news_unpack(event->body, event->version, &news) != 0) {
        return;
    }
    bool is_end = news.stage == TR_WEBAPI_STAGE_TERMINAL;
    if (is_end && kept_size > 0 && strikes(3) &&
        tr_refresh_news_unpack((struct tr_bytes){.data = kept, .size = kept_size}, event->version,
                               &news) == 0) {
        struct tr_writer writer = tr_writer_of(told, sizeof told);
        news.identity = task->api->identity(task)->generated_name;
        news.version = 1000;
        int error = tr_refresh_news_pack(&news, &writer);
        TR_ASSERT(error == 0);
        event->body = (struct tr_bytes){.data = told, .size = tr_writer_size(&writer)};
    } else if (is_end && event->body.size <= sizeof kept) {
        memcpy(kept, event->body.data, event->body.size);
        kept_size = event->body.size;
    }
}

/* Of each identity the first handle that anybody was told of is the only one. */
bool sim_idempotency_hides(const struct sim_line *line)
{
    if (line->handle.size == 0 || !sim_idempotency_strikes("second-ignored", 1)) {
        return false;
    }
    struct sim_jobs *jobs = sim_idempotency_of(sim_world())->jobs;
    return !tr_text_equal(sim_jobs_first_handle(jobs, line), line->handle);
}

void sim_idempotency_misread(struct sim_line *line)
{
    static char handle[HANDLE_BYTES];
    if (sim_idempotency_strikes("place-ahead", 4)) {
        line->cursor++;
    } else if (sim_idempotency_strikes("order-ignored", 1)) {
        line->order = 0;
    } else if (sim_idempotency_strikes("line-is-job", 4)) {
        (void)snprintf(handle, sizeof handle, "%.*s-again", (int)line->handle.size,
                       line->handle.data);
        line->handle = tr_text_of(handle);
    }
}

bool sim_idempotency_stops_streams(struct tr_text cursor)
{
    return cursor.size > 0 && sim_idempotency_strikes("stream-not-reopened", 1);
}

static const struct sim_back_end *back_end_of(const struct tr_webapi_batch *batch)
{
    struct tr_text name = {.data = batch->endpoint->url.data + strlen("http://"),
                           .size = batch->endpoint->url.size - strlen("http://")};
    const struct sim_back_end *back_end = sim_back_ends;
    while (!tr_text_equal(name, tr_text_of(back_end->name))) {
        back_end++;
        TR_ASSERT(back_end < sim_back_ends + SIM_BACK_END_COUNT);
    }
    return back_end;
}

static bool is_weak(const struct sim_back_end *back_end)
{
    return back_end->idempotency < TR_WEBAPI_IDEMPOTENCY_RECONCILABLE;
}

static bool has_stream(const struct sim_back_end *back_end)
{
    return back_end->has_stream;
}

/* Answers that are not read: of which verb, which back ends, what the reader returns, how often. */
static const struct {
    const char *name;
    uint8_t verb;
    bool (*is_of)(const struct sim_back_end *back_end);
    int error;
    uint32_t once_in;
} unread[] = {
    {"answer-unread", TR_WEBAPI_VERB_CREATE, is_weak, TR_MALFORMED, 3},
    {"found-unread", TR_WEBAPI_VERB_FIND, is_weak, 0, 3},
    {"stream-trusted", TR_WEBAPI_VERB_STATUS, has_stream, 0, 1},
};

bool sim_idempotency_leaves(const struct tr_webapi_batch *batch, uint8_t verb, int *error)
{
    for (size_t i = 0; i < TR_COUNT_OF(unread); i++) {
        if (unread[i].verb == verb && unread[i].is_of(back_end_of(batch)) &&
            sim_idempotency_strikes(unread[i].name, unread[i].once_in)) {
            *error = unread[i].error;
            return true;
        }
    }
    return false;
}

/* What a task keeps is made up from what another one keeps. */
static void seed_state(struct tr_sim_idempotency_attempt *state)
{
    static struct tr_sim_idempotency_attempt other;
    if (strikes(3) && other.stage == TR_WEBAPI_STAGE_SUBMITTED) {
        *state = other;
    } else {
        other = *state;
    }
}

void sim_idempotency_spoil(struct tr_task_context *task, struct tr_sim_idempotency_attempt *state,
                           struct tr_task_event *event)
{
    const struct sim_bug *bug = sim_world()->bug;
    if (bug == NULL) {
        return;
    }
    if (strcmp(bug->name, "older-news") == 0) {
        tell_older(task, event);
    } else if (strcmp(bug->name, "state-seeded") == 0) {
        seed_state(state);
    }
}

const struct sim_bug sim_idempotency_bugs[] = {
    {.name = "made-before-commit",
     .text = "a call leaves the host with its batch, not after the commit",
     .found_by = "the jobs: a second one; liveness",
     .first_seed = 3,
     .send = sim_inject_calls_early},
    {.name = "unknown-outcome-forgotten",
     .text = "a call that a crash has cut off counts as one that never left",
     .found_by = "the jobs: a second one",
     .first_seed = 2,
     .turn = forget_unknown_outcome},
    {.name = "made-before-lag",
     .text = "what is not found at once is made again",
     .found_by = "the jobs: a second one, or one that runs for no task",
     .first_seed = 1,
     .turn = make_early},
    {.name = "stone-skipped",
     .text = "jobs of unknown outcome are not looked for any more when their task has ended",
     .found_by = "the end: a job still runs",
     .first_seed = 1458,
     .turn = skip_stone},
    {.name = "second-ignored",
     .text = "a second job of one identity is passed over",
     .found_by = "the end: a job still runs",
     .first_seed = 103,
     .is_in_plugin = true},
    {.name = "answer-unread",
     .text = "what a back end by tag or a blind one says of what it has made is not read",
     .found_by = "the jobs: an outcome is unknown that was not, or that was told",
     .first_seed = 29,
     .is_in_plugin = true},
    {.name = "found-unread",
     .text = "what is found at a back end by tag is not read",
     .found_by = "the jobs: an outcome is unknown that was told; one that runs for no task",
     .first_seed = 257,
     .is_in_plugin = true},
    {.name = "stream-trusted",
     .text = "a job whose group has a stream is asked about, and the answer is not read",
     .found_by = "the jobs: its task hears of its end too late",
     .first_seed = 15,
     .is_in_plugin = true},
    {.name = "stream-not-reopened",
     .text = "a stream that has ended is not asked for again",
     .found_by = "liveness: an unknown outcome lasts for ever",
     .first_seed = 1,
     .is_in_plugin = true},
    {.name = "refusal-unheard",
     .text = "a stream's place that is refused is asked for again",
     .found_by = "liveness: an unknown outcome lasts for ever",
     .first_seed = 421,
     .turn = insist},
    {.name = "place-ahead",
     .text = "a stream goes on one line behind its place",
     .found_by = "the jobs: a place that is not there yet; a second one",
     .first_seed = 16,
     .is_in_plugin = true},
    {.name = "line-is-job",
     .text = "a line of a stream is taken for a job of its own",
     .found_by = "the jobs: more too many are counted than there were",
     .first_seed = 1,
     .is_in_plugin = true},
    {.name = "malformed-passed-over",
     .text = "a line of a stream that makes no sense is passed over without a word",
     .found_by = "the jobs: a second one",
     .first_seed = 1710,
     .is_in_plugin = true},
    {.name = "order-ignored",
     .text = "a line of a stream is taken for the latest, whatever its order",
     .found_by = "the jobs: a task is told older news",
     .first_seed = 1,
     .is_in_plugin = true},
    {.name = "cancel-by-handle",
     .text = "an abort ends only jobs whose handle is known",
     .found_by = "the end of an execution: a job of it runs",
     .first_seed = 45,
     .is_in_plugin = true},
    {.name = "state-seeded",
     .text = "what a task keeps is made up from what another one keeps",
     .found_by = "liveness: the task waits for ever",
     .first_seed = 1,
     .is_in_plugin = true},
    {.name = "older-news",
     .text = "a task is told the end of another attempt",
     .found_by = "the model: another end",
     .first_seed = 1,
     .is_in_plugin = true},
    {.name = "rate-ignored",
     .text = "an endpoint's calls at once are not bounded",
     .found_by = "the bound on calls at once",
     .first_seed = 1,
     .is_in_plugin = true},
    {.name = "news-lost",
     .text = "a task does not hear what has become of its job",
     .found_by = "liveness: the task waits for ever",
     .first_seed = 1,
     .turn = lose_news},
    {.name = "room-lost",
     .text = "a task does not hear that there is room for its job",
     .found_by = "liveness: the task waits for ever",
     .first_seed = 4,
     .turn = lose_room},
    {.name = "ends-not-heard",
     .text = "the refresh actor hears neither that a task is done with its job nor of its end",
     .found_by = "liveness: rows stay",
     .first_seed = 1,
     .turn = lose_ends},
    {.name = "cancel-lost",
     .text = "the refresh actor does not hear that a job is to be ended",
     .found_by = "liveness: the task waits for ever",
     .first_seed = 18,
     .turn = lose_cancel},
    {.name = "alarm-lost",
     .text = "the refresh actor does not hear that its time has come",
     .found_by = "liveness: nothing is asked any more",
     .first_seed = 1,
     .turn = lose_timer},
    {.name = "refresh-by-wall",
     .text = "the refresh actor goes by the clock that people set",
     .found_by = "liveness: something has not ended",
     .first_seed = 12,
     .turn = refresh_by_wall},
    {.name = "time-put-back",
     .text = "how late it is is not written, so time goes back where people set the clock back",
     .found_by = "the jobs: its task hears of its end too late",
     .first_seed = 40,
     .is_blind = true,
     .keep = sim_inject_keeps_clock},
};
const size_t sim_idempotency_bug_count = TR_COUNT_OF(sim_idempotency_bugs);
