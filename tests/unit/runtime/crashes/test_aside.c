/*
 * What ends a start when it is loaded: over real processes, a state whose reading crashes ends two
 * starts and is left out by the third, in which all others go on; what is said to it waits until it
 * is taken up again. And the counting, by itself.
 */
#include "runtime/crashes/aside.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/support/child.h"
#include "tests/unit/runtime/crashes/crash_stand.h"

/* The ticks of who must not be loaded. */
#define PLANTED 666

static struct child child;

static int unpack_and_crash(struct tr_bytes bytes, uint8_t version, void *out)
{
    int error = tr_scripted_state_schema.unpack(bytes, version, out);
    if (error == 0 && ((struct tr_scripted_state *)out)->ticks == PLANTED) {
        abort();
    }
    return error;
}

/* The actors of a store, with or without the fault; a group that was set aside may be lifted. */
static struct tr_host *open_town(const char *folder, bool is_planted, uint64_t lifted)
{
    static struct tr_schema state;
    static struct tr_behaviour scripted;
    static const struct tr_behaviour *const behaviours[] = {&scripted};
    struct tr_host_options options = {.worker_count = 2,
                                      .durability = TR_DURABILITY_PROCESS,
                                      .folder = folder,
                                      .behaviours = behaviours,
                                      .behaviour_count = 1,
                                      .lifted = &lifted,
                                      .lifted_count = lifted != 0};
    struct tr_host *host = NULL;
    char explain[TRI_STORE_EXPLAIN_BYTES];
    state = tr_scripted_state_schema;
    state.unpack = is_planted ? unpack_and_crash : state.unpack;
    scripted = scripted_behaviour;
    scripted.state = &state;
    options.aside_behaviour = scripted.id;
    int error = tr_host_new(&options, explain, &host);
    TR_ASSERT(error == 0);
    return host;
}

static int play(const char *folder)
{
    tr_host_free(open_town(folder, true, 0));
    return 0;
}

static struct tr_ref spawn(struct tr_host *host, const char *name, uint64_t ticks)
{
    struct tr_scripted_state state = {.ticks = ticks};
    struct tr_spawn_options options = {.name = tr_text_of(name), .state = &state};
    struct tr_ref actor = {0};
    assert_int_equal(tr_host_spawn(host, &scripted_behaviour, &options, &actor), 0);
    return actor;
}

/* The only group that is set aside in the store; 0: none. */
static uint64_t aside_of(struct crash_stand *stand)
{
    uint64_t groups[TR_ASIDE_MAX];
    size_t count = tri_crashes_aside(crash_stand_read(stand), groups);
    crash_stand_close(stand);
    assert_true(count <= 1);
    return count == 1 ? groups[0] : 0;
}

/* Ann, bad and carl, of whom bad has ended two starts; tells what was sent to bad meanwhile. */
static struct tr_ref put_bad_aside(struct crash_stand *stand)
{
    struct tr_host *host = open_town(stand->folder, false, 0);
    assert_int_equal(tr_host_start(host), 0);
    struct tr_ref ann = spawn(host, "ann", 1);
    struct tr_ref bad = spawn(host, "bad", PLANTED);
    struct tr_ref carl = spawn(host, "carl", 1);
    tr_host_free(host);
    for (int i = 0; i < TR_ASIDE_ENDS; i++) {
        assert_int_equal(aside_of(stand), 0);
        child_run("load", stand->folder, &child);
        assert_int_equal(WTERMSIG(child.status), SIGABRT);
    }
    host = open_town(stand->folder, true, 0);
    assert_true(tr_host_is_aside(host, bad.key.group));
    assert_false(tr_host_has(host, bad));
    assert_true(tr_host_has(host, ann) && tr_host_has(host, carl));
    assert_int_equal(tr_host_start(host), 0);
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = 3, .peer = bad});
    scripted_await(host, "messages_handled", 1);
    tr_host_free(host);
    assert_int_equal(aside_of(stand), bad.key.group);
    return bad;
}

