/*
 * What a handler asks for happens as a whole or not at all; what it may ask for has limits; and
 * what it reads is the same whenever the message is handled again.
 */
#include "runtime/memory.h"
#include "schemas/runtime/http.h"
#include "tests/sim/model_store.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;
static const struct tr_ref nobody;

#define SCRIPT(name)                                                        \
    static int name(struct tr_context *context, struct tr_fake_actor *fake, \
                    const struct tr_act *act, const struct tr_message *message)
#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})
#define TRY(call)           \
    do {                    \
        int error = (call); \
        if (error != 0) {   \
            return error;   \
        }                   \
    } while (false)

static void open_stage(uint32_t workers)
{
    fake_actor_forget();
    stage_open(&stage, &(struct stage_options){.worker_count = workers});
}

static struct tr_ref fake(void)
{
    return stage_spawn(&stage, &fake_actor_behaviour, NULL);
}

/* ------------------------------------------------------------ all or nothing */

/* One of everything; the number says what it returns. */
SCRIPT(do_everything)
{
    void *bytes;
    struct tr_ref child;
    fake->number = 99;
    TRY(tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){1}));
    TRY(tr_ask(context, act->peer, &tr_question_schema, &(struct tr_question){2}, 50, NULL));
    TRY(tr_spawn(context, &fake_actor_behaviour, NULL, &child));
    TRY(tr_tell(context, child, &tr_note_schema, &(struct tr_note){3}));
    TRY(tr_timer_start(context, 1, 20));
    TRY(tr_timer_stop(context, 5));
    TRY(tr_monitor(context, act->peer, &fake->monitor));
    TRY(tr_page_edit(context, 0, 100, &bytes));
    memset(bytes, 'n', 100);
    TRY(tr_page_drop(context, 1));
    TRY(tr_record(context, &tr_ledger_schema, &(struct tr_ledger){.number = 4}));
    TRY(tr_count(context, 1, 6));
    TRY(tr_count(context, 1, 1));
    TRY(tr_count(context, 2, 1)); /* there is none: it counts nowhere */
    TRY(tr_reply(context, message, &tr_answer_schema, &(struct tr_answer){5}));
    return act->number == 0 ? 0 : TR_FAILED;
}

/* Two pages and a timer, from which a failing handler starts. */
SCRIPT(set_up)
{
    UNUSED(message);
    void *bytes;
    fake->number = act->number;
    for (uint32_t page = 0; page < 2; page++) {
        TRY(tr_page_edit(context, page, 10, &bytes));
        memset(bytes, 'o', 10);
    }
    return tr_timer_start(context, 5, 1000);
}

static void expect_untouched(struct tr_ref actor, struct tr_ref peer, uint32_t actors)
{
    struct tri_actor *it = stage_actor(&stage, actor);
    assert_int_equal(fake_actor_state(&stage, actor)->number, 7);
    assert_int_equal(fake_actor_heard_times(peer, &tr_note_schema), 0);
    assert_int_equal(fake_actor_heard_times(peer, &tr_question_schema), 0);
    assert_int_equal(stage_counter(&stage, 1), 0);
    assert_int_equal(stage_gauge(&stage, 0), actors);
    assert_int_equal(stage_gauge(&stage, 1), 7);
    assert_int_equal(stage_actor_count(&stage), actors);
    struct tr_bytes page = tri_page_bytes(it, 0);
    assert_int_equal(page.size, 10);
    assert_int_equal(page.data[0], 'o');
    assert_int_equal(tri_page_bytes(it, 1).size, 10);
    assert_non_null(tri_edge_find(stage_home(&stage, actor), it, TRI_EDGE_TIMER, 5));
    assert_null(tri_edge_find(stage_home(&stage, actor), it, TRI_EDGE_TIMER, 1));
}

