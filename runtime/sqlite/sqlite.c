/*
 * The SQLite store: opening and closing.
 *
 * Opening checks in this order and stops at the first error: the folder, its lock, the file's first
 * bytes, the tables, the records' versions. Only then, and only for writing, the incarnation is
 * raised, which fences off earlier openers of the store.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/memory.h"
#include "runtime/sqlite/sqlite.h"
#include "runtime/sqlite/sqlite_internal.h"

#include <unistd.h>

static const char *explain_store(struct tri_store *store)
{
    return tri_sqlite_of(store)->words;
}

/* Drops SQLite's page cache; most pages are still in the system's. */
static void release_store_memory(struct tri_store *store)
{
    (void)sqlite3_db_release_memory(tri_sqlite_of(store)->database);
}

/*
 * Also closes a partly opened store. The lock is released last, so that no other engine opens the
 * database while this one still checkpoints in sqlite3_close.
 */
static void close_store(struct tri_store *store)
{
    struct tri_sqlite *self = tri_sqlite_of(store);
    for (size_t i = 0; i < TRI_SQL_COUNT; i++) {
        (void)sqlite3_finalize(self->statements[i]);
    }
    tri_sqlite_records_fini(self);
    tri_sqlite_queries_fini(self);
    int code = sqlite3_close(self->database);
    TR_ASSERT(code == SQLITE_OK); /* anything else is a statement that was not finalized */
    if (self->lock_descriptor >= 0) {
        (void)close(self->lock_descriptor);
    }
    tr_free(self);
}

static const struct tri_store_ops sqlite_ops = {
    .name = "sqlite",
    .commit = tri_sqlite_commit,
    .load = tri_sqlite_load,
    .read_page = tri_sqlite_read_page,
    .read_meta = tri_sqlite_read_meta,
    .read_graph = tri_sqlite_read_graph,
    .list_graphs = tri_sqlite_list_graphs,
    .list_crashes = tri_sqlite_list_crashes,
    .maintain = tri_sqlite_maintain,
    .release_memory = release_store_memory,
    .explain = explain_store,
    .close = close_store,
};

/* SQLite calls this after each commit with the size of the log. */
static int log_grew(void *context, sqlite3 *database, const char *name, int pages)
{
    (void)database;
    (void)name;
    struct tri_sqlite *self = context;
    self->log_bytes = (uint64_t)pages * self->page_bytes;
    if (self->log_bytes < self->log_copied_bytes) {
        /*
         * A log shorter than the copied part was restarted by SQLite: nothing of it is copied yet.
         */
        self->log_copied_bytes = 0; /* it was restarted */
    }
    return SQLITE_OK;
}

static int check_options(struct tri_sqlite *self, const struct tri_store_options *options)
{
    if (options->folder == NULL || (options->durability != TR_DURABILITY_PROCESS &&
                                    options->durability != TR_DURABILITY_FULL)) {
        return tri_sqlite_report(self, TR_INVALID,
                                 "a store needs a folder, and durability process or "
                                 "full");
    }
    int size = snprintf(self->path, sizeof self->path, "%s/%s", options->folder, TRI_SQLITE_FILE);
    if (size < 0 || (size_t)size >= sizeof self->path) {
        return tri_sqlite_report(self, TR_INVALID,
                                 "%s: the path is longer than SQLite's limit of %d "
                                 "bytes",
                                 options->folder, TRI_SQLITE_PATH_BYTES);
    }
    return 0;
}

/* Writes the raised incarnation within the open transaction. */
static int raise_host(struct tri_sqlite *self, uint64_t incarnation, uint64_t last_number)
{
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_statement(self, TRI_SQL_RAISE_HOST, &statement);
    if (error != 0) {
        return error;
    }
    struct tri_op host = {.key = {incarnation, last_number}};
    (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)incarnation);
    (void)sqlite3_bind_int64(statement, 2, tri_checksum(0, &host));
    return tri_sqlite_step(self, statement, "raising the incarnation");
}

static int find_pages(struct tri_sqlite *self)
{
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_statement(self, TRI_SQL_HAS_PAGES, &statement);
    if (error == 0) {
        error = tri_sqlite_error(self, sqlite3_step(statement), "looking for pages");
        self->pages_exist = sqlite3_column_int(statement, 0) != 0;
        (void)sqlite3_reset(statement);
    }
    return error;
}

/*
 * Takes over the store: upgrades its tables and raises the incarnation, in one step. The
 * syncs come first: an earlier engine at durability `process`, or one whose sync failed, may have
 * left pages only in the kernel, and this one must not build on them at `full`. The rest is one
 * transaction. So a crash leaves either the old store or one that is upgraded, fenced and ready,
 * and two engines that open at once get different incarnations.
 */
