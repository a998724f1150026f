/*
 * Tasks that are resources by cards: which card a task has, what it is made of, and the keys that
 * say so. A task names a card by `config: {card: NAME}`, or has a type that is a card's name, of
 * ours or of Flyte's; one of the type `resource` brings a manifest and rules of its own.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <stdio.h>

#define PLACE_BYTES 160

/* ------------------------------------------------------------------------------ which one it is */

/* "ray.io/v1": its group and version. */
static void split_version(struct tr_text text, struct tr_text *group, struct tr_text *version)
{
    const char *slash = text.size == 0 ? NULL : memchr(text.data, '/', text.size);
    size_t size = slash == NULL ? 0 : (size_t)(slash - text.data);
    size_t passed = slash == NULL ? 0 : size + 1;
    *group = (struct tr_text){.data = text.data, .size = size};
    *version = (struct tr_text){.data = text.data + passed, .size = text.size - passed};
}

static struct tri_card_resource resource_of_manifest(struct tr_bytes config)
{
    struct tr_bytes manifest = tr_json_get(config, "manifest");
    struct tri_card_resource found = {
        .plural = tr_json_text(tr_json_get(config, "plural")),
        .kind = tr_json_text(tr_json_get(manifest, "kind")),
        .is_cluster =
            tr_text_equal(tr_json_text(tr_json_get(config, "scope")), tr_text_of("cluster")),
        .name_bytes_max = TR_CARD_RESOURCE_NAME_BYTES_MAX};
    split_version(tr_json_text(tr_json_get(manifest, "apiVersion")), &found.group, &found.version);
    return found;
}

bool tri_kubernetes_find_card(struct tr_task_context *task,
                              const struct tr_webapi_endpoint *endpoint,
                              struct tri_kubernetes_resource *resource, struct tr_text *problem)
{
    const struct tr_task_template *template = tr_task_template(task);
    struct tr_bytes cards = tr_json_get(endpoint->config, "cards");
    struct tr_text said = tr_json_text(tr_json_get(template->config, "card"));
    struct tr_text flytes = tr_json_text(tr_json_get(template->extra, "type"));
    struct tr_text type = flytes.size > 0 ? flytes : template->type;
    *problem = (struct tr_text){0};
    *resource = (struct tri_kubernetes_resource){
        .manifest = tr_json_get(template->config, "manifest"), .card = {.name = type}};
    if (resource->manifest.size > 0) {
        resource->found = resource_of_manifest(template->config);
        return true;
    }
    if (tri_card_find(cards, said.size > 0 ? said : type, &resource->card)) {
        resource->found = tri_card_resource(resource->card.value);
        return true;
    }
    if (said.size > 0) {
        *problem = tr_task_format(task,
                                  "there is no card '%.*s': write it below %s.cards, or correct "
                                  "`card`",
                                  (int)said.size, said.data, TRI_KUBERNETES_SETTINGS);
    }
    return false;
}

struct tr_text tri_kubernetes_kind_text(struct tr_task_context *task,
                                        const struct tri_kubernetes_resource *resource)
{
    const struct tri_card_resource *found = &resource->found;
    return tr_task_format(task, "%zu%s:%.*s.%.*s%s%.*s", found->name_bytes_max,
                          found->is_cluster ? "c" : "", (int)found->plural.size, found->plural.data,
                          (int)found->version.size, found->version.data,
                          found->group.size > 0 ? "." : "", (int)found->group.size,
                          found->group.data == NULL ? "" : found->group.data);
}

/* --------------------------------------------------------------------------- what it is made of */

/* The message of a task of Flyte's, or what a task of ours says in its place. */
static struct tr_bytes custom_of(struct tr_task_context *task)
{
    const struct tr_task_template *template = tr_task_template(task);
    struct tr_bytes own = tr_json_get(template->config, "custom");
    return own.size > 0 ? own : tr_json_get(template->extra, "custom");
}

