/*
 * Walking over the paths in slots. The walk is tr_literal_map_paths', which shows each path and
 * writes the rest of the value as it is.
 *
 * Resolving takes several handlers, one for each question to the files service. `state->cursor` is
 * the number of the path whose turn it is; what was said of those before it lies in the span of
 * URIs, in their order, nil where nothing had to be asked. Each handler walks from the beginning
 * again and passes over as many paths as the cursor says: so nothing of a walk has to be kept, and
 * a question that was lost with the engine is simply put again. With the last answer one more walk
 * puts what was said in the places of the paths.
 */
#include "actors/task/task_resolve.h"

#include <string.h>

#include "actors/graph/value/slot.h"

/* ------------------------------------------------------------------- walk */

struct walk {
    struct tri_task *task;
    const struct tri_resolver *resolver;
    int (*visit)(struct walk *walk, struct tr_blob blob, struct tr_buffer *buffer);
    const struct tr_type *type; /* of the path in hand */
    uint32_t variable;          /* whose paths are walked over */
    uint32_t number;            /* of the path in hand */
    struct tr_buffer *notes;    /* to be added to those that are kept */
    struct tr_cursor said;      /* what was said, in order */
    struct tr_text found;
    bool is_asked;
};

static int visit(void *self, const struct tr_type *type, struct tr_blob blob,
                 struct tr_buffer *buffer)
{
    struct walk *walk = self;
    walk->type = type;
    int error = walk->visit(walk, blob, buffer);
    walk->number++;
    return error;
}

static bool is_left_out(const struct tri_resolver *resolver, uint32_t index)
{
    for (uint32_t i = 0; i < resolver->left_out_count; i++) {
        if (resolver->left_out[i] == index) {
            return true;
        }
    }
    return false;
}

/*
 * Goes over all slots; those that lie elsewhere are passed by, being the same wherever they go.
 * Left out variables are not even copied: the key of the cache must not depend on them.
 */
static int walk_slots(struct walk *walk, struct tr_buffer *buffer)
{
    const struct tri_resolver *resolver = walk->resolver;
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(resolver->slots, &cursor);
    if (cursor.error != 0 || count != resolver->variables->count) {
        return TR_MALFORMED;
    }
    tr_buffer_array(buffer, count - resolver->left_out_count);
    for (uint32_t i = 0; i < count; i++) {
        const struct tr_type *type = resolver->variables->items[i].type;
        struct tr_bytes slot = tr_read_any(&cursor);
        struct tr_offloaded where;
        if (cursor.error != 0) {
            return TR_MALFORMED;
        }
        walk->variable = i;
        if (is_left_out(resolver, i)) {
            continue;
        }
        bool is_content = resolver->scope == TR_PATHS_CONTENT;
        if ((!is_content && !tr_type_may_hold_paths(type, resolver->scope)) ||
            tr_slot_is_offloaded(slot, &where)) {
            tr_buffer_add(buffer, slot.data, slot.size);
            continue;
        }
        int error = tr_literal_map_paths(type, slot, resolver->scope, visit, walk, buffer);
        if (error != 0) {
            return error;
        }
    }
    return buffer->error;
}

/* ------------------------------------------------------------------- next */

/* The error that ends a walk that has found what it looked for. */
#define FOUND TR_EXISTS

/*
 * Paths that are of no interest are noted as nil at once and passed, up to the first one that has
 * to be asked for; that one ends the walk.
 */
static int visit_next(struct walk *walk, struct tr_blob blob, struct tr_buffer *buffer)
{
    struct tri_task *task = walk->task;
    tr_buffer_nil(buffer);
    if (walk->number < task->state->cursor) {
        return 0;
    }
    const struct tri_path path = {.uri = blob.uri, .type = walk->type};
    if (!walk->resolver->wants(task, &path)) {
        tr_buffer_nil(walk->notes);
        task->state->cursor++;
        return 0;
    }
    int error = walk->resolver->ask(task, &path);
    walk->is_asked = error == 0;
    return error != 0 ? error : FOUND;
}

int tri_resolve_next(struct tri_task *task, const struct tri_resolver *resolver, bool *is_done)
{
    struct tr_buffer notes;
    struct tr_buffer rest;
    tr_buffer_init(&notes, 0);
    tr_buffer_init(&rest, 0);
    struct walk walk = {.task = task, .resolver = resolver, .visit = visit_next, .notes = &notes};
    int error = walk_slots(&walk, &rest);
    error = error == FOUND ? 0 : error;
    if (error == 0) {
        error = notes.error;
    }
    if (error == 0 && notes.size > 0) {
        error = tri_task_span_add(task, TRI_SPAN_URIS, tr_buffer_bytes(&notes));
    }
    *is_done = !walk.is_asked;
    tr_buffer_fini(&notes);
    tr_buffer_fini(&rest);
    return error;
}

/* Keeps what was said of the path at the cursor, and goes on to the next one. */
int tri_resolve_note(struct tri_task *task, struct tr_bytes said)
{
    task->state->cursor++;
    return tri_task_span_add(task, TRI_SPAN_URIS, said);
}

static int visit_current(struct walk *walk, struct tr_blob blob, struct tr_buffer *buffer)
{
    tr_buffer_nil(buffer);
    if (walk->number < walk->task->state->cursor) {
        return 0;
    }
    walk->found = blob.uri;
    return FOUND;
}

int tri_resolve_current(struct tri_task *task, const struct tri_resolver *resolver,
                        struct tr_text *variable, struct tri_path *path)
{
    struct tr_buffer rest;
    tr_buffer_init(&rest, 0);
    struct walk walk = {.task = task, .resolver = resolver, .visit = visit_current};
    int error = walk_slots(&walk, &rest);
    tr_buffer_fini(&rest);
    if (error != FOUND) {
        return error != 0 ? error : TR_NOT_FOUND;
    }
    *variable = resolver->variables->items[walk.variable].name;
    *path = (struct tri_path){.uri = walk.found, .type = walk.type};
    return 0;
}

/* ------------------------------------------------------------------ apply */

/* nil leaves the path as it is. In content a digest takes the place of the path, as bytes. */
static int visit_apply(struct walk *walk, struct tr_blob blob, struct tr_buffer *buffer)
{
    struct tr_bytes said = tr_read_any(&walk->said);
    if (walk->said.error != 0) {
        return TR_MALFORMED;
    }
    struct tr_cursor cursor = tr_cursor_of(said);
    if (walk->resolver->scope == TR_PATHS_CONTENT) {
        if (tr_read_nil(&cursor)) {
            tr_buffer_text_value(buffer, blob.uri);
        } else {
            tr_buffer_add(buffer, said.data, said.size);
        }
        return buffer->error;
    }
    struct tr_text uri = tr_read_nil(&cursor) ? blob.uri : tr_read_text(&cursor);
    tr_write_blob(buffer, (struct tr_blob){.uri = uri, .format = blob.format});
    return cursor.error != 0 ? TR_MALFORMED : buffer->error;
}

int tri_resolve_apply(struct tri_task *task, const struct tri_resolver *resolver,
                      struct tr_buffer *buffer)
{
    struct tr_bytes said = {0};
    int error = task->state->uris_bytes == 0 ? 0 : tri_task_span_get(task, TRI_SPAN_URIS, &said);
    struct walk walk = {
        .task = task, .resolver = resolver, .visit = visit_apply, .said = tr_cursor_of(said)};
    return error != 0 ? error : walk_slots(&walk, buffer);
}
