/*
 * Files and large values, for plugins whose files are this machine's: what inputs name elsewhere is
 * fetched before the attempt, what the attempt has made is copied into the blob store behind it.
 * Outputs too large to be carried in messages go there for all plugins.
 *
 * Each step asks for one thing at a time, and all it needs to ask again is in the pages: the
 * cursor, the offset and what was said so far. The blob store gives the same answer again.
 */
#include <string.h>

#include "actors/graph/value/slot.h"
#include "actors/task/task_resolve.h"
#include "schemas/runtime/files.h"

/* Bytes of a large value in one message. */
#define PIECE_BYTES (256U << 10)

/* What an output of many may have where all together are too large. */
#define SMALL_BYTES 1024

/*
 * How long a store that is away or busy is put off before it is asked for a file again, doubled
 * each time up to a bound, and how often: about two minutes in all.
 */
#define FETCH_AGAIN_MS 1000U
#define FETCH_AGAIN_MS_MAX 30000U
#define FETCH_TRIES_MAX 8U

/* The plugin's success is none after all. */
static int fail_success(struct tri_task *task, const struct tri_task_failure *failure)
{
    int error = tri_task_finalize(task, TR_TASK_PHASE_RETRYABLE_FAILURE);
    return error != 0 ? error : tri_task_fail(task, failure);
}

/* A service's words on a path, as a failure: with a code it is the task's, else ours. */
static struct tri_task_failure file_failure(const char *code, struct tr_text words)
{
    return (struct tri_task_failure){
        .kind = code != NULL ? TR_FAILURE_USER : TR_FAILURE_SYSTEM,
        .code = tr_text_of(code != NULL ? code : "StorageError"),
        .message = words,
    };
}

/* Notes the URI that a service gave. */
static int note_stored(struct tri_task *task, const struct tri_reply *reply)
{
    struct tr_blob_stored stored;
    struct tr_buffer said;
    int error = tr_blob_stored_unpack(reply->event->body, reply->event->version, &stored);
    if (error != 0) {
        return error;
    }
    tr_buffer_init(&said, 0);
    tr_buffer_text_value(&said, stored.uri);
    error = said.error != 0 ? said.error : tri_resolve_note(task, tr_buffer_bytes(&said));
    tr_buffer_fini(&said);
    return error;
}

/*
 * Puts the new URIs in their places: the slots in the handling's memory. The answers are used up by
 * that, and the span is free for the next step.
 */
static int apply(struct tri_task *task, const struct tri_resolver *resolver, struct tr_bytes *slots)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    int error = tri_resolve_apply(task, resolver, &buffer);
    if (error == 0) {
        *slots = tr_arena_bytes(&task->arena, tr_buffer_bytes(&buffer));
        error = task->arena.error;
    }
    tr_buffer_fini(&buffer);
    return error != 0 ? error : tri_task_span_set(task, TRI_SPAN_URIS, (struct tr_bytes){0});
}

/* ------------------------------------------------------------------ fetch */

/* A path into our blobs. */
static bool is_blob(const struct tri_task *task, struct tr_text uri)
{
    static const char blobs[] = "/blobs/";
    struct tr_text store = tr_text_of(task->engine->store_folder);
    return store.size > 0 && uri.size > store.size + sizeof blobs &&
           memcmp(uri.data, store.data, store.size) == 0 &&
           memcmp(uri.data + store.size, blobs, sizeof blobs - 1) == 0;
}

/* Whether the documents are Flyte's and go elsewhere, where their reader fetches what they name. */
static bool has_documents_elsewhere(const struct tri_task *task)
{
    return !task->plugin->is_local && tr_plugin_has_documents(task->plugin) &&
           tri_task_is_flytes(task);
}

/*
 * Blobs are, wherever they stand and however they are named: programs need a path. A dataset or a
 * text that names another place is the program's own matter.
 */
static bool is_elsewhere(struct tri_task *task, const struct tri_path *path)
{
    struct tr_text uri = path->uri;
    const char *colon = uri.size == 0 ? NULL : memmem(uri.data, uri.size, "://", 3);
    return tri_path_is_blob(uri) || (colon != NULL && tri_path_is_declared(path) &&
                                     !tri_path_is_local(uri) && !has_documents_elsewhere(task));
}

