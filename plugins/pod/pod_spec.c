/*
 * The pod of a task: its command, which runs behind a few lines of shell (pod_shell.c), what a
 * process of this machine would find, and what settings and the task's own `pod` lay over it.
 */
#include "plugins/pod/pod.h"

#define SECRETS_FOLDER "/run/secrets/troupe"

/* Where a task says nothing: quotas and Armada want of every container how much it takes. */
#define CPU_MILLIS 1000
#define MEMORY_BYTES (UINT64_C(1) << 30)

/* How flytekit's programs begin. */
#define FLYTEKIT "pyflyte-"

/* ACCESS:SECRET[:TOKEN] as Amazon's libraries look for it. */
#define SPLITS                                                                       \
    "k=${TROUPE_STORE_KEY#*:};export AWS_ACCESS_KEY_ID=\"${TROUPE_STORE_KEY%%:*}\" " \
    "AWS_SECRET_ACCESS_KEY=\"${k%%:*}\";[ \"$k\" = \"${k%%:*}\" ]||export "          \
    "AWS_SESSION_TOKEN=\"${k#*:}\";unset TROUPE_STORE_KEY;exec \"$@\""

/* ------------------------------------------------------------------------- what it is told */

/*
 * Kubernetes puts variables in the place of $(NAME), and $ in the place of $$: what stands in a
 * text as it is has to be protected from both.
 */
static struct tr_text literal(struct tr_task_context *task, struct tr_text text)
{
    char *copy = tr_task_scratch(task, 2 * text.size + 1);
    size_t size = 0;
    if (copy == NULL) {
        return (struct tr_text){0};
    }
    for (size_t i = 0; i < text.size; i++) {
        bool is_read = i + 1 < text.size && (text.data[i + 1] == '(' || text.data[i + 1] == '$');
        copy[size++] = text.data[i];
        if (text.data[i] == '$' && is_read) {
            copy[size++] = '$';
        }
    }
    return (struct tr_text){.data = copy, .size = size};
}

static void add_variable(struct tr_build *build, struct tr_task_context *task, struct tr_text name,
                         struct tr_text value)
{
    tr_build_map(build);
    tr_build_member_text(build, "name", name);
    tr_build_name(build, tr_text_of("value"));
    tr_build_text(build, literal(task, value));
    tr_build_end(build);
}

/* Whether the task's own environment says it. */
static bool is_overridden(const struct tr_task_template *template, struct tr_text name)
{
    for (uint32_t i = 0; i < template->environment_count; i++) {
        if (tr_text_equal(template->environment[i].name, name)) {
            return true;
        }
    }
    return false;
}

static void add_own(struct tr_build *build, struct tr_task_context *task, const char *name,
                    struct tr_text value)
{
    if (value.size > 0 && !is_overridden(tr_task_template(task), tr_text_of(name))) {
        add_variable(build, task, tr_text_of(name), value);
    }
}

struct tr_text tri_pod_checkpoint(struct tr_task_context *task, struct tr_text folder)
{
    const struct tr_task_identity *identity = tr_task_identity(task);
    const char *slash = memrchr(folder.data, '/', folder.size);
    size_t size = slash == NULL ? folder.size : (size_t)(slash - folder.data);
    return identity->element == UINT64_MAX
               ? tr_task_format(task, "%.*s/checkpoint", (int)size, folder.data)
               : tr_task_format(task, "%.*s/checkpoint-%llu", (int)size, folder.data,
                                (unsigned long long)identity->element);
}

/* The environment of a container of Flyte's as it grows. */
struct adding {
    struct tr_build *build;
    struct tr_task_context *task;
};

static void add_flytes(void *self, const char *name, struct tr_text value)
{
    struct adding *adding = self;
    add_own(adding->build, adding->task, name, value);
}

/* A task without a command has no shell to put these together from the folder. */
static void add_paths(struct tr_build *build, struct tr_task_context *task, struct tr_text folder,
                      const struct tri_pod_inputs *inputs, bool is_shared)
{
    const struct {
        const char *name;
        const char *below;
        bool is_wanted;
    } paths[] = {{"TROUPE_TMP", "tmp", true},
                 {"TROUPE_INPUTS", "inputs.json", inputs->path.size == 0},
                 {"TROUPE_OUTPUTS", "outputs.json", true},
                 {"TROUPE_ERROR", "error.json", true},
                 {"TROUPE_PROGRESS", "progress", is_shared}};
    for (size_t i = 0; i < TR_COUNT_OF(paths); i++) {
        if (paths[i].is_wanted) {
            add_own(build, task, paths[i].name,
                    tr_task_format(task, "%.*s/%s", (int)folder.size, folder.data, paths[i].below));
        }
    }
}

