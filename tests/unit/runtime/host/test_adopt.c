/*
 * A group of one store comes into a host of another one that runs: with all its actors, on
 * whichever workers, what they wait for and what was sent to them; dormant until it is woken; or
 * not at all.
 */
#include "runtime/host/control.h"

#include <stdlib.h>

#include "tests/sim/model_store.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

#define OPS_MAX 4096

static struct stage stage;
static struct tri_model *model;
static struct tri_store *store;
static const struct tr_ref nobody;

/* What was taken from the other store. */
static struct tri_op ops[OPS_MAX];
static size_t op_count;

static void open_host(uint32_t workers)
{
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    struct stage_options wanted = {.worker_count = workers, .store = store};
    stage_open(&stage, &wanted);
}

static void close_host(void)
{
    stage_close(&stage);
    tri_store_close(store);
}

static void reopen(uint32_t workers)
{
    tri_model_kill(model, 1);
    close_host();
    fake_actor_forget();
    open_host(workers);
}

static void begin(uint32_t workers)
{
    model = tri_model_new();
    fake_actor_forget();
    open_host(workers);
}

static void end(void)
{
    close_host();
    tri_model_free(model);
}

/* ----------------------------------------------------------------------- scripts */

#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})

static int spawn_child(struct tr_context *context, struct tr_fake_actor *fake,
                       const struct tr_act *act, const struct tr_message *message)
{
    UNUSED(act, message);
    return tr_spawn(context, &fake_actor_behaviour, NULL, &fake->peer);
}

static int start_timer(struct tr_context *context, struct tr_fake_actor *fake,
                       const struct tr_act *act, const struct tr_message *message)
{
    UNUSED(fake, message);
    return tr_timer_start(context, 7, act->number);
}

static int call_outside(struct tr_context *context, struct tr_fake_actor *fake,
                        const struct tr_act *act, const struct tr_message *message)
{
    UNUSED(act, message);
    return tr_call(context, TR_SERVICE_CONTROL, &tr_question_schema,
                   &(struct tr_question){.number = 1}, 1000, &fake->ask);
}

static int set_page(struct tr_context *context, struct tr_fake_actor *fake,
                    const struct tr_act *act, const struct tr_message *message)
{
    UNUSED(fake, message);
    void *page;
    int error = tr_page_edit(context, 3, sizeof act->number, &page);
    if (error == 0) {
        memcpy(page, &act->number, sizeof act->number);
    }
    return error;
}

static int stop(struct tr_context *context, struct tr_fake_actor *fake, const struct tr_act *act,
                const struct tr_message *message)
{
    UNUSED(fake, act, message);
    return tr_stop(context);
}

/* ------------------------------------------------------------- the other store */

static void keep(const struct tri_op *op, enum tri_op_kind kind)
{
    uint8_t *copy = malloc(op->data.size + 1);
    assert_true(op_count < OPS_MAX);
    memcpy(copy, op->data.data == NULL ? (const uint8_t *)"" : op->data.data, op->data.size);
    ops[op_count] = *op;
    ops[op_count].kind = kind;
    ops[op_count++].data.data = copy;
}

static int keep_counter(void *self, const struct tri_op *op)
{
    if (op->key.group == *(uint64_t *)self) {
        keep(op, TRI_OP_PUT_COUNTER);
    }
    return 0;
}

static int keep_actor(void *self, const struct tri_op *op)
{
    if (op->key.group == *(uint64_t *)self) {
        keep(op, TRI_OP_PUT_ACTOR);
    }
    return 0;
}

static int keep_page(void *self, const struct tri_op *op)
{
    if (op->key.group == *(uint64_t *)self) {
        keep(op, TRI_OP_PUT_PAGE);
    }
    return 0;
}

static int keep_message(void *self, const struct tri_op *op)
{
    if (tr_envelope_get(op->data.data, 64, to_group) == *(uint64_t *)self) {
        keep(op, TRI_OP_PUT_MESSAGE);
    }
    return 0;
}

