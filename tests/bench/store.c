/*
 * How many rows a second a store commits in groups of N, at both durability levels, and how long a
 * commit takes. Without --size, N is 1, 10, ... 10,000. The store is SQLite's, and with --store
 * postgres also PostgreSQL's, on a server that is started for it in a folder of /tmp, or with a
 * locator on that server; each figure of it is measured right behind SQLite's.
 *
 * Half of the rows are images of 120 bytes of 10,000 actors in turn, which are overwritten again
 * and again, half are messages of 150 bytes that are put once: the mixture of facts about SQLite
 * that the design was made with. Each figure is one JSON object on a line of its own.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "runtime/store_care.h"
#include "runtime/store_open.h"
#include "tests/bench/support/bench.h"
#include "tests/support/postgres_server.h"

#define IMAGE_BYTES 120
#define MESSAGE_BYTES 150
#define ACTORS 10000
#define COMMITS_MAX 4000000
#define GROUP_MAX 262144
#define DEFAULT_GROUP_MAX 10000

struct options {
    size_t size; /* 0: all decades */
    double seconds;
    const char *folder;
    const char *locator; /* of PostgreSQL, too; NULL: only SQLite */
};

/* What one cell of the table is measured with. */
struct cell {
    struct tri_store *store;
    struct tri_op *ops;
    size_t group;
    uint64_t next;     /* rows written so far */
    double *latencies; /* of each commit, in seconds */
    size_t commit_count;
};

static uint8_t content[MESSAGE_BYTES];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench_store: %s: %s\n", what, why);
    exit(4);
}

static int compare_ops(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

static void fill(struct cell *cell)
{
    for (size_t i = 0; i < cell->group; i++) {
        uint64_t row = cell->next + i;
        bool is_image = row % 2 == 0;
        cell->ops[i] = (struct tri_op){
            .kind = is_image ? TRI_OP_PUT_ACTOR : TRI_OP_PUT_MESSAGE,
            .type = 7,
            .incarnation = 1,
            .key = {.group = 1, .serial = is_image ? 1 + row / 2 % ACTORS : 1},
            .to_group = is_image ? 0 : 1,
            .number = is_image ? 0 : row,
            .data = {.data = content, .size = is_image ? IMAGE_BYTES : MESSAGE_BYTES},
        };
    }
    cell->next += cell->group;
    qsort(cell->ops, cell->group, sizeof *cell->ops, compare_ops);
}

/* A group beyond the number of actors would name one twice; the later one counts. */
static size_t without_doubles(struct tri_op *ops, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (i + 1 == count || tri_op_compare(&ops[i], &ops[i + 1]) != 0) {
            ops[kept++] = ops[i];
        }
    }
    return kept;
}

/* Commits until the time is over; returns rows a second of the time spent in the store. */
static double measure(struct cell *cell, double seconds)
{
    double spent = 0;
    size_t rows = 0;
    while (spent < seconds && cell->commit_count < COMMITS_MAX) {
        fill(cell);
        size_t count = without_doubles(cell->ops, cell->group);
        struct tri_commit commit = {cell->ops, count, cell->next};
        double begin = now();
        int error = tri_store_commit(cell->store, &commit);
        double latency = now() - begin;
        if (error == 0) {
            error = tri_store_maintain(cell->store);
        }
        if (error != 0) {
            fail(tr_error_name(error), tri_store_explain(cell->store));
        }
        spent += now() - begin;
        rows += count;
        cell->latencies[cell->commit_count++] = latency;
    }
    return (double)rows / spent;
}

static int compare_numbers(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static void print(const char *store, const char *figure, size_t group, double value,
                  const char *unit, enum tr_durability durability)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"bench\":\"store\",\"figure\":\"%s_%s\",\"n\":%zu,\"value\":%.1f,\"unit\":\"%s\","
           "\"workers\":1,\"durability\":\"%s\",\"rss_bytes\":%ld}\n",
           store, figure, group, value, unit, durability == TR_DURABILITY_FULL ? "full" : "process",
           usage.ru_maxrss * 1024);
    fflush(stdout);
}

