/*
 * Rows are gathered into parts; an answer that is long enough ends, and says that there is more.
 */
#include "runtime/remote/remote_answer.h"

#include <stdio.h>
#include <string.h>

#include "runtime/journal/reader_ops.h"
#include "runtime/members/member.h"
#include "runtime/memory.h"
#include "schemas/runtime/envelope.h"

/* A page of an actor, and a cell. */
#define CELL_BYTES_MAX (1U << 20)

/* Bytes of a row beside what it packs: the head of its bytes. */
#define ROW_HEAD_BYTES 16

/* An answer on its way. */
struct answering {
    const struct tri_remote_sender *sender;
    const struct tr_schema *record; /* NULL: objects */
    uint8_t *room;                  /* of the part that is gathered */
    size_t room_size;
    struct tr_writer writer; /* into it */
    uint32_t count;
    uint64_t skip; /* objects that were told before */
    size_t sent;   /* bytes of all parts */
    bool has_more;
    int failed; /* what the sender said */
};

bool tri_remote_is_question(const struct tri_request *request)
{
    return request->type == tr_read_rows_schema.id || request->type == tr_read_objects_schema.id ||
           request->type == tr_read_cell_schema.id || request->type == tr_read_members_schema.id;
}

/* ---- Whom it is about. ----------------------------------------------------------------------- */

static void scope_filters(const struct tr_reader_query *query, struct tri_remote_scope *scope)
{
    for (size_t i = 0; i < query->filter_count; i++) {
        const struct tr_reader_filter *filter = &query->filters[i];
        if (filter->op != TR_FILTER_EQUAL) {
            continue;
        }
        if (!filter->is_text && strcmp(filter->field, "execution") == 0) {
            scope->execution = filter->number;
        } else if (filter->is_text && strcmp(filter->field, "project") == 0) {
            scope->project = filter->text;
        } else if (filter->is_text && strcmp(filter->field, "domain") == 0) {
            scope->domain = filter->text;
        }
    }
}

static int scope_rows(const struct tri_remote_question *question, struct tri_remote_query *room,
                      struct tri_remote_scope *scope)
{
    struct tr_read_rows read;
    int error = tr_read_rows_unpack(question->request.body, question->request.version, &read);
    if (error == 0) {
        error = tri_remote_query_unpack(&read, question->records, question->record_count, room);
    }
    if (error == 0) {
        scope_filters(&room->query, scope);
    }
    return error;
}

static int scope_cell(const struct tri_remote_question *question, struct tri_remote_scope *scope)
{
    struct tr_read_cell read;
    int error = tr_read_cell_unpack(question->request.body, question->request.version, &read);
    if (error == 0) {
        scope->execution = read.what == TRI_REMOTE_PAGE ? read.actor.group : 0;
        scope->is_of_all = read.what != TRI_REMOTE_PAGE;
    }
    return error;
}

static int scope_objects(const struct tri_remote_question *question, struct tri_remote_scope *scope)
{
    struct tr_read_objects read;
    int error = tr_read_objects_unpack(question->request.body, question->request.version, &read);
    if (error == 0) {
        scope->execution = read.what == TRI_VISIT_GROUP ? read.number : 0;
    }
    return error;
}

int tri_remote_scope(const struct tri_remote_question *question, struct tri_remote_query *room,
                     struct tri_remote_scope *scope)
{
    uint16_t type = question->request.type;
    *scope = (struct tri_remote_scope){.is_of_all = type == tr_read_members_schema.id};
    return type == tr_read_rows_schema.id      ? scope_rows(question, room, scope)
           : type == tr_read_cell_schema.id    ? scope_cell(question, scope)
           : type == tr_read_objects_schema.id ? scope_objects(question, scope)
                                               : 0;
}

/* ---- Parts. ---------------------------------------------------------------------------------- */

static int begin(struct answering *answering)
{
    answering->room_size = TRI_REMOTE_PART_BYTES;
    answering->room = tr_alloc(answering->room_size);
    answering->writer = tr_writer_of(answering->room, answering->room_size);
    return answering->room == NULL ? TR_MEMORY : 0;
}

