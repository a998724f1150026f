/*
 * What the program asks of its actors: questions with one end each, ends that are heard of while
 * something else is waited for, addresses whose root holds a slash, and who lives.
 */
#include "runtime/host/control.h"
#include <stdio.h>
#include <string.h>

#include "tests/sim/model_store.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;
static uint64_t answered;
static uint32_t answers;

static void take(void *self, const struct tr_message *message)
{
    struct tr_answer answer;
    assert_ptr_equal(self, &stage);
    assert_true(tr_message_is(message, &tr_answer_schema));
    assert_int_equal(tr_message_read(message, answer, &answer), 0);
    answered = answer.number;
    answers++;
}

static int ask(struct tr_ref who, uint64_t number, uint64_t timeout_ms)
{
    struct tr_question question = {.number = number};
    return tr_host_ask(&stage.host, who, &tr_question_schema, &question, timeout_ms, take, &stage);
}

static int stop(struct tr_context *context, struct tr_fake_actor *fake, const struct tr_act *act,
                const struct tr_message *message)
{
    (void)fake;
    (void)act;
    (void)message;
    return tr_stop(context);
}

/* Ends without an answer to what it is asked. */
static int ask_to_stop(struct tr_ref who)
{
    struct tr_act act = {.script = (uint64_t)(uintptr_t)stop};
    return tr_host_ask(&stage.host, who, &tr_act_schema, &act, 0, take, &stage);
}

static void test_questions_have_one_end(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    struct tr_ref here = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    struct tr_ref there = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    answers = 0;
    assert_int_equal(ask(here, 7, 0), 0);
    assert_int_equal(answered, 8);
    assert_int_equal(ask(there, 10, 1000), 0);
    assert_int_equal(answered, 11);
    assert_int_equal(answers, 2);
    assert_int_equal(ask_to_stop(here), TR_NO_ACTOR);
    assert_int_equal(ask(here, 1, 0), TR_NO_ACTOR);
    assert_int_equal(answers, 2);
    stage_close(&stage);
}

/* What became of a question that nobody waits for. */
struct asked_on {
    uint64_t number;
    int reason;
    unsigned count;
};

static void take_on(void *self, const struct tr_message *message, int reason)
{
    struct asked_on *asked = self;
    struct tr_answer answer = {.number = 0};
    if (message != NULL) {
        assert_int_equal(tr_message_read(message, answer, &answer), 0);
    }
    asked->number = answer.number;
    asked->reason = reason;
    asked->count++;
}

static void ask_on(struct tr_ref who, uint64_t number, struct asked_on *asked)
{
    struct tr_question question = {.number = number};
    assert_int_equal(
        tr_host_ask_on(&stage.host, who, &tr_question_schema, &question, take_on, asked), 0);
}

static void await_on(const struct asked_on *asked)
{
    for (unsigned i = 0; asked->count == 0 && i < 1000; i++) {
        assert_int_equal(tr_host_poll(&stage.host, -1, 1), 0);
    }
    assert_int_equal(asked->count, 1);
}

/* Many are open at once; each has its own answer, also while another one is waited for. */
static void test_questions_that_nobody_waits_for(void **state)
{
    (void)state;
    struct asked_on asked[40] = {{.count = 0}};
    struct asked_on gone = {.count = 0};
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    struct tr_ref one = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    struct tr_ref other = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    for (uint64_t i = 0; i < TR_COUNT_OF(asked); i++) {
        ask_on(i % 3 == 0 ? one : other, 100 + i, &asked[i]);
    }
    assert_int_equal(ask(one, 7, 0), 0);
    assert_int_equal(answered, 8);
    for (uint64_t i = 0; i < TR_COUNT_OF(asked); i++) {
        await_on(&asked[i]);
        assert_int_equal(asked[i].number, 101 + i);
        assert_int_equal(asked[i].reason, 0);
    }
    assert_int_equal(ask_to_stop(one), TR_NO_ACTOR);
    ask_on(one, 1, &gone);
    await_on(&gone);
    assert_int_equal(gone.reason, TR_NO_ACTOR);
    ask_on(other, 1, &asked[0]); /* it is open to the end, and freed */
    stage_close(&stage);
}

/* An answer that comes after its question was given up is nobody's. */
static void test_a_late_answer_is_dropped(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref fake = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    stage.worker_sleeps[0] = true;
    answers = 0;
    assert_int_equal(ask(fake, 1, 5), TR_TIMEOUT);
    stage.worker_sleeps[0] = false;
    stage_run(&stage);
    assert_int_equal(answers, 0);
    assert_int_equal(ask(fake, 2, 0), 0);
    assert_int_equal(answered, 3);
    assert_int_equal(answers, 1);
    stage_close(&stage);
}

