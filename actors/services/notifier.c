/*
 * The notifier: gives each notification of the store an actor of its own, which goes on when the
 * execution that it tells of has ended, and when the engine ends. One actor for a store.
 *
 * Each is a group: so that they spread over the workers, and none is held up by another's.
 */
#include "actors/engine.h"
#include "schemas/engine/notify.h"

static int begin(struct tr_context *context, struct tr_notifier_state *state,
                 const struct tr_message *message)
{
    struct tr_notify notify;
    struct tr_ref child;
    int error = tr_message_read(message, notify, &notify);
    if (error != 0) {
        return error;
    }
    struct tr_spawn_options options = {.name = notify.key, .is_group = true};
    error = tr_spawn(context, &tr_notification_behaviour, &options, &child);
    if (error != 0) {
        return error;
    }
    state->given++;
    return tr_tell_hinted(context, child, tr_spawned_hint(context), &tr_notify_schema, &notify);
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    return tr_message_is(message, &tr_notify_schema) ? begin(context, state, message)
                                                     : tr_unexpected(context, message);
}

const struct tr_behaviour tr_notifier_behaviour = {
    .name = "notifier", .id = 115, .state = &tr_notifier_state_schema, .handle = handle};
