/*
 * Blocks in open addressing with linear probing; a removal closes the gap, so there are no
 * tombstones. An empty block is freed.
 *
 * At most half of the places are used. Blocks are in a slab and never move, so `recent` stays valid
 * while the places grow.
 */
#include "runtime/actor/table.h"

#include <string.h>

#include "runtime/memory.h"

#define TABLE_FIRST 64U
#define TABLE_MOST (1U << 28)

int tri_table_init(struct tri_table *table, struct tri_chunk_directory *directory)
{
    struct tri_block **blocks = tr_alloc_zero(TABLE_FIRST, sizeof(struct tri_block *));
    if (blocks == NULL) {
        return TR_MEMORY;
    }
    *table = (struct tri_table){.blocks = blocks, .mask = TABLE_FIRST - 1};
    tri_slab_init(&table->slab, directory, (sizeof(struct tri_block) + 15) / 16 * 16);
    return 0;
}

void tri_table_fini(struct tri_table *table)
{
    tr_free(table->blocks);
    *table = (struct tri_table){0};
}

/* The place of a block, or the free one for it. */
static uint32_t locate(const struct tri_table *table, uint64_t group, uint64_t number)
{
    uint32_t at = tri_table_hash(group, number) & table->mask;
    while (table->blocks[at] != NULL &&
           (table->blocks[at]->group != group || table->blocks[at]->number != number)) {
        at = (at + 1) & table->mask;
    }
    return at;
}

static int table_grow(struct tri_table *table)
{
    uint32_t size = table->mask + 1;
    if (size >= TABLE_MOST) {
        return TR_LIMIT;
    }
    struct tri_block **before = table->blocks;
    struct tri_block **blocks = tr_alloc_zero((size_t)size * 2, sizeof(struct tri_block *));
    if (blocks == NULL) {
        return TR_MEMORY;
    }
    table->blocks = blocks;
    table->mask = size * 2 - 1;
    for (uint32_t i = 0; i < size; i++) {
        if (before[i] != NULL) {
            blocks[locate(table, before[i]->group, before[i]->number)] = before[i];
        }
    }
    tr_free(before);
    return 0;
}

struct tri_block *tri_table_block(struct tri_table *table, struct tr_key key)
{
    struct tri_block *block = table->blocks[locate(table, key.group, tri_block_number(key))];
    if (block != NULL) {
        table->recent = block;
    }
    return block;
}

/* Adds a new block. */
static struct tri_block *block_new(struct tri_table *table, struct tr_key key)
{
    if (table->block_count >= (table->mask + 1) / 2 && table_grow(table) != 0) {
        return NULL;
    }
    uint32_t slot = tri_slab_take(&table->slab);
    if (slot == 0) {
        return NULL;
    }
    struct tri_block *block = tri_slot_object(table->slab.directory, slot);
    memset(block, 0, sizeof *block);
    block->group = key.group;
    block->number = tri_block_number(key);
    block->slot = slot;
    table->blocks[locate(table, block->group, block->number)] = block;
    table->block_count++;
    table->recent = block;
    return block;
}

int tri_table_insert(struct tri_table *table, struct tr_key key, uint32_t slot)
{
    struct tri_block *block = table->recent;
    if (block == NULL || block->group != key.group || block->number != tri_block_number(key)) {
        block = tri_table_block(table, key);
    }
    if (block == NULL) {
        block = block_new(table, key);
    }
    if (block == NULL) {
        return TR_MEMORY;
    }
    TR_ASSERT(block->slots[tri_block_place(key)] == 0);
    block->slots[tri_block_place(key)] = slot;
    block->count++;
    return 0;
}

/* Removes an empty block; later blocks may move up. */
static void block_free(struct tri_table *table, struct tri_block *block)
{
    uint32_t gap = locate(table, block->group, block->number);
    uint32_t at = gap;
    while (true) {
        at = (at + 1) & table->mask;
        struct tri_block *moved = table->blocks[at];
        if (moved == NULL) {
            break;
        }
        /* A block may move back to the gap unless its home is behind the gap. */
        uint32_t home = tri_table_hash(moved->group, moved->number) & table->mask;
        if (((at - home) & table->mask) >= ((at - gap) & table->mask)) {
            table->blocks[gap] = moved;
            gap = at;
        }
    }
    table->blocks[gap] = NULL;
    table->block_count--;
    table->recent = table->recent == block ? NULL : table->recent;
    tri_slab_give(&table->slab, block->slot);
}

void tri_table_remove(struct tri_table *table, struct tr_key key)
{
    struct tri_block *block = table->recent;
    if (block == NULL || block->group != key.group || block->number != tri_block_number(key)) {
        block = tri_table_block(table, key);
    }
    TR_ASSERT(block != NULL && block->slots[tri_block_place(key)] != 0);
    block->slots[tri_block_place(key)] = 0;
    if (--block->count == 0) {
        block_free(table, block);
    }
}

uint32_t tri_table_next(const struct tri_table *table, uint64_t *cursor)
{
    uint64_t end = ((uint64_t)table->mask + 1) * TRI_BLOCK_SPAWNS;
    while (*cursor < end) {
        const struct tri_block *block = table->blocks[*cursor / TRI_BLOCK_SPAWNS];
        if (block == NULL) {
            *cursor += TRI_BLOCK_SPAWNS;
            continue;
        }
        uint32_t slot = block->slots[(*cursor)++ % TRI_BLOCK_SPAWNS];
        if (slot != 0) {
            return slot;
        }
    }
    return 0;
}
