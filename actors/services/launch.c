/*
 * The actor of a launch node, also as an element of a map: it begins an execution of its own and
 * waits for that one's last word.
 *
 *     node_start -> its root -> the launcher -> a new root -> launched -> ... -> node_ended
 *
 * It is asked for once and by a name that is this node's alone (launch.h). What is launched lives
 * for itself: it has its own history, pauses and retries; only an abort or a deadline of this node
 * goes on to it, and then its end is waited for. How it ends is how this node ends.
 *
 * The steps: ASKED from the start until the launcher has answered, RUNNING while the execution
 * lives, ENDING once that was told to end. An abort while ASKED is kept (`ending`) and told when it
 * is known whom to tell. Two sources say how it ends: its last word (node_ended), and the monitor
 * for the case that there is none. The runtime sends DOWN behind the last message of an actor, so
 * DOWN first means that no last word comes.
 */
#include "actors/services/launch.h"

#include <string.h>

#include "actors/engine.h"
#include "actors/graph/document/report.h"
#include "actors/graph/value/slot.h"
#include "actors/history/history.h"
#include "schemas/codec/utf8.h"
#include "schemas/engine/state_launch.h"

/* What a message holds beside inputs; what is kept of the words of an abort. */
#define MARGIN_BYTES 65536
#define CAUSE_BYTES_MAX 4096

#define NS_PER_MS 1000000

enum { PAGE_START, PAGE_CAUSE };

enum timer { TIMER_DEADLINE = 1, TIMER_WATCH };

/* How soon an execution is monitored again whose host could not be reached. */
#define WATCH_MS 1000

/* One handling of one message. */
struct launch {
    struct tr_context *context;
    struct tr_launch_state *state;
    const struct tr_message *message;
    struct tr_node_start start;
    const struct tr_graph *graph;
    const struct tr_node *node;
    const struct tr_plan *plan; /* NULL: the workflow itself */
    const struct tr_workflow *workflow;
    struct tr_arena arena; /* of words */
    char name[TR_LAUNCH_NAME_BYTES];
};

/* A failure of the node. */
struct failure {
    uint8_t kind; /* enum tr_failure_kind */
    struct tr_text code;
    struct tr_text message;
};

static bool is_element(const struct launch *launch)
{
    return launch->state->element != TR_ELEMENT_NONE;
}

/* ------------------------------------------------------------------ what it is */

/* Finds the node, and what it launches. An array's element is in the place of a map. */
static int look_up(struct launch *launch)
{
    const struct tr_launch_state *state = launch->state;
    struct tr_graph_registry *registry = &tr_engine_of(launch->context)->registry;
    const struct tr_graph *graph = tr_graph_registry_find(registry, state->graph);
    if (graph == NULL || state->workflow >= graph->workflow_count ||
        state->node >= graph->workflows[state->workflow].node_count) {
        return TR_NOT_FOUND;
    }
    const struct tr_node *node = &graph->workflows[state->workflow].nodes[state->node];
    bool is_plan = node->target_kind == TR_TARGET_PLAN;
    if (!is_plan && node->target_kind != TR_TARGET_WORKFLOW) {
        return TR_INVALID;
    }
    launch->graph = graph;
    launch->node = node;
    launch->plan = is_plan ? &graph->plans[node->target] : NULL;
    launch->workflow = &graph->workflows[is_plan ? launch->plan->workflow : node->target];
    tr_launch_name(tr_launch_target(graph, node), &launch->start, launch->name);
    return 0;
}

/*
 * Keeps the start for later messages. What it got is in the history and in the launched one.
 * Without the inputs, which may take a megabyte, an actor that waits for days stays small.
 */
static int keep_start(struct launch *launch)
{
    struct tr_node_start kept = launch->start;
    void *page;
    kept.inputs = (struct tr_bytes){0};
    size_t size = tr_node_start_schema.size_max(&kept);
    uint8_t *bytes = tr_arena_alloc(&launch->arena, size);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    int error = tr_node_start_pack(&kept, &writer);
    size_t used = tr_writer_size(&writer);
    if (error == 0) {
        error = tr_page_edit(launch->context, PAGE_START, used, &page);
    }
    if (error == 0) {
        memcpy(page, bytes, used);
        launch->state->start_version = tr_node_start_schema.version;
    }
    return error;
}

