/*
 * A worker's side of a tap, without threads: when it looks, and when it stops to.
 */
#include "tests/support/test.h"

#include <string.h>

#include "runtime/watch/port.h"
#include "runtime/worker/worker.h"
#include "tests/support/scripted.h"

static struct tr_env *env;
static struct tri_shared shared;
static struct tri_worker worker;
static struct tri_tap_lane lane;
static const struct tri_actor somebody = {.key = {16, 16}};

static int begin(void **state)
{
    (void)state;
    assert_int_equal(tri_env_real_new(&env), 0);
    shared =
        (struct tri_shared){.env = env, .worker_count = 1, .host = {{tri_host_group(0, 1), 0}, 1}};
    assert_int_equal(tri_worker_init(&worker, &shared, 0), 0);
    lane = (struct tri_tap_lane){0};
    assert_int_equal(tri_ring_init(&lane.ring, 65536), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tri_ring_fini(&lane.ring);
    tri_worker_fini(&worker);
    tri_env_real_free(env);
    return 0;
}

/* Gives the worker a message of the program as if it had come. */
static void ask(const struct tr_schema *schema, const void *body,
                void (*act)(struct tri_worker *worker, const struct tr_message *message))
{
    uint8_t bytes[1024];
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    assert_int_equal(schema->pack(body, &writer), 0);
    struct tr_message message = {
        .type = schema->id,
        .version = schema->version,
        .body = {bytes, tr_writer_size(&writer)},
    };
    act(&worker, &message);
}

static void open_tap(uint32_t number, const char *line)
{
    struct tr_tap_filter filter = scripted_filter(line);
    uint8_t types[TRI_TAP_TYPES_BYTES];
    struct tr_tap_open open = tri_tap_filter_pack(&filter, types);
    open.tap = number;
    ask(&tr_tap_open_schema, &open, tri_tap_on_open);
}

static void close_tap(uint32_t number)
{
    struct tr_tap_close close = {.tap = number};
    ask(&tr_tap_close_schema, &close, tri_tap_on_close);
}

static void drop_something(void)
{
    if (tri_is_tapped(&worker, TR_TAP_DROPPED)) {
        tri_tap_actor(&worker, TR_TAP_DROPPED, NULL, TR_NO_ACTOR);
    }
}

static uint32_t records(void)
{
    uint32_t count = 0;
    uint32_t size;
    while (tri_ring_peek(&lane.ring, &size) != NULL) {
        tri_ring_release(&lane.ring);
        count++;
    }
    return count;
}

static void test_nothing_is_looked_at_when_nobody_looks(void **state)
{
    (void)state;
    assert_int_equal(worker.tap_mask, 0);
    tri_tap_port_attach(&worker, 2, &lane);
    open_tap(2, "limit=10 point=dropped,died");
    assert_int_equal(worker.tap_mask, 1U << TR_TAP_DROPPED | 1U << TR_TAP_DIED);
    drop_something();
    assert_int_equal(records(), 1);
    close_tap(2);
    assert_int_equal(worker.tap_mask, 0);
    drop_something();
    assert_int_equal(records(), 0);
}

static void test_filter_without_points_wants_all(void **state)
{
    (void)state;
    tri_tap_port_attach(&worker, 0, &lane);
    open_tap(0, "limit=10");
    assert_int_equal(worker.tap_mask, TR_TAP_POINTS_ALL);
    close_tap(0);
}

static void test_tap_without_a_lane_is_not_opened(void **state)
{
    (void)state;
    open_tap(1, "limit=10");
    assert_int_equal(worker.tap_mask, 0);
    open_tap(TR_TAPS_MAX, "limit=10");
    assert_int_equal(worker.tap_mask, 0);
}

static void test_worker_ends_a_tap_at_its_limit(void **state)
{
    (void)state;
    tri_tap_port_attach(&worker, 0, &lane);
    open_tap(0, "limit=3 point=dropped");
    for (int i = 0; i < 10; i++) {
        drop_something();
    }
    assert_int_equal(worker.tap_mask, 0);
    assert_true(atomic_load(&lane.is_over));
    assert_int_equal(records(), 3);
}

static void test_worker_ends_a_tap_at_its_time(void **state)
{
    (void)state;
    tri_tap_port_attach(&worker, 0, &lane);
    open_tap(0, "limit=3 point=dropped seconds=5");
    worker.now_ms += 4999;
    drop_something();
    assert_false(atomic_load(&lane.is_over));
    worker.now_ms += 1;
    drop_something();
    assert_true(atomic_load(&lane.is_over));
    assert_int_equal(worker.tap_mask, 0);
    assert_int_equal(records(), 1);
}

static void test_what_is_lost_and_skipped_is_counted(void **state)
{
    (void)state;
    tri_tap_port_attach(&worker, 0, &lane);
    open_tap(0, "limit=1000000 point=dropped");
    for (int i = 0; i < 2000; i++) {
        drop_something();
    }
    uint64_t lost = atomic_load(&lane.lost);
    assert_true(lost > 0 && lost < 2000);
    assert_int_equal(records() + lost, 2000);
    close_tap(0);
    tri_tap_port_attach(&worker, 0, &lane);
    worker.now_ms = 1000;
    open_tap(0, "limit=1000000 point=dropped rate=7");
    for (int i = 0; i < 20; i++) {
        worker.now_ms = 1000 + (i < 10 ? 0 : 1000);
        drop_something();
    }
    assert_int_equal(records(), 14);
    assert_int_equal(atomic_load(&lane.skipped), 6);
}

static void test_clock_of_events_never_goes_back(void **state)
{
    (void)state;
    tri_tap_port_attach(&worker, 0, &lane);
    open_tap(0, "limit=1000000 point=dropped");
    worker.clock = worker.now_ms << 16 | 500;
    tri_tap_handler_begins(&worker, &somebody);
    drop_something();
    worker.clock = worker.now_ms << 16 | 100;
    tri_tap_handler_begins(&worker, &somebody);
    drop_something();
    uint32_t size;
    const struct tri_tap_record *first = tri_ring_peek(&lane.ring, &size);
    uint64_t clock = first->clock;
    assert_int_equal(clock, worker.now_ms << 16 | 500);
    tri_ring_release(&lane.ring);
    const struct tri_tap_record *second = tri_ring_peek(&lane.ring, &size);
    assert_int_equal(second->clock, clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_is_looked_at_when_nobody_looks, begin, end),
        cmocka_unit_test_setup_teardown(test_filter_without_points_wants_all, begin, end),
        cmocka_unit_test_setup_teardown(test_tap_without_a_lane_is_not_opened, begin, end),
        cmocka_unit_test_setup_teardown(test_worker_ends_a_tap_at_its_limit, begin, end),
        cmocka_unit_test_setup_teardown(test_worker_ends_a_tap_at_its_time, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_lost_and_skipped_is_counted, begin, end),
        cmocka_unit_test_setup_teardown(test_clock_of_events_never_goes_back, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
