/*
 * Making, entering and ending a cgroup (v2).
 *
 * The steps of enter are mkdir, write the record, go in. The record comes before: a keeper that is
 * killed in between leaves an empty cgroup with a record, which the next one removes. The other
 * order could leave processes in a cgroup without a record. The record is not synced, since a
 * cgroup does not survive a restart of the machine.
 *
 * A process that moves into a cgroup waits for a grace period of the kernel, some 10 ms, in which
 * nothing can be started. One that is born there does not. So the keeper goes on as a child of its
 * own that is: it has no threads yet, its locks belong to open files, and nobody knows its pid.
 *
 * No failure is an error. Without permission to make a cgroup, which is usual for a plain user, the
 * marks in environments (keeper_orphans.c) identify leftovers, and memory is not bounded.
 */
#include "runtime/keeper/keeper_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/cgroup/cgroup.h"

#define FILE_NAME "keeper.cgroup"

/* Prefix of the name; the store and the keeper's pid follow. */
#define NAME "troupe-keeper-%016" PRIx64 "-"

/* The group in it in which the keeper itself is, where attempts have groups of their own. */
#define OWN "keeper"

/* How long to wait for killed processes; after that an empty cgroup may be left behind. */
#define WAIT_MS 2000

/* ---- Its record in the store. --------------------------------------------------------------- */

/*
 * The path in the record; false unless its last part is a name that a keeper of this store makes.
 * The check keeps a copied or forged record from naming another cgroup, whose members would all be
 * killed.
 */
