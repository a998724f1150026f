/*
 * Two actors play ping-pong.
 *
 * `ping` knows the other one because main put its reference into the first state; `pong` knows
 * nobody and answers whoever speaks to it. Each handler sees one message at a time, changes the
 * copy of the state that it was given, and says what it wants to happen.
 */
#include "examples/actors/example.h"

#define ROUNDS 3

/* ---- What is said, and what is remembered: one definition gives struct, pack and unpack. ---- */

#define START_FIELDS(FIELD, ARRAY)
#define BALL_FIELDS(FIELD, ARRAY) FIELD(u32, round, 1, 0)
#define PING_FIELDS(FIELD, ARRAY) FIELD(ref, pong, 1, 0)
#define PONG_FIELDS(FIELD, ARRAY) FIELD(u32, returned, 1, 0)

#define SCHEMAS(S)                                           \
    S(start, 60000, TR_MESSAGE, 1, TR_DURABLE, START_FIELDS) \
    S(ball, 60001, TR_MESSAGE, 1, TR_DURABLE, BALL_FIELDS)   \
    S(ping, 60000, TR_STATE, 1, 0, PING_FIELDS)              \
    S(pong, 60001, TR_STATE, 1, 0, PONG_FIELDS)

SCHEMAS(TR_SCHEMA_DECLARE_ROW)
SCHEMAS(TR_SCHEMA_DEFINE)

/* ---- The two behaviours. ------------------------------------------------------------------ */

static int serve(struct tr_context *context, const struct tr_ping *ping, uint32_t round)
{
    printf("ping %u\n", round);
    return tr_tell(context, ping->pong, &tr_ball_schema, &(struct tr_ball){.round = round});
}

static int ping_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    const struct tr_ping *ping = state;
    struct tr_ball ball;
    if (tr_message_is(message, &tr_start_schema)) {
        return serve(context, ping, 1);
    }
    if (!tr_message_is(message, &tr_ball_schema)) {
        return tr_unexpected(context, message);
    }
    int error = tr_message_read(message, ball, &ball);
    if (error != 0) {
        return error;
    }
    return ball.round < ROUNDS ? serve(context, ping, ball.round + 1) : tr_stop(context);
}

static int pong_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_pong *pong = state;
    struct tr_ball ball;
    if (!tr_message_is(message, &tr_ball_schema)) {
        return tr_unexpected(context, message);
    }
    int error = tr_message_read(message, ball, &ball);
    if (error != 0) {
        return error;
    }
    pong->returned++;
    printf("pong %u\n", pong->returned);
    return tr_reply(context, message, &tr_ball_schema, &ball);
}

static const struct tr_behaviour ping_behaviour = {
    .name = "ping", .id = 60000, .state = &tr_ping_schema, .handle = ping_handle};
static const struct tr_behaviour pong_behaviour = {
    .name = "pong", .id = 60001, .state = &tr_pong_schema, .handle = pong_handle};

/* ---- A host for them. --------------------------------------------------------------------- */

int main(void)
{
    const struct tr_behaviour *behaviours[] = {&ping_behaviour, &pong_behaviour};
    struct tr_host *host = must_start(behaviours, TR_COUNT_OF(behaviours), 2);

    struct tr_ping first = {0};
    struct tr_ref ping;
    must(tr_host_spawn(host, &pong_behaviour, NULL, &first.pong), "spawning pong");
    struct tr_spawn_options options = {
        .name = tr_text_of("ping"), .state = &first, .is_watched = true};
    must(tr_host_spawn(host, &ping_behaviour, &options, &ping), "spawning ping");
    must(tr_host_tell(host, ping, &tr_start_schema, &(struct tr_start){}), "starting ping");

    int reason;
    must(tr_host_wait(host, ping, 0, &reason), "waiting for ping");
    printf("ping has ended: %s\n", tr_error_text(reason));
    tr_host_free(host);
    return 0;
}
