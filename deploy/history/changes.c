/*
 * Changes by inotify: commits reach SQLite's log when they are in the tables, or the file `commits`
 * where the database is on a server (runtime/journal/store_folder.h); a task writes to its own log.
 * The log of commits before the tables says nothing to readers.
 */
#include "deploy/history/changes.h"

#include <poll.h>
#include <string.h>
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

static bool is_of_commit_log(const struct inotify_event *event)
{
    static const char prefix[] = "troupe.db-log";
    return event->len >= sizeof prefix && strncmp(event->name, prefix, sizeof prefix - 1) == 0;
}

/* Takes all events; whether one of them may have changed what is read. */
static bool take(int descriptor)
{
    _Alignas(struct inotify_event) char events[4096];
    bool is_change = false;
    ssize_t size;
    while ((size = read(descriptor, events, sizeof events)) > 0) {
        const struct inotify_event *event = NULL;
        for (ssize_t at = 0; at < size; at += (ssize_t)(sizeof *event + event->len)) {
            event = (const struct inotify_event *)(const void *)(events + at);
            is_change = is_change || !is_of_commit_log(event);
        }
    }
    return is_change;
}

void tr_changes_take(int descriptor)
{
    (void)take(descriptor);
}

void tr_changes_rest(int descriptor, uint32_t timeout_ms)
{
    struct pollfd one = {.fd = descriptor, .events = POLLIN};
    int wait_ms = timeout_ms > INT32_MAX ? -1 : (int)timeout_ms;
    while (poll(&one, 1, wait_ms) > 0 && !take(descriptor)) {
    }
}
