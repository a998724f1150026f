/*
 * Walking over the paths in slots. The walk is tr_literal_map_paths', which shows each path and
 * writes the rest of the value as it is.
 */
#include "actors/task/task_resolve.h"

#include <string.h>

#include "actors/graph/value/slot.h"
#include "schemas/runtime/process.h"

#define SCHEME "file://"

bool tri_is_local(struct tr_text uri)
{
    return (uri.size > 0 && uri.data[0] == '/') ||
           (uri.size >= sizeof SCHEME && memcmp(uri.data, SCHEME, sizeof SCHEME - 1) == 0);
}

struct tr_text tri_path_local(struct tr_text uri)
{
    size_t skipped = tri_is_local(uri) && uri.data[0] != '/' ? sizeof SCHEME - 1 : 0;
    return (struct tr_text){.data = uri.data + skipped, .size = uri.size - skipped};
}

enum tr_path_kind tri_path_kind(const struct tr_type *type)
{
    return type->kind == TR_TYPE_FILE        ? TR_PATH_FILE
           : type->kind == TR_TYPE_DIRECTORY ? TR_PATH_DIRECTORY
                                             : TR_PATH_ANY;
}

const char *tri_path_failure(int error)
{
    switch (error) {
    case TR_OUTSIDE:
        return "OutputNotAllowed";
    case TR_MISMATCH:
        return "MismatchingTypes";
    case TR_NOT_FOUND:
    case TR_INVALID:
    case TR_LIMIT:
        return "OutputsNotFound";
    default:
        return NULL;
    }
}

/* What stands behind a folder in a path below it, with a slash; nothing: it does not lie there. The
 * folder itself may be called by many names, its last part by one. */
static struct tr_text below_folder(struct tr_text uri, struct tr_text folder)
{
    struct tr_text none = {.data = "", .size = 0};
    const char *end = uri.data + uri.size;
    const char *at = folder.size == 0 || uri.size == 0
                         ? NULL
                         : memmem(uri.data, uri.size, folder.data, folder.size);
    if (at == NULL || at == uri.data || at[-1] != '/' || at + folder.size == end ||
        at[folder.size] != '/') {
        return none;
    }
    at += folder.size;
    return (struct tr_text){.data = at, .size = (size_t)(end - at)};
}

/* Words about the working folder itself are no data. */
static bool is_in_work(struct tr_text below)
{
    static const char work[] = "/" TR_ATTEMPT_WORK "/";
    return below.size >= sizeof work && memcmp(below.data, work, sizeof work - 1) == 0;
}

/* Takes the last part from a path of folders. */
static struct tr_text take_last(struct tr_text *path)
{
    const char *slash = path->size == 0 ? NULL : memrchr(path->data, '/', path->size);
    size_t before = slash == NULL ? 0 : (size_t)(slash - path->data) + 1;
    struct tr_text last = {.data = path->data + before, .size = path->size - before};
    path->size = slash == NULL ? 0 : before - 1;
    return last;
}

bool tri_path_is_own(const struct tri_path *path, struct tr_text attempt)
{
    if (!tri_is_local(path->uri)) {
        return false;
    }
    struct tr_text below = below_folder(path->uri, take_last(&attempt));
    if (path->type->kind == TR_TYPE_STRUCT ? is_in_work(below) : below.size > 0) {
        return true;
    }
    struct tr_text checkpoints = below_folder(path->uri, tr_text_of(TR_STORE_CHECKPOINTS));
    return below_folder(checkpoints, take_last(&attempt)).size > 1;
}

bool tri_path_is_kept(const struct tri_path *path, struct tr_text attempt)
{
    bool is_declared = path->type->kind == TR_TYPE_FILE || path->type->kind == TR_TYPE_DIRECTORY;
    return is_declared ? tri_is_local(path->uri) : tri_path_is_own(path, attempt);
}

bool tri_path_may_stay(const struct tri_path *path, int error)
{
    return path->type->kind == TR_TYPE_STRUCT && error == TR_NOT_FOUND;
}

bool tri_may_hold_paths(const struct tr_variables *variables, enum tr_path_scope scope)
{
    for (uint32_t i = 0; i < variables->count; i++) {
        if (tr_type_may_hold_paths(variables->items[i].type, scope)) {
            return true;
        }
    }
    return false;
}

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

/* Goes over all slots; those that lie elsewhere are passed by, being the same wherever they go. */
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
        if (!tr_type_may_hold_paths(type, resolver->scope) || tr_slot_is_offloaded(slot, &where)) {
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
    error = error != 0 ? error : notes.error;
    if (error == 0 && notes.size > 0) {
        error = tri_span_add(task, TRI_SPAN_URIS, tr_buffer_bytes(&notes));
    }
    *is_done = !walk.is_asked;
    tr_buffer_fini(&notes);
    tr_buffer_fini(&rest);
    return error;
}

int tri_resolve_note(struct tri_task *task, struct tr_bytes said)
{
    task->state->cursor++;
    return tri_span_add(task, TRI_SPAN_URIS, said);
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

static int visit_apply(struct walk *walk, struct tr_blob blob, struct tr_buffer *buffer)
{
    struct tr_bytes said = tr_read_any(&walk->said);
    if (walk->said.error != 0) {
        return TR_MALFORMED;
    }
    struct tr_cursor cursor = tr_cursor_of(said);
    if (walk->resolver->is_content) {
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
    int error = task->state->uris_bytes == 0 ? 0 : tri_span_get(task, TRI_SPAN_URIS, &said);
    struct walk walk = {
        .task = task, .resolver = resolver, .visit = visit_apply, .said = tr_cursor_of(said)};
    return error != 0 ? error : walk_slots(&walk, buffer);
}
