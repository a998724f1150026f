/*
 * Taps on a running host: each point shows what happens at it, filters bound what is shown, streams
 * are merged in the order of causes, and a reader who sleeps holds nobody back.
 */
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#include "runtime/memory.h"
#include "tests/support/scripted.h"

#define PATIENCE_MS 10000

/* The next event of a point; what comes before it is passed over. */
static struct tr_tap_event next_of(struct tr_tap *tap, uint8_t point)
{
    struct tr_tap_event event;
    do {
        assert_int_equal(tr_tap_next(tap, PATIENCE_MS, &event), 0);
    } while (event.point != point);
    return event;
}

static bool address_is(const struct tr_tap_event *event, const char *address)
{
    return tr_text_equal(event->address, tr_text_of(address));
}

static uint16_t type_of(const struct tr_tap_event *event)
{
    return tr_envelope_get(event->message.data, 16, type);
}

/* ------------------------------------------------------------------ each point */

static void test_send_receive_and_handled_are_seen(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    struct tr_tap *tap = scripted_tap(host, "limit=100 type=scripted_tick payload=100");
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = 1, .peer = bob});
    struct tr_tap_event event;
    assert_int_equal(tr_tap_next(tap, PATIENCE_MS, &event), 0);
    assert_int_equal(event.point, TR_TAP_SEND);
    assert_true(address_is(&event, "/ann"));
    assert_true(tr_key_equal(event.actor.key, ann.key));
    assert_int_equal(tr_tap_next(tap, PATIENCE_MS, &event), 0);
    assert_int_equal(event.point, TR_TAP_RECEIVE);
    assert_true(address_is(&event, "/bob"));
    assert_int_equal(tr_tap_next(tap, PATIENCE_MS, &event), 0);
    assert_int_equal(event.point, TR_TAP_HANDLED);
    assert_true(address_is(&event, "/bob"));
    assert_int_equal(event.reason, 0);
    assert_true(event.duration_ns > 0 && event.duration_ns < 1000000000);
    assert_true(event.now_ms > 1000000000000);
    assert_int_equal(type_of(&event), tr_scripted_tick_schema.id);
    assert_int_equal(tr_tap_next(tap, 0, &event), TR_TIMEOUT);
    tr_tap_close(tap);
    tr_host_free(host);
}

static void test_spawn_timer_and_death_are_seen(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_tap *tap = scripted_tap(host, "limit=100 point=spawn,timer,died");
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_tap_event event = next_of(tap, TR_TAP_SPAWN);
    assert_true(address_is(&event, "/ann"));
    assert_int_equal(event.message.size, 0);
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_SPAWN, .count = 2});
    event = next_of(tap, TR_TAP_SPAWN);
    assert_true(address_is(&event, "/ann[0]"));
    assert_true(event.trace != 0);
    event = next_of(tap, TR_TAP_SPAWN);
    assert_true(address_is(&event, "/ann[1]"));
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_TIMER, .count = 1});
    event = next_of(tap, TR_TAP_TIMER);
    assert_true(address_is(&event, "/ann"));
    assert_int_equal(event.reason, 0);
    struct tr_ref bob = scripted_spawn(host, "bob");
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_ASK, .count = 1, .peer = bob});
    event = next_of(tap, TR_TAP_TIMER);
    assert_int_equal(event.reason, TR_TIMEOUT);
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_STOP});
    event = next_of(tap, TR_TAP_DIED);
    assert_true(strncmp(event.address.data, "/ann[", 5) == 0);
    assert_int_equal(event.reason, TR_KILLED);
    (void)next_of(tap, TR_TAP_DIED);
    event = next_of(tap, TR_TAP_DIED);
    assert_true(address_is(&event, "/ann"));
    assert_int_equal(event.reason, 0);
    tr_tap_close(tap);
    tr_host_free(host);
}