static void add_words(struct tr_build *build, struct tr_bytes words)
{
    struct tr_json_walk walk = tr_json_walk(words);
    while (tr_json_next(&walk)) {
        tr_build_value(build, walk.value);
    }
}

/* What a card may ask of the task: its words as they are, and as its container has them. */
static int task_value(struct tr_task_context *task, const struct tri_kubernetes_making *making,
                      struct tr_bytes *value)
{
    const struct tr_task_template *template = tr_task_template(task);
    struct tr_json_walk containers = tr_json_walk(tr_json_get(making->spec, "containers"));
    struct tr_bytes container = tr_json_next(&containers) ? containers.value : (struct tr_bytes){0};
    int64_t seconds = template->timeout_ns / 1000000000;
    struct tr_build build = tr_build_of_task(task);
    tr_build_map(&build);
    tr_build_member_text(&build, "name", template->name);
    tr_build_member_text(&build, "type", template->type);
    tr_build_member_text(&build, "image", tr_json_text(tr_json_get(container, "image")));
    tr_build_member_value(&build, "resources", tr_json_get(container, "resources"));
    tr_build_member_bool(&build, "interruptible", template->is_interruptible);
    if (seconds > 0) {
        tr_build_member_i64(&build, "timeout_seconds", seconds);
    }
    if (template->argc > 0) {
        tr_build_member_list(&build, "argv");
        for (uint32_t i = 0; i < template->argc; i++) {
            tr_build_text(&build,
                          tri_pod_text(task, making->pod, making->endpoint, template->argv[i]));
        }
        tr_build_end(&build);
        tr_build_member_list(&build, "words");
        add_words(&build, tr_json_get(container, "command"));
        add_words(&build, tr_json_get(container, "args"));
        tr_build_end(&build);
    }
    tr_build_end(&build);
    return tr_build_take(&build, value);
}

static int text_value(struct tr_task_context *task, struct tr_text text, struct tr_bytes *value)
{
    struct tr_build build = tr_build_of_task(task);
    tr_build_text(&build, text);
    return tr_build_take(&build, value);
}

static int give_values(struct tr_task_context *task, struct tri_card_making *card,
                       const struct tri_kubernetes_making *making)
{
    struct tr_bytes of_task = {0};
    struct tr_bytes name = {0};
    struct tr_bytes namespace = {0};
    int error = task_value(task, making, &of_task);
    if (error == 0) {
        error = text_value(task, tr_text_of(making->name), &name);
    }
    if (error == 0) {
        error = text_value(task, making->group->namespace, &namespace);
    }
    tri_card_give(card, "custom", custom_of(task));
    tri_card_give(card, "task", of_task);
    tri_card_give(card, "name", name);
    tri_card_give(card, "namespace", namespace);
    tri_card_give(card, "pod", making->spec);
    tri_card_give(card, "steady_pod", making->steady_spec);
    tri_card_give(card, "labels", making->labels);
    tri_card_give(card, "annotations", making->annotations);
    return error;
}

/* ------------------------------------------------------------------------------------- the body */

/* A map, with the manifest's below it, and one member more. */
static int join_map(struct tr_task_context *task, struct tr_bytes below, struct tr_bytes above,
                    const char *name, struct tr_text value, struct tr_bytes *map)
{
    static const char *const paired[] = {NULL};
    struct tr_bytes more = {0};
    struct tr_build one = tr_build_of_task(task);
    tr_build_map(&one);
    tr_build_member_text(&one, name, value);
    tr_build_end(&one);
    int error = tr_build_take(&one, &more);
    const struct tr_bytes layers[] = {above, more};
    *map = tr_json_type(below) == TR_CODEC_MAP ? below : more;
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(layers); i++) {
        struct tr_build build = tr_build_of_task(task);
        tr_build_laid_over(&build, *map, layers[i], paired);
        error = tr_build_take(&build, map);
    }
    return error;
}