static struct tr_text execution_name(const struct tr_task_identity *identity)
{
    struct tr_text name = identity->execution;
    const char *slash = name.size == 0 ? NULL : memrchr(name.data, '/', name.size);
    size_t skipped = slash == NULL ? 0 : (size_t)(slash - name.data) + 1;
    return (struct tr_text){.data = name.data + skipped, .size = name.size - skipped};
}

/* A secret is Kubernetes' own: its group is the name of a Secret there, its key a key of it. */
static void add_secret_variable(struct tr_build *build, struct tr_text name, struct tr_text group,
                                struct tr_text key)
{
    tr_build_map(build);
    tr_build_member_text(build, "name", name);
    tr_build_member_map(build, "valueFrom");
    tr_build_member_map(build, "secretKeyRef");
    tr_build_member_text(build, "name", group);
    tr_build_member_text(build, "key", key);
    tr_build_end(build);
    tr_build_end(build);
    tr_build_end(build);
}

/* Where its documents belong in the end, where that is an object store. */
static void add_objects(struct tr_build *build, struct tr_task_context *task,
                        const struct tri_pod *own, const struct tr_webapi_endpoint *endpoint)
{
    struct tri_pod_objects objects = tri_pod_objects(task, endpoint);
    add_own(build, task, "TROUPE_OUTPUTS_URI", tri_pod_object(task, own, endpoint, "outputs.json"));
    add_own(build, task, "TROUPE_ERROR_URI", tri_pod_object(task, own, endpoint, "error.json"));
    if (objects.url.size > 0 && objects.key.size > 0) {
        add_secret_variable(build, tr_text_of("TROUPE_STORE_KEY"), objects.group, objects.key);
    }
}

/* What every task is told about itself; examples/README.md lists the variables. */
static void add_identity(struct tr_build *build, struct tr_task_context *task,
                         struct tr_text folder, const struct tri_pod_inputs *inputs)
{
    const struct tr_task_identity *identity = tr_task_identity(task);
    add_own(build, task, "TROUPE_FOLDER", tr_task_template(task)->folder);
    add_own(build, task, "TROUPE_EXECUTION", execution_name(identity));
    add_own(build, task, "TROUPE_NODE", identity->path);
    add_own(build, task, "TROUPE_ATTEMPT", tr_task_format(task, "%u", identity->attempt));
    if (identity->element != UINT64_MAX) {
        add_own(build, task, "TROUPE_ELEMENT",
                tr_task_format(task, "%llu", (unsigned long long)identity->element));
    }
    if (folder.size > 0) {
        add_own(build, task, "TROUPE_CHECKPOINT", tri_pod_checkpoint(task, folder));
    }
    add_own(build, task, "TROUPE_INPUTS", inputs->path);
    add_own(build, task, "TROUPE_JSON", inputs->json);
    add_own(build, task, "TROUPE_DOCUMENT", inputs->document);
}

static void add_secret(struct tr_build *build, struct tr_task_context *task,
                       const struct tr_secret *secret, uint32_t number)
{
    if (secret->is_file) {
        add_variable(build, task, secret->name,
                     tr_task_format(task, SECRETS_FOLDER "/%u/%.*s", number, (int)secret->key.size,
                                    secret->key.data));
        return;
    }
    add_secret_variable(build, secret->name, secret->group, secret->key);
}

void tri_pod_add_environment(struct tr_build *build, struct tr_task_context *task,
                             const struct tri_pod *own, const struct tr_webapi_endpoint *endpoint,
                             const struct tri_pod_inputs *inputs, enum tri_pod_role role)
{
    const struct tr_task_template *template = tr_task_template(task);
    bool is_direct = tri_pod_is_direct(task, endpoint);
    struct tr_text none = {0};
    struct tr_text folder = is_direct ? none : tri_pod_folder(task, own, endpoint);
    bool has_paths = (role != TRI_POD_SHELL || template->argc == 0) && !is_direct;
    bool is_task = role != TRI_POD_HELPER;
    struct adding adding = {.build = build, .task = task};
    tr_build_member_list(build, "env");
    add_identity(build, task, folder, inputs);
    if (has_paths) {
        add_paths(build, task, folder, inputs, tri_pod_share(endpoint).size > 0);
    }
    if (role != TRI_POD_BARE) {
        add_objects(build, task, own, endpoint);
    }
    if (is_task && tri_pod_has_flyte(task)) {
        tri_pod_each_flyte_variable(task, endpoint, add_flytes, &adding);
    }
    for (uint32_t i = 0; is_task && i < template->environment_count; i++) {
        const struct tr_environment *variable = &template->environment[i];
        if (tri_pod_has_variable(variable, endpoint)) {
            add_variable(build, task, variable->name,
                         tri_pod_text(task, own, endpoint, variable->value));
        }
    }
    for (uint32_t i = 0; is_task && i < template->secret_count; i++) {
        add_secret(build, task, &template->secrets[i], i);
    }
    tr_build_end(build);
}

