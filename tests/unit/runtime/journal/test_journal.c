/*
 * The journal's turn: batches that come in any order are committed in theirs, without a gap; what
 * rides along leaves afterwards; and each worker hears how many of its batches are done.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/journal/journal.h"
#include "schemas/runtime/control.h"
#include "tests/sim/model_store.h"
#include "tests/support/stage.h"

/* A stage without actors: its journal's pipe and its workers' are what is looked at. */
static struct stage stage;
static struct tri_model *model;
static struct tri_store *store;

static void begin(void)
{
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    model = tri_model_new();
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    stage_open(&stage, &(struct stage_options){.worker_count = 2, .store = store});
}

static void end(void)
{
    stage_close(&stage);
    tri_store_close(store);
    tri_model_free(model);
}

static void send_taken(struct tri_batch *batch, uint64_t number, uint32_t worker)
{
    size_t size;
    uint8_t *data = tri_batch_take(batch, number, worker, &size);
    struct tri_channel *link = stage_worker(&stage, worker)->link;
    assert_int_equal(tri_channel_send(link, TRI_PLACE_JOURNAL, data, size), 0);
    stage_worker(&stage, worker)->cuts_outstanding++;
    stage_worker(&stage, worker)->cut_bytes_outstanding += size;
}

/* A batch of a worker with one cell to write and one call to let go. */
static void send_batch(uint64_t number, uint32_t worker)
{
    struct tri_batch batch = {0};
    struct tri_op op = {.kind = TRI_OP_PUT_META,
                        .number = TRI_META_USER,
                        .data = {(const uint8_t *)&number, sizeof number}};
    tri_batch_add(&batch, &op);
    uint8_t call[8];
    memcpy(call, &number, sizeof number);
    tri_batch_add_call(&batch, TRI_PLACE_HTTP, (struct tr_bytes){call, sizeof call});
    send_taken(&batch, number, worker);
}

/* A batch of a worker with pages of one actor, of so many bytes each. */
static void send_pages(uint64_t number, uint64_t count, size_t size)
{
    struct tri_batch batch = {0};
    uint8_t *bytes = calloc(size, 1);
    for (uint64_t page = 1; page <= count; page++) {
        struct tri_op op = {.kind = TRI_OP_PUT_PAGE,
                            .key = {.group = 7, .serial = 1},
                            .number = page,
                            .data = {bytes, size}};
        tri_batch_add(&batch, &op);
    }
    free(bytes);
    send_taken(&batch, number, 0);
}

static uint64_t stored_number(void)
{
    uint64_t number = 0;
    size_t size;
    int error = tri_store_read_meta(store, TRI_META_USER, &number, sizeof number, &size);
    assert_true(error == 0 || error == TR_NOT_FOUND);
    return number;
}

static void test_no_number_is_committed_before_all_lower_ones(void **state)
{
    (void)state;
    begin();
    uint64_t first = store->last_number + 1;
    send_batch(first + 2, 0);
    send_batch(first + 1, 1);
    stage_run(&stage);
    assert_int_equal(store->last_number, first - 1);
    assert_int_equal(stage.inboxes[TRI_PLACE_HTTP].count, 0); /* nothing has left */
    assert_int_equal(stage_worker(&stage, 0)->cuts_outstanding, 1);
    send_batch(first, 1);
    stage_run(&stage);
    assert_int_equal(store->last_number, first + 2);
    assert_int_equal(stored_number(), first + 2); /* the last one in the order, not in time */
    assert_int_equal(stage.inboxes[TRI_PLACE_HTTP].count, 1);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(stage_worker(&stage, i)->cuts_outstanding, 0);
        assert_int_equal(stage_worker(&stage, i)->cut_bytes_outstanding, 0);
        assert_int_equal(stage_worker(&stage, i)->committed_number, first + 2);
    }
    assert_int_equal(stage.host.journal.commit_count, 1);
    end();
}

/* How late it is as the store has it, after a start on the wall at STAGE_START_WALL_MS. */
static uint64_t stored_clock_ms(void)
{
    struct tri_kept_clock kept = {0};
    size_t size = 0;
    int error = tri_store_read_meta(store, TRI_META_CLOCK, &kept, sizeof kept, &size);
    assert_true(error == 0 ? size == sizeof kept : error == TR_NOT_FOUND);
    return error != 0 ? 0 : kept.steady_ms - STAGE_START_WALL_MS;
}

/* How late it is, too, was not written by the commits before: a life that ends soon after would not
 * know what time the states that were written with it have. */
static void test_a_commit_that_may_be_tried_again_is(void **state)
{
    (void)state;
    begin();
    uint64_t first = store->last_number + 1;
    tri_model_faults(model)->full_commits = 2;
    stage_advance(&stage, 5);
    send_batch(first, 0);
    stage_run(&stage);
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_WAITS);
    assert_int_equal(stage.host.journal.error, TR_STORE_FULL);
    send_batch(first + 1, 0); /* what comes meanwhile joins */
    stage_advance(&stage, 1000);
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_WELL);
    assert_int_equal(store->last_number, first + 1);
    assert_int_equal(stage_worker(&stage, 0)->cuts_outstanding, 0);
    assert_true(stored_clock_ms() > 0);
    end();
}

