/*
 * The spec of a pod, layer upon layer, the lowest first:
 *
 *     the PodTemplate of the cluster         `pod_template`, whose spec comes from the API server
 *     the endpoint's keys and its `pod`
 *     the task's pod                         of Flyte's task, of its node, and `config: {pod: ...}`
 *     the task's own words                   image, command, environment, resources, secrets
 *     where it may run                       accelerators, tolerations for what it asks for, and
 *                                            what the settings have for interruptible attempts
 */
#include "plugins/kubernetes/kubernetes.h"

/* Labels of nodes where the settings name no others, as Flyte has them. */
#define DEVICE_LABEL "k8s.amazonaws.com/accelerator"
#define PARTITION_LABEL "k8s.amazonaws.com/gpu-partition-size"

/* A spec that grows, and whose it is. */
struct layers {
    struct tr_task_context *task;
    const struct tr_webapi_endpoint *endpoint;
    struct tr_text container;
    struct tr_bytes spec;
    int error;
};

static void lay(struct layers *layers, struct tr_bytes spec, bool has_roles)
{
    const struct tri_pod_layer layer = {.spec = spec, .has_roles = has_roles};
    if (layers->error == 0) {
        layers->error = tri_pod_lay(layers->task, layers->container, &layer, &layers->spec);
    }
}

/* Lays what was built. */
static void lay_built(struct layers *layers, struct tr_build *build)
{
    struct tr_bytes spec = {0};
    if (layers->error == 0) {
        layers->error = tr_build_take(build, &spec);
    }
    lay(layers, spec, false);
}

/* -------------------------------------------------------------------------- what Flyte says */

/* The pod of a task of Flyte's, and the one that its node lays over it. */
static struct tr_bytes flytes_pod(struct tr_task_context *task)
{
    return tr_json_get(tr_task_template(task)->extra, "k8sPod");
}

static struct tr_bytes nodes_pod(struct tr_task_context *task)
{
    struct tr_bytes node = tr_json_get(tr_task_template(task)->node_extra, "taskNode");
    return tr_json_get(tr_json_get(node, "overrides"), "podTemplate");
}

struct tr_text tri_kubernetes_container(struct tr_task_context *task)
{
    const struct tr_bytes names[] = {
        tr_json_get(tr_task_template(task)->config, "primary_container"),
        tr_json_get(nodes_pod(task), "primaryContainerName"),
        tr_json_get(flytes_pod(task), "primaryContainerName"),
    };
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        if (tr_json_text(names[i]).size > 0) {
            return tr_json_text(names[i]);
        }
    }
    return tr_text_of(flytes_pod(task).size > 0 ? TR_POD_PRIMARY : TR_POD_CONTAINER);
}

void tri_kubernetes_metadata(struct tr_task_context *task, struct tr_bytes template,
                             const char *name,
                             struct tr_bytes layers[TRI_KUBERNETES_METADATA_LAYERS])
{
    layers[0] = tr_json_get(tr_json_get(template, "metadata"), name);
    layers[1] = tr_json_get(tr_json_get(flytes_pod(task), "metadata"), name);
    layers[2] = tr_json_get(tr_json_get(nodes_pod(task), "metadata"), name);
}

/* The image of a task of Flyte's, which its SDK looks for, too, where tasks decide a graph. */
static struct tr_text flytes_image(struct tr_task_context *task)
{
    const struct tr_task_template *template = tr_task_template(task);
    for (uint32_t i = 0; i < template->environment_count; i++) {
        const struct tr_environment *variable = &template->environment[i];
        if (tr_text_equal(variable->name, tr_text_of("FLYTE_INTERNAL_IMAGE"))) {
            return variable->value;
        }
    }
    return (struct tr_text){0};
}

/* ------------------------------------------------------------------------------ keys of ours */

static struct tr_text service_account(struct layers *layers, struct tr_bytes config, bool is_task)
{
    struct tr_text own = tr_json_text(tr_json_get(config, "service_account"));
    struct tr_bytes context = tr_json_get(tr_task_template(layers->task)->extra, "securityContext");
    struct tr_bytes flytes = tr_json_get(tr_json_get(context, "runAs"), "k8sServiceAccount");
    return own.size > 0 || !is_task ? own : tr_json_text(flytes);
}

