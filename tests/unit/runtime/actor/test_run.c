/*
 * What running an actor promises: handlers work on a copy, questions have exactly one end, and
 * what nobody waits for any more does not reach a handler.
 */
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;
static const struct tr_ref nobody;

#define SCRIPT(name)                                                        \
    static int name(struct tr_context *context, struct tr_fake_actor *fake, \
                    const struct tr_act *act, const struct tr_message *message)
#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})

static void open_stage(uint32_t workers)
{
    fake_actor_forget();
    stage_open(&stage, &(struct stage_options){.worker_count = workers});
}

static struct tr_ref fake(void)
{
    return stage_spawn(&stage, &fake_actor_behaviour, NULL);
}

SCRIPT(stop)
{
    UNUSED(fake, act, message);
    return tr_stop(context);
}

/* Asks with a time limit of `number`. */
SCRIPT(ask)
{
    UNUSED(message);
    return tr_ask(context, act->peer, &tr_question_schema, &(struct tr_question){10}, act->number,
                  &fake->ask);
}

/* Asks a fake actor to act, which then owes an answer. */
SCRIPT(ask_to_act)
{
    UNUSED(message);
    struct tr_act wish = {.script = act->number};
    return tr_ask(context, act->peer, &tr_act_schema, &wish, 50, &fake->ask);
}

SCRIPT(owe)
{
    UNUSED(context, act);
    struct tr_deferred_reply deferred = tr_message_deferred(message);
    fake->asker = deferred.asker;
    fake->deferred = deferred.ask;
    return 0;
}

SCRIPT(pay)
{
    UNUSED(message);
    struct tr_deferred_reply deferred = {fake->asker, fake->deferred};
    return tr_reply_deferred(context, deferred, &tr_answer_schema,
                             &(struct tr_answer){act->number});
}

SCRIPT(cancel)
{
    UNUSED(act, message);
    return tr_ask_cancel(context, fake->ask);
}

static uint64_t script(fake_actor_script function)
{
    return (uint64_t)(uintptr_t)function;
}

static void test_a_question_is_answered_once(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        open_stage(workers);
        struct tr_ref a = fake();
        struct tr_ref b = fake();
        fake_actor_act(&stage, a, ask, 1000, b);
        assert_int_equal(fake_actor_heard_times(a, &tr_answer_schema), 1);
        const struct heard *heard = fake_actor_heard_last(a, &tr_answer_schema);
        assert_int_equal(heard->number, 11);
        assert_int_equal(heard->kind, TR_KIND_REPLY);
        assert_int_equal(heard->ask, fake_actor_state(&stage, a)->ask);
        stage_advance(&stage, 1100); /* the time limit is forgotten */
        assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 0);
        stage_close(&stage);
    }
}

static void test_a_question_to_a_dead_actor_fails_at_once(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        open_stage(workers);
        struct tr_ref a = fake();
        struct tr_ref b = fake();
        fake_actor_act(&stage, b, stop, 0, nobody);
        fake_actor_act(&stage, a, ask, 1000, b);
        assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 1);
        assert_int_equal(fake_actor_heard_last(a, &tr_ask_failed_schema)->reason, TR_NO_ACTOR);
        assert_int_equal(stage_actor(&stage, a)->edges, 0);
        stage_close(&stage);
    }
}

static void test_whoever_ends_without_an_answer_has_answered_so(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        open_stage(workers);
        struct tr_ref a = fake();
        struct tr_ref b = fake();
        fake_actor_act(&stage, a, ask_to_act, script(owe), b);
        assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 0);
        fake_actor_act(&stage, b, stop, 0, nobody);
        assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 1);
        assert_int_equal(fake_actor_heard_last(a, &tr_ask_failed_schema)->reason, TR_NO_ACTOR);
        stage_close(&stage);
    }
}

/* It ends with the very message that was asked. */
static void test_stopping_while_handling_a_question_is_an_answer(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, ask_to_act, script(stop), b);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 1);
    assert_int_equal(fake_actor_heard_last(a, &tr_ask_failed_schema)->reason, TR_NO_ACTOR);
    stage_close(&stage);
}

