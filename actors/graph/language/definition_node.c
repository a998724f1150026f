/*
 * Nodes: the key that says what a node is (its body), and the keys that go with it.
 *
 * The tables are the language: a row is a key, its reader and the bodies it goes with. Reading
 * takes two passes over the keys, because a mapping has no order: the first finds the body, the
 * second reads the others and refuses those that do not go with it. Settings that override a task's
 * are read by definition_settings.c from the same mapping, arms of a switch by definition_switch.c.
 *
 * Values under `with` and names under `after` stay trees and names: what they refer to may come
 * later in the file. Bodies nest only through switch, no deeper than TR_SWITCH_NESTING_MAX.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/language/keys.h"

#define BODY_CALL \
    (TRI_BODY_TASK | TRI_BODY_MAP | TRI_BODY_WORKFLOW | TRI_BODY_LAUNCH | TRI_BODY_DYNAMIC)
#define BODY_OVERRIDE (TRI_BODY_TASK | TRI_BODY_MAP | TRI_BODY_DYNAMIC)
#define BODY_GATE (TRI_BODY_APPROVE | TRI_BODY_SIGNAL)
#define BODY_MAP TRI_BODY_MAP
#define BODY_ANY (BODY_CALL | TRI_BODY_SWITCH | BODY_GATE | TRI_BODY_SLEEP)

/* Beside one of these: the body of an arm. */
#define BODY_ARM (1U << 31)

/* The keys that say what a node is. */
struct body {
    const char *key;
    enum tri_body body;
};

static const struct body bodies[] = {
    {"task", TRI_BODY_TASK},       {"map", TRI_BODY_MAP},         {"workflow", TRI_BODY_WORKFLOW},
    {"launch", TRI_BODY_LAUNCH},   {"dynamic", TRI_BODY_DYNAMIC}, {"switch", TRI_BODY_SWITCH},
    {"approve", TRI_BODY_APPROVE}, {"signal", TRI_BODY_SIGNAL},   {"sleep", TRI_BODY_SLEEP},
};

static void read_with(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_node *node = target;
    node->with = tri_keys_expect_map(definition, value, "with") ? value : NULL;
}

static void read_over(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_node *node = target;
    node->has_over = tri_keys_read_names(definition, value, &node->over, &node->over_count);
}

static void read_parallelism(struct tri_definition *definition, const struct tr_tree *value,
                             void *target)
{
    struct tri_node *node = target;
    (void)tri_keys_read_count(definition, value, 1, TR_PARALLELISM_MAX, &node->parallelism);
}

/*
 * Only one of the two criteria may be given. The place of the first one tells that it was there: a
 * line counts from 1, so 0 means none.
 */
static bool begin_criterion(struct tri_definition *definition, const struct tr_tree *value,
                            struct tri_node *node)
{
    if (node->success_place.line != 0) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "min_successes and min_success_ratio do not go together\nkeep one of them");
        return false;
    }
    node->success_place = value->place;
    return true;
}

/* Flyte's min_successes. 0 is none given there, and the ratio of 0 says the same: all may fail. */
static void read_min_successes(struct tri_definition *definition, const struct tr_tree *value,
                               void *target)
{
    struct tri_node *node = target;
    if (begin_criterion(definition, value, node) &&
        tri_keys_read_count(definition, value, 0, UINT32_MAX - 1, &node->min_successes)) {
        node->allows_failures = true;
        node->min_success_ratio = node->min_successes == 0 ? 0 : 1; /* a count of 0 is none given */
    }
}

/* Flyte's min_success_ratio; 1 is the default, with which no element may fail. */
static void read_min_success_ratio(struct tri_definition *definition, const struct tr_tree *value,
                                   void *target)
{
    struct tri_node *node = target;
    struct tr_tree resolved = tr_tree_resolve(value);
    double ratio = resolved.kind == TR_TREE_INT     ? (double)resolved.integer
                   : resolved.kind == TR_TREE_FLOAT ? resolved.number
                                                    : -1;
    if (!begin_criterion(definition, value, node)) {
        return;
    }
    if (!(ratio >= 0) || ratio > 1) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "this is no ratio\nwrite a number from 0 to 1");
        return;
    }
    node->min_success_ratio = ratio;
    node->allows_failures = ratio < 1;
}

