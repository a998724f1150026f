/*
 * Entities out of the files of a package.
 *
 * SDKs leave project, domain and version of ids open, for whoever registers the package to fill in,
 * and write the same task more than once. Maps of protobuf's have no order, and neither have the
 * nodes that a node comes behind: flytekit writes them as they lie in a set. So each message is
 * gone through once by its descriptors: ids are completed, these two put in order. What is packed
 * again then is equal where the entities are.
 */
#include "actors/graph/flyte/flyte_applied.h"

#include <flyteidl/admin_task.pb-c.h>
#include <flyteidl/admin_workflow.pb-c.h>
#include <flyteidl/compiler.pb-c.h>
#include <stdlib.h>

#include "actors/graph/document/limits.h"
#include "schemas/codec/error.h"

/* ------------------------------------------------------------------ all of a message */

/* What is filled in where an id leaves it open. */
struct filling {
    char *project;
    char *domain;
    char *version;
};

static void fill(char **field, char *value)
{
    *field = (*field)[0] == '\0' ? value : *field;
}

static int by_key(const void *left, const void *right)
{
    /* Entries of maps are a base and, first of their fields, a key that is text. */
    const struct {
        ProtobufCMessage base;
        char *key;
    } *const *a = left, *const *b = right;
    return strcmp((*a)->key, (*b)->key);
}

bool tri_flyte_is_entry(const ProtobufCMessageDescriptor *descriptor)
{
    return descriptor->n_fields == 2 && strcmp(descriptor->fields[0].name, "key") == 0 &&
           descriptor->fields[0].type == PROTOBUF_C_TYPE_STRING &&
           strcmp(descriptor->fields[1].name, "value") == 0 &&
           strstr(descriptor->short_name, "Entry") != NULL;
}

static void complete(ProtobufCMessage *message, const struct filling *filling);

static void complete_field(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                           const struct filling *filling)
{
    char *base = (char *)message;
    void *member = base + field->offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t count = *(size_t *)(void *)(base + field->quantifier_offset);
        ProtobufCMessage **items = *(ProtobufCMessage ***)member;
        for (size_t i = 0; i < count; i++) {
            complete(items[i], filling);
        }
        if (count > 1 && tri_flyte_is_entry(field->descriptor)) {
            qsort(items, count, sizeof(void *), by_key);
        }
        return;
    }
    bool is_chosen = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0 ||
                     *(uint32_t *)(void *)(base + field->quantifier_offset) == field->id;
    ProtobufCMessage *inside = is_chosen ? *(ProtobufCMessage **)member : NULL;
    if (inside != NULL) {
        complete(inside, filling);
    }
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void sort_upstream(Flyteidl__Core__Node *node)
{
    if (node->n_upstream_node_ids > 1) {
        qsort((void *)node->upstream_node_ids, node->n_upstream_node_ids, sizeof(char *), by_text);
    }
}

/* The depth was bounded when the message was unpacked. */
static void complete(ProtobufCMessage *message, const struct filling *filling)
{
    if (filling != NULL && message->descriptor == &flyteidl__core__identifier__descriptor) {
        Flyteidl__Core__Identifier *id = (Flyteidl__Core__Identifier *)message;
        fill(&id->project, filling->project);
        fill(&id->domain, filling->domain);
        fill(&id->version, filling->version);
    }
    if (filling != NULL && message->descriptor == &flyteidl__core__node__descriptor) {
        sort_upstream((Flyteidl__Core__Node *)message);
    }
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            complete_field(message, field, filling);
        }
    }
}

void tri_flyte_sort(ProtobufCMessage *message)
{
    complete(message, NULL);
}

/* ------------------------------------------------------------------ one file */

/* A package on its way into entities. */
struct reading {
    struct tr_arena *arena;
    struct tr_report *report;
    struct filling filling;
    struct tri_vector *entities;
};

/* The kind that the name of a file says; 0: it says none. */
static unsigned kind_of(struct tr_text name)
{
    static const char end[] = "_?.pb";
    size_t size = sizeof end - 1;
    const char *at = name.data + name.size - size;
    bool is_one = name.size > size && at[0] == '_' && memcmp(at + 2, end + 2, size - 2) == 0 &&
                  at[1] >= '0' + TR_ENTITY_TASK && at[1] <= '0' + TR_ENTITY_PLAN;
    return is_one ? (unsigned)(at[1] - '0') : 0;
}

static void refuse(struct reading *reading, struct tr_text name, const char *words)
{
    struct tr_text before = tri_report_subject(reading->report, name);
    tri_report_add(reading->report, (struct tri_place){0}, NULL, "%s", words);
    (void)tri_report_subject(reading->report, before);
}

