/*
 * The children of an array: the window, spawning, their messages, aborts.
 *
 * Invariants:
 * - At most `parallelism` children live. At most TR_ARRAY_WINDOW children, or TR_ARRAY_WINDOW_BYTES
 *   of their inputs, have work that is not handed outside (held).
 * - Elements are spawned in their order. Each one before state->next was spawned, or has ended as
 *   recovered; none from there on has a child.
 * - One handler spawns or aborts at most a chunk, then sends the array a message to go on. That
 *   message comes behind what children have sent meanwhile, so their ends are counted first.
 * - A child's message counts only for its own element, and only while that child lives.
 *
 * Counts of the state: `live` are spawned and not ended, `outside` those of
 * them whose work the back end has, `retrying` those that wait for another attempt. `succeeded`
 * counts what was recovered, too. An element that ends because the array told it to counts as
 * `aborted`, not as `failed`, so an abort makes no failures.
 *
 * The map fails as soon as too few elements are left for `needed` (min_successes) to succeed;
 * what lives is told to end, and the map ends behind the last of it. With `run_all` it fails when
 * all have ended.
 */
#include "actors/array/array.h"
#include "actors/services/growth.h"

/*
 * Children that the window counts: those whose work was not handed outside. What is launched is
 * still here, and more than a task: all of those count.
 */
static uint32_t held(const struct tri_array *array)
{
    bool launches = array->node->target_kind == TR_TARGET_PLAN;
    return array->state->live - (launches ? 0 : array->state->outside);
}

/* Whether the window has a free slot: another child may be spawned now. */
static bool has_free_slot(const struct tri_array *array)
{
    const struct tr_array_state *state = array->state;
    uint64_t window = TR_ARRAY_WINDOW;
    /*
     * Inputs that were the largest so far stand for all: the window is bytes as well as children.
     */
    if (state->start_bytes * TR_ARRAY_WINDOW > TR_ARRAY_WINDOW_BYTES) {
        window = TR_ARRAY_WINDOW_BYTES / state->start_bytes;
    }
    uint32_t parallelism = array->node->parallelism;
    return state->step == TRI_ARRAY_RUNNING && !state->is_paused && state->next < state->count &&
           state->call == 0 && held(array) < window &&
           (parallelism == 0 || state->live < parallelism);
}

/* ---------------------------------------------------------------------- spawning */

/* A mapped task, workflow or launch plan: the array treats their actors alike from here on. */
static const struct tr_behaviour *child_behaviour(const struct tri_array *array)
{
    return array->node->target_kind == TR_TARGET_WORKFLOW ? &tr_workflow_behaviour
           : array->node->target_kind == TR_TARGET_PLAN   ? &tr_launch_behaviour
                                                          : &tr_task_behaviour;
}

/*
 * The next element is spawned. The spawn and the first message are effects of one handler: no child
 * exists that was not told what it is.
 */
static int spawn_one(struct tri_array *array, const struct tri_feed *feed, uint64_t *serial)
{
    struct tr_node_start start = feed->start;
    struct tr_spawn_options options = {.is_element = true, .element = array->state->next};
    struct tr_ref child;
    start.element = array->state->next;
    start.inputs = tr_buffer_bytes(&feed->inputs);
    const struct tr_behaviour *behaviour = child_behaviour(array);
    struct tr_buffer recovery;
    int error = 0;
    tr_buffer_init(&recovery, 0);
    if (array->node->target_kind == TR_TARGET_PLAN) {
        error = tri_array_launched_recovery(array, &start, &recovery);
        start.recovery = tr_buffer_text(&recovery);
    }
    if (error == 0) {
        error = tr_spawn(array->context, behaviour, &options, &child);
    }
    if (error == 0) {
        error = tr_tell_hinted(array->context, child, tr_spawned_hint(array->context),
                               &tr_node_start_schema, &start);
    }
    if (error == 0) {
        *serial = child.key.serial;
        array->state->next++;
        array->state->live++;
    }
    tr_buffer_fini(&recovery);
    return error;
}

