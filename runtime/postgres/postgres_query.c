/*
 * Queries of readers (record_query.h) on a connection: their values as parameters, and statements
 * that are kept.
 *
 * The latest statements are kept by their text, on the connection that has prepared them. What is
 * kept is the reading of the text; a plan is made for the values of each query.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "runtime/memory.h"
#include "runtime/postgres/postgres_glob.h"
#include "runtime/postgres/postgres_internal.h"

/* PostgreSQL's numbers of types, which never change. */
#define TYPE_BYTES 17
#define TYPE_INTEGER 20
#define TYPE_TEXT 25
#define TYPE_INTEGERS 1016

/*
 * U+FFFD, which is stored in the place of U+0000. It also stands for bytes that are no UTF-8, which
 * the server takes nowhere and no stored text has: people may type them.
 */
static const char replacement[] = "\xef\xbf\xbd";

/* --- Values. --- */

/* A copy of the text as it is stored. */
static char *copy_as_stored(struct tr_text text, size_t *size)
{
    char *made = tr_alloc(text.size * (sizeof replacement - 1) + 1);
    size_t at = 0;
    for (size_t i = 0; made != NULL && i < text.size;) {
        struct tr_text rest = {.data = text.data + i, .size = text.size - i};
        size_t width = rest.data[0] != '\0' ? tr_utf8_width(rest) : 0;
        bool is_kept = width > 0;
        memcpy(made + at, is_kept ? rest.data : replacement,
               is_kept ? width : sizeof replacement - 1);
        at += is_kept ? width : sizeof replacement - 1;
        i += is_kept ? width : 1;
    }
    if (made != NULL) {
        made[at] = '\0';
        *size = at;
    }
    return made;
}

static void set_value(struct tri_postgres_values *values, size_t i, Oid type, const void *data,
                      size_t size)
{
    values->types[i] = type;
    values->values[i] = data;
    values->sizes[i] = (int)size;
    values->formats[i] = type != TYPE_INTEGERS;
}

static int set_text(struct tri_postgres_values *values, size_t i,
                    const struct tri_query_value *value)
{
    struct tr_text text = {.data = (const char *)value->bytes.data, .size = value->bytes.size};
    bool is_glob = value->op == TR_FILTER_GLOB;
    bool is_as_stored =
        text.size == 0 || (memchr(text.data, 0, text.size) == NULL && tr_utf8_valid(text));
    if (!is_glob && is_as_stored) {
        set_value(values, i, TYPE_TEXT, text.size > 0 ? text.data : "", text.size);
        return 0;
    }
    values->made[i] = copy_as_stored(text, &text.size);
    if (values->made[i] != NULL && is_glob) {
        char *pattern = values->made[i];
        values->made[i] = tri_postgres_glob((struct tr_text){.data = pattern, .size = text.size});
        tr_free(pattern);
        text.size = values->made[i] != NULL ? strlen(values->made[i]) : 0;
    }
    set_value(values, i, TYPE_TEXT, values->made[i], text.size);
    return values->made[i] != NULL ? 0 : TR_MEMORY;
}

/* The bits that are set, as an array: {1,5}. */
static int set_bits(struct tri_postgres_values *values, size_t i, uint64_t bits)
{
    size_t size = 0;
    char *made = tr_alloc(256);
    values->made[i] = made;
    if (made == NULL) {
        return TR_MEMORY;
    }
    made[size++] = '{';
    for (unsigned bit = 0; bit < 64; bit++) {
        if ((bits >> bit & 1) != 0) {
            size += (size_t)snprintf(made + size, 256 - size, "%s%u", size > 1 ? "," : "", bit);
        }
    }
    made[size++] = '}';
    made[size] = '\0';
    set_value(values, i, TYPE_INTEGERS, made, size);
    return 0;
}

