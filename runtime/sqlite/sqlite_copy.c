/*
 * Copying a database page by page through SQLite's own backup.
 *
 * The source's read transaction is begun before the backup and stays open, so that all steps are of
 * its moment: without it SQLite would begin the copy anew after each commit of the engine.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/sqlite/sqlite.h"
#include "runtime/sqlite/sqlite_copy.h"
#include "runtime/sqlite/sqlite_internal.h"

/* Pages between two looks at the log: 1 MiB. */
#define STEP_PAGES 256

struct copying {
    const struct tri_store_copying *wish;
    struct tri_sqlite *source;
    sqlite3 *copy;
    sqlite3_backup *backup;
    char *explain;
};

static uint64_t log_bytes(const struct copying *copying)
{
    char path[TRI_SQLITE_PATH_BYTES + 8];
    struct stat status;
    (void)snprintf(path, sizeof path, "%s-wal", copying->source->path);
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static int check_log(const struct copying *copying, uint64_t begun_bytes)
{
    uint64_t bytes = log_bytes(copying);
    if (bytes <= begun_bytes || bytes < copying->wish->log_bytes_max) {
        return 0;
    }
    (void)snprintf(copying->explain, TRI_STORE_EXPLAIN_BYTES,
                   "%.300s: its log has reached %llu bytes while it was copied; copy to a faster "
                   "disk, or when the engine has less to do",
                   copying->source->path, (unsigned long long)bytes);
    return TR_BUSY;
}

/* A failed step is the source's or the copy's; a full disk is always the copy's. */
static int fail_step(const struct copying *copying, int code)
{
    int error = tri_sqlite_error(copying->source, code, "copying it");
    if (error == TR_STORE_FULL) {
        (void)snprintf(copying->explain, TRI_STORE_EXPLAIN_BYTES,
                       "%.400s: there is no room for a copy of the database", copying->wish->path);
    } else {
        (void)snprintf(copying->explain, TRI_STORE_EXPLAIN_BYTES, "%s", copying->source->words);
    }
    return error;
}

static int tell(const struct copying *copying)
{
    const struct tri_store_copying *wish = copying->wish;
    uint64_t total = (uint64_t)sqlite3_backup_pagecount(copying->backup);
    uint64_t left = (uint64_t)sqlite3_backup_remaining(copying->backup);
    uint64_t page_bytes = copying->source->page_bytes;
    return wish->progress == NULL
               ? 0
               : wish->progress(wish->self, (total - left) * page_bytes, total * page_bytes);
}

static int copy_pages(const struct copying *copying)
{
    uint64_t begun_bytes = log_bytes(copying);
    int code = SQLITE_OK;
    int error = 0;
    while (error == 0 && code == SQLITE_OK) {
        code = sqlite3_backup_step(copying->backup, STEP_PAGES);
        if (code != SQLITE_OK && code != SQLITE_DONE) {
            return fail_step(copying, code);
        }
        error = tell(copying);
        if (error == 0 && code == SQLITE_OK) {
            error = check_log(copying, begun_bytes);
        }
    }
    return error;
}

/* Takes hold of the moment. */
static int take_moment(const struct copying *copying)
{
    struct tri_sqlite *source = copying->source;
    int error = tri_sqlite_run(source, TRI_SQL_BEGIN_READ);
    if (error == 0) {
        error =
            tri_sqlite_read_host(source, &source->store.incarnation, &source->store.last_number);
    }
    if (error != 0) {
        (void)snprintf(copying->explain, TRI_STORE_EXPLAIN_BYTES, "%s", source->words);
    }
    return error;
}

/* The copy is nobody's until it is whole: it needs no journal and no sync. */
static int open_copy(struct copying *copying)
{
    int code = sqlite3_open_v2(copying->wish->path, &copying->copy,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                   SQLITE_OPEN_EXRESCODE,
                               NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_exec(copying->copy, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL,
                            NULL, NULL);
    }
    if (code == SQLITE_OK) {
        copying->backup =
            sqlite3_backup_init(copying->copy, "main", copying->source->database, "main");
    }
    if (copying->backup != NULL) {
        return 0;
    }
    (void)snprintf(copying->explain, TRI_STORE_EXPLAIN_BYTES, "%.300s: cannot be written (%s)",
                   copying->wish->path,
                   copying->copy != NULL ? sqlite3_errmsg(copying->copy) : sqlite3_errstr(code));
    return TR_STORE_FAILED;
}

/* What the copy still has in memory is written here. */
static int finish(const struct copying *copying, int error)
{
    int code = sqlite3_backup_finish(copying->backup);
    if (error == 0 && code != SQLITE_OK) {
        error = fail_step(copying, code);
    }
    return error;
}

int tri_sqlite_copy(const struct tri_store_copying *wish, char *explain)
{
    struct tri_store *store;
    struct copying copying = {.wish = wish, .explain = explain};
    struct tri_store_options options = {.folder = wish->folder,
                                        .durability = TR_DURABILITY_PROCESS,
                                        .read_only = true,
                                        .records = wish->records,
                                        .record_count = wish->record_count};
    int error = tri_sqlite_open(&options, explain, &store);
    if (error != 0) {
        return error;
    }
    copying.source = tri_sqlite_of(store);
    error = take_moment(&copying);
    if (error == 0) {
        error = open_copy(&copying);
    }
    if (error == 0) {
        error = finish(&copying, copy_pages(&copying));
    }
    (void)sqlite3_close(copying.copy);
    tri_sqlite_rollback(copying.source);
    tri_store_close(store);
    return error;
}
