/*
 * Where the hosts of a store are written down: tables of the store's database, through a session of
 * their own. A host says there that it lives, looks who else does, and takes the work of one that
 * does not. One thread at a time.
 */
#ifndef TR_RUNTIME_MEMBERS_REGISTRY_H
#define TR_RUNTIME_MEMBERS_REGISTRY_H

#include "runtime/members/member.h"

struct tri_registry;

/* A back end: every function has the contract of the tri_registry function of its name. */
struct tri_registry_ops {
    int (*join)(struct tri_registry *registry, const struct tri_store_member *member);
    int (*look)(struct tri_registry *registry, struct tri_member_view *view);
    int (*take)(struct tri_registry *registry, const struct tri_member *seen,
                const struct tri_member_shares *shares, const char *why);
    int (*vacant)(struct tri_registry *registry, bool *vacant, uint64_t *view);
    int (*give)(struct tri_registry *registry, const struct tri_member_shares *shares,
                const uint32_t *epochs, uint64_t *view);
    int (*want)(struct tri_registry *registry, uint64_t partition, uint64_t host, const char *by);
    int (*stay)(struct tri_registry *registry, const struct tri_member_shares *waits);
    int (*open_moved)(struct tri_registry *registry);
    int (*read_move)(struct tri_registry *registry, uint64_t partition,
                     struct tri_member_move *move);
    int (*drain)(struct tri_registry *registry, uint64_t host, bool is_drained);
    int (*leave)(struct tri_registry *registry);
    int (*forget)(struct tri_registry *registry, uint64_t number);
    int (*keep)(struct tri_registry *registry, enum tri_member_processes processes);
    int (*listen)(struct tri_registry *registry, const char *address, const uint8_t *key);
    int (*descriptor)(struct tri_registry *registry);
    bool (*has_news)(struct tri_registry *registry);
    const char *(*explain)(struct tri_registry *registry);
    void (*close)(struct tri_registry *registry);
};

/* The first member of every back end's struct. */
struct tri_registry {
    const struct tri_registry_ops *ops;
    uint64_t self;        /* the host it speaks for; 0: none, it only looks */
    uint64_t incarnation; /* of that host */
};

/*
 * Makes this a host of the store that is up, with a new incarnation; from then on the registry
 * speaks for it. Earlier incarnations of it are shut out. TR_EXISTS: another host has its name;
 * TR_LIMIT: there are TRI_MEMBERS_MAX. Other errors: TR_BUSY (try again), TR_STORE_FAILED, and
 * those of a store.
 */
TR_MUST_USE static inline int tri_registry_join(struct tri_registry *registry,
                                                const struct tri_store_member *member)
{
    return registry->ops->join(registry, member);
}

/*
 * Raises the beat of the host that it speaks for, unless that has another incarnation or is up no
 * more, and reads all hosts, in one round trip. Errors: TR_BUSY (the database does not answer now),
 * TR_STORE_FAILED, _DAMAGED.
 */
TR_MUST_USE static inline int tri_registry_look(struct tri_registry *registry,
                                                struct tri_member_view *view)
{
    return registry->ops->look(registry, view);
}

/*
 * Takes all work of a host, in one transaction: `seen` is fenced if it is as it was seen, else
 * nothing is changed. Each of its partitions goes to its host in `shares`, if that is up; else, or
 * without one, to the host that the registry speaks for. TR_CLOSED: it lives, or another host was
 * quicker; TR_FENCED: the own host is not up. Others as those of tri_registry_look.
 */
TR_MUST_USE static inline int tri_registry_take(struct tri_registry *registry,
                                                const struct tri_member *seen,
                                                const struct tri_member_shares *shares,
                                                const char *why)
{
    return registry->ops->take(registry, seen, shares, why);
}

/*
 * In which of its partitions nothing lies (`vacant`, TR_PARTITIONS_MAX; false for those that it has
 * not), and a new view, in which nothing has changed yet. Partitions where nothing may begin any
 * more, and nothing is left to be written, stay so. TR_FENCED: the host is not up; others as those
 * of tri_registry_look.
 */
TR_MUST_USE static inline int tri_registry_vacant(struct tri_registry *registry, bool *vacant,
                                                  uint64_t *view)
{
    return registry->ops->vacant(registry, vacant, view);
}

