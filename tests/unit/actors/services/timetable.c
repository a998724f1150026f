/*
 * The stand of the schedules' tests. The program's answers are made by the functions that the
 * program uses.
 */
#include "tests/unit/actors/services/timetable.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/link/frame.h"
#include "schemas/runtime/inquiry.h"

static const char head[] = "troupe: 1\n"
                           "tasks:\n"
                           "  work: {inputs: {at: datetime}, run: [x]}\n"
                           "workflows:\n"
                           "  main:\n"
                           "    inputs: {at: datetime, n: {type: int, default: 3}}\n"
                           "    nodes: {t: {task: work, with: {at: $at}}}\n"
                           "launch_plans:\n";

struct flow *timetable_flow;
struct tr_ref timetable_schedules;
bool timetable_is_broken;
bool timetable_is_forgetful;

/* ------------------------------------------------------------------ the program */

static bool has_execution(const char *name)
{
    struct tr_execution row;
    return flow_execution(timetable_flow, name, &row);
}

static struct tr_schedule_seen answer_of(const struct tr_schedule_look *asked)
{
    const struct tr_graph *graph =
        tr_graph_registry_find(&timetable_flow->engine->registry, timetable_flow->graph_number);
    const struct tr_plan *plan = &graph->plans[asked->plan];
    struct tr_schedule_seen seen;
    char name[TR_SCHEDULE_NAME_BYTES];
    struct tr_zone *zone;
    assert_memory_equal(asked->graph.data, graph->hash, TR_GRAPH_HASH_BYTES);
    assert_int_equal(tr_zone_open(plan->schedule.timezone, &zone), 0);
    tr_schedule_see(&plan->schedule, zone, asked, timetable_flow->stage.wall_ms, &seen);
    tr_zone_close(zone);
    tr_schedule_name(plan->name, seen.fire, name);
    seen.exists = seen.fires && !timetable_is_forgetful && has_execution(name);
    return seen;
}

/* What the store has of the flow's graph goes into the registry, and out of it. */
static struct tr_graph_made made_of(const uint8_t *call, uint8_t version)
{
    struct tr_graph_registry *registry = &timetable_flow->engine->registry;
    struct tr_graph_read asked;
    uint64_t number;
    assert_int_equal(tr_graph_read_unpack(tr_envelope_body(call), version, &asked), 0);
    assert_non_null(timetable_flow->stored);
    assert_int_equal(tr_graph_registry_put(registry, timetable_flow->stored, &number), 0);
    timetable_flow->stored = NULL;
    return (struct tr_graph_made){.graph = asked.graph,
                                  .engine_start = timetable_flow->engine->life};
}

static void answer(const uint8_t *call)
{
    struct tr_envelope envelope;
    struct tr_schedule_look asked;
    tr_envelope_unpack(call, &envelope);
    struct tr_ref from = {{envelope.from_group, envelope.from_serial}, envelope.from_incarnation};
    struct tri_heading heading = {.kind = TR_KIND_REPLY,
                                  .from = {{0, TR_SERVICE_FILES}, 0},
                                  .to = from,
                                  .sequence = 1,
                                  .cause = from,
                                  .cause_sequence = envelope.sequence};
    if (envelope.type == tr_graph_drop_schema.id) {
        tr_graph_registry_drop(&timetable_flow->engine->registry, timetable_flow->graph_number);
        return;
    }
    if (envelope.type == tr_graph_read_schema.id) {
        struct tr_graph_made made = made_of(call, envelope.version);
        stage_send(&timetable_flow->stage, 0, &heading, &tr_graph_made_schema, &made);
        return;
    }
    assert_int_equal(envelope.type, tr_schedule_look_schema.id);
    assert_int_equal(tr_schedule_look_unpack(tr_envelope_body(call), envelope.version, &asked), 0);
    if (timetable_is_broken) {
        struct tr_blob_failed failed = {.error = TR_NOT_FOUND,
                                        .message = tr_text_of("no such zone")};
        stage_send(&timetable_flow->stage, 0, &heading, &tr_blob_failed_schema, &failed);
        return;
    }
    struct tr_schedule_seen seen = answer_of(&asked);
    stage_send(&timetable_flow->stage, 0, &heading, &tr_schedule_seen_schema, &seen);
}