/*
 * Views of the page, which live as long as the handler. The version is that of the program that
 * kept it, which may be older.
 */
static int read_start(struct launch *launch)
{
    struct tr_bytes page;
    int error = tr_page_get(launch->context, PAGE_START, &page);
    return error != 0 ? error
                      : tr_node_start_unpack(page, launch->state->start_version, &launch->start);
}

/*
 * The launching node: "EXEC/sub/node[17]", as people write it, or with project and domain before.
 */
static struct tr_text origin(struct launch *launch, bool is_whole)
{
    struct tr_text execution = launch->start.execution;
    struct tr_text path = launch->start.path;
    size_t at = is_whole ? 0 : execution.size;
    while (at > 0 && execution.data[at - 1] != '/') {
        at--;
    }
    struct tr_text node =
        tr_arena_print(&launch->arena, "%s%.*s/%.*s", is_whole ? "/" : "",
                       (int)(execution.size - at), execution.data + at, TRI_TEXT(path));
    return !is_element(launch) ? node
                               : tr_arena_print(&launch->arena, "%.*s[%llu]", TRI_TEXT(node),
                                                (unsigned long long)launch->state->element);
}

/* --------------------------------------------------------------------- history */

/* Where the launched execution is; before it has begun, what will be launched. */
static struct tr_text target_of(struct launch *launch)
{
    if (tr_key_is_none(launch->state->execution.key)) {
        return tr_launch_target(launch->graph, launch->node);
    }
    return tr_arena_print(&launch->arena, "/%.*s/%.*s/%s", (int)launch->graph->project.size,
                          launch->graph->project.data, (int)launch->graph->domain.size,
                          launch->graph->domain.data, launch->name);
}

/* The node goes to another phase; of an element the array writes it down. */
static int set_phase(struct launch *launch, uint8_t phase, const struct failure *failure,
                     struct tr_text cause)
{
    struct tr_launch_state *state = launch->state;
    uint8_t from = state->phase;
    if (!tr_phase_may_follow(TR_SUBJECT_NODE, from, phase)) {
        return TR_INVALID;
    }
    state->phase = phase;
    state->phases |= 1U << phase;
    if (is_element(launch)) {
        return 0;
    }
    struct tr_node_status row = {
        .execution = launch->start.number,
        .path = launch->start.path,
        .kind = tr_text_of("launch"),
        .target = target_of(launch),
        .name = launch->node->name,
        .phase = phase,
        .created_ms = state->begun_ms,
        .started_ms = state->started_ms,
        .attempts = 1,
    };
    if (failure != NULL) {
        row.failure = failure->kind;
        row.code = failure->code;
        row.message = failure->message;
    }
    int error = tr_history_node(launch->context, &row, from, cause, &state->changes);
    state->started_ms = row.started_ms;
    return error;
}

static int record_value(struct launch *launch, enum tr_value_side side, struct tr_bytes slots)
{
    return is_element(launch) ? 0
                              : tr_history_value(launch->context, launch->start.number,
                                                 launch->start.path, side, slots);
}

/* --------------------------------------------------------------------- its end */

/*
 * The last word, and the end. `failure` is NULL for a success. The order: history, then the last
 * word to the parent, then the stop. All are one commit, so a parent that has heard the word finds
 * the history complete.
 */
static int say_end(struct launch *launch, uint8_t phase, const struct failure *failure,
                   struct tr_bytes outputs)
{
    struct tr_launch_state *state = launch->state;
    struct tr_node_ended ended = {
        .node = state->node,
        .element = state->element,
        .phase = phase,
        .attempts = 1,
        .outputs = outputs,
        .failed_element = TR_ELEMENT_NONE,
    };
    struct tr_text cause = {0};
    if (failure != NULL) {
        ended.failure = failure->kind;
        ended.code = failure->code;
        ended.message = cause = failure->message;
        ended.failed = launch->start.path;
        ended.failed_element = state->element;
    }
    int error = set_phase(launch, phase, failure, cause);
    if (error == 0 && failure == NULL) {
        error = record_value(launch, TR_VALUE_OUTPUTS, outputs);
    }
    ended.phases = state->phases;
    if (error == 0 && state->monitor != 0) {
        error = tr_demonitor(launch->context, state->monitor);
    }
    if (error == 0) {
        error = tr_tell(launch->context, tr_parent(launch->context), &tr_node_ended_schema, &ended);
    }
    state->step = TR_LAUNCH_STEP_END;
    return error != 0 ? error : tr_stop(launch->context);
}

