/*
 * What people start: `troupe run` itself, from its start to its exit, with a workflow of one node,
 * and with a map over /bin/true beside loops that start as many processes.
 *
 * The program is the one beside this one, built by the same build.
 */
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/engine/figures.h"

#define STARTS_MAX 15
#define AT_ONCE_MAX 256
#define COMMAND_BYTES 1024
#define PATH_BYTES 256

static const char *program;
static char folder[BENCH_FOLDER_BYTES];

static void write_text(const char *name, const char *text)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.60s/%.100s", folder, name);
    FILE *file = fopen(path, "w");
    bench_must(file == NULL || fputs(text, file) < 0 || fclose(file) != 0 ? TR_SYSTEM : 0, path);
}

/* Runs a shell's command to its end; in seconds. */
static double run_command(const char *command)
{
    double begin = bench_now_ns();
    int status = system(command);
    bench_must(status == 0 ? 0 : TR_FAILED, command);
    return (bench_now_ns() - begin) / 1e9;
}

/* ------------------------------------------------------------------------ one node */

static pid_t spawn(char *const *words, const posix_spawn_file_actions_t *files)
{
    pid_t pid;
    bench_must(posix_spawn(&pid, words[0], files, NULL, words, environ) == 0 ? 0 : TR_SYSTEM,
               words[0]);
    return pid;
}

static void await(pid_t pid)
{
    int status;
    bench_must(waitpid(pid, &status, 0) > 0 && status == 0 ? 0 : TR_FAILED, "a process failed");
}

/* `troupe run` on the store of this name; in milliseconds. */
static double start_once(const char *definition, const char *store)
{
    char definition_path[PATH_BYTES];
    char store_path[PATH_BYTES];
    static char run[] = "run";
    static char quiet[] = "-q";
    static char store_option[] = "--store";
    char program_path[2 * PATH_BYTES];
    char *words[] = {program_path, run, definition_path, quiet, store_option, store_path, NULL};
    snprintf(program_path, sizeof program_path, "%s", program);
    snprintf(definition_path, sizeof definition_path, "%.60s/%.100s", folder, definition);
    snprintf(store_path, sizeof store_path, "%.60s/%.100s", folder, store);
    double begin = bench_now_ns();
    await(spawn(words, NULL));
    return (bench_now_ns() - begin) / 1e6;
}

static double bare_ms(void)
{
    static char true_word[] = "/bin/true";
    char *words[] = {true_word, NULL};
    double begin = bench_now_ns();
    await(spawn(words, NULL));
    return (bench_now_ns() - begin) / 1e6;
}

/* New stores, and one store with n executions in it already. */
static void measure_starts(const struct bench_run *run, const char *definition, const char *what)
{
    double values[STARTS_MAX];
    char figure[64];
    char store[32];
    size_t count = 0;
    double begin = bench_now_ns();
    do {
        snprintf(store, sizeof store, "%s-%zu", what, count);
        values[count++] = start_once(definition, store);
    } while (count < STARTS_MAX && (count < 3 || bench_now_ns() - begin < 5e8));
    snprintf(figure, sizeof figure, "%s_%s_new", run->figure, what);
    bench_print(run, figure, bench_median(values, count), "ms");
    for (uint64_t i = 1; i < run->n; i++) {
        (void)start_once(definition, store);
    }
    for (count = 0; count < STARTS_MAX && (count < 3 || bench_now_ns() - begin < 1e9); count++) {
        values[count] = start_once(definition, store);
    }
    snprintf(figure, sizeof figure, "%s_%s_existing", run->figure, what);
    bench_print(run, figure, bench_median(values, count), "ms");
}

static void measure_cold_start(const struct bench_run *run)
{
    double values[STARTS_MAX];
    write_text("echo.yaml", "troupe: 1\n"
                            "tasks: {t: {inputs: {a: int}, outputs: {a: int}, type: echo}}\n"
                            "workflows: {main: {nodes: {m: {task: t, with: {a: 1}}}}}\n");
    write_text("true.yaml", "troupe: 1\n"
                            "tasks: {t: {run: [/bin/true]}}\n"
                            "workflows: {main: {nodes: {m: {task: t}}}}\n");
    measure_starts(run, "echo.yaml", "echo");
    measure_starts(run, "true.yaml", "true");
    for (size_t i = 0; i < STARTS_MAX; i++) {
        values[i] = bare_ms();
    }
    bench_print(run, "bare_true_ms", bench_median(values, STARTS_MAX), "ms");
}

/* ------------------------------------------------------------------------ many processes */

/* The folders and files that a process task has: inputs, checkpoints, work, tmp, outputs. */
static void make_files(uint64_t number)
{
    static const char *const folders[] = {"", "/work", "/tmp", "/checkpoint"};
    char path[PATH_BYTES];
    for (size_t i = 0; i < TR_COUNT_OF(folders); i++) {
        snprintf(path, sizeof path, "%s/loop/%llu%s", folder, (unsigned long long)number,
                 folders[i]);
        bench_must(mkdir(path, 0700) == 0 ? 0 : TR_SYSTEM, path);
    }
    snprintf(path, sizeof path, "loop/%llu/inputs.json", (unsigned long long)number);
    write_text(path, "{\"a\": 17}");
}

