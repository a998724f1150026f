/*
 * A job as Armada gets it: where it belongs, by what it is known, and its pod.
 */
#include "plugins/armada/armada.h"

#include <inttypes.h>

#define URI_ANNOTATION "armadaproject.io/externalJobUri"

/* -------------------------------------------------------------------------------- settings */

struct tr_bytes tri_armada_setting(struct tr_task_context *task,
                                   const struct tr_webapi_endpoint *endpoint, const char *key)
{
    struct tr_bytes own = tr_json_get(tr_task_template(task)->config, key);
    return own.size > 0 ? own : tr_json_get(endpoint->config, key);
}

struct tr_text tri_armada_share(const struct tr_webapi_endpoint *endpoint)
{
    struct tr_bytes share = tr_json_get(endpoint->config, "share");
    struct tr_text path = tr_json_type(share) == TR_CODEC_MAP
                              ? tr_json_text(tr_json_get(share, "path"))
                              : tr_json_text(share);
    while (path.size > 1 && path.data[path.size - 1] == '/') {
        path.size--; /* as programs call it that ask where they are */
    }
    return path;
}

/* ------------------------------------------------------------------------------- the group */

static uint64_t hash(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* What no other node of any store has in common with this one, in letters and digits. */
static void write_mark(struct tr_task_context *task, char mark[TR_ARMADA_MARK_BYTES + 1])
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
    const struct tr_task_identity *identity = tr_task_identity(task);
    struct tr_text store = tr_task_store_folder(task);
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    value = hash(value, &identity->store, sizeof identity->store);
    value = hash(value, &identity->execution_number, sizeof identity->execution_number);
    value = hash(value, store.data, store.size);
    value = hash(value, "\0", 1);
    value = hash(value, identity->execution.data, identity->execution.size);
    value = hash(value, "\0", 1);
    value = hash(value, identity->path.data, identity->path.size);
    for (size_t i = 0; i < TR_ARMADA_MARK_BYTES; i++) {
        mark[i] = alphabet[value & 31];
        value >>= 5;
    }
    mark[TR_ARMADA_MARK_BYTES] = '\0';
}

/* The execution's own name and the node's, for people: what a job set may have, the rest is "-". */
static void write_front(struct tr_task_context *task, char front[TR_ARMADA_FRONT_BYTES_MAX + 1])
{
    const struct tr_task_identity *identity = tr_task_identity(task);
    struct tr_text execution = identity->execution;
    const char *slash = execution.size == 0 ? NULL : memrchr(execution.data, '/', execution.size);
    size_t skipped = slash == NULL ? 0 : (size_t)(slash - execution.data) + 1;
    struct tr_text name =
        tr_task_format(task, "%.*s-%.*s", (int)(execution.size - skipped), execution.data + skipped,
                       (int)identity->path.size, identity->path.data);
    size_t size = name.size < TR_ARMADA_FRONT_BYTES_MAX ? name.size : TR_ARMADA_FRONT_BYTES_MAX;
    for (size_t i = 0; i < size; i++) {
        char letter = name.data[i];
        bool is_plain =
            (letter >= '0' && letter <= '9') || ((letter | 32) >= 'a' && (letter | 32) <= 'z');
        front[i] = is_plain ? letter : '-';
    }
    front[size] = '\0';
}

/* The group of a job that this store makes. */
static int new_group(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
                     struct tr_text *group)
{
    char mark[TR_ARMADA_MARK_BYTES + 1];
    char front[TR_ARMADA_FRONT_BYTES_MAX + 1];
    struct tr_text queue = tr_json_text(tri_armada_setting(task, endpoint, "queue"));
    struct tr_text prefix = tr_config_text(endpoint->config, "job_set", tr_text_of("troupe"));
    if (queue.size == 0) {
        return TR_INVALID;
    }
    write_mark(task, mark);
    write_front(task, front);
    struct tr_text words = tr_task_format(task, "%.*s/%.*s-%s-%s", (int)queue.size, queue.data,
                                          (int)prefix.size, prefix.data, front, mark);
    if (words.size == 0) {
        return TR_MEMORY;
    }
    *group = words;
    return 0;
}

int tri_armada_group(struct tr_task_context *task, const void *state,
                     const struct tr_webapi_endpoint *endpoint, struct tr_text *group)
{
    const struct tr_armada_attempt *own = state;
    struct tr_text kept = tr_array_get(&own->job_set);
    if (kept.size == 0) {
        return new_group(task, endpoint, group);
    }
    *group = kept;
    return 0;
}

