/*
 * Plans that fire every few seconds, as many as there are ways to overlap and to catch up; or by
 * cron in a time zone whose clocks are about to change, with the plans' clock running faster.
 *
 * A time starts one execution or none, whatever crashes and however the clock is set. Where plans
 * may overlap and catch up on all, each time up to the last one that was dealt with has started
 * one, but for those that passed in a pause, which start none. Where plans may not overlap, two
 * never live at once; and none of them stands still.
 */
#include "tests/sim/timetable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "actors/services/schedule.h"
#include "tests/sim/times.h"
#include "tests/sim/workload.h"
#include "tests/support/flow_random.h"

SIM_PLANNER_SCHEMAS(TR_SCHEMA_DEFINE)

#define MS 1000000ULL
#define PLANS 3
#define ANSWER_NS_MOST (30 * MS)

/* Times that are caught up on are fewer than would be left out. */
#define TIMES_MOST (TR_SCHEDULE_CATCH_UP_MAX - 100)

/* So long after clocks have changed a time is near that. */
#define NEAR_S 3600

/* How far behind the clock a schedule may be when there are no faults. */
#define LAG_MS 6000

/* How often the planner looks whether faults are over, and how long it goes on then. */
#define LOOK_MS 300
#define CALM_MS 20000

/* What the planner has to do with time. */
enum timer { TIMER_LOOK = 1, TIMER_DROP };

struct started {
    struct started *next;
    uint32_t plan;
    int64_t time;
    uint64_t number;
    uint8_t phase;
};

/* Times that passed while a schedule was paused, as the planner knows or its row says. */
struct pause {
    struct pause *next;
    int64_t from;
    int64_t until;
};

struct plan {
    const char *cron; /* NULL: it fires every `every_s` */
    uint32_t every_s; /* by its own clock; about that where it has cron */
    uint8_t overlap;
    uint8_t catch_up;
    uint64_t since_ms;
    uint64_t last_ms;
    uint64_t dropped_ms;
    bool has_pause; /* by its row: there is one; */
    bool is_paused; /* and it has nothing in hand */
    uint64_t paused_ms;
    struct pause *pauses;
    uint32_t resumes;       /* by its rows: pauses that are over */
    uint32_t resumes_asked; /* and what was asked for, some of it perhaps forgotten by a crash */
};

struct sim_timetable {
    struct sim_stage *stage;
    const struct tr_graph *graph;
    struct sim_times times; /* by whose clock all times here are */
    struct plan plans[PLANS];
    struct started *first;
};

/* ------------------------------------------------------------------------------------ the plans */

static void write_plans(const struct sim_timetable *timetable, uint64_t sleep_ms,
                        struct tr_buffer *text)
{
    static const char *const overlaps[] = {
        [TR_OVERLAP_ALLOW] = "allow", [TR_OVERLAP_SKIP] = "skip", [TR_OVERLAP_REPLACE] = "replace"};
    static const char *const catch_ups[] = {
        [TR_CATCH_UP_ALL] = "all", [TR_CATCH_UP_LAST] = "last", [TR_CATCH_UP_NONE] = "none"};
    tr_buffer_print(text,
                    "troupe: 1\nworkflows:\n  main:\n    inputs: {at: datetime}\n"
                    "    nodes: {n0: {sleep: %ums}, n1: {sleep: 5ms, after: [n0]}}\n"
                    "launch_plans:\n",
                    (unsigned)sleep_ms);
    for (uint32_t i = 0; i < PLANS; i++) {
        const struct plan *plan = &timetable->plans[i];
        tr_buffer_print(text, "  s%u: {workflow: main, schedule: {", i);
        if (plan->cron != NULL) {
            tr_buffer_print(text, "cron: \"%s\", timezone: %s", plan->cron,
                            timetable->times.zone_name);
        } else {
            tr_buffer_print(text, "every: %us", plan->every_s);
        }
        tr_buffer_print(text, ", overlap: %s, catch_up: %s, kickoff_input: at}}\n",
                        overlaps[plan->overlap], catch_ups[plan->catch_up]);
    }
}