static int take_over(struct tri_sqlite *self)
{
    uint64_t incarnation = 0;
    uint64_t last_number = 0;
    int error = tri_sqlite_sync_file(self);
    if (error == 0) {
        error = tri_sqlite_batch_register(self);
    }
    if (error == 0) {
        error = tri_sqlite_run(self, TRI_SQL_BEGIN_WRITE);
    }
    if (error == 0) {
        error = tri_sqlite_sync_log(self); /* now that no other engine writes to it */
    }
    if (error == 0) {
        error = tri_sqlite_read_host(self, &incarnation, &last_number);
    }
    if (error == 0) {
        error = tri_sqlite_format_upgrade(self);
    }
    if (error == 0) {
        error = tri_sqlite_add_later_tables(self);
    }
    if (error == 0) {
        error = tri_sqlite_records_upgrade(self);
    }
    if (error == 0) {
        error = tri_sqlite_views_upgrade(self);
    }
    if (error == 0) {
        error = find_pages(self);
    }
    if (error == 0) {
        error = raise_host(self, incarnation + 1, last_number);
    }
    if (error == 0) {
        error = tri_sqlite_run(self, TRI_SQL_COMMIT);
    }
    if (error != 0) {
        tri_sqlite_rollback(self);
        return error;
    }
    self->store.incarnation = incarnation + 1;
    self->store.last_number = last_number;
    return 0;
}

/* A reader only checks whether it can read the store. */
static int check_readable(struct tri_sqlite *self)
{
    int error = tri_sqlite_read_host(self, &self->store.incarnation, &self->store.last_number);
    if (error == 0) {
        error = tri_sqlite_find_later_tables(self);
    }
    return error != 0 ? error : tri_sqlite_records_upgrade(self);
}

static int open_store(struct tri_sqlite *self, const struct tri_store_options *options)
{
    int error = check_options(self, options);
    if (error == 0) {
        error = tri_sqlite_records_init(self, options);
    }
    if (error == 0) {
        error = tri_sqlite_open_database(self, options);
    }
    if (error != 0) {
        return error;
    }
    /*
     * The hook is set before take_over, whose commit then reports the size of the log. It also
     * replaces SQLite's automatic checkpoint, which would run inside commits.
     */
    (void)sqlite3_wal_hook(self->database, log_grew, self);
    error = tri_sqlite_format_register(self);
    if (error != 0) {
        return error;
    }
    if (!self->read_only) {
        return take_over(self);
    }
    error = tri_sqlite_log_wait(self, options);
    return error != 0 ? error : check_readable(self);
}

/* Applies what the log of an earlier opening has left, and removes it. */
static int apply_log(struct tri_sqlite *self, const struct tri_store_options *options)
{
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_commit_log *log = NULL;
    int error = tri_sqlite_log_open(self, options, false, &log);
    if (error != 0 || log == NULL) {
        return error;
    }
    error = tri_commit_log_recover(&self->store, log, words);
    if (error != 0) {
        (void)tri_sqlite_report(self, error, "%s", words);
    }
    log->ops->close(log, error == 0);
    return error;
}

/*
 * Puts a log in front of the store. Its files are new: an engine that was shut out while it wrote
 * has the removed ones. The number is for a store that never had a log.
 */
static int begin_log(struct tri_sqlite *self, const struct tri_store_options *options,
                     struct tri_store **store)
{
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_commit_log *log = NULL;
    uint64_t number = 0;
    int error = tri_sqlite_log_open(self, options, true, &log);
    if (error != 0) {
        return error;
    }
    sqlite3_randomness(sizeof number, &number);
    error = tri_commit_log_store(&self->store, log, options->log, number | 1, words, store);
    if (error != 0) {
        (void)tri_sqlite_report(self, error, "%s", words);
        log->ops->close(log, true);
    }
    return error;
}

static int open_log(struct tri_sqlite *self, const struct tri_store_options *options,
                    struct tri_store **store)
{
    int error = apply_log(self, options);
    return error != 0 || options->log == NULL ? error : begin_log(self, options, store);
}

int tri_sqlite_open(const struct tri_store_options *options, char *explain,
                    struct tri_store **store)
{
    struct tri_sqlite *self = tr_alloc_zero(1, sizeof *self);
    if (self == NULL) {
        if (explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_error_text(TR_MEMORY));
        }
        return TR_MEMORY;
    }
    self->store.ops = &sqlite_ops;
    self->lock_descriptor = -1;
    self->page_bytes = TRI_SQLITE_PAGE_BYTES;
    self->durability = options->durability;
    self->read_only = options->read_only;
    self->views = options->views;
    (void)tri_sqlite_report(self, 0, "no error so far");
    struct tri_store *opened = &self->store;
    int error = open_store(self, options);
    if (error == 0 && !self->read_only) {
        error = open_log(self, options, &opened);
    }
    if (error == 0) {
        *store = opened;
        return 0;
    }
    if (explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", self->words);
    }
    if (self->database != NULL) {
        /* A store that could not be opened is not written by closing it either. */
        (void)sqlite3_db_config(self->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    }
    close_store(&self->store);
    return error;
}