static int fail(struct launch *launch, uint8_t phase, uint8_t kind, struct tr_text code,
                struct tr_text message)
{
    const struct failure failure = {.kind = kind, .code = code, .message = message};
    return say_end(launch, phase, &failure, (struct tr_bytes){0});
}

/*
 * It ends as it was told to, however the launched execution has ended: its phase is on the way
 * there already.
 */
static int end_aborted(struct launch *launch)
{
    struct tr_bytes cause;
    bool is_time = launch->state->ending == TR_NODE_PHASE_TIMED_OUT;
    int error = tr_page_get(launch->context, PAGE_CAUSE, &cause);
    if (error != 0) {
        return error;
    }
    struct tr_text words = {.data = (const char *)cause.data, .size = cause.size};
    return fail(launch, launch->state->ending, TR_FAILURE_USER,
                tr_text_of(is_time ? "TimeoutExpired" : "NodeAborted"), words);
}

/* ------------------------------------------------------------------- launching */

/* What the plan gives for good for an input, or NULL. */
static const struct tr_plan_value *fixed_value(const struct tr_plan *plan, uint32_t input)
{
    for (uint32_t i = 0; plan != NULL && i < plan->value_count; i++) {
        if (plan->values[i].input == input && plan->values[i].is_fixed) {
            return &plan->values[i];
        }
    }
    return NULL;
}

/*
 * Appends a slot for each input of the workflow: what the plan fixes, else what the node has bound.
 * The node binds the others in their order, and defaults where nothing was written. TR_INVALID
 * where the two do not match slot for slot.
 */
static int merge_inputs(struct launch *launch, struct tr_buffer *inputs)
{
    const struct tr_variables *variables = &launch->workflow->interface.inputs;
    struct tr_cursor cursor;
    uint32_t left = tr_slots_begin(launch->start.inputs, &cursor);
    tr_buffer_array(inputs, variables->count);
    for (uint32_t i = 0; i < variables->count; i++) {
        const struct tr_plan_value *fixed = fixed_value(launch->plan, i);
        struct tr_bytes slot = fixed != NULL ? fixed->value : tr_read_any(&cursor);
        if (fixed == NULL && left-- == 0) {
            return TR_INVALID;
        }
        tr_buffer_add(inputs, slot.data, slot.size);
    }
    return cursor.error != 0 || left != 0 ? TR_INVALID : inputs->error;
}

/*
 * The root hands it to its launcher. The root knows which launcher is its own, and how deep
 * executions have launched each other.
 */