static void test_a_handler_that_fails_has_done_nothing(void **state)
{
    (void)state;
    struct tri_model *model = tri_model_new();
    struct tri_store *store;
    const struct tr_schema *records[] = {&tr_ledger_schema};
    struct tri_store_options options = {
        .folder = "model", .durability = TR_DURABILITY_FULL, .records = records, .record_count = 1};
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    fake_actor_forget();
    stage_open(&stage,
               &(struct stage_options){.worker_count = 2, .store = store, .counter_count = 2});
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, set_up, 7, nobody);
    fake_actor_act(&stage, a, do_everything, 1, b);
    expect_untouched(a, b, 2);
    stage_advance(&stage, 50); /* the second try fails as well */
    assert_int_equal(stage_actor(&stage, a)->phase, TRI_QUARANTINED);
    assert_int_equal(stage_metric(&stage, handler_failures), 2);
    expect_untouched(a, b, 2);
    assert_int_equal(tri_model_record_count(model, tr_ledger_schema.id), 0);
    /* And without the failure all of it happens. */
    assert_int_equal(tr_host_resume(&stage.host, a, true), 0);
    fake_actor_act(&stage, a, do_everything, 0, b);
    assert_int_equal(fake_actor_state(&stage, a)->number, 3); /* the answer of b came last */
    assert_int_equal(fake_actor_heard_times(b, &tr_note_schema), 1);
    assert_int_equal(fake_actor_heard_times(b, &tr_question_schema), 1);
    assert_int_equal(stage_actor_count(&stage), 3);
    assert_int_equal(stage_counter(&stage, 0), 0);
    assert_int_equal(stage_counter(&stage, 1), 7);
    assert_int_equal(stage_gauge(&stage, 0), 3);
    assert_int_equal(tri_page_bytes(stage_actor(&stage, a), 0).size, 100);
    assert_null(tri_page_bytes(stage_actor(&stage, a), 1).data);
    assert_int_equal(tri_model_record_count(model, tr_ledger_schema.id), 1);
    stage_advance(&stage, 25);
    assert_int_equal(fake_actor_heard_last(a, &tr_timer_schema)->number, 1);
    stage_close(&stage);
    tri_store_close(store);
    tri_model_free(model);
}

/* --------------------------------------------------------- memory that ends */

/* One allocation fails, the one after `left` others, from the handler on until its commit. */
static struct {
    uint64_t left;
    uint64_t sent; /* by the worker, when the commit is over */
    bool is_armed;
    bool has_failed;
} memory;

static bool allow(void *self, size_t size)
{
    UNUSED(self);
    (void)size;
    struct tri_worker *worker = &stage.host.workers[0];
    bool is_over = worker->metrics.messages_sent >= memory.sent;
    if (!memory.is_armed || memory.has_failed || is_over || memory.left-- > 0) {
        return true;
    }
    memory.has_failed = true;
    return false;
}

/* A row, and calls and notes of more bytes than a batch and a frame hold at first. */
#define CALLS 8
#define NOTES 200

SCRIPT(say_much)
{
    UNUSED(message);
    static uint8_t body[3000];
    const struct tri_worker *worker = &stage.host.workers[0];
    memory.sent = worker->metrics.messages_sent + (worker->is_journaled ? NOTES : NOTES + CALLS);
    memory.is_armed = true;
    const struct tr_http_request call = {.url = tr_text_of("http://x"),
                                         .body = {.data = body, .size = sizeof body}};
    fake->number++;
    TRY(tr_record(context, &tr_ledger_schema, &(struct tr_ledger){.number = 4}));
    for (int i = 0; i < CALLS; i++) {
        TRY(tr_call(context, TR_SERVICE_HTTP, &tr_http_request_schema, &call, 0, NULL));
    }
    for (uint64_t i = 0; i < NOTES; i++) {
        TRY(tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){i}));
    }
    return 0;
}

