/*
 * Reading actors: images come in the order of keys, in which parents are found; then all of it is
 * sorted by address.
 */
#include "deploy/history/waiting.h"

#include <stdlib.h>
#include <string.h>

#include "actors/engine.h"
#include "schemas/codec/error.h"

/* Actors one below the other: workflows and arrays nest at most so deep. */
#define DEPTH_MAX 256

/* The schema of a behaviour's state, or NULL. */
static const struct tr_schema *schema_of(uint16_t behaviour)
{
    static const struct tr_behaviour *const known[] = {
        &tr_workflow_behaviour,  &tr_task_behaviour,    &tr_array_behaviour,
        &tr_resources_behaviour, &tr_catalog_behaviour, &tr_signals_behaviour,
        &tr_launch_behaviour,    &tr_refresh_behaviour,
    };
    for (size_t i = 0; i < TR_COUNT_OF(known); i++) {
        if (known[i]->id == behaviour) {
            return known[i]->state;
        }
    }
    return NULL;
}

/* A state, unpacked; NULL where that cannot be. */
static const void *state_of(struct tr_waiting *waiting, const struct tr_actor_image *image)
{
    const struct tr_schema *schema = schema_of(image->behaviour);
    void *state = schema == NULL ? NULL : tr_arena_alloc(&waiting->arena, schema->struct_size);
    return state != NULL && schema->unpack(image->state, image->state_version, state) == 0 ? state
                                                                                           : NULL;
}

/* ------------------------------------------------------------------------- reading */

/* What the runtime has in a group to reach other hosts waits for nothing of the work. */
static int take_image(void *self, const struct tr_actor_image *image)
{
    struct tr_waiting *waiting = self;
    if (image->behaviour < TR_BEHAVIOUR_ID_FIRST) {
        return 0;
    }
    struct tr_waiter *waiter = tri_vector_add(&waiting->arena, &waiting->vector, sizeof *waiter);
    if (waiter == NULL) {
        return waiting->arena.error;
    }
    *waiter = (struct tr_waiter){
        .key = image->actor.key,
        .parent_key = image->parent.key,
        .parent = TR_WAITING_NONE,
        .behaviour = image->behaviour,
        .name = tr_arena_text(&waiting->arena, image->name),
        .element = image->is_element ? image->element : TR_ELEMENT_NONE,
        .state = state_of(waiting, image),
        .is_quarantined = image->is_quarantined,
        .is_backing_off = image->is_backing_off,
        .failed_with = image->failed_with,
        .events = image->asks + image->calls + image->timers,
    };
    return waiting->arena.error;
}

/* The position of an actor while they are in the order of their keys. */
static uint32_t find(const struct tr_waiting *waiting, struct tr_key key)
{
    const struct tr_waiter *items = waiting->vector.items;
    uint32_t low = 0;
    uint32_t high = key.group == waiting->group ? waiting->vector.count : 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (items[middle].key.serial == key.serial) {
            return middle;
        }
        bool is_behind = items[middle].key.serial < key.serial;
        low = is_behind ? middle + 1 : low;
        high = is_behind ? high : middle;
    }
    return TR_WAITING_NONE;
}

/* It activates its receiver; and a sender to another host waits until it is read there. */
static int take_message(void *self, struct tr_ref from, struct tr_ref to)
{
    struct tr_waiting *waiting = self;
    struct tr_waiter *items = waiting->vector.items;
    uint32_t at = find(waiting, from.key);
    if (at != TR_WAITING_NONE && to.key.group != waiting->group) {
        items[at].said_to = to.key;
        items[at].events++;
    }
    at = find(waiting, to.key);
    if (at != TR_WAITING_NONE) {
        items[at].events++;
    }
    return 0;
}

static int take_service(void *self, const struct tr_actor_image *image)
{
    struct tr_waiting *waiting = self;
    struct tr_waiting_service *service =
        image->behaviour == tr_resources_behaviour.id ? &waiting->resources
        : image->behaviour == tr_catalog_behaviour.id
            ? &waiting->catalog
            : tri_vector_add(&waiting->arena, &waiting->refreshes, sizeof *service);
    if (service == NULL) {
        return waiting->arena.error;
    }
    service->key = image->actor.key;
    service->behaviour = image->behaviour;
    service->is_quarantined = image->is_quarantined;
    service->is_backing_off = image->is_backing_off;
    service->failed_with = image->failed_with;
    service->state = state_of(waiting, image);
    service->pages = tr_waiting_pages(waiting, image->actor.key);
    return waiting->arena.error;
}

