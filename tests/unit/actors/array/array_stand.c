/*
 * The stand's hub and children. What they hear is kept outside of their states only as far
 * as a test looks at it; what counts after a crash is in them.
 */
#include "tests/unit/actors/array/array_stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/json.h"
#include "runtime/memory.h"
#include "runtime/services/service.h"
#include "schemas/engine/recovery.h"
#include "schemas/runtime/files.h"
#include "tests/support/graph_find.h"

struct array_stand array_stand;

/* `bytes` is a packed node_start for the hub to give to its array, or none: an abort. */
#define TR_HUB_WORD_FIELDS(FIELD, ARRAY) \
    FIELD(any, start, 1, 0)              \
    FIELD(u8, phase, 1, 0)               \
    FIELD(bool, is_hard, 1, 0)
#define TR_CHILD_POKE_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
#define TR_HUB_FIELDS(FIELD, ARRAY) \
    FIELD(ref, array, 1, 0)         \
    FIELD(u32, ends, 1, 0)          \
    FIELD(u32, news, 1, 0)
#define TR_CHILD_FIELDS(FIELD, ARRAY) \
    FIELD(u32, start_bytes, 1, 0)     \
    FIELD(bool, is_outside, 1, 0)

#define ARRAY_STAND_SCHEMAS(S)                                            \
    S(hub_word, 62201, TR_MESSAGE, 1, TR_DURABLE, TR_HUB_WORD_FIELDS)     \
    S(child_poke, 62202, TR_MESSAGE, 1, TR_DURABLE, TR_CHILD_POKE_FIELDS) \
    S(hub, 62201, TR_STATE, 1, 0, TR_HUB_FIELDS)                          \
    S(child, 62202, TR_STATE, 1, 0, TR_CHILD_FIELDS)

ARRAY_STAND_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
ARRAY_STAND_SCHEMAS(TR_SCHEMA_DEFINE)

/* ----------------------------------------------------------------------- the hub */

static int hub_word(struct tr_context *context, struct tr_hub *hub,
                    const struct tr_message *message)
{
    struct tr_hub_word word;
    int error = tr_message_read(message, hub_word, &word);
    if (error != 0) {
        return error;
    }
    if (word.phase != 0) {
        struct tr_node_abort abort = {
            .phase = word.phase, .cause = tr_text_of("a test"), .is_hard = word.is_hard};
        return tr_tell(context, hub->array, &tr_node_abort_schema, &abort);
    }
    struct tr_node_start start;
    struct tr_spawn_options options = {.name = tr_text_of("map")};
    error = tr_node_start_unpack(word.start, tr_node_start_schema.version, &start);
    error = error != 0 ? error : tr_spawn(context, &tr_array_behaviour, &options, &hub->array);
    array_stand.array = hub->array;
    return error != 0 ? error : tr_tell(context, hub->array, &tr_node_start_schema, &start);
}

static int hub_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_hub *hub = state;
    struct array_stand *stand = &array_stand;
    if (tr_message_is(message, &tr_hub_word_schema)) {
        return hub_word(context, hub, message);
    }
    if (tr_message_is(message, &tr_node_news_schema)) {
        stand->news = ++hub->news;
        return 0;
    }
    if (!tr_message_is(message, &tr_node_ended_schema)) {
        return tr_unexpected(context, message);
    }
    stand->ends = ++hub->ends;
    memcpy(stand->end_bytes, message->body.data, message->body.size);
    struct tr_bytes body = {.data = stand->end_bytes, .size = message->body.size};
    return tr_node_ended_unpack(body, tr_node_ended_schema.version, &stand->end);
}

static const struct tr_behaviour hub_behaviour = {
    .name = "hub", .id = 90, .state = &tr_hub_schema, .handle = hub_handle};

/* ------------------------------------------------------------------- the children */

static struct array_stand_child *child_of(uint64_t element)
{
    assert_true(element < ARRAY_STAND_CHILDREN);
    return &array_stand.children[element];
}

static void note_spawn(struct tr_context *context, const struct tr_node_start *start)
{
    struct array_stand *stand = &array_stand;
    struct array_stand_child *child = child_of(start->element);
    child->spawns++;
    child->is_live = true;
    child->bytes = start->inputs.size;
    child->ref = tr_self(context);
    stand->spawned++;
    stand->live++;
    stand->live_max = stand->live > stand->live_max ? stand->live : stand->live_max;
    uint32_t inside = stand->live - stand->outside;
    stand->inside_max = inside > stand->inside_max ? inside : stand->inside_max;
}

