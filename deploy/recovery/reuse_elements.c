/*
 * Questions about elements of a map: from the rows that it wrote at its end, or, where all of them
 * gave something, from the lists that it gave.
 */
#include "actors/graph/value/slot.h"
#include "deploy/common/file.h"
#include "deploy/inputs/offload.h"
#include "deploy/inputs/relocate.h"
#include "deploy/recovery/reuse_inside.h"
#include "runtime/memory.h"

/* The elements that an answer is about, and what is found of them. */
struct range {
    struct tri_reuse *reuse;
    struct tr_text array;
    uint64_t first;
    uint64_t end;  /* where the answer ends */
    uint32_t kept; /* in the answer */
};

/* Whether an element is asked about, and the plan lets it be kept. */
static int is_kept(struct range *range, uint64_t element, bool *is_kept)
{
    struct tri_reuse *reuse = range->reuse;
    *is_kept = element >= range->first && element < range->end;
    if (!*is_kept) {
        return 0;
    }
    tr_buffer_cut(&reuse->path, 0);
    tr_buffer_print(&reuse->path, "%.*s[%llu]", (int)range->array.size, range->array.data,
                    (unsigned long long)element);
    *is_kept = reuse->path.error == 0 &&
               tr_recovery_way(&reuse->plan, tr_buffer_text(&reuse->path)) == TR_RECOVERY_KEPT;
    return reuse->path.error;
}

/* Adds an element that is kept with its slots; the range ends where the answer is full. */
static int add_element(struct range *range, uint64_t element, struct tr_bytes slots)
{
    struct tri_reuse *reuse = range->reuse;
    if (range->kept > 0 && reuse->answer.size + slots.size > TRI_REUSE_ANSWER_BYTES_MAX) {
        range->end = element;
        return 0;
    }
    range->kept++;
    tr_buffer_array(&reuse->answer, 2);
    tr_buffer_u64(&reuse->answer, element);
    tr_buffer_add(&reuse->answer, slots.data, slots.size);
    return reuse->answer.error;
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
        bool has_it = false;
        error = cursor.error != 0 || !is_pair ? TR_STORE_DAMAGED : is_kept(self, element, &has_it);
        if (error == 0 && has_it) {
            error = add_element(self, element, slots);
        }
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
    return tr_reader_rows(range->reuse->reader, &query, take_row, range);
}

static int take_progress(void *self, const void *row)
{
    *(struct tr_progress *)self = *(const struct tr_progress *)row;
    return 0;
}

/* Whether all elements of an array gave something, so that its lists say all. */
static int is_whole(struct tri_reuse *reuse, uint64_t execution, struct tr_text path,
                    bool *is_whole)
{
    struct tr_progress progress = {.total = 0};
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
    };
    struct tr_reader_query query = {
        .record = &tr_progress_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    int error = tr_reader_rows(reuse->reader, &query, take_progress, &progress);
    *is_whole = progress.total > 0 && progress.succeeded == progress.total;
    return error;
}

/* One list of a map, at the next element. */
struct list {
    struct tr_bytes mapped;
    struct tr_cursor cursor;
    uint64_t count;
    bool is_wrapped; /* schemas/engine/recovery.h */
};

static int open_list(const char *folder, struct tr_bytes slot, struct list *list)
{
    struct tr_offloaded where;
    int error = 0;
    *list = (struct list){.mapped = {.size = 0}};
    if (tr_slot_is_offloaded(slot, &where)) {
        error = tr_relocate_map(folder, where.uri, NULL, NULL, &list->mapped);
        slot = list->mapped;
    }
    if (error == 0) {
        list->cursor = tr_cursor_of(slot);
        list->count = tr_read_array(&list->cursor);
    }
    return error;
}

/* Takes the next item of each list; with `slots` as the slots of an element. */
static int take_items(struct range *range, struct list *lists, uint32_t count,
                      struct tr_buffer *slots)
{
    struct tri_reuse *reuse = range->reuse;
    int error = 0;
    if (slots != NULL) {
        tr_buffer_cut(slots, 0);
        tr_buffer_array(slots, count);
    }
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        struct tr_bytes item = tr_read_any(&lists[i].cursor);
        if (lists[i].cursor.error != 0) {
            return TR_STORE_DAMAGED;
        }
        if (slots != NULL) {
            error = tr_offload_literal(reuse->inquiry->store_folder, item, lists[i].is_wrapped,
                                       slots, reuse->explain);
        }
    }
    return error != 0 || slots == NULL ? error : slots->error;
}

static bool have_element(const struct list *lists, uint32_t count, uint64_t element)
{
    for (uint32_t i = 0; i < count; i++) {
        if (element >= lists[i].count) {
            return false;
        }
    }
    return true;
}

