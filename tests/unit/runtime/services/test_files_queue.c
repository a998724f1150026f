/*
 * Whose turn it is at the files service: groups in turn, and of each its calls in their order.
 */
#include "runtime/services/files_queue.h"

#include <stdio.h>
#include <string.h>

#include "runtime/memory.h"
#include "tests/support/test.h"

static struct tri_files_queue queue;

static void add(uint64_t group, const char *name)
{
    struct tr_bytes bytes = {.data = (const uint8_t *)name, .size = strlen(name) + 1};
    assert_int_equal(tri_files_queue_add(&queue, group, bytes, NULL), 0);
}

/* Serves whose turn it is, and says what that was. */
static void serve(char *served, size_t size)
{
    struct tri_files_lane *lane = tri_files_queue_next(&queue);
    assert_non_null(lane);
    struct tri_files_work *work = tri_files_queue_take(&queue, lane);
    size_t used = strlen(served);
    snprintf(served + used, size - used, "%s ", (const char *)work->envelope);
    tr_free(work);
    tri_files_queue_return(&queue, lane);
}

static void groups_take_turns(void **state)
{
    (void)state;
    char served[64] = "";
    uint64_t used = tr_memory_used();
    add(1, "a1");
    add(1, "a2");
    add(1, "a3");
    add(257, "b1");
    add(3, "c1");
    add(257, "b2");
    for (int i = 0; i < 6; i++) {
        serve(served, sizeof served);
    }
    assert_string_equal(served, "a1 b1 c1 a2 b2 a3 ");
    assert_null(tri_files_queue_next(&queue));
    assert_int_equal(queue.bytes, 0);
    assert_int_equal(tr_memory_used(), used);
}

static void who_is_parked_comes_before_his_group_goes_on(void **state)
{
    (void)state;
    int hand;
    add(1, "a1");
    add(2, "b1");
    struct tri_files_lane *lane = tri_files_queue_next(&queue);
    tr_free(tri_files_queue_take(&queue, lane));
    add(1, "a2"); /* comes while its lane is served: it stands in queue once */
    lane->parked = &hand;
    tri_files_queue_return(&queue, lane);
    struct tri_files_lane *other = tri_files_queue_next(&queue);
    assert_int_equal(other->group, 2);
    tri_files_queue_drop(&queue, other);
    assert_ptr_equal(tri_files_queue_next(&queue), lane);
    assert_ptr_equal(lane->parked, &hand);
    assert_null(tri_files_queue_next(&queue));
    tri_files_queue_drop(&queue, lane);
}

static void what_is_left_is_freed(void **state)
{
    (void)state;
    uint64_t used = tr_memory_used();
    add(1, "a1");
    add(1, "a2");
    add(2, "b1");
    tri_files_queue_fini(&queue);
    assert_int_equal(tr_memory_used(), used);
    assert_int_equal(queue.bytes, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_take_turns),
        cmocka_unit_test(who_is_parked_comes_before_his_group_goes_on),
        cmocka_unit_test(what_is_left_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
