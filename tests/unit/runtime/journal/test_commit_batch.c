/*
 * Coalescing against a world that applies every operation in order: what a group leaves to write
 * must bring a store to the same contents, with each thing at most once and in the store's order.
 */
#include <string.h>

#include "runtime/journal/commit_batch.h"
#include "runtime/memory.h"
#include "tests/support/draw.h"
#include "tests/support/test.h"

#define ACTORS 40
#define PAGES 3
#define MESSAGES 40
#define RECORDS_MAX 2000
#define ROW_TYPE 9
#define ROW_GROUPS 4
#define ROW_BYTES 64

/* The second fields of rows' keys: short ones, and some that differ only at their end. */
static const char *const row_names[] = {"", "a", "b", "a name that is quite long, and ends with a",
                                        "a name that is quite long, and ends with b"};
#define ROW_NAMES TR_COUNT_OF(row_names)

/* What a store would hold: 0 is nothing, else the number of the writing that is there. */
struct world {
    uint32_t counters[ACTORS];
    uint32_t actors[ACTORS];
    uint32_t pages[ACTORS][PAGES];
    uint32_t messages[ACTORS][MESSAGES];
    uint32_t metas[ACTORS];
    uint32_t records[RECORDS_MAX];
    size_t record_count;
    uint64_t rows[ROW_GROUPS][ROW_NAMES];
};

static uint32_t data_of(const struct tri_op *op)
{
    uint32_t number;
    assert_int_equal(op->data.size, sizeof number);
    memcpy(&number, op->data.data, sizeof number);
    return number;
}

/* A row of a key of two fields, or the deletion of rows by one of them or both. */
static struct tri_op row_op(struct draw *draw, uint64_t number, uint8_t *bytes)
{
    struct tri_op op = {.kind = TRI_OP_PUT_RECORD, .type = ROW_TYPE, .incarnation = 1};
    struct tr_writer writer = tr_writer_of(bytes, ROW_BYTES);
    struct tr_bytes key = {0};
    uint16_t count = 2;
    tr_write_array(&writer, 3);
    tr_write_u64(&writer, draw_below(draw, ROW_GROUPS));
    tr_write_text(&writer, tr_text_of(row_names[draw_below(draw, ROW_NAMES)]));
    tr_write_u64(&writer, number);
    op.data = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    if (draw_below(draw, 4) == 0) {
        count = (uint16_t)(1 + draw_below(draw, 2));
        op.kind = TRI_OP_DELETE_RECORDS;
        op.number = count;
    }
    assert_int_equal(writer.error, 0);
    assert_int_equal(tr_row_key_bytes(op.data, count, &key), 0);
    op.key_size = (uint16_t)key.size;
    return op;
}

static void apply_row(struct world *world, const struct tri_op *op)
{
    struct tr_cursor cursor = tr_cursor_of(op->data);
    assert_int_equal(tr_read_array(&cursor), 3);
    size_t group = tr_read_u64(&cursor);
    struct tr_text name = tr_read_text(&cursor);
    uint64_t number = tr_read_u64(&cursor);
    assert_int_equal(cursor.error, 0);
    for (size_t i = 0; i < ROW_NAMES; i++) {
        bool is_named = tr_text_equal(name, tr_text_of(row_names[i]));
        if (op->kind == TRI_OP_PUT_RECORD && is_named) {
            world->rows[group][i] = number;
        } else if (op->kind == TRI_OP_DELETE_RECORDS && (is_named || op->number == 1)) {
            world->rows[group][i] = 0;
        }
    }
}

static void apply(struct world *world, const struct tri_op *op)
{
    size_t actor = (size_t)op->key.serial;
    switch (op->kind) {
    case TRI_OP_PUT_COUNTER:
        world->counters[actor] = (uint32_t)op->number;
        return;
    case TRI_OP_DELETE_COUNTER:
        world->counters[actor] = 0;
        return;
    case TRI_OP_PUT_ACTOR:
        world->actors[actor] = data_of(op);
        return;
    case TRI_OP_DELETE_ACTOR:
        world->actors[actor] = 0;
        memset(world->pages[actor], 0, sizeof world->pages[actor]);
        return;
    case TRI_OP_PUT_PAGE:
        world->pages[actor][op->number] = data_of(op);
        return;
    case TRI_OP_DELETE_PAGE:
        world->pages[actor][op->number] = 0;
        return;
    case TRI_OP_PUT_MESSAGE:
        world->messages[actor][op->number] = data_of(op);
        return;
    case TRI_OP_DELETE_MESSAGE:
        world->messages[actor][op->number] = 0;
        return;
    case TRI_OP_PUT_META:
        world->metas[op->number] = data_of(op);
        return;
    case TRI_OP_DELETE_RECORDS:
        apply_row(world, op);
        return;
    case TRI_OP_PUT_RECORD:
        if (op->key_size > 0) {
            apply_row(world, op);
            return;
        }
        world->records[world->record_count++] = data_of(op);
        return;
    case TRI_OP_PUT_GRAPH:
    case TRI_OP_DELETE_GRAPH:
    case TRI_OP_PUT_CRASH:
    case TRI_OP_DELETE_CRASH:
        return; /* no worker asks for them */
    }
}