static void read_errors(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tri_node *node = target;
    (void)tri_keys_read_name(definition, value, &node->errors);
}

static void read_run_all(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_node *node = target;
    (void)tri_keys_read_bool(definition, value, &node->runs_all);
}

static void read_signal_type(struct tri_definition *definition, const struct tr_tree *value,
                             void *target)
{
    struct tri_node *node = target;
    node->signal_type = tr_type_read(definition->types, definition->report, value);
}

static void read_after(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_node *node = target;
    (void)tri_keys_read_names(definition, value, &node->after, &node->after_count);
}

static void read_optional(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    struct tri_node *node = target;
    (void)tri_keys_read_bool(definition, value, &node->is_optional);
}

static void read_shown_name(struct tri_definition *definition, const struct tr_tree *value,
                            void *target)
{
    struct tri_node *node = target;
    (void)tri_keys_read_text(definition, value, &node->name);
}

static void read_deadline(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    struct tri_node *node = target;
    (void)tri_keys_read_duration(definition, value, &node->deadline_ns);
}

/*
 * A row without a reader is a key that is read elsewhere: the bodies by read_body, the settings by
 * tri_keys_read_settings. The row is there so that the key is known, and goes with some bodies
 * only.
 */
static const struct tri_key node_keys[] = {
    {"task", NULL, TRI_BODY_TASK},
    {"map", NULL, TRI_BODY_MAP},
    {"workflow", NULL, TRI_BODY_WORKFLOW},
    {"launch", NULL, TRI_BODY_LAUNCH},
    {"dynamic", NULL, TRI_BODY_DYNAMIC},
    {"switch", NULL, TRI_BODY_SWITCH},
    {"approve", NULL, TRI_BODY_APPROVE},
    {"signal", NULL, TRI_BODY_SIGNAL},
    {"sleep", NULL, TRI_BODY_SLEEP},
    {"with", read_with, BODY_CALL | BODY_GATE},
    {"over", read_over, BODY_MAP},
    {"parallelism", read_parallelism, BODY_MAP},
    {"min_successes", read_min_successes, BODY_MAP},
    {"min_success_ratio", read_min_success_ratio, BODY_MAP},
    {"errors", read_errors, BODY_MAP},
    {"run_all", read_run_all, BODY_MAP},
    {"type", read_signal_type, TRI_BODY_SIGNAL},
    {"after", read_after, BODY_ANY},
    {"optional", read_optional, BODY_ANY},
    {"name", read_shown_name, BODY_ANY},
    {"deadline", read_deadline, BODY_ANY},
    {"when", NULL, BODY_ARM}, /* its switch reads it */
    TRI_SETTING_ROWS(BODY_OVERRIDE),
};

/* A node without a body: the key that should be one is told, or that there is none. */
static void tell_bodiless(struct tri_definition *definition, const struct tr_tree *tree,
                          bool is_arm)
{
    uint32_t own = BODY_ANY | (is_arm ? BODY_ARM : 0U);
    bool has_unknown = false;
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct tr_tree *key = tree->pairs[i].key;
        bool is_known = false;
        for (size_t k = 0; k < TR_COUNT_OF(node_keys); k++) {
            is_known = is_known || tr_text_equal(key->text, tr_text_of(node_keys[k].name));
        }
        if (!is_known) {
            tri_keys_unknown_key(definition, key, "a node", node_keys, TR_COUNT_OF(node_keys), own);
            has_unknown = true;
        }
    }
    if (!has_unknown) {
        tri_report_add(
            definition->report, tree->place, "ValueRequired",
            "the node does not say what it is\n"
            "add task, map, workflow, launch, dynamic, switch, approve, signal or sleep");
    }
}

