/*
 * The keys of the Kubernetes plugin: those of its settings, and those of a task's `config`, which
 * go before them. What the API server would refuse, and can be known before, is refused here.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <stdio.h>

#define PLACE_BYTES 128

#define KEYS_OF_BOTH                                                                           \
    {"namespace", TR_CODEC_TEXT}, {"image", TR_CODEC_TEXT}, {"labels", TR_CODEC_MAP},          \
        {"annotations", TR_CODEC_MAP}, {"pod", TR_CODEC_MAP}, {"pod_template", TR_CODEC_TEXT}, \
        {"service_account", TR_CODEC_TEXT}, {"image_pull_secrets", TR_CODEC_ARRAY},            \
        {"priority_class", TR_CODEC_TEXT},                                                     \
    {                                                                                          \
        "finalizer", TR_CODEC_BOOL                                                             \
    }

static const struct tr_config_key task_keys[] = {KEYS_OF_BOTH,
                                                 {"primary_container", TR_CODEC_TEXT},
                                                 {"accelerator", TR_CODEC_MAP},
                                                 {"shell", TR_CODEC_BOOL},
                                                 {"card", TR_CODEC_TEXT},
                                                 {"custom", TR_CODEC_MAP},
                                                 {"manifest", TR_CODEC_MAP},
                                                 {"plural", TR_CODEC_TEXT},
                                                 {"scope", TR_CODEC_TEXT},
                                                 {"status", TR_CODEC_ARRAY}};

/* `share`, the last one, is a text or a mapping. */
static const struct tr_config_key settings_keys[] = {KEYS_OF_BOTH,
                                                     {"interruptible", TR_CODEC_MAP},
                                                     {"resource_tolerations", TR_CODEC_MAP},
                                                     {"gpu", TR_CODEC_MAP},
                                                     {"helper_image", TR_CODEC_TEXT},
                                                     {"cards", TR_CODEC_MAP},
                                                     {"operator_timeout", TR_CODEC_TEXT},
                                                     {"keep", TR_CODEC_MAP},
                                                     {"logs", TR_CODEC_TEXT},
                                                     {"watch", TR_CODEC_TEXT},
                                                     {"outputs", TR_CODEC_TEXT},
                                                     {"object_store", TR_CODEC_MAP},
                                                     {"share", TR_CODEC_TEXT}};

static const char *place_of(const struct tri_pod_checker *checker, const char *key,
                            char place[PLACE_BYTES])
{
    (void)snprintf(place, PLACE_BYTES, "%s.%s", checker->place, key);
    return place;
}

/* The keys of a mapping below one of ours. */
static int check_below(const struct tri_pod_checker *checker, struct tr_bytes config,
                       const char *key, const struct tr_config_key *keys, size_t count)
{
    char place[PLACE_BYTES];
    struct tr_bytes value = tr_json_get(config, key);
    return value.size == 0 ? 0
                           : tr_config_check_as(place_of(checker, key, place), value, keys, count,
                                                checker->problem, checker->size);
}

/* Namespaces are labels of DNS (RFC 1123); one that is not would be another path of the API. */
static int check_name(const struct tri_pod_checker *checker, struct tr_bytes config,
                      const char *key, size_t size_max, const char *marks)
{
    struct tr_text name = tr_config_text(config, key, (struct tr_text){0});
    bool is_plain = name.size <= size_max;
    for (size_t i = 0; i < name.size && is_plain; i++) {
        char letter = name.data[i];
        bool is_end = i == 0 || i + 1 == name.size;
        is_plain = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
                   (letter != '\0' && strchr(marks, letter) != NULL && !is_end);
    }
    return is_plain
               ? 0
               : TRI_POD_REFUSE(checker,
                                "%s.%s has to be of small letters, digits and %s, at most %zu of "
                                "them",
                                checker->place, key, marks[1] == '\0' ? "-" : "- and .", size_max);
}

