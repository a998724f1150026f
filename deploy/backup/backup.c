/*
 * Writing a backup: the database into a file beside it, since a tar says first how large a file is;
 * then all entries; then the name.
 */
#include "deploy/backup/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/document/moment.h"
#include "deploy/backup/backup_files.h"
#include "deploy/common/clock.h"
#include "deploy/common/file.h"
#include "deploy/common/program.h"
#include "deploy/common/schemas.h"
#include "deploy/retention/removal_lock.h"
#include "runtime/sqlite/sqlite_copy.h"
#include "schemas/codec/error.h"

/* Where the database of a backup to a pipe is put aside, if $TMPDIR does not say so. */
#define ASIDE_FOLDER "/var/tmp"

struct backup {
    const struct tr_backup_request *request;
    struct tr_tar_writer writer;
    int part; /* what is being written */
    char part_path[PATH_MAX];
    int database;
    char database_path[PATH_MAX]; /* "": it has no name any more */
    uint64_t now_ms;
    char *explain;
};

TR_MUST_USE static int fail(const struct backup *backup, int error, const char *what)
{
    if (backup->explain[0] == '\0') {
        (void)snprintf(backup->explain, TRI_STORE_EXPLAIN_BYTES, "%.300s: %s", what,
                       error == TR_SYSTEM || error == TR_STORE_FULL ? strerror(errno)
                                                                    : tr_error_text(error));
    }
    return error;
}

/* ---- Where it goes. ------------------------------------------------------------------------- */

static int refuse_existing(const struct backup *backup)
{
    (void)snprintf(backup->explain, TRI_STORE_EXPLAIN_BYTES,
                   "%.300s is there already; name another file, or replace it with --force",
                   backup->request->path);
    return TR_EXISTS;
}

