/*
 * Schedules: each time starts one execution, whatever crashes and however the clock goes; what
 * overlaps, was missed or is not there is dealt with as the plan says.
 */
#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/value/literal.h"
#include "actors/graph/value/slot.h"
#include "tests/unit/actors/services/timetable.h"

#define EVERY_MINUTE "schedule: {every: 1m, kickoff_input: at"

/* ------------------------------------------------------------------------ firing */

static void test_each_time_starts_one(void **state)
{
    (void)state;
    timetable_begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", true);
    assert_int_equal(timetable_apply("p").change, TR_SCHEDULE_CREATED);
    timetable_pass(5 * MINUTE);
    assert_int_equal(timetable_begun(), 5);
    for (int64_t i = 0; i < 5; i++) {
        assert_int_equal(timetable_begun_at("p", timetable_first_of(MINUTE) + i * MINUTE), 1);
    }
    struct tr_schedule_row row;
    assert_true(timetable_row_of("p", &row));
    assert_int_equal(row.started, 5);
    assert_int_equal(row.outcome, TR_SCHEDULE_OUTCOME_STARTED);
    assert_int_equal(row.next_ms, (timetable_first_of(MINUTE) + 5 * MINUTE) * 1000);
    assert_true(tr_text_equal(row.fires, tr_text_of("every 1m")));
    char name[TR_SCHEDULE_NAME_BYTES];
    struct tr_execution execution;
    tr_schedule_name(tr_text_of("p"), timetable_first_of(MINUTE), name);
    assert_true(flow_execution(timetable_flow, name, &execution));
    assert_true(tr_text_equal(execution.cause, tr_text_of("schedule p")));
    assert_true(tr_text_equal(execution.plan, tr_text_of("p")));
    assert_int_equal(execution.phase, TR_EXECUTION_SUCCEEDED);
    timetable_end();
}

/* Where launchers are in shards it asks that of the execution's name. */
static void test_each_time_starts_one_in_its_shard(void **state)
{
    (void)state;
    timetable_begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", true);
    timetable_flow->engine->launcher_shards = TR_LAUNCHER_SHARDS;
    timetable_flow->launcher = (struct tr_ref){0}; /* the program names none */
    assert_int_equal(timetable_apply("p").change, TR_SCHEDULE_CREATED);
    uint32_t before = stage_actor_count(&timetable_flow->stage);
    timetable_pass(3 * MINUTE);
    timetable_crash(10);
    timetable_pass(2 * MINUTE);
    assert_int_equal(timetable_begun(), 5);
    assert_true(stage_actor_count(&timetable_flow->stage) > before);
    struct tr_schedule_row row;
    assert_true(timetable_row_of("p", &row));
    assert_int_equal(row.started, 5);
    timetable_end();
}

static void take_kept(void *self, const struct tr_message *message, int reason)
{
    struct tr_schedule_kept kept;
    assert_int_equal(reason, 0);
    assert_int_equal(tr_message_read(message, schedule_kept, &kept), 0);
    assert_int_equal(kept.error, 0);
    *(uint8_t *)self = kept.change;
}