enum life { UNSPAWNED, ALIVE, ENDED };

/* A next operation that a worker might really ask for (a key is never used again); kind 0: none
 * this time. */
static struct tri_op draw_op(struct draw *draw, const struct world *world, enum life *lives,
                             enum life (*messages)[MESSAGES], uint32_t *number)
{
    size_t actor = draw_below(draw, ACTORS);
    uint64_t part = draw_below(draw, PAGES);
    struct tri_op op = {.key = {1, actor}, .data = {(const uint8_t *)number, sizeof *number}};
    bool is_alive = lives[actor] == ALIVE;
    switch (draw_below(draw, 10)) {
    case 0:
        op.kind = TRI_OP_PUT_COUNTER;
        op.number = *number;
        op.data = (struct tr_bytes){0};
        return op;
    case 1:
        op.kind = world->counters[actor] != 0 ? TRI_OP_DELETE_COUNTER : (enum tri_op_kind)0;
        return op;
    case 2:
    case 3:
        op.kind = lives[actor] != ENDED ? TRI_OP_PUT_ACTOR : (enum tri_op_kind)0;
        op.number = is_alive ? 0 : 1; /* its first image */
        lives[actor] = lives[actor] == UNSPAWNED ? ALIVE : lives[actor];
        return op;
    case 4:
        op.kind = is_alive ? TRI_OP_DELETE_ACTOR : (enum tri_op_kind)0;
        lives[actor] = is_alive ? ENDED : lives[actor];
        return op;
    case 5:
        op.kind = is_alive ? TRI_OP_PUT_PAGE : (enum tri_op_kind)0;
        op.number = part;
        return op;
    case 6:
        op.kind =
            is_alive && world->pages[actor][part] != 0 ? TRI_OP_DELETE_PAGE : (enum tri_op_kind)0;
        op.number = part;
        return op;
    case 7:
        op.number = draw_below(draw, MESSAGES);
        op.to_group = 1 + op.number % 3;
        if (messages[actor][op.number] != ENDED) {
            bool is_new = messages[actor][op.number]++ == UNSPAWNED;
            op.kind = is_new ? TRI_OP_PUT_MESSAGE : TRI_OP_DELETE_MESSAGE;
        }
        return op;
    case 8:
        op.kind = TRI_OP_PUT_META;
        op.number = actor;
        op.key = (struct tr_key){0};
        return op;
    default:
        op.kind = TRI_OP_PUT_RECORD;
        op.key = (struct tr_key){0};
        op.type = (uint16_t)(1 + part);
        return op;
    }
}

static bool is_same_thing(const struct tri_op *a, const struct tri_op *b)
{
    static const int classes[] = {
        [TRI_OP_PUT_COUNTER] = 1,  [TRI_OP_DELETE_COUNTER] = 1, [TRI_OP_PUT_ACTOR] = 2,
        [TRI_OP_DELETE_ACTOR] = 2, [TRI_OP_PUT_PAGE] = 3,       [TRI_OP_DELETE_PAGE] = 3,
        [TRI_OP_PUT_MESSAGE] = 4,  [TRI_OP_DELETE_MESSAGE] = 4, [TRI_OP_PUT_META] = 5,
        [TRI_OP_PUT_RECORD] = 0,   [TRI_OP_DELETE_RECORDS] = 0};
    bool are_rows = a->kind == TRI_OP_PUT_RECORD && b->kind == TRI_OP_PUT_RECORD;
    if (are_rows && a->key_size > 0 && a->key_size == b->key_size) {
        return memcmp(tri_op_row_key(a).data, tri_op_row_key(b).data, a->key_size) == 0;
    }
    int class = classes[a->kind];
    bool has_number = class >= 3;
    return class != 0 && class == classes[b->kind] && tr_key_equal(a->key, b->key) &&
           (!has_number || a->number == b->number);
}