struct tr_text tri_armada_place(struct tr_task_context *task, const struct tr_armada_attempt *own,
                                const struct tr_webapi_endpoint *endpoint, struct tr_text base)
{
    struct tri_armada_group parts;
    struct tr_text group = {0};
    struct tr_text name = tr_task_generated_name(task);
    if (tri_armada_group(task, own, endpoint, &group) != 0 ||
        !tri_armada_group_read(group, &parts)) {
        return (struct tr_text){0};
    }
    return tr_task_format(task, "%.*s/%.*s/%.*s", (int)base.size, base.data,
                          (int)parts.job_set.size, parts.job_set.data, (int)name.size, name.data);
}

struct tr_text tri_armada_folder(struct tr_task_context *task, const struct tr_armada_attempt *own,
                                 const struct tr_webapi_endpoint *endpoint)
{
    struct tr_text share = tri_armada_share(endpoint);
    struct tr_text name = tr_task_generated_name(task);
    return share.size == 0 ? tr_task_format(task, "/tmp/troupe/%.*s", (int)name.size, name.data)
                           : tri_armada_place(task, own, endpoint, share);
}

/* --------------------------------------------------------------------------------- the item */

/* The endpoint's map of a name with the task's laid over it, as the next member. */
static void build_maps(struct tr_build *build, struct tr_task_context *task,
                       const struct tr_webapi_endpoint *endpoint, const char *name)
{
    static const char *const paired[] = {NULL};
    struct tr_bytes base = tr_json_get(endpoint->config, name);
    struct tr_bytes over = tr_json_get(tr_task_template(task)->config, name);
    if (base.size > 0) {
        tr_build_name(build, tr_text_of(name));
        tr_build_laid_over(build, base, over, paired);
    } else {
        tr_build_member_value(build, name, over);
    }
}

/* The elements of a map are a gang after the other; what is run again is one of its own. */
static struct tr_text gang_id(struct tr_task_context *task, const struct tri_armada_group *group,
                              long long cardinality)
{
    const struct tr_task_identity *identity = tr_task_identity(task);
    unsigned long long element = identity->element == TR_ELEMENT_NONE ? 0 : identity->element;
    return identity->attempt == 0
               ? tr_task_format(task, "%.*s-%llu", (int)group->mark.size, group->mark.data,
                                element / (unsigned long long)cardinality)
               : tr_task_format(task, "%.*s-%llu-%u", (int)group->mark.size, group->mark.data,
                                element, identity->attempt);
}

/*
 * Members of a gang are started together: Armada lets each wait until all are there. So a member
 * that is run again is a gang of one: those that it was started with never come a second time.
 */
static void build_gang(struct tr_build *build, struct tr_task_context *task,
                       const struct tri_armada_group *group)
{
    struct tr_bytes gang = tr_json_get(tr_task_template(task)->config, "gang");
    if (tr_json_type(gang) != TR_CODEC_MAP) {
        return;
    }
    long long cardinality = tr_json_i64(tr_json_get(gang, "cardinality"), 1);
    cardinality = cardinality < 1 ? 1 : cardinality;
    tr_build_member_text(build, "armadaproject.io/gangId", gang_id(task, group, cardinality));
    cardinality = tr_task_identity(task)->attempt == 0 ? cardinality : 1;
    tr_build_member_text(build, "armadaproject.io/gangCardinality",
                         tr_task_format(task, "%lld", cardinality));
    tr_build_member_text(build, "armadaproject.io/gangNodeUniformityLabel",
                         tr_json_text(tr_json_get(gang, "uniformity")));
}

/* Old servers know the URI by its annotation, new ones by its field: both are said. */
static void build_annotations(struct tr_build *build, struct tr_task_context *task,
                              const struct tr_webapi_endpoint *endpoint, struct tr_text uri,
                              const struct tri_armada_group *group)
{
    static const char *const paired[] = {NULL};
    struct tr_build own = tr_build_of_task(task);
    struct tr_build users = tr_build_of_task(task);
    struct tr_bytes base = {0};
    struct tr_bytes over = {0};
    tr_build_map(&own);
    tr_build_member_text(&own, URI_ANNOTATION, uri);
    build_gang(&own, task, group);
    tr_build_end(&own);
    tr_build_map(&users);
    build_maps(&users, task, endpoint, "annotations");
    tr_build_end(&users);
    if (build->error == 0) {
        build->error = tr_build_take(&own, &base);
    }
    if (build->error == 0) {
        build->error = tr_build_take(&users, &over);
    }
    tr_build_name(build, tr_text_of("annotations"));
    tr_build_laid_over(build, tr_json_get(over, "annotations"), base, paired);
}

