/*
 * Loads libpq by its name, once, with dlopen. A missing function fails the whole load, so callers
 * never meet a NULL.
 */
#include "runtime/postgres/postgres_library.h"

#include <dlfcn.h>
#include <pthread.h>

/* The soname, which has been the same since 2006. */
#define LIBRARY "libpq.so.5"

static struct tri_libpq functions;
static bool is_loaded;

static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return;
    }
    is_loaded = true;
#define LOAD(name)                                                  \
    *(void **)(void *)&functions.name = dlsym(library, "PQ" #name); \
    is_loaded = is_loaded && functions.name != NULL;
    TRI_LIBPQ_FUNCTIONS(LOAD)
#undef LOAD
}

const struct tri_libpq *tri_libpq_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return is_loaded ? &functions : NULL;
}
