/*
 * What operators do to a store in PostgreSQL: making its schema, bringing it to this program's
 * tables, and reading all of it.
 */
#ifndef TR_RUNTIME_POSTGRES_CARE_POSTGRES_CARE_H
#define TR_RUNTIME_POSTGRES_CARE_POSTGRES_CARE_H

#include "runtime/journal/store_care.h"

/* The contracts of tri_store_init, tri_store_upgrade and tri_store_check. */
TR_MUST_USE int tri_postgres_init(const struct tri_store_options *options, char *explain,
                                  bool *was_made);
TR_MUST_USE int tri_postgres_upgrade(const struct tri_store_upgrading *upgrading, char *explain);
TR_MUST_USE int tri_postgres_check(const struct tri_store_checking *checking, char *explain);

#endif
