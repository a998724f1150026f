/*
 * Lock, socket and place of a store's folder, as a keeper and its clients need them.
 *
 * The lock is a flock, which the kernel releases with the last descriptor, however its holder ends.
 * So a dead keeper may leave its socket's name behind, and the holder of the lock may remove it.
 */
#include "runtime/keeper_client/keeper_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/env/boot.h"
#include "runtime/keeper_client/keeper_limits.h"
#include "schemas/codec/error.h"

int tri_keeper_folder_open(const char *path, int *folder)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return TR_SYSTEM;
    }
    *folder = fd;
    return 0;
}

int tri_keeper_folder_lock(int folder, int *lock)
{
    int fd = openat(folder, TRI_KEEPER_LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return TR_SYSTEM;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int number = errno;
        close(fd);
        errno = number;
        return number == EWOULDBLOCK ? TR_EXISTS : TR_SYSTEM;
    }
    *lock = fd;
    return 0;
}

static struct sockaddr_un address_of(int folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder,
             TRI_KEEPER_SOCKET_NAME);
    return address;
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int close_failed(int fd)
{
    int number = errno;
    close(fd);
    errno = number;
    return TR_SYSTEM;
}

int tri_keeper_folder_listen(int folder, int *socket)
{
    struct sockaddr_un address = address_of(folder);
    int fd = new_socket();
    if (fd < 0) {
        return TR_SYSTEM;
    }
    if (unlinkat(folder, TRI_KEEPER_SOCKET_NAME, 0) != 0 && errno != ENOENT) {
        return close_failed(fd);
    }
    /* The name is created with its final mode, so that no other user can connect in between. */
    mode_t before = umask(0177);
    int result = bind(fd, (const struct sockaddr *)&address, sizeof address);
    umask(before);
    if (result != 0 || listen(fd, TR_KEEPER_CLIENTS_MAX) != 0) {
        return close_failed(fd);
    }
    *socket = fd;
    return 0;
}

void tri_keeper_folder_unlink(int folder)
{
    (void)unlinkat(folder, TRI_KEEPER_SOCKET_NAME, 0);
}

int tri_keeper_folder_connect(int folder, int *socket)
{
    struct sockaddr_un address = address_of(folder);
    int fd = new_socket();
    if (fd < 0) {
        return TR_SYSTEM;
    }
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0) {
        *socket = fd;
        return 0;
    }
    (void)close_failed(fd);
    /*
     * EAGAIN: the listener's backlog is full. The caller then tries to start a keeper, which
     * reports "exists".
     */
    bool is_absent = errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN;
    return is_absent ? TR_NO_CONNECTION : TR_SYSTEM;
}

bool tri_keeper_folder_is_gone(int folder)
{
    struct stat status;
    return fstat(folder, &status) == 0 && status.st_nlink == 0;
}

int tri_keeper_folder_place(int folder, char *buffer)
{
    struct stat status;
    char boot[TRI_BOOT_ID_BYTES];
    char namespace[64] = "";
    ssize_t size = readlink("/proc/self/ns/pid", namespace, sizeof namespace - 1);
    if (!tri_boot_id(boot) || size <= 0 || fstat(folder, &status) != 0) {
        return TR_SYSTEM;
    }
    snprintf(buffer, TR_KEEPER_PLACE_BYTES_MAX, "boot %s %s folder %llu:%llu", boot, namespace,
             (unsigned long long)status.st_dev, (unsigned long long)status.st_ino);
    return 0;
}

/* The front of a place: "boot ID". */
static struct tr_text boot_of(struct tr_text place)
{
    unsigned blanks = 0;
    size_t size = 0;
    while (size < place.size && (blanks += place.data[size] == ' ' ? 1 : 0) < 2) {
        size++;
    }
    return (struct tr_text){.data = place.data, .size = size};
}

bool tri_keeper_folder_same_boot(struct tr_text one, struct tr_text other)
{
    return tr_text_equal(boot_of(one), boot_of(other));
}
