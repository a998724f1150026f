/*
 * Comparing definitions part by part. Types and nodes of two graphs have numbers of their own, so
 * types are compared as they are written, and nodes by their names.
 */
#include "deploy/recovery/recovery_same.h"

#include <string.h>

#include "actors/graph/document/buffer.h"

static bool bytes_equal(struct tr_bytes a, struct tr_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool tr_recovery_type_is_same(const struct tr_type *a, const struct tr_type *b)
{
    struct tr_buffer first;
    struct tr_buffer second;
    if (a == b) {
        return true;
    }
    tr_buffer_init(&first, 0);
    tr_buffer_init(&second, 0);
    tr_type_print(a, &first);
    tr_type_print(b, &second);
    bool is_same = first.error == 0 && second.error == 0 &&
                   tr_text_equal(tr_buffer_text(&first), tr_buffer_text(&second));
    tr_buffer_fini(&second);
    tr_buffer_fini(&first);
    return is_same;
}

static bool are_same_variables(const struct tr_variables *a, const struct tr_variables *b)
{
    bool is_same = a->count == b->count;
    for (uint32_t i = 0; is_same && i < a->count; i++) {
        is_same = tr_text_equal(a->items[i].name, b->items[i].name) &&
                  tr_recovery_type_is_same(a->items[i].type, b->items[i].type);
    }
    return is_same;
}

/* --------------------------------------------------------------------------- tasks */

static bool is_same_software(const struct tr_software *a, const struct tr_software *b)
{
    bool is_same = a->kind == b->kind && tr_text_equal(a->file, b->file) &&
                   tr_text_equal(a->python, b->python) && tr_text_equal(a->image, b->image) &&
                   tr_text_equal(a->runtime, b->runtime) && a->mount_count == b->mount_count &&
                   a->requirement_count == b->requirement_count;
    for (uint32_t i = 0; is_same && i < a->mount_count; i++) {
        is_same = tr_text_equal(a->mounts[i], b->mounts[i]);
    }
    for (uint32_t i = 0; is_same && i < a->requirement_count; i++) {
        is_same = tr_text_equal(a->requirements[i], b->requirements[i]);
    }
    return is_same;
}

static bool are_same_settings(const struct tr_settings *a, const struct tr_settings *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    bool is_same =
        tr_text_equal(a->cache.version, b->cache.version) && bytes_equal(a->config, b->config) &&
        is_same_software(&a->software, &b->software) &&
        a->environment_count == b->environment_count && a->secret_count == b->secret_count;
    for (uint32_t i = 0; is_same && i < a->environment_count; i++) {
        const struct tr_environment *x = &a->environment[i];
        const struct tr_environment *y = &b->environment[i];
        is_same = tr_text_equal(x->name, y->name) && tr_text_equal(x->value, y->value) &&
                  x->is_passed_on == y->is_passed_on;
    }
    for (uint32_t i = 0; is_same && i < a->secret_count; i++) {
        const struct tr_secret *x = &a->secrets[i];
        const struct tr_secret *y = &b->secrets[i];
        is_same = tr_text_equal(x->name, y->name) && tr_text_equal(x->group, y->group) &&
                  tr_text_equal(x->key, y->key) && tr_text_equal(x->version, y->version) &&
                  x->is_file == y->is_file;
    }
    return is_same;
}

static bool is_relative(struct tr_text word)
{
    return (word.size >= 2 && memcmp(word.data, "./", 2) == 0) ||
           (word.size >= 3 && memcmp(word.data, "../", 3) == 0);
}

static bool are_same_tasks(const struct tr_task *a, const struct tr_task *b)
{
    bool is_same = tr_text_equal(a->type, b->type) && a->argc == b->argc &&
                   a->is_stdin_inputs == b->is_stdin_inputs &&
                   a->is_stdout_outputs == b->is_stdout_outputs &&
                   are_same_variables(&a->interface.inputs, &b->interface.inputs) &&
                   are_same_variables(&a->interface.outputs, &b->interface.outputs);
    for (uint32_t i = 0; is_same && i < a->argc; i++) {
        is_same = tr_text_equal(a->argv[i], b->argv[i]) &&
                  (!is_relative(a->argv[i]) || tr_text_equal(a->folder, b->folder));
    }
    return is_same;
}

/* ------------------------------------------------------------------------ bindings */

static bool are_same_steps(const struct tr_workflow *a, const struct tr_binding *x,
                           const struct tr_workflow *b, const struct tr_binding *y)
{
    bool is_same = x->count == y->count;
    for (uint32_t i = 0; is_same && i < x->count; i++) {
        const struct tr_step *s = &a->steps[x->first + i];
        const struct tr_step *t = &b->steps[y->first + i];
        is_same =
            s->is_index == t->is_index && s->index == t->index && tr_text_equal(s->field, t->field);
    }
    return is_same;
}

static bool are_same_bindings(const struct tr_workflow *a, const struct tr_binding *x,
                              const struct tr_workflow *b, const struct tr_binding *y)
{
    if (x->kind != y->kind || x->is_mapped != y->is_mapped || !tr_text_equal(x->key, y->key) ||
        !tr_recovery_type_is_same(x->type, y->type)) {
        return false;
    }
    switch ((enum tr_binding_kind)x->kind) {
    case TR_BINDING_LITERAL:
        return bytes_equal(x->literal, y->literal);
    case TR_BINDING_REFERENCE: {
        const struct tr_node *from = &a->nodes[x->node];
        const struct tr_node *other = &b->nodes[y->node];
        return tr_text_equal(from->id, other->id) &&
               tr_text_equal(from->outputs.items[x->output].name,
                             other->outputs.items[y->output].name) &&
               are_same_steps(a, x, b, y);
    }
    case TR_BINDING_ERROR:
        return are_same_steps(a, x, b, y);
    case TR_BINDING_LIST:
    case TR_BINDING_MAP:
    case TR_BINDING_TEXT:
        break;
    }
    bool is_same = x->count == y->count;
    for (uint32_t i = 0; is_same && i < x->count; i++) {
        is_same = are_same_bindings(a, &a->bindings[x->first + i], b, &b->bindings[y->first + i]);
    }
    return is_same;
}

static bool are_same_inputs(const struct tr_recovery_node *a, const struct tr_recovery_node *b)
{
    bool is_same = a->node->input_count == b->node->input_count;
    for (uint32_t i = 0; is_same && i < a->node->input_count; i++) {
        is_same = are_same_bindings(a->workflow, &a->workflow->bindings[a->node->input_first + i],
                                    b->workflow, &b->workflow->bindings[b->node->input_first + i]);
    }
    return is_same;
}

/* ------------------------------------------------------------------------ branches */

/* Parts of conditions lie one behind the other, and count from the first of their arm. */
static bool are_same_conditions(const struct tr_workflow *a, const struct tr_arm *x,
                                const struct tr_workflow *b, const struct tr_arm *y)
{
    bool is_else = x->condition == TR_GRAPH_NONE;
    if (is_else || y->condition == TR_GRAPH_NONE) {
        return is_else && y->condition == TR_GRAPH_NONE;
    }
    uint32_t count = x->condition - x->condition_first;
    bool is_same = count == y->condition - y->condition_first;
    for (uint32_t i = 0; is_same && i <= count; i++) {
        const struct tr_condition *c = &a->conditions[x->condition_first + i];
        const struct tr_condition *d = &b->conditions[y->condition_first + i];
        bool is_leaf = c->kind == TR_CONDITION_INPUT || c->kind == TR_CONDITION_LITERAL;
        bool has_right = !is_leaf && c->kind != TR_CONDITION_NOT;
        is_same = c->kind == d->kind && c->input == d->input &&
                  bytes_equal(c->literal, d->literal) &&
                  (is_leaf || c->left - x->condition_first == d->left - y->condition_first) &&
                  (!has_right || c->right - x->condition_first == d->right - y->condition_first);
    }
    return is_same;
}

static bool are_same_arms(const struct tr_recovery_node *a, const struct tr_recovery_node *b)
{
    bool is_same = a->node->arm_count == b->node->arm_count;
    for (uint32_t i = 0; is_same && i < a->node->arm_count; i++) {
        const struct tr_arm *x = &a->workflow->arms[a->node->arm_first + i];
        const struct tr_arm *y = &b->workflow->arms[b->node->arm_first + i];
        is_same = x->kind == y->kind && tr_text_equal(x->message, y->message) &&
                  x->message_input == y->message_input &&
                  are_same_conditions(a->workflow, x, b->workflow, y) &&
                  (x->kind != TR_ARM_NODE ||
                   tr_text_equal(a->workflow->nodes[x->node].id, b->workflow->nodes[y->node].id));
    }
    return is_same;
}

/* --------------------------------------------------------------------------- nodes */

static bool workflow_is_same(const struct tr_graph *a, const struct tr_workflow *in_a,
                             const struct tr_graph *b, const struct tr_workflow *in_b);

static bool are_same_plans(const struct tr_graph *a, const struct tr_plan *x,
                           const struct tr_graph *b, const struct tr_plan *y)
{
    bool is_same = tr_text_equal(x->name, y->name) && x->value_count == y->value_count;
    for (uint32_t i = 0; is_same && i < x->value_count; i++) {
        is_same = x->values[i].input == y->values[i].input &&
                  bytes_equal(x->values[i].value, y->values[i].value);
    }
    return is_same &&
           workflow_is_same(a, &a->workflows[x->workflow], b, &b->workflows[y->workflow]);
}

static bool are_same_targets(const struct tr_recovery_node *a, const struct tr_recovery_node *b)
{
    uint32_t x = a->node->target;
    uint32_t y = b->node->target;
    bool is_inside = a->node->kind == TR_NODE_WORKFLOW;
    switch ((enum tr_target_kind)a->node->target_kind) {
    case TR_TARGET_TASK:
        return are_same_tasks(&a->graph->tasks[x], &b->graph->tasks[y]);
    case TR_TARGET_PLAN:
        return are_same_plans(a->graph, &a->graph->plans[x], b->graph, &b->graph->plans[y]);
    case TR_TARGET_WORKFLOW:
        return is_inside ? tr_text_equal(a->graph->workflows[x].name, b->graph->workflows[y].name)
                         : workflow_is_same(a->graph, &a->graph->workflows[x], b->graph,
                                            &b->graph->workflows[y]);
    case TR_TARGET_NONE:
        break;
    }
    return true;
}

bool tr_recovery_node_is_same(const struct tr_recovery_node *a, const struct tr_recovery_node *b)
{
    const struct tr_node *x = a->node;
    const struct tr_node *y = b->node;
    return x->kind == y->kind && x->target_kind == y->target_kind &&
           x->is_optional == y->is_optional && x->sleep_ns == y->sleep_ns &&
           x->min_successes == y->min_successes && x->min_success_ratio == y->min_success_ratio &&
           tr_text_equal(x->signal_id, y->signal_id) &&
           are_same_settings(x->settings, y->settings) &&
           are_same_variables(&x->outputs, &y->outputs) && are_same_inputs(a, b) &&
           are_same_arms(a, b) && are_same_targets(a, b);
}

const struct tr_node *tr_recovery_node_find(const struct tr_workflow *workflow, struct tr_text id,
                                            uint32_t first)
{
    if (first < workflow->node_count && tr_text_equal(workflow->nodes[first].id, id)) {
        return &workflow->nodes[first];
    }
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        if (tr_text_equal(workflow->nodes[i].id, id)) {
            return &workflow->nodes[i];
        }
    }
    return NULL;
}

/* Whether all nodes of two workflows do the same, those inside them too, and they give the same. */
static bool workflow_is_same(const struct tr_graph *a, const struct tr_workflow *in_a,
                             const struct tr_graph *b, const struct tr_workflow *in_b)
{
    bool is_same = in_a->node_count == in_b->node_count;
    for (uint32_t i = 0; is_same && i < in_a->node_count; i++) {
        struct tr_recovery_node x = {a, in_a, &in_a->nodes[i]};
        struct tr_recovery_node y = {b, in_b, tr_recovery_node_find(in_b, x.node->id, i)};
        is_same = y.node != NULL && tr_recovery_node_is_same(&x, &y);
        if (is_same && x.node->kind == TR_NODE_WORKFLOW) {
            is_same = workflow_is_same(a, &a->workflows[x.node->target], b,
                                       &b->workflows[y.node->target]);
        }
    }
    return is_same;
}
