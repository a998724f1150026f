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

static const struct tr_config_key share_keys[] = {{"path", TR_CODEC_TEXT},
                                                  {"volume", TR_CODEC_MAP}};

static const struct tr_config_key gang_keys[] = {{"cardinality", TR_CODEC_UNSIGNED},
                                                 {"uniformity", TR_CODEC_TEXT}};

#define SETTINGS "plugins.armada"

/* Where words are written, and of what they speak: "config" or "plugins.armada". */
struct checker {
    const char *place;
    char *problem;
    size_t size;
};

#define REFUSE(checker, ...) tr_config_refuse((checker)->problem, (checker)->size, __VA_ARGS__)

/* ------------------------------------------------------------------------------------- names */

static int check_name(const struct checker *checker, struct tr_bytes config, const char *key,
                      size_t size_max)
{
    struct tr_text name = tr_config_text(config, key, (struct tr_text){0});
    if (name.size > size_max) {
        return REFUSE(checker, "%s.%s has %zu bytes, and at most %zu are taken", checker->place,
                      key, name.size, size_max);
    }
    for (size_t i = 0; i < name.size; i++) {
        uint8_t letter = (uint8_t)name.data[i];
        if (letter <= ' ' || letter == '/' || letter == ':') {
            return REFUSE(checker, "%s.%s may not hold a slash, a colon or a space", checker->place,
                          key);
        }
    }
    return 0;
}

