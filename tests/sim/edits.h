/*
 * What a recovery of a world runs again, and what it gets in place of what was: nodes and elements
 * that are named, inputs of nodes that are edited, other inputs of the whole. All of it is drawn
 * when it is known what there was, and made into a plan by the planner that the commands use.
 */
#ifndef TR_TESTS_SIM_EDITS_H
#define TR_TESTS_SIM_EDITS_H

#include "deploy/recovery/recovery.h"
#include "tests/sim/engine_history.h"

struct sim_edits;

/* Draws what a recovery is about, once, when the execution that it recovers has ended. */
void sim_edits_draw(const struct sim_stage *stage, struct sim_execution *execution);
void sim_edits_free(struct sim_edits *edits);

/* The plan, without where results come from; NULL: nobody has asked for it so far. */
const struct tr_recovery *sim_edits_plan(const struct sim_execution *execution);

/* Whether an input of the workflow has another value than in the earlier execution. */
bool sim_edits_has_changed(const struct sim_execution *execution, uint32_t input);

/*
 * Whether a node or an element is named, as it is or by one of its inputs, or lies in such a one;
 * `is_whole`: with all that is inside it.
 */
bool sim_edits_has_named(const struct sim_execution *execution, struct tr_text path,
                         bool *is_whole);

/* The slot that an input of the node at a path gets in place of what is bound; false: none. */
bool sim_edits_find(const struct sim_execution *execution, struct tr_text path,
                    struct tr_text input, struct tr_bytes *slot);

#endif
