/*
 * Reading: the contents of all groups or of a range of them, one page, one cell, graphs, or counts
 * of crashes.
 *
 * All loading statements have the same columns, and every row is checked against its checksum
 * before it is passed on. Loading runs in one transaction, so that a reader beside a live engine
 * sees one snapshot. Actors and pages are two tables in the same order, which are merged.
 */
#include <string.h>

#include "runtime/memory.h"
#include "runtime/sqlite/sqlite_internal.h"

struct load {
    struct tri_sqlite *store;
    struct tri_group_range range;
    const struct tri_store_visitor *visitor;
};

/* A statement and its current row. */
struct walk {
    struct tri_sqlite *store;
    sqlite3_stmt *statement;
    enum tri_op_kind kind;
    bool at_row;
    struct tri_op op;
};

/* Reads the columns that every loading statement has, and checks them. */
static int read_row(struct walk *walk)
{
    sqlite3_stmt *row = walk->statement;
    struct tri_op op = {
        .kind = walk->kind,
        .key = {(uint64_t)sqlite3_column_int64(row, 0), (uint64_t)sqlite3_column_int64(row, 1)},
        .incarnation = (uint32_t)sqlite3_column_int64(row, 2),
        .type = (uint16_t)sqlite3_column_int64(row, 3),
        .number = (uint64_t)sqlite3_column_int64(row, 4),
        .data = {.data = sqlite3_column_blob(row, 5), .size = (size_t)sqlite3_column_bytes(row, 5)},
    };
    if (op.data.size > 0 && op.data.data == NULL) {
        return tri_sqlite_error(walk->store, SQLITE_NOMEM, "reading a row");
    }
    /* In the first format the receiver is none of a message's columns, and not in its checksum. */
    uint64_t to_group = (uint64_t)sqlite3_column_int64(row, 7);
    op.to_group = walk->store->format == TRI_SQLITE_FORMAT_BY_SENDER ? 0 : to_group;
    if (sqlite3_column_int64(row, 6) != tri_checksum(walk->kind, &op)) {
        return tri_sqlite_damaged(walk->store, "a row fails its checksum");
    }
    op.to_group = to_group;
    walk->op = op;
    return 0;
}

static int walk_next(struct walk *walk)
{
    int code = sqlite3_step(walk->statement);
    walk->at_row = code == SQLITE_ROW;
    int error = tri_sqlite_error(walk->store, code, "reading");
    return error == 0 && walk->at_row ? read_row(walk) : error;
}

/*
 * Keys are signed in the tables. A key below 0 can only be damage: the range that begins at 0 takes
 * it in, so that it is found.
 */
static void bind_range(sqlite3_stmt *statement, struct tri_group_range range)
{
    sqlite3_int64 first = range.first > INT64_MAX ? INT64_MAX : (sqlite3_int64)range.first;
    sqlite3_int64 last = range.last > INT64_MAX ? INT64_MAX : (sqlite3_int64)range.last;
    (void)sqlite3_bind_int64(statement, 1, first == 0 ? INT64_MIN : first);
    (void)sqlite3_bind_int64(statement, 2, last);
}

static int walk_begin(struct walk *walk, const struct load *load, enum tri_sql sql,
                      enum tri_op_kind kind)
{
    *walk = (struct walk){.store = load->store, .kind = kind};
    int error = tri_sqlite_statement(load->store, sql, &walk->statement);
    if (error == 0) {
        bind_range(walk->statement, load->range);
        error = walk_next(walk);
    }
    return error;
}

static void walk_end(struct walk *walk)
{
    walk->at_row = false;
    (void)sqlite3_reset(walk->statement); /* NULL is fine */
}

/* Passes on the rows of a table. */
static int visit_all(const struct load *load, enum tri_sql sql, enum tri_op_kind kind,
                     int (*tell)(void *, const struct tri_op *))
{
    if (tell == NULL) {
        return 0;
    }
    struct walk walk;
    int error = walk_begin(&walk, load, sql, kind);
    while (error == 0 && walk.at_row) {
        error = tell(load->visitor->self, &walk.op);
        if (error == 0) {
            error = walk_next(&walk);
        }
    }
    walk_end(&walk);
    return error;
}

