/*
 * Looking for a place, level by level.
 *
 * A level that has a bound of memory of its own is not left, since what runs would escape it;
 * neither is one that was delegated, or is a service's: the service manager ends a service's
 * processes by its group. A service's group is not emptied either: as long as it hands a controller
 * on, the manager could not start the service again in it.
 */
#include "runtime/cgroup/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/cgroup/cgroup.h"

/* Rounds in which processes are moved: one that was being forked is found in the next. */
#define MOVE_ROUNDS_MAX 8

#define PROCESSES_BYTES_MAX 65536

#define UNIFIED "boot with systemd.unified_cgroup_hierarchy=1"
#define START_DELEGATED                                                                            \
    "start the engine by `systemd-run --user --scope -p Delegate=yes troupe ...`, or as root, or " \
    "as the service of deploy/package"

static void say(struct tri_cgroup_place *place, const char *format, ...) TR_PRINTF(2, 3);

static void say(struct tri_cgroup_place *place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(place->why, sizeof place->why, format, arguments);
    va_end(arguments);
}

/* ---- One level. ----------------------------------------------------------------------------- */

static int open_level(const struct tri_cgroup_view *view, const char *path)
{
    return view->is_faked ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : tri_cgroup_open(path);
}

/* The root alone has no type, and may have processes whatever it hands on. */
static bool is_root(int group)
{
    return faccessat(group, "cgroup.type", F_OK, 0) != 0;
}

static bool has_processes(int group)
{
    char text[16];
    tri_cgroup_read(group, "cgroup.procs", text, sizeof text);
    return text[0] != '\0';
}

/* Whether a service manager has given the group to whoever runs in it. */
static bool is_delegated(int group)
{
    static const char *const names[] = {"user.delegate", "trusted.delegate"};
    char value[2];
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        if (fgetxattr(group, names[i], value, sizeof value) == 1 && value[0] == '1') {
            return true;
        }
    }
    return false;
}

/*
 * Whether the group was given to this user, who is not root. Service managers before systemd 251
 * mark what they delegate in a way that only root can read.
 */
static bool is_users(int group)
{
    struct stat status;
    return geteuid() != 0 && fstat(group, &status) == 0 && status.st_uid == geteuid();
}

static bool is_service(const char *path)
{
    static const char ending[] = ".service";
    size_t size = strlen(path);
    return size >= sizeof ending - 1 && strcmp(path + size - (sizeof ending - 1), ending) == 0;
}

/* Whether a bound of the group would be escaped from by leaving it. */
static bool is_bounded(int group)
{
    static const char *const names[] = {"memory.max", "memory.high"};
    char text[32];
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        tri_cgroup_read(group, names[i], text, sizeof text);
        if (text[0] != '\0' && strncmp(text, "max", 3) != 0) {
            return true;
        }
    }
    return false;
}

/* Whether groups that are made in this one can be bounded; the controller is handed on for that. */
static bool can_hold(int group)
{
    if (faccessat(group, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        return false;
    }
    if (tri_cgroup_has_word(group, "cgroup.subtree_control", "memory")) {
        return true;
    }
    return tri_cgroup_has_word(group, "cgroup.controllers", "memory") &&
           (is_root(group) || !has_processes(group)) &&
           tri_cgroup_write(group, "cgroup.subtree_control", "+memory");
}

/* ---- Upwards. ------------------------------------------------------------------------------- */

static bool may_leave(int group, const char *path, const struct tri_cgroup_view *view)
{
    return strcmp(path, view->mount) != 0 && !is_service(path) && !is_delegated(group) &&
           !is_bounded(group);
}

/* From the own group upwards; true: `place->path` is one that holds. */
static bool find_above(const struct tri_cgroup_view *view, struct tri_cgroup_place *place)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s", place->origin);
    for (;;) {
        int group = open_level(view, path);
        bool is_held = group >= 0 && can_hold(group);
        bool is_left = group >= 0 && !is_held && may_leave(group, path, view);
        if (group >= 0) {
            close(group);
        }
        if (is_held) {
            memcpy(place->path, path, sizeof path);
            return true;
        }
        char *slash = strrchr(path, '/');
        if (!is_left || slash == NULL || slash == path) {
            return false;
        }
        *slash = '\0';
    }
}

/* ---- Emptying the own one. ------------------------------------------------------------------ */

