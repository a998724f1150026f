/*
 * A check of a store, as its two files share it: postgres_check.c looks at the schema and at what
 * the role may, postgres_check_rows.c reads the rows.
 */
#ifndef TR_RUNTIME_POSTGRES_CARE_POSTGRES_CHECK_H
#define TR_RUNTIME_POSTGRES_CARE_POSTGRES_CHECK_H

#include "runtime/database/findings.h"
#include "runtime/postgres/postgres_internal.h"

struct tri_postgres_check {
    struct tri_postgres *store;
    struct tri_findings findings;
    PGresult *columns; /* of all tables: table, column, type, whether it has a unique index */
    PGresult *rights;  /* of all tables: table, and whether we may select, insert, update, delete */
};

/* Whether a table is there and may be read. */
bool tri_postgres_may_read(const struct tri_postgres_check *check, const char *table);

/* Reads all rows of the state, and of the records. Errors: of the connection, and progress'. */
TR_MUST_USE int tri_postgres_check_rows(struct tri_postgres_check *check);

#endif
