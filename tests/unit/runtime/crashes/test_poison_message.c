/*
 * Messages that kill: over real processes, a behaviour that crashes or never returns ends the
 * process twice, stands aside at the third start, and goes on when it is resumed without the
 * message; everybody else goes on all the time. And the counting, by itself.
 */
#include "tests/support/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/child.h"
#include "tests/unit/runtime/crashes/crash_stand.h"

#define STUCK_MS 300
#define TICKS 3

static struct child child;

/* --------------------------------------------------------------- the processes */

/* The same actors at every start: carl and ann on worker 0, bad on worker 1. */
static struct tr_ref find(struct tr_host *host, const char *address)
{
    struct tr_ref actor = {0};
    int error = tr_host_find(host, tr_text_of(address), &actor);
    TR_ASSERT(error == 0);
    return actor;
}

/* What kills is a timer: said again, with another number, after each crash. */
static void begin_timer(struct tr_host *host, enum scripted_verb verb)
{
    struct tr_ref bad = find(host, "/bad");
    scripted_do(
        host, bad,
        (struct tr_scripted_do){.verb = SCRIPTED_LATER, .count = 100, .then = (uint8_t)verb});
}

/* What kills is a message of ann's, and three ticks of carl's come later but are loaded first. */
static void begin_message(struct tr_host *host, enum scripted_verb verb)
{
    struct tr_ref bad = find(host, "/bad");
    scripted_do(host, find(host, "/ann"),
                (struct tr_scripted_do){.verb = SCRIPTED_PASS, .then = (uint8_t)verb, .peer = bad});
    scripted_do(host, find(host, "/carl"),
                (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = TICKS, .peer = bad});
}

/* How a process is killed, by role; the second process of each role only waits. */
static const struct {
    const char *role;
    void (*begin)(struct tr_host *host, enum scripted_verb verb);
    enum scripted_verb verb;
} deaths[] = {
    {"timer-loop", begin_timer, SCRIPTED_LOOP},
    {"timer-crash", begin_timer, SCRIPTED_CRASH},
    {"message-loop", begin_message, SCRIPTED_LOOP},
};

static int play(const char *role, const char *folder)
{
    struct tr_host *host = scripted_open(2, folder, STUCK_MS);
    struct tr_ref bad;
    if (tr_host_find(host, tr_text_of("/bad"), &bad) != 0) {
        (void)scripted_spawn(host, "carl");
        bad = scripted_spawn(host, "bad");
        (void)scripted_spawn(host, "ann");
        for (size_t i = 0; i < TR_COUNT_OF(deaths); i++) {
            if (strcmp(deaths[i].role, role) == 0) {
                deaths[i].begin(host, deaths[i].verb);
            }
        }
    }
    int reason;
    return tr_host_wait(host, bad, 0, &reason);
}

/* The child has said this on stderr. */
static void assert_said(const char *words)
{
    if (strstr(child.text, words) == NULL) {
        fail_msg("the child has not said `%s`, but: %s", words, child.text);
    }
}

/* Runs the host until it dies, in this role. */
static void die(const char *role, const char *folder)
{
    child_run(role, folder, &child);
    if (child_is_well(&child) || WTERMSIG(child.status) == SIGALRM) {
        fail_msg("%s did not die: %s", role, child.text);
    }
    if (strstr(role, "loop") != NULL) {
        assert_said("a handler has not returned for 300 ms: worker=1");
        assert_said("troupe: it is /bad, behaviour scripted\n");
    }
    assert_said("its last events are in");
}

/* The third start, in this process, with what it says on stderr. */
static struct tr_host *start_again(const char *folder, char *words, size_t words_bytes)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int before = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    struct tr_host *host = scripted_open(2, folder, 0);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    words[fread(words, 1, words_bytes - 1, file)] = '\0';
    fclose(file);
    return host;
}