static void expect_well_formed(const struct tri_commit_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (i > 0) {
            assert_true(tri_op_compare(&batch->ops[i - 1], &batch->ops[i]) <= 0);
        }
        for (size_t k = i + 1; k < batch->count; k++) {
            assert_false(is_same_thing(&batch->ops[i], &batch->ops[k]));
        }
    }
}

/* Records of one type keep their order; between types the store's order decides. */
static void expect_same_records(const struct world *a, const struct world *b)
{
    assert_int_equal(a->record_count, b->record_count);
    for (uint32_t type = 0; type < PAGES; type++) {
        size_t k = 0;
        for (size_t i = 0; i < a->record_count; i++) {
            if (a->records[i] % PAGES != type) {
                continue;
            }
            while (b->records[k] % PAGES != type) {
                k++;
            }
            assert_int_equal(a->records[i], b->records[k++]);
        }
    }
}

static void expect_same(const struct world *a, const struct world *b)
{
    assert_memory_equal(a->counters, b->counters, sizeof a->counters);
    assert_memory_equal(a->actors, b->actors, sizeof a->actors);
    assert_memory_equal(a->pages, b->pages, sizeof a->pages);
    assert_memory_equal(a->messages, b->messages, sizeof a->messages);
    assert_memory_equal(a->metas, b->metas, sizeof a->metas);
    assert_memory_equal(a->rows, b->rows, sizeof a->rows);
    expect_same_records(a, b);
}

/* As a log does: what it reads again is what it has packed. */
static void gather(struct tri_commit_batch *window, const struct tri_commit_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct tri_op op = batch->ops[i];
        op.number = op.kind == TRI_OP_PUT_RECORD ? op.is_new : op.number;
        op.turn = 0;
        assert_int_equal(tri_commit_batch_add(window, &op), 0);
    }
}

/* The operations of one finished batch in place of all that were added. */
static void expect_the_same_left(struct tri_commit_batch *batch, const struct world *every,
                                 struct world *last)
{
    expect_well_formed(batch);
    for (size_t i = 0; i < batch->count; i++) {
        apply(last, &batch->ops[i]);
    }
    expect_same(every, last);
    tri_commit_batch_clear(batch);
}

/* Batches one by one; gathered, three of them at a time are added to another one first. */
static void run_seed(uint64_t seed, bool is_gathered)
{
    static struct world every;
    static struct world last;
    static uint32_t numbers[RECORDS_MAX];
    static uint8_t bytes[RECORDS_MAX][ROW_BYTES];
    enum life lives[ACTORS] = {UNSPAWNED};
    enum life messages[ACTORS][MESSAGES] = {{UNSPAWNED}};
    struct draw draw = {seed};
    struct tri_commit_batch batch = {0};
    struct tri_commit_batch window = {0};
    uint32_t number = 0;
    memset(&every, 0, sizeof every);
    memset(&last, 0, sizeof last);
    for (int commits = 0; commits < 9; commits++) {
        size_t count = draw_below(&draw, 200);
        for (size_t i = 0; i < count; i++) {
            numbers[number] = number + 1;
            bool is_row = draw_below(&draw, 5) == 0;
            struct tri_op op = is_row ? row_op(&draw, number + 1, bytes[number])
                                      : draw_op(&draw, &every, lives, messages, &numbers[number]);
            if (op.kind == TRI_OP_PUT_RECORD && !is_row) {
                numbers[number] = (number + 1) * PAGES + op.type % PAGES;
            }
            if (op.kind != 0) {
                number++;
                apply(&every, &op);
                assert_int_equal(tri_commit_batch_add(&batch, &op), 0);
            }
        }
        if (!is_gathered) {
            tri_commit_batch_finish(&batch);
            expect_the_same_left(&batch, &every, &last);
            continue;
        }
        tri_commit_batch_finish_unsorted(&batch);
        gather(&window, &batch);
        tri_commit_batch_clear(&batch);
        if (commits % 3 == 2) {
            tri_commit_batch_finish(&window);
            expect_the_same_left(&window, &every, &last);
        }
    }
    tri_commit_batch_fini(&batch);
    tri_commit_batch_fini(&window);
}

static void test_a_group_leaves_what_every_operation_leaves(void **state)
{
    (void)state;
    uint64_t before = tr_memory_used();
    for (uint64_t seed = 1; seed <= 300; seed++) {
        run_seed(seed, false);
        run_seed(seed, true);
    }
    assert_int_equal(tr_memory_used(), before);
}

