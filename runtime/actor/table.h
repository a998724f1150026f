/*
 * The worker's table from keys to slots: open addressing, eight bytes an entry.
 *
 * Serials of one group are born in a row, and an array's parent talks to its children in that row,
 * so the hash keeps runs of 64 serials together: what is next in time is next in memory.
 */
#ifndef TR_RUNTIME_ACTOR_TABLE_H
#define TR_RUNTIME_ACTOR_TABLE_H

#include "schemas/base.h"
#include "schemas/error.h"

struct tri_table_entry {
    uint32_t slot; /* 0: empty */
    uint32_t hash;
};

struct tri_table {
    struct tri_table_entry *entries;
    uint32_t mask;
    uint32_t count;
};

/* How the table reads the key of a slot. */
typedef struct tr_key (*tri_table_key)(const void *owner, uint32_t slot);

TR_MUST_USE int tri_table_init(struct tri_table *table);
void tri_table_fini(struct tri_table *table);

/* Makes room for one more; after that tri_table_insert cannot fail. */
TR_MUST_USE int tri_table_reserve(struct tri_table *table);

/* Inserts a key that is not there. */
void tri_table_insert(struct tri_table *table, struct tr_key key, uint32_t slot);

/* The slot of a key, 0 if there is none. */
uint32_t tri_table_find(const struct tri_table *table, struct tr_key key, tri_table_key key_of,
                        const void *owner);

/* Takes the entry of a slot out; it is there. */
void tri_table_remove(struct tri_table *table, struct tr_key key, uint32_t slot);

/* The hash of a key. */
static inline uint32_t tri_key_hash(struct tr_key key)
{
    uint64_t block = key.serial >> 10; /* 4 bits of worker, 6 within the block */
    uint64_t mixed = (key.group ^ (block << 20) ^ ((key.serial & 15) << 56)) * 0x9e3779b97f4a7c15U;
    mixed ^= mixed >> 29;
    mixed *= 0xbf58476d1ce4e5b9U;
    return (uint32_t)(mixed >> 32) + (uint32_t)((key.serial >> 4) & 63);
}

#endif
