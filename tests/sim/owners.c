/*
 * Which host has which store. With it goes a partition; and when a host is down, another one may go
 * on with its store and its partition, of which the rest hears sooner or later.
 *
 * Each store has two hosts that may have it, one at a time.
 */
#include "runtime/host/interhost_thread.h"
#include "tests/sim/world.h"

#define MS 1000000ULL

/* One in so many steps a host hears of a change. */
#define TOLD_ONE_IN 200

static uint16_t first_number(const struct sim_host *host)
{
    return (uint16_t)(host->index + 1);
}

void sim_owners_make(struct sim_world *world)
{
    for (uint32_t i = 0; world->plan.remote_count > 0 && i < world->plan.host_count; i++) {
        world->hosts[i].number = first_number(&world->hosts[i]);
    }
}

void sim_owners(const struct sim_world *world, uint16_t owners[SIM_PARTITIONS])
{
    owners[0] = 0;
    for (uint32_t i = 0; i < SIM_HOSTS_MAX; i++) {
        owners[i + 1] = world->hosts[i].number;
    }
}

void sim_owners_begin(struct sim_host *host)
{
    struct sim_world *world = host->world;
    if (world->plan.has_takeovers && host->number != 0 && host->starts > 1 &&
        sim_below(&world->chance.network, 2) == 0) {
        host->number = (uint16_t)(2 * first_number(host) + SIM_HOSTS_MAX - host->number);
        world->view++;
        world->counts.takeovers++;
        sim_say("the store of host %u goes on with number %u", host->index, host->number);
    }
    host->told_view = world->view;
}

uint32_t sim_owners_peers(const struct sim_host *host, struct tr_peer *peers)
{
    const struct sim_plan *plan = &host->world->plan;
    uint32_t count = 0;
    for (uint32_t i = 0; host->number != 0 && i < plan->host_count; i++) {
        for (uint32_t second = 0; i != host->index && second <= plan->has_takeovers; second++) {
            peers[count++] = (struct tr_peer){.number = (uint16_t)(i + 1 + second * SIM_HOSTS_MAX)};
        }
    }
    return count;
}

struct sim_host *sim_owners_find(struct sim_world *world, uint16_t number)
{
    struct sim_host *host = &world->hosts[(number - 1U) % SIM_HOSTS_MAX];
    return host->number == number ? host : NULL;
}

static void tell(struct sim_host *host)
{
    uint16_t owners[SIM_PARTITIONS];
    int64_t before = (int64_t)tr_memory_used();
    sim_owners(host->world, owners);
    host->world->host_in_step = host;
    int error = tri_interhost_thread_tell_owners(host->host, host->world->view, owners,
                                                 1 + host->world->plan.host_count);
    TR_ASSERT(error == 0);
    host->told_view = host->world->view;
    host->memory_bytes += (int64_t)tr_memory_used() - before;
    sim_say("host %u is told of view %llu", host->index, (unsigned long long)host->told_view);
}

void sim_owners_tell(struct sim_world *world)
{
    for (uint32_t i = 0; i < world->plan.host_count; i++) {
        struct sim_host *host = &world->hosts[i];
        bool is_behind = host->host != NULL && host->told_view < world->view;
        if (is_behind && sim_below(&world->chance.network, TOLD_ONE_IN) == 0) {
            tell(host);
        }
    }
}
