/*
 * Reading: the contents of all groups or of a range of them, one page, one cell, graphs, or counts
 * of crashes.
 *
 * A load is one transaction with one snapshot. Each table is read through a cursor, so memory stays
 * about constant whatever the size of the store. Actors and pages are two tables in the same order,
 * which are merged. Every row is checked against its checksum before it is passed on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "runtime/postgres/postgres_internal.h"

/* The columns of all reading statements. */
enum column {
    COLUMN_GROUP,
    COLUMN_SERIAL,
    COLUMN_INCARNATION,
    COLUMN_TYPE,
    COLUMN_NUMBER,
    COLUMN_DATA,
    COLUMN_CHECKSUM,
    COLUMN_RECEIVER,
};

struct load {
    struct tri_postgres *store;
    const struct tri_postgres_parameters *range; /* of groups */
    const struct tri_store_visitor *visitor;
};

/* The parameters of loading statements: a range of groups, as text. */
struct range {
    char first[24];
    char last[24];
    const char *values[2];
    struct tri_postgres_parameters parameters;
};

/* A cursor and its current row. */
struct walk {
    struct tri_postgres_cursor cursor;
    enum tri_op_kind kind;
    bool at_row;
    struct tri_op op;
};

bool tri_postgres_read_row(struct tri_postgres *self, const PGresult *rows, int row,
                           enum tri_op_kind kind, struct tri_op *op)
{
    *op = (struct tri_op){
        .kind = kind,
        .key = {tri_postgres_number(self, rows, row, COLUMN_GROUP),
                tri_postgres_number(self, rows, row, COLUMN_SERIAL)},
        .incarnation = (uint32_t)tri_postgres_number(self, rows, row, COLUMN_INCARNATION),
        .type = (uint16_t)tri_postgres_number(self, rows, row, COLUMN_TYPE),
        .to_group = tri_postgres_number(self, rows, row, COLUMN_RECEIVER),
        .number = tri_postgres_number(self, rows, row, COLUMN_NUMBER),
        .data = {.data = (const uint8_t *)tri_postgres_text(self, rows, row, COLUMN_DATA),
                 .size = (size_t)self->library->getlength(rows, row, COLUMN_DATA)},
    };
    return tri_postgres_number(self, rows, row, COLUMN_CHECKSUM) == tri_checksum(kind, op);
}

/* Reads and checks one row; its data is a view into the result. */
static int read_row(struct tri_postgres *self, const PGresult *rows, int row, enum tri_op_kind kind,
                    struct tri_op *op)
{
    struct tri_op made;
    if (!tri_postgres_read_row(self, rows, row, kind, &made)) {
        return tri_postgres_damaged(self, "a row fails its checksum");
    }
    *op = made;
    return 0;
}

static int read_current(struct walk *walk)
{
    struct tri_postgres_cursor *cursor = &walk->cursor;
    walk->at_row = cursor->at_row;
    if (!cursor->at_row) {
        return 0;
    }
    int error = read_row(cursor->store, cursor->rows, cursor->row, walk->kind, &walk->op);
    cursor->bytes += walk->op.data.size;
    return error;
}

static int walk_next(struct walk *walk)
{
    int error = tri_postgres_cursor_next(&walk->cursor);
    return error != 0 ? error : read_current(walk);
}

static int walk_begin(struct walk *walk, struct tri_postgres *self, enum tri_postgres_read read,
                      enum tri_op_kind kind, const struct tri_postgres_parameters *parameters)
{
    *walk = (struct walk){.kind = kind};
    int error =
        tri_postgres_cursor_begin(&walk->cursor, self, tri_postgres_read_sql(read), parameters);
    return error != 0 ? error : read_current(walk);
}

static void walk_end(struct walk *walk)
{
    tri_postgres_cursor_end(&walk->cursor);
}

