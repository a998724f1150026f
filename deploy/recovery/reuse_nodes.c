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
    struct tri_reuse *reuse = self;
    const struct tr_node_status *row = value;
    bool has_begun = tr_text_equal(row->kind, tr_text_of("launch")) && row->target.size > 0 &&
                     row->target.data[0] == '/';
    reuse->launched = has_begun ? tr_arena_text(&reuse->arena, row->target) : tr_text_of("");
    return reuse->arena.error;
}

/* The plan by which an execution recovers another one, with what that was kept from. */
static int plan_launched(struct tri_reuse *reuse, const struct tr_execution *row)
{
    struct tr_recovery plan = {.from_count = 0};
    int error = tri_reuse_add_sources(reuse, row, &plan);
    return error != 0 ? error
                      : tr_recovery_write(&plan, reuse->inquiry->store_folder, &reuse->arena,
                                          &reuse->launched, reuse->explain);
}

/* Makes `launched` the plan for what a launch node that is open begins; else nothing. */
static int find_launched(struct tri_reuse *reuse, uint64_t execution, struct tr_text path)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
    };
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    struct tr_executions_row copy;
    char problem[TR_EXECUTIONS_PROBLEM_BYTES];
    reuse->launched = tr_text_of("");
    int error = tr_reader_rows(reuse->reader, &query, take_launched, reuse);
    if (error != 0 || reuse->launched.size == 0) {
        return error;
    }
    const char *word =
        tr_arena_print(&reuse->arena, "%.*s", (int)reuse->launched.size, reuse->launched.data).data;
    reuse->launched = tr_text_of("");
    error = tr_executions_find(reuse->reader, word, problem, &copy);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error; /* forgotten: it begins anew */
    }
    error = plan_launched(reuse, &copy.row);
    tr_executions_row_fini(&copy);
    return error;
}

/* The inputs of a node that are edited, and the plan for what it launches, into `slots`. */
static void write_edits(struct tri_reuse *reuse, struct tr_text path)
{
    const struct tr_recovery_edit *first = tr_recovery_edits(&reuse->plan, path);
    const struct tr_recovery_edit *end = reuse->plan.edits + reuse->plan.edit_count;
    uint32_t count = 0;
    while (first != NULL && first + count < end && tr_text_equal(first[count].path, path)) {
        count++;
    }
    tr_buffer_cut(&reuse->slots, 0);
    tr_buffer_array(&reuse->slots, count + (reuse->launched.size > 0 ? 1 : 0));
    for (uint32_t i = 0; i < count; i++) {
        tr_buffer_array(&reuse->slots, 2);
        tr_buffer_text_value(&reuse->slots, first[i].input);
        tr_buffer_add(&reuse->slots, first[i].slot.data, first[i].slot.size);
    }
    if (reuse->launched.size > 0) {
        tr_buffer_array(&reuse->slots, 2);
        tr_buffer_text_value(&reuse->slots, tr_text_of(""));
        tr_buffer_text_value(&reuse->slots, reuse->launched);
    }
}

/* What a node got and gave that is kept; where it is not recorded what it got is left out. */
static int read_kept(struct tri_reuse *reuse, uint64_t execution, struct tr_text path)
{
    struct tr_cursor cursor;
    int error = tri_reuse_read_values(reuse, execution, path, TR_VALUE_OUTPUTS, &reuse->slots);
    if (error == 0) {
        error = tri_reuse_read_values(reuse, execution, path, TR_VALUE_INPUTS, &reuse->inputs);
    }
    if (error == 0 && tr_slots_begin(tr_buffer_bytes(&reuse->inputs), &cursor) == 0) {
        tr_buffer_cut(&reuse->inputs, 0);
    }
    return error;
}

/* What becomes of the node at `path`; what goes with it is in `slots` and `inputs`. */
static int recall_node(struct tri_reuse *reuse, bool is_again, enum tr_recovery_way *way)
{
    struct tr_text path = tr_buffer_text(&reuse->path);
    uint64_t execution = 0;
    uint8_t phase = TR_NODE_PHASE_NOT_YET_STARTED;
    int error = 0;
    reuse->launched = tr_text_of("");
    tr_buffer_cut(&reuse->inputs, 0);
    *way = tr_recovery_way(&reuse->plan, path);
    if (is_again && *way == TR_RECOVERY_KEPT) {
        *way = TR_RECOVERY_ANEW;
    }
    if (*way != TR_RECOVERY_ANEW) {
        error = tri_reuse_find(reuse, path, &execution, &phase);
        *way = tri_reuse_has_given(phase) ? *way : TR_RECOVERY_OPEN;
    }
    if (error == 0 && *way == TR_RECOVERY_KEPT) {
        return read_kept(reuse, execution, path);
    }
    if (error == 0 && *way == TR_RECOVERY_OPEN) {
        error = find_launched(reuse, execution, path);
    }
    write_edits(reuse, path);
    return error != 0 ? error : reuse->slots.error;
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
static int add_node(struct tri_reuse *reuse, const struct tr_recover_nodes *question,
                    const struct asked *asked, bool is_first, bool *is_full)
{
    enum tr_recovery_way way;
    tr_buffer_cut(&reuse->path, 0);
    tr_buffer_add_text(&reuse->path, question->path);
    tr_buffer_add_string(&reuse->path, question->path.size > 0 ? "/" : "");
    tr_buffer_add_text(&reuse->path, asked->id);
    int error = reuse->path.error;
    if (error == 0) {
        error = recall_node(reuse, asked->is_again, &way);
    }
    *is_full =
        error == 0 && !is_first &&
        reuse->answer.size + reuse->slots.size + reuse->inputs.size > TRI_REUSE_ANSWER_BYTES_MAX;
    if (error != 0 || *is_full) {
        return error;
    }
    tr_buffer_array(&reuse->answer, reuse->inputs.size > 0 ? 4 : 3);
    tr_buffer_u64(&reuse->answer, asked->node);
    tr_buffer_u64(&reuse->answer, way);
    tr_buffer_add(&reuse->answer, reuse->slots.data, reuse->slots.size);
    tr_buffer_add(&reuse->answer, reuse->inputs.data, reuse->inputs.size);
    return reuse->answer.error;
}

static int answer_nodes(struct tri_reuse *reuse, const struct tr_recover_nodes *question)
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
        if (error == 0) {
            error = add_node(reuse, question, &asked, done == 0, &is_full);
        }
        done += error == 0 && !is_full ? 1 : 0;
    }
    tr_buffer_init(&list, 0);
    if (error == 0) {
        error = tri_reuse_close_list(&reuse->answer, done, &list);
    }
    if (error == 0) {
        struct tr_recovered_nodes answer = {.from = reuse->from.row.name,
                                            .nodes = tr_buffer_bytes(&list)};
        error = tr_inquiry_answer(reuse->inquiry, &tr_recovered_nodes_schema, &answer);
    }
    tr_buffer_fini(&list);
    return error;
}

int tr_reuse_nodes(const struct tr_inquiry *inquiry, char *explain)
{
    struct tr_recover_nodes question;
    struct tri_reuse reuse;
    if (tr_recover_nodes_unpack(inquiry->body, inquiry->version, &question) != 0) {
        return TR_MALFORMED;
    }
    int error = tri_reuse_begin(&reuse, inquiry, question.recovery, explain);
    if (error == 0) {
        error = tri_reuse_explain_history(&reuse, answer_nodes(&reuse, &question));
    }
    tri_reuse_finish(&reuse);
    return error;
}
