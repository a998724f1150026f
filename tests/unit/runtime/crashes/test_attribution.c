/*
 * Who is counted for a crash: the part that a handler had named, not its actor; of several workers
 * the one that is known to have ended the process; and all that were at work where nothing is.
 */
#include "runtime/crashes/attribution.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/runtime/crashes/crash_stand.h"

static const struct tr_key actor = {7, 12};
static struct crash_stand *stand;
static struct tr_crash_part parts[TR_CRASH_ATTRIBUTIONS_MAX];

static size_t count_parts(void)
{
    return tri_crashes_parts(crash_stand_read(stand), parts);
}

static void assert_is(const char *text, struct tr_text found)
{
    assert_int_equal(found.size, strlen(text));
    assert_memory_equal(found.data, text, found.size);
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
    (void)state;
    for (uint32_t i = 1; i <= 3; i++) {
        struct tri_poison_messages *poison = crash_stand_start(stand);
        hold(poison, 0, "mine 1")->ended_by = i == 3 ? TRI_ENDED_STUCK : SIGSEGV;
        struct tri_poison_messages *next = crash_stand_start(stand);
        assert_int_equal(tri_poison_message_count(next, actor), 0);
        assert_int_equal(count_parts(), 1);
        assert_int_equal(parts[0].ends, i);
        tri_poison_message_close(next);
        tri_poison_message_close(poison);
    }
    assert_is("mine 1", tr_array_get(&parts[0].part));
    assert_is("handle", tr_array_get(&parts[0].function));
    assert_int_equal(parts[0].ended_by, TR_CRASH_STUCK);
}

/* The others were only there; but where nothing is known, as after kill -9, all are counted. */
static void test_who_was_only_there_is_not_counted(void **state)
{
    const struct tr_key beside = {actor.group, actor.serial + 1};
    (void)state;
    struct tri_poison_messages *first = crash_stand_start(stand);
    hold(first, 0, "mine 1")->ended_by = SIGSEGV;
    (void)hold(first, 1, "theirs 1");
    struct tri_poison_messages *second = crash_stand_start(stand);
    assert_int_equal(count_parts(), 1);
    assert_int_equal(tri_poison_message_count(second, beside), 0);
    (void)hold(second, 0, "mine 1");
    (void)hold(second, 1, NULL);
    struct tri_poison_messages *third = crash_stand_start(stand);
    assert_int_equal(count_parts(), 1);
    assert_int_equal(parts[0].ends, 1);
    assert_int_equal(tri_poison_message_count(third, actor), 1);
    assert_int_equal(tri_poison_message_count(third, beside), 1);
    tri_poison_message_close(first);
    tri_poison_message_close(second);
    tri_poison_message_close(third);
}

/* A handler that has come back from the part, or begins anew, answers for itself. */
static void test_a_part_that_has_returned_is_not_blamed(void **state)
{
    (void)state;
    struct tri_poison_messages *first = crash_stand_start(stand);
    struct tri_current_message *hand = hold(first, 0, "mine 1");
    tri_current_message_attribute(hand, NULL, NULL);
    hand->ended_by = SIGSEGV;
    struct tri_poison_messages *second = crash_stand_start(stand);
    assert_int_equal(tri_poison_message_count(second, actor), 1);
    (void)hold(second, 0, "mine 1");
    tri_current_message_clear(tri_poison_message_slot(second, 0));
    hold(second, 0, NULL)->ended_by = SIGSEGV;
    struct tri_poison_messages *third = crash_stand_start(stand);
    assert_int_equal(tri_poison_message_count(third, actor), 2);
    assert_int_equal(count_parts(), 0);
    tri_poison_message_close(first);
    tri_poison_message_close(second);
    tri_poison_message_close(third);
}

static bool is_part(const void *self, const struct tri_crash_row *row)
{
    return tr_text_equal(tr_array_get(&row->part.part), tr_text_of(self));
}

static bool has_part(const char *name)
{
    struct tri_crash_row wanted = {.kind = TRI_CRASH_PART};
    assert_int_equal(tr_array_set(&wanted.part.part, tr_text_of(name)), 0);
    return tri_crashes_has(crash_stand_read(stand), &wanted);
}

static void test_one_is_forgotten_and_the_others_stay(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "part %u", i);
        struct tri_poison_messages *poison = crash_stand_start(stand);
        hold(poison, 0, name)->ended_by = SIGABRT;
        tri_poison_message_close(crash_stand_start(stand));
        tri_poison_message_close(poison);
    }
    assert_int_equal(count_parts(), 3);
    crash_stand_forget(stand, is_part, "part 1");
    crash_stand_forget(stand, is_part, "part 1");
    assert_int_equal(count_parts(), 2);
    assert_false(has_part("part 1"));
    assert_true(has_part("part 0") && has_part("part 2"));
}

static bool is_named(const void *self, const struct tr_crash_part *part)
{
    return tr_text_equal(tr_array_get(&part->part), tr_text_of(self));
}

