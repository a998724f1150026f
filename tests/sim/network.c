/*
 * The network in memory. Whatever it does to a frame is drawn from the seed; in calm times it only
 * delivers.
 */
#include "tests/sim/network.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "tests/sim/world.h"

#define MS 1000000ULL

static struct sim_wire *wire_of(struct tri_wire *wire)
{
    return (struct sim_wire *)wire;
}

/* Where a host is, if it is anywhere. */
static uint32_t place_of(uint16_t number)
{
    return (number - 1U) % SIM_HOSTS_MAX;
}

static uint64_t draw_due_ns(struct sim_world *world, uint32_t from, uint32_t to)
{
    uint64_t delay_ns = 20000;
    if (!world->is_calm) {
        delay_ns += sim_below(&world->chance.network, world->plan.network_delay_ns_max + 1);
    }
    uint64_t due_ns = world->now_ns + delay_ns;
    uint64_t *last_ns = &world->network.last_due_ns[from][to];
    bool may_overtake = !world->is_calm && sim_chance(&world->chance.network, world->plan.overtake);
    if (may_overtake) {
        world->counts.overtaken_frames += due_ns < *last_ns ? 1 : 0;
        return due_ns;
    }
    *last_ns = due_ns > *last_ns ? due_ns : *last_ns;
    return *last_ns;
}

static void push(struct sim_world *world, uint32_t from, uint16_t number, const uint8_t *data,
                 size_t size)
{
    struct sim_packet *packet = sim_must(malloc(sizeof *packet + size));
    uint32_t to = place_of(number);
    *packet = (struct sim_packet){
        .to = to, .number = number, .size = size, .due_ns = draw_due_ns(world, from, to)};
    memcpy(packet->data, data, size);
    struct sim_packet **link = &world->network.packets;
    while (*link != NULL && (*link)->due_ns <= packet->due_ns) {
        link = &(*link)->next;
    }
    packet->next = *link;
    *link = packet;
}

/* How often a frame arrives. */
static uint32_t draw_copies(struct sim_world *world, uint32_t from, uint32_t to)
{
    if (world->is_calm) {
        return 1;
    }
    bool is_cut = world->network.cut_until_ns[from][to] > world->now_ns;
    if (is_cut || sim_chance(&world->chance.network, world->plan.lose)) {
        world->counts.lost_frames++;
        return 0;
    }
    bool is_doubled = sim_chance(&world->chance.network, world->plan.twice);
    world->counts.doubled_frames += is_doubled ? 1 : 0;
    return is_doubled ? 2 : 1;
}

static int network_send(struct tri_wire *wire, uint16_t host, uint8_t *data, size_t size)
{
    struct sim_host *sender = wire_of(wire)->host;
    struct sim_world *world = sender->world;
    uint32_t copies = draw_copies(world, sender->index, place_of(host));
    world->counts.frames_between_hosts++;
    for (uint32_t i = 0; i < copies; i++) {
        push(world, sender->index, host, data, size);
    }
    tr_free(data);
    bool is_busy = !world->is_calm && copies == 0 && sim_below(&world->chance.network, 2) == 0;
    return is_busy ? TR_BUSY : 0;
}

static int network_receive(struct tri_wire *wire, struct tri_frame *frame)
{
    struct sim_wire *end = wire_of(wire);
    struct sim_world *world = end->host->world;
    struct sim_packet **link = &world->network.packets;
    while (*link != NULL && ((*link)->to != end->host->index || (*link)->due_ns > world->now_ns)) {
        link = &(*link)->next;
    }
    if (*link == NULL) {
        return TR_NOT_FOUND;
    }
    end->received = *link;
    *link = end->received->next;
    if (sim_owners_find(world, end->received->number) != end->host) {
        free(end->received); /* its host is not there any more */
        end->received = NULL;
        return TR_NOT_FOUND;
    }
    *frame = (struct tri_frame){.data = end->received->data, .size = end->received->size};
    return 0;
}

/* A host is found by its number. */
static int network_connect(struct tri_wire *wire, uint16_t host)
{
    (void)wire;
    (void)host;
    return 0;
}

static void network_release(struct tri_wire *wire, struct tri_frame *frame)
{
    free(wire_of(wire)->received);
    wire_of(wire)->received = NULL;
    *frame = (struct tri_frame){0};
}

/* In one thread nobody can wait. */
static int network_descriptor(struct tri_wire *wire)
{
    (void)wire;
    sim_fail("something waits for the network inside of a step");
    return -1;
}

static void network_close(struct tri_wire *wire)
{
    free(wire_of(wire)->received);
    wire_of(wire)->received = NULL;
}

static const struct tri_wire_ops network_ops = {
    .send = network_send,
    .connect = network_connect,
    .receive = network_receive,
    .release = network_release,
    .descriptor = network_descriptor,
    .close = network_close,
};

struct tri_wire *sim_network_open(struct sim_host *host)
{
    host->wire = (struct sim_wire){.base = {.ops = &network_ops}, .host = host};
    return &host->wire.base;
}

void sim_network_cut(struct sim_host *host)
{
    struct sim_world *world = host->world;
    struct sim_random *chance = &world->chance.network;
    uint32_t hosts = world->plan.host_count;
    uint32_t other = (host->index + 1 + (uint32_t)sim_below(chance, hosts - 1)) % hosts;
    /* Sometimes for so long that silence alone must be noticed. */
    uint64_t most_ns = sim_below(chance, 4) == 0 ? 12000 * MS : 300 * MS;
    uint64_t until_ns = world->now_ns + sim_below(chance, most_ns);
    world->counts.cuts++;
    world->network.cut_until_ns[host->index][other] = until_ns;
    if (sim_below(chance, 3) != 0) {
        world->network.cut_until_ns[other][host->index] = until_ns;
    }
}

void sim_network_heal(struct sim_network *network)
{
    memset(network->cut_until_ns, 0, sizeof network->cut_until_ns);
}

uint64_t sim_network_due_ns(const struct sim_network *network, uint32_t host)
{
    const struct sim_packet *packet = network->packets;
    while (packet != NULL && packet->to != host) {
        packet = packet->next;
    }
    return packet == NULL ? UINT64_MAX : packet->due_ns;
}

void sim_network_drop(struct sim_network *network)
{
    while (network->packets != NULL) {
        struct sim_packet *packet = network->packets;
        network->packets = packet->next;
        free(packet);
    }
}
