/*
 * What comes into a worker: bytes that are no message, spawns from outside and their refusals, and
 * the journal's news.
 */
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;

static void open_stage(uint32_t workers)
{
    fake_actor_forget();
    stage_open(&stage, &(struct stage_options){.worker_count = workers});
}

static void test_bytes_that_are_no_message_are_counted_and_named(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    uint8_t noise[TR_ENVELOPE_BYTES + 10];
    memset(noise, 0xc1, sizeof noise);
    for (size_t size = 1; size <= sizeof noise; size += 7) {
        stage_send_bytes(&stage, TRI_PLACE_CONTROL, 0, (struct tr_bytes){noise, size});
    }
    fake_actor_note(&stage, a, 1);
    stage_run(&stage);
    size_t count = (sizeof noise + 6) / 7;
    assert_int_equal(stage_metric(&stage, undecodable), count);
    assert_int_equal(stage_metric(&stage, dead_letters), count);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), 1); /* the worker goes on */
    stage_close(&stage);
}

/* A whole envelope with a body that its schema does not read: the handler says so, twice. */
static void test_a_body_that_cannot_be_read_is_poison(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    uint8_t bytes[TR_ENVELOPE_BYTES + 1];
    struct tr_envelope envelope = {.envelope_version = TR_ENVELOPE_VERSION,
                                   .kind = TR_KIND_TELL,
                                   .type = tr_note_schema.id,
                                   .version = tr_note_schema.version,
                                   .body_size = 1,
                                   .to_group = a.key.group,
                                   .to_serial = a.key.serial};
    tr_envelope_pack(&envelope, bytes);
    bytes[TR_ENVELOPE_BYTES] = 0xc1;
    stage_send_bytes(&stage, TRI_PLACE_CONTROL, 0, (struct tr_bytes){bytes, sizeof bytes});
    stage_advance(&stage, 20);
    assert_int_equal(stage_actor(&stage, a)->phase, TRI_QUARANTINED);
    assert_int_equal(tr_host_resume(&stage.host, a, true), 0);
    stage_run(&stage);
    assert_int_equal(stage_dead_letters(&stage, TR_POISON), 1);
    stage_close(&stage);
}

static void test_an_empty_item_is_only_a_nudge(void **state)
{
    (void)state;
    open_stage(1);
    stage_send_bytes(&stage, TRI_PLACE_CONTROL, 0, (struct tr_bytes){NULL, 0});
    stage_run(&stage);
    assert_int_equal(stage_metric(&stage, dead_letters), 0);
    assert_int_equal(stage_metric(&stage, messages_received), 0);
    stage_close(&stage);
}

static void test_a_spawn_that_cannot_be_is_refused_by_name(void **state)
{
    (void)state;
    open_stage(1);
    static const struct tr_behaviour unknown = {.name = "unknown", .id = 99};
    struct tr_ref actor;
    assert_int_equal(tr_host_spawn(&stage.host, &unknown, NULL, &actor), TR_UNKNOWN_TYPE);
    char name[TR_NAME_BYTES_MAX + 1];
    memset(name, 'x', sizeof name);
    struct tr_spawn_options options = {.name = {name, sizeof name}};
    assert_int_equal(tr_host_spawn(&stage.host, &fake_actor_behaviour, &options, &actor), TR_LIMIT);
    assert_int_equal(stage_actor_count(&stage), 0);
    stage_close(&stage);
}

static void test_the_state_of_a_spawn_arrives(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_fake_actor first = {.count = 4, .number = 5, .peer = {{6, 7}, 8}};
    assert_int_equal(tr_array_set(&first.words, tr_text_of("hello")), 0);
    struct tr_spawn_options options = {.state = &first, .name = tr_text_of("named")};
    struct tr_ref a = stage_spawn(&stage, &fake_actor_behaviour, &options);
    const struct tr_fake_actor *spawned = fake_actor_state(&stage, a);
    assert_int_equal(spawned->count, 4);
    assert_int_equal(spawned->number, 5);
    assert_int_equal(spawned->peer.incarnation, 8);
    assert_true(tr_text_equal(tr_array_get(&spawned->words), tr_text_of("hello")));
    struct tr_ref found;
    assert_int_equal(tr_host_find(&stage.host, tr_text_of("/named"), &found), 0);
    assert_true(tr_key_equal(found.key, a.key));
    assert_int_equal(tr_host_find(&stage.host, tr_text_of("/other"), &found), TR_NOT_FOUND);
    stage_close(&stage);
}

/* No memory: new roots are refused, and what lives goes on. */
static void test_without_memory_new_roots_are_refused(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    void *block = tr_alloc(64);
    assert_non_null(block);
    /* The size in front of a block is what is counted: this one seems as large as the limit. */
    uint64_t size = TR_WORKER_BYTES_MAX + 1;
    uint8_t *header = (uint8_t *)block - 16;
    memcpy(header, &size, sizeof size);
    tr_free(block); /* now less than nothing is used */
    assert_true(tr_memory_used() > TR_WORKER_BYTES_MAX);
    struct tr_ref actor;
    assert_int_equal(tr_host_spawn(&stage.host, &fake_actor_behaviour, NULL, &actor), TR_BUSY);
    fake_actor_note(&stage, a, 1);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), 1);
    stage.memory_before -= size - 64;
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_that_are_no_message_are_counted_and_named),
        cmocka_unit_test(test_a_body_that_cannot_be_read_is_poison),
        cmocka_unit_test(test_an_empty_item_is_only_a_nudge),
        cmocka_unit_test(test_a_spawn_that_cannot_be_is_refused_by_name),
        cmocka_unit_test(test_the_state_of_a_spawn_arrives),
        cmocka_unit_test(test_without_memory_new_roots_are_refused),
    };
    return cmocka_run_group_tests_name("receive", tests, NULL, NULL);
}
