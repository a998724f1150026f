/*
 * Only trying shows what is available: `ulimit -u` counts the processes of a user, cgroups count
 * those of a unit, and neither can be computed from within. Memory, descriptors and threads are
 * held at the same time, as the library will hold them, and released before it starts. Others may
 * take them in between, but usually this turns an abort inside the library into an error in words.
 */
#include "runtime/link/preflight.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "schemas/codec/error.h"

/* Upper bounds of what is tried. */
#define THREADS_MAX 64
#define DESCRIPTORS_MAX 256

static int lack(char *words, uint64_t count, const char *what)
{
    snprintf(words, TRI_PREFLIGHT_WORDS_BYTES, "%llu %s", (unsigned long long)count, what);
    return TR_LIMIT;
}

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
static int try_threads(uint32_t wanted, char *words)
{
    pthread_t threads[THREADS_MAX];
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    uint32_t count = 0;
    wanted = wanted < THREADS_MAX ? wanted : THREADS_MAX;
    pthread_mutex_lock(&gate);
    while (count < wanted && pthread_create(&threads[count], NULL, wait_at_gate, &gate) == 0) {
        count++;
    }
    pthread_mutex_unlock(&gate);
    for (uint32_t i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return count == wanted ? 0
                           : lack(words, wanted,
                                  "threads (`ulimit -u`, and `ulimit -v` for their stacks; "
                                  "TasksMax= of a unit)");
}

static int try_descriptors(struct tri_preflight_needs needs, char *words)
{
    int opened[DESCRIPTORS_MAX];
    uint32_t wanted = needs.descriptors < DESCRIPTORS_MAX ? needs.descriptors : DESCRIPTORS_MAX;
    uint32_t count = 0;
    while (count < wanted && (opened[count] = eventfd(0, EFD_CLOEXEC)) >= 0) {
        count++;
    }
    int error = count == wanted ? try_threads(needs.threads, words)
                                : lack(words, wanted, "open files (`ulimit -n`)");
    while (count > 0) {
        close(opened[--count]);
    }
    return error;
}

int tri_preflight_check(struct tri_preflight_needs needs, char *words)
{
    words[0] = '\0';
    /*
     * Address space only (MAP_NORESERVE): no page is touched, so this tests `ulimit -v` at no cost.
     */
    void *memory = mmap(NULL, needs.bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return lack(words, needs.bytes >> 20, "MiB of memory (`ulimit -v`)");
    }
    int error = try_descriptors(needs, words);
    munmap(memory, needs.bytes);
    return error;
}
