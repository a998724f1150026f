/*
 * The engine's injected bugs, one row each. They are made around its handlers and in the plugin: a
 * message is kept from its actor or changed, or a state is spoilt behind its back.
 */
#include "tests/sim/engine_inject.h"

#include <stdlib.h>
#include <string.h>

#include "actors/graph/value/slot.h"
#include "schemas/engine/notify.h"
#include "schemas/engine/recovery.h"
#include "schemas/engine/schedule.h"
#include "schemas/engine/state_array.h"
#include "schemas/engine/state_signals.h"
#include "schemas/engine/state_task.h"
#include "schemas/runtime/http.h"
#include "tests/sim/engine_turn.h"

/* What a injected bug gets of a turn. */
#define TURN                                                                   \
    struct tr_context *context, void *state, const struct tr_message *message, \
        const struct tr_behaviour *behaviour

static bool strikes(uint32_t once_in)
{
    return sim_inject_strikes(sim_world()->host_in_step, once_in);
}

/* Whether this is such a message to such an actor, and its time has come. */
static bool strikes_at(const struct tr_behaviour *behaviour, const struct tr_behaviour *wanted,
                       const struct tr_message *message, const struct tr_schema *schema,
                       uint32_t once_in)
{
    return behaviour->id == wanted->id && tr_message_is(message, schema) && strikes(once_in);
}

/* ------------------------------------------------------------------- clocks that are mixed up */

/* A behaviour that goes by the clock that people set, where it is to go by the steady one. */
static int mix_clocks(TURN, const struct tr_behaviour *wanted)
{
    bool is_meant = behaviour->id == wanted->id && strikes(1);
    return is_meant ? sim_engine_handle_by_wall(context, state, message)
                    : sim_engine_handle(context, state, message);
}

static int task_by_wall(TURN)
{
    return mix_clocks(context, state, message, behaviour, &tr_task_behaviour);
}

static int workflow_by_wall(TURN)
{
    return mix_clocks(context, state, message, behaviour, &tr_workflow_behaviour);
}

static int resources_by_wall(TURN)
{
    return mix_clocks(context, state, message, behaviour, &tr_resources_behaviour);
}

static int schedule_by_wall(TURN)
{
    return mix_clocks(context, state, message, behaviour, &tr_schedule_behaviour);
}

static int array_by_wall(TURN)
{
    return mix_clocks(context, state, message, behaviour, &tr_array_behaviour);
}

/* -------------------------------------------------------------------- messages that are lost */

static int forget_end(TURN)
{
    bool is_lost =
        strikes_at(behaviour, &tr_workflow_behaviour, message, &tr_node_ended_schema, 10);
    return is_lost ? 0 : sim_engine_handle(context, state, message);
}

static int forget_element(TURN)
{
    bool is_lost = strikes_at(behaviour, &tr_array_behaviour, message, &tr_node_ended_schema, 10);
    return is_lost ? 0 : sim_engine_handle(context, state, message);
}

static int lose_abort(TURN)
{
    bool is_lost = strikes_at(behaviour, &tr_task_behaviour, message, &tr_node_abort_schema, 3);
    return is_lost ? 0 : sim_engine_handle(context, state, message);
}

static int lose_release(TURN)
{
    bool is_lost =
        strikes_at(behaviour, &tr_resources_behaviour, message, &tr_resource_release_schema, 10);
    return is_lost ? 0 : sim_engine_handle(context, state, message);
}

static int lose_owner(TURN)
{
    bool is_lost = strikes_at(behaviour, &tr_task_behaviour, message, &tr_cache_owner_schema, 2);
    return is_lost ? 0 : sim_engine_handle(context, state, message);
}

/* The last word of what was launched. */
static int lose_launched(TURN)
{
    bool is_lost = strikes_at(behaviour, &tr_launch_behaviour, message, &tr_node_ended_schema, 2);
    return is_lost ? 0 : sim_engine_handle(context, state, message);
}

/* A dynamic task does not hear that its graph has ended. */
static int lose_inner(TURN)
{
    bool is_lost = strikes_at(behaviour, &tr_task_behaviour, message, &tr_node_ended_schema, 2);
    return is_lost ? 0 : sim_engine_handle(context, state, message);
}

/* The notifier gives a notification no actor. */
static int lose_notification(TURN)
{
    bool is_lost = strikes_at(behaviour, &tr_notifier_behaviour, message, &tr_notify_schema, 2);
    return is_lost ? 0 : sim_engine_handle(context, state, message);
}