/* What the plain keys of the settings, or of a task, say in Kubernetes' own words. */
static void lay_keys(struct layers *layers, struct tr_bytes config, bool is_task)
{
    struct tr_build build = tr_build_of_task(layers->task);
    struct tr_json_walk secrets = tr_json_walk(tr_json_get(config, "image_pull_secrets"));
    tr_build_map(&build);
    tr_build_member_list(&build, "containers");
    tr_build_map(&build);
    tr_build_member_text(&build, "name", layers->container);
    tr_build_member_text(&build, "image", tr_json_text(tr_json_get(config, "image")));
    tr_build_end(&build);
    tr_build_end(&build);
    tr_build_member_text(&build, "priorityClassName",
                         tr_json_text(tr_json_get(config, "priority_class")));
    tr_build_member_text(&build, "serviceAccountName", service_account(layers, config, is_task));
    if (secrets.left > 0) {
        tr_build_member_list(&build, "imagePullSecrets");
        while (tr_json_next(&secrets)) {
            tr_build_map(&build);
            tr_build_member_text(&build, "name", tr_json_text(secrets.value));
            tr_build_end(&build);
        }
        tr_build_end(&build);
    }
    tr_build_end(&build);
    lay_built(layers, &build);
}

/* -------------------------------------------------------------------------- where it may run */

static struct tr_text gpu_setting(const struct layers *layers, const char *key,
                                  const char *otherwise)
{
    struct tr_bytes gpu = tr_json_get(layers->endpoint->config, "gpu");
    struct tr_text said = tr_json_text(tr_json_get(gpu, key));
    return said.size > 0 ? said : tr_text_of(otherwise);
}

/* What a task says of its accelerator, in our words or in Flyte's. */
struct accelerator {
    struct tr_text device;
    struct tr_text partition;
    bool is_whole; /* one that is not divided */
};

static struct accelerator accelerator_of(struct tr_task_context *task)
{
    const struct tr_task_template *template = tr_task_template(task);
    struct tr_bytes node = tr_json_get(template->node_extra, "taskNode");
    struct tr_bytes own = tr_json_get(template->config, "accelerator");
    const struct tr_bytes all[] = {
        tr_json_get(tr_json_get(tr_json_get(node, "overrides"), "extendedResources"),
                    "gpuAccelerator"),
        tr_json_get(tr_json_get(template->extra, "extendedResources"), "gpuAccelerator")};
    struct tr_bytes flytes = all[0].size > 0 ? all[0] : all[1];
    bool is_own = own.size > 0;
    return (struct accelerator){
        .device = tr_json_text(tr_json_get(is_own ? own : flytes, "device")),
        .partition = tr_json_text(is_own ? tr_json_get(own, "partition")
                                         : tr_json_get(flytes, "partitionSize")),
        .is_whole = tr_json_bool(tr_json_get(is_own ? own : flytes, "unpartitioned"))};
}

/* {key, operator: Equal, value, effect: NoSchedule}: nodes of one kind are kept for it. */
static void add_toleration(struct tr_build *build, struct tr_text label, struct tr_text value)
{
    if (value.size > 0) {
        tr_build_map(build);
        tr_build_member_text(build, "key", label);
        tr_build_member_text(build, "operator", tr_text_of("Equal"));
        tr_build_member_text(build, "value", value);
        tr_build_member_text(build, "effect", tr_text_of("NoSchedule"));
        tr_build_end(build);
    }
}

/* affinity: no node that has this label. */
static void add_absence(struct tr_build *build, struct tr_text label)
{
    tr_build_member_map(build, "affinity");
    tr_build_member_map(build, "nodeAffinity");
    tr_build_member_map(build, "requiredDuringSchedulingIgnoredDuringExecution");
    tr_build_member_list(build, "nodeSelectorTerms");
    tr_build_map(build);
    tr_build_member_list(build, "matchExpressions");
    tr_build_map(build);
    tr_build_member_text(build, "key", label);
    tr_build_member_text(build, "operator", tr_text_of("DoesNotExist"));
    for (int i = 0; i < 7; i++) {
        tr_build_end(build);
    }
}

static void lay_accelerator(struct layers *layers)
{
    struct accelerator accelerator = accelerator_of(layers->task);
    struct tr_text device_label = gpu_setting(layers, "device_label", DEVICE_LABEL);
    struct tr_text partition_label = gpu_setting(layers, "partition_label", PARTITION_LABEL);
    const struct {
        struct tr_text label;
        struct tr_text value;
    } rows[] = {{device_label, accelerator.device}, {partition_label, accelerator.partition}};
    struct tr_build build = tr_build_of_task(layers->task);
    tr_build_map(&build);
    tr_build_member_map(&build, "nodeSelector");
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        if (rows[i].value.size > 0) {
            tr_build_name(&build, rows[i].label);
            tr_build_text(&build, rows[i].value);
        }
    }
    tr_build_end(&build);
    tr_build_member_list(&build, "tolerations");
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        add_toleration(&build, rows[i].label, rows[i].value);
    }
    tr_build_end(&build);
    if (accelerator.is_whole) {
        add_absence(&build, partition_label);
    }
    tr_build_end(&build);
    if (accelerator.device.size > 0 || accelerator.partition.size > 0 || accelerator.is_whole) {
        lay_built(layers, &build);
    }
}

