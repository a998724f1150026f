/*
 * Workflows: their interface, their nodes, and what happens around them; and the document that a
 * dynamic task writes, which is the body of a workflow with tasks and workflows of its own.
 *
 * Outputs stay a tree here: they refer to nodes, and take their types from them. `start-node` and
 * `end-node` are the ends of every graph of Flyte's, and `err` is what handlers call the error, so
 * no input or node may have these names.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/language/keys.h"

static void read_inputs(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tri_workflow *workflow = target;
    tri_definition_read_variables(definition, value, true, &workflow->inputs,
                                  &workflow->input_places);
}

static void read_outputs(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_workflow *workflow = target;
    workflow->outputs = tri_keys_expect_map(definition, value, "outputs") ? value : NULL;
}

/*
 * Says which node the next errors are about: "workflow.node". Callers keep the subject from before
 * and set it again.
 */
static void set_subject(struct tri_definition *definition, const struct tri_workflow *workflow,
                        struct tr_text node)
{
    (void)tri_report_subject(definition->report,
                             tr_arena_print(definition->scratch, "%.*s.%.*s",
                                            TRI_SHOWN(workflow->name.text), TRI_SHOWN(node)));
}

static bool is_reserved(struct tr_text name)
{
    static const char *const names[] = {"start-node", "end-node", "err"};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        if (tr_text_equal(name, tr_text_of(names[i]))) {
            return true;
        }
    }
    return false;
}

/*
 * A node with a reserved name is reported and kept, so that references to it do not add errors of
 * their own. A node that does not say what it is, is left out.
 */
static void read_nodes(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_workflow *workflow = target;
    if (!tri_keys_expect_map(definition, value, "nodes")) {
        return;
    }
    struct tri_node *nodes = tr_arena_array(definition->scratch, value->count, sizeof *nodes);
    uint32_t count = 0;
    struct tr_text before = definition->report->subject;
    for (uint32_t i = 0; nodes != NULL && i < value->count; i++) {
        const struct tr_pair *pair = &value->pairs[i];
        struct tri_name id;
        set_subject(definition, workflow, pair->key->text);
        definition->key = tr_text_of("");
        if (!tri_keys_read_name(definition, pair->key, &id)) {
            continue;
        }
        if (is_reserved(id.text)) {
            tri_report_add(definition->report, id.place, "InvalidValue",
                           "the name '%.*s' is reserved\nchoose another", TRI_SHOWN(id.text));
        }
        count += tri_definition_read_node(definition, pair->value, id, 0, &nodes[count]) ? 1 : 0;
    }
    (void)tri_report_subject(definition->report, before);
    workflow->nodes = nodes;
    workflow->node_count = nodes == NULL ? 0 : count;
}

/*
 * The body of on_failure or finally, which has its key as its id. `after` is refused: a handler
 * runs when the nodes have ended, and there is no node it could be put before.
 */
static const struct tri_node *read_handler(struct tri_definition *definition,
                                           const struct tr_tree *value,
                                           const struct tri_workflow *workflow, const char *key)
{
    struct tri_node *node = tr_arena_alloc(definition->scratch, sizeof *node);
    struct tri_name id = {.text = tr_text_of(key), .place = value->place};
    struct tr_text before = definition->report->subject;
    set_subject(definition, workflow, id.text);
    bool is_fine = node != NULL && tri_definition_read_node(definition, value, id, 0, node);
    if (is_fine && node->after_count > 0) {
        tri_report_add(definition->report, node->after[0].place, "InvalidValue",
                       "'after' does not go with '%s'\nremove it: it runs after all others", key);
    }
    (void)tri_report_subject(definition->report, before);
    return is_fine ? node : NULL;
}

static void read_on_failure(struct tri_definition *definition, const struct tr_tree *value,
                            void *target)
{
    struct tri_workflow *workflow = target;
    workflow->on_failure = read_handler(definition, value, workflow, "on_failure");
}

static void read_finally(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_workflow *workflow = target;
    workflow->finally = read_handler(definition, value, workflow, "finally");
}

static void read_policy(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    static const char *const words[] = {
        [TR_POLICY_FAIL_IMMEDIATELY] = "fail_immediately",
        [TR_POLICY_FINISH_RUNNABLE] = "finish_runnable",
    };
    struct tri_workflow *workflow = target;
    uint32_t position;
    if (tri_keys_read_word(definition, value, words, TR_COUNT_OF(words), &position)) {
        workflow->policy = (enum tr_failure_policy)position;
    }
}

