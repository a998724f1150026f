/*
 * Run queues: first in, first out; supervision first, but one ordinary actor after each burst.
 */
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

#define ACTORS 40

static struct stage stage;
static struct tri_actor *actors[ACTORS];

static void open_stage(void)
{
    stage_open(&stage, &(struct stage_options){0});
    struct tr_ref refs[ACTORS];
    for (size_t i = 0; i < ACTORS; i++) {
        refs[i] = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    }
    stage_run(&stage);
    for (size_t i = 0; i < ACTORS; i++) {
        actors[i] = stage_actor(&stage, refs[i]);
    }
}

/* What the queue gave is idle again, as after its run. */
static struct tri_actor *next(void)
{
    struct tri_actor *actor = tri_queue_pop(stage_worker(&stage, 0));
    if (actor != NULL) {
        actor->phase = TRI_IDLE;
        actor->flags &= (uint16_t)~TRI_ACTOR_URGENT;
    }
    return actor;
}

static void test_first_in_is_first_out(void **state)
{
    (void)state;
    open_stage();
    for (size_t i = 0; i < ACTORS; i++) {
        tri_queue_push(stage_worker(&stage, 0), actors[i]);
        assert_int_equal(actors[i]->phase, TRI_READY);
    }
    for (size_t i = 0; i < ACTORS; i++) {
        assert_ptr_equal(next(), actors[i]);
    }
    assert_null(next());
    stage_close(&stage);
}

static void test_supervision_goes_first_but_not_for_ever(void **state)
{
    (void)state;
    open_stage();
    struct tri_worker *worker = stage_worker(&stage, 0);
    for (size_t i = 0; i < ACTORS; i++) {
        bool is_urgent = i >= 2; /* two ordinary ones wait from the beginning */
        actors[i]->flags |= is_urgent ? TRI_ACTOR_URGENT : 0;
        tri_queue_push(worker, actors[i]);
    }
    worker->urgent_in_row = 0;
    size_t place[2] = {0};
    for (size_t i = 0; i < ACTORS; i++) {
        struct tri_actor *actor = next();
        place[0] = actor == actors[0] ? i : place[0];
        place[1] = actor == actors[1] ? i : place[1];
    }
    assert_int_equal(place[0], TR_SUPERVISION_BURST);
    assert_int_equal(place[1], 2 * TR_SUPERVISION_BURST + 1);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_in_is_first_out),
        cmocka_unit_test(test_supervision_goes_first_but_not_for_ever),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