static int add_metadata(struct tr_build *build, struct tr_task_context *task,
                        const struct tri_kubernetes_resource *resource,
                        const struct tri_kubernetes_making *making, struct tr_bytes below)
{
    struct tr_bytes labels = {0};
    struct tr_bytes annotations = {0};
    bool is_own = resource->manifest.size > 0;
    int error = join_map(task, tr_json_get(below, "labels"), making->labels,
                         TRI_KUBERNETES_ROLE_LABEL, tr_text_of("resource"), &labels);
    if (error == 0) {
        error = join_map(task, tr_json_get(below, "annotations"), making->annotations,
                         TRI_KUBERNETES_CARD_ANNOTATION,
                         is_own ? (struct tr_text){0} : resource->card.name, &annotations);
    }
    tr_build_member_map(build, "metadata");
    tr_build_member_text(build, "name", tr_text_of(making->name));
    tr_build_member_value(build, "labels", labels);
    tr_build_member_value(build, "annotations", annotations);
    tr_build_end(build);
    return error;
}

static struct tr_text api_version(struct tr_task_context *task,
                                  const struct tri_card_resource *found)
{
    return tr_task_format(task, "%.*s%s%.*s", (int)found->group.size,
                          found->group.data == NULL ? "" : found->group.data,
                          found->group.size > 0 ? "/" : "", (int)found->version.size,
                          found->version.data);
}

static bool is_head(struct tr_text name)
{
    static const char *const heads[] = {"apiVersion", "kind", "metadata"};
    for (size_t i = 0; i < TR_COUNT_OF(heads); i++) {
        if (tr_text_equal(name, tr_text_of(heads[i]))) {
            return true;
        }
    }
    return false;
}

static int build_body(struct tr_task_context *task, const struct tri_kubernetes_resource *resource,
                      const struct tri_kubernetes_making *making, struct tr_bytes made,
                      struct tr_bytes *body)
{
    struct tr_build build = tr_build_of_task(task);
    struct tr_json_walk walk = tr_json_walk(made);
    tr_build_map(&build);
    tr_build_member_text(&build, "apiVersion", api_version(task, &resource->found));
    tr_build_member_text(&build, "kind", resource->found.kind);
    int error = add_metadata(&build, task, resource, making, tr_json_get(made, "metadata"));
    while (error == 0 && tr_json_next(&walk)) {
        if (!is_head(walk.name)) {
            tr_build_name(&build, walk.name);
            tr_build_value(&build, walk.value);
        }
    }
    if (resource->manifest.size > 0) {
        tr_build_member_value(&build, "$rules",
                              tr_json_get(tr_task_template(task)->config, "status"));
    }
    tr_build_end(&build);
    return error != 0 ? error : tr_build_take(&build, body);
}

int tri_kubernetes_make_resource(struct tr_task_context *task,
                                 const struct tri_kubernetes_resource *resource,
                                 const struct tri_kubernetes_making *making, struct tr_bytes *body,
                                 struct tr_text *problem)
{
    struct tri_card_making *card = tr_task_scratch(task, sizeof *card);
    struct tr_bytes made = {0};
    if (card == NULL) {
        return TR_MEMORY;
    }
    tri_card_begin(card, task, resource->card.name);
    int error = give_values(task, card, making);
    if (error == 0) {
        error = resource->manifest.size > 0 ? tri_card_make_tree(card, resource->manifest, &made)
                                            : tri_card_make(card, resource->card.value, &made);
    }
    if (error == TR_INVALID) {
        *problem = tr_task_format(task, "card '%.*s': %s", (int)resource->card.name.size,
                                  resource->card.name.data, card->problem);
        return error;
    }
    return error != 0 ? error : build_body(task, resource, making, made, body);
}

/* ---------------------------------------------------------------------------------------- check */

