/*
 * What `get` reads of one node, one element or one attempt, before any of it is written.
 */
#ifndef TR_DEPLOY_LOOK_GET_REPORT_H
#define TR_DEPLOY_LOOK_GET_REPORT_H

#include "deploy/look/get.h"

/* A change of phase. Texts belong to the report. */
struct tr_report_change {
    struct tr_phase row;
    bool is_of_element; /* a phase of a node, from the array's blocks */
};

/* All that is known of what was asked for. */
struct tr_get_report {
    const struct tr_get *get;
    const struct tr_target *target;
    struct tr_node_tree tree; /* without nodes */
    struct tr_stop stop;      /* workflow NULL: the graph is not known */
    bool is_known;            /* there is such a node */
    uint64_t array_ran_in;    /* the execution that ran the node: of one that is kept an earlier */
    uint64_t ran_in;          /* the same of what was asked for */
    struct tr_text kept_from; /* the name of that one; empty: it was not kept */
    bool is_begun;
    struct tr_text node_kind; /* of the node, also where an element is meant; empty: unknown */
    bool is_node_begun;       /* the same */
    struct tr_node_status row;
    struct tr_progress progress;
    struct tr_values inputs;
    struct tr_values outputs;
    struct tri_vector attempts; /* of struct tr_attempt */
    struct tri_vector changes;  /* of struct tr_report_change */
    struct tr_arena arena;
};

static inline bool tri_report_is_of_element(const struct tr_get_report *report)
{
    return report->target->element != TR_ELEMENT_NONE;
}

/* How an element stands that was kept with its array: one that failed then has failed. */
static inline uint8_t tri_report_phase_kept(uint8_t phase)
{
    return phase == TR_NODE_PHASE_SUCCEEDED ? (uint8_t)TR_NODE_PHASE_RECOVERED : phase;
}

/* Whether a change is one of what was asked for: of an attempt only its own. */
static inline bool tri_report_shows(const struct tr_get_report *report,
                                    const struct tr_report_change *change)
{
    bool is_of_attempt = change->is_of_element || change->row.subject == TR_SUBJECT_TASK;
    return !report->target->has_attempt ||
           (is_of_attempt && change->row.attempt == report->target->attempt);
}

/*
 * Reads all there is of a target. TR_NOT_FOUND, with words in `problem` (TR_TARGET_PROBLEM_BYTES),
 * where there is no such thing; TR_MEMORY, TR_MALFORMED, and what the reader says. To be ended
 * in any case.
 */
TR_MUST_USE int tr_get_report_read(const struct tr_get *get, const struct tr_target *target,
                                   char *problem, struct tr_get_report *report);

/* The same without values, which may be as many as there are elements. */
TR_MUST_USE int tr_get_report_find(const struct tr_get *get, const struct tr_target *target,
                                   char *problem, struct tr_get_report *report);
void tr_get_report_fini(struct tr_get_report *report);

/* What an execution got and gave, with the graph that has their types. */
struct tr_get_values {
    struct tr_node_tree tree;
    struct tr_values inputs;
    struct tr_values outputs;
};

/* Reads them, and its nodes if these are wanted. Errors as above; to be ended in any case. */
TR_MUST_USE int tr_get_values_read(const struct tr_get *get, bool has_nodes,
                                   struct tr_get_values *values);
void tr_get_values_fini(struct tr_get_values *values);

/*
 * Whether there is such a node, element or attempt. TR_NOT_FOUND, with words in `problem`
 * (TR_TARGET_PROBLEM_BYTES); errors as above.
 */
TR_MUST_USE int tr_get_target_check(const struct tr_get *get, const struct tr_target *target,
                                    char *problem);

#endif