/* A commit of unknown outcome is repeated unchanged; later batches wait for the next one. */
static void test_a_commit_of_unknown_outcome_is_repeated_alone(void **state)
{
    (void)state;
    begin();
    uint64_t first = store->last_number + 1;
    tri_model_faults(model)->lose_next = true;
    send_batch(first, 0);
    stage_run(&stage);
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_WAITS);
    assert_int_equal(stage.host.journal.error, TR_BUSY);
    assert_int_equal(stage.inboxes[TRI_PLACE_HTTP].count, 0);
    send_batch(first + 1, 0);
    stage_advance(&stage, 1000);
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_WELL);
    assert_int_equal(stage.host.journal.commit_count, 2);
    assert_int_equal(store->last_number, first + 1);
    assert_int_equal(stored_number(), first + 1);
    assert_int_equal(stage_worker(&stage, 0)->cuts_outstanding, 0);
    end();
}

/* Batches are whole in any case, so the one that goes beyond a bound is the last of its commit. */
static void test_many_operations_become_several_commits(void **state)
{
    (void)state;
    begin();
    uint64_t first = store->last_number + 1;
    send_pages(first + 1, 1, 8); /* both wait for the first */
    send_pages(first + 2, 1, 8);
    send_pages(first, TR_COMMIT_OPS_MAX, 8);
    stage_run(&stage);
    assert_int_equal(store->last_number, first + 2);
    assert_int_equal(stage.host.journal.commit_count, 2);
    end();
}

static void test_many_bytes_become_several_commits(void **state)
{
    (void)state;
    begin();
    uint64_t first = store->last_number + 1;
    send_pages(first + 1, 1, TR_COMMIT_BYTES_MAX / 2);
    send_pages(first + 2, 1, 8);
    send_pages(first, 1, TR_COMMIT_BYTES_MAX / 2);
    stage_run(&stage);
    assert_int_equal(store->last_number, first + 2);
    assert_int_equal(stage.host.journal.commit_count, 2);
    end();
}

static void test_a_failed_commit_lets_nothing_go(void **state)
{
    (void)state;
    begin();
    uint64_t first = store->last_number + 1;
    tri_model_faults(model)->fail_next = true;
    send_batch(first, 0);
    stage_run(&stage);
    send_batch(first + 1, 1);
    stage_run(&stage);
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_FAILED);
    assert_int_equal(stage.inboxes[TRI_PLACE_HTTP].count, 0);
    assert_true(strlen(stage.host.journal.words) > 0);
    end();
}

/* Operations are counted one by one. */
static void keep_no_clock(struct tri_journal *journal)
{
    tri_journal_keep_clock(journal, NULL, 0);
}

static void test_the_clock_is_kept_now_and_then(void **state)
{
    (void)state;
    begin();
    struct tri_journal *journal = &stage.host.journal;
    stage_advance(&stage, 5);
    assert_int_equal(stored_clock_ms(), 0);
    for (uint64_t number = 1; number < 4; number++) {
        send_batch(number, 0);
        stage_run(&stage);
        assert_int_equal(stored_clock_ms(), number < 3 ? 5 : 5 + TR_CLOCK_KEPT_MS);
        stage_advance(&stage, number == 1 ? TR_CLOCK_KEPT_MS - 1 : 1);
    }
    tri_journal_end(journal); /* too early to be worth a commit */
    assert_int_equal(stored_clock_ms(), 5 + TR_CLOCK_KEPT_MS);
    stage_advance(&stage, 60000);
    tri_journal_end(journal);
    assert_int_equal(stored_clock_ms(), 5 + TR_CLOCK_KEPT_MS + 1 + 60000);
    assert_int_equal(journal->committed_number, 3);
    end();
}

/* A batch that lets a process begin. */
static void send_process(uint64_t number)
{
    struct tri_batch batch = {0};
    static const uint8_t call[8];
    tri_batch_add_call(&batch, TRI_PLACE_PROCESSES, (struct tr_bytes){call, sizeof call});
    send_taken(&batch, number, 0);
}

