/*
 * The kernel makes a new UUID at each boot; a file in /proc holds it as a line of text.
 */
#include "runtime/env/boot.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool tri_boot_id(char id[TRI_BOOT_ID_BYTES])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, id, TRI_BOOT_ID_BYTES - 1);
    if (fd >= 0) {
        close(fd);
    }
    if (size <= 0) {
        return false;
    }
    id[size] = '\0';
    id[strcspn(id, "\n")] = '\0';
    return true;
}
