/*
 * An actor and a singleton of another host: it begins there before it gets what the actor says,
 * once and in order, whatever crashes and whoever has its partition then.
 */
#include <stdio.h>

#include "tests/unit/runtime/cluster/crossing.h"

static char name[16]; /* of a singleton in the partition of host 1 */

static void choose_name(void)
{
    struct tr_ref there = {.incarnation = 0};
    const struct tri_shared *shared = &crossing.hosts[0].stage.host.shared;
    for (int i = 0; tri_group_partition(there.key.group) != 2; i++) {
        snprintf(name, sizeof name, "name%d", i);
        assert_int_equal(tri_singleton_ref(shared, tr_text_of(name), 0, &there), 0);
    }
}

static int begin_and_say(struct tr_context *context, struct tr_fake_actor *fake,
                         const struct tr_act *act, const struct tr_message *message)
{
    struct tr_note note = {act->number};
    struct tr_question question = {act->number + 10};
    (void)message;
    int error = tr_singleton(context, &fake_actor_behaviour, tr_text_of(name), 0, &fake->peer);
    if (error == 0) {
        error = tr_tell(context, fake->peer, &tr_note_schema, &note);
    }
    return error != 0 ? error
                      : tr_ask(context, fake->peer, &tr_question_schema, &question, 0, &fake->ask);
}

static struct tr_ref begin(uint32_t workers)
{
    crossing_open(workers);
    choose_name();
    struct tr_ref fake = crossing_fake(0);
    crossing_run();
    return fake;
}

static void let_say(struct tr_ref fake, uint64_t number)
{
    crossing_act(fake, begin_and_say, number, (struct tr_ref){0});
    crossing_run();
}

/* The only one of its name, on a host, has heard so much, the last of it a question. */
static void assert_heard(uint32_t host, struct tr_ref fake, uint64_t times, uint64_t number)
{
    struct tr_ref singleton;
    struct stage *stage = &crossing.hosts[host].stage;
    assert_int_equal(tr_host_find(&stage->host, tr_text_of(name), &singleton), 0);
    assert_int_equal(fake_actor_state(stage, singleton)->count, times);
    assert_int_equal(fake_actor_state(stage, singleton)->number, number);
    assert_int_equal(fake_actor_heard_last(fake, &tr_answer_schema)->number, number + 1);
}

static void it_begins_on_the_host_of_its_partition(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct tr_ref fake = begin(workers);
        let_say(fake, 1);
        let_say(fake, 2);
        assert_heard(1, fake, 4, 12);
        assert_int_equal(fake_actor_heard_times(fake, &tr_control_reply_schema), 0);
        crossing_close();
    }
}

static void it_begins_when_its_host_can_be_reached(void **state)
{
    (void)state;
    struct tr_ref fake = begin(2);
    crossing_link(0, false);
    crossing_link(1, false);
    let_say(fake, 1);
    assert_int_equal(fake_actor_heard_times(fake, &tr_answer_schema), 0);
    crossing_crash(1);
    crossing_link(0, true);
    crossing_link(1, true);
    crossing_advance(TR_INTERHOST_AGAIN_MAX_MS);
    struct tr_ref singleton;
    struct stage *there = &crossing.hosts[1].stage;
    assert_int_equal(tr_host_find(&there->host, tr_text_of(name), &singleton), 0);
    assert_int_equal(fake_actor_state(there, singleton)->count, 2);
    let_say(fake, 2);
    assert_heard(1, fake, 4, 12);
    crossing_close();
}

/* One that has begun is there for whoever takes its partition. */
static void it_goes_on_where_its_partition_does(void **state)
{
    (void)state;
    struct tr_ref fake = begin(2);
    let_say(fake, 1);
    crossing_take(1);
    let_say(fake, 2);
    assert_heard(0, fake, 4, 12);
    crossing_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_begins_on_the_host_of_its_partition),
        cmocka_unit_test(it_begins_when_its_host_can_be_reached),
        cmocka_unit_test(it_goes_on_where_its_partition_does),
    };
    return cmocka_run_group_tests_name("singleton", tests, NULL, NULL);
}