/* The only dead letter of that reason. */
static struct tr_envelope letter_of(struct tr_host *host, int reason)
{
    struct tr_dead_letter letters[16];
    size_t count = 0;
    size_t found = SIZE_MAX;
    assert_int_equal(tr_host_dead_letters(host, letters, TR_COUNT_OF(letters), &count), 0);
    for (size_t i = 0; i < count; i++) {
        if (letters[i].reason == reason) {
            assert_true(found == SIZE_MAX);
            found = i;
        }
    }
    assert_true(found != SIZE_MAX);
    return letters[found].envelope;
}

static void die_twice_then_go_on(void **state, const char *role, uint16_t type,
                                 uint64_t ticks_waiting)
{
    struct crash_stand *stand = crash_stand_begin(state);
    const char *folder = stand->folder;
    char words[4096];
    die(role, folder);
    die(role, folder);
    struct tr_host *host = start_again(folder, words, sizeof words);
    assert_non_null(strstr(words, "troupe: /bad ("));
    assert_non_null(strstr(words, "is quarantined"));
    assert_non_null(strstr(words, "has ended the process 2 times"));
    assert_int_equal(scripted_metric(host, "quarantines"), 1);
    /* The other actors go on, and what it says to bad waits there. */
    uint64_t handled = scripted_metric(host, "messages_handled");
    struct tr_ref bad = find(host, "/bad");
    struct tr_scripted_do tell = {.verb = SCRIPTED_TELL, .count = TICKS, .peer = bad};
    scripted_do(host, find(host, "/ann"), tell);
    scripted_await(host, "messages_handled", handled + 1);
    assert_int_equal(scripted_metric(host, "messages_handled"), handled + 1);
    /* Resumed without that message, bad takes all that has waited. */
    assert_int_equal(tr_host_resume(host, bad, true), 0);
    scripted_await(host, "messages_handled", handled + 1 + TICKS + ticks_waiting);
    struct tr_envelope envelope = letter_of(host, TR_POISON);
    assert_int_equal(envelope.type, type);
    assert_int_equal(envelope.to_serial, bad.key.serial);
    tr_host_free(host);
    /* And it is not held against it at the next start. */
    host = start_again(folder, words, sizeof words);
    assert_string_equal(words, "");
    assert_int_equal(scripted_metric(host, "quarantines"), 0);
    scripted_do(host, find(host, "/bad"), (struct tr_scripted_do){.verb = SCRIPTED_STOP});
    scripted_await(host, "actors_ended", 1);
    tr_host_free(host);
    assert_int_equal(crash_stand_read(stand)->count, 0);
    crash_stand_end(stand);
}

static void test_timer_that_never_returns(void **state)
{
    die_twice_then_go_on(state, "timer-loop", tr_timer_schema.id, 0);
}

static void test_timer_that_crashes(void **state)
{
    die_twice_then_go_on(state, "timer-crash", tr_timer_schema.id, 0);
}

static void test_message_that_never_returns_is_found_among_others(void **state)
{
    die_twice_then_go_on(state, "message-loop", tr_scripted_do_schema.id, TICKS);
}

/* ---------------------------------------------------------------- the counting */

/* A message as a worker would have it in hand when something ends the process. */
static void hold_silently(struct tri_poison_messages *poison, uint32_t worker, struct tr_key actor,
                          uint64_t sequence)
{
    uint8_t bytes[TR_ENVELOPE_BYTES];
    struct tr_envelope envelope = {
        .envelope_version = TR_ENVELOPE_VERSION,
        .kind = TR_KIND_TELL,
        .type = 700,
        .to_group = actor.group,
        .to_serial = actor.serial,
        .from_group = 9,
        .from_serial = 9,
        .from_incarnation = 1,
        .sequence = sequence,
    };
    tr_envelope_pack(&envelope, bytes);
    tri_current_message_set(tri_poison_message_slot(poison, worker), bytes);
}

/* The same, where its handler is known to have ended it. */
static void hold(struct tri_poison_messages *poison, uint32_t worker, struct tr_key actor,
                 uint64_t sequence)
{
    hold_silently(poison, worker, actor, sequence);
    tri_poison_message_slot(poison, worker)->ended_by = SIGSEGV;
}