static int ask_fetch(struct tri_task *task, const struct tri_path *path)
{
    const struct tr_blob_fetch fetch = {.uri = path->uri,
                                        .kind = (uint8_t)tri_path_kind(path->type)};
    return tri_task_call(task, TR_SERVICE_FILES, &tr_blob_fetch_schema, &fetch);
}

static struct tri_resolver fetch_resolver(const struct tri_task *task)
{
    return (struct tri_resolver){.variables = &task->task->interface.inputs,
                                 .slots = task->start.inputs,
                                 .scope = TR_PATHS_ALL,
                                 .wants = is_elsewhere,
                                 .ask = ask_fetch};
}

/*
 * Asks for the next path that lies elsewhere; with the last one the inputs are put together and
 * kept.
 */
int tri_task_fetch_next(struct tri_task *task)
{
    struct tri_resolver resolver = fetch_resolver(task);
    struct tr_bytes inputs;
    bool is_done;
    int error = tri_resolve_next(task, &resolver, &is_done);
    if (error != 0 || !is_done) {
        return error;
    }
    error = apply(task, &resolver, &inputs);
    if (error != 0) {
        return error;
    }
    error = tri_task_span_set(task, TRI_SPAN_INPUTS, inputs);
    return error != 0 ? error : tri_task_go(task, TR_STEP_RUN);
}

/* Only plugins whose files are this machine's need theirs fetched, once for all attempts. */
int tri_task_enter_fetch(struct tri_task *task)
{
    bool is_fetched = task->plugin == NULL || !task->plugin->shares_files ||
                      task->state->inputs_bytes > 0 ||
                      !tri_path_may_be_in(&task->task->interface.inputs, TR_PATHS_ALL);
    return is_fetched ? tri_task_go(task, TR_STEP_RUN) : tri_task_fetch_next(task);
}

/* What a file that cannot be had is to its task: whose failure it is, and whether for good. */
static const struct {
    int error;
    uint8_t kind; /* enum tr_failure_kind */
    bool is_permanent;
    const char *code;
} fetch_failures[] = {
    {TR_NOT_FOUND, TR_FAILURE_USER, false, "InputsNotFoundError"},
    {TR_INVALID, TR_FAILURE_USER, false, "InputsNotFoundError"},
    {TR_MISMATCH, TR_FAILURE_USER, true, "MismatchingTypes"},
    {TR_LIMIT, TR_FAILURE_USER, true, "InputSizeExceeded"},
    {TR_DENIED, TR_FAILURE_SYSTEM, true, "StorageDenied"},
};

static struct tri_task_failure fetch_failure(int error, struct tr_text words)
{
    struct tri_task_failure failure = file_failure(NULL, words);
    for (size_t i = 0; i < TR_COUNT_OF(fetch_failures); i++) {
        if (fetch_failures[i].error == error) {
            failure.kind = fetch_failures[i].kind;
            failure.is_permanent = fetch_failures[i].is_permanent;
            failure.code = tr_text_of(fetch_failures[i].code);
        }
    }
    return failure;
}

static int fail_fetch(struct tri_task *task, const struct tri_reply *reply)
{
    struct tri_resolver resolver = fetch_resolver(task);
    struct tr_text name;
    struct tri_path path;
    int error = tri_resolve_current(task, &resolver, &name, &path);
    if (error != 0) {
        return error;
    }
    error = tri_task_span_set(task, TRI_SPAN_URIS, (struct tr_bytes){0});
    if (error != 0) {
        return error;
    }
    struct tr_text words = tr_arena_print(&task->arena, "the input '%.*s': %.*s",
                                          TRI_TEXT(path.uri), TRI_TEXT(reply->message));
    struct tri_task_failure failure = fetch_failure(reply->error, words);
    return tri_task_fail(task, &failure);
}

/*
 * A store that is away or busy is asked again: `offset` counts how often. The wait doubles, and
 * half of it is by chance, so that elements that have met the same fault do not come back at once.
 */
static int fetch_later(struct tri_task *task, const struct tri_reply *reply)
{
    uint64_t wait_ms = (uint64_t)FETCH_AGAIN_MS << task->state->offset;
    wait_ms = wait_ms < FETCH_AGAIN_MS_MAX ? wait_ms : FETCH_AGAIN_MS_MAX;
    wait_ms = wait_ms / 2 + tr_random(task->context) % (wait_ms / 2 + 1);
    task->state->offset++;
    return tri_task_wait_out(task, reply->message, wait_ms);
}

