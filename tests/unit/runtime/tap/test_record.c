/*
 * Recording an actor of a running host, and replaying it: in the sandbox it says to whom and what
 * it said then, and spawns the same children.
 */
#include "tests/support/test.h"

#include <string.h>

#include "runtime/memory.h"
#include "runtime/tap/record.h"
#include "runtime/trace/recording.h"
#include "runtime/worker/sandbox.h"
#include "schemas/runtime/recording.h"
#include "tests/support/scripted.h"

#define PATIENCE_MS 10000
#define FILE_BYTES (1 << 20)
#define EVENTS_MAX 256

/* Bodies and receivers of messages, and spawns, in their order. */
struct deed {
    bool is_spawn;
    struct tr_ref who; /* to whom, or who was spawned */
    uint16_t type;
    uint64_t sequence;
    uint64_t cause_sequence;
    uint64_t deadline_ms;
    size_t size;
    uint8_t body[64];
};

static struct deed seen[EVENTS_MAX];
static struct deed replayed[EVENTS_MAX];
static size_t seen_count;
static size_t replayed_count;

static struct deed deed_of(struct tr_bytes message)
{
    struct tr_envelope envelope;
    struct tr_bytes body = tr_envelope_body(message.data);
    tr_envelope_unpack(message.data, &envelope);
    struct deed deed = {
        .who = tr_envelope_to(&envelope),
        .type = envelope.type,
        .sequence = envelope.sequence,
        .cause_sequence = envelope.cause_sequence,
        .deadline_ms = envelope.deadline_ms,
        .size = body.size,
    };
    assert_true(body.size <= sizeof deed.body);
    memcpy(deed.body, body.data, body.size);
    return deed;
}

/* --------------------------------------------------------------------- the live side */

static uint8_t file[FILE_BYTES];
static size_t file_size;

static int record_open(struct tr_host *host, const char *address, bool has_secrets, uint64_t limit,
                       struct tr_tap_record **record)
{
    struct tr_tap_record_options options = {
        .address = tr_text_of(address),
        .program = "test",
        .has_secrets = has_secrets,
        .limit = limit,
        .registry = scripted_registry(),
    };
    file_size = 0;
    return tr_tap_record_open(host, &options, record);
}

/* Puts what comes into the file, until there is nothing for now or at all. */
static int record_take(struct tr_tap_record *record, uint64_t timeout_ms)
{
    struct tr_bytes bytes;
    int error;
    while ((error = tr_tap_record_next(record, timeout_ms, &bytes)) == 0) {
        assert_true(file_size + bytes.size <= sizeof file);
        memcpy(file + file_size, bytes.data, bytes.size);
        file_size += bytes.size;
    }
    return error;
}

/* What one scripted actor does, as a tap shows it. */
static void take_seen(struct tr_tap *tap, struct tr_ref who)
{
    struct tr_tap_event event;
    seen_count = 0;
    while (tr_tap_next(tap, 0, &event) == 0) {
        bool is_spawn = event.point == TR_TAP_SPAWN;
        if (is_spawn && seen_count < EVENTS_MAX) {
            seen[seen_count++] = (struct deed){.is_spawn = true, .who = event.actor};
        } else if (tr_key_equal(event.actor.key, who.key)) {
            seen[seen_count++] = deed_of(event.message);
        }
    }
}

/* ------------------------------------------------------------------- the sandbox side */

static void visit(void *self, const struct tri_sandbox_effect *it)
{
    (void)self;
    if (it->kind == TRI_SANDBOX_SPAWN) {
        replayed[replayed_count++] = (struct deed){.is_spawn = true, .who = it->actor};
    } else if (it->kind == TRI_SANDBOX_MESSAGE) {
        replayed[replayed_count++] = deed_of(it->bytes);
    }
}

static void next(struct tr_recording_reader *reader, const struct tr_schema *schema,
                 struct tr_recording_entry *entry)
{
    assert_int_equal(tr_recording_next(reader, entry), 0);
    assert_int_equal(entry->type, schema->id);
}

