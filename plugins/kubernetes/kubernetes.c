/*
 * The Kubernetes plugin: a task is a pod of a cluster, made by its API server, and heard of by one
 * list and one watch for all that a store has made in a namespace.
 *
 * Its idempotency level is exact: a pod's name follows from the identity, and the API server makes
 * one of each. A request of unknown outcome is concluded by the watch, since its pod may have ended
 * and been deleted meanwhile.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <stdio.h>

#include "runtime/troupe.h"

#define NAMESPACE "default"

/* -------------------------------------------------------------------------------------- group */

static struct tr_text namespace_of(struct tr_task_context *task,
                                   const struct tr_webapi_endpoint *endpoint)
{
    struct tr_text namespace = tr_json_text(tri_pod_setting(task, endpoint, "namespace"));
    return namespace.size > 0 ? namespace : tr_text_of(NAMESPACE);
}

static int find_group(struct tr_task_context *task, const void *state,
                      const struct tr_webapi_endpoint *endpoint, struct tr_text *group)
{
    const struct tr_kubernetes_attempt *own = state;
    char mark[TR_POD_MARK_BYTES + 1];
    struct tr_text kept = tr_array_get(&own->job_set);
    if (kept.size > 0) {
        *group = kept;
        return 0;
    }
    struct tri_kubernetes_resource resource;
    struct tr_text problem;
    struct tr_text kind = {0};
    struct tr_text namespace = namespace_of(task, endpoint);
    if (tri_kubernetes_find_card(task, endpoint, &resource, &problem)) {
        kind = tri_kubernetes_kind_text(task, &resource);
    }
    tri_pod_mark(task, false, mark);
    struct tr_text words =
        tr_task_format(task, "%.*s%s%.*s/%016llx/%s", (int)namespace.size, namespace.data,
                       kind.size > 0 ? ":" : "", (int)kind.size, kind.size > 0 ? kind.data : "",
                       (unsigned long long)tr_task_identity(task)->store, mark);
    if (words.size == 0) {
        return TR_MEMORY;
    }
    *group = words;
    return 0;
}

/* The attempt, for the room of pods. */
static struct tri_pod pod_of(struct tr_task_context *task, struct tr_kubernetes_attempt *own,
                             const struct tr_webapi_endpoint *endpoint)
{
    struct tri_kubernetes_group parts;
    struct tr_text group = {0};
    struct tr_text front = tri_pod_front(task, TR_KUBERNETES_NAME_BYTES_MAX / 2);
    struct tr_text name = tr_task_generated_name(task);
    struct tri_pod pod = {.settings = TRI_KUBERNETES_SETTINGS,
                          .call = &own->call,
                          .reads_outputs = &own->reads_outputs,
                          .reads_futures = &own->reads_futures,
                          .reads = &own->reads,
                          .finds_image = true};
    if (find_group(task, own, endpoint, &group) == 0 && tri_kubernetes_group_read(group, &parts)) {
        pod.below =
            tr_task_format(task, "%.*s-%.*s/%.*s", (int)front.size, front.data,
                           (int)parts.mark.size, parts.mark.data, (int)name.size, name.data);
    }
    return pod;
}

/* ------------------------------------------------------------------------------------ the pod */

/*
 * Labels or annotations: what the PodTemplate, the endpoint, Flyte's task and the task's config
 * say, each over those before it, and ours over all of them.
 */
static int find_map(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
                    struct tr_bytes template, const char *name, struct tr_bytes ours,
                    struct tr_bytes *map)
{
    static const char *const paired[] = {NULL};
    struct tr_bytes flytes[TRI_KUBERNETES_METADATA_LAYERS];
    struct tr_bytes whole = ours;
    tri_kubernetes_metadata(task, template, name, flytes);
    const struct tr_bytes layers[] = {flytes[0],
                                      tr_json_get(endpoint->config, name),
                                      flytes[1],
                                      flytes[2],
                                      tr_json_get(tr_task_template(task)->config, name),
                                      ours};
    int error = 0;
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(layers); i++) {
        if (layers[i].size > 0) {
            struct tr_build laid = tr_build_of_task(task);
            tr_build_laid_over(&laid, whole, layers[i], paired);
            error = tr_build_take(&laid, &whole);
        }
    }
    *map = whole;
    return error;
}

