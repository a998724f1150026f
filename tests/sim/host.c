/*
 * The life of a simulated host: it starts from its store, crashes, stops, and starts again.
 *
 * A host is made of the same parts as in production (runtime/host/host.h); only its threads are
 * missing. All memory that it takes is counted, so that after a crash nothing of it may be left.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/commits/commit_log.h"
#include "runtime/sqlite/sqlite.h"
#include "tests/sim/inject.h"
#include "tests/sim/world.h"

#define MS 1000000ULL
#define RANGES_MAX 5

/* ------------------------------------------------------------------------------ environment */

static struct sim_host *host_of(struct tr_env *env)
{
    return ((struct sim_env *)env)->host;
}

/* Looking at the clock takes a little time, so that long runs of handlers are cut somewhere. */
static uint64_t env_monotonic_ns(struct tr_env *env)
{
    struct sim_host *host = host_of(env);
    host->world->now_ns +=
        sim_below(&host->world->chance.order, host->world->plan.clock_ns_max + 1);
    return host->world->now_ns - host->spawned_ns;
}

static uint64_t env_wall_ms(struct tr_env *env)
{
    const struct sim_host *host = host_of(env);
    uint64_t now_ms = SIM_WALL_BEGIN_MS + host->world->now_ns / MS;
    return now_ms + (uint64_t)host->wall_offset_ms;
}

static uint64_t env_entropy(struct tr_env *env)
{
    return sim_draw(&host_of(env)->world->chance.order);
}

static int env_link_open(struct tr_env *env, uint32_t place, struct tri_channel **link)
{
    return sim_net_open(&host_of(env)->net, place, link);
}

static const struct tr_env_ops env_ops = {
    .monotonic_ns = env_monotonic_ns,
    .wall_ms = env_wall_ms,
    .entropy = env_entropy,
    .link_open = env_link_open,
};

/* ----------------------------------------------------------------------------------- parties */

static void add_party(struct sim_host *host, enum sim_party_kind kind, uint32_t index)
{
    host->parties[host->party_count++] =
        (struct sim_party){.kind = (uint8_t)kind, .index = (uint8_t)index};
}

static void make_parties(struct sim_host *host)
{
    host->party_count = 0;
    for (uint32_t i = 0; i < host->host->shared.worker_count; i++) {
        add_party(host, SIM_WORKER, i);
    }
    if (host->store != NULL) {
        add_party(host, SIM_JOURNAL, 0);
    }
    add_party(host, SIM_PROGRAM, 0);
    add_party(host, SIM_ENVIRONMENT, 0);
    if (host->world->plan.remote_count > 0) {
        add_party(host, SIM_INTERHOST, 0);
    }
}

/* ------------------------------------------------------------------------------------- starts */

static int open_inner(struct sim_host *host, struct tri_store **inner)
{
    const struct sim_plan *plan = &host->world->plan;
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store_options options = {
        .folder = "simulated",
        .durability = plan->durability,
        .records = host->world->play->records,
        .record_count = *host->world->play->record_count,
    };
    const struct tri_commit_log_limits log = {.bytes_max = TR_COMMIT_LOG_BYTES_MAX,
                                              .commits_without_thread = plan->log_commits};
    int error;
    if (host->database != NULL) {
        options.log = plan->log_commits > 0 ? &log : NULL;
        error = tri_database_open(host->database, &options, words, inner);
    } else if (plan->uses_sqlite) {
        options.vfs = tri_disk_name(host->disk);
        options.log = plan->log_commits > 0 ? &log : NULL;
        error = tri_sqlite_open(&options, words, inner);
    } else {
        error = tri_model_open(host->model, &options, words, inner);
    }
    bool is_excused = error == TR_STORE_FAILED || error == TR_STORE_FULL ||
                      sim_database_excuses_start(host, error);
    if (error != 0 && !is_excused) {
        sim_fail("host %u: the store cannot be opened: %s (%s)", host->index, tr_error_name(error),
                 words);
    }
    return error;
}

