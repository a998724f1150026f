/*
 * The node table, the two queues that run through it, and the values of nodes.
 *
 * Rows are made when they are first touched, so a workflow of a hundred thousand nodes begins as
 * quickly as one of three. A queue is two numbers in the state and the rows' `next`; a row is in
 * one of them at a time: first among those to be started, at its end among those to be told of. One
 * that ends while it is still to be started (its branch's deadline) is marked SETTLES and changes
 * queues when it is taken out. Numbers in queues are one more than the node's, so that 0 is none.
 *
 * Values are in the heap behind the rows, addressed by place; 0 is no value.
 */
#include "actors/workflow/workflow.h"

#include "runtime/memory.h"

/* A list of slots is kept in one piece, or, where it is large, each slot for itself. */
enum list_form { LIST_WHOLE, LIST_PLACES };

uint32_t tri_workflow_heap_first(const struct tr_workflow *workflow)
{
    return (workflow->node_count + TRI_ROWS_PER_PAGE - 1) / TRI_ROWS_PER_PAGE;
}

/* The last page holds no more rows than there are. */
static size_t page_bytes(const struct tr_workflow *workflow, uint32_t page)
{
    uint32_t first = page * TRI_ROWS_PER_PAGE;
    uint32_t left = workflow->node_count - first;
    return (left < TRI_ROWS_PER_PAGE ? left : TRI_ROWS_PER_PAGE) * sizeof(struct tri_row);
}

/* A copy of the row; one that was never touched is zeros, which is NOT_YET_STARTED. */
int tri_workflow_row_get(struct tri_flow *flow, uint32_t node, struct tri_row *row)
{
    TR_ASSERT(node < flow->workflow->node_count);
    struct tr_bytes bytes;
    size_t offset = node % TRI_ROWS_PER_PAGE * sizeof *row;
    int error = tr_page_get(flow->context, node / TRI_ROWS_PER_PAGE, &bytes);
    if (error != 0) {
        return error;
    }
    if (bytes.size == 0) {
        *row = (struct tri_row){0};
        return 0;
    }
    TR_ASSERT(bytes.size >= offset + sizeof *row);
    memcpy(row, bytes.data + offset, sizeof *row);
    return 0;
}

/* The row to change, in its page, which is made if it was never touched. */
int tri_workflow_row_edit(struct tri_flow *flow, uint32_t node, struct tri_row **row)
{
    TR_ASSERT(node < flow->workflow->node_count);
    void *bytes;
    uint32_t page = node / TRI_ROWS_PER_PAGE;
    int error = tr_page_edit(flow->context, page, page_bytes(flow->workflow, page), &bytes);
    if (error == 0) {
        *row = (struct tri_row *)bytes + node % TRI_ROWS_PER_PAGE;
    }
    return error;
}

/* ------------------------------------------------------------------ queues */

/*
 * Behind the last of the queue; the row before it is changed, too. Two pages may be edited: the
 * first pointer is used up before the second edit, which may move it.
 */
static int push(struct tri_flow *flow, uint32_t node, uint32_t *first, uint32_t *last)
{
    struct tri_row *row;
    int error = 0;
    if (*last != 0) {
        error = tri_workflow_row_edit(flow, *last - 1, &row);
        if (error != 0) {
            return error;
        }
        row->next = node + 1;
    }
    error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0) {
        return error;
    }
    row->next = 0;
    *first = *first == 0 ? node + 1 : *first;
    *last = node + 1;
    return 0;
}

/* Takes the first out; its `next` stays until it is pushed again. */
static int pop(struct tri_flow *flow, uint32_t *first, uint32_t *last)
{
    struct tri_row row;
    int error = tri_workflow_row_get(flow, *first - 1, &row);
    if (error == 0) {
        *first = row.next;
        *last = row.next == 0 ? 0 : *last;
    }
    return error;
}

int tri_workflow_ready_push(struct tri_flow *flow, uint32_t node)
{
    struct tri_row *row;
    int error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0) {
        return error;
    }
    TR_ASSERT((row->flags & TRI_ROW_READY) == 0);
    row->flags |= TRI_ROW_READY;
    return push(flow, node, &flow->state->ready_first, &flow->state->ready_last);
}

