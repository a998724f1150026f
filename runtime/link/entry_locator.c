/*
 * Locators of entries, and the files of their keys.
 *
 * ZeroMQ says of an address where nobody listens only that it tries again, so each is tried by a
 * connection first.
 */
#include "runtime/link/entry_locator.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_MS 2000

#define KEY_TEXT_SIZE (TRI_ENTRY_KEY_TEXT_BYTES - 1)

bool tri_entry_is_locator(const char *text)
{
    return strncmp(text, TRI_ENTRY_BEGINNING, strlen(TRI_ENTRY_BEGINNING)) == 0;
}

/* ---- Keys. ----------------------------------------------------------------------------------- */

void tri_entry_key_print(const uint8_t *key, char text[TRI_ENTRY_KEY_TEXT_BYTES])
{
    (void)sodium_bin2hex(text, TRI_ENTRY_KEY_TEXT_BYTES, key, TR_WIRE_KEY_BYTES);
}

bool tri_entry_key_of(const char *text, size_t size, uint8_t *key)
{
    size_t read = 0;
    return size == KEY_TEXT_SIZE &&
           sodium_hex2bin(key, TR_WIRE_KEY_BYTES, text, size, NULL, &read, NULL) == 0 &&
           read == TR_WIRE_KEY_BYTES;
}

static int fail(int error, const char *path, const char *words, char *explain)
{
    (void)snprintf(explain, TRI_ENTRY_EXPLAIN_BYTES, "%.300s: %s", path, words);
    return error;
}

static int read_open(int file, const char *path, struct tr_wire_keys *keys, char *explain)
{
    char text[KEY_TEXT_SIZE + 2];
    struct stat status;
    if (fstat(file, &status) != 0) {
        return fail(TR_SYSTEM, path, strerror(errno), explain);
    }
    if ((status.st_mode & 0077) != 0) {
        return fail(TR_INVALID, path, "others may use this key; chmod 600 it", explain);
    }
    ssize_t size = read(file, text, sizeof text);
    bool has_end = size == (ssize_t)KEY_TEXT_SIZE + 1 && text[KEY_TEXT_SIZE] == '\n';
    bool is_key = (has_end || size == (ssize_t)KEY_TEXT_SIZE) &&
                  tri_entry_key_of(text, KEY_TEXT_SIZE, keys->secret_key);
    sodium_memzero(text, sizeof text);
    if (!is_key) {
        return fail(TR_INVALID, path, "this is no key; remove it, and a new one is made", explain);
    }
    tr_wire_keys_derive(keys);
    return 0;
}

int tri_entry_key_read(const char *path, struct tr_wire_keys *keys, char *explain)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return fail(errno == ENOENT ? TR_NOT_FOUND : TR_SYSTEM, path, strerror(errno), explain);
    }
    int error = read_open(file, path, keys, explain);
    close(file);
    return error;
}

/* As a whole or not at all: whoever comes meanwhile reads what was made first. */
static int make(const char *path, const uint8_t *fresh, char *explain)
{
    char text[TRI_ENTRY_KEY_TEXT_BYTES];
    char made[PATH_MAX];
    int size = snprintf(made, sizeof made, "%s.XXXXXX", path);
    int file = size > 0 && (size_t)size < sizeof made ? mkostemp(made, O_CLOEXEC) : -1;
    if (file < 0) {
        return fail(TR_SYSTEM, path, strerror(errno), explain);
    }
    tri_entry_key_print(fresh, text);
    text[KEY_TEXT_SIZE] = '\n';
    bool is_written = write(file, text, sizeof text) == (ssize_t)sizeof text && fsync(file) == 0;
    sodium_memzero(text, sizeof text);
    int error = 0;
    if (!is_written || (link(made, path) != 0 && errno != EEXIST)) {
        error = fail(TR_SYSTEM, path, strerror(errno), explain);
    }
    close(file);
    (void)unlink(made);
    return error;
}

int tri_entry_key_ensure(const char *path, const uint8_t *fresh, struct tr_wire_keys *keys,
                         bool *is_new, char *explain)
{
    int error = tri_entry_key_read(path, keys, explain);
    *is_new = error == TR_NOT_FOUND;
    if (error != TR_NOT_FOUND) {
        return error;
    }
    error = make(path, fresh, explain);
    return error != 0 ? error : tri_entry_key_read(path, keys, explain);
}

/* ---- Reading. -------------------------------------------------------------------------------- */

