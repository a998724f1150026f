/*
 * Scopes: in the watched shape (schemas/engine/webapi.h) the jobs of many groups are shown by one
 * stream, which begins with a list. A scope is a row like a group's, of a kind of its own, with the
 * stream's cursor and its place in the rings; the groups in it count as its jobs.
 *
 *     no cursor   a list, page after page; then the watch from the list's version on. Or, where
 *                 the back end has that, a watch whose begin is the list
 *     a cursor    the watch, from there on; behind one that has ended in order, a list is due if
 *                 the last one is old
 *
 * Each list has a number, and each job the number of the last list that has shown it. A job that is
 * not in a list that has ended, and was made before that began, is not there any more: a list shows
 * all there is since it began, and what was deleted is never made again under its name. The walk
 * over the rows that finds such jobs may come late, or twice, for that stays true.
 */
#include "actors/backend/refresh.h"

/* A watch that was open for so long and ends in order is asked for again at once. */
#define PROMPT_MS 10000

static bool is_scope(const struct tri_group_row *group)
{
    return group->head.key.kind == TRI_REFRESH_SCOPE;
}

/* -------------------------------------------------------------------- rows */

/* What the plugin says; its errors, and too long a name, leave a group without a scope. */
static int ask_name(struct tri_refresh *refresh, struct tri_refresh_batch *batch,
                    int (*ask)(struct tr_webapi_batch *batch, struct tr_text *scope),
                    struct tr_text *name)
{
    tr_engine_call_begins(refresh->context, refresh->plugin, "watch.scope");
    int result = ask(&batch->side, name);
    tr_engine_call_ends(refresh->context);
    if (result == TR_MEMORY) {
        return result;
    }
    bool is_good = result == 0 && name->size <= TR_WEBAPI_JOB_SET_BYTES_MAX;
    refresh->state->failed += is_good ? 0 : 1;
    name->size = is_good ? name->size : 0;
    return 0;
}

static int find_or_add(struct tri_refresh *refresh, struct tr_text name, uint32_t *number)
{
    struct tr_bytes bytes = {.data = (const uint8_t *)name.data, .size = name.size};
    struct tr_rows_key key = tr_rows_key_bytes(TRI_REFRESH_SCOPE, bytes);
    void *row;
    int error = tr_rows_find(&refresh->rows, &key, number);
    if (error != TR_NOT_FOUND) {
        return error;
    }
    error = tr_rows_add(&refresh->rows, &key, number, &row);
    return error != 0 ? error
                      : tri_refresh_blob_set(refresh, &((struct tri_group_row *)row)->name, bytes);
}

/* One group more for which there is a scope, which stays for as long as it has some. */
static int hold(struct tri_refresh *refresh, struct tr_text name, uint32_t *number)
{
    struct tri_group_row *scope;
    int error = find_or_add(refresh, name, number);
    if (error == 0) {
        error = tri_refresh_group_edit(refresh, *number, &scope);
    }
    if (error != 0) {
        return error;
    }
    scope->rows++;
    scope->jobs++;
    return tri_refresh_group_leave(refresh, *number, TRI_GROUPS_RESTING);
}

/* From now on the group is in its scope, and in the one beside it that shows parts of its jobs. */
static int enter(struct tri_refresh *refresh, uint32_t number, struct tr_text name,
                 struct tr_text beside)
{
    struct tri_group_row *group;
    uint32_t scope_number;
    uint32_t beside_number = 0;
    int error = hold(refresh, name, &scope_number);
    if (error == 0 && beside.size > 0 && !tr_text_equal(beside, name)) {
        error = hold(refresh, beside, &beside_number);
    }
    if (error == 0) {
        error = tri_refresh_group_edit(refresh, number, &group);
    }
    if (error != 0) {
        return error;
    }
    group->scope = scope_number;
    group->beside = beside_number;
    return beside_number == 0 ? 0 : tri_refresh_stream_want(refresh, beside_number);
}

/* The names that the plugin gives, and then the rows. */
static int name_and_enter(struct tri_refresh *refresh, uint32_t group)
{
    struct tri_refresh_batch batch;
    struct tr_text name = {0};
    struct tr_text beside = {0};
    int error = tri_refresh_batch_init(&batch, refresh, TR_WEBAPI_VERB_STREAM, group);
    if (error == 0) {
        error = ask_name(refresh, &batch, refresh->watched->scope, &name);
    }
    if (error == 0 && refresh->plugin->abi >= 5 && refresh->watched->beside != NULL) {
        error = ask_name(refresh, &batch, refresh->watched->beside, &beside);
    }
    if (error == 0 && name.size > 0) {
        error = enter(refresh, group, name, beside);
    }
    tri_refresh_batch_fini(&batch);
    return error;
}

