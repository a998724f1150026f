/*
 * What the files of reuse.h share: one question, from its plan to its answer.
 */
#ifndef TR_DEPLOY_RECOVERY_REUSE_INSIDE_H
#define TR_DEPLOY_RECOVERY_REUSE_INSIDE_H

#include "deploy/history/executions.h"
#include "deploy/recovery/recovery.h"
#include "deploy/recovery/reuse.h"

/* What an answer holds; the first node or element always has room. */
#define TRI_REUSE_ANSWER_BYTES_MAX (TR_MESSAGE_BYTES_MAX / 2)

/* One question. */
struct tri_reuse {
    const struct tr_inquiry *inquiry;
    struct tr_arena arena; /* the plan */
    struct tr_recovery plan;
    struct tr_reader *reader;
    struct tr_executions_row from; /* whose name is told */
    struct tr_buffer path;
    struct tr_buffer answer;
    struct tr_buffer slots;
    struct tr_buffer inputs; /* of a node that is kept */
    struct tr_text launched; /* the plan for what a launch node begins; empty: none */
    char *explain;
};

/* Reads the plan and opens the history; to be finished in any case. */
TR_MUST_USE int tri_reuse_begin(struct tri_reuse *reuse, const struct tr_inquiry *inquiry,
                                struct tr_text uri, char *explain);
void tri_reuse_finish(struct tri_reuse *reuse);

/* Makes `plan` what a recovery says (schemas/engine/recovery.h); no sources: there is nothing. */
TR_MUST_USE int tri_reuse_resolve(struct tri_reuse *reuse, struct tr_text recovery);

/* Adds an execution to the sources of a plan, with those that it had itself. */
TR_MUST_USE int tri_reuse_add_sources(struct tri_reuse *reuse, const struct tr_execution *row,
                                      struct tr_recovery *plan);

/* Puts an error of the history into words, if it has none, and gives it. */
int tri_reuse_explain_history(struct tri_reuse *reuse, int error);

/* How a node stood; NOT_YET_STARTED where it was never begun. */
TR_MUST_USE int tri_reuse_node_phase(struct tri_reuse *reuse, uint64_t execution,
                                     struct tr_text path, uint8_t *phase);

/* The execution of the plan that knows of a path, and how it stood there. */
TR_MUST_USE int tri_reuse_find(struct tri_reuse *reuse, struct tr_text path, uint64_t *execution,
                               uint8_t *phase);

/* What a node got or gave, into `slots`; an empty list where nothing is recorded. */
TR_MUST_USE int tri_reuse_read_values(struct tri_reuse *reuse, uint64_t execution,
                                      struct tr_text path, enum tr_value_side side,
                                      struct tr_buffer *slots);

/* `count` values that were written one behind the other, as a list. */
TR_MUST_USE int tri_reuse_close_list(struct tr_buffer *values, uint32_t count,
                                     struct tr_buffer *list);

static inline bool tri_reuse_has_given(uint8_t phase)
{
    return phase == TR_NODE_PHASE_SUCCEEDED || phase == TR_NODE_PHASE_RECOVERED;
}

#endif
