/*
 * Jobs that are to be asked for: a queue for each group and verb (one for all groups, where that is
 * asked for in any mixture), and when a batch of it may leave.
 *
 * A full batch leaves at once. A partial one waits until nothing more has come for a while, which
 * is short where few wait and longer in the midst of an array, whose elements may be late on a busy
 * machine; to make jobs also until no call of its group is under way that does, so that however
 * slow the back end is, the calls are as few as can be, and for others that turn out not to have
 * been made; and to ask how jobs are until an interval has passed since the last partial one, so
 * that jobs that were made at different times come to be asked about together.
 *
 * Those that are ready take turns, and those that look for jobs of unknown outcome have turns of
 * their own: a share of the calls, so that thousands of unknown outcomes do not keep anything else
 * from being done.
 */
#include "actors/backend/refresh.h"

/* Calls that one handling makes; queues that wait for more which one handling looks at. */
#define CALLS_AT_ONCE 4
#define LOOKS_AT_ONCE 256

/* ------------------------------------------------------------------ rings */

/*
 * A ring links the rows of queues both ways, and its head is the queue whose turn is next. A queue
 * is in one ring at most, which its row names; so it leaves in constant time however many wait, and
 * one that has had its turn enters behind all others.
 */

/* Where the state keeps the ring's head; 0 is an empty ring. */
static uint32_t *head_of(struct tri_refresh *refresh, uint8_t ring)
{
    return ring == TRI_RING_READY  ? &refresh->state->ready
           : ring == TRI_RING_FIND ? &refresh->state->reconciling
                                   : &refresh->state->batching;
}

/* Takes a queue out of the ring it is in; if it was its turn, it is the next one's. */
static int ring_leave(struct tri_refresh *refresh, uint32_t number, struct tri_list_row *queue)
{
    struct tri_list_row *next;
    struct tri_list_row *previous;
    uint32_t *head = head_of(refresh, queue->ring);
    if (queue->ring == TRI_RING_NONE) {
        return 0;
    }
    int error = tri_refresh_list_edit(refresh, queue->next, &next);
    if (error == 0) {
        error = tri_refresh_list_edit(refresh, queue->previous, &previous);
    }
    if (error == 0) {
        *head = *head != number ? *head : queue->next == number ? 0 : queue->next;
        next->previous = queue->previous;
        previous->next = queue->next;
        queue->ring = TRI_RING_NONE;
    }
    return error;
}

/* Puts a queue into a ring, behind all others. */
static int ring_enter(struct tri_refresh *refresh, uint32_t number, struct tri_list_row *queue,
                      uint8_t ring)
{
    struct tri_list_row *first;
    struct tri_list_row *last;
    uint32_t *head = head_of(refresh, ring);
    int error = queue->ring == ring ? 0 : ring_leave(refresh, number, queue);
    if (error != 0 || queue->ring == ring) {
        return error;
    }
    queue->ring = ring;
    queue->next = number;
    queue->previous = number;
    if (*head == 0) {
        *head = number;
        return 0;
    }
    error = tri_refresh_list_edit(refresh, *head, &first);
    if (error == 0) {
        error = tri_refresh_list_edit(refresh, first->previous, &last);
    }
    if (error == 0) {
        queue->next = *head;
        queue->previous = first->previous;
        last->next = number;
        first->previous = number;
    }
    return error;
}

int tri_refresh_queue_forget(struct tri_refresh *refresh, uint32_t number)
{
    struct tri_list_row *queue;
    int error = tri_refresh_list_edit(refresh, number, &queue);
    TR_ASSERT(error != 0 || queue->count == 0);
    if (error != 0) {
        return error;
    }
    error = ring_leave(refresh, number, queue);
    return error != 0 ? error : tr_rows_remove(&refresh->rows, number);
}

/* ------------------------------------------------------- when a batch may leave */

