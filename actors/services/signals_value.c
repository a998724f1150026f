/*
 * Values that are kept for gates to come: in the odd pages, in slots of a fixed number of pages,
 * most of which are not there. A slot that was given back is taken again before a new one.
 *
 * A slot's number is the only thing that entries keep of a value; 0 is none. The first page begins
 * with the size of the record, so reading stops there; a free slot's first page holds the number of
 * the next free one.
 */
#include <stdio.h>

#include "actors/services/signals.h"
#include "runtime/memory.h"

/* A packed value with its size in front, its sender's words and some room. */
#define RECORD_BYTES_MAX (TR_SIGNAL_VALUE_BYTES_MAX + TR_PAGE_BYTES_MAX)
#define SLOT_PAGES (RECORD_BYTES_MAX / TR_PAGE_BYTES_MAX)

_Static_assert(2 * SLOT_PAGES * TR_SIGNAL_VALUES_MAX <= TR_PAGES_MAX, "each value has its pages");

static uint32_t page_of(uint32_t slot, uint32_t page)
{
    return 1 + 2 * ((slot - 1) * (uint32_t)SLOT_PAGES + page);
}

/* The bytes of a slot, behind their size; nothing for a slot that is empty. */
static int slot_read(struct tri_board *board, uint32_t slot, struct tr_buffer *buffer)
{
    uint32_t size = 0;
    tr_buffer_cut(buffer, 0);
    for (uint32_t i = 0; i < SLOT_PAGES && (i == 0 || buffer->size < size); i++) {
        struct tr_bytes page;
        int error = tr_page_get(board->context, page_of(slot, i), &page);
        if (error != 0 || page.size < sizeof size) {
            return error;
        }
        if (i == 0) {
            memcpy(&size, page.data, sizeof size);
            page.data += sizeof size;
            page.size -= sizeof size;
        }
        tr_buffer_add(buffer, page.data, page.size);
    }
    return buffer->error;
}

/* Writes bytes, whose first four say their size, over what was there. */
static int slot_write(struct tri_board *board, uint32_t slot, struct tr_bytes bytes)
{
    for (uint32_t i = 0; i < SLOT_PAGES; i++) {
        size_t size = bytes.size < TR_PAGE_BYTES_MAX ? bytes.size : TR_PAGE_BYTES_MAX;
        void *page;
        if (size == 0) {
            int error = tr_page_drop(board->context, page_of(slot, i));
            if (error != 0) {
                return error;
            }
            continue;
        }
        int error = tr_page_edit(board->context, page_of(slot, i), size, &page);
        if (error != 0) {
            return error;
        }
        memcpy(page, bytes.data, size);
        bytes.data += size;
        bytes.size -= size;
    }
    return 0;
}

static int slot_size(struct tri_board *board, uint32_t slot, uint32_t *size)
{
    struct tr_bytes page = {0};
    int error = slot == 0 ? 0 : tr_page_get(board->context, page_of(slot, 0), &page);
    *size = 0;
    if (error == 0 && page.size >= sizeof *size) {
        memcpy(size, page.data, sizeof *size);
    }
    return error;
}

/* A slot that was given back says which one was before it. */
static int slot_take(struct tri_board *board, uint32_t *slot)
{
    struct tr_signals_state *state = board->state;
    struct tr_bytes page;
    board->state->kept++;
    if (state->slot_free == 0) {
        *slot = ++state->slots_used;
        return 0;
    }
    *slot = state->slot_free;
    int error = tr_page_get(board->context, page_of(*slot, 0), &page);
    if (error == 0) {
        TR_ASSERT(page.size == sizeof state->slot_free);
        memcpy(&state->slot_free, page.data, sizeof state->slot_free);
    }
    return error;
}

/* Drops all pages of the slot but the first, which links it to the free ones. */
int tri_signal_drop(struct tri_board *board, uint32_t slot)
{
    uint32_t size;
    struct tr_bytes before = {.data = (const uint8_t *)&board->state->slot_free,
                              .size = sizeof board->state->slot_free};
    int error = slot_size(board, slot, &size);
    if (error == 0) {
        error = slot_write(board, slot, before);
    }
    board->state->kept_bytes -= size;
    board->state->kept--;
    board->state->slot_free = slot;
    return error;
}

void tri_signal_refuse(const struct tri_board *board, uint32_t slot, size_t size, uint32_t before,
                       char *words, size_t words_size)
{
    if (size > RECORD_BYTES_MAX) {
        snprintf(words, words_size,
                 "the value takes more than %u bytes (TR_SIGNAL_VALUE_BYTES_MAX)",
                 (unsigned)TR_SIGNAL_VALUE_BYTES_MAX);
    } else if (slot == 0 && board->state->kept >= TR_SIGNAL_VALUES_MAX) {
        snprintf(words, words_size, "%u values wait for their gates already (TR_SIGNAL_VALUES_MAX)",
                 TR_SIGNAL_VALUES_MAX);
    } else if (board->state->kept_bytes - before + size > TR_SIGNAL_KEPT_BYTES_MAX) {
        snprintf(words, words_size,
                 "the values that are kept would take more than %llu bytes "
                 "(TR_SIGNAL_KEPT_BYTES_MAX)",
                 (unsigned long long)TR_SIGNAL_KEPT_BYTES_MAX);
    }
}

/* The record of a value as it lies in its slot. */
static int pack_value(const struct tr_send_signal *sent, struct tr_buffer *record)
{
    struct tr_send_signal kept = {.value = sent->value, .by = sent->by, .message = sent->message};
    size_t size_max = tr_send_signal_schema.size_max(&kept);
    uint8_t *bytes = tr_alloc(size_max);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size_max);
    int error = tr_send_signal_schema.pack(&kept, &writer);
    uint32_t size = (uint32_t)tr_writer_size(&writer);
    tr_buffer_add(record, &size, sizeof size);
    tr_buffer_add(record, bytes, size);
    tr_free(bytes);
    return error != 0 ? error : record->error;
}

int tri_signal_keep(struct tri_board *board, const struct tr_send_signal *sent, uint32_t *slot,
                    char *words, size_t words_size)
{
    struct tr_buffer record;
    uint32_t before;
    tr_buffer_init(&record, 0);
    int error = pack_value(sent, &record);
    if (error == 0) {
        error = slot_size(board, *slot, &before);
    }
    if (error == 0) {
        tri_signal_refuse(board, *slot, record.size, before, words, words_size);
    }
    /*
     * A value in place of another one keeps its slot, so replacing never fails for lack of slots.
     */
    if (error == 0 && words[0] == '\0') {
        error = *slot == 0 ? slot_take(board, slot) : 0;
        if (error == 0) {
            error = slot_write(board, *slot, tr_buffer_bytes(&record));
        }
        board->state->kept_bytes += record.size - sizeof(uint32_t) - before;
    }
    tr_buffer_fini(&record);
    return error;
}

int tri_signal_kept(struct tri_board *board, uint32_t slot, struct tr_buffer *buffer,
                    struct tr_send_signal *sent)
{
    int error = slot_read(board, slot, buffer);
    return error != 0 ? error
                      : tr_send_signal_unpack(tr_buffer_bytes(buffer),
                                              tr_send_signal_schema.version, sent);
}
