/*
 * A host's database server in a world: its faults, what these excuse a host for, and what is told
 * to those who remember more than a fail-over has left.
 */
#include <string.h>

#include "tests/sim/inject.h"
#include "tests/sim/world.h"

/* A database that is away comes back. */
#define SETTLE_NS 100000000ULL
#define SETTLE_TRIES_MAX 10000

void sim_database_make(struct sim_host *host)
{
    struct sim_world *world = host->world;
    struct tri_database_plan plan = world->plan.database;
    bool can_lose = world->play->lose != NULL && world->plan.remote_count == 0;
    if (plan.standby == TRI_STANDBY_ASYNCHRONOUS && !can_lose) {
        plan.standby = TRI_STANDBY_SYNCHRONOUS;
    }
    host->database =
        tri_database_new(&plan, world->plan.seed * SIM_HOSTS_MAX + host->index, &world->now_ns);
    if (world->bug != NULL && world->bug->database != TRI_DATABASE_SOUND) {
        tri_database_inject(host->database, world->bug->database);
        world->was_injected = true;
    }
}

void sim_database_free(struct sim_host *host)
{
    const struct tri_database_news *news = tri_database_news(host->database);
    struct sim_counts *counts = &host->world->counts;
    counts->database_cuts += news->cuts;
    counts->database_outages += news->outages;
    counts->database_restarts += news->restarts;
    counts->database_fail_overs += news->fail_overs;
    counts->database_losses += news->losses;
    counts->late_commits += news->late;
    counts->refused_commits += news->refused;
    counts->settled_commits += news->settled;
    tri_database_free(host->database);
}

void sim_database_end_session(struct sim_host *host)
{
    sim_say("host %u: its session at the database is ended", host->index);
    tri_database_end_session(host->database);
}

void sim_database_restart(struct sim_host *host)
{
    sim_say("host %u: its database restarts", host->index);
    tri_database_restart(host->database);
}

void sim_database_outage(struct sim_host *host)
{
    sim_say("host %u: its database cannot be reached", host->index);
    tri_database_outage(host->database);
}

void sim_database_fail_over(struct sim_host *host)
{
    tri_database_fail_over(host->database);
    bool has_lost = tri_database_news(host->database)->has_lost;
    sim_say("host %u: a standby takes over%s", host->index,
            has_lost ? ", without the last commits" : "");
}

void sim_database_turn(struct sim_host *host)
{
    if (host->database == NULL) {
        return;
    }
    tri_database_turn(host->database);
    const char *wrong = tri_database_news(host->database)->wrong;
    if (wrong != NULL) {
        sim_fail("host %u: its database: %s", host->index, wrong);
    }
}

void sim_database_settle(struct sim_host *host)
{
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store *store = NULL;
    struct tri_store_options options = {
        .durability = TR_DURABILITY_FULL,
        .records = host->world->play->records,
        .record_count = *host->world->play->record_count,
    };
    int error = host->database != NULL ? TR_BUSY : 0;
    for (int i = 0; error != 0 && i < SETTLE_TRIES_MAX; i++) {
        host->world->now_ns += SETTLE_NS;
        tri_database_calm(host->database);
        error = tri_database_open(host->database, &options, words, &store);
    }
    if (error != 0) {
        sim_fail("host %u: nobody can open its database any more: %s", host->index, words);
    } else if (store != NULL) {
        tri_store_close(store);
    }
}

bool sim_database_excuses_start(const struct sim_host *host, int error)
{
    bool is_away = error == TR_STORE_FAILED || error == TR_STORE_LOCKED || error == TR_BUSY;
    return host->database != NULL && is_away;
}

bool sim_database_excuses_end(const struct sim_host *host, int error)
{
    const struct tri_database_news *news = tri_database_news(host->database);
    if (error == TR_FENCED) {
        return news->is_overtaken && host->world->plan.database.loses_locks;
    }
    if (error != TR_STORE_FAILED || news->has_died) {
        return error == TR_STORE_FAILED;
    }
    bool says_so = strstr(tri_store_explain(host->store), "lost commits") != NULL;
    host->world->counts.reported_losses += news->must_say_so && says_so;
    return (news->must_say_so || news->may_say_so) && says_so;
}

void sim_database_tell_loss(struct sim_host *host, struct tri_store *store)
{
    if (host->database == NULL || !tri_database_news(host->database)->has_lost) {
        return;
    }
    sim_say("host %u goes on without what was committed behind number %llu", host->index,
            (unsigned long long)store->last_number);
    tri_database_forgive(host->database);
    sim_shadow_go_back(host->shadow, store, tri_database_contents(host->database));
    host->has_lost = true;
}
