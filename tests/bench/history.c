/*
 * How many changes of phase a second become durable, from batches of workers to committed rows with
 * all indexes and views there, at durability `full` in groups of N rows.
 *
 * Three ways in which they come: rows of the record `phase` alone; nodes, which write four changes
 * and how they stand after each (a group keeps the last); and elements of arrays, gathered in
 * blocks of 256, each of which has gone through four phases. What workers do is a figure of its
 * own, since other threads do it: the time of one change until its row is in the batch.
 *
 * Each figure is one JSON object on a line of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "actors/history/history.h"
#include "runtime/journal/commit_batch.h"
#include "runtime/memory.h"
#include "runtime/sqlite/sqlite.h"
#include "schemas/engine/history_views.h"
#include "tests/bench/support/bench.h"

#define ROWS_MAX 262144
#define ACTORS 64
#define BLOCK_BYTES 16384

struct bench {
    struct tri_store *store;
    struct tri_commit_batch group;
    struct tri_batch batch;
    uint64_t next; /* changes so far */
    uint64_t number;
    double write_seconds;
    double commit_seconds;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench_history: %s: %s\n", what, why);
    exit(4);
}

/* What tr_record does: packs a row and puts it into the worker's batch. */
static void record(struct bench *bench, const struct tr_schema *schema, const void *row)
{
    static uint8_t bytes[2 * BLOCK_BYTES];
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    struct tr_bytes key = {0};
    int error = schema->pack(row, &writer);
    struct tri_op op = {.kind = TRI_OP_PUT_RECORD,
                        .type = schema->id,
                        .incarnation = schema->version,
                        .data = {bytes, tr_writer_size(&writer)}};
    if (error == 0) {
        error = tr_row_key_bytes(op.data, tr_row_key_count(schema), &key);
    }
    op.key_size = (uint16_t)key.size;
    tri_batch_add(&bench->batch, &op);
    if (error != 0 || bench->batch.error != 0) {
        fail(schema->name, "cannot be packed");
    }
}

static const uint8_t phases[] = {TR_NODE_PHASE_QUEUED, TR_NODE_PHASE_RUNNING,
                                 TR_NODE_PHASE_SUCCEEDING, TR_NODE_PHASE_SUCCEEDED};

#define PHASES TR_COUNT_OF(phases)

/* The next change: workflows take turns, and each writes the changes of its nodes one by one. */
static void write_phase(struct bench *bench, struct tr_text path)
{
    uint64_t change = bench->next++;
    struct tr_phase row = {
        .execution = 16 + change % ACTORS * 16,
        .actor = {16 + change % ACTORS * 16, 16},
        .number = change / ACTORS + 1,
        .subject = TR_SUBJECT_NODE,
        .path = path,
        .element = TR_ELEMENT_NONE,
        .phase = phases[change / ACTORS % PHASES],
        .at_ms = 1763712000000 + change / 1000,
    };
    record(bench, &tr_phase_schema, &row);
}

static uint64_t write_phases(struct bench *bench, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        write_phase(bench, tr_text_of("squares"));
    }
    return rows;
}

static uint64_t write_nodes(struct bench *bench, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        char path[32];
        uint64_t change = bench->next;
        uint64_t node = change / ACTORS / PHASES;
        int size = snprintf(path, sizeof path, "node_%llu", (unsigned long long)node);
        struct tr_text text = {path, (size_t)size};
        write_phase(bench, text);
        struct tr_node_status row = {.execution = 16 + change % ACTORS * 16,
                                     .path = text,
                                     .kind = tr_text_of("task"),
                                     .target = tr_text_of("square"),
                                     .name = text,
                                     .phase = phases[change / ACTORS % PHASES],
                                     .created_ms = 1763712000000,
                                     .started_ms = 1763712000000,
                                     .attempts = 1};
        record(bench, &tr_node_status_schema, &row);
    }
    return rows;
}

static uint64_t write_elements(struct bench *bench, size_t rows)
{
    static uint64_t memory[BLOCK_BYTES / sizeof(uint64_t)];
    struct tr_element_entries *entries = (struct tr_element_entries *)memory;
    uint64_t changes = 0;
    for (size_t i = 0; i < rows; i++) {
        *entries = (struct tr_element_entries){0};
        for (uint64_t k = 0; k < TR_ELEMENT_ENTRIES_MAX; k++) {
            struct tr_element_change change = {.element = bench->next++,
                                               .at_ms = 1763712000000 + k};
            for (size_t p = 0; p < PHASES; p++) {
                change.phases |= 1U << phases[p];
            }
            if (tr_history_element(memory, sizeof memory, &change, NULL) != 0) {
                fail("element", "cannot be added");
            }
            changes += PHASES;
        }
        ((char *)(entries + 1))[entries->size] = ']';
        struct tr_element_block row = {.execution = 16,
                                       .actor = {16, 32},
                                       .number = bench->next,
                                       .path = tr_text_of("squares"),
                                       .element_min = entries->element_min,
                                       .element_max = entries->element_max,
                                       .base_ms = entries->base_ms,
                                       .entry_count = entries->count,
                                       .entries = {(char *)(entries + 1), entries->size + 1}};
        record(bench, &tr_element_block_schema, &row);
    }
    return changes;
}

