/*
 * Looking up what nodes and elements gave. A node that was kept itself has its insides in the
 * execution that it was kept from: then that one is asked, as far as the plan goes back.
 */
#include "deploy/recall.h"

#include <stdio.h>
#include <string.h>

#include "actors/value.h"
#include "deploy/elements.h"
#include "deploy/executions.h"
#include "deploy/file.h"
#include "deploy/recovery.h"
#include "runtime/memory.h"

/* What an answer holds; the first node or element always has room. */
#define ANSWER_BYTES_MAX (TR_MESSAGE_BYTES_MAX / 2)

/* One question. */
struct recall {
    const struct tr_inquiry *inquiry;
    struct tr_arena arena; /* the plan */
    struct tr_recovery plan;
    struct tr_reader *reader;
    struct tr_execution_copy from; /* whose name is told */
    struct tr_buffer path;
    struct tr_buffer answer;
    struct tr_buffer slots;
    char *explain;
};

static int explain_history(struct recall *recall, int error)
{
    if (error != 0 && recall->explain[0] == '\0') {
        snprintf(recall->explain, TR_EXCHANGE_EXPLAIN_BYTES, "the history: %.900s",
                 recall->reader != NULL ? tr_reader_explain(recall->reader) : tr_error_text(error));
    }
    return error;
}

static int begin(struct recall *recall, const struct tr_inquiry *inquiry, struct tr_text uri,
                 char *explain)
{
    *recall = (struct recall){.inquiry = inquiry, .explain = explain};
    tr_arena_init(&recall->arena);
    tr_buffer_init(&recall->path, 0);
    tr_buffer_init(&recall->answer, 0);
    tr_buffer_init(&recall->slots, 0);
    int error = tr_recovery_read(uri, &recall->arena, &recall->plan, explain);
    if (error == 0) {
        error = tr_history_open(inquiry->store_folder, explain, &recall->reader);
    }
    if (error == 0) {
        uint64_t first = recall->plan.from_count > 0 ? recall->plan.from[0] : 0;
        error = tr_execution_get(recall->reader, first, &recall->from);
    }
    if (error == TR_NOT_FOUND && explain[0] == '\0') {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES,
                 "the execution that it recovers is not in the history any more");
    }
    return explain_history(recall, error);
}

static void finish(struct recall *recall)
{
    tr_execution_copy_fini(&recall->from);
    tr_reader_close(recall->reader);
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

/* How a node stood; NOT_YET_STARTED where it was never begun. */
static int node_phase(struct recall *recall, uint64_t execution, struct tr_text path,
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

/* How an element stood, by its path "sq[3]"; NOT_YET_STARTED where it was never begun. */
static int element_phase(struct recall *recall, uint64_t execution, struct tr_text path,
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
    *phase = TR_NODE_PHASE_NOT_YET_STARTED;
    return tr_elements_read(recall->reader, execution, array, element, take_element_phase, phase);
}

/* Whether what a path lies in was kept from an execution before: that one knows its insides. */
static int is_inside_kept(struct recall *recall, uint64_t execution, struct tr_text path,
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
        error = path.data[path.size - 1] == ']' ? element_phase(recall, execution, path, &phase)
                                                : node_phase(recall, execution, path, &phase);
    }
    *is_kept = phase == TR_NODE_PHASE_RECOVERED;
    return error;
}

/* The execution of the plan that knows of a path, and how it stood there. */
static int find(struct recall *recall, struct tr_text path, uint64_t *execution, uint8_t *phase)
{
    *phase = TR_NODE_PHASE_NOT_YET_STARTED;
    for (uint32_t i = 0; i < recall->plan.from_count; i++) {
        bool goes_back = false;
        *execution = recall->plan.from[i];
        int error = node_phase(recall, *execution, path, phase);
        if (error == 0 && *phase == TR_NODE_PHASE_NOT_YET_STARTED) {
            error = is_inside_kept(recall, *execution, path, &goes_back);
        }
        if (error != 0 || !goes_back) {
            return error;
        }
    }
    return 0;
}

/* ---------------------------------------------------------------------------- nodes */

static int take_slots(void *self, const void *row)
{
    struct tr_buffer *slots = self;
    struct tr_bytes value = ((const struct tr_node_value *)row)->slots;
    tr_buffer_cut(slots, 0);
    tr_buffer_add(slots, value.data, value.size);
    return slots->error;
}

/* What a node gave, into `slots`; an empty list where nothing is recorded. */
static int read_outputs(struct recall *recall, uint64_t execution, struct tr_text path)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
        tr_filter_number("side", TR_FILTER_EQUAL, TR_VALUE_OUTPUTS),
    };
    struct tr_reader_query query = {
        .record = &tr_node_value_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    tr_buffer_cut(&recall->slots, 0);
    tr_buffer_array(&recall->slots, 0);
    return tr_reader_rows(recall->reader, &query, take_slots, &recall->slots);
}

