/*
 * The stand of a task's tests. The boss writes into the stand itself, which no real handler may do:
 * it is the test's eye.
 */
#include "tests/unit/actors/task_stand.h"

#include <stdlib.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/json.h"
#include "plugins/builtin/registry.h"
#include "runtime/link/frame.h"
#include "schemas/engine/history.h"
#include "tests/support/graph_find.h"

TASK_STAND_SCHEMAS(TR_SCHEMA_DEFINE)

struct task_stand stand;
const struct tr_behaviour *stand_task_behaviour = &tr_task_behaviour;

/* ------------------------------------------------------------------- boss */

struct stand_block {
    struct stand_block *next;
    uint8_t bytes[];
};

static uint8_t *keep_bytes(const void *data, size_t size)
{
    struct stand_block *block = malloc(sizeof *block + size + 1);
    assert_non_null(block);
    block->next = stand.blocks;
    stand.blocks = block;
    if (size > 0) {
        memcpy(block->bytes, data, size);
    }
    return block->bytes;
}

static struct tr_text keep(struct tr_text text)
{
    return (struct tr_text){.data = (const char *)keep_bytes(text.data, text.size),
                            .size = text.size};
}

static int on_ended(struct tr_boss *boss, const struct tr_message *message)
{
    boss->ended++;
    struct tr_node_ended ended;
    int error = tr_message_read(message, node_ended, &ended);
    assert_int_equal(error, 0);
    stand.ended_count++;
    stand.ended = ended;
    stand.ended.code = keep(ended.code);
    stand.ended.message = keep(ended.message);
    stand.ended.failed = keep(ended.failed);
    stand.ended.outputs.data = keep_bytes(ended.outputs.data, ended.outputs.size);
    return 0;
}

static int on_news(const struct tr_message *message)
{
    struct tr_node_news news;
    int error = tr_message_read(message, node_news, &news);
    assert_int_equal(error, 0);
    assert_true(stand.news_count < STAND_NEWS_MAX);
    news.message = keep(news.message);
    stand.news[stand.news_count++] = news;
    return 0;
}

static int on_go(struct tr_context *context, struct tr_boss *boss, const struct tr_message *message)
{
    struct tr_boss_go go;
    struct tr_node_start start;
    int error = tr_message_read(message, boss_go, &go);
    error =
        error != 0 ? error : tr_node_start_unpack(go.start, tr_node_start_schema.version, &start);
    if (error != 0) {
        return error;
    }
    struct tr_spawn_options options = {.name = tr_text_of("child")};
    error = tr_spawn(context, &tr_task_behaviour, &options, &boss->child);
    return error != 0 ? error : tr_tell(context, boss->child, &tr_node_start_schema, &start);
}

static int boss_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_boss *boss = state;
    if (tr_message_is(message, &tr_boss_go_schema)) {
        return on_go(context, boss, message);
    }
    if (tr_message_is(message, &tr_node_abort_schema)) {
        struct tr_node_abort abort;
        int error = tr_message_read(message, node_abort, &abort);
        return error != 0 ? error : tr_tell(context, boss->child, &tr_node_abort_schema, &abort);
    }
    if (tr_message_is(message, &tr_node_pause_schema)) {
        struct tr_node_pause pause;
        int error = tr_message_read(message, node_pause, &pause);
        return error != 0 ? error : tr_tell(context, boss->child, &tr_node_pause_schema, &pause);
    }
    if (tr_message_is(message, &tr_node_ended_schema)) {
        return on_ended(boss, message);
    }
    if (tr_message_is(message, &tr_node_news_schema)) {
        return on_news(message);
    }
    return tr_unexpected(context, message);
}

const struct tr_behaviour stand_boss_behaviour = {
    .name = "boss", .id = 61100, .state = &tr_boss_schema, .handle = boss_handle};

/* ---------------------------------------------------------- the fake actor plugin */

