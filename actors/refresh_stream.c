/*
 * Streams: news of a group's jobs as they come, one call that stays open for each group, as many
 * as the endpoint lets us have. Groups that have none are polled.
 *
 * Where a stream goes on from is kept with what its lines have changed, so none is missed and those
 * that come twice are old news. A stream may end at any time; it is asked for again. One whose
 * place the back end does not know any more begins anew, and a sweep asks about all its jobs, for
 * what may have been left out.
 */
#include "actors/refresh.h"
#include "schemas/http.h"

/* Groups that want a stream of which the largest gets the next one; rows one message sweeps. */
#define LOOKS_AT_ONCE 64
#define SWEEP_ROWS 256

/* ------------------------------------------------------------ who wants one */

int tri_stream_want(struct tri_refresh *refresh, uint32_t number)
{
    struct tr_refresh_state *state = refresh->state;
    struct tri_group_row *group;
    struct tri_group_row *first;
    struct tri_group_row *last;
    int error = tri_group_edit(refresh, number, &group);
    if (error != 0 || refresh->webapi->stream.write == NULL || group->stream != 0 ||
        group->next != 0) {
        return error;
    }
    group->next = number;
    group->previous = number;
    state->wanting_ms = 0;
    if (state->wanting == 0) {
        state->wanting = number;
        return 0;
    }
    error = tri_group_edit(refresh, state->wanting, &first);
    error = error != 0 ? error : tri_group_edit(refresh, first->previous, &last);
    if (error == 0) {
        group->next = state->wanting;
        group->previous = first->previous;
        last->next = number;
        first->previous = number;
    }
    return error;
}

int tri_stream_forget(struct tri_refresh *refresh, uint32_t number, struct tri_group_row *group)
{
    struct tr_refresh_state *state = refresh->state;
    struct tri_group_row *next;
    struct tri_group_row *previous;
    if (group->next == 0) {
        return 0;
    }
    int error = tri_group_edit(refresh, group->next, &next);
    error = error != 0 ? error : tri_group_edit(refresh, group->previous, &previous);
    if (error == 0) {
        state->wanting = state->wanting != number ? state->wanting
                         : group->next == number  ? 0
                                                  : group->next;
        next->previous = group->previous;
        previous->next = group->next;
        group->next = 0;
        group->previous = 0;
    }
    return error;
}

int tri_stream_serves(struct tri_refresh *refresh, uint32_t number, bool *serves)
{
    const void *row;
    int error = tr_rows_get(&refresh->rows, number, &row);
    *serves = error == 0 && ((const struct tri_group_row *)row)->stream != 0;
    return error;
}

