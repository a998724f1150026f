/*
 * Only trying shows what is available: `ulimit -u` counts the processes of a user, cgroups count
 * those of a unit, and neither count can be seen from within. Memory, descriptors and threads are
 * held at the same time, as the library will hold them, and released before it starts. Others may
 * take them in between, but usually this turns an abort inside the library into an error in words.
 *
 * Trying threads takes most of a millisecond. It is left out where no bound can be near: whatever
 * counts threads counts at most all that the machine has, so a bound far above those is far. That
 * is known only where each bound can be seen: in the first user namespace, and where the groups of
 * this process are in sight up to the root.
 *
 * The threads that are tried have small stacks, which the C library makes much faster than whole
 * ones; address space for whole ones is part of the memory.
 */
#include "runtime/link/preflight.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "schemas/codec/error.h"

/* Upper bounds of what is tried. */
#define THREADS_MAX 64
#define DESCRIPTORS_MAX 256

#define SMALL_STACK_BYTES (64U << 10)

/* Threads that others may begin meanwhile. */
#define THREADS_SPARE 1000

#define LINE_BYTES (PATH_MAX + 64)

static int lack(char *words, uint64_t count, const char *what)
{
    snprintf(words, TRI_PREFLIGHT_WORDS_BYTES, "%llu %s", (unsigned long long)count, what);
    return TR_LIMIT;
}

/* ---- What is known without trying. ----------------------------------------------------------- */

/* The beginning of a file, with a closing zero. False: it cannot be read. */
static bool read_file(const char *root, const char *path, char text[LINE_BYTES])
{
    char whole[2 * PATH_MAX];
    (void)snprintf(whole, sizeof whole, "%s%s", root, path);
    int file = open(whole, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, text, LINE_BYTES - 1);
    text[size < 0 ? 0 : size] = '\0';
    if (file >= 0) {
        close(file);
    }
    return size > 0;
}

static bool is_number_above(const char *root, const char *path, uint64_t threads)
{
    char text[LINE_BYTES];
    return read_file(root, path, text) && strtoull(text, NULL, 10) > threads;
}

/* Those of the whole machine: behind the slash of "0.20 0.18 0.12 1/80 11206". */
static bool count_threads(const char *root, uint64_t *threads)
{
    char text[LINE_BYTES];
    const char *slash = read_file(root, "/proc/loadavg", text) ? strchr(text, '/') : NULL;
    if (slash == NULL) {
        return false;
    }
    *threads = strtoull(slash + 1, NULL, 10);
    return true;
}

/* Where every user has its own number: namespaces have bounds that cannot be seen in them. */
static bool is_first_namespace(const char *root)
{
    unsigned long long here, there, count;
    char text[LINE_BYTES];
    return read_file(root, "/proc/self/uid_map", text) &&
           sscanf(text, "%llu %llu %llu", &here, &there, &count) == 3 && here == 0 && there == 0 &&
           count == UINT32_MAX;
}

/* The folder of the group that counts this process's threads; `mount` is the root's. */
static bool find_group(const char *root, char path[PATH_MAX], const char **mount)
{
    char text[LINE_BYTES];
    char *rest = NULL;
    bool is_found = false;
    bool has_lines = read_file(root, "/proc/self/cgroup", text) && strlen(text) < LINE_BYTES - 1;
    char *line = has_lines ? strtok_r(text, "\n", &rest) : NULL;
    for (; line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        const char *own = strstr(line, ":pids:");
        if (own != NULL || strncmp(line, "0::", 3) == 0) {
            *mount = own != NULL ? "/sys/fs/cgroup/pids" : "/sys/fs/cgroup";
            is_found = snprintf(path, PATH_MAX, "%s%s", *mount, own != NULL ? own + 6 : line + 3) <
                       PATH_MAX;
        }
        if (own != NULL) {
            break;
        }
    }
    return is_found;
}

/* A group without a bound of its own has the word `max`, or no file, as the root. */
static bool is_bound_above(const char *root, const char *group, uint64_t threads)
{
    char path[PATH_MAX + 16];
    char text[LINE_BYTES];
    (void)snprintf(path, sizeof path, "%s/pids.max", group);
    return !read_file(root, path, text) || strncmp(text, "max", 3) == 0 ||
           strtoull(text, NULL, 10) > threads;
}