static int open_store(struct sim_host *host)
{
    host->store = NULL;
    if (host->world->plan.durability == TR_DURABILITY_NONE) {
        return 0;
    }
    struct tri_store *inner = NULL;
    if (host->world->bug != NULL && host->world->bug->start != NULL) {
        host->world->bug->start(host);
        host->world->was_injected = true;
    }
    int error = open_inner(host, &inner);
    if (error == 0) {
        host->store = sim_store_around(host, inner);
        sim_database_tell_loss(host, inner);
        sim_shadow_reopen(host->shadow, inner->last_number);
        bool is_blind = host->world->bug != NULL && host->world->bug->is_blind;
        if (!host->world->has_failed && !is_blind) {
            sim_shadow_compare(host->shadow, inner);
        }
    }
    return error;
}

static uint32_t draw_worker_count(const struct sim_host *host)
{
    struct sim_world *world = host->world;
    if (host->starts == 1 || !world->plan.has_new_worker_counts) {
        return world->plan.worker_count;
    }
    return (uint32_t)sim_between(&world->chance.faults, 1, SIM_WORKERS_MAX);
}

static int open_links(struct sim_host *host)
{
    struct tr_host *made = host->host;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < made->shared.worker_count; i++) {
        error = sim_net_open(&host->net, i, &made->workers[i].link);
    }
    if (error == 0 && host->store != NULL) {
        error = sim_net_open(&host->net, TRI_PLACE_JOURNAL, &made->journal.sender.link);
    }
    if (error == 0) {
        error = sim_net_open(&host->net, TRI_PLACE_CONTROL, &made->sender.link);
    }
    if (error == 0) {
        tri_sender_init(&host->environment, TR_SERVICE_HTTP, made->shared.host);
        error = sim_net_open(&host->net, TRI_PLACE_HTTP, &host->environment.link);
    }
    if (error == 0) {
        error = sim_net_open(&host->net, TRI_PLACE_FILES, &host->files);
    }
    if (error == 0 && host->world->plan.remote_count > 0) {
        error = tri_interhost_service_init(&host->interhost, &host->env.base,
                                           &made->shared.directory, &made->shared.owners,
                                           made->shared.worker_count, made->shared.host);
    }
    if (error == 0 && host->world->plan.remote_count > 0) {
        host->interhost.wire = sim_network_open(host);
        error = sim_net_open(&host->net, TRI_PLACE_INTERHOST, &host->interhost.sender.link);
    }
    return error;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* Draws ranges that have every group once, cut at groups of the store. */
static size_t draw_ranges(struct sim_host *host, struct tri_group_range *ranges)
{
    struct sim_random *random = &host->world->chance.loads;
    uint64_t cuts[RANGES_MAX - 1];
    size_t cut_count = (size_t)sim_below(random, RANGES_MAX);
    size_t count = 0;
    for (size_t i = 0; i < cut_count; i++) {
        cuts[i] = sim_shadow_group(host->shadow, sim_draw(random)) + sim_below(random, 2);
    }
    qsort(cuts, cut_count, sizeof cuts[0], compare_numbers);
    uint64_t first = 0;
    for (size_t i = 0; i < cut_count; i++) {
        if (cuts[i] > first) {
            ranges[count++] = (struct tri_group_range){first, cuts[i] - 1};
            first = cuts[i];
        }
    }
    ranges[count++] = (struct tri_group_range){first, UINT64_MAX};
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)sim_below(random, i);
        struct tri_group_range range = ranges[i - 1];
        ranges[i - 1] = ranges[other];
        ranges[other] = range;
    }
    return count;
}

static int load(struct sim_host *host)
{
    struct tri_group_range ranges[RANGES_MAX] = {tri_all_groups};
    size_t count = host->world->plan.loads_in_ranges ? draw_ranges(host, ranges) : 1;
    host->world->counts.ranges += count;
    if (count > 1 && host->world->bug != NULL && host->world->bug->skips_range) {
        host->world->was_injected = true;
        count--;
    }
    return tri_host_load(host->host, ranges, count);
}

/* By what it is known in this start. */
static void name_host(struct sim_host *host)
{
    const struct sim_bug *bug = host->world->bug;
    if (bug != NULL && bug->name_host != NULL) {
        bug->name_host(host);
    }
    host->named = host->host->shared.host;
}

