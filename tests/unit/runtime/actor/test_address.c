/*
 * Names and addresses: each actor has one, whole, wherever its parents live, and is found by it.
 */
#include <stdio.h>

#include "tests/sim/model_store.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;

#define NAMED 1000 /* numbers below are elements */
#define UNNAMED 2000

static int spawn_child(struct tr_context *context, struct tr_fake_actor *fake,
                       const struct tr_act *act, const struct tr_message *message)
{
    (void)message;
    struct tr_spawn_options options = {.is_element = act->number < NAMED, .element = act->number};
    options.name = act->number == NAMED ? tr_text_of("named") : (struct tr_text){0};
    return tr_spawn(context, &fake_actor_behaviour, &options, &fake->peer);
}

static struct tr_ref child_of(struct tr_ref parent, uint64_t number)
{
    fake_actor_act(&stage, parent, spawn_child, number, parent);
    return fake_actor_state(&stage, parent)->peer;
}

static struct tr_ref root_named(const char *name)
{
    struct tr_spawn_options options = {.name = tr_text_of(name)};
    return stage_spawn(&stage, &fake_actor_behaviour, &options);
}

static struct tr_text address_of(struct tr_ref actor)
{
    static char buffer[TR_ADDRESS_BYTES_MAX];
    return tri_actor_address(stage_home(&stage, actor), stage_actor(&stage, actor), buffer,
                             sizeof buffer);
}

static void take_seen(void *self, const struct tr_actor_info *seen)
{
    struct tr_ref *found = self;
    *found = seen->actor;
}

/* It is called this, and both who look for one and who look for many find it so. */
static void expect_address(struct tr_ref actor, const char *address)
{
    char *string = tr_text_copy(address_of(actor));
    assert_string_equal(string, address);
    tr_free(string);
    struct tr_ref found = {0};
    assert_int_equal(tr_host_find(&stage.host, tr_text_of(address), &found), 0);
    assert_true(tr_key_equal(found.key, actor.key));
    uint64_t count = 0;
    found = (struct tr_ref){0};
    assert_int_equal(
        tr_host_actors(&stage.host, tr_text_of(address), 10, take_seen, &found, &count), 0);
    assert_int_equal(count, 1);
    assert_true(tr_key_equal(found.key, actor.key));
}

static void test_an_address_names_the_line_and_finds_it(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref root = root_named("orders");
    struct tr_ref element = child_of(root, 17);
    struct tr_ref named = child_of(element, NAMED);
    expect_address(root, "/orders");
    expect_address(element, "/orders[17]");
    expect_address(named, "/orders[17]/named");
    struct tr_ref found;
    assert_int_equal(tr_host_find(&stage.host, tr_text_of("/orders[18]"), &found), TR_NOT_FOUND);
    assert_int_equal(tr_host_find(&stage.host, tr_text_of("/orders/named"), &found), TR_NOT_FOUND);
    assert_int_equal(tr_host_find(&stage.host, tr_text_of(""), &found), TR_NOT_FOUND);
    stage_close(&stage);
}

static void test_a_child_without_a_name_is_called_by_its_serial(void **state)
{
    (void)state;
    char buffer[64];
    char expected[64];
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref child = child_of(root_named("parent"), UNNAMED);
    struct tr_text name = tri_actor_name(stage_actor(&stage, child), buffer, sizeof buffer);
    (void)snprintf(expected, sizeof expected, "~%d", (int)child.key.serial);
    assert_true(tr_text_equal(name, tr_text_of(expected)));
    stage_close(&stage);
}

/* Root, element and its child, each on each of three workers, in all orders of going there. */
static void test_an_address_is_whole_wherever_parents_live(void **state)
{
    (void)state;
    for (uint32_t places = 0; places < 27; places++) {
        for (uint32_t first = 0; first < 3; first++) {
            stage_open(&stage, &(struct stage_options){.worker_count = 3});
            struct tr_ref line[3] = {root_named("orders")};
            line[1] = child_of(line[0], 17);
            line[2] = child_of(line[1], NAMED);
            uint32_t place[3] = {places % 3, places / 3 % 3, places / 9};
            for (uint32_t i = 0; i < 3; i++) {
                uint32_t who = (first + i) % 3;
                stage_move(&stage, line[who], place[who]);
            }
            expect_address(line[0], "/orders");
            expect_address(line[1], "/orders[17]");
            expect_address(line[2], "/orders[17]/named");
            stage_close(&stage); /* which insists that all memory is back */
        }
    }
}

