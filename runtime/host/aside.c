/*
 * The file `aside`: a mark and some rows, rewritten whole when one of them changes.
 */
#include "runtime/host/aside.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/troupe.h"

#define PATH_BYTES 4096

/* What the list begins with: another form of it is another number. */
#define LIST_MARK 0x3130454449534154U /* TASIDE01 */

struct row {
    uint64_t group;
    uint64_t ends;
};

struct list {
    uint64_t mark;
    struct row rows[TR_ASIDE_MAX];
};

static int open_in(const char *folder, const char *name, int flags)
{
    char path[PATH_BYTES];
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (size < 0 || (size_t)size >= sizeof path) {
        return -1;
    }
    return open(path, flags | O_CLOEXEC, 0600);
}

static size_t read_list(const char *folder, struct list *list)
{
    int file = open_in(folder, "aside", O_RDONLY);
    if (file < 0) {
        return 0;
    }
    ssize_t size = read(file, list, sizeof *list);
    close(file);
    if (size < (ssize_t)sizeof list->mark || list->mark != LIST_MARK) {
        return 0;
    }
    return ((size_t)size - sizeof list->mark) / sizeof list->rows[0];
}

static bool write_new(const char *folder, const struct list *list, size_t count)
{
    int file = open_in(folder, "aside.new", O_WRONLY | O_CREAT | O_TRUNC);
    if (file < 0) {
        return false;
    }
    size_t size = sizeof list->mark + count * sizeof list->rows[0];
    bool is_written = write(file, list, size) == (ssize_t)size && fsync(file) == 0;
    return close(file) == 0 && is_written;
}

/* The old list stays whole until the new one is. */
static int write_list(const char *folder, struct list *list, size_t count)
{
    char from[PATH_BYTES + 16];
    char to[PATH_BYTES + 16];
    list->mark = LIST_MARK;
    snprintf(from, sizeof from, "%s/aside.new", folder);
    snprintf(to, sizeof to, "%s/aside", folder);
    return write_new(folder, list, count) && rename(from, to) == 0 ? 0 : TR_SYSTEM;
}

int tri_aside_count(const char *folder, uint64_t group)
{
    struct list list = {.mark = 0};
    size_t count = read_list(folder, &list);
    size_t kept = 0;
    struct row row = {.group = group, .ends = 1};
    for (size_t i = 0; i < count; i++) {
        if (group != 0 && list.rows[i].group == group) {
            row.ends += list.rows[i].ends;
        } else if (list.rows[i].ends >= TR_ASIDE_ENDS) {
            list.rows[kept++] = list.rows[i];
        }
    }
    if (group == 0 && kept == count) {
        return 0;
    }
    if (group != 0 && kept < TR_ASIDE_MAX) {
        list.rows[kept++] = row;
    }
    return write_list(folder, &list, kept);
}

size_t tr_aside_read(const char *folder, uint64_t groups[TR_ASIDE_MAX])
{
    struct list list = {.mark = 0};
    size_t count = read_list(folder, &list);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (list.rows[i].ends >= TR_ASIDE_ENDS) {
            groups[found++] = list.rows[i].group;
        }
    }
    return found;
}

int tr_aside_lift(const char *folder, uint64_t group)
{
    struct list list = {.mark = 0};
    size_t count = read_list(folder, &list);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (list.rows[i].group != group) {
            list.rows[kept++] = list.rows[i];
        }
    }
    return kept == count ? 0 : write_list(folder, &list, kept);
}