static void test_what_ends_two_starts_is_put_aside(void **state)
{
    struct crash_stand *stand = crash_stand_begin(state);
    struct tr_ref bad = put_bad_aside(stand);
    struct tr_host *host = open_town(stand->folder, true, 0); /* and it stays so */
    assert_false(tr_host_has(host, bad));
    tr_host_free(host);
    host = open_town(stand->folder, false, bad.key.group);
    assert_true(tr_host_has(host, bad));
    assert_int_equal(tr_host_start(host), 0);
    scripted_await(host, "messages_handled", 3); /* that had waited for it */
    tr_host_free(host);
    assert_int_equal(aside_of(stand), 0);
    crash_stand_end(stand);
}

/* A host that runs lifts it for the next one. */
static void test_a_host_lifts_it_for_the_next(void **state)
{
    struct crash_stand *stand = crash_stand_begin(state);
    struct tr_ref bad = put_bad_aside(stand);
    struct tr_host *host = open_town(stand->folder, true, 0);
    assert_int_equal(tr_host_start(host), 0);
    assert_int_equal(tr_host_lift_aside(host, bad.key.group + 1), 0);
    assert_int_equal(tr_host_lift_aside(host, bad.key.group), 0);
    assert_true(tr_host_is_aside(host, bad.key.group));
    tr_host_free(host);
    assert_int_equal(aside_of(stand), 0);
    host = open_town(stand->folder, false, 0);
    assert_true(tr_host_has(host, bad));
    tr_host_free(host);
    crash_stand_end(stand);
}

/* A start that was at this group and ended. */
static void end_at(struct crash_stand *stand, uint64_t group)
{
    struct tri_poison_messages *poison = crash_stand_start(stand);
    tri_poison_message_note_loading(poison, group);
    tri_poison_message_close(poison);
}

static bool is_eight(const void *self, const struct tri_crash_row *row)
{
    (void)self;
    return row->key.group == 8;
}

static void test_ends_count_in_a_row(void **state)
{
    struct crash_stand *stand = crash_stand_begin(state);
    uint64_t groups[TR_ASIDE_MAX];
    end_at(stand, 7);
    end_at(stand, 0); /* which counts 7, and gets through */
    end_at(stand, 7);
    end_at(stand, 0);
    assert_int_equal(aside_of(stand), 0);
    end_at(stand, 7);
    end_at(stand, 8);
    end_at(stand, 8);
    end_at(stand, 0);
    assert_int_equal(aside_of(stand), 8);
    end_at(stand, 9);
    end_at(stand, 9);
    end_at(stand, 0);
    assert_int_equal(tri_crashes_aside(crash_stand_read(stand), groups), 2);
    crash_stand_forget(stand, is_eight, NULL);
    assert_int_equal(aside_of(stand), 9);
    crash_stand_end(stand);
}

/* As many are kept as there is room for, and no more are counted. */
static void test_no_more_are_put_aside_than_are_kept(void **state)
{
    static struct tri_crashes crashes;
    uint64_t groups[TR_ASIDE_MAX];
    (void)state;
    crashes.count = 0;
    for (uint64_t group = 1; group <= TR_ASIDE_MAX + 1; group++) {
        tri_aside_count(&crashes, group, 1);
        tri_aside_count(&crashes, group, 2);
        tri_aside_count(&crashes, 0, 3);
    }
    tri_aside_count(&crashes, 1, 4);
    assert_int_equal(tri_crashes_aside(&crashes, groups), TR_ASIDE_MAX);
    assert_int_equal(groups[0], 1);
    assert_int_equal(groups[TR_ASIDE_MAX - 1], TR_ASIDE_MAX);
    assert_int_equal(crashes.rows[0].group.ends, 3);
}

int main(int argc, char **argv)
{
    if (child_is_wanted(argc, argv)) {
        return play(argv[3]);
    }
    const struct stand_test tests[] = {
        STAND_TEST(test_what_ends_two_starts_is_put_aside),
        STAND_TEST(test_a_host_lifts_it_for_the_next),
        STAND_TEST(test_ends_count_in_a_row),
        STAND_TEST(test_no_more_are_put_aside_than_are_kept),
    };
    return stand_run_databases("aside", tests, TR_COUNT_OF(tests));
}