/* Beside other hosts: no process is asked for later than what is stored. */
static void test_the_clock_is_kept_with_each_process(void **state)
{
    (void)state;
    const uint64_t cells[] = {0, TRI_META_CLOCK_OF_SLOT};
    for (size_t i = 0; i < TR_COUNT_OF(cells); i++) {
        begin();
        struct tri_journal *journal = &stage.host.journal;
        tri_journal_keep_clock(journal, &stage.host.shared.life, cells[i]);
        send_batch(1, 0);
        stage_run(&stage);
        uint64_t first_ms = stored_clock_ms();
        stage_advance(&stage, 7);
        send_batch(2, 0);
        stage_run(&stage);
        assert_int_equal(stored_clock_ms(), first_ms);
        send_process(3);
        stage_run(&stage);
        assert_int_equal(stored_clock_ms(), cells[i] == 0 ? first_ms : first_ms + 7);
        stage_advance(&stage, 2);
        send_batch(4, 0); /* which has none */
        stage_run(&stage);
        assert_int_equal(stored_clock_ms(), cells[i] == 0 ? first_ms : first_ms + 7);
        end();
    }
}

/* What the next life makes of it. */
static void test_a_life_goes_on_where_the_last_one_was(void **state)
{
    (void)state;
    begin();
    const uint64_t wall_ms = stage.wall_ms;
    const struct {
        struct tri_kept_clock kept;
        uint64_t ahead_ms;
        uint64_t put_back_ms;
    } rows[] = {
        {{0, 0}, 0, 0},                       /* a new store */
        {{wall_ms - 5000, 0}, 0, 0},          /* time has gone by */
        {{wall_ms + 5000, 0}, 5000, 5000},    /* the clock was put back */
        {{wall_ms + 3000, 5000}, 3000, 0},    /* it was before, and catches up */
        {{wall_ms + 9000, 5000}, 9000, 4000}, /* and once more */
        {{wall_ms - 1, 5000}, 0, 0},          /* it has caught up */
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tri_life life = tri_life_begin(stage.host.env, rows[i].kept);
        assert_int_equal(life.start_wall_ms, wall_ms);
        assert_int_equal(life.ahead_ms, rows[i].ahead_ms);
        assert_int_equal(life.put_back_ms, rows[i].put_back_ms);
        assert_true(tri_life_steady_ms(&life, life.start_ns) >= rows[i].kept.steady_ms);
    }
    end();
}

static void test_memory_is_given_back_after_much_work_alone(void **state)
{
    (void)state;
    begin();
    struct tri_journal *journal = &stage.host.journal;
    keep_no_clock(journal);
    journal->ops_since_release = TR_RELEASE_OPS - 1;
    tri_journal_release_memory(journal);
    assert_int_equal(journal->ops_since_release, TR_RELEASE_OPS - 1);
    send_batch(store->last_number + 1, 0); /* one operation more */
    assert_true(tri_journal_step(journal));
    send_batch(store->last_number + 2, 0); /* its predecessor is missing: the journal waits */
    assert_true(tri_journal_step(journal));
    tri_journal_release_memory(journal);
    assert_int_equal(journal->ops_since_release, TR_RELEASE_OPS);
    send_batch(store->last_number + 1, 0);
    stage_run(&stage);
    tri_journal_release_memory(journal);
    assert_int_equal(journal->ops_since_release, 0);
    end();
}

static void test_memory_is_given_back_after_some_work_long_ago(void **state)
{
    (void)state;
    begin();
    struct tri_journal *journal = &stage.host.journal;
    keep_no_clock(journal);
    journal->ops_since_release = TR_RELEASE_OPS_FEW - 2;
    for (uint64_t left = 1; left < 2; left--) {
        send_batch(store->last_number + 1, 0);
        stage_run(&stage);
        stage_advance(&stage, TR_RELEASE_AFTER_MS - 1);
        tri_journal_release_memory(journal);
        assert_int_equal(journal->ops_since_release, TR_RELEASE_OPS_FEW - left);
        stage_advance(&stage, 1);
        tri_journal_release_memory(journal);
        assert_int_equal(journal->ops_since_release, left == 0 ? 0 : TR_RELEASE_OPS_FEW - left);
    }
    end();
}

/* A start reads what it does not need any more. */
static void test_memory_is_given_back_after_a_start(void **state)
{
    (void)state;
    begin();
    stage_advance(&stage, TR_RELEASE_AFTER_MS);
    tri_journal_release_memory(&stage.host.journal);
    assert_int_equal(stage.host.journal.ops_since_release, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_number_is_committed_before_all_lower_ones),
        cmocka_unit_test(test_a_commit_that_may_be_tried_again_is),
        cmocka_unit_test(test_a_commit_of_unknown_outcome_is_repeated_alone),
        cmocka_unit_test(test_many_operations_become_several_commits),
        cmocka_unit_test(test_many_bytes_become_several_commits),
        cmocka_unit_test(test_a_failed_commit_lets_nothing_go),
        cmocka_unit_test(test_the_clock_is_kept_now_and_then),
        cmocka_unit_test(test_the_clock_is_kept_with_each_process),
        cmocka_unit_test(test_a_life_goes_on_where_the_last_one_was),
        cmocka_unit_test(test_memory_is_given_back_after_much_work_alone),
        cmocka_unit_test(test_memory_is_given_back_after_some_work_long_ago),
        cmocka_unit_test(test_memory_is_given_back_after_a_start),
    };
    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
