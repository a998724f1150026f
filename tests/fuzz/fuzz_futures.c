/*
 * Any bytes as the futures.pb of a dynamic task: a graph or errors, and the same graph when they
 * are read once more. In the files of literals lie the bytes themselves, and what they refer to was
 * applied, unless its name is odd.
 */
#include <flyteidl/admin_launch_plan.pb-c.h>
#include <flyteidl/workflow.pb-c.h>

#include <string.h>

#include "actors/graph/import/import.h"
#include "schemas/codec/error.h"
#include "tests/fuzz/fuzz.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  plan: {inputs: {size: int}, outputs: {o0: int | none, o1: string | none}, run: [plan]}\n"
    "  square: {inputs: {a: int}, outputs: {o0: int}, run: [one]}\n"
    "workflows:\n"
    "  w: {inputs: {a: int}, nodes: {n: {task: square, with: {a: $a}}}, outputs: {o0: $n.o0}}\n"
    "launch_plans: {p: {workflow: w}}\n";

static int open_file(void *self, struct tr_report *report, struct tr_text uri,
                     struct tr_bytes *file)
{
    if (uri.size % 2 == 1) {
        tri_report_add(report, (struct tri_place){0}, NULL, "there is no such file");
        return TR_INVALID;
    }
    *file = *(const struct tr_bytes *)self;
    return 0;
}

static void close_file(void *self, struct tr_bytes file)
{
    (void)self;
    (void)file;
}

/* ------------------------------------------------------------------ what was applied */

static struct tr_bytes pack(struct tr_arena *arena, const ProtobufCMessage *message)
{
    uint8_t *packed = tr_arena_alloc(arena, protobuf_c_message_get_packed_size(message) + 1);
    return (struct tr_bytes){.data = packed,
                             .size = packed == NULL ? 0 : protobuf_c_message_pack(message, packed)};
}

/* A workflow of one node, which runs a task of its name. */
static struct tr_bytes pack_workflow(struct tr_arena *arena, Flyteidl__Core__Identifier *id)
{
    static char node_id[] = "n0";
    Flyteidl__Core__WorkflowTemplate workflow;
    flyteidl__core__workflow_template__init(&workflow);
    Flyteidl__Core__Node node;
    flyteidl__core__node__init(&node);
    Flyteidl__Core__Node *nodes[] = {&node};
    Flyteidl__Core__TaskNode task;
    flyteidl__core__task_node__init(&task);
    task.reference_case = FLYTEIDL__CORE__TASK_NODE__REFERENCE_REFERENCE_ID;
    task.reference_id = id;
    node.id = node_id;
    node.target_case = FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
    node.task_node = &task;
    workflow.id = id;
    workflow.n_nodes = 1;
    workflow.nodes = nodes;
    return pack(arena, &workflow.base);
}

static struct tr_bytes pack_task(struct tr_arena *arena, Flyteidl__Core__Identifier *id)
{
    static char type[] = "applied";
    Flyteidl__Core__TaskTemplate task;
    flyteidl__core__task_template__init(&task);
    task.id = id;
    task.type = type;
    return pack(arena, &task.base);
}

/* One that fixes nothing stands for its workflow. */
static struct tr_bytes pack_plan(struct tr_arena *arena, Flyteidl__Core__Identifier *id)
{
    static char key[] = "k";
    Flyteidl__Admin__LaunchPlan plan = FLYTEIDL__ADMIN__LAUNCH_PLAN__INIT;
    Flyteidl__Admin__LaunchPlanSpec spec;
    flyteidl__admin__launch_plan_spec__init(&spec);
    Flyteidl__Admin__Labels labels = FLYTEIDL__ADMIN__LABELS__INIT;
    Flyteidl__Admin__Labels__ValuesEntry entry;
    flyteidl__admin__labels__values_entry__init(&entry);
    Flyteidl__Admin__Labels__ValuesEntry *entries[] = {&entry};
    entry.key = entry.value = key;
    labels.n_values = strlen(id->name) % 3 == 0 ? 1 : 0;
    labels.values = entries;
    spec.workflow_id = id;
    spec.labels = &labels;
    plan.id = id;
    plan.spec = &spec;
    return pack(arena, &plan.base);
}

static int find_entity(void *self, struct tr_arena *arena, struct tr_entity *entity)
{
    Flyteidl__Core__Identifier id;
    flyteidl__core__identifier__init(&id);
    (void)self;
    if (entity->name.size % 2 == 1) {
        return TR_NOT_FOUND;
    }
    id.project = (char *)(uintptr_t)entity->project.data;
    id.domain = (char *)(uintptr_t)entity->domain.data;
    id.name = (char *)(uintptr_t)entity->name.data;
    id.version = (char *)(uintptr_t)entity->version.data;
    entity->message = entity->kind == TR_ENTITY_TASK       ? pack_task(arena, &id)
                      : entity->kind == TR_ENTITY_WORKFLOW ? pack_workflow(arena, &id)
                                                           : pack_plan(arena, &id);
    entity->code = entity->path = entity->python_path = entity->warm = tr_text_of("");
    return arena->error;
}

/* ------------------------------------------------------------------ the graph */

static struct tr_graph *parent(void)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_definition_source request = {
        .path = tr_text_of("f"), .folder = tr_text_of("/f"), .text = tr_text_of(definition)};
    tr_report_init(&report);
    TR_ASSERT(tr_graph_compile(&request, &report, &graph) == 0);
    tr_report_fini(&report);
    return graph;
}

static struct tr_graph *decide(struct tr_bytes futures)
{
    struct tr_flyte_files files = {
        .open = open_file, .close = close_file, .self = &futures, .left_bytes = 1U << 16};
    struct tr_report report;
    struct tr_graph *graph = NULL;
    const struct tr_decision decision = {
        .parent = parent(), .task = 0, .depth = 1, .path = tr_text_of("futures.pb")};
    tr_report_init(&report);
    const struct tr_import_futures given = {.bytes = futures, .files = &files, .find = find_entity};
    int error = tr_import_decide(&decision, &given, &report, &graph);
    TR_ASSERT(error == 0 || error == TR_INVALID || error == TR_LIMIT);
    TR_ASSERT((error == TR_INVALID) == (error != TR_LIMIT && tr_report_total(&report) > 0));
    tr_report_fini(&report);
    return graph;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_bytes futures = {.data = data, .size = size};
    struct tr_graph *graph = decide(futures);
    if (graph != NULL) {
        struct tr_graph *again = decide(futures);
        TR_ASSERT(again != NULL && memcmp(again->hash, graph->hash, TR_GRAPH_HASH_BYTES) == 0);
        tr_graph_free(again);
    }
    tr_graph_free(graph);
    return 0;
}
