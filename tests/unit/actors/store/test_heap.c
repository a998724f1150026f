/*
 * A heap over pages: what was put there comes back at its place, whatever came behind it, also
 * over a crash; and it ends where the pages end.
 */
#include <stdlib.h>
#include <string.h>

#include "actors/store/heap.h"
#include "tests/sim/model_store.h"
#include "tests/support/draw.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

#define VALUES_MAX 4000

static struct stage stage;

/* The heap of the fake actor, which lies in no state, and what was put into it. */
static struct tr_heap heap;
static struct {
    uint64_t place;
    size_t size;
    uint8_t first;
} values[VALUES_MAX];
static uint32_t value_count;

static int heap_error;
static struct tr_bytes wanted;

#define SCRIPT(name)                                                        \
    static int name(struct tr_context *context, struct tr_fake_actor *fake, \
                    const struct tr_act *act, const struct tr_message *message)
#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})

static void fill(uint8_t *bytes, size_t size, uint8_t first)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(first + i * 31 + (i >> 8));
    }
}

/* Puts one value of act->number bytes. */
SCRIPT(put)
{
    UNUSED(fake, message);
    size_t size = (size_t)act->number;
    uint8_t *bytes = malloc(size);
    uint64_t place = 0;
    fill(bytes, size, (uint8_t)value_count);
    int error = tr_heap_put(context, &heap, (struct tr_bytes){bytes, size}, &place);
    free(bytes);
    assert_int_equal(error, 0);
    assert_int_not_equal(place, 0);
    values[value_count].place = place;
    values[value_count].size = size;
    values[value_count].first = (uint8_t)value_count;
    value_count++;
    return 0;
}

static void check_one(struct tr_context *context, uint32_t index)
{
    struct tr_buffer buffer;
    struct tr_bytes bytes;
    tr_buffer_init(&buffer, 0);
    assert_int_equal(tr_heap_get(context, &heap, values[index].place, &buffer, &bytes), 0);
    assert_int_equal(bytes.size, values[index].size);
    uint8_t *expected = malloc(bytes.size);
    fill(expected, bytes.size, values[index].first);
    assert_memory_equal(bytes.data, expected, bytes.size);
    free(expected);
    tr_buffer_fini(&buffer);
}

SCRIPT(check_all)
{
    UNUSED(fake, act, message);
    for (uint32_t i = 0; i < value_count; i++) {
        check_one(context, i);
    }
    return 0;
}

SCRIPT(get_place)
{
    UNUSED(fake, message);
    struct tr_buffer buffer;
    struct tr_bytes bytes;
    tr_buffer_init(&buffer, 0);
    heap_error = tr_heap_get(context, &heap, act->number, &buffer, &bytes);
    tr_buffer_fini(&buffer);
    return 0;
}

SCRIPT(put_wanted)
{
    UNUSED(fake, act, message);
    uint64_t place = 77;
    struct tr_heap before = heap;
    heap_error = tr_heap_put(context, &heap, wanted, &place);
    if (heap_error != 0) {
        assert_int_equal(place, 77);
        assert_memory_equal(&before, &heap, sizeof heap);
    }
    return 0;
}

static struct tr_ref begin(struct tri_store *store, uint32_t first)
{
    stage_open(&stage, &(struct stage_options){.store = store});
    heap = (struct tr_heap){.first = first};
    value_count = 0;
    return stage_spawn(&stage, &fake_actor_behaviour, NULL);
}

static void act(struct tr_ref fake, fake_actor_script script, uint64_t number)
{
    fake_actor_act(&stage, fake, script, number, (struct tr_ref){0});
}

static void test_values_of_all_sizes_come_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {1,     59,    60,    4091,  4092,  4093,   4096,
                                   16379, 16380, 16381, 32764, 32765, 100000, 1048576};
    struct tr_ref fake = begin(NULL, 3);
    for (size_t i = 0; i < TR_COUNT_OF(sizes); i++) {
        for (size_t k = 0; k < TR_COUNT_OF(sizes); k++) {
            act(fake, put, sizes[i]);
            act(fake, put, sizes[k] < 20000 ? sizes[k] : 7);
        }
        act(fake, check_all, 0);
    }
    stage_close(&stage);
}

static void test_small_values_share_pages(void **state)
{
    (void)state;
    struct tr_ref fake = begin(NULL, 0);
    for (uint32_t i = 0; i < 1000; i++) {
        act(fake, put, 12);
    }
    assert_int_equal(heap.page, 1000 * 16 / TR_HEAP_PAGE_BYTES);
    act(fake, check_all, 0);
    stage_close(&stage);
}

static void test_drawn_values_come_back_over_a_crash(void **state)
{
    (void)state;
    struct tri_model *model = tri_model_new();
    struct tri_store *store;
    struct draw draw = {.state = 5};
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    struct tr_ref fake = begin(store, 10);
    for (uint32_t i = 0; i < 1500; i++) {
        act(fake, put, 1 + draw_below(&draw, draw_below(&draw, 20) == 0 ? 40000 : 300));
    }
    tri_model_kill(model, 1);
    stage_close(&stage);
    tri_store_close(store);
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    stage_open(&stage, &(struct stage_options){.store = store});
    act(fake, check_all, 0);
    stage_close(&stage);
    tri_store_close(store);
    tri_model_free(model);
}

static void test_places_that_are_none(void **state)
{
    (void)state;
    static const uint64_t none[] = {0, 1, 65535, 2U << 16, 1U << 16 | 500, UINT64_MAX};
    struct tr_ref fake = begin(NULL, 0);
    act(fake, put, 20);
    for (size_t i = 0; i < TR_COUNT_OF(none); i++) {
        heap_error = 0;
        act(fake, get_place, none[i]);
        assert_int_equal(heap_error, TR_NOT_FOUND);
    }
    stage_close(&stage);
}

static void test_it_ends_where_the_pages_end(void **state)
{
    (void)state;
    static uint8_t bytes[3 * TR_PAGE_BYTES_MAX];
    struct tr_ref fake = begin(NULL, TR_PAGES_MAX - 2);
    wanted = (struct tr_bytes){bytes, sizeof bytes}; /* and four more: four pages */
    act(fake, put_wanted, 0);
    assert_int_equal(heap_error, TR_LIMIT);
    wanted.size = 4000;
    act(fake, put_wanted, 0);
    assert_int_equal(heap_error, 0);
    act(fake, put_wanted, 0);
    assert_int_equal(heap_error, 0);
    act(fake, put_wanted, 0);
    assert_int_equal(heap_error, TR_LIMIT);
    wanted.size = 10;
    act(fake, put_wanted, 0);
    assert_int_equal(heap_error, 0); /* there is room for that in the last page */
    wanted.size = 0;
    act(fake, put_wanted, 0);
    assert_int_equal(heap_error, TR_INVALID);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_all_sizes_come_back),
        cmocka_unit_test(test_small_values_share_pages),
        cmocka_unit_test(test_drawn_values_come_back_over_a_crash),
        cmocka_unit_test(test_places_that_are_none),
        cmocka_unit_test(test_it_ends_where_the_pages_end),
    };
    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
