/*
 * Opens libraries by their sonames. Whoever finds one unopened takes the lock, so that a call that
 * returns has seen the outcome.
 */
#include "runtime/env/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/memory.h"

enum state {
    UNOPENED,
    OPEN,
    MISSING,
};

static bool find_functions(const struct tri_library *library, void *object)
{
    bool is_whole = object != NULL;
    for (size_t i = 0; is_whole && i < library->count; i++) {
        void *function = dlsym(object, library->names[i]);
        memcpy((char *)library->functions + i * sizeof function, &function, sizeof function);
        is_whole = function != NULL;
    }
    return is_whole;
}

const void *tri_library_open(struct tri_library *library)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (atomic_load_explicit(&library->state, memory_order_acquire) == UNOPENED) {
        (void)pthread_mutex_lock(&lock);
        if (atomic_load_explicit(&library->state, memory_order_relaxed) == UNOPENED) {
            void *object = dlopen(library->name, RTLD_NOW | RTLD_LOCAL);
            int state = find_functions(library, object) ? OPEN : MISSING;
            atomic_store_explicit(&library->state, state, memory_order_release);
        }
        (void)pthread_mutex_unlock(&lock);
    }
    bool is_open = atomic_load_explicit(&library->state, memory_order_relaxed) == OPEN;
    return is_open ? library->functions : NULL;
}

/* ------------------------------------------------------------ without opening it */

/* Whether bytes have a text as a whole, between zeros, as tables of names do. */
static bool has_text(const char *bytes, size_t size, const char *text)
{
    size_t length = strlen(text) + 1;
    const char *at = bytes;
    while (at != NULL) {
        at = memmem(at, size - (size_t)(at - bytes), text, length);
        if (at != NULL && at > bytes && at[-1] == '\0') {
            return true;
        }
        at = at == NULL ? NULL : at + 1;
    }
    return false;
}

/* Whether the file has the names of all functions. */
static bool has_names(const struct tri_library *library, int file)
{
    struct stat status;
    if (fstat(file, &status) != 0 || status.st_size == 0) {
        return false;
    }
    size_t size = (size_t)status.st_size;
    char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    bool is_whole = bytes != MAP_FAILED;
    for (size_t i = 0; is_whole && i < library->count; i++) {
        is_whole = has_text(bytes, size, library->names[i]);
    }
    if (bytes != MAP_FAILED) {
        (void)munmap(bytes, size);
    }
    return is_whole;
}

/* The file that the first of some folders has; -1: none has it. */
static int open_first(const struct tri_library *library, const Dl_serinfo *folders)
{
    int file = -1;
    for (unsigned int i = 0; file < 0 && i < folders->dls_cnt; i++) {
        char path[PATH_MAX];
        int length =
            snprintf(path, sizeof path, "%s/%s", folders->dls_serpath[i].dls_name, library->name);
        if (length > 0 && (size_t)length < sizeof path) {
            file = open(path, O_RDONLY | O_CLOEXEC);
        }
    }
    return file;
}

/* The same of the folders that libraries are looked for in, but for those of the loader's cache. */
static int open_file(const struct tri_library *library)
{
    Dl_serinfo size;
    int file = -1;
    void *program = dlopen(NULL, RTLD_LAZY);
    if (program == NULL || dlinfo(program, RTLD_DI_SERINFOSIZE, &size) != 0) {
        return -1;
    }
    Dl_serinfo *folders = tr_alloc_zero(1, size.dls_size);
    if (folders != NULL) {
        folders->dls_size = size.dls_size;
        folders->dls_cnt = size.dls_cnt;
        if (dlinfo(program, RTLD_DI_SERINFO, folders) == 0) {
            file = open_first(library, folders);
        }
    }
    tr_free(folders);
    return file;
}

/*
 * To open it and close it again would leave behind what can never be closed, such as the half
 * megabyte of libp11-kit, which GnuTLS brings along. So that is for where no folder has it.
 */
bool tri_library_is_there(const struct tri_library *library)
{
    int file = open_file(library);
    if (file >= 0) {
        bool is_whole = has_names(library, file);
        (void)close(file);
        return is_whole;
    }
    void *object = dlopen(library->name, RTLD_LAZY | RTLD_LOCAL);
    bool is_whole = find_functions(library, object);
    if (object != NULL) {
        (void)dlclose(object);
    }
    return is_whole;
}
