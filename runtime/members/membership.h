/*
 * The thread of an engine that says that its host lives: once a second one round trip to the
 * database, on a connection of its own, which also shows the other hosts. It begins with the
 * engine, before anything is loaded, and ends with it.
 */
#ifndef TR_RUNTIME_MEMBERS_MEMBERSHIP_H
#define TR_RUNTIME_MEMBERS_MEMBERSHIP_H

#include "runtime/members/permit.h"
#include "runtime/members/registry.h"

struct tri_membership;

struct tri_membership_options {
    /* Opens the registry, on the thread; TR_BUSY and the like: later again. */
    int (*open)(void *self, struct tri_registry **registry);
    /* Told once, by the thread: this host has the work no more, and must end. With words. */
    void (*fail)(void *self, int error, const char *words);
    /* Told by the thread when hosts or owners have changed; or NULL. */
    void (*changed)(void *self);
    void *self; /* of all */
    uint64_t host;
    uint64_t incarnation;
    /* One that works beside others: it takes the work of those that are lost. */
    bool takes;
    const char *address; /* where it listens to them, which is written down; NULL: nowhere */
    const uint8_t *key;  /* its public one; both outlive the thread */
};

/* TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_membership_start(const struct tri_membership_options *options,
                                     struct tri_membership **membership);

/* Ends the thread, within the time that an answer of the database may take. NULL is fine. */
void tri_membership_stop(struct tri_membership *membership);

/* Whether calls may leave now; any thread. */
bool tri_membership_may_call(const struct tri_membership *membership);

/*
 * For how long processes of this host may go on from now on without another word, and how often
 * that was renewed (`renewals`); 0 as long as there was no other host that could take the work.
 * Any thread.
 */
uint32_t tri_membership_process_lease_ms(const struct tri_membership *membership,
                                         uint64_t *renewals);

/*
 * Whether processes may begin: what others have to know of them is written down. Any thread.
 */
bool tri_membership_may_begin(const struct tri_membership *membership);

/* Whether another host stood by when it was looked last; any thread. */
bool tri_membership_has_others(const struct tri_membership *membership);

/*
 * What was seen last: all hosts, and who has which partition. False: nothing so far. Any thread.
 */
bool tri_membership_view(const struct tri_membership *membership, struct tri_member_view *view);

/* Looks at once, and waits for that, but no longer than a beat; any thread but its own. */
void tri_membership_look_now(struct tri_membership *membership);

/* The keeper of this host has heard of the lease, or nothing runs here, and nothing will; any
 * thread. It is written down at once. */
void tri_membership_keep(struct tri_membership *membership, enum tri_member_processes processes);

/*
 * Whether what a host had begun has certainly ended: 0, else TR_BUSY; with words for people: that
 * it was lost there, or for how long it is waited, and what ends that. Any thread.
 */
TR_MUST_USE int tri_membership_lost(struct tri_membership *membership, uint64_t host, char *words,
                                    size_t size);

#endif