/* Visits the processes of a group; false as soon as one was refused. */
static bool each_process(int group, bool (*visit)(void *self, const char *pid), void *self)
{
    char text[PROCESSES_BYTES_MAX];
    char *rest = text;
    const char *pid;
    tri_cgroup_read(group, "cgroup.procs", text, sizeof text);
    while ((pid = strsep(&rest, "\n")) != NULL) {
        if (pid[0] != '\0' && !visit(self, pid)) {
            return false;
        }
    }
    return true;
}

static bool is_ours(void *self, const char *pid)
{
    const struct tri_cgroup_view *view = self;
    long number = strtol(pid, NULL, 10);
    return number == view->own_pid || number == view->engine_pid;
}

/* One that has ended meanwhile is no failure: the next round finds whether any is left. */
static bool move_process(void *self, const char *pid)
{
    (void)tri_cgroup_write(*(const int *)self, "cgroup.procs", pid);
    return true;
}

/* Moves all processes of the own group to one below, and has the controller handed on. */
static bool empty_out(int group, struct tri_cgroup_place *place)
{
    bool is_made = mkdirat(group, TRI_CGROUP_ENGINE, 0755) == 0 || errno == EEXIST;
    int below = is_made ? openat(group, TRI_CGROUP_ENGINE, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (below < 0) {
        return false;
    }
    size_t size = strlen(place->origin);
    (void)snprintf(place->origin + size, sizeof place->origin - size, "/" TRI_CGROUP_ENGINE);
    for (int round = 0; round < MOVE_ROUNDS_MAX && has_processes(group); round++) {
        (void)each_process(group, move_process, &below);
    }
    close(below);
    return can_hold(group);
}

/* Whether the own group may be emptied. */
static bool may_empty(int group, const struct tri_cgroup_view *view, const char *path)
{
    struct tri_cgroup_view copy = *view;
    return !is_service(path) &&
           (is_delegated(group) || is_users(group) || each_process(group, is_ours, &copy));
}

/* Why nothing can be bounded below the own group, which is open. */
static void explain(int group, const char *path, struct tri_cgroup_place *place)
{
    if (faccessat(group, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        say(place, "no control group may be made in %.200s (%s); " START_DELEGATED, path,
            strerror(errno));
    } else if (is_service(path)) {
        say(place,
            "the engine itself is in the control group of its service, %.200s; add Delegate=yes "
            "and DelegateSubgroup=engine to the unit (systemd 254 or newer)",
            path);
    } else if (!tri_cgroup_has_word(group, "cgroup.controllers", "memory")) {
        say(place, "the control group %.200s has no memory controller; " START_DELEGATED, path);
    } else {
        say(place, "other processes are in the control group %.200s; " START_DELEGATED, path);
    }
}

static void look(const struct tri_cgroup_view *view, struct tri_cgroup_place *place)
{
    int group = open_level(view, place->origin);
    if (group < 0) {
        place->path[0] = '\0';
        say(place, "the control group %.200s cannot be opened; " UNIFIED, place->origin);
        return;
    }
    place->has_memory = find_above(view, place);
    if (!place->has_memory && may_empty(group, view, place->origin)) {
        place->has_memory = empty_out(group, place);
    }
    if (!place->has_memory) {
        explain(group, place->path, place);
    }
    close(group);
}

/* ---- All of it. ----------------------------------------------------------------------------- */

/* Whether the hierarchy has the controller: v1 may have it, or the kernel lack it. */
static bool has_controller(const struct tri_cgroup_view *view)
{
    int root = open_level(view, view->mount);
    bool is_there = root >= 0 && tri_cgroup_has_word(root, "cgroup.controllers", "memory");
    if (root >= 0) {
        close(root);
    }
    return is_there;
}

void tri_cgroup_place_find(const struct tri_cgroup_view *view, struct tri_cgroup_place *place)
{
    *place = (struct tri_cgroup_place){.has_memory = false};
    if (view->mount == NULL) {
        say(place, "this machine has no control groups of version 2; " UNIFIED);
        return;
    }
    int size = snprintf(place->origin, sizeof place->origin, "%s%s", view->mount,
                        strcmp(view->own, "/") == 0 ? "" : view->own);
    if (size < 0 || (size_t)size >= sizeof place->origin - sizeof TRI_CGROUP_ENGINE) {
        say(place, "the name of its control group is too long");
        return;
    }
    memcpy(place->path, place->origin, sizeof place->path);
    if (!has_controller(view)) {
        say(place,
            "control groups of version 2 have no memory controller here, since version 1 has "
            "it or the kernel lacks it; " UNIFIED);
        return;
    }
    look(view, place);
}
