/*
 * Brings the tables of records to the versions of this program's schemas.
 *
 * A schema only grows by fields at its end, so a newer version adds columns, with the same zeros
 * that a reader of an older body would see. `record_schemas` holds the version of each table; one
 * of a newer version is refused.
 */
#ifndef TR_RUNTIME_DATABASE_RECORD_UPGRADE_H
#define TR_RUNTIME_DATABASE_RECORD_UPGRADE_H

#include "runtime/database/record_sql.h"

/* What a back end does for it. */
struct tri_record_upgrade {
    const struct tri_sql_dialect *dialect;
    const char *place; /* how words about an error begin */
    bool read_only;    /* nothing is changed, and older tables are read as they are */
    void *self;
    /* The name and the version of the record with this id, 0 and "" if there is none. */
    int (*read)(void *self, uint16_t id, char name[TRI_RECORD_WORDS_BYTES], uint64_t *version);
    /* Runs statements. */
    int (*execute)(void *self, const char *sql, const char *what);
    /* Sets the words of an error and returns it. */
    int (*report)(void *self, int error, const char *words);
};

/*
 * Compares the schemas with those of the store, and sets the tables' stored versions; within a
 * write transaction it makes missing tables and columns. TR_STORE_NEWER, TR_INVALID (an id that had
 * another name), and those of the back end.
 */
TR_MUST_USE int tri_record_tables_upgrade(const struct tri_record_tables *tables,
                                          const struct tri_record_upgrade *upgrade);

#endif
