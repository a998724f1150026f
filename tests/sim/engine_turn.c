/*
 * The engine's actors as a world has them: the real ones, with chance around each turn.
 *
 * A handler fails for no reason after it has done everything, so that all of its effects must be
 * taken back; or memory fails in the middle of it. Any other error that it gives back is a finding:
 * nothing that happens in a world is a reason for one of these actors to fail.
 */
#include "tests/sim/engine_turn.h"

#include "schemas/engine/state_refresh.h"
#include "tests/sim/inject.h"
#include "tests/sim/timetable.h"

/* Allocations within which one fails, when one is to fail. */
#define FAILING_ALLOCATION_WITHIN 24

#define WAIT_MS_MOST 250000
#define LATE_MS_MOST 10000

static const struct tr_behaviour *const originals[] = {
    &tr_launcher_behaviour,    &tr_workflow_behaviour,  &tr_task_behaviour,
    &tr_array_behaviour,       &tr_resources_behaviour, &tr_catalog_behaviour,
    &tr_signals_behaviour,     &tr_launch_behaviour,    &sim_client_behaviour,
    &tr_schedules_behaviour,   &tr_schedule_behaviour,  &sim_planner_behaviour,
    &tr_refresh_behaviour,     &tr_notifier_behaviour,  &tr_notification_behaviour,
    &tr_graph_fetch_behaviour,
};

#define COUNT TR_COUNT_OF(originals)

static struct tr_behaviour wrapped[COUNT];

const struct tr_behaviour *sim_engine_behaviours[COUNT];
const size_t sim_engine_behaviour_count = COUNT;

/* History, and the rows of schedules and of back ends. */
#define RECORDS 14

const struct tr_schema *sim_engine_records[RECORDS];
const size_t sim_engine_record_count = RECORDS;

static const struct tr_behaviour *original_of(const struct tr_context *context)
{
    uint16_t id = tri_actor_behaviour(context->worker, context->actor)->id;
    for (size_t i = 0; i < COUNT; i++) {
        if (originals[i]->id == id) {
            return originals[i];
        }
    }
    TR_ASSERT(false);
    return NULL;
}

int sim_engine_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    return original_of(context)->handle(context, state, message);
}

int sim_engine_handle_by_wall(struct tr_context *context, void *state,
                              const struct tr_message *message)
{
    struct tri_worker *worker = context->worker;
    uint64_t steady_ms = worker->steady_ms;
    worker->steady_ms = worker->now_ms;
    int error = sim_engine_handle(context, state, message);
    worker->steady_ms = steady_ms;
    return error;
}

/* The turn as the world's injected bug spoils it, or as it is. */
static int take_turn(struct tr_context *context, void *state, const struct tr_message *message)
{
    const struct sim_bug *bug = sim_world()->bug;
    return bug != NULL && bug->turn != NULL
               ? bug->turn(context, state, message, original_of(context))
               : sim_engine_handle(context, state, message);
}

/*
 * Nothing here waits for minutes but schedules, nor for what has gone by, but for the seconds in
 * which a host was away: a timer that is far from the steady clock is due by the one that people
 * set. The refresh actor says by times of long ago that something is due at once.
 */
static void check_timers(const struct tr_context *context, const struct tr_behaviour *behaviour)
{
    int64_t now_ms = (int64_t)context->worker->steady_ms;
    for (uint32_t i = 0; i < context->effect_count; i++) {
        const struct tri_effect *effect = &context->effects[i];
        bool is_timer = effect->kind == TRI_EFFECT_EDGE_ADD && effect->edge == TRI_EDGE_TIMER;
        int64_t wait_ms = is_timer ? (int64_t)effect->due_ms - now_ms : 0;
        bool is_far = wait_ms > WAIT_MS_MOST && behaviour->id != tr_schedule_behaviour.id;
        bool is_late = wait_ms < -LATE_MS_MOST && behaviour->id != tr_refresh_behaviour.id;
        if (is_far || is_late) {
            sim_fail("%s waits %lld s by a timer", behaviour->name, (long long)(wait_ms / 1000));
        }
    }
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct sim_world *world = sim_world();
    uint64_t failed_before = world->counts.failed_allocations;
    bool is_failing = !world->is_calm && sim_chance(&world->chance.failure, world->plan.failure);
    sim_memory_arm(world, FAILING_ALLOCATION_WITHIN);
    int error = take_turn(context, state, message);
    sim_memory_disarm(world);
    if (error != 0 && world->counts.failed_allocations == failed_before) {
        struct tr_ref self = tr_self(context);
        sim_fail("%s %llu/%llu: the handler fails with %s (message type %u kind %u from %llu/%llu)",
                 original_of(context)->name, (unsigned long long)self.key.group,
                 (unsigned long long)self.key.serial, tr_error_name(error), message->type,
                 message->kind, (unsigned long long)message->from.key.group,
                 (unsigned long long)message->from.key.serial);
    }
    if (error == 0) {
        check_timers(context, original_of(context));
    }
    if (error == 0 && is_failing) {
        world->counts.failed_handlers++;
        return TR_FAILED;
    }
    if (error == 0 && tr_message_is(message, &tr_resource_quota_schema)) {
        sim_engine_note_quota(world->host_in_step);
    }
    return error;
}

void sim_engine_wrap(void)
{
    TR_ASSERT(tr_history_schema_count + 2 == RECORDS);
    for (size_t i = 0; i < tr_history_schema_count; i++) {
        sim_engine_records[i] = tr_history_schemas[i];
    }
    sim_engine_records[tr_history_schema_count] = &tr_schedule_row_schema;
    sim_engine_records[tr_history_schema_count + 1] = &tr_backend_schema;
    for (size_t i = 0; i < COUNT; i++) {
        wrapped[i] = *originals[i];
        wrapped[i].handle = handle;
        /* Bad luck is no reason to stand still for long, or for good. */
        wrapped[i].supervision = (struct tr_supervision){.backoff_max_ms = 50};
        sim_engine_behaviours[i] = &wrapped[i];
    }
}

bool sim_engine_stays(const struct tr_behaviour *behaviour)
{
    return behaviour->id == tr_launcher_behaviour.id ||
           behaviour->id == tr_resources_behaviour.id || behaviour->id == tr_catalog_behaviour.id ||
           behaviour->id == tr_schedules_behaviour.id || behaviour->id == tr_refresh_behaviour.id ||
           behaviour->id == tr_notifier_behaviour.id;
}
