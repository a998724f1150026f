/*
 * A datagram asks, however many wait: the queue of the socket is bounded by the system, and one
 * that finds it full is not needed.
 *
 * The socket is reached through a descriptor of its folder, since the path of a socket may have 107
 * bytes only.
 */
#include "runtime/journal/store_ask.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address_in(int folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder,
                   TRI_STORE_ASK_NAME);
    return address;
}

static int open_folder(const char *folder)
{
    return folder == NULL ? -1 : open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void tri_store_ask_open(const char *folder, struct tri_store_ask *ask)
{
    *ask = (struct tri_store_ask){.folder = open_folder(folder), .socket = new_socket()};
    struct sockaddr_un address = address_in(ask->folder);
    if (ask->folder >= 0) {
        (void)unlinkat(ask->folder, TRI_STORE_ASK_NAME, 0);
    }
    /* The mode of the socket is that of the file which bind makes of it. */
    if (ask->folder < 0 || ask->socket < 0 || fchmod(ask->socket, S_IRUSR | S_IWUSR) != 0 ||
        bind(ask->socket, (struct sockaddr *)&address, sizeof address) != 0) {
        tri_store_ask_close(ask);
    }
}

void tri_store_ask_take(const struct tri_store_ask *ask)
{
    char byte;
    while (recv(ask->socket, &byte, sizeof byte, 0) >= 0) {
    }
}

void tri_store_ask_close(struct tri_store_ask *ask)
{
    if (ask->socket >= 0) {
        (void)close(ask->socket);
    }
    if (ask->folder >= 0) {
        (void)unlinkat(ask->folder, TRI_STORE_ASK_NAME, 0);
        (void)close(ask->folder);
    }
    *ask = (struct tri_store_ask){.folder = -1, .socket = -1};
}

void tri_store_ask(const char *folder)
{
    int opened = open_folder(folder);
    int asking = new_socket();
    if (opened >= 0 && asking >= 0) {
        struct sockaddr_un address = address_in(opened);
        (void)sendto(asking, "", 0, 0, (struct sockaddr *)&address, sizeof address);
    }
    if (asking >= 0) {
        (void)close(asking);
    }
    if (opened >= 0) {
        (void)close(opened);
    }
}
