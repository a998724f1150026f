/*
 * Makes execution groups dormant and wakes them. A dormant actor has a mark that tri_queue_may_run
 * checks; the mark is in no image, so each start decides again which groups are dormant.
 *
 * Only running stops. Messages are delivered and journaled, timers fire into mailboxes, and limits
 * hold as for any other actor, so waking only removes the mark. Marking and waking walk the whole
 * table of a worker.
 */
#include "runtime/host/dormant.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/host/host.h"

static int compare(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a;
    uint64_t other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

/* Marks the actors of these groups, which are sorted, on one worker. */
static void set_dormant(struct tri_worker *worker, const uint64_t *groups, size_t count)
{
    uint64_t cursor = 0;
    uint32_t slot;
    while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
        struct tri_actor *actor = tri_actor_at(worker, slot);
        if (bsearch(&actor->key.group, groups, count, sizeof *groups, compare) != NULL) {
            actor->flags |= TRI_ACTOR_DORMANT;
        }
    }
}

int tr_host_set_dormant(struct tr_host *host, const uint64_t *groups, size_t count)
{
    if (host->thread_count > 0) {
        return TR_CLOSED;
    }
    if (count == 0) {
        return 0;
    }
    uint64_t *sorted = tr_alloc(count * sizeof *sorted);
    if (sorted == NULL) {
        return TR_MEMORY;
    }
    memcpy(sorted, groups, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    /* Before the threads run, this thread owns the workers. */
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        set_dormant(&host->workers[i], sorted, count);
    }
    tr_free(sorted);
    /*
     * A dormant execution asks for the exit statuses of its processes when it is woken, however
     * late.
     */
    host->unclaimed_ms = UINT32_MAX;
    return 0;
}

void tri_dormant_on_wake(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_activate wake;
    uint64_t cursor = 0;
    uint32_t slot;
    if (tr_message_read(message, activate, &wake) != 0) {
        return;
    }
    while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
        struct tri_actor *actor = tri_actor_at(worker, slot);
        bool is_meant = tr_group_is_none(wake.group) || actor->key.group == wake.group;
        if (!is_meant || (actor->flags & TRI_ACTOR_DORMANT) == 0) {
            continue;
        }
        actor->flags &= (uint16_t)~TRI_ACTOR_DORMANT;
        if (tri_queue_may_run(actor)) {
            tri_queue_push(worker, actor);
        }
    }
}
