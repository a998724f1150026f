/*
 * Looking up how nodes stood and what they gave. A node that was kept itself has its insides in the
 * execution that it was kept from: then that one is asked, as far as the plan goes back.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/history/elements.h"
#include "deploy/recovery/reuse_inside.h"

int tri_reuse_explain_history(struct tri_reuse *reuse, int error)
{
    if (error != 0 && reuse->explain[0] == '\0') {
        snprintf(reuse->explain, TR_EXCHANGE_EXPLAIN_BYTES, "the history: %.900s",
                 reuse->reader != NULL ? tr_reader_explain(reuse->reader) : tr_error_text(error));
    }
    return error;
}

int tri_reuse_begin(struct tri_reuse *reuse, const struct tr_inquiry *inquiry, struct tr_text uri,
                    char *explain)
{
    *reuse = (struct tri_reuse){.inquiry = inquiry, .explain = explain};
    tr_arena_init(&reuse->arena);
    tr_buffer_init(&reuse->path, 0);
    tr_buffer_init(&reuse->answer, 0);
    tr_buffer_init(&reuse->slots, 0);
    tr_buffer_init(&reuse->inputs, 0);
    int error = tr_history_open(inquiry->store_folder, explain, &reuse->reader);
    if (error == 0) {
        error = tri_reuse_resolve(reuse, uri);
    }
    if (error == 0 && reuse->plan.from_count > 0) {
        error = tr_executions_get(reuse->reader, reuse->plan.from[0], &reuse->from);
    }
    if (error == TR_NOT_FOUND && explain[0] == '\0') {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES,
                 "the execution that it recovers is not in the history any more");
    }
    return tri_reuse_explain_history(reuse, error);
}

void tri_reuse_finish(struct tri_reuse *reuse)
{
    tr_executions_row_fini(&reuse->from);
    tr_reader_close(reuse->reader);
    tr_buffer_fini(&reuse->inputs);
    tr_buffer_fini(&reuse->slots);
    tr_buffer_fini(&reuse->answer);
    tr_buffer_fini(&reuse->path);
    tr_arena_fini(&reuse->arena);
}

/* --------------------------------------------------------------------- how it stood */

static int take_phase(void *self, const void *row)
{
    *(uint8_t *)self = ((const struct tr_node_status *)row)->phase;
    return 0;
}

int tri_reuse_node_phase(struct tri_reuse *reuse, uint64_t execution, struct tr_text path,
                         uint8_t *phase)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
    };
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    *phase = TR_NODE_PHASE_NOT_YET_STARTED;
    return tr_reader_rows(reuse->reader, &query, take_phase, phase);
}

static int take_element_phase(void *self, const struct tr_element_entry *entry)
{
    *(uint8_t *)self = entry->phases[entry->phase_count - 1];
    return 0;
}

/* How an element stood; NOT_YET_STARTED where it was never begun. */
static int element_phase(struct tri_reuse *reuse, uint64_t execution, struct tr_text array,
                         uint64_t element, uint8_t *phase)
{
    *phase = TR_NODE_PHASE_NOT_YET_STARTED;
    return tr_elements_read(reuse->reader, execution, array, element, take_element_phase, phase);
}

/* The same by its path, "sq[3]". */
static int element_phase_at(struct tri_reuse *reuse, uint64_t execution, struct tr_text path,
                            uint8_t *phase)
{
    uint64_t element = 0;
    size_t at = path.size - 1;
    while (at > 0 && path.data[at] != '[') {
        at--;
    }
    for (size_t i = at + 1; i + 1 < path.size; i++) {
        element = element * 10 + (uint64_t)(path.data[i] - '0');
    }
    struct tr_text array = {.data = path.data, .size = at};
    return element_phase(reuse, execution, array, element, phase);
}

/* Whether what a path lies in was kept from an execution before: that one knows its insides. */
static int is_inside_kept(struct tri_reuse *reuse, uint64_t execution, struct tr_text path,
                          bool *is_kept)
{
    uint8_t phase = TR_NODE_PHASE_NOT_YET_STARTED;
    int error = 0;
    while (error == 0 && phase == TR_NODE_PHASE_NOT_YET_STARTED && path.size > 0) {
        bool is_element = path.data[path.size - 1] == ']';
        char last = is_element ? '[' : '/';
        do {
            path.size--;
        } while (path.size > 0 && path.data[path.size] != last);
        if (path.size == 0) {
            break;
        }
        error = path.data[path.size - 1] == ']'
                    ? element_phase_at(reuse, execution, path, &phase)
                    : tri_reuse_node_phase(reuse, execution, path, &phase);
    }
    *is_kept = phase == TR_NODE_PHASE_RECOVERED;
    return error;
}

