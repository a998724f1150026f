/*
 * What a check of a store finds in its tables, in the same words for every database.
 */
#ifndef TR_RUNTIME_DATABASE_FINDINGS_H
#define TR_RUNTIME_DATABASE_FINDINGS_H

#include "runtime/database/record_table.h"
#include "runtime/journal/store_care.h"

/* Remedies that several findings have. */
#define TRI_REMEDY_BACKUP "restore a backup, or start a new store"
#define TRI_REMEDY_UPGRADE "as the owner of its tables type troupe store upgrade"

/* Counts what is found in the table that is being read. */
struct tri_findings {
    const struct tri_store_checking *checking;
    const char *table;
    uint64_t rows;
    uint64_t count;
};

/* Begins a table; `table` lasts until its end. */
void tri_findings_begin(struct tri_findings *findings, const char *table);

/* Says how far it is; what it returns other than 0 ends the check. */
TR_MUST_USE int tri_findings_go_on(struct tri_findings *findings);

/* Ends it: says how many findings were not told. Without `is_whole` it was not read to its end. */
void tri_findings_end(struct tri_findings *findings, bool is_whole);

/* Tells one (printf), unless there were too many in this table. */
TR_PRINTF(4, 5)
void tri_findings_tell(struct tri_findings *findings, const char *place, const char *remedy,
                       const char *format, ...);

/*
 * Looks at a row of the state: whether it fails its checksum, and if not, whether its contents can
 * be read: images of actors, envelopes of messages, counts of crashes.
 */
void tri_findings_check_row(struct tri_findings *findings, const struct tri_op *op, bool is_intact);

/* Looks whether a graph is what its hash says, which is its name. */
void tri_findings_check_graph(struct tri_findings *findings, struct tr_bytes hash,
                              struct tr_bytes graph);

/* What a column of a record's row has, in the database's type. */
struct tri_found_value {
    bool is_null;
    bool is_other; /* it is of a type that the column does not have */
    struct tri_column_value value;
};

/* Looks whether the record's fields can hold what the columns have, and tells what they cannot. */
void tri_findings_check_record(struct tri_findings *findings, const struct tri_record_table *table,
                               const struct tri_found_value *values);

#endif
