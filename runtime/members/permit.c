/*
 * Until when calls may leave.
 */
#include "runtime/members/permit.h"

void tri_permit_renew(struct tri_permit *permit, uint64_t began_ms, uint32_t lease_ms)
{
    atomic_store_explicit(&permit->end_ms, began_ms + lease_ms / 2, memory_order_release);
}

bool tri_permit_allows(const struct tri_permit *permit, uint64_t now_ms)
{
    uint64_t end_ms = atomic_load_explicit(&permit->end_ms, memory_order_acquire);
    return end_ms == 0 || now_ms <= end_ms;
}