/* ------------------------------------------------------------------------- addresses */

/* Finds parents, which can be activated by their children. */
static void find_parents(struct tr_waiting *waiting)
{
    struct tr_waiter *items = waiting->vector.items;
    for (uint32_t i = 0; i < waiting->vector.count; i++) {
        items[i].parent = find(waiting, items[i].parent_key);
        if (items[i].parent != TR_WAITING_NONE) {
            items[items[i].parent].events++;
        }
    }
}

/* Whether an actor runs what a dynamic task has decided, which is the task's own node. */
static bool is_decided(const struct tr_waiting *waiting, const struct tr_waiter *waiter)
{
    const struct tr_waiter *items = waiting->vector.items;
    return waiter->parent != TR_WAITING_NONE &&
           items[waiter->parent].behaviour == tr_task_behaviour.id;
}

/* A node's path, from the names above it. The root has none. */
static struct tr_text path_of(struct tr_waiting *waiting, uint32_t at)
{
    const struct tr_waiter *items = waiting->vector.items;
    uint32_t above[DEPTH_MAX];
    uint32_t depth = 0;
    for (; items[at].parent != TR_WAITING_NONE && depth < DEPTH_MAX; at = items[at].parent) {
        above[depth++] = at;
    }
    struct tr_buffer path;
    tr_buffer_init(&path, 0);
    for (uint32_t i = depth; i > 0; i--) {
        const struct tr_waiter *waiter = &items[above[i - 1]];
        if (is_decided(waiting, waiter)) {
            continue;
        }
        if (waiter->element == TR_ELEMENT_NONE) {
            tr_buffer_add_string(&path, path.size > 0 ? "/" : "");
            tr_buffer_add_text(&path, waiter->name);
        } else if (i > 1) {
            tr_buffer_print(&path, "[%llu]", (unsigned long long)waiter->element);
        }
    }
    struct tr_text text = tr_arena_text(&waiting->arena, tr_buffer_text(&path));
    if (path.error != 0) {
        waiting->arena.error = path.error;
    }
    tr_buffer_fini(&path);
    return text;
}

static int by_address(const void *a, const void *b)
{
    const struct tr_waiter *one = a;
    const struct tr_waiter *other = b;
    int order = tr_text_order(one->path, other->path);
    /* An array stands before its elements. */
    uint64_t first = one->element + 1;
    uint64_t second = other->element + 1;
    order = order != 0 ? order : (first > second) - (first < second);
    /* So does a dynamic task before what it has decided: it was spawned before. */
    return order != 0
               ? order
               : (one->key.serial > other->key.serial) - (one->key.serial < other->key.serial);
}

/* Sorts by address; parents are named by their new positions. */
static int sort(struct tr_waiting *waiting)
{
    struct tr_waiter *items = waiting->vector.items;
    uint32_t count = waiting->vector.count;
    if (count == 0) {
        return 0;
    }
    waiting->items = tr_arena_array(&waiting->arena, count, sizeof *waiting->items);
    uint32_t *moved = tr_arena_array(&waiting->arena, count, sizeof *moved);
    if (waiting->items == NULL || moved == NULL) {
        return waiting->arena.error;
    }
    memcpy(waiting->items, items, count * sizeof *items);
    qsort(waiting->items, count, sizeof *items, by_address);
    for (uint32_t i = 0; i < count; i++) {
        moved[find(waiting, waiting->items[i].key)] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = waiting->items[i].parent;
        waiting->items[i].parent = parent == TR_WAITING_NONE ? parent : moved[parent];
    }
    waiting->count = count;
    return 0;
}

static int read_services(struct tr_waiting *waiting)
{
    const uint16_t services[] = {tr_resources_behaviour.id, tr_catalog_behaviour.id,
                                 tr_refresh_behaviour.id};
    int error = 0;
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(services); i++) {
        error = tr_images_of_behaviour(waiting->reader, services[i], take_service, waiting);
    }
    return error;
}

static int read_all(struct tr_waiting *waiting)
{
    int error = tr_images_of_group(waiting->reader, waiting->group, take_image, waiting);
    if (error == 0 && waiting->vector.count > 0) {
        error = tr_images_messages(waiting->reader, take_message, waiting);
    }
    if (error == 0) {
        error = read_services(waiting);
    }
    if (error != 0) {
        return error;
    }
    find_parents(waiting);
    struct tr_waiter *items = waiting->vector.items;
    for (uint32_t i = 0; i < waiting->vector.count; i++) {
        items[i].path = path_of(waiting, i);
    }
    return waiting->arena.error != 0 ? waiting->arena.error : sort(waiting);
}