static void test_failures_and_dead_letters_are_seen(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_tap *tap = scripted_tap(host, "limit=100 point=failed,dropped");
    struct tr_ref ann = scripted_spawn(host, "ann");
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_FAIL});
    for (int i = 0; i < 2; i++) {
        struct tr_tap_event event = next_of(tap, TR_TAP_FAILED);
        assert_true(address_is(&event, "/ann"));
        assert_int_equal(event.reason, TR_FAILED);
        assert_true(event.duration_ns > 0);
        assert_int_equal(type_of(&event), tr_scripted_do_schema.id);
    }
    struct tr_tap_event event = next_of(tap, TR_TAP_FAILED);
    assert_int_equal(event.reason, TR_QUARANTINED);
    assert_int_equal(tr_host_resume(host, ann, true), 0);
    event = next_of(tap, TR_TAP_DROPPED);
    assert_int_equal(event.reason, TR_POISON);
    assert_true(address_is(&event, "/ann"));
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_STOP});
    scripted_await(host, "actors_ended", 1);
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_STOP});
    event = next_of(tap, TR_TAP_DROPPED);
    assert_int_equal(event.reason, TR_NO_ACTOR);
    assert_int_equal(event.address.size, 0);
    assert_int_equal(event.actor.key.serial, 0);
    tr_tap_close(tap);
    tr_host_free(host);
}

static void test_move_is_seen_on_both_workers(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(2, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_tap *tap = scripted_tap(host, "limit=100 point=moved");
    uint32_t to_worker = (ann.key.serial & (TR_WORKERS_MAX - 1)) == 0 ? 1 : 0;
    assert_int_equal(tr_host_move(host, ann, to_worker), 0);
    struct tr_tap_event left = next_of(tap, TR_TAP_MOVED);
    assert_int_equal(left.worker, 1 - to_worker);
    assert_int_equal(left.to_worker, to_worker);
    assert_true(address_is(&left, "/ann"));
    struct tr_tap_event came = next_of(tap, TR_TAP_MOVED);
    assert_int_equal(came.worker, to_worker);
    assert_int_equal(came.to_worker, to_worker);
    tr_tap_close(tap);
    tr_host_free(host);
}

/* A filter by address means the whole one, on whatever workers its line lives. */
static void test_who_moved_from_its_parent_is_seen_by_its_address(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(2, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_SPAWN, .count = 2});
    scripted_await(host, "actors_spawned", 3);
    struct tr_ref child = {0};
    assert_int_equal(tr_host_find(host, tr_text_of("/ann[1]"), &child), 0);
    for (uint32_t worker = 0; worker < 2; worker++) {
        assert_int_equal(tr_host_move(host, ann, worker), 0);
        struct tr_tap *tap = scripted_tap(host, "limit=10 point=handled address=/ann[1]");
        struct tr_tap *above = scripted_tap(host, "limit=10 point=handled address=/ann*");
        scripted_do(host, child, (struct tr_scripted_do){.verb = SCRIPTED_TIMER, .count = 60000});
        struct tr_tap_event event = next_of(tap, TR_TAP_HANDLED);
        assert_true(address_is(&event, "/ann[1]"));
        event = next_of(above, TR_TAP_HANDLED);
        assert_true(address_is(&event, "/ann[1]"));
        tr_tap_close(above);
        tr_tap_close(tap);
    }
    tr_host_free(host);
}

static void test_muted_sender_is_seen(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    struct tr_tap *tap = scripted_tap(host, "limit=100 point=muted");
    uint64_t count = TR_MAILBOX_SOFT_MAX + 10;
    scripted_do(host, ann,
                (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = count, .peer = bob});
    struct tr_tap_event event = next_of(tap, TR_TAP_MUTED);
    assert_true(address_is(&event, "/bob"));
    assert_int_equal(tr_envelope_get(event.message.data, 64, from_serial), ann.key.serial);
    tr_tap_close(tap);
    tr_host_free(host);
}

/* --------------------------------------------------------------------- filters */