static uint32_t count_calls(void)
{
    uint32_t count = 0;
    size_t size;
    for (uint8_t *data = stage_receive(&stage, TRI_PLACE_HTTP, &size); data != NULL;
         data = stage_receive(&stage, TRI_PLACE_HTTP, &size)) {
        struct tri_frame frame = {.data = data, .size = size};
        struct tr_bytes message;
        size_t offset = 0;
        bool is_stored;
        while (tri_frame_next(&frame, &offset, &message, &is_stored)) {
            count++;
        }
        tr_free(data);
    }
    return count;
}

/* Whether an allocation has failed: there were so many. */
static bool fail_after(uint64_t left, struct tri_store *store)
{
    fake_actor_forget();
    memset(&memory, 0, sizeof memory);
    stage_open(&stage, &(struct stage_options){.worker_count = 2, .store = store});
    stage.host.shared.services |= 1U << TR_SERVICE_HTTP;
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    stage_move(&stage, a, 0);
    stage_move(&stage, b, 1);
    stage_run(&stage);
    memory.left = left;
    tr_memory_hook_set(allow, NULL);
    fake_actor_act(&stage, a, say_much, 0, b);
    tr_memory_hook_set(NULL, NULL);
    stage_advance(&stage, 50);
    assert_int_equal(fake_actor_state(&stage, a)->number, 1);
    assert_int_equal(fake_actor_heard_times(b, &tr_note_schema), NOTES);
    assert_int_equal(count_calls(), CALLS);
    assert_int_equal(stage_metric(&stage, handler_failures), memory.has_failed ? 1 : 0);
    stage_close(&stage);
    return memory.has_failed;
}

/* What is accepted is never lost: memory that ends, for what leaves too, fails the handler. */
static void test_memory_that_ends_anywhere_changes_nothing(void **state)
{
    (void)state;
    const struct tr_schema *records[] = {&tr_ledger_schema};
    struct tri_store_options options = {
        .folder = "model", .durability = TR_DURABILITY_FULL, .records = records, .record_count = 1};
    bool has_failed = true;
    for (uint64_t left = 0; has_failed; left++) {
        has_failed = fail_after(left, NULL);
        assert_true(has_failed || left > 3);
    }
    has_failed = true;
    for (uint64_t left = 0; has_failed; left++) {
        struct tri_model *model = tri_model_new();
        struct tri_store *store;
        assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
        has_failed = fail_after(left, store);
        tri_store_close(store);
        tri_model_free(model);
        assert_true(has_failed || left > 3);
    }
}

/* Messages of a handler that failed had numbers; those of the next one follow the last real one. */
static void test_a_failed_handler_leaves_no_gap_in_the_numbers(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    uint64_t before = stage_actor(&stage, a)->sequence;
    fake_actor_act(&stage, a, do_everything, 1, a);
    assert_int_equal(stage_actor(&stage, a)->sequence, before);
    stage_close(&stage);
}

/* ---------------------------------------------------------------- limits */

static int found;

SCRIPT(tell_too_much)
{
    UNUSED(fake, message);
    found = 0;
    for (uint64_t i = 0; found == 0 && i <= TR_EFFECTS_MAX; i++) {
        found = tr_tell(context, act->peer, &tr_hinted_schema, &(struct tr_hinted){i});
        fake->number = i;
    }
    return 0;
}

SCRIPT(start_too_many_timers)
{
    UNUSED(message, act);
    found = 0;
    for (uint64_t i = 0; found == 0 && i <= TR_EFFECTS_MAX; i++) {
        found = tr_timer_stop(context, i);
        fake->number = i;
    }
    return 0;
}

static void test_effects_of_one_handler_have_a_limit(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, tell_too_much, 0, (struct tr_ref){{a.key.group, 1ULL << 40}, 0});
    assert_int_equal(found, TR_LIMIT);
    assert_int_equal(fake_actor_state(&stage, a)->number, TR_EFFECTS_MAX);
    fake_actor_act(&stage, a, start_too_many_timers, 0, nobody);
    assert_int_equal(found, TR_LIMIT);
    assert_int_equal(fake_actor_state(&stage, a)->number, TR_EFFECTS_MAX);
    stage_close(&stage);
}

