/*
 * Cursors: the rows of a query, some at a time, as many as have taken FETCH_BYTES lately. So memory
 * stays about constant, however many rows there are, and the first ones come soon. They are of the
 * open transaction, whose end ends them as well.
 */
#include <stdio.h>

#include "runtime/postgres/postgres_internal.h"

#define FETCH_BYTES (1U << 20)
#define FETCH_ROWS_FIRST 16
#define FETCH_ROWS_MAX 1024

/* How many rows to fetch next, by what those of the last fetch have taken. */
static int rows_to_fetch(const struct tri_postgres_cursor *cursor)
{
    if (cursor->rows == NULL) {
        return FETCH_ROWS_FIRST;
    }
    size_t each = cursor->bytes / (size_t)cursor->wanted + 1;
    size_t rows = FETCH_BYTES / each;
    size_t most = (size_t)cursor->wanted * 4;
    rows = rows > most ? most : rows;
    return rows > FETCH_ROWS_MAX ? FETCH_ROWS_MAX : rows < 1 ? 1 : (int)rows;
}

static int fetch(struct tri_postgres_cursor *cursor)
{
    struct tri_postgres *self = cursor->store;
    char sql[64];
    int wanted = rows_to_fetch(cursor);
    (void)snprintf(sql, sizeof sql, "FETCH %d FROM %s", wanted, cursor->name);
    self->library->clear(cursor->rows);
    cursor->rows = NULL;
    int error = tri_postgres_run(self, sql, NULL, 1, "reading", &cursor->rows);
    cursor->wanted = wanted;
    cursor->row = 0;
    cursor->bytes = 0;
    return error;
}

int tri_postgres_cursor_next(struct tri_postgres_cursor *cursor)
{
    struct tri_postgres *self = cursor->store;
    int count = cursor->rows != NULL ? self->library->ntuples(cursor->rows) : 0;
    int error = tri_postgres_resume(self);
    cursor->row++;
    if (error == 0 && (cursor->rows == NULL || (cursor->row >= count && count == cursor->wanted))) {
        error = fetch(cursor);
        count = error == 0 ? self->library->ntuples(cursor->rows) : 0;
    }
    cursor->at_row = error == 0 && cursor->row < count;
    return error;
}

int tri_postgres_cursor_begin(struct tri_postgres_cursor *cursor, struct tri_postgres *self,
                              const char *sql, const struct tri_postgres_parameters *parameters)
{
    char whole[TRI_SQL_BYTES + 64];
    PGresult *result = NULL;
    *cursor = (struct tri_postgres_cursor){.store = self};
    (void)snprintf(cursor->name, sizeof cursor->name, "rows_%u", ++self->cursor_count);
    int size =
        snprintf(whole, sizeof whole, "DECLARE %s NO SCROLL CURSOR FOR %s", cursor->name, sql);
    TR_ASSERT(size > 0 && (size_t)size < sizeof whole);
    int error = tri_postgres_run(self, whole, parameters, 1, "reading", &result);
    if (error != 0) {
        return error;
    }
    self->library->clear(result);
    cursor->is_open = true;
    return tri_postgres_cursor_next(cursor);
}

/* An error of closing it is one of the connection, and seen at its next use. */
void tri_postgres_cursor_end(struct tri_postgres_cursor *cursor)
{
    struct tri_postgres *self = cursor->store;
    if (self == NULL) {
        return;
    }
    self->library->clear(cursor->rows);
    cursor->rows = NULL;
    if (cursor->is_open && self->connection != NULL &&
        self->library->transactionStatus(self->connection) == PQTRANS_INTRANS) {
        char sql[64];
        (void)snprintf(sql, sizeof sql, "CLOSE %s", cursor->name);
        (void)!tri_postgres_execute(self, sql, "closing a cursor");
    }
    cursor->is_open = false;
}