static int fake_actor_handle(struct tr_task_context *task, void *state,
                             const struct tr_task_event *event, struct tr_transition *transition)
{
    return stand.handle(task, state, event, transition);
}

static int fake_actor_abort(struct tr_task_context *task, void *state, bool is_hard,
                            const struct tr_task_event *event, struct tr_transition *transition)
{
    stand.last_is_hard = is_hard;
    return stand.abort == NULL ? tr_task_aborted(transition)
                               : stand.abort(task, state, event, transition);
}

static int fake_actor_finalize(struct tr_task_context *task, void *state, uint8_t phase)
{
    (void)task;
    (void)state;
    stand.finalized++;
    stand.finalized_phase = phase;
    return 0;
}

static int fake_actor_check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    static const struct tr_config_key keys[] = {{"known", TR_CODEC_UNSIGNED}};
    return tr_config_check(task->config, keys, 1, problem, problem_size);
}

static const char *const fake_actor_types[] = {"fake", NULL};

const struct tr_plugin stand_fake_plugin = {
    .abi = TR_PLUGIN_ABI,
    .id = "fake",
    .task_types = fake_actor_types,
    .resource = "fakes",
    .is_local = true,
    .shares_files = true,
    .state = &tr_fake_actor_state_schema,
    .check = fake_actor_check,
    .handle = fake_actor_handle,
    .abort = fake_actor_abort,
    .finalize = fake_actor_finalize,
};

/* The same, as one whose work is done elsewhere. */
static const char *const stranger_types[] = {"stranger", NULL};

static const struct tr_plugin stranger_plugin = {
    .abi = TR_PLUGIN_ABI,
    .id = "stranger",
    .task_types = stranger_types,
    .shares_files = true,
    .state = &tr_fake_actor_state_schema,
    .check = fake_actor_check,
    .handle = fake_actor_handle,
    .abort = fake_actor_abort,
    .finalize = fake_actor_finalize,
};

/* ------------------------------------------------------------ begin and end */

static const struct tr_plugin *const plugins[] = {&tr_echo_plugin, &tr_sleep_plugin,
                                                  &stand_fake_plugin, &stranger_plugin};

static void compile(const char *yaml)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    tr_report_init(&report);
    struct tr_definition_source request = {
        .path = tr_text_of("flow.yaml"), .folder = tr_text_of("/flows"), .text = tr_text_of(yaml)};
    int error = tr_graph_compile(&request, &report, &graph);
    for (uint32_t i = 0; i < report.count; i++) {
        print_error("%u: %.*s; %.*s\n", report.problems[i].line, TRI_TEXT(report.problems[i].rule),
                    TRI_TEXT(report.problems[i].remedy));
    }
    assert_int_equal(error, 0);
    tr_report_fini(&report);
    assert_int_equal(tr_graph_name(graph), 0);
    assert_int_equal(tr_graph_registry_put(&stand.engine->registry, graph, &stand.graph), 0);
    stand.compiled = tr_graph_registry_find(&stand.engine->registry, stand.graph);
}

static void open_stage(void)
{
    static const struct tr_behaviour *behaviours[] = {
        &stand_boss_behaviour, NULL, &tr_resources_behaviour, &tr_catalog_behaviour,
        &tr_workflow_behaviour};
    behaviours[1] = stand_task_behaviour;
    if (stand.model != NULL) {
        struct tri_store_options options = {.folder = "model",
                                            .durability = TR_DURABILITY_FULL,
                                            .records = tr_history_schemas,
                                            .record_count = tr_history_schema_count};
        assert_int_equal(tri_model_open(stand.model, &options, NULL, &stand.store), 0);
    }
    struct stage_options options = {.store = stand.store,
                                    .behaviours = behaviours,
                                    .behaviour_count = TR_COUNT_OF(behaviours),
                                    .records = tr_history_schemas,
                                    .record_count = tr_history_schema_count,
                                    .program = stand.engine};
    stage_open(&stand.stage, &options);
    stand.stage.host.shared.services |= 1U << TR_SERVICE_PROCESSES | 1U << TR_SERVICE_FILES;
}

