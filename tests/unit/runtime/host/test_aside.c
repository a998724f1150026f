/*
 * What ends a start when it is loaded: over real processes, a state whose reading crashes ends two
 * starts and is left out by the third, in which all others go on; what is said to it waits until it
 * is taken up again. And the counting, by itself.
 */
#include "runtime/host/aside.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "runtime/host/poison_message.h"
#include "tests/support/child.h"
#include "tests/support/scripted.h"
#include "tests/support/test.h"

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

/* The actors of a store, with or without the fault. */
static struct tr_host *open_town(const char *folder, bool is_planted)
{
    static struct tr_schema state;
    static struct tr_behaviour scripted;
    static const struct tr_behaviour *const behaviours[] = {&scripted};
    struct tr_host_options options = {.worker_count = 2,
                                      .durability = TR_DURABILITY_PROCESS,
                                      .folder = folder,
                                      .behaviours = behaviours,
                                      .behaviour_count = 1};
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
    tr_host_free(open_town(folder, true));
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

static void test_what_ends_two_starts_is_put_aside(void **state)
{
    (void)state;
    char folder[SCRIPTED_PATH_BYTES];
    uint64_t groups[TR_ASIDE_MAX];
    scripted_folder(folder);
    struct tr_host *host = open_town(folder, false);
    assert_int_equal(tr_host_start(host), 0);
    struct tr_ref ann = spawn(host, "ann", 1);
    struct tr_ref bad = spawn(host, "bad", PLANTED);
    struct tr_ref carl = spawn(host, "carl", 1);
    tr_host_free(host);
    for (int i = 0; i < TR_ASIDE_ENDS; i++) {
        assert_int_equal(tr_aside_read(folder, groups), 0);
        child_run("load", folder, &child);
        assert_int_equal(WTERMSIG(child.status), SIGABRT);
    }
    host = open_town(folder, true);
    assert_int_equal(tr_aside_read(folder, groups), 1);
    assert_int_equal(groups[0], bad.key.group);
    assert_true(tr_host_is_aside(host, bad.key.group));
    assert_false(tr_host_has(host, bad));
    assert_true(tr_host_has(host, ann) && tr_host_has(host, carl));
    assert_int_equal(tr_host_start(host), 0);
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = 3, .peer = bad});
    scripted_await(host, "messages_handled", 1);
    tr_host_free(host);
    host = open_town(folder, true); /* and it stays so */
    assert_false(tr_host_has(host, bad));
    tr_host_free(host);
    assert_int_equal(tr_aside_lift(folder, bad.key.group), 0);
    host = open_town(folder, false);
    assert_true(tr_host_has(host, bad));
    assert_int_equal(tr_host_start(host), 0);
    scripted_await(host, "messages_handled", 3); /* that had waited for it */
    tr_host_free(host);
    scripted_folder_remove(folder);
}

/* A start that was at this group and ended. */
static void end_at(const char *folder, uint64_t group)
{
    struct tri_poison_messages *poison;
    assert_int_equal(tri_poison_message_open(folder, &poison), 0);
    tri_poison_message_note_loading(poison, group);
    tri_poison_message_close(poison);
}

static void test_ends_count_in_a_row(void **state)
{
    (void)state;
    char folder[SCRIPTED_PATH_BYTES];
    uint64_t groups[TR_ASIDE_MAX];
    scripted_folder(folder);
    end_at(folder, 7);
    end_at(folder, 0); /* which counts 7, and gets through */
    end_at(folder, 7);
    end_at(folder, 0);
    assert_int_equal(tr_aside_read(folder, groups), 0);
    end_at(folder, 7);
    end_at(folder, 8);
    end_at(folder, 8);
    end_at(folder, 0);
    assert_int_equal(tr_aside_read(folder, groups), 1);
    assert_int_equal(groups[0], 8);
    end_at(folder, 9);
    end_at(folder, 9);
    end_at(folder, 0);
    assert_int_equal(tr_aside_read(folder, groups), 2);
    assert_int_equal(tr_aside_lift(folder, 8), 0);
    assert_int_equal(tr_aside_read(folder, groups), 1);
    assert_int_equal(groups[0], 9);
    scripted_folder_remove(folder);
}

int main(int argc, char **argv)
{
    if (child_is_wanted(argc, argv)) {
        return play(argv[3]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_ends_two_starts_is_put_aside),
        cmocka_unit_test(test_ends_count_in_a_row),
    };
    return cmocka_run_group_tests_name("runtime/host/aside", tests, NULL, NULL);
}
