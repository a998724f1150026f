/*
 * Unpacking: the file is read as a whole before anything is changed; then come its blobs, which
 * nobody names yet, and at last one commit with graphs and everything that names them.
 */
#include "deploy/transfer/unpacking.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "actors/engine.h"
#include "deploy/common/file.h"
#include "deploy/inputs/relocate.h"
#include "deploy/offline/send.h"
#include "deploy/transfer/import_live.h"
#include "deploy/transfer/unpacking_files.h"
#include "runtime/journal/images.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/envelope.h"

/* As that of the store (runtime/sqlite/sqlite_file.c), it ends with the process. */
#define LOCK_NAME "import.lock"

static int fail(const struct tr_unpacking *unpacking, int error, const char *words)
{
    if (unpacking->explain[0] == '\0') {
        snprintf(unpacking->explain, TRI_STORE_EXPLAIN_BYTES, "%.400s", words);
    }
    return error;
}

/* -------------------------------------------------------------------------- reading */

static int take_head(void *self, const struct tr_archive_head *head)
{
    struct tr_unpacking *unpacking = self;
    unpacking->head = *head;
    return 0;
}

static const struct tr_schema *find_record(uint16_t id)
{
    for (size_t i = 0; i < tr_history_schema_count; i++) {
        if (tr_history_schemas[i]->id == id) {
            return tr_history_schemas[i];
        }
    }
    return NULL;
}

/* A row with the paths of this store. It is packed again, in the newest version of its record. */
static int pack_row(struct tr_unpacking *unpacking, const struct tr_schema *record, const void *row,
                    struct tri_op *op)
{
    size_t size_max = record->size_max(row);
    uint8_t *bytes = tr_arena_alloc(&unpacking->arena, size_max);
    if (bytes == NULL) {
        return unpacking->arena.error;
    }
    struct tr_writer writer = tr_writer_of(bytes, size_max);
    int error = record->pack(row, &writer);
    op->incarnation = record->version;
    op->data = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    return error;
}

static int repath_value(struct tr_unpacking *unpacking, struct tri_op *op)
{
    struct tr_node_value row;
    struct tr_relocation paths = {.from = unpacking->head.folder,
                                  .to = tr_text_of(unpacking->folder)};
    struct tr_buffer slots;
    int error = tr_node_value_unpack(op->data, (uint8_t)op->incarnation, &row);
    tr_buffer_init(&slots, 0);
    if (error == 0 && row.slots.size > 0) {
        error = tr_relocate_value(&paths, row.slots, &slots);
        row.slots = tr_buffer_bytes(&slots);
    }
    if (error == 0) {
        error = pack_row(unpacking, &tr_node_value_schema, &row, op);
    }
    tr_buffer_fini(&slots);
    return error;
}

/* The folder stays where the attempt ran. */
static int forget_folder(struct tr_unpacking *unpacking, struct tri_op *op)
{
    struct tr_attempt row;
    int error = tr_attempt_unpack(op->data, (uint8_t)op->incarnation, &row);
    row.folder = tr_text_of("");
    return error != 0 ? error : pack_row(unpacking, &tr_attempt_schema, &row, op);
}

static int note_execution(struct tr_unpacking *unpacking, struct tri_op *op)
{
    struct tr_execution row;
    int error = tr_execution_unpack(op->data, (uint8_t)op->incarnation, &row);
    if (error != 0) {
        return error;
    }
    struct tr_execution *kept =
        tri_vector_add(&unpacking->arena, &unpacking->executions, sizeof *kept);
    if (kept == NULL) {
        return unpacking->arena.error;
    }
    *kept = row;
    return 0;
}

/* Rows whose texts are of the store where they come from, or that are looked at here. */
static const struct {
    const struct tr_schema *record;
    int (*adapt)(struct tr_unpacking *unpacking, struct tri_op *op);
} adaptions[] = {
    {&tr_node_value_schema, repath_value},
    {&tr_attempt_schema, forget_folder},
    {&tr_execution_schema, note_execution},
};

