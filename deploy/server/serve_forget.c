/*
 * Forgetting: the history says what a share has room for, and the launcher, which knows what lives,
 * deletes it.
 *
 * A share is as many executions of one project and domain as have TR_FORGET_ROWS_MAX rows together,
 * which go as a whole; or, where the first one alone has more, so many rows of that one.
 *
 * Rows are counted of many executions at once, by the range of their numbers: a database server
 * takes as long for one execution. A range may have rows of others, so that a share is smaller than
 * it could be; the range of one has its own alone. How many rows the first one has says how many
 * executions to gather; what has too many rows is cut to what fits, and what is nearly full is
 * enough.
 */
#include "deploy/server/serve_forget.h"

#include <string.h>

#include "actors/history/forget.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"
#include "schemas/engine/entity.h"

/* How long the launcher may take. With a full disk that is all of it, and requests are refused. */
#define FORGET_MS_MAX 5000

/* With more rows a share is full enough. */
#define ENOUGH_ROWS (TR_FORGET_ROWS_MAX * 3 / 4)

/* Executions that are read at once. */
#define GATHERED_MAX 32

/* A share that is gathered. */
struct share {
    struct tr_executions_row first; /* its project and domain are those of all */
    struct tr_buffer executions;    /* numbers and names, without the head of their list */
    uint64_t numbers[TR_FORGET_EXECUTIONS_MAX];
    size_t ends[TR_FORGET_EXECUTIONS_MAX]; /* of each in `executions` */
    struct tr_buffer rows;                 /* of the first, where that has too many; the same */
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

/*
 * Counts the rows of the first executions of a share, and of others between them, but no more than
 * one too many.
 */
static int count_rows(struct tr_reader *reader, const struct share *share, uint32_t executions,
                      uint64_t *count)
{
    uint64_t least = UINT64_MAX;
    uint64_t greatest = 0;
    for (uint32_t i = 0; i < executions; i++) {
        least = share->numbers[i] < least ? share->numbers[i] : least;
        greatest = share->numbers[i] > greatest ? share->numbers[i] : greatest;
    }
    const struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_GREATER_EQUAL, least),
        tr_filter_number("execution", TR_FILTER_LESS_EQUAL, greatest)};
    int error = 0;
    *count = 0;
    for (size_t i = 0; error == 0 && *count <= TR_FORGET_ROWS_MAX && i < tr_history_schema_count;
         i++) {
        uint64_t found = 0;
        struct tr_reader_query query = {.record = tr_history_schemas[i],
                                        .filters = filters,
                                        .filter_count = TR_COUNT_OF(filters),
                                        .limit = TR_FORGET_ROWS_MAX + 1 - *count};
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
    share->numbers[share->execution_count] = row->execution;
    share->ends[share->execution_count++] = share->executions.size;
}

/* Whether it belongs to the launcher of the share. */
static bool suits(const struct share *share, const struct tr_execution *row)
{
    const struct tr_execution *first = &share->first.row;
    return share->execution_count == 0 || (tr_text_equal(first->project, row->project) &&
                                           tr_text_equal(first->domain, row->domain));
}

/*
 * Takes an execution, whose row it keeps or frees; one without texts is gone. TR_LIMIT: the share
 * ends before it, since only the beginning can be told to be done; TR_BUSY: so it does, and there
 * is none, as this one has not ended.
 */
static int gather(struct share *share, struct tr_executions_row *copy)
{
    bool is_first = share->execution_count == 0;
    if (copy->texts == NULL) {
        share->gone_count += is_first ? 1 : 0;
        return is_first ? 0 : TR_LIMIT;
    }
    bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, copy->row.phase);
    if (!has_ended || !suits(share, &copy->row)) {
        tr_executions_row_fini(copy);
        return is_first && share->gone_count == 0 ? TR_BUSY : TR_LIMIT;
    }
    add_execution(share, &copy->row);
    if (is_first) {
        share->first = *copy;
    } else {
        tr_executions_row_fini(copy);
    }
    return 0;
}

