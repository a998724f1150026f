/*
 * The thread that syncs the folders of attempts, so that a slow disk holds up no start and no stop.
 *
 * The thread and the keeper share two lists of jobs. Each is a stack to which one side pushes and
 * from which the other takes everything at once, so no lock is needed. A job belongs to the thread
 * from give until it is in `finished`; the child that holds it is not freed in between.
 *
 * Files are synced before their folder, and the parent folders up to the store's last. So after the
 * sync of a folder its names lead to contents that are on the disk. A batch of more than
 * TR_KEEPER_SYNC_ALONE_MAX folders is one syncfs, which also writes other changes to that file
 * system; hence a few folders are walked file by file.
 */
#include "runtime/keeper/keeper_sync.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/keeper_client/keeper_limits.h"
#include "schemas/codec/error.h"

/* ---- The lists. ----------------------------------------------------------------------------- */

/*
 * Release here and acquire in take_all: the taker of a job sees all writes to it. Taking everything
 * at once avoids the ABA problem of popping one.
 */
static void push(_Atomic(struct tri_sync_job *) *list, struct tri_sync_job *job)
{
    job->next = atomic_load_explicit(list, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(list, &job->next, job, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

/* Takes the whole list, oldest first. */
static struct tri_sync_job *take_all(_Atomic(struct tri_sync_job *) *list)
{
    struct tri_sync_job *latest = atomic_exchange_explicit(list, NULL, memory_order_acquire);
    struct tri_sync_job *earliest = NULL;
    while (latest != NULL) {
        struct tri_sync_job *job = latest;
        latest = job->next;
        job->next = earliest;
        earliest = job;
    }
    return earliest;
}

static void ring(int descriptor)
{
    (void)!eventfd_write(descriptor, 1);
}

/* ---- One folder. ---------------------------------------------------------------------------- */

/* One walk of a folder; beyond a number of files syncfs is used. */
struct walk {
    unsigned files;
    bool is_too_much; /* or an entry could not be opened: use syncfs */
    int number;
};

static void failed(struct walk *walk)
{
    walk->number = walk->number != 0 ? walk->number : errno;
}

static void sync_folder(struct walk *walk, int fd, unsigned depth);

/*
 * Opens an entry and syncs it, with all below it. A removed entry needs no sync. Links, pipes and
 * empty files are only names, which the sync of their folder covers. O_NONBLOCK: a pipe that
 * replaced a file after fstatat would block the open.
 */
static void sync_entry(struct walk *walk, int folder, const char *name, unsigned depth)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        walk->is_too_much = walk->is_too_much || errno != ENOENT;
        return;
    }
    bool is_file = S_ISREG(status.st_mode) && status.st_size > 0;
    if (!is_file && !S_ISDIR(status.st_mode)) {
        return; /* the folder's sync covers its name */
    }
    if (++walk->files > TR_KEEPER_SYNC_FILES_MAX || depth > TR_KEEPER_SYNC_DEPTH_MAX) {
        walk->is_too_much = true;
        return;
    }
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        walk->is_too_much = walk->is_too_much || errno != ENOENT;
        return;
    }
    if (S_ISDIR(status.st_mode)) {
        sync_folder(walk, fd, depth + 1);
    } else if (fdatasync(fd) != 0) {
        failed(walk);
    }
    close(fd);
}

/*
 * Depth first, each folder after its files. It is opened again, since closedir closes its
 * descriptor.
 */
static void sync_folder(struct walk *walk, int fd, unsigned depth)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (folder == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        walk->is_too_much = true;
        return;
    }
    const struct dirent *entry;
    while (!walk->is_too_much && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            sync_entry(walk, fd, entry->d_name, depth);
        }
    }
    closedir(folder);
    if (fsync(fd) != 0) {
        failed(walk);
    }
}

