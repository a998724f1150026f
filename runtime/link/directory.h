/*
 * The directory: which host has a group.
 *
 * The number of a group begins with that of the host of origin, so nobody is asked where it is;
 * groups that live elsewhere are listed. It is filled before the host starts and does not change
 * after that, so all threads may read it.
 */
#ifndef TR_RUNTIME_LINK_DIRECTORY_H
#define TR_RUNTIME_LINK_DIRECTORY_H

#include "runtime/limits.h"
#include "schemas/codec/base.h"
#include "schemas/codec/error.h"

/* Where the number of the host stands in that of a group: fifteen bits, since stores keep keys in
 * order below 2^63. */
#define TRI_GROUP_HOST_SHIFT 48
#define TRI_HOST_NUMBER_MAX 32767

/* Another host. */
struct tri_neighbour {
    uint16_t number;
    char address[TR_ADDRESS_BYTES_MAX];
};

/* A group that lives elsewhere than its number says. */
struct tri_group_route {
    uint64_t group;
    uint16_t number;
};

struct tri_directory {
    uint16_t number; /* of this host; 0: it is alone, and all groups are here */
    uint32_t peer_count;
    struct tri_neighbour *peers; /* in the order in which they were added: a host's place */
    uint32_t route_count;
    uint32_t route_capacity;
    struct tri_group_route *routes; /* by group */
};

void tri_directory_fini(struct tri_directory *directory);

/*
 * Adds a host. TR_EXISTS (there is one with this number), TR_INVALID (it is this host's, 0, or
 * above TRI_HOST_NUMBER_MAX; or an address that is too long), TR_LIMIT (TR_HOSTS_MAX), TR_MEMORY.
 */
TR_MUST_USE int tri_directory_add(struct tri_directory *directory, uint16_t number,
                                  struct tr_text address);

/* Says which host has a group, this one too. TR_NOT_FOUND (no such host), TR_LIMIT, TR_MEMORY. */
TR_MUST_USE int tri_directory_route(struct tri_directory *directory, uint64_t group,
                                    uint16_t number);

/* The number of the host that has a group. */
uint16_t tri_directory_host(const struct tri_directory *directory, uint64_t group);

/* The place of a host among the peers, or -1. */
int tri_directory_place(const struct tri_directory *directory, uint16_t number);

/* The group in which a host itself speaks to others: its program, and its workers for nobody's
 * group. Its serials are the same as those of group 0. */
static inline uint64_t tri_host_group(uint16_t number)
{
    return (uint64_t)number << TRI_GROUP_HOST_SHIFT;
}

/* Whether this is such a group, of whichever host, or group 0. */
static inline bool tri_is_host_group(uint64_t group)
{
    return group << (64 - TRI_GROUP_HOST_SHIFT) == 0;
}

static inline bool tri_directory_is_here(const struct tri_directory *directory, uint64_t group)
{
    return group == 0 || directory->number == 0 ||
           tri_directory_host(directory, group) == directory->number;
}

#endif