/* What stands in a URL is of small letters, digits, and what else is given. */
static bool is_plain(struct tr_text name, const char *others)
{
    bool is = name.size <= TR_KUBERNETES_OBJECT_BYTES_MAX;
    for (size_t i = 0; i < name.size && is; i++) {
        char letter = name.data[i];
        is = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
             (letter != '\0' && strchr(others, letter) != NULL);
    }
    return is;
}

static int check_manifest(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    struct tri_card_resource found = resource_of_manifest(config);
    struct tr_text scope = tr_json_text(tr_json_get(config, "scope"));
    if (found.kind.size == 0 || found.version.size == 0) {
        return TRI_POD_REFUSE(checker, "%s.manifest has to say its apiVersion and its kind",
                              checker->place);
    }
    if (found.plural.size == 0) {
        return TRI_POD_REFUSE(checker,
                              "%s.plural is missing: it is how the API calls objects of kind "
                              "%.*s, such as rayjobs",
                              checker->place, (int)found.kind.size, found.kind.data);
    }
    if (scope.size > 0 && !tr_text_equal(scope, tr_text_of("namespace")) &&
        !tr_text_equal(scope, tr_text_of("cluster"))) {
        return TRI_POD_REFUSE(checker, "%s.scope is namespace or cluster", checker->place);
    }
    if (!is_plain(found.plural, "-")) {
        return TRI_POD_REFUSE(checker, "%s.plural has to be of small letters, digits and -",
                              checker->place);
    }
    if (!is_plain(found.group, "-.") || !is_plain(found.version, "")) {
        return TRI_POD_REFUSE(checker,
                              "%s.manifest.apiVersion has to be GROUP/VERSION, as ray.io/v1",
                              checker->place);
    }
    int error = tri_card_check_status(checker->place, tr_json_get(config, "status"),
                                      checker->problem, checker->size);
    return error != 0 ? error
                      : tri_card_check_make(checker->place, tr_json_get(config, "manifest"),
                                            checker->problem, checker->size);
}

int tri_kubernetes_check_card(const struct tri_pod_checker *checker,
                              const struct tr_task_template *task)
{
    static const char *const of_manifests[] = {"plural", "scope", "status"};
    struct tr_bytes manifest = tr_json_get(task->config, "manifest");
    bool is_resource = tr_text_equal(task->type, tr_text_of("resource"));
    if (is_resource && manifest.size == 0) {
        return TRI_POD_REFUSE(checker,
                              "%s.manifest is missing, which a task of type resource is made of",
                              checker->place);
    }
    if (manifest.size > 0 && tr_json_get(task->config, "card").size > 0) {
        return TRI_POD_REFUSE(checker, "%s has both `card` and `manifest`: leave out one of them",
                              checker->place);
    }
    for (size_t i = 0; manifest.size == 0 && i < TR_COUNT_OF(of_manifests); i++) {
        if (tr_json_get(task->config, of_manifests[i]).size > 0) {
            return TRI_POD_REFUSE(checker, "%s.%s needs a `manifest` beside it", checker->place,
                                  of_manifests[i]);
        }
    }
    return manifest.size > 0 ? check_manifest(checker, task->config) : 0;
}

int tri_kubernetes_check_cards(const struct tri_pod_checker *checker, struct tr_bytes config)
{
    struct tr_json_walk walk = tr_json_walk(tr_json_get(config, "cards"));
    int error = 0;
    while (error == 0 && tr_json_next(&walk)) {
        char place[PLACE_BYTES];
        if (walk.name.size == 0 || walk.name.size > TR_CARD_NAME_BYTES_MAX) {
            return TRI_POD_REFUSE(checker,
                                  "%s.cards has a name of %zu bytes; names of cards have 1 to %d",
                                  checker->place, walk.name.size, TR_CARD_NAME_BYTES_MAX);
        }
        (void)snprintf(place, sizeof place, "%s.cards.%.*s", checker->place, (int)walk.name.size,
                       walk.name.data);
        error = tri_card_check(place, walk.value, checker->problem, checker->size);
    }
    return error;
}
