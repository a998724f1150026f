/*
 * The names of the functions of libarchive, which has had its soname since version 3.
 */
#include "deploy/flyte/archive_library.h"

#include "runtime/env/library.h"

#define NAME(name) "archive_" #name,

const struct tr_libarchive *tr_libarchive_load(void)
{
    static struct tr_libarchive functions;
    static const char *const names[] = {TR_LIBARCHIVE_FUNCTIONS(NAME)};
    static struct tri_library library = {.name = "libarchive.so.13",
                                         .names = names,
                                         .count = TR_COUNT_OF(names),
                                         .functions = &functions};
    return tri_library_open(&library);
}
