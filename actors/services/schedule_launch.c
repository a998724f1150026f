/*
 * What the program says to a schedule, what that starts, and what is recorded of it.
 *
 * tr_schedule_see runs on a thread of the files service, since it needs the clock on the wall and
 * the rules of time zones; it reads the plan and changes nothing. The rest runs in the schedule's
 * handler.
 */
#include "actors/graph/value/literal.h"
#include "actors/services/launcher_shard.h"
#include "actors/services/schedule.h"

#include <stdio.h>

#define MS_PER_SECOND 1000

/* -------------------------------------------------------------------------- looking */

static int64_t next_after(const struct tr_schedule *schedule, const struct tr_zone *zone,
                          int64_t after)
{
    int64_t next;
    return tr_schedule_next(schedule, zone, after, &next) == 0 ? next : INT64_MAX;
}

void tr_schedule_see(const struct tr_schedule *schedule, const struct tr_zone *zone,
                     const struct tr_schedule_look *asked, uint64_t now_ms,
                     struct tr_schedule_seen *seen)
{
    int64_t now = (int64_t)(now_ms / MS_PER_SECOND);
    *seen = (struct tr_schedule_seen){0};
    if (asked->time == 0) {
        seen->next = next_after(schedule, zone, asked->since < now ? asked->since : now);
    } else if (now < asked->time) {
        /* What it waits for, or an earlier one where the clock was ahead when that was found. */
        seen->next = next_after(schedule, zone, now);
    } else {
        struct tr_schedule_due due = tr_schedule_due(schedule, zone, asked->time, now);
        seen->has_come = true;
        seen->fires = due.fires;
        seen->fire = due.fire;
        seen->next = due.next;
        seen->leaves_out = due.leaves_out;
    }
    if (seen->next > now && seen->next != INT64_MAX) {
        seen->wait_ms = (uint64_t)seen->next * MS_PER_SECOND - now_ms;
    }
}

/* ------------------------------------------------------------------------- starting */

/* What a plan gives for an input, fixed or not; NULL: nothing. */
static const struct tr_plan_value *value_of(const struct tr_plan *plan, uint32_t input)
{
    for (uint32_t i = 0; i < plan->value_count; i++) {
        if (plan->values[i].input == input) {
            return &plan->values[i];
        }
    }
    return NULL;
}

int tr_schedule_inputs(const struct tr_graph *graph, const struct tr_plan *plan, int64_t time,
                       struct tr_buffer *inputs)
{
    const struct tr_variables *variables = &graph->workflows[plan->workflow].interface.inputs;
    tr_buffer_array(inputs, variables->count);
    for (uint32_t i = 0; i < variables->count; i++) {
        const struct tr_plan_value *value = value_of(plan, i);
        struct tr_bytes slot = value != NULL ? value->value : variables->items[i].default_value;
        if (i == plan->schedule.kickoff_input) {
            tr_write_moment(inputs, (struct tr_moment){.seconds = time});
        } else if (slot.size == 0) {
            return TR_INVALID; /* check refuses such schedules */
        } else {
            tr_buffer_add(inputs, slot.data, slot.size);
        }
    }
    return inputs->error;
}

/*
 * Asks the launcher, without a time limit: it lives in the same store and always answers, or its
 * host is lost and the schedule is told so. The name is made from plan and time, so asking again
 * after a crash cannot start a second execution.
 */