int tr_waiting_read(struct tr_reader *reader, uint64_t execution, struct tr_waiting *waiting)
{
    *waiting = (struct tr_waiting){.reader = reader, .group = execution};
    tr_arena_init(&waiting->arena);
    int error = read_all(waiting);
    if (error != 0) {
        tr_waiting_fini(waiting);
    }
    return error;
}

int tr_waiting_services_read(struct tr_reader *reader, struct tr_waiting *waiting)
{
    *waiting = (struct tr_waiting){.reader = reader};
    tr_arena_init(&waiting->arena);
    int error = read_services(waiting);
    if (error != 0) {
        tr_waiting_fini(waiting);
    }
    return error;
}

void tr_waiting_fini(struct tr_waiting *waiting)
{
    tr_arena_fini(&waiting->arena);
    *waiting = (struct tr_waiting){.count = 0};
}

/* ------------------------------------------------------------------------- services */

static void write_address(const struct tr_waiting_service *service, struct tr_buffer *text)
{
    const struct tr_refresh_state *state = service->state;
    if (service->behaviour != tr_refresh_behaviour.id || state == NULL || state->plugin.size == 0) {
        bool is_catalog = service->behaviour == tr_catalog_behaviour.id;
        bool is_refresh = service->behaviour == tr_refresh_behaviour.id;
        tr_buffer_print(text, "/sys/%s",
                        is_refresh   ? "refresh/**"
                        : is_catalog ? "catalog"
                                     : "resources");
        return;
    }
    tr_buffer_print(text, "/sys/refresh/%.*s/%.*s", (int)state->plugin.size, state->plugin.data,
                    (int)state->endpoint.size, state->endpoint.data);
}

bool tr_waiting_trouble(const struct tr_waiting_service *service, struct tr_buffer *text)
{
    if (!service->is_quarantined && !service->is_backing_off) {
        return false;
    }
    const char *error =
        service->failed_with != 0 ? tr_error_text(service->failed_with) : "the process has ended";
    tr_buffer_add_string(text, "; the actor ");
    write_address(service, text);
    if (service->is_quarantined) {
        tr_buffer_print(text,
                        " is quarantined, since one message has failed it twice (%s): ", error);
        tr_buffer_add_string(text, "`troupe actors --resume ");
        write_address(service, text);
        tr_buffer_add_string(text, "` lets it go on");
    } else {
        tr_buffer_print(text, " has failed (%s), and is to be restarted", error);
    }
    return service->is_quarantined;
}

/* --------------------------------------------------------------------------- pages */

struct tr_waiting_pages tr_waiting_pages(struct tr_waiting *waiting, struct tr_key actor)
{
    return (struct tr_waiting_pages){
        .reader = waiting->reader, .actor = actor, .arena = &waiting->arena};
}

/* The place of a page, or NULL without memory. */
static struct tr_bytes *place_of(struct tr_waiting_pages *pages, uint32_t page)
{
    if (page >= pages->page_count) {
        uint32_t count = 2 * page + 16;
        struct tr_bytes *grown = tr_arena_array(pages->arena, count, sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        if (pages->page_count > 0) {
            memcpy(grown, pages->pages, pages->page_count * sizeof *grown);
        }
        pages->pages = grown;
        pages->page_count = count;
    }
    return &pages->pages[page];
}

int tr_waiting_page(void *self, uint32_t page, struct tr_bytes *bytes)
{
    struct tr_waiting_pages *pages = self;
    struct tr_bytes *place = page < TR_PAGES_MAX ? place_of(pages, page) : NULL;
    if (place == NULL) {
        return page < TR_PAGES_MAX ? pages->arena->error : TR_MALFORMED;
    }
    if (place->data == NULL) {
        static const uint8_t nothing;
        uint8_t buffer[TR_PAGE_BYTES_MAX];
        size_t size = 0;
        int error = tr_image_page(pages->reader, pages->actor, page, buffer, sizeof buffer, &size);
        if (error != 0 && error != TR_NOT_FOUND) {
            return error;
        }
        /* Rows lie in pages as they lay in memory: aligned for everything. */
        uint8_t *kept = size == 0 ? NULL : tr_arena_alloc(pages->arena, size);
        if (size > 0 && kept == NULL) {
            return pages->arena->error;
        }
        if (size > 0) {
            memcpy(kept, buffer, size);
        }
        *place = (struct tr_bytes){.data = size == 0 ? &nothing : kept, .size = size};
    }
    *bytes = *place;
    return 0;
}