/* One that keeps to hours that pass, whatever clocks show, and two that go by clocks. */
static const struct {
    const char *cron;
    uint32_t every_s;
} crons[PLANS] = {{"*/20 * * * *", 1200}, {"15,45 0-22 * * *", 1800}, {"*/30 1-23 * * *", 1800}};

static void draw_plans(struct sim_timetable *timetable, bool has_cron, bool is_slow,
                       struct sim_random *random)
{
    for (uint32_t i = 0; i < PLANS; i++) {
        uint32_t pace = 1 + (uint32_t)sim_below(random, 3);
        uint64_t cron = sim_below(random, PLANS);
        timetable->plans[i] = (struct plan){
            .cron = has_cron ? crons[cron].cron : NULL,
            .every_s = has_cron  ? crons[cron].every_s
                       : is_slow ? 10 * pace
                                 : pace,
            .overlap = (uint8_t)(i == 0 ? TR_OVERLAP_ALLOW : sim_below(random, 3)),
            .catch_up = (uint8_t)(i == 0 ? TR_CATCH_UP_ALL : sim_below(random, 3)),
        };
    }
}

struct sim_timetable *sim_timetable_new(struct sim_stage *stage, struct sim_random *random)
{
    struct sim_timetable *timetable = sim_must(calloc(1, sizeof *timetable));
    struct sim_graph *made = &stage->graphs[stage->graph_count++];
    bool is_slow = stage->world->plan.clock_jump_ms > 20000;
    bool has_cron = sim_below(random, 2) == 0;
    uint64_t pace = !has_cron ? 1 : is_slow ? 60 : 120;
    struct tr_buffer text;
    timetable->stage = stage;
    sim_times_init(&timetable->times, pace, random);
    draw_plans(timetable, has_cron, is_slow, random);
    tr_buffer_init(&text, 0);
    write_plans(timetable, 1 + sim_below(random, has_cron ? 15000 : 2500), &text);
    sim_say("schedules:\n%.*s", (int)text.size, (const char *)text.data);
    made->graph = flow_random_compile(tr_buffer_text(&text));
    timetable->graph = made->graph;
    tr_buffer_fini(&text);
    tr_buffer_init(&made->packed, 0);
    int error = tr_graph_pack(made->graph, &made->packed);
    TR_ASSERT(error == 0 && made->graph->plan_count == PLANS);
    return timetable;
}

void sim_timetable_free(struct sim_timetable *timetable)
{
    while (timetable != NULL && timetable->first != NULL) {
        struct started *started = timetable->first;
        timetable->first = started->next;
        free(started);
    }
    for (uint32_t i = 0; timetable != NULL && i < PLANS; i++) {
        while (timetable->plans[i].pauses != NULL) {
            struct pause *pause = timetable->plans[i].pauses;
            timetable->plans[i].pauses = pause->next;
            free(pause);
        }
    }
    if (timetable != NULL) {
        sim_times_fini(&timetable->times);
    }
    free(timetable);
}

/* ---------------------------------------------------------------------------------- the program */

static struct started *find(const struct sim_timetable *timetable, uint32_t plan, int64_t time)
{
    struct started *started = timetable->first;
    while (started != NULL && (started->plan != plan || started->time != time)) {
        started = started->next;
    }
    return started;
}

bool sim_timetable_hear(struct sim_timetable *timetable, struct sim_host *host,
                        const struct tr_envelope *envelope, struct tr_bytes body)
{
    struct tr_schedule_look asked;
    struct tr_schedule_seen seen;
    if (envelope->type != tr_schedule_look_schema.id ||
        tr_schedule_look_unpack(body, envelope->version, &asked) != 0) {
        return false;
    }
    const struct sim_times *times = &timetable->times;
    uint64_t now_ms = sim_times_ms(times, tri_wall_ms(&host->env.base));
    tr_schedule_see(&timetable->graph->plans[asked.plan].schedule, times->zone, &asked, now_ms,
                    &seen);
    seen.wait_ms = seen.wait_ms == UINT64_MAX ? seen.wait_ms : seen.wait_ms / times->pace + 1;
    seen.exists = seen.fires && find(timetable, asked.plan, seen.fire) != NULL;
    sim_environment_reply(host, envelope, &tr_schedule_seen_schema, &seen,
                          sim_below(&host->world->chance.environment, ANSWER_NS_MOST));
    return true;
}

