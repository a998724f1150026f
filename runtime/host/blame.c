/*
 * The file `blame`: a mark and some rows, rewritten whole when one of them changes.
 */
#include "runtime/host/blame.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/troupe.h"

#define PATH_BYTES 4096

/* What the list begins with: another form of it is another number. */
#define LIST_MARK 0x3130454d414c4254U /* TBLAME01 */

struct list {
    uint64_t mark;
    struct tr_blamed rows[TR_BLAMED_MAX];
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

/* Texts end, whatever a damaged file says. */
static void tidy(struct tr_blamed *row)
{
    row->part[sizeof row->part - 1] = '\0';
    row->function[sizeof row->function - 1] = '\0';
}

static size_t read_list(const char *folder, struct list *list)
{
    int file = open_in(folder, "blame", O_RDONLY);
    if (file < 0) {
        return 0;
    }
    ssize_t size = read(file, list, sizeof *list);
    close(file);
    if (size < (ssize_t)sizeof list->mark || list->mark != LIST_MARK) {
        return 0;
    }
    size_t count = ((size_t)size - sizeof list->mark) / sizeof list->rows[0];
    for (size_t i = 0; i < count; i++) {
        tidy(&list->rows[i]);
    }
    return count;
}

static bool write_new(const char *folder, const struct list *list, size_t count)
{
    int file = open_in(folder, "blame.new", O_WRONLY | O_CREAT | O_TRUNC);
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
    snprintf(from, sizeof from, "%s/blame.new", folder);
    snprintf(to, sizeof to, "%s/blame", folder);
    return write_new(folder, list, count) && rename(from, to) == 0 ? 0 : TR_SYSTEM;
}

int tri_blame_count(const char *folder, const struct tri_in_hand *hand)
{
    struct list list = {.mark = 0};
    struct tr_blamed row = {.ended_by = hand->ended_by, .count = 1};
    memcpy(row.part, hand->part, sizeof row.part);
    memcpy(row.function, hand->function, sizeof row.function);
    tidy(&row);
    size_t count = read_list(folder, &list);
    size_t place = 0;
    while (place < count && strcmp(list.rows[place].part, row.part) != 0) {
        place++;
    }
    if (place < count) {
        row.count += list.rows[place].count;
    } else if (count == TR_BLAMED_MAX) {
        memmove(&list.rows[0], &list.rows[1], (TR_BLAMED_MAX - 1) * sizeof row);
        place = TR_BLAMED_MAX - 1;
    } else {
        count++;
    }
    list.rows[place] = row;
    return write_list(folder, &list, count);
}

size_t tr_blamed_read(const char *folder, struct tr_blamed blamed[TR_BLAMED_MAX])
{
    struct list list = {.mark = 0};
    size_t count = read_list(folder, &list);
    memcpy(blamed, list.rows, count * sizeof *blamed);
    return count;
}

int tr_blamed_forget(const char *folder,
                     bool (*is_meant)(const void *self, const struct tr_blamed *blamed),
                     const void *self)
{
    struct list list = {.mark = 0};
    size_t count = read_list(folder, &list);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_meant(self, &list.rows[i])) {
            list.rows[kept++] = list.rows[i];
        }
    }
    return kept == count ? 0 : write_list(folder, &list, kept);
}