int tri_schedule_launch(struct tri_schedule *schedule)
{
    char name[TR_SCHEDULE_NAME_BYTES];
    char cause[sizeof "schedule " + TR_SCHEDULE_NAME_BYTES];
    const struct tr_graph *graph = schedule->graph;
    const struct tr_plan *plan = schedule->plan;
    struct tr_ref launcher = schedule->state->launcher;
    struct tr_buffer inputs;
    tr_schedule_name(plan->name, schedule->state->fire, name);
    int size =
        snprintf(cause, sizeof cause, "schedule %.*s", (int)plan->name.size, plan->name.data);
    tr_buffer_init(&inputs, 0);
    int error = tr_schedule_inputs(graph, plan, schedule->state->fire, &inputs);
    struct tr_launch launch = {
        .name = tr_text_of(name),
        .graph = {.data = graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .workflow = plan->workflow,
        .plan = (uint32_t)(plan - graph->plans),
        .inputs = tr_buffer_bytes(&inputs),
        .cause = {.data = cause, .size = (size_t)size},
    };
    if (error == 0 && tr_launcher_has_shards(tr_engine_of(schedule->context))) {
        error = tr_launcher_choose(schedule->context, graph, launch.plan, launch.name, &launcher);
    }
    if (error == 0) {
        error = tr_ask(schedule->context, launcher, &tr_launch_schema, &launch, 0,
                       &schedule->state->call);
    }
    tr_buffer_fini(&inputs);
    return error;
}

/* ------------------------------------------------------------------------- recording */

/* The next part of "PROJECT/DOMAIN/PLAN". */
static struct tr_text take_part(struct tr_text *rest)
{
    size_t size = 0;
    while (size < rest->size && rest->data[size] != '/') {
        size++;
    }
    struct tr_text part = {.data = rest->data, .size = size};
    size_t passed = size < rest->size ? size + 1 : size;
    *rest = (struct tr_text){.data = rest->data + passed, .size = rest->size - passed};
    return part;
}

static struct tr_schedule_row row_of(const struct tr_schedule_state *state)
{
    struct tr_text rest = tr_array_get(&state->address);
    struct tr_schedule_row row = {.version = state->version};
    row.project = take_part(&rest);
    row.domain = take_part(&rest);
    row.plan = rest;
    return row;
}

/* Since 1970 nothing was due; what is never due again is no time. */
static uint64_t ms_of(int64_t time)
{
    return time <= 0 || time == INT64_MAX ? 0 : (uint64_t)time * MS_PER_SECOND;
}

/* When it fires, as it was written. */
static void print_times(const struct tr_schedule *times, struct tr_buffer *text)
{
    if (times->every_ns == 0) {
        tr_buffer_add_text(text, times->cron_text);
    } else {
        tr_buffer_add_string(text, "every ");
        tr_duration_print(times->every_ns, text);
    }
    if (times->offset_ns != 0) {
        tr_buffer_add_string(text, " + ");
        tr_duration_print(times->offset_ns, text);
    }
}

/*
 * The row for people. Without the graph its words are not known: the row of before stays until it
 * is there.
 */
int tri_schedule_record(struct tri_schedule *schedule)
{
    const struct tr_schedule_state *state = schedule->state;
    char name[TR_SCHEDULE_NAME_BYTES] = "";
    struct tr_buffer times;
    if (schedule->graph == NULL) {
        return 0;
    }
    struct tr_schedule_row row = row_of(state);
    if (state->last != 0) {
        tr_schedule_name(row.plan, state->last, name);
    }
    tr_buffer_init(&times, 0);
    print_times(&schedule->plan->schedule, &times);
    row.workflow = schedule->graph->workflows[schedule->plan->workflow].name;
    row.graph = (struct tr_bytes){.data = schedule->graph->hash, .size = TR_GRAPH_HASH_BYTES};
    row.fires = tr_buffer_text(&times);
    row.timezone = schedule->plan->schedule.timezone;
    row.created_ms = state->created_ms;
    row.applied_ms = state->applied_ms;
    row.next_ms = state->is_paused ? 0 : ms_of(state->due);
    row.last_ms = ms_of(state->last);
    row.outcome = state->outcome;
    row.last = tr_text_of(name);
    row.started = state->started;
    row.skipped = state->skipped;
    row.step = state->step;
    row.problem = tr_array_get(&state->problem);
    struct tr_text omitted = tr_array_get(&state->omitted);
    row.omitted = (struct tr_bytes){.data = (const uint8_t *)omitted.data, .size = omitted.size};
    row.is_paused = state->is_paused;
    row.paused_ms = state->paused_ms;
    row.paused_by = tr_array_get(&state->paused_by);
    row.pause_message = tr_array_get(&state->pause_message);
    int error = times.error != 0 ? times.error
                                 : tr_record(schedule->context, &tr_schedule_row_schema, &row);
    tr_buffer_fini(&times);
    return error;
}

int tri_schedule_forget(struct tri_schedule *schedule)
{
    struct tr_schedule_row row = row_of(schedule->state);
    return tr_record_delete(schedule->context, &tr_schedule_row_schema, &row, 3);
}
