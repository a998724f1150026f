/*
 * The network between the hosts of a world: frames that come late, in any order, twice or not at
 * all, and pairs of hosts that do not reach each other for a while.
 *
 * What is on its way outlives the crash of a host, also of the one it is for: what a host hears
 * after its restart may be meant for an earlier life of it.
 */
#ifndef TR_TESTS_SIM_NETWORK_H
#define TR_TESTS_SIM_NETWORK_H

#include "runtime/link/wire.h"
#include "tests/sim/plan.h"

struct sim_host;
struct sim_world;

/* A frame on its way. */
struct sim_packet {
    struct sim_packet *next;
    uint32_t to;
    uint16_t number; /* the host that is meant: another one may be in its place by then */
    uint64_t due_ns;
    size_t size;
    uint8_t data[];
};

/* What a host holds of the network. */
struct sim_wire {
    struct tri_wire base;
    struct sim_host *host;
    struct sim_packet *received; /* until it is released */
};

struct sim_network {
    struct sim_packet *packets;
    uint64_t last_due_ns[SIM_HOSTS_MAX][SIM_HOSTS_MAX]; /* where frames keep their order */
    uint64_t cut_until_ns[SIM_HOSTS_MAX][SIM_HOSTS_MAX];
};

/* The wire of a host. */
struct tri_wire *sim_network_open(struct sim_host *host);

/* Two hosts, one way or both, do not reach each other for a while. */
void sim_network_cut(struct sim_host *host);

/* All hosts reach each other again. */
void sim_network_heal(struct sim_network *network);

/* When the next frame for a host can be read; UINT64_MAX: none is on its way. */
uint64_t sim_network_due_ns(const struct sim_network *network, uint32_t host);

/* Loses everything that is on its way. */
void sim_network_drop(struct sim_network *network);

#endif
