/*
 * The database of the stores that tests make: SQLite's file, or a schema of PostgreSQL's server for
 * tests (tests/support/with_postgres), if TROUPE_TEST_POSTGRES has its locator.
 */
#ifndef TR_TESTS_SUPPORT_STORE_BIND_H
#define TR_TESTS_SUPPORT_STORE_BIND_H

#include "runtime/journal/store.h"

/*
 * Makes a new store with these records, whose folder is bound to a schema of its own, if there is
 * such a server. A failure ends the program with words.
 */
void store_bind(const char *folder, const struct tr_schema *const *records, size_t record_count);

/*
 * Whether a test that is about SQLite's file has to be skipped; says that, and counts it where the
 * server was started.
 */
bool store_is_elsewhere(const char *test, const char *reason);

#endif
