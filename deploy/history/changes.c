/*
 * Changes by inotify: a commit writes to the store's log, or to the file `commits` where the
 * database is on a server (runtime/journal/store_folder.h), a task to its own log.
 *
 * Of hosts over the network nothing is written here: a timer stands for it, and who watches looks
 * then.
 */
#include "deploy/history/changes.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "runtime/link/entry_locator.h"
#include "schemas/codec/error.h"

#define LOOK_MS 500

static int open_timer(int *out)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
    const struct itimerspec times = {.it_interval = look, .it_value = look};
    int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (descriptor < 0) {
        return TR_SYSTEM;
    }
    if (timerfd_settime(descriptor, 0, &times, NULL) != 0) {
        close(descriptor);
        return TR_SYSTEM;
    }
    *out = descriptor;
    return 0;
}

int tr_changes_open(const char *folder, int *out)
{
    if (tri_entry_is_locator(folder)) {
        return open_timer(out);
    }
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
