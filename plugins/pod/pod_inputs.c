/*
 * The inputs of a pod: small ones travel in its environment, others are written into the store,
 * which then has to lie on the share; and what is missing before a pod can be made.
 */
#include "plugins/pod/pod.h"
#include "runtime/troupe.h"
#include "schemas/runtime/blob_uri.h"
#include "schemas/runtime/files.h"

static int storage_failed(struct tr_task_context *task, const struct tr_task_event *event,
                          struct tr_transition *transition)
{
    struct tr_blob_failed failed = {.message = tr_text_of(tr_error_text(event->error))};
    int error = event->kind == TR_TASK_FAILED ? 0 : tr_task_event_read(event, blob_failed, &failed);
    if (error != 0) {
        return error;
    }
    struct tr_text words = tr_task_format(task, "its inputs cannot be written to a file: %.*s",
                                          (int)failed.message.size, failed.message.data);
    return failed.error == TR_LIMIT
               ? tr_task_refuse(transition, tr_text_of("InputSizeExceeded"), words)
               : tr_task_fail(transition, TR_FAILURE_SYSTEM, tr_text_of("StorageError"), words);
}

/* Inputs that do not travel with the job are written into the store. */
static int make_inputs(struct tr_task_context *task, const struct tri_pod *own,
                       struct tr_transition *transition)
{
    struct tr_blob_make make = {.name_hint = tr_text_of("inputs.json")};
    int error = tr_task_inputs_plan(task, TR_DOCUMENT_JSON, &make.plan);
    if (error == 0) {
        error = tr_task_call(task, TR_SERVICE_FILES, &tr_blob_make_schema, &make, 0, own->call);
    }
    if (error == TR_LIMIT) {
        return tr_task_refuse(transition, tr_text_of("InputSizeExceeded"),
                              tr_text_of("the small values among its inputs are together more than "
                                         "one message takes"));
    }
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_INITIALIZING,
                                   tr_text_of("its inputs are written to a file"));
}

/* The blob by its name below the store as it is called here. */
int tri_pod_read_made(struct tr_task_context *task, const struct tr_task_event *event,
                      struct tr_text *path)
{
    struct tr_blob_stored stored;
    struct tr_text store = tr_task_store_folder(task);
    int error = tr_task_event_read(event, blob_stored, &stored);
    if (error != 0) {
        return error;
    }
    struct tr_text name = tr_blob_uri_name(stored.uri);
    if (name.size == 0) {
        return TR_MALFORMED;
    }
    *path = tr_task_format(task, "%.*s/blobs/%.*s", (int)store.size, store.data, (int)name.size,
                           name.data);
    return path->size == 0 ? TR_MEMORY : 0;
}

int tri_pod_find_inputs(struct tr_task_context *task, const struct tri_pod *own,
                        const struct tr_webapi_endpoint *endpoint,
                        const struct tr_task_event *event, struct tri_pod_inputs *inputs,
                        bool *is_ready, struct tr_transition *transition)
{
    bool is_asked = *own->call != 0 && event->call == *own->call;
    if (tri_pod_has_flyte(task)) {
        return tri_pod_find_document(task, own, endpoint, event, inputs, is_ready, transition);
    }
    *is_ready = false;
    if (is_asked && event->kind == TR_TASK_ANSWER && tr_task_event_is(event, blob_stored)) {
        int error = tri_pod_read_made(task, event, &inputs->path);
        *is_ready = error == 0;
        return error;
    }
    bool is_lost = event->error == TR_NO_CONNECTION || event->error == TR_CLOSED;
    if (is_asked && !is_lost) {
        return storage_failed(task, event, transition);
    }
    int error = tr_task_inputs_json(task, &inputs->json);
    if (error == TR_LIMIT || (error == 0 && inputs->json.size > TR_POD_INPUTS_BYTES_MAX)) {
        return make_inputs(task, own, transition);
    }
    *is_ready = error == 0;
    return error;
}

/* ------------------------------------------------------------------------ what is missing */

static bool is_below(struct tr_text path, struct tr_text folder)
{
    return folder.size > 0 && path.size > folder.size &&
           memcmp(path.data, folder.data, folder.size) == 0 &&
           (path.data[folder.size] == '/' || folder.data[folder.size - 1] == '/');
}

/* Files among the inputs lie in the store, which pods see only where it is on the share. */
static bool names_hidden_files(struct tr_task_context *task, struct tr_text share,
                               struct tr_text json)
{
    struct tr_text store = tr_task_store_folder(task);
    struct tr_text blobs = tr_task_format(task, "%.*s/blobs/", (int)store.size, store.data);
    return store.size > 0 && json.size > 0 && !is_below(store, share) &&
           memmem(json.data, json.size, blobs.data, blobs.size) != NULL;
}

static bool has_image(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint)
{
    struct tr_bytes pod = tri_pod_setting(task, endpoint, "pod");
    struct tr_json_walk containers = tr_json_walk(tr_json_get(pod, "containers"));
    return tr_json_text(tri_pod_setting(task, endpoint, "image")).size > 0 ||
           (tr_json_next(&containers) && tr_json_get(containers.value, "image").size > 0);
}

struct tr_text tri_pod_no_image(struct tr_task_context *task, const struct tri_pod *own)
{
    return tr_task_format(task,
                          "no image is known: write %s.image into the settings, or config: "
                          "{image: NAME} into the task",
                          own->settings);
}

struct tr_text tri_pod_missing(struct tr_task_context *task, const struct tri_pod *own,
                               const struct tr_webapi_endpoint *endpoint,
                               const struct tri_pod_inputs *inputs)
{
    struct tr_text share = tri_pod_share(endpoint);
    struct tr_text store = tr_task_store_folder(task);
    if (!own->finds_image && !has_image(task, endpoint)) {
        return tri_pod_no_image(task, own);
    }
    if (tri_pod_has_flyte(task)) {
        return (struct tr_text){0}; /* it was told before its inputs were put */
    }
    if (share.size == 0 && tri_pod_objects(task, endpoint).url.size == 0 &&
        tr_task_template(task)->output_count > 0) {
        return tr_task_format(task,
                              "the task has outputs, which cannot come back: write %s.share: "
                              "FOLDER into the settings, a folder that the engine and the pods "
                              "see, or %s.outputs: s3://BUCKET/PREFIX",
                              own->settings, own->settings);
    }
    if (inputs->path.size > 0 && !is_below(store, share)) {
        return tr_task_format(task,
                              "its inputs are more than the %u bytes that travel with a job: keep "
                              "the store (%.*s) below %s.share, where pods can read it",
                              TR_POD_INPUTS_BYTES_MAX, (int)store.size, store.data, own->settings);
    }
    if (names_hidden_files(task, share, inputs->json)) {
        return tr_task_format(
            task,
            "files among its inputs lie in the store (%.*s): keep it below %s.share, "
            "where pods can read it",
            (int)store.size, store.data, own->settings);
    }
    return (struct tr_text){0};
}
