/*
 * Flyte's documents. A task whose words name them ({{.input}}, {{.outputPrefix}}) reads inputs.pb
 * and leaves outputs.pb, error.pb or futures.pb where these words say:
 *
 *     an object store   s3://BUCKET/PREFIX/NODE/ATTEMPT, which the task reads and writes by itself
 *                       as it would for Flyte; inputs.pb is put there before its pod is made
 *     else a share      the attempt's folder, where our lines of shell put a link to inputs.pb, a
 *                       file of the store
 *
 * The engine has filled in its own folders, of the attempt and of its checkpoints; in each text
 * that goes to a pod they give way to the places that the pod has. Putting inputs changes nothing
 * the second time, so what is in doubt, or busy, is put again.
 */
#include "plugins/pod/pod.h"
#include "runtime/troupe.h"
#include "schemas/runtime/blob_uri.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/http.h"

#define AGAIN_TIMER 3

/* The program that stands before the words of a raw container (actors/graph/import/). */
#define COPILOT "/proc/self/exe"

bool tri_pod_has_flyte(struct tr_task_context *task)
{
    const struct tr_task_template *template = tr_task_template(task);
    return template->has_flyte_inputs || template->has_flyte_outputs;
}

bool tri_pod_is_direct(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint)
{
    return tri_pod_has_flyte(task) && tri_pod_objects(task, endpoint).url.size > 0;
}

/* ------------------------------------------------------------------------------------ places */

/* The place of an attempt as its pod calls it. */
static struct tr_text place_of(struct tr_task_context *task, const struct tri_pod *own,
                               const struct tr_webapi_endpoint *endpoint)
{
    return tri_pod_is_direct(task, endpoint)
               ? tri_pod_place(task, own, tri_pod_objects(task, endpoint).place)
               : tri_pod_folder(task, own, endpoint);
}

/* A text with one part in the place of another, wherever that stands. */
static struct tr_text replaced(struct tr_task_context *task, struct tr_text text,
                               struct tr_text part, struct tr_text with)
{
    const char *at = part.size == 0 || text.size == 0
                         ? NULL
                         : memmem(text.data, text.size, part.data, part.size);
    while (at != NULL) {
        size_t before = (size_t)(at - text.data);
        size_t rest = text.size - before - part.size;
        text = tr_task_format(task, "%.*s%.*s%.*s", (int)before, text.data, (int)with.size,
                              with.data, (int)rest, at + part.size);
        size_t done = before + with.size;
        at = text.size <= done ? NULL
                               : memmem(text.data + done, text.size - done, part.data, part.size);
    }
    return text;
}

struct tr_text tri_pod_text(struct tr_task_context *task, const struct tri_pod *own,
                            const struct tr_webapi_endpoint *endpoint, struct tr_text text)
{
    struct tr_text folder = tr_task_attempt_folder(task);
    struct tr_text checkpoints = tr_task_checkpoint_folder(task);
    struct tr_text place = place_of(task, own, endpoint);
    text = replaced(task, text, folder, place);
    return replaced(task, text, checkpoints, tri_pod_checkpoint(task, place));
}

/* ------------------------------------------------------------------------------------ variables */

static bool is_below(struct tr_text path, struct tr_text folder)
{
    return folder.size > 0 && path.size > folder.size && path.data[folder.size] == '/' &&
           memcmp(path.data, folder.data, folder.size) == 0;
}

/* Of what means something on the engine's machine pods have what lies on the share. */
bool tri_pod_has_variable(const struct tr_environment *variable,
                          const struct tr_webapi_endpoint *endpoint)
{
    return !variable->is_passed_on || is_below(variable->value, tri_pod_share(endpoint));
}

/* What Flyte's SDKs look for beside what they were packaged with. */
void tri_pod_each_flyte_variable(struct tr_task_context *task,
                                 const struct tr_webapi_endpoint *endpoint, tri_pod_add *add,
                                 void *self)
{
    static const char *const names[] = {"PROJECT", "DOMAIN", "ID"};
    const struct tr_task_identity *identity = tr_task_identity(task);
    struct tr_text left = identity->execution;
    struct tr_bytes store = tr_json_get(endpoint->config, "object_store");
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        const char *slash = left.size == 0 ? NULL : memchr(left.data, '/', left.size);
        size_t size = slash == NULL ? left.size : (size_t)(slash - left.data);
        add(self, tr_task_format(task, "FLYTE_INTERNAL_EXECUTION_%s", names[i]).data,
            (struct tr_text){.data = left.data, .size = size});
        size += slash == NULL ? 0 : 1;
        left = (struct tr_text){.data = left.data + size, .size = left.size - size};
    }
    add(self, "FLYTE_ATTEMPT_NUMBER", tr_task_format(task, "%u", identity->attempt));
    if (identity->element != UINT64_MAX) {
        add(self, "BATCH_JOB_ARRAY_INDEX_VAR_NAME", tr_text_of("FLYTE_K8S_ARRAY_INDEX"));
        add(self, "FLYTE_K8S_ARRAY_INDEX",
            tr_task_format(task, "%llu", (unsigned long long)identity->element));
    }
    add(self, "FLYTE_AWS_ENDPOINT", tr_json_text(tr_json_get(store, "endpoint")));
    add(self, "AWS_DEFAULT_REGION", tr_json_text(tr_json_get(store, "region")));
}

