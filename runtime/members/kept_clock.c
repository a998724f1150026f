/*
 * The stored steady clock.
 *
 * A host stores its clock with a commit, once in TR_CLOCK_KEPT_MS, so what it has read last is at
 * most so much later. Nothing is added for that: of hosts that take groups of each other, each
 * would go further ahead of the other with each.
 */
#include "runtime/members/kept_clock.h"

#include "runtime/limits.h"
#include "schemas/codec/error.h"

uint64_t tri_kept_clock_cell(uint16_t number, uint8_t slot)
{
    return number == 0 ? 0 : (uint64_t)TRI_META_CLOCK_OF_SLOT + slot;
}

/* Zeros: nobody has stored it. */
static int read_cell(struct tri_store *store, uint64_t cell, struct tri_kept_clock *kept)
{
    struct tri_kept_clock read = {0};
    size_t size = 0;
    int error = tri_store_read_meta(store, cell, &read, sizeof read, &size);
    if (error == 0 && size != sizeof read) {
        return TR_STORE_DAMAGED;
    }
    if (error == 0 || error == TR_NOT_FOUND) {
        *kept = read;
    }
    return error == TR_NOT_FOUND ? 0 : error;
}

int tri_kept_clock_latest(struct tri_store *store, uint64_t *steady_ms)
{
    struct tri_kept_clock kept;
    int error = read_cell(store, TRI_META_CLOCK, &kept);
    uint64_t latest_ms = error == 0 ? kept.steady_ms : 0;
    for (uint64_t slot = 0; error == 0 && slot < TR_HOSTS_MAX; slot++) {
        error = read_cell(store, TRI_META_CLOCK_OF_SLOT + slot, &kept);
        latest_ms = error == 0 && kept.steady_ms > latest_ms ? kept.steady_ms : latest_ms;
    }
    if (error == 0) {
        *steady_ms = latest_ms;
    }
    return error;
}

int tri_kept_clock_load(struct tri_store *store, uint64_t cell, struct tri_kept_clock *kept)
{
    struct tri_kept_clock own = {0};
    uint64_t latest_ms = 0;
    bool has_others = store != NULL && (cell != 0 || store->host != 0);
    int error = store == NULL ? 0 : read_cell(store, cell == 0 ? TRI_META_CLOCK : cell, &own);
    if (error == 0 && has_others) {
        error = tri_kept_clock_latest(store, &latest_ms);
    }
    if (error == 0 && latest_ms > own.steady_ms) {
        own.ahead_ms += latest_ms - own.steady_ms;
        own.steady_ms = latest_ms;
    }
    if (error == 0) {
        *kept = own;
    }
    return error;
}
