/*
 * The door to memory: what is in use is counted, sizes that cannot be are refused, a hook may
 * refuse whatever it likes, and large blocks go back to the system.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "tests/support/test.h"

static void test_what_is_in_use_is_counted(void **state)
{
    (void)state;
    uint64_t before = tr_memory_used();
    void *block = tr_alloc(100);
    assert_non_null(block);
    assert_int_equal(tr_memory_used(), before + 100);
    block = tr_realloc(block, 5000);
    assert_non_null(block);
    assert_int_equal(tr_memory_used(), before + 5000);
    void *zeros = tr_alloc_zero(10, 10);
    assert_int_equal(tr_memory_used(), before + 5100);
    tr_free(zeros);
    tr_free(block);
    tr_free(NULL);
    assert_int_equal(tr_memory_used(), before);
}

static void test_content_survives_growing(void **state)
{
    (void)state;
    char *text = tr_text_copy((struct tr_text){"troupe!", 6});
    assert_string_equal(text, "troupe");
    text = tr_realloc(text, 100000);
    assert_string_equal(text, "troupe");
    tr_free(text);
    text = tr_text_copy((struct tr_text){.data = NULL, .size = 0});
    assert_string_equal(text, "");
    tr_free(text);
    uint8_t *zeros = tr_alloc_zero(3, 1000);
    for (size_t i = 0; i < 3000; i++) {
        assert_int_equal(zeros[i], 0);
    }
    assert_int_equal((uintptr_t)zeros % 16, 0);
    tr_free(zeros);
}

static void test_sizes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    volatile size_t most = SIZE_MAX; /* what compilers may not look through */
    assert_null(tr_alloc(0));
    assert_null(tr_alloc(most));
    assert_null(tr_alloc_zero(most / 2, 3));
    assert_null(tr_alloc_zero(0, 10));
    void *block = tr_alloc(10);
    assert_null(tr_realloc(block, most));
    tr_free(block);
}

static void test_chunks_are_aligned_and_cleared(void **state)
{
    (void)state;
    uint64_t before = tr_memory_used();
    uint8_t *chunk = tr_chunk_new();
    assert_non_null(chunk);
    assert_int_equal((uintptr_t)chunk % TR_CHUNK_BYTES, 0);
    assert_int_equal(chunk[0] | chunk[TR_CHUNK_BYTES - 1], 0);
    memset(chunk, 1, TR_CHUNK_BYTES);
    assert_int_equal(tr_memory_used(), before + TR_CHUNK_BYTES);
    tr_chunk_free(chunk);
    tr_chunk_free(NULL);
    assert_int_equal(tr_memory_used(), before);
}

static bool refuse_large(void *self, size_t size)
{
    ++*(int *)self;
    return size < 1000;
}

static void test_a_hook_may_refuse(void **state)
{
    (void)state;
    int asked = 0;
    tr_memory_hook_set(refuse_large, &asked);
    void *small = tr_alloc(10);
    void *large = tr_alloc(1000);
    void *grown = tr_realloc(small, 2000);
    void *chunk = tr_chunk_new();
    tr_memory_hook_set(NULL, NULL);
    assert_non_null(small);
    assert_null(large);
    assert_null(grown);
    assert_null(chunk);
    assert_int_equal(asked, 4);
    tr_free(small); /* the old block is as it was */
}

/* Resident megabytes of this process. */
static uint64_t resident_mb(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %llu", &pages), 1);
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;
}

/* Those that a heap keeps, small ones between and above them. */
static void test_other_blocks_go_back_with_a_trim(void **state)
{
    (void)state;
    enum { BLOCKS = 32 };
    void *blocks[BLOCKS];
    void *small[BLOCKS];
    if (TEST_SLOWNESS > 1) {
        skip(); /* sanitizers have rules of their own */
    }
    tr_memory_begin();
    tr_memory_trim();
    uint64_t before = resident_mb();
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = tr_alloc(TR_MAPPED_BYTES / 2);
        small[i] = tr_alloc(100);
        assert_true(blocks[i] != NULL && small[i] != NULL);
        memset(blocks[i], i + 1, TR_MAPPED_BYTES / 2);
    }
    assert_true(resident_mb() >= before + BLOCKS - 1);
    for (int i = 0; i < BLOCKS; i++) {
        tr_free(blocks[i]);
    }
    tr_memory_trim();
    assert_true(resident_mb() <= before + 1);
    for (int i = 0; i < BLOCKS; i++) {
        tr_free(small[i]);
    }
}

/* Though others were large and short-lived before, and small ones lie between and above them. */
static void test_large_blocks_go_back_at_once(void **state)
{
    (void)state;
    enum { BLOCKS = 32 };
    void *large[BLOCKS];
    void *small[BLOCKS];
    if (TEST_SLOWNESS > 1) {
        skip(); /* sanitizers have rules of their own */
    }
    tr_memory_begin();
    tr_free(tr_alloc_zero(1, 16 << 20));
    uint64_t before = resident_mb();
    for (int i = 0; i < BLOCKS; i++) {
        large[i] = tr_alloc(2 * TR_MAPPED_BYTES);
        small[i] = tr_alloc(100);
        assert_true(large[i] != NULL && small[i] != NULL);
        memset(large[i], i + 1, 2 * TR_MAPPED_BYTES);
    }
    assert_true(resident_mb() >= before + BLOCKS - 1);
    for (int i = 0; i < BLOCKS; i++) {
        tr_free(large[i]);
    }
    assert_true(resident_mb() <= before + 1);
    for (int i = 0; i < BLOCKS; i++) {
        tr_free(small[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_in_use_is_counted),
        cmocka_unit_test(test_content_survives_growing),
        cmocka_unit_test(test_sizes_that_cannot_be_are_refused),
        cmocka_unit_test(test_chunks_are_aligned_and_cleared),
        cmocka_unit_test(test_a_hook_may_refuse),
        cmocka_unit_test(test_large_blocks_go_back_at_once),
        cmocka_unit_test(test_other_blocks_go_back_with_a_trim),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
