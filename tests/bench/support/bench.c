/*
 * The small things that benchmarks of the engine need.
 */
#include "tests/bench/support/bench.h"

#include <errno.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "actors/graph/compiler/compile.h"
#include "runtime/journal/store_folder.h"
#include "runtime/store_care.h"
#include "runtime/store_open.h"
#include "schemas/engine/history.h"
#include "schemas/engine/history_views.h"
#include "tests/support/postgres_server.h"

static bool is_on_server;

void bench_must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, tr_error_text(error));
        exit(1);
    }
}

double bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

uint64_t bench_status_bytes(const char *path, const char *label)
{
    char line[256];
    unsigned long kilobytes = 0;
    FILE *file = fopen(path, "r");
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
    printf("{\"figure\":\"%s%s\",\"n\":%llu,\"value\":%.4f,\"unit\":\"%s\",\"workers\":%u,"
           "\"durability\":\"%s\",\"rss_bytes\":%llu}\n",
           is_on_server ? "postgres_" : "", figure, (unsigned long long)run->n, value, unit,
           run->workers, levels[run->durability],
           (unsigned long long)bench_status_bytes("/proc/self/status", "VmHWM"));
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
        fprintf(stderr, "%s: %s was left behind\n", program_invocation_short_name, folder);
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

/* ------------------------------------------------------------------------- stores */

bool bench_is_on_server(void)
{
    return is_on_server;
}

/* Makes the store of a folder on the server, in a schema of its own. */
static void make_on_server(const char *folder)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    char schema[64];
    char locator[POSTGRES_LOCATOR_BYTES];
    bool was_made = false;
    struct tri_store_options options = {.folder = folder,
                                        .durability = TR_DURABILITY_FULL,
                                        .records = tr_history_schemas,
                                        .record_count = tr_history_schema_count,
                                        .views = &tr_history_views};
    postgres_server_schema(schema, sizeof schema);
    postgres_server_locator("postgres", schema, locator);
    bench_must(tri_store_folder_bind(folder, locator, explain), explain);
    bench_must(tri_store_init(&options, explain, &was_made), explain);
}

/* ---------------------------------------------------------------- graphs and hosts */

const char *bench_troupe(void)
{
    static char program[PATH_MAX];
    char self[PATH_MAX - 16];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    bench_must(size > 0 ? 0 : TR_SYSTEM, "/proc/self/exe");
    self[size] = '\0';
    snprintf(program, sizeof program, "%s/troupe", dirname(self));
    bench_must(access(program, X_OK) == 0 ? 0 : TR_NOT_FOUND, program);
    return program;
}

struct tr_graph *bench_compile(const char *definition)
{
    struct tr_definition_source request = {.path = tr_text_of("bench.yaml"),
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
    return graph;
}

const struct tr_graph *bench_graph(struct tr_engine *engine, const char *definition,
                                   uint64_t *number)
{
    bench_must(tr_graph_registry_put(&engine->registry, bench_compile(definition), number),
               "graph_registry");
    return tr_graph_registry_find(&engine->registry, *number);
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
    if (is_durable && is_on_server) {
        make_on_server(folder);
    }
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

/* ---------------------------------------------------------------------- the program */

static void measure(struct bench_run *run, const struct bench_figure *figure)
{
    run->figure = figure->name;
    run->kind = figure->kind;
    run->durability = figure->durability;
    run->n = run->size < figure->divisor ? 1 : run->size / figure->divisor;
    figure->measure(run);
}

/* Measures the figure of a host on the server. */
static void measure_on_server(struct bench_run *run, const struct bench_figure *figure)
{
    if (figure->durability == TR_DURABILITY_NONE) {
        return;
    }
    is_on_server = true;
    measure(run, figure);
    is_on_server = false;
}

int bench_main(int argc, char **argv, const struct bench_figure *figures, size_t figure_count)
{
    struct bench_run run = {.size = 1000, .workers = 1, .milliseconds = 200};
    const char *only = NULL;
    const char *store = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--size") == 0) {
            run.size = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--milliseconds") == 0) {
            run.milliseconds = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--only") == 0) {
            only = argv[i + 1];
        } else if (strcmp(argv[i], "--store") == 0) {
            store = argv[i + 1];
        }
    }
    if (argc % 2 == 0 || run.size == 0 || run.size > UINT32_MAX ||
        (store != NULL && strcmp(store, "postgres") != 0)) {
        fprintf(stderr,
                "usage: %s [--size N] [--milliseconds M] [--only FIGURE] [--store postgres]\n",
                program_invocation_short_name);
        return 2;
    }
    postgres_server_keep_synced();
    for (size_t i = 0; i < figure_count; i++) {
        if (only == NULL || strcmp(only, figures[i].name) == 0) {
            measure(&run, &figures[i]);
            if (store != NULL) {
                measure_on_server(&run, &figures[i]);
            }
        }
    }
    return 0;
}