int tri_stream_is_near(struct tri_refresh *refresh, uint32_t number, bool *is_near)
{
    const void *row;
    int error = tr_rows_get(&refresh->rows, number, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_group_row *group = row;
    bool is_next = refresh->webapi->stream.write != NULL && refresh->place != NULL &&
                   group->stream_ms <= refresh->now_ms &&
                   refresh->state->streams < tri_rate_streams_max(refresh);
    *is_near = group->stream != 0 || is_next;
    return 0;
}

/* ------------------------------------------------------------------ opening */

static int send(struct tri_refresh *refresh, struct tri_refresh_batch *batch,
                const struct tri_group_row *group, uint64_t *ask)
{
    struct tr_webapi_request request = {0};
    struct tr_bytes cursor = {0};
    int error = tri_blob_get(refresh, group->cursor, &batch->arena, &cursor);
    if (error != 0) {
        return error;
    }
    struct tr_text from = {.data = (const char *)cursor.data, .size = cursor.size};
    tr_engine_call_begins(refresh->context, refresh->plugin, "stream.write");
    int result = refresh->webapi->stream.write(&batch->side, from, &request);
    tr_engine_call_ends(refresh->context);
    if (batch->error != 0 || result == TR_MEMORY) {
        return batch->error != 0 ? batch->error : result;
    }
    if (result != 0) {
        *ask = 0; /* the plugin is broken: as if there were no stream, for now */
        return 0;
    }
    return tri_call_send(refresh, &request, true, ask);
}

static void wait_longer(struct tri_refresh *refresh, struct tri_group_row *group)
{
    uint32_t wait_ms = group->wait_ms == 0 ? TR_REFRESH_STREAM_MS : 2 * group->wait_ms;
    group->wait_ms = wait_ms > TR_REFRESH_STREAM_MS_MAX ? TR_REFRESH_STREAM_MS_MAX : wait_ms;
    group->stream_ms =
        refresh->now_ms + group->wait_ms + tr_random(refresh->context) % (group->wait_ms / 4 + 1);
}

static int open(struct tri_refresh *refresh, uint32_t number)
{
    struct tri_group_row *group;
    struct tri_list_row *call;
    struct tri_refresh_batch batch;
    uint64_t ask = 0;
    int error = tri_group_edit(refresh, number, &group);
    error = error != 0 ? error : tri_stream_forget(refresh, number, group);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_batch_init(&batch, refresh, TR_WEBAPI_VERB_STREAM, number);
    error = error != 0 ? error : send(refresh, &batch, group, &ask);
    tri_refresh_batch_fini(&batch);
    if (error != 0 || ask == 0) {
        refresh->state->failed += error == 0 ? 1 : 0;
        wait_longer(refresh, group);
        return error != 0 ? error : tri_stream_want(refresh, number);
    }
    error = tri_list_find(refresh, TRI_REFRESH_CALL, ask, 0, true, &group->stream, &call);
    if (error == 0) {
        call->ask = ask;
        call->verb = TR_WEBAPI_VERB_STREAM;
        call->group = number;
        call->first_ms = refresh->now_ms;
        group->stream_ms = refresh->now_ms;
        refresh->state->streams++;
        refresh->state->stream_calls++;
    }
    return error;
}

/* The largest of those whose time has come; 0: none, and `*next_ms` is when one's comes. */
static int choose(struct tri_refresh *refresh, uint32_t *chosen, uint64_t *next_ms)
{
    uint32_t number = refresh->state->wanting;
    uint32_t most = 0;
    *chosen = 0;
    for (int i = 0; i < LOOKS_AT_ONCE; i++) {
        const void *row;
        int error = tr_rows_get(&refresh->rows, number, &row);
        if (error != 0) {
            return error;
        }
        const struct tri_group_row *group = row;
        bool is_due = group->stream_ms <= refresh->now_ms;
        if (is_due && (*chosen == 0 || group->rows > most)) {
            *chosen = number;
            most = group->rows;
        }
        *next_ms = !is_due && group->stream_ms < *next_ms ? group->stream_ms : *next_ms;
        number = group->next;
        if (number == refresh->state->wanting) {
            return 0;
        }
    }
    refresh->state->wanting = number; /* others are looked at the next time */
    *next_ms = refresh->now_ms + TR_REFRESH_STREAM_MS;
    return 0;
}

static int look_again(struct tri_refresh *refresh, uint64_t at_ms)
{
    struct tr_refresh_state *state = refresh->state;
    if (at_ms == UINT64_MAX || at_ms == 0 || state->wanting_ms == at_ms) {
        return 0;
    }
    state->wanting_ms = at_ms;
    return tr_timer_start_at(refresh->context, TRI_REFRESH_WANTING_TIMER, at_ms);
}

int tri_stream_go(struct tri_refresh *refresh, bool *more)
{
    struct tr_refresh_state *state = refresh->state;
    uint64_t next_ms = UINT64_MAX;
    uint32_t number;
    if (state->wanting == 0 || refresh->place == NULL || state->wanting_ms > refresh->now_ms ||
        state->streams >= tri_rate_streams_max(refresh)) {
        return 0;
    }
    int error = choose(refresh, &number, &next_ms);
    if (error != 0 || number == 0) {
        return error != 0 ? error : look_again(refresh, next_ms);
    }
    if (!tri_rate_allows_stream(refresh, &next_ms)) {
        return look_again(refresh,
                          next_ms == UINT64_MAX ? refresh->now_ms + TR_REFRESH_STREAM_MS : next_ms);
    }
    error = open(refresh, number);
    *more = *more || state->wanting != 0;
    return error;
}

/* -------------------------------------------------------------------- lines */

static int take_line(struct tri_refresh *refresh, struct tri_refresh_batch *batch,
                     struct tr_bytes line)
{
    tr_engine_call_begins(refresh->context, refresh->plugin, "stream.line");
    int result = refresh->webapi->stream.line(&batch->side, line);
    tr_engine_call_ends(refresh->context);
    if (batch->error != 0 || result == TR_MEMORY) {
        return batch->error != 0 ? batch->error : result;
    }
    refresh->state->failed += result != 0 ? 1 : 0;
    return 0;
}

static int take_lines(struct tri_refresh *refresh, struct tri_refresh_batch *batch,
                      struct tr_bytes bytes)
{
    struct tr_bytes line;
    int error = 0;
    while (error == 0 && tr_http_line_next(&bytes, &line)) {
        error = line.size == 0 ? 0 : take_line(refresh, batch, line);
    }
    return error;
}

static struct tr_ref http_service(void)
{
    return (struct tr_ref){.key = {.serial = TR_SERVICE_HTTP}};
}

int tri_stream_on_part(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tr_http_part part;
    struct tri_list_row *call;
    struct tri_refresh_batch batch;
    uint32_t number;
    int error = tr_message_read(message, http_part, &part);
    error = error != 0
                ? error
                : tri_list_find(refresh, TRI_REFRESH_CALL, part.ask, 0, false, &number, &call);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error; /* of one that was closed */
    }
    error = tri_refresh_batch_init(&batch, refresh, TR_WEBAPI_VERB_STREAM, call->group);
    uint32_t group = call->group;
    error = error != 0 ? error : tri_group_hold(refresh, group);
    error = error != 0 ? error : tri_group_edit(refresh, group, &batch.stream);
    error = error != 0 ? error : take_lines(refresh, &batch, part.bytes);
    if (error == 0) {
        batch.stream->wait_ms = 0;
    }
    tri_refresh_batch_fini(&batch);
    error = error != 0 ? error : tri_group_let_go(refresh, group);
    const struct tr_http_more more = {.ask = part.ask, .bytes = part.bytes.size};
    return error != 0 ? error
                      : tr_tell(refresh->context, http_service(), &tr_http_more_schema, &more);
}