/* ------------------------------------------------------------------------------ what is missing */

/* Files among the inputs that lie in the store, which no pod sees without a share. */
static bool names_files_of_the_store(struct tr_task_context *task)
{
    struct tr_text json = {0};
    struct tr_text store = tr_task_store_folder(task);
    struct tr_text blobs = tr_task_format(task, "%.*s/blobs/", (int)store.size, store.data);
    int error = tr_task_inputs_json(task, &json);
    return error == 0 && store.size > 0 && json.size > 0 &&
           memmem(json.data, json.size, blobs.data, blobs.size) != NULL;
}

/* Whether a variable leads to code of a fast package, which lies in the store. */
static bool needs_code(struct tr_task_context *task)
{
    const struct tr_task_template *template = tr_task_template(task);
    struct tr_text store = tr_task_store_folder(task);
    struct tr_text code = tr_task_format(task, "%.*s/code", (int)store.size, store.data);
    for (uint32_t i = 0; i < template->environment_count; i++) {
        const struct tr_environment *variable = &template->environment[i];
        if (variable->is_passed_on && is_below(variable->value, code)) {
            return true;
        }
    }
    return false;
}

/* Words for what settings and task leave open, before anything is put; empty: nothing. */
static struct tr_text missing(struct tr_task_context *task, const struct tri_pod *own,
                              const struct tr_webapi_endpoint *endpoint)
{
    const struct tr_task_template *template = tr_task_template(task);
    struct tri_pod_objects objects = tri_pod_objects(task, endpoint);
    struct tr_text store = tr_task_store_folder(task);
    bool is_shared = is_below(store, tri_pod_share(endpoint));
    if (template->argc > 0 && tr_text_equal(template->argv[0], tr_text_of(COPILOT))) {
        return tr_text_of("its container has folders of data, which are filled on the engine's "
                          "machine alone: let it run there, or read its inputs by itself");
    }
    if (objects.url.size > 0 && !objects.is_s3) {
        return tr_task_format(task,
                              "Flyte's documents are reached by s3://: write %s.outputs: "
                              "s3://BUCKET/PREFIX, and where the store is into "
                              "%s.object_store.endpoint",
                              own->settings, own->settings);
    }
    if (!is_shared && needs_code(task)) {
        return tr_task_format(task,
                              "its code is that of a fast package and lies in the store (%.*s): "
                              "keep the store below %s.share, where pods can read it, or package "
                              "the task without --fast, with its code in its image",
                              (int)store.size, store.data, own->settings);
    }
    if (objects.url.size == 0 && !is_shared) {
        return tr_task_format(task,
                              "its pod cannot reach Flyte's documents: write %s.outputs: "
                              "s3://BUCKET/PREFIX into the settings, or keep the store (%.*s) "
                              "below %s.share",
                              own->settings, (int)store.size, store.data, own->settings);
    }
    return !is_shared && names_files_of_the_store(task)
               ? tr_task_format(task,
                                "files among its inputs lie in the store (%.*s): keep it below "
                                "%s.share, where pods can read it, or hand on files of the object "
                                "store",
                                (int)store.size, store.data, own->settings)
               : (struct tr_text){0};
}

/* ------------------------------------------------------------------------------------ inputs */

static int is_initializing(struct tr_transition *transition, const char *words)
{
    return tr_task_is(transition, TR_TASK_PHASE_INITIALIZING, tr_text_of(words));
}

static int too_large(struct tr_transition *transition)
{
    return tr_task_refuse(transition, tr_text_of("InputSizeExceeded"),
                          tr_text_of("inputs.pb is larger than what is put to an object store, 512 "
                                     "KiB: hand on what is large as a file"));
}

static int put_inputs(struct tr_task_context *task, const struct tri_pod *own,
                      const struct tr_webapi_endpoint *endpoint, struct tr_transition *transition)
{
    struct tr_bytes document = {0};
    int error = tr_task_inputs_document(task, TR_DOCUMENT_FLYTE, &document);
    if (error == TR_LIMIT || (error == 0 && document.size > TR_POD_OUTPUTS_BYTES_MAX)) {
        return too_large(transition);
    }
    if (error == 0) {
        error = tri_pod_put(task, own, endpoint, TR_FLYTE_INPUTS, document);
    }
    return error != 0 ? error
                      : is_initializing(transition, "its inputs are put to the object store");
}