/* A host that runs tells which there are, and forgets one in a commit. */
static void test_a_host_forgets_one(void **state)
{
    (void)state;
    struct tri_poison_messages *poison = crash_stand_start(stand);
    hold(poison, 0, "mine 1")->ended_by = SIGABRT;
    hold(poison, 1, "theirs 1")->ended_by = SIGABRT;
    crash_stand_close(stand);
    struct tr_host *host = scripted_open(1, stand->folder, 0);
    assert_int_equal(tr_host_crash_attributions(host, parts), 2);
    assert_int_equal(tr_host_forget_crash_attributions(host, is_named, "nobody's"), 0);
    assert_int_equal(tr_host_forget_crash_attributions(host, is_named, "mine 1"), 0);
    assert_int_equal(tr_host_crash_attributions(host, parts), 1);
    assert_is("theirs 1", tr_array_get(&parts[0].part));
    tr_host_free(host);
    assert_int_equal(count_parts(), 1);
    assert_false(has_part("mine 1"));
    tri_poison_message_close(poison);
}

/* A slot that a crash has left may hold anything. */
static void test_a_name_that_is_no_text_is_counted(void **state)
{
    (void)state;
    struct tri_poison_messages *poison = crash_stand_start(stand);
    struct tri_current_message *hand = hold(poison, 0, "mine");
    memset(hand->part, 0xff, sizeof hand->part);
    memset(hand->function, 0xc3, sizeof hand->function);
    hand->ended_by = SIGSEGV;
    tri_poison_message_close(crash_stand_start(stand));
    tri_poison_message_close(poison);
    assert_int_equal(count_parts(), 1);
    assert_int_equal(parts[0].part.size, sizeof hand->part - 1);
    assert_int_equal(parts[0].part.data[0], '?');
    assert_int_equal(parts[0].function.size, sizeof hand->function - 1);
}

/* A row that makes no sense counts as none, and the next count replaces it. */
static void test_a_row_that_makes_no_sense_is_none(void **state)
{
    (void)state;
    struct tri_poison_messages *poison = crash_stand_start(stand);
    hold(poison, 0, "mine 1")->ended_by = SIGSEGV;
    tri_poison_message_close(crash_stand_start(stand));
    const struct tri_crash_row row = crash_stand_read(stand)->rows[0];
    struct tri_op nonsense = {.kind = TRI_OP_PUT_CRASH,
                              .type = TRI_CRASH_PART,
                              .number = row.number,
                              .data = {.data = (const uint8_t *)"nonsense", .size = 8}};
    struct tri_commit commit = {&nonsense, 1, stand->store->last_number};
    assert_int_equal(tri_store_commit(stand->store, &commit), 0);
    assert_int_equal(count_parts(), 0);
    hold(poison, 0, "mine 1")->ended_by = SIGSEGV;
    tri_poison_message_close(crash_stand_start(stand));
    assert_int_equal(count_parts(), 1);
    assert_int_equal(parts[0].ends, 1);
    tri_poison_message_close(poison);
}

/* Hands of another form say nothing: nobody is counted for what cannot be read. */
static void test_hands_of_another_version_are_not_read(void **state)
{
    char path[SCRIPTED_PATH_BYTES + 16];
    (void)state;
    struct tri_poison_messages *first = crash_stand_start(stand);
    (void)hold(first, 0, NULL);
    snprintf(path, sizeof path, "%s/in-hand", stand->folder);
    tri_poison_message_close(first);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 1000; i++) {
        fputs("\001\001\001", file);
    }
    fclose(file);
    tri_poison_message_close(crash_stand_start(stand));
    assert_int_equal(crash_stand_read(stand)->count, 0);
}

/* Each of them in a store of its own. */
#define EACH(function)                        \
    static void each_##function(void **state) \
    {                                         \
        stand = crash_stand_begin(state);     \
        function(state);                      \
        crash_stand_end(stand);               \
    }
EACH(test_the_part_is_counted_and_the_actor_is_not)
EACH(test_who_was_only_there_is_not_counted)
EACH(test_a_part_that_has_returned_is_not_blamed)
EACH(test_one_is_forgotten_and_the_others_stay)
EACH(test_a_host_forgets_one)
EACH(test_a_name_that_is_no_text_is_counted)
EACH(test_a_row_that_makes_no_sense_is_none)
EACH(test_hands_of_another_version_are_not_read)

int main(void)
{
    const struct stand_test tests[] = {
        STAND_TEST(each_test_the_part_is_counted_and_the_actor_is_not),
        STAND_TEST(each_test_who_was_only_there_is_not_counted),
        STAND_TEST(each_test_a_part_that_has_returned_is_not_blamed),
        STAND_TEST(each_test_one_is_forgotten_and_the_others_stay),
        STAND_TEST(each_test_a_host_forgets_one),
        STAND_TEST(each_test_a_name_that_is_no_text_is_counted),
        STAND_TEST(each_test_a_row_that_makes_no_sense_is_none),
        STAND_TEST(each_test_hands_of_another_version_are_not_read),
    };
    return stand_run_databases("attribution", tests, TR_COUNT_OF(tests));
}
