/*
 * By what a message in hand is known again after a crash.
 */
#include <signal.h>

#include "tests/support/test.h"

#include "runtime/actor/current_message.h"
#include "runtime/troupe.h"

/* A message with a body of a few bytes. */
struct letter {
    uint8_t bytes[TR_ENVELOPE_BYTES + 100];
};

static struct letter write_letter(struct tr_key from, uint64_t sequence, uint16_t type, char text,
                                  uint32_t size)
{
    struct letter letter;
    struct tr_envelope envelope = {
        .envelope_version = TR_ENVELOPE_VERSION,
        .kind = TR_KIND_SIGNAL,
        .type = type,
        .body_size = size,
        .to_group = 7,
        .to_serial = 12,
        .from_group = from.group,
        .from_serial = from.serial,
        .from_incarnation = 3,
        .sequence = sequence,
    };
    tr_envelope_pack(&envelope, letter.bytes);
    memset(letter.bytes + TR_ENVELOPE_BYTES, text, size);
    return letter;
}

static bool is_same(struct letter a, struct letter b)
{
    struct tri_message_name name_a = tri_message_name_of(a.bytes);
    struct tri_message_name name_b = tri_message_name_of(b.bytes);
    return tri_message_name_equal(&name_a, &name_b);
}

static const struct tr_key actor = {9, 4};
static const struct tr_key program = {TR_GROUP_HOST_BIT | 7, TR_SERVICE_CONTROL};
static const struct tr_key sender = {TR_GROUP_HOST_BIT | 7, TR_SERVICE_WORKERS + 2};
/* Of another start of the host; and of an older program's store. */
static const struct tr_key other_sender = {TR_GROUP_HOST_BIT | 9, TR_SERVICE_WORKERS + 1};
static const struct tr_key older_sender = {0, TR_SERVICE_WORKERS + 1};

static void test_message_of_an_actor_is_known_by_its_number(void **state)
{
    (void)state;
    assert_true(is_same(write_letter(actor, 5, 40, 'a', 3), write_letter(actor, 5, 40, 'a', 3)));
    assert_false(is_same(write_letter(actor, 5, 40, 'a', 3), write_letter(actor, 6, 40, 'a', 3)));
    assert_false(is_same(write_letter(actor, 5, 40, 'a', 3), write_letter(program, 5, 40, 'a', 3)));
    assert_false(
        is_same(write_letter(program, 5, 40, 'a', 3), write_letter(program, 6, 40, 'a', 3)));
}

static void test_what_a_worker_says_is_known_by_what_it_says(void **state)
{
    (void)state;
    assert_true(
        is_same(write_letter(sender, 5, 2, 'a', 3), write_letter(other_sender, 9, 2, 'a', 3)));
    assert_true(
        is_same(write_letter(sender, 5, 2, 'a', 3), write_letter(older_sender, 9, 2, 'a', 3)));
    assert_false(is_same(write_letter(sender, 5, 2, 'a', 3), write_letter(sender, 5, 2, 'b', 3)));
    assert_false(is_same(write_letter(sender, 5, 2, 'a', 3), write_letter(sender, 5, 1, 'a', 3)));
    assert_false(is_same(write_letter(sender, 5, 2, 'a', 3), write_letter(sender, 5, 2, 'a', 4)));
    assert_false(is_same(write_letter(sender, 5, 2, 'a', 3), write_letter(actor, 5, 2, 'a', 3)));
}

static void test_turns_tell_whether_a_handler_runs(void **state)
{
    (void)state;
    struct tri_current_message hand = {0};
    struct letter letter = write_letter(actor, 5, 40, 'a', 3);
    assert_false(tri_current_message_is_busy(&hand));
    tri_current_message_set(&hand, letter.bytes);
    assert_true(tri_current_message_is_busy(&hand));
    assert_int_equal(hand.actor_serial, 12);
    assert_int_equal(hand.type, 40);
    assert_int_equal(hand.digest, 0);
    tri_current_message_clear(&hand);
    assert_false(tri_current_message_is_busy(&hand));
    assert_int_equal(atomic_load(&hand.turn), 2);
    /* What each message writes is one line of the cache, and no worker shares one. */
    assert_int_equal(offsetof(struct tri_current_message, ended_by), 64);
    assert_int_equal(sizeof hand % 64, 0);
}

static void test_of_two_ends_the_first_counts(void **state)
{
    (void)state;
    struct tri_current_message hand = {0};
    tri_current_message_end(&hand, TRI_ENDED_STUCK);
    tri_current_message_end(&hand, SIGABRT);
    assert_int_equal(hand.ended_by, TRI_ENDED_STUCK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_of_an_actor_is_known_by_its_number),
        cmocka_unit_test(test_what_a_worker_says_is_known_by_what_it_says),
        cmocka_unit_test(test_turns_tell_whether_a_handler_runs),
        cmocka_unit_test(test_of_two_ends_the_first_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