/* Gives all elements of the range, from lists that stand at their beginning. */
static int walk_lists(struct range *range, struct list *lists, uint32_t count)
{
    struct tr_buffer slots;
    int error = 0;
    tr_buffer_init(&slots, 0);
    for (uint64_t element = 0; error == 0 && element < range->end; element++) {
        bool has_it = false;
        error = have_element(lists, count, element) ? is_kept(range, element, &has_it)
                                                    : TR_STORE_DAMAGED;
        if (error == 0) {
            error = take_items(range, lists, count, has_it ? &slots : NULL);
        }
        if (error == 0 && has_it) {
            error = add_element(range, element, tr_buffer_bytes(&slots));
        }
    }
    tr_buffer_fini(&slots);
    return error;
}

/*
 * From the lists that a map gave which wholly succeeded. It may have a list of errors more than its
 * elements have outputs: the question's `outputs` counts without it.
 */
static int read_lists(struct range *range, uint64_t execution,
                      const struct tr_recover_elements *question)
{
    struct tri_reuse *reuse = range->reuse;
    struct tr_cursor cursor;
    struct tr_cursor wrapped;
    uint32_t outputs = question->outputs;
    uint32_t flags = tr_slots_begin(question->wrapped, &wrapped);
    int error =
        tri_reuse_read_values(reuse, execution, range->array, TR_VALUE_OUTPUTS, &reuse->slots);
    uint32_t count = tr_slots_begin(tr_buffer_bytes(&reuse->slots), &cursor);
    if (error != 0 || count < outputs) {
        return error;
    }
    struct list *lists = tr_alloc_zero(outputs + 1, sizeof *lists);
    error = lists == NULL ? TR_MEMORY : 0;
    for (uint32_t i = 0; error == 0 && i < outputs; i++) {
        error = open_list(tr_reader_folder(range->reuse->reader), tr_read_any(&cursor), &lists[i]);
        lists[i].is_wrapped = i < flags && tr_read_bool(&wrapped);
    }
    if (error == 0) {
        error = walk_lists(range, lists, outputs);
    }
    for (uint32_t i = 0; lists != NULL && i < outputs; i++) {
        tr_file_unmap(lists[i].mapped);
    }
    tr_free(lists);
    return error;
}

/* The execution of the plan in which the array itself ran. */
static int find_array(struct tri_reuse *reuse, struct tr_text path, uint64_t *execution,
                      uint8_t *phase)
{
    int error = tri_reuse_find(reuse, path, execution, phase);
    for (uint32_t i = 0; error == 0 && i < reuse->plan.from_count; i++) {
        if (reuse->plan.from[i] == *execution && *phase == TR_NODE_PHASE_RECOVERED &&
            i + 1 < reuse->plan.from_count) {
            *execution = reuse->plan.from[i + 1];
            error = tri_reuse_node_phase(reuse, *execution, path, phase);
        }
    }
    return error;
}

static int answer_elements(struct tri_reuse *reuse, const struct tr_recover_elements *question)
{
    struct range range = {.reuse = reuse,
                          .array = question->path,
                          .first = question->first,
                          .end = question->first + question->count};
    struct tr_buffer list;
    uint64_t execution = 0;
    uint8_t phase;
    bool is_listed = false;
    int error = find_array(reuse, question->path, &execution, &phase);
    if (error == 0 && tri_reuse_has_given(phase)) {
        error = is_whole(reuse, execution, question->path, &is_listed);
    }
    if (error == 0) {
        error = is_listed ? read_lists(&range, execution, question) : read_rows(&range, execution);
    }
    tr_buffer_init(&list, 0);
    if (error == 0) {
        error = tri_reuse_close_list(&reuse->answer, range.kept, &list);
    }
    if (error == 0) {
        struct tr_recovered_elements answer = {.from = reuse->from.row.name,
                                               .first = question->first,
                                               .count = (uint32_t)(range.end - range.first),
                                               .is_listed = is_listed,
                                               .elements = tr_buffer_bytes(&list)};
        error = tr_inquiry_answer(reuse->inquiry, &tr_recovered_elements_schema, &answer);
    }
    tr_buffer_fini(&list);
    return error;
}

int tr_reuse_elements(const struct tr_inquiry *inquiry, char *explain)
{
    struct tr_recover_elements question;
    struct tri_reuse reuse;
    bool is_fine = tr_recover_elements_unpack(inquiry->body, inquiry->version, &question) == 0 &&
                   question.count > 0 && question.count <= TR_RECOVER_ELEMENTS_MAX;
    if (!is_fine) {
        return TR_MALFORMED;
    }
    int error = tri_reuse_begin(&reuse, inquiry, question.recovery, explain);
    if (error == 0) {
        error = tri_reuse_explain_history(&reuse, answer_elements(&reuse, &question));
    }
    tri_reuse_finish(&reuse);
    return error;
}
