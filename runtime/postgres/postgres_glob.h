/*
 * Patterns of runtime/trace/glob.h as regular expressions of PostgreSQL.
 */
#ifndef TR_RUNTIME_POSTGRES_POSTGRES_GLOB_H
#define TR_RUNTIME_POSTGRES_POSTGRES_GLOB_H

#include "schemas/codec/base.h"

/*
 * The regular expression that matches the same texts as the pattern, with a closing zero; freed by
 * tr_free. NULL: no memory. Any thread.
 */
char *tri_postgres_glob(struct tr_text pattern);

#endif