SCRIPT(tell_parcel)
{
    UNUSED(fake, message);
    static uint8_t content[TR_MESSAGE_BYTES_MAX];
    struct tr_parcel parcel = {.content = {content, (size_t)act->number}};
    found = tr_tell(context, act->peer, &tr_parcel_schema, &parcel);
    return 0;
}

static void test_a_message_has_a_largest_size(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    size_t most = TR_MESSAGE_BYTES_MAX - TR_ENVELOPE_BYTES -
                  tr_parcel_schema.size_max(&(struct tr_parcel){.content = {NULL, 0}});
    fake_actor_act(&stage, a, tell_parcel, most, a);
    assert_int_equal(found, 0);
    fake_actor_act(&stage, a, tell_parcel, most + 1, a);
    assert_int_equal(found, TR_LIMIT);
    assert_int_equal(stage_dead_letters(&stage, TR_UNKNOWN_TYPE), 1); /* the one that fitted */
    stage_close(&stage);
}

SCRIPT(edit_page)
{
    UNUSED(fake, message);
    void *bytes;
    uint32_t page = (uint32_t)act->number;
    found = tr_page_edit(context, page, page < TR_PAGES_MAX ? TR_PAGE_BYTES_MAX + 1 : 1, &bytes);
    struct tr_bytes view;
    assert_int_equal(tr_page_get(context, TR_PAGES_MAX, &view), TR_LIMIT);
    assert_int_equal(tr_page_drop(context, TR_PAGES_MAX), TR_LIMIT);
    assert_int_equal(tr_page_edit(context, 0, 0, &bytes), TR_LIMIT);
    return 0;
}

static void test_pages_have_a_largest_size_and_number(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, edit_page, 0, nobody);
    assert_int_equal(found, TR_LIMIT);
    fake_actor_act(&stage, a, edit_page, TR_PAGES_MAX, nobody);
    assert_int_equal(found, TR_LIMIT);
    stage_close(&stage);
}

SCRIPT(spawn_badly)
{
    UNUSED(fake, act, message);
    static const struct tr_behaviour unknown = {.name = "unknown", .id = 5};
    static char name[TR_NAME_BYTES_MAX + 1];
    struct tr_ref child;
    memset(name, 'x', sizeof name);
    assert_int_equal(tr_spawn(context, &unknown, NULL, &child), TR_INVALID);
    struct tr_spawn_options options = {.name = {name, sizeof name}};
    assert_int_equal(tr_spawn(context, &fake_actor_behaviour, &options, &child), TR_LIMIT);
    options.name.size--;
    return tr_spawn(context, &fake_actor_behaviour, &options, &child);
}

static void test_a_spawn_that_cannot_be_is_refused(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, spawn_badly, 0, nobody);
    assert_int_equal(stage_actor_count(&stage), 2);
    stage_close(&stage);
}

SCRIPT(start_timers)
{
    UNUSED(message);
    for (uint64_t i = 0; i < TR_EFFECTS_MAX / 4; i++) {
        TRY(tr_timer_start(context, fake->count++, 1000000));
    }
    (void)act;
    return 0;
}

/* More would be an image that no start could read. */
static void test_what_hangs_on_one_actor_has_a_limit(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    stage.now_ns = 5000000000;
    for (uint64_t i = 0; i < TR_EDGES_MAX / (TR_EFFECTS_MAX / 4); i++) {
        fake_actor_act(&stage, a, start_timers, 0, nobody);
    }
    assert_int_equal(stage_metric(&stage, handler_failures), 0);
    fake_actor_act(&stage, a, start_timers, 0, nobody);
    assert_int_equal(stage_metric(&stage, handler_failures), 1);
    assert_int_equal(fake_actor_state(&stage, a)->count, TR_EDGES_MAX);
    stage_close(&stage);
}