static int check_names(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    static const struct {
        const char *key;
        size_t size_max;
        const char *marks;
    } names[] = {
        {"namespace", TR_KUBERNETES_NAMESPACE_BYTES_MAX, "-"},
        {"pod_template", TR_KUBERNETES_OBJECT_BYTES_MAX, "-."},
        {"service_account", TR_KUBERNETES_OBJECT_BYTES_MAX, "-."},
        {"primary_container", TR_KUBERNETES_NAME_BYTES_MAX, "-"},
    };
    int error = 0;
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(names); i++) {
        error = check_name(checker, config, names[i].key, names[i].size_max, names[i].marks);
    }
    return error;
}

static int check_pull_secrets(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    struct tr_json_walk walk = tr_json_walk(tr_json_get(config, "image_pull_secrets"));
    while (tr_json_next(&walk)) {
        if (tr_json_text(walk.value).size == 0) {
            return TRI_POD_REFUSE(checker,
                                  "%s.image_pull_secrets has to be a list of names of Secrets",
                                  checker->place);
        }
    }
    return 0;
}

static int check_common(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    int error = check_names(checker, config);
    if (error == 0) {
        error = tri_pod_check_texts(checker, config, "labels");
    }
    if (error == 0) {
        error = tri_pod_check_texts(checker, config, "annotations");
    }
    if (error == 0) {
        error = check_pull_secrets(checker, config);
    }
    return error != 0 ? error : tri_pod_check_layer(checker, config);
}

/* ------------------------------------------------------------------------------------- a task */

static const struct tr_config_key accelerator_keys[] = {
    {"device", TR_CODEC_TEXT}, {"partition", TR_CODEC_TEXT}, {"unpartitioned", TR_CODEC_BOOL}};

static int check_accelerator(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    struct tr_bytes accelerator = tr_json_get(config, "accelerator");
    int error = check_below(checker, config, "accelerator", accelerator_keys,
                            TR_COUNT_OF(accelerator_keys));
    bool has_both = tr_json_bool(tr_json_get(accelerator, "unpartitioned")) &&
                    tr_json_get(accelerator, "partition").size > 0;
    return error == 0 && has_both
               ? TRI_POD_REFUSE(checker,
                                "%s.accelerator has both partition and unpartitioned: leave one "
                                "of them out",
                                checker->place)
               : error;
}

/* Who says what the task's container is called has to have one of that name. */
static int check_primary(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    struct tr_text name = tr_json_text(tr_json_get(config, "primary_container"));
    struct tr_bytes pod = tr_json_get(config, "pod");
    bool is_there = name.size == 0 || tri_pod_container(pod, name).size > 0;
    return is_there ? 0
                    : TRI_POD_REFUSE(checker,
                                     "%s.primary_container is '%.*s', and %s.pod.containers has "
                                     "none of that name: add it, or leave out the key",
                                     checker->place, (int)name.size, name.data, checker->place);
}

/* Each pod begins by itself; who asks for many at once would wait in vain. */
static int check_gang(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    return tr_json_get(config, "gang").size == 0
               ? 0
               : TRI_POD_REFUSE(checker,
                                "%s.gang has no meaning on Kubernetes, which starts each pod by "
                                "itself: remove it, or send the task to Armada",
                                checker->place);
}

/* Without a shell nobody opens files for the command. */
static int check_shell(const struct tri_pod_checker *checker, const struct tr_task_template *task)
{
    bool is_in = task->is_stdin_inputs;
    return tri_kubernetes_has_shell(task) || (!is_in && !task->is_stdout_outputs)
               ? 0
               : TRI_POD_REFUSE(
                     checker, "%s.shell is false, so %s cannot be had: let the command %s",
                     checker->place, is_in ? "stdin: inputs" : "stdout: outputs",
                     is_in ? "read the file $TROUPE_INPUTS" : "write the file $TROUPE_OUTPUTS");
}

int tri_kubernetes_check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    const struct tri_pod_checker checker = {
        .place = "config", .owner = "Kubernetes", .problem = problem, .size = problem_size};
    int error = check_gang(&checker, task->config);
    if (error == 0) {
        error = tr_webapi_check(task, task_keys, TR_COUNT_OF(task_keys), problem, problem_size);
    }
    if (error == 0) {
        error = check_common(&checker, task->config);
    }
    if (error == 0) {
        error = check_primary(&checker, task->config);
    }
    if (error == 0) {
        error = check_accelerator(&checker, task->config);
    }
    if (error == 0) {
        error = check_shell(&checker, task);
    }
    if (error == 0) {
        error = tri_kubernetes_check_card(&checker, task);
    }
    return error != 0 ? error : tri_pod_check_possible(&checker, task);
}

