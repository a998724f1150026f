/*
 * Checks of a head, in the order in which they matter: what it is, where it leads, whom it is for.
 *
 * A page of another site can let a browser send requests to this machine, and can give its own name
 * an address of this machine's (DNS rebinding); it cannot choose Origin and Host. So a request with
 * an Origin has to be for the same host, and one in cleartext has to name this machine: by an IP
 * address or as localhost. Behind TLS the certificate has shown the client whom it speaks with.
 */
#include "deploy/door/guard.h"

#include <string.h>
#include <strings.h>

static bool is_token(struct tr_text text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < text.size; i++) {
        char letter = text.data[i];
        bool is_word = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9');
        if (!is_word && (letter == '\0' || strchr(others, letter) == NULL)) {
            return false;
        }
    }
    return text.size > 0;
}

static bool is_value(struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char letter = (unsigned char)text.data[i];
        if ((letter < ' ' && letter != '\t') || letter == 0x7f) {
            return false;
        }
    }
    return true;
}

struct tr_text tri_guard_header(const struct tr_door_request *request, const char *name)
{
    struct tr_text wanted = tr_text_of(name);
    for (size_t i = 0; i < request->header_count; i++) {
        if (tr_text_equal(request->headers[i].name, wanted)) {
            return request->headers[i].value;
        }
    }
    return (struct tr_text){.data = NULL};
}

/* ------------------------------------------------------------------------ paths */

static int digit_of(char letter)
{
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
           : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                            : -1;
}

/* The next character of a path without its escape; -1: it is none. */
static int next_character(struct tr_text path, size_t *at)
{
    unsigned char letter = (unsigned char)path.data[(*at)++];
    if (letter != '%') {
        return letter > ' ' && letter < 0x7f ? letter : -1;
    }
    if (path.size - *at < 2) {
        return -1;
    }
    int high = digit_of(path.data[*at]);
    int low = digit_of(path.data[*at + 1]);
    *at += 2;
    return high < 0 || low < 0 || (high == 0 && low == 0) ? -1 : high * 16 + low;
}

/* A segment of one or two dots leads elsewhere, however the dots are written. */
bool tri_guard_path(struct tr_text path)
{
    size_t at = 0;
    size_t letters = 0; /* of the segment in hand */
    bool is_dots = true;
    if (path.size == 0 || path.data[0] != '/') {
        return false;
    }
    while (at < path.size) {
        bool is_slash = path.data[at] == '/';
        int letter = next_character(path, &at);
        if (letter < 0) {
            return false;
        }
        if (is_slash && is_dots && letters > 0 && letters <= 2) {
            return false;
        }
        is_dots = is_slash || (is_dots && letter == '.');
        letters = is_slash ? 0 : letters + 1;
    }
    return !(is_dots && letters > 0 && letters <= 2);
}

/* ------------------------------------------------------------------------- hosts */

/* The host of HOST[:PORT]. */
static struct tr_text host_of(struct tr_text authority)
{
    const char *end = authority.size > 0 && authority.data[0] == '['
                          ? memchr(authority.data, ']', authority.size)
                          : memchr(authority.data, ':', authority.size);
    if (end != NULL && *end == ']') {
        end++;
    }
    return (struct tr_text){.data = authority.data,
                            .size = end == NULL ? authority.size : (size_t)(end - authority.data)};
}

static bool ends_with(struct tr_text text, const char *end)
{
    size_t size = strlen(end);
    return text.size >= size && strncasecmp(text.data + text.size - size, end, size) == 0;
}

/* An address of IPv4 has no letters, so no name that somebody owns is taken for one. */
static bool is_this_machine(struct tr_text host)
{
    static const char digits[] = "0123456789.";
    size_t count = 0;
    while (count < host.size && host.data[count] != '\0' &&
           strchr(digits, host.data[count]) != NULL) {
        count++;
    }
    bool is_v6 = host.size > 2 && host.data[0] == '[' && host.data[host.size - 1] == ']';
    bool is_local = (host.size == strlen("localhost") && ends_with(host, "localhost")) ||
                    ends_with(host, ".localhost");
    return (count == host.size && count > 0) || is_v6 || is_local;
}

