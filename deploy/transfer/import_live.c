/*
 * Import: what changes in the images and messages of an archive, and what is said in addition.
 */
#include "deploy/transfer/import_live.h"

#include <stdio.h>
#include <string.h>

#include "actors/engine.h"
#include "deploy/common/clock.h"
#include "deploy/engine/assemble.h"
#include "deploy/offline/send.h"
#include "schemas/engine/state_task.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/envelope.h"

/* What is being imported. */
struct import {
    struct tr_unpacking *unpacking;
    struct tr_import_target *target;
};

/* ------------------------------------------------------------------------- checking */

static const struct tr_behaviour *find_behaviour(uint16_t id)
{
    for (size_t i = 0; i < TR_LIVE_BEHAVIOURS; i++) {
        if (tr_live_behaviours[i]->id == id) {
            return tr_live_behaviours[i];
        }
    }
    return NULL;
}

int tr_import_live_check(struct tr_unpacking *unpacking, const struct tri_op *op)
{
    struct tr_image image;
    int error = tr_image_unpack(op->data, tr_image_schema.version, &image);
    if (error != 0) {
        return error;
    }
    const struct tr_behaviour *behaviour = find_behaviour(image.behaviour);
    if (behaviour == NULL || image.state_version > behaviour->state->version) {
        snprintf(unpacking->explain, TRI_STORE_EXPLAIN_BYTES,
                 "it holds actors of a newer program; import it with that one");
        return TR_VERSION;
    }
    void *state = tr_arena_alloc(&unpacking->arena, behaviour->state->struct_size);
    return state == NULL ? unpacking->arena.error
                         : behaviour->state->unpack(image.state, image.state_version, state);
}

int tr_import_live_check_message(const struct tri_op *op)
{
    size_t size;
    int error = tr_envelope_check(op->data, &size);
    return error != 0 || size != op->data.size ? TR_MALFORMED : 0;
}

/* -------------------------------------------------------------------- what is said */

static const struct tr_execution *row_of(const struct import *import, uint64_t group)
{
    const struct tr_execution *rows = import->unpacking->executions.items;
    for (uint32_t i = 0; i < import->unpacking->executions.count; i++) {
        if (rows[i].execution == group) {
            return &rows[i];
        }
    }
    return NULL;
}

static struct tri_op *add_op(const struct import *import)
{
    struct tr_unpacking *unpacking = import->unpacking;
    return tri_vector_add(&unpacking->arena, &unpacking->ops, sizeof(struct tri_op));
}

/* A message of the program to an actor. */
static int say(struct import *import, struct tr_ref to, const struct tr_schema *schema,
               const void *body)
{
    const struct tr_offline_message sending = {
        .to = to, .number = ++import->target->said, .clock = tr_clock_wall_ms() << 16};
    struct tri_op said;
    int error = tr_send_offline(&import->unpacking->arena, import->target->host, &sending, schema,
                                body, &said);
    if (error != 0) {
        return error;
    }
    struct tri_op *op = add_op(import);
    if (op == NULL) {
        return import->unpacking->arena.error;
    }
    *op = said;
    return 0;
}

/*
 * What a service of the other host had said gets a name of this one: it is an older start of a copy
 * of this store, perhaps, or an older program, and has given the same name to something else.
 */
static int rename_message(struct import *import, struct tri_op *op)
{
    struct tr_envelope envelope;
    if (!tr_group_is_host(op->key.group)) {
        return 0;
    }
    uint8_t *bytes = tr_arena_alloc(&import->unpacking->arena, op->data.size);
    if (bytes == NULL) {
        return import->unpacking->arena.error;
    }
    memcpy(bytes, op->data.data, op->data.size);
    tr_envelope_unpack(bytes, &envelope);
    envelope.from_group = import->target->host.key.group;
    envelope.from_incarnation = import->target->host.incarnation;
    envelope.sequence = ++import->target->said;
    tr_envelope_pack(&envelope, bytes);
    op->key.group = envelope.from_group;
    op->incarnation = envelope.from_incarnation;
    op->number = envelope.sequence;
    op->data.data = bytes;
    return 0;
}

/* ------------------------------------------------------------------------ the actors */

