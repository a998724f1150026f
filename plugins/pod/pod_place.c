/*
 * Where things are: a task's keys and its endpoint's, the share, an attempt's folder; and the names
 * that people and machines know a node by.
 */
#include "plugins/pod/pod.h"

struct tr_bytes tri_pod_setting(struct tr_task_context *task,
                                const struct tr_webapi_endpoint *endpoint, const char *key)
{
    struct tr_bytes own = tr_json_get(tr_task_template(task)->config, key);
    return own.size > 0 ? own : tr_json_get(endpoint->config, key);
}

struct tr_text tri_pod_share(const struct tr_webapi_endpoint *endpoint)
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

static uint64_t hash(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

void tri_pod_mark(struct tr_task_context *task, bool is_of_attempt,
                  char mark[TR_POD_MARK_BYTES + 1])
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
    if (is_of_attempt) {
        value = hash(value, &identity->element, sizeof identity->element);
        value = hash(value, &identity->attempt, sizeof identity->attempt);
    }
    for (size_t i = 0; i < TR_POD_MARK_BYTES; i++) {
        mark[i] = alphabet[value & 31];
        value >>= 5;
    }
    mark[TR_POD_MARK_BYTES] = '\0';
}

struct tr_text tri_pod_front(struct tr_task_context *task, size_t size_max)
{
    const struct tr_task_identity *identity = tr_task_identity(task);
    struct tr_text execution = identity->execution;
    const char *slash = execution.size == 0 ? NULL : memrchr(execution.data, '/', execution.size);
    size_t skipped = slash == NULL ? 0 : (size_t)(slash - execution.data) + 1;
    struct tr_text name =
        tr_task_format(task, "%.*s-%.*s", (int)(execution.size - skipped), execution.data + skipped,
                       (int)identity->path.size, identity->path.data);
    size_t size = name.size < size_max ? name.size : size_max;
    char *front = tr_task_scratch(task, size + 1);
    if (front == NULL) {
        return (struct tr_text){0};
    }
    for (size_t i = 0; i < size; i++) {
        char letter = name.data[i];
        bool is_plain =
            (letter >= '0' && letter <= '9') || ((letter | 32) >= 'a' && (letter | 32) <= 'z');
        front[i] = is_plain ? letter : '-';
    }
    return (struct tr_text){.data = front, .size = size};
}

struct tr_text tri_pod_place(struct tr_task_context *task, const struct tri_pod *own,
                             struct tr_text base)
{
    return own->below.size == 0 ? (struct tr_text){0}
                                : tr_task_format(task, "%.*s/%.*s", (int)base.size, base.data,
                                                 (int)own->below.size, own->below.data);
}

struct tr_text tri_pod_folder(struct tr_task_context *task, const struct tri_pod *own,
                              const struct tr_webapi_endpoint *endpoint)
{
    struct tr_text share = tri_pod_share(endpoint);
    struct tr_text name = tr_task_generated_name(task);
    return share.size == 0 ? tr_task_format(task, "/tmp/troupe/%.*s", (int)name.size, name.data)
                           : tri_pod_place(task, own, share);
}