/* --------------------------------------------------------------------------- what it runs */

static void add_argv(struct tr_build *build, struct tr_task_context *task,
                     const struct tri_pod *own, const struct tr_webapi_endpoint *endpoint,
                     const char *name)
{
    const struct tr_task_template *template = tr_task_template(task);
    if (template->argc > 0) {
        tr_build_member_list(build, name);
        for (uint32_t i = 0; i < template->argc; i++) {
            tr_build_text(build,
                          literal(task, tri_pod_text(task, own, endpoint, template->argv[i])));
        }
        tr_build_end(build);
    }
}

/*
 * The words of a task that reads and writes Flyte's documents by itself. flytekit's are arguments,
 * as an image may have a program that runs them. The key of the object store, where settings name
 * one, is taken apart for those who look for it.
 */
static void add_direct_words(struct tr_build *build, struct tr_task_context *task,
                             const struct tri_pod *own, const struct tr_webapi_endpoint *endpoint)
{
    const struct tr_task_template *template = tr_task_template(task);
    size_t size = sizeof FLYTEKIT - 1;
    bool is_flytekits = template->argc > 0 && template->argv[0].size > size &&
                        memcmp(template->argv[0].data, FLYTEKIT, size) == 0;
    bool has_key = template->argc > 0 && tri_pod_objects(task, endpoint).key.size > 0;
    if (has_key) {
        tr_build_member_list(build, "command");
        tr_build_text(build, tr_text_of("/bin/sh"));
        tr_build_text(build, tr_text_of("-c"));
        tr_build_text(build, tr_text_of(SPLITS));
        tr_build_text(build, tr_text_of("sh"));
        tr_build_end(build);
    }
    add_argv(build, task, own, endpoint, has_key || is_flytekits ? "args" : "command");
}

/* The words as they are, where no shell is: the first is a program of the image. */
static void add_bare_words(struct tr_build *build, struct tr_task_context *task,
                           const struct tri_pod *own, const struct tr_webapi_endpoint *endpoint,
                           struct tr_text folder)
{
    add_argv(build, task, own, endpoint, "command");
    tr_build_member_text(build, "workingDir",
                         tr_task_format(task, "%.*s/work", (int)folder.size, folder.data));
}

static void add_words(struct tr_build *build, struct tr_task_context *task,
                      const struct tri_pod *own, const struct tr_webapi_endpoint *endpoint,
                      struct tr_text folder)
{
    const struct tr_task_template *template = tr_task_template(task);
    if (template->argc == 0) {
        return;
    }
    tr_build_member_list(build, "command");
    tr_build_text(build, tr_text_of("/bin/sh"));
    tr_build_text(build, tr_text_of("-c"));
    tr_build_text(build, tri_pod_shell(task, endpoint));
    tr_build_text(build, literal(task, folder));
    tr_build_end(build);
    add_argv(build, task, own, endpoint, "args");
}

static struct tr_text cpu_words(struct tr_task_context *task, uint64_t millis)
{
    return millis % 1000 == 0 ? tr_task_format(task, "%llu", (unsigned long long)millis / 1000)
                              : tr_task_format(task, "%llum", (unsigned long long)millis);
}

/* What is asked for; and of cpu and memory something in any case, unless others say it. */
static void add_amounts(struct tr_build *build, struct tr_task_context *task, const char *name,
                        const struct tri_pod_part *part)
{
    bool has_amounts = part->has_amounts;
    const struct tr_resources *asked = &tr_task_template(task)->resources;
    uint64_t cpu = asked->cpu_millis == 0 && !has_amounts ? CPU_MILLIS : asked->cpu_millis;
    uint64_t memory = asked->memory_bytes == 0 && !has_amounts ? MEMORY_BYTES : asked->memory_bytes;
    tr_build_member_map(build, name);
    if (cpu > 0) {
        tr_build_member_text(build, "cpu", cpu_words(task, cpu));
    }
    if (memory > 0) {
        memory = memory < TR_POD_MEMORY_BYTES_MIN ? TR_POD_MEMORY_BYTES_MIN : memory;
        tr_build_member_text(build, "memory",
                             tr_task_format(task, "%llu", (unsigned long long)memory));
    }
    if (asked->gpu_count > 0) {
        tr_build_name(build, part->gpu.size > 0 ? part->gpu : tr_text_of("nvidia.com/gpu"));
        tr_build_text(build, tr_task_format(task, "%llu", (unsigned long long)asked->gpu_count));
    }
    if (asked->ephemeral_storage_bytes > 0) {
        tr_build_member_text(
            build, "ephemeral-storage",
            tr_task_format(task, "%llu", (unsigned long long)asked->ephemeral_storage_bytes));
    }
    tr_build_end(build);
}

