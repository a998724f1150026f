/*
 * The queue in front of the network: a ring of hosts, each with a list of its own. `turn` advances
 * after each request that begins, so a host with thousands of requests does not delay the others.
 *
 * A host is in the ring as long as it has entries. Its list holds the active ones first, then the
 * waiting ones in order; `first_waiting` separates them. Beginning a request only moves this
 * pointer.
 *
 * An entry is found by its id in a hash. Hosts are found by walking the ring, since there are few.
 * The earliest due time is a lower bound, so a round without timeouts looks at no entry.
 */
#include "runtime/http/http_queue.h"

#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"

struct tri_http_host {
    struct tri_http_host *previous; /* in the ring */
    struct tri_http_host *next;
    struct tri_http_entry *first;
    struct tri_http_entry *last;
    struct tri_http_entry *first_waiting;
    size_t active;
    struct tr_text name;
    char name_bytes[];
};

void tri_http_queue_init(struct tri_http_queue *queue, size_t active_max,
                         size_t active_per_host_max)
{
    *queue = (struct tri_http_queue){.active_max = active_max,
                                     .active_per_host_max = active_per_host_max};
}

static struct tri_http_entry **bucket_of(struct tri_http_queue *queue, uint64_t id)
{
    return &queue->buckets[id % TRI_HTTP_QUEUE_BUCKETS];
}

/* The host of this name; a new one is served last. */
static struct tri_http_host *host_of(struct tri_http_queue *queue, struct tr_text name)
{
    struct tri_http_host *host = queue->turn;
    if (host != NULL) {
        do {
            if (tr_text_equal(host->name, name)) {
                return host;
            }
            host = host->next;
        } while (host != queue->turn);
    }
    struct tri_http_host *made = tr_alloc_zero(1, sizeof *made + name.size + 1);
    if (made == NULL) {
        return NULL;
    }
    memcpy(made->name_bytes, name.data, name.size);
    made->name = (struct tr_text){.data = made->name_bytes, .size = name.size};
    if (queue->turn == NULL) {
        queue->turn = made->next = made->previous = made;
        return made;
    }
    made->next = queue->turn;
    made->previous = queue->turn->previous;
    made->previous->next = made;
    made->next->previous = made;
    return made;
}

static void remove_host(struct tri_http_queue *queue, struct tri_http_host *host)
{
    host->previous->next = host->next;
    host->next->previous = host->previous;
    if (queue->turn == host) {
        queue->turn = host->next != host ? host->next : NULL;
    }
    tr_free(host);
}

int tri_http_queue_add(struct tri_http_queue *queue, struct tri_http_entry *entry,
                       struct tr_text host_name)
{
    struct tri_http_host *host = host_of(queue, host_name);
    if (host == NULL) {
        return TR_MEMORY;
    }
    entry->host = host;
    entry->is_active = false;
    entry->next = NULL;
    entry->previous = host->last;
    *(host->last != NULL ? &host->last->next : &host->first) = entry;
    host->last = entry;
    if (host->first_waiting == NULL) {
        host->first_waiting = entry;
    }
    entry->next_in_bucket = *bucket_of(queue, entry->id);
    *bucket_of(queue, entry->id) = entry;
    queue->waiting++;
    return 0;
}

/* At most one walk around the ring, from the next host to serve. */
struct tri_http_entry *tri_http_queue_next(struct tri_http_queue *queue)
{
    struct tri_http_host *host = queue->turn;
    if (host == NULL || queue->waiting == 0 || queue->active >= queue->active_max) {
        return NULL;
    }
    while (host->first_waiting == NULL || host->active >= queue->active_per_host_max) {
        host = host->next;
        if (host == queue->turn) {
            return NULL;
        }
    }
    struct tri_http_entry *entry = host->first_waiting;
    host->first_waiting = entry->next;
    entry->is_active = true;
    host->active++;
    queue->active++;
    queue->waiting--;
    queue->turn = host->next;
    return entry;
}

static void count_out(struct tri_http_queue *queue, struct tri_http_entry *entry)
{
    struct tri_http_host *host = entry->host;
    if (entry->is_active) {
        host->active--;
        queue->active--;
        return;
    }
    queue->waiting--;
    if (host->first_waiting == entry) {
        host->first_waiting = entry->next;
    }
}

void tri_http_queue_remove(struct tri_http_queue *queue, struct tri_http_entry *entry)
{
    struct tri_http_host *host = entry->host;
    count_out(queue, entry);
    *(entry->previous != NULL ? &entry->previous->next : &host->first) = entry->next;
    *(entry->next != NULL ? &entry->next->previous : &host->last) = entry->previous;
    struct tri_http_entry **link = bucket_of(queue, entry->id);
    while (*link != entry) {
        link = &(*link)->next_in_bucket;
    }
    *link = entry->next_in_bucket;
    if (host->first == NULL) {
        remove_host(queue, host);
    }
}

struct tri_http_entry *tri_http_queue_find(const struct tri_http_queue *queue, uint64_t id)
{
    struct tri_http_entry *entry = queue->buckets[id % TRI_HTTP_QUEUE_BUCKETS];
    while (entry != NULL && entry->id != id) {
        entry = entry->next_in_bucket;
    }
    return entry;
}

struct tri_http_entry *tri_http_queue_any(const struct tri_http_queue *queue)
{
    return queue->turn != NULL ? queue->turn->first : NULL;
}

/*
 * Only lowers the bound of the queue. A later time leaves it too early, which costs one walk in
 * tri_http_queue_expired.
 */
void tri_http_queue_set_due(struct tri_http_queue *queue, struct tri_http_entry *entry,
                            uint64_t due_ms)
{
    entry->due_ms = due_ms;
    if (due_ms != 0 && (queue->due_ms == 0 || due_ms < queue->due_ms)) {
        queue->due_ms = due_ms;
    }
}

/* A due entry of the host, or NULL; then queue->due_ms includes its other due times. */
static struct tri_http_entry *expired_of(struct tri_http_queue *queue,
                                         const struct tri_http_host *host, uint64_t now_ms)
{
    for (struct tri_http_entry *entry = host->first; entry != NULL; entry = entry->next) {
        if (entry->due_ms != 0 && entry->due_ms <= now_ms) {
            return entry;
        }
        tri_http_queue_set_due(queue, entry, entry->due_ms);
    }
    return NULL;
}

/*
 * One due entry, or NULL. It is called again until it returns NULL; only that last walk visits all
 * entries and so finds the next bound.
 */
struct tri_http_entry *tri_http_queue_expired(struct tri_http_queue *queue, uint64_t now_ms)
{
    const struct tri_http_host *host = queue->turn;
    struct tri_http_entry *expired = NULL;
    if (queue->due_ms == 0 || queue->due_ms > now_ms) {
        return NULL; /* the usual case: no entry is visited */
    }
    queue->due_ms = 0;
    while (host != NULL && expired == NULL) {
        expired = expired_of(queue, host, now_ms);
        host = host->next != queue->turn ? host->next : NULL;
    }
    if (expired != NULL) {
        queue->due_ms = now_ms; /* there may be more */
    }
    return expired;
}
