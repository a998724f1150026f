/*
 * The store's files: whether they may be opened, by whom, and how.
 *
 * A file that is not ours must not change. SQLite writes even when it is only asked to read: it
 * rolls back an unfinished transaction of another program, and copies a log into its database. So
 * the first bytes of the file are read through SQLite's VFS before any statement runs. They can be
 * trusted because a store is created, application id included, in one transaction before it begins
 * to use a log.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/journal/store_folder.h"
#include "runtime/sqlite/sqlite.h"
#include "runtime/sqlite/sqlite_internal.h"

/* The database's header: https://sqlite.org/fileformat2.html, section 1.3. */
#define HEADER_BYTES 100
#define HEADER_PAGE_BYTES_AT 16
#define HEADER_FORMAT_AT 60
#define HEADER_APPLICATION_AT 68
static const char magic[16] = "SQLite format 3";

/* Bytes rewritten at once. */
#define AGAIN_BYTES 16384

/* Bytes of a path as a URI: each byte may be three. */
#define URI_BYTES (3 * TRI_SQLITE_PATH_BYTES + 32)

/* What the first bytes of a database's file say. */
enum file_kind {
    FILE_IS_EMPTY, /* empty: a store may be created here */
    FILE_IS_STORE, /* ours, in a supported version */
};

/* Where a restore prepares a database (deploy/backup/restore.h). */
#define RESTORE_PART "restore.part"

/* Files and folders of an engine, which show that it was here. */
static const char *const remains[] = {
    TRI_SQLITE_FILE "-wal", "attempts", "blobs", "cache", "checkpoints", "graphs", "keeper.log",
};

/* ---- A database that is missing where a store was. ------------------------------------------ */

/*
 * A new database in its place would silently lose everything. An engine makes its other files after
 * its database, so they are checked first: an engine that starts meanwhile is not taken for a loss.
 */

static bool has_entries(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry = NULL;
    bool has_any = false;
    while (folder != NULL && !has_any && (entry = readdir(folder)) != NULL) {
        has_any = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return has_any;
}

static bool has_anything(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        return false;
    }
    return S_ISDIR(status.st_mode) ? has_entries(path) : status.st_size > 0;
}

/* Appends the names of the remaining files, separated by commas. */
static void list_remains(const char *folder, char *names, size_t size)
{
    char path[TRI_SQLITE_PATH_BYTES + 16];
    size_t used = 0;
    names[0] = '\0';
    for (size_t i = 0; i < TR_COUNT_OF(remains); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, remains[i]);
        if (has_anything(path) && used < size) {
            int added =
                snprintf(names + used, size - used, "%s%s", used > 0 ? ", " : "", remains[i]);
            used += added > 0 ? (size_t)added : 0;
        }
    }
}

static int check_lost(struct tri_sqlite *self, const char *folder)
{
    struct stat status;
    char names[128];
    char part[TRI_SQLITE_PATH_BYTES + sizeof RESTORE_PART];
    (void)snprintf(part, sizeof part, "%s/" RESTORE_PART, folder);
    list_remains(folder, names, sizeof names);
    bool is_there = stat(self->path, &status) == 0;
    bool is_missing = is_there ? S_ISREG(status.st_mode) && status.st_size == 0 : errno == ENOENT;
    if (is_missing && access(part, F_OK) == 0) {
        return tri_sqlite_report(
            self, TR_STORE_DAMAGED,
            "%s: is missing, but a restore into its folder was interrupted; say "
            "`troupe restore` again",
            self->path);
    }
    if (names[0] == '\0' || !is_missing) {
        return 0;
    }
    return tri_sqlite_report(
        self, TR_STORE_DAMAGED,
        "%s: %s, but there was a store here, which has left %s; restore the file "
        "from a copy, or remove these for a new store",
        self->path, is_there ? "is empty" : "is missing", names);
}

/* ---- The first bytes. ------------------------------------------------------------------------ */

