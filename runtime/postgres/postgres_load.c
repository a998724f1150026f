/*
 * Reading: the whole contents, one page, or one cell.
 *
 * A load is one transaction with one snapshot. Each table is read through a cursor, some rows at a
 * time: as many as have taken FETCH_BYTES lately, so memory stays about constant whatever the size
 * of the store. Actors and pages are two tables in the same order, which are merged. Every row is
 * checked against its checksum before it is passed on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/postgres/postgres_internal.h"

#define FETCH_BYTES (1U << 20)
#define FETCH_ROWS_FIRST 16
#define FETCH_ROWS_MAX 1024

/* The columns of all reading statements. */
enum column {
    COLUMN_GROUP,
    COLUMN_SERIAL,
    COLUMN_INCARNATION,
    COLUMN_TYPE,
    COLUMN_NUMBER,
    COLUMN_DATA,
    COLUMN_CHECKSUM,
};

/* A cursor, the rows it has fetched last, and the current one of them. */
struct walk {
    struct tri_postgres *store;
    const char *cursor;
    enum tri_op_kind kind;
    PGresult *rows;
    int row;
    int wanted;   /* rows of the last fetch, if there were as many */
    size_t bytes; /* of the rows of the last fetch */
    bool at_row;
    struct tri_op op;
};

/* Reads and checks one row; its data is a view into the result. */
static int read_row(struct tri_postgres *self, const PGresult *rows, int row, enum tri_op_kind kind,
                    struct tri_op *op)
{
    struct tri_op made = {
        .kind = kind,
        .key = {tri_postgres_number(self, rows, row, COLUMN_GROUP),
                tri_postgres_number(self, rows, row, COLUMN_SERIAL)},
        .incarnation = (uint32_t)tri_postgres_number(self, rows, row, COLUMN_INCARNATION),
        .type = (uint16_t)tri_postgres_number(self, rows, row, COLUMN_TYPE),
        .number = tri_postgres_number(self, rows, row, COLUMN_NUMBER),
        .data = {.data = (const uint8_t *)tri_postgres_text(self, rows, row, COLUMN_DATA),
                 .size = (size_t)self->library->getlength(rows, row, COLUMN_DATA)},
    };
    if (tri_postgres_number(self, rows, row, COLUMN_CHECKSUM) != tri_checksum(kind, &made)) {
        return tri_postgres_damaged(self, "a row fails its checksum");
    }
    *op = made;
    return 0;
}

/* How many rows to fetch next, by what those of the last fetch have taken. */
static int rows_to_fetch(const struct walk *walk)
{
    if (walk->rows == NULL) {
        return FETCH_ROWS_FIRST;
    }
    size_t each = walk->bytes / (size_t)walk->wanted + 1;
    size_t rows = FETCH_BYTES / each;
    size_t most = (size_t)walk->wanted * 4;
    rows = rows > most ? most : rows;
    return rows > FETCH_ROWS_MAX ? FETCH_ROWS_MAX : rows < 1 ? 1 : (int)rows;
}

static int fetch(struct walk *walk)
{
    struct tri_postgres *self = walk->store;
    char sql[64];
    int wanted = rows_to_fetch(walk);
    (void)snprintf(sql, sizeof sql, "FETCH %d FROM %s", wanted, walk->cursor);
    self->library->clear(walk->rows);
    walk->rows = NULL;
    int error = tri_postgres_query(self, sql, 0, NULL, 1, "reading", &walk->rows);
    walk->wanted = wanted;
    walk->row = 0;
    walk->bytes = 0;
    return error;
}

static int walk_next(struct walk *walk)
{
    struct tri_postgres *self = walk->store;
    int count = walk->rows != NULL ? self->library->ntuples(walk->rows) : 0;
    int error = 0;
    walk->row++;
    if (walk->rows == NULL || (walk->row >= count && count == walk->wanted)) {
        error = fetch(walk);
        count = error == 0 ? self->library->ntuples(walk->rows) : 0;
    }
    walk->at_row = walk->row < count;
    if (error != 0 || !walk->at_row) {
        return error;
    }
    error = read_row(self, walk->rows, walk->row, walk->kind, &walk->op);
    walk->bytes += walk->op.data.size;
    return error;
}

static int walk_begin(struct walk *walk, struct tri_postgres *self, const char *cursor,
                      enum tri_postgres_read read, enum tri_op_kind kind)
{
    char sql[512];
    *walk = (struct walk){.store = self, .cursor = cursor, .kind = kind};
    (void)snprintf(sql, sizeof sql, "DECLARE %s NO SCROLL CURSOR FOR %s", cursor,
                   tri_postgres_read_sql(read));
    int error = tri_postgres_execute(self, sql, "reading");
    return error != 0 ? error : walk_next(walk);
}

static void walk_end(struct walk *walk)
{
    if (walk->store != NULL) {
        walk->store->library->clear(walk->rows);
    }
}

