/*
 * A task's way through the cache: the key, looking, waiting for the task that makes the same, and
 * putting.
 *
 * A cache is a help and no more: whatever goes wrong with it is in the status, and the work is done
 * as if there were none.
 *
 * The steps are DIGEST, LOOKUP, RESERVE before the attempts, and PUT behind the last one. A hit
 * ends the node without an attempt. With `is_made` of the catalog the task looks again, and if it
 * finds nothing after all it asks for the reservation anew, behind those that did so before it.
 */
#include <string.h>

#include "actors/store/task_name.h"
#include "actors/task/task_resolve.h"
#include "actors/values/cache.h"
#include "schemas/engine/history.h"
#include "schemas/runtime/files.h"

/* Only tasks with outputs and a cache version, in a store, unless the execution turned it off. */
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

/*
 * Local paths change their content under the same name, and the same blob may have several names; a
 * URI elsewhere stands for what it names.
 */
static bool has_digest(struct tri_task *task, const struct tri_path *path)
{
    (void)task;
    return tri_path_is_local(path->uri) || tri_path_is_blob(path->uri);
}

/* Flyte's keys are made of literals, which hold paths as such; others of their content alone. */
static struct tri_resolver input_resolver(const struct tri_task *task)
{
    bool is_flytes = tr_cache_is_flytes(task->settings, task->start.inputs);
    return (struct tri_resolver){
        .variables = &task->task->interface.inputs,
        .slots = task->start.inputs,
        .left_out = task->settings->cache.ignored,
        .left_out_count = task->settings->cache.ignored_count,
        .wants = has_digest,
        .ask = ask_digest,
        .scope = is_flytes ? TR_PATHS_DECLARED : TR_PATHS_CONTENT,
    };
}

/*
 * The key is made of the inputs with each local path and blob replaced by the digest of its
 * content. It goes into the note: all later steps read it there.
 */
static int make_key(struct tri_task *task, const struct tri_resolver *resolver)
{
    struct tr_buffer inputs;
    struct tr_buffer digests;
    uint8_t key[TR_CACHE_KEY_BYTES];
    tr_buffer_init(&inputs, 0);
    tr_buffer_init(&digests, 0);
    int error = tri_resolve_apply(task, resolver, &inputs);
    if (error == 0) {
        error = tr_cache_key(task->graph, task->task, task->settings, tr_buffer_bytes(&inputs),
                             resolver->scope == TR_PATHS_DECLARED, key, &digests);
    }
    if (error == 0) {
        error = tri_task_note(task, true);
    }
    if (error == 0) {
        struct tr_bytes bytes = {.data = key, .size = sizeof key};
        task->note.cache_key = tr_arena_bytes(&task->arena, bytes);
        task->note.cache_inputs = tr_arena_bytes(&task->arena, tr_buffer_bytes(&digests));
        error = task->arena.error;
    }
    tr_buffer_fini(&digests);
    tr_buffer_fini(&inputs);
    return error != 0 ? error : tri_task_span_set(task, TRI_SPAN_URIS, (struct tr_bytes){0});
}

/* What the key was made of, in the handling's memory. */
static int make_subject(struct tri_task *task, struct tr_cache_subject *subject)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    int error = tri_task_note(task, false);
    if (error == 0) {
        error = tr_cache_write_task(task->graph, task->task, &words);
    }
    subject->task = tr_arena_text(&task->arena, tr_buffer_text(&words));
    tr_buffer_cut(&words, 0);
    if (error == 0) {
        error = tr_cache_write_inputs(task->task, task->settings, task->note.cache_inputs, &words);
    }
    subject->inputs = tr_arena_bytes(&task->arena, tr_buffer_bytes(&words));
    subject->key = task->note.cache_key;
    subject->version = task->settings->cache.version;
    tr_buffer_fini(&words);
    return error != 0 ? error : task->arena.error;
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

int tri_task_enter_digest(struct tri_task *task)
{
    return is_cached(task) ? digest_next(task) : tri_task_go(task, TR_STEP_TOKEN);
}