/* -------------------------------------------------------------------------------------- history */

/* "s1-20260820t030000z": which plan and when; false: it is none of these. */
static bool read_name(const struct sim_timetable *timetable, struct tr_text name, uint32_t *plan,
                      int64_t *time, uint64_t at_ms)
{
    char wanted[TR_SCHEDULE_NAME_BYTES];
    *plan = name.size > 1 ? (uint32_t)(name.data[1] - '0') : PLANS;
    if (*plan >= PLANS) {
        return false;
    }
    /* Times lie around the clock: the one that is called so is found by its name. */
    int64_t every = timetable->plans[*plan].cron != NULL ? 300 : timetable->plans[*plan].every_s;
    int64_t near = (int64_t)(at_ms / 1000) / every * every;
    for (int64_t i = 0; i < 3000; i++) {
        int64_t offset = (i % 2 == 0 ? i / 2 : -(i / 2) - 1) * every;
        tr_schedule_name(timetable->graph->plans[*plan].name, near + offset, wanted);
        if (tr_text_equal(tr_text_of(wanted), name)) {
            *time = near + offset;
            return true;
        }
    }
    return false;
}

static const struct tr_schedule *schedule_of(const struct sim_timetable *timetable, uint32_t plan)
{
    return &timetable->graph->plans[plan].schedule;
}

/* Who may not overlap does not. */
static void check_alone(const struct sim_timetable *timetable, const struct started *started)
{
    for (const struct started *other = timetable->first; other != NULL; other = other->next) {
        bool is_live = !tr_phase_is_end(TR_SUBJECT_EXECUTION, other->phase);
        if (other != started && other->plan == started->plan && is_live) {
            sim_fail("schedule s%u starts the execution of %lld, and that of %lld runs",
                     started->plan, (long long)started->time, (long long)other->time);
        }
    }
}

/* Whether a time passed while its schedule was paused. */
static bool was_paused(const struct plan *plan, int64_t time)
{
    const struct pause *pause = plan->pauses;
    while (pause != NULL && (time < pause->from || time >= pause->until)) {
        pause = pause->next;
    }
    return pause != NULL;
}

/*
 * What a schedule has in hand when it is paused begins: that is its last time. A clock that was set
 * back shows times of a pause again.
 */
static void check_paused(const struct sim_timetable *timetable, uint32_t index, int64_t time)
{
    const struct plan *plan = &timetable->plans[index];
    if (plan->is_paused && time > (int64_t)(plan->last_ms / 1000)) {
        sim_fail("schedule s%u starts the execution of %lld, and is paused", index,
                 (long long)time);
    }
    if (timetable->stage->world->plan.clock_jump_ms == 0 && was_paused(plan, time)) {
        sim_fail("schedule s%u catches up on %lld, when it was paused", index, (long long)time);
    }
}

bool sim_timetable_take_execution(struct sim_timetable *timetable, const struct tr_execution *row)
{
    uint32_t plan;
    int64_t time;
    bool is_mine = row->name.size > 0 && row->name.data[0] == 's' && row->parent.size == 0;
    if (!is_mine || !read_name(timetable, row->name, &plan, &time,
                               sim_times_ms(&timetable->times, row->created_ms))) {
        return false;
    }
    if (sim_times_next(&timetable->times, schedule_of(timetable, plan), time - 1) != time) {
        sim_fail("schedule s%u does not fire at %lld", plan, (long long)time);
    }
    struct started *started = find(timetable, plan, time);
    if (started == NULL) {
        started = sim_must(calloc(1, sizeof *started));
        *started = (struct started){.next = timetable->first,
                                    .plan = plan,
                                    .time = time,
                                    .number = row->execution,
                                    .phase = row->phase};
        timetable->first = started;
        check_paused(timetable, plan, time);
        sim_engine_seen.fired++;
        sim_engine_seen.fired_by_cron += timetable->plans[plan].cron != NULL ? 1 : 0;
        sim_engine_seen.fired_near_a_change +=
            sim_times_changed(&timetable->times, time - NEAR_S, time) ? 1 : 0;
        if (timetable->plans[plan].overlap != TR_OVERLAP_ALLOW) {
            check_alone(timetable, started);
        }
    }
    if (started->number != row->execution) {
        sim_fail("schedule s%u has started the execution of %lld twice", plan, (long long)time);
    }
    started->phase = row->phase;
    return true;
}

