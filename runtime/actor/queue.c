/*
 * Run queues: two lists of runnable actors. Supervision goes first, within a bound.
 */
#include "runtime/actor/parts.h"

/* A list linked through the actors: queueing takes no memory. */
static void queue_push(struct tri_worker *worker, struct tri_run_queue *queue,
                       struct tri_actor *actor)
{
    actor->run_next = 0;
    if (queue->tail != 0) {
        tri_actor_at(worker, queue->tail)->run_next = actor->slot;
    } else {
        queue->head = actor->slot;
    }
    queue->tail = actor->slot;
    queue->count++;
}

static struct tri_actor *queue_pop(struct tri_worker *worker, struct tri_run_queue *queue)
{
    struct tri_actor *actor = tri_actor_at(worker, queue->head);
    queue->head = actor->run_next;
    if (queue->head == 0) {
        queue->tail = 0;
    }
    queue->count--;
    return actor;
}

/* Only for an IDLE actor (tri_queue_may_run), so no actor is queued twice. */
void tri_queue_push(struct tri_worker *worker, struct tri_actor *actor)
{
    actor->phase = TRI_READY;
    bool is_urgent = (actor->flags & TRI_ACTOR_URGENT) != 0;
    queue_push(worker, is_urgent ? &worker->urgent : &worker->ready, actor);
}

/* Takes the next actor: after TR_SUPERVISION_BURST urgent ones an ordinary one has its turn. */
static struct tri_actor *pop_fair(struct tri_worker *worker)
{
    bool has_urgent = worker->urgent.count > 0;
    bool is_turn = worker->urgent_in_row < TR_SUPERVISION_BURST || worker->ready.count == 0;
    if (has_urgent && is_turn) {
        worker->urgent_in_row++;
        return queue_pop(worker, &worker->urgent);
    }
    worker->urgent_in_row = 0;
    return worker->ready.count > 0 ? queue_pop(worker, &worker->ready) : NULL;
}

struct tri_actor *tri_queue_pop(struct tri_worker *worker)
{
    struct tri_actor *actor = pop_fair(worker);
    while (actor != NULL && actor->phase == TRI_DEAD) {
        /* An actor that ended while queued keeps its slot until it leaves the queue. */
        tri_slab_give(&worker->actor_slabs[actor->slab], actor->slot);
        actor = pop_fair(worker);
    }
    return actor;
}
