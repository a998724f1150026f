/*
 * The refresh actor: all jobs of one plugin at one endpoint, what is asked of the back end about
 * them, and which tasks hear of it. schemas/engine/refresh.h has its messages, refresh.h the order
 * of its parts.
 *
 * A handling has four steps: find the endpoint in the settings, notice a restart of the engine,
 * react to the message, then go on with all that is due and may leave (go_on) and keep the record
 * for people fresh. So nothing is polled here: whatever waits has a timer, a call under way, or a
 * message of the actor to itself. A timer needs no reaction of its own where go_on looks at the
 * times anyway.
 *
 * If any step fails, the runtime drops all effects of the handling: rows, requests and news. The
 * message is then handled again from the same state, so no step has to undo anything.
 */
#include "actors/backend/refresh.h"

#include <stdio.h>
#include <string.h>

#include "schemas/runtime/http.h"

/* ------------------------------------------------------------------- the record */

/* A back end's own word for a place; nothing where people could not read it. */
static struct tr_text shown(struct tr_bytes cursor)
{
    bool is_plain = cursor.size < TR_REFRESH_FAULT_BYTES_MAX;
    for (size_t i = 0; is_plain && i < cursor.size; i++) {
        is_plain = cursor.data[i] > ' ' && cursor.data[i] <= '~';
    }
    return is_plain ? (struct tr_text){.data = (const char *)cursor.data, .size = cursor.size}
                    : (struct tr_text){0};
}

/*
 * The row of `troupe plugins`. The state counts all rows of jobs; those that only wait for capacity
 * are shown apart.
 */
static int record(struct tri_refresh *refresh)
{
    struct tr_refresh_state *state = refresh->state;
    struct tri_scope_summary scopes;
    struct tr_bytes cursor = {0};
    uint32_t waiting;
    int error = tri_refresh_capacity_waiting(refresh, &waiting);
    if (error == 0) {
        error = tri_refresh_scope_summary(refresh, &scopes);
    }
    if (error == 0) {
        error = tri_refresh_blob_peek(&refresh->rows, scopes.cursor, &cursor);
    }
    if (error != 0 && error != TR_NOT_FOUND) {
        return error;
    }
    const struct tr_backend row = {
        .plugin = tr_array_get(&state->plugin),
        .endpoint = tr_array_get(&state->endpoint),
        .at_ms = tr_now_ms(refresh->context),
        .jobs = state->jobs - waiting,
        .waiting = waiting,
        .leaving = state->leaving,
        .calls = state->calls,
        .streams = state->streams,
        .circuit = state->circuit,
        .rate = state->rate,
        .fault = tr_array_get(&state->fault),
        .create_calls = state->create_calls,
        .status_calls = state->status_calls,
        .cancel_calls = state->cancel_calls,
        .find_calls = state->find_calls,
        .failures_calls = state->failures_calls,
        .stream_calls = state->stream_calls,
        .items = state->items,
        .throttled = state->throttled,
        .failed = state->failed,
        .unknown_outcomes = state->unknown_outcomes,
        .duplicates = state->duplicates,
        .stream_timeouts = state->stream_timeouts,
        .unended = state->unended,
        .refusal = tr_array_get(&state->refusal),
        .watches = scopes.watches,
        .lists = scopes.lists,
        .version = shown(cursor),
        .gates = scopes.gates,
        .gated = scopes.gated,
    };
    state->recorded_ms = refresh->now_ms;
    refresh->has_recorded = true;
    return tr_record(refresh->context, &tr_backend_schema, &row);
}

/*
 * Whatever has happened is on record within a second; that it was recorded is nothing new. A task's
 * burst of messages costs one row a second: the first is written at once, the timer writes the
 * state after the last.
 */