static int make_inputs(struct tr_task_context *task, const struct tri_pod *own,
                       struct tr_transition *transition)
{
    struct tr_blob_make make = {.name_hint = tr_text_of(TR_FLYTE_INPUTS)};
    int error = tr_task_inputs_plan(task, TR_DOCUMENT_FLYTE, &make.plan);
    if (error == 0) {
        error = tr_task_call(task, TR_SERVICE_FILES, &tr_blob_make_schema, &make, 0, own->call);
    }
    if (error == TR_LIMIT) {
        return too_large(transition);
    }
    return error != 0 ? error : is_initializing(transition, "its inputs are written to a file");
}

/* Once more after a while, which doubles. */
static int put_again(struct tr_task_context *task, const struct tri_pod *own, struct tr_text words,
                     struct tr_transition *transition)
{
    uint64_t wait_ms = (uint64_t)TR_POD_READ_AGAIN_MS << *own->reads;
    if (++*own->reads >= TR_POD_READS_MAX) {
        return tr_task_fail(
            transition, TR_FAILURE_SYSTEM, tr_text_of("StorageError"),
            tr_task_format(task, "its inputs cannot be put: %.*s", (int)words.size, words.data));
    }
    wait_ms = wait_ms < TR_POD_READ_AGAIN_MS_MAX ? wait_ms : TR_POD_READ_AGAIN_MS_MAX;
    int error = tr_task_timer(task, AGAIN_TIMER, wait_ms);
    transition->version++;
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_INITIALIZING,
                                   tr_task_format(task, "its inputs are put again: %.*s",
                                                  (int)words.size, words.data));
}

static int read_put(struct tr_task_context *task, const struct tri_pod *own,
                    const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                    bool *is_ready, struct tr_transition *transition)
{
    struct tri_pod_answer answer = {.found = TRI_POD_FOUND};
    int error = tri_pod_read_put(task, own, endpoint, TR_FLYTE_INPUTS, event, &answer);
    if (error != 0) {
        return error;
    }
    *is_ready = answer.found == TRI_POD_FOUND;
    if (*is_ready) {
        *own->reads = 0;
        return 0;
    }
    if (answer.found == TRI_POD_BUSY) {
        return put_again(task, own, answer.words, transition);
    }
    struct tr_text words = tr_task_format(task, "its inputs cannot be put: %.*s",
                                          (int)answer.words.size, answer.words.data);
    return answer.found == TRI_POD_DENIED
               ? tr_task_refuse(transition, tr_text_of("StorageDenied"), words)
               : tr_task_fail(transition, TR_FAILURE_SYSTEM, tr_text_of("StorageError"), words);
}

static int read_made(struct tr_task_context *task, const struct tr_task_event *event,
                     struct tri_pod_inputs *inputs, bool *is_ready,
                     struct tr_transition *transition)
{
    struct tr_blob_failed failed = {.message = tr_text_of(tr_error_text(event->error))};
    if (event->kind == TR_TASK_ANSWER && tr_task_event_is(event, blob_stored)) {
        int error = tri_pod_read_made(task, event, &inputs->document);
        *is_ready = error == 0;
        return error;
    }
    int error = event->kind == TR_TASK_FAILED ? 0 : tr_task_event_read(event, blob_failed, &failed);
    return error != 0
               ? error
               : tr_task_fail(transition, TR_FAILURE_SYSTEM, tr_text_of("StorageError"),
                              tr_task_format(task, "its inputs cannot be written to a file: %.*s",
                                             (int)failed.message.size, failed.message.data));
}

int tri_pod_find_document(struct tr_task_context *task, const struct tri_pod *own,
                          const struct tr_webapi_endpoint *endpoint,
                          const struct tr_task_event *event, struct tri_pod_inputs *inputs,
                          bool *is_ready, struct tr_transition *transition)
{
    bool is_direct = tri_pod_is_direct(task, endpoint);
    bool is_asked = *own->call != 0 && event->call == *own->call && event->kind != TR_TASK_TIMER;
    bool is_lost = event->error == TR_NO_CONNECTION || event->error == TR_CLOSED;
    *is_ready = false;
    if (is_asked && !is_lost && event->kind != TR_TASK_START) {
        return is_direct ? read_put(task, own, endpoint, event, is_ready, transition)
                         : read_made(task, event, inputs, is_ready, transition);
    }
    struct tr_text words = missing(task, own, endpoint);
    if (words.size > 0) {
        return tr_task_refuse(transition, tr_text_of("BadTaskSpecification"), words);
    }
    *is_ready = !tr_task_template(task)->has_flyte_inputs;
    if (*is_ready) {
        return 0;
    }
    return is_direct ? put_inputs(task, own, endpoint, transition)
                     : make_inputs(task, own, transition);
}
