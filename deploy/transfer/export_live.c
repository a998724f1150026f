/*
 * Leaving a store: images without what ties them to those that stay, and the commit that forgets
 * the roots.
 */
#include "deploy/transfer/export_live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/engine.h"
#include "runtime/actor/actor.h"
#include "runtime/link/directory.h"
#include "schemas/engine/refresh.h"
#include "schemas/engine/state_task.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/envelope.h"

/* Numbers of an edge in an image: kind, group, serial, incarnation, id, due_ms. */
#define EDGE_FIELDS 6

/* Counters of a group beyond those of its workers are not its own. */
#define COUNTERS_MAX TR_WORKERS_MAX

/* The first actor of a group, as it was. */
struct root {
    uint64_t group;
    uint32_t incarnation;
    uint64_t sequence;
    struct tr_ref launcher;
};

/* An actor that says something in the last commit, and how much it has said. */
struct speaker {
    struct tr_ref actor;
    uint64_t sequence;
};

static int fail(const struct tr_export_live *export, int error, const char *words)
{
    if (export->packing->explain[0] == '\0') {
        snprintf(export->packing->explain, TRI_STORE_EXPLAIN_BYTES, "%.400s", words);
    }
    return error;
}

static bool leaves(const struct tr_export_live *export, uint64_t group)
{
    return tr_packing_set_has(export->executions, group);
}

static void add(const struct tr_export_live *export, const struct tri_op *op, struct tr_bytes data,
                bool is_page)
{
    struct tr_archive_op entry = {.kind = (uint8_t)op->kind,
                                  .type = op->type,
                                  .incarnation = op->incarnation,
                                  .key = op->key,
                                  .number = op->number,
                                  .data = data};
    tr_packing_add(export->packing, &entry, is_page);
}

/* --------------------------------------------------------------------------- actors */

/* Whether an edge goes along: what waits for time or for the outside, and ties within. */
static int goes_along(const struct tr_export_live *export, uint8_t kind, uint64_t group, bool *goes)
{
    bool is_own = kind == TRI_EDGE_TIMER || kind == TRI_EDGE_CALL || kind == TRI_EDGE_BACKOFF;
    *goes = kind != TRI_EDGE_MUTING && (is_own || leaves(export, group));
    return kind == TRI_EDGE_ASK && !*goes
               ? fail(export, TR_BUSY,
                      "it has asked something that is not answered yet; let an engine run for a "
                      "moment (`troupe resume`) and say it again")
               : 0;
}

static int copy_edges(const struct tr_export_live *export, struct tr_bytes edges,
                      struct tr_buffer *kept)
{
    struct tr_cursor cursor = tr_cursor_of(edges);
    struct tr_buffer items;
    uint32_t count = tr_read_array(&cursor);
    uint32_t kept_count = 0;
    int error = 0;
    tr_buffer_init(&items, 0);
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        struct tr_cursor whole = cursor;
        struct tr_bytes item = tr_read_any(&whole);
        bool goes = false;
        (void)tr_read_array(&cursor);
        uint8_t kind = tr_read_u8(&cursor);
        uint64_t group = tr_read_u64(&cursor);
        for (int field = 2; field < EDGE_FIELDS; field++) {
            (void)tr_read_u64(&cursor);
        }
        error = cursor.error;
        if (error == 0) {
            error = goes_along(export, kind, group, &goes);
        }
        if (goes) {
            tr_buffer_add(&items, item.data, item.size);
            kept_count++;
        }
    }
    tr_buffer_array(kept, kept_count);
    tr_buffer_add(kept, items.data, items.size);
    if (error == 0) {
        error = items.error;
    }
    tr_buffer_fini(&items);
    return error != 0 ? error : kept->error;
}

