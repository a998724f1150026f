/*
 * Who is counted for a crash: the part that a handler had named, not its actor; of several workers
 * the one that is known to have ended the process; and all that were at work where nothing is.
 */
#include "runtime/host/attribution.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/host/poison_message.h"
#include "tests/support/scripted.h"
#include "tests/support/test.h"

static const struct tr_key actor = {7, 12};
static char folder[SCRIPTED_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    scripted_folder(folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scripted_folder_remove(folder);
    return 0;
}

static struct tri_poison_messages *open_poison(void)
{
    struct tri_poison_messages *poison = NULL;
    assert_int_equal(tri_poison_message_open(folder, &poison), 0);
    return poison;
}

/* A worker handles a message of the actor, and calls a part if there is one. */
static struct tri_current_message *hold(struct tri_poison_messages *poison, uint32_t worker,
                                        const char *part)
{
    uint8_t bytes[TR_ENVELOPE_BYTES];
    struct tr_envelope envelope = {
        .kind = TR_KIND_TELL,
        .type = 700,
        .to_group = actor.group,
        .to_serial = actor.serial + worker,
        .from_group = 9,
        .from_serial = 9,
        .from_incarnation = 1,
        .sequence = 5,
    };
    struct tri_current_message *hand = tri_poison_message_slot(poison, worker);
    tr_envelope_pack(&envelope, bytes);
    tri_current_message_set(hand, bytes);
    if (part != NULL) {
        tri_current_message_attribute(hand, part, "handle");
    }
    return hand;
}

static void test_the_part_is_counted_and_the_actor_is_not(void **state)
{
    struct tr_crash_attribution crashes[TR_CRASH_ATTRIBUTIONS_MAX];
    (void)state;
    for (uint32_t i = 1; i <= 3; i++) {
        struct tri_poison_messages *poison = open_poison();
        hold(poison, 0, "mine 1")->ended_by = i == 3 ? TRI_ENDED_STUCK : SIGSEGV;
        struct tri_poison_messages *next = open_poison();
        assert_int_equal(tri_poison_message_count(next, actor), 0);
        assert_int_equal(tr_crash_attributions_read(folder, crashes), 1);
        assert_int_equal(crashes[0].count, i);
        tri_poison_message_close(next);
        tri_poison_message_close(poison);
    }
    assert_string_equal(crashes[0].part, "mine 1");
    assert_string_equal(crashes[0].function, "handle");
    assert_int_equal(crashes[0].ended_by, TR_CRASH_STUCK);
}

/* The others were only there; but where nothing is known, as after kill -9, all are counted. */
static void test_who_was_only_there_is_not_counted(void **state)
{
    struct tr_crash_attribution crashes[TR_CRASH_ATTRIBUTIONS_MAX];
    const struct tr_key beside = {actor.group, actor.serial + 1};
    (void)state;
    struct tri_poison_messages *first = open_poison();
    hold(first, 0, "mine 1")->ended_by = SIGSEGV;
    (void)hold(first, 1, "theirs 1");
    struct tri_poison_messages *second = open_poison();
    assert_int_equal(tr_crash_attributions_read(folder, crashes), 1);
    assert_int_equal(tri_poison_message_count(second, beside), 0);
    (void)hold(second, 0, "mine 1");
    (void)hold(second, 1, NULL);
    struct tri_poison_messages *third = open_poison();
    assert_int_equal(tr_crash_attributions_read(folder, crashes), 1);
    assert_int_equal(crashes[0].count, 1);
    assert_int_equal(tri_poison_message_count(third, actor), 1);
    assert_int_equal(tri_poison_message_count(third, beside), 1);
    tri_poison_message_close(first);
    tri_poison_message_close(second);
    tri_poison_message_close(third);
}

/* A handler that has come back from the part, or begins anew, answers for itself. */
static void test_a_part_that_has_returned_is_not_blamed(void **state)
{
    struct tr_crash_attribution crashes[TR_CRASH_ATTRIBUTIONS_MAX];
    (void)state;
    struct tri_poison_messages *first = open_poison();
    struct tri_current_message *hand = hold(first, 0, "mine 1");
    tri_current_message_attribute(hand, NULL, NULL);
    hand->ended_by = SIGSEGV;
    struct tri_poison_messages *second = open_poison();
    assert_int_equal(tri_poison_message_count(second, actor), 1);
    (void)hold(second, 0, "mine 1");
    tri_current_message_clear(tri_poison_message_slot(second, 0));
    hold(second, 0, NULL)->ended_by = SIGSEGV;
    struct tri_poison_messages *third = open_poison();
    assert_int_equal(tri_poison_message_count(third, actor), 2);
    assert_int_equal(tr_crash_attributions_read(folder, crashes), 0);
    tri_poison_message_close(first);
    tri_poison_message_close(second);
    tri_poison_message_close(third);
}

static bool is_mine(const void *self, const struct tr_crash_attribution *crashes)
{
    return strcmp(crashes->part, self) == 0;
}

static void test_one_is_forgotten_and_the_others_stay(void **state)
{
    struct tr_crash_attribution crashes[TR_CRASH_ATTRIBUTIONS_MAX];
    struct tri_current_message hand = {.ended_by = SIGABRT};
    (void)state;
    for (uint32_t i = 0; i < TR_CRASH_ATTRIBUTIONS_MAX + 1; i++) {
        snprintf(hand.part, sizeof hand.part, "part %u", i);
        assert_int_equal(tri_attribution_count(folder, &hand), 0);
    }
    assert_int_equal(tr_crash_attributions_read(folder, crashes), TR_CRASH_ATTRIBUTIONS_MAX);
    assert_string_equal(crashes[0].part, "part 1"); /* the oldest has made room */
    assert_int_equal(tr_crash_attributions_forget(folder, is_mine, "part 1"), 0);
    assert_int_equal(tr_crash_attributions_forget(folder, is_mine, "part 1"), 0);
    assert_int_equal(tr_crash_attributions_read(folder, crashes), TR_CRASH_ATTRIBUTIONS_MAX - 1);
    assert_string_equal(crashes[0].part, "part 2");
}

static void test_a_list_that_makes_no_sense_is_empty(void **state)
{
    struct tr_crash_attribution crashes[TR_CRASH_ATTRIBUTIONS_MAX];
    char path[SCRIPTED_PATH_BYTES + 16];
    (void)state;
    snprintf(path, sizeof path, "%s/attribution", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("nonsense that is long enough for a mark", file);
    fclose(file);
    assert_int_equal(tr_crash_attributions_read(folder, crashes), 0);
    assert_int_equal(tr_crash_attributions_read("/no/such/folder", crashes), 0);
}

/* Hands of another form say nothing: nobody is counted for what cannot be read. */
static void test_hands_of_another_version_are_not_read(void **state)
{
    char path[SCRIPTED_PATH_BYTES + 16];
    (void)state;
    struct tri_poison_messages *first = open_poison();
    (void)hold(first, 0, NULL);
    snprintf(path, sizeof path, "%s/in-hand", folder);
    tri_poison_message_close(first);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 1000; i++) {
        fputs("\001\001\001", file);
    }
    fclose(file);
    struct tri_poison_messages *second = open_poison();
    assert_int_equal(
        tri_poison_message_count(second, (struct tr_key){0x0101010101010101U, 0x0101010101010101U}),
        0);
    tri_poison_message_close(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_part_is_counted_and_the_actor_is_not, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_who_was_only_there_is_not_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_part_that_has_returned_is_not_blamed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_one_is_forgotten_and_the_others_stay, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_list_that_makes_no_sense_is_empty, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_hands_of_another_version_are_not_read, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("attribution", tests, NULL, NULL);
}
