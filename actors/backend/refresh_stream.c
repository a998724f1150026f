/*
 * Streams: news of a group's jobs as they come, one call that stays open for each group, as many
 * as the endpoint lets us have. Groups that have none are polled. In the watched shape it is one
 * for each scope (refresh_scope.c), whose rows are handled here as those of groups.
 *
 * Where a stream goes on from is kept with what its lines have changed, so none is missed and those
 * that come twice are old news. A stream may end at any time; it is asked for again. One whose
 * place the back end does not know any more, or refuses, begins anew, and a sweep asks about all
 * its jobs, for what may have been left out.
 */
#include "actors/backend/refresh.h"
#include "schemas/runtime/http.h"

/* Groups that want a stream of which the largest gets the next one; rows one message sweeps. */
#define LOOKS_AT_ONCE 64
#define SWEEP_ROWS 256

/* ------------------------------------------------------------ groups that want one */

int tri_refresh_stream_want(struct tri_refresh *refresh, uint32_t number)
{
    const void *row;
    int error = tri_refresh_scope_of(refresh, number, &number);
    if (error != 0 || number == 0) {
        return error;
    }
    error = tr_rows_get(&refresh->rows, number, &row);
    const struct tri_group_row *group = row;
    if (error != 0 || refresh->webapi->stream.write == NULL || group->stream != 0 ||
        group->links[TRI_GROUPS_WANTING].next != 0) {
        return error;
    }
    refresh->state->stream_pending_ms = 0;
    return tri_refresh_group_enter(refresh, number, TRI_GROUPS_WANTING);
}

/*
 * A watch that is opened anew tells what was missed, so it serves meanwhile; it does not where the
 * settings want no streams.
 */
int tri_refresh_stream_serves(struct tri_refresh *refresh, uint32_t number, bool *serves)
{
    const void *row;
    *serves = false;
    int error = tri_refresh_scope_of(refresh, number, &number);
    if (error != 0 || number == 0) {
        return error;
    }
    error = tr_rows_get(&refresh->rows, number, &row);
    const struct tri_group_row *group = row;
    bool is_coming = error == 0 && refresh->watched != NULL && refresh->place != NULL &&
                     group->links[TRI_GROUPS_WANTING].next != 0 &&
                     tri_refresh_rate_streams_max(refresh) > 0;
    *serves = error == 0 && (group->stream != 0 || is_coming);
    return error;
}