/* Labels and annotations: Kubernetes takes texts only. */
static int check_texts(const struct checker *checker, struct tr_bytes config, const char *key)
{
    struct tr_json_walk walk = tr_json_walk(tr_json_get(config, key));
    while (tr_json_next(&walk)) {
        if (tr_json_type(walk.value) != TR_CODEC_TEXT) {
            size_t shown = walk.name.size < 60 ? walk.name.size : 60;
            return REFUSE(checker, "%s.%s.%.*s has to be text: write it in quotes", checker->place,
                          key, (int)shown, walk.name.data);
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

static int check_init_container(const struct checker *checker, unsigned number,
                                struct tr_bytes container)
{
    struct tr_bytes resources = tr_json_get(container, "resources");
    struct tr_bytes cpu = tr_json_get(tr_json_get(resources, "requests"), "cpu");
    if (resources.size == 0) {
        return REFUSE(checker,
                      "%s.pod.initContainers[%u] has no resources, which Armada asks for: write "
                      "requests and limits of cpu and memory",
                      checker->place, number);
    }
    if (cpu.size > 0 && !is_fraction(cpu)) {
        return REFUSE(checker,
                      "%s.pod.initContainers[%u].resources.requests.cpu has to be a fraction of "
                      "one, such as 900m: Armada takes no other of an init container",
                      checker->place, number);
    }
    return 0;
}

static int check_pod(const struct checker *checker, struct tr_bytes config)
{
    struct tr_bytes pod = tr_json_get(config, "pod");
    struct tr_json_walk walk = tr_json_walk(tr_json_get(pod, "initContainers"));
    int error = 0;
    for (unsigned i = 0; error == 0 && tr_json_next(&walk); i++) {
        error = check_init_container(checker, i, walk.value);
    }
    if (error == 0 && tr_json_get(pod, "containers").size > 0 &&
        tr_json_type(tr_json_get(pod, "containers")) != TR_CODEC_ARRAY) {
        return REFUSE(checker, "%s.pod.containers has to be a list, whose first item is the task's",
                      checker->place);
    }
    return error;
}

/* What settings and tasks have in common. */
static int check_common(const struct checker *checker, struct tr_bytes config)
{
    int error = check_name(checker, config, "queue", TR_ARMADA_QUEUE_BYTES_MAX);
    if (error != 0) {
        return error;
    }
    error = check_texts(checker, config, "labels");
    if (error != 0) {
        return error;
    }
    error = check_texts(checker, config, "annotations");
    return error != 0 ? error : check_pod(checker, config);
}

/* ------------------------------------------------------------------------------------ a task */

static int check_gang(const struct checker *checker, struct tr_bytes config)
{
    struct tr_bytes gang = tr_json_get(config, "gang");
    int error = gang.size == 0
                    ? 0
                    : tr_config_check_as("config.gang", gang, gang_keys, TR_COUNT_OF(gang_keys),
                                         checker->problem, checker->size);
    if (error == 0 && gang.size > 0 && tr_json_i64(tr_json_get(gang, "cardinality"), 0) < 1) {
        return REFUSE(checker, "config.gang.cardinality has to say how many jobs start together");
    }
    return error;
}

/* What a process of this machine has, and no pod. */
static int check_possible(const struct checker *checker, const struct tr_task_template *task)
{
    for (uint32_t i = 0; i < task->environment_count; i++) {
        const struct tr_environment *entry = &task->environment[i];
        if (entry->is_passed_on) {
            return REFUSE(checker,
                          "env.%.*s is passed on from the engine's environment, which no pod of "
                          "Armada's has: give it a value, or make it a secret",
                          (int)entry->name.size, entry->name.data);
        }
    }
    for (uint32_t i = 0; i < task->secret_count; i++) {
        const struct tr_secret *secret = &task->secrets[i];
        if (secret->version.size > 0) {
            return REFUSE(checker,
                          "secrets.%.*s asks for a version, which Secrets of Kubernetes do not "
                          "have: leave out @%.*s",
                          (int)secret->name.size, secret->name.data, (int)secret->version.size,
                          secret->version.data);
        }
    }
    return 0;
}

int tri_armada_check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    const struct checker checker = {.place = "config", .problem = problem, .size = problem_size};
    int error = tr_webapi_check(task, task_keys, TR_COUNT_OF(task_keys), problem, problem_size);
    if (error != 0) {
        return error;
    }
    error = check_common(&checker, task->config);
    if (error != 0) {
        return error;
    }
    error = check_gang(&checker, task->config);
    return error != 0 ? error : check_possible(&checker, task);
}

/* ---------------------------------------------------------------------------------- settings */

static int check_share(const struct checker *checker, struct tr_bytes share)
{
    bool is_map = tr_json_type(share) == TR_CODEC_MAP;
    int error = is_map
                    ? tr_config_check_as(SETTINGS ".share", share, share_keys,
                                         TR_COUNT_OF(share_keys), checker->problem, checker->size)
                    : 0;
    struct tr_text path = is_map ? tr_json_text(tr_json_get(share, "path")) : tr_json_text(share);
    if (error == 0 && share.size > 0 && (path.size == 0 || path.data[0] != '/')) {
        return REFUSE(checker,
                      SETTINGS ".share has to be the absolute path of a folder that the "
                               "engine and the pods see, or {path: FOLDER, volume: SOURCE}");
    }
    return error;
}

/* ---------------------------------------------------------------------------- object store */

static const struct tr_config_key store_keys[] = {
    {"endpoint", TR_CODEC_TEXT}, {"region", TR_CODEC_TEXT}, {"secret", TR_CODEC_TEXT}};

/* Whether a text holds nothing but letters, digits and some marks. */
static bool is_plain(struct tr_text text, const char *marks)
{
    for (size_t i = 0; i < text.size; i++) {
        char letter = text.data[i];
        bool is_one =
            (letter >= '0' && letter <= '9') || ((letter | 32) >= 'a' && (letter | 32) <= 'z');
        if (!is_one && (letter == '\0' || strchr(marks, letter) == NULL)) {
            return false;
        }
    }
    return text.size > 0;
}

/*
 * SCHEME://HOST[/PATH], without anything that would be read otherwise by a store, a shell or curl,
 * which signs a path as it is written.
 */
static bool is_url(struct tr_text text, const char *scheme)
{
    size_t size = strlen(scheme);
    if (text.size <= size || memcmp(text.data, scheme, size) != 0) {
        return false;
    }
    struct tr_text host = {.data = text.data + size, .size = text.size - size};
    const char *slash = memchr(host.data, '/', host.size);
    struct tr_text path = {0};
    if (slash != NULL) {
        path = (struct tr_text){.data = slash, .size = (size_t)(text.data + text.size - slash)};
        host.size -= path.size;
    }
    return is_plain(host, "-._:") && (path.size == 0 || is_plain(path, "-._~/"));
}

static bool is_web(struct tr_text text)
{
    return is_url(text, "http://") || is_url(text, "https://");
}

static int check_store_secret(const struct checker *checker, struct tr_text secret)
{
    const char *slash = tri_armada_slash(secret);
    if (secret.size == 0) {
        return 0;
    }
    if (slash == NULL || slash + 1 == secret.data + secret.size || !is_plain(secret, "-._/") ||
        memchr(slash + 1, '/', secret.size - (size_t)(slash + 1 - secret.data)) != NULL) {
        return REFUSE(checker, SETTINGS ".object_store.secret has to be GROUP/KEY: here it is "
                                        "found as any secret is, and for pods it is the key of a "
                                        "Secret of Kubernetes");
    }
    return 0;
}

static int check_store_keys(const struct checker *checker, struct tr_bytes store, bool is_s3)
{
    struct tr_text endpoint = tr_config_text(store, "endpoint", (struct tr_text){0});
    struct tr_text region = tr_config_text(store, "region", (struct tr_text){0});
    if (endpoint.size > 0 && !is_s3) {
        return REFUSE(checker, SETTINGS ".object_store.endpoint goes with outputs: s3://...; any "
                                        "other URL says by itself where the store is");
    }
    if (endpoint.size > 0 && !is_web(endpoint)) {
        return REFUSE(checker, SETTINGS ".object_store.endpoint has to be https://HOST or "
                                        "http://HOST, of plain letters");
    }
    if (region.size > 0 && !is_plain(region, "-")) {
        return REFUSE(checker, SETTINGS ".object_store.region has to be of letters, digits and -");
    }
    return check_store_secret(checker, tr_config_text(store, "secret", (struct tr_text){0}));
}

static int check_objects(const struct checker *checker, struct tr_bytes config)
{
    struct tr_bytes store = tr_json_get(config, "object_store");
    struct tr_text outputs = tr_config_text(config, "outputs", (struct tr_text){0});
    bool is_s3 = is_url(outputs, "s3://");
    int error = store.size == 0
                    ? 0
                    : tr_config_check_as(SETTINGS ".object_store", store, store_keys,
                                         TR_COUNT_OF(store_keys), checker->problem, checker->size);
    if (error == 0 && outputs.size == 0 && store.size > 0) {
        return REFUSE(checker,
                      SETTINGS ".object_store says how outputs are reached, and there is "
                               "no " SETTINGS ".outputs: write outputs: s3://BUCKET/PREFIX");
    }
    if (error == 0 && outputs.size > 0 && !is_s3 && !is_web(outputs)) {
        return REFUSE(checker, SETTINGS ".outputs has to be s3://BUCKET/PREFIX or "
                                        "https://HOST/PREFIX, of plain letters");
    }
    return error != 0 ? error : check_store_keys(checker, store, is_s3);
}

static int check_logs(const struct checker *checker, struct tr_bytes config)
{
    struct tr_text logs = tr_config_text(config, "logs", (struct tr_text){0});
    bool is_template = logs.size == 0 || memmem(logs.data, logs.size, "{job}", 5) != NULL;
    return is_template ? 0
                       : REFUSE(checker, SETTINGS ".logs has to hold {job}, in whose place the "
                                                  "job's id is put");
}

/* The keys without `share` where that is a mapping: it has been looked at. */
static int check_keys(const struct checker *checker, struct tr_bytes config)
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
    const struct checker checker = {.place = SETTINGS, .problem = problem, .size = problem_size};
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
    error = check_share(&checker, tr_json_get(config, "share"));
    if (error != 0) {
        return error;
    }
    error = check_objects(&checker, config);
    return error != 0 ? error : check_logs(&checker, config);
}
