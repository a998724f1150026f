/*
 * Reading a backup, and filling a folder with it.
 */
#include "deploy/backup/restore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/backup/backup.h"
#include "deploy/backup/backup_files.h"
#include "deploy/backup/restore_live.h"
#include "deploy/backup/tar_check.h"
#include "deploy/common/file.h"
#include "runtime/blob/below.h"
#include "schemas/codec/error.h"

#define DATABASE "troupe.db"

/* A run of so many zeros becomes a hole. */
#define HOLE_BYTES 65536

/* One pass through the entries. */
struct pass {
    struct tr_restore *restore;
    uint64_t entries;
    bool has_database;
    int folder;
};

TR_MUST_USE static int fail(const struct tr_restore *restore, int error, const char *what)
{
    if (restore->explain[0] == '\0') {
        (void)snprintf(restore->explain, TRI_STORE_EXPLAIN_BYTES, "%.300s: %s", what,
                       error == TR_SYSTEM || error == TR_STORE_FULL ? strerror(errno)
                                                                    : tr_error_text(error));
    }
    return error;
}

TR_MUST_USE static int refuse(const struct tr_restore *restore, int error, const char *words)
{
    if (restore->explain[0] == '\0') {
        (void)snprintf(restore->explain, TRI_STORE_EXPLAIN_BYTES, "%s", words);
    }
    return error;
}

/* ---- Reading. ------------------------------------------------------------------------------- */

/* The value of a line "key value" of the head. */
static struct tr_text value_of(struct tr_text head, const char *key)
{
    size_t size = strlen(key);
    const char *at = head.data;
    const char *end = head.data + head.size;
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = line == NULL ? end : line;
        if ((size_t)(line_end - at) > size && memcmp(at, key, size) == 0 && at[size] == ' ') {
            return (struct tr_text){at + size + 1, (size_t)(line_end - at) - size - 1};
        }
        at = line_end + 1;
    }
    return (struct tr_text){.size = 0};
}

static int take_head(struct tr_restore *restore, struct tr_bytes bytes)
{
    struct tr_text head = {(const char *)bytes.data, bytes.size};
    struct tr_text form = tr_text_of(TR_BACKUP_FORM);
    bool is_one = head.size > form.size && memcmp(head.data, form.data, form.size) == 0;
    if (!is_one || strtoul(head.data + form.size, NULL, 10) != TR_BACKUP_VERSION) {
        return refuse(restore, is_one ? TR_VERSION : TR_MALFORMED,
                      is_one ? "it was written by a newer program; restore it with that one"
                             : "it is no backup of a store");
    }
    restore->restored.program = value_of(head, "program");
    restore->restored.taken = value_of(head, "taken");
    restore->restored.store = value_of(head, "store");
    return restore->restored.store.size > 0 && restore->restored.store.size < PATH_MAX
               ? 0
               : refuse(restore, TR_MALFORMED,
                        "it is damaged: it does not say of which store it is");
}

static bool is_part_of(const struct tr_tar_entry *entry)
{
    bool is_target =
        entry->kind != TR_TAR_HARD_LINK || tr_backup_is_path(tr_text_of(entry->target));
    return is_target && tr_backup_is_path(tr_text_of(entry->path));
}

static int check_entry(void *self, const struct tr_tar_entry *entry, struct tr_bytes bytes)
{
    struct pass *pass = self;
    bool is_first = pass->entries++ == 0;
    if (is_first != (strcmp(entry->path, TR_BACKUP_HEAD) == 0)) {
        return refuse(pass->restore, TR_MALFORMED, "it is no backup of a store");
    }
    if (is_first) {
        return take_head(pass->restore, bytes);
    }
    if (strcmp(entry->path, DATABASE) == 0 && entry->kind == TR_TAR_FILE) {
        pass->has_database = true;
        return 0;
    }
    if (is_part_of(entry)) {
        return 0;
    }
    (void)snprintf(pass->restore->explain, TRI_STORE_EXPLAIN_BYTES,
                   "it is damaged: %.300s belongs nowhere in a store", entry->path);
    return TR_MALFORMED;
}