static void fill_with_timers(struct tr_ref actor)
{
    struct tri_worker *worker = stage_home(&stage, actor);
    for (uint64_t id = 0; id < TR_EDGES_MAX; id++) {
        struct tri_edge *edge =
            tri_edge_add(worker, stage_actor(&stage, actor), TRI_EDGE_TIMER, nobody, id);
        assert_non_null(edge);
        edge->due_ms = worker->steady_ms + 1000000;
        tri_wheel_insert(worker, edge);
    }
}

SCRIPT(start_timer)
{
    UNUSED(fake, message);
    return tr_timer_start(context, act->number, 1000000);
}

/* One that is there goes, twice asked for, and two new ones come: one too many. */
SCRIPT(stop_twice_and_start_two)
{
    UNUSED(fake, message);
    TRY(tr_timer_stop(context, act->number));
    TRY(tr_timer_stop(context, act->number));
    TRY(tr_timer_start(context, TR_EDGES_MAX, 1000000));
    return tr_timer_start(context, TR_EDGES_MAX + 1, 1000000);
}

/* All that adds no edge, and the end of one. */
SCRIPT(write_and_stop_timer)
{
    UNUSED(message);
    void *bytes;
    fake->number = act->number;
    TRY(tr_page_edit(context, 0, 10, &bytes));
    TRY(tr_record(context, &tr_ledger_schema, &(struct tr_ledger){.number = 4}));
    return tr_timer_stop(context, act->number);
}

static void fail_and_resume(struct tr_ref actor, fake_actor_script script, uint64_t number)
{
    fake_actor_act(&stage, actor, script, number, nobody);
    stage_advance(&stage, 1000);
    assert_int_equal(stage_actor(&stage, actor)->phase, TRI_QUARANTINED);
    assert_int_equal(tr_host_resume(&stage.host, actor, true), 0);
    stage_run(&stage);
}

/* The edge that counts restarts takes no room from the others, whether it came before or after. */
static void test_an_actor_at_the_limit_goes_on(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    fill_with_timers(a);
    for (uint64_t id = 0; id < 2; id++) {
        fail_and_resume(a, start_timer, TR_EDGES_MAX);
        fail_and_resume(a, stop_twice_and_start_two, 7);
        uint64_t failures = stage_metric(&stage, handler_failures);
        fake_actor_act(&stage, a, start_timer, 5, nobody); /* one that is there starts again */
        fake_actor_act(&stage, a, write_and_stop_timer, id, nobody);
        assert_int_equal(fake_actor_state(&stage, a)->number, id);
        assert_int_equal(stage_actor(&stage, a)->edge_count, TR_EDGES_MAX);
        fake_actor_act(&stage, a, start_timer, id, nobody);
        assert_int_equal(stage_metric(&stage, handler_failures), failures);
        assert_int_equal(stage_actor(&stage, a)->edge_count, TR_EDGES_MAX + 1);
    }
    stage_close(&stage);
}

/* ------------------------------------------------------- rows with a key */

static int write_tally(struct tr_context *context, const char *place, uint64_t day, uint64_t number)
{
    struct tr_tally row = {.place = tr_text_of(place), .day = day, .number = number};
    return tr_record(context, &tr_tally_schema, &row);
}

/* In one handler: the last row of a key, and of what was deleted only what came after. */
SCRIPT(write_tallies)
{
    UNUSED(fake, act, message);
    struct tr_tally first = {.place = tr_text_of("here"), .day = 1, .number = 10};
    TRY(tr_record_first(context, &tr_tally_schema, &first));
    TRY(write_tally(context, "here", 2, 20));
    TRY(write_tally(context, "there", 1, 30));
    TRY(write_tally(context, "here", 1, 11));
    struct tr_tally here = {.place = tr_text_of("here"), .day = 2};
    struct tr_tally there = {.place = tr_text_of("there")};
    TRY(tr_record_delete(context, &tr_tally_schema, &here, 2));
    TRY(tr_record_delete(context, &tr_tally_schema, &there, 1));
    return write_tally(context, "there", 2, 31);
}