/* Syncs the parent folders up to the store's; they may be as new as the attempt. */
static void sync_above(struct walk *walk, int fd, int store)
{
    struct stat end;
    struct stat status;
    if (fstat(store, &end) != 0) {
        failed(walk);
        return;
    }
    int above = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; above >= 0 && i < TR_KEEPER_SYNC_DEPTH_MAX; i++) {
        if (fsync(above) != 0 || fstat(above, &status) != 0) {
            failed(walk);
            break;
        }
        if (status.st_ino == end.st_ino && status.st_dev == end.st_dev) {
            break;
        }
        int next = openat(above, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(above);
        above = next;
    }
    if (above >= 0) {
        close(above);
    } else {
        walk->is_too_much = true;
    }
}

/* ---- Whether there is anything. ------------------------------------------------------------- */

/* `made` is a list of zero-terminated names with one more zero at the end. */
static bool was_made(const char *made, const char *name)
{
    for (; made != NULL && *made != '\0'; made += strlen(made) + 1) {
        if (strcmp(made, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_content(int parent, const char *name, const char *made, unsigned depth);

/* Whether an entry is a non-empty file, a link, or a folder that holds such. */
static bool is_content(int folder, const struct dirent64 *entry, unsigned depth)
{
    struct stat status = {.st_mode = (mode_t)DTTOIF(entry->d_type)};
    bool is_known = entry->d_type == DT_DIR || entry->d_type == DT_LNK;
    if (!is_known && fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return true;
    }
    return S_ISLNK(status.st_mode) || (S_ISREG(status.st_mode) && status.st_size > 0) ||
           (S_ISDIR(status.st_mode) && has_content(folder, entry->d_name, NULL, depth + 1));
}

/*
 * Whether a folder holds anything that a process may have written. Names in `made` at the top level
 * were made for the process and do not count. If it cannot tell (too deep, unreadable), the answer
 * is yes. Most folders are empty: their entries are read without a stream, which asks more.
 */
static bool has_content(int parent, const char *name, const char *made, unsigned depth)
{
    union {
        struct dirent64 first;
        char bytes[4096];
    } entries;
    ssize_t size = -1;
    bool is_found = false;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    while (fd >= 0 && depth <= TR_KEEPER_SYNC_DEPTH_MAX && !is_found &&
           (size = getdents64(fd, &entries, sizeof entries)) > 0) {
        for (ssize_t at = 0; at < size && !is_found;) {
            const struct dirent64 *entry = (const void *)(entries.bytes + at);
            bool is_own = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
            is_found = is_own && !was_made(made, entry->d_name) && is_content(fd, entry, depth);
            at += entry->d_reclen;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return is_found || size < 0;
}

/* Finishes the jobs whose processes have written nothing: they need no sync. */
static struct tri_sync_job *take_out_empty(struct tri_keeper_sync *sync, struct tri_sync_job *jobs)
{
    struct tri_sync_job *left = NULL;
    struct tri_sync_job **end = &left;
    while (jobs != NULL) {
        struct tri_sync_job *job = jobs;
        jobs = job->next;
        if (has_content(AT_FDCWD, job->folder, job->made, 0)) {
            *end = job;
            end = &job->next;
            job->next = NULL;
        } else {
            job->number = 0;
            push(&sync->finished, job);
            ring(sync->done);
        }
    }
    return left;
}

/* ---- All of a job. -------------------------------------------------------------------------- */

/*
 * Opens a job's folder. If its task removed or protected it, or no descriptor is left: the store's
 * folder, which is on the same file system.
 */
static int open_folder(const struct tri_keeper_sync *sync, const struct tri_sync_job *job)
{
    int fd = open(job->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 ? fd : sync->store;
}

static void close_folder(const struct tri_keeper_sync *sync, int fd)
{
    if (fd != sync->store) {
        close(fd);
    }
}

/* File by file; syncfs if there are too many or one could not be opened. */
static void sync_one(const struct tri_keeper_sync *sync, struct tri_sync_job *job)
{
    int fd = open_folder(sync, job);
    struct walk walk = {.is_too_much = fd == sync->store};
    if (!walk.is_too_much) {
        sync_folder(&walk, fd, 0);
        sync_above(&walk, fd, sync->store);
    }
    if (walk.is_too_much && syncfs(fd) != 0) {
        failed(&walk);
    }
    job->number = walk.number;
    close_folder(sync, fd);
}

/* ---- A batch. ------------------------------------------------------------------------------- */

/*
 * One syncfs for each run of neighbours on the same file system. All jobs of a run share its
 * result, as syncfs does not say which file an error concerns.
 */
static void sync_file_systems(const struct tri_keeper_sync *sync, struct tri_sync_job *jobs)
{
    dev_t device = 0;
    int number = 0;
    for (struct tri_sync_job *job = jobs; job != NULL; job = job->next) {
        struct stat status;
        int fd = open_folder(sync, job);
        if (fstat(fd, &status) != 0) {
            job->number = errno;
        } else if (job == jobs || status.st_dev != device) {
            number = syncfs(fd) == 0 ? 0 : errno;
            device = status.st_dev;
            job->number = number;
        } else {
            job->number = number;
        }
        close_folder(sync, fd);
    }
}

/* Syncs many folders by syncfs, few file by file. */
static void sync_batch(const struct tri_keeper_sync *sync, struct tri_sync_job *jobs)
{
    unsigned count = 0;
    for (const struct tri_sync_job *job = jobs; job != NULL; job = job->next) {
        count++;
    }
    if (count > TR_KEEPER_SYNC_ALONE_MAX) {
        sync_file_systems(sync, jobs);
        return;
    }
    for (struct tri_sync_job *job = jobs; job != NULL; job = job->next) {
        sync_one(sync, job);
    }
}

/*
 * The thread. The eventfd counts, so a job that is given between take_all and the read makes the
 * read return at once. `is_stopping` ends it only when no job is left.
 */
static void *run(void *self)
{
    struct tri_keeper_sync *sync = self;
    for (;;) {
        eventfd_t rings;
        struct tri_sync_job *job = take_all(&sync->given);
        if (job == NULL && atomic_load(&sync->is_stopping)) {
            return NULL;
        }
        if (job == NULL) {
            (void)!eventfd_read(sync->wake, &rings);
            continue;
        }
        job = take_out_empty(sync, job);
        sync_batch(sync, job);
        while (job != NULL) {
            struct tri_sync_job *next = job->next;
            push(&sync->finished, job);
            job = next;
        }
        ring(sync->done);
    }
}

/* ---- The keeper's side. --------------------------------------------------------------------- */

int tri_keeper_sync_init(struct tri_keeper_sync *sync, int store)
{
    *sync = (struct tri_keeper_sync){.store = store,
                                     .wake = eventfd(0, EFD_CLOEXEC),
                                     .done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    int number =
        sync->wake < 0 || sync->done < 0 ? errno : pthread_create(&sync->thread, NULL, run, sync);
    if (number == 0) {
        return 0;
    }
    if (sync->wake >= 0) {
        close(sync->wake);
    }
    if (sync->done >= 0) {
        close(sync->done);
    }
    errno = number;
    return TR_SYSTEM;
}

void tri_keeper_sync_fini(struct tri_keeper_sync *sync)
{
    atomic_store(&sync->is_stopping, true);
    ring(sync->wake);
    (void)pthread_join(sync->thread, NULL);
    close(sync->wake);
    close(sync->done);
}

void tri_keeper_sync_give(struct tri_keeper_sync *sync, struct tri_sync_job *job)
{
    push(&sync->given, job);
    ring(sync->wake);
}

struct tri_sync_job *tri_keeper_sync_take(struct tri_keeper_sync *sync)
{
    if (sync->taken == NULL) {
        eventfd_t rings;
        (void)!eventfd_read(sync->done, &rings);
        sync->taken = take_all(&sync->finished);
    }
    struct tri_sync_job *job = sync->taken;
    if (job != NULL) {
        sync->taken = job->next;
    }
    return job;
}
