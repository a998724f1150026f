/*
 * A datagram for the service manager.
 */
#include "deploy/common/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void tr_notify(const char *state)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = name == NULL ? 0 : strlen(name);
    if (size < 2 || size >= sizeof address.sun_path || (name[0] != '/' && name[0] != '@')) {
        return;
    }
    memcpy(address.sun_path, name, size);
    if (name[0] == '@') {
        address.sun_path[0] = '\0'; /* one without a file begins with a zero */
    }
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor >= 0) {
        socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
        (void)sendto(descriptor, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
                     (const struct sockaddr *)&address, length);
        close(descriptor);
    }
}
