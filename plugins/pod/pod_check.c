/*
 * The keys that settings and tasks of all back ends with pods have, and what no pod has.
 */
#include "plugins/pod/pod.h"

#include <stdio.h>

#define PLACE_BYTES 64

int tri_pod_check_texts(const struct tri_pod_checker *checker, struct tr_bytes config,
                        const char *key)
{
    struct tr_json_walk walk = tr_json_walk(tr_json_get(config, key));
    while (tr_json_next(&walk)) {
        if (tr_json_type(walk.value) != TR_CODEC_TEXT) {
            size_t shown = walk.name.size < 60 ? walk.name.size : 60;
            return TRI_POD_REFUSE(checker, "%s.%s.%.*s has to be text: write it in quotes",
                                  checker->place, key, (int)shown, walk.name.data);
        }
    }
    return 0;
}

int tri_pod_check_containers(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    struct tr_bytes containers = tr_json_get(tr_json_get(config, "pod"), "containers");
    return containers.size == 0 || tr_json_type(containers) == TR_CODEC_ARRAY
               ? 0
               : TRI_POD_REFUSE(
                     checker, "%s.pod.containers has to be a list, whose first item is the task's",
                     checker->place);
}

/* Whom a container of a layer is known by; the task's own is `primary` here. */
static struct tr_text container_key(struct tr_bytes container, unsigned place)
{
    struct tr_text name = tr_json_text(tr_json_get(container, "name"));
    return place == 0 && name.size == 0 ? tr_text_of(TR_POD_PRIMARY) : name;
}

static int check_container(const struct tri_pod_checker *checker, const char *list,
                           struct tr_bytes containers, struct tr_bytes container, unsigned place)
{
    bool is_main = strcmp(list, "containers") == 0;
    struct tr_text name = container_key(container, is_main ? place : 1);
    struct tr_json_walk walk = tr_json_walk(containers);
    if (tr_json_type(container) != TR_CODEC_MAP) {
        return TRI_POD_REFUSE(checker, "%s.pod.%s[%u] has to be a mapping", checker->place, list,
                              place);
    }
    if (name.size == 0) {
        return TRI_POD_REFUSE(checker, "%s.pod.%s[%u] has no name%s", checker->place, list, place,
                              is_main ? ", which only the first one may do without: the task's"
                                      : "");
    }
    for (unsigned i = 0; i < place && tr_json_next(&walk); i++) {
        if (tr_text_equal(container_key(walk.value, is_main ? i : 1), name)) {
            return TRI_POD_REFUSE(checker, "%s.pod.%s has two that are called %.*s%s",
                                  checker->place, list, (int)name.size, name.data,
                                  tr_text_equal(name, tr_text_of(TR_POD_PRIMARY))
                                      ? ", which the first one without a name is, too"
                                      : "");
        }
    }
    return 0;
}

int tri_pod_check_layer(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct tr_bytes pod = tr_json_get(config, "pod");
    int error = tri_pod_check_containers(checker, config);
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(lists); i++) {
        struct tr_bytes containers = tr_json_get(pod, lists[i]);
        struct tr_json_walk walk = tr_json_walk(containers);
        for (unsigned j = 0; error == 0 && tr_json_next(&walk); j++) {
            error = check_container(checker, lists[i], containers, walk.value, j);
        }
    }
    return error;
}

int tri_pod_check_possible(const struct tri_pod_checker *checker,
                           const struct tr_task_template *task)
{
    for (uint32_t i = 0; i < task->environment_count; i++) {
        const struct tr_environment *entry = &task->environment[i];
        bool is_missed = entry->is_passed_on && entry->value.size == 0 && !task->has_flyte_inputs;
        if (is_missed) {
            return TRI_POD_REFUSE(
                checker,
                "env.%.*s is passed on from the engine's environment, which no pod of "
                "%s's has: give it a value, or make it a secret",
                (int)entry->name.size, entry->name.data, checker->owner);
        }
    }
    for (uint32_t i = 0; i < task->secret_count; i++) {
        const struct tr_secret *secret = &task->secrets[i];
        if (secret->version.size > 0) {
            return TRI_POD_REFUSE(
                checker,
                "secrets.%.*s asks for a version, which Secrets of Kubernetes do not "
                "have: leave out @%.*s",
                (int)secret->name.size, secret->name.data, (int)secret->version.size,
                secret->version.data);
        }
    }
    return 0;
}

