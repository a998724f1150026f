/*
 * What happens when a handler fails.
 *
 * The clerk fails once with a form that comes too early: it is tried again after a back-off, from
 * the state before the message, and succeeds. It fails twice with a torn form: then it stands in
 * quarantine with its mailbox, until somebody lets it go on without that form. Nothing that it did
 * in a failed attempt has happened.
 */
#include "examples/actors/example.h"

#define BACKOFF_MS 100
#define TOO_EARLY_MS 50
#define PATIENCE_MS 500

#define FORM_FIELDS(FIELD, ARRAY)   \
    FIELD(u64, not_before_ms, 1, 0) \
    FIELD(bool, is_torn, 1, 0)
#define STAMP_FIELDS(FIELD, ARRAY) FIELD(u32, number, 1, 0)
#define SEND_FIELDS(FIELD, ARRAY) \
    FIELD(u64, delay_ms, 1, 0)    \
    FIELD(bool, is_torn, 1, 0)
#define CLERK_FIELDS(FIELD, ARRAY) FIELD(u32, stamped, 1, 0)
#define CITIZEN_FIELDS(FIELD, ARRAY) FIELD(ref, clerk, 1, 0)

#define SCHEMAS(S)                                           \
    S(form, 60020, TR_MESSAGE, 1, TR_DURABLE, FORM_FIELDS)   \
    S(stamp, 60021, TR_MESSAGE, 1, TR_DURABLE, STAMP_FIELDS) \
    S(send, 60022, TR_MESSAGE, 1, TR_DURABLE, SEND_FIELDS)   \
    S(clerk, 60020, TR_STATE, 1, 0, CLERK_FIELDS)            \
    S(citizen, 60021, TR_STATE, 1, 0, CITIZEN_FIELDS)

SCHEMAS(TR_SCHEMA_DECLARE_ROW)
SCHEMAS(TR_SCHEMA_DEFINE)

static int clerk_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_clerk *clerk = state;
    struct tr_form form;
    if (!tr_message_is(message, &tr_form_schema)) {
        return tr_unexpected(context, message);
    }
    int error = tr_message_read(message, form, &form);
    if (error != 0) {
        return error;
    }
    clerk->stamped++; /* on a copy: gone with everything else if this attempt fails */
    if (form.is_torn || tr_steady_ms(context) < form.not_before_ms) {
        printf("clerk: %s, this fails\n", form.is_torn ? "torn" : "too early");
        return TR_INVALID;
    }
    printf("clerk: stamp %u\n", clerk->stamped);
    return tr_reply(context, message, &tr_stamp_schema, &(struct tr_stamp){clerk->stamped});
}

static const struct tr_behaviour clerk_behaviour = {
    .name = "clerk",
    .id = 60020,
    .state = &tr_clerk_schema,
    .supervision = {.backoff_first_ms = BACKOFF_MS},
    .handle = clerk_handle,
};

/* Asks the clerk once and ends, with or without a stamp. */
static int citizen_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    const struct tr_citizen *citizen = state;
    struct tr_send send;
    if (tr_message_is(message, &tr_stamp_schema)) {
        printf("citizen: thank you\n");
        return tr_stop(context);
    }
    if (tr_message_is(message, &tr_ask_failed_schema)) {
        printf("citizen: no answer\n");
        return tr_stop(context);
    }
    int error = tr_message_read(message, send, &send);
    if (error != 0) {
        return error;
    }
    struct tr_form form = {.not_before_ms = tr_steady_ms(context) + send.delay_ms,
                           .is_torn = send.is_torn};
    return tr_ask(context, citizen->clerk, &tr_form_schema, &form, PATIENCE_MS, NULL);
}

static const struct tr_behaviour citizen_behaviour = {
    .name = "citizen", .id = 60021, .state = &tr_citizen_schema, .handle = citizen_handle};

/* A citizen goes to the clerk, and we wait until he is back. */
static void visit(struct tr_host *host, struct tr_ref clerk, const struct tr_send *send)
{
    struct tr_citizen first = {.clerk = clerk};
    struct tr_spawn_options options = {.state = &first};
    struct tr_ref citizen;
    int reason;
    must(tr_host_spawn(host, &citizen_behaviour, &options, &citizen), "spawning a citizen");
    must(tr_host_tell(host, citizen, &tr_send_schema, send), "sending the citizen");
    must(tr_host_wait(host, citizen, 0, &reason), "waiting for the citizen");
}

int main(void)
{
    const struct tr_behaviour *behaviours[] = {&clerk_behaviour, &citizen_behaviour};
    struct tr_host *host = must_start(behaviours, TR_COUNT_OF(behaviours), 1);
    struct tr_ref clerk;
    must(tr_host_spawn(host, &clerk_behaviour, NULL, &clerk), "spawning the clerk");

    printf("a form that comes too early\n");
    visit(host, clerk, &(struct tr_send){.delay_ms = TOO_EARLY_MS});
    printf("a torn form\n");
    visit(host, clerk, &(struct tr_send){.is_torn = true});
    printf("the clerk goes on without it\n");
    must(tr_host_resume(host, clerk, true), "resuming the clerk");
    visit(host, clerk, &(struct tr_send){.is_torn = false});
    tr_host_free(host);
    return 0;
}
