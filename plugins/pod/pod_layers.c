/*
 * Specs of pods, laid upon each other from a cluster's PodTemplate up to the task's own words.
 *
 * Maps are joined by their members and lists as Kubernetes itself would patch them: containers by
 * their names, variables and volumes by theirs, of which the later one counts whole. Terms of node
 * affinity are alternatives, so each of the lower ones is joined with each of the upper ones: both
 * have to hold. Other lists of maps are put one behind the other; of all else the upper counts.
 *
 * The first of the containers is the task's: so it was at the beginning (tri_pod_begin), and what
 * is laid upon it stays in its place.
 */
#include "plugins/pod/pod.h"

/* A layer on its way onto a spec. */
struct laying {
    struct tr_build *build;
    struct tr_text container; /* the task's */
    bool has_roles;
};

/* -------------------------------------------------------------------------------------- lists */

enum way { JOINED, REPLACED, CROSSED, APPENDED };

/* Lists whose items are known by a member, and what becomes of two that are the same. */
static const struct list_rule {
    const char *name;
    const char *key;
    enum way way;
} list_rules[] = {
    {"containers", "name", JOINED},
    {"initContainers", "name", JOINED},
    {"env", "name", REPLACED},
    {"volumes", "name", REPLACED},
    {"volumeMounts", "mountPath", REPLACED},
    {"imagePullSecrets", "name", REPLACED},
    {"nodeSelectorTerms", "", CROSSED},
};

/* A list of maps without a rule of its own. */
static const struct list_rule appended = {"", "", APPENDED};

static const struct list_rule *rule_of(struct tr_text name)
{
    for (size_t i = 0; i < TR_COUNT_OF(list_rules); i++) {
        if (tr_text_equal(name, tr_text_of(list_rules[i].name))) {
            return &list_rules[i];
        }
    }
    return &appended;
}

/* Whether it is a list of maps; one without items is. */
static bool is_list_of_maps(struct tr_bytes value)
{
    struct tr_json_walk walk = tr_json_walk(value);
    bool is_list = tr_json_type(value) == TR_CODEC_ARRAY;
    while (is_list && tr_json_next(&walk)) {
        is_list = tr_json_type(walk.value) == TR_CODEC_MAP;
    }
    return is_list;
}

static bool is_containers(const struct list_rule *rule)
{
    return rule == &list_rules[0];
}

/*
 * What an item of a layer is known by. Of containers the first without a name, and with roles the
 * one that is called primary, are the task's.
 */
static struct tr_text key_of(const struct laying *laying, const struct list_rule *rule,
                             struct tr_bytes item, size_t place)
{
    struct tr_text key = tr_json_text(tr_json_get(item, rule->key));
    bool is_role = laying->has_roles && tr_text_equal(key, tr_text_of(TR_POD_PRIMARY));
    bool is_first = place == 0 && key.size == 0;
    return is_containers(rule) && (is_role || is_first) ? laying->container : key;
}

/* ------------------------------------------------------------------------------------ joining */

static void lay_maps(const struct laying *laying, struct tr_bytes base, struct tr_bytes over,
                     struct tr_text name);

/* The item of a layer with this key; empty: there is none. */
static struct tr_bytes find_upper(const struct laying *laying, const struct list_rule *rule,
                                  struct tr_bytes over, struct tr_text key)
{
    struct tr_json_walk walk = tr_json_walk(over);
    for (size_t i = 0; tr_json_next(&walk); i++) {
        if (key.size > 0 && tr_text_equal(key_of(laying, rule, walk.value, i), key)) {
            return walk.value;
        }
    }
    return (struct tr_bytes){0};
}

static bool has_lower(const struct list_rule *rule, struct tr_bytes base, struct tr_text key)
{
    struct tr_json_walk walk = tr_json_walk(base);
    while (tr_json_next(&walk)) {
        if (key.size > 0 && tr_text_equal(tr_json_text(tr_json_get(walk.value, rule->key)), key)) {
            return true;
        }
    }
    return false;
}

/* The lower ones in their order, and behind them those that only the layer has. */
static void lay_by_key(const struct laying *laying, const struct list_rule *rule,
                       struct tr_bytes base, struct tr_bytes over)
{
    struct tr_json_walk below = tr_json_walk(base);
    struct tr_json_walk above = tr_json_walk(over);
    while (tr_json_next(&below)) {
        struct tr_text key = tr_json_text(tr_json_get(below.value, rule->key));
        struct tr_bytes upper = find_upper(laying, rule, over, key);
        if (upper.size > 0 && rule->way == JOINED) {
            lay_maps(laying, below.value, upper, key);
        } else {
            tr_build_value(laying->build, upper.size > 0 ? upper : below.value);
        }
    }
    for (size_t i = 0; tr_json_next(&above); i++) {
        struct tr_text key = key_of(laying, rule, above.value, i);
        if (!has_lower(rule, base, key)) {
            tr_build_value(laying->build, above.value);
        }
    }
}

static void cross(const struct laying *laying, struct tr_bytes base, struct tr_bytes over)
{
    struct tr_json_walk below = tr_json_walk(base);
    while (tr_json_next(&below)) {
        struct tr_json_walk above = tr_json_walk(over);
        while (tr_json_next(&above)) {
            lay_maps(laying, below.value, above.value, (struct tr_text){0});
        }
    }
}

static void append(struct tr_build *build, struct tr_bytes list)
{
    struct tr_json_walk walk = tr_json_walk(list);
    while (tr_json_next(&walk)) {
        tr_build_value(build, walk.value);
    }
}

