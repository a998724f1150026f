/*
 * Libraries that are opened when they are needed. Some bring many others with them, which take
 * longer to load than the rest of a program that needs none of them.
 *
 * Whoever uses one lists its functions in a macro, and makes of that the names and a struct of
 * pointers: runtime/http/http_library.h shows how.
 */
#ifndef TR_RUNTIME_ENV_LIBRARY_H
#define TR_RUNTIME_ENV_LIBRARY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "schemas/codec/base.h"

struct tri_library {
    const char *name;         /* its soname */
    const char *const *names; /* of functions */
    size_t count;
    void *functions; /* a struct of as many pointers to them, in the same order */
    atomic_int state;
};

/*
 * The struct of its functions; opened at the first call and kept until the process ends. Any
 * thread. NULL: it is not installed, or lacks one of them, so callers never meet a NULL.
 */
const void *tri_library_open(struct tri_library *library);

/*
 * Whether it is installed and has all of them, without opening it where that can be seen: for one
 * that is opened later, if ever.
 */
bool tri_library_is_there(const struct tri_library *library);

#endif