static int build_texts(struct tr_task_context *task, const char *const (*rows)[2], size_t count,
                       struct tr_bytes *map)
{
    struct tr_build build = tr_build_of_task(task);
    tr_build_map(&build);
    for (size_t i = 0; i < count; i++) {
        tr_build_member_text(&build, rows[i][0], tr_text_of(rows[i][1]));
    }
    tr_build_end(&build);
    return tr_build_take(&build, map);
}

/* What a pod of ours is known by. */
static int build_marks(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
                       const struct tri_kubernetes_group *group, const char *name,
                       const char *container, struct tr_bytes *labels, struct tr_bytes *annotations)
{
    char place[TR_WEBAPI_ENDPOINT_BYTES_MAX + 1];
    char store[TR_WEBAPI_JOB_SET_BYTES_MAX + 1];
    char mark[TR_POD_MARK_BYTES + 1];
    char identity[TR_WEBAPI_JOB_SET_BYTES_MAX + 1];
    char namespace[TR_KUBERNETES_NAMESPACE_BYTES_MAX + 1];
    struct tr_text attempt = tr_task_generated_name(task);
    (void)snprintf(store, sizeof store, "%.*s", (int)group->store.size, group->store.data);
    (void)snprintf(identity, sizeof identity, "%.*s", (int)attempt.size, attempt.data);
    (void)snprintf(namespace, sizeof namespace, "%.*s", (int)group->namespace.size,
                   group->namespace.data);
    tri_kubernetes_mark(group->store, attempt, mark);
    const char *const label_rows[][2] = {{TRI_KUBERNETES_STORE_LABEL, store},
                                         {TRI_KUBERNETES_MARK_LABEL, mark},
                                         {TRI_KUBERNETES_ATTEMPT_LABEL, identity}};
    (void)snprintf(place, sizeof place, "%.*s", (int)endpoint->name.size, endpoint->name.data);
    const char *const annotation_rows[][2] = {{TRI_KUBERNETES_NAME_ANNOTATION, name},
                                              {TRI_KUBERNETES_NAMESPACE_ANNOTATION, namespace},
                                              {TRI_KUBERNETES_ENDPOINT_ANNOTATION, place},
                                              {TRI_KUBERNETES_CONTAINER_ANNOTATION, container}};
    int error = build_texts(task, label_rows, TR_COUNT_OF(label_rows), labels);
    return error != 0
               ? error
               : build_texts(task, annotation_rows, TR_COUNT_OF(annotation_rows), annotations);
}

/* The name of the task's container where it is not alone, so that its end counts; or "". */
static void find_primary(struct tr_task_context *task, struct tr_bytes spec,
                         char name[TR_KUBERNETES_NAME_BYTES_MAX + 1])
{
    struct tr_json_walk walk = tr_json_walk(tr_json_get(spec, "containers"));
    struct tr_text container = tri_kubernetes_container(task);
    unsigned count = tr_json_get(spec, "initContainers").size > 0 ? 1 : 0;
    while (tr_json_next(&walk)) {
        count++;
    }
    (void)snprintf(name, TR_KUBERNETES_NAME_BYTES_MAX + 1, "%.*s",
                   count > 1 ? (int)container.size : 0, container.data);
}

/* What a pod or a resource is known by, with what users say beside it. */
static int find_metadata(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
                         const struct tri_kubernetes_group *group, struct tr_bytes template,
                         const char *container, char name[TR_KUBERNETES_NAME_BYTES_MAX + 1],
                         struct tr_bytes *labels, struct tr_bytes *annotations)
{
    struct tr_bytes ours = {0};
    struct tr_bytes others = {0};
    tri_kubernetes_name_in(group, tr_task_generated_name(task), name);
    int error = build_marks(task, endpoint, group, name, container, &ours, &others);
    if (error == 0) {
        error = find_map(task, endpoint, template, "labels", ours, labels);
    }
    return error != 0 ? error
                      : find_map(task, endpoint, template, "annotations", others, annotations);
}

/* What a job is made from. */
struct sources {
    const struct tri_pod *pod;
    const struct tr_webapi_endpoint *endpoint;
    const struct tri_kubernetes_group *group;
    const struct tri_pod_inputs *inputs;
    struct tr_bytes template;
    bool is_finalized;
};