static int note_root(struct tr_export_live *export, const struct tri_op *op,
                     const struct tr_image *image)
{
    struct root *root = tri_vector_add(&export->arena, &export->roots, sizeof *root);
    if (root == NULL) {
        return export->arena.error;
    }
    *root = (struct root){.group = op->key.group,
                          .incarnation = image->incarnation,
                          .sequence = image->sequence,
                          .launcher = image->parent};
    return 0;
}

/* Packs an image again. */
static int add_image(const struct tr_export_live *export, const struct tri_op *op,
                     const struct tr_image *image)
{
    size_t size_max = tr_image_schema.size_max(image);
    struct tr_arena arena;
    tr_arena_init(&arena);
    uint8_t *bytes = tr_arena_alloc(&arena, size_max);
    int error = bytes == NULL ? arena.error : 0;
    if (error == 0) {
        struct tr_writer writer = tr_writer_of(bytes, size_max);
        error = tr_image_pack(image, &writer);
        if (error == 0) {
            add(export, op, (struct tr_bytes){bytes, tr_writer_size(&writer)}, false);
        }
    }
    tr_arena_fini(&arena);
    return error;
}

static int note_back_end(struct tr_export_live *export, const struct tri_op *op)
{
    struct tr_ref *actor = tri_vector_add(&export->arena, &export->back_ends, sizeof *actor);
    if (actor == NULL) {
        return export->arena.error;
    }
    *actor = (struct tr_ref){.key = op->key, .incarnation = op->incarnation};
    return 0;
}

static int note_task(struct tr_export_live *export, const struct tri_op *op,
                     const struct tr_image *image)
{
    struct tr_task_state state;
    int error = tr_task_state_unpack(image->state, image->state_version, &state);
    if (error != 0 || (state.step != TR_STEP_RUN && state.step != TR_STEP_ABORT)) {
        return error;
    }
    struct speaker *task = tri_vector_add(&export->arena, &export->tasks, sizeof *task);
    if (task == NULL) {
        return export->arena.error;
    }
    *task = (struct speaker){.actor = {.key = op->key, .incarnation = image->incarnation},
                             .sequence = image->sequence};
    return 0;
}

static int take_actor(void *self, const struct tri_op *op)
{
    struct tr_export_live *export = self;
    struct tr_image image;
    struct tr_buffer edges;
    if (!leaves(export, op->key.group)) {
        return op->type == tr_refresh_behaviour.id ? note_back_end(export, op) : 0;
    }
    int error = tr_image_unpack(op->data, tr_image_schema.version, &image);
    if (error == 0 && image.behaviour == tr_task_behaviour.id) {
        error = note_task(export, op, &image);
    }
    if (error != 0) {
        return error;
    }
    tr_buffer_init(&edges, 0);
    if (tr_key_equal(op->key, tr_group_root(op->key.group).key)) {
        error = note_root(export, op, &image);
    }
    if (error == 0) {
        error = copy_edges(export, image.edges, &edges);
    }
    if (error == 0) {
        image.edges = tr_buffer_bytes(&edges);
        image.muted_by = 0;
        image.flags &= (uint16_t)~TRI_ACTOR_OVERLOADED;
        error = add_image(export, op, &image);
    }
    tr_buffer_fini(&edges);
    return error;
}

static int take_page(void *self, const struct tri_op *op)
{
    const struct tr_export_live *export = self;
    if (leaves(export, op->key.group)) {
        add(export, op, op->data, true);
    }
    return export->packing->writer.error;
}

static int take_counter(void *self, const struct tri_op *op)
{
    const struct tr_export_live *export = self;
    if (leaves(export, op->key.group) && op->key.serial <= COUNTERS_MAX) {
        add(export, op, op->data, false);
    }
    return export->packing->writer.error;
}

/*
 * What an actor that stays has said to them goes along, but for what ties lives together. What they
 * have said to others is heard here, and must not be something that is answered.
 */
