/*
 * The links of one simulated host: a pipe from each place to each other, in memory.
 *
 * A pipe keeps its order, delays each batch as the seed says, and is full when it holds so many
 * batches, or for no reason at all. Which pipe a place reads from next is the seed's choice too.
 */
#ifndef TR_TESTS_SIM_NET_H
#define TR_TESTS_SIM_NET_H

#include "runtime/link/link.h"
#include "tests/sim/random.h"

struct sim_world;
struct sim_host;

/* A batch on its way. */
struct sim_frame {
    struct sim_frame *next;
    uint8_t *data; /* of tr_alloc */
    size_t size;
    uint64_t due_ns;
};

struct sim_pipe {
    struct sim_frame *head;
    struct sim_frame *tail;
    uint32_t count;
};

/* What a place holds of the net. */
struct sim_end {
    struct tri_channel base;
    struct sim_net *net;
    uint8_t *received; /* until it is released */
    uint32_t waiting;  /* batches in all pipes to here */
    bool is_open;
};

struct sim_net {
    struct sim_host *host;
    struct sim_end ends[TRI_PLACE_COUNT];
    struct sim_pipe pipes[TRI_PLACE_COUNT][TRI_PLACE_COUNT]; /* [to][from] */
    uint32_t in_flight;
    bool is_never_full; /* for a while: what is done now may not be refused */
    uint64_t delivered;
};

/* Opens the end of a place; as tr_env's link_open. */
TR_MUST_USE int sim_net_open(struct sim_net *net, uint32_t place, struct tri_channel **link);

/* Loses everything that is on its way, and closes all ends. */
void sim_net_drop(struct sim_net *net);

/* When the next batch for this place can be read; UINT64_MAX when none is on its way. */
uint64_t sim_net_due_ns(const struct sim_net *net, uint32_t place);

/* Makes everything that is on its way due now. */
void sim_net_hurry(struct sim_net *net);

/* Lets the last two batches of a pipe change places, where there are two. */
void sim_net_swap_last(struct sim_net *net, uint32_t from, uint32_t to);

/* Puts a batch into a pipe whatever it holds: what a injected bug does. Takes the data over. */
void sim_net_push(struct sim_net *net, uint32_t from, uint32_t to, uint8_t *data, size_t size);

#endif
