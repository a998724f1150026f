/*
 * The sandbox: what a handler asks for is shown and goes nowhere; what is no good is refused, and a
 * recording that lies cannot make two actors one.
 */
#include "tests/support/test.h"

#include <string.h>

#include "runtime/memory.h"
#include "runtime/move/snapshot.h"
#include "runtime/worker/sandbox.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;
static struct tri_sandbox *sandbox;
static struct tr_ref fake;
static uint8_t *snapshot;
static size_t snapshot_size;

static size_t counts[TRI_SANDBOX_STOP + 1];
static struct tr_ref spawned[16];
static size_t spawned_count;
static uint64_t due_ms;
static uint64_t seen_sequence;

static void visit(void *self, const struct tri_sandbox_effect *seen)
{
    (void)self;
    counts[seen->kind]++;
    if (seen->kind == TRI_SANDBOX_SPAWN) {
        assert_string_equal(seen->behaviour, fake_actor_behaviour.name);
        spawned[spawned_count++] = seen->actor;
    } else if (seen->kind == TRI_SANDBOX_TIMER) {
        due_ms = seen->due_ms;
    } else if (seen->kind == TRI_SANDBOX_MESSAGE) {
        seen_sequence = tr_envelope_get(seen->bytes.data, 64, sequence);
    }
}

static const struct tri_sandbox_visitor visitor = {.visit = visit};

/* ---------------------------------------------------------------------- scripts */

static int do_all(struct tr_context *context, struct tr_fake_actor *it, const struct tr_act *act,
                  const struct tr_message *message)
{
    void *page;
    struct tr_ref child;
    struct tr_note note = {.number = tr_now_ms(context)};
    struct tr_ledger row = {.number = 1, .words = tr_text_of("row")};
    struct tr_tally tally = {.place = tr_text_of("here")};
    int error = tr_tell(context, act->peer, &tr_note_schema, &note);
    (void)message;
    it->number = act->number;
    error = error != 0 ? error
                       : tr_ask(context, act->peer, &tr_question_schema, &(struct tr_question){0},
                                5, &it->ask);
    error = error != 0 ? error
                       : tr_call(context, TR_SERVICE_HTTP, &tr_question_schema,
                                 &(struct tr_question){0}, 0, NULL);
    error = error != 0 ? error : tr_spawn(context, &fake_actor_behaviour, NULL, &child);
    error = error != 0 ? error : tr_tell(context, child, &tr_note_schema, &note);
    error = error != 0 ? error : tr_timer_start(context, 7, 30);
    error = error != 0 ? error : tr_page_edit(context, 3, 100, &page);
    error = error != 0 ? error : tr_record(context, &tr_ledger_schema, &row);
    return error != 0 ? error : tr_record_delete(context, &tr_tally_schema, &tally, 1);
}

static int spawn(struct tr_context *context, struct tr_fake_actor *it, const struct tr_act *act,
                 const struct tr_message *message)
{
    struct tr_spawn_options group = {.is_group = true};
    struct tr_ref child;
    (void)it;
    (void)act;
    (void)message;
    int error = tr_spawn(context, &fake_actor_behaviour, NULL, &child);
    return error != 0 ? error : tr_spawn(context, &fake_actor_behaviour, &group, &child);
}

static int say_and_fail(struct tr_context *context, struct tr_fake_actor *it,
                        const struct tr_act *act, const struct tr_message *message)
{
    (void)message;
    it->number = 99;
    int error = tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){0});
    return error != 0 ? error : TR_FAILED;
}

static int stop(struct tr_context *context, struct tr_fake_actor *it, const struct tr_act *act,
                const struct tr_message *message)
{
    (void)it;
    (void)act;
    (void)message;
    return tr_stop(context);
}

/* ----------------------------------------------------------------------- scenery */

static int begin(void **state)
{
    (void)state;
    struct stage_options options = {.worker_count = 1};
    stage_open(&stage, &options);
    fake = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    assert_int_equal(tri_snapshot_pack_bare(stage_worker(&stage, 0), stage_actor(&stage, fake),
                                            &snapshot, &snapshot_size),
                     0);
    struct tri_sandbox_options wanted = {.behaviours = fake_actor_behaviours,
                                         .behaviour_count = fake_actor_behaviour_count,
                                         .seed = 1};
    assert_int_equal(tri_sandbox_new(&wanted, &sandbox), 0);
    memset(counts, 0, sizeof counts);
    spawned_count = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    tri_sandbox_free(sandbox);
    tr_free(snapshot);
    stage_close(&stage);
    return 0;
}