int tri_refresh_stream_is_near(struct tri_refresh *refresh, uint32_t number, bool *is_near)
{
    const void *row;
    *is_near = false;
    int error = tri_refresh_scope_of(refresh, number, &number);
    if (error != 0 || number == 0) {
        return error;
    }
    error = tr_rows_get(&refresh->rows, number, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_group_row *group = row;
    bool is_next = refresh->webapi->stream.write != NULL && refresh->place != NULL &&
                   group->stream_ms <= refresh->now_ms &&
                   refresh->state->streams < tri_refresh_rate_streams_max(refresh);
    *is_near = group->stream != 0 || is_next;
    return 0;
}

/* ------------------------------------------------------------------ opening */

/* What a stream is asked for. */
enum wanted { WANTED_PAGE, WANTED_BEGIN, WANTED_STREAM };

/* The plugin's request: for a page of the list, or for a stream from its place on. */
static int write(struct tri_refresh *refresh, struct tri_refresh_batch *batch, enum wanted wanted,
                 struct tr_bytes place, struct tr_webapi_request *request)
{
    static const char *const names[] = {[WANTED_PAGE] = "watch.write_list",
                                        [WANTED_BEGIN] = "watch.write_begin",
                                        [WANTED_STREAM] = "stream.write"};
    struct tr_text from = {.data = (const char *)place.data, .size = place.size};
    tr_engine_call_begins(refresh->context, refresh->plugin, names[wanted]);
    int result = wanted == WANTED_PAGE ? refresh->watched->write_list(&batch->side, from, request)
                 : wanted == WANTED_BEGIN
                     ? refresh->watched->write_begin(&batch->side, request)
                     : refresh->webapi->stream.write(&batch->side, from, request);
    tr_engine_call_ends(refresh->context);
    return result;
}

static int send(struct tri_refresh *refresh, struct tri_refresh_batch *batch,
                struct tri_group_row *group, uint64_t *ask)
{
    struct tr_webapi_request request = {0};
    struct tr_bytes place = {0};
    bool begins = tri_refresh_scope_begins(refresh, group);
    enum wanted wanted = !begins ? WANTED_STREAM : group->is_begun ? WANTED_BEGIN : WANTED_PAGE;
    bool is_page = wanted == WANTED_PAGE;
    int error =
        tri_refresh_blob_get(refresh, is_page ? group->page : group->cursor, &batch->arena, &place);
    if (error != 0) {
        return error;
    }
    int result = write(refresh, batch, wanted, place, &request);
    if (batch->error != 0) {
        return batch->error;
    }
    if (result == TR_MEMORY) {
        return result;
    }
    if (result != 0) {
        *ask = 0; /* the plugin is broken: as if there were no stream, for now */
        return 0;
    }
    return tri_refresh_call_send(refresh, &request, is_page ? TRI_CALL_PAGE : TRI_CALL_STREAM, ask);
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
    int error = tri_refresh_group_edit(refresh, number, &group);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_group_leave(refresh, number, TRI_GROUPS_WANTING);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_batch_init(&batch, refresh, TR_WEBAPI_VERB_STREAM, number);
    if (error == 0) {
        error = send(refresh, &batch, group, &ask);
    }
    tri_refresh_batch_fini(&batch);
    if (error != 0 || ask == 0) {
        wait_longer(refresh, group);
        if (error != 0) {
            return error;
        }
        refresh->state->failed++;
        return tri_refresh_stream_want(refresh, number);
    }
    error = tri_refresh_list_find(refresh, TRI_REFRESH_CALL, ask, 0, true, &group->stream, &call);
    if (error == 0) {
        error = tri_refresh_group_enter(refresh, number, TRI_GROUPS_STREAMING);
    }
    if (error == 0) {
        call->ask = ask;
        call->verb = TR_WEBAPI_VERB_STREAM;
        call->group = number;
        call->first_ms = refresh->now_ms;
        group->stream_ms = refresh->now_ms;
        group->has_left = false;
        refresh->state->streams++;
        refresh->state->stream_calls++;
    }
    return error != 0 ? error : tri_refresh_idle_begin(refresh, group);
}

/* The next groups of a ring that one handling looks at, from its head on, which moves. */
struct look {
    uint32_t *head;
    uint32_t first;
    uint32_t next;
    int left;
};

static struct look look_at(uint32_t *head)
{
    return (struct look){.head = head, .first = *head, .next = *head, .left = LOOKS_AT_ONCE};
}

/* The next one; `*number` is 0 where there is none, or enough were looked at. */
static int look_next(struct tri_refresh *refresh, struct look *look, uint8_t ring, uint32_t *number,
                     const struct tri_group_row **group)
{
    const void *row;
    *number = look->next;
    if (look->next == 0 || look->left-- == 0) {
        *look->head = look->next != 0 ? look->next : *look->head; /* others are first then */
        *number = 0;
        return 0;
    }
    int error = tr_rows_get(&refresh->rows, look->next, &row);
    if (error == 0) {
        *group = row;
        uint32_t next = (*group)->links[ring].next;
        look->next = next == look->first ? 0 : next;
    }
    return error;
}

/*
 * How much a group needs a stream: as much as it has jobs, or more where only that ends unknown
 * outcomes.
 */
static uint32_t need_of(const struct tri_refresh *refresh, const struct tri_group_row *group)
{
    bool is_dire = group->unknown > 0 && refresh->webapi->find.items_max == 0;
    return group->jobs + (is_dire ? TR_REFRESH_STREAM_SHARE * TR_REFRESH_ROWS_MAX : 0);
}

/* The neediest of those whose time has come; 0: none, and `*next_ms` is when one's comes. */
static int choose(struct tri_refresh *refresh, uint32_t *chosen, uint32_t *need, uint64_t *next_ms)
{
    struct look look = look_at(&refresh->state->stream_pending);
    const struct tri_group_row *group;
    uint32_t number;
    *chosen = 0;
    *need = 0;
    int error = look_next(refresh, &look, TRI_GROUPS_WANTING, &number, &group);
    while (error == 0 && number != 0) {
        bool is_due = group->stream_ms <= refresh->now_ms;
        if (is_due && (*chosen == 0 || need_of(refresh, group) > *need)) {
            *chosen = number;
            *need = need_of(refresh, group);
        }
        *next_ms = !is_due && group->stream_ms < *next_ms ? group->stream_ms : *next_ms;
        error = look_next(refresh, &look, TRI_GROUPS_WANTING, &number, &group);
    }
    if (look.next != 0 && *next_ms > refresh->now_ms + TR_REFRESH_STREAM_MS) {
        *next_ms = refresh->now_ms + TR_REFRESH_STREAM_MS; /* others are looked at */
    }
    return error;
}

/* The least needy of those that have had a stream for a while; 0: none. */
static int choose_least(struct tri_refresh *refresh, uint32_t *chosen, uint32_t *need)
{
    struct look look = look_at(&refresh->state->streaming);
    const struct tri_group_row *group;
    uint32_t number;
    *chosen = 0;
    int error = look_next(refresh, &look, TRI_GROUPS_STREAMING, &number, &group);
    while (error == 0 && number != 0) {
        bool is_old =
            group->rows == 0 || group->stream_ms + TR_REFRESH_STREAM_HELD_MS <= refresh->now_ms;
        if (is_old && (*chosen == 0 || need_of(refresh, group) < *need)) {
            *chosen = number;
            *need = need_of(refresh, group);
        }
        error = look_next(refresh, &look, TRI_GROUPS_STREAMING, &number, &group);
    }
    return error;
}

/* Whether there is room for one that is so needy; where all are taken, by whose, that is to end. */
static int find_room(struct tri_refresh *refresh, uint32_t need, bool *has_room, uint32_t *gives)
{
    uint32_t least = 0;
    *gives = 0;
    *has_room = refresh->state->streams < tri_refresh_rate_streams_max(refresh);
    if (*has_room || need == 0) {
        return 0;
    }
    int error = choose_least(refresh, gives, &least);
    *has_room = error == 0 && *gives != 0 && need / TR_REFRESH_STREAM_SHARE >= least;
    return error;
}

/* A group's stream is another's from now on; it may wait for one again. */
static int give_away(struct tri_refresh *refresh, uint32_t number)
{
    const void *row;
    int error = tri_refresh_stream_close(refresh, number);
    if (error == 0) {
        error = tr_rows_get(&refresh->rows, number, &row);
    }
    bool is_resting = error == 0 && ((const struct tri_group_row *)row)->rows == 0;
    return error != 0 || is_resting ? error : tri_refresh_stream_want(refresh, number);
}

static int look_again(struct tri_refresh *refresh, uint64_t at_ms)
{
    struct tr_refresh_state *state = refresh->state;
    if (at_ms == UINT64_MAX || at_ms == 0 || state->stream_pending_ms == at_ms) {
        return 0;
    }
    state->stream_pending_ms = at_ms;
    return tr_timer_start_at(refresh->context, TRI_REFRESH_WANTING_TIMER, at_ms);
}

int tri_refresh_stream_go(struct tri_refresh *refresh, bool *more)
{
    struct tr_refresh_state *state = refresh->state;
    uint64_t next_ms = UINT64_MAX;
    uint32_t number;
    uint32_t gives;
    uint32_t need;
    bool has_room;
    if (state->stream_pending == 0 || refresh->place == NULL ||
        state->stream_pending_ms > refresh->now_ms) {
        return 0;
    }
    int error = choose(refresh, &number, &need, &next_ms);
    if (error != 0) {
        return error;
    }
    if (number == 0) {
        return look_again(refresh, next_ms);
    }
    error = find_room(refresh, need, &has_room, &gives);
    next_ms = refresh->now_ms + TR_REFRESH_STREAM_MS;
    if (error != 0) {
        return error;
    }
    if (!has_room || !tri_refresh_rate_allows_stream(refresh, &next_ms)) {
        return look_again(refresh, next_ms);
    }
    error = gives == 0 ? 0 : give_away(refresh, gives);
    if (error == 0) {
        error = open(refresh, number);
    }
    *more = *more || state->stream_pending != 0;
    return error;
}

/* -------------------------------------------------------------------- lines */

static int take_line(struct tri_refresh *refresh, struct tri_refresh_batch *batch,
                     struct tr_bytes line)
{
    bool is_item = batch->stream->is_listing && !batch->stream->is_begun;
    refresh->list = batch->stream->is_listing ? batch->stream->lists : 0;
    tr_engine_call_begins(refresh->context, refresh->plugin,
                          is_item ? "watch.item" : "stream.line");
    int result = is_item ? refresh->watched->item(&batch->side, line)
                         : refresh->webapi->stream.line(&batch->side, line);
    tr_engine_call_ends(refresh->context);
    refresh->list = 0;
    if (batch->error != 0) {
        return batch->error;
    }
    if (result == TR_MEMORY) {
        return result;
    }
    if (result != 0) {
        refresh->state->failed++;
        tri_refresh_group_tear(batch->stream);
        /* A watch has left something out: a list follows. Who is missing in a list that has, is not
         * known. */
        batch->begins_anew = refresh->watched != NULL && !is_item;
        batch->stream->list_ms = is_item ? 0 : batch->stream->list_ms;
    }
    return 0;
}

static int take_lines(struct tri_refresh *refresh, struct tri_refresh_batch *batch,
                      struct tr_bytes bytes)
{
    struct tr_bytes line;
    int error = 0;
    while (error == 0 && !batch->begins_anew && tr_http_line_next(&bytes, &line)) {
        error = line.size == 0 ? 0 : take_line(refresh, batch, line);
    }
    return error;
}

/*
 * A stream is open since its request has left, not since it was asked for: while the store cannot
 * commit nothing leaves. What is concluded from its silence needs that (refresh_reconcile.c).
 */
static void note_departure(struct tri_refresh *refresh, struct tri_group_row *group)
{
    group->stream_ms = group->has_left ? group->stream_ms : refresh->now_ms;
    group->has_left = true;
}

static void note_words(struct tri_refresh *refresh, struct tri_group_row *group)
{
    group->wait_ms = 0;
    group->idle_ms = 0;
    group->heard_ms = refresh->now_ms;
}

static struct tr_ref http_service(void)
{
    return (struct tr_ref){.key = {TR_GROUP_HERE, TR_SERVICE_HTTP}};
}

/* Its cursor is not known any more: the watch ends, and a list begins. */
static int begin_list_anew(struct tri_refresh *refresh, uint32_t number,
                           struct tri_group_row *scope)
{
    int error = tri_refresh_scope_begin_anew(refresh, scope);
    return error != 0 ? error : tri_refresh_stream_open_anew(refresh, number);
}

int tri_refresh_stream_on_part(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tr_http_part part;
    struct tri_list_row *call;
    struct tri_refresh_batch batch;
    uint32_t number;
    int error = tr_message_read(message, http_part, &part);
    if (error == 0) {
        error =
            tri_refresh_list_find(refresh, TRI_REFRESH_CALL, part.ask, 0, false, &number, &call);
    }
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error; /* of one that was closed */
    }
    error = tri_refresh_batch_init(&batch, refresh, TR_WEBAPI_VERB_STREAM, call->group);
    uint32_t group = call->group;
    refresh->scope = refresh->watched != NULL ? group : 0;
    if (error == 0) {
        /*
         * An end in these lines may take the last job away, and with it the group whose row is in
         * use.
         */
        error = tri_refresh_group_hold(refresh, group);
    }
    if (error == 0) {
        error = tri_refresh_group_edit(refresh, group, &batch.stream);
    }
    if (error == 0) {
        error = take_lines(refresh, &batch, part.bytes);
    }
    refresh->scope = 0;
    if (error == 0) {
        note_departure(refresh, batch.stream);
    }
    if (error == 0 && part.bytes.size > 0) {
        note_words(refresh, batch.stream);
    }
    tri_refresh_batch_fini(&batch);
    bool begins_anew = error == 0 && batch.begins_anew;
    if (begins_anew) {
        error = begin_list_anew(refresh, group, batch.stream);
    }
    if (error == 0) {
        error = tri_refresh_group_let_go(refresh, group);
    }
    if (error != 0 || part.bytes.size == 0 || begins_anew) {
        return error;
    }
    /*
     * Lets the service hand on more: it holds the server back while parts are not dealt with. The
     * message leaves with the commit of what the lines have changed.
     */
    const struct tr_http_more more = {.ask = part.ask, .bytes = part.bytes.size};
    return tr_tell(refresh->context, http_service(), &tr_http_more_schema, &more);
}

