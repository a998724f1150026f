/*
 * `troupe compare`: what differs between two executions. What is read of both and laid side by
 * side here is written by compare_write.c.
 */
#ifndef TR_DEPLOY_RESULTS_COMPARE_H
#define TR_DEPLOY_RESULTS_COMPARE_H

#include "deploy/cli/listing.h"
#include "deploy/look/get_report.h"

/* Nodes whose values are looked at; beyond these, only how they ran. */
#define TR_COMPARE_VALUES_MAX 10000

/* Nodes whose durations differ the most, and are told of. */
#define TR_COMPARE_DURATIONS 10

/* In what two nodes may differ, by the words for it; first what is written, then what happened. */
#define TR_COMPARE_ASPECTS(A)   \
    A(KIND, "kind")             \
    A(TARGET, "target")         \
    A(AFTER, "after")           \
    A(BINDINGS, "bindings")     \
    A(DEFINITION, "definition") \
    A(PHASE, "phase")           \
    A(ATTEMPTS, "attempts")     \
    A(CACHE, "cache")           \
    A(ERROR, "error")           \
    A(INPUTS, "inputs")         \
    A(OUTPUTS, "outputs")

enum tr_compare_aspect {
#define TRI_COMPARE_ASPECT(name, word) TR_COMPARE_##name,
    TR_COMPARE_ASPECTS(TRI_COMPARE_ASPECT)
#undef TRI_COMPARE_ASPECT
        TR_COMPARE_ASPECT_COUNT
};

enum tr_compare_change {
    TR_COMPARE_SAME,
    TR_COMPARE_CHANGED,
    TR_COMPARE_ADDED,
    TR_COMPARE_REMOVED
};

/* Two nodes of one path. */
struct tr_compared_node {
    const struct tr_node_tree_node *nodes[2]; /* NULL: it has none */
    uint32_t differs;                         /* bit n: enum tr_compare_aspect n */
    uint8_t change;                           /* enum tr_compare_change */
};

/* One execution. */
struct tr_compared {
    struct tr_get get;
    struct tr_get_values values;
    const struct tr_node_tree_node **by_path; /* its nodes, sorted */
};

struct tr_compare {
    struct tr_listing *listing; /* of nodes that differ */
    struct tr_compared sides[2];
    struct tr_compared_node *nodes; /* of the first in its order, then what the second has more */
    uint32_t count;
    uint32_t counts[TR_COMPARE_REMOVED + 1]; /* by enum tr_compare_change */
    uint32_t unseen;                         /* nodes whose values were not looked at */
};

/* Lays two executions side by side. Errors of what reads; to be ended in any case. */
TR_MUST_USE int tr_compare_read(struct tr_compare *compare);
void tr_compare_fini(struct tr_compare *compare);

/* Whether two values are the same, by their bytes; NULL: there is none. */
bool tr_compare_is_same(const struct tr_value *a, const struct tr_value *b);

/* What two executions got or gave, in pairs of a name, until `take` says an error. */
typedef int tr_compare_take(void *self, const struct tr_value *a, const struct tr_value *b);
TR_MUST_USE int tr_compare_values(const struct tr_values *a, const struct tr_values *b,
                                  tr_compare_take *take, void *self);

/* The values of a node of a side; nothing where its graph is not known. Errors as above. */
TR_MUST_USE int tr_compare_node_values(const struct tr_compared *side,
                                       const struct tr_node_tree_node *node,
                                       enum tr_value_side which, struct tr_values *values);

/* Writes what was read, as the command's output says. Errors as above. */
TR_MUST_USE int tr_compare_write(struct tr_compare *compare);

/* How long a node or an execution took, or takes so far; false: it has not begun. */
bool tr_compare_took(uint64_t created_ms, uint64_t started_ms, uint64_t ended_ms, uint64_t now_ms,
                     uint64_t *took_ms);

#endif