/* What the journal does with a batch: coalesces it, and commits it. */
static void commit(struct bench *bench)
{
    size_t size = 0;
    size_t offset = 0;
    uint8_t *data = tri_batch_take(&bench->batch, ++bench->number, 0, &size);
    struct tri_op op;
    double begin = now();
    while (tri_batch_next((struct tr_bytes){data, size}, &offset, &op)) {
        if (tri_commit_batch_add(&bench->group, &op) != 0) {
            fail("group", "no memory");
        }
    }
    tri_commit_batch_finish(&bench->group);
    struct tri_commit group = {bench->group.ops, bench->group.count, bench->number};
    int error = tri_store_commit(bench->store, &group);
    if (error == 0) {
        error = tri_store_maintain(bench->store);
    }
    if (error != 0) {
        fail(tr_error_name(error), tri_store_explain(bench->store));
    }
    tri_commit_batch_clear(&bench->group);
    tr_free(data);
    bench->commit_seconds += now() - begin;
}

static void print(const char *figure, size_t rows, double value, const char *unit)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"bench\":\"history\",\"figure\":\"%s\",\"n\":%zu,\"value\":%.1f,\"unit\":\"%s\","
           "\"workers\":1,\"durability\":\"full\",\"rss_bytes\":%ld}\n",
           figure, rows, value, unit, usage.ru_maxrss * 1024);
    fflush(stdout);
}

static const struct way {
    const char *changes_figure;
    const char *write_figure;
    uint64_t (*write)(struct bench *bench, size_t rows);
    size_t changes_of_a_row;
} ways[] = {
    {"phase_changes_per_s", "phase_write_ns", write_phases, 1},
    {"node_changes_per_s", "node_write_ns", write_nodes, 1},
    {"element_changes_per_s", "element_write_ns", write_elements, PHASES *TR_ELEMENT_ENTRIES_MAX},
};

static void run(const struct way *way, size_t size, double seconds, const char *place)
{
    char folder[256];
    char explain[TRI_STORE_EXPLAIN_BYTES];
    struct bench bench = {0};
    uint64_t changes = 0;
    size_t rows = size / way->changes_of_a_row == 0 ? 1 : size / way->changes_of_a_row;
    snprintf(folder, sizeof folder, "%s/bench_history_XXXXXX", place);
    if (mkdtemp(folder) == NULL) {
        fail(folder, "cannot be made");
    }
    struct tri_store_options options = {.folder = folder,
                                        .durability = TR_DURABILITY_FULL,
                                        .records = tr_history_schemas,
                                        .record_count = tr_history_schema_count,
                                        .views = &tr_history_views};
    if (tri_sqlite_open(&options, explain, &bench.store) != 0) {
        fail(folder, explain);
    }
    while (bench.commit_seconds < seconds) {
        double begin = now();
        changes += way->write(&bench, rows);
        bench.write_seconds += now() - begin;
        commit(&bench);
    }
    print(way->changes_figure, size, (double)changes / bench.commit_seconds, "1/s");
    print(way->write_figure, size, bench.write_seconds * 1e9 / (double)changes, "ns");
    tri_commit_batch_fini(&bench.group);
    tri_batch_fini(&bench.batch);
    tri_store_close(bench.store);
    bench_folder_remove(folder);
}

static void usage(void)
{
    fprintf(stderr, "usage: bench_history [--size CHANGES_IN_A_GROUP] [--milliseconds PER_FIGURE] "
                    "[--folder DIRECTORY]\n");
    exit(2);
}

int main(int count, char **words)
{
    const char *folder = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    size_t size = 0;
    double seconds = 1.0;
    for (int i = 1; i < count; i += 2) {
        if (i + 1 == count) {
            usage();
        }
        if (strcmp(words[i], "--size") == 0) {
            size = strtoul(words[i + 1], NULL, 10);
        } else if (strcmp(words[i], "--milliseconds") == 0) {
            seconds = strtod(words[i + 1], NULL) / 1000;
        } else if (strcmp(words[i], "--folder") == 0) {
            folder = words[i + 1];
        } else {
            usage();
        }
    }
    if (size > ROWS_MAX || seconds <= 0) {
        usage();
    }
    for (size_t group = size != 0 ? size : 1000; group <= (size != 0 ? size : 100000);
         group *= 10) {
        for (size_t i = 0; i < TR_COUNT_OF(ways); i++) {
            run(&ways[i], group, seconds, folder);
        }
    }
    return 0;
}
