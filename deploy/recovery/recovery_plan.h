/*
 * Making the plan of a recovery: from what is known of an earlier execution, its graph, and what is
 * to be different this time, to the nodes that run again, each with why.
 *
 *     what is named, or has an edited input, or uses an input of the execution that is edited, or
 *     is not defined as it was, runs again, and with it everything behind it;
 *     what failed, or never ran, is not kept either, but what is inside it may be;
 *     what was edited for the earlier execution holds for this one, unless it is edited anew.
 *
 * Pure: the history is read by tr_recovery_past_read, everything else is given.
 */
#ifndef TR_DEPLOY_RECOVERY_RECOVERY_PLAN_H
#define TR_DEPLOY_RECOVERY_RECOVERY_PLAN_H

#include "actors/graph/compiled/graph.h"
#include "deploy/recovery/recovery.h"
#include "runtime/journal/reader.h"

/* How the nodes of the earlier execution stood, those of elements left out; sorted by path. */
struct tr_recovery_past {
    const struct tr_text *paths;
    const uint8_t *phases; /* of nodes */
    uint32_t count;
};

/* Reads it; texts are the arena's. TR_MEMORY, and what the reader says. */
TR_MUST_USE int tr_recovery_past_read(struct tr_reader *reader, uint64_t execution,
                                      struct tr_arena *arena, struct tr_recovery_past *past);

/* A node or an element that is named. */
struct tr_recovery_target {
    struct tr_text path;
    struct tr_text input; /* whose value is edited, else empty: the node itself */
    struct tr_bytes slot; /* that value */
    bool is_failed_only;  /* of a map: its elements that failed */
};

struct tr_recovery_request {
    const struct tr_graph *graph; /* to be run */
    uint32_t workflow;
    const struct tr_graph *before; /* that ran; the same where it has not changed */
    uint32_t workflow_before;
    const struct tr_recovery_past *past;
    const struct tr_recovery_target *targets;
    uint32_t target_count;
    const bool *changed;                    /* for each input of the workflow: it is edited */
    const struct tr_recovery_edit *earlier; /* what was edited then, and still holds */
    uint32_t earlier_count;
};

/* A node that gave something, and runs again all the same: why, in words. */
struct tr_recovery_note {
    struct tr_text path;
    struct tr_text reason; /* the same text for all of one cause */
};

struct tr_recovery_made {
    struct tr_recovery recovery; /* without `from` */
    const struct tr_recovery_note *notes;
    uint32_t note_count;
};

/* Makes it, in the arena. TR_MEMORY, TR_LIMIT. */
TR_MUST_USE int tr_recovery_make(const struct tr_recovery_request *request, struct tr_arena *arena,
                                 struct tr_recovery_made *made);

#endif
