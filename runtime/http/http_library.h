/*
 * libcurl, loaded when the first http thread starts. It and its thirty dependencies take longer to
 * load than the rest of a program that runs a small workflow without http.
 *
 * Only for the files that call libcurl. Each function that they use is a row of the list.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_LIBRARY_H
#define TR_RUNTIME_HTTP_HTTP_LIBRARY_H

#include <curl/curl.h>

#include "schemas/codec/base.h"

#define TRI_CURL_FUNCTIONS(F) \
    F(easy_cleanup)           \
    F(easy_getinfo)           \
    F(easy_init)              \
    F(easy_pause)             \
    F(easy_setopt)            \
    F(easy_strerror)          \
    F(free)                   \
    F(global_cleanup)         \
    F(global_init)            \
    F(multi_add_handle)       \
    F(multi_cleanup)          \
    F(multi_info_read)        \
    F(multi_init)             \
    F(multi_perform)          \
    F(multi_poll)             \
    F(multi_remove_handle)    \
    F(multi_wakeup)           \
    F(slist_append)           \
    F(slist_free_all)         \
    F(url)                    \
    F(url_cleanup)            \
    F(url_get)                \
    F(url_set)

/* curl_NAME of the library, as member NAME. */
struct tri_curl {
#define TRI_CURL_MEMBER(name) __typeof__ (&curl_##name)(name);
    TRI_CURL_FUNCTIONS(TRI_CURL_MEMBER)
#undef TRI_CURL_MEMBER
};

/*
 * The library's functions; loaded at the first call and kept until the process ends. Any thread.
 * NULL: not installed, or too old.
 */
const struct tri_curl *tri_curl_load(void);

#endif