static void test_the_reason_of_an_end_is_the_answer(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, ask_to_act, script(owe), b);
    tri_actor_end(stage_home(&stage, b), stage_actor(&stage, b), TR_FAILED);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_last(a, &tr_ask_failed_schema)->reason, TR_FAILED);
    stage_close(&stage);
}

static void test_a_question_times_out_and_its_late_reply_is_dropped(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, ask_to_act, script(owe), b);
    stage_advance(&stage, 49);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 0);
    stage_advance(&stage, 2);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 1);
    assert_int_equal(fake_actor_heard_last(a, &tr_ask_failed_schema)->reason, TR_TIMEOUT);
    fake_actor_act(&stage, b, pay, 5, nobody);
    assert_int_equal(fake_actor_heard_times(a, &tr_answer_schema), 0);
    assert_int_equal(stage_dead_letters(&stage, TR_LATE_REPLY), 1);
    stage_close(&stage);
}

static void test_a_deferred_reply_is_sent_once(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, ask_to_act, script(owe), b);
    fake_actor_act(&stage, b, pay, 5, nobody);
    assert_int_equal(fake_actor_heard_last(a, &tr_answer_schema)->number, 5);
    assert_int_equal(stage_actor(&stage, b)->edges, 0);
    fake_actor_act(&stage, b, pay, 6, nobody); /* TR_NOT_FOUND: the handler fails */
    assert_int_equal(stage_metric(&stage, handler_failures), 1);
    stage_advance(&stage, 100);
    assert_int_equal(fake_actor_heard_times(a, &tr_answer_schema), 1);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 0);
    stage_close(&stage);
}

static void test_a_cancelled_question_is_never_heard_of(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, ask_to_act, script(owe), b);
    fake_actor_act(&stage, a, cancel, 0, nobody);
    fake_actor_act(&stage, b, pay, 5, nobody);
    stage_advance(&stage, 100);
    assert_int_equal(fake_actor_heard_times(a, &tr_answer_schema), 0);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 0);
    assert_int_equal(stage_dead_letters(&stage, TR_LATE_REPLY), 1);
    stage_close(&stage);
}

/* A timeout that has come due and lies in the mailbox when the reply is handled. */
static void test_a_reply_and_a_timeout_are_never_both_heard(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, ask_to_act, script(owe), b);
    tri_actor_quarantine(stage_home(&stage, a), stage_actor(&stage, a));
    fake_actor_act(&stage, b, pay, 5, nobody);
    stage_advance(&stage, 100);
    assert_int_equal(stage_actor(&stage, a)->mailbox_count, 2);
    assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_answer_schema), 1);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 0);
    stage_close(&stage);
}

static void test_an_unexpected_message_is_a_dead_letter(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    uint8_t bytes[] = {1, 2, 3};
    struct tr_parcel parcel = {.content = {bytes, sizeof bytes}};
    stage_tell(&stage, a, &tr_parcel_schema, &parcel);
    stage_run(&stage);
    assert_int_equal(stage_dead_letters(&stage, TR_UNKNOWN_TYPE), 1);
    assert_int_equal(stage_metric(&stage, handler_failures), 0);
    stage_close(&stage);
}

SCRIPT(ask_unexpected)
{
    UNUSED(message);
    return tr_ask(context, act->peer, &tr_parcel_schema, &(struct tr_parcel){.content = {NULL, 0}},
                  0, &fake->ask);
}

static void test_an_unexpected_question_is_answered_so(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, ask_unexpected, 0, b);
    assert_int_equal(fake_actor_heard_last(a, &tr_ask_failed_schema)->reason, TR_UNKNOWN_TYPE);
    assert_int_equal(stage_actor(&stage, b)->edges, 0);
    stage_close(&stage);
}

/* ----------------------------------------------------------------- timers */

SCRIPT(start_timer)
{
    UNUSED(fake, message);
    return tr_timer_start(context, 7, act->number);
}

SCRIPT(stop_timer)
{
    UNUSED(fake, act, message);
    return tr_timer_stop(context, 7);
}

SCRIPT(start_and_stop_timer)
{
    UNUSED(fake, message);
    int error = tr_timer_start(context, 7, act->number);
    return error != 0 ? error : tr_timer_stop(context, 7);
}