/* Replays the file; gives the last state, and how many messages it has. */
static uint64_t replay(struct tr_scripted_state *last)
{
    struct tr_recording_reader reader;
    struct tr_recording_entry entry;
    struct tr_recording head;
    struct tr_recorded_image image;
    struct tri_sandbox *sandbox;
    static const struct tr_behaviour *const behaviours[] = {&scripted_behaviour};
    assert_int_equal(
        tr_recording_begin((struct tr_bytes){.data = file, .size = file_size}, &reader), 0);
    next(&reader, &tr_recording_schema, &entry);
    assert_int_equal(tr_recording_unpack(entry.body, entry.version, &head), 0);
    next(&reader, &tr_recorded_image_schema, &entry);
    assert_int_equal(tr_recorded_image_unpack(entry.body, entry.version, &image), 0);
    assert_false(image.is_redacted);
    struct tri_sandbox_options options = {.behaviours = behaviours,
                                          .behaviour_count = 1,
                                          .seed = head.seed,
                                          .epoch = head.epoch,
                                          .host = head.host};
    assert_int_equal(tri_sandbox_new(&options, &sandbox), 0);
    assert_int_equal(tri_sandbox_put(sandbox, head.actor, image.snapshot), 0);
    uint64_t count = 0;
    replayed_count = 0;
    while (tr_recording_next(&reader, &entry) == 0 && entry.type == tr_recorded_message_schema.id) {
        struct tr_recorded_message recorded;
        struct tri_sandbox_handled handled;
        struct tri_sandbox_visitor visitor = {.visit = visit};
        assert_int_equal(tr_recorded_message_unpack(entry.body, entry.version, &recorded), 0);
        assert_int_equal(tri_sandbox_handle(sandbox, &recorded, &visitor, &handled), 0);
        assert_int_equal(handled.reason, -(int)recorded.reason);
        assert_false(handled.has_other_history);
        count++;
    }
    assert_int_equal(entry.type, tr_recorded_end_schema.id);
    struct tr_bytes state;
    assert_int_equal(tri_sandbox_state(sandbox, &state), 0);
    assert_int_equal(tr_scripted_state_unpack(state, 1, last), 0);
    tri_sandbox_free(sandbox);
    return count;
}

static void assert_same_deeds(void)
{
    assert_int_equal(replayed_count, seen_count);
    for (size_t i = 0; i < seen_count; i++) {
        /* A worker shows spawns of a handler first, as the sandbox does. */
        assert_memory_equal(&replayed[i], &seen[i], sizeof seen[i]);
    }
}

/* A life with all that a scripted actor does. */
static void live(struct tr_host *host, struct tr_ref ann, struct tr_ref bob)
{
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = 3, .peer = bob});
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_SPAWN, .count = 2});
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_TIMER, .count = 1});
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_ASK, .count = 1, .peer = bob});
    scripted_do(host, bob, (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = 4, .peer = ann});
    scripted_do(
        host, ann,
        (struct tr_scripted_do){.verb = SCRIPTED_LATER, .count = 200, .then = SCRIPTED_STOP});
}

static void test_a_replay_does_what_was_done(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    /* What was before counts too: it is in the image. */
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_SPAWN, .count = 5});
    scripted_do(host, bob, (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = 2, .peer = ann});
    scripted_await(host, "messages_handled", 4);
    struct tr_tap_record *record;
    assert_int_equal(record_open(host, "/ann", true, 0, &record), 0);
    struct tr_tap *tap = scripted_tap(host, "limit=1000 point=send,spawn payload=64");
    live(host, ann, bob);
    assert_int_equal(record_take(record, PATIENCE_MS), TR_CLOSED);
    assert_string_equal(tr_tap_record_words(record), "the actor has ended");
    take_seen(tap, ann);
    tr_tap_close(tap);
    struct tr_scripted_state last;
    assert_int_equal(replay(&last), tr_tap_record_count(record));
    assert_true(tr_tap_record_count(record) >= 10);
    assert_int_equal(last.ticks, 6);
    assert_int_equal(last.timers, 2);
    assert_same_deeds();
    assert_true(seen_count >= 3 + 2 + 1);
    tr_tap_record_close(record);
    tr_host_free(host);
}