/* What a worker keeps of parents elsewhere goes with the last child that is here. */
static void test_nothing_is_kept_of_a_family_that_left(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    struct tr_ref root = root_named("orders");
    struct tr_ref one = child_of(root, 1);
    struct tr_ref two = child_of(root, 2);
    const struct tri_worker *home = stage_home(&stage, root);
    assert_int_equal(home->parent_addresses.count, 0);
    stage_move(&stage, root, 1 - home->index);
    assert_int_equal(home->parent_addresses.count, 1);
    stage_move(&stage, one, 1 - home->index);
    assert_int_equal(home->parent_addresses.count, 1);
    tri_actor_end(stage_home(&stage, two), stage_actor(&stage, two), 0);
    stage_run(&stage);
    assert_int_equal(home->parent_addresses.count, 0);
    expect_address(one, "/orders[1]");
    stage_close(&stage);
}

/* A start puts each actor where it was spawned: a moved parent's children are elsewhere than it. */
static void test_an_address_is_whole_after_a_start(void **state)
{
    (void)state;
    struct tri_store *store;
    struct tri_model *model = tri_model_new();
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    stage_open(&stage, &(struct stage_options){.worker_count = 3, .store = store});
    struct tr_ref root = root_named("orders");
    uint32_t home = stage_home(&stage, root)->index;
    stage_move(&stage, root, (home + 1) % 3);
    struct tr_ref element = child_of(root, 17);
    stage_move(&stage, element, (home + 2) % 3);
    struct tr_ref named = child_of(element, NAMED);
    stage_run(&stage);
    stage_close(&stage);
    for (uint32_t workers = 3; workers >= 1; workers--) {
        stage_open(&stage, &(struct stage_options){.worker_count = workers, .store = store});
        assert_true(workers < 3 || stage_home(&stage, root) != stage_home(&stage, element));
        assert_true(workers < 3 || stage_home(&stage, element) != stage_home(&stage, named));
        expect_address(root, "/orders");
        expect_address(element, "/orders[17]");
        expect_address(named, "/orders[17]/named");
        stage_close(&stage);
    }
    tri_store_close(store);
    tri_model_free(model);
}

/* Between the end of a parent and that of a child elsewhere, the rest of the way is nobody's. */
static void test_a_parent_that_nobody_knows_is_a_tilde(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    struct tr_ref root = root_named("orders");
    struct tr_ref child = child_of(root, NAMED);
    stage_move(&stage, child, 1 - stage_home(&stage, root)->index);
    tri_parent_address_forget(stage_home(&stage, child), root.key);
    assert_true(tr_text_equal(address_of(child), tr_text_of("~/named")));
    stage_close(&stage);
}

/* An address that is cut is no other actor's: nobody is found by it, and it shows that. */
static void test_an_address_that_is_too_long_shows_that(void **state)
{
    (void)state;
    enum { DEPTH = 200 };
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    struct tr_ref line[DEPTH] = {root_named("orders")};
    for (int i = 1; i < DEPTH; i++) {
        line[i] = child_of(line[i - 1], NAMED);
    }
    struct tr_ref last = line[DEPTH - 1];
    struct tr_text address = address_of(last);
    assert_in_range(address.size, TR_ADDRESS_BYTES_MAX - 8, TR_ADDRESS_BYTES_MAX);
    assert_memory_equal(address.data, "~/named/", 8);
    struct tri_worker *home = stage_home(&stage, last);
    stage_move(&stage, line[DEPTH - 2], 1 - home->index);
    assert_int_equal(home->parent_addresses.count, 0);
    assert_true(tr_text_equal(address_of(last), tr_text_of("~/named")));
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_address_names_the_line_and_finds_it),
        cmocka_unit_test(test_a_child_without_a_name_is_called_by_its_serial),
        cmocka_unit_test(test_an_address_is_whole_wherever_parents_live),
        cmocka_unit_test(test_nothing_is_kept_of_a_family_that_left),
        cmocka_unit_test(test_an_address_is_whole_after_a_start),
        cmocka_unit_test(test_a_parent_that_nobody_knows_is_a_tilde),
        cmocka_unit_test(test_an_address_that_is_too_long_shows_that),
    };
    return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
