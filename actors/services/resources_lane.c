/*
 * Requests that wait for resources: lanes, their queues and turns. All lists are doubly linked
 * through the rows, so that leaving costs the same anywhere.
 *
 * A lane is found by what its requests need: place, pool, scope, and the machine that they book
 * anything of. So a lane has one order, and only its first request is looked at.
 * Lanes and queues exist while a request waits in them: the ring of lanes holds no empty one.
 */
#include "actors/services/resources.h"

#define EDIT(name, type)                                                          \
    int name(struct tri_resources *resources, uint32_t number, struct type **row) \
    {                                                                             \
        void *any;                                                                \
        int error = tr_rows_edit(&resources->rows, number, &any);                 \
        *row = error == 0 ? any : NULL;                                           \
        return error;                                                             \
    }
EDIT(tri_resources_place_edit, tri_place_row)
EDIT(tri_resources_lane_edit, tri_lane_row)
EDIT(tri_resources_queue_edit, tri_queue_row)
EDIT(tri_resources_request_edit, tri_request_row)
#undef EDIT

/* ------------------------------------------------------------------ rings */

/* The links of a row, to change. */
typedef int links_of(struct tri_resources *resources, uint32_t number, struct tri_ring **links);

static int lane_links(struct tri_resources *resources, uint32_t number, struct tri_ring **links)
{
    struct tri_lane_row *lane;
    int error = tri_resources_lane_edit(resources, number, &lane);
    *links = error == 0 ? &lane->ring : NULL;
    return error;
}

static int queue_links(struct tri_resources *resources, uint32_t number, struct tri_ring **links)
{
    struct tri_queue_row *queue;
    int error = tri_resources_queue_edit(resources, number, &queue);
    *links = error == 0 ? &queue->ring : NULL;
    return error;
}

/* Puts a row before the one whose turn it is, which is behind all others; `turn` 0: it is empty. */
static int ring_add(struct tri_resources *resources, links_of *edit, uint32_t *turn,
                    uint32_t number, struct tri_ring *added)
{
    if (*turn == 0) {
        *turn = number;
        *added = (struct tri_ring){.next = number, .previous = number};
        return 0;
    }
    struct tri_ring *first;
    struct tri_ring *last;
    int error = edit(resources, *turn, &first);
    if (error != 0) {
        return error;
    }
    error = edit(resources, first->previous, &last);
    if (error != 0) {
        return error;
    }
    *added = (struct tri_ring){.next = *turn, .previous = first->previous};
    last->next = number;
    first->previous = number;
    return 0;
}

/* Takes a row out; if it was its turn, it is the next one's. */
static int ring_remove(struct tri_resources *resources, links_of *edit, uint32_t *turn,
                       uint32_t number, const struct tri_ring *removed)
{
    if (removed->next == number) {
        *turn = 0;
        return 0;
    }
    struct tri_ring *next;
    struct tri_ring *previous;
    int error = edit(resources, removed->next, &next);
    if (error != 0) {
        return error;
    }
    error = edit(resources, removed->previous, &previous);
    if (error != 0) {
        return error;
    }
    next->previous = removed->previous;
    previous->next = removed->next;
    *turn = *turn == number ? removed->next : *turn;
    return 0;
}

/* ------------------------------------------------------------------ lanes */

static struct tr_rows_key lane_key(const struct tri_request_row *request, bool is_booking)
{
    uint64_t scope = tri_resources_request_scope(request);
    uint64_t host = tri_resources_request_host(request);
    return tr_rows_key_numbers(TRI_ROW_LANE, (uint64_t)request->place << 32 | request->pool,
                               host << 48 | scope << 1 | (is_booking ? 1 : 0));
}

/* The lane of a request; a new one gets its turn after all others. */
static int find_lane(struct tri_resources *resources, const struct tri_request_row *request,
                     uint32_t *number)
{
    bool is_booking = tri_resources_request_is_booking(request);
    struct tr_rows_key key = lane_key(request, is_booking);
    int error = tr_rows_find(&resources->rows, &key, number);
    if (error != TR_NOT_FOUND) {
        return error;
    }
    void *row;
    error = tr_rows_add(&resources->rows, &key, number, &row);
    if (error != 0) {
        return error;
    }
    struct tri_lane_row *lane = row;
    lane->place = request->place;
    lane->pool = request->pool;
    lane->is_booking = is_booking;
    lane->host = tri_resources_request_host(request);
    return ring_add(resources, lane_links, &resources->state->lane, *number, &lane->ring);
}

/* ----------------------------------------------------------------- queues */

/*
 * The queue of an execution in a lane. A new one gets its turn after all executions that wait here
 * already.
 */
static int find_queue(struct tri_resources *resources, uint32_t lane_number,
                      struct tri_lane_row *lane, uint64_t execution, uint32_t *number)
{
    struct tr_rows_key key = tr_rows_key_numbers(TRI_ROW_QUEUE, lane_number, execution);
    int error = tr_rows_find(&resources->rows, &key, number);
    if (error != TR_NOT_FOUND) {
        return error;
    }
    void *row;
    error = tr_rows_add(&resources->rows, &key, number, &row);
    if (error != 0) {
        return error;
    }
    struct tri_queue_row *queue = row;
    queue->execution = execution;
    queue->lane = lane_number;
    lane->queues++;
    return ring_add(resources, queue_links, &lane->queue, *number, &queue->ring);
}