/* Figures of SQLite's store are named `store_…`, those of PostgreSQL's `postgres_…`. */
static void run_cell(const struct options *options, const struct tri_store_options *opening,
                     const char *name, size_t group)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    struct cell cell = {.group = group,
                        .ops = calloc(group, sizeof *cell.ops),
                        .latencies = calloc(COMMITS_MAX, sizeof *cell.latencies)};
    if (cell.ops == NULL || cell.latencies == NULL) {
        fail(name, "no memory");
    }
    if (tri_store_open(opening, explain, &cell.store) != 0) {
        fail(name, explain);
    }
    cell.next = cell.store->last_number; /* of an earlier cell in the same schema */
    double rows_per_second = measure(&cell, options->seconds);
    qsort(cell.latencies, cell.commit_count, sizeof *cell.latencies, compare_numbers);
    print(name, "rows_per_s", group, rows_per_second, "1/s", opening->durability);
    print(name, "commit_p50_us", group, cell.latencies[cell.commit_count / 2] * 1e6, "us",
          opening->durability);
    print(name, "commit_p99_us", group, cell.latencies[cell.commit_count * 99 / 100] * 1e6, "us",
          opening->durability);
    tri_store_close(cell.store);
    free(cell.ops);
    free(cell.latencies);
}

static void run_sqlite(const struct options *options, size_t group, enum tr_durability durability)
{
    char folder[256];
    struct tri_store_options opening = {.folder = folder, .durability = durability};
    snprintf(folder, sizeof folder, "%s/bench_store_XXXXXX", options->folder);
    if (mkdtemp(folder) == NULL) {
        fail(folder, "cannot be made");
    }
    run_cell(options, &opening, "store", group);
    bench_folder_remove(folder);
}

/* In a new schema of the bench's own server; in the one schema of a locator's. */
static void run_postgres(const struct options *options, size_t group, enum tr_durability durability)
{
    char schema[64];
    char locator[POSTGRES_LOCATOR_BYTES];
    struct tri_store_options opening = {.locator = options->locator, .durability = durability};
    if (strcmp(options->locator, "postgres") == 0) {
        postgres_server_schema(schema, sizeof schema);
        postgres_server_locator("postgres", schema, locator);
        opening.locator = locator;
    }
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    bool was_made = false;
    if (tri_store_init(&opening, explain, &was_made) != 0) {
        fprintf(stderr, "%s\n", explain);
        exit(1);
    }
    run_cell(options, &opening, "postgres", group);
}

static void run_group(const struct options *options, size_t group, enum tr_durability durability)
{
    run_sqlite(options, group, durability);
    if (options->locator != NULL) {
        run_postgres(options, group, durability);
    }
}

static void usage(void)
{
    fprintf(stderr, "usage: bench_store [--size ROWS_IN_A_COMMIT] [--milliseconds PER_FIGURE] "
                    "[--folder DIRECTORY] [--store postgres|LOCATOR]\n");
    exit(2);
}

static void read_options(int count, char **words, struct options *options)
{
    for (int i = 1; i < count; i += 2) {
        if (i + 1 == count) {
            usage();
        }
        if (strcmp(words[i], "--size") == 0) {
            options->size = strtoul(words[i + 1], NULL, 10);
        } else if (strcmp(words[i], "--milliseconds") == 0) {
            options->seconds = strtod(words[i + 1], NULL) / 1000;
        } else if (strcmp(words[i], "--folder") == 0) {
            options->folder = words[i + 1];
        } else if (strcmp(words[i], "--store") == 0) {
            options->locator = words[i + 1];
        } else {
            usage();
        }
    }
    if (options->size > GROUP_MAX || options->seconds <= 0) {
        usage();
    }
}

int main(int count, char **words)
{
    const char *folder = getenv("TMPDIR");
    struct options options = {0, 1.0, folder != NULL ? folder : "/tmp", NULL};
    postgres_server_keep_synced();
    read_options(count, words, &options);
    memset(content, 'x', sizeof content);
    size_t smallest = options.size != 0 ? options.size : 1;
    size_t largest = options.size != 0 ? options.size : DEFAULT_GROUP_MAX;
    for (size_t group = smallest; group <= largest; group *= 10) {
        run_group(&options, group, TR_DURABILITY_FULL);
        run_group(&options, group, TR_DURABILITY_PROCESS);
    }
    return 0;
}