static bool is_of(const void *self, const struct tri_crash_row *row)
{
    return tr_key_equal(row->key, *(const struct tr_key *)self);
}

static void test_only_the_same_message_counts_twice(void **state)
{
    struct crash_stand *stand = crash_stand_begin(state);
    const struct tr_key actor = {7, 12};
    struct tri_poison_messages *first = crash_stand_start(stand);
    hold(first, 0, actor, 5);
    hold(first, 3, (struct tr_key){7, 13}, 1);
    struct tri_poison_messages *second = crash_stand_start(stand);
    assert_int_equal(tri_poison_message_count(second, actor), 1);
    assert_int_equal(tri_poison_message_count(second, (struct tr_key){7, 13}), 1);
    assert_int_equal(tri_poison_message_count(second, (struct tr_key){7, 14}), 0);
    hold(second, 1, actor, 6); /* another message of the same sender */
    struct tri_poison_messages *third = crash_stand_start(stand);
    assert_int_equal(tri_poison_message_count(third, actor), 1);
    hold(third, 0, actor, 5);
    struct tri_poison_messages *fourth = crash_stand_start(stand);
    assert_int_equal(tri_poison_message_count(fourth, actor), 2);
    assert_int_equal(tri_poison_message_name(fourth, actor).sequence, 5);
    crash_stand_forget(stand, is_of, &actor);
    struct tri_poison_messages *fifth = crash_stand_start(stand);
    assert_int_equal(tri_poison_message_count(fifth, actor), 0);
    assert_int_equal(tri_poison_message_count(fifth, (struct tr_key){7, 13}), 1);
    tri_poison_message_close(first);
    tri_poison_message_close(second);
    tri_poison_message_close(third);
    tri_poison_message_close(fourth);
    tri_poison_message_close(fifth);
    crash_stand_end(stand);
}

/* Ends the process so often, of which so many name this message; whether it is poison. */
static bool is_poison_after(void **state, uint32_t ends, uint32_t silent)
{
    struct crash_stand *stand = crash_stand_begin(state);
    const struct tr_key actor = {7, 12};
    struct tri_poison_messages *poison = crash_stand_start(stand);
    for (uint32_t i = 0; i < ends + silent; i++) {
        (i < ends ? hold : hold_silently)(poison, 0, actor, 5);
        struct tri_poison_messages *next = crash_stand_start(stand);
        tri_poison_message_close(poison);
        poison = next;
    }
    assert_int_equal(tri_poison_message_count(poison, actor), ends + silent);
    struct tri_message_name name = tri_poison_message_name(poison, actor);
    tri_poison_message_close(poison);
    crash_stand_end(stand);
    return name.sequence == 5;
}

/* What is in hand when somebody kills the process is innocent, unless again and again. */
static void test_an_end_that_says_nothing_proves_little(void **state)
{
    assert_false(is_poison_after(state, 0, TR_POISON_SILENT_ENDS - 1));
    assert_true(is_poison_after(state, 0, TR_POISON_SILENT_ENDS));
    assert_false(is_poison_after(state, 1, 1));
    assert_true(is_poison_after(state, 1, TR_POISON_SILENT_ENDS / TR_POISON_ENDS));
    assert_true(is_poison_after(state, TR_POISON_ENDS, 0));
}

static void test_end_in_order_is_no_crash(void **state)
{
    struct crash_stand *stand = crash_stand_begin(state);
    struct tri_poison_messages *first = crash_stand_start(stand);
    hold(first, 0, (struct tr_key){7, 12}, 5);
    tri_current_message_clear(tri_poison_message_slot(first, 0));
    struct tri_poison_messages *second = crash_stand_start(stand);
    assert_int_equal(tri_poison_message_count(second, (struct tr_key){7, 12}), 0);
    hold(second, 0, (struct tr_key){7, 12}, 5);
    tri_poison_message_close(second);
    struct tri_poison_messages *third = crash_stand_start(stand);
    assert_int_equal(tri_poison_message_count(third, (struct tr_key){7, 12}), 0);
    tri_poison_message_close(first);
    tri_poison_message_close(third);
    crash_stand_end(stand);
}

