/*
 * What must be true of a host at any moment, after a start, and at the end.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "tests/sim/world.h"

void sim_each_actor(struct sim_host *host, sim_visit_actor *visit)
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

struct tri_actor *sim_find_actor(const struct sim_host *host, struct tr_key key)
{
    struct tri_actor *actor = NULL;
    for (uint32_t i = 0; actor == NULL && i < host->host->shared.worker_count; i++) {
        actor = tri_actor_find(&host->host->workers[i], key, 0);
    }
    return actor;
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

/* Its address is whole, wherever its parents live or move. */
static void check_address(struct sim_host *host, struct tri_worker *worker, struct tri_actor *actor)
{
    char buffer[TR_ADDRESS_BYTES_MAX];
    struct tr_text address = tri_actor_address(worker, actor, buffer, sizeof buffer);
    const struct tri_actor *first = actor;
    while (first != NULL && !tr_key_is_none(first->parent)) {
        first = sim_find_actor(host, first->parent);
    }
    if (address.size > 0 && address.data[0] == '~' && first != NULL) {
        sim_fail("an address: %llu/%llu on worker %u is called %.*s",
                 (unsigned long long)actor->key.group, (unsigned long long)actor->key.serial,
                 worker->index, (int)address.size, address.data);
    }
}

static void check_actor(struct sim_host *host, struct tri_worker *worker, struct tri_actor *actor)
{
    check_owner(host, worker, actor);
    check_address(host, worker, actor);
}

void sim_check_actors(struct sim_host *host)
{
    sim_each_actor(host, check_actor);
}

/*
 * Reads the store's database on the simulated disk. Nobody else has it open.
 */
void sim_each_row(struct sim_host *host, const char *sql, sim_visit_row *visit, void *self)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    tri_disk_kill(host->disk); /* a power that has failed since the last write is back */
    int code = sqlite3_open_v2("simulated/troupe.db", &database, SQLITE_OPEN_READWRITE,
                               tri_disk_name(host->disk));
    if (code == SQLITE_OK) {
        code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    }
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW) {
            visit(self, statement);
        }
    }
    if (code != SQLITE_DONE) {
        sim_fail("host %u: the records cannot be read: %s", host->index, sqlite3_errmsg(database));
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(database);
}

const struct tri_model_version *sim_contents(const struct sim_host *host)
{
    if (host->database != NULL) {
        return tri_database_contents(host->database);
    }
    return host->model != NULL ? tri_model_contents(host->model) : NULL;
}

static void visit_count(void *self, struct sqlite3_stmt *statement)
{
    uint64_t *count = self;
    *count = (uint64_t)sqlite3_column_int64(statement, 0);
}

uint64_t sim_count_rows(struct sim_host *host, const char *sql)
{
    uint64_t count = 0;
    sim_each_row(host, sql, visit_count, &count);
    return count;
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

/* Those that are there at the end, too: one group each. */
static void note_staying(struct sim_host *host, struct tri_worker *worker, struct tri_actor *actor)
{
    if (host->world->play->check_staying != NULL) {
        host->world->play->check_staying(host, worker, actor);
    }
    TR_ASSERT(host->staying_count < SIM_STAYING_MAX);
    host->staying[host->staying_count++] = actor->key.group;
}

void sim_check_idle(struct sim_host *host)
{
    host->staying_count = 0;
    sim_each_actor(host, note_staying);
    for (uint32_t i = 0; i < host->host->shared.worker_count; i++) {
        const struct tri_worker *worker = &host->host->workers[i];
        uint32_t most = host->staying_count;
        struct {
            const char *name;
            uint32_t count;
            uint32_t most;
        } left[] = {
            {"groups", worker->groups.count, most},
            {"families", worker->families.count, most},
            {"routes", worker->routes.count, most},
            {"unspawned messages", worker->unspawned_count, 0},
            {"held messages", worker->held != NULL, 0},
            {"interhost actors", worker->interhost_actors.count, 0},
            {"actors that wait for other hosts", worker->remote_waiters.places.count, 0},
        };
        for (size_t j = 0; j < TR_COUNT_OF(left); j++) {
            if (left[j].count > left[j].most) {
                say_routes(worker);
                sim_fail("host %u worker %u: everybody has ended, and %u %s are left (group %llu)",
                         host->index, i, left[j].count, left[j].name,
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
    sim_database_settle(host);
    if (host->world->play->check_end != NULL) {
        host->world->play->check_end(host);
    }
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
    sim_each_actor((struct sim_host *)(uintptr_t)host, explain_actor);
    for (uint32_t i = 0; host->host != NULL && i < host->host->shared.worker_count; i++) {
        const struct tri_worker *worker = &host->host->workers[i];
        fprintf(stderr,
                "  host %u worker %u: %u actors, %u cuts outstanding, %u operations in its batch, "
                "%u frames and %u parcels in its outbox, %u unspawned, holds for %d\n",
                host->index, i, worker->actor_count, worker->cuts_outstanding,
                worker->batch.op_count, worker->outbox.waiting_count, worker->outbox.backlog_count,
                worker->unspawned_count, worker->held != NULL);
    }
}