/* Counts what a tap shows until it has nothing more to say. */
static uint64_t drain(struct tr_tap *tap, uint64_t *lost, uint64_t *skipped)
{
    struct tr_tap_event event;
    uint64_t shown = 0;
    *lost = 0;
    *skipped = 0;
    while (tr_tap_next(tap, 0, &event) == 0) {
        if (event.point == TR_TAP_LOST) {
            *lost += event.lost;
            *skipped += event.skipped;
        } else {
            shown++;
        }
    }
    return shown;
}

/* Tells `count` ticks from ann to bob and waits until they are handled. */
static void exchange(struct tr_host *host, struct tr_ref ann, struct tr_ref bob, uint64_t count)
{
    uint64_t before = scripted_metric(host, "messages_handled");
    scripted_do(host, ann,
                (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = count, .peer = bob});
    scripted_await(host, "messages_handled", before + 1 + count);
}

static void test_filters_show_what_they_say(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    char by_key[64];
    snprintf(by_key, sizeof by_key, "limit=1000 point=handled key=%llu/%llu",
             (unsigned long long)bob.key.group, (unsigned long long)bob.key.serial);
    static const uint64_t all = 100;
    const struct {
        const char *line;
        uint64_t expected;
    } cases[] = {
        {"limit=1000 point=handled", all + 1},
        {"limit=1000 point=handled type=scripted_tick", all},
        {"limit=1000 point=handled type=scripted_do", 1},
        {"limit=1000 point=handled address=/bob", all},
        {"limit=1000 point=handled address=/a*", 1},
        {"limit=1000 point=handled address=/carl/**", 0},
        {"limit=1000 point=handled,receive address=/b**", 2 * all},
        {"limit=1000 point=handled type=scripted_tick sample=10", all / 10},
        {"limit=1000 point=handled type=scripted_tick sample=3", (all + 2) / 3},
        {"limit=7 point=handled", 7},
        {by_key, all},
        {"limit=1000 point=timer", 0},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_tap *tap = scripted_tap(host, cases[i].line);
        uint64_t lost;
        uint64_t skipped;
        exchange(host, ann, bob, all);
        assert_int_equal(drain(tap, &lost, &skipped), cases[i].expected);
        assert_int_equal(lost + skipped, 0);
        tr_tap_close(tap);
    }
    tr_host_free(host);
}

static void test_trace_follows_the_messages_that_one_led_to(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(2, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    struct tr_tap *first = scripted_tap(host, "limit=1 point=handled type=scripted_do");
    exchange(host, ann, bob, 3);
    struct tr_tap_event event;
    assert_int_equal(tr_tap_next(first, PATIENCE_MS, &event), 0);
    uint64_t trace = event.trace;
    assert_true(trace != 0);
    tr_tap_close(first);
    /* The next thing that the program says has the next number, and so has what it leads to. */
    char line[64];
    snprintf(line, sizeof line, "limit=1000 point=handled type=scripted_tick");
    struct tr_tap_filter filter = scripted_filter(line);
    filter.trace = UINT64_MAX;
    struct tr_tap *none;
    assert_int_equal(tr_tap_open(host, &filter, &none), 0);
    struct tr_tap *all = scripted_tap(host, line);
    exchange(host, ann, bob, 3);
    uint64_t lost;
    uint64_t skipped;
    assert_int_equal(drain(none, &lost, &skipped), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tr_tap_next(all, PATIENCE_MS, &event), 0);
        assert_true(event.trace > trace);
    }
    tr_tap_close(none);
    tr_tap_close(all);
    tr_host_free(host);
}

static void test_filter_without_limit_is_not_opened(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_tap_filter filter = {.points = 1 << TR_TAP_SEND};
    struct tr_tap *tap = NULL;
    assert_int_equal(tr_tap_open(host, &filter, &tap), TR_INVALID);
    assert_null(tap);
    tr_host_free(host);
}