/* A notification takes the answer for none, and is sent again. */
static int tell_twice(TURN)
{
    struct tr_notification_state *notification = state;
    struct tr_http_response response;
    bool is_meant = behaviour->id == tr_notification_behaviour.id &&
                    tr_message_is(message, &tr_http_response_schema) &&
                    tr_message_read(message, http_response, &response) == 0 &&
                    response.status == 204 && strikes(2);
    if (is_meant) {
        notification->call = 0;
        return tr_timer_start(context, 1, 10);
    }
    return sim_engine_handle(context, state, message);
}

/* A schedule does not hear that its time has come. */
static int lose_time(TURN)
{
    bool is_lost = strikes_at(behaviour, &tr_schedule_behaviour, message, &tr_timer_schema, 10);
    return is_lost ? 0 : sim_engine_handle(context, state, message);
}

/* A word about a pause, or about its end, which does not come to a workflow inside another one. */
static int lose_pause(TURN, bool is_begin)
{
    struct tr_node_pause pause;
    bool is_meant = behaviour->id == tr_workflow_behaviour.id && message->kind == TR_KIND_TELL &&
                    tr_message_is(message, &tr_node_pause_schema) &&
                    tr_message_read(message, node_pause, &pause) == 0 &&
                    pause.is_paused == is_begin;
    return is_meant && strikes(2) ? 0 : sim_engine_handle(context, state, message);
}

static int lose_pause_begin(TURN)
{
    return lose_pause(context, state, message, behaviour, true);
}

static int lose_pause_end(TURN)
{
    return lose_pause(context, state, message, behaviour, false);
}

/* ----------------------------------------------------------------- messages that are changed */

/* Hands an actor another message in place of the one that came. */
static int handle_changed(struct tr_context *context, void *state, const struct tr_message *message,
                          const struct tr_schema *schema, const void *value)
{
    uint8_t *bytes = sim_must(malloc(TR_MESSAGE_BYTES_MAX));
    struct tr_writer writer = tr_writer_of(bytes, TR_MESSAGE_BYTES_MAX);
    struct tr_message changed = *message;
    int error = schema->pack(value, &writer);
    TR_ASSERT(error == 0);
    changed.body = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    error = sim_engine_handle(context, state, &changed);
    free(bytes);
    return error;
}

/* The outputs of a node in another order: those of its neighbour. */
static int swap_outputs(TURN)
{
    struct tr_node_ended ended;
    struct tr_bytes slots[8];
    struct tr_cursor cursor;
    bool is_meant = behaviour->id == tr_workflow_behaviour.id &&
                    tr_message_is(message, &tr_node_ended_schema) &&
                    tr_message_read(message, node_ended, &ended) == 0;
    uint32_t count = is_meant ? tr_slots_begin(ended.outputs, &cursor) : 0;
    if (count < 2 || count > TR_COUNT_OF(slots) || !strikes(4)) {
        return sim_engine_handle(context, state, message);
    }
    struct tr_buffer swapped;
    tr_buffer_init(&swapped, 0);
    tr_buffer_array(&swapped, count);
    for (uint32_t i = 0; i < count; i++) {
        slots[i] = tr_read_any(&cursor);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes slot = slots[(i + 1) % count];
        tr_buffer_add(&swapped, slot.data, slot.size);
    }
    ended.outputs = tr_buffer_bytes(&swapped);
    int error = handle_changed(context, state, message, &tr_node_ended_schema, &ended);
    tr_buffer_fini(&swapped);
    return error;
}

/* A failure of a node is taken for one that was skipped. */
static int forget_failure(TURN)
{
    struct tr_node_ended ended;
    bool is_meant = behaviour->id == tr_workflow_behaviour.id &&
                    tr_message_is(message, &tr_node_ended_schema) &&
                    tr_message_read(message, node_ended, &ended) == 0;
    if (!is_meant || ended.phase != TR_NODE_PHASE_FAILED || !strikes(2)) {
        return sim_engine_handle(context, state, message);
    }
    ended.phase = TR_NODE_PHASE_SKIPPED;
    return handle_changed(context, state, message, &tr_node_ended_schema, &ended);
}

