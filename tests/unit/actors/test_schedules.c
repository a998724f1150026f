/*
 * Schedules: each time starts one execution, whatever crashes and however the clock goes; what
 * overlaps, was missed or is not there is dealt with as the plan says.
 *
 * Launcher and workflows are the real ones. The program's answers are made here, by the functions
 * that the program uses, and by what the model of a store has of executions.
 */
#include "actors/schedule.h"

#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/literal.h"
#include "actors/value.h"
#include "runtime/link/frame.h"
#include "tests/support/flow.h"

/* A quarter past eight in the evening, some seconds on; see STAGE_START_WALL_MS. */
#define START_S ((int64_t)(STAGE_START_WALL_MS / 1000))
#define MINUTE 60
#define HOUR 3600

#define EVERY_MINUTE "schedule: {every: 1m, kickoff_input: at"

static const char head[] = "troupe: 1\n"
                           "tasks:\n"
                           "  work: {inputs: {at: datetime}, run: [x]}\n"
                           "workflows:\n"
                           "  main:\n"
                           "    inputs: {at: datetime, n: {type: int, default: 3}}\n"
                           "    nodes: {t: {task: work, with: {at: $at}}}\n"
                           "launch_plans:\n";

static struct flow *flow;
static struct tr_ref schedules;
static bool is_broken;    /* the program cannot say anything */
static bool is_forgetful; /* it knows no execution, and is quick */

/* ------------------------------------------------------------------ the program */

static bool has_execution(const char *name)
{
    struct tr_execution row;
    return flow_execution(flow, name, &row);
}

static struct tr_schedule_seen answer_of(const struct tr_schedule_look *asked)
{
    const struct tr_graph *graph = tr_shelf_find(&flow->engine->shelf, flow->graph_number);
    const struct tr_plan *plan = &graph->plans[asked->plan];
    struct tr_schedule_seen seen;
    char name[TR_SCHEDULE_NAME_BYTES];
    struct tr_zone *zone;
    assert_memory_equal(asked->graph.data, graph->hash, TR_GRAPH_HASH_BYTES);
    assert_int_equal(tr_zone_open(plan->schedule.timezone, &zone), 0);
    tr_schedule_see(&plan->schedule, zone, asked, flow->stage.wall_ms, &seen);
    tr_zone_close(zone);
    tr_schedule_name(plan->name, seen.fire, name);
    seen.exists = seen.fires && !is_forgetful && has_execution(name);
    return seen;
}

static void answer(const uint8_t *call)
{
    struct tr_envelope envelope;
    struct tr_schedule_look asked;
    tr_envelope_unpack(call, &envelope);
    assert_int_equal(envelope.type, tr_schedule_look_schema.id);
    assert_int_equal(tr_schedule_look_unpack(tr_envelope_body(call), envelope.version, &asked), 0);
    struct tr_ref from = {{envelope.from_group, envelope.from_serial}, envelope.from_incarnation};
    struct tri_heading heading = {.kind = TR_KIND_REPLY,
                                  .from = {{0, TR_SERVICE_FILES}, 0},
                                  .to = from,
                                  .sequence = 1,
                                  .cause = from,
                                  .cause_sequence = envelope.sequence};
    if (is_broken) {
        struct tr_blob_failed failed = {.error = TR_NOT_FOUND,
                                        .message = tr_text_of("no such zone")};
        stage_send(&flow->stage, 0, &heading, &tr_blob_failed_schema, &failed);
        return;
    }
    struct tr_schedule_seen seen = answer_of(&asked);
    stage_send(&flow->stage, 0, &heading, &tr_schedule_seen_schema, &seen);
}

/* Answers what was asked; whether there was anything. */
static bool serve(void)
{
    struct tri_frame frame;
    struct tri_link *link = NULL;
    bool has_served = false;
    assert_int_equal(flow->stage.env.ops->link_open(&flow->stage.env, TRI_PLACE_FILES, &link), 0);
    while (link->ops->receive(link, &frame) == 0) {
        size_t offset = 0;
        struct tr_bytes message;
        bool is_stored;
        while (tri_frame_next(&frame, &offset, &message, &is_stored)) {
            uint8_t *copy = malloc(message.size);
            memcpy(copy, message.data, message.size);
            answer(copy);
            free(copy);
            has_served = true;
        }
        link->ops->release(link, &frame);
    }
    tri_link_close(link);
    return has_served;
}