/*
 * What is missing or no path is the user's failure; what could not be fetched for another reason is
 * the system's, and tried again.
 */
int tri_task_fetch_answered(struct tri_task *task, const struct tri_reply *reply)
{
    bool is_away = reply->event->kind == TR_TASK_ANSWER && reply->error == TR_NO_CONNECTION;
    if (is_away && task->state->offset + 1 < FETCH_TRIES_MAX) {
        return fetch_later(task, reply);
    }
    if (reply->error != 0 || reply->event->type != tr_blob_stored_schema.id) {
        return fail_fetch(task, reply);
    }
    task->state->offset = 0;
    int error = note_stored(task, reply);
    return error != 0 ? error : tri_task_fetch_next(task);
}

/* ------------------------------------------------------------------- keep */

struct search {
    const struct tri_path *path;
    bool is_found;
};

static int compare_path(void *self, const struct tr_type *type, struct tr_blob blob,
                        struct tr_buffer *buffer)
{
    struct search *search = self;
    bool is_it =
        type->kind == search->path->type->kind && tr_text_equal(search->path->uri, blob.uri);
    tr_buffer_nil(buffer);
    search->is_found = search->is_found || is_it;
    return 0;
}

/* Whether a path was given to the task as what it is now: what it passes on stays where it is. */
static bool was_input(struct tri_task *task, const struct tri_path *path)
{
    const struct tr_variables *variables = &task->task->interface.inputs;
    struct search search = {.path = path};
    struct tr_bytes inputs;
    struct tr_cursor cursor;
    struct tr_buffer rest;
    if (!tri_path_may_be_in(variables, TR_PATHS_DECLARED) || tri_task_inputs(task, &inputs) != 0) {
        return false;
    }
    tr_buffer_init(&rest, 0);
    uint32_t count = tr_slots_begin(inputs, &cursor);
    for (uint32_t i = 0; i < count && i < variables->count && !search.is_found; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        struct tr_offloaded where;
        if (cursor.error == 0 && !tr_slot_is_offloaded(slot, &where) &&
            tr_literal_map_paths(variables->items[i].type, slot, TR_PATHS_DECLARED, compare_path,
                                 &search, &rest) != 0) {
            break;
        }
        tr_buffer_cut(&rest, 0);
    }
    tr_buffer_fini(&rest);
    return search.is_found;
}

/*
 * Of a blob, too: only the files service knows its URI, and whether it is a file or a folder.
 */
static bool is_kept_here(struct tri_task *task, const struct tri_path *path)
{
    return tri_path_is_kept(path, tri_task_attempt_name(task)) &&
           (tri_path_is_blob(path->uri) || !was_input(task, path));
}

/*
 * Where the work was done; TR_OUTSIDE: at no place that the engine sees. What was made on this
 * machine may lie anywhere on it. For work done elsewhere, which is not trusted, the engine
 * copies files of the attempt's own folder alone; a blob is not copied, and needs none.
 */
static int find_fence(struct tri_task *task, struct tr_blob_put *put)
{
    int error = tri_task_fence(task, &put->folder, &put->trusted_bytes);
    if (error != 0 || task->plugin->is_local) {
        return error;
    }
    if (put->folder.size == 0 && is_blob(task, put->path)) {
        put->folder = put->path;
    }
    return put->folder.size == 0 ? TR_OUTSIDE : 0;
}

static int ask_put(struct tri_task *task, const struct tri_path *path)
{
    struct tr_text uri = tri_path_local(path->uri);
    const char *slash = memrchr(uri.data, '/', uri.size);
    size_t before = slash == NULL ? 0 : (size_t)(slash - uri.data) + 1;
    struct tr_blob_put put = {.path = uri,
                              .name_hint = {.data = uri.data + before, .size = uri.size - before},
                              .kind = (uint8_t)tri_path_kind(path->type)};
    int error = find_fence(task, &put);
    return error != 0 ? error : tri_task_call(task, TR_SERVICE_FILES, &tr_blob_put_schema, &put);
}

static struct tri_resolver keep_resolver(const struct tri_task *task)
{
    return (struct tri_resolver){.variables = &task->task->interface.outputs,
                                 .slots = task->outputs,
                                 .scope = TR_PATHS_ALL,
                                 .wants = is_kept_here,
                                 .ask = ask_put};
}