/*
 * Puts a node back to the front: its turn was taken, and it could not begin yet. At the front, and
 * not at the end, because the answer to its question is for the first of the queue.
 */
int tri_workflow_ready_return(struct tri_flow *flow, uint32_t node)
{
    struct tri_row *row;
    int error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0) {
        return error;
    }
    TR_ASSERT((row->flags & TRI_ROW_READY) == 0);
    row->flags |= TRI_ROW_READY;
    row->next = flow->state->ready_first;
    flow->state->ready_last = row->next == 0 ? node + 1 : flow->state->ready_last;
    flow->state->ready_first = node + 1;
    return 0;
}

int tri_workflow_ready_pop(struct tri_flow *flow, uint32_t *node)
{
    struct tri_row *row;
    *node = flow->state->ready_first - 1;
    int error = pop(flow, &flow->state->ready_first, &flow->state->ready_last);
    if (error != 0) {
        return error;
    }
    error = tri_workflow_row_edit(flow, *node, &row);
    if (error == 0) {
        row->flags &= (uint8_t)~TRI_ROW_READY;
    }
    return error;
}

/* A node has ended: its dependents are to be told. Being in the queue already is fine. */
int tri_workflow_settle_push(struct tri_flow *flow, uint32_t node)
{
    struct tri_row *row;
    int error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0 || (row->flags & TRI_ROW_SETTLING) != 0) {
        return error;
    }
    if ((row->flags & TRI_ROW_READY) != 0) {
        row->flags |= TRI_ROW_SETTLES; /* a row is in one queue at a time */
        return 0;
    }
    row->flags |= TRI_ROW_SETTLING;
    return push(flow, node, &flow->state->settle_first, &flow->state->settle_last);
}

/* The flag goes first: the row may be pushed again, and `settle_at` is the next one's. */
int tri_workflow_settle_pop(struct tri_flow *flow)
{
    struct tri_row *row;
    int error = tri_workflow_row_edit(flow, flow->state->settle_first - 1, &row);
    if (error != 0) {
        return error;
    }
    row->flags &= (uint8_t)~TRI_ROW_SETTLING;
    flow->state->settle_at = 0;
    return pop(flow, &flow->state->settle_first, &flow->state->settle_last);
}

/* ------------------------------------------------------------------ values */

/*
 * The heap only grows; its two numbers are kept at once, so that they are in the state whatever the
 * handler does next.
 */
static int heap_put(struct tri_flow *flow, struct tr_bytes bytes, uint64_t *place)
{
    int error = tr_heap_put(flow->context, &flow->heap, bytes, place);
    flow->state->heap_page = flow->heap.page;
    flow->state->heap_used = flow->heap.used;
    return error;
}

/* Packs a struct by its schema and keeps it in the heap. */
int tri_workflow_body_put(struct tri_flow *flow, const struct tr_schema *schema, const void *body,
                          uint64_t *place)
{
    size_t size = schema->size_max(body);
    uint8_t *bytes = tr_alloc(size);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    int error = schema->pack(body, &writer);
    if (error == 0) {
        struct tr_bytes packed = {.data = bytes, .size = tr_writer_size(&writer)};
        error = heap_put(flow, packed, place);
    }
    tr_free(bytes);
    return error;
}

/* The node_start it was begun with, unpacked once in a handler. */
int tri_workflow_start(struct tri_flow *flow)
{
    struct tr_bytes bytes;
    if (flow->has_start) {
        return 0;
    }
    int error = tr_heap_get(flow->context, &flow->heap, flow->state->start, &flow->value, &bytes);
    if (error == 0) {
        /* A copy: what this handler adds to the heap moves the page under it. */
        tr_buffer_add(&flow->start_bytes, bytes.data, bytes.size);
        error = flow->start_bytes.error;
    }
    if (error == 0) {
        error = tr_node_start_unpack(tr_buffer_bytes(&flow->start_bytes),
                                     flow->state->start_version, &flow->start);
    }
    flow->has_start = error == 0;
    return error;
}