/* One call for a whole group waits for all of its jobs. */
static bool is_whole_wanted(const struct tri_refresh *refresh, const struct tri_list_row *queue)
{
    return (queue->verb == TR_WEBAPI_VERB_CANCEL && refresh->webapi->ends_job_sets) ||
           (queue->verb == TR_WEBAPI_VERB_FIND && refresh->webapi->stream.write_backlog != NULL);
}

/* Enough for a batch that cannot grow. What one call does for a whole group is never full. */
static bool is_full(const struct tri_refresh *refresh, const struct tri_list_row *queue)
{
    const struct tr_webapi_verb *verb = tri_refresh_verb_of(refresh->webapi, queue->verb);
    return !is_whole_wanted(refresh, queue) &&
           (queue->count >= verb->items_max || queue->bytes >= TR_REFRESH_BATCH_BYTES_MAX);
}

/*
 * How long nothing may come before what there is leaves. Behind a full batch the long time: the
 * rest of an array is likely on its way.
 */
static uint64_t quiet_ms_of(const struct tri_refresh *refresh, const struct tri_list_row *queue)
{
    uint64_t quiet_ms =
        TR_REFRESH_QUIET_MS + (uint64_t)TR_REFRESH_QUIET_JOB_MS * (queue->count - 1);
    bool is_wide =
        queue->full_ms != 0 && queue->full_ms + TR_REFRESH_QUIET_MS_MAX > refresh->now_ms;
    return is_wide || quiet_ms > TR_REFRESH_QUIET_WIDE_MS ? TR_REFRESH_QUIET_WIDE_MS : quiet_ms;
}

/*
 * Whether jobs of a group are looked for: some of them may have to be made. Those are worth a wait:
 * one call then makes them together with the new ones.
 */
static int is_looking(struct tri_refresh *refresh, uint32_t group, bool *is)
{
    struct tri_list_row *queue;
    uint32_t number;
    int error = tri_refresh_list_find(refresh, TRI_REFRESH_QUEUE, group, TR_WEBAPI_VERB_FIND, false,
                                      &number, &queue);
    *is = error == 0 && queue->count > 0;
    return error == TR_NOT_FOUND ? 0 : error;
}

/* When a partial batch that makes jobs may leave, where that is later than `*due_ms`. */
static int due_to_make(struct tri_refresh *refresh, const struct tri_list_row *queue,
                       uint64_t *due_ms)
{
    const void *row;
    bool looks;
    int error = tr_rows_get(&refresh->rows, queue->group, &row);
    /* The end of that call wakes the queue (tri_refresh_queue_wake): no timer is needed. */
    if (error == 0 && ((const struct tri_group_row *)row)->creates > 0) {
        *due_ms = UINT64_MAX;
        return 0;
    }
    if (error == 0) {
        error = is_looking(refresh, queue->group, &looks);
    }
    if (error == 0 && looks) {
        *due_ms = queue->first_ms + TR_REFRESH_GATHER_MS;
    }
    return error;
}

/* What has ended, and is in nobody's way; those that are come first in a queue. */
static bool is_removal(const struct tri_job_row *job)
{
    return job->stage == TR_WEBAPI_STAGE_TERMINAL && (job->marks & TRI_JOB_THERE) == 0;
}

/* Whether jobs of a queue's group are elsewhere, and may join those in it. */
static int may_grow(struct tri_refresh *refresh, const struct tri_list_row *queue, bool *grows)
{
    const void *row;
    int error = tr_rows_get(&refresh->rows, queue->group, &row);
    *grows = error == 0 && ((const struct tri_group_row *)row)->rows > queue->count;
    return error;
}

