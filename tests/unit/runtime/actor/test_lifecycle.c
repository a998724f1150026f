/*
 * Families and groups: how actors come into the world and leave it.
 */
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;

static int spawn_named(struct tr_context *context, struct tr_fake_actor *fake,
                       const struct tr_act *act, const struct tr_message *message)
{
    (void)message;
    struct tr_spawn_options options = {
        .is_element = act->number < 1000, .element = act->number, .name = tr_text_of("named")};
    options.is_group = act->number == 3000;
    return tr_spawn(context, &fake_actor_behaviour, &options, &fake->peer);
}

static struct tr_ref child_of(struct tr_ref parent, uint64_t number)
{
    fake_actor_act(&stage, parent, spawn_named, number, parent);
    return fake_actor_state(&stage, parent)->peer;
}

static struct tr_ref root_named(const char *name)
{
    struct tr_spawn_options options = {.name = tr_text_of(name)};
    return stage_spawn(&stage, &fake_actor_behaviour, &options);
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
    tri_actor_end(stage_worker(&stage, 0), stage_actor(&stage, root), TR_KILLED);
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
            tri_actor_end(stage_worker(&stage, 0), stage_actor(&stage, child), 0);
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
        cmocka_unit_test(test_a_child_may_begin_a_group),
        cmocka_unit_test(test_a_family_knows_who_is_left),
    };
    return cmocka_run_group_tests_name("spawn", tests, NULL, NULL);
}
