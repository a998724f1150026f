/*
 * Drawing plans. The numbers are chosen so that a world lives some thousand steps, sees a handful
 * of faults, and ends within milliseconds of real time.
 */
#include "tests/sim/plan.h"

#define MS 1000000ULL

/* A chance that is zero in half of all worlds. */
static uint32_t sometimes(struct sim_random *random, uint32_t most)
{
    return sim_below(random, 2) == 0 ? 0 : (uint32_t)sim_between(random, 1, most);
}

static void draw_world(struct sim_plan *plan, struct sim_random *random)
{
    plan->host_count = sim_below(random, 4) == 0 ? (uint32_t)sim_between(random, 2, 3) : 1;
    plan->worker_count = (uint32_t)sim_between(random, 1, SIM_WORKERS_MAX);
    plan->has_new_worker_counts = sim_below(random, 4) == 0;
    plan->troupe_count = (uint32_t)sim_between(random, 1, 2);
    plan->cast_count = (uint32_t)sim_between(random, 2, 14);
    plan->size = (uint32_t)sim_between(random, 2, 20);
    plan->burst = sim_below(random, 100) == 0 ? 6000 : 0;
    plan->uses_sqlite = plan->seed % 10 == 9;
    plan->log_commits = (uint32_t)(plan->uses_sqlite ? plan->seed / 10 % 4 * (plan->seed % 13) : 0);
    plan->clock_ns_max = sim_below(random, 3) == 0 ? sim_between(random, 1, 200000) : 50;
    plan->is_balanced = sim_below(random, 4) == 0;
    plan->durability = TR_DURABILITY_FULL;
    if (sim_below(random, 4) == 0) {
        plan->durability = TR_DURABILITY_PROCESS;
    } else if (sim_below(random, 16) == 0 && !plan->uses_sqlite) {
        plan->durability = TR_DURABILITY_NONE;
    }
}

static void draw_faults(struct sim_plan *plan, struct sim_random *random)
{
    plan->faults_ns = sim_between(random, 20, 600) * MS;
    plan->delay_ns_max = sim_below(random, 3) == 0 ? 0 : sim_between(random, 1, 5000) * 1000;
    plan->pipe_frames_max =
        (uint32_t)(sim_below(random, 3) == 0 ? sim_between(random, 1, 4) : 1024);
    plan->clog = sometimes(random, 200000);
    plan->move = sometimes(random, 60000);
    plan->failure = sometimes(random, 30000);
    plan->pause = sometimes(random, 6000);
    if (plan->durability != TR_DURABILITY_NONE) {
        plan->crash = sometimes(random, 10000);
        plan->stop = sometimes(random, 3000);
        plan->disk_full = sometimes(random, 2000);
        plan->disk_fails = sometimes(random, 1000);
        plan->memory = sometimes(random, 8000);
        plan->clock_jump_ms = sim_below(random, 3) == 0 ? sim_between(random, 1, 600000) : 0;
    }
}

/* Hosts that know each other, in most of the worlds that have several. */
static void draw_network(struct sim_plan *plan, struct sim_random *random)
{
    if (plan->host_count < 2 || plan->durability == TR_DURABILITY_NONE ||
        sim_below(random, 5) == 0) {
        return;
    }
    plan->remote_count = (uint32_t)sim_between(random, 1, SIM_REMOTES_MAX / SIM_HOSTS_MAX);
    plan->remote_burst = sim_below(random, 30) == 0 ? 900 : 0;
    plan->network_delay_ns_max = sim_below(random, 3) == 0 ? 0 : sim_between(random, 1, 20) * MS;
    plan->lose = sometimes(random, 100000);
    plan->twice = sometimes(random, 200000);
    plan->overtake = sometimes(random, 200000);
    plan->cut = sometimes(random, 4000);
    if (sim_below(random, 6) == 0) {
        plan->faults_ns *= 20;
    }
}

/* Has a stream of its own as well. */
static void draw_takeovers(struct sim_plan *plan, uint64_t seed)
{
    struct sim_random random = sim_random_of(seed, 3);
    plan->has_takeovers = plan->remote_count > 0 && sim_below(&random, 2) == 1;
}

/*
 * A database server in the place of the model of a store, in one world of five. It has a stream of
 * its own, so that all other worlds are what they were without it.
 */
static void draw_database(struct sim_plan *plan, uint64_t seed)
{
    struct sim_random random = sim_random_of(seed, 2);
    if (seed % 5 != 3 || plan->durability == TR_DURABILITY_NONE) {
        return;
    }
    plan->uses_database = true;
    plan->durability = TR_DURABILITY_FULL;
    plan->database = (struct tri_database_plan){
        .standby = (enum tri_standby)sim_below(&random, 3),
        .loses_locks = sim_below(&random, 2) == 0,
        .cut = sometimes(&random, 300000),
        .busy = sometimes(&random, 60000),
        .die = sometimes(&random, 100000),
        .end_session = sometimes(&random, 10000),
        .restart = sometimes(&random, 4000),
        .outage = sometimes(&random, 3000),
        .fail_over = sometimes(&random, 8000),
        .outage_ns_max = sim_between(&random, 1, sim_below(&random, 8) == 0 ? 60000 : 500) * MS,
        .late_ns_max = sim_between(&random, 1, sim_below(&random, 6) == 0 ? 11000 : 300) * MS,
    };
    if (plan->database.standby == TRI_STANDBY_NONE) {
        plan->database.fail_over = 0;
    }
    plan->log_commits = sim_below(&random, 4) == 0 ? 0 : (uint32_t)sim_between(&random, 1, 12);
}

struct sim_plan sim_plan_of(uint64_t seed)
{
    struct sim_plan plan = {.seed = seed, .snapshot_every = 4, .compare_every = 8};
    struct sim_random random = sim_random_of(seed, 1);
    draw_world(&plan, &random);
    draw_faults(&plan, &random);
    draw_network(&plan, &random);
    plan.loads_in_ranges = sim_below(&random, 3) == 0;
    draw_takeovers(&plan, seed);
    draw_database(&plan, seed);
    return plan;
}
