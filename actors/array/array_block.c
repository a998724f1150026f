/*
 * Blocks: how 256 elements stand, and what those that have ended gave.
 *
 * A block is two pages. The first has a byte for each element and, for what it gave, where that
 * lies in the same page: in the order in which they ended, so that the page only grows. It stays
 * small, because it is copied whenever it changes: what does not fit lies in the heap, and in the
 * page is its place. The second page has the serials of children and goes when all have ended.
 *
 * Room for a place in the heap (PLACE_BYTES) is reserved for each element that has not ended: a
 * value goes into the page only beside that. So an end never finds the page full.
 *
 * The bytes of a block may be there before its elements are spawned: a recovery ends elements
 * first.
 */
#include "actors/array/array.h"

/* A byte of an element: its phase, and these. */
#define IS_LIVE 0x10U
#define IS_OUTSIDE 0x20U
#define IS_RECORDED 0x40U
#define PHASE_BITS 0x0fU

_Static_assert(TR_NODE_PHASE_MAX <= PHASE_BITS, "a phase takes four bits");

/* A page of a block is no larger, as long as values fit at all. */
#define BLOCK_BYTES_MAX 4096U

/* Pages grow by this much. */
#define ROUND_BYTES 64U

/* What stands before the place of a value in the heap; no msgpack value begins so. */
#define IN_HEAP 0xc1
#define PLACE_BYTES 9U

/* How a block begins. `places` are offsets in the page, 0 for none. */
struct block {
    uint16_t used; /* bytes of the page */
    uint16_t ended;
    uint8_t elements[TRI_ARRAY_BLOCK];
    uint16_t places[TRI_ARRAY_BLOCK];
};

_Static_assert(sizeof(struct block) + TRI_ARRAY_BLOCK * PLACE_BYTES <= BLOCK_BYTES_MAX,
               "each element has at least room for a place");

static uint32_t block_page(const struct tri_array *array, uint32_t element)
{
    return array->state->block_page + 2 * (element / TRI_ARRAY_BLOCK);
}

/* The elements of the block that this one is in. */
static uint32_t block_width(const struct tri_array *array, uint32_t element)
{
    uint32_t rest = array->state->count - element / TRI_ARRAY_BLOCK * TRI_ARRAY_BLOCK;
    return rest < TRI_ARRAY_BLOCK ? rest : TRI_ARRAY_BLOCK;
}