static int build_pod(struct tr_task_context *task, const struct sources *sources,
                     struct tr_bytes spec, struct tr_bytes *pod)
{
    char name[TR_KUBERNETES_NAME_BYTES_MAX + 1];
    char primary[TR_KUBERNETES_NAME_BYTES_MAX + 1];
    struct tr_bytes labels = {0};
    struct tr_bytes annotations = {0};
    find_primary(task, spec, primary);
    int error = find_metadata(task, sources->endpoint, sources->group, sources->template, primary,
                              name, &labels, &annotations);
    if (error != 0) {
        return error;
    }
    struct tr_build build = tr_build_of_task(task);
    tr_build_map(&build);
    tr_build_member_text(&build, "kind", tr_text_of("Pod"));
    tr_build_member_text(&build, "apiVersion", tr_text_of("v1"));
    tr_build_member_map(&build, "metadata");
    tr_build_member_text(&build, "name", tr_text_of(name));
    tr_build_member_value(&build, "labels", labels);
    tr_build_member_value(&build, "annotations", annotations);
    if (sources->is_finalized) {
        tr_build_member_list(&build, "finalizers");
        tr_build_text(&build, tr_text_of(TRI_KUBERNETES_FINALIZER));
        tr_build_end(&build);
    }
    tr_build_end(&build);
    tr_build_member_value(&build, "spec", spec);
    tr_build_end(&build);
    return tr_build_take(&build, pod);
}

/* ------------------------------------------------------------------------------------ prepare */

static int refuse(struct tr_transition *transition, struct tr_text words)
{
    return tr_task_refuse(transition, tr_text_of("BadTaskSpecification"), words);
}

/* From now on its group is that of this store and of the settings as they are. */
static int keep_group(struct tr_kubernetes_attempt *own, struct tr_text group)
{
    return own->job_set.size == 0 ? tr_array_set(&own->job_set, group) : 0;
}

static int build_resource(struct tr_task_context *task, const struct sources *sources,
                          const struct tri_kubernetes_resource *resource, struct tr_bytes spec,
                          struct tr_bytes *body, struct tr_text *problem)
{
    char name[TR_KUBERNETES_NAME_BYTES_MAX + 1];
    struct tri_pod steady = *sources->pod;
    struct tri_kubernetes_making making = {.pod = sources->pod,
                                           .endpoint = sources->endpoint,
                                           .group = sources->group,
                                           .name = name,
                                           .spec = spec,
                                           .steady_spec = spec};
    steady.is_steady = true;
    int error = find_metadata(task, sources->endpoint, sources->group, sources->template, "", name,
                              &making.labels, &making.annotations);
    if (error == 0 && tr_task_template(task)->is_interruptible) {
        error = tri_kubernetes_spec(task, &steady, sources->endpoint, sources->inputs,
                                    sources->template, &making.steady_spec);
    }
    return error != 0 ? error
                      : tri_kubernetes_make_resource(task, resource, &making, body, problem);
}

static int build_job(struct tr_task_context *task, const struct sources *sources,
                     struct tr_webapi_job *job, struct tr_transition *transition)
{
    struct tri_kubernetes_resource resource;
    struct tr_bytes spec = {0};
    struct tr_text problem;
    bool is_resource = tri_kubernetes_find_card(task, sources->endpoint, &resource, &problem);
    if (problem.size > 0) {
        return refuse(transition, problem);
    }
    int error = tri_kubernetes_spec(task, sources->pod, sources->endpoint, sources->inputs,
                                    sources->template, &spec);
    struct tr_bytes container = tri_pod_container(spec, tri_kubernetes_container(task));
    bool has_image = tr_json_text(tr_json_get(container, "image")).size > 0 ||
                     (is_resource && resource.manifest.size > 0);
    if (error == 0 && !has_image) {
        return refuse(transition, tri_pod_no_image(task, sources->pod));
    }
    if (error == 0) {
        error = is_resource ? build_resource(task, sources, &resource, spec, &job->body, &problem)
                            : build_pod(task, sources, spec, &job->body);
    }
    if (error == TR_LIMIT || error == TR_INVALID) {
        const char *words = error == TR_LIMIT
                                ? "its pod is larger, or nested deeper, than a job may be"
                                : "a word of `run` or the environment is no UTF-8";
        return refuse(transition, problem.size > 0 ? problem : tr_text_of(words));
    }
    job->is_ready = error == 0;
    return error;
}

/*
 * Where its log is asked for while it is there (deploy/pod_logs/): by the pod's name, or by the
 * label of those that an operator makes.
 */