static int record_soon(struct tri_refresh *refresh)
{
    struct tr_refresh_state *state = refresh->state;
    bool is_due = refresh->now_ms >= state->recorded_ms + TR_REFRESH_RECORD_MS;
    if (refresh->has_recorded || (state->is_recording && !refresh->has_news)) {
        return 0;
    }
    if (is_due || refresh->has_news) {
        return record(refresh);
    }
    state->is_recording = true;
    return tr_timer_start_at(refresh->context, TRI_REFRESH_RECORD_TIMER,
                             state->recorded_ms + TR_REFRESH_RECORD_MS);
}

/* ------------------------------------------------------------------------- make */

/* A job that cannot be taken at all: answered, and forgotten. */
static int refuse(struct tri_refresh *refresh, struct tr_ref asker, struct tr_text identity,
                  uint8_t phase, const char *code, const char *words)
{
    struct tr_refresh_news news = tri_refresh_job_failure(phase, code, tr_text_of(words));
    news.identity = identity;
    news.stage = TR_WEBAPI_STAGE_TERMINAL;
    news.version = 1;
    return tr_tell(refresh->context, asker, &tr_refresh_news_schema, &news);
}

/* What is wrong with a wish, in words; false: nothing. */
static bool is_impossible(const struct tr_refresh_make *make, char *words, size_t size)
{
    const struct {
        const char *noun;
        size_t is;
        size_t most;
    } sizes[] = {
        {"a name", make->identity.size, TR_TASK_NAME_BYTES_MAX},
        {"a group's name", make->job_set.size, TR_WEBAPI_JOB_SET_BYTES_MAX},
        {"a handle", make->handle.size, TR_WEBAPI_HANDLE_BYTES_MAX},
        {"a job", make->job.size, TR_WEBAPI_JOB_BYTES_MAX},
    };
    for (size_t i = 0; i < TR_COUNT_OF(sizes); i++) {
        if (sizes[i].is > sizes[i].most) {
            (void)snprintf(words, size, "%s has %zu bytes, and may have %zu", sizes[i].noun,
                           sizes[i].is, sizes[i].most);
            return true;
        }
    }
    return false;
}

/*
 * The asker has one job at a time: it is done with the one it had before. A task starts a new
 * attempt under a new identity, so a row that still has this owner belongs to an attempt before it.
 * `but` is the row that stays; 0: none.
 */
static int leave_other(struct tri_refresh *refresh, struct tr_ref asker, uint32_t but)
{
    struct tri_job_row *job;
    uint32_t number;
    int error = tri_refresh_job_by_owner(refresh, asker.key, &number);
    if (error != 0 || number == but) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    error = tri_refresh_job_edit(refresh, number, &job);
    return error != 0 ? error : tri_refresh_job_leave(refresh, number, job, false);
}

/*
 * The job of an identity, from now on the asker's; a new one where there is none. The job before is
 * left first: a task is the owner of one row at most, since the index of owners has one entry for
 * each.
 */
static int own(struct tri_refresh *refresh, struct tr_ref asker, const struct tr_refresh_make *make,
               uint32_t *number, struct tri_job_row **job, bool *is_new)
{
    int error = tri_refresh_job_find(refresh, make->identity, number);
    if (error != 0 && error != TR_NOT_FOUND) {
        return error;
    }
    *is_new = error == TR_NOT_FOUND;
    error = leave_other(refresh, asker, *is_new ? 0 : *number);
    if (error != 0) {
        return error;
    }
    error = *is_new ? tri_refresh_job_add(refresh, make->identity, make->job_set, number, job)
                    : tri_refresh_job_edit(refresh, *number, job);
    if (error != 0 || tr_key_equal((*job)->watched.actor.key, asker.key)) {
        return error;
    }
    /*
     * Another task asks for the identity: news go to the one that asked last, whose end is
     * monitored from here on.
     */
    return tri_refresh_job_own(refresh, *number, *job, asker, false);
}