static int take_message(void *self, const struct tri_op *op)
{
    const struct tr_export_live *export = self;
    const uint8_t *envelope = op->data.data;
    bool comes_along = leaves(export, tr_envelope_get(envelope, 64, to_group));
    bool is_theirs = leaves(export, tr_envelope_get(envelope, 64, from_group));
    bool is_control = tr_envelope_get(envelope, 8, kind) == TR_KIND_CONTROL;
    if (comes_along && (is_theirs || !is_control)) {
        add(export, op, op->data, false);
    }
    bool is_launch = tr_envelope_get(envelope, 16, type) == tr_launch_schema.id;
    if (is_theirs && !comes_along && is_launch) {
        return fail(export, TR_BUSY,
                    "it is about to launch another execution; let an engine run for a moment "
                    "(`troupe resume`) and say it again");
    }
    return export->packing->writer.error;
}

int tr_export_live_pack(struct tr_export_live *export)
{
    struct tri_store_visitor visitor = {.self = export,
                                        .counter = take_counter,
                                        .actor = take_actor,
                                        .page = take_page,
                                        .message = take_message};
    tr_arena_init(&export->arena);
    int error = tri_store_load(export->store, &visitor);
    if (error == 0 && export->roots.count < export->executions->unfinished) {
        error = fail(export, TR_STORE_DAMAGED, "the store does not have it as a whole");
    }
    return error == 0 ? 0 : fail(export, error, tri_store_explain(export->store));
}

void tr_export_live_fini(struct tr_export_live *export)
{
    tr_arena_fini(&export->arena);
}

/* ------------------------------------------------------------------------- the commit */

static struct tri_op *add_op(struct tr_export_live *export, struct tri_op op)
{
    struct tri_op *added = tri_vector_add(&export->arena, &export->ops, sizeof *added);
    if (added != NULL) {
        *added = op;
    }
    return added;
}

/* Packs a value behind `before` bytes that the caller fills. */
static int pack(struct tr_export_live *export, const struct tr_schema *schema, const void *value,
                size_t before, struct tr_bytes *bytes)
{
    size_t size_max = schema->size_max(value);
    uint8_t *data = tr_arena_alloc(&export->arena, before + size_max);
    if (data == NULL) {
        return export->arena.error;
    }
    struct tr_writer writer = tr_writer_of(data + before, size_max);
    int error = schema->pack(value, &writer);
    *bytes = (struct tr_bytes){.data = data, .size = before + tr_writer_size(&writer)};
    return error;
}

static int write_row(struct tr_export_live *export, const struct tr_schema *record, const void *row)
{
    struct tri_op op = {
        .kind = TRI_OP_PUT_RECORD, .type = record->id, .incarnation = record->version};
    int error = pack(export, record, row, 0, &op.data);
    if (error != 0) {
        return error;
    }
    error = tri_op_find_row_key(&op, record);
    if (error != 0) {
        return error;
    }
    return add_op(export, op) == NULL ? export->arena.error : 0;
}

/* A last word, said in the name of an actor that leaves. */
static int write_word(struct tr_export_live *export, const struct speaker *speaker,
                      struct tr_ref to, const struct tr_schema *schema, const void *body)
{
    struct tr_key key = speaker->actor.key;
    struct tri_op op = {.kind = TRI_OP_PUT_MESSAGE,
                        .key = key,
                        .incarnation = speaker->actor.incarnation,
                        .to_group = to.key.group,
                        .number = speaker->sequence + 1};
    int error = pack(export, schema, body, TR_ENVELOPE_BYTES, &op.data);
    if (error != 0) {
        return error;
    }
    struct tr_envelope envelope = {
        .envelope_version = TR_ENVELOPE_VERSION,
        .kind = TR_KIND_TELL,
        .flags = TR_FLAG_PRIORITY,
        .version = schema->version,
        .type = schema->id,
        .body_size = (uint32_t)(op.data.size - TR_ENVELOPE_BYTES),
        .to_group = to.key.group,
        .to_serial = to.key.serial,
        .to_incarnation = to.incarnation,
        .from_group = key.group,
        .from_serial = key.serial,
        .from_incarnation = op.incarnation,
        .sequence = op.number,
        .clock = export->now_ms << 16,
    };
    tr_envelope_pack(&envelope, (uint8_t *)(uintptr_t)op.data.data);
    return add_op(export, op) == NULL ? export->arena.error : 0;
}

