/*
 * Two things for each execution, in one commit: the word to its root, in front of whatever waits
 * there, and the phase in its history, by which an engine knows that it does not sleep.
 */
#include "deploy/offline/abort_later.h"

#include <stdio.h>
#include <stdlib.h>

#include "deploy/common/clock.h"
#include "deploy/offline/end_aside.h"
#include "deploy/offline/external_jobs.h"
#include "deploy/offline/open_store.h"
#include "deploy/offline/send.h"
#include "runtime/journal/crashes.h"
#include "runtime/troupe.h"
#include "schemas/engine/flow.h"

/* Before all that has a clock of its own. */
#define FIRST_CLOCK 1

struct marking {
    const char *folder;
    const char *cause;
    bool is_hard;
    char *explain;
    struct tri_store *store;
    struct tri_crashes *crashes; /* what has ended the engine */
    struct tr_arena arena;
    struct tri_vector ops;
    uint64_t said;
};

static int add(struct marking *marking, const struct tri_op *op)
{
    struct tri_op *added = tri_vector_add(&marking->arena, &marking->ops, sizeof *added);
    if (added == NULL) {
        return marking->arena.error;
    }
    *added = *op;
    return 0;
}

static int mark_row(struct marking *marking, const struct tr_execution *row)
{
    struct tr_execution marked = *row;
    marked.phase = TR_EXECUTION_ABORTING;
    return tr_row_add(&marking->arena, &marking->ops, &tr_execution_schema, &marked);
}

/* No engine loads it: what runs for it ends here, and it is taken out. */
static int end_aside(struct marking *marking, struct tr_reader *reader,
                     const struct tr_execution *row)
{
    uint64_t number = row->execution;
    struct tr_end_aside ending = {.store = marking->store,
                                  .row = row,
                                  .cause = tr_text_of(marking->cause),
                                  .now_ms = tr_clock_wall_ms(),
                                  .said = marking->said,
                                  .ops = &marking->ops,
                                  .arena = &marking->arena};
    int error = tr_external_jobs_end(marking->folder, reader, &number, 1, marking->explain);
    if (error == 0) {
        error = tr_end_aside(&ending);
    }
    marking->said = ending.said;
    return error;
}

static int mark(struct marking *marking, const struct tr_execution *row)
{
    const struct tr_node_abort word = {.phase = TR_NODE_PHASE_ABORTED,
                                       .cause = tr_text_of(marking->cause),
                                       .is_hard = marking->is_hard};
    const struct tr_offline_message sending = {
        .to = tr_group_root(row->execution), .number = ++marking->said, .clock = FIRST_CLOCK};
    struct tri_op op;
    int error = tr_send_offline(&marking->arena, tr_offline_host(marking->store), &sending,
                                &tr_node_abort_schema, &word, &op);
    if (error != 0) {
        return error;
    }
    error = add(marking, &op);
    return error != 0 ? error : mark_row(marking, row);
}

static int compare_ops(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

static int commit(struct marking *marking)
{
    struct tri_op *ops = marking->ops.items;
    if (marking->ops.count == 0) {
        return 0;
    }
    qsort(ops, marking->ops.count, sizeof *ops, compare_ops);
    const struct tri_commit all = {
        .ops = ops, .count = marking->ops.count, .last_number = marking->store->last_number + 1};
    int error = tri_store_commit(marking->store, &all);
    if (error != 0) {
        snprintf(marking->explain, TRI_STORE_EXPLAIN_BYTES, "%s",
                 tri_store_explain(marking->store));
    }
    return error;
}

/* Its counts end with it. */
static bool is_of(const void *self, const struct tri_crash_row *row)
{
    const uint64_t *execution = self;
    return row->kind == TRI_CRASH_GROUP && row->key.group == *execution;
}

static bool is_aside(const struct marking *marking, uint64_t execution)
{
    uint64_t groups[TR_ASIDE_MAX];
    size_t count = tri_crashes_aside(marking->crashes, groups);
    while (count > 0 && groups[count - 1] != execution) {
        count--;
    }
    return count > 0;
}

/* An execution whose loading has ended the engine is no longer counted. */
static int forget_counts(struct marking *marking)
{
    struct tri_op *ops = tr_arena_array(&marking->arena, TRI_CRASHES_MAX, sizeof *ops);
    uint8_t *bytes = tr_arena_alloc(&marking->arena, TRI_CRASHES_MAX * TRI_CRASH_BYTES_MAX);
    size_t count =
        ops == NULL || bytes == NULL ? 0 : tri_crashes_changes(marking->crashes, ops, bytes);
    int error = marking->arena.error;
    for (size_t i = 0; error == 0 && i < count; i++) {
        error = add(marking, &ops[i]);
    }
    return error;
}

/* By its row as it is now that nobody else writes: an engine may have ended it meanwhile. */
static int mark_one(struct marking *marking, struct tr_reader *reader, uint64_t execution)
{
    struct tr_executions_row copy;
    int error = tr_executions_get(reader, execution, &copy);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error; /* it was forgotten */
    }
    if (!tr_phase_is_end(TR_SUBJECT_EXECUTION, copy.row.phase)) {
        error = is_aside(marking, execution) ? end_aside(marking, reader, &copy.row)
                                             : mark(marking, &copy.row);
        (void)tri_crashes_forget(marking->crashes, is_of, &execution);
    }
    tr_executions_row_fini(&copy);
    return error;
}

static int mark_all(struct marking *marking, const struct tr_executions_row *executions,
                    size_t count)
{
    struct tr_reader *reader;
    int error = tr_history_open(marking->folder, marking->explain, &reader);
    if (error != 0) {
        return error;
    }
    for (size_t i = 0; error == 0 && i < count; i++) {
        error = mark_one(marking, reader, executions[i].row.execution);
    }
    tr_reader_close(reader);
    if (error == 0) {
        error = forget_counts(marking);
    }
    return error != 0 ? error : commit(marking);
}

static int read_counts(struct marking *marking)
{
    marking->crashes = tr_arena_alloc(&marking->arena, sizeof *marking->crashes);
    if (marking->crashes == NULL) {
        return marking->arena.error;
    }
    int error = tri_crashes_read(marking->store, marking->crashes);
    if (error != 0) {
        snprintf(marking->explain, TRI_STORE_EXPLAIN_BYTES, "%s",
                 tri_store_explain(marking->store));
    }
    return error;
}

int tr_abort_later(const char *folder, const struct tr_executions_row *executions, size_t count,
                   const char *cause, bool is_hard, char *explain)
{
    struct marking marking = {
        .folder = folder, .cause = cause, .is_hard = is_hard, .explain = explain};
    int error = tr_open_offline(folder, explain, &marking.store);
    if (error != 0) {
        return error;
    }
    tr_arena_init(&marking.arena);
    error = read_counts(&marking);
    if (error == 0) {
        error = mark_all(&marking, executions, count);
    }
    tri_store_close(marking.store);
    tr_arena_fini(&marking.arena);
    return error;
}
