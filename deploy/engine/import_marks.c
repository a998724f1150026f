/*
 * Marks of executions that are coming: a list in one cell, and what is done about it.
 */
#include "deploy/engine/import_marks.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/document/arena.h"
#include "runtime/host/host.h"
#include "schemas/engine/flow.h"
#include "schemas/engine/history.h"

/* The program's cells in the store. */
#define CELL TRI_META_USER

/* Marks of a store: of as many executions as one has launched. */
#define MARKS_BYTES_FIRST 65536
#define MARKS_BYTES_MAX (256U << 20)

/* How long a launcher may take. */
#define LAUNCHER_MS_MAX 5000

struct tri_op tr_import_marks_op(struct tr_bytes marks)
{
    return (struct tri_op){.kind = TRI_OP_PUT_META, .number = CELL, .data = marks};
}

int tr_import_marks_add(struct tr_buffer *marks, const struct tr_import_mark *mark)
{
    size_t size_max = tr_import_mark_schema.size_max(mark);
    uint8_t *bytes = tr_alloc(size_max);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size_max);
    int error = tr_import_mark_pack(mark, &writer);
    if (error == 0) {
        tr_buffer_add(marks, bytes, tr_writer_size(&writer));
        error = marks->error;
    }
    tr_free(bytes);
    return error;
}

int tr_import_marks_read(struct tri_store *store, struct tr_buffer *marks)
{
    int error = TR_LIMIT;
    for (size_t capacity = MARKS_BYTES_FIRST; error == TR_LIMIT && capacity <= MARKS_BYTES_MAX;
         capacity *= 4) {
        uint8_t *bytes = tr_alloc(capacity);
        size_t size = 0;
        if (bytes == NULL) {
            return TR_MEMORY;
        }
        error = tri_store_read_meta(store, CELL, bytes, capacity, &size);
        if (error == 0) {
            tr_buffer_add(marks, bytes, size);
            error = marks->error;
        }
        tr_free(bytes);
    }
    return error == TR_NOT_FOUND ? 0 : error;
}

/* ------------------------------------------------------------------------ forgetting */

/* Operations that forget, and what they hold. */
struct forgetting {
    struct tr_live *live;
    struct tr_arena arena;
    struct tri_vector ops;
};

/* All rows of an execution in one record: their keys begin with its number. */
static int forget_record(struct forgetting *forgetting, const struct tr_schema *schema,
                         uint64_t execution)
{
    union tr_history_row row;
    memset(&row, 0, sizeof row);
    memcpy(&row, &execution, sizeof execution);
    size_t size_max = schema->size_max(&row);
    uint8_t *bytes = tr_arena_alloc(&forgetting->arena, size_max);
    struct tri_op *op = tri_vector_add(&forgetting->arena, &forgetting->ops, sizeof *op);
    if (bytes == NULL || op == NULL) {
        return forgetting->arena.error;
    }
    struct tr_writer writer = tr_writer_of(bytes, size_max);
    int error = schema->pack(&row, &writer);
    *op = (struct tri_op){.kind = TRI_OP_DELETE_RECORDS,
                          .type = schema->id,
                          .incarnation = schema->version,
                          .number = 1,
                          .data = {.data = bytes, .size = tr_writer_size(&writer)}};
    return error != 0 ? error : tri_op_find_row_key(op, schema);
}

static int forget_rows(struct forgetting *forgetting, uint64_t execution)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < tr_history_schema_count; i++) {
        error = forget_record(forgetting, tr_history_schemas[i], execution);
    }
    return error;
}

/* A launcher that has never heard of it changes nothing. */
static int free_name(struct tr_live *live, const struct tr_import_mark *mark)
{
    struct tr_ref launcher;
    struct tr_execution_imported imported = {.name = mark->name,
                                             .execution = tr_group_root(mark->execution),
                                             .graph = mark->graph,
                                             .is_undone = true};
    int error = mark->graph == 0 ? TR_NOT_FOUND
                                 : tr_live_launcher(live, mark->project, mark->domain, NULL,
                                                    mark->name, &launcher);
    if (error == 0) {
        /* Asked, not told: the answer says that it is kept, before the mark goes. */
        error = tr_host_ask(live->host, launcher, &tr_execution_imported_schema, &imported,
                            LAUNCHER_MS_MAX, NULL, NULL);
    }
    return error == TR_NOT_FOUND ? 0 : error;
}

static int forget_each(struct forgetting *forgetting, struct tr_bytes marks)
{
    struct tr_cursor cursor = tr_cursor_of(marks);
    int error = 0;
    while (error == 0 && cursor.at < cursor.end) {
        struct tr_import_mark mark;
        struct tr_bytes packed = tr_read_any(&cursor);
        error = cursor.error != 0
                    ? TR_STORE_DAMAGED
                    : tr_import_mark_unpack(packed, tr_import_mark_schema.version, &mark);
        if (error == 0) {
            error = free_name(forgetting->live, &mark);
        }
        if (error == 0 && !mark.keeps_rows) {
            error = forget_rows(forgetting, mark.execution);
        }
    }
    return error;
}

int tr_import_marks_forget(struct tr_live *live, struct tr_bytes marks)
{
    struct forgetting forgetting = {.live = live};
    struct tri_op *op;
    int error = tr_host_write_wait(live->host);
    if (error != 0) {
        return error;
    }
    tr_arena_init(&forgetting.arena);
    error = forget_each(&forgetting, marks);
    if (error == 0) {
        op = tri_vector_add(&forgetting.arena, &forgetting.ops, sizeof *op);
        error = op == NULL ? forgetting.arena.error : 0;
    }
    if (error == 0) {
        *op = tr_import_marks_op((struct tr_bytes){.data = (const uint8_t *)"", .size = 0});
        error = tr_host_write(live->host, forgetting.ops.items, forgetting.ops.count);
    }
    if (error == 0) {
        error = tr_host_write_wait(live->host);
    }
    tr_arena_fini(&forgetting.arena);
    return error;
}