/* The root becomes a child of the launcher here; that one hears of it. */
static int import_root(struct import *import, struct tri_op *op, struct tr_image *image)
{
    const struct tr_execution *row = row_of(import, op->key.group);
    char name[TR_IMPORT_LAUNCHER_BYTES];
    struct tr_ref launcher;
    if (row == NULL || row->graph.size < sizeof(uint64_t)) {
        return TR_MALFORMED;
    }
    snprintf(name, sizeof name, "%.*s/%.*s", (int)row->project.size, row->project.data,
             (int)row->domain.size, row->domain.data);
    int error = import->target->find_launcher(import->target->self, row, name, &launcher);
    if (error != 0) {
        return error;
    }
    struct tri_op *end = add_op(import);
    if (end == NULL) {
        return import->unpacking->arena.error;
    }
    /* If it comes back, its last word here may not have been heard yet (export_live.c). */
    *end = (struct tri_op){.kind = TRI_OP_DELETE_MESSAGE,
                           .key = op->key,
                           .incarnation = image->incarnation,
                           .to_group = image->parent.key.group,
                           .number = image->sequence + 1};
    image->parent = launcher;
    struct tr_execution_imported imported = {
        .name = row->name,
        .execution = {.key = op->key, .incarnation = image->incarnation},
        .graph = tr_graph_number(row->graph.data),
    };
    return import->target->tells_launchers
               ? say(import, launcher, &tr_execution_imported_schema, &imported)
               : 0;
}

/* A task that counts on a service of the other store, or on what ran beside it. */
static int tell_task(struct import *import, const struct tri_op *op, const struct tr_image *image)
{
    struct tr_task_state state;
    struct tr_services_changed changed = {};
    int error = tr_task_state_unpack(image->state, image->state_version, &state);
    bool is_concerned = state.step == TR_STEP_RUN || state.step == TR_STEP_ABORT ||
                        state.inputs_bytes > 0 || state.has_token || state.has_reservation;
    if (error != 0 || !is_concerned) {
        return error;
    }
    struct tr_ref task = {.key = op->key, .incarnation = image->incarnation};
    return say(import, task, &tr_services_changed_schema, &changed);
}

static int pack_image(const struct import *import, const struct tr_image *image, struct tri_op *op)
{
    size_t size_max = tr_image_schema.size_max(image);
    uint8_t *bytes = tr_arena_alloc(&import->unpacking->arena, size_max);
    if (bytes == NULL) {
        return import->unpacking->arena.error;
    }
    struct tr_writer writer = tr_writer_of(bytes, size_max);
    int error = tr_image_pack(image, &writer);
    op->data = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    return error;
}

static int import_actor(struct import *import, struct tri_op *op)
{
    struct tr_image image;
    int error = tr_image_unpack(op->data, tr_image_schema.version, &image);
    if (error == 0 && image.behaviour == tr_task_behaviour.id) {
        error = tell_task(import, op, &image);
    }
    if (error == 0 && tr_key_equal(op->key, tr_group_root(op->key.group).key)) {
        error = import_root(import, op, &image);
        if (error == 0) {
            error = pack_image(import, &image, op);
        }
    }
    return error;
}

static int import_op(struct import *import, struct tri_op *op)
{
    bool is_message = op->kind == TRI_OP_PUT_MESSAGE;
    uint64_t group = is_message ? tr_envelope_get(op->data.data, 64, to_group) : op->key.group;
    if (row_of(import, group) == NULL) {
        return TR_MALFORMED; /* of somebody else */
    }
    if (is_message) {
        return rename_message(import, op);
    }
    return op->kind == TRI_OP_PUT_ACTOR ? import_actor(import, op) : 0;
}

int tr_import_live_prepare(struct tr_unpacking *unpacking, struct tr_import_target *target)
{
    struct import import = {.unpacking = unpacking, .target = target};
    uint32_t count = unpacking->ops.count; /* those that are added need nothing */
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        /* The list moves when it grows: the operation is changed aside. */
        struct tri_op op = ((struct tri_op *)unpacking->ops.items)[i];
        if (op.kind != TRI_OP_PUT_RECORD && op.kind != TRI_OP_PUT_GRAPH) {
            error = import_op(&import, &op);
            ((struct tri_op *)unpacking->ops.items)[i] = op;
        }
    }
    return error;
}
