/*
 * Open addressing with linear steps; a removal closes the gap, so that there are no tombstones.
 * Entries keep 32 bits of hash, from which their home follows without looking at the actor.
 */
#include "runtime/actor/table.h"

#include "runtime/memory.h"

#define TABLE_FIRST 256U
#define TABLE_MOST (1U << 30)

int tri_table_init(struct tri_table *table)
{
    struct tri_table_entry *entries = tr_alloc_zero(TABLE_FIRST, sizeof *entries);
    if (entries == NULL) {
        return TR_MEMORY;
    }
    *table = (struct tri_table){.entries = entries, .mask = TABLE_FIRST - 1, .count = 0};
    return 0;
}

void tri_table_fini(struct tri_table *table)
{
    tr_free(table->entries);
    *table = (struct tri_table){0};
}

/* Puts an entry at the first free place from its home on. */
static void place(struct tri_table *table, struct tri_table_entry entry)
{
    uint32_t at = entry.hash & table->mask;
    while (table->entries[at].slot != 0) {
        at = (at + 1) & table->mask;
    }
    table->entries[at] = entry;
}

int tri_table_reserve(struct tri_table *table)
{
    uint32_t size = table->mask + 1;
    if (TR_LIKELY(table->count < size / 4 * 3)) {
        return 0;
    }
    if (size >= TABLE_MOST) {
        return TR_LIMIT;
    }
    struct tri_table bigger = {.mask = size * 2 - 1, .count = table->count};
    bigger.entries = tr_alloc_zero((size_t)size * 2, sizeof *bigger.entries);
    if (bigger.entries == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i < size; i++) {
        if (table->entries[i].slot != 0) {
            place(&bigger, table->entries[i]);
        }
    }
    tr_free(table->entries);
    *table = bigger;
    return 0;
}

void tri_table_insert(struct tri_table *table, struct tr_key key, uint32_t slot)
{
    place(table, (struct tri_table_entry){.slot = slot, .hash = tri_key_hash(key)});
    table->count++;
}

uint32_t tri_table_find(const struct tri_table *table, struct tr_key key, tri_table_key key_of,
                        const void *owner)
{
    uint32_t hash = tri_key_hash(key);
    uint32_t at = hash & table->mask;
    while (table->entries[at].slot != 0) {
        const struct tri_table_entry *entry = &table->entries[at];
        if (entry->hash == hash && tr_key_equal(key_of(owner, entry->slot), key)) {
            return entry->slot;
        }
        at = (at + 1) & table->mask;
    }
    return 0;
}

void tri_table_remove(struct tri_table *table, struct tr_key key, uint32_t slot)
{
    uint32_t gap = tri_key_hash(key) & table->mask;
    while (table->entries[gap].slot != slot) {
        TR_ASSERT(table->entries[gap].slot != 0);
        gap = (gap + 1) & table->mask;
    }
    table->count--;
    uint32_t at = gap;
    while (true) {
        at = (at + 1) & table->mask;
        struct tri_table_entry entry = table->entries[at];
        if (entry.slot == 0) {
            break;
        }
        /* An entry may move back to the gap unless its home lies behind the gap. */
        uint32_t home = entry.hash & table->mask;
        if (((at - home) & table->mask) >= ((at - gap) & table->mask)) {
            table->entries[gap] = entry;
            gap = at;
        }
    }
    table->entries[gap].slot = 0;
}