/* Inputs of one element, all together, that no message holds. */
static int refuse_inputs(struct tri_array *array, size_t size)
{
    return tri_array_fail(array, "InputSizeExceeded",
                          "the inputs of [%u] take %zu bytes, more than %u "
                          "(TR_ARRAY_START_BYTES_MAX)",
                          array->state->next, size, (unsigned)TR_ARRAY_START_BYTES_MAX);
}

/*
 * Passes over elements that have ended before they were spawned, of one block. Their inputs are
 * still taken from the sources, so that the cursors stay at state->next.
 */
static int pass_kept(struct tri_array *array, struct tri_feed *feed, bool *is_there)
{
    struct tr_array_state *state = array->state;
    bool is_kept = state->is_recovering;
    int error = 0;
    *is_there = true;
    while (error == 0 && is_kept && *is_there && state->next < state->known) {
        error = tri_array_element_is_kept(array, state->next, &is_kept);
        if (error == 0 && is_kept) {
            error = tri_array_feed_next(array, feed, is_there);
            state->next += error == 0 && *is_there ? 1 : 0;
        }
    }
    return error;
}

/* Whether the next element is to be spawned: it is known that it is not kept. */
static bool may_spawn(struct tri_array *array)
{
    bool is_kept = false;
    int error = array->state->is_recovering
                    ? tri_array_element_is_kept(array, array->state->next, &is_kept)
                    : 0;
    return error == 0 && !is_kept && !tri_array_has_to_ask(array);
}

/* As many as there is room for, of one block, no more than a chunk. */
static int spawn_chunk(struct tri_array *array, struct tri_feed *feed)
{
    struct tr_array_state *state = array->state;
    uint64_t serials[TR_ARRAY_CHUNK];
    bool is_there = true;
    int error = pass_kept(array, feed, &is_there);
    if (error != 0 || !is_there) {
        return error;
    }
    uint32_t first = state->next;
    uint32_t left = TRI_ARRAY_BLOCK - first % TRI_ARRAY_BLOCK;
    uint32_t count_max = left < TR_ARRAY_CHUNK ? left : TR_ARRAY_CHUNK;
    uint64_t bytes = 0;
    while (error == 0 && state->next - first < count_max && bytes < TR_ARRAY_CHUNK_BYTES &&
           has_free_slot(array) && may_spawn(array)) {
        error = tri_array_feed_next(array, feed, &is_there);
        if (error != 0 || !is_there) {
            break;
        }
        size_t size = feed->inputs.size;
        if (size > TR_ARRAY_START_BYTES_MAX) {
            error = refuse_inputs(array, size);
            break;
        }
        state->start_bytes = size > state->start_bytes ? size : state->start_bytes;
        bytes += size;
        error = spawn_one(array, feed, &serials[state->next - first]);
    }
    /*
     * What was spawned is written down even where the next element could not be fed: those children
     * exist.
     */
    uint32_t count = state->next - first;
    error =
        error != 0 || count == 0 ? error : tri_array_elements_spawned(array, first, count, serials);
    return error != 0 || count == 0 ? error : tri_array_history_count_soon(array);
}

/* One chunk; what is left of the window is spawned by later messages of the array to itself. */
int tri_array_spawn(struct tri_array *array)
{
    struct tri_feed feed = {0};
    if (!has_free_slot(array)) {
        return 0;
    }
    struct tr_growth growth = tr_growth_of_execution(array->context);
    if (growth.code != NULL) {
        return tri_array_fail(array, growth.code, "%s", growth.message);
    }
    /* In a recovery a block's elements are asked about before the first of them is spawned. */
    if (tri_array_has_to_ask(array)) {
        return tri_array_ask(array);
    }
    int error = tri_array_feed_init(array, &feed);
    if (error == 0) {
        error = spawn_chunk(array, &feed);
    }
    tri_array_feed_fini(&feed);
    return error != 0 || array->state->step != TRI_ARRAY_RUNNING ? error
                                                                 : tri_array_evaluate(array);
}