/* When a partial batch may leave; UINT64_MAX: not before a call of its group has ended. */
static int due_of(struct tri_refresh *refresh, const struct tri_list_row *queue, uint64_t *due_ms)
{
    const void *row;
    uint64_t due = queue->newest_ms + quiet_ms_of(refresh, queue);
    uint64_t latest = queue->first_ms + TR_REFRESH_QUIET_MS_MAX +
                      (uint64_t)TR_REFRESH_QUIET_JOB_MS_MAX * (queue->count - 1);
    int error = tr_rows_get(&refresh->rows, queue->first, &row);
    if (error != 0) {
        return error;
    }
    if (((const struct tri_job_row *)row)->batch_max != 0) {
        *due_ms = 0; /* it was in a batch before, and comes in a smaller one now */
        return 0;
    }
    due = due < latest ? due : latest;
    if (queue->verb == TR_WEBAPI_VERB_CANCEL && is_removal(row)) {
        uint64_t begin_ms = queue->first_ms > queue->full_ms ? queue->first_ms : queue->full_ms;
        bool grows;
        error = may_grow(refresh, queue, &grows);
        due = begin_ms + (grows ? TR_REFRESH_REMOVE_MS : TR_REFRESH_QUIET_MS_MAX);
    }
    if (queue->verb == TR_WEBAPI_VERB_STATUS && refresh->state->partial_ms > due) {
        due = refresh->state->partial_ms;
    }
    if (error == 0 && queue->verb == TR_WEBAPI_VERB_CREATE) {
        error = due_to_make(refresh, queue, &due);
    }
    if (error == 0) {
        *due_ms = due;
    }
    return error;
}

/* One timer for all queues of the ring, at the earliest time of any. */
static int set_quiet(struct tri_refresh *refresh, uint64_t due_ms)
{
    struct tr_refresh_state *state = refresh->state;
    if (state->batching_ms != 0 && state->batching_ms <= due_ms) {
        return 0;
    }
    state->batching_ms = due_ms;
    return tr_timer_start_at(refresh->context, TRI_REFRESH_QUIET_TIMER, due_ms);
}

/*
 * Puts a queue into the ring that it belongs to now. The one place that decides on rings: to be
 * called after each change of a queue's count or times, or of what its batch waits for.
 */
static int place(struct tri_refresh *refresh, uint32_t number, struct tri_list_row *queue)
{
    uint64_t due_ms = 0;
    if (queue->count == 0) {
        return ring_leave(refresh, number, queue);
    }
    int error = is_full(refresh, queue) ? 0 : due_of(refresh, queue, &due_ms);
    if (error != 0) {
        return error;
    }
    if (due_ms == UINT64_MAX) {
        return ring_leave(refresh, number, queue);
    }
    if (due_ms <= refresh->now_ms) {
        bool is_find = queue->verb == TR_WEBAPI_VERB_FIND;
        return ring_enter(refresh, number, queue, is_find ? TRI_RING_FIND : TRI_RING_READY);
    }
    error = ring_enter(refresh, number, queue, TRI_RING_QUIET);
    return error != 0 ? error : set_quiet(refresh, due_ms);
}

/*
 * Puts a job into the queue of its group and verb. Polls of all groups are one queue, of group 0,
 * since a plugin can ask about any mixture.
 */
int tri_refresh_queue_add(struct tri_refresh *refresh, uint32_t number, uint8_t verb, bool at_front)
{
    struct tri_list_row *queue;
    const void *row;
    uint32_t queue_number;
    int error = tr_rows_get(&refresh->rows, number, &row);
    uint32_t group =
        error != 0 || verb == TR_WEBAPI_VERB_STATUS ? 0 : ((const struct tri_job_row *)row)->group;
    if (error != 0) {
        return error;
    }
    error =
        tri_refresh_list_find(refresh, TRI_REFRESH_QUEUE, group, verb, true, &queue_number, &queue);
    if (error != 0) {
        return error;
    }
    queue->group = group;
    queue->verb = verb;
    queue->first_ms = queue->count == 0 ? refresh->now_ms : queue->first_ms;
    queue->newest_ms = refresh->now_ms;
    error = tri_refresh_list_add(refresh, queue_number, queue, number, at_front);
    return error != 0 || refresh->webapi == NULL ? error : place(refresh, queue_number, queue);
}