/* The program of another host has put the graph into the store, and asks here. */
static void test_a_plan_waits_for_its_graph(void **state)
{
    (void)state;
    timetable_begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", true);
    struct flow *flow = timetable_flow;
    struct tr_graph_registry *registry = &flow->engine->registry;
    struct tr_buffer packed;
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    uint8_t change = 0;
    flow->engine->launcher_shards = TR_LAUNCHER_SHARDS;
    flow->engine->life = 7;
    memcpy(hash, flow->graph->hash, sizeof hash);
    tr_buffer_init(&packed, 0);
    uint64_t before = tr_memory_used();
    assert_int_equal(tr_graph_pack(flow->graph, &packed), 0);
    tr_graph_registry_drop(registry, flow->graph_number);
    assert_int_equal(tr_graph_unpack(tr_buffer_bytes(&packed), &flow->graph), 0);
    tr_buffer_fini(&packed);
    /* The graph that comes takes another size; who holds it is counted when it is there. */
    flow->stage.memory_before += tr_memory_used() - before + sizeof(struct tri_graph_holders);
    memcpy(flow->graph->hash, hash, sizeof hash);
    flow->stored = flow->graph;
    struct tr_schedule_set set = {.address = tr_text_of("default/development/p"),
                                  .graph = {.data = hash, .size = sizeof hash},
                                  .plan = tr_graph_find_plan(flow->graph, tr_text_of("p")),
                                  .at_ms = flow->stage.wall_ms};
    assert_int_equal(tr_host_ask_on(&flow->stage.host, timetable_schedules, &tr_schedule_set_schema,
                                    &set, take_kept, &change),
                     0);
    timetable_settle();
    assert_int_equal(tr_host_poll(&flow->stage.host, -1, 1), 0);
    assert_int_equal(change, TR_SCHEDULE_CREATED);
    assert_non_null(tr_graph_registry_find(registry, flow->graph_number)); /* the schedules' */
    timetable_pass(2 * MINUTE);
    assert_int_equal(timetable_begun(), 2);
    timetable_end();
}

static void test_inputs(void **state)
{
    (void)state;
    timetable_begin("  p: {workflow: main, inputs: {n: 7}, " EVERY_MINUTE "}}\n", true);
    struct tr_buffer inputs;
    struct tr_bytes slot;
    tr_buffer_init(&inputs, 0);
    assert_int_equal(tr_schedule_inputs(timetable_flow->graph, &timetable_flow->graph->plans[0],
                                        START_S, &inputs),
                     0);
    assert_int_equal(tr_slots_get(tr_buffer_bytes(&inputs), 1, &slot), 0);
    assert_int_equal(slot.data[0], 7);
    assert_int_equal(tr_slots_get(tr_buffer_bytes(&inputs), 0, &slot), 0);
    struct tr_cursor cursor = tr_cursor_of(slot);
    assert_int_equal(tr_read_moment(&cursor).seconds, START_S);
    tr_buffer_fini(&inputs);
    timetable_end();
}

static void test_a_name_that_was_used_is_left(void **state)
{
    (void)state;
    timetable_begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", true);
    char name[TR_SCHEDULE_NAME_BYTES];
    tr_schedule_name(tr_text_of("p"), timetable_first_of(MINUTE), name);
    flow_launch(timetable_flow, "main", "[\"2026-08-20\", 1]", name);
    timetable_settle();
    (void)timetable_apply("p");
    timetable_pass(MINUTE);
    assert_int_equal(timetable_begun(), 1);
    assert_int_equal(timetable_outcome_of("p"), TR_SCHEDULE_OUTCOME_EXISTED);
    timetable_pass(MINUTE);
    assert_int_equal(timetable_begun(), 2);
    timetable_end();
}

/* ------------------------------------------------------------------------ overlap */

static void run_long(const char *plan)
{
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 90 * 1000}}, {0}};
    timetable_begin(plan, true);
    flow_obey(timetable_flow, rules);
    (void)timetable_apply("p");
}

static void test_overlaps_are_skipped(void **state)
{
    (void)state;
    run_long("  p: {workflow: main, " EVERY_MINUTE "}}\n");
    timetable_pass(2 * MINUTE);
    assert_int_equal(timetable_begun(), 1);
    assert_int_equal(timetable_outcome_of("p"), TR_SCHEDULE_OUTCOME_SKIPPED);
    timetable_pass(MINUTE);
    assert_int_equal(timetable_begun(), 2);
    assert_int_equal(timetable_begun_at("p", timetable_first_of(MINUTE) + MINUTE), 0);
    assert_int_equal(timetable_begun_at("p", timetable_first_of(MINUTE) + 2 * MINUTE), 1);
    timetable_end();
}