/* The rows so far as a list, which has its head before them. */
static int send_part(struct answering *answering)
{
    size_t size = tr_writer_size(&answering->writer);
    if (answering->count == 0) {
        return 0;
    }
    uint8_t *list = tr_alloc(size + ROW_HEAD_BYTES);
    if (list == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(list, size + ROW_HEAD_BYTES);
    tr_write_array(&writer, answering->count);
    memcpy(writer.at, answering->room, size);
    writer.at += size;
    const struct tr_rows_part part = {
        .version = answering->record != NULL ? answering->record->version : 0,
        .count = answering->count,
        .rows = {.data = list, .size = tr_writer_size(&writer)}};
    int error = answering->sender->send(answering->sender->self, &tr_rows_part_schema, &part);
    tr_free(list);
    answering->failed = error;
    answering->sent += size;
    answering->count = 0;
    answering->writer = tr_writer_of(answering->room, answering->room_size);
    return error;
}

/* Makes room for one more row; TR_CLOSED: the answer is long enough. */
static int make_room(struct answering *answering, size_t size)
{
    int error = 0;
    if (size + tr_writer_size(&answering->writer) > answering->room_size) {
        error = send_part(answering);
    }
    if (error == 0 && answering->sent >= TRI_REMOTE_ANSWER_BYTES) {
        answering->has_more = true;
        return TR_CLOSED;
    }
    if (error == 0 && size > answering->room_size) {
        tr_free(answering->room);
        answering->room = tr_alloc(size);
        answering->room_size = answering->room != NULL ? size : 0;
        answering->writer = tr_writer_of(answering->room, answering->room_size);
        error = answering->room == NULL ? TR_MEMORY : 0;
    }
    return error;
}

static int take_row(void *self, const void *row)
{
    struct answering *answering = self;
    size_t size = answering->record->size_max(row);
    int error = make_room(answering, size + ROW_HEAD_BYTES);
    if (error != 0) {
        return error;
    }
    uint8_t *packed = tr_alloc(size);
    if (packed == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(packed, size);
    error = answering->record->pack(row, &writer);
    if (error == 0) {
        tr_write_bytes(&answering->writer,
                       (struct tr_bytes){.data = packed, .size = tr_writer_size(&writer)});
        answering->count++;
        error = answering->writer.error;
    }
    tr_free(packed);
    return error;
}

static int take_object(void *self, const struct tri_op *op)
{
    struct answering *answering = self;
    if (answering->skip > 0) {
        answering->skip--;
        return 0;
    }
    int error = make_room(answering, op->data.size + 8 * ROW_HEAD_BYTES);
    if (error == 0) {
        tri_remote_op_write(op, &answering->writer);
        answering->count++;
        error = answering->writer.error;
    }
    return error;
}

/* ---- Answers. -------------------------------------------------------------------------------- */

static int finish_rows(struct tr_reader *reader, const struct tri_remote_sender *sender, int error,
                       uint64_t count, bool has_more)
{
    const char *words = error == 0 ? "" : tr_reader_explain(reader);
    const struct tr_rows_read read = {
        .error = error,
        .message = tr_text_of(error != 0 && words[0] == '\0' ? tr_error_text(error) : words),
        .count = count,
        .has_more = has_more};
    return sender->send(sender->self, &tr_rows_read_schema, &read);
}

static int end_parts(struct tr_reader *reader, struct answering *answering, int error)
{
    if (error == TR_CLOSED && answering->has_more) {
        error = 0;
    }
    if (error == 0) {
        error = send_part(answering);
    }
    tr_free(answering->room);
    return answering->failed != 0
               ? answering->failed
               : finish_rows(reader, answering->sender, error, 0, answering->has_more);
}

static int answer_rows(struct tr_reader *reader, const struct tri_remote_question *question,
                       const struct tri_remote_sender *sender)
{
    struct answering answering = {.sender = sender};
    struct tr_read_rows read;
    uint64_t count = 0;
    struct tri_remote_query *query = tr_alloc(sizeof *query);
    int error = query == NULL ? TR_MEMORY : 0;
    if (error == 0) {
        error = tr_read_rows_unpack(question->request.body, question->request.version, &read);
    }
    if (error == 0) {
        error = tri_remote_query_unpack(&read, question->records, question->record_count, query);
    }
    if (error == 0 && read.counts) {
        error = tr_reader_count(reader, &query->query, &count);
    }
    if (error != 0 || read.counts) {
        tr_free(query);
        return finish_rows(reader, sender, error, count, false);
    }
    answering.record = query->query.record;
    error = begin(&answering);
    if (error == 0) {
        error = tr_reader_rows(reader, &query->query, take_row, &answering);
    }
    tr_free(query);
    return end_parts(reader, &answering, error);
}

static int answer_objects(struct tr_reader *reader, const struct tri_remote_question *question,
                          const struct tri_remote_sender *sender)
{
    struct answering answering = {.sender = sender};
    struct tr_read_objects read;
    int error = tr_read_objects_unpack(question->request.body, question->request.version, &read);
    if (error == 0 && read.what > TRI_VISIT_MESSAGES) {
        error = TR_INVALID;
    }
    if (error == 0) {
        answering.skip = read.skip;
        error = begin(&answering);
    }
    if (error == 0) {
        error = reader->ops->visit(reader, (enum tri_reader_visit)read.what, read.number,
                                   take_object, &answering);
    }
    return end_parts(reader, &answering, error);
}

static int send_cell(struct tr_reader *reader, const struct tri_remote_sender *sender, int error,
                     struct tr_bytes data)
{
    const char *words = error == 0 ? "" : tr_reader_explain(reader);
    const struct tr_cell_read read = {
        .error = error,
        .message = tr_text_of(error != 0 && words[0] == '\0' ? tr_error_text(error) : words),
        .data = error == 0 ? data : (struct tr_bytes){.size = 0}};
    return sender->send(sender->self, &tr_cell_read_schema, &read);
}

/* The clock, which times are shown by, is all that anybody reads of the cells. */
static int read_copied(struct tr_reader *reader, const struct tr_read_cell *read, uint8_t *room,
                       size_t *size)
{
    struct tri_store *store = reader->ops->store(reader);
    if (read->what == TRI_REMOTE_PAGE) {
        return tri_store_read_page(store, read->actor, (uint32_t)read->number, room, CELL_BYTES_MAX,
                                   size);
    }
    return read->what == TRI_REMOTE_META && read->number == TRI_META_CLOCK
               ? tri_store_read_meta(store, read->number, room, CELL_BYTES_MAX, size)
               : TR_INVALID;
}

static int answer_cell(struct tr_reader *reader, const struct tri_remote_question *question,
                       const struct tri_remote_sender *sender)
{
    struct tr_read_cell read = {.what = 0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    int error = tr_read_cell_unpack(question->request.body, question->request.version, &read);
    if (error == 0 && read.what == TRI_REMOTE_GRAPH) {
        error = read.hash.size != TRI_GRAPH_HASH_BYTES
                    ? TR_INVALID
                    : tr_reader_graph(reader, read.hash.data, &bytes, &size);
    } else if (error == 0) {
        bytes = tr_alloc(CELL_BYTES_MAX);
        error = bytes == NULL ? TR_MEMORY : read_copied(reader, &read, bytes, &size);
    }
    int sent = send_cell(reader, sender, error, (struct tr_bytes){.data = bytes, .size = size});
    tr_free(bytes);
    return sent;
}

/* The hosts and epochs of all partitions, in turn. */
static struct tr_bytes write_partitions(const struct tri_member_view *view, uint8_t *room,
                                        size_t size)
{
    struct tr_writer writer = tr_writer_of(room, size);
    tr_write_array(&writer, (uint32_t)view->partition_count * 2);
    for (size_t i = 0; i < view->partition_count; i++) {
        tr_write_u64(&writer, view->partitions[i]);
        tr_write_u32(&writer, view->epochs[i]);
    }
    return (struct tr_bytes){.data = room, .size = tr_writer_size(&writer)};
}

static int send_member(const struct tri_member_view *view, size_t index, struct tr_bytes partitions,
                       const struct tri_remote_sender *sender)
{
    const struct tri_member *member = &view->members[index];
    const struct tr_member_part part = {
        .number = member->number,
        .name = tr_text_of(member->name),
        .state = member->state,
        .incarnation = member->signs.incarnation,
        .owned = member->owned,
        .lease_ms = member->lease_ms,
        .process_lease_ms = member->process_lease_ms,
        .processes = member->processes,
        .since_ms = member->since_ms,
        .silent_ms = member->silent_ms,
        .why = tr_text_of(member->why),
        .machine = tr_text_of(member->machine),
        .folder = tr_text_of(member->folder),
        .blobs = tr_text_of(member->blobs),
        .address = tr_text_of(member->address),
        .has_key = member->has_key,
        .now_ms = view->now_ms,
        .partitions = index == 0 ? partitions : (struct tr_bytes){.size = 0},
    };
    return sender->send(sender->self, &tr_member_part_schema, &part);
}

static int answer_members(struct tr_reader *reader, const struct tri_remote_sender *sender)
{
    size_t size = (size_t)TR_PARTITIONS_MAX * 2 * TR_SCALAR_BYTES_MAX + ROW_HEAD_BYTES;
    struct tri_member_view *view = tr_alloc_zero(1, sizeof *view);
    uint8_t *room = tr_alloc(size);
    int error = view == NULL || room == NULL   ? TR_MEMORY
                : reader->ops->members == NULL ? TR_NOT_FOUND
                                               : reader->ops->members(reader, view);
    int sent = 0;
    for (size_t i = 0; error == 0 && sent == 0 && i < view->count; i++) {
        sent = send_member(view, i, write_partitions(view, room, size), sender);
    }
    tr_free(room);
    tr_free(view);
    return sent != 0 ? sent : finish_rows(reader, sender, error, 0, false);
}

int tri_remote_answer(struct tr_reader *reader, const struct tri_remote_question *question,
                      const struct tri_remote_sender *sender)
{
    uint16_t type = question->request.type;
    return type == tr_read_rows_schema.id      ? answer_rows(reader, question, sender)
           : type == tr_read_objects_schema.id ? answer_objects(reader, question, sender)
           : type == tr_read_cell_schema.id    ? answer_cell(reader, question, sender)
                                               : answer_members(reader, sender);
}