/* Where nothing is called for at the moment, a new task hears so. */
static int say_why(struct tri_refresh *refresh, struct tri_job_row *job)
{
    char room[TR_REFRESH_FAULT_BYTES_MAX + 64];
    struct tr_text reason = tri_refresh_rate_reason(refresh, room, sizeof room);
    struct tr_text fault = tr_array_get(&refresh->state->fault);
    return reason.size == 0
               ? 0
               : tri_refresh_job_waits(refresh, job, fault.size > 0 ? fault : reason, reason);
}

/*
 * A job that is new here: to be made, to be watched, or to be looked for. With a handle it was made
 * for certain and is only watched. A message that says is_unknown comes from a task that does not
 * know whether its job reached the back end: the plugin's idempotency level decides
 * (refresh_reconcile.c). TRI_JOB_UNHEARD keeps the backlog of the stream from proving anything
 * about it, since the stream may have shown it before this row was there.
 */
static int begin(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                 const struct tr_refresh_make *make)
{
    tri_refresh_capacity_release(refresh, job);
    refresh->state->live++;
    job->stage = TR_WEBAPI_STAGE_INTENT;
    job->policy = make->policy;
    int error = tri_refresh_blob_set(refresh, &job->blob, make->job);
    if (error == 0 && make->handle.size > 0) {
        error = tri_refresh_job_set_handle(refresh, number, job, make->handle);
        if (error != 0) {
            return error;
        }
        return tri_refresh_job_made(refresh, TR_WEBAPI_VERB_CREATE, number, job);
    }
    if (error == 0 && make->is_unknown) {
        job->marks |= TRI_JOB_UNHEARD;
        return tri_refresh_reconcile_begin(refresh, number, job,
                                           tr_text_of("nobody knows whether it was made"));
    }
    if (error != 0) {
        return error;
    }
    error = say_why(refresh, job);
    return error != 0 ? error : tri_refresh_job_settle(refresh, number, job);
}

/*
 * Whether there is capacity for what is asked for, and else for one more row that waits. A job that
 * may exist at the back end (a handle, an unknown outcome), or that has a row here, is taken
 * without any: refusing it would leave a job that no row watches and no call ends.
 */
static int look_for_room(struct tri_refresh *refresh, const struct tr_refresh_make *make,
                         bool *has_room, bool *is_kept)
{
    uint32_t waiting;
    uint32_t number;
    *is_kept = true;
    *has_room = make->is_unknown || make->handle.size > 0;
    int error = *has_room ? 0 : tri_refresh_job_find(refresh, make->identity, &number);
    if (*has_room || error != TR_NOT_FOUND) {
        return error;
    }
    error = tri_refresh_capacity_is_free(refresh, has_room);
    if (error == 0) {
        error = tri_refresh_capacity_waiting(refresh, &waiting);
    }
    *is_kept = error == 0 && (*has_room || waiting < TR_REFRESH_WAITING_MAX);
    return error;
}

/*
 * A wish for a job. Asking twice is safe: a row that is there already answers with what it knows,
 * and nothing is made. Only a row that was invited, whose task comes back with the body, begins
 * here though it is not new.
 */