/* ----------------------------------------------------------------------------------- settings */

static const struct tr_config_key interruptible_keys[] = {
    {"tolerations", TR_CODEC_ARRAY}, {"nodeSelector", TR_CODEC_MAP}, {"affinity", TR_CODEC_MAP}};

static const struct tr_config_key gpu_keys[] = {{"resource", TR_CODEC_TEXT},
                                                {"device_label", TR_CODEC_TEXT},
                                                {"partition_label", TR_CODEC_TEXT}};

/* NAME: [TOLERATION, ...] */
static int check_tolerations(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    struct tr_json_walk walk = tr_json_walk(tr_json_get(config, "resource_tolerations"));
    while (tr_json_next(&walk)) {
        struct tr_json_walk items = tr_json_walk(walk.value);
        bool is_list = tr_json_type(walk.value) == TR_CODEC_ARRAY;
        while (is_list && tr_json_next(&items)) {
            is_list = tr_json_type(items.value) == TR_CODEC_MAP;
        }
        if (!is_list) {
            size_t shown = walk.name.size < 60 ? walk.name.size : 60;
            return TRI_POD_REFUSE(checker,
                                  "%s.resource_tolerations.%.*s has to be a list of tolerations, "
                                  "such as [{key: gpu, operator: Exists}]",
                                  checker->place, (int)shown, walk.name.data);
        }
    }
    return 0;
}

static int check_watch(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    struct tr_text watch = tr_config_text(config, "watch", tr_text_of("namespace"));
    bool is_known = tr_text_equal(watch, tr_text_of("namespace")) ||
                    tr_text_equal(watch, tr_text_of("cluster"));
    return is_known ? 0
                    : TRI_POD_REFUSE(checker,
                                     "%s.watch has to be namespace, one watch for each, or "
                                     "cluster, one for all of them",
                                     checker->place);
}

static int check_scheduling(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    int error = check_below(checker, config, "interruptible", interruptible_keys,
                            TR_COUNT_OF(interruptible_keys));
    if (error == 0) {
        error = check_below(checker, config, "gpu", gpu_keys, TR_COUNT_OF(gpu_keys));
    }
    if (error == 0) {
        error = check_watch(checker, config);
    }
    return error != 0 ? error : check_tolerations(checker, config);
}

int tri_kubernetes_check_endpoint(struct tr_bytes config, char *problem, size_t problem_size)
{
    const struct tri_pod_checker checker = {.place = TRI_KUBERNETES_SETTINGS,
                                            .owner = "Kubernetes",
                                            .problem = problem,
                                            .size = problem_size};
    struct tr_config_key keys[TR_COUNT_OF(settings_keys)];
    bool is_map = tr_json_type(tr_json_get(config, "share")) == TR_CODEC_MAP;
    memcpy(keys, settings_keys, sizeof keys);
    keys[TR_COUNT_OF(keys) - 1].type = is_map ? TR_CODEC_MAP : TR_CODEC_TEXT;
    int error = tr_config_check_as(TRI_KUBERNETES_SETTINGS, config, keys, TR_COUNT_OF(keys),
                                   problem, problem_size);
    if (error == 0) {
        error = check_common(&checker, config);
    }
    if (error == 0) {
        error = check_scheduling(&checker, config);
    }
    if (error == 0) {
        error = tri_kubernetes_check_keep(&checker, config);
    }
    if (error == 0) {
        error = tri_kubernetes_check_links(&checker, config);
    }
    if (error == 0) {
        error = tri_kubernetes_check_cards(&checker, config);
    }
    if (error == 0) {
        error = tri_pod_check_share(&checker, tr_json_get(config, "share"));
    }
    return error != 0 ? error : tri_pod_check_objects(&checker, config);
}