void stand_begin(const char *yaml, bool is_durable)
{
    stand = (struct task_stand){0};
    stand.engine = calloc(1, sizeof *stand.engine);
    assert_non_null(stand.engine);
    stand.engine->plugins = plugins;
    stand.engine->plugin_count = TR_COUNT_OF(plugins);
    stand.engine->system_retries = 3;
    stand.engine->store_folder = "/store";
    compile(yaml);
    stand.model = is_durable ? tri_model_new() : NULL;
    open_stage();
    stand.boss = stage_spawn(&stand.stage, &stand_boss_behaviour, NULL);
    stand.bystanders = 1;
}

void stand_begin_resources(uint32_t fakes)
{
    stand.engine->resources = stage_spawn(&stand.stage, &tr_resources_behaviour, NULL);
    stand.bystanders++;
    struct tr_resource_quota quota = {.name = tr_text_of("fakes"), .slots = fakes};
    stage_tell(&stand.stage, stand.engine->resources, &tr_resource_quota_schema, &quota);
    stage_run(&stand.stage);
}

void stand_begin_catalog(void)
{
    stand.engine->catalog = stage_spawn(&stand.stage, &tr_catalog_behaviour, NULL);
    stand.bystanders++;
}

static void close_stage(void)
{
    stage_close(&stand.stage);
    if (stand.store != NULL) {
        tri_store_close(stand.store);
        stand.store = NULL;
    }
}

void stand_end(void)
{
    close_stage();
    if (stand.model != NULL) {
        tri_model_free(stand.model);
    }
    tr_graph_registry_drop(&stand.engine->registry, stand.graph);
    tr_graph_registry_fini(&stand.engine->registry);
    while (stand.blocks != NULL) {
        struct stand_block *block = stand.blocks;
        stand.blocks = block->next;
        free(block);
    }
    free(stand.engine);
}

void stand_crash(void)
{
    (void)stand_look_outside();
    tri_model_kill(stand.model, 1);
    close_stage();
    open_stage();
    if (stand.reopened != NULL) {
        stand.reopened();
    }
    stage_run(&stand.stage);
}

/* ------------------------------------------------------------------ starting */

/* Slots for a task's inputs from a JSON object, in a buffer. */
static void read_inputs(const struct tr_interface *interface, const char *json,
                        struct tr_buffer *slots)
{
    struct tr_report report;
    struct tr_arena arena;
    tr_report_init(&report);
    tr_arena_init(&arena);
    uint32_t source = tri_report_source(&report, tr_text_of("inputs"));
    const struct tr_tree *object =
        tr_json_read(&arena, &report, source, tr_text_of(json == NULL ? "{}" : json));
    assert_non_null(object);
    struct tr_literal_reader reader = {.report = &report, .arena = &arena};
    tr_buffer_array(slots, interface->inputs.count);
    for (uint32_t i = 0; i < interface->inputs.count; i++) {
        const struct tr_variable *input = &interface->inputs.items[i];
        const char *name = tr_arena_print(&arena, "%.*s", TRI_TEXT(input->name)).data;
        const struct tr_tree *value = tr_tree_find(object, name);
        assert_non_null(value);
        assert_true(tr_literal_read(&reader, input->type, value, slots));
    }
    tr_arena_fini(&arena);
    tr_report_fini(&report);
}