/* Armada takes only limits that are what is requested; such pods are the last to be evicted. */
static void add_resources(struct tr_build *build, struct tr_task_context *task,
                          const struct tri_pod_part *part)
{
    tr_build_member_map(build, "resources");
    add_amounts(build, task, "requests", part);
    add_amounts(build, task, "limits", part);
    tr_build_end(build);
}

/* --------------------------------------------------------------------------------- volumes */

static uint32_t file_secrets(const struct tr_task_template *template)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < template->secret_count; i++) {
        count += template->secrets[i].is_file ? 1 : 0;
    }
    return count;
}

void tri_pod_add_mount(struct tr_build *build, struct tr_text name, struct tr_text path,
                       bool is_read_only)
{
    tr_build_map(build);
    tr_build_member_text(build, "name", name);
    tr_build_member_text(build, "mountPath", path);
    if (is_read_only) {
        tr_build_member_bool(build, "readOnly", true);
    }
    tr_build_end(build);
}

/* With helpers and without a share they and the task have a folder of the pod's own in common. */
static void add_mounts(struct tr_build *build, struct tr_task_context *task, struct tr_text share,
                       bool has_helpers)
{
    const struct tr_task_template *template = tr_task_template(task);
    bool has_own = has_helpers && share.size == 0;
    if (share.size == 0 && !has_own && file_secrets(template) == 0) {
        return;
    }
    tr_build_member_list(build, "volumeMounts");
    if (share.size > 0 || has_own) {
        tri_pod_add_shared_mount(build, share);
    }
    for (uint32_t i = 0; i < template->secret_count; i++) {
        if (template->secrets[i].is_file) {
            tri_pod_add_mount(build, tr_task_format(task, "troupe-secret-%u", i),
                              tr_task_format(task, SECRETS_FOLDER "/%u", i), true);
        }
    }
    tr_build_end(build);
}

/* As settings say it is a volume, else a folder that each node of the cluster has. */
static void add_share(struct tr_build *build, const struct tr_webapi_endpoint *endpoint,
                      struct tr_text share)
{
    struct tr_bytes source = tr_json_get(tr_json_get(endpoint->config, "share"), "volume");
    struct tr_json_walk members = tr_json_walk(source);
    tr_build_map(build);
    tr_build_member_text(build, "name", tr_text_of(TRI_POD_SHARE_VOLUME));
    while (tr_json_next(&members)) {
        tr_build_name(build, members.name);
        tr_build_value(build, members.value);
    }
    if (source.size == 0) {
        tr_build_member_map(build, "hostPath");
        tr_build_member_text(build, "path", share);
        tr_build_end(build);
    }
    tr_build_end(build);
}

static void add_secret_volume(struct tr_build *build, struct tr_task_context *task,
                              const struct tr_secret *secret, uint32_t number)
{
    tr_build_map(build);
    tr_build_member_text(build, "name", tr_task_format(task, "troupe-secret-%u", number));
    tr_build_member_map(build, "secret");
    tr_build_member_text(build, "secretName", secret->group);
    tr_build_member_i64(build, "defaultMode", 0400);
    tr_build_end(build);
    tr_build_end(build);
}

static void add_volumes(struct tr_build *build, struct tr_task_context *task,
                        const struct tr_webapi_endpoint *endpoint, struct tr_text share,
                        bool has_helpers)
{
    const struct tr_task_template *template = tr_task_template(task);
    bool has_own = has_helpers && share.size == 0;
    if (share.size == 0 && !has_own && file_secrets(template) == 0) {
        return;
    }
    tr_build_member_list(build, "volumes");
    if (share.size > 0) {
        add_share(build, endpoint, share);
    } else if (has_own) {
        tri_pod_add_own_volume(build);
    }
    for (uint32_t i = 0; i < template->secret_count; i++) {
        if (template->secrets[i].is_file) {
            add_secret_volume(build, task, &template->secrets[i], i);
        }
    }
    tr_build_end(build);
}

/* ------------------------------------------------------------------------------ all of it */

