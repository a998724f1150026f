/*
 * A task's way through the cache: the key, looking, waiting for who makes the same, and putting.
 *
 * A cache is a help and no more: whatever goes wrong with it is in the status, and the work is done
 * as if there were none.
 */
#include <string.h>

#include "actors/values/cache.h"
#include "actors/store/task_name.h"
#include "actors/task/task_resolve.h"
#include "schemas/runtime/files.h"

static bool is_cached(const struct tri_task *task)
{
    return task->settings->cache.version.size > 0 && task->start.cache_mode != TR_CACHE_OFF &&
           task->task->interface.outputs.count > 0 && task->engine->store_folder != NULL;
}

/* -------------------------------------------------------------------- key */

static int ask_digest(struct tri_task *task, const struct tri_path *path)
{
    return tri_task_call(task, TR_SERVICE_FILES, &tr_blob_digest_schema,
                         &(struct tr_blob_digest){.uri = path->uri});
}

static bool is_local(struct tri_task *task, const struct tri_path *path)
{
    (void)task;
    return tri_is_local(path->uri);
}

static struct tri_resolver input_resolver(const struct tri_task *task)
{
    return (struct tri_resolver){
        .variables = &task->task->interface.inputs,
        .slots = task->start.inputs,
        .left_out = task->settings->cache.ignored,
        .left_out_count = task->settings->cache.ignored_count,
        .wants = is_local,
        .ask = ask_digest,
        .is_content = true,
    };
}

static int make_key(struct tri_task *task, const struct tri_resolver *resolver)
{
    struct tr_buffer inputs;
    uint8_t key[TR_CACHE_KEY_BYTES];
    tr_buffer_init(&inputs, 0);
    int error = tri_resolve_apply(task, resolver, &inputs);
    error = error != 0 ? error
                       : tr_cache_key(task->graph, task->task, task->settings,
                                      tr_buffer_bytes(&inputs), key);
    tr_buffer_fini(&inputs);
    error = error != 0 ? error : tri_task_note(task, true);
    if (error == 0) {
        struct tr_bytes bytes = {.data = key, .size = sizeof key};
        task->note.cache_key = tr_arena_bytes(&task->arena, bytes);
        error = task->arena.error;
    }
    return error != 0 ? error : tri_span_set(task, TRI_SPAN_URIS, (struct tr_bytes){0});
}

/* Asks for the next digest, or makes the key of what there is. */
static int digest_next(struct tri_task *task)
{
    struct tri_resolver resolver = input_resolver(task);
    bool is_done;
    int error = tri_resolve_next(task, &resolver, &is_done);
    if (error != 0 || !is_done) {
        return error;
    }
    error = make_key(task, &resolver);
    return error != 0 ? error : tri_task_go(task, TR_STEP_LOOKUP);
}

int tri_enter_digest(struct tri_task *task)
{
    return is_cached(task) ? digest_next(task) : tri_task_go(task, TR_STEP_TOKEN);
}

int tri_digest_again(struct tri_task *task)
{
    return digest_next(task);
}

/* Without a key there is no cache for this task. */
static int give_up_cache(struct tri_task *task)
{
    task->state->cache_status = TR_CACHE_STATUS_LOOKUP_FAILURE;
    int error = tri_span_set(task, TRI_SPAN_URIS, (struct tr_bytes){0});
    return error != 0 ? error : tri_task_go(task, TR_STEP_TOKEN);
}

int tri_digest_answered(struct tri_task *task, const struct tri_reply *reply)
{
    struct tr_blob_stored stored;
    if (reply->error != 0 || reply->event->type != tr_blob_stored_schema.id) {
        return give_up_cache(task);
    }
    int error = tr_blob_stored_unpack(reply->event->body, reply->event->version, &stored);
    if (error != 0) {
        return error;
    }
    struct tr_buffer said;
    tr_buffer_init(&said, 0);
    tr_buffer_bytes_value(&said, stored.digest);
    error = said.error != 0 ? said.error : tri_resolve_note(task, tr_buffer_bytes(&said));
    tr_buffer_fini(&said);
    return error != 0 ? error : digest_next(task);
}

/* ---------------------------------------------------------------- looking */

static int key_path(struct tri_task *task, char path[TR_CACHE_PATH_BYTES])
{
    int error = tri_task_note(task, false);
    if (error == 0) {
        tr_cache_path(task->note.cache_key, path);
    }
    return error;
}

int tri_enter_lookup(struct tri_task *task)
{
    char path[TR_CACHE_PATH_BYTES];
    if (task->start.cache_mode == TR_CACHE_REFRESH) {
        task->state->cache_status = TR_CACHE_STATUS_SKIPPED;
        return tri_task_go(task, TR_STEP_RESERVE);
    }
    int error = key_path(task, path);
    return error != 0 ? error
                      : tri_task_call(task, TR_SERVICE_FILES, &tr_document_get_schema,
                                      &(struct tr_document_get){.path = tr_text_of(path)});
}

/* Whether a document is what the key names and the interface wants; then its outputs are taken. */
static bool take_document(struct tri_task *task, struct tr_bytes bytes)
{
    struct tr_cache_document document;
    struct tr_text problem;
    struct tr_bytes key = task->note.cache_key;
    if (tr_cache_document_read(bytes, &document) != 0 || document.key.size != key.size ||
        memcmp(document.key.data, key.data, key.size) != 0 ||
        tri_outputs_check(task, document.outputs, &problem) != 0) {
        task->refusal = (struct tri_task_failure){0};
        return false;
    }
    task->outputs = document.outputs;
    task->has_outputs = true;
    return true;
}