static int name_pod(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
                    const struct tri_kubernetes_group *group)
{
    char name[TR_WEBAPI_JOB_SET_BYTES_MAX + 1];
    struct tr_text attempt = tr_task_generated_name(task);
    if (group->kind.size == 0) {
        tri_kubernetes_name(group->store, attempt, name);
    } else {
        (void)snprintf(name, sizeof name, "@%.*s", (int)attempt.size, attempt.data);
    }
    return tr_task_log(task, tr_text_of("pod"),
                       tr_task_format(task, "kubernetes:%.*s/%.*s/%s", (int)endpoint->name.size,
                                      endpoint->name.data, (int)group->namespace.size,
                                      group->namespace.data, name));
}

/* As the settings are when its pod is first made; not of what an operator looks after. */
static void note_finalizer(struct tr_task_context *task, struct tr_kubernetes_attempt *own,
                           const struct tr_webapi_endpoint *endpoint,
                           const struct tri_kubernetes_group *group)
{
    bool is_new = own->job_set.size == 0 && group->kind.size == 0;
    if (is_new && tri_kubernetes_wants_finalizer(task, endpoint)) {
        own->finalizer = TRI_KUBERNETES_FINALIZED;
    }
}

static int make_job(struct tr_task_context *task, struct tr_kubernetes_attempt *own,
                    const struct tr_webapi_endpoint *endpoint, const struct tri_pod_inputs *inputs,
                    struct tr_bytes template, struct tr_webapi_job *job,
                    struct tr_transition *transition)
{
    struct tri_pod pod = pod_of(task, own, endpoint);
    struct tri_kubernetes_group parts;
    struct tr_text group = {0};
    struct tr_text missing = tri_pod_missing(task, &pod, endpoint, inputs);
    bool has_shell = tri_kubernetes_has_shell(tr_task_template(task));
    if (!has_shell && tri_kubernetes_helper(task, endpoint).size == 0) {
        missing = tr_text_of("config.shell is false, which takes an image with a shell beside it: "
                             "write " TRI_KUBERNETES_SETTINGS ".helper_image into the settings");
    }
    if (missing.size > 0) {
        return refuse(transition, missing);
    }
    int error = find_group(task, own, endpoint, &group);
    if (error == 0 && group.size > TR_WEBAPI_JOB_SET_BYTES_MAX) {
        return refuse(transition, tr_text_of("its namespace, and the kind of its resource with "
                                             "version and group, are too long together"));
    }
    if (error == 0 && !tri_kubernetes_group_read(group, &parts)) {
        return TR_INVALID;
    }
    if (error == 0) {
        note_finalizer(task, own, endpoint, &parts);
        const struct sources sources = {.pod = &pod,
                                        .endpoint = endpoint,
                                        .group = &parts,
                                        .inputs = inputs,
                                        .template = template,
                                        .is_finalized = tri_kubernetes_is_finalized(own)};
        error = build_job(task, &sources, job, transition);
    }
    if (error != 0 || !job->is_ready) {
        return error;
    }
    size_t share_bytes = tri_pod_share(endpoint).size;
    if ((share_bytes == 0 || !has_shell) && own->job_set.size == 0) {
        error = name_pod(task, endpoint, &parts);
    }
    if (error == 0 || error == TR_LIMIT) {
        error = keep_group(own, group);
    }
    if (error == 0 && share_bytes > 0) {
        error = tr_task_shared_folder(task, tri_pod_folder(task, &pod, endpoint), share_bytes);
    }
    return error == TR_LIMIT ? 0 : error; /* too long to be shown, and to name files in */
}

/* Its inputs are there, or written: what is left to know is the PodTemplate. */
static int ask_template(struct tr_task_context *task, struct tr_kubernetes_attempt *own,
                        const struct tr_webapi_endpoint *endpoint, struct tr_text name,
                        struct tr_transition *transition)
{
    struct tri_kubernetes_group parts;
    struct tr_text group = {0};
    int error = find_group(task, own, endpoint, &group);
    if (error == 0 && !tri_kubernetes_group_read(group, &parts)) {
        return TR_INVALID;
    }
    own->asks_template = true;
    if (error == 0) {
        error = tri_kubernetes_ask_template(task, endpoint, parts.namespace, name, own);
    }
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_INITIALIZING,
                                   tr_task_format(task, "PodTemplate %.*s is asked for",
                                                  (int)name.size, name.data));
}

