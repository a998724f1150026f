/*
 * The proxy; see the header. One thread waits for all sockets; what is written is small, so it may
 * block in that.
 */
#include "tests/unit/runtime/postgres/proxy.h"

#include "tests/support/test.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_NAME ".s.PGSQL.5432"
#define PAIRS_MAX 8
#define NEVER (-1)

/* The two sockets of a connection, by the way on which bytes arrive; 0: unused. */
struct pair {
    int from[PROXY_WAYS];
};

struct proxy {
    char folder[64];
    char server_folder[64];
    int listener;
    int end[2]; /* a pipe that is closed when the proxy ends */
    pthread_t thread;
    _Atomic long left[PROXY_WAYS]; /* bytes until a cut, or NEVER */
    struct pair pairs[PAIRS_MAX];
};

static struct sockaddr_un address_in(const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int size = snprintf(address.sun_path, sizeof address.sun_path, "%s/" SOCKET_NAME, folder);
    assert_true(size > 0 && (size_t)size < sizeof address.sun_path);
    return address;
}

static void close_pair(struct pair *pair)
{
    for (int way = 0; way < PROXY_WAYS; way++) {
        if (pair->from[way] > 0) {
            close(pair->from[way]);
        }
        pair->from[way] = 0;
    }
}

static void cut_all(struct proxy *proxy)
{
    for (size_t i = 0; i < PAIRS_MAX; i++) {
        close_pair(&proxy->pairs[i]);
    }
}

static void take_connection(struct proxy *proxy)
{
    int store = accept(proxy->listener, NULL, NULL);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = address_in(proxy->server_folder);
    bool is_well = store > 0 && connect(server, (struct sockaddr *)&address, sizeof address) == 0;
    for (size_t i = 0; is_well && i < PAIRS_MAX; i++) {
        struct pair *pair = &proxy->pairs[i];
        if (pair->from[PROXY_TO_SERVER] == 0) {
            pair->from[PROXY_TO_SERVER] = store;
            pair->from[PROXY_TO_STORE] = server;
            return;
        }
    }
    close(store); /* no server at present */
    close(server);
}

/* Passes on what has come; returns whether it was time to cut. */
static bool pass(struct proxy *proxy, struct pair *pair, int way)
{
    char bytes[4096];
    ssize_t size = read(pair->from[way], bytes, sizeof bytes);
    long left = atomic_load(&proxy->left[way]);
    bool is_cut = size > 0 && left != NEVER && size >= left;
    ssize_t passed = is_cut ? left : size;
    if (size <= 0 || send(pair->from[1 - way], bytes, (size_t)passed, MSG_NOSIGNAL) != passed) {
        close_pair(pair);
        return false;
    }
    if (left != NEVER) {
        atomic_store(&proxy->left[way], is_cut ? NEVER : left - size);
    }
    return is_cut;
}

static size_t list_sockets(const struct proxy *proxy, struct pollfd *polled)
{
    polled[0] = (struct pollfd){.fd = proxy->end[0], .events = POLLIN};
    polled[1] = (struct pollfd){.fd = proxy->listener, .events = POLLIN};
    for (size_t i = 0; i < PAIRS_MAX; i++) {
        for (size_t way = 0; way < PROXY_WAYS; way++) {
            int file = proxy->pairs[i].from[way];
            polled[2 + 2 * i + way] = (struct pollfd){.fd = file > 0 ? file : -1, .events = POLLIN};
        }
    }
    return 2 + 2 * (size_t)PAIRS_MAX;
}

static void *run(void *self)
{
    struct proxy *proxy = self;
    struct pollfd polled[2 + 2 * PAIRS_MAX];
    for (;;) {
        size_t count = list_sockets(proxy, polled);
        if (poll(polled, count, -1) < 0 || polled[0].revents != 0) {
            break;
        }
        for (size_t i = 2; i < count; i++) {
            struct pair *pair = &proxy->pairs[(i - 2) / 2];
            bool is_open = pair->from[i % 2] > 0 && pair->from[i % 2] == polled[i].fd;
            if (is_open && polled[i].revents != 0 && pass(proxy, pair, (int)(i % 2))) {
                cut_all(proxy);
            }
        }
        if (polled[1].revents != 0) {
            take_connection(proxy);
        }
    }
    cut_all(proxy);
    return NULL;
}

struct proxy *proxy_new(const char *server_folder)
{
    struct proxy *proxy = calloc(1, sizeof *proxy);
    assert_non_null(proxy);
    (void)snprintf(proxy->folder, sizeof proxy->folder, "/tmp/troupe_proxy_XXXXXX");
    (void)snprintf(proxy->server_folder, sizeof proxy->server_folder, "%s", server_folder);
    assert_non_null(mkdtemp(proxy->folder));
    atomic_store(&proxy->left[PROXY_TO_SERVER], NEVER);
    atomic_store(&proxy->left[PROXY_TO_STORE], NEVER);
    struct sockaddr_un address = address_in(proxy->folder);
    proxy->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(proxy->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(proxy->listener, PAIRS_MAX), 0);
    assert_int_equal(pipe(proxy->end), 0);
    assert_int_equal(pthread_create(&proxy->thread, NULL, run, proxy), 0);
    return proxy;
}

void proxy_free(struct proxy *proxy)
{
    struct sockaddr_un address = address_in(proxy->folder);
    close(proxy->end[1]);
    assert_int_equal(pthread_join(proxy->thread, NULL), 0);
    close(proxy->end[0]);
    close(proxy->listener);
    unlink(address.sun_path);
    rmdir(proxy->folder);
    free(proxy);
}

const char *proxy_folder(const struct proxy *proxy)
{
    return proxy->folder;
}

void proxy_cut_after(struct proxy *proxy, enum proxy_way way, long bytes)
{
    atomic_store(&proxy->left[way], bytes < 0 ? NEVER : bytes);
}