int tri_task_digest_again(struct tri_task *task)
{
    return digest_next(task);
}

/* Without a key there is no cache for this task. */
static int give_up_cache(struct tri_task *task)
{
    task->state->cache_status = TR_CACHE_STATUS_LOOKUP_FAILURE;
    int error = tri_task_span_set(task, TRI_SPAN_URIS, (struct tr_bytes){0});
    return error != 0 ? error : tri_task_go(task, TR_STEP_TOKEN);
}

/* A digest as it is noted: as bytes, or, where it stands in the place of a path, as text. */
static void write_digest(const struct tri_task *task, struct tr_bytes digest,
                         struct tr_buffer *said)
{
    if (!tr_cache_is_flytes(task->settings, task->start.inputs)) {
        tr_buffer_bytes_value(said, digest);
        return;
    }
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_buffer_add_string(&words, "content:");
    for (size_t i = 0; i < digest.size; i++) {
        tr_buffer_print(&words, "%02x", digest.data[i]);
    }
    tr_buffer_text_value(said, tr_buffer_text(&words));
    said->error = said->error != 0 ? said->error : words.error;
    tr_buffer_fini(&words);
}

int tri_task_digest_answered(struct tri_task *task, const struct tri_reply *reply)
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
    write_digest(task, stored.digest, &said);
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

/*
 * With --cache refresh (Flyte's overwrite_cache) nothing is looked up; what is made replaces what
 * there is.
 */
int tri_task_enter_lookup(struct tri_task *task)
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

/*
 * Whether a document is what the key names and the interface wants; then its outputs are taken. A
 * document is never trusted: another key under the same path, or outputs that the interface of
 * today refuses, count as not found. The refusal is dropped, since it is not this attempt's.
 */
static bool take_document(struct tri_task *task, const struct tr_cache_subject *wanted,
                          struct tr_bytes bytes)
{
    struct tr_cache_document document;
    struct tr_text problem;
    const struct tr_cache_subject *found = &document.subject;
    if (tr_cache_document_read(bytes, &document) != 0 || found->key.size != wanted->key.size ||
        memcmp(found->key.data, wanted->key.data, wanted->key.size) != 0 ||
        !tr_text_equal(found->task, wanted->task) ||
        !tr_text_equal(found->version, wanted->version) ||
        tri_task_outputs_check(task, document.outputs, &problem) != 0) {
        task->refusal = (struct tri_task_failure){0};
        return false;
    }
    task->outputs = document.outputs;
    task->has_outputs = true;
    return true;
}

/* Keeps what was looked for, for `troupe explain`; of a map only for its first elements. */
static int note_miss(struct tri_task *task, const struct tr_cache_subject *wanted)
{
    const struct tr_node_start *start = &task->start;
    if (start->element != TR_ELEMENT_NONE && start->element >= TR_CACHE_MISSES_MAX) {
        return 0;
    }
    struct tr_cache_miss row = {.execution = start->number,
                                .path = start->path,
                                .element = start->element,
                                .key = wanted->key,
                                .task = wanted->task,
                                .version = wanted->version,
                                .inputs = wanted->inputs,
                                .at_ms = tr_now_ms(task->context)};
    return tr_record(task->context, &tr_cache_miss_schema, &row);
}

/*
 * Whatever is wrong with the lookup or the document, the work is done: the status says which it
 * was.
 */