/* The inputs as they were found before the PodTemplate was asked for. */
static int find_inputs_again(struct tr_task_context *task, const struct tr_kubernetes_attempt *own,
                             struct tri_pod_inputs *inputs)
{
    if (tri_pod_has_flyte(task)) {
        inputs->document = tr_array_get(&own->inputs);
        return 0;
    }
    inputs->path = tr_array_get(&own->inputs);
    return inputs->path.size > 0 ? 0 : tr_task_inputs_json(task, &inputs->json);
}

static int on_template(struct tr_task_context *task, struct tr_kubernetes_attempt *own,
                       const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                       struct tr_text name, struct tr_webapi_job *job,
                       struct tr_transition *transition)
{
    struct tri_pod_inputs inputs = {0};
    struct tr_bytes template = {0};
    bool is_lost = event->error == TR_NO_CONNECTION || event->error == TR_CLOSED;
    if (is_lost || tri_kubernetes_is_template_again(event)) {
        return ask_template(task, own, endpoint, name, transition);
    }
    if (event->call != own->call) {
        return 0;
    }
    int error = tri_kubernetes_read_template(task, own, event, name, &template, transition);
    if (error != 0 || template.size == 0) {
        return error;
    }
    own->asks_template = false;
    own->reads = 0;
    error = find_inputs_again(task, own, &inputs);
    return error != 0 ? error : make_job(task, own, endpoint, &inputs, template, job, transition);
}

static int prepare(struct tr_task_context *task, void *state,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_webapi_job *job, struct tr_transition *transition)
{
    struct tr_kubernetes_attempt *own = state;
    struct tri_pod pod = pod_of(task, own, endpoint);
    struct tri_pod_inputs inputs = {0};
    struct tr_text template = tri_kubernetes_template_name(task, endpoint);
    bool is_ready = false;
    if (own->asks_template && event->kind != TR_TASK_START) {
        return on_template(task, own, endpoint, event, template, job, transition);
    }
    own->asks_template = false;
    int error = tri_pod_find_inputs(task, &pod, endpoint, event, &inputs, &is_ready, transition);
    if (error != 0 || !is_ready) {
        return error;
    }
    if (template.size == 0) {
        return make_job(task, own, endpoint, &inputs, (struct tr_bytes){0}, job, transition);
    }
    error = tr_array_set(&own->inputs, inputs.document.size > 0 ? inputs.document : inputs.path);
    return error != 0 ? error : ask_template(task, own, endpoint, template, transition);
}

/* --------------------------------------------------------------------------- what it has left */

/* Lets its pod go, of which everything was heard that there is to hear. */
static int release(struct tr_task_context *task, struct tr_kubernetes_attempt *own,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   bool is_last, struct tr_text *words)
{
    struct tri_kubernetes_group parts;
    struct tr_text group = {0};
    int error = find_group(task, own, endpoint, &group);
    if (error != 0 || !tri_kubernetes_group_read(group, &parts)) {
        return error != 0 ? error : TR_INVALID;
    }
    return tri_kubernetes_release(task, endpoint, &parts, own, event, is_last, words);
}

static int outcome(struct tr_task_context *task, void *state,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_transition *transition)
{
    static const struct tr_task_event first = {.kind = TR_TASK_NEWS};
    struct tr_kubernetes_attempt *own = state;
    struct tr_text words;
    if (tri_kubernetes_is_finalized(own)) {
        int error = release(task, own, endpoint, event, false, &words);
        if (error != 0 || tri_kubernetes_is_finalized(own)) {
            transition->version++;
            return error != 0 ? error : tr_task_is(transition, TR_TASK_PHASE_RUNNING, words);
        }
        event = &first; /* and now what the news of its end begin */
    }
    struct tri_pod pod = pod_of(task, state, endpoint);
    /* It may have done its work before: what it has left says so. */
    pod.is_deleted = tr_text_equal(transition->code, tr_text_of("ResourceDeletedExternally"));
    return tri_pod_outcome(task, &pod, endpoint, event, transition);
}

/*
 * What runs is ended first, and its pod let go then: a pod that is gone, or was never made, answers
 * that at once. While it is being ended `stage` says so, and events are the framework's.
 */
