/*
 * Reading, mapping and writing files as a whole.
 */
#include "deploy/common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define FIRST_BYTES 65536

/* Reads until the end; what is read grows as it comes, since a pipe has no size. */
static int read_all(int descriptor, size_t size_max, char **data, size_t *size)
{
    size_t capacity = 0;
    ssize_t count = 1;
    while (count > 0) {
        if (*size + 1 >= capacity) {
            capacity = capacity == 0 ? FIRST_BYTES : 2 * capacity;
            char *grown = tr_realloc(*data, capacity);
            if (grown == NULL) {
                return TR_MEMORY;
            }
            *data = grown;
        }
        do {
            count = read(descriptor, *data + *size, capacity - *size - 1);
        } while (count < 0 && errno == EINTR);
        if (count < 0) {
            return TR_SYSTEM;
        }
        *size += (size_t)count;
        if (*size > size_max) {
            return TR_LIMIT;
        }
    }
    (*data)[*size] = '\0';
    return 0;
}

int tr_file_read(const char *path, size_t size_max, char **data, size_t *size)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int descriptor = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        return errno == ENOENT || errno == ENOTDIR ? TR_NOT_FOUND : TR_SYSTEM;
    }
    char *read_data = NULL;
    size_t read_size = 0;
    int error = read_all(descriptor, size_max, &read_data, &read_size);
    int number = errno;
    if (!is_stdin) {
        close(descriptor);
    }
    if (error != 0) {
        tr_free(read_data);
        errno = number;
        return error;
    }
    *data = read_data;
    *size = read_size;
    return 0;
}

static int map(int descriptor, struct tr_bytes *bytes)
{
    struct stat status;
    void *data = NULL;
    if (fstat(descriptor, &status) != 0) {
        return TR_SYSTEM;
    }
    if (status.st_size > 0) {
        data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    if (data == MAP_FAILED) {
        return TR_SYSTEM;
    }
    *bytes = (struct tr_bytes){.data = data, .size = (size_t)status.st_size};
    return 0;
}

int tr_file_map(const char *path, struct tr_bytes *bytes)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) {
        return errno == ENOENT || errno == ENOTDIR ? TR_NOT_FOUND : TR_SYSTEM;
    }
    int error = map(descriptor, bytes);
    int number = errno;
    close(descriptor);
    errno = number;
    return error;
}

void tr_file_unmap(struct tr_bytes bytes)
{
    if (bytes.size > 0) {
        (void)munmap((void *)(uintptr_t)bytes.data, bytes.size);
    }
}

static int failed(int number)
{
    return number == ENOSPC || number == EDQUOT ? TR_STORE_FULL : TR_SYSTEM;
}

static int write_all(int descriptor, struct tr_bytes bytes, bool is_synced)
{
    size_t done = 0;
    while (done < bytes.size) {
        ssize_t count = write(descriptor, bytes.data + done, bytes.size - done);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return failed(errno);
        }
        done += (size_t)count;
    }
    return is_synced && fsync(descriptor) != 0 ? failed(errno) : 0;
}

int tr_file_sync_name(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - path),
             slash == NULL ? "." : path);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        return TR_SYSTEM;
    }
    int error = fsync(descriptor) != 0 ? failed(errno) : 0;
    close(descriptor);
    return error;
}

int tr_file_write(const char *path, struct tr_bytes bytes, bool is_synced)
{
    char temporary[PATH_MAX];
    int size = snprintf(temporary, sizeof temporary, "%s.%ld.new", path, (long)getpid());
    if (size < 0 || (size_t)size >= sizeof temporary) {
        return TR_LIMIT;
    }
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) {
        return failed(errno);
    }
    int error = write_all(descriptor, bytes, is_synced);
    if (close(descriptor) != 0 && error == 0) {
        error = failed(errno);
    }
    if (error == 0 && rename(temporary, path) != 0) {
        error = failed(errno);
    }
    if (error != 0) {
        int number = errno;
        (void)unlink(temporary);
        errno = number;
        return error;
    }
    return is_synced ? tr_file_sync_name(path) : 0;
}

int tr_file_absolute(const char *path, char *buffer)
{
    char current[PATH_MAX] = "";
    if (path[0] != '/' && getcwd(current, sizeof current) == NULL) {
        return TR_SYSTEM;
    }
    while (strncmp(path, "./", 2) == 0) {
        path += 2;
    }
    if (strcmp(path, ".") == 0) {
        path = "";
    }
    const char *between = path[0] == '/' || path[0] == '\0' ? "" : "/";
    int size = snprintf(buffer, PATH_MAX, "%s%s%s", current, between, path);
    return size < 0 || size >= PATH_MAX ? TR_LIMIT : 0;
}

int tr_file_make_folders(char *folder)
{
    for (char *at = strchr(folder + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        int made = mkdir(folder, 0700);
        *at = '/';
        if (made != 0 && errno != EEXIST) {
            return TR_SYSTEM;
        }
    }
    return mkdir(folder, 0700) != 0 && errno != EEXIST ? TR_SYSTEM : 0;
}
