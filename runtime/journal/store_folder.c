/*
 * The folder of a store: its lock, and which database it is bound to.
 *
 * The lock is flock on a file of its own, not on the database: SQLite uses POSIX record locks
 * there, which a process loses when it closes any descriptor of that file. flock belongs to the
 * open description, so the kernel releases it with the process, also after kill -9, and there are
 * no stale locks. The pid in the file is for people only.
 *
 * The lock's file is never removed: an engine that opened it before its removal would lock a file
 * that others no longer find. It is opened close-on-exec, because a child that inherits the
 * descriptor would hold the lock after the engine has ended.
 */
#include "runtime/journal/store_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/journal/locator.h"

#define LOCK_FILE "lock"
#define OWN_DATABASE "troupe.db"

/* A path below the folder. */
struct path {
    char text[TRI_STORE_FOLDER_BYTES + 16];
};

static struct path path_in(const char *folder, const char *name)
{
    struct path path;
    (void)snprintf(path.text, sizeof path.text, "%.*s/%s", TRI_STORE_FOLDER_BYTES, folder, name);
    return path;
}

TR_PRINTF(3, 4)
static int report(char *explain, int error, const char *format, ...)
{
    va_list arguments;
    if (explain != NULL) {
        va_start(arguments, format);
        (void)vsnprintf(explain, TRI_STORE_EXPLAIN_BYTES, format, arguments);
        va_end(arguments);
    }
    return error;
}

/* What a failed change of the disk comes to. */
static int disk_error(void)
{
    return errno == ENOSPC || errno == EDQUOT ? TR_STORE_FULL : TR_STORE_FAILED;
}

/* ------------------------------------------------------------------------ the folder */

/* A new folder is an entry in its parent, and that has to reach the disk too. */
static void sync_parent(const char *folder)
{
    char parent[TRI_STORE_FOLDER_BYTES];
    (void)snprintf(parent, sizeof parent, "%s", folder);
    char *slash = strrchr(parent, '/');
    if (slash == NULL) {
        (void)snprintf(parent, sizeof parent, ".");
    } else {
        slash[slash == parent ? 1 : 0] = '\0';
    }
    int descriptor = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        /* Some file systems cannot sync a folder; then nothing can be done. */
        (void)fsync(descriptor);
        (void)close(descriptor);
    }
}

int tri_store_folder_make(const char *folder, char *explain)
{
    if (mkdir(folder, 0700) == 0) {
        sync_parent(folder);
        return 0;
    }
    return errno == EEXIST ? 0
                           : report(explain, disk_error(),
                                    "%s: the folder cannot be made (%s); make the folder above "
                                    "it, or choose another",
                                    folder, strerror(errno));
}

/* -------------------------------------------------------------------------- the lock */

/* The pid of the lock's holder, from the file; 0 if it cannot be read. */
static long lock_holder(int descriptor)
{
    char text[24] = "";
    ssize_t size = pread(descriptor, text, sizeof text - 1, 0);
    long process = 0;
    if (size > 0 && sscanf(text, "%ld", &process) == 1 && process > 0) {
        return process;
    }
    return 0;
}

uint64_t tri_store_folder_holder(const char *folder, bool *is_held)
{
    int descriptor = open(path_in(folder, LOCK_FILE).text, O_RDONLY | O_CLOEXEC);
    *is_held = false;
    if (descriptor < 0) {
        return 0;
    }
    *is_held = flock(descriptor, LOCK_SH | LOCK_NB) != 0;
    long process = lock_holder(descriptor);
    (void)close(descriptor);
    return (uint64_t)process;
}

static int report_locked(const char *folder, int descriptor, char *explain)
{
    long process = lock_holder(descriptor);
    if (process == 0) {
        return report(explain, TR_STORE_LOCKED,
                      "%s: is used by another process; end it, or choose another store", folder);
    }
    return report(explain, TR_STORE_LOCKED,
                  "%s: is used by process %ld; end it, or choose another store", folder, process);
}

/* Writes our pid, for processes that find the lock taken. */
static int write_lock_pid(int descriptor)
{
    char text[24];
    int size = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    bool is_written =
        ftruncate(descriptor, 0) == 0 && pwrite(descriptor, text, (size_t)size, 0) == size;
    return is_written ? 0 : disk_error();
}

static int take_lock(int descriptor, const char *folder, const char *path, char *explain)
{
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK
                   ? report_locked(folder, descriptor, explain)
                   : report(explain, TR_STORE_FAILED,
                            "%s: cannot be locked (%s); put the store on a local disk", path,
                            strerror(errno));
    }
    int error = write_lock_pid(descriptor);
    return error == 0
               ? 0
               : report(explain, error, "%s: cannot be written; %s", path, tr_error_text(error));
}

