/*
 * Sessions: whatever becomes of frames, either the stream is whole or the link is said to be down,
 * and nothing of an earlier pair of sessions counts.
 */
#include "runtime/cluster/session.h"

#include "runtime/limits.h"
#include "tests/support/test.h"

#define MS 1000000ULL
#define SILENCE_NS (TR_INTERHOST_SILENCE_MS * MS)

static struct tri_session one;
static struct tri_session other;
static uint64_t now_ns;

static struct tr_interhost_frame speak(struct tri_session *session, bool has_messages)
{
    return tri_session_next_frame(session, session == &one ? 1 : 2, has_messages, now_ns);
}

static unsigned hear(struct tri_session *session, struct tr_interhost_frame frame,
                     bool has_messages)
{
    return tri_session_receive(session, &frame, has_messages, now_ns);
}

/* Both say what they must until nobody has to; the news of each. */
static void settle(unsigned *news_of_one, unsigned *news_of_other)
{
    *news_of_one = 0;
    *news_of_other = 0;
    while (one.must_send || other.must_send) {
        if (one.must_send) {
            *news_of_other |= hear(&other, speak(&one, false), false);
        }
        if (other.must_send) {
            *news_of_one |= hear(&one, speak(&other, false), false);
        }
    }
}

static void begin(void)
{
    unsigned news[2];
    now_ns = 1000 * MS;
    tri_session_init(&one, 1ULL << 32, now_ns);
    tri_session_init(&other, 5ULL << 32, now_ns);
    settle(&news[0], &news[1]);
    assert_int_equal(news[0], TRI_SESSION_UP);
    assert_int_equal(news[1], TRI_SESSION_UP);
}

static void comes_up_when_both_know_each_other(void **state)
{
    (void)state;
    now_ns = 1000 * MS;
    tri_session_init(&one, 1, now_ns);
    tri_session_init(&other, 1, now_ns);
    assert_int_equal(hear(&other, speak(&one, false), false), 0); /* heard, but not known */
    assert_false(other.is_up);
    assert_int_equal(hear(&one, speak(&other, false), false), TRI_SESSION_UP);
    assert_int_equal(hear(&other, speak(&one, false), false), TRI_SESSION_UP);
    assert_int_equal(hear(&one, speak(&other, false), false), 0);
    assert_false(one.must_send || other.must_send);
}

static void takes_each_frame_once_and_in_order(void **state)
{
    (void)state;
    begin();
    struct tr_interhost_frame first = speak(&one, true);
    struct tr_interhost_frame second = speak(&one, true);
    assert_int_equal(hear(&other, first, true), TRI_SESSION_TAKE);
    assert_int_equal(hear(&other, first, true), 0);
    assert_int_equal(hear(&other, second, true), TRI_SESSION_TAKE);
    assert_int_equal(hear(&other, first, true), 0);
    assert_int_equal(hear(&other, speak(&one, false), false), 0);
    assert_true(other.is_up);
}

static void is_down_after_a_gap(void **state)
{
    (void)state;
    unsigned news[2];
    begin();
    struct tr_interhost_frame lost = speak(&one, true);
    struct tr_interhost_frame next = speak(&one, true);
    assert_int_equal(hear(&other, next, true), TRI_SESSION_DOWN);
    assert_int_equal(hear(&other, lost, true), 0); /* too late: of a pair that is over */
    settle(&news[0], &news[1]);
    assert_int_equal(news[0], TRI_SESSION_DOWN | TRI_SESSION_UP);
    assert_int_equal(news[1], TRI_SESSION_UP);
    assert_int_equal(hear(&other, next, true), 0);
    assert_int_equal(hear(&other, speak(&one, true), true), TRI_SESSION_TAKE);
}

static void finds_a_gap_without_further_messages(void **state)
{
    (void)state;
    begin();
    (void)speak(&one, true);
    assert_false(tri_session_must_send(&one, now_ns));
    now_ns += TR_INTERHOST_PING_MS * MS;
    assert_true(tri_session_must_send(&one, now_ns));
    assert_int_equal(hear(&other, speak(&one, false), false), TRI_SESSION_DOWN);
}

static void is_down_when_the_other_side_begins_anew(void **state)
{
    (void)state;
    unsigned news[2];
    begin();
    struct tr_interhost_frame old = speak(&one, true);
    tri_session_init(&one, 2ULL << 32, now_ns); /* a restart */
    settle(&news[0], &news[1]);
    assert_int_equal(news[0], TRI_SESSION_UP);
    assert_int_equal(news[1], TRI_SESSION_DOWN | TRI_SESSION_UP);
    assert_int_equal(hear(&other, old, true), 0);
    assert_true(other.is_up);
}

static void is_not_fooled_by_what_an_earlier_life_has_sent(void **state)
{
    (void)state;
    unsigned news[2];
    begin();
    struct tr_interhost_frame old = speak(&one, true);
    struct tr_interhost_frame old_hello = speak(&one, false);
    tri_session_init(&other, 6ULL << 32, now_ns); /* it knows nothing of before */
    assert_int_equal(hear(&other, old, true), 0);
    assert_int_equal(hear(&other, old_hello, false), 0);
    tri_session_init(&one, 2ULL << 32, now_ns);
    settle(&news[0], &news[1]);
    assert_true(one.is_up && other.is_up);
    assert_int_equal(hear(&other, old, true), 0);
}

static void is_down_after_silence_and_says_so_again(void **state)
{
    (void)state;
    begin();
    now_ns += SILENCE_NS;
    assert_int_equal(tri_session_tick(&one, now_ns), 0);
    now_ns += 1;
    assert_int_equal(tri_session_tick(&one, now_ns), TRI_SESSION_DOWN);
    assert_int_equal(tri_session_tick(&one, now_ns), 0);
    now_ns += SILENCE_NS + 1;
    assert_int_equal(tri_session_tick(&one, now_ns), TRI_SESSION_DOWN);
}

static void never_sleeps_past_what_is_due(void **state)
{
    (void)state;
    begin();
    assert_int_equal(tri_session_idle_ns(&one, now_ns), TR_INTERHOST_PING_MS * MS);
    tri_session_break(&one, now_ns);
    assert_int_equal(tri_session_idle_ns(&one, now_ns), 0);
    (void)speak(&one, false);
    assert_int_equal(tri_session_idle_ns(&one, now_ns), TR_INTERHOST_HELLO_MS * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_up_when_both_know_each_other),
        cmocka_unit_test(takes_each_frame_once_and_in_order),
        cmocka_unit_test(is_down_after_a_gap),
        cmocka_unit_test(finds_a_gap_without_further_messages),
        cmocka_unit_test(is_down_when_the_other_side_begins_anew),
        cmocka_unit_test(is_not_fooled_by_what_an_earlier_life_has_sent),
        cmocka_unit_test(is_down_after_silence_and_says_so_again),
        cmocka_unit_test(never_sleeps_past_what_is_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
