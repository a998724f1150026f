/*
 * Only trying shows what is available: `ulimit -u` counts the processes of a user, cgroups count
 * those of a unit, and neither can be computed from within. Memory, descriptors and threads are
 * held at the same time, as the library will hold them, and released before it starts. Others may
 * take them in between, but usually this turns an abort inside the library into an error in words.
 *
 * The threads that are tried have small stacks, which the C library makes much faster than whole
 * ones; address space for whole ones is part of the memory.
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

#define SMALL_STACK_BYTES (64U << 10)

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

static int try_descriptors(const struct tri_preflight_needs *needs, pthread_attr_t *attributes,
                           char *words)
{
    int opened[DESCRIPTORS_MAX];
    uint32_t count = 0;
    while (count < needs->descriptors && (opened[count] = eventfd(0, EFD_CLOEXEC)) >= 0) {
        count++;
    }
    int error = count == needs->descriptors
                    ? try_threads(needs->threads, attributes, words)
                    : lack(words, needs->descriptors, "open files (`ulimit -n`)");
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