static int write_end(struct tr_export_live *export, const struct root *root,
                     const struct tr_execution *row)
{
    struct tr_execution_ended ended = {.name = row->name, .phase = TR_EXECUTION_EXPORTED};
    const struct speaker speaker = {
        .actor = {.key = tr_group_root(root->group).key, .incarnation = root->incarnation},
        .sequence = root->sequence};
    memcpy(&ended.graph, row->graph.data, row->graph.size < 8 ? row->graph.size : 8);
    return write_word(export, &speaker, root->launcher, &tr_execution_ended_schema, &ended);
}

/* Which back end a task's job is at is in its plugin's state, which is nobody else's: all hear. */
static int write_left(struct tr_export_live *export, struct speaker task)
{
    const struct tr_ref *back_ends = export->back_ends.items;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < export->back_ends.count; i++, task.sequence++) {
        error = write_word(export, &task, back_ends[i], &tr_refresh_left_schema,
                           &(struct tr_refresh_left){});
    }
    return error;
}

static int write_history(struct tr_export_live *export, const struct root *root,
                         struct tr_execution *row)
{
    struct tr_text words = tr_arena_print(&export->arena, "exported to %.1000s", export->path);
    struct tr_phase phase = {
        .execution = row->execution,
        .actor = tr_group_root(root->group).key,
        .number = UINT32_MAX + root->sequence, /* beyond what it has counted */
        .subject = TR_SUBJECT_EXECUTION,
        .element = TR_ELEMENT_NONE,
        .phase = TR_EXECUTION_EXPORTED,
        .at_ms = export->now_ms,
        .cause = words,
    };
    row->phase = TR_EXECUTION_EXPORTED;
    row->ended_ms = export->now_ms;
    row->code = tr_text_of("Exported");
    row->message = tr_text_of(export->path);
    int error = write_row(export, &tr_execution_schema, row);
    return error != 0 ? error : write_row(export, &tr_phase_schema, &phase);
}

static int let_go(struct tr_export_live *export, struct tr_reader *reader, const struct root *root)
{
    struct tr_executions_row copy;
    int error = tr_executions_get(reader, root->group, &copy);
    if (error != 0) {
        return error;
    }
    struct tr_execution row = copy.row;
    struct tri_op op = {.kind = TRI_OP_DELETE_ACTOR, .key = tr_group_root(root->group).key};
    error = add_op(export, op) == NULL ? export->arena.error : 0;
    if (error == 0) {
        error = write_end(export, root, &row);
    }
    if (error == 0) {
        error = write_history(export, root, &row);
    }
    tr_executions_row_fini(&copy); /* what was packed holds copies */
    return error;
}

static int compare_ops(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

int tr_export_live_commit(struct tr_export_live *export, struct tr_reader *reader)
{
    const struct root *roots = export->roots.items;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < export->roots.count; i++) {
        error = let_go(export, reader, &roots[i]);
    }
    const struct speaker *tasks = export->tasks.items;
    for (uint32_t i = 0; error == 0 && i < export->tasks.count; i++) {
        error = write_left(export, tasks[i]);
    }
    if (error != 0) {
        return fail(export, error, tr_error_text(error));
    }
    qsort(export->ops.items, export->ops.count, sizeof(struct tri_op), compare_ops);
    struct tri_commit commit = {.ops = export->ops.items,
                                .count = export->ops.count,
                                .last_number = export->store->last_number + 1};
    error = tri_store_commit(export->store, &commit);
    return error == 0 ? 0 : fail(export, error, tri_store_explain(export->store));
}
