/*
 * The engine itself: actors, journal and store, services, memory, the process.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "deploy/common/file.h"
#include "deploy/metrics/metrics_inside.h"
#include "runtime/memory.h"

#define NS 0.000000001
#define MS 0.001
#define US 0.000001

/* A start's number has its time above so many bits (deploy/engine/assemble.c). */
#define LIFE_TIME_SHIFT 22

static void write_gauge(const struct tri_metrics_view *view, const char *name, const char *help,
                        double value)
{
    tr_exposition_single(view->text, &(struct tr_metric_family){name, TR_METRIC_GAUGE, help},
                         value);
}

static void write_counter(const struct tri_metrics_view *view, const char *name, const char *help,
                          double value)
{
    tr_exposition_single(view->text, &(struct tr_metric_family){name, TR_METRIC_COUNTER, help},
                         value);
}

/* -------------------------------------------------------------------------- actors */

/* The runtime's own figures, under their names. */
static int write_actors(const struct tri_metrics_view *view)
{
    struct tr_metric metrics[TR_METRICS_MAX];
    char name[64];
    size_t count = 0;
    int error = tr_host_metrics(view->live->host, metrics, &count);
    for (size_t i = 0; error == 0 && i < count; i++) {
        const struct tr_metric *metric = &metrics[i];
        (void)snprintf(name, sizeof name, "troupe_%s%s", metric->name,
                       metric->is_level ? "" : "_total");
        tr_exposition_single(
            view->text,
            &(struct tr_metric_family){name, metric->is_level ? TR_METRIC_GAUGE : TR_METRIC_COUNTER,
                                       metric->text},
            (double)metric->value);
    }
    return error;
}

/* --------------------------------------------------------------- journal and store */

static void write_histogram(const struct tri_metrics_view *view, const char *name, const char *help,
                            const struct tr_histogram *histogram, double unit)
{
    const struct tr_metric_buckets buckets = {.bounds = histogram->bounds,
                                              .counts = histogram->counts,
                                              .size = histogram->size,
                                              .sum = histogram->sum,
                                              .unit = unit};
    tr_exposition_family(view->text, &(struct tr_metric_family){name, TR_METRIC_HISTOGRAM, help});
    tr_exposition_histogram(view->text, name, NULL, 0, &buckets);
}

static void write_journal(const struct tri_metrics_view *view)
{
    struct tr_journal_figures journal;
    tr_host_journal_figures(view->live->host, &journal);
    write_histogram(view, "troupe_journal_commit_seconds", "How long commits took.",
                    &journal.commit_ns, NS);
    write_histogram(view, "troupe_journal_commit_operations",
                    "How many operations of the store a commit had.", &journal.commit_operations,
                    1);
    write_counter(view, "troupe_journal_batches_total", "Batches of workers that were committed.",
                  (double)journal.batches);
    write_counter(view, "troupe_journal_bytes_total", "Bytes of these batches.",
                  (double)journal.bytes);
    write_counter(view, "troupe_journal_shortages_total",
                  "Commits that found no room and were tried again.", (double)journal.shortages);
    write_gauge(view, "troupe_journal_waiting",
                "1 while nothing can be written, such as on a full disk; it is tried again.",
                journal.waits_for != 0 ? 1 : 0);
    write_gauge(view, "troupe_journal_commit_age_seconds",
                "How long the commit in hand has taken so far; 0: none is.",
                (double)journal.current_ns * NS);
    write_gauge(view, "troupe_commit_log_commits",
                "Commits that are in the log and not in the store's tables yet.",
                (double)journal.log_commits);
    write_gauge(view, "troupe_commit_log_bytes", "Their bytes.", (double)journal.log_bytes);
    write_gauge(view, "troupe_commit_log_bytes_limit",
                "Above so many bytes commits wait for the tables; 0: the store has no log.",
                (double)journal.log_bytes_max);
}

static double bytes_of(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    bool is_there = size > 0 && (size_t)size < sizeof path && stat(path, &status) == 0;
    return is_there ? (double)status.st_size : 0;
}