/* What is launched hears nothing of the labels that it inherits. */
static int forget_labels(TURN)
{
    struct tr_launch launch;
    bool is_meant =
        behaviour->id == tr_launcher_behaviour.id && tr_message_is(message, &tr_launch_schema) &&
        tr_message_read(message, launch, &launch) == 0 && launch.inherited_labels.size > 0;
    if (!is_meant || !strikes(2)) {
        return sim_engine_handle(context, state, message);
    }
    launch.inherited_labels = tr_text_of("");
    return handle_changed(context, state, message, &tr_launch_schema, &launch);
}

/* What is launched has labels of its own, and those that it inherits win over them. */
static int inherit_over_own(TURN)
{
    struct tr_launch launch;
    bool is_meant =
        behaviour->id == tr_launcher_behaviour.id && tr_message_is(message, &tr_launch_schema) &&
        tr_message_read(message, launch, &launch) == 0 && launch.inherited_labels.size > 0;
    if (!is_meant || !strikes(2)) {
        return sim_engine_handle(context, state, message);
    }
    launch.labels = launch.inherited_labels;
    return handle_changed(context, state, message, &tr_launch_schema, &launch);
}

/* The bindings of what a message begins; NULL: its graph is not there. */
static const struct tr_binding *bindings_of(const struct tr_node_start *start, uint32_t *count)
{
    struct tr_engine *engine = sim_world()->host_in_step->own;
    const struct tr_graph *graph = tr_graph_registry_find(&engine->registry, start->graph);
    if (graph == NULL || start->workflow >= graph->workflow_count ||
        start->node >= graph->workflows[start->workflow].node_count) {
        return NULL;
    }
    const struct tr_workflow *workflow = &graph->workflows[start->workflow];
    *count = workflow->nodes[start->node].input_count;
    return &workflow->bindings[workflow->nodes[start->node].input_first];
}

/* Appends a slot; of a text its last character is missing. */
static void add_cut(struct tr_bytes slot, bool is_text, struct tr_buffer *slots)
{
    struct tr_cursor cursor = tr_cursor_of(slot);
    struct tr_text text =
        is_text && tr_peek(&cursor) == TR_CODEC_TEXT ? tr_read_text(&cursor) : (struct tr_text){0};
    if (text.size == 0) {
        tr_buffer_add(slots, slot.data, slot.size);
    } else {
        tr_buffer_text_value(slots, (struct tr_text){.data = text.data, .size = text.size - 1});
    }
}

/* A task gets all but the last character of a text that was put together. */
static int cut_text(TURN)
{
    struct tr_node_start start;
    struct tr_cursor cursor;
    struct tr_buffer slots;
    uint32_t bound = 0;
    const struct tr_binding *bindings = NULL;
    if (behaviour->id == tr_task_behaviour.id && tr_message_is(message, &tr_node_start_schema) &&
        tr_message_read(message, node_start, &start) == 0 && start.element == TR_ELEMENT_NONE) {
        bindings = bindings_of(&start, &bound);
    }
    uint32_t count = bindings == NULL ? 0 : tr_slots_begin(start.inputs, &cursor);
    bool has_text = false;
    for (uint32_t i = 0; i < count && i < bound; i++) {
        has_text = has_text || bindings[i].kind == TR_BINDING_TEXT;
    }
    if (!has_text || !strikes(2)) {
        return sim_engine_handle(context, state, message);
    }
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, count);
    for (uint32_t i = 0; i < count; i++) {
        add_cut(tr_read_any(&cursor), i < bound && bindings[i].kind == TR_BINDING_TEXT, &slots);
    }
    start.inputs = tr_buffer_bytes(&slots);
    int error = handle_changed(context, state, message, &tr_node_start_schema, &start);
    tr_buffer_fini(&slots);
    return error;
}

/* How many codes the lists of some settings name. */
struct codes {
    struct tr_settings *settings;
    uint32_t retry_on;
    uint32_t never_retry_on;
};

#define CODES_MOST 8192

/* Empties the lists of all nodes of a host's graphs; gives how many there were. */
static size_t empty_lists(struct tr_graph_registry *registry, struct codes *codes)
{
    size_t count = 0;
    for (uint32_t i = 0; i < TR_GRAPH_REGISTRY_MAX; i++) {
        const struct tr_graph *graph = atomic_load(&registry->places[i].graph);
        for (uint32_t k = 0; graph != NULL && k < graph->workflow_count; k++) {
            const struct tr_workflow *workflow = &graph->workflows[k];
            for (uint32_t n = 0; n < workflow->node_count && count < CODES_MOST; n++) {
                void *settings = (void *)(uintptr_t)workflow->nodes[n].settings;
                if (settings != NULL) {
                    struct codes *own = &codes[count++];
                    own->settings = settings;
                    own->retry_on = own->settings->retry_on_count;
                    own->never_retry_on = own->settings->never_retry_on_count;
                    own->settings->retry_on_count = own->settings->never_retry_on_count = 0;
                }
            }
        }
    }
    return count;
}