/* Whether a page of this origin, SCHEME://HOST[:PORT], is one of the host that is asked. */
static bool is_same_origin(struct tr_text origin, struct tr_text authority)
{
    static const char mark[] = "://";
    const char *found = memmem(origin.data, origin.size, mark, strlen(mark));
    if (found == NULL || authority.size == 0) {
        return false; /* "null", too */
    }
    const char *begin = found + strlen(mark);
    size_t size = origin.size - (size_t)(begin - origin.data);
    return size == authority.size && strncasecmp(begin, authority.data, size) == 0;
}

/* ----------------------------------------------------------------------- lengths */

bool tri_guard_length(const struct tr_door_request *request, bool *has_length, uint64_t *length)
{
    bool is_chunked = false;
    *has_length = false;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct tr_door_header *header = &request->headers[i];
        if (tr_text_equal(header->name, tr_text_of("transfer-encoding"))) {
            if (is_chunked || header->value.size != strlen("chunked") ||
                strncasecmp(header->value.data, "chunked", header->value.size) != 0) {
                return false;
            }
            is_chunked = true;
        }
        if (!tr_text_equal(header->name, tr_text_of("content-length"))) {
            continue;
        }
        uint64_t number = 0;
        for (size_t j = 0; j < header->value.size; j++) {
            int digit = header->value.data[j] - '0';
            if (digit < 0 || digit > 9 || number > (UINT64_MAX - 9) / 10) {
                return false;
            }
            number = number * 10 + (uint64_t)digit;
        }
        if (*has_length || header->value.size == 0) {
            return false;
        }
        *has_length = true;
        *length = number;
    }
    return !(is_chunked && *has_length);
}

/* --------------------------------------------------------------------- all of it */

static bool are_headers(const struct tr_door_request *request)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (!is_token(request->headers[i].name) || !is_value(request->headers[i].value)) {
            return false;
        }
    }
    return true;
}

static size_t count_of(const struct tr_door_request *request, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        count += tr_text_equal(request->headers[i].name, tr_text_of(name));
    }
    return count;
}

struct tri_refusal tri_guard_request(const struct tr_door_request *request, bool takes_any_host)
{
    bool has_length;
    uint64_t length;
    struct tr_text origin = tri_guard_header(request, "origin");
    struct tr_text site = tri_guard_header(request, "sec-fetch-site");
    if (!is_token(request->method) || !are_headers(request)) {
        return (struct tri_refusal){400, "the method or a header has characters that it must not "
                                         "have"};
    }
    if (!tri_guard_length(request, &has_length, &length)) {
        return (struct tri_refusal){400, "where the body ends is said twice, or by something else "
                                         "than one Content-Length or chunks"};
    }
    if (!tri_guard_path(request->path) || !is_value(request->query)) {
        return (struct tri_refusal){400, "the path has a segment . or .., a %00, an incomplete "
                                         "escape, or a character that has to be escaped"};
    }
    if (count_of(request, "host") > 1 || !is_value(request->authority)) {
        return (struct tri_refusal){400, "there is more than one Host"};
    }
    if (!takes_any_host && request->authority.size > 0 &&
        !is_this_machine(host_of(request->authority))) {
        return (struct tri_refusal){421, "this host is not served here; name it localhost, or by "
                                         "its IP address"};
    }
    if (origin.data != NULL && !is_same_origin(origin, request->authority)) {
        return (struct tri_refusal){403, "a page of another site may not ask this"};
    }
    if (site.data != NULL && tr_text_equal(site, tr_text_of("cross-site"))) {
        return (struct tri_refusal){403, "a page of another site may not ask this"};
    }
    return (struct tri_refusal){.status = 0};
}