static int tell_root(struct launch *launch, struct tr_bytes inputs)
{
    const struct tr_graph *graph = launch->graph;
    struct tr_ref self = tr_self(launch->context);
    struct tr_launch message = {
        .name = tr_text_of(launch->name),
        .graph = {.data = graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .workflow = (uint32_t)(launch->workflow - graph->workflows),
        .plan = launch->plan == NULL ? TR_GRAPH_NONE : (uint32_t)(launch->plan - graph->plans),
        .inputs = inputs,
        .cache_mode = launch->start.cache_mode,
        .parent = origin(launch, true),
        .cause =
            tr_arena_print(&launch->arena, "launched by %.*s", TRI_TEXT(origin(launch, false))),
        .launching = self,
        .recovery = launch->start.recovery,
        .node = launch->state->node,
        .element = launch->state->element,
    };
    launch->state->step = TR_LAUNCH_STEP_ASKED;
    return launch->arena.error != 0 ? launch->arena.error
                                    : tr_tell(launch->context, tr_group_root(self.key.group),
                                              &tr_launch_schema, &message);
}

static int ask(struct launch *launch)
{
    struct tr_buffer inputs;
    tr_buffer_init(&inputs, 0);
    int error = merge_inputs(launch, &inputs);
    if (error == TR_INVALID) {
        error = fail(launch, TR_NODE_PHASE_FAILED, TR_FAILURE_SYSTEM,
                     tr_text_of("BindingResolutionError"),
                     tr_text_of("there is not one value for each input of what is launched"));
    } else if (error == 0 && inputs.size > TR_MESSAGE_BYTES_MAX - MARGIN_BYTES) {
        error = fail(launch, TR_NODE_PHASE_FAILED, TR_FAILURE_USER, tr_text_of("InputSizeExceeded"),
                     tr_text_of("the inputs, with those of the launch plan, are larger than "
                                "TR_MESSAGE_BYTES_MAX (1 MiB) together"));
    } else if (error == 0) {
        error = tell_root(launch, tr_buffer_bytes(&inputs));
    }
    tr_buffer_fini(&inputs);
    return error;
}

static int on_start(struct launch *launch)
{
    struct tr_launch_state *state = launch->state;
    int error = tr_message_read(launch->message, node_start, &launch->start);
    if (error != 0) {
        return error;
    }
    state->graph = launch->start.graph;
    state->workflow = launch->start.workflow;
    state->node = launch->start.node;
    state->element = launch->start.element;
    state->begun_ms = tr_now_ms(launch->context);
    error = look_up(launch);
    if (error == 0) {
        error = keep_start(launch);
    }
    if (error == 0) {
        error = set_phase(launch, TR_NODE_PHASE_QUEUED, NULL, tr_text_of(""));
    }
    if (error == 0) {
        error = record_value(launch, TR_VALUE_INPUTS, launch->start.inputs);
    }
    /* The deadline of a map is kept by its array, for all elements together. */
    if (error == 0 && launch->node->deadline_ns > 0 && !is_element(launch)) {
        uint64_t delay_ms = ((uint64_t)launch->node->deadline_ns + NS_PER_MS - 1) / NS_PER_MS;
        error = tr_timer_start(launch->context, TIMER_DEADLINE, delay_ms);
    }
    return error != 0 ? error : ask(launch);
}

/* ------------------------------------------------------------------ what comes */

/* Tells the launched execution to end, and why. */
static int tell_abort(struct launch *launch)
{
    struct tr_launch_state *state = launch->state;
    struct tr_bytes cause;
    int error = tr_page_get(launch->context, PAGE_CAUSE, &cause);
    if (error != 0) {
        return error;
    }
    struct tr_node_abort abort = {
        .phase = TR_NODE_PHASE_ABORTED,
        .is_hard = state->is_hard,
        .cause = tr_arena_print(&launch->arena, "%.*s, which launched it, was ended: %.*s",
                                TRI_TEXT(origin(launch, false)), (int)cause.size,
                                (const char *)cause.data),
    };
    state->step = TR_LAUNCH_STEP_ENDING;
    return launch->arena.error != 0
               ? launch->arena.error
               : tr_tell(launch->context, state->execution, &tr_node_abort_schema, &abort);
}

/*
 * It could not be launched: by its inputs or a bound it is the user's failure, else the system's.
 * With an abort kept the refusal is welcome: nothing has to be ended.
 */
static int refused(struct launch *launch, const struct tr_launched *launched)
{
    if (launch->state->ending != 0) {
        return end_aborted(launch);
    }
    bool is_system = launched->error != TR_LIMIT && launched->error != TR_INVALID;
    return fail(launch, TR_NODE_PHASE_FAILED, is_system ? TR_FAILURE_SYSTEM : TR_FAILURE_USER,
                tr_text_of("LaunchRefused"),
                tr_arena_print(&launch->arena, "%s could not be launched: %.*s", launch->name,
                               TRI_TEXT(launched->message)));
}

/*
 * It has begun. The monitor comes first: whatever follows, its end will be heard of. An answer that
 * comes twice, from the launcher and from the new root after a repeated request, is a dead letter.
 */
static int on_launched(struct launch *launch)
{
    struct tr_launch_state *state = launch->state;
    struct tr_launched launched;
    int error = tr_message_read(launch->message, launched, &launched);
    if (error != 0 || state->step != TR_LAUNCH_STEP_ASKED) {
        return error != 0 ? error : tr_unexpected(launch->context, launch->message);
    }
    if (launched.error != 0) {
        return refused(launch, &launched);
    }
    state->execution = launched.execution;
    state->step = TR_LAUNCH_STEP_RUNNING;
    error = tr_monitor(launch->context, state->execution, &state->monitor);
    if (error != 0 || state->ending != 0) {
        return error != 0 ? error : tell_abort(launch);
    }
    struct tr_node_news news = {
        .node = state->node, .element = state->element, .phase = TR_NODE_PHASE_RUNNING};
    error = set_phase(launch, TR_NODE_PHASE_RUNNING, NULL, tr_text_of(""));
    return error != 0
               ? error
               : tr_tell(launch->context, tr_parent(launch->context), &tr_node_news_schema, &news);
}

/*
 * The words of its failure behind its name. Of one that was launched further down its own are
 * enough, since they name where to look.
 */
static struct tr_text words_of(struct launch *launch, const struct tr_node_ended *ended,
                               const char *what, struct tr_text where)
{
    static const char begin[] = "the launched execution ";
    size_t size = sizeof begin - 1;
    if (ended->message.size > size && memcmp(ended->message.data, begin, size) == 0) {
        return ended->message;
    }
    return tr_arena_print(&launch->arena, "%s%s %s%.*s: %.*s", begin, launch->name, what,
                          TRI_TEXT(where), TRI_TEXT(ended->message));
}

/* Its end that is no success, with the code that it had. */
static int take_failure(struct launch *launch, const struct tr_node_ended *ended)
{
    bool is_aborted = ended->phase == TR_NODE_PHASE_ABORTED;
    bool is_late = ended->phase == TR_NODE_PHASE_TIMED_OUT;
    struct tr_text where = {0};
    if (!is_aborted && ended->failed.size > 0) {
        where = ended->failed_element == TR_ELEMENT_NONE
                    ? tr_arena_print(&launch->arena, " at %.*s", TRI_TEXT(ended->failed))
                    : tr_arena_print(&launch->arena, " at %.*s[%llu]", TRI_TEXT(ended->failed),
                                     (unsigned long long)ended->failed_element);
    }
    struct tr_text message = words_of(launch, ended,
                                      is_aborted ? "was aborted"
                                      : is_late  ? "timed out"
                                                 : "failed",
                                      where);
    struct tr_text code = ended->code.size > 0 ? ended->code : tr_text_of("UnknownError");
    return fail(launch, is_late ? TR_NODE_PHASE_TIMED_OUT : TR_NODE_PHASE_FAILED,
                is_aborted ? TR_FAILURE_USER : ended->failure,
                is_aborted ? tr_text_of("RemoteChildWorkflowExecutionFailed") : code, message);
}

static int on_ended(struct launch *launch)
{
    struct tr_launch_state *state = launch->state;
    struct tr_node_ended ended;
    int error = tr_message_read(launch->message, node_ended, &ended);
    bool is_from_it = tr_key_equal(launch->message->from.key, state->execution.key);
    if (error != 0 || !is_from_it || !tr_phase_is_end(TR_SUBJECT_NODE, ended.phase)) {
        return error != 0 ? error : tr_unexpected(launch->context, launch->message);
    }
    if (state->ending != 0) {
        return end_aborted(launch);
    }
    bool is_success =
        ended.phase == TR_NODE_PHASE_SUCCEEDED || ended.phase == TR_NODE_PHASE_RECOVERED;
    return is_success ? say_end(launch, TR_NODE_PHASE_SUCCEEDED, NULL, ended.outputs)
                      : take_failure(launch, &ended);
}

/*
 * It is gone, and its last word has not come: that comes before, or never. TR_NO_CONNECTION only
 * says that its host cannot be reached: it may live, so it is monitored again after a while.
 */
static int on_down(struct launch *launch)
{
    struct tr_launch_state *state = launch->state;
    struct tr_down down;
    int error = tr_message_read(launch->message, down, &down);
    if (error != 0 || down.monitor != state->monitor) {
        return error;
    }
    state->monitor = 0;
    if (-(int)down.reason == TR_NO_CONNECTION) {
        return tr_timer_start(launch->context, TIMER_WATCH, WATCH_MS);
    }
    if (state->ending != 0) {
        return end_aborted(launch);
    }
    return fail(launch, TR_NODE_PHASE_FAILED, TR_FAILURE_SYSTEM,
                tr_text_of("LaunchedExecutionLost"),
                tr_arena_print(&launch->arena, "the launched execution %s is gone without a word",
                               launch->name));
}

/* --------------------------------------------------------------------- aborts */

/*
 * The first abort decides phase and words; a later one only matters if it is the first hard one,
 * which spares no cleaning up and therefore goes on to the launched execution.
 */
static int abort_with(struct launch *launch, uint8_t phase, bool is_hard, struct tr_text cause)
{
    struct tr_launch_state *state = launch->state;
    bool is_first = state->ending == 0;
    bool is_harder = is_hard && !state->is_hard;
    state->is_hard = state->is_hard || is_hard;
    if (is_first) {
        void *page;
        bool is_time = phase == TR_NODE_PHASE_TIMED_OUT;
        state->ending = is_time ? phase : TR_NODE_PHASE_ABORTED;
        cause.size = tr_utf8_cut(cause, CAUSE_BYTES_MAX);
        int error = tr_page_edit(launch->context, PAGE_CAUSE, cause.size, &page);
        if (error == 0 && cause.size > 0) {
            memcpy(page, cause.data, cause.size);
        }
        if (error != 0) {
            return error;
        }
        error = set_phase(launch, is_time ? TR_NODE_PHASE_TIMING_OUT : TR_NODE_PHASE_ABORTING, NULL,
                          cause);
        if (error != 0) {
            return error;
        }
    }
    /* One that has not begun yet hears of it when it has. */
    bool is_there = state->step != TR_LAUNCH_STEP_ASKED;
    return is_there && (is_first || is_harder) ? tell_abort(launch) : 0;
}

static int on_abort(struct launch *launch)
{
    struct tr_node_abort abort;
    int error = tr_message_read(launch->message, node_abort, &abort);
    return error != 0 ? error : abort_with(launch, abort.phase, abort.is_hard, abort.cause);
}

static int on_timer(struct launch *launch)
{
    struct tr_timer timer;
    int error = tr_message_read(launch->message, timer, &timer);
    if (error != 0) {
        return error;
    }
    if (timer.id == TIMER_WATCH) {
        return tr_monitor(launch->context, launch->state->execution, &launch->state->monitor);
    }
    return abort_with(launch, TR_NODE_PHASE_TIMED_OUT, false,
                      tr_text_of("the node ran longer than its deadline"));
}

/* What it has launched lives for itself, and nothing else could begin here. */
static int on_pause(struct launch *launch)
{
    (void)launch;
    return 0;
}

/* ------------------------------------------------------------------- messages */

struct reaction {
    const struct tr_schema *schema;
    int (*handle)(struct launch *launch);
};

static const struct reaction reactions[] = {
    {&tr_launched_schema, on_launched}, {&tr_node_ended_schema, on_ended},
    {&tr_down_schema, on_down},         {&tr_node_abort_schema, on_abort},
    {&tr_timer_schema, on_timer},       {&tr_node_pause_schema, on_pause},
};

static int react(struct launch *launch)
{
    for (size_t i = 0; i < TR_COUNT_OF(reactions); i++) {
        if (tr_message_is(launch->message, reactions[i].schema)) {
            int error = read_start(launch);
            if (error != 0) {
                return error;
            }
            error = look_up(launch);
            return error != 0 ? error : reactions[i].handle(launch);
        }
    }
    return tr_unexpected(launch->context, launch->message);
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct launch launch = {.context = context, .state = state, .message = message};
    bool is_start = tr_message_is(message, &tr_node_start_schema);
    bool is_new = launch.state->step == TR_LAUNCH_STEP_NEW;
    if (is_start != is_new) {
        return tr_unexpected(context, message); /* begun twice, or not at all */
    }
    tr_arena_init(&launch.arena);
    int error = is_start ? on_start(&launch) : react(&launch);
    if (error == 0) {
        error = launch.arena.error;
    }
    tr_arena_fini(&launch.arena);
    return error;
}

const struct tr_behaviour tr_launch_behaviour = {
    .name = "launch", .id = 107, .state = &tr_launch_state_schema, .handle = handle};
