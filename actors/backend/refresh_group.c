/*
 * Groups: found by name, counted by their jobs, and in rings of those that want a stream, have one,
 * or rest.
 *
 * A group whose last job is gone rests for a while where it has heard a stream: that stays open,
 * and its place is kept. The next jobs of an array that comes in waves find it as it was, and the
 * back end need not tell again all that was ever said. Those that rest longest go first.
 */
#include "actors/backend/refresh.h"
#include "actors/graph/compiled/pack.h"

/* Groups that have rested long enough which one handling takes away. */
#define REMOVALS_AT_ONCE 64

static struct tr_bytes bytes_of(struct tr_text text)
{
    return (struct tr_bytes){.data = (const uint8_t *)text.data, .size = text.size};
}

/* The group of a name, made if it is new. */
int tri_refresh_group_named(struct tri_refresh *refresh, struct tr_text name, uint32_t *number)
{
    struct tr_rows_key key = tr_rows_key_bytes(TRI_REFRESH_GROUP, bytes_of(name));
    void *row;
    int error = tr_rows_find(&refresh->rows, &key, number);
    if (error != TR_NOT_FOUND) {
        return error;
    }
    error = tr_rows_add(&refresh->rows, &key, number, &row);
    struct tri_group_row *group = row;
    return error != 0 ? error : tri_refresh_blob_set(refresh, &group->name, bytes_of(name));
}

int tri_refresh_group_name(struct tri_refresh *refresh, uint32_t number, struct tr_text *name)
{
    const void *row;
    struct tr_bytes bytes = {0};
    int error = tr_rows_get(&refresh->rows, number, &row);
    const struct tri_group_row *group = row;
    if (error == 0) {
        error = tri_refresh_blob_get(refresh, group->name, NULL, &bytes);
    }
    if (error == 0) {
        *name = (struct tr_text){.data = (const char *)bytes.data, .size = bytes.size};
    }
    return error;
}

void tri_refresh_group_tear(struct tri_group_row *group)
{
    group->is_torn = true;
    tri_refresh_group_mend(group);
}

/*
 * A gap in a stream matters only as long as a creation is under way or an outcome unknown: with
 * neither left there is nothing that the gap may hide.
 */
void tri_refresh_group_mend(struct tri_group_row *group)
{
    group->is_torn = group->is_torn && (group->creates > 0 || group->unknown > 0);
}

/* ------------------------------------------------------------------- rings */

static uint32_t *head_of(struct tr_refresh_state *state, uint8_t ring)
{
    uint32_t *const heads[TRI_GROUPS_RINGS] = {
        [TRI_GROUPS_WANTING] = &state->stream_pending,
        [TRI_GROUPS_STREAMING] = &state->streaming,
        [TRI_GROUPS_RESTING] = &state->expiring,
    };
    return heads[ring];
}

static int links_of(struct tri_refresh *refresh, uint32_t number, uint8_t ring,
                    struct tri_group_links **links)
{
    struct tri_group_row *group;
    int error = tri_refresh_group_edit(refresh, number, &group);
    if (error != 0) {
        return error;
    }
    *links = &group->links[ring];
    return 0;
}

/* Enters a ring behind all others; being in it already is fine. */
int tri_refresh_group_enter(struct tri_refresh *refresh, uint32_t number, uint8_t ring)
{
    struct tri_group_links *links;
    struct tri_group_links *first;
    struct tri_group_links *last;
    uint32_t *head = head_of(refresh->state, ring);
    int error = links_of(refresh, number, ring, &links);
    if (error != 0 || links->next != 0) {
        return error;
    }
    /* A ring of one links to itself, so that `next` 0 can mean "in no ring". */
    *links = (struct tri_group_links){.next = number, .previous = number};
    if (*head == 0) {
        *head = number;
        return 0;
    }
    error = links_of(refresh, *head, ring, &first);
    if (error == 0) {
        error = links_of(refresh, first->previous, ring, &last);
    }
    if (error == 0) {
        *links = (struct tri_group_links){.next = *head, .previous = first->previous};
        last->next = number;
        first->previous = number;
    }
    return error;
}

/* Leaves a ring; not being in it is fine. */
int tri_refresh_group_leave(struct tri_refresh *refresh, uint32_t number, uint8_t ring)
{
    struct tri_group_links *links;
    struct tri_group_links *next;
    struct tri_group_links *previous;
    uint32_t *head = head_of(refresh->state, ring);
    int error = links_of(refresh, number, ring, &links);
    if (error != 0 || links->next == 0) {
        return error;
    }
    error = links_of(refresh, links->next, ring, &next);
    if (error == 0) {
        error = links_of(refresh, links->previous, ring, &previous);
    }
    if (error == 0) {
        *head = *head != number ? *head : links->next == number ? 0 : links->next;
        next->previous = links->previous;
        previous->next = links->next;
        *links = (struct tri_group_links){0};
        refresh->state->expiring_count -= ring == TRI_GROUPS_RESTING ? 1 : 0;
    }
    return error;
}

/* -------------------------------------------------------------------- ends */

