/*
 * The PostgreSQL store: opening and closing.
 *
 * Opening checks in this order and stops at the first error: the library, the locator, the server,
 * the schema and whose it is, the lock, the records' versions. Only then, and only for writing, the
 * incarnation is raised, which fences off earlier openers of the store.
 */
#include "runtime/postgres/postgres.h"

#include <stdio.h>
#include <string.h>

#include <unistd.h>

#include "runtime/journal/store_folder.h"
#include "runtime/memory.h"
#include "runtime/postgres/postgres_internal.h"

/* How long a server is waited for that is told that this host ends. */
#define LEAVE_MS 3000

static const char *explain_store(struct tri_store *store)
{
    return tri_postgres_of(store)->words;
}

/* The server keeps its tables in order by itself. */
static int maintain_store(struct tri_store *store)
{
    return tri_postgres_of(store)->broken;
}

static void release_store_memory(struct tri_store *store)
{
    tri_arrays_fini(&tri_postgres_of(store)->arrays);
}

/*
 * Also closes a partly opened store. The end of the session releases the database's lock; that of
 * the folder is released last, so that no other engine uses it meanwhile.
 */
static void close_store(struct tri_store *store)
{
    struct tri_postgres *self = tri_postgres_of(store);
    if (self->is_claimed && self->connection != NULL && self->broken == 0) {
        self->patience_ms = LEAVE_MS;
        (void)!tri_postgres_leave(self); /* else it is waited for */
    }
    tri_postgres_disconnect(self);
    tri_postgres_records_fini(self);
    tri_arrays_fini(&self->arrays);
    if (self->commits_descriptor >= 0) {
        (void)close(self->commits_descriptor);
    }
    if (self->lock_descriptor >= 0) {
        (void)close(self->lock_descriptor);
    }
    tr_free(self->locator);
    tr_free(self);
}

static const struct tri_store_ops postgres_ops = {
    .name = "postgres",
    .commit = tri_postgres_commit,
    .load = tri_postgres_load,
    .read_page = tri_postgres_read_page,
    .read_meta = tri_postgres_read_meta,
    .read_graph = tri_postgres_read_graph,
    .list_graphs = tri_postgres_list_graphs,
    .list_crashes = tri_postgres_list_crashes,
    .maintain = maintain_store,
    .release_memory = release_store_memory,
    .explain = explain_store,
    .close = close_store,
};

static int check_options(struct tri_postgres *self, const struct tri_store_options *options)
{
    if (options->locator == NULL || (options->durability != TR_DURABILITY_PROCESS &&
                                     options->durability != TR_DURABILITY_FULL)) {
        return tri_postgres_report(self, TR_INVALID,
                                   "a store in PostgreSQL needs a locator, and durability process "
                                   "or full");
    }
    int error = tri_postgres_check_locator(options->locator, self->words);
    if (error != 0) {
        return error;
    }
    self->library = tri_libpq_load();
    self->locator = tr_text_copy(tr_text_of(options->locator));
    return self->locator != NULL
               ? 0
               : tri_postgres_report(self, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
}

/* A reader only checks whether it can read the store. */
static int check_readable(struct tri_postgres *self)
{
    struct tri_fence_row host = {0};
    int error = tri_postgres_read_host(self, false, &host);
    if (error != 0) {
        return error;
    }
    self->store.incarnation = host.incarnation;
    self->store.last_number = host.last_number;
    return tri_postgres_records_upgrade(self);
}

/* The folder has what belongs to this machine, for one engine at a time. */
static int lock_folder(struct tri_postgres *self, const struct tri_store_options *options)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    if (options->folder == NULL || options->read_only) {
        return 0;
    }
    int error = tri_store_folder_make(options->folder, explain);
    if (error == 0) {
        error = tri_store_folder_lock(options->folder, explain, &self->lock_descriptor);
    }
    if (error == 0) {
        error = tri_store_folder_open_commits(options->folder, explain, &self->commits_descriptor);
    }
    return error != 0 ? tri_postgres_report(self, error, "%s", explain) : 0;
}

static int find_and_claim(struct tri_postgres *self)
{
    int error = tri_postgres_find_tables(self);
    return error != 0 || self->read_only ? error : tri_postgres_take_over(self);
}

static int begin_store(struct tri_postgres *self, const struct tri_store_options *options)
{
    int error = check_options(self, options);
    if (error == 0) {
        error = lock_folder(self, options);
    }
    if (error == 0) {
        error = tri_postgres_records_init(self, options);
    }
    return error != 0 ? error : tri_postgres_connect(self);
}

/* tri_postgres_begin; `patience_ms` is that of a reader of moments, or 0. */
static int begin(const struct tri_store_options *options, int patience_ms, const char *task,
                 int (*proceed)(struct tri_postgres *self), char *explain,
                 struct tri_postgres **begun)
{
    struct tri_postgres *self = tr_alloc_zero(1, sizeof *self);
    if (self == NULL) {
        if (explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_error_text(TR_MEMORY));
        }
        return TR_MEMORY;
    }
    self->store.ops = &postgres_ops;
    self->lock_descriptor = -1;
    self->commits_descriptor = -1;
    self->task = task;
    self->durability = options->durability;
    self->read_only = options->read_only;
    self->views = options->views;
    self->member = options->member;
    self->takes_over = options->takes_over;
    self->partitions = options->partitions;
    self->patience_ms = patience_ms;
    (void)snprintf(self->place, sizeof self->place, "the database");
    (void)tri_postgres_report(self, 0, "no error so far");
    int error = begin_store(self, options);
    if (error == 0) {
        error = proceed(self);
    }
    if (error == 0) {
        *begun = self;
        return 0;
    }
    if (explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", self->words);
    }
    close_store(&self->store);
    return error;
}

int tri_postgres_begin(const struct tri_store_options *options, const char *task,
                       int (*proceed)(struct tri_postgres *self), char *explain,
                       struct tri_postgres **begun)
{
    return begin(options, 0, task, proceed, explain, begun);
}

int tri_postgres_open(const struct tri_store_options *options, char *explain,
                      struct tri_store **store)
{
    struct tri_postgres *self = NULL;
    int error = begin(options, 0, options->read_only ? "reading" : "opening", find_and_claim,
                      explain, &self);
    if (error != 0) {
        return error;
    }
    struct tri_store *opened = &self->store;
    if (!options->read_only) {
        error = tri_postgres_log_open(self, options, &opened);
    } else if (!options->is_settled) {
        error = tri_postgres_log_wait(self, options);
    }
    if (error == 0 && options->read_only) {
        error = check_readable(self);
    }
    if (error == 0) {
        *store = opened;
        return 0;
    }
    if (explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", self->words);
    }
    close_store(&self->store);
    return error;
}

int tri_postgres_open_reading(const struct tri_store_options *options, int patience_ms,
                              const char *task, char *explain, struct tri_postgres **store)
{
    return begin(options, patience_ms, task, tri_postgres_find_tables, explain, store);
}
