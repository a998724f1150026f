/*
 * What people see of an array: a row for every 256 changes of elements, how many elements are
 * where, and the phases of the map itself.
 *
 * Changes of elements wait in a page, which grows as they come, until it has as many as a row
 * takes, for a second at most, or for the end. The page is written in the handler that changes the
 * element, and emptied in the one that writes the row: so no change is lost or written twice over a
 * crash.
 */
#include "actors/array/array.h"
#include "actors/history/history.h"

/* The page that changes wait in grows by steps, so that what is copied is little. */
#define PAGE_BYTES_STEP 1024U
#define PAGE_BYTES_MAX 8192U

static bool has_rows(const struct tri_array *array)
{
    struct tr_bytes page = {0};
    int error = tr_page_get(array->context, TRI_ARRAY_HISTORY, &page);
    return error == 0 && page.size > 0 &&
           ((const struct tr_element_entries *)(const void *)page.data)->count > 0;
}

/* The node's path, for rows. */
static int path_of(struct tri_array *array, struct tr_buffer *buffer, struct tr_text *path)
{
    struct tr_node_start head;
    int error = tri_array_head(array, buffer, &head);
    if (error == 0) {
        *path = head.path;
    }
    return error;
}

static int write_rows(struct tri_array *array)
{
    struct tr_buffer buffer;
    struct tr_text path;
    struct tr_bytes before = {0};
    void *page;
    tr_buffer_init(&buffer, 0);
    int error = path_of(array, &buffer, &path);
    if (error == 0) {
        error = tr_page_get(array->context, TRI_ARRAY_HISTORY, &before);
    }
    if (error == 0) {
        error = tr_page_edit(array->context, TRI_ARRAY_HISTORY, before.size, &page);
    }
    if (error == 0) {
        error = tr_history_elements(array->context, array->state->number, path, page,
                                    &array->state->recorded);
    }
    if (error == 0) {
        error = tr_page_edit(array->context, TRI_ARRAY_HISTORY, PAGE_BYTES_STEP, &page);
    }
    tr_buffer_fini(&buffer);
    return error;
}

/*
 * The row takes the place of the one before. `queued` are those whose work is not handed outside.
 */
static int write_progress(struct tri_array *array)
{
    const struct tr_array_state *state = array->state;
    struct tr_buffer buffer;
    struct tr_text path;
    tr_buffer_init(&buffer, 0);
    int error = path_of(array, &buffer, &path);
    if (error == 0) {
        struct tr_progress row = {
            .execution = state->number,
            .path = path,
            .total = state->count,
            .queued = state->live - state->outside,
            .running = state->outside - state->retrying,
            .succeeded = state->succeeded,
            .failed = state->failed,
            .retrying = state->retrying,
            .at_ms = tr_now_ms(array->context),
            .cached = state->cached,
        };
        error = tr_record(array->context, &tr_progress_schema, &row);
    }
    tr_buffer_fini(&buffer);
    array->state->progress_ms = tr_steady_ms(array->context);
    return error;
}

int tri_array_history_flush(struct tri_array *array)
{
    int error = has_rows(array) ? write_rows(array) : 0;
    return error != 0 ? error : write_progress(array);
}

/*
 * Adds a change to the page; TR_LIMIT when there is no room and the page may not grow. The page is
 * tried as it is and then a step larger each time; a full row (TR_ELEMENT_ENTRIES_MAX) is no matter
 * of size.
 */
static int add_change(struct tri_array *array, const struct tr_element_change *change)
{
    struct tr_bytes before;
    int error = tr_page_get(array->context, TRI_ARRAY_HISTORY, &before);
    size_t size = before.size == 0 ? PAGE_BYTES_STEP : before.size;
    while (error == 0) {
        void *page;
        error = tr_page_edit(array->context, TRI_ARRAY_HISTORY, size, &page);
        if (error == 0) {
            error = tr_history_element(page, size, change, NULL);
        }
        size += PAGE_BYTES_STEP;
        if (error != TR_LIMIT || size > PAGE_BYTES_MAX ||
            ((struct tr_element_entries *)page)->count >= TR_ELEMENT_ENTRIES_MAX) {
            return error;
        }
        error = 0;
    }
    return error;
}

