/*
 * A schedule: the steps from one time to the next.
 *
 *     LOOKING -- its next time --> WAITING -- it has come --> LOOKING -- what to do --> ...
 *     ... -- start it --> [REPLACING -- the one before has ended -->] LAUNCHING --> WAITING
 *     ... -- skip it --> WAITING
 *     paused: WAITING -> PAUSED -- it goes on --> LOOKING
 *
 * The clock on the wall is the program's: a timer only says when to ask it. A question that gets no
 * answer is asked again, which is harmless: it only reads. Where no engine fires schedules, it
 * rests, knowing its time, until schedule_wake.
 *
 * Three times lead from one round to the next. `due` is what it waits for; it stays until the time
 * is dealt with (go_on), so a look, a crash or a retry in between finds the same time again. `fire`
 * is the time that is started, which may be later than `due` where times were missed. `last` is the
 * latest that was dealt with; together with the name of the execution, made from `fire`, it keeps a
 * time from being started twice.
 */
#include "actors/services/schedule.h"
#include "actors/graph/document/buffer.h"

#define MS_PER_SECOND 1000

/* What cannot be answered now is asked again; a graph that is being replaced is there soon. */
#define RETRY_MS 60000
#define RETRY_SOON_MS 1000

/* How long the program may take to answer. */
#define LOOK_MS 60000

enum timer { TIMER_DUE = 1, TIMER_RETRY };

static bool fires_here(const struct tri_schedule *schedule)
{
    return tr_engine_of(schedule->context)->fires_schedules;
}

static void set_problem(struct tri_schedule *schedule, struct tr_text text)
{
    size_t most = sizeof schedule->state->problem.data;
    text.size = text.size < most ? text.size : most;
    while (text.size > 0 && text.size == most && ((uint8_t)text.data[text.size - 1] & 0x80) != 0) {
        text.size--; /* not within a character */
    }
    TR_ASSERT(tr_array_set(&schedule->state->problem, text) == 0);
}

/* ------------------------------------------------------- times not started */

/*
 * Times of a schedule that were not started, and why: the latest of them, for people who ask.
 */

/*
 * Appends the notes from the list, but for the first ones. Leaves room for one more. Returns how
 * many were copied.
 */
static uint32_t copy_notes(struct tr_text list, struct tr_buffer *notes)
{
    struct tr_cursor cursor =
        tr_cursor_of((struct tr_bytes){.data = (const uint8_t *)list.data, .size = list.size});
    uint32_t count = list.size == 0 ? 0 : tr_read_array(&cursor);
    uint32_t left_out = count < TR_SCHEDULE_OMITTED_MAX ? 0 : count - TR_SCHEDULE_OMITTED_MAX + 1;
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes note = tr_read_any(&cursor);
        if (i >= left_out) {
            tr_buffer_add(notes, note.data, note.size);
        }
    }
    return count - left_out;
}

/*
 * Notes that the times from `first` on, before `until`, are not started. The oldest note gives way.
 */
static int omit(struct tri_schedule *schedule, int64_t first, int64_t until,
                enum tr_schedule_outcome outcome)
{
    struct tr_buffer notes;
    struct tr_buffer list;
    tr_buffer_init(&notes, 0);
    tr_buffer_init(&list, 0);
    uint32_t count = copy_notes(tr_array_get(&schedule->state->omitted), &notes);
    tr_buffer_array(&list, count + 1);
    tr_buffer_add(&list, notes.data, notes.size);
    tr_buffer_array(&list, 3);
    tr_buffer_i64(&list, first);
    tr_buffer_i64(&list, until);
    tr_buffer_u64(&list, outcome);
    int error = notes.error != 0 ? notes.error : list.error;
    if (error == 0) {
        error = tr_array_set(&schedule->state->omitted, tr_buffer_text(&list));
    }
    tr_buffer_fini(&list);
    tr_buffer_fini(&notes);
    return error;
}