/* ------------------------------------------------------------------ what they say */

/*
 * Whether a message about an element is from its child, which lives; how that stands, if so. The
 * serial tells it from any other actor of the group.
 */
static bool is_from_child(struct tri_array *array, const struct tr_message *message, uint32_t node,
                          uint64_t element, struct tri_element *found)
{
    struct tr_ref self = tr_self(array->context);
    return array->state->step != TRI_ARRAY_NEW && node == array->state->node &&
           element < array->state->next &&
           tri_array_element_get(array, (uint32_t)element, found) == 0 && found->is_live &&
           found->serial == message->from.key.serial && self.key.group == message->from.key.group;
}

/* Counted, and seen as a dead letter. */
static int ignore(struct tri_array *array, const struct tr_message *message)
{
    array->state->ignored++;
    return tr_unexpected(array->context, message);
}

/*
 * A phase that lasts. An element that reports RUNNING or a retry has left the window: its work is
 * outside, so another may be spawned.
 */
int tri_array_on_news(struct tri_array *array, const struct tr_message *message)
{
    struct tr_node_news news;
    struct tri_element element;
    if (tr_message_read(message, node_news, &news) != 0 ||
        !is_from_child(array, message, news.node, news.element, &element) ||
        tr_phase_is_end(TR_SUBJECT_NODE, news.phase) ||
        !tr_phase_may_follow(TR_SUBJECT_NODE, element.phase, news.phase)) {
        return ignore(array, message);
    }
    struct tr_array_state *state = array->state;
    struct tri_element to = element;
    to.phase = news.phase;
    to.is_recorded = true;
    to.is_outside = element.is_outside || news.phase == TR_NODE_PHASE_RUNNING ||
                    news.phase == TR_NODE_PHASE_RETRYABLE_FAILURE;
    state->outside += to.is_outside && !element.is_outside ? 1 : 0;
    state->retrying += news.phase == TR_NODE_PHASE_RETRYABLE_FAILURE ? 1 : 0;
    state->retrying -= element.phase == TR_NODE_PHASE_RETRYABLE_FAILURE ? 1 : 0;
    uint32_t number = (uint32_t)news.element;
    int error = tri_array_element_set(array, number, &to, (struct tr_bytes){0});
    if (error == 0) {
        error = tri_array_history_element_changed(array, number, &element, news.phase, news.attempt,
                                                  0, (struct tr_text){0}, news.message);
    }
    return error == 0 && has_free_slot(array) ? tri_array_go_on(array) : error;
}

/* Whether what an element gave has a value for each output. */
static bool is_complete(const struct tri_array *array, struct tr_bytes outputs)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(outputs, &cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        (void)tr_read_any(&cursor);
    }
    return cursor.error == 0 && tr_cursor_left(&cursor) == 0 &&
           count == array->target.outputs.count;
}

/* An end that is none of those that an array asks for is a failure, in words. */
static void check_end(const struct tri_array *array, struct tr_node_ended *ended)
{
    bool is_success =
        ended->phase == TR_NODE_PHASE_SUCCEEDED || ended->phase == TR_NODE_PHASE_RECOVERED;
    if (is_success && !is_complete(array, ended->outputs)) {
        ended->phase = TR_NODE_PHASE_FAILED;
        ended->failure = TR_FAILURE_SYSTEM;
        ended->code = tr_text_of("OutputsNotFoundError");
        ended->message = tr_text_of("it ended well without a value for each output");
    } else if (!is_success && ended->phase != TR_NODE_PHASE_FAILED && ended->code.size == 0) {
        ended->code = tr_text_of(ended->phase == TR_NODE_PHASE_TIMED_OUT ? "Timeout"
                                 : ended->phase == TR_NODE_PHASE_SKIPPED ? "NodeSkipped"
                                                                         : "NodeAborted");
        ended->message = tr_text_of(tr_node_phase_word(ended->phase));
    }
}