/* The inputs of a node that are edited, into `slots`. */
static void write_edits(struct recall *recall, struct tr_text path)
{
    const struct tr_recovery_edit *first = tr_recovery_edits(&recall->plan, path);
    const struct tr_recovery_edit *end = recall->plan.edits + recall->plan.edit_count;
    uint32_t count = 0;
    while (first != NULL && first + count < end && tr_text_equal(first[count].path, path)) {
        count++;
    }
    tr_buffer_cut(&recall->slots, 0);
    tr_buffer_array(&recall->slots, count);
    for (uint32_t i = 0; i < count; i++) {
        tr_buffer_array(&recall->slots, 2);
        tr_buffer_text_value(&recall->slots, first[i].input);
        tr_buffer_add(&recall->slots, first[i].slot.data, first[i].slot.size);
    }
}

static bool has_given(uint8_t phase)
{
    return phase == TR_NODE_PHASE_SUCCEEDED || phase == TR_NODE_PHASE_RECOVERED;
}

/* What becomes of the node at `path`; what goes with it is in `slots`. */
static int recall_node(struct recall *recall, bool is_again, enum tr_recovery_way *way)
{
    struct tr_text path = tr_buffer_text(&recall->path);
    uint64_t execution = 0;
    uint8_t phase = TR_NODE_PHASE_NOT_YET_STARTED;
    int error = 0;
    *way = tr_recovery_way(&recall->plan, path);
    if (is_again && *way == TR_RECOVERY_KEPT) {
        *way = TR_RECOVERY_ANEW;
    }
    if (*way == TR_RECOVERY_KEPT) {
        error = find(recall, path, &execution, &phase);
        *way = has_given(phase) ? TR_RECOVERY_KEPT : TR_RECOVERY_OPEN;
    }
    if (error == 0 && *way == TR_RECOVERY_KEPT) {
        return read_outputs(recall, execution, path);
    }
    write_edits(recall, path);
    return error != 0 ? error : recall->slots.error;
}

/* The next node of a question. */
struct asked {
    uint64_t node;
    struct tr_text id;
    bool is_again;
};

static int read_asked(struct tr_cursor *cursor, struct asked *asked)
{
    bool is_fine = tr_read_array(cursor) == 3;
    asked->node = tr_read_u64(cursor);
    asked->id = tr_read_text(cursor);
    asked->is_again = tr_read_bool(cursor);
    return cursor->error != 0 || !is_fine ? TR_MALFORMED : 0;
}

/* Adds a node to the answer, unless that would become too large. */
static int add_node(struct recall *recall, const struct tr_recover_nodes *question,
                    const struct asked *asked, bool is_first, bool *is_full)
{
    enum tr_recovery_way way;
    tr_buffer_cut(&recall->path, 0);
    tr_buffer_add_text(&recall->path, question->path);
    tr_buffer_add_string(&recall->path, question->path.size > 0 ? "/" : "");
    tr_buffer_add_text(&recall->path, asked->id);
    int error = recall->path.error;
    error = error != 0 ? error : recall_node(recall, asked->is_again, &way);
    *is_full =
        error == 0 && !is_first && recall->answer.size + recall->slots.size > ANSWER_BYTES_MAX;
    if (error != 0 || *is_full) {
        return error;
    }
    tr_buffer_array(&recall->answer, 4);
    tr_buffer_u64(&recall->answer, asked->node);
    tr_buffer_u64(&recall->answer, way);
    tr_buffer_add(&recall->answer, recall->slots.data, recall->slots.size);
    tr_buffer_u64(&recall->answer, 0);
    return recall->answer.error;
}

/* `count` values that were written one behind the other, as a list. */
static int close_list(struct tr_buffer *values, uint32_t count, struct tr_buffer *list)
{
    tr_buffer_array(list, count);
    tr_buffer_add(list, values->data, values->size);
    return list->error;
}

