/*
 * The directory: maps groups to hosts.
 *
 * The number of a group has that of its host of origin (schemas/codec/base.h), so no lookup is
 * needed; groups that live elsewhere are listed. It is filled before the host starts and does not
 * change afterwards, so all threads may read it.
 */
#ifndef TR_RUNTIME_LINK_DIRECTORY_H
#define TR_RUNTIME_LINK_DIRECTORY_H

#include "runtime/limits.h"
#include "runtime/link/wire_keys.h"
#include "schemas/codec/base.h"
#include "schemas/codec/error.h"

/* Another host. */
struct tri_neighbour {
    uint16_t number;
    char address[TR_ADDRESS_BYTES_MAX];
    bool has_key;
    uint8_t key[TR_WIRE_KEY_BYTES]; /* its public one */
};

/* A group that is not on its host of origin. */
struct tri_group_route {
    uint64_t group;
    uint16_t number;
};

struct tri_directory {
    uint16_t number; /* of this host; 0: there are no other hosts, and all groups are here */
    bool has_keys;   /* what hosts say to each other is encrypted, and each peer has a key */
    struct tr_wire_keys keys; /* of this host */
    uint32_t peer_count;
    struct tri_neighbour *peers; /* in order of addition; the index is a host's place */
    uint32_t route_count;
    uint32_t route_capacity;
    struct tri_group_route *routes; /* sorted by group */
};

void tri_directory_fini(struct tri_directory *directory);

/*
 * Adds a host. TR_EXISTS (the number is in use), TR_INVALID (it is this host's, 0, or above
 * TR_HOST_NUMBER_MAX; or the address is too long), TR_LIMIT (TR_HOSTS_MAX), TR_MEMORY.
 */
TR_MUST_USE int tri_directory_add(struct tri_directory *directory, uint16_t number,
                                  struct tr_text address);

/* Sets the public key of a peer, TR_WIRE_KEY_BYTES. TR_NOT_FOUND. */
TR_MUST_USE int tri_directory_set_key(struct tri_directory *directory, uint16_t number,
                                      const uint8_t *key);

/*
 * Sets the host of a group, which may be this one. TR_NOT_FOUND (no such host), TR_LIMIT,
 * TR_MEMORY.
 */
TR_MUST_USE int tri_directory_route(struct tri_directory *directory, uint64_t group,
                                    uint16_t number);

/* The number of a group's host. */
uint16_t tri_directory_host(const struct tri_directory *directory, uint64_t group);

/* The index of a host among the peers, or -1. */
int tri_directory_place(const struct tri_directory *directory, uint16_t number);

/* What the numbers of all groups of actors that begin on a host have in common. */
static inline uint64_t tri_group_origin(uint16_t number)
{
    return (uint64_t)number << TR_GROUP_HOST_SHIFT;
}

/*
 * The host's own group: its services, its workers and its program, in one of its starts. `drawn` is
 * different in each start of each host.
 */
uint64_t tri_host_group(uint16_t number, uint64_t drawn);

/* Whether a receiver of this group is on this host. */
static inline bool tri_directory_is_here(const struct tri_directory *directory, uint64_t group)
{
    return group == TR_GROUP_HERE || directory->number == 0 ||
           tri_directory_host(directory, group) == directory->number;
}

#endif
