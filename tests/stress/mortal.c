/*
 * A `troupe` that dies at its n-th change of a disk, for the sweep of test_kill_sweep.py.
 *
 * Linked into the program, the calls below stand before the C library's for all of the process,
 * SQLite and the rest of the libraries too. Environment: TROUPE_DIE_AS is "engine" or "keeper",
 * TROUPE_DIE_AT the number of the change before which such a process is killed (0: none),
 * TROUPE_DIE_ONCE a file that it makes then, and that spares those that come later, and
 * TROUPE_DIE_COUNT a file to which it adds a byte for every change it makes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic long changes_left; /* 0: nobody counts */
static const char *count_path;
static const char *once_path;

/* Whether this process is a keeper: its second word says so. */
static bool is_keeper(void)
{
    char words[64] = "";
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, words, sizeof words - 1);
    if (file >= 0) {
        close(file);
    }
    size_t first = strnlen(words, sizeof words - 1) + 1;
    return size > (ssize_t)first && strcmp(words + first, "keeper") == 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *who = getenv("TROUPE_DIE_AS");
    const char *at = getenv("TROUPE_DIE_AT");
    const char *count = getenv("TROUPE_DIE_COUNT");
    if (who == NULL || (strcmp(who, "keeper") == 0) != is_keeper()) {
        return;
    }
    changes_left = at != NULL ? strtol(at, NULL, 10) : 0;
    count_path = count;
    once_path = getenv("TROUPE_DIE_ONCE");
}

/* A byte more; opened each time, since a keeper closes all that it did not open itself. */
static void count_change(void)
{
    int file = open(count_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || syscall(SYS_write, file, "c", 1) != 1) {
        abort();
    }
    close(file);
}

/* Whether nobody died before. */
static bool is_first(void)
{
    int file = once_path == NULL ? -1 : open(once_path, O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) {
        close(file);
    }
    return once_path == NULL || file >= 0;
}

/* One more; before the last one the process is gone. */
static void change(void)
{
    if (count_path != NULL) {
        count_change();
    }
    if (changes_left > 0 && --changes_left == 0 && is_first()) {
        kill(getpid(), SIGKILL);
    }
}

/*
 * What goes to pipes, sockets and threads is no change of a disk. Asked by a plain system call:
 * TSan keeps books of descriptors, and does not see how ZeroMQ hands its own from thread to thread.
 */
static void change_file(int file)
{
    int error = errno;
    struct stat status;
    if (syscall(SYS_fstat, file, &status) == 0 && S_ISREG(status.st_mode)) {
        change();
    }
    errno = error;
}

ssize_t write(int file, const void *data, size_t size)
{
    change_file(file);
    return syscall(SYS_write, file, data, size);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t offset)
{
    change_file(file);
    return syscall(SYS_pwrite64, file, data, size, offset);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t offset)
{
    change_file(file);
    return syscall(SYS_pwrite64, file, data, size, offset);
}

int fsync(int file)
{
    change_file(file);
    return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file)
{
    change_file(file);
    return (int)syscall(SYS_fdatasync, file);
}

int ftruncate64(int file, off64_t size)
{
    change_file(file);
    return (int)syscall(SYS_ftruncate, file, size);
}

int ftruncate(int file, off_t size)
{
    change_file(file);
    return (int)syscall(SYS_ftruncate, file, size);
}

int rename(const char *from, const char *to)
{
    change();
    return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    change();
    return (int)syscall(SYS_renameat, from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    change();
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    change();
    return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

int unlink(const char *path)
{
    change();
    return (int)syscall(SYS_unlink, path);
}

int unlinkat(int folder, const char *path, int flags)
{
    change();
    return (int)syscall(SYS_unlinkat, folder, path, flags);
}

int mkdir(const char *path, mode_t mode)
{
    change();
    return (int)syscall(SYS_mkdir, path, mode);
}

int mkdirat(int folder, const char *path, mode_t mode)
{
    change();
    return (int)syscall(SYS_mkdirat, folder, path, mode);
}