static void test_limit_ends_the_tap(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    struct tr_tap *tap = scripted_tap(host, "limit=5 point=handled");
    exchange(host, ann, bob, 20);
    struct tr_tap_event event;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(tr_tap_next(tap, PATIENCE_MS, &event), 0);
    }
    assert_int_equal(tr_tap_next(tap, PATIENCE_MS, &event), TR_CLOSED);
    tr_tap_close(tap);
    tr_host_free(host);
}

/* What is above the rate is counted. The exchange may fall into two seconds. */
static void test_rate_bounds_each_second_and_time_ends_the_tap(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    struct tr_tap *tap =
        scripted_tap(host, "limit=10000 point=handled type=scripted_tick rate=10 seconds=1");
    exchange(host, ann, bob, 1000);
    uint64_t shown = 0;
    uint64_t skipped = 0;
    struct tr_tap_event event;
    int error;
    while ((error = tr_tap_next(tap, PATIENCE_MS, &event)) == 0) {
        shown += event.point != TR_TAP_LOST;
        skipped += event.skipped;
        assert_int_equal(event.lost, 0);
    }
    assert_int_equal(error, TR_CLOSED);
    assert_true(shown == 10 || shown == 20);
    assert_int_equal(shown + skipped, 1000);
    tr_tap_close(tap);
    tr_host_free(host);
}

/* --------------------------------------------------------------------- streams */

static void test_sleeping_reader_holds_nobody_back(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    static const uint64_t rounds = 10;
    static const uint64_t each = 2000;
    struct tr_tap *tap =
        scripted_tap(host, "limit=1000000 point=handled type=scripted_tick payload=64");
    for (uint64_t i = 0; i < rounds; i++) {
        exchange(host, ann, bob, each); /* it comes back although nobody reads */
    }
    uint64_t lost;
    uint64_t skipped;
    uint64_t shown = drain(tap, &lost, &skipped);
    assert_true(shown > 1000);
    assert_true(lost > 1000);
    assert_int_equal(shown + lost, rounds * each);
    /* And once there is room again, everything is shown again. */
    exchange(host, ann, bob, 10);
    assert_int_equal(drain(tap, &lost, &skipped), 10);
    assert_int_equal(lost, 0);
    tr_tap_close(tap);
    tr_host_free(host);
}

