/*
 * Bytes beside the rows: what jobs are to be made of, ends that were told, long handles, names and
 * cursors of groups. Each has pages of its own, so that they go when it goes:
 *
 *     next page or 0, size of all that follows here and behind, bytes
 *
 * A page that is free is four bytes, the number of the next free one. Pages are numbered from 1, in
 * the order in which they were first used; page_of gives the actor's page.
 *
 * Two counters say how full it is: `blobs_used` is the highest page that ever was in use,
 * `blobs_kept` how many are in use at the moment. Admission looks at the second
 * (refresh_capacity.c).
 */
#include <string.h>

#include "actors/backend/refresh.h"

#define HEAD_BYTES 8
#define PART_BYTES_MAX (TR_PAGE_BYTES_MAX - HEAD_BYTES)

static uint32_t page_of(uint32_t blob)
{
    return tr_stripe_page(TRI_REFRESH_BLOBS, blob - 1);
}

static uint32_t number_at(const uint8_t *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

/* The next page of a blob, how much is left of it here and behind, and this page's part. */
static int read_page(struct tri_refresh *refresh, uint32_t blob, uint32_t *next, uint32_t *left,
                     struct tr_bytes *part)
{
    struct tr_bytes page;
    int error = tr_page_get(refresh->context, page_of(blob), &page);
    if (error != 0) {
        return error;
    }
    if (page.size < HEAD_BYTES) {
        return TR_MALFORMED;
    }
    *next = number_at(page.data);
    *left = number_at(page.data + 4);
    *part = (struct tr_bytes){.data = page.data + HEAD_BYTES, .size = page.size - HEAD_BYTES};
    return 0;
}

/*
 * The free pages first, so that the highest page in use stays low. The number of the next free one
 * is read before the page is written.
 */
static int take_page(struct tri_refresh *refresh, uint32_t *blob)
{
    struct tr_refresh_state *state = refresh->state;
    struct tr_bytes page;
    state->blobs_kept++;
    if (state->blobs_free == 0) {
        *blob = ++state->blobs_used;
        return state->blobs_used > TRI_REFRESH_BLOB_PAGES ? TR_LIMIT : 0;
    }
    *blob = state->blobs_free;
    int error = tr_page_get(refresh->context, page_of(*blob), &page);
    if (error == 0) {
        state->blobs_free = page.size < 4 ? 0 : number_at(page.data);
    }
    return error;
}

/* Cuts the page down to its link and puts it in front of the free ones. */
static int give_page(struct tri_refresh *refresh, uint32_t blob)
{
    void *page;
    int error = tr_page_edit(refresh->context, page_of(blob), 4, &page);
    if (error == 0) {
        memcpy(page, &refresh->state->blobs_free, 4);
        refresh->state->blobs_free = blob;
        refresh->state->blobs_kept--;
    }
    return error;
}

/*
 * The next page is read before the page is given back, which overwrites the number. Giving back 0
 * is fine.
 */
static int give_all(struct tri_refresh *refresh, uint32_t blob)
{
    int error = 0;
    while (error == 0 && blob != 0) {
        struct tr_bytes part;
        uint32_t next;
        uint32_t left;
        error = read_page(refresh, blob, &next, &left, &part);
        if (error == 0) {
            error = give_page(refresh, blob);
        }
        blob = next;
    }
    return error;
}

/* Writes the last part first, so that each knows the page behind it. */
static int write_all(struct tri_refresh *refresh, struct tr_bytes bytes, uint32_t *blob)
{
    uint32_t next = 0;
    size_t parts = (bytes.size + PART_BYTES_MAX - 1) / PART_BYTES_MAX;
    if (refresh->state->blobs_kept + parts > TRI_REFRESH_BLOB_PAGES) {
        return TR_LIMIT; /* before anything is taken: some callers do without */
    }
    for (size_t i = parts; i > 0; i--) {
        size_t offset = (i - 1) * PART_BYTES_MAX;
        uint32_t left = (uint32_t)(bytes.size - offset);
        size_t size = left < PART_BYTES_MAX ? left : PART_BYTES_MAX;
        uint32_t number;
        void *page;
        int error = take_page(refresh, &number);
        if (error != 0) {
            return error;
        }
        error = tr_page_edit(refresh->context, page_of(number), HEAD_BYTES + size, &page);
        if (error != 0) {
            return error;
        }
        memcpy(page, &next, 4);
        memcpy((uint8_t *)page + 4, &left, 4);
        memcpy((uint8_t *)page + HEAD_BYTES, bytes.data + offset, size);
        next = number;
    }
    *blob = next;
    return 0;
}

/*
 * Old pages are given back first, so that rewriting needs no more room than the larger of the two.
 * Bytes that are a view of the old blob have to be copied before: their pages change here. At
 * TR_LIMIT the old bytes are gone and `*blob` is 0, which means none.
 */
int tri_refresh_blob_set(struct tri_refresh *refresh, uint32_t *blob, struct tr_bytes bytes)
{
    int error = give_all(refresh, *blob);
    *blob = 0;
    return error != 0 || bytes.size == 0 ? error : write_all(refresh, bytes, blob);
}

int tri_refresh_blob_peek(const struct tr_rows *rows, uint32_t blob, struct tr_bytes *part)
{
    struct tr_bytes page = {0};
    int error = blob == 0 ? TR_NOT_FOUND : rows->page(rows->self, page_of(blob), &page);
    if (error != 0) {
        return error;
    }
    if (page.size < HEAD_BYTES) {
        return TR_NOT_FOUND;
    }
    *part = (struct tr_bytes){.data = page.data + HEAD_BYTES, .size = page.size - HEAD_BYTES};
    return 0;
}

int tri_refresh_blob_size(struct tri_refresh *refresh, uint32_t blob, uint32_t *size)
{
    struct tr_bytes part;
    uint32_t next;
    *size = 0;
    return blob == 0 ? 0 : read_page(refresh, blob, &next, size, &part);
}

int tri_refresh_blob_get(struct tri_refresh *refresh, uint32_t blob, struct tr_arena *arena,
                         struct tr_bytes *bytes)
{
    struct tr_bytes part = {0};
    uint32_t next = 0;
    uint32_t size = 0;
    uint32_t left;
    int error = blob == 0 ? 0 : read_page(refresh, blob, &next, &size, &part);
    if (error != 0 || next == 0) {
        if (error == 0) {
            *bytes = part;
        }
        return error;
    }
    /*
     * Several pages. The size that the first one names bounds the copy, so a damaged chain ends as
     * TR_MALFORMED instead of running over the arena.
     */
    uint8_t *whole = tr_arena_alloc(arena, size);
    size_t filled = 0;
    error = whole == NULL ? arena->error : 0;
    while (error == 0 && filled + part.size <= size) {
        memcpy(whole + filled, part.data, part.size);
        filled += part.size;
        if (next == 0) {
            *bytes = (struct tr_bytes){.data = whole, .size = filled};
            return 0;
        }
        error = read_page(refresh, next, &next, &left, &part);
    }
    return error != 0 ? error : TR_MALFORMED;
}
