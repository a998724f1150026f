/*
 * The names of the functions of libcurl, which has had its soname since 2006.
 */
#include "runtime/http/http_library.h"

#include "runtime/env/library.h"

#define NAME(name) "curl_" #name,

const struct tri_curl *tri_curl_load(void)
{
    static struct tri_curl functions;
    static const char *const names[] = {TRI_CURL_FUNCTIONS(NAME)};
    static struct tri_library library = {.name = "libcurl.so.4",
                                         .names = names,
                                         .count = TR_COUNT_OF(names),
                                         .functions = &functions};
    return tri_library_open(&library);
}