/* Undoes that, the last one first, since nodes share settings. */
static void fill_lists(const struct codes *codes, size_t count)
{
    for (size_t i = count; i > 0; i--) {
        codes[i - 1].settings->retry_on_count = codes[i - 1].retry_on;
        codes[i - 1].settings->never_retry_on_count = codes[i - 1].never_retry_on;
    }
}

/* A task does not know which of its failures are not to be tried again. */
static int forget_codes(TURN)
{
    static struct codes codes[CODES_MOST];
    struct tr_engine *engine = sim_world()->host_in_step->own;
    struct tr_sim_job_news news;
    bool is_meant =
        behaviour->id == tr_task_behaviour.id && tr_message_is(message, &tr_sim_job_news_schema) &&
        tr_message_read(message, sim_job_news, &news) == 0 && news.status == SIM_JOB_FAILED;
    if (!is_meant || !strikes(2)) {
        return sim_engine_handle(context, state, message);
    }
    size_t count = empty_lists(&engine->registry, codes);
    int error = sim_engine_handle(context, state, message);
    fill_lists(codes, count);
    return error;
}

/* A time that is to start something starts nothing. */
static int pass_time_over(TURN)
{
    struct tr_schedule_seen seen;
    bool is_meant = behaviour->id == tr_schedule_behaviour.id &&
                    tr_message_is(message, &tr_schedule_seen_schema) &&
                    tr_message_read(message, schedule_seen, &seen) == 0 && seen.fires;
    if (!is_meant || !strikes(10)) {
        return sim_engine_handle(context, state, message);
    }
    seen.fires = false;
    return handle_changed(context, state, message, &tr_schedule_seen_schema, &seen);
}

/* A schedule has forgotten that it is paused when its time comes. */
static int forget_schedule_pause(TURN)
{
    struct tr_schedule_state *schedule = state;
    bool is_meant = behaviour->id == tr_schedule_behaviour.id && schedule->is_paused &&
                    tr_message_is(message, &tr_schedule_wake_schema);
    if (is_meant && strikes(1)) {
        schedule->is_paused = false;
    }
    return sim_engine_handle(context, state, message);
}

/* A schedule that goes on does not know since when, and takes what has passed for missed. */
static int forget_schedule_resumed(TURN)
{
    struct tr_schedule_state *schedule = state;
    bool is_meant = behaviour->id == tr_schedule_behaviour.id && schedule->resumed != 0 &&
                    tr_message_is(message, &tr_schedule_seen_schema);
    if (is_meant && strikes(1)) {
        schedule->resumed = 0;
    }
    return sim_engine_handle(context, state, message);
}

/* Of what is said for the inputs of a node, all that is not an input's: what was launched. */
static void add_launched(struct tr_bytes edits, struct tr_buffer *nodes)
{
    struct tr_cursor cursor = tr_cursor_of(edits);
    struct tr_bytes launched = {.size = 0};
    uint32_t count = tr_read_nil(&cursor) ? 0 : tr_read_array(&cursor);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes edit = tr_read_any(&cursor);
        struct tr_cursor part = tr_cursor_of(edit);
        (void)tr_read_array(&part);
        launched = tr_read_text(&part).size == 0 ? edit : launched;
    }
    tr_buffer_array(nodes, launched.size > 0 ? 1 : 0);
    tr_buffer_add(nodes, launched.data, launched.size);
}

/* One node of an answer: it runs again, or as it is, but without what is edited. */
static void retell_node(struct tr_cursor *cursor, bool keeps, struct tr_buffer *nodes)
{
    uint32_t parts = tr_read_array(cursor);
    uint64_t node = tr_read_u64(cursor);
    uint64_t way = tr_read_u64(cursor);
    struct tr_bytes slots = tr_read_any(cursor);
    bool is_kept = keeps && way == TR_RECOVERY_KEPT;
    for (uint32_t part = 3; part < parts; part++) {
        (void)tr_read_any(cursor);
    }
    tr_buffer_array(nodes, 3);
    tr_buffer_u64(nodes, node);
    tr_buffer_u64(nodes, keeps ? way : (uint64_t)TR_RECOVERY_ANEW);
    if (is_kept) {
        tr_buffer_add(nodes, slots.data, slots.size);
    } else if (keeps) {
        add_launched(slots, nodes);
    } else {
        tr_buffer_array(nodes, 0);
    }
}