static int on_make(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tr_refresh_make make;
    struct tri_job_row *job;
    char words[160];
    uint32_t number;
    bool is_new;
    bool is_kept;
    bool has_room = true;
    int error = tr_message_read(message, refresh_make, &make);
    if (error != 0) {
        return error;
    }
    if (is_impossible(&make, words, sizeof words)) {
        return refuse(refresh, message->from, make.identity, TR_TASK_PHASE_PERMANENT_FAILURE,
                      "JobTooLarge", words);
    }
    error = tri_refresh_orphan_claim(refresh, make.identity);
    if (error == 0) {
        error = look_for_room(refresh, &make, &has_room, &is_kept);
    }
    if (error != 0) {
        return error;
    }
    if (!is_kept) {
        return tri_refresh_capacity_refuse(refresh, message->from, make.identity);
    }
    error = own(refresh, message->from, &make, &number, &job, &is_new);
    if (error == TR_LIMIT) {
        (void)snprintf(
            words, sizeof words, "endpoint %.*s of '%.*s' has %u jobs, and no room for more",
            (int)refresh->state->endpoint.size, refresh->state->endpoint.data,
            (int)refresh->state->plugin.size, refresh->state->plugin.data, refresh->state->jobs);
        return refuse(refresh, message->from, make.identity, TR_TASK_PHASE_RETRYABLE_FAILURE,
                      "TooManyJobs", words);
    }
    /* A row without a body: the task keeps that, and sends it again when it is invited. */
    if (error == 0 && is_new && !has_room) {
        return tri_refresh_capacity_wait(refresh, number, job);
    }
    bool is_invited = error == 0 && !is_new && job->stage == TR_WEBAPI_STAGE_PREPARING;
    bool is_begun = !is_new && !is_invited;
    make.is_unknown = make.is_unknown && !is_invited; /* here it is known that it waited */
    if (error != 0) {
        return error;
    }
    return is_begun ? tri_refresh_job_tell(refresh, job) : begin(refresh, number, job, &make);
}

/*
 * To end a job that has no row here is to look for it first: the task says that it may be there. It
 * gets a row with the mark that it is to be ended, and reconciliation does the rest. A job that has
 * ended and is in no list is answered again, since the task may not have heard of the end.
 */
static int on_cancel(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tr_refresh_cancel cancel;
    struct tri_job_row *job;
    uint32_t number;
    bool is_new;
    int error = tr_message_read(message, refresh_cancel, &cancel);
    struct tr_refresh_make make = {
        .identity = cancel.identity, .job_set = cancel.job_set, .handle = cancel.handle};
    if (error == 0) {
        error = tri_refresh_orphan_claim(refresh, make.identity);
    }
    if (error == 0) {
        error = own(refresh, message->from, &make, &number, &job, &is_new);
    }
    if (error == TR_LIMIT) {
        return refuse(refresh, message->from, cancel.identity, TR_TASK_PHASE_ABORTED, "TooManyJobs",
                      "nobody can say whether it runs");
    }
    if (error != 0 || !is_new) {
        if (error == 0) {
            error = tri_refresh_job_cancel(refresh, number, job);
        }
        bool has_ended = error == 0 && job->stage == TR_WEBAPI_STAGE_TERMINAL;
        return has_ended && job->list == 0 ? tri_refresh_job_tell(refresh, job) : error;
    }
    make.is_unknown = true;
    error = tri_refresh_end_want(refresh, job);
    return error != 0 ? error : begin(refresh, number, job, &make);
}

/* Only the owner may drop a job: a late message of a task that owned it before changes nothing. */
static int on_drop(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tr_refresh_drop drop;
    struct tri_job_row *job;
    uint32_t number;
    int error = tr_message_read(message, refresh_drop, &drop);
    if (error == 0) {
        error = tri_refresh_job_find(refresh, drop.identity, &number);
    }
    if (error == 0) {
        error = tri_refresh_job_edit(refresh, number, &job);
    }
    if (error != 0 || !tr_key_equal(job->watched.actor.key, message->from.key)) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    return tri_refresh_job_leave(refresh, number, job, false);
}

/* The task goes on in another store: here its job is neither ended nor watched any more. */
static int on_left(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tri_job_row *job;
    uint32_t number;
    int error = tri_refresh_job_by_owner(refresh, message->from.key, &number);
    if (error == 0) {
        error = tri_refresh_job_edit(refresh, number, &job);
    }
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    return tri_refresh_job_forget(refresh, number, job);
}

/*
 * The monitor's number tells a DOWN of the present watch from one that was under way when the job
 * got another owner. A task on a host that cannot be reached may live: its job goes on.
 */
