/*
 * Forgetting: the history says what a share has room for, and the launcher, which knows what lives,
 * deletes it.
 *
 * A share is as many executions of one project and domain as have TR_FORGET_ROWS_MAX rows together,
 * which go as a whole; or, where the first one alone has more, so many rows of that one.
 */
#include "deploy/server/serve_forget.h"

#include <string.h>

#include "actors/history/forget.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"

/* How long the launcher may take. With a full disk that is all of it, and requests are refused. */
#define FORGET_MS_MAX 5000

/* A share that is gathered. */
struct share {
    struct tr_executions_row first; /* its project and domain are those of all */
    struct tr_buffer executions;    /* numbers and names, without the head of their list */
    struct tr_buffer rows;          /* of the first, where that has too many; the same */
    uint32_t execution_count;
    uint32_t gone_count; /* that the history does not have any more */
    uint32_t row_count;
    const struct tr_schema *record; /* of the rows that come */
};

static void share_init(struct share *share)
{
    *share = (struct share){.execution_count = 0};
    tr_buffer_init(&share->executions, 0);
    tr_buffer_init(&share->rows, 0);
}

static void share_fini(struct share *share)
{
    tr_buffer_fini(&share->rows);
    tr_buffer_fini(&share->executions);
    tr_executions_row_fini(&share->first);
}

/* ----------------------------------------------------------------------- gathering */

/* Counts the rows of an execution, but no more than `most`. */
static int count_rows(struct tr_reader *reader, uint64_t execution, uint64_t most, uint64_t *count)
{
    struct tr_reader_filter filter = tr_filter_number("execution", TR_FILTER_EQUAL, execution);
    int error = 0;
    *count = 0;
    for (size_t i = 0; error == 0 && *count < most && i < tr_history_schema_count; i++) {
        uint64_t found = 0;
        struct tr_reader_query query = {.record = tr_history_schemas[i],
                                        .filters = &filter,
                                        .filter_count = 1,
                                        .limit = most - *count};
        error = tr_reader_count(reader, &query, &found);
        *count += found;
    }
    return error;
}

static int take_row(void *self, const void *row)
{
    struct share *share = self;
    share->row_count++;
    return tr_forget_add(&share->rows, share->record, row);
}

/* Rows of all records but the execution's own, which is what the others are found by. */
static int gather_rows(struct tr_reader *reader, uint64_t execution, struct share *share)
{
    struct tr_reader_filter filter = tr_filter_number("execution", TR_FILTER_EQUAL, execution);
    int error = 0;
    for (size_t i = 0; error == 0 && i < tr_history_schema_count; i++) {
        share->record = tr_history_schemas[i];
        struct tr_reader_query query = {.record = share->record,
                                        .filters = &filter,
                                        .filter_count = 1,
                                        .limit = TR_FORGET_ROWS_MAX - share->row_count};
        if (share->record != &tr_execution_schema && share->row_count < TR_FORGET_ROWS_MAX) {
            error = tr_reader_rows(reader, &query, take_row, share);
        }
    }
    return error;
}

static void add_execution(struct share *share, const struct tr_execution *row)
{
    tr_buffer_u64(&share->executions, row->execution);
    tr_buffer_text_value(&share->executions, row->name);
    share->execution_count++;
}

/* Whether it belongs to the launcher of the share. */
static bool suits(const struct share *share, const struct tr_execution *row)
{
    const struct tr_execution *first = &share->first.row;
    return share->execution_count == 0 || (tr_text_equal(first->project, row->project) &&
                                           tr_text_equal(first->domain, row->domain));
}

/* Takes an execution if there is room; `*is_full` if there is none. TR_BUSY: it has not ended. */
static int gather(struct tr_reader *reader, const struct tr_execution *row, struct share *share,
                  bool *is_full)
{
    uint64_t count = 0;
    uint32_t room = TR_FORGET_ROWS_MAX - share->row_count;
    bool is_first = share->execution_count == 0;
    if (!tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)) {
        return TR_BUSY;
    }
    *is_full = !suits(share, row);
    if (*is_full) {
        return 0;
    }
    int error = count_rows(reader, row->execution, room + 1, &count);
    *is_full = count > room;
    if (error != 0 || (*is_full && !is_first)) {
        return error;
    }
    add_execution(share, row);
    if (*is_full) {
        return gather_rows(reader, row->execution, share);
    }
    share->row_count += (uint32_t)count;
    return 0;
}