/* Passes on the pages of the current actor. */
static int visit_pages(struct walk *pages, const struct tri_op *actor,
                       const struct tri_store_visitor *visitor)
{
    int error = 0;
    while (error == 0 && pages->at_row && tr_key_equal(pages->op.key, actor->key)) {
        error = visitor->page(visitor->self, &pages->op);
        if (error == 0) {
            error = walk_next(pages);
        }
    }
    return error;
}

/*
 * A merge of two sorted tables. Pages are in the order of actors and every page has an actor, so
 * the next page belongs to the current actor or to a later one. A page that remains at the end, or
 * whose actor was passed, has no owner. Memory stays constant, whatever the size of the store.
 */
static int visit_actors_and_pages(const struct load *load)
{
    const struct tri_store_visitor *visitor = load->visitor;
    struct walk pages;
    struct walk actors = {0};
    int error = walk_begin(&pages, load, TRI_SQL_LOAD_PAGES, TRI_OP_PUT_PAGE);
    if (error == 0) {
        error = walk_begin(&actors, load, TRI_SQL_LOAD_ACTORS, TRI_OP_PUT_ACTOR);
    }
    while (error == 0 && actors.at_row) {
        error = visitor->actor(visitor->self, &actors.op);
        if (error == 0) {
            error = visit_pages(&pages, &actors.op, visitor);
        }
        if (error == 0) {
            error = walk_next(&actors);
        }
    }
    if (error == 0 && pages.at_row) {
        error = tri_sqlite_damaged(load->store, "a page belongs to no actor");
    }
    walk_end(&actors);
    walk_end(&pages);
    return error;
}

static int tell_actors(const struct load *load)
{
    const struct tri_store_visitor *visitor = load->visitor;
    if (visitor->actor != NULL && visitor->page != NULL) {
        return visit_actors_and_pages(load);
    }
    int error = visit_all(load, TRI_SQL_LOAD_ACTORS, TRI_OP_PUT_ACTOR, visitor->actor);
    return error != 0 ? error : visit_all(load, TRI_SQL_LOAD_PAGES, TRI_OP_PUT_PAGE, visitor->page);
}

/*
 * Checks the structure of a table's pages. Checksums detect changed rows, but a changed page may
 * also lose rows. It takes about as long as reading the table.
 *
 * The check is part of the same transaction as the loading, so both see the same pages.
 */
int tri_sqlite_check_structure(struct tri_sqlite *self, enum tri_sql sql)
{
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_statement(self, sql, &statement);
    if (error != 0) {
        return error;
    }
    error = tri_sqlite_error(self, sqlite3_step(statement), "checking a table");
    const char *found = (const char *)sqlite3_column_text(statement, 0);
    if (error == 0 && (found == NULL || strcmp(found, "ok") != 0)) {
        const char *line = found != NULL ? strchr(found, '\n') : NULL; /* after a headline */
        error = tri_sqlite_damaged(self, line != NULL ? line + 1 : "the check of a table failed");
    }
    (void)sqlite3_reset(statement);
    return error;
}

/* Checks the tables that the visitor reads, and the cells, which it does not. */
static int check_structures(struct tri_sqlite *self, const struct tri_store_visitor *visitor)
{
    const struct {
        enum tri_sql sql;
        bool is_wanted;
    } checks[] = {
        {TRI_SQL_CHECK_COUNTERS, visitor->counter != NULL},
        {TRI_SQL_CHECK_ACTORS, visitor->actor != NULL},
        {TRI_SQL_CHECK_PAGES, visitor->page != NULL},
        {TRI_SQL_CHECK_MESSAGES, visitor->message != NULL},
        {TRI_SQL_CHECK_META, true},
        {TRI_SQL_CHECK_CRASHES, self->has_later_tables},
    };
    int error = 0;
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(checks); i++) {
        error = checks[i].is_wanted ? tri_sqlite_check_structure(self, checks[i].sql) : 0;
    }
    return error;
}

enum tri_sql tri_sqlite_load_messages(const struct tri_sqlite *self)
{
    return self->format == TRI_SQLITE_FORMAT_BY_SENDER ? TRI_SQL_LOAD_MESSAGES_BY_SENDER
                                                       : TRI_SQL_LOAD_MESSAGES;
}