/* Keys are signed in the tables; one below 0 is damage, which the range from 0 on finds. */
static void range_init(struct range *range, struct tri_group_range groups)
{
    int64_t first = groups.first > INT64_MAX ? INT64_MAX : (int64_t)groups.first;
    int64_t last = groups.last > INT64_MAX ? INT64_MAX : (int64_t)groups.last;
    (void)snprintf(range->first, sizeof range->first, "%lld",
                   (long long)(first == 0 ? INT64_MIN : first));
    (void)snprintf(range->last, sizeof range->last, "%lld", (long long)last);
    range->values[0] = range->first;
    range->values[1] = range->last;
    range->parameters = (struct tri_postgres_parameters){.count = 2, .values = range->values};
}

static int visit(struct tri_postgres *self, enum tri_postgres_read read, enum tri_op_kind kind,
                 const struct tri_postgres_parameters *parameters,
                 int (*each)(void *self, const struct tri_op *op), void *target)
{
    struct walk walk;
    int error = walk_begin(&walk, self, read, kind, parameters);
    while (error == 0 && walk.at_row) {
        error = each(target, &walk.op);
        if (error == 0) {
            error = walk_next(&walk);
        }
    }
    walk_end(&walk);
    return error;
}

int tri_postgres_visit(struct tri_postgres *self, enum tri_postgres_read read,
                       enum tri_op_kind kind, const uint64_t *number,
                       int (*each)(void *self, const struct tri_op *op), void *target)
{
    char text[24] = "";
    const char *values[] = {text};
    struct tri_postgres_parameters parameters = {.count = 1, .values = values};
    struct range all;
    if (number != NULL) {
        (void)snprintf(text, sizeof text, "%lld", (long long)*number);
        return visit(self, read, kind, &parameters, each, target);
    }
    range_init(&all, tri_all_groups);
    bool is_of_groups = read <= TRI_PG_LOAD_MESSAGES;
    return visit(self, read, kind, is_of_groups ? &all.parameters : NULL, each, target);
}

