/*
 * The pod of a role: the task's own pod, with what the card says of its first container and what a
 * user's message lays over it. It carries our labels, so that the watch of pods sees it.
 *
 * A deadline of the task's is its resource's affair: a pod of a Deployment may have none.
 */
#include "plugins/cards/cards.h"

#define POD_VARIABLE "TROUPE_POD"

static struct tr_bytes get(struct tr_bytes map, const char *name)
{
    return tr_json_get(map, name);
}

/* An empty list says that there is none; nothing, that it stays. */
static bool is_emptied(struct tr_bytes value)
{
    struct tr_json_walk walk = tr_json_walk(value);
    return tr_json_type(value) == TR_CODEC_ARRAY && !tr_json_next(&walk);
}

/* ---------------------------------------------------------------------------------- resources */

/* What Kubernetes calls the resources of flyteidl.core.Resources. */
static const char *const amounts[] = {NULL,     "cpu",     "nvidia.com/gpu",
                                      "memory", "storage", "ephemeral-storage"};
static const struct tr_json_word amount_words[] = {
    {"CPU", 1}, {"GPU", 2}, {"MEMORY", 3}, {"STORAGE", 4}, {"EPHEMERAL_STORAGE", 5}};

static void add_amounts(struct tr_build *build, const char *name, struct tr_bytes list)
{
    struct tr_json_walk walk = tr_json_walk(list);
    if (tr_json_type(list) == TR_CODEC_MAP) { /* as Kubernetes has them */
        tr_build_member_value(build, name, list);
        return;
    }
    tr_build_member_map(build, name);
    while (tr_json_next(&walk)) {
        int64_t number =
            tr_json_word(get(walk.value, "name"), amount_words, TR_COUNT_OF(amount_words), 0);
        if (number > 0) {
            tr_build_member_text(build, amounts[number], tr_json_text(get(walk.value, "value")));
        }
    }
    tr_build_end(build);
}

/* Of a message or of Kubernetes' own; what is said of requests alone is the limit, too. */
struct tr_bytes tri_card_resources(struct tri_card_making *making, struct tr_bytes resources)
{
    struct tr_bytes requests = get(resources, "requests");
    struct tr_bytes limits = get(resources, "limits");
    struct tr_build build = tri_card_build(making);
    if (!tri_card_is_there(requests) && !tri_card_is_there(limits)) {
        return (struct tr_bytes){0};
    }
    tr_build_map(&build);
    add_amounts(&build, "requests", requests.size > 0 ? requests : limits);
    add_amounts(&build, "limits", limits.size > 0 ? limits : requests);
    tr_build_end(&build);
    return tri_card_built(making, &build);
}

/* ---------------------------------------------------------------------------------- container */

/* The variable that says which pod it is, of those that do the same beside each other. */
static void add_pod_name(struct tr_build *build)
{
    tr_build_map(build);
    tr_build_member_text(build, "name", tr_text_of(POD_VARIABLE));
    tr_build_member_map(build, "valueFrom");
    tr_build_member_map(build, "fieldRef");
    tr_build_member_text(build, "fieldPath", tr_text_of("metadata.name"));
    tr_build_end(build);
    tr_build_end(build);
    tr_build_end(build);
}

/* Whether a command is lines of shell with their folder behind them; or the words themselves. */
static bool has_folder(struct tr_bytes command)
{
    struct tr_json_walk walk = tr_json_walk(command);
    struct tr_text words[4] = {{0}};
    uint32_t count = 0;
    while (tr_json_next(&walk)) {
        words[count < TR_COUNT_OF(words) ? count : 0] = tr_json_text(walk.value);
        count++;
    }
    return count == TR_COUNT_OF(words) && tr_text_equal(words[0], tr_text_of("/bin/sh")) &&
           words[3].size > 0 && words[3].data[0] == '/';
}

/*
 * The lines of shell around the words have their folder for the last word of the command. Who does
 * the same beside the one whose outputs count has a folder of its own below that.
 */
static struct tr_bytes command_beside(struct tri_card_making *making, struct tr_bytes command)
{
    struct tr_json_walk walk = tr_json_walk(command);
    struct tr_build build = tri_card_build(making);
    if (tr_json_type(command) != TR_CODEC_ARRAY || !has_folder(command)) {
        return (struct tr_bytes){0};
    }
    tr_build_list(&build);
    while (tr_json_next(&walk)) {
        struct tr_text word = tr_json_text(walk.value);
        tr_build_text(&build, walk.left > 0
                                  ? word
                                  : tr_task_format(making->task, "%.*s/$(" POD_VARIABLE ")",
                                                   (int)word.size, word.data));
    }
    tr_build_end(&build);
    return tri_card_built(making, &build);
}

static struct tr_bytes environment_of(struct tri_card_making *making, struct tr_bytes base,
                                      struct tr_bytes more, bool is_beside)
{
    struct tr_build build = tri_card_build(making);
    struct tr_json_walk below = tr_json_walk(base);
    struct tr_json_walk above = tr_json_walk(more);
    tr_build_list(&build);
    if (is_beside) {
        add_pod_name(&build);
    }
    while (tr_json_next(&below)) {
        tr_build_value(&build, below.value);
    }
    while (tr_json_next(&above)) {
        tr_build_map(&build);
        tr_build_member_text(&build, "name", above.name);
        bool is_text = tr_json_type(above.value) == TR_CODEC_TEXT;
        tr_build_member_value(&build, is_text ? "value" : "valueFrom", above.value);
        tr_build_end(&build);
    }
    tr_build_end(&build);
    return tri_card_built(making, &build);
}

/* What takes the place of a member of the container; empty: it stays. */
struct change {
    const char *name;
    struct tr_bytes value;
    bool is_removed;
};