static uint32_t big_endian_32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static sqlite3_file *main_file(struct tri_sqlite *self)
{
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(self->database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    return code == SQLITE_OK && file != NULL && file->pMethods != NULL ? file : NULL;
}

static int say_foreign(struct tri_sqlite *self, const char *found)
{
    return tri_sqlite_report(self, TR_STORE_FOREIGN,
                             "%s: is not a store of Troupe but %s; choose "
                             "another folder (the file was not changed)",
                             self->path, found);
}

/* The page size in the header; 1 stands for 65536. */
static uint32_t page_bytes_of(const uint8_t *header)
{
    uint32_t bytes = (uint32_t)header[HEADER_PAGE_BYTES_AT] << 8 | header[HEADER_PAGE_BYTES_AT + 1];
    return bytes == 1 ? 65536 : bytes;
}

int tri_sqlite_check_format(struct tri_sqlite *self, uint32_t format)
{
    if (format > TRI_SQLITE_FORMAT) {
        return tri_sqlite_report(self, TR_STORE_NEWER,
                                 "%s: has format %u, and this version knows "
                                 "formats up to %d; use the version that wrote it",
                                 self->path, format, TRI_SQLITE_FORMAT);
    }
    return format == 0 ? tri_sqlite_damaged(self, "it says format 0") : 0;
}

static int judge_header(struct tri_sqlite *self, const uint8_t *header)
{
    if (memcmp(header, magic, sizeof magic) != 0) {
        return say_foreign(self, "a file of another kind");
    }
    uint32_t application = big_endian_32(header + HEADER_APPLICATION_AT);
    if (application == TRI_SQLITE_APPLICATION_ID_UNRELEASED) {
        return tri_sqlite_report(
            self, TR_STORE_FOREIGN,
            "%s: is a store of an unreleased version of Troupe, which no release "
            "reads; finish its executions with the program that wrote it, and "
            "choose another folder (the file was not changed)",
            self->path);
    }
    if (application != TRI_SQLITE_APPLICATION_ID) {
        return say_foreign(self, "another program's SQLite database");
    }
    int error = tri_sqlite_check_format(self, big_endian_32(header + HEADER_FORMAT_AT));
    if (error == 0 && page_bytes_of(header) < 512) {
        error = tri_sqlite_damaged(self, "its pages have no size");
    }
    if (error == 0) {
        self->page_bytes = page_bytes_of(header);
    }
    return error;
}

/*
 * Whether the creation of a store was interrupted: only zeros so far, and SQLite's journal beside
 * it.
 */
static bool is_unfinished(struct tri_sqlite *self, const char *vfs_name, const uint8_t *header)
{
    static const uint8_t zeros[HEADER_BYTES];
    char path[TRI_SQLITE_PATH_BYTES + 16];
    sqlite3_vfs *vfs = sqlite3_vfs_find(vfs_name);
    int found = 0;
    (void)snprintf(path, sizeof path, "%s-journal", self->path);
    return memcmp(header, zeros, sizeof zeros) == 0 && vfs != NULL &&
           vfs->xAccess(vfs, path, SQLITE_ACCESS_EXISTS, &found) == SQLITE_OK && found != 0;
}

static int judge_file(struct tri_sqlite *self, const char *vfs, enum file_kind *kind)
{
    sqlite3_file *file = main_file(self);
    sqlite3_int64 size = 0;
    if (file == NULL) {
        return tri_sqlite_error(self, SQLITE_CANTOPEN, "opening it");
    }
    int error = tri_sqlite_error(self, file->pMethods->xFileSize(file, &size), "measuring it");
    if (error != 0) {
        return error;
    }
    if (size == 0) {
        *kind = FILE_IS_EMPTY;
        return 0;
    }
    uint8_t header[HEADER_BYTES] = {0};
    int code = file->pMethods->xRead(file, header, sizeof header, 0);
    /*
     * SQLite fills a short read with zeros. So a short file is judged by its zeros below, and only
     * one that begins like a database is a torn one.
     */
    if (code != SQLITE_IOERR_SHORT_READ) {
        error = tri_sqlite_error(self, code, "reading its header");
    } else if (memcmp(header, magic, sizeof magic) == 0) {
        error = tri_sqlite_damaged(self, "it ends within its header");
    }
    if (error == 0 && !is_unfinished(self, vfs, header)) {
        error = judge_header(self, header);
    }
    if (error == 0) {
        *kind = FILE_IS_STORE;
    }
    return error;
}

/* ---- Where nothing may be written. ----------------------------------------------------------- */

/*
 * Such as a read-only mount or another user's folder. SQLite needs files beside a database with a
 * log; a store that was closed has no log, and is opened as immutable. That is valid until an
 * engine starts on it: a command that reads again checks for that first.
 */

/* The status of the store's path with a suffix; all zeros if it does not exist. */
static struct stat status_of(const struct tri_sqlite *self, const char *ending)
{
    char path[TRI_SQLITE_PATH_BYTES + 8];
    struct stat status;
    (void)snprintf(path, sizeof path, "%s%s", self->path, ending);
    return stat(path, &status) == 0 ? status : (struct stat){.st_size = 0};
}

static void write_uri(const struct tri_sqlite *self, char uri[URI_BYTES])
{
    size_t size = (size_t)snprintf(uri, URI_BYTES, "file:");
    for (const char *at = self->path; *at != '\0'; at++) {
        bool is_plain = strchr("%?#", *at) == NULL;
        size += is_plain ? (size_t)snprintf(uri + size, URI_BYTES - size, "%c", *at)
                         : (size_t)snprintf(uri + size, URI_BYTES - size, "%%%02X", *at);
    }
    (void)snprintf(uri + size, URI_BYTES - size, "?immutable=1");
}

/* Opens a store again as immutable, without files beside it. */
static int open_immutable(struct tri_sqlite *self)
{
    char uri[URI_BYTES];
    if (status_of(self, "-wal").st_size > 0) {
        return tri_sqlite_report(
            self, TR_STORE_FAILED,
            "%s: was not closed properly, and its log cannot be read where nothing "
            "may be written; copy the folder to where you may write, and look "
            "there",
            self->path);
    }
    int code = sqlite3_close(self->database);
    TR_ASSERT(code == SQLITE_OK);
    self->database = NULL;
    self->seen = status_of(self, "");
    write_uri(self, uri);
    code = sqlite3_open_v2(
        uri, &self->database,
        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    self->is_immutable = true;
    return tri_sqlite_error(self, code, "opening it");
}

bool tri_sqlite_is_stale(const struct tri_sqlite *self)
{
    struct stat now = status_of(self, "");
    return self->is_immutable &&
           (status_of(self, "-wal").st_ino != 0 || now.st_ino != self->seen.st_ino ||
            now.st_size != self->seen.st_size || now.st_mtim.tv_sec != self->seen.st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != self->seen.st_mtim.tv_nsec);
}

/* ---- Opening. -------------------------------------------------------------------------------- */

/*
 * A new database is readable by its owner alone, whatever the umask; the files beside it get its
 * mode. Errors are reported by the opening that follows.
 */
static void make_private(const struct tri_sqlite *self)
{
    int fd = open(self->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        close(fd);
    }
}

/*
 * Each allocation of the library would take a lock of all threads, to count what nobody asks for.
 * What began the library before may have chosen otherwise, and then it stays so.
 */
static void begin_library(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static int open_connection(struct tri_sqlite *self, const char *vfs)
{
    static pthread_once_t has_begun = PTHREAD_ONCE_INIT;
    (void)pthread_once(&has_begun, begin_library);
    if (!self->read_only && vfs == NULL) {
        make_private(self);
    }
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    flags |= self->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int code = sqlite3_open_v2(self->path, &self->database, flags, vfs);
    sqlite3_vfs *system = sqlite3_vfs_find(vfs);
    int found = 1;
    if (code != SQLITE_OK && self->read_only && system != NULL &&
        system->xAccess(system, self->path, SQLITE_ACCESS_EXISTS, &found) == SQLITE_OK && !found) {
        return tri_sqlite_report(self, TR_NOT_FOUND, "%s: there is no store yet", self->path);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_busy_timeout(self->database, TR_STORE_BUSY_MS);
    }
    return tri_sqlite_error(self, code, "opening it");
}

/* Whether reading failed because the files beside the database cannot be made. */
static bool cannot_open_more(const struct tri_sqlite *self)
{
    int code = sqlite3_extended_errcode(self->database);
    return (code & 0xff) == SQLITE_CANTOPEN || code == SQLITE_READONLY_DIRECTORY;
}

/* Opens the database's file, and classifies it by its first bytes. */
static int open_file(struct tri_sqlite *self, const char *vfs, enum file_kind *kind)
{
    enum file_kind found = FILE_IS_EMPTY;
    int error = open_connection(self, vfs);
    if (error == 0) {
        error = judge_file(self, vfs, &found);
    }
    if (error == 0 && found == FILE_IS_STORE) {
        /* Any read lets SQLite roll back the interrupted creation, and then the file is empty. */
        error = tri_sqlite_execute(self, "SELECT 1 FROM sqlite_schema LIMIT 1");
        if (error == 0) {
            error = judge_file(self, vfs, &found);
        } else if (sqlite3_extended_errcode(self->database) == SQLITE_READONLY_ROLLBACK) {
            /* A reader may not roll it back. A complete store has no such journal. */
            error = 0;
            found = FILE_IS_EMPTY;
        } else if (self->read_only && vfs == NULL && cannot_open_more(self)) {
            error = open_immutable(self);
        }
    }
    if (error == 0 && found == FILE_IS_EMPTY && self->read_only) {
        error = tri_sqlite_report(self, TR_NOT_FOUND, "%s: there is no store yet", self->path);
    }
    if (error == 0) {
        *kind = found;
    }
    return error;
}

/* The settings of the connection; a new file gets its page size here. */
static int configure(struct tri_sqlite *self)
{
    /*
     * At `process` nothing is synced: written pages are in the kernel and survive kill -9 of the
     * process, and without syncs no checkpoint ever stalls (20 ms with synchronous=NORMAL). Secure
     * deletion, which Debian's SQLite enables, would write each deleted row once more.
     */
    const char *synchronous = self->durability == TR_DURABILITY_FULL ? "FULL" : "OFF";
    char sql[512];
    (void)snprintf(sql, sizeof sql,
                   "PRAGMA page_size=%d;"
                   "PRAGMA synchronous=%s;"
                   "PRAGMA cache_size=-%u;"
                   "PRAGMA journal_size_limit=%llu;"
                   "PRAGMA mmap_size=0;"
                   "PRAGMA temp_store=MEMORY;"
                   "PRAGMA secure_delete=OFF;"
                   "PRAGMA trusted_schema=OFF;"
                   "PRAGMA cell_size_check=ON;",
                   TRI_SQLITE_PAGE_BYTES, synchronous, TR_STORE_CACHE_BYTES / 1024,
                   TR_STORE_LOG_BYTES_MAX);
    return tri_sqlite_execute(self, sql);
}

/* Enables write-ahead logging, which a database keeps. */
static int use_log(struct tri_sqlite *self)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(self->database, "PRAGMA journal_mode=WAL", -1, &statement, NULL);
    if (code != SQLITE_OK) {
        return tri_sqlite_error(self, code, "beginning its log");
    }
    code = sqlite3_step(statement);
    bool is_log = code == SQLITE_ROW && sqlite3_column_text(statement, 0) != NULL &&
                  strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0;
    int error = tri_sqlite_error(self, code, "beginning its log");
    (void)sqlite3_finalize(statement);
    if (error == 0 && !is_log) {
        error = tri_sqlite_report(self, TR_STORE_FAILED,
                                  "%s: its file system does not allow a "
                                  "write-ahead log; put the store on a local disk",
                                  self->path);
    }
    return error;
}

/*
 * Prepares the folder and takes its lock; a store with a VFS has neither. A reader takes no lock:
 * SQLite's own snapshots let it read beside a live engine.
 */
static int prepare_folder(struct tri_sqlite *self, const struct tri_store_options *options)
{
    if (options->vfs != NULL) {
        return 0;
    }
    char explain[TRI_STORE_EXPLAIN_BYTES];
    int error = check_lost(self, options->folder);
    if (error != 0 || options->read_only) {
        return error;
    }
    error = tri_store_folder_make(options->folder, explain);
    if (error == 0) {
        error = tri_store_folder_lock(options->folder, explain, &self->lock_descriptor);
    }
    return error != 0 ? tri_sqlite_report(self, error, "%s", explain) : 0;
}

int tri_sqlite_open_database(struct tri_sqlite *self, const struct tri_store_options *options)
{
    enum file_kind kind;
    int error = prepare_folder(self, options);
    if (error == 0) {
        error = open_file(self, options->vfs, &kind);
    }
    if (error == 0) {
        error = configure(self);
    }
    if (error == 0 && kind == FILE_IS_EMPTY) {
        error = tri_sqlite_create(self);
    }
    if (error == 0 && !self->read_only) {
        error = use_log(self);
    }
    if (error == 0) {
        error = tri_sqlite_check_tables(self);
    }
    return error;
}

/* ---- Syncing. -------------------------------------------------------------------------------- */

int tri_sqlite_sync_file(struct tri_sqlite *self)
{
    sqlite3_file *file = main_file(self);
    if (file == NULL || self->durability != TR_DURABILITY_FULL) {
        return 0;
    }
    return tri_sqlite_error(self, file->pMethods->xSync(file, SQLITE_SYNC_NORMAL), "syncing it");
}

/* Reads bytes of a file and writes them back. */
static int write_again(sqlite3_file *file, sqlite3_int64 offset, int size)
{
    uint8_t bytes[AGAIN_BYTES];
    int code = file->pMethods->xRead(file, bytes, size, offset);
    return code != SQLITE_OK ? code : file->pMethods->xWrite(file, bytes, size, offset);
}

/*
 * A kernel that could not write pages forgets that they are dirty, but still returns them: a commit
 * whose sync failed looks complete to the next engine, which would append its own commits and sync
 * only those, and after a power loss the log would end at the hole. Another sync alone would not
 * help. Rewritten pages are dirty again, so after a successful sync the disk has what was read
 * here. The bytes do not change, so it may be interrupted at any point.
 */
int tri_sqlite_sync_log(struct tri_sqlite *self)
{
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(self->database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (self->durability != TR_DURABILITY_FULL || code != SQLITE_OK || file == NULL ||
        file->pMethods == NULL) {
        return 0;
    }
    sqlite3_int64 size = 0;
    code = file->pMethods->xFileSize(file, &size);
    for (sqlite3_int64 at = 0; code == SQLITE_OK && at < size; at += AGAIN_BYTES) {
        code = write_again(file, at, size - at < AGAIN_BYTES ? (int)(size - at) : AGAIN_BYTES);
    }
    if (code == SQLITE_OK && size > 0) {
        code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    }
    return tri_sqlite_error(self, code, "syncing its log");
}
