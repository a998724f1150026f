/*
 * The catalog by itself: one owner for each key, order among those who wait, many who are told in
 * portions, and nothing left in the end; with random asking, giving up, dying and crashes.
 */
#include "actors/services/catalog.h"

#include <stdio.h>
#include <string.h>

#include "tests/sim/model_store.h"
#include "tests/support/draw.h"
#include "tests/support/stage.h"

#define TR_MAKER_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)          \
    FIELD(u64, key, 1, 0)             \
    FIELD(u8, heard, 1, 0)
#define TR_MAKER_DO_FIELDS(FIELD, ARRAY) \
    FIELD(u8, what, 1, 0)                \
    FIELD(u64, key, 1, 0)
#define SCHEMAS(S)                                                    \
    S(maker_do, 61400, TR_MESSAGE, 1, TR_DURABLE, TR_MAKER_DO_FIELDS) \
    S(maker, 61400, TR_STATE, 1, 0, TR_MAKER_FIELDS)
SCHEMAS(TR_SCHEMA_DECLARE_ROW)
SCHEMAS(TR_SCHEMA_DEFINE)

enum what { RESERVE, RELEASE, MADE, STOP };
enum heard { NOTHING, OWNER, LOOK };

static struct stage stage;
static struct tri_model *model;
static struct tri_store *store;
static struct tr_ref catalog;

static struct tr_bytes key_of(uint64_t key, uint8_t bytes[TR_ROWS_KEY_BYTES])
{
    memset(bytes, 0xaa, TR_ROWS_KEY_BYTES);
    memcpy(bytes, &key, sizeof key);
    return (struct tr_bytes){.data = bytes, .size = TR_ROWS_KEY_BYTES};
}

static int act(struct tr_context *context, struct tr_maker *maker, const struct tr_maker_do *wish)
{
    uint8_t bytes[TR_ROWS_KEY_BYTES];
    char name[24];
    if (wish->what == STOP) {
        return tr_stop(context);
    }
    if (wish->what == RESERVE) {
        maker->heard = maker->key == wish->key ? maker->heard : NOTHING;
        maker->key = wish->key;
        (void)snprintf(name, sizeof name, "maker-%u", (unsigned)maker->number);
        return tr_tell(
            context, catalog, &tr_cache_reserve_schema,
            &(struct tr_cache_reserve){.key = key_of(wish->key, bytes), .owner = tr_text_of(name)});
    }
    uint64_t key = maker->key;
    maker->heard = NOTHING;
    maker->key = 0;
    return tr_tell(
        context, catalog, &tr_cache_release_schema,
        &(struct tr_cache_release){.key = key_of(key, bytes), .is_made = wish->what == MADE});
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_maker *maker = state;
    struct tr_maker_do wish;
    struct tr_cache_owner owner;
    uint8_t bytes[TR_ROWS_KEY_BYTES];
    if (tr_message_is(message, &tr_maker_do_schema)) {
        int error = tr_message_read(message, maker_do, &wish);
        return error != 0 ? error : act(context, maker, &wish);
    }
    int error = tr_message_read(message, cache_owner, &owner);
    if (error == 0) {
        assert_memory_equal(owner.key.data, key_of(maker->key, bytes).data, owner.key.size);
        maker->heard = owner.is_made ? LOOK : OWNER;
        maker->key = owner.is_made ? 0 : maker->key;
    }
    return error;
}

static const struct tr_behaviour maker_behaviour = {
    .name = "maker", .id = 61400, .state = &tr_maker_schema, .handle = handle};

static void open_all(void)
{
    static const struct tr_behaviour *const behaviours[] = {&maker_behaviour,
                                                            &tr_catalog_behaviour};
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    struct stage_options wanted = {
        .store = store, .behaviours = behaviours, .behaviour_count = TR_COUNT_OF(behaviours)};
    stage_open(&stage, &wanted);
}

static void close_all(void)
{
    stage_close(&stage);
    tri_store_close(store);
}

static void begin(void)
{
    model = tri_model_new();
    open_all();
    catalog = stage_spawn(&stage, &tr_catalog_behaviour, NULL);
}

static void end(void)
{
    close_all();
    tri_model_free(model);
}

static void crash(void)
{
    tri_model_kill(model, 1);
    close_all();
    open_all();
    stage_run(&stage);
}

static struct tr_ref maker(uint64_t number)
{
    struct tr_maker first = {.number = number};
    return stage_spawn(&stage, &maker_behaviour, &(struct tr_spawn_options){.state = &first});
}

static void say(struct tr_ref who, enum what what, uint64_t key)
{
    stage_tell(&stage, who, &tr_maker_do_schema,
               &(struct tr_maker_do){.what = (uint8_t)what, .key = key});
    stage_run(&stage);
}

static uint8_t heard(struct tr_ref who)
{
    const struct tri_actor *actor = stage_actor(&stage, who);
    return actor == NULL ? NOTHING : ((const struct tr_maker *)(actor + 1))->heard;
}