static int on_down(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tr_down down;
    struct tri_job_row *job;
    uint32_t number;
    int error = tr_message_read(message, down, &down);
    if (error == 0) {
        error = tri_refresh_job_by_owner(refresh, down.actor.key, &number);
    }
    if (error == 0) {
        error = tri_refresh_job_edit(refresh, number, &job);
    }
    if (error != 0 || job->watched.monitor != down.monitor) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    if (-(int)down.reason == TR_NO_CONNECTION) {
        return tr_watch_again(&refresh->watch, &job->watched);
    }
    return tri_refresh_job_leave(refresh, number, job, true);
}

/* ------------------------------------------------------------------------ going on */

static int on_timer(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tr_timer timer;
    int error = tr_message_read(message, timer, &timer);
    if (error != 0) {
        return error;
    }
    switch (timer.id) {
    case TRI_REFRESH_QUIET_TIMER:
        return tri_refresh_queue_on_quiet(refresh);
    case TRI_REFRESH_IDLE_TIMER:
        return tri_refresh_idle_on_time(refresh);
    case TRI_REFRESH_READY_TIMER:
        refresh->state->ready_ms = 0;
        return 0;
    case TRI_REFRESH_RECORD_TIMER:
        refresh->state->is_recording = false;
        return record(refresh);
    default:
        return 0;
    }
}

static int on_more(struct tri_refresh *refresh, const struct tr_message *message)
{
    (void)message;
    refresh->state->is_continuing = false;
    return 0;
}

/*
 * Does what is due and may be done now; what is left is for a message to itself. The order matters.
 * Clocks and sweeps put jobs into queues, capacity lets new ones in, and queues are emptied before
 * streams open: both draw on the same rate, and a batch of many jobs is worth more than a stream.
 * Each step does a bounded share; `is_continuing` keeps it at one message to itself however often a
 * handling finds more.
 */
static int go_on(struct tri_refresh *refresh)
{
    struct tr_refresh_state *state = refresh->state;
    bool more = false;
    int error = tri_refresh_clock_go(refresh, &more);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_stream_sweep(refresh, &more);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_capacity_invite(refresh);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_queue_go(refresh, &more);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_stream_go(refresh, &more);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_group_on_rested(refresh, &more);
    if (error != 0 || !more || state->is_continuing) {
        return error;
    }
    state->is_continuing = true;
    return tr_tell(refresh->context, tr_self(refresh->context), &tr_service_more_schema,
                   &(struct tr_service_more){0});
}

/*
 * The first message in the life of another engine. Streams and calls of the life before have ended,
 * so news may have been missed: a sweep over all rows asks for them. Nothing is made by that. The
 * circuit and the rate begin anew, since what the last one was refused may be granted to this one.
 */
static void begin_life(struct tri_refresh *refresh, uint64_t life)
{
    struct tr_refresh_state *state = refresh->state;
    if (state->engine_start == life) {
        return;
    }
    state->engine_start = life;
    state->engine_start_ms = refresh->now_ms;
    tri_refresh_rate_begin(refresh);
    if (refresh->rows.used > 0) {
        state->sweep = 1;
        state->sweeps++;
    }
}

/*
 * One that is there once among several hosts has begun with nothing: its name says which back end
 * it is for (TR_REFRESH_NAME_BEGIN). Another name is of none, and nothing leaves for it.
 */
static int begin_by_name(struct tri_refresh *refresh)
{
    struct tr_refresh_state *state = refresh->state;
    char room[TR_NAME_BYTES_MAX + 1];
    size_t size = strlen(TR_REFRESH_NAME_BEGIN);
    if (state->plugin.size > 0) {
        return 0;
    }
    struct tr_text name = tr_self_name(refresh->context, room);
    if (name.size < size || memcmp(name.data, TR_REFRESH_NAME_BEGIN, size) != 0) {
        return 0;
    }
    struct tr_text plugin = {.data = name.data + size, .size = name.size - size};
    const char *slash = memchr(plugin.data, '/', plugin.size);
    if (slash == NULL) {
        return 0;
    }
    struct tr_text endpoint = {.data = slash + 1,
                               .size = plugin.size - (size_t)(slash + 1 - plugin.data)};
    plugin.size = (size_t)(slash - plugin.data);
    int error = tr_array_set(&state->plugin, plugin);
    return error != 0 ? error : tr_array_set(&state->endpoint, endpoint);
}

