/*
 * The verbs of an array: it goes on, calls the files service, changes its phase, and comes to its
 * end. All parts of an array use them, and they use none of the parts that work on elements.
 */
#include <stdarg.h>
#include <stdio.h>

#include "actors/array/array.h"

int tri_array_go_on(struct tri_array *array)
{
    if (array->state->is_continuing) {
        return 0;
    }
    array->state->is_continuing = true;
    struct tr_array_next next = {.step = array->state->step};
    return tr_tell(array->context, tr_self(array->context), &tr_array_next_schema, &next);
}

int tri_array_call(struct tri_array *array, const struct tr_schema *schema, const void *body)
{
    return tr_call(array->context, TR_SERVICE_FILES, schema, body, 0, &array->state->call);
}

int tri_array_to(struct tri_array *array, uint8_t phase)
{
    uint8_t from = array->state->phase;
    if (!tr_phase_may_follow(TR_SUBJECT_NODE, from, phase)) {
        return TR_INVALID;
    }
    array->state->phase = phase;
    array->state->phases |= 1U << phase;
    return tri_array_history_phase_changed(array, from);
}

/* ------------------------------------------------------------------------ its end */

/* The last word: it has no children any more. */
static int say_ended(struct tri_array *array, struct tr_node_ended *ended)
{
    const struct tr_array_state *state = array->state;
    ended->node = state->node;
    ended->element = state->element;
    ended->phase = state->phase;
    ended->phases = state->phases;
    ended->attempts = 1;
    int error = tri_array_history_flush(array);
    if (error != 0) {
        return error;
    }
    error = tr_tell(array->context, tr_parent(array->context), &tr_node_ended_schema, ended);
    return error != 0 ? error : tr_stop(array->context);
}

int tri_array_succeed(struct tri_array *array, struct tr_bytes outputs)
{
    struct tr_node_ended ended = {.outputs = outputs, .failed_element = TR_ELEMENT_NONE};
    int error = tri_array_to(array, TR_NODE_PHASE_SUCCEEDED);
    if (error != 0) {
        return error;
    }
    error = tri_array_history_value(array, TR_VALUE_OUTPUTS, outputs);
    return error != 0 ? error : say_ended(array, &ended);
}

/* The end that `ending` names, with what is known of failures. */
int tri_array_end_now(struct tri_array *array)
{
    struct tr_array_state *state = array->state;
    struct tr_node_ended ended = {.failed_element = TR_ELEMENT_NONE};
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    int error = tri_array_to(array, state->ending);
    if (error == 0) {
        error = tri_array_errors_tell(array, &words, &ended);
    }
    if (state->ending == TR_NODE_PHASE_TIMED_OUT) {
        ended.failure = TR_FAILURE_USER;
        ended.code = tr_text_of("Timeout");
        ended.message = tr_text_of("the deadline of the map has passed");
    }
    struct tr_node_start head;
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    if (error == 0) {
        error = tri_array_head(array, &buffer, &head);
    }
    if (error == 0 && ended.code.size > 0 && ended.failed.size == 0) {
        ended.failed = head.path;
    }
    if (error == 0) {
        error = say_ended(array, &ended);
    }
    tr_buffer_fini(&buffer);
    tr_buffer_fini(&words);
    return error;
}

/* The phase that comes before an end that is no success, by the table of phases. */
static uint8_t way_to(uint8_t ending)
{
    switch (ending) {
    case TR_NODE_PHASE_FAILED:
        return TR_NODE_PHASE_FAILING;
    case TR_NODE_PHASE_TIMED_OUT:
        return TR_NODE_PHASE_TIMING_OUT;
    default:
        return TR_NODE_PHASE_ABORTING;
    }
}

/*
 * Called again and again on the way to the end, and each time does the next thing: goes to the
 * phase, has a chunk of children told, and when no child lives leaves the rest to array.c. A later
 * reason wins only where the table of phases lets it follow the first.
 */
int tri_array_end_in(struct tri_array *array, uint8_t phase)
{
    struct tr_array_state *state = array->state;
    int error = 0;
    bool is_new = state->step != TRI_ARRAY_ENDING || state->ending != phase;
    if (is_new && tr_phase_may_follow(TR_SUBJECT_NODE, state->phase, way_to(phase))) {
        state->ending = phase;
        state->step = TRI_ARRAY_ENDING;
        state->abort_next = 0;
        error = tri_array_to(array, way_to(phase));
    }
    if (error != 0 || state->step != TRI_ARRAY_ENDING) {
        return error;
    }
    if (state->live == 0) {
        array->may_end = true;
        return 0;
    }
    return state->abort_next < state->next ? tri_array_go_on(array) : 0;
}

int tri_array_fail(struct tri_array *array, const char *code, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t used = size < 0 ? 0 : (size_t)size;
    struct tr_text message = {text, used < sizeof text ? used : sizeof text - 1};
    int error = tri_array_errors_set(array, code, message);
    return error != 0 ? error : tri_array_end_in(array, TR_NODE_PHASE_FAILED);
}
