/*
 * A job as Armada gets it: where it belongs, by what it is known, and its pod.
 */
#include "plugins/armada/armada.h"

#include <inttypes.h>

#define URI_ANNOTATION "armadaproject.io/externalJobUri"

/* -------------------------------------------------------------------------------- settings */

/* ------------------------------------------------------------------------------- the group */

/* The group of a job that this store makes. */
static int new_group(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
                     struct tr_text *group)
{
    char mark[TR_POD_MARK_BYTES + 1];
    struct tr_text front = tri_pod_front(task, TR_ARMADA_FRONT_BYTES_MAX);
    struct tr_text queue = tr_json_text(tri_pod_setting(task, endpoint, "queue"));
    struct tr_text prefix = tr_config_text(endpoint->config, "job_set", tr_text_of("troupe"));
    if (queue.size == 0) {
        return TR_INVALID;
    }
    tri_pod_mark(task, false, mark);
    struct tr_text words =
        tr_task_format(task, "%.*s/%.*s-%.*s-%s", (int)queue.size, queue.data, (int)prefix.size,
                       prefix.data, (int)front.size, front.data, mark);
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
    struct tr_text namespace = tr_json_text(tri_pod_setting(task, endpoint, "namespace"));
    struct tr_text client = tr_task_format(task, "%.*s.%.*s", (int)identity.size, identity.data,
                                           (int)group->mark.size, group->mark.data);
    struct tr_text uri = tr_task_format(task, "troupe:%.*s", (int)client.size, client.data);
    int64_t priority = tr_json_i64(tri_pod_setting(task, endpoint, "priority"), 0);
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

struct tri_pod tri_armada_pod(struct tr_task_context *task, struct tr_armada_attempt *own,
                              const struct tr_webapi_endpoint *endpoint)
{
    struct tri_armada_group parts;
    struct tr_text group = {0};
    struct tr_text name = tr_task_generated_name(task);
    struct tri_pod pod = {.settings = "plugins.armada",
                          .call = &own->call,
                          .reads_outputs = &own->reads_outputs,
                          .reads = &own->reads};
    if (tri_armada_group(task, own, endpoint, &group) == 0 &&
        tri_armada_group_read(group, &parts)) {
        pod.below = tr_task_format(task, "%.*s/%.*s", (int)parts.job_set.size, parts.job_set.data,
                                   (int)name.size, name.data);
    }
    return pod;
}

int tri_armada_job(struct tr_task_context *task, struct tr_armada_attempt *own,
                   const struct tr_webapi_endpoint *endpoint, const struct tri_pod_inputs *inputs,
                   struct tr_bytes *job, struct tr_text *problem)
{
    struct tri_armada_group parts;
    struct tr_text group = {0};
    struct tr_bytes spec = {0};
    struct tri_pod pod = tri_armada_pod(task, own, endpoint);
    struct tr_text words =
        tr_json_text(tri_pod_setting(task, endpoint, "queue")).size == 0
            ? tr_text_of("no queue is known: write plugins.armada.queue into the settings, or "
                         "config: {queue: NAME} into the task")
            : tri_pod_missing(task, &pod, endpoint, inputs);
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
    error = tri_pod_spec(task, &pod, endpoint, inputs, &spec);
    return error != 0 ? error : build_item(task, endpoint, &parts, spec, job);
}