/* "plugins.armada.share" */
static const char *place_of(const struct tri_pod_checker *checker, const char *key,
                            char place[PLACE_BYTES])
{
    (void)snprintf(place, PLACE_BYTES, "%s.%s", checker->place, key);
    return place;
}

/* ----------------------------------------------------------------------------------- share */

static const struct tr_config_key share_keys[] = {{"path", TR_CODEC_TEXT},
                                                  {"volume", TR_CODEC_MAP}};

int tri_pod_check_share(const struct tri_pod_checker *checker, struct tr_bytes share)
{
    char place[PLACE_BYTES];
    bool is_map = tr_json_type(share) == TR_CODEC_MAP;
    int error = is_map
                    ? tr_config_check_as(place_of(checker, "share", place), share, share_keys,
                                         TR_COUNT_OF(share_keys), checker->problem, checker->size)
                    : 0;
    struct tr_text path = is_map ? tr_json_text(tr_json_get(share, "path")) : tr_json_text(share);
    if (error == 0 && share.size > 0 && (path.size == 0 || path.data[0] != '/')) {
        return TRI_POD_REFUSE(checker,
                              "%s.share has to be the absolute path of a folder that the "
                              "engine and the pods see, or {path: FOLDER, volume: SOURCE}",
                              checker->place);
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

static int check_store_secret(const struct tri_pod_checker *checker, struct tr_text secret)
{
    const char *slash = tri_pod_slash(secret);
    if (secret.size == 0) {
        return 0;
    }
    if (slash == NULL || slash + 1 == secret.data + secret.size || !is_plain(secret, "-._/") ||
        memchr(slash + 1, '/', secret.size - (size_t)(slash + 1 - secret.data)) != NULL) {
        return TRI_POD_REFUSE(checker,
                              "%s.object_store.secret has to be GROUP/KEY: here it is "
                              "found as any secret is, and for pods it is the key of a "
                              "Secret of Kubernetes",
                              checker->place);
    }
    return 0;
}

static int check_store_keys(const struct tri_pod_checker *checker, struct tr_bytes store,
                            bool is_s3)
{
    struct tr_text endpoint = tr_config_text(store, "endpoint", (struct tr_text){0});
    struct tr_text region = tr_config_text(store, "region", (struct tr_text){0});
    if (endpoint.size > 0 && !is_s3) {
        return TRI_POD_REFUSE(checker,
                              "%s.object_store.endpoint goes with outputs: s3://...; any "
                              "other URL says by itself where the store is",
                              checker->place);
    }
    if (endpoint.size > 0 && !is_web(endpoint)) {
        return TRI_POD_REFUSE(checker,
                              "%s.object_store.endpoint has to be https://HOST or "
                              "http://HOST, of plain letters",
                              checker->place);
    }
    if (region.size > 0 && !is_plain(region, "-")) {
        return TRI_POD_REFUSE(checker, "%s.object_store.region has to be of letters, digits and -",
                              checker->place);
    }
    return check_store_secret(checker, tr_config_text(store, "secret", (struct tr_text){0}));
}

int tri_pod_check_objects(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    char place[PLACE_BYTES];
    struct tr_bytes store = tr_json_get(config, "object_store");
    struct tr_text outputs = tr_config_text(config, "outputs", (struct tr_text){0});
    bool is_s3 = is_url(outputs, "s3://");
    int error = store.size == 0 ? 0
                                : tr_config_check_as(place_of(checker, "object_store", place),
                                                     store, store_keys, TR_COUNT_OF(store_keys),
                                                     checker->problem, checker->size);
    if (error == 0 && outputs.size == 0 && store.size > 0) {
        return TRI_POD_REFUSE(checker,
                              "%s.object_store says how outputs are reached, and there is "
                              "no %s.outputs: write outputs: s3://BUCKET/PREFIX",
                              checker->place, checker->place);
    }
    if (error == 0 && outputs.size > 0 && !is_s3 && !is_web(outputs)) {
        return TRI_POD_REFUSE(checker,
                              "%s.outputs has to be s3://BUCKET/PREFIX or "
                              "https://HOST/PREFIX, of plain letters",
                              checker->place);
    }
    return error != 0 ? error : check_store_keys(checker, store, is_s3);
}
