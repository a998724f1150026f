/*
 * Any text as the entries of a block of elements, which lies in a store that anybody may have
 * written: refused, or entries that keep within their bounds.
 */
#include "tests/fuzz/fuzz.h"

#include "deploy/history/elements.h"
#include "schemas/engine/phase.h"

static volatile uint64_t sum;

static int take(void *self, const struct tr_element_entry *entry)
{
    uint64_t *wanted = self;
    TR_ASSERT(*wanted == TR_ELEMENT_NONE || *wanted == entry->element);
    TR_ASSERT(entry->phase_count > 0 && entry->phase_count <= TR_ENTRY_PHASES_MAX);
    for (uint32_t i = 0; i < entry->phase_count; i++) {
        TR_ASSERT(entry->phases[i] <= TR_NODE_PHASE_MAX);
    }
    for (size_t i = 0; i < entry->code.size; i++) {
        sum += (uint8_t)entry->code.data[i];
    }
    for (size_t i = 0; i < entry->message.size; i++) {
        sum += (uint8_t)entry->message.data[i];
    }
    return 0;
}

static void read_block(const uint8_t *data, size_t size, uint64_t element)
{
    struct tr_element_block row = {
        .base_ms = 1700000000000,
        .entries = {.data = (const char *)data, .size = size},
    };
    int error = tr_element_entries_read(&row, element, take, &element);
    TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_LIMIT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_block(data, size, TR_ELEMENT_NONE);
    read_block(data, size, 3);
    return 0;
}