static int build_item(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
                      const struct tri_armada_group *group, struct tr_bytes pod,
                      struct tr_bytes *item)
{
    struct tr_build build = tr_build_of_task(task);
    struct tr_text identity = tr_task_generated_name(task);
    struct tr_text namespace = tr_json_text(tri_armada_setting(task, endpoint, "namespace"));
    struct tr_text client = tr_task_format(task, "%.*s.%.*s", (int)identity.size, identity.data,
                                           (int)group->mark.size, group->mark.data);
    struct tr_text uri = tr_task_format(task, "troupe:%.*s", (int)client.size, client.data);
    int64_t priority = tr_json_i64(tri_armada_setting(task, endpoint, "priority"), 0);
    if (client.size == 0 || uri.size == 0) {
        return TR_MEMORY;
    }
    tr_build_map(&build);
    tr_build_member_text(&build, "clientId", client);
    tr_build_member_text(&build, "externalJobUri", uri);
    tr_build_member_text(&build, "namespace",
                         namespace.size > 0 ? namespace : tr_text_of("default"));
    if (priority > 0) {
        tr_build_member_i64(&build, "priority", priority);
    }
    build_maps(&build, task, endpoint, "labels");
    build_annotations(&build, task, endpoint, uri, group);
    tr_build_member_list(&build, "podSpecs");
    tr_build_value(&build, pod);
    tr_build_end(&build);
    tr_build_end(&build);
    return tr_build_take(&build, item);
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
    struct tr_bytes pod = tri_armada_setting(task, endpoint, "pod");
    struct tr_json_walk containers = tr_json_walk(tr_json_get(pod, "containers"));
    return tr_json_text(tri_armada_setting(task, endpoint, "image")).size > 0 ||
           (tr_json_next(&containers) && tr_json_get(containers.value, "image").size > 0);
}

/* Words for what settings and task leave open; empty: nothing. */
static struct tr_text missing(struct tr_task_context *task,
                              const struct tr_webapi_endpoint *endpoint,
                              const struct tri_armada_inputs *inputs)
{
    struct tr_text share = tri_armada_share(endpoint);
    struct tr_text store = tr_task_store_folder(task);
    if (tr_json_text(tri_armada_setting(task, endpoint, "queue")).size == 0) {
        return tr_text_of("no queue is known: write plugins.armada.queue into the settings, or "
                          "config: {queue: NAME} into the task");
    }
    if (!has_image(task, endpoint)) {
        return tr_text_of("no image is known: write plugins.armada.image into the settings, or "
                          "config: {image: NAME} into the task");
    }
    if (share.size == 0 && tri_armada_objects(task, endpoint).url.size == 0 &&
        tr_task_template(task)->output_count > 0) {
        return tr_text_of("the task has outputs, which cannot come back: write "
                          "plugins.armada.share: FOLDER into the settings, a folder that the "
                          "engine and the pods see, or plugins.armada.outputs: s3://BUCKET/PREFIX");
    }
    if (inputs->path.size > 0 && !is_below(store, share)) {
        return tr_task_format(task,
                              "its inputs are more than the %u bytes that travel with a job: keep "
                              "the store (%.*s) below plugins.armada.share, where pods can read it",
                              TR_ARMADA_INPUTS_BYTES_MAX, (int)store.size, store.data);
    }
    if (names_hidden_files(task, share, inputs->json)) {
        return tr_task_format(task,
                              "files among its inputs lie in the store (%.*s): keep it below "
                              "plugins.armada.share, where pods can read it",
                              (int)store.size, store.data);
    }
    return (struct tr_text){0};
}

int tri_armada_job(struct tr_task_context *task, const struct tr_armada_attempt *own,
                   const struct tr_webapi_endpoint *endpoint,
                   const struct tri_armada_inputs *inputs, struct tr_bytes *job,
                   struct tr_text *problem)
{
    struct tri_armada_group parts;
    struct tr_text group = {0};
    struct tr_bytes pod = {0};
    struct tr_text words = missing(task, endpoint, inputs);
    if (words.size > 0) {
        *problem = words;
        return TR_INVALID;
    }
    int error = tri_armada_group(task, own, endpoint, &group);
    if (error == 0 && !tri_armada_group_read(group, &parts)) {
        *problem = tr_text_of("config.queue holds a /, which no queue of Armada's has");
        return TR_INVALID;
    }
    if (error != 0) {
        return error;
    }
    error = tri_armada_pod(task, own, endpoint, inputs, &pod);
    return error != 0 ? error : build_item(task, endpoint, &parts, pod, job);
}