/* A start whose commit fails has counted nothing, and the next one counts it. */
static void test_what_cannot_be_committed_is_counted_by_the_next_start(void **state)
{
    (void)state;
    char folder[SCRIPTED_PATH_BYTES];
    struct tri_model *model = tri_model_new();
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    struct tri_store *store = NULL;
    struct tri_poison_messages *poison = NULL;
    struct tri_poison_messages *next = NULL;
    scripted_folder(folder);
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    assert_int_equal(tri_poison_message_open(folder, store, &poison), 0);
    hold(poison, 0, (struct tr_key){7, 12}, 5);
    for (unsigned i = 0; i < 3; i++) {
        tri_model_faults(model)->full_commits = 1;
        assert_int_equal(tri_poison_message_open(folder, store, &next), TR_STORE_FULL);
        assert_null(next);
    }
    assert_int_equal(tri_poison_message_open(folder, store, &next), 0);
    assert_int_equal(tri_poison_message_count(next, (struct tr_key){7, 12}), 1);
    tri_poison_message_close(poison);
    tri_poison_message_close(next);
    tri_store_close(store);
    tri_model_free(model);
    scripted_folder_remove(folder);
}

static void test_oldest_makes_room_when_the_list_is_full(void **state)
{
    struct crash_stand *stand = crash_stand_begin(state);
    for (uint64_t i = 1; i <= 20; i++) {
        struct tri_poison_messages *poison = crash_stand_start(stand);
        for (uint32_t worker = 0; worker < TR_WORKERS_MAX; worker++) {
            hold(poison, worker, (struct tr_key){i, 1 + worker}, 1);
        }
        struct tri_poison_messages *next = crash_stand_start(stand);
        assert_int_equal(tri_poison_message_count(next, (struct tr_key){i, 1}), 1);
        tri_poison_message_close(next);
        tri_poison_message_close(poison);
    }
    struct tri_poison_messages *poison = crash_stand_start(stand);
    assert_int_equal(tri_poison_message_count(poison, (struct tr_key){1, 1}), 0);
    assert_int_equal(tri_poison_message_count(poison, (struct tr_key){20, TR_WORKERS_MAX}), 1);
    tri_poison_message_close(poison);
    assert_int_equal(crash_stand_read(stand)->count, TRI_CRASH_MESSAGES_MAX);
    crash_stand_end(stand);
}

static void test_folder_that_is_not_there_is_an_error(void **state)
{
    struct crash_stand *stand = crash_stand_begin(state);
    struct tri_poison_messages *poison = NULL;
    tri_poison_message_close(crash_stand_start(stand));
    assert_int_equal(tri_poison_message_open("/tmp/troupe-is-not-here", stand->store, &poison),
                     TR_SYSTEM);
    assert_null(poison);
    assert_int_equal(tri_poison_message_count(NULL, (struct tr_key){7, 12}), 0);
    crash_stand_end(stand);
}

int main(int argc, char **argv)
{
    if (child_is_wanted(argc, argv)) {
        return play(argv[2], argv[3]);
    }
    const struct stand_test tests[] = {
        STAND_TEST(test_only_the_same_message_counts_twice),
        STAND_TEST(test_an_end_that_says_nothing_proves_little),
        STAND_TEST(test_end_in_order_is_no_crash),
        STAND_TEST(test_what_cannot_be_committed_is_counted_by_the_next_start),
        STAND_TEST(test_oldest_makes_room_when_the_list_is_full),
        STAND_TEST(test_folder_that_is_not_there_is_an_error),
        STAND_TEST(test_timer_that_crashes),
        STAND_TEST(test_timer_that_never_returns),
        STAND_TEST(test_message_that_never_returns_is_found_among_others),
    };
    return stand_run_databases("poison_message", tests, TR_COUNT_OF(tests));
}
