/*
 * What the program writes itself: all of it or nothing, in the order of the workers' batches, one
 * after the other.
 */
#include "runtime/host/control.h"
#include "tests/sim/model_store.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;
static struct tri_model *model;
static struct tri_store *store;

static void open_host(void)
{
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    struct stage_options wanted = {.worker_count = 2, .store = store};
    stage_open(&stage, &wanted);
}

static void close_host(void)
{
    stage_close(&stage);
    tri_store_close(store);
}

static void begin(void)
{
    model = tri_model_new();
    fake_actor_forget();
    open_host();
}

static void end(void)
{
    close_host();
    tri_model_free(model);
}

static int write_cell(uint64_t cell, const char *text)
{
    struct tri_op op = {.kind = TRI_OP_PUT_META,
                        .number = TRI_META_USER + cell,
                        .data = {.data = (const uint8_t *)text, .size = strlen(text)}};
    return tr_host_write(&stage.host, &op, 1);
}

static bool has_cell(uint64_t cell, const char *text)
{
    char buffer[16];
    size_t size = 0;
    int error = tri_store_read_meta(store, TRI_META_USER + cell, buffer, sizeof buffer, &size);
    return error == 0 && size == strlen(text) && memcmp(buffer, text, size) == 0;
}

static void crash(void)
{
    tri_model_kill(model, 1);
    close_host();
    fake_actor_forget();
    open_host();
}

static void test_what_is_written_is_there(void **state)
{
    (void)state;
    begin();
    assert_int_equal(tr_host_written(&stage.host), 0);
    assert_int_equal(write_cell(1, "one"), 0);
    assert_int_equal(tr_host_written(&stage.host), TR_BUSY);
    assert_int_equal(write_cell(2, "two"), TR_BUSY);
    assert_false(has_cell(1, "one"));
    assert_int_equal(tr_host_write_wait(&stage.host), 0);
    assert_int_equal(tr_host_written(&stage.host), 0);
    assert_true(has_cell(1, "one"));
    assert_int_equal(write_cell(2, "two"), 0);
    crash();
    assert_true(has_cell(1, "one"));
    assert_false(has_cell(2, "two")); /* it had not come to the journal yet, as a whole */
    end();
}

/* Batches of workers before and behind it are committed all the same. */
static void test_workers_go_on_around_it(void **state)
{
    (void)state;
    begin();
    struct tr_ref fake = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    for (uint64_t i = 1; i <= 20; i++) {
        fake_actor_note(&stage, fake, i);
        assert_int_equal(write_cell(3, i % 2 == 0 ? "even" : "odd"), 0);
        (void)stage_step(&stage);
        assert_int_equal(tr_host_write_wait(&stage.host), 0);
    }
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(fake, &tr_note_schema), 20);
    crash();
    assert_true(has_cell(3, "even"));
    fake_actor_note(&stage, fake, 21);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(fake, &tr_note_schema), 1);
    end();
}

/* A full store is waited for, and then it is written once. */
static void test_a_full_store_keeps_it(void **state)
{
    (void)state;
    begin();
    tri_model_faults(model)->full_commits = 3;
    assert_int_equal(write_cell(1, "one"), 0);
    stage_run(&stage);
    assert_int_equal(tr_host_written(&stage.host), TR_BUSY);
    assert_int_equal(tr_host_waits_for(&stage.host), TR_STORE_FULL);
    stage_advance(&stage, 5000);
    assert_int_equal(tr_host_write_wait(&stage.host), 0);
    assert_true(has_cell(1, "one"));
    assert_int_equal(tr_host_waits_for(&stage.host), 0);
    end();
}

static void test_a_host_without_a_store_writes_nothing(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    assert_int_equal(write_cell(1, "one"), TR_CLOSED);
    assert_int_equal(tr_host_may_begin(&stage.host), 0);
    stage.host.shared.bounds.host_bytes = 4;
    assert_int_equal(tr_host_may_begin(&stage.host), TR_BUSY);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_there),
        cmocka_unit_test(test_workers_go_on_around_it),
        cmocka_unit_test(test_a_full_store_keeps_it),
        cmocka_unit_test(test_a_host_without_a_store_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