void stand_prepare(const struct stand_start *start)
{
    uint32_t workflow = tr_graph_find_workflow(stand.compiled, tr_text_of("main"));
    assert_int_not_equal(workflow, TR_GRAPH_NONE);
    const struct tr_workflow *of = &stand.compiled->workflows[workflow];
    uint32_t node = graph_find_node(of, tr_text_of(start->node));
    assert_int_not_equal(node, TR_GRAPH_NONE);
    const struct tr_task *task = &stand.compiled->tasks[of->nodes[node].target];
    struct tr_buffer inputs;
    tr_buffer_init(&inputs, 0);
    read_inputs(&task->interface, start->inputs, &inputs);
    struct tr_node_start body = {
        .graph = stand.graph,
        .workflow = workflow,
        .node = node,
        .element = start->is_element ? start->element : TR_ELEMENT_NONE,
        .execution = tr_text_of("demo/development/exec"),
        .number = stand.boss.key.group,
        .path = tr_text_of(start->node),
        .cache_mode = start->cache_mode,
        .inputs = tr_buffer_bytes(&inputs),
    };
    size_t size = tr_node_start_schema.size_max(&body);
    void *packed = malloc(size);
    struct tr_writer writer = tr_writer_of(packed, size);
    assert_int_equal(tr_node_start_pack(&body, &writer), 0);
    struct tr_boss_go go = {.start = {.data = packed, .size = tr_writer_size(&writer)}};
    stage_tell(&stand.stage, stand.boss, &tr_boss_go_schema, &go);
    free(packed);
    tr_buffer_fini(&inputs);
}

void stand_start(const struct stand_start *start)
{
    stand_prepare(start);
    stage_run(&stand.stage);
}

static struct tr_ref child(void)
{
    struct tri_actor *boss = stage_actor(&stand.stage, stand.boss);
    assert_non_null(boss);
    return ((const struct tr_boss *)tri_actor_state(boss))->child;
}

struct tri_actor *stand_task(void)
{
    return stage_actor(&stand.stage, child());
}

const struct tr_task_state *stand_state(void)
{
    struct tri_actor *actor = stand_task();
    assert_non_null(actor);
    return tri_actor_state(actor);
}

void stand_abort(uint8_t phase, bool is_hard)
{
    struct tr_node_abort abort = {
        .phase = phase, .cause = tr_text_of("the test says so"), .is_hard = is_hard};
    stage_tell(&stand.stage, stand.boss, &tr_node_abort_schema, &abort);
    stage_run(&stand.stage);
}

void stand_pause(bool is_paused)
{
    struct tr_node_pause pause = {.is_paused = is_paused};
    stage_tell(&stand.stage, stand.boss, &tr_node_pause_schema, &pause);
    stage_run(&stand.stage);
}

/* -------------------------------------------------------------- the outside */

static void note_outside(struct tr_bytes bytes)
{
    assert_true(stand.outside_count < STAND_OUTSIDE_MAX);
    const uint8_t *copy = keep_bytes(bytes.data, bytes.size);
    struct tr_envelope envelope;
    tr_envelope_unpack(copy, &envelope);
    stand.outside[stand.outside_count++] = (struct outside_message){
        .from = {{envelope.from_group, envelope.from_serial}, envelope.from_incarnation},
        .service = (uint16_t)envelope.to_serial,
        .type = envelope.type,
        .version = envelope.version,
        .kind = envelope.kind,
        .sequence = envelope.sequence,
        .body = tr_envelope_body(copy),
    };
}

uint32_t stand_look_outside(void)
{
    static const uint32_t service_places[] = {TRI_PLACE_PROCESSES, TRI_PLACE_FILES};
    for (size_t i = 0; i < TR_COUNT_OF(service_places); i++) {
        struct tri_frame frame;
        struct tri_channel *link = NULL;
        assert_int_equal(stand.stage.env.ops->link_open(&stand.stage.env, service_places[i], &link),
                         0);
        while (link->ops->receive(link, &frame) == 0) {
            size_t offset = 0;
            struct tr_bytes message;
            bool is_stored;
            while (tri_frame_next(&frame, &offset, &message, &is_stored)) {
                note_outside(message);
            }
            link->ops->release(link, &frame);
        }
        tri_channel_close(link);
    }
    return stand.outside_count;
}

