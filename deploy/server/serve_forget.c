/*
 * Forgetting: the rows of a share are read from the history, and the launcher, which knows what
 * lives, deletes them.
 */
#include "deploy/server/serve_forget.h"

#include "actors/history/forget.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"

/* How long the launcher may take. With a full disk that is all of it, and requests are refused. */
#define FORGET_MS_MAX 5000

/* A share that is gathered. */
struct share {
    struct tr_buffer rows;
    uint32_t count;
    const struct tr_schema *record; /* of the rows that come */
};

static int take_row(void *self, const void *row)
{
    struct share *share = self;
    share->count++;
    return tr_forget_add(&share->rows, share->record, row);
}

/* Rows of all records but the execution's own, which is what the others are found by. */
static int gather(struct tr_reader *reader, uint64_t execution, struct share *share)
{
    struct tr_reader_filter filter = tr_filter_number("execution", TR_FILTER_EQUAL, execution);
    int error = 0;
    for (size_t i = 0; error == 0 && i < tr_history_schema_count; i++) {
        share->record = tr_history_schemas[i];
        struct tr_reader_query query = {.record = share->record,
                                        .filters = &filter,
                                        .filter_count = 1,
                                        .limit = TR_FORGET_ROWS_MAX - share->count};
        if (share->record != &tr_execution_schema && share->count < TR_FORGET_ROWS_MAX) {
            error = tr_reader_rows(reader, &query, take_row, share);
        }
    }
    return error;
}

static void take_answer(void *self, const struct tr_message *message)
{
    struct tr_rows_forgotten answer;
    int error = tr_message_read(message, rows_forgotten, &answer);
    *(int64_t *)self = error != 0 ? error : answer.error;
}

/* Has the launcher delete a share; what is missing in it says that it is the last one. */
static int delete_share(struct tr_live *live, const struct tr_execution *row,
                        const struct share *share, struct tr_forgotten *forgotten)
{
    struct tr_ref launcher;
    int64_t answer = TR_FAILED;
    struct tr_buffer rows;
    struct tr_forget_rows forget = {.execution = row->execution,
                                    .name = row->name,
                                    .is_last = share->count < TR_FORGET_ROWS_MAX};
    tr_buffer_init(&rows, 0);
    if (!forget.is_last) {
        tr_buffer_array(&rows, 2 * share->count);
        tr_buffer_add(&rows, share->rows.data, share->rows.size);
    }
    forget.rows = tr_buffer_bytes(&rows);
    int error = rows.error;
    if (error == 0) {
        error = tr_live_launcher(live, row->project, row->domain, &launcher);
    }
    if (error == 0) {
        error = tr_host_ask(live->host, launcher, &tr_forget_rows_schema, &forget, FORGET_MS_MAX,
                            take_answer, &answer);
    }
    tr_buffer_fini(&rows);
    if (error == 0) {
        error = (int)answer;
    }
    forgotten->rows = error == 0 ? share->count + (forget.is_last ? 1U : 0U) : 0;
    forgotten->is_done = error == 0 && forget.is_last;
    return error;
}

static int forget_share(struct tr_live *live, struct tr_reader *reader,
                        const struct tr_execution *row, struct tr_forgotten *forgotten)
{
    struct share share = {.count = 0};
    if (!tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)) {
        return TR_BUSY;
    }
    tr_buffer_init(&share.rows, 0);
    int error = gather(reader, row->execution, &share);
    tr_live_read_end(live); /* nobody holds the store's log while it is written */
    if (error == 0) {
        error = delete_share(live, row, &share, forgotten);
    }
    tr_buffer_fini(&share.rows);
    return error;
}

void tr_serve_forget(struct tr_live *live, uint64_t execution, struct tr_forgotten *forgotten)
{
    struct tr_reader *reader;
    struct tr_executions_row copy = {.texts = NULL};
    *forgotten = (struct tr_forgotten){.message = tr_text_of("")};
    int error = tr_live_read(live, NULL, &reader);
    if (error == 0) {
        error = tr_executions_get(reader, execution, &copy);
        if (error == 0) {
            error = forget_share(live, reader, &copy.row, forgotten);
        }
        tr_live_read_end(live);
    }
    tr_executions_row_fini(&copy);
    if (error == TR_NOT_FOUND) {
        forgotten->is_done = true;
        return;
    }
    forgotten->error = error;
    forgotten->message = tr_text_of(error == 0         ? ""
                                    : error == TR_BUSY ? "it has not ended; abort it first"
                                                       : tr_error_text(error));
}
