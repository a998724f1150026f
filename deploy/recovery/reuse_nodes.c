/*
 * Questions about nodes: which of them are kept, with what they gave, and what the others get that
 * was edited. What a launch node began is recovered by a plan of its own, which is made here.
 */
#include "actors/graph/value/slot.h"
#include "deploy/recovery/reuse_inside.h"

/* ------------------------------------------------------------------------- launches */

/* What a launch node began: the address of an execution. */
static int take_launched(void *self, const void *value)
{
    struct tri_recall *recall = self;
    const struct tr_node_status *row = value;
    bool has_begun = tr_text_equal(row->kind, tr_text_of("launch")) && row->target.size > 0 &&
                     row->target.data[0] == '/';
    recall->launched = has_begun ? tr_arena_text(&recall->arena, row->target) : tr_text_of("");
    return recall->arena.error;
}

/* The plan by which an execution recovers another one, with what that was kept from. */
static int plan_launched(struct tri_recall *recall, const struct tr_execution *row)
{
    struct tr_recovery plan = {.from_count = 0};
    int error = tri_recall_add_sources(recall, row, &plan);
    return error != 0 ? error
                      : tr_recovery_write(&plan, recall->inquiry->store_folder, &recall->arena,
                                          &recall->launched, recall->explain);
}

/* Makes `launched` the plan for what a launch node that is open begins; else nothing. */
static int find_launched(struct tri_recall *recall, uint64_t execution, struct tr_text path)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
    };
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    struct tr_execution_copy copy;
    char problem[TR_EXECUTIONS_PROBLEM_BYTES];
    recall->launched = tr_text_of("");
    int error = tr_reader_rows(recall->reader, &query, take_launched, recall);
    if (error != 0 || recall->launched.size == 0) {
        return error;
    }
    const char *word =
        tr_arena_print(&recall->arena, "%.*s", (int)recall->launched.size, recall->launched.data)
            .data;
    recall->launched = tr_text_of("");
    error = tr_execution_find(recall->reader, word, problem, &copy);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error; /* forgotten: it begins anew */
    }
    error = plan_launched(recall, &copy.row);
    tr_execution_copy_fini(&copy);
    return error;
}

/* The inputs of a node that are edited, and the plan for what it launches, into `slots`. */
static void write_edits(struct tri_recall *recall, struct tr_text path)
{
    const struct tr_recovery_edit *first = tr_recovery_edits(&recall->plan, path);
    const struct tr_recovery_edit *end = recall->plan.edits + recall->plan.edit_count;
    uint32_t count = 0;
    while (first != NULL && first + count < end && tr_text_equal(first[count].path, path)) {
        count++;
    }
    tr_buffer_cut(&recall->slots, 0);
    tr_buffer_array(&recall->slots, count + (recall->launched.size > 0 ? 1 : 0));
    for (uint32_t i = 0; i < count; i++) {
        tr_buffer_array(&recall->slots, 2);
        tr_buffer_text_value(&recall->slots, first[i].input);
        tr_buffer_add(&recall->slots, first[i].slot.data, first[i].slot.size);
    }
    if (recall->launched.size > 0) {
        tr_buffer_array(&recall->slots, 2);
        tr_buffer_text_value(&recall->slots, tr_text_of(""));
        tr_buffer_text_value(&recall->slots, recall->launched);
    }
}

/* What a node got and gave that is kept; where it is not recorded what it got is left out. */
static int read_kept(struct tri_recall *recall, uint64_t execution, struct tr_text path)
{
    struct tr_cursor cursor;
    int error = tri_recall_read_values(recall, execution, path, TR_VALUE_OUTPUTS, &recall->slots);
    error = error != 0
                ? error
                : tri_recall_read_values(recall, execution, path, TR_VALUE_INPUTS, &recall->inputs);
    if (error == 0 && tr_slots_begin(tr_buffer_bytes(&recall->inputs), &cursor) == 0) {
        tr_buffer_cut(&recall->inputs, 0);
    }
    return error;
}

/* What becomes of the node at `path`; what goes with it is in `slots` and `inputs`. */
static int recall_node(struct tri_recall *recall, bool is_again, enum tr_recovery_way *way)
{
    struct tr_text path = tr_buffer_text(&recall->path);
    uint64_t execution = 0;
    uint8_t phase = TR_NODE_PHASE_NOT_YET_STARTED;
    int error = 0;
    recall->launched = tr_text_of("");
    tr_buffer_cut(&recall->inputs, 0);
    *way = tr_recovery_way(&recall->plan, path);
    if (is_again && *way == TR_RECOVERY_KEPT) {
        *way = TR_RECOVERY_ANEW;
    }
    if (*way != TR_RECOVERY_ANEW) {
        error = tri_recall_find(recall, path, &execution, &phase);
        *way = tri_recall_has_given(phase) ? *way : TR_RECOVERY_OPEN;
    }
    if (error == 0 && *way == TR_RECOVERY_KEPT) {
        return read_kept(recall, execution, path);
    }
    if (error == 0 && *way == TR_RECOVERY_OPEN) {
        error = find_launched(recall, execution, path);
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
static int add_node(struct tri_recall *recall, const struct tr_recover_nodes *question,
                    const struct asked *asked, bool is_first, bool *is_full)
{
    enum tr_recovery_way way;
    tr_buffer_cut(&recall->path, 0);
    tr_buffer_add_text(&recall->path, question->path);
    tr_buffer_add_string(&recall->path, question->path.size > 0 ? "/" : "");
    tr_buffer_add_text(&recall->path, asked->id);
    int error = recall->path.error;
    error = error != 0 ? error : recall_node(recall, asked->is_again, &way);
    *is_full = error == 0 && !is_first &&
               recall->answer.size + recall->slots.size + recall->inputs.size >
                   TRI_RECALL_ANSWER_BYTES_MAX;
    if (error != 0 || *is_full) {
        return error;
    }
    tr_buffer_array(&recall->answer, recall->inputs.size > 0 ? 4 : 3);
    tr_buffer_u64(&recall->answer, asked->node);
    tr_buffer_u64(&recall->answer, way);
    tr_buffer_add(&recall->answer, recall->slots.data, recall->slots.size);
    tr_buffer_add(&recall->answer, recall->inputs.data, recall->inputs.size);
    return recall->answer.error;
}

static int answer_nodes(struct tri_recall *recall, const struct tr_recover_nodes *question)
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
    error = error != 0 ? error : tri_recall_close_list(&recall->answer, done, &list);
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
    struct tri_recall recall;
    if (tr_recover_nodes_unpack(inquiry->body, inquiry->version, &question) != 0) {
        return TR_MALFORMED;
    }
    int error = tri_recall_begin(&recall, inquiry, question.recovery, explain);
    error =
        error != 0 ? error : tri_recall_explain_history(&recall, answer_nodes(&recall, &question));
    tri_recall_finish(&recall);
    return error;
}