int tri_reuse_find(struct tri_reuse *reuse, struct tr_text path, uint64_t *execution,
                   uint8_t *phase)
{
    *phase = TR_NODE_PHASE_NOT_YET_STARTED;
    for (uint32_t i = 0; i < reuse->plan.from_count; i++) {
        bool goes_back = false;
        *execution = reuse->plan.from[i];
        int error = tri_reuse_node_phase(reuse, *execution, path, phase);
        if (error == 0 && *phase == TR_NODE_PHASE_NOT_YET_STARTED) {
            error = is_inside_kept(reuse, *execution, path, &goes_back);
        }
        if (error != 0 || !goes_back) {
            return error;
        }
    }
    return 0;
}

/* ----------------------------------------------------------------------- where it ran */

/* Whether a node or an element, or what it lies in, was kept from an execution before. */
static int is_kept(struct tri_reuse *reuse, uint64_t execution, struct tr_text path,
                   uint64_t element, bool *is_kept)
{
    uint8_t phase = TR_NODE_PHASE_NOT_YET_STARTED;
    int error = 0;
    if (element != TR_ELEMENT_NONE) {
        error = element_phase(reuse, execution, path, element, &phase);
    }
    if (error == 0 && phase == TR_NODE_PHASE_NOT_YET_STARTED) {
        error = tri_reuse_node_phase(reuse, execution, path, &phase);
    }
    *is_kept = phase == TR_NODE_PHASE_RECOVERED;
    return error == 0 && phase == TR_NODE_PHASE_NOT_YET_STARTED
               ? is_inside_kept(reuse, execution, path, is_kept)
               : error;
}

/* The execution that one took results over from; 0: none that is known of. */
static int find_earlier(struct tri_reuse *reuse, uint64_t execution, uint64_t *earlier)
{
    char explain[TR_EXCHANGE_EXPLAIN_BYTES];
    struct tr_executions_row copy;
    struct tr_recovery plan = {.from_count = 0};
    *earlier = 0;
    int error = tr_executions_get(reuse->reader, execution, &copy);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    if (copy.row.recovery.size > 0 &&
        tr_reuse_plan(reuse->reader, copy.row.recovery, &reuse->arena, &plan, explain) == 0 &&
        plan.from_count > 0) {
        *earlier = plan.from[0];
    }
    tr_executions_row_fini(&copy);
    return reuse->arena.error;
}

int tr_reuse_origin(struct tr_reader *reader, uint64_t execution, struct tr_text path,
                    uint64_t element, uint64_t *origin)
{
    struct tri_reuse reuse = {.reader = reader};
    uint64_t at = execution;
    uint64_t earlier = execution;
    bool goes_back = true;
    int error = 0;
    tr_arena_init(&reuse.arena);
    /* Each recovery is younger than what it recovers: so this comes to an end. */
    while (error == 0 && goes_back && earlier != 0 && earlier <= at) {
        at = earlier;
        error = is_kept(&reuse, at, path, element, &goes_back);
        if (error == 0 && goes_back) {
            error = find_earlier(&reuse, at, &earlier);
            goes_back = earlier < at;
        }
    }
    tr_arena_fini(&reuse.arena);
    if (error == 0) {
        *origin = at;
    }
    return error;
}

static int take_slots(void *self, const void *row)
{
    struct tr_buffer *slots = self;
    struct tr_bytes value = ((const struct tr_node_value *)row)->slots;
    tr_buffer_cut(slots, 0);
    tr_buffer_add(slots, value.data, value.size);
    return slots->error;
}

int tri_reuse_read_values(struct tri_reuse *reuse, uint64_t execution, struct tr_text path,
                          enum tr_value_side side, struct tr_buffer *slots)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
        tr_filter_number("side", TR_FILTER_EQUAL, side),
    };
    struct tr_reader_query query = {
        .record = &tr_node_value_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    tr_buffer_cut(slots, 0);
    tr_buffer_array(slots, 0);
    return tr_reader_rows(reuse->reader, &query, take_slots, slots);
}

int tri_reuse_close_list(struct tr_buffer *values, uint32_t count, struct tr_buffer *list)
{
    tr_buffer_array(list, count);
    tr_buffer_add(list, values->data, values->size);
    return list->error;
}