/* What a workflow hears of an earlier execution, told otherwise. */
static int retell(struct tr_context *context, void *state, const struct tr_message *message,
                  const struct tr_behaviour *behaviour, bool keeps)
{
    struct tr_recovered_nodes answer;
    struct tr_buffer nodes;
    bool is_meant = behaviour->id == tr_workflow_behaviour.id &&
                    tr_message_is(message, &tr_recovered_nodes_schema) &&
                    tr_message_read(message, recovered_nodes, &answer) == 0;
    if (!is_meant || !strikes(2)) {
        return sim_engine_handle(context, state, message);
    }
    struct tr_cursor cursor = tr_cursor_of(answer.nodes);
    uint32_t count = tr_read_array(&cursor);
    tr_buffer_init(&nodes, 0);
    tr_buffer_array(&nodes, count);
    for (uint32_t i = 0; i < count; i++) {
        retell_node(&cursor, keeps, &nodes);
    }
    answer.nodes = tr_buffer_bytes(&nodes);
    int error = handle_changed(context, state, message, &tr_recovered_nodes_schema, &answer);
    tr_buffer_fini(&nodes);
    return error;
}

/* Nodes that are to be kept run again. */
static int keep_nothing(TURN)
{
    return retell(context, state, message, behaviour, false);
}

/* Inputs that are edited are those that are bound. */
static int forget_edits(TURN)
{
    return retell(context, state, message, behaviour, true);
}

/* A request is granted, and granted once more whatever there is. */
static int grant_anyhow(TURN)
{
    int error = sim_engine_handle(context, state, message);
    bool is_again = error == 0 && strikes_at(behaviour, &tr_resources_behaviour, message,
                                             &tr_resource_request_schema, 4);
    struct tr_resource_request request;
    if (!is_again || tr_message_read(message, resource_request, &request) != 0) {
        return error;
    }
    struct tr_resource_granted granted = {.identity = request.identity};
    return tr_tell(context, message->from, &tr_resource_granted_schema, &granted);
}

/* -------------------------------------------------------------------- states that are spoilt */

/* A retry is counted twice. */
static int count_twice(TURN)
{
    struct tr_task_state before = {0};
    bool is_task = behaviour->id == tr_task_behaviour.id;
    if (is_task) {
        memcpy(&before, state, sizeof before);
    }
    int error = sim_engine_handle(context, state, message);
    struct tr_task_state *after = state;
    if (is_task && error == 0 && after->attempt > before.attempt && strikes(2)) {
        after->attempt++;
    }
    return error;
}

/* One element fewer has to succeed. */
static int need_fewer(TURN)
{
    int error = sim_engine_handle(context, state, message);
    struct tr_array_state *array = state;
    if (error == 0 && behaviour->id == tr_array_behaviour.id &&
        tr_message_is(message, &tr_node_start_schema) && array->needed > 0 && strikes(3)) {
        array->needed--;
    }
    return error;
}

/* A schedule has forgotten that what it started before still runs. */
static int forget_running(TURN)
{
    struct tr_schedule_state *schedule = state;
    bool is_meant = behaviour->id == tr_schedule_behaviour.id &&
                    tr_message_is(message, &tr_schedule_seen_schema) && schedule->monitor != 0;
    if (is_meant && strikes(2)) {
        schedule->monitor = 0;
    }
    return sim_engine_handle(context, state, message);
}

/* After a start an array has forgotten one element that had ended. */
static int forget_ended(TURN)
{
    struct tr_array_state *array = state;
    bool is_meant = behaviour->id == tr_array_behaviour.id &&
                    sim_world()->host_in_step->starts > 1 && array->succeeded > 0;
    if (is_meant && strikes(4)) {
        array->succeeded--;
        array->live++;
    }
    return sim_engine_handle(context, state, message);
}

/* Packs a state that was changed into the room that a injected bug has for it. */
static void put_state(struct tr_image *image, const struct tr_schema *schema, const void *state,
                      uint8_t *room)
{
    struct tr_writer writer = tr_writer_of(room, 2 * image->state.size);
    int error = schema->pack(state, &writer);
    TR_ASSERT(error == 0);
    image->state = (struct tr_bytes){.data = room, .size = tr_writer_size(&writer)};
}

