/*
 * The interhost service: the place of a host that speaks to other hosts.
 *
 * What interhost actors say arrives here once everything that led to it is committed, and leaves in
 * frames, one session for each host. What comes in goes to the worker of the interhost actor that
 * it is for. Nothing is kept here: while a link is down what is for it is dropped, and interhost
 * actors send it again when they hear that it is up.
 *
 * Owned by one thread (or the simulator), which calls tri_interhost_service_step.
 */
#ifndef TR_RUNTIME_CLUSTER_SERVICE_H
#define TR_RUNTIME_CLUSTER_SERVICE_H

#include "runtime/cluster/session.h"
#include "runtime/env/env.h"
#include "runtime/link/directory.h"
#include "runtime/link/sender.h"
#include "runtime/link/wire.h"

/* What is for one host. */
struct tri_interhost_line {
    struct tri_session session;
    uint16_t number;
    uint8_t *messages; /* whole ones, one behind the other, that leave in the next frame */
    size_t size;
    size_t capacity;
};

/* Totals since the start. */
struct tri_interhost_counts {
    uint64_t frames_sent;
    uint64_t frames_taken;
    uint64_t frames_refused;   /* lost, doubled, overtaken, or not to be understood */
    uint64_t messages_dropped; /* while a link was down */
};

struct tri_interhost_service {
    struct tr_env *env;
    const struct tri_directory *directory;
    uint32_t worker_count;
    struct tri_sender sender;
    struct tri_wire *wire; /* belongs to who opened it */
    struct tri_interhost_line *lines;
    struct tri_interhost_counts counts;
    int error; /* why it cannot go on; 0 while it can */
};

/* `host_epoch` is the incarnation of the host: sessions of a later one are above all earlier ones.
 * Link and wire come when they are open. TR_MEMORY. */
TR_MUST_USE int tri_interhost_service_init(struct tri_interhost_service *service,
                                           struct tr_env *env,
                                           const struct tri_directory *directory,
                                           uint32_t worker_count, uint32_t host_epoch);
void tri_interhost_service_fini(struct tri_interhost_service *service);

/* One turn: takes what came from both sides, lets time pass, sends. Whether there was anything to
 * do. */
bool tri_interhost_service_step(struct tri_interhost_service *service);

/* How long it may sleep when nothing comes. */
uint64_t tri_interhost_service_idle_ns(struct tri_interhost_service *service);

#endif