static int refuse(const char *what, char *explain)
{
    (void)snprintf(explain, TRI_ENTRY_EXPLAIN_BYTES,
                   "%s; write tcp://KEY@HOST:PORT,HOST:PORT, where KEY is the one that `troupe "
                   "serve` says when it begins",
                   what);
    return TR_INVALID;
}

/* HOST:PORT. */
static bool is_address(const char *text, size_t size)
{
    size_t digits = 0;
    while (digits < size && text[size - 1 - digits] >= '0' && text[size - 1 - digits] <= '9') {
        digits++;
    }
    return digits > 0 && digits <= 5 && size > digits + 1 && text[size - 1 - digits] == ':' &&
           memchr(text, '/', size) == NULL && memchr(text, '@', size) == NULL;
}

static int read_addresses(const char *text, size_t size, struct tri_entry_locator *locator,
                          char *explain)
{
    for (size_t at = 0; at < size;) {
        const char *comma = memchr(text + at, ',', size - at);
        size_t part = comma != NULL ? (size_t)(comma - text) - at : size - at;
        const char *address = text + at;
        at += part + 1;
        if (part > strlen(TRI_ENTRY_BEGINNING) && tri_entry_is_locator(address)) {
            address += strlen(TRI_ENTRY_BEGINNING); /* before each of them is fine, too */
            part -= strlen(TRI_ENTRY_BEGINNING);
        }
        if (locator->count == TRI_ENTRY_ADDRESSES_MAX || !is_address(address, part) ||
            part + strlen(TRI_ENTRY_BEGINNING) >= TRI_ENTRY_ADDRESS_BYTES) {
            return refuse("one of its addresses is none", explain);
        }
        (void)snprintf(locator->addresses[locator->count++], TRI_ENTRY_ADDRESS_BYTES,
                       TRI_ENTRY_BEGINNING "%.*s", (int)part, address);
    }
    return locator->count > 0 ? 0 : refuse("it has no address", explain);
}

int tri_entry_locator_read(const char *text, struct tri_entry_locator *locator, char *explain)
{
    static const char key_word[] = "?key=";
    memset(locator, 0, sizeof *locator);
    if (!tri_entry_is_locator(text)) {
        return refuse("an entry begins with tcp://", explain);
    }
    text += strlen(TRI_ENTRY_BEGINNING);
    const char *at = strchr(text, '@');
    const char *query = strstr(text, key_word);
    if (at == NULL || !tri_entry_key_of(text, (size_t)(at - text), locator->server_key)) {
        return refuse("it names no key of the hosts", explain);
    }
    size_t size = query != NULL && query > at ? (size_t)(query - at) - 1 : strlen(at + 1);
    if (query != NULL && query > at) {
        (void)snprintf(locator->key_file, sizeof locator->key_file, "%s",
                       query + sizeof key_word - 1);
    }
    return read_addresses(at + 1, size, locator, explain);
}

/* ---- Trying. --------------------------------------------------------------------------------- */

/* Whether a connection can be made; it is not used. */
static bool answers(const struct addrinfo *address)
{
    int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int failed = descriptor < 0 ? -1 : 0;
    socklen_t size = sizeof failed;
    if (descriptor < 0) {
        return false;
    }
    if (connect(descriptor, address->ai_addr, address->ai_addrlen) != 0) {
        struct pollfd item = {.fd = descriptor, .events = POLLOUT};
        failed = errno == EINPROGRESS && poll(&item, 1, PROBE_MS) == 1 &&
                         getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failed, &size) == 0
                     ? failed
                     : -1;
    }
    close(descriptor);
    return failed == 0;
}

static bool probe(const char *address)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    char host[TRI_ENTRY_ADDRESS_BYTES];
    struct addrinfo *found = NULL;
    (void)snprintf(host, sizeof host, "%s", address + strlen(TRI_ENTRY_BEGINNING));
    char *port = strrchr(host, ':');
    *port++ = '\0';
    size_t size = strlen(host);
    bool is_bracketed = size > 2 && host[0] == '[' && host[size - 1] == ']';
    if (is_bracketed) {
        host[size - 1] = '\0';
    }
    bool is_there = false;
    if (getaddrinfo(host + is_bracketed, port, &hints, &found) == 0) {
        for (const struct addrinfo *each = found; !is_there && each != NULL; each = each->ai_next) {
            is_there = answers(each);
        }
        freeaddrinfo(found);
    }
    return is_there;
}

int tri_entry_probe(const struct tri_entry_locator *locator, size_t from, size_t *found)
{
    for (size_t i = from; i < locator->count; i++) {
        if (probe(locator->addresses[i])) {
            *found = i;
            return 0;
        }
    }
    return TR_NO_CONNECTION;
}
