/*
 * A watch that begins with what there is: it takes the place of a list, with all that a list
 * promises; where it breaks off it begins anew, and where there is none lists come.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/actors/refresh_stand.h"

#define COUNT 100

static void begin(void)
{
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, true);
    refresh_stand_give_begin();
}

static void make(void)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        (void)refresh_stand_make("a.1");
    }
    refresh_stand_pass(3000);
}

static void require_calls(uint32_t lists, uint32_t begins, uint32_t watches)
{
    assert_int_equal(back.lists, lists);
    assert_int_equal(back.begins, begins);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STREAM], watches);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STATUS], 0);
}

static void end_all(void)
{
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(2);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), COUNT);
    assert_int_equal(back.job_count, COUNT);
    refresh_stand_end();
}

static void test_it_takes_the_place_of_a_list(void **state)
{
    (void)state;
    begin();
    make();
    require_calls(0, 1, 1);
    back_phase_all(TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(1);
    assert_int_equal(refresh_stand_holder(COUNT - 1)->phase, TR_TASK_PHASE_RUNNING);
    refresh_stand_crash();
    refresh_stand_pass(3000);
    require_calls(0, 1, 2); /* from its cursor on */
    end_all();
}

/* A cursor that is not known any more: who is missing in what there is was deleted. */
static void test_who_is_missing_was_deleted(void **state)
{
    (void)state;
    begin();
    make();
    for (uint32_t i = 0; i < 10; i++) {
        back.jobs[i].is_removed = true;
    }
    back.says_anew = true;
    back_phase(50, TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(3000);
    require_calls(0, 2, 2);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 10);
    assert_int_equal(refresh_stand_holder(50)->phase, TR_TASK_PHASE_RUNNING);
    end_all();
}

/* What it had shown before it broke off may be gone when it begins anew. */
static void test_one_that_breaks_off_begins_anew(void **state)
{
    (void)state;
    begin();
    make();
    back.cuts_begins = 1;
    back.says_anew = true;
    back_phase(50, TR_TASK_PHASE_RUNNING);
    refresh_stand_run();
    for (uint32_t i = 0; i < 10; i++) {
        back.jobs[i].is_removed = true;
    }
    refresh_stand_pass(10000);
    require_calls(0, 3, 3);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 10);
    end_all();
}

/* It is asked for once, and lists come from then on. */
static void test_a_server_that_knows_none_is_listed(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        begin();
        back.refuses_begins = way == 0 ? 422 : 0;
        back.fails_begins = way == 1;
        make();
        require_calls(1, 1, 2);
        back.says_anew = true;
        back_phase(3, TR_TASK_PHASE_RUNNING);
        refresh_stand_pass(3000);
        require_calls(2, 1, 3);
        end_all();
    }
}

/* Somebody has put another one in its place, of the same name: that is ended, and it is missing. */
static void test_a_namesake_is_no_sign_of_life(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        begin();
        back.refuses_begins = way == 0 ? 422 : 0;
        make();
        (void)snprintf(back.jobs[7].handle, sizeof back.jobs[7].handle, "another");
        back.says_anew = true;
        back_phase(3, TR_TASK_PHASE_RUNNING);
        refresh_stand_pass(3000);
        assert_int_equal(refresh_stand_holder(7)->stage, TR_WEBAPI_STAGE_TERMINAL);
        assert_string_equal(refresh_stand_holder(7)->code.data, "ResourceDeletedExternally");
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 1);
        refresh_stand_pass(10000);
        assert_true(back.jobs[7].was_cancelled);
        refresh_stand_end();
    }
}

static void test_an_older_plugin_has_none(void **state)
{
    (void)state;
    begin();
    back.plugin.abi = 6;
    make();
    require_calls(1, 0, 1);
    end_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_takes_the_place_of_a_list),
        cmocka_unit_test(test_who_is_missing_was_deleted),
        cmocka_unit_test(test_one_that_breaks_off_begins_anew),
        cmocka_unit_test(test_a_server_that_knows_none_is_listed),
        cmocka_unit_test(test_a_namesake_is_no_sign_of_life),
        cmocka_unit_test(test_an_older_plugin_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