/* Keeps each slot for itself and adds their places to `index`. */
static int put_each(struct tri_flow *flow, struct tr_bytes slots, struct tr_buffer *index)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(slots, &cursor);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t place = 0;
        struct tr_bytes slot = tr_read_any(&cursor);
        int error = cursor.error != 0 ? cursor.error : heap_put(flow, slot, &place);
        if (error != 0) {
            return error;
        }
        tr_buffer_add(index, &place, sizeof place);
    }
    return index->error;
}

/*
 * Small lists are kept whole. Of a large one each slot is kept for itself, so that a reference to
 * one output reads only that one.
 */
int tri_workflow_slots_put(struct tri_flow *flow, struct tr_bytes slots, uint64_t *place)
{
    struct tr_cursor cursor;
    struct tr_buffer buffer;
    uint8_t form = slots.size < TR_HEAP_PAGE_BYTES / 2 ? LIST_WHOLE : LIST_PLACES;
    *place = 0;
    if (tr_slots_begin(slots, &cursor) == 0) {
        return cursor.error;
    }
    tr_buffer_init(&buffer, 0);
    tr_buffer_add(&buffer, &form, sizeof form);
    int error = 0;
    if (form == LIST_WHOLE) {
        tr_buffer_add(&buffer, slots.data, slots.size);
        error = buffer.error;
    } else {
        error = put_each(flow, slots, &buffer);
    }
    if (error == 0) {
        error = heap_put(flow, tr_buffer_bytes(&buffer), place);
    }
    tr_buffer_fini(&buffer);
    return error;
}

/* What is at a place, without the byte in front that says its form. */
static int find_list(struct tri_flow *flow, uint64_t place, enum list_form *form,
                     struct tr_bytes *bytes)
{
    struct tr_bytes found;
    int error = tr_heap_get(flow->context, &flow->heap, place, &flow->value, &found);
    if (error == 0) {
        *form = (enum list_form)found.data[0];
        *bytes = (struct tr_bytes){.data = found.data + 1, .size = found.size - 1};
    }
    return error;
}

static uint64_t place_at(struct tr_bytes places, uint32_t index)
{
    uint64_t place;
    memcpy(&place, places.data + index * sizeof place, sizeof place);
    return place;
}

/* One slot of a list: a view that is good until flow->value is used again. */
int tri_workflow_slots_find(struct tri_flow *flow, uint64_t place, uint32_t index,
                            struct tr_bytes *slot)
{
    enum list_form form;
    struct tr_bytes bytes;
    int error = place == 0 ? TR_NOT_FOUND : find_list(flow, place, &form, &bytes);
    if (error != 0) {
        return error;
    }
    if (form == LIST_WHOLE) {
        return tr_slots_get(bytes, index, slot);
    }
    if (index >= bytes.size / sizeof place) {
        return TR_NOT_FOUND;
    }
    return tr_heap_get(flow->context, &flow->heap, place_at(bytes, index), &flow->value, slot);
}

/*
 * Appends slots that are kept each for itself; the list of places may lie under flow->value. It is
 * copied first, since each slot that is read takes its place there.
 */
static int copy_each(struct tri_flow *flow, struct tr_bytes places, struct tr_buffer *buffer)
{
    uint32_t count = (uint32_t)(places.size / sizeof(uint64_t));
    uint64_t *copy = tr_alloc(places.size);
    if (copy == NULL) {
        return TR_MEMORY;
    }
    memcpy(copy, places.data, places.size);
    tr_buffer_array(buffer, count);
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        struct tr_bytes slot;
        error = tr_heap_get(flow->context, &flow->heap, copy[i], &flow->value, &slot);
        if (error == 0) {
            tr_buffer_add(buffer, slot.data, slot.size);
        }
    }
    tr_free(copy);
    return error != 0 ? error : buffer->error;
}

/* A whole list, put together again if it was kept slot by slot. */
int tri_workflow_slots_copy(struct tri_flow *flow, uint64_t place, struct tr_buffer *buffer)
{
    enum list_form form;
    struct tr_bytes bytes;
    if (place == 0) {
        tr_buffer_array(buffer, 0);
        return buffer->error;
    }
    int error = find_list(flow, place, &form, &bytes);
    if (error != 0) {
        return error;
    }
    if (form == LIST_PLACES) {
        return copy_each(flow, bytes, buffer);
    }
    tr_buffer_add(buffer, bytes.data, bytes.size);
    return buffer->error;
}