/*
 * Keeps the error of an element for the output that lists them. Without such an output nothing is
 * kept, and only the phase is set.
 */
static int keep_error(struct tri_array *array, const struct tr_node_ended *ended,
                      const struct tri_element *to)
{
    struct tr_buffer buffer;
    struct tr_failure failure = {.node = array->node->id,
                                 .code = ended->code,
                                 .message = ended->message,
                                 .details = ended->details,
                                 .element = (int64_t)ended->element};
    tr_buffer_init(&buffer, 0);
    if (array->node->errors_output != TR_GRAPH_NONE) {
        tr_write_failure(&buffer, &failure);
    }
    int error = buffer.error;
    if (error == 0) {
        error =
            tri_array_element_set(array, (uint32_t)ended->element, to, tr_buffer_bytes(&buffer));
    }
    tr_buffer_fini(&buffer);
    return error;
}

/* Counts an end and keeps what it gave. */
static int settle(struct tri_array *array, const struct tr_node_ended *ended,
                  const struct tri_element *from)
{
    struct tr_array_state *state = array->state;
    struct tri_element to = {.phase = ended->phase};
    state->live--;
    state->outside -= from->is_outside ? 1 : 0;
    state->retrying -= from->phase == TR_NODE_PHASE_RETRYABLE_FAILURE ? 1 : 0;
    if (ended->phase == TR_NODE_PHASE_SUCCEEDED || ended->phase == TR_NODE_PHASE_RECOVERED) {
        state->succeeded++;
        state->cached += ended->cache_status == TR_CACHE_STATUS_HIT ? 1 : 0;
        bool is_empty = array->target.outputs.count == 0;
        return tri_array_element_set(array, (uint32_t)ended->element, &to,
                                     is_empty ? (struct tr_bytes){0} : ended->outputs);
    }
    /* It was told to end, and did; one that fails by itself meanwhile is a failure all the same. */
    bool was_told = state->step == TRI_ARRAY_ENDING && ended->phase != TR_NODE_PHASE_FAILED;
    state->aborted += was_told ? 1 : 0;
    state->failed += was_told ? 0 : 1;
    int error = was_told ? 0 : tri_array_errors_add(array, ended);
    return error != 0 ? error : keep_error(array, ended, &to);
}

/* All elements have ended: none is left to be spawned, and none lives. */
static bool is_over(const struct tr_array_state *state)
{
    return state->live == 0 && state->next == state->count;
}

static bool has_failed(const struct tri_array *array)
{
    const struct tr_array_state *state = array->state;
    return state->step == TRI_ARRAY_RUNNING && state->count - state->failed < state->needed &&
           (!array->node->runs_all || is_over(state));
}

/*
 * Called whenever a count has changed. Too few can succeed: it fails now. It is ending: it ends
 * with its last child. All have ended: their outputs are gathered; if not all succeeded, what the
 * others gave is recorded first, for a later recovery.
 */
int tri_array_evaluate(struct tri_array *array)
{
    struct tr_array_state *state = array->state;
    if (has_failed(array)) {
        return tri_array_end_in(array, TR_NODE_PHASE_FAILED);
    }
    if (state->step == TRI_ARRAY_ENDING) {
        return state->live == 0 ? tri_array_end_in(array, state->ending) : 0;
    }
    if (is_over(state)) {
        return tri_array_has_to_keep(array) ? tri_array_keep_some(array) : tri_array_gather(array);
    }
    return has_free_slot(array) ? tri_array_go_on(array) : 0;
}

/*
 * The child's message is its end and its outputs at once, in the handler's commit: there is no
 * state in which the child is gone and its outputs are not here.
 */
