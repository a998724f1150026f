/*
 * Which host has had the work of a store since when.
 */
#include "runtime/members/tenure.h"

#include <string.h>

#include "schemas/codec/error.h"

int tri_tenures_read(struct tr_bytes cell, struct tri_tenures *tenures)
{
    struct tri_tenures read = {.count = cell.size / sizeof read.items[0]};
    if (cell.size > sizeof read.items || cell.size % sizeof read.items[0] != 0) {
        return TR_STORE_DAMAGED;
    }
    if (cell.size > 0) {
        memcpy(read.items, cell.data, cell.size);
    }
    *tenures = read;
    return 0;
}

struct tr_bytes tri_tenures_cell(const struct tri_tenures *tenures)
{
    return (struct tr_bytes){.data = (const uint8_t *)tenures->items,
                             .size = tenures->count * sizeof tenures->items[0]};
}

bool tri_tenures_are_of(const struct tri_tenures *tenures, uint64_t host)
{
    return tenures->count > 0 && tenures->items[tenures->count - 1].host == host;
}

void tri_tenures_add(struct tri_tenures *tenures, uint64_t host, uint64_t since_ms)
{
    if (tenures->count == TRI_TENURES_MAX) {
        memmove(tenures->items, tenures->items + 1,
                (TRI_TENURES_MAX - 1) * sizeof tenures->items[0]);
        tenures->count--;
    }
    tenures->items[tenures->count] =
        (struct tri_tenure){.host = host, .since_ms = tenures->count == 0 ? 0 : since_ms};
    tenures->count++;
}

uint64_t tri_tenures_find(const struct tri_tenures *tenures, uint64_t time_ms)
{
    uint64_t host = 0;
    for (size_t i = 0; i < tenures->count && tenures->items[i].since_ms <= time_ms; i++) {
        host = tenures->items[i].host;
    }
    return host;
}