int tri_refresh_scope_of(struct tri_refresh *refresh, uint32_t group, uint32_t *number)
{
    const void *row;
    int error = tr_rows_get(&refresh->rows, group, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_group_row *known = row;
    *number = known->scope;
    if (refresh->watched == NULL || is_scope(known)) {
        *number = group;
        return 0;
    }
    if (known->scope != 0 || refresh->place == NULL) {
        return 0;
    }
    error = name_and_enter(refresh, group);
    if (error == 0) {
        error = tr_rows_get(&refresh->rows, group, &row);
    }
    if (error == 0) {
        *number = ((const struct tri_group_row *)row)->scope;
    }
    return error;
}

static int release(struct tri_refresh *refresh, uint32_t number)
{
    struct tri_group_row *scope;
    int error = number == 0 ? 0 : tri_refresh_group_edit(refresh, number, &scope);
    if (error != 0 || number == 0) {
        return error;
    }
    scope->rows--;
    scope->jobs--;
    return tri_refresh_group_try_remove(refresh, number);
}

int tri_refresh_scope_leave(struct tri_refresh *refresh, struct tri_group_row *group)
{
    uint32_t number = group->scope;
    uint32_t beside = group->beside;
    if (number == 0 || is_scope(group)) {
        return 0;
    }
    group->scope = 0;
    group->beside = 0;
    int error = release(refresh, number);
    return error != 0 ? error : release(refresh, beside);
}

/* ------------------------------------------------------------------- lists */

/* What was listed is of an earlier one. 0 is none. */
static void number_list(struct tri_group_row *scope)
{
    scope->lists = scope->lists == UINT8_MAX ? 1 : (uint8_t)(scope->lists + 1);
}

bool tri_refresh_scope_begins(const struct tri_refresh *refresh, struct tri_group_row *scope)
{
    if (refresh->watched == NULL || !is_scope(scope) || scope->cursor != 0) {
        return false;
    }
    bool broke_off = scope->is_begun;
    scope->is_begun = scope->page == 0 && (broke_off || !scope->is_listing) && !scope->is_paged &&
                      refresh->plugin->abi >= 7 && refresh->watched->write_begin != NULL;
    if (broke_off) {
        number_list(scope); /* what it has shown may be gone; else it goes on, as a list would */
    } else if (!scope->is_listing) {
        scope->is_listing = true;
        scope->list_ms = refresh->now_ms;
        number_list(scope);
    }
    return true;
}

void tri_refresh_scope_caught_up(struct tri_refresh *refresh, struct tri_group_row *scope)
{
    if (scope->is_begun) {
        scope->is_begun = false;
        scope->is_listing = false;
        refresh->state->sweep = 1; /* who is missing */
    }
}

/*
 * A watch that was refused before it had shown what there is goes on as a list: who has become
 * known since it was asked for is not missing there, as if it had been a list from the beginning.
 */
static void go_on_by_pages(struct tri_group_row *scope)
{
    scope->is_paged = true;
    scope->is_begun = false;
    number_list(scope); /* what it has shown may be gone by now */
}

int tri_refresh_scope_begin_anew(struct tri_refresh *refresh, struct tri_group_row *scope)
{
    if (scope->is_begun) {
        go_on_by_pages(scope);
    } else {
        scope->list_ms = scope->is_listing ? 0 : scope->list_ms; /* half a list: none is missing */
        scope->is_listing = false;
    }
    int error = tri_refresh_blob_set(refresh, &scope->page, (struct tr_bytes){0});
    return error != 0 ? error : tri_refresh_blob_set(refresh, &scope->cursor, (struct tr_bytes){0});
}

/* The plugin reads what the page says beside its items. */
static int read_rest(struct tri_refresh *refresh, uint32_t number, struct tri_group_row *scope,
                     struct tr_bytes rest)
{
    struct tri_refresh_batch batch;
    int error = tri_refresh_batch_init(&batch, refresh, TR_WEBAPI_VERB_STREAM, number);
    batch.stream = scope;
    if (error == 0) {
        tr_engine_call_begins(refresh->context, refresh->plugin, "watch.rest");
        int result = refresh->watched->rest(&batch.side, rest);
        tr_engine_call_ends(refresh->context);
        error = batch.error != 0 ? batch.error : result == TR_MEMORY ? result : 0;
        refresh->state->failed += result != 0 ? 1 : 0;
    }
    tri_refresh_batch_fini(&batch);
    return error;
}

/* A page has come to its end: the next one, or the watch; what says neither begins anew. */
static int end_page(struct tri_refresh *refresh, uint32_t number, struct tri_group_row *scope,
                    struct tr_bytes rest, bool *is_prompt)
{
    int error = tri_refresh_blob_set(refresh, &scope->page, (struct tr_bytes){0});
    if (error == 0) {
        error = read_rest(refresh, number, scope, rest);
    }
    if (error != 0) {
        return error;
    }
    *is_prompt = scope->cursor != 0 || scope->page != 0;
    scope->is_listing = scope->cursor == 0 && scope->page != 0;
    if (scope->cursor != 0) {
        refresh->state->sweep = 1; /* who is missing */
    }
    return 0;
}

/*
 * What a watch from a cursor does not show only a list does, so one follows from time to time. It
 * comes when a watch has ended in order, which has shown all there was: of who is deleted meanwhile
 * the watch would say how it ended, and a list does not.
 */
static bool is_list_old(struct tri_refresh *refresh, const struct tri_group_row *scope)
{
    uint64_t due_ms = scope->list_ms + TR_REFRESH_LIST_MS;
    return due_ms <= refresh->now_ms &&
           due_ms + tr_random(refresh->context) % (TR_REFRESH_LIST_MS / 4) <= refresh->now_ms;
}

int tri_refresh_scope_on_end(struct tri_refresh *refresh, uint32_t number,
                             struct tri_group_row *scope, const struct tri_call_result *result,
                             bool is_refused, bool *is_prompt)
{
    bool is_read = result->response_class == TR_WEBAPI_RESPONSE_READ;
    *is_prompt = false;
    if (scope->is_begun) { /* one that has no cursor cannot have an unknown one: that is a fault */
        bool is_other = is_refused && result->status != refresh->webapi->stream.gone;
        *is_prompt = is_other;
        return is_other ? tri_refresh_scope_begin_anew(refresh, scope) : 0;
    }
    if (is_refused) {
        /* An unknown cursor is no fault; one that is unknown as soon as it was listed waits. */
        *is_prompt = result->status == refresh->webapi->stream.gone &&
                     scope->list_ms + PROMPT_MS <= refresh->now_ms;
        return tri_refresh_scope_begin_anew(refresh, scope);
    }
    if (is_read && scope->is_listing) {
        return end_page(refresh, number, scope, result->response.body, is_prompt);
    }
    *is_prompt = is_read && scope->stream_ms + PROMPT_MS <= refresh->now_ms;
    return *is_prompt && is_list_old(refresh, scope) ? tri_refresh_scope_begin_anew(refresh, scope)
                                                     : 0;
}

/* ----------------------------------------------------------- for people */

/* Scopes that one record looks at. */
#define SUMMARY_SCOPES_MAX 64

static int add_gate(struct tri_refresh *refresh, uint32_t number, const struct tri_group_row *scope,
                    struct tri_scope_summary *summary)
{
    struct tri_list_row *list;
    uint32_t list_number;
    if (scope->gate_wait_ms == 0) {
        return 0;
    }
    summary->gates++;
    summary->gated += scope->gate_probe != 0 ? 1 : 0;
    int error =
        tri_refresh_list_find(refresh, TRI_REFRESH_GATE, number, 0, false, &list_number, &list);
    if (error == 0) {
        summary->gated += list->count;
    }
    return error == TR_NOT_FOUND ? 0 : error;
}

/* Those of a ring, from its head on. */
static int add_ring(struct tri_refresh *refresh, uint32_t head, enum tri_group_ring ring,
                    struct tri_scope_summary *summary)
{
    uint32_t number = head;
    for (uint32_t i = 0; number != 0 && i < SUMMARY_SCOPES_MAX; i++) {
        const void *row;
        int error = tr_rows_get(&refresh->rows, number, &row);
        if (error != 0) {
            return error;
        }
        const struct tri_group_row scope = *(const struct tri_group_row *)row;
        bool is_open = scope.stream != 0;
        summary->lists += is_open && scope.is_listing ? 1 : 0;
        summary->watches += is_open && !scope.is_listing ? 1 : 0;
        if (scope.cursor != 0 && scope.jobs >= summary->jobs) {
            summary->jobs = scope.jobs;
            summary->cursor = scope.cursor;
        }
        error = add_gate(refresh, number, &scope, summary);
        if (error != 0) {
            return error;
        }
        number = scope.links[ring].next == head ? 0 : scope.links[ring].next;
    }
    return 0;
}

int tri_refresh_scope_summary(struct tri_refresh *refresh, struct tri_scope_summary *summary)
{
    *summary = (struct tri_scope_summary){0};
    if (refresh->watched == NULL) {
        return 0;
    }
    int error = add_ring(refresh, refresh->state->streaming, TRI_GROUPS_STREAMING, summary);
    return error != 0
               ? error
               : add_ring(refresh, refresh->state->stream_pending, TRI_GROUPS_WANTING, summary);
}

/* --------------------------------------------------------- who is missing */

/*
 * How a job ends that is missing in a list; false: it does not. One of unknown outcome ends where
 * what it did may have been over before the list: it was called for in another life of the engine,
 * or comes from a task that does not know. What it has left says whether that was so.
 */
static bool end_of_missing(const struct tri_job_row *job, struct tr_refresh_news *end)
{
    bool is_old = (job->marks & (TRI_JOB_UNHEARD | TRI_JOB_EARLIER)) != 0;
    bool is_made = job->stage == TR_WEBAPI_STAGE_SUBMITTED && (job->marks & TRI_JOB_EXPLAINS) == 0;
    bool is_ending = job->stage == TR_WEBAPI_STAGE_CANCELLING || (job->marks & TRI_JOB_ENDING) != 0;
    if (!is_made && job->stage != TR_WEBAPI_STAGE_CANCELLING &&
        (job->stage != TR_WEBAPI_STAGE_UNKNOWN || !is_old)) {
        return false;
    }
    *end = is_ending ? (struct tr_refresh_news){.phase = TR_TASK_PHASE_ABORTED}
                     : tri_refresh_job_failure(
                           TR_TASK_PHASE_RETRYABLE_FAILURE, "ResourceDeletedExternally",
                           tr_text_of("the back end does not have it any more: somebody else has "
                                      "deleted it"));
    return true;
}

int tri_refresh_scope_check(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    struct tr_refresh_news end;
    const void *row;
    bool is_called;
    int error = tr_rows_get(&refresh->rows, job->group, &row);
    uint32_t scope_number = error == 0 ? ((const struct tri_group_row *)row)->scope : 0;
    if (error != 0 || scope_number == 0) {
        return error;
    }
    error = tr_rows_get(&refresh->rows, scope_number, &row);
    if (error == 0) {
        error = tri_refresh_job_is_called(refresh, job, &is_called);
    }
    if (error != 0) {
        return error;
    }
    const struct tri_group_row *scope = row;
    bool is_missing = scope->list_ms != 0 && !scope->is_listing && job->listed != scope->lists &&
                      job->since_ms < scope->list_ms;
    if (is_missing && job->stage == TR_WEBAPI_STAGE_NEW) {
        return tri_refresh_orphan_missing(refresh, number, job);
    }
    if (!is_missing || is_called || !end_of_missing(job, &end)) {
        return 0;
    }
    error = tri_refresh_list_remove(refresh, job);
    if (error == 0) {
        error = tri_refresh_job_end(refresh, number, job, &end);
    }
    return error != 0 ? error : tri_refresh_job_settle(refresh, number, job);
}

/* ---------------------------------------------------------- unknown outcomes */

/* Its watch has shown all there was the lag ago, unless what it said waits to be heard. */
static bool has_shown_all(const struct tri_refresh *refresh, const struct tri_group_row *scope)
{
    return scope->stream != 0 && !scope->is_listing && !refresh->is_late && scope->has_left &&
           scope->stream_ms + tri_refresh_rate_lag_ms(refresh) <= refresh->now_ms;
}

int tri_refresh_scope_has_shown(struct tri_refresh *refresh, const struct tri_job_row *job,
                                bool *has_shown)
{
    const void *row;
    uint32_t number;
    *has_shown = false;
    int error = tri_refresh_scope_of(refresh, job->group, &number);
    if (error == 0 && number != 0) {
        error = tr_rows_get(&refresh->rows, number, &row);
        *has_shown = error == 0 && has_shown_all(refresh, row);
    }
    return error;
}

int tri_refresh_scope_seen(struct tri_refresh *refresh, const struct tri_job_row *job,
                           uint64_t *asked_ms)
{
    struct tri_group_row *scope;
    uint32_t number;
    *asked_ms = 0;
    int error = tri_refresh_scope_of(refresh, job->group, &number);
    if (error != 0 || number == 0) {
        return error;
    }
    error = tri_refresh_group_edit(refresh, number, &scope);
    if (error != 0 || scope->stream == 0 || scope->is_listing || refresh->is_late) {
        return error;
    }
    bool is_unheard = (job->marks & TRI_JOB_UNHEARD) != 0 && scope->list_ms <= job->since_ms;
    if (is_unheard) { /* what the watch has shown before it was known here, only a list can say */
        error = tri_refresh_scope_begin_anew(refresh, scope);
        return error != 0 ? error : tri_refresh_stream_open_anew(refresh, number);
    }
    *asked_ms = has_shown_all(refresh, scope) ? refresh->now_ms : 0;
    return 0;
}