static void add_pause(struct plan *plan, int64_t from, int64_t until)
{
    struct pause *pause = plan->pauses;
    while (pause != NULL && (pause->from != from || pause->until != until)) {
        pause = pause->next;
    }
    if (pause != NULL) {
        return; /* that was told before */
    }
    pause = sim_must(calloc(1, sizeof *pause));
    *pause = (struct pause){.next = plan->pauses, .from = from, .until = until};
    plan->pauses = pause;
}

/* Keeps what the row says of pauses that are over. */
static void take_pauses(struct plan *plan, struct tr_bytes omitted)
{
    struct tr_cursor cursor = tr_cursor_of(omitted);
    uint32_t count = omitted.size == 0 ? 0 : tr_read_array(&cursor);
    for (uint32_t i = 0; i < count && tr_read_array(&cursor) == 3; i++) {
        int64_t from = tr_read_i64(&cursor);
        int64_t until = tr_read_i64(&cursor);
        if (tr_read_u64(&cursor) == TR_SCHEDULE_OUTCOME_PAUSED) {
            add_pause(plan, from, until);
        }
    }
}

void sim_timetable_take_schedule(struct sim_timetable *timetable, const struct tr_schedule_row *row)
{
    uint32_t index = (uint32_t)(row->plan.data[1] - '0');
    TR_ASSERT(index < PLANS);
    struct plan *plan = &timetable->plans[index];
    plan->since_ms = plan->since_ms == 0 ? row->applied_ms : plan->since_ms;
    plan->last_ms = row->last_ms > plan->last_ms ? row->last_ms : plan->last_ms;
    plan->resumes += plan->has_pause && !row->is_paused ? 1 : 0;
    plan->has_pause = row->is_paused;
    plan->paused_ms = row->paused_ms;
    plan->is_paused = row->is_paused && row->step == TR_SCHEDULE_PAUSED;
    if (plan->resumes > plan->resumes_asked) {
        sim_fail("schedule s%u goes on, and nobody has said so", index);
    }
    take_pauses(plan, row->omitted);
    sim_engine_seen.fires_paused += row->outcome == TR_SCHEDULE_OUTCOME_PAUSED ? 1 : 0;
    sim_engine_seen.fires_skipped += row->outcome == TR_SCHEDULE_OUTCOME_SKIPPED ? 1 : 0;
}

/* Each time up to the last one has started an execution. */
static void check_all(const struct sim_timetable *timetable, uint32_t index)
{
    const struct plan *plan = &timetable->plans[index];
    const struct tr_schedule *schedule = schedule_of(timetable, index);
    int64_t last = (int64_t)(plan->last_ms / 1000);
    int64_t since = (int64_t)(plan->since_ms / 1000);
    bool is_wanted = plan->overlap == TR_OVERLAP_ALLOW && plan->catch_up == TR_CATCH_UP_ALL &&
                     (last - since) / plan->every_s < TIMES_MOST;
    int64_t time = is_wanted ? sim_times_next(&timetable->times, schedule, since) : 0;
    while (is_wanted && time <= last) {
        if (find(timetable, index, time) == NULL && !was_paused(plan, time)) {
            sim_fail("schedule s%u has not started the execution of %lld", index, (long long)time);
        }
        time = sim_times_next(&timetable->times, schedule, time);
    }
}

