/*
 * Slabs: objects of several sizes from one directory never overlap, keep what is written into them,
 * and are given again when they were given back.
 */
#include <string.h>

#include "runtime/actor/slab.h"
#include "tests/support/draw.h"
#include "tests/support/test.h"

#define SLABS 3
#define OBJECTS 3000

static const uint32_t sizes[SLABS] = {32, 176, 4096};

static void test_objects_keep_what_is_written_into_them(void **state)
{
    (void)state;
    struct tri_chunk_directory directory;
    struct tri_slab slabs[SLABS];
    static uint32_t slots[SLABS][OBJECTS];
    struct draw draw = {5};
    uint64_t before = tr_memory_used();
    memset(slots, 0, sizeof slots);
    assert_int_equal(tri_chunk_directory_init(&directory), 0);
    for (int i = 0; i < SLABS; i++) {
        tri_slab_init(&slabs[i], &directory, sizes[i]);
    }
    for (int step = 0; step < 40000; step++) {
        size_t slab = draw_below(&draw, SLABS);
        size_t place = draw_below(&draw, OBJECTS);
        uint8_t mark = (uint8_t)(place * 7 + slab);
        uint32_t *slot = &slots[slab][place];
        if (*slot == 0) {
            *slot = tri_slab_take(&slabs[slab]);
            assert_int_not_equal(*slot, 0);
            memset(tri_slot_object(&directory, *slot), mark, sizes[slab]);
        } else {
            const uint8_t *object = tri_slot_object(&directory, *slot);
            assert_int_equal(object[0], mark);
            assert_int_equal(object[sizes[slab] - 1], mark);
            assert_int_equal((uintptr_t)object % 16, 0);
            tri_slab_give(&slabs[slab], *slot);
            *slot = 0;
        }
    }
    for (int i = 0; i < SLABS; i++) {
        uint32_t live = 0;
        for (size_t place = 0; place < OBJECTS; place++) {
            live += slots[i][place] != 0 ? 1 : 0;
        }
        assert_int_equal(slabs[i].live_count, live);
    }
    tri_chunk_directory_fini(&directory);
    assert_int_equal(tr_memory_used(), before);
}

static bool refuse(void *self, size_t size)
{
    (void)self;
    (void)size;
    return false;
}

static void test_without_memory_nobody_is_given(void **state)
{
    (void)state;
    struct tri_chunk_directory directory;
    struct tri_slab slab;
    assert_int_equal(tri_chunk_directory_init(&directory), 0);
    tri_slab_init(&slab, &directory, 64);
    tr_memory_hook_set(refuse, NULL);
    uint32_t slot = tri_slab_take(&slab);
    tr_memory_hook_set(NULL, NULL);
    assert_int_equal(slot, 0);
    assert_int_not_equal(tri_slab_take(&slab), 0);
    assert_int_equal(slab.live_count, 1);
    tri_chunk_directory_fini(&directory);
}

/* The object given back last is the first to be given again: it is still warm. */
static void test_what_was_given_back_is_given_again(void **state)
{
    (void)state;
    struct tri_chunk_directory directory;
    struct tri_slab slab;
    assert_int_equal(tri_chunk_directory_init(&directory), 0);
    tri_slab_init(&slab, &directory, 64);
    uint32_t first = tri_slab_take(&slab);
    uint32_t second = tri_slab_take(&slab);
    tri_slab_give(&slab, first);
    tri_slab_give(&slab, second);
    assert_int_equal(tri_slab_take(&slab), second);
    assert_int_equal(tri_slab_take(&slab), first);
    tri_chunk_directory_fini(&directory);
}

/* Up to the first huge page: after that as many bytes as one may be too many. */
static void test_a_slab_takes_twice_what_was_needed_at_most(void **state)
{
    (void)state;
    struct tri_chunk_directory directory;
    struct tri_slab slab;
    enum { OBJECT_BYTES = 256 };
    assert_int_equal(tri_chunk_directory_init(&directory), 0);
    tri_slab_init(&slab, &directory, OBJECT_BYTES);
    uint64_t before = tr_memory_used();
    for (uint64_t bytes = OBJECT_BYTES; bytes <= TR_CHUNK_BYTES; bytes += OBJECT_BYTES) {
        assert_int_not_equal(tri_slab_take(&slab), 0);
        assert_true(tr_memory_used() - before <= 2 * bytes + TRI_FIRST_CHUNK_BYTES);
    }
    tri_chunk_directory_fini(&directory);
}

