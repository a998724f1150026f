/*
 * An actor counts while it is moved between two workers.
 *
 * The source sends 1, 2, 3 and so on, as fast as the counter takes them. Meanwhile main moves the
 * counter back and forth, with what is in its mailbox and what is on its way. The counter would see
 * a number that is missing, doubled or out of order at once. Neither of the two knows of the moves.
 */
#include "examples/actors/example.h"

#define MOVES 50
#define NUMBERS_AT_ONCE 16

#define NEXT_FIELDS(FIELD, ARRAY)
#define ENOUGH_FIELDS(FIELD, ARRAY)
#define NUMBER_FIELDS(FIELD, ARRAY) \
    FIELD(u64, value, 1, 0)         \
    FIELD(bool, is_last, 1, 0)
#define SOURCE_FIELDS(FIELD, ARRAY) \
    FIELD(ref, counter, 1, 0)       \
    FIELD(u64, sent, 1, 0)          \
    FIELD(bool, is_over, 1, 0)
#define COUNTER_FIELDS(FIELD, ARRAY) FIELD(u64, seen, 1, 0)

#define SCHEMAS(S)                                             \
    S(next, 60030, TR_MESSAGE, 1, TR_DURABLE, NEXT_FIELDS)     \
    S(enough, 60031, TR_MESSAGE, 1, TR_DURABLE, ENOUGH_FIELDS) \
    S(number, 60032, TR_MESSAGE, 1, TR_DURABLE, NUMBER_FIELDS) \
    S(source, 60030, TR_STATE, 1, 0, SOURCE_FIELDS)            \
    S(counter, 60031, TR_STATE, 1, 0, COUNTER_FIELDS)

SCHEMAS(TR_SCHEMA_DECLARE_ROW)
SCHEMAS(TR_SCHEMA_DEFINE)

/* Sends some numbers and a message to itself, so that others get their turn in between. */
static int send_some(struct tr_context *context, struct tr_source *source)
{
    for (int i = 0; i < NUMBERS_AT_ONCE; i++) {
        struct tr_number number = {.value = ++source->sent};
        int error = tr_tell(context, source->counter, &tr_number_schema, &number);
        if (error != 0) {
            return error;
        }
    }
    return tr_tell(context, tr_self(context), &tr_next_schema, &(struct tr_next){});
}

static int source_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_source *source = state;
    if (tr_message_is(message, &tr_next_schema)) {
        return source->is_over ? tr_stop(context) : send_some(context, source);
    }
    if (tr_message_is(message, &tr_enough_schema)) {
        struct tr_number last = {.value = ++source->sent, .is_last = true};
        source->is_over = true;
        return tr_tell(context, source->counter, &tr_number_schema, &last);
    }
    return tr_unexpected(context, message);
}

static int counter_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_counter *counter = state;
    struct tr_number number;
    if (!tr_message_is(message, &tr_number_schema)) {
        return tr_unexpected(context, message);
    }
    int error = tr_message_read(message, number, &number);
    if (error != 0) {
        return error;
    }
    if (number.value != ++counter->seen) {
        printf("expected %llu, got %llu\n", (unsigned long long)counter->seen,
               (unsigned long long)number.value);
        return tr_stop(context);
    }
    if (number.is_last) {
        printf("the last number came, and none was missing, doubled or out of order\n");
        return tr_stop(context);
    }
    return 0;
}

static const struct tr_behaviour source_behaviour = {
    .name = "source", .id = 60030, .state = &tr_source_schema, .handle = source_handle};
static const struct tr_behaviour counter_behaviour = {
    .name = "counter", .id = 60031, .state = &tr_counter_schema, .handle = counter_handle};

int main(void)
{
    const struct tr_behaviour *behaviours[] = {&source_behaviour, &counter_behaviour};
    struct tr_host *host = must_start(behaviours, TR_COUNT_OF(behaviours), 2);

    struct tr_source first = {0};
    struct tr_ref source;
    must(tr_host_spawn(host, &counter_behaviour, NULL, &first.counter), "spawning the counter");
    struct tr_spawn_options options = {.state = &first};
    must(tr_host_spawn(host, &source_behaviour, &options, &source), "spawning the source");
    must(tr_host_tell(host, source, &tr_next_schema, &(struct tr_next){}), "starting the source");

    for (uint32_t i = 1; i <= MOVES; i++) {
        must(tr_host_move(host, first.counter, i % 2), "moving the counter");
    }
    printf("moved %d times\n", MOVES);
    must(tr_host_tell(host, source, &tr_enough_schema, &(struct tr_enough){}), "stopping it");

    int reason;
    must(tr_host_wait(host, first.counter, 0, &reason), "waiting for the counter");
    tr_host_free(host);
    return 0;
}