static void lay_lists(const struct laying *laying, const struct list_rule *rule,
                      struct tr_bytes base, struct tr_bytes over)
{
    tr_build_list(laying->build);
    if (rule->way == CROSSED) {
        cross(laying, base, over);
    } else if (rule->way == APPENDED) {
        append(laying->build, base);
        append(laying->build, over);
    } else {
        lay_by_key(laying, rule, base, over);
    }
    tr_build_end(laying->build);
}

static void lay_member(const struct laying *laying, struct tr_text name, struct tr_bytes base,
                       struct tr_bytes over)
{
    tr_build_name(laying->build, name);
    if (tr_json_type(base) == TR_CODEC_MAP && tr_json_type(over) == TR_CODEC_MAP) {
        lay_maps(laying, base, over, (struct tr_text){0});
    } else if (is_list_of_maps(base) && is_list_of_maps(over)) {
        lay_lists(laying, rule_of(name), base, over);
    } else {
        tr_build_value(laying->build, over.size > 0 ? over : base);
    }
}

/* The member of a name that need not end with a zero. */
static struct tr_bytes member(struct tr_bytes map, struct tr_text name)
{
    struct tr_json_walk walk = tr_json_walk(map);
    while (tr_json_next(&walk)) {
        if (tr_text_equal(walk.name, name)) {
            return walk.value;
        }
    }
    return (struct tr_bytes){0};
}

/* `name`, where it is not empty, is what the map goes on to be called. */
static void lay_maps(const struct laying *laying, struct tr_bytes base, struct tr_bytes over,
                     struct tr_text name)
{
    struct tr_json_walk below = tr_json_walk(base);
    struct tr_json_walk above = tr_json_walk(over);
    struct tr_text own = tr_text_of("name");
    tr_build_map(laying->build);
    if (name.size > 0) {
        tr_build_member_text(laying->build, "name", name);
    }
    while (laying->build->error == 0 && tr_json_next(&below)) {
        if (name.size == 0 || !tr_text_equal(below.name, own)) {
            lay_member(laying, below.name, below.value, member(over, below.name));
        }
    }
    while (laying->build->error == 0 && tr_json_next(&above)) {
        bool is_named = name.size > 0 && tr_text_equal(above.name, own);
        if (!is_named && member(base, above.name).size == 0) {
            lay_member(laying, above.name, (struct tr_bytes){0}, above.value);
        }
    }
    tr_build_end(laying->build);
}

/* ----------------------------------------------------------------------------------- all of it */

int tri_pod_begin(struct tr_task_context *task, struct tr_text container, struct tr_bytes *spec)
{
    struct tr_build build = tr_build_of_task(task);
    tr_build_map(&build);
    tr_build_member_list(&build, "containers");
    tr_build_map(&build);
    tr_build_member_text(&build, "name", container);
    tr_build_end(&build);
    tr_build_end(&build);
    tr_build_end(&build);
    return tr_build_take(&build, spec);
}

int tri_pod_lay(struct tr_task_context *task, struct tr_text container,
                const struct tri_pod_layer *layer, struct tr_bytes *spec)
{
    struct tr_build build = tr_build_of_task(task);
    const struct laying laying = {
        .build = &build, .container = container, .has_roles = layer->has_roles};
    if (tr_json_type(layer->spec) != TR_CODEC_MAP) {
        return 0;
    }
    lay_maps(&laying, *spec, layer->spec, (struct tr_text){0});
    return tr_build_take(&build, spec);
}

struct tr_bytes tri_pod_container(struct tr_bytes spec, struct tr_text name)
{
    struct tr_json_walk walk = tr_json_walk(tr_json_get(spec, "containers"));
    while (tr_json_next(&walk)) {
        if (tr_text_equal(tr_json_text(tr_json_get(walk.value, "name")), name)) {
            return walk.value;
        }
    }
    return (struct tr_bytes){0};
}

/* What the container `default` says is below every other one. */
static void settle_containers(const struct laying *laying, struct tr_bytes spec)
{
    struct tr_bytes lowest = tri_pod_container(spec, tr_text_of(TR_POD_DEFAULT));
    struct tr_json_walk walk = tr_json_walk(tr_json_get(spec, "containers"));
    tr_build_member_list(laying->build, "containers");
    while (tr_json_next(&walk)) {
        struct tr_text name = tr_json_text(tr_json_get(walk.value, "name"));
        if (!tr_text_equal(name, tr_text_of(TR_POD_DEFAULT))) {
            lay_maps(laying, lowest, walk.value, name);
        }
    }
    tr_build_end(laying->build);
}

int tri_pod_settle(struct tr_task_context *task, struct tr_bytes *spec)
{
    struct tr_build build = tr_build_of_task(task);
    const struct laying laying = {.build = &build};
    struct tr_json_walk walk = tr_json_walk(*spec);
    if (tri_pod_container(*spec, tr_text_of(TR_POD_DEFAULT)).size == 0) {
        return 0;
    }
    tr_build_map(&build);
    while (build.error == 0 && tr_json_next(&walk)) {
        if (tr_text_equal(walk.name, tr_text_of("containers"))) {
            settle_containers(&laying, *spec);
        } else {
            tr_build_name(&build, walk.name);
            tr_build_value(&build, walk.value);
        }
    }
    tr_build_end(&build);
    return tr_build_take(&build, spec);
}
