/*
 * Changes by inotify: a commit writes to the store's log, or to the file `commits` where the
 * database is on a server (runtime/journal/store_folder.h), a task to its own log.
 */
#include "deploy/history/changes.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "schemas/codec/error.h"

int tr_changes_open(const char *folder, int *out)
{
    int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (descriptor < 0) {
        return TR_SYSTEM;
    }
    if (inotify_add_watch(descriptor, folder, IN_MODIFY | IN_CREATE | IN_ONLYDIR) < 0) {
        close(descriptor);
        return TR_SYSTEM;
    }
    *out = descriptor;
    return 0;
}

void tr_changes_add(int descriptor, const char *path)
{
    (void)inotify_add_watch(descriptor, path, IN_MODIFY);
}

void tr_changes_take(int descriptor)
{
    _Alignas(struct inotify_event) char events[4096];
    while (read(descriptor, events, sizeof events) > 0) {
    }
}

void tr_changes_rest(int descriptor, uint32_t timeout_ms)
{
    struct pollfd one = {.fd = descriptor, .events = POLLIN};
    int wait_ms = timeout_ms > INT32_MAX ? -1 : (int)timeout_ms;
    if (poll(&one, 1, wait_ms) > 0) {
        tr_changes_take(descriptor);
    }
}