static void settle(void)
{
    do {
        stage_run(&flow->stage);
    } while (serve());
}

/* Lets time pass, second by second. */
static void pass(int64_t seconds)
{
    for (int64_t i = 0; i < seconds; i++) {
        flow->stage.now_ns += 1000000000ULL;
        flow->stage.wall_ms += 1000;
        settle();
    }
}

/* The clock on the wall is set. */
static void set_clock(int64_t seconds)
{
    flow->stage.wall_ms += (uint64_t)(seconds * 1000);
}

/* ---------------------------------------------------------------------- the stage */

static void open_files(void)
{
    flow->stage.host.shared.services |= 1U << TR_SERVICE_FILES;
}

static void begin(const char *plans, bool fires)
{
    size_t size = sizeof head + strlen(plans);
    char *text = malloc(size);
    snprintf(text, size, "%s%s", head, plans);
    is_broken = is_forgetful = false;
    flow = flow_new(text);
    free(text);
    flow->engine->fires_schedules = fires;
    open_files();
    struct tr_spawn_options options = {.name = tr_text_of("sys/schedules")};
    schedules = stage_spawn(&flow->stage, &tr_schedules_behaviour, &options);
}

/* The engine dies, and is there again after so many seconds. */
static void crash(int64_t seconds)
{
    uint64_t now_ns = flow->stage.now_ns + (uint64_t)seconds * 1000000000;
    uint64_t wall_ms = flow->stage.wall_ms + (uint64_t)seconds * 1000;
    flow_crash(flow);
    flow->stage.now_ns = now_ns;
    flow->stage.wall_ms = wall_ms;
    open_files();
}

struct kept {
    int error;
    uint8_t change;
};

static void take_kept(void *self, const struct tr_message *message)
{
    struct kept *kept = self;
    struct tr_schedule_kept answered;
    assert_int_equal(tr_message_read(message, schedule_kept, &answered), 0);
    *kept = (struct kept){(int)answered.error, answered.change};
}

static struct kept ask(const struct tr_schema *schema, const void *body)
{
    struct kept kept = {.error = TR_FAILED};
    assert_int_equal(tr_host_ask(&flow->stage.host, schedules, schema, body, 0, take_kept, &kept),
                     0);
    return kept;
}