/* -------------------------------------------------------------------- looking and waiting */

/*
 * Asks what to do about the time that it waits for; where it knows none, for the next one. One
 * question is open at a time: its number is `call`, and answers to others are dropped.
 */
static int look(struct tri_schedule *schedule)
{
    struct tr_schedule_state *state = schedule->state;
    struct tr_text graph = tr_array_get(&state->graph);
    struct tr_schedule_look asked = {
        .graph = {.data = (const uint8_t *)graph.data, .size = graph.size},
        .plan = state->plan,
        .time = state->due,
        .last = state->last,
        .since = state->since,
    };
    state->step = TR_SCHEDULE_LOOKING;
    return tr_call(schedule->context, TR_SERVICE_FILES, &tr_schedule_look_schema, &asked, LOOK_MS,
                   &state->call);
}

/* Looks again later. `due` stays, so the same time is dealt with then. */
static int look_later(struct tri_schedule *schedule, uint64_t delay_ms, struct tr_text why)
{
    schedule->state->step = TR_SCHEDULE_LOOKING;
    schedule->state->call = 0;
    set_problem(schedule, why);
    int error = tr_timer_start(schedule->context, TIMER_RETRY, delay_ms);
    return error != 0 ? error : tri_schedule_record(schedule);
}

/* When it fires was changed: it forgets the time that it waits for. */
static int look_anew(struct tri_schedule *schedule)
{
    schedule->state->due = 0;
    schedule->state->is_changed = false;
    int error = tr_timer_stop(schedule->context, TIMER_DUE);
    return error != 0 ? error : look(schedule);
}

/*
 * Waits for its time; in an engine that fires no schedules it rests until schedule_wake, and while
 * it is paused until it goes on.
 */
static int wait_for_due(struct tri_schedule *schedule)
{
    struct tr_schedule_state *state = schedule->state;
    int error = 0;
    state->step = TR_SCHEDULE_IDLE;
    if (state->is_paused) {
        state->step = TR_SCHEDULE_PAUSED;
    } else if (state->due == INT64_MAX) {
        set_problem(schedule, tr_text_of("it never fires again"));
    } else if (fires_here(schedule)) {
        state->step = TR_SCHEDULE_WAITING;
        error = tr_timer_start(schedule->context, TIMER_DUE, state->wait_ms);
    }
    return error != 0 ? error : tri_schedule_record(schedule);
}

/*
 * The time in hand is dealt with. Of times that were missed `last` is the due one, since none was
 * chosen to be fired.
 */
static int go_on(struct tri_schedule *schedule, enum tr_schedule_outcome outcome)
{
    struct tr_schedule_state *state = schedule->state;
    int error = tr_count_schedule(schedule->context, (uint8_t)outcome,
                                  (uint64_t)state->fire * MS_PER_SECOND);
    state->outcome = (uint8_t)outcome;
    state->last = outcome == TR_SCHEDULE_OUTCOME_MISSED ? state->due : state->fire;
    state->due = state->next;
    if (error != 0) {
        return error;
    }
    return state->is_changed ? look_anew(schedule) : wait_for_due(schedule);
}

/* ------------------------------------------------------------------------- its time */

static int launch(struct tri_schedule *schedule)
{
    if (schedule->graph == NULL) {
        return look_later(schedule, RETRY_SOON_MS, tr_text_of("its definition is being replaced"));
    }
    schedule->state->step = TR_SCHEDULE_LAUNCHING;
    int error = tri_schedule_launch(schedule);
    return error != 0 ? error : tri_schedule_record(schedule);
}

/*
 * Ends the execution before, which is started anew at its end. DOWN of its monitor goes on with the
 * launch.
 */
static int replace(struct tri_schedule *schedule)
{
    struct tr_node_abort abort = {
        .phase = TR_NODE_PHASE_ABORTED,
        .cause = tr_text_of("its schedule starts the next one, and replaces it"),
    };
    schedule->state->step = TR_SCHEDULE_REPLACING;
    int error = tr_tell(schedule->context, schedule->state->running, &tr_node_abort_schema, &abort);
    return error != 0 ? error : tri_schedule_record(schedule);
}

