/*
 * The small things that all parts of bench_engine need.
 */
#include "tests/bench/engine/bench.h"

#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "actors/graph/compile.h"
#include "runtime/journal/reader.h"
#include "schemas/history.h"
#include "schemas/history_views.h"

void bench_must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "bench_engine: %s: %s\n", what, tr_error_text(error));
        exit(1);
    }
}

double bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

uint64_t bench_status_bytes(const char *label)
{
    char line[256];
    unsigned long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, label, strlen(label)) == 0) {
            kilobytes = strtoul(line + strlen(label) + 1, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return (uint64_t)kilobytes * 1024;
}

static int compare(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;
    return *left < *right ? -1 : *left > *right;
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof values[0], compare);
    return values[count / 2];
}

void bench_print(const struct bench_run *run, const char *figure, double value, const char *unit)
{
    static const char *const levels[] = {"none", "process", "full"};
    printf("{\"figure\":\"%s\",\"n\":%llu,\"value\":%.4f,\"unit\":\"%s\",\"workers\":%u,"
           "\"durability\":\"%s\",\"rss_bytes\":%llu}\n",
           figure, (unsigned long long)run->n, value, unit, run->workers, levels[run->durability],
           (unsigned long long)bench_status_bytes("VmHWM"));
    fflush(stdout);
}

/* ------------------------------------------------------------------------ folders */

void bench_folder_make(char folder[BENCH_FOLDER_BYTES])
{
    const char *temporary = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    snprintf(folder, BENCH_FOLDER_BYTES, "%.40s/troupe-bench-XXXXXX", temporary);
    bench_must(mkdtemp(folder) == NULL ? TR_SYSTEM : 0, folder);
}

void bench_folder_remove(const char *folder)
{
    char command[2 * BENCH_FOLDER_BYTES];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) {
        fprintf(stderr, "bench_engine: %s was left behind\n", folder);
    }
}

static uint64_t bytes_found;

static int add_bytes(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)path;
    (void)place;
    bytes_found += kind == FTW_F ? (uint64_t)status->st_size : 0;
    return 0;
}

uint64_t bench_folder_bytes(const char *folder)
{
    bytes_found = 0;
    bench_must(nftw(folder, add_bytes, 16, FTW_PHYS) == 0 ? 0 : TR_SYSTEM, folder);
    return bytes_found;
}

/* ---------------------------------------------------------------- graphs and hosts */

const struct tr_graph *bench_graph(struct tr_engine *engine, const char *definition,
                                   uint64_t *number)
{
    struct tr_compile_request request = {.path = tr_text_of("bench.yaml"),
                                         .folder = tr_text_of("/"),
                                         .text = tr_text_of(definition)};
    struct tr_report report;
    struct tr_graph *graph = NULL;
    tr_report_init(&report);
    int error = tr_graph_compile(&request, &report, &graph);
    for (uint32_t i = 0; i < report.count; i++) {
        struct tr_buffer text;
        tr_buffer_init(&text, 0);
        tr_problem_print(&report.problems[i], &text);
        fprintf(stderr, "%.*s\n", (int)text.size, (const char *)text.data);
        tr_buffer_fini(&text);
    }
    bench_must(error, "compile");
    tr_report_fini(&report);
    bench_must(tr_shelf_put(&engine->shelf, graph, number), "shelf");
    return tr_shelf_find(&engine->shelf, *number);
}

struct tr_host *bench_host(const struct bench_run *run, struct tr_engine *engine,
                           const char *folder, const struct tr_behaviour *const *behaviours,
                           size_t behaviour_count)
{
    bool is_durable = run->durability != TR_DURABILITY_NONE;
    char words[TRI_STORE_EXPLAIN_BYTES];
    struct tr_host *host;
    struct tr_host_options options = {
        .worker_count = run->workers,
        .durability = run->durability,
        .folder = is_durable ? folder : NULL,
        .has_files = is_durable,
        .behaviours = behaviours,
        .behaviour_count = behaviour_count,
        .records = tr_history_schemas,
        .record_count = tr_history_schema_count,
        .views = &tr_history_views,
        .program = engine,
    };
    bench_must(tr_host_new(&options, words, &host), words);
    return host;
}

/* ------------------------------------------------------------------ changes of phase */

/* Each entry is [element, attempt, milliseconds, phase, ...]. */
static int add_block(void *self, const void *row)
{
    const struct tr_element_block *block = row;
    uint64_t *count = self;
    bool is_inside = false;
    for (size_t i = 1; i < block->entries.size; i++) {
        char letter = block->entries.data[i];
        is_inside = letter == '[' || (is_inside && letter != ']');
        *count += is_inside && letter == ',';
    }
    *count -= 2ULL * block->entry_count;
    return 0;
}

uint64_t bench_count_phases(const char *folder)
{
    struct tr_reader *reader;
    struct tr_reader_options options = {
        .folder = folder, .records = tr_history_schemas, .record_count = tr_history_schema_count};
    struct tr_reader_query phases = {.record = &tr_phase_schema};
    struct tr_reader_query blocks = {.record = &tr_element_block_schema};
    uint64_t count = 0;
    bench_must(tr_reader_open(&options, NULL, &reader), "reader");
    bench_must(tr_reader_count(reader, &phases, &count), "phases");
    bench_must(tr_reader_rows(reader, &blocks, add_block, &count), "elements");
    tr_reader_close(reader);
    return count;
}