/* What a node is: the only one of its keys that says so. NULL, and told, for none or two. */
static const struct body *find_body(struct tri_definition *definition, const struct tr_tree *tree,
                                    bool is_arm, const struct tr_tree **value)
{
    const struct body *found = NULL;
    for (uint32_t i = 0; i < tree->count; i++) {
        for (size_t k = 0; k < TR_COUNT_OF(bodies); k++) {
            if (!tr_text_equal(tree->pairs[i].key->text, tr_text_of(bodies[k].key))) {
                continue;
            }
            if (found != NULL) {
                tri_report_add(definition->report, tree->pairs[i].key->place, "InvalidValue",
                               "a node is one thing, and this is '%s' and '%s'\nkeep one of them",
                               found->key, bodies[k].key);
                return NULL;
            }
            found = &bodies[k];
            *value = tree->pairs[i].value;
        }
    }
    if (found == NULL) {
        tell_bodiless(definition, tree, is_arm);
    }
    return found;
}

/*
 * Reads the keys that go with the body and reports all others. `when` is a key of an arm alone, and
 * would be refused as unknown in a node that stands in `nodes`.
 */
static void read_keys(struct tri_definition *definition, const struct tr_tree *tree,
                      const struct body *body, bool is_arm, struct tri_node *node)
{
    uint32_t own = body->body | (is_arm ? BODY_ARM : 0U);
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct tr_tree *key = tree->pairs[i].key;
        size_t k = 0;
        while (k < TR_COUNT_OF(node_keys) &&
               !tr_text_equal(key->text, tr_text_of(node_keys[k].name))) {
            k++;
        }
        bool is_when = tr_text_equal(key->text, tr_text_of("when"));
        if (k == TR_COUNT_OF(node_keys) || (is_when && !is_arm)) {
            tri_keys_unknown_key(definition, key, "a node", node_keys, TR_COUNT_OF(node_keys), own);
        } else if ((node_keys[k].bodies & own) == 0) {
            tri_report_add(definition->report, key->place, "InvalidValue",
                           "'%.*s' does not go with '%s'\nremove it", TRI_SHOWN(key->text),
                           body->key);
        } else if (node_keys[k].read != NULL) {
            definition->key = key->text;
            node_keys[k].read(definition, tree->pairs[i].value, node);
            definition->key = tr_text_of("");
        }
    }
}

/*
 * Reads the value of the key that says what the node is. It comes last, so that errors in the other
 * keys are reported even where this value is wrong.
 */
static bool read_body(struct tri_definition *definition, const struct body *body,
                      const struct tr_tree *value, uint32_t depth, struct tri_node *node)
{
    definition->key = tr_text_of(body->key);
    if (body->body == TRI_BODY_SWITCH) {
        tri_definition_read_arms(definition, value, depth, node);
        return true;
    }
    if (body->body == TRI_BODY_SLEEP) {
        return tri_keys_read_duration(definition, value, &node->sleep_ns);
    }
    return tri_keys_read_name(definition, value, &node->target);
}

/* The compiler needs the type of a signal to type its output. */
static void check_signal(struct tri_definition *definition, const struct tr_tree *tree,
                         const struct body *body)
{
    if (body->body == TRI_BODY_SIGNAL && tr_tree_find(tree, "type") == NULL) {
        tri_report_add(definition->report, tree->place, "ValueRequired",
                       "the signal does not say what it carries\nadd type: T");
    }
}

void tri_definition_begin_node(struct tri_node *node, struct tri_name id, struct tri_place place)
{
    *node =
        (struct tri_node){.id = id, .place = place, .name = tr_text_of(""), .min_success_ratio = 1};
}

/*
 * A node or an arm. False: it does not say what it is, and no more of it is read; any other mistake
 * is reported and leaves the key as if it were not there.
 */
bool tri_definition_read_node(struct tri_definition *definition, const struct tr_tree *tree,
                              struct tri_name id, uint32_t depth, struct tri_node *node)
{
    const struct tr_tree *value = NULL;
    tri_definition_begin_node(node, id, tree->place);
    if (!tri_keys_expect_map(definition, tree, "a node")) {
        return false;
    }
    bool is_arm = id.text.size == 0; /* arms have no ids of their own */
    const struct body *body = find_body(definition, tree, is_arm, &value);
    if (body == NULL) {
        return false;
    }
    node->body = body->body;
    read_keys(definition, tree, body, is_arm, node);
    if ((body->body & BODY_OVERRIDE) != 0) {
        tri_keys_read_settings(definition, tree, &node->settings, &node->first_override);
    }
    check_signal(definition, tree, body);
    return read_body(definition, body, value, depth, node);
}