/* Takes as many of the executions as there is room for, in their order. */
static int gather_all(struct tr_reader *reader, struct tr_bytes executions, struct share *share)
{
    bool is_full = false;
    int error = 0;
    for (size_t at = 0; error == 0 && !is_full && at < executions.size; at += sizeof(uint64_t)) {
        uint64_t number;
        struct tr_executions_row copy = {.texts = NULL};
        memcpy(&number, executions.data + at, sizeof number);
        error = tr_executions_get(reader, number, &copy);
        if (error == TR_NOT_FOUND) {
            /* Only the beginning can be told to be done. */
            is_full = share->execution_count > 0;
            share->gone_count += is_full ? 0 : 1;
            error = 0;
            continue;
        }
        if (error == 0) {
            error = gather(reader, &copy.row, share, &is_full);
        }
        if (error == 0 && share->execution_count == 1 && share->first.texts == NULL) {
            share->first = copy;
        } else {
            tr_executions_row_fini(&copy);
        }
    }
    bool has_some = share->execution_count + share->gone_count > 0;
    return error == TR_BUSY && has_some ? 0 : error;
}

/* ------------------------------------------------------------------------ deleting */

static void take_answer(void *self, const struct tr_message *message)
{
    struct tr_rows_forgotten *answer = self;
    struct tr_rows_forgotten read;
    int error = tr_message_read(message, rows_forgotten, &read);
    *answer = error != 0 ? (struct tr_rows_forgotten){.error = error} : read;
}

/* A flat list of so many values behind its head. */
static struct tr_bytes list_of(struct tr_buffer *list, uint32_t count,
                               const struct tr_buffer *items)
{
    tr_buffer_array(list, count);
    tr_buffer_add(list, items->data, items->size);
    return tr_buffer_bytes(list);
}

/* Has the launcher delete a share. */
static int ask_launcher(struct tr_live *live, const struct share *share,
                        const struct tr_forget_rows *forget, struct tr_rows_forgotten *answer)
{
    struct tr_ref launcher;
    *answer = (struct tr_rows_forgotten){.error = TR_FAILED};
    int error =
        tr_live_launcher(live, share->first.row.project, share->first.row.domain, &launcher);
    if (error == 0) {
        error = tr_host_ask(live->host, launcher, &tr_forget_rows_schema, forget, FORGET_MS_MAX,
                            take_answer, answer);
    }
    return error != 0 ? error : (int)answer->error;
}

static int delete_share(struct tr_live *live, const struct share *share,
                        struct tr_forgotten *forgotten)
{
    struct tr_rows_forgotten answer;
    struct tr_buffer executions;
    struct tr_buffer rows;
    tr_buffer_init(&executions, 0);
    tr_buffer_init(&rows, 0);
    struct tr_forget_rows forget = {
        .executions = list_of(&executions, 2 * share->execution_count, &share->executions),
        .is_part = share->rows.size > 0};
    if (forget.is_part) {
        forget.rows = list_of(&rows, 2 * share->row_count, &share->rows);
    }
    int error = executions.error != 0 ? executions.error : rows.error;
    if (error == 0) {
        error = ask_launcher(live, share, &forget, &answer);
    }
    if (error == 0) {
        forgotten->rows = share->row_count;
        forgotten->done = share->gone_count + (forget.is_part ? 0 : answer.done);
    }
    tr_buffer_fini(&rows);
    tr_buffer_fini(&executions);
    return error;
}

static int forget_share(struct tr_live *live, struct tr_reader *reader, struct tr_bytes executions,
                        struct share *share, struct tr_forgotten *forgotten)
{
    int error = gather_all(reader, executions, share);
    tr_live_read_end(live); /* nobody holds the store's log while it is written */
    if (error == 0 && share->execution_count == 0) {
        forgotten->done = share->gone_count;
        return 0;
    }
    return error != 0 ? error : delete_share(live, share, forgotten);
}

static int forget_graphs(struct tr_live *live, const struct tr_forget *forget)
{
    return forget->graphs.size > (size_t)TR_FORGET_GRAPHS_MAX * TRI_GRAPH_HASH_BYTES
               ? TR_INVALID
               : tr_host_remove_graphs(live->host, forget->graphs, forget->before_ms);
}

void tr_serve_forget(struct tr_live *live, const struct tr_forget *forget,
                     struct tr_forgotten *forgotten)
{
    struct tr_bytes executions = forget->executions;
    struct tr_reader *reader;
    struct share share;
    bool is_odd = executions.size % sizeof(uint64_t) != 0 ||
                  executions.size / sizeof(uint64_t) > TR_FORGET_EXECUTIONS_MAX;
    *forgotten = (struct tr_forgotten){.message = tr_text_of("")};
    share_init(&share);
    int error = is_odd                 ? TR_INVALID
                : executions.size == 0 ? forget_graphs(live, forget)
                                       : tr_live_read(live, NULL, &reader);
    if (error == 0 && executions.size > 0) {
        error = forget_share(live, reader, executions, &share, forgotten);
    }
    share_fini(&share);
    forgotten->error = error;
    forgotten->message = tr_text_of(error == 0         ? ""
                                    : error == TR_BUSY ? "it has not ended; abort it first"
                                                       : tr_error_text(error));
}