static int answer_nodes(struct recall *recall, const struct tr_recover_nodes *question)
{
    struct tr_cursor cursor = tr_cursor_of(question->nodes);
    struct tr_buffer list;
    struct asked asked;
    uint32_t count = tr_read_array(&cursor);
    uint32_t done = 0;
    bool is_full = false;
    int error = 0;
    while (error == 0 && !is_full && done < count) {
        error = read_asked(&cursor, &asked);
        error = error != 0 ? error : add_node(recall, question, &asked, done == 0, &is_full);
        done += error == 0 && !is_full ? 1 : 0;
    }
    tr_buffer_init(&list, 0);
    error = error != 0 ? error : close_list(&recall->answer, done, &list);
    if (error == 0) {
        struct tr_recovered_nodes answer = {.from = recall->from.row.name,
                                            .nodes = tr_buffer_bytes(&list)};
        error = tr_inquiry_answer(recall->inquiry, &tr_recovered_nodes_schema, &answer);
    }
    tr_buffer_fini(&list);
    return error;
}

int tr_recall_nodes(const struct tr_inquiry *inquiry, char *explain)
{
    struct tr_recover_nodes question;
    struct recall recall;
    if (tr_recover_nodes_unpack(inquiry->body, inquiry->version, &question) != 0) {
        return TR_MALFORMED;
    }
    int error = begin(&recall, inquiry, question.recovery, explain);
    error = error != 0 ? error : explain_history(&recall, answer_nodes(&recall, &question));
    finish(&recall);
    return error;
}

/* ------------------------------------------------------------------------- elements */

/* The elements that an answer is about, and what is found of them. */
struct range {
    struct recall *recall;
    struct tr_text array;
    uint64_t first;
    uint64_t end;  /* where the answer ends */
    uint32_t kept; /* in the answer */
};

/* Adds an element with its slots, if the plan lets it be kept; the range ends where it is full. */
static int add_element(struct range *range, uint64_t element, struct tr_bytes slots)
{
    struct recall *recall = range->recall;
    if (element < range->first || element >= range->end) {
        return 0;
    }
    tr_buffer_cut(&recall->path, 0);
    tr_buffer_print(&recall->path, "%.*s[%llu]", (int)range->array.size, range->array.data,
                    (unsigned long long)element);
    if (recall->path.error != 0 ||
        tr_recovery_way(&recall->plan, tr_buffer_text(&recall->path)) != TR_RECOVERY_KEPT) {
        return recall->path.error;
    }
    if (range->kept > 0 && recall->answer.size + slots.size > ANSWER_BYTES_MAX) {
        range->end = element;
        return 0;
    }
    range->kept++;
    tr_buffer_array(&recall->answer, 2);
    tr_buffer_u64(&recall->answer, element);
    tr_buffer_add(&recall->answer, slots.data, slots.size);
    return recall->answer.error;
}

static int take_row(void *self, const void *value)
{
    const struct tr_element_output *row = value;
    struct tr_cursor cursor = tr_cursor_of(row->outputs);
    uint32_t count = tr_read_array(&cursor);
    int error = cursor.error;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        bool is_pair = tr_read_array(&cursor) == 2;
        uint64_t element = tr_read_u64(&cursor);
        struct tr_bytes slots = tr_read_any(&cursor);
        error =
            cursor.error != 0 || !is_pair ? TR_STORE_DAMAGED : add_element(self, element, slots);
    }
    return error;
}

/* From the rows that an array wrote which has not wholly succeeded. */
static int read_rows(struct range *range, uint64_t execution)
{
    uint64_t block = range->first - range->first % TR_RECOVER_ELEMENTS_MAX;
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, range->array),
        tr_filter_number("first", TR_FILTER_GREATER_EQUAL, block),
        tr_filter_number("first", TR_FILTER_LESS, range->end),
    };
    struct tr_reader_query query = {.record = &tr_element_output_schema,
                                    .filters = filters,
                                    .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(range->recall->reader, &query, take_row, range);
}

static int take_progress(void *self, const void *row)
{
    *(struct tr_progress *)self = *(const struct tr_progress *)row;
    return 0;
}

/* Whether all elements of an array gave something, so that its lists say all. */
static int is_whole(struct recall *recall, uint64_t execution, struct tr_text path, bool *is_whole)
{
    struct tr_progress progress = {.total = 0};
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
    };
    struct tr_reader_query query = {
        .record = &tr_progress_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    int error = tr_reader_rows(recall->reader, &query, take_progress, &progress);
    *is_whole = progress.total > 0 && progress.succeeded == progress.total;
    return error;
}

/* One list of a map, at the next element. */
struct list {
    struct tr_bytes mapped;
    struct tr_cursor cursor;
    uint64_t count;
};

static int open_list(struct tr_bytes slot, struct list *list)
{
    struct tr_offloaded where;
    int error = 0;
    *list = (struct list){.mapped = {.size = 0}};
    if (tr_slot_is_offloaded(slot, &where)) {
        char *path = tr_text_copy(where.uri);
        error = path == NULL ? TR_MEMORY : tr_file_map(path, &list->mapped);
        tr_free(path);
        slot = list->mapped;
    }
    if (error == 0) {
        list->cursor = tr_cursor_of(slot);
        list->count = tr_read_array(&list->cursor);
    }
    return error;
}

