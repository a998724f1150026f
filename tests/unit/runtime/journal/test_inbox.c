/*
 * Operations that come from no worker: they are in the next commit, with whatever follows from
 * them, and in the one after when that is a repetition.
 */
#include "runtime/journal/inbox.h"

#include <string.h>

#include "runtime/journal/journal.h"
#include "runtime/memory.h"
#include "tests/sim/model_store.h"
#include "tests/support/stage.h"

static struct stage stage;
static struct tri_model *model;
static struct tri_store *store;
static struct tri_inbox *inbox;

static int set_up(void **state)
{
    (void)state;
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    model = tri_model_new();
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    stage_open(&stage, &(struct stage_options){.worker_count = 1, .store = store});
    inbox = &stage.host.journal.inbox;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stage_close(&stage);
    tri_store_close(store);
    tri_model_free(model);
    return 0;
}

static void send_batch(uint64_t number)
{
    struct tri_batch batch = {0};
    struct tri_op op = {.kind = TRI_OP_PUT_META,
                        .number = TRI_META_USER,
                        .data = {(const uint8_t *)&number, sizeof number}};
    tri_batch_add(&batch, &op);
    size_t size;
    uint8_t *data = tri_batch_take(&batch, number, 0, &size);
    struct tri_channel *link = stage_worker(&stage, 0)->link;
    assert_int_equal(tri_channel_send(link, TRI_PLACE_JOURNAL, data, size), 0);
    stage_worker(&stage, 0)->cuts_outstanding++;
    stage_worker(&stage, 0)->cut_bytes_outstanding += size;
}

/* The bytes are the caller's only until this returns. */
static uint64_t put(char letter)
{
    uint8_t row[TRI_GRAPH_HASH_BYTES + 1];
    uint64_t ticket = 0;
    struct tri_op op = {.kind = TRI_OP_PUT_GRAPH, .number = 7, .data = {row, sizeof row}};
    memset(row, letter, sizeof row);
    tri_op_sort_by_hash(&op);
    assert_int_equal(tri_inbox_put(inbox, &op, &ticket), 0);
    memset(row, 0, sizeof row);
    return ticket;
}

static bool has(char letter)
{
    uint8_t hash[TRI_GRAPH_HASH_BYTES];
    uint8_t *data = NULL;
    size_t size = 0;
    memset(hash, letter, sizeof hash);
    int error = tri_store_read_graph(store, hash, &data, &size);
    bool is_there = error == 0 && size == 1 && data[0] == (uint8_t)letter;
    assert_true(is_there || error == TR_NOT_FOUND);
    tr_free(data);
    return is_there;
}

static void test_one_commit_has_it_and_what_follows(void **state)
{
    (void)state;
    uint64_t ticket = put('a');
    send_batch(1);
    stage_run(&stage);
    assert_true(has('a'));
    assert_int_equal(store->last_number, 1);
    assert_int_equal(stage.host.journal.commit_count, 1);
    assert_int_equal(tri_inbox_wait(inbox, ticket), 0);
    assert_false(tri_inbox_has_any(inbox));
}

static void test_it_needs_no_batch(void **state)
{
    (void)state;
    uint64_t first = put('a');
    uint64_t second = put('b');
    assert_true(second > first);
    send_batch(2); /* its predecessor is missing */
    stage_run(&stage);
    assert_true(has('a') && has('b'));
    assert_int_equal(store->last_number, 0);
    assert_int_equal(tri_inbox_wait(inbox, second), 0);
    send_batch(1);
    stage_run(&stage);
    assert_int_equal(store->last_number, 2);
}

static void test_a_full_store_is_told_and_waited_out(void **state)
{
    (void)state;
    tri_model_faults(model)->full_commits = 1;
    uint64_t ticket = put('a');
    stage_run(&stage);
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_WAITS);
    assert_int_equal(tri_inbox_wait(inbox, ticket), TR_STORE_FULL);
    assert_false(has('a'));
    ticket = put('b');
    stage_advance(&stage, 1000);
    assert_int_equal(tri_inbox_wait(inbox, ticket), 0);
    assert_true(has('a') && has('b'));
}

/* Also where no number tells the commits apart. */
static void test_what_comes_in_doubt_waits_for_the_next_commit(void **state)
{
    (void)state;
    tri_model_faults(model)->lose_next = true;
    (void)put('a');
    stage_run(&stage);
    assert_int_equal(stage.host.journal.error, TR_BUSY);
    uint64_t ticket = put('b');
    send_batch(1);
    assert_int_equal(tri_inbox_wait(inbox, ticket), TR_BUSY);
    stage_advance(&stage, 1000);
    assert_int_equal(stage.host.journal.commit_count, 2);
    assert_int_equal(tri_inbox_wait(inbox, ticket), 0);
    assert_true(has('a') && has('b'));
    assert_int_equal(store->last_number, 1);
}

static void test_after_the_end_nothing_is_taken(void **state)
{
    (void)state;
    struct tri_op op = {.kind = TRI_OP_DELETE_CRASH, .type = TRI_CRASH_GROUP};
    uint64_t ticket = 0;
    assert_int_equal(tri_inbox_put(inbox, &op, &ticket), 0);
    tri_model_faults(model)->fail_next = true;
    stage_run(&stage);
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_FAILED);
    assert_int_equal(tri_inbox_wait(inbox, ticket), TR_CLOSED);
    assert_int_equal(tri_inbox_put(inbox, &op, NULL), TR_CLOSED);
}

static void test_there_is_a_bound(void **state)
{
    (void)state;
    static uint8_t large[TRI_INBOX_BYTES_MAX + 1];
    struct tri_op op = {.kind = TRI_OP_PUT_GRAPH, .data = {large, sizeof large}};
    assert_int_equal(tri_inbox_put(inbox, &op, NULL), 0); /* the first one, whatever its size */
    op.data.size = TRI_GRAPH_HASH_BYTES;
    assert_int_equal(tri_inbox_put(inbox, &op, NULL), TR_BUSY);
    stage_run(&stage);
    assert_int_equal(tri_inbox_put(inbox, &op, NULL), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_one_commit_has_it_and_what_follows),
        CASE(test_it_needs_no_batch),
        CASE(test_a_full_store_is_told_and_waited_out),
        CASE(test_what_comes_in_doubt_waits_for_the_next_commit),
        CASE(test_after_the_end_nothing_is_taken),
        CASE(test_there_is_a_bound),
    };
    return cmocka_run_group_tests_name("inbox", tests, NULL, NULL);
}
