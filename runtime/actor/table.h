/*
 * The worker's table from keys to slots.
 *
 * Serials of one group are consecutive, and actors spawned together are addressed together: so the
 * table keeps blocks of 64 consecutive serials, found by a hash of the block. A lookup is one step
 * in a small table and one load, and neighbours share cache lines.
 */
#ifndef TR_RUNTIME_ACTOR_TABLE_H
#define TR_RUNTIME_ACTOR_TABLE_H

#include "runtime/actor/slab.h"

/* Spawns of one worker that share a block. */
#define TRI_BLOCK_SPAWNS 64

/* The slots of consecutive serials; 0: none. */
struct tri_block {
    uint64_t group;
    uint64_t number; /* of the block among those of its group and worker of origin */
    uint32_t slot;   /* of the block itself */
    uint32_t count;
    uint32_t slots[TRI_BLOCK_SPAWNS];
};

struct tri_table {
    struct tri_slab slab;
    struct tri_block **blocks; /* open addressing; NULL: empty */
    uint32_t mask;
    uint32_t block_count;
    struct tri_block *recent; /* the last found block, or NULL */
};

/* Blocks are taken from `directory`. TR_MEMORY. */
TR_MUST_USE int tri_table_init(struct tri_table *table, struct tri_chunk_directory *directory);
void tri_table_fini(struct tri_table *table);

/* Inserts a key that is not there. TR_MEMORY. */
TR_MUST_USE int tri_table_insert(struct tri_table *table, struct tr_key key, uint32_t slot);

/* Removes an existing key. */
void tri_table_remove(struct tri_table *table, struct tr_key key);

/* The block of a key when it is not the recent one, or NULL. */
struct tri_block *tri_table_block(struct tri_table *table, struct tr_key key);

/*
 * Iterates over all slots, in an order that depends only on the history of the table; 0 at the end.
 * `cursor` begins at 0. The table must not change in between.
 */
uint32_t tri_table_next(const struct tri_table *table, uint64_t *cursor);

/* The block of a key: consecutive spawns of one worker of origin. */
static inline uint64_t tri_block_number(struct tr_key key)
{
    return (key.serial >> 10) << 4 | (key.serial & 15);
}

/* The place of a key in its block. */
static inline uint32_t tri_block_place(struct tr_key key)
{
    return (uint32_t)(key.serial >> 4) & (TRI_BLOCK_SPAWNS - 1);
}

/* The slot of a key, 0 if there is none. */
static inline uint32_t tri_table_find(struct tri_table *table, struct tr_key key)
{
    struct tri_block *block = table->recent;
    if (block == NULL || block->group != key.group || block->number != tri_block_number(key)) {
        block = tri_table_block(table, key);
    }
    return block == NULL ? 0 : block->slots[tri_block_place(key)];
}

/* A hash of any two numbers. */
static inline uint32_t tri_table_hash(uint64_t a, uint64_t b)
{
    uint64_t mixed = (a ^ b << 24 ^ b >> 40) * 0x9e3779b97f4a7c15U;
    mixed ^= mixed >> 29;
    return (uint32_t)((mixed * 0xbf58476d1ce4e5b9U) >> 32);
}

#endif