static void test_several_taps_see_their_own(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(2, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    struct tr_tap *taps[TR_TAPS_MAX];
    struct tr_tap_filter filter = scripted_filter("limit=1000 point=handled type=scripted_tick");
    for (uint32_t i = 0; i < TR_TAPS_MAX; i++) {
        filter.sample = i + 1;
        assert_int_equal(tr_tap_open(host, &filter, &taps[i]), 0);
    }
    struct tr_tap *one_more;
    assert_int_equal(tr_tap_open(host, &filter, &one_more), TR_LIMIT);
    exchange(host, ann, bob, 48);
    for (uint32_t i = 0; i < TR_TAPS_MAX; i++) {
        uint64_t lost;
        uint64_t skipped;
        assert_int_equal(drain(taps[i], &lost, &skipped), (48 + i) / (i + 1));
    }
    tr_tap_close(taps[3]);
    assert_int_equal(tr_tap_open(host, &filter, &taps[3]), 0);
    for (uint32_t i = 1; i < TR_TAPS_MAX; i++) {
        tr_tap_close(taps[i]);
    }
    uint64_t used = tr_memory_used();
    tr_host_free(host); /* ends the first one, too */
    assert_true(tr_memory_used() < used);
}

/* No message is seen to arrive before it is seen to be sent, whichever worker shows what. */
static void test_streams_are_merged_in_the_order_of_causes(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(2, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    static const uint64_t count = 500;
    struct tr_tap *tap =
        scripted_tap(host, "limit=100000 point=send,receive,handled type=scripted_tick");
    scripted_do(host, ann,
                (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = count, .peer = bob});
    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t handled = 0;
    uint64_t clock = 0;
    while (handled < count) {
        struct tr_tap_event event;
        assert_int_equal(tr_tap_next(tap, PATIENCE_MS, &event), 0);
        sent += event.point == TR_TAP_SEND;
        received += event.point == TR_TAP_RECEIVE;
        handled += event.point == TR_TAP_HANDLED;
        assert_true(sent >= received && received >= handled);
        assert_true(event.point != TR_TAP_SEND || event.clock >= clock);
        clock = event.clock;
    }
    tr_tap_close(tap);
    tr_host_free(host);
}

static void test_what_a_crash_may_forget_is_marked(void **state)
{
    (void)state;
    char folder[SCRIPTED_PATH_BYTES];
    scripted_folder(folder);
    struct tr_host *host = scripted_open(1, folder, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_tap *tap = scripted_tap(host, "limit=100 point=handled");
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_TIMER, .count = 60000});
    struct tr_tap_event event;
    assert_int_equal(tr_tap_next(tap, PATIENCE_MS, &event), 0);
    assert_true(event.number > 0);
    struct tr_tap_event kept = event;
    for (int i = 0; i < 10000 && !tr_tap_is_committed(tap, &kept); i++) {
        assert_int_equal(tr_tap_next(tap, 1, &event), TR_TIMEOUT);
    }
    assert_true(tr_tap_is_committed(tap, &kept));
    tr_tap_close(tap);
    tr_host_free(host);
    scripted_folder_remove(folder);
}

static void test_nothing_is_committed_without_a_store(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_tap *tap = scripted_tap(host, "limit=100 point=handled");
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_TIMER, .count = 60000});
    struct tr_tap_event event;
    assert_int_equal(tr_tap_next(tap, PATIENCE_MS, &event), 0);
    assert_false(event.is_committed);
    tr_tap_close(tap);
    tr_host_free(host);
}

static void test_stopped_host_ends_its_taps(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    struct tr_tap *tap = scripted_tap(host, "limit=100 point=handled type=scripted_tick");
    exchange(host, ann, bob, 3);
    tr_host_stop(host);
    uint64_t lost;
    uint64_t skipped;
    assert_int_equal(drain(tap, &lost, &skipped), 3);
    struct tr_tap_event event;
    assert_int_equal(tr_tap_next(tap, PATIENCE_MS, &event), TR_CLOSED);
    struct tr_tap_filter filter = scripted_filter("limit=1");
    struct tr_tap *late;
    assert_int_equal(tr_tap_open(host, &filter, &late), TR_CLOSED);
    tr_tap_close(tap);
    tr_tap_close(NULL);
    tr_host_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_send_receive_and_handled_are_seen),
        cmocka_unit_test(test_spawn_timer_and_death_are_seen),
        cmocka_unit_test(test_failures_and_dead_letters_are_seen),
        cmocka_unit_test(test_move_is_seen_on_both_workers),
        cmocka_unit_test(test_who_moved_from_its_parent_is_seen_by_its_address),
        cmocka_unit_test(test_muted_sender_is_seen),
        cmocka_unit_test(test_filters_show_what_they_say),
        cmocka_unit_test(test_trace_follows_the_messages_that_one_led_to),
        cmocka_unit_test(test_filter_without_limit_is_not_opened),
        cmocka_unit_test(test_limit_ends_the_tap),
        cmocka_unit_test(test_rate_bounds_each_second_and_time_ends_the_tap),
        cmocka_unit_test(test_sleeping_reader_holds_nobody_back),
        cmocka_unit_test(test_several_taps_see_their_own),
        cmocka_unit_test(test_streams_are_merged_in_the_order_of_causes),
        cmocka_unit_test(test_what_a_crash_may_forget_is_marked),
        cmocka_unit_test(test_nothing_is_committed_without_a_store),
        cmocka_unit_test(test_stopped_host_ends_its_taps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