/* Takes some executions, in their order. Errors as above, and of reading. */
static int gather_some(struct tr_reader *reader, const uint64_t *numbers, size_t count,
                       struct share *share)
{
    struct tr_executions_row copies[GATHERED_MAX];
    int error = tr_executions_get_all(reader, numbers, count, copies);
    if (error != 0) {
        return error;
    }
    for (size_t i = 0; i < count; i++) {
        if (error == 0) {
            error = gather(share, &copies[i]);
        } else {
            tr_executions_row_fini(&copies[i]);
        }
    }
    return error;
}

/* Cuts a share to its first executions. */
static void cut(struct share *share, uint32_t count)
{
    share->execution_count = count;
    share->executions.size = share->ends[count - 1];
}

/* Cuts a share that has too many rows to as many executions as fit, of which so many are known. */
static int cut_to_fit(struct tr_reader *reader, struct share *share, uint32_t fitting)
{
    uint32_t too_many = share->execution_count;
    int error = 0;
    while (error == 0 && fitting + 1 < too_many && share->row_count <= ENOUGH_ROWS) {
        uint64_t count;
        uint32_t middle = fitting + (too_many - fitting) / 2;
        error = count_rows(reader, share, middle, &count);
        if (error == 0 && count <= TR_FORGET_ROWS_MAX) {
            fitting = middle;
            share->row_count = (uint32_t)count;
        } else {
            too_many = middle;
        }
    }
    cut(share, fitting > 0 ? fitting : 1);
    return error != 0 || fitting > 0 ? error : gather_rows(reader, share->numbers[0], share);
}

/*
 * Counts the rows of what is gathered, more than `*fitting` executions, and says how many more may
 * fit. TR_LIMIT: the share is full.
 */
