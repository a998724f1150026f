/*
 * Where messages go, by name: mailboxes, dead letters with their reasons, senders held back.
 */
#include "tests/support/puppet.h"
#include "tests/support/stage.h"

static const struct tr_ref nobody = {0};

static int tell_note(struct tr_context *context, struct tr_puppet *puppet,
                     const struct tr_act *act, const struct tr_message *message)
{
    (void)puppet;
    (void)message;
    return tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){act->number});
}

static void test_a_message_is_handled_once(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    struct tr_ref a = stage_spawn(&stage, &puppet_behaviour, NULL);
    struct tr_ref b = stage_spawn(&stage, &puppet_behaviour, NULL);
    puppet_forget();
    puppet_act(&stage, a, tell_note, 7, b);
    assert_int_equal(puppet_heard_times(b, &tr_note_schema), 1);
    assert_int_equal(puppet_heard_last(b, &tr_note_schema)->number, 7);
    assert_int_equal(puppet_state(&stage, b)->count, 1);
    (void)nobody;
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_is_handled_once),
    };
    return cmocka_run_group_tests_name("deliver", tests, NULL, NULL);
}
