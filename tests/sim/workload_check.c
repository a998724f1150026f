/*
 * What must be true of the workload after a start and at the end: what the environment has seen is
 * not forgotten, and their records are in the store.
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "tests/sim/model_read.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

void sim_workload_check_loaded(struct sim_host *host)
{
    const struct sim_observations *observations = &host->world->observations;
    for (uint32_t i = 0; i < observations->count; i++) {
        const struct sim_observation *entry = &observations->entries[i];
        if (entry->host != host->index || entry->is_final) {
            continue;
        }
        struct tri_actor *actor = sim_find_actor(host, entry->key);
        if (actor == NULL) {
            sim_fail("committed means present: the environment knows %llu/%llu, the store does not",
                     (unsigned long long)entry->key.group, (unsigned long long)entry->key.serial);
            continue;
        }
        const struct tr_sim_actor *state = tri_actor_state(actor);
        if ((entry->seen & ~state->seen) != 0) {
            sim_fail("committed means present: the environment has seen calls %llx of %llu/%llu, "
                     "its state knows %llx",
                     (unsigned long long)entry->seen, (unsigned long long)entry->key.group,
                     (unsigned long long)entry->key.serial, (unsigned long long)state->seen);
        }
    }
}

/* The records that are left are those that were written. */
static void take_records(struct sim_host *host, uint16_t type)
{
    const struct tri_model_version *contents = sim_contents(host);
    size_t count = tri_model_version_record_count(contents, type);
    for (size_t i = 0; i < count; i++) {
        sim_shadow_record(host->shadow, tri_model_version_record(contents, type, i));
    }
}

void sim_workload_lose(struct sim_host *host)
{
    struct sim_observations *observations = &host->world->observations;
    take_records(host, tr_sim_page_entry_schema.id);
    take_records(host, tr_sim_page_leaf_schema.id);
    for (uint32_t i = observations->count; i-- > 0;) {
        struct sim_observation *entry = &observations->entries[i];
        if (entry->host != host->index) {
            continue;
        }
        struct tri_actor *actor = sim_find_actor(host, entry->key);
        if (actor == NULL) { /* it has ended, or is not there yet */
            *entry = observations->entries[--observations->count];
            continue;
        }
        const struct tr_sim_actor *state = tri_actor_state(actor);
        entry->seen &= state->seen;
        entry->is_final = false;
        entry->total = 0;
    }
}

/* The rows of the records' table, each once. */
static uint64_t count_entries(struct sim_host *host)
{
    return sim_count_rows(host, "SELECT count(*) FROM (SELECT DISTINCT writer_group, "
                                "writer_serial, number FROM record_sim_page_entry)");
}

/* Leaves that are read from a table. */
struct reading {
    struct sim_leaf *leaves;
    size_t capacity;
    size_t count;
};

static void read_leaf(void *self, struct sqlite3_stmt *statement)
{
    struct reading *reading = self;
    if (reading->count++ < reading->capacity) {
        struct sim_leaf *leaf = &reading->leaves[reading->count - 1];
        leaf->writer.group = (uint64_t)sqlite3_column_int64(statement, 0);
        leaf->writer.serial = (uint64_t)sqlite3_column_int64(statement, 1);
        leaf->place = (uint64_t)sqlite3_column_int64(statement, 2);
        leaf->edition = (uint64_t)sqlite3_column_int64(statement, 3);
    }
}

/* The leaves in the store's database, by writer and place. */
static size_t read_leaves(struct sim_host *host, struct sim_leaf *leaves, size_t capacity)
{
    struct reading reading = {.leaves = leaves, .capacity = capacity};
    sim_each_row(host,
                 "SELECT writer_group, writer_serial, place, edition FROM record_sim_page_leaf "
                 "ORDER BY 1, 2, 3",
                 read_leaf, &reading);
    return reading.count;
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
    size_t count = tri_model_version_record_count(sim_contents(host), type);
    for (size_t i = 0; i < count && i < capacity; i++) {
        const struct tri_op *op = tri_model_version_record(sim_contents(host), type, i);
        struct tr_sim_page_leaf leaf = {0};
        int error = tr_sim_page_leaf_unpack(op->data, (uint8_t)op->incarnation, &leaf);
        TR_ASSERT(error == 0);
        leaves[i] = (struct sim_leaf){leaf.writer, leaf.place, leaf.edition};
    }
    qsort(leaves, count < capacity ? count : capacity, sizeof *leaves, compare_leaves);
    return count;
}

/* The most pages that all page writers of a world have together. */
#define LEAVES_MAX 4096

/* A row for each page that a page writer has left, with its last edition, and no other. */
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
    uint64_t count =
        host->disk != NULL
            ? count_entries(host)
            : tri_model_version_record_count(sim_contents(host), tr_sim_page_entry_schema.id);
    if (count != sim_shadow_record_count(host->shadow)) {
        sim_fail("host %u: %llu records were written, the store has %llu", host->index,
                 (unsigned long long)sim_shadow_record_count(host->shadow),
                 (unsigned long long)count);
    }
}

/* Records: as many as their writers have told the environment. */
static void check_records(struct sim_host *host)
{
    const struct sim_observations *observations = &host->world->observations;
    for (uint32_t i = 0; i < observations->count; i++) {
        const struct sim_observation *entry = &observations->entries[i];
        uint64_t records = sim_shadow_records(host->shadow, entry->key);
        if (entry->host == host->index && entry->total > 0 && records != 0 &&
            records != entry->total) {
            sim_fail("%llu/%llu wrote %llu records, the store has %llu",
                     (unsigned long long)entry->key.group, (unsigned long long)entry->key.serial,
                     (unsigned long long)entry->total, (unsigned long long)records);
        }
    }
}

void sim_workload_check_end(struct sim_host *host)
{
    check_records(host);
    check_record_count(host);
    check_leaves(host);
}