/* A message sent and handled in one group, an actor spawned and ended in it: neither is written. */
static void test_what_begins_and_ends_in_a_group_leaves_nothing(void **state)
{
    (void)state;
    struct tri_commit_batch batch = {0};
    uint32_t number = 1;
    struct tr_bytes data = {(const uint8_t *)&number, sizeof number};
    const struct tri_op ops[] = {
        {.kind = TRI_OP_PUT_MESSAGE, .key = {1, 2}, .incarnation = 1, .number = 3, .data = data},
        {.kind = TRI_OP_PUT_ACTOR, .key = {1, 4}, .number = 1, .data = data},
        {.kind = TRI_OP_PUT_PAGE, .key = {1, 4}, .number = 0, .data = data},
        {.kind = TRI_OP_PUT_ACTOR, .key = {1, 4}, .number = 0, .data = data},
        {.kind = TRI_OP_DELETE_MESSAGE, .key = {1, 2}, .incarnation = 1, .number = 3},
        {.kind = TRI_OP_DELETE_ACTOR, .key = {1, 4}},
    };
    for (size_t i = 0; i < TR_COUNT_OF(ops); i++) {
        assert_int_equal(tri_commit_batch_add(&batch, &ops[i]), 0);
    }
    tri_commit_batch_finish(&batch);
    assert_int_equal(batch.count, 0);
    tri_commit_batch_fini(&batch);
}

/* Messages of a commit are written by the receiver's group, whoever sent them. */
static void test_messages_lie_with_their_receivers(void **state)
{
    (void)state;
    struct tri_commit_batch batch = {0};
    uint32_t number = 1;
    struct tr_bytes data = {(const uint8_t *)&number, sizeof number};
    for (uint64_t i = 0; i < 8; i++) {
        struct tri_op op = {.kind = i % 2 == 0 ? TRI_OP_PUT_MESSAGE : TRI_OP_DELETE_MESSAGE,
                            .key = {1 + i / 4, 9 - i},
                            .incarnation = 1,
                            .to_group = 1 + i % 4 / 2,
                            .number = i,
                            .data = data};
        assert_int_equal(tri_commit_batch_add(&batch, &op), 0);
    }
    tri_commit_batch_finish(&batch);
    static const uint64_t receivers[] = {1, 1, 2, 2, 1, 1, 2, 2};
    static const uint64_t senders[] = {1, 2, 1, 2, 1, 2, 1, 2};
    assert_int_equal(batch.count, TR_COUNT_OF(receivers));
    for (size_t i = 0; i < batch.count; i++) {
        assert_int_equal(batch.ops[i].to_group, receivers[i]);
        assert_int_equal(batch.ops[i].key.group, senders[i]);
    }
    tri_commit_batch_fini(&batch);
}

/* Senders of two incarnations count for themselves. */
static void test_messages_are_named_by_sender_incarnation_and_number(void **state)
{
    (void)state;
    struct tri_commit_batch batch = {0};
    uint32_t number = 1;
    struct tr_bytes data = {(const uint8_t *)&number, sizeof number};
    /* Neighbours, and lives so far apart that number and incarnation together could be mistaken. */
    for (uint32_t incarnation = 1; incarnation <= 300; incarnation++) {
        for (uint64_t sequence = 1; sequence <= 100; sequence++) {
            struct tri_op op = {.kind = TRI_OP_PUT_MESSAGE,
                                .key = {1, 2},
                                .incarnation = incarnation,
                                .number = sequence,
                                .data = data};
            assert_int_equal(tri_commit_batch_add(&batch, &op), 0);
        }
    }
    tri_commit_batch_finish(&batch);
    assert_int_equal(batch.count, 30000);
    tri_commit_batch_fini(&batch);
}

static struct tri_op graph_op(enum tri_op_kind kind, uint8_t last, uint64_t number,
                              uint8_t data[TRI_GRAPH_HASH_BYTES])
{
    struct tri_op op = {.kind = kind, .number = number, .data = {data, TRI_GRAPH_HASH_BYTES}};
    memset(data, 7, TRI_GRAPH_HASH_BYTES);
    data[TRI_GRAPH_HASH_BYTES - 1] = last;
    tri_op_sort_by_hash(&op);
    return op;
}