/* The second time at which a schedule fires after a time. */
static uint64_t second_ms(const struct sim_timetable *timetable, uint32_t index, uint64_t at_ms)
{
    const struct tr_schedule *schedule = schedule_of(timetable, index);
    int64_t time = sim_times_next(&timetable->times, schedule, (int64_t)(at_ms / 1000));
    return (uint64_t)sim_times_next(&timetable->times, schedule, time) * 1000;
}

void sim_timetable_check_end(const struct sim_timetable *timetable)
{
    for (uint32_t i = 0; i < PLANS; i++) {
        const struct plan *plan = &timetable->plans[i];
        check_all(timetable, i);
        /* Where the clock was set back, what it fires after may lie ahead. */
        uint64_t at_ms = plan->last_ms > plan->since_ms ? plan->last_ms : plan->since_ms;
        for (const struct pause *pause = plan->pauses; pause != NULL; pause = pause->next) {
            uint64_t until_ms = (uint64_t)pause->until * 1000;
            at_ms = until_ms > at_ms ? until_ms : at_ms;
        }
        uint64_t lag_ms = LAG_MS * timetable->times.pace;
        if (second_ms(timetable, i, at_ms) + lag_ms < plan->dropped_ms) {
            sim_fail("schedule s%u stood still %llu ms before it was dropped", i,
                     (unsigned long long)(plan->dropped_ms - at_ms));
        }
    }
}

/* ---------------------------------------------------------------------------------- the planner */

static struct sim_timetable *timetable_now(void)
{
    return sim_stage_of(sim_world())->timetable;
}

static int begin(struct tr_context *context, struct tr_sim_planner *state,
                 const struct tr_message *message)
{
    const struct tr_graph *graph = timetable_now()->graph;
    struct tr_sim_planner_go go;
    int error = tr_message_read(message, sim_planner_go, &go);
    if (error != 0 || state->has_begun) {
        return error; /* it was told twice */
    }
    state->has_begun = true;
    state->schedules = go.schedules;
    state->launcher = go.launcher;
    for (uint32_t i = 0; error == 0 && i < PLANS; i++) {
        char address[sizeof "default/development/s0"];
        (void)snprintf(address, sizeof address, "default/development/s%u", i % PLANS);
        struct tr_schedule_set set = {
            .address = tr_text_of(address),
            .graph = {.data = graph->hash, .size = TR_GRAPH_HASH_BYTES},
            .plan = i,
            .launcher = go.launcher,
            .at_ms = sim_times_ms(&timetable_now()->times, tr_now_ms(context)),
        };
        error = tr_ask(context, go.schedules, &tr_schedule_set_schema, &set, 0, NULL);
    }
    return error != 0 ? error : tr_timer_start(context, TIMER_LOOK, LOOK_MS);
}

static int drop(struct tr_context *context, struct tr_sim_planner *state)
{
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < PLANS; i++) {
        char address[sizeof "default/development/s0"];
        (void)snprintf(address, sizeof address, "default/development/s%u", i % PLANS);
        struct tr_schedule_drop dropped = {.address = tr_text_of(address)};
        timetable_now()->plans[i].dropped_ms =
            sim_times_ms(&timetable_now()->times, tr_now_ms(context));
        error = tr_ask(context, state->schedules, &tr_schedule_drop_schema, &dropped, 0, NULL);
    }
    state->is_dropping = true;
    return error;
}

/*
 * The planner is about to say that a schedule goes on. A pause that is committed is not forgotten
 * any more, so until now it held.
 */
static void note_resume(struct plan *plan, uint64_t now_ms)
{
    plan->resumes_asked++;
    if (plan->has_pause) {
        add_pause(plan, (int64_t)(plan->paused_ms / 1000) + 1, (int64_t)(now_ms / 1000) + 1);
    }
}