/* The entity in what was unpacked: tasks and workflows lie in what registers them. */
static struct tri_flyte_entity entity_of(enum tr_entity_kind kind, ProtobufCMessage *message)
{
    struct tri_flyte_entity entity = {.kind = kind};
    if (kind == TR_ENTITY_TASK) {
        Flyteidl__Core__TaskTemplate *task = ((Flyteidl__Admin__TaskSpec *)message)->template_;
        entity.message = task == NULL ? NULL : &task->base;
        entity.id = task == NULL ? NULL : task->id;
        entity.description = ((Flyteidl__Admin__TaskSpec *)message)->description;
    } else if (kind == TR_ENTITY_WORKFLOW) {
        Flyteidl__Core__WorkflowTemplate *workflow =
            ((Flyteidl__Admin__WorkflowSpec *)message)->template_;
        entity.message = workflow == NULL ? NULL : &workflow->base;
        entity.id = workflow == NULL ? NULL : workflow->id;
        entity.description = ((Flyteidl__Admin__WorkflowSpec *)message)->description;
    } else {
        /* What a server says of it is not its own. */
        ((Flyteidl__Admin__LaunchPlan *)message)->closure = NULL;
        entity.message = message;
        entity.id = ((Flyteidl__Admin__LaunchPlan *)message)->id;
    }
    return entity;
}

static void add_entity(struct reading *reading, struct tr_text name, struct tri_flyte_entity entity)
{
    static const Flyteidl__Core__ResourceType types[] = {
        [TR_ENTITY_TASK] = FLYTEIDL__CORE__RESOURCE_TYPE__TASK,
        [TR_ENTITY_WORKFLOW] = FLYTEIDL__CORE__RESOURCE_TYPE__WORKFLOW,
        [TR_ENTITY_PLAN] = FLYTEIDL__CORE__RESOURCE_TYPE__LAUNCH_PLAN};
    if (entity.id == NULL || entity.id->name[0] == '\0') {
        refuse(reading, name, "the entity has no id\nserialize it with a name");
        return;
    }
    if (entity.id->resource_type != types[entity.kind]) {
        refuse(reading, name, "the file holds an entity of another kind than its name says");
        return;
    }
    complete(entity.message, &reading->filling);
    size_t size = protobuf_c_message_get_packed_size(entity.message);
    uint8_t *packed = tr_arena_alloc(reading->arena, size + 1);
    struct tri_flyte_entity *added =
        tri_vector_add(reading->arena, reading->entities, sizeof *added);
    if (packed != NULL && added != NULL) {
        (void)protobuf_c_message_pack(entity.message, packed);
        *added = entity;
        added->packed = (struct tr_bytes){.data = packed, .size = size};
    }
}

bool tri_flyte_unpack(struct tr_arena *arena, struct tr_bytes packed,
                      struct tri_flyte_entity *entity)
{
    static const ProtobufCMessageDescriptor *const descriptors[] = {
        [TR_ENTITY_TASK] = &flyteidl__core__task_template__descriptor,
        [TR_ENTITY_WORKFLOW] = &flyteidl__core__workflow_template__descriptor,
        [TR_ENTITY_PLAN] = &flyteidl__admin__launch_plan__descriptor};
    bool is_kind = entity->kind >= TR_ENTITY_TASK && entity->kind <= TR_ENTITY_PLAN;
    entity->message = is_kind ? tri_wire_unpack(arena, descriptors[entity->kind], packed) : NULL;
    if (entity->message == NULL) {
        return false;
    }
    entity->id = entity->kind == TR_ENTITY_TASK
                     ? ((Flyteidl__Core__TaskTemplate *)entity->message)->id
                 : entity->kind == TR_ENTITY_WORKFLOW
                     ? ((Flyteidl__Core__WorkflowTemplate *)entity->message)->id
                     : ((Flyteidl__Admin__LaunchPlan *)entity->message)->id;
    return entity->id != NULL;
}

/* ------------------------------------------------------------------ what was compiled */

typedef Flyteidl__Core__Node flyte_node;

static void take_arm(struct reading *reading, const flyte_node *branch, flyte_node *arm,
                     struct tri_vector *arms);

/*
 * Takes the branch's name off those of its arms, which the compiler has put there, and notes the
 * whole names. An arm that is a branch itself comes first, as its arms have its whole name.
 */
static void take_arms(struct reading *reading, const flyte_node *branch, struct tri_vector *arms)
{
    const Flyteidl__Core__IfElseBlock *block = branch->branch_node->if_else;
    if (block == NULL) {
        return;
    }
    take_arm(reading, branch, block->case_ == NULL ? NULL : block->case_->then_node, arms);
    for (size_t i = 0; i < block->n_other; i++) {
        take_arm(reading, branch, block->other[i]->then_node, arms);
    }
    if (block->default_case == FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ELSE_NODE) {
        take_arm(reading, branch, block->else_node, arms);
    }
}

