/*
 * The refresh actor: all jobs of one plugin at one endpoint, what is asked of the back end about
 * them, and who hears of it. schemas/engine/refresh.h has its messages, refresh.h the order of its
 * parts.
 *
 * A message changes rows, and behind each the actor goes on with what is due and may leave now. So
 * nothing is polled here: what waits has a timer, a call under way, or a message to itself.
 */
#include "actors/refresh.h"

#include <stdio.h>

#include "schemas/runtime/http.h"

/* ------------------------------------------------------------------- the record */

static int record(struct tri_refresh *refresh)
{
    struct tr_refresh_state *state = refresh->state;
    uint32_t waiting;
    int error = tri_room_waiting(refresh, &waiting);
    if (error != 0) {
        return error;
    }
    const struct tr_backend row = {
        .plugin = tr_array_get(&state->plugin),
        .endpoint = tr_array_get(&state->endpoint),
        .at_ms = tr_now_ms(refresh->context),
        .jobs = state->jobs - waiting,
        .waiting = waiting,
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
        .doubts = state->doubts,
        .duplicates = state->duplicates,
        .silences = state->silences,
        .unended = state->unended,
        .refusal = tr_array_get(&state->refusal),
    };
    state->recorded_ms = refresh->now_ms;
    refresh->has_recorded = true;
    return tr_record(refresh->context, &tr_backend_schema, &row);
}

