/*
 * The interhost service: the place of a host that exchanges frames with other hosts.
 *
 * Messages of interhost actors arrive here once everything that led to them is committed, and are
 * sent in frames, one session for each host. Received messages go to the worker of their interhost
 * actor. The service keeps nothing: while a link is down its messages are dropped, and interhost
 * actors send them again when they are told that it is up.
 *
 * Where hosts are it hears from the program, also of those that come while it runs.
 *
 * Who has which partition it hears first, and tells the workers behind all that it has passed on
 * from the hosts before. From then on only what comes from a group's own host is taken.
 *
 * Owned by one thread (or the simulator), which calls tri_interhost_service_step.
 */
#ifndef TR_RUNTIME_CLUSTER_SERVICE_H
#define TR_RUNTIME_CLUSTER_SERVICE_H

#include "runtime/cluster/session.h"
#include "runtime/env/env.h"
#include "runtime/link/directory.h"
#include "runtime/link/owners.h"
#include "runtime/link/sender.h"
#include "runtime/link/wire.h"

/* Another host: its session and unsent messages. */
struct tri_interhost_peer {
    struct tri_session session;
    uint16_t number;
    uint8_t *messages; /* messages of the next frame */
    size_t size;
    size_t capacity;
};

/* Totals since the start. */
struct tri_interhost_counts {
    uint64_t frames_sent;
    uint64_t frames_taken;
    uint64_t frames_refused;   /* lost, duplicated, out of order, or malformed; or of no owner */
    uint64_t messages_dropped; /* while a link was down */
    uint64_t peers_refused;    /* that cannot be reached where they are said to be */
};

struct tri_interhost_service {
    struct tr_env *env;
    struct tri_directory *directory;
    uint64_t first_session;   /* above all of earlier starts */
    struct tri_owners owners; /* which host has which group, as the service knows it */
    uint32_t worker_count;
    struct tri_sender sender;
    struct tri_wire *wire;            /* owned by its opener */
    struct tri_interhost_peer *peers; /* by their places in the directory */
    uint32_t peer_count;              /* of them that have a session */
    struct tri_interhost_counts counts;
    uint64_t made_view;  /* the last one that this host has made itself, for the others */
    uint64_t heard_view; /* the last one that another has made */
    int error;           /* why it has failed; 0: it has not */
};

/*
 * `host` is this start of the host: sessions of a later incarnation are above all earlier ones;
 * `owners` are copied. Link and wire are set when they are open. TR_MEMORY.
 */
TR_MUST_USE int tri_interhost_service_init(struct tri_interhost_service *service,
                                           struct tr_env *env, struct tri_directory *directory,
                                           const struct tri_owners *owners, uint32_t worker_count,
                                           struct tr_ref host);
void tri_interhost_service_fini(struct tri_interhost_service *service);

/*
 * One step: takes messages from both sides, handles timers, sends. Returns whether there was
 * anything to do.
 */
bool tri_interhost_service_step(struct tri_interhost_service *service);

/* How long it may sleep without messages. */
uint64_t tri_interhost_service_idle_ns(struct tri_interhost_service *service);

#endif
