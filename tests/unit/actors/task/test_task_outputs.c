/*
 * What a plugin gives is checked by the task's interface, and what is wrong is named.
 */
#include <stdio.h>

#include "tests/unit/actors/task_jobs.h"

/* ----------------------------------------------------------------- outputs */

static const char *gives;

static int give(struct tr_task_context *task, struct tr_fake_actor_state *state,
                const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_text problem;
    (void)state;
    (void)event;
    int error = gives == NULL
                    ? 0
                    : tr_task_outputs_json(task, tr_text_of(gives), (struct tr_text){0}, &problem);
    return error != 0 && error != TR_INVALID ? error : tr_task_succeed(transition);
}

static void test_outputs_are_checked_by_the_interface(void **state)
{
    (void)state;
    static const struct {
        const char *gives;
        const char *code; /* NULL: it is fine */
        const char *message;
    } cases[] = {
        {"{\"b\": 1, \"c\": \"x\"}", NULL, "[1, \"x\", null]"},
        {"{\"c\": \"x\", \"d\": 3, \"b\": 1, \"e\": 0}", NULL, "[1, \"x\", 3]"},
        {NULL, "OutputsNotFound", "the output 'b' is missing: give a value of type int"},
        {"{\"b\": 1}", "OutputsNotFound", "the output 'c' is missing: give a value of type string"},
        {"{\"b\": 1.5, \"c\": \"x\"}", "MismatchingTypes", "the output 'b': "},
        {"{\"b\": 1", "OutputsNotFound", "the outputs: "},
        {"[1]", "OutputsNotFound", "the outputs have to be one JSON object"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        task_jobs_begin();
        stand.handle = give;
        gives = cases[i].gives;
        stand_start(JOB_START("many"));
        if (cases[i].code == NULL) {
            assert_ended(TR_NODE_PHASE_SUCCEEDED);
        } else {
            char code[64];
            (void)snprintf(code, sizeof code, "RetriesExhausted|%s", cases[i].code);
            const char *message = cases[i].message;
            assert_ended(TR_NODE_PHASE_FAILED);
            assert_text(stand.ended.code, code);
            assert_true(stand.ended.message.size >= strlen(message));
            assert_memory_equal(stand.ended.message.data, message, strlen(message));
        }
        stand_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs_are_checked_by_the_interface),
    };
    return cmocka_run_group_tests_name("task outputs", tests, NULL, NULL);
}
