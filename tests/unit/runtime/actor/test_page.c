/*
 * Pages: bytes by number, of which only the changed ones are told to the journal.
 */
#include <string.h>

#include "runtime/actor/parts.h"
#include "tests/support/test.h"

static uint32_t seen[8];
static size_t seen_count;

static void see(void *self, uint32_t page, struct tr_bytes bytes)
{
    (void)self, (void)bytes;
    assert_true(seen_count < TR_COUNT_OF(seen));
    seen[seen_count++] = page;
}

static void set(struct tri_actor *actor, uint32_t page, const char *text)
{
    char *bytes = text == NULL ? NULL : tr_text_copy(tr_text_of(text));
    assert_int_equal(tri_page_reserve(actor, page), 0);
    tri_page_set(actor, page, bytes, text == NULL ? 0 : strlen(text));
}

static void assert_page(const struct tri_actor *actor, uint32_t page, const char *text)
{
    struct tr_bytes bytes = tri_page_bytes(actor, page);
    assert_int_equal(bytes.size, strlen(text));
    assert_memory_equal(bytes.data, text, bytes.size);
}

static void test_only_what_changed_is_told(void **state)
{
    (void)state;
    uint64_t before = tr_memory_used();
    struct tri_actor actor = {0};
    assert_null(tri_page_bytes(&actor, 0).data);
    set(&actor, 1, "one");
    set(&actor, 9, "nine");
    set(&actor, 1, "other");
    assert_page(&actor, 1, "other");
    assert_page(&actor, 9, "nine");
    assert_null(tri_page_bytes(&actor, 4).data);

    seen_count = 0;
    tri_page_each_dirty(&actor, NULL, see);
    assert_int_equal(seen_count, 2);
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[1], 9);
    seen_count = 0;
    tri_page_each_dirty(&actor, NULL, see);
    assert_int_equal(seen_count, 0);

    set(&actor, 9, NULL); /* taken away is a change, too */
    assert_null(tri_page_bytes(&actor, 9).data);
    tri_page_each_dirty(&actor, NULL, see);
    assert_int_equal(seen_count, 1);
    seen_count = 0;
    tri_page_each(&actor, NULL, see);
    assert_int_equal(seen_count, 1);
    assert_int_equal(seen[0], 1);
    tri_pages_free(&actor);
    assert_int_equal(tr_memory_used(), before);
}

static void test_clean_pages_are_told_no_more(void **state)
{
    (void)state;
    struct tri_actor actor = {0};
    set(&actor, 0, "zero");
    tri_page_mark_clean(&actor);
    seen_count = 0;
    tri_page_each_dirty(&actor, NULL, see);
    assert_int_equal(seen_count, 0);
    tri_pages_free(&actor);
}

static void test_numbers_have_a_limit(void **state)
{
    (void)state;
    struct tri_actor actor = {0};
    assert_int_equal(tri_page_reserve(&actor, TR_PAGES_MAX), TR_LIMIT);
    assert_int_equal(tri_page_reserve(&actor, TR_PAGES_MAX - 1), 0);
    tri_pages_free(&actor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_changed_is_told),
        cmocka_unit_test(test_clean_pages_are_told_no_more),
        cmocka_unit_test(test_numbers_have_a_limit),
    };
    return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