/*
 * The endpoint of this actor in the settings of this engine. An engine that does not have the
 * plugin, or has it in quarantine, gets a table of functions that can do nothing, so that no code
 * behind has to ask for NULL: rows stay as they are, and no call leaves while `place` is NULL.
 */
static void find_place(struct tri_refresh *refresh)
{
    static const struct tr_webapi nothing = {.idempotency = TR_WEBAPI_IDEMPOTENCY_NONE};
    const struct tr_engine *engine = tr_engine_of(refresh->context);
    const struct tr_plugin *plugin =
        tr_engine_plugin_by_id(engine, tr_array_get(&refresh->state->plugin));
    refresh->is_aside = plugin != NULL && tr_engine_quarantine(engine, plugin) != NULL;
    refresh->plugin = plugin;
    bool is_known = plugin != NULL && plugin->webapi != NULL && !refresh->is_aside;
    refresh->webapi = is_known ? plugin->webapi : &nothing;
    refresh->watched = is_known ? tr_webapi_watch_of(plugin) : NULL;
    refresh->place =
        is_known ? tr_engine_endpoint(engine, plugin, tr_array_get(&refresh->state->endpoint))
                 : NULL;
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    static const struct {
        const struct tr_schema *schema;
        int (*handle)(struct tri_refresh *refresh, const struct tr_message *message);
    } reactions[] = {
        {&tr_refresh_make_schema, on_make},
        {&tr_refresh_cancel_schema, on_cancel},
        {&tr_refresh_drop_schema, on_drop},
        {&tr_refresh_left_schema, on_left},
        {&tr_http_part_schema, tri_refresh_stream_on_part},
        {&tr_http_response_schema, tri_refresh_call_on_response},
        {&tr_ask_failed_schema, tri_refresh_call_on_failed},
        {&tr_service_more_schema, on_more},
        {&tr_timer_schema, on_timer},
        {&tr_down_schema, on_down},
    };
    struct tr_refresh_state *own = state;
    struct tri_refresh refresh = {
        .context = context,
        .state = own,
        .rows = tr_rows_open(context, own, sizeof(union tri_refresh_any)),
        .index = {.first = TRI_REFRESH_INDEX_PAGE,
                  .stride = TRI_REFRESH_PERIOD,
                  .page_count = TRI_REFRESH_INDEX_PAGES,
                  .buckets = own->index_buckets,
                  .bytes = own->index_bytes},
        .now_ms = tr_steady_ms(context),
    };
    tr_rows_share(&refresh.rows, TRI_REFRESH_BUCKETS, TRI_REFRESH_ROWS);
    refresh.watch = tr_watch_open(&refresh.rows, own, TR_REFRESH_WATCHES_MAX);
    for (size_t i = 0; i < TR_COUNT_OF(reactions); i++) {
        if (tr_message_is(message, reactions[i].schema)) {
            int error = begin_by_name(&refresh);
            if (error == 0) {
                find_place(&refresh);
                begin_life(&refresh, tr_engine_of(context)->life);
                error = reactions[i].handle(&refresh, message);
            }
            if (error == 0) {
                error = go_on(&refresh);
            }
            if (error == 0) {
                error = record_soon(&refresh);
            }
            tr_rows_close(&refresh.rows, own);
            tr_watch_close(&refresh.watch, own);
            own->index_buckets = refresh.index.buckets;
            own->index_bytes = refresh.index.bytes;
            return error;
        }
    }
    return tr_unexpected(context, message);
}

const struct tr_behaviour tr_refresh_behaviour = {
    .name = "refresh", .id = 110, .state = &tr_refresh_state_schema, .handle = handle};