/* What was no path after all goes on as it is. */
static int leave_path(struct tri_task *task)
{
    uint8_t nil;
    struct tr_writer writer = tr_writer_of(&nil, sizeof nil);
    tr_write_nil(&writer);
    int error = tri_resolve_note(task, (struct tr_bytes){.data = &nil, .size = sizeof nil});
    return error != 0 ? error : tri_task_keep_next(task);
}

/* A path among the outputs cannot be kept. */
static int fail_keep(struct tri_task *task, const struct tri_reply *reply)
{
    struct tri_resolver resolver = keep_resolver(task);
    struct tr_text name;
    struct tri_path path;
    int error = tri_resolve_current(task, &resolver, &name, &path);
    if (error == 0 && tri_path_may_stay(&path, reply->error)) {
        return leave_path(task);
    }
    if (error != 0) {
        return error;
    }
    error = tri_task_span_set(task, TRI_SPAN_URIS, (struct tr_bytes){0});
    if (error != 0) {
        return error;
    }
    struct tr_text words =
        tr_arena_print(&task->arena, "the output '%.*s' names '%.*s': %.*s", TRI_TEXT(name),
                       TRI_TEXT(path.uri), TRI_TEXT(reply->message));
    struct tri_task_failure failure = file_failure(tri_path_failure(reply->error), words);
    return fail_success(task, &failure);
}

int tri_task_keep_next(struct tri_task *task)
{
    static const struct tri_reply nowhere = {
        .error = TR_OUTSIDE,
        .message =
            TRI_LITERAL_TEXT("the engine sees no folder of where this was done; put the file "
                             "where others find it, and give its URI")};
    struct tri_resolver resolver = keep_resolver(task);
    bool is_done;
    int error = tri_resolve_next(task, &resolver, &is_done);
    if (error == TR_OUTSIDE) {
        return fail_keep(task, &nowhere);
    }
    if (error != 0 || !is_done) {
        return error;
    }
    error = apply(task, &resolver, &task->outputs);
    return error != 0 ? error : tri_task_go(task, TR_STEP_OFFLOAD);
}

/* Plugins that share no files with this machine have put theirs where others find them. */
int tri_task_enter_keep(struct tri_task *task)
{
    if (!task->plugin->shares_files ||
        !tri_path_may_be_in(&task->task->interface.outputs, TR_PATHS_ALL)) {
        return tri_task_go(task, TR_STEP_OFFLOAD);
    }
    int error = tri_task_outputs_keep_for_later(task);
    return error != 0 ? error : tri_task_keep_next(task);
}

int tri_task_keep_answered(struct tri_task *task, const struct tri_reply *reply)
{
    int error = tri_task_outputs_load(task);
    if (error != 0) {
        return error;
    }
    if (reply->error != 0 || reply->event->type != tr_blob_stored_schema.id) {
        return fail_keep(task, reply);
    }
    error = note_stored(task, reply);
    return error != 0 ? error : tri_task_keep_next(task);
}

/* ---------------------------------------------------------------- offload */

/* All of them have to fit into one message: where they do not, smaller ones have to go, too. */
static size_t inline_max(const struct tri_task *task)
{
    return task->outputs.size > TR_TASK_INLINE_BYTES_MAX ? SMALL_BYTES : TR_INLINE_BYTES_MAX;
}

/*
 * The first slot from `state->cursor` on that is too large; false: none. The cursor only goes on:
 * slots before it are small, or replaced already.
 */
static bool find_large(struct tri_task *task, struct tr_bytes *slot)
{
    struct tr_cursor cursor;
    size_t size_max = inline_max(task);
    uint32_t count = tr_slots_begin(task->outputs, &cursor);
    for (uint32_t i = 0; i < count; i++) {
        *slot = tr_read_any(&cursor);
        if (i >= task->state->cursor && slot->size > size_max) {
            task->state->cursor = i;
            return true;
        }
    }
    return false;
}

static int write_piece(struct tri_task *task, struct tr_bytes slot)
{
    uint32_t offset = task->state->offset;
    size_t left = slot.size - offset;
    size_t size = left < PIECE_BYTES ? left : PIECE_BYTES;
    const struct tr_blob_write write = {
        .name = tr_arena_print(&task->arena, "%s-%u", tri_task_identity(task)->generated_name.data,
                               task->state->cursor),
        .offset = offset,
        .bytes = {.data = slot.data + offset, .size = size},
        .is_last = size == left,
    };
    return task->arena.error != 0
               ? task->arena.error
               : tri_task_call(task, TR_SERVICE_FILES, &tr_blob_write_schema, &write);
}