/* Answers what was asked; whether there was anything. */
bool timetable_serve(void)
{
    struct tri_frame frame;
    struct tri_channel *link = NULL;
    bool has_served = false;
    assert_int_equal(timetable_flow->stage.env.ops->link_open(&timetable_flow->stage.env,
                                                              TRI_PLACE_FILES, &link),
                     0);
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
    tri_channel_close(link);
    return has_served;
}

void timetable_settle(void)
{
    do {
        stage_run(&timetable_flow->stage);
    } while (timetable_serve());
}

/* Lets time pass, second by second. */
void timetable_pass(int64_t seconds)
{
    for (int64_t i = 0; i < seconds; i++) {
        timetable_flow->stage.now_ns += 1000000000ULL;
        timetable_flow->stage.wall_ms += 1000;
        timetable_settle();
    }
}

/* The clock on the wall is set. */
void timetable_set_clock(int64_t seconds)
{
    timetable_flow->stage.wall_ms += (uint64_t)(seconds * 1000);
}

/* ---------------------------------------------------------------------- the stage */

static void open_files(void)
{
    timetable_flow->stage.host.shared.services |= 1U << TR_SERVICE_FILES;
}

void timetable_begin(const char *plans, bool fires)
{
    size_t size = sizeof head + strlen(plans);
    char *text = malloc(size);
    snprintf(text, size, "%s%s", head, plans);
    timetable_is_broken = timetable_is_forgetful = false;
    timetable_flow = flow_new(text);
    free(text);
    timetable_flow->engine->fires_schedules = fires;
    open_files();
    struct tr_spawn_options options = {.name = tr_text_of("sys/schedules")};
    timetable_schedules = stage_spawn(&timetable_flow->stage, &tr_schedules_behaviour, &options);
}

/* The engine dies, and is there again after so many seconds. */
void timetable_crash(int64_t seconds)
{
    uint64_t now_ns = timetable_flow->stage.now_ns + (uint64_t)seconds * 1000000000;
    uint64_t wall_ms = timetable_flow->stage.wall_ms + (uint64_t)seconds * 1000;
    flow_crash(timetable_flow);
    timetable_flow->stage.now_ns = now_ns;
    timetable_flow->stage.wall_ms = wall_ms;
    open_files();
}

static void take_kept(void *self, const struct tr_message *message)
{
    struct timetable_kept *kept = self;
    struct tr_schedule_kept answered;
    assert_int_equal(tr_message_read(message, schedule_kept, &answered), 0);
    *kept = (struct timetable_kept){(int)answered.error, answered.change};
}

static struct timetable_kept ask(const struct tr_schema *schema, const void *body)
{
    struct timetable_kept kept = {.error = TR_FAILED};
    assert_int_equal(tr_host_ask(&timetable_flow->stage.host, timetable_schedules, schema, body, 0,
                                 take_kept, &kept),
                     0);
    return kept;
}