static void test_a_timer_comes_once_and_not_early(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, start_timer, 20, nobody);
    stage_advance(&stage, 19);
    assert_int_equal(fake_actor_heard_times(a, &tr_timer_schema), 0);
    stage_advance(&stage, 1);
    assert_int_equal(fake_actor_heard_times(a, &tr_timer_schema), 1);
    assert_int_equal(fake_actor_heard_last(a, &tr_timer_schema)->number, 7);
    stage_advance(&stage, 100);
    assert_int_equal(fake_actor_heard_times(a, &tr_timer_schema), 1);
    assert_int_equal(stage_actor(&stage, a)->edges, 0);
    stage_close(&stage);
}

static void test_a_timer_of_the_same_id_takes_the_place_of_the_first(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, start_timer, 20, nobody);
    fake_actor_act(&stage, a, start_timer, 40, nobody);
    stage_advance(&stage, 39);
    assert_int_equal(fake_actor_heard_times(a, &tr_timer_schema), 0);
    stage_advance(&stage, 1);
    assert_int_equal(fake_actor_heard_times(a, &tr_timer_schema), 1);
    fake_actor_act(&stage, a, start_and_stop_timer, 5, nobody);
    stage_advance(&stage, 10);
    assert_int_equal(fake_actor_heard_times(a, &tr_timer_schema), 1);
    stage_close(&stage);
}

/* It has fired and lies in the mailbox when it is stopped, and when it is started anew. */
static void test_a_timer_on_its_way_can_still_be_stopped(void **state)
{
    (void)state;
    for (int anew = 0; anew < 2; anew++) {
        open_stage(1);
        struct tr_ref a = fake();
        fake_actor_act(&stage, a, start_timer, 5, nobody);
        struct tri_actor *actor = stage_actor(&stage, a);
        tri_actor_quarantine(stage_home(&stage, a), actor);
        fake_actor_act(&stage, a, anew ? start_timer : stop_timer, 30, nobody);
        stage_advance(&stage, 10);
        assert_int_equal(actor->mailbox_count, 2);
        assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
        stage_run(&stage);
        assert_int_equal(fake_actor_heard_times(a, &tr_timer_schema), 0);
        stage_advance(&stage, 40);
        assert_int_equal(fake_actor_heard_times(a, &tr_timer_schema), anew);
        assert_int_equal(stage_metric(&stage, dead_letters), 0);
        stage_close(&stage);
    }
}

/* --------------------------------------------------------------- fairness */

static void test_an_actor_gives_way_after_its_share(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    for (uint64_t i = 0; i < 3 * TR_RUN_MESSAGES_MAX; i++) {
        fake_actor_note(&stage, a, i);
    }
    fake_actor_note(&stage, b, 1);
    stage_run(&stage);
    size_t before = 0;
    while (!tr_key_equal(fake_actor_heard[before].self.key, b.key)) {
        before++;
    }
    assert_int_equal(before, TR_RUN_MESSAGES_MAX);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_question_is_answered_once),
        cmocka_unit_test(test_a_question_to_a_dead_actor_fails_at_once),
        cmocka_unit_test(test_whoever_ends_without_an_answer_has_answered_so),
        cmocka_unit_test(test_stopping_while_handling_a_question_is_an_answer),
        cmocka_unit_test(test_the_reason_of_an_end_is_the_answer),
        cmocka_unit_test(test_a_question_times_out_and_its_late_reply_is_dropped),
        cmocka_unit_test(test_a_deferred_reply_is_sent_once),
        cmocka_unit_test(test_a_cancelled_question_is_never_heard_of),
        cmocka_unit_test(test_a_reply_and_a_timeout_are_never_both_heard),
        cmocka_unit_test(test_an_unexpected_message_is_a_dead_letter),
        cmocka_unit_test(test_an_unexpected_question_is_answered_so),
        cmocka_unit_test(test_a_timer_comes_once_and_not_early),
        cmocka_unit_test(test_a_timer_of_the_same_id_takes_the_place_of_the_first),
        cmocka_unit_test(test_a_timer_on_its_way_can_still_be_stopped),
        cmocka_unit_test(test_an_actor_gives_way_after_its_share),
    };
    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