/* Whatever has happened is on record within a second; that it was recorded is nothing new. */
static int record_soon(struct tri_refresh *refresh)
{
    struct tr_refresh_state *state = refresh->state;
    if (state->is_recording || refresh->has_recorded) {
        return 0;
    }
    if (refresh->now_ms >= state->recorded_ms + TR_REFRESH_RECORD_MS) {
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
    struct tr_refresh_news news = tri_job_failure(phase, code, tr_text_of(words));
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
        {"a group's name", make->group.size, TR_WEBAPI_GROUP_BYTES_MAX},
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

/* The asker has one job at a time: it is done with the one it had before. */
static int leave_other(struct tri_refresh *refresh, struct tr_ref asker, uint32_t but)
{
    struct tri_job_row *job;
    uint32_t number;
    int error = tri_job_by_owner(refresh, asker.key, &number);
    if (error != 0 || number == but) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    error = tri_job_edit(refresh, number, &job);
    return error != 0 ? error : tri_job_leave(refresh, number, job, false);
}

/* The job of an identity, from now on the asker's; a new one where there is none. */
static int own(struct tri_refresh *refresh, struct tr_ref asker, const struct tr_refresh_make *make,
               uint32_t *number, struct tri_job_row **job, bool *is_new)
{
    int error = tri_job_find(refresh, make->identity, number);
    *is_new = error == TR_NOT_FOUND;
    int left = *is_new || error == 0 ? leave_other(refresh, asker, *is_new ? 0 : *number) : 0;
    if (left != 0 || (error != 0 && !*is_new)) {
        return left != 0 ? left : error;
    }
    error = *is_new ? tri_job_add(refresh, make->identity, make->group, number, job)
                    : tri_job_edit(refresh, *number, job);
    if (error != 0 || tr_key_equal((*job)->watched.actor.key, asker.key)) {
        return error;
    }
    return tri_job_own(refresh, *number, *job, asker, false);
}

/* Where nothing is called for at the moment, a new task hears so. */
static int say_why(struct tri_refresh *refresh, struct tri_job_row *job)
{
    char room[TR_REFRESH_FAULT_BYTES_MAX + 64];
    struct tr_text reason = tri_rate_words(refresh, room, sizeof room);
    struct tr_text fault = tr_array_get(&refresh->state->fault);
    return reason.size == 0 ? 0
                            : tri_job_waits(refresh, job, fault.size > 0 ? fault : reason, reason);
}

/* A job that is new here: to be made, to be watched, or to be looked for. */
static int begin(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                 const struct tr_refresh_make *make)
{
    tri_room_leave(refresh, job);
    refresh->state->live++;
    job->stage = TR_WEBAPI_STAGE_INTENT;
    job->policy = make->policy;
    int error = tri_blob_set(refresh, &job->blob, make->job);
    if (error == 0 && make->handle.size > 0) {
        error = tri_job_set_handle(refresh, number, job, make->handle);
        return error != 0 ? error : tri_job_made(refresh, number, job);
    }
    if (error == 0 && make->is_doubtful) {
        job->marks |= TRI_JOB_UNHEARD;
        return tri_doubt_begin(refresh, number, job,
                               tr_text_of("nobody knows whether it was made"));
    }
    error = error != 0 ? error : say_why(refresh, job);
    return error != 0 ? error : tri_job_settle(refresh, number, job);
}

/*
 * Whether there is room for what is asked for, and else for one more that waits. What may be there
 * already, or is known here, is taken in any case: nobody else looks after it.
 */
static int look_for_room(struct tri_refresh *refresh, const struct tr_refresh_make *make,
                         bool *has_room, bool *is_kept)
{
    uint32_t waiting;
    uint32_t number;
    *is_kept = true;
    *has_room = make->is_doubtful || make->handle.size > 0;
    int error = *has_room ? 0 : tri_job_find(refresh, make->identity, &number);
    if (*has_room || error != TR_NOT_FOUND) {
        return error;
    }
    error = tri_room_has(refresh, has_room);
    error = error != 0 ? error : tri_room_waiting(refresh, &waiting);
    *is_kept = error == 0 && (*has_room || waiting < TR_REFRESH_WAITING_MAX);
    return error;
}

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
    error = look_for_room(refresh, &make, &has_room, &is_kept);
    if (error != 0 || !is_kept) {
        return error != 0 ? error : tri_room_turn_away(refresh, message->from, make.identity);
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
    if (error == 0 && is_new && !has_room) {
        return tri_room_wait(refresh, number, job);
    }
    bool is_invited = error == 0 && !is_new && job->stage == TR_WEBAPI_STAGE_PREPARING;
    bool is_begun = !is_new && !is_invited;
    make.is_doubtful = make.is_doubtful && !is_invited; /* here it is known that it waited */
    return error != 0 ? error
           : is_begun ? tri_job_tell(refresh, job)
                      : begin(refresh, number, job, &make);
}

static int on_cancel(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tr_refresh_cancel cancel;
    struct tri_job_row *job;
    uint32_t number;
    bool is_new;
    int error = tr_message_read(message, refresh_cancel, &cancel);
    struct tr_refresh_make make = {
        .identity = cancel.identity, .group = cancel.group, .handle = cancel.handle};
    error = error != 0 ? error : own(refresh, message->from, &make, &number, &job, &is_new);
    if (error == TR_LIMIT) {
        return refuse(refresh, message->from, cancel.identity, TR_TASK_PHASE_ABORTED, "TooManyJobs",
                      "nobody can say whether it runs");
    }
    if (error != 0 || !is_new) {
        error = error != 0 ? error : tri_job_cancel(refresh, number, job);
        bool has_ended = error == 0 && job->stage == TR_WEBAPI_STAGE_TERMINAL;
        return has_ended && job->list == 0 ? tri_job_tell(refresh, job) : error;
    }
    make.is_doubtful = true;
    error = tri_end_want(refresh, job);
    return error != 0 ? error : begin(refresh, number, job, &make);
}

static int on_drop(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tr_refresh_drop drop;
    struct tri_job_row *job;
    uint32_t number;
    int error = tr_message_read(message, refresh_drop, &drop);
    error = error != 0 ? error : tri_job_find(refresh, drop.identity, &number);
    error = error != 0 ? error : tri_job_edit(refresh, number, &job);
    if (error != 0 || !tr_key_equal(job->watched.actor.key, message->from.key)) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    return tri_job_leave(refresh, number, job, false);
}

static int on_left(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tri_job_row *job;
    uint32_t number;
    int error = tri_job_by_owner(refresh, message->from.key, &number);
    error = error != 0 ? error : tri_job_edit(refresh, number, &job);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    return tri_job_forget(refresh, number, job);
}

static int on_down(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tr_down down;
    struct tri_job_row *job;
    uint32_t number;
    int error = tr_message_read(message, down, &down);
    error = error != 0 ? error : tri_job_by_owner(refresh, down.actor.key, &number);
    error = error != 0 ? error : tri_job_edit(refresh, number, &job);
    if (error != 0 || job->watched.monitor != down.monitor) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    return tri_job_leave(refresh, number, job, true);
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
        return tri_queue_on_quiet(refresh);
    case TRI_REFRESH_SILENT_TIMER:
        return tri_silence_on_time(refresh);
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
    refresh->state->is_going_on = false;
    return 0;
}

/* Does what is due and may be done now; what is left is for a message to itself. */
static int go_on(struct tri_refresh *refresh)
{
    struct tr_refresh_state *state = refresh->state;
    bool more = false;
    int error = tri_clock_go(refresh, &more);
    error = error != 0 ? error : tri_stream_sweep(refresh, &more);
    error = error != 0 ? error : tri_room_go(refresh);
    error = error != 0 ? error : tri_queue_go(refresh, &more);
    error = error != 0 ? error : tri_stream_go(refresh, &more);
    error = error != 0 ? error : tri_group_on_rested(refresh, &more);
    if (error != 0 || !more || state->is_going_on) {
        return error;
    }
    state->is_going_on = true;
    return tr_tell(refresh->context, tr_self(refresh->context), &tr_service_more_schema,
                   &(struct tr_service_more){0});
}

/* The first message in the life of another engine: what it missed is asked for, nothing is made. */
static void begin_life(struct tri_refresh *refresh, uint64_t life)
{
    struct tr_refresh_state *state = refresh->state;
    if (state->life == life) {
        return;
    }
    state->life = life;
    state->life_ms = refresh->now_ms;
    tri_rate_begin(refresh);
    if (refresh->rows.used > 0) {
        state->sweep = 1;
        state->sweeps++;
    }
}

/*
 * The endpoint of this actor; what an engine without its plugin knows is nothing, nor what it knows
 * of one that is in quarantine.
 */
static void find_place(struct tri_refresh *refresh)
{
    static const struct tr_webapi nothing = {.grade = TR_WEBAPI_GRADE_NONE};
    const struct tr_engine *engine = tr_engine_of(refresh->context);
    const struct tr_plugin *plugin =
        tr_engine_plugin_by_id(engine, tr_array_get(&refresh->state->plugin));
    refresh->is_aside = plugin != NULL && tr_engine_quarantine(engine, plugin) != NULL;
    refresh->plugin = plugin;
    bool is_known = plugin != NULL && plugin->webapi != NULL && !refresh->is_aside;
    refresh->webapi = is_known ? plugin->webapi : &nothing;
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
        {&tr_http_part_schema, tri_stream_on_part},
        {&tr_http_response_schema, tri_call_on_response},
        {&tr_ask_failed_schema, tri_call_on_failed},
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
            find_place(&refresh);
            begin_life(&refresh, tr_engine_of(context)->life);
            int error = reactions[i].handle(&refresh, message);
            error = error != 0 ? error : go_on(&refresh);
            error = error != 0 ? error : record_soon(&refresh);
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