static int child_say(struct tr_context *context, struct tr_child *child,
                     const struct tr_node_start *start, struct array_stand_act *act)
{
    struct array_stand *stand = &array_stand;
    int error = 0;
    if (act->news != 0) {
        struct tr_node_news news = {
            .node = start->node, .element = start->element, .phase = act->news, .attempt = 1};
        error = tr_tell(context, tr_parent(context), &tr_node_news_schema, &news);
        stand->outside += child->is_outside ? 0 : 1;
        child->is_outside = true;
    }
    if (error == 0 && act->pokes_itself) {
        error =
            tr_tell(context, tr_self(context), &tr_child_poke_schema, &(struct tr_child_poke){0});
    }
    if (error != 0 || !act->is_over) {
        return error;
    }
    struct tr_node_ended *ended = &act->ended;
    ended->outputs = tr_buffer_bytes(&act->outputs);
    child_of(start->element)->is_live = false;
    stand->live--;
    stand->outside -= child->is_outside ? 1 : 0;
    for (int i = 0; i < (act->is_twice ? 2 : 1) && error == 0; i++) {
        error = tr_tell(context, tr_parent(context), &tr_node_ended_schema, ended);
    }
    return error != 0 ? error : tr_stop(context);
}

static int child_play(struct tr_context *context, struct tr_child *child,
                      enum array_stand_event event, const struct tr_node_start *start)
{
    struct array_stand_act act = {.ended = {.node = start->node,
                                            .element = start->element,
                                            .phase = TR_NODE_PHASE_SUCCEEDED,
                                            .attempts = 1,
                                            .phases = 1U << TR_NODE_PHASE_RUNNING,
                                            .failed_element = TR_ELEMENT_NONE}};
    tr_buffer_init(&act.outputs, 0);
    if (event == STAND_ABORT) {
        act.is_over = true;
        act.ended.phase = TR_NODE_PHASE_ABORTED;
        act.ended.phases = 0;
    }
    array_stand.play(event, start, &act);
    int error = child_say(context, child, start, &act);
    tr_buffer_fini(&act.outputs);
    return error;
}

static int child_start(struct tr_context *context, struct tr_child *child,
                       const struct tr_message *message)
{
    struct tr_node_start start;
    int error = tr_message_read(message, node_start, &start);
    if (error != 0) {
        return error;
    }
    child->start_bytes = (uint32_t)message->body.size;
    error = tri_array_stretch_put(context, 0, message->body);
    note_spawn(context, &start);
    return error != 0 ? error : child_play(context, child, STAND_START, &start);
}

static int child_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_child *child = state;
    if (tr_message_is(message, &tr_node_start_schema)) {
        return child_start(context, child, message);
    }
    bool is_abort = tr_message_is(message, &tr_node_abort_schema);
    if (!is_abort && !tr_message_is(message, &tr_child_poke_schema)) {
        return tr_unexpected(context, message);
    }
    struct tr_buffer buffer;
    struct tr_node_start start;
    tr_buffer_init(&buffer, 0);
    int error = tri_array_stretch_get(context, 0, 0, child->start_bytes, &buffer);
    error = error != 0 ? error
                       : tr_node_start_unpack(tr_buffer_bytes(&buffer),
                                              tr_node_start_schema.version, &start);
    if (error == 0 && is_abort) {
        struct tr_node_abort abort;
        error = tr_message_read(message, node_abort, &abort);
        child_of(start.element)->was_aborted = true;
        child_of(start.element)->was_hard = abort.is_hard;
    }
    error = error != 0 ? error
                       : child_play(context, child, is_abort ? STAND_ABORT : STAND_POKE, &start);
    tr_buffer_fini(&buffer);
    return error;
}

static const struct tr_behaviour task_behaviour = {
    .name = "task", .id = 102, .state = &tr_child_schema, .handle = child_handle};
static const struct tr_behaviour workflow_behaviour = {
    .name = "workflow", .id = 101, .state = &tr_child_schema, .handle = child_handle};

void array_stand_run(void)
{
    do {
        stage_run(&array_stand.stage);
    } while (array_stand_serve());
}

void array_stand_advance(uint64_t milliseconds)
{
    array_stand_run();
    for (uint64_t i = 0; i < milliseconds; i++) {
        stage_advance(&array_stand.stage, 1);
        array_stand_run();
    }
}

/* ------------------------------------------------------------------- open and close */

