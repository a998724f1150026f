/*
 * The store in PostgreSQL: one schema of a database, behind runtime/journal/store.h.
 */
#ifndef TR_RUNTIME_POSTGRES_POSTGRES_H
#define TR_RUNTIME_POSTGRES_POSTGRES_H

#include "runtime/journal/reader.h"
#include "runtime/members/registry.h"

/* Whether a locator is one of PostgreSQL's: postgresql://… or postgres://…; NULL is none. */
bool tri_postgres_is_locator(const char *locator);

/*
 * Whether libpq takes a locator of PostgreSQL. TR_INVALID, whose words in `explain`
 * (TRI_STORE_EXPLAIN_BYTES) show nothing that may be a part of a password, as libpq's own might;
 * TR_STORE_FAILED without libpq.
 */
TR_MUST_USE int tri_postgres_check_locator(const char *locator, char *explain);

/*
 * Opens the store that `options->locator` names: any URI of libpq. Its schema is the first of
 * `search_path`, or "troupe" if that says none; a missing one is TR_NOT_FOUND. For writing it takes
 * the lock of `options->folder`, unless that is NULL, and the schema's, raises the incarnation and
 * commits that. Errors: those of tri_sqlite_open; TR_STORE_FAILED also for a server that cannot be
 * reached, is older than version 13, or lets us not in. `explain` (TRI_STORE_EXPLAIN_BYTES, or
 * NULL) never has a password.
 */
TR_MUST_USE int tri_postgres_open(const struct tri_store_options *options, char *explain,
                                  struct tri_store **store);

/* The contract of tr_reader_open, for the store that `options->locator` names. */
TR_MUST_USE int tri_postgres_reader_open(const struct tr_reader_options *options, char *explain,
                                         struct tr_reader **reader);

/*
 * Opens the registry of the hosts of the store that `options->locator` names, in a session of its
 * own, which waits a moment for answers and makes a lost connection again. Errors: those of
 * tri_postgres_open for reading. It speaks for no host until it joins, or is told which
 * (tri_registry, self and incarnation).
 */
TR_MUST_USE int tri_postgres_registry_open(const struct tri_store_options *options, char *explain,
                                           struct tri_registry **registry);

/* The contract of tri_store_settle. */
TR_MUST_USE int tri_postgres_settle(const struct tri_store_options *options, uint64_t host,
                                    char *explain);

#endif