int tri_array_on_ended(struct tri_array *array, const struct tr_message *message)
{
    struct tr_node_ended ended;
    struct tri_element element;
    if (tr_message_read(message, node_ended, &ended) != 0 ||
        !is_from_child(array, message, ended.node, ended.element, &element) ||
        !tr_phase_is_end(TR_SUBJECT_NODE, ended.phase)) {
        return ignore(array, message);
    }
    uint32_t number = (uint32_t)ended.element;
    uint32_t phases = ended.phases;
    uint32_t attempt = ended.attempts > 0 ? ended.attempts - 1 : 0;
    check_end(array, &ended);
    int error = settle(array, &ended, &element);
    /* The heap is full: the element has ended all the same, so that the array can end behind it. */
    if (error == TR_LIMIT) {
        struct tri_element lost = {.phase = TR_NODE_PHASE_FAILED};
        error = tri_array_element_set(array, number, &lost, (struct tr_bytes){0});
        if (error != 0) {
            return error;
        }
        return tri_array_fail(array, "OutputSizeExceeded",
                              "the outputs of the elements up to [%u] take more than %llu bytes "
                              "(TR_ARRAY_KEPT_BYTES_MAX)",
                              number, (unsigned long long)TR_ARRAY_KEPT_BYTES_MAX);
    }
    if (error != 0) {
        return error;
    }
    error = tri_array_history_element_changed(array, number, &element, ended.phase, attempt, phases,
                                              ended.code, ended.message);
    return error != 0 ? error : tri_array_evaluate(array);
}

/* ---------------------------------------------------------------------- to the end */

static const char *abort_cause(const struct tri_array *array)
{
    switch (array->state->ending) {
    case TR_NODE_PHASE_FAILED:
        return "too many elements have failed";
    case TR_NODE_PHASE_TIMED_OUT:
        return "the deadline of the map has passed";
    default:
        return "the map was aborted";
    }
}

static int abort_one(struct tri_array *array, uint64_t serial)
{
    struct tr_ref child = tr_self(array->context);
    child.key.serial = serial;
    child.incarnation = 1;
    uint8_t phase = array->state->ending == TR_NODE_PHASE_TIMED_OUT ? TR_NODE_PHASE_TIMED_OUT
                                                                    : TR_NODE_PHASE_ABORTED;
    struct tr_node_abort word = {
        .phase = phase, .cause = tr_text_of(abort_cause(array)), .is_hard = array->state->is_hard};
    return tr_tell(array->context, child, &tr_node_abort_schema, &word);
}

/*
 * Tells a chunk of the live children something; they are walked through from `*next` on. At most a
 * block is walked through in one handler, live or not: a million elements that have ended must not
 * take it too long.
 */
static int tell_some(struct tri_array *array, uint32_t *next,
                     int (*tell)(struct tri_array *array, uint64_t serial))
{
    uint32_t told = 0;
    uint32_t last = *next + TRI_ARRAY_BLOCK;
    while (*next < array->state->next && *next < last && told < TR_ARRAY_CHUNK) {
        struct tri_element element;
        int error = tri_array_element_get(array, *next, &element);
        if (error == 0 && element.is_live) {
            error = tell(array, element.serial);
            told++;
        }
        if (error != 0) {
            return error;
        }
        ++*next;
    }
    return *next < array->state->next ? tri_array_go_on(array) : 0;
}

int tri_array_abort_some(struct tri_array *array)
{
    return tell_some(array, &array->state->abort_next, abort_one);
}

static int pause_one(struct tri_array *array, uint64_t serial)
{
    struct tr_ref child = tr_self(array->context);
    child.key.serial = serial;
    child.incarnation = 1;
    struct tr_node_pause word = {.is_paused = array->state->is_paused};
    return tr_tell(array->context, child, &tr_node_pause_schema, &word);
}

/*
 * A share of the children hears whether the array is paused. Those spawned meanwhile are told, too,
 * which changes nothing for them.
 */
int tri_array_pause_some(struct tri_array *array)
{
    int error = tell_some(array, &array->state->pause_next, pause_one);
    array->state->is_pausing = array->state->pause_next < array->state->next;
    return error;
}