/* An execution that cannot be reached may run: nothing begins beside it. */
static void test_what_cannot_be_reached_still_overlaps(void **state)
{
    (void)state;
    run_long("  p: {workflow: main, " EVERY_MINUTE "}}\n");
    timetable_pass(MINUTE);
    assert_int_equal(timetable_begun(), 1);
    struct tr_ref plan;
    struct tr_text address = tr_text_of("/sys/schedules/default.development.p");
    assert_int_equal(tr_host_find(&timetable_flow->stage.host, address, &plan), 0);
    stage_lose_monitors(&timetable_flow->stage, plan);
    timetable_pass(MINUTE);
    assert_int_equal(timetable_begun(), 1);
    assert_int_equal(timetable_outcome_of("p"), TR_SCHEDULE_OUTCOME_SKIPPED);
    timetable_pass(MINUTE); /* its end is heard of */
    assert_int_equal(timetable_begun(), 2);
    timetable_end();
}

static void test_overlaps_are_allowed(void **state)
{
    (void)state;
    run_long("  p: {workflow: main, " EVERY_MINUTE ", overlap: allow}}\n");
    timetable_pass(4 * MINUTE);
    assert_int_equal(timetable_begun(), 4);
    timetable_end();
}

static void test_overlaps_are_replaced(void **state)
{
    (void)state;
    run_long("  p: {workflow: main, " EVERY_MINUTE ", overlap: replace}}\n");
    timetable_pass(3 * MINUTE);
    assert_int_equal(timetable_begun(), 3);
    char name[TR_SCHEDULE_NAME_BYTES];
    tr_schedule_name(tr_text_of("p"), timetable_first_of(MINUTE), name);
    assert_int_equal(flow_phase(timetable_flow, name), TR_EXECUTION_ABORTED);
    tr_schedule_name(tr_text_of("p"), timetable_first_of(MINUTE) + 2 * MINUTE, name);
    assert_int_equal(flow_phase(timetable_flow, name), TR_EXECUTION_RUNNING);
    timetable_end();
}

/* The notes of a row: how many, and the first and last time that they say. */
static uint32_t read_notes(int64_t *first, int64_t *last)
{
    struct tr_schedule_row row;
    assert_true(timetable_row_of("p", &row));
    struct tr_cursor cursor = tr_cursor_of(row.omitted);
    uint32_t count = row.omitted.size == 0 ? 0 : tr_read_array(&cursor);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(tr_read_array(&cursor), 3);
        *last = tr_read_i64(&cursor);
        *first = i == 0 ? *last : *first;
        assert_int_equal(tr_read_i64(&cursor), *last + 1);
        assert_int_equal(tr_read_u64(&cursor), TR_SCHEDULE_OUTCOME_SKIPPED);
    }
    assert_int_equal(cursor.error, 0);
    return count;
}

static void test_the_latest_times_that_were_skipped_are_noted(void **state)
{
    (void)state;
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 3600 * 1000}}, {0}};
    int64_t first = 0;
    int64_t last = 0;
    timetable_begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", true);
    flow_obey(timetable_flow, rules);
    (void)timetable_apply("p");
    timetable_pass(2 * MINUTE);
    assert_int_equal(read_notes(&first, &last), 1);
    assert_int_equal(first, timetable_first_of(MINUTE) + MINUTE);
    timetable_pass(30 * MINUTE);
    assert_int_equal(read_notes(&first, &last), TR_SCHEDULE_OMITTED_MAX);
    assert_int_equal(last, timetable_first_of(MINUTE) + 31 * MINUTE);
    assert_int_equal(first, last - (int64_t)(TR_SCHEDULE_OMITTED_MAX - 1) * MINUTE);
    timetable_end();
}

/* The clock is set back, and the program knows nothing yet of what was begun: not committed. */
static void test_what_has_just_begun_is_not_replaced(void **state)
{
    (void)state;
    char name[TR_SCHEDULE_NAME_BYTES];
    run_long("  p: {workflow: main, " EVERY_MINUTE ", overlap: replace}}\n");
    timetable_pass(MINUTE);
    assert_int_equal(timetable_begun(), 1);
    timetable_is_forgetful = true;
    timetable_set_clock(-MINUTE / 2);
    timetable_wake();
    timetable_pass(MINUTE / 2);
    timetable_is_forgetful = false;
    assert_int_equal(timetable_outcome_of("p"), TR_SCHEDULE_OUTCOME_EXISTED);
    assert_int_equal(timetable_begun(), 1);
    tr_schedule_name(tr_text_of("p"), timetable_first_of(MINUTE), name);
    assert_int_equal(flow_phase(timetable_flow, name), TR_EXECUTION_RUNNING);
    timetable_end();
}

