/*
 * The one call that an array has under way: a piece of a list to be read or written, or a question
 * about an earlier execution.
 *
 * Saying any of them again does no harm, so after a crash (TR_NO_CONNECTION) or a timeout
 * it is simply said again, a few times with growing waits.
 *
 * `call` says what is under way: 0 nothing, UINT64_MAX a wait before the call is said again,
 * anything else the number of the call, which the answer has to carry. What was asked for follows
 * from the step and the places in the state, so saying it again needs nothing to be kept.
 */
#include "actors/array/array.h"
#include "schemas/engine/recovery.h"
#include "schemas/runtime/files.h"

/* What a piece was for decides where it goes. */
static int take_piece(struct tri_array *array, const struct tr_blob_bytes *piece)
{
    if (array->state->step == TRI_ARRAY_GATHERING) {
        return tri_array_gather_piece(array, piece->bytes, piece->total);
    }
    int error = tri_array_source_piece(array, piece->bytes, piece->total);
    return error != 0 ? error : tri_array_go_on(array);
}

int tri_array_on_answer(struct tri_array *array, const struct tr_message *message)
{
    struct tr_blob_bytes piece;
    struct tr_blob_stored stored;
    struct tr_blob_failed failed;
    struct tr_values_given given;
    if (array->state->call == 0 || tr_message_ask(message) != array->state->call) {
        return tr_unexpected(array->context, message);
    }
    array->state->call = 0;
    if (array->state->step == TRI_ARRAY_ENDING) {
        return 0; /* nobody needs it any more */
    }
    uint32_t tries = array->state->call_tries;
    array->state->call_tries = 0;
    if (tr_message_is(message, &tr_blob_bytes_schema) &&
        tr_message_read(message, blob_bytes, &piece) == 0) {
        return take_piece(array, &piece);
    }
    if (tr_message_is(message, &tr_values_given_schema) &&
        array->state->step == TRI_ARRAY_RUNNING &&
        tr_message_read(message, values_given, &given) == 0) {
        int error = tri_array_source_element(array, &given);
        if (error != 0) {
            return error;
        }
        return tri_array_go_on(array);
    }
    if (tr_message_is(message, &tr_recovered_elements_schema)) {
        return tri_array_recovered(array, message);
    }
    if (tr_message_is(message, &tr_blob_stored_schema) &&
        array->state->step == TRI_ARRAY_GATHERING &&
        tr_message_read(message, blob_stored, &stored) == 0) {
        return tri_array_gather_stored(array, stored.uri, stored.size);
    }
    array->state->call_tries = tries;
    if (tr_message_is(message, &tr_blob_failed_schema) &&
        tr_message_read(message, blob_failed, &failed) == 0) {
        return tri_array_on_call_failed(array, (int)failed.error, failed.message);
    }
    return tri_array_on_call_failed(array, TR_MALFORMED,
                                    tr_text_of("the files service gave another answer"));
}

/*
 * Reasons that may pass are waited out: 50 ms, doubled each time, a second and a half in all. Any
 * other, and the last of them, fails the map.
 */
int tri_array_on_call_failed(struct tri_array *array, int reason, struct tr_text words)
{
    struct tr_array_state *state = array->state;
    bool may_pass = reason == TR_NO_CONNECTION || reason == TR_TIMEOUT || reason == TR_BUSY ||
                    reason == TR_CLOSED || reason == TR_MEMORY;
    state->call = 0;
    if (state->step == TRI_ARRAY_ENDING) {
        return 0;
    }
    if (may_pass && ++state->call_tries < TR_ARRAY_CALL_TRIES) {
        /* Until then the timer stands for the call. */
        state->call = UINT64_MAX;
        uint64_t wait_ms = (uint64_t)TR_ARRAY_CALL_WAIT_MS << (state->call_tries - 1);
        return tr_timer_start(array->context, TRI_ARRAY_TIMER_CALL, wait_ms);
    }
    if (tri_array_has_to_ask(array) && state->step == TRI_ARRAY_RUNNING) {
        return tri_array_fail(array, "RecoveryError",
                              "what its elements gave in the earlier execution cannot be read: "
                              "%s%s%.*s",
                              tr_error_text(reason), words.size > 0 ? ": " : "", (int)words.size,
                              words.data);
    }
    const char *what = state->step == TRI_ARRAY_GATHERING ? "stored" : "read";
    return tri_array_fail(array, "StorageError", "a list could not be %s: %s%s%.*s", what,
                          tr_error_text(reason), words.size > 0 ? ": " : "", (int)words.size,
                          words.data);
}

int tri_array_call_again(struct tri_array *array)
{
    struct tr_array_state *state = array->state;
    if (state->call != UINT64_MAX) {
        return 0;
    }
    state->call = 0;
    switch (state->step) {
    case TRI_ARRAY_GATHERING:
        return tri_array_gather(array);
    case TRI_ARRAY_RUNNING:
        return tri_array_has_to_ask(array) ? tri_array_ask(array) : tri_array_source_call(array);
    case TRI_ARRAY_OPENING:
        return tri_array_source_call(array);
    default:
        return 0;
    }
}
