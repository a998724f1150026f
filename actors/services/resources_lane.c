/*
 * Who waits for resources: lanes, their queues and turns. All lists are doubly linked through the
 * rows, so that whoever goes, from wherever, costs the same.
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
EDIT(tri_place_edit, tri_place_row)
EDIT(tri_lane_edit, tri_lane_row)
EDIT(tri_queue_edit, tri_queue_row)
EDIT(tri_request_edit, tri_request_row)
#undef EDIT

/* ------------------------------------------------------------------ lanes */

static struct tr_rows_key lane_key(const struct tri_request_row *request, bool is_booking)
{
    uint64_t scope = tri_request_scope(request);
    return tr_rows_key_numbers(TRI_ROW_LANE, (uint64_t)request->place << 32 | request->pool,
                               scope << 1 | (is_booking ? 1 : 0));
}

static bool is_booking(const struct tri_request_row *request)
{
    return (request->amounts.cpu_millis | request->amounts.memory_bytes |
            request->amounts.gpu_count) != 0;
}

/* Puts a lane into the ring of those that have somebody, behind the one whose turn it is last. */
static int ring_lane(struct tri_resources *resources, uint32_t number, struct tri_lane_row *lane)
{
    struct tr_resources_state *state = resources->state;
    if (state->lane == 0) {
        state->lane = number;
        lane->next = number;
        lane->previous = number;
        return 0;
    }
    struct tri_lane_row *turn;
    struct tri_lane_row *last;
    int error = tri_lane_edit(resources, state->lane, &turn);
    error = error != 0 ? error : tri_lane_edit(resources, turn->previous, &last);
    if (error == 0) {
        lane->next = state->lane;
        lane->previous = turn->previous;
        last->next = number;
        turn->previous = number;
    }
    return error;
}

static int unring_lane(struct tri_resources *resources, uint32_t number, struct tri_lane_row *lane)
{
    struct tr_resources_state *state = resources->state;
    state->claimant = state->claimant == number ? 0 : state->claimant;
    if (lane->next == number) {
        state->lane = 0;
        return 0;
    }
    struct tri_lane_row *next;
    struct tri_lane_row *previous;
    int error = tri_lane_edit(resources, lane->next, &next);
    error = error != 0 ? error : tri_lane_edit(resources, lane->previous, &previous);
    if (error == 0) {
        next->previous = lane->previous;
        previous->next = lane->next;
        state->lane = state->lane == number ? lane->next : state->lane;
    }
    return error;
}

static int find_lane(struct tri_resources *resources, const struct tri_request_row *request,
                     uint32_t *number)
{
    struct tr_rows_key key = lane_key(request, is_booking(request));
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
    lane->is_booking = is_booking(request);
    return ring_lane(resources, *number, lane);
}

/* ----------------------------------------------------------------- queues */

/* Puts a queue into its lane's ring: its first turn comes after all others'. */
static int ring_queue(struct tri_resources *resources, struct tri_lane_row *lane, uint32_t number,
                      struct tri_queue_row *queue)
{
    lane->queues++;
    if (lane->queue == 0) {
        lane->queue = number;
        queue->next = number;
        queue->previous = number;
        return 0;
    }
    struct tri_queue_row *turn;
    struct tri_queue_row *last;
    int error = tri_queue_edit(resources, lane->queue, &turn);
    error = error != 0 ? error : tri_queue_edit(resources, turn->previous, &last);
    if (error == 0) {
        queue->next = lane->queue;
        queue->previous = turn->previous;
        last->next = number;
        turn->previous = number;
    }
    return error;
}

static int unring_queue(struct tri_resources *resources, struct tri_lane_row *lane, uint32_t number,
                        struct tri_queue_row *queue)
{
    lane->queues--;
    if (queue->next == number) {
        lane->queue = 0;
        return 0;
    }
    struct tri_queue_row *next;
    struct tri_queue_row *previous;
    int error = tri_queue_edit(resources, queue->next, &next);
    error = error != 0 ? error : tri_queue_edit(resources, queue->previous, &previous);
    if (error == 0) {
        next->previous = queue->previous;
        previous->next = queue->next;
        lane->queue = lane->queue == number ? queue->next : lane->queue;
    }
    return error;
}

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
    return ring_queue(resources, lane, *number, queue);
}

