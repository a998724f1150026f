/*
 * Which actors live: a worker copies what it sees of those that match, and the program shows the
 * copies of all workers one by one.
 *
 * The worker walks its whole table and makes an address for each actor, which is dear: this is for
 * people who look. All of it happens between two messages, so an actor is never seen half changed.
 * The copy stops growing at the limit or at half of TR_SNAPSHOT_BYTES_MAX; the count of what
 * matches goes on.
 */
#include <stdalign.h>

#include "runtime/host/control.h"
#include "runtime/host/observe.h"
#include "runtime/trace/glob.h"

/* ------------------------------------------------------------------ the worker */

/* A copy that grows. */
struct growing {
    uint8_t *data;
    size_t size;
    size_t capacity;
};

#define ALIGNED(size) \
    (((size) + alignof(struct tri_actor_seen) - 1) & ~(alignof(struct tri_actor_seen) - 1))

/*
 * Room for one more actor and its address; NULL when there is no memory. The padding is cleared, so
 * that no old bytes of the heap leave the worker.
 */
static struct tri_actor_seen *grow(struct growing *growing, size_t address_size)
{
    size_t size = ALIGNED(sizeof(struct tri_actor_seen) + address_size);
    if (growing->size + size > growing->capacity) {
        size_t capacity = 2 * growing->capacity + size + 4096;
        uint8_t *data = tr_realloc(growing->data, capacity);
        if (data == NULL) {
            return NULL;
        }
        growing->data = data;
        growing->capacity = capacity;
    }
    struct tri_actor_seen *seen = (void *)(growing->data + growing->size);
    growing->size += size;
    memset(seen, 0, size);
    return seen;
}

static uint64_t waiting_of(struct tri_worker *worker, const struct tri_actor *actor)
{
    uint64_t waiting = 0;
    uint32_t slot = actor->edges;
    for (uint32_t i = 0; i < actor->edge_count; i++) {
        const struct tri_edge *edge = tri_slot_object(&worker->directory, slot);
        waiting += edge->kind == TRI_EDGE_ASK || edge->kind == TRI_EDGE_CALL ? 1 : 0;
        slot = edge->next;
    }
    return waiting;
}

static bool add(struct tri_worker *worker, struct tri_actor *actor, struct tr_text address,
                struct growing *growing)
{
    struct tri_actor_seen *seen = grow(growing, address.size);
    if (seen == NULL) {
        return false;
    }
    *seen = (struct tri_actor_seen){
        .actor = tri_actor_ref(actor),
        .waiting = waiting_of(worker, actor),
        .mailbox = actor->mailbox_count,
        .edges = actor->edge_count,
        .address_size = (uint32_t)address.size,
        .behaviour = actor->behaviour,
        .phase = actor->phase,
    };
    memcpy(seen + 1, address.data, address.size);
    return true;
}

/*
 * The first entry is only a head, and is filled in at the end: how many actors match is known then.
 */
int tri_observe_actors(struct tri_worker *worker, const struct tr_observe *observe,
                       struct tri_copy *copy)
{
    char buffer[TR_ADDRESS_BYTES_MAX];
    struct growing growing = {0};
    uint64_t found = 0;
    uint64_t cursor = 0;
    uint32_t slot;
    bool has_room = grow(&growing, 0) != NULL;
    while (has_room && (slot = tri_table_next(&worker->table, &cursor)) != 0) {
        struct tri_actor *actor = tri_actor_at(worker, slot);
        struct tr_text address = tri_actor_address(worker, actor, buffer, sizeof buffer);
        if (!tri_glob_match(observe->pattern, address)) {
            continue;
        }
        bool is_shown = found++ < observe->limit && growing.size < TR_SNAPSHOT_BYTES_MAX / 2;
        has_room = !is_shown || add(worker, actor, address, &growing);
    }
    if (!has_room) {
        tr_free(growing.data);
        return TR_MEMORY;
    }
    ((struct tri_actor_seen *)(void *)growing.data)->waiting = found;
    *copy = (struct tri_copy){growing.data, {.data = growing.data, .size = growing.size}};
    return 0;
}

/* ----------------------------------------------------------------- the program */

static const char *const phase_words[] = {
    [TRI_IDLE] = "idle",
    [TRI_READY] = "ready",
    [TRI_RUNNING] = "running",
    [TRI_BACKING_OFF] = "backing off",
    [TRI_QUARANTINED] = "quarantined",
    [TRI_EMBRYO] = "embryo",
    [TRI_DEAD] = "dead",
};

/* Whom the copies are shown to. */
struct showing {
    const struct tr_host *host;
    void (*visit)(void *self, const struct tr_actor_seen *actor);
    void *self;
    uint64_t found;
};

static void show_one(struct showing *showing, uint32_t worker, const struct tri_actor_seen *seen,
                     const uint8_t *address)
{
    struct tr_actor_seen actor = {
        .actor = seen->actor,
        .address = {.data = (const char *)address, .size = seen->address_size},
        .behaviour = tr_text_of(showing->host->shared.behaviours[seen->behaviour]->name),
        .phase = tr_text_of(phase_words[seen->phase]),
        .worker = worker,
        .mailbox = seen->mailbox,
        .edges = seen->edges,
        .waiting = seen->waiting,
    };
    showing->visit(showing->self, &actor);
}

/* Entries are copied out before they are read, since a body may lie at any place of a frame. */
static void show(void *self, const struct tr_observed *observed)
{
    struct showing *showing = self;
    size_t at = 0;
    while (at < observed->data.size) {
        struct tri_actor_seen seen;
        memcpy(&seen, observed->data.data + at, sizeof seen);
        if (at == 0) {
            showing->found += seen.waiting;
        } else {
            show_one(showing, observed->worker, &seen, observed->data.data + at + sizeof seen);
        }
        at += ALIGNED(sizeof seen + seen.address_size);
    }
}

int tr_host_actors(struct tr_host *host, struct tr_text pattern, uint32_t limit,
                   void (*visit)(void *self, const struct tr_actor_seen *actor), void *self,
                   uint64_t *found)
{
    struct showing showing = {.host = host, .visit = visit, .self = self};
    struct tri_gathering gathering = {
        .request = tri_control_request(host), .visit = show, .self = &showing};
    struct tr_observe ask = {.request = gathering.request,
                             .what = TRI_OBSERVE_ACTORS,
                             .pattern = pattern,
                             .limit = limit};
    if (pattern.size > TR_TAP_GLOB_BYTES_MAX) {
        return TR_LIMIT;
    }
    int error = tri_control_gather(host, &gathering, &tr_observe_schema, &ask);
    if (error == 0 && found != NULL) {
        *found = showing.found;
    }
    return error;
}