static void add_container(struct tr_build *build, struct tr_task_context *task,
                          const struct tri_pod *own, const struct tr_webapi_endpoint *endpoint,
                          const struct tri_pod_inputs *inputs, const struct tri_pod_part *part)
{
    struct tr_text folder = tri_pod_folder(task, own, endpoint);
    tr_build_map(build);
    tr_build_member_text(build, "name", part->container);
    tr_build_member_text(build, "image", part->image);
    if (tri_pod_is_direct(task, endpoint)) {
        add_direct_words(build, task, own, endpoint);
    } else if (part->helper_image.size > 0) {
        add_bare_words(build, task, own, endpoint, folder);
    } else {
        add_words(build, task, own, endpoint, folder);
    }
    tri_pod_add_environment(build, task, own, endpoint, inputs,
                            part->helper_image.size > 0 ? TRI_POD_BARE : TRI_POD_SHELL);
    add_resources(build, task, part);
    add_mounts(build, task, tri_pod_share(endpoint), part->helper_image.size > 0);
    if (part->tells_end) {
        tr_build_member_text(build, "terminationMessagePolicy",
                             tr_text_of("FallbackToLogsOnError"));
    }
    tr_build_end(build);
}

/* From SIGTERM to SIGKILL, within the bounds of Armada: one second to five minutes. */
static int64_t grace_seconds(const struct tr_task_template *template)
{
    int64_t seconds = (template->grace_ns + 999999999) / 1000000000;
    return seconds < 1                          ? 1
           : seconds > TR_POD_GRACE_SECONDS_MAX ? TR_POD_GRACE_SECONDS_MAX
                                                : seconds;
}

/*
 * The task's timeout, so that no job runs for ever behind an engine that is gone. One that lives
 * has ended the job by then: a pod begins later than its attempt. 0: there is none.
 */
static int64_t deadline_seconds(const struct tr_task_template *template)
{
    int64_t seconds = template->timeout_ns / 1000000000;
    seconds += template->timeout_ns % 1000000000 > 0 ? 1 : 0;
    return seconds < TR_POD_DEADLINE_SECONDS_MAX ? seconds : TR_POD_DEADLINE_SECONDS_MAX;
}

int tri_pod_own(struct tr_task_context *task, const struct tri_pod *own,
                const struct tr_webapi_endpoint *endpoint, const struct tri_pod_inputs *inputs,
                const struct tri_pod_part *part, struct tr_bytes *spec)
{
    struct tr_build build = tr_build_of_task(task);
    tr_build_map(&build);
    tr_build_member_list(&build, "containers");
    add_container(&build, task, own, endpoint, inputs, part);
    tr_build_end(&build);
    tr_build_member_text(&build, "restartPolicy", tr_text_of("Never"));
    tr_build_member_i64(&build, "terminationGracePeriodSeconds",
                        grace_seconds(tr_task_template(task)));
    int64_t deadline_s = deadline_seconds(tr_task_template(task));
    if (deadline_s > 0) {
        tr_build_member_i64(&build, "activeDeadlineSeconds", deadline_s);
    }
    tr_build_member_text(&build, "priorityClassName", part->priority_class);
    add_volumes(&build, task, endpoint, tri_pod_share(endpoint), part->helper_image.size > 0);
    if (part->helper_image.size > 0) {
        tri_pod_add_helpers(&build, task, own, endpoint, inputs, part->helper_image);
    }
    tr_build_end(&build);
    return tr_build_take(&build, spec);
}

int tri_pod_spec(struct tr_task_context *task, const struct tri_pod *own,
                 const struct tr_webapi_endpoint *endpoint, const struct tri_pod_inputs *inputs,
                 struct tr_bytes *pod)
{
    static const char *const paired[] = {"containers", NULL};
    const struct tr_bytes layers[] = {tr_json_get(endpoint->config, "pod"),
                                      tr_json_get(tr_task_template(task)->config, "pod")};
    const struct tri_pod_part part = {
        .container = tr_text_of(TR_POD_CONTAINER),
        .image = tr_json_text(tri_pod_setting(task, endpoint, "image")),
        .priority_class = tr_json_text(tri_pod_setting(task, endpoint, "priority_class"))};
    struct tr_bytes whole = {0};
    int error = tri_pod_own(task, own, endpoint, inputs, &part, &whole);
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(layers); i++) {
        if (layers[i].size > 0) {
            struct tr_build build = tr_build_of_task(task);
            tr_build_laid_over(&build, whole, layers[i], paired);
            error = tr_build_take(&build, &whole);
        }
    }
    if (error == 0) {
        *pod = whole;
    }
    return error;
}