static void test_failures_are_replayed_and_change_nothing(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_tap_record *record;
    assert_int_equal(record_open(host, "/ann", true, 0, &record), 0);
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_FAIL});
    scripted_await(host, "quarantines", 1);
    assert_int_equal(tr_host_resume(host, ann, true), 0);
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_SPAWN, .count = 1});
    scripted_await(host, "messages_handled", 1);
    assert_int_equal(record_take(record, 0), TR_TIMEOUT);
    assert_int_equal(tr_tap_record_count(record), 3);
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_STOP});
    assert_int_equal(record_take(record, PATIENCE_MS), TR_CLOSED);
    struct tr_scripted_state last;
    assert_true(replay(&last) >= 3);
    tr_tap_record_close(record);
    tr_host_free(host);
}

static void test_a_recording_follows_a_move(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(2, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    uint32_t home = (uint32_t)(ann.key.serial & (TR_WORKERS_MAX - 1));
    struct tr_tap_record *record;
    assert_int_equal(record_open(host, "/ann", true, 0, &record), 0);
    struct tr_tap *tap = scripted_tap(host, "limit=1000 point=send,spawn payload=64");
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_SPAWN, .count = 2});
    assert_int_equal(tr_host_move(host, ann, 1 - home), 0);
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_SPAWN, .count = 2});
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_STOP});
    assert_int_equal(record_take(record, PATIENCE_MS), TR_CLOSED);
    assert_string_equal(tr_tap_record_words(record), "the actor has ended");
    take_seen(tap, ann);
    struct tr_scripted_state last;
    assert_int_equal(replay(&last), 3);
    assert_same_deeds();
    assert_int_equal(replayed_count, 4);
    tr_tap_close(tap);
    tr_tap_record_close(record);
    tr_host_free(host);
}

static void test_secrets_are_kept_only_when_asked_for(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    for (int has_secrets = 0; has_secrets < 2; has_secrets++) {
        struct tr_tap_record *record;
        assert_int_equal(record_open(host, "/bob", has_secrets != 0, 1, &record), 0);
        scripted_do(host, ann,
                    (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = 1, .peer = bob});
        assert_int_equal(record_take(record, PATIENCE_MS), TR_CLOSED);
        assert_string_equal(tr_tap_record_words(record), "as much as was asked for");
        bool is_there = memmem(file, file_size, "hush", 4) != NULL;
        assert_int_equal(is_there, has_secrets != 0);
        tr_tap_record_close(record);
    }
    tr_host_free(host);
}

static void test_a_slow_reader_is_told_of_the_gap(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    struct tr_tap_record *record;
    assert_int_equal(record_open(host, "/bob", true, 0, &record), 0);
    for (uint64_t i = 1; i <= 60; i++) {
        scripted_do(host, ann,
                    (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = 1000, .peer = bob});
    }
    scripted_await(host, "messages_handled", 60 * 1001);
    struct tr_bytes bytes;
    int error;
    while ((error = tr_tap_record_next(record, 0, &bytes)) == 0) {
    }
    assert_int_equal(error, TR_CLOSED);
    assert_non_null(strstr(tr_tap_record_words(record), "messages were lost"));
    assert_true(tr_tap_record_count(record) > 0);
    tr_tap_record_close(record);
    tr_host_free(host);
}

static void test_an_end_that_is_asked_for(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_tap_record *record;
    assert_int_equal(record_open(host, "/ann", true, 0, &record), 0);
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_SPAWN, .count = 1});
    scripted_await(host, "messages_handled", 1);
    tr_tap_record_end(record, "enough");
    assert_int_equal(record_take(record, 0), TR_CLOSED);
    assert_string_equal(tr_tap_record_words(record), "enough");
    struct tr_scripted_state last;
    assert_int_equal(replay(&last), 1);
    tr_tap_record_close(record);
    tr_host_free(host);
}

static void test_nobody_is_not_recorded(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(1, NULL, 0);
    struct tr_tap_record *record;
    assert_int_equal(record_open(host, "/nobody", true, 0, &record), TR_NOT_FOUND);
    tr_host_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_replay_does_what_was_done),
        cmocka_unit_test(test_failures_are_replayed_and_change_nothing),
        cmocka_unit_test(test_a_recording_follows_a_move),
        cmocka_unit_test(test_secrets_are_kept_only_when_asked_for),
        cmocka_unit_test(test_a_slow_reader_is_told_of_the_gap),
        cmocka_unit_test(test_an_end_that_is_asked_for),
        cmocka_unit_test(test_nobody_is_not_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