static int compare_ops(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

static void take_group(uint64_t group)
{
    struct tri_store_visitor visitor = {.self = &group,
                                        .counter = keep_counter,
                                        .actor = keep_actor,
                                        .page = keep_page,
                                        .message = keep_message};
    op_count = 0;
    assert_int_equal(tri_store_load(store, &visitor), 0);
    qsort(ops, op_count, sizeof ops[0], compare_ops);
}

static void free_ops(void)
{
    for (size_t i = 0; i < op_count; i++) {
        free((void *)(uintptr_t)ops[i].data.data);
    }
    op_count = 0;
}

/* The first actor gets a parent in the store that it comes to. */
static void set_parent(struct tr_key root, struct tr_ref parent)
{
    static uint8_t buffer[65536];
    for (size_t i = 0; i < op_count; i++) {
        struct tr_image image;
        if (ops[i].kind != TRI_OP_PUT_ACTOR || !tr_key_equal(ops[i].key, root)) {
            continue;
        }
        assert_int_equal(tr_image_unpack(ops[i].data, tr_image_schema.version, &image), 0);
        image.parent = parent;
        struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
        assert_int_equal(tr_image_pack(&image, &writer), 0);
        struct tr_bytes before = ops[i].data;
        uint8_t *copy = malloc(tr_writer_size(&writer));
        memcpy(copy, buffer, tr_writer_size(&writer));
        ops[i].data = (struct tr_bytes){.data = copy, .size = tr_writer_size(&writer)};
        free((void *)(uintptr_t)before.data);
        return;
    }
    fail();
}

/* A family over several workers, with a page, a timer, a call outside and notes in mailboxes. */
struct family {
    struct tr_ref root;
    struct tr_ref child;
    struct tr_ref grandchild;
};

static struct family make_family(uint32_t workers)
{
    struct family family;
    begin(workers);
    struct tr_spawn_options options = {.name = tr_text_of("root")};
    (void)stage_spawn(&stage, &fake_actor_behaviour, NULL);
    family.root = stage_spawn(&stage, &fake_actor_behaviour, &options);
    fake_actor_act(&stage, family.root, spawn_child, 0, nobody);
    family.child = fake_actor_state(&stage, family.root)->peer;
    uint32_t home = stage_home(&stage, family.root)->index;
    stage_move(&stage, family.child, (home + 1) % workers);
    fake_actor_act(&stage, family.child, spawn_child, 0, nobody);
    family.grandchild = fake_actor_state(&stage, family.child)->peer;
    fake_actor_act(&stage, family.grandchild, set_page, 99, nobody);
    fake_actor_act(&stage, family.child, start_timer, 500, nobody);
    fake_actor_act(&stage, family.grandchild, call_outside, 0, nobody);
    reopen(workers);
    uint64_t group = family.root.key.group;
    assert_int_equal(tr_host_set_dormant(&stage.host, &group, 1), 0);
    fake_actor_note(&stage, family.root, 1);
    fake_actor_note(&stage, family.root, 2);
    fake_actor_note(&stage, family.grandchild, 3);
    stage_run(&stage);
    take_group(group);
    end();
    return family;
}

/* ---------------------------------------------------------------------- adopting */

static struct tr_adoption adoption_of(const struct tr_adoption_parent *parent)
{
    return (struct tr_adoption){
        .ops = ops, .count = op_count, .parents = parent, .parent_count = parent == NULL ? 0 : 1};
}

static void adopt(const struct tr_adoption_parent *parent)
{
    struct tr_adoption adoption = adoption_of(parent);
    struct tr_adopting *adopting;
    assert_int_equal(tr_host_adopt_prepare(&stage.host, &adoption, &adopting), 0);
    assert_int_equal(tr_host_write(&stage.host, ops, op_count), 0);
    assert_int_equal(tr_host_write_wait(&stage.host), 0);
    assert_int_equal(tr_host_adopt(adopting), 0);
    tr_host_adopt_drop(adopting);
    stage_run(&stage);
}

static int refused(const struct tr_adoption_parent *parent)
{
    struct tr_adoption adoption = adoption_of(parent);
    struct tr_adopting *adopting = NULL;
    int error = tr_host_adopt_prepare(&stage.host, &adoption, &adopting);
    assert_null(adopting);
    return error;
}

static struct tr_adoption_parent begin_target(uint32_t workers, const struct family *family)
{
    begin(workers);
    struct tr_spawn_options options = {.name = tr_text_of("launcher")};
    struct tr_adoption_parent parent = {.actor =
                                            stage_spawn(&stage, &fake_actor_behaviour, &options),
                                        .address = tr_text_of("/launcher")};
    stage_run(&stage);
    set_parent(family->root.key, parent.actor);
    return parent;
}

static bool finds(const char *address, struct tr_ref who)
{
    struct tr_ref found;
    return tr_host_find(&stage.host, tr_text_of(address), &found) == 0 &&
           tr_key_equal(found.key, who.key);
}

/* What was sent is there once, calls have failed, and the rest goes on as it was. */
static void check_awake(const struct family *family)
{
    assert_int_equal(fake_actor_heard_times(family->root, &tr_note_schema), 2);
    assert_int_equal(fake_actor_heard_last(family->root, &tr_note_schema)->number, 2);
    assert_int_equal(fake_actor_heard_times(family->grandchild, &tr_note_schema), 1);
    assert_int_equal(fake_actor_heard_times(family->grandchild, &tr_ask_failed_schema), 1);
    const struct heard *failed = fake_actor_heard_last(family->grandchild, &tr_ask_failed_schema);
    assert_int_equal(failed->reason, TR_NO_CONNECTION);
}

static void test_it_comes_dormant_and_wakes(void **state)
{
    (void)state;
    static const uint32_t workers[][2] = {{2, 1}, {2, 2}, {2, 3}, {4, 2}, {1, 3}};
    for (size_t i = 0; i < TR_COUNT_OF(workers); i++) {
        struct family family = make_family(workers[i][0]);
        struct tr_adoption_parent parent = begin_target(workers[i][1], &family);
        adopt(&parent);
        assert_int_equal(stage_actor_count(&stage), 4);
        assert_int_equal(fake_actor_heard_count, 0);
        assert_true(finds("/launcher/root", family.root));
        assert_int_equal(stage_actor(&stage, family.root)->mailbox_count, 2);
        struct tr_bytes page = tri_page_bytes(stage_actor(&stage, family.grandchild), 3);
        assert_int_equal(page.size, sizeof(uint64_t));
        assert_int_equal(page.data[0], 99);
        assert_int_equal(refused(&parent), TR_EXISTS);
        fake_actor_note(&stage, parent.actor, 5); /* others go on */
        stage_run(&stage);
        assert_int_equal(fake_actor_heard_count, 1);
        assert_int_equal(tr_host_wake(&stage.host, family.root.key.group), 0);
        stage_run(&stage);
        check_awake(&family);
        stage_advance(&stage, 600);
        assert_int_equal(fake_actor_heard_times(family.child, &tr_timer_schema), 1);
        fake_actor_act(&stage, family.child, spawn_child, 0, nobody);
        assert_int_equal(stage_actor_count(&stage), 5);
        free_ops();
        end();
    }
}

/* The next start has it as it is: once, on whichever number of workers. */
static void test_a_crash_keeps_it(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct family family = make_family(3);
        struct tr_adoption_parent parent = begin_target(2, &family);
        adopt(&parent);
        reopen(workers);
        stage_run(&stage);
        check_awake(&family);
        assert_true(finds("/launcher/root", family.root));
        reopen(workers);
        stage_run(&stage);
        assert_int_equal(fake_actor_heard_times(family.root, &tr_note_schema), 0);
        free_ops();
        end();
    }
}