static int set_one(struct tri_postgres_values *values, size_t i,
                   const struct tri_query_value *value)
{
    if (value->type == TRI_COLUMN_TEXT) {
        return set_text(values, i, value);
    }
    if (value->op == TR_FILTER_BIT) {
        return set_bits(values, i, value->integer);
    }
    if (value->type == TRI_COLUMN_INTEGER) {
        values->numbers[i] = htobe64(value->integer);
        set_value(values, i, TYPE_INTEGER, value->is_unlimited ? NULL : &values->numbers[i],
                  sizeof values->numbers[i]);
        return 0;
    }
    set_value(values, i, TYPE_BYTES, value->bytes.data, value->bytes.size);
    return 0;
}

int tri_postgres_values_init(struct tri_postgres_values *values,
                             const struct tri_record_query *built)
{
    int error = 0;
    memset(values->made, 0, sizeof values->made);
    values->parameters = (struct tri_postgres_parameters){
        .count = built->value_count,
        .types = values->types,
        .values = values->values,
        .sizes = values->sizes,
        .formats = values->formats,
    };
    for (size_t i = 0; error == 0 && i < built->value_count; i++) {
        error = set_one(values, i, &built->values[i]);
    }
    return error;
}

void tri_postgres_values_fini(struct tri_postgres_values *values)
{
    for (size_t i = 0; i < TRI_QUERY_VALUES_MAX; i++) {
        tr_free(values->made[i]);
    }
}

/* --- Kept statements. --- */

void tri_postgres_queries_fini(struct tri_postgres_queries *queries)
{
    for (size_t i = 0; i < TRI_POSTGRES_QUERIES_KEPT; i++) {
        tr_free(queries->sql[i]);
        queries->sql[i] = NULL;
    }
}

static void name_of(size_t place, char name[24])
{
    (void)snprintf(name, 24, "query_%zu", place);
}

/* Makes room in place of the oldest one. */
static int empty_place(struct tri_postgres_queries *queries, struct tri_postgres *self,
                       size_t *place)
{
    char sql[48];
    char name[24];
    *place = queries->next;
    queries->next = (queries->next + 1) % TRI_POSTGRES_QUERIES_KEPT;
    if (queries->sql[*place] == NULL) {
        return 0;
    }
    tr_free(queries->sql[*place]);
    queries->sql[*place] = NULL;
    name_of(*place, name);
    (void)snprintf(sql, sizeof sql, "DEALLOCATE %s", name);
    return tri_postgres_execute(self, sql, "preparing a query");
}

/* The place of a statement with this SQL, which is prepared unless it is. */
static int find_place(struct tri_postgres_queries *queries, struct tri_postgres *self,
                      struct tr_text sql, const struct tri_postgres_parameters *parameters,
                      size_t *place)
{
    char name[24];
    for (size_t i = 0; i < TRI_POSTGRES_QUERIES_KEPT; i++) {
        if (queries->sql[i] != NULL && strcmp(queries->sql[i], sql.data) == 0) {
            *place = i;
            return 0;
        }
    }
    int error = empty_place(queries, self, place);
    if (error != 0) {
        return error;
    }
    char *copy = tr_text_copy(sql);
    if (copy == NULL) {
        return tri_postgres_report(self, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
    }
    name_of(*place, name);
    error = tri_postgres_prepare(self, name, sql.data, parameters);
    if (error != 0) {
        tr_free(copy);
        return error;
    }
    queries->sql[*place] = copy;
    return 0;
}

int tri_postgres_queries_run(struct tri_postgres_queries *queries, struct tri_postgres *self,
                             struct tr_text sql, const struct tri_postgres_parameters *parameters,
                             PGresult **result)
{
    char name[24];
    size_t place = 0;
    if (queries->connection != self->connections) {
        tri_postgres_queries_fini(queries);
        queries->connection = self->connections;
    }
    int error = find_place(queries, self, sql, parameters, &place);
    if (error != 0) {
        return error;
    }
    name_of(place, name);
    return tri_postgres_run_prepared(self, name, parameters, "reading records", result);
}
