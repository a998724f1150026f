/*
 * Order and once-ness with real threads: everybody tells everybody numbered words, while actors are
 * moved at random between workers. Each pair counts on both sides; a word that is missing, doubled
 * or out of order makes its receiver end with a failure.
 */
#include <string.h>

#include "runtime/troupe.h"
#include "tests/support/draw.h"
#include "tests/support/test.h"

#define TALKERS 24
#define WORDS_AT_ONCE 6
#define MOVES 60
#define WORKERS 4
#define PATIENCE_MS 60000

/* Pages of a talker: whom it knows, and what it has told and heard of each. */
enum { PAGE_PEERS, PAGE_TOLD, PAGE_HEARD };

#define TR_INTRODUCE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, index, 1, 0)               \
    FIELD(bytes, peers, 1, 0)
#define TR_TALK_FIELDS(FIELD, ARRAY)
#define TR_ENOUGH_FIELDS(FIELD, ARRAY)
#define TR_WORD_FIELDS(FIELD, ARRAY) \
    FIELD(u64, index, 1, 0)          \
    FIELD(u64, number, 1, 0)         \
    FIELD(bool, is_last, 1, 0)
#define TR_TALKER_FIELDS(FIELD, ARRAY) \
    FIELD(u64, index, 1, 0)            \
    FIELD(bool, is_over, 1, 0)         \
    FIELD(u64, goodbyes, 1, 0)

#define ORDER_SCHEMAS(S)                                                \
    S(introduce, 62100, TR_MESSAGE, 1, TR_DURABLE, TR_INTRODUCE_FIELDS) \
    S(talk, 62101, TR_MESSAGE, 1, TR_DURABLE, TR_TALK_FIELDS)           \
    S(word, 62102, TR_MESSAGE, 1, TR_DURABLE, TR_WORD_FIELDS)           \
    S(enough, 62103, TR_MESSAGE, 1, TR_DURABLE, TR_ENOUGH_FIELDS)       \
    S(talker, 62100, TR_STATE, 1, 0, TR_TALKER_FIELDS)

ORDER_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
ORDER_SCHEMAS(TR_SCHEMA_DEFINE)

#define TRY(call)           \
    do {                    \
        int error = (call); \
        if (error != 0) {   \
            return error;   \
        }                   \
    } while (false)

static int counters_of(struct tr_context *context, uint32_t page, uint64_t **counters)
{
    void *bytes;
    TRY(tr_page_edit(context, page, TALKERS * sizeof **counters, &bytes));
    *counters = bytes;
    return 0;
}

static int tell_word(struct tr_context *context, const struct tr_talker *talker, size_t to,
                     bool is_last)
{
    struct tr_bytes peers;
    uint64_t *told;
    struct tr_ref peer;
    TRY(tr_page_get(context, PAGE_PEERS, &peers));
    TRY(counters_of(context, PAGE_TOLD, &told));
    memcpy(&peer, peers.data + to * sizeof peer, sizeof peer);
    struct tr_word word = {.index = talker->index, .number = ++told[to], .is_last = is_last};
    return tr_tell(context, peer, &tr_word_schema, &word);
}

static int talk(struct tr_context *context, struct tr_talker *talker)
{
    if (!talker->is_over) {
        for (int i = 0; i < WORDS_AT_ONCE; i++) {
            TRY(tell_word(context, talker, tr_random(context) % TALKERS, false));
        }
        return tr_tell(context, tr_self(context), &tr_talk_schema, &(struct tr_talk){});
    }
    for (size_t i = 0; i < TALKERS; i++) {
        TRY(tell_word(context, talker, i, true));
    }
    return 0;
}

static int hear(struct tr_context *context, struct tr_talker *talker,
                const struct tr_message *message)
{
    struct tr_word word;
    uint64_t *heard;
    TRY(tr_message_read(message, word, &word));
    TRY(counters_of(context, PAGE_HEARD, &heard));
    if (word.index >= TALKERS || word.number != ++heard[word.index]) {
        return TR_FAILED;
    }
    talker->goodbyes += word.is_last ? 1 : 0;
    return talker->goodbyes == TALKERS ? tr_stop(context) : 0;
}

static int introduce(struct tr_context *context, struct tr_talker *talker,
                     const struct tr_message *message)
{
    struct tr_introduce introduction;
    void *peers;
    TRY(tr_message_read(message, introduce, &introduction));
    TRY(tr_page_edit(context, PAGE_PEERS, introduction.peers.size, &peers));
    memcpy(peers, introduction.peers.data, introduction.peers.size);
    talker->index = introduction.index;
    return tr_tell(context, tr_self(context), &tr_talk_schema, &(struct tr_talk){});
}

static int talker_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    if (tr_message_is(message, &tr_introduce_schema)) {
        return introduce(context, state, message);
    }
    if (tr_message_is(message, &tr_talk_schema)) {
        return talk(context, state);
    }
    if (tr_message_is(message, &tr_enough_schema)) {
        ((struct tr_talker *)state)->is_over = true;
        return 0;
    }
    return tr_message_is(message, &tr_word_schema) ? hear(context, state, message)
                                                   : tr_unexpected(context, message);
}

static const struct tr_behaviour talker_behaviour = {
    .name = "talker", .id = 62100, .state = &tr_talker_schema, .handle = talker_handle};

static struct tr_host *start_host(void)
{
    static const struct tr_behaviour *const behaviours[] = {&talker_behaviour};
    struct tr_host_options options = {.worker_count = WORKERS,
                                      .durability = TR_DURABILITY_NONE,
                                      .behaviours = behaviours,
                                      .behaviour_count = TR_COUNT_OF(behaviours),
                                      .seed = 5};
    struct tr_host *host = NULL;
    assert_int_equal(tr_host_new(&options, NULL, &host), 0);
    assert_int_equal(tr_host_start(host), 0);
    return host;
}

/* Moves go on while the talkers talk. */
static void move_at_random(struct tr_host *host, const struct tr_ref *talkers)
{
    struct draw draw = {11};
    for (int i = 0; i < MOVES; i++) {
        struct tr_ref talker = talkers[draw_below(&draw, TALKERS)];
        uint32_t worker = (uint32_t)draw_below(&draw, WORKERS);
        assert_int_equal(tr_host_move(host, talker, worker), 0);
    }
}

static void test_every_pair_keeps_its_order_while_actors_move(void **state)
{
    (void)state;
    struct tr_host *host = start_host();
    struct tr_ref talkers[TALKERS];
    struct tr_spawn_options options = {.is_watched = true};
    for (size_t i = 0; i < TALKERS; i++) {
        assert_int_equal(tr_host_spawn(host, &talker_behaviour, &options, &talkers[i]), 0);
    }
    for (size_t i = 0; i < TALKERS; i++) {
        struct tr_introduce introduction = {.index = i,
                                            .peers = {(const uint8_t *)talkers, sizeof talkers}};
        assert_int_equal(tr_host_tell(host, talkers[i], &tr_introduce_schema, &introduction), 0);
    }
    move_at_random(host, talkers);
    for (size_t i = 0; i < TALKERS; i++) {
        struct tr_enough enough = {};
        assert_int_equal(tr_host_tell(host, talkers[i], &tr_enough_schema, &enough), 0);
    }
    for (size_t i = 0; i < TALKERS; i++) {
        int reason = TR_INVALID;
        assert_int_equal(tr_host_wait(host, talkers[i], PATIENCE_MS, &reason), 0);
        assert_int_equal(reason, 0);
    }
    tr_host_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair_keeps_its_order_while_actors_move),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