/* An execution without requests leaves its lane. */
static int drop_queue(struct tri_resources *resources, struct tri_lane_row *lane, uint32_t number,
                      const struct tri_queue_row *queue)
{
    lane->queues--;
    int error = ring_remove(resources, queue_links, &lane->queue, number, &queue->ring);
    return error != 0 ? error : tr_rows_remove(&resources->rows, number);
}

/* A lane without requests ends, and with it what is saved of its machine for it. */
static int drop_lane(struct tri_resources *resources, uint32_t number,
                     const struct tri_lane_row *lane)
{
    struct tr_resources_state *state = resources->state;
    int error = lane->is_booking ? tri_resources_host_unclaim(resources, lane->host, number) : 0;
    if (error == 0) {
        error = ring_remove(resources, lane_links, &state->lane, number, &lane->ring);
    }
    return error != 0 ? error : tr_rows_remove(&resources->rows, number);
}

/* --------------------------------------------------------------- requests */

/* Requests of one execution keep their order. */
static int append(struct tri_resources *resources, struct tri_queue_row *queue, uint32_t number,
                  struct tri_request_row *request)
{
    struct tri_request_row *last;
    request->next = 0;
    request->previous = queue->last;
    if (queue->last == 0) {
        queue->first = number;
        queue->last = number;
        return 0;
    }
    int error = tri_resources_request_edit(resources, queue->last, &last);
    if (error == 0) {
        last->next = number;
        queue->last = number;
    }
    return error;
}

/* Takes a request out of its queue, wherever it stands; the queue may be empty behind that. */
static int detach(struct tri_resources *resources, struct tri_queue_row *queue,
                  struct tri_request_row *request)
{
    struct tri_request_row *other;
    int error = 0;
    if (request->previous == 0) {
        queue->first = request->next;
    } else {
        error = tri_resources_request_edit(resources, request->previous, &other);
        if (error == 0) {
            other->next = request->next;
        }
    }
    if (error == 0 && request->next == 0) {
        queue->last = request->previous;
    } else if (error == 0) {
        error = tri_resources_request_edit(resources, request->next, &other);
        if (error == 0) {
            other->previous = request->previous;
        }
    }
    request->next = 0;
    request->previous = 0;
    return error;
}

int tri_resources_lane_add(struct tri_resources *resources, uint32_t number,
                           struct tri_request_row *request, bool *is_first)
{
    uint32_t lane_number;
    uint32_t queue_number;
    struct tri_lane_row *lane;
    struct tri_queue_row *queue;
    int error = find_lane(resources, request, &lane_number);
    if (error == 0) {
        error = tri_resources_lane_edit(resources, lane_number, &lane);
    }
    if (error == 0) {
        error = find_queue(resources, lane_number, lane, request->execution, &queue_number);
    }
    if (error == 0) {
        error = tri_resources_queue_edit(resources, queue_number, &queue);
    }
    if (error == 0) {
        error = append(resources, queue, number, request);
    }
    if (error == 0) {
        request->queue = queue_number;
        *is_first = lane->requests == 0;
        lane->requests++;
        resources->state->waiting++;
    }
    return error;
}

/*
 * The lane's turn moves on only if its queue ends with this request: tri_resources_lane_turn is
 * called before, for a request that is granted.
 */
int tri_resources_lane_remove(struct tri_resources *resources, struct tri_request_row *request)
{
    struct tri_queue_row *queue;
    struct tri_lane_row *lane;
    uint32_t queue_number = request->queue;
    int error = tri_resources_queue_edit(resources, queue_number, &queue);
    if (error != 0) {
        return error;
    }
    error = tri_resources_lane_edit(resources, queue->lane, &lane);
    if (error != 0) {
        return error;
    }
    error = detach(resources, queue, request);
    if (error != 0) {
        return error;
    }
    request->queue = 0;
    lane->requests--;
    resources->state->waiting--;
    if (queue->first == 0) {
        uint32_t lane_number = queue->lane;
        error = drop_queue(resources, lane, queue_number, queue);
        if (error == 0 && lane->requests == 0) {
            error = drop_lane(resources, lane_number, lane);
        }
    }
    return error;
}

/*
 * Passes over dormant executions: their turn comes when they are resumed. The turn moves past them
 * for good, so the next look starts at one that is awake. TR_NOT_FOUND: all of them are dormant.
 */
int tri_resources_lane_first(struct tri_resources *resources, struct tri_lane_row *lane,
                             uint32_t *number)
{
    uint32_t queues = lane->queues;
    for (uint32_t i = 0; i < queues; i++) {
        const void *row;
        bool is_dormant = false;
        int error = tr_rows_get(&resources->rows, lane->queue, &row);
        const struct tri_queue_row *queue = row;
        if (error != 0) {
            return error;
        }
        error = tri_resources_dormant_has(&resources->rows, resources->state, queue->execution,
                                          &is_dormant);
        if (error != 0) {
            return error;
        }
        if (!is_dormant) {
            *number = queue->first;
            return 0;
        }
        lane->queue = queue->ring.next;
    }
    return TR_NOT_FOUND;
}

int tri_resources_lane_turn(struct tri_resources *resources, struct tri_lane_row *lane)
{
    const void *queue;
    int error = tr_rows_get(&resources->rows, lane->queue, &queue);
    if (error == 0) {
        lane->queue = ((const struct tri_queue_row *)queue)->ring.next;
    }
    return error;
}