static int weigh(struct tr_reader *reader, struct share *share, uint32_t *fitting, uint32_t *wanted)
{
    uint64_t count;
    int error = count_rows(reader, share, share->execution_count, &count);
    if (error == 0 && count > TR_FORGET_ROWS_MAX) {
        error = cut_to_fit(reader, share, *fitting);
        return error != 0 ? error : TR_LIMIT;
    }
    if (error == 0) {
        uint64_t possible = (uint64_t)share->execution_count * TR_FORGET_ROWS_MAX;
        *fitting = share->execution_count;
        share->row_count = (uint32_t)count;
        *wanted = *fitting + 1;
        if (count > 0 && possible / count > *wanted) {
            *wanted = (uint32_t)(possible / count);
        }
        error = count > ENOUGH_ROWS ? TR_LIMIT : 0;
    }
    return error;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Takes as many of the executions as there is room for, in their order. */
static int gather_all(struct tr_reader *reader, const uint64_t *numbers, size_t count,
                      struct share *share)
{
    uint32_t fitting = 0;
    uint32_t wanted = 1;
    int error = 0;
    for (size_t at = 0; error == 0 && at < count;) {
        size_t more = smaller(smaller(wanted - share->execution_count, GATHERED_MAX), count - at);
        error = gather_some(reader, numbers + at, more, share);
        at += more;
        bool is_last = error == TR_LIMIT || at == count;
        bool is_due = is_last || share->execution_count >= wanted;
        if ((error == 0 || is_last) && is_due && share->execution_count > fitting) {
            int failed = weigh(reader, share, &fitting, &wanted);
            error = failed != 0 ? failed : error;
        }
    }
    return error == TR_LIMIT ? 0 : error;
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

/*
 * Has the launcher delete a share: of shards that of the first one, since all of them have ended by
 * the history, and what has ended never lives again.
 */
static int ask_launcher(struct tr_live *live, const struct share *share,
                        const struct tr_forget_rows *forget, struct tr_rows_forgotten *answer)
{
    struct tr_ref launcher;
    *answer = (struct tr_rows_forgotten){.error = TR_FAILED};
    const struct tr_execution *first = &share->first.row;
    int error = tr_live_launcher(live, first->project, first->domain, NULL, first->name, &launcher);
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
    uint64_t numbers[TR_FORGET_EXECUTIONS_MAX];
    memcpy(numbers, executions.data, executions.size);
    int error = gather_all(reader, numbers, executions.size / sizeof *numbers, share);
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

/* ------------------------------------------------------------------------- the audit */

/* Keys of rows, each a time and a number. */
struct audit_share {
    struct tr_buffer keys; /* without the head of their list */
    uint32_t count;
};

static int take_audit(void *self, const void *value)
{
    struct audit_share *share = self;
    const struct tr_audit *row = value;
    tr_buffer_u64(&share->keys, row->at_ms);
    tr_buffer_u64(&share->keys, row->number);
    share->count++;
    return share->keys.error;
}

/* The oldest of what is too old. */
static int gather_audit(struct tr_live *live, uint64_t before_ms, struct audit_share *share)
{
    const struct tr_reader_filter filter = tr_filter_number("at_ms", TR_FILTER_LESS, before_ms);
    const struct tr_reader_query query = {.record = &tr_audit_schema,
                                          .filters = &filter,
                                          .filter_count = 1,
                                          .order = {{.field = "at_ms"}, {.field = "number"}},
                                          .limit = TR_FORGET_ROWS_MAX};
    struct tr_reader *reader;
    int error = tr_live_read(live, NULL, &reader);
    if (error == 0) {
        error = tr_reader_rows(reader, &query, take_audit, share);
        tr_live_read_end(live);
    }
    return error;
}

static void take_kept(void *self, const struct tr_message *message)
{
    struct tr_entity_kept *kept = self;
    struct tr_entity_kept read;
    int error = tr_message_read(message, entity_kept, &read);
    *kept = error != 0 ? (struct tr_entity_kept){.error = error} : read;
}

static int delete_audit(struct tr_live *live, const struct audit_share *share)
{
    struct tr_entity_kept kept = {.error = TR_FAILED};
    struct tr_buffer list;
    struct tr_ref schedules;
    tr_buffer_init(&list, 0);
    const struct tr_entity_keep keep = {.audit_forgotten =
                                            list_of(&list, 2 * share->count, &share->keys)};
    int error = list.error != 0 ? list.error : tr_live_schedules(live, &schedules);
    if (error == 0) {
        error = tr_host_ask(live->host, schedules, &tr_entity_keep_schema, &keep, FORGET_MS_MAX,
                            take_kept, &kept);
    }
    tr_buffer_fini(&list);
    return error != 0 ? error : (int)kept.error;
}

static int forget_audit(struct tr_live *live, uint64_t before_ms, struct tr_forgotten *forgotten)
{
    struct audit_share share = {.count = 0};
    tr_buffer_init(&share.keys, 0);
    int error = gather_audit(live, before_ms, &share);
    if (error == 0 && share.count > 0) {
        error = delete_audit(live, &share);
    }
    forgotten->rows = error == 0 ? share.count : 0;
    tr_buffer_fini(&share.keys);
    return error;
}

/* ------------------------------------------------------------------------------- all */

static int forget_executions(struct tr_live *live, struct tr_bytes executions,
                             struct tr_forgotten *forgotten)
{
    struct tr_reader *reader;
    struct share share;
    share_init(&share);
    int error = tr_live_read(live, NULL, &reader);
    if (error == 0) {
        error = forget_share(live, reader, executions, &share, forgotten);
    }
    share_fini(&share);
    return error;
}

void tr_serve_forget(struct tr_live *live, const struct tr_forget *forget,
                     struct tr_forgotten *forgotten)
{
    struct tr_bytes executions = forget->executions;
    bool is_odd = executions.size % sizeof(uint64_t) != 0 ||
                  executions.size / sizeof(uint64_t) > TR_FORGET_EXECUTIONS_MAX;
    *forgotten = (struct tr_forgotten){.message = tr_text_of("")};
    int error = is_odd                    ? TR_INVALID
                : executions.size > 0     ? forget_executions(live, executions, forgotten)
                : forget->graphs.size > 0 ? forget_graphs(live, forget)
                                          : forget_audit(live, forget->audit_before_ms, forgotten);
    forgotten->error = error;
    forgotten->message = tr_text_of(error == 0         ? ""
                                    : error == TR_BUSY ? "it has not ended; abort it first"
                                                       : tr_error_text(error));
}