static const struct tr_catalog_state *state_of(void)
{
    return tri_actor_state(stage_actor(&stage, catalog));
}

static void test_order_is_kept_and_keys_are_apart(void **state)
{
    (void)state;
    begin();
    struct tr_ref makers[5];
    for (uint64_t i = 0; i < 5; i++) {
        makers[i] = maker(i);
        say(makers[i], RESERVE, i == 4 ? 2 : 1);
        assert_int_equal(heard(makers[i]), i == 0 || i == 4 ? OWNER : NOTHING);
    }
    crash();
    say(makers[1], RELEASE, 0); /* does not wait any more */
    say(makers[0], RELEASE, 0);
    assert_int_equal(heard(makers[2]), OWNER);
    say(makers[2], RESERVE, 1); /* asked again: it is the owner still */
    assert_int_equal(heard(makers[3]), NOTHING);
    say(makers[2], STOP, 0); /* without a word */
    assert_int_equal(heard(makers[3]), OWNER);
    say(makers[3], RESERVE, 3); /* another key: this one is given up */
    say(makers[3], RELEASE, 0);
    say(makers[4], MADE, 0);
    say(makers[4], MADE, 0); /* once more is nothing */
    assert_int_equal(state_of()->rows_count, 0);
    assert_int_equal(state_of()->owned, 0);
    assert_int_equal(state_of()->watch_count, 0);
    end();
}

/* Whoever cannot be reached may live, and make it; its end is heard of later. */
static void test_an_owner_that_cannot_be_reached_stays_it(void **state)
{
    (void)state;
    begin();
    struct tr_ref makers[2];
    for (uint64_t i = 0; i < 2; i++) {
        makers[i] = maker(i);
        say(makers[i], RESERVE, 1);
    }
    for (int i = 0; i < 2; i++) {
        stage_lose_monitors(&stage, catalog);
        assert_int_equal(heard(makers[1]), NOTHING);
        assert_int_equal(state_of()->watch_count, 1);
    }
    say(makers[0], STOP, 0);
    assert_int_equal(heard(makers[1]), OWNER);
    end();
}

static void test_many_are_told_in_portions(void **state)
{
    (void)state;
    begin();
    static struct tr_ref makers[500];
    for (uint64_t i = 0; i < TR_COUNT_OF(makers); i++) {
        makers[i] = maker(i);
        say(makers[i], RESERVE, 1);
    }
    assert_int_equal(state_of()->waiting, TR_COUNT_OF(makers) - 1);
    say(makers[0], MADE, 0);
    for (uint64_t i = 1; i < TR_COUNT_OF(makers); i++) {
        assert_int_equal(heard(makers[i]), LOOK);
    }
    assert_int_equal(state_of()->rows_count, 0);
    assert_int_equal(state_of()->waiting, 0);
    end();
}

static void test_there_is_one_owner_at_most(void **state)
{
    (void)state;
    enum { MAKERS = 40, KEYS = 5 };
    struct tr_ref makers[MAKERS];
    uint64_t keys[MAKERS] = {0}; /* 0: it asks for none */
    struct draw draw = {.state = 3};
    begin();
    for (uint64_t i = 0; i < MAKERS; i++) {
        makers[i] = maker(i);
    }
    for (int i = 0; i < 4000; i++) {
        size_t who = draw_below(&draw, MAKERS);
        size_t what = draw_below(&draw, 100);
        if (what < 55 && keys[who] == 0) {
            keys[who] = 1 + draw_below(&draw, KEYS);
            say(makers[who], RESERVE, keys[who]);
        } else if (what < 97 && keys[who] != 0) {
            say(makers[who], what % 3 == 0 ? MADE : RELEASE, 0);
            keys[who] = 0;
        } else if (what == 98) {
            say(makers[who], STOP, 0);
            makers[who] = maker(who);
            keys[who] = 0;
        } else if (what == 99) {
            crash();
        }
        uint32_t owners[KEYS + 1] = {0};
        uint32_t askers[KEYS + 1] = {0};
        for (size_t k = 0; k < MAKERS; k++) {
            if (heard(makers[k]) == LOOK) { /* it looks, and asks for nothing any more */
                keys[k] = 0;
            }
            owners[keys[k]] += heard(makers[k]) == OWNER ? 1 : 0;
            askers[keys[k]] += keys[k] != 0 ? 1 : 0;
        }
        for (size_t key = 1; key <= KEYS; key++) {
            assert_int_equal(owners[key], askers[key] > 0 ? 1 : 0);
        }
    }
    for (size_t k = 0; k < MAKERS; k++) {
        say(makers[k], RELEASE, 0);
    }
    assert_int_equal(state_of()->rows_count, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_is_kept_and_keys_are_apart),
        cmocka_unit_test(test_an_owner_that_cannot_be_reached_stays_it),
        cmocka_unit_test(test_many_are_told_in_portions),
        cmocka_unit_test(test_there_is_one_owner_at_most),
    };
    return cmocka_run_group_tests_name("catalog", tests, NULL, NULL);
}