static struct kept apply(const char *plan)
{
    char address[TR_SCHEDULE_ADDRESS_BYTES];
    snprintf(address, sizeof address, "default/development/%s", plan);
    struct tr_schedule_set set = {
        .address = tr_text_of(address),
        .graph = {.data = flow->graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .plan = tr_graph_find_plan(flow->graph, tr_text_of(plan)),
        .launcher = flow->launcher,
        .at_ms = flow->stage.wall_ms,
    };
    struct kept kept = ask(&tr_schedule_set_schema, &set);
    settle();
    return kept;
}

static struct kept drop(const char *plan)
{
    char address[TR_SCHEDULE_ADDRESS_BYTES];
    snprintf(address, sizeof address, "default/development/%s", plan);
    struct tr_schedule_drop dropped = {.address = tr_text_of(address)};
    struct kept kept = ask(&tr_schedule_drop_schema, &dropped);
    settle();
    return kept;
}

static void wake(void)
{
    stage_tell(&flow->stage, schedules, &tr_schedule_wake_schema,
               &(struct tr_schedule_wake){.from = 0});
    settle();
}

/* How many executions were begun; and of a plan at a time. */
static size_t begun(void)
{
    return tri_model_record_count(flow->model, tr_execution_schema.id);
}

static size_t begun_at(const char *plan, int64_t time)
{
    char name[TR_SCHEDULE_NAME_BYTES];
    size_t count = 0;
    tr_schedule_name(tr_text_of(plan), time, name);
    for (size_t i = 0; i < begun(); i++) {
        struct tr_execution row;
        const struct tri_op *op = tri_model_record(flow->model, tr_execution_schema.id, i);
        assert_int_equal(tr_execution_unpack(op->data, tr_execution_schema.version, &row), 0);
        count += tr_text_equal(row.name, tr_text_of(name)) ? 1 : 0;
    }
    return count;
}

/* The row of a plan, as people see it. */
static bool row_of(const char *plan, struct tr_schedule_row *row)
{
    size_t count = tri_model_record_count(flow->model, tr_schedule_row_schema.id);
    for (size_t i = 0; i < count; i++) {
        const struct tri_op *op = tri_model_record(flow->model, tr_schedule_row_schema.id, i);
        assert_int_equal(tr_schedule_row_unpack(op->data, tr_schedule_row_schema.version, row), 0);
        if (tr_text_equal(row->plan, tr_text_of(plan))) {
            return true;
        }
    }
    return false;
}

static uint8_t outcome_of(const char *plan)
{
    struct tr_schedule_row row;
    assert_true(row_of(plan, &row));
    return row.outcome;
}

/* The first full minute, or hour, after the stage's beginning. */
static int64_t first_of(int64_t every)
{
    return (START_S / every + 1) * every;
}

static void end(void)
{
    flow_free(flow);
}

/* ------------------------------------------------------------------------ firing */

static void test_each_time_starts_one(void **state)
{
    (void)state;
    begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", true);
    assert_int_equal(apply("p").change, TR_SCHEDULE_CREATED);
    pass(5 * MINUTE);
    assert_int_equal(begun(), 5);
    for (int64_t i = 0; i < 5; i++) {
        assert_int_equal(begun_at("p", first_of(MINUTE) + i * MINUTE), 1);
    }
    struct tr_schedule_row row;
    assert_true(row_of("p", &row));
    assert_int_equal(row.started, 5);
    assert_int_equal(row.outcome, TR_SCHEDULE_OUTCOME_STARTED);
    assert_int_equal(row.next_ms, (first_of(MINUTE) + 5 * MINUTE) * 1000);
    assert_true(tr_text_equal(row.fires, tr_text_of("every 1m")));
    char name[TR_SCHEDULE_NAME_BYTES];
    struct tr_execution execution;
    tr_schedule_name(tr_text_of("p"), first_of(MINUTE), name);
    assert_true(flow_execution(flow, name, &execution));
    assert_true(tr_text_equal(execution.cause, tr_text_of("schedule p")));
    assert_true(tr_text_equal(execution.plan, tr_text_of("p")));
    assert_int_equal(execution.phase, TR_EXECUTION_SUCCEEDED);
    end();
}

static void test_inputs(void **state)
{
    (void)state;
    begin("  p: {workflow: main, inputs: {n: 7}, " EVERY_MINUTE "}}\n", true);
    struct tr_buffer inputs;
    struct tr_bytes slot;
    tr_buffer_init(&inputs, 0);
    assert_int_equal(tr_schedule_inputs(flow->graph, &flow->graph->plans[0], START_S, &inputs), 0);
    assert_int_equal(tr_slots_get(tr_buffer_bytes(&inputs), 1, &slot), 0);
    assert_int_equal(slot.data[0], 7);
    assert_int_equal(tr_slots_get(tr_buffer_bytes(&inputs), 0, &slot), 0);
    struct tr_cursor cursor = tr_cursor_of(slot);
    assert_int_equal(tr_read_moment(&cursor).seconds, START_S);
    tr_buffer_fini(&inputs);
    end();
}

static void test_a_name_that_was_used_is_left(void **state)
{
    (void)state;
    begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", true);
    char name[TR_SCHEDULE_NAME_BYTES];
    tr_schedule_name(tr_text_of("p"), first_of(MINUTE), name);
    flow_launch(flow, "main", "[\"2026-08-20\", 1]", name);
    settle();
    (void)apply("p");
    pass(MINUTE);
    assert_int_equal(begun(), 1);
    assert_int_equal(outcome_of("p"), TR_SCHEDULE_OUTCOME_EXISTED);
    pass(MINUTE);
    assert_int_equal(begun(), 2);
    end();
}

/* ------------------------------------------------------------------------ overlap */

static void run_long(const char *plan)
{
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 90 * 1000}}, {0}};
    begin(plan, true);
    flow_obey(flow, rules);
    (void)apply("p");
}

static void test_overlaps_are_skipped(void **state)
{
    (void)state;
    run_long("  p: {workflow: main, " EVERY_MINUTE "}}\n");
    pass(2 * MINUTE);
    assert_int_equal(begun(), 1);
    assert_int_equal(outcome_of("p"), TR_SCHEDULE_OUTCOME_SKIPPED);
    pass(MINUTE);
    assert_int_equal(begun(), 2);
    assert_int_equal(begun_at("p", first_of(MINUTE) + MINUTE), 0);
    assert_int_equal(begun_at("p", first_of(MINUTE) + 2 * MINUTE), 1);
    end();
}

