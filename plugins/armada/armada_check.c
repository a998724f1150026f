/*
 * The keys of the Armada plugin: those of its settings, and those of a task's `config`, which go
 * before them. What Armada itself would refuse, and can be known before, is refused here.
 */
#include "plugins/armada/armada.h"

#define KEYS_OF_BOTH                                                                    \
    {"queue", TR_CODEC_TEXT}, {"namespace", TR_CODEC_TEXT}, {"image", TR_CODEC_TEXT},   \
        {"labels", TR_CODEC_MAP}, {"annotations", TR_CODEC_MAP}, {"pod", TR_CODEC_MAP}, \
        {"priority", TR_CODEC_UNSIGNED},                                                \
    {                                                                                   \
        "priority_class", TR_CODEC_TEXT                                                 \
    }

static const struct tr_config_key task_keys[] = {KEYS_OF_BOTH, {"gang", TR_CODEC_MAP}};

/* `share` is a text or a mapping, which is looked at by itself. */
static const struct tr_config_key settings_keys[] = {KEYS_OF_BOTH,
                                                     {"job_set", TR_CODEC_TEXT},
                                                     {"logs", TR_CODEC_TEXT},
                                                     {"outputs", TR_CODEC_TEXT},
                                                     {"object_store", TR_CODEC_MAP},
                                                     {"share", TR_CODEC_TEXT}};

static const struct tr_config_key gang_keys[] = {{"cardinality", TR_CODEC_UNSIGNED},
                                                 {"uniformity", TR_CODEC_TEXT}};

#define SETTINGS "plugins.armada"

/* ------------------------------------------------------------------------------------- names */

static int check_name(const struct tri_pod_checker *checker, struct tr_bytes config,
                      const char *key, size_t size_max)
{
    struct tr_text name = tr_config_text(config, key, (struct tr_text){0});
    if (name.size > size_max) {
        return TRI_POD_REFUSE(checker, "%s.%s has %zu bytes, and at most %zu are taken",
                              checker->place, key, name.size, size_max);
    }
    for (size_t i = 0; i < name.size; i++) {
        uint8_t letter = (uint8_t)name.data[i];
        if (letter <= ' ' || letter == '/' || letter == ':') {
            return TRI_POD_REFUSE(checker, "%s.%s may not hold a slash, a colon or a space",
                                  checker->place, key);
        }
    }
    return 0;
}

/* --------------------------------------------------------------------------------------- pod */

/* "900m", and not "1" or "1000m": Armada takes init containers with a fraction of a cpu only. */
static bool is_fraction(struct tr_bytes cpu)
{
    struct tr_text text = tr_json_text(cpu);
    if (text.size < 2 || text.data[text.size - 1] != 'm') {
        return false;
    }
    int64_t millis = 0;
    for (size_t i = 0; i + 1 < text.size && millis < 1000; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        millis = millis * 10 + (text.data[i] - '0');
    }
    return millis > 0 && millis % 1000 != 0;
}

static int check_init_container(const struct tri_pod_checker *checker, unsigned number,
                                struct tr_bytes container)
{
    struct tr_bytes resources = tr_json_get(container, "resources");
    struct tr_bytes cpu = tr_json_get(tr_json_get(resources, "requests"), "cpu");
    if (resources.size == 0) {
        return TRI_POD_REFUSE(
            checker,
            "%s.pod.initContainers[%u] has no resources, which Armada asks for: write "
            "requests and limits of cpu and memory",
            checker->place, number);
    }
    if (cpu.size > 0 && !is_fraction(cpu)) {
        return TRI_POD_REFUSE(
            checker,
            "%s.pod.initContainers[%u].resources.requests.cpu has to be a fraction of "
            "one, such as 900m: Armada takes no other of an init container",
            checker->place, number);
    }
    return 0;
}

static int check_pod(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    struct tr_bytes pod = tr_json_get(config, "pod");
    struct tr_json_walk walk = tr_json_walk(tr_json_get(pod, "initContainers"));
    int error = 0;
    for (unsigned i = 0; error == 0 && tr_json_next(&walk); i++) {
        error = check_init_container(checker, i, walk.value);
    }
    return error != 0 ? error : tri_pod_check_containers(checker, config);
}

/* What settings and tasks have in common. */
static int check_common(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    int error = check_name(checker, config, "queue", TR_ARMADA_QUEUE_BYTES_MAX);
    if (error != 0) {
        return error;
    }
    error = tri_pod_check_texts(checker, config, "labels");
    if (error != 0) {
        return error;
    }
    error = tri_pod_check_texts(checker, config, "annotations");
    return error != 0 ? error : check_pod(checker, config);
}

/* ------------------------------------------------------------------------------------ a task */

static int check_gang(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    struct tr_bytes gang = tr_json_get(config, "gang");
    int error = gang.size == 0
                    ? 0
                    : tr_config_check_as("config.gang", gang, gang_keys, TR_COUNT_OF(gang_keys),
                                         checker->problem, checker->size);
    if (error == 0 && gang.size > 0 && tr_json_i64(tr_json_get(gang, "cardinality"), 0) < 1) {
        return TRI_POD_REFUSE(checker,
                              "config.gang.cardinality has to say how many jobs start together");
    }
    return error;
}

int tri_armada_check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    const struct tri_pod_checker checker = {
        .place = "config", .owner = "Armada", .problem = problem, .size = problem_size};
    int error = tr_webapi_check(task, task_keys, TR_COUNT_OF(task_keys), problem, problem_size);
    if (error != 0) {
        return error;
    }
    error = check_common(&checker, task->config);
    if (error != 0) {
        return error;
    }
    error = check_gang(&checker, task->config);
    return error != 0 ? error : tri_pod_check_possible(&checker, task);
}

/* ---------------------------------------------------------------------------------- settings */

static int check_logs(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    struct tr_text logs = tr_config_text(config, "logs", (struct tr_text){0});
    bool is_template = logs.size == 0 || memmem(logs.data, logs.size, "{job}", 5) != NULL;
    return is_template
               ? 0
               : TRI_POD_REFUSE(checker, SETTINGS ".logs has to hold {job}, in whose place the "
                                                  "job's id is put");
}

/* The keys without `share` where that is a mapping: it has been looked at. */
static int check_keys(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    bool is_map = tr_json_type(tr_json_get(config, "share")) == TR_CODEC_MAP;
    struct tr_config_key keys[TR_COUNT_OF(settings_keys)];
    memcpy(keys, settings_keys, sizeof keys);
    keys[TR_COUNT_OF(keys) - 1].type = is_map ? TR_CODEC_MAP : TR_CODEC_TEXT;
    return tr_config_check_as(SETTINGS, config, keys, TR_COUNT_OF(keys), checker->problem,
                              checker->size);
}

int tri_armada_check_endpoint(struct tr_bytes config, char *problem, size_t problem_size)
{
    const struct tri_pod_checker checker = {
        .place = SETTINGS, .owner = "Armada", .problem = problem, .size = problem_size};
    int error = check_keys(&checker, config);
    if (error != 0) {
        return error;
    }
    error = check_name(&checker, config, "job_set", TR_ARMADA_PREFIX_BYTES_MAX);
    if (error != 0) {
        return error;
    }
    error = check_common(&checker, config);
    if (error != 0) {
        return error;
    }
    error = tri_pod_check_share(&checker, tr_json_get(config, "share"));
    if (error != 0) {
        return error;
    }
    error = tri_pod_check_objects(&checker, config);
    return error != 0 ? error : check_logs(&checker, config);
}
