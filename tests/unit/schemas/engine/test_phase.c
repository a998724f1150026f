/*
 * The tables of phases: every pair of every subject against a list that is written down here anew,
 * and what must hold of any such table.
 */
#include "schemas/engine/phase.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

/* A phase, and all that may follow it, by their words. */
struct way {
    const char *from;
    const char *to[16];
};

static const struct way executions[] = {
    {"undefined", {"queued", "running"}},
    {"queued", {"running", "failing", "aborting", "timing out", "exported"}},
    {"running", {"succeeding", "failing", "aborting", "timing out", "exported"}},
    {"succeeding", {"succeeded", "failing", "aborting", "timing out", "exported"}},
    {"failing", {"failed", "aborting", "exported"}},
    {"timing out", {"timed out", "aborting", "exported"}},
    {"aborting", {"aborted", "exported"}},
    {NULL, {NULL}},
};

static const struct way nodes[] = {
    {"not yet started",
     {"queued", "running", "succeeding", "succeeded", "skipped", "recovered", "waiting to retry",
      "failing", "failed", "timing out", "timed out", "aborting", "aborted"}},
    {"queued",
     {"running", "succeeding", "succeeded", "skipped", "recovered", "waiting to retry", "failing",
      "failed", "timing out", "timed out", "aborting", "aborted"}},
    {"running",
     {"dynamic running", "succeeding", "succeeded", "skipped", "recovered", "waiting to retry",
      "failing", "failed", "timing out", "timed out", "aborting", "aborted"}},
    {"dynamic running",
     {"succeeding", "succeeded", "skipped", "recovered", "waiting to retry", "failing", "failed",
      "timing out", "timed out", "aborting", "aborted"}},
    {"waiting to retry",
     {"queued", "running", "failing", "failed", "timing out", "timed out", "aborting", "aborted"}},
    {"succeeding",
     {"succeeded", "failing", "failed", "timing out", "timed out", "aborting", "aborted"}},
    {"failing", {"failed", "aborting", "aborted"}},
    {"timing out", {"timed out", "aborting", "aborted"}},
    {"aborting", {"aborted"}},
    {NULL, {NULL}},
};

#define TASK_ENDS "succeeded", "failed, may be retried", "failed", "aborted"

static const struct way tasks[] = {
    {"undefined",
     {"not ready", "waiting for resources", "waiting for the cache", "queued", "initializing",
      "running", TASK_ENDS}},
    {"not ready",
     {"waiting for resources", "waiting for the cache", "queued", "initializing", "running",
      TASK_ENDS}},
    {"waiting for resources",
     {"not ready", "waiting for the cache", "queued", "initializing", "running", TASK_ENDS}},
    {"waiting for the cache",
     {"not ready", "waiting for resources", "queued", "initializing", "running", TASK_ENDS}},
    {"queued",
     {"not ready", "waiting for resources", "waiting for the cache", "initializing", "running",
      TASK_ENDS}},
    {"initializing", {"queued", "running", TASK_ENDS}},
    {"running", {TASK_ENDS}},
    {NULL, {NULL}},
};

static const struct {
    enum tr_subject subject;
    uint8_t count;
    const struct way *ways;
} subjects[] = {
    {TR_SUBJECT_EXECUTION, TR_EXECUTION_PHASE_COUNT, executions},
    {TR_SUBJECT_NODE, TR_NODE_PHASE_COUNT, nodes},
    {TR_SUBJECT_TASK, TR_TASK_PHASE_COUNT, tasks},
};