static void test_overlaps_are_allowed(void **state)
{
    (void)state;
    run_long("  p: {workflow: main, " EVERY_MINUTE ", overlap: allow}}\n");
    pass(4 * MINUTE);
    assert_int_equal(begun(), 4);
    end();
}

static void test_overlaps_are_replaced(void **state)
{
    (void)state;
    run_long("  p: {workflow: main, " EVERY_MINUTE ", overlap: replace}}\n");
    pass(3 * MINUTE);
    assert_int_equal(begun(), 3);
    char name[TR_SCHEDULE_NAME_BYTES];
    tr_schedule_name(tr_text_of("p"), first_of(MINUTE), name);
    assert_int_equal(flow_phase(flow, name), TR_EXECUTION_ABORTED);
    tr_schedule_name(tr_text_of("p"), first_of(MINUTE) + 2 * MINUTE, name);
    assert_int_equal(flow_phase(flow, name), TR_EXECUTION_RUNNING);
    end();
}

/* ------------------------------------------------------------------- what was missed */

static void miss(const char *catch_up)
{
    char plan[256];
    snprintf(plan, sizeof plan,
             "  p: {workflow: main, schedule: {cron: \"0 * * * *\", kickoff_input: at, "
             "overlap: allow, catch_up: %s}}\n",
             catch_up);
    begin(plan, true);
    (void)apply("p");
    crash(first_of(HOUR) - START_S + 3 * HOUR + 600);
    settle();
    pass(5);
}

static void test_missed_times(void **state)
{
    (void)state;
    miss("all");
    assert_int_equal(begun(), 4);
    assert_int_equal(begun_at("p", first_of(HOUR)), 1);
    end();
    miss("last");
    assert_int_equal(begun(), 1);
    assert_int_equal(begun_at("p", first_of(HOUR) + 3 * HOUR), 1);
    end();
    miss("none");
    assert_int_equal(begun(), 0);
    assert_int_equal(outcome_of("p"), TR_SCHEDULE_OUTCOME_MISSED);
    pass(HOUR);
    assert_int_equal(begun(), 1);
    end();
}

/* ------------------------------------------------------------------- resting, waking */

static void test_they_rest_where_nobody_fires(void **state)
{
    (void)state;
    begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", false);
    (void)apply("p");
    pass(3 * MINUTE);
    struct tr_schedule_row row;
    assert_true(row_of("p", &row));
    assert_int_equal(begun(), 0);
    assert_int_equal(row.step, TR_SCHEDULE_RESTING);
    assert_int_equal(row.next_ms, first_of(MINUTE) * 1000);
    crash(0);
    flow->engine->fires_schedules = true;
    wake();
    pass(1);
    assert_int_equal(begun(), 1); /* the last one that was missed */
    pass(MINUTE);
    assert_int_equal(begun(), 2);
    end();
}

static void test_clocks_that_are_set(void **state)
{
    (void)state;
    begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", true);
    (void)apply("p");
    pass(10 * MINUTE);
    assert_int_equal(begun(), 10);
    set_clock(-5 * MINUTE);
    wake();
    pass(5 * MINUTE);
    assert_int_equal(begun(), 10);
    pass(MINUTE);
    assert_int_equal(begun(), 11);
    set_clock(HOUR);
    wake();
    pass(1);
    assert_int_equal(begun(), 12); /* the last one of those that were jumped over */
    set_clock(-HOUR);
    wake();
    pass(3 * MINUTE);
    assert_int_equal(begun(), 15);
    end();
}

/* --------------------------------------------------------- changes and trouble */

static void test_applying_again(void **state)
{
    (void)state;
    begin("  p: {workflow: main, " EVERY_MINUTE "}}\n  q: {workflow: main}\n", true);
    assert_int_equal(apply("p").change, TR_SCHEDULE_CREATED);
    assert_int_equal(apply("p").change, TR_SCHEDULE_UNCHANGED);
    assert_int_equal(apply("q").error, TR_INVALID);
    pass(MINUTE);
    assert_int_equal(drop("p").change, TR_SCHEDULE_DELETED);
    assert_int_equal(drop("p").error, TR_NOT_FOUND);
    struct tr_schedule_row row;
    assert_false(row_of("p", &row));
    pass(2 * MINUTE);
    assert_int_equal(begun(), 1);
    /* Whoever comes back starts no time twice. */
    set_clock(-3 * MINUTE);
    assert_int_equal(apply("p").change, TR_SCHEDULE_CREATED);
    pass(3 * MINUTE);
    assert_int_equal(begun_at("p", first_of(MINUTE)), 1);
    assert_int_equal(begun(), 3);
    end();
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
    struct tr_graph_hold hold = {.graph = flow->graph_number};
    assert_int_equal(tr_host_ask(&flow->stage.host, schedules, &tr_graph_hold_schema, &hold, 0,
                                 take_held, &count),
                     0);
    return count;
}