int tri_lookup_answered(struct tri_task *task, const struct tri_reply *reply)
{
    struct tr_task_state *state = task->state;
    struct tr_document document;
    state->cache_status = TR_CACHE_STATUS_LOOKUP_FAILURE;
    if (reply->error != 0 || reply->event->type != tr_document_schema.id) {
        return tri_task_go(task, TR_STEP_RESERVE);
    }
    int error = tr_document_unpack(reply->event->body, reply->event->version, &document);
    error = error != 0 ? error : tri_task_note(task, false);
    if (error != 0) {
        return error;
    }
    if (!document.is_found) {
        state->cache_status = TR_CACHE_STATUS_MISS;
        return tri_task_go(task, TR_STEP_RESERVE);
    }
    if (!take_document(task, document.bytes)) {
        return tri_task_go(task, TR_STEP_RESERVE);
    }
    state->cache_status = TR_CACHE_STATUS_HIT;
    return tri_task_go(task, TR_STEP_END);
}

/* ------------------------------------------------------------ reservation */

/* The task as people name it: EXEC/NODE[17]. */
static struct tr_text name_of(struct tri_task *task)
{
    const struct tr_task_identity *identity = tri_task_identity(task);
    struct tr_text execution = tr_task_name_last(identity->execution);
    bool is_element = identity->element != TR_ELEMENT_NONE;
    return is_element
               ? tr_arena_print(&task->arena, "%.*s/%.*s[%llu]", TRI_TEXT(execution),
                                TRI_TEXT(identity->path), (unsigned long long)identity->element)
               : tr_arena_print(&task->arena, "%.*s/%.*s", TRI_TEXT(execution),
                                TRI_TEXT(identity->path));
}

static int ask_reservation(struct tri_task *task)
{
    int error = tri_task_note(task, false);
    const struct tr_cache_reserve reserve = {.key = task->note.cache_key, .owner = name_of(task)};
    error = error != 0 ? error : task->arena.error;
    return error != 0
               ? error
               : tr_tell(task->context, task->engine->catalog, &tr_cache_reserve_schema, &reserve);
}

int tri_enter_reserve(struct tri_task *task)
{
    if (!task->settings->cache.is_serialized || tr_key_is_none(task->engine->catalog.key)) {
        return tri_task_go(task, TR_STEP_TOKEN);
    }
    task->state->has_reservation = true;
    return ask_reservation(task);
}

int tri_reservation_again(struct tri_task *task)
{
    return task->state->has_reservation ? ask_reservation(task) : 0;
}

/* The owner, or (is_made) anybody who may find it made by now. */
int tri_on_cache_owner(struct tri_task *task)
{
    struct tr_cache_owner owner;
    int error = tr_message_read(task->message, cache_owner, &owner);
    if (error != 0 || task->state->step != TR_STEP_RESERVE) {
        return error;
    }
    return tri_task_go(task, owner.is_made ? TR_STEP_LOOKUP : TR_STEP_TOKEN);
}

int tri_reservation_release(struct tri_task *task)
{
    struct tr_task_state *state = task->state;
    if (!state->has_reservation) {
        return 0;
    }
    state->has_reservation = false;
    int error = tri_task_note(task, false);
    const struct tr_cache_release release = {
        .key = task->note.cache_key,
        .is_made = state->cache_status == TR_CACHE_STATUS_HIT ||
                   state->cache_status == TR_CACHE_STATUS_POPULATED ||
                   state->cache_status == TR_CACHE_STATUS_OVERWRITTEN,
    };
    return error != 0
               ? error
               : tr_tell(task->context, task->engine->catalog, &tr_cache_release_schema, &release);
}

/* -------------------------------------------------------------------- put */

static int put(struct tri_task *task)
{
    char path[TR_CACHE_PATH_BYTES];
    struct tr_buffer buffer;
    const struct tr_cache_document document = {
        .key = task->note.cache_key,
        .execution = task->start.execution,
        .path = task->start.path,
        .made_ms = tr_now_ms(task->context),
        .outputs = task->outputs,
    };
    tr_buffer_init(&buffer, 0);
    tr_cache_path(task->note.cache_key, path);
    int error = tr_cache_document_write(&document, &buffer);
    const struct tr_document_put message = {.path = tr_text_of(path),
                                            .bytes = tr_buffer_bytes(&buffer)};
    error = error != 0 ? error
                       : tri_task_call(task, TR_SERVICE_FILES, &tr_document_put_schema, &message);
    tr_buffer_fini(&buffer);
    return error;
}

int tri_enter_put(struct tri_task *task)
{
    if (!is_cached(task)) {
        return tri_task_go(task, TR_STEP_END);
    }
    int error = tri_task_note(task, false);
    if (error != 0 || task->note.cache_key.size == 0) {
        return error != 0 ? error : tri_task_go(task, TR_STEP_END);
    }
    error = tri_outputs_keep(task);
    error = error != 0 ? error : put(task);
    if (error == TR_LIMIT) { /* larger than a message: it is not cached */
        task->state->cache_status = TR_CACHE_STATUS_PUT_FAILURE;
        return tri_task_go(task, TR_STEP_END);
    }
    return error;
}

int tri_put_answered(struct tri_task *task, const struct tri_reply *reply)
{
    bool is_put = reply->error == 0 && reply->event->type == tr_document_schema.id;
    uint8_t done = task->start.cache_mode == TR_CACHE_REFRESH ? TR_CACHE_STATUS_OVERWRITTEN
                                                              : TR_CACHE_STATUS_POPULATED;
    task->state->cache_status = is_put ? done : TR_CACHE_STATUS_PUT_FAILURE;
    int error = tri_outputs_load(task);
    return error != 0 ? error : tri_task_go(task, TR_STEP_END);
}
