/*
 * Ending what a store's keeper runs: its lease is over at once. How many processes are left is said
 * to each client that comes, so it is asked by new ones until there are none.
 */
#include "runtime/keeper_client/keeper_end.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/keeper_client/keeper_client.h"
#include "runtime/keeper_client/keeper_folder.h"

#define AGAIN_MS 20

static bool has_keeper(const char *store_folder)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/" TRI_KEEPER_SOCKET_NAME, store_folder);
    return size > 0 && (size_t)size < sizeof path && access(path, F_OK) == 0;
}

/* Waits for the keeper's hello. */
static int wait_for_hello(struct tri_keeper_client *client, uint64_t end_ms,
                          struct tr_keeper_hello *hello)
{
    struct tri_keeper_event event;
    tri_keeper_client_connect(client);
    while (tri_monotonic_ms() < end_ms) {
        struct pollfd descriptor = {.fd = tri_keeper_client_fd(client), .events = POLLIN};
        (void)!poll(&descriptor, 1, AGAIN_MS);
        if (tri_keeper_client_next(client, &event) != 0) {
            continue;
        }
        if (event.kind == TRI_KEEPER_UP) {
            *hello = event.hello;
            return 0;
        }
        return TR_BUSY;
    }
    return TR_BUSY;
}

/* Says that the lease is over, and lets that be read. */
static int end_lease(struct tri_keeper_client *client)
{
    const struct tr_keeper_lease lease = {.lease_ms = 1};
    int error = tri_keeper_client_send(client, &tr_keeper_lease_schema, &lease);
    tri_keeper_client_flush(client);
    return error;
}

static int ask(const char *store_folder, const char *const *command, bool ends, uint64_t end_ms,
               uint32_t *running)
{
    const struct tri_keeper_client_options options = {
        .store_folder = store_folder, .command = command, .is_passive = true};
    struct tri_keeper_client *client = NULL;
    int error = tri_keeper_client_new(&options, &client);
    if (error != 0) {
        return error;
    }
    struct tr_keeper_hello hello = {.running = 0};
    error = wait_for_hello(client, end_ms, &hello);
    *running = hello.running;
    if (error == 0 && ends && hello.running > 0) {
        error = hello.protocol < TR_KEEPER_PROTOCOL_LEASE ? TR_VERSION : end_lease(client);
    }
    tri_keeper_client_free(client);
    return error;
}

int tri_keeper_end_all(const char *store_folder, const char *const *command, bool ends,
                       uint32_t timeout_ms, uint32_t *running)
{
    uint64_t end_ms = tri_monotonic_ms() + timeout_ms;
    uint32_t left = 0;
    if (!ends && !has_keeper(store_folder)) {
        *running = 0;
        return 0;
    }
    int error = ask(store_folder, command, ends, end_ms, &left);
    while (ends && (error == TR_BUSY || (error == 0 && left > 0)) && tri_monotonic_ms() < end_ms) {
        (void)poll(NULL, 0, AGAIN_MS);
        error = ask(store_folder, command, ends, end_ms, &left);
    }
    if (error == 0) {
        *running = left;
    }
    return error == TR_VERSION ? TR_BUSY : error;
}