/* ------------------------------------------------------------------- what was missed */

static void miss(const char *catch_up)
{
    char plan[256];
    snprintf(plan, sizeof plan,
             "  p: {workflow: main, schedule: {cron: \"0 * * * *\", kickoff_input: at, "
             "overlap: allow, catch_up: %s}}\n",
             catch_up);
    timetable_begin(plan, true);
    (void)timetable_apply("p");
    timetable_crash(timetable_first_of(HOUR) - START_S + 3 * HOUR + 600);
    timetable_settle();
    timetable_pass(5);
}

static void test_missed_times(void **state)
{
    (void)state;
    miss("all");
    assert_int_equal(timetable_begun(), 4);
    assert_int_equal(timetable_begun_at("p", timetable_first_of(HOUR)), 1);
    timetable_end();
    miss("last");
    assert_int_equal(timetable_begun(), 1);
    assert_int_equal(timetable_begun_at("p", timetable_first_of(HOUR) + 3 * HOUR), 1);
    timetable_end();
    miss("none");
    assert_int_equal(timetable_begun(), 0);
    assert_int_equal(timetable_outcome_of("p"), TR_SCHEDULE_OUTCOME_MISSED);
    timetable_pass(HOUR);
    assert_int_equal(timetable_begun(), 1);
    timetable_end();
}

/* ------------------------------------------------------------------- resting, waking */

static void test_they_rest_where_nobody_fires(void **state)
{
    (void)state;
    timetable_begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", false);
    (void)timetable_apply("p");
    timetable_pass(3 * MINUTE);
    struct tr_schedule_row row;
    assert_true(timetable_row_of("p", &row));
    assert_int_equal(timetable_begun(), 0);
    assert_int_equal(row.step, TR_SCHEDULE_IDLE);
    assert_int_equal(row.next_ms, timetable_first_of(MINUTE) * 1000);
    timetable_crash(0);
    timetable_flow->engine->fires_schedules = true;
    timetable_wake();
    timetable_pass(1);
    assert_int_equal(timetable_begun(), 1); /* the last one that was missed */
    timetable_pass(MINUTE);
    assert_int_equal(timetable_begun(), 2);
    timetable_end();
}

static void test_clocks_that_are_set(void **state)
{
    (void)state;
    timetable_begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", true);
    (void)timetable_apply("p");
    timetable_pass(10 * MINUTE);
    assert_int_equal(timetable_begun(), 10);
    timetable_set_clock(-5 * MINUTE);
    timetable_wake();
    timetable_pass(5 * MINUTE);
    assert_int_equal(timetable_begun(), 10);
    timetable_pass(MINUTE);
    assert_int_equal(timetable_begun(), 11);
    timetable_set_clock(HOUR);
    timetable_wake();
    timetable_pass(1);
    assert_int_equal(timetable_begun(), 12); /* the last one of those that were jumped over */
    timetable_set_clock(-HOUR);
    timetable_wake();
    timetable_pass(3 * MINUTE);
    assert_int_equal(timetable_begun(), 15);
    timetable_end();
}

/* What it waits for was found by a clock that was ahead: before it ever fired, and after times that
 * it has passed over, so that what was dealt with last lies behind the clock. */
