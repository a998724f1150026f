/*
 * Any bytes as a list of slots: refused, or each slot is the same whether the list is walked or
 * asked for it; and any bytes as one slot, whose place in the blob store is written again the same.
 */
#include "tests/fuzz/fuzz.h"

#include "actors/graph/value/slot.h"

/* Asking for a slot looks at all before it. */
enum { ASKED_MAX = 64 };

static void check_slot(struct tr_bytes slot)
{
    struct tr_offloaded where;
    struct tr_offloaded again;
    struct tr_buffer buffer;
    if (!tr_slot_is_offloaded(slot, &where)) {
        return;
    }
    tr_buffer_init(&buffer, 0);
    tr_slot_write_offloaded(&buffer, &where);
    TR_ASSERT(buffer.error == 0);
    TR_ASSERT(tr_slot_is_offloaded(tr_buffer_bytes(&buffer), &again));
    TR_ASSERT(tr_text_equal(where.uri, again.uri) && where.size_bytes == again.size_bytes);
    TR_ASSERT(where.variant == again.variant);
    tr_buffer_fini(&buffer);
}

static void check_list(struct tr_bytes slots)
{
    struct tr_cursor cursor;
    struct tr_bytes found;
    uint32_t count = tr_slots_begin(slots, &cursor);
    TR_ASSERT(count <= slots.size);
    for (uint32_t i = 0; i < count && i < ASKED_MAX; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        int error = tr_slots_get(slots, i, &found);
        TR_ASSERT((error == 0) == (cursor.error == 0));
        if (error != 0) {
            TR_ASSERT(error == TR_MALFORMED);
            return;
        }
        TR_ASSERT(found.data == slot.data && found.size == slot.size);
        check_slot(slot);
    }
    TR_ASSERT(tr_slots_get(slots, count, &found) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_bytes bytes = {.data = data, .size = size};
    check_list(bytes);
    check_slot(bytes);
    return 0;
}
