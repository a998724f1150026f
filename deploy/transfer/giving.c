/*
 * Giving: three requests, the second of them as often as there are shares. Each is answered when
 * the engine has done it, so no more than one share waits there.
 */
#include "deploy/transfer/giving.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "deploy/common/clock.h"
#include "runtime/memory.h"
#include "schemas/runtime/request.h"

/* A share: so many bytes or operations. One operation may be larger. */
#define SHARE_BYTES (256U << 10)
#define SHARE_OPS 2048

/* How long the history is looked at for what an engine has left, and how often. */
#define COMING_MS 3000
#define LOOK_MS 50

struct giving {
    struct tr_unpacking *unpacking;
    struct tri_client *client;
    const struct tr_giving_told *told;
    uint64_t session;
    uint64_t done;
    uint64_t total;
    struct tr_buffer share;
    uint32_t share_count;
    bool takes_executions; /* of all operations these, or all others */
};

static int fail(const struct giving *giving, int error, struct tr_text words)
{
    char *explain = giving->unpacking->explain;
    if (explain[0] == '\0') {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%.*s", (int)words.size, words.data);
    }
    return error;
}

static int take_row(void *self, const struct tri_request *row)
{
    const struct giving *giving = self;
    struct tr_import_waits waits;
    if (row->type == tr_import_waits_schema.id && giving->told->waits != NULL &&
        tr_import_waits_unpack(row->body, row->version, &waits) == 0) {
        giving->told->waits(giving->told->self, (int)waits.error);
    }
    return 0;
}

/* Asks, and waits for as long as the engine lives. */
static int ask(struct giving *giving, const struct tr_schema *schema, const void *body,
               const struct tr_schema *last, struct tri_request *answer)
{
    struct tr_answered answered;
    int error = tr_client_call(giving->client, schema, body, last, 0, take_row, giving, answer);
    if (error != 0 || answer->type != tr_answered_schema.id) {
        return error;
    }
    error = tr_answered_unpack(answer->body, answer->version, &answered);
    return error != 0 || answered.error == 0 ? error
                                             : fail(giving, (int)answered.error, answered.message);
}

/* -------------------------------------------------------------------------- shares */

static void begin_share(struct giving *giving)
{
    tr_buffer_fini(&giving->share);
    tr_buffer_init(&giving->share, 0);
    giving->share_count = 0;
}

/* A list of what was added. */
static int list_share(const struct giving *giving, struct tr_buffer *list)
{
    tr_buffer_init(list, 0);
    tr_buffer_array(list, giving->share_count);
    tr_buffer_add(list, giving->share.data, giving->share.size);
    return giving->share.error != 0 ? giving->share.error : list->error;
}

static int give_share(struct giving *giving)
{
    struct tri_request answer;
    struct tr_buffer list;
    if (giving->share_count == 0) {
        return 0;
    }
    int error = list_share(giving, &list);
    if (error == 0) {
        struct tr_import_ops ops = {.session = giving->session, .ops = tr_buffer_bytes(&list)};
        error = ask(giving, &tr_import_ops_schema, &ops, &tr_answered_schema, &answer);
    }
    tr_buffer_fini(&list);
    giving->done += giving->share_count;
    begin_share(giving);
    if (error == 0 && giving->told->progress != NULL) {
        giving->told->progress(giving->told->self, giving->done, giving->total);
    }
    return error;
}

static int add_op(struct giving *giving, const struct tr_archive_op *op)
{
    size_t size_max = tr_archive_op_schema.size_max(op);
    uint8_t *bytes = tr_alloc(size_max);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size_max);
    int error = tr_archive_op_pack(op, &writer);
    if (error == 0) {
        struct tr_bytes packed = {.data = bytes, .size = tr_writer_size(&writer)};
        tr_buffer_bytes_value(&giving->share, packed);
        giving->share_count++;
        error = giving->share.error;
    }
    tr_free(bytes);
    return error;
}

static int take_op(void *self, const struct tr_archive_op *op)
{
    struct giving *giving = self;
    bool is_execution = op->kind == TRI_OP_PUT_RECORD && op->type == tr_execution_schema.id;
    if (is_execution != giving->takes_executions) {
        return 0;
    }
    int error = add_op(giving, op);
    bool is_full = giving->share.size >= SHARE_BYTES || giving->share_count >= SHARE_OPS;
    return error != 0 || !is_full || is_execution ? error : give_share(giving);
}

