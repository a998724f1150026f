/*
 * PORT, HOST:PORT, [HOST]:PORT and unix:PATH. Names are not resolved, but for localhost: what a
 * name means changes, and an address that other machines reach must not come about by chance.
 */
#include "deploy/door/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/codec/error.h"

#define UNIX_PREFIX "unix:"
#define PORT_MAX 65535
#define OWNER_ONLY 0077

static int refuse(char *words, const char *text, const char *why)
{
    (void)snprintf(words, TR_DOOR_WORDS_BYTES, "'%.*s' %s", TR_DOOR_ADDRESS_BYTES_MAX, text, why);
    return TR_INVALID;
}

static bool read_port(const char *text, uint16_t *port)
{
    size_t digits = strspn(text, "0123456789");
    unsigned long number = strtoul(text, NULL, 10);
    *port = (uint16_t)number;
    return digits > 0 && digits <= 5 && text[digits] == '\0' && number <= PORT_MAX;
}

static void put_v4(struct tri_door_address *address, struct in_addr host, uint16_t port)
{
    struct sockaddr_in *socket = (struct sockaddr_in *)&address->socket;
    *socket =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = host};
    address->size = sizeof *socket;
    address->is_loopback = ntohl(host.s_addr) >> 24 == IN_LOOPBACKNET;
}

static void put_v6(struct tri_door_address *address, const struct in6_addr *host, uint16_t port)
{
    struct sockaddr_in6 *socket = (struct sockaddr_in6 *)&address->socket;
    *socket = (struct sockaddr_in6){
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = *host};
    address->size = sizeof *socket;
    address->is_loopback = IN6_IS_ADDR_LOOPBACK(host);
}

/* A host is an IP address or localhost. */
static bool put_host(struct tri_door_address *address, const char *host, uint16_t port)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &v4) == 1) {
        put_v4(address, v4, port);
        return true;
    }
    if (inet_pton(AF_INET6, host, &v6) == 1) {
        put_v6(address, &v6, port);
        return true;
    }
    return false;
}

static int read_unix(const char *text, struct tri_door_address *address, char *words)
{
    struct sockaddr_un *socket = (struct sockaddr_un *)&address->socket;
    const char *path = text + strlen(UNIX_PREFIX);
    if (path[0] == '\0' || strlen(path) >= sizeof socket->sun_path) {
        return refuse(words, text, "has no path, or one of more than 107 bytes");
    }
    socket->sun_family = AF_UNIX;
    memcpy(socket->sun_path, path, strlen(path) + 1);
    address->size = sizeof *socket;
    address->is_unix = true;
    address->is_loopback = true;
    return 0;
}

int tri_door_address_read(const char *text, bool has_tls, struct tri_door_address *address,
                          char *words)
{
    static const char form[] = "is no address; write PORT, HOST:PORT or [HOST]:PORT with an IP "
                               "address or localhost, or unix:PATH";
    char host[INET6_ADDRSTRLEN] = "127.0.0.1";
    uint16_t port;
    *address = (struct tri_door_address){.size = 0};
    if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0) {
        return read_unix(text, address, words);
    }
    const char *colon = strrchr(text, ':');
    if (colon != NULL) {
        bool is_bracketed = text[0] == '[' && colon - text > 2 && colon[-1] == ']';
        size_t begin = is_bracketed ? 1 : 0;
        size_t size = (size_t)(colon - text) - 2 * begin;
        /* Without brackets the last part of an address of IPv6 would be taken for a port. */
        bool is_one = size < sizeof host &&
                      is_bracketed == (memchr(text, ':', (size_t)(colon - text)) != NULL);
        if (!is_one) {
            return refuse(words, text, form);
        }
        memcpy(host, text + begin, size);
        host[size] = '\0';
    }
    if (!read_port(colon == NULL ? text : colon + 1, &port) || !put_host(address, host, port)) {
        return refuse(words, text, form);
    }
    if (!address->is_loopback && !has_tls) {
        return refuse(words, text,
                      "can be reached from other machines: give a certificate and its key with "
                      "--tls CERT,KEY, or listen at 127.0.0.1");
    }
    return 0;
}

int tr_door_address_check(const char *address, bool has_tls, char *words)
{
    struct tri_door_address read;
    return tri_door_address_read(address, has_tls, &read, words);
}

/* ------------------------------------------------------------------- listening */

/* Whether a socket file is one that nobody listens at. */
static bool is_left_over(const struct tri_door_address *address)
{
    struct stat status;
    const struct sockaddr_un *name = (const struct sockaddr_un *)&address->socket;
    if (lstat(name->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        return false;
    }
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_refused = probe >= 0 &&
                      connect(probe, (const struct sockaddr *)name, address->size) != 0 &&
                      errno == ECONNREFUSED;
    if (probe >= 0) {
        (void)close(probe);
    }
    return is_refused;
}

/* The mode of a socket file is that of its creation: nobody can come in between. */
static int bind_unix(int listener, const struct tri_door_address *address)
{
    const struct sockaddr_un *name = (const struct sockaddr_un *)&address->socket;
    if (is_left_over(address)) {
        (void)unlink(name->sun_path);
    }
    mode_t before = umask(OWNER_ONLY);
    int failed = bind(listener, (const struct sockaddr *)name, address->size);
    int reason = errno;
    (void)umask(before);
    errno = reason;
    return failed;
}

int tri_door_address_listen(const struct tri_door_address *address, int *listener, char *words)
{
    int family = address->socket.ss_family;
    int on = 1;
    int made = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int failed = made < 0 ? -1 : 0;
    if (failed == 0 && !address->is_unix) {
        (void)setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    if (failed == 0 && family == AF_INET6) {
        (void)setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (failed == 0) {
        failed = address->is_unix
                     ? bind_unix(made, address)
                     : bind(made, (const struct sockaddr *)&address->socket, address->size);
    }
    if (failed == 0) {
        failed = listen(made, TR_DOOR_CONNECTIONS_WAITING);
    }
    if (failed != 0) {
        (void)snprintf(words, TR_DOOR_WORDS_BYTES, "%s", strerror(errno));
        if (made >= 0) {
            (void)close(made);
        }
        return TR_SYSTEM;
    }
    *listener = made;
    return 0;
}

void tri_door_address_print(int listener, char text[TR_DOOR_ADDRESS_BYTES_MAX])
{
    struct sockaddr_storage name = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof name;
    char host[INET6_ADDRSTRLEN] = "";
    (void)getsockname(listener, (struct sockaddr *)&name, &size);
    if (name.ss_family == AF_UNIX) {
        (void)snprintf(text, TR_DOOR_ADDRESS_BYTES_MAX, UNIX_PREFIX "%s",
                       ((const struct sockaddr_un *)&name)->sun_path);
    } else if (name.ss_family == AF_INET6) {
        const struct sockaddr_in6 *socket = (const struct sockaddr_in6 *)&name;
        (void)inet_ntop(AF_INET6, &socket->sin6_addr, host, sizeof host);
        (void)snprintf(text, TR_DOOR_ADDRESS_BYTES_MAX, "[%s]:%u", host,
                       (unsigned)ntohs(socket->sin6_port));
    } else {
        const struct sockaddr_in *socket = (const struct sockaddr_in *)&name;
        (void)inet_ntop(AF_INET, &socket->sin_addr, host, sizeof host);
        (void)snprintf(text, TR_DOOR_ADDRESS_BYTES_MAX, "%s:%u", host,
                       (unsigned)ntohs(socket->sin_port));
    }
}