/* A part that an earlier backup has left is begun anew, but not one that is being written. */
static int open_part(struct backup *backup)
{
    const struct tr_backup_request *request = backup->request;
    if (request->path == NULL) {
        backup->part = request->descriptor;
        return 0;
    }
    if (!request->replaces && access(request->path, F_OK) == 0) {
        return refuse_existing(backup);
    }
    int size = snprintf(backup->part_path, PATH_MAX, "%s" TR_BACKUP_PART, request->path);
    if (size < 0 || size >= PATH_MAX) {
        return fail(backup, TR_LIMIT, request->path);
    }
    int part = open(backup->part_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_locked = part >= 0 && flock(part, LOCK_EX | LOCK_NB) != 0;
    if (part < 0 || is_locked || fchmod(part, 0600) != 0 || ftruncate(part, 0) != 0) {
        int error = fail(backup, TR_SYSTEM, backup->part_path);
        if (part >= 0) {
            close(part);
        }
        backup->part_path[0] = '\0'; /* somebody else's stays */
        return error;
    }
    backup->part = part;
    return 0;
}

/* It gets its name, which nobody has got meanwhile. */
static int give_name(struct backup *backup)
{
    const struct tr_backup_request *request = backup->request;
    if (fsync(backup->part) != 0) {
        return fail(backup, TR_SYSTEM, backup->part_path);
    }
    if (!request->replaces && access(request->path, F_OK) == 0) {
        return refuse_existing(backup);
    }
    if (rename(backup->part_path, request->path) != 0) {
        return fail(backup, TR_SYSTEM, request->path);
    }
    backup->part_path[0] = '\0';
    int error = tr_file_sync_name(request->path);
    return error == 0 ? 0 : fail(backup, error, request->path);
}

/* ---- The database. -------------------------------------------------------------------------- */

static int copied_pages(void *self, uint64_t done, uint64_t total)
{
    const struct backup *backup = self;
    const struct tr_backup_request *request = backup->request;
    (void)done;
    (void)total;
    return request->progress == NULL ? 0 : request->progress(request->self, 0);
}

/* A file for the database beside the part; of a backup to a pipe, in a folder for such files. */
static int open_database(struct backup *backup)
{
    const char *aside = getenv("TMPDIR");
    if (backup->request->path != NULL) {
        int size = snprintf(backup->database_path, PATH_MAX, "%s" TR_BACKUP_PART ".db",
                            backup->request->path);
        if (size < 0 || size >= PATH_MAX) {
            return fail(backup, TR_LIMIT, backup->request->path);
        }
        (void)unlink(backup->database_path); /* what an earlier one has left */
        backup->database =
            open(backup->database_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    } else {
        (void)snprintf(backup->database_path, PATH_MAX, "%.4000s/troupe-backup-XXXXXX",
                       aside != NULL && aside[0] == '/' ? aside : ASIDE_FOLDER);
        backup->database = mkostemp(backup->database_path, O_CLOEXEC);
    }
    return backup->database < 0 ? fail(backup, TR_SYSTEM, backup->database_path) : 0;
}

static void forget_database_name(struct backup *backup)
{
    if (backup->database_path[0] != '\0') {
        (void)unlink(backup->database_path);
        backup->database_path[0] = '\0';
    }
}

/* From here on the backup is of this moment. */
static int copy_database(struct backup *backup)
{
    int error = open_database(backup);
    if (error != 0) {
        return error;
    }
    const struct tri_store_copying copying = {.folder = backup->request->folder,
                                              .path = backup->database_path,
                                              .records = tr_program_records,
                                              .record_count = tr_program_record_count,
                                              .log_bytes_max = TR_STORE_COPY_LOG_BYTES_MAX,
                                              .self = backup,
                                              .progress = copied_pages};
    error = tri_sqlite_copy(&copying, backup->explain);
    forget_database_name(backup);
    return error;
}

static int add_database(struct backup *backup)
{
    struct stat status;
    struct tr_tar_entry entry = {.kind = TR_TAR_FILE,
                                 .path = "troupe.db",
                                 .mode = 0600,
                                 .modified_s = backup->now_ms / 1000};
    if (fstat(backup->database, &status) != 0) {
        return fail(backup, TR_SYSTEM, entry.path);
    }
    entry.size = (uint64_t)status.st_size;
    return tr_tar_add(&backup->writer, &entry, backup->database);
}

/* ---- All of it. ----------------------------------------------------------------------------- */

static int add_head(struct backup *backup)
{
    struct tr_buffer text;
    const struct tr_moment now = {.seconds = (int64_t)(backup->now_ms / 1000)};
    tr_buffer_init(&text, 0);
    tr_buffer_print(&text, TR_BACKUP_FORM "%d\nprogram %s\ntaken ", TR_BACKUP_VERSION,
                    TR_PROGRAM_VERSION);
    tr_moment_print(now, &text);
    tr_buffer_print(&text, "\nstore %s\n", backup->request->folder);
    int error = text.error;
    if (error == 0) {
        error = tr_tar_add_bytes(&backup->writer, TR_BACKUP_HEAD, tr_buffer_bytes(&text),
                                 backup->now_ms / 1000);
    }
    tr_buffer_fini(&text);
    return error;
}

static int write_entries(struct backup *backup)
{
    const struct tr_backup_request *request = backup->request;
    backup->writer.self = request->self;
    backup->writer.step = request->progress;
    int error = add_head(backup);
    if (error == 0) {
        error = add_database(backup);
    }
    if (error == 0) {
        error = tr_backup_add_files(&backup->writer, request->folder, backup->explain);
    }
    if (error == 0) {
        error = tr_tar_finish(&backup->writer, backup->now_ms / 1000);
    }
    if (backup->writer.error != 0) {
        errno = backup->writer.number;
        return fail(backup, error,
                    request->path != NULL ? backup->part_path : "the backup cannot be written");
    }
    return error;
}

static int write_all(struct backup *backup)
{
    int error = open_part(backup);
    if (error == 0) {
        error = copy_database(backup);
    }
    if (error == 0) {
        error = tr_tar_writer_init(&backup->writer, backup->part);
    }
    if (error == 0) {
        error = write_entries(backup);
    }
    if (error == 0 && backup->request->path != NULL) {
        error = give_name(backup);
    }
    return error;
}

static void backup_fini(struct backup *backup)
{
    tr_tar_writer_fini(&backup->writer);
    forget_database_name(backup);
    if (backup->part_path[0] != '\0') {
        (void)unlink(backup->part_path);
    }
    if (backup->part >= 0 && backup->request->path != NULL) {
        (void)close(backup->part);
    }
    if (backup->database >= 0) {
        (void)close(backup->database);
    }
}

/* A folder without one is left as it is; why it is none, the copying says. */
static bool has_database(const struct tr_backup_request *request)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%.4000s/troupe.db", request->folder);
    return access(path, F_OK) == 0;
}

/* Nobody removes anything from now on, until the lock is closed. */
static int bar_removals(const struct tr_backup_request *request, char *explain, int *lock)
{
    int error = tr_removal_lock_take(request->folder, TR_REMOVAL_BARRED, explain, lock);
    while (error == TR_STORE_LOCKED && request->wait != NULL) {
        error = request->wait(request->self);
        if (error == 0) {
            error = tr_removal_lock_take(request->folder, TR_REMOVAL_BARRED, explain, lock);
        }
    }
    return error;
}

int tr_backup(const struct tr_backup_request *request, char *explain)
{
    struct backup backup = {.request = request,
                            .part = -1,
                            .database = -1,
                            .now_ms = tr_clock_wall_ms(),
                            .explain = explain};
    int lock = -1;
    int error = has_database(request) ? bar_removals(request, explain, &lock) : 0;
    if (error == 0) {
        explain[0] = '\0';
        error = write_all(&backup);
    }
    backup_fini(&backup);
    if (lock >= 0) {
        close(lock);
    }
    return error;
}