/* A row: whether it can be read, and what of it changes. */
static int adapt_row(struct tr_unpacking *unpacking, struct tri_op *op)
{
    const struct tr_schema *record = find_record(op->type);
    if (record == NULL || op->incarnation > record->version) {
        return fail(unpacking, TR_VERSION,
                    "it holds rows of a newer program; import it with that one");
    }
    void *row = tr_arena_alloc(&unpacking->arena, record->struct_size);
    int error = row == NULL ? unpacking->arena.error
                            : record->unpack(op->data, (uint8_t)op->incarnation, row);
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(adaptions); i++) {
        if (adaptions[i].record == record) {
            error = adaptions[i].adapt(unpacking, op);
        }
    }
    return error != 0 ? error : tri_op_find_row_key(op, record);
}

/* What is of an actor belongs to an execution that goes on here. */
static int check_living(struct tr_unpacking *unpacking, const struct tri_op *op)
{
    if (!unpacking->head.is_unfinished) {
        return TR_MALFORMED;
    }
    switch (op->kind) {
    case TRI_OP_PUT_ACTOR:
        return tr_import_live_check(unpacking, op);
    case TRI_OP_PUT_MESSAGE:
        return tr_import_live_check_message(op);
    case TRI_OP_PUT_PAGE:
        return op->data.size <= TR_PAGE_BYTES_MAX && op->number < TR_PAGES_MAX ? 0 : TR_MALFORMED;
    case TRI_OP_PUT_COUNTER:
        return op->key.serial > 0 && op->key.serial <= TR_WORKERS_MAX ? 0 : TR_MALFORMED;
    default:
        return TR_MALFORMED;
    }
}

int tr_unpacking_take(struct tr_unpacking *unpacking, const struct tr_archive_op *entry)
{
    struct tri_op op = {.kind = entry->kind,
                        .type = entry->type,
                        .incarnation = entry->incarnation,
                        .key = entry->key,
                        .number = entry->number,
                        .data = entry->data};
    int error =
        op.kind == TRI_OP_PUT_RECORD ? adapt_row(unpacking, &op) : check_living(unpacking, &op);
    if (error != 0) {
        return fail(unpacking, error, "an entry of it makes no sense");
    }
    if (op.kind == TRI_OP_PUT_MESSAGE) {
        op.to_group = tr_envelope_get(op.data.data, 64, to_group);
    }
    struct tri_op *kept = tri_vector_add(&unpacking->arena, &unpacking->ops, sizeof *kept);
    if (kept == NULL) {
        return unpacking->arena.error;
    }
    *kept = op;
    return 0;
}

static int take_op(void *self, const struct tr_archive_op *entry)
{
    return tr_unpacking_take(self, entry);
}

static int check_file(void *self, const struct tr_archive_file *file)
{
    const struct tr_unpacking *unpacking = self;
    return tr_unpacking_is_path(file->path)
               ? 0
               : fail(unpacking, TR_MALFORMED, "it holds a file that belongs nowhere");
}

int tr_unpacking_read(struct tr_unpacking *unpacking)
{
    char problem[TR_ARCHIVE_PROBLEM_BYTES] = "";
    struct tr_archive_visitor visitor = {
        .self = unpacking, .head = take_head, .op = take_op, .file = check_file};
    int error = tr_archive_read(unpacking->bytes, &visitor, problem);
    if (error == 0 && unpacking->executions.count == 0) {
        error = fail(unpacking, TR_MALFORMED, "it holds no execution");
    }
    if (error != 0) {
        return fail(unpacking, error, problem[0] != '\0' ? problem : tr_error_text(error));
    }
    return 0;
}

int tr_unpacking_open(struct tr_unpacking *unpacking, const char *path)
{
    unpacking->explain[0] = '\0';
    int error = tr_file_map(path, &unpacking->bytes);
    if (error != 0) {
        return fail(unpacking, error,
                    error == TR_SYSTEM ? strerror(errno) : "there is no such file");
    }
    return tr_unpacking_read(unpacking);
}

void tr_unpacking_fini(struct tr_unpacking *unpacking)
{
    tr_arena_fini(&unpacking->arena);
    tr_file_unmap(unpacking->bytes);
    unpacking->bytes = (struct tr_bytes){.size = 0};
    if (unpacking->lock > 0) {
        close(unpacking->lock);
        unpacking->lock = 0;
    }
}