static const struct change *change_of(const struct change *changes, size_t count,
                                      struct tr_text name)
{
    for (size_t i = 0; i < count; i++) {
        bool is_it = tr_text_equal(name, tr_text_of(changes[i].name));
        if (is_it && (changes[i].value.size > 0 || changes[i].is_removed)) {
            return &changes[i];
        }
    }
    return NULL;
}

/* A map with changes: those of members that it has, and then those that it has not. */
static void add_changed(struct tr_build *build, struct tr_bytes map, const struct change *changes,
                        size_t count)
{
    struct tr_json_walk walk = tr_json_walk(map);
    tr_build_map(build);
    while (tr_json_next(&walk)) {
        const struct change *change = change_of(changes, count, walk.name);
        if (change == NULL) {
            tr_build_name(build, walk.name);
            tr_build_value(build, walk.value);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!changes[i].is_removed) {
            tr_build_member_value(build, changes[i].name, changes[i].value);
        }
    }
    tr_build_end(build);
}

static void add_container(struct tr_build *build, struct tri_card_making *making,
                          struct tr_bytes container, struct tr_bytes role)
{
    bool has_no_command = is_emptied(get(role, "command"));
    bool has_no_args = is_emptied(get(role, "args"));
    bool is_beside = tr_json_bool(get(role, "beside"));
    struct tr_bytes command = has_no_command ? (struct tr_bytes){0}
                              : is_beside    ? command_beside(making, get(container, "command"))
                                             : get(role, "command");
    const struct change changes[] = {
        {"name", get(role, "container"), false},
        {"image", get(role, "image"), false},
        {"command", command, has_no_command},
        {"args", has_no_args ? (struct tr_bytes){0} : get(role, "args"), has_no_args},
        {"env", environment_of(making, get(container, "env"), get(role, "environment"), is_beside),
         false},
        {"resources", tri_card_resources(making, get(role, "resources")), false},
        {"ports", get(role, "ports"), false},
    };
    add_changed(build, container, changes, TR_COUNT_OF(changes));
}

static struct tr_bytes containers_of(struct tri_card_making *making, struct tr_bytes containers,
                                     struct tr_bytes role)
{
    struct tr_build build = tri_card_build(making);
    struct tr_json_walk walk = tr_json_walk(containers);
    bool is_first = true;
    tr_build_list(&build);
    while (tr_json_next(&walk)) {
        if (is_first) {
            add_container(&build, making, walk.value, role);
        } else {
            tr_build_value(&build, walk.value);
        }
        is_first = false;
    }
    tr_build_end(&build);
    return tri_card_built(making, &build);
}

/* ---------------------------------------------------------------------------------------- pod */

static struct tr_bytes merged(struct tri_card_making *making, struct tr_bytes base,
                              struct tr_bytes over)
{
    static const char *const paired[] = {"containers", NULL};
    struct tr_build build = tri_card_build(making);
    if (tr_json_type(over) != TR_CODEC_MAP) {
        return base;
    }
    tr_build_laid_over(&build, base, over, paired);
    return tri_card_built(making, &build);
}

static struct tr_bytes spec_of(struct tri_card_making *making, struct tr_bytes role)
{
    struct tr_bytes spec = {0};
    struct tr_bytes over = get(role, "over");
    struct tr_bytes interruptible = get(role, "interruptible");
    bool is_steady = tr_json_type(interruptible) == TR_CODEC_BOOL && !tr_json_bool(interruptible);
    (void)tri_card_named(making, tr_text_of(is_steady ? "steady_pod" : "pod"), &spec);
    spec =
        merged(making, spec,
               tri_card_is_there(get(over, "podSpec")) ? get(over, "podSpec") : get(over, "spec"));
    const struct change changes[] = {
        {"containers", containers_of(making, get(spec, "containers"), role), false},
        {"restartPolicy", get(role, "restart_policy"), false},
        {"activeDeadlineSeconds", {0}, true},
    };
    struct tr_build build = tri_card_build(making);
    add_changed(&build, spec, changes, TR_COUNT_OF(changes));
    return tri_card_built(making, &build);
}

/* Those of the user's message, and ours over them, of which one says the role. */
static struct tr_bytes labels_of(struct tri_card_making *making, struct tr_bytes role)
{
    struct tr_bytes ours = {0};
    struct tr_build build = tri_card_build(making);
    (void)tri_card_named(making, tr_text_of("labels"), &ours);
    ours = merged(making, get(get(get(role, "over"), "metadata"), "labels"), ours);
    const struct change changes[] = {{"troupe.dev/role", get(role, "role"), false}};
    add_changed(&build, ours, changes, TR_COUNT_OF(changes));
    return tri_card_built(making, &build);
}

static struct tr_bytes annotations_of(struct tri_card_making *making, struct tr_bytes role)
{
    struct tr_bytes ours = {0};
    (void)tri_card_named(making, tr_text_of("annotations"), &ours);
    return merged(making, get(get(get(role, "over"), "metadata"), "annotations"), ours);
}

struct tr_bytes tri_card_pod(struct tri_card_making *making, struct tr_bytes role)
{
    struct tr_bytes spec = spec_of(making, role);
    struct tr_bytes labels = labels_of(making, role);
    struct tr_bytes annotations = annotations_of(making, role);
    struct tr_build build = tri_card_build(making);
    if (tr_text_equal(tr_json_text(get(role, "gives")), tr_text_of("spec"))) {
        return spec;
    }
    tr_build_map(&build);
    tr_build_member_map(&build, "metadata");
    tr_build_member_value(&build, "labels", labels);
    tr_build_member_value(&build, "annotations", annotations);
    tr_build_end(&build);
    tr_build_member_value(&build, "spec", spec);
    tr_build_end(&build);
    return tri_card_built(making, &build);
}