static void take_arm(struct reading *reading, const flyte_node *branch, flyte_node *arm,
                     struct tri_vector *arms)
{
    size_t size = strlen(branch->id);
    if (arm == NULL) {
        return;
    }
    if (arm->target_case == FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE) {
        take_arms(reading, arm, arms);
    }
    const char **id = tri_vector_add(reading->arena, arms, sizeof(char *));
    if (id != NULL && strncmp(arm->id, branch->id, size) == 0 && arm->id[size] == '-') {
        *id = arm->id;
        arm->id += size + 1;
    } else if (id != NULL) {
        *id = "";
    }
}

static bool is_arm(const struct tri_vector *arms, const char *id)
{
    const char *const *names = arms->items;
    for (uint32_t i = 0; i < arms->count; i++) {
        if (strcmp(names[i], id) == 0) {
            return true;
        }
    }
    return false;
}

/* A template as it was before Flyte's compiler: arms stand in their branches only. */
static void open_template(struct reading *reading, Flyteidl__Core__WorkflowTemplate *workflow)
{
    struct tri_vector arms = {0};
    size_t kept = 0;
    for (size_t i = 0; i < workflow->n_nodes; i++) {
        const flyte_node *node = workflow->nodes[i];
        bool is_known = is_arm(&arms, node->id);
        if (!is_known && node->target_case == FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE) {
            take_arms(reading, node, &arms);
        }
    }
    for (size_t i = 0; i < workflow->n_nodes; i++) {
        if (!is_arm(&arms, workflow->nodes[i]->id)) {
            workflow->nodes[kept++] = workflow->nodes[i];
        }
    }
    workflow->n_nodes = kept;
}

static void add_compiled(struct reading *reading, struct tr_text name,
                         const Flyteidl__Core__CompiledWorkflow *compiled)
{
    struct tri_flyte_entity entity = {.kind = TR_ENTITY_WORKFLOW};
    if (compiled != NULL && compiled->template_ != NULL) {
        open_template(reading, compiled->template_);
        entity.message = &compiled->template_->base;
        entity.id = compiled->template_->id;
    }
    add_entity(reading, name, entity);
}

/* Launch plans say no workflow there, so that they are none here. */
static void read_closure(struct reading *reading, const struct tr_flyte_file *file)
{
    const Flyteidl__Core__CompiledWorkflowClosure *closure = tri_wire_unpack(
        reading->arena, &flyteidl__core__compiled_workflow_closure__descriptor, file->bytes);
    if (closure == NULL) {
        if (reading->arena->error == 0) {
            refuse(reading, file->name, "the file is no CompiledWorkflowClosure of Flyte's");
        }
        return;
    }
    add_compiled(reading, file->name, closure->primary);
    for (size_t i = 0; i < closure->n_sub_workflows; i++) {
        add_compiled(reading, file->name, closure->sub_workflows[i]);
    }
    for (size_t i = 0; i < closure->n_tasks; i++) {
        Flyteidl__Core__TaskTemplate *task = closure->tasks[i]->template_;
        struct tri_flyte_entity entity = {.kind = TR_ENTITY_TASK};
        entity.message = task == NULL ? NULL : &task->base;
        entity.id = task == NULL ? NULL : task->id;
        add_entity(reading, file->name, entity);
    }
}

static bool is_closure(struct tr_text name)
{
    static const char end[] = "closure.pb";
    size_t size = sizeof end - 1;
    return name.size >= size && memcmp(name.data + name.size - size, end, size) == 0;
}

static void read_file(struct reading *reading, const struct tr_flyte_file *file)
{
    static const ProtobufCMessageDescriptor *const descriptors[] = {
        [TR_ENTITY_TASK] = &flyteidl__admin__task_spec__descriptor,
        [TR_ENTITY_WORKFLOW] = &flyteidl__admin__workflow_spec__descriptor,
        [TR_ENTITY_PLAN] = &flyteidl__admin__launch_plan__descriptor};
    static const char *const refusals[] = {
        [TR_ENTITY_TASK] = "the file is no TaskSpec of Flyte's",
        [TR_ENTITY_WORKFLOW] = "the file is no WorkflowSpec of Flyte's",
        [TR_ENTITY_PLAN] = "the file is no LaunchPlan of Flyte's"};
    unsigned kind = kind_of(file->name);
    if (is_closure(file->name)) {
        read_closure(reading, file);
        return;
    }
    if (kind == 0) {
        refuse(reading, file->name,
               "the file's name does not say what it holds\n"
               "let it end with _1.pb for a task, _2.pb for a workflow, _3.pb for a launch plan");
        return;
    }
    ProtobufCMessage *message = tri_wire_unpack(reading->arena, descriptors[kind], file->bytes);
    if (message != NULL) {
        add_entity(reading, file->name, entity_of((enum tr_entity_kind)kind, message));
    } else if (reading->arena->error == 0) {
        refuse(reading, file->name, refusals[kind]);
    }
}