static size_t rounded(size_t size)
{
    return (size + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
}

/* A block to read; TR_NOT_FOUND: none of its elements has been spawned or kept. */
static int block_get(struct tri_array *array, uint32_t element, struct tr_bytes *bytes)
{
    int error = tr_page_get(array->context, block_page(array, element), bytes);
    return error == 0 && bytes->size < sizeof(struct block) ? TR_NOT_FOUND : error;
}

/*
 * A block to change, with room for `more` bytes. `used` grows when a value is written, not here:
 * room alone is no change.
 */
static int block_edit(struct tri_array *array, uint32_t element, size_t more, struct block **block)
{
    struct tr_bytes before;
    size_t used = sizeof **block;
    int error = tr_page_get(array->context, block_page(array, element), &before);
    if (error != 0) {
        return error;
    }
    if (before.size >= sizeof **block) {
        used = ((const struct block *)(const void *)before.data)->used;
    }
    void *page;
    error = tr_page_edit(array->context, block_page(array, element), rounded(used + more), &page);
    if (error != 0) {
        return error;
    }
    *block = page;
    (*block)->used = (uint16_t)used;
    return 0;
}

/* Elements from state->next on are unknown here, even those that a recovery has kept already. */
int tri_array_element_get(struct tri_array *array, uint32_t element, struct tri_element *out)
{
    struct tr_bytes bytes;
    struct tr_bytes serials;
    int error = element < array->state->next ? block_get(array, element, &bytes) : TR_NOT_FOUND;
    if (error != 0) {
        return error;
    }
    error = tr_page_get(array->context, block_page(array, element) + 1, &serials);
    if (error != 0) {
        return error;
    }
    uint32_t index = element % TRI_ARRAY_BLOCK;
    uint8_t byte = ((const struct block *)(const void *)bytes.data)->elements[index];
    *out = (struct tri_element){
        .phase = byte & PHASE_BITS,
        .is_live = (byte & IS_LIVE) != 0,
        .is_outside = (byte & IS_OUTSIDE) != 0,
        .is_recorded = (byte & IS_RECORDED) != 0,
    };
    /* Without the second page no element of the block lives, and the serial stays 0. */
    if (serials.size >= (index + 1) * sizeof out->serial) {
        memcpy(&out->serial, serials.data + index * sizeof out->serial, sizeof out->serial);
    }
    return 0;
}

/*
 * Where a value goes: into the page while all elements still have room there, or the heap. A value
 * of at most PLACE_BYTES always fits: its room is the reserved one. `place` is the caller's, since
 * `kept` may be a view of it.
 */
static int place_value(struct tri_array *array, uint32_t element, struct tr_bytes value,
                       uint8_t place[PLACE_BYTES], struct tr_bytes *kept)
{
    struct tr_bytes bytes;
    int error = value.size == 0 ? 0 : block_get(array, element, &bytes);
    if (error != 0) {
        return error;
    }
    *kept = value;
    if (value.size <= PLACE_BYTES) {
        return 0;
    }
    const struct block *block = (const struct block *)(const void *)bytes.data;
    size_t reserved = (size_t)(TRI_ARRAY_BLOCK - block->ended) * PLACE_BYTES;
    if (block->used + value.size + reserved <= BLOCK_BYTES_MAX) {
        return 0;
    }
    uint64_t number;
    error = tri_array_put(array, value, &number);
    place[0] = IN_HEAP;
    memcpy(&place[1], &number, sizeof number);
    *kept = (struct tr_bytes){.data = place, .size = PLACE_BYTES};
    return error;
}

/* Writes the byte of an element and appends what it gave; `ended` counts it once, at its end. */
static void write_element(struct block *block, uint32_t index, const struct tri_element *to,
                          struct tr_bytes kept)
{
    block->elements[index] =
        (uint8_t)(to->phase | (to->is_live ? IS_LIVE : 0) | (to->is_outside ? IS_OUTSIDE : 0) |
                  (to->is_recorded ? IS_RECORDED : 0));
    if (kept.size > 0) {
        block->places[index] = block->used;
        memcpy((uint8_t *)block + block->used, kept.data, kept.size);
        block->used = (uint16_t)(block->used + kept.size);
    }
    block->ended = (uint16_t)(block->ended + (to->is_live ? 0 : 1));
}

int tri_array_element_set(struct tri_array *array, uint32_t element, const struct tri_element *to,
                          struct tr_bytes value)
{
    uint8_t place[PLACE_BYTES];
    struct tr_bytes kept = {0};
    struct block *block;
    int error = place_value(array, element, value, place, &kept);
    if (error != 0) {
        return error;
    }
    error = block_edit(array, element, kept.size, &block);
    if (error != 0) {
        return error;
    }
    write_element(block, element % TRI_ARRAY_BLOCK, to, kept);
    /*
     * Elements of the block that are still to come keep `ended` below the width, so the page of
     * serials stays for them.
     */
    bool is_over = block->ended == block_width(array, element);
    return is_over ? tr_page_drop(array->context, block_page(array, element) + 1) : 0;
}

/* An element that ends as recovered before it was spawned; its block is made if it is its first. */
int tri_array_element_keep(struct tri_array *array, uint32_t element, struct tr_bytes value)
{
    const struct tri_element kept = {.phase = TR_NODE_PHASE_RECOVERED};
    struct block *block;
    int error = block_edit(array, element, 0, &block);
    return error != 0 ? error : tri_array_element_set(array, element, &kept, value);
}

int tri_array_element_is_kept(struct tri_array *array, uint32_t element, bool *is_kept)
{
    struct tr_bytes bytes;
    int error = tr_page_get(array->context, block_page(array, element), &bytes);
    *is_kept = false;
    if (error == 0 && bytes.size >= sizeof(struct block)) {
        const struct block *block = (const struct block *)(const void *)bytes.data;
        *is_kept =
            (block->elements[element % TRI_ARRAY_BLOCK] & PHASE_BITS) == TR_NODE_PHASE_RECOVERED;
    }
    return error;
}

/* All of one block: the bytes of the elements and the serials of their actors, in two pages. */
int tri_array_elements_spawned(struct tri_array *array, uint32_t first, uint32_t count,
                               const uint64_t *serials)
{
    struct block *block;
    void *page;
    uint32_t index = first % TRI_ARRAY_BLOCK;
    TR_ASSERT(count > 0 && index + count <= TRI_ARRAY_BLOCK);
    int error = block_edit(array, first, 0, &block);
    if (error != 0) {
        return error;
    }
    error = tr_page_edit(array->context, block_page(array, first) + 1,
                         block_width(array, first) * sizeof *serials, &page);
    if (error != 0) {
        return error;
    }
    memset(&block->elements[index], TR_NODE_PHASE_QUEUED | IS_LIVE, count);
    memcpy((uint8_t *)page + index * sizeof *serials, serials, count * sizeof *serials);
    return 0;
}

/*
 * What an element gave: a view of the page, or a copy from the heap in `buffer`; empty for nothing.
 */
int tri_array_element_value(struct tri_array *array, uint32_t element, struct tr_buffer *buffer,
                            struct tr_bytes *value)
{
    struct tr_bytes bytes;
    int error = element < array->state->next ? block_get(array, element, &bytes) : TR_NOT_FOUND;
    if (error != 0) {
        return error;
    }
    const struct block *block = (const struct block *)(const void *)bytes.data;
    uint16_t place = block->places[element % TRI_ARRAY_BLOCK];
    if (place == 0) {
        *value = (struct tr_bytes){0};
        return 0;
    }
    TR_ASSERT(place < block->used && block->used <= bytes.size);
    if (bytes.data[place] != IN_HEAP) {
        struct tr_cursor cursor = tr_cursor_of(
            (struct tr_bytes){.data = bytes.data + place, .size = (size_t)(block->used - place)});
        *value = tr_read_any(&cursor);
        return cursor.error;
    }
    uint64_t number;
    memcpy(&number, bytes.data + place + 1, sizeof number);
    return tri_array_get(array, number, buffer, value);
}
