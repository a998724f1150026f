/*
 * Looking up what is referred to. One entity leads to the next: a launch plan to its workflow, that
 * to its tasks. What is found is put behind those that are there, and gone through as well, until
 * nothing new comes. So a definition always has all that it needs, and an execution of it does not
 * depend on what is kept later.
 */
#include "actors/graph/flyte/flyte_applied.h"

#include <stdio.h>
#include <stdlib.h>

#include "schemas/codec/error.h"

typedef Flyteidl__Core__Identifier identifier;
typedef Flyteidl__Core__Node flyte_node;

struct looking {
    const struct tri_flyte_lookup *lookup;
    struct tr_arena *arena;
    struct tr_report *report;
    struct tri_vector *entities;
    struct tri_flyte_entity *own; /* those that were there, sorted */
    uint32_t own_count;
};

/* ------------------------------------------------------------------ what is known */

static bool is_known(const struct looking *looking, enum tr_entity_kind kind, const identifier *id)
{
    const struct tri_flyte_entity *items = looking->entities->items;
    struct tri_flyte_entity wanted = {.kind = kind, .id = id};
    if (looking->own_count > 0 && bsearch(&wanted, looking->own, looking->own_count, sizeof *items,
                                          tri_flyte_entity_order) != NULL) {
        return true;
    }
    for (uint32_t i = looking->own_count; i < looking->entities->count; i++) {
        if (items[i].kind == kind && tri_flyte_is_same(items[i].id, id)) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ what is found */

/*
 * The entity in a row that was kept, which is not trusted: a store may be damaged. One of another
 * id would be looked up again and again.
 */
static bool take(struct looking *looking, struct tr_entity *row, const identifier *id)
{
    struct tri_flyte_entity entity = {.kind = row->kind, .packed = row->message, .applied = row};
    if (!tri_flyte_unpack(looking->arena, row->message, &entity) ||
        !tri_flyte_is_same(entity.id, id)) {
        char words[256];
        snprintf(words, sizeof words, "the %s '%.100s' is damaged in the store\napply it again",
                 tr_entity_kind_word(row->kind), row->name.data);
        tri_report_add(looking->report, (struct tri_place){0}, NULL, "%s", words);
        return false;
    }
    struct tri_flyte_entity *added =
        tri_vector_add(looking->arena, looking->entities, sizeof *added);
    if (added != NULL) {
        *added = entity;
    }
    return added != NULL;
}

/* What is not found is told where a definition refers to it. */
static bool look_up(struct looking *looking, enum tr_entity_kind kind, const identifier *id)
{
    struct tr_entity *row = NULL;
    if (id == NULL || is_known(looking, kind, id)) {
        return true;
    }
    row = tr_arena_alloc(looking->arena, sizeof *row);
    if (row == NULL) {
        return false;
    }
    *row = (struct tr_entity){.project = tr_text_of(id->project),
                              .domain = tr_text_of(id->domain),
                              .kind = (uint8_t)kind,
                              .name = tr_text_of(id->name),
                              .version = tr_text_of(id->version)};
    int error = looking->lookup->find(looking->lookup->self, looking->arena, row);
    if (error == TR_NOT_FOUND) {
        return true;
    }
    if (error != 0) {
        looking->arena->error = looking->arena->error != 0 ? looking->arena->error : error;
        return false;
    }
    return take(looking, row, id);
}

/* ------------------------------------------------------------------ what refers */

static bool look_up_node(struct looking *looking, const flyte_node *node);

static bool look_up_arms(struct looking *looking, const Flyteidl__Core__IfElseBlock *block)
{
    bool is_right = true;
    if (block == NULL) {
        return true;
    }
    if (block->case_ != NULL) {
        is_right = look_up_node(looking, block->case_->then_node);
    }
    for (size_t i = 0; is_right && i < block->n_other; i++) {
        is_right = look_up_node(looking, block->other[i]->then_node);
    }
    if (is_right && block->default_case == FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ELSE_NODE) {
        is_right = look_up_node(looking, block->else_node);
    }
    return is_right;
}

/* The depth was bounded when the message was unpacked. */
static bool look_up_node(struct looking *looking, const flyte_node *node)
{
    if (node == NULL) {
        return true;
    }
    switch (node->target_case) {
    case FLYTEIDL__CORE__NODE__TARGET_TASK_NODE:
        return look_up(looking, TR_ENTITY_TASK, node->task_node->reference_id);
    case FLYTEIDL__CORE__NODE__TARGET_WORKFLOW_NODE: {
        const Flyteidl__Core__WorkflowNode *target = node->workflow_node;
        bool is_plan =
            target->reference_case == FLYTEIDL__CORE__WORKFLOW_NODE__REFERENCE_LAUNCHPLAN_REF;
        bool is_workflow =
            target->reference_case == FLYTEIDL__CORE__WORKFLOW_NODE__REFERENCE_SUB_WORKFLOW_REF;
        return is_plan       ? look_up(looking, TR_ENTITY_PLAN, target->launchplan_ref)
               : is_workflow ? look_up(looking, TR_ENTITY_WORKFLOW, target->sub_workflow_ref)
                             : true;
    }
    case FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE:
        return look_up_arms(looking, node->branch_node->if_else);
    case FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE:
        return look_up_node(looking, node->array_node->node);
    default:
        return true;
    }
}

static bool look_up_workflow(struct looking *looking,
                             const Flyteidl__Core__WorkflowTemplate *workflow)
{
    bool is_right = look_up_node(looking, workflow->failure_node);
    for (size_t i = 0; is_right && i < workflow->n_nodes; i++) {
        is_right = look_up_node(looking, workflow->nodes[i]);
    }
    return is_right;
}

/* A workflow that was applied brings the defaults of its inputs along, in the plan of its name. */
static bool look_up_all(struct looking *looking, const struct tri_flyte_entity *entity)
{
    const Flyteidl__Admin__LaunchPlan *plan = (const void *)entity->message;
    switch (entity->kind) {
    case TR_ENTITY_WORKFLOW:
        return look_up_workflow(looking, (const void *)entity->message) &&
               (entity->applied == NULL || look_up(looking, TR_ENTITY_PLAN, entity->id));
    case TR_ENTITY_PLAN:
        return plan->spec == NULL || look_up(looking, TR_ENTITY_WORKFLOW, plan->spec->workflow_id);
    default:
        return true;
    }
}

static bool sort_own(struct looking *looking)
{
    size_t size = looking->own_count * sizeof *looking->own;
    looking->own = tr_arena_alloc(looking->arena, size);
    if (looking->own != NULL && looking->own_count > 0) {
        memcpy(looking->own, looking->entities->items, size);
        qsort(looking->own, looking->own_count, sizeof *looking->own, tri_flyte_entity_order);
    }
    return looking->own != NULL;
}

bool tri_flyte_add_applied(const struct tri_flyte_lookup *lookup, struct tr_arena *arena,
                           struct tr_report *report, struct tri_vector *entities)
{
    struct looking looking = {.lookup = lookup,
                              .arena = arena,
                              .report = report,
                              .entities = entities,
                              .own_count = entities->count};
    if (lookup->find == NULL) {
        return true;
    }
    bool is_right = sort_own(&looking);
    for (size_t i = 0; is_right && i < lookup->node_count; i++) {
        is_right = look_up_node(&looking, lookup->nodes[i]);
    }
    for (uint32_t i = 0; is_right && i < entities->count; i++) {
        /* A copy, since those that are added may move all. */
        const struct tri_flyte_entity entity = ((struct tri_flyte_entity *)entities->items)[i];
        is_right = look_up_all(&looking, &entity);
    }
    return is_right;
}