static int abort_pod(struct tr_task_context *task, void *state, bool is_hard,
                     const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_kubernetes_attempt *own = state;
    struct tr_transition before = *transition;
    struct tr_text words;
    bool is_releasing = own->finalizer == TRI_KUBERNETES_RELEASING &&
                        own->stage != TR_WEBAPI_STAGE_CANCELLING && event->kind != TR_TASK_START;
    int error = is_releasing ? 0 : tr_webapi_abort(task, state, is_hard, event, transition);
    bool has_ended = is_releasing || transition->phase == TR_TASK_PHASE_ABORTED;
    const struct tr_webapi_endpoint *endpoint =
        tr_task_endpoint(task, tr_array_get(&own->endpoint));
    if (error != 0 || !has_ended || !tri_kubernetes_is_finalized(own) || endpoint == NULL) {
        return error;
    }
    own->finalizer = is_releasing ? TRI_KUBERNETES_RELEASING : TRI_KUBERNETES_FINALIZED;
    *transition = before;
    error = release(task, own, endpoint, event, is_hard, &words);
    return error != 0 || tri_kubernetes_is_finalized(own) ? error : tr_task_aborted(transition);
}

static int finalize(struct tr_task_context *task, void *state, uint8_t phase)
{
    struct tr_kubernetes_attempt *own = state;
    const struct tr_webapi_endpoint *endpoint =
        tr_task_endpoint(task, tr_array_get(&own->endpoint));
    int error = tr_webapi_finalize(task, state, phase);
    bool is_cleaned = error == 0 && phase == TR_TASK_PHASE_SUCCESS && endpoint != NULL &&
                      tri_pod_share(endpoint).size > 0;
    if (!is_cleaned) {
        return error;
    }
    struct tri_pod pod = pod_of(task, own, endpoint);
    return tri_pod_clean(task, &pod, endpoint);
}

/* ---------------------------------------------------------------------------------- the shape */

/* What means more, or less, than its status says is read (kubernetes_call.c). */
static const struct tr_webapi_rule rules[] = {
    {TR_WEBAPI_VERB_CREATE, 400, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_CREATE, 403, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_CREATE, 404, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_CREATE, 409, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_CREATE, 413, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_CREATE, 422, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_CREATE, 500, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_STATUS, 404, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_CANCEL, 403, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_CANCEL, 404, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_CANCEL, 409, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_STREAM, 410, TR_WEBAPI_RESPONSE_REFUSED},
};

static const struct tr_webapi_watch watch = {
    .silence_ms = TR_KUBERNETES_SILENCE_MS,
    .removes = true,
    .scope = tri_kubernetes_scope,
    .write_list = tri_kubernetes_write_list,
    .item = tri_kubernetes_item,
    .rest = tri_kubernetes_rest,
    .keep_ms = tri_kubernetes_keep_ms,
    .beside = tri_kubernetes_beside,
    .write_begin = tri_kubernetes_write_begin,
};

static const struct tr_webapi shape = {
    .idempotency = TR_WEBAPI_IDEMPOTENCY_EXACT,
    .lag_ms = TR_KUBERNETES_LAG_MS,
    .rules = rules,
    .rule_count = TR_COUNT_OF(rules),
    .check_endpoint = tri_kubernetes_check_endpoint,
    .job_set = find_group,
    .prepare = prepare,
    .outcome = outcome,
    .create = {1, tri_kubernetes_write_create, tri_kubernetes_read_create},
    .status = {1, tri_kubernetes_write_status, tri_kubernetes_read_status},
    .cancel = {TR_KUBERNETES_DELETE_ITEMS_MAX, tri_kubernetes_write_cancel,
               tri_kubernetes_read_cancel},
    .stream = {.write = tri_kubernetes_write_watch, .line = tri_kubernetes_line, .gone = 410},
    .watch = &watch,
    .rates = {.calls_per_second = TR_KUBERNETES_CALLS_PER_SECOND,
              .calls_at_once = TR_KUBERNETES_CALLS_AT_ONCE},
    .takes_kubeconfig = true,
};

static const char *const task_types[] = {"kubernetes", "resource", NULL};

const struct tr_plugin tr_kubernetes_plugin = {
    .abi = TR_PLUGIN_ABI,
    .id = "kubernetes",
    .task_types = task_types,
    .shares_files = true, /* the share is mounted here, too */
    .has_documents = true,
    .state = &tr_kubernetes_attempt_schema,
    .check = tri_kubernetes_check,
    .handle = tr_webapi_handle,
    .abort = abort_pod,
    .finalize = finalize,
    .webapi = &shape,
};
