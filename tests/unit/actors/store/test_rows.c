/*
 * Rows in pages against a plain array: added, found, changed and removed in any order, by a handler
 * a message at a time, also over many thousands and after a crash.
 */
#include "actors/store/rows.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/engine/state_service.h"
#include "tests/sim/model_store.h"
#include "tests/support/draw.h"
#include "tests/support/stage.h"

#define TR_KEEPER_STATE_FIELDS(FIELD, ARRAY) \
    TRI_ROWS_FIELDS(FIELD)                   \
    FIELD(u64, handled, 1, 0)
#define TR_KEEP_FIELDS(FIELD, ARRAY) \
    FIELD(u8, what, 1, 0)            \
    FIELD(u64, key, 1, 0)            \
    FIELD(u64, value, 1, 0)
#define SCHEMAS(S)                                            \
    S(keep, 61200, TR_MESSAGE, 1, TR_DURABLE, TR_KEEP_FIELDS) \
    S(keeper_state, 61200, TR_STATE, 1, 0, TR_KEEPER_STATE_FIELDS)
SCHEMAS(TR_SCHEMA_DECLARE_ROW)
SCHEMAS(TR_SCHEMA_DEFINE)

enum what { ADD, CHANGE, REMOVE, ASK };

struct own_row {
    struct tr_rows_head head;
    uint64_t key;
    uint64_t value;
    uint8_t more[40];
};

/* What ASK found: the test's eye. */
static bool is_found;
static uint64_t found_value;
static uint32_t row_count;

static int change(struct tr_rows *rows, const struct tr_keep *keep)
{
    struct tr_rows_key key = tr_rows_key_numbers(7, keep->key, 0);
    uint32_t number = 0;
    void *row;
    int error = tr_rows_find(rows, &key, &number);
    if (keep->what == ASK) {
        const void *there;
        is_found = error == 0;
        error = is_found ? tr_rows_get(rows, number, &there) : 0;
        found_value = is_found ? ((const struct own_row *)there)->value : 0;
        row_count = rows->count;
        return error;
    }
    if (keep->what == ADD) {
        assert_int_equal(error, TR_NOT_FOUND);
        error = tr_rows_add(rows, &key, &number, &row);
        struct own_row *own = row;
        assert_int_equal(own->value, 0);
        own->key = keep->key;
        own->value = keep->value;
        return error;
    }
    assert_int_equal(error, 0);
    if (keep->what == REMOVE) {
        return tr_rows_remove(rows, number);
    }
    error = tr_rows_edit(rows, number, &row);
    assert_int_equal(((struct own_row *)row)->key, keep->key);
    ((struct own_row *)row)->value = keep->value;
    return error;
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_keeper_state *own = state;
    struct tr_keep keep;
    int error = tr_message_read(message, keep, &keep);
    struct tr_rows rows = tr_rows_open(context, own, sizeof(struct own_row));
    error = error != 0 ? error : change(&rows, &keep);
    tr_rows_close(&rows, own);
    return error;
}

static const struct tr_behaviour behaviour = {
    .name = "keeper", .id = 61200, .state = &tr_keeper_state_schema, .handle = handle};

static struct stage stage;
static struct tri_model *model;
static struct tri_store *store;
static struct tr_ref actor;

static void open_all(void)
{
    static const struct tr_behaviour *const behaviours[] = {&behaviour};
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    struct stage_options wanted = {.store = store, .behaviours = behaviours, .behaviour_count = 1};
    stage_open(&stage, &wanted);
}

static void close_all(void)
{
    stage_close(&stage);
    tri_store_close(store);
}

static void say(enum what what, uint64_t key, uint64_t value)
{
    struct tr_keep keep = {.what = (uint8_t)what, .key = key, .value = value};
    stage_tell(&stage, actor, &tr_keep_schema, &keep);
    stage_run(&stage);
}

static void expect(uint64_t key, bool is_there, uint64_t value)
{
    say(ASK, key, 0);
    assert_int_equal(is_found, is_there);
    assert_int_equal(found_value, is_there ? value : 0);
}

#define KEYS 3000

static void test_rows_are_what_an_array_would_be(void **state)
{
    (void)state;
    static uint64_t values[KEYS]; /* 0: not there */
    memset(values, 0, sizeof values);
    model = tri_model_new();
    open_all();
    actor = stage_spawn(&stage, &behaviour, NULL);
    struct draw draw = {.state = 5};
    uint32_t count = 0;
    for (uint64_t i = 1; i <= 12000; i++) {
        uint64_t key = draw_below(&draw, KEYS);
        if (values[key] == 0) {
            say(ADD, key, i);
            values[key] = i;
            count++;
        } else if (draw_below(&draw, 3) == 0) {
            say(REMOVE, key, 0);
            values[key] = 0;
            count--;
        } else {
            say(CHANGE, key, i);
            values[key] = i;
        }
        if (i == 6000) {
            tri_model_kill(model, 1);
            close_all();
            open_all();
        }
    }
    for (uint64_t key = 0; key < KEYS; key++) {
        expect(key, values[key] != 0, values[key]);
    }
    assert_int_equal(row_count, count);
    for (uint64_t key = 0; key < KEYS; key++) {
        if (values[key] != 0) {
            say(REMOVE, key, 0);
        }
    }
    expect(1, false, 0);
    assert_int_equal(row_count, 0);
    close_all();
    tri_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_what_an_array_would_be),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
