/*
 * The client's side: one question at a time. Its answer is kept until it is whole, since whoever is
 * given rows may ask in between; one that is cut off is asked for from where it ended. What a
 * connection that is lost had to say is TR_BUSY, and the next refresh connects anew, to any host of
 * the locator.
 */
#include "runtime/remote/remote_reader.h"

#include <stdio.h>
#include <string.h>

#include "runtime/env/clock.h"
#include "runtime/journal/reader_ops.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/entry_locator.h"
#include "runtime/members/member.h"
#include "runtime/memory.h"
#include "runtime/remote/remote_query.h"
#include "schemas/runtime/request.h"

/* How long a host may say nothing. */
#define PATIENCE_MS 60000

struct remote_reader {
    struct tr_reader reader;
    struct tri_store store; /* which only reads */
    struct tri_client *client;
    struct tr_reader_options options;
    char words[TRI_STORE_EXPLAIN_BYTES];
};

static struct remote_reader *of(struct tr_reader *reader)
{
    return (struct remote_reader *)reader;
}

static struct remote_reader *of_store(struct tri_store *store)
{
    return (struct remote_reader *)((char *)store - offsetof(struct remote_reader, store));
}

static int report(struct remote_reader *self, int error, const char *words)
{
    (void)snprintf(self->words, sizeof self->words, "%s", words);
    return error;
}

/* ---- Asking. --------------------------------------------------------------------------------- */

/* What ends a question: the connection, or the answer. */
static int lose(struct remote_reader *self, int error)
{
    tri_client_close(self->client);
    self->client = NULL;
    if (error == TR_CLOSED) {
        return report(self, TR_CLOSED,
                      "the hosts know nobody who has this key; `troupe hosts key` "
                      "shows it, and `clients` of their settings names those "
                      "who are let in");
    }
    return report(self, TR_BUSY, "the host does not answer");
}

static int connect_again(struct remote_reader *self)
{
    if (self->client != NULL) {
        return 0;
    }
    int error = tri_client_open(self->reader.folder, &self->client);
    if (error == TR_NO_CONNECTION) {
        return report(self, TR_BUSY, "no host answers at the addresses of the locator");
    }
    return error == 0 ? 0 : report(self, error, tr_error_text(error));
}

/* A part of an answer, or its end. */
struct part {
    struct part *next;
    struct tri_request request; /* its body is behind this */
    uint8_t body[];
};

struct answer {
    struct part *first;
    struct part *last;
};

static void answer_fini(struct answer *answer)
{
    while (answer->first != NULL) {
        struct part *part = answer->first;
        answer->first = part->next;
        tr_free(part);
    }
}

static int keep(struct answer *answer, const struct tri_request *request)
{
    struct part *part = tr_alloc(sizeof *part + request->body.size);
    if (part == NULL) {
        return TR_MEMORY;
    }
    *part = (struct part){.request = *request};
    if (request->body.size > 0) {
        memcpy(part->body, request->body.data, request->body.size);
    }
    part->request.body.data = part->body;
    if (answer->first == NULL) {
        answer->first = part;
    } else {
        answer->last->next = part;
    }
    answer->last = part;
    return 0;
}

/* Asks, and keeps the whole answer, whose last part is the end. The caller ends it. */
static int ask(struct remote_reader *self, const struct tr_schema *schema, const void *body,
               struct answer *answer)
{
    uint32_t number = 0;
    bool is_whole = false;
    *answer = (struct answer){.first = NULL};
    int error = connect_again(self);
    if (error == 0) {
        error = tri_client_ask(self->client, schema, body, &number);
        error = error == TR_NO_CONNECTION ? lose(self, error) : error;
    }
    while (error == 0 && !is_whole) {
        struct tri_request came;
        error = tri_client_next(self->client, -1, PATIENCE_MS, &came);
        if (error != 0) {
            error = lose(self, error);
        } else if (came.number == number) {
            is_whole = came.type != tr_rows_part_schema.id && came.type != tr_member_part_schema.id;
            error = keep(answer, &came);
        }
    }
    if (error != 0) {
        answer_fini(answer);
    }
    return error;
}

/* Gives each part before the end to a function. */
static int give_parts(const struct answer *answer,
                      int (*take)(void *self, const struct tri_request *part), void *target)
{
    int error = 0;
    for (const struct part *part = answer->first; error == 0 && part != answer->last;
         part = part->next) {
        error = take(target, &part->request);
    }
    return error;
}