static struct tr_bytes whole(void)
{
    return (struct tr_bytes){.data = snapshot, .size = snapshot_size};
}

/* A recorded message for the fake actor, in a buffer of this file. */
static struct tr_recorded_message recorded_of(fake_actor_script script, uint64_t number)
{
    static uint8_t bytes[512];
    struct tr_act act = {
        .script = (uint64_t)(uintptr_t)script, .number = number, .peer = {{32, 16}, 1}};
    struct tr_writer writer = tr_writer_of(bytes + TR_ENVELOPE_BYTES, 256);
    assert_int_equal(tr_act_pack(&act, &writer), 0);
    struct tr_envelope envelope = {
        .envelope_version = TR_ENVELOPE_VERSION,
        .kind = TR_KIND_TELL,
        .version = tr_act_schema.version,
        .type = tr_act_schema.id,
        .body_size = (uint32_t)tr_writer_size(&writer),
        .to_group = fake.key.group,
        .to_serial = fake.key.serial,
        .from_group = 32,
        .from_serial = 16,
        .sequence = 5,
    };
    tr_envelope_pack(&envelope, bytes);
    return (struct tr_recorded_message){
        .now_ms = 1000000,
        .spawns = 2,
        .message = {.data = bytes, .size = TR_ENVELOPE_BYTES + tr_writer_size(&writer)},
    };
}

static struct tri_sandbox_handled handle(const struct tr_recorded_message *recorded)
{
    struct tri_sandbox_handled handled;
    assert_int_equal(tri_sandbox_handle(sandbox, recorded, &visitor, &handled), 0);
    return handled;
}

static struct tr_fake_actor state_now(void)
{
    struct tr_bytes bytes;
    struct tr_fake_actor it;
    assert_int_equal(tri_sandbox_state(sandbox, &bytes), 0);
    assert_int_equal(tr_fake_actor_unpack(bytes, tr_fake_actor_schema.version, &it), 0);
    return it;
}

/* ------------------------------------------------------------------------- tests */

static void test_everything_is_shown_and_goes_nowhere(void **state)
{
    (void)state;
    assert_int_equal(tri_sandbox_put(sandbox, fake, whole()), 0);
    assert_string_equal(tri_sandbox_behaviour(sandbox)->name, fake_actor_behaviour.name);
    struct tr_recorded_message recorded = recorded_of(do_all, 4);
    struct tri_sandbox_handled handled = handle(&recorded);
    assert_int_equal(handled.reason, 0);
    assert_false(handled.has_other_history);
    static const size_t expected[] = {
        [TRI_SANDBOX_STATE] = 1,  [TRI_SANDBOX_PAGE] = 1,          [TRI_SANDBOX_MESSAGE] = 4,
        [TRI_SANDBOX_SPAWN] = 1,  [TRI_SANDBOX_TIMER] = 1,         [TRI_SANDBOX_TIMER_STOP] = 0,
        [TRI_SANDBOX_RECORD] = 1, [TRI_SANDBOX_RECORD_DELETE] = 1, [TRI_SANDBOX_STOP] = 0,
    };
    assert_memory_equal(counts, expected, sizeof expected);
    assert_int_equal(due_ms, 1000030);
    assert_int_equal(state_now().number, 4);
    /* The next one replaces the timer, which is seen; nobody has answered or come due meanwhile. */
    recorded = recorded_of(do_all, 5);
    recorded.spawns = 3;
    recorded.sequence = seen_sequence + 1; /* and the timer's own number */
    handled = handle(&recorded);
    assert_false(handled.has_other_history);
    assert_int_equal(counts[TRI_SANDBOX_TIMER_STOP], 1);
    assert_int_equal(spawned_count, 2);
    assert_int_equal(stage_actor_count(&stage), 1);
}

static void test_spawns_have_the_recorded_numbers(void **state)
{
    (void)state;
    assert_int_equal(tri_sandbox_put(sandbox, fake, whole()), 0);
    struct tr_recorded_message recorded = recorded_of(spawn, 0);
    recorded.spawns = 100;
    recorded.groups = 7;
    recorded.worker = 3;
    (void)handle(&recorded);
    assert_int_equal(spawned[0].key.group, fake.key.group);
    assert_int_equal(spawned[0].key.serial, 100U << 4 | 3);
    assert_int_equal(spawned[1].key.group, 8U << 4 | 3);
    assert_int_equal(spawned[1].key.serial, 1U << 4 | 3);
}