static bool is_way(const struct way *ways, const char *from, const char *to)
{
    for (; ways->from != NULL; ways++) {
        for (size_t i = 0; strcmp(ways->from, from) == 0 && ways->to[i] != NULL; i++) {
            if (strcmp(ways->to[i], to) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void every_pair_is_as_written(void **state)
{
    (void)state;
    for (size_t s = 0; s < TR_COUNT_OF(subjects); s++) {
        size_t found = 0;
        size_t written = 0;
        for (const struct way *way = subjects[s].ways; way->from != NULL; way++) {
            for (size_t i = 0; way->to[i] != NULL; i++) {
                written++;
            }
        }
        for (unsigned from = 0; from < subjects[s].count; from++) {
            for (unsigned to = 0; to < subjects[s].count; to++) {
                const char *from_word = tr_phase_word(subjects[s].subject, (uint8_t)from);
                const char *to_word = tr_phase_word(subjects[s].subject, (uint8_t)to);
                bool may = tr_phase_may_follow(subjects[s].subject, (uint8_t)from, (uint8_t)to);
                if (may != is_way(subjects[s].ways, from_word, to_word)) {
                    fail_msg("subject %d: `%s` %s follow `%s`", subjects[s].subject, to_word,
                             may ? "may" : "may not", from_word);
                }
                found += may;
            }
        }
        assert_int_equal(found, written); /* no word here is misspelt */
    }
}

/* From each phase that is no end some end can be reached; nothing follows an end or itself. */
static void ends_are_ends(void **state)
{
    (void)state;
    for (size_t s = 0; s < TR_COUNT_OF(subjects); s++) {
        enum tr_subject subject = subjects[s].subject;
        for (unsigned from = 0; from < subjects[s].count; from++) {
            uint32_t reached = 1U << from;
            bool ends = tr_phase_is_end(subject, (uint8_t)from);
            for (unsigned round = 0; round < subjects[s].count; round++) {
                for (unsigned pair = 0; pair < 1024; pair++) {
                    uint8_t a = (uint8_t)(pair / 32);
                    uint8_t b = (uint8_t)(pair % 32);
                    if ((reached >> a & 1) != 0 && tr_phase_may_follow(subject, a, b)) {
                        reached |= 1U << b;
                        ends = ends || tr_phase_is_end(subject, b);
                    }
                }
            }
            assert_true(ends);
            assert_false(tr_phase_may_follow(subject, (uint8_t)from, (uint8_t)from));
            if (tr_phase_is_end(subject, (uint8_t)from)) {
                assert_int_equal(reached, 1U << from);
            }
        }
    }
}

static void what_is_no_phase_is_refused(void **state)
{
    (void)state;
    for (size_t s = 0; s < TR_COUNT_OF(subjects); s++) {
        uint8_t beyond = subjects[s].count;
        assert_false(tr_phase_may_follow(subjects[s].subject, beyond, 0));
        assert_false(tr_phase_may_follow(subjects[s].subject, 0, beyond));
        assert_false(tr_phase_may_follow(subjects[s].subject, 0, UINT8_MAX));
        assert_string_equal(tr_phase_word(subjects[s].subject, beyond), "?");
        assert_false(tr_phase_is_end(subjects[s].subject, beyond));
    }
    assert_false(tr_phase_may_follow((enum tr_subject)0, 0, 1));
    assert_false(tr_phase_may_follow((enum tr_subject)4, 0, 1));
    assert_string_equal(tr_phase_word((enum tr_subject)99, 1), "?");
    assert_string_equal(tr_cache_status_word(UINT8_MAX), "?");
}

/* Words are found again by people who filter by them: no two of a subject are the same. */
static void words_are_different(void **state)
{
    (void)state;
    for (size_t s = 0; s < TR_COUNT_OF(subjects); s++) {
        for (uint8_t a = 0; a < subjects[s].count; a++) {
            assert_true(strlen(tr_phase_word(subjects[s].subject, a)) > 1);
            for (uint8_t b = 0; b < a; b++) {
                assert_string_not_equal(tr_phase_word(subjects[s].subject, a),
                                        tr_phase_word(subjects[s].subject, b));
            }
        }
    }
    assert_string_equal(tr_execution_phase_word(TR_EXECUTION_TIMED_OUT), "timed out");
    assert_string_equal(tr_node_phase_word(TR_NODE_PHASE_SKIPPED), "skipped");
    assert_string_equal(tr_task_phase_word(TR_TASK_PHASE_QUEUED), "queued");
    assert_string_equal(tr_cache_status_word(TR_CACHE_STATUS_HIT), "hit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_is_as_written),
        cmocka_unit_test(ends_are_ends),
        cmocka_unit_test(what_is_no_phase_is_refused),
        cmocka_unit_test(words_are_different),
    };
    return cmocka_run_group_tests_name("schemas/engine/phase", tests, NULL, NULL);
}