static void read_max_parallelism(struct tri_definition *definition, const struct tr_tree *value,
                                 void *target)
{
    struct tri_workflow *workflow = target;
    (void)tri_keys_read_count(definition, value, 1, TR_PARALLELISM_MAX, &workflow->max_parallelism);
}

static void read_timeout(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_workflow *workflow = target;
    (void)tri_keys_read_duration(definition, value, &workflow->timeout_ns);
}

static void read_labels(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tri_workflow *workflow = target;
    (void)tri_keys_read_labels(definition, value, &workflow->labels);
}

static void read_notify(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tri_workflow *workflow = target;
    tri_keys_read_notify(definition, value, &workflow->notifications,
                         &workflow->notification_count);
}

static void read_description(struct tri_definition *definition, const struct tr_tree *value,
                             void *target)
{
    struct tri_workflow *workflow = target;
    (void)tri_keys_read_text(definition, value, &workflow->description);
}

static void check_inputs(struct tri_definition *definition, const struct tri_workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->inputs.count; i++) {
        struct tr_text name = workflow->inputs.items[i].name;
        if (is_reserved(name)) {
            tri_report_add(definition->report, workflow->input_places[i], "InvalidValue",
                           "the name '%.*s' is reserved\nchoose another", TRI_SHOWN(name));
        }
    }
}

void tri_definition_begin_workflow(const struct tri_definition *definition,
                                   struct tri_workflow *workflow)
{
    workflow->source = definition->source;
    workflow->folder = definition->folder;
    workflow->description = workflow->labels = tr_text_of("");
}

static void read_workflow(struct tri_definition *definition, const struct tr_tree *tree,
                          void *target)
{
    static const struct tri_key keys[] = {
        {"inputs", read_inputs, 0},
        {"nodes", read_nodes, 0},
        {"outputs", read_outputs, 0},
        {"on_failure", read_on_failure, 0},
        {"finally", read_finally, 0},
        {"policy", read_policy, 0},
        {"max_parallelism", read_max_parallelism, 0},
        {"timeout", read_timeout, 0},
        {"description", read_description, 0},
        {"labels", read_labels, 0},
        {"notify", read_notify, 0},
    };
    struct tri_workflow *workflow = target;
    tri_definition_begin_workflow(definition, workflow);
    tri_keys_read_keys(definition, tree, "a workflow", keys, TR_COUNT_OF(keys), workflow);
    check_inputs(definition, workflow);
    const struct tr_tree *nodes = tr_tree_find(tree, "nodes");
    if (tree->kind == TR_TREE_MAP && (nodes == NULL || nodes->count == 0)) {
        tri_report_add(definition->report, workflow->name.place, "NoNodesFound",
                       "the workflow has no nodes\nadd nodes:");
    }
}

static void read_own_tasks(struct tri_definition *definition, const struct tr_tree *value,
                           void *target)
{
    (void)target;
    tri_definition_read_tasks(definition, value);
}

static void read_own_workflows(struct tri_definition *definition, const struct tr_tree *value,
                               void *target)
{
    (void)target;
    tri_definition_read_workflows(definition, value);
}

static void pass_over(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    (void)definition;
    (void)value;
    (void)target;
}

/*
 * A decision has no inputs: the task knows its own and writes them as values. Its tasks and
 * workflows go to the same lists as those of a file.
 */
void tri_definition_read_decision(struct tri_definition *definition, const struct tr_tree *tree,
                                  struct tri_workflow *workflow)
{
    static const struct tri_key keys[] = {
        {"troupe", pass_over, 0}, /* the reader has checked the version */
        {"tasks", read_own_tasks, 0},       {"workflows", read_own_workflows, 0},
        {"nodes", read_nodes, 0},           {"outputs", read_outputs, 0},
        {"on_failure", read_on_failure, 0}, {"finally", read_finally, 0},
        {"policy", read_policy, 0},         {"max_parallelism", read_max_parallelism, 0},
        {"timeout", read_timeout, 0},       {"description", read_description, 0},
    };
    tri_keys_read_keys(definition, tree, "a dynamic task's document", keys, TR_COUNT_OF(keys),
                       workflow);
}

void tri_definition_read_workflows(struct tri_definition *definition, const struct tr_tree *tree)
{
    tri_keys_read_named(definition, tree, "workflows", &definition->workflows,
                        sizeof(struct tri_workflow), read_workflow);
}
