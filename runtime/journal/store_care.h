/*
 * What an operator does to a store beside opening it: what a back end is asked for, and how it
 * answers.
 */
#ifndef TR_RUNTIME_JOURNAL_STORE_CARE_H
#define TR_RUNTIME_JOURNAL_STORE_CARE_H

#include "runtime/journal/store.h"

/* Findings of one table that are told one by one; the others are counted. */
#define TRI_FINDINGS_EACH_MAX 10

/* Something that is not as it should be, in words. */
struct tri_finding {
    const char *place;  /* a table, and a row or column of it: "actors (group 3, serial 9)" */
    const char *what;   /* "the row fails its checksum" */
    const char *remedy; /* what to do about it */
};

/* How a store is checked. All that is read is of one moment, also beside a live engine. */
struct tri_store_checking {
    struct tri_store_options options; /* of whom only the place, records and views count */
    void *self;
    void (*found)(void *self, const struct tri_finding *finding);
    /*
     * Unpacks the state of an actor, and says what is wrong with it in an error; NULL: states are
     * not looked into.
     */
    int (*read_state)(void *self, uint16_t behaviour, uint8_t version, struct tr_bytes state);
    /* So many rows of a table were read so far; what it returns other than 0 ends the check. */
    int (*progress)(void *self, const char *table, uint64_t rows);
    /* A table was read to its end. */
    void (*finished)(void *self, const char *table, uint64_t rows);
};

/* How a store is brought to this program's tables. */
struct tri_store_upgrading {
    struct tri_store_options options;
    void *self;
    /* Told of each change once it is committed: "added the column phase to the table record_x". */
    void (*changed)(void *self, const char *what);
};

#endif