static void open_stage(void)
{
    struct array_stand *stand = &array_stand;
    static const struct tr_behaviour *const behaviours[] = {&hub_behaviour, &tr_array_behaviour,
                                                            &task_behaviour, &workflow_behaviour};
    struct stage_options options = {.behaviours = behaviours,
                                    .behaviour_count = TR_COUNT_OF(behaviours),
                                    .records = tr_history_schemas,
                                    .record_count = tr_history_schema_count,
                                    .program = stand->engine};
    if (stand->model != NULL) {
        struct tri_store_options wanted = {.folder = "model",
                                           .durability = TR_DURABILITY_FULL,
                                           .records = tr_history_schemas,
                                           .record_count = tr_history_schema_count};
        assert_int_equal(tri_model_open(stand->model, &wanted, NULL, &stand->store), 0);
        options.store = stand->store;
    }
    stage_open(&stand->stage, &options);
    stand->stage.host.shared.services |= 1U << TR_SERVICE_FILES;
    struct tr_env *env = &stand->stage.env;
    tri_service_init(&stand->files, env, 1, stand->stage.host.shared.host, TR_SERVICE_FILES);
    assert_int_equal(env->ops->link_open(env, TRI_PLACE_FILES, &stand->files.sender.link), 0);
}

static void close_stage(void)
{
    struct array_stand *stand = &array_stand;
    tri_service_fini(&stand->files);
    stage_close(&stand->stage);
    if (stand->store != NULL) {
        tri_store_close(stand->store);
    }
}

void array_stand_open(const char *definition, array_stand_play *play, bool is_stored)
{
    struct array_stand *stand = &array_stand;
    struct tr_report report;
    memset(stand, 0, sizeof *stand);
    stand->play = play;
    stand->engine = calloc(1, sizeof *stand->engine);
    struct tr_definition_source request = {.path = tr_text_of("test.yaml"),
                                           .folder = tr_text_of("/test"),
                                           .text = tr_text_of(definition)};
    tr_report_init(&report);
    int error = tr_graph_compile(&request, &report, &stand->graph);
    tr_report_finish(&report);
    for (uint32_t i = 0; i < report.count; i++) {
        struct tr_buffer text;
        tr_buffer_init(&text, 0);
        tr_problem_print(&report.problems[i], &text);
        print_message("%.*s\n", (int)text.size, (const char *)text.data);
        tr_buffer_fini(&text);
    }
    tr_report_fini(&report);
    assert_int_equal(error, 0);
    assert_int_equal(tr_graph_registry_put(&stand->engine->registry, stand->graph, &stand->number),
                     0);
    stand->model = is_stored ? tri_model_new() : NULL;
    open_stage();
    stand->hub = stage_spawn(&stand->stage, &hub_behaviour, NULL);
}

void array_stand_close(void)
{
    struct array_stand *stand = &array_stand;
    close_stage();
    for (uint32_t i = 0; i < stand->blob_count; i++) {
        free(stand->blobs[i].data);
    }
    if (stand->model != NULL) {
        tri_model_free(stand->model);
    }
    tr_graph_registry_fini(&stand->engine->registry);
    free(stand->engine);
    stand->engine = NULL;
}

void array_stand_crash(void)
{
    struct array_stand *stand = &array_stand;
    tri_model_kill(stand->model, 1);
    close_stage();
    stand->live = 0;
    stand->outside = 0;
    open_stage();
}

/* ------------------------------------------------------------------------- the array */

static const struct tr_node *find_node(const char *id)
{
    const struct tr_workflow *workflow =
        &array_stand.graph->workflows[array_stand.graph->main_workflow];
    uint32_t node = graph_find_node(workflow, tr_text_of(id));
    assert_int_not_equal(node, TR_GRAPH_NONE);
    return &workflow->nodes[node];
}

void array_stand_start_slots(const char *node, struct tr_bytes slots)
{
    struct array_stand *stand = &array_stand;
    uint32_t main_workflow = stand->graph->main_workflow;
    struct tr_node_start start = {
        .graph = stand->number,
        .workflow = main_workflow,
        .node = (uint32_t)(find_node(node) - stand->graph->workflows[main_workflow].nodes),
        .element = TR_ELEMENT_NONE,
        .execution = tr_text_of("demo/development/test"),
        .number = stand->hub.key.group,
        .path = tr_text_of(node),
        .inputs = slots,
        .recovery = tr_text_of(stand->recovery != NULL ? stand->recovery : ""),
    };
    size_t size = tr_node_start_schema.size_max(&start);
    uint8_t *bytes = tr_alloc(size);
    struct tr_writer writer = tr_writer_of(bytes, size);
    assert_int_equal(tr_node_start_pack(&start, &writer), 0);
    struct tr_hub_word word = {.start = {bytes, tr_writer_size(&writer)}};
    stage_tell(&stand->stage, stand->hub, &tr_hub_word_schema, &word);
    tr_free(bytes);
}