/* Beside their own answer all may get a refusal, whose words say all. */
static int take_refusal(struct remote_reader *self, const struct tri_request *last)
{
    struct tr_answered answered;
    int error = tr_answered_unpack(last->body, last->version, &answered);
    if (error != 0) {
        return report(self, TR_STORE_FAILED, "the host says what this program does not know");
    }
    (void)snprintf(self->words, sizeof self->words, "%.*s", (int)answered.message.size,
                   answered.message.data);
    return answered.error == TR_BUSY ? TR_BUSY : TR_STORE_FAILED;
}

static int take_end(struct remote_reader *self, const struct answer *answer,
                    struct tr_rows_read *read)
{
    const struct tri_request *last = &answer->last->request;
    int error = last->type != tr_rows_read_schema.id
                    ? take_refusal(self, last)
                    : tr_rows_read_unpack(last->body, last->version, read);
    if (error == 0 && read->error != 0) {
        (void)snprintf(self->words, sizeof self->words, "%.*s", (int)read->message.size,
                       read->message.data);
        error = (int)read->error;
    }
    return error;
}

/* ---- Rows. ----------------------------------------------------------------------------------- */

/* Whom rows are given to, and how many were. */
struct giving {
    const struct tr_schema *record;
    void *row;
    int (*take)(void *self, const void *row);
    int (*each)(void *self, const struct tri_op *op); /* of objects */
    void *self;
    uint64_t given;
};

static int give(struct giving *giving, struct tr_cursor *cursor, uint8_t version)
{
    struct tri_op op;
    int error;
    if (giving->each != NULL) {
        tri_remote_op_read(cursor, &op);
        error = cursor->error;
        error = error == 0 ? giving->each(giving->self, &op) : error;
    } else {
        struct tr_bytes bytes = tr_read_bytes(cursor);
        memset(giving->row, 0, giving->record->struct_size);
        error = cursor->error != 0 ? cursor->error
                                   : giving->record->unpack(bytes, version, giving->row);
        error = error == 0 ? giving->take(giving->self, giving->row) : error;
    }
    giving->given++;
    return error;
}

static int take_part(void *self, const struct tri_request *request)
{
    struct giving *giving = self;
    struct tr_rows_part part;
    int error = tr_rows_part_unpack(request->body, request->version, &part);
    if (error != 0) {
        return error;
    }
    struct tr_cursor cursor = tr_cursor_of(part.rows);
    uint32_t count = tr_read_array(&cursor);
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        error = cursor.error != 0 ? cursor.error : give(giving, &cursor, part.version);
    }
    return error;
}

/* Asks for some rows, and gives them; `*end` says whether there are more. */
static int read_some(struct remote_reader *self, const struct tr_schema *schema, const void *body,
                     struct giving *giving, struct tr_rows_read *end)
{
    struct answer answer;
    int error = ask(self, schema, body, &answer);
    if (error != 0) {
        return error;
    }
    error = take_end(self, &answer, end);
    if (error == 0) {
        error = give_parts(&answer, take_part, giving);
    }
    answer_fini(&answer);
    return error;
}

static int rows(struct tr_reader *reader, const struct tr_reader_query *query,
                int (*row)(void *self, const void *row), void *target)
{
    struct remote_reader *self = of(reader);
    struct giving giving = {.record = query->record, .take = row, .self = target};
    struct tr_rows_read end = {.has_more = true};
    struct tr_read_rows read;
    uint8_t *room = tr_alloc(TRI_REMOTE_QUERY_BYTES);
    giving.row = tr_alloc_zero(1, query->record->struct_size);
    int error = room == NULL || giving.row == NULL
                    ? TR_MEMORY
                    : tri_remote_query_pack(query, false, room, &read);
    while (error == 0 && end.has_more && (query->limit == 0 || giving.given < query->limit)) {
        read.skip = query->skip + giving.given;
        read.limit = query->limit == 0 ? 0 : query->limit - giving.given;
        error = read_some(self, &tr_read_rows_schema, &read, &giving, &end);
    }
    tr_free(giving.row);
    tr_free(room);
    return error;
}

static int count(struct tr_reader *reader, const struct tr_reader_query *query, uint64_t *found)
{
    struct remote_reader *self = of(reader);
    struct tr_rows_read end = {.has_more = false};
    struct tr_read_rows read;
    struct giving none = {.record = query->record};
    uint8_t *room = tr_alloc(TRI_REMOTE_QUERY_BYTES);
    int error = room == NULL ? TR_MEMORY : tri_remote_query_pack(query, true, room, &read);
    if (error == 0) {
        error = read_some(self, &tr_read_rows_schema, &read, &none, &end);
    }
    tr_free(room);
    if (error == 0) {
        *found = end.count;
    }
    return error;
}

