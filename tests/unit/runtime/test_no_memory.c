/*
 * No memory at any moment: the k-th allocation fails, for k = 0, 1, 2 until all pass. An operation
 * then either happens as a whole or is refused by name; nothing is lost, doubled or leaked, and the
 * host goes on when there is memory again.
 *
 * Where the runtime would break a promise without memory it ends the process by an assertion (a
 * message that was accepted, a DOWN that was reserved); each such try runs in a process of its own,
 * and only an end by that assertion is allowed.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/model_store.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;
static const struct tr_ref nobody;

#define TRIES_MAX 400

#define SCRIPT(name)                                                        \
    static int name(struct tr_context *context, struct tr_fake_actor *fake, \
                    const struct tr_act *act, const struct tr_message *message)
#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})
#define TRY(call)           \
    do {                    \
        int error = (call); \
        if (error != 0) {   \
            return error;   \
        }                   \
    } while (false)

/* A bit of all that needs memory. */
SCRIPT(need_memory)
{
    UNUSED(message);
    void *bytes;
    struct tr_ref child;
    static uint8_t content[30000];
    struct tr_spawn_options options = {.name = tr_text_of("a child with a name")};
    struct tr_parcel parcel = {.content = {content, sizeof content}};
    fake->number = act->number;
    TRY(tr_page_edit(context, 9, 5000, &bytes));
    TRY(tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){act->number}));
    TRY(tr_tell(context, act->peer, &tr_parcel_schema, &parcel));
    for (int i = 0; i < 10; i++) {
        TRY(tr_spawn(context, &fake_actor_behaviour, &options, &child));
        TRY(tr_timer_start(context, (uint64_t)i, 100000));
    }
    return tr_monitor(context, act->peer, &fake->monitor);
}

static struct tr_ref a;
static struct tr_ref b;

static void set_up(void)
{
    fake_actor_forget();
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    a = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    b = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    stage_run(&stage);
}

/* All of it, once; after as many tries as supervision wants. */
static void expect_done_once(void)
{
    stage_advance(&stage, 50);
    if (stage_actor(&stage, a)->phase == TRI_QUARANTINED) {
        assert_int_equal(fake_actor_state(&stage, a)->number, 0);
        assert_int_equal(fake_actor_heard_times(b, &tr_note_schema), 0);
        assert_int_equal(stage_actor_count(&stage), 2);
        assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
        stage_run(&stage);
    }
    assert_int_equal(fake_actor_state(&stage, a)->number, 5);
    assert_int_equal(fake_actor_heard_times(b, &tr_note_schema), 1);
    assert_int_equal(stage_actor_count(&stage), 12);
    assert_int_equal(tri_page_bytes(stage_actor(&stage, a), 9).size, 5000);
}

/* The message is there already: only the handler is without memory. */
static bool try_handler(uint64_t count, bool for_good)
{
    set_up();
    struct tr_act act = {.script = (uint64_t)(uintptr_t)need_memory, .number = 5, .peer = b};
    tri_actor_quarantine(stage_home(&stage, a), stage_actor(&stage, a));
    stage_tell(&stage, a, &tr_act_schema, &act);
    stage_run(&stage);
    assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
    stage_fail_allocation(count, for_good);
    tri_worker_set_time(stage_worker(&stage, 0));
    (void)tri_worker_step(stage_worker(&stage, 0));
    bool has_failed = stage_allocations_succeed();
    expect_done_once();
    stage_close(&stage);
    return has_failed;
}

static uint32_t count_groups(void)
{
    return stage_worker(&stage, 0)->groups.count + stage_worker(&stage, 1)->groups.count;
}

static bool try_spawn(uint64_t count, bool for_good)
{
    set_up();
    struct tr_spawn_options options = {.name = tr_text_of("late"), .is_watched = true};
    struct tr_ref late = nobody;
    stage_fail_allocation(count, for_good);
    int error = tr_host_spawn(&stage.host, &fake_actor_behaviour, &options, &late);
    bool has_failed = stage_allocations_succeed();
    assert_true(error == 0 || error == TR_MEMORY);
    assert_int_equal(stage_actor_count(&stage), error == 0 ? 3 : 2);
    assert_int_equal(count_groups(), error == 0 ? 3 : 2);
    stage_close(&stage);
    return has_failed;
}

/* A group of its own, and all that it takes. */
SCRIPT(begin_group)
{
    UNUSED(message);
    struct tr_spawn_options options = {.is_group = true};
    struct tr_ref child;
    fake->number = act->number;
    return tr_spawn(context, &fake_actor_behaviour, &options, &child);
}