/* Nothing is too large by itself any more. */
static int settle(struct tri_task *task)
{
    if (task->outputs.size <= TR_TASK_INLINE_BYTES_MAX) {
        return tri_task_settle(task);
    }
    const struct tri_task_failure failure = {
        .kind = TR_FAILURE_USER,
        .code = TRI_LITERAL_TEXT("OutputSizeExceeded"),
        .message = TRI_LITERAL_TEXT("the small outputs have more than TR_TASK_INLINE_BYTES_MAX "
                                    "together"),
    };
    return fail_success(task, &failure);
}

/*
 * Outputs too large for messages go into the blob store, slot by slot, piece by piece: `cursor` is
 * the slot, `offset` how much of it is written.
 */
int tri_task_enter_offload(struct tri_task *task)
{
    struct tr_bytes slot;
    if (task->outputs.size <= TR_INLINE_BYTES_MAX || !find_large(task, &slot)) {
        return settle(task);
    }
    int error = tri_task_outputs_keep_for_later(task);
    return error != 0 ? error : write_piece(task, slot);
}

int tri_task_offload_again(struct tri_task *task)
{
    struct tr_bytes slot;
    return find_large(task, &slot) ? write_piece(task, slot) : TR_INVALID;
}

/* Puts where it lies in the place of a slot. */
static int replace_slot(struct tri_task *task, uint32_t index, const struct tr_offloaded *where)
{
    struct tr_cursor cursor;
    struct tr_buffer buffer;
    uint32_t count = tr_slots_begin(task->outputs, &cursor);
    tr_buffer_init(&buffer, 0);
    tr_buffer_array(&buffer, count);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        if (i == index) {
            tr_slot_write_offloaded(&buffer, where);
        } else {
            tr_buffer_add(&buffer, slot.data, slot.size);
        }
    }
    int error = buffer.error != 0 ? buffer.error : cursor.error;
    if (error == 0) {
        task->outputs = tr_arena_bytes(&task->arena, tr_buffer_bytes(&buffer));
        error = task->arena.error;
    }
    tr_buffer_fini(&buffer);
    return error;
}

/* One is written; the next, or on. */
static int offload_next(struct tri_task *task, struct tr_bytes slot,
                        const struct tr_blob_stored *stored)
{
    struct tr_task_state *state = task->state;
    const struct tr_offloaded where = {.uri = stored->uri, .size_bytes = slot.size};
    int error = replace_slot(task, state->cursor, &where);
    state->cursor++;
    state->offset = 0;
    if (error == 0 && find_large(task, &slot)) {
        error = tri_task_outputs_keep(task);
        return error != 0 ? error : write_piece(task, slot);
    }
    return error != 0 ? error : settle(task);
}

/*
 * The slot in hand still is the first large one from the cursor on: it is replaced only behind its
 * last piece.
 */
int tri_task_offload_answered(struct tri_task *task, const struct tri_reply *reply)
{
    struct tr_task_state *state = task->state;
    struct tr_blob_stored stored;
    struct tr_bytes slot;
    int error = tri_task_outputs_load(task);
    if (error != 0) {
        return error;
    }
    if (reply->error != 0 || reply->event->type != tr_blob_stored_schema.id) {
        struct tri_task_failure failure = {
            .kind = TR_FAILURE_SYSTEM,
            .code = TRI_LITERAL_TEXT("StorageError"),
            .message = tr_arena_print(
                &task->arena,
                "an output above TR_INLINE_BYTES_MAX could not be put into the blob store: %.*s",
                TRI_TEXT(reply->message)),
        };
        return fail_success(task, &failure);
    }
    error = tr_blob_stored_unpack(reply->event->body, reply->event->version, &stored);
    if (error != 0 || !find_large(task, &slot)) {
        return error != 0 ? error : TR_INVALID;
    }
    if (slot.size - state->offset <= PIECE_BYTES) {
        return offload_next(task, slot, &stored);
    }
    state->offset += PIECE_BYTES;
    return write_piece(task, slot);
}