static int make(struct sim_host *host)
{
    struct tr_peer peers[2 * SIM_HOSTS_MAX];
    uint16_t owners[SIM_PARTITIONS];
    sim_owners_begin(host);
    sim_owners(host->world, owners);
    struct tr_host_options options = {
        .has_http = true, /* tri_host_init starts nothing: the place is the simulator's */
        .worker_count = draw_worker_count(host),
        .durability = host->world->plan.durability,
        .behaviours = host->world->play->behaviours,
        .behaviour_count = *host->world->play->behaviour_count,
        .records = host->world->play->records,
        .record_count = *host->world->play->record_count,
        .seed = host->world->plan.seed + 1,
        .is_balanced = host->world->plan.is_balanced,
        .number = host->number,
        .peers = peers,
        .peer_count = sim_owners_peers(host, peers),
        .partitions = host->number == 0 ? NULL : owners,
        .partition_count = SIM_PARTITIONS,
        .view = host->world->view,
    };
    int error = open_store(host);
    if (error == 0 && host->world->play->open != NULL) {
        host->world->play->open(host);
    }
    options.program = host->own;
    if (error == 0) {
        host->host = sim_must(calloc(1, sizeof *host->host));
        error = tri_host_init(host->host, &options, &host->env.base, host->store);
    }
    if (error == 0) {
        name_host(host);
    }
    if (error == 0 && host->store != NULL) {
        error = load(host);
    }
    if (error == 0 && host->world->play->has_files) {
        host->host->shared.services |= 1U << TR_SERVICE_FILES;
    }
    return error != 0 ? error : open_links(host);
}

/* Gives everything back that a host has in memory, and looks that it is everything. */
static void unmake(struct sim_host *host)
{
    int64_t before = (int64_t)tr_memory_used();
    if (host->interhost.peers != NULL) {
        tri_interhost_service_fini(&host->interhost);
        tri_wire_close(host->interhost.wire);
    }
    host->interhost = (struct tri_interhost_service){0};
    if (host->host != NULL) {
        tri_host_fini(host->host);
        free(host->host);
        host->host = NULL;
    }
    if (host->own != NULL) {
        host->world->play->close(host);
        host->own = NULL;
    }
    tri_sender_fini(&host->environment);
    host->environment = (struct tri_sender){0};
    sim_net_drop(&host->net);
    tri_store_close(host->store);
    host->store = NULL;
    host->party_count = 0;
    host->memory_bytes += (int64_t)tr_memory_used() - before;
    if (host->memory_bytes != 0) {
        sim_fail("host %u: %lld bytes are left after its end", host->index,
                 (long long)host->memory_bytes);
    }
}

/* People may have set the clock while the host was down. */
static void set_clocks(struct sim_host *host)
{
    struct sim_world *world = host->world;
    host->spawned_ns = world->now_ns - sim_below(&world->chance.faults, world->now_ns + 1);
    uint64_t most = world->plan.clock_jump_ms;
    if (most > 0 && host->starts > 1) {
        host->wall_offset_ms = (int64_t)sim_below(&world->chance.faults, 2 * most) - (int64_t)most;
    }
}

static void cut_power(struct sim_host *host, bool power)
{
    struct sim_world *world = host->world;
    uint64_t seed = sim_draw(&world->chance.faults);
    /* What a level does not promise is not asked of it. */
    bool loses = power && world->plan.durability == TR_DURABILITY_FULL;
    if (host->disk != NULL && loses) {
        tri_disk_crash(host->disk);
    } else if (host->disk != NULL) {
        tri_disk_kill(host->disk);
    } else if (host->database != NULL) {
        tri_database_leave(host->database, power);
    } else if (host->model != NULL && loses) {
        tri_model_crash(host->model, seed);
    } else if (host->model != NULL) {
        tri_model_kill(host->model, seed);
    }
}

static void go_down(struct sim_host *host)
{
    struct sim_world *world = host->world;
    sim_program_forget(host);
    sim_environment_forget(host, false);
    host->room_until_ns = 0;
    host->up_at_ns = world->now_ns + 1 + sim_below(&world->chance.faults, 40 * MS);
}

/* The database is away, or an earlier session has the lock: somebody starts it again later. */
static void try_again(struct sim_host *host)
{
    struct sim_world *world = host->world;
    cut_power(host, false);
    unmake(host);
    go_down(host);
    host->up_at_ns += sim_below(&world->chance.database, 500 * MS);
    world->counts.refused_starts++;
}