/* --------------------------------------------------------------------- ends */

/* By the status that the plugin names, or any other that refuses what has only a place in it. */
static bool is_place_refused(const struct tri_refresh *refresh,
                             const struct tri_call_result *result)
{
    uint32_t gone = refresh->webapi->stream.gone;
    return (gone != 0 && result->status == gone) ||
           result->response_class == TR_WEBAPI_RESPONSE_REFUSED;
}

/* Its place is not known any more: from the start, and all jobs are asked about. */
static int begin_anew(struct tri_refresh *refresh, struct tri_group_row *group)
{
    struct tr_refresh_state *state = refresh->state;
    tri_refresh_group_tear(group);
    if (group->cursor == 0) {
        return 0;
    }
    state->sweep = 1;
    state->sweeps++;
    group->gap = state->sweeps;
    return tri_refresh_blob_set(refresh, &group->cursor, (struct tr_bytes){0});
}

int tri_refresh_stream_on_end(struct tri_refresh *refresh, uint32_t number,
                              struct tri_list_row *call, const struct tri_call_result *result)
{
    struct tri_group_row *group;
    uint32_t group_number = call->group;
    int error = tri_refresh_group_edit(refresh, group_number, &group);
    if (error != 0) {
        return error;
    }
    refresh->state->streams--;
    refresh->state->stream_pending_ms = 0;
    group->stream = 0;
    group->wait_ms = result->response_class == TR_WEBAPI_RESPONSE_READ ? 0 : group->wait_ms;
    bool is_refused = is_place_refused(refresh, result);
    bool is_prompt = false;
    if (refresh->watched != NULL) {
        error =
            tri_refresh_scope_on_end(refresh, group_number, group, result, is_refused, &is_prompt);
    } else if (is_refused) {
        error = begin_anew(refresh, group);
    }
    if (is_prompt) {
        group->wait_ms = 0;
        group->stream_ms = refresh->now_ms;
    } else {
        wait_longer(refresh, group);
    }
    if (error == 0) {
        error = tr_rows_remove(&refresh->rows, number);
    }
    if (error == 0) {
        error = tri_refresh_group_leave(refresh, group_number, TRI_GROUPS_STREAMING);
    }
    if (error != 0) {
        return error;
    }
    return group->rows > 0 ? tri_refresh_stream_want(refresh, group_number)
                           : tri_refresh_group_try_remove(refresh, group_number);
}