static pid_t spawn_true(uint64_t number, bool has_files)
{
    static char true_word[] = "/bin/true";
    char *words[] = {true_word, NULL};
    char path[PATH_BYTES];
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (int fd = 1; has_files && fd <= 2; fd++) {
        snprintf(path, sizeof path, "%s/loop/%llu/%s", folder, (unsigned long long)number,
                 fd == 1 ? "stdout" : "stderr");
        posix_spawn_file_actions_addopen(&files, fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    }
    pid_t pid = spawn(words, &files);
    posix_spawn_file_actions_destroy(&files);
    return pid;
}

/* What the loop does beside starting processes. */
enum loop_kind { LOOP_BARE, LOOP_FILES, LOOP_REMOVING };

/* Removes what make_files and the process have made, by their names. */
static void remove_files(uint64_t number)
{
    static const char *const names[] = {"/inputs.json", "/stdout",     "/stderr", "/work",
                                        "/tmp",         "/checkpoint", ""};
    char path[PATH_BYTES];
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        snprintf(path, sizeof path, "%s/loop/%llu%s", folder, (unsigned long long)number, names[i]);
        bench_must(remove(path) == 0 ? 0 : TR_SYSTEM, path);
    }
}

/* Awaits the end of one of those that run, and gives its place. */
static size_t await_one(const pid_t running[AT_ONCE_MAX], size_t at_once)
{
    int status;
    size_t place = 0;
    pid_t pid = waitpid(-1, &status, 0);
    while (place < at_once && running[place] != pid) {
        place++;
    }
    bench_must(place < at_once && status == 0 ? 0 : TR_FAILED, "a process failed");
    return place;
}

/* The loop, as many at once as there are cores; in seconds. */
static double loop(uint64_t count, enum loop_kind kind)
{
    size_t at_once = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    pid_t running[AT_ONCE_MAX] = {0};
    uint64_t numbers[AT_ONCE_MAX];
    char path[PATH_BYTES];
    at_once = at_once < AT_ONCE_MAX ? at_once : AT_ONCE_MAX;
    snprintf(path, sizeof path, "%s/loop", folder);
    bench_must(mkdir(path, 0700) == 0 ? 0 : TR_SYSTEM, path);
    double begin = bench_now_ns();
    for (uint64_t i = 0; i < count + at_once; i++) {
        size_t place = i;
        if (i >= at_once && i - at_once < count) {
            place = await_one(running, at_once);
            running[place] = 0;
            if (kind == LOOP_REMOVING) {
                remove_files(numbers[place]);
            }
        }
        if (i < count && kind != LOOP_BARE) {
            make_files(i);
        }
        if (i < count) {
            numbers[place] = i;
            running[place] = spawn_true(i, kind != LOOP_BARE);
        }
    }
    double seconds = (bench_now_ns() - begin) / 1e9;
    bench_folder_remove(path);
    return seconds;
}

static void write_map(uint64_t count)
{
    char path[PATH_BYTES];
    write_text("map.yaml", "troupe: 1\n"
                           "tasks: {t: {inputs: {a: int}, run: [/bin/true]}}\n"
                           "workflows: {main: {inputs: {a: [int]},\n"
                           "  nodes: {m: {map: t, with: {a: $a}}}}}\n");
    snprintf(path, sizeof path, "%s/inputs.json", folder);
    FILE *file = fopen(path, "w");
    bench_must(file == NULL ? TR_SYSTEM : 0, path);
    fputs("{\"a\": [0", file);
    for (uint64_t i = 1; i < count; i++) {
        fprintf(file, ",%llu", (unsigned long long)i);
    }
    fputs("]}\n", file);
    bench_must(fclose(file) == 0 ? 0 : TR_SYSTEM, path);
}

static void print_rate(const struct bench_run *run, const char *figure, double seconds)
{
    bench_print(run, figure, (double)run->n / seconds, "1/s");
}

/* The same by tools that people have; each where it is installed. */
static void measure_tools(const struct bench_run *run)
{
    static const char *const tools[][3] = {
        {"xargs", "xargs -n 1 -P $(nproc) /bin/true", "true_xargs_per_second"},
        {"parallel", "parallel -n 1 -j $(nproc) /bin/true", "true_parallel_per_second"},
    };
    char command[COMMAND_BYTES];
    for (size_t i = 0; i < TR_COUNT_OF(tools); i++) {
        snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", tools[i][0]);
        if (system(command) == 0) {
            snprintf(command, sizeof command, "seq %llu | %s >/dev/null",
                     (unsigned long long)run->n, tools[i][1]);
            print_rate(run, tools[i][2], run_command(command));
        }
    }
}

static void measure_processes(const struct bench_run *run)
{
    char command[COMMAND_BYTES];
    write_map(run->n);
    double files = loop(run->n, LOOP_FILES);
    double removing = loop(run->n, LOOP_REMOVING);
    snprintf(command, sizeof command,
             "'%.400s' run %s/map.yaml -q --store %s/map --inputs %s/inputs.json >/dev/null",
             program, folder, folder, folder);
    double ours = run_command(command);
    /* One before, one after: the disk changes its mood. */
    removing = (removing + loop(run->n, LOOP_REMOVING)) / 2;
    files = (files + loop(run->n, LOOP_FILES)) / 2;
    print_rate(run, run->figure, ours);
    print_rate(run, "true_loop_removing_per_second", removing);
    print_rate(run, "true_loop_files_per_second", files);
    print_rate(run, "true_loop_bare_per_second", loop(run->n, LOOP_BARE));
    measure_tools(run);
}

void bench_program_measure(const struct bench_run *run)
{
    if (bench_is_on_server()) {
        return; /* `troupe` makes its stores itself */
    }
    program = bench_troupe();
    bench_folder_make(folder);
    if (run->kind == BENCH_START) {
        measure_cold_start(run);
    } else {
        measure_processes(run);
    }
    bench_folder_remove(folder);
}