/* A start has forgotten what signals were sent, and who waits for some. */
static void load_no_signals(struct sim_host *host, struct tr_image *image, uint8_t *room)
{
    struct tr_signals_state signals;
    (void)host;
    if (image->behaviour == tr_signals_behaviour.id &&
        tr_signals_state_unpack(image->state, image->state_version, &signals) == 0) {
        signals = (struct tr_signals_state){0};
        put_state(image, &tr_signals_state_schema, &signals, room);
    }
}

/* A start begins with the first attempt again. */
static void load_first(struct sim_host *host, struct tr_image *image, uint8_t *room)
{
    struct tr_task_state task;
    (void)host;
    if (image->behaviour == tr_task_behaviour.id &&
        tr_task_state_unpack(image->state, image->state_version, &task) == 0 && task.attempt > 0) {
        task.attempt = 0;
        put_state(image, &tr_task_state_schema, &task, room);
    }
}

bool sim_engine_submits_blindly(void)
{
    const struct sim_bug *bug = sim_world()->bug;
    return bug != NULL && bug->is_in_plugin && strikes(2);
}

const struct sim_bug sim_engine_bugs[] = {
    {.name = "node-end-forgotten",
     .text = "a workflow does not take note of a node's end",
     .found_by = "liveness: the workflow waits for ever",
     .first_seed = 2,
     .turn = forget_end},
    {.name = "element-end-forgotten",
     .text = "an array does not take note of an element's end",
     .found_by = "liveness: the array waits for ever",
     .first_seed = 2,
     .turn = forget_element},
    {.name = "abort-lost",
     .text = "a task does not hear that it is to end",
     .found_by = "liveness: a job without an end goes on",
     .first_seed = 5,
     .turn = lose_abort},
    {.name = "token-kept",
     .text = "the resource manager does not hear that a token is free again",
     .found_by = "liveness: others wait for it",
     .first_seed = 100,
     .turn = lose_release},
    {.name = "token-granted-anyhow",
     .text = "a token is granted whether there is one or not",
     .found_by = "the environment: more jobs than the quota allows",
     .first_seed = 5,
     .turn = grant_anyhow},
    {.name = "owner-not-told",
     .text = "a task does not hear that it may make what the cache has not",
     .found_by = "liveness: the task waits for ever",
     .first_seed = 69,
     .turn = lose_owner},
    {.name = "outputs-swapped",
     .text = "a node's outputs go into the places of each other",
     .found_by = "the model: other values; history, where the types differ",
     .first_seed = 8,
     .turn = swap_outputs},
    {.name = "failure-forgotten",
     .text = "a workflow takes a node that failed for one that was skipped",
     .found_by = "the model: another end",
     .first_seed = 3,
     .turn = forget_failure},
    {.name = "retry-counted-twice",
     .text = "a task counts a retry twice",
     .found_by = "the model: another end",
     .first_seed = 2,
     .turn = count_twice},
    {.name = "successes-miscounted",
     .text = "an array is content with one success less",
     .found_by = "the model: another end",
     .first_seed = 92,
     .turn = need_fewer},
    {.name = "element-forgotten",
     .text = "after a start an array has forgotten one element that had ended",
     .found_by = "liveness: the array waits for ever",
     .first_seed = 2,
     .turn = forget_ended},
    {.name = "attempt-not-loaded",
     .text = "after a start a task counts its attempts from 0 again",
     .found_by = "liveness: what it waits for is another attempt's",
     .first_seed = 14,
     .load = load_first},
    {.name = "launched-end-lost",
     .text = "a launch node does not hear how what it launched has ended",
     .found_by = "the model: another end",
     .first_seed = 32,
     .turn = lose_launched},
    {.name = "labels-not-inherited",
     .text = "what is launched does not get the labels of what launches it",
     .found_by = "history: other labels",
     .first_seed = 32,
     .turn = forget_labels},
    {.name = "labels-inherited-over-own",
     .text = "labels that are inherited win over those of the workflow that is launched",
     .found_by = "history: other labels",
     .first_seed = 79,
     .turn = inherit_over_own},
    {.name = "text-cut",
     .text = "of a text that was put together a task gets all but the last character",
     .found_by = "the model: other values",
     .first_seed = 2,
     .turn = cut_text},
    {.name = "retry-codes-forgotten",
     .text = "a task tries again what its lists of codes leave out",
     .found_by = "the model: another end",
     .first_seed = 82,
     .turn = forget_codes},
    {.name = "decided-end-lost",
     .text = "a dynamic task does not hear that its graph has ended",
     .found_by = "liveness: the task waits for ever",
     .first_seed = 5,
     .turn = lose_inner},
    {.name = "pause-not-passed-on",
     .text = "a workflow inside another one does not hear of a pause",
     .found_by = "a look at who is paused inside what is",
     .first_seed = 69,
     .turn = lose_pause_begin},
    {.name = "pause-not-lifted",
     .text = "a workflow inside another one does not hear that a pause is over",
     .found_by = "liveness: nothing begins there",
     .first_seed = 69,
     .turn = lose_pause_end},
    {.name = "signals-forgotten",
     .text = "after a start nobody remembers signals, nor who waits for them",
     .found_by = "a worker's state against the store; liveness: a gate waits for ever",
     .first_seed = 7,
     .load = load_no_signals},
    {.name = "kept-runs-again",
     .text = "a workflow runs what it is to keep of an earlier execution",
     .found_by = "the model: it is kept there",
     .first_seed = 5,
     .turn = keep_nothing},
    {.name = "edit-forgotten",
     .text = "a workflow does not hear which inputs of its nodes are edited",
     .found_by = "the model: other values",
     .first_seed = 31,
     .turn = forget_edits},
    {.name = "time-not-heard",
     .text = "a schedule does not hear that its time has come",
     .found_by = "the timetable: it stood still",
     .first_seed = 2,
     .turn = lose_time},
    {.name = "time-passed-over",
     .text = "a schedule starts nothing at a time that fires",
     .found_by = "the timetable: nothing was started",
     .first_seed = 2,
     .turn = pass_time_over},
    {.name = "overlap-forgotten",
     .text = "a schedule has forgotten that what it started before still runs",
     .found_by = "the timetable: two run at once",
     .first_seed = 2,
     .turn = forget_running},
    {.name = "schedule-pause-forgotten",
     .text = "after a start a schedule has forgotten that it is paused",
     .found_by = "the timetable: it goes on, and nobody has said so",
     .first_seed = 37,
     .turn = forget_schedule_pause},
    {.name = "schedule-pause-caught-up",
     .text = "a schedule takes times of a pause for missed ones",
     .found_by = "the timetable: a time that passed in the pause starts something",
     .first_seed = 9,
     .turn = forget_schedule_resumed},
    {.name = "task-by-wall",
     .text = "a task goes by the clock that people set",
     .found_by = "the timers: one lies behind",
     .first_seed = 6,
     .turn = task_by_wall},
    {.name = "workflow-by-wall",
     .text = "a workflow goes by the clock that people set",
     .found_by = "the timers: one lies behind",
     .first_seed = 25,
     .turn = workflow_by_wall},
    {.name = "resources-by-wall",
     .text = "the resource manager goes by the clock that people set",
     .found_by = "the timers: one lies behind",
     .first_seed = 166,
     .turn = resources_by_wall},
    {.name = "schedule-by-wall",
     .text = "a schedule goes by the clock that people set",
     .found_by = "the timers: one lies behind",
     .first_seed = 37,
     .turn = schedule_by_wall},
    {.name = "array-by-wall",
     .text = "an array goes by the clock that people set",
     .found_by = "the timers: one lies behind",
     .first_seed = 6,
     .turn = array_by_wall},
    {.name = "notification-lost",
     .text = "the notifier gives a notification no actor",
     .found_by = "the server that is told: nobody told it",
     .first_seed = 6,
     .turn = lose_notification},
    {.name = "notification-twice",
     .text = "a notification that was delivered is sent again",
     .found_by = "the server that is told: it was, and no crash came in between",
     .first_seed = 6,
     .turn = tell_twice},
    {.name = "submitted-before-commit",
     .text = "a call leaves the host with its batch, not after the commit",
     .found_by = "the environment: the intent is not committed",
     .first_seed = 2,
     .send = sim_inject_calls_early},
    {.name = "submitted-blindly",
     .text = "the plugin submits again after a failed call, without asking",
     .found_by = "the environment: submitted again",
     .first_seed = 2,
     .is_in_plugin = true},
};
const size_t sim_engine_bug_count = TR_COUNT_OF(sim_engine_bugs);