static int visit(struct tr_reader *reader, enum tri_reader_visit what, uint64_t number,
                 int (*each)(void *self, const struct tri_op *op), void *target)
{
    struct remote_reader *self = of(reader);
    struct giving giving = {.each = each, .self = target};
    struct tr_rows_read end = {.has_more = true};
    int error = 0;
    while (error == 0 && end.has_more) {
        const struct tr_read_objects read = {
            .what = (uint8_t)what, .number = number, .skip = giving.given};
        error = read_some(self, &tr_read_objects_schema, &read, &giving, &end);
    }
    return error;
}

/* ---- Cells. ---------------------------------------------------------------------------------- */

/* The bytes are those of the answer, which the caller ends. */
static int read_cell(struct remote_reader *self, const struct tr_read_cell *wish,
                     struct answer *answer, struct tr_bytes *data)
{
    struct tr_cell_read read;
    int error = ask(self, &tr_read_cell_schema, wish, answer);
    if (error != 0) {
        return error;
    }
    const struct tri_request *last = &answer->last->request;
    error = last->type != tr_cell_read_schema.id
                ? take_refusal(self, last)
                : tr_cell_read_unpack(last->body, last->version, &read);
    if (error == 0 && read.error != 0) {
        (void)snprintf(self->words, sizeof self->words, "%.*s", (int)read.message.size,
                       read.message.data);
        error = (int)read.error;
    }
    if (error != 0) {
        answer_fini(answer);
        return error;
    }
    *data = read.data;
    return 0;
}

static int copy_cell(struct remote_reader *self, const struct tr_read_cell *wish, void *buffer,
                     size_t capacity, size_t *size)
{
    struct answer answer;
    struct tr_bytes data;
    int error = read_cell(self, wish, &answer, &data);
    if (error != 0) {
        return error;
    }
    if (data.size > capacity) {
        error = TR_LIMIT;
    } else {
        if (data.size > 0) {
            memcpy(buffer, data.data, data.size);
        }
        *size = data.size;
    }
    answer_fini(&answer);
    return error;
}

static int read_page(struct tri_store *store, struct tr_key key, uint64_t number, void *buffer,
                     size_t capacity, size_t *size)
{
    const struct tr_read_cell wish = {.what = TRI_REMOTE_PAGE, .actor = key, .number = number};
    return copy_cell(of_store(store), &wish, buffer, capacity, size);
}

static int read_meta(struct tri_store *store, uint64_t cell, void *buffer, size_t capacity,
                     size_t *size)
{
    const struct tr_read_cell wish = {.what = TRI_REMOTE_META, .number = cell};
    return copy_cell(of_store(store), &wish, buffer, capacity, size);
}

static int read_graph(struct tri_store *store, const uint8_t *hash, uint8_t **data, size_t *size)
{
    const struct tr_read_cell wish = {.what = TRI_REMOTE_GRAPH,
                                      .hash = {.data = hash, .size = TRI_GRAPH_HASH_BYTES}};
    struct answer answer;
    struct tr_bytes bytes;
    int error = read_cell(of_store(store), &wish, &answer, &bytes);
    if (error != 0) {
        return error;
    }
    uint8_t *copied = tr_alloc(bytes.size > 0 ? bytes.size : 1);
    if (copied != NULL) {
        if (bytes.size > 0) {
            memcpy(copied, bytes.data, bytes.size);
        }
        *data = copied;
        *size = bytes.size;
    }
    answer_fini(&answer);
    return copied != NULL ? 0 : TR_MEMORY;
}

/* Which crashes there were the hosts know, and nobody else asks. */
static int list_crashes(struct tri_store *store, int (*each)(void *self, const struct tri_op *op),
                        void *self)
{
    (void)store;
    (void)each;
    (void)self;
    return 0;
}

static const char *explain_store(struct tri_store *store)
{
    return of_store(store)->words;
}

static const struct tri_store_ops store_ops = {.name = "remote",
                                               .read_page = read_page,
                                               .read_meta = read_meta,
                                               .read_graph = read_graph,
                                               .list_crashes = list_crashes,
                                               .explain = explain_store};

/* ---- Hosts. ---------------------------------------------------------------------------------- */

static void copy(char *to, size_t size, struct tr_text text)
{
    (void)snprintf(to, size, "%.*s", (int)text.size, text.data);
}

static int take_partitions(struct tr_bytes bytes, struct tri_member_view *view)
{
    struct tr_cursor cursor = tr_cursor_of(bytes);
    uint32_t values = bytes.size > 0 ? tr_read_array(&cursor) : 0;
    if (values % 2 != 0 || values / 2 > TR_PARTITIONS_MAX) {
        return TR_MALFORMED;
    }
    for (uint32_t i = 0; i < values / 2; i++) {
        view->partitions[i] = tr_read_u64(&cursor);
        view->epochs[i] = tr_read_u32(&cursor);
        view->partition_count = i + 1;
        view->owner = view->partitions[0];
    }
    return cursor.error;
}