/* Passes on the rows of a table. */
static int visit_all(const struct load *load, enum tri_postgres_read read, enum tri_op_kind kind,
                     int (*tell)(void *, const struct tri_op *))
{
    return tell == NULL ? 0
                        : visit(load->store, read, kind, load->range, tell, load->visitor->self);
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
static int visit_actors_and_pages(const struct load *load)
{
    const struct tri_store_visitor *visitor = load->visitor;
    struct tri_postgres *self = load->store;
    struct walk pages;
    struct walk actors = {0};
    int error = walk_begin(&pages, self, TRI_PG_LOAD_PAGES, TRI_OP_PUT_PAGE, load->range);
    if (error == 0) {
        error = walk_begin(&actors, self, TRI_PG_LOAD_ACTORS, TRI_OP_PUT_ACTOR, load->range);
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

static int tell_actors(const struct load *load)
{
    const struct tri_store_visitor *visitor = load->visitor;
    if (visitor->actor != NULL && visitor->page != NULL) {
        return visit_actors_and_pages(load);
    }
    int error = visit_all(load, TRI_PG_LOAD_ACTORS, TRI_OP_PUT_ACTOR, visitor->actor);
    return error != 0 ? error : visit_all(load, TRI_PG_LOAD_PAGES, TRI_OP_PUT_PAGE, visitor->page);
}

static int tell_groups(const struct load *load)
{
    const struct tri_store_visitor *visitor = load->visitor;
    int error = visit_all(load, TRI_PG_LOAD_COUNTERS, TRI_OP_PUT_COUNTER, visitor->counter);
    if (error == 0) {
        error = tell_actors(load);
    }
    if (error == 0) {
        error = visit_all(load, TRI_PG_LOAD_MESSAGES, TRI_OP_PUT_MESSAGE, visitor->message);
    }
    return error;
}

/* Ending the transaction ends its cursors as well. */
int tri_postgres_load(struct tri_store *store, struct tri_group_range groups,
                      const struct tri_store_visitor *visitor)
{
    struct tri_postgres *self = tri_postgres_of(store);
    struct range range;
    const struct load load = {.store = self, .range = &range.parameters, .visitor = visitor};
    range_init(&range, groups);
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
        error = tell_groups(&load);
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
    cell = tri_postgres_cell(tri_postgres_of(store), cell);
    return read_one(tri_postgres_of(store), TRI_PG_READ_META, TRI_OP_PUT_META, &cell, 1, buffer,
                    capacity, size);
}

static void print_hash(const uint8_t *hash, char hex[2 * TRI_GRAPH_HASH_BYTES + 1])
{
    hex[0] = '\0';
    for (size_t i = 0; hash != NULL && i < TRI_GRAPH_HASH_BYTES; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    }
}

/* Copies the only column of the only row. */
static int copy_graph(struct tri_postgres *self, const PGresult *rows, uint8_t **data, size_t *size)
{
    if (self->library->ntuples(rows) == 0) {
        return tri_postgres_report(self, TR_NOT_FOUND, "%s: there is no such graph", self->place);
    }
    size_t count = (size_t)self->library->getlength(rows, 0, 0);
    uint8_t *copy = tr_alloc(count + 1);
    if (copy == NULL) {
        return tri_postgres_report(self, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
    }
    memcpy(copy, self->library->getvalue(rows, 0, 0), count);
    *data = copy;
    *size = count;
    return 0;
}

int tri_postgres_read_graph(struct tri_store *store, const uint8_t *hash, uint8_t **data,
                            size_t *size)
{
    struct tri_postgres *self = tri_postgres_of(store);
    char hex[2 * TRI_GRAPH_HASH_BYTES + 1];
    const char *parameters[] = {hex};
    PGresult *rows = NULL;
    print_hash(hash, hex);
    int error = tri_postgres_resume(self);
    if (error == 0) {
        error = tri_postgres_query(self, tri_postgres_read_sql(TRI_PG_READ_GRAPH), 1, parameters, 1,
                                   "reading a graph", &rows);
    }
    if (error == 0) {
        error = copy_graph(self, rows, data, size);
        self->library->clear(rows);
    }
    return error;
}

static int tell_graph(struct tri_postgres *self, const PGresult *rows, int row,
                      int (*each)(void *, const struct tri_graph_entry *), void *target)
{
    const struct tri_graph_entry graph = {
        .hash = (const uint8_t *)self->library->getvalue(rows, row, 0),
        .put_ms = tri_postgres_number(self, rows, row, 1),
        .bytes = tri_postgres_number(self, rows, row, 2),
    };
    return self->library->getlength(rows, row, 0) == TRI_GRAPH_HASH_BYTES
               ? each(target, &graph)
               : tri_postgres_damaged(self, "a graph has no hash");
}

int tri_postgres_list_graphs(struct tri_store *store, const uint8_t *after, size_t limit,
                             int (*each)(void *self, const struct tri_graph_entry *graph),
                             void *target)
{
    struct tri_postgres *self = tri_postgres_of(store);
    char hex[2 * TRI_GRAPH_HASH_BYTES + 1];
    char most[24];
    const char *parameters[] = {hex, most};
    PGresult *rows = NULL;
    print_hash(after, hex);
    (void)snprintf(most, sizeof most, "%lld", (long long)limit);
    int error = tri_postgres_resume(self);
    if (error == 0) {
        error = tri_postgres_query(self, tri_postgres_read_sql(TRI_PG_LIST_GRAPHS), 2, parameters,
                                   1, "listing graphs", &rows);
    }
    if (error != 0) {
        return error;
    }
    int count = self->library->ntuples(rows);
    for (int row = 0; error == 0 && row < count; row++) {
        error = tell_graph(self, rows, row, each, target);
    }
    self->library->clear(rows);
    return error;
}

int tri_postgres_list_crashes(struct tri_store *store,
                              int (*each)(void *self, const struct tri_op *op), void *target)
{
    struct tri_postgres *self = tri_postgres_of(store);
    PGresult *rows = NULL;
    int error = tri_postgres_resume(self);
    if (error == 0) {
        error = tri_postgres_query(self, tri_postgres_read_sql(TRI_PG_LIST_CRASHES), 0, NULL, 1,
                                   "reading what has ended the process", &rows);
    }
    if (error != 0) {
        return error;
    }
    int count = self->library->ntuples(rows);
    for (int row = 0; error == 0 && row < count; row++) {
        struct tri_op op = {0};
        error = read_row(self, rows, row, TRI_OP_PUT_CRASH, &op);
        if (error == 0) {
            error = each(target, &op);
        }
    }
    self->library->clear(rows);
    return error;
}
