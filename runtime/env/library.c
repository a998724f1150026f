/*
 * Opens libraries by their sonames. Whoever finds one unopened takes the lock, so that a call that
 * returns has seen the outcome.
 */
#include "runtime/env/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

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

bool tri_library_is_there(const struct tri_library *library)
{
    void *object = dlopen(library->name, RTLD_LAZY | RTLD_LOCAL);
    bool is_whole = find_functions(library, object);
    if (object != NULL) {
        (void)dlclose(object);
    }
    return is_whole;
}