static int take_member(void *self, const struct tri_request *request)
{
    struct tri_member_view *view = self;
    struct tr_member_part part;
    int error = tr_member_part_unpack(request->body, request->version, &part);
    if (error != 0 || view->count == TRI_MEMBERS_MAX) {
        return error != 0 ? error : TR_LIMIT;
    }
    struct tri_member *member = &view->members[view->count++];
    *member = (struct tri_member){.number = part.number,
                                  .state = part.state,
                                  .signs = {.incarnation = part.incarnation},
                                  .owned = part.owned,
                                  .lease_ms = part.lease_ms,
                                  .process_lease_ms = part.process_lease_ms,
                                  .processes = part.processes,
                                  .since_ms = part.since_ms,
                                  .silent_ms = part.silent_ms,
                                  .has_key = part.has_key};
    copy(member->name, sizeof member->name, part.name);
    copy(member->why, sizeof member->why, part.why);
    copy(member->machine, sizeof member->machine, part.machine);
    copy(member->folder, sizeof member->folder, part.folder);
    copy(member->blobs, sizeof member->blobs, part.blobs);
    copy(member->address, sizeof member->address, part.address);
    view->now_ms = part.now_ms;
    return view->count == 1 ? take_partitions(part.partitions, view) : 0;
}

static int members(struct tr_reader *reader, struct tri_member_view *view)
{
    struct remote_reader *self = of(reader);
    struct tr_rows_read end;
    struct answer answer;
    memset(view, 0, sizeof *view);
    int error =
        ask(self, &tr_read_members_schema, &(struct tr_read_members){.is_all = true}, &answer);
    if (error != 0) {
        return error;
    }
    error = take_end(self, &answer, &end);
    if (error == 0) {
        error = give_parts(&answer, take_member, view);
    }
    answer_fini(&answer);
    return error;
}

/* ---- The reader. ----------------------------------------------------------------------------- */

/* Each question has a moment of its own. */
static int refresh(struct tr_reader *reader)
{
    return connect_again(of(reader));
}

static void release(struct tr_reader *reader)
{
    (void)reader;
}

static struct tri_store *store_of(const struct tr_reader *reader)
{
    return &of((struct tr_reader *)(uintptr_t)reader)->store;
}

static int damaged(struct tr_reader *reader, const char *what)
{
    return report(of(reader), TR_STORE_DAMAGED, what);
}

static void close_reader(struct tr_reader *reader)
{
    tri_client_close(of(reader)->client);
    tr_free(reader);
}

static const struct tri_reader_ops ops = {.refresh = refresh,
                                          .release = release,
                                          .rows = rows,
                                          .count = count,
                                          .visit = visit,
                                          .store = store_of,
                                          .members = members,
                                          .damaged = damaged,
                                          .close = close_reader};

/* What is wrong with what a person has typed, or made, is said before anybody is asked. */
static int check(const char *text, char *explain)
{
    struct tr_wire_keys keys;
    struct tri_entry_locator *locator = tr_alloc(sizeof *locator);
    if (locator == NULL) {
        return TR_MEMORY;
    }
    int error = tri_entry_locator_read(text, locator, explain);
    if (error == 0) {
        error = tri_entry_key_read(locator->key_file, &keys, explain);
        error = error == TR_NOT_FOUND ? TR_INVALID : error;
    }
    memset(&keys, 0, sizeof keys);
    tr_free(locator);
    return error;
}

int tri_remote_reader_open(const struct tr_reader_options *options, char *explain,
                           struct tr_reader **reader)
{
    const struct tr_hello hello = {.program = tr_text_of("")};
    struct answer answer;
    struct remote_reader *self = tr_alloc_zero(1, sizeof *self);
    if (self == NULL) {
        return TR_MEMORY;
    }
    self->reader.ops = &ops;
    self->store.ops = &store_ops;
    (void)snprintf(self->reader.folder, sizeof self->reader.folder, "%s", options->folder);
    int error = check(options->folder, self->words);
    if (error == 0) {
        error = ask(self, &tr_hello_schema, &hello, &answer);
        error = error == TR_BUSY ? TR_NO_CONNECTION : error;
    }
    if (error == 0) {
        answer_fini(&answer);
    }
    if (error != 0) {
        if (explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", self->words);
        }
        close_reader(&self->reader);
        return error;
    }
    *reader = &self->reader;
    return 0;
}