/* Appends the value of a document, read by a type. */
static void pack_tree(const struct tr_type *type, const struct tr_tree *tree,
                      struct tr_arena *arena, struct tr_report *report, struct tr_buffer *buffer)
{
    struct tr_literal_reader reader = {.report = report, .arena = arena, .folder = tr_text_of("")};
    assert_true(tr_literal_read(&reader, type, tree, buffer));
}

void array_stand_start(const char *node, const char *inputs_json)
{
    struct tr_arena arena;
    struct tr_report report;
    struct tr_buffer slots;
    const struct tr_graph *graph = array_stand.graph;
    const struct tr_workflow *workflow = &graph->workflows[graph->main_workflow];
    const struct tr_node *found = find_node(node);
    tr_arena_init(&arena);
    tr_report_init(&report);
    tr_buffer_init(&slots, 0);
    uint32_t source = tri_report_source(&report, tr_text_of("inputs"));
    const struct tr_tree *tree = tr_json_read(&arena, &report, source, tr_text_of(inputs_json));
    assert_non_null(tree);
    assert_int_equal(tree->count, found->input_count);
    tr_buffer_array(&slots, tree->count);
    for (uint32_t i = 0; i < tree->count; i++) {
        pack_tree(workflow->bindings[found->input_first + i].type, tree->items[i], &arena, &report,
                  &slots);
    }
    array_stand_start_slots(node, tr_buffer_bytes(&slots));
    tr_buffer_fini(&slots);
    tr_report_fini(&report);
    tr_arena_fini(&arena);
}

void array_stand_pack(const char *type, const char *json, struct tr_buffer *buffer)
{
    struct tr_arena arena;
    struct tr_report report;
    struct tr_types types;
    struct tr_text problem;
    tr_arena_init(&arena);
    tr_report_init(&report);
    tr_types_init(&types, &arena);
    const struct tr_type *parsed = tr_type_parse(&types, tr_text_of(type), &problem);
    assert_non_null(parsed);
    uint32_t source = tri_report_source(&report, tr_text_of("value"));
    const struct tr_tree *tree = tr_json_read(&arena, &report, source, tr_text_of(json));
    assert_non_null(tree);
    pack_tree(parsed, tree, &arena, &report, buffer);
    tr_report_fini(&report);
    tr_arena_fini(&arena);
}

void array_stand_poke(uint32_t element)
{
    stage_tell(&array_stand.stage, array_stand.children[element].ref, &tr_child_poke_schema,
               &(struct tr_child_poke){0});
}

void array_stand_abort(uint8_t phase, bool is_hard)
{
    struct tr_hub_word word = {.phase = phase, .is_hard = is_hard};
    stage_tell(&array_stand.stage, array_stand.hub, &tr_hub_word_schema, &word);
}

const struct tr_array_state *array_stand_state(void)
{
    struct tri_actor *actor = stage_actor(&array_stand.stage, array_stand.array);
    return actor == NULL ? NULL : tri_actor_state(actor);
}

const char *array_stand_output(uint32_t output)
{
    static char *text;
    struct tr_bytes slot;
    struct tr_offloaded where;
    struct tr_buffer json;
    assert_int_equal(tr_slots_get(array_stand.end.outputs, output, &slot), 0);
    if (tr_slot_is_offloaded(slot, &where)) {
        const struct array_stand_blob *blob = array_stand_find_blob(where.uri);
        assert_true(blob->is_whole);
        assert_int_equal(blob->size, where.size_bytes);
        slot = (struct tr_bytes){.data = blob->data, .size = blob->size};
    }
    const struct tr_node *node =
        &array_stand.graph->workflows[array_stand.graph->main_workflow].nodes[array_stand.end.node];
    const struct tr_type *type = node->outputs.items[output].type;
    tr_buffer_init(&json, 0);
    assert_int_equal(tr_literal_check(type, slot), 0);
    assert_int_equal(tr_literal_json(type, slot, &json), 0);
    text = realloc(text, json.size + 1);
    assert_non_null(text);
    memcpy(text, json.data, json.size);
    text[json.size] = 0;
    tr_buffer_fini(&json);
    return text;
}