/* Gives all elements of the range, from lists that stand at their beginning. */
static int walk_lists(struct range *range, struct list *lists, uint32_t count)
{
    struct tr_buffer slots;
    int error = 0;
    tr_buffer_init(&slots, 0);
    for (uint64_t element = 0; error == 0 && element < range->end; element++) {
        tr_buffer_cut(&slots, 0);
        tr_buffer_array(&slots, count);
        for (uint32_t i = 0; i < count; i++) {
            struct tr_bytes value = tr_read_any(&lists[i].cursor);
            error =
                lists[i].cursor.error != 0 || element >= lists[i].count ? TR_STORE_DAMAGED : error;
            if (error == 0 && element >= range->first) {
                tr_buffer_add(&slots, value.data, value.size);
            }
        }
        error = error != 0 ? error : slots.error;
        if (error == 0 && element >= range->first) {
            error = add_element(range, element, tr_buffer_bytes(&slots));
        }
    }
    tr_buffer_fini(&slots);
    return error;
}

/*
 * From the lists that a map gave which wholly succeeded. It may have a list of errors more than its
 * elements have outputs: `outputs` counts without it.
 */
static int read_lists(struct range *range, uint64_t execution, uint32_t outputs)
{
    struct recall *recall = range->recall;
    struct tr_cursor cursor;
    int error = read_outputs(recall, execution, range->array);
    uint32_t count = tr_slots_begin(tr_buffer_bytes(&recall->slots), &cursor);
    if (error != 0 || count < outputs) {
        return error;
    }
    struct list *lists = tr_alloc_zero(outputs + 1, sizeof *lists);
    error = lists == NULL ? TR_MEMORY : 0;
    for (uint32_t i = 0; error == 0 && i < outputs; i++) {
        error = open_list(tr_read_any(&cursor), &lists[i]);
    }
    error = error != 0 ? error : walk_lists(range, lists, outputs);
    for (uint32_t i = 0; lists != NULL && i < outputs; i++) {
        tr_file_unmap(lists[i].mapped);
    }
    tr_free(lists);
    return error;
}

/* The execution of the plan in which the array itself ran. */
static int find_array(struct recall *recall, struct tr_text path, uint64_t *execution,
                      uint8_t *phase)
{
    int error = find(recall, path, execution, phase);
    for (uint32_t i = 0; error == 0 && i < recall->plan.from_count; i++) {
        if (recall->plan.from[i] == *execution && *phase == TR_NODE_PHASE_RECOVERED &&
            i + 1 < recall->plan.from_count) {
            *execution = recall->plan.from[i + 1];
            error = node_phase(recall, *execution, path, phase);
        }
    }
    return error;
}

static int answer_elements(struct recall *recall, const struct tr_recover_elements *question)
{
    struct range range = {.recall = recall,
                          .array = question->path,
                          .first = question->first,
                          .end = question->first + question->count};
    struct tr_buffer list;
    uint64_t execution = 0;
    uint8_t phase;
    bool is_listed = false;
    int error = find_array(recall, question->path, &execution, &phase);
    if (error == 0 && has_given(phase)) {
        error = is_whole(recall, execution, question->path, &is_listed);
    }
    if (error == 0) {
        error = is_listed ? read_lists(&range, execution, question->outputs)
                          : read_rows(&range, execution);
    }
    tr_buffer_init(&list, 0);
    error = error != 0 ? error : close_list(&recall->answer, range.kept, &list);
    if (error == 0) {
        struct tr_recovered_elements answer = {.from = recall->from.row.name,
                                               .first = question->first,
                                               .count = (uint32_t)(range.end - range.first),
                                               .is_listed = is_listed,
                                               .elements = tr_buffer_bytes(&list)};
        error = tr_inquiry_answer(recall->inquiry, &tr_recovered_elements_schema, &answer);
    }
    tr_buffer_fini(&list);
    return error;
}

int tr_recall_elements(const struct tr_inquiry *inquiry, char *explain)
{
    struct tr_recover_elements question;
    struct recall recall;
    bool is_fine = tr_recover_elements_unpack(inquiry->body, inquiry->version, &question) == 0 &&
                   question.count > 0 && question.count <= TR_RECOVER_ELEMENTS_MAX;
    if (!is_fine) {
        return TR_MALFORMED;
    }
    int error = begin(&recall, inquiry, question.recovery, explain);
    error = error != 0 ? error : explain_history(&recall, answer_elements(&recall, &question));
    finish(&recall);
    return error;
}