SCRIPT(forget_here)
{
    UNUSED(fake, message);
    struct tr_tally here = {.place = tr_text_of("here")};
    TRY(write_tally(context, "there", 9, 90));
    TRY(tr_record_delete(context, &tr_tally_schema, &here, 1));
    return act->number == 0 ? 0 : TR_FAILED;
}

SCRIPT(delete_badly)
{
    UNUSED(fake, act, message);
    static char place[TR_ROW_KEY_BYTES_MAX];
    memset(place, 'x', sizeof place);
    struct tr_tally row = {.place = {place, sizeof place}};
    assert_int_equal(tr_record(context, &tr_tally_schema, &row), TR_LIMIT);
    assert_int_equal(tr_record_delete(context, &tr_tally_schema, &row, 1), TR_LIMIT);
    assert_int_equal(tr_record_delete(context, &tr_tally_schema, &row, 0), TR_INVALID);
    assert_int_equal(tr_record_delete(context, &tr_tally_schema, &row, 3), TR_INVALID);
    struct tr_ledger ledger = {.number = 4};
    assert_int_equal(tr_record_delete(context, &tr_ledger_schema, &ledger, 1), TR_INVALID);
    return 0;
}

static void expect_tallies(const struct tri_model *model, const uint64_t *numbers, size_t count)
{
    assert_int_equal(tri_model_record_count(model, tr_tally_schema.id), count);
    for (size_t i = 0; i < count; i++) {
        const struct tri_op *op = tri_model_record(model, tr_tally_schema.id, i);
        struct tr_tally row;
        assert_int_equal(tr_tally_unpack(op->data, 1, &row), 0);
        assert_int_equal(row.number, numbers[i]);
    }
}

static void test_rows_are_replaced_and_deleted_by_their_key(void **state)
{
    (void)state;
    struct tri_model *model = tri_model_new();
    struct tri_store *store;
    const struct tr_schema *records[] = {&tr_tally_schema};
    struct tri_store_options options = {
        .folder = "model", .durability = TR_DURABILITY_FULL, .records = records, .record_count = 1};
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    fake_actor_forget();
    stage_open(&stage, &(struct stage_options){.worker_count = 1, .store = store});
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, write_tallies, 0, nobody);
    expect_tallies(model, (uint64_t[]){11, 31}, 2);
    fake_actor_act(&stage, a, delete_badly, 0, nobody);
    assert_int_equal(stage_metric(&stage, handler_failures), 0);
    fake_actor_act(&stage, a, forget_here, 0, nobody);
    expect_tallies(model, (uint64_t[]){31, 90}, 2);
    /* What a handler that fails deletes, stays. */
    fake_actor_act(&stage, a, write_tallies, 0, nobody);
    expect_tallies(model, (uint64_t[]){11, 31}, 2);
    fake_actor_act(&stage, a, forget_here, 1, nobody);
    stage_advance(&stage, 50);
    assert_int_equal(stage_actor(&stage, a)->phase, TRI_QUARANTINED);
    expect_tallies(model, (uint64_t[]){11, 31}, 2);
    stage_close(&stage);
    tri_store_close(store);
    tri_model_free(model);
}

/* --------------------------------------------------------------- reading */

static uint64_t drawn[2][3];
static int tries;

SCRIPT(draw_and_fail_once)
{
    UNUSED(fake, act, message);
    for (int i = 0; i < 3; i++) {
        drawn[tries][i] = tr_random(context);
    }
    return tries++ == 0 ? TR_FAILED : 0;
}

