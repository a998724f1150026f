/*
 * The names of the functions of libpq, which has had its soname since 2006.
 */
#include "runtime/postgres/postgres_library.h"

#include "runtime/env/library.h"

#define NAME(name) "PQ" #name,

const struct tri_libpq *tri_libpq_load(void)
{
    static struct tri_libpq functions;
    static const char *const names[] = {TRI_LIBPQ_FUNCTIONS(NAME)};
    static struct tri_library library = {
        .name = "libpq.so.5", .names = names, .count = TR_COUNT_OF(names), .functions = &functions};
    return tri_library_open(&library);
}