struct timetable_kept timetable_apply(const char *plan)
{
    char address[TR_SCHEDULE_ADDRESS_BYTES];
    snprintf(address, sizeof address, "default/development/%s", plan);
    struct tr_schedule_set set = {
        .address = tr_text_of(address),
        .graph = {.data = timetable_flow->graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .plan = tr_graph_find_plan(timetable_flow->graph, tr_text_of(plan)),
        .launcher = timetable_flow->launcher,
        .at_ms = timetable_flow->stage.wall_ms,
    };
    struct timetable_kept kept = ask(&tr_schedule_set_schema, &set);
    timetable_settle();
    return kept;
}

struct timetable_kept timetable_drop(const char *plan)
{
    char address[TR_SCHEDULE_ADDRESS_BYTES];
    snprintf(address, sizeof address, "default/development/%s", plan);
    struct tr_schedule_drop dropped = {.address = tr_text_of(address)};
    struct timetable_kept kept = ask(&tr_schedule_drop_schema, &dropped);
    timetable_settle();
    return kept;
}

static struct tr_schedule_pause pause_of(const char *plan, bool is_paused, const char *message,
                                         char address[TR_SCHEDULE_ADDRESS_BYTES])
{
    snprintf(address, TR_SCHEDULE_ADDRESS_BYTES, "default/development/%s", plan);
    return (struct tr_schedule_pause){.address = tr_text_of(address),
                                      .is_paused = is_paused,
                                      .by = tr_text_of("ann@desk"),
                                      .message = tr_text_of(message),
                                      .at_ms = timetable_flow->stage.wall_ms};
}

static struct timetable_kept ask_pause(const char *plan, bool is_paused, const char *message)
{
    char address[TR_SCHEDULE_ADDRESS_BYTES];
    struct tr_schedule_pause pause = pause_of(plan, is_paused, message, address);
    struct timetable_kept kept = ask(&tr_schedule_pause_schema, &pause);
    timetable_settle();
    return kept;
}

struct timetable_kept timetable_pause(const char *plan, const char *message)
{
    return ask_pause(plan, true, message);
}

struct timetable_kept timetable_resume(const char *plan)
{
    return ask_pause(plan, false, "");
}

void timetable_tell_pause(const char *plan, bool is_paused)
{
    char address[TR_SCHEDULE_ADDRESS_BYTES];
    struct tr_schedule_pause pause = pause_of(plan, is_paused, "", address);
    stage_tell(&timetable_flow->stage, timetable_schedules, &tr_schedule_pause_schema, &pause);
}

void timetable_wake(void)
{
    stage_tell(&timetable_flow->stage, timetable_schedules, &tr_schedule_wake_schema,
               &(struct tr_schedule_wake){.from = 0});
    timetable_settle();
}

/* How many executions were begun; and of a plan at a time. */
size_t timetable_begun(void)
{
    return tri_model_record_count(timetable_flow->model, tr_execution_schema.id);
}

size_t timetable_begun_at(const char *plan, int64_t time)
{
    char name[TR_SCHEDULE_NAME_BYTES];
    size_t count = 0;
    tr_schedule_name(tr_text_of(plan), time, name);
    for (size_t i = 0; i < timetable_begun(); i++) {
        struct tr_execution row;
        const struct tri_op *op =
            tri_model_record(timetable_flow->model, tr_execution_schema.id, i);
        assert_int_equal(tr_execution_unpack(op->data, tr_execution_schema.version, &row), 0);
        count += tr_text_equal(row.name, tr_text_of(name)) ? 1 : 0;
    }
    return count;
}

/* The row of a plan, as people see it. */
bool timetable_row_of(const char *plan, struct tr_schedule_row *row)
{
    size_t count = tri_model_record_count(timetable_flow->model, tr_schedule_row_schema.id);
    for (size_t i = 0; i < count; i++) {
        const struct tri_op *op =
            tri_model_record(timetable_flow->model, tr_schedule_row_schema.id, i);
        assert_int_equal(tr_schedule_row_unpack(op->data, tr_schedule_row_schema.version, row), 0);
        if (tr_text_equal(row->plan, tr_text_of(plan))) {
            return true;
        }
    }
    return false;
}

uint8_t timetable_outcome_of(const char *plan)
{
    struct tr_schedule_row row;
    assert_true(timetable_row_of(plan, &row));
    return row.outcome;
}

/* The first full minute, or hour, after the stage's beginning. */
int64_t timetable_first_of(int64_t every)
{
    return (START_S / every + 1) * every;
}

void timetable_end(void)
{
    flow_free(timetable_flow);
}