/*
 * Does what the program has said of the time that has come. The program says which time fires and
 * what was missed by the plan's rules; here only the overlap with the execution before is left to
 * decide.
 */
static int fire(struct tri_schedule *schedule, const struct tr_schedule_seen *seen)
{
    struct tr_schedule_state *state = schedule->state;
    state->fire = seen->fire;
    state->next = seen->next;
    state->skipped += seen->leaves_out ? 1 : 0;
    int error = 0;
    if (seen->leaves_out) {
        error = omit(schedule, state->due, seen->fires ? seen->fire : seen->next,
                     TR_SCHEDULE_OUTCOME_MISSED);
    }
    if (error != 0) {
        return error;
    }
    if (!seen->fires) {
        return go_on(schedule, TR_SCHEDULE_OUTCOME_MISSED);
    }
    /* What it has just started may not be in the history yet, and is not replaced by itself. */
    bool is_started = state->last == seen->fire && state->outcome == TR_SCHEDULE_OUTCOME_STARTED;
    if (seen->exists || is_started) {
        return go_on(schedule, TR_SCHEDULE_OUTCOME_EXISTED);
    }
    if (schedule->graph == NULL) {
        return look_later(schedule, RETRY_SOON_MS, tr_text_of("its definition is being replaced"));
    }
    uint8_t overlap = schedule->plan->schedule.overlap;
    if (state->monitor == 0 || overlap == TR_OVERLAP_ALLOW) {
        return launch(schedule);
    }
    if (overlap == TR_OVERLAP_REPLACE) {
        return replace(schedule);
    }
    state->skipped++;
    error = omit(schedule, state->fire, state->fire + 1, TR_SCHEDULE_OUTCOME_SKIPPED);
    return error != 0 ? error : go_on(schedule, TR_SCHEDULE_OUTCOME_SKIPPED);
}

/*
 * It goes on, and knows its time. What came until then is left out, as a person wanted, and noted:
 * it fires after that.
 */
static int leave_pause(struct tri_schedule *schedule, const struct tr_schedule_seen *seen)
{
    struct tr_schedule_state *state = schedule->state;
    int64_t resumed = state->resumed;
    state->resumed = 0;
    if (state->due > resumed) {
        return seen->has_come ? fire(schedule, seen) : wait_for_due(schedule);
    }
    int error = omit(schedule, state->due, resumed + 1, TR_SCHEDULE_OUTCOME_PAUSED);
    state->skipped++;
    state->outcome = TR_SCHEDULE_OUTCOME_PAUSED;
    state->last = state->due;
    state->since = resumed;
    return error != 0 ? error : look_anew(schedule);
}

static int on_seen(struct tri_schedule *schedule)
{
    struct tr_schedule_seen seen;
    int error = tr_message_read(schedule->message, schedule_seen, &seen);
    if (error != 0) {
        return error;
    }
    set_problem(schedule, tr_text_of(""));
    schedule->state->call = 0;
    schedule->state->wait_ms = seen.wait_ms;
    if (!seen.has_come) {
        schedule->state->due = seen.next;
    }
    if (schedule->state->resumed != 0) {
        return leave_pause(schedule, &seen);
    }
    bool may_fire = seen.has_come && !schedule->state->is_paused;
    return may_fire ? fire(schedule, &seen) : wait_for_due(schedule);
}

/*
 * The execution has begun: a plan that minds overlaps hears of its end. Only the last one is
 * monitored: with `allow` several may run, and none is in the way.
 */