/* --------------------------------------------------------------------- ends */

/* Its place is not known any more: from the start, and all jobs are asked about. */
static int begin_anew(struct tri_refresh *refresh, struct tri_group_row *group)
{
    struct tr_refresh_state *state = refresh->state;
    if (group->cursor == 0) {
        return 0;
    }
    state->sweep = 1;
    state->sweeps++;
    group->gap = state->sweeps;
    return tri_blob_set(refresh, &group->cursor, (struct tr_bytes){0});
}

int tri_stream_on_end(struct tri_refresh *refresh, uint32_t number, struct tri_list_row *call,
                      const struct tri_verdict *verdict)
{
    struct tri_group_row *group;
    uint32_t group_number = call->group;
    uint32_t gone = refresh->webapi->stream.gone;
    int error = tri_group_edit(refresh, group_number, &group);
    if (error != 0) {
        return error;
    }
    refresh->state->streams--;
    group->stream = 0;
    group->wait_ms = verdict->judgement == TR_WEBAPI_READ_JUDGED ? 0 : group->wait_ms;
    wait_longer(refresh, group);
    if (gone != 0 && verdict->status == gone) {
        error = begin_anew(refresh, group);
    }
    error = error != 0 ? error : tr_rows_remove(&refresh->rows, number);
    if (error != 0) {
        return error;
    }
    return group->rows > 0 ? tri_stream_want(refresh, group_number)
                           : tri_group_try_remove(refresh, group_number);
}

int tri_stream_close(struct tri_refresh *refresh, struct tri_group_row *group)
{
    struct tri_list_row *call;
    uint32_t number = group->stream;
    if (number == 0) {
        return 0;
    }
    int error = tri_list_edit(refresh, number, &call);
    struct tr_http_cancel cancel = {.ask = error == 0 ? call->ask : 0};
    error = error != 0 ? error
                       : tr_tell(refresh->context, http_service(), &tr_http_cancel_schema, &cancel);
    error = error != 0 ? error : tr_ask_cancel(refresh->context, cancel.ask);
    error = error != 0 ? error : tr_rows_remove(&refresh->rows, number);
    if (error == 0) {
        refresh->state->streams--;
        refresh->state->wanting_ms = 0;
        group->stream = 0;
    }
    return error;
}

/* -------------------------------------------------------------------- sweeps */

/*
 * A job whose news may have been missed is asked about; those with a stream hear by it. Where the
 * plugin is in quarantine its tasks are told what they know, and end by that.
 */
static int sweep_job(struct tri_refresh *refresh, uint32_t number)
{
    struct tri_job_row *job;
    const void *row;
    bool is_called;
    int error = tri_job_edit(refresh, number, &job);
    if (error == 0 && refresh->is_aside) {
        return tri_job_tell(refresh, job);
    }
    error = error != 0 ? error : tr_rows_get(&refresh->rows, job->group, &row);
    if (error != 0 || job->list == 0 ||
        (job->stage != TR_WEBAPI_STAGE_SUBMITTED && job->stage != TR_WEBAPI_STAGE_CANCELLING)) {
        return error;
    }
    bool is_wanted = refresh->webapi->stream.write == NULL ||
                     ((const struct tri_group_row *)row)->gap == refresh->state->sweeps;
    if (job->stage == TR_WEBAPI_STAGE_SUBMITTED) {
        job->since_ms = refresh->now_ms; /* what nobody asked for is not lost by that */
    }
    error = tr_rows_get(&refresh->rows, job->list, &row);
    is_called = error == 0 && ((const struct tri_list_row *)row)->kind != TRI_REFRESH_CLOCK;
    if (error != 0 || is_called || !is_wanted) {
        return error;
    }
    error = tri_list_remove(refresh, job);
    return error != 0 ? error : tri_queue_add(refresh, number, TR_WEBAPI_VERB_STATUS, false);
}

int tri_stream_sweep(struct tri_refresh *refresh, bool *more)
{
    struct tr_refresh_state *state = refresh->state;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < SWEEP_ROWS && state->sweep != 0; i++) {
        const void *row;
        uint32_t number = state->sweep;
        error = tr_rows_get(&refresh->rows, number, &row);
        uint32_t kind = error == 0 ? ((const struct tr_rows_head *)row)->key.kind : 0;
        bool is_job = kind == TRI_REFRESH_JOB || kind == TRI_REFRESH_STRAY;
        error = error == TR_NOT_FOUND ? 0 : error;
        error = error != 0 || !is_job ? error : sweep_job(refresh, number);
        state->sweep = number >= refresh->rows.used ? 0 : number + 1;
    }
    *more = *more || state->sweep != 0;
    return error;
}