static void test_ends_are_heard_meanwhile(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    struct tr_ref one = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    struct tr_ref other = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    uint64_t monitor;
    int reason = 1;
    assert_int_equal(tr_host_monitor(&stage.host, one, &monitor), 0);
    assert_int_equal(tr_host_ended(&stage.host, one, monitor, &reason), TR_NOT_FOUND);
    assert_int_equal(ask_to_stop(one), TR_NO_ACTOR);
    assert_int_equal(ask(other, 1, 0), 0);
    stage_run(&stage);
    assert_int_equal(tr_host_poll(&stage.host, -1, 1), 0);
    assert_int_equal(tr_host_ended(&stage.host, one, monitor, &reason), 0);
    assert_int_equal(reason, 0);
    assert_int_equal(tr_host_ended(&stage.host, one, monitor, &reason), TR_NOT_FOUND);
    stage_close(&stage);
}

static void test_each_monitor_hears_of_an_end(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    struct tr_ref one = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    uint64_t monitors[3];
    int reason = 1;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(tr_host_monitor(&stage.host, one, &monitors[i]), 0);
    }
    stage_run(&stage);
    assert_int_equal(ask_to_stop(one), TR_NO_ACTOR);
    stage_run(&stage);
    assert_int_equal(tr_host_monitor(&stage.host, one, &monitors[2]), 0); /* too late */
    stage_run(&stage);
    assert_int_equal(tr_host_poll(&stage.host, -1, 1), 0);
    for (size_t i = 0; i < 3; i++) {
        reason = 1;
        assert_int_equal(tr_host_ended(&stage.host, one, monitors[i], &reason), 0);
        assert_int_equal(reason, i < 2 ? 0 : TR_NO_ACTOR);
        assert_int_equal(tr_host_ended(&stage.host, one, monitors[i], &reason), TR_NOT_FOUND);
    }
    stage_close(&stage);
}

static struct tr_ref spawn_named(const char *name)
{
    struct tr_spawn_options options = {.name = tr_text_of(name)};
    return stage_spawn(&stage, &fake_actor_behaviour, &options);
}

static bool finds(const char *address, struct tr_ref who)
{
    struct tr_ref found;
    int error = tr_host_find(&stage.host, tr_text_of(address), &found);
    return error == 0 && tr_key_equal(found.key, who.key);
}

/* A launcher is called PROJECT/DOMAIN: the longest root that fits is meant. */
static void test_roots_may_hold_slashes(void **state)
{
    (void)state;
    struct tr_ref found;
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref demo = spawn_named("demo");
    struct tr_ref launcher = spawn_named("demo/development");
    assert_true(finds("/demo", demo));
    assert_true(finds("demo/development", launcher));
    assert_true(finds("/demo/development", launcher));
    assert_int_equal(tr_host_find(&stage.host, tr_text_of("/demo/develop"), &found), TR_NOT_FOUND);
    assert_int_equal(tr_host_find(&stage.host, tr_text_of("/demo/development/x"), &found),
                     TR_NOT_FOUND);
    assert_int_equal(tr_host_find(&stage.host, tr_text_of("/demon"), &found), TR_NOT_FOUND);
    stage_close(&stage);
}

static int spawn_group(struct tr_context *context, struct tr_fake_actor *fake,
                       const struct tr_act *act, const struct tr_message *message)
{
    (void)act;
    (void)message;
    struct tr_spawn_options options = {.name = tr_text_of("child"), .is_group = true};
    return tr_spawn(context, &fake_actor_behaviour, &options, &fake->peer);
}

/* The number of a group says who began it. */
static void test_roots_are_known_by_their_group(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 3});
    for (uint32_t i = 0; i < 7; i++) {
        struct tr_ref root = stage_spawn(&stage, &fake_actor_behaviour, NULL);
        assert_true(tr_key_equal(tr_group_root(root.key.group).key, root.key));
        fake_actor_act(&stage, root, spawn_group, 0, root);
        struct tri_actor *parent = stage_actor(&stage, root);
        const struct tr_fake_actor *fake = tri_actor_state(parent);
        assert_int_not_equal(fake->peer.key.group, root.key.group);
        assert_true(tr_key_equal(tr_group_root(fake->peer.key.group).key, fake->peer.key));
    }
    stage_close(&stage);
}

