/*
 * The names of the functions of three libraries: nghttp2 has had its soname since 2016,
 * libmicrohttpd and OpenSSL have those of Debian 12.
 */
#include "deploy/door/door_library.h"

#include <stdio.h>

#include "deploy/door/door_limits.h"
#include "runtime/env/library.h"

#define NGHTTP2_NAME(name) "nghttp2_" #name,
#define MICROHTTPD_NAME(name) "MHD_" #name,
#define OPENSSL_NAME(name) #name,

#define MICROHTTPD_PACKAGE "libmicrohttpd12"

static void say_missing(const struct tri_library *library, const char *package, char *words)
{
    (void)snprintf(words, TR_DOOR_WORDS_BYTES,
                   "%s is not there, or too old; install the package %s", library->name, package);
}

static const void *load(struct tri_library *library, const char *package, char *words)
{
    const void *functions = tri_library_open(library);
    if (functions == NULL) {
        say_missing(library, package, words);
    }
    return functions;
}

const struct tri_nghttp2 *tri_nghttp2_load(char *words)
{
    static struct tri_nghttp2 functions;
    static const char *const names[] = {TRI_NGHTTP2_FUNCTIONS(NGHTTP2_NAME)};
    static struct tri_library library = {.name = "libnghttp2.so.14",
                                         .names = names,
                                         .count = TR_COUNT_OF(names),
                                         .functions = &functions};
    return load(&library, "libnghttp2-14", words);
}

static struct tri_library *microhttpd(void)
{
    static struct tri_microhttpd functions;
    static const char *const names[] = {TRI_MICROHTTPD_FUNCTIONS(MICROHTTPD_NAME)};
    static struct tri_library library = {.name = "libmicrohttpd.so.12",
                                         .names = names,
                                         .count = TR_COUNT_OF(names),
                                         .functions = &functions};
    return &library;
}

const struct tri_microhttpd *tri_microhttpd_load(char *words)
{
    return load(microhttpd(), MICROHTTPD_PACKAGE, words);
}

bool tri_microhttpd_is_there(char *words)
{
    bool is_there = tri_library_is_there(microhttpd());
    if (!is_there) {
        say_missing(microhttpd(), MICROHTTPD_PACKAGE, words);
    }
    return is_there;
}

const struct tri_openssl *tri_openssl_load(char *words)
{
    static struct tri_openssl functions;
    static const char *const names[] = {TRI_OPENSSL_FUNCTIONS(OPENSSL_NAME)};
    static struct tri_library library = {.name = "libssl.so.3",
                                         .names = names,
                                         .count = TR_COUNT_OF(names),
                                         .functions = &functions};
    return load(&library, "libssl3", words);
}