/* Pauses a schedule, or lets it go on. */
static int change(struct tr_context *context, struct tr_sim_planner *state, uint32_t index)
{
    uint64_t now_ms = sim_times_ms(&timetable_now()->times, tr_now_ms(context));
    char address[sizeof "default/development/s0"];
    (void)snprintf(address, sizeof address, "default/development/s%u", index % PLANS);
    state->paused ^= 1U << index;
    state->is_changing = true;
    if ((state->paused >> index & 1) == 0) {
        note_resume(&timetable_now()->plans[index], now_ms);
    }
    struct tr_schedule_pause pause = {
        .address = tr_text_of(address),
        .is_paused = (state->paused >> index & 1) != 0,
        .by = tr_text_of("planner"),
        .at_ms = now_ms,
    };
    return tr_ask(context, state->schedules, &tr_schedule_pause_schema, &pause, 0, NULL);
}

/* Now and then one; when faults are over, those that are still paused. */
static int change_some(struct tr_context *context, struct tr_sim_planner *state)
{
    bool is_calm = sim_world()->is_calm;
    if (state->is_changing || !timetable_now()->stage->has_pauses || state->set < PLANS) {
        return 0;
    }
    for (uint32_t i = 0; is_calm && i < PLANS; i++) {
        if ((state->paused >> i & 1) != 0) {
            return change(context, state, i);
        }
    }
    uint32_t index = is_calm ? PLANS : (uint32_t)(tr_random(context) % (2 * PLANS));
    return index < PLANS ? change(context, state, index) : 0;
}

/* An outage of a database that has begun ends in its time, also when no new fault comes. */
static bool are_faults_over(const struct sim_world *world)
{
    bool is_away = false;
    for (uint32_t i = 0; i < world->plan.host_count; i++) {
        const struct tri_database *database = world->hosts[i].database;
        is_away = is_away || (database != NULL && !tri_database_is_there(database));
    }
    return world->is_calm && !is_away;
}

/* When there are no faults any more it lets the schedules go on for a while. */
static int hear_timer(struct tr_context *context, struct tr_sim_planner *state,
                      const struct tr_message *message)
{
    struct tr_timer timer;
    int error = tr_message_read(message, timer, &timer);
    if (error != 0 || timer.id == TIMER_DROP) {
        return error != 0 ? error : drop(context, state);
    }
    error = change_some(context, state);
    if (error != 0) {
        return error;
    }
    uint64_t most_s = 0;
    for (uint32_t i = 0; i < PLANS; i++) {
        uint64_t every_s = timetable_now()->plans[i].every_s;
        most_s = every_s > most_s ? every_s : most_s;
    }
    uint64_t calm_ms = CALM_MS + 3000 * most_s / timetable_now()->times.pace;
    bool goes_on = !are_faults_over(sim_world()) || state->is_changing || state->paused != 0;
    return goes_on ? tr_timer_start(context, TIMER_LOOK, LOOK_MS)
                   : tr_timer_start(context, TIMER_DROP, calm_ms);
}

static int hear_kept(struct tr_context *context, struct tr_sim_planner *state,
                     const struct tr_message *message)
{
    struct tr_schedule_kept kept;
    int error = tr_message_read(message, schedule_kept, &kept);
    if (error == 0 && kept.error != 0) {
        return sim_wrong(context, message, "a schedule is refused: %.*s", (int)kept.message.size,
                         kept.message.data);
    }
    if (error == 0 && state->is_changing) {
        state->is_changing = false;
        return 0;
    }
    state->set += error == 0 && !state->is_dropping ? 1 : 0;
    state->dropped += error == 0 && state->is_dropping ? 1 : 0;
    return error != 0 || state->dropped < PLANS ? error : tr_stop(context);
}

static int handle(struct tr_context *context, void *own, const struct tr_message *message)
{
    struct tr_sim_planner *state = own;
    if (tr_message_is(message, &tr_sim_planner_go_schema)) {
        return begin(context, state, message);
    }
    if (tr_message_is(message, &tr_schedule_kept_schema)) {
        return hear_kept(context, state, message);
    }
    if (sim_is_signal(message, &tr_timer_schema)) {
        return hear_timer(context, state, message);
    }
    return sim_wrong(context, message, "not for a planner");
}

const struct tr_behaviour sim_planner_behaviour = {
    .name = "planner",
    .id = 931,
    .state = &tr_sim_planner_schema,
    .supervision = {.backoff_max_ms = 50},
    .handle = handle,
};