static bool asks_for(struct tr_bytes spec, struct tr_text resource)
{
    static const char *const sides[] = {"requests", "limits"};
    struct tr_json_walk containers = tr_json_walk(tr_json_get(spec, "containers"));
    while (tr_json_next(&containers)) {
        for (size_t i = 0; i < TR_COUNT_OF(sides); i++) {
            struct tr_bytes resources = tr_json_get(containers.value, "resources");
            struct tr_json_walk amounts = tr_json_walk(tr_json_get(resources, sides[i]));
            while (tr_json_next(&amounts)) {
                if (tr_text_equal(amounts.name, resource)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* Nodes with what is rare are kept for who asks for it. */
static void lay_tolerations(struct layers *layers)
{
    struct tr_bytes settings = tr_json_get(layers->endpoint->config, "resource_tolerations");
    struct tr_json_walk walk = tr_json_walk(settings);
    while (layers->error == 0 && tr_json_next(&walk)) {
        if (asks_for(layers->spec, walk.name)) {
            struct tr_build build = tr_build_of_task(layers->task);
            tr_build_map(&build);
            tr_build_member_value(&build, "tolerations", walk.value);
            tr_build_end(&build);
            lay_built(layers, &build);
        }
    }
}

/* ----------------------------------------------------------------------------------- all of it */

/* Whether what lies below says how much the task's container takes. */
static bool has_amounts(const struct layers *layers)
{
    const struct tr_text names[] = {layers->container, tr_text_of(TR_POD_DEFAULT)};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        struct tr_bytes resources =
            tr_json_get(tri_pod_container(layers->spec, names[i]), "resources");
        if (tr_json_get(resources, "requests").size > 0 ||
            tr_json_get(resources, "limits").size > 0) {
            return true;
        }
    }
    return false;
}

bool tri_kubernetes_has_shell(const struct tr_task_template *template)
{
    struct tr_bytes shell = tr_json_get(template->config, "shell");
    return shell.size == 0 || tr_json_bool(shell);
}

struct tr_text tri_kubernetes_helper(struct tr_task_context *task,
                                     const struct tr_webapi_endpoint *endpoint)
{
    return tri_kubernetes_has_shell(tr_task_template(task))
               ? (struct tr_text){0}
               : tr_json_text(tr_json_get(endpoint->config, "helper_image"));
}

static void lay_own(struct layers *layers, const struct tri_pod *pod,
                    const struct tri_pod_inputs *inputs)
{
    struct tr_bytes image = tr_json_get(tr_task_template(layers->task)->config, "image");
    struct tr_text none = {0};
    const struct tri_pod_part part = {.container = layers->container,
                                      .image = image.size > 0 ? none : flytes_image(layers->task),
                                      .gpu = gpu_setting(layers, "resource", ""),
                                      .helper_image =
                                          tri_kubernetes_helper(layers->task, layers->endpoint),
                                      .has_amounts = has_amounts(layers),
                                      .tells_end = true};
    struct tr_bytes spec = {0};
    if (layers->error == 0) {
        layers->error = tri_pod_own(layers->task, pod, layers->endpoint, inputs, &part, &spec);
    }
    lay(layers, spec, false);
}

int tri_kubernetes_spec(struct tr_task_context *task, const struct tri_pod *pod,
                        const struct tr_webapi_endpoint *endpoint,
                        const struct tri_pod_inputs *inputs, struct tr_bytes template,
                        struct tr_bytes *spec)
{
    const struct tr_task_template *of = tr_task_template(task);
    struct layers layers = {
        .task = task, .endpoint = endpoint, .container = tri_kubernetes_container(task)};
    layers.error = tri_pod_begin(task, layers.container, &layers.spec);
    lay(&layers, tr_json_get(template, "spec"), true);
    lay_keys(&layers, endpoint->config, false);
    lay(&layers, tr_json_get(endpoint->config, "pod"), true);
    lay(&layers, tr_json_get(flytes_pod(task), "podSpec"), false);
    lay(&layers, tr_json_get(nodes_pod(task), "podSpec"), false);
    lay(&layers, tr_json_get(of->config, "pod"), false);
    lay_keys(&layers, of->config, true);
    lay_own(&layers, pod, inputs);
    lay_accelerator(&layers);
    lay_tolerations(&layers);
    if (of->is_interruptible && !pod->is_steady) {
        lay(&layers, tr_json_get(endpoint->config, "interruptible"), false);
    }
    if (layers.error == 0) {
        layers.error = tri_pod_settle(task, &layers.spec);
    }
    if (layers.error == 0) {
        *spec = layers.spec;
    }
    return layers.error;
}
