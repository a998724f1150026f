/*
 * Looking up how nodes stood and what they gave. A node that was kept itself has its insides in the
 * execution that it was kept from: then that one is asked, as far as the plan goes back.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/history/elements.h"
#include "deploy/recovery/reuse_inside.h"

int tri_recall_explain_history(struct tri_recall *recall, int error)
{
    if (error != 0 && recall->explain[0] == '\0') {
        snprintf(recall->explain, TR_EXCHANGE_EXPLAIN_BYTES, "the history: %.900s",
                 recall->reader != NULL ? tr_reader_explain(recall->reader) : tr_error_text(error));
    }
    return error;
}

int tri_recall_begin(struct tri_recall *recall, const struct tr_inquiry *inquiry,
                     struct tr_text uri, char *explain)
{
    *recall = (struct tri_recall){.inquiry = inquiry, .explain = explain};
    tr_arena_init(&recall->arena);
    tr_buffer_init(&recall->path, 0);
    tr_buffer_init(&recall->answer, 0);
    tr_buffer_init(&recall->slots, 0);
    tr_buffer_init(&recall->inputs, 0);
    int error = tr_history_open(inquiry->store_folder, explain, &recall->reader);
    error = error != 0 ? error : tri_recall_resolve(recall, uri);
    if (error == 0 && recall->plan.from_count > 0) {
        error = tr_execution_get(recall->reader, recall->plan.from[0], &recall->from);
    }
    if (error == TR_NOT_FOUND && explain[0] == '\0') {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES,
                 "the execution that it recovers is not in the history any more");
    }
    return tri_recall_explain_history(recall, error);
}

void tri_recall_finish(struct tri_recall *recall)
{
    tr_execution_copy_fini(&recall->from);
    tr_reader_close(recall->reader);
    tr_buffer_fini(&recall->inputs);
    tr_buffer_fini(&recall->slots);
    tr_buffer_fini(&recall->answer);
    tr_buffer_fini(&recall->path);
    tr_arena_fini(&recall->arena);
}

/* --------------------------------------------------------------------- how it stood */

static int take_phase(void *self, const void *row)
{
    *(uint8_t *)self = ((const struct tr_node_status *)row)->phase;
    return 0;
}

int tri_recall_node_phase(struct tri_recall *recall, uint64_t execution, struct tr_text path,
                          uint8_t *phase)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
    };
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    *phase = TR_NODE_PHASE_NOT_YET_STARTED;
    return tr_reader_rows(recall->reader, &query, take_phase, phase);
}

static int take_element_phase(void *self, const struct tr_element_entry *entry)
{
    *(uint8_t *)self = entry->phases[entry->phase_count - 1];
    return 0;
}

/* How an element stood; NOT_YET_STARTED where it was never begun. */
static int element_phase(struct tri_recall *recall, uint64_t execution, struct tr_text array,
                         uint64_t element, uint8_t *phase)
{
    *phase = TR_NODE_PHASE_NOT_YET_STARTED;
    return tr_elements_read(recall->reader, execution, array, element, take_element_phase, phase);
}

/* The same by its path, "sq[3]". */
static int element_phase_at(struct tri_recall *recall, uint64_t execution, struct tr_text path,
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
    return element_phase(recall, execution, array, element, phase);
}

/* Whether what a path lies in was kept from an execution before: that one knows its insides. */
static int is_inside_kept(struct tri_recall *recall, uint64_t execution, struct tr_text path,
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
                    ? element_phase_at(recall, execution, path, &phase)
                    : tri_recall_node_phase(recall, execution, path, &phase);
    }
    *is_kept = phase == TR_NODE_PHASE_RECOVERED;
    return error;
}

int tri_recall_find(struct tri_recall *recall, struct tr_text path, uint64_t *execution,
                    uint8_t *phase)
{
    *phase = TR_NODE_PHASE_NOT_YET_STARTED;
    for (uint32_t i = 0; i < recall->plan.from_count; i++) {
        bool goes_back = false;
        *execution = recall->plan.from[i];
        int error = tri_recall_node_phase(recall, *execution, path, phase);
        if (error == 0 && *phase == TR_NODE_PHASE_NOT_YET_STARTED) {
            error = is_inside_kept(recall, *execution, path, &goes_back);
        }
        if (error != 0 || !goes_back) {
            return error;
        }
    }
    return 0;
}

/* ----------------------------------------------------------------------- where it ran */

/* Whether a node or an element, or what it lies in, was kept from an execution before. */
static int is_kept(struct tri_recall *recall, uint64_t execution, struct tr_text path,
                   uint64_t element, bool *is_kept)
{
    uint8_t phase = TR_NODE_PHASE_NOT_YET_STARTED;
    int error = 0;
    if (element != TR_ELEMENT_NONE) {
        error = element_phase(recall, execution, path, element, &phase);
    }
    if (error == 0 && phase == TR_NODE_PHASE_NOT_YET_STARTED) {
        error = tri_recall_node_phase(recall, execution, path, &phase);
    }
    *is_kept = phase == TR_NODE_PHASE_RECOVERED;
    return error == 0 && phase == TR_NODE_PHASE_NOT_YET_STARTED
               ? is_inside_kept(recall, execution, path, is_kept)
               : error;
}

/* The execution that one took results over from; 0: none that is known of. */
static int find_earlier(struct tri_recall *recall, uint64_t execution, uint64_t *earlier)
{
    char explain[TR_EXCHANGE_EXPLAIN_BYTES];
    struct tr_execution_copy copy;
    struct tr_recovery plan = {.from_count = 0};
    *earlier = 0;
    int error = tr_execution_get(recall->reader, execution, &copy);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    if (copy.row.recovery.size > 0 &&
        tr_recall_plan(recall->reader, copy.row.recovery, &recall->arena, &plan, explain) == 0 &&
        plan.from_count > 0) {
        *earlier = plan.from[0];
    }
    tr_execution_copy_fini(&copy);
    return recall->arena.error;
}

int tr_recall_origin(struct tr_reader *reader, uint64_t execution, struct tr_text path,
                     uint64_t element, uint64_t *origin)
{
    struct tri_recall recall = {.reader = reader};
    uint64_t at = execution;
    uint64_t earlier = execution;
    bool goes_back = true;
    int error = 0;
    tr_arena_init(&recall.arena);
    /* Each recovery is younger than what it recovers: so this comes to an end. */
    while (error == 0 && goes_back && earlier != 0 && earlier <= at) {
        at = earlier;
        error = is_kept(&recall, at, path, element, &goes_back);
        if (error == 0 && goes_back) {
            error = find_earlier(&recall, at, &earlier);
            goes_back = earlier < at;
        }
    }
    tr_arena_fini(&recall.arena);
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

int tri_recall_read_values(struct tri_recall *recall, uint64_t execution, struct tr_text path,
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
    return tr_reader_rows(recall->reader, &query, take_slots, slots);
}

int tri_recall_close_list(struct tr_buffer *values, uint32_t count, struct tr_buffer *list)
{
    tr_buffer_array(list, count);
    tr_buffer_add(list, values->data, values->size);
    return list->error;
}