int tr_restore_read(struct tr_restore *restore)
{
    char problem[TR_TAR_PROBLEM_BYTES];
    struct pass pass = {.restore = restore};
    const struct tr_tar_visitor visitor = {.self = &pass, .entry = check_entry};
    const size_t head = sizeof TR_BACKUP_HEAD;
    bool is_one =
        restore->file.size >= head && memcmp(restore->file.data, TR_BACKUP_HEAD, head) == 0;
    int error = tr_tar_visit(restore->file, true, &visitor, problem);
    if (error != 0) {
        bool is_other = pass.entries == 0 && !is_one;
        return refuse(restore, error,
                      is_other ? "it is no backup of a store, or damaged at its beginning"
                      : problem[0] != '\0' ? problem
                                           : tr_error_text(error));
    }
    return pass.has_database ? 0 : refuse(restore, TR_MALFORMED, "it has no " DATABASE);
}

int tr_restore_open(struct tr_restore *restore, const char *path)
{
    restore->explain[0] = '\0';
    int error = tr_file_map(path, &restore->file);
    if (error != 0) {
        return refuse(restore, error,
                      error == TR_SYSTEM ? strerror(errno) : "there is no such file");
    }
    return tr_restore_read(restore);
}

void tr_restore_fini(struct tr_restore *restore)
{
    tr_file_unmap(restore->file);
    restore->file = (struct tr_bytes){.size = 0};
}

/* ---- The folder. ---------------------------------------------------------------------------- */

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool has_part(const struct tr_restore *restore)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%.4000s/" TR_RESTORE_PART, restore->folder);
    return access(path, F_OK) == 0;
}

static bool has_database(const struct tr_restore *restore)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%.4000s/" DATABASE, restore->folder);
    return access(path, F_OK) == 0;
}

int tr_restore_check_folder(struct tr_restore *restore)
{
    char words[TRI_STORE_EXPLAIN_BYTES];
    DIR *folder = opendir(restore->folder);
    const struct dirent *entry;
    int error = 0;
    if (folder == NULL) {
        return fail(restore, TR_SYSTEM, restore->folder);
    }
    bool was_begun = has_part(restore) && !has_database(restore);
    while (error == 0 && !was_begun && (entry = readdir(folder)) != NULL) {
        if (!is_dots(entry->d_name)) {
            (void)snprintf(words, sizeof words,
                           "%.200s has %.100s in it: a backup is restored into an empty folder; "
                           "name another one with --store",
                           restore->folder, entry->d_name);
            error = refuse(restore, TR_EXISTS, words);
        }
    }
    (void)closedir(folder);
    return error;
}

/* What an interrupted restore has left goes; the mark that it was one goes last. */
static int empty(const struct tr_restore *restore, int folder)
{
    DIR *stream = fdopendir(fcntl(folder, F_DUPFD_CLOEXEC, 0));
    const struct dirent *entry;
    int error = 0;
    if (stream == NULL) {
        return fail(restore, TR_SYSTEM, restore->folder);
    }
    rewinddir(stream);
    while (error == 0 && (entry = readdir(stream)) != NULL) {
        if (!is_dots(entry->d_name) && strcmp(entry->d_name, TR_RESTORE_PART) != 0) {
            error = tri_below_remove(folder, tr_text_of(entry->d_name));
        }
    }
    (void)closedir(stream);
    if (error == 0 && has_part(restore)) {
        error = tri_below_remove(folder, tr_text_of(TR_RESTORE_PART));
    }
    return error == 0 || error == TR_NOT_FOUND ? 0 : fail(restore, error, restore->folder);
}

/* ---- Entries. ------------------------------------------------------------------------------- */

static bool is_zero(struct tr_bytes bytes)
{
    return bytes.size > 0 && bytes.data[0] == 0 &&
           memcmp(bytes.data, bytes.data + 1, bytes.size - 1) == 0;
}

/* Long runs of zeros are left out: they take no place on the disk. */
static int write_bytes(int file, struct tr_bytes bytes)
{
    size_t at = 0;
    int error = ftruncate(file, (off_t)bytes.size) == 0 ? 0 : tri_below_error();
    while (error == 0 && at < bytes.size) {
        size_t left = bytes.size - at;
        struct tr_bytes piece = {.data = bytes.data + at,
                                 .size = left < HOLE_BYTES ? left : HOLE_BYTES};
        if (!is_zero(piece)) {
            error =
                lseek(file, (off_t)at, SEEK_SET) < 0 ? TR_SYSTEM : tri_below_write_all(file, piece);
        }
        at += piece.size;
    }
    return error;
}