static void test_a_clock_that_was_ahead(void **state)
{
    (void)state;
    timetable_begin("  p: {workflow: main, schedule: {cron: \"* * * * *\", kickoff_input: at, "
                    "catch_up: none}}\n",
                    true);
    timetable_set_clock(HOUR);
    (void)timetable_apply("p");
    timetable_settle();
    timetable_set_clock(-HOUR);
    timetable_wake();
    timetable_pass(2 * MINUTE);
    assert_int_equal(timetable_begun(), 2);
    timetable_set_clock(HOUR);
    timetable_wake();
    timetable_settle();
    assert_int_equal(timetable_outcome_of("p"), TR_SCHEDULE_OUTCOME_MISSED);
    timetable_set_clock(MINUTE / 2 - HOUR);
    timetable_wake();
    timetable_pass(2 * MINUTE);
    assert_int_equal(timetable_begun(), 4);
    timetable_end();
}

/* --------------------------------------------------------- changes and trouble */

static void test_applying_again(void **state)
{
    (void)state;
    timetable_begin("  p: {workflow: main, " EVERY_MINUTE "}}\n  q: {workflow: main}\n", true);
    assert_int_equal(timetable_apply("p").change, TR_SCHEDULE_CREATED);
    assert_int_equal(timetable_apply("p").change, TR_SCHEDULE_UNCHANGED);
    assert_int_equal(timetable_apply("q").error, TR_INVALID);
    timetable_pass(MINUTE);
    assert_int_equal(timetable_drop("p").change, TR_SCHEDULE_DELETED);
    assert_int_equal(timetable_drop("p").error, TR_NOT_FOUND);
    struct tr_schedule_row row;
    assert_false(timetable_row_of("p", &row));
    timetable_pass(2 * MINUTE);
    assert_int_equal(timetable_begun(), 1);
    /* Whoever comes back starts no time twice. */
    timetable_set_clock(-3 * MINUTE);
    assert_int_equal(timetable_apply("p").change, TR_SCHEDULE_CREATED);
    timetable_pass(3 * MINUTE);
    assert_int_equal(timetable_begun_at("p", timetable_first_of(MINUTE)), 1);
    assert_int_equal(timetable_begun(), 3);
    timetable_end();
}

static void take_held(void *self, const struct tr_message *message)
{
    struct tr_graph_held held;
    assert_int_equal(tr_message_read(message, graph_held, &held), 0);
    *(uint64_t *)self = held.executions;
}

/* How many plans the schedules hold the graph for. */
static uint64_t holders(void)
{
    uint64_t count = UINT64_MAX;
    struct tr_graph_hold hold = {.graph = timetable_flow->graph_number};
    assert_int_equal(tr_host_ask(&timetable_flow->stage.host, timetable_schedules,
                                 &tr_graph_hold_schema, &hold, 0, take_held, &count),
                     0);
    return count;
}

static void test_the_graph_is_held(void **state)
{
    (void)state;
    timetable_begin("  p: {workflow: main, " EVERY_MINUTE "}}\n  q: {workflow: main, " EVERY_MINUTE
                    "}}\n",
                    true);
    (void)timetable_apply("p");
    assert_int_equal(holders(), 1);
    (void)timetable_apply("q");
    assert_int_equal(holders(), 2);
    (void)timetable_drop("p");
    (void)timetable_drop("q");
    assert_int_equal(holders(), 0);
    timetable_end();
}

static void test_what_cannot_be_looked_up_is_tried_again(void **state)
{
    (void)state;
    timetable_begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", true);
    timetable_is_broken = true;
    (void)timetable_apply("p");
    struct tr_schedule_row row;
    assert_true(timetable_row_of("p", &row));
    assert_true(tr_text_equal(row.problem, tr_text_of("no such zone")));
    timetable_is_broken = false;
    timetable_pass(MINUTE);
    assert_true(timetable_row_of("p", &row));
    assert_int_equal(row.problem.size, 0);
    assert_int_equal(timetable_begun(), 1);
    timetable_end();
}

