/*
 * What must be true of a host at any moment, after a start, and at the end.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/players.h"
#include "tests/sim/world.h"

typedef void visit_actor(struct sim_host *host, struct tri_worker *worker, struct tri_actor *actor);

static void each_actor(struct sim_host *host, visit_actor *visit)
{
    for (uint32_t i = 0; host->host != NULL && i < host->host->shared.worker_count; i++) {
        struct tri_worker *worker = &host->host->workers[i];
        uint64_t cursor = 0;
        uint32_t slot;
        while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
            visit(host, worker, tri_actor_at(worker, slot));
        }
    }
}

/* No other worker has the same actor. */
static void check_owner(struct sim_host *host, struct tri_worker *worker, struct tri_actor *actor)
{
    for (uint32_t i = worker->index + 1; i < host->host->shared.worker_count; i++) {
        if (tri_actor_find(&host->host->workers[i], actor->key, 0) != NULL) {
            sim_fail("one owner: %llu/%llu lives on workers %u and %u",
                     (unsigned long long)actor->key.group, (unsigned long long)actor->key.serial,
                     worker->index, i);
        }
    }
}

void sim_check_owners(struct sim_host *host)
{
    each_actor(host, check_owner);
}

static const struct tri_actor *find_actor(const struct sim_host *host, struct tr_key key)
{
    const struct tri_actor *actor = NULL;
    for (uint32_t i = 0; actor == NULL && i < host->host->shared.worker_count; i++) {
        actor = tri_actor_find(&host->host->workers[i], key, 0);
    }
    return actor;
}

void sim_check_loaded(struct sim_host *host)
{
    const struct sim_ledger *ledger = &host->world->ledger;
    for (uint32_t i = 0; i < ledger->count; i++) {
        const struct sim_entry *entry = &ledger->entries[i];
        if (entry->host != host->index || entry->is_final) {
            continue;
        }
        const struct tri_actor *actor = find_actor(host, entry->key);
        if (actor == NULL) {
            sim_fail("committed means present: the outside knows %llu/%llu, the store does not",
                     (unsigned long long)entry->key.group, (unsigned long long)entry->key.serial);
            continue;
        }
        const struct tr_sim_player *state = tri_actor_state((struct tri_actor *)(uintptr_t)actor);
        if ((entry->seen & ~state->seen) != 0) {
            sim_fail("committed means present: the outside has seen errands %llx of %llu/%llu, "
                     "its state knows %llx",
                     (unsigned long long)entry->seen, (unsigned long long)entry->key.group,
                     (unsigned long long)entry->key.serial, (unsigned long long)state->seen);
        }
    }
}

