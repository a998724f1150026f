/*
 * Names and addresses: an actor has a name within its parent, and its address consists of the names
 * from a root to it.
 *
 * A parent may be on another worker than its children. An address never changes, so a worker with
 * children but without their parent keeps the parent's address as text, as long as the family is
 * here. It gets the address when parent and child are separated: a parent that moves leaves it, a
 * child that moves brings it, and a start, which sees all workers, sets it.
 *
 * No actor stores its address. It is built on demand by walking from the actor up to its root, so
 * it costs time by depth and no memory: the elements of an array have no text. Lookup by address is
 * for people. It scans every actor of the worker for the roots, then one family for each name on
 * the way down.
 */
#include "runtime/actor/parts.h"

#include <stdio.h>

/*
 * Three forms: "[7]" for an element, the given name, and "~SERIAL" for an actor without a name. A
 * name that does not fit is truncated.
 */
struct tr_text tri_actor_name(const struct tri_actor *actor, char *buffer, size_t size)
{
    int written;
    if ((actor->flags & TRI_ACTOR_ELEMENT) != 0) {
        written = snprintf(buffer, size, "[%llu]", (unsigned long long)actor->name);
    } else if (actor->name != 0) {
        written = snprintf(buffer, size, "%s", (const char *)(uintptr_t)actor->name);
    } else {
        written = snprintf(buffer, size, "~%llu", (unsigned long long)actor->key.serial);
    }
    size_t length = written < 0 ? 0 : (size_t)written;
    return (struct tr_text){.data = buffer, .size = length < size ? length : size - 1};
}

/* ------------------------------------------------------------------ addresses */

/* Prepends a text to the one at the end of a buffer; false when it is full. */
static bool prepend(char *buffer, size_t *begin, struct tr_text text)
{
    if (text.size > *begin) {
        return false;
    }
    *begin -= text.size;
    memcpy(buffer + *begin, text.data, text.size);
    return true;
}

/* The same with one name of an address: elements follow their array without a slash. */
static bool prepend_name(char *buffer, size_t *begin, const struct tri_actor *actor)
{
    char name[TR_NAME_BYTES_MAX + 1];
    bool is_element = (actor->flags & TRI_ACTOR_ELEMENT) != 0;
    return prepend(buffer, begin, tri_actor_name(actor, name, sizeof name)) &&
           (is_element || prepend(buffer, begin, tr_text_of("/")));
}

/*
 * The kept address of a parent on another worker. NULL: it has no child here, or the address is
 * unknown.
 */
static const char *kept_address(struct tri_worker *worker, struct tr_key parent)
{
    return (const char *)(uintptr_t)tri_key_map_get(&worker->parent_addresses, parent);
}

/*
 * `workers` are those to search for each parent: this one, or all, by origin. The walk begins at
 * the leaf, so the text grows from the end of the buffer. It is complete at a root or at a parent
 * with a kept address. It begins with "~" when the buffer is full, a parent is unknown, or the
 * family is deeper than TR_FAMILY_DEPTH_MAX, which also bounds a cycle of parents in a damaged
 * image.
 */
static struct tr_text write_address(struct tri_worker *workers, uint32_t worker_count,
                                    const struct tri_actor *actor, char *buffer, size_t size)
{
    char *room = buffer + 1; /* the first byte is for the mark of an incomplete address */
    size_t begin = size - 1;
    bool is_whole = false;
    for (unsigned depth = 0; actor != NULL && depth < TR_FAMILY_DEPTH_MAX; depth++) {
        struct tr_key parent = actor->parent;
        bool has_room = prepend_name(room, &begin, actor);
        is_whole = has_room && tr_key_is_none(parent);
        if (!has_room || is_whole) {
            break;
        }
        struct tri_worker *home =
            &workers[tri_origin_worker(workers->shared, parent) % worker_count];
        actor = tri_actor_find(home, parent, actor->parent_slot);
        /* Without a kept address the parent has ended, and this actor is about to end. */
        const char *rest = actor == NULL ? kept_address(home, parent) : NULL;
        is_whole = rest != NULL && prepend(room, &begin, tr_text_of(rest));
    }
    char *at = room + begin;
    if (!is_whole) {
        *--at = '~';
    }
    return (struct tr_text){.data = at, .size = (size_t)(buffer + size - at)};
}

struct tr_text tri_actor_address(struct tri_worker *worker, const struct tri_actor *actor,
                                 char *buffer, size_t size)
{
    return write_address(worker, 1, actor, buffer, size);
}

struct tr_text tri_loaded_address(struct tri_worker *workers, const struct tri_actor *actor,
                                  char *buffer, size_t size)
{
    return write_address(workers, workers->shared->worker_count, actor, buffer, size);
}

struct tr_text tri_parent_address(struct tri_worker *worker, const struct tri_actor *actor,
                                  char *buffer, size_t size)
{
    const struct tri_actor *parent = tri_actor_find(worker, actor->parent, actor->parent_slot);
    if (parent != NULL) {
        return tri_actor_address(worker, parent, buffer, size);
    }
    const char *address = kept_address(worker, actor->parent);
    return address == NULL ? (struct tr_text){0} : tr_text_of(address);
}

bool tri_parent_address_is_known(struct tri_worker *worker, struct tr_key parent)
{
    return kept_address(worker, parent) != NULL;
}

/*
 * The first text stays, because an address never changes. One that begins with "~" is not kept:
 * addresses built on it would look complete.
 */
