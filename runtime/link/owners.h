/*
 * Which host has which group, as one thread knows it.
 *
 * The number of a group has its partition (schemas/codec/base.h), and a partition has one host. A
 * group that is not with its partition is listed. Each worker and the interhost service have a copy
 * of their own, which messages replace in the order of views (the number of the last change of
 * owners): so a look is an array index, and asks nobody.
 */
#ifndef TR_RUNTIME_LINK_OWNERS_H
#define TR_RUNTIME_LINK_OWNERS_H

#include "runtime/limits.h"
#include "schemas/codec/base.h"
#include "schemas/codec/error.h"

/* A group that is not with its partition. */
struct tri_group_route {
    uint64_t group;
    uint16_t number; /* of its host */
};

struct tri_owners {
    uint16_t self; /* this host; 0: there are no other hosts, and all groups are here */
    uint64_t view;
    uint16_t hosts[TR_PARTITIONS_MAX];  /* of each partition; 0: nobody that is known */
    uint64_t views[TR_PARTITIONS_MAX];  /* in which each got that host; 0: before this one began */
    uint32_t epochs[TR_PARTITIONS_MAX]; /* of the own ones: how many hosts each has had before */
    bool withheld[TR_PARTITIONS_MAX];   /* of the own ones: no group begins there any more */
    bool frozen[TR_PARTITIONS_MAX];     /* of the own ones: none runs there any more */
    bool parted[TR_PARTITIONS_MAX];     /* of those: others speak to them as to another host's */
    uint32_t route_count;
    uint32_t route_capacity;
    struct tri_group_route *routes; /* sorted by group */
};

/* Each partition belongs to the host of the same number. */
void tri_owners_init(struct tri_owners *owners, uint16_t self);
void tri_owners_fini(struct tri_owners *owners);

/* Makes a copy. TR_MEMORY. */
TR_MUST_USE int tri_owners_copy(struct tri_owners *copy, const struct tri_owners *owners);

/* Lists a group with a host. TR_LIMIT (TR_ROUTES_MAX), TR_MEMORY. */
TR_MUST_USE int tri_owners_route(struct tri_owners *owners, uint64_t group, uint16_t number);

/*
 * Takes over who has the partitions in a view; those from `count` on stay. What this host gets is
 * loaded already (runtime/host/take.h). TR_EXISTS: the view is no later one; TR_INVALID: this host
 * would lose a partition, which takes more than a message, or there are too many. Nothing changes
 * then.
 */
TR_MUST_USE int tri_owners_change(struct tri_owners *owners, uint64_t view, const uint16_t *hosts,
                                  size_t count);

/*
 * The same, and this host gives up what it has no more: nothing lies there, or what lies there is
 * about to go (runtime/move/leave.h), and no group begins there (runtime/host/give.h).
 */
TR_MUST_USE int tri_owners_give(struct tri_owners *owners, uint64_t view, const uint16_t *hosts,
                                size_t count);

/* One of both, with two bytes for each host in the machine's order. */
TR_MUST_USE int tri_owners_read(struct tri_owners *owners, uint64_t view, struct tr_bytes hosts,
                                bool gives);

/* As tri_owners_host, where a look at the array is not enough. */
uint16_t tri_owners_find(const struct tri_owners *owners, uint64_t group);

static inline uint64_t tri_group_partition(uint64_t group)
{
    return group >> TR_GROUP_PARTITION_SHIFT;
}

/* What the numbers of all groups of actors of a partition have in common. */
static inline uint64_t tri_partition_origin(uint64_t partition)
{
    return partition << TR_GROUP_PARTITION_SHIFT;
}

/*
 * A host's own group: its services, its workers and its program, in one of its starts. `drawn` is
 * different in each start of each host.
 */
uint64_t tri_host_group(uint16_t number, uint64_t drawn);

/*
 * The group in which the host of a partition says to other hosts what no actor of it says; nobody
 * counts up to it (runtime/actor/group.c).
 */
static inline uint64_t tri_partition_voice(uint64_t partition)
{
    return tri_partition_origin(partition) | 1ULL << (TR_GROUP_PARTITION_SHIFT - 1);
}

/* How many partitions a host has; and one of them by its place, TR_PARTITIONS_MAX: it has fewer. */
uint64_t tri_owners_count(const struct tri_owners *owners, uint16_t host);
uint64_t tri_owners_nth(const struct tri_owners *owners, uint16_t host, uint64_t place);

/* One of this host's partitions where groups begin, any by `number`; TR_PARTITIONS_MAX: none. */
uint64_t tri_owners_choose(const struct tri_owners *owners, uint64_t number);

/* The number of a group's host; 0: nobody that is known. */
static inline uint16_t tri_owners_host(const struct tri_owners *owners, uint64_t group)
{
    uint64_t partition = tri_group_partition(group);
    return TR_LIKELY(partition < TR_PARTITIONS_MAX && owners->route_count == 0)
               ? owners->hosts[partition]
               : tri_owners_find(owners, group);
}

/* Whether a receiver of this group is on this host. */
static inline bool tri_owners_is_here(const struct tri_owners *owners, uint64_t group)
{
    return group == TR_GROUP_HERE || owners->self == 0 ||
           tri_owners_host(owners, group) == owners->self;
}

/* How many hosts the partition of a group had before; 0: of no partition, or nobody has said. */
static inline uint32_t tri_owners_epoch(const struct tri_owners *owners, uint64_t group)
{
    uint64_t partition = tri_group_partition(group);
    return partition < TR_PARTITIONS_MAX ? owners->epochs[partition] : 0;
}

/* Whether the partition of a group has parted from the others of this host. */
static inline bool tri_owners_is_parted(const struct tri_owners *owners, uint64_t group)
{
    uint64_t partition = tri_group_partition(group);
    return partition < TR_PARTITIONS_MAX && owners->parted[partition];
}

/* The view in which the partition of a group got its host; 0: before this host began. */
static inline uint64_t tri_owners_view(const struct tri_owners *owners, uint64_t group)
{
    uint64_t partition = tri_group_partition(group);
    return partition < TR_PARTITIONS_MAX ? owners->views[partition] : 0;
}

#endif