/* The rows of the records' table, each once. */
static uint64_t count_rows(struct sim_host *host)
{
    static const char sql[] = "SELECT count(*) FROM (SELECT DISTINCT writer_group, writer_serial, "
                              "number FROM record_sim_page_entry)";
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    uint64_t count = 0;
    tri_disk_kill(host->disk); /* a power that has failed since the last write is back */
    int code = sqlite3_open_v2("simulated/troupe.db", &database, SQLITE_OPEN_READWRITE,
                               tri_disk_name(host->disk));
    if (code == SQLITE_OK) {
        code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    }
    if (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        count = (uint64_t)sqlite3_column_int64(statement, 0);
    } else {
        sim_fail("host %u: the records cannot be read: %s", host->index, sqlite3_errmsg(database));
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(database);
    return count;
}

/* What the store has of records is what was written. */
static void check_record_count(struct sim_host *host)
{
    uint64_t count = host->disk != NULL
                         ? count_rows(host)
                         : tri_model_record_count(host->model, tr_sim_page_entry_schema.id);
    if (count != sim_shadow_record_count(host->shadow)) {
        sim_fail("host %u: %llu records were written, the store has %llu", host->index,
                 (unsigned long long)sim_shadow_record_count(host->shadow),
                 (unsigned long long)count);
    }
}

/* Records: as many as their writers have told the outside. */
static void check_records(struct sim_host *host)
{
    const struct sim_ledger *ledger = &host->world->ledger;
    for (uint32_t i = 0; i < ledger->count; i++) {
        const struct sim_entry *entry = &ledger->entries[i];
        uint64_t records = sim_shadow_records(host->shadow, entry->key);
        if (entry->host == host->index && entry->total > 0 && records != 0 &&
            records != entry->total) {
            sim_fail("%llu/%llu wrote %llu records, the store has %llu",
                     (unsigned long long)entry->key.group, (unsigned long long)entry->key.serial,
                     (unsigned long long)entry->total, (unsigned long long)records);
        }
    }
}

static uint64_t first_group(const struct tri_worker *worker)
{
    uint32_t at = 0;
    while (at < worker->groups.mask && worker->groups.groups[at].number == 0) {
        at++;
    }
    return worker->groups.groups[at].number;
}

static void say_routes(const struct tri_worker *worker)
{
    for (uint32_t i = 0; i <= worker->routes.mask; i++) {
        const struct tri_key_entry *entry = &worker->routes.entries[i];
        if (entry->key.serial != 0) {
            sim_say("worker %u still knows a way to %llu/%llu", worker->index,
                    (unsigned long long)entry->key.group, (unsigned long long)entry->key.serial);
        }
    }
}

void sim_check_idle(struct sim_host *host)
{
    for (uint32_t i = 0; i < host->host->shared.worker_count; i++) {
        const struct tri_worker *worker = &host->host->workers[i];
        uint32_t left[] = {worker->groups.count, worker->families.count, worker->routes.count,
                           worker->unborn_count, worker->held != NULL};
        static const char *const names[] = {"groups", "families", "routes", "unborn messages",
                                            "held messages"};
        for (size_t j = 0; j < TR_COUNT_OF(left); j++) {
            if (left[j] != 0) {
                say_routes(worker);
                sim_fail("host %u worker %u: everybody has ended, and %u %s are left (group %llu)",
                         host->index, i, left[j], names[j],
                         (unsigned long long)first_group(worker));
            }
        }
    }
}

void sim_check_end(struct sim_host *host)
{
    char what[128];
    if (host->world->plan.durability == TR_DURABILITY_NONE) {
        return;
    }
    if (!sim_shadow_is_empty(host->shadow, what, sizeof what)) {
        sim_fail("host %u: everybody has ended, and its store still holds a %s", host->index, what);
    }
    check_records(host);
    check_record_count(host);
}

static void explain_actor(struct sim_host *host, struct tri_worker *worker, struct tri_actor *actor)
{
    char edges[256] = "";
    size_t at = 0;
    const struct tri_edge *edge = tri_edge_first(worker, actor);
    for (; edge != NULL && at < sizeof edges - 40; edge = tri_edge_next(worker, actor, edge)) {
        int size = snprintf(edges + at, sizeof edges - at, " %u:%llu@%llu", edge->kind,
                            (unsigned long long)edge->id, (unsigned long long)edge->due_ms);
        at += size > 0 ? (size_t)size : 0;
    }
    const struct tri_message *first = actor->mailbox_head;
    fprintf(stderr,
            "  host %u worker %u: %s %llu/%llu phase %u flags %x muted by %u, %u messages (first "
            "of type %u), parent %llu/%llu, edges%s\n",
            host->index, worker->index, tri_actor_behaviour(worker, actor)->name,
            (unsigned long long)actor->key.group, (unsigned long long)actor->key.serial,
            actor->phase, actor->flags, actor->muted_by, actor->mailbox_count,
            first == NULL ? 0 : tr_envelope_get(first->bytes, 16, type),
            (unsigned long long)actor->parent.group, (unsigned long long)actor->parent.serial,
            edges);
}

void sim_explain(const struct sim_host *host)
{
    fprintf(stderr, "host %u: %s, %u batches on their way, granted %u, journal %d\n", host->index,
            host->host == NULL ? "down" : "up", host->net.in_flight, host->program.granted,
            host->host == NULL ? 0 : (int)host->host->journal.state);
    each_actor((struct sim_host *)(uintptr_t)host, explain_actor);
    for (uint32_t i = 0; host->host != NULL && i < host->host->shared.worker_count; i++) {
        const struct tri_worker *worker = &host->host->workers[i];
        fprintf(stderr,
                "  host %u worker %u: %u actors, %u cuts outstanding, %u operations in its batch, "
                "%u frames and %u parcels in its outbox, %u unborn, holds for %d\n",
                host->index, i, worker->actor_count, worker->cuts_outstanding,
                worker->batch.op_count, worker->outbox.waiting_count, worker->outbox.backlog_count,
                worker->unborn_count, worker->held != NULL);
    }
}
