/*
 * Links to the logs of pods, as the settings make them of a template of Flyte's:
 *
 *     logs: https://logs.example.org/{{.namespace}}/{{.podName}}?container={{.containerName}}
 */
#include "plugins/kubernetes/kubernetes.h"

#define OPENS "{{."
#define CLOSES "}}"

static const char *const variables[] = {"namespace", "podName", "podUID", "containerName",
                                        "hostname"};

/* The next variable of a template: where it begins, its name, and what is behind it. */
static bool next_variable(struct tr_text text, struct tr_text *name, size_t *begin, size_t *end)
{
    const char *at = text.size == 0 ? NULL : memmem(text.data, text.size, OPENS, sizeof OPENS - 1);
    if (at == NULL) {
        return false;
    }
    *begin = (size_t)(at - text.data);
    at += sizeof OPENS - 1;
    size_t left = text.size - (size_t)(at - text.data);
    const char *close = memmem(at, left, CLOSES, sizeof CLOSES - 1);
    name->data = at;
    name->size = close == NULL ? left : (size_t)(close - at);
    *end = close == NULL ? text.size : (size_t)(close - text.data) + sizeof CLOSES - 1;
    return true;
}

static int number_of(struct tr_text name)
{
    for (int i = 0; i < (int)TR_COUNT_OF(variables); i++) {
        if (tr_text_equal(name, tr_text_of(variables[i]))) {
            return i;
        }
    }
    return -1;
}

int tri_kubernetes_check_links(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    struct tr_text left = tr_config_text(config, "logs", (struct tr_text){0});
    struct tr_text name;
    size_t begin;
    size_t end;
    while (next_variable(left, &name, &begin, &end)) {
        if (number_of(name) < 0) {
            size_t shown = name.size < 60 ? name.size : 60;
            return TRI_POD_REFUSE(checker,
                                  "%s.logs has {{.%.*s}}, which is none of namespace, podName, "
                                  "podUID, containerName and hostname",
                                  checker->place, (int)shown, name.data);
        }
        left = (struct tr_text){.data = left.data + end, .size = left.size - end};
    }
    return 0;
}

/* Its bytes for a format, which takes no null, however few of them there are. */
static const char *bytes_of(struct tr_text text)
{
    return text.size == 0 ? "" : text.data;
}

struct tr_text tri_kubernetes_link(struct tr_webapi_batch *batch,
                                   const struct tri_kubernetes_link *of)
{
    struct tr_text left = tr_config_text(batch->endpoint->config, "logs", (struct tr_text){0});
    const struct tr_text values[TR_COUNT_OF(variables)] = {of->namespace, of->pod, of->uid,
                                                           of->container, of->node};
    struct tr_text made = {.data = "", .size = 0};
    struct tr_text name;
    size_t begin;
    size_t end;
    while (next_variable(left, &name, &begin, &end)) {
        int number = number_of(name);
        struct tr_text value = number < 0 ? (struct tr_text){0} : values[number];
        made = tri_kubernetes_format(batch, "%.*s%.*s%.*s", (int)made.size, bytes_of(made),
                                     (int)begin, bytes_of(left), (int)value.size, bytes_of(value));
        left = (struct tr_text){.data = left.data + end, .size = left.size - end};
    }
    return tri_kubernetes_format(batch, "%.*s%.*s", (int)made.size, bytes_of(made), (int)left.size,
                                 bytes_of(left));
}
