/*
 * A question that is answered later, and one that is not answered in time.
 *
 * The kettle gets the question "boil" and has no answer yet. It keeps whom it owes one (a deferred
 * reply) in its state, starts a timer, and replies when the timer comes: it never waits. The cook
 * asks twice, the second time with less patience than the kettle needs.
 */
#include "examples/actors/example.h"

#define BOILING_MS 100
#define PATIENCE_MS 20
#define TIMER_BOILED 1

#define START_FIELDS(FIELD, ARRAY)
#define BOIL_FIELDS(FIELD, ARRAY)
#define TEA_FIELDS(FIELD, ARRAY) FIELD(text, kind, 1, 0)
#define COOK_FIELDS(FIELD, ARRAY) FIELD(ref, kettle, 1, 0)
#define KETTLE_FIELDS(FIELD, ARRAY) \
    FIELD(ref, asker, 1, 0)         \
    FIELD(u64, ask, 1, 0)

#define SCHEMAS(S)                                           \
    S(start, 60010, TR_MESSAGE, 1, TR_DURABLE, START_FIELDS) \
    S(boil, 60011, TR_MESSAGE, 1, TR_DURABLE, BOIL_FIELDS)   \
    S(tea, 60012, TR_MESSAGE, 1, TR_DURABLE, TEA_FIELDS)     \
    S(cook, 60010, TR_STATE, 1, 0, COOK_FIELDS)              \
    S(kettle, 60011, TR_STATE, 1, 0, KETTLE_FIELDS)

SCHEMAS(TR_SCHEMA_DECLARE_ROW)
SCHEMAS(TR_SCHEMA_DEFINE)

/* ---- The kettle: answers when its time has come. ------------------------------------------ */

static int kettle_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_kettle *kettle = state;
    if (tr_message_is(message, &tr_boil_schema)) {
        struct tr_deferred_reply deferred = tr_message_deferred(message);
        kettle->asker = deferred.asker;
        kettle->ask = deferred.ask;
        return tr_timer_start(context, TIMER_BOILED, BOILING_MS);
    }
    if (tr_message_is(message, &tr_timer_schema)) {
        struct tr_deferred_reply deferred = {.asker = kettle->asker, .ask = kettle->ask};
        struct tr_tea tea = {.kind = tr_text_of("green tea")};
        return tr_reply_deferred(context, deferred, &tr_tea_schema, &tea);
    }
    return tr_unexpected(context, message);
}

static const struct tr_behaviour kettle_behaviour = {
    .name = "kettle", .id = 60011, .state = &tr_kettle_schema, .handle = kettle_handle};

/* ---- The cook: either the answer comes, or the news that it does not; never both. --------- */

static int ask_for_tea(struct tr_context *context, const struct tr_cook *cook, uint64_t patience_ms)
{
    return tr_ask(context, cook->kettle, &tr_boil_schema, &(struct tr_boil){}, patience_ms, NULL);
}

static int on_tea(struct tr_context *context, const struct tr_cook *cook,
                  const struct tr_message *message)
{
    struct tr_tea tea;
    int error = tr_message_read(message, tea, &tea);
    if (error != 0) {
        return error;
    }
    printf("the kettle brought %.*s\n", (int)tea.kind.size, tea.kind.data);
    return ask_for_tea(context, cook, PATIENCE_MS);
}

static int on_failure(struct tr_context *context, const struct tr_message *message)
{
    struct tr_ask_failed failed;
    int error = tr_message_read(message, ask_failed, &failed);
    if (error != 0) {
        return error;
    }
    printf("no tea this time: %s\n", tr_error_text(-(int)failed.reason));
    return tr_stop(context);
}

static int cook_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    const struct tr_cook *cook = state;
    if (tr_message_is(message, &tr_start_schema)) {
        return ask_for_tea(context, cook, 0);
    }
    if (tr_message_is(message, &tr_tea_schema)) {
        return on_tea(context, cook, message);
    }
    if (tr_message_is(message, &tr_ask_failed_schema)) {
        return on_failure(context, message);
    }
    return tr_unexpected(context, message);
}

static const struct tr_behaviour cook_behaviour = {
    .name = "cook", .id = 60010, .state = &tr_cook_schema, .handle = cook_handle};

int main(void)
{
    const struct tr_behaviour *behaviours[] = {&cook_behaviour, &kettle_behaviour};
    struct tr_host *host = must_start(behaviours, TR_COUNT_OF(behaviours), 1);

    struct tr_cook first = {0};
    struct tr_ref cook;
    must(tr_host_spawn(host, &kettle_behaviour, NULL, &first.kettle), "spawning the kettle");
    struct tr_spawn_options options = {.state = &first};
    must(tr_host_spawn(host, &cook_behaviour, &options, &cook), "spawning the cook");
    must(tr_host_tell(host, cook, &tr_start_schema, &(struct tr_start){}), "starting the cook");

    int reason;
    must(tr_host_wait(host, cook, 0, &reason), "waiting for the cook");
    tr_host_free(host);
    return 0;
}