/* What was loaded is found before anything runs. */
static void test_loaded_actors_are_found(void **state)
{
    (void)state;
    struct tr_ref found;
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    struct tr_ref named = spawn_named("named");
    stage.host.is_started = false;
    assert_true(finds("/named", named));
    assert_int_equal(tr_host_find(&stage.host, tr_text_of("/other"), &found), TR_NOT_FOUND);
    stage.host.is_started = true;
    stage_close(&stage);
}

/* Several are spawned on one worker, in one commit, and the end of a watched one is heard of. */
static void test_spawns_share_a_commit(void **state)
{
    (void)state;
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    const struct tr_host_spawn_request spawns[TR_HOST_SPAWNS_MAX + 1] = {
        {&fake_actor_behaviour, {.name = tr_text_of("one")}},
        {&fake_actor_behaviour, {.name = tr_text_of("two"), .is_watched = true}},
        {&fake_actor_behaviour, {.name = tr_text_of("three")}},
    };
    struct tr_ref actors[3];
    struct tri_store *store;
    struct tri_model *model = tri_model_new();
    int reason;
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    stage_open(&stage, &(struct stage_options){.worker_count = 2, .store = store});
    assert_int_equal(tr_host_spawn_all(&stage.host, spawns, TR_COUNT_OF(spawns), actors), TR_LIMIT);
    assert_int_equal(tr_host_spawn_all(&stage.host, spawns, 3, actors), 0);
    assert_int_equal(stage.host.journal.commit_count, 1);
    assert_true(finds("/one", actors[0]) && finds("/two", actors[1]) && finds("/three", actors[2]));
    answers = 0;
    assert_int_equal(ask_to_stop(actors[1]), TR_NO_ACTOR);
    assert_int_equal(tr_host_wait(&stage.host, actors[1], 0, &reason), 0);
    assert_int_equal(reason, 0);
    stage_close(&stage);
    tri_store_close(store);
    tri_model_free(model);
}

/* What was shown of the actors. */
static char shown[4096];
static uint32_t mailboxes;

static void show(void *self, const struct tr_actor_info *actor)
{
    (void)self;
    size_t size = strlen(shown);
    mailboxes += actor->mailbox;
    snprintf(shown + size, sizeof shown - size, "%.*s %.*s %.*s %u\n", (int)actor->address.size,
             actor->address.data, (int)actor->behaviour.size, actor->behaviour.data,
             (int)actor->phase.size, actor->phase.data, actor->worker);
}

static uint64_t list(const char *pattern, uint32_t limit)
{
    uint64_t found = UINT64_MAX;
    shown[0] = '\0';
    mailboxes = 0;
    assert_int_equal(tr_host_actors(&stage.host, tr_text_of(pattern), limit, show, NULL, &found),
                     0);
    return found;
}

static void test_actors_are_shown(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    (void)spawn_named("orders");
    (void)spawn_named("demo/development");
    (void)spawn_named("other");
    assert_int_equal(list("/orders", 10), 1);
    assert_string_equal(shown, "/orders fake_actor idle 0\n");
    assert_int_equal(list("/**", 10), 3);
    assert_non_null(strstr(shown, "/demo/development fake_actor idle 1\n"));
    assert_int_equal(list("/**", 1), 3); /* one of each worker is shown */
    assert_null(strstr(shown, "/other"));
    assert_int_equal(list("/nobody/**", 10), 0);
    assert_string_equal(shown, "");
    char long_pattern[TR_TAP_GLOB_BYTES_MAX + 2];
    memset(long_pattern, 'x', sizeof long_pattern);
    struct tr_text text = {.data = long_pattern, .size = sizeof long_pattern};
    assert_int_equal(tr_host_actors(&stage.host, text, 1, show, NULL, NULL), TR_LIMIT);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_questions_have_one_end),
        cmocka_unit_test(test_questions_that_nobody_waits_for),
        cmocka_unit_test(test_a_late_answer_is_dropped),
        cmocka_unit_test(test_ends_are_heard_meanwhile),
        cmocka_unit_test(test_each_monitor_hears_of_an_end),
        cmocka_unit_test(test_roots_may_hold_slashes),
        cmocka_unit_test(test_roots_are_known_by_their_group),
        cmocka_unit_test(test_loaded_actors_are_found),
        cmocka_unit_test(test_spawns_share_a_commit),
        cmocka_unit_test(test_actors_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