int tri_refresh_stream_close(struct tri_refresh *refresh, uint32_t number)
{
    struct tri_list_row *call;
    struct tri_group_row *group;
    int error = tri_refresh_group_edit(refresh, number, &group);
    if (error != 0 || group->stream == 0) {
        return error;
    }
    error = tri_refresh_list_edit(refresh, group->stream, &call);
    if (error != 0) {
        return error;
    }
    /*
     * In this order, as schemas/runtime/http.h asks for: the service ends the call before the ask
     * is forgotten here. What still comes of it finds no row.
     */
    struct tr_http_cancel cancel = {.ask = call->ask};
    error = tr_tell(refresh->context, http_service(), &tr_http_cancel_schema, &cancel);
    if (error == 0) {
        error = tr_ask_cancel(refresh->context, cancel.ask);
    }
    if (error == 0) {
        error = tr_rows_remove(&refresh->rows, group->stream);
    }
    if (error == 0) {
        error = tri_refresh_group_leave(refresh, number, TRI_GROUPS_STREAMING);
    }
    if (error == 0) {
        refresh->state->streams--;
        refresh->state->stream_pending_ms = 0;
        group->stream = 0;
    }
    return error;
}

/* Others that want one do not get between, unless none may leave now. */
int tri_refresh_stream_open_anew(struct tri_refresh *refresh, uint32_t number)
{
    uint64_t when_ms;
    int error = tri_refresh_stream_close(refresh, number);
    if (error != 0) {
        return error;
    }
    return tri_refresh_rate_allows_stream(refresh, &when_ms)
               ? open(refresh, number)
               : tri_refresh_stream_want(refresh, number);
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
    int error = tri_refresh_job_edit(refresh, number, &job);
    if (error == 0 && refresh->is_aside) {
        return tri_refresh_job_tell(refresh, job);
    }
    if (error == 0) {
        error = tr_rows_get(&refresh->rows, job->group, &row);
    }
    if (error == 0 && refresh->watched != NULL) {
        return tri_refresh_scope_check(refresh, number, job);
    }
    if (error != 0 || job->list == 0 ||
        (job->stage != TR_WEBAPI_STAGE_SUBMITTED && job->stage != TR_WEBAPI_STAGE_CANCELLING)) {
        return error;
    }
    bool is_wanted = refresh->webapi->stream.write == NULL ||
                     ((const struct tri_group_row *)row)->gap == refresh->state->sweeps;
    error = tr_rows_get(&refresh->rows, job->list, &row);
    is_called = error == 0 && ((const struct tri_list_row *)row)->kind != TRI_REFRESH_CLOCK;
    if (error != 0 || is_called || !is_wanted) {
        return error;
    }
    error = tri_refresh_list_remove(refresh, job);
    return error != 0 ? error
                      : tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_STATUS, false);
}

int tri_refresh_stream_sweep(struct tri_refresh *refresh, bool *more)
{
    struct tr_refresh_state *state = refresh->state;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < SWEEP_ROWS && state->sweep != 0; i++) {
        const void *row;
        uint32_t number = state->sweep;
        error = tr_rows_get(&refresh->rows, number, &row);
        if (error == 0) {
            uint32_t kind = ((const struct tr_rows_head *)row)->key.kind;
            bool is_job = kind == TRI_REFRESH_JOB || kind == TRI_REFRESH_STRAY;
            error = is_job ? sweep_job(refresh, number) : 0;
        } else if (error == TR_NOT_FOUND) {
            error = 0; /* a free place */
        }
        state->sweep = number >= refresh->rows.used ? 0 : number + 1;
    }
    *more = *more || state->sweep != 0;
    return error;
}