static void write_store(const struct tri_metrics_view *view)
{
    const char *folder = view->live->folder;
    struct statvfs disk;
    bool is_known = statvfs(folder, &disk) == 0;
    write_gauge(view, "troupe_store_database_bytes", "Size of troupe.db.",
                bytes_of(folder, "troupe.db"));
    write_gauge(view, "troupe_store_log_bytes", "Size of its write-ahead log.",
                bytes_of(folder, "troupe.db-wal"));
    write_gauge(view, "troupe_store_free_bytes", "What is free on the disk of the store.",
                is_known ? (double)disk.f_bavail * (double)disk.f_frsize : 0);
}

/* ------------------------------------------------------- services and the process */

static void write_services(const struct tri_metrics_view *view)
{
    struct tr_service_figures services;
    tr_host_service_figures(view->live->host, &services);
    write_gauge(view, "troupe_process_slots", "Processes of tasks that may run at once.",
                (double)services.processes_max);
    write_gauge(view, "troupe_processes_running", "Processes of tasks that run.",
                (double)services.processes_running);
    write_gauge(view, "troupe_processes_waiting", "Processes of tasks that wait for a slot.",
                (double)services.processes_waiting);
    write_gauge(view, "troupe_http_requests_open", "Requests under way, streams too.",
                (double)services.http_open);
    write_gauge(view, "troupe_files_calls_waiting",
                "Calls for files and large values that wait for their turn.",
                (double)services.files_waiting);
    write_counter(view, "troupe_requests_refused_total",
                  "Frames at the engine's socket that were no requests.",
                  (double)tri_endpoint_refused(view->live->endpoint));
    write_counter(view, "troupe_traces_sent_total", "Executions whose traces were sent.",
                  (double)atomic_load(&view->live->traces_sent));
    write_counter(view, "troupe_traces_lost_total", "Executions whose traces could not be sent.",
                  (double)atomic_load(&view->live->traces_lost));
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec * US;
}

/* Resident pages, the second number of the file. */
static double resident_bytes(void)
{
    char *text = NULL;
    size_t size = 0;
    unsigned long long total = 0;
    unsigned long long resident = 0;
    if (tr_file_read("/proc/self/statm", 4096, &text, &size) != 0 ||
        sscanf(text, "%llu %llu", &total, &resident) != 2) {
        resident = 0;
    }
    tr_free(text);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* Entries of the folder of this process's descriptors. */
static double count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    double count = 0;
    if (folder == NULL) {
        return 0;
    }
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count - 3; /* both dots, and the folder itself */
}

static void write_process(const struct tri_metrics_view *view)
{
    const struct tr_engine *engine = view->live->engine;
    struct rusage usage = {.ru_maxrss = 0};
    struct rlimit files = {.rlim_cur = 0};
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    write_gauge(view, "troupe_start_time_seconds", "When the engine began, in seconds since 1970.",
                (double)(engine->life >> LIFE_TIME_SHIFT) * MS);
    write_counter(view, "troupe_cpu_seconds_total", "Time of the engine on processors.",
                  seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime));
    write_gauge(view, "troupe_memory_resident_bytes", "Memory of the engine.", resident_bytes());
    write_gauge(view, "troupe_memory_needed_bytes",
                "Memory of executions, as `limits` of the settings bound it.",
                (double)tr_memory_needed());
    write_gauge(view, "troupe_memory_limit_bytes", "That bound; 0: there is none.",
                (double)engine->memory_max);
    write_gauge(view, "troupe_open_files", "Files and sockets that the engine has open.",
                count_descriptors());
    write_gauge(view, "troupe_open_files_limit", "How many it may have.", (double)files.rlim_cur);
}

int tri_metrics_engine(const struct tri_metrics_view *view)
{
    int error = write_actors(view);
    if (error == 0) {
        write_journal(view);
        write_store(view);
        write_services(view);
        write_process(view);
    }
    return error;
}