/* Passes on all rows of a table. */
static int visit_all(struct tri_postgres *self, const char *cursor, enum tri_postgres_read read,
                     enum tri_op_kind kind, int (*tell)(void *, const struct tri_op *),
                     void *target)
{
    if (tell == NULL) {
        return 0;
    }
    struct walk walk;
    int error = walk_begin(&walk, self, cursor, read, kind);
    while (error == 0 && walk.at_row) {
        error = tell(target, &walk.op);
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

/* A merge of two sorted tables; a page that is left over, or was passed, has no actor. */
static int visit_actors_and_pages(struct tri_postgres *self,
                                  const struct tri_store_visitor *visitor)
{
    struct walk pages;
    struct walk actors = {0};
    int error = walk_begin(&pages, self, "load_pages", TRI_PG_LOAD_PAGES, TRI_OP_PUT_PAGE);
    if (error == 0) {
        error = walk_begin(&actors, self, "load_actors", TRI_PG_LOAD_ACTORS, TRI_OP_PUT_ACTOR);
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
        error = tri_postgres_damaged(self, "a page belongs to no actor");
    }
    walk_end(&actors);
    walk_end(&pages);
    return error;
}

static int tell_actors(struct tri_postgres *self, const struct tri_store_visitor *visitor)
{
    if (visitor->actor != NULL && visitor->page != NULL) {
        return visit_actors_and_pages(self, visitor);
    }
    int error = visit_all(self, "load_actors", TRI_PG_LOAD_ACTORS, TRI_OP_PUT_ACTOR, visitor->actor,
                          visitor->self);
    if (error == 0) {
        error = visit_all(self, "load_pages", TRI_PG_LOAD_PAGES, TRI_OP_PUT_PAGE, visitor->page,
                          visitor->self);
    }
    return error;
}

static int tell_everything(struct tri_postgres *self, const struct tri_store_visitor *visitor)
{
    int error = visit_all(self, "load_counters", TRI_PG_LOAD_COUNTERS, TRI_OP_PUT_COUNTER,
                          visitor->counter, visitor->self);
    if (error == 0) {
        error = tell_actors(self, visitor);
    }
    if (error == 0) {
        error = visit_all(self, "load_messages", TRI_PG_LOAD_MESSAGES, TRI_OP_PUT_MESSAGE,
                          visitor->message, visitor->self);
    }
    return error;
}

/* Ending the transaction ends its cursors as well. */
int tri_postgres_load(struct tri_store *store, const struct tri_store_visitor *visitor)
{
    struct tri_postgres *self = tri_postgres_of(store);
    struct tri_fence_row host = {0};
    int error = tri_postgres_resume(self);
    if (error == 0) {
        error = tri_postgres_execute(self, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
                                     "reading");
    }
    if (error == 0) {
        error = tri_postgres_read_host(self, false, &host);
    }
    /* A writer's numbers were set by its opening; a reader takes those of the snapshot. */
    if (error == 0 && self->read_only) {
        store->incarnation = host.incarnation;
        store->last_number = host.last_number;
    }
    if (error == 0) {
        error = tell_everything(self, visitor);
    }
    tri_postgres_rollback(self);
    return error;
}

/* Copies the data of the only row of a result. */
static int copy_row(struct tri_postgres *self, const PGresult *rows, enum tri_op_kind kind,
                    void *buffer, size_t capacity, size_t *size)
{
    struct tri_op op = {0};
    if (self->library->ntuples(rows) == 0) {
        return tri_postgres_report(self, TR_NOT_FOUND, "%s: there is no such row", self->place);
    }
    int error = read_row(self, rows, 0, kind, &op);
    if (error == 0 && op.data.size > capacity) {
        error = tri_postgres_report(self, TR_LIMIT,
                                    "%s: a row of %zu bytes is asked for with room for %zu",
                                    self->place, op.data.size, capacity);
    }
    if (error != 0) {
        return error;
    }
    if (op.data.size > 0) {
        memcpy(buffer, op.data.data, op.data.size);
    }
    *size = op.data.size;
    return 0;
}

/* Reads one row, which is found by these numbers. */
static int read_one(struct tri_postgres *self, enum tri_postgres_read read, enum tri_op_kind kind,
                    const uint64_t *numbers, size_t count, void *buffer, size_t capacity,
                    size_t *size)
{
    char texts[3][24];
    const char *parameters[3];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%lld", (long long)numbers[i]);
        parameters[i] = texts[i];
    }
    PGresult *rows = NULL;
    int error = tri_postgres_resume(self);
    if (error == 0) {
        error = tri_postgres_query(self, tri_postgres_read_sql(read), count, parameters, 1,
                                   "reading a row", &rows);
    }
    if (error == 0) {
        error = copy_row(self, rows, kind, buffer, capacity, size);
        self->library->clear(rows);
    }
    return error;
}

int tri_postgres_read_page(struct tri_store *store, struct tr_key key, uint64_t number,
                           void *buffer, size_t capacity, size_t *size)
{
    uint64_t numbers[] = {key.group, key.serial, number};
    return read_one(tri_postgres_of(store), TRI_PG_READ_PAGE, TRI_OP_PUT_PAGE, numbers,
                    TR_COUNT_OF(numbers), buffer, capacity, size);
}

int tri_postgres_read_meta(struct tri_store *store, uint64_t cell, void *buffer, size_t capacity,
                           size_t *size)
{
    return read_one(tri_postgres_of(store), TRI_PG_READ_META, TRI_OP_PUT_META, &cell, 1, buffer,
                    capacity, size);
}