static void take_and_give(struct tri_slab *slab, uint32_t count)
{
    static uint32_t slots[20000];
    TR_ASSERT(count <= TR_COUNT_OF(slots));
    for (uint32_t i = 0; i < count; i++) {
        slots[i] = tri_slab_take(slab);
        assert_int_not_equal(slots[i], 0);
        memset(tri_slot_object(slab->directory, slots[i]), (int)i, slab->object_size);
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *object = tri_slot_object(slab->directory, slots[i]);
        assert_int_equal(object[slab->object_size - 1], (uint8_t)i);
        tri_slab_give(slab, slots[i]);
    }
}

/* One that lives on keeps the chunks of all; a bound of memory does not count them. */
static void test_spare_objects_are_not_needed(void **state)
{
    (void)state;
    struct tri_chunk_directory directory;
    struct tri_slab slab;
    assert_int_equal(tri_chunk_directory_init(&directory), 0);
    tri_slab_init(&slab, &directory, 512);
    assert_int_not_equal(tri_slab_take(&slab), 0);
    tri_chunk_directory_tell(&directory);
    uint64_t before = tr_memory_needed();
    take_and_give(&slab, 20000);
    assert_true(tr_memory_needed() > before + 3 * TR_CHUNK_BYTES); /* it has not been told */
    tri_chunk_directory_tell(&directory);
    assert_true(tr_memory_needed() < before + (256U << 10));
    uint32_t slots[1000];
    for (uint32_t i = 0; i < TR_COUNT_OF(slots); i++) {
        slots[i] = tri_slab_take(&slab);
        assert_int_not_equal(slots[i], 0);
    }
    tri_chunk_directory_tell(&directory);
    assert_true(tr_memory_needed() > before + (TR_COUNT_OF(slots) - 256) * 512);
    tri_chunk_directory_fini(&directory);
    assert_int_equal(tr_memory_needed(), tr_memory_used());
}

/* Huge pages, too; and their places in the directory go to whoever grows next. */
static void test_a_slab_without_objects_rests(void **state)
{
    (void)state;
    struct tri_chunk_directory directory;
    struct tri_slab slabs[2];
    assert_int_equal(tri_chunk_directory_init(&directory), 0);
    tri_slab_init(&slabs[0], &directory, 512);
    tri_slab_init(&slabs[1], &directory, 256);
    take_and_give(&slabs[0], 1);
    uint64_t little = tr_memory_used();
    uint64_t spare = directory.spare_bytes;
    for (int round = 0; round < 3; round++) {
        take_and_give(&slabs[0], 20000);
        assert_true(tr_memory_used() > little + 3 * TR_CHUNK_BYTES);
        uint32_t places = directory.count;
        uint32_t slot = tri_slab_take(&slabs[0]);
        assert_false(tri_slab_release(&slabs[0])); /* one is out */
        tri_slab_give(&slabs[0], slot);
        assert_true(tr_memory_used() > little + 3 * TR_CHUNK_BYTES);
        assert_true(tri_slab_release(&slabs[0]));
        assert_false(tri_slab_release(&slabs[0]));
        assert_int_equal(tr_memory_used(), little);
        assert_int_equal(directory.spare_bytes, spare);
        assert_int_equal(directory.count, places);
    }
    uint32_t places = directory.count;
    take_and_give(&slabs[1], 4000);
    take_and_give(&slabs[0], 100);
    assert_int_equal(directory.count, places);
    tri_chunk_directory_fini(&directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_keep_what_is_written_into_them),
        cmocka_unit_test(test_without_memory_nobody_is_given),
        cmocka_unit_test(test_what_was_given_back_is_given_again),
        cmocka_unit_test(test_a_slab_takes_twice_what_was_needed_at_most),
        cmocka_unit_test(test_spare_objects_are_not_needed),
        cmocka_unit_test(test_a_slab_without_objects_rests),
    };
    return cmocka_run_group_tests_name("slab", tests, NULL, NULL);
}