static void test_groups_are_those_of_the_recorded_host(void **state)
{
    (void)state;
    struct tri_sandbox_options wanted = {.behaviours = fake_actor_behaviours,
                                         .behaviour_count = fake_actor_behaviour_count,
                                         .host = 5};
    tri_sandbox_free(sandbox);
    assert_int_equal(tri_sandbox_new(&wanted, &sandbox), 0);
    fake.key.group |= tri_partition_origin(5);
    assert_int_equal(tri_sandbox_put(sandbox, fake, whole()), 0);
    struct tr_recorded_message recorded = recorded_of(spawn, 0);
    recorded.groups = 7;
    (void)handle(&recorded);
    assert_int_equal(spawned[0].key.group, fake.key.group);
    assert_int_equal(spawned[1].key.group, tri_partition_origin(5) | 8U << 4);
}

static void test_a_recording_that_lies_makes_no_actor_twice(void **state)
{
    (void)state;
    assert_int_equal(tri_sandbox_put(sandbox, fake, whole()), 0);
    for (int i = 0; i < 3; i++) {
        struct tr_recorded_message recorded = recorded_of(spawn, 0);
        recorded.spawns = fake.key.serial >> 4; /* the fake actor's own */
        recorded.groups = 0;
        (void)handle(&recorded);
    }
    assert_int_equal(spawned_count, 6);
    for (size_t i = 0; i < spawned_count; i++) {
        assert_false(tr_key_equal(spawned[i].key, fake.key));
        for (size_t k = 0; k < i; k++) {
            assert_false(tr_key_equal(spawned[i].key, spawned[k].key));
        }
    }
}

static void test_a_failure_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(tri_sandbox_put(sandbox, fake, whole()), 0);
    struct tr_recorded_message recorded = recorded_of(say_and_fail, 0);
    assert_int_equal(handle(&recorded).reason, TR_FAILED);
    assert_int_equal(counts[TRI_SANDBOX_MESSAGE], 0);
    assert_int_equal(state_now().number, 0);
    /* One that failed then, and does not here: it is said, and the actor is as it was then. */
    recorded = recorded_of(do_all, 4);
    recorded.reason = (uint32_t)-TR_MEMORY;
    assert_int_equal(handle(&recorded).reason, 0);
    assert_int_equal(counts[TRI_SANDBOX_MESSAGE], 0);
    assert_int_equal(state_now().number, 0);
    recorded.reason = 0;
    assert_int_equal(handle(&recorded).reason, 0);
    assert_int_equal(counts[TRI_SANDBOX_MESSAGE], 4);
}

/* Edges are taken before it is seen that the recorded handler failed. */
static void test_failures_take_no_memory(void **state)
{
    (void)state;
    assert_int_equal(tri_sandbox_put(sandbox, fake, whole()), 0);
    struct tr_recorded_message recorded = recorded_of(do_all, 4);
    recorded.reason = (uint32_t)-TR_MEMORY;
    assert_int_equal(handle(&recorded).reason, 0);
    uint64_t used = tr_memory_used();
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(handle(&recorded).reason, 0);
    }
    assert_int_equal(tr_memory_used(), used);
}

static void test_another_history_is_said(void **state)
{
    (void)state;
    assert_int_equal(tri_sandbox_put(sandbox, fake, whole()), 0);
    struct tr_recorded_message recorded = recorded_of(do_all, 4);
    recorded.sequence = 12;
    assert_true(handle(&recorded).has_other_history);
}

static void test_what_has_ended_hears_nothing(void **state)
{
    (void)state;
    struct tr_recorded_message recorded = recorded_of(stop, 0);
    struct tri_sandbox_handled handled;
    assert_int_equal(tri_sandbox_handle(sandbox, &recorded, &visitor, &handled), TR_NO_ACTOR);
    assert_int_equal(tri_sandbox_put(sandbox, fake, whole()), 0);
    assert_int_equal(tri_sandbox_put(sandbox, fake, whole()), TR_EXISTS);
    (void)handle(&recorded);
    assert_int_equal(counts[TRI_SANDBOX_STOP], 1);
    assert_int_equal(tri_sandbox_handle(sandbox, &recorded, &visitor, &handled), TR_NO_ACTOR);
}