/* Whatever the order in which they come, the store may do the puts before the deletions. */
static void test_graphs_and_counts_are_named_by_all_of_their_names(void **state)
{
    (void)state;
    struct tri_commit_batch batch = {0};
    uint8_t hashes[5][TRI_GRAPH_HASH_BYTES];
    const struct tri_op ops[] = {
        graph_op(TRI_OP_DELETE_GRAPH, 1, 9, hashes[0]),
        graph_op(TRI_OP_PUT_GRAPH, 1, 10, hashes[1]),
        graph_op(TRI_OP_PUT_GRAPH, 1, 11, hashes[2]),
        graph_op(TRI_OP_PUT_GRAPH, 2, 12, hashes[3]),
        graph_op(TRI_OP_DELETE_GRAPH, 2, 3, hashes[4]),
        {.kind = TRI_OP_PUT_CRASH, .type = TRI_CRASH_PART, .key = {1, 2}, .number = 3},
        {.kind = TRI_OP_PUT_CRASH, .type = TRI_CRASH_MESSAGE, .key = {1, 2}, .number = 3},
        {.kind = TRI_OP_PUT_CRASH, .type = TRI_CRASH_MESSAGE, .key = {1, 2}, .number = 4},
        {.kind = TRI_OP_DELETE_CRASH, .type = TRI_CRASH_MESSAGE, .key = {1, 2}, .number = 3},
    };
    for (size_t i = 0; i < TR_COUNT_OF(ops); i++) {
        assert_int_equal(tri_commit_batch_add(&batch, &ops[i]), 0);
    }
    tri_commit_batch_finish(&batch);
    assert_int_equal(batch.count, 7);
    assert_true(batch.ops[0].kind == TRI_OP_PUT_GRAPH && batch.ops[0].number == 11);
    assert_true(batch.ops[1].kind == TRI_OP_PUT_GRAPH && batch.ops[1].number == 12);
    assert_true(batch.ops[2].kind == TRI_OP_DELETE_GRAPH && batch.ops[2].number == 9);
    assert_true(batch.ops[3].kind == TRI_OP_DELETE_GRAPH && batch.ops[3].number == 3);
    assert_true(batch.ops[4].kind == TRI_OP_PUT_CRASH && batch.ops[4].number == 4);
    assert_true(batch.ops[5].kind == TRI_OP_PUT_CRASH && batch.ops[5].type == TRI_CRASH_PART);
    assert_int_equal(batch.ops[6].kind, TRI_OP_DELETE_CRASH);
    tri_commit_batch_fini(&batch);
}

/* What is put for the first time in a group stays new, whatever is put over it there. */
static void test_what_is_new_stays_new_in_its_group(void **state)
{
    (void)state;
    struct tri_commit_batch batch = {0};
    const struct tri_op ops[] = {
        {.kind = TRI_OP_PUT_ACTOR, .key = {1, 4}, .number = 1},
        {.kind = TRI_OP_PUT_PAGE, .key = {1, 4}, .number = 7},
        {.kind = TRI_OP_PUT_ACTOR, .key = {1, 4}, .number = 0},
        {.kind = TRI_OP_PUT_ACTOR, .key = {1, 5}, .number = 0},
        {.kind = TRI_OP_PUT_PAGE, .key = {1, 5}, .number = 1},
        {.kind = TRI_OP_PUT_PAGE, .key = {1, 6}, .number = 1},
        {.kind = TRI_OP_PUT_RECORD, .type = 9, .number = 1},
        {.kind = TRI_OP_PUT_RECORD, .type = 9, .number = 0},
    };
    const bool is_new[] = {true, false, true, false, false, true, false};
    for (size_t i = 0; i < TR_COUNT_OF(ops); i++) {
        assert_int_equal(tri_commit_batch_add(&batch, &ops[i]), 0);
    }
    tri_commit_batch_finish(&batch);
    assert_int_equal(batch.count, TR_COUNT_OF(is_new));
    for (size_t i = 0; i < batch.count; i++) {
        assert_int_equal(batch.ops[i].is_new, is_new[i]);
    }
    assert_int_equal(batch.ops[0].number, 1);
    tri_commit_batch_fini(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_group_leaves_what_every_operation_leaves),
        cmocka_unit_test(test_what_begins_and_ends_in_a_group_leaves_nothing),
        cmocka_unit_test(test_messages_lie_with_their_receivers),
        cmocka_unit_test(test_messages_are_named_by_sender_incarnation_and_number),
        cmocka_unit_test(test_what_is_new_stays_new_in_its_group),
        cmocka_unit_test(test_graphs_and_counts_are_named_by_all_of_their_names),
    };
    return cmocka_run_group_tests_name("commit_batch", tests, NULL, NULL);
}