/* A call of the group has ended, on which a partial batch may have waited. */
int tri_refresh_queue_wake(struct tri_refresh *refresh, uint32_t group, uint8_t verb)
{
    struct tri_list_row *queue;
    uint32_t number;
    int error =
        tri_refresh_list_find(refresh, TRI_REFRESH_QUEUE, group, verb, false, &number, &queue);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    return place(refresh, number, queue);
}

/* Each gets its look; the first of them that has to wait longer sets the timer anew. */
int tri_refresh_queue_on_quiet(struct tri_refresh *refresh)
{
    uint32_t begin = refresh->state->batching;
    uint32_t number = begin;
    int error = 0;
    refresh->state->batching_ms = 0;
    for (int i = 0; error == 0 && number != 0 && i < LOOKS_AT_ONCE; i++) {
        struct tri_list_row *queue;
        error = tri_refresh_list_edit(refresh, number, &queue);
        if (error != 0) {
            return error;
        }
        uint32_t next = queue->next;
        error = place(refresh, number, queue);
        number = next == begin || refresh->state->batching == 0 ? 0 : next;
    }
    if (error == 0 && number != 0) {
        refresh->state->batching = number; /* the rest comes first the next time */
        error = set_quiet(refresh, refresh->now_ms + 1);
    }
    return error;
}

/* --------------------------------------------------------------------- go */

/* Nothing may leave now: a timer says when, unless the end of a call does. */
static int wait_for(struct tri_refresh *refresh, uint64_t when_ms)
{
    struct tr_refresh_state *state = refresh->state;
    if (when_ms == 0 || state->ready_ms == when_ms) {
        return 0;
    }
    state->ready_ms = when_ms;
    return tr_timer_start_at(refresh->context, TRI_REFRESH_READY_TIMER, when_ms);
}

/*
 * The next batch of a queue; what is left of it waits again. The group is held meanwhile: the
 * plugin may refuse the batch at once, and the group of jobs that end by that would take this
 * queue's row with it.
 */
static int make_call(struct tri_refresh *refresh, uint32_t number, struct tri_list_row *queue)
{
    uint32_t group = queue->group;
    queue->full_ms = is_full(refresh, queue) ? refresh->now_ms : queue->full_ms;
    int error = tri_refresh_group_hold(refresh, group);
    if (error == 0) {
        error = ring_leave(refresh, number, queue);
    }
    if (error == 0 && queue->count > 0) {
        error = tri_refresh_call_make(refresh, queue);
    }
    if (error != 0) {
        return error;
    }
    error = place(refresh, number, queue);
    return error != 0 ? error : tri_refresh_group_let_go(refresh, group);
}

bool tri_refresh_queue_is_ready(const struct tri_refresh *refresh)
{
    return refresh->state->ready != 0 || refresh->state->reconciling != 0;
}

/*
 * The queue whose turn it is. While others wait, each TR_REFRESH_FIND_SHAREth call looks for
 * unknown outcomes; without others every call does.
 */
static uint32_t take_turn(struct tr_refresh_state *state)
{
    bool is_find = state->ready == 0 || (state->reconciling != 0 &&
                                         state->calls_since_find >= TR_REFRESH_FIND_SHARE - 1);
    state->calls_since_find =
        is_find
            ? 0
            : (uint8_t)(state->calls_since_find + (state->calls_since_find < UINT8_MAX ? 1 : 0));
    return is_find ? state->reconciling : state->ready;
}

/* Makes calls for as long as the rate allows; `more`: the actor goes on in a message to itself. */
int tri_refresh_queue_go(struct tri_refresh *refresh, bool *more)
{
    for (int i = 0; tri_refresh_queue_is_ready(refresh); i++) {
        struct tri_list_row *queue;
        uint64_t when_ms = 0;
        if (!tri_refresh_rate_allows(refresh, &when_ms)) {
            return wait_for(refresh, when_ms);
        }
        if (i == CALLS_AT_ONCE) {
            *more = true;
            return 0;
        }
        uint32_t number = take_turn(refresh->state);
        int error = tri_refresh_list_edit(refresh, number, &queue);
        if (error != 0) {
            return error;
        }
        error = make_call(refresh, number, queue);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}