/* Removes the queues of a group. They are empty: no job is left in it. */
static int remove_queues(struct tri_refresh *refresh, uint32_t group)
{
    for (uint8_t verb = TR_WEBAPI_VERB_CREATE; verb < TR_WEBAPI_VERB_STREAM; verb++) {
        struct tr_rows_key key = tr_rows_key_numbers(TRI_REFRESH_QUEUE, group, verb);
        uint32_t number;
        int error = tr_rows_find(&refresh->rows, &key, &number);
        if (error == 0) {
            error = tri_refresh_queue_forget(refresh, number);
        }
        if (error != 0 && error != TR_NOT_FOUND) {
            return error;
        }
    }
    return 0;
}

/*
 * Takes away a group without rows of jobs that no call holds: its stream, its places in rings, its
 * bytes and its queues go first, since all of them are found through the row.
 */
static int take_away(struct tri_refresh *refresh, uint32_t number)
{
    struct tri_group_row *group;
    int error = tri_refresh_group_edit(refresh, number, &group);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_stream_close(refresh, number);
    if (error == 0) {
        error = tri_refresh_scope_leave(refresh, group);
    }
    for (uint8_t ring = 0; ring < TRI_GROUPS_RINGS && error == 0; ring++) {
        error = tri_refresh_group_leave(refresh, number, ring);
    }
    uint32_t *const blobs[] = {&group->name, &group->cursor, &group->refusal, &group->page};
    for (size_t i = 0; i < TR_COUNT_OF(blobs) && error == 0; i++) {
        error = tri_refresh_blob_set(refresh, blobs[i], (struct tr_bytes){0});
    }
    if (error != 0) {
        return error;
    }
    error = remove_queues(refresh, number);
    return error != 0 ? error : tr_rows_remove(&refresh->rows, number);
}

/*
 * The timer is for the first group of the ring. All rest for the same time and enter at the end, so
 * the first is also the first whose time is over.
 */
static int set_timer(struct tri_refresh *refresh)
{
    struct tr_refresh_state *state = refresh->state;
    const void *row;
    if (state->expiring == 0) {
        state->expiry_ms = 0;
        return 0;
    }
    int error = tr_rows_get(&refresh->rows, state->expiring, &row);
    if (error != 0) {
        return error;
    }
    state->expiry_ms = ((const struct tri_group_row *)row)->rest_ms;
    return tr_timer_start_at(refresh->context, TRI_REFRESH_RESTING_TIMER, state->expiry_ms);
}

/*
 * A group without jobs keeps its stream and its place for TR_REFRESH_REST_MS; with too many that
 * rest, the one that has rested longest goes.
 */
static int rest(struct tri_refresh *refresh, uint32_t number, struct tri_group_row *group)
{
    struct tr_refresh_state *state = refresh->state;
    if (group->links[TRI_GROUPS_RESTING].next != 0) {
        return 0;
    }
    group->rest_ms = refresh->now_ms + TR_REFRESH_REST_MS;
    int error = tri_refresh_group_leave(refresh, number, TRI_GROUPS_WANTING);
    if (error == 0) {
        error = tri_refresh_group_enter(refresh, number, TRI_GROUPS_RESTING);
    }
    if (error == 0 && ++state->expiring_count > TR_REFRESH_RESTING_MAX) {
        error = take_away(refresh, state->expiring);
    }
    return error != 0 || state->expiry_ms != 0 ? error : set_timer(refresh);
}

int tri_refresh_group_on_rested(struct tri_refresh *refresh, bool *more)
{
    struct tr_refresh_state *state = refresh->state;
    if (state->expiry_ms == 0 || state->expiry_ms > refresh->now_ms) {
        return 0;
    }
    for (int i = 0; state->expiring != 0; i++) {
        const void *row;
        int error = tr_rows_get(&refresh->rows, state->expiring, &row);
        if (error == 0 && ((const struct tri_group_row *)row)->rest_ms > refresh->now_ms) {
            break;
        }
        if (error == 0 && i == REMOVALS_AT_ONCE) {
            *more = true;
            return 0;
        }
        if (error != 0) {
            return error;
        }
        error = take_away(refresh, state->expiring);
        if (error != 0) {
            return error;
        }
    }
    return set_timer(refresh);
}

/* A row without jobs and holds rests if it has a stream or a place in one, and goes otherwise. */
int tri_refresh_group_try_remove(struct tri_refresh *refresh, uint32_t number)
{
    struct tri_group_row *group;
    int error = tri_refresh_group_edit(refresh, number, &group);
    if (error != 0 || group->rows > 0 || group->holds > 0) {
        return error;
    }
    return group->stream != 0 || group->cursor != 0 ? rest(refresh, number, group)
                                                    : take_away(refresh, number);
}

int tri_refresh_group_hold(struct tri_refresh *refresh, uint32_t number)
{
    struct tri_group_row *group;
    int error = number == 0 ? 0 : tri_refresh_group_edit(refresh, number, &group);
    if (error == 0 && number != 0) {
        group->holds++;
    }
    return error;
}

int tri_refresh_group_let_go(struct tri_refresh *refresh, uint32_t number)
{
    struct tri_group_row *group;
    int error = number == 0 ? 0 : tri_refresh_group_edit(refresh, number, &group);
    if (error != 0 || number == 0) {
        return error;
    }
    group->holds--;
    return tri_refresh_group_try_remove(refresh, number);
}