/*
 * Gives partitions of the host that it speaks for to others, each to its host in `shares`, in one
 * transaction; `epochs` are those of the look by which they are given (tri_member_view), and `view`
 * is that of the change, or a later one. Said again it changes nothing: what the host does not have
 * any more as it was then was given before. TR_INVALID: something lies in one of them, and they are
 * not live; or a host is not up. Nothing is given, and nothing will be by this, and the view is a
 * new one. TR_BUSY: it may be given or not, and is to be said again; TR_FENCED: the host is not up.
 * Others as those of tri_registry_look.
 */
TR_MUST_USE static inline int tri_registry_give(struct tri_registry *registry,
                                                const struct tri_member_shares *shares,
                                                const uint32_t *epochs, uint64_t *view)
{
    return registry->ops->give(registry, shares, epochs, view);
}

/*
 * A partition is wanted at a host by somebody (a name, for people): its host gives it as soon as it
 * can. 0: nowhere else any more. Nothing if that host is not up, or works alone. Errors of these:
 * TR_INVALID (tables of an earlier program), and those of tri_registry_look.
 */
TR_MUST_USE static inline int tri_registry_want(struct tri_registry *registry, uint64_t partition,
                                                uint64_t host, const char *by)
{
    return registry->ops->want(registry, partition, host, by);
}

/* What keeps partitions of the own host there, in `hosts` of `waits` (enum tri_member_wait). */
TR_MUST_USE static inline int tri_registry_stay(struct tri_registry *registry,
                                                const struct tri_member_shares *waits)
{
    return registry->ops->stay(registry, waits);
}

/* What has come to the own host goes on. */
TR_MUST_USE static inline int tri_registry_open_moved(struct tri_registry *registry)
{
    return registry->ops->open_moved(registry);
}

/* How far a partition's move is. TR_NOT_FOUND: there is no such partition. */
TR_MUST_USE static inline int tri_registry_read_move(struct tri_registry *registry,
                                                     uint64_t partition,
                                                     struct tri_member_move *move)
{
    return registry->ops->read_move(registry, partition, move);
}

/* Whether a host gives all that it can, and gets nothing, until it joins anew. */
TR_MUST_USE static inline int tri_registry_drain(struct tri_registry *registry, uint64_t host,
                                                 bool is_drained)
{
    return registry->ops->drain(registry, host, is_drained);
}

/* The host that the registry speaks for has left in order. Nothing if it was fenced meanwhile. */
TR_MUST_USE static inline int tri_registry_leave(struct tri_registry *registry)
{
    return registry->ops->leave(registry);
}

/*
 * A host that has no work and is not up is none any more; an operator says by it that nothing of it
 * runs. TR_NOT_FOUND, TR_BUSY; TR_INVALID: it is up, or has the work.
 */
TR_MUST_USE static inline int tri_registry_forget(struct tri_registry *registry, uint64_t number)
{
    return registry->ops->forget(registry, number);
}

/* What of the processes of the host that it speaks for may run when it is lost. */
TR_MUST_USE static inline int tri_registry_keep(struct tri_registry *registry,
                                                enum tri_member_processes processes)
{
    return registry->ops->keep(registry, processes);
}

/*
 * The others reach the host that it speaks for at this address, and know it by this public key
 * (TR_WIRE_KEY_BYTES; NULL: by none). It counts until the host joins or is opened anew. Nothing if
 * it was fenced meanwhile, or if the store's tables are those of an earlier program.
 *
 * Who listens may be given partitions, and the log of a host that has some is nobody else's to
 * bring in. TR_INVALID: it has none, and its earlier life has left commits in its log
 * (tri_store_settle).
 */
TR_MUST_USE static inline int tri_registry_listen(struct tri_registry *registry,
                                                  const char *address, const uint8_t *key)
{
    return registry->ops->listen(registry, address, key);
}

/*
 * Readable when hosts or owners may have changed since the last look; -1: only a look shows that.
 * Another one after each look.
 */
static inline int tri_registry_descriptor(struct tri_registry *registry)
{
    return registry->ops->descriptor != NULL ? registry->ops->descriptor(registry) : -1;
}

/* Whether they may have; takes note of it. It does not wait. */
static inline bool tri_registry_has_news(struct tri_registry *registry)
{
    return registry->ops->has_news != NULL && registry->ops->has_news(registry);
}

/* The last error in words. */
static inline const char *tri_registry_explain(struct tri_registry *registry)
{
    return registry->ops->explain(registry);
}

static inline void tri_registry_close(struct tri_registry *registry)
{
    if (registry != NULL) {
        registry->ops->close(registry);
    }
}

#endif