/* On a host with a store, for a message that is stored: the handler fails or happens, and the host
 * goes on. */
static bool try_stored(uint64_t count, const struct tr_schema *schema, const void *body)
{
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    struct tri_model *model = tri_model_new();
    struct tri_store *store;
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    fake_actor_forget();
    stage_open(&stage, &(struct stage_options){.store = store});
    a = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    tri_actor_quarantine(stage_worker(&stage, 0), stage_actor(&stage, a));
    stage_tell(&stage, a, schema, body);
    stage_run(&stage);
    assert_int_equal(stage_actor(&stage, a)->mailbox_head->is_stored, 1);
    assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
    stage_fail_allocation(count, false);
    (void)tri_worker_step(stage_worker(&stage, 0));
    bool has_failed = stage_allocations_succeed();
    stage_advance(&stage, 50);
    assert_int_equal(stage_worker(&stage, 0)->fatal, 0);
    assert_int_equal(fake_actor_state(&stage, a)->number, 5);
    assert_int_equal(stage_metric(&stage, messages_handled), 1);
    stage_close(&stage);
    tri_store_close(store);
    tri_model_free(model);
    return has_failed;
}

static bool try_quiet_handler(uint64_t count, bool for_good)
{
    (void)for_good;
    return try_stored(count, &tr_note_schema, &(struct tr_note){5});
}

static bool try_begin_group(uint64_t count, bool for_good)
{
    (void)for_good;
    struct tr_act act = {.script = (uint64_t)(uintptr_t)begin_group, .number = 5};
    return try_stored(count, &tr_act_schema, &act);
}

static bool try_move(uint64_t count, bool for_good)
{
    set_up();
    fake_actor_act(&stage, a, need_memory, 5, b);
    stage_fail_allocation(count, for_good);
    int error = tr_host_move(&stage.host, a, 1);
    bool has_failed = stage_allocations_succeed();
    stage_run(&stage);
    assert_true(error == 0 || error == TR_MEMORY || error == TR_BUSY);
    assert_ptr_equal(stage_home(&stage, a), stage_worker(&stage, error == 0 ? 1 : 0));
    assert_int_equal(stage_actor_count(&stage), 12);
    fake_actor_note(&stage, a, 8);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), 1);
    stage_move(&stage, a, 1);
    stage_close(&stage);
    return has_failed;
}

/* What a try may come to. A failure of a test's own is neither: it ends as cmocka ends. */
enum outcome { ALL_PASSED = 100, SOME_FAILED = 101 };

/* One try in a process of its own. */
static int try_apart(bool (*attempt)(uint64_t count, bool for_good), uint64_t count, bool for_good)
{
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO); /* an assertion of the runtime would speak there */
        bool has_failed = attempt(count, for_good);
        _exit(has_failed ? SOME_FAILED : ALL_PASSED);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    bool is_assertion = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    return is_assertion ? SOME_FAILED : WEXITSTATUS(status);
}

static void sweep(bool (*attempt)(uint64_t count, bool for_good))
{
    for (int for_good = 0; for_good < 2; for_good++) {
        uint64_t count = 0;
        int outcome = SOME_FAILED;
        while (outcome == SOME_FAILED && count < TRIES_MAX) {
            outcome = try_apart(attempt, count++, for_good);
        }
        if (outcome != ALL_PASSED) {
            print_message("allocation %d, for good %d: outcome %d\n", (int)count, for_good,
                          outcome);
        }
        assert_int_equal(outcome, ALL_PASSED);
        assert_true(count > 1);
    }
}

static void test_a_handler_without_memory(void **state)
{
    (void)state;
    sweep(try_handler);
}

static void test_a_spawn_without_memory(void **state)
{
    (void)state;
    sweep(try_spawn);
}

/* Of its message the journal must hear, though it asks for nothing. */
static void test_a_quiet_handler_without_memory(void **state)
{
    (void)state;
    sweep(try_quiet_handler);
}

static void test_a_group_without_memory(void **state)
{
    (void)state;
    sweep(try_begin_group);
}

static void test_a_move_without_memory(void **state)
{
    (void)state;
    sweep(try_move);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_handler_without_memory),
        cmocka_unit_test(test_a_spawn_without_memory),
        cmocka_unit_test(test_a_quiet_handler_without_memory),
        cmocka_unit_test(test_a_group_without_memory),
        cmocka_unit_test(test_a_move_without_memory),
    };
    return cmocka_run_group_tests_name("no_memory", tests, NULL, NULL);
}
