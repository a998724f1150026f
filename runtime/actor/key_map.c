/*
 * A small map from keys to numbers, for properties that few actors have: children, a route. Open
 * addressing with linear probing, as in table.c, but with the keys inside.
 *
 * At most three quarters full. Removal moves later entries back, so there are no tombstones and a
 * search ends at the first empty place. The value 0 means "absent", so callers must not store it.
 */
#include "runtime/actor/parts.h"

#define MAP_FIRST 16U

int tri_key_map_init(struct tri_key_map *map)
{
    struct tri_key_entry *entries = tr_alloc_zero(MAP_FIRST, sizeof *entries);
    if (entries == NULL) {
        return TR_MEMORY;
    }
    *map = (struct tri_key_map){.entries = entries, .mask = MAP_FIRST - 1};
    return 0;
}

void tri_key_map_fini(struct tri_key_map *map)
{
    tr_free(map->entries);
    *map = (struct tri_key_map){0};
}

/* The entry of a key, or the empty one for it. */
static struct tri_key_entry *locate(struct tri_key_map *map, struct tr_key key)
{
    struct tri_key_entry *recent = &map->entries[map->recent];
    if (tr_key_equal(recent->key, key)) {
        return recent;
    }
    uint32_t at = tri_table_hash(key.group, key.serial) & map->mask;
    while (!tr_key_is_none(map->entries[at].key) && !tr_key_equal(map->entries[at].key, key)) {
        at = (at + 1) & map->mask;
    }
    map->recent = at;
    return &map->entries[at];
}

uint64_t tri_key_map_get(struct tri_key_map *map, struct tr_key key)
{
    return map->count == 0 ? 0 : locate(map, key)->value;
}

static int key_map_grow(struct tri_key_map *map)
{
    uint32_t size = map->mask + 1;
    struct tri_key_map bigger = {.mask = size * 2 - 1, .count = map->count};
    bigger.entries = tr_alloc_zero((size_t)size * 2, sizeof *bigger.entries);
    if (bigger.entries == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i < size; i++) {
        if (!tr_key_is_none(map->entries[i].key)) {
            *locate(&bigger, map->entries[i].key) = map->entries[i];
        }
    }
    tr_free(map->entries);
    *map = bigger;
    return 0;
}

/*
 * An existing key is changed in place and cannot fail; callers rely on that where errors cannot be
 * handled any more.
 */
int tri_key_map_set(struct tri_key_map *map, struct tr_key key, uint64_t value)
{
    struct tri_key_entry *entry = locate(map, key);
    if (!tr_key_is_none(entry->key)) {
        entry->value = value;
        return 0;
    }
    if (map->count >= (map->mask + 1) / 4 * 3) {
        int error = key_map_grow(map);
        if (error != 0) {
            return error;
        }
        entry = locate(map, key);
    }
    *entry = (struct tri_key_entry){.key = key, .value = value};
    map->count++;
    return 0;
}

void tri_key_map_remove(struct tri_key_map *map, struct tr_key key)
{
    struct tri_key_entry *entry = locate(map, key);
    if (tr_key_is_none(entry->key)) {
        return;
    }
    map->count--;
    uint32_t gap = (uint32_t)(entry - map->entries);
    uint32_t at = gap;
    while (true) {
        at = (at + 1) & map->mask;
        struct tri_key_entry moved = map->entries[at];
        if (tr_key_is_none(moved.key)) {
            break;
        }
        uint32_t home = tri_table_hash(moved.key.group, moved.key.serial) & map->mask;
        if (((at - home) & map->mask) >= ((at - gap) & map->mask)) {
            map->entries[gap] = moved;
            gap = at;
        }
    }
    map->entries[gap] = (struct tri_key_entry){0};
}

/* A place is looked at again once its entry is gone, since another one may be there then. */
void tri_key_map_remove_if(struct tri_key_map *map, bool (*is_meant)(struct tr_key key, void *self),
                           void *self)
{
    uint32_t at = 0;
    while (map->count > 0 && at <= map->mask) {
        struct tr_key key = map->entries[at].key;
        if (!tr_key_is_none(key) && is_meant(key, self)) {
            tri_key_map_remove(map, key);
        } else {
            at++;
        }
    }
}

/* ---------------------------------------------------------------- by group */

/*
 * The places of a group's keys are numbered without gaps: the last one takes the place of one that
 * is removed.
 */

int tri_key_groups_init(struct tri_key_groups *groups)
{
    int error = tri_key_map_init(&groups->places);
    return error != 0 ? error : tri_key_map_init(&groups->lists);
}

void tri_key_groups_fini(struct tri_key_groups *groups)
{
    tri_key_map_fini(&groups->places);
    tri_key_map_fini(&groups->lists);
}

uint64_t tri_key_groups_count(struct tri_key_groups *groups, uint64_t group)
{
    return tri_key_map_get(&groups->lists, (struct tr_key){group, TRI_KEY_GROUPS_COUNT});
}

struct tr_key tri_key_groups_nth(struct tri_key_groups *groups, uint64_t group, uint64_t index)
{
    return (struct tr_key){group,
                           tri_key_map_get(&groups->lists, (struct tr_key){group, index + 1})};
}

int tri_key_groups_add(struct tri_key_groups *groups, struct tr_key key)
{
    if (tri_key_map_get(&groups->places, key) != 0) {
        return 0;
    }
    uint64_t place = tri_key_groups_count(groups, key.group) + 1;
    int error = tri_key_map_set(&groups->lists, (struct tr_key){key.group, place}, key.serial);
    if (error == 0) {
        error = tri_key_map_set(&groups->places, key, place);
    }
    if (error == 0) {
        error = tri_key_map_set(&groups->lists, (struct tr_key){key.group, TRI_KEY_GROUPS_COUNT},
                                place);
    }
    return error;
}

/* Existing keys are changed in place, which cannot fail. */
void tri_key_groups_remove(struct tri_key_groups *groups, struct tr_key key)
{
    uint64_t place = tri_key_map_get(&groups->places, key);
    uint64_t count = tri_key_groups_count(groups, key.group);
    const struct tr_key counted = {key.group, TRI_KEY_GROUPS_COUNT};
    if (place == 0) {
        return;
    }
    struct tr_key last = tri_key_groups_nth(groups, key.group, count - 1);
    (void)!tri_key_map_set(&groups->lists, (struct tr_key){key.group, place}, last.serial);
    (void)!tri_key_map_set(&groups->places, last, place);
    tri_key_map_remove(&groups->lists, (struct tr_key){key.group, count});
    tri_key_map_remove(&groups->places, key);
    if (count == 1) {
        tri_key_map_remove(&groups->lists, counted);
    } else {
        (void)!tri_key_map_set(&groups->lists, counted, count - 1);
    }
}