void sim_host_start(struct sim_host *host)
{
    struct sim_world *world = host->world;
    host->env = (struct sim_env){.base = {.ops = &env_ops}, .host = host};
    host->net.host = host;
    host->starts++;
    memset(host->events_seen, 0, sizeof host->events_seen);
    set_clocks(host);
    int64_t before = (int64_t)tr_memory_used();
    uint64_t failed_before = world->counts.failed_allocations;
    world->host_in_step = host;
    int error = make(host);
    host->memory_bytes += (int64_t)tr_memory_used() - before;
    if (error == 0) {
        make_parties(host);
        sim_say("host %u starts at number %llu", host->index,
                host->store == NULL ? 0ULL : (unsigned long long)host->store->last_number);
        if (host->has_lost) {
            host->has_lost = false;
            host->world->play->lose(host);
        }
        if (host->world->play->check_loaded != NULL) {
            host->world->play->check_loaded(host);
        }
        return;
    }
    bool is_excused = (error == TR_MEMORY && world->counts.failed_allocations != failed_before) ||
                      error == TR_STORE_FAILED || error == TR_STORE_FULL ||
                      sim_database_excuses_start(host, error);
    if (!is_excused) {
        sim_fail("host %u cannot start: %s", host->index, tr_error_name(error));
    }
    sim_say("host %u cannot start: %s", host->index, tr_error_name(error));
    if (sim_database_excuses_start(host, error)) {
        try_again(host);
        return;
    }
    /* An opening that failed leaves a log of which nobody knows how much is on the disk. */
    sim_host_crash(host, error == TR_STORE_FAILED);
}

/* --------------------------------------------------------------------------------------- ends */

void sim_host_crash(struct sim_host *host, bool power)
{
    sim_say("host %u crashes%s", host->index, power ? " with the power" : "");
    host->world->counts.crashes++;
    host->world->host_in_step = host;
    cut_power(host, power);
    unmake(host);
    go_down(host);
}

/* What tr_host_stop does with threads: the workers' last batches, then all commits. */
static void drain(struct sim_host *host)
{
    struct tr_host *made = host->host;
    host->net.is_never_full = true;
    for (uint32_t i = 0; i < made->shared.worker_count; i++) {
        tri_cut_flush(&made->workers[i]);
    }
    sim_net_hurry(&host->net);
    while (host->store != NULL && tri_journal_step(&made->journal)) {
    }
    host->net.is_never_full = false;
}

void sim_host_stop(struct sim_host *host)
{
    int64_t before = (int64_t)tr_memory_used();
    sim_say("host %u stops", host->index);
    host->world->counts.stops++;
    host->world->host_in_step = host;
    drain(host);
    host->memory_bytes += (int64_t)tr_memory_used() - before;
    if (host->host->journal.state == TRI_JOURNAL_FAILED) {
        sim_host_crash(host, false);
        return;
    }
    unmake(host);
    go_down(host);
}

void sim_host_free(struct sim_host *host)
{
    sim_shadow_free(host->shadow);
    sim_environment_forget(host, true);
    if (host->disk != NULL) {
        tri_disk_free(host->disk);
    }
    if (host->model != NULL) {
        tri_model_free(host->model);
    }
    if (host->database != NULL) {
        sim_database_free(host);
    }
}

/* Actors that are to stay, and have nothing to do. */
static uint32_t count_staying(const struct sim_host *host, const struct tri_worker *worker)
{
    uint32_t count = 0;
    uint64_t cursor = 0;
    uint32_t slot;
    while (host->world->play->stays != NULL &&
           (slot = tri_table_next(&worker->table, &cursor)) != 0) {
        const struct tri_actor *actor = tri_actor_at(worker, slot);
        bool stays = host->world->play->stays(tri_actor_behaviour(worker, actor)) &&
                     actor->mailbox_count == 0;
        count += stays ? 1 : 0;
    }
    return count;
}

bool sim_host_is_idle(const struct sim_host *host)
{
    if (host->host == NULL || host->net.in_flight > 0 || host->outside_box != NULL) {
        return false;
    }
    for (uint32_t i = 0; i < host->host->shared.worker_count; i++) {
        const struct tri_worker *worker = &host->host->workers[i];
        if (worker->actor_count > count_staying(host, worker) || worker->cuts_outstanding > 0 ||
            !tri_batch_is_empty(&worker->batch) || !tri_outbox_is_empty(&worker->outbox)) {
            return false;
        }
    }
    return !tri_journal_is_busy(&host->host->journal) &&
           tri_outbox_is_empty(&host->host->journal.sender.outbox) &&
           tri_outbox_is_empty(&host->environment.outbox) &&
           tri_outbox_is_empty(&host->host->sender.outbox);
}