static int make_file(const struct tri_below_place *place, const struct tr_tar_entry *entry,
                     struct tr_bytes bytes)
{
    int file = openat(place->folder, place->last,
                      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
        return tri_below_error();
    }
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW},
                                      {.tv_sec = (time_t)entry->modified_s}};
    int error = write_bytes(file, bytes);
    if (error == 0 && (fchmod(file, (mode_t)entry->mode) != 0 || futimens(file, times) != 0)) {
        error = tri_below_error();
    }
    int number = errno;
    if (close(file) != 0 && error == 0) {
        return tri_below_error();
    }
    errno = number;
    return error;
}

/* Its owner may write to a folder while it is filled, whatever the backup says. */
static int make_folder(const struct tri_below_place *place, const struct tr_tar_entry *entry)
{
    bool is_made = mkdirat(place->folder, place->last, 0700) == 0 || errno == EEXIST;
    return is_made && fchmodat(place->folder, place->last, (mode_t)entry->mode | 0700, 0) == 0
               ? 0
               : tri_below_error();
}

static int make_entry(const struct pass *pass, const struct tri_below_place *place,
                      const struct tr_tar_entry *entry, struct tr_bytes bytes)
{
    switch (entry->kind) {
    case TR_TAR_FILE:
        return make_file(place, entry, bytes);
    case TR_TAR_FOLDER:
        return make_folder(place, entry);
    case TR_TAR_LINK:
        return symlinkat(entry->target, place->folder, place->last) == 0 ? 0 : tri_below_error();
    case TR_TAR_HARD_LINK:
        return linkat(pass->folder, entry->target, place->folder, place->last, 0) == 0
                   ? 0
                   : tri_below_error();
    }
    return TR_MALFORMED;
}

static int write_entry(void *self, const struct tr_tar_entry *entry, struct tr_bytes bytes)
{
    const struct pass *pass = self;
    struct tri_below_place place;
    bool is_database = strcmp(entry->path, DATABASE) == 0;
    const char *path = is_database ? TR_RESTORE_PART "/" DATABASE : entry->path;
    if (strcmp(entry->path, TR_BACKUP_HEAD) == 0) {
        return 0;
    }
    errno = 0;
    int error = tri_below_find(pass->folder, tr_text_of(path), 0700, &place);
    if (error == 0) {
        error = make_entry(pass, &place, entry, bytes);
        int number = errno;
        tri_below_place_close(&place);
        errno = number;
    }
    return error == 0 ? 0 : fail(pass->restore, error, entry->path);
}

static int write_entries(struct tr_restore *restore, int folder)
{
    char problem[TR_TAR_PROBLEM_BYTES];
    struct pass pass = {.restore = restore, .folder = folder};
    const struct tr_tar_visitor visitor = {.self = &pass, .entry = write_entry};
    int error = tr_tar_visit(restore->file, false, &visitor, problem);
    return error == 0 ? 0 : refuse(restore, error, problem);
}

/* ---- All of it. ----------------------------------------------------------------------------- */

/* All files are on the disk, then the database is in its place; the rest of its folder goes. */
static int finish(const struct tr_restore *restore, int folder)
{
    if (syncfs(folder) != 0 ||
        renameat(folder, TR_RESTORE_PART "/" DATABASE, folder, DATABASE) != 0 ||
        fsync(folder) != 0) {
        return fail(restore, TR_SYSTEM, restore->folder);
    }
    return tri_below_remove(folder, tr_text_of(TR_RESTORE_PART)) == 0
               ? 0
               : fail(restore, TR_SYSTEM, TR_RESTORE_PART);
}

int tr_restore_write(struct tr_restore *restore)
{
    int folder = open(restore->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return fail(restore, TR_SYSTEM, restore->folder);
    }
    int error = empty(restore, folder);
    if (error == 0 && mkdirat(folder, TR_RESTORE_PART, 0700) != 0) {
        error = fail(restore, TR_SYSTEM, TR_RESTORE_PART);
    }
    if (error == 0) {
        error = write_entries(restore, folder);
    }
    if (error == 0) {
        error = tr_restore_live(restore);
    }
    if (error == 0) {
        error = finish(restore, folder);
    }
    close(folder);
    return error;
}