static int keep_running(struct tri_schedule *schedule, struct tr_ref execution)
{
    struct tr_schedule_state *state = schedule->state;
    int error = 0;
    if (state->monitor != 0) {
        error = tr_demonitor(schedule->context, state->monitor);
        state->monitor = 0;
    }
    state->running = execution;
    state->started++;
    return error != 0 ? error : tr_monitor(schedule->context, execution, &state->monitor);
}

/*
 * TR_EXISTS is no failure: the name is that of this time, so an earlier life of this schedule, or a
 * person, has started it.
 */
static int on_launched(struct tri_schedule *schedule)
{
    struct tr_launched launched;
    int error = tr_message_read(schedule->message, launched, &launched);
    if (error != 0) {
        return error;
    }
    schedule->state->call = 0;
    switch (launched.error) {
    case 0:
        error = keep_running(schedule, launched.execution);
        return error != 0 ? error : go_on(schedule, TR_SCHEDULE_OUTCOME_STARTED);
    case TR_EXISTS:
        return go_on(schedule, TR_SCHEDULE_OUTCOME_EXISTED);
    case TR_NOT_FOUND: /* the graph, which was replaced meanwhile */
    case TR_BUSY:
        return look_later(schedule, RETRY_SOON_MS, launched.message);
    default:
        set_problem(schedule, launched.message);
        error = omit(schedule, schedule->state->fire, schedule->state->fire + 1,
                     TR_SCHEDULE_OUTCOME_REFUSED);
        return error != 0 ? error : go_on(schedule, TR_SCHEDULE_OUTCOME_REFUSED);
    }
}

/* --------------------------------------------------------------------- what else comes */

/*
 * A number for when a plan fires: whether that was changed. FNV-1a with its 64-bit offset and
 * prime, over words instead of bytes. Kept in the state, so the order of the words may not change.
 */
static uint64_t hash_times(const struct tr_schedule *times)
{
    const uint64_t words[] = {(uint64_t)times->every_ns, times->cron.minutes,
                              times->cron.hours,         times->cron.days,
                              times->cron.months,        times->cron.weekdays,
                              times->cron.is_any_day,    times->cron.is_any_weekday};
    uint64_t hash = 14695981039346656037ULL;
    for (size_t i = 0; i < TR_COUNT_OF(words); i++) {
        hash = (hash ^ words[i]) * 1099511628211ULL;
    }
    if (times->offset_ns != 0) {
        hash = (hash ^ (uint64_t)times->offset_ns) * 1099511628211ULL;
    }
    for (size_t i = 0; i < times->timezone.size; i++) {
        hash = (hash ^ (uint8_t)times->timezone.data[i]) * 1099511628211ULL;
    }
    return hash;
}

static int take_set(struct tr_schedule_state *state, const struct tr_schedule_set *set)
{
    struct tr_text graph = {.data = (const char *)set->graph.data, .size = set->graph.size};
    int error = tr_array_set(&state->graph, graph);
    if (error == 0) {
        error = tr_array_set(&state->address, set->address);
    }
    state->plan = set->plan;
    state->launcher = set->launcher;
    return error;
}

/*
 * Holds the graph for this handler. Another thread may drop the last plan of it meanwhile. NULL: it
 * is being replaced, or not there yet.
 */
static void hold(struct tri_schedule *schedule)
{
    const struct tr_schedule_state *state = schedule->state;
    struct tr_graph_registry *registry = &tr_engine_of(schedule->context)->registry;
    const uint8_t *hash = (const uint8_t *)state->graph.data;
    if (state->graph.size == TR_GRAPH_HASH_BYTES && tr_graph_registry_share(registry, hash)) {
        schedule->graph = tr_graph_registry_find(registry, tr_graph_number(hash));
        schedule->plan = &schedule->graph->plans[state->plan];
    }
}

static void let_go(struct tri_schedule *schedule)
{
    if (schedule->graph != NULL) {
        tr_graph_registry_drop(&tr_engine_of(schedule->context)->registry,
                               tr_graph_number(schedule->graph->hash));
        schedule->graph = NULL;
    }
}