static int read_ops(struct giving *giving, bool executions)
{
    char problem[TR_ARCHIVE_PROBLEM_BYTES];
    struct tr_archive_visitor visitor = {.self = giving, .op = take_op};
    giving->takes_executions = executions;
    return tr_archive_read(giving->unpacking->bytes, &visitor, problem);
}

/* Graphs are no operations of the archive: they were among its files. */
static int read_graphs(struct giving *giving)
{
    const struct tri_op *ops = giving->unpacking->ops.items;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < giving->unpacking->ops.count; i++) {
        struct tr_archive_op op = {.kind = TRI_OP_PUT_GRAPH, .data = ops[i].data};
        if (ops[i].kind == TRI_OP_PUT_GRAPH) {
            error = take_op(giving, &op);
        }
    }
    return error;
}

/* ---------------------------------------------------------------------- all of it */

static int begin(struct giving *giving)
{
    const struct tr_archive_head *head = &giving->unpacking->head;
    struct tri_request answer;
    struct tr_import_begun begun;
    struct tr_buffer list;
    int error = read_ops(giving, true);
    if (error != 0) {
        return error;
    }
    error = list_share(giving, &list);
    if (error == 0) {
        struct tr_begin_import wish = {.folder = head->folder,
                                       .execution = head->execution,
                                       .is_unfinished = head->is_unfinished,
                                       .executions = tr_buffer_bytes(&list)};
        error = ask(giving, &tr_begin_import_schema, &wish, &tr_import_begun_schema, &answer);
    }
    tr_buffer_fini(&list);
    begin_share(giving);
    if (error == 0) {
        error = tr_import_begun_unpack(answer.body, answer.version, &begun);
    }
    if (error == 0 && begun.error != 0) {
        return fail(giving, (int)begun.error, begun.message);
    }
    giving->session = error == 0 ? begun.session : 0;
    return error;
}

int tr_giving(struct tr_unpacking *unpacking, struct tri_client *client,
              const struct tr_giving_told *told, bool *is_last)
{
    struct giving giving = {.unpacking = unpacking,
                            .client = client,
                            .told = told,
                            .total = unpacking->ops.count - unpacking->executions.count};
    struct tri_request answer;
    *is_last = false;
    tr_buffer_init(&giving.share, 0);
    int error = begin(&giving);
    giving.takes_executions = false;
    if (error == 0) {
        error = read_graphs(&giving);
    }
    if (error == 0) {
        error = read_ops(&giving, false);
    }
    if (error == 0) {
        error = give_share(&giving);
    }
    if (error == 0) {
        struct tr_finish_import wish = {.session = giving.session};
        *is_last = true;
        error = ask(&giving, &tr_finish_import_schema, &wish, &tr_answered_schema, &answer);
    }
    tr_buffer_fini(&giving.share);
    return error == 0 ? 0 : fail(&giving, error, tr_text_of(tr_error_text(error)));
}

/* Whether a row is there and as it was: what it left behind here before has ended. */
static bool is_there(const struct tr_unpacking *unpacking, struct tr_reader *reader)
{
    struct tr_executions_row copy = {.texts = NULL};
    bool is_found = tr_executions_get(reader, unpacking->head.execution, &copy) == 0 &&
                    copy.row.phase != TR_EXECUTION_EXPORTED;
    tr_executions_row_fini(&copy);
    return is_found;
}

bool tr_giving_has_come(const struct tr_unpacking *unpacking)
{
    uint64_t end_ms = tr_clock_ms() + COMING_MS;
    struct tr_reader *reader;
    bool is_found = false;
    while (!is_found && tr_clock_ms() < end_ms) {
        if (tr_history_open(unpacking->folder, NULL, &reader) == 0) {
            is_found = is_there(unpacking, reader);
            tr_reader_close(reader);
        }
        if (!is_found) {
            (void)poll(NULL, 0, LOOK_MS);
        }
    }
    return is_found;
}
