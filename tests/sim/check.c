/*
 * What must be true of a host at any moment, after a start, and at the end.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The store's database on the simulated disk; whoever opens it closes it, whatever comes of it. */
static int open_database(struct sim_host *host, const char *sql, sqlite3 **database,
                         sqlite3_stmt **statement)
{
    tri_disk_kill(host->disk); /* a power that has failed since the last write is back */
    int code = sqlite3_open_v2("simulated/troupe.db", database, SQLITE_OPEN_READWRITE,
                               tri_disk_name(host->disk));
    if (code == SQLITE_OK) {
        code = sqlite3_prepare_v2(*database, sql, -1, statement, NULL);
    }
    return code;
}

static void close_database(struct sim_host *host, int code, sqlite3 *database,
                           sqlite3_stmt *statement)
{
    if (code != SQLITE_DONE && code != SQLITE_ROW) {
        sim_fail("host %u: the records cannot be read: %s", host->index, sqlite3_errmsg(database));
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(database);
}

/* The rows of the records' table, each once. */
static uint64_t count_rows(struct sim_host *host)
{
    static const char sql[] = "SELECT count(*) FROM (SELECT DISTINCT writer_group, writer_serial, "
                              "number FROM record_sim_page_entry)";
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    uint64_t count = 0;
    int code = open_database(host, sql, &database, &statement);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
        count = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    close_database(host, code, database, statement);
    return count;
}

/* The leaves in the store's database, by writer and place. */
static size_t read_leaves(struct sim_host *host, struct sim_leaf *leaves, size_t capacity)
{
    static const char sql[] = "SELECT writer_group, writer_serial, place, edition FROM "
                              "record_sim_page_leaf ORDER BY 1, 2, 3";
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    size_t count = 0;
    int code = open_database(host, sql, &database, &statement);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW && count++ < capacity) {
            struct sim_leaf *leaf = &leaves[count - 1];
            leaf->writer.group = (uint64_t)sqlite3_column_int64(statement, 0);
            leaf->writer.serial = (uint64_t)sqlite3_column_int64(statement, 1);
            leaf->place = (uint64_t)sqlite3_column_int64(statement, 2);
            leaf->edition = (uint64_t)sqlite3_column_int64(statement, 3);
        }
    }
    close_database(host, code, database, statement);
    return count;
}

static int compare_leaves(const void *a, const void *b)
{
    const struct sim_leaf *left = a;
    const struct sim_leaf *right = b;
    int order = tr_key_compare(left->writer, right->writer);
    return order != 0 ? order : (left->place > right->place) - (left->place < right->place);
}

/* The leaves in the model, by writer and place. */
static size_t model_leaves(struct sim_host *host, struct sim_leaf *leaves, size_t capacity)
{
    uint16_t type = tr_sim_page_leaf_schema.id;
    size_t count = tri_model_record_count(host->model, type);
    for (size_t i = 0; i < count && i < capacity; i++) {
        const struct tri_op *op = tri_model_record(host->model, type, i);
        struct tr_sim_page_leaf leaf = {0};
        int error = tr_sim_page_leaf_unpack(op->data, (uint8_t)op->incarnation, &leaf);
        TR_ASSERT(error == 0);
        leaves[i] = (struct sim_leaf){leaf.writer, leaf.place, leaf.edition};
    }
    qsort(leaves, count < capacity ? count : capacity, sizeof *leaves, compare_leaves);
    return count;
}

/* The most pages that all scribes of a world have together. */
#define LEAVES_MAX 4096

/* A row for each page that a scribe has left, with its last edition, and no other. */
static void check_leaves(struct sim_host *host)
{
    struct sim_leaf *wanted = sim_must(calloc(2 * LEAVES_MAX, sizeof *wanted));
    struct sim_leaf *found = wanted + LEAVES_MAX;
    size_t wanted_count = sim_shadow_leaves(host->shadow, wanted, LEAVES_MAX);
    size_t found_count = host->disk != NULL ? read_leaves(host, found, LEAVES_MAX)
                                            : model_leaves(host, found, LEAVES_MAX);
    TR_ASSERT(wanted_count <= LEAVES_MAX);
    bool is_same = wanted_count == found_count;
    for (size_t i = 0; is_same && i < wanted_count; i++) {
        is_same =
            compare_leaves(&wanted[i], &found[i]) == 0 && wanted[i].edition == found[i].edition;
    }
    if (!is_same) {
        sim_fail("host %u: rows of %zu pages were left, the store has %zu, or other ones",
                 host->index, wanted_count, found_count);
    }
    free(wanted);
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
    check_leaves(host);
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