static void test_the_graph_is_held(void **state)
{
    (void)state;
    begin("  p: {workflow: main, " EVERY_MINUTE "}}\n  q: {workflow: main, " EVERY_MINUTE "}}\n",
          true);
    (void)apply("p");
    assert_int_equal(holders(), 1);
    (void)apply("q");
    assert_int_equal(holders(), 2);
    (void)drop("p");
    (void)drop("q");
    assert_int_equal(holders(), 0);
    end();
}

static void test_what_cannot_be_looked_up_is_tried_again(void **state)
{
    (void)state;
    begin("  p: {workflow: main, " EVERY_MINUTE "}}\n", true);
    is_broken = true;
    (void)apply("p");
    struct tr_schedule_row row;
    assert_true(row_of("p", &row));
    assert_true(tr_text_equal(row.problem, tr_text_of("no such zone")));
    is_broken = false;
    pass(MINUTE);
    assert_true(row_of("p", &row));
    assert_int_equal(row.problem.size, 0);
    assert_int_equal(begun(), 1);
    end();
}

/* Wherever the engine dies, each time has its one execution. */
static void test_crashes(void **state)
{
    (void)state;
    bool has_ended = false;
    for (uint32_t turns = 0; !has_ended; turns++) {
        begin("  p: {workflow: main, " EVERY_MINUTE ", overlap: allow, catch_up: all}}\n", true);
        (void)apply("p");
        pass(first_of(MINUTE) - START_S - 1);
        flow->stage.now_ns += 1000000000ULL;
        flow->stage.wall_ms += 1000;
        uint32_t turn = 0;
        for (uint32_t idle = 0; turn < turns && idle < 3; turn++) {
            bool is_busy = stage_step(&flow->stage);
            is_busy = serve() || is_busy;
            idle = is_busy ? 0 : idle + 1;
        }
        has_ended = turn < turns;
        crash(0);
        settle();
        pass(2 * MINUTE);
        for (int64_t i = 0; i < 3; i++) {
            if (begun_at("p", first_of(MINUTE) + i * MINUTE) != 1) {
                fail_msg("after %u turns: %zu at minute %lld", turns,
                         begun_at("p", first_of(MINUTE) + i * MINUTE), (long long)i);
            }
        }
        assert_int_equal(begun(), 3);
        end();
    }
}

/* ---------------------------------------------------------------------- very many */

#define MANY_SHORT 500
#define MANY_LONG 10000

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
    begin(plans, true);
    free(plans);
    is_forgetful = true;
    for (size_t i = 0; i < count; i++) {
        char plan[16];
        snprintf(plan, sizeof plan, "p%zu", i);
        assert_int_equal(apply(plan).change, TR_SCHEDULE_CREATED);
    }
    wake();
    pass(2 * MINUTE);
    assert_int_equal(begun(), 2 * count);
    for (size_t i = 0; i < count; i++) {
        struct tr_schedule_row row;
        const struct tri_op *op = tri_model_record(flow->model, tr_schedule_row_schema.id, i);
        assert_int_equal(tr_schedule_row_unpack(op->data, tr_schedule_row_schema.version, &row), 0);
        assert_int_equal(row.started, 2);
        assert_int_equal(row.next_ms, (first_of(MINUTE) + 2 * MINUTE) * 1000);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_time_starts_one),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_a_name_that_was_used_is_left),
        cmocka_unit_test(test_overlaps_are_skipped),
        cmocka_unit_test(test_overlaps_are_allowed),
        cmocka_unit_test(test_overlaps_are_replaced),
        cmocka_unit_test(test_missed_times),
        cmocka_unit_test(test_they_rest_where_nobody_fires),
        cmocka_unit_test(test_clocks_that_are_set),
        cmocka_unit_test(test_applying_again),
        cmocka_unit_test(test_the_graph_is_held),
        cmocka_unit_test(test_what_cannot_be_looked_up_is_tried_again),
        cmocka_unit_test(test_crashes),
        cmocka_unit_test(test_very_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
