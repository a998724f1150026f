/*
 * The planted faults of the grades: around the refresh actor's turns, in the plugins, in tables.
 */
#include <stdlib.h>
#include <string.h>

#include "schemas/refresh.h"
#include "tests/sim/engine_turn.h"
#include "tests/sim/grades.h"
#include "tests/sim/plant.h"

#define TURN                                                                   \
    struct tr_context *context, void *state, const struct tr_message *message, \
        const struct tr_behaviour *behaviour

static bool strikes(uint32_t once_in)
{
    return sim_plant_strikes(sim_world()->host_in_step, once_in);
}

bool sim_grades_strikes(const char *name, uint32_t once_in)
{
    const struct sim_plant *plant = sim_world()->plant;
    return plant != NULL && strcmp(plant->name, name) == 0 && strikes(once_in);
}

static bool is_refresh(const struct tr_behaviour *behaviour)
{
    return behaviour->id == tr_refresh_behaviour.id;
}

/* ------------------------------------------------------------------------ in the refresh actor */

/* After a start a call that was under way counts as one that never left. */
static int forget_doubt(TURN)
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

/* The shape of all shops, for one turn. */
static int with_shape(TURN, uint8_t grade, uint32_t lag_ms)
{
    struct tr_webapi kept[SIM_SHOP_COUNT];
    (void)behaviour;
    memcpy(kept, sim_shop_shapes, sizeof kept);
    for (uint32_t i = 0; i < SIM_SHOP_COUNT; i++) {
        sim_shop_shapes[i].grade = grade != 0 ? grade : kept[i].grade;
        sim_shop_shapes[i].lag_ms = lag_ms;
    }
    int error = sim_engine_handle(context, state, message);
    memcpy(sim_shop_shapes, kept, sizeof kept);
    return error;
}

/* What is not found at once is made again. */
static int make_early(TURN)
{
    return is_refresh(behaviour) && strikes(1)
               ? with_shape(context, state, message, behaviour, 0, 0)
               : sim_engine_handle(context, state, message);
}

/* Nothing is left where a doubtful job was. */
static int skip_stone(TURN)
{
    bool is_meant = is_refresh(behaviour) && (tr_message_is(message, &tr_refresh_drop_schema) ||
                                              tr_message_is(message, &tr_down_schema));
    return is_meant && strikes(1)
               ? with_shape(context, state, message, behaviour, TR_WEBAPI_GRADE_EXACT, SIM_LAG_MS)
               : sim_engine_handle(context, state, message);
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

static int lose_news(TURN)
{
    bool is_lost = behaviour->id == tr_task_behaviour.id &&
                   tr_message_is(message, &tr_refresh_news_schema) && strikes(10);
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
bool sim_grades_hides(const struct sim_line *line)
{
    if (line->handle.size == 0 || !sim_grades_strikes("second-ignored", 1)) {
        return false;
    }
    struct sim_jobs *jobs = sim_grades_of(sim_world())->jobs;
    return !tr_text_equal(sim_jobs_first_handle(jobs, line), line->handle);
}

/* What a task keeps is made up from what another one keeps. */
static void seed_state(struct tr_sim_grade_attempt *state)
{
    static struct tr_sim_grade_attempt other;
    if (strikes(3) && other.stage == TR_WEBAPI_STAGE_SUBMITTED) {
        *state = other;
    } else {
        other = *state;
    }
}

void sim_grades_spoil(struct tr_task_context *task, struct tr_sim_grade_attempt *state,
                      struct tr_task_event *event)
{
    const struct sim_plant *plant = sim_world()->plant;
    if (plant == NULL) {
        return;
    }
    if (strcmp(plant->name, "older-news") == 0) {
        tell_older(task, event);
    } else if (strcmp(plant->name, "state-seeded") == 0) {
        seed_state(state);
    }
}

const struct sim_plant sim_grades_plants[] = {
    {.name = "made-before-commit",
     .text = "a call leaves the host with its batch, not after the commit",
     .first_seed = 12,
     .send = sim_plant_calls_early},
    {.name = "doubt-forgotten",
     .text = "a call that a crash has cut off counts as one that never left",
     .first_seed = 2,
     .turn = forget_doubt},
    {.name = "made-before-lag",
     .text = "what is not found at once is made again",
     .first_seed = 17,
     .turn = make_early},
    {.name = "stone-skipped",
     .text = "nobody looks any more for what was doubtful when its task has ended",
     .first_seed = 69,
     .turn = skip_stone},
    {.name = "second-ignored",
     .text = "a second job of one identity is passed over",
     .first_seed = 451,
     .is_in_plugin = true},
    {.name = "cancel-by-handle",
     .text = "an abort ends only jobs whose handle is known",
     .first_seed = 10,
     .is_in_plugin = true},
    {.name = "state-seeded",
     .text = "what a task keeps is made up from what another one keeps",
     .first_seed = 1,
     .is_in_plugin = true},
    {.name = "older-news",
     .text = "a task is told the end of another attempt",
     .first_seed = 1,
     .is_in_plugin = true},
    {.name = "rate-ignored",
     .text = "an endpoint's calls at once are not bounded",
     .first_seed = 1,
     .is_in_plugin = true},
    {.name = "news-lost",
     .text = "a task does not hear what has become of its job",
     .first_seed = 1,
     .turn = lose_news},
    {.name = "ends-not-heard",
     .text = "the refresh actor hears neither that a task is done with its job nor of its end",
     .first_seed = 1,
     .turn = lose_ends},
    {.name = "cancel-lost",
     .text = "the refresh actor does not hear that a job is to be ended",
     .first_seed = 2,
     .turn = lose_cancel},
    {.name = "alarm-lost",
     .text = "the refresh actor does not hear that its time has come",
     .first_seed = 1,
     .turn = lose_timer},
};
const size_t sim_grades_plant_count = TR_COUNT_OF(sim_grades_plants);