static void test_what_is_no_message_is_refused(void **state)
{
    (void)state;
    assert_int_equal(tri_sandbox_put(sandbox, fake, whole()), 0);
    struct tr_recorded_message good = recorded_of(do_all, 4);
    struct tr_recorded_message bad = good;
    bad.message.size--;
    assert_int_equal(tri_sandbox_handle(sandbox, &bad, &visitor, NULL), TR_MALFORMED);
    bad = good;
    bad.worker = TR_WORKERS_MAX;
    assert_int_equal(tri_sandbox_handle(sandbox, &bad, &visitor, NULL), TR_MALFORMED);
    bad = good;
    bad.spawns = UINT64_MAX;
    assert_int_equal(tri_sandbox_handle(sandbox, &bad, &visitor, NULL), TR_MALFORMED);
    bad = good;
    bad.reason = 0x80000000;
    assert_int_equal(tri_sandbox_handle(sandbox, &bad, &visitor, NULL), TR_MALFORMED);
    uint8_t other[512];
    memcpy(other, good.message.data, good.message.size);
    tr_envelope_put(other, 64, to_serial, fake.key.serial + 16);
    bad = good;
    bad.message.data = other;
    assert_int_equal(tri_sandbox_handle(sandbox, &bad, &visitor, NULL), TR_MALFORMED);
    assert_int_equal(counts[TRI_SANDBOX_STATE], 0);
}

static void test_damaged_snapshot_is_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size < snapshot_size; size++) {
        struct tr_bytes cut = {.data = snapshot, .size = size};
        assert_true(tri_sandbox_put(sandbox, fake, cut) < 0);
    }
    assert_int_equal(tri_sandbox_put(sandbox, (struct tr_ref){0}, whole()), TR_MALFORMED);
    const struct tr_ref service = {{tri_host_group(0, 9), TR_SERVICE_CONTROL}, 1};
    assert_int_equal(tri_sandbox_put(sandbox, service, whole()), TR_MALFORMED);
    assert_int_equal(tri_sandbox_put(sandbox, fake, whole()), 0);
}

/* --------------------------------------------------------------- older versions */

/* The fake actor as a later program has it: its state has one field more. */
#define TR_FAKE_ACTOR_NEXT_FIELDS(FIELD, ARRAY) \
    TR_FAKE_ACTOR_FIELDS(FIELD, ARRAY)          \
    FIELD(u64, later, 2, 0)
TR_SCHEMA_DECLARE(fake_actor_next, TR_FAKE_ACTOR_NEXT_FIELDS)
TR_SCHEMA_DEFINE(fake_actor_next, 61000, TR_STATE, 2, 0, TR_FAKE_ACTOR_NEXT_FIELDS)

static int handle_next(struct tr_context *context, void *value, const struct tr_message *message)
{
    struct tr_fake_actor_next *it = value;
    (void)context;
    (void)message;
    it->later = it->later + 1;
    return 0;
}

static void test_a_state_of_an_older_version_is_read(void **state)
{
    (void)state;
    const struct tr_behaviour next = {.name = "next",
                                      .id = fake_actor_behaviour.id,
                                      .state = &tr_fake_actor_next_schema,
                                      .handle = handle_next};
    const struct tr_behaviour *const behaviours[] = {&next};
    struct tri_sandbox_options wanted = {.behaviours = behaviours, .behaviour_count = 1};
    tri_sandbox_free(sandbox);
    assert_int_equal(tri_sandbox_new(&wanted, &sandbox), 0);
    assert_int_equal(tri_sandbox_put(sandbox, fake, whole()), 0);
    struct tr_recorded_message recorded = recorded_of(stop, 0);
    assert_int_equal(handle(&recorded).reason, 0);
    assert_int_equal(counts[TRI_SANDBOX_STATE], 1);
    struct tr_bytes bytes;
    struct tr_fake_actor_next it;
    assert_int_equal(tri_sandbox_state(sandbox, &bytes), 0);
    assert_int_equal(tr_fake_actor_next_unpack(bytes, 2, &it), 0);
    assert_int_equal(it.later, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_everything_is_shown_and_goes_nowhere),
        TEST(test_spawns_have_the_recorded_numbers),
        TEST(test_groups_are_those_of_the_recorded_host),
        TEST(test_a_recording_that_lies_makes_no_actor_twice),
        TEST(test_a_failure_changes_nothing),
        TEST(test_failures_take_no_memory),
        TEST(test_another_history_is_said),
        TEST(test_what_has_ended_hears_nothing),
        TEST(test_what_is_no_message_is_refused),
        TEST(test_damaged_snapshot_is_refused),
        TEST(test_a_state_of_an_older_version_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
