/*
 * What a keeper knows of its keys: a table in memory and the phases that a key goes through. Pure:
 * no clock, no file, no process; the log is read into it, the simulator can drive it.
 *
 *     NEW -ask-> STARTING -start-> RUNNING -end-> ENDED -forget-> FORGOTTEN
 *                   |-----------------------end----^
 *
 * A change that the phases do not allow is refused and changes nothing. For one thread.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_TABLE_H
#define TR_RUNTIME_KEEPER_KEEPER_TABLE_H

#include "schemas/runtime/process.h"

/* What can happen to a key. */
enum tri_key_event {
    TRI_KEY_ASK,    /* a process is to be started */
    TRI_KEY_START,  /* it runs */
    TRI_KEY_END,    /* it ended, or could not be started */
    TRI_KEY_FORGET, /* the engine has the end in its store */
    TRI_KEY_REFUSE, /* what was asked cannot be written down: as if it had never been asked */
    TRI_KEY_EVENT_COUNT
};

/* The phase that follows; TR_INVALID where the event cannot happen. */
TR_MUST_USE int tri_key_next_phase(enum tr_process_phase phase, enum tri_key_event event,
                                   enum tr_process_phase *next);

/* One key. Read it, but change it by the functions below only. */
struct tri_key_entry {
    enum tr_process_phase phase;
    uint32_t pid; /* 0 while there is none */
    bool may_run; /* it was about to be launched, or was */
    uint64_t start_time;
    uint64_t started_ms;
    uint64_t end_number;         /* ends are numbered in their order, from 1 */
    size_t log_bytes;            /* what this key takes in the log */
    struct tr_process_ended end; /* its texts belong to the entry */
    struct tr_text key;
    void *child; /* the user's own; NULL at first */

    /* The table's: chains of the hash, and the list of the entry's kind (see below). */
    struct tri_key_entry *next_in_bucket;
    struct tri_key_entry *previous;
    struct tri_key_entry *next;
    uint64_t hash;
    char *reason;
    char key_bytes[];
};

/* A list of entries in the order in which they joined it. */
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
    size_t forgotten_bytes;    /* of the log: a new one would not have them */
};

/* An empty table for at most `keys_max` keys. TR_MEMORY. */
TR_MUST_USE int tri_key_table_init(struct tri_key_table *table, size_t keys_max);

/* Frees all entries, whatever their phase. */
void tri_key_table_fini(struct tri_key_table *table);

/* The entry of a key, or NULL for one that is new or forgotten. */
struct tri_key_entry *tri_key_table_find(const struct tri_key_table *table, struct tr_text key);

/*
 * A new key is asked for. Errors: TR_EXISTS (any phase: ask what became of it), TR_INVALID (an
 * empty key), TR_LIMIT (a key too long), TR_BUSY (too many keys), TR_MEMORY.
 */
TR_MUST_USE int tri_key_table_ask(struct tri_key_table *table, struct tr_text key,
                                  struct tri_key_entry **entry);

/* It is about to be launched. TR_INVALID unless it is STARTING. */
TR_MUST_USE int tri_key_table_launch(struct tri_key_entry *entry);

/* It runs. TR_INVALID unless it is STARTING. */
TR_MUST_USE int tri_key_table_start(struct tri_key_table *table, struct tri_key_entry *entry,
                                    const struct tr_process_started *started);

/* It ended; the texts are copied. TR_INVALID unless STARTING or RUNNING; TR_MEMORY. */
TR_MUST_USE int tri_key_table_end(struct tri_key_table *table, struct tri_key_entry *entry,
                                  const struct tr_process_ended *ended);

/*
 * The machine was restarted: what ended before and was not synced may be lost, so that nobody knows
 * what came of it.
 */
void tri_key_table_restarted(struct tri_key_table *table);

/* It is dropped, and the entry is gone. TR_INVALID unless ENDED. */
TR_MUST_USE int tri_key_table_forget(struct tri_key_table *table, struct tri_key_entry *entry);

/* It is as if it had never been asked, and the entry is gone. TR_INVALID unless STARTING. */
TR_MUST_USE int tri_key_table_refuse(struct tri_key_table *table, struct tri_key_entry *entry);

#endif