static bool read_record(int folder, uint64_t store, char path[PATH_MAX])
{
    char name[64];
    int file = openat(folder, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t size = file < 0 ? -1 : read(file, path, PATH_MAX - 1);
    if (file >= 0) {
        close(file);
    }
    path[size < 0 ? 0 : size] = '\0';
    path[strcspn(path, "\n")] = '\0';
    (void)snprintf(name, sizeof name, NAME, store);
    const char *slash = strrchr(path, '/');
    return path[0] == '/' && slash != NULL && strncmp(slash + 1, name, strlen(name)) == 0;
}

static bool write_record(int folder, const char *path)
{
    int file =
        openat(folder, FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    ssize_t size = (ssize_t)strlen(path);
    bool is_written = file >= 0 && write(file, path, (size_t)size) == size;
    if (file >= 0) {
        close(file);
    }
    return is_written;
}

/* Removes the cgroup if it has no members, and then its record. */
static void forget(int folder, const char *path)
{
    if (tri_cgroup_remove(AT_FDCWD, path)) {
        (void)unlinkat(folder, FILE_NAME, 0);
    }
}

/* ---- Using it. ------------------------------------------------------------------------------ */

static bool is_populated(int events)
{
    char text[256] = "";
    ssize_t size = pread(events, text, sizeof text - 1, 0);
    return size > 0 && strstr(text, "populated 1") != NULL;
}

/*
 * Waits until "populated 0". The kernel signals a change of cgroup.events as POLLPRI; the state is
 * read again after each, and the wait ends without a change in time.
 */
static void await_empty(int cgroup)
{
    int events = openat(cgroup, "cgroup.events", O_RDONLY | O_CLOEXEC);
    struct pollfd change = {.fd = events, .events = POLLPRI};
    while (events >= 0 && is_populated(events) && poll(&change, 1, WAIT_MS) > 0) {
    }
    if (events >= 0) {
        close(events);
    }
}

void tri_keeper_cgroup_kill_remains(int folder, uint64_t store)
{
    char path[PATH_MAX];
    if (!read_record(folder, store, path)) {
        return;
    }
    int cgroup = tri_cgroup_open(path);
    /* Where it cannot be killed (before Linux 5.14) the record stays while something runs there. */
    if (cgroup >= 0 && tri_cgroup_kill(cgroup)) {
        await_empty(cgroup);
    }
    if (cgroup >= 0) {
        close(cgroup);
    }
    forget(folder, path);
}

static bool move_to(int group)
{
    /* "0" stands for the process that writes. */
    return tri_cgroup_write(group, "cgroup.procs", "0");
}

/*
 * Goes on as a new process in the group. The C library knows nothing of the child that the system
 * call makes, and believes it has its parent's number: so that one only forks. Before Linux 5.7,
 * and where it is forbidden, the process moves.
 */
static bool enter_group(int group)
{
    struct clone_args birth = {
        .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned)group};
    long child = syscall(SYS_clone3, &birth, sizeof birth);
    if (child < 0) {
        return move_to(group);
    }
    if (child > 0 || fork() > 0) {
        _exit(0);
    }
    return true;
}

/*
 * Goes into a group in the keeper's own, and has the memory controller handed on. The kernel takes
 * these two in this order alone: a group that hands one on has no process of its own.
 */
static bool divide(int cgroup)
{
    bool is_made = mkdirat(cgroup, OWN, 0755) == 0 || errno == EEXIST;
    int own = is_made ? openat(cgroup, OWN, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool is_divided = own >= 0 && tri_cgroup_write(cgroup, "cgroup.subtree_control", "+memory") &&
                      enter_group(own);
    int number = errno;
    if (own >= 0) {
        close(own);
    }
    if (is_made && !is_divided) {
        (void)tri_cgroup_write(cgroup, "cgroup.subtree_control", "-memory");
        (void)unlinkat(cgroup, OWN, AT_REMOVEDIR);
    }
    errno = number;
    return is_divided;
}

/* Children are born in the group of their parent, so this comes before the first launch. */
static bool move_in(struct tri_keeper_cgroup *own, const struct tri_cgroup_place *place,
                    const char *path, int cgroup)
{
    if (place->has_memory && divide(cgroup)) {
        own->group = cgroup;
        return true;
    }
    if (place->has_memory) {
        (void)snprintf(own->why, sizeof own->why, "the control group %.200s cannot be divided: %s",
                       path, strerror(errno));
    }
    return enter_group(cgroup);
}

/* The whole of enter, once it is known where. */
static void make_and_enter(struct tri_keeper_cgroup *own, const struct tri_cgroup_place *place,
                           int folder, const char path[PATH_MAX])
{
    if (mkdir(path, 0700) != 0) {
        const char *words = strerror(errno);
        if (place->has_memory) {
            (void)snprintf(own->why, sizeof own->why, "the control group %.200s cannot be made: %s",
                           path, words);
        }
        return;
    }
    int cgroup = tri_cgroup_open(path);
    bool is_usable = cgroup >= 0 && faccessat(cgroup, "cgroup.kill", W_OK, 0) == 0;
    if (!is_usable) {
        (void)snprintf(own->why, sizeof own->why,
                       "the kernel cannot kill a control group; it takes Linux 5.14 or newer");
    }
    is_usable = is_usable && write_record(folder, path) && move_in(own, place, path, cgroup);
    if (own->group < 0 && cgroup >= 0) {
        close(cgroup);
    }
    if (!is_usable) {
        forget(folder, path);
        return;
    }
    memcpy(own->path, path, PATH_MAX);
}

void tri_keeper_cgroup_enter(struct tri_keeper_cgroup *own, int folder, uint64_t store,
                             pid_t engine)
{
    char mount[PATH_MAX];
    char group[PATH_MAX];
    char path[PATH_MAX];
    struct tri_cgroup_place place;
    bool has_groups = tri_cgroup_mount(mount, sizeof mount) && tri_cgroup_own(group, sizeof group);
    struct tri_cgroup_view view = {.mount = has_groups ? mount : NULL,
                                   .own = group,
                                   .own_pid = getpid(),
                                   .engine_pid = engine};
    tri_cgroup_place_find(&view, &place);
    memcpy(own->why, place.why, sizeof own->why);
    memcpy(own->origin, place.origin, sizeof own->origin);
    int size = snprintf(path, sizeof path, "%s/" NAME "%d", place.path, store, (int)view.own_pid);
    if (place.path[0] != '\0' && size > 0 && (size_t)size < sizeof path) {
        make_and_enter(own, &place, folder, path);
    }
    if (own->group < 0 && own->why[0] == '\0') {
        (void)snprintf(own->why, sizeof own->why, "the control group %.200s cannot be entered",
                       path);
    }
}

void tri_keeper_cgroup_leave(struct tri_keeper_cgroup *own, int folder)
{
    if (own->group >= 0) {
        close(own->group);
        own->group = -1;
    }
    if (own->path[0] == '\0') {
        return;
    }
    /* Out of the cgroup first: rmdir fails while the keeper itself is in it. */
    int before = tri_cgroup_open(own->origin);
    if (before >= 0) {
        (void)move_to(before);
        close(before);
    }
    forget(folder, own->path);
}