int tr_unpacking_lock(struct tr_unpacking *unpacking)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/" LOCK_NAME, unpacking->folder);
    if (size < 0 || (size_t)size >= sizeof path) {
        return fail(unpacking, TR_LIMIT, tr_error_text(TR_LIMIT));
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return fail(unpacking, TR_SYSTEM, strerror(errno));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int error = errno == EWOULDBLOCK ? TR_STORE_LOCKED : TR_SYSTEM;
        (void)fail(unpacking, error,
                   error == TR_SYSTEM ? strerror(errno)
                                      : "another import into this store is at work; say it again "
                                        "when it has ended");
        close(fd);
        return error;
    }
    unpacking->lock = fd;
    return 0;
}

/* ------------------------------------------------------------------------- checking */

static int check_execution(const struct tr_unpacking *unpacking, struct tr_reader *reader,
                           const struct tr_execution *row)
{
    struct tr_executions_row copy = {.texts = NULL};
    char words[TRI_STORE_EXPLAIN_BYTES];
    int error = tr_executions_named(reader, row->project, row->domain, row->name, &copy);
    const char *what = "an execution of its name";
    if (error == TR_NOT_FOUND) {
        error = tr_executions_get(reader, row->execution, &copy);
        what = "its number";
    }
    bool comes_back = error == 0 && unpacking->head.is_unfinished &&
                      copy.row.execution == row->execution &&
                      tr_phase_is_end(TR_SUBJECT_EXECUTION, copy.row.phase);
    if (error == 0 && !comes_back) {
        snprintf(words, sizeof words,
                 "the store has %s already: %.*s/%.*s/%.*s (%s); `troupe prune` forgets it, if it "
                 "has ended",
                 what, (int)copy.row.project.size, copy.row.project.data, (int)copy.row.domain.size,
                 copy.row.domain.data, (int)copy.row.name.size, copy.row.name.data,
                 tr_execution_phase_word(copy.row.phase));
        error = fail(unpacking, TR_EXISTS, words);
    }
    tr_executions_row_fini(&copy);
    return error == TR_NOT_FOUND ? 0 : error;
}

int tr_unpacking_check(struct tr_unpacking *unpacking, struct tr_reader *reader)
{
    const struct tr_execution *rows = unpacking->executions.items;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < unpacking->executions.count; i++) {
        error = check_execution(unpacking, reader, &rows[i]);
    }
    return error == 0 ? 0 : fail(unpacking, error, tr_reader_explain(reader));
}

/* -------------------------------------------------------------------------- writing */

static int compare_ops(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

void tr_unpacking_sort(struct tr_unpacking *unpacking)
{
    if (unpacking->ops.count > 0) {
        qsort(unpacking->ops.items, unpacking->ops.count, sizeof(struct tri_op), compare_ops);
    }
}

/* The launcher of an execution, as it is looked for. */
struct search {
    struct tr_reader *reader;
    const char *name;
    struct tr_ref launcher;
};

static int is_launcher(void *self, const struct tr_actor_image *image)
{
    struct search *search = self;
    if (tr_text_equal(image->name, tr_text_of(search->name))) {
        search->launcher = image->actor;
    }
    return 0;
}

static int find_launcher(void *self, const struct tr_execution *row, const char *name,
                         struct tr_ref *launcher)
{
    struct search search = {.reader = self, .name = name};
    (void)row;
    int error =
        tr_images_of_behaviour(search.reader, tr_launcher_behaviour.id, is_launcher, &search);
    if (error != 0) {
        return error;
    }
    *launcher = search.launcher;
    return tr_key_is_none(search.launcher.key) ? TR_NOT_FOUND : 0;
}

int tr_unpacking_commit(struct tr_unpacking *unpacking, struct tri_store *store,
                        struct tr_reader *reader)
{
    struct tr_import_target target = {.host = tr_offline_host(store),
                                      .tells_launchers = true,
                                      .self = reader,
                                      .find_launcher = find_launcher};
    int error = unpacking->head.is_unfinished ? tr_import_live_prepare(unpacking, &target) : 0;
    if (error != 0) {
        return fail(unpacking, error, tr_error_text(error));
    }
    tr_unpacking_sort(unpacking);
    struct tri_commit commit = {.ops = unpacking->ops.items,
                                .count = unpacking->ops.count,
                                .last_number = store->last_number + 1};
    error = tri_store_commit(store, &commit);
    return error == 0 ? 0 : fail(unpacking, error, tri_store_explain(store));
}