/* Whether a folder is that of the root: a group without the file that all others have. */
static bool is_root(const char *root, const char *mount)
{
    char processes[2 * PATH_MAX];
    char bound[2 * PATH_MAX];
    (void)snprintf(processes, sizeof processes, "%s%s/cgroup.procs", root, mount);
    (void)snprintf(bound, sizeof bound, "%s%s/pids.max", root, mount);
    return access(processes, F_OK) == 0 && access(bound, F_OK) != 0;
}

static bool are_bounds_above(const char *root, uint64_t threads)
{
    char group[PATH_MAX];
    const char *mount;
    if (!find_group(root, group, &mount) || !is_root(root, mount)) {
        return false;
    }
    char *end = group + strlen(group);
    while (end > group + strlen(mount)) {
        *end = '\0';
        if (!is_bound_above(root, group, threads)) {
            return false;
        }
        end = strrchr(group, '/');
    }
    return true;
}

bool tri_preflight_has_threads(const char *root, uint32_t wanted)
{
    struct rlimit processes;
    uint64_t threads;
    if (!is_first_namespace(root) || !count_threads(root, &threads)) {
        return false;
    }
    threads += wanted + THREADS_SPARE;
    return getrlimit(RLIMIT_NPROC, &processes) == 0 && processes.rlim_cur > threads &&
           is_number_above(root, "/proc/sys/kernel/threads-max", threads) &&
           is_number_above(root, "/proc/sys/kernel/pid_max", threads) &&
           are_bounds_above(root, threads);
}

/* ---- What is tried. -------------------------------------------------------------------------- */

/* Runs until the mutex is unlocked. */
static void *wait_at_gate(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/*
 * The threads must exist at the same time to count, so they wait for a mutex that their creator
 * holds.
 */
static int try_threads(uint32_t wanted, pthread_attr_t *attributes, char *words)
{
    pthread_t threads[THREADS_MAX];
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    uint32_t count = 0;
    pthread_mutex_lock(&gate);
    while (count < wanted &&
           pthread_create(&threads[count], attributes, wait_at_gate, &gate) == 0) {
        count++;
    }
    pthread_mutex_unlock(&gate);
    for (uint32_t i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return count == wanted ? 0 : lack(words, wanted, "threads (`ulimit -u`; TasksMax= of a unit)");
}

/* One that is open and is opened again counts as one more. */
static int try_descriptors(const struct tri_preflight_needs *needs, pthread_attr_t *attributes,
                           char *words)
{
    int opened[DESCRIPTORS_MAX];
    uint32_t count = 0;
    int first = open("/", O_PATH | O_CLOEXEC);
    while (count < needs->descriptors && (opened[count] = fcntl(first, F_DUPFD_CLOEXEC, 0)) >= 0) {
        count++;
    }
    int error = 0;
    if (count < needs->descriptors) {
        error = lack(words, needs->descriptors, "open files (`ulimit -n`)");
    } else if (!tri_preflight_has_threads("", needs->threads)) {
        error = try_threads(needs->threads, attributes, words);
    }
    if (first >= 0) {
        close(first);
    }
    while (count > 0) {
        close(opened[--count]);
    }
    return error;
}

/*
 * Address space only (MAP_NORESERVE): no page is touched, so this tests `ulimit -v` at no cost.
 */
static int try_memory(const struct tri_preflight_needs *needs, pthread_attr_t *attributes,
                      char *words)
{
    size_t stack_bytes = 0;
    (void)pthread_attr_getstacksize(attributes, &stack_bytes);
    (void)pthread_attr_setstacksize(attributes, SMALL_STACK_BYTES);
    uint64_t bytes = needs->bytes + needs->threads * (uint64_t)stack_bytes;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return lack(words, bytes >> 20, "MiB of memory (`ulimit -v`)");
    }
    int error = try_descriptors(needs, attributes, words);
    munmap(memory, bytes);
    return error;
}

int tri_preflight_check(struct tri_preflight_needs needs, char *words)
{
    pthread_attr_t attributes;
    words[0] = '\0';
    needs.threads = needs.threads < THREADS_MAX ? needs.threads : THREADS_MAX;
    needs.descriptors = needs.descriptors < DESCRIPTORS_MAX ? needs.descriptors : DESCRIPTORS_MAX;
    if (pthread_attr_init(&attributes) != 0) {
        return TR_MEMORY;
    }
    int error = try_memory(&needs, &attributes, words);
    (void)pthread_attr_destroy(&attributes);
    return error;
}