/* --------------------------------------------------------------- requests */

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
    int error = tri_request_edit(resources, queue->last, &last);
    if (error == 0) {
        last->next = number;
        queue->last = number;
    }
    return error;
}

static int detach(struct tri_resources *resources, struct tri_queue_row *queue,
                  struct tri_request_row *request)
{
    struct tri_request_row *other;
    int error = 0;
    if (request->previous == 0) {
        queue->first = request->next;
    } else {
        error = tri_request_edit(resources, request->previous, &other);
        if (error == 0) {
            other->next = request->next;
        }
    }
    if (error == 0 && request->next == 0) {
        queue->last = request->previous;
    } else if (error == 0) {
        error = tri_request_edit(resources, request->next, &other);
        if (error == 0) {
            other->previous = request->previous;
        }
    }
    request->next = 0;
    request->previous = 0;
    return error;
}

int tri_lane_add(struct tri_resources *resources, uint32_t number, struct tri_request_row *request,
                 bool *is_first)
{
    uint32_t lane_number;
    uint32_t queue_number;
    struct tri_lane_row *lane;
    struct tri_queue_row *queue;
    int error = find_lane(resources, request, &lane_number);
    error = error != 0 ? error : tri_lane_edit(resources, lane_number, &lane);
    error = error != 0
                ? error
                : find_queue(resources, lane_number, lane, request->execution, &queue_number);
    error = error != 0 ? error : tri_queue_edit(resources, queue_number, &queue);
    error = error != 0 ? error : append(resources, queue, number, request);
    if (error == 0) {
        request->queue = queue_number;
        *is_first = lane->requests == 0;
        lane->requests++;
        resources->state->waiting++;
    }
    return error;
}

int tri_lane_remove(struct tri_resources *resources, uint32_t number,
                    struct tri_request_row *request)
{
    (void)number;
    struct tri_queue_row *queue;
    struct tri_lane_row *lane;
    uint32_t queue_number = request->queue;
    int error = tri_queue_edit(resources, queue_number, &queue);
    error = error != 0 ? error : tri_lane_edit(resources, queue->lane, &lane);
    error = error != 0 ? error : detach(resources, queue, request);
    if (error != 0) {
        return error;
    }
    uint32_t lane_number = queue->lane;
    request->queue = 0;
    lane->requests--;
    resources->state->waiting--;
    if (queue->first == 0) {
        error = unring_queue(resources, lane, queue_number, queue);
        error = error != 0 ? error : tr_rows_remove(&resources->rows, queue_number);
    }
    if (error == 0 && lane->requests == 0) {
        error = unring_lane(resources, lane_number, lane);
        error = error != 0 ? error : tr_rows_remove(&resources->rows, lane_number);
    }
    return error;
}

/* Passes over executions that sleep: their turn comes when they wake. */
int tri_lane_first(struct tri_resources *resources, struct tri_lane_row *lane, uint32_t *number)
{
    uint32_t queues = lane->queues;
    for (uint32_t i = 0; i < queues; i++) {
        const void *row;
        bool is_asleep = false;
        int error = tr_rows_get(&resources->rows, lane->queue, &row);
        const struct tri_queue_row *queue = row;
        error = error != 0 ? error : tri_asleep_has(resources, queue->execution, &is_asleep);
        if (error != 0) {
            return error;
        }
        if (!is_asleep) {
            *number = queue->first;
            return 0;
        }
        lane->queue = queue->next;
    }
    return TR_NOT_FOUND;
}

int tri_lane_turn(struct tri_resources *resources, struct tri_lane_row *lane)
{
    const void *queue;
    int error = tr_rows_get(&resources->rows, lane->queue, &queue);
    if (error == 0) {
        lane->queue = ((const struct tri_queue_row *)queue)->next;
    }
    return error;
}
