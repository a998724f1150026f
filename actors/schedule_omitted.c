/*
 * Times of a schedule that were not started, and why: the latest of them, for people who ask.
 */
#include "actors/graph/document/buffer.h"
#include "actors/services/schedule.h"

/* Appends the notes from the list, but for the first ones. */
static uint32_t copy_notes(struct tr_text list, struct tr_buffer *notes)
{
    struct tr_cursor cursor =
        tr_cursor_of((struct tr_bytes){.data = (const uint8_t *)list.data, .size = list.size});
    uint32_t count = list.size == 0 ? 0 : tr_read_array(&cursor);
    uint32_t left_out = count < TR_SCHEDULE_OMITTED_MAX ? 0 : count - TR_SCHEDULE_OMITTED_MAX + 1;
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes note = tr_read_any(&cursor);
        if (i >= left_out) {
            tr_buffer_add(notes, note.data, note.size);
        }
    }
    return count - left_out;
}

int tri_schedule_omit(struct tri_schedule *schedule, int64_t first, int64_t until,
                      enum tr_schedule_outcome outcome)
{
    struct tr_buffer notes;
    struct tr_buffer list;
    tr_buffer_init(&notes, 0);
    tr_buffer_init(&list, 0);
    uint32_t count = copy_notes(tr_array_get(&schedule->state->omitted), &notes);
    tr_buffer_array(&list, count + 1);
    tr_buffer_add(&list, notes.data, notes.size);
    tr_buffer_array(&list, 3);
    tr_buffer_i64(&list, first);
    tr_buffer_i64(&list, until);
    tr_buffer_u64(&list, outcome);
    int error = notes.error != 0 ? notes.error : list.error;
    error = error != 0 ? error : tr_array_set(&schedule->state->omitted, tr_buffer_text(&list));
    tr_buffer_fini(&list);
    tr_buffer_fini(&notes);
    return error;
}
