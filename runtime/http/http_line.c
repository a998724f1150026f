/*
 * The line in front of the network: a ring of hosts, each with a list of its own. `turn` moves on
 * behind each request that begins, so a host with thousands of requests does not keep the others
 * waiting.
 *
 * A host is in the ring as long as it has places. Its list holds the active ones first, then those
 * that wait, in their order; `first_waiting` parts them. Beginning a request therefore moves
 * nothing but this pointer.
 *
 * A place is found by its id in a hash. Hosts are found by walking the ring, since there are few.
 * The earliest due time is a lower bound, so a round in which nothing is due looks at no place.
 */
#include "runtime/http/http_line.h"

#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"

struct tri_http_host {
    struct tri_http_host *previous; /* in the ring */
    struct tri_http_host *next;
    struct tri_http_place *first;
    struct tri_http_place *last;
    struct tri_http_place *first_waiting;
    size_t active;
    struct tr_text name;
    char name_bytes[];
};

void tri_http_line_init(struct tri_http_line *line, size_t active_max, size_t active_per_host_max)
{
    *line = (struct tri_http_line){.active_max = active_max,
                                   .active_per_host_max = active_per_host_max};
}

static struct tri_http_place **bucket_of(struct tri_http_line *line, uint64_t id)
{
    return &line->buckets[id % TRI_HTTP_LINE_BUCKETS];
}

/* The host of this name, put in as the last whose turn it will be where it is new. */
static struct tri_http_host *host_of(struct tri_http_line *line, struct tr_text name)
{
    struct tri_http_host *host = line->turn;
    if (host != NULL) {
        do {
            if (tr_text_equal(host->name, name)) {
                return host;
            }
            host = host->next;
        } while (host != line->turn);
    }
    struct tri_http_host *made = tr_alloc_zero(1, sizeof *made + name.size + 1);
    if (made == NULL) {
        return NULL;
    }
    memcpy(made->name_bytes, name.data, name.size);
    made->name = (struct tr_text){.data = made->name_bytes, .size = name.size};
    if (line->turn == NULL) {
        line->turn = made->next = made->previous = made;
        return made;
    }
    made->next = line->turn;
    made->previous = line->turn->previous;
    made->previous->next = made;
    made->next->previous = made;
    return made;
}

static void remove_host(struct tri_http_line *line, struct tri_http_host *host)
{
    host->previous->next = host->next;
    host->next->previous = host->previous;
    if (line->turn == host) {
        line->turn = host->next != host ? host->next : NULL;
    }
    tr_free(host);
}

int tri_http_line_add(struct tri_http_line *line, struct tri_http_place *place,
                      struct tr_text host_name)
{
    struct tri_http_host *host = host_of(line, host_name);
    if (host == NULL) {
        return TR_MEMORY;
    }
    place->host = host;
    place->is_active = false;
    place->next = NULL;
    place->previous = host->last;
    *(host->last != NULL ? &host->last->next : &host->first) = place;
    host->last = place;
    if (host->first_waiting == NULL) {
        host->first_waiting = place;
    }
    place->next_in_bucket = *bucket_of(line, place->id);
    *bucket_of(line, place->id) = place;
    line->waiting++;
    return 0;
}

/* One walk around the ring at most, from the host whose turn it is. */
struct tri_http_place *tri_http_line_next(struct tri_http_line *line)
{
    struct tri_http_host *host = line->turn;
    if (host == NULL || line->waiting == 0 || line->active >= line->active_max) {
        return NULL;
    }
    while (host->first_waiting == NULL || host->active >= line->active_per_host_max) {
        host = host->next;
        if (host == line->turn) {
            return NULL;
        }
    }
    struct tri_http_place *place = host->first_waiting;
    host->first_waiting = place->next;
    place->is_active = true;
    host->active++;
    line->active++;
    line->waiting--;
    line->turn = host->next;
    return place;
}

static void count_out(struct tri_http_line *line, struct tri_http_place *place)
{
    struct tri_http_host *host = place->host;
    if (place->is_active) {
        host->active--;
        line->active--;
        return;
    }
    line->waiting--;
    if (host->first_waiting == place) {
        host->first_waiting = place->next;
    }
}

void tri_http_line_remove(struct tri_http_line *line, struct tri_http_place *place)
{
    struct tri_http_host *host = place->host;
    count_out(line, place);
    *(place->previous != NULL ? &place->previous->next : &host->first) = place->next;
    *(place->next != NULL ? &place->next->previous : &host->last) = place->previous;
    struct tri_http_place **link = bucket_of(line, place->id);
    while (*link != place) {
        link = &(*link)->next_in_bucket;
    }
    *link = place->next_in_bucket;
    if (host->first == NULL) {
        remove_host(line, host);
    }
}

struct tri_http_place *tri_http_line_find(const struct tri_http_line *line, uint64_t id)
{
    struct tri_http_place *place = line->buckets[id % TRI_HTTP_LINE_BUCKETS];
    while (place != NULL && place->id != id) {
        place = place->next_in_bucket;
    }
    return place;
}

struct tri_http_place *tri_http_line_any(const struct tri_http_line *line)
{
    return line->turn != NULL ? line->turn->first : NULL;
}

/*
 * Only lowers the bound of the line. A later time leaves it too early, which costs one walk in
 * tri_http_line_expired.
 */
void tri_http_line_set_due(struct tri_http_line *line, struct tri_http_place *place,
                           uint64_t due_ms)
{
    place->due_ms = due_ms;
    if (due_ms != 0 && (line->due_ms == 0 || due_ms < line->due_ms)) {
        line->due_ms = due_ms;
    }
}

/* A place of the host that is due, or NULL; then line->due_ms takes in those that are not. */
static struct tri_http_place *expired_of(struct tri_http_line *line,
                                         const struct tri_http_host *host, uint64_t now_ms)
{
    for (struct tri_http_place *place = host->first; place != NULL; place = place->next) {
        if (place->due_ms != 0 && place->due_ms <= now_ms) {
            return place;
        }
        tri_http_line_set_due(line, place, place->due_ms);
    }
    return NULL;
}

/*
 * One place that is due, or NULL. It is called again until it gives NULL, and only that walk goes
 * through all places and so finds the next bound.
 */
struct tri_http_place *tri_http_line_expired(struct tri_http_line *line, uint64_t now_ms)
{
    const struct tri_http_host *host = line->turn;
    struct tri_http_place *expired = NULL;
    if (line->due_ms == 0 || line->due_ms > now_ms) {
        return NULL; /* the usual case: nobody is looked at */
    }
    line->due_ms = 0;
    while (host != NULL && expired == NULL) {
        expired = expired_of(line, host, now_ms);
        host = host->next != line->turn ? host->next : NULL;
    }
    if (expired != NULL) {
        line->due_ms = now_ms; /* there may be more */
    }
    return expired;
}
