/*
 * The words and transitions of phases, from the tables of phase.h and one matrix for each subject.
 */
#include "schemas/engine/phase.h"

struct phase_row {
    const char *word;
    bool is_end;
};

#define ROW(name, number, word, is_end) [number] = {word, is_end},
static const struct phase_row execution_rows[] = {TR_EXECUTION_PHASES(ROW)};
static const struct phase_row node_rows[] = {TR_NODE_PHASES(ROW)};
static const struct phase_row task_rows[] = {TR_TASK_PHASES(ROW)};
static const struct phase_row cache_rows[] = {TR_CACHE_STATUSES(ROW)};
#undef ROW

#define E(name) (1U << TR_EXECUTION_##name)
#define N(name) (1U << TR_NODE_PHASE_##name)
#define T(name) (1U << TR_TASK_PHASE_##name)

/* Ways that are open from every phase of a kind before its end. */
#define EXECUTION_ENDING (E(FAILING) | E(ABORTING) | E(TIMING_OUT) | E(EXPORTED))
#define NODE_ENDING \
    (N(FAILING) | N(FAILED) | N(TIMING_OUT) | N(TIMED_OUT) | N(ABORTING) | N(ABORTED))
#define NODE_DONE (N(SUCCEEDING) | N(SUCCEEDED) | N(SKIPPED) | N(RECOVERED) | N(RETRYABLE_FAILURE))
#define TASK_ENDING (T(SUCCESS) | T(RETRYABLE_FAILURE) | T(PERMANENT_FAILURE) | T(ABORTED))
#define TASK_WAITING                                                              \
    (T(NOT_READY) | T(WAITING_FOR_RESOURCES) | T(WAITING_FOR_CACHE) | T(QUEUED) | \
     T(INITIALIZING) | T(RUNNING))

/* For each phase the set of those that may follow it; nothing follows an end. */
static const uint32_t execution_next[TR_EXECUTION_PHASE_MAX + 1] = {
    [TR_EXECUTION_UNDEFINED] = E(QUEUED) | E(RUNNING),
    [TR_EXECUTION_QUEUED] = E(RUNNING) | EXECUTION_ENDING,
    [TR_EXECUTION_RUNNING] = E(SUCCEEDING) | EXECUTION_ENDING,
    [TR_EXECUTION_SUCCEEDING] = E(SUCCEEDED) | EXECUTION_ENDING,
    [TR_EXECUTION_FAILING] = E(FAILED) | E(ABORTING) | E(EXPORTED),
    [TR_EXECUTION_TIMING_OUT] = E(TIMED_OUT) | E(ABORTING) | E(EXPORTED),
    [TR_EXECUTION_ABORTING] = E(ABORTED) | E(EXPORTED),
};

static const uint32_t node_next[TR_NODE_PHASE_MAX + 1] = {
    [TR_NODE_PHASE_NOT_YET_STARTED] = N(QUEUED) | N(RUNNING) | NODE_DONE | NODE_ENDING,
    [TR_NODE_PHASE_QUEUED] = N(RUNNING) | NODE_DONE | NODE_ENDING,
    [TR_NODE_PHASE_RUNNING] = N(DYNAMIC_RUNNING) | NODE_DONE | NODE_ENDING,
    [TR_NODE_PHASE_DYNAMIC_RUNNING] = NODE_DONE | NODE_ENDING,
    [TR_NODE_PHASE_RETRYABLE_FAILURE] = N(QUEUED) | N(RUNNING) | NODE_ENDING,
    [TR_NODE_PHASE_SUCCEEDING] = N(SUCCEEDED) | NODE_ENDING,
    [TR_NODE_PHASE_FAILING] = N(FAILED) | N(ABORTING) | N(ABORTED),
    [TR_NODE_PHASE_TIMING_OUT] = N(TIMED_OUT) | N(ABORTING) | N(ABORTED),
    [TR_NODE_PHASE_ABORTING] = N(ABORTED),
};

static const uint32_t task_next[TR_TASK_PHASE_MAX + 1] = {
    [TR_TASK_PHASE_UNDEFINED] = TASK_WAITING | TASK_ENDING,
    [TR_TASK_PHASE_NOT_READY] = (TASK_WAITING & ~T(NOT_READY)) | TASK_ENDING,
    [TR_TASK_PHASE_WAITING_FOR_RESOURCES] =
        (TASK_WAITING & ~T(WAITING_FOR_RESOURCES)) | TASK_ENDING,
    [TR_TASK_PHASE_WAITING_FOR_CACHE] = (TASK_WAITING & ~T(WAITING_FOR_CACHE)) | TASK_ENDING,
    [TR_TASK_PHASE_QUEUED] = (TASK_WAITING & ~T(QUEUED)) | TASK_ENDING,
    [TR_TASK_PHASE_INITIALIZING] = T(QUEUED) | T(RUNNING) | TASK_ENDING,
    [TR_TASK_PHASE_RUNNING] = TASK_ENDING,
};

struct subject {
    const struct phase_row *rows;
    const uint32_t *next;
    uint8_t count;
};

static const struct subject subjects[] = {
    [TR_SUBJECT_EXECUTION] = {execution_rows, execution_next, TR_COUNT_OF(execution_rows)},
    [TR_SUBJECT_NODE] = {node_rows, node_next, TR_COUNT_OF(node_rows)},
    [TR_SUBJECT_TASK] = {task_rows, task_next, TR_COUNT_OF(task_rows)},
};

/* The row of a phase, or NULL for numbers that are none. */
static const struct phase_row *find(unsigned subject, uint8_t phase)
{
    if (subject == 0 || subject >= TR_COUNT_OF(subjects) || phase >= subjects[subject].count) {
        return NULL;
    }
    return &subjects[subject].rows[phase];
}

const char *tr_phase_word(enum tr_subject subject, uint8_t phase)
{
    const struct phase_row *row = find(subject, phase);
    return row != NULL ? row->word : "?";
}

const char *tr_execution_phase_word(uint8_t phase)
{
    return tr_phase_word(TR_SUBJECT_EXECUTION, phase);
}

const char *tr_node_phase_word(uint8_t phase)
{
    return tr_phase_word(TR_SUBJECT_NODE, phase);
}

const char *tr_task_phase_word(uint8_t phase)
{
    return tr_phase_word(TR_SUBJECT_TASK, phase);
}

const char *tr_cache_status_word(uint8_t status)
{
    return status < TR_COUNT_OF(cache_rows) ? cache_rows[status].word : "?";
}

bool tr_phase_is_end(enum tr_subject subject, uint8_t phase)
{
    const struct phase_row *row = find(subject, phase);
    return row != NULL && row->is_end;
}

bool tr_phase_may_follow(enum tr_subject subject, uint8_t from, uint8_t to)
{
    if (find(subject, from) == NULL || find(subject, to) == NULL) {
        return false;
    }
    return (subjects[subject].next[from] >> to & 1) != 0;
}
