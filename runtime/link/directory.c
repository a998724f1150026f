/*
 * The directory in memory: few hosts in an array, and a sorted list of groups that are not on their
 * host of origin.
 *
 * Finding a group takes O(log n) of the routes, and nothing without routes; finding a host scans at
 * most TR_HOSTS_MAX. There is no lock: the directory is filled before the threads start.
 */
#include "runtime/link/directory.h"

#include <string.h>

#include "runtime/memory.h"

#define ROUTES_FIRST 16

void tri_directory_fini(struct tri_directory *directory)
{
    tr_free(directory->peers);
    tr_free(directory->routes);
    *directory = (struct tri_directory){0};
}

int tri_directory_place(const struct tri_directory *directory, uint16_t number)
{
    for (uint32_t i = 0; i < directory->peer_count; i++) {
        if (directory->peers[i].number == number) {
            return (int)i;
        }
    }
    return -1;
}

int tri_directory_add(struct tri_directory *directory, uint16_t number, struct tr_text address)
{
    if (number == 0 || number > TR_HOST_NUMBER_MAX || number == directory->number ||
        directory->number == 0 || address.size >= TR_ADDRESS_BYTES_MAX) {
        return TR_INVALID;
    }
    if (tri_directory_place(directory, number) >= 0) {
        return TR_EXISTS;
    }
    if (directory->peer_count >= TR_HOSTS_MAX) {
        return TR_LIMIT;
    }
    struct tri_neighbour *peers =
        tr_realloc(directory->peers, (directory->peer_count + 1) * sizeof *peers);
    if (peers == NULL) {
        return TR_MEMORY;
    }
    directory->peers = peers;
    struct tri_neighbour *peer = &peers[directory->peer_count++];
    *peer = (struct tri_neighbour){.number = number};
    if (address.size > 0) {
        memcpy(peer->address, address.data, address.size);
    }
    return 0;
}

int tri_directory_set_key(struct tri_directory *directory, uint16_t number, const uint8_t *key)
{
    int place = tri_directory_place(directory, number);
    if (place < 0) {
        return TR_NOT_FOUND;
    }
    memcpy(directory->peers[place].key, key, TR_WIRE_KEY_BYTES);
    directory->peers[place].has_key = true;
    return 0;
}

/* The first route not below a group. */
static uint32_t lower_bound(const struct tri_directory *directory, uint64_t group)
{
    uint32_t begin = 0;
    uint32_t end = directory->route_count;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        if (directory->routes[middle].group < group) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

static int reserve_route(struct tri_directory *directory)
{
    if (directory->route_count < directory->route_capacity) {
        return 0;
    }
    if (directory->route_count >= TR_ROUTES_MAX) {
        return TR_LIMIT;
    }
    uint32_t capacity = directory->route_capacity == 0 ? ROUTES_FIRST : 2 * directory->route_count;
    struct tri_group_route *routes = tr_realloc(directory->routes, capacity * sizeof *routes);
    if (routes == NULL) {
        return TR_MEMORY;
    }
    directory->routes = routes;
    directory->route_capacity = capacity;
    return 0;
}

int tri_directory_route(struct tri_directory *directory, uint64_t group, uint16_t number)
{
    if (number != directory->number && tri_directory_place(directory, number) < 0) {
        return TR_NOT_FOUND;
    }
    uint32_t at = lower_bound(directory, group);
    if (at < directory->route_count && directory->routes[at].group == group) {
        directory->routes[at].number = number;
        return 0;
    }
    int error = reserve_route(directory);
    if (error != 0) {
        return error;
    }
    struct tri_group_route *place = &directory->routes[at];
    memmove(place + 1, place, (directory->route_count - at) * sizeof *place);
    *place = (struct tri_group_route){.group = group, .number = number};
    directory->route_count++;
    return 0;
}

uint16_t tri_directory_host(const struct tri_directory *directory, uint64_t group)
{
    if (directory->route_count > 0) {
        uint32_t at = lower_bound(directory, group);
        if (at < directory->route_count && directory->routes[at].group == group) {
            return directory->routes[at].number;
        }
    }
    return group >> TR_GROUP_HOST_SHIFT & TR_HOST_NUMBER_MAX;
}

uint64_t tri_host_group(uint16_t number, uint64_t drawn)
{
    const uint64_t drawn_max = (1ULL << TR_GROUP_HOST_SHIFT) - 1;
    return TR_GROUP_HOST_BIT | tri_group_origin(number) | (drawn & drawn_max);
}
