/*
 * Reads /proc. Its files are generated while they are read, so each is read from one descriptor to
 * its end. A process may end between any two calls; that is TR_NOT_FOUND.
 */
#include "runtime/process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schemas/codec/error.h"

#define STAT_BYTES 1024
#define CHILDREN_BYTES 65536

/*
 * Reads a whole file of a process and adds a closing zero; a longer file is cut off. EACCES is
 * TR_NOT_FOUND too: a process of another user is never one of ours.
 */
static int read_file(const char *path, char *buffer, size_t size, size_t *found)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == ESRCH || errno == EACCES ? TR_NOT_FOUND : TR_SYSTEM;
    }
    size_t used = 0;
    ssize_t more = 1;
    while (used < size - 1 && more > 0) {
        more = read(fd, buffer + used, size - 1 - used);
        if (more > 0) {
            used += (size_t)more;
        }
    }
    close(fd);
    if (more < 0) {
        return TR_NOT_FOUND; /* the process ended meanwhile */
    }
    buffer[used] = '\0';
    *found = used;
    return 0;
}

/* Field `number`, at least 3, of a stat line, counted as in proc(5). */
static const char *stat_field(const char *line, int number)
{
    /*
     * The second field is a program's name and may hold any bytes, so fields are counted behind it.
     */
    const char *at = strrchr(line, ')');
    for (int field = 2; at != NULL && field < number; field++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? at + 1 : NULL;
}

int tri_proc_stat(uint32_t pid, struct tri_proc_stat *stat)
{
    char path[64];
    char line[STAT_BYTES];
    size_t size;
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int error = read_file(path, line, sizeof line, &size);
    if (error != 0) {
        return error;
    }
    const char *parent = stat_field(line, 4);
    const char *start_time = stat_field(line, 22);
    if (parent == NULL || start_time == NULL) {
        return TR_SYSTEM;
    }
    *stat = (struct tri_proc_stat){.parent = (uint32_t)strtoul(parent, NULL, 10),
                                   .start_time = strtoull(start_time, NULL, 10)};
    return 0;
}

int tri_proc_each(tri_proc_visit *visit, void *self)
{
    DIR *folder = opendir("/proc");
    if (folder == NULL) {
        return TR_SYSTEM;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        unsigned long pid = strtoul(entry->d_name, NULL, 10);
        if (pid > 0) {
            visit(self, (uint32_t)pid);
        }
    }
    closedir(folder);
    return 0;
}

/* Passes on the children of this process. */
struct filter {
    tri_proc_visit *visit;
    void *self;
    uint32_t parent;
};

static void visit_if_child(void *generic, uint32_t pid)
{
    struct filter *filter = generic;
    struct tri_proc_stat stat;
    if (tri_proc_stat(pid, &stat) == 0 && stat.parent == filter->parent) {
        filter->visit(filter->self, pid);
    }
}

/*
 * The kernel's list is one file for each thread, so the caller must have one thread only. A list
 * that fills the buffer may be cut off, and is not used. The buffer is static because 64 KiB are
 * much for a stack.
 */
int tri_proc_each_child(tri_proc_visit *visit, void *self)
{
    char path[64];
    static char list[CHILDREN_BYTES];
    size_t size;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    int error = read_file(path, list, sizeof list, &size);
    if (error != 0 || size == sizeof list - 1) {
        struct filter filter = {.visit = visit, .self = self, .parent = (uint32_t)getpid()};
        return tri_proc_each(visit_if_child, &filter);
    }
    char *at = list;
    unsigned long pid;
    while ((pid = strtoul(at, &at, 10)) > 0) {
        visit(self, (uint32_t)pid);
    }
    return 0;
}

/*
 * The kernel shows the block given to exec; later changes by setenv are usually not in it. The mark
 * is the first entry (spawn_plan.c), so a block that is cut off still has it.
 */
int tri_proc_variable(uint32_t pid, const char *name, char *buffer, size_t size,
                      struct tr_text *value)
{
    char path[64];
    size_t found;
    size_t name_size = strlen(name);
    snprintf(path, sizeof path, "/proc/%u/environ", pid);
    if (read_file(path, buffer, size, &found) != 0) {
        return TR_NOT_FOUND;
    }
    for (const char *at = buffer; at < buffer + found; at += strlen(at) + 1) {
        if (strncmp(at, name, name_size) == 0 && at[name_size] == '=') {
            *value = tr_text_of(at + name_size + 1);
            return 0;
        }
    }
    return TR_NOT_FOUND;
}
