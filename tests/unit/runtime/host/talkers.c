/*
 * A speaker and a listener.
 */
#include "tests/unit/runtime/host/talkers.h"

#include "tests/support/fake_actor.h"

#define LISTENER_FIELDS(FIELD, ARRAY) \
    FIELD(u64, heard, 1, 0)           \
    FIELD(u64, wanted, 1, 0)
#define SPEAKER_FIELDS(FIELD, ARRAY) \
    FIELD(ref, listener, 1, 0)       \
    FIELD(u64, sent, 1, 0)           \
    FIELD(u64, wanted, 1, 0)

#define SCHEMAS(S)                                      \
    S(listener, 61100, TR_STATE, 1, 0, LISTENER_FIELDS) \
    S(speaker, 61101, TR_STATE, 1, 0, SPEAKER_FIELDS)

SCHEMAS(TR_SCHEMA_DECLARE_ROW)
SCHEMAS(TR_SCHEMA_DEFINE)

/* Ends in order when it has heard all notes in theirs; else it fails and stays. */
static int listener_handle(struct tr_context *context, void *state,
                           const struct tr_message *message)
{
    struct tr_listener *listener = state;
    struct tr_note note;
    int error = tr_message_read(message, note, &note);
    if (error != 0 || note.number != ++listener->heard) {
        return TR_FAILED;
    }
    return listener->heard == listener->wanted ? tr_stop(context) : 0;
}

static int speaker_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_speaker *speaker = state;
    if (!tr_message_is(message, &tr_note_schema)) {
        return tr_unexpected(context, message);
    }
    int error = tr_tell(context, speaker->listener, &tr_note_schema,
                        &(struct tr_note){.number = ++speaker->sent});
    if (error == 0 && speaker->sent < speaker->wanted) {
        error = tr_tell(context, tr_self(context), &tr_note_schema, &(struct tr_note){0});
    } else if (error == 0) {
        error = tr_stop(context);
    }
    return error;
}

static const struct tr_behaviour listener_behaviour = {
    .name = "listener", .id = 61100, .state = &tr_listener_schema, .handle = listener_handle};
static const struct tr_behaviour speaker_behaviour = {
    .name = "speaker", .id = 61101, .state = &tr_speaker_schema, .handle = speaker_handle};
const struct tr_behaviour *const talkers_behaviours[] = {&listener_behaviour, &speaker_behaviour};
const size_t talkers_behaviour_count = TR_COUNT_OF(talkers_behaviours);

struct tr_ref talkers_listen(struct tr_host *host)
{
    struct tr_listener first = {.wanted = TALKERS_NOTES};
    struct tr_spawn_options options = {.state = &first, .is_watched = true};
    struct tr_ref listener;
    assert_int_equal(tr_host_spawn(host, &listener_behaviour, &options, &listener), 0);
    return listener;
}

void talkers_speak(struct tr_host *host, struct tr_ref listener)
{
    struct tr_speaker first = {.listener = listener, .wanted = TALKERS_NOTES};
    struct tr_spawn_options options = {.state = &first, .is_watched = true};
    struct tr_ref speaker;
    int reason = 1;
    assert_int_equal(tr_host_spawn(host, &speaker_behaviour, &options, &speaker), 0);
    assert_int_equal(tr_host_tell(host, speaker, &tr_note_schema, &(struct tr_note){0}), 0);
    assert_int_equal(tr_host_wait(host, speaker, TALKERS_WAIT_MS, &reason), 0);
    assert_int_equal(reason, 0);
}
