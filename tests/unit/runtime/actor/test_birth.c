/*
 * Names and addresses, families, groups: how actors come into the world and are found in it.
 */
#include <stdio.h>

#include "tests/support/puppet.h"
#include "tests/support/stage.h"

static struct stage stage;

static int spawn_named(struct tr_context *context, struct tr_puppet *puppet,
                       const struct tr_act *act, const struct tr_message *message)
{
    (void)message;
    struct tr_spawn_options options = {
        .is_element = act->number < 1000, .element = act->number, .name = tr_text_of("named")};
    options.name = act->number == 2000 ? (struct tr_text){0} : options.name;
    options.is_group = act->number == 3000;
    return tr_spawn(context, &puppet_behaviour, &options, &puppet->peer);
}

static struct tr_ref child_of(struct tr_ref parent, uint64_t number)
{
    puppet_act(&stage, parent, spawn_named, number, parent);
    return puppet_state(&stage, parent)->peer;
}

static struct tr_ref root_named(const char *name)
{
    struct tr_spawn_options options = {.name = tr_text_of(name)};
    return stage_spawn(&stage, &puppet_behaviour, &options);
}

static void expect_address(struct tr_ref actor, const char *address)
{
    char buffer[TR_ADDRESS_BYTES_MAX];
    struct tr_text text = tri_actor_address(stage_home(&stage, actor), stage_actor(&stage, actor),
                                            buffer, sizeof buffer);
    char *string = tr_text_copy(text);
    assert_string_equal(string, address);
    tr_free(string);
    struct tr_ref found = {0};
    assert_int_equal(tr_host_find(&stage.host, tr_text_of(address), &found), 0);
    assert_true(tr_key_equal(found.key, actor.key));
}

static void test_an_address_names_the_line_and_finds_it(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref root = root_named("orders");
    struct tr_ref element = child_of(root, 17);
    struct tr_ref named = child_of(element, 1000);
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
    struct tr_ref child = child_of(root_named("parent"), 2000);
    struct tr_text name = tri_actor_name(stage_actor(&stage, child), buffer, sizeof buffer);
    (void)snprintf(expected, sizeof expected, "~%d", (int)child.key.serial);
    assert_true(tr_text_equal(name, tr_text_of(expected)));
    stage_close(&stage);
}

static void test_a_child_may_begin_a_group(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref root = root_named("parent");
    struct tr_ref sibling = child_of(root, 1);
    struct tr_ref other = child_of(root, 3000);
    assert_int_equal(sibling.key.group, root.key.group);
    assert_int_not_equal(other.key.group, root.key.group);
    assert_int_equal(stage_worker(&stage, 0)->groups.count, 2);
    tri_end(stage_worker(&stage, 0), stage_actor(&stage, root), TR_KILLED);
    stage_run(&stage);
    assert_int_equal(stage_actor_count(&stage), 0);
    assert_int_equal(stage_worker(&stage, 0)->groups.count, 0);
    stage_close(&stage);
}

/* Siblings that end in any order leave a family that still knows all others. */
static void test_a_family_knows_who_is_left(void **state)
{
    (void)state;
    enum { CHILDREN = 9 };
    struct tr_ref children[CHILDREN];
    for (int first = 0; first < CHILDREN; first++) {
        stage_open(&stage, &(struct stage_options){.worker_count = 1});
        struct tr_ref root = root_named("parent");
        for (uint64_t i = 0; i < CHILDREN; i++) {
            children[i] = child_of(root, i);
        }
        for (int i = 0; i < CHILDREN; i++) {
            struct tr_ref child = children[(first + i * 4) % CHILDREN];
            tri_end(stage_worker(&stage, 0), stage_actor(&stage, child), 0);
            int left = 0;
            struct tri_actor *eldest = tri_family_first(stage_worker(&stage, 0), root.key);
            struct tri_actor *at = eldest;
            while (at != NULL && left <= CHILDREN) {
                left++;
                at = tri_actor_at(stage_worker(&stage, 0), at->sibling_next);
                at = at == eldest ? NULL : at;
            }
            assert_int_equal(left, CHILDREN - 1 - i);
        }
        stage_close(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_address_names_the_line_and_finds_it),
        cmocka_unit_test(test_a_child_without_a_name_is_called_by_its_serial),
        cmocka_unit_test(test_a_child_may_begin_a_group),
        cmocka_unit_test(test_a_family_knows_who_is_left),
    };
    return cmocka_run_group_tests_name("birth", tests, NULL, NULL);
}
