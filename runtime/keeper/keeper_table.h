/*
 * The keeper's keys: a table in memory and the phases of a key. Pure: no clock, no file, no
 * process; the log is read into it, and the simulator can drive it.
 *
 *     NEW -ask-> STARTING -start-> RUNNING -end-> ENDED -forget-> FORGOTTEN
 *                   |-----------------------end----^
 *
 * A change that the transitions do not allow is refused and changes nothing. One thread.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_TABLE_H
#define TR_RUNTIME_KEEPER_KEEPER_TABLE_H

#include "schemas/runtime/process.h"

/* The events of a key. */
enum tri_key_event {
    TRI_KEY_ASK,    /* a process is requested */
    TRI_KEY_START,  /* its process runs */
    TRI_KEY_END,    /* it ended, or could not be started */
    TRI_KEY_FORGET, /* the engine has stored the end */
    TRI_KEY_REFUSE, /* the request cannot be logged: as if it had never been made */
    TRI_KEY_EVENT_COUNT
};

/* The phase that follows; TR_INVALID where the event cannot happen. */
TR_MUST_USE int tri_key_next_phase(enum tr_process_phase phase, enum tri_key_event event,
                                   enum tr_process_phase *next);

/* One key. Read-only; changed by the functions below only. */
struct tri_key_entry {
    enum tr_process_phase phase;
    uint32_t pid; /* 0 while there is none */
    bool may_run; /* its launch was logged */
    uint64_t start_time;
    uint64_t started_ms;
    uint64_t end_number;         /* ends are numbered in order, from 1 */
    size_t log_bytes;            /* bytes of this key's records in the log */
    struct tr_process_ended end; /* its texts belong to the entry */
    struct tr_text key;
    struct tr_bytes after; /* the command behind its end, until that; or empty */
    void *child;           /* belongs to the user; NULL at first */

    /* Used by the table: the hash chain, and one of the two lists below. */
    struct tri_key_entry *next_in_bucket;
    struct tri_key_entry *previous;
    struct tri_key_entry *next;
    uint64_t hash;
    char *reason;
    uint8_t *after_bytes;
    char key_bytes[];
};

/* A list of entries, in the order of insertion. */
struct tri_key_list {
    struct tri_key_entry *first;
    struct tri_key_entry *last;
    size_t count;
};

struct tri_key_table {
    struct tri_key_entry **buckets;
    size_t bucket_count;
    size_t keys_max;
    struct tri_key_list live;  /* STARTING and RUNNING */
    struct tri_key_list ended; /* ENDED */
    uint64_t end_number;       /* of the last end */
    size_t forgotten_bytes;    /* garbage in the log: a rewrite drops it */
};

/* An empty table for at most `keys_max` keys. TR_MEMORY. */
TR_MUST_USE int tri_key_table_init(struct tri_key_table *table, size_t keys_max);

/* Frees all entries, whatever their phase. */
void tri_key_table_fini(struct tri_key_table *table);

/* The entry of a key, or NULL for one that is new or forgotten. */
struct tri_key_entry *tri_key_table_find(const struct tri_key_table *table, struct tr_text key);

/*
 * Adds a new key. Errors: TR_EXISTS (in any phase), TR_INVALID (an empty key), TR_LIMIT (a key too
 * long), TR_BUSY (too many keys), TR_MEMORY.
 */
TR_MUST_USE int tri_key_table_ask(struct tri_key_table *table, struct tr_text key,
                                  struct tri_key_entry **entry);

/* Keeps a copy of the command that is run behind its end; empty: none. TR_MEMORY. */
TR_MUST_USE int tri_key_table_after(struct tri_key_entry *entry, struct tr_bytes after);

/* Its process is about to be launched. TR_INVALID unless it is STARTING. */
TR_MUST_USE int tri_key_table_launch(struct tri_key_entry *entry);

/* Its process runs. TR_INVALID unless it is STARTING. */
TR_MUST_USE int tri_key_table_start(struct tri_key_table *table, struct tri_key_entry *entry,
                                    const struct tr_process_started *started);

/* Its process ended; the texts are copied. TR_INVALID unless STARTING or RUNNING; TR_MEMORY. */
TR_MUST_USE int tri_key_table_end(struct tri_key_table *table, struct tri_key_entry *entry,
                                  const struct tr_process_ended *ended);

/* The machine was restarted: unsynced ends become LOST, since their outputs may be lost. */
void tri_key_table_restarted(struct tri_key_table *table);

/* Drops an ended key; the entry is freed. TR_INVALID unless ENDED. */
TR_MUST_USE int tri_key_table_forget(struct tri_key_table *table, struct tri_key_entry *entry);

/* Drops a key as if it had never been requested; the entry is freed. TR_INVALID unless STARTING. */
TR_MUST_USE int tri_key_table_refuse(struct tri_key_table *table, struct tri_key_entry *entry);

#endif