/* Its row says what it was told. */
static int tell_kept(struct tri_schedule *schedule, uint32_t row)
{
    return tr_tell(schedule->context, tr_parent(schedule->context), &tr_schedule_kept_schema,
                   &(struct tr_schedule_kept){.row = row});
}

/* Registered, or in another form: a time in hand is dealt with first, and what is due stays due. */
static int on_set(struct tri_schedule *schedule)
{
    struct tr_schedule_state *state = schedule->state;
    struct tr_schedule_set set;
    int error = tr_message_read(schedule->message, schedule_set, &set);
    if (error != 0) {
        return error;
    }
    error = take_set(state, &set);
    if (error != 0) {
        return error;
    }
    let_go(schedule);
    hold(schedule);
    uint64_t times = schedule->graph == NULL ? 0 : hash_times(&schedule->plan->schedule);
    bool is_new = state->times != times;
    state->times = times;
    state->version++;
    state->applied_ms = set.at_ms;
    state->created_ms = state->created_ms != 0 ? state->created_ms : set.at_ms;
    state->since = is_new ? (int64_t)(set.at_ms / MS_PER_SECOND) : state->since;
    error = tri_schedule_record(schedule);
    if (error != 0) {
        return error;
    }
    error = tell_kept(schedule, set.row);
    if (error != 0) {
        return error;
    }
    if (state->step == TR_SCHEDULE_LAUNCHING || state->step == TR_SCHEDULE_REPLACING) {
        state->is_changed = state->is_changed || is_new;
        return 0;
    }
    return is_new ? look_anew(schedule) : look(schedule);
}

static int on_drop(struct tri_schedule *schedule)
{
    struct tr_schedule_drop drop;
    int error = tr_message_read(schedule->message, schedule_drop, &drop);
    if (error != 0) {
        return error;
    }
    error = tri_schedule_forget(schedule);
    if (error != 0) {
        return error;
    }
    error = tell_kept(schedule, drop.row);
    return error != 0 ? error : tr_stop(schedule->context);
}

/* Keeps who has paused it, or forgets that. TR_LIMIT: what does not fit, which commands refuse. */
static int take_pause(struct tr_schedule_state *state, const struct tr_schedule_pause *pause)
{
    if (pause->is_paused) {
        state->resumed = 0;
    } else if (state->is_paused) {
        state->resumed = (int64_t)(pause->at_ms / MS_PER_SECOND);
    }
    state->is_paused = pause->is_paused;
    state->paused_ms = pause->is_paused ? pause->at_ms : 0;
    int error = tr_array_set(&state->paused_by, pause->is_paused ? pause->by : tr_text_of(""));
    return error != 0 ? error
                      : tr_array_set(&state->pause_message,
                                     pause->is_paused ? pause->message : tr_text_of(""));
}

/* A time in hand is dealt with first: its execution has begun, or the one before is aborted. */
static int on_pause(struct tri_schedule *schedule)
{
    struct tr_schedule_state *state = schedule->state;
    struct tr_schedule_pause pause;
    int error = tr_message_read(schedule->message, schedule_pause, &pause);
    if (error != 0) {
        return error;
    }
    bool has_time = state->step == TR_SCHEDULE_LAUNCHING || state->step == TR_SCHEDULE_REPLACING;
    error = take_pause(state, &pause);
    if (error == 0 && state->is_paused && state->step != TR_SCHEDULE_LOOKING && !has_time) {
        error = tr_timer_stop(schedule->context, TIMER_DUE);
        state->step = TR_SCHEDULE_PAUSED;
    }
    if (error == 0 && state->resumed != 0 && !has_time) {
        error = look(schedule);
    }
    if (error == 0) {
        error = tri_schedule_record(schedule);
    }
    return error != 0 ? error : tell_kept(schedule, pause.row);
}