/* Wherever the engine dies, each time has its one execution. */
static void test_crashes(void **state)
{
    (void)state;
    bool has_ended = false;
    for (uint32_t turns = 0; !has_ended; turns++) {
        timetable_begin("  p: {workflow: main, " EVERY_MINUTE ", overlap: allow, catch_up: all}}\n",
                        true);
        (void)timetable_apply("p");
        timetable_pass(timetable_first_of(MINUTE) - START_S - 1);
        timetable_flow->stage.now_ns += 1000000000ULL;
        timetable_flow->stage.wall_ms += 1000;
        uint32_t turn = 0;
        for (uint32_t idle = 0; turn < turns && idle < 3; turn++) {
            bool is_busy = stage_step(&timetable_flow->stage);
            is_busy = timetable_serve() || is_busy;
            idle = is_busy ? 0 : idle + 1;
        }
        has_ended = turn < turns;
        timetable_crash(0);
        timetable_settle();
        timetable_pass(2 * MINUTE);
        for (int64_t i = 0; i < 3; i++) {
            if (timetable_begun_at("p", timetable_first_of(MINUTE) + i * MINUTE) != 1) {
                fail_msg("after %u turns: %zu at minute %lld", turns,
                         timetable_begun_at("p", timetable_first_of(MINUTE) + i * MINUTE),
                         (long long)i);
            }
        }
        assert_int_equal(timetable_begun(), 3);
        timetable_end();
    }
}

/* ---------------------------------------------------------------------- very many */

#define MANY_SHORT 200
#define MANY_LONG 2000

/* The definition of so many plans, for free. */
static char *write_plans(size_t count)
{
    size_t size = count * 96 + 1;
    size_t at = 0;
    char *plans = malloc(size);
    for (size_t i = 0; i < count; i++) {
        at += (size_t)snprintf(plans + at, size - at, "  p%zu: {workflow: main, %s}}\n", i,
                               EVERY_MINUTE);
    }
    return plans;
}

static void test_very_many(void **state)
{
    (void)state;
    size_t count = getenv("TROUPE_TEST_LONG") != NULL ? MANY_LONG : MANY_SHORT;
    char *plans = write_plans(count);
    timetable_begin(plans, true);
    free(plans);
    timetable_is_forgetful = true;
    for (size_t i = 0; i < count; i++) {
        char plan[16];
        snprintf(plan, sizeof plan, "p%zu", i);
        assert_int_equal(timetable_apply(plan).change, TR_SCHEDULE_CREATED);
    }
    timetable_wake();
    timetable_pass(2 * MINUTE);
    assert_int_equal(timetable_begun(), 2 * count);
    for (size_t i = 0; i < count; i++) {
        struct tr_schedule_row row;
        const struct tri_op *op =
            tri_model_record(timetable_flow->model, tr_schedule_row_schema.id, i);
        assert_int_equal(tr_schedule_row_unpack(op->data, tr_schedule_row_schema.version, &row), 0);
        assert_int_equal(row.started, 2);
        assert_int_equal(row.next_ms, (timetable_first_of(MINUTE) + 2 * MINUTE) * 1000);
    }
    timetable_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_time_starts_one),
        cmocka_unit_test(test_each_time_starts_one_in_its_shard),
        cmocka_unit_test(test_a_plan_waits_for_its_graph),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_a_name_that_was_used_is_left),
        cmocka_unit_test(test_overlaps_are_skipped),
        cmocka_unit_test(test_what_cannot_be_reached_still_overlaps),
        cmocka_unit_test(test_overlaps_are_allowed),
        cmocka_unit_test(test_overlaps_are_replaced),
        cmocka_unit_test(test_what_has_just_begun_is_not_replaced),
        cmocka_unit_test(test_the_latest_times_that_were_skipped_are_noted),
        cmocka_unit_test(test_missed_times),
        cmocka_unit_test(test_they_rest_where_nobody_fires),
        cmocka_unit_test(test_clocks_that_are_set),
        cmocka_unit_test(test_a_clock_that_was_ahead),
        cmocka_unit_test(test_applying_again),
        cmocka_unit_test(test_the_graph_is_held),
        cmocka_unit_test(test_what_cannot_be_looked_up_is_tried_again),
        cmocka_unit_test(test_crashes),
        cmocka_unit_test(test_very_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