/* ------------------------------------------------------------------ all of them */

bool tri_flyte_is_same(const Flyteidl__Core__Identifier *a, const Flyteidl__Core__Identifier *b)
{
    return a != NULL && b != NULL && strcmp(a->name, b->name) == 0 &&
           strcmp(a->version, b->version) == 0 && strcmp(a->project, b->project) == 0 &&
           strcmp(a->domain, b->domain) == 0;
}

int tri_flyte_entity_order(const void *left, const void *right)
{
    const struct tri_flyte_entity *a = left;
    const struct tri_flyte_entity *b = right;
    int order = (a->kind > b->kind) - (a->kind < b->kind);
    order = order != 0 ? order : strcmp(a->id->name, b->id->name);
    order = order != 0 ? order : strcmp(a->id->version, b->id->version);
    order = order != 0 ? order : strcmp(a->id->project, b->id->project);
    return order != 0 ? order : strcmp(a->id->domain, b->id->domain);
}

/* Equal ids in the order of what they hold, so that it does not depend on that of the files. */
static int in_order(const void *left, const void *right)
{
    const struct tri_flyte_entity *a = left;
    const struct tri_flyte_entity *b = right;
    int order = tri_flyte_entity_order(a, b);
    size_t size = a->packed.size < b->packed.size ? a->packed.size : b->packed.size;
    order = order != 0 ? order : memcmp(a->packed.data, b->packed.data, size);
    return order != 0 ? order
                      : (a->packed.size > b->packed.size) - (a->packed.size < b->packed.size);
}

/* Flyte's ValueCollision: one id, and two things that it names. */
static void refuse_collision(struct tr_report *report, const struct tri_flyte_entity *entity)
{
    struct tr_text before = tri_report_subject(report, tr_text_of(entity->id->name));
    tri_report_add(report, (struct tri_place){0}, "ValueCollision",
                   "it is there twice, and not the same\n"
                   "package one version of it, or give the two different names");
    (void)tri_report_subject(report, before);
}

/* A package is one project, domain and version, so that names are enough. */
static void refuse_version(struct tr_report *report, const struct tri_flyte_entity *entity)
{
    struct tr_text before = tri_report_subject(report, tr_text_of(entity->id->name));
    tri_report_add(report, (struct tri_place){0}, "ValueCollision",
                   "it is there of two versions, projects or domains\n"
                   "put each into a package of its own");
    (void)tri_report_subject(report, before);
}

static void drop_repeated(struct tr_report *report, struct tri_vector *entities)
{
    struct tri_flyte_entity *items = entities->items;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < entities->count; i++) {
        const struct tri_flyte_entity *last = kept == 0 ? NULL : &items[kept - 1];
        bool is_named = last != NULL && last->kind == items[i].kind &&
                        strcmp(last->id->name, items[i].id->name) == 0;
        if (is_named && tri_flyte_entity_order(last, &items[i]) != 0) {
            refuse_version(report, &items[i]);
        } else if (is_named && in_order(last, &items[i]) != 0) {
            refuse_collision(report, &items[i]);
        } else if (!is_named) {
            items[kept++] = items[i];
        }
    }
    entities->count = kept;
}

bool tri_flyte_entities(const struct tr_flyte_package *package, struct tr_arena *arena,
                        struct tr_report *report, struct tri_vector *entities)
{
    struct reading reading = {.arena = arena, .report = report, .entities = entities};
    reading.filling.project = tri_flyte_string(arena, package->project, &arena->error);
    reading.filling.domain = tri_flyte_string(arena, package->domain, &arena->error);
    reading.filling.version = tri_flyte_string(arena, package->version, &arena->error);
    for (size_t i = 0; arena->error == 0 && i < package->file_count; i++) {
        read_file(&reading, &package->files[i]);
    }
    if (arena->error != 0) {
        return false;
    }
    if (entities->count == 0 && tr_report_total(report) == 0) {
        tri_report_add(report, (struct tri_place){0}, NULL,
                       "there are no tasks, workflows or launch plans in it\n"
                       "make it with `pyflyte package` or `pyflyte serialize`");
    }
    if (entities->count > 1) {
        qsort(entities->items, entities->count, sizeof(struct tri_flyte_entity), in_order);
    }
    drop_repeated(report, entities);
    const struct tri_flyte_lookup lookup = {.find = package->find, .self = package->self};
    return tri_flyte_add_applied(&lookup, arena, report, entities) && tr_report_total(report) == 0;
}
