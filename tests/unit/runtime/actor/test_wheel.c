/*
 * The timer wheel against a list that knows nothing of wheels: random timers near and far, some
 * taken back, time in steps small and large.
 */
#include "tests/support/draw.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

#define TIMERS 600

static struct stage stage;

struct model {
    struct tri_edge *edges[TIMERS]; /* NULL: none */
    uint64_t due_ms[TIMERS];
};

/* Delays of every size: a person's "in a moment" as well as "in a hundred years". */
static uint64_t draw_delay(struct draw *draw)
{
    static const unsigned widths[] = {4, 8, 12, 20, 30, 42};
    return draw_u64(draw) & ((1ULL << widths[draw_below(draw, TR_COUNT_OF(widths))]) - 1);
}

static void start(struct tri_worker *worker, struct tri_actor *actor, struct model *model,
                  size_t place, uint64_t delay_ms)
{
    struct tri_edge *edge = tri_edge_add(worker, actor, TRI_EDGE_TIMER, (struct tr_ref){0}, place);
    assert_non_null(edge);
    edge->due_ms = worker->wheel.now_ms + delay_ms;
    model->edges[place] = edge;
    model->due_ms[place] = edge->due_ms;
    tri_wheel_insert(worker, edge);
}

static void stop(struct tri_worker *worker, struct tri_actor *actor, struct model *model,
                 size_t place)
{
    tri_edge_remove(worker, actor, model->edges[place]);
    model->edges[place] = NULL;
}

static uint64_t earliest(const struct model *model)
{
    uint64_t due_ms = UINT64_MAX;
    for (size_t i = 0; i < TIMERS; i++) {
        if (model->edges[i] != NULL && model->due_ms[i] < due_ms) {
            due_ms = model->due_ms[i];
        }
    }
    return due_ms;
}

/* Lets time pass and insists that exactly what is due fires, in order of time. */
static void pass(struct tri_worker *worker, struct tri_actor *actor, struct model *model,
                 uint64_t now_ms)
{
    struct tri_edge *edge;
    while ((edge = tri_wheel_expire(worker, now_ms)) != NULL) {
        size_t place = (size_t)edge->id;
        assert_ptr_equal(model->edges[place], edge);
        assert_true(edge->due_ms <= now_ms);
        assert_int_equal(edge->due_ms, earliest(model));
        stop(worker, actor, model, place);
    }
    assert_true(earliest(model) > now_ms);
    assert_true(tri_wheel_next_ms(worker) <= earliest(model)); /* never sleeps too long */
    assert_true(tri_wheel_next_ms(worker) > now_ms);
}

static void run_seed(uint64_t seed)
{
    struct draw draw = {seed};
    struct model model = {{NULL}, {0}};
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref owner = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    struct tri_worker *worker = stage_worker(&stage, 0);
    struct tri_actor *actor = stage_actor(&stage, owner);
    uint64_t now_ms = worker->wheel.now_ms;
    for (int step = 0; step < 300; step++) {
        for (int i = 0; i < 20; i++) {
            size_t place = draw_below(&draw, TIMERS);
            if (model.edges[place] == NULL) {
                start(worker, actor, &model, place, draw_delay(&draw));
            } else if (draw_below(&draw, 4) == 0) {
                stop(worker, actor, &model, place);
            }
        }
        now_ms += draw_delay(&draw) >> draw_below(&draw, 8);
        pass(worker, actor, &model, now_ms);
    }
    stage_close(&stage);
}

static void test_timers_fire_when_a_list_says_so(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        run_seed(seed);
    }
}

static void test_an_empty_wheel_waits_for_nothing(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tri_worker *worker = stage_worker(&stage, 0);
    assert_int_equal(tri_wheel_next_ms(worker), UINT64_MAX);
    assert_null(tri_wheel_expire(worker, worker->wheel.now_ms + 123456789));
    stage_close(&stage);
}

/* What is already due when it starts comes at the next look. */
static void test_a_time_in_the_past_is_now(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref owner = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    struct tri_worker *worker = stage_worker(&stage, 0);
    struct tri_actor *actor = stage_actor(&stage, owner);
    struct tri_edge *edge = tri_edge_add(worker, actor, TRI_EDGE_TIMER, (struct tr_ref){0}, 1);
    edge->due_ms = 1;
    tri_wheel_insert(worker, edge);
    assert_ptr_equal(tri_wheel_expire(worker, worker->wheel.now_ms), edge);
    assert_null(tri_wheel_expire(worker, worker->wheel.now_ms));
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers_fire_when_a_list_says_so),
        cmocka_unit_test(test_an_empty_wheel_waits_for_nothing),
        cmocka_unit_test(test_a_time_in_the_past_is_now),
    };
    return cmocka_run_group_tests_name("wheel", tests, NULL, NULL);
}