int tri_store_folder_lock(const char *folder, char *explain, int *descriptor)
{
    struct path path = path_in(folder, LOCK_FILE);
    int opened = open(path.text, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (opened < 0) {
        return report(explain, disk_error(),
                      "%s: cannot be opened (%s); the folder must be writable", path.text,
                      strerror(errno));
    }
    int error = take_lock(opened, folder, path.text, explain);
    if (error != 0) {
        (void)close(opened);
        return error;
    }
    *descriptor = opened;
    return 0;
}

/* ----------------------------------------------------------------------- the commits */

int tri_store_folder_open_commits(const char *folder, char *explain, int *descriptor)
{
    struct path path = path_in(folder, TRI_STORE_FOLDER_COMMITS);
    int opened = open(path.text, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (opened < 0) {
        return report(explain, disk_error(),
                      "%s: cannot be opened (%s); the folder must be writable", path.text,
                      strerror(errno));
    }
    *descriptor = opened;
    return 0;
}

void tri_store_folder_tell(int commits)
{
    /* Who missed it, on a full disk, say, looks by itself after a while. */
    (void)!pwrite(commits, "\n", 1, 0);
}

/* ---------------------------------------------------------------------- the database */

void tri_store_locator_print(const char *locator, char *text)
{
    tri_locator_show(locator, text, TRI_STORE_LOCATOR_BYTES);
}

/*
 * A folder that somebody else has prepared must not lead us to his server: a command finds the
 * nearest store from the current folder upwards.
 */
static int check_owner(int descriptor, const char *path, char *explain)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        return report(explain, TR_STORE_FAILED, "%s: cannot be read (%s)", path, strerror(errno));
    }
    if (status.st_uid != geteuid() && status.st_uid != 0) {
        return report(explain, TR_STORE_DAMAGED,
                      "%s: belongs to another user, who chose that database; remove it, or name "
                      "the database with --store",
                      path);
    }
    return 0;
}

/* Reads the line of the file. */
static int read_line(int descriptor, const char *path, char *explain, char *locator)
{
    char text[TRI_STORE_LOCATOR_BYTES + 1];
    ssize_t size = read(descriptor, text, sizeof text - 1);
    if (size < 0) {
        return report(explain, TR_STORE_FAILED, "%s: cannot be read (%s)", path, strerror(errno));
    }
    text[size] = '\0';
    size_t length = strcspn(text, "\n");
    bool is_line = length > 0 && (size_t)size < sizeof text - 1 &&
                   (text[length] == '\0' || text[length + 1] == '\0');
    if (!is_line || strlen(text) != (size_t)size) {
        return report(explain, TR_STORE_DAMAGED,
                      "%s: is not one line with the locator of a database, as in "
                      "postgresql://host/name; write one",
                      path);
    }
    text[length] = '\0';
    memcpy(locator, text, length + 1);
    return 0;
}

int tri_store_folder_locator(const char *folder, char *explain, char *locator)
{
    struct path path = path_in(folder, TRI_STORE_FOLDER_DATABASE);
    int descriptor = open(path.text, O_RDONLY | O_CLOEXEC);
    /* What is wrong with the folder itself is said by whoever opens what is in it. */
    if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG)) {
        locator[0] = '\0';
        return 0;
    }
    if (descriptor < 0) {
        return report(explain, TR_STORE_FAILED, "%s: cannot be opened (%s)", path.text,
                      strerror(errno));
    }
    int error = check_owner(descriptor, path.text, explain);
    if (error == 0) {
        error = read_line(descriptor, path.text, explain, locator);
    }
    (void)close(descriptor);
    return error;
}

/* Writes a file as a whole: it is renamed to its name when it is on the disk. */
static int write_whole(const char *folder, const char *locator, char *explain)
{
    struct path path = path_in(folder, TRI_STORE_FOLDER_DATABASE);
    char part[sizeof path.text + 16];
    (void)snprintf(part, sizeof part, "%s.%ld", path.text, (long)getpid());
    int descriptor = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool is_written = descriptor >= 0 && dprintf(descriptor, "%s\n", locator) > 0 &&
                      fsync(descriptor) == 0 && rename(part, path.text) == 0;
    int error = is_written ? 0
                           : report(explain, disk_error(), "%s: cannot be written (%s)", path.text,
                                    strerror(errno));
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    if (!is_written) {
        (void)unlink(part);
    }
    return error;
}

int tri_store_folder_bind(const char *folder, const char *locator, char *explain)
{
    char bound[TRI_STORE_LOCATOR_BYTES];
    int error = tri_store_folder_locator(folder, explain, bound);
    if (error != 0) {
        return error;
    }
    if (strcmp(bound, locator) == 0) {
        return 0;
    }
    if (strlen(locator) >= sizeof bound || strpbrk(locator, "\r\n") != NULL) {
        return report(explain, TR_INVALID,
                      "the locator of the database is longer than %zu bytes, or has line breaks",
                      sizeof bound - 1);
    }
    if (bound[0] == '\0' && access(path_in(folder, OWN_DATABASE).text, F_OK) == 0) {
        return report(explain, TR_INVALID, "%s: has a database of its own, %s; name another folder",
                      folder, OWN_DATABASE);
    }
    return write_whole(folder, locator, explain);
}