static void test_randomness_belongs_to_the_message(void **state)
{
    (void)state;
    open_stage(1);
    tries = 0;
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, draw_and_fail_once, 0, nobody);
    stage_advance(&stage, 20);
    assert_int_equal(tries, 2);
    assert_memory_equal(drawn[0], drawn[1], sizeof drawn[0]);
    assert_int_not_equal(drawn[0][0], drawn[0][1]);
    assert_int_not_equal(drawn[0][1], drawn[0][2]);
    uint64_t first = drawn[0][0];
    tries = 0;
    fake_actor_act(&stage, a, draw_and_fail_once, 0, nobody);
    assert_int_not_equal(drawn[0][0], first);
    stage_close(&stage);
}

SCRIPT(read_own_pages)
{
    UNUSED(fake, act, message);
    void *bytes;
    struct tr_bytes view;
    TRY(tr_page_get(context, 3, &view));
    assert_null(view.data);
    TRY(tr_page_edit(context, 3, 4, &bytes));
    memcpy(bytes, "abcd", 4);
    TRY(tr_page_edit(context, 3, 6, &bytes)); /* grows: what there was, and zeros */
    assert_memory_equal(bytes, "abcd\0\0", 6);
    TRY(tr_page_get(context, 3, &view));
    assert_int_equal(view.size, 6);
    TRY(tr_page_drop(context, 3));
    TRY(tr_page_get(context, 3, &view));
    assert_int_equal(view.size, 0);
    TRY(tr_page_edit(context, 3, 2, &bytes));
    assert_memory_equal(bytes, "\0\0", 2);
    return 0;
}

static void test_a_handler_reads_what_it_wrote(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, read_own_pages, 0, nobody);
    assert_int_equal(tri_page_bytes(stage_actor(&stage, a), 3).size, 2);
    stage_close(&stage);
}

SCRIPT(look_at_itself)
{
    UNUSED(message);
    fake->peer = tr_parent(context);
    fake->asker = tr_self(context);
    fake->number = tr_now_ms(context);
    struct tr_spawn_options options = {.state = fake};
    return act->number == 0 ? 0 : tr_spawn(context, &fake_actor_behaviour, &options, &fake->peer);
}

static void test_who_and_when(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    stage_advance(&stage, 5);
    fake_actor_act(&stage, a, look_at_itself, 1, nobody);
    assert_int_equal(fake_actor_state(&stage, a)->number, STAGE_START_WALL_MS + 5);
    assert_true(tr_key_equal(fake_actor_state(&stage, a)->asker.key, a.key));
    struct tr_ref child = fake_actor_state(&stage, a)->peer;
    assert_int_equal(fake_actor_state(&stage, child)->number, STAGE_START_WALL_MS + 5); /* a copy */
    fake_actor_act(&stage, child, look_at_itself, 0, nobody);
    assert_true(tr_key_equal(fake_actor_state(&stage, child)->peer.key, a.key));
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_handler_that_fails_has_done_nothing),
        cmocka_unit_test(test_memory_that_ends_anywhere_changes_nothing),
        cmocka_unit_test(test_a_failed_handler_leaves_no_gap_in_the_numbers),
        cmocka_unit_test(test_effects_of_one_handler_have_a_limit),
        cmocka_unit_test(test_a_message_has_a_largest_size),
        cmocka_unit_test(test_pages_have_a_largest_size_and_number),
        cmocka_unit_test(test_a_spawn_that_cannot_be_is_refused),
        cmocka_unit_test(test_what_hangs_on_one_actor_has_a_limit),
        cmocka_unit_test(test_an_actor_at_the_limit_goes_on),
        cmocka_unit_test(test_rows_are_replaced_and_deleted_by_their_key),
        cmocka_unit_test(test_randomness_belongs_to_the_message),
        cmocka_unit_test(test_a_handler_reads_what_it_wrote),
        cmocka_unit_test(test_who_and_when),
    };
    return cmocka_run_group_tests_name("effects", tests, NULL, NULL);
}