static int tell_groups(const struct load *load)
{
    const struct tri_store_visitor *visitor = load->visitor;
    int error = visit_all(load, TRI_SQL_LOAD_COUNTERS, TRI_OP_PUT_COUNTER, visitor->counter);
    if (error == 0) {
        error = tell_actors(load);
    }
    if (error == 0) {
        error = visit_all(load, tri_sqlite_load_messages(load->store), TRI_OP_PUT_MESSAGE,
                          visitor->message);
    }
    return error;
}

int tri_sqlite_load(struct tri_store *store, struct tri_group_range range,
                    const struct tri_store_visitor *visitor)
{
    struct tri_sqlite *self = tri_sqlite_of(store);
    const struct load load = {.store = self, .range = range, .visitor = visitor};
    bool is_all = range.first == 0 && range.last == UINT64_MAX;
    uint64_t incarnation = 0;
    uint64_t last_number = 0;
    int error = tri_sqlite_run(self, TRI_SQL_BEGIN_READ);
    if (error == 0) {
        error = tri_sqlite_read_format(self);
    }
    if (error == 0) {
        error = tri_sqlite_read_host(self, &incarnation, &last_number);
    }
    /* A writer's numbers were set by its opening; a reader takes those of the snapshot. */
    if (error == 0 && self->read_only) {
        store->incarnation = incarnation;
        store->last_number = last_number;
    }
    if (error == 0 && is_all) {
        error = check_structures(self, visitor);
    }
    if (error == 0) {
        error = tell_groups(&load);
    }
    tri_sqlite_rollback(self);
    return error;
}

int tri_sqlite_visit_some(struct tri_sqlite *self, enum tri_sql sql, enum tri_op_kind kind,
                          uint64_t number, int (*tell)(void *self, const struct tri_op *op),
                          void *target)
{
    struct walk walk = {.store = self, .kind = kind};
    int error = tri_sqlite_statement(self, sql, &walk.statement);
    int count = error == 0 ? sqlite3_bind_parameter_count(walk.statement) : 0;
    if (count == 1) {
        (void)sqlite3_bind_int64(walk.statement, 1, (sqlite3_int64)number);
    } else if (count == 2) {
        bind_range(walk.statement, tri_all_groups);
    }
    if (error == 0) {
        error = walk_next(&walk);
    }
    while (error == 0 && walk.at_row) {
        error = tell(target, &walk.op);
        if (error == 0) {
            error = walk_next(&walk);
        }
    }
    walk_end(&walk);
    return error;
}

/* Copies the data of the statement's single row. */
static int copy_row(struct tri_sqlite *self, enum tri_sql sql, const struct tri_op *wanted,
                    void *buffer, size_t capacity, size_t *size)
{
    struct walk walk = {.store = self, .kind = wanted->kind};
    int error = tri_sqlite_statement(self, sql, &walk.statement);
    if (error != 0) {
        return error;
    }
    if (wanted->kind == TRI_OP_PUT_PAGE) {
        (void)sqlite3_bind_int64(walk.statement, 1, (sqlite3_int64)wanted->key.group);
        (void)sqlite3_bind_int64(walk.statement, 2, (sqlite3_int64)wanted->key.serial);
    }
    (void)sqlite3_bind_int64(walk.statement, 3, (sqlite3_int64)wanted->number);
    error = walk_next(&walk);
    if (error == 0 && !walk.at_row) {
        error = tri_sqlite_report(self, TR_NOT_FOUND, "%s: there is no such row", self->path);
    } else if (error == 0 && walk.op.data.size > capacity) {
        error = tri_sqlite_report(self, TR_LIMIT,
                                  "%s: a row of %zu bytes is asked for with room for "
                                  "%zu",
                                  self->path, walk.op.data.size, capacity);
    }
    if (error == 0) {
        if (walk.op.data.size > 0) {
            memcpy(buffer, walk.op.data.data, walk.op.data.size);
        }
        *size = walk.op.data.size;
    }
    walk_end(&walk);
    return error;
}

int tri_sqlite_read_page(struct tri_store *store, struct tr_key key, uint64_t number, void *buffer,
                         size_t capacity, size_t *size)
{
    struct tri_op wanted = {.kind = TRI_OP_PUT_PAGE, .key = key, .number = number};
    return copy_row(tri_sqlite_of(store), TRI_SQL_READ_PAGE, &wanted, buffer, capacity, size);
}