/* The same, with a row for what there is where that is needed. */
static int record_change(struct tri_array *array, const struct tr_element_change *change)
{
    int error = add_change(array, change);
    if (error == TR_LIMIT) {
        error = write_rows(array);
        if (error == 0) {
            error = add_change(array, change);
        }
    }
    return error;
}

/*
 * At most one such row in TR_ARRAY_PROGRESS_MS: a change in between starts a timer, which writes
 * what holds then.
 */
int tri_array_history_count_soon(struct tri_array *array)
{
    struct tr_array_state *state = array->state;
    uint64_t due_ms = state->progress_ms + TR_ARRAY_PROGRESS_MS;
    uint64_t now_ms = tr_steady_ms(array->context);
    if (now_ms >= due_ms) {
        return write_progress(array);
    }
    if (state->is_counting) {
        return 0;
    }
    state->is_counting = true;
    return tr_timer_start(array->context, TRI_ARRAY_TIMER_PROGRESS, due_ms - now_ms);
}

int tri_array_history_count(struct tri_array *array)
{
    array->state->is_counting = false;
    return write_progress(array);
}

/* Something waits: when it is written at the latest, and how many are where, if that is due. */
static int keep_up(struct tri_array *array)
{
    struct tr_array_state *state = array->state;
    int error = 0;
    if (!state->has_timer) {
        state->has_timer = true;
        error = tr_timer_start(array->context, TRI_ARRAY_TIMER_HISTORY, TR_ARRAY_HISTORY_MS);
    }
    return error != 0 ? error : tri_array_history_count_soon(array);
}

int tri_array_history_element_changed(struct tri_array *array, uint32_t element,
                                      const struct tri_element *from, uint8_t to, uint32_t attempt,
                                      uint32_t phases, struct tr_text code, struct tr_text message)
{
    struct tr_element_change change = {
        .element = element,
        .attempt = attempt,
        .from = from->is_recorded ? from->phase : TR_NODE_PHASE_NOT_YET_STARTED,
        .phases = (phases | 1U << to) & ~(1U << TR_NODE_PHASE_NOT_YET_STARTED),
        .at_ms = tr_now_ms(array->context),
        .code = code,
        .message = message,
    };
    /* What the history has of the element already is not said again; else it begins with QUEUED. */
    if (from->is_recorded) {
        change.phases &= ~(1U << from->phase);
    } else {
        change.phases |= 1U << TR_NODE_PHASE_QUEUED;
    }
    int error = record_change(array, &change);
    if (error == TR_INVALID) {
        /* A child's phases that no table allows: how it stands now is what counts. */
        array->state->ignored++;
        change.from = TR_NODE_PHASE_NOT_YET_STARTED;
        change.phases = 1U << to;
        error = record_change(array, &change);
    }
    return error != 0 ? error : keep_up(array);
}

int tri_array_history_value(struct tri_array *array, enum tr_value_side side, struct tr_bytes slots)
{
    struct tr_buffer buffer;
    struct tr_text path;
    tr_buffer_init(&buffer, 0);
    int error = path_of(array, &buffer, &path);
    if (error == 0) {
        error = tr_history_value(array->context, array->state->number, path, side, slots);
    }
    tr_buffer_fini(&buffer);
    return error;
}

int tri_array_history_phase_changed(struct tri_array *array, uint8_t from)
{
    struct tr_buffer buffer;
    struct tr_buffer words;
    struct tr_text path;
    struct tr_node_ended ended = {0};
    tr_buffer_init(&buffer, 0);
    tr_buffer_init(&words, 0);
    uint8_t to = array->state->phase;
    bool is_failure = to == TR_NODE_PHASE_FAILED || to == TR_NODE_PHASE_FAILING;
    int error = path_of(array, &buffer, &path);
    error = error == 0 && is_failure ? tri_array_errors_tell(array, &words, &ended) : error;
    if (error == 0) {
        struct tr_node_status row = {
            .execution = array->state->number,
            .path = path,
            .kind = tr_text_of("map"),
            .name = array->node->name,
            .phase = to,
            .created_ms = array->state->begun_ms,
            .started_ms = array->state->begun_ms,
            .attempts = 1,
            .failure = ended.failure,
            .code = ended.code,
            .message = ended.message,
        };
        row.target = tr_node_target_name(array->graph, array->node);
        error = tr_history_node(array->context, &row, from, array->cause, &array->state->recorded);
    }
    tr_buffer_fini(&words);
    tr_buffer_fini(&buffer);
    return error;
}
