/*
 * Owners in memory: an array of partitions, and a sorted list of the groups that are elsewhere.
 *
 * Finding a group takes O(log n) of the listed ones, and nothing without any. There is no lock:
 * each copy belongs to one thread.
 */
#include "runtime/link/owners.h"

#include <string.h>

#include "runtime/memory.h"

#define ROUTES_FIRST 16

void tri_owners_init(struct tri_owners *owners, uint16_t self)
{
    *owners = (struct tri_owners){.self = self};
    for (uint16_t i = 0; i < TR_PARTITIONS_MAX; i++) {
        owners->hosts[i] = i;
    }
}

void tri_owners_fini(struct tri_owners *owners)
{
    tr_free(owners->routes);
    *owners = (struct tri_owners){0};
}

int tri_owners_copy(struct tri_owners *copy, const struct tri_owners *owners)
{
    size_t size = owners->route_count * sizeof owners->routes[0];
    struct tri_group_route *routes = size == 0 ? NULL : tr_alloc(size);
    if (size > 0 && routes == NULL) {
        return TR_MEMORY;
    }
    *copy = *owners;
    copy->routes = routes;
    copy->route_capacity = owners->route_count;
    if (size > 0) {
        memcpy(routes, owners->routes, size);
    }
    return 0;
}

/* The first route not below a group. */
static uint32_t lower_bound(const struct tri_owners *owners, uint64_t group)
{
    uint32_t begin = 0;
    uint32_t end = owners->route_count;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        if (owners->routes[middle].group < group) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

static int reserve_route(struct tri_owners *owners)
{
    if (owners->route_count < owners->route_capacity) {
        return 0;
    }
    if (owners->route_count >= TR_ROUTES_MAX) {
        return TR_LIMIT;
    }
    uint32_t capacity = owners->route_capacity == 0 ? ROUTES_FIRST : 2 * owners->route_count;
    struct tri_group_route *routes = tr_realloc(owners->routes, capacity * sizeof *routes);
    if (routes == NULL) {
        return TR_MEMORY;
    }
    owners->routes = routes;
    owners->route_capacity = capacity;
    return 0;
}

int tri_owners_route(struct tri_owners *owners, uint64_t group, uint16_t number)
{
    uint32_t at = lower_bound(owners, group);
    if (at < owners->route_count && owners->routes[at].group == group) {
        owners->routes[at].number = number;
        return 0;
    }
    int error = reserve_route(owners);
    if (error != 0) {
        return error;
    }
    struct tri_group_route *place = &owners->routes[at];
    memmove(place + 1, place, (owners->route_count - at) * sizeof *place);
    *place = (struct tri_group_route){.group = group, .number = number};
    owners->route_count++;
    return 0;
}

static void set_host(struct tri_owners *owners, uint64_t view, size_t partition, uint16_t host)
{
    if (owners->hosts[partition] != host) {
        owners->views[partition] = view;
        owners->hosts[partition] = host;
        owners->withheld[partition] = false;
        owners->frozen[partition] = false;
        owners->parted[partition] = false;
    }
}

int tri_owners_give(struct tri_owners *owners, uint64_t view, const uint16_t *hosts, size_t count)
{
    if (view <= owners->view) {
        return TR_EXISTS;
    }
    if (count > TR_PARTITIONS_MAX) {
        return TR_INVALID;
    }
    for (size_t i = 0; i < count; i++) {
        set_host(owners, view, i, hosts[i]);
    }
    owners->view = view;
    return 0;
}

int tri_owners_change(struct tri_owners *owners, uint64_t view, const uint16_t *hosts, size_t count)
{
    bool loses = false;
    for (size_t i = 0; i < count && i < TR_PARTITIONS_MAX; i++) {
        loses = loses || (owners->hosts[i] == owners->self && hosts[i] != owners->self);
    }
    return loses && view > owners->view ? TR_INVALID : tri_owners_give(owners, view, hosts, count);
}

int tri_owners_read(struct tri_owners *owners, uint64_t view, struct tr_bytes hosts, bool gives)
{
    uint16_t read[TR_PARTITIONS_MAX];
    if (hosts.size > sizeof read || hosts.size % sizeof read[0] != 0) {
        return TR_INVALID;
    }
    if (hosts.size > 0) {
        memcpy(read, hosts.data, hosts.size);
    }
    size_t count = hosts.size / sizeof read[0];
    return gives ? tri_owners_give(owners, view, read, count)
                 : tri_owners_change(owners, view, read, count);
}

uint16_t tri_owners_find(const struct tri_owners *owners, uint64_t group)
{
    uint64_t partition = tri_group_partition(group);
    if ((group & TR_GROUP_HOST_BIT) != 0) {
        return partition & TR_HOST_NUMBER_MAX;
    }
    uint32_t at = lower_bound(owners, group);
    if (at < owners->route_count && owners->routes[at].group == group) {
        return owners->routes[at].number;
    }
    return partition < TR_PARTITIONS_MAX ? owners->hosts[partition] : 0;
}

uint64_t tri_owners_count(const struct tri_owners *owners, uint16_t host)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < TR_PARTITIONS_MAX; i++) {
        count += owners->hosts[i] == host;
    }
    return count;
}

uint64_t tri_owners_nth(const struct tri_owners *owners, uint16_t host, uint64_t place)
{
    uint64_t partition = 0;
    while (partition < TR_PARTITIONS_MAX && (owners->hosts[partition] != host || place > 0)) {
        place -= owners->hosts[partition] == host;
        partition++;
    }
    return partition;
}

uint64_t tri_owners_choose(const struct tri_owners *owners, uint64_t number)
{
    uint64_t open[TR_PARTITIONS_MAX];
    uint64_t count = 0;
    for (uint64_t i = 0; i < TR_PARTITIONS_MAX; i++) {
        if (owners->hosts[i] == owners->self && !owners->withheld[i]) {
            open[count++] = i;
        }
    }
    return count == 0 ? TR_PARTITIONS_MAX : open[number % count];
}

uint64_t tri_host_group(uint16_t number, uint64_t drawn)
{
    const uint64_t drawn_max = (1ULL << TR_GROUP_HOST_SHIFT) - 1;
    return TR_GROUP_HOST_BIT | (uint64_t)number << TR_GROUP_HOST_SHIFT | (drawn & drawn_max);
}