int tri_sqlite_read_meta(struct tri_store *store, uint64_t cell, void *buffer, size_t capacity,
                         size_t *size)
{
    struct tri_op wanted = {.kind = TRI_OP_PUT_META, .number = cell};
    return copy_row(tri_sqlite_of(store), TRI_SQL_READ_META, &wanted, buffer, capacity, size);
}

/* Copies the blob in the first column of the current row. */
static int copy_blob(struct tri_sqlite *self, sqlite3_stmt *row, uint8_t **data, size_t *size)
{
    const void *bytes = sqlite3_column_blob(row, 0);
    size_t count = (size_t)sqlite3_column_bytes(row, 0);
    uint8_t *copy = bytes != NULL || count == 0 ? tr_alloc(count + 1) : NULL;
    if (copy == NULL) {
        return tri_sqlite_error(self, SQLITE_NOMEM, "reading a graph");
    }
    if (count > 0) {
        memcpy(copy, bytes, count);
    }
    *data = copy;
    *size = count;
    return 0;
}

int tri_sqlite_read_graph(struct tri_store *store, const uint8_t *hash, uint8_t **data,
                          size_t *size)
{
    struct tri_sqlite *self = tri_sqlite_of(store);
    sqlite3_stmt *statement = NULL;
    int error = self->has_later_tables ? tri_sqlite_statement(self, TRI_SQL_READ_GRAPH, &statement)
                                       : TR_NOT_FOUND;
    if (error == 0) {
        (void)sqlite3_bind_blob(statement, 1, hash, TRI_GRAPH_HASH_BYTES, SQLITE_STATIC);
        int code = sqlite3_step(statement);
        error =
            code == SQLITE_DONE ? TR_NOT_FOUND : tri_sqlite_error(self, code, "reading a graph");
    }
    if (error == 0) {
        error = copy_blob(self, statement, data, size);
    }
    (void)sqlite3_reset(statement); /* NULL is fine */
    return error == TR_NOT_FOUND
               ? tri_sqlite_report(self, error, "%s: there is no such graph", self->path)
               : error;
}

/* The current row of a list of graphs. */
static int tell_graph(struct tri_sqlite *self, sqlite3_stmt *row,
                      int (*each)(void *, const struct tri_graph_entry *), void *target)
{
    struct tri_graph_entry graph = {
        .hash = sqlite3_column_blob(row, 0),
        .put_ms = (uint64_t)sqlite3_column_int64(row, 1),
        .bytes = (uint64_t)sqlite3_column_int64(row, 2),
    };
    return graph.hash != NULL && sqlite3_column_bytes(row, 0) == TRI_GRAPH_HASH_BYTES
               ? each(target, &graph)
               : tri_sqlite_damaged(self, "a graph has no hash");
}

int tri_sqlite_list_graphs(struct tri_store *store, const uint8_t *after, size_t limit,
                           int (*each)(void *self, const struct tri_graph_entry *graph),
                           void *target)
{
    struct tri_sqlite *self = tri_sqlite_of(store);
    sqlite3_stmt *statement = NULL;
    if (!self->has_later_tables) {
        return 0;
    }
    int error = tri_sqlite_statement(self, TRI_SQL_LIST_GRAPHS, &statement);
    if (error != 0) {
        return error;
    }
    (void)sqlite3_bind_blob(statement, 1, after != NULL ? (const void *)after : "",
                            after != NULL ? TRI_GRAPH_HASH_BYTES : 0, SQLITE_STATIC);
    (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)limit);
    int code = SQLITE_ROW;
    while (error == 0 && code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        error = tri_sqlite_error(self, code, "listing graphs");
        if (error == 0 && code == SQLITE_ROW) {
            error = tell_graph(self, statement, each, target);
        }
    }
    (void)sqlite3_reset(statement);
    return error;
}

int tri_sqlite_list_crashes(struct tri_store *store,
                            int (*each)(void *self, const struct tri_op *op), void *target)
{
    struct tri_sqlite *self = tri_sqlite_of(store);
    return self->has_later_tables ? tri_sqlite_visit_some(self, TRI_SQL_LIST_CRASHES,
                                                          TRI_OP_PUT_CRASH, 0, each, target)
                                  : 0;
}