int tri_parent_address_keep(struct tri_worker *worker, struct tr_key parent, struct tr_text address)
{
    bool is_whole = address.size > 0 && address.data[0] == '/';
    if (!is_whole || tri_parent_address_is_known(worker, parent)) {
        return 0;
    }
    char *copy = tr_text_copy(address);
    int error = copy == NULL
                    ? TR_MEMORY
                    : tri_key_map_set(&worker->parent_addresses, parent, (uint64_t)(uintptr_t)copy);
    if (error != 0) {
        tr_free(copy);
    }
    return error;
}

void tri_parent_address_forget(struct tri_worker *worker, struct tr_key parent)
{
    if (TR_UNLIKELY(worker->parent_addresses.count > 0)) {
        tr_free((void *)(uintptr_t)kept_address(worker, parent));
        tri_key_map_remove(&worker->parent_addresses, parent);
    }
}

void tri_parent_addresses_fini(struct tri_worker *worker)
{
    struct tri_key_map *map = &worker->parent_addresses;
    for (uint32_t i = 0; map->entries != NULL && i <= map->mask; i++) {
        tr_free((void *)(uintptr_t)map->entries[i].value);
    }
    tri_key_map_fini(map);
}

/* ------------------------------------------------------------------ looking up */

/* The child with this name, in any position among its siblings. */
static struct tri_actor *child_named(struct tri_worker *worker, struct tr_key parent,
                                     struct tr_text name)
{
    char buffer[TR_NAME_BYTES_MAX + 1];
    struct tri_actor *first = tri_family_first(worker, parent);
    struct tri_actor *child = first;
    while (child != NULL) {
        if (tr_text_equal(tri_actor_name(child, buffer, sizeof buffer), name)) {
            return child;
        }
        child = tri_actor_at(worker, child->sibling_next);
        child = child == first ? NULL : child;
    }
    return NULL;
}

/* The start of a lookup: the longest prefix of the address that this worker knows. */
struct start {
    struct tr_text address;
    struct tr_key key;
    size_t size; /* of that prefix */
};

/* The text without a leading slash, which is optional in an address. */
static struct tr_text bare(struct tr_text text)
{
    size_t slash = text.size > 0 && text.data[0] == '/' ? 1 : 0;
    return (struct tr_text){.data = text.data + slash, .size = text.size - slash};
}

/*
 * Takes a longer prefix. Names may contain slashes. So a prefix must end at the end of the address
 * or at a separator: "/a" is no prefix of "/ab".
 */
static void consider(struct start *start, struct tr_key key, struct tr_text beginning)
{
    struct tr_text all = start->address;
    beginning = bare(beginning);
    bool is_prefix = beginning.size > start->size && beginning.size <= all.size &&
                     memcmp(all.data, beginning.data, beginning.size) == 0;
    bool is_whole = is_prefix && (beginning.size == all.size || all.data[beginning.size] == '/' ||
                                  all.data[beginning.size] == '[');
    if (is_whole) {
        start->key = key;
        start->size = beginning.size;
    }
}

static void consider_roots(struct tri_worker *worker, struct start *start)
{
    char buffer[TR_NAME_BYTES_MAX + 2];
    uint64_t cursor = 0;
    uint32_t slot;
    while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
        const struct tri_actor *actor = tri_actor_at(worker, slot);
        if (tr_key_is_none(actor->parent)) {
            consider(start, actor->key, tri_actor_address(worker, actor, buffer, sizeof buffer));
        }
    }
}

/*
 * Children whose parent is on another worker are found by its kept address. Their root need not be
 * on this worker.
 */
static void consider_kept_parents(const struct tri_worker *worker, struct start *start)
{
    const struct tri_key_map *map = &worker->parent_addresses;
    for (uint32_t i = 0; i <= map->mask; i++) {
        const struct tri_key_entry *entry = &map->entries[i];
        if (!tr_key_is_none(entry->key)) {
            consider(start, entry->key, tr_text_of((const char *)(uintptr_t)entry->value));
        }
    }
}

/* Removes the next name from an address: "/a", then "[3]", then "/b". */
static struct tr_text next_name(struct tr_text *address)
{
    struct tr_text rest = bare(*address);
    size_t end = 0;
    while (end < rest.size && rest.data[end] != '/' && (end == 0 || rest.data[end] != '[')) {
        end++;
    }
    *address = (struct tr_text){.data = rest.data + end, .size = rest.size - end};
    return (struct tr_text){.data = rest.data, .size = end};
}

/*
 * Each step down takes one name up to the next separator. So a name that contains a slash is found
 * only as part of the known prefix.
 */
int tri_actor_named(struct tri_worker *worker, struct tr_text address, struct tr_ref *found)
{
    struct start start = {.address = bare(address)};
    consider_roots(worker, &start);
    consider_kept_parents(worker, &start);
    struct tr_key key = start.key;
    address = (struct tr_text){start.address.data + start.size, start.address.size - start.size};
    while (!tr_key_is_none(key) && address.size > 0) {
        const struct tri_actor *child = child_named(worker, key, next_name(&address));
        key = child == NULL ? (struct tr_key){0} : child->key;
    }
    const struct tri_actor *actor = tr_key_is_none(key) ? NULL : tri_actor_find(worker, key, 0);
    if (actor == NULL) {
        return TR_NOT_FOUND;
    }
    *found = tri_actor_ref(actor);
    return 0;
}