const struct outside_message *stand_outside_last(const struct tr_schema *schema)
{
    for (uint32_t i = stand_look_outside(); i > 0; i--) {
        if (stand.outside[i - 1].type == schema->id) {
            return &stand.outside[i - 1];
        }
    }
    return NULL;
}

uint32_t stand_outside_times(const struct tr_schema *schema)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < stand_look_outside(); i++) {
        count += stand.outside[i].type == schema->id ? 1 : 0;
    }
    return count;
}

static void speak(const struct tri_heading *heading, const struct tr_schema *schema,
                  const void *body)
{
    stage_send(&stand.stage, 0, heading, schema, body);
}

void stand_answer(const struct outside_message *call, const struct tr_schema *schema,
                  const void *body)
{
    struct tri_heading heading = {
        .kind = TR_KIND_REPLY,
        .from = {{0, call->service}, 0},
        .to = call->from,
        .sequence = 1,
        .cause = call->from,
        .cause_sequence = call->sequence,
    };
    speak(&heading, schema, body);
}

void stand_say_to(struct tr_ref task, uint16_t service, const struct tr_schema *schema,
                  const void *body)
{
    struct tri_heading heading = {
        .kind = TR_KIND_TELL, .from = {{0, service}, 0}, .to = task, .sequence = 1};
    speak(&heading, schema, body);
}

void stand_say(uint16_t service, const struct tr_schema *schema, const void *body)
{
    stand_say_to(child(), service, schema, body);
    stage_run(&stand.stage);
}

struct tr_ref stand_child(void)
{
    return child();
}

void stand_abort_one(struct tr_ref task)
{
    struct tr_node_abort abort = {.phase = TR_NODE_PHASE_ABORTED};
    stage_tell(&stand.stage, task, &tr_node_abort_schema, &abort);
    stage_run(&stand.stage);
}

void stand_kill(struct tr_ref task)
{
    tri_actor_end(stage_home(&stand.stage, task), stage_actor(&stand.stage, task), TR_KILLED);
    stage_run(&stand.stage);
}

void stand_serve(stand_service *serve)
{
    while (stand.served < stand_look_outside()) {
        serve(&stand.outside[stand.served++]);
    }
}

void stand_run(stand_service *serve)
{
    stage_run(&stand.stage);
    while (stand.served < stand_look_outside()) {
        stand_serve(serve);
        stage_run(&stand.stage);
    }
}

uint32_t stand_ends(void)
{
    return ((const struct tr_boss *)tri_actor_state(stage_actor(&stand.stage, stand.boss)))->ended;
}

bool stand_run_with_crash(const struct stand_start *start, stand_service *serve, uint32_t turns,
                          uint64_t milliseconds)
{
    stand_prepare(start);
    tri_sender_flush(&stand.stage.host.sender);
    uint32_t turn = 0;
    uint32_t idle = 0;
    while (turn < turns && stand_ends() == 0 && idle < 2) {
        idle = stage_step(&stand.stage) ? 0 : idle + 1;
        stand_serve(serve);
        turn++;
    }
    bool is_early = turn == turns;
    stand_crash();
    /* What was said to the boss itself may be lost: then it is as if nobody had asked. */
    if (stand_ends() == 0 && stage_actor_count(&stand.stage) <= stand.bystanders) {
        stand_prepare(start);
    }
    stand_run(serve);
    for (uint64_t i = 0; i < milliseconds && stand_ends() == 0; i++) {
        stage_advance(&stand.stage, 1);
        stand_run(serve);
    }
    return is_early;
}

const char *stand_outputs(void)
{
    static char text[4096];
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    assert_int_equal(tr_literal_json(NULL, stand.ended.outputs, &buffer), 0);
    assert_true(buffer.size < sizeof text);
    memcpy(text, buffer.data, buffer.size);
    text[buffer.size] = '\0';
    tr_buffer_fini(&buffer);
    return text;
}