/* A crash between writing and loading, too. */
static void test_what_is_written_is_loaded_by_the_next(void **state)
{
    (void)state;
    struct family family = make_family(2);
    struct tr_adoption_parent parent = begin_target(2, &family);
    (void)parent;
    assert_int_equal(tr_host_write(&stage.host, ops, op_count), 0);
    assert_int_equal(tr_host_write_wait(&stage.host), 0);
    reopen(2);
    stage_run(&stage);
    check_awake(&family);
    free_ops();
    end();
}

/* It ends with its parent here, wherever that and its own actors are. */
static void test_it_ends_with_its_parent(void **state)
{
    (void)state;
    struct family family = make_family(2);
    struct tr_adoption_parent parent = begin_target(2, &family);
    adopt(&parent);
    stage_move(&stage, parent.actor, 1 - stage_home(&stage, parent.actor)->index);
    assert_true(finds("/launcher/root", family.root));
    fake_actor_act(&stage, parent.actor, stop, 0, nobody);
    stage_run(&stage);
    assert_int_equal(stage_actor_count(&stage), 0);
    reopen(2);
    assert_int_equal(stage_actor_count(&stage), 0);
    free_ops();
    end();
}

static void test_what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    struct family family = make_family(2);
    struct tr_adoption_parent parent = begin_target(2, &family);
    assert_int_equal(refused(NULL), TR_MALFORMED); /* its parent is not here */
    size_t count = op_count;
    size_t first_actor = 0;
    while (ops[first_actor].kind != TRI_OP_PUT_ACTOR) {
        first_actor++;
    }
    struct tri_op kept = ops[first_actor + 1];
    ops[first_actor + 1] = ops[first_actor];
    assert_int_equal(refused(&parent), TR_MALFORMED); /* one twice */
    ops[first_actor + 1] = kept;
    kept = ops[0];
    ops[0] = ops[op_count - 1];
    assert_int_equal(refused(&parent), TR_INVALID); /* the order */
    ops[0] = kept;
    struct tri_op *last = &ops[op_count - 1];
    assert_int_equal(last->kind, TRI_OP_PUT_MESSAGE);
    last->data.size--;
    assert_int_equal(refused(&parent), TR_MALFORMED);
    last->data.size++;
    kept = ops[first_actor];
    ops[first_actor].data.size /= 2;
    assert_true(refused(&parent) != 0);
    ops[first_actor] = kept;
    op_count = first_actor; /* counters of nobody */
    assert_int_equal(refused(&parent), TR_MALFORMED);
    op_count = count;
    struct tr_bounds bounds = stage.host.shared.bounds;
    stage.host.shared.bounds.group_actors = 2;
    assert_int_equal(refused(&parent), TR_LIMIT);
    stage.host.shared.bounds = bounds;
    stage.host.shared.bounds.host_bytes = 4;
    assert_int_equal(refused(&parent), TR_BUSY);
    stage.host.shared.bounds = bounds;
    adopt(&parent);
    free_ops();
    end();
}

/* Without memory nothing has happened. */
static void test_without_memory_nothing_comes(void **state)
{
    (void)state;
    struct family family = make_family(2);
    struct tr_adoption_parent parent = begin_target(2, &family);
    for (uint64_t i = 0; i < 2; i++) {
        stage_fail_allocation(i, false);
        assert_int_equal(refused(&parent), TR_MEMORY);
        assert_true(stage_allocations_succeed());
    }
    adopt(&parent);
    free_ops();
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_comes_dormant_and_wakes),
        cmocka_unit_test(test_a_crash_keeps_it),
        cmocka_unit_test(test_what_is_written_is_loaded_by_the_next),
        cmocka_unit_test(test_it_ends_with_its_parent),
        cmocka_unit_test(test_what_makes_no_sense_is_refused),
        cmocka_unit_test(test_without_memory_nothing_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