int tri_task_lookup_answered(struct tri_task *task, const struct tri_reply *reply)
{
    struct tr_task_state *state = task->state;
    struct tr_document document;
    struct tr_cache_subject wanted;
    state->cache_status = TR_CACHE_STATUS_LOOKUP_FAILURE;
    if (reply->error != 0 || reply->event->type != tr_document_schema.id) {
        return tri_task_go(task, TR_STEP_RESERVE);
    }
    int error = tr_document_unpack(reply->event->body, reply->event->version, &document);
    if (error != 0) {
        return error;
    }
    error = make_subject(task, &wanted);
    if (error != 0) {
        return error;
    }
    if (!document.is_found) {
        state->cache_status = TR_CACHE_STATUS_MISS;
        error = note_miss(task, &wanted);
        return error != 0 ? error : tri_task_go(task, TR_STEP_RESERVE);
    }
    if (!take_document(task, &wanted, document.bytes)) {
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
    if (error == 0) {
        error = task->arena.error;
    }
    return error != 0
               ? error
               : tr_tell(task->context, task->engine->catalog, &tr_cache_reserve_schema, &reserve);
}

/*
 * A serialized cache: the catalog answers at once, or when the task that makes the value has ended.
 * has_reservation is set with the request, so the end withdraws it even if no answer has come.
 */
int tri_task_enter_reserve(struct tri_task *task)
{
    if (!task->settings->cache.is_serialized || tr_key_is_none(task->engine->catalog.key)) {
        return tri_task_go(task, TR_STEP_TOKEN);
    }
    task->state->has_reservation = true;
    return ask_reservation(task);
}

int tri_task_reservation_again(struct tri_task *task)
{
    return task->state->has_reservation ? ask_reservation(task) : 0;
}

/* This task makes it, or (is_made) another has made it, and it may be found now. */
int tri_task_on_cache_owner(struct tri_task *task)
{
    struct tr_cache_owner owner;
    int error = tr_message_read(task->message, cache_owner, &owner);
    if (error != 0 || task->state->step != TR_STEP_RESERVE) {
        return error;
    }
    return tri_task_go(task, owner.is_made ? TR_STEP_LOOKUP : TR_STEP_TOKEN);
}

/* -------------------------------------------------------------------- put */

static int put(struct tri_task *task)
{
    char path[TR_CACHE_PATH_BYTES];
    struct tr_buffer buffer;
    struct tr_cache_document document = {
        .execution = task->start.execution,
        .path = task->start.path,
        .element = task->start.element,
        .made_ms = tr_now_ms(task->context),
        .outputs = task->outputs,
    };
    int error = make_subject(task, &document.subject);
    if (error != 0) {
        return error;
    }
    tr_buffer_init(&buffer, 0);
    tr_cache_path(task->note.cache_key, path);
    error = tr_cache_document_write(&document, &buffer);
    const struct tr_document_put message = {.path = tr_text_of(path),
                                            .bytes = tr_buffer_bytes(&buffer)};
    if (error == 0) {
        error = tri_task_call(task, TR_SERVICE_FILES, &tr_document_put_schema, &message);
    }
    tr_buffer_fini(&buffer);
    return error;
}

/*
 * The last step before the end. The outputs are kept over the call, since its answer is another
 * handling.
 */
int tri_task_enter_put(struct tri_task *task)
{
    if (!is_cached(task)) {
        return tri_task_go(task, TR_STEP_END);
    }
    int error = tri_task_note(task, false);
    if (error != 0 || task->note.cache_key.size == 0) {
        return error != 0 ? error : tri_task_go(task, TR_STEP_END);
    }
    error = tri_task_outputs_keep(task);
    if (error == 0) {
        error = put(task);
    }
    if (error == TR_LIMIT) { /* larger than a message: it is not cached */
        task->state->cache_status = TR_CACHE_STATUS_PUT_FAILURE;
        return tri_task_go(task, TR_STEP_END);
    }
    return error;
}

int tri_task_put_answered(struct tri_task *task, const struct tri_reply *reply)
{
    bool is_put = reply->error == 0 && reply->event->type == tr_document_schema.id;
    uint8_t done = task->start.cache_mode == TR_CACHE_REFRESH ? TR_CACHE_STATUS_OVERWRITTEN
                                                              : TR_CACHE_STATUS_POPULATED;
    task->state->cache_status = is_put ? done : TR_CACHE_STATUS_PUT_FAILURE;
    int error = tri_task_outputs_load(task);
    return error != 0 ? error : tri_task_go(task, TR_STEP_END);
}
