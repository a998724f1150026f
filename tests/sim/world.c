/*
 * The world's loop: some party that has something to do takes a turn, and when nobody has, time
 * jumps to whoever is next. Between turns things go wrong, for as long as the plan says; then the
 * world is calm, and everything must come to its end.
 */
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ULL

/* Bounds of the calm time: who has not ended then never will. */
#define CALM_NS_MAX (3600 * 1000 * MS)
#define STEPS_MAX 3000000

/* One in so many turns the actors are looked at. */
#define ACTORS_EVERY 32

static struct sim_world *the_world;
static jmp_buf assertion_end;

struct sim_world *sim_world(void)
{
    return the_world;
}

void *sim_must(void *block)
{
    TR_ASSERT(block != NULL);
    return block;
}

void sim_fail(const char *format, ...)
{
    struct sim_world *world = the_world;
    if (world->has_failed) {
        return;
    }
    world->has_failed = true;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(world->failure, sizeof world->failure, format, arguments);
    va_end(arguments);
}

void sim_say(const char *format, ...)
{
    if (!the_world->is_verbose) {
        return;
    }
    fprintf(stderr, "%12.6f ", (double)the_world->now_ns / 1e9);
    va_list arguments;
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

/* ------------------------------------------------------------------------------------ faults */

static void pause_somebody(struct sim_host *host)
{
    struct sim_world *world = host->world;
    uint64_t until_ns = world->now_ns + sim_below(&world->chance.faults, 60 * MS);
    uint64_t who = sim_below(&world->chance.faults, host->party_count + 1);
    world->counts.pauses++;
    for (uint32_t i = 0; i < host->party_count; i++) {
        if (i == who || who == host->party_count) {
            host->parties[i].paused_until_ns = until_ns;
        }
    }
}

static void fill_disk(struct sim_host *host)
{
    struct sim_world *world = host->world;
    world->counts.full_disks++;
    if (host->disk != NULL) {
        host->room_until_ns = world->now_ns + sim_below(&world->chance.faults, 400 * MS);
        tri_disk_faults(host->disk)->room_is_limited = true;
        tri_disk_faults(host->disk)->room_bytes = sim_below(&world->chance.faults, 20000);
    } else if (host->database != NULL) {
        tri_database_fill(host->database, (unsigned)sim_between(&world->chance.faults, 1, 4));
    } else {
        tri_model_faults(host->model)->full_commits =
            (unsigned)sim_between(&world->chance.faults, 1, 4);
    }
}

static void fail_disk(struct sim_host *host)
{
    struct sim_world *world = host->world;
    world->counts.failed_disks++;
    if (host->database != NULL) {
        sim_database_restart(host); /* as a server does whose disk fails */
        return;
    }
    if (host->disk == NULL) {
        tri_model_faults(host->model)->fail_next = true;
        return;
    }
    const struct tri_disk_counts *counts = tri_disk_counts(host->disk);
    struct tri_disk_faults *faults = tri_disk_faults(host->disk);
    uint64_t ahead = sim_between(&world->chance.faults, 1, 12);
    switch (sim_below(&world->chance.faults, 3)) {
    case 0:
        faults->fail_write_at = counts->writes + ahead;
        return;
    case 1:
        faults->fail_sync_at = counts->syncs + ahead;
        return;
    default:
        faults->off_at_step = counts->steps + ahead;
        return;
    }
}

static void crash(struct sim_host *host)
{
    sim_host_crash(host, sim_below(&host->world->chance.faults, 2) == 0);
}

/* The faults of a host that is up, and how likely each is. */
static const struct {
    size_t chance; /* where the plan says it */
    void (*strike)(struct sim_host *host);
    bool is_last; /* the host is down after it */
} faults[] = {
    {offsetof(struct sim_plan, move), sim_program_move, false},
    {offsetof(struct sim_plan, pause), pause_somebody, false},
    {offsetof(struct sim_plan, disk_full), fill_disk, false},
    {offsetof(struct sim_plan, disk_fails), fail_disk, false},
    {offsetof(struct sim_plan, database.end_session), sim_database_end_session, false},
    {offsetof(struct sim_plan, database.restart), sim_database_restart, false},
    {offsetof(struct sim_plan, database.outage), sim_database_outage, false},
    {offsetof(struct sim_plan, database.fail_over), sim_database_fail_over, false},
    {offsetof(struct sim_plan, stop), sim_host_stop, true},
    {offsetof(struct sim_plan, crash), crash, true},
};

static void make_trouble(struct sim_world *world)
{
    struct sim_host *host = &world->hosts[sim_below(&world->chance.order, world->plan.host_count)];
    if (world->plan.cut > 0 && sim_chance(&world->chance.network, world->plan.cut)) {
        sim_network_cut(host);
    }
    for (size_t i = 0; host->host != NULL && i < TR_COUNT_OF(faults); i++) {
        uint32_t chance;
        memcpy(&chance, (const char *)&world->plan + faults[i].chance, sizeof chance);
        if (sim_chance(&world->chance.faults, chance)) {
            int64_t before = (int64_t)tr_memory_used();
            faults[i].strike(host);
            if (!faults[i].is_last) {
                host->memory_bytes += (int64_t)tr_memory_used() - before;
            }
        }
    }
}

static void make_room(struct sim_host *host)
{
    if (host->disk != NULL) {
        tri_disk_faults(host->disk)->room_is_limited = false;
    } else if (host->model != NULL) {
        tri_model_faults(host->model)->full_commits = 0;
    }
    host->room_until_ns = 0;
}

/* From now on nothing goes wrong any more. */
static void calm_down(struct sim_world *world)
{
    sim_say("calm");
    world->is_calm = true;
    sim_network_heal(&world->network);
    for (uint32_t i = 0; i < world->plan.host_count; i++) {
        struct sim_host *host = &world->hosts[i];
        make_room(host);
        if (host->disk != NULL) {
            *tri_disk_faults(host->disk) = (struct tri_disk_faults){0};
        } else if (host->database != NULL) {
            tri_database_calm(host->database);
        } else if (host->model != NULL) {
            tri_model_faults(host->model)->fail_next = false;
        }
        for (uint32_t j = 0; j < host->party_count; j++) {
            host->parties[j].paused_until_ns = 0;
        }
    }
}

/* -------------------------------------------------------------------------------------- turns */

struct turn {
    struct sim_host *host;
    struct sim_party *party;
};

/* When a host that is down, or without room, goes on. */
static uint64_t host_due_ns(const struct sim_host *host)
{
    if (host->host == NULL) {
        return host->up_at_ns;
    }
    return host->room_until_ns != 0 ? host->room_until_ns : UINT64_MAX;
}

/* All parties that can take a turn now; gives when the next one can where none can. */
static uint32_t list_turns(struct sim_world *world, struct turn *turns, uint64_t *next_ns)
{
    uint32_t count = 0;
    *next_ns = UINT64_MAX;
    for (uint32_t i = 0; i < world->plan.host_count; i++) {
        struct sim_host *host = &world->hosts[i];
        uint64_t host_ns = host_due_ns(host);
        *next_ns = host_ns < *next_ns ? host_ns : *next_ns;
        for (uint32_t j = 0; j < host->party_count; j++) {
            uint64_t due_ns = sim_party_due_ns(host, &host->parties[j]);
            if (due_ns <= world->now_ns) {
                turns[count++] = (struct turn){host, &host->parties[j]};
            }
            *next_ns = due_ns < *next_ns ? due_ns : *next_ns;
        }
    }
    return count;
}

static void tend_hosts(struct sim_world *world)
{
    for (uint32_t i = 0; i < world->plan.host_count; i++) {
        struct sim_host *host = &world->hosts[i];
        sim_database_turn(host);
        if (host_due_ns(host) > world->now_ns) {
            continue;
        }
        if (host->host == NULL) {
            sim_host_start(host);
        } else {
            make_room(host);
        }
    }
}

static void take_turn(struct sim_world *world)
{
    struct turn turns[SIM_HOSTS_MAX * SIM_PARTIES_MAX];
    uint64_t next_ns;
    tend_hosts(world);
    sim_owners_tell(world);
    uint32_t count = list_turns(world, turns, &next_ns);
    if (count == 0) {
        if (next_ns == UINT64_MAX) {
            sim_fail("stuck: nobody will ever do anything again");
            return;
        }
        world->counts.jumps++;
        world->now_ns = next_ns > world->now_ns ? next_ns : world->now_ns + 1;
        return;
    }
    struct turn turn = turns[count == 1 ? 0 : sim_below(&world->chance.order, count)];
    world->now_ns += 100 + sim_below(&world->chance.order, 5000);
    sim_step(turn.host, turn.party);
    world->counts.steps++;
    if (world->counts.steps % ACTORS_EVERY == 0) {
        sim_check_actors(turn.host);
    }
}

/* ------------------------------------------------------------------------------ from end to end */

static bool is_over(const struct sim_world *world)
{
    for (uint32_t i = 0; i < world->plan.host_count; i++) {
        const struct sim_host *host = &world->hosts[i];
        if (!sim_host_is_idle(host) || !world->play->is_over(host)) {
            return false;
        }
    }
    return true;
}

static void run(struct sim_world *world)
{
    uint64_t calm_ns = 0;
    while (!world->has_failed && !is_over(world)) {
        if (!world->is_calm && world->now_ns >= world->plan.faults_ns) {
            calm_down(world);
            calm_ns = world->now_ns;
        }
        if (!world->is_calm) {
            make_trouble(world);
        }
        take_turn(world);
        bool is_late = world->is_calm && world->now_ns - calm_ns > CALM_NS_MAX;
        if (is_late || world->counts.steps > STEPS_MAX) {
            sim_fail("stuck: after %llu steps and %.1f calm seconds something has not ended",
                     (unsigned long long)world->counts.steps,
                     (double)(world->now_ns - calm_ns) / 1e9);
        }
    }
}

static void make_world(struct sim_world *world)
{
    const struct sim_plan *plan = &world->plan;
    struct sim_random *streams = (struct sim_random *)&world->chance;
    for (uint64_t i = 0; i < sizeof world->chance / sizeof *streams; i++) {
        streams[i] = sim_random_of(plan->seed, 100 + i);
    }
    for (uint32_t i = 0; i < plan->host_count; i++) {
        struct sim_host *host = &world->hosts[i];
        host->world = world;
        host->index = i;
        host->shadow = sim_shadow_new(host);
        if (plan->durability != TR_DURABILITY_NONE && plan->uses_sqlite) {
            host->disk = sim_must(tri_disk_new(sim_draw(&world->chance.faults)));
        } else if (plan->uses_database) {
            sim_database_make(host);
        } else if (plan->durability != TR_DURABILITY_NONE) {
            host->model = sim_must(tri_model_new());
        }
    }
    sim_owners_make(world);
    if (world->play->begin != NULL) {
        world->play->begin(world);
    }
}

/* All hosts stop in order; then nothing may be left. */
static void end_world(struct sim_world *world)
{
    calm_down(world);
    for (uint32_t i = 0; i < world->plan.host_count; i++) {
        struct sim_host *host = &world->hosts[i];
        if (world->has_failed && world->is_verbose) {
            sim_explain(host);
        }
        if (host->host != NULL && !world->has_failed) {
            sim_check_idle(host);
        }
        if (host->host != NULL) {
            sim_host_stop(host);
        }
        if (!world->has_failed) {
            sim_check_end(host);
        }
    }
    for (uint32_t i = 0; i < world->plan.host_count; i++) {
        sim_host_free(&world->hosts[i]);
    }
    if (world->play->end != NULL) {
        world->play->end(world);
    }
    sim_network_drop(&world->network);
    if (tr_memory_used() != 0) {
        sim_fail("memory: %llu bytes are left at the end", (unsigned long long)tr_memory_used());
    }
}

/* A broken invariant ends the run; what the run holds is lost with the process, soon after. */
static void on_assertion(void)
{
    longjmp(assertion_end, 1);
}

struct sim_result sim_run(const struct sim_play *play, uint64_t seed, const struct sim_bug *bug,
                          bool is_verbose)
{
    struct sim_world *world = sim_must(calloc(1, sizeof *world));
    the_world = world;
    world->play = play;
    world->plan = sim_plan_of(seed);
    if (play->plan != NULL) {
        play->plan(&world->plan);
    }
    world->bug = bug;
    world->is_verbose = is_verbose;
    tr_assert_hook_set(on_assertion);
    if (setjmp(assertion_end) == 0) {
        make_world(world);
        run(world);
        end_world(world);
    } else {
        sim_memory_disarm(world);
        sim_fail("an assertion of the runtime failed (above)");
    }
    tr_assert_hook_set(NULL);
    struct sim_result result = {
        .has_failed = world->has_failed,
        .signature = world->signature,
        .virtual_ns = world->now_ns,
        .counts = world->counts,
        .was_injected = world->was_injected,
    };
    memcpy(result.failure, world->failure, sizeof result.failure);
    the_world = NULL;
    free(world);
    return result;
}