/*
 * Schedules are fired from now on, or the clock was set. A schedule that was to look again later
 * looks now: by a clock that was set back that may be far away. With a time in hand it looks again
 * as soon as that is dealt with: how long it was to wait then was said by the clock before.
 */
static int on_wake(struct tri_schedule *schedule)
{
    uint8_t step = schedule->state->step;
    bool has_time = step == TR_SCHEDULE_REPLACING || step == TR_SCHEDULE_LAUNCHING;
    schedule->state->wait_ms = 0;
    return has_time ? 0 : look(schedule);
}

/*
 * A timer that rings in another step than the one that set it is old, and changes nothing.
 * TIMER_DUE only says when to ask the program again.
 */
static int on_timer(struct tri_schedule *schedule)
{
    const struct tr_schedule_state *state = schedule->state;
    struct tr_timer timer;
    int error = tr_message_read(schedule->message, timer, &timer);
    if (error != 0) {
        return error;
    }
    if (timer.id == TIMER_RETRY) {
        return state->step == TR_SCHEDULE_LOOKING && state->call == 0 ? look(schedule) : 0;
    }
    if (state->step != TR_SCHEDULE_WAITING) {
        return 0;
    }
    return fires_here(schedule) ? look(schedule) : wait_for_due(schedule);
}

/* The execution before has ended. Only a replacement waits for that. */
static int on_down(struct tri_schedule *schedule)
{
    struct tr_down down;
    int error = tr_message_read(schedule->message, down, &down);
    if (error != 0 || down.monitor != schedule->state->monitor) {
        return error;
    }
    if (-(int)down.reason == TR_NO_CONNECTION) {
        return tr_monitor(schedule->context, schedule->state->running, &schedule->state->monitor);
    }
    schedule->state->monitor = 0;
    return schedule->state->step == TR_SCHEDULE_REPLACING ? launch(schedule) : 0;
}

/* The program could not say when it fires; its words are shown. It is asked again. */
static int on_blob_failed(struct tri_schedule *schedule)
{
    struct tr_blob_failed failed;
    int error = tr_message_read(schedule->message, blob_failed, &failed);
    return error != 0 ? error : look_later(schedule, RETRY_MS, failed.message);
}

static int on_ask_failed(struct tri_schedule *schedule)
{
    return look_later(schedule, RETRY_SOON_MS, tr_text_of("nobody answered; it asks again"));
}

/* ------------------------------------------------------------------------- messages */

/* What is said unasked, and what answers the one question that is open. */
static const struct {
    const struct tr_schema *schema;
    bool is_answer;
    int (*act)(struct tri_schedule *schedule);
} messages[] = {
    {&tr_timer_schema, false, on_timer},          {&tr_schedule_seen_schema, true, on_seen},
    {&tr_launched_schema, true, on_launched},     {&tr_down_schema, false, on_down},
    {&tr_schedule_set_schema, false, on_set},     {&tr_schedule_wake_schema, false, on_wake},
    {&tr_schedule_drop_schema, false, on_drop},   {&tr_blob_failed_schema, true, on_blob_failed},
    {&tr_ask_failed_schema, true, on_ask_failed}, {&tr_schedule_pause_schema, false, on_pause},
};

static int schedule_handle(struct tr_context *context, void *state,
                           const struct tr_message *message)
{
    struct tri_schedule schedule = {.context = context, .state = state, .message = message};
    for (size_t i = 0; i < TR_COUNT_OF(messages); i++) {
        if (!tr_message_is(message, messages[i].schema)) {
            continue;
        }
        if (messages[i].is_answer && tr_message_ask(message) != schedule.state->call) {
            return 0; /* to a question that was given up */
        }
        hold(&schedule);
        int error = messages[i].act(&schedule);
        let_go(&schedule);
        return error;
    }
    return tr_unexpected(context, message);
}

const struct tr_behaviour tr_schedule_behaviour = {
    .name = "schedule",
    .id = 109,
    .state = &tr_schedule_state_schema,
    .handle = schedule_handle,
};
